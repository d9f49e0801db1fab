/* SPDX-License-Identifier: MIT */
/*
 * Borrows a thread: stops it at a safe point, makes it create the new thread, and restores it.
 *
 * Threads are tried in the order of the cost to the program:
 *
 *       1. threads in a system call that the kernel restarts
 *       2. threads that wait on a futex of the program
 *       3. running threads; repeatedly, until one is stopped outside the C library
 *       4. threads in a call that returns EINTR after any stop (epoll_wait() with a timeout): only
 *          if no other thread was usable for EINTR_AFTER_MS
 *
 * Only PTRACE_SEIZE and PTRACE_INTERRUPT are used: no breakpoint, no signal. A stopped thread that
 * is not usable continues at once.
 */
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/parts.h"

#define THREADS_MAX 512
#define STOP_MS 5000     /* time limit for a thread to stop; until then it cannot be released */
#define JUDGE_US 1000    /* time limit for unwinding its stack */
#define CHECK_AFTER_MS 2 /* without progress of the thread */
#define BUSY_MS 10000    /* of pthread_create(), which may wait for locks of other threads */
#define EINTR_AFTER_MS 20
#define SIGNAL_IDS 33  /* glibc's SIGSETXID: setuid() waits until each thread has handled it */
#define ROUNDS_MIN 300 /* rounds over all threads before giving up */
#define ERESTARTSYS 512
#define ERESTARTNOINTR 513
#define ERESTARTNOHAND 514
#define ERESTART_RESTARTBLOCK 516

enum rank { RANK_WAITS, RANK_FUTEX, RANK_RUNS, RANK_EINTR, RANK_NONE };

struct candidate {
	pid_t thread;
	enum rank rank;
	uint64_t stack, code; /* of the system call in which it waits */
};

enum attempt { ATTEMPT_DONE, ATTEMPT_NEXT, ATTEMPT_FAILED };

struct borrowing {
	struct inject_target *target;
	struct inject_site *site;
	struct inject_code code;
	struct inject_safe *safe;
	pid_t thread;
	uint64_t stopped_at;
	struct user_regs_struct before;
	uint64_t mask;
	int code_of_failure; /* errno */
};

/* ---- choosing threads ---- */

/* True if repeating the call after EINTR does not restart a timeout. */
static bool attach_thread_waits_forever(uint64_t number, const uint64_t arguments[6])
{
	switch (number) {
	case SYS_epoll_wait:
	case SYS_epoll_pwait: return (int32_t)arguments[3] < 0;
#ifdef SYS_epoll_pwait2
	case SYS_epoll_pwait2: return !arguments[3];
#endif
	case SYS_rt_sigtimedwait: return !arguments[2];
	case SYS_semop:
	case SYS_msgrcv: return true;
	case SYS_semtimedop: return !arguments[3];
	default: return false;
	}
}

static enum rank attach_thread_get_rank(pid_t pid, struct candidate *candidate)
{
	unsigned long long arguments[8];
	char path[64], text[256] = "";
	uint64_t copy[6];
	long long number;
	FILE *file;
	size_t i;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", pid, candidate->thread);
	file = fopen(path, "re");
	if (!file)
		return RANK_NONE;
	if (!fgets(text, sizeof(text), file))
		*text = 0;
	(void)fclose(file);
	if (!strncmp(text, "running", 7))
		return RANK_RUNS;
	if (sscanf(text, "%lld %llx %llx %llx %llx %llx %llx %llx %llx", &number, &arguments[0],
			    &arguments[1], &arguments[2], &arguments[3], &arguments[4],
			    &arguments[5], &arguments[6], &arguments[7]) != 9 ||
			number < 0)
		return RANK_NONE;
	candidate->stack = arguments[6];
	candidate->code = arguments[7];
	for (i = 0; i < 6; i++)
		copy[i] = arguments[i];
	if (number == SYS_futex)
		return RANK_FUTEX;
	switch (inject_call_waits((uint64_t)number)) {
	case INJECT_WAITS: return RANK_WAITS;
	case INJECT_WAITS_BRIEFLY:
		return attach_thread_waits_forever((uint64_t)number, copy) ? RANK_WAITS
									   : RANK_EINTR;
	default: return RANK_NONE;
	}
}

