/* SPDX-License-Identifier: MIT */
/*
 * The life of global probes with a simulated tracefs and simulated perf events: what is opened,
 * enabled and released, while each allocation and each call of the kernel fails in turn. The test
 * includes the files, so that it can replace their calls.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <linux/perf_event.h>

#include "../../check.h"
#include "../../failing-calls.h"
#include "../../resources.h"
#include "probe/uprobe/global.h"
#include "probe/uprobe/parts.h"

/* ---- the simulated kernel ---- */

#define CPUS 3
#define EVENT_BYTES ((1u << 20) + 65536)

static struct {
	unsigned int opened, outputs, enabled, disabled, mapped, unmapped, waited;
	unsigned int without_lost; /* events that do not count what they lose */
} seen;
static struct {
	const char *call;    /* the call that fails */
	unsigned int number; /* of that call; 0: each one */
	int error;
} fails;
static unsigned int nr_calls;
static char tracefs_folder[] = "/tmp/side-global-life-XXXXXX";
static int tracefs_result; /* not 0: the error of opening it */
static uint64_t lost_by_event;

static bool is_failing(const char *call)
{
	if (!fails.call || strcmp(fails.call, call) || (++nr_calls != fails.number && fails.number))
		return false;
	errno = fails.error;
	return true;
}

static long play_event(long number, struct perf_event_attr *attributes, int pid, uint32_t cpu,
		int group, unsigned long flags)
{
	int fd;

	CHECK(number == SYS_perf_event_open && pid == -1 && group == -1);
	CHECK(flags == PERF_FLAG_FD_CLOEXEC && cpu < CPUS);
	CHECK(attributes->type == PERF_TYPE_TRACEPOINT && attributes->size == sizeof(*attributes));
	CHECK(attributes->disabled && attributes->sample_period == 1);
	CHECK(attributes->use_clockid && attributes->clockid == CLOCK_MONOTONIC);
	CHECK(attributes->config == 77 || attributes->config == 78);
	CHECK((attributes->sample_type & ~(1u << 21)) ==
			(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_RAW));
	/* The reader is woken when an eighth of the buffer is full. */
	CHECK(attributes->watermark && attributes->wakeup_watermark == 131072);
	CHECK(!attributes->read_format || attributes->read_format == 16);
	if (is_failing("event"))
		return -1;
	if (attributes->read_format && is_failing("lost"))
		return -1;
	if (cpu == 1 && is_failing("cpu"))
		return -1;
	seen.without_lost += !attributes->read_format;
	fd = memfd_create("event", MFD_CLOEXEC);
	CHECK(fd >= 0 && !ftruncate(fd, EVENT_BYTES));
	seen.opened++;
	return fd;
}

static int play_ioctl(int fd, unsigned long request, int argument)
{
	CHECK(fcntl(fd, F_GETFD) >= 0);
	switch (request) {
	case PERF_EVENT_IOC_SET_OUTPUT:
		CHECK(fcntl(argument, F_GETFD) >= 0 && argument != fd);
		if (is_failing("output"))
			return -1;
		seen.outputs++;
		return 0;
	case PERF_EVENT_IOC_ENABLE:
		CHECK(!argument);
		if (is_failing("enable"))
			return -1;
		seen.enabled++;
		return 0;
	default:
		CHECK(request == PERF_EVENT_IOC_DISABLE && !argument);
		seen.disabled++;
		return 0;
	}
}

static void *play_map(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	CHECK(protection == (PROT_READ | PROT_WRITE) && flags == MAP_SHARED && size > 1u << 20);
	if (is_failing("map"))
		return MAP_FAILED;
	seen.mapped++;
	return mmap(at, size, protection, flags, fd, offset);
}

static int play_unmap(void *at, size_t size)
{
	seen.unmapped++;
	return munmap(at, size);
}

