/* SPDX-License-Identifier: MIT */
/*
 * Decides whether a stopped thread can create a thread.
 *
 * pthread_create() calls malloc() and takes locks of the loader, so a thread that was stopped
 * inside of these must not call it. The thread's stack is unwound and checked:
 *
 *       - a frame in the loader, or in a library with its own malloc(): unsafe
 *       - an interruption inside the C library, now or below a signal handler: unsafe, unless the
 *         thread waits in a system call that malloc() and the loader do not make
 *       - an unfinished restartable sequence: unsafe; the thread would continue in its middle
 *         instead of restarting it
 *       - otherwise: safe
 *
 * malloc() and the loader wait on futexes. For a thread that waits on a futex, the function of the
 * C library that the program called decides.
 *
 * libdw unwinds the stack; it reads the program's files for that.
 */
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/parts.h"
#include "base/error.h"

/* <linux/ptrace.h> defines it, but conflicts with <sys/ptrace.h>. */
#define GET_RSEQ_CONFIGURATION 0x420f
#define FRAMES_MAX 128
#define STACK_MAX (64u << 10) /* bytes copied in one read */

struct attach_frame {
	uint64_t pc;
	bool interrupted; /* it did not make a call: a signal or the tracer interrupted it */
};

struct inject_safe {
	struct inject_target *target;
	Dwfl *dwfl;
	uint8_t *class_of; /* of each mapping; enum inject_class */
	/* The thread to judge. */
	pid_t thread;
	const struct user_regs_struct *registers;
	uint64_t until;
	struct attach_frame frames[FRAMES_MAX];
	size_t nr_frames;
	bool rehearsed;
	uint64_t stack_at;
	size_t stack_size;
	uint8_t stack[STACK_MAX];
};

/* ---- system calls ---- */

enum inject_wait inject_call_waits(uint64_t number)
{
	switch (number) {
	case SYS_read:
	case SYS_readv:
	case SYS_write:
	case SYS_writev:
	case SYS_poll:
	case SYS_ppoll:
	case SYS_select:
	case SYS_pselect6:
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
	case SYS_pause:
	case SYS_rt_sigsuspend:
	case SYS_accept:
	case SYS_accept4:
	case SYS_connect:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_wait4:
	case SYS_waitid:
	case SYS_flock:
	/*
	 * A call that was restarted with its remaining time; malloc() and the loader wait without a
	 * time limit.
	 */
	case SYS_restart_syscall: return INJECT_WAITS;
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
#ifdef SYS_epoll_pwait2
	case SYS_epoll_pwait2:
#endif
	case SYS_rt_sigtimedwait:
	case SYS_semop:
	case SYS_semtimedop:
	case SYS_msgrcv:
	case SYS_io_getevents: return INJECT_WAITS_BRIEFLY;
	default: return INJECT_WAITS_NOT;
	}
}

/*
 * True for functions that wait on a futex of the program, without holding a lock of the C library.
 */
static bool attach_safe_waits_for_program_lock(const char *function)
{
	static const char *const functions[] = {"pthread_cond_wait", "pthread_cond_timedwait",
			"pthread_cond_clockwait", "pthread_mutex_lock", "pthread_mutex_timedlock",
			"pthread_mutex_clocklock", "pthread_rwlock_rdlock", "pthread_rwlock_wrlock",
			"pthread_rwlock_timedrdlock", "pthread_rwlock_timedwrlock",
			"pthread_barrier_wait", "pthread_join", "pthread_timedjoin_np",
			"pthread_clockjoin_np", "sem_wait", "sem_timedwait", "sem_clockwait",
			"cnd_wait", "cnd_timedwait", "mtx_lock", "thrd_join", "syscall", NULL};
	size_t i;

	for (i = 0; function && functions[i]; i++)
		if (!strcmp(function, functions[i]))
			return true;
	return false;
}

/* ---- classes of code ---- */

/* True for errors of this process, which do not depend on the file. */
static bool attach_safe_is_own_error(int ret)
{
	return ret == -EIO || error_is_lack_of_resources(ret);
}

