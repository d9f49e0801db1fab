/* SPDX-License-Identifier: MIT */
/*
 * Describes generated code to unwinders: exceptions, backtrace() and the ends of threads unwind
 * through it.
 *
 * One entry describes all trampolines of an arena. They are aligned and have the same layout, so
 * the low bits of the program counter are the offset in a trampoline, and a table contains the
 * frame for each offset; the other bits identify the probe. Each head has an entry too; there the
 * trampoline has pushed an address that identifies the probe. One entry describes all gates: the
 * address where the call returns is in a table, by the index of the gate.
 */
#include "parts.h"
#include "base/inside/search.h"

#include <stdbool.h>
#include <string.h>

#define BYTES_MAX PATCH_FRAMES_BYTES
#define ENTRIES_MAX PATCH_FRAMES_MAX

/*
 * The head of a table of unwind data, as in .eh_frame_hdr, without the table itself. Addresses are
 * 4 bytes, relative to themselves.
 */
struct head {
	uint8_t version, where, no_count, no_rows;
	int32_t away;
};

static struct entry {
	struct head head;
	uint8_t bytes[BYTES_MAX]; /* must follow the head */
	size_t size;
	uint64_t start, length;
	const char *name; /* NULL: none */
	const struct entry *
			/*
			 * The same for readers that take the begin of a frame for its stack
			 * pointer; NULL: this one is such.
			 */
			plain;
} entries[ENTRIES_MAX], plain_return;
static unsigned int nr_entries, nr_shown;
_Static_assert(offsetof(struct entry, bytes) == sizeof(struct head),
		"the head refers to the next bytes");

/*
 * The pieces that unwinders find, sorted by address. One of the two lists is complete while the
 * other one is written.
 */
static struct list {
	unsigned int nr;
	struct {
		uint64_t start;
		unsigned int which;
	} pieces[ENTRIES_MAX];
} lists[2];
static unsigned int nr_changes; /* the lowest bit is the index of the complete list */
#define FIND_TRIES 4

static uint8_t *patch_frame_append(uint8_t *to, const void *bytes, size_t size)
{
	memcpy(to, bytes, size);
	return to + size;
}

/* Ends an entry that has all of its rows. */
static void patch_frame_end_entry(struct entry *described, uint8_t *entry, uint8_t *to)
{
	uint32_t word;

	while ((to - entry - 4) % 8)
		*to++ = 0;
	word = (uint32_t)(to - entry - 4);
	memcpy(entry, &word, 4);
	memset(to, 0, 4);
	described->size = (size_t)(to + 4 - described->bytes);
}

/* Writes a CIE, the FDE that uses it, and the end mark. */
static void patch_frame_write_description(struct entry *described, const void *rules, size_t size,
		uint64_t start, uint64_t length, bool interrupts)
{
	/*
	 * zR: addresses of 64 bits; alignment 1 and -8; the return address is column 16. S (signal
	 * frame): the frame before continues at the return address and has not called, so it may be
	 * at the first instruction of a function.
	 */
	static const char calls[] = "\0\0\0\0\1zR\0\1\x78\x10\1\0",
			  interruptions[] = "\0\0\0\0\1zRS\0\1\x78\x10\1\0";
	uint8_t *bytes = described->bytes, *to, *entry;
	uint32_t word;

	described->start = start;
	described->length = length;
	described->head = (struct head){1, 0x1b, 0xff, 0xff, sizeof(described->head.away)};
	to = interrupts ? patch_frame_append(bytes + 4, interruptions, sizeof(interruptions) - 1)
			: patch_frame_append(bytes + 4, calls, sizeof(calls) - 1);
	to = patch_frame_append(to, rules, size);
	while ((to - bytes - 4) % 8)
		*to++ = 0;
	word = (uint32_t)(to - bytes - 4);
	memcpy(bytes, &word, 4);
	entry = to;
	word = (uint32_t)(entry + 4 - bytes);
	to = patch_frame_append(entry + 4, &word, 4);
	to = patch_frame_append(to, &start, 8);
	to = patch_frame_append(to, &length, 8);
	*to++ = 0;
	patch_frame_end_entry(described, entry, to);
}

static struct entry *patch_frame_add_entry(const void *rules, size_t size, uint64_t start,
		uint64_t length, const char *name, bool interrupts)
{
	struct entry *entry = &entries[nr_entries];

	if (nr_entries == ENTRIES_MAX)
		return NULL;
	patch_frame_write_description(entry, rules, size, start, length, interrupts);
	entry->name = name;
	nr_entries++;
	return entry;
}

