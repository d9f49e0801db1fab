/* SPDX-License-Identifier: MIT */
/* What an answer about functions counts beside their totals: percentiles, errors, off-CPU time. */
#include "analysis/calls-detail.h"

#include <stdlib.h>
#include <string.h>

struct calls_convention {
	const char *function;
	enum calls_errors errors;
};

/*
 * Sorted by name. realloc() is missing: its result NULL is no error if the size is 0. So are
 * functions such as fgets() and getenv(), whose NULL can mean something else.
 */
/* clang-format off */
static const struct calls_convention calls_conventions[] = {
	{"accept", CALLS_ERRORS_INT},
	{"accept4", CALLS_ERRORS_INT},
	{"access", CALLS_ERRORS_INT},
	{"aligned_alloc", CALLS_ERRORS_POINTER},
	{"asprintf", CALLS_ERRORS_INT},
	{"bind", CALLS_ERRORS_INT},
	{"calloc", CALLS_ERRORS_POINTER},
	{"chdir", CALLS_ERRORS_INT},
	{"chmod", CALLS_ERRORS_INT},
	{"chown", CALLS_ERRORS_INT},
	{"clock_getres", CALLS_ERRORS_INT},
	{"clock_gettime", CALLS_ERRORS_INT},
	{"clock_nanosleep", CALLS_ERRORS_NUMBER},
	{"clock_settime", CALLS_ERRORS_INT},
	{"close", CALLS_ERRORS_INT},
	{"closedir", CALLS_ERRORS_INT},
	{"connect", CALLS_ERRORS_INT},
	{"copy_file_range", CALLS_ERRORS_LONG},
	{"dlopen", CALLS_ERRORS_POINTER},
	{"dprintf", CALLS_ERRORS_INT},
	{"dup", CALLS_ERRORS_INT},
	{"dup2", CALLS_ERRORS_INT},
	{"dup3", CALLS_ERRORS_INT},
	{"epoll_create", CALLS_ERRORS_INT},
	{"epoll_create1", CALLS_ERRORS_INT},
	{"epoll_ctl", CALLS_ERRORS_INT},
	{"epoll_wait", CALLS_ERRORS_INT},
	{"eventfd", CALLS_ERRORS_INT},
	{"execv", CALLS_ERRORS_INT},
	{"execve", CALLS_ERRORS_INT},
	{"execvp", CALLS_ERRORS_INT},
	{"execvpe", CALLS_ERRORS_INT},
	{"faccessat", CALLS_ERRORS_INT},
	{"fchdir", CALLS_ERRORS_INT},
	{"fchmod", CALLS_ERRORS_INT},
	{"fchmodat", CALLS_ERRORS_INT},
	{"fchown", CALLS_ERRORS_INT},
	{"fchownat", CALLS_ERRORS_INT},
	{"fclose", CALLS_ERRORS_INT},
	{"fcntl", CALLS_ERRORS_INT},
	{"fcntl64", CALLS_ERRORS_INT},
	{"fdatasync", CALLS_ERRORS_INT},
	{"fdopen", CALLS_ERRORS_POINTER},
	{"fdopendir", CALLS_ERRORS_POINTER},
	{"fflush", CALLS_ERRORS_INT},
	{"fileno", CALLS_ERRORS_INT},
	{"flock", CALLS_ERRORS_INT},
	{"fmemopen", CALLS_ERRORS_POINTER},
	{"fopen", CALLS_ERRORS_POINTER},
	{"fopen64", CALLS_ERRORS_POINTER},
	{"fopencookie", CALLS_ERRORS_POINTER},
	{"fork", CALLS_ERRORS_INT},
	{"fprintf", CALLS_ERRORS_INT},
	{"fputc", CALLS_ERRORS_INT},
	{"fputs", CALLS_ERRORS_INT},
	{"freopen", CALLS_ERRORS_POINTER},
	{"freopen64", CALLS_ERRORS_POINTER},
	{"fseek", CALLS_ERRORS_INT},
	{"fseeko", CALLS_ERRORS_INT},
	{"fstat", CALLS_ERRORS_INT},
	{"fstat64", CALLS_ERRORS_INT},
	{"fstatat", CALLS_ERRORS_INT},
	{"fstatat64", CALLS_ERRORS_INT},
	{"fsync", CALLS_ERRORS_INT},
	{"ftell", CALLS_ERRORS_LONG},
	{"ftello", CALLS_ERRORS_LONG},
	{"ftruncate", CALLS_ERRORS_INT},
	{"ftruncate64", CALLS_ERRORS_INT},
	{"futimens", CALLS_ERRORS_INT},
	{"getaddrinfo", CALLS_ERRORS_NUMBER},
	{"getcwd", CALLS_ERRORS_POINTER},
	{"getitimer", CALLS_ERRORS_INT},
	{"getpeername", CALLS_ERRORS_INT},
	{"getrandom", CALLS_ERRORS_LONG},
	{"getrlimit", CALLS_ERRORS_INT},
	{"getrlimit64", CALLS_ERRORS_INT},
	{"getrusage", CALLS_ERRORS_INT},
	{"getsockname", CALLS_ERRORS_INT},
	{"getsockopt", CALLS_ERRORS_INT},
	{"gettimeofday", CALLS_ERRORS_INT},
	{"inotify_add_watch", CALLS_ERRORS_INT},
	{"inotify_init", CALLS_ERRORS_INT},
	{"inotify_init1", CALLS_ERRORS_INT},
	{"ioctl", CALLS_ERRORS_INT},
	{"kill", CALLS_ERRORS_INT},
	{"lchown", CALLS_ERRORS_INT},
	{"link", CALLS_ERRORS_INT},
	{"linkat", CALLS_ERRORS_INT},
	{"listen", CALLS_ERRORS_INT},
	{"lockf", CALLS_ERRORS_INT},
	{"lseek", CALLS_ERRORS_LONG},
	{"lseek64", CALLS_ERRORS_LONG},
	{"lstat", CALLS_ERRORS_INT},
	{"lstat64", CALLS_ERRORS_INT},
	{"madvise", CALLS_ERRORS_INT},
	{"malloc", CALLS_ERRORS_POINTER},
	{"memalign", CALLS_ERRORS_POINTER},
	{"memfd_create", CALLS_ERRORS_INT},
	{"mkdir", CALLS_ERRORS_INT},
	{"mkdirat", CALLS_ERRORS_INT},
	{"mkdtemp", CALLS_ERRORS_POINTER},
	{"mkfifo", CALLS_ERRORS_INT},
	{"mkostemp", CALLS_ERRORS_INT},
	{"mkstemp", CALLS_ERRORS_INT},
	{"mkstemp64", CALLS_ERRORS_INT},
	{"mlock", CALLS_ERRORS_INT},
	{"mmap", CALLS_ERRORS_ALL_SET},
	{"mmap64", CALLS_ERRORS_ALL_SET},
	{"mprotect", CALLS_ERRORS_INT},
	{"mremap", CALLS_ERRORS_ALL_SET},
	{"msync", CALLS_ERRORS_INT},
	{"munlock", CALLS_ERRORS_INT},
	{"munmap", CALLS_ERRORS_INT},
	{"nanosleep", CALLS_ERRORS_INT},
	{"open", CALLS_ERRORS_INT},
	{"open64", CALLS_ERRORS_INT},
	{"open_memstream", CALLS_ERRORS_POINTER},
	{"openat", CALLS_ERRORS_INT},
	{"openat64", CALLS_ERRORS_INT},
	{"opendir", CALLS_ERRORS_POINTER},
	{"pause", CALLS_ERRORS_INT},
	{"pipe", CALLS_ERRORS_INT},
	{"pipe2", CALLS_ERRORS_INT},
	{"poll", CALLS_ERRORS_INT},
	{"popen", CALLS_ERRORS_POINTER},
	{"posix_fadvise", CALLS_ERRORS_NUMBER},
	{"posix_fallocate", CALLS_ERRORS_NUMBER},
	{"posix_memalign", CALLS_ERRORS_NUMBER},
	{"posix_spawn", CALLS_ERRORS_NUMBER},
	{"posix_spawnp", CALLS_ERRORS_NUMBER},
	{"ppoll", CALLS_ERRORS_INT},
	{"prctl", CALLS_ERRORS_INT},
	{"pread", CALLS_ERRORS_LONG},
	{"pread64", CALLS_ERRORS_LONG},
	{"preadv", CALLS_ERRORS_LONG},
	{"printf", CALLS_ERRORS_INT},
	{"process_vm_readv", CALLS_ERRORS_LONG},
	{"process_vm_writev", CALLS_ERRORS_LONG},
	{"pselect", CALLS_ERRORS_INT},
	{"pthread_attr_init", CALLS_ERRORS_NUMBER},
	{"pthread_attr_setstacksize", CALLS_ERRORS_NUMBER},
	{"pthread_barrier_init", CALLS_ERRORS_NUMBER},
	{"pthread_cancel", CALLS_ERRORS_NUMBER},
	{"pthread_cond_broadcast", CALLS_ERRORS_NUMBER},
	{"pthread_cond_init", CALLS_ERRORS_NUMBER},
	{"pthread_cond_signal", CALLS_ERRORS_NUMBER},
	{"pthread_cond_timedwait", CALLS_ERRORS_NUMBER},
	{"pthread_cond_wait", CALLS_ERRORS_NUMBER},
	{"pthread_create", CALLS_ERRORS_NUMBER},
	{"pthread_detach", CALLS_ERRORS_NUMBER},
	{"pthread_join", CALLS_ERRORS_NUMBER},
	{"pthread_key_create", CALLS_ERRORS_NUMBER},
	{"pthread_kill", CALLS_ERRORS_NUMBER},
	{"pthread_mutex_init", CALLS_ERRORS_NUMBER},
	{"pthread_mutex_lock", CALLS_ERRORS_NUMBER},
	{"pthread_mutex_timedlock", CALLS_ERRORS_NUMBER},
	{"pthread_mutex_trylock", CALLS_ERRORS_NUMBER},
	{"pthread_mutex_unlock", CALLS_ERRORS_NUMBER},
	{"pthread_once", CALLS_ERRORS_NUMBER},
	{"pthread_rwlock_rdlock", CALLS_ERRORS_NUMBER},
	{"pthread_rwlock_unlock", CALLS_ERRORS_NUMBER},
	{"pthread_rwlock_wrlock", CALLS_ERRORS_NUMBER},
	{"pthread_setname_np", CALLS_ERRORS_NUMBER},
	{"pthread_setspecific", CALLS_ERRORS_NUMBER},
	{"pthread_sigmask", CALLS_ERRORS_NUMBER},
	{"putc", CALLS_ERRORS_INT},
	{"putchar", CALLS_ERRORS_INT},
	{"putenv", CALLS_ERRORS_INT},
	{"puts", CALLS_ERRORS_INT},
	{"pvalloc", CALLS_ERRORS_POINTER},
	{"pwrite", CALLS_ERRORS_LONG},
	{"pwrite64", CALLS_ERRORS_LONG},
	{"pwritev", CALLS_ERRORS_LONG},
	{"raise", CALLS_ERRORS_INT},
	{"read", CALLS_ERRORS_LONG},
	{"readdir_r", CALLS_ERRORS_NUMBER},
	{"readlink", CALLS_ERRORS_LONG},
	{"readlinkat", CALLS_ERRORS_LONG},
	{"readv", CALLS_ERRORS_LONG},
	{"reallocarray", CALLS_ERRORS_POINTER},
	{"realpath", CALLS_ERRORS_POINTER},
	{"recv", CALLS_ERRORS_LONG},
	{"recvfrom", CALLS_ERRORS_LONG},
	{"recvmsg", CALLS_ERRORS_LONG},
	{"remove", CALLS_ERRORS_INT},
	{"rename", CALLS_ERRORS_INT},
	{"renameat", CALLS_ERRORS_INT},
	{"renameat2", CALLS_ERRORS_INT},
	{"rmdir", CALLS_ERRORS_INT},
	{"sbrk", CALLS_ERRORS_ALL_SET},
	{"select", CALLS_ERRORS_INT},
	{"sem_open", CALLS_ERRORS_POINTER},
	{"sem_post", CALLS_ERRORS_INT},
	{"sem_timedwait", CALLS_ERRORS_INT},
	{"sem_trywait", CALLS_ERRORS_INT},
	{"sem_wait", CALLS_ERRORS_INT},
	{"semctl", CALLS_ERRORS_INT},
	{"semget", CALLS_ERRORS_INT},
	{"send", CALLS_ERRORS_LONG},
	{"sendfile", CALLS_ERRORS_LONG},
	{"sendfile64", CALLS_ERRORS_LONG},
	{"sendmsg", CALLS_ERRORS_LONG},
	{"sendto", CALLS_ERRORS_LONG},
	{"setenv", CALLS_ERRORS_INT},
	{"setgid", CALLS_ERRORS_INT},
	{"setitimer", CALLS_ERRORS_INT},
	{"setlocale", CALLS_ERRORS_POINTER},
	{"setpgid", CALLS_ERRORS_INT},
	{"setrlimit", CALLS_ERRORS_INT},
	{"setrlimit64", CALLS_ERRORS_INT},
	{"setsid", CALLS_ERRORS_INT},
	{"setsockopt", CALLS_ERRORS_INT},
	{"setuid", CALLS_ERRORS_INT},
	{"shmat", CALLS_ERRORS_ALL_SET},
	{"sigaction", CALLS_ERRORS_INT},
	{"signalfd", CALLS_ERRORS_INT},
	{"sigprocmask", CALLS_ERRORS_INT},
	{"sigqueue", CALLS_ERRORS_INT},
	{"sigsuspend", CALLS_ERRORS_INT},
	{"sigwait", CALLS_ERRORS_NUMBER},
	{"snprintf", CALLS_ERRORS_INT},
	{"socket", CALLS_ERRORS_INT},
	{"socketpair", CALLS_ERRORS_INT},
	{"splice", CALLS_ERRORS_LONG},
	{"sprintf", CALLS_ERRORS_INT},
	{"stat", CALLS_ERRORS_INT},
	{"stat64", CALLS_ERRORS_INT},
	{"statfs", CALLS_ERRORS_INT},
	{"statfs64", CALLS_ERRORS_INT},
	{"statvfs", CALLS_ERRORS_INT},
	{"statvfs64", CALLS_ERRORS_INT},
	{"statx", CALLS_ERRORS_INT},
	{"strdup", CALLS_ERRORS_POINTER},
	{"strndup", CALLS_ERRORS_POINTER},
	{"symlink", CALLS_ERRORS_INT},
	{"symlinkat", CALLS_ERRORS_INT},
	{"syscall", CALLS_ERRORS_LONG},
	{"sysconf", CALLS_ERRORS_LONG},
	{"system", CALLS_ERRORS_INT},
	{"tee", CALLS_ERRORS_LONG},
	{"timer_create", CALLS_ERRORS_INT},
	{"timer_settime", CALLS_ERRORS_INT},
	{"timerfd_create", CALLS_ERRORS_INT},
	{"timerfd_settime", CALLS_ERRORS_INT},
	{"tmpfile", CALLS_ERRORS_POINTER},
	{"tmpfile64", CALLS_ERRORS_POINTER},
	{"truncate", CALLS_ERRORS_INT},
	{"truncate64", CALLS_ERRORS_INT},
	{"uname", CALLS_ERRORS_INT},
	{"unlink", CALLS_ERRORS_INT},
	{"unlinkat", CALLS_ERRORS_INT},
	{"unsetenv", CALLS_ERRORS_INT},
	{"usleep", CALLS_ERRORS_INT},
	{"utime", CALLS_ERRORS_INT},
	{"utimensat", CALLS_ERRORS_INT},
	{"utimes", CALLS_ERRORS_INT},
	{"valloc", CALLS_ERRORS_POINTER},
	{"vasprintf", CALLS_ERRORS_INT},
	{"vdprintf", CALLS_ERRORS_INT},
	{"vfork", CALLS_ERRORS_INT},
	{"vfprintf", CALLS_ERRORS_INT},
	{"vmsplice", CALLS_ERRORS_LONG},
	{"vprintf", CALLS_ERRORS_INT},
	{"vsnprintf", CALLS_ERRORS_INT},
	{"wait", CALLS_ERRORS_INT},
	{"wait4", CALLS_ERRORS_INT},
	{"waitid", CALLS_ERRORS_INT},
	{"waitpid", CALLS_ERRORS_INT},
	{"write", CALLS_ERRORS_LONG},
	{"writev", CALLS_ERRORS_LONG},
};
/* clang-format on */

