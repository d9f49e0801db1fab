/* SPDX-License-Identifier: MIT */
/*
 * Attaches to a program while it executes a file: holds it between its loader and its entry point.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "attach/exec.h"
#include "attach/inject.h"
#include "attach/parts.h"
#include "base/io.h"

#define EXEC_MS 3000        /* from the seizure to the exec; then the thread is released */
#define EXEC_STOP_MS 1000   /* for the thread to stop, so that it can be released */
#define LOADER_MS 2000      /* from the exec to the entry point */
#define SPIN_ROUNDS 4000000 /* of `pause` until the thread leaves; about 50 ms */
#define HOLD_ROUNDS 40000   /* pauses of the waiting thread: HOLD_MS at least */
#define HOLD_MS 4000
#define HOLD_PAUSE_NS 50000
#define PERMIT_MS 1000           /* for the thread to begin its pauses */
#define LEAVE_MS 20              /* for the thread to leave the code, which is then removed */
#define HANDLER_STACK (1u << 17) /* bytes in which the frame of an interrupted thread is searched */
#define AFTER_PAUSE_US 500
#define VECTOR_MAX (1u << 20)   /* words before the auxiliary vector */
#define LOADER_NAME "ld-linux-" /* of the GNU C library */
#define LIBRARY_NAME "libc.so.6"

struct attach_exec {
	struct inject_target target;
	const struct inject_exec *exec;
	struct inject_request request;
	struct user_regs_struct registers; /* after the exec */
	uint64_t slot, entry;              /* address and value of AT_ENTRY */
	uint64_t code;                     /* address of the code */
	uint8_t *overwritten;              /* the bytes that the code replaced */
	bool was_entered;                  /* the loader does not use `code` any more */
	struct inject_exec_code bytes;
};

/* ---- the file ---- */

static bool attach_exec_fail_suits(char *ret_reason, size_t capacity, const char *reason)
{
	(void)snprintf(ret_reason, capacity, "%s", reason);
	return false;
}

static bool attach_exec_gains_rights(int file)
{
	struct stat status;

	return !fstat(file, &status) &&
			((status.st_mode & S_ISUID) ||
					((status.st_mode & S_ISGID) &&
							(status.st_mode & S_IXGRP)) ||
					fgetxattr(file, "security.capability", NULL, 0) > 0);
}

/* True if the loader of the program is that of the GNU C library. */
static bool attach_exec_has_loader(int file, const struct inject_elf *elf)
{
	char path[PATH_MAX];
	const char *slash;
	ssize_t size;

	for (size_t i = 0; i < elf->nr_headers; i++) {
		if (elf->headers[i].p_type != PT_INTERP)
			continue;
		size = io_read_at(file, path, sizeof(path) - 1, elf->headers[i].p_offset);
		path[size > 0 ? size : 0] = '\0';
		slash = strrchr(path, '/');
		return !strncmp(slash ? slash + 1 : path, LOADER_NAME, strlen(LOADER_NAME));
	}
	return false;
}

bool inject_exec_suits(int file, char *ret_reason, size_t capacity)
{
	struct inject_elf elf;
	int ret = inject_elf_read(file, &elf);
	bool suits = false;

	*ret_reason = '\0';
	if (ret && ret != -ENOEXEC)
		return false;
	if (attach_exec_gains_rights(file))
		attach_exec_fail_suits(ret_reason, capacity,
				"it gains privileges (set-user-ID, set-group-ID or file capabilities)");
	else if (ret)
		attach_exec_fail_suits(ret_reason, capacity, "it is not an ELF file");
	else if (elf.class != ELFCLASS64 || elf.machine != EM_X86_64)
		attach_exec_fail_suits(ret_reason, capacity,
				"it is for another processor or word size, and the agent is for x86-64, with 64 bits");
	else if (!elf.interpreter)
		attach_exec_fail_suits(ret_reason, capacity,
				"it is statically linked, so it has no loader that could load the agent");
	else if (!attach_exec_has_loader(file, &elf))
		attach_exec_fail_suits(ret_reason, capacity,
				"it has another C library than the GNU C library");
	else
		suits = true;
	inject_elf_free(&elf);
	return suits;
}

