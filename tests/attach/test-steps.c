/* SPDX-License-Identifier: MIT */
/*
 * Each step of an attach to a simulated program: the test provides its memory, its threads and its
 * files, and the new thread calls functions of the test. Each failed call is reported with its own
 * message. The test includes the file, so that it can call its static functions.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../called.h"

#include "attach/inject.h"
#include "attach/parts.h"

#define PROGRAM 4711
#define SCRATCH UINT64_C(0x40000)
#define CODE UINT64_C(0x10e00)
#define CODE_SIZE 320
#define ERROR_AT UINT64_C(0x70000) /* the text of dlerror() */
#define START UINT64_C(5000000000)

/* ---- memory ---- */

static uint64_t clock_ns;
static union {
	struct inject_scratch scratch;
	uint8_t bytes[sizeof(struct inject_scratch)];
} memory;
static bool has_scratch;
static uint8_t code_bytes[CODE_SIZE];
static unsigned int failing_read, failing_write; /* the number of the call that fails; 0: none */
static int memory_error;
static char error_text[512];
static size_t error_size; /* of its mapped bytes */

static uint8_t *find_bytes(uint64_t address, size_t size)
{
	if (has_scratch && address >= SCRATCH && address + size <= SCRATCH + sizeof(memory))
		return memory.bytes + (address - SCRATCH);
	if (address >= CODE && address + size <= CODE + sizeof(code_bytes))
		return code_bytes + (address - CODE);
	if (address >= ERROR_AT && address + size <= ERROR_AT + error_size)
		return (uint8_t *)error_text + (address - ERROR_AT);
	return NULL;
}

static bool is_due(unsigned int *number)
{
	errno = memory_error;
	return *number && !--*number;
}

static bool played_read(
		const struct inject_target *target, uint64_t address, void *bytes, size_t size)
{
	const uint8_t *found = find_bytes(address, size);

	assert_int_equal(target->pid, PROGRAM);
	if (is_due(&failing_read) || !found)
		return false;
	memcpy(bytes, found, size);
	return true;
}

static bool played_write(const struct inject_target *target, uint64_t address, const void *bytes,
		size_t size)
{
	uint8_t *found = find_bytes(address, size);

	assert_int_equal(target->pid, PROGRAM);
	if (is_due(&failing_write) || !found)
		return false;
	memcpy(found, bytes, size);
	return true;
}

/* ---- the new thread ---- */

static const char *const functions[] = {"dlopen", "dlsym", "dlerror", "syscall", "__errno_location",
		"pthread_attr_init", "pthread_attr_setdetachstate", "pthread_attr_setstacksize",
		"pthread_attr_destroy", "pthread_create", "serve", "side_agent_own_thread"};
#define NR_FUNCTIONS (sizeof(functions) / sizeof(*functions))
static uint64_t results[NR_FUNCTIONS][4]; /* of the calls, in sequence */
static size_t nr_results[NR_FUNCTIONS];
static const char *missing; /* of the C library */
static bool is_deaf;

static const char *text_at(uint64_t address)
{
	return address < SCRATCH ? "" : (const char *)memory.bytes + (address - SCRATCH);
}

static void run_thread(void)
{
	struct inject_scratch *scratch = &memory.scratch;
	size_t function = scratch->function / 16 - 1;

	if (is_deaf || !has_scratch || scratch->command == scratch->done)
		return;
	if (!scratch->function) {
		called("ends ");
		has_scratch = false;
		return;
	}
	assert_true(function < NR_FUNCTIONS);
	if (function == 0)
		called("dlopen(%s,%d) ", text_at(scratch->arguments[0]),
				(int)scratch->arguments[1]);
	else if (function == 1)
		called("dlsym(%d,%s) ", (int)scratch->arguments[0], text_at(scratch->arguments[1]));
	else if (function == 3)
		called("syscall(%d,%s,%d) ", (int)scratch->arguments[0],
				text_at(scratch->arguments[1]), (int)scratch->arguments[2]);
	else
		called("%s(%s) ", functions[function], text_at(scratch->arguments[0]));
	scratch->result = results[function][nr_results[function]];
	nr_results[function] += nr_results[function] < 3;
	scratch->done = scratch->command;
}

static uint64_t played_now(void)
{
	return clock_ns;
}

static void played_pause(long us)
{
	clock_ns += (uint64_t)us * 1000;
	run_thread();
}

/* ---- threads of the program ---- */

static const char *thread_name; /* of thread 4712, the only one */
static int opendir_error, readdir_error, name_error;
static unsigned int nr_open;        /* directories */
static unsigned int listed;         /* number of entries that were read */
static unsigned long long times[4]; /* processor time of the thread, in sequence */
static size_t at_time;

static DIR *played_opendir(const char *path)
{
	assert_string_equal(path, "/proc/4711/task");
	listed = 0;
	nr_open += !opendir_error;
	errno = opendir_error;
	return opendir_error ? NULL : (DIR *)&listed;
}

static struct dirent *played_readdir(DIR *directory)
{
	static const char *const names[] = {".", "..", "4712"};
	static struct dirent entry;

	assert_ptr_equal(directory, &listed);
	if (readdir_error)
		errno = readdir_error;
	if (readdir_error || listed == 3)
		return NULL;
	strcpy(entry.d_name, names[listed++]);
	return &entry;
}

static int played_closedir(DIR *directory)
{
	assert_ptr_equal(directory, &listed);
	nr_open--;
	return 0;
}

static const char *played_thread_name(pid_t pid, pid_t thread, char *text, size_t size)
{
	assert_int_equal(pid, PROGRAM);
	assert_int_equal(thread, PROGRAM + 1);
	errno = name_error;
	(void)snprintf(text, size, "%s", name_error || !has_scratch ? "?" : thread_name);
	return text;
}

static const char *played_name(pid_t pid, char *text, size_t size)
{
	(void)snprintf(text, size, "%s", pid == PROGRAM ? "kitchen" : "?");
	return text;
}

