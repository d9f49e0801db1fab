/* SPDX-License-Identifier: MIT */
/*
 * Runs a program and holds some of its system calls, as if the scheduler did not run the thread, or
 * the call never returned.
 *
 *	held-calls SOCKET PROGRAM [ARGUMENT]...
 *
 * A test connects to SOCKET and sends the name of a call in `calls`. From then on it receives a
 * line for each call that is held. Each message from the test continues the oldest held call. All
 * calls continue when the test closes its connection. Exit status 77: the kernel cannot hold calls.
 */
#include <errno.h>
#include <linux/close_range.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../seccomp-filter.h"

#define HELD_MAX 256
#define SKIPPED 77

#ifdef SYS_poll
#define POLL SYS_poll
#define POLL_FOREVER (-1)
#else
#define POLL SYS_ppoll
#define POLL_FOREVER 0 /* no time limit */
#endif

/*
 * Held: a thread creates its own descriptor table; a thread exits; an acceptor waits for a
 * connection.
 */
static const struct {
	const char *name;
	int number;
} calls[] = {{"close_range", SYS_close_range}, {"exit", SYS_exit}, {"poll", POLL}};

static int install(void)
{
	struct sock_filter filter[] = {
			LOAD(nr),
			IF(SYS_exit, 7, 0),
			IF(SYS_close_range, 0, 2),
			LOAD_ARGUMENT(2),
			IF(CLOSE_RANGE_UNSHARE, 4, 3),
			IF(POLL, 0, 2),
			LOAD_ARGUMENT(2),
			IF(POLL_FOREVER, 1, 0),
			RETURN(SECCOMP_RET_ALLOW),
			RETURN(SECCOMP_RET_USER_NOTIF),
	};
	struct sock_fprog program = {.len = sizeof(filter) / sizeof(*filter), .filter = filter};

	if (geteuid() && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			&program);
}

/* ---- the supervisor ---- */

struct holder {
	int filter, listener, client;
	int number; /* number of the held call; -1: none yet */
	__u64 held[HELD_MAX];
	size_t nr;
};

static void let_continue(const struct holder *holder, __u64 id)
{
	struct seccomp_notif_resp answer = {.id = id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};

	/* The thread may have been killed meanwhile. */
	(void)ioctl(holder->filter, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

static void take_call(struct holder *holder)
{
	struct seccomp_notif call = {.id = 0};
	char line[64];
	int size;

	if (ioctl(holder->filter, SECCOMP_IOCTL_NOTIF_RECV, &call))
		return;
	if (holder->client < 0 || call.data.nr != holder->number || holder->nr == HELD_MAX) {
		let_continue(holder, call.id);
		return;
	}
	holder->held[holder->nr++] = call.id;
	size = snprintf(line, sizeof(line), "%u", call.pid);
	(void)send(holder->client, line, (size_t)size, MSG_NOSIGNAL);
}

static void release_oldest(struct holder *holder)
{
	if (!holder->nr)
		return;
	let_continue(holder, holder->held[0]);
	holder->nr--;
	memmove(holder->held, holder->held + 1, holder->nr * sizeof(*holder->held));
}

static void take_message(struct holder *holder)
{
	char message[64];
	ssize_t size = recv(holder->client, message, sizeof(message) - 1, 0);
	size_t i;

	if (size <= 0) {
		close(holder->client);
		holder->client = holder->number = -1;
		while (holder->nr)
			release_oldest(holder);
		return;
	}
	message[size] = 0;
	if (holder->number >= 0) {
		release_oldest(holder);
		return;
	}
	for (i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (!strcmp(calls[i].name, message))
			holder->number = calls[i].number;
	(void)send(holder->client, "ready", 5, MSG_NOSIGNAL);
}

static void hold(struct holder *holder)
{
	for (;;) {
		struct pollfd fds[] = {{.fd = holder->filter, .events = POLLIN},
				{.fd = holder->client < 0 ? holder->listener : holder->client,
						.events = POLLIN}};

		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return;
		/* All processes with the filter have ended. */
		if (fds[0].revents & POLLHUP)
			return;
		if (fds[0].revents & POLLIN)
			take_call(holder);
		if (fds[1].revents && holder->client < 0)
			holder->client = accept(holder->listener, NULL, NULL);
		else if (fds[1].revents)
			take_message(holder);
	}
}

/* ---- both ---- */

static int listen_at(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, 1))
		return -1;
	return fd;
}

static void send_descriptor(int socket, int fd)
{
	char byte = 0, control[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec part = {.iov_base = &byte, .iov_len = 1};
	struct msghdr header = {.msg_iov = &part,
			.msg_iovlen = 1,
			.msg_control = control,
			.msg_controllen = sizeof(control)};
	struct cmsghdr *attached = CMSG_FIRSTHDR(&header);

	attached->cmsg_level = SOL_SOCKET;
	attached->cmsg_type = SCM_RIGHTS;
	attached->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(attached), &fd, sizeof(int));
	(void)sendmsg(socket, &header, MSG_NOSIGNAL);
}

static int receive_descriptor(int socket)
{
	char byte, control[CMSG_SPACE(sizeof(int))];
	struct iovec part = {.iov_base = &byte, .iov_len = 1};
	struct msghdr header = {.msg_iov = &part,
			.msg_iovlen = 1,
			.msg_control = control,
			.msg_controllen = sizeof(control)};
	int fd = -1;

	if (recvmsg(socket, &header, MSG_CMSG_CLOEXEC) == 1 && CMSG_FIRSTHDR(&header))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&header)), sizeof(int));
	return fd;
}

/* Fork twice, so that the program has no unknown child. */
static void begin_holder(const char *path, const int ends[2])
{
	struct holder holder = {.client = -1, .number = -1};
	int listener = listen_at(path);

	close(ends[1]);
	if (listener < 0 || fork())
		_exit(listener < 0);
	setsid();
	holder.listener = listener;
	holder.filter = receive_descriptor(ends[0]);
	close(ends[0]);
	if (holder.filter >= 0)
		hold(&holder);
	_exit(0);
}

int main(int argc, char **argv)
{
	int ends[2], filter, status = 1;

	if (argc < 3 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return 2;
	if (!fork())
		begin_holder(argv[1], ends);
	close(ends[0]);
	if (wait(&status) < 0 || status) {
		fprintf(stderr, "held-calls: cannot listen at %s\n", argv[1]);
		return 2;
	}
	filter = install();
	if (filter < 0) {
		perror("held-calls: seccomp");
		return SKIPPED;
	}
	send_descriptor(ends[1], filter);
	close(ends[1]);
	close(filter);
	execv(argv[2], argv + 2);
	perror(argv[2]);
	return 2;
}
