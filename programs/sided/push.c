/* SPDX-License-Identifier: MIT */
/*
 * Sends new rules with the notification of a change, so that a change costs each program one
 * message in and one out.
 *
 * When a session's process has changed its rules, its answer contains the messages that it would
 * send to every program that asks. The daemon stores them, and appends them to WELCOME for programs
 * that have the previous rules:
 *
 *   reported  programs that have confirmed all of a WELCOME with this serial, or a later one, have
 *             the session's current generation
 *   since     the same for the previous generation, to which the stored messages apply
 *
 * So a program gets no rules and asks the session if it is new, if it has failed to apply a change,
 * or if it has missed two changes. All programs ask if they need different rules (tracking), or if
 * the process of the session was restarted: then the answer contains no messages, and the daemon
 * discards the stored ones.
 */
#include <stdlib.h>
#include <string.h>

#include "recorder/core/live.h"
#include "sided.h"
#include "protocol/protocol.h"

#define RULES "rules"

/* ---- in the session's process ---- */

/* If the messages do not fit, programs ask, as they would without this function. */
void push_put(struct session *session, struct json_object *answer)
{
	static const char digits[] = "0123456789abcdef";
	static unsigned char bytes[WIRE_PUSH_MAX];
	static char text[2 * WIRE_PUSH_MAX + 1];
	size_t size = session_take_messages(session, bytes, sizeof(bytes)), i;

	for (i = 0; i < size; i++) {
		text[2 * i] = digits[bytes[i] >> 4];
		text[2 * i + 1] = digits[bytes[i] & 15];
	}
	text[2 * size] = 0;
	if (size)
		json_put_text(answer, RULES, text);
}

/* ---- in the daemon ---- */

static int sided_push_parse_digit(char of)
{
	if (of >= '0' && of <= '9')
		return of - '0';
	return of >= 'a' && of <= 'f' ? of - 'a' + 10 : -1;
}

/* Returns NULL if the text is invalid, or if out of memory. */
static unsigned char *sided_push_read_bytes(const char *text, size_t *ret_size)
{
	size_t length = strlen(text), i;
	unsigned char *bytes = length && !(length & 1) && length <= 2 * (size_t)WIRE_PUSH_MAX
			? malloc(length / 2)
			: NULL;

	for (i = 0; bytes && i < length / 2; i++) {
		int high = sided_push_parse_digit(text[2 * i]),
		    low = sided_push_parse_digit(text[2 * i + 1]);

		if (high < 0 || low < 0) {
			free(bytes);
			return NULL;
		}
		bytes[i] = (unsigned char)(high << 4 | low);
	}
	*ret_size = length / 2;
	return bytes;
}

void push_forget(const struct daemon *daemon, struct session_entry *entry)
{
	free(entry->push.bytes);
	entry->push = (struct push){.reported = daemon->serial + 1};
}

void push_take(const struct daemon *daemon, struct session_entry *entry, uint64_t before,
		struct json_object *answer)
{
	struct push push = {.base = before, .since = entry->push.reported};
	struct json_object *text;

	if (entry->generation == before)
		return;
	push_forget(daemon, entry);
	if (!json_object_object_get_ex(answer, RULES, &text) ||
			!json_object_is_type(text, json_type_string))
		return;
	push.reported = entry->push.reported;
	push.bytes = sided_push_read_bytes(json_object_get_string(text), &push.size);
	if (push.bytes)
		entry->push = push;
	/* The remaining answer is sent to the command line. */
	json_object_object_del(answer, RULES);
}

size_t push_add(const struct session_entry *entry, const struct sided_program *program,
		uint32_t index, char *message, size_t capacity)
{
	const struct wire_push push = {
			.base = entry->push.base,
			.session = index,
			.size = (uint32_t)entry->push.size,
			.messages = entry->push.bytes,
	};
	ssize_t size;

	if (!push.messages || !program || program->known < entry->push.since ||
			program->known >= entry->push.reported)
		return 0;
	size = wire_encode_push(message, capacity, &push);
	return size > 0 ? (size_t)size : 0;
}