static int attach_thread_compare_ranks(const void *a, const void *b)
{
	const struct candidate *left = a, *right = b;

	if (left->rank != right->rank)
		return left->rank < right->rank ? -1 : 1;
	return left->thread < right->thread ? -1 : left->thread > right->thread;
}

bool inject_no_thread_at(pid_t pid, uint64_t begin, uint64_t end)
{
	struct dirent *entry;
	bool is_unused = true;
	char path[64];
	DIR *tasks;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	if (!tasks)
		return false;
	while (is_unused) {
		struct candidate candidate = {.thread = 0};

		errno = 0;
		entry = readdir(tasks);
		if (!entry) {
			/* After an error there may be more threads. */
			is_unused = !errno;
			break;
		}
		candidate.thread = (pid_t)strtol(entry->d_name, NULL, 10);
		if (candidate.thread <= 0)
			continue;
		(void)attach_thread_get_rank(pid, &candidate);
		is_unused = candidate.code && (candidate.code < begin || candidate.code >= end);
	}
	closedir(tasks);
	return is_unused;
}

uint64_t inject_stack_of(pid_t pid)
{
	struct candidate candidate = {.thread = pid};

	(void)attach_thread_get_rank(pid, &candidate);
	return candidate.stack;
}

static size_t attach_thread_find_candidates(pid_t pid, struct candidate *candidates)
{
	struct dirent *entry;
	char path[64];
	size_t nr = 0;
	DIR *tasks;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	if (!tasks)
		return 0;
	while (nr < THREADS_MAX && (entry = readdir(tasks))) {
		pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);

		if (thread <= 0)
			continue;
		candidates[nr] = (struct candidate){.thread = thread};
		candidates[nr].rank = attach_thread_get_rank(pid, &candidates[nr]);
		if (candidates[nr].rank != RANK_NONE)
			nr++;
	}
	closedir(tasks);
	qsort(candidates, nr, sizeof(*candidates), attach_thread_compare_ranks);
	return nr;
}

/* ---- stopping ---- */

static void attach_thread_count_stop(struct borrowing *borrowing)
{
	struct inject_report *report = borrowing->target->report;
	uint64_t time = inject_now() - borrowing->stopped_at;

	report->stops++;
	report->stopped_total_ns += time;
	if (time > report->stopped_ns)
		report->stopped_ns = time;
}

static void attach_thread_detach(struct borrowing *borrowing, int signal)
{
	(void)ptrace(PTRACE_DETACH, borrowing->thread, 0, (void *)(intptr_t)signal);
	attach_thread_count_stop(borrowing);
}

/*
 * Returns the reason of a stop: the number of a signal that is being delivered, or 0; -1:
 * PTRACE_INTERRUPT; -2: a group stop.
 */
static int attach_thread_stop_reason(int status)
{
	int signal = WSTOPSIG(status);

	if (status >> 16 == PTRACE_EVENT_STOP)
		return signal == SIGTRAP ? -1 : -2;
	return status >> 16 ? -1 : signal;
}

/*
 * Wait for a stop. Returns 0 and its status, -ESRCH if the thread has ended, or -EAGAIN if nothing
 * happened until `until`.
 */
static int attach_thread_wait_until(
		const struct borrowing *borrowing, int *ret_status, uint64_t until)
{
	uint64_t spin = inject_now() + 30000;

	for (;;) {
		pid_t pid = waitpid(borrowing->thread, ret_status, __WALL | WNOHANG);

		if (pid == borrowing->thread)
			return WIFSTOPPED(*ret_status) ? 0 : -ESRCH;
		if (pid < 0 && errno != EINTR)
			return -ESRCH;
		if (inject_now() >= until)
			return -EAGAIN;
		/* The thread may need this CPU. */
		if (inject_now() < spin)
			sched_yield();
		else
			inject_pause_us(20);
	}
}

