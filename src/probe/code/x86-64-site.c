/* SPDX-License-Identifier: MIT */
/*
 * How one place of x86-64 code can be probed. Five bytes are wanted for a jump. They may be instructions that can be
 * moved and into which nothing jumps, the end of a function and padding; else two of them for a short
 * jump, or one, with those that stand there as the rest of the jump's distance; else a breakpoint.
 */
#include "parts.h"
#include "x86-64.h"

#include <errno.h>
#include <string.h>

#define SHORT_BYTES 2
#define SHORT_REACH 128
#define PAGE 4096u
/* Behind a program of fixed addresses is its heap. */
#define HEAP_ROOM ((uint64_t)256 << 20)
#define LOWEST_MAPPING 0x10000

static const char entered[] = "something jumps into its first five bytes";
static const char too_short[] = "it ends before five bytes, and what follows is used";
static const char returns[] = "a call in its first bytes would return into the jump";
static const char moved[] = "an instruction in its first bytes sets the stack pointer";
static const char unreadable[] = "its first bytes are no instructions";
static const char not_begin[] = "it is not the begin of a function";
static const char beside[] =
		"a jump would need bytes of the next function, which may have a probe of its own";
static const char of_go[] =
		"it is Go's, whose runtime moves stacks and resumes goroutines anywhere";
static const char no_stack[] =
		"the stack pointer may point to data there, and a hit stores below it";
static const char not_followed[] = "its function jumps to where cannot be read";

/* What stands at a place, as far as it matters. */
struct place {
	struct code_file *file;
	const uint8_t *bytes;
	size_t size;
	uint64_t address;
	struct x86_instruction instructions[PROBE_PIECES_MAX];
	unsigned int count, length; /* that can be displaced */
	unsigned int until;         /* the first byte to which something may jump; 5: none */
	bool ends;
	const char *stopped; /* why no more can be displaced; NULL: nothing did */
};

static bool only_padding(const uint8_t *bytes, size_t size, size_t wanted)
{
	size_t at = 0;

	while (at < wanted) {
		struct x86_instruction instruction;

		if (at >= size || !x86_decode(bytes + at, size - at, 0, &instruction) ||
				!instruction.padding)
			return false;
		at += instruction.piece.length;
	}
	return true;
}

static void site_check_location(struct place *place)
{
	while (place->length < PROBE_JUMP_BYTES && !place->ends) {
		struct x86_instruction *instruction = &place->instructions[place->count];
		const struct code_kept *kept;

		if (place->count && place->instructions[place->count - 1].call)
			place->stopped = returns;
		else if (place->count && place->instructions[place->count - 1].moves_stack)
			place->stopped = moved;
		else if ((kept = code_kept_at(place->file, place->address + place->length, 1)))
			place->stopped = kept->reason;
		else if (!x86_decode(place->bytes + place->length, place->size - place->length,
					 place->address + place->length, instruction))
			place->stopped = unreadable;
		else if ((kept = code_kept_at(place->file, place->address + place->length,
					  instruction->piece.length)))
			place->stopped = kept->reason;
		else
			place->stopped = instruction->refused;
		if (place->stopped)
			break;
		instruction->piece.at = (uint8_t)place->length;
		place->length += instruction->piece.length;
		place->ends = instruction->ends;
		place->count++;
	}
	place->until = 1;
	while (place->until < PROBE_JUMP_BYTES &&
			!code_is_target(place->file, place->address + place->until))
		place->until++;
}

/* How many of the instructions make at least so many bytes; 0: not so many can be displaced. */
static unsigned int pieces_for(const struct place *place, unsigned int bytes)
{
	for (unsigned int i = 0; i < place->count; i++) {
		const struct probe_piece *piece = &place->instructions[i].piece;

		if ((unsigned int)piece->at + piece->length >= bytes)
			return i + 1;
	}
	return 0;
}

static void site_choose_method(const struct place *place, struct probe_site *site,
		enum probe_method method, unsigned int pieces, unsigned int patched)
{
	const struct x86_instruction *last = &place->instructions[pieces - 1];

