/* SPDX-License-Identifier: MIT */
/*
 * Runs a function that opens files of the traced program, without losing the program's locks.
 *
 * When a process closes a descriptor of a file, it loses all its POSIX locks on that file
 * (fcntl(2)), however many other descriptors it has. The locks belong to the table of descriptors,
 * so a close in another table loses none. A process that has such locks (/proc/locks) runs the
 * function in a task with a table of its own. Other processes run it directly, which is faster. A
 * lock that another thread takes after this check may be lost.
 *
 * The task is a thread, so that the process gets no child. It runs on the thread pointer of the
 * caller, which waits in the kernel meanwhile and touches no thread-local memory.
 */
#ifndef SIDE_BASE_INSIDE_OWN_TABLE_H
#define SIDE_BASE_INSIDE_OWN_TABLE_H

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <linux/futex.h>

#include "base/inside/raw.h"

#define OWN_TABLE_STACK ((size_t)64 << 10)
#define OWN_TABLE_TEXT 4096 /* a longer list is not compared: the process may have locks */

/* Is the line "1: POSIX  ADVISORY  WRITE PROCESS DEVICE:INODE START END" of this process? */
static inline bool own_table_is_lock_of(const char *line, const char *process, size_t size)
{
	static const char kind[] = "POSIX ";

	line += strcspn(line, " \n");
	line += strspn(line, " ");
	if (strncmp(line, kind, sizeof(kind) - 1) != 0)
		return false;
	for (unsigned int i = 0; i < 3; i++) {
		line += strcspn(line, " \n");
		line += strspn(line, " ");
	}
	return !strncmp(line, process, size) && line[size] == ' ';
}

/*
 * Also true if it is unknown: the list cannot be read, or one read does not return all of it. A read
 * ends before a lock that so many tasks wait for that their lines do not fit. A second read does not
 * complete the list, because locks may move in it meanwhile.
 */
static inline bool own_table_has_locks(char text[OWN_TABLE_TEXT])
{
	char process[16];
	const long name =
			raw_call(SYS_readlinkat, AT_FDCWD, "/proc/self", process, sizeof(process));
	long fd, size, more;

	if (name <= 0 || name == (long)sizeof(process))
		return true;
	fd = raw_call(SYS_openat, AT_FDCWD, "/proc/locks", O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return true;
	size = raw_call(SYS_read, (int)fd, text, (size_t)OWN_TABLE_TEXT - 1);
	more = size < 0 ? size : raw_call(SYS_read, (int)fd, text + size, 1L);
	raw_close((int)fd);
	if (more)
		return true;
	text[size] = '\0';
	while (*text) {
		if (own_table_is_lock_of(text, process, (size_t)name))
			return true;
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	return false;
}

#if defined(__x86_64__) && defined(__LP64__)

#define OWN_TABLE_SETXID 33 /* glibc's signal of setuid(), which waits for all threads */
#define OWN_TABLE_YIELDS 64 /* then the caller sleeps between its checks */
#define OWN_TABLE_PAUSE_NS 50000

/* Does not set errno: the task uses the same variable at the same time. */
static inline long own_table_call(long number, long first, long second, long third)
{
	register long timeout __asm__("r10") = 0;
	long ret = number;

	__asm__ volatile("syscall"
			 : "+a"(ret)
			 : "D"(first), "S"(second), "d"(third), "r"(timeout)
			 : "rcx", "r11", "memory");
	return ret;
}

/* Returns the id of the task, or a negative errno. The task finds its operands in registers. */
static inline long own_table_clone(
		void (*function)(void *), void *argument, char *stack, uint32_t *running)
{
	const long flags = CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
			CLONE_CHILD_CLEARTID;
	register uint32_t *word __asm__("r10") = running;
	register long no_tls __asm__("r8") = 0;
	register void (*in_task)(void *) __asm__("r9") = function;
	long ret = SYS_clone;

	__asm__ volatile("syscall\n\t"
			 "testq %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xorl %%ebp, %%ebp\n\t"
			 "movq %%rbx, %%rdi\n\t"
			 "call *%%r9\n\t"
			 "xorl %%edi, %%edi\n\t"
			 "movl $60, %%eax\n\t" /* SYS_exit */
			 "syscall\n\t"
			 "hlt\n"
			 "1:"
			 : "+a"(ret)
			 : "D"(flags), "S"(stack), "d"(0L), "r"(word), "r"(no_tls), "r"(in_task),
			 "b"(argument)
			 : "rcx", "r11", "memory");
	return ret;
}

/*
 * Waits until the task is no longer a thread of the process. Otherwise, a call that needs a process
 * of one thread (unshare(CLONE_NEWUSER)) could fail. A caller with a real-time policy sleeps,
 * because the task may have a lower priority (SCHED_RESET_ON_FORK) on the same processor.
 */
static inline void own_table_wait(long task, const uint32_t *running)
{
	const struct timespec delay = {.tv_nsec = OWN_TABLE_PAUSE_NS};
	const long process = own_table_call(SYS_getpid, 0, 0, 0);
	uint32_t now;

	/*
	 * Acquire: what the task has written. Pairs with the store of the kernel, which clears the
	 * word after the task's last instruction.
	 */
	while ((now = __atomic_load_n(running, __ATOMIC_ACQUIRE)) != 0)
		(void)own_table_call(SYS_futex, (long)running, FUTEX_WAIT, (long)now);
	for (unsigned int i = 0; !own_table_call(SYS_tgkill, process, task, 0); i++)
		(void)own_table_call(i < OWN_TABLE_YIELDS ? SYS_sched_yield : SYS_nanosleep,
				(long)&delay, 0, 0);
}

/* False: it did not run. */
static inline bool own_table_run_task(void (*function)(void *), void *argument, char *memory)
{
	/* A breakpoint ends a process whose thread blocks the signal of the breakpoint. */
	const uint64_t blocked = ~(1ull << (SIGTRAP - 1) | 1ull << (SIGILL - 1) |
			1ull << (OWN_TABLE_SETXID - 1));
	/* At the top, in the page that the stack needs anyway; the stack begins below it. */
	uint32_t *running = (uint32_t *)(void *)(memory + OWN_TABLE_STACK - 16);
	uint64_t before;
	long task;

	*running = 1;
	raw_call(SYS_rt_sigprocmask, SIG_BLOCK, &blocked, &before, sizeof(before));
	task = own_table_clone(function, argument, (char *)running, running);
	if (task > 0)
		own_table_wait(task, running);
	raw_call(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
	return task > 0;
}

#else

static inline bool own_table_run_task(void (*function)(void *), void *argument, char *memory)
{
	(void)function;
	(void)argument;
	(void)memory;
	return false;
}

#endif

/*
 * Runs the function and waits for its end. Returns false if it did not run. Never call this in a
 * sandbox. The function finds its descriptors in /proc/thread-self/. It has the stack of the caller,
 * or one of OWN_TABLE_STACK bytes. The function may use `scratch`.
 */
static inline bool own_table_run(
		void (*function)(void *), void *argument, char scratch[OWN_TABLE_TEXT])
{
	char *memory;
	bool ret;

	if (!own_table_has_locks(scratch)) {
		function(argument);
		return true;
	}
	memory = raw_mmap(NULL, OWN_TABLE_STACK, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (!memory)
		return false;
	ret = own_table_run_task(function, argument, memory);
	raw_munmap(memory, OWN_TABLE_STACK);
	return ret;
}

#endif /* SIDE_BASE_INSIDE_OWN_TABLE_H */
