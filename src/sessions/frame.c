/* SPDX-License-Identifier: MIT */
/* Sends and receives objects as messages, and splits those that are too long for one. */
#include "sessions/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "sessions/json.h"
#include "sessions/text.h"

/* Bytes of a piece: as a JSON text its size doubles at most. */
#define PIECE 30000
/*
 * Maximum descriptors accepted from one message; more than one is accepted so that the surplus can
 * be closed.
 */
#define FDS_AT_ONCE 8

struct frame_message {
	struct frame_message *next;
	size_t size;
	int fd; /* a duplicate owned by the message, or -1 */
	char text[];
};

static void message_free(struct frame_message *message)
{
	if (message->fd >= 0)
		close(message->fd);
	free(message);
}

void frame_out_init(struct frame_out *out)
{
	*out = (struct frame_out){.end = &out->first};
}

void frame_out_free(struct frame_out *out)
{
	while (out->first) {
		struct frame_message *next = out->first->next;

		message_free(out->first);
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
	message->fd = -1;
	memcpy(message->text, text, size);
	*out->end = message;
	out->end = &message->next;
	out->size += size;
	return 0;
}

static int put_object(struct frame_out *out, struct json_object *object)
{
	struct control_text text;
	int ret = control_text_print(object, JSON_C_TO_STRING_PLAIN, &text);

	if (!ret)
		ret = put_message(out, text.text, text.size);
	control_text_free(&text);
	return ret;
}

/* Returns the size of the next piece, which never ends inside a character. */
static size_t piece_size(const char *text, size_t size)
{
	size_t piece = size < PIECE ? size : PIECE;

	while (piece < size && piece && ((unsigned char)text[piece] & 0xc0) == 0x80)
		piece--;
	return piece;
}

static int json_frame_send_piece(struct frame_out *out, const char *text, size_t size, bool more)
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

		ret = json_frame_send_piece(out, text, piece, piece < size);
		text += piece;
		size -= piece;
	}
	return ret;
}

int frame_put(struct frame_out *out, struct json_object *object)
{
	return frame_put_with(out, object, -1);
}

/* Attaches the descriptor to the first message, so that the receiver gets both or neither. */
static int put_fd(struct frame_out *added, int fd)
{
	if (fd < 0)
		return 0;
	added->first->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return added->first->fd < 0 ? -errno : 0;
}

int frame_put_with(struct frame_out *out, struct json_object *object, int fd)
{
	struct frame_out added;
	struct control_text text;
	int ret = control_text_print(object, JSON_C_TO_STRING_PLAIN, &text);

	frame_out_init(&added);
	if (!ret && text.size > FRAME_ANSWER_MAX)
		ret = -E2BIG;
	if (!ret)
		ret = text.size <= FRAME_MAX ? put_message(&added, text.text, text.size)
					     : put_pieces(&added, text.text, text.size);
	control_text_free(&text);
	if (!ret)
		ret = put_fd(&added, fd);
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
		ssize_t sent = descriptors_send(socket, message->text, message->size, &message->fd,
				message->fd >= 0, MSG_DONTWAIT);

		/* The kernel is out of memory for it: treat this as a full socket. */
		if (sent < 0)
			return sent == -ENOBUFS ? -EAGAIN : (int)sent;
		out->size -= message->size;
		out->first = message->next;
		if (!out->first)
			out->end = &out->first;
		message_free(message);
	}
	return 0;
}

/* ---- receiving ---- */

static void free_pieces(struct frame_in *in)
{
	free(in->text);
	in->text = NULL;
	in->size = 0;
	in->more = false;
}

int frame_take_fd(struct frame_in *in)
{
	int fd = in->has_fd ? in->fd : -1;

	in->has_fd = false;
	return fd;
}

void frame_in_free(struct frame_in *in)
{
	int fd = frame_take_fd(in);

	if (fd >= 0)
		close(fd);
	free_pieces(in);
}

