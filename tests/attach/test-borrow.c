/* SPDX-License-Identifier: MIT */
/*
 * Borrowing a thread of a program: the test replaces ptrace(), waitpid(), the clock, the threads in
 * /proc and the memory of the program, and compares all requests and the report. It includes the
 * file, so that it can call its static functions.
 */
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../called.h"

#include "attach/parts.h"

#define PROGRAM 4711
#define CODE UINT64_C(0x700000)
#define SCRATCH UINT64_C(0x500000)
#define START UINT64_C(1000000000) /* of the clock */

/* ---- the program ---- */

static uint64_t clock_ns;
static uint64_t step_ns; /* of each pause; 0: as long as requested */
static int failing_request, failing_error;
static bool short_registers, unreadable, unwritable;
static struct user_regs_struct thread_registers;
static const struct user_regs_struct
		*later_registers; /* their values from the second read on; or NULL */
static uint64_t mask;
static uint32_t states[8]; /* that are read in sequence; the last one is read repeatedly */
static size_t nr_states, at_state;
static struct {
	pid_t pid;
	int status;
} waited[8];
static size_t nr_waits, at_wait;
/* PTRACE_INTERRUPT was the last request, and the next waitpid() reports its stop */
static bool interrupted;
static bool stops; /* a thread that is interrupted stops at once */
static const char *state_text, *seccomp_text;
static int seccomp_error;
static unsigned int nr_alive; /* kill() finds the program this many times */
static enum inject_verdict its_verdict;
static struct inject_report program_report;

static long played_ptrace(int request, pid_t thread, uint64_t address, uint64_t data)
{
	struct iovec *part = (struct iovec *)(uintptr_t)data;

	if (request == PTRACE_GETREGSET || request == PTRACE_SETREGSET) {
		assert_int_equal(address, NT_PRSTATUS);
		assert_int_equal(part->iov_len, sizeof(thread_registers));
	} else if (request == PTRACE_GETSIGMASK || request == PTRACE_SETSIGMASK) {
		assert_int_equal(address, sizeof(mask));
	} else {
		assert_int_equal(address, 0);
	}
	switch (request) {
	case PTRACE_GETREGSET:
		called("get %d\n", thread);
		memcpy(part->iov_base, &thread_registers, sizeof(thread_registers));
		part->iov_len -= short_registers;
		if (later_registers)
			thread_registers = *later_registers;
		later_registers = NULL;
		break;
	case PTRACE_SETREGSET:
		called("set %d rip %llx rax %lld call %lld\n", thread,
				((struct user_regs_struct *)part->iov_base)->rip,
				(long long)((struct user_regs_struct *)part->iov_base)->rax,
				(long long)((struct user_regs_struct *)part->iov_base)->orig_rax);
		break;
	case PTRACE_GETSIGMASK:
		called("get mask %d\n", thread);
		memcpy((void *)(uintptr_t)data, &mask, sizeof(mask));
		break;
	case PTRACE_SETSIGMASK:
		called("set mask %d %llx\n", thread, *(unsigned long long *)(uintptr_t)data);
		break;
	case PTRACE_SEIZE: called("seize %d %d\n", thread, (int)data); break;
	case PTRACE_INTERRUPT:
		called("interrupt %d %d\n", thread, (int)data);
		interrupted = stops;
		break;
	case PTRACE_CONT: called("continue %d %d\n", thread, (int)data); break;
	case PTRACE_DETACH: called("detach %d %d\n", thread, (int)data); break;
	default: fail_msg("request %d", request);
	}
	if (request != failing_request)
		return 0;
	errno = failing_error;
	return -1;
}

static pid_t played_waitpid(pid_t thread, int *status, int options)
{
	assert_int_equal(options, __WALL | WNOHANG);
	if (interrupted) {
		interrupted = false;
		*status = PTRACE_EVENT_STOP << 16 | SIGTRAP << 8 | 0x7f;
		return thread;
	}
	if (at_wait == nr_waits)
		return 0;
	*status = waited[at_wait].status;
	if (waited[at_wait].pid < 0)
		errno = waited[at_wait].status;
	return waited[at_wait++].pid;
}

static int played_kill(pid_t pid, int signal)
{
	assert_int_equal(pid, PROGRAM);
	assert_int_equal(signal, 0);
	if (nr_alive) {
		nr_alive--;
		return 0;
	}
	errno = ESRCH;
	return -1;
}

static int played_yield(void)
{
	clock_ns += 1000;
	return 0;
}

static uint64_t played_now(void)
{
	return clock_ns;
}