/* ---- before the exec ---- */

static int attach_exec_fail(struct attach_exec *attach, enum inject_kind kind, const char *what)
{
	char name[64];

	return inject_fail(&attach->target, kind, "cannot attach to %d (%s): %s",
			attach->target.pid, inject_name(attach->target.pid, name, sizeof(name)),
			what);
}

static bool attach_exec_is_same(const char *ours, const char *theirs)
{
	struct stat here, there;

	return !stat(ours, &here) && !stat(theirs, &there) && here.st_dev == there.st_dev &&
			here.st_ino == there.st_ino;
}

static bool attach_exec_is_elsewhere(const struct attach_exec *attach)
{
	const char *visible = attach->exec->visible;
	char pids[64], users[64], theirs[PATH_MAX + 64];
	pid_t thread = attach->exec->thread;

	(void)snprintf(pids, sizeof(pids), "/proc/%d/ns/pid", thread);
	(void)snprintf(users, sizeof(users), "/proc/%d/ns/user", thread);
	(void)snprintf(theirs, sizeof(theirs), "/proc/%d/root%s", thread, visible ? visible : "");
	return !attach_exec_is_same("/proc/self/ns/pid", pids) ||
			!attach_exec_is_same("/proc/self/ns/user", users) ||
			(visible && !attach_exec_is_same(visible, theirs));
}

static int attach_exec_check_caller(struct attach_exec *attach)
{
	pid_t thread = attach->exec->thread;
	char text[32];

	if (attach_exec_is_elsewhere(attach)) {
		attach_exec_fail(attach, INJECT_UNSUITABLE,
				"it is in a container or has another root directory");
		return inject_hint(&attach->target, "`side attach --daemon -p %d`", thread);
	}
	if (inject_status(thread, 0, "Seccomp", text, sizeof(text)) && *text != '0')
		return attach_exec_fail(attach, INJECT_UNSUITABLE,
				"it is in a sandbox (seccomp), whose filter may end it when it loads a library");
	return 0;
}

static int attach_exec_seize(struct attach_exec *attach)
{
	return ptrace(PTRACE_SEIZE, attach->exec->thread, 0, (void *)(intptr_t)PTRACE_O_TRACEEXEC)
			? inject_not_permitted(&attach->target, 0, errno)
			: 0;
}

/* ---- the stop after the exec ---- */

/* Wait until a thread of this tracer changes. Returns its id, 0 after `until`, or -ESRCH. */
static pid_t attach_exec_wait(int *ret_status, uint64_t until)
{
	for (;;) {
		pid_t pid = waitpid(-1, ret_status, __WALL | WNOHANG);

		if (pid > 0)
			return pid;
		if (pid < 0 && errno != EINTR)
			return -ESRCH;
		if (inject_now() >= until)
			return 0;
		inject_pause_us(20);
	}
}

/*
 * Stop a thread that has not executed the file, and release it. Its exec has failed, or waits for a
 * file system.
 */
static int attach_exec_give_up(struct attach_exec *attach, pid_t thread)
{
	uint64_t until = inject_now() + EXEC_STOP_MS * UINT64_C(1000000);
	int status, signal;
	pid_t pid;

	(void)ptrace(PTRACE_INTERRUPT, thread, 0, 0);
	pid = attach_exec_wait(&status, until);
	/* If it does not stop, the end of this process releases it. */
	if (pid > 0 && WIFSTOPPED(status)) {
		signal = status >> 16 ? 0 : WSTOPSIG(status);
		(void)ptrace(PTRACE_DETACH, pid, 0, (void *)(intptr_t)signal);
	}
	return attach_exec_fail(attach, INJECT_GONE, "it has not executed the file");
}

