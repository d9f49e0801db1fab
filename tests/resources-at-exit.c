/* SPDX-License-Identifier: MIT */
/*
 * Preloaded into C tests and into the commands that tests run: reports what a process still holds
 * at its end.
 *
 * Counted from the begin of main() on: memory from malloc(), mappings, descriptors, threads that
 * are neither joined nor detached, and locks. A process that holds more than at its begin prints
 * each one with the address of its caller, and ends with status 97. Memory that only a library of
 * the system or the test itself can reach is permitted: they keep caches until the process ends.
 *
 * meson sets LD_PRELOAD for each test (tests/meson.build). In a test that is no C program, an
 * interpreter, only execve() is replaced: a command of this build gets LD_PRELOAD again. No other
 * program has the library, because it removes itself from the environment.
 *
 *   RESOURCES_AT_EXIT=off     set by a test: the commands that it runs are not checked
 *   RESOURCES_AT_EXIT=print   the report alone, without the status
 *
 * The report is also appended to $SIDE_RUNTIME/resources-at-exit, because a daemon in the
 * background has no standard error that a test reads.
 *
 * A process that a signal or _exit() ends is not checked, and neither is a child of fork().
 */
/* Both names of mmap() are defined below. */
#undef _FILE_OFFSET_BITS
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define STATUS 97
#define DESCRIPTORS 1024
#define RANGES 8192
#define SHOWN 20            /* lines */
#define TRIES 50            /* within a second */
#define SCANNED (64u << 20) /* bytes of one mapping */
#define ENVIRONMENT 4096    /* bytes of one variable */
#define VARIABLES 2048
#define PRELOAD "LD_PRELOAD="
#define SETTING "RESOURCES_AT_EXIT"
#define MANY_SPINS 10000000
#define EXPORT __attribute__((visibility("default")))
#define CALLER ((uintptr_t)__builtin_return_address(0))

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *memory);

struct allocation {
	uintptr_t memory; /* 0: this entry is free */
	size_t size;
	uintptr_t caller;
};

struct range {
	uintptr_t begin, end, caller;
};

struct block { /* an allocation or a mapping, at the end */
	uintptr_t begin, end, caller;
	size_t size;
	bool is_mapping, is_reached;
};

static struct {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void (*free)(void *);
	void *(*mmap)(void *, size_t, int, int, int, off_t);
	int (*munmap)(void *, size_t);
	void *(*mremap)(void *, size_t, size_t, int, ...);
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	int (*join)(pthread_t, void **);
	int (*tryjoin)(pthread_t, void **);
	int (*detach)(pthread_t);
	int (*lock)(pthread_mutex_t *);
	int (*trylock)(pthread_mutex_t *);
	int (*timedlock)(pthread_mutex_t *, const struct timespec *);
	int (*clocklock)(pthread_mutex_t *, clockid_t, const struct timespec *);
	int (*unlock)(pthread_mutex_t *);
	int (*execve)(const char *, char *const[], char *const[]);
	int (*spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *,
			const posix_spawnattr_t *, char *const[], char *const[]);
	int (*spawnp)(pid_t *, const char *, const posix_spawn_file_actions_t *,
			const posix_spawnattr_t *, char *const[], char *const[]);
} next;

static char library[ENVIRONMENT]; /* the path of this library, as LD_PRELOAD has it */
static bool is_checked;           /* this process is checked at its end */
static bool is_test;              /* a C test, and not a command */
static bool is_printed_only;
static char report_path[ENVIRONMENT];
static int report_fd = -1;
static pid_t owner;

static _Thread_local bool
		is_counting; /* this thread reads the table: what it allocates is not counted */
static atomic_flag table_lock = ATOMIC_FLAG_INIT;
static struct allocation *table;
static size_t slots, used;
static struct range ranges[RANGES];
static size_t range_count;
static uint64_t descriptors[DESCRIPTORS / 64];
static atomic_long threads_unjoined, threads_detached, locks_held; /* detached: since the begin */

#define NEXT(function, name) *(void **)&next.function = dlsym(RTLD_NEXT, name)

