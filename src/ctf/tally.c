/* SPDX-License-Identifier: MIT */
/*
 * Counts records. The bytes come from other processes: every step checks that the bytes that it
 * skips exist. Each repetition of steps without a constant size needs at least one byte, so the
 * work is limited by the size of the span.
 */
#include <string.h>

#include "ctf/string-end.h"
#include "ctf/tally.h"
#include "ctf/tally-steps.h"
#include "ctf/type.h"
#include "base/inside/search.h"

/* Forms of a record's header (recording.md, section 1). */
#define TAG_BITS 5
#define TAG_MEDIUM 30
#define TAG_EXTENDED 31
#define COMPACT_BYTES 4
#define MEDIUM_BYTES 6
#define EXTENDED_BYTES 13

/* Skip these steps. Returns the address behind them, or NULL: it is beyond the end, or a selector
   has no option. */
static const uint8_t *tally_skip_steps(const struct ctf_tally *tally, uint32_t first, uint32_t last,
		const uint8_t *at, const uint8_t *end);

static uint64_t read_slowly(const struct ctf_tally_step *step, const uint8_t *at)
{
	const bool big_endian = step->swapped != CTF_HOST_BIG_ENDIAN;
	const unsigned int size = step->size;
	uint64_t number = 0;

	for (unsigned int i = 0; i < size; i++)
		number |= (uint64_t)at[i] << 8 * (big_endian ? size - 1 - i : i);
	if (!step->is_signed)
		return number;
	switch (size) {
	case 1: return (uint64_t)(int8_t)number;
	case 2: return (uint64_t)(int16_t)number;
	case 4: return (uint64_t)(int32_t)number;
	default: return number;
	}
}

/* Load an integer. The caller has checked that it is complete. */
static inline uint64_t read_integer(
		const struct ctf_tally_step *step, const uint8_t *at, const uint8_t *end)
{
	uint64_t word;

	if (CTF_HOST_BIG_ENDIAN || step->swapped || step->is_signed || end - at < 8)
		return read_slowly(step, at);
	memcpy(&word, at, sizeof(word));
	return word << (64 - step->size * 8) >> (64 - step->size * 8);
}

/* Skip the steps contained in step `index`, `count` times. */
static const uint8_t *pass_rows(const struct ctf_tally *tally, uint32_t index, uint64_t count,
		const uint8_t *at, const uint8_t *end)
{
	for (; count && at; count--)
		at = tally_skip_steps(tally, index + 1, tally->steps[index].end, at, end);
	return at;
}

static const uint8_t *pass_variant(const struct ctf_tally *tally, const struct ctf_tally_step *step,
		uint64_t selector, const uint8_t *at, const uint8_t *end)
{
	const struct ctf_tally_option *options = &tally->options[step->first];
	uint32_t low;

	selector ^= ctf_tally_flip(step->is_signed);
	/* The option before it is the last that begins at or before the selector. */
	low = search_leading(i, step->count, options[i].begin <= selector);
	if (!low || selector > options[low - 1].last)
		return NULL;
	return tally_skip_steps(tally, options[low - 1].first, options[low - 1].end, at, end);
}

/* Skip a step; if it contains other steps, only its own bytes. *ret_number is the integer that it
   read. */
static inline const uint8_t *pass_step(const struct ctf_tally_step *step, const uint8_t *at,
		const uint8_t *end, uint64_t *ret_number)
{
	uint64_t left;

	if ((uint64_t)(end - at) < (uint64_t)step->before + step->size)
		return NULL;
	at += step->before;
	if (step->kind == CTF_STEP_STRING)
		return ctf_string_end(at, end);
	if (!step->size)
		return at;
	*ret_number = read_integer(step, at, end);
	at += step->size;
	if (step->kind != CTF_STEP_RUN || !step->count)
		return at;
	left = (uint64_t)(end - at);
	return *ret_number > left || *ret_number * step->count > left
			? NULL
			: at + *ret_number * step->count;
}

static const uint8_t *tally_skip_steps(const struct ctf_tally *tally, uint32_t first, uint32_t last,
		const uint8_t *at, const uint8_t *end)
{
	while (at && first < last) {
		const struct ctf_tally_step *step = &tally->steps[first];
		uint64_t number = step->count;

		at = pass_step(step, at, end, &number);
		if (at && (step->kind == CTF_STEP_ROWS || step->kind == CTF_STEP_ARRAY))
			at = pass_rows(tally, first, number, at, end);
		else if (at && step->kind == CTF_STEP_VARIANT)
			at = pass_variant(tally, step, number, at, end);
		first = step->end;
	}
	return at;
}

/* The same for steps that contain no others. */
static inline const uint8_t *pass_flat(const struct ctf_tally_step *step,
		const struct ctf_tally_step *last, const uint8_t *at, const uint8_t *end)
{
	uint64_t number;

	while (at && step < last)
		at = pass_step(step++, at, end, &number);
	return at;
}

