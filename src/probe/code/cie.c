/* SPDX-License-Identifier: MIT */
/*
 * Reads the entries of unwind data: what several functions have in common (CIE), and each
 * function's own (FDE).
 */
#include "rows.h"

/* Reads the values that the augmentation letters announce. Returns false for an unknown letter. */
static bool cie_read_letters(struct code_cursor *cursor, const char *text, struct code_cie *cie)
{
	for (; *text && !cursor->bad; text++) {
		uint8_t encoding;

		switch (*text) {
		case 'L': cie->lsda = (uint8_t)code_take(cursor, 1); break;
		case 'R': cie->pointer = (uint8_t)code_take(cursor, 1); break;
		case 'P':
			encoding = (uint8_t)code_take(cursor, 1);
			code_take_pointer(cursor, encoding & 0x7f);
			break;
		case 'S': cie->signal = true; break;
		case 'B': break;
		default: return false;
		}
	}
	return true;
}

static bool cie_read_augmentation(
		struct code_cursor *cursor, const char *text, struct code_cie *cie)
{
	uint64_t size;
	size_t begin;

	if (*text != 'z')
		return !*text;
	cie->augmented = true;
	size = code_take_leb(cursor, false);
	begin = cursor->at;
	if (!cie_read_letters(cursor, text + 1, cie) || cursor->bad)
		return false;
	cursor->at = begin;
	code_skip(cursor, size);
	return true;
}

struct code_cie code_read_cie(const struct code_cursor *all, size_t at, size_t length)
{
	struct code_cursor cursor = {all->bytes, at, at + length, all->address, false};
	struct code_cie cie = {.lsda = CODE_ENCODING_OMIT, .at = at, .rules_end = at + length};
	const char *text;
	uint8_t version;

	code_take(&cursor, 4); /* marks a CIE */
	version = (uint8_t)code_take(&cursor, 1);
	text = (const char *)cursor.bytes + cursor.at;
	while (!cursor.bad && code_take(&cursor, 1))
		;
	if (cursor.bad || (version != 1 && version != 3))
		return cie;
	cie.code_factor = code_take_leb(&cursor, false);
	cie.data_factor = (int64_t)code_take_leb(&cursor, true);
	if (version == 1)
		code_take(&cursor, 1);
	else
		code_take_leb(&cursor, false);
	cie.ok = cie_read_augmentation(&cursor, text, &cie) && !cursor.bad;
	cie.rules = cursor.at;
	return cie;
}

bool code_read_entry(const struct code_cursor *all, size_t at, size_t length,
		const struct code_cie *cie, struct code_entry *ret_entry)
{
	struct code_cursor cursor = {all->bytes, at, at + length, all->address, false};

	*ret_entry = (struct code_entry){.cie = *cie, .rules_end = at + length};
	if (!cie->ok)
		return false;
	code_take(&cursor, 4); /* the distance to the CIE */
	ret_entry->address = code_take_pointer(&cursor, cie->pointer & 0x7f);
	ret_entry->size = code_take_pointer(&cursor, cie->pointer & 0x0f);
	if (cie->augmented) {
		uint64_t size = code_take_leb(&cursor, false);
		size_t begin = cursor.at;

		if (cie->lsda != CODE_ENCODING_OMIT)
			ret_entry->landings = code_take_pointer(&cursor, cie->lsda & 0x7f);
		if (!cursor.bad)
			cursor.at = begin;
		code_skip(&cursor, size);
	}
	ret_entry->rules = cursor.at;
	return !cursor.bad;
}
