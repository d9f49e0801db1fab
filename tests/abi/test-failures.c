/* SPDX-License-Identifier: MIT */
/*
 * Random descriptions, encoded, decoded, read and printed while each write, read or allocation
 * fails in turn: the error is reported, the output is unchanged, and no step follows the failed
 * one.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "../failing-calls.h"
#include "generate.h"

#define NO_MEMORY "out of memory for the description"

/* ---- output of each smaller size ---- */

static unsigned char small[1 << 16];

/* The output has bytes before the description, which stay unchanged. */
static void begin_small(struct visit_buffer *out, size_t capacity)
{
	visit_buffer_fixed(out, small, capacity + 3);
	CHECK(!visit_buffer_append(out, "abc", 3));
}

static void check_small(struct visit_buffer *out)
{
	CHECK(out->size == 3 && !memcmp(small, "abc", 3));
}

static void encode_into_small(
		const struct side_event_description *desc, const struct visit_buffer *good)
{
	struct visit_buffer out;
	struct visit_error error;

	for (size_t capacity = 0; capacity < good->size; capacity++) {
		memset(&error, 'x', sizeof(error));
		begin_small(&out, capacity);
		CHECK(visit_description_encode(desc, &out, &error) == -ENOMEM);
		CHECK(!strcmp(error.what, NO_MEMORY) && !error.hint[0] && !out.error);
		check_small(&out);
	}
	begin_small(&out, good->size);
	CHECK(!visit_description_encode(desc, &out, &error));
	CHECK(out.size == 3 + good->size && !memcmp(small + 3, good->data, good->size));
	/* A buffer with an earlier error. */
	out.error = -E2BIG;
	CHECK(visit_description_encode(desc, &out, &error) == -E2BIG);
	CHECK(out.size == 3 + good->size);
}

static void print_into_small(const struct side_event_description *desc)
{
	struct visit_buffer json, out;
	struct visit_error error;

	visit_buffer_heap(&json);
	CHECK(!visit_description_json(desc, &json, &error));
	for (size_t capacity = 0; capacity < json.size; capacity += 1 + capacity / 64) {
		memset(&error, 'x', sizeof(error));
		begin_small(&out, capacity);
		CHECK(visit_description_json(desc, &out, &error) == -ENOMEM);
		CHECK(!strcmp(error.what, "out of memory for the JSON text") && !error.where[0]);
		check_small(&out);
	}
	begin_small(&out, json.size - 1);
	CHECK(visit_description_json(desc, &out, NULL) == -ENOMEM);
	/* Texts of up to 256 bytes are printed with their terminator. */
	begin_small(&out, json.size + 1);
	CHECK(!visit_description_json(desc, &out, &error));
	CHECK(out.size == 3 + json.size && !memcmp(small + 3, json.data, json.size));
	json.size = 0;
	CHECK(!visit_fields_text(desc, &json));
	for (size_t capacity = 0; capacity < json.size; capacity++) {
		begin_small(&out, capacity);
		CHECK(visit_fields_text(desc, &out) == -ENOMEM);
		CHECK(out.size <= 3 + capacity && !memcmp(small + 3, json.data, out.size - 3));
	}
	visit_buffer_free(&json);
}

/* ---- memory that cannot be read after some reads ---- */

struct counted {
	const struct generator *generator;
	unsigned int reads, failing; /* the number of the first read that fails; 0: none */
	bool once;                   /* only that one fails */
};

static int read_counted(void *priv, uint64_t address, void *to, size_t size)
{
	struct counted *counted = priv;
	uint64_t start = (uintptr_t)counted->generator->block;

	counted->reads++;
	if (counted->failing &&
			(counted->once ? counted->reads == counted->failing
				       : counted->reads >= counted->failing))
		return -EIO;
	if (address < start || address - start > counted->generator->size ||
			size > counted->generator->size - (address - start))
		return -EFAULT;
	memcpy(to, (const void *)(uintptr_t)address, size);
	return 0;
}