/* Wait for the exec. Signals that are delivered before are passed on to the thread. */
static int attach_exec_wait_for_exec(struct attach_exec *attach)
{
	uint64_t until = inject_now() + EXEC_MS * UINT64_C(1000000);
	pid_t thread = attach->exec->thread;
	int status, event;

	for (;;) {
		/* The exec of another thread than the first one changes its id. */
		pid_t pid = attach_exec_wait(&status, until);

		if (!pid)
			return attach_exec_give_up(attach, thread);
		if (pid < 0 || !WIFSTOPPED(status))
			return attach_exec_fail(attach, INJECT_GONE, "it has ended");
		event = status >> 16;
		if (event == PTRACE_EVENT_EXEC) {
			attach->target.pid = pid;
			attach->request.pid = pid;
			return 0;
		}
		if (event == PTRACE_EVENT_STOP && WSTOPSIG(status) != SIGTRAP)
			(void)ptrace(PTRACE_LISTEN, pid, 0, 0);
		else
			(void)ptrace(PTRACE_CONT, pid, 0,
					(void *)(intptr_t)(event ? 0 : WSTOPSIG(status)));
	}
}

/* ---- the auxiliary vector ---- */

struct attach_exec_stack {
	const struct inject_target *target;
	uint64_t next;
	uint64_t words[512];
	size_t nr, at, total;
};

/* Returns false at the end of the memory. */
static bool attach_exec_next_word(struct attach_exec_stack *stack, uint64_t *ret_word)
{
	if (stack->at == stack->nr) {
		uint64_t page = INJECT_PAGE - stack->next % INJECT_PAGE;

		stack->at = 0;
		stack->nr = page / sizeof(*stack->words);
		if (stack->total > VECTOR_MAX ||
				!inject_read(stack->target, stack->next, stack->words, page))
			return false;
		stack->total += stack->nr;
		stack->next += page;
	}
	*ret_word = stack->words[stack->at++];
	return true;
}

static uint64_t attach_exec_address(const struct attach_exec_stack *stack)
{
	return stack->next - (stack->nr - stack->at) * sizeof(*stack->words);
}

static bool attach_exec_skip_to_zero(struct attach_exec_stack *stack)
{
	uint64_t word = 1;

	while (word)
		if (!attach_exec_next_word(stack, &word))
			return false;
	return true;
}

/*
 * Find AT_ENTRY. The stack has the number of arguments, the arguments, 0, the environment, 0 and
 * the vector.
 */
static int attach_exec_find_entry(struct attach_exec *attach)
{
	struct attach_exec_stack stack = {.target = &attach->target, .next = attach->registers.rsp};
	uint64_t kind, value, secure = 1;

	if (stack.next % sizeof(uint64_t) || !attach_exec_next_word(&stack, &value) ||
			!attach_exec_skip_to_zero(&stack) || !attach_exec_skip_to_zero(&stack))
		return attach_exec_fail(attach, INJECT_FAILED, "its stack cannot be read");
	while (attach_exec_next_word(&stack, &kind) && kind != AT_NULL &&
			attach_exec_next_word(&stack, &value)) {
		if (kind == AT_ENTRY) {
			attach->slot = attach_exec_address(&stack) - sizeof(value);
			attach->entry = value;
		}
		if (kind == AT_SECURE)
			secure = value;
	}
	if (secure)
		return attach_exec_fail(attach, INJECT_UNSUITABLE, "it gains privileges");
	return attach->entry ? 0 : attach_exec_fail(attach, INJECT_FAILED, "it has no entry point");
}

/* ---- the code ---- */

/* Returns the address of unused bytes in this mapping of code, or 0. */
static uint64_t attach_exec_space_in(
		const struct attach_exec *attach, const struct inject_mapping *mapping)
{
	int file;
	uint64_t at = inject_mapping_find_space(
			&attach->target, mapping, attach->bytes.size, &file);

	if (at)
		close(file);
	return at;
}

/* Prefer the loader's pages: they are last in the list, and injection uses the first space. */
static int attach_exec_find_space(struct attach_exec *attach)
{
	for (size_t i = attach->target.nr_mappings; i && !attach->code; i--)
		attach->code = attach_exec_space_in(attach, &attach->target.mappings[i - 1]);
	return attach->code
			? 0
			: attach_exec_fail(attach, INJECT_UNSUITABLE,
					  "none of its code pages has space for the bytes that load the agent");
}