static void find_functions(void)
{
	NEXT(mmap, "mmap");
	NEXT(munmap, "munmap");
	NEXT(mremap, "mremap");
	NEXT(calloc, "calloc");
	NEXT(malloc, "malloc");
	NEXT(realloc, "realloc");
	NEXT(posix_memalign, "posix_memalign");
	NEXT(aligned_alloc, "aligned_alloc");
	NEXT(free, "free");
	NEXT(create, "pthread_create");
	NEXT(join, "pthread_join");
	NEXT(tryjoin, "pthread_tryjoin_np");
	NEXT(detach, "pthread_detach");
	NEXT(lock, "pthread_mutex_lock");
	NEXT(trylock, "pthread_mutex_trylock");
	NEXT(timedlock, "pthread_mutex_timedlock");
	NEXT(clocklock, "pthread_mutex_clocklock");
	NEXT(unlock, "pthread_mutex_unlock");
	NEXT(execve, "execve");
	NEXT(spawn, "posix_spawn");
	NEXT(spawnp, "posix_spawnp");
}

/* Constructors of other libraries can run before ours. */
static void need_functions(void)
{
	if (!next.spawnp)
		find_functions();
}

/* ---- a table of the allocations ---- */

/*
 * In a child of fork(), the lock can be a copy that no thread unlocks. The child gives up, because
 * it is not checked.
 */
static bool take_table(void)
{
	if (is_counting)
		return false;
	for (unsigned long spins = 0;
			atomic_flag_test_and_set_explicit(&table_lock, memory_order_acquire);
			spins++) {
		if (spins > MANY_SPINS && syscall(SYS_getpid) != owner)
			return false;
	}
	return true;
}

static void give_table(void)
{
	atomic_flag_clear_explicit(&table_lock, memory_order_release);
}

static size_t slot_of(uintptr_t memory)
{
	return (size_t)((memory >> 4) * 0x9e3779b97f4a7c15u >> 20) & (slots - 1);
}