static FILE *played_fopen(const char *path, const char *mode)
{
	static char text[32];

	assert_string_equal(path, "/proc/4711/task/4712/schedstat");
	assert_string_equal(mode, "re");
	if (at_time == 4)
		return NULL;
	(void)snprintf(text, sizeof(text), "%llu 1 2\n", times[at_time++]);
	return fmemopen(text, strlen(text), "r");
}

static unsigned int nr_alive; /* kill() finds the program this many times */

static int played_kill(pid_t pid, int signal)
{
	assert_int_equal(pid, PROGRAM);
	assert_int_equal(signal, 0);
	errno = ESRCH;
	return nr_alive && nr_alive-- ? 0 : -1;
}

static int played_not_permitted(struct inject_target *target, pid_t thread, int code)
{
	assert_int_equal(thread, 0);
	return inject_fail(target, INJECT_GONE, "gone, error %d", code);
}

/* ---- files ---- */

static struct stat shown[2]; /* the agent in this process's view, and in the program's */
static bool is_missing[2];
static int copy_error;
static unsigned int nr_copies;
static int opened; /* open() of memory, or a negative errno */

static int played_stat(const char *path, struct stat *status)
{
	assert_string_equal(path, "/lib/agent.so");
	*status = shown[0];
	return is_missing[0] ? -1 : 0;
}

static int played_root_stat(pid_t pid, const char *path, struct stat *status)
{
	assert_int_equal(pid, 4711);
	assert_string_equal(path, "/lib/agent.so");
	*status = shown[1];
	return is_missing[1] ? -ENOENT : 0;
}

static int played_open(const char *path, int flags)
{
	assert_true(flags & O_CLOEXEC);
	called("open(%s) ", strncmp(path, "/proc/self/fd/", 14) != 0 ? path : "itself");
	if (opened < 0) {
		errno = -opened;
		return -1;
	}
	return memfd_create("memory", MFD_CLOEXEC);
}

static int played_fstat(int fd, struct stat *status)
{
	*status = (struct stat){.st_mode = S_IFREG};
	return fcntl(fd, F_GETFD) < 0 ? -1 : 0;
}

static int played_copy(const char *from, int to)
{
	called("copy(%s,%d) ", from, fcntl(to, F_GETFD));
	return copy_error;
}

static bool played_make(struct inject_copy *copy, pid_t pid, const char *file)
{
	assert_int_equal(pid, PROGRAM);
	(void)snprintf(copy->path_in_program, sizeof(copy->path_in_program), "/tmp/%zu%s",
			copy->next, file);
	called("make(%s) ", copy->path_in_program);
	return copy->next++ < nr_copies;
}

static void played_remove(struct inject_copy *copy)
{
	called("remove(%s) ", copy->path_in_program);
}

/* ---- space for the code ---- */

static int open_result, elf_result;
static uint64_t elf_space; /* 0: the file has none */
static bool has_bias;
static uint8_t file_bytes[CODE_SIZE];
static ssize_t file_size;
static bool thread_executes;

