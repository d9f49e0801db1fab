/* SPDX-License-Identifier: MIT */
/*
 * Encodes and decodes messages.
 *
 * The structures below are the layout of a packet; encoders and decoders copy them, so packets need
 * no alignment. A decoder accepts a message only if its encoder would have written the same bytes:
 * sizes match, reserved words are zero, strings end where their sizes require.
 */
#include "protocol/message.h"

#include <errno.h>
#include <string.h>

struct hello_body {
	uint32_t pid, parent;
	uint64_t token, parent_token;
	uint32_t word_size, features;
	uint32_t control, control_signal;
	uint32_t procname_size, exe_size; /* with their NULs */
};

struct config_body {
	uint32_t accepted, flags;
	uint32_t instance, clock;
	uint32_t max_events, max_description;
	uint32_t max_payload, nr_channels;
	uint32_t reason_size, nr_tables;
	uint64_t frequency;
	int64_t offset_s;
	uint64_t offset;
	uint64_t generation, statedump;
};

struct channel_body {
	uint64_t ring_memory;
	uint32_t index, nr_rules;
	uint32_t nr_contexts, name_size;
	uint32_t contexts_size, reserved;
};

struct rule_body {
	uint32_t channel, filter_size;
	uint32_t nr_patterns, nr_contexts;
	uint32_t patterns_size, contexts_size;
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

struct unrecorded_body {
	uint32_t reason, name_size; /* with its NUL */
	uint32_t elapsed_ms, reserved;
};

_Static_assert(sizeof(struct wire_header) == 16, "the header is part of the protocol");
_Static_assert(sizeof(struct hello_body) == 48, "as on other word sizes");
_Static_assert(sizeof(struct config_body) == 80, "as on other word sizes");
_Static_assert(sizeof(struct channel_body) == 32, "as on other word sizes");
_Static_assert(sizeof(struct rule_body) == 24, "as on other word sizes");
_Static_assert(sizeof(struct wire_event_head) == 16, "as on other word sizes");
_Static_assert(sizeof(struct events_body) == 24, "as on other word sizes");
_Static_assert(sizeof(struct wire_header) + sizeof(struct events_body) == WIRE_EVENTS_OVERHEAD,
		"what the public header promises");
_Static_assert(sizeof(struct wire_header) + sizeof(struct ack_body) +
						WIRE_ACK_REFUSALS_MAX *
								sizeof(struct wire_refused) <=
				WIRE_MESSAGE_MAX,
		"a full acknowledgement is one message");

/* Write a message: header, fixed body, and runs of bytes. Returns its size or a negative errno. */
ssize_t message_encode(void *message, size_t capacity, enum wire_type type,
		const struct message_piece *pieces, size_t nr_pieces)
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

/* Check the header, copy the body, and set *ret_remainder to the bytes behind it. */
int message_decode(const void *message, size_t size, enum wire_type type, void *body,
		size_t body_size, const char **ret_remainder, size_t *ret_remainder_size)
{
	int found = wire_message_type(message, size);

	if (found < 0)
		return found;
	if (found != (int)type || size - sizeof(struct wire_header) < body_size)
		return -EPROTO;
	memcpy(body, (const char *)message + sizeof(struct wire_header), body_size);
	*ret_remainder = (const char *)message + sizeof(struct wire_header) + body_size;
	*ret_remainder_size = size - sizeof(struct wire_header) - body_size;
	return 0;
}

/* True if the `size` bytes are one string with its only NUL at the end. */
bool message_is_string(const char *bytes, size_t size)
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
	if (header.type < WIRE_HELLO || header.type > WIRE_LOADED)
		return -EPROTO;
	return header.type;
}

unsigned int wire_message_version(const void *message, size_t size)
{
	struct wire_header header;

	if (size < sizeof(header))
		return 0;
	memcpy(&header, message, sizeof(header));
	return header.magic == WIRE_MAGIC ? header.version : 0;
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
			.control = hello->control,
			.control_signal = hello->control_signal,
			.procname_size = (uint32_t)strlen(hello->procname) + 1,
			.exe_size = (uint32_t)strlen(hello->exe) + 1,
	};

	if (!hello->token || !message_control_valid(hello->control, hello->control_signal) ||
			body.procname_size > MESSAGE_PROCNAME_MAX ||
			body.exe_size > MESSAGE_EXE_MAX)
		return -EINVAL;
	return message_encode(message, capacity, WIRE_HELLO,
			(struct message_piece[]){{&body, sizeof(body)},
					{hello->procname, body.procname_size},
					{hello->exe, body.exe_size}},
			3);
}