/* Stop the thread at its current point. Signals that are delivered before are passed on to it. */
static int attach_thread_stop(struct borrowing *borrowing)
{
	uint64_t until;
	int status, ret;

	if (ptrace(PTRACE_SEIZE, borrowing->thread, 0, 0))
		return -errno;
	borrowing->stopped_at = inject_now();
	until = borrowing->stopped_at + STOP_MS * UINT64_C(1000000);
	if (ptrace(PTRACE_INTERRUPT, borrowing->thread, 0, 0))
		return -errno;
	while (!(ret = attach_thread_wait_until(borrowing, &status, until))) {
		int kind = attach_thread_stop_reason(status);

		if (kind == -1)
			return 0;
		if (kind == -2) {
			attach_thread_detach(borrowing, 0);
			return -EBUSY;
		}
		(void)ptrace(PTRACE_CONT, borrowing->thread, 0, (void *)(intptr_t)kind);
	}
	return ret;
}

/* ---- registers ---- */

static bool attach_thread_get_registers(pid_t thread, struct user_regs_struct *registers)
{
	struct iovec buffer = {.iov_base = registers, .iov_len = sizeof(*registers)};

	return !ptrace(PTRACE_GETREGSET, thread, NT_PRSTATUS, &buffer) &&
			buffer.iov_len == sizeof(*registers);
}

static bool attach_thread_set_registers(pid_t thread, const struct user_regs_struct *registers)
{
	struct user_regs_struct copy = *registers;
	struct iovec buffer = {.iov_base = &copy, .iov_len = sizeof(copy)};

	return !ptrace(PTRACE_SETREGSET, thread, NT_PRSTATUS, &buffer);
}

static bool attach_thread_is_in_call(const struct user_regs_struct *registers)
{
	return (int64_t)registers->orig_rax >= 0;
}

/*
 * A call that returned EINTR only because of the stop, and that can be repeated: make the kernel
 * restart it.
 */
static void attach_thread_fix_interrupted_call(struct user_regs_struct *registers)
{
	const uint64_t arguments[6] = {registers->rdi, registers->rsi, registers->rdx,
			registers->r10, registers->r8, registers->r9};

	if (attach_thread_is_in_call(registers) && (int64_t)registers->rax == -EINTR &&
			inject_call_waits(registers->orig_rax) == INJECT_WAITS_BRIEFLY &&
			attach_thread_waits_forever(registers->orig_rax, arguments))
		registers->rax = (uint64_t)-ERESTARTNOHAND;
}

/* Fill the registers with which the thread returns by itself if the tracer is killed. */
static void attach_thread_fill_values(
		const struct borrowing *borrowing, struct inject_values *ret_values)
{
	const struct user_regs_struct *from = &borrowing->before;

	ret_values->rax = from->rax;
	ret_values->rbx = from->rbx;
	ret_values->rcx = from->rcx;
	ret_values->rdx = from->rdx;
	ret_values->rsi = from->rsi;
	ret_values->rdi = from->rdi;
	ret_values->rbp = from->rbp;
	ret_values->rsp = from->rsp;
	ret_values->r8 = from->r8;
	ret_values->r9 = from->r9;
	ret_values->r10 = from->r10;
	ret_values->r11 = from->r11;
	ret_values->r12 = from->r12;
	ret_values->r13 = from->r13;
	ret_values->r14 = from->r14;
	ret_values->r15 = from->r15;
	ret_values->rip = from->rip;
	ret_values->flags = (from->eflags & 0x800 ? 1 : 0) | (from->eflags & 0xd5) << 8;
	ret_values->mask = borrowing->mask;
	/* Block all signals except those that report a failed instruction. */
	ret_values->blocked = ~(UINT64_C(1) << (SIGSEGV - 1) | UINT64_C(1) << (SIGBUS - 1) |
			UINT64_C(1) << (SIGILL - 1) | UINT64_C(1) << (SIGFPE - 1) |
			UINT64_C(1) << (SIGTRAP - 1) | UINT64_C(1) << (SIGSYS - 1));
	ret_values->ids = UINT64_C(1) << (SIGNAL_IDS - 1);
	if (!attach_thread_is_in_call(from))
		return;
	switch (-(int64_t)from->rax) {
	case ERESTARTSYS:
	case ERESTARTNOINTR:
	case ERESTARTNOHAND:
		ret_values->rax = from->orig_rax;
		ret_values->rip -= 2;
		break;
	case ERESTART_RESTARTBLOCK:
		ret_values->rax = SYS_restart_syscall;
		ret_values->rip -= 2;
		break;
	}
}

