/* SPDX-License-Identifier: MIT */
/* Messages: complete ones, pieces, refused ones, and a socket that accepts nothing. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "sessions/frame.h"
#include "sessions/json.h"
#include "sessions/text.h"
#include "../random.h"

struct pair {
	int ends[2];
	struct frame_in in;
	struct frame_out out;
};

static void open_pair(struct pair *pair)
{
	*pair = (struct pair){.in.text = NULL};
	frame_out_init(&pair->out);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
					 pair->ends),
			0);
}

static void close_pair(struct pair *pair)
{
	close(pair->ends[0]);
	close(pair->ends[1]);
	frame_in_free(&pair->in);
	frame_out_free(&pair->out);
}

static struct json_object *make_long(size_t size)
{
	struct json_object *object = json_object_new_object();
	char *text = malloc(size + 1);
	size_t i;

	assert_non_null(text);
	/* Two bytes a character, so that a careless split would end within one. */
	for (i = 0; i + 1 < size; i += 2)
		memcpy(text + i, i % 64 ? "\xc3\xa4" : "\"\\", 2);
	text[i] = 0;
	assert_true(json_put_text(object, "text", text));
	free(text);
	return object;
}

/* Sends and receives in turn until the object has arrived. */
static struct json_object *pass(struct pair *pair, struct json_object *object, size_t max)
{
	struct json_object *got = NULL;
	struct error error;
	int ret = 0;

	assert_int_equal(frame_put(&pair->out, object), 0);
	while (!got) {
		int sent = frame_send(&pair->out, pair->ends[0]);

		assert_true(!sent || sent == -EAGAIN);
		do
			ret = frame_receive(&pair->in, pair->ends[1], max, &got, &error);
		while (!ret);
		assert_true(ret == 1 || ret == -EAGAIN);
	}
	return got;
}

static void test_sizes(void **unused)
{
	static const size_t sizes[] = {0, 1, 100, 29999, 30001, 65000, 65536, 70000, 1000000};
	struct pair pair;
	size_t i;

	(void)unused;
	open_pair(&pair);
	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct json_object *object = make_long(sizes[i]);
		struct json_object *got = pass(&pair, object, FRAME_ANSWER_MAX);

		assert_true(json_object_equal(object, got));
		assert_int_equal(pair.out.size, 0);
		json_object_put(object);
		json_object_put(got);
	}
	close_pair(&pair);
}

static int receive(struct pair *pair, const char *text, size_t max)
{
	struct error error = {.kind = ERROR_NONE};
	struct json_object *got = NULL;
	int ret;

	assert_int_equal(send(pair->ends[0], text, strlen(text), 0), (ssize_t)strlen(text));
	ret = frame_receive(&pair->in, pair->ends[1], max, &got, &error);
	json_object_put(got);
	if (ret < 0 && ret != -EPIPE)
		assert_true(*error.text);
	return ret;
}

static void test_refused(void **unused)
{
	struct pair pair;

	(void)unused;
	open_pair(&pair);
	assert_int_equal(receive(&pair, "{}", 10), 1);
	assert_int_equal(receive(&pair, "", 10), -EPIPE);
	assert_int_equal(receive(&pair, "{", 10), -EINVAL);
	assert_int_equal(receive(&pair, "{} x", 10), -EINVAL);
	assert_int_equal(receive(&pair, "{\"a\":\"\xff\"}", 10), -EINVAL);
	assert_int_equal(receive(&pair, "{\"more\":true,\"part\":\"12345\"}", 10), 0);
	assert_int_equal(receive(&pair, "{\"more\":true,\"part\":\"123456\"}", 10), -E2BIG);
	assert_int_equal(receive(&pair, "{\"version\":1}", 10), -EPROTO);
	assert_int_equal(receive(&pair, "{\"more\":7,\"part\":\"1\"}", 10), -EPROTO);
	assert_int_equal(receive(&pair, "{\"more\":true,\"part\":1}", 10), -EPROTO);
	frame_in_free(&pair.in);
	assert_int_equal(receive(&pair, "{\"more\":true,\"part\":\"{\\\"a\\\"\"}", 10), 0);
	assert_int_equal(receive(&pair, "{\"more\":false,\"part\":\":1}\"}", 10), 1);
	close_pair(&pair);
}

static void test_a_full_socket(void **unused)
{
	struct json_object *object = make_long(500000);
	struct pair pair;
	int ret;

	(void)unused;
	open_pair(&pair);
	do
		assert_int_equal(frame_put(&pair.out, object), 0);
	while (!(ret = frame_send(&pair.out, pair.ends[0])));
	assert_int_equal(ret, -EAGAIN);
	assert_true(pair.out.size > 0);
	close(pair.ends[1]);
	pair.ends[1] = dup(pair.ends[0]);
	ret = frame_send(&pair.out, pair.ends[0]);
	assert_true(ret == -EPIPE || ret == -ECONNRESET);
	json_object_put(object);
	close_pair(&pair);
}

/*
 * The peer answers and closes its connection before it reads our request. The kernel reports this
 * before the answer.
 */
