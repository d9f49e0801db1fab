/* SPDX-License-Identifier: MIT */
/* Converts ranges of enumerations and variants: docs/spec/recording.md, sections 4 and 5. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/visit.h"
#include "base/inside/utf8.h"
#include "ctf/write/describe.h"

/* ---- text ---- */

char *ctf_describe_text(struct ctf_arena *arena, const void *text, unsigned int unit_size,
		unsigned int byte_order)
{
	size_t size = visit_text_utf8(text, unit_size, byte_order, NULL, 0), used = 0;
	unsigned char *raw = malloc(size + 1);
	char *clean = raw ? ctf_arena_alloc(arena, 2 * size + 1, 1) : NULL;

	if (!clean) {
		ctf_arena_fail(arena);
		free(raw);
		return NULL;
	}
	visit_text_utf8(text, unit_size, byte_order, raw, size);
	for (size_t i = 0; i < size;) {
		unsigned int length = utf8_length(raw + i, size - i);

		if (length) {
			memcpy(clean + used, raw + i, length);
			used += length;
			i += length;
			continue;
		}
		clean[used++] = (char)(0xc0 | raw[i] >> 6);
		clean[used++] = (char)(0x80 | (raw[i] & 0x3f));
		i++;
	}
	free(raw);
	return clean;
}

/* ---- ranges ---- */

/* A range of the integer's values, as mathematical integers. */
struct label_span {
	__int128 begin;
	__int128 end;
	uint32_t option;
};

static __int128 integer_min(const struct ctf_type *integer)
{
	return integer->is_signed ? -((__int128)1 << (integer->size - 1)) : 0;
}

static __int128 integer_max(const struct ctf_type *integer)
{
	return ((__int128)1 << (integer->size - integer->is_signed)) - 1;
}

/* Clip a SIDE range to the integer: 0, 1 or 2 spans (2: unsigned 64-bit integers compare as
   signed). */
static unsigned int ctf_describe_labels_clip_range(const struct ctf_type *integer, int64_t begin,
		int64_t end, uint32_t option, struct label_span *ret_spans)
{
	unsigned int count = 0;
	__int128 low = begin, high = end;

	if (end < begin)
		return 0;
	if (!integer->is_signed && integer->size == 64 && begin < 0) {
		__int128 wrap = (__int128)1 << 64;

		ret_spans[count++] = (struct label_span){
				wrap + low, wrap + (high < 0 ? high : -1), option};
	}
	if (low < integer_min(integer))
		low = integer_min(integer);
	if (high > integer_max(integer))
		high = integer_max(integer);
	if (low <= high)
		ret_spans[count++] = (struct label_span){low, high, option};
	return count;
}

int ctf_describe_labels(struct ctf_arena *arena, const struct side_enum_mappings *mappings,
		struct ctf_type *integer, struct ctf_type **ret_type)
{
	const struct side_enum_mapping *mapping = side_array_elements(&mappings->mappings);
	uint32_t count = side_array_length(&mappings->mappings), labels = 0;
	struct label_span spans[2];

	for (uint32_t i = 0; i < count; i++)
		labels += ctf_describe_labels_clip_range(
				integer, mapping[i].range_begin, mapping[i].range_end, i, spans);
	if (!labels) {
		*ret_type = integer;
		return 0;
	}
	*ret_type = ctf_type_enum(arena, integer, labels);
	if (!*ret_type)
		return -ENOMEM;
	labels = 0;
	for (uint32_t i = 0; i < count; i++) {
		const struct side_type_raw_string *label = &mapping[i].label;
		unsigned int pieces = ctf_describe_labels_clip_range(
				integer, mapping[i].range_begin, mapping[i].range_end, i, spans);
		char *text;

		if (!pieces)
			continue;
		text = ctf_describe_text(arena, side_ptr_get(label->p), label->unit_size,
				side_enum_get(label->byte_order));
		if (!text)
			return -ENOMEM;
		for (unsigned int p = 0; p < pieces; p++)
			(*ret_type)->labels[labels++] = (struct ctf_label){
					text, (uint64_t)spans[p].begin, (uint64_t)spans[p].end};
	}
	return 0;
}

int ctf_describe_flags(struct ctf_arena *arena, const struct side_enum_bitmap_mappings *mappings,
		struct ctf_type *integer)
{
	const struct side_enum_bitmap_mapping *mapping = side_array_elements(&mappings->mappings);
	uint32_t count = side_array_length(&mappings->mappings);
	struct ctf_label *labels = ctf_arena_alloc(arena, count, sizeof(*labels));

	integer->label_count = 0;
	for (uint32_t i = 0; labels && i < count; i++) {
		const struct side_type_raw_string *label = &mapping[i].label;
		uint64_t last = integer->size - 1u;
		char *text;

		if (mapping[i].range_begin > last || mapping[i].range_end < mapping[i].range_begin)
			continue;
		text = ctf_describe_text(arena, side_ptr_get(label->p), label->unit_size,
				side_enum_get(label->byte_order));
		if (!text)
			return -ENOMEM;
		labels[integer->label_count++] = (struct ctf_label){text, mapping[i].range_begin,
				mapping[i].range_end < last ? mapping[i].range_end : last};
	}
	integer->labels = labels;
	integer->bitmap = integer->label_count > 0;
	return labels ? 0 : -ENOMEM;
}