/* The address that the loader jumps to. */
static uint64_t attach_exec_first(const struct attach_exec *attach)
{
	return attach->code + attach->bytes.entry;
}

/* The order matters if this process is killed: the code is complete before the loader finds it. */
static int attach_exec_write_code(struct attach_exec *attach)
{
	const struct inject_exec_values values = {.entry = attach->entry,
			.slot = attach->slot,
			.tracer = getpid(),
			.rounds = HOLD_ROUNDS,
			.pause = {0, HOLD_PAUSE_NS},
			.spins = SPIN_ROUNDS};
	uint64_t first = attach_exec_first(attach);

	attach->overwritten = malloc(attach->bytes.size);
	if (!attach->overwritten)
		return attach_exec_fail(attach, INJECT_FAILED, "out of memory");
	if (!inject_read(&attach->target, attach->code, attach->overwritten, attach->bytes.size) ||
			!inject_write(&attach->target, attach->code, attach->bytes.bytes,
					attach->bytes.size) ||
			!inject_write(&attach->target, attach->code, &values, sizeof(values)) ||
			!inject_write(&attach->target, attach->slot, &first, sizeof(first)))
		return attach_exec_fail(attach, INJECT_FAILED,
				"its memory cannot be written (does the kernel forbid it, proc_mem.force_override?)");
	return 0;
}

static bool attach_exec_runs_file(const struct attach_exec *attach)
{
	char path[64];
	struct stat status;

	(void)snprintf(path, sizeof(path), "/proc/%d/exe", attach->target.pid);
	return !stat(path, &status) && status.st_dev == attach->exec->device &&
			status.st_ino == attach->exec->inode;
}

/* Make the stopped program wait at its entry point. */
static int attach_exec_prepare(struct attach_exec *attach)
{
	struct iovec buffer = {
			.iov_base = &attach->registers, .iov_len = sizeof(attach->registers)};
	char path[64];
	int ret;

	/* An interpreter executes a script, or the kernel has chosen a program for the file. */
	if (!attach_exec_runs_file(attach))
		return attach_exec_fail(attach, INJECT_GONE, "it has executed another file");
	if (ptrace(PTRACE_GETREGSET, attach->target.pid, NT_PRSTATUS, &buffer) ||
			buffer.iov_len != sizeof(attach->registers))
		return attach_exec_fail(attach, INJECT_UNSUITABLE, "it is not a 64-bit program");
	(void)snprintf(path, sizeof(path), "/proc/%d/mem", attach->target.pid);
	attach->target.memory = open(path, O_RDWR | O_CLOEXEC);
	ret = attach->target.memory < 0 ? -errno : inject_maps_read(&attach->target);
	if (ret)
		return inject_not_permitted(&attach->target, 0, -ret);
	ret = attach_exec_find_entry(attach);
	if (!ret)
		ret = attach_exec_find_space(attach);
	return ret ? ret : attach_exec_write_code(attach);
}

/* ---- at the entry point ---- */

/* Wait until AT_ENTRY has changed, and read it. */
static int attach_exec_wait_for_change(
		struct attach_exec *attach, uint64_t *value, unsigned int within_ms)
{
	uint64_t until = inject_now() + within_ms * UINT64_C(1000000), before = *value;

	for (;;) {
		if (!inject_read(&attach->target, attach->slot, value, sizeof(*value)))
			return attach_exec_fail(attach, INJECT_GONE, "it has ended");
		if (*value != before)
			return 0;
		if (inject_now() > until)
			return attach_exec_fail(attach, INJECT_FAILED,
					"its loader has not finished in time");
		inject_pause_us(50);
	}
}

/* A library can have set a filter that ends the program for the calls of the code or the agent. */
static int attach_exec_check_sandbox(struct attach_exec *attach)
{
	char text[32];

	return inject_status(attach->target.pid, 0, "Seccomp", text, sizeof(text)) && *text == '0'
			? 0
			: attach_exec_fail(attach, INJECT_UNSUITABLE,
					  "a library of it has started a sandbox (seccomp), whose filter may end it");
}