static void *pages(size_t size)
{
	void *memory = next.mmap(
			NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static void insert(struct allocation one)
{
	size_t i = slot_of(one.memory);

	while (table[i].memory)
		i = (i + 1) & (slots - 1);
	table[i] = one;
	used++;
}

static bool grow(void)
{
	struct allocation *old = table;
	size_t count = slots;

	if (2 * used < slots)
		return true;
	slots = slots ? 2 * slots : 4096;
	table = pages(slots * sizeof(*table));
	if (!table) {
		table = old;
		slots = count;
		return used + 1 < slots;
	}
	used = 0;
	for (size_t i = 0; i < count; i++) {
		if (old[i].memory)
			insert(old[i]);
	}
	if (old)
		(void)next.munmap(old, count * sizeof(*old));
	return true;
}

static void *note_allocation(void *memory, size_t size, uintptr_t caller)
{
	if (!is_checked || !memory || !take_table())
		return memory;
	if (grow())
		insert((struct allocation){(uintptr_t)memory, size, caller});
	give_table();
	return memory;
}

/* Moves the following entries up, so that no gap ends a search too early. */
static void close_gap(size_t gap)
{
	for (size_t i = (gap + 1) & (slots - 1); table[i].memory; i = (i + 1) & (slots - 1)) {
		size_t home = slot_of(table[i].memory);

		if (((i - home) & (slots - 1)) < ((i - gap) & (slots - 1)))
			continue;
		table[gap] = table[i];
		gap = i;
	}
	table[gap].memory = 0;
	used--;
}

static struct allocation *find(uintptr_t memory)
{
	if (!slots)
		return NULL;
	for (size_t i = slot_of(memory); table[i].memory; i = (i + 1) & (slots - 1)) {
		if (table[i].memory == memory)
			return &table[i];
	}
	return NULL;
}

static void forget_allocation(void *memory)
{
	struct allocation *found;

	if (!is_checked || !memory || !take_table())
		return;
	found = find((uintptr_t)memory);
	if (found)
		close_gap((size_t)(found - table));
	give_table();
}

/* ---- mappings ---- */

static void forget_range(uintptr_t begin, uintptr_t end)
{
	for (size_t i = 0; i < range_count; i++) {
		struct range one = ranges[i];

		if (one.end <= begin || end <= one.begin)
			continue;
		ranges[i--] = ranges[--range_count];
		if (one.begin < begin)
			ranges[range_count++] = (struct range){one.begin, begin, one.caller};
		if (end < one.end && range_count < RANGES)
			ranges[range_count++] = (struct range){end, one.end, one.caller};
	}
}

static void note_range(void *memory, size_t size, uintptr_t caller)
{
	uintptr_t begin = (uintptr_t)memory, end = begin + ((size + 4095) & ~(size_t)4095);

	if (!is_checked || memory == MAP_FAILED || !take_table())
		return;
	forget_range(begin, end);
	if (range_count < RANGES)
		ranges[range_count++] = (struct range){begin, end, caller};
	give_table();
}

static void note_unmapped(const void *memory, size_t size)
{
	uintptr_t begin = (uintptr_t)memory;

	if (!is_checked || !take_table())
		return;
	forget_range(begin, begin + ((size + 4095) & ~(size_t)4095));
	give_table();
}

/* ---- functions of the C library ---- */

EXPORT void *malloc(size_t size)
{
	return note_allocation(next.malloc ? next.malloc(size) : __libc_malloc(size), size, CALLER);
}

EXPORT void *calloc(size_t count, size_t size)
{
	return note_allocation(next.calloc ? next.calloc(count, size) : __libc_calloc(count, size),
			count * size, CALLER);
}

EXPORT void *realloc(void *old, size_t size)
{
	struct allocation was = {0};
	uintptr_t caller = CALLER;
	void *memory;

	if (is_checked && old && take_table()) {
		struct allocation *found = find((uintptr_t)old);

		if (found) {
			was = *found;
			close_gap((size_t)(found - table));
		}
		give_table();
	}
	memory = next.realloc ? next.realloc(old, size) : __libc_realloc(old, size);
	if (memory)
		note_allocation(memory, size, caller);
	else if (size && was.memory)
		note_allocation(old, was.size, was.caller);
	return memory;
}

EXPORT void *reallocarray(void *old, size_t count, size_t size)
{
	if (size && count > SIZE_MAX / size) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(old, count * size);
}

EXPORT int posix_memalign(void **ret_memory, size_t alignment, size_t size)
{
	int error;

	need_functions();
	error = next.posix_memalign(ret_memory, alignment, size);
	if (!error)
		note_allocation(*ret_memory, size, CALLER);
	return error;
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	return note_allocation(next.aligned_alloc ? next.aligned_alloc(alignment, size)
						  : __libc_memalign(alignment, size),
			size, CALLER);
}

EXPORT void free(void *memory)
{
	forget_allocation(memory);
	if (next.free)
		next.free(memory);
	else
		__libc_free(memory);
}

static void *map(void *address, size_t size, int protection, int flags, int fd, off_t offset,
		uintptr_t caller)
{
	void *memory;

	need_functions();
	memory = next.mmap(address, size, protection, flags, fd, offset);
	note_range(memory, size, caller);
	return memory;
}

EXPORT void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
	return map(address, size, protection, flags, fd, offset, CALLER);
}

EXPORT void *mmap64(void *address, size_t size, int protection, int flags, int fd, off64_t offset)
{
	return map(address, size, protection, flags, fd, offset, CALLER);
}

EXPORT int munmap(void *memory, size_t size)
{
	need_functions();
	note_unmapped(memory, size);
	return next.munmap(memory, size);
}

EXPORT void *mremap(void *old, size_t old_size, size_t size, int flags, ...)
{
	void *memory, *address = NULL;
	va_list more;

	va_start(more, flags);
	if (flags & MREMAP_FIXED)
		address = va_arg(more, void *);
	va_end(more);
	need_functions();
	memory = next.mremap(old, old_size, size, flags, address);
	if (memory != MAP_FAILED) {
		note_unmapped(old, old_size);
		note_range(memory, size, CALLER);
	}
	return memory;
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
		void *argument)
{
	int state = PTHREAD_CREATE_JOINABLE, error;

	if (attributes)
		(void)pthread_attr_getdetachstate(attributes, &state);
	/* Count before the thread exists, because it can detach itself. */
	if (state == PTHREAD_CREATE_JOINABLE)
		atomic_fetch_add(&threads_unjoined, 1);
	need_functions();
	error = next.create(thread, attributes, run, argument);
	if (error && state == PTHREAD_CREATE_JOINABLE)
		atomic_fetch_sub(&threads_unjoined, 1);
	else if (!error && state != PTHREAD_CREATE_JOINABLE)
		atomic_fetch_add(&threads_detached, 1);
	return error;
}

EXPORT int pthread_join(pthread_t thread, void **ret_value)
{
	int error;

	need_functions();
	error = next.join(thread, ret_value);
	if (!error)
		atomic_fetch_sub(&threads_unjoined, 1);
	return error;
}

EXPORT int pthread_tryjoin_np(pthread_t thread, void **ret_value)
{
	int error;

	need_functions();
	error = next.tryjoin(thread, ret_value);
	if (!error)
		atomic_fetch_sub(&threads_unjoined, 1);
	return error;
}

EXPORT int pthread_detach(pthread_t thread)
{
	int error;

	need_functions();
	error = next.detach(thread);
	if (!error) {
		atomic_fetch_sub(&threads_unjoined, 1);
		atomic_fetch_add(&threads_detached, 1);
	}
	return error;
}

EXPORT int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	int error;

	need_functions();
	error = next.lock(mutex);
	if (!error || error == EOWNERDEAD)
		atomic_fetch_add_explicit(&locks_held, 1, memory_order_relaxed);
	return error;
}

