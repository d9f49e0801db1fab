/* SPDX-License-Identifier: MIT */
/*
 * BPF programs with a simulated kernel: each request, which links are made for which sides, what is
 * reported if a request fails, and the records of the ring. The test includes the file, so that it
 * can replace its calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/perf_event.h>

#include "../../check.h"
#include "../../failing-calls.h"
#include "../../resources.h"
#include "probe/uprobe/global.h"
#include "probe/uprobe/parts.h"

#define LENGTH(array) (sizeof(array) / sizeof(*(array)))
#define RING_BYTES 8192u
#define PAGE 4096u

/* ---- the kernel ---- */

static char requests[16384];
static struct {
	const char *request; /* the request that fails: the start of its text */
	unsigned int number; /* of those requests; 0: each one */
	int error;
} fails;
static unsigned int nr_failing;
static const char *log_text;
/* of the file with the type of events; NULL: the file does not exist */
static const char *type_text;
static int programs[16], maps[2];
static unsigned int nr_programs, nr_mapped;
static uint64_t lost_hits;

/* Notes the request. Returns a negative result if it must fail. */
static int note(const char *text)
{
	CHECK(strlen(requests) + strlen(text) + 2 < sizeof(requests));
	strcat(strcat(requests, text), "\n");
	if (!fails.request || strncmp(text, fails.request, strlen(fails.request)) != 0 ||
			(++nr_failing != fails.number && fails.number))
		return 0;
	errno = fails.error;
	return -1;
}

static unsigned int zero_at; /* the number of the new descriptor that is 0 */
static int last_event;

static int number_zero(int fd)
{
	int moved = fd < 3 ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : fd;

	CHECK(moved >= 3 && (moved == fd || !close(fd)));
	if (!zero_at || --zero_at)
		return moved;
	CHECK(fcntl(0, F_GETFD) < 0 && !dup2(moved, 0) && !close(moved));
	errno = EIO;
	return 0;
}

static int new_file(size_t size)
{
	int fd = memfd_create("played", MFD_CLOEXEC);

	CHECK(fd >= 0 && !ftruncate(fd, (off_t)size));
	return number_zero(fd);
}

/* Checks that all bytes of a request from this offset on are 0. */
static void check_zeros(const void *request, size_t from, size_t size)
{
	for (size_t i = from; i < size; i++)
		CHECK(!((const char *)request)[i]);
}

static long make_played_map(const union bpf_attr *request)
{
	char text[128];
	unsigned int which = request->map_type == BPF_MAP_TYPE_ARRAY;

	snprintf(text, sizeof(text), "map %u %u %u %u", request->map_type, request->key_size,
			request->value_size, request->max_entries);
	check_zeros(request, offsetof(union bpf_attr, map_flags), sizeof(*request));
	if (note(text))
		return -1;
	return maps[which] = new_file(2 * PAGE + 2 * RING_BYTES);
}

static long load_played(const union bpf_attr *request)
{
	const struct bpf_insn *code = (const struct bpf_insn *)(uintptr_t)request->insns;
	static const struct bpf_insn nothing[] = {
			{.code = BPF_ALU64 | BPF_MOV | BPF_K}, {.code = BPF_JMP | BPF_EXIT}};
	unsigned int nr_maps = 0;
	char text[128];

	if (request->insn_cnt == 2)
		CHECK(!memcmp(code, nothing, sizeof(nothing)));
	for (uint32_t i = 0; i < request->insn_cnt; i++)
		if (code[i].code == (BPF_LD | BPF_DW | BPF_IMM) &&
				code[i].src_reg == BPF_PSEUDO_MAP_FD)
			CHECK(nr_maps < 2 && code[i].imm == maps[nr_maps++]);
	check_zeros(request, offsetof(union bpf_attr, prog_name) + 5,
			offsetof(union bpf_attr, expected_attach_type));
	check_zeros(request, offsetof(union bpf_attr, expected_attach_type) + 4, sizeof(*request));
	CHECK(!request->prog_ifindex && !request->kern_version);

	CHECK(request->prog_type == BPF_PROG_TYPE_KPROBE && !strcmp(request->prog_name, "side"));
	CHECK(!strcmp((const char *)(uintptr_t)request->license, "Dual MIT/GPL") &&
			request->insn_cnt >= 2);
	CHECK(((const struct bpf_insn *)(uintptr_t)request->insns)[request->insn_cnt - 1].code ==
			(BPF_JMP | BPF_EXIT));
	snprintf(text, sizeof(text), "load%s%s%s%s", request->insn_cnt == 2 ? " nothing" : "",
			request->expected_attach_type == 48 ? " multi" : "",
			request->prog_flags == 16 ? " sleepable" : "",
			request->log_level ? " log" : "");
	CHECK((!request->expected_attach_type || request->expected_attach_type == 48) &&
			!(request->prog_flags & ~16u));
	if (request->log_level) {
		CHECK(request->log_level == 1 && request->log_size == 65536 &&
				!*(char *)(uintptr_t)request->log_buf);
		strcpy((char *)(uintptr_t)request->log_buf, log_text);
	}
	if (note(text))
		return -1;
	CHECK(nr_programs < LENGTH(programs));
	return programs[nr_programs++] = new_file(0);
}