static int attach_exec_write_word(struct attach_exec *attach, size_t offset)
{
	const uint32_t one = 1;

	return inject_write(&attach->target, attach->code + offset, &one, sizeof(one))
			? 0
			: attach_exec_fail(attach, INJECT_GONE, "it has ended");
}

/* The thread has come to the code: make it wait with system calls, if it may make them. */
static int attach_exec_permit_calls(struct attach_exec *attach)
{
	uint64_t value = attach_exec_first(attach) + 1;
	int ret = attach_exec_check_sandbox(attach);

	if (!ret)
		ret = attach_exec_write_word(
				attach, offsetof(struct inject_exec_values, permitted));
	if (!ret)
		ret = attach_exec_wait_for_change(attach, &value, PERMIT_MS);
	if (!ret && value == attach->entry)
		ret = attach_exec_fail(attach, INJECT_FAILED,
				"it has not waited, because this machine is too busy");
	/* The program waits, and may read the vector. */
	if (!ret &&
			!inject_write(&attach->target, attach->slot, &attach->entry,
					sizeof(attach->entry)))
		ret = attach_exec_fail(attach, INJECT_GONE, "it has ended");
	return ret;
}

/* Wait until the loader has finished, and the thread waits for the agent. */
static int attach_exec_wait_for_entry(struct attach_exec *attach)
{
	uint64_t value = attach_exec_first(attach);
	int ret = attach_exec_wait_for_change(attach, &value, LOADER_MS);

	if (ret)
		return ret;
	attach->was_entered = true;
	return attach_exec_permit_calls(attach);
}

/* True if the stack can have the frame of a signal handler that has interrupted the code. */
static bool attach_exec_is_interrupted(const struct attach_exec *attach)
{
	uint64_t words[64], at = inject_stack_of(attach->target.pid), end = at + HANDLER_STACK;

	if (!at)
		return true;
	/* So no part crosses the end of a page. */
	at &= ~(uint64_t)(sizeof(words) - 1);
	for (; at < end && inject_read(&attach->target, at, words, sizeof(words));
			at += sizeof(words))
		for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
			if (words[i] - attach->code < attach->bytes.size)
				return true;
	return false;
}

/*
 * Release the thread, and remove the code. It is harmless if it stays: because the loader still
 * jumps to it, or because the thread cannot be seen elsewhere in time.
 */
static void attach_exec_release(struct attach_exec *attach)
{
	uint64_t until = inject_now() + LEAVE_MS * UINT64_C(1000000), begin = attach->code;
	const uint32_t released = 1;

	(void)inject_write(&attach->target, begin + offsetof(struct inject_exec_values, released),
			&released, sizeof(released));
	if (!attach->was_entered)
		return;
	while (!inject_no_thread_at(attach->target.pid, begin, begin + attach->bytes.size) ||
			attach_exec_is_interrupted(attach)) {
		if (inject_now() > until || kill(attach->target.pid, 0))
			return;
		inject_pause_us(1000);
	}
	(void)inject_write(&attach->target, begin, attach->overwritten, attach->bytes.size);
}

/* True if the last list of mappings has a library whose name begins so. */
static bool attach_exec_has_library(const struct attach_exec *attach, const char *name)
{
	const char *slash;

	for (size_t i = 0; i < attach->target.nr_mappings; i++) {
		slash = strrchr(attach->target.mappings[i].path, '/');
		if (slash && !strncmp(slash + 1, name, strlen(name)))
			return true;
	}
	return false;
}

/* True if the loader has loaded libside, which joins by itself, or the agent. */
static bool attach_exec_joins(struct attach_exec *attach)
{
	return !inject_maps_read(&attach->target) &&
			(attach_exec_has_library(attach, "libside.so.0") ||
					attach_exec_has_library(attach, "libside-agent.so"));
}

static int attach_exec_load(struct attach_exec *attach)
{
	struct inject_report *report = attach->target.report;
	uint64_t until = inject_now() + HOLD_MS * UINT64_C(1000000);

	if (attach_exec_joins(attach)) {
		report->was_loaded = true;
		return 0;
	}
	attach->request.held_begin = attach->code;
	attach->request.held_end = attach->code + attach->bytes.size;
	inject_run(&attach->request, report);
	if (report->kind == INJECT_DONE && inject_now() > until)
		return attach_exec_fail(attach, INJECT_FAILED,
				"the agent was loaded after main() may have begun, so its first calls are not recorded");
	return 0;
}

