/* SPDX-License-Identifier: MIT */
/* The intervals of time in which a trace lost events. */
#include "analysis/report-gaps.h"

#include "ctf/ctf.h"
#include "base/inside/search.h"

#include <errno.h>
#include <stdlib.h>

struct gap {
	uint32_t trace;
	int64_t begin, end;
	/* the earliest begin of this gap and the following ones of the trace */
	int64_t least_begin;
};

static int gaps_add(struct gaps *gaps, const struct gap *gap)
{
	if (!(gaps->count & (gaps->count - 1))) { /* The array grows at 0, 1, 2, 4, … gaps. */
		size_t capacity = gaps->count ? gaps->count * 2 : 1;
		struct gap *spans = realloc(gaps->spans, capacity * sizeof(*spans));

		if (!spans)
			return -ENOMEM;
		gaps->spans = spans;
	}
	gaps->spans[gaps->count++] = *gap;
	return 0;
}

static int compare_gaps(const void *left, const void *right)
{
	const struct gap *a = left, *b = right;

	if (a->trace != b->trace)
		return a->trace < b->trace ? -1 : 1;
	return (a->end > b->end) - (a->end < b->end);
}

static void gaps_sort(struct gaps *gaps)
{
	if (gaps->count)
		qsort(gaps->spans, gaps->count, sizeof(*gaps->spans), compare_gaps);
	for (size_t i = gaps->count; i-- > 0;) {
		struct gap *gap = &gaps->spans[i], *next = gap + 1;
		bool more = i + 1 < gaps->count && next->trace == gap->trace;

		gap->least_begin = more && next->least_begin < gap->begin ? next->least_begin
									  : gap->begin;
	}
}

int gaps_read(struct gaps *gaps, const char *dir)
{
	struct ctf_reader *reader;
	struct error error;
	struct ctf_item item;
	int ret = ctf_reader_open(dir, &reader, &error);

	if (ret)
		return ret == -ENOMEM
				? ret
				: 0; /* The caller opens the trace, too, and reports other errors. */
	/* No packet has this time, so the reader reads only headers. */
	ctf_reader_set_times(reader, INT64_MAX, INT64_MAX);
	while ((ret = ctf_reader_next(reader, &item)) > 0) {
		struct gap gap = {item.trace->index, item.begin_ns, item.ns, 0};

		if ((item.kind != CTF_ITEM_DISCARDED && item.kind != CTF_ITEM_LOST_PACKETS) ||
				!item.timed)
			continue;
		ret = gaps_add(gaps, &gap);
		if (ret)
			break;
	}
	ctf_reader_close(reader);
	gaps_sort(gaps);
	return ret;
}

void gaps_free(struct gaps *gaps)
{
	free(gaps->spans);
}

bool gaps_overlap(const struct gaps *gaps, uint32_t trace, int64_t begin, int64_t end)
{
	const struct gap *spans = gaps->spans;
	/* The first gap that ends at `begin` or later. */
	size_t low = search_leading(i, gaps->count,
			spans[i].trace < trace ||
					(spans[i].trace == trace && spans[i].end < begin));

	return low < gaps->count && spans[low].trace == trace && spans[low].least_begin <= end;
}
