/* SPDX-License-Identifier: MIT */
/*
 * Damaged texts of locations and values, and damaged operands of markers: the test exchanges, omits
 * and repeats letters, and combines texts. The damage is the same in each run. Under libFuzzer
 * (-DFUZZ_TARGET) its input is the text.
 *
 * The test passes if there is no crash and no sanitizer report, if each refusal has a sentence, and
 * if a table accepts the operations. Some texts must be accepted, which proves that the parsers
 * were reached.
 */
#include "probe/spec/operand.h"
#include "probe/spec/typed-values.h"
#include "probe/spec/spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef FUZZ_TARGET
static const char *const seeds[] = {
		"main",
		"libc:mallo[c]",
		"libfoo.so.1:0x1234",
		"net::server::read(char const*) const",
		"lib:net::a<b::c, d>::operator()(int*)+0x10",
		"server.c:120",
		"libx.so:dir/server.cpp:7",
		"main+017",
		"0x401136",
		"s32:n:%rdi+0x10",
		"string:name:*(*(%rdi+0x10)+8)",
		"bytes[16]:raw:%rsp-8",
		"f64:x:%xmm3",
		"u8:a:%ah",
		"reg:r12",
		"regs",
		"-4@%eax 8@$-5 1@%sil",
		"8@-20(%rbp) -8@(%rdx,%rcx,8) 2@4(%rax,%r9)",
		"4@$0x10 8f@%xmm0 4@(%rsp)",
		"8@8+16(%rdi) -2@%r11w",
};
#define NR_SEEDS (sizeof(seeds) / sizeof(*seeds))
#endif

static size_t taken;

static void demand(bool holds)
{
	if (!holds)
		abort();
}

static void check_error(int ret, const struct error *error)
{
	demand(ret < 0 && *error->text &&
			strnlen(error->text, sizeof(error->text)) < sizeof(error->text) &&
			strnlen(error->hint, sizeof(error->hint)) < sizeof(error->hint));
}

/* Checks the values as a table does. */
static void check_values(const struct value *values, size_t count)
{
	struct probe_table_writer *writer = probe_table_writer_new();
	struct probe_table_field fields[PROBE_TABLE_FIELDS_MAX];
	const struct probe_table_event event = {.provider = "p",
			.name = "e",
			.nr_fields = (uint32_t)count,
			.fields = fields};

	demand(writer && count <= PROBE_TABLE_FIELDS_MAX);
	for (size_t i = 0; i < count; i++) {
		demand(values[i].fetch.nr_ops <= PROBE_TABLE_OPS_MAX);
		fields[i] = (struct probe_table_field){.name = values[i].name,
				.type = values[i].type,
				.size = values[i].size,
				.limit = values[i].limit};
	}
	demand(probe_table_add_event(writer, &event) == 0);
	probe_table_writer_free(writer);
	taken++;
}

static void read_text(const char *text)
{
	struct value values[OPERANDS_MAX > SPEC_CONTEXT_MAX ? OPERANDS_MAX : SPEC_CONTEXT_MAX];
	struct error error = {.text = ""};
	struct parsed_spec spec;
	size_t count;
	int ret = spec_parse(text, &spec, &error);

	if (ret)
		check_error(ret, &error);
	else
		taken++;
	spec_free(&spec);
	if (resolve_is_context(text)) {
		ret = spec_context(text, NULL, values, &count, &error);
		if (ret)
			check_error(ret, &error);
		else
			check_values(values, count);
	}
	ret = spec_value(text, NULL, values, &error);
	if (ret)
		check_error(ret, &error);
	else
		check_values(values, 1);
	ret = operands_read(text, NULL, values, &count, &error);
	if (ret)
		check_error(ret, &error);
	else
		check_values(values, count);
}

#ifdef FUZZ_TARGET
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char *text = malloc(size + 1);

	demand(text);
	memcpy(text, bytes, size);
	text[size] = '\0';
	read_text(text);
	free(text);
	return 0;
}
#else
static uint64_t state = 88172645463325252u;

static size_t below(size_t limit)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % limit;
}

static void damage(char *text, size_t capacity)
{
	static const char letters[] = "%():,@$*+-[]<>. 0x19af\\~\x80:";
	const char *other = seeds[below(NR_SEEDS)];
	size_t length = strlen(text), at = length ? below(length) : 0, some = below(strlen(other));

	switch (below(4)) {
	case 0:
		if (length)
			text[at] = letters[below(sizeof(letters) - 1)];
		break;
	case 1: memmove(text + at, text + at + (length > 0), length - at + (length == 0)); break;
	case 2:
		if (length + 2 < capacity) {
			memmove(text + at + 1, text + at, length - at + 1);
			text[at] = letters[below(sizeof(letters) - 1)];
		}
		break;
	default:
		if (at + strlen(other + some) + 1 < capacity)
			strcpy(text + at, other + some);
	}
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 3000;
	char text[512];

	for (size_t i = 0; i < NR_SEEDS; i++) {
		size_t before = taken;

		read_text(seeds[i]);
		demand(taken > before);
	}
	for (unsigned long round = 0; round < rounds; round++) {
		strcpy(text, seeds[below(NR_SEEDS)]);
		for (size_t steps = 1 + below(8); steps; steps--)
			damage(text, sizeof(text));
		read_text(text);
	}
	printf("%zu of %lu texts were taken\n", taken, 3 * rounds);
	return 0;
}
#endif