/*
 * Code whose copies begin at multiples of its size, and a table with the frame for each byte of it.
 */
struct frame_template {
	const uint8_t *frames;
	unsigned int bytes;
};

static uint8_t *patch_frame_append_offset(uint8_t *to, unsigned int bytes)
{
	to = patch_frame_append(to, "\x80\0\x08", 3); /* the program counter; the size - 1, and */
	*to++ = (uint8_t)(bytes - 1);
	*to++ = 0x1a;
	return to;
}

/* Pushes the table's byte for the program counter on the stack of the expression. */
static uint8_t *patch_frame_append_distance(uint8_t *to, const struct frame_template *code)
{
	to = patch_frame_append_offset(to, code->bytes);
	*to++ = 0x0e;
	to = patch_frame_append(to, &code->frames, sizeof(code->frames));
	return patch_frame_append(to, "\x22\x94\1", 3); /* plus; the byte there */
}

/* The trampolines of an arena. */
struct trampolines {
	struct frame_template code;
	uint64_t start;
	const struct patch *patches;
};

/* Pushes the struct patch of the trampoline that contains the program counter. */
static uint8_t *patch_frame_append_patch(uint8_t *to, const struct trampolines *trampolines)
{
	static const uint16_t size = sizeof(struct patch);

	to = patch_frame_append(to, "\x80\0\x0e", 3); /* the program counter; the begin, minus */
	to = patch_frame_append(to, &trampolines->start, 8);
	*to++ = 0x1c;
	*to++ = (uint8_t)(0x30 + __builtin_ctz(trampolines->code.bytes)); /* shr; its size, mul */
	to = patch_frame_append(to, "\x25\x0a", 2);
	to = patch_frame_append(to, &size, 2);
	to = patch_frame_append(to, "\x1e\x0e", 2);
	to = patch_frame_append(to, &trampolines->patches, 8);
	*to++ = 0x22; /* plus */
	return to;
}

/* Adds the offset of that member. */
static uint8_t *patch_frame_append_member(uint8_t *to, size_t member)
{
	*to++ = 0x23;
	*to++ = (uint8_t)(member & 0x7f) | 0x80;
	*to++ = (uint8_t)(member >> 7);
	return to;
}

/*
 * The rule for the begin of the frame, by the table; `away`: distance from the frame pointer to
 * that, where the table has PATCH_BY_FRAME_POINTER. With `site`, the frame begins at the site's
 * stack pointer; with `trampolines`, also within their copies.
 */
static uint8_t *patch_frame_append_frame(uint8_t *to, const struct frame_template *code,
		unsigned int away, bool site, const struct trampolines *trampolines)
{
	uint8_t by_frame[] = {0x12, 0x08, PATCH_BY_FRAME_POINTER, 0x2e, 0x28, 7, 0, 0x13, 0x76,
			(uint8_t)(away & 0x7f) | 0x80, (uint8_t)(away >> 7), 0x2f, 3, 0, 0x77, 0,
			0x22};
	uint8_t *size;

	/* If the byte is not equal to it, skip 7: it is added to rsp. Else `away` from rbp. */
	*to++ = 0x0f;
	size = to++;
	to = patch_frame_append(patch_frame_append_distance(to, code), by_frame, sizeof(by_frame));
	if (site)
		to = patch_frame_append(to, "\x38\x1c", 2); /* 8, minus */
	if (trampolines) {
		/* Plus 8 from `pushed` on. */
		to = patch_frame_append_patch(
				patch_frame_append_offset(to, code->bytes), trampolines);
		to = patch_frame_append_member(to, offsetof(struct patch, pushed));
		to = patch_frame_append(to, "\x94\1\x2a\x38\x1e\x22",
				6); /* the byte there; ge; 8, mul; plus */
	}
	*size = (uint8_t)(to - size - 1);
	return to;
}

/*
 * Adds rows that say where rbp is: in its register, or saved where that points to. An expression
 * for its value would end backtraces at callers where it is 0: libunwind takes such a frame for the
 * outermost one.
 */