/*
 * Restore the thread and let it continue. The registers come last: until then the thread could
 * return by itself.
 */
static void attach_thread_release(struct borrowing *borrowing, int signal)
{
	(void)ptrace(PTRACE_SETSIGMASK, borrowing->thread, sizeof(borrowing->mask),
			&borrowing->mask);
	(void)attach_thread_set_registers(borrowing->thread, &borrowing->before);
	attach_thread_detach(borrowing, signal);
}

/* ---- the borrowed thread ---- */

static uint32_t attach_thread_read_state(const struct borrowing *borrowing)
{
	uint32_t state;

	return inject_read(borrowing->target, borrowing->site->scratch, &state, sizeof(state))
			? state
			: INJECT_STATE_NONE;
}

/*
 * Wait until the thread is stopped: by PTRACE_INTERRUPT, once it is ready or makes no progress, or
 * for another reason.
 */
static int attach_thread_wait(const struct borrowing *borrowing, int *ret_status)
{
	uint64_t now = inject_now(), check_after = now + CHECK_AFTER_MS * UINT64_C(1000000);
	uint64_t until = now + BUSY_MS * UINT64_C(1000000), spin = now + 200000;
	bool asked = false;
	int ret;

	do {
		uint32_t state = attach_thread_read_state(borrowing);

		if (!asked &&
				(state == INJECT_STATE_READY ||
						(state == INJECT_STATE_NONE && now > check_after)))
			asked = !ptrace(PTRACE_INTERRUPT, borrowing->thread, 0, 0);
		ret = attach_thread_wait_until(borrowing, ret_status, asked ? until : 0);
		if (ret != -EAGAIN)
			return ret;
		if (now < spin)
			sched_yield();
		else
			inject_pause_us(20);
		now = inject_now();
	} while (now < until);
	return -ETIMEDOUT;
}

/*
 * Returns the result for a thread that returned without the tracer. If it created no thread, it has
 * unmapped the scratch memory; pthread_create() fails with EAGAIN only.
 */
static enum attempt attach_thread_result_without_tracer(struct borrowing *borrowing)
{
	int is_mapped = attach_thread_read_state(borrowing) == INJECT_STATE_READY
			? 1
			: inject_is_mapped(borrowing->target->pid, borrowing->site->scratch);

	if (is_mapped > 0)
		return ATTEMPT_DONE;
	borrowing->code_of_failure = is_mapped ? ETIMEDOUT : EAGAIN;
	return ATTEMPT_FAILED;
}

/*
 * True if the thread runs on the scratch memory: in the code of code.c, or in a function that it
 * calls.
 */
static bool attach_thread_is_on_scratch(
		const struct borrowing *borrowing, const struct user_regs_struct *now)
{
	return now->rsp - borrowing->site->scratch <= INJECT_SCRATCH_SIZE;
}

/*
 * Handle a stop. Returns the attempt's result if the thread is released; ATTEMPT_NEXT: no thread
 * was created, try another one. Returns -1 if the thread must continue.
 */
static int attach_thread_check_stop(struct borrowing *borrowing, int kind)
{
	const struct inject_code *code = &borrowing->code;
	const int signal = kind > 0 ? kind : 0;
	struct user_regs_struct now;
	enum attempt result;
	uint64_t at;

	if (!attach_thread_get_registers(borrowing->thread, &now))
		return ATTEMPT_FAILED;
	at = now.rip - borrowing->site->code;
	if (at < code->size && at <= code->masked && kind > 0) {
		/* A signal arrived before it was blocked: undo everything. */
		attach_thread_release(borrowing, signal);
		return ATTEMPT_NEXT;
	}
	if (at < code->size && at >= code->spin && at < code->refused) {
		/*
		 * A thread that returns by itself unblocks its signals. A signal that arrived
		 * meanwhile stops the thread here.
		 */
		result = attach_thread_result_without_tracer(borrowing);
		attach_thread_release(borrowing, signal);
		return result;
	}
	if (at < code->size && at >= code->failed && at < code->thread) {
		borrowing->code_of_failure = (int)now.r14;
		attach_thread_release(borrowing, signal);
		return ATTEMPT_FAILED;
	}
	if (at >= code->size && !attach_thread_is_on_scratch(borrowing, &now)) {
		/* It has returned by itself: the registers and the signal belong to the program. */
		result = attach_thread_result_without_tracer(borrowing);
		attach_thread_detach(borrowing, signal);
		return result;
	}
	if (kind > 0 && (kind != SIGNAL_IDS || !attach_thread_is_on_scratch(borrowing, &now))) {
		/* An instruction of the code, or of a function that it called, has failed. */
		borrowing->code_of_failure = EFAULT;
		attach_thread_release(borrowing, 0);
		return ATTEMPT_FAILED;
	}
	return -1;
}

