/* SPDX-License-Identifier: MIT */
/*
 * Fails calls of allocations and system calls as faults.h describes. Preloaded, it reads the
 * environment:
 *
 *   FAULTS_CONTROL   the file with a struct faults_control, shared with the test
 *   FAULTS_MODULES   names of modules, separated by colons: the executable, or libraries by the
 *   beginning of their names. Calls of
 *                    others never fail. A process that has none of the modules is as without this
 *                    library.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

#include "faults.h"

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

#define EXPORT __attribute__((visibility("default")))
#define FRAMES 64

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

EXPORT struct faults_control *faults_control;

static const char *faults_modules = "";
static char faults_executable[4096];
static pid_t faults_process;
static __thread bool faults_is_busy __attribute__((tls_model("initial-exec")));

struct faults_walk {
	uint64_t callers[FAULTS_DEPTH];
	unsigned int nr, depth, frames;
	uintptr_t first; /* the return address of the called function: its callers begin here */
};

/* ---- Sites ---- */

static bool faults_is_listed(const char *name)
{
	const char *from = faults_modules, *end;
	size_t size;

	for (; *from; from = *end ? end + 1 : end) {
		end = strchrnul(from, ':');
		size = (size_t)(end - from);
		if (size && !strncmp(name, from, size))
			return true;
	}
	return false;
}

static bool faults_is_ours(const struct dl_find_object *object)
{
	const char *path = object->dlfo_link_map->l_name;
	const char *name = *path ? path : faults_executable, *slash = strrchr(name, '/');

	return faults_is_listed(slash ? slash + 1 : name);
}

static _Unwind_Reason_Code faults_frame(struct _Unwind_Context *context, void *data)
{
	struct faults_walk *walk = data;
	uintptr_t address = _Unwind_GetIP(context);
	struct dl_find_object object;

	if (++walk->frames > FRAMES ||
			(faults_control && faults_control->top &&
					_Unwind_GetCFA(context) >= faults_control->top))
		return _URC_END_OF_STACK;
	if (walk->first && address != walk->first)
		return _URC_NO_REASON;
	walk->first = 0;
	if (!address || _dl_find_object((void *)(address - 1), &object) || !faults_is_ours(&object))
		return _URC_NO_REASON;
	walk->callers[walk->nr++] = address - object.dlfo_link_map->l_addr;
	return walk->nr == walk->depth ? _URC_END_OF_STACK : _URC_NO_REASON;
}

/* FNV-1a. 0: no module under test is a caller. */
static uint64_t faults_site(const char *function, struct faults_walk *walk)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	walk->depth = faults_control->depth ? (unsigned int)faults_control->depth : 1;
	_Unwind_Backtrace(faults_frame, walk);
	if (!walk->nr)
		return 0;
	for (const char *at = function; *at; at++)
		hash = (hash ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
	for (unsigned int i = 0; i < walk->nr; i++)
		hash = (hash ^ walk->callers[i]) * UINT64_C(0x100000001b3);
	return hash | 1;
}

static void faults_note(uint64_t hash, const char *function, const struct faults_walk *walk)
{
	for (uint64_t tries = 0, i = hash; tries < FAULTS_SITES; tries++, i++) {
		struct faults_site *site = &faults_control->sites[i % FAULTS_SITES];
		uint64_t found = 0;

		/* Relaxed: the test reads the table when the process has ended or is idle. */
		if (__atomic_compare_exchange_n(&site->site, &found, hash, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED)) {
			strncpy(site->function, function, sizeof(site->function) - 1);
			memcpy(site->callers, walk->callers, sizeof(site->callers));
		} else if (found != hash) {
			continue;
		}
		__atomic_add_fetch(&site->times, 1, __ATOMIC_RELAXED);
		return;
	}
}

