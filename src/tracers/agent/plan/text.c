/* SPDX-License-Identifier: MIT */
/*
 * UTF-16 and UTF-32 to generalised UTF-8, which loses nothing: docs/spec/recording.md, section 3.
 */
#include "tracers/agent/plan/bytes.h"
#include "tracers/agent/plan/op.h"

bool plan_strings_by_byte;

/* Minus one in each byte, the top bit of each byte. */
const uint64_t plan_nul_constants[2] = {0xfefefefefefefeff, 0x8080808080808080};

/* How a NULL string is recorded. */
uint8_t *plan_write_null_string(struct plan_output *output, uint8_t *to)
{
	static const uint8_t text[] = "(null)";

	if (!plan_has_space(output, to, sizeof(text)))
		return plan_fail(output, PLAN_REASON_TOO_BIG);
	plan_copy(to, text, sizeof(text));
	return to + sizeof(text);
}

/* 1 to 7 bytes. The caller has made sure of the room. NULL never happens. */
static uint8_t *plan_text_encode(uint8_t *to, uint32_t unit)
{
	unsigned int more; /* bytes behind the first, of 6 bits each */
	uint8_t first;

	if (unit < 0x80) {
		*to++ = (uint8_t)unit;
		return to;
	}
	if (unit < 0x800)
		more = 1;
	else if (unit < 0x10000)
		more = 2;
	else if (unit < 0x200000)
		more = 3;
	else if (unit < 0x4000000)
		more = 4;
	else if (unit < 0x80000000)
		more = 5;
	else
		more = 6;
	/* As many ones as there are bytes, a zero, then what 6 * more bits do not hold. */
	first = (uint8_t)(0xff00 >> (more + 1));
	*to++ = more == 6 ? first : (uint8_t)(first | unit >> (6 * more));
	while (more--)
		*to++ = (uint8_t)(0x80 | ((uint64_t)unit >> (6 * more) & 0x3f));
	return to;
}

static unsigned int encoded_size(uint32_t unit)
{
	return unit < 0x80                  ? 1
			: unit < 0x800      ? 2
			: unit < 0x10000    ? 3
			: unit < 0x200000   ? 4
			: unit < 0x4000000  ? 5
			: unit < 0x80000000 ? 6
					    : 7;
}

/*
 * Each code unit is read once, so that the text may change meanwhile. *ret_consumed is where memory
 * goes on behind the terminator.
 */
uint8_t *plan_write_wide_string(struct plan_output *output, const void *text,
		unsigned int unit_size, bool swap, const uint8_t **ret_consumed, uint8_t *to)
{
	const uint8_t *from = text;
	uint32_t high = 0; /* a high surrogate that waits for its low one */

	for (;;) {
		uint32_t unit = (uint32_t)plan_load(from, unit_size, swap);

		plan_pin(unit);
		from += unit_size;
		if (high) {
			if (unit >= 0xdc00 && unit <= 0xdfff) {
				unit = 0x10000 + ((high - 0xd800) << 10) + (unit - 0xdc00);
			} else {
				if (!plan_has_space(output, to, 3))
					return plan_fail(output, PLAN_REASON_TOO_BIG);
				to = plan_text_encode(to, high);
			}
			high = 0;
		}
		if (unit_size == 2 && unit >= 0xd800 && unit <= 0xdbff) {
			high = unit;
			continue;
		}
		if (!plan_has_space(output, to, encoded_size(unit)))
			return plan_fail(output, PLAN_REASON_TOO_BIG);
		to = plan_text_encode(to, unit);
		if (!unit)
			break;
	}
	*ret_consumed = from;
	return to;
}
