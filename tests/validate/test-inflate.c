/* SPDX-License-Identifier: MIT */
/* Deflate streams, built bit by bit: each limit of the format, at the limit and one beyond. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tracers/validate/inflate.h"

#define STREAM_MAX 1024

struct writer {
	unsigned char bytes[STREAM_MAX];
	size_t nr_bits;
};

static void write_bit(struct writer *writer, unsigned int bit)
{
	assert_true(writer->nr_bits / 8 < STREAM_MAX);
	writer->bytes[writer->nr_bits / 8] |= (unsigned char)(bit << writer->nr_bits % 8);
	writer->nr_bits++;
}

/* Numbers begin with their lowest bit. */
static void write_number(struct writer *writer, unsigned int value, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		write_bit(writer, value >> i & 1);
}

/* Codes begin with their highest bit. */
static void write_code(struct writer *writer, unsigned int code, unsigned int nr)
{
	while (nr--)
		write_bit(writer, code >> nr & 1);
}

static struct writer begin_stream(void)
{
	struct writer writer = {.nr_bits = 0};

	write_number(&writer, 0x78, 8);
	write_number(&writer, 0x01, 8);
	return writer;
}

static bool inflates(const struct writer *writer, size_t cut, unsigned char *to, size_t size)
{
	const struct bytes_source source = {.fd = -1, .memory = writer->bytes};
	struct byte_reader in;

	bytes_open(&in, &source, 0, (writer->nr_bits + 7) / 8 - cut);
	return validate_inflate(&in, to, size);
}

/* Whether the stream is the text and nothing else. */
static bool is_text(const struct writer *writer, const char *text)
{
	unsigned char to[STREAM_MAX];

	return inflates(writer, 0, to, strlen(text)) && !memcmp(to, text, strlen(text));
}

/* ---- fixed codes ---- */

static void write_fixed(struct writer *writer, unsigned int symbol)
{
	if (symbol < 144)
		write_code(writer, 0x30 + symbol, 8);
	else if (symbol < 256)
		write_code(writer, 0x190 + symbol - 144, 9);
	else if (symbol < 280)
		write_code(writer, symbol - 256, 7);
	else
		write_code(writer, 0xc0 + symbol - 280, 8);
}

/* Writes the text "a", then a copy with these symbols. */
static struct writer copy_of(unsigned int length, unsigned int distance)
{
	struct writer writer = begin_stream();

	write_number(&writer, 1, 1);
	write_number(&writer, 1, 2);
	write_fixed(&writer, 'a');
	write_fixed(&writer, length);
	write_code(&writer, distance, 5);
	if (distance >= 4)
		write_number(&writer, 0, distance / 2 - 1);
	write_fixed(&writer, 256);
	return writer;
}

static void test_copies(void **unused)
{
	struct writer writer = copy_of(257, 0);
	unsigned char to[STREAM_MAX];
	unsigned int symbol;

	(void)unused;
	assert_true(is_text(&writer, "aaaa"));
	assert_false(is_text(&writer, "aaa"));
	assert_false(is_text(&writer, "aaaaa"));
	/* The longest copy, and the two undefined symbols. */
	writer = copy_of(285, 0);
	assert_true(inflates(&writer, 0, to, 259));
	for (symbol = 286; symbol < 288; symbol++) {
		writer = copy_of(symbol, 0);
		for (size_t size = 1; size < 300; size++)
			assert_false(inflates(&writer, 0, to, size));
	}
	/* Copies from before the beginning of the text: by 1, and by more. */
	for (symbol = 1; symbol < 32; symbol++) {
		writer = copy_of(257, symbol);
		assert_false(inflates(&writer, 0, to, 4));
	}
}

/* ---- all codes of a fixed block ---- */

#define LONG_MAX_BYTES 100000

static struct {
	unsigned char text[LONG_MAX_BYTES];
	size_t size;
	struct {
		unsigned char bytes[8192];
		size_t nr_bits;
	} stream;
} whole;

