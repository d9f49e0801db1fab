/* SPDX-License-Identifier: MIT */
/*
 * Encodes and decodes the messages about sessions that change, begin and end: with a session
 * (REFRESH) and with the daemon (ARRIVE, WELCOME, PUSH, DONE, PASS). As strict as message.c.
 */
#include "protocol/message.h"

#include <errno.h>
#include <string.h>

struct refresh_body {
	uint64_t token, generation;
};

struct arrive_body {
	uint32_t pid, control;
	uint32_t control_signal, flags;
	uint64_t token, parent_token;
	uint32_t procname_size, exe_size; /* with their NULs */
};

struct welcome_body {
	uint64_t serial;
	uint32_t accepted, nr_sessions;
	uint32_t sessions_size, reason_size;
};

struct push_body {
	uint64_t base;
	uint32_t session, size;
};

struct pass_body {
	uint32_t path_size, reserved; /* with its NUL */
};

struct done_body {
	uint64_t token, serial;
	uint32_t state, reserved;
};

_Static_assert(sizeof(struct refresh_body) == 16, "as on other word sizes");
_Static_assert(sizeof(struct arrive_body) == 40, "as on other word sizes");
_Static_assert(sizeof(struct welcome_body) == 24, "as on other word sizes");
_Static_assert(sizeof(struct push_body) == 16, "as on other word sizes");
_Static_assert(sizeof(struct pass_body) == 8, "as on other word sizes");
_Static_assert(sizeof(struct done_body) == 24, "as on other word sizes");

/* Only the mode that uses a signal has a signal number. */
bool message_control_valid(uint32_t control, uint32_t signal)
{
	if (control >= WIRE_NR_CONTROLS || signal > WIRE_SIGNAL_MAX)
		return false;
	return (control == WIRE_CONTROL_SIGNAL) == (signal != 0);
}

ssize_t wire_encode_refresh(void *message, size_t capacity, const struct wire_refresh *refresh)
{
	struct refresh_body body = {.token = refresh->token, .generation = refresh->generation};

	if (!refresh->token)
		return -EINVAL;
	return message_encode(message, capacity, WIRE_REFRESH,
			(struct message_piece[]){{&body, sizeof(body)}}, 1);
}

int wire_decode_refresh(const void *message, size_t size, struct wire_refresh *ret_refresh)
{
	struct refresh_body body;
	const char *remainder;
	size_t remainder_size;
	int ret = message_decode(message, size, WIRE_REFRESH, &body, sizeof(body), &remainder,
			&remainder_size);

	if (ret)
		return ret;
	if (!body.token || remainder_size)
		return -EPROTO;
	*ret_refresh = (struct wire_refresh){.token = body.token, .generation = body.generation};
	return 0;
}

ssize_t wire_encode_arrive(void *message, size_t capacity, const struct wire_arrive *arrive)
{
	struct arrive_body body = {
			.pid = arrive->pid,
			.control = arrive->control,
			.control_signal = arrive->control_signal,
			.flags = arrive->flags,
			.token = arrive->token,
			.parent_token = arrive->parent_token,
			.procname_size = (uint32_t)strlen(arrive->procname) + 1,
			.exe_size = (uint32_t)strlen(arrive->exe) + 1,
	};

	if (!arrive->token || !message_control_valid(arrive->control, arrive->control_signal) ||
			body.procname_size > MESSAGE_PROCNAME_MAX ||
			body.exe_size > MESSAGE_EXE_MAX)
		return -EINVAL;
	return message_encode(message, capacity, WIRE_ARRIVE,
			(struct message_piece[]){{&body, sizeof(body)},
					{arrive->procname, body.procname_size},
					{arrive->exe, body.exe_size}},
			3);
}

int wire_decode_arrive(const void *message, size_t size, struct wire_arrive *ret_arrive)
{
	struct arrive_body body;
	const char *remainder;
	size_t remainder_size;
	int ret = message_decode(message, size, WIRE_ARRIVE, &body, sizeof(body), &remainder,
			&remainder_size);

	if (ret)
		return ret;
	if (!body.token || !message_control_valid(body.control, body.control_signal) ||
			body.procname_size > MESSAGE_PROCNAME_MAX ||
			body.exe_size > MESSAGE_EXE_MAX ||
			body.procname_size + body.exe_size != remainder_size)
		return -EPROTO;
	if (!message_is_string(remainder, body.procname_size) ||
			!message_is_string(remainder + body.procname_size, body.exe_size))
		return -EPROTO;
	*ret_arrive = (struct wire_arrive){
			.pid = body.pid,
			.control = body.control,
			.control_signal = body.control_signal,
			.flags = body.flags,
			.token = body.token,
			.parent_token = body.parent_token,
			.procname = remainder,
			.exe = remainder + body.procname_size,
	};
	return 0;
}