static int played_mapping_open(
		const struct inject_target *target, const struct inject_mapping *mapping)
{
	(void)target;
	called("map(%llx) ", (unsigned long long)mapping->begin);
	return open_result ? open_result : open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static int played_elf_read(int fd, struct inject_elf *elf)
{
	assert_true(fd >= 0);
	*elf = (struct inject_elf){.machine = 1};
	return elf_result;
}

static void played_elf_free(struct inject_elf *elf)
{
	assert_int_equal(elf->machine, 1);
}

static uint64_t played_find_space(const struct inject_elf *elf, size_t size)
{
	assert_int_equal(elf->machine, 1);
	assert_int_equal(size, sizeof(code_bytes));
	return elf_space;
}

static bool played_elf_bias(
		const struct inject_elf *elf, uint64_t offset, uint64_t address, uint64_t *bias)
{
	assert_int_equal(elf->machine, 1);
	*bias = address - offset;
	return has_bias;
}

static uint64_t played_function(const struct inject_elf *elf, const char *name)
{
	(void)elf;
	for (size_t i = 0; i < NR_FUNCTIONS; i++) {
		if (!strcmp(functions[i], name) && (!missing || strcmp(missing, name) != 0))
			return 16 * (i + 1);
	}
	return 0;
}

static ssize_t played_pread(int fd, void *to, size_t size, off_t offset)
{
	assert_true(fd >= 0);
	assert_int_equal(offset, 0x3000 + (CODE - 0x10000));
	assert_int_equal(size, sizeof(file_bytes));
	memcpy(to, file_bytes, size);
	return file_size;
}

static bool played_no_thread(pid_t pid, uint64_t begin, uint64_t end)
{
	assert_int_equal(pid, PROGRAM);
	assert_int_equal(begin, CODE);
	assert_int_equal(end, CODE + sizeof(code_bytes));
	return !thread_executes;
}

/* ---- steps ---- */

static uint64_t states;
static bool no_memory;
static int target_result, borrow_result;
static enum inject_kind borrow_kind;
static const uint8_t own_code[CODE_SIZE] = {1, 2, 3};

static uint64_t played_states(void)
{
	return states;
}

static struct inject_code played_code_get(void)
{
	return (struct inject_code){.bytes = states == 99 ? NULL : own_code,
			.size = sizeof(own_code),
			.name = sizeof(own_code) - 16};
}

static void *played_malloc(size_t size)
{
	return no_memory ? NULL : malloc(size);
}

static int played_target_open(struct inject_target *target, const struct inject_request *request)
{
	(void)target;
	(void)request;
	called("target ");
	return target_result;
}

static int played_borrow(struct inject_target *target, struct inject_site *location,
		const struct inject_request *request)
{
	(void)request;
	called("borrow(%llx) ", (unsigned long long)location->code);
	target->report->kind = borrow_kind;
	has_scratch = !borrow_result;
	return borrow_result;
}

static int socket_error, bind_error, socket_fd;
static unsigned int nr_binds; /* that fail with EADDRINUSE first */

static int played_socket(int domain, int type, int protocol)
{
	assert_int_equal(domain, AF_UNIX);
	assert_int_equal(type, SOCK_DGRAM | SOCK_CLOEXEC);
	assert_int_equal(protocol, 0);
	errno = socket_error;
	return socket_error ? -1 : socket_fd;
}

static int played_bind(int fd, const struct sockaddr *address, socklen_t size)
{
	const struct sockaddr_un *name = (const void *)address;

	assert_int_equal(fd, socket_fd);
	assert_int_equal(size, offsetof(struct sockaddr_un, sun_path) + 17);
	assert_memory_equal(name->sun_path, "\0side-attach-4711", 17);
	errno = bind_error;
	if (nr_binds) {
		nr_binds--;
		errno = EADDRINUSE;
		return -1;
	}
	return bind_error ? -1 : 0;
}

/* ---- the helper process ---- */

static int pipe_error, fork_error;
static int interrupts[2]; /* of read() and waitpid() */
static struct inject_report sent;
static ssize_t sent_size;
static int sent_status;

static int played_pipe(int ends[2], int flags)
{
	errno = pipe_error;
	return pipe_error ? -1 : pipe2(ends, flags);
}

static pid_t played_fork(void)
{
	errno = fork_error;
	return fork_error ? -1 : 4720;
}

static ssize_t played_read_report(int fd, void *to, size_t size)
{
	assert_int_equal(size, sizeof(sent));
	assert_true(fcntl(fd, F_GETFD) >= 0);
	errno = EINTR;
	if (interrupts[0]-- > 0)
		return -1;
	errno = EIO;
	memcpy(to, &sent, sizeof(sent));
	return sent_size;
}

static pid_t played_waitpid(pid_t pid, int *status, int options)
{
	assert_int_equal(pid, 4720);
	assert_int_equal(options, 0);
	errno = EINTR;
	if (interrupts[1]-- > 0)
		return -1;
	*status = sent_status;
	called("waited ");
	return pid;
}

#define inject_now played_now
#define inject_pause_us played_pause
#define inject_read played_read
#define inject_write played_write
#define inject_thread_name played_thread_name
#define inject_name played_name
#define inject_not_permitted played_not_permitted
#define inject_mapping_open played_mapping_open
#define inject_elf_read played_elf_read
#define inject_elf_free played_elf_free
#define inject_elf_find_space played_find_space
#define inject_elf_bias played_elf_bias
#define inject_elf_function played_function
#define inject_no_thread_at played_no_thread
#define inject_copy_file played_copy
#define inject_copy_make played_make
#define inject_copy_remove played_remove
#define inject_code_get played_code_get
#define inject_code_states played_states
#define inject_target_open played_target_open
#define inject_borrow played_borrow
#define opendir played_opendir
#define readdir played_readdir
#define closedir played_closedir
#define fopen played_fopen
#define kill played_kill
#define stat(path, status) played_stat(path, status)
#define process_root_stat played_root_stat
#define fstat played_fstat
#define open played_open
#define pread played_pread
#define malloc played_malloc
#define socket played_socket
#define bind played_bind
#define pipe2 played_pipe
#define fork played_fork
#define read played_read_report
#define waitpid played_waitpid
#undef attach_inject_set_error
#include "attach/inject.c"
#undef malloc
#undef open

static struct inject_report the_report;
static struct inject_request request;
static struct injection injection;
static struct inject_mapping mappings[3];

static void begin(void)
{
	static char path[] = "/lib/libside.so.0", other[] = "/lib/other.so";

	clock_ns = START;
	memset(&memory, 0, sizeof(memory));
	memset(code_bytes, 0, sizeof(code_bytes));
	memset(results, 0, sizeof(results));
	memset(nr_results, 0, sizeof(nr_results));
	memset(times, 0, sizeof(times));
	memset(file_bytes, 0, sizeof(file_bytes));
	has_scratch = true;
	failing_read = failing_write = 0;
	memory_error = EIO;
	error_size = at_time = 0;
	missing = NULL;
	is_deaf = no_memory = thread_executes = false;
	thread_name = "side-attach77";
	opendir_error = readdir_error = name_error = 0;
	nr_alive = 1000000;
	shown[0] = shown[1] = (struct stat){.st_dev = 5, .st_ino = 6};
	is_missing[0] = is_missing[1] = false;
	copy_error = opened = 0;
	nr_copies = 2;
	open_result = elf_result = 0;
	elf_space = 0x3e00;
	has_bias = true;
	file_size = sizeof(file_bytes);
	states = 7;
	target_result = borrow_result = socket_error = bind_error = 0;
	borrow_kind = INJECT_DONE;
	nr_binds = 0;
	socket_fd = 999;
	pipe_error = fork_error = 0;
	the_report = (struct inject_report){.kind = INJECT_DONE};
	request = (struct inject_request){.pid = PROGRAM,
			.agent = "/lib/agent.so",
			.libside = "/lib/libside.so.0.0.0",
			.function = "serve",
			.argument = "now"};
	mappings[0] = (struct inject_mapping){.begin = 0x10000,
			.end = 0x11000,
			.offset = 0x3000,
			.inode = 9,
			.access = "r-xp",
			.path = other};
	mappings[1] = (struct inject_mapping){.begin = 0x800000,
			.end = 0x900000,
			.inode = 9,
			.access = "r--p",
			.path = path};
	free(injection.overwritten);
	injection = (struct injection){.request = &request,
			.code = played_code_get(),
			.name = "side-attach77",
			.lock = -1,
			.site = {.code = CODE, .scratch = SCRATCH},
			.target = {.pid = PROGRAM,
					.memory = -1,
					.report = &the_report,
					.mappings = mappings,
					.nr_mappings = 2}};
	*calls = '\0';
}

static void expect_failure(int ret, enum inject_kind kind, const char *text)
{
	char wanted[INJECT_TEXT_MAX];

	(void)snprintf(wanted, sizeof(wanted), "cannot attach to 4711 (kitchen): %s", text);
	assert_int_equal(ret, -1);
	assert_int_equal(the_report.kind, kind);
	assert_string_equal(the_report.text, wanted);
}

static const char no_access[] = "its memory cannot be accessed: Input/output error";

/* ---- the lock and the threads ---- */

static void test_lock(void **state)
{
	(void)state;
	begin();
	assert_int_equal(attach_inject_acquire_lock(&injection), 0);
	assert_int_equal(injection.lock, 999);
	socket_fd = 0;
	assert_int_equal(attach_inject_acquire_lock(&injection), 0);
	assert_int_equal(injection.lock, 0);
	nr_binds = 3;
	assert_int_equal(attach_inject_acquire_lock(&injection), 0);
	assert_int_equal(clock_ns - START, 6000000);
	clock_ns = START;
	nr_binds = 100000;
	expect_failure(attach_inject_acquire_lock(&injection), INJECT_FAILED,
			"another `side attach` is already attaching to it");
	assert_int_equal(clock_ns - START, 5002000000);
	nr_binds = 1;
	bind_error = EACCES;
	expect_failure(attach_inject_acquire_lock(&injection), INJECT_FAILED, "Permission denied");
	socket_error = EMFILE;
	expect_failure(attach_inject_acquire_lock(&injection), INJECT_FAILED,
			"Too many open files");
}

static void test_threads(void **state)
{
	static const int ours[] = {EMFILE, ENFILE, ENOMEM, EIO}, gone[] = {ENOENT, ESRCH, EACCES};

	(void)state;
	begin();
	assert_int_equal(attach_inject_find_thread(PROGRAM, "side-attach"), PROGRAM + 1);
	assert_int_equal(attach_inject_find_thread(PROGRAM, "side-attach777"), 0);
	for (size_t i = 0; i < 4; i++) {
		name_error = ours[i];
		assert_int_equal(attach_inject_find_thread(PROGRAM, "side-attach"), -ours[i]);
	}
	for (size_t i = 0; i < 3; i++) {
		name_error = gone[i];
		assert_int_equal(attach_inject_find_thread(PROGRAM, "side-attach"), 0);
	}
	name_error = 0;
	for (size_t i = 0; i < 3; i++) {
		readdir_error = gone[i];
		assert_int_equal(attach_inject_find_thread(PROGRAM, "side-attach"),
				i < 2 ? 0 : -EACCES);
	}
	for (size_t i = 0; i < 3; i++) {
		opendir_error = gone[i];
		assert_int_equal(attach_inject_find_thread(PROGRAM, "side-attach"),
				i ? -gone[i] : 0);
	}
	assert_int_equal(nr_open, 0);
}

/* ---- space for the code ---- */

static void test_space(void **state)
{
	const struct inject_mapping *mapping = &mappings[0];

	(void)state;
	begin();
	assert_int_equal(attach_inject_space_in(&injection, mapping, true), CODE);
	assert_int_equal(attach_inject_space_in(&injection, mapping, false), 0);
	/* The bytes differ from the file: an attach was killed. */
	code_bytes[CODE_SIZE - 1] = 1;
	assert_int_equal(attach_inject_space_in(&injection, mapping, true), 0);
	assert_int_equal(attach_inject_space_in(&injection, mapping, false), CODE);
	code_bytes[CODE_SIZE - 1] = 0;
	file_bytes[0] = 1;
	assert_int_equal(attach_inject_space_in(&injection, mapping, true), 0);
	/* The bytes after the end of the file are zeros. */
	file_bytes[0] = 0;
	memset(file_bytes + 100, 3, sizeof(file_bytes) - 100);
	file_size = 100;
	assert_int_equal(attach_inject_space_in(&injection, mapping, true), CODE);
	file_size = 101;
	assert_int_equal(attach_inject_space_in(&injection, mapping, true), 0);
	file_size = -1;
	assert_int_equal(attach_inject_space_in(&injection, mapping, true), 0);
	file_size = 0;
	failing_read = 1;
	assert_int_equal(attach_inject_space_in(&injection, mapping, true), 0);
	assert_int_equal(attach_inject_space_in(&injection, mapping, true), CODE);
	/* The bytes must be in the mapping. */
	mappings[0].end = CODE + CODE_SIZE;
	assert_int_equal(attach_inject_space_in(&injection, mapping, true), CODE);
	mappings[0].end--;
	assert_int_equal(attach_inject_space_in(&injection, mapping, true), 0);
	mappings[0].end = 0x11000;
	elf_space = 0x2fff;
	assert_int_equal(attach_inject_space_in(&injection, mapping, true), 0);
	elf_space = 0;
	assert_int_equal(attach_inject_space_in(&injection, mapping, true), 0);
	elf_space = 0x3e00;
	has_bias = false;
	assert_int_equal(attach_inject_space_in(&injection, mapping, true), 0);
	has_bias = true;
	elf_result = -ENOEXEC;
	assert_int_equal(attach_inject_space_in(&injection, mapping, true), 0);
	elf_result = 0;
	open_result = -ESTALE;
	assert_int_equal(attach_inject_space_in(&injection, mapping, true), 0);
	*calls = '\0';
	mappings[0].inode = 0;
	assert_int_equal(attach_inject_space_in(&injection, mapping, true), 0);
	mappings[0].inode = 9;
	strcpy(mappings[0].access, "rwxp");
	assert_int_equal(attach_inject_space_in(&injection, mapping, true), 0);
	assert_called("");
}

static void test_left(void **state)
{
	struct inject_values values = {.scratch = SCRATCH};

	(void)state;
	begin();
	injection.site.code = 0;
	injection.site.scratch = 0;
	mappings[0].begin = 0x10000;
	assert_int_equal(attach_inject_find_space(&injection), 0);
	assert_int_equal(injection.site.code, CODE);
	assert_int_equal(clock_ns, START);
	/* The largest gap is before 0x800000: its middle, at a multiple of the size. */
	assert_int_equal(injection.site.scratch,
			(0x11000 + (0x800000 - 0x11000) / 2) & ~UINT64_C(0xffff));
	/* The code of a killed attach: its thread gets 30 s to end. */
	memcpy(code_bytes, &values, sizeof(values));
	injection.site.code = 0;
	expect_failure(attach_inject_find_space(&injection), INJECT_UNSUITABLE,
			"none of its code pages has space for the bytes that load the agent");
	assert_int_equal(clock_ns - START, UINT64_C(30000000000));
	has_scratch = false;
	assert_int_equal(attach_inject_find_space(&injection), 0);
	assert_int_equal(injection.site.code, CODE);
	injection.site.code = 0;
	thread_executes = true;
	assert_true(attach_inject_find_code_space(&injection));
	assert_int_equal(injection.site.code, 0);
	thread_executes = false;
	name_error = EIO;
	assert_true(attach_inject_find_code_space(&injection));
	assert_int_equal(injection.site.code, 0);
	name_error = 0;
	assert_true(attach_inject_find_code_space(&injection));
	assert_int_equal(injection.site.code, CODE);
	/* No such code. */
	injection.site.code = 0;
	open_result = -ESTALE;
	clock_ns = START;
	expect_failure(attach_inject_find_space(&injection), INJECT_UNSUITABLE,
			"none of its code pages has space for the bytes that load the agent");
	assert_int_equal(clock_ns, START);
}

static void test_gaps(void **state)
{
	static const struct {
		uint64_t begin, end, scratch; /* scratch 0: there is not enough memory */
	} cases[] = {{0x51000, 0x800000, 0}, {0x51001, 0x800000, 0x30000},
			{UINT64_C(1) << 47, UINT64_C(1) << 48, 0},
			{(UINT64_C(1) << 47) - 1, UINT64_C(1) << 47, UINT64_C(0x400000000000)}};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		begin();
		mappings[1].begin = cases[i].begin;
		mappings[1].end = cases[i].end;
		if (!cases[i].scratch) {
			expect_failure(attach_inject_find_space(&injection), INJECT_FAILED,
					"out of memory");
			continue;
		}
		assert_int_equal(attach_inject_find_space(&injection), 0);
		assert_int_equal(injection.site.scratch, cases[i].scratch);
	}
	begin();
	mappings[1].begin = 0x11000;
	mappings[1].end = 0x30000;
	mappings[2] = (struct inject_mapping){.begin = 0x100000, .end = 0x110000};
	injection.target.nr_mappings = 3;
	assert_int_equal(attach_inject_find_space(&injection), 0);
	assert_int_equal(injection.site.scratch, (0x30000 + (0x100000 - 0x30000) / 2) & ~0xffff);
}

