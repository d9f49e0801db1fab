/* SPDX-License-Identifier: MIT */
/* A request while it is applied to a definition, its channel, and its rule. */
#ifndef SIDE_SESSIONS_DEFINITION_EDIT_H
#define SIDE_SESSIONS_DEFINITION_EDIT_H

#include <stdbool.h>

#include "base/error.h"
#include "sessions/definition-types.h"

struct json_object;

struct definition_edit {
	struct definition *definition; /* the copy that is changed */
	struct json_object *request;
	bool fixed;
	bool changed;
	struct error *error;
};

/* Functions return 0, or a negative errno with change->error filled in. */

/* Gets the name of the channel that the request names, or of the default channel. */
int change_get_channel_name(struct definition_edit *change, const char **ret_name);
/* Gets the channel that the request names. */
int change_get_channel(struct definition_edit *change, struct definition_channel **ret_channel);
/* Appends a rule made from the request. */
int change_add_rule(struct definition_edit *change, struct definition_channel *channel);
/* Applies enable-event: gets the channel, or creates it if permitted, and adds a rule. */
int change_enable_rule(struct definition_edit *change, struct definition_channel **ret_channel);

#endif /* SIDE_SESSIONS_DEFINITION_EDIT_H */