static void played_pause(long us)
{
	clock_ns += step_ns ? step_ns : (uint64_t)us * 1000;
}

static bool played_read(
		const struct inject_target *target, uint64_t address, void *bytes, size_t size)
{
	assert_int_equal(target->pid, PROGRAM);
	assert_int_equal(address, SCRATCH);
	assert_int_equal(size, sizeof(uint32_t));
	if (unreadable)
		return false;
	memcpy(bytes, &states[at_state], size);
	at_state += at_state + 1 < nr_states;
	return true;
}

static bool played_write(const struct inject_target *target, uint64_t address, const void *bytes,
		size_t size)
{
	const struct inject_values *values = bytes;

	assert_int_equal(target->pid, PROGRAM);
	assert_int_equal(address, CODE);
	assert_int_equal(size, sizeof(*values));
	called("write rip %llx mask %llx\n", (unsigned long long)values->rip,
			(unsigned long long)values->mask);
	errno = EIO;
	return !unwritable;
}

static bool played_status(pid_t pid, pid_t thread, const char *name, char *text, size_t size)
{
	bool is_state = !strcmp(name, "State");
	const char *found = is_state ? state_text : seccomp_text;

	assert_int_equal(pid, PROGRAM);
	assert_int_equal(thread, PROGRAM + 1);
	assert_true(is_state || !strcmp(name, "Seccomp"));
	(void)snprintf(text, size, "%s", found ? found : "");
	errno = is_state ? ESRCH : seccomp_error;
	return found != NULL;
}

static int played_not_permitted(struct inject_target *target, pid_t thread, int code)
{
	called("not permitted %d %d\n", thread, code);
	return inject_fail(target, INJECT_NOT_PERMITTED, "not permitted");
}

/* ---- its threads ---- */

static const char *const *entries; /* of /proc/PID/task; the last one is NULL */
static size_t at_entry;
static const char *call_text; /* NULL: the file cannot be opened */

static DIR *played_opendir(const char *path)
{
	assert_string_equal(path, "/proc/4711/task");
	at_entry = 0;
	return (DIR *)&entries;
}

static struct dirent *played_readdir(DIR *directory)
{
	static struct dirent entry;

	assert_ptr_equal(directory, &entries);
	if (!entries[at_entry])
		return NULL;
	(void)snprintf(entry.d_name, sizeof(entry.d_name), "%s", entries[at_entry++]);
	return &entry;
}

static int played_closedir(DIR *directory)
{
	assert_ptr_equal(directory, &entries);
	called("closed\n");
	return 0;
}

static FILE *played_fopen(const char *path, const char *mode)
{
	static char text[256];

	assert_string_equal(path, "/proc/4711/task/4712/syscall");
	assert_string_equal(mode, "re");
	if (!call_text)
		return NULL;
	if (!*call_text)
		return fopen("/dev/null", "r");
	(void)snprintf(text, sizeof(text), "%s", call_text);
	return fmemopen(text, strlen(text), "r");
}

/* ---- judgement ---- */

static int the_safe;

static struct inject_safe *played_safe_open(struct inject_target *target)
{
	assert_int_equal(target->pid, PROGRAM);
	return (struct inject_safe *)&the_safe;
}

static void played_safe_close(struct inject_safe *safe)
{
	assert_ptr_equal(safe, &the_safe);
	called("judge closed\n");
}

static enum inject_verdict played_judge(struct inject_safe *safe, pid_t thread,
		const struct user_regs_struct *of, bool waiting, uint64_t until)
{
	assert_ptr_equal(safe, &the_safe);
	called("judge %d rip %llx waits %d us %llu\n", thread, of->rip, waiting,
			(unsigned long long)(until - clock_ns) / 1000);
	return its_verdict;
}

static void played_rehearse(struct inject_safe *safe, pid_t thread, uint64_t stack, uint64_t code)
{
	assert_ptr_equal(safe, &the_safe);
	called("rehearse %d %llx %llx\n", thread, (unsigned long long)stack,
			(unsigned long long)code);
}

#define ptrace(request, thread, address, data) \
	played_ptrace(request, thread, (uint64_t)(address), (uint64_t)(data))
#define waitpid played_waitpid
#define kill played_kill
#define sched_yield played_yield
#define opendir played_opendir
#define readdir played_readdir
#define closedir played_closedir
#define fopen played_fopen
#define inject_now played_now
#define inject_pause_us played_pause
#define inject_read played_read
#define inject_write played_write
#define inject_status played_status
#define inject_not_permitted played_not_permitted
#define inject_safe_open played_safe_open
#define inject_safe_close played_safe_close
#define inject_safe_judge played_judge
#define inject_safe_rehearse played_rehearse
#include "attach/thread.c"
#undef fopen

