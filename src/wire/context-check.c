/* SPDX-License-Identifier: MIT */
/*
 * Contexts that a machine may not have: hardware counters, namespaces of newer kernels, control
 * groups. Used where a person still can be told, and, for the counters, inside the program.
 */
#include "wire/context.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/perf_event.h>

#include "wire/raw.h"

#define PAGE 4096 /* what the kernel needs at least; it rounds up itself */

static size_t page_size(void)
{
	long size = sysconf(_SC_PAGESIZE);

	return size > 0 ? (size_t)size : PAGE;
}

const void *context_perf_map(uint32_t perf_type, uint64_t perf_config, int *error)
{
	struct perf_event_attr attributes;
	struct perf_event_mmap_page *page;
	long fd;

	memset(&attributes, 0, sizeof(attributes));
	attributes.size = sizeof(attributes);
	attributes.type = perf_type;
	attributes.config = perf_config;
	/* What an ordinary user may count. */
	attributes.exclude_kernel = 1;
	attributes.exclude_hv = 1;
	fd = raw_call(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0) {
		*error = (int)fd;
		return NULL;
	}
	page = raw_mmap(NULL, page_size(), PROT_READ, MAP_SHARED, (int)fd);
	raw_close((int)fd);
	if (!page) {
		*error = -EPERM;
		return NULL;
	}
	if (!page->cap_user_rdpmc) {
		raw_munmap(page, page_size());
		*error = -EOPNOTSUPP;
		return NULL;
	}
	*error = 0;
	return page;
}

static bool check_perf(const struct context_spec *spec, char *sentence, size_t size)
{
	const char *reason;
	const void *page;
	int error;

	if (!context_perf_is_hardware(spec))
		return true;
#if !defined(__x86_64__) && !defined(__i386__)
	snprintf(sentence, size,
			"%s cannot be recorded: hardware counters are read on x86 processors only; leave it out",
			spec->name);
	return false;
#endif
	page = context_perf_map(spec->perf_type, spec->perf_config, &error);
	if (page) {
		munmap((void *)(uintptr_t)page, page_size());
		return true;
	}
	switch (error) {
	case -ENOENT:
	case -ENODEV:
	case -EINVAL:
	case -ENXIO:
		reason = "this machine has no such counter (virtual machines often have none); leave it out, or take page-faults, context-switches, task-clock, which the kernel counts";
		break;
	case -EOPNOTSUPP:
		reason = "programs may not read it themselves here; write 1 to /sys/bus/event_source/devices/cpu/rdpmc, or leave it out";
		break;
	case -EACCES:
	case -EPERM:
		reason = "the kernel does not allow it; set kernel.perf_event_paranoid to 2 or less (and kernel.perf_event_mlock_kb higher, if many threads count)";
		break;
	case -ENOSYS: reason = "this kernel has no performance counters; leave it out"; break;
	default: reason = strerror(-error); break;
	}
	snprintf(sentence, size, "%s cannot be recorded: %s", spec->name, reason);
	return false;
}

static bool check_namespace(const struct context_spec *spec, char *sentence, size_t size)
{
	char path[64];
	struct stat status;

	snprintf(path, sizeof(path), "/proc/self/ns/%.*s", (int)strlen(spec->name) - 3, spec->name);
	if (!stat(path, &status))
		return true;
	snprintf(sentence, size,
			"%s cannot be recorded: %s: %s; this kernel has no such namespaces, or /proc is not mounted; leave it out",
			spec->name, path, strerror(errno));
	return false;
}

bool context_check(const struct context_spec *spec, char *sentence, size_t size)
{
	if (spec->kind == CONTEXT_PERF)
		return check_perf(spec, sentence, size);
	if (spec->kind >= CONTEXT_CGROUP_NS && spec->kind <= CONTEXT_UTS_NS)
		return check_namespace(spec, sentence, size);
	if (spec->kind == CONTEXT_CGROUP && access("/proc/self/cgroup", R_OK)) {
		snprintf(sentence, size,
				"cgroup cannot be recorded: /proc/self/cgroup: %s; this kernel has no control groups, or /proc is not mounted; leave it out",
				strerror(errno));
		return false;
	}
	return true;
}