/* The programs are numbered in the order in which they were loaded. */
static unsigned int program_number(uint32_t fd)
{
	unsigned int i = nr_programs;

	while (i-- && programs[i] != (int)fd)
		;
	return i;
}

static long link_played(const char *request, size_t size)
{
	uint32_t head[4], counts[3];
	uint64_t lists[4];
	char text[2048];
	size_t used;

	memcpy(head, request, 16);
	CHECK(!head[3]);
	if (head[2] == 41) {
		CHECK(size == 24 && (int)head[1] == last_event && fcntl(last_event, F_GETFD) >= 0);
		memcpy(lists, request + 16, 8);
		snprintf(text, sizeof(text), "link %u %llu", program_number(head[0]),
				(unsigned long long)lists[0]);
		return note(text) ? -1 : new_file(0);
	}
	CHECK(size == 64 && head[2] == 48 && !head[1]);
	memcpy(lists, request + 16, 32);
	memcpy(counts, request + 48, 12);
	check_zeros(request, 60, size);
	used = (size_t)snprintf(text, sizeof(text),
			"multi %u \"%s\" %u %u:", program_number(head[0]),
			(const char *)(uintptr_t)lists[0], counts[1], counts[2]);
	for (uint32_t i = 0; i < counts[0]; i++) {
		used += (size_t)snprintf(text + used, sizeof(text) - used, " %llx",
				(unsigned long long)((const uint64_t *)(uintptr_t)lists[1])[i]);
		if (lists[2])
			used += (size_t)snprintf(text + used, sizeof(text) - used, "/%llx",
					(unsigned long long)((
							const uint64_t *)(uintptr_t)lists[2])[i]);
		if (lists[3])
			used += (size_t)snprintf(text + used, sizeof(text) - used, "=%llu",
					(unsigned long long)((
							const uint64_t *)(uintptr_t)lists[3])[i]);
	}
	return note(text) ? -1 : new_file(0);
}

static long open_played(const struct perf_event_attr *event, int process, int cpu, int group,
		unsigned long flags)
{
	char text[256];

	CHECK(event->size == sizeof(*event) && group == -1 && flags == PERF_FLAG_FD_CLOEXEC);
	snprintf(text, sizeof(text), "event %u %s+%llx %llx %d %d", event->type,
			(const char *)(uintptr_t)event->uprobe_path,
			(unsigned long long)event->probe_offset, (unsigned long long)event->config,
			process, cpu);
	return note(text) ? -1 : (last_event = new_file(0));
}

