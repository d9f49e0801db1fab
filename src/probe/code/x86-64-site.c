/* SPDX-License-Identifier: MIT */
/*
 * Chooses how a probe can be set at a location of x86-64 code. A jump needs five bytes:
 * instructions that can be moved and into which no jump leads, or the end of a function and
 * padding. Otherwise two bytes suffice for a short jump, or one byte if the next bytes serve as the
 * upper part of the jump's distance. A breakpoint is the last choice.
 */
#include "parts.h"
#include "x86-64.h"

#include <errno.h>
#include <string.h>

#define SHORT_BYTES 2
#define SHORT_REACH 128
#define PAGE 4096u
/* The heap of a program with fixed addresses follows it. */
#define HEAP_SPACE ((uint64_t)256 << 20)
#define LOWEST_MAPPING 0x10000

static const char entered[] = "something jumps into its first five bytes";
static const char too_short[] = "it is shorter than five bytes, and the bytes after it are in use";
static const char returns[] = "a call in its first bytes would return into the jump";
static const char moved[] = "an instruction in its first bytes sets the stack pointer";
static const char unreadable[] = "its first bytes are not instructions";
static const char not_begin[] = "it is not the start of a function";
static const char beside[] =
		"a jump would need bytes of the next function, which may have its own probe";
static const char of_go[] =
		"it is Go code, and the Go runtime moves stacks and resumes goroutines anywhere";
static const char no_stack[] =
		"the stack pointer may point to data there, and a hit stores below it";
static const char forwards[] = "it is a PLT entry, which only forwards the call";
static const char not_followed[] = "its function has an indirect jump whose target is unknown";

/* The code at a location. */
struct site_location {
	struct code_file *file;
	const uint8_t *bytes;
	size_t size;
	uint64_t address;
	struct x86_instruction instructions[PROBE_PIECES_MAX];
	unsigned int count, length; /* that can be displaced */
	unsigned int first_target;  /* the first byte that a jump may lead to; 5: none */
	bool ends;
	const char *obstacle; /* why no further instruction can be displaced; NULL: no obstacle */
};

static bool site_is_padding(const uint8_t *bytes, size_t size, size_t wanted)
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

static void site_check_location(struct site_location *location)
{
	while (location->length < PROBE_JUMP_BYTES && !location->ends) {
		struct x86_instruction *instruction = &location->instructions[location->count];
		const struct code_kept *kept;

		if (location->count && location->instructions[location->count - 1].call)
			location->obstacle = returns;
		else if (location->count && location->instructions[location->count - 1].moves_stack)
			location->obstacle = moved;
		else if ((kept = code_kept_at(
					  location->file, location->address + location->length, 1)))
			location->obstacle = kept->reason;
		else if (!x86_decode(location->bytes + location->length,
					 location->size - location->length,
					 location->address + location->length, instruction))
			location->obstacle = unreadable;
		else if ((kept = code_kept_at(location->file, location->address + location->length,
					  instruction->piece.length)))
			location->obstacle = kept->reason;
		else
			location->obstacle = instruction->refused;
		if (location->obstacle)
			break;
		instruction->piece.at = (uint8_t)location->length;
		location->length += instruction->piece.length;
		location->ends = instruction->ends;
		location->count++;
	}
	location->first_target = 1;
	while (location->first_target < PROBE_JUMP_BYTES &&
			!code_is_target(location->file, location->address + location->first_target))
		location->first_target++;
}

/*
 * Returns how many of the instructions have at least so many bytes, or 0 if fewer bytes can be
 * displaced.
 */
static unsigned int site_count_pieces(const struct site_location *location, unsigned int bytes)
{
	for (unsigned int i = 0; i < location->count; i++) {
		const struct probe_piece *piece = &location->instructions[i].piece;

		if ((unsigned int)piece->at + piece->length >= bytes)
			return i + 1;
	}
	return 0;
}

static void site_choose_method(const struct site_location *location, struct probe_site *site,
		enum probe_method method, unsigned int pieces, unsigned int patched)
{
	const struct x86_instruction *last = &location->instructions[pieces - 1];

