/* SPDX-License-Identifier: MIT */
/*
 * Whether the dynamic loader has loaded the program: part of libside.a, which may be linked into
 * static programs.
 */
#include "base/environment/environment.h"

#include <link.h>
#include <stddef.h>

static int interpreter_is_named(struct dl_phdr_info *program, size_t size, void *unused)
{
	(void)size;
	(void)unused;
	for (unsigned int i = 0; i < program->dlpi_phnum; i++)
		if (program->dlpi_phdr[i].p_type == PT_INTERP)
			return 1;
	return -1; /* the program is the first object; end the walk */
}

bool environment_has_interpreter(void)
{
	return dl_iterate_phdr(interpreter_is_named, NULL) > 0;
}
