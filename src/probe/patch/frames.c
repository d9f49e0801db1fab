/* SPDX-License-Identifier: MIT */
/*
 * What unwinders must know of code that was made here: exceptions, backtrace() and the ends of threads go through it.
 *
 * One entry for a whole arena: its bodies are aligned, so where in a body the program counter stands is in its
 * low bits. One for all returns: where the code of a return goes on stands in a table, by its index.
 */
#include "parts.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>

#define BYTES_MAX 256
#define ENTRIES_MAX 1100

static struct entry {
	uint8_t bytes[BYTES_MAX];
	size_t size;
	uint64_t start, length;
	const char *name;
} entries[ENTRIES_MAX];
static unsigned int nr_entries, nr_registered, nr_shown;

static uint8_t *put(uint8_t *to, const void *bytes, size_t size)
{
	memcpy(to, bytes, size);
	return to + size;
}

/* A description and the entry that uses it, then the end. */
static void add(const void *rules, size_t size, uint64_t start, uint64_t length, const char *name)
{
	/* zR: addresses of 64 bits; alignment 1 and -8; the return address is column 16. */
	static const char head[] = "\0\0\0\0\1zR\0\1\x78\x10\1\0";
	uint8_t *bytes = entries[nr_entries].bytes, *to, *entry;
	uint32_t word;

	if (nr_entries == ENTRIES_MAX)
		return;
	entries[nr_entries].start = start;
	entries[nr_entries].length = length;
	entries[nr_entries].name = name;
	to = put(bytes + 4, head, sizeof(head) - 1);
	to = put(to, rules, size);
	while ((to - bytes - 4) % 8)
		*to++ = 0;
	word = (uint32_t)(to - bytes - 4);
	memcpy(bytes, &word, 4);
	entry = to;
	word = (uint32_t)(entry + 4 - bytes);
	to = put(entry + 4, &word, 4);
	to = put(to, &start, 8);
	to = put(to, &length, 8);
	*to++ = 0;
	while ((to - entry - 4) % 8)
		*to++ = 0;
	word = (uint32_t)(to - entry - 4);
	memcpy(entry, &word, 4);
	memset(to, 0, 4);
	entries[nr_entries].size = (size_t)(to + 4 - bytes);
	nr_entries++;
}

void patch_frames_add(uint64_t start, uint64_t size)
{
	const uint8_t from = (uint8_t)patch_framed_from, to = (uint8_t)patch_framed_to;
	/* The low bits of the program counter are between both: in the frame. Else jump over what follows. */
#define IN_FRAME                                                                                 \
	0x80, 0, 0x08, BODY_BYTES - 1, 0x1a, 0x12, 0x08, from, 0x2a, 0x16, 0x08, to, 0x2c, 0x1a, \
			0x28, 5, 0
	const uint8_t rules[] = {
			/* The frame begins at rbp + 224; elsewhere as at the begin of a function: rsp + 8. */
			0x0f, 25, IN_FRAME, 0x77, 8, 0x2f, 3, 0, 0x76, 0xe0, 0x01,
			/* The return address stands below it. */
			0x90, 1,
			/* rbp is saved where it points to. */
			0x16, 6, 25, IN_FRAME, 0x76, 0, 0x2f, 3, 0, 0x76, 0, 0x06};

	add(rules, sizeof(rules), start, size, "side_probe");
}

void patch_frames_returns(uint64_t start, uint64_t size, const void *addresses)
{
	uint64_t base = start + RETURN_BYTES, common = start + size - BODY_BYTES;
	/*
	 * The caller has this frame's stack pointer. The begin of the frame is another address than that, and than the one
	 * of the frame that returns here, for exceptions know frames apart by it; and above the latter, for debuggers ask for that.
	 */
	uint8_t rules[64] = {0x0c, 7, 1, 0x16, 7, 2, 0x77, 0,
			/* The return address: in the table, the program counter's place times its size. */
			0x10, 16, 0, 0x80, 0, 0x0e},
		*to = rules + 14;
	/* All of them call this code: the frame begins at rbp + 96, below it the return address, and rbp at its end. */
	static const uint8_t called[] = {0x0c, 6, 96, 0x90, 1, 0x86, 12};

	to = put(to, &base, 8);
	to = put(to, "\x1c\x08", 2); /* minus; RETURN_BYTES, div */
	*to++ = RETURN_BYTES;
	to = put(to, "\x1b\x08", 2);
	*to++ = sizeof(struct patch_return);
	to = put(to, "\x1e\x0e", 2); /* mul */
	to = put(to, &addresses, 8);
	*to++ = 0x22; /* plus */
	rules[10] = (uint8_t)(to - rules - 11);
	add(rules, (size_t)(to - rules), start, size - BODY_BYTES, "side_return");
	add(called, sizeof(called), common, BODY_BYTES, "side_returns");
}

static void (*enroll)(void *entry);
static bool looked;

static int take_loads(struct dl_phdr_info *object, size_t size, void *loads)
{
	(void)size;
	*(unsigned long long *)loads = object->dlpi_adds;
	return 1;
}

/*
 * Only if the program has it: without it nobody unwinds in that way. What was found stays loaded. The loader searches the
 * disk for a name that it does not know, so it is asked again only when something was loaded since.
 */
void patch_find_unwinder(void)
{
	static unsigned long long loads_before;
	unsigned long long loads = 0;
	void *library;

	if (enroll)
		return;
	dl_iterate_phdr(take_loads, &loads);
	if (looked && loads == loads_before)
		return;
	/* Counted before it is looked: what comes meanwhile is seen the next time. */
	loads_before = loads;
	looked = true;
	library = dlopen("libgcc_s.so.1", RTLD_NOLOAD | RTLD_LAZY);
	if (library)
		*(void **)&enroll = dlsym(library, "__register_frame");
}

void patch_frames_start(void)
{
	if (!looked)
		patch_find_unwinder();
}

void patch_frames_register(void)
{
	for (; nr_shown < nr_entries; nr_shown++) {
		const struct entry *entry = &entries[nr_shown];

		patch_debugger_add(entry->bytes, entry->size, entry->name, entry->start,
				entry->length);
	}
	for (; enroll && nr_registered < nr_entries; nr_registered++)
		enroll(entries[nr_registered].bytes);
}