static struct inject_target target = {.pid = PROGRAM, .report = &program_report};
static struct inject_site location = {.code = CODE, .scratch = SCRATCH};

/* Starts with a thread that waits in read(), which the kernel would restart. */
static struct borrowing begin(void)
{
	clock_ns = START;
	step_ns = 0;
	failing_request = -1;
	failing_error = 0;
	short_registers = unreadable = unwritable = interrupted = false;
	stops = true;
	thread_registers = (struct user_regs_struct){
			.rip = 0x1234, .rax = (uint64_t)-512, .orig_rax = SYS_read, .rsp = 0x8888};
	mask = 0x55;
	states[0] = INJECT_STATE_BUSY;
	nr_states = 1;
	at_state = nr_waits = at_wait = 0;
	state_text = "S (sleeping)";
	seccomp_text = "0";
	nr_alive = 1000000;
	its_verdict = INJECT_SAFE;
	call_text = "0 0x1 0x2 0x3 0x4 0x5 0x6 0x8888 0x1234\n";
	program_report = (struct inject_report){.kind = INJECT_DONE};
	*calls = '\0';
	return (struct borrowing){.target = &target,
			.site = &location,
			.code = inject_code_get(),
			.safe = (struct inject_safe *)&the_safe,
			.thread = PROGRAM + 1};
}

static void add_wait(pid_t pid, int status)
{
	waited[nr_waits].pid = pid;
	waited[nr_waits++].status = status;
}

static void add_stop(int signal)
{
	add_wait(PROGRAM + 1, signal << 8 | 0x7f);
}

static const int group_stop = PTRACE_EVENT_STOP << 16 | SIGSTOP << 8 | 0x7f;

/* ---- ranks ---- */

static enum rank ranked(const char *text, struct candidate *candidate)
{
	*candidate = (struct candidate){.thread = PROGRAM + 1};
	call_text = text;
	return attach_thread_get_rank(PROGRAM, candidate);
}

static void test_rank(void **state)
{
	struct candidate candidate;

	(void)state;
	(void)begin();
	assert_int_equal(ranked("0 0x1 0x2 0x3 0x4 0x5 0x6 0x77 0x88\n", &candidate), RANK_WAITS);
	assert_int_equal(candidate.stack, 0x77);
	assert_int_equal(candidate.code, 0x88);
	assert_int_equal(ranked("202 0x1 0x2 0x3 0x4 0x5 0x6 0x9 0xa\n", &candidate), RANK_FUTEX);
	assert_int_equal(candidate.stack, 9);
	assert_int_equal(candidate.code, 10);
	/* epoll_wait() without and with a time, and mmap(). */
	assert_int_equal(ranked("232 0x1 0x2 0x3 0xffffffff 0x0 0x0 0x9 0xa\n", &candidate),
			RANK_WAITS);
	assert_int_equal(ranked("232 0x1 0x2 0x3 0x7fffffff 0x0 0x0 0x9 0xa\n", &candidate),
			RANK_EINTR);
	assert_int_equal(ranked("9 0x1 0x2 0x3 0x4 0x0 0x0 0x9 0xb\n", &candidate), RANK_NONE);
	assert_int_equal(candidate.code, 11);
	/* semtimedop() and rt_sigtimedwait(): each has its time in an argument of its own. */
	assert_int_equal(ranked("220 0x1 0x2 0x3 0x0 0x5 0x6 0x9 0xa\n", &candidate), RANK_WAITS);
	assert_int_equal(ranked("220 0x0 0x0 0x0 0x1 0x0 0x0 0x9 0xa\n", &candidate), RANK_EINTR);
	assert_int_equal(ranked("128 0x1 0x2 0x0 0x4 0x5 0x6 0x9 0xa\n", &candidate), RANK_WAITS);
	assert_int_equal(ranked("128 0x0 0x0 0x1 0x0 0x0 0x0 0x9 0xa\n", &candidate), RANK_EINTR);
	/*
	 * The location of a thread that waits in no call is unknown, and so is the call of a
	 * running thread.
	 */
	assert_int_equal(ranked("-1 0x9 0xa\n", &candidate), RANK_NONE);
	assert_int_equal(candidate.code, 0);
	assert_int_equal(ranked("-1 0x1 0x2 0x3 0x4 0x5 0x6 0x9 0xa\n", &candidate), RANK_NONE);
	assert_int_equal(candidate.code, 0);
	assert_int_equal(ranked("0 0x1 0x2 0x3 0x4 0x5 0x6 0x9\n", &candidate), RANK_NONE);
	assert_int_equal(candidate.code, 0);
	assert_int_equal(ranked("running\n", &candidate), RANK_RUNS);
	assert_int_equal(ranked("runnin\n", &candidate), RANK_NONE);
	assert_int_equal(ranked("", &candidate), RANK_NONE);
	assert_int_equal(ranked(NULL, &candidate), RANK_NONE);
}

