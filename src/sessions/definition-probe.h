/* SPDX-License-Identifier: MIT */
/* Applies requests to the probes of a definition. */
#ifndef SIDE_SESSIONS_DEFINITION_PROBE_H
#define SIDE_SESSIONS_DEFINITION_PROBE_H

#include <stdbool.h>
#include <stddef.h>

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

/*
 * For a program that executes `file` (file_identity_of_process()) at the path `exe`. True if the
 * probe at this index must be requested for this path, because
 *
 *     it has no table yet: the file did not exist when it was requested;
 *     its table is for a former file at this path;
 *     the file is also at the path of the probe, such as by a hard link.
 */
bool definition_probe_is_missing(const struct definition *definition, size_t index, const char *exe,
		const char *file);

/*
 * True if the library of the probe may be this absolute path: its name begins like the one that the
 * user wrote. side-more decides. False for a probe without a library.
 */
bool definition_probe_may_name(const struct definition_probe *probe, const char *path);
/* True if the probe has one for this file of its library (NULL: for any file). */
bool definition_probe_is_loaded(const struct definition *definition,
		const struct definition_probe *probe, const char *file);

#endif /* SIDE_SESSIONS_DEFINITION_PROBE_H */