static int play_wait(int epoll, int operation, int fd, struct epoll_event *event)
{
	CHECK(fcntl(epoll, F_GETFD) >= 0 && fcntl(fd, F_GETFD) >= 0);
	CHECK(operation == EPOLL_CTL_ADD && event->events == EPOLLIN);
	if (is_failing("wait"))
		return -1;
	seen.waited++;
	return 0;
}

static long nr_cpus = CPUS;

static long play_conf(int name)
{
	return name == _SC_NPROCESSORS_CONF || name == _SC_NPROCESSORS_ONLN ? nr_cpus
									    : sysconf(name);
}

static ssize_t play_read(int fd, uint64_t *to, size_t size)
{
	CHECK(fcntl(fd, F_GETFD) >= 0 && size == 16);
	to[0] = 1000;
	to[1] = lost_by_event;
	return is_failing("read") ? 8 : 16;
}

static int play_epoll(int flags)
{
	return is_failing("epoll") ? -1 : epoll_create1(flags);
}

static int play_tracefs(struct error *error)
{
	if (tracefs_result)
		return error_set(error, tracefs_result, "hint", "no tracefs");
	return open(tracefs_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

#define syscall play_event
#define ioctl play_ioctl
#define mmap play_map
#define munmap play_unmap
#define epoll_ctl play_wait
#define epoll_create1 play_epoll
#define sysconf play_conf
#define read play_read
#define global_tracefs_open play_tracefs
#include "probe/uprobe/perf.c"
#undef syscall
#undef ioctl
#undef mmap
#undef munmap
#undef epoll_ctl
#undef epoll_create1
#undef sysconf
#undef read
#undef global_tracefs_open
#include "probe/uprobe/global.c"

/* A kernel without BPF. */
int bpf_open(struct global *global, bool multi, struct error *error)
{
	(void)global;
	return multi ? error_set(error, -ENOTSUP, "new kernel", "no multi")
		     : error_set(error, -EPERM, "be root", "no permission");
}

int bpf_try(bool multi, struct error *error)
{
	return bpf_open(NULL, multi, error);
}

void bpf_close(struct bpf *bpf)
{
	CHECK(!bpf);
}

int bpf_watch(struct global *global, bool on, struct error *error)
{
	(void)global;
	(void)on;
	(void)error;
	return -EINVAL;
}

int bpf_fd(const struct bpf *bpf)
{
	(void)bpf;
	return -1;
}

void bpf_read(struct bpf *bpf, struct global *global)
{
	(void)bpf;
	(void)global;
}

uint64_t bpf_lost(const struct bpf *bpf)
{
	(void)bpf;
	return 0;
}

/* ---- files ---- */

static char code_path[] = "/tmp/side-global-code-XXXXXX";
static char group_path[160];

static void write_text(const char *name, const char *text)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", group_path, name);
	file = fopen(path, "w");
	CHECK(file && fputs(text, file) >= 0 && !fclose(file));
}

static void make_files(void)
{
	static const char format[] = "\tfield:u64 stack;\toffset:8;\tsize:8;\n"
				     "\tfield:__data_loc char[] name;\toffset:16;\tsize:4;\n"
				     "\tfield:u64 f0;\toffset:20;\tsize:8;\n";
	static const Elf64_Ehdr head = {.e_ident = ELFMAG,
			.e_phoff = 64,
			.e_phnum = 1,
			.e_phentsize = sizeof(Elf64_Phdr)};
	static const Elf64_Phdr segment = {
			.p_type = PT_LOAD, .p_vaddr = 0x1000, .p_filesz = 0x1000};
	char path[256], group[80];
	int fd = mkstemp(code_path);

	CHECK(fd >= 0 && write(fd, &head, sizeof(head)) == sizeof(head));
	CHECK(write(fd, &segment, sizeof(segment)) == sizeof(segment) && !ftruncate(fd, 8192));
	close(fd);
	CHECK(mkdtemp(tracefs_folder));
	snprintf(path, sizeof(path), "%s/uprobe_events", tracefs_folder);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	close(fd);
	snprintf(path, sizeof(path), "%s/events", tracefs_folder);
	CHECK(!mkdir(path, 0700));
	global_tracefs_group(group, sizeof(group));
	snprintf(group_path, sizeof(group_path), "%s/events/%s", tracefs_folder, group);
	CHECK(!mkdir(group_path, 0700));
	for (unsigned int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/e%u", group_path, i);
		CHECK(!mkdir(path, 0700));
		snprintf(path, sizeof(path), "e%u/format", i);
		write_text(path, format);
		snprintf(path, sizeof(path), "e%u/id", i);
		write_text(path, i ? "78\n" : "77\n");
	}
}

static void remove_files(void)
{
	char command[512];

	snprintf(command, sizeof(command), "rm -r '%s' '%s'", tracefs_folder, code_path);
	CHECK(!system(command)); /* NOLINT */
}

/* The definitions that were written, without the group. */
static void expect_definitions(const char *wanted)
{
	char text[4096], path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/uprobe_events", tracefs_folder);
	fd = open(path, O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0);
	CHECK(!global_tracefs_read(AT_FDCWD, path, text, sizeof(text)));
	CHECK(!ftruncate(fd, 0));
	close(fd);
	if (strcmp(text, wanted))
		fprintf(stderr, "%s\ninstead of\n%s\n", text, wanted);
	CHECK(!strcmp(text, wanted));
}

static int make_table(void)
{
	static const struct probe_fetch_op ops[] = {{.code = PROBE_FETCH_REGISTER, .reg = 5}};
	static const struct probe_fetch fetches[] = {{.ops = ops, .nr_ops = 1}};
	static const struct probe_table_field fields[] = {
			{.name = "number", .type = PROBE_FIELD_UNSIGNED, .size = 8}};
	const struct probe_table_module module = {.path = code_path, .name = "code"};
	const struct probe_table_event entry = {
			.provider = "p", .name = "in", .fields = fields, .nr_fields = 1};
	const struct probe_table_event exit = {
			.provider = "p", .name = "out", .fields = fields, .nr_fields = 1};
	struct probe_table_probe probe = {.function = "f",
			.entry_fetches = fetches,
			.exit_fetches = fetches,
			.entry = 0,
			.exit = 1,
			.site = {.address = 0x1800,
					.method = PROBE_BREAKPOINT,
					.displaced = 1,
					.patched = 1,
					.nr_pieces = 1,
					.pieces = {{.length = 1}},
					.nr_bytes = 1}};
	struct probe_table_writer *writer = probe_table_writer_new();
	int fd;

	CHECK(writer && probe_table_add_module(writer, &module) == 0);
	CHECK(probe_table_add_event(writer, &entry) == 0 &&
			probe_table_add_event(writer, &exit) == 1);
	CHECK(probe_table_add_probe(writer, &probe) == 0);
	fd = probe_table_memfd(writer);
	CHECK(fd >= 0);
	probe_table_writer_free(writer);
	return fd;
}

/* ---- opening ---- */

static struct global_options options;
static struct error error;

#define DEFINED(group)                                                    \
	"p:%s/e0 %s:0x800 stack=%%sp:u64 name=$comm:string f0=%%di:u64\n" \
	"r:%s/e1 %s:0x800 stack=%%sp:u64 name=$comm:string f0=%%di:u64\n"

static void expect_all_defined(bool removed)
{
	char wanted[2048], group[80];
	size_t used;

	global_tracefs_group(group, sizeof(group));
	used = (size_t)snprintf(
			wanted, sizeof(wanted), DEFINED(group), group, code_path, group, code_path);
	if (removed)
		snprintf(wanted + used, sizeof(wanted) - used, "-:%s/e0-:%s/e1", group, group);
	expect_definitions(wanted);
}

static void open_without_memory(void)
{
	unsigned int before = resources_descriptors();
	struct global *global = NULL;
	char path[256];

	for (unsigned int call = 1;; call++) {
		int ret;

		memset(&error, 'x', sizeof(error));
		failing_arm(call);
		ret = global_open(&options, &global, &error);
		if (!failing_has_failed()) {
			CHECK(!ret && call > 12);
			global_close(global);
			expect_all_defined(true);
			break;
		}
		CHECK(ret < 0 && !global && resources_descriptors() == before);
		if (!strcmp(failing_name, "fstat"))
			CHECK(ret == -EIO &&
					!strcmp(error.text,
							"cannot use the probe table: Input/output error"));
		else if (!strcmp(failing_name, "pread"))
			CHECK(ret == -EIO && !memcmp(error.text, code_path, strlen(code_path)) &&
					!strcmp(error.text + strlen(code_path),
							" cannot be read: Input/output error"));
		else
			CHECK(ret == -ENOMEM && !strcmp(error.text, "out of memory"));
		CHECK(!error.hint[0] && error.kind != ERROR_PERMISSION);
		snprintf(path, sizeof(path), "%s/uprobe_events", tracefs_folder);
		CHECK(!truncate(path, 0));
	}
	CHECK(resources_descriptors() == before);
}

static void refused_ways(void)
{
	unsigned int before = resources_descriptors();
	struct global *global = NULL;

	tracefs_result = -EACCES;
	options.backend = -1;
	CHECK(global_open(&options, &global, &error) == -EACCES && !global);
	CHECK(!strcmp(error.text,
			"uprobe_multi: no multi; perf_event: no permission; tracefs: no tracefs"));
	CHECK(error.kind == ERROR_PERMISSION && !strcmp(error.hint, "hint"));
	options.backend = GLOBAL_PERF;
	CHECK(global_open(&options, &global, &error) == -EPERM && error.kind == ERROR_PERMISSION);
	CHECK(!strcmp(error.text, "perf_event: no permission") && !strcmp(error.hint, "be root"));
	options.backend = GLOBAL_MULTI;
	CHECK(global_open(&options, &global, &error) == -ENOTSUP && error.kind != ERROR_PERMISSION);
	CHECK(!strcmp(error.text, "uprobe_multi: no multi") && !strcmp(error.hint, "new kernel"));
	tracefs_result = 0;
	options.backend = GLOBAL_TRACEFS;
	options.process = getpid();
	CHECK(global_open(&options, &global, &error) == -ENOTSUP);
	CHECK(!strcmp(error.text, "tracefs: it cannot be limited to one process"));
	options.process = 0;
	CHECK(!global_may(&error) && !global_is_quick());
	fails.call = "epoll";
	fails.number = nr_calls = 0;
	CHECK(global_open(&options, &global, &error) == -ENOMEM);
	CHECK(!strcmp(error.text, "out of memory"));
	fails.call = NULL;
	CHECK(resources_descriptors() == before && !global);
	expect_definitions("");
}

static void damaged_formats(void)
{
	unsigned int before = resources_descriptors();
	struct global *global = NULL;
	char group[80], wanted[1024];

	global_tracefs_group(group, sizeof(group));
	write_text("e1/id", "0\n");
	CHECK(global_open(&options, &global, &error) == -EPROTO && !global);
	CHECK(!strcmp(error.text,
			"tracefs: cannot parse the kernel's description of a definition"));
	expect_all_defined(true);
	write_text("e1/id", "78\n");
	write_text("e0/format", "\tfield:u64 stack;\toffset:8;\tsize:8;\n");
	CHECK(global_open(&options, &global, &error) == -EPROTO && !global);
	snprintf(wanted, sizeof(wanted),
			"p:%s/e0 %s:0x800 stack=%%sp:u64 name=$comm:string f0=%%di:u64\n-:%s/e0",
			group, code_path, group);
	expect_definitions(wanted);
	write_text("e0/format",
			"\tfield:u64 stack;\toffset:8;\tsize:8;\n"
			"\tfield:__data_loc char[] name;\toffset:16;\tsize:4;\n"
			"\tfield:u64 f0;\toffset:20;\tsize:8;\n");
	CHECK(resources_descriptors() == before);
}

/* ---- watching ---- */

static void expect_seen(unsigned int opened, unsigned int outputs, unsigned int enabled,
		unsigned int disabled, unsigned int mapped, unsigned int waited)
{
	CHECK(seen.opened == opened && seen.outputs == outputs && seen.enabled == enabled);
	CHECK(seen.disabled == disabled && seen.mapped == mapped && seen.waited == waited);
}

static unsigned int nr_hits;

static void take_hit(void *user, const struct global_hit *hit)
{
	CHECK(!user && hit->side->number == 1);
	nr_hits++;
}

static void watched(void)
{
	unsigned int before = resources_descriptors(), open;
	struct hit_record record = {.side = 1};
	struct global *global = NULL;
	uint64_t lost = 0;

	CHECK(!global_open(&options, &global, &error));
	/* Only the code of this process is compared with its file. */
	global->process = getpid();
	CHECK(global_used(global) == GLOBAL_TRACEFS && !*global_why(global));
	CHECK(global_nr_sides(global) == 2 && global_nr_tables(global) == 1);
	CHECK(!global_side(global, 0)->exit && global_side(global, 1)->exit);
	CHECK(global_side(global, 1)->paired && global_side(global, 1)->event == 1);
	CHECK(global_side(global, 0)->offset == 0x800 && global_side(global, 0)->size == 8);
	CHECK(!strcmp(global_side(global, 0)->function, "f"));
	CHECK(global->ring_size == 8u << 20 && global_fd(global) >= 0);
	open = resources_descriptors();
	memset(&seen, 0, sizeof(seen));
	CHECK(!global_watch(global, false, &error));
	expect_seen(0, 0, 0, 0, 0, 0);
	CHECK(!global_watch(global, true, &error) && global->on);
	/* Two sides on three CPUs: three buffers, into which three other events write. */
	expect_seen(6, 3, 6, 0, 3, 3);
	CHECK(resources_descriptors() == open + 6 && !seen.unmapped && !seen.without_lost);
	CHECK(global->perf->from && global->perf->until == UINT64_MAX);
	CHECK(!global_watch(global, true, &error));
	expect_seen(6, 3, 6, 0, 3, 3);
	/* The losses that events report, once. */
	lost_by_event = 2;
	CHECK(!global_watch(global, false, &error) && !global->on);
	expect_seen(6, 3, 6, 6, 3, 3);
	CHECK(seen.unmapped == 3 && resources_descriptors() == open &&
			perf_lost(global->perf) == 12);
	CHECK(global->perf->until != UINT64_MAX && global->perf->until >= global->perf->from);
	CHECK(!global_watch(global, true, &error));
	lost_by_event = 3;
	fails.call = "read";
	fails.number = 2;
	nr_calls = 0;
	CHECK(!global_watch(global, false, &error));
	CHECK(perf_lost(global->perf) == 12 + 5 * 3);
	fails.call = NULL;
	lost_by_event = 0;
	/* Hits that are still in the list are released with everything else. */
	record.time = clock_monotonic_ns() - 1000000000u;
	hits_add(&global->hits, &record, sizeof(record));
	record.time = clock_monotonic_ns() + 3600000000000u;
	hits_add(&global->hits, &record, sizeof(record));
	hits_add(&global->hits, &record, sizeof(record));
	global_read(global, false, take_hit, NULL, &lost);
	CHECK(nr_hits == 1 && global->hits.count == 2 && lost == 27);
	global_close(global);
	expect_all_defined(true);
	CHECK(resources_descriptors() == before);
}

static void failing_watch(void)
{
	static const struct {
		const char *call;
		int error, ret;
		const char *text, *hint;
	} cases[] = {{"event", EPERM, -EPERM,
				     "the kernel does not permit reading events of all processes",
				     "run as root, or with CAP_PERFMON, or run `sudo sysctl kernel.perf_event_paranoid=-1`"},
			{"event", EACCES, -EACCES,
					"the kernel does not permit reading events of all processes",
					"run as root, or with CAP_PERFMON, or run `sudo sysctl kernel.perf_event_paranoid=-1`"},
			{"event", EMFILE, -EMFILE,
					"each location needs a descriptor for each CPU, and the limit of open files is too low",
					"probe fewer locations, or raise the limit of open files"},
			{"event", EIO, -EIO, "the kernel refuses a perf event: Input/output error",
					""},
			{"output", EIO, -EIO, "the kernel refuses a perf event: Input/output error",
					""},
			{"enable", EIO, -EIO, "the kernel refuses a perf event: Input/output error",
					""},
			{"map", ENOMEM, -ENOMEM,
					"the kernel refuses a perf event: Cannot allocate memory",
					""},
			{"wait", EIO, -EIO, "the kernel refuses a perf event: Input/output error",
					""}};
	static const unsigned int times[] = {6, 6, 6, 6, 3, 6, 3, 3};
	struct global *global = NULL;
	unsigned int open;

	CHECK(!global_open(&options, &global, &error));
	global->process = getpid();
	open = resources_descriptors();
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		fails.call = cases[i].call;
		fails.error = cases[i].error;
		for (fails.number = 1; fails.number <= times[i]; fails.number++) {
			nr_calls = 0;
			memset(&seen, 0, sizeof(seen));
			CHECK(global_watch(global, true, &error) == cases[i].ret && !global->on);
			CHECK(!strcmp(error.text, cases[i].text) &&
					!strcmp(error.hint, cases[i].hint));
			CHECK(seen.mapped == seen.unmapped && resources_descriptors() == open);
		}
		nr_calls = 0;
		CHECK(!global_watch(global, true, &error) && nr_calls == times[i]);
		CHECK(!global_watch(global, false, &error));
	}
	/* An offline CPU, and a kernel that does not count the losses of events. */
	fails.call = "cpu";
	fails.number = nr_calls = 0;
	fails.error = ENODEV;
	memset(&seen, 0, sizeof(seen));
	CHECK(!global_watch(global, true, &error));
	expect_seen(4, 2, 4, 0, 2, 2);
	CHECK(!global_watch(global, false, &error) && seen.unmapped == 2);
	fails.call = "lost";
	fails.error = EINVAL;
	memset(&seen, 0, sizeof(seen));
	CHECK(!global_watch(global, true, &error));
	expect_seen(6, 3, 6, 0, 3, 3);
	CHECK(seen.without_lost == 6);
	fails.call = NULL;
	/* Closing it while it watches. */
	global_close(global);
	expect_all_defined(true);
}