static long play_syscall(long number, ...)
{
	long a[5];
	va_list list;

	va_start(list, number);
	if (number == SYS_perf_event_open) {
		a[0] = (long)va_arg(list, void *);
		for (unsigned int i = 1; i < 4; i++)
			a[i] = va_arg(list, int);
		a[4] = (long)va_arg(list, unsigned long);
		va_end(list);
		return open_played((const void *)a[0], (int)a[1], (int)a[2], (int)a[3],
				(unsigned long)a[4]);
	}
	a[0] = va_arg(list, int);
	a[1] = (long)va_arg(list, void *);
	a[2] = (long)va_arg(list, size_t);
	va_end(list);
	CHECK(number == SYS_bpf);
	if (a[0] == BPF_LINK_CREATE)
		return link_played((const char *)a[1], (size_t)a[2]);
	CHECK((size_t)a[2] == sizeof(union bpf_attr));
	if (a[0] == BPF_MAP_CREATE)
		return make_played_map((const union bpf_attr *)a[1]);
	if (a[0] == BPF_PROG_LOAD)
		return load_played((const union bpf_attr *)a[1]);
	CHECK(a[0] == BPF_MAP_LOOKUP_ELEM &&
			((const union bpf_attr *)a[1])->map_fd == (uint32_t)maps[1]);
	CHECK(*(const uint32_t *)(uintptr_t)((const union bpf_attr *)a[1])->key == 0);
	if (note("lost"))
		return -1;
	check_zeros((const void *)a[1], 24, sizeof(union bpf_attr));
	*(uint64_t *)(uintptr_t)((const union bpf_attr *)a[1])->value = lost_hits;
	return 0;
}

static int play_open(const char *path, int flags)
{
	int fd;

	CHECK(!strcmp(path, "/sys/bus/event_source/devices/uprobe/type") &&
			flags == (O_RDONLY | O_CLOEXEC));
	if (!type_text)
		return -1;
	fd = memfd_create("type", MFD_CLOEXEC);
	CHECK(fd >= 0 && write(fd, type_text, strlen(type_text)) == (ssize_t)strlen(type_text) &&
			!lseek(fd, 0, SEEK_SET));
	return number_zero(fd);
}

static void *play_map(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	CHECK(!at && flags == MAP_SHARED && fd == maps[0]);
	CHECK(offset ? offset == PAGE && protection == PROT_READ && size == PAGE + 2 * RING_BYTES
		     : protection == (PROT_READ | PROT_WRITE) && size == PAGE);
	if (note(offset ? "read" : "write"))
		return MAP_FAILED;
	nr_mapped++;
	return mmap(at, size, protection, flags, fd, offset);
}

static int play_unmap(void *at, size_t size)
{
	CHECK(size == PAGE || size == PAGE + 2 * RING_BYTES);
	nr_mapped--;
	return munmap(at, size);
}

static int play_close(int fd)
{
	int ret = close(fd);

	CHECK(!ret);
	return ret;
}

#define syscall play_syscall
#define open play_open
#define mmap play_map
#define munmap play_unmap
#define close play_close
#include "probe/uprobe/bpf.c"
#undef syscall
#undef open
#undef mmap
#undef munmap
#undef close

static void expect_requests(const char *wanted)
{
	if (strcmp(requests, wanted))
		fprintf(stderr, "%s\ninstead of\n%s\n", requests, wanted);
	CHECK(!strcmp(requests, wanted));
	*requests = '\0';
}

/* ---- sides ---- */

#define SIDES 11
static struct global_side sides[SIDES];
static struct global global;
static struct error error;
static struct global_field field, other_field;
static const struct probe_fetch_op fetched = {.code = PROBE_FETCH_REGISTER, .reg = 5},
				   other_fetched = {.code = PROBE_FETCH_REGISTER, .reg = 4};

static void begin(void)
{
	memset(&global, 0, sizeof(global));
	memset(sides, 0, sizeof(sides));
	memset(&error, 0, sizeof(error));
	memset(&fails, 0, sizeof(fails));
	global.sides = sides;
	global.nr_sides = SIDES;
	global.ring_size = RING_BYTES;
	for (uint32_t i = 0; i < SIDES; i++)
		sides[i] = (struct global_side){.number = i,
				.path = i == 3 ? "/b" : "/a",
				.exit = i == 2,
				.address = 0x1000 * (i + 1),
				.offset = 0x100 * (i + 1),
				.reference = i == 1 ? 0x51 : 0};
	field = (struct global_field){
			.field = {.name = "some", .type = PROBE_FIELD_UNSIGNED, .size = 8},
			.source = GLOBAL_FETCHED,
			.fetch = {.ops = &fetched, .nr_ops = 1}};
	other_field = field;
	other_field.fetch.ops = &other_fetched;
	for (unsigned int i = 4; i < 7; i++) {
		sides[i].fields = i == 6 ? &other_field : &field;
		sides[i].nr_fields = 1;
		sides[i].size = 8;
	}
	type_text = "9\n";
	log_text = "";
	nr_programs = nr_failing = 0;
	*requests = '\0';
	fails.request = "multi 1 \"\"";
	fails.error = ENOENT;
}

