/* SPDX-License-Identifier: MIT */
/*
 * Decompresses zlib streams: a header of two bytes and deflate data. The checksum at the end is not
 * read.
 *
 * Codes are canonical: codes of one length are consecutive numbers, so the number of codes of each
 * length and the symbols in order define a code. They are decoded bit by bit: slow but small, and
 * sufficient for some megabytes once for a report.
 */
#include "tracers/validate/inflate.h"

#include <string.h>

#define LENGTHS 16       /* code lengths in bits, including 0 */
#define LITERALS_MAX 288 /* literals and match lengths */
#define DISTANCES_MAX 32
#define END_OF_BLOCK 256

struct code {
	uint16_t nr[LENGTHS]; /* number of codes of each length; [0]: symbols without a code */
	uint16_t symbols[LITERALS_MAX];
};

struct inflate_stream {
	struct byte_reader *in;
	unsigned char *to;
	size_t at, size;
	uint32_t bits; /* bits that were read but not used yet; the next one is the lowest */
	unsigned int nr_bits;
	bool failed;
};

static unsigned int validate_inflate_get_bits(struct inflate_stream *stream, unsigned int nr)
{
	unsigned int value;

	while (stream->nr_bits < nr) {
		stream->bits |= (uint32_t)bytes_number(stream->in, 1) << stream->nr_bits;
		stream->nr_bits += 8;
	}
	if (stream->in->failed)
		stream->failed = true;
	value = stream->bits & ((1u << nr) - 1);
	stream->bits >>= nr;
	stream->nr_bits -= nr;
	return value;
}

static void validate_inflate_write_byte(struct inflate_stream *stream, unsigned int byte)
{
	if (stream->at == stream->size)
		stream->failed = true;
	else
		stream->to[stream->at++] = (unsigned char)byte;
}

/*
 * Build the code from the length of each symbol's code. Returns false if there are more codes than
 * these lengths permit.
 */
static bool validate_inflate_make_code(struct code *code, const uint8_t *lengths, unsigned int nr)
{
	uint16_t begin[LENGTHS];
	unsigned int i, left = 1;

	memset(code->nr, 0, sizeof(code->nr));
	for (i = 0; i < nr; i++)
		code->nr[lengths[i]]++;
	begin[1] = 0;
	for (i = 1; i < LENGTHS; i++) {
		left <<= 1;
		if (code->nr[i] > left)
			return false;
		left -= code->nr[i];
		if (i + 1 < LENGTHS)
			begin[i + 1] = (uint16_t)(begin[i] + code->nr[i]);
	}
	for (i = 0; i < nr; i++) {
		if (lengths[i])
			code->symbols[begin[lengths[i]]++] = (uint16_t)i;
	}
	return true;
}

static unsigned int validate_inflate_read_symbol(
		struct inflate_stream *stream, const struct code *code)
{
	unsigned int length, first = 0, index = 0, bits = 0;

	for (length = 1; length < LENGTHS && !stream->failed; length++) {
		bits = bits << 1 | validate_inflate_get_bits(stream, 1);
		if (bits - first < code->nr[length])
			return code->symbols[index + (bits - first)];
		index += code->nr[length];
		first = (first + code->nr[length]) << 1;
	}
	stream->failed = true;
	return END_OF_BLOCK;
}