	site->method = method;
	site->nr_pieces = (uint8_t)pieces;
	for (unsigned int i = 0; i < pieces; i++)
		site->pieces[i] = place->instructions[i].piece;
	site->displaced = (uint8_t)(last->piece.at + last->piece.length);
	/* A call returns to where it came from, not to the copy. */
	site->ends = last->ends || last->call;
	site->patched = (uint8_t)patched;
	site->nr_bytes = site->displaced > PROBE_JUMP_BYTES ? site->displaced : PROBE_JUMP_BYTES;
	if (site->nr_bytes > place->size)
		site->nr_bytes = (uint8_t)place->size;
	memcpy(site->bytes, place->bytes, site->nr_bytes);
}

/* ---- pads ---- */

static bool site_springboard_is_used(const struct code_file *file, uint64_t pad, uint64_t site)
{
	for (size_t i = 0; i < file->nr_pads; i++) {
		uint64_t taken = file->pads[i].address;

		if (pad < taken + PROBE_JUMP_BYTES && taken < pad + PROBE_JUMP_BYTES &&
				file->pads[i].site != site)
			return true;
	}
	return false;
}

/*
 * Whether nothing refers to the bytes between two functions. Constants can equal padding, and code may index them from the first one: so a
 * reference to any byte keeps all of them.
 */
static bool gap_is_free(struct code_file *file, uint64_t gap, uint64_t end)
{
	if (code_kept_at(file, gap, end - gap))
		return false;
	for (uint64_t at = gap; at < end; at++) {
		if (code_is_target(file, at) || code_function_at(file, at))
			return false;
	}
	return true;
}

/* A site keeps its pad: whoever asks again gets the same answer. */
static bool site_claim_springboard(struct code_file *file, uint64_t pad, uint64_t site)
{
	struct code_pad *pads;

	for (size_t i = 0; i < file->nr_pads; i++) {
		if (file->pads[i].address == pad && file->pads[i].site == site)
			return true;
	}
	pads = code_grow(file->pads, file->nr_pads, &file->pads_room, sizeof(*pads));
	if (!pads)
		return false;
	file->pads = pads;
	pads[file->nr_pads++] = (struct code_pad){pad, site};
	return true;
}

/*
 * The begins of functions come first, in their order: then who asks for some of them today and for others tomorrow, in another process,
 * gets pads that do not meet.
 */
static void give_pads(struct code_file *file)
{
	if (file->pads_given)
		return;
	file->pads_given = true;
	for (size_t i = 0; i < file->nr_functions; i++) {
		struct probe_site unused;

		(void)code_entry(file, &file->functions[i], &unused);
	}
}

/* The code of a function never goes on into what follows it. */
static bool function_ends(const struct code_file *file, const struct code_function *function)
{
	uint64_t at = function->address, end = function->address + function->size;
	bool ends = false;

	while (at < end) {
		struct x86_instruction instruction;
		size_t size;
		const uint8_t *bytes = code_bytes(file, at, &size);

		if (!bytes || !x86_decode(bytes, size, at, &instruction))
			return false;
		/* Padding that belongs to the function. */
		ends = instruction.ends || (ends && instruction.padding);
		at += instruction.piece.length;
	}
	return ends && at == end;
}

/* Padding between a function and the next one in which a jump can stand that a short jump at `from` reaches. */
static uint64_t pad_behind(struct code_file *file, const struct code_function *function,
		uint64_t next, uint64_t from)
{
	uint64_t gap = function->address + function->size;
	size_t size;
	const uint8_t *bytes = code_bytes(file, gap, &size);

	if (!bytes || next <= gap || next - gap < PROBE_JUMP_BYTES || size < next - gap ||
			gap > from + SHORT_REACH || next + SHORT_REACH < from ||
			!only_padding(bytes, size, next - gap) || !function_ends(file, function) ||
			!gap_is_free(file, gap, next))
		return 0;
	for (uint64_t pad = gap; pad + PROBE_JUMP_BYTES <= next; pad++) {
		int64_t away = (int64_t)(pad - (from + SHORT_BYTES));

		if (away >= -SHORT_REACH && away < SHORT_REACH &&
				!site_springboard_is_used(file, pad, from))
			return pad;
	}
	return 0;
}

