/* SPDX-License-Identifier: MIT */
/*
 * Whether a thread may be borrowed at its location: registers, restartable sequences, frames and
 * the classes of mapped files. The test includes the file, replaces ptrace() and libdw, and calls
 * its static functions.
 */
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../called.h"

#include "attach/parts.h"

#define THREAD 4712

/* ---- the thread ---- */

static struct inject_mapping mappings[] = {{.begin = 0x1000, .end = 0x2000},
		{.begin = 0x2000, .end = 0x3000}, {.begin = 0x3000, .end = 0x4000},
		{.begin = 0x4000, .end = 0x5000}, {.begin = 0x5000, .end = 0x6000}};
static uint8_t classes[] = {
		INJECT_OTHER, INJECT_LIBC, INJECT_LOADER, INJECT_ALLOCATOR, INJECT_NOWHERE};
static struct inject_report the_report;
static struct inject_target the_target = {
		.pid = 4711, .mappings = mappings, .nr_mappings = 5, .report = &the_report};

static uint64_t thread_data[3], sequence_pointer,
		the_sequence[4]; /* of the program, at these addresses */
#define DATA_AT UINT64_C(0x700000)
#define RSEQ_AT UINT64_C(0x710000)
#define SEQUENCE_AT UINT64_C(0x720000)
static long rseq_size; /* that ptrace() returns */
static uint64_t rseq_at;
static uint64_t unreadable;
static uint64_t frames[4];
static size_t nr_frames;
static int frames_ret;

static long played_ptrace(int request, pid_t thread, uint64_t size, void *to)
{
	assert_int_equal(request, 0x420f);
	assert_int_equal(thread, THREAD);
	assert_int_equal(size, 24);
	called("sequence ");
	memcpy(to, &rseq_at, sizeof(rseq_at));
	return rseq_size;
}

static bool played_read(
		const struct inject_target *target, uint64_t address, void *bytes, size_t size)
{
	assert_ptr_equal(target, &the_target);
	if (address == unreadable)
		return false;
	if (address == DATA_AT) {
		assert_int_equal(size, sizeof(thread_data));
		memcpy(bytes, thread_data, size);
	} else if (address == RSEQ_AT + 8) {
		assert_int_equal(size, sizeof(sequence_pointer));
		memcpy(bytes, &sequence_pointer, size);
	} else if (address == SEQUENCE_AT) {
		assert_int_equal(size, sizeof(the_sequence));
		memcpy(bytes, the_sequence, size);
	} else {
		called("stack %llx %zx ", (unsigned long long)address, size);
		memset(bytes, 0x11, size);
	}
	return true;
}

static int played_frames(
		Dwfl *dwfl, pid_t thread, int (*each)(Dwfl_Frame *state, void *user), void *user)
{
	assert_null(dwfl);
	called("frames of %d ", thread);
	for (size_t i = 0; i < nr_frames; i++) {
		if (each((Dwfl_Frame *)&frames[i], user) != DWARF_CB_OK)
			return 1;
	}
	return frames_ret;
}

/* The first one is where the thread was stopped; 0: unknown. */
static bool played_pc(Dwfl_Frame *state, Dwarf_Addr *pc, bool *interrupted)
{
	memcpy(pc, state, sizeof(*pc));
	*interrupted = (const void *)state == &frames[0];
	return *pc;
}

static struct inject_elf the_elf;
static int elf_result, open_result;

