/* SPDX-License-Identifier: MIT */
/*
 * Messages as bytes. The structures below are what stands in a packet; the encoders and decoders
 * copy them in and out, so packets need no alignment. A decoder accepts a message only if it is what
 * its encoder would have written: sizes agree, reserved words are zero, strings end where they say.
 */
#include "wire/wire.h"

#include <errno.h>
#include <string.h>

#define PROCNAME_MAX 256
#define EXE_MAX 4096
#define REASON_MAX 2048

struct hello_body {
	uint32_t pid, parent;
	uint64_t token, parent_token;
	uint32_t word_size, features;
	uint32_t procname_size, exe_size; /* with their NULs */
};

struct config_body {
	uint32_t accepted, flags;
	uint32_t instance, clock;
	uint64_t ring_memory;
	uint32_t max_events, max_description;
	uint32_t max_payload, nr_patterns;
	uint32_t reason_size, patterns_size;
};

struct events_body {
	uint64_t token;
	uint32_t sequence, last;
	uint32_t size, reserved;
};

struct ack_body {
	uint32_t accepted, last;
	uint32_t nr_refused, reserved;
};

struct bye_body {
	uint64_t token;
};

_Static_assert(sizeof(struct wire_header) == 16, "the header is part of the protocol");
_Static_assert(sizeof(struct hello_body) == 40, "as on other word sizes");
_Static_assert(sizeof(struct config_body) == 48, "as on other word sizes");
_Static_assert(sizeof(struct events_body) == 24, "as on other word sizes");
_Static_assert(sizeof(struct wire_header) + sizeof(struct events_body) == WIRE_EVENTS_OVERHEAD,
		"what the public header promises");
_Static_assert(sizeof(struct wire_header) + sizeof(struct ack_body) +
						WIRE_ACK_REFUSALS_MAX *
								sizeof(struct wire_refused) <=
				WIRE_MESSAGE_MAX,
		"a full acknowledgement is one message");

/* One writer for all messages: header, fixed body, up to two runs of bytes. */
struct piece {
	const void *bytes;
	size_t size;
};

static ssize_t encode(void *message, size_t capacity, enum wire_type type,
		const struct piece *pieces, size_t nr_pieces)
{
	struct wire_header header = {.magic = WIRE_MAGIC,
			.version = WIRE_PROTOCOL_VERSION,
			.type = (uint16_t)type};
	size_t size = sizeof(header);
	size_t i;

	for (i = 0; i < nr_pieces; i++)
		size += pieces[i].size;
	if (size > capacity || size > WIRE_MESSAGE_MAX)
		return -EMSGSIZE;
	header.size = (uint32_t)size;
	memcpy(message, &header, sizeof(header));
	size = sizeof(header);
	for (i = 0; i < nr_pieces; i++) {
		if (pieces[i].size)
			memcpy((char *)message + size, pieces[i].bytes, pieces[i].size);
		size += pieces[i].size;
	}
	return (ssize_t)size;
}

/* Check the header, copy the body out, and say where the rest of the message is. */
static int decode(const void *message, size_t size, enum wire_type type, void *body,
		size_t body_size, const char **rest, size_t *rest_size)
{
	int found = wire_message_type(message, size);

	if (found < 0)
		return found;
	if (found != (int)type || size - sizeof(struct wire_header) < body_size)
		return -EPROTO;
	memcpy(body, (const char *)message + sizeof(struct wire_header), body_size);
	*rest = (const char *)message + sizeof(struct wire_header) + body_size;
	*rest_size = size - sizeof(struct wire_header) - body_size;
	return 0;
}

/* `size` bytes that are one string with its only NUL at the end. */
static bool is_string(const char *bytes, size_t size)
{
	return size > 0 && memchr(bytes, 0, size) == bytes + size - 1;
}

int wire_message_type(const void *message, size_t size)
{
	struct wire_header header;

	if (size < sizeof(header) || size > WIRE_MESSAGE_MAX)
		return -EPROTO;
	memcpy(&header, message, sizeof(header));
	if (header.magic != WIRE_MAGIC)
		return -EPROTO;
	if (header.version != WIRE_PROTOCOL_VERSION)
		return -EPROTONOSUPPORT;
	if (header.size != size || header.reserved)
		return -EPROTO;
	if (header.type < WIRE_HELLO || header.type > WIRE_BYE)
		return -EPROTO;
	return header.type;
}

