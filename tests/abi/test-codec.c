/* SPDX-License-Identifier: MIT */
/*
 * Encoding and decoding of descriptions: nothing is lost, the encoding is canonical, damaged bytes
 * and hostile memory are refused with a message and bounded work.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generate.h"

/* Not that of check.h: a failure can only be repeated with the seed, so it prints the seed. */
#define CHECK(condition)                                                                      \
	do {                                                                                  \
		if (!(condition)) {                                                           \
			fprintf(stderr, "%s:%d: seed %u: not true: %s\n", __FILE__, __LINE__, \
					seed, #condition);                                    \
			exit(1);                                                              \
		}                                                                             \
	} while (0)

static unsigned int seed;
static unsigned int rounds = 3000;

/* Reads the whole address space, of which only the block has memory. */
static int read_block(void *priv, uint64_t address, void *to, size_t size)
{
	const struct generator *generator = priv;
	uint64_t start = (uintptr_t)generator->block;

	if (address < start || address - start > generator->size ||
			size > generator->size - (address - start))
		return -EFAULT;
	memcpy(to, (const void *)(uintptr_t)address, size);
	return 0;
}

static void same_json(const struct side_event_description *one,
		const struct side_event_description *other)
{
	struct visit_buffer a, b;

	visit_buffer_heap(&a);
	visit_buffer_pages(&b);
	CHECK(!visit_description_json(one, &a, NULL));
	CHECK(!visit_description_json(other, &b, NULL));
	CHECK(a.size == b.size && !memcmp(a.data, b.data, a.size));
	visit_buffer_free(&a);
	visit_buffer_free(&b);
}

/* Changed bytes are refused, or are the only encoding of another description. */
static void damage(struct generator *generator, const struct visit_buffer *good)
{
	unsigned char *bytes = malloc(good->size + 8);
	struct visit_owned *owned;
	struct visit_buffer again;
	struct visit_error error;
	size_t size = good->size, cut;
	unsigned int i, nr = 1 + generator_below(generator, 3);
	int ret;

	memcpy(bytes, good->data, size);
	for (i = 0; i < nr; i++)
		bytes[generator_below(generator, (uint32_t)size)] ^=
				(unsigned char)(1u << generator_below(generator, 8));
	error.what[0] = '\0';
	ret = visit_description_decode(bytes, size, &owned, &error);
	CHECK(ret <= 0 && !ret == !!owned && (!ret || error.what[0]));
	if (!ret) {
		visit_buffer_heap(&again);
		CHECK(!visit_description_encode(owned->desc, &again, NULL));
		CHECK(again.size == size && !memcmp(again.data, bytes, size));
		visit_buffer_free(&again);
	}
	visit_owned_free(owned);
	/* Truncated, with a header that has the shorter size. */
	cut = generator_below(generator, (uint32_t)size);
	memcpy(bytes, good->data, size);
	CHECK(visit_description_decode(bytes, cut, &owned, &error) < 0);
	if (cut >= 12) {
		memcpy(bytes + 8, &(uint32_t){(uint32_t)cut}, 4);
		CHECK(visit_description_decode(bytes, cut, &owned, &error) < 0);
	}
	free(bytes);
}

static void damage_memory(struct generator *generator, struct side_event_description *desc)
{
	struct visit_memory memory = {
			.read = read_block,
			.priv = generator,
			.byte_order = SIDE_TYPE_BYTE_ORDER_HOST,
	};
	unsigned int i, nr = 1 + generator_below(generator, 4);
	struct visit_buffer out;
	struct visit_owned *owned;
	struct visit_error error;
	int ret;

	for (i = 0; i < nr; i++)
		generator->block[generator_below(generator, (uint32_t)generator->used)] ^=
				(unsigned char)(1u << generator_below(generator, 8));
	visit_buffer_heap(&out);
	error.what[0] = '\0';
	ret = visit_description_read(&memory, (uintptr_t)desc, &out, &error);
	CHECK(ret <= 0 && (!ret || (!out.size && error.what[0])));
	if (!ret) {
		ret = visit_description_decode(out.data, out.size, &owned, NULL);
		CHECK(ret <= 0);
		visit_owned_free(owned);
	}
	visit_buffer_free(&out);
}

static void one_description(struct generator *generator, struct side_event_description *desc)
{
	struct visit_memory memory = {
			.read = read_block,
			.priv = generator,
			.byte_order = SIDE_TYPE_BYTE_ORDER_HOST,
	};
	struct visit_buffer out, again, foreign;
	struct visit_owned *owned;
	struct visit_error error;

	CHECK(!visit_description_check(desc, 0, &error));
	visit_buffer_heap(&out);
	visit_buffer_heap(&again);
	visit_buffer_pages(&foreign);
	/* After other bytes, as in a message. */
	visit_buffer_append(&out, "message", 7);
	CHECK(!visit_description_encode(desc, &out, &error));
	memmove(out.data, out.data + 7, out.size -= 7);
	CHECK(visit_description_encoded_size(out.data, out.size) == (int64_t)out.size);
	CHECK(!visit_description_decode(out.data, out.size, &owned, &error));
	CHECK(!visit_description_encode(owned->desc, &again, &error));
	CHECK(again.size == out.size && !memcmp(again.data, out.data, out.size));
	same_json(desc, owned->desc);
	visit_owned_free(owned);
	CHECK(!visit_description_read(&memory, (uintptr_t)desc, &foreign, &error));
	CHECK(foreign.size == out.size && !memcmp(foreign.data, out.data, out.size));
	damage(generator, &out);
	damage_memory(generator, desc);
	visit_buffer_free(&out);
	visit_buffer_free(&again);
	visit_buffer_free(&foreign);
}

/* ---- hostile memory ---- */

static struct side_event_description shell(const struct side_event_field *fields, uint32_t nr)
{
	struct side_event_description desc;

	memset(&desc, 0, sizeof(desc));
	desc.struct_size = sizeof(desc);
	side_ptr_set(desc.provider_name, "hostile");
	side_ptr_set(desc.event_name, "event");
	side_ptr_set(desc.fields.elements, fields);
	desc.fields.length = nr;
	return desc;
}

/*
 * Direct reads, but through the function. It reads around objects, like a reader of another
 * process.
 */
__attribute__((no_sanitize("address"))) static int read_any(
		void *priv, uint64_t address, void *to, size_t size)
{
	const volatile unsigned char *from = (const void *)(uintptr_t)address;
	uint64_t *reads = priv;
	size_t i;

	++*reads;
	for (i = 0; i < size; i++)
		((volatile unsigned char *)to)[i] = from[i];
	return 0;
}

static int read_letters(void *priv, uint64_t address, void *to, size_t size)
{
	const struct side_event_description *desc = priv;

	if (address == (uintptr_t)desc)
		memcpy(to, desc, size);
	else
		memset(to, 'a', size);
	return 0;
}

static void expect(const struct side_event_description *desc, int expected, const char *sentence)
{
	uint64_t reads = 0;
	struct visit_memory memory = {.read = read_any, .priv = &reads};
	struct visit_error error;
	struct visit_buffer out;
	char text[900];

	memory.byte_order = SIDE_TYPE_BYTE_ORDER_HOST;
	visit_buffer_heap(&out);
	CHECK(visit_description_encode(desc, &out, &error) == expected);
	CHECK(strstr(visit_error_sentence(&error, text, sizeof(text)), sentence));
	CHECK(visit_description_read(&memory, (uintptr_t)desc, &out, &error) == expected);
	CHECK(strstr(visit_error_sentence(&error, text, sizeof(text)), sentence));
	CHECK(!out.size && reads < 4 * VISIT_NODES_MAX);
	visit_buffer_free(&out);
}

static void hostile(void)
{
	static struct side_type_struct self, levels[40];
	static struct side_event_field field, fields[40][2];
	struct side_event_description desc;
	struct visit_error error;
	struct visit_buffer out;
	struct visit_memory letters;
	unsigned int i;

	/* A structure that contains itself. */
	side_ptr_set(field.field_name, "me");
	side_enum_set(field.side_type.type, SIDE_TYPE_STRUCT);
	side_ptr_set(field.side_type.u.side_struct, &self);
	side_ptr_set(self.fields.elements, &field);
	self.fields.length = 1;
	desc = shell(&field, 1);
	expect(&desc, -ELOOP, "types are nested more than 128 deep (in ");
	/* Forty levels, each with the next one twice: 2^40 fields. */
	for (i = 0; i < 40; i++) {
		fields[i][0] = fields[i][1] = field;
		if (i == 39)
			side_enum_set(fields[i][0].side_type.type, SIDE_TYPE_DYNAMIC);
		else
			side_ptr_set(fields[i][0].side_type.u.side_struct, &levels[i + 1]);
		fields[i][1].side_type = fields[i][0].side_type;
		side_ptr_set(levels[i].fields.elements, fields[i]);
		levels[i].fields.length = 2;
	}
	desc = shell(fields[0], 2);
	expect(&desc, -E2BIG, "the description has more than");
	/* NULL, an unknown label, a newer version. */
	desc = shell(NULL, 1);
	expect(&desc, -EFAULT, "NULL");
	side_enum_set(field.side_type.type, _NR_SIDE_TYPE_LABEL);
	desc = shell(&field, 1);
	expect(&desc, -ENOTSUP, "51");
	desc.version = 7;
	expect(&desc, -ENOTSUP, "the description has version 7, only 0 is known");
	/* A name without a terminator. */
	desc = shell(NULL, 0);
	letters.read = read_letters;
	letters.priv = &desc;
	letters.byte_order = SIDE_TYPE_BYTE_ORDER_HOST;
	visit_buffer_heap(&out);
	CHECK(visit_description_read(&letters, (uintptr_t)&desc, &out, &error) == -E2BIG);
	CHECK(!out.size);
	visit_buffer_free(&out);
}

static void small_buffer(void)
{
	struct side_event_description desc = shell(NULL, 0);
	unsigned char memory[256];
	struct visit_buffer out;
	size_t size, capacity;

	visit_buffer_fixed(&out, memory, sizeof(memory));
	CHECK(!visit_description_encode(&desc, &out, NULL));
	size = out.size;
	for (capacity = 0; capacity < size; capacity++) {
		visit_buffer_fixed(&out, memory, capacity);
		CHECK(visit_description_encode(&desc, &out, NULL) == -ENOMEM && !out.size);
	}
	visit_buffer_fixed(&out, memory, size);
	CHECK(!visit_description_encode(&desc, &out, NULL) && out.size == size);
}

int main(void)
{
	struct side_event_description *desc;
	struct generator generator;
	unsigned int made = 0;

	if (getenv("SIDE_TEST_LONG"))
		rounds = 100000;
	hostile();
	small_buffer();
	for (seed = 0; seed < rounds; seed++) {
		generator_init(&generator, seed);
		desc = generate_description(&generator);
		if (desc) {
			one_description(&generator, desc);
			made++;
		}
		generator_fini(&generator);
	}
	CHECK(made > rounds / 2);
	printf("%u descriptions\n", made);
	return 0;
}