static void read_from_failing(struct generator *generator,
		const struct side_event_description *desc, const struct visit_buffer *good)
{
	struct counted counted = {.generator = generator};
	struct visit_memory memory = {
			.read = read_counted,
			.priv = &counted,
			.byte_order = SIDE_TYPE_BYTE_ORDER_HOST,
	};
	struct visit_buffer out;
	struct visit_error error;
	unsigned int all;
	int ret;

	visit_buffer_heap(&out);
	CHECK(!visit_description_read(&memory, (uintptr_t)desc, &out, &error));
	CHECK(out.size == good->size && !memcmp(out.data, good->data, good->size));
	all = counted.reads;
	for (counted.failing = 1; counted.failing <= all; counted.failing++) {
		out.size = 0;
		visit_buffer_append(&out, "abc", 3);
		memset(&error, 'x', sizeof(error));
		counted.reads = 0;
		CHECK(visit_description_read(&memory, (uintptr_t)desc, &out, &error) == -EIO);
		/* A text is read again byte by byte. No other read follows. */
		CHECK(counted.reads <= counted.failing + 1);
		CHECK(!strncmp(error.what, "the memory at 0x", 16));
		CHECK(strstr(error.what, " bytes) cannot be read"));
		CHECK(!strcmp(error.hint,
				"memory that a description points to must exist as long as it is registered"));
		CHECK(out.size == 3 && !memcmp(out.data, "abc", 3));
	}
	/* One read fails: a byte of a text is read on its own, or it is an error. */
	counted.once = true;
	for (counted.failing = 1; counted.failing <= all; counted.failing++) {
		out.size = 0;
		counted.reads = 0;
		ret = visit_description_read(&memory, (uintptr_t)desc, &out, &error);
		CHECK(ret == -EIO || !ret);
		CHECK(out.size == (ret ? 0 : good->size));
		CHECK(!memcmp(out.data, good->data, out.size));
		CHECK(ret ? counted.reads == counted.failing : counted.reads > all);
	}
	visit_buffer_free(&out);
}

/* ---- input that ends too soon, and memory that cannot be allocated ---- */

static void decode_cut(const struct visit_buffer *good)
{
	for (size_t cut = 0; cut < good->size; cut++) {
		/* The bytes after it are not readable. */
		unsigned char *bytes = malloc(cut + 1);
		struct visit_owned *owned = (void *)bytes;
		struct visit_error error;

		CHECK(bytes);
		memcpy(bytes, good->data, cut);
		CHECK(visit_description_decode(bytes, cut, &owned, &error) == -EINVAL && !owned);
		CHECK(!strcmp(error.what, "this is not an encoded description"));
		if (cut >= 12) {
			memcpy(bytes + 8, &(uint32_t){(uint32_t)cut}, 4);
			CHECK(visit_description_decode(bytes, cut, &owned, &error) == -EINVAL);
			CHECK(!strcmp(error.what, "the encoded description is cut off"));
			CHECK(!owned);
		}
		free(bytes);
	}
}

/* Each piece of memory that decoding needs, although most of them need no allocation. */
FAILING_DECLARE(void *, visit_decoder_take, void *decoder, size_t size);

void *__wrap_visit_decoder_take(void *decoder, size_t size)
{
	return failing_is_due("take", ENOMEM) ? NULL : __real_visit_decoder_take(decoder, size);
}

static void decode_without_memory(const struct visit_buffer *good)
{
	struct visit_owned *owned;
	struct visit_error error;

	for (unsigned int call = 1;; call++) {
		int ret;

		memset(&error, 'x', sizeof(error));
		failing_arm(call);
		ret = visit_description_decode(good->data, good->size, &owned, &error);
		if (!failing_has_failed()) {
			CHECK(!ret && call > 2);
			visit_owned_free(owned);
			return;
		}
		CHECK(ret == -ENOMEM && !owned && !strcmp(error.what, NO_MEMORY));
	}
}

