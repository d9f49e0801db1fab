/* SPDX-License-Identifier: MIT */
/* Reads the state of `side system`. */
#include "state.h"

#include "installation.h"
#include "preload-file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int system_state_examine(
		struct system_state *state, const char *line, size_t size, struct error *error)
{
	struct installation installation;
	int ret = installation_of_line(line, size, &installation, error);

	if (ret)
		return ret;
	state->line = strndup(line, size);
	if (asprintf(&state->file, "%s/libside-system.so", installation.directory) < 0)
		state->file = NULL;
	if (state->line && state->file) {
		state->exists = !access(state->file, R_OK);
		state->loads = !installation_check_loads(&installation, &state->problem);
	} else {
		ret = error_set_no_memory(error);
	}
	installation_free(&installation);
	return ret;
}

int system_state_read(struct system_state *ret_state, struct error *error)
{
	struct preload_file file;
	struct preload_line line;
	int ret = preload_file_read(&file, error);

	*ret_state = (struct system_state){.problem = {.kind = ERROR_NONE}};
	if (ret)
		return ret;
	ret_state->is_mixed = preload_file_is_mixed(&file);
	ret_state->is_on = preload_file_find(&file, 0, &line);
	if (ret_state->is_on)
		ret = system_state_examine(ret_state, file.text + line.at, line.size, error);
	preload_file_free(&file);
	if (ret)
		system_state_free(ret_state);
	return ret;
}

void system_state_free(struct system_state *state)
{
	free(state->line);
	free(state->file);
	state->line = state->file = NULL;
}
