/* SPDX-License-Identifier: MIT */
#ifndef SIDE_SESSIONS_DEFINITION_H
#define SIDE_SESSIONS_DEFINITION_H

/*
 * The definition of a session as data: its channels and rules, the processes that it tracks, the
 * directory of its traces. The daemon stores it in a file and sends it to the process that records;
 * `side save` and `side load` print and read it. docs/spec/control-protocol.md describes its JSON
 * form; members have the names of the command line's options.
 *
 *     definition_parse() -> definition_options() -> session_open()
 *
 * Input is not trusted: definition_parse() and the functions that change a definition accept
 * exactly what a session would accept, and change nothing on an error.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sessions/definition-json.h"
#include "sessions/definition-memory.h"
#include "sessions/definition-types.h"
#include "base/error.h"

/* Default limit of local files in a directory that the daemon has chosen only for sending. */
#define DEFINITION_SPOOL_STANDARD (UINT64_C(1) << 30)
#define DEFINITION_SEND_TIMEOUT_STANDARD_NS UINT64_C(60000000000)

/* True if local traces are kept only until they are sent. */
static inline bool definition_is_spooled(const struct definition *definition)
{
	return definition->to && !definition->output;
}

/* All of these functions return 0, or a negative errno with *error filled in. */

int definition_copy(
		const struct definition *from, struct definition **ret_copy, struct error *error);

/*
 * Checks that a session would accept the whole definition: patterns, filters, contexts, sizes,
 * number of rules. Uses the same code as the start of `side record`.
 */
int definition_check(const struct definition *definition, struct error *error);

/*
 * The form for the session library. Its pointers refer to *view and to the definition;
 * definition_view_free() frees `view`.
 */
struct definition_view {
	struct session_options options;
	struct session_channel *channels; /* options.channels */
	struct session_rule **rules;      /* of each channel */
};
int definition_options(const struct definition *definition, struct definition_view *ret_view,
		struct error *error);
void definition_view_free(struct definition_view *view);

#endif