ssize_t wire_encode_hello(void *message, size_t capacity, const struct wire_hello *hello)
{
	struct hello_body body = {
			.pid = hello->pid,
			.parent = hello->parent,
			.token = hello->token,
			.parent_token = hello->parent_token,
			.word_size = hello->word_size,
			.features = hello->features,
			.procname_size = (uint32_t)strlen(hello->procname) + 1,
			.exe_size = (uint32_t)strlen(hello->exe) + 1,
	};

	if (!hello->token || body.procname_size > PROCNAME_MAX || body.exe_size > EXE_MAX)
		return -EINVAL;
	return encode(message, capacity, WIRE_HELLO,
			(struct piece[]){{&body, sizeof(body)},
					{hello->procname, body.procname_size},
					{hello->exe, body.exe_size}},
			3);
}

int wire_decode_hello(const void *message, size_t size, struct wire_hello *hello)
{
	struct hello_body body;
	const char *rest;
	size_t rest_size;
	int ret = decode(message, size, WIRE_HELLO, &body, sizeof(body), &rest, &rest_size);

	if (ret)
		return ret;
	if (!body.token || (body.word_size != 4 && body.word_size != 8) ||
			body.procname_size > PROCNAME_MAX || body.exe_size > EXE_MAX ||
			body.procname_size + body.exe_size != rest_size)
		return -EPROTO;
	if (!is_string(rest, body.procname_size) ||
			!is_string(rest + body.procname_size, body.exe_size))
		return -EPROTO;
	*hello = (struct wire_hello){
			.pid = body.pid,
			.parent = body.parent,
			.token = body.token,
			.parent_token = body.parent_token,
			.word_size = body.word_size,
			.features = body.features,
			.procname = rest,
			.exe = rest + body.procname_size,
	};
	return 0;
}

/* Bytes of `nr` strings in a row that lie within `room`, or -1. */
static ssize_t strings_size(const char *strings, uint32_t nr, size_t room)
{
	size_t size = 0;
	uint32_t i;

	for (i = 0; i < nr; i++) {
		const char *end = memchr(strings + size, 0, room - size);

		if (!end)
			return -1;
		size = (size_t)(end - strings) + 1;
	}
	return (ssize_t)size;
}

ssize_t wire_encode_config(void *message, size_t capacity, const struct wire_config *config)
{
	const char *reason = config->reason ? config->reason : "";
	ssize_t patterns_size = 0;
	struct config_body body = {
			.accepted = config->accepted,
			.flags = config->flags,
			.instance = config->instance,
			.clock = config->clock,
			.ring_memory = config->ring_memory,
			.max_events = config->max_events,
			.max_description = config->max_description,
			.max_payload = config->max_payload,
			.nr_patterns = config->nr_patterns,
			.reason_size = (uint32_t)strlen(reason) + 1,
	};

	if (config->nr_patterns)
		patterns_size = strings_size(
				config->patterns, config->nr_patterns, WIRE_MESSAGE_MAX);
	if (patterns_size < 0 || config->nr_patterns > WIRE_PATTERNS_MAX)
		return -EMSGSIZE;
	if (body.reason_size > REASON_MAX)
		return -EINVAL;
	body.patterns_size = (uint32_t)patterns_size;
	return encode(message, capacity, WIRE_CONFIG,
			(struct piece[]){{&body, sizeof(body)}, {reason, body.reason_size},
					{config->patterns, body.patterns_size}},
			3);
}

int wire_decode_config(const void *message, size_t size, struct wire_config *config)
{
	struct config_body body;
	const char *rest;
	size_t rest_size;
	int ret = decode(message, size, WIRE_CONFIG, &body, sizeof(body), &rest, &rest_size);

	if (ret)
		return ret;
	if (body.accepted > 1 || body.reason_size > REASON_MAX || body.reason_size > rest_size ||
			body.patterns_size != rest_size - body.reason_size ||
			body.nr_patterns > WIRE_PATTERNS_MAX || !is_string(rest, body.reason_size))
		return -EPROTO;
	rest += body.reason_size;
	if (strings_size(rest, body.nr_patterns, body.patterns_size) != (ssize_t)body.patterns_size)
		return -EPROTO;
	*config = (struct wire_config){
			.accepted = body.accepted,
			.flags = body.flags,
			.instance = body.instance,
			.clock = body.clock,
			.ring_memory = body.ring_memory,
			.max_events = body.max_events,
			.max_description = body.max_description,
			.max_payload = body.max_payload,
			.nr_patterns = body.nr_patterns,
			.reason = rest - body.reason_size,
			.patterns = rest,
	};
	return 0;
}

