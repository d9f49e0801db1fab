/* SPDX-License-Identifier: MIT */
/*
 * The steps of an attach, one by one: which thread is borrowed, what its registers become, and the
 * calls of the new thread. The test includes the files, so that it can call their static functions.
 * This process is also the attached program: while an attach waits, the test makes the calls of the
 * new thread. The clock advances only while an attach waits.
 */
#include "attach/inject.c"
#include "attach/thread.c"

#include <elfutils/libdwfl.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "../resources.h"

#include "../check.h"

/* frozen: the time, which does not advance on its own; 0: it advances */
static uint64_t skew, frozen;
static bool sleeps;
static void (*while_waiting)(void);
static unsigned int nr_pauses;

uint64_t __real_inject_now(void);
uint64_t __wrap_inject_now(void);
void __wrap_inject_pause_us(long us);
void __real_inject_pause_us(long us);

uint64_t __wrap_inject_now(void)
{
	return (frozen ? frozen : __real_inject_now()) + skew;
}

void __wrap_inject_pause_us(long us)
{
	nr_pauses++;
	if (sleeps) {
		__real_inject_pause_us(us);
		return;
	}
	skew += (uint64_t)us * 1000;
	if (while_waiting)
		while_waiting();
}

/* Each call of this function fails; NULL: none. */
static const char *failing_function;

DIR *__real_opendir(const char *path);
DIR *__wrap_opendir(const char *path);
struct dirent *__real_readdir64(DIR *directory);
struct dirent *__wrap_readdir64(DIR *directory);
int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);

static bool fails(const char *function, int error)
{
	if (!failing_function || strcmp(failing_function, function) != 0)
		return false;
	errno = error;
	return true;
}

DIR *__wrap_opendir(const char *path)
{
	return fails("opendir", EMFILE) ? NULL : __real_opendir(path);
}

struct dirent *__wrap_readdir64(DIR *directory)
{
	return fails("readdir", EIO) ? NULL : __real_readdir64(directory);
}

int __wrap_open64(const char *path, int flags, ...)
{
	va_list arguments;
	mode_t mode;

	va_start(arguments, flags);
	mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
	va_end(arguments);
	return fails("open", EMFILE) ? -1 : __real_open64(path, flags, mode);
}

static struct inject_report report;

static bool is_failure(int ret, enum inject_kind kind, const char *text)
{
	char wanted[INJECT_TEXT_MAX], name[64];

	(void)snprintf(wanted, sizeof(wanted), "cannot attach to %d (%s): %s", getpid(),
			inject_name(getpid(), name, sizeof(name)), text);
	if (ret == -1 && report.kind == kind && !strcmp(report.text, wanted))
		return true;
	fprintf(stderr, "%d, %d: %s\n", ret, (int)report.kind, report.text);
	return false;
}

/* ---- candidates ---- */