static void put_bits(unsigned int value, unsigned int nr, bool is_code)
{
	for (unsigned int i = 0; i < nr; i++) {
		unsigned int bit = value >> (is_code ? nr - 1 - i : i) & 1;

		assert_true(whole.stream.nr_bits / 8 < sizeof(whole.stream.bytes));
		whole.stream.bytes[whole.stream.nr_bits / 8] |=
				(unsigned char)(bit << whole.stream.nr_bits % 8);
		whole.stream.nr_bits++;
	}
}

static void put_fixed(unsigned int symbol)
{
	if (symbol < 144)
		put_bits(0x30 + symbol, 8, true);
	else if (symbol < 256)
		put_bits(0x190 + symbol - 144, 9, true);
	else if (symbol < 280)
		put_bits(symbol - 256, 7, true);
	else
		put_bits(0xc0 + symbol - 280, 8, true);
}

/* Uses the formulas of the tables of RFC 1951. `fill`: the extra bits of each symbol, 0 or 1. */
static void put_copy(unsigned int symbol, unsigned int far, unsigned int fill)
{
	unsigned int more = symbol < 265 || symbol == 285 ? 0 : (symbol - 261) / 4,
		     far_more = far < 4 ? 0 : far / 2 - 1,
		     length = symbol == 285 ? 258
			: symbol < 265      ? symbol - 254
					    : ((4 + (symbol - 265) % 4) << more) + 3,
		     distance = far < 4 ? far + 1 : ((2 + far % 2) << far_more) + 1;

	length += fill ? (1u << more) - 1 : 0;
	distance += fill ? (1u << far_more) - 1 : 0;
	assert_true(distance <= whole.size && whole.size + length <= LONG_MAX_BYTES);
	put_fixed(symbol);
	put_bits(UINT32_MAX * fill, more, false);
	put_bits(far, 5, true);
	put_bits(UINT32_MAX * fill, far_more, false);
	while (length--) {
		whole.text[whole.size] = whole.text[whole.size - distance];
		whole.size++;
	}
}

static void test_every_fixed_symbol(void **unused)
{
	static unsigned char to[LONG_MAX_BYTES];
	struct bytes_source source = {.fd = -1, .memory = whole.stream.bytes};
	struct byte_reader in;

	(void)unused;
	put_bits(0x0178, 16, false);
	put_bits(3, 3, false);
	for (unsigned int byte = 0; byte < 256; byte++) {
		put_fixed(255 - byte);
		whole.text[whole.size++] = (unsigned char)(255 - byte);
	}
	for (unsigned int symbol = 257; symbol < 286; symbol++) {
		put_copy(symbol, symbol % 16, 0);
		put_copy(symbol, (symbol + 5) % 16, 1);
	}
	while (whole.size < 32768) {
		put_fixed((unsigned int)whole.size * 7 % 256);
		whole.text[whole.size] = (unsigned char)(whole.size * 7);
		whole.size++;
		put_copy(285, 15, 1);
	}
	for (unsigned int far = 0; far < 30; far++) {
		put_copy(258, far, 0);
		put_copy(261, far, 1);
	}
	put_fixed(256);
	bytes_open(&in, &source, 0, (whole.stream.nr_bits + 7) / 8);
	assert_true(validate_inflate(&in, to, whole.size));
	assert_memory_equal(to, whole.text, whole.size);
}

/* ---- codes of the stream ---- */

/* The repetitions of the last length, and the symbol for them. */
struct end {
	unsigned int symbol, times;
};

static const uint8_t order[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};

/* Writes the codes of these four lengths, two bits each. */
static void write_length(struct writer *writer, unsigned int symbol)
{
	write_code(writer, symbol == 1 ? 0 : symbol - 15, 2);
}

static void write_zeros(struct writer *writer, unsigned int nr)
{
	while (nr) {
		unsigned int times = nr > 138 ? nr - 138 >= 11 ? 138 : nr - 11 : nr;

		write_length(writer, times < 11 ? 17 : 18);
		write_number(writer, times - (times < 11 ? 3 : 11), times < 11 ? 3 : 7);
		nr -= times;
	}
}

/*
 * The length of a further code of lengths: 0, or 3, which does not fit in addition to the four
 * others.
 */
static unsigned int surplus;

