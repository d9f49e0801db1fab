/* SPDX-License-Identifier: MIT */
/*
 * Hostile traces: the reader, the view, the repair and the expansion must neither crash nor hang,
 * whatever the bytes are.
 *
 * As a test it mutates a trace that has every type, with a fixed seed: fuzz_trace DIR_OF_A_TRACE.
 * With libFuzzer the input is 4 bytes (length of the metadata, little endian), the metadata (CTF
 * 1.8 or CTF 2), and the stream (compressed if it begins like a frame).
 */
#include <inttypes.h>
#include <stdbool.h>
#include <time.h>

#include "analysis/view.h"
#include "ctf/ctf.h"
#include "scratch.h"

static FILE *nowhere;
static char scratch[64];
static volatile uint64_t sink; /* The compiler must not remove code whose result is unused. */

static uint64_t walk(const struct ctf_value *value)
{
	const struct ctf_value *inner;
	struct ctf_cursor cursor;
	uint64_t sum = 0;
	uint32_t at = 0;

	if (value->is_text) {
		for (uint64_t i = 0; i < value->size; i++)
			sum += (unsigned char)value->text[i];
		return sum;
	}
	if (value->type->kind <= CTF_ENUM) {
		while (ctf_value_label(value, &at))
			sum++;
		return sum + value->u;
	}
	ctf_cursor_start(&cursor, value);
	while ((inner = ctf_cursor_next(&cursor)))
		sum += walk(inner);
	return sum;
}

static void read_trace(const char *dir)
{
	struct ctf_reader *reader;
	struct error error;
	struct ctf_item item;
	uint64_t sum = 0;

	if (ctf_reader_open(dir, &reader, &error))
		return;
	while (ctf_reader_next(reader, &item) > 0) {
		if (item.kind != CTF_ITEM_EVENT)
			continue;
		if (item.header)
			sum += walk(item.header);
		if (item.common_context)
			sum += walk(item.common_context);
		if (item.context)
			sum += walk(item.context);
		if (item.fields)
			sum += walk(item.fields);
	}
	ctf_reader_close(reader);
	sink = sum;
}

static void list_print_nothing(
		void *user, enum analysis_message kind, const char *hint, const char *sentence)
{
	(void)user;
	(void)kind;
	(void)hint;
	sink += strlen(sentence);
}

static void note(void *user, const char *sentence)
{
	(void)user;
	sink += strlen(sentence);
}

static void expand(void)
{
	struct ctf_expand_result result;
	struct error error;
	char out[80];

	snprintf(out, sizeof(out), "%s-plain", scratch);
	if (!ctf_expand(scratch, out, NULL, note, NULL, &result, &error))
		read_trace(out);
	scratch_delete(out);
}

/* Each part reads the whole trace, so each input is for one part only; part 4 runs all. */
static void try_trace(const void *metadata, size_t metadata_size, const void *stream,
		size_t stream_size, bool compressed, unsigned int part)
{
	struct view_options options = {
			.dir = scratch, .out = nowhere, .listener.report = list_print_nothing};
	struct error error;
	unsigned int repaired;

	scratch_write(scratch, "metadata", metadata, metadata_size);
	scratch_write(scratch, compressed ? "ring_3.zst" : "ring_3", stream, stream_size);
	if (part == 0 || part == 4)
		read_trace(scratch);
	options.attributes = part & 4;
	if (part == 1 || part == 4)
		view_run(&options);
	options.json = true;
	options.attributes = true;
	if (part == 2 || part == 4)
		view_run(&options);
	if (compressed && (part == 2 || part == 4))
		expand();
	if (part == 3 || part == 4)
		ctf_repair(scratch, &repaired, &error);
}

static void start(void)
{
	nowhere = fopen("/dev/null", "w");
	scratch_make(scratch);
}

#ifdef CTF_LIBFUZZER
static bool is_frame(const void *stream, size_t size)
{
	return size >= 4 && memcmp(stream, "\x28\xb5\x2f\xfd", 4) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t metadata;
	bool compressed;
	char other[80];

	if (size < 4)
		return 0;
	if (!nowhere)
		start();
	memcpy(&metadata, data, 4);
	data += 4;
	size -= 4;
	if (metadata > size)
		metadata = (uint32_t)size;
	compressed = is_frame(data + metadata, size - metadata);
	try_trace(data, metadata, data + metadata, size - metadata, compressed, 4);
	snprintf(other, sizeof(other), "%s/%s", scratch, compressed ? "ring_3.zst" : "ring_3");
	unlink(other);
	return 0;
}
#else
static uint64_t seed = 0x9e3779b97f4a7c15;

