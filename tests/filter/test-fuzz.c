/* SPDX-License-Identifier: MIT */
/* Deterministic mutations: of texts, of programs, of arguments. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

static uint64_t state = 0x9e3779b97f4a7c15;

static uint32_t below(uint32_t limit)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 32) % limit;
}

static unsigned int nr_seeds(void)
{
	unsigned int nr = 0;

	while (fuzz_seeds[nr])
		nr++;
	return nr;
}

/* ---- texts ---- */

static const char *const names[] = {" && ", " || ", "!", "(", ")", " == ", " != ", "<", ">=", "&",
		"|", "^", "~", "<<", ">>", "+", "-", "*", "/", "%", "0", "5", "1.5", "0x", "\"",
		"*", "?", "\\", "'", "`", "$ctx.", "$app.", ":", ".", "[", "]", "[0]", "has(",
		"len(", "true", "u8", "name", "parcel", "state", "words[1]", "anything", "nope",
		"18446744073709551615"};

static void mutate_text(char *text, size_t capacity)
{
	unsigned int times = 1 + below(4);

	while (times--) {
		size_t size = strlen(text), at = below((uint32_t)size + 1), end;
		const char *word = names[below(sizeof(names) / sizeof(names[0]))];

		switch (below(4)) {
		case 0: /* remove */
			end = at + below(6);
			if (end > size)
				end = size;
			memmove(text + at, text + end, size - end + 1);
			break;
		case 1: /* insert */
			if (size + strlen(word) >= capacity)
				break;
			memmove(text + at + strlen(word), text + at, size - at + 1);
			memcpy(text + at, word, strlen(word));
			break;
		case 2: /* change a byte */
			if (at < size)
				text[at] = (char)(1 + below(255));
			break;
		default: /* append the end of another text */
			word = fuzz_seeds[below(nr_seeds())];
			end = below((uint32_t)strlen(word) + 1);
			if (at + strlen(word + end) < capacity)
				strcpy(text + at, word + end);
			break;
		}
	}
}

static unsigned int test_texts(unsigned int rounds)
{
	char text[2048];
	unsigned int accepted = 0;

	while (rounds--) {
		strcpy(text, fuzz_seeds[below(nr_seeds())]);
		mutate_text(text, sizeof(text));
		accepted += (unsigned int)fuzz_text(text);
	}
	return accepted;
}

/* ---- programs ---- */

static void mutate_program(unsigned char *bytes, size_t size)
{
	unsigned int times = 1 + below(3);
	size_t nr = (size_t)bytes[6] | (size_t)bytes[7] << 8;

	while (times--) {
		size_t at = below(4) ? below((uint32_t)size) : 16 + 16 * below((uint32_t)nr);

		switch (below(4)) {
		case 0: bytes[at] = (unsigned char)below(256); break;
		case 1: bytes[at] ^= (unsigned char)(1 << below(8)); break;
		case 2: /* replace an instruction by another one */
			memmove(bytes + 16 + 16 * below((uint32_t)nr),
					bytes + 16 + 16 * below((uint32_t)nr), 16);
			break;
		default: /* a small number at any position: jumps, operands */
			bytes[at & ~(size_t)1] = (unsigned char)below(32);
			break;
		}
	}
}

static unsigned int test_programs(unsigned int rounds)
{
	unsigned int accepted = 0, i;
	unsigned char *copy;
	void *program;
	size_t size;

	while (rounds) {
		if (filter_parse(fuzz_seeds[below(nr_seeds())], &program, &size, NULL))
			abort();
		for (i = 0; i < 100 && rounds; i++, rounds--) {
			/* In memory of its exact size, so that a read beyond it is detected. */
			size_t cut = below(20) ? size : below((uint32_t)size);

			copy = malloc(cut + !cut);
			memcpy(copy, program, cut);
			if (cut == size)
				mutate_program(copy, size);
			accepted += (unsigned int)fuzz_program(copy, cut);
			free(copy);
		}
		free(program);
	}
	return accepted;
}

/* ---- arguments ---- */

static void test_arguments(unsigned int rounds)
{
	uint8_t how[32];
	unsigned int i, nr;

	while (rounds--) {
		nr = 4 * (1 + below(8));
		for (i = 0; i < nr; i++)
			how[i] = (uint8_t)below(256);
		fuzz_arguments(fuzz_seeds[below(nr_seeds())], how, nr);
	}
}

int main(void)
{
	unsigned int times = getenv("SIDE_TEST_LONG") ? 30 : 1, texts, programs, i;

	fuzz_start();
	for (i = 0; i < nr_seeds(); i++) {
		if (!fuzz_text(fuzz_seeds[i])) {
			fprintf(stderr, "%s\n", fuzz_seeds[i]);
			return 1;
		}
	}
	texts = test_texts(25000 * times);
	programs = test_programs(100000 * times);
	test_arguments(25000 * times);
	printf("accepted: %u texts, %u programs\n", texts, programs);
	/* If hardly any input is accepted, the test checks nothing. */
	return texts < 2000 * times || programs < 5000 * times;
}