static void test_endless(void)
{
	static const struct {
		uint64_t number, arguments[6];
		bool endless;
	} cases[] = {{SYS_epoll_wait, {1, 1, 1, UINT64_MAX}, true},
			{SYS_epoll_wait, {1, 1, 1, 0xffffffff}, true},
			{SYS_epoll_wait, {1, 1, 1, 0}, false},
			{SYS_epoll_pwait, {1, 1, 1, UINT64_MAX}, true},
			{SYS_epoll_pwait, {1, 1, 1, 5}, false},
			{SYS_epoll_pwait2, {1, 1, 1, 0, 1}, true},
			{SYS_epoll_pwait2, {0, 0, 0, 1}, false},
			{SYS_rt_sigtimedwait, {1, 1, 0, 1}, true},
			{SYS_rt_sigtimedwait, {0, 0, 1}, false}, {SYS_semop, {1, 1, 1, 1}, true},
			{SYS_msgrcv, {1, 1, 1, 1}, true}, {SYS_semtimedop, {1, 1, 1, 0}, true},
			{SYS_semtimedop, {0, 0, 0, 1}, false}, {SYS_read, {0}, false}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		CHECK(attach_thread_waits_forever(cases[i].number, cases[i].arguments) ==
				cases[i].endless);
}

struct waiter {
	pthread_t thread;
	pid_t id;
	enum rank rank;
	int fd, lock;
	uint32_t word;
	uint64_t stack;
	bool stop;
};

static void *wait_somehow(void *user)
{
	struct waiter *waiter = user;
	struct epoll_event event;
	struct flock lock = {.l_type = F_WRLCK};
	char byte;

	waiter->stack = (uint64_t)(uintptr_t)&byte;
	__atomic_store_n(&waiter->id, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	switch (waiter->fd) {
	case 0: (void)!read(waiter->lock, &byte, 1); break;
	case 1: syscall(SYS_futex, &waiter->word, 0, 0, NULL, NULL, 0); break;
	case 2:
		while (!__atomic_load_n(&waiter->stop, __ATOMIC_RELAXED))
			;
		break;
	case 3: epoll_wait(waiter->lock, &event, 1, 600000); break;
	case 4: epoll_wait(waiter->lock, &event, 1, -1); break;
	default: fcntl(waiter->lock, F_OFD_SETLKW, &lock); break;
	}
	return NULL;
}

/* Waits until the kernel reports that the thread waits. */
static bool has_rank(struct waiter *waiter)
{
	for (int i = 0; i < 20000; i++) {
		struct candidate candidate = {.thread = waiter->id};

		if (attach_thread_get_rank(getpid(), &candidate) == waiter->rank &&
				(waiter->rank == RANK_RUNS || waiter->rank == RANK_NONE ||
						(candidate.code && candidate.stack &&
								candidate.stack <=
										waiter->stack + 4096 &&
								waiter->stack - candidate.stack <
										65536)))
			return true;
		usleep(500);
	}
	return false;
}

static bool find_waiter(const struct candidate *found, size_t nr, const struct waiter *waiter)
{
	for (size_t i = 0; i < nr; i++) {
		if (found[i].thread == waiter->id)
			return found[i].rank == waiter->rank;
	}
	return waiter->rank == RANK_NONE;
}

static void test_ranks(void)
{
	static const enum rank ranks[] = {
			RANK_WAITS, RANK_FUTEX, RANK_RUNS, RANK_EINTR, RANK_WAITS, RANK_NONE};
	static struct candidate found[THREADS_MAX];
	struct candidate gone = {.thread = INT32_MAX};
	struct waiter waiters[6];
	struct flock lock = {.l_type = F_WRLCK};
	char path[] = "/tmp/side-inject-XXXXXX";
	int ends[2], poll = epoll_create1(0), file = mkstemp(path), other;
	size_t nr;

	CHECK(!pipe(ends) && poll >= 0 && file >= 0 && !fcntl(file, F_OFD_SETLKW, &lock));
	other = open(path, O_RDWR);
	CHECK(!epoll_ctl(poll, EPOLL_CTL_ADD, ends[0], &(struct epoll_event){.events = EPOLLIN}));
	CHECK(attach_thread_get_rank(getpid(), &gone) == RANK_NONE);
	for (int i = 0; i < 6; i++) {
		waiters[i] = (struct waiter){.fd = i,
				.rank = ranks[i],
				.lock = i == 0           ? ends[0]
						: i == 5 ? other
							 : poll};
		CHECK(!pthread_create(&waiters[i].thread, NULL, wait_somehow, &waiters[i]));
		while (!__atomic_load_n(&waiters[i].id, __ATOMIC_ACQUIRE))
			usleep(100);
		CHECK(has_rank(&waiters[i]));
	}
	nr = attach_thread_find_candidates(getpid(), found);
	CHECK(nr >= 5 && nr < 10);
	for (int i = 0; i < 6; i++)
		CHECK(find_waiter(found, nr, &waiters[i]));
	for (size_t i = 1; i < nr; i++)
		CHECK(found[i - 1].rank < found[i].rank ||
				(found[i - 1].rank == found[i].rank &&
						found[i - 1].thread < found[i].thread));
	CHECK(!attach_thread_find_candidates(INT32_MAX, found));
	/* A thread that runs has no known location. */
	CHECK(!inject_no_thread_at(getpid(), 1, 2) && !inject_no_thread_at(INT32_MAX, 1, 2));
	waiters[2].stop = true;
	fcntl(file, F_OFD_SETLK, &(struct flock){.l_type = F_UNLCK});
	syscall(SYS_futex, &waiters[1].word, 1, 1, NULL, NULL, 0);
	CHECK(write(ends[1], "12", 2) == 2);
	for (int i = 5; i >= 0; i--)
		pthread_join(waiters[i].thread, NULL);
	close(ends[0]);
	close(ends[1]);
	close(poll);
	close(file);
	close(other);
	unlink(path);
}

/* The thread of this test is in the call that reads its location. */
static void test_no_thread_there(void)
{
	struct candidate self = {.thread = getpid()};

	CHECK(attach_thread_get_rank(getpid(), &self) == RANK_WAITS && self.code);
	CHECK(!inject_no_thread_at(getpid(), self.code, self.code + 1) &&
			inject_no_thread_at(getpid(), self.code + 1, self.code + 9) &&
			inject_no_thread_at(getpid(), self.code - 9, self.code));
}

static void test_order(void)
{
	struct candidate one = {.rank = RANK_FUTEX, .thread = 5}, other = one;

	CHECK(attach_thread_compare_ranks(&one, &other) == 0);
	other.thread = 6;
	CHECK(attach_thread_compare_ranks(&one, &other) == -1 &&
			attach_thread_compare_ranks(&other, &one) == 1);
	one.rank = RANK_RUNS;
	CHECK(attach_thread_compare_ranks(&one, &other) == 1 &&
			attach_thread_compare_ranks(&other, &one) == -1);
}

static void *wait_for_end(void *user)
{
	(void)!read(*(int *)user, &(char){0}, 1);
	return NULL;
}

/* Returns the system call in which the program waits; -1: none. */
static long call_of(pid_t pid)
{
	char path[64];
	long number = -1;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/syscall", pid);
	file = fopen(path, "re");
	CHECK(file);
	if (fscanf(file, "%ld", &number) != 1)
		number = -1;
	(void)fclose(file);
	return number;
}

static pid_t start(void)
{
	int ends[2];
	pid_t child;

	CHECK(!pipe(ends));
	child = fork();
	if (!child) {
		(void)!write(ends[1], "", 1);
		for (;;)
			pause();
	}
	CHECK(child > 0 && read(ends[0], &(char){0}, 1) == 1);
	while (call_of(child) != SYS_pause)
		usleep(100);
	close(ends[0]);
	close(ends[1]);
	return child;
}

static void end(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* A program with the greatest number of threads that are tried, and one with one more. */
static void test_many_threads(void)
{
	static struct candidate found[THREADS_MAX + 1];
	pthread_attr_t attributes;
	pthread_t *threads = calloc(THREADS_MAX, sizeof(*threads));
	int ends[2];

	CHECK(threads && !pipe(ends) && !pthread_attr_init(&attributes) &&
			!pthread_attr_setstacksize(&attributes, 65536));
	for (int i = 0; i < THREADS_MAX; i++)
		CHECK(!pthread_create(&threads[i], &attributes, wait_for_end, &ends[0]));
	CHECK(attach_thread_find_candidates(getpid(), found) == THREADS_MAX &&
			!found[THREADS_MAX].thread);
	close(ends[1]);
	for (int i = 0; i < THREADS_MAX; i++)
		pthread_join(threads[i], NULL);
	CHECK(attach_thread_find_candidates(getpid(), found) < THREADS_MAX);
	close(ends[0]);
	free(threads);
	pthread_attr_destroy(&attributes);
}

/* ---- registers ---- */

static void test_registers(void)
{
	struct borrowing borrowing = {.mask = 0x1234};
	struct user_regs_struct *before = &borrowing.before;
	struct inject_values values = {.scratch = 77, .ids = 1};
	static const struct {
		uint64_t rax, orig, wanted_rax, moved;
	} calls[] = {{(uint64_t)-512, 7, 7, 2}, {(uint64_t)-513, 8, 8, 2},
			{(uint64_t)-514, 9, 9, 2}, {(uint64_t)-516, 35, 219, 2},
			{(uint64_t)-515, 5, (uint64_t)-515, 0},
			{(uint64_t)-511, 5, (uint64_t)-511, 0},
			{(uint64_t)-512, UINT64_MAX, (uint64_t)-512, 0}, {512, 7, 512, 0}};

	*before = (struct user_regs_struct){.rax = 1,
			.rbx = 2,
			.rcx = 3,
			.rdx = 4,
			.rsi = 5,
			.rdi = 6,
			.rbp = 7,
			.rsp = 8,
			.r8 = 9,
			.r9 = 10,
			.r10 = 11,
			.r11 = 12,
			.r12 = 13,
			.r13 = 14,
			.r14 = 15,
			.r15 = 16,
			.rip = 17,
			.eflags = 0xfffff,
			.orig_rax = UINT64_MAX};
	attach_thread_fill_values(&borrowing, &values);
	CHECK(values.rax == 1 && values.rbx == 2 && values.rcx == 3 && values.rdx == 4 &&
			values.rsi == 5 && values.rdi == 6 && values.rbp == 7 && values.rsp == 8);
	CHECK(values.r8 == 9 && values.r9 == 10 && values.r10 == 11 && values.r11 == 12 &&
			values.r12 == 13 && values.r13 == 14 && values.r14 == 15 &&
			values.r15 == 16 && values.rip == 17);
	CHECK(values.flags == 0xd501 && values.mask == 0x1234 && values.scratch == 77);
	/*
	 * All signals are blocked except for SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV and SIGSYS.
	 */
	CHECK(values.blocked ==
					~(UINT64_C(1) << 3 | 1u << 4 | 1u << 6 | 1u << 7 |
							1u << 10 | 1u << 30) &&
			values.ids == UINT64_C(1) << 32);
	before->eflags = 0x247;
	attach_thread_fill_values(&borrowing, &values);
	CHECK(values.flags == 0x4500);
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		before->rip = 0x1000;
		before->rax = calls[i].rax;
		before->orig_rax = calls[i].orig;
		attach_thread_fill_values(&borrowing, &values);
		CHECK(values.rax == calls[i].wanted_rax && values.rip == 0x1000 - calls[i].moved);
	}
	CHECK(!attach_thread_blocks_ids(&borrowing));
	borrowing.mask = ~(UINT64_C(1) << 32);
	CHECK(!attach_thread_blocks_ids(&borrowing));
	borrowing.mask = UINT64_C(1) << 32;
	CHECK(attach_thread_blocks_ids(&borrowing));
}

static void test_interrupted(void)
{
	struct user_regs_struct call = {.orig_rax = SYS_epoll_wait,
						.rax = (uint64_t)-EINTR,
						.r10 = UINT64_MAX},
				now;

	now = call;
	attach_thread_fix_interrupted_call(&now);
	CHECK(now.rax == (uint64_t)-514);
	now = call;
	now.r10 = 5; /* milliseconds */
	attach_thread_fix_interrupted_call(&now);
	CHECK(now.rax == (uint64_t)-EINTR);
	now = call;
	now.rax = (uint64_t)-EAGAIN;
	attach_thread_fix_interrupted_call(&now);
	CHECK(now.rax == (uint64_t)-EAGAIN);
	now = call;
	now.orig_rax = SYS_read;
	attach_thread_fix_interrupted_call(&now);
	CHECK(now.rax == (uint64_t)-EINTR);
	now.orig_rax = UINT64_MAX;
	CHECK(!attach_thread_is_in_call(&now));
	attach_thread_fix_interrupted_call(&now);
	CHECK(now.rax == (uint64_t)-EINTR);
	now.orig_rax = 0;
	CHECK(attach_thread_is_in_call(&now));
	now = (struct user_regs_struct){
			.orig_rax = SYS_rt_sigtimedwait, .rax = (uint64_t)-EINTR, .rdx = 1};
	attach_thread_fix_interrupted_call(&now);
	CHECK(now.rax == (uint64_t)-EINTR);
	now.rdx = 0;
	attach_thread_fix_interrupted_call(&now);
	CHECK(now.rax == (uint64_t)-514);
	now = (struct user_regs_struct){.orig_rax = SYS_epoll_pwait2,
			.rax = (uint64_t)-EINTR,
			.r10 = 0,
			.rdi = 1,
			.rsi = 1,
			.rdx = 1,
			.r8 = 1,
			.r9 = 1};
	attach_thread_fix_interrupted_call(&now);
	CHECK(now.rax == (uint64_t)-514);
}

static void test_stop_kinds(void)
{
	CHECK(attach_thread_stop_reason(PTRACE_EVENT_STOP << 16 | SIGTRAP << 8 | 0x7f) == -1);
	CHECK(attach_thread_stop_reason(PTRACE_EVENT_STOP << 16 | SIGSTOP << 8 | 0x7f) == -2);
	CHECK(attach_thread_stop_reason(PTRACE_EVENT_EXEC << 16 | SIGTRAP << 8 | 0x7f) == -1);
	CHECK(attach_thread_stop_reason(SIGTRAP << 8 | 0x7f) == SIGTRAP);
	CHECK(attach_thread_stop_reason(SIGUSR1 << 8 | 0x7f) == SIGUSR1);
}

static void test_stops(void)
{
	struct inject_target target = {.report = &report};
	struct borrowing borrowing = {.target = &target};

	report = (struct inject_report){
			.stops = 4, .stopped_ns = 3000000000, .stopped_total_ns = 7};
	borrowing.stopped_at = inject_now() - 2000000000;
	attach_thread_count_stop(&borrowing);
	CHECK(report.stops == 5 && report.stopped_ns == 3000000000 &&
			report.stopped_total_ns >= 2000000007 &&
			report.stopped_total_ns < 2900000000);
	borrowing.stopped_at = inject_now() - 4000000000;
	attach_thread_count_stop(&borrowing);
	CHECK(report.stops == 6 && report.stopped_ns >= 4000000000 &&
			report.stopped_ns < 4900000000);
}

/* ---- a stopped program ---- */

static void test_stopping(void)
{
	struct inject_target target = {.report = &report, .pid = start()};
	struct borrowing borrowing = {.target = &target, .thread = target.pid};
	int status;

	CHECK(attach_thread_stop(&borrowing) == 0);
	CHECK(inject_status(target.pid, 0, "State", report.text, 32) && *report.text == 't');
	report = (struct inject_report){.stops = 0};
	attach_thread_detach(&borrowing, 0);
	CHECK(report.stops == 1);
	/* A pending signal is delivered. */
	CHECK(!ptrace(PTRACE_SEIZE, target.pid, 0, 0));
	CHECK(attach_thread_wait_until(&borrowing, &status, inject_now() + 1000000) == -EAGAIN);
	CHECK(!ptrace(PTRACE_INTERRUPT, target.pid, 0, 0));
	CHECK(attach_thread_wait_until(&borrowing, &status, UINT64_MAX) == 0 &&
			attach_thread_stop_reason(status) == -1);
	CHECK(attach_thread_stop(&borrowing) == -EPERM);
	attach_thread_detach(&borrowing, 0);
	kill(target.pid, SIGKILL);
	CHECK(waitpid(target.pid, &status, 0) == target.pid && WTERMSIG(status) == SIGKILL);
	CHECK(attach_thread_stop(&borrowing) == -ESRCH);
	CHECK(attach_thread_wait_until(&borrowing, &status, UINT64_MAX) == -ESRCH);
	/* A stopped program remains stopped. */
	target.pid = borrowing.thread = start();
	CHECK(!kill(target.pid, SIGSTOP) && waitpid(target.pid, &status, WUNTRACED) == target.pid);
	CHECK(attach_thread_stop(&borrowing) == -EBUSY);
	for (int i = 0; i < 10000 && *report.text != 'T'; i++) {
		CHECK(inject_status(target.pid, 0, "State", report.text, 32));
		usleep(500);
	}
	CHECK(*report.text == 'T');
	end(target.pid);
	/* A program that ends. */
	target.pid = borrowing.thread = start();
	CHECK(!ptrace(PTRACE_SEIZE, target.pid, 0, 0) && !kill(target.pid, SIGKILL));
	CHECK(attach_thread_wait_until(&borrowing, &status, UINT64_MAX) == -ESRCH);
}

#define NOT_MAPPED UINT64_C(0x700000100000)
#define STATE_UNREADABLE 3

static uint32_t scratch_state;

/*
 * Sets the instruction at which the program is stopped, the kind of the stop, and the state in its
 * memory. INJECT_STATE_NONE: the memory is not mapped. Only in the state BUSY the memory is the
 * stack.
 */
static int next_check(struct borrowing *borrowing, uint64_t at, int kind, uint32_t state)
{
	struct user_regs_struct registers;
	char path[64];
	int ret, status;

	borrowing->target->pid = borrowing->thread = start();
	(void)snprintf(path, sizeof(path), "/proc/%d/mem", borrowing->thread);
	borrowing->target->memory = open(path, O_RDWR | O_CLOEXEC);
	CHECK(attach_thread_stop(borrowing) == 0);
	/* The stop before a signal is delivered. */
	if (kind > 0)
		CHECK(!kill(borrowing->thread, kind) &&
				!ptrace(PTRACE_CONT, borrowing->thread, 0, 0) &&
				waitpid(borrowing->thread, &status, __WALL) == borrowing->thread &&
				attach_thread_stop_reason(status) == kind);
	CHECK(attach_thread_get_registers(borrowing->thread, &borrowing->before));
	borrowing->site->scratch = state ? (uint64_t)(uintptr_t)&scratch_state : NOT_MAPPED;
	if (state)
		CHECK(inject_write(borrowing->target, borrowing->site->scratch, &state,
				sizeof(state)));
	if (state == STATE_UNREADABLE) {
		close(borrowing->target->memory);
		borrowing->target->memory = -1;
	}
	registers = borrowing->before;
	if (state == INJECT_STATE_BUSY)
		registers.rsp = borrowing->site->scratch + 4096;
	registers.rip = borrowing->site->code + at;
	registers.r14 = 4711;
	registers.orig_rax = UINT64_MAX;
	CHECK(attach_thread_set_registers(borrowing->thread, &registers));
	report.stops = 0;
	ret = attach_thread_check_stop(borrowing, kind);
	/* The thread was released with its original registers, or is still stopped. */
	if (ret == -1) {
		CHECK(!report.stops && attach_thread_get_registers(borrowing->thread, &registers) &&
				registers.rip == borrowing->site->code + at);
	} else {
		CHECK(report.stops == 1);
		if (kind > 0 && (ret != ATTEMPT_FAILED || state != INJECT_STATE_BUSY)) {
			CHECK(waitpid(borrowing->thread, &status, 0) == borrowing->thread &&
					WTERMSIG(status) == kind);
		} else if (at < borrowing->code.size) {
			/*
			 * It waits again. After the code it has its own registers, and ends there.
			 */
			CHECK(attach_thread_stop(borrowing) == 0 &&
					attach_thread_get_registers(
							borrowing->thread, &registers) &&
					registers.rsp == borrowing->before.rsp);
			CHECK(registers.rip - borrowing->site->code >= borrowing->code.size);
		}
	}
	end(borrowing->thread);
	if (borrowing->target->memory >= 0)
		close(borrowing->target->memory);
	return ret;
}

static void test_checks(void)
{
	struct inject_target target = {.report = &report};
	struct inject_site location = {.code = 0x700000000000};
	struct borrowing borrowing = {.target = &target,
			.site = &location,
			.code = inject_code_get(),
			.code_of_failure = 5};
	const struct inject_code *code = &borrowing.code;
	struct user_regs_struct registers = {0};

	CHECK(code->entry < code->masked && code->masked < code->spin &&
			code->spin < code->refused && code->refused < code->failed &&
			code->failed < code->thread && code->thread < code->name &&
			code->name + 16 == code->size);
	/* A signal before the signals are blocked is delivered as usual. */
	CHECK(next_check(&borrowing, code->entry, SIGUSR1, 0) == ATTEMPT_NEXT);
	CHECK(next_check(&borrowing, code->masked, SIGUSR1, 0) == ATTEMPT_NEXT);
	CHECK(next_check(&borrowing, code->masked, -1, 0) == -1 && borrowing.code_of_failure == 5);
	CHECK(next_check(&borrowing, code->masked + 1, SIGUSR1, 1) == ATTEMPT_FAILED &&
			borrowing.code_of_failure == EFAULT);
	CHECK(next_check(&borrowing, code->spin - 1, -1, 1) == -1);
	CHECK(next_check(&borrowing, code->spin, -1, 2) == ATTEMPT_DONE);
	CHECK(next_check(&borrowing, code->refused - 1, -1, 2) == ATTEMPT_DONE);
	/*
	 * The thread returns by itself and gets a signal of the program, with and without a new
	 * thread.
	 */
	CHECK(next_check(&borrowing, code->refused - 1, SIGUSR1, 2) == ATTEMPT_DONE);
	CHECK(next_check(&borrowing, code->refused - 1, SIGUSR1, 0) == ATTEMPT_FAILED &&
			borrowing.code_of_failure == EAGAIN);
	CHECK(next_check(&borrowing, code->spin, -1, 0) == ATTEMPT_FAILED);
	CHECK(next_check(&borrowing, code->refused, -1, 1) == -1);
	CHECK(next_check(&borrowing, code->failed - 1, -1, 1) == -1);
	CHECK(next_check(&borrowing, code->failed, -1, 1) == ATTEMPT_FAILED &&
			borrowing.code_of_failure == 4711);
	CHECK(next_check(&borrowing, code->thread - 1, -1, 1) == ATTEMPT_FAILED);
	CHECK(next_check(&borrowing, code->thread, -1, 1) == -1);
	CHECK(next_check(&borrowing, code->size - 1, -1, 2) == -1);
	/*
	 * In a function that the code calls. The thread handles the signal by which the C library
	 * changes the ids there.
	 */
	CHECK(next_check(&borrowing, code->size, -1, 1) == -1);
	CHECK(next_check(&borrowing, code->size, SIGNAL_IDS, 1) == -1);
	CHECK(next_check(&borrowing, code->size, SIGUSR1, 1) == ATTEMPT_FAILED &&
			borrowing.code_of_failure == EFAULT);
	CHECK(next_check(&borrowing, code->size, -1, 2) == ATTEMPT_DONE);
	CHECK(next_check(&borrowing, UINT64_MAX, SIGUSR1, 2) == ATTEMPT_DONE);
	/* It returned without a new thread. */
	borrowing.code_of_failure = 0;
	CHECK(next_check(&borrowing, code->size, -1, 0) == ATTEMPT_FAILED &&
			borrowing.code_of_failure == EAGAIN);
	CHECK(next_check(&borrowing, UINT64_MAX, SIGUSR1, 0) == ATTEMPT_FAILED);
	/* Its memory is mapped, but cannot be read. */
	CHECK(next_check(&borrowing, code->spin, -1, STATE_UNREADABLE) == ATTEMPT_DONE);
	CHECK(next_check(&borrowing, code->size, -1, STATE_UNREADABLE) == ATTEMPT_DONE);
	target.pid = INT32_MAX;
	CHECK(attach_thread_result_without_tracer(&borrowing) == ATTEMPT_FAILED &&
			borrowing.code_of_failure == ETIMEDOUT);
	location.scratch = 65536;
	for (int i = -1; i < 2; i++) {
		registers.rsp = location.scratch + (uint64_t)(int64_t)i;
		CHECK(attach_thread_is_on_scratch(&borrowing, &registers) == (i >= 0));
		registers.rsp += INJECT_SCRATCH_SIZE;
		CHECK(attach_thread_is_on_scratch(&borrowing, &registers) == (i <= 0));
	}
	borrowing.thread = INT32_MAX;
	CHECK(attach_thread_check_stop(&borrowing, -1) == ATTEMPT_FAILED);
}

static void test_permitted(void)
{
	struct inject_target target = {.report = &report, .pid = start()};
	struct borrowing borrowing = {.target = &target, .thread = target.pid};
	struct inject_request request = {.pid = target.pid};
	int status;

	while (!attach_thread_may_be_stopped(&borrowing, &request))
		usleep(100);
	CHECK(!kill(target.pid, SIGSTOP) && waitpid(target.pid, &status, WUNTRACED) == target.pid);
	CHECK(!attach_thread_may_be_stopped(&borrowing, &request));
	end(target.pid);
	CHECK(!attach_thread_may_be_stopped(&borrowing, &request));
}

/* A program with another tracer is refused; one that has exited is not tried again. */
static void test_tries(void)
{
	struct inject_target target = {.report = &report, .pid = start()};
	struct borrowing borrowing = {.target = &target, .thread = target.pid};

	report = (struct inject_report){.kind = INJECT_DONE};
	CHECK(!ptrace(PTRACE_SEIZE, target.pid, 0, 0));
	CHECK(attach_thread_try(&borrowing) == ATTEMPT_FAILED &&
			report.kind == INJECT_NOT_PERMITTED &&
			strstr(report.text,
					"is tracing it, and a program can have only one tracer"));
	end(target.pid);
	report = (struct inject_report){.kind = INJECT_DONE};
	CHECK(attach_thread_try(&borrowing) == ATTEMPT_NEXT && report.kind == INJECT_DONE &&
			!report.stops);
}

static void test_failures(void)
{
	struct inject_target target = {.report = &report, .pid = getpid()};
	struct borrowing borrowing = {.target = &target, .code_of_failure = EAGAIN};
	static const char text[] =
			"cannot create a thread in it: Resource temporarily unavailable (are its limits of memory or processes reached?)";

	*report.text = '\0';
	CHECK(is_failure(attach_thread_report_failure(&borrowing), INJECT_FAILED, text));
	strcpy(report.text, "known");
	CHECK(attach_thread_report_failure(&borrowing) == -1 && !strcmp(report.text, "known"));
	*report.text = '\0';
	borrowing.code_of_failure = ETIMEDOUT;
	CHECK(attach_thread_report_failure(&borrowing) == -ETIMEDOUT);
}

/* ---- the new thread ---- */

static struct inject_scratch *scratch;
static struct injection injection;
static struct inject_request request;
static unsigned int nr_calls;
static bool is_deaf;

/* Acts as the new thread: calls the function of the command. */
static void take_command(void)
{
	uint64_t (*function)(uint64_t, uint64_t, uint64_t);

	if (is_deaf || !scratch || scratch->command == scratch->done)
		return;
	if (!scratch->function) {
		munmap(scratch, INJECT_SCRATCH_SIZE);
		scratch = NULL;
		CHECK(!prctl(PR_SET_NAME, "program"));
		return;
	}
	nr_calls++;
	function = (uint64_t(*)(uint64_t, uint64_t, uint64_t))(uintptr_t)scratch->function;
	scratch->result = function(
			scratch->arguments[0], scratch->arguments[1], scratch->arguments[2]);
	scratch->done = scratch->command;
}

static const char *path_of(void *function)
{
	Dl_info info;

	CHECK(dladdr(function, &info));
	return info.dli_fname;
}

static void begin_injection(void)
{
	struct inject_target *target = &injection.target;
	const struct inject_mapping *mapping;
	char *path = realpath(path_of((void *)(uintptr_t)atoi), NULL);
	int fd = open(path, O_RDONLY);

	free(path);
	report = (struct inject_report){.kind = INJECT_DONE};
	request = (struct inject_request){.pid = getpid(), .function = "atoi", .argument = "4711"};
	injection = (struct injection){.request = &request, .lock = -1, .code = inject_code_get()};
	*target = (struct inject_target){.pid = getpid(),
			.memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC),
			.report = &report};
	CHECK(target->memory >= 0 && fd >= 0 && !inject_maps_read(target) &&
			!inject_elf_read(fd, &target->libc));
	mapping = inject_mapping_of(target, (uintptr_t)atoi);
	CHECK(inject_elf_bias(&target->libc, mapping->offset, mapping->begin, &target->libc_bias));
	close(fd);
	scratch = mmap(NULL, INJECT_SCRATCH_SIZE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(scratch != MAP_FAILED);
	injection.site.scratch = (uint64_t)(uintptr_t)scratch;
	strcpy(injection.name, "side-attach1");
	CHECK(!prctl(PR_SET_NAME, injection.name));
	while_waiting = take_command;
	nr_calls = nr_pauses = 0;
	is_deaf = false;
}

static void end_injection(void)
{
	while_waiting = NULL;
	if (scratch)
		munmap(scratch, INJECT_SCRATCH_SIZE);
	free(injection.overwritten);
	inject_target_close(&injection.target);
	if (injection.lock >= 0)
		close(injection.lock);
}

static void test_functions(void)
{
	begin_injection();
	CHECK(attach_inject_find_function(&injection, "atoi") == (uintptr_t)atoi &&
			!attach_inject_find_function(&injection, "nothing_of_this_name"));
	end_injection();
}

static void test_timeout(void)
{
	static const struct {
		const char *text;
		unsigned int factor;
	} cases[] = {{"1", 1}, {"7", 7}, {"3600", 3600}, {"3601", 1}, {"0", 1}, {"", 1}, {"x", 1},
			{"-5", 1}, {"5x", 1}, {" 5", 1}, {"09", 9}, {"9", 9}, {":", 1}, {"/", 1},
			{"99999999999999999999", 1}};

	unsetenv("SIDE_TIMEOUT_FACTOR");
	CHECK(attach_inject_call_timeout() == UINT64_C(15000000000));
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		setenv("SIDE_TIMEOUT_FACTOR", cases[i].text, 1);
		CHECK(attach_inject_call_timeout() == UINT64_C(15000000000) * cases[i].factor);
	}
	unsetenv("SIDE_TIMEOUT_FACTOR");
}

static uint64_t add_arguments(uint64_t one, uint64_t other, uint64_t third)
{
	return one * 100 + other * 10 + third;
}

static void test_calls(void)
{
	const uint64_t arguments[3] = {1, 2, 3};
	uint64_t result = 0, began;
	uint32_t command;
	int descriptor;

	begin_injection();
	CHECK(!attach_inject_call_function(
			      &injection, (uintptr_t)add_arguments, arguments, &result) &&
			result == 123 && injection.command == 1 && nr_calls == 1);
	CHECK(!attach_inject_call_function(&injection, (uintptr_t)add_arguments,
			      (const uint64_t[3]){4, 5, 6}, &result) &&
			result == 456 && injection.command == 2);
	CHECK(!attach_inject_write_text(&injection, 5, "abc", &result) &&
			result == (uintptr_t)scratch->text + 5 &&
			!strcmp(scratch->text + 5, "abc"));
	/* No answer: the timeout counts from the last time at which the thread ran. */
	is_deaf = true;
	CHECK(!prctl(PR_SET_NAME, "program"));
	began = inject_now();
	CHECK(is_failure(attach_inject_call_function(&injection, 1, arguments, &result),
			INJECT_FAILED,
			"loading the agent does not finish (the program may be loading another library all the time)"));
	CHECK(inject_now() - began >= UINT64_C(15000000000) &&
			inject_now() - began < UINT64_C(25000000000));
	CHECK(attach_inject_cpu_time(getpid(), getpid()) && !attach_inject_cpu_time(INT32_MAX, 1));
	CHECK(!prctl(PR_SET_NAME, injection.name));
	result = 0;
	CHECK(attach_inject_has_run(&injection, &result) && result);
	result = UINT64_MAX;
	CHECK(!attach_inject_has_run(&injection, &result));
	/* The thread has unmapped the memory; the program has exited. */
	injection.site.scratch = 16;
	CHECK(is_failure(attach_inject_call_function(&injection, 1, arguments, &result),
			INJECT_FAILED, "its memory cannot be accessed: Input/output error"));
	injection.target.pid = INT32_MAX;
	CHECK(attach_inject_call_function(&injection, 1, arguments, &result) == -1 &&
			report.kind == INJECT_GONE &&
			!strcmp(report.text, "cannot attach to 2147483647 (?): it has ended"));
	injection.target.pid = getpid();
	/* A function whose text could not be written is not called. */
	request.agent = request.libside = "/nowhere";
	injection.target.agent_function = (uintptr_t)atoi;
	command = injection.command;
	CHECK(attach_inject_write_text(&injection, 0, "a", &result) == -1 &&
			attach_inject_load_library(&injection, "a", &result) == -1 &&
			attach_inject_pass_file(&injection, "/nowhere", &descriptor) == -1 &&
			attach_inject_find_loaded(&injection, 5, "a", &result) == -1 &&
			attach_inject_call_agent(&injection) == -1 && injection.command == command);
	end_injection();
	CHECK(!prctl(PR_SET_NAME, "program"));
}

static void *named_thread(void *user)
{
	int *ends = user, thread = (int)syscall(SYS_gettid);
	char end;

	CHECK(!prctl(PR_SET_NAME, "another"));
	CHECK(write(ends[1], &thread, sizeof(thread)) == sizeof(thread));
	CHECK(read(ends[2], &end, 1) == 0);
	return NULL;
}

/* A thread's name differs from that of its process. */
static void test_thread_names(void)
{
	int ends[4], thread;
	pthread_t other;
	char text[32];

	CHECK(!pipe2(ends, O_CLOEXEC) && !pipe2(ends + 2, O_CLOEXEC));
	CHECK(!pthread_create(&other, NULL, named_thread, ends));
	CHECK(read(ends[0], &thread, sizeof(thread)) == sizeof(thread) && thread != getpid());
	CHECK(!strcmp(inject_thread_name(getpid(), thread, text, sizeof(text)), "another"));
	CHECK(!strcmp(inject_name(getpid(), text, sizeof(text)), "program"));
	CHECK(!strcmp(inject_thread_name(thread, getpid(), text, 4), "pro"));
	CHECK(!close(ends[3]) && !pthread_join(other, NULL));
	for (int i = 0; i < 3; i++)
		CHECK(!close(ends[i]));
}

static void test_names(void)
{
	char name[] = "side-attach1234";

	CHECK(!prctl(PR_SET_NAME, name));
	CHECK(attach_inject_has_name(getpid(), getpid(), "side-attach") &&
			attach_inject_has_name(getpid(), getpid(), name) &&
			!attach_inject_has_name(getpid(), getpid(), "side-attach12345") &&
			!attach_inject_has_name(getpid(), getpid(), "ide"));
	CHECK(attach_inject_find_thread(getpid(), "side-att") == getpid() &&
			!attach_inject_find_thread(getpid(), "cook") &&
			!attach_inject_find_thread(INT32_MAX, "side"));
	CHECK(!prctl(PR_SET_NAME, "program"));
	test_thread_names();
}

/* A thread that may exist does not count as exited: its code stays. */
static void test_unknown_threads(void)
{
	static const char *const functions[] = {"opendir", "readdir", "open"};
	static const int errors[] = {-EMFILE, -EIO, -EMFILE};
	static uint8_t code[16], original[16] = {1};
	struct candidate self = {.thread = getpid()};
	uint64_t result = 0;

	CHECK(!prctl(PR_SET_NAME, "side-attach77"));
	CHECK(attach_thread_get_rank(getpid(), &self) == RANK_WAITS);
	for (int i = 0; i < 3; i++) {
		failing_function = functions[i];
		CHECK(attach_inject_find_thread(getpid(), "side-attach77") == errors[i]);
		CHECK(i == 2 || !inject_no_thread_at(getpid(), self.code + 1, self.code + 9));
		CHECK(!attach_inject_has_run(&injection, &result) && !result);
		failing_function = NULL;
		CHECK(attach_inject_find_thread(getpid(), "side-attach77") == getpid() &&
				attach_inject_find_thread(getpid(), "cook") == 0);
		CHECK(inject_no_thread_at(getpid(), self.code + 1, self.code + 9));
	}
	CHECK(attach_inject_has_name(INT32_MAX, 1, "side") == 0);
	for (int i = 0; i < 3; i++) {
		begin_injection();
		scratch->done = injection.command = 4;
		injection.site.code = (uintptr_t)code;
		injection.code.size = sizeof(code);
		injection.overwritten = malloc(sizeof(code));
		memcpy(injection.overwritten, original, sizeof(code));
		memset(code, 0xcc, sizeof(code));
		failing_function = functions[i];
		attach_inject_clean_up(&injection);
		failing_function = NULL;
		CHECK(!scratch && code[0] == 0xcc);
		end_injection();
	}
	/* The memory of the program is opened by the id of its thread. */
	begin_injection();
	failing_function = "opendir";
	CHECK(is_failure(attach_inject_pass_file(&injection, "/nowhere/agent", &(int){-1}),
			INJECT_FAILED, "Too many open files"));
	failing_function = NULL;
	CHECK(!close((int)scratch->result));
	end_injection();
	CHECK(!prctl(PR_SET_NAME, "program"));
}

static void test_lock(void)
{
	struct injection other;
	uint64_t began;

	begin_injection();
	while_waiting = NULL;
	other = injection;
	CHECK(!attach_inject_acquire_lock(&injection) && injection.lock >= 0);
	began = inject_now();
	CHECK(is_failure(attach_inject_acquire_lock(&other), INJECT_FAILED,
			"another `side attach` is already attaching to it"));
	CHECK(inject_now() - began > UINT64_C(5000000000) &&
			inject_now() - began < UINT64_C(9000000000));
	close(other.lock);
	close(injection.lock);
	CHECK(!attach_inject_acquire_lock(&other));
	injection.lock = other.lock;
	end_injection();
}

static void test_memory(void)
{
	char path[64], file[] = "/tmp/side-inject-XXXXXX";
	int memory = memfd_create("memory", MFD_CLOEXEC), named = mkstemp(file), fd,
	    kept = fcntl(0, F_DUPFD_CLOEXEC, 3);

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", memory);
	/* attach_inject_open_memory() examines the file with descriptor 0, and closes it. */
	close(0);
	fd = attach_inject_open_memory(path);
	CHECK(fd > 0 && fcntl(0, F_GETFD) == -1 && fcntl(fd, F_GETFD) == FD_CLOEXEC);
	close(fd);
	CHECK(dup2(kept, 0) == 0 && !close(kept));
	fd = attach_inject_open_memory(path);
	CHECK(fd >= 0 && write(fd, "x", 1) == 1);
	close(fd);
	/* The descriptor is refused if it is not empty, has a name, or is not a file. */
	CHECK(attach_inject_open_memory(path) == -EPERM);
	CHECK(named >= 0 && attach_inject_open_memory(file) == -EPERM &&
			attach_inject_open_memory("/tmp") == -EPERM &&
			attach_inject_open_memory("/nowhere") == -ENOENT &&
			attach_inject_open_memory("/dev/null") == -EPERM);
	close(memory);
	close(named);
	unlink(file);
}

static void test_loaded(void)
{
	char one[] = "/a/libside.so.0.0.1", other[] = "libside.so.0";
	struct inject_mapping mappings[] = {{.path = other}, {.path = one}};
	struct inject_target target = {.mappings = mappings, .nr_mappings = 2};

	CHECK(attach_inject_has_loaded(&target, "libside.so.0") &&
			!attach_inject_has_loaded(&target, "libside.so.1") &&
			!attach_inject_has_loaded(&target, "side.so"));
	target.nr_mappings = 1;
	CHECK(!attach_inject_has_loaded(&target, "libside.so.0"));
	mappings[0].path = one;
	CHECK(attach_inject_has_loaded(&target, "libside.so.0"));
	target.nr_mappings = 0;
	CHECK(!attach_inject_has_loaded(&target, "libside.so.0"));
}

static void test_load(void)
{
	char *path = realpath(path_of((void *)(uintptr_t)atoi), NULL);
	char other[] = "/tmp/side-inject-XXXXXX";
	uint64_t handle = 0;
	int descriptor = -1, fd, lowest;
	unsigned int before;

	begin_injection();
	request.agent = path;
	request.libside = path;
	CHECK(attach_inject_is_same_file(&injection, request.agent));
	CHECK(!attach_inject_load_agent(&injection) && !report.from_memory &&
			injection.target.agent_function == (uintptr_t)atoi);
	injection.target.agent_function = 0;
	CHECK(!attach_inject_call_agent(&injection) && report.result == 4711);
	/* The agent is loaded already. */
	nr_calls = 0;
	request.argument = "-5";
	CHECK(!attach_inject_call_agent(&injection) && report.result == -5 && nr_calls == 1);
	/* A function that the agent does not have. */
	injection.target.agent_function = 0;
	request.function = "nothing_of_this_name";
	CHECK(attach_inject_load_agent(&injection) == -1 && report.kind == INJECT_FAILED &&
			strstr(report.text, "undefined symbol: nothing_of_this_name"));
	/* Memory of the program receives the bytes of the file. */
	before = resources_descriptors();
	CHECK(!attach_inject_pass_file(&injection, path, &descriptor) && descriptor >= 0 &&
			resources_descriptors() == before + 1);
	{
		struct stat one, two;

		CHECK(!stat(path, &one) && !fstat(descriptor, &two) && one.st_size == two.st_size);
	}
	close(descriptor);
	CHECK(is_failure(attach_inject_pass_file(&injection, "/nowhere/at-all", &descriptor),
			INJECT_FAILED, "No such file or directory"));
	close(descriptor);
	CHECK(resources_descriptors() == before);
	/*
	 * A file that is not a library: after memory and all copies, the loader reports the reason.
	 */
	fd = mkstemp(other);
	CHECK(fd >= 0 && write(fd, "text\n", 5) == 5);
	request.agent = other;
	report.from_memory = false;
	lowest = dup(0);
	close(lowest);
	CHECK(attach_inject_is_same_file(&injection, request.agent));
	CHECK(attach_inject_load_agent(&injection) == -1 && report.from_memory &&
			strstr(report.text, "file too short"));
	/* The new thread would close them when it ends. */
	CHECK(!close(lowest) && !close(lowest + 1) && resources_descriptors() == before + 1);
	CHECK(!attach_inject_load_library(&injection, path, &handle) && handle);
	CHECK(scratch->arguments[1] == (RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) &&
			scratch->function == (uintptr_t)dlopen && !scratch->arguments[2]);
	handle = 5;
	CHECK(!attach_inject_load_copy(&injection, other, &handle) && !handle);
	close(fd);
	unlink(other);
	CHECK(!attach_inject_is_same_file(&injection, request.agent));
	end_injection();
	free(path);
	CHECK(!prctl(PR_SET_NAME, "program"));
}

/* ---- space for the code ---- */

/* Not that of a library with the name before it. */
static uint64_t of_libc(const char *name)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	uint64_t address = (uintptr_t)dlsym(libc, name);

	CHECK(libc && address && !dlclose(libc));
	return address;
}