EXPORT int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	int error;

	need_functions();
	error = next.trylock(mutex);
	if (!error || error == EOWNERDEAD)
		atomic_fetch_add_explicit(&locks_held, 1, memory_order_relaxed);
	return error;
}

EXPORT int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until)
{
	int error;

	need_functions();
	error = next.timedlock(mutex, until);
	if (!error || error == EOWNERDEAD)
		atomic_fetch_add_explicit(&locks_held, 1, memory_order_relaxed);
	return error;
}

EXPORT int pthread_mutex_clocklock(
		pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until)
{
	int error;

	need_functions();
	error = next.clocklock(mutex, clock, until);
	if (!error || error == EOWNERDEAD)
		atomic_fetch_add_explicit(&locks_held, 1, memory_order_relaxed);
	return error;
}

EXPORT int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	int error;

	need_functions();
	error = next.unlock(mutex);
	if (!error)
		atomic_fetch_sub_explicit(&locks_held, 1, memory_order_relaxed);
	return error;
}

/* ---- commands that a test runs ---- */

static bool is_command(const char *path)
{
	char real[PATH_MAX];

	if (!library[0])
		return false;
	return realpath(path, real) && strncmp(real, BUILD_COMMANDS, strlen(BUILD_COMMANDS)) == 0;
}

static size_t environment_size(char *const environment[])
{
	size_t count = 0;

	while (environment && environment[count])
		count++;
	return count + 2;
}

/*
 * Puts this library first in LD_PRELOAD. Does not allocate: the caller can be a child of vfork().
 */
static void add_library(char *const environment[], char **changed, char text[ENVIRONMENT])
{
	size_t count = 0;
	const char *other = "";

	for (size_t i = 0; environment && environment[i]; i++) {
		if (strncmp(environment[i], PRELOAD, strlen(PRELOAD)) == 0)
			other = environment[i] + strlen(PRELOAD);
		else
			changed[count++] = environment[i];
	}
	if (snprintf(text, ENVIRONMENT, PRELOAD "%s%s%s", library, *other ? ":" : "", other) >=
			ENVIRONMENT)
		abort();
	changed[count++] = text;
	changed[count] = NULL;
}

EXPORT int execve(const char *path, char *const arguments[], char *const environment[])
{
	char *changed[VARIABLES], text[ENVIRONMENT];

	if (!is_command(path) || environment_size(environment) > VARIABLES)
		return next.execve(path, arguments, environment);
	add_library(environment, changed, text);
	return next.execve(path, arguments, changed);
}

EXPORT int execv(const char *path, char *const arguments[])
{
	return execve(path, arguments, environ);
}

EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		const posix_spawnattr_t *attributes, char *const arguments[],
		char *const environment[])
{
	char *changed[VARIABLES], text[ENVIRONMENT];

	if (!is_command(path) || environment_size(environment) > VARIABLES)
		return next.spawn(pid, path, actions, attributes, arguments, environment);
	add_library(environment, changed, text);
	return next.spawn(pid, path, actions, attributes, arguments, changed);
}

EXPORT int posix_spawnp(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		const posix_spawnattr_t *attributes, char *const arguments[],
		char *const environment[])
{
	char *changed[VARIABLES], text[ENVIRONMENT];

	if (!is_command(path) || environment_size(environment) > VARIABLES)
		return next.spawnp(pid, path, actions, attributes, arguments, environment);
	add_library(environment, changed, text);
	return next.spawnp(pid, path, actions, attributes, arguments, changed);
}

/* ---- the end ---- */