/* Returns the class, or a negative errno: a file that cannot be read may have its own malloc(). */
static int attach_safe_classify(
		const struct inject_target *target, const struct inject_mapping *mapping)
{
	const char *name = strrchr(mapping->path, '/');
	enum inject_class class = INJECT_OTHER;
	struct inject_elf elf;
	int fd, ret;

	if (mapping->access[2] != 'x')
		return INJECT_NOWHERE;
	if (!name)
		return INJECT_OTHER;
	if (!strncmp(name, "/libc.so.6", 10))
		return INJECT_LIBC;
	if (!strncmp(name, "/ld-linux", 9) || !strncmp(name, "/ld-2.", 6))
		return INJECT_LOADER;
	fd = inject_mapping_open(target, mapping);
	if (fd < 0)
		return attach_safe_is_own_error(fd) ? fd : INJECT_OTHER;
	ret = inject_elf_read(fd, &elf);
	if (!ret) {
		if (inject_elf_function(&elf, "malloc"))
			class = INJECT_ALLOCATOR;
		inject_elf_free(&elf);
	}
	close(fd);
	return attach_safe_is_own_error(ret) ? ret : (int)class;
}

static int attach_safe_classify_all(struct inject_safe *safe)
{
	const struct inject_target *target = safe->target;

	safe->class_of = calloc(target->nr_mappings, 1);
	if (!safe->class_of)
		return -ENOMEM;
	for (size_t i = 0; i < target->nr_mappings; i++) {
		int class = attach_safe_classify(target, &target->mappings[i]);

		if (class < 0)
			return class;
		safe->class_of[i] = (uint8_t) class;
	}
	return 0;
}

static enum inject_class attach_safe_class_at(const struct inject_safe *safe, uint64_t address)
{
	const struct inject_mapping *mapping = inject_mapping_of(safe->target, address);

	return mapping ? (enum inject_class)safe->class_of[mapping - safe->target->mappings]
		       : INJECT_NOWHERE;
}

/* ---- libdw ---- */

static int attach_safe_find_elf(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
		char **ret_file, Elf **ret_elf)
{
	const struct inject_target *target = *data;
	const struct inject_mapping *mapping = inject_mapping_of(target, base);
	int fd = mapping && *mapping->path == '/' ? inject_mapping_open(target, mapping) : -1;

	*ret_elf = NULL;
	if (fd < 0)
		return dwfl_linux_proc_find_elf(module, data, name, base, ret_file, ret_elf);
	*ret_file = strdup(mapping->path);
	return fd;
}

/*
 * Do not search for separate debug files, on disk or by debuginfod: unwinding does not need them,
 * and a search would take long.
 */
static int attach_safe_find_no_debug_file(Dwfl_Module *module, void **data, const char *name,
		Dwarf_Addr base, const char *file, const char *debuglink, GElf_Word crc,
		char **found)
{
	(void)module;
	(void)data;
	(void)name;
	(void)base;
	(void)file;
	(void)debuglink;
	(void)crc;
	(void)found;
	return -1;
}

static pid_t attach_safe_next_thread(Dwfl *dwfl, void *user, void **thread_user)
{
	const struct inject_safe *safe = user;

	(void)dwfl;
	if (*thread_user)
		return 0;
	*thread_user = user;
	return safe->thread;
}

static bool attach_safe_get_thread(Dwfl *dwfl, pid_t thread, void *user, void **ret_thread_user)
{
	(void)dwfl;
	(void)thread;
	*ret_thread_user = user;
	return true;
}

static bool attach_safe_read_word(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *ret_word, void *user)
{
	const struct inject_safe *safe = user;

	(void)dwfl;
	if (address >= safe->stack_at &&
			address - safe->stack_at + sizeof(*ret_word) <= safe->stack_size) {
		memcpy(ret_word, safe->stack + (address - safe->stack_at), sizeof(*ret_word));
		return true;
	}
	return inject_read(safe->target, address, ret_word, sizeof(*ret_word));
}

static bool attach_safe_set_registers(Dwfl_Thread *thread, void *user)
{
	const struct inject_safe *safe = user;
	const struct user_regs_struct *from = safe->registers;
	const Dwarf_Word all[] = {from->rax, from->rdx, from->rcx, from->rbx, from->rsi, from->rdi,
			from->rbp, from->rsp, from->r8, from->r9, from->r10, from->r11, from->r12,
			from->r13, from->r14, from->r15, from->rip};

	return dwfl_thread_state_registers(thread, 0, sizeof(all) / sizeof(all[0]), all);
}

static const Dwfl_Callbacks callbacks = {
		.find_elf = attach_safe_find_elf,
		.find_debuginfo = attach_safe_find_no_debug_file,
};
static const Dwfl_Thread_Callbacks thread_callbacks = {
		.next_thread = attach_safe_next_thread,
		.get_thread = attach_safe_get_thread,
		.memory_read = attach_safe_read_word,
		.set_initial_registers = attach_safe_set_registers,
};