static void test_code(void **state)
{
	(void)state;
	begin();
	injection.target.own.end = 77;
	assert_int_equal(attach_inject_write_code(&injection), 0);
	assert_memory_equal(code_bytes, own_code, sizeof(own_code) - 16);
	assert_int_equal(injection.site.values.states, 7);
	assert_int_equal(injection.site.values.own.end, 77);
	assert_int_equal(injection.site.values.pause[1], 50000);
	begin();
	states = 0;
	expect_failure(attach_inject_write_code(&injection), INJECT_UNSUITABLE,
			"the processor has no XSAVE");
	states = 7;
	no_memory = true;
	expect_failure(attach_inject_write_code(&injection), INJECT_FAILED, "out of memory");
	assert_null(injection.overwritten);
	no_memory = false;
	missing = "pthread_attr_destroy";
	expect_failure(attach_inject_write_code(&injection), INJECT_UNSUITABLE,
			"its C library lacks a function that the agent needs");
	assert_null(injection.overwritten);
	missing = NULL;
	failing_read = 1;
	expect_failure(attach_inject_write_code(&injection), INJECT_FAILED, no_access);
	/* The overwritten bytes are restored if the name cannot be written. */
	for (unsigned int i = 1; i <= 2; i++) {
		begin();
		code_bytes[0] = 55;
		failing_write = i;
		memory_error = EPERM;
		expect_failure(attach_inject_write_code(&injection), INJECT_FAILED,
				"its memory cannot be written: Operation not permitted (does the kernel forbid it, proc_mem.force_override?)");
		assert_int_equal(code_bytes[0], 55);
		assert_int_equal(code_bytes[1], 0);
	}
}

