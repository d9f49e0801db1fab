/* SPDX-License-Identifier: MIT */
/*
 * Exact steps of stopping a thread and of the quiescence check: what /proc reports of threads and
 * mappings, system calls of the child that stops threads, children that share memory. The test
 * includes the files, and plays /proc and the system calls.
 */
#include <dirent.h>
#include <errno.h>
#include <linux/kcmp.h>
#include <linux/ptrace.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "probe/patch/parts.h"

#include "../../check.h"
#include "../../resources.h"

/* ---- /proc ---- */

#define TID 4321

static struct {
	const char *path, *text; /* NULL: it cannot be opened */
	int error;
	bool breaks; /* reading fails with that error */
} files[8];
static unsigned int nr_files;
static const char *second_syscall; /* the text from the second time on */
static unsigned int nr_syscall_reads;

static void put_file(const char *path, const char *text)
{
	for (unsigned int i = 0; i < nr_files; i++) {
		if (!strcmp(files[i].path, path)) {
			files[i].text = text;
			return;
		}
	}
	CHECK(nr_files < 8);
	files[nr_files].path = path;
	files[nr_files].error = ENOENT;
	files[nr_files].breaks = false;
	files[nr_files++].text = text;
}

static ssize_t break_read(void *user, char *to, size_t size)
{
	(void)to;
	(void)size;
	errno = *(const int *)user;
	return -1;
}

static FILE *played_open(const char *path, const char *mode)
{
	static char copy[4096];

	CHECK(!strcmp(mode, "re"));
	for (unsigned int i = 0; i < nr_files; i++) {
		const char *text = files[i].text;

		if (strcmp(files[i].path, path) != 0)
			continue;
		if (files[i].breaks)
			return fopencookie(&files[i].error, "r",
					(cookie_io_functions_t){.read = break_read});
		if (strstr(path, "/syscall") && nr_syscall_reads++ && second_syscall)
			text = second_syscall;
		errno = files[i].error;
		if (!text || !*text)
			return text ? fopen("/dev/null", "r") : NULL;
		snprintf(copy, sizeof(copy), "%s", text);
		return fmemopen(copy, strlen(copy), "r");
	}
	errno = ENOENT;
	return NULL;
}

static bool directory_is_closed, directory_breaks;
static unsigned int nr_directories;

static DIR *played_opendir(const char *path)
{
	CHECK(!strcmp(path, "/proc/self/task"));
	nr_directories++;
	return directory_is_closed ? NULL : opendir(path);
}

static struct dirent *played_readdir(DIR *directory)
{
	struct dirent *entry = readdir(directory);

	if (!entry && directory_breaks)
		errno = EIO;
	return entry;
}

static bool played_is_memory(uint64_t address)
{
	return address == 0x9000;
}

/* ---- system calls ---- */

static struct {
	unsigned int nr_waits, nr_sleeps, stops_at; /* the wait that succeeds; 0: none */
	int status;
	int refused;   /* the ptrace request that fails */
	bool is_other; /* of another process */
	struct user_regs_struct registers, set;
	unsigned int nr_set, nr_detached;
	long detached_with;
	long order; /* of kcmp() */
	pid_t compared[4];
	unsigned int nr_compared;
	bool in_child;
	uint64_t mask; /* of the child */
	bool reads_zeros;
} kernel;

static long play_ptrace(long request, long address, long value)
{
	if (request == kernel.refused)
		return -EPERM;
	switch (request) {
	case PTRACE_SEIZE:
	case PTRACE_INTERRUPT: CHECK(!address && !value); break;
	case PTRACE_GETREGS:
		CHECK(!address);
		memcpy((void *)value, &kernel.registers, sizeof(kernel.registers));
		break;
	case PTRACE_SETREGS:
		CHECK(!address);
		memcpy(&kernel.set, (void *)value, sizeof(kernel.set));
		kernel.nr_set++;
		break;
	case PTRACE_DETACH:
		CHECK(!address);
		kernel.nr_detached++;
		kernel.detached_with = value;
		break;
	default: CHECK(!"a request that is known");
	}
	return 0;
}

static long play_wait(long thread, long status, long flags)
{
	CHECK(thread == TID && flags == (WNOHANG | __WALL));
	if (++kernel.nr_waits != kernel.stops_at)
		return 0;
	*(int *)status = kernel.status;
	return thread;
}