static void test_no_thread(void **state)
{
	static const char *const one[] = {".", "..", "4712", NULL}, *const none[] = {".", NULL};

	(void)state;
	(void)begin();
	entries = one;
	assert_true(inject_no_thread_at(PROGRAM, 0x1235, 0x1300));
	assert_true(inject_no_thread_at(PROGRAM, 0x1200, 0x1234));
	assert_false(inject_no_thread_at(PROGRAM, 0x1234, 0x1235));
	/*
	 * The location of a running thread is unknown, and so is that of a thread whose file cannot
	 * be read.
	 */
	call_text = "running\n";
	assert_false(inject_no_thread_at(PROGRAM, 0x1235, 0x1300));
	call_text = NULL;
	assert_false(inject_no_thread_at(PROGRAM, 0x1235, 0x1300));
	entries = none;
	assert_true(inject_no_thread_at(PROGRAM, 0x1235, 0x1300));
	assert_called("closed\nclosed\nclosed\nclosed\nclosed\nclosed\n");
}

/* ---- stopping ---- */

static void test_wait_until(void **state)
{
	struct borrowing borrowing = begin();
	int status = 0;

	(void)state;
	/* It yields for 30 us, then it sleeps. */
	assert_int_equal(attach_thread_wait_until(&borrowing, &status, START + 71000), -EAGAIN);
	assert_int_equal(clock_ns, START + 90000);
	assert_int_equal(attach_thread_wait_until(&borrowing, &status, START + 90000), -EAGAIN);
	assert_int_equal(clock_ns, START + 90000);
	/* An interrupted call is restarted. */
	add_wait(-1, EINTR);
	add_stop(SIGUSR1);
	assert_int_equal(attach_thread_wait_until(&borrowing, &status, UINT64_MAX), 0);
	assert_int_equal(status, SIGUSR1 << 8 | 0x7f);
	assert_int_equal(clock_ns, START + 91000);
	add_wait(-1, ECHILD);
	assert_int_equal(attach_thread_wait_until(&borrowing, &status, UINT64_MAX), -ESRCH);
	add_wait(PROGRAM + 1, SIGKILL);
	assert_int_equal(attach_thread_wait_until(&borrowing, &status, UINT64_MAX), -ESRCH);
	assert_int_equal(at_wait, 4);
	assert_called("");
}

static void test_stop(void **state)
{
	struct borrowing borrowing = begin();

	(void)state;
	/* A signal that is being delivered is passed on. */
	stops = false;
	add_stop(SIGUSR1);
	add_stop(SIGCHLD);
	add_wait(PROGRAM + 1, PTRACE_EVENT_STOP << 16 | SIGTRAP << 8 | 0x7f);
	assert_int_equal(attach_thread_stop(&borrowing), 0);
	assert_int_equal(borrowing.stopped_at, START);
	assert_called("seize 4712 0\ninterrupt 4712 0\ncontinue 4712 10\ncontinue 4712 17\n");
	/* The program was stopped by another process. */
	borrowing = begin();
	stops = false;
	add_wait(PROGRAM + 1, group_stop);
	assert_int_equal(attach_thread_stop(&borrowing), -EBUSY);
	assert_int_equal(program_report.stops, 1);
	assert_called("seize 4712 0\ninterrupt 4712 0\ndetach 4712 0\n");
	borrowing = begin();
	stops = false;
	assert_int_equal(attach_thread_stop(&borrowing), -EAGAIN);
	assert_in_range(clock_ns - START, UINT64_C(5000000000), UINT64_C(5000020000));
	assert_called("seize 4712 0\ninterrupt 4712 0\n");
	borrowing = begin();
	failing_request = PTRACE_SEIZE;
	failing_error = EACCES;
	assert_int_equal(attach_thread_stop(&borrowing), -EACCES);
	assert_called("seize 4712 0\n");
	failing_request = PTRACE_INTERRUPT;
	failing_error = EIO;
	assert_int_equal(attach_thread_stop(&borrowing), -EIO);
	assert_called("seize 4712 0\ninterrupt 4712 0\n");
	assert_int_equal(program_report.stops, 0);
}