static enum attempt attach_thread_make_thread(struct borrowing *borrowing)
{
	struct user_regs_struct registers = borrowing->before;
	int status, ret, signal = 0;

	attach_thread_fill_values(borrowing, &borrowing->site->values);
	if (!inject_write(borrowing->target, borrowing->site->code, &borrowing->site->values,
			    sizeof(borrowing->site->values))) {
		borrowing->code_of_failure = errno;
		attach_thread_detach(borrowing, 0);
		return ATTEMPT_FAILED;
	}
	registers.rip = borrowing->site->code + borrowing->code.entry;
	registers.orig_rax = UINT64_MAX;
	if (!attach_thread_set_registers(borrowing->thread, &registers)) {
		attach_thread_detach(borrowing, 0);
		return ATTEMPT_NEXT;
	}
	do {
		(void)ptrace(PTRACE_CONT, borrowing->thread, 0, (void *)(intptr_t)signal);
		signal = 0;
		ret = attach_thread_wait(borrowing, &status);
		if (!ret) {
			ret = attach_thread_check_stop(
					borrowing, attach_thread_stop_reason(status));
			signal = attach_thread_stop_reason(status) == SIGNAL_IDS ? SIGNAL_IDS : 0;
		}
	} while (ret == -1);
	if (ret >= 0)
		return (enum attempt)ret;
	borrowing->code_of_failure = -ret;
	return ATTEMPT_FAILED;
}

/* ---- trying the threads ---- */

static bool attach_thread_may_be_stopped(
		const struct borrowing *borrowing, const struct inject_request *request)
{
	char text[64];

	if (!inject_status(borrowing->target->pid, borrowing->thread, "State", text,
			    sizeof(text)) ||
			(*text != 'S' && *text != 'R'))
		return false;
	/* Older kernels do not have this field. */
	if (!inject_status(borrowing->target->pid, borrowing->thread, "Seccomp", text,
			    sizeof(text)))
		return errno == ENODATA;
	return *text == '0' || (*text == '2' && request->in_sandbox);
}

/*
 * True if the thread is in the handler of SIGNAL_IDS, for which setuid() in another thread waits,
 * or if the C library blocks all signals for a moment.
 */
static bool attach_thread_blocks_ids(const struct borrowing *borrowing)
{
	return borrowing->mask & UINT64_C(1) << (SIGNAL_IDS - 1);
}

static enum attempt attach_thread_try(struct borrowing *borrowing)
{
	enum inject_verdict verdict;
	bool waits;
	int ret = attach_thread_stop(borrowing);

	if (ret == -EAGAIN) {
		char name[64];

		(void)inject_fail(borrowing->target, INJECT_FAILED,
				"cannot attach to %d (%s): its thread %d does not stop (it may wait for a disk that does not answer)",
				borrowing->target->pid,
				inject_name(borrowing->target->pid, name, sizeof(name)),
				borrowing->thread);
		return ATTEMPT_FAILED;
	}
	if (ret == -EPERM) {
		(void)inject_not_permitted(borrowing->target, borrowing->thread, EPERM);
		return ATTEMPT_FAILED;
	}
	if (ret)
		return ATTEMPT_NEXT;
	if (!attach_thread_get_registers(borrowing->thread, &borrowing->before) ||
			ptrace(PTRACE_GETSIGMASK, borrowing->thread, sizeof(borrowing->mask),
					&borrowing->mask)) {
		attach_thread_detach(borrowing, 0);
		return ATTEMPT_NEXT;
	}
	waits = attach_thread_is_in_call(&borrowing->before) &&
			inject_call_waits(borrowing->before.orig_rax) != INJECT_WAITS_NOT;
	verdict = inject_safe_judge(borrowing->safe, borrowing->thread, &borrowing->before, waits,
			borrowing->stopped_at + JUDGE_US * UINT64_C(1000));
	attach_thread_fix_interrupted_call(&borrowing->before);
	if (verdict == INJECT_UNSAFE || (verdict == INJECT_UNKNOWN && !waits) ||
			attach_thread_blocks_ids(borrowing)) {
		(void)attach_thread_set_registers(borrowing->thread, &borrowing->before);
		attach_thread_detach(borrowing, 0);
		return ATTEMPT_NEXT;
	}
	return attach_thread_make_thread(borrowing);
}

