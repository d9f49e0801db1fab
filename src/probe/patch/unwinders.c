/* SPDX-License-Identifier: MIT */
/*
 * Describes generated code to the unwinders that the program has loaded. None of them is needed,
 * and side loads none.
 *
 * libgcc (exceptions, backtrace(), the ends of threads) gets the unwind data of an address from the
 * C library, by _dl_find_object(). In objects that import this function, it is replaced by a
 * function of side, which answers for generated code (frames.c) and passes all other addresses on.
 * It takes no lock. side never calls __register_frame(): up to GCC 12, each exception would take a
 * mutex of libgcc from then on, and no fork() resets it. If another thread held it at a fork(), the
 * first exception of the child would wait forever.
 *
 * libunwind (profilers and allocators) has an interface for such code, _U_dyn_register(). Its
 * lookups take no lock: only a registration does, and fork() waits for side's registrations. The
 * interface has a list of ranges, each with a sorted table of the addresses of its functions' data.
 * Here each range is one piece of code and has a table of one row, which refers to all of its data.
 * libunwind's CFA is always the caller's stack pointer, so it gets the data that is made for such
 * readers.
 *
 * Up to 1.5 that structure had one word less, in libraries of the same name. These versions read
 * each member after that word one word too early: the base of the table as the table's length. So
 * the base is 0, which makes the table empty for them. Therefore the data must be at low addresses.
 *
 * Other unwinders (libgcc up to GCC 11, LLVM's libunwind) end a backtrace at generated code. Only
 * the handler of a signal that interrupts this code is affected: exceptions pass only through
 * watched returns, which gates.c describes to each unwinder.
 */
#include "base/inside/clock.h"
#include "parts.h"

#include "probe/patch/imports.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static size_t nr_pending; /* objects whose imports the next scan must replace */

/* ---- libgcc ---- */

#ifdef DLFO_STRUCT_HAS_EH_DBASE
static int (*real_find)(void *address, struct dl_find_object *ret_found);

/* Called in exceptions and in signal handlers. */
static int patch_unwinder_find_object(void *address, struct dl_find_object *ret_found)
{
	struct patch_found found;
	int ret;

	if (!patch_frames_find((uintptr_t)address, &found))
		return real_find(address, ret_found);
	/* The code is described as a part of this object, with its own addresses and data. */
	ret = real_find((void *)(uintptr_t)&patch_unwinder_find_object, ret_found);
	if (ret)
		return ret;
	ret_found->dlfo_map_start = (void *)found.start;
	ret_found->dlfo_map_end = (void *)found.end;
	ret_found->dlfo_eh_frame = (void *)(uintptr_t)found.table;
	return 0;
}

static struct patch_import find_import = {.name = "_dl_find_object"};

static void patch_unwinder_start_import(void)
{
	find_import.real = dlsym(RTLD_DEFAULT, find_import.name);
	(void)dlerror();
	memcpy(&real_find, &find_import.real, sizeof(real_find));
	find_import.replacement = real_find ? (void *)(uintptr_t)&patch_unwinder_find_object : NULL;
}

static void patch_unwinder_turn_import(const struct dl_phdr_info *object)
{
	const struct patch_imports imports = {.functions = &find_import,
			.count = 1,
			.except = {(uintptr_t)&find_import},
			.nr_pending = &nr_pending};

	if (find_import.replacement)
		patch_imports_replace(object, &imports);
}
#else
static void patch_unwinder_start_import(void) {}
static void patch_unwinder_turn_import(const struct dl_phdr_info *object)
{
	(void)object;
}
#endif

/* ---- libunwind ---- */

#define LIBRARY "libunwind.so.8"
#define PATH_BYTES 1024
#define SECOND 1000000000L
#define FORK_WAIT (SECOND / 10)

/*
 * unw_dyn_info_t of libunwind 1.6, libunwind-dynamic.h, in the format UNW_INFO_FORMAT_REMOTE_TABLE.
 */
#define REMOTE_TABLE 2
struct unwind_dyn_info {
	struct unwind_dyn_info *next, *previous;
	uint64_t start, end, global_pointer;
	int32_t format, unused;
	uint64_t load_offset; /* not up to 1.5 */
	uint64_t name;
	uint64_t base;  /* of the numbers in the table */
	uint64_t words; /* size of the table, in 8 bytes */
	uint64_t table;
};
_Static_assert(sizeof(struct unwind_dyn_info) == 88 && offsetof(struct unwind_dyn_info, base) == 64,
		"the layout of libunwind");

/*
 * A row of the table: begin of a function, and address of its FDE. libunwind uses the last row
 * whose begin is not above the address.
 */
struct unwinder_row {
	int32_t start, entry;
};

struct unwinder_piece {
	struct unwind_dyn_info dynamic;
	struct unwinder_row row;
	uint8_t bytes[PATCH_FRAMES_BYTES] __attribute__((aligned(8)));
};

static struct unwinder_piece *unwinder_table;
static void *register_function; /* NULL: the program has no libunwind */
static unsigned int nr_registered;
static char path[PATH_BYTES]; /* of libunwind, during a scan */