static int played_open(const struct inject_target *target, const struct inject_mapping *mapping)
{
	(void)target;
	called("open %s ", mapping->path);
	return open_result ? open_result : open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static int played_elf_read(int fd, struct inject_elf *elf)
{
	assert_true(fcntl(fd, F_GETFD) == FD_CLOEXEC);
	*elf = the_elf;
	return elf_result;
}

static void played_elf_free(struct inject_elf *elf)
{
	(void)elf;
	called("freed ");
}

/* ---- libdw ---- */

static const char *failing; /* function; NULL: none */
static int fail_result;

static bool is_failing(const char *name)
{
	called("%s ", name);
	return failing && !strcmp(failing, name);
}

static int the_dwfl;

static Dwfl *played_begin(const Dwfl_Callbacks *of)
{
	assert_non_null(of->find_elf);
	return is_failing("begin") ? NULL : (Dwfl *)&the_dwfl;
}

static int played_proc_report(Dwfl *dwfl, pid_t pid)
{
	assert_ptr_equal(dwfl, &the_dwfl);
	assert_int_equal(pid, 4711);
	return is_failing("report") ? fail_result : 0;
}

static int played_report_end(Dwfl *dwfl, void *removed, void *user)
{
	assert_ptr_equal(dwfl, &the_dwfl);
	assert_null(removed);
	assert_null(user);
	return is_failing("report-end") ? -1 : 0;
}

static ptrdiff_t played_modules(Dwfl *dwfl,
		int (*each)(Dwfl_Module *, void **, const char *, Dwarf_Addr, void *), void *user,
		ptrdiff_t offset)
{
	void *data = NULL;

	assert_ptr_equal(dwfl, &the_dwfl);
	assert_int_equal(offset, 0);
	assert_int_equal(each(NULL, &data, "", 0, user), DWARF_CB_OK);
	assert_ptr_equal(data, user);
	return is_failing(user ? "target" : "tables") ? 1 : 0;
}

static bool played_attach(
		Dwfl *dwfl, Elf *elf, pid_t pid, const Dwfl_Thread_Callbacks *of, void *user)
{
	assert_ptr_equal(dwfl, &the_dwfl);
	assert_null(elf);
	assert_int_equal(pid, 4711);
	assert_non_null(of->next_thread);
	assert_non_null(user);
	return !is_failing("attach");
}

static void played_end(Dwfl *dwfl)
{
	assert_ptr_equal(dwfl, &the_dwfl);
	called("end ");
}

static const char *played_error(int error)
{
	assert_int_equal(error, -1);
	return "the error of libdw";
}

static Dwarf_CFI *played_cfi(Dwfl_Module *module, Dwarf_Addr *bias)
{
	assert_null(module);
	*bias = 0;
	return NULL;
}

static int played_find_elf(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
		char **file, Elf **elf)
{
	(void)module;
	(void)data;
	*file = NULL;
	called("find %s %llx %d ", name, (unsigned long long)base, *elf == NULL);
	return 77;
}

#define dwfl_linux_proc_find_elf played_find_elf
#define ptrace(request, thread, address, data) played_ptrace((int)(request), thread, address, data)
#define inject_read played_read
#define inject_mapping_open played_open
#define inject_elf_read played_elf_read
#define inject_elf_free played_elf_free
#define dwfl_getthread_frames played_frames
#define dwfl_frame_pc played_pc
#define dwfl_begin played_begin
#define dwfl_linux_proc_report played_proc_report
#define dwfl_report_end(dwfl, removed, user) played_report_end(dwfl, removed, user)
#define dwfl_getmodules played_modules
#define dwfl_attach_state played_attach
#define dwfl_end played_end
#define dwfl_errmsg played_error
#define dwfl_module_eh_cfi played_cfi
#include "attach/safe.c"

/* ---- one thread ---- */

static struct inject_safe judged;
static struct user_regs_struct thread_registers;

/* Starts with a thread in code of the program, called by other code of the program. */
static void begin(void)
{
	memset(&judged, 0, sizeof(judged));
	judged.target = &the_target;
	judged.class_of = classes;
	thread_registers = (struct user_regs_struct){
			.rip = 0x1234, .rsp = 0x5800, .fs_base = DATA_AT, .orig_rax = UINT64_MAX};
	thread_data[0] = thread_data[2] = DATA_AT;
	thread_data[1] = 0;
	rseq_size = 24;
	rseq_at = RSEQ_AT;
	sequence_pointer = 0;
	the_sequence[1] = 0x1200;
	the_sequence[2] = 0x34;
	unreadable = 0;
	frames[0] = 0x1234;
	frames[1] = 0x1500;
	nr_frames = 2;
	frames_ret = 0;
	*calls = '\0';
}

static const char whole[] = "sequence stack 5800 800 frames of 4712 ";

static void expect(bool waiting, enum inject_verdict wanted, const char *text)
{
	assert_int_equal(inject_safe_judge(&judged, THREAD, &thread_registers, waiting, UINT64_MAX),
			wanted);
	assert_called(text);
}

static void test_at_once(void **state)
{
	static const uint64_t unsafe[] = {0x3500, 0x4500, 0x5500, 0x6500, 0x2500};

	(void)state;
	begin();
	expect(false, INJECT_SAFE, whole);
	assert_int_equal(judged.nr_frames, 2);
	/*
	 * The loader, an allocator, no code, no mapping or the C library: the stack need not be
	 * read.
	 */
	for (size_t i = 0; i < sizeof(unsafe) / sizeof(*unsafe); i++) {
		thread_registers.rip = unsafe[i];
		expect(false, INJECT_UNSAFE, "");
		if (i < 4)
			expect(true, INJECT_UNSAFE, "");
	}
	/* The part of the C library in which it waits. */
	frames[0] = 0x2500;
	expect(true, INJECT_SAFE, whole);
	thread_registers.orig_rax = SYS_futex;
	expect(false, INJECT_UNSAFE, whole);
	begin();
	thread_registers.eflags = 0x400; /* the direction of string instructions */
	expect(false, INJECT_UNSAFE, "");
	thread_registers.eflags = ~UINT64_C(0x400);
	expect(false, INJECT_SAFE, whole);
}

static void test_thread_data(void **state)
{
	(void)state;
	begin();
	thread_registers.fs_base = 0;
	expect(false, INJECT_UNSAFE, "");
	begin();
	unreadable = DATA_AT;
	expect(false, INJECT_UNSAFE, "");
	begin();
	thread_data[0]++;
	expect(false, INJECT_UNSAFE, "");
	begin();
	thread_data[2]++;
	expect(false, INJECT_UNSAFE, "");
	begin();
	thread_data[1]++;
	expect(false, INJECT_SAFE, whole);
}

static void test_sequence(void **state)
{
	(void)state;
	/* A kernel that does not show it; a thread that has registered none. */
	begin();
	rseq_size = -1;
	unreadable = RSEQ_AT + 8;
	expect(false, INJECT_SAFE, whole);
	rseq_size = 0;
	expect(false, INJECT_SAFE, whole);
	rseq_size = 24;
	rseq_at = 0;
	expect(false, INJECT_SAFE, whole);
	rseq_size = 1;
	rseq_at = RSEQ_AT;
	expect(false, INJECT_UNSAFE, "sequence ");
	begin();
	sequence_pointer = SEQUENCE_AT;
	/* From 0x1200 to 0x1233. */
	expect(false, INJECT_SAFE, whole);
	the_sequence[2]++;
	expect(false, INJECT_UNSAFE, "sequence ");
	the_sequence[1] = 0x1234;
	expect(false, INJECT_UNSAFE, "sequence ");
	the_sequence[1] = 0x1235;
	expect(false, INJECT_SAFE, whole);
	unreadable = SEQUENCE_AT;
	expect(false, INJECT_UNSAFE, "sequence ");
}

static void test_frames(void **state)
{
	(void)state;
	/* A stack that cannot be read completely is unsafe if its known part is. */
	begin();
	frames_ret = 1;
	expect(false, INJECT_UNKNOWN, whole);
	frames_ret = -1;
	expect(true, INJECT_UNKNOWN, whole);
	frames[1] = 0x3100;
	expect(true, INJECT_UNSAFE, whole);
	frames[1] = 0x3001;
	expect(true, INJECT_UNSAFE, whole);
	/* The call is before the address to which it returns. */
	frames[1] = 0x3000;
	expect(true, INJECT_UNKNOWN, whole);
	begin();
	nr_frames = 0;
	expect(false, INJECT_UNKNOWN, whole);
	/* A frame with an unknown address ends the stack. */
	begin();
	frames[1] = 0;
	expect(false, INJECT_UNKNOWN, whole);
	assert_int_equal(judged.nr_frames, 1);
	/* Frames of the previous judgement do not count. */
	begin();
	judged.nr_frames = 2;
	judged.frames[1].pc = 0x3100;
	expect(false, INJECT_SAFE, whole);
}

static void test_stack(void **state)
{
	Dwarf_Word word = 5;

	(void)state;
	begin();
	judged.registers = &thread_registers;
	attach_safe_copy_stack(&judged);
	assert_called("stack 5800 800 ");
	assert_int_equal(judged.stack_at, 0x5800);
	assert_int_equal(judged.stack_size, 0x800);
	assert_true(attach_safe_read_word(NULL, 0x5ff8, &word, &judged));
	assert_int_equal(word, 0x1111111111111111);
	assert_called("");
	assert_true(attach_safe_read_word(NULL, 0x5ff9, &word, &judged));
	assert_called("stack 5ff9 8 ");
	assert_true(attach_safe_read_word(NULL, 0x57f8, &word, &judged));
	assert_called("stack 57f8 8 ");
	unreadable = 0x5800;
	attach_safe_copy_stack(&judged);
	assert_int_equal(judged.stack_size, 0);
	assert_false(attach_safe_read_word(NULL, 0x5800, &word, &judged));
	/* Outside of all mappings, one page is tried. */
	thread_registers.rsp = 0x9000;
	attach_safe_copy_stack(&judged);
	assert_called("stack 9000 1000 ");
	assert_int_equal(judged.stack_size, 0x1000);
}

static void test_rehearsal(void **state)
{
	(void)state;
	begin();
	inject_safe_rehearse(&judged, THREAD, 0x5900, 0x1234);
	assert_called("stack 5900 700 frames of 4712 ");
	assert_true(judged.rehearsed);
	assert_int_equal(judged.nr_frames, 2);
	assert_int_equal(judged.until, UINT64_MAX);
	inject_safe_rehearse(&judged, THREAD, 0x5900, 0x1234);
	assert_called("");
}

static void test_callbacks(void **state)
{
	char library[] = "/lib/libcook.so", none[] = "[vdso]", *file = NULL;
	void *user = NULL, *data = &the_target;
	Elf *elf = (Elf *)&file;
	int fd;

	(void)state;
	begin();
	judged.thread = THREAD;
	/* Files of the program; libdw handles all others. */
	mappings[0].path = library;
	mappings[1].path = none;
	open_result = 0;
	fd = attach_safe_find_elf(NULL, &data, "name", 0x1000, &file, &elf);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_string_equal(file, library);
	assert_null(elf);
	assert_called("open /lib/libcook.so ");
	close(fd);
	free(file);
	for (uint64_t base = 0x2000; base <= 0x8000; base += 0x6000) {
		elf = (Elf *)&file;
		assert_int_equal(attach_safe_find_elf(NULL, &data, "name", base, &file, &elf), 77);
		assert_called(base == 0x2000 ? "find name 2000 1 " : "find name 8000 1 ");
	}
	open_result = -ENOENT;
	assert_int_equal(attach_safe_find_elf(NULL, &data, "name", 0x1000, &file, &elf), 77);
	assert_called("open /lib/libcook.so find name 1000 1 ");
	open_result = 0;
	assert_int_equal(attach_safe_next_thread(NULL, &judged, &user), THREAD);
	assert_ptr_equal(user, &judged);
	assert_int_equal(attach_safe_next_thread(NULL, &judged, &user), 0);
	user = NULL;
	assert_true(attach_safe_get_thread(NULL, THREAD, &judged, &user));
	assert_ptr_equal(user, &judged);
	assert_int_equal(attach_safe_find_no_debug_file(NULL, NULL, NULL, 0, NULL, NULL, 0, NULL),
			-1);
}

/* ---- system calls and functions ---- */

static void test_waits(void **state)
{
	static const uint64_t waits[] = {SYS_read, SYS_readv, SYS_write, SYS_writev, SYS_poll,
			SYS_ppoll, SYS_select, SYS_pselect6, SYS_nanosleep, SYS_clock_nanosleep,
			SYS_pause, SYS_rt_sigsuspend, SYS_accept, SYS_accept4, SYS_connect,
			SYS_recvfrom, SYS_recvmsg, SYS_recvmmsg, SYS_sendto, SYS_sendmsg, SYS_wait4,
			SYS_waitid, SYS_flock, SYS_restart_syscall};
	static const uint64_t briefly[] = {SYS_epoll_wait, SYS_epoll_pwait, 441,
			SYS_rt_sigtimedwait, SYS_semop, SYS_semtimedop, SYS_msgrcv,
			SYS_io_getevents};
	static const char *const functions[] = {"pthread_cond_wait", "pthread_cond_timedwait",
			"pthread_cond_clockwait", "pthread_mutex_lock", "pthread_mutex_timedlock",
			"pthread_mutex_clocklock", "pthread_rwlock_rdlock", "pthread_rwlock_wrlock",
			"pthread_rwlock_timedrdlock", "pthread_rwlock_timedwrlock",
			"pthread_barrier_wait", "pthread_join", "pthread_timedjoin_np",
			"pthread_clockjoin_np", "sem_wait", "sem_timedwait", "sem_clockwait",
			"cnd_wait", "cnd_timedwait", "mtx_lock", "thrd_join", "syscall"};
	size_t nr[3] = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++)
		assert_int_equal(inject_call_waits(waits[i]), INJECT_WAITS);
	for (size_t i = 0; i < sizeof(briefly) / sizeof(*briefly); i++)
		assert_int_equal(inject_call_waits(briefly[i]), INJECT_WAITS_BRIEFLY);
	for (uint64_t number = 0; number < 600; number++)
		nr[inject_call_waits(number)]++;
	assert_int_equal(nr[INJECT_WAITS], sizeof(waits) / sizeof(*waits));
	assert_int_equal(nr[INJECT_WAITS_BRIEFLY], sizeof(briefly) / sizeof(*briefly));
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		assert_true(attach_safe_waits_for_program_lock(functions[i]));
	assert_false(attach_safe_waits_for_program_lock("dlopen"));
}