static void test_gone(void **state)
{
	(void)state;
	begin();
	errno = EIO;
	expect_failure(attach_inject_set_no_memory(&injection), INJECT_FAILED, no_access);
	errno = ESRCH;
	assert_int_equal(attach_inject_set_no_memory(&injection), -1);
	assert_string_equal(the_report.text, "gone, error 3");
	the_report.text[0] = '\0';
	nr_alive = 0;
	errno = EIO;
	assert_int_equal(attach_inject_set_no_memory(&injection), -1);
	assert_string_equal(the_report.text, "gone, error 3");
	assert_int_equal(the_report.kind, INJECT_GONE);
}

/* ---- calls ---- */

static void test_call(void **state)
{
	const uint64_t arguments[3] = {SCRATCH, 0, 0};
	uint64_t result = 0;

	(void)state;
	begin();
	results[10][0] = 123;
	assert_int_equal(attach_inject_call_function(&injection, 16 * 11, arguments, &result), 0);
	assert_int_equal(result, 123);
	assert_int_equal(clock_ns - START, 20000);
	for (unsigned int i = 1; i <= 3; i++) {
		begin();
		failing_write = i;
		expect_failure(attach_inject_call_function(&injection, 16 * 11, arguments, &result),
				INJECT_FAILED, no_access);
		assert_called("");
		assert_int_equal(clock_ns, START);
	}
	for (unsigned int i = 1; i <= 2; i++) {
		begin();
		failing_read = i;
		expect_failure(attach_inject_call_function(&injection, 16 * 11, arguments, &result),
				INJECT_FAILED, no_access);
	}
	/* A thread that runs does not hang: each time, it gets 15 seconds more. */
	begin();
	is_deaf = true;
	times[0] = 5;
	times[1] = 6;
	times[2] = 6;
	expect_failure(attach_inject_call_function(&injection, 16 * 11, arguments, &result),
			INJECT_FAILED,
			"loading the agent does not finish (the program may be loading another library all the time)");
	assert_int_equal(at_time, 3);
	assert_int_equal(clock_ns - START, 3 * UINT64_C(15000020000));
	/* The time of an exited thread is unknown. */
	begin();
	is_deaf = true;
	at_time = 4;
	expect_failure(attach_inject_call_function(&injection, 16 * 11, arguments, &result),
			INJECT_FAILED,
			"loading the agent does not finish (the program may be loading another library all the time)");
	assert_int_equal(clock_ns - START, UINT64_C(15000020000));
}