/* ---- the borrowed thread ---- */

static void test_sign(void **state)
{
	struct borrowing borrowing = begin();
	int status = 0;

	(void)state;
	/* A thread without progress is asked to stop after 2 ms. */
	states[0] = INJECT_STATE_NONE;
	assert_int_equal(attach_thread_wait(&borrowing, &status), 0);
	assert_int_equal(clock_ns - START, 2020000);
	assert_called("interrupt 4712 0\n");
	/* Memory that cannot be read is no progress. */
	borrowing = begin();
	unreadable = true;
	states[0] = INJECT_STATE_READY;
	assert_int_equal(attach_thread_wait(&borrowing, &status), 0);
	assert_int_equal(clock_ns - START, 2020000);
	assert_called("interrupt 4712 0\n");
	borrowing = begin();
	states[0] = INJECT_STATE_READY;
	assert_int_equal(attach_thread_wait(&borrowing, &status), 0);
	assert_int_equal(clock_ns, START);
	assert_called("interrupt 4712 0\n");
	/* A busy thread is waited for, ten seconds at most. */
	borrowing = begin();
	assert_int_equal(attach_thread_wait(&borrowing, &status), -ETIMEDOUT);
	assert_int_equal(clock_ns - START, UINT64_C(10000000000));
	assert_called("");
	states[0] = INJECT_STATE_BUSY;
	states[1] = INJECT_STATE_BUSY;
	states[2] = INJECT_STATE_READY;
	nr_states = 3;
	at_state = 0;
	clock_ns = START;
	assert_int_equal(attach_thread_wait(&borrowing, &status), 0);
	assert_int_equal(clock_ns - START, 2000);
	assert_called("interrupt 4712 0\n");
	/* It is stopped once, and again only if that fails. */
	borrowing = begin();
	states[0] = INJECT_STATE_READY;
	stops = false;
	assert_int_equal(attach_thread_wait(&borrowing, &status), -ETIMEDOUT);
	assert_in_range(clock_ns - START, UINT64_C(10000000000), UINT64_C(10000040000));
	assert_called("interrupt 4712 0\n");
	borrowing = begin();
	states[0] = INJECT_STATE_READY;
	failing_request = PTRACE_INTERRUPT;
	stops = false;
	add_wait(0, 0);
	add_wait(PROGRAM + 1, SIGKILL);
	assert_int_equal(attach_thread_wait(&borrowing, &status), -ESRCH);
	assert_called("interrupt 4712 0\ninterrupt 4712 0\n");
}