/* ---- the list of hits ---- */

/* The list grows twofold, up to its greatest size; each hit that finds no memory is lost. */
static void kept_hits(void)
{
	struct hit_record record = {.side = 5};
	struct hits hits = {.count = 0};

	failing_arm(1);
	hits_add(&hits, &record, sizeof(record));
	CHECK(failing_has_failed() && hits.lost == 1 && !hits.count && !hits.capacity);
	failing_arm(2);
	hits_add(&hits, &record, sizeof(record));
	CHECK(failing_has_failed() && hits.lost == 2 && !hits.count && hits.capacity == 1024);
	for (record.time = 0; record.time < 1024; record.time++)
		hits_add(&hits, &record, sizeof(record));
	CHECK(hits.count == 1024 && hits.capacity == 1024);
	hits_add(&hits, &record, sizeof(record));
	CHECK(hits.count == 1025 && hits.capacity == 2048 && hits.lost == 2);
	CHECK(hits.list[1024]->time == 1024 && hits.list[1024]->side == 5 && !hits.list[0]->time);
	hits_free(&hits);
	/* As many as may be held, and one more. */
	hits = (struct hits){.count = HITS_MAX / 2, .capacity = HITS_MAX / 2};
	hits_add(&hits, &record, sizeof(record));
	CHECK(hits.capacity == HITS_MAX && hits.count == HITS_MAX / 2 + 1 && hits.lost == 0);
	free(hits.list[HITS_MAX / 2]);
	hits.count = HITS_MAX;
	hits_add(&hits, &record, sizeof(record));
	CHECK(hits.capacity == HITS_MAX && hits.count == HITS_MAX && hits.lost == 1);
	free(hits.list);
}