static void fail_at(const char *request, unsigned int number, int code)
{
	fails.request = request;
	fails.number = number;
	fails.error = code;
	nr_failing = 0;
	memset(&error, 0, sizeof(error));
	*requests = '\0';
}

static void expect_error(const char *text, const char *hint)
{
	if (strcmp(error.text, text))
		fprintf(stderr, "%s\n", error.text);
	CHECK(!strcmp(error.text, text) && !strcmp(error.hint, hint));
}

#define OPENED(kind)                                                                  \
	"map 27 0 0 8192\nmap 2 4 8 1\nwrite\nread\nload nothing" kind " sleepable\n" \
	"load" kind " sleepable\nload" kind " sleepable\nload" kind " sleepable\n"
#define ROOT "run as root, or with the capabilities CAP_BPF and CAP_PERFMON"

/* ---- links ---- */

static void links_of_files(void)
{
	static const char all[] =
			"multi 1 \"/a\" 0 0: 100/0=0 200/51=1 800/0=7 900/0=8 a00/0=9 b00/0=10\n"
			"multi 1 \"/a\" 1 0: 300=2\nmulti 1 \"/b\" 0 0: 400=3\nmulti 2 \"/a\" 0 0: 500=4 600=5\nmulti 3 \"/a\" 0 0: 700=6\n";
	unsigned int before = resources_descriptors(), opened;

	begin();
	CHECK(!bpf_open(&global, true, &error) && global.bpf && nr_mapped == 2);
	expect_requests(OPENED(" multi") "multi 1 \"\" 0 0: 0\n");
	CHECK(bpf_fd(global.bpf) == maps[0]);
	opened = resources_descriptors();
	/* A ring, a counter, three programs. */
	CHECK(opened == before + 5);
	CHECK(!bpf_watch(&global, true, &error) && resources_descriptors() == opened + 5);
	expect_requests(all);
	CHECK(!bpf_watch(&global, true, &error) && resources_descriptors() == opened + 5);
	expect_requests(all);
	CHECK(!bpf_watch(&global, false, &error) && resources_descriptors() == opened &&
			!*requests);
	global.process = 4711;
	CHECK(!bpf_watch(&global, true, &error));
	CHECK(strstr(requests, "multi 1 \"/b\" 0 4711: 400=3\n"));
	*requests = '\0';
	/* All sides are watched, or none. */
	fail_at("multi", 3, EINVAL);
	CHECK(bpf_watch(&global, true, &error) == -EINVAL && resources_descriptors() == opened);
	expect_error("the kernel refuses the probe in /b at 0x4000: Invalid argument", "");
	fail_at("multi", 1, EPERM);
	CHECK(bpf_watch(&global, true, &error) == -EPERM && resources_descriptors() == opened);
	expect_error("the kernel does not permit the probe in /a at 0x1000", ROOT);
	for (unsigned int i = 0; i < 2; i++) {
		fail_at("multi", 4, i ? 524 : ENOTSUP);
		CHECK(bpf_watch(&global, true, &error) < 0 && resources_descriptors() == opened);
		expect_error("the kernel cannot watch the instruction in /a at 0x5000",
				"choose another location");
	}
	fail_at("multi", 4, EACCES);
	CHECK(bpf_watch(&global, true, &error) < 0);
	expect_error("the kernel does not permit the probe in /a at 0x5000", ROOT);
	fails.request = NULL;
	CHECK(!bpf_watch(&global, true, &error));
	bpf_close(global.bpf);
	CHECK(resources_descriptors() == before && !nr_mapped);
	bpf_close(NULL);
}

