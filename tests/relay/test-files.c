/* SPDX-License-Identifier: MIT */
/*
 * Frames of files: pieces that reach the end of the file are written, those that go beyond it are
 * not.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "relay/frame.h"
#include "relay/receive.h"

#define SESSION UINT64_C(0x1122334455667788)
#define FRAME_SIZE 1024

static const unsigned char content[] = "/* CTF 1.8 */\n\ntypealias integer { size = 8; } := u8;\n";

static uint64_t sequence;

static void send_frame(struct receive_source *source, unsigned char *frame, uint8_t type,
		const struct frame_writer *writer)
{
	size_t size = (size_t)(writer->at - frame) - FRAME_HEAD;
	struct frame_writer tail = {frame + FRAME_HEAD + size, frame + FRAME_SIZE, false};

	assert_false(writer->full);
	framing_put_u32(&tail, framing_crc(0, frame + FRAME_HEAD, size));
	framing_head(frame, type, SESSION, sequence++, (uint32_t)size);
	assert_int_equal(receive_bytes(source, frame, FRAME_HEAD + size + FRAME_TAIL), 0);
}

static struct frame_writer begin(unsigned char *frame)
{
	return (struct frame_writer){frame + FRAME_HEAD, frame + FRAME_SIZE - FRAME_TAIL, false};
}

/* Sends a piece of the trace's maps; its bytes extend beyond `total`. */
static void send_piece(struct receive_source *source, uint64_t total, uint64_t offset, size_t size)
{
	unsigned char bytes[FRAME_SIZE];
	struct frame_writer writer = begin(bytes);
	struct frame_file file = {
			.kind = FRAME_MAPS,
			.generation = 1,
			.total = total,
			.offset = offset,
			.name = "one",
			.bytes = content + offset,
			.size = size,
	};

	framing_put_file(&writer, &file);
	send_frame(source, bytes, FRAME_FILE, &writer);
}

static void send_hello(struct receive_source *source)
{
	unsigned char bytes[FRAME_SIZE];
	struct frame_writer writer = begin(bytes);

	framing_put_u32(&writer, FRAME_VERSION);
	framing_put_u32(&writer, 0);
	framing_put_name(&writer, "host");
	framing_put_name(&writer, "session");
	send_frame(source, bytes, FRAME_HELLO, &writer);
}

/* The size of a file below the output, or -1. */
static long size_of(const char *output, const char *name)
{
	char path[128], bytes[FRAME_SIZE];
	ssize_t size;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/one/%s", output, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	size = read(fd, bytes, sizeof(bytes));
	close(fd);
	assert_true(size >= 0);
	assert_memory_equal(bytes, content, (size_t)size);
	return size;
}

struct piece {
	uint64_t total, offset;
	size_t size;
	long there; /* bytes of the file afterwards; -1: no file */
};

static void check_pieces(const struct piece *pieces, size_t nr)
{
	char output[] = "/tmp/side-files-XXXXXX", command[64];
	struct receive_options options = {.output = output};
	struct receive_summary summary;
	struct receive_source *source;
	struct receive *receive;

	assert_non_null(mkdtemp(output));
	assert_int_equal(receive_create(&options, &receive), 0);
	source = receive_source_open(receive, false);
	assert_non_null(source);
	sequence = 0;
	send_hello(source);
	for (size_t i = 0; i < nr; i++) {
		send_piece(source, pieces[i].total, pieces[i].offset, pieces[i].size);
		assert_int_equal(size_of(output, ".maps"), pieces[i].there);
	}
	receive_source_close(source);
	receive_finish(receive, &summary);
	assert_int_equal(summary.frames, nr + 1);
	assert_false(summary.failed);
	receive_destroy(receive);
	(void)snprintf(command, sizeof(command), "rm -r %s", output);
	assert_int_equal(system(command), 0);
}

#define CHECK_PIECES(...)                                 \
	check_pieces((const struct piece[]){__VA_ARGS__}, \
			sizeof((const struct piece[]){__VA_ARGS__}) / sizeof(struct piece))

static void test_pieces(void **unused)
{
	(void)unused;
	CHECK_PIECES({20, 0, 20, 20});
	CHECK_PIECES({20, 0, 21, -1});
	CHECK_PIECES({20, 0, 40, -1});
	CHECK_PIECES({20, 0, 10, 10}, {20, 10, 10, 20});
	CHECK_PIECES({20, 0, 10, 10}, {20, 10, 11, 10}, {20, 10, 10, 20});
	CHECK_PIECES({20, 0, 10, 10}, {20, 5, 15, 20});
	CHECK_PIECES({20, 0, 10, 10}, {20, 5, 16, 10});
	CHECK_PIECES({20, 0, 20, 20}, {20, 20, 1, 20}, {21, 20, 1, 21});
	CHECK_PIECES({20, 21, 1, -1});
	/* A hole. */
	CHECK_PIECES({20, 0, 10, 10}, {20, 11, 9, 10});
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_pieces)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