static void print(const char *format, ...)
{
	char text[1024];
	va_list values;
	int size;

	va_start(values, format);
	size = vsnprintf(text, sizeof(text), format, values);
	va_end(values);
	if (size >= (int)sizeof(text))
		size = sizeof(text) - 1;
	if (size <= 0)
		return;
	(void)!write(STDERR_FILENO, text, (size_t)size);
	if (report_fd >= 0)
		(void)!write(report_fd, text, (size_t)size);
}

/* The file and the offset for `addr2line -f -e FILE OFFSET`. */
static void print_block(const struct block *one)
{
	const char *kind = one->is_mapping ? "mapping" : "memory";
	Dl_info info = {0};

	if (dladdr((void *)one->caller, &info) && info.dli_fname)
		print("resources at exit: %s: 0x%lx, %lu bytes, from %s 0x%lx\n", kind,
				(unsigned long)one->begin, (unsigned long)one->size, info.dli_fname,
				(unsigned long)(one->caller - 1 - (uintptr_t)info.dli_fbase));
	else
		print("resources at exit: %s: 0x%lx, %lu bytes\n", kind, (unsigned long)one->begin,
				(unsigned long)one->size);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static unsigned long count_descriptors(bool is_printed)
{
	unsigned long count = 0;
	char path[64], name[256];

	for (int fd = 3; fd < DESCRIPTORS; fd++) {
		ssize_t size;

		if (descriptors[fd / 64] >> (fd % 64) & 1 || !is_open(fd))
			continue;
		count++;
		if (!is_printed)
			continue;
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		size = readlink(path, name, sizeof(name) - 1);
		name[size > 0 ? size : 0] = 0;
		print("resources at exit: descriptor %d: %s\n", fd, name);
	}
	return count;
}

/* ---- blocks that variables of the process still reach ---- */

static struct block *blocks;   /* sorted by their begin */
static struct block **pending; /* reached, and not scanned */
static size_t block_count, pending_count;

static int compare_blocks(const void *one, const void *other)
{
	uintptr_t a = ((const struct block *)one)->begin, b = ((const struct block *)other)->begin;

	return (a > b) - (a < b);
}

/*
 * The last 8 bytes can belong to the header of the chunk that follows, to which the allocator has a
 * pointer.
 */
static uintptr_t end_of(const struct allocation *one)
{
	size_t usable = malloc_usable_size((void *)one->memory);

	return one->memory + (usable >= 8 && one->size > usable - 8 ? usable - 8 : one->size);
}

/* The memory for the list comes from the kernel, not from malloc(). */
static bool collect_blocks(void)
{
	size_t count = used + range_count + 1;

	blocks = pages(count * sizeof(*blocks));
	pending = pages(count * sizeof(*pending));
	if (!blocks || !pending)
		return false;
	for (size_t i = 0; i < slots; i++) {
		if (table[i].memory)
			blocks[block_count++] = (struct block){table[i].memory, end_of(&table[i]),
					table[i].caller, table[i].size, false, false};
	}
	for (size_t i = 0; i < range_count; i++)
		blocks[block_count++] = (struct block){ranges[i].begin, ranges[i].end,
				ranges[i].caller, ranges[i].end - ranges[i].begin, true, false};
	qsort(blocks, block_count, sizeof(*blocks), compare_blocks);
	return true;
}

static void free_blocks(void)
{
	(void)next.munmap(blocks, (used + range_count + 1) * sizeof(*blocks));
	(void)next.munmap(pending, (used + range_count + 1) * sizeof(*pending));
}

static struct block *block_at(uintptr_t address)
{
	size_t low = 0, high = block_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (blocks[middle].begin <= address)
			low = middle + 1;
		else
			high = middle;
	}
	/* A pointer to a block of 0 bytes is equal to its begin. */
	return low && (address < blocks[low - 1].end || address == blocks[low - 1].begin)
			? &blocks[low - 1]
			: NULL;
}

/* Finds words that point to blocks. reach_pending() scans these blocks later. */
static void reach(uintptr_t begin, uintptr_t end)
{
	for (uintptr_t at = (begin + 7) & ~(uintptr_t)7; at + sizeof(uintptr_t) <= end;
			at += sizeof(uintptr_t)) {
		struct block *found = block_at(*(const uintptr_t *)at);

		if (!found || found->is_reached)
			continue;
		found->is_reached = true;
		pending[pending_count++] = found;
	}
}

/*
 * A mapping can lack memory or permissions, so the kernel copies the readable part. In a sandbox it
 * copies nothing.
 */
