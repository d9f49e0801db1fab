/* SPDX-License-Identifier: MIT */
/*
 * Lines: a peer that closes at each point of an answer, the events that end a wait, and the
 * settings of connections and terminals.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>

#include "../resources.h"
#include "relay/resolver.h"
#include "relay/send.h"
#include "relay/sink.h"

#define ANSWER 16
#define SECONDS_MAX 60 /* a reader that never ends fails the test */

static const struct timeout timeout = {.stop_fd = -1};

static void test_closed(void **unused)
{
	static const char answer[ANSWER] = "0123456789abcde";

	(void)unused;
	for (size_t sent = 0; sent <= ANSWER; sent++) {
		char read[ANSWER] = "";
		int ends[2];

		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
		assert_int_equal(write(ends[1], answer, sent), sent);
		close(ends[1]);
		assert_int_equal(line_read(ends[0], read, ANSWER, -1, &timeout),
				sent == ANSWER ? 0 : -ECONNRESET);
		assert_memory_equal(read, answer, sent);
		close(ends[0]);
	}
}

/* The peer closes before it reads our bytes, so the connection is reset. */
static void test_reset(void **unused)
{
	char read[ANSWER];
	int ends[2];

	(void)unused;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(write(ends[0], "x", 1), 1);
	close(ends[1]);
	assert_int_equal(line_read(ends[0], read, ANSWER, -1, &timeout), -ECONNRESET);
	close(ends[0]);
}

static void test_silent(void **unused)
{
	char read[ANSWER];
	int ends[2];

	(void)unused;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(write(ends[1], "x", 1), 1);
	assert_int_equal(line_read(ends[0], read, ANSWER, 1, &timeout), -ETIMEDOUT);
	close(ends[1]);
	close(ends[0]);
}

static int nr_ticks;

static int tick(void *user)
{
	nr_ticks++;
	return *(int *)user;
}