static int calls_convention_compare(const void *name, const void *row)
{
	return strcmp(name, ((const struct calls_convention *)row)->function);
}

enum calls_errors calls_errors_find(const char *function)
{
	const struct calls_convention *row = bsearch(function, calls_conventions,
			sizeof(calls_conventions) / sizeof(*calls_conventions),
			sizeof(*calls_conventions), calls_convention_compare);

	return row ? row->errors : CALLS_ERRORS_UNKNOWN;
}

struct calls_detail *calls_detail_create(const char *function)
{
	struct calls_detail *detail = calloc(1, sizeof(*detail));

	if (detail)
		detail->convention = calls_errors_find(function);
	return detail;
}

void calls_detail_free(struct calls_detail *detail)
{
	if (detail) {
		report_stats_free(&detail->durations);
		report_stats_free(&detail->selves);
	}
	free(detail);
}

void calls_detail_add_result(struct calls_detail *detail, int64_t result)
{
	bool failed = false;

	switch (detail->convention) {
	case CALLS_ERRORS_UNKNOWN: return;
	/* The upper half of the register is not part of an int. */
	case CALLS_ERRORS_INT: failed = (int32_t)result == -1; break;
	case CALLS_ERRORS_LONG:
	case CALLS_ERRORS_ALL_SET: failed = result == -1; break;
	case CALLS_ERRORS_POINTER: failed = !result; break;
	case CALLS_ERRORS_NUMBER: failed = (int32_t)result != 0; break;
	}
	detail->results++;
	detail->errors += failed;
}

void calls_detail_add_cpu(
		struct calls_detail *detail, uint64_t duration, uint64_t begin, uint64_t end)
{
	if (begin == CALLS_CPU_UNKNOWN || end == CALLS_CPU_UNKNOWN || end < begin)
		return;
	detail->measured_ns += duration;
	if (duration > end - begin)
		detail->off_cpu_ns += duration - (end - begin);
}