static uint64_t find_pad(struct code_file *file, uint64_t from)
{
	const struct code_function *own = code_function_at(file, from);
	size_t index, last = file->nr_functions - 1;
	uint64_t pad = 0;

	if (!own || !last)
		return 0;
	index = (size_t)(own - file->functions);
	/* Behind this function and those before it that may be near enough, then those behind it. */
	for (size_t i = index + 1; !pad && i-- > 0;) {
		if (i < last)
			pad = pad_behind(file, &file->functions[i], file->functions[i + 1].address,
					from);
		if (file->functions[i].address + SHORT_REACH < from)
			break;
	}
	for (size_t i = index + 1;
			!pad && i < last && file->functions[i].address < from + SHORT_REACH; i++)
		pad = pad_behind(file, &file->functions[i], file->functions[i + 1].address, from);
	return pad;
}

/* ---- the methods ---- */

static bool try_jump(const struct place *place, struct probe_site *site)
{
	unsigned int pieces = pieces_for(place, PROBE_JUMP_BYTES);

	if (!pieces || place->until < PROBE_JUMP_BYTES)
		return false;
	site_choose_method(place, site, PROBE_JUMP, pieces, PROBE_JUMP_BYTES);
	return true;
}

/* Whether nothing refers to any byte of the padding after the last instruction. */
static bool padding_is_free(const struct place *place)
{
	uint64_t at = place->address + place->length;
	size_t size = place->size - place->length;
	const uint8_t *bytes = place->bytes + place->length;
	struct x86_instruction instruction;

	while (size && x86_decode(bytes, size, 0, &instruction) && instruction.padding) {
		const unsigned int length = instruction.piece.length;

		/* A referenced address is the beginning of a function after padding, or data. */
		if (code_function_at(place->file, at) &&
				code_function_at(place->file, at)->address == at)
			return true;
		for (unsigned int i = 0; i < length; i++) {
			if (code_is_target(place->file, at + i))
				return false;
		}
		if (code_kept_at(place->file, at, length))
			return false;
		at += length;
		bytes += length;
		size -= length;
	}
	return true;
}

static bool try_padding(const struct place *place, struct probe_site *site)
{
	if (!place->ends || place->length >= PROBE_JUMP_BYTES || place->until < PROBE_JUMP_BYTES ||
			place->size < PROBE_JUMP_BYTES ||
			site_springboard_is_used(place->file, place->address, place->address) ||
			!only_padding(place->bytes + place->length, place->size - place->length,
					PROBE_JUMP_BYTES - place->length) ||
			!padding_is_free(place) ||
			!site_claim_springboard(place->file, place->address, place->address))
		return false;
	site_choose_method(place, site, PROBE_PADDING, place->count, PROBE_JUMP_BYTES);
	return true;
}

static bool try_short(const struct place *place, struct probe_site *site)
{
	unsigned int pieces = pieces_for(place, SHORT_BYTES);
	uint64_t pad = pieces && place->until >= SHORT_BYTES ? find_pad(place->file, place->address)
							     : 0;
	size_t size;
	const uint8_t *bytes = pad ? code_bytes(place->file, pad, &size) : NULL;

	if (!bytes || size < PROBE_JUMP_BYTES ||
			!site_claim_springboard(place->file, pad, place->address))
		return false;
	site_choose_method(place, site, PROBE_SHORT, pieces, SHORT_BYTES);
	site->pad = pad;
	memcpy(site->pad_bytes, bytes, PROBE_JUMP_BYTES);
	return true;
}

/* Whether at least one page between these addresses can be mapped. */
static bool may_be_mapped(const struct code_file *file, uint64_t low, uint64_t high)
{
	uint64_t first = file->lowest & ~(uint64_t)(PAGE - 1),
		 end = (file->highest + PAGE - 1) & ~(uint64_t)(PAGE - 1);

	if (!file->fixed)
		/* The loader may map the file anywhere, so only its own pages are excluded. */
		return (int64_t)low < (int64_t)first - (int64_t)PAGE ||
				(int64_t)high >= (int64_t)end;
	if ((int64_t)high < LOWEST_MAPPING)
		return false;
	return ((int64_t)low < LOWEST_MAPPING ? LOWEST_MAPPING : low) + PAGE < first ||
			high >= end + HEAP_ROOM;
}

