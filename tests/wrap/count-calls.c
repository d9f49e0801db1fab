/* SPDX-License-Identifier: MIT */
/*
 * An independent count of library calls: preloaded, each function below adds one to its counter and
 * jumps to the next definition without changing arguments, results or stack. It shares no code with
 * side.
 *
 * The counters are in the file that COUNT_CALLS_FILE names, while the process runs and afterwards:
 * one page of 64-bit numbers, then their names, each with a newline. tests/wrap/count_calls.py
 * reads it.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* name, symbol version to ask for ("" = the default) */
/* clang-format off */
#define FUNCTIONS(_)										\
	_(malloc, "") _(calloc, "") _(realloc, "") _(reallocarray, "") _(free, "")		\
	_(posix_memalign, "") _(aligned_alloc, "") _(memalign, "") _(valloc, "")		\
	_(open, "") _(open64, "") _(openat, "") _(openat64, "") _(close, "") _(read, "")	\
	_(write, "") _(pread, "") _(pread64, "") _(pwrite, "") _(pwrite64, "")			\
	_(readv, "") _(writev, "") _(lseek, "") _(lseek64, "") _(fsync, "")			\
	_(fdatasync, "") _(ftruncate, "") _(ftruncate64, "") _(unlink, "") _(access, "")	\
	_(rename, "") _(mmap, "") _(mmap64, "") _(munmap, "") _(fopen, "") _(fopen64, "")	\
	_(fclose, "") _(fflush, "") _(fread, "") _(fwrite, "") _(socket, "")			\
	_(connect, "") _(poll, "") _(pipe, "") _(dup2, "") _(pthread_mutex_init, "")		\
	_(pthread_mutex_destroy, "") _(pthread_mutex_lock, "")					\
	_(pthread_mutex_trylock, "") _(pthread_mutex_unlock, "") _(pthread_create, "")		\
	_(pthread_join, "") _(pthread_cond_wait, "GLIBC_2.3.2")					\
	_(pthread_cond_signal, "GLIBC_2.3.2") _(pthread_cond_broadcast, "GLIBC_2.3.2")		\
	_(pthread_rwlock_rdlock, "") _(pthread_rwlock_wrlock, "")				\
	_(pthread_rwlock_unlock, "") _(sem_wait, "") _(sem_post, "")
/* clang-format on */

#define PAGE 4096

#define INDEX(name, version) AT_##name,
enum { FUNCTIONS(INDEX) NR_FUNCTIONS };

/* On a page of its own: begin() maps the file there. */
uint64_t counters[PAGE / sizeof(uint64_t)] __attribute__((visibility("hidden"), aligned(PAGE)));
_Static_assert(NR_FUNCTIONS <= PAGE / sizeof(uint64_t), "one page of counters");

#define DECLARE(name, version) void *real_##name __attribute__((visibility("hidden")));
FUNCTIONS(DECLARE)

/* The assembler has no enumerations. */
#define SYMBOL(name, version) __asm__(".set count_at_" #name ", %c0" : : "i"(AT_##name));
__attribute__((used)) static void define_indexes(void){FUNCTIONS(SYMBOL)}

/* All argument registers are saved, for calls before the constructor. */
#define TRAMPOLINE(name, version)                                                   \
	__asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n" \
		"	lock incq counters+8*count_at_" #name "(%rip)\n"            \
		"	cmpq $0, real_" #name "(%rip)\n"                            \
		"	jne 1f\n"                                                         \
		"	push %rdi\n	push %rsi\n	push %rdx\n	push %rcx\n"                  \
		"	push %r8\n	push %r9\n	push %rax\n"                                \
		"	call count_calls_resolve\n"                                       \
		"	pop %rax\n	pop %r9\n	pop %r8\n	pop %rcx\n"                        \
		"	pop %rdx\n	pop %rsi\n	pop %rdi\n"                                 \
		"1:	jmp *real_" #name "(%rip)\n"                                \
		".size " #name ", .-" #name "\n");
FUNCTIONS(TRAMPOLINE)

		void count_calls_resolve(void) __attribute__((visibility("hidden"), used));
void count_calls_resolve(void)
{
#define RESOLVE(name, version) \
	real_##name = version[0] ? dlvsym(RTLD_NEXT, #name, version) : dlsym(RTLD_NEXT, #name);
	FUNCTIONS(RESOLVE)
}

__attribute__((constructor)) static void begin(void)
{
	static const char names[] =
#define NAME(name, version) #name "\n"
			FUNCTIONS(NAME);
	const char *path = getenv("COUNT_CALLS_FILE");
	uint64_t early[PAGE / sizeof(uint64_t)];
	int fd;

	count_calls_resolve();
	if (!path)
		return;
	/* By system calls, so that the calls are not counted. */
	fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0666);
	memcpy(early, counters, sizeof(early));
	if (fd < 0 || syscall(SYS_pwrite64, fd, early, PAGE, 0) != PAGE ||
			syscall(SYS_pwrite64, fd, names, sizeof(names) - 1, PAGE) !=
					(long)sizeof(names) - 1 ||
			syscall(SYS_mmap, counters, PAGE, PROT_READ | PROT_WRITE,
					MAP_SHARED | MAP_FIXED, fd, 0) != (long)counters)
		_exit(96);
	syscall(SYS_close, fd);
}
