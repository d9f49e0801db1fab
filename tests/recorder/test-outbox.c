/* SPDX-License-Identifier: MIT */
/*
 * Messages that are queued for a full socket: their order, bytes and descriptors, the limit, each
 * error. The file is included: the test chooses the result of each send, or passes the message to a
 * real socket.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "protocol/protocol.h"

static int answers[8], nr_answers, nr_sent, dup_error;
static char sent[512];
static int sent_fd[8];

static int played_send(int socket, const void *bytes, size_t size, const int *fds, size_t nr_fds,
		uint64_t deadline);

static int played_fcntl(int fd, int command, int lowest)
{
	if (dup_error) {
		errno = dup_error;
		return -1;
	}
	return fcntl(fd, command, lowest);
}

#define wire_send played_send
#define fcntl played_fcntl
#include "recorder/core/outbox.c"
#undef wire_send
#undef fcntl

#include "../check.h"
#include "../failing-calls.h"

/* Notes the message, or fails with the next result. With a real socket, calls the real function. */
static int played_send(int socket, const void *bytes, size_t size, const int *fds, size_t nr_fds,
		uint64_t deadline)
{
	CHECK(deadline == 0 && nr_fds <= 1);
	if (socket >= 0)
		return wire_send(socket, bytes, size, fds, nr_fds, deadline);
	CHECK(socket == -7);
	if (nr_answers) {
		int answer = answers[0];

		memmove(answers, answers + 1, sizeof(answers) - sizeof(answers[0]));
		nr_answers--;
		if (answer)
			return answer;
	}
	strncat(sent, bytes, size);
	strcat(sent, ";");
	CHECK(nr_sent < 8);
	sent_fd[nr_sent++] = nr_fds ? *fds : -1;
	return 0;
}

static void answer(int first, int second)
{
	answers[0] = first;
	answers[1] = second;
	nr_answers = second == 1 ? 1 : 2;
}

static void begin(struct outbox *outbox)
{
	*outbox = (struct outbox){0};
	*sent = '\0';
	nr_sent = nr_answers = 0;
}

/* Bytes that the socket takes at once are not kept. */
static void test_taken(void)
{
	struct outbox outbox;

	begin(&outbox);
	CHECK(outbox_send(&outbox, -7, "abc", 3, 0, 0) == 0 && outbox_is_empty(&outbox));
	CHECK(!strcmp(sent, "abc;") && sent_fd[0] == 0);
	CHECK(outbox_send(&outbox, -7, "d", 1, -1, 0) == 0 && sent_fd[1] == -1 && outbox.size == 0);
	answer(-EPIPE, 1);
	CHECK(outbox_send(&outbox, -7, "e", 1, -1, 100) == -EPIPE && outbox_is_empty(&outbox));
}

/* A message behind a queued one is not sent: the order is kept. */
static void test_order(void)
{
	struct outbox outbox;

	begin(&outbox);
	answer(-EAGAIN, 1);
	CHECK(outbox_send(&outbox, -7, "one", 3, -1, 100) == 0 && !outbox_is_empty(&outbox) &&
			outbox.size == 3);
	CHECK(outbox_send(&outbox, -7, "two", 3, -1, 100) == 0 && outbox.size == 6 && nr_sent == 0);
	CHECK(outbox_send(&outbox, -7, "three", 5, -1, 100) == 0 && outbox.size == 11);
	answer(0, -EAGAIN);
	CHECK(outbox_flush(&outbox, -7) == -EAGAIN && !strcmp(sent, "one;") && outbox.size == 8);
	CHECK(outbox_send(&outbox, -7, "end", 3, -1, 100) == 0 && outbox.size == 11);
	answer(-ENOBUFS, 1);
	CHECK(outbox_flush(&outbox, -7) == -EAGAIN && outbox.size == 11);
	answer(-ECONNRESET, 1);
	CHECK(outbox_flush(&outbox, -7) == -ECONNRESET && outbox.size == 11);
	CHECK(outbox_flush(&outbox, -7) == 0 && !strcmp(sent, "one;two;three;end;") &&
			outbox.size == 0);
	CHECK(outbox_is_empty(&outbox) && !outbox.last);
	/* The queue can be filled again. */
	answer(-ENOBUFS, 1);
	CHECK(outbox_send(&outbox, -7, "four", 4, -1, 100) == 0 && outbox.size == 4);
	outbox_free(&outbox);
	CHECK(outbox_is_empty(&outbox) && outbox.size == 0);
}

