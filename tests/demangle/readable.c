/* SPDX-License-Identifier: MIT */
/* Reads symbols, one a line, and prints them demangled; other texts are printed unchanged. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/demangle.h"

int main(void)
{
	char *line = NULL;
	size_t capacity = 0;

	while (getline(&line, &capacity, stdin) > 0) {
		char *name;

		line[strcspn(line, "\n")] = '\0';
		name = names_readable(line);
		puts(name ? name : line);
		free(name);
	}
	free(line);
	return 0;
}