static void test_reason(void **state)
{
	(void)state;
	begin();
	attach_inject_set_not_loaded(&injection);
	expect_failure(-1, INJECT_FAILED, "the agent cannot be loaded");
	assert_called("dlerror() ");
	/* A text at the end of a mapping: the size of the read is halved repeatedly. */
	begin();
	results[2][0] = ERROR_AT;
	memset(error_text, 'e', sizeof(error_text));
	error_size = 250;
	attach_inject_set_not_loaded(&injection);
	assert_int_equal(
			strlen(the_report.text), strlen("cannot attach to 4711 (kitchen): ") + 199);
	assert_int_equal(the_report.text[strlen(the_report.text) - 1], 'e');
	begin();
	results[2][0] = ERROR_AT;
	error_size = 399;
	attach_inject_set_not_loaded(&injection);
	assert_int_equal(
			strlen(the_report.text), strlen("cannot attach to 4711 (kitchen): ") + 399);
	begin();
	results[2][0] = ERROR_AT;
	attach_inject_set_not_loaded(&injection);
	expect_failure(-1, INJECT_FAILED, "the agent cannot be loaded");
	begin();
	failing_write = 1;
	attach_inject_set_not_loaded(&injection);
	expect_failure(-1, INJECT_FAILED, no_access);
}

/* ---- the agent ---- */

static void test_give(void **state)
{
	static const char made[] = "syscall(319,agent.so,1) ";
	char wanted[256];
	int descriptor = -1;

	(void)state;
	begin();
	results[3][0] = 8;
	assert_int_equal(attach_inject_pass_file(&injection, "/lib/agent.so", &descriptor), 0);
	assert_int_equal(descriptor, 8);
	(void)snprintf(wanted, sizeof(wanted),
			"%sopen(/proc/4711/task/4712/fd/8) open(itself) copy(/lib/agent.so,1) ",
			made);
	assert_called(wanted);
	begin();
	copy_error = -ENOSPC;
	expect_failure(attach_inject_pass_file(&injection, "/lib/agent.so", &descriptor),
			INJECT_FAILED, "No space left on device");
	assert_int_equal(descriptor, 0);
	begin();
	opened = -EACCES;
	expect_failure(attach_inject_pass_file(&injection, "/lib/agent.so", &descriptor),
			INJECT_FAILED, "Permission denied");
	(void)snprintf(wanted, sizeof(wanted), "%sopen(/proc/4711/task/4712/fd/0) ", made);
	assert_called(wanted);
	begin();
	results[3][0] = UINT64_MAX;
	expect_failure(attach_inject_pass_file(&injection, "/lib/agent.so", &descriptor),
			INJECT_FAILED, "it cannot allocate memory for the agent");
	assert_int_equal(descriptor, -1);
	assert_called(made);
	begin();
	readdir_error = EIO;
	expect_failure(attach_inject_pass_file(&injection, "/lib/agent.so", &descriptor),
			INJECT_FAILED, "Input/output error");
	assert_called(made);
	begin();
	failing_write = 2;
	expect_failure(attach_inject_pass_file(&injection, "/lib/agent.so", &descriptor),
			INJECT_FAILED, no_access);
	assert_called("");
}

#define GIVEN(name, path, fd)                                                                  \
	"syscall(319," name ",1) open(/proc/4711/task/4712/fd/" fd ") open(itself) copy(" path \
	",1) "
#define OPENED(path) "dlopen(" path ",4098) "

static void test_from_memory(void **state)
{
	uint64_t handle = 0;

	(void)state;
	/* libside was loaded. */
	begin();
	results[0][0] = 55;
	results[3][0] = 8;
	assert_int_equal(attach_inject_load_from_memory(
					 &injection, injection.request->agent, &handle),
			0);
	assert_int_equal(handle, 55);
	assert_true(the_report.from_memory);
	assert_called(GIVEN("agent.so", "/lib/agent.so", "8") OPENED("/proc/thread-self/fd/8"));
	begin();
	injection.target.nr_mappings = 1;
	results[0][0] = 54;
	results[0][1] = 55;
	results[3][0] = 8;
	results[3][1] = 9;
	assert_int_equal(attach_inject_load_from_memory(
					 &injection, injection.request->agent, &handle),
			0);
	assert_int_equal(handle, 55);
	assert_called(GIVEN("libside.so.0.0.0", "/lib/libside.so.0.0.0", "8") OPENED(
			"/proc/thread-self/fd/8") GIVEN("agent.so", "/lib/agent.so", "9")
					OPENED("/proc/thread-self/fd/9"));
	/* Without libside the agent is not loaded. */
	begin();
	injection.target.nr_mappings = 1;
	results[3][0] = 8;
	handle = 5;
	assert_int_equal(attach_inject_load_from_memory(
					 &injection, injection.request->agent, &handle),
			0);
	assert_int_equal(handle, 5);
	assert_called(GIVEN("libside.so.0.0.0", "/lib/libside.so.0.0.0", "8")
					OPENED("/proc/thread-self/fd/8"));
	begin();
	injection.target.nr_mappings = 1;
	copy_error = -EIO;
	assert_int_equal(attach_inject_load_from_memory(
					 &injection, injection.request->agent, &handle),
			-1);
	assert_called(GIVEN("libside.so.0.0.0", "/lib/libside.so.0.0.0", "0"));
	begin();
	copy_error = -EIO;
	assert_int_equal(attach_inject_load_from_memory(
					 &injection, injection.request->agent, &handle),
			-1);
	assert_called(GIVEN("agent.so", "/lib/agent.so", "0"));
}

