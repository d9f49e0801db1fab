/* SPDX-License-Identifier: MIT */
/*
 * Runs a function that opens files of the traced program, without losing the program's locks.
 *
 * When a process closes a descriptor of a file, it loses all its POSIX locks on that file
 * (fcntl(2)), however many other descriptors it has. The locks belong to the table of descriptors,
 * so a close in another table loses none. A process that has such locks runs the function in a task
 * with a table of its own. Other processes run it directly, which is faster. A lock that another
 * thread takes after this check may be lost.
 *
 * The check reads fdinfo of the open files, which has a line for each lock. To read /proc/locks
 * takes about 10 ms, because the kernel waits for each processor that changes locks.
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
#include <sys/stat.h>
#include <time.h>

#include <linux/futex.h>

#include "base/inside/raw.h"
#include "base/inside/task.h"

#define OWN_TABLE_STACK ((size_t)64 << 10)
#define OWN_TABLE_TEXT 4096 /* one half for the names of descriptors, one for a file's locks */
#define OWN_TABLE_FILES 8   /* more are not read: the process may have locks */

/* Of getdents64(2). */
struct own_table_entry {
	uint64_t inode;
	int64_t offset;
	uint16_t size;
	uint8_t kind;
	char name[];
};

/* Has the text a line "lock:   1: POSIX  ADVISORY  WRITE PROCESS DEVICE:INODE START END"? */
static inline bool own_table_names_lock(const char *text)
{
	static const char line[] = "lock:", kind[] = "POSIX ";

	while (*text) {
		if (!strncmp(text, line, sizeof(line) - 1)) {
			text += strcspn(text, " \n");
			text += strspn(text, " ");
			if (!strncmp(text, kind, sizeof(kind) - 1))
				return true;
		}
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	return false;
}

/* True if the descriptor is of a regular file. Others have no content that could be locked. */
static inline bool own_table_is_file(int directory, const char *name)
{
#ifdef SYS_newfstatat
	struct stat status;

	return !raw_call(SYS_newfstatat, directory, name, &status, 0) && S_ISREG(status.st_mode);
#else
	(void)directory;
	(void)name;
	return true;
#endif
}

/* Also true if it is unknown. */
static inline bool own_table_has_lock(const char *name, char *text, size_t size)
{
	static const char before[] = "/proc/thread-self/fdinfo/";
	char path[sizeof(before) + 16];
	const size_t length = strlen(name);
	long fd, got;

	if (length >= 16)
		return true;
	memcpy(path, before, sizeof(before) - 1);
	memcpy(path + sizeof(before) - 1, name, length + 1);
	fd = raw_call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return true;
	got = raw_call(SYS_read, (int)fd, text, size - 1);
	raw_close((int)fd);
	if (got < 0 || (size_t)got == size - 1)
		return true;
	text[got] = '\0';
	return own_table_names_lock(text);
}

/* `size` bytes of entries are at the beginning of the text. */
static inline bool own_table_search(int directory, char text[OWN_TABLE_TEXT], size_t size)
{
	const size_t half = OWN_TABLE_TEXT / 2;
	const struct own_table_entry *entry;
	unsigned int files = 0;

	for (size_t at = 0; at < size; at += entry->size) {
		entry = (const struct own_table_entry *)(const void *)(text + at);
		if (*entry->name == '.' || !own_table_is_file(directory, entry->name))
			continue;
		if (files++ == OWN_TABLE_FILES ||
				own_table_has_lock(entry->name, text + half, half))
			return true;
	}
	return false;
}

/* Also true if it is unknown: the list cannot be read, or is too long. */
static inline bool own_table_has_locks(char text[OWN_TABLE_TEXT])
{
	const long fd = raw_call(SYS_openat, AT_FDCWD, "/proc/thread-self/fd",
			O_RDONLY | O_CLOEXEC | O_DIRECTORY);
	long size, more;
	bool ret;

	if (fd < 0)
		return true;
	size = raw_call(SYS_getdents64, (int)fd, text, (size_t)OWN_TABLE_TEXT / 2);
	more = size < 0 ? size
			: raw_call(SYS_getdents64, (int)fd, text + OWN_TABLE_TEXT / 2,
					  (size_t)OWN_TABLE_TEXT / 2);
	ret = more || own_table_search((int)fd, text, (size_t)size);
	raw_close((int)fd);
	return ret;
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

struct own_table_task {
	void (*function)(void *);
	void *argument;
};

static inline int own_table_begin_task(void *user)
{
	const struct own_table_task *task = user;

	task->function(task->argument);
	return 0;
}

/* False: it did not run. */
static inline bool own_table_run_task(void (*function)(void *), void *argument, char *memory)
{
	/* A breakpoint ends a process whose thread blocks the signal of the breakpoint. */
	const uint64_t blocked = ~(1ull << (SIGTRAP - 1) | 1ull << (SIGILL - 1) |
			1ull << (OWN_TABLE_SETXID - 1));
	/* At the top, in the page that the stack needs anyway; the stack begins below it. */
	uint32_t *running = (uint32_t *)(void *)(memory + OWN_TABLE_STACK - 16);
	const long flags = CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
			CLONE_CHILD_CLEARTID;
	struct own_table_task begin = {function, argument};
	uint64_t before;
	long task;

	*running = 1;
	raw_call(SYS_rt_sigprocmask, SIG_BLOCK, &blocked, &before, sizeof(before));
	task = task_start(flags, own_table_begin_task, &begin, (char *)running, running, NULL);
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