/* Pass the target to attach_safe_find_elf(), which only gets the data of the module. */
static int attach_safe_set_module_target(
		Dwfl_Module *module, void **ret_data, const char *name, Dwarf_Addr base, void *user)
{
	(void)module;
	(void)name;
	(void)base;
	*ret_data = user;
	return DWARF_CB_OK;
}

/* Read the unwind tables before any thread is stopped. */
static int attach_safe_read_tables(
		Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base, void *user)
{
	Dwarf_Addr bias;

	(void)data;
	(void)name;
	(void)base;
	(void)user;
	(void)dwfl_module_eh_cfi(module, &bias);
	return DWARF_CB_OK;
}

/* Returns 0, a positive errno, or -1 for an error of libdw. */
static int attach_safe_report_modules(struct inject_safe *safe)
{
	pid_t pid = safe->target->pid;
	int ret;

	safe->dwfl = dwfl_begin(&callbacks);
	if (!safe->dwfl)
		return -1;
	ret = dwfl_linux_proc_report(safe->dwfl, pid);
	if (ret)
		return ret;
	if (dwfl_report_end(safe->dwfl, NULL, NULL) ||
			dwfl_getmodules(safe->dwfl, attach_safe_set_module_target, safe->target,
					0) ||
			dwfl_getmodules(safe->dwfl, attach_safe_read_tables, NULL, 0) ||
			!dwfl_attach_state(safe->dwfl, NULL, pid, &thread_callbacks, safe))
		return -1;
	return 0;
}

struct inject_safe *inject_safe_open(struct inject_target *target)
{
	struct inject_safe *safe = calloc(1, sizeof(*safe));
	int ret = -ENOMEM;
	char name[64];

	if (safe) {
		safe->target = target;
		/* A held thread is judged without the stack and the files. */
		if (target->held_begin)
			return safe;
		ret = attach_safe_classify_all(safe);
	}
	if (!ret) {
		ret = attach_safe_report_modules(safe);
		if (!ret)
			return safe;
	}
	(void)inject_fail(target, INJECT_FAILED,
			"cannot attach to %d (%s): cannot read its list of loaded libraries: %s",
			target->pid, inject_name(target->pid, name, sizeof(name)),
			ret == -1 ? dwfl_errmsg(-1) : strerror(abs(ret)));
	inject_safe_close(safe);
	return NULL;
}

void inject_safe_close(struct inject_safe *safe)
{
	if (!safe)
		return;
	if (safe->dwfl)
		dwfl_end(safe->dwfl);
	free(safe->class_of);
	free(safe);
}

/* ---- one thread ---- */

static int attach_safe_add_frame(Dwfl_Frame *state, void *user)
{
	struct inject_safe *safe = user;
	struct attach_frame *frame = &safe->frames[safe->nr_frames];

	if (safe->nr_frames == FRAMES_MAX || inject_now() > safe->until ||
			!dwfl_frame_pc(state, &frame->pc, &frame->interrupted))
		return DWARF_CB_ABORT;
	/*
	 * Look up the call instruction: after a call that never returns, the next address may be in
	 * another function.
	 */
	if (!frame->interrupted)
		frame->pc--;
	safe->nr_frames++;
	return DWARF_CB_OK;
}

static void attach_safe_copy_stack(struct inject_safe *safe)
{
	const struct inject_mapping *mapping =
			inject_mapping_of(safe->target, safe->registers->rsp);
	uint64_t end = mapping ? mapping->end : safe->registers->rsp + INJECT_PAGE;
	size_t size = end - safe->registers->rsp < STACK_MAX ? end - safe->registers->rsp
							     : STACK_MAX;

	safe->stack_at = safe->registers->rsp;
	safe->stack_size = inject_read(safe->target, safe->stack_at, safe->stack, size) ? size : 0;
}

/* Returns the function of the C library that the program called, or NULL. */
static const char *attach_safe_entry_function(const struct inject_safe *safe)
{
	size_t i = 0;

	while (i < safe->nr_frames && attach_safe_class_at(safe, safe->frames[i].pc) == INJECT_LIBC)
		i++;
	return i ? inject_elf_name(&safe->target->libc,
				   safe->frames[i - 1].pc - safe->target->libc_bias)
		 : NULL;
}

static bool attach_safe_is_interrupted_in_libc(const struct inject_safe *safe, size_t i)
{
	return safe->frames[i].interrupted &&
			attach_safe_class_at(safe, safe->frames[i].pc) == INJECT_LIBC;
}

