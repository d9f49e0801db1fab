/* SPDX-License-Identifier: MIT */
/*
 * Parts of the verbs that need rare conditions: processes whose memory cannot be read, the table of
 * libside-kernel.so, members of the group, and recordings of the kernel alone. The files are
 * included, and the test plays users, files and the kernel.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <side/trace.h>

#include "../called.h"
#include "../resources.h"

#include "programs/common/command.h"
#include "programs/side/doctor/doctor.h"
#include "export/export.h"
#include "programs/side/list/kernel-table.h"
#include "programs/side/processes/descriptions.h"
#include "programs/side/processes/process.h"
#include "programs/side/record/kernel.h"
#include "analysis/report-walk.h"
#include "programs/side/processes/running.h"
#include "programs/common/message.h"
#include "elf/image.h"

/* ---- what is printed ---- */

static int printed_file, saved;

static void begin_output(const struct common_options *common)
{
	output_start(common, NULL);
	printed_file = memfd_create("printed", MFD_CLOEXEC);
	fflush(NULL);
	saved = fcntl(2, F_DUPFD_CLOEXEC, 10);
	assert_int_equal(dup2(printed_file, 2), 2);
}

static void assert_output(const char *expected)
{
	static char text[4096];
	ssize_t size;

	fflush(NULL);
	assert_int_equal(dup2(saved, 2), 2);
	close(saved);
	size = pread(printed_file, text, sizeof(text) - 1, 0);
	text[size > 0 ? size : 0] = '\0';
	close(printed_file);
	assert_string_equal(text, expected);
}

static const struct common_options plain = {.color = COLOR_NEVER};

/* ---- a process whose memory cannot be read ---- */

static uid_t owner, own_user;
static bool is_gone;
static const char *scope_text; /* NULL: there is no such file */

static int played_stat(const char *path, struct stat *status)
{
	assert_string_equal(path, "/proc/4711");
	*status = (struct stat){.st_uid = owner};
	return is_gone ? -1 : 0;
}

static uid_t played_user(void)
{
	return own_user;
}

static FILE *played_fopen(const char *path, const char *mode)
{
	assert_string_equal(mode, "re");
	if (strcmp(path, "/proc/sys/kernel/yama/ptrace_scope") != 0)
		return fopen(path, mode);
	errno = ENOENT;
	return scope_text ? fmemopen((void *)(uintptr_t)scope_text, strlen(scope_text), "r") : NULL;
}

#define stat(path, status) played_stat(path, status)
#define geteuid played_user
#define fopen played_fopen
#include "programs/side/processes/process.c"
#undef stat
#undef geteuid
#undef fopen

static void check_failure(int error, int status, const char *printed)
{
	begin_output(&plain);
	assert_int_equal(process_report_failure(4711, error), status);
	assert_output(printed);
}

#define NO_MEMORY_READ \
	"side: cannot read the memory of process 4711: permission to trace it is missing\nhint: "
#define PROTECTED \
	"the process is protected (prctl PR_SET_DUMPABLE, set-user-ID, or capabilities that you do not have): run as root (CAP_SYS_PTRACE)\n"

static void test_not_permitted(void **unused)
{
	(void)unused;
	owner = 1234;
	own_user = 1000;
	scope_text = "1\n";
	check_failure(-EPERM, COMMAND_NOT_PERMITTED,
			NO_MEMORY_READ
			"it belongs to user 1234: run as that user, or as root (CAP_SYS_PTRACE)\n");
	/* Of the same user, of root, and of a process that has exited: another reason. */
	owner = 1000;
	check_failure(-EACCES, COMMAND_NOT_PERMITTED,
			NO_MEMORY_READ
			"kernel.yama.ptrace_scope is 1: run as root (CAP_SYS_PTRACE), or set it to 0 with `sysctl kernel.yama.ptrace_scope=0`\n");
	owner = 1234;
	own_user = 0;
	scope_text = "2\n";
	check_failure(-EACCES, COMMAND_NOT_PERMITTED,
			NO_MEMORY_READ
			"kernel.yama.ptrace_scope is 2: run as root (CAP_SYS_PTRACE), or set it to 0 with `sysctl kernel.yama.ptrace_scope=0`\n");
	own_user = 1000;
	is_gone = true;
	scope_text = "3\n";
	check_failure(-EACCES, COMMAND_NOT_PERMITTED,
			NO_MEMORY_READ
			"kernel.yama.ptrace_scope is 3: run as root (CAP_SYS_PTRACE)\n");
	scope_text = "0\n";
	check_failure(-EPERM, COMMAND_NOT_PERMITTED, NO_MEMORY_READ PROTECTED);
	scope_text = "none\n";
	check_failure(-EPERM, COMMAND_NOT_PERMITTED, NO_MEMORY_READ PROTECTED);
	scope_text = NULL;
	check_failure(-EPERM, COMMAND_NOT_PERMITTED, NO_MEMORY_READ PROTECTED);
	is_gone = false;
}