	site->method = method;
	site->nr_pieces = (uint8_t)pieces;
	for (unsigned int i = 0; i < pieces; i++)
		site->pieces[i] = location->instructions[i].piece;
	site->displaced = (uint8_t)(last->piece.at + last->piece.length);
	/* A call returns to the original code, not to the copy. */
	site->ends = last->ends || last->call;
	site->patched = (uint8_t)patched;
	site->nr_bytes = site->displaced > PROBE_JUMP_BYTES ? site->displaced : PROBE_JUMP_BYTES;
	if (site->nr_bytes > location->size)
		site->nr_bytes = (uint8_t)location->size;
	memcpy(site->bytes, location->bytes, site->nr_bytes);
}

/* ---- springboards ---- */

static bool site_springboard_is_used(
		const struct code_file *file, uint64_t springboard, uint64_t site)
{
	for (size_t i = 0; i < file->nr_springboards; i++) {
		uint64_t taken = file->springboards[i].address;

		if (springboard < taken + PROBE_JUMP_BYTES &&
				taken < springboard + PROBE_JUMP_BYTES &&
				file->springboards[i].site != site)
			return true;
	}
	return false;
}

/*
 * True if no code refers to the bytes between two functions. Constants can equal padding, and code
 * may index them from the first one: so a reference to any byte keeps all of them.
 */
static bool site_gap_is_free(struct code_file *file, uint64_t gap, uint64_t end)
{
	if (code_kept_at(file, gap, end - gap))
		return false;
	for (uint64_t at = gap; at < end; at++) {
		if (code_is_target(file, at) || code_function_at(file, at))
			return false;
	}
	return true;
}

/* A site keeps its springboard: a second request gets the same answer. */
static bool site_claim_springboard(struct code_file *file, uint64_t springboard, uint64_t site)
{
	struct code_springboard *springboards;

	for (size_t i = 0; i < file->nr_springboards; i++) {
		if (file->springboards[i].address == springboard &&
				file->springboards[i].site == site)
			return true;
	}
	springboards = code_grow(file->springboards, file->nr_springboards,
			&file->springboards_capacity, sizeof(*springboards));
	if (!springboards)
		return false;
	file->springboards = springboards;
	springboards[file->nr_springboards++] = (struct code_springboard){springboard, site};
	return true;
}

/*
 * Claims springboards for the starts of all functions first, in their order. So two commands that
 * probe different functions of one file compute the same springboards, which never overlap.
 */
static void site_claim_springboards(struct code_file *file)
{
	if (file->springboards_claimed)
		return;
	file->springboards_claimed = true;
	for (size_t i = 0; i < file->nr_functions; i++) {
		struct probe_site unused;

		(void)code_entry(file, &file->functions[i], &unused);
	}
}

/* True if control never continues from the function into the code after it. */
static bool site_function_ends(const struct code_file *file, const struct code_function *function)
{
	uint64_t at = function->address, end = function->address + function->size;
	bool ends = false;

	while (at < end) {
		struct x86_instruction instruction;
		size_t size;
		const uint8_t *bytes = code_bytes(file, at, &size);

		if (!bytes || !x86_decode(bytes, size, at, &instruction))
			return false;
		/* Padding may follow within the function. */
		ends = instruction.ends || (ends && instruction.padding);
		at += instruction.piece.length;
	}
	return ends && at == end;
}

/*
 * Finds padding between a function and the next one that has space for a jump and that a short jump
 * at `from` reaches. Returns its address or 0.
 */
static uint64_t site_springboard_after(struct code_file *file, const struct code_function *function,
		uint64_t next, uint64_t from)
{
	uint64_t gap = function->address + function->size;
	size_t size;
	const uint8_t *bytes = code_bytes(file, gap, &size);

	if (!bytes || next <= gap || next - gap < PROBE_JUMP_BYTES || size < next - gap ||
			gap > from + SHORT_REACH || next + SHORT_REACH < from ||
			!site_is_padding(bytes, size, next - gap) ||
			!site_function_ends(file, function) || !site_gap_is_free(file, gap, next))
		return 0;
	for (uint64_t springboard = gap; springboard + PROBE_JUMP_BYTES <= next; springboard++) {
		int64_t away = (int64_t)(springboard - (from + SHORT_BYTES));

		if (away >= -SHORT_REACH && away < SHORT_REACH &&
				!site_springboard_is_used(file, springboard, from))
			return springboard;
	}
	return 0;
}

