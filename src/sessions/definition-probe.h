/* SPDX-License-Identifier: MIT */
/* Applies requests to the probes of a definition. */
#ifndef SIDE_SESSIONS_DEFINITION_PROBE_H
#define SIDE_SESSIONS_DEFINITION_PROBE_H

#include <stdbool.h>

#include "sessions/definition-edit.h"

/* Functions return 0, or a negative errno with change->error filled in. */

/* Apply enable-probe and disable-probe. */
int change_enable_probe(struct definition_edit *change);
int change_disable_probe(struct definition_edit *change);
/*
 * Removes the channel's probes whose events match the pattern, with the rules for these events.
 * Sets *ret_named if the pattern is the name of one of these events; then nothing else must be
 * disabled.
 */
int change_drop_probes(struct definition_edit *change, const struct definition_channel *channel,
		const char *pattern, bool *ret_named);
/* Removes all probes of a channel that is disabled. */
void change_drop_all_probes(
		struct definition_edit *change, const struct definition_channel *channel);

#endif /* SIDE_SESSIONS_DEFINITION_PROBE_H */