static uint32_t chance(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)((seed >> 11) % below);
}

/* Returns a copy with some damage; *size changes. */
static unsigned char *mutate(const unsigned char *bytes, size_t *size, bool is_text)
{
	static const char *const args[] = {"struct { ", "}", "variant <", "[", "]", " = ", ";", "0",
			"-1", "18446744073709551615", "...", "\"", "integer { size = 64; }", "_x",
			"align(65536)", "{", "\"labels\"", "[[[[[[", "{}", ",", "null", "\x1e",
			"[null,", "\"length\":0,", "\"alignment\":32,",
			"\"origin\":\"event-record-payload\",", "\"\\ud800",
			"\"type\":\"variable-length-unsigned-integer\",",
			"\"bit-order\":\"last-to-first\",", "\"encoding\":\"utf-16be\",",
			"\"roles\":[\"default-clock-timestamp\"],"};
	unsigned char *copy = malloc(*size * 2 + 4096);
	uint32_t count = 1 + chance(4);

	memcpy(copy, bytes, *size);
	for (uint32_t i = 0; i<count && * size> 16; i++) {
		uint32_t at = chance((uint32_t)*size), length = 1 + chance(16);
		const char *word = args[chance(sizeof(args) / sizeof(args[0]))];

		if (length > *size - at)
			length = (uint32_t)*size - at;
		switch (chance(is_text ? 7 : 5)) {
		case 0: copy[at] ^= (unsigned char)(1u << chance(8)); break;
		case 1: copy[at] = (unsigned char)chance(256); break;
		case 2: memset(copy + at, chance(2) ? 0xff : 0, length); break;
		case 3: /* Remove bytes in the middle. */
			memmove(copy + at, copy + at + length, *size - at - length);
			*size -= length;
			break;
		case 4: /* Truncate, rarely. */
			if (!chance(8))
				*size = at;
			break;
		case 5: /* Insert a keyword of the language. */
			length = (uint32_t)strlen(word);
			memmove(copy + at + length, copy + at, *size - at);
			memcpy(copy + at, word, length);
			*size += length;
			break;
		default: /* Replace a digit. */
			for (uint32_t k = at; k < *size; k++) {
				if (copy[k] < '0' || copy[k] > '9')
					continue;
				copy[k] = (unsigned char)('0' + chance(10));
				break;
			}
			break;
		}
	}
	return copy;
}

int main(int argc, char **argv)
{
	const char *longer = getenv("SIDE_TEST_LONG");
	double limit = longer && *longer == '1' ? 60 : 2;
	unsigned char *metadata, *stream;
	size_t metadata_size, stream_size;
	struct timespec begin, now;
	unsigned int tries = 0;
	bool compressed;
	char path[256];

	if (argc != 2)
		return 2;
	snprintf(path, sizeof(path), "%s/ring_3.zst", argv[1]);
	compressed = access(path, R_OK) == 0;
	metadata = scratch_read(argv[1], "metadata", &metadata_size);
	stream = scratch_read(argv[1], compressed ? "ring_3.zst" : "ring_3", &stream_size);
	start();
	try_trace(metadata, metadata_size, stream, stream_size, compressed, 4);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		size_t m = metadata_size, s = stream_size;
		bool in_text = chance(compressed ? 8 : 2) == 0;
		unsigned char *text = in_text ? mutate(metadata, &m, true) : NULL;
		unsigned char *bytes = in_text ? NULL : mutate(stream, &s, false);

		try_trace(text ? text : metadata, m, bytes ? bytes : stream, s, compressed,
				tries % 4);
		free(text);
		free(bytes);
		tries++;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((double)(now.tv_sec - begin.tv_sec) + (double)(now.tv_nsec - begin.tv_nsec) / 1e9 <
			limit);
	printf("%u mutations\n", tries);
	scratch_delete(scratch);
	free(metadata);
	free(stream);
	return tries ? 0 : 1;
}
#endif