static void reach_mapping(uintptr_t begin, uintptr_t end)
{
	uintptr_t copy[512];

	if (end - begin > SCANNED)
		return;
	for (uintptr_t at = begin; at < end; at += sizeof(copy)) {
		size_t size = end - at < sizeof(copy) ? end - at : sizeof(copy);
		struct iovec to = {copy, size}, from = {(void *)at, size};

		if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)size)
			reach((uintptr_t)copy, (uintptr_t)copy + size);
	}
}

static void reach_pending(void)
{
	while (pending_count) {
		struct block *one = pending[--pending_count];

		if (one->is_mapping)
			reach_mapping(one->begin, one->end);
		else
			reach(one->begin, one->begin + one->size);
	}
}

/* ---- memory that commands may keep ---- */

/*
 * Variables of commands, with the reason why the memory that they reach is not released at the end.
 */
static struct {
	const char *name, *reason;
	uintptr_t address, size;
} exceptions[] = {
		{"ring_truncations",
				"a list that a signal handler may be reading; its entries are used again",
				0, 0},
		{"deferred_due",
				"work of the thread for deferred work, which runs until the process ends",
				0, 0},
		{"handovers_unfinished", "threads still use them when the daemon ends", 0, 0},
		{"deferred_spent", "the next call of thread_defer() frees it", 0, 0},
};

static void find_exception(const char *name, uintptr_t address, uintptr_t size)
{
	for (size_t i = 0; i < sizeof(exceptions) / sizeof(exceptions[0]); i++) {
		if (strcmp(name, exceptions[i].name) == 0) {
			exceptions[i].address = address;
			exceptions[i].size = size;
		}
	}
}

static void read_symbols(const unsigned char *file, uintptr_t bias)
{
	const ElfW(Ehdr) *header = (const void *)file;
	const ElfW(Shdr) *sections = (const void *)(file + header->e_shoff);

	for (size_t i = 0; i < header->e_shnum; i++) {
		const ElfW(Sym) *symbols = (const void *)(file + sections[i].sh_offset);
		const char *names = (const char *)file + sections[sections[i].sh_link].sh_offset;

		if (sections[i].sh_type != SHT_SYMTAB)
			continue;
		for (size_t j = 0; j < sections[i].sh_size / sizeof(*symbols); j++) {
			if (ELF64_ST_TYPE(symbols[j].st_info) == STT_OBJECT)
				find_exception(names + symbols[j].st_name,
						bias + symbols[j].st_value, symbols[j].st_size);
		}
	}
}

static int first_bias(struct dl_phdr_info *object, size_t size, void *ret_bias)
{
	(void)size;
	*(uintptr_t *)ret_bias = object->dlpi_addr;
	return 1;
}

/* Runs at the begin, because a command can enter a sandbox. */
static void find_exceptions(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;
	void *file = size > 0 ? next.mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0)
			      : MAP_FAILED;
	uintptr_t bias = 0;

	if (file != MAP_FAILED) {
		(void)dl_iterate_phdr(first_bias, &bias);
		read_symbols(file, bias);
		(void)next.munmap(file, (size_t)size);
	}
	if (fd >= 0)
		close(fd);
}

static void reach_exceptions(void)
{
	for (size_t i = 0; i < sizeof(exceptions) / sizeof(exceptions[0]); i++)
		reach(exceptions[i].address, exceptions[i].address + exceptions[i].size);
}

/*
 * The variables of one object. Those of a command are no roots, because a command must release its
 * memory.
 */
static int reach_object(struct dl_phdr_info *object, size_t size, void *unused)
{
	const char *name = object->dlpi_name;

	(void)size;
	(void)unused;
	if ((name && strcmp(name, library) == 0) || (!(name && *name) && !is_test))
		return 0;
	for (size_t i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
		uintptr_t begin = object->dlpi_addr + segment->p_vaddr,
			  tls = (uintptr_t)object->dlpi_tls_data;

		if (segment->p_type == PT_LOAD && segment->p_flags & PF_W)
			reach(begin, begin + segment->p_memsz);
		if (segment->p_type == PT_TLS && tls)
			reach(tls, tls + segment->p_memsz);
	}
	return 0;
}

/*
 * The loader keeps thread-local memory of ended threads with their stacks; libunwind keeps mappings
 * for its lists.
 */