/* The text is "a". `end` repeats the lengths after that of the end symbol. */
static struct writer dynamic(unsigned int nr_literals, unsigned int nr_distances, struct end end)
{
	struct writer writer = begin_stream();

	write_number(&writer, 1, 1);
	write_number(&writer, 2, 2);
	write_number(&writer, nr_literals - 257, 5);
	write_number(&writer, nr_distances - 1, 5);
	write_number(&writer, sizeof(order) - 4, 4);
	for (size_t i = 0; i < sizeof(order); i++)
		write_number(&writer,
				order[i] == 1 || (order[i] >= 16 && order[i] <= 18) ? 2
						: order[i] == 15                    ? surplus
										    : 0,
				3);
	write_zeros(&writer, 'a');
	write_length(&writer, 1);
	write_zeros(&writer, 256 - 'a' - 1);
	write_length(&writer, 1);
	write_length(&writer, end.symbol);
	write_number(&writer, end.times - (end.symbol == 18 ? 11 : 3),
			end.symbol == 16                   ? 2
					: end.symbol == 17 ? 3
							   : 7);
	write_code(&writer, 0, 1);
	write_code(&writer, 1, 1);
	return writer;
}

static void test_lengths_end(void **unused)
{
	static const struct {
		unsigned int nr_distances;
		struct end end;
		bool fits;
	} cases[] = {
			{3, {17, 3}, true},
			{2, {17, 3}, false},
			{1, {17, 3}, false},
			{10, {17, 10}, true},
			{9, {17, 10}, false},
			{11, {18, 11}, true},
			{10, {18, 11}, false},
			{30, {18, 30}, true},
			{29, {18, 30}, false},
			{30, {18, 31}, false},
			{30, {18, 138}, false},
			{1, {18, 138}, false},
			{2, {16, 3}, false},
			{2, {16, 6}, false},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct writer writer = dynamic(257, cases[i].nr_distances, cases[i].end);

		if (is_text(&writer, "a") != cases[i].fits)
			fail_msg("%u distances, symbol %u %u times", cases[i].nr_distances,
					cases[i].end.symbol, cases[i].end.times);
	}
}

/* Every number of lengths that is allowed, and those beyond. */
static void test_numbers_of_codes(void **unused)
{
	(void)unused;
	for (unsigned int nr = 257; nr <= 288; nr++) {
		struct writer writer = dynamic(nr, 30, (struct end){18, nr - 257 + 30});

		assert_int_equal(is_text(&writer, "a"), nr <= 286);
	}
	for (unsigned int nr = 11; nr <= 32; nr++) {
		struct writer writer = dynamic(257, nr, (struct end){18, nr});

		assert_int_equal(is_text(&writer, "a"), nr <= 30);
	}
}

/* Writes a stream with this code of lengths: `lengths` belong to the symbols in `order`. */
static struct writer codes(const uint8_t lengths[sizeof(order)])
{
	struct writer writer = begin_stream();

	write_number(&writer, 1, 1);
	write_number(&writer, 2, 2);
	write_number(&writer, 0, 5 + 5);
	write_number(&writer, sizeof(order) - 4, 4);
	for (size_t i = 0; i < sizeof(order); i++)
		write_number(&writer, lengths[i], 3);
	return writer;
}

static void test_bad_codes(void **unused)
{
	static const uint8_t too_many[sizeof(order)] = {1, 1, 1}, one[sizeof(order)] = {0, 0, 1},
			     repeats[sizeof(order)] = {1, 0, 1};
	unsigned char to[STREAM_MAX];
	struct writer writer;

	(void)unused;
	writer = codes(too_many);
	write_number(&writer, 0, 32);
	write_number(&writer, 0, 32);
	assert_false(inflates(&writer, 0, to, 1));
	/* Bits that are not a symbol. */
	writer = codes(one);
	write_number(&writer, UINT32_MAX, 32);
	write_number(&writer, UINT32_MAX, 32);
	assert_false(inflates(&writer, 0, to, 1));
	/* The first length repeats the one before it. */
	writer = codes(repeats);
	write_number(&writer, 0, 32);
	write_number(&writer, 0, 32);
	assert_false(inflates(&writer, 0, to, 1));
}