static void patch_frame_add_rows(struct entry *described, const struct frame_template *code)
{
	uint8_t *entry, *to;
	uint32_t description;
	uint16_t from = 0;

	if (!described)
		return;
	memcpy(&description, described->bytes, sizeof(description));
	entry = described->bytes + 4 + description;
	to = entry + 4 + 4 + 8 + 8 + 1;
	for (uint16_t at = 1; at < code->bytes; at++) {
		bool saved = code->frames[at] == PATCH_BY_FRAME_POINTER;
		uint16_t on = (uint16_t)(at - from);

		if (saved == (code->frames[at - 1] == PATCH_BY_FRAME_POINTER))
			continue;
		*to++ = 3; /* skip that many bytes; expression: breg6; or the same value */
		to = patch_frame_append(to, &on, sizeof(on));
		to = saved ? patch_frame_append(to, "\x10\6\2\x76\0", 5)
			   : patch_frame_append(to, "\x08\6", 2);
		from = at;
	}
	patch_frame_end_entry(described, entry, to);
}

/* Marks registers that a callee may change as unknown: rax, rdx, rcx, rsi, rdi, r8 to r11. */
static uint8_t *patch_frame_append_unknown(uint8_t *to)
{
	return patch_frame_append(to, "\7\0\7\1\7\2\7\4\7\5\7\10\7\11\7\12\7\13", 18);
}

/*
 * Describes a trampoline as an interruption of the program at its site, so that the unwind data of
 * the function applies, wherever in the function the site is. The caller's stack pointer is the
 * site's, and the return address is the address of the site, or of the displaced instruction whose
 * copy comes next.
 */
static void patch_frame_add_trampolines(uint64_t size, const struct trampolines *trampolines)
{
	uint8_t rules[256], *to, *length;

	/*
	 * The table has the distance at the begin of a function, with its return address. A call in
	 * the copy pushes another one.
	 */
	to = patch_frame_append_frame(
			rules, &trampolines->code, PATCH_FRAME_BYTES + 8, true, trampolines);
	/*
	 * The return address is in struct patch: the last location whose copy begins at or before
	 * the program counter.
	 */
	to = patch_frame_append(to, "\x10\x10", 2);
	length = to++;
	to = patch_frame_append_offset(
			patch_frame_append_patch(to, trampolines), trampolines->code.bytes);
	*to++ = 0x30; /* 0 */
	for (size_t i = 0; i < PROBE_PIECES_MAX; i++) {
		to = patch_frame_append(
				to, "\x14\x15\3", 3); /* over: the offset; pick: the probe */
		to = patch_frame_append_member(to, offsetof(struct patch, begins) + i);
		to = patch_frame_append(to, "\x94\1\x2a\x22", 4); /* the byte there; ge; plus */
	}
	to = patch_frame_append(to, "\x33\x24\x16\x13\x22", 5); /* 3, shl; swap, drop; plus */
	to = patch_frame_append_member(to, offsetof(struct patch, locations));
	*length = (uint8_t)(to - length - 1);
	to = patch_frame_append_unknown(to);
	patch_frame_add_entry(rules, (size_t)(to - rules), trampolines->start + HEADS_BYTES,
			size - HEADS_BYTES, "side_probe", true);
}

/*
 * Adds the part of an address that is the trampoline's offset in its arena: this is also the offset
 * of its patch_hot.
 */
static uint8_t *patch_frame_append_hot(uint8_t *to)
{
	static const uint16_t height = (uint16_t)-TRAMPOLINE_BYTES;

	*to++ = 0x0a;
	to = patch_frame_append(to, &height, sizeof(height));
	return patch_frame_append(to, "\x1a\x22", 2); /* and; plus */
}

/*
 * Describes a head in the same way. The word that the trampoline has pushed is below the red zone.
 */
static void patch_frame_add_head(
		uint64_t start, bool follows, unsigned int number, const struct patch_hot *hot)
{
	struct frame_template code = {patch_head_frames(follows, number), HEAD_BYTES};
	uint8_t rules[256], *to, *length;

	to = patch_frame_append_frame(rules, &code, PATCH_FRAME_BYTES + 8, true, NULL);
	to = patch_frame_append(to, "\x10\x10", 2);
	length = to++;
	/* The first patch_hot; swap; that distance, minus; the two bytes there. */
	*to++ = 0x0e;
	to = patch_frame_append(to, &hot, sizeof(hot));
	to = patch_frame_append(to, "\x16\x08", 2);
	*to++ = PATCH_PUSHED_BYTES;
	to = patch_frame_append_hot(patch_frame_append(to, "\x1c\x94\2", 3));
	to = patch_frame_append_member(to, offsetof(struct patch_hot, address));
	*length = (uint8_t)(to - length - 1);
	to = patch_frame_append_unknown(to);
	patch_frame_add_rows(patch_frame_add_entry(rules, (size_t)(to - rules),
					     start + number * HEAD_BYTES, HEAD_BYTES, "side_probe",
					     true),
			&code);
}