/* Sets all versions of a function in the C library, or none. */
static void set_function(const char *name, bool is_there, Elf64_Sym *saved)
{
	const struct inject_elf *libc = &injection.target.libc;

	for (size_t i = 0; i < libc->nr_symbols; i++) {
		if (strcmp(libc->names + libc->symbols[i].st_name, name) != 0)
			continue;
		if (!is_there)
			saved[i] = libc->symbols[i];
		libc->symbols[i].st_value = is_there ? saved[i].st_value : 0;
	}
}

static void test_space(void)
{
	static const char *const functions[] = {"__errno_location", "pthread_attr_init",
			"pthread_attr_setdetachstate", "pthread_attr_setstacksize",
			"pthread_attr_destroy", "pthread_create"};
	uint8_t before[INJECT_PAGE];
	struct inject_values values;
	Elf64_Sym *saved;
	size_t size;
	uint64_t at;

	begin_injection();
	size = injection.code.size;
	injection.site.scratch = 0;
	CHECK(!attach_inject_find_space(&injection) && injection.site.code &&
			injection.site.scratch);
	at = injection.site.code;
	/* Unused bytes of code, and memory that is not mapped. */
	CHECK(!strcmp(inject_mapping_of(&injection.target, at)->access, "r-xp") &&
			inject_mapping_of(&injection.target, at + size - 1) ==
					inject_mapping_of(&injection.target, at));
	CHECK(!inject_mapping_of(&injection.target, injection.site.scratch) &&
			!inject_mapping_of(&injection.target,
					injection.site.scratch + INJECT_SCRATCH_SIZE - 1) &&
			!(injection.site.scratch % INJECT_SCRATCH_SIZE));
	CHECK(injection.site.scratch < UINT64_C(1) << 47);
	memcpy(before, (const void *)(uintptr_t)at, size);
	injection.target.own = (struct inject_own){.begin = 1, .end = 2, .thread = 3};
	injection.target.report->kind = INJECT_DONE;
	CHECK(!attach_inject_write_code(&injection) &&
			!memcmp(injection.overwritten, before, size));
	CHECK(!memcmp((const uint8_t *)(uintptr_t)at + sizeof(values),
			injection.code.bytes + sizeof(values),
			injection.code.name - sizeof(values)));
	{
		char name[16];

		(void)snprintf(name, sizeof(name), "side-attach%04x",
				(unsigned int)getpid() & 0xffff);
		CHECK(!strcmp(injection.name, name) &&
				!strcmp((const char *)(uintptr_t)at + injection.code.name, name));
	}
	values = injection.site.values;
	CHECK(values.scratch == injection.site.scratch && values.states == inject_code_states() &&
			values.pause[0] == 0 && values.pause[1] == 50000 && values.own.begin == 1 &&
			values.own.end == 2 && values.own.thread == 3);
	CHECK(values.errno_location == of_libc("__errno_location") &&
			values.attr_init == of_libc("pthread_attr_init") &&
			values.attr_setdetachstate == of_libc("pthread_attr_setdetachstate") &&
			values.attr_setstacksize == of_libc("pthread_attr_setstacksize") &&
			values.attr_destroy == of_libc("pthread_attr_destroy") &&
			values.create == of_libc("pthread_create"));
	/*
	 * The bytes of a killed process are reused once its memory is unmapped and no thread
	 * executes them.
	 */
	injection.site.code = 0;
	CHECK(inject_write(&injection.target, at, &values, sizeof(values)));
	CHECK(!prctl(PR_SET_NAME, "program"));
	CHECK(attach_inject_is_abandoned(&injection, at));
	CHECK(!prctl(PR_SET_NAME, "side-attach5"));
	CHECK(!attach_inject_is_abandoned(&injection, at));
	CHECK(!prctl(PR_SET_NAME, "program"));
	values.scratch = (uintptr_t)&values;
	CHECK(inject_write(&injection.target, at, &values, sizeof(values)) &&
			!attach_inject_is_abandoned(&injection, at) &&
			!attach_inject_is_abandoned(&injection, 16));
	CHECK(inject_write(&injection.target, at, before, size));
	/* No page has that many bytes. */
	injection.site.code = 0;
	injection.code.size = INJECT_PAGE + 1;
	CHECK(is_failure(attach_inject_find_space(&injection), INJECT_UNSUITABLE,
			"none of its code pages has space for the bytes that load the agent"));
	injection.code.size = size;
	/* A C library without one of the functions. */
	saved = calloc(injection.target.libc.nr_symbols, sizeof(*saved));
	CHECK(saved);
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		set_function(functions[i], false, saved);
		CHECK(is_failure(attach_inject_write_code(&injection), INJECT_UNSUITABLE,
				"its C library lacks a function that the agent needs"));
		set_function(functions[i], true, saved);
	}
	free(saved);
	CHECK(!memcmp((const void *)(uintptr_t)at, before, size));
	free(injection.overwritten);
	injection.overwritten = NULL;
	injection.site.code = 16;
	CHECK(is_failure(attach_inject_write_code(&injection), INJECT_FAILED,
			"its memory cannot be accessed: Input/output error"));
	free(injection.overwritten);
	/* Memory that can be read but not written. */
	close(injection.target.memory);
	injection.target.memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	injection.site.code = at;
	CHECK(is_failure(attach_inject_write_code(&injection), INJECT_FAILED,
			"its memory cannot be written: Bad file descriptor (does the kernel forbid it, proc_mem.force_override?)"));
	end_injection();
	CHECK(!prctl(PR_SET_NAME, "program"));
}