/* Each link needs a descriptor, and one more is left. */
static void limit_of_descriptors(void)
{
	struct rlimit limit, lower;
	int next;

	begin();
	CHECK(!bpf_open(&global, true, &error) && !getrlimit(RLIMIT_NOFILE, &limit));
	next = fcntl(maps[0], F_DUPFD_CLOEXEC, 0);
	CHECK(next >= 0 && !close(next));
	lower = limit;
	for (unsigned int i = 0; i < 2; i++) {
		lower.rlim_cur = (rlim_t)next + 5 + 1 + i;
		CHECK(!setrlimit(RLIMIT_NOFILE, &lower));
		CHECK(bpf_watch(&global, true, &error) == (i ? 0 : -EMFILE));
	}
	CHECK(!setrlimit(RLIMIT_NOFILE, &limit) && strstr(error.text, " needs 6 descriptors "));
	bpf_close(global.bpf);
}

static void links_of_events(void)
{
	unsigned int before = resources_descriptors(), opened;

	begin();
	CHECK(!bpf_open(&global, false, &error));
	expect_requests(OPENED(""));
	opened = resources_descriptors();
	CHECK(opened == before + 5);
	CHECK(!bpf_watch(&global, true, &error) && resources_descriptors() == opened + SIDES);
	CHECK(strstr(requests,
			      "event 9 /a+100 0 -1 0\nlink 1 0\nevent 9 /a+200 5100000000 -1 0\nlink 1 1\n") ==
			requests);
	CHECK(strstr(requests,
			"event 9 /a+300 1 -1 0\nlink 1 2\nevent 9 /b+400 0 -1 0\nlink 1 3\n"));
	CHECK(strstr(requests,
			"event 9 /a+500 0 -1 0\nlink 2 4\nevent 9 /a+600 0 -1 0\nlink 2 5\nevent 9 /a+700 0 -1 0\nlink 3 6\n"));
	CHECK(!bpf_watch(&global, false, &error) && resources_descriptors() == opened);
	*requests = '\0';
	global.process = 1;
	CHECK(!bpf_watch(&global, true, &error));
	CHECK(strstr(requests, "event 9 /a+100 0 1 -1\nlink 1 0\n") == requests);
	fail_at("event", 4, EINVAL);
	CHECK(bpf_watch(&global, true, &error) == -EINVAL && resources_descriptors() == opened);
	expect_error("the kernel refuses the probe in /b at 0x4000: Invalid argument", "");
	fail_at("link", 5, ENODEV);
	CHECK(bpf_watch(&global, true, &error) == -ENODEV && resources_descriptors() == opened);
	expect_error("the kernel refuses the probe in /a at 0x5000: No such device", "");
	fails.request = NULL;
	type_text = NULL;
	CHECK(bpf_watch(&global, true, &error) == -ENOENT && resources_descriptors() == opened);
	type_text = "";
	CHECK(bpf_watch(&global, true, &error) == -ENOENT && resources_descriptors() == opened);
	type_text = "0\n";
	CHECK(!bpf_watch(&global, true, &error) && strstr(requests, "event 0 /a+100 0 1 -1\n"));
	bpf_close(global.bpf);
	CHECK(resources_descriptors() == before && !nr_mapped);
}

/* ---- refusals ---- */

static void expect_no_opening(bool multi, const char *request, int code, int wanted,
		const char *text, const char *hint)
{
	unsigned int before = resources_descriptors();

	begin();
	fail_at(request, 0, code);
	CHECK(bpf_open(&global, multi, &error) == wanted && !global.bpf);
	expect_error(text, hint);
	CHECK(resources_descriptors() == before && !nr_mapped);
}

#define NO_MULTI "the kernel has no uprobe_multi (Linux 6.6 or later has it)"

static void refused_maps(void)
{
	expect_no_opening(true, "map 27", EPERM, -EPERM,
			"the kernel does not permit a buffer for BPF programs", ROOT);
	expect_requests("map 27 0 0 8192\n");
	expect_no_opening(true, "map 27", EINVAL, -EINVAL,
			"the kernel refuses a buffer for BPF programs: Invalid argument", "");
	expect_no_opening(true, "map 2 ", EACCES, -EPERM,
			"the kernel does not permit a counter for BPF programs", ROOT);
	expect_requests("map 27 0 0 8192\nmap 2 4 8 1\n");
	expect_no_opening(true, "write", ENOMEM, -ENOMEM,
			"the buffer of BPF programs cannot be mapped", "");
	expect_no_opening(true, "read", ENOMEM, -ENOMEM,
			"the buffer of BPF programs cannot be mapped", "");
	expect_requests("map 27 0 0 8192\nmap 2 4 8 1\nwrite\nread\n");
}

