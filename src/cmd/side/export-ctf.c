/* SPDX-License-Identifier: MIT */
#include "cmd/side/export.h"
#include "cmd/side/say.h"
int export_ctf(const struct export_options *options, const char *dir)
{
	(void)options;
	return say_error(COMMAND_FAILED, NULL, "cannot export %s", dir);
}