static int writable = -1;

static void make_writable(void)
{
	close(injection.target.memory);
	injection.target.memory = writable;
	writable = -1;
	while_waiting = take_command;
}

/* At the end the thread exits, and the original bytes are restored. */
static void test_end(void)
{
	static uint8_t code[64];
	static uint8_t original[64] = {1, 2, 3};

	begin_injection();
	injection.command = 4;
	scratch->done = 4;
	injection.site.code = (uintptr_t)code;
	injection.code.size = sizeof(code);
	injection.overwritten = malloc(sizeof(code));
	memcpy(injection.overwritten, original, sizeof(code));
	memset(code, 0xcc, sizeof(code));
	attach_inject_clean_up(&injection);
	CHECK(!scratch && !memcmp(code, original, sizeof(code)) && injection.command == 5);
	end_injection();
	/* A command that could not be written is written again. */
	begin_injection();
	injection.site.code = (uintptr_t)code;
	injection.code.size = sizeof(code);
	injection.overwritten = malloc(sizeof(code));
	memcpy(injection.overwritten, original, sizeof(code));
	memset(code, 0xcc, sizeof(code));
	writable = injection.target.memory;
	injection.target.memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	while_waiting = make_writable;
	attach_inject_clean_up(&injection);
	CHECK(!scratch && writable < 0 && !memcmp(code, original, sizeof(code)) &&
			injection.command == 1);
	end_injection();
	/* The code of a thread that hangs stays. */
	begin_injection();
	injection.site.code = (uintptr_t)code;
	injection.code.size = sizeof(code);
	injection.overwritten = malloc(sizeof(code));
	is_deaf = true;
	memset(code, 0xcc, sizeof(code));
	memset(injection.overwritten, 1, sizeof(code));
	attach_inject_clean_up(&injection);
	CHECK(code[0] == 0xcc && scratch->command == 1 && !scratch->function);
	end_injection();
	CHECK(!prctl(PR_SET_NAME, "program"));
}

