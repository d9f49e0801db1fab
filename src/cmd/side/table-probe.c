/* SPDX-License-Identifier: MIT */
/* The verb `probe` in the table; its rules for texts stand in table.c. */
#include "table.h"

/* A table: laid out by hand. */
/* clang-format off */

const struct option table_probe_options[] = {
	{ .name = NULL },
};

const char *const table_probe_paragraphs[] = {
	"Lists the functions of a program or library that nobody instrumented, and says for each how a probe can be put at its "
	"begin. FILE is read and not run. PID is the number of a running process: the functions of all files that it has mapped "
	"are listed, with their addresses there; its memory is only read, and where it is not what its file says, that "
	"is said. GLOB selects functions by name, by any of their names; LIBRARY:GLOB only those of some files.",
	"METHOD is jump (five bytes are replaced by a jump), padding (the same, partly behind the end of a short function), short "
	"(two bytes are replaced by a jump to one nearby), punned (a jump, of which a part is what stands there), breakpoint "
	"(much slower), or none. What is no jump has its reason. BYTES is how many bytes of instructions are executed "
	"elsewhere.",
	"Functions are found in symbol tables, also the small one that some distributions leave in stripped files, and "
	"in the data with which exceptions find their way, which nearly all files have. A function without a name is shown by its address.",
	NULL,
};

const struct example table_probe_examples[] = {
	{ "side probe list ./server 'handle_*'", "See which functions of a program can be probed." },
	{ "side probe list 4711 'libc.so*:malloc'", "Look at one function of a running process." },
	{ "side probe list --json ./server | jq -r 'select(.reason) | [.function, .method, .reason] | @tsv'",
		"Say why some functions take no jump." },
	{ .command = NULL },
};

/* clang-format on */