/* ---- mapped files ---- */

static int class_of(const char *path, const char *access)
{
	char text[64];
	struct inject_mapping mapping = {.path = text};

	(void)snprintf(text, sizeof(text), "%s", path);
	strcpy(mapping.access, access);
	return attach_safe_classify(&the_target, &mapping);
}

static void test_classes(void **state)
{
	static const int ours[] = {-EMFILE, -ENFILE, -ENOMEM, -EIO},
			 of_file[] = {-ENOENT, -ESTALE, -ENOEXEC, -EACCES};
	static char names[] = "\0malloc";
	static Elf64_Sym symbols[] = {{.st_name = 1,
			.st_value = 5,
			.st_shndx = 1,
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)}};

	(void)state;
	int lowest = dup(0);

	begin();
	close(lowest);
	the_elf = (struct inject_elf){.names = names, .names_size = sizeof(names)};
	open_result = elf_result = 0;
	assert_int_equal(class_of("/lib/libcook.so", "r-xp"), INJECT_OTHER);
	assert_called("open /lib/libcook.so freed ");
	the_elf.symbols = symbols;
	the_elf.nr_symbols = 1;
	assert_int_equal(class_of("/lib/libcook.so", "--xp"), INJECT_ALLOCATOR);
	assert_called("open /lib/libcook.so freed ");
	assert_int_equal(class_of("/lib/libcook.so", "rw-p"), INJECT_NOWHERE);
	assert_int_equal(class_of("/lib/libc.so.6", "r-xp"), INJECT_LIBC);
	assert_int_equal(class_of("/lib/libc.so.6.1", "r-xp"), INJECT_LIBC);
	assert_int_equal(class_of("/lib/ld-2.31.so", "r-xp"), INJECT_LOADER);
	assert_int_equal(class_of("/lib/ld-linux-x86-64.so.2", "r-xp"), INJECT_LOADER);
	assert_int_equal(class_of("[vdso]", "r-xp"), INJECT_OTHER);
	assert_called("");
	/* A failure of this process does not depend on the file. */
	for (size_t i = 0; i < 4; i++) {
		open_result = ours[i];
		assert_int_equal(class_of("/a", "r-xp"), ours[i]);
		open_result = of_file[i];
		assert_int_equal(class_of("/a", "r-xp"), INJECT_OTHER);
		open_result = 0;
		elf_result = ours[i];
		assert_int_equal(class_of("/a", "r-xp"), ours[i]);
		elf_result = of_file[i];
		assert_int_equal(class_of("/a", "r-xp"), INJECT_OTHER);
		elf_result = 0;
	}
	assert_called("open /a open /a open /a open /a open /a open /a open /a open /a "
		      "open /a open /a open /a open /a open /a open /a open /a open /a ");
	assert_int_equal(fcntl(lowest, F_GETFD), -1);
}