/* ---- a whole attach ---- */

static bool gives_up(unsigned int timeout_ms, unsigned int rounds, const struct inject_target *of)
{
	struct inject_request request_of = {.pid = of->pid, .timeout_ms = timeout_ms};
	struct inject_site location = {.code = 0};
	struct inject_target target = *of;
	char wanted[INJECT_TEXT_MAX], name[64];
	int ret;

	report = (struct inject_report){.kind = INJECT_DONE};
	nr_pauses = 0;
	frozen = __real_inject_now();
	skew = 0;
	ret = inject_borrow(&target, &location, &request_of);
	frozen = 0;
	(void)snprintf(wanted, sizeof(wanted),
			"cannot attach to %d (%s): within %u ms no thread reached a point where it can safely load the agent",
			of->pid, inject_name(of->pid, name, sizeof(name)), rounds * 3 / 10);
	if (ret == -1 && nr_pauses == rounds && report.kind == INJECT_FAILED &&
			!strcmp(report.text, wanted) && report.thread == of->pid &&
			!strcmp(report.hint,
					"attach again, or start it with SIDE_LIB_DIR and a daemon"))
		return true;
	(void)fprintf(stderr, "%d, %u rounds: %s\n", ret, nr_pauses, report.text);
	return false;
}

/*
 * A stopped program has no thread that can be borrowed. At least 300 rounds are tried, until ten
 * times the limit.
 */