/* ---- conflicts and definitions ---- */

/* If memory for one of the two lists is missing, the other list is freed. */
static void conflicts_without_memory(void)
{
	const struct global global = {.process = 1};

	for (unsigned int i = 1; i <= 2; i++) {
		failing_arm(i);
		CHECK(conflict_check(&global, &error) == -ENOMEM && failing_has_failed());
		CHECK(!strcmp(error.text, "out of memory") && !*error.hint);
	}
	CHECK(!conflict_check(&global, &error));
}

/* The kernel splits a definition at white space. */
static void paths_with_spaces(void)
{
	static const char *const paths[] = {"/a b", "/a\tb", "/a\nb"};
	struct uprobe_perf perf = {.tracefs = -1};

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		const struct global_side side = {.path = paths[i]};
		char text[64];

		(void)snprintf(text, sizeof(text),
				"a definition of tracefs cannot name the file `%s`", paths[i]);
		CHECK(uprobe_perf_write_definition(&perf, &side, &error) == -EINVAL &&
				!strcmp(error.text, text));
		CHECK(!*error.hint);
	}
}

/* ---- numbers of CPUs, and instructions ---- */

static void numbers_of_cpus(void)
{
	static const struct {
		long reported;
		uint32_t used;
	} cases[] = {{-1, 1}, {0, 1}, {1, 1}, {2, 2}, {4096, 4096}, {4097, 1}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		nr_cpus = cases[i].reported;
		CHECK(perf_count_cpus() == cases[i].used && perf_count_online() == cases[i].used);
	}
	nr_cpus = CPUS;
}