static long played_call(long number, long a, long b, long c, long d, long e, long f)
{
	const struct timespec *pause = (const struct timespec *)a;

	CHECK(!f);
	switch (number) {
	case SYS_ptrace: CHECK(b == TID && !e); return play_ptrace(a, c, d);
	case SYS_wait4: CHECK(!d && !e); return play_wait(a, b, c);
	case SYS_nanosleep:
		CHECK(!b && pause->tv_sec == 0 && pause->tv_nsec == 100000);
		kernel.nr_sleeps++;
		return 0;
	case SYS_getppid:
		if (kernel.in_child)
			(void)patch_system_call(SYS_rt_sigprocmask, SIG_BLOCK, 0,
					(long)&kernel.mask, 8, 0, 0);
		return 55;
	case SYS_gettid: CHECK(!a && !b && !c && !d && !e); return TID;
	case SYS_tgkill:
		CHECK(a == 55 && b == TID && !c && !d && !e);
		return kernel.is_other ? -ESRCH : 0;
	case SYS_kcmp:
		CHECK(a == getpid() && c == KCMP_VM && !d && !e && kernel.nr_compared < 4);
		kernel.compared[kernel.nr_compared++] = (pid_t)b;
		return kernel.order;
	case SYS_process_vm_readv:
		if (!kernel.reads_zeros)
			break;
		memset(((const struct iovec *)b)->iov_base, 0, ((const struct iovec *)b)->iov_len);
		return (long)((const struct iovec *)b)->iov_len;
	case SYS_getpid: CHECK(!a && !b && !c && !d && !e); break;
	default: CHECK(!"a call that is known");
	}
	return patch_system_call(number, a, b, c, d, e, f);
}

#define fopen played_open
#define opendir played_opendir
#define readdir played_readdir
#define patch_is_memory played_is_memory
#define patch_system_call played_call
#include "probe/patch/quiescence.c"
#include "probe/patch/threads.c"
#undef patch_system_call
#undef patch_is_memory
#undef readdir
#undef opendir
#undef fopen

#define STATUS "/proc/self/task/4321/status"
#define SYSCALL "/proc/self/task/4321/syscall"
#define STAT "/proc/self/task/4321/stat"
#define CHILDREN "/proc/self/task/4321/children"
#define SWITCHES "voluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t7\n"

static void begin(void)
{
	memset(files, 0, sizeof(files));
	memset(&kernel, 0, sizeof(kernel));
	nr_files = nr_syscall_reads = 0;
	second_syscall = NULL;
	kernel.refused = -1;
}

/* ---- threads ---- */

static void test_status(void)
{
	struct patch_thread thread;

	begin();
	put_file(STATUS,
			"Name:\tiou\nState:\tS (sleeping)\nTracerPid:\t0\nSigPnd:\t0000000000000004\nShdPnd:\t0000000000000002\nSigBlk:\t0000000000000010\nSeccomp:\t0\nSeccomp:\t2\nState:\tR\n");
	CHECK(patch_thread_inspect(TID, &thread));
	CHECK(thread.tid == TID && thread.state == 'S' && !thread.traced && !thread.guarded &&
			thread.pending == 4 && thread.blocked == 0x10);
	put_file(STATUS,
			"State:\tD\nTracerPid:\t1\nSigPnd:\tffffffff00000000\nSigBlk:\t8000000000000001\nSeccomp:\t1\n");
	CHECK(patch_thread_inspect(TID, &thread) && thread.state == 'D' && thread.traced &&
			thread.guarded && thread.pending == 0xffffffff00000000 &&
			thread.blocked == 0x8000000000000001);
	/* The thread has exited before it was read. */
	put_file(STATUS, "");
	CHECK(!patch_thread_inspect(TID, &thread) && !thread.state);
	put_file(STATUS, NULL);
	CHECK(!patch_thread_inspect(TID, &thread) && !thread.state && !thread.traced);
	files[0].error = ESRCH;
	CHECK(!patch_thread_inspect(TID, &thread));
	/* Nothing can be read. */
	files[0].error = EMFILE;
	CHECK(patch_thread_inspect(TID, &thread) && thread.tid == TID && thread.state == '?' &&
			thread.traced && thread.guarded && thread.blocked == UINT64_MAX &&
			!thread.pending);
	files[0].breaks = true;
	files[0].error = EIO;
	CHECK(patch_thread_inspect(TID, &thread) && thread.state == '?' && thread.traced);
	files[0].error = ESRCH;
	CHECK(!patch_thread_inspect(TID, &thread) && !thread.state);
}