ssize_t wire_encode_events(void *message, size_t capacity, const struct wire_events *events)
{
	struct events_body body = {
			.token = events->token,
			.sequence = events->sequence,
			.last = events->last,
			.size = events->size,
	};

	if (!events->token)
		return -EINVAL;
	return encode(message, capacity, WIRE_EVENTS,
			(struct piece[]){{&body, sizeof(body)}, {events->bytes, events->size}}, 2);
}

int wire_decode_events(const void *message, size_t size, struct wire_events *events)
{
	struct events_body body;
	const char *rest;
	size_t rest_size;
	int ret = decode(message, size, WIRE_EVENTS, &body, sizeof(body), &rest, &rest_size);

	if (ret)
		return ret;
	if (!body.token || body.last > 1 || body.reserved || body.size != rest_size)
		return -EPROTO;
	*events = (struct wire_events){
			.token = body.token,
			.sequence = body.sequence,
			.last = body.last,
			.bytes = rest,
			.size = body.size,
	};
	return 0;
}

ssize_t wire_encode_ack(void *message, size_t capacity, const struct wire_ack *ack)
{
	struct ack_body body = {
			.accepted = ack->accepted,
			.last = ack->last,
			.nr_refused = ack->nr_refused,
	};

	if (ack->nr_refused > WIRE_ACK_REFUSALS_MAX)
		return -EMSGSIZE;
	return encode(message, capacity, WIRE_ACK,
			(struct piece[]){{&body, sizeof(body)},
					{ack->refused,
							ack->nr_refused *
									sizeof(struct wire_refused)}},
			2);
}

struct wire_refused wire_ack_at(const struct wire_ack *ack, uint32_t index)
{
	struct wire_refused refused;

	memcpy(&refused, (const char *)ack->refused + index * sizeof(refused), sizeof(refused));
	return refused;
}

int wire_decode_ack(const void *message, size_t size, struct wire_ack *ack)
{
	struct ack_body body;
	const char *rest;
	size_t rest_size;
	uint32_t i;
	int ret = decode(message, size, WIRE_ACK, &body, sizeof(body), &rest, &rest_size);

	if (ret)
		return ret;
	if (body.last > 1 || body.reserved || body.nr_refused > WIRE_ACK_REFUSALS_MAX ||
			body.nr_refused * sizeof(struct wire_refused) != rest_size)
		return -EPROTO;
	*ack = (struct wire_ack){
			.accepted = body.accepted,
			.last = body.last,
			.nr_refused = body.nr_refused,
			.refused = (const struct wire_refused *)(const void *)rest,
	};
	for (i = 0; i < body.nr_refused; i++) {
		uint32_t reason = wire_ack_at(ack, i).reason;

		if (reason == WIRE_REFUSAL_NONE || reason >= WIRE_NR_REFUSALS)
			return -EPROTO;
	}
	return 0;
}

ssize_t wire_encode_bye(void *message, size_t capacity, const struct wire_bye *bye)
{
	struct bye_body body = {.token = bye->token};

	if (!bye->token)
		return -EINVAL;
	return encode(message, capacity, WIRE_BYE, (struct piece[]){{&body, sizeof(body)}}, 1);
}

int wire_decode_bye(const void *message, size_t size, struct wire_bye *bye)
{
	struct bye_body body;
	const char *rest;
	size_t rest_size;
	int ret = decode(message, size, WIRE_BYE, &body, sizeof(body), &rest, &rest_size);

	if (ret)
		return ret;
	if (!body.token || rest_size)
		return -EPROTO;
	*bye = (struct wire_bye){.token = body.token};
	return 0;
}

const char *wire_refusal_text(uint32_t refusal)
{
	static const char *const texts[WIRE_NR_REFUSALS] = {
			[WIRE_REFUSAL_NONE] = "not refused",
			[WIRE_REFUSAL_MALFORMED] = "its description is damaged",
			[WIRE_REFUSAL_UNSUPPORTED] = "it has a type that cannot be recorded",
			[WIRE_REFUSAL_TOO_LARGE] = "its description is too large",
			[WIRE_REFUSAL_TOO_MANY] = "the process has too many events",
			[WIRE_REFUSAL_DUPLICATE_ID] = "its number is taken",
			[WIRE_REFUSAL_OUTPUT] = "the trace's metadata could not be written",
	};

	return refusal < WIRE_NR_REFUSALS ? texts[refusal] : "unknown reason";
}
