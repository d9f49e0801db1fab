/* SPDX-License-Identifier: MIT */
/*
 * The unwinders that the program has, of which none is needed and none is loaded by us: libgcc's, by which exceptions, backtrace()
 * and the ends of threads go, and libunwind, which profilers and allocators use. Each is told what frames.c says of code that was
 * made here, when probes are set, or as soon as it is there. What was found stays loaded.
 * Exceptions go only through returns that are watched, and those need no registration: gates.c.
 *
 * libunwind is told by the interface that it has for such code, _U_dyn_register(): a list of ranges, each with a sorted table of
 * where the data of its functions is. Here each range is one piece of code and has a table of one row, which has all of it. libunwind's
 * CFA is the caller's stack pointer, always, so it gets the data that is made for such readers.
 *
 * Up to 1.5 that structure had one word less, in libraries of the same name. There, all from that word on is taken for what stands
 * before it: the base of the table for the table's length. So the base is 0, which makes it an empty table for them and asks
 * of the data to stand at low addresses.
 */
#include "parts.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#define PATH_BYTES 1024

/* unw_dyn_info_t of libunwind 1.6, libunwind-dynamic.h: of the format UNW_INFO_FORMAT_REMOTE_TABLE. */
#define REMOTE_TABLE 2
struct dynamic {
	struct dynamic *next, *previous;
	uint64_t start, end, global_pointer;
	int32_t format, unused;
	uint64_t load_offset; /* not up to 1.5 */
	uint64_t name;
	uint64_t base;  /* of the numbers in the table */
	uint64_t words; /* of 8 bytes, of the table */
	uint64_t table;
};
_Static_assert(sizeof(struct dynamic) == 88 && offsetof(struct dynamic, base) == 64,
		"as libunwind has it");

/* Its rows: where functions begin and where their entries are. The first one whose begin is not above the address counts. */
struct row {
	int32_t start, entry;
};

struct told {
	struct dynamic dynamic;
	struct row row;
	uint8_t bytes[PATCH_FRAMES_BYTES] __attribute__((aligned(8)));
};

static void enroll_in_libgcc(void *function, unsigned int which, const struct patch_frames *frames)
{
	void (*enroll)(const void *entry);

	memcpy(&enroll, &function, sizeof(enroll));
	/* Where it is looked for is what it is long now. */
	if (frames->length != frames->whole)
		patch_frames_limit(which, frames->whole);
	enroll(frames->bytes);
	if (frames->length != frames->whole)
		patch_frames_limit(which, frames->length);
}

static struct told *room;

static void enroll_in_libunwind(
		void *function, unsigned int which, const struct patch_frames *frames)
{
	void (*enroll)(struct dynamic * dynamic);
	struct told *told;
	uint32_t description;

	if (!room)
		room = patch_memory_low(PATCH_FRAMES_MAX * sizeof(*room), PROT_READ | PROT_WRITE);
	if (!room)
		return;
	told = &room[which];
	memcpy(told->bytes, frames->plain, frames->plain_size);
	/* The entry is behind the description, which says how long it is. */
	memcpy(&description, told->bytes, sizeof(description));
	told->row.start = INT32_MIN;
	told->row.entry = (int32_t)((uintptr_t)told->bytes + sizeof(description) + description);
	told->dynamic = (struct dynamic){.start = frames->start,
			.end = frames->start + frames->length,
			.format = REMOTE_TABLE,
			.words = sizeof(told->row) / 8,
			.table = (uintptr_t)&told->row};
	memcpy(&enroll, &function, sizeof(enroll));
	enroll(&told->dynamic);
}

static struct unwinder {
	const char *file, *symbol;
	void (*enroll)(void *function, unsigned int which, const struct patch_frames *frames);
	void *function; /* NULL: the program has none */
	unsigned int nr_told;
	char path[PATH_BYTES]; /* while it is looked for */
} unwinders[] = {
		{.file = "libgcc_s.so.1", .symbol = "__register_frame", .enroll = enroll_in_libgcc},
		{.file = "libunwind.so.8",
				.symbol = "_U_dyn_register",
				.enroll = enroll_in_libunwind},
};
#define UNWINDERS (sizeof(unwinders) / sizeof(unwinders[0]))

static pthread_mutex_t looking = PTHREAD_MUTEX_INITIALIZER;
static bool looked;
static unsigned long long loads_before;

static int note_path(struct dl_phdr_info *object, size_t size, void *loads)
{
	const char *slash = object->dlpi_name ? strrchr(object->dlpi_name, '/') : NULL;

	(void)size;
	*(unsigned long long *)loads = object->dlpi_adds;
	if (looked && object->dlpi_adds == loads_before)
		return 1;
	for (size_t i = 0; slash && i < UNWINDERS; i++) {
		if (!strcmp(slash + 1, unwinders[i].file) &&
				strlen(object->dlpi_name) < sizeof(unwinders[i].path))
			strcpy(unwinders[i].path, object->dlpi_name);
	}
	return 0;
}

/* The loader is asked for what it has by its path; for a name that it does not know it would search the disk. */
static bool find(struct unwinder *unwinder)
{
	void *library = NULL, *function;

	if (!unwinder->function && *unwinder->path)
		library = dlopen(unwinder->path, RTLD_NOLOAD | RTLD_LAZY);
	*unwinder->path = 0;
	function = library ? dlsym(library, unwinder->symbol) : NULL;
	if (function)
		/* Relaxed: the loader has made it ready. Read by patch_unwinders_tell(). */
		__atomic_store_n(&unwinder->function, function, __ATOMIC_RELAXED);
	return function != NULL;
}

bool patch_unwinders_look(void)
{
	unsigned long long loads = 0;
	bool found = false;

	pthread_mutex_lock(&looking);
	dl_iterate_phdr(note_path, &loads);
	if (!looked || loads != loads_before) {
		/* Counted before it is looked: what comes meanwhile is seen the next time. */
		loads_before = loads;
		looked = true;
		for (size_t i = 0; i < UNWINDERS; i++)
			found |= find(&unwinders[i]);
	}
	pthread_mutex_unlock(&looking);
	return found;
}

void patch_unwinders_forked(void)
{
	looking = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

void patch_unwinders_start(void)
{
	if (!looked)
		patch_unwinders_look();
}

void patch_unwinders_tell(void)
{
	struct patch_frames frames;

	for (size_t i = 0; i < UNWINDERS; i++) {
		/* Relaxed: see find(). */
		void *function = __atomic_load_n(&unwinders[i].function, __ATOMIC_RELAXED);

		while (function && patch_frames_entry(unwinders[i].nr_told, &frames)) {
			unwinders[i].enroll(function, unwinders[i].nr_told++, &frames);
		}
	}
}

/* libgcc reads what it was told each time. */
void patch_unwinders_change(unsigned int which)
{
	struct patch_frames frames;
	struct told *told = room && room[which].dynamic.format ? &room[which] : NULL;

	if (!told || !patch_frames_entry(which, &frames))
		return;
	memcpy(told->bytes, frames.plain, frames.plain_size);
	told->dynamic.end = frames.start + frames.length;
}