/* Keeps the last descriptor and closes the others. */
static void keep_fds(struct frame_in *in, struct msghdr *header)
{
	struct cmsghdr *attached;

	for (attached = CMSG_FIRSTHDR(header); attached; attached = CMSG_NXTHDR(header, attached)) {
		size_t nr, i;

		if (attached->cmsg_level != SOL_SOCKET || attached->cmsg_type != SCM_RIGHTS)
			continue;
		nr = (attached->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (i = 0; i < nr; i++) {
			int former = frame_take_fd(in);

			if (former >= 0)
				close(former);
			memcpy(&in->fd, CMSG_DATA(attached) + i * sizeof(int), sizeof(int));
			in->has_fd = true;
		}
	}
}

/*
 * Appends the text if the object is a piece. Returns 1 for the last piece, 0 if more follow, 2 if
 * it is no piece, or a negative errno.
 */
static int take_piece(
		struct frame_in *in, struct json_object *object, size_t max, struct error *error)
{
	struct json_object *part;
	bool more = false;
	size_t size;
	char *text;
	int ret;

	if (!json_object_object_get_ex(object, "part", &part) ||
			!json_object_object_get_ex(object, "more", NULL))
		return in->more ? error_set_kind(error, ERROR_USAGE, -EPROTO, NULL,
						  "a message came between the parts of another one")
				: 2;
	ret = json_flag(object, "more", &more, error);
	if (ret || !json_object_is_type(part, json_type_string))
		return error_set_kind(error, ERROR_USAGE, -EPROTO, NULL,
				"a part of a message is not a text");
	size = (size_t)json_object_get_string_len(part);
	if (in->size + size > max)
		return error_set_kind(error, ERROR_USAGE, -E2BIG, NULL,
				"a message is longer than %zu KiB", max / 1024);
	text = realloc(in->text, in->size + size + 1);
	if (!text)
		return error_set_no_memory(error);
	in->text = text;
	memcpy(text + in->size, json_object_get_string(part), size);
	in->size += size;
	in->more = more;
	return !more;
}

static int json_frame_parse_message(struct frame_in *in, const char *text, size_t size, size_t max,
		struct json_object **ret_object, struct error *error)
{
	struct json_object *object = json_read(text, size, error);
	int ret;

	if (!object)
		return -EINVAL;
	ret = take_piece(in, object, max, error);
	if (ret == 2) {
		*ret_object = object;
		return 1;
	}
	json_object_put(object);
	if (ret != 1)
		return ret;
	*ret_object = json_read(in->text, in->size, error);
	free_pieces(in);
	return *ret_object ? 1 : -EINVAL;
}

int frame_receive(struct frame_in *in, int socket, size_t max, struct json_object **ret_object,
		struct error *error)
{
	char text[FRAME_MAX];
	struct iovec part = {.iov_base = text, .iov_len = sizeof(text)};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
	DESCRIPTORS_CONTROL(FDS_AT_ONCE) control;
	int was_reset = 0;
	ssize_t size;

	*ret_object = NULL;
	if (in->takes_fd) {
		header.msg_control = control.bytes;
		header.msg_controllen = sizeof(control.bytes);
	}
	/*
	 * If the peer closed the connection before it read the last message, the kernel reports
	 * ECONNRESET once. Receive again after it: messages that the peer sent before, such as the
	 * reason, are still in the queue.
	 */
	do
		size = recvmsg(socket, &header, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);
	while (size < 0 && (errno == EINTR || (errno == ECONNRESET && !was_reset++)));
	if (size < 0)
		return errno == EWOULDBLOCK
				? -EAGAIN
				: error_set_kind(error, ERROR_FAILED, -errno, NULL,
						  "cannot receive: %s", strerror(errno));
	if (in->takes_fd)
		keep_fds(in, &header);
	if (!size)
		return -EPIPE;
	if ((size_t)size > sizeof(text))
		return error_set_kind(error, ERROR_USAGE, -EPROTO, NULL,
				"a message has %zd bytes, more than %d", size, FRAME_MAX);
	return json_frame_parse_message(in, text, (size_t)size, max, ret_object, error);
}