static void test_failures(void **unused)
{
	static const char none[] =
			"side: cannot list the events of process 4711: there is no such process\nhint: `ps -e` lists those that are running\n";

	(void)unused;
	check_failure(-ENOENT, COMMAND_FAILED, none);
	check_failure(-ESRCH, COMMAND_FAILED, none);
	check_failure(-E2BIG, COMMAND_FAILED,
			"side: cannot list the events of process 4711: there are too many, or too many that are not readable\n");
	check_failure(-EIO, COMMAND_FAILED,
			"side: cannot list the events of process 4711: Input/output error\n");
}

/* ---- the table of libside-kernel.so in a process: the test itself ---- */

static uint64_t symbol_address;
static bool has_image, has_symbol;

static int played_open(int fd, bool relocate, struct image **image, struct error *error)
{
	(void)error;
	assert_true(fcntl(fd, F_GETFD) == FD_CLOEXEC);
	assert_false(relocate);
	*image = (struct image *)&symbol_address;
	called("open;");
	return has_image ? 0 : -ENOEXEC;
}

static bool played_find(
		struct image *image, const char *name, bool all, struct image_symbol *symbol)
{
	assert_ptr_equal(image, &symbol_address);
	assert_false(all);
	called("find %s;", name);
	symbol->address = symbol_address;
	return has_symbol;
}

static void played_close(struct image *image)
{
	assert_ptr_equal(image, &symbol_address);
	called("close;");
}

#define image_open played_open
#define image_find_symbol played_find
#define image_close played_close
#include "programs/side/list/kernel-table.c"
#undef image_open
#undef image_find_symbol
#undef image_close

#define ALL "open;find side_kernel_table_0;close;"

static unsigned int nr_events;
static char names[2048];

static void take_event(void *user, pid_t pid, const struct side_kernel_event_0 *event)
{
	assert_ptr_equal(user, &nr_events);
	assert_int_equal(pid, getpid());
	if (nr_events++ < 4)
		called("%u %s %s %s;", event->state, event->name, event->tracepoint, event->reason);
}

static void take_problem(void *user, pid_t pid, const char *problem, const char *hint)
{
	assert_ptr_equal(user, &nr_events);
	assert_int_equal(pid, getpid());
	called("problem %s, %s;", problem, hint);
}

static int read_table(void)
{
	const struct kernel_table_reader reader = {
			.event = take_event, .problem = take_problem, .user = &nr_events};
	unsigned int before = resources_descriptors();
	int ret;

	nr_events = 0;
	ret = kernel_table_read(getpid(), &reader);
	assert_int_equal(resources_descriptors(), before);
	return ret;
}

#define EVENT_SIZE (sizeof(struct side_kernel_event_0) + 24)
#define BLOCK_SIZE (8 + SIDE_KERNEL_TABLE_EVENTS * EVENT_SIZE)

static struct side_kernel_event_0 *event_of(char *block, size_t number)
{
	return (struct side_kernel_event_0 *)(void *)(block + 8 + number * EVENT_SIZE);
}

/* Fills texts to their full length, without a terminating zero, with different letters. */
static void fill(struct side_kernel_event_0 *event, uint8_t state, char letter)
{
	memset(event->name, letter, sizeof(event->name));
	memset(event->tracepoint, letter + 1, sizeof(event->tracepoint));
	memset(event->reason, letter + 2, sizeof(event->reason));
	event->state = state;
}