int wire_decode_hello(const void *message, size_t size, struct wire_hello *ret_hello)
{
	struct hello_body body;
	const char *remainder;
	size_t remainder_size;
	int ret = message_decode(message, size, WIRE_HELLO, &body, sizeof(body), &remainder,
			&remainder_size);

	if (ret)
		return ret;
	if (!body.token || !message_control_valid(body.control, body.control_signal) ||
			(body.word_size != 4 && body.word_size != 8) ||
			body.procname_size > MESSAGE_PROCNAME_MAX ||
			body.exe_size > MESSAGE_EXE_MAX ||
			body.procname_size + body.exe_size != remainder_size)
		return -EPROTO;
	if (!message_is_string(remainder, body.procname_size) ||
			!message_is_string(remainder + body.procname_size, body.exe_size))
		return -EPROTO;
	*ret_hello = (struct wire_hello){
			.pid = body.pid,
			.parent = body.parent,
			.token = body.token,
			.parent_token = body.parent_token,
			.word_size = body.word_size,
			.features = body.features,
			.control = body.control,
			.control_signal = body.control_signal,
			.procname = remainder,
			.exe = remainder + body.procname_size,
	};
	return 0;
}

/* The size of `nr` consecutive strings within `capacity` bytes, or -1. */
static ssize_t strings_size(const char *strings, uint32_t nr, size_t capacity)
{
	size_t size = 0;
	uint32_t i;

	for (i = 0; i < nr; i++) {
		const char *end = memchr(strings + size, 0, capacity - size);

		if (!end)
			return -1;
		size = (size_t)(end - strings) + 1;
	}
	return (ssize_t)size;
}

bool wire_strings_valid(const char *strings, uint32_t nr, size_t size)
{
	return strings_size(strings, nr, size) == (ssize_t)size;
}

/* "Unchanged" must be an acceptance without channels. */
static bool is_unchanged_alone(bool accepted, uint32_t flags, uint32_t nr_channels)
{
	return !(flags & WIRE_CONFIG_UNCHANGED) || (accepted && !nr_channels);
}

/* Probes need a channel that records their events. */
static bool are_tables(uint32_t nr_tables, uint32_t nr_channels)
{
	return !nr_tables || (nr_channels && nr_tables <= WIRE_TABLES_MAX);
}

ssize_t wire_encode_config(void *message, size_t capacity, const struct wire_config *config)
{
	const char *reason = config->reason ? config->reason : "";
	struct config_body body = {
			.accepted = config->accepted,
			.flags = config->flags,
			.instance = config->instance,
			.clock = config->clock,
			.max_events = config->max_events,
			.max_description = config->max_description,
			.max_payload = config->max_payload,
			.nr_channels = config->nr_channels,
			.frequency = config->frequency,
			.offset_s = config->offset_s,
			.offset = config->offset,
			.generation = config->generation,
			.statedump = config->statedump,
			.nr_tables = config->nr_tables,
			.reason_size = (uint32_t)strlen(reason) + 1,
	};

	if (body.reason_size > MESSAGE_REASON_MAX || config->nr_channels > WIRE_CHANNELS_MAX ||
			!are_tables(config->nr_tables, config->nr_channels) ||
			!is_unchanged_alone(config->accepted, config->flags, config->nr_channels))
		return -EINVAL;
	return message_encode(message, capacity, WIRE_CONFIG,
			(struct message_piece[]){{&body, sizeof(body)}, {reason, body.reason_size}},
			2);
}

int wire_decode_config(const void *message, size_t size, struct wire_config *ret_config)
{
	struct config_body body;
	const char *remainder;
	size_t remainder_size;
	int ret = message_decode(message, size, WIRE_CONFIG, &body, sizeof(body), &remainder,
			&remainder_size);

	if (ret)
		return ret;
	if (body.accepted > 1 || body.nr_channels > WIRE_CHANNELS_MAX ||
			!are_tables(body.nr_tables, body.nr_channels) ||
			!is_unchanged_alone(body.accepted, body.flags, body.nr_channels) ||
			body.reason_size > MESSAGE_REASON_MAX ||
			body.reason_size != remainder_size ||
			!message_is_string(remainder, remainder_size))
		return -EPROTO;
	*ret_config = (struct wire_config){
			.accepted = body.accepted,
			.flags = body.flags,
			.instance = body.instance,
			.clock = body.clock,
			.max_events = body.max_events,
			.max_description = body.max_description,
			.max_payload = body.max_payload,
			.nr_channels = body.nr_channels,
			.nr_tables = body.nr_tables,
			.frequency = body.frequency,
			.offset_s = body.offset_s,
			.offset = body.offset,
			.generation = body.generation,
			.statedump = body.statedump,
			.reason = remainder,
	};
	return 0;
}