/* A function that begins there may be probed: then its bytes are no distance any more. A mark at its begin stays. */
static bool begins_function(const struct place *place, unsigned int from)
{
	for (unsigned int at = from; at < PROBE_JUMP_BYTES; at++) {
		const struct code_function *function =
				code_function_at(place->file, place->address + at);
		struct x86_instruction instruction;

		if (function && function->address == place->address + at &&
				!(x86_decode(place->bytes + at, place->size - at, function->address,
						  &instruction) &&
						instruction.branch_mark))
			return true;
	}
	return false;
}

static bool try_punned(const struct place *place, struct probe_site *site)
{
	if (place->size < PROBE_JUMP_BYTES)
		return false;
	for (unsigned int pieces = place->count; pieces; pieces--) {
		const struct probe_piece *last = &place->instructions[pieces - 1].piece;
		unsigned int own = (unsigned int)last->at + last->length, free_bits;
		int64_t low, high;

		/* The file's bytes in the displacement must not change. */
		if (own > place->until || own >= PROBE_JUMP_BYTES ||
				code_kept_at(place->file, place->address + own,
						PROBE_JUMP_BYTES - own))
			continue;
		/* The distance's low bytes are ours, its high ones stand there. */
		free_bits = 8 * (own - 1);
		low = (int32_t)(code_read(place->bytes + own, PROBE_JUMP_BYTES - own) << free_bits);
		high = low + ((int64_t)1 << free_bits) - 1;
		low += (int64_t)(place->address + PROBE_JUMP_BYTES);
		high += (int64_t)(place->address + PROBE_JUMP_BYTES);
		if (!may_be_mapped(place->file, (uint64_t)low, (uint64_t)high))
			continue;
		if (begins_function(place, own)) {
			site->reason = beside;
			continue;
		}
		site_choose_method(place, site, PROBE_PUNNED, pieces, own);
		return true;
	}
	return false;
}

static const char *why_no_jump(const struct place *place)
{
	if (place->until < PROBE_JUMP_BYTES)
		return entered;
	if (place->stopped)
		return place->stopped;
	return too_short;
}

static int find_method(
		struct code_file *file, uint64_t address, bool only_first, struct probe_site *site)
{
	const struct code_segment *segment = code_executable(file, address);
	struct place place = {.file = file, .address = address};

	memset(site, 0, sizeof(*site));
	if (!segment)
		return -ENOENT;
	if (code_sweep(file))
		return -ENOMEM;
	place.bytes = code_bytes(file, address, &place.size);
	site->address = address;
	site->offset = segment->offset + (address - segment->address);
	site_check_location(&place);
	if (!place.count) {
		site->nr_bytes = (uint8_t)(place.size < PROBE_JUMP_BYTES ? place.size
									 : PROBE_JUMP_BYTES);
		memcpy(site->bytes, place.bytes, site->nr_bytes);
		site->reason = place.stopped;
		return 0;
	}
	if (code_is_go(file, address)) {
		site->reason = of_go;
		site_choose_method(&place, site, PROBE_KERNEL, 1, 1);
		code_for_kernel(site);
		return 0;
	}
	if (only_first && place.instructions[0].piece.length < PROBE_JUMP_BYTES) {
		site->reason = not_followed;
		site_choose_method(&place, site, PROBE_BREAKPOINT, 1, 1);
		return 0;
	}
	if (try_jump(&place, site))
		return 0;
	give_pads(file);
	site->reason = why_no_jump(&place);
	if (!try_padding(&place, site) && !try_short(&place, site) && !try_punned(&place, site))
		site_choose_method(&place, site, PROBE_BREAKPOINT, 1, 1);
	return 0;
}

/*
 * How many bytes at the begin of a Go function ask whether there is room on the stack. Where there is none, it begins once more on a larger
 * one: who looks behind them sees each call once.
 */