static void add_name(uint8_t state, char letter)
{
	size_t used = strlen(names);

	used += (size_t)snprintf(names + used, sizeof(names) - used, "%u ", state);
	memset(names + used, letter, 111);
	strcpy(names + used + 111, " ");
	memset(names + used + 112, letter + 1, 271);
	strcpy(names + used + 112 + 271, " ");
	memset(names + used + 113 + 271, letter + 2, 111);
	strcpy(names + used + 113 + 271 + 111, ";");
}

static void test_kernel_table(void **unused)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char directory[] = "/tmp/test-rare-parts-XXXXXX", path[64];
	char *blocks = calloc(2, BLOCK_SIZE), *mapped, *edge;
	struct side_kernel_table_0 table = {.size = sizeof(table), .event_size = EVENT_SIZE};
	int fd;

	(void)unused;
	assert_true(blocks && mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/libside-kernel.so.0", directory);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(ftruncate(fd, 2 * (off_t)page), 0);
	assert_int_equal(read_table(), -ENOENT);
	assert_int_equal(kernel_table_read(INT_MAX, NULL), -ENOENT);
	/* The second page without the first: the table does not begin there. */
	mapped = mmap(NULL, 2 * page, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(mapped != MAP_FAILED);
	assert_int_equal(munmap(mapped, page), 0);
	assert_int_equal(read_table(), -ENOENT);
	assert_called("");
	assert_true(mmap(mapped, page, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == mapped);
	close(fd);
	assert_int_equal(read_table(), -EPROTO);
	assert_called("open;");
	has_image = true;
	assert_int_equal(read_table(), -EPROTO);
	assert_called(ALL);
	has_symbol = true;
	symbol_address = (uint64_t)(uintptr_t)&table - (uint64_t)(uintptr_t)mapped;
	assert_int_equal(read_table(), 0);
	assert_called(ALL);
	/* The sizes, at their limits. */
	table.size--;
	assert_int_equal(read_table(), -EPROTO);
	table.size += 9;
	table.event_size = sizeof(struct side_kernel_event_0) - 1;
	assert_int_equal(read_table(), -EPROTO);
	table.event_size++;
	assert_int_equal(read_table(), 0);
	table.event_size = 65537;
	assert_int_equal(read_table(), -EPROTO);
	table.event_size--;
	assert_int_equal(read_table(), 0);
	*calls = '\0';
	table.event_size = EVENT_SIZE;
	strcpy(table.problem, "no tracefs");
	assert_int_equal(read_table(), 0);
	assert_called(ALL "problem no tracefs, ;");
	strcpy(table.problem, "no tracefs\nmount it\nthere");
	assert_int_equal(read_table(), 0);
	assert_called(ALL "problem no tracefs, mount it\nthere;");
	*table.problem = '\0';
	/* Two blocks; free entries are skipped, and the last one counts. */
	table.first = (uint64_t)(uintptr_t)blocks;
	*(uint64_t *)(void *)blocks = (uint64_t)(uintptr_t)(blocks + BLOCK_SIZE);
	fill(event_of(blocks, 0), SIDE_KERNEL_EVENT_REGISTERED, 'a');
	fill(event_of(blocks, 2), SIDE_KERNEL_EVENT_REFUSED, 'f');
	fill(event_of(blocks + BLOCK_SIZE, SIDE_KERNEL_TABLE_EVENTS - 1),
			SIDE_KERNEL_EVENT_REGISTERED, 'p');
	strcpy(names, ALL);
	add_name(SIDE_KERNEL_EVENT_REGISTERED, 'a');
	add_name(SIDE_KERNEL_EVENT_REFUSED, 'f');
	add_name(SIDE_KERNEL_EVENT_REGISTERED, 'p');
	assert_int_equal(read_table(), 0);
	assert_called(names);
	assert_int_equal(nr_events, 3);
	/* A table that is written all the time. */
	*(uint64_t *)(void *)(blocks + BLOCK_SIZE) = (uint64_t)(uintptr_t)(blocks + BLOCK_SIZE);
	assert_int_equal(read_table(), 0);
	assert_int_equal(nr_events, 2 + BLOCKS_MAX - 1);
	*calls = '\0';
	/* Memory that ends inside a block, and unmapped memory. */
	edge = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(edge != MAP_FAILED && !munmap(edge + page, page));
	table.first = (uint64_t)(uintptr_t)(edge + page) - 8 - EVENT_SIZE;
	assert_int_equal(read_table(), -EFAULT);
	table.first = (uint64_t)(uintptr_t)(edge + page);
	assert_int_equal(read_table(), -EFAULT);
	assert_int_equal(nr_events, 0);
	*calls = '\0';
	/* The file is replaced while the process has it mapped. */
	unlink(path);
	assert_int_equal(read_table(), -ENOENT);
	assert_called("");
	munmap(edge, page);
	munmap(mapped, 2 * page);
	rmdir(directory);
	free(blocks);
}

/* ---- headings of several processes ---- */

static const char *played_name(pid_t pid, char name[RUNNING_NAME_MAX])
{
	strcpy(name, pid == 2099 ? "a\033pp" : pid == 2100 ? "web" : "");
	return name;
}

#define running_name played_name
#include "programs/side/list/listing-print.c"
#undef running_name

side_hidden_event(one_event, "one", "a", SIDE_LOGLEVEL_INFO, side_field_list(side_field_u32("x")));
side_hidden_event(same_event, "one", "b", SIDE_LOGLEVEL_INFO, side_field_list(side_field_u32("x")));
side_hidden_event(
		other_event, "two", "c", SIDE_LOGLEVEL_INFO, side_field_list(side_field_u32("x")));

static void test_headings(void **unused)
{
	static char first[] = "/lib/a", second[] = "/lib/b";
	struct listing_source sources[] = {
			{first, 2099}, {second, 2099}, {first, 2100}, {second, 2101}, {first, 0}};
	struct listing_event events[] = {{.description = &one_event, .source = 0},
			{.description = &same_event, .source = 0},
			{.description = &other_event, .source = 0},
			{.description = &other_event, .source = 1},
			{.description = &one_event, .source = 2},
			{.description = &one_event, .source = 3},
			{.description = &one_event, .source = 4}};
	const struct listing listing = {
			.sources = sources, .nr_sources = 5, .events = events, .nr_events = 7};
	static const char *const expected[] = {"<a\\x1bpp (process 2099)>\n  </lib/a>\n", "", "\n",
			"\n  </lib/b>\n", "\n<web (process 2100)>\n  </lib/a>\n",
			"\n<program that has exited (process 2101)>\n  </lib/b>\n", "\n</lib/a>\n"};
	const struct palette marks = {.source = "<", .off = ">"};
	struct listing alone = {
			.sources = sources, .nr_sources = 1, .events = events, .nr_events = 1};
	char *text = NULL;
	size_t size;
	FILE *out;

	(void)unused;
	for (size_t i = 0; i < listing.nr_events; i++) {
		out = open_memstream(&text, &size);
		listing_print_break(out, &listing, i, &marks);
		(void)fclose(out);
		assert_string_equal(text, expected[i]);
		free(text);
	}
	out = open_memstream(&text, &size);
	listing_print_break(out, &alone, 0, &marks);
	(void)fclose(out);
	assert_string_equal(text, "<a\\x1bpp (process 2099)>\n");
	free(text);
}

/* ---- the group of the daemon ---- */

static gid_t own_groups[3], own_group;
static int nr_groups;
static bool has_group;

static int played_groups(int buffer, gid_t groups[])
{
	assert_int_equal(buffer, 1024);
	memcpy(groups, own_groups, sizeof(own_groups));
	return nr_groups;
}

static gid_t played_group(void)
{
	return own_group;
}

static struct group *played_named(const char *name)
{
	static struct group group = {.gr_gid = 47};

	assert_string_equal(name, "tracing");
	return has_group ? &group : NULL;
}

#undef doctor_session_is_skipped
#define getgroups played_groups
#define getegid played_group
#define getgrnam played_named
#include "programs/side/doctor/session.c"
#undef getgroups
#undef getegid
#undef getgrnam

static void check_group(uid_t uid, enum doctor_state state, const char *found, const char *hint)
{
	const struct doctor doctor = {.root = "", .uid = uid};
	struct doctor_finding finding = {.state = DOCTOR_SKIPPED};

	doctor_check_group(&doctor, &finding);
	assert_string_equal(finding.found, found);
	assert_string_equal(finding.hint, hint);
	assert_int_equal(finding.state, state);
}

static void test_group(void **unused)
{
	static const char join[] = "sudo usermod -aG tracing \"$USER\", and log in again";

	(void)unused;
	check_group(0, DOCTOR_OK, "root can use the daemon of the system", "");
	check_group(1000, DOCTOR_NOTE, "there is no group tracing",
			"sudo groupadd --system tracing");
	has_group = true;
	own_group = 5;
	own_groups[0] = 47;
	own_groups[1] = 48;
	own_groups[2] = 46;
	check_group(1000, DOCTOR_NOTE, "you are not a member of tracing", join);
	nr_groups = -1;
	check_group(1000, DOCTOR_NOTE, "you are not a member of tracing", join);
	nr_groups = 1;
	check_group(1000, DOCTOR_OK, "you are a member of tracing", "");
	own_groups[0] = 46;
	own_groups[2] = 47;
	nr_groups = 2;
	check_group(1000, DOCTOR_NOTE, "you are not a member of tracing", join);
	nr_groups = 3;
	check_group(1000, DOCTOR_OK, "you are a member of tracing", "");
	nr_groups = 0;
	own_group = 47;
	check_group(1000, DOCTOR_OK, "you are a member of tracing", "");
}

/* ---- recordings of the kernel alone ---- */

static sigset_t awaited;

static int played_wait(const sigset_t *signals, int *number)
{
	called("sigwait;");
	awaited = *signals;
	*number = SIGINT;
	return 0;
}

#define sigwait played_wait
#undef fail
#include "programs/side/record/kernel.c"
#undef sigwait

static void test_wait(void **unused)
{
	static const int each[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	sigset_t before, blocked;

	(void)unused;
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	begin_output(&plain);
	kernel_recording_wait();
	assert_output("side: recording kernel events; Ctrl-C stops it\n");
	assert_called("sigwait;");
	pthread_sigmask(SIG_SETMASK, &before, &blocked);
	for (int number = 1; number < 32; number++) {
		bool is_one = false;

		for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++)
			is_one = is_one || number == each[i];
		assert_int_equal(sigismember(&awaited, number), is_one);
		assert_int_equal(sigismember(&blocked, number),
				is_one || sigismember(&before, number));
	}
}

/* ---- an export without events ---- */

static const struct export_options *the_options;
static char the_reader;

static void played_nothing(const struct ctf_reader *reader,
		const struct report_walk_options *options, const char *filter)
{
	assert_ptr_equal(reader, &the_reader);
	assert_ptr_equal(options->patterns, &the_options->patterns);
	called("%s %s %s %s-%s;", options->verb, options->dir, filter, options->times.from,
			options->times.to);
}

#define command_note_no_match played_nothing
#define fail fail_export
#include "programs/side/export/export.c"
#undef command_note_no_match
#undef fail

static void test_nothing(void **unused)
{
	const struct export_options options = {
			.filter = "a == 47", .times = {.from = "3s", .to = "8s"}};
	const struct export_source source = {.options = &options, .dir = "/the/dir"};

	(void)unused;
	the_options = &options;
	export_note_nothing((void *)(uintptr_t)&source, (const struct ctf_reader *)&the_reader);
	assert_called("export /the/dir a == 47 3s-8s;");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_not_permitted),
			cmocka_unit_test(test_failures), cmocka_unit_test(test_kernel_table),
			cmocka_unit_test(test_headings), cmocka_unit_test(test_group),
			cmocka_unit_test(test_wait), cmocka_unit_test(test_nothing)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
