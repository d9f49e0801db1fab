/* SPDX-License-Identifier: MIT */
/*
 * The table of functions of a copy of libside, and the note that leads to it (copies.h).
 *
 * Part of libside.a only. libside.map generates static-functions.h.
 */
#include "copies.h"

#include "export.h"
#include "functions.h"

/* Called by libraries that use this copy already. */
EXPORT void side_tracer_bind(void) {}

#define EACH(function) extern const char copy_##function[] __asm__(#function);
#include "static-functions.h"
#undef EACH

static const struct copy_function functions[] = {
#define EACH(function) {#function, copy_##function},
#include "static-functions.h"
#undef EACH
};

extern const struct copy_table copy_table __asm__("side_copy_table");
__attribute__((visibility("hidden"))) const struct copy_table copy_table = {
		.version = COPY_TABLE_VERSION,
		.count = sizeof(functions) / sizeof(*functions),
		.functions = functions,
};

/* Owner, type, and struct copy_note. */
__asm__(".pushsection .note.side, \"a\", @note\n\t"
	".balign 4\n\t"
	".long 5, 8, 1\n\t"
	".asciz \"SIDE\"\n\t"
	".balign 4\n\t"
	".long 1\n\t"
	".long side_copy_table - .\n\t"
	".popsection");
_Static_assert(COPY_NOTE_TYPE == 1 && COPY_TABLE_VERSION == 1 && sizeof(COPY_NOTE_OWNER) == 5 &&
				sizeof(struct copy_note) == 8,
		"the note is written as copies.h describes it");