static uint64_t site_find_springboard(struct code_file *file, uint64_t from)
{
	const struct code_function *own = code_function_at(file, from);
	size_t index, last = file->nr_functions - 1;
	uint64_t springboard = 0;

	if (!own || !last)
		return 0;
	index = (size_t)(own - file->functions);
	/*
	 * First after this function and those before it that may be in reach, then after later
	 * ones.
	 */
	for (size_t i = index + 1; !springboard && i-- > 0;) {
		if (i < last)
			springboard = site_springboard_after(file, &file->functions[i],
					file->functions[i + 1].address, from);
		if (file->functions[i].address + SHORT_REACH < from)
			break;
	}
	for (size_t i = index + 1;
			!springboard && i < last && file->functions[i].address < from + SHORT_REACH;
			i++)
		springboard = site_springboard_after(
				file, &file->functions[i], file->functions[i + 1].address, from);
	return springboard;
}

/* ---- the methods ---- */

static bool site_try_jump(const struct site_location *location, struct probe_site *site)
{
	unsigned int pieces = site_count_pieces(location, PROBE_JUMP_BYTES);

	if (!pieces || location->first_target < PROBE_JUMP_BYTES)
		return false;
	site_choose_method(location, site, PROBE_JUMP, pieces, PROBE_JUMP_BYTES);
	return true;
}

/* True if no code refers to any byte of the padding after the last instruction. */
static bool site_padding_is_free(const struct site_location *location)
{
	uint64_t at = location->address + location->length;
	size_t size = location->size - location->length;
	const uint8_t *bytes = location->bytes + location->length;
	struct x86_instruction instruction;

	while (size && x86_decode(bytes, size, 0, &instruction) && instruction.padding) {
		const unsigned int length = instruction.piece.length;

		/* A referenced address is the start of a function after padding, or data. */
		if (code_function_at(location->file, at) &&
				code_function_at(location->file, at)->address == at)
			return true;
		for (unsigned int i = 0; i < length; i++) {
			if (code_is_target(location->file, at + i))
				return false;
		}
		if (code_kept_at(location->file, at, length))
			return false;
		at += length;
		bytes += length;
		size -= length;
	}
	return true;
}

static bool site_try_padding(const struct site_location *location, struct probe_site *site)
{
	if (!location->ends || location->length >= PROBE_JUMP_BYTES ||
			location->first_target < PROBE_JUMP_BYTES ||
			location->size < PROBE_JUMP_BYTES ||
			site_springboard_is_used(
					location->file, location->address, location->address) ||
			!site_is_padding(location->bytes + location->length,
					location->size - location->length,
					PROBE_JUMP_BYTES - location->length) ||
			!site_padding_is_free(location) ||
			!site_claim_springboard(
					location->file, location->address, location->address))
		return false;
	site_choose_method(location, site, PROBE_PADDING, location->count, PROBE_JUMP_BYTES);
	return true;
}

static bool site_try_short(const struct site_location *location, struct probe_site *site)
{
	unsigned int pieces = site_count_pieces(location, SHORT_BYTES);
	uint64_t springboard = pieces && location->first_target >= SHORT_BYTES
			? site_find_springboard(location->file, location->address)
			: 0;
	size_t size;
	const uint8_t *bytes = springboard ? code_bytes(location->file, springboard, &size) : NULL;

	if (!bytes || size < PROBE_JUMP_BYTES ||
			!site_claim_springboard(location->file, springboard, location->address))
		return false;
	site_choose_method(location, site, PROBE_SHORT, pieces, SHORT_BYTES);
	site->springboard = springboard;
	memcpy(site->springboard_bytes, bytes, PROBE_JUMP_BYTES);
	return true;
}

