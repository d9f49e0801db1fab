/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_WRAPPER_FILE_H
#define SIDE_TRACERS_AGENT_CORE_WRAPPER_FILE_H

/*
 * The files of the wrapper libraries, which are installed beside the agent.
 *
 * Callers: start.c and wrappers.c. The second function may wait for the loader.
 */
#include "protocol/wrapper-state.h"

/* Note which file the agent was loaded from. Later calls do nothing. */
void agent_wrapper_file_begin(void);
/*
 * Loads the library of this wrapper. Returns the handle of dlopen(), or NULL with the reason in
 * `*ret_state`.
 */
void *agent_wrapper_file_load(const char *name, enum wrapper_state *ret_state);

#endif /* SIDE_TRACERS_AGENT_CORE_WRAPPER_FILE_H */
