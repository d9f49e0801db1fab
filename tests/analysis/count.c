/* SPDX-License-Identifier: MIT */
/* Counts the events of a trace by name, with the analysis library only: count DIRECTORY */
#include <stdio.h>
#include <stdlib.h>

#include "analysis/report.h"
#include "base/error.h"

int main(int argc, char **argv)
{
	const struct report_options options = {.counts = true};
	const struct analysis_listener listener = {.report = NULL};
	struct report report = {.options = NULL};
	struct error error;
	uint32_t *order;
	int ret;

	if (argc != 2)
		return 2;
	ret = report_prepare(&report, &options, argv[1], &listener, &error);
	if (!ret)
		ret = report_open(&report, &error);
	if (!ret)
		ret = report_read(&report, &error);
	order = ret ? NULL : report_row_order(&report);
	for (uint32_t i = 0; order && i < report.row_keys.count; i++) {
		const struct report_row *row = &report.rows[order[i]];

		printf("%llu %s\n", (unsigned long long)row->count,
				(const char *)report.names.entries[row->name].bytes);
	}
	free(order);
	report_free(&report);
	if (ret)
		fprintf(stderr, "count: %s\n", error.text);
	return ret ? 1 : 0;
}