/* True if at least one page between these addresses can be mapped. */
static bool site_may_be_mapped(const struct code_file *file, uint64_t low, uint64_t high)
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
			high >= end + HEAP_SPACE;
}

/*
 * True if a function starts in these bytes: it may be probed, and then they change. A landing mark
 * at its start never changes.
 */
static bool site_begins_function(const struct site_location *location, unsigned int from)
{
	for (unsigned int at = from; at < PROBE_JUMP_BYTES; at++) {
		const struct code_function *function =
				code_function_at(location->file, location->address + at);
		struct x86_instruction instruction;

		if (function && function->address == location->address + at &&
				!(x86_decode(location->bytes + at, location->size - at,
						  function->address, &instruction) &&
						instruction.branch_mark))
			return true;
	}
	return false;
}

static bool site_try_punned(const struct site_location *location, struct probe_site *site)
{
	if (location->size < PROBE_JUMP_BYTES)
		return false;
	for (unsigned int pieces = location->count; pieces; pieces--) {
		const struct probe_piece *last = &location->instructions[pieces - 1].piece;
		unsigned int own = (unsigned int)last->at + last->length, free_bits;
		int64_t low, high;

		/* The bytes of the file that are part of the displacement must not change. */
		if (own > location->first_target || own >= PROBE_JUMP_BYTES ||
				code_kept_at(location->file, location->address + own,
						PROBE_JUMP_BYTES - own))
			continue;
		/*
		 * The jump can choose the low bytes of its distance; the high ones are in the file.
		 */
		free_bits = 8 * (own - 1);
		low = (int32_t)(code_read(location->bytes + own, PROBE_JUMP_BYTES - own)
				<< free_bits);
		high = low + ((int64_t)1 << free_bits) - 1;
		low += (int64_t)(location->address + PROBE_JUMP_BYTES);
		high += (int64_t)(location->address + PROBE_JUMP_BYTES);
		if (!site_may_be_mapped(location->file, (uint64_t)low, (uint64_t)high))
			continue;
		if (site_begins_function(location, own)) {
			site->reason = beside;
			continue;
		}
		site_choose_method(location, site, PROBE_PUNNED, pieces, own);
		return true;
	}
	return false;
}

static const char *site_why_no_jump(const struct site_location *location)
{
	if (location->first_target < PROBE_JUMP_BYTES)
		return entered;
	if (location->obstacle)
		return location->obstacle;
	return too_short;
}

static int site_find_method(struct code_file *file, uint64_t address, bool only_first,
		struct probe_site *ret_site)
{
	const struct code_segment *segment = code_executable(file, address);
	struct site_location location = {.file = file, .address = address};

	memset(ret_site, 0, sizeof(*ret_site));
	if (!segment)
		return -ENOENT;
	if (code_sweep(file))
		return -ENOMEM;
	location.bytes = code_bytes(file, address, &location.size);
	ret_site->address = address;
	ret_site->offset = segment->offset + (address - segment->address);
	site_check_location(&location);
	if (!location.count) {
		ret_site->nr_bytes = (uint8_t)(location.size < PROBE_JUMP_BYTES ? location.size
										: PROBE_JUMP_BYTES);
		memcpy(ret_site->bytes, location.bytes, ret_site->nr_bytes);
		ret_site->reason = location.obstacle;
		return 0;
	}
	if (code_is_go(file, address)) {
		ret_site->reason = of_go;
		site_choose_method(&location, ret_site, PROBE_KERNEL, 1, 1);
		code_for_kernel(ret_site);
		return 0;
	}
	if (only_first && location.instructions[0].piece.length < PROBE_JUMP_BYTES) {
		ret_site->reason = not_followed;
		site_choose_method(&location, ret_site, PROBE_BREAKPOINT, 1, 1);
		return 0;
	}
	if (site_try_jump(&location, ret_site))
		return 0;
	site_claim_springboards(file);
	ret_site->reason = site_why_no_jump(&location);
	if (!site_try_padding(&location, ret_site) && !site_try_short(&location, ret_site) &&
			!site_try_punned(&location, ret_site))
		site_choose_method(&location, ret_site, PROBE_BREAKPOINT, 1, 1);
	return 0;
}