/* ---- tags of variants ---- */

/*
 * The first match wins, so the ranges of the options are split at all their bounds by a sweep from
 * the lowest to the highest value: at each point, the open option with the lowest number gets the
 * values. The open options are in a heap; closed ones are removed when they are on top.
 */
struct sweep {
	const struct label_span *spans; /* Sorted by begin. */
	size_t span_count;
	size_t next;
	const struct label_span **heap;
	size_t heap_count;
	struct label_span *out;
	size_t out_count;
};

static int span_compare_begin(const void *a, const void *b)
{
	const struct label_span *left = a, *right = b;

	return left->begin < right->begin ? -1 : left->begin > right->begin;
}

static int span_compare_option(const void *a, const void *b)
{
	const struct label_span *left = a, *right = b;

	if (left->option != right->option)
		return left->option < right->option ? -1 : 1;
	return span_compare_begin(a, b);
}

static void heap_push(struct sweep *sweep, const struct label_span *span)
{
	size_t at = sweep->heap_count++;

	while (at && sweep->heap[(at - 1) / 2]->option > span->option) {
		sweep->heap[at] = sweep->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	sweep->heap[at] = span;
}

static void heap_pop(struct sweep *sweep)
{
	const struct label_span *last = sweep->heap[--sweep->heap_count];
	size_t at = 0;

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= sweep->heap_count)
			break;
		if (child + 1 < sweep->heap_count &&
				sweep->heap[child + 1]->option < sweep->heap[child]->option)
			child++;
		if (sweep->heap[child]->option >= last->option)
			break;
		sweep->heap[at] = sweep->heap[child];
		at = child;
	}
	if (sweep->heap_count)
		sweep->heap[at] = last;
}

static void sweep_emit(struct sweep *sweep, __int128 begin, __int128 end, uint32_t option)
{
	struct label_span *last = sweep->out_count ? &sweep->out[sweep->out_count - 1] : NULL;

	if (last && last->option == option && last->end + 1 == begin)
		last->end = end;
	else
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): `out` has enough space. */
		sweep->out[sweep->out_count++] = (struct label_span){begin, end, option};
}

static void sweep_run(struct sweep *sweep, const struct ctf_type *integer, uint32_t none)
{
	__int128 at = integer_min(integer), max = integer_max(integer);

	while (at <= max) {
		uint32_t winner = none;
		__int128 end = max;

		while (sweep->next < sweep->span_count && sweep->spans[sweep->next].begin <= at)
			heap_push(sweep, &sweep->spans[sweep->next++]);
		while (sweep->heap_count && sweep->heap[0]->end < at)
			heap_pop(sweep);
		if (sweep->heap_count) {
			winner = sweep->heap[0]->option;
			end = sweep->heap[0]->end;
		}
		/* The next option may win from its begin on. */
		if (sweep->next < sweep->span_count && sweep->spans[sweep->next].begin <= end)
			end = sweep->spans[sweep->next].begin - 1;
		sweep_emit(sweep, at, end, winner);
		at = end + 1;
	}
}

static int tag_labels(struct ctf_arena *arena, const struct sweep *sweep, uint32_t none,
		struct ctf_type *integer, struct ctf_type **ret_type, bool *used)
{
	const char *text = NULL;

	*ret_type = ctf_type_enum(arena, integer, (uint32_t)sweep->out_count);
	if (!*ret_type)
		return -ENOMEM;
	for (size_t i = 0; i < sweep->out_count; i++) {
		const struct label_span *span = &sweep->out[i];
		char name[16] = "none";

		if (!used[span->option]) {
			if (span->option != none)
				snprintf(name, sizeof(name), "o%u", span->option);
			text = ctf_arena_copy(arena, name, strlen(name));
			if (!text)
				return -ENOMEM;
			used[span->option] = true;
		}
		(*ret_type)->labels[i] = (struct ctf_label){
				text, (uint64_t)span->begin, (uint64_t)span->end};
	}
	return 0;
}

int ctf_describe_tag(struct ctf_arena *arena, const struct side_type_variant *variant,
		struct ctf_type *integer, struct ctf_type **ret_type, bool *used)
{
	const struct side_variant_option *options = side_array_elements(&variant->options);
	uint32_t count = side_array_length(&variant->options);
	size_t capacity = (size_t)count * 2 + 1;
	struct label_span *spans = calloc(capacity, sizeof(*spans));
	struct label_span *out = calloc(2 * capacity + 1, sizeof(*out));
	const struct label_span **heap = calloc(capacity, sizeof(*heap));
	struct sweep sweep = {.spans = spans, .heap = heap, .out = out};
	int ret = -ENOMEM;

	if (!spans || !out || !heap)
		goto end;
	for (uint32_t i = 0; i < count; i++)
		sweep.span_count += ctf_describe_labels_clip_range(integer, options[i].range_begin,
				options[i].range_end, i, spans + sweep.span_count);
	qsort(spans, sweep.span_count, sizeof(*spans), span_compare_begin);
	sweep_run(&sweep, integer, count);
	qsort(out, sweep.out_count, sizeof(*out), span_compare_option);
	ret = tag_labels(arena, &sweep, count, integer, ret_type, used);
end:
	free(heap);
	free(out);
	free(spans);
	return ret;
}