/* Threads that the kernel has added, by their names and flags. */
static void test_workers(void)
{
	static const struct {
		const char *name, *stat;
		bool patch_thread_is_worker;
	} rows[] = {{"iou-wrk-5", "4321 (iou-wrk-5) S 1 2 3 4 5 16 0\n", true},
			{"vhost-77", "4321 (vhost-77) S 1 2 3 4 5 16384 0\n", true},
			{"iou-a) b", "4321 (iou-a) b) R 1 2 3 4 5 16400\n", true},
			{"iou-wrk-5", "4321 (iou-wrk-5) S 16 16 16 16 16 64 16\n", false},
			{"iou-wrk-5", "4321 (iou-wrk-5) S 1 2 3 4 5\n", false},
			{"iou-wrk-5", "4321 iou-wrk-5 S 1 2 3 4 5 16\n", false},
			{"iou-wrk-5", NULL, false}, {"iou-wrk-5", "", false},
			{"other", "4321 (other) S 1 2 3 4 5 16\n", false}};
	struct patch_thread thread;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char text[128];
		struct resources before;

		begin();
		snprintf(text, sizeof(text), "Name:\t%s\nState:\tS\nSeccomp:\t2\n", rows[i].name);
		put_file(STATUS, text);
		put_file(STAT, rows[i].stat);
		before = resources_now();
		CHECK(patch_thread_inspect(TID, &thread) == !rows[i].patch_thread_is_worker);
		CHECK(thread.state == (rows[i].patch_thread_is_worker ? 0 : 'S') &&
				thread.guarded == !rows[i].patch_thread_is_worker);
		CHECK(resources_are_same(before, resources_now()));
	}
}

static void count_one(pid_t tid, void *data)
{
	CHECK(tid == getpid());
	++*(unsigned int *)data;
}

static void test_lists(void)
{
	unsigned int nr = 0, descriptors = resources_descriptors();

	CHECK(patch_threads_each(count_one, &nr) && nr == 1);
	directory_breaks = true;
	CHECK(!patch_threads_each(count_one, &nr) && nr == 2 && errno == EIO);
	directory_breaks = false;
	directory_is_closed = true;
	CHECK(!patch_threads_each(count_one, &nr) && nr == 2 && nr_directories == 3);
	directory_is_closed = false;
	CHECK(resources_descriptors() == descriptors);
}

/* ---- the child ---- */

#define EVENT_STOP (PTRACE_EVENT_STOP << 16 | SIGTRAP << 8 | 0x7f)
#define SIGNAL_STOP (SIGUSR1 << 8 | 0x7f)

static pid_t inspected;
static unsigned int nr_inspected;

static void note_inspected(pid_t tid)
{
	inspected = tid;
	nr_inspected++;
}

static void test_waits(void)
{
	begin();
	kernel.status = EVENT_STOP;
	kernel.stops_at = 1;
	CHECK(patch_thread_wait_for_stop(TID) == EVENT_STOP && kernel.nr_waits == 1 &&
			!kernel.nr_sleeps);
	/* The last try, and one more. */
	begin();
	kernel.status = SIGNAL_STOP;
	kernel.stops_at = 200;
	CHECK(patch_thread_wait_for_stop(TID) == SIGNAL_STOP && kernel.nr_sleeps == 199);
	begin();
	kernel.status = EVENT_STOP;
	kernel.stops_at = 201;
	CHECK(!patch_thread_wait_for_stop(TID) && kernel.nr_waits == 200 &&
			kernel.nr_sleeps == 200);
	/* The thread has exited. */
	begin();
	kernel.stops_at = 1;
	kernel.status = 0x100;
	CHECK(!patch_thread_wait_for_stop(TID) && kernel.nr_waits == 1);
}

static bool is_restarted(unsigned long long call, long long result)
{
	begin();
	kernel.registers = (struct user_regs_struct){
			.rip = 7, .rsp = 8, .orig_rax = call, .rax = (unsigned long long)result};
	patch_thread_fix_interrupted_call(TID);
	CHECK(!kernel.nr_set ||
			(kernel.nr_set == 1 && kernel.set.rax == (unsigned long long)-514 &&
					kernel.set.orig_rax == call && kernel.set.rip == 7 &&
					kernel.set.rsp == 8));
	return kernel.nr_set;
}