#define COPIED(directory, path)     \
	"make(/tmp/" directory path \
	") " OPENED("/tmp/" directory path) "remove(/tmp/" directory path ") "
#define NONE(path) "make(/tmp/2" path ") "

static void test_from_copies(void **state)
{
	uint64_t handle = 7;

	(void)state;
	begin();
	results[0][1] = 55;
	assert_int_equal(attach_inject_load_from_copies(
					 &injection, injection.request->agent, &handle),
			0);
	assert_int_equal(handle, 55);
	assert_called(COPIED("0", "/lib/agent.so") COPIED("1", "/lib/agent.so"));
	begin();
	assert_int_equal(attach_inject_load_from_copies(
					 &injection, injection.request->agent, &handle),
			0);
	assert_int_equal(handle, 0);
	assert_called(COPIED("0", "/lib/agent.so") COPIED("1", "/lib/agent.so")
					NONE("/lib/agent.so"));
	begin();
	injection.target.nr_mappings = 1;
	results[0][0] = 54;
	results[0][1] = 55;
	assert_int_equal(attach_inject_load_from_copies(
					 &injection, injection.request->agent, &handle),
			0);
	assert_int_equal(handle, 55);
	assert_called(COPIED("0", "/lib/libside.so.0.0.0") COPIED("0", "/lib/agent.so"));
	begin();
	injection.target.nr_mappings = 1;
	nr_copies = 0;
	handle = 7;
	assert_int_equal(attach_inject_load_from_copies(
					 &injection, injection.request->agent, &handle),
			0);
	assert_int_equal(handle, 7);
	assert_called("make(/tmp/0/lib/libside.so.0.0.0) ");
	begin();
	failing_write = 2;
	assert_int_equal(attach_inject_load_from_copies(
					 &injection, injection.request->agent, &handle),
			-1);
	assert_called("make(/tmp/0/lib/agent.so) remove(/tmp/0/lib/agent.so) ");
	injection.target.nr_mappings = 1;
	failing_write = 2;
	assert_int_equal(attach_inject_load_from_copies(
					 &injection, injection.request->agent, &handle),
			-1);
	assert_called("make(/tmp/0/lib/libside.so.0.0.0) remove(/tmp/0/lib/libside.so.0.0.0) ");
}

static void test_same_file(void **state)
{
	(void)state;
	begin();
	assert_true(attach_inject_is_same_file(&injection, injection.request->agent));
	shown[1].st_dev++;
	assert_false(attach_inject_is_same_file(&injection, injection.request->agent));
	shown[1].st_dev--;
	shown[1].st_ino++;
	assert_false(attach_inject_is_same_file(&injection, injection.request->agent));
	shown[1].st_ino--;
	is_missing[0] = true;
	assert_false(attach_inject_is_same_file(&injection, injection.request->agent));
	is_missing[0] = false;
	is_missing[1] = true;
	assert_false(attach_inject_is_same_file(&injection, injection.request->agent));
}

static void test_load(void **state)
{
	static const char loaded[] = OPENED("/lib/agent.so") "dlsym(55,side_agent_own_thread) ";
	char wanted[512];

	(void)state;
	begin();
	results[0][0] = 55;
	results[1][0] = 16 * 12;
	results[1][1] = 16 * 11;
	assert_int_equal(attach_inject_load_agent(&injection), 0);
	assert_int_equal(injection.target.agent_function, 16 * 11);
	(void)snprintf(wanted, sizeof(wanted), "%sside_agent_own_thread() dlsym(55,serve) ",
			loaded);
	assert_called(wanted);
	/* An older agent. */
	begin();
	results[0][0] = 55;
	results[1][1] = 16 * 11;
	assert_int_equal(attach_inject_load_agent(&injection), 0);
	(void)snprintf(wanted, sizeof(wanted), "%sdlsym(55,serve) ", loaded);
	assert_called(wanted);
	begin();
	results[0][0] = 55;
	assert_int_equal(attach_inject_load_agent(&injection), -1);
	(void)snprintf(wanted, sizeof(wanted), "%sdlsym(55,serve) dlerror() ", loaded);
	assert_called(wanted);
	/* All attempts fail. */
	begin();
	nr_copies = 0;
	assert_int_equal(attach_inject_load_agent(&injection), -1);
	expect_failure(-1, INJECT_FAILED, "the agent cannot be loaded");
	assert_called(OPENED("/lib/agent.so") GIVEN("agent.so", "/lib/agent.so", "0") OPENED(
			"/proc/thread-self/fd/0") "make(/tmp/0/lib/agent.so) dlerror() ");
	/* The loaded file is another one, or a step fails: no further step follows. */
	begin();
	is_missing[1] = true;
	copy_error = -EIO;
	assert_int_equal(attach_inject_load_agent(&injection), -1);
	assert_called(GIVEN("agent.so", "/lib/agent.so", "0"));
	/* A text and three words are written for each call. */
	for (unsigned int i = 1; i <= 12; i++) {
		static const char *const done[] = {"", OPENED("/lib/agent.so"),
				OPENED("/lib/agent.so") "dlsym(55,side_agent_own_thread) ",
				OPENED("/lib/agent.so") "dlsym(55,side_agent_own_thread) side_agent_own_thread() "};

		begin();
		results[0][0] = 55;
		results[1][0] = 16 * 12;
		results[1][1] = 16 * 11;
		failing_write = i;
		expect_failure(attach_inject_load_agent(&injection), INJECT_FAILED, no_access);
		assert_called(done[i <= 4 ? 0 : i <= 8 ? 1 : i <= 11 ? 2 : 3]);
		assert_int_equal(injection.target.agent_function, 0);
	}
}

/* ---- a whole attach ---- */

static void restore(void)
{
	injection.site.code = 0;
	injection.site.scratch = 0;
	injection.code = (struct inject_code){.bytes = NULL};
}

/* The scratch memory is at the test's address. */
static int attach(void)
{
	restore();
	mappings[1].begin = 0x71000;
	return attach_inject_run(&injection);
}