/*
 * Returns the size of the stack check at the start of a Go function. If the stack is too small, the
 * function starts again on a larger one. A probe after the check is hit once for each call.
 */
static size_t site_go_stack_check(const uint8_t *bytes, size_t size)
{
	static const struct {
		uint8_t bytes[5], size, all; /* of all: with the distance at the end */
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
	/* The jump counts only if an instruction follows, where the probe is set. */
	return bytes[at] == 0x0f && bytes[at + 1] == 0x86 && size > at + 6 ? at + 6 : 0;
}

int code_entry(struct code_file *file, const struct code_function *function,
		struct probe_site *ret_site)
{
	struct x86_instruction instruction;
	uint64_t address = function->address, after;
	size_t size;
	const uint8_t *bytes = code_bytes(file, address, &size);
	int ret;

	/* A probe must not replace the landing mark of indirect branches. */
	if (bytes && x86_decode(bytes, size, address, &instruction) && instruction.branch_mark &&
			function->size > instruction.piece.length)
		address += instruction.piece.length;
	if (code_sweep(file))
		return -ENOMEM;
	if (code_is_sled_of_entry(file, address, &after) &&
			after < function->address + function->size)
		address = after;
	else if (bytes && code_is_go(file, address))
		address += site_go_stack_check(
				bytes, size < function->size ? size : function->size);
	ret = site_find_method(file, address, false, ret_site);
	ret_site->begins = !ret;
	if (!ret && ret_site->method != PROBE_NONE)
		ret_site->no_exit = code_is_plt(file, function) ? forwards
								: code_no_exit(file, function);
	return ret;
}

/*
 * Finds the method at a location in a file that names no function. Jumps to the next instructions
 * are unknown, so the probe must not change these.
 */
static int site_find_unnamed(struct code_file *file, uint64_t address, struct probe_site *ret_site)
{
	bool is_reachable;
	int ret = code_is_reachable(file, address, &is_reachable);

	if (!ret)
		ret = is_reachable ? site_find_method(file, address, true, ret_site) : -ENOENT;
	ret_site->no_exit = not_begin;
	return ret;
}

static void site_defer_to_kernel(struct probe_site *site, const char *reason)
{
	site->method = PROBE_KERNEL;
	site->reason = reason;
	site->nr_pieces = site->patched = 1;
	site->displaced = site->pieces[0].length;
	site->springboard = 0;
	code_for_kernel(site);
}

int code_site(struct code_file *file, uint64_t address, struct probe_site *ret_site)
{
	const struct code_function *function = code_function_at(file, address);
	bool found = false, indirect = false, table = false;
	int ret;

	memset(ret_site, 0, sizeof(*ret_site));
	if (!function)
		return file->nr_functions ? -ENOENT : site_find_unnamed(file, address, ret_site);
	for (uint64_t at = function->address; at < function->address + function->size;) {
		struct x86_instruction instruction;
		size_t size;
		const uint8_t *bytes = code_bytes(file, at, &size);

		if (!bytes || !x86_decode(bytes, size, at, &instruction))
			break;
		found |= at == address;
		/*
		 * A jump through a register. A jump through memory alone is a call of another
		 * file's function.
		 */
		indirect |= instruction.indirect_jump && !instruction.piece.field;
		table |= instruction.lea && instruction.piece.field &&
				!code_executable(file, instruction.piece.target);
		at += instruction.piece.length;
	}
	if (!found)
		return -EINVAL;
	if (address == function->address)
		return code_entry(file, function, ret_site);
	ret = site_find_method(file, address, indirect && !table && !file->fixed, ret_site);
	ret_site->no_exit = not_begin;
	if (!ret && ret_site->method != PROBE_NONE && ret_site->method != PROBE_KERNEL &&
			code_exchanges_stack(file, function))
		site_defer_to_kernel(ret_site, no_stack);
	return ret;
}