/* ---- WELCOME ---- */

/* The size of the session at the beginning of `capacity` bytes, or 0: there is none. */
static size_t session_size(const char *bytes, size_t capacity)
{
	const char *path = bytes + sizeof(uint64_t);
	const char *end;

	if (capacity <= sizeof(uint64_t) || *path != '/')
		return 0;
	end = memchr(path, 0, capacity - sizeof(uint64_t));
	if (!end || end - path > WIRE_SESSION_PATH_MAX)
		return 0;
	return (size_t)(end - bytes) + 1;
}

static bool sessions_valid(const char *bytes, uint32_t nr, size_t size)
{
	size_t at = 0;
	uint32_t i;

	if (nr > WIRE_WELCOME_MAX)
		return false;
	for (i = 0; i < nr; i++) {
		size_t one = session_size(bytes + at, size - at);

		if (!one)
			return false;
		at += one;
	}
	return at == size;
}

int wire_welcome_add(struct wire_welcome *welcome, void *sessions, size_t capacity,
		const struct wire_welcome_session *session)
{
	size_t length = strlen(session->path), size = sizeof(uint64_t) + length + 1;
	char *to = (char *)sessions + welcome->sessions_size;

	if (session->path[0] != '/' || length > WIRE_SESSION_PATH_MAX)
		return -EINVAL;
	if (welcome->nr_sessions >= WIRE_WELCOME_MAX || size > capacity - welcome->sessions_size)
		return -EMSGSIZE;
	memcpy(to, &session->generation, sizeof(uint64_t));
	memcpy(to + sizeof(uint64_t), session->path, length + 1);
	welcome->sessions = sessions;
	welcome->sessions_size += (uint32_t)size;
	welcome->nr_sessions++;
	return 0;
}

bool wire_welcome_next(const struct wire_welcome *welcome, size_t *at,
		struct wire_welcome_session *ret_session)
{
	const char *bytes = (const char *)welcome->sessions + *at;
	size_t size;

	if (*at >= welcome->sessions_size)
		return false;
	size = session_size(bytes, welcome->sessions_size - *at);
	if (!size)
		return false;
	memcpy(&ret_session->generation, bytes, sizeof(uint64_t));
	ret_session->path = bytes + sizeof(uint64_t);
	*at += size;
	return true;
}

ssize_t wire_encode_welcome(void *message, size_t capacity, const struct wire_welcome *welcome)
{
	const char *reason = welcome->reason ? welcome->reason : "";
	struct welcome_body body = {
			.serial = welcome->serial,
			.accepted = welcome->accepted,
			.nr_sessions = welcome->nr_sessions,
			.sessions_size = welcome->sessions_size,
			.reason_size = (uint32_t)strlen(reason) + 1,
	};

	if (body.reason_size > MESSAGE_REASON_MAX ||
			!sessions_valid(welcome->sessions, body.nr_sessions, body.sessions_size))
		return -EINVAL;
	return message_encode(message, capacity, WIRE_WELCOME,
			(struct message_piece[]){{&body, sizeof(body)},
					{welcome->sessions, body.sessions_size},
					{reason, body.reason_size}},
			3);
}

int wire_decode_welcome(const void *message, size_t size, struct wire_welcome *ret_welcome)
{
	struct welcome_body body;
	const char *remainder;
	size_t remainder_size;
	int ret = message_decode(message, size, WIRE_WELCOME, &body, sizeof(body), &remainder,
			&remainder_size);

	if (ret)
		return ret;
	if (body.accepted > 1 || body.reason_size > MESSAGE_REASON_MAX ||
			body.sessions_size > remainder_size ||
			body.reason_size != remainder_size - body.sessions_size)
		return -EPROTO;
	if (!sessions_valid(remainder, body.nr_sessions, body.sessions_size) ||
			!message_is_string(remainder + body.sessions_size, body.reason_size))
		return -EPROTO;
	*ret_welcome = (struct wire_welcome){
			.accepted = body.accepted,
			.serial = body.serial,
			.nr_sessions = body.nr_sessions,
			.sessions_size = body.sessions_size,
			.sessions = remainder,
			.reason = remainder + body.sessions_size,
	};
	return 0;
}

