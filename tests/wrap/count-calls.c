/* SPDX-License-Identifier: MIT */
/*
 * An independent count of library calls: preloaded, each function below adds one to its counter and
 * jumps on to the next definition without touching arguments, results or stack. Knows nothing of SIDE.
 *
 * At exit the counts go as JSON to the file named by COUNT_CALLS_FILE ("%p" stands for the pid).
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* name, symbol version to ask for ("" = the default) */
#define FUNCTIONS(_)                                                                               \
	_(malloc, "") _(calloc, "") _(realloc, "") _(reallocarray, "") _(free, "")                 \
	_(posix_memalign, "") _(aligned_alloc, "") _(memalign, "") _(valloc, "")                   \
	_(open, "") _(open64, "") _(openat, "") _(openat64, "") _(close, "") _(read, "")           \
	_(write, "") _(pread, "") _(pread64, "") _(pwrite, "") _(pwrite64, "") _(readv, "")        \
	_(writev, "") _(lseek, "") _(lseek64, "") _(fsync, "") _(fdatasync, "") _(ftruncate, "")   \
	_(ftruncate64, "") _(unlink, "") _(access, "") _(rename, "") _(mmap, "") _(mmap64, "")     \
	_(munmap, "") _(fopen, "") _(fopen64, "") _(fclose, "") _(fflush, "") _(fread, "")         \
	_(fwrite, "") _(socket, "") _(connect, "") _(poll, "") _(pipe, "") _(dup2, "")             \
	_(pthread_mutex_init, "") _(pthread_mutex_destroy, "") _(pthread_mutex_lock, "")           \
	_(pthread_mutex_trylock, "") _(pthread_mutex_unlock, "") _(pthread_create, "")             \
	_(pthread_join, "") _(pthread_cond_wait, "GLIBC_2.3.2")                                    \
	_(pthread_cond_signal, "GLIBC_2.3.2") _(pthread_cond_broadcast, "GLIBC_2.3.2")             \
	_(pthread_rwlock_rdlock, "") _(pthread_rwlock_wrlock, "") _(pthread_rwlock_unlock, "")     \
	_(sem_wait, "") _(sem_post, "")

#define DECLARE(name, version)                                                                     \
	uint64_t count_##name __attribute__((visibility("hidden")));                               \
	void *real_##name __attribute__((visibility("hidden")));
FUNCTIONS(DECLARE)

/* All argument registers are kept, for calls that come before the constructor. */
#define TRAMPOLINE(name, version)                                                                  \
	__asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n"                \
		"	lock incq count_" #name "(%rip)\n"                                         \
		"	cmpq $0, real_" #name "(%rip)\n"                                           \
		"	jne 1f\n"                                                                  \
		"	push %rdi\n	push %rsi\n	push %rdx\n	push %rcx\n"               \
		"	push %r8\n	push %r9\n	push %rax\n"                               \
		"	call count_calls_resolve\n"                                                \
		"	pop %rax\n	pop %r9\n	pop %r8\n	pop %rcx\n"                \
		"	pop %rdx\n	pop %rsi\n	pop %rdi\n"                                \
		"1:	jmp *real_" #name "(%rip)\n"                                               \
		".size " #name ", .-" #name "\n");
FUNCTIONS(TRAMPOLINE)

void count_calls_resolve(void) __attribute__((visibility("hidden"), used));
void count_calls_resolve(void)
{
#define RESOLVE(name, version)                                                                     \
	real_##name = version[0] ? dlvsym(RTLD_NEXT, #name, version) : dlsym(RTLD_NEXT, #name);
	FUNCTIONS(RESOLVE)
}

static void (*volatile report_now)(void);

static void report(void)
{
	const char *pattern = getenv("COUNT_CALLS_FILE");
	char name[4096], text[8192];
	const char *mark;
	size_t size = 0;
	int fd;

	if (!pattern)
		return;
	mark = strstr(pattern, "%p");
	if (mark)
		snprintf(name, sizeof(name), "%.*s%d%s", (int) (mark - pattern), pattern, (int) getpid(),
				mark + 2);
	else
		snprintf(name, sizeof(name), "%s", pattern);
	/* First the text, so that writing it is not part of what it says. */
#define PRINT(name, version)                                                                       \
	size += (size_t) snprintf(text + size, sizeof(text) - size, "%s\"%s\": %llu",              \
			size ? ", " : "{", #name, (unsigned long long) count_##name);
	FUNCTIONS(PRINT)
	size += (size_t) snprintf(text + size, sizeof(text) - size, "}\n");
	fd = open(name, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0666);
	if (fd >= 0) {
		ssize_t written = write(fd, text, size);

		(void) written;
		close(fd);
	}
}

__attribute__((constructor)) static void begin(void)
{
	count_calls_resolve();
	report_now = report;
}

__attribute__((destructor)) static void end(void)
{
	if (report_now)
		report_now();
}