static void test_restarted_calls(void)
{
	CHECK(SYS_read == 0 && is_restarted(SYS_read, -EINTR) &&
			is_restarted(SYS_epoll_wait, -EINTR));
	CHECK(!is_restarted(SYS_read, 4) && !is_restarted(SYS_read, -EAGAIN) &&
			!is_restarted(SYS_read, 0));
	CHECK(!is_restarted(SYS_futex, -EINTR) && !is_restarted((unsigned long long)-1, -EINTR));
	begin();
	kernel.registers.rax = (unsigned long long)-EINTR;
	kernel.refused = PTRACE_GETREGS;
	patch_thread_fix_interrupted_call(TID);
	CHECK(!kernel.nr_set);
}

static bool stops(int status, patch_at_stop *at_stop)
{
	nr_inspected = 0;
	kernel.status = status;
	kernel.stops_at = 1;
	kernel.registers = (struct user_regs_struct){.rax = (unsigned long long)-EINTR};
	return patch_thread_stop(TID, at_stop);
}

static void test_stop(void)
{
	static const int refused[] = {PTRACE_SEIZE, PTRACE_INTERRUPT};

	begin();
	CHECK(stops(EVENT_STOP, note_inspected) && nr_inspected == 1 && inspected == TID &&
			kernel.nr_set == 1 && kernel.nr_detached == 1 && !kernel.detached_with);
	begin();
	CHECK(stops(EVENT_STOP, NULL) && !nr_inspected && kernel.nr_detached == 1);
	/* A signal that has arrived before is delivered. */
	begin();
	CHECK(!stops(SIGNAL_STOP, note_inspected) && nr_inspected == 1 && !kernel.nr_set &&
			kernel.nr_detached == 1 && kernel.detached_with == SIGUSR1);
	/* The thread has exited, is of another process, or cannot be stopped. */
	begin();
	CHECK(!stops(0, note_inspected) && !nr_inspected && !kernel.nr_detached);
	begin();
	kernel.is_other = true;
	CHECK(!stops(EVENT_STOP, note_inspected) && !nr_inspected && !kernel.nr_waits);
	for (size_t i = 0; i < 2; i++) {
		begin();
		kernel.refused = refused[i];
		CHECK(!stops(EVENT_STOP, note_inspected) && !nr_inspected && !kernel.nr_waits &&
				!kernel.nr_detached);
	}
}

static void test_all_stopped(void)
{
	const pid_t tids[] = {TID, TID, TID};
	struct stopping stopping = {.threads = tids, .count = 2, .at_stop = note_inspected};
	sigset_t before, after;

	begin();
	nr_inspected = 0;
	kernel.status = EVENT_STOP;
	kernel.stops_at = 1;
	CHECK(!patch_thread_stop_all(&stopping) && stopping.stopped == 1 && nr_inspected == 1 &&
			kernel.nr_waits == 201);
	/*
	 * In a child: all signals but those of traps are blocked there, and afterwards the mask is
	 * as before.
	 */
	begin();
	kernel.in_child = true;
	kernel.status = EVENT_STOP;
	kernel.stops_at = 1;
	CHECK(!pthread_sigmask(SIG_SETMASK, NULL, &before));
	CHECK(patch_threads_stop(tids, 1, NULL) == 1);
	CHECK(!(kernel.mask & (1u << (SIGTRAP - 1) | 1u << (SIGILL - 1))) &&
			kernel.mask & 1u << (SIGINT - 1) && kernel.mask & 1u << (SIGSEGV - 1) &&
			kernel.mask >> 63);
	CHECK(!pthread_sigmask(SIG_SETMASK, NULL, &after) && !memcmp(&before, &after, 8));
	CHECK(waitpid(-1, NULL, __WALL | WNOHANG) < 0 && errno == ECHILD);
	kernel.in_child = false;
}

/* ---- mappings ---- */