static void test_answer_before_a_reset(void **unused)
{
	struct json_object *object = make_long(100), *got = NULL;
	struct error error;
	struct pair pair;

	(void)unused;
	open_pair(&pair);
	assert_int_equal(frame_put(&pair.out, object), 0);
	assert_int_equal(frame_send(&pair.out, pair.ends[1]), 0);
	assert_int_equal(frame_put(&pair.out, object), 0);
	assert_int_equal(frame_send(&pair.out, pair.ends[0]), 0);
	close(pair.ends[0]);
	pair.ends[0] = dup(pair.ends[1]);
	assert_int_equal(frame_receive(&pair.in, pair.ends[1], FRAME_ANSWER_MAX, &got, &error), 1);
	json_object_put(got);
	assert_int_equal(frame_receive(&pair.in, pair.ends[1], FRAME_ANSWER_MAX, &got, &error),
			-EPIPE);
	json_object_put(object);
	close_pair(&pair);
}

static void test_too_long(void **unused)
{
	struct json_object *object = make_long(FRAME_ANSWER_MAX);
	struct frame_out out;

	(void)unused;
	frame_out_init(&out);
	assert_int_equal(frame_put(&out, object), -E2BIG);
	assert_null(out.first);
	json_object_put(object);
}

/* Whether both descriptors have the same file. */
static bool is_same_file(int one, int other)
{
	struct stat a, b;

	return !fstat(one, &a) && !fstat(other, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static int open_files(void)
{
	int count = 0, fd;

	for (fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void pass_with(struct pair *pair, size_t size, int fd)
{
	struct json_object *object = make_long(size), *got = NULL;
	struct error error;
	int ret;

	assert_int_equal(frame_put_with(&pair->out, object, fd), 0);
	while (!got) {
		frame_send(&pair->out, pair->ends[0]);
		do
			ret = frame_receive(
					&pair->in, pair->ends[1], FRAME_ANSWER_MAX, &got, &error);
		while (!ret);
		assert_true(ret == 1 || ret == -EAGAIN);
	}
	assert_true(json_object_equal(object, got));
	json_object_put(object);
	json_object_put(got);
}

static void test_descriptors(void **unused)
{
	static const size_t sizes[] = {10, 500000};
	int fd = memfd_create("one", MFD_CLOEXEC), other = memfd_create("two", MFD_CLOEXEC), got;
	int before = open_files();
	struct pair pair;
	size_t i;

	(void)unused;
	open_pair(&pair);
	/* A receiver that does not ask for a descriptor gets none. */
	pass_with(&pair, 10, fd);
	assert_int_equal(frame_take_fd(&pair.in), -1);
	pair.in.takes_fd = true;
	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		pass_with(&pair, sizes[i], fd);
		got = frame_take_fd(&pair.in);
		assert_true(is_same_file(got, fd));
		assert_int_equal(fcntl(got, F_GETFD), FD_CLOEXEC);
		assert_int_equal(frame_take_fd(&pair.in), -1);
		close(got);
	}
	/*
	 * Of several descriptors the last one; a descriptor that is not taken is closed with the
	 * message.
	 */
	pass_with(&pair, 10, fd);
	pass_with(&pair, 10, other);
	got = frame_take_fd(&pair.in);
	assert_true(is_same_file(got, other));
	close(got);
	pass_with(&pair, 10, fd);
	close_pair(&pair);
	assert_int_equal(open_files(), before);
	close(fd);
	close(other);
}

/*
 * Texts of arbitrary bytes arrive unchanged, in one message and in pieces; the sent bytes are valid
 * JSON in UTF-8.
 */
static void test_any_bytes(void **state)
{
	static const char *const parts[] = {"\xff", "\xc3", "\xc3\xa4", "\xf0\x9f\x92\xa9",
			"\xed\xb2\x80", "\\udc80", "\\", "\"", "u", "\xe2\x82", "\x80", "/", "\x01",
			"\xf5", "\xc0\xaf"};
	static const size_t sizes[] = {1, 2, 7, 50, 1000, 40000, 200000};

	(void)state;
	for (int round = 0; round < 100; round++) {
		size_t size = sizes[round % 7], used = 0;
		struct json_object *object = json_object_new_object(), *result;
		char *text = malloc(size + 16);
		struct control_text printed;
		struct pair pair;

		assert_non_null(text);
		while (used < size)
			used += (size_t)sprintf(text + used, "%s",
					parts[draw(sizeof(parts) / sizeof(*parts))]);
		assert_true(json_put_text(object, "text", text));
		assert_int_equal(control_text_print(object, JSON_C_TO_STRING_PLAIN, &printed), 0);
		assert_int_equal(control_text_bad(printed.text, printed.size), printed.size);
		control_text_free(&printed);
		open_pair(&pair);
		result = pass(&pair, object, FRAME_ANSWER_MAX);
		assert_non_null(result);
		assert_string_equal(json_object_get_string(json_object_object_get(result, "text")),
				text);
		json_object_put(result);
		json_object_put(object);
		close_pair(&pair);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_sizes),
			cmocka_unit_test(test_refused),
			cmocka_unit_test(test_a_full_socket),
			cmocka_unit_test(test_answer_before_a_reset),
			cmocka_unit_test(test_too_long),
			cmocka_unit_test(test_descriptors),
			cmocka_unit_test(test_any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