/* Registers a piece of code with libunwind, which takes a mutex for that. */
static void patch_unwinder_register(unsigned int which, const struct patch_frames *frames)
{
	void (*function)(struct unwind_dyn_info * dynamic);
	struct unwinder_piece *registered;
	uint32_t description;

	if (!unwinder_table)
		unwinder_table = patch_memory_low(
				PATCH_FRAMES_MAX * sizeof(*unwinder_table), PROT_READ | PROT_WRITE);
	if (!unwinder_table)
		return;
	registered = &unwinder_table[which];
	memcpy(registered->bytes, frames->plain, frames->plain_size);
	/* The FDE follows the CIE, which begins with its length. */
	memcpy(&description, registered->bytes, sizeof(description));
	registered->row.start = INT32_MIN;
	registered->row.entry =
			(int32_t)((uintptr_t)registered->bytes + sizeof(description) + description);
	registered->dynamic = (struct unwind_dyn_info){.start = frames->start,
			.end = frames->start + frames->length,
			.format = REMOTE_TABLE,
			.words = sizeof(registered->row) / 8,
			.table = (uintptr_t)&registered->row};
	memcpy(&function, &register_function, sizeof(function));
	function(&registered->dynamic);
}

/* ---- finding them ---- */

static pthread_mutex_t scan_lock = PTHREAD_MUTEX_INITIALIZER;
static bool has_scanned;
static bool scans_are_stopped; /* written in a forked child, while it has one thread */
static unsigned long long loads_before;

static int patch_unwinder_add_object(struct dl_phdr_info *object, size_t size, void *loads)
{
	const char *slash = object->dlpi_name ? strrchr(object->dlpi_name, '/') : NULL;

	(void)size;
	*(unsigned long long *)loads = object->dlpi_adds;
	if (has_scanned && object->dlpi_adds == loads_before)
		return 1;
	patch_unwinder_turn_import(object);
	if (slash && !strcmp(slash + 1, LIBRARY) && strlen(object->dlpi_name) < sizeof(path))
		strcpy(path, object->dlpi_name);
	return 0;
}

/*
 * Uses the path of the loaded library: for a name that the loader does not know, it would search
 * the disk.
 */
static bool patch_unwinder_find_functions(void)
{
	void *library = NULL, *function;

	if (!register_function && *path)
		library = dlopen(path, RTLD_NOLOAD | RTLD_LAZY);
	*path = 0;
	function = library ? dlsym(library, "_U_dyn_register") : NULL;
	if (function)
		/* Relaxed: the loader has initialized it. Read by patch_unwinders_notify(). */
		__atomic_store_n(&register_function, function, __ATOMIC_RELAXED);
	return function != NULL;
}

bool patch_unwinders_scan(void)
{
	unsigned long long loads = 0;
	bool found = false;

	if (scans_are_stopped)
		return false;
	pthread_mutex_lock(&scan_lock);
	if (!has_scanned)
		patch_unwinder_start_import();
	nr_pending = 0;
	dl_iterate_phdr(patch_unwinder_add_object, &loads);
	if (!has_scanned || loads != loads_before) {
		/*
		 * Counted before the search, so that the next scan finds libraries that are loaded
		 * meanwhile. 0 is not a number of loads.
		 */
		loads_before = nr_pending ? 0 : loads;
		has_scanned = true;
		found = patch_unwinder_find_functions();
	}
	pthread_mutex_unlock(&scan_lock);
	return found;
}

void patch_stop_scans(void)
{
	scans_are_stopped = true;
}

void patch_unwinders_start(void)
{
	if (!has_scanned)
		patch_unwinders_scan();
}

/* Held while libunwind registers code. */
static pthread_mutex_t register_lock = PTHREAD_MUTEX_INITIALIZER;

void patch_unwinders_notify(void)
{
	struct patch_frames frames;

	/* Relaxed: see patch_unwinder_find_functions(). */
	if (!__atomic_load_n(&register_function, __ATOMIC_RELAXED))
		return;
	pthread_mutex_lock(&register_lock);
	while (patch_frames_entry(nr_registered, &frames))
		patch_unwinder_register(nr_registered++, &frames);
	pthread_mutex_unlock(&register_lock);
}

/* ---- fork() ---- */

/*
 * No fork() resets libunwind's mutex, nor the one that dl_iterate_phdr() takes in the loader. So no
 * child is created while a thread of side may hold one of them.
 */
static pthread_mutex_t *const locks[] = {&scan_lock, &register_lock};
#define LOCKS (sizeof(locks) / sizeof(locks[0]))
static __thread bool fork_holds[LOCKS] __attribute__((tls_model("initial-exec")));

void patch_unwinders_fork(void)
{
	struct timespec until;

	/*
	 * Bounded: fork() may be called by a callback of dl_iterate_phdr(), or by a handler in the
	 * thread that holds the lock.
	 */
	until = clock_timespec_from_ns(clock_realtime_ns() + FORK_WAIT);
	for (size_t i = 0; i < LOCKS; i++)
		fork_holds[i] = !pthread_mutex_timedlock(locks[i], &until);
}

/*
 * Wrappers recognize a call of a tracer by its return address, so the last call of a function must
 * not become a jump.
 */
#define NO_TAIL_CALL() __asm__ volatile("")

void patch_unwinders_fork_done(void)
{
	for (size_t i = LOCKS; i-- > 0;) {
		if (fork_holds[i])
			pthread_mutex_unlock(locks[i]);
	}
	NO_TAIL_CALL();
}

void patch_unwinders_forked(void)
{
	scan_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	register_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

void patch_unwinders_change(unsigned int which)
{
	struct patch_frames frames;
	struct unwinder_piece *registered = unwinder_table && unwinder_table[which].dynamic.format
			? &unwinder_table[which]
			: NULL;

	if (!registered || !patch_frames_entry(which, &frames))
		return;
	memcpy(registered->bytes, frames.plain, frames.plain_size);
	registered->dynamic.end = frames.start + frames.length;
}