static void test_make(void **state)
{
	struct borrowing borrowing = begin();
	struct user_regs_struct later;
	char wanted[256];

	(void)state;
	location.values = (struct inject_values){.rip = 1};
	borrowing.before = thread_registers;
	borrowing.mask = 0x99;
	unwritable = true;
	assert_int_equal(attach_thread_make_thread(&borrowing), ATTEMPT_FAILED);
	assert_int_equal(borrowing.code_of_failure, EIO);
	assert_called("write rip 1232 mask 99\ndetach 4712 0\n");
	unwritable = false;
	failing_request = PTRACE_SETREGSET;
	(void)snprintf(wanted, sizeof(wanted),
			"write rip 1232 mask 99\nset 4712 rip %llx rax -512 call -1\n",
			(unsigned long long)(CODE + borrowing.code.entry));
	assert_int_equal(attach_thread_make_thread(&borrowing), ATTEMPT_NEXT);
	strcat(wanted, "detach 4712 0\n");
	assert_called(wanted);
	/* setuid() of another thread: its signal is delivered while the new thread is created. */
	borrowing = begin();
	borrowing.before = thread_registers;
	borrowing.mask = 0x99;
	add_stop(33);
	later = thread_registers;
	later.rip = CODE + borrowing.code.failed;
	later.r14 = EAGAIN;
	later_registers = &later;
	thread_registers.rip = CODE + borrowing.code.size;
	thread_registers.rsp = SCRATCH + INJECT_SCRATCH_SIZE;
	states[0] = INJECT_STATE_BUSY;
	states[1] = INJECT_STATE_READY;
	nr_states = 2;
	(void)snprintf(wanted, sizeof(wanted),
			"write rip 1232 mask 99\nset 4712 rip %llx rax -512 call -1\n",
			(unsigned long long)(CODE + borrowing.code.entry));
	strcat(wanted, "continue 4712 0\nget 4712\ncontinue 4712 33\ninterrupt 4712 0\nget 4712\n");
	strcat(wanted, "set mask 4712 99\nset 4712 rip 1234 rax -512 call 0\ndetach 4712 0\n");
	assert_int_equal(attach_thread_make_thread(&borrowing), ATTEMPT_FAILED);
	assert_int_equal(borrowing.code_of_failure, EAGAIN);
	assert_called(wanted);
	/* The same signal at another time comes with a failure, and is delivered afterwards. */
	borrowing = begin();
	borrowing.before = thread_registers;
	add_stop(33);
	thread_registers.rip = CODE + borrowing.code.entry;
	states[0] = INJECT_STATE_NONE;
	nr_states = 1;
	assert_int_equal(attach_thread_make_thread(&borrowing), ATTEMPT_NEXT);
	assert_non_null(strstr(calls,
			"continue 4712 0\nget 4712\nset mask 4712 0\nset 4712 rip 1234 rax -512 call 0\ndetach 4712 33\n"));
	/* The program exits, or does not finish. */
	borrowing = begin();
	add_wait(PROGRAM + 1, SIGKILL);
	assert_int_equal(attach_thread_make_thread(&borrowing), ATTEMPT_FAILED);
	assert_int_equal(borrowing.code_of_failure, ESRCH);
	borrowing = begin();
	assert_int_equal(attach_thread_make_thread(&borrowing), ATTEMPT_FAILED);
	assert_int_equal(borrowing.code_of_failure, ETIMEDOUT);
	/* Its registers cannot be read. */
	borrowing = begin();
	states[0] = INJECT_STATE_READY;
	short_registers = true;
	assert_int_equal(attach_thread_make_thread(&borrowing), ATTEMPT_FAILED);
	assert_int_equal(borrowing.code_of_failure, 0);
	borrowing = begin();
	states[0] = INJECT_STATE_READY;
	failing_request = PTRACE_GETREGSET;
	assert_int_equal(attach_thread_make_thread(&borrowing), ATTEMPT_FAILED);
	*calls = '\0';
}

/* ---- which threads are tried ---- */

static void test_permitted(void **state)
{
	struct borrowing borrowing = begin();
	struct inject_request plain = {.pid = PROGRAM}, sandbox = {.in_sandbox = true};

	(void)state;
	assert_true(attach_thread_may_be_stopped(&borrowing, &plain));
	state_text = "R (running)";
	assert_true(attach_thread_may_be_stopped(&borrowing, &plain));
	state_text = "D (disk sleep)";
	assert_false(attach_thread_may_be_stopped(&borrowing, &plain));
	state_text = NULL;
	assert_false(attach_thread_may_be_stopped(&borrowing, &plain));
	state_text = "S (sleeping)";
	seccomp_text = "2";
	assert_false(attach_thread_may_be_stopped(&borrowing, &plain));
	assert_true(attach_thread_may_be_stopped(&borrowing, &sandbox));
	seccomp_text = "1";
	assert_false(attach_thread_may_be_stopped(&borrowing, &plain));
	assert_false(attach_thread_may_be_stopped(&borrowing, &sandbox));
	/* A kernel that does not show it; a thread that has exited. */
	seccomp_text = NULL;
	seccomp_error = ENODATA;
	assert_true(attach_thread_may_be_stopped(&borrowing, &plain));
	seccomp_error = ESRCH;
	assert_false(attach_thread_may_be_stopped(&borrowing, &plain));
}

static const char let_go[] = "set 4712 rip 1234 rax -512 call 0\ndetach 4712 0\n";
static const char seized[] = "seize 4712 0\ninterrupt 4712 0\nget 4712\nget mask 4712\n";

/* Expects the calls until the verdict, and the result. */
static void expect_try(struct borrowing *borrowing, enum attempt attempt, const char *judged,
		const char *then)
{
	char wanted[1024];

	(void)snprintf(wanted, sizeof(wanted), "%s%s%s", seized, judged, then);
	assert_int_equal(attach_thread_try(borrowing), attempt);
	assert_called(wanted);
}