/* ---- after the exec ---- */

/*
 * Attach as soon as the loader has finished: no thread is at a safe point before. Until then, parts
 * of the C library can be missing, so a refusal is not final.
 */
static void attach_exec_load_after(struct attach_exec *attach)
{
	struct inject_report *report = attach->target.report;
	uint64_t until = inject_now() + LOADER_MS * UINT64_C(1000000);

	for (;;) {
		if (attach_exec_joins(attach)) {
			report->was_loaded = true;
			return;
		}
		if (!attach_exec_runs_file(attach)) {
			(void)attach_exec_fail(attach, INJECT_GONE, "it has ended");
		} else if (attach_exec_has_library(attach, LIBRARY_NAME)) {
			inject_run(&attach->request, report);
		} else {
			(void)attach_exec_fail(
					attach, INJECT_FAILED, "it has not loaded the C library");
		}
		if (report->kind == INJECT_DONE || report->kind == INJECT_GONE ||
				report->kind == INJECT_NOT_PERMITTED || inject_now() > until)
			break;
		*report = (struct inject_report){.kind = INJECT_DONE};
		inject_pause_us(AFTER_PAUSE_US);
	}
	/* The caller must know that it has no agent. */
	if (report->kind == INJECT_GONE)
		report->kind = INJECT_FAILED;
}

/* ---- the process that attaches ---- */

static void attach_exec_permit(int to)
{
	while (write(to, "", 1) < 0 && errno == EINTR)
		;
}

/* The thread is seized: release it in any case. */
static int attach_exec_hold(struct attach_exec *attach)
{
	int ret = attach_exec_wait_for_exec(attach);

	if (ret)
		return ret;
	ret = attach_exec_prepare(attach);
	(void)ptrace(PTRACE_DETACH, attach->target.pid, 0, 0);
	if (ret)
		return ret;
	ret = attach_exec_wait_for_entry(attach);
	if (!ret)
		ret = attach_exec_load(attach);
	attach_exec_release(attach);
	/* It has executed the file, so the caller must know that it has no agent. */
	if (attach->target.report->kind == INJECT_GONE)
		attach->target.report->kind = INJECT_FAILED;
	return ret;
}

static void __attribute__((noreturn)) attach_exec_run_child(const struct inject_exec *exec, int to)
{
	struct inject_report report = {.kind = INJECT_DONE};
	struct attach_exec attach = {
			.target = {.pid = exec->thread, .memory = -1, .report = &report},
			.exec = exec,
			.request = *exec->request,
			.bytes = inject_exec_code_get(),
	};
	uint64_t began = inject_now();
	int ret = -1;

	attach.request.pid = exec->thread;
	if (!attach.bytes.bytes)
		(void)attach_exec_fail(&attach, INJECT_UNSUITABLE, "only x86-64 is supported");
	else
		ret = attach_exec_check_caller(&attach);
	if (!ret && !exec->after)
		ret = attach_exec_seize(&attach);
	if (!exec->after)
		attach_exec_permit(to);
	if (!ret && exec->after)
		attach_exec_load_after(&attach);
	else if (!ret)
		(void)attach_exec_hold(&attach);
	report.total_ns = inject_now() - began;
	if (write(to, &report, sizeof(report)) != (ssize_t)sizeof(report))
		_exit(errno);
	_exit(0);
}

int inject_exec_begin(const struct inject_exec *exec, pid_t *ret_child)
{
	pid_t parent = getpid();
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	*ret_child = fork();
	if (*ret_child < 0) {
		close(ends[0]);
		close(ends[1]);
		return -EAGAIN;
	}
	if (!*ret_child) {
		signal(SIGPIPE, SIG_IGN);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(EXIT_FAILURE);
		close(ends[0]);
		if (exec->unused >= 0)
			close(exec->unused);
		attach_exec_run_child(exec, ends[1]);
	}
	close(ends[1]);
	return ends[0];
}
