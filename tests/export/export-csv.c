/* SPDX-License-Identifier: MIT */
/* Writes a trace as CSV to standard output, with the export library only: export-csv DIRECTORY */
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "export/export.h"

int main(int argc, char **argv)
{
	const struct export_options options = {.format = EXPORT_CSV};
	const struct analysis_listener listener = {.report = NULL};
	struct export export;
	struct error error;
	int ret;

	if (argc != 2)
		return 2;
	ret = export_prepare(&export, &options, argv[1], &listener, &error);
	if (!ret)
		ret = export_write(&export, STDOUT_FILENO, "to standard output", &error);
	export_free(&export);
	if (ret)
		fprintf(stderr, "export-csv: %s\n", error.text);
	return ret ? 1 : 0;
}