static enum attempt attach_thread_try_candidates(
		struct borrowing *borrowing, const struct inject_request *request, bool also_eintr)
{
	static struct candidate candidates[THREADS_MAX];
	size_t nr = attach_thread_find_candidates(borrowing->target->pid, candidates), i;

	for (i = 0; i < nr; i++) {
		enum attempt attempt;

		if (candidates[i].rank == RANK_EINTR && !also_eintr)
			continue;
		borrowing->thread = candidates[i].thread;
		if (!attach_thread_may_be_stopped(borrowing, request))
			continue;
		if (candidates[i].code)
			inject_safe_rehearse(borrowing->safe, candidates[i].thread,
					candidates[i].stack, candidates[i].code);
		attempt = attach_thread_try(borrowing);
		if (attempt != ATTEMPT_NEXT)
			return attempt;
	}
	return ATTEMPT_NEXT;
}

static int attach_thread_report_failure(const struct borrowing *borrowing)
{
	struct inject_target *target = borrowing->target;
	char name[64];

	/* The report may already have an error. */
	if (*target->report->text)
		return -1;
	(void)inject_fail(target, INJECT_FAILED,
			"cannot attach to %d (%s): cannot create a thread in it: %s (are its limits of memory or processes reached?)",
			target->pid, inject_name(target->pid, name, sizeof(name)),
			strerror(borrowing->code_of_failure));
	return borrowing->code_of_failure == ETIMEDOUT ? -ETIMEDOUT : -1;
}

int inject_borrow(struct inject_target *target, struct inject_site *site,
		const struct inject_request *request)
{
	struct borrowing borrowing = {
			.target = target,
			.site = site,
			.code = inject_code_get(),
			.safe = inject_safe_open(target),
	};
	uint64_t began = inject_now();
	uint64_t eintr = began + EINTR_AFTER_MS * UINT64_C(1000000);
	uint64_t until = began +
			(request->timeout_ms ? request->timeout_ms : INJECT_TIMEOUT_MS) *
					UINT64_C(1000000);
	/* A longer limit for a machine so busy that hardly a thread could be tried. */
	uint64_t at_last = began + (until - began) * 10;
	unsigned int rounds = 0;
	enum attempt attempt = ATTEMPT_FAILED;
	char name[64];

	inject_name(target->pid, name, sizeof(name));
	if (!borrowing.safe)
		return -1;
	do {
		attempt = attach_thread_try_candidates(&borrowing, request, inject_now() > eintr);
		if (attempt == ATTEMPT_NEXT)
			inject_pause_us(300);
		rounds++;
	} while (attempt == ATTEMPT_NEXT && !kill(target->pid, 0) &&
			(inject_now() < until || (rounds < ROUNDS_MIN && inject_now() < at_last)));
	inject_safe_close(borrowing.safe);
	target->report->thread = borrowing.thread;
	if (attempt == ATTEMPT_DONE)
		return 0;
	if (attempt == ATTEMPT_FAILED)
		return attach_thread_report_failure(&borrowing);
	if (kill(target->pid, 0))
		return inject_fail(target, INJECT_GONE, "cannot attach to %d (%s): it has ended",
				target->pid, name);
	inject_fail(target, INJECT_FAILED,
			"cannot attach to %d (%s): within %u ms no thread reached a point where it can safely load the agent",
			target->pid, name, (unsigned int)((inject_now() - began) / 1000000));
	return inject_hint(target, "attach again, or start it with SIDE_LIB_DIR and a daemon");
}
