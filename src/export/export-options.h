/* SPDX-License-Identifier: MIT */
/* What is exported, and how. Texts belong to the caller and live as long as the export. */
#ifndef SIDE_EXPORT_EXPORT_OPTIONS_H
#define SIDE_EXPORT_EXPORT_OPTIONS_H

#include <stdbool.h>

#include "analysis/view-time.h"
#include "base/text-list.h"

enum export_format {
	EXPORT_PERFETTO,
	EXPORT_CHROME,
	EXPORT_CSV,
	EXPORT_JSONL,
	EXPORT_CTF1,
	EXPORT_CTF2,
};

struct export_options {
	struct text_list patterns;
	const char *filter;
	struct time_range times;
	int format; /* enum export_format */
	const char *output;
	struct text_list pairs;
	const char *key;
	bool across;
};

#endif /* SIDE_EXPORT_EXPORT_OPTIONS_H */