static void test_try(void **state)
{
	static const char waiting[] = "judge 4712 rip 1234 waits 1 us 1000\n";
	struct borrowing borrowing = begin();

	(void)state;
	its_verdict = INJECT_UNSAFE;
	expect_try(&borrowing, ATTEMPT_NEXT, waiting, let_go);
	assert_int_equal(program_report.stops, 1);
	assert_int_equal(borrowing.mask, 0x55);
	/* A stack that cannot be read completely: only a waiting thread is used. */
	borrowing = begin();
	its_verdict = INJECT_UNKNOWN;
	thread_registers.orig_rax = UINT64_MAX;
	expect_try(&borrowing, ATTEMPT_NEXT, "judge 4712 rip 1234 waits 0 us 1000\n",
			"set 4712 rip 1234 rax -512 call -1\ndetach 4712 0\n");
	borrowing = begin();
	its_verdict = INJECT_UNKNOWN;
	thread_registers.orig_rax = SYS_futex;
	expect_try(&borrowing, ATTEMPT_NEXT, "judge 4712 rip 1234 waits 0 us 1000\n",
			"set 4712 rip 1234 rax -512 call 202\ndetach 4712 0\n");
	borrowing = begin();
	its_verdict = INJECT_UNKNOWN;
	unwritable = true;
	expect_try(&borrowing, ATTEMPT_FAILED, waiting, "write rip 1232 mask 55\ndetach 4712 0\n");
	borrowing = begin();
	unwritable = true;
	expect_try(&borrowing, ATTEMPT_FAILED, waiting, "write rip 1232 mask 55\ndetach 4712 0\n");
	borrowing = begin();
	mask = UINT64_C(1) << 32;
	expect_try(&borrowing, ATTEMPT_NEXT, waiting, let_go);
	/* An interrupted call is restarted even if the thread is not used. */
	borrowing = begin();
	its_verdict = INJECT_UNSAFE;
	thread_registers.orig_rax = SYS_msgrcv;
	thread_registers.rax = (uint64_t)-EINTR;
	expect_try(&borrowing, ATTEMPT_NEXT, waiting,
			"set 4712 rip 1234 rax -514 call 70\ndetach 4712 0\n");
	borrowing = begin();
	failing_request = PTRACE_GETREGSET;
	assert_int_equal(attach_thread_try(&borrowing), ATTEMPT_NEXT);
	assert_called("seize 4712 0\ninterrupt 4712 0\nget 4712\ndetach 4712 0\n");
	borrowing = begin();
	failing_request = PTRACE_GETSIGMASK;
	assert_int_equal(attach_thread_try(&borrowing), ATTEMPT_NEXT);
	assert_called("seize 4712 0\ninterrupt 4712 0\nget 4712\nget mask 4712\ndetach 4712 0\n");
	borrowing = begin();
	failing_request = PTRACE_SEIZE;
	failing_error = EPERM;
	assert_int_equal(attach_thread_try(&borrowing), ATTEMPT_FAILED);
	assert_called("seize 4712 0\nnot permitted 4712 1\n");
	failing_error = ESRCH;
	assert_int_equal(attach_thread_try(&borrowing), ATTEMPT_NEXT);
	assert_called("seize 4712 0\n");
	borrowing = begin();
	stops = false;
	assert_int_equal(attach_thread_try(&borrowing), ATTEMPT_FAILED);
	assert_int_equal(program_report.kind, INJECT_FAILED);
	assert_string_equal(program_report.text,
			"cannot attach to 4711 (?): its thread 4712 does not stop (it may wait for a disk that does not answer)");
	assert_called("seize 4712 0\ninterrupt 4712 0\n");
}

static void test_try_all(void **state)
{
	static const char *const one[] = {".", "..", "4712", NULL}, *const none[] = {".", NULL};
	struct inject_request request = {.pid = PROGRAM};
	struct borrowing borrowing = begin();
	char wanted[512];

	(void)state;
	entries = none;
	assert_int_equal(attach_thread_try_candidates(&borrowing, &request, true), ATTEMPT_NEXT);
	assert_called("closed\n");
	entries = one;
	borrowing.thread = 0;
	its_verdict = INJECT_UNSAFE;
	(void)snprintf(wanted, sizeof(wanted), "closed\nrehearse 4712 8888 1234\n%s%s%s", seized,
			"judge 4712 rip 1234 waits 1 us 1000\n", let_go);
	assert_int_equal(attach_thread_try_candidates(&borrowing, &request, false), ATTEMPT_NEXT);
	assert_int_equal(borrowing.thread, PROGRAM + 1);
	assert_called(wanted);
	state_text = "T (stopped)";
	assert_int_equal(attach_thread_try_candidates(&borrowing, &request, false), ATTEMPT_NEXT);
	assert_called("closed\n");
	/* The location of a running thread is unknown until it is stopped. */
	(void)begin();
	call_text = "running\n";
	failing_request = PTRACE_SEIZE;
	failing_error = EPERM;
	assert_int_equal(attach_thread_try_candidates(&borrowing, &request, false), ATTEMPT_FAILED);
	assert_called("closed\nseize 4712 0\nnot permitted 4712 1\n");
	call_text = "232 0x1 0x2 0x3 0x5 0x0 0x0 0x9 0xa\n";
	assert_int_equal(attach_thread_try_candidates(&borrowing, &request, false), ATTEMPT_NEXT);
	assert_called("closed\n");
	assert_int_equal(attach_thread_try_candidates(&borrowing, &request, true), ATTEMPT_FAILED);
	assert_called("closed\nrehearse 4712 9 a\nseize 4712 0\nnot permitted 4712 1\n");
}