static void test_rounds(void)
{
	struct inject_target target = {.report = &report, .pid = start()};
	char path[64];
	int status;

	CHECK(!kill(target.pid, SIGSTOP) && waitpid(target.pid, &status, WUNTRACED) == target.pid);
	(void)snprintf(path, sizeof(path), "/proc/%d/mem", target.pid);
	target.memory = open(path, O_RDWR | O_CLOEXEC);
	CHECK(target.memory >= 0 && !inject_maps_read(&target));
	CHECK(gives_up(300, 1000, &target) && gives_up(30, 300, &target) &&
			gives_up(3, 100, &target));
	inject_target_close(&target);
	end(target.pid);
}

/*
 * A waiting program calls a function of a library that was loaded into it, and continues to wait.
 */
static void test_attach(void)
{
	char *path = realpath(path_of((void *)(uintptr_t)atoi), NULL);
	struct inject_request of_child = {.pid = start(),
			.agent = path,
			.libside = path,
			.function = "atoi",
			.argument = "4711"};
	pid_t helper;
	int fd;

	sleeps = true;
	for (int round = 0; round < 3; round++) {
		fd = inject_begin(&of_child, &helper);
		CHECK(fd >= 0);
		inject_end(fd, helper, &report);
		if (report.kind != INJECT_DONE)
			(void)fprintf(stderr, "%s\n", report.text);
		CHECK(report.kind == INJECT_DONE && report.result == 4711 && !report.from_memory);
		CHECK(report.thread == of_child.pid && report.stops >= 1 && report.stopped_ns &&
				report.stopped_total_ns >= report.stopped_ns &&
				report.total_ns > report.stopped_total_ns);
		while (call_of(of_child.pid) != SYS_pause)
			usleep(100);
		CHECK(!attach_inject_find_thread(of_child.pid, THREAD_NAME));
	}
	/* The agent is not in the program: nothing is done. */
	of_child.only_if_loaded = true;
	fd = inject_begin(&of_child, &helper);
	inject_end(fd, helper, &report);
	CHECK(report.kind == INJECT_DONE && report.result == -ENOENT && !report.stops);
	sleeps = false;
	end(of_child.pid);
	free(path);
}