static void validate_inflate_copy_match(
		struct inflate_stream *stream, unsigned int symbol, const struct code *distances)
{
	static const uint16_t length_from[] = {3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27,
			31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
	static const uint8_t length_bits[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3,
			3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
	static const uint16_t distance_from[] = {1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97,
			129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193,
			12289, 16385, 24577};
	unsigned int length, distance;

	symbol -= END_OF_BLOCK + 1;
	if (symbol >= sizeof(length_bits)) {
		stream->failed = true;
		return;
	}
	length = length_from[symbol] + validate_inflate_get_bits(stream, length_bits[symbol]);
	symbol = validate_inflate_read_symbol(stream, distances);
	if (stream->failed || symbol >= sizeof(distance_from) / sizeof(distance_from[0])) {
		stream->failed = true;
		return;
	}
	distance = distance_from[symbol] +
			validate_inflate_get_bits(stream, symbol < 4 ? 0 : symbol / 2 - 1);
	if (distance > stream->at) {
		stream->failed = true;
		return;
	}
	while (length-- && !stream->failed)
		validate_inflate_write_byte(stream, stream->to[stream->at - distance]);
}

static void inflate_block(struct inflate_stream *stream, const struct code *literals,
		const struct code *distances)
{
	unsigned int symbol;

	while (!stream->failed) {
		symbol = validate_inflate_read_symbol(stream, literals);
		if (symbol < END_OF_BLOCK)
			validate_inflate_write_byte(stream, symbol);
		else if (symbol > END_OF_BLOCK)
			validate_inflate_copy_match(stream, symbol, distances);
		else
			return;
	}
}

static void inflate_stored(struct inflate_stream *stream)
{
	unsigned int length, other;

	stream->bits = stream->nr_bits = 0;
	length = validate_inflate_get_bits(stream, 16);
	other = validate_inflate_get_bits(stream, 16);
	if (length != (other ^ 0xffff))
		stream->failed = true;
	while (length-- && !stream->failed)
		validate_inflate_write_byte(stream, validate_inflate_get_bits(stream, 8));
}

static void inflate_fixed(struct inflate_stream *stream)
{
	struct code literals, distances;
	uint8_t lengths[LITERALS_MAX];

	memset(lengths, 8, 144);
	memset(lengths + 144, 9, 112);
	memset(lengths + 256, 7, 24);
	memset(lengths + 280, 8, 8);
	(void)validate_inflate_make_code(&literals, lengths, LITERALS_MAX);
	memset(lengths, 5, DISTANCES_MAX);
	(void)validate_inflate_make_code(&distances, lengths, DISTANCES_MAX);
	inflate_block(stream, &literals, &distances);
}

/* Read the lengths of both codes, which are themselves coded, with repetitions. */
static void validate_inflate_read_lengths(
		struct inflate_stream *stream, uint8_t *lengths, unsigned int nr)
{
	static const uint8_t order[] = {
			16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
	unsigned int i, symbol, times, value, nr_codes = validate_inflate_get_bits(stream, 4) + 4;
	struct code code;

	memset(lengths, 0, sizeof(order));
	for (i = 0; i < nr_codes; i++)
		lengths[order[i]] = (uint8_t)validate_inflate_get_bits(stream, 3);
	if (!validate_inflate_make_code(&code, lengths, sizeof(order)))
		stream->failed = true;
	for (i = 0; i < nr && !stream->failed;) {
		symbol = validate_inflate_read_symbol(stream, &code);
		value = symbol < 16 ? symbol : symbol == 16 && i ? lengths[i - 1] : 0;
		times = symbol < 16            ? 1
				: symbol == 16 ? 3 + validate_inflate_get_bits(stream, 2)
				: symbol == 17 ? 3 + validate_inflate_get_bits(stream, 3)
					       : 11 + validate_inflate_get_bits(stream, 7);
		if (symbol > 18 || (symbol == 16 && !i) || times > nr - i) {
			stream->failed = true;
			return;
		}
		memset(lengths + i, (int)value, times);
		i += times;
	}
}

static void inflate_dynamic(struct inflate_stream *stream)
{
	uint8_t lengths[LITERALS_MAX + DISTANCES_MAX];
	unsigned int nr_literals = validate_inflate_get_bits(stream, 5) + 257,
		     nr_distances = validate_inflate_get_bits(stream, 5) + 1;
	struct code literals, distances;

	if (nr_literals > 286 || nr_distances > 30) {
		stream->failed = true;
		return;
	}
	validate_inflate_read_lengths(stream, lengths, nr_literals + nr_distances);
	if (stream->failed || !validate_inflate_make_code(&literals, lengths, nr_literals) ||
			!validate_inflate_make_code(
					&distances, lengths + nr_literals, nr_distances))
		stream->failed = true;
	else
		inflate_block(stream, &literals, &distances);
}

bool validate_inflate(struct byte_reader *in, unsigned char *to, size_t size)
{
	struct inflate_stream stream = {.in = in, .to = to, .size = size};
	unsigned int method = (unsigned int)bytes_number(in, 1),
		     flags = (unsigned int)bytes_number(in, 1);
	bool is_last = false;

	/* Accept only deflate without a preset dictionary. */
	if ((method & 15) != 8 || (method << 8 | flags) % 31 || flags & 0x20)
		return false;
	while (!is_last && !stream.failed) {
		is_last = validate_inflate_get_bits(&stream, 1);
		switch (validate_inflate_get_bits(&stream, 2)) {
		case 0: inflate_stored(&stream); break;
		case 1: inflate_fixed(&stream); break;
		case 2: inflate_dynamic(&stream); break;
		default: stream.failed = true;
		}
	}
	return !stream.failed && stream.at == size;
}
