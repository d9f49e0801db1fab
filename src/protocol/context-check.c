/* SPDX-License-Identifier: MIT */
/*
 * Checks contexts that a machine may not support: hardware counters, namespaces of newer kernels,
 * control groups. Commands use it to report the problem to the user; the agent starts counters with
 * it.
 */
#include "protocol/context.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/perf_event.h>

#include "base/inside/raw.h"

#define PAGE 4096 /* the smallest size of the kernel; it rounds up itself */

static size_t page_size(void)
{
	long size = sysconf(_SC_PAGESIZE);

	return size > 0 ? (size_t)size : PAGE;
}

const void *context_perf_map(uint32_t perf_type, uint64_t perf_config, int *ret_error)
{
	struct perf_event_attr attributes;
	struct perf_event_mmap_page *page;
	long fd;

	memset(&attributes, 0, sizeof(attributes));
	attributes.size = sizeof(attributes);
	attributes.type = perf_type;
	attributes.config = perf_config;
	/* The modes that an unprivileged user may count. */
	attributes.exclude_kernel = 1;
	attributes.exclude_hv = 1;
	fd = raw_call(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0) {
		*ret_error = (int)fd;
		return NULL;
	}
	page = raw_mmap(NULL, page_size(), PROT_READ, MAP_SHARED, (int)fd);
	raw_close((int)fd);
	if (!page) {
		*ret_error = -EPERM;
		return NULL;
	}
	if (!page->cap_user_rdpmc) {
		raw_munmap(page, page_size());
		*ret_error = -EOPNOTSUPP;
		return NULL;
	}
	*ret_error = 0;
	return page;
}

static __attribute__((format(printf, 3, 4))) bool refuse(
		struct context_error *error, const char *hint, const char *format, ...)
{
	va_list arguments;

	error->column = 0;
	snprintf(error->hint, sizeof(error->hint), "%s", hint);
	va_start(arguments, format);
	vsnprintf(error->text, sizeof(error->text), format, arguments);
	va_end(arguments);
	return false;
}

static bool refuse_perf(const struct context_spec *spec, int code, struct context_error *error)
{
	switch (code) {
	case -ENOENT:
	case -ENODEV:
	case -EINVAL:
	case -ENXIO:
		return refuse(error,
				"page-faults, context-switches and task-clock are counted by the kernel",
				"%s cannot be recorded: this machine has no such counter (virtual machines often have none)",
				spec->name);
	case -EOPNOTSUPP:
		return refuse(error, "echo 1 > /sys/bus/event_source/devices/cpu/rdpmc",
				"%s cannot be recorded: programs are not permitted to read it themselves here",
				spec->name);
	case -EACCES:
	case -EPERM:
		return refuse(error,
				"sysctl kernel.perf_event_paranoid=2 (and a higher kernel.perf_event_mlock_kb, if many threads count)",
				"%s cannot be recorded: the kernel does not allow it", spec->name);
	case -ENOSYS:
		return refuse(error, "",
				"%s cannot be recorded: this kernel has no performance counters",
				spec->name);
	default: return refuse(error, "", "%s cannot be recorded: %s", spec->name, strerror(-code));
	}
}

static bool check_perf(const struct context_spec *spec, struct context_error *error)
{
	const void *page;
	int code;

	if (!context_perf_is_hardware(spec))
		return true;
#if !defined(__x86_64__) && !defined(__i386__)
	return refuse(error, "",
			"%s cannot be recorded: hardware counters are read on x86 processors only",
			spec->name);
#endif
	page = context_perf_map(spec->perf_type, spec->perf_config, &code);
	if (!page)
		return refuse_perf(spec, code, error);
	munmap((void *)(uintptr_t)page, page_size());
	return true;
}

static bool check_namespace(const struct context_spec *spec, struct context_error *error)
{
	char path[64];
	struct stat status;

	snprintf(path, sizeof(path), "/proc/self/ns/%.*s", (int)strlen(spec->name) - 3, spec->name);
	if (!stat(path, &status))
		return true;
	return refuse(error, "",
			"%s cannot be recorded: %s: %s (this kernel has no such namespaces, or /proc is not mounted)",
			spec->name, path, strerror(errno));
}

bool context_check(const struct context_spec *spec, struct context_error *error)
{
	if (spec->kind == CONTEXT_PERF)
		return check_perf(spec, error);
#if !defined(__x86_64__) || !defined(__LP64__)
	if (spec->kind == CONTEXT_BACKTRACE)
		return refuse(error, "`ip` is the address of the code that emits the event",
				"%s cannot be recorded: calls are followed on x86-64 processors only",
				spec->name);
#endif
	if (spec->kind >= CONTEXT_CGROUP_NS && spec->kind <= CONTEXT_UTS_NS)
		return check_namespace(spec, error);
	if (spec->kind == CONTEXT_CGROUP && access("/proc/self/cgroup", R_OK))
		return refuse(error, "",
				"cgroup cannot be recorded: /proc/self/cgroup: %s (this kernel has no control groups, or /proc is not mounted)",
				strerror(errno));
	return true;
}