/* The bytes after the header, and a header that differs in one byte. */
static void decode_damaged(const struct visit_buffer *good)
{
	static const struct {
		unsigned int at;
		int ret;
		const char *what;
	} cases[] = {
			{0, -EINVAL, "this is not an encoded description"},
			{3, -EINVAL, "this is not an encoded description"},
			{4, -ENOTSUP, "the encoded description has an unknown version"},
			{5, -ENOTSUP, "the encoded description has an unknown version"},
			{6, -ENOTSUP, "the encoded description has an unknown version"},
			{7, -ENOTSUP, "the encoded description has an unknown version"},
			{11, -EINVAL, "this is not an encoded description"},
	};
	unsigned char *bytes = malloc(good->size + 2);
	struct visit_owned *owned;
	struct visit_error error;
	uint32_t size;

	CHECK(bytes);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		memcpy(bytes, good->data, good->size);
		bytes[cases[i].at]++;
		CHECK(visit_description_encoded_size(bytes, good->size) == cases[i].ret);
		CHECK(visit_description_decode(bytes, good->size, &owned, &error) == cases[i].ret);
		CHECK(!strcmp(error.what, cases[i].what));
	}
	memcpy(bytes, good->data, good->size);
	memset(bytes + good->size, 0, 2);
	CHECK(visit_description_encoded_size(bytes, good->size + 2) == (int64_t)good->size);
	CHECK(visit_description_decode(bytes, good->size + 2, &owned, &error) == -EINVAL);
	CHECK(!strcmp(error.what, "2 bytes follow the description") && !error.where[0]);
	size = (uint32_t)good->size + 1;
	memcpy(bytes + 8, &size, 4);
	CHECK(visit_description_decode(bytes, good->size + 1, &owned, &error) == -EINVAL);
	CHECK(!strcmp(error.what, "1 bytes follow the description") && error.where[0]);
	/* The header is the smallest possible input. */
	for (size = 11; size <= 12; size++) {
		memcpy(bytes + 8, &size, 4);
		CHECK(visit_description_encoded_size(bytes, good->size) ==
				(size == 12 ? 12 : -EINVAL));
	}
	CHECK(visit_description_encoded_size(bytes, 12) == 12);
	CHECK(visit_description_encoded_size(bytes, 11) == -EINVAL);
	free(bytes);
}

/* ---- total size ---- */

/* An event with two names that fill the encoded description: it may have 16 MiB. */
static void whole_size(void)
{
	/* Header, lengths of two names, flags, two numbers, log level, attributes, fields. */
	const size_t around = 12 + 4 + 4 + 8 + 2 + 2 + 4 + 4 + 4;
	const size_t most = (16u << 20) - around;
	char *name = malloc(most + 1);
	struct side_event_description desc;
	struct visit_owned *owned;
	struct visit_buffer out;
	struct visit_error error;

	CHECK(name);
	memset(name, 'n', most);
	memset(&desc, 0, sizeof(desc));
	desc.struct_size = sizeof(desc);
	side_ptr_set(desc.provider_name, name);
	side_ptr_set(desc.event_name, "");
	visit_buffer_heap(&out);
	name[most] = '\0';
	CHECK(!visit_description_encode(&desc, &out, &error) && out.size == 16u << 20);
	CHECK(visit_description_encoded_size(out.data, out.size) == 16 << 20);
	CHECK(!visit_description_decode(out.data, out.size, &owned, &error));
	visit_owned_free(owned);
	/* One byte more. */
	CHECK(!visit_buffer_append(&out, "", 1));
	out.data[8] = 1;
	CHECK(visit_description_encoded_size(out.data, out.size) == -EINVAL);
	out.size = 0;
	side_ptr_set(desc.event_name, "e");
	CHECK(visit_description_encode(&desc, &out, &error) == -E2BIG && !out.size);
	CHECK(!strcmp(error.what, "the description has more than 16777216 bytes"));
	CHECK(!strcmp(error.hint, "make it smaller, or check the lengths"));
	visit_buffer_free(&out);
	free(name);
}

/* ---- buffers ---- */