void patch_frames_add(uint64_t start, uint64_t size, struct patch_kind kind,
		const struct patch *patches, const struct patch_hot *hot)
{
	const struct trampolines trampolines = {
			.code = {patch_trampoline_frames(kind.follows), kind.bytes},
			.start = start,
			.patches = patches};

	for (unsigned int number = 0; number < PATCH_HEADS; number++)
		patch_frame_add_head(start, kind.follows, number, hot);
	patch_frame_add_trampolines(size, &trampolines);
}

/*
 * Describes slots, which are jumps to trampolines, in the same way: the first head of the arena
 * contains the address of its first patch_hot.
 */
void patch_frames_add_slots(uint64_t start, uint64_t size)
{
	/*
	 * The stack pointer is the caller's. The program counter; dup; after the jump's first byte,
	 * 4 bytes with sign; plus.
	 */
	uint8_t rules[96] = {0x0c, 7, 0, 0x10, 16, 0, 0x80, 0, 0x12, 0x23, 1, 0x94, 4, 0x08, 32,
			0x24, 0x08, 32, 0x26, 0x22},
		*to = rules + 20;
	static const int32_t arena = -(int32_t)PATCH_ARENA_BYTES;

	to = patch_frame_append_member(to, PROBE_JUMP_BYTES);
	*to++ = 0x12; /* dup; the begin of the arena, and */
	*to++ = 0x0d;
	to = patch_frame_append(to, &arena, sizeof(arena));
	to = patch_frame_append_member(patch_frame_append(to, "\x1a", 1), patch_head_hot_at());
	to = patch_frame_append(to, "\x06\x16", 2); /* the word there; swap */
	to = patch_frame_append_member(
			patch_frame_append_hot(to), offsetof(struct patch_hot, address));
	rules[5] = (uint8_t)(to - rules - 6);
	patch_frame_add_entry(rules, (size_t)(to - rules), start, size, "side_probe", true);
}

/*
 * Describes the common code of gates. The slot of the return address contains the index, by which
 * the table has the address; or the address itself already, which is greater than any index.
 */
static void patch_frame_add_common(uint64_t start, const struct patch_return *returns)
{
	struct frame_template code = {patch_returns_frames(), COMMON_BYTES};
	uint8_t rules[192],
			*to = patch_frame_append_frame(
					rules, &code, PATCH_RETURN_FRAME_BYTES + 8, false, NULL);
	static const uint8_t stored_word[] = {0x38, 0x1c, 0x12, 0x06, 0x12, 0x0c};
	static const uint32_t most = RETURNS_MAX;
	uint8_t *size;

	to = patch_frame_append(to, "\x10\x10", 2);
	size = to++;
	/* 8, minus; dup, the word there; dup, less than the number of indices? If so, skip 4. */
	to = patch_frame_append(to, stored_word, sizeof(stored_word));
	to = patch_frame_append(to, &most, sizeof(most));
	to = patch_frame_append(to, "\x2d\x28\4\0", 4);
	to = patch_frame_append(to, "\x13\x2f\x0d\0", 4); /* drop; to the end */
	to = patch_frame_append(to, "\x08", 1);
	*to++ = sizeof(struct patch_return);
	to = patch_frame_append(to, "\x1e\x0e", 2); /* mul */
	to = patch_frame_append(to, &returns, sizeof(returns));
	*to++ = 0x22; /* plus */
	*size = (uint8_t)(to - size - 1);
	patch_frame_add_rows(patch_frame_add_entry(rules, (size_t)(to - rules), start, COMMON_BYTES,
					     "side_returns", false),
			&code);
}

/*
 * The location of the gate's return address: in the table, at the program counter's distance from
 * `base` times the entry size.
 */
static uint8_t *patch_frame_append_return(
		uint8_t *to, uint64_t base, const struct patch_return *returns)
{
	to = patch_frame_append(
			to, "\x80\0\x0e", 3); /* the program counter; the first gate, minus */
	to = patch_frame_append(to, &base, 8);
	to = patch_frame_append(to, "\x1c\x08", 2); /* minus; RETURN_BYTES, div */
	*to++ = RETURN_BYTES;
	to = patch_frame_append(to, "\x1b\x08", 2);
	*to++ = sizeof(struct patch_return);
	to = patch_frame_append(to, "\x1e\x0e", 2); /* mul */
	to = patch_frame_append(to, &returns, sizeof(returns));
	*to++ = 0x22; /* plus */
	return to;
}