static void test_mapping_lines(void)
{
	static struct quiescence_mapping made[16];
	char text[1024];
	unsigned int descriptors;

	mappings = made;
	begin();
	put_file("/proc/self/maps",
			"1000-2000 rw-p 00000000 00:00 0\n2000-3000 rwxp 00000000 00:00 0 [heap]\n"
			"3000-4000 rw-s 00000000 00:00 0\n4000-5000 rw-p 00000000 08:01 5 /x\n"
			"5000-6000 r--p 00000000 00:00 0\n6000-7000 -w-p 00000000 00:00 0\n"
			"8000-9000 rw-p 00000000 00:00 0\n9000-a000 rw-p 00000000 00:00 0\n"
			"a000-b000 rw-p 00000000 00:00 0\nb000-c000 rw-p 00000000\n");
	descriptors = resources_descriptors();
	CHECK(quiescence_read_mappings() && nr_mappings == 6);
	CHECK(made[0].start == 0x1000 && made[0].end == 0x3000 && made[0].own);
	CHECK(made[1].start == 0x3000 && !made[1].own && made[2].start == 0x4000 && !made[2].own);
	CHECK(made[3].start == 0x8000 && made[3].end == 0x9000 && made[3].own &&
			made[4].start == 0x9000 && !made[4].own && made[5].end == 0xb000 &&
			made[5].own);
	/* The remainder of a long line is not a line. */
	snprintf(text, sizeof(text),
			"1000-2000 rw-p 00000000 00:00 0 %0223d3000-4000 rw-p 00000000 00:00 0\n5000-6000 rw-p 00000000 00:00 0\n",
			0);
	CHECK(!strncmp(text + 255, "3000-4000", 9));
	put_file("/proc/self/maps", text);
	CHECK(quiescence_read_mappings() && nr_mappings == 2 && made[1].start == 0x5000);
	/* No writable mapping; a list that cannot be read. */
	put_file("/proc/self/maps", "1000-2000 r--p 00000000 00:00 0\n");
	CHECK(!quiescence_read_mappings() && !nr_mappings);
	put_file("/proc/self/maps", NULL);
	CHECK(!quiescence_read_mappings());
	files[0].breaks = true;
	CHECK(!quiescence_read_mappings());
	CHECK(resources_descriptors() == descriptors);
}

/* ---- a thread that sleeps ---- */

static uint64_t wanted_address;

static bool is_wanted(uint64_t address)
{
	return address == wanted_address;
}

static void test_read_threads(void)
{
	struct thread_state_sample sample;
	unsigned int descriptors;

	begin();
	put_file(SYSCALL, "35 0x1 0x2 0x3 0x4 0x5 0x6 0x7ffd1000 0x7f1234\n");
	put_file(STATUS, "Name:\tx\n" SWITCHES);
	descriptors = resources_descriptors();
	CHECK(quiescence_read_thread(TID, &sample) && sample.call == 35 &&
			sample.stack_pointer == 0x7ffd1000 && sample.program_counter == 0x7f1234 &&
			sample.switches == 12);
	put_file(SYSCALL, "0 0x1 0x2 0x3 0x4 0x5 0x6 0x7ffd2000 0x7f1235\n");
	put_file(STATUS, "nonvoluntary_ctxt_switches:\t9\n");
	CHECK(quiescence_read_thread(TID, &sample) && !sample.call &&
			sample.stack_pointer == 0x7ffd2000 && sample.switches == 9);
	put_file(SYSCALL, "-1 0x7ffd3000 0x7f1236\n");
	CHECK(quiescence_read_thread(TID, &sample) && sample.call == -1 &&
			sample.stack_pointer == 0x7ffd3000 && sample.program_counter == 0x7f1236);
	/* It is running, or the line is short. */
	put_file(SYSCALL, "running\n");
	CHECK(!quiescence_read_thread(TID, &sample));
	put_file(SYSCALL, "-1\n");
	CHECK(!quiescence_read_thread(TID, &sample));
	put_file(SYSCALL, "-1 0x7ffd3000\n");
	CHECK(!quiescence_read_thread(TID, &sample));
	put_file(SYSCALL, "35 0x1 0x2 0x3 0x4 0x5 0x6 0x7ffd1000\n");
	CHECK(!quiescence_read_thread(TID, &sample));
	put_file(SYSCALL, "");
	CHECK(!quiescence_read_thread(TID, &sample));
	put_file(SYSCALL, NULL);
	CHECK(!quiescence_read_thread(TID, &sample));
	put_file(SYSCALL, "-1 0x7ffd3000 0x7f1236\n");
	put_file(STATUS, "Name:\tx\n");
	CHECK(!quiescence_read_thread(TID, &sample));
	put_file(STATUS, NULL);
	CHECK(!quiescence_read_thread(TID, &sample) && resources_descriptors() == descriptors);
}