static bool is_kept_by_system(const struct block *one)
{
	Dl_info info = {0};

	if (!dladdr((void *)one->caller, &info) || !info.dli_fname)
		return false;
	return strstr(info.dli_fname, "/ld-linux") ||
			(one->is_mapping && strstr(info.dli_fname, "/libunwind"));
}

static unsigned long count_blocks(bool is_printed)
{
	unsigned long count = 0;

	block_count = pending_count = 0;
	if (!collect_blocks())
		return 0;
	(void)dl_iterate_phdr(reach_object, NULL);
	reach((uintptr_t)&environ, (uintptr_t)(&environ + 1));
	reach_exceptions();
	reach_pending();
	for (size_t i = 0; i < block_count; i++) {
		if (blocks[i].is_reached || is_kept_by_system(&blocks[i]))
			continue;
		count++;
		if (is_printed && count <= SHOWN)
			print_block(&blocks[i]);
	}
	free_blocks();
	return count;
}

/* A thread that still runs may hold a block: the table must not change meanwhile. */
static unsigned long count_held(bool is_printed)
{
	long threads = atomic_load(&threads_unjoined), locks = atomic_load(&locks_held);
	unsigned long found = (unsigned long)(threads != 0) + (unsigned long)(locks != 0);

	if (threads && is_printed)
		print("resources at exit: threads that are not joined: %ld\n", threads);
	if (locks && is_printed)
		print("resources at exit: locks that are held: %ld\n", locks);
	found += count_descriptors(is_printed);
	if (take_table()) {
		is_counting = true;
		found += count_blocks(is_printed);
		is_counting = false;
		give_table();
	}
	return found;
}

static void at_end(void)
{
	unsigned long found;

	if (!is_checked || getpid() != owner)
		return;
	found = count_held(false);
	/* Wait for detached threads that release their resources at this moment. */
	for (int i = 0; found && atomic_load(&threads_detached) && i < TRIES; i++) {
		struct timespec pause = {0, 1000000000 / TRIES};

		(void)nanosleep(&pause, NULL);
		found = count_held(false);
	}
	if (!found)
		return;
	if (report_path[0])
		report_fd = open(report_path,
				O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	/*
	 * The first three descriptors and those at the begin are not counted, and the report is no
	 * resource of the process.
	 */
	if (report_fd >= 0 && report_fd < DESCRIPTORS)
		descriptors[report_fd / 64] |= (uint64_t)1 << (report_fd % 64);
	print("resources at exit: %lu, of %s\n", count_held(true), program_invocation_short_name);
	is_checked = false;
	(void)fflush(NULL);
	if (!is_printed_only)
		_exit(STATUS);
}

/* ---- the begin ---- */

static void forget_owner(void)
{
	is_checked = false;
}

/* Removes this library, which is the first one, from LD_PRELOAD. */
static void leave_environment(void)
{
	const char *value = getenv("LD_PRELOAD");
	const char *more = value ? strchr(value, ':') : NULL;
	size_t size;

	if (!value)
		return;
	size = more ? (size_t)(more - value) : strlen(value);
	if (size < sizeof(library)) {
		memcpy(library, value, size);
		library[size] = 0;
	}
	if (more)
		(void)setenv("LD_PRELOAD", more + 1, 1);
	else
		(void)unsetenv("LD_PRELOAD");
}

__attribute__((constructor)) static void begin(void)
{
	const char *setting = getenv(SETTING), *runtime = getenv("SIDE_RUNTIME");
	char path[PATH_MAX];
	ssize_t size;

	find_functions();
	leave_environment();
	if (setting && strcmp(setting, "off") == 0)
		return;
	size = readlink("/proc/self/exe", path, sizeof(path) - 1);
	path[size > 0 ? size : 0] = 0;
	is_test = strncmp(path, BUILD_TESTS, strlen(BUILD_TESTS)) == 0;
	if (!is_test && strncmp(path, BUILD_COMMANDS, strlen(BUILD_COMMANDS)) != 0)
		return;
	is_printed_only = setting && strcmp(setting, "print") == 0;
	owner = getpid();
	if (runtime && *runtime == '/')
		(void)snprintf(report_path, sizeof(report_path), "%s/resources-at-exit", runtime);
	if (!is_test)
		find_exceptions();
	for (int fd = 0; fd < DESCRIPTORS; fd++)
		descriptors[fd / 64] |= (uint64_t)is_open(fd) << (fd % 64);
	(void)pthread_atfork(NULL, NULL, forget_owner);
	(void)atexit(at_end);
	is_checked = true;
}