static void growth(void)
{
	struct visit_buffer buffer;
	char text[600];

	/* The minimum, then twice the previous size, then the required size. */
	visit_buffer_heap(&buffer);
	CHECK(!visit_buffer_append(&buffer, NULL, 0) && !buffer.data && !buffer.capacity);
	CHECK(!visit_buffer_append(&buffer, "a", 1) && buffer.capacity == 256);
	memset(text, 't', sizeof(text));
	CHECK(!visit_buffer_append(&buffer, text, 255) && buffer.capacity == 256);
	CHECK(!visit_buffer_append(&buffer, "b", 1) && buffer.capacity == 512);
	CHECK(!visit_buffer_append(&buffer, text, 600) && buffer.capacity == 1024);
	CHECK(!visit_buffer_append(&buffer, text, 600) && buffer.capacity == 2048);
	CHECK(buffer.size == 1457 && buffer.data[256] == 'b' && buffer.data[0] == 'a');
	/* The first error stays, and errno is not changed. */
	failing_arm(1);
	errno = 4711;
	CHECK(visit_buffer_append(&buffer, text, 600) == -ENOMEM && errno == 4711);
	CHECK(failing_has_failed());
	CHECK(buffer.size == 1457 && buffer.capacity == 2048 && buffer.error == -ENOMEM);
	CHECK(visit_buffer_append(&buffer, "c", 1) == -ENOMEM && buffer.size == 1457);
	CHECK(visit_buffer_printf(&buffer, "%d", 1) == -ENOMEM && buffer.size == 1457);
	visit_buffer_free(&buffer);
	CHECK(!buffer.data && !buffer.size && !buffer.capacity && !buffer.error);
	/* Sizes that no machine can allocate. */
	CHECK(visit_buffer_append(&buffer, "", SIZE_MAX / 2 + 1) == -ENOMEM);
	visit_buffer_free(&buffer);
	buffer.size = buffer.capacity = SIZE_MAX / 4 + 1;
	CHECK(visit_buffer_append(&buffer, "", 1) == -ENOMEM);
	buffer.size = buffer.capacity = 0;
	/* Pages: multiples of 64 KiB. */
	visit_buffer_pages(&buffer);
	CHECK(!visit_buffer_append(&buffer, "a", 1) && buffer.capacity == 65536);
	while (buffer.size < 65536)
		CHECK(!visit_buffer_append(&buffer, "b", 1) && buffer.capacity == 65536);
	CHECK(!visit_buffer_append(&buffer, "c", 1) && buffer.capacity == 131072);
	CHECK(buffer.data[0] == 'a' && buffer.data[65535] == 'b' && buffer.data[65536] == 'c');
	CHECK(buffer.grow(&buffer, 131073) == 0 && buffer.capacity == 196608);
	CHECK(buffer.grow(&buffer, SIZE_MAX - 65535) == -ENOMEM && buffer.capacity == 196608);
	CHECK(buffer.grow(&buffer, (size_t)1 << 60) == -ENOMEM && buffer.capacity == 196608);
	visit_buffer_free(&buffer);
	CHECK(!buffer.data && !buffer.capacity);
}

/* Printed texts around the size that is kept on the stack. */
static void printed(void)
{
	char text[600];

	memset(text, 't', sizeof(text));
	for (int size = 253; size <= 600; size += size < 259 ? 1 : 341) {
		struct visit_buffer buffer;

		visit_buffer_heap(&buffer);
		CHECK(!visit_buffer_printf(&buffer, "<%.*s>", size, text));
		CHECK(buffer.size == (size_t)size + 2 && buffer.data[0] == '<');
		CHECK(buffer.data[size] == 't' && buffer.data[size + 1] == '>');
		CHECK(!visit_buffer_printf(&buffer, "%d", 7) && buffer.size == (size_t)size + 3);
		visit_buffer_free(&buffer);
		/* Only the whole text is appended. */
		visit_buffer_fixed(&buffer, small, (size_t)size + 1);
		CHECK(visit_buffer_printf(&buffer, "<%.*s>", size, text) == -ENOMEM);
		CHECK(!buffer.size && buffer.error == -ENOMEM);
	}
}

/* ---- all ---- */

static unsigned int labels[_NR_SIDE_TYPE_LABEL];

static int note_label(void *priv, const struct visit_node *node)
{
	(void)priv;
	labels[side_enum_get(node->type->type)]++;
	return 0;
}

static void one_description(struct generator *generator, const struct side_event_description *desc)
{
	static const struct visit_description_ops ops = {.type_begin = note_label};
	struct visit_buffer good;

	visit_buffer_heap(&good);
	CHECK(!visit_description_encode(desc, &good, NULL));
	CHECK(!visit_description(desc, &ops, NULL, NULL));
	encode_into_small(desc, &good);
	print_into_small(desc);
	read_from_failing(generator, desc, &good);
	decode_cut(&good);
	decode_without_memory(&good);
	decode_damaged(&good);
	visit_buffer_free(&good);
}

int main(void)
{
	struct side_event_description *desc;
	struct generator generator;
	unsigned int made = 0;

	growth();
	printed();
	whole_size();
	for (unsigned int seed = 0; made < 150; seed++) {
		generator_init(&generator, seed);
		desc = generate_description(&generator);
		if (desc && generator.used < 8192) {
			one_description(&generator, desc);
			made++;
		}
		generator_fini(&generator);
	}
	for (unsigned int i = 0; i < SIDE_TYPE_DYNAMIC_NULL; i++)
		CHECK(labels[i]);
	return 0;
}