static uint64_t stack[16];
static struct quiescence_mapping made_stack[1];

static enum patch_verdict shown(const char *state, const char *line, const char *again)
{
	static char status[256];
	bool guarded = false;
	enum patch_verdict result;

	nr_syscall_reads = 0;
	second_syscall = again;
	snprintf(status, sizeof(status), "State:\t%s\nSeccomp:\t0\n" SWITCHES, state);
	put_file(STATUS, status);
	put_file(SYSCALL, line);
	result = quiescence_has_quiesced(TID, &guarded);
	CHECK(!guarded);
	return result;
}

static void test_asleep(void)
{
	char line[128], moved[128], call[128];
	const unsigned long at = (unsigned long)(uintptr_t)stack;
	bool guarded = false;

	begin();
	mappings = made_stack;
	made_stack[0] = (struct quiescence_mapping){at, at + sizeof(stack), true};
	nr_mappings = 1;
	is_there = is_wanted;
	segments = 0x2b000000000033;
	wanted_address = 0x7777;
	memset(stack, 0, sizeof(stack));
	snprintf(line, sizeof(line), "0 0x1 0x2 0x3 0x4 0x5 0x6 %#lx 0x1234\n", at);
	snprintf(moved, sizeof(moved), "0 0x1 0x2 0x3 0x4 0x5 0x6 %#lx 0x1235\n", at);
	CHECK(shown("S", line, NULL) == PATCH_PROVED && shown("S", line, moved) == PATCH_UNPROVED);
	CHECK(shown("Z", NULL, NULL) == PATCH_PROVED && shown("X", NULL, NULL) == PATCH_PROVED);
	CHECK(shown("R", line, NULL) == PATCH_UNPROVED &&
			shown("S", "running\n", NULL) == PATCH_UNPROVED);
	CHECK(shown("S", line, "running\n") == PATCH_UNPROVED);
	CHECK(shown("S\nTracerPid:\t3", line, NULL) == PATCH_DISPROVED);
	stack[7] = 0x7777;
	CHECK(shown("S", line, NULL) == PATCH_DISPROVED &&
			shown("S", line, moved) == PATCH_UNPROVED &&
			shown("S", line, "running\n") == PATCH_UNPROVED);
	stack[7] = 0;
	wanted_address = 0x1234;
	CHECK(shown("S", line, NULL) == PATCH_DISPROVED);
	wanted_address = 0x7777;
	/* It may wait for a child that shares the memory. */
	snprintf(call, sizeof(call), "%ld 0x1 0x2 0x3 0x4 0x5 0x6 %#lx 0x1234\n", (long)SYS_vfork,
			at);
	CHECK(shown("S", call, NULL) == PATCH_DISPROVED);
	/* Seccomp filters are noted, also of a traced thread. */
	put_file(STATUS, "State:\tS\nTracerPid:\t3\nSeccomp:\t2\n");
	CHECK(quiescence_has_quiesced(TID, &guarded) == PATCH_DISPROVED && guarded);
	put_file(STATUS, NULL);
	CHECK(quiescence_has_quiesced(TID, &guarded) == PATCH_PROVED && guarded);
}

/* Stacks of the largest size that is read, and one word more. */
static void test_sizes(void)
{
	const uint64_t start = 0x100000000;

	begin();
	mappings = made_stack;
	nr_mappings = 1;
	is_there = is_wanted;
	segments = 0x2b000000000033;
	kernel.reads_zeros = true;
	wanted_address = 0x7777;
	for (unsigned int more = 0; more <= 8; more += 8) {
		made_stack[0] = (struct quiescence_mapping){start, start + (4 << 20) + more, true};
		kernel.registers.rip = 0x1234;
		kernel.registers.rsp = start;
		stopped_quiesced = more;
		quiescence_check_stopped(TID);
		CHECK(stopped_quiesced == !more);
		made_stack[0].end = start + (256 << 20) + more;
		CHECK(shown("S", "-1 0x100000000 0x1234\n", NULL) ==
				(more ? PATCH_DISPROVED : PATCH_PROVED));
	}
	kernel.reads_zeros = false;
}

