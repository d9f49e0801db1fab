/* SPDX-License-Identifier: MIT */
/*
 * A child is forked while connections are due to be closed. It closes its own connections, and no
 * descriptor that has the number of one of the parent's. The thread of thread_defer() is held until
 * the child has exited.
 */
#include "../check.h"
#include "recorder/core/peer.h"
#include "recorder/core/thread.h"

#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static sem_t is_held, is_released;

static void hold(struct deferred *deferred)
{
	(void)deferred;
	sem_post(&is_held);
	sem_wait(&is_released);
}

/*
 * Two connected sockets. The first one has a message with a descriptor, so a thread has to close
 * it.
 */
static void connect_both(int pair[2])
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.bytes = ""};
	char byte = 0;
	struct iovec part = {.iov_base = &byte, .iov_len = 1};
	struct msghdr header = {.msg_iov = &part,
			.msg_iovlen = 1,
			.msg_control = control.bytes,
			.msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *message = CMSG_FIRSTHDR(&header);

	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair));
	message->cmsg_level = SOL_SOCKET;
	message->cmsg_type = SCM_RIGHTS;
	message->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(message), &pair[1], sizeof(int));
	CHECK(sendmsg(pair[1], &header, 0) == 1);
}

/*
 * The message in the closed socket contains a duplicate of the other end, so only the descriptor
 * number shows the close.
 */
static void await_close(int fd)
{
	while (fcntl(fd, F_GETFD) >= 0)
		poll(NULL, 0, 1);
}

static void run_child(int number)
{
	int pair[2], other;

	close(number);
	other = open("/dev/null", O_RDONLY | O_CLOEXEC);
	CHECK(other >= 0 && dup2(other, number) == number);
	connect_both(pair);
	peer_close(pair[0], false);
	await_close(pair[0]);
	CHECK(fcntl(number, F_GETFD) >= 0);
	_exit(EXIT_SUCCESS);
}

int main(void)
{
	struct deferred held = {.run = hold};
	int pair[2], status = 0;
	pid_t child;

	sem_init(&is_held, 0, 0);
	sem_init(&is_released, 0, 0);
	CHECK(!thread_defer(&held));
	sem_wait(&is_held);
	connect_both(pair);
	peer_close(pair[0], false);
	child = fork();
	if (!child)
		run_child(pair[0]);
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	CHECK(!status);
	CHECK(fcntl(pair[0], F_GETFD) >= 0);
	sem_post(&is_released);
	await_close(pair[0]);
	close(pair[1]);
	return EXIT_SUCCESS;
}