/* Events that end a wait: a tick, an earlier stop, and a stop during the wait. */
static void test_stops(void **unused)
{
	int stop[2], ends[2], ticked = -EDOM;
	bool stopped = true;
	struct timeout each = {.stop_fd = -1, .tick = tick, .user = &ticked};
	char byte;

	(void)unused;
	assert_int_equal(pipe(stop), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(line_read(ends[0], &byte, 1, -1, &each), -EDOM);
	assert_int_equal(nr_ticks, 1);
	each.stopped = &stopped;
	assert_int_equal(line_read(ends[0], &byte, 1, -1, &each), -ECANCELED);
	assert_int_equal(line_write(ends[0], "x", 1, false, &each), -ECANCELED);
	assert_int_equal(line_write(ends[0], "x", 1, true, &each), -ECANCELED);
	stopped = false;
	each.stop_fd = stop[0];
	assert_int_equal(write(stop[1], "x", 1), 1);
	assert_int_equal(line_read(ends[0], &byte, 1, -1, &each), -ECANCELED);
	assert_int_equal(nr_ticks, 1);
	/* Available bytes are read nevertheless. */
	assert_int_equal(write(ends[1], "y", 1), 1);
	assert_int_equal(line_read(ends[0], &byte, 1, -1, &each), 0);
	assert_int_equal(byte, 'y');
	assert_int_equal(line_write(ends[0], "z", 1, false, &each), 0);
	for (int i = 0; i < 2; i++) {
		close(ends[i]);
		close(stop[i]);
	}
}

/* More bytes than a line accepts in one write, to a socket and to a pipe, while a child reads. */
static void write_all(int from, int to, bool shared)
{
	size_t size = 3 << 20;
	unsigned char *bytes = malloc(size);
	pid_t reader;
	int status;

	assert_non_null(bytes);
	for (size_t i = 0; i < size; i++)
		bytes[i] = (unsigned char)(i * 31 + i / 4096);
	reader = fork();
	if (!reader) {
		unsigned char piece[4099];
		size_t at = 0;
		ssize_t got;

		close(from);
		while ((got = read(to, piece, sizeof(piece))) > 0) {
			if (memcmp(piece, bytes + at, (size_t)got) != 0)
				_exit(1);
			at += (size_t)got;
		}
		_exit(at == size ? 0 : 2);
	}
	close(to);
	if (!shared)
		assert_int_equal(fcntl(from, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(line_write(from, bytes, size, shared, &timeout), 0);
	close(from);
	assert_int_equal(waitpid(reader, &status, 0), reader);
	assert_int_equal(status, 0);
	free(bytes);
}

static void test_large(void **unused)
{
	int ends[2];

	(void)unused;
	for (int shared = 0; shared < 2; shared++) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
		write_all(ends[0], ends[1], shared);
		assert_int_equal(pipe(ends), 0);
		write_all(ends[1], ends[0], shared);
	}
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	close(ends[1]);
	assert_int_equal(line_write(ends[0], "x", 1, false, &timeout), -EPIPE);
	close(ends[0]);
	assert_int_equal(line_write(-1, "x", 1, false, &timeout), -EBADF);
}

static void test_errors(void **unused)
{
	(void)unused;
	assert_string_equal(line_error(-ECONNRESET), "the connection was closed");
	assert_string_equal(line_error(-EPIPE), "the last reader has closed it");
	assert_string_equal(line_error(-ETIMEDOUT), "it does not answer");
	assert_string_equal(line_error(-ENXIO), "no process reads from it");
	assert_string_equal(line_error(-EPROTO), "the peer speaks another protocol");
	assert_string_equal(line_error(-ENOENT), "No such file or directory");
}

static int option_of(int fd, int level, int name)
{
	socklen_t size = sizeof(int);
	int value = -1;

	assert_int_equal(getsockopt(fd, level, name, &value, &size), 0);
	return value;
}

static int nr_descriptors_of_child(void)
{
	char path[64];
	FILE *file;
	DIR *folder;
	int child, nr = -2; /* "." and ".." */

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	file = fopen(path, "re");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%d", &child), 1);
	(void)fclose(file);
	(void)snprintf(path, sizeof(path), "/proc/%d/fd", child);
	folder = opendir(path);
	assert_non_null(folder);
	while (readdir(folder))
		nr++;
	closedir(folder);
	return nr;
}

/* With and without the helper process that looks up names. */
static void test_connections(void **unused)
{
	struct sockaddr_in address = {
			.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct timeout each = {.stop_fd = -1};
	struct error error = {.text = ""};
	struct resources before = resources_now();
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0), resolver, fd;
	char port[16], expected[200];

	(void)unused;
	assert_int_equal(bind(listener, (struct sockaddr *)&address, size), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
	(void)snprintf(port, sizeof(port), "%u", ntohs(address.sin_port));
	(void)snprintf(expected, sizeof(expected),
			"cannot reach 127.0.0.1, port %s: Connection refused", port);
	assert_int_equal(line_connect("127.0.0.1", port, &each, &error), -ECONNREFUSED);
	assert_string_equal(error.text, expected);
	assert_int_equal(listen(listener, 9), 0);
	resolver = resolver_start();
	assert_true(resolver >= 0);
	for (int i = 0; i < 2; i++) {
		fd = line_connect("127.0.0.1", port, &each, &error);
		assert_true(fd >= 0);
		assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_NODELAY), 1);
		assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 30000);
		assert_int_equal(option_of(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
		assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_KEEPIDLE), 10);
		assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_KEEPINTVL), 10);
		assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
		assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
		close(fd);
		assert_int_equal(
				line_connect("127.0.0.1", "no-port", &each, &error), -EHOSTUNREACH);
		assert_string_equal(error.text,
				"cannot reach 127.0.0.1: Servname not supported for ai_socktype");
		each.resolver = &resolver;
	}
	/* The helper process has only the socket, and ends when it closes. */
	assert_int_equal(nr_descriptors_of_child(), 1);
	close(resolver);
	assert_true(waitpid(-1, NULL, 0) > 0);
	close(listener);
	assert_int_equal(resources_now().descriptors, before.descriptors);
}