static void refused_programs(void)
{
	static const char *const logs[][2] = {{"one", "one"}, {"one\n\n", "one"},
			{"one\ntwo\n", "two"},
			{"one\ntwo\nprocessed 12 insns (limit 1000000)\n", "two"},
			{"one\nprocessed\n", "processed"}, {"two\nprocessed 1\n", "two"},
			{"\n", ""}};
	unsigned int before = resources_descriptors();
	char text[128];

	expect_no_opening(true, "load multi", EPERM, -EPERM,
			"the kernel does not permit BPF programs", ROOT);
	expect_requests("map 27 0 0 8192\nmap 2 4 8 1\nwrite\nread\nload nothing multi sleepable\nload multi sleepable\n");
	/* It is loaded again to get the reason, which is the last line of the kernel's log. */
	for (size_t i = 0; i < LENGTH(logs); i++) {
		begin();
		fail_at("load multi", 0, EINVAL);
		log_text = logs[i][0];
		CHECK(bpf_open(&global, true, &error) == -EINVAL &&
				resources_descriptors() == before);
		snprintf(text, sizeof(text), "the kernel refuses the BPF program: %s", logs[i][1]);
		expect_error(text, "");
		CHECK(strstr(requests, "\nload multi sleepable\nload multi sleepable log\n"));
	}
	expect_no_opening(true, "load multi", EINVAL, -EINVAL,
			"the kernel refuses BPF programs: Invalid argument", "");
	/* A program that is refused only the first time is used. */
	begin();
	fails.request = "load multi";
	fails.number = 1;
	fails.error = EAGAIN;
	CHECK(!bpf_open(&global, true, &error));
	bpf_close(global.bpf);
	/* The kernel has no programs that may sleep. */
	begin();
	fails.request = "load nothing";
	CHECK(!bpf_open(&global, true, &error));
	expect_requests("map 27 0 0 8192\nmap 2 4 8 1\nwrite\nread\nload nothing multi sleepable\nload multi\nload multi\nload multi\nmulti 0 \"\" 0 0: 0\n");
	bpf_close(global.bpf);
	CHECK(resources_descriptors() == before && !nr_mapped);
}

static void refused_sides(void)
{
	static struct global_field many[64];
	static struct probe_fetch_op ops[PROBE_TABLE_OPS_MAX];

	begin();
	for (unsigned int i = 0; i < PROBE_TABLE_OPS_MAX; i++)
		ops[i] = (struct probe_fetch_op){.code = PROBE_FETCH_LOAD, .size = 8};
	for (unsigned int i = 0; i < 64; i++) {
		many[i] = field;
		many[i].fetch = (struct probe_fetch){.ops = ops, .nr_ops = PROBE_TABLE_OPS_MAX};
	}
	sides[8].fields = many;
	sides[8].nr_fields = 64;
	CHECK(bpf_open(&global, true, &error) == -E2BIG && !nr_mapped);
	expect_error("the recorded fields are too many for a program in the kernel",
			"request fewer values");
	sides[8].nr_fields = 1;
	many[0].fetch.nr_ops = 1;
	ops[0].code = PROBE_FETCH_VECTOR;
	CHECK(bpf_open(&global, true, &error) == -ENOTSUP && !nr_mapped);
	expect_error("the kernel cannot read `some`: it is in a vector register",
			"probe one program, without `--global`");
}

#define NO_MULTI "the kernel has no uprobe_multi (Linux 6.6 or later has it)"
#define NO_EVENTS \
	"there is no /sys/bus/event_source/devices/uprobe: the kernel lacks CONFIG_UPROBE_EVENTS, or sysfs is not mounted"