static void instructions(void)
{
	static struct bpf_assembly code;
	uint32_t jump;

	bpf_emit_constant(&code, 3, INT32_MAX);
	bpf_emit_constant(&code, 4, (int64_t)INT32_MAX + 1);
	bpf_emit_constant(&code, 5, INT32_MIN);
	bpf_emit_constant(&code, 6, (int64_t)INT32_MIN - 1);
	CHECK(code.nr == 6);
	CHECK(code.code[0].code == (BPF_ALU64 | BPF_MOV | BPF_K) && code.code[0].dst_reg == 3 &&
			code.code[0].imm == INT32_MAX);
	CHECK(code.code[1].code == (BPF_LD | BPF_DW | BPF_IMM) && code.code[1].dst_reg == 4 &&
			!code.code[1].src_reg && code.code[1].imm == INT32_MIN);
	CHECK(!code.code[2].code && !code.code[2].imm && !code.code[2].dst_reg);
	CHECK(code.code[3].dst_reg == 5 && code.code[3].imm == INT32_MIN);
	CHECK(code.code[4].dst_reg == 6 && code.code[4].imm == INT32_MAX && code.code[5].imm == -1);
	code.nr = 0;
	bpf_emit_map(&code, 1, 7);
	CHECK(code.nr == 2 && code.code[0].src_reg == BPF_PSEUDO_MAP_FD && code.code[0].imm == 7 &&
			!code.code[1].imm && code.code[0].dst_reg == 1);
	code.nr = 0;
	bpf_emit_load(&code, 1, 2, 3, -4);
	bpf_emit_load(&code, 2, 2, 3, -4);
	bpf_emit_load(&code, 4, 2, 3, -4);
	bpf_emit_load(&code, 8, 2, 3, -4);
	bpf_emit_store(&code, 1, 5, 6, 7);
	bpf_emit_store(&code, 8, 5, 6, 7);
	for (unsigned int i = 0; i < 4; i++) {
		static const uint8_t sizes[] = {BPF_B, BPF_H, BPF_W, BPF_DW};

		CHECK(code.code[i].code == (BPF_LDX | BPF_MEM | sizes[i]) &&
				code.code[i].dst_reg == 2 && code.code[i].src_reg == 3 &&
				code.code[i].off == -4 && !code.code[i].imm);
	}
	CHECK(code.code[4].code == (BPF_STX | BPF_MEM | BPF_B) && code.code[4].dst_reg == 5 &&
			code.code[4].src_reg == 7 && code.code[4].off == 6 && !code.code[4].imm);
	CHECK(code.code[5].code == (BPF_STX | BPF_MEM | BPF_DW));
	code.nr = 0;
	bpf_emit_add(&code, 8, -1);
	bpf_emit_add(&code, 8, INT64_C(1) << 40);
	CHECK(code.nr == 4 && code.code[0].code == (BPF_ALU64 | BPF_ADD | BPF_K) &&
			code.code[0].imm == -1 && code.code[0].dst_reg == 8);
	CHECK(code.code[3].code == (BPF_ALU64 | BPF_ADD | BPF_X) && code.code[3].dst_reg == 8 &&
			!code.code[3].src_reg && !code.code[1].dst_reg && code.code[2].imm == 256);
	code.nr = 0;
	bpf_emit_move(&code, 9, 2);
	bpf_emit_call(&code, 14);
	CHECK(code.code[0].code == (BPF_ALU64 | BPF_MOV | BPF_X) && code.code[0].dst_reg == 9 &&
			code.code[0].src_reg == 2 && !code.code[0].imm);
	CHECK(code.code[1].code == (BPF_JMP | BPF_CALL) && code.code[1].imm == 14);
	/* A jump goes at most 32767 instructions further, and there are at most 8192. */
	jump = bpf_emit_jump(&code, BPF_JEQ, 3, 5);
	CHECK(jump == 2 && code.code[2].code == (BPF_JMP | BPF_JEQ | BPF_K) &&
			code.code[2].dst_reg == 3 && code.code[2].imm == 5);
	CHECK(bpf_emit_jump_register(&code, BPF_JGT, 1, 2) == 3 &&
			code.code[3].code == (BPF_JMP | BPF_JGT | BPF_X) &&
			code.code[3].src_reg == 2);
	bpf_emit_target(&code, jump);
	CHECK(code.code[2].off == 1 && !code.overflow);
	code.nr = 2 + 1 + INT16_MAX;
	bpf_emit_target(&code, jump);
	CHECK(code.code[2].off == INT16_MAX && !code.overflow);
	code.nr++;
	bpf_emit_target(&code, jump);
	CHECK(code.overflow && code.code[2].off == INT16_MAX);
	code.overflow = false;
	code.nr = ASSEMBLY_MAX - 1;
	bpf_emit_call(&code, 1);
	CHECK(code.nr == ASSEMBLY_MAX && !code.overflow);
	bpf_emit_call(&code, 1);
	CHECK(code.nr == ASSEMBLY_MAX && code.overflow);
}

int main(void)
{
	int table;

	make_files();
	table = make_table();
	options = (struct global_options){
			.tables = &table, .nr_tables = 1, .backend = GLOBAL_TRACEFS};
	open_without_memory();
	refused_ways();
	damaged_formats();
	watched();
	failing_watch();
	global_close(NULL);
	kept_hits();
	conflicts_without_memory();
	paths_with_spaces();
	numbers_of_cpus();
	instructions();
	close(table);
	remove_files();
	return 0;
}
