/* SPDX-License-Identifier: MIT */
/*
 * Reports for each instruction of programs, not only for function entries, how it can be probed
 * (bench/coverage.py):  bench-probe-sites FILE...
 *
 * Zydis decodes each function from its beginning to its end, and the program asks the probe engine
 * for each instruction. Padding behind the last instruction and data between functions are left
 * out. "jump" is any kind of jump: of five bytes, with springboard, short, or punned. A springboard
 * is given to one location only, as in a process with all these probes. The reasons for all other
 * instructions follow, the most frequent first.
 */
#include "probe/code/code.h"

#include <Zydis/Zydis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REASONS_MAX 64

struct reason {
	const char *text;
	unsigned long count;
};

struct tally {
	unsigned long by[PROBE_METHODS], all, unsaid;
	struct reason reasons[REASONS_MAX];
	size_t nr_reasons;
};

static void because(struct tally *tally, const char *text)
{
	size_t i = 0;

	if (!text) {
		tally->unsaid++;
		return;
	}
	while (i < tally->nr_reasons && strcmp(tally->reasons[i].text, text) != 0)
		i++;
	if (i == REASONS_MAX)
		i--;
	if (i == tally->nr_reasons)
		tally->reasons[tally->nr_reasons++].text = text;
	tally->reasons[i].count++;
}

static void ask(struct code_file *file, uint64_t address, struct tally *tally)
{
	struct probe_site site;

	memset(&site, 0, sizeof(site));
	if (code_site(file, address, &site))
		return;
	tally->all++;
	tally->by[site.method]++;
	if (site.method == PROBE_NONE || site.method >= PROBE_BREAKPOINT)
		because(tally, site.reason);
}

static bool does_nothing(const ZydisDecodedInstruction *decoded)
{
	return decoded->mnemonic == ZYDIS_MNEMONIC_NOP || decoded->mnemonic == ZYDIS_MNEMONIC_INT3;
}

static void ask_function(struct code_file *file, const ZydisDecoder *decoder,
		const struct code_function *function, const uint8_t *bytes, struct tally *tally)
{
	uint64_t at = 0, end = 0;
	ZydisDecodedInstruction decoded;

	for (; at < function->size &&
			ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(
					decoder, NULL, bytes + at, function->size - at, &decoded));
			at += decoded.length) {
		if (!does_nothing(&decoded))
			end = at + decoded.length;
	}
	for (at = 0; at < end; at += decoded.length) {
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(
				    decoder, NULL, bytes + at, end - at, &decoded)))
			break;
		ask(file, function->address + at, tally);
	}
}

/* The bytes of the file at an address that the engine has read. */
static const uint8_t *bytes_at(const uint8_t *image, size_t size, uint64_t offset, uint64_t wanted)
{
	return offset < size && wanted <= size - offset ? image + offset : NULL;
}

static uint8_t *read_whole(const char *path, size_t *size)
{
	FILE *stream = fopen(path, "rb");
	uint8_t *image = NULL;
	long end;

	if (stream && !fseek(stream, 0, SEEK_END) && (end = ftell(stream)) > 0) {
		rewind(stream);
		*size = (size_t)end;
		image = malloc(*size);
		if (image && fread(image, 1, *size, stream) != *size) {
			free(image);
			image = NULL;
		}
	}
	if (stream)
		(void)fclose(stream);
	return image;
}

static int by_count(const void *a, const void *b)
{
	const struct reason *one = a, *other = b;

	return (one->count < other->count) - (one->count > other->count);
}

static void print(const char *path, struct tally *tally)
{
	const char *name = strrchr(path, '/');
	double all = tally->all ? (double)tally->all : 1;
	unsigned long jumps = tally->by[PROBE_JUMP] + tally->by[PROBE_PADDING] +
			tally->by[PROBE_SHORT] + tally->by[PROBE_PUNNED];

	printf("%-20s %9lu places  %6.2f %% by a jump  %6.2f %% probed  %lu without a reason\n",
			name ? name + 1 : path, tally->all, 100 * (double)jumps / all,
			100 * (double)(tally->all - tally->by[PROBE_NONE]) / all, tally->unsaid);
	qsort(tally->reasons, tally->nr_reasons, sizeof(*tally->reasons), by_count);
	for (size_t i = 0; i < tally->nr_reasons; i++)
		printf("    %9lu %6.2f %%  %s\n", tally->reasons[i].count,
				100 * (double)tally->reasons[i].count / all,
				tally->reasons[i].text);
	(void)fflush(stdout);
}

static int next_check(const char *path, const ZydisDecoder *decoder)
{
	const struct code_function *functions;
	struct error error;
	struct code_file *file;
	struct tally tally = {.all = 0};
	uint8_t *image;
	size_t count, size = 0;

	if (code_open(path, &file, &error)) {
		fprintf(stderr, "bench-probe-sites: %s\n", error.text);
		return 1;
	}
	image = read_whole(path, &size);
	if (!image) {
		fprintf(stderr, "bench-probe-sites: %s cannot be read as a whole\n", path);
		code_close(file);
		return 1;
	}
	count = code_functions(file, &functions);
	for (size_t i = 0; i < count; i++) {
		struct probe_site begin;
		const uint8_t *bytes;

		memset(&begin, 0, sizeof(begin));
		if (code_site(file, functions[i].address, &begin))
			continue;
		bytes = bytes_at(image, size, begin.offset, functions[i].size);
		if (bytes)
			ask_function(file, decoder, &functions[i], bytes, &tally);
	}
	print(path, &tally);
	free(image);
	code_close(file);
	return 0;
}

int main(int argc, char **argv)
{
	ZydisDecoder decoder;
	int status = 0;

	if (argc < 2) {
		fprintf(stderr, "usage: bench-probe-sites FILE...\n");
		return 2;
	}
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (int i = 1; i < argc; i++)
		status |= next_check(argv[i], &decoder);
	return status;
}