static size_t stack_check(const uint8_t *bytes, size_t size)
{
	static const struct {
		uint8_t bytes[5], size, all; /* with a distance behind them */
	} frames[] = {
			{{0x4c, 0x8d, 0x64, 0x24}, 4, 5}, /* lea n(%rsp),%r12 */
			{{0x4c, 0x8d, 0xa4, 0x24}, 4, 8},
			{{0x49, 0x89, 0xe4}, 3, 3}, /* mov %rsp,%r12 */
	};
	static const uint8_t small[] = {0x49, 0x3b, 0x66, 0x10}, /* cmp 16(%r14),%rsp */
			large[] = {0x4d, 0x3b, 0x66, 0x10};      /* cmp 16(%r14),%r12 */
	const uint8_t *compare = small;
	size_t at = 0;

	for (size_t i = 0; !at && i < sizeof(frames) / sizeof(frames[0]); i++) {
		if (size > frames[i].all && !memcmp(bytes, frames[i].bytes, frames[i].size)) {
			at = frames[i].all;
			compare = large;
		}
	}
	if (size < at + sizeof(small) + 6 || memcmp(bytes + at, compare, sizeof(small)) != 0)
		return 0;
	at += sizeof(small);
	if (bytes[at] == 0x76) /* jbe */
		return at + 2;
	/* The jump counts only if an instruction follows: that is the location of the probe. */
	return bytes[at] == 0x0f && bytes[at + 1] == 0x86 && size > at + 6 ? at + 6 : 0;
}

int code_entry(struct code_file *file, const struct code_function *function,
		struct probe_site *site)
{
	struct x86_instruction instruction;
	uint64_t address = function->address, behind;
	size_t size;
	const uint8_t *bytes = code_bytes(file, address, &size);
	int ret;

	/* Indirect branches must still land on their mark. */
	if (bytes && x86_decode(bytes, size, address, &instruction) && instruction.branch_mark &&
			function->size > instruction.piece.length)
		address += instruction.piece.length;
	if (code_sweep(file))
		return -ENOMEM;
	if (code_is_sled_of_entry(file, address, &behind) &&
			behind < function->address + function->size)
		address = behind;
	else if (bytes && code_is_go(file, address))
		address += stack_check(bytes, size < function->size ? size : function->size);
	ret = find_method(file, address, false, site);
	site->begins = !ret;
	if (!ret && site->method != PROBE_NONE)
		site->no_exit = code_no_exit(file, function);
	return ret;
}

/* A location in a file that names no function. Jumps to the next instructions are unknown, so the probe leaves these unchanged. */
static int find_unnamed(struct code_file *file, uint64_t address, struct probe_site *site)
{
	bool is_reached;
	int ret = code_is_reached(file, address, &is_reached);

	if (!ret)
		ret = is_reached ? find_method(file, address, true, site) : -ENOENT;
	site->no_exit = not_begin;
	return ret;
}

static void site_defer_to_kernel(struct probe_site *site, const char *reason)
{
	site->method = PROBE_KERNEL;
	site->reason = reason;
	site->nr_pieces = site->patched = 1;
	site->displaced = site->pieces[0].length;
	site->pad = 0;
	code_for_kernel(site);
}

int code_site(struct code_file *file, uint64_t address, struct probe_site *site)
{
	const struct code_function *function = code_function_at(file, address);
	bool found = false, indirect = false, table = false;
	int ret;

	memset(site, 0, sizeof(*site));
	if (!function)
		return file->nr_functions ? -ENOENT : find_unnamed(file, address, site);
	for (uint64_t at = function->address; at < function->address + function->size;) {
		struct x86_instruction instruction;
		size_t size;
		const uint8_t *bytes = code_bytes(file, at, &size);

		if (!bytes || !x86_decode(bytes, size, at, &instruction))
			break;
		found |= at == address;
		/* A register: memory by itself is what a call of another file's function is made of. */
		indirect |= instruction.indirect_jump && !instruction.piece.field;
		table |= instruction.lea && instruction.piece.field &&
				!code_executable(file, instruction.piece.target);
		at += instruction.piece.length;
	}
	if (!found)
		return -EINVAL;
	if (address == function->address)
		return code_entry(file, function, site);
	ret = find_method(file, address, indirect && !table && !file->fixed, site);
	site->no_exit = not_begin;
	if (!ret && site->method != PROBE_NONE && site->method != PROBE_KERNEL &&
			code_exchanges_stack(file, function))
		site_defer_to_kernel(site, no_stack);
	return ret;
}