/* Read a header. Returns its length, and the event's id; 0: it is beyond the end. */
static inline size_t tally_read_header(const uint8_t *at, const uint8_t *end, uint32_t *ret_id)
{
	uint32_t tag;
	uint16_t u16;

	if (end - at < COMPACT_BYTES)
		return 0;
#if CTF_HOST_BIG_ENDIAN
	tag = *at >> (8 - TAG_BITS);
#else
	tag = *at & ((1u << TAG_BITS) - 1);
#endif
	if (tag < TAG_MEDIUM) {
		*ret_id = tag;
		return COMPACT_BYTES;
	}
	if (end - at < (tag == TAG_MEDIUM ? MEDIUM_BYTES : EXTENDED_BYTES))
		return 0;
	if (tag == TAG_MEDIUM) {
		memcpy(&u16, at + COMPACT_BYTES, sizeof(u16));
		*ret_id = u16;
		return MEDIUM_BYTES;
	}
	memcpy(ret_id, at + 1, sizeof(*ret_id));
	return EXTENDED_BYTES;
}

/* True if another record with the same header follows. Extended headers are not compared. */
static inline bool tally_is_same(
		const uint8_t *at, const uint8_t *end, const uint8_t *before, size_t header)
{
	const uint8_t mask =
			CTF_HOST_BIG_ENDIAN ? 0xff << (8 - TAG_BITS) & 0xff : (1u << TAG_BITS) - 1;

	if (header == EXTENDED_BYTES || (size_t)(end - at) < header || (*at ^ *before) & mask)
		return false;
	return header == COMPACT_BYTES ||
			!memcmp(at + COMPACT_BYTES, before + COMPACT_BYTES, sizeof(uint16_t));
}

/*
 * Skip consecutive records of one event, up to the last complete one. In these loops no address
 * depends on data of the previous record, only branches do, which the CPU predicts: so it processes
 * several records at a time.
 */
static inline const uint8_t *pass_equal(
		const uint8_t *at, const uint8_t *end, size_t header, size_t bytes, uint64_t *count)
{
	const uint8_t *first = at;

	do {
		at += bytes;
		++*count;
	} while ((size_t)(end - at) >= bytes && tally_is_same(at, end, first, header));
	return at;
}

/* Skip records with a constant size except for one string. */
static inline const uint8_t *pass_texts(const struct ctf_tally *tally,
		const struct ctf_tally_class *kind, const uint8_t *at, const uint8_t *end,
		size_t header, uint64_t *count)
{
	const struct ctf_tally_step *text = &tally->steps[kind->first];
	const size_t before = header + text->before,
		     behind = kind->end - kind->first > 1 ? text[1].before : 0;
	const uint8_t *first = at, *next;
	size_t guess = 0;

	do {
		if ((size_t)(end - at) < before + behind)
			return at;
		next = ctf_string_end(at + before, end - behind);
		if (!next)
			return at;
		next += behind;
		if (__builtin_expect((size_t)(next - at) != guess, 0)) {
			guess = (size_t)(next - at);
			/* Hide the value from the compiler, which would otherwise use `next`
			   instead of the guess. */
			__asm__ volatile("" : "+r"(guess));
		}
		at += guess;
		++*count;
	} while (tally_is_same(at, end, first, header));
	return at;
}

static const uint8_t *pass_similar(const struct ctf_tally *tally,
		const struct ctf_tally_class *kind, const uint8_t *at, const uint8_t *end,
		size_t header, uint64_t *count)
{
	const struct ctf_tally_step *steps = tally->steps + kind->first,
				    *last = tally->steps + kind->end;
	const uint8_t *first = at, *next;
	size_t guess = 0;

	do {
		next = kind->known == CTF_TALLY_FLAT
				? pass_flat(steps, last, at + header, end)
				: tally_skip_steps(tally, kind->first, kind->end, at + header, end);
		if (!next)
			return at;
		if (__builtin_expect((size_t)(next - at) != guess, 0)) {
			guess = (size_t)(next - at);
			/* Hide the value from the compiler, which would otherwise use `next`
			   instead of the guess. */
			__asm__ volatile("" : "+r"(guess));
		}
		at += guess;
		++*count;
	} while (tally_is_same(at, end, first, header));
	return at;
}

bool ctf_tally_count(const struct ctf_tally *tally, const void *records, size_t size,
		uint64_t *ret_count)
{
	const uint8_t *at = records, *end = size ? at + size : at;

	*ret_count = 0;
	while (at < end) {
		const struct ctf_tally_class *kind;
		uint64_t before = *ret_count;
		uint32_t id = 0;
		size_t header = tally_read_header(at, end, &id), bytes;

		if (!header || id >= tally->nr_classes || !tally->classes[id].known)
			break;
		kind = &tally->classes[id];
		bytes = header + kind->known - CTF_TALLY_BYTES;
		if (kind->known == CTF_TALLY_TEXT)
			at = pass_texts(tally, kind, at, end, header, ret_count);
		else if (kind->known < CTF_TALLY_BYTES)
			at = pass_similar(tally, kind, at, end, header, ret_count);
		else if ((size_t)(end - at) < bytes)
			break;
		else if (header == COMPACT_BYTES)
			at = pass_equal(at, end, COMPACT_BYTES, bytes, ret_count);
		else
			at = pass_equal(at, end, header, bytes, ret_count);
		if (*ret_count == before)
			break;
	}
	return at == end;
}
