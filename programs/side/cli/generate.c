/* SPDX-License-Identifier: MIT */
/*
 * Writes one manual page, one page of the reference, or the completions of one shell to a file.
 * Runs at build time.
 */
#include "programs/common/command.h"

#include <string.h>

int main(int argc, char **argv)
{
	FILE *out;
	int result = 0;

	if (argc != 3) {
		fprintf(stderr, "usage: side-generate bash|zsh|PAGE|reference|reference/PAGE FILE\n");
		return 2;
	}
	out = fopen(argv[2], "w");
	if (!out) {
		perror(argv[2]);
		return 1;
	}
	if (!strcmp(argv[1], "bash"))
		complete_print_bash(out);
	else if (!strcmp(argv[1], "zsh"))
		complete_print_zsh(out);
	else if (!strcmp(argv[1], "reference"))
		markdown_print_names(out);
	else if (!strncmp(argv[1], "reference/", 10))
		result = markdown_print(out, argv[1] + 10);
	else
		result = manual_print(out, argv[1]);
	if (result)
		fprintf(stderr, "side-generate: unknown page %s\n", argv[1]);
	if (fclose(out)) {
		perror(argv[2]);
		return 1;
	}
	return result ? 1 : 0;
}