static void test_process(void)
{
	struct inject_request of_nothing = {.pid = INT32_MAX, .function = "f", .argument = ""};
	pid_t child = 0;
	int fd = inject_begin(&of_nothing, &child), ends[2];

	CHECK(fd >= 0 && fcntl(fd, F_GETFD) == FD_CLOEXEC);
	inject_end(fd, child, &report);
	CHECK(report.kind == INJECT_GONE &&
			!strcmp(report.text, "there is no process 2147483647") && report.total_ns);
	of_nothing.pid = getpid();
	fd = inject_begin(&of_nothing, &child);
	inject_end(fd, child, &report);
	CHECK(report.kind == INJECT_UNSUITABLE);
	/* A child that exits without a complete report. */
	CHECK(!pipe(ends));
	child = fork();
	if (!child) {
		(void)!write(ends[1], &report, sizeof(report) - 1);
		_exit(0);
	}
	close(ends[1]);
	inject_end(ends[0], child, &report);
	CHECK(report.kind == INJECT_FAILED &&
			!strcmp(report.text, "attaching was interrupted; the program continues"));
	CHECK(waitpid(child, NULL, 0) == -1 && errno == ECHILD);
	CHECK(close(ends[0]) == -1);
	/* A child that cannot write its report exits with the reason. */
	CHECK(!pipe(ends));
	child = fork();
	if (!child)
		attach_inject_run_child(&of_nothing, ends[0]);
	close(ends[1]);
	inject_end(ends[0], child, &report);
	CHECK(report.kind == INJECT_FAILED &&
			!strcmp(report.text,
					"the result of attaching is unknown: Bad file descriptor"));
	child = fork();
	if (!child)
		_exit(0);
	inject_end(ends[0], child, &report);
	CHECK(report.kind == INJECT_FAILED &&
			!strcmp(report.text,
					"the result of attaching is unknown: Bad file descriptor"));
}

/* The memory for XSAVE is large enough, and memory protection keys are not saved. */
static void test_processor(void)
{
	uint32_t low, high;

	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	CHECK(inject_code_states() == (((uint64_t)high << 32 | low) & ~UINT64_C(0x200)));
}

int main(void)
{
	struct resources before = {0};

	test_many_threads();
	for (int round = 0; round < 2; round++) {
		test_endless();
		test_ranks();
		test_no_thread_there();
		test_order();
		test_registers();
		test_interrupted();
		test_stop_kinds();
		test_stops();
		test_stopping();
		test_checks();
		test_permitted();
		test_tries();
		test_failures();
		test_functions();
		test_timeout();
		test_calls();
		test_names();
		test_unknown_threads();
		test_lock();
		test_memory();
		test_loaded();
		test_load();
		test_space();
		test_end();
		test_rounds();
		test_attach();
		test_process();
		test_processor();
		if (!round)
			before = resources_now();
	}
	CHECK(resources_now().descriptors == before.descriptors);
	return 0;
}