static bool faults_is_chosen(uint64_t site)
{
	struct faults_control *control = faults_control;
	uint64_t number = __atomic_add_fetch(&control->calls, 1, __ATOMIC_RELAXED), at;

	if ((control->every && number % control->every == 0) ||
			(control->from && number >= control->from))
		return true;
	if (control->site != site)
		return false;
	at = __atomic_fetch_add(&control->at_site, 1, __ATOMIC_RELAXED);
	return control->lasts ? at >= control->skip : at == control->skip;
}

/* For breakpoints. */
static __attribute__((noinline)) void faults_failed(void)
{
	__atomic_add_fetch(&faults_control->failed, 1, __ATOMIC_RELAXED);
}

/* Avoids the search for callers. */
static bool faults_is_done(void)
{
	const struct faults_control *control = faults_control;

	return __atomic_load_n(&control->failed, __ATOMIC_RELAXED) && !control->notes &&
			!control->lasts && !control->every && !control->from;
}

static void faults_begin(void)
{
	const char *path = getenv("FAULTS_CONTROL"), *modules = getenv("FAULTS_MODULES");
	struct faults_walk walk = {.depth = 1};
	void *memory;
	int fd;

	faults_process = getpid();
	if (readlink("/proc/self/exe", faults_executable, sizeof(faults_executable) - 1) < 0)
		abort();
	/* Its first call initializes libgcc, which allocates. */
	_Unwind_Backtrace(faults_frame, &walk);
	/* Linked into a test: calls of the test's executable. */
	if (!path || !modules) {
		faults_modules = strrchr(faults_executable, '/') + 1;
		return;
	}
	faults_modules = modules;
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return;
	memory = mmap(NULL, sizeof(*faults_control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (memory != MAP_FAILED)
		faults_control = memory;
}

/* Constructors of the modules under test may run before this one. */
static void faults_begin_once(void)
{
	static bool is_begun;

	if (__atomic_exchange_n(&is_begun, true, __ATOMIC_RELAXED))
		return;
	faults_is_busy = true;
	faults_begin();
	faults_is_busy = false;
}

static bool faults_is_counting(enum faults_kinds kind)
{
	if (faults_is_busy)
		return false;
	faults_begin_once();
	return faults_control && (faults_control->kinds & kind) && !faults_control->is_off &&
			!faults_is_done() &&
			(faults_control->children || getpid() == faults_process);
}

static bool faults_fails(enum faults_kinds kind, const char *function, void *from)
{
	struct faults_walk walk = {.first = (uintptr_t)from};
	int saved = errno;
	uint64_t site;
	bool fails;

	if (!faults_is_counting(kind))
		return false;
	faults_is_busy = true;
	site = faults_site(function, &walk);
	if (site && faults_control->notes)
		faults_note(site, function, &walk);
	fails = site && faults_is_chosen(site);
	if (fails)
		faults_failed();
	faults_is_busy = false;
	errno = saved;
	return fails;
}

/* ---- Allocations ---- */

#define FAULTS_NO_MEMORY(function) \
	(faults_fails(FAULTS_MEMORY, function, __builtin_return_address(0)) && (errno = ENOMEM))

EXPORT void *malloc(size_t size)
{
	return FAULTS_NO_MEMORY("malloc") ? NULL : __libc_malloc(size);
}

EXPORT void *calloc(size_t count, size_t size)
{
	return FAULTS_NO_MEMORY("calloc") ? NULL : __libc_calloc(count, size);
}

EXPORT void *realloc(void *old, size_t size)
{
	return FAULTS_NO_MEMORY("realloc") ? NULL : __libc_realloc(old, size);
}

EXPORT void *reallocarray(void *old, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return FAULTS_NO_MEMORY("reallocarray") ? NULL : __libc_realloc(old, bytes);
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	return FAULTS_NO_MEMORY("aligned_alloc") ? NULL : __libc_memalign(alignment, size);
}

EXPORT int posix_memalign(void **result, size_t alignment, size_t size)
{
	*result = FAULTS_NO_MEMORY("posix_memalign") ? NULL : __libc_memalign(alignment, size);
	return *result ? 0 : ENOMEM;
}

/* The function of the C library would allocate within itself. */
EXPORT char *strdup(const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = FAULTS_NO_MEMORY("strdup") ? NULL : __libc_malloc(size);

	return copy ? memcpy(copy, text, size) : NULL;
}

EXPORT char *strndup(const char *text, size_t most)
{
	size_t size = strnlen(text, most);
	char *copy = FAULTS_NO_MEMORY("strndup") ? NULL : __libc_malloc(size + 1);

	if (!copy)
		return NULL;
	copy[size] = 0;
	return memcpy(copy, text, size);
}

/* ---- System calls ---- */

static void *faults_real(void **real, const char *function)
{
	void *found = __atomic_load_n(real, __ATOMIC_RELAXED);
	bool was_busy = faults_is_busy;

	if (found)
		return found;
	faults_is_busy = true;
	found = dlsym(RTLD_NEXT, function);
	faults_is_busy = was_busy;
	if (!found)
		abort();
	/* Relaxed: each thread finds the same address. */
	__atomic_store_n(real, found, __ATOMIC_RELAXED);
	return found;
}

typedef long faults_call(long, long, long, long, long, long, long);

/*
 * A function with the arguments and the result in general registers, whatever their types: the
 * calling conventions of x86-64 and AArch64 pass all of them the same way. Further arguments are
 * passed on and not used. The name of the symbol differs from that of the C function, which has no
 * prototype in a header. `site` is the name of the function in the test's table.
 */
#define FAULTS_DEFINE_AS(name, site, condition, number, bad)                                       \
	EXPORT long faults_##name(long a, long b, long c, long d, long e, long f, long g) __asm__( \
			#name);                                                                    \
	long faults_##name(long a, long b, long c, long d, long e, long f, long g)                 \
	{                                                                                          \
		static void *real;                                                                 \
		faults_call *call = (faults_call *)faults_real(&real, #name);                      \
		if ((condition) &&                                                                 \
				faults_fails(FAULTS_CALLS, site, __builtin_return_address(0))) {   \
			errno = (number);                                                          \
			return (bad);                                                              \
		}                                                                                  \
		return call(a, b, c, d, e, f, g);                                                  \
	}

#define FAULTS_DEFINE(name, condition, number, bad) \
	FAULTS_DEFINE_AS(name, #name, condition, number, bad)
#define FAULTS_CALL(name, number, bad) FAULTS_DEFINE(name, true, number, bad)
/* Messages must not fail. */
#define FAULTS_UNLESS_STDERR(name, number, bad) FAULTS_DEFINE(name, a != STDERR_FILENO, number, bad)

/* Calls that cannot fail in a running process, and calls whose result is no error. */
static bool faults_can_fail(long number)
{
	static const short never[] = {SYS_getpid, SYS_gettid, SYS_getppid, SYS_getuid, SYS_geteuid,
			SYS_getgid, SYS_getegid, SYS_futex, SYS_sched_yield, SYS_nanosleep,
			SYS_clock_nanosleep, SYS_clock_gettime, SYS_close, SYS_munmap, SYS_exit,
			SYS_exit_group, SYS_rt_sigprocmask, SYS_rt_sigaction, SYS_rt_sigreturn,
			SYS_kill, SYS_tgkill, SYS_getcpu, SYS_sched_getaffinity};

	for (size_t i = 0; i < sizeof(never) / sizeof(*never); i++)
		if (number == never[i])
			return false;
	return true;
}

FAULTS_DEFINE_AS(syscall, a == SYS_futex_waitv ? "futex_waitv" : "syscall", faults_can_fail(a),
		a == SYS_mmap ? ENOMEM
				: a == SYS_openat || a == SYS_socket || a == SYS_memfd_create
				? EMFILE
				: EIO,
		-1)

#include "faults-calls.h"