static enum inject_verdict attach_safe_judge_frames(
		const struct inject_safe *safe, bool waits, bool in_futex)
{
	size_t i;

	for (i = 0; i < safe->nr_frames; i++) {
		enum inject_class class = attach_safe_class_at(safe, safe->frames[i].pc);

		if (class == INJECT_LOADER || class == INJECT_ALLOCATOR)
			return INJECT_UNSAFE;
		if ((i || (!waits && !in_futex)) && attach_safe_is_interrupted_in_libc(safe, i))
			return INJECT_UNSAFE;
	}
	if (in_futex && !waits && attach_safe_class_at(safe, safe->frames[0].pc) == INJECT_LIBC &&
			!attach_safe_waits_for_program_lock(attach_safe_entry_function(safe)))
		return INJECT_UNSAFE;
	return INJECT_SAFE;
}

/* True if the thread is in a restartable sequence. */
static bool attach_safe_is_in_sequence(const struct inject_safe *safe)
{
	struct {
		uint64_t address;
		uint32_t size, signature, flags, zero;
	} rseq_area;
	struct {
		uint32_t version, flags;
		uint64_t start, length, abort;
	} sequence;
	uint64_t at;

	/* Older kernels have no such request; the C library then has no registered area either. */
	if (ptrace((enum __ptrace_request)GET_RSEQ_CONFIGURATION, safe->thread, sizeof(rseq_area),
			    &rseq_area) <= 0 ||
			!rseq_area.address)
		return false;
	if (!inject_read(safe->target, rseq_area.address + 8, &at, sizeof(at)))
		return true;
	if (!at)
		return false;
	return !inject_read(safe->target, at, &sequence, sizeof(sequence)) ||
			safe->registers->rip - sequence.start < sequence.length;
}

/*
 * True if the C library created the thread: its thread pointer points to a valid thread descriptor.
 */
static bool attach_safe_has_thread_data(const struct inject_safe *safe)
{
	uint64_t words[3];

	return safe->registers->fs_base &&
			inject_read(safe->target, safe->registers->fs_base, words, sizeof(words)) &&
			words[0] == safe->registers->fs_base &&
			words[2] == safe->registers->fs_base;
}

/* True if the thread waits in the code of exec-code.c: no function of the program has begun. */
static bool attach_safe_is_held(const struct inject_safe *safe)
{
	const struct inject_target *target = safe->target;

	return safe->registers->rip - target->held_begin < target->held_end - target->held_begin &&
			!(safe->registers->eflags & 0x400) && attach_safe_has_thread_data(safe) &&
			!attach_safe_is_in_sequence(safe);
}

enum inject_verdict inject_safe_judge(struct inject_safe *safe, pid_t thread,
		const struct user_regs_struct *registers, bool waits, uint64_t until)
{
	bool in_futex = registers->orig_rax == SYS_futex;
	enum inject_class class;
	int ret;

	safe->thread = thread;
	safe->registers = registers;
	safe->until = until;
	safe->nr_frames = 0;
	if (safe->target->held_begin)
		return attach_safe_is_held(safe) ? INJECT_SAFE : INJECT_UNSAFE;
	class = attach_safe_class_at(safe, registers->rip);
	/* First the checks that do not need the stack. */
	if (class == INJECT_LOADER || class == INJECT_ALLOCATOR || class == INJECT_NOWHERE ||
			(class == INJECT_LIBC && !waits && !in_futex) ||
			(registers->eflags & 0x400) || !attach_safe_has_thread_data(safe) ||
			attach_safe_is_in_sequence(safe))
		return INJECT_UNSAFE;
	attach_safe_copy_stack(safe);
	ret = dwfl_getthread_frames(safe->dwfl, thread, attach_safe_add_frame, safe);
	if (safe->nr_frames && attach_safe_judge_frames(safe, waits, in_futex) == INJECT_UNSAFE)
		return INJECT_UNSAFE;
	return ret || !safe->nr_frames ? INJECT_UNKNOWN : INJECT_SAFE;
}

void inject_safe_rehearse(struct inject_safe *safe, pid_t thread, uint64_t stack, uint64_t code)
{
	const struct user_regs_struct registers = {.rsp = stack, .rip = code};

	if (safe->rehearsed || safe->target->held_begin)
		return;
	safe->rehearsed = true;
	safe->thread = thread;
	safe->registers = &registers;
	safe->until = UINT64_MAX;
	safe->nr_frames = 0;
	attach_safe_copy_stack(safe);
	(void)dwfl_getthread_frames(safe->dwfl, thread, attach_safe_add_frame, safe);
	(void)attach_safe_judge_frames(safe, true, false);
}