static void test_attach(void **state)
{
	static char longer[2100];

	(void)state;
	begin();
	results[10][0] = 4;
	injection.target.agent_function = 16 * 11;
	assert_int_equal(attach(), 0);
	assert_int_equal(injection.site.scratch, SCRATCH);
	assert_int_equal(the_report.result, 4);
	assert_called("target map(10000) borrow(10e00) serve(now) ends ");
	assert_int_equal(code_bytes[0], 0);
	assert_int_equal(clock_ns - START, 70000);
	/* Not if the agent is not loaded. */
	begin();
	request.only_if_loaded = true;
	assert_int_equal(attach(), 0);
	assert_int_equal(the_report.result, -ENOENT);
	assert_called("target ");
	injection.target.agent_function = 16 * 11;
	assert_int_equal(attach(), 0);
	assert_called("target map(10000) borrow(10e00) serve(now) ends ");
	begin();
	target_result = -1;
	assert_int_equal(attach(), -1);
	assert_called("target ");
	begin();
	states = 99;
	expect_failure(attach(), INJECT_UNSUITABLE, "only x86-64 is supported");
	begin();
	memset(longer, 'a', 1501);
	request.agent = longer;
	expect_failure(attach(), INJECT_FAILED, "a path is too long");
	request.agent = "/lib/agent.so";
	memset(longer, 'a', 2048);
	request.argument = longer;
	expect_failure(attach(), INJECT_FAILED, "a path is too long");
	assert_called("target target ");
	begin();
	socket_error = ENFILE;
	expect_failure(attach(), INJECT_FAILED, "Too many open files in system");
	/* The process is not read before this one has the lock. */
	assert_called("");
	begin();
	mappings[0].inode = 0;
	assert_int_equal(attach(), -1);
	assert_called("target ");
	begin();
	states = 0;
	expect_failure(attach(), INJECT_UNSUITABLE, "the processor has no XSAVE");
	assert_called("target map(10000) ");
	/*
	 * No thread: the original bytes are restored, unless a thread may execute them or the
	 * program has exited.
	 */
	for (int i = 0; i < 3; i++) {
		begin();
		borrow_result = i == 1 ? -ETIMEDOUT : -1;
		borrow_kind = i == 2 ? INJECT_GONE : INJECT_FAILED;
		assert_int_equal(attach(), borrow_result);
		assert_called("target map(10000) borrow(10e00) ");
		assert_int_equal(code_bytes[0], i ? 1 : 0);
	}
	/* The thread ends even if its call failed. */
	begin();
	request.libside = request.agent;
	nr_copies = 0;
	assert_int_equal(attach(), -1);
	assert_non_null(strstr(calls, "dlerror() ends "));
	assert_int_equal(code_bytes[0], 0);
}

static void test_end(void **state)
{
	(void)state;
	begin();
	injection.overwritten = calloc(1, sizeof(own_code));
	code_bytes[0] = 1;
	is_deaf = true;
	attach_inject_clean_up(&injection);
	assert_int_equal(code_bytes[0], 1);
	assert_int_equal(clock_ns - START, 2000050000);
	assert_int_equal(memory.scratch.command, 1);
	/* The thread has exited, and its memory is still mapped; or the reverse. */
	thread_name = "other";
	clock_ns = START;
	attach_inject_clean_up(&injection);
	assert_int_equal(code_bytes[0], 1);
	has_scratch = false;
	attach_inject_clean_up(&injection);
	assert_int_equal(code_bytes[0], 0);
	code_bytes[0] = 1;
	name_error = EIO;
	attach_inject_clean_up(&injection);
	assert_int_equal(code_bytes[0], 1);
}

/* ---- the helper process ---- */

static void expect_report(enum inject_kind kind, const char *text)
{
	struct inject_report got;
	int fd = memfd_create("report", MFD_CLOEXEC);

	memset(&got, 0xff, sizeof(got));
	interrupts[0] = interrupts[1] = 2;
	inject_end(fd, 4720, &got);
	assert_int_equal(got.kind, kind);
	assert_string_equal(got.text, text);
	assert_true(interrupts[0] < 0 && interrupts[1] < 0);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_called("waited ");
}

static void test_process(void **state)
{
	pid_t child = 0;
	int fd;

	(void)state;
	begin();
	fd = inject_begin(&request, &child);
	assert_int_equal(child, 4720);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
	pipe_error = EMFILE;
	assert_int_equal(inject_begin(&request, &child), -EMFILE);
	pipe_error = 0;
	fork_error = ENOMEM;
	assert_int_equal(inject_begin(&request, &child), -EAGAIN);
	/* Both ends are closed. */
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_int_equal(fcntl(fd + 1, F_GETFD), -1);
	sent = (struct inject_report){.kind = INJECT_UNSUITABLE, .text = "known"};
	sent_size = sizeof(sent);
	sent_status = 0;
	expect_report(INJECT_UNSUITABLE, "known");
	sent_size--;
	expect_report(INJECT_FAILED, "attaching was interrupted; the program continues");
	sent_size = 0;
	sent_status = SIGKILL;
	expect_report(INJECT_FAILED, "attaching was interrupted; the program continues");
	sent_status = EPIPE << 8;
	expect_report(INJECT_FAILED, "the result of attaching is unknown: Broken pipe");
	sent_size = -1;
	expect_report(INJECT_FAILED, "the result of attaching is unknown: Input/output error");
	free(injection.overwritten);
	injection.overwritten = NULL;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_lock),
			cmocka_unit_test(test_threads),
			cmocka_unit_test(test_space),
			cmocka_unit_test(test_left),
			cmocka_unit_test(test_gaps),
			cmocka_unit_test(test_code),
			cmocka_unit_test(test_gone),
			cmocka_unit_test(test_call),
			cmocka_unit_test(test_reason),
			cmocka_unit_test(test_give),
			cmocka_unit_test(test_from_memory),
			cmocka_unit_test(test_from_copies),
			cmocka_unit_test(test_same_file),
			cmocka_unit_test(test_load),
			cmocka_unit_test(test_attach),
			cmocka_unit_test(test_end),
			cmocka_unit_test(test_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