/*
 * The stack pointer of the caller is that at the gate, or the one above the index that was pushed.
 */
static const uint8_t callers_stack[] = {
		0x77, 0, 0x80, 0, 0x3f, 0x1a, 0x30 + RETURN_PUSHED_BYTES, 0x2a, 0x33, 0x24, 0x22};

size_t patch_frames_gates(
		uint8_t rules[GATES_RULES_BYTES], uint64_t base, const struct patch_return *returns)
{
	uint8_t *to = rules, *size;

	*to++ = 0x0f; /* the frame begins at */
	*to++ = sizeof(callers_stack);
	to = patch_frame_append(to, callers_stack, sizeof(callers_stack));
	to = patch_frame_append(to, "\x16\x10", 2); /* the value of the return address is */
	size = to++;
	to = patch_frame_append(patch_frame_append_return(to, base, returns), "\x06\x31\x1c",
			3); /* the value there; 1, minus */
	*size = (uint8_t)(to - size - 1);
	return (size_t)(to - rules);
}

void patch_frames_returns(uint64_t start, const struct patch_return *returns, uint32_t count)
{
	uint64_t base = start + RETURNS_HEAD_BYTES,
		 size = RETURNS_HEAD_BYTES + (uint64_t)count * RETURN_BYTES;
	/*
	 * The caller has this frame's stack pointer, or the one above the index that was pushed.
	 * The frame's address differs from that, and from the address of the frame that returns
	 * here, because exceptions tell frames apart by it. It is above the latter, because
	 * debuggers require that.
	 */
	uint8_t rules[64] = {0x0c, 7, 1, 0x16, 7, sizeof(callers_stack)},
		*to = patch_frame_append(rules + 6, callers_stack, sizeof(callers_stack)),
		plain[64] = {0x0f};
	struct entry *entry;

	to = patch_frame_append(to, "\x10\x10", 2); /* the return address is at */
	to = patch_frame_append_return(to + 1, base, returns);
	rules[19] = (uint8_t)(to - rules - 20);
	start += COMMON_BYTES;
	size -= COMMON_BYTES;
	entry = patch_frame_add_entry(
			rules, (size_t)(to - rules), start, size, "side_return", false);
	/* Without the begin of the frame and the name of the register: the same value is both. */
	memcpy(plain + 1, rules + 5, (size_t)(to - rules) - 5);
	patch_frame_write_description(
			&plain_return, plain, (size_t)(to - rules) - 4, start, size, false);
	if (entry)
		entry->plain = &plain_return;
	patch_frame_add_common(start - COMMON_BYTES, returns);
}

/* Springboards, never removed from this list; unwinders read the sites. */
static struct {
	uint64_t address, site;
	unsigned int entry;
} springboards[PATCH_FRAMES_SPRINGBOARDS];
static int nr_springboards;

/*
 * Describes a springboard, which is also a jump to a trampoline, in padding of a file. The stack
 * pointer is the site's; the site's address is in the list.
 */
static int patch_frame_add_springboard(uint64_t address)
{
	uint8_t rules[32] = {0x0c, 7, 0, 0x10, 16, 9, 0x0e}, *to = rules + 7;
	const uint64_t *site = &springboards[nr_springboards].site;

	if (nr_springboards == PATCH_FRAMES_SPRINGBOARDS)
		return -1;
	springboards[nr_springboards].address = address;
	springboards[nr_springboards].entry = nr_entries;
	to = patch_frame_append(to, &site, sizeof(site));
	if (!patch_frame_add_entry(
			    rules, (size_t)(to - rules), address, PROBE_JUMP_BYTES, NULL, true))
		return -1;
	return nr_springboards++;
}

/* Sets how many bytes of the piece are such code; a springboard has all or none. */
static void patch_frame_set_length(unsigned int which, uint64_t length)
{
	struct entry *entry = &entries[which];
	uint32_t description;

	/* After the CIE, the FDE has its length, the distance to the CIE, and the begin. */
	memcpy(&description, entry->bytes, sizeof(description));
	memcpy(entry->bytes + 4 + description + 16, &length, sizeof(length));
	/* Relaxed: see patch_frames_find(). */
	__atomic_store_n(&entry->length, length, __ATOMIC_RELAXED);
}