/* The name becomes the beginning of a file name. */
static bool wire_message_is_channel_name(const char *name, size_t size)
{
	static const char allowed[] =
			"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
	size_t i;

	if (size < 2 || size > WIRE_CHANNEL_NAME_MAX + 1 || !message_is_string(name, size))
		return false;
	for (i = 0; i < size - 1; i++)
		if (!memchr(allowed, name[i], sizeof(allowed) - 1))
			return false;
	return name[0] != '.' && name[0] != '-';
}

/* The size of strings to send, or -1. */
static ssize_t wire_strings_size(const char *strings, uint32_t nr, uint32_t max)
{
	if (!nr)
		return 0;
	return nr <= max && strings ? strings_size(strings, nr, WIRE_MESSAGE_MAX) : -1;
}

ssize_t wire_encode_channel(void *message, size_t capacity, const struct wire_channel *channel)
{
	ssize_t contexts_size = wire_strings_size(
			channel->contexts, channel->nr_contexts, WIRE_CONTEXTS_MAX);
	struct channel_body body = {
			.ring_memory = channel->ring_memory,
			.index = channel->index,
			.nr_rules = channel->nr_rules,
			.nr_contexts = channel->nr_contexts,
			.name_size = (uint32_t)strlen(channel->name) + 1,
			.contexts_size = (uint32_t)contexts_size,
	};

	if (contexts_size < 0)
		return -EMSGSIZE;
	if (channel->index >= WIRE_CHANNELS_MAX || channel->nr_rules > WIRE_RULES_MAX ||
			!wire_message_is_channel_name(channel->name, body.name_size))
		return -EINVAL;
	return message_encode(message, capacity, WIRE_CHANNEL,
			(struct message_piece[]){{&body, sizeof(body)},
					{channel->name, body.name_size},
					{channel->contexts, body.contexts_size}},
			3);
}

int wire_decode_channel(const void *message, size_t size, struct wire_channel *ret_channel)
{
	struct channel_body body;
	const char *remainder;
	size_t remainder_size;
	int ret = message_decode(message, size, WIRE_CHANNEL, &body, sizeof(body), &remainder,
			&remainder_size);

	if (ret)
		return ret;
	if (body.index >= WIRE_CHANNELS_MAX || body.nr_rules > WIRE_RULES_MAX ||
			body.nr_contexts > WIRE_CONTEXTS_MAX || body.reserved ||
			body.name_size > remainder_size ||
			body.contexts_size != remainder_size - body.name_size)
		return -EPROTO;
	if (!wire_message_is_channel_name(remainder, body.name_size) ||
			!wire_strings_valid(remainder + body.name_size, body.nr_contexts,
					body.contexts_size))
		return -EPROTO;
	*ret_channel = (struct wire_channel){
			.ring_memory = body.ring_memory,
			.index = body.index,
			.nr_rules = body.nr_rules,
			.nr_contexts = body.nr_contexts,
			.name = remainder,
			.contexts = remainder + body.name_size,
	};
	return 0;
}

ssize_t wire_encode_rule(void *message, size_t capacity, const struct wire_rule *rule)
{
	ssize_t patterns_size =
			wire_strings_size(rule->patterns, rule->nr_patterns, WIRE_PATTERNS_MAX);
	ssize_t contexts_size =
			wire_strings_size(rule->contexts, rule->nr_contexts, WIRE_CONTEXTS_MAX);
	struct rule_body body = {
			.channel = rule->channel,
			.filter_size = rule->filter_size,
			.nr_patterns = rule->nr_patterns,
			.nr_contexts = rule->nr_contexts,
			.patterns_size = (uint32_t)patterns_size,
			.contexts_size = (uint32_t)contexts_size,
	};

	if (patterns_size < 0 || contexts_size < 0)
		return -EMSGSIZE;
	if (rule->channel >= WIRE_CHANNELS_MAX)
		return -EINVAL;
	return message_encode(message, capacity, WIRE_RULE,
			(struct message_piece[]){{&body, sizeof(body)},
					{rule->patterns, body.patterns_size},
					{rule->contexts, body.contexts_size},
					{rule->filter, body.filter_size}},
			4);
}

