/* SPDX-License-Identifier: MIT */
/* Objects as messages, cut where they are too long for one. */
#include "control/frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "control/json.h"

/* Bytes of a piece: as a JSON text it becomes twice as long at most. */
#define PIECE 30000

struct frame_message {
	struct frame_message *next;
	size_t size;
	char text[];
};

void frame_out_init(struct frame_out *out)
{
	*out = (struct frame_out){.end = &out->first};
}

void frame_out_free(struct frame_out *out)
{
	while (out->first) {
		struct frame_message *next = out->first->next;

		free(out->first);
		out->first = next;
	}
	frame_out_init(out);
}

static int put_message(struct frame_out *out, const char *text, size_t size)
{
	struct frame_message *message = malloc(sizeof(*message) + size);

	if (!message)
		return -ENOMEM;
	message->next = NULL;
	message->size = size;
	memcpy(message->text, text, size);
	*out->end = message;
	out->end = &message->next;
	out->size += size;
	return 0;
}

static int put_object(struct frame_out *out, struct json_object *object)
{
	size_t size;
	const char *text = json_object_to_json_string_length(
			object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &size);

	return text ? put_message(out, text, size) : -ENOMEM;
}

/* A piece ends before a character, never inside. */
static size_t piece_size(const char *text, size_t size)
{
	size_t piece = size < PIECE ? size : PIECE;

	while (piece < size && piece && ((unsigned char)text[piece] & 0xc0) == 0x80)
		piece--;
	return piece;
}

static int put_piece(struct frame_out *out, const char *text, size_t size, bool more)
{
	struct json_object *object = json_object_new_object();
	int ret = -ENOMEM;

	if (json_put_flag(object, "more", more) &&
			json_put(object, "part", json_object_new_string_len(text, (int)size)))
		ret = put_object(out, object);
	json_object_put(object);
	return ret;
}

static int put_pieces(struct frame_out *out, const char *text, size_t size)
{
	int ret = 0;

	while (size && !ret) {
		size_t piece = piece_size(text, size);

		ret = put_piece(out, text, piece, piece < size);
		text += piece;
		size -= piece;
	}
	return ret;
}

int frame_put(struct frame_out *out, struct json_object *object)
{
	struct frame_out added;
	size_t size;
	const char *text = json_object_to_json_string_length(
			object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &size);
	int ret;

	if (!text)
		return -ENOMEM;
	if (size > FRAME_ANSWER_MAX)
		return -E2BIG;
	frame_out_init(&added);
	ret = size <= FRAME_MAX ? put_message(&added, text, size) : put_pieces(&added, text, size);
	if (ret) {
		frame_out_free(&added);
		return ret;
	}
	*out->end = added.first;
	out->end = added.end;
	out->size += added.size;
	return 0;
}

int frame_send(struct frame_out *out, int socket)
{
	while (out->first) {
		struct frame_message *message = out->first;
		ssize_t sent = send(
				socket, message->text, message->size, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		/* The kernel has no memory for it just now: as good as a full socket. */
		if (sent < 0)
			return errno == ENOBUFS ? -EAGAIN : -errno;
		out->size -= message->size;
		out->first = message->next;
		if (!out->first)
			out->end = &out->first;
		free(message);
	}
	return 0;
}

/* ---- the other direction ---- */

void frame_in_free(struct frame_in *in)
{
	free(in->text);
	*in = (struct frame_in){.text = NULL};
}

/* Is it a piece? Then its text is added. 1: it is, and the last one; 0: more come; 2: it is none. */
static int take_piece(struct frame_in *in, struct json_object *object, size_t max,
		struct control_error *error)
{
	struct json_object *part;
	bool more = false;
	size_t size;
	char *text;
	int ret;

	if (!json_object_object_get_ex(object, "part", &part) ||
			!json_object_object_get_ex(object, "more", NULL))
		return in->more ? control_fail(error, CONTROL_USAGE, -EPROTO, NULL,
						  "a message came between the pieces of another "
						  "one")
				: 2;
	ret = json_flag(object, "more", &more, error);
	if (ret || !json_object_is_type(part, json_type_string))
		return control_fail(error, CONTROL_USAGE, -EPROTO, NULL, "a piece is no text");
	size = (size_t)json_object_get_string_len(part);
	if (in->size + size > max)
		return control_fail(error, CONTROL_USAGE, -E2BIG, NULL,
				"a message is longer than %zu KiB", max / 1024);
	text = realloc(in->text, in->size + size + 1);
	if (!text)
		return control_no_memory(error);
	in->text = text;
	memcpy(text + in->size, json_object_get_string(part), size);
	in->size += size;
	in->more = more;
	return !more;
}

static int take_message(struct frame_in *in, const char *text, size_t size, size_t max,
		struct json_object **result, struct control_error *error)
{
	struct json_object *object = json_read(text, size, error);
	int ret;

	if (!object)
		return -EINVAL;
	ret = take_piece(in, object, max, error);
	if (ret == 2) {
		*result = object;
		return 1;
	}
	json_object_put(object);
	if (ret != 1)
		return ret;
	*result = json_read(in->text, in->size, error);
	frame_in_free(in);
	return *result ? 1 : -EINVAL;
}

int frame_receive(struct frame_in *in, int socket, size_t max, struct json_object **object,
		struct control_error *error)
{
	char text[FRAME_MAX];
	ssize_t size;

	*object = NULL;
	do
		size = recv(socket, text, sizeof(text), MSG_DONTWAIT | MSG_TRUNC);
	while (size < 0 && errno == EINTR);
	if (size < 0)
		return errno == EWOULDBLOCK
				? -EAGAIN
				: control_fail(error, CONTROL_FAILED, -errno, NULL,
						  "cannot receive: %s", strerror(errno));
	if (!size)
		return -EPIPE;
	if ((size_t)size > sizeof(text))
		return control_fail(error, CONTROL_USAGE, -EPROTO, NULL,
				"a message has %zd bytes, more than %d", size, FRAME_MAX);
	return take_message(in, text, (size_t)size, max, object, error);
}