/* ---- all rounds ---- */

static unsigned int count(const char *text)
{
	unsigned int nr = 0;

	for (const char *at = calls; (at = strstr(at, text)); at++)
		nr++;
	*calls = '\0';
	return nr;
}

static void test_borrow(void **state)
{
	static const char *const one[] = {"4712", NULL}, *const none[] = {NULL};
	struct inject_request request = {.pid = PROGRAM};
	struct borrowing borrowing = begin();

	(void)state;
	/* For two seconds, unless the request has another limit. */
	entries = none;
	nr_alive = 7000;
	assert_int_equal(inject_borrow(&target, &location, &request), -1);
	assert_int_equal(clock_ns - START, UINT64_C(6667) * 300000);
	assert_int_equal(program_report.kind, INJECT_FAILED);
	assert_string_equal(program_report.text,
			"cannot attach to 4711 (?): within 2000 ms no thread reached a point where it can safely load the agent");
	assert_string_equal(program_report.hint,
			"attach again, or start it with SIDE_LIB_DIR and a daemon");
	assert_int_equal(program_report.thread, 0);
	/* At least 300 rounds, but at most ten times the limit. */
	request.timeout_ms = 21;
	(void)begin();
	step_ns = 1000000;
	assert_int_equal(inject_borrow(&target, &location, &request), -1);
	assert_int_equal(clock_ns - START, 210000000);
	assert_int_equal(count("closed\njudge closed"), 1);
	(void)begin();
	step_ns = 500000;
	assert_int_equal(inject_borrow(&target, &location, &request), -1);
	assert_int_equal(clock_ns - START, 150000000);
	/* The program ends between two rounds. */
	(void)begin();
	nr_alive = 3;
	assert_int_equal(inject_borrow(&target, &location, &request), -1);
	assert_int_equal(program_report.kind, INJECT_GONE);
	assert_string_equal(program_report.text, "cannot attach to 4711 (?): it has ended");
	assert_called("closed\nclosed\nclosed\nclosed\njudge closed\n");
	/* A call that would return EINTR is interrupted only after 20 ms. */
	borrowing = begin();
	entries = one;
	call_text = "232 0x1 0x2 0x3 0x5 0x0 0x0 0x9 0xa\n";
	unwritable = true;
	step_ns = 1000000;
	assert_int_equal(inject_borrow(&target, &location, &request), -1);
	assert_int_equal(clock_ns - START, 21000000);
	assert_int_equal(program_report.thread, PROGRAM + 1);
	assert_string_equal(program_report.text,
			"cannot attach to 4711 (?): cannot create a thread in it: Input/output error (are its limits of memory or processes reached?)");
	assert_int_equal(count("judge closed"), 1);
	/* The code stays if the thread may still execute it. */
	(void)begin();
	assert_int_equal(inject_borrow(&target, &location, &request), -ETIMEDOUT);
	assert_non_null(strstr(program_report.text, "Connection timed out"));
	*calls = '\0';
	/* The new thread was created. */
	(void)begin();
	states[0] = INJECT_STATE_READY;
	thread_registers.rip = CODE + borrowing.code.spin;
	assert_int_equal(inject_borrow(&target, &location, &request), 0);
	assert_int_equal(program_report.kind, INJECT_DONE);
	assert_int_equal(program_report.thread, PROGRAM + 1);
	assert_int_equal(program_report.stops, 1);
	assert_int_equal(count("judge closed"), 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_rank),
			cmocka_unit_test(test_no_thread),
			cmocka_unit_test(test_wait_until),
			cmocka_unit_test(test_stop),
			cmocka_unit_test(test_sign),
			cmocka_unit_test(test_make),
			cmocka_unit_test(test_permitted),
			cmocka_unit_test(test_try),
			cmocka_unit_test(test_try_all),
			cmocka_unit_test(test_borrow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