int wire_decode_rule(const void *message, size_t size, struct wire_rule *ret_rule)
{
	struct rule_body body;
	const char *remainder;
	size_t remainder_size;
	int ret = message_decode(
			message, size, WIRE_RULE, &body, sizeof(body), &remainder, &remainder_size);

	if (ret)
		return ret;
	if (body.channel >= WIRE_CHANNELS_MAX || body.nr_patterns > WIRE_PATTERNS_MAX ||
			body.nr_contexts > WIRE_CONTEXTS_MAX ||
			body.patterns_size > remainder_size ||
			body.contexts_size > remainder_size - body.patterns_size ||
			body.filter_size !=
					remainder_size - body.patterns_size - body.contexts_size)
		return -EPROTO;
	if (!wire_strings_valid(remainder, body.nr_patterns, body.patterns_size) ||
			!wire_strings_valid(remainder + body.patterns_size, body.nr_contexts,
					body.contexts_size))
		return -EPROTO;
	*ret_rule = (struct wire_rule){
			.channel = body.channel,
			.nr_patterns = body.nr_patterns,
			.nr_contexts = body.nr_contexts,
			.filter_size = body.filter_size,
			.patterns = remainder,
			.contexts = remainder + body.patterns_size,
			.filter = remainder + body.patterns_size + body.contexts_size,
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
	return message_encode(message, capacity, WIRE_EVENTS,
			(struct message_piece[]){
					{&body, sizeof(body)}, {events->bytes, events->size}},
			2);
}

int wire_decode_events(const void *message, size_t size, struct wire_events *ret_events)
{
	struct events_body body;
	const char *remainder;
	size_t remainder_size;
	int ret = message_decode(message, size, WIRE_EVENTS, &body, sizeof(body), &remainder,
			&remainder_size);

	if (ret)
		return ret;
	if (!body.token || body.last > 1 || body.reserved || body.size != remainder_size)
		return -EPROTO;
	*ret_events = (struct wire_events){
			.token = body.token,
			.sequence = body.sequence,
			.last = body.last,
			.bytes = remainder,
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
	return message_encode(message, capacity, WIRE_ACK,
			(struct message_piece[]){{&body, sizeof(body)},
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

int wire_decode_ack(const void *message, size_t size, struct wire_ack *ret_ack)
{
	struct ack_body body;
	const char *remainder;
	size_t remainder_size;
	uint32_t i;
	int ret = message_decode(
			message, size, WIRE_ACK, &body, sizeof(body), &remainder, &remainder_size);

	if (ret)
		return ret;
	if (body.last > 1 || body.reserved || body.nr_refused > WIRE_ACK_REFUSALS_MAX ||
			body.nr_refused * sizeof(struct wire_refused) != remainder_size)
		return -EPROTO;
	*ret_ack = (struct wire_ack){
			.accepted = body.accepted,
			.last = body.last,
			.nr_refused = body.nr_refused,
			.refused = (const struct wire_refused *)(const void *)remainder,
	};
	for (i = 0; i < body.nr_refused; i++) {
		unsigned int reason = wire_ack_at(ret_ack, i).reason;

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
	return message_encode(message, capacity, WIRE_BYE,
			(struct message_piece[]){{&body, sizeof(body)}}, 1);
}

int wire_decode_bye(const void *message, size_t size, struct wire_bye *ret_bye)
{
	struct bye_body body;
	const char *remainder;
	size_t remainder_size;
	int ret = message_decode(
			message, size, WIRE_BYE, &body, sizeof(body), &remainder, &remainder_size);

	if (ret)
		return ret;
	if (!body.token || remainder_size)
		return -EPROTO;
	*ret_bye = (struct wire_bye){.token = body.token};
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
			[WIRE_REFUSAL_DUPLICATE_ID] = "its id is already used",
			[WIRE_REFUSAL_OUTPUT] =
					"the recorder could not write the metadata of the trace",
			[WIRE_REFUSAL_CHANNEL] = "its channel does not exist",
			[WIRE_REFUSAL_CONTEXT] = "one of its contexts is unknown",
			[WIRE_REFUSAL_MEMORY] = "the recorder is out of memory",
	};

	return refusal < WIRE_NR_REFUSALS ? texts[refusal] : "unknown reason";
}

ssize_t wire_encode_unrecorded(
		void *message, size_t capacity, const struct wire_unrecorded *unrecorded)
{
	struct unrecorded_body body = {
			.reason = unrecorded->reason,
			.name_size = (uint32_t)strlen(unrecorded->name) + 1,
			.elapsed_ms = unrecorded->elapsed_ms,
	};

	return message_encode(message, capacity, WIRE_UNRECORDED,
			(struct message_piece[]){
					{&body, sizeof(body)}, {unrecorded->name, body.name_size}},
			2);
}

int wire_decode_unrecorded(const void *message, size_t size, struct wire_unrecorded *ret_unrecorded)
{
	struct unrecorded_body body;
	const char *remainder;
	size_t remainder_size;
	int ret = message_decode(message, size, WIRE_UNRECORDED, &body, sizeof(body), &remainder,
			&remainder_size);

	if (ret)
		return ret;
	if (!body.reason || body.reserved || body.name_size != remainder_size ||
			!message_is_string(remainder, remainder_size))
		return -EPROTO;
	*ret_unrecorded = (struct wire_unrecorded){
			.reason = body.reason, .elapsed_ms = body.elapsed_ms, .name = remainder};
	return 0;
}
