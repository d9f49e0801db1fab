/* SPDX-License-Identifier: MIT */
/* Descriptors in messages: as many as fit, with close-on-exec, and none leaks. */
#include "base/descriptors.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "../check.h"
#include "played-calls.h"

#define SENT_MAX (DESCRIPTORS_AT_ONCE + 2)

static int sockets[2];

static unsigned int count_open(void)
{
	unsigned int nr = 0;

	for (int fd = 0; fd < 256; fd++)
		nr += fcntl(fd, F_GETFD) >= 0;
	return nr;
}

/* Sends without the limit of descriptors_send(). */
static void send_many(int fd, size_t nr)
{
	DESCRIPTORS_CONTROL(SENT_MAX) control = {.bytes = {0}};
	char byte = 'x';
	struct iovec part = {.iov_base = &byte, .iov_len = 1};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
	int fds[SENT_MAX];

	for (size_t i = 0; i < nr; i++)
		fds[i] = fd;
	descriptors_attach(&header, control.bytes, fds, nr);
	CHECK(__real_sendmsg(sockets[0], &header, 0) == 1);
}

static void test_some(size_t nr)
{
	struct descriptors_received received;
	int fds[DESCRIPTORS_AT_ONCE], pipe_ends[2];
	struct stat sent, got;
	char text[8];

	CHECK(!pipe2(pipe_ends, O_CLOEXEC) && !fstat(pipe_ends[0], &sent));
	for (size_t i = 0; i < nr; i++)
		fds[i] = pipe_ends[0];
	played_interrupts = 2;
	CHECK(descriptors_send(sockets[0], "text", 4, fds, nr, 0) == 4);
	played_interrupts = 2;
	CHECK(descriptors_receive(sockets[1], text, sizeof(text), MSG_DONTWAIT, &received) == 4);
	CHECK(!memcmp(text, "text", 4) && received.nr == nr && !(received.flags & MSG_CTRUNC));
	for (size_t i = 0; i < nr; i++) {
		CHECK(!fstat(received.fds[i], &got) && got.st_ino == sent.st_ino);
		CHECK(fcntl(received.fds[i], F_GETFD) == FD_CLOEXEC);
	}
	descriptors_close(&received);
	CHECK(!received.nr);
	close(pipe_ends[0]);
	close(pipe_ends[1]);
}

static void test_too_many(void)
{
	struct descriptors_received received;
	int fds[DESCRIPTORS_AT_ONCE + 1] = {0};
	char byte;

	CHECK(descriptors_send(sockets[0], "x", 1, fds, DESCRIPTORS_AT_ONCE + 1, 0) == -E2BIG);
	send_many(sockets[0], DESCRIPTORS_AT_ONCE + 1);
	CHECK(descriptors_receive(sockets[1], &byte, 1, MSG_DONTWAIT, &received) == 1);
	CHECK(received.nr == DESCRIPTORS_AT_ONCE && received.flags & MSG_CTRUNC);
	descriptors_close(&received);
}

/* A larger control buffer than the caller's list: the surplus is closed. */
static void test_take(void)
{
	DESCRIPTORS_CONTROL(SENT_MAX) control;
	char byte;
	struct iovec part = {.iov_base = &byte, .iov_len = 1};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
	int fds[2];
	size_t nr = 7;

	for (size_t sent = 0; sent <= 3; sent++) {
		send_many(sockets[0], sent);
		header.msg_control = control.bytes;
		header.msg_controllen = sizeof(control.bytes);
		CHECK(__real_recvmsg(sockets[1], &header, MSG_DONTWAIT) == 1);
		CHECK(descriptors_take(&header, fds, 2, &nr) == (sent <= 2));
		CHECK(nr == (sent < 2 ? sent : 2));
		while (nr)
			close(fds[--nr]);
	}
}

/* Only attached descriptors are returned. */
static void test_attached(void)
{
	union {
		char bytes[3 * CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control = {.bytes = {0}};
	struct msghdr header = {.msg_control = control.bytes, .msg_controllen = sizeof(control)};
	struct cmsghdr *attached = CMSG_FIRSTHDR(&header);
	int fds[DESCRIPTORS_AT_ONCE] = {0};
	size_t nr = 7;

	for (int i = 0; i < 3; i++) {
		const int numbers[2] = {10 + i, 20 + i};

		attached->cmsg_level = i == 0 ? SOL_SOCKET + 1 : SOL_SOCKET;
		attached->cmsg_type = i == 1 ? SCM_CREDENTIALS : SCM_RIGHTS;
		attached->cmsg_len = CMSG_LEN(sizeof(numbers));
		memcpy(CMSG_DATA(attached), numbers, sizeof(numbers));
		attached = (struct cmsghdr *)(void *)((char *)attached +
				CMSG_SPACE(sizeof(numbers)));
	}
	CHECK(descriptors_take(&header, fds, DESCRIPTORS_AT_ONCE, &nr) && nr == 2);
	CHECK(fds[0] == 12 && fds[1] == 22 && !fds[2]);
}

static void test_failures(void)
{
	struct descriptors_received received = {.nr = 5};
	char byte;

	CHECK(descriptors_receive(sockets[1], &byte, 1, MSG_DONTWAIT, &received) == -EAGAIN);
	CHECK(!received.nr);
	played_error = ENOBUFS;
	CHECK(descriptors_send(sockets[0], "x", 1, NULL, 0, 0) == -ENOBUFS);
	CHECK(descriptors_receive(sockets[1], &byte, 1, MSG_DONTWAIT, &received) == -ENOBUFS);
	played_reset();
	CHECK(descriptors_send(sockets[0], "ab", 2, NULL, 0, 0) == 2);
	CHECK(descriptors_receive(sockets[1], &byte, 1, MSG_DONTWAIT, &received) == 1);
	CHECK(received.flags & MSG_TRUNC);
	close(sockets[1]);
	/* No signal is sent. */
	CHECK(descriptors_send(sockets[0], "x", 1, NULL, 0, 0) == -EPIPE);
	close(sockets[0]);
}

int main(void)
{
	unsigned int before = count_open();

	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets));
	for (size_t nr = 0; nr <= DESCRIPTORS_AT_ONCE; nr++)
		test_some(nr);
	test_too_many();
	test_take();
	test_attached();
	test_failures();
	CHECK(count_open() == before);
	return 0;
}