/* Answers of a hostile helper process. */
static void test_answers(void **unused)
{
	struct resolver_answer sent = {.number = 7, .count = RESOLVER_ADDRESSES_MAX}, got;
	int ends[2];

	(void)unused;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	assert_int_equal(resolver_take(ends[0], 7, &got), -EAGAIN);
	assert_int_equal(send(ends[1], &sent, sizeof(sent), 0), sizeof(sent));
	assert_int_equal(resolver_take(ends[0], 7, &got), 0);
	assert_int_equal(got.count, RESOLVER_ADDRESSES_MAX);
	assert_int_equal(send(ends[1], &sent, sizeof(sent), 0), sizeof(sent));
	assert_int_equal(resolver_take(ends[0], 8, &got), -EAGAIN);
	assert_int_equal(send(ends[1], &sent, sizeof(sent) - 1, 0), sizeof(sent) - 1);
	assert_int_equal(resolver_take(ends[0], 7, &got), -EPIPE);
	sent.count++;
	assert_int_equal(send(ends[1], &sent, sizeof(sent), 0), sizeof(sent));
	assert_int_equal(resolver_take(ends[0], 7, &got), -EPIPE);
	close(ends[1]);
	assert_int_equal(resolver_take(ends[0], 7, &got), -EPIPE);
	assert_int_equal(resolver_ask(ends[0], 1, "h", "1"), -EPIPE);
	close(ends[0]);
	assert_int_equal(resolver_take(ends[0], 7, &got), -EBADF);
}

/* Each known speed, and the unknown speeds beside it. */
static void test_speeds(void **unused)
{
	static const struct {
		uint32_t speed;
		speed_t code;
	} speeds[] = {{1200, B1200}, {2400, B2400}, {4800, B4800}, {9600, B9600}, {19200, B19200},
			{38400, B38400}, {57600, B57600}, {115200, B115200}, {230400, B230400},
			{460800, B460800}, {500000, B500000}, {576000, B576000}, {921600, B921600},
			{1000000, B1000000}, {1152000, B1152000}, {1500000, B1500000},
			{2000000, B2000000}, {2500000, B2500000}, {3000000, B3000000},
			{3500000, B3500000}, {4000000, B4000000}};
	struct termios settings;
	int terminal = posix_openpt(O_RDWR | O_NOCTTY), ends[2];

	(void)unused;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(line_raw(ends[0], 12345), 0);
	close(ends[0]);
	close(ends[1]);
	if (terminal < 0)
		return;
	for (size_t i = 0; i < sizeof(speeds) / sizeof(*speeds); i++) {
		assert_int_equal(line_raw(terminal, speeds[i].speed), 0);
		assert_int_equal(tcgetattr(terminal, &settings), 0);
		assert_int_equal(cfgetospeed(&settings), speeds[i].code);
		assert_int_equal(cfgetispeed(&settings), speeds[i].code);
		assert_int_equal(line_raw(terminal, speeds[i].speed + 1), -EINVAL);
	}
	/* 0: unchanged. */
	assert_int_equal(line_raw(terminal, 0), 0);
	assert_int_equal(tcgetattr(terminal, &settings), 0);
	assert_int_equal(cfgetospeed(&settings), B4000000);
	assert_int_equal(settings.c_lflag & (ICANON | ECHO | ISIG), 0);
	assert_int_equal(settings.c_cflag & (CLOCAL | CREAD), CLOCAL | CREAD);
	assert_int_equal(settings.c_cc[VMIN], 1);
	assert_int_equal(settings.c_cc[VTIME], 0);
	close(terminal);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_closed),
			cmocka_unit_test(test_reset),
			cmocka_unit_test(test_silent),
			cmocka_unit_test(test_stops),
			cmocka_unit_test(test_large),
			cmocka_unit_test(test_errors),
			cmocka_unit_test(test_connections),
			cmocka_unit_test(test_answers),
			cmocka_unit_test(test_speeds),
	};

	signal(SIGPIPE, SIG_IGN);
	alarm(SECONDS_MAX);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