static void refused_links(void)
{
	static const struct {
		int code, wanted;
		const char *text, *hint;
	} cases[] = {{EINVAL, -ENOTSUP, NO_MULTI, ""}, {E2BIG, -ENOTSUP, NO_MULTI, ""},
			{ENOTSUP, -ENOTSUP, NO_MULTI, ""},
			{EPERM, -EPERM, "the kernel does not permit links of BPF programs", ROOT},
			{ENOENT, 0, "", ""}, {EBADF, 0, "", ""}};
	unsigned int before = resources_descriptors();

	for (size_t i = 0; i < LENGTH(cases); i++) {
		begin();
		fail_at("multi", 0, cases[i].code);
		CHECK(bpf_try(true, &error) == cases[i].wanted &&
				resources_descriptors() == before);
		expect_error(cases[i].text, cases[i].hint);
		expect_requests("load nothing multi\nmulti 0 \"\" 0 0: 0\n");
		if (cases[i].wanted)
			expect_no_opening(true, "multi", cases[i].code, cases[i].wanted,
					cases[i].text, cases[i].hint);
	}
	/* This would be a link without a file; it is closed. */
	begin();
	fails.request = NULL;
	CHECK(!bpf_try(true, &error) && resources_descriptors() == before && !*error.text);
	*requests = '\0';
	CHECK(!bpf_try(false, &error) && resources_descriptors() == before && !*error.text);
	expect_requests("load nothing\n");
	type_text = "0\n";
	CHECK(!bpf_try(false, &error) && !*error.text);
	type_text = NULL;
	CHECK(bpf_try(false, &error) == -ENOENT && resources_descriptors() == before);
	expect_error(NO_EVENTS, "");
	CHECK(bpf_open(&global, false, &error) == -ENOENT && resources_descriptors() == before &&
			!nr_mapped);
	fail_at("load", 0, EPERM);
	CHECK(bpf_try(true, &error) == -EPERM && resources_descriptors() == before);
	expect_error("the kernel does not permit BPF programs", ROOT);
	expect_requests("load nothing multi\n");
	fail_at("load", 0, EINVAL);
	CHECK(bpf_try(false, &error) == -EINVAL && resources_descriptors() == before);
	expect_error("the kernel refuses BPF programs: Invalid argument", "");
	expect_requests("load nothing\n");
}

static void without_memory(void)
{
	unsigned int before = resources_descriptors(), opened;

	for (unsigned int call = 1;; call++) {
		int ret;

		begin();
		failing_arm(call);
		ret = bpf_open(&global, true, &error);
		if (!failing_has_failed()) {
			CHECK(!ret && call > 10);
			break;
		}
		CHECK(ret == -ENOMEM && !global.bpf && resources_descriptors() == before &&
				!nr_mapped);
		expect_error("out of memory", "");
	}
	opened = resources_descriptors();
	for (unsigned int call = 1; call <= 4; call++) {
		failing_arm(call);
		CHECK(bpf_watch(&global, true, &error) == -ENOMEM && failing_has_failed());
		CHECK(resources_descriptors() == opened);
	}
	bpf_close(global.bpf);
	CHECK(resources_descriptors() == before);
}

/* A descriptor 0 is used and closed like any other. */
static void descriptor_zero(void)
{
	int saved = fcntl(0, F_DUPFD_CLOEXEC, 100);
	unsigned int before, at = 0;

	CHECK(saved >= 100 && !close(0));
	before = resources_descriptors();
	for (unsigned int i = 0; i < 2; i++) {
		for (at = 1; !zero_at; at++) {
			begin();
			zero_at = at;
			CHECK(!bpf_open(&global, i, &error) && !bpf_watch(&global, true, &error));
			CHECK(!bpf_watch(&global, false, &error));
			bpf_close(global.bpf);
			CHECK(resources_descriptors() == before && fcntl(0, F_GETFD) < 0);
		}
		/*
		 * The ring, the counter, a trial program, three programs, and five links, or eleven
		 * with two more files.
		 */
		CHECK(at == (i ? 13 : 42));
		zero_at = 0;
	}
	for (unsigned int i = 0; i < 2; i++) {
		for (at = 1; at <= 2; at++) {
			begin();
			fails.request = NULL;
			zero_at = at;
			CHECK(!bpf_try(i, &error) && !zero_at);
			CHECK(resources_descriptors() == before && fcntl(0, F_GETFD) < 0);
		}
	}
	CHECK(!dup2(saved, 0) && !close(saved));
}

