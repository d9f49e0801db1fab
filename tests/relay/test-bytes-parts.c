/* SPDX-License-Identifier: MIT */
/*
 * The sink for frames, with simulated files and connections: opened and refused paths, repeated
 * metadata, and answers of a receiver in pieces.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "../check.h"
#include "../noted.h"
#include "relay/frame.h"
#include "relay/sink.h"

/* ---- replaced calls ---- */

static int opened[2]; /* descriptors, or negative errors */
static unsigned int next_open;
static mode_t mode;
static bool is_terminal, no_status;
static int raw_result, connect_result, write_result;
static unsigned char written[1 << 17], received[8192];
static size_t written_size;
static ssize_t received_size; /* or a negative error */
static bool no_random;

static int played_open(const char *path, int flags, ...)
{
	va_list arguments;
	mode_t with = 0;
	int fd = opened[next_open++];

	va_start(arguments, flags);
	if (next_open == 1)
		with = va_arg(arguments, mode_t);
	va_end(arguments);
	CHECK((flags & ~(O_CREAT | O_NOFOLLOW)) ==
			(O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
	note("open %s%s%s %o;", path, flags & O_CREAT ? " create" : "",
			flags & O_NOFOLLOW ? " itself" : "", with);
	errno = fd < 0 ? -fd : 0;
	return fd < 0 ? -1 : fd;
}

static int played_fstat(int fd, struct stat *stat)
{
	CHECK(fd == 0 || fd == 4);
	stat->st_mode = mode;
	return no_status ? -1 : 0;
}

static int played_isatty(int fd)
{
	CHECK(fd >= 0);
	return is_terminal;
}

static int played_raw(int fd, uint32_t speed)
{
	note("raw %d %u;", fd, speed);
	return raw_result;
}

static int played_close(int fd)
{
	note("close %d;", fd);
	errno = EBADF;
	return 0;
}

static int played_connect(const char *host, const char *port, const struct timeout *timeout,
		struct error *error)
{
	CHECK(timeout && error);
	note("connect %s %s;", host, port);
	return connect_result;
}

static int played_write(
		int fd, const void *bytes, size_t size, bool shared, const struct timeout *timeout)
{
	CHECK(timeout && size <= sizeof(written));
	note("write %d%s;", fd, shared ? " shared" : "");
	memcpy(written, bytes, size);
	written_size = size;
	return write_result;
}

static ssize_t played_recv(int fd, void *to, size_t size, int flags)
{
	CHECK(flags == MSG_DONTWAIT && !fd);
	errno = received_size < 0 ? (int)-received_size : 0;
	if (received_size < 0)
		return -1;
	size = size < (size_t)received_size ? size : (size_t)received_size;
	memcpy(to, received, size);
	return (ssize_t)size;
}

static ssize_t played_random(void *to, size_t size, unsigned int flags)
{
	CHECK(size == 8 && !flags);
	memset(to, 0x21, 4);
	if (no_random)
		return 4;
	memset(to, 0x31, size);
	return (ssize_t)size;
}

static time_t played_time(time_t *now)
{
	CHECK(!now);
	return 0x12345;
}

#define open(...) played_open(__VA_ARGS__)
#define fstat(fd, stat) played_fstat(fd, stat)
#define isatty(fd) played_isatty(fd)
#define line_raw(fd, speed) played_raw(fd, speed)
#define close(fd) played_close(fd)
#define line_connect(host, port, timeout, error) played_connect(host, port, timeout, error)
#define line_write(fd, bytes, size, shared, timeout) played_write(fd, bytes, size, shared, timeout)
#define recv(fd, to, size, flags) played_recv(fd, to, size, flags)
#define getrandom(to, size, flags) played_random(to, size, flags)
#define time(now) played_time(now)
#include "relay/bytes.c" /* NOLINT(bugprone-suspicious-include): replaces the calls in it */

static struct byte_sink *begin(enum url_kind kind, const char *path)
{
	struct sink *sink = bytes_create();

	CHECK(sink && sink->watch_fd == -1 && relay_bytes_from_sink(sink)->fd == -1);
	sink->url.kind = kind;
	strcpy(sink->url.path, path);
	strcpy(sink->url.host, "there");
	strcpy(sink->url.port, "11");
	sink->session = "web";
	sink->speed = 9600;
	opened[0] = 4;
	opened[1] = 0;
	next_open = 0;
	mode = S_IFREG;
	is_terminal = no_status = false;
	raw_result = connect_result = write_result = 0;
	*log_text = '\0';
	return relay_bytes_from_sink(sink);
}

/* Whether opening returns this descriptor or error, and this text. */
static bool opens(struct byte_sink *bytes, int expected, const char *text, bool is_final)
{
	struct error error = {.text = ""};
	int fd = relay_bytes_open_path(bytes, &error);
	bool good = fd == expected && !strcmp(error.text, text) &&
			bytes->sink.final_error == is_final;

	if (!good)
		fprintf(stderr, "%d %s\n", fd, error.text);
	free(bytes);
	return good;
}

static void test_paths(void)
{
	struct byte_sink *bytes = begin(URL_PATH, "/a");

	CHECK(opens(bytes, 4, "", false) && has_noted("open /a create itself 644;"));
	bytes = begin(URL_PATH, "/a");
	opened[0] = 0;
	CHECK(opens(bytes, 0, "", false));
	/* No file is created in /dev, or by a daemon of the system. */
	bytes = begin(URL_PATH, "/dev/x");
	CHECK(opens(bytes, 4, "", false) && has_noted("open /dev/x itself 644;"));
	bytes = begin(URL_PATH, "/dev");
	CHECK(opens(bytes, 4, "", false) && has_noted("open /dev create itself 644;"));
	bytes = begin(URL_PATH, "/a");
	bytes->sink.no_files = true;
	mode = S_IFCHR;
	CHECK(opens(bytes, 4, "", false) && has_noted("open /a itself 644;"));
	for (unsigned int i = 0; i < 2; i++) {
		bytes = begin(URL_PATH, "/a");
		bytes->sink.no_files = true;
		opened[0] = 0;
		mode = i ? S_IFCHR : S_IFREG;
		no_status = i;
		CHECK(opens(bytes, -EPERM,
				"/a is a file: a daemon of the system sends to devices and pipes only",
				true));
		CHECK(has_noted("open /a itself 644;close 0;"));
	}
	/* The file does not exist, has no reader, is a directory, or cannot be opened. */
	bytes = begin(URL_PATH, "/dev/x");
	opened[0] = -ENOENT;
	CHECK(opens(bytes, -ENOENT, "/dev/x does not exist", false));
	bytes = begin(URL_PATH, "/x");
	bytes->sink.no_files = true;
	opened[0] = -ENOENT;
	CHECK(opens(bytes, -ENOENT, "/x does not exist", false));
	bytes = begin(URL_PATH, "/x");
	opened[0] = -ENOENT;
	CHECK(opens(bytes, -ENOENT, "cannot write to /x: No such file or directory", true));
	bytes = begin(URL_PATH, "/x");
	opened[0] = -ENXIO;
	CHECK(opens(bytes, -ENXIO, "cannot write to /x: no process reads from it", false));
	bytes = begin(URL_PATH, "/x");
	*log_text = '\0';
	opened[0] = -EACCES;
	CHECK(opens(bytes, -EACCES, "cannot write to /x: Permission denied", true));
	CHECK(has_noted("open /x create itself 644;"));
	bytes = begin(URL_PATH, "/x");
	mode = S_IFDIR;
	CHECK(opens(bytes, 4, "", true));
	bytes = begin(URL_PATH, "/x");
	mode = S_IFDIR;
	no_status = true;
	CHECK(opens(bytes, 4, "", false));
}

static void test_links(void)
{
	struct byte_sink *bytes = begin(URL_PATH, "/a");

	opened[0] = -ELOOP;
	mode = S_IFCHR;
	CHECK(opens(bytes, 0, "", false) && has_noted("open /a create itself 644;open /a 0;"));
	bytes = begin(URL_PATH, "/a");
	opened[0] = -ELOOP;
	CHECK(opens(bytes, -ELOOP, "cannot write to /a: it is a symbolic link to a file", true));
	CHECK(has_noted("open /a create itself 644;open /a 0;close 0;"));
	bytes = begin(URL_PATH, "/a");
	opened[0] = -ELOOP;
	mode = S_IFCHR;
	no_status = true;
	CHECK(opens(bytes, -ELOOP, "cannot write to /a: it is a symbolic link to a file", true));
	bytes = begin(URL_PATH, "/a");
	opened[0] = -ELOOP;
	opened[1] = -EACCES;
	CHECK(opens(bytes, -EACCES, "cannot write to /a: Permission denied", true));
	*log_text = '\0';
}

static void test_terminals(void)
{
	struct byte_sink *bytes = begin(URL_PATH, "/a");

	is_terminal = true;
	CHECK(opens(bytes, 4, "", false) && has_noted("open /a create itself 644;raw 4 9600;"));
	bytes = begin(URL_PATH, "/a");
	is_terminal = true;
	opened[0] = 0;
	raw_result = -EINVAL;
	CHECK(opens(bytes, -EINVAL,
			"cannot write to /a: this speed is not possible on a serial line", true));
	CHECK(has_noted("open /a create itself 644;raw 0 9600;close 0;"));
	bytes = begin(URL_PATH, "/a");
	is_terminal = true;
	raw_result = -EIO;
	CHECK(opens(bytes, -EIO, "cannot write to /a: Input/output error", true));
	*log_text = '\0';
}

static void test_opened(void)
{
	struct byte_sink *bytes = begin(URL_TCP, "");
	struct error error = {.text = ""};

	bytes->head = bytes->count = 3;
	bytes->in_size = 4;
	bytes->has_answered = bytes->is_silent = true;
	CHECK(!bytes_open(&bytes->sink, &error) && has_noted("connect there 11;write 0;"));
	CHECK(!bytes->fd && !bytes->sink.watch_fd && !bytes->head && !bytes->count &&
			!bytes->in_size && !bytes->has_answered && !bytes->is_silent &&
			!bytes->is_stdout);
	CHECK(bytes->piece_size == FRAME_PIECE && bytes->sink.sequence == 1);
	/*
	 * If the first frame was not written, the next one has the number 0 again; later numbers
	 * are not reused.
	 */
	bytes->sink.sequence = 0;
	write_result = -EPIPE;
	CHECK(bytes_open(&bytes->sink, &error) == -EPIPE && !bytes->sink.sequence);
	CHECK(!strcmp(error.text, "cannot write: the last reader has closed it"));
	bytes->sink.sequence = 8;
	CHECK(bytes_open(&bytes->sink, &error) == -EPIPE && bytes->sink.sequence == 9);
	*log_text = '\0';
	connect_result = -ECONNREFUSED;
	CHECK(bytes_open(&bytes->sink, &error) == -ECONNREFUSED && has_noted("connect there 11;"));
	free(bytes);
	bytes = begin(URL_PATH, "/a");
	is_terminal = true;
	CHECK(!bytes_open(&bytes->sink, &error) && bytes->piece_size == FRAME_PIECE_SERIAL &&
			bytes->sink.watch_fd == -1 && bytes->fd == 4 && !bytes->is_stdout);
	free(bytes);
	for (unsigned int i = 0; i < 2; i++) {
		bytes = begin(URL_STANDARD, "");
		is_terminal = i;
		CHECK(!bytes_open(&bytes->sink, &error) && has_noted("write 1 shared;"));
		CHECK(bytes->fd == 1 && bytes->is_stdout && bytes->serial == (i == 1));
		CHECK(bytes->piece_size == (i ? FRAME_PIECE_SERIAL : FRAME_PIECE));
		free(bytes);
	}
}

static void test_identities(void)
{
	struct byte_sink *bytes = begin(URL_TCP, "");

	CHECK(bytes->sink.id == UINT64_C(0x3131313131313131));
	free(bytes);
	no_random = true;
	bytes = begin(URL_TCP, "");
	CHECK(bytes->sink.id == (UINT64_C(0x12345) << 32 ^ (uint64_t)getpid()));
	no_random = false;
	free(bytes);
}

/* ---- answers ---- */

static size_t put_answer(size_t at, uint8_t type, uint64_t session, uint64_t sequence, size_t size)
{
	unsigned char frame[FRAME_HEAD + 8 + FRAME_TAIL];
	struct frame_writer writer = {frame + FRAME_HEAD, frame + sizeof(frame), false};

	framing_head(frame, type, session, 0, (uint32_t)size);
	framing_put_u64(&writer, sequence);
	writer.at = frame + FRAME_HEAD + size;
	framing_put_u32(&writer, framing_crc(0, frame + FRAME_HEAD, size));
	memcpy(received + at, frame, FRAME_HEAD + size + FRAME_TAIL);
	return at + FRAME_HEAD + size + FRAME_TAIL;
}

static void test_answers(void)
{
	struct byte_sink *bytes = begin(URL_TCP, "");
	uint64_t id = bytes->sink.id;
	size_t one = put_answer(0, FRAME_ACK, id, 7, 8), all;

	bytes->fd = 0;
	/* Byte by byte. */
	all = one;
	for (size_t i = 0; i < all; i++) {
		CHECK(!bytes->next_unacknowledged && !bytes->has_answered && bytes->in_size == i);
		memcpy(bytes->in + bytes->in_size++, received + i, 1);
		relay_bytes_read_answers(bytes);
	}
	CHECK(bytes->next_unacknowledged == 7 && bytes->has_answered && !bytes->in_size);
	/* Two answers and a part of a third one. An older answer changes nothing. */
	all = put_answer(put_answer(put_answer(0, FRAME_ACK, id, 9, 8), FRAME_ACK, id, 8, 8),
			FRAME_ACK, id, 10, 8);
	received_size = (ssize_t)all - 1;
	CHECK(relay_bytes_receive(bytes) == 1 && bytes->next_unacknowledged == 9 &&
			bytes->in_size == one - 1);
	memmove(received, received + all - 1, 1);
	received_size = 1;
	CHECK(relay_bytes_receive(bytes) == 1 && bytes->next_unacknowledged == 10 &&
			!bytes->in_size);
	/*
	 * A frame of another type, of another sender, a short one, and bytes that are not a frame.
	 */
	bytes->has_answered = false;
	all = put_answer(0, FRAME_HELLO, id, 20, 8);
	all = put_answer(all, FRAME_ACK, id + 1, 21, 8);
	all = put_answer(all, FRAME_ACK, id, 22, 7);
	memset(received + all, 0x55, 40);
	received_size = (ssize_t)all + 40;
	CHECK(relay_bytes_receive(bytes) == 1 && bytes->next_unacknowledged == 10 &&
			!bytes->has_answered);
	received_size = (ssize_t)put_answer(0, FRAME_ACK, id, 30, 8);
	CHECK(relay_bytes_receive(bytes) == 1 && bytes->next_unacknowledged == 30 &&
			bytes->has_answered);
	/* No bytes, a signal, an error, and the end. */
	received_size = -EAGAIN;
	CHECK(!relay_bytes_receive(bytes));
	received_size = -EINTR;
	CHECK(!relay_bytes_receive(bytes));
	received_size = -EIO;
	CHECK(relay_bytes_receive(bytes) == -EIO);
	received_size = 0;
	CHECK(relay_bytes_receive(bytes) == -ECONNRESET);
	free(bytes);
}

static void test_repeated(void)
{
	struct byte_sink *bytes = begin(URL_PATH, "/a");

	for (unsigned int i = 0; i < 8; i++) {
		static const struct {
			bool serial;
			uint64_t sent, since;
			bool again;
		} rows[] = {{false, 5, (256 << 10) - 1, false}, {false, 5, 256 << 10, true},
				{true, 5, (16 << 10) - 1, false}, {true, 5, 16 << 10, true},
				{false, 16 << 10, 256 << 10, true},
				{false, (16 << 10) + 1, (256 << 10) + 15, false},
				{false, (16 << 10) + 1, (256 << 10) + 16, true},
				{true, 2000, 31999, false}};
		struct follow_trace trace = {.sent_metadata = rows[i].sent,
				.sent_maps = 6,
				.since_repeat = rows[i].since};

		bytes->serial = rows[i].serial;
		relay_bytes_schedule_metadata(bytes, &trace);
		CHECK(trace.since_repeat == (rows[i].again ? 0 : rows[i].since));
		CHECK(trace.sent_metadata == (rows[i].again ? 0 : rows[i].sent) &&
				trace.sent_maps == (rows[i].again ? 0 : 6));
	}
	free(bytes);
}

static void test_frames(void)
{
	struct byte_sink *bytes = begin(URL_TCP, "");
	struct frame_writer writer = relay_bytes_begin_frame(bytes);
	struct relay_frame frame;
	size_t used;

	bytes->fd = 3;
	bytes->sink.sequence = 41;
	framing_put_u32(&writer, 0x12345678);
	CHECK(!relay_bytes_send_frame(bytes, &writer, FRAME_ACK) && bytes->sink.sequence == 42);
	CHECK(has_noted("write 3;") && written_size == FRAME_HEAD + 4 + FRAME_TAIL);
	CHECK(framing_find(written, written_size, &used, &frame) == FRAME_WHOLE &&
			frame.type == FRAME_ACK && frame.sequence == 41 &&
			frame.session == bytes->sink.id && frame.size == 4);
	/* A frame that fills the space, and one byte more. */
	for (unsigned int more = 0; more < 2; more++) {
		size_t size = sizeof(bytes->out) - FRAME_HEAD - FRAME_TAIL + more;
		static unsigned char content[sizeof(((struct byte_sink *)NULL)->out)];

		writer = relay_bytes_begin_frame(bytes);
		framing_put(&writer, content, size);
		CHECK(relay_bytes_send_frame(bytes, &writer, FRAME_ACK) ==
				(more ? -ENAMETOOLONG : 0));
		CHECK(has_noted(more ? "" : "write 3;") && bytes->sink.sequence == 43);
	}
	CHECK(written_size == sizeof(bytes->out));
	free(bytes);
}

int main(void)
{
	test_paths();
	test_links();
	test_terminals();
	test_opened();
	test_identities();
	test_answers();
	test_repeated();
	test_frames();
	return 0;
}