/* The limit, with and without a descriptor, is the last permitted size. */
static void test_limit(void)
{
	struct outbox outbox;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), first, input = dup(0);

	CHECK(fd > 0 && input > 0);
	begin(&outbox);
	answer(-EAGAIN, 1);
	CHECK(outbox_send(&outbox, -7, "12345", 5, -1, 4) == -ENOBUFS && outbox_is_empty(&outbox));
	answer(-EAGAIN, 1);
	CHECK(outbox_send(&outbox, -7, "12345", 5, -1, 5) == 0 && outbox.size == 5);
	CHECK(outbox_send(&outbox, -7, "6", 1, -1, 5) == -ENOBUFS && outbox.size == 5);
	CHECK(outbox_send(&outbox, -7, "6", 1, fd, 5 + 65536) == -ENOBUFS && outbox.size == 5);
	CHECK(outbox_send(&outbox, -7, "6", 1, fd, 6 + 65536) == 0 && outbox.size == 6 + 65536);
	/* The duplicate is sent, then closed; the caller's stays. */
	first = outbox.last->fd;
	CHECK(first >= 0 && first != fd && fcntl(first, F_GETFD) == FD_CLOEXEC);
	CHECK(outbox_flush(&outbox, -7) == 0 && sent_fd[0] == -1 && sent_fd[1] == first &&
			outbox.size == 0);
	CHECK(fcntl(first, F_GETFD) == -1 && fcntl(fd, F_GETFD) >= 0);
	begin(&outbox);
	answer(-EAGAIN, 1);
	CHECK(outbox_send(&outbox, -7, "7", 1, 0, 1 + 65536) == 0 && outbox.size == 1 + 65536);
	first = outbox.last->fd;
	outbox_free(&outbox);
	CHECK(outbox.size == 0 && fcntl(first, F_GETFD) == -1);
	/* The duplicate may be descriptor 0. */
	begin(&outbox);
	close(0);
	answer(-EAGAIN, 1);
	CHECK(outbox_send(&outbox, -7, "8", 1, fd, 1 + 65536) == 0 && outbox.last->fd == 0);
	CHECK(outbox_flush(&outbox, -7) == 0 && nr_sent == 1 && sent_fd[0] == 0 &&
			fcntl(0, F_GETFD) == -1);
	CHECK(dup2(input, 0) == 0 && !close(input));
	close(fd);
}

/* Neither a message nor a descriptor is kept if one of the two cannot be. */
static void test_failures(void)
{
	struct outbox outbox;

	begin(&outbox);
	answer(-EAGAIN, 1);
	failing_arm(1);
	CHECK(outbox_send(&outbox, -7, "a", 1, -1, 100) == -ENOMEM && failing_has_failed());
	CHECK(outbox_is_empty(&outbox) && outbox.size == 0);
	answer(-EAGAIN, 1);
	dup_error = EMFILE;
	CHECK(outbox_send(&outbox, -7, "a", 1, 1, 1 << 20) == -EMFILE && outbox_is_empty(&outbox));
	CHECK(outbox.size == 0);
	dup_error = 0;
}

/* A real full socket: the other end receives the messages in their order. */
static void test_socket(void)
{
	struct outbox outbox = {0};
	int ends[2], received = 0;
	char message[1000];

	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends));
	for (int i = 0; i < 3000; i++) {
		memset(message, i % 251, sizeof(message));
		CHECK(!outbox_send(&outbox, ends[0], message, sizeof(message) - (size_t)i % 7, -1,
				4 << 20));
	}
	CHECK(!outbox_is_empty(&outbox) && outbox_flush(&outbox, ends[0]) == -EAGAIN);
	while (received < 3000) {
		ssize_t size = recv(ends[1], message, sizeof(message), 0);

		if (size < 0) {
			CHECK(errno == EAGAIN && outbox_flush(&outbox, ends[0]) != -EPIPE);
			continue;
		}
		CHECK(size == 1000 - received % 7 && message[0] == (char)(received % 251) &&
				message[size - 1] == message[0]);
		received++;
	}
	CHECK(outbox_is_empty(&outbox));
	close(ends[1]);
	CHECK(outbox_send(&outbox, ends[0], "x", 1, -1, 100) == -EPIPE);
	close(ends[0]);
}

int main(void)
{
	test_taken();
	test_order();
	test_limit();
	test_failures();
	test_socket();
	return 0;
}