int patch_frames_springboard(int number, uint64_t address, uint64_t site)
{
	for (int i = 0; number < 0 && i < nr_springboards; i++) {
		if (springboards[i].address == address)
			number = i;
	}
	if (number < 0 && site)
		number = patch_frame_add_springboard(address);
	if (number < 0)
		return number;
	if (site)
		springboards[number].site = site;
	patch_frame_set_length(springboards[number].entry, site ? PROBE_JUMP_BYTES : 0);
	patch_unwinders_change(springboards[number].entry);
	return number;
}

static void patch_frame_insert_entry(struct list *list, unsigned int which)
{
	unsigned int at = list->nr++;

	for (; at && list->pieces[at - 1].start > entries[which].start; at--)
		list->pieces[at] = list->pieces[at - 1];
	list->pieces[at].start = entries[which].start;
	list->pieces[at].which = which;
}

/* Makes unwinders find the new pieces. */
static void patch_frame_publish_table(void)
{
	const struct list *old = &lists[nr_changes % 2];
	struct list *list = &lists[(nr_changes + 1) % 2];

	/*
	 * Release: a thread that reads what is written from here on also reads the last change.
	 * Pairs with the fence in patch_frame_piece_at().
	 */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	list->nr = old->nr;
	memcpy(list->pieces, old->pieces, old->nr * sizeof(*old->pieces));
	for (unsigned int i = nr_shown; i < nr_entries; i++)
		patch_frame_insert_entry(list, i);
	/* Release: the list and its entries. Pairs with the acquire in patch_frame_piece_at(). */
	__atomic_store_n(&nr_changes, nr_changes + 1, __ATOMIC_RELEASE);
}

void patch_frames_register(void)
{
	if (nr_shown < nr_entries)
		patch_frame_publish_table();
	for (; nr_shown < nr_entries; nr_shown++) {
		const struct entry *entry = &entries[nr_shown];

		patch_debugger_add(entry->bytes, entry->size, entry->name, entry->start,
				entry->length);
	}
	patch_unwinders_notify();
}

/* Returns the last piece that begins at or before the address; ENTRIES_MAX: none. */
static unsigned int patch_frame_piece_before(const struct list *list, uint64_t address)
{
	/* Relaxed: the caller checks that the list has not changed. */
	unsigned int low = search_leading(i, __atomic_load_n(&list->nr, __ATOMIC_RELAXED),
			__atomic_load_n(&list->pieces[i].start, __ATOMIC_RELAXED) <= address);

	return low ? __atomic_load_n(&list->pieces[low - 1].which, __ATOMIC_RELAXED) : ENTRIES_MAX;
}

/*
 * Finds a piece without a lock. Lists change only when probes are set, so a few tries are enough.
 */
static unsigned int patch_frame_piece_at(uint64_t address)
{
	for (int i = 0; i < FIND_TRIES; i++) {
		/* Acquire: pairs with the release in patch_frame_publish_table(). */
		unsigned int change = __atomic_load_n(&nr_changes, __ATOMIC_ACQUIRE);
		unsigned int which = patch_frame_piece_before(&lists[change % 2], address);

		/*
		 * Acquire: if one of these loads has read from a later change, the next load finds
		 * that change. Pairs with the fence in patch_frame_publish_table().
		 */
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&nr_changes, __ATOMIC_RELAXED) == change)
			return which;
	}
	return ENTRIES_MAX;
}

bool patch_frames_find(uint64_t address, struct patch_found *ret_found)
{
	unsigned int which = patch_frame_piece_at(address);
	const struct entry *entry = &entries[which];

	/* Relaxed: a springboard that is removed at this moment is not executed any more. */
	if (which == ENTRIES_MAX ||
			address - entry->start >= __atomic_load_n(&entry->length, __ATOMIC_RELAXED))
		return false;
	*ret_found = (struct patch_found){entry->start, entry->start + entry->length, &entry->head};
	return true;
}

bool patch_frames_entry(unsigned int which, struct patch_frames *ret_frames)
{
	const struct entry *entry = which < nr_entries ? &entries[which] : NULL, *plain;

	if (!entry)
		return false;
	plain = entry->plain ? entry->plain : entry;
	*ret_frames = (struct patch_frames){.start = entry->start,
			.length = entry->length,
			.plain = plain->bytes,
			.plain_size = plain->size};
	return true;
}