/* ---- records ---- */

static unsigned char *ring; /* the page of this process, the page of the kernel, the data twice */

/* A record at a position, in both copies of the data. */
static uint64_t add_record(
		uint64_t position, uint32_t size, uint32_t flags, uint32_t side, uint64_t time)
{
	struct hit_record record = {.side = side, .time = time};
	uint32_t length = size | flags;
	unsigned char bytes[512] = "";

	memcpy(bytes, &length, 4);
	memcpy(bytes + 8, &record, sizeof(record));
	for (uint32_t i = 0; i < 8 + size; i++) {
		uint64_t at = (position + i) % RING_BYTES;

		ring[2 * PAGE + at] = ring[2 * PAGE + RING_BYTES + at] = bytes[i];
	}
	position = (position + 8 + size + 7) / 8 * 8;
	memcpy(ring + PAGE, &position, 8);
	return position;
}

static uint64_t read_position(void)
{
	uint64_t position;

	memcpy(&position, ring, 8);
	return position;
}

static void records(void)
{
	const uint32_t size = sizeof(struct hit_record);
	uint64_t at = 5 * (uint64_t)RING_BYTES + 16, busy;

	begin();
	CHECK(!bpf_open(&global, true, &error));
	ring = mmap(NULL, 2 * PAGE + 2 * RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, maps[0],
			0);
	CHECK(ring != MAP_FAILED);
	memcpy(ring, &at, 8);
	memcpy(ring + PAGE, &at, 8);
	bpf_read(global.bpf, &global);
	CHECK(!global.hits.count && read_position() == at);
	at = add_record(at, size, 0, 0, 1000);
	at = add_record(at, size + 5, 0, SIDES - 1, 1001);
	at = add_record(at, size, 0, SIDES, 1002); /* of an unknown side */
	at = add_record(at, size, 1u << 30, 1, 1003);
	at = add_record(at, size - 1, 0, 1, 1004);
	at = add_record(at, size, 0, 2, 1005);
	busy = at;
	at = add_record(at, size, 1u << 31, 3, 1006);
	at = add_record(at, size, 0, 4, 1007);
	bpf_read(global.bpf, &global);
	CHECK(global.hits.count == 3 && read_position() == busy);
	CHECK(global.hits.list[0]->time == 1000 && global.hits.list[1]->time == 1001 &&
			global.hits.list[2]->time == 1005);
	CHECK(global.hits.list[1]->side == SIDES - 1);
	bpf_read(global.bpf, &global);
	CHECK(global.hits.count == 3 && read_position() == busy);
	(void)add_record(busy, size, 0, 3, 1006);
	memcpy(ring + PAGE, &at, 8);
	bpf_read(global.bpf, &global);
	CHECK(global.hits.count == 5 && read_position() == at && global.hits.list[3]->time == 1006);
	/* One that crosses the end of the data. */
	at = 6 * (uint64_t)RING_BYTES - 24;
	memcpy(ring, &at, 8);
	at = add_record(at, size, 0, 6, 1008);
	bpf_read(global.bpf, &global);
	CHECK(global.hits.count == 6 && read_position() == at && global.hits.list[5]->time == 1008);
	CHECK(global.hits.list[5]->side == 6);
	lost_hits = 4712;
	CHECK(bpf_lost(global.bpf) == 4712);
	fail_at("lost", 0, EINVAL);
	CHECK(!bpf_lost(global.bpf));
	for (size_t i = 0; i < global.hits.count; i++)
		free(global.hits.list[i]);
	free(global.hits.list);
	munmap(ring, 2 * PAGE + 2 * RING_BYTES);
	bpf_close(global.bpf);
}

int main(void)
{
	links_of_files();
	limit_of_descriptors();
	links_of_events();
	refused_maps();
	refused_programs();
	refused_sides();
	refused_links();
	without_memory();
	descriptor_zero();
	records();
	return 0;
}