static void test_open(void **state)
{
	static const char *const functions[] = {
			"begin", "report", "report-end", "target", "tables", "attach"};
	static const char *const wanted[] = {"begin ", "begin report end ",
			"begin report report-end end ", "begin report report-end target end ",
			"begin report report-end target tables end ",
			"begin report report-end target tables attach end "};
	char path[] = "/a";
	struct inject_mapping one[] = {{.path = path, .access = "r--p"}};
	struct inject_safe *safe;

	(void)state;
	begin();
	the_target.mappings = one;
	the_target.nr_mappings = 1;
	failing = NULL;
	safe = inject_safe_open(&the_target);
	assert_non_null(safe);
	assert_called("begin report report-end target tables attach ");
	assert_int_equal(safe->class_of[0], INJECT_NOWHERE);
	inject_safe_close(safe);
	inject_safe_close(NULL);
	assert_called("end ");
	fail_result = -1;
	for (size_t i = 0; i < 6; i++) {
		the_report = (struct inject_report){.kind = INJECT_DONE};
		failing = functions[i];
		assert_null(inject_safe_open(&the_target));
		assert_called(wanted[i]);
		assert_int_equal(the_report.kind, INJECT_FAILED);
		assert_string_equal(the_report.text,
				"cannot attach to 4711 (?): cannot read its list of loaded libraries: the error of libdw");
	}
	failing = "report";
	fail_result = EMFILE;
	assert_null(inject_safe_open(&the_target));
	assert_string_equal(the_report.text,
			"cannot attach to 4711 (?): cannot read its list of loaded libraries: Too many open files");
	failing = NULL;
	strcpy(one[0].access, "r-xp");
	open_result = -EIO;
	*calls = '\0';
	assert_null(inject_safe_open(&the_target));
	assert_string_equal(the_report.text,
			"cannot attach to 4711 (?): cannot read its list of loaded libraries: Input/output error");
	assert_called("open /a ");
	the_target.mappings = mappings;
	the_target.nr_mappings = 5;
	open_result = 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_at_once),
			cmocka_unit_test(test_thread_data),
			cmocka_unit_test(test_sequence),
			cmocka_unit_test(test_frames),
			cmocka_unit_test(test_stack),
			cmocka_unit_test(test_rehearsal),
			cmocka_unit_test(test_callbacks),
			cmocka_unit_test(test_waits),
			cmocka_unit_test(test_classes),
			cmocka_unit_test(test_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