/* ---- PUSH ---- */

size_t wire_next(const void *bytes, size_t size)
{
	struct wire_header header;

	if (size < sizeof(header))
		return 0;
	memcpy(&header, bytes, sizeof(header));
	return header.size >= sizeof(header) && header.size <= size ? header.size : 0;
}

/* True for complete messages and nothing behind them. Their contents are checked when they are
   used. */
static bool pushed_valid(const char *bytes, size_t size)
{
	size_t at = 0, one;

	if (!size || size > WIRE_PUSH_MAX)
		return false;
	while (at < size && (one = wire_next(bytes + at, size - at)) > 0)
		at += one;
	return at == size;
}

ssize_t wire_encode_push(void *message, size_t capacity, const struct wire_push *push)
{
	struct push_body body = {.base = push->base, .session = push->session, .size = push->size};

	if (push->session >= WIRE_WELCOME_MAX || !pushed_valid(push->messages, push->size))
		return -EINVAL;
	return message_encode(message, capacity, WIRE_PUSH,
			(struct message_piece[]){
					{&body, sizeof(body)}, {push->messages, push->size}},
			2);
}

int wire_decode_push(const void *message, size_t size, struct wire_push *ret_push)
{
	struct push_body body;
	const char *remainder;
	size_t remainder_size;
	int ret = message_decode(
			message, size, WIRE_PUSH, &body, sizeof(body), &remainder, &remainder_size);

	if (ret)
		return ret;
	if (body.session >= WIRE_WELCOME_MAX || body.size != remainder_size ||
			!pushed_valid(remainder, remainder_size))
		return -EPROTO;
	*ret_push = (struct wire_push){.base = body.base,
			.session = body.session,
			.size = body.size,
			.messages = remainder};
	return 0;
}

/* ---- PASS ---- */

ssize_t wire_encode_pass(void *message, size_t capacity, const struct wire_pass *pass)
{
	struct pass_body body = {.path_size = (uint32_t)strlen(pass->path) + 1};

	if (pass->path[0] != '/' || body.path_size > WIRE_SESSION_PATH_MAX + 1)
		return -EINVAL;
	return message_encode(message, capacity, WIRE_PASS,
			(struct message_piece[]){
					{&body, sizeof(body)}, {pass->path, body.path_size}},
			2);
}

int wire_decode_pass(const void *message, size_t size, struct wire_pass *ret_pass)
{
	struct pass_body body;
	const char *remainder;
	size_t remainder_size;
	int ret = message_decode(
			message, size, WIRE_PASS, &body, sizeof(body), &remainder, &remainder_size);

	if (ret)
		return ret;
	if (body.reserved || body.path_size != remainder_size ||
			body.path_size > WIRE_SESSION_PATH_MAX + 1 ||
			!message_is_string(remainder, body.path_size) || *remainder != '/')
		return -EPROTO;
	*ret_pass = (struct wire_pass){.path = remainder};
	return 0;
}

/* ---- DONE ---- */

ssize_t wire_encode_done(void *message, size_t capacity, const struct wire_done *done)
{
	struct done_body body = {
			.token = done->token, .serial = done->serial, .state = done->state};

	if (!done->token || done->state >= WIRE_NR_DONE_STATES)
		return -EINVAL;
	return message_encode(message, capacity, WIRE_DONE,
			(struct message_piece[]){{&body, sizeof(body)}}, 1);
}

int wire_decode_done(const void *message, size_t size, struct wire_done *ret_done)
{
	struct done_body body;
	const char *remainder;
	size_t remainder_size;
	int ret = message_decode(
			message, size, WIRE_DONE, &body, sizeof(body), &remainder, &remainder_size);

	if (ret)
		return ret;
	if (!body.token || body.state >= WIRE_NR_DONE_STATES || body.reserved || remainder_size)
		return -EPROTO;
	*ret_done = (struct wire_done){
			.token = body.token, .serial = body.serial, .state = body.state};
	return 0;
}