/* More codes than their lengths allow, although the stream uses none of the surplus. */
static void test_surplus_codes(void **unused)
{
	struct writer writer;

	(void)unused;
	surplus = 3;
	writer = dynamic(257, 30, (struct end){18, 30});
	surplus = 0;
	assert_false(is_text(&writer, "a"));
	writer = dynamic(257, 30, (struct end){18, 30});
	assert_true(is_text(&writer, "a"));
}

/*
 * Codes of each length from 1 to 15 bits; the lengths themselves have codes of 4 bits, in the order
 * of the format.
 */
static void test_long_codes(void **unused)
{
	struct writer writer = begin_stream();
	char text[16] = "";

	(void)unused;
	write_number(&writer, 1, 1);
	write_number(&writer, 2, 2);
	write_number(&writer, 0, 5);
	write_number(&writer, 0, 5);
	write_number(&writer, sizeof(order) - 4, 4);
	for (size_t i = 0; i < sizeof(order); i++)
		write_number(&writer, order[i] < 16 ? 4 : 0, 3);
	/* Lengths of the literals 1 to 15, of the end, and of the only distance. */
	for (unsigned int symbol = 0; symbol < 258; symbol++)
		write_code(&writer,
				symbol >= 1 && symbol <= 14                     ? symbol
						: symbol == 15 || symbol == 256 ? 15
						: symbol == 257                 ? 1
										: 0,
				4);
	for (unsigned int symbol = 1; symbol <= 15; symbol++) {
		text[symbol - 1] = (char)symbol;
		write_code(&writer, (1u << symbol) - 2, symbol);
	}
	write_code(&writer, 0x7fff, 15);
	assert_true(is_text(&writer, text));
}

/* ---- stored bytes and the frame ---- */

static struct writer stored(unsigned int length, unsigned int other, const char *text)
{
	struct writer writer = begin_stream();

	write_number(&writer, 1, 8);
	write_number(&writer, length, 16);
	write_number(&writer, other, 16);
	while (*text)
		write_number(&writer, (unsigned char)*text++, 8);
	return writer;
}

static void test_stored(void **unused)
{
	struct writer writer = stored(3, 0xffff ^ 3, "abc");

	(void)unused;
	assert_true(is_text(&writer, "abc"));
	assert_false(is_text(&writer, "ab"));
	assert_false(is_text(&writer, "abcd"));
	for (unsigned int bit = 0; bit < 16; bit++) {
		writer = stored(3, 0xffff ^ 3 ^ 1u << bit, "abc");
		assert_false(is_text(&writer, "abc"));
	}
	writer = stored(4, 0xffff ^ 4, "abc");
	assert_false(is_text(&writer, "abcd"));
}

static void test_frame(void **unused)
{
	struct writer writer = dynamic(257, 30, (struct end){18, 30});
	unsigned char to[STREAM_MAX];

	(void)unused;
	for (size_t cut = 1; cut <= (writer.nr_bits + 7) / 8; cut++)
		assert_false(inflates(&writer, cut, to, 1));
	/* Another method; a wrong check; a dictionary, with the right check. */
	writer.bytes[0] = 0x77;
	writer.bytes[1] = 31 - 0x7700 % 31;
	assert_false(is_text(&writer, "a"));
	writer.bytes[0] = 0x78;
	writer.bytes[1] = 2;
	assert_false(is_text(&writer, "a"));
	writer.bytes[1] = 0x20 + 31 - 0x7820 % 31;
	assert_false(is_text(&writer, "a"));
	writer.bytes[1] = 1;
	assert_true(is_text(&writer, "a"));
	writer = begin_stream();
	write_number(&writer, 7, 3);
	write_number(&writer, 0, 32);
	assert_false(inflates(&writer, 0, to, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_copies),
			cmocka_unit_test(test_lengths_end),
			cmocka_unit_test(test_numbers_of_codes),
			cmocka_unit_test(test_bad_codes),
			cmocka_unit_test(test_surplus_codes),
			cmocka_unit_test(test_long_codes),
			cmocka_unit_test(test_every_fixed_symbol),
			cmocka_unit_test(test_stored),
			cmocka_unit_test(test_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