static void test_inspected(void)
{
	const unsigned long at = (unsigned long)(uintptr_t)stack;

	begin();
	memset(stack, 0, sizeof(stack));
	mappings = made_stack;
	made_stack[0] = (struct quiescence_mapping){at, at + sizeof(stack), true};
	nr_mappings = 1;
	is_there = is_wanted;
	segments = 0x2b000000000033;
	wanted_address = 0x7777;
	kernel.registers.rip = 0x1234;
	kernel.registers.rsp = at + 8;
	put_file(STATUS, "State:\tt\nTracerPid:\t0\nSeccomp:\t0\n");
	quiescence_check_stopped(TID);
	CHECK(stopped_quiesced && quiescence_had_quiesced(TID));
	stack[0] = 0x7777;
	quiescence_check_stopped(TID);
	CHECK(stopped_quiesced);
	stack[1] = 0x7777;
	quiescence_check_stopped(TID);
	CHECK(!stopped_quiesced && !quiescence_had_quiesced(TID));
	stack[1] = 0;
	wanted_address = 0x1234;
	quiescence_check_stopped(TID);
	CHECK(!stopped_quiesced);
	wanted_address = 0x7777;
	kernel.refused = PTRACE_GETREGS;
	quiescence_check_stopped(TID);
	CHECK(!stopped_quiesced);
	kernel.refused = -1;
	quiescence_check_stopped(TID);
	/* Another tracer stops it, or it has exited. */
	put_file(STATUS, "State:\tt\nTracerPid:\t8\nSeccomp:\t0\n");
	CHECK(stopped_quiesced && !quiescence_had_quiesced(TID));
	stopped_quiesced = false;
	put_file(STATUS, NULL);
	CHECK(quiescence_had_quiesced(TID));
}

/* ---- others that share the memory ---- */

static bool shares(const char *children, long order)
{
	kernel.nr_compared = 0;
	kernel.order = order;
	put_file(CHILDREN, children);
	shared = false;
	quiescence_check_children(TID, NULL);
	return shared;
}

static void test_children(void)
{
	unsigned int descriptors = resources_descriptors();

	begin();
	put_file(STATUS, "State:\tS\nSeccomp:\t0\n");
	CHECK(!shares("", 0) && !kernel.nr_compared);
	CHECK(!shares("12 13 ", 1) && kernel.nr_compared == 2 && kernel.compared[0] == 12 &&
			kernel.compared[1] == 13);
	CHECK(!shares("12 ", 2) && !shares("12 ", 3) && !shares("12 ", -ESRCH));
	CHECK(shares("12 13 ", 0) && kernel.nr_compared == 1);
	CHECK(shares("12 ", -EPERM) && shares("12 ", -ENOSYS));
	/* The kernel has no such list, or the thread has exited. */
	CHECK(shares(NULL, 1));
	put_file(STATUS, NULL);
	CHECK(!shares(NULL, 1));
	put_file(STATUS, "State:\tS\nSeccomp:\t0\n");
	CHECK(!strcmp(files[1].path, CHILDREN));
	files[1].breaks = true;
	CHECK(shares("", 1));
	put_file(STATUS, NULL);
	CHECK(!shares("", 1));
	CHECK(resources_descriptors() == descriptors);
	/* All threads, one of which may be unknown. */
	shared = true;
	CHECK(!quiescence_is_shared());
	directory_is_closed = true;
	CHECK(quiescence_is_shared());
	directory_is_closed = false;
}

static void test_guarded(void)
{
	begin();
	put_file(STATUS, "State:\tS\nSeccomp:\t0\n");
	CHECK(!patch_is_guarded());
	put_file(STATUS, "State:\tS\nSeccomp:\t2\n");
	CHECK(patch_is_guarded());
	put_file(STATUS, NULL);
	CHECK(patch_is_guarded());
}

int main(void)
{
	test_status();
	test_workers();
	test_lists();
	test_waits();
	test_restarted_calls();
	test_stop();
	test_all_stopped();
	test_mapping_lines();
	test_read_threads();
	test_asleep();
	test_sizes();
	test_inspected();
	test_children();
	test_guarded();
	return 0;
}
