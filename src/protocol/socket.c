/* SPDX-License-Identifier: MIT */
/* Connections: each call ends at its deadline, whatever the other side does. */
#include "base/inside/clock.h"
#include "protocol/protocol.h"
#include "base/inside/descriptors.h"
#include "base/inside/raw.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>

/* Interval between tries while the listener's queue is full; the kernel sends no notification. */
#define CONNECT_RETRY_NS 2000000ull

/*
 * Tell ThreadSanitizer that a send happens before the receive of the message, if both are in one
 * process, as in tests. The kernel's socket guarantees this order, but ThreadSanitizer intercepts
 * only functions of the C library, not raw system calls. Each send releases, and each receive
 * acquires, one word for all connections.
 */
#ifdef RAW_IS_WATCHED
void __tsan_acquire(void *word);
void __tsan_release(void *word);

static char order_of_messages;

static void before_send(void)
{
	__tsan_release(&order_of_messages);
}

static void after_receive(void)
{
	__tsan_acquire(&order_of_messages);
}
#else
static void before_send(void) {}

static void after_receive(void) {}
#endif

/* The timespec of SYS_ppoll, independent of time_t. */
struct raw_timespec {
	long seconds;
	long nanoseconds;
};

uint64_t wire_deadline(unsigned int timeout_ms)
{
	return clock_monotonic_ns() + (uint64_t)timeout_ms * CLOCK_NS_PER_MS;
}

/* Wait for `events` (fd -1: only for the deadline). 0, -ETIMEDOUT or another error. */
static int socket_wait_until(int fd, short events, uint64_t deadline)
{
	for (;;) {
		struct pollfd poll = {.fd = fd, .events = events};
		uint64_t now = clock_monotonic_ns();
		struct raw_timespec left;
		long ret;

		if (now >= deadline)
			return -ETIMEDOUT;
		left.seconds = (long)((deadline - now) / CLOCK_NS_PER_S);
		left.nanoseconds = (long)((deadline - now) % CLOCK_NS_PER_S);
		ret = raw_call(SYS_ppoll, &poll, fd < 0 ? 0 : 1, &left, NULL, 0);
		if (ret > 0)
			return 0;
		if (ret < 0 && ret != -EINTR)
			return (int)ret;
	}
}

int wire_wait(int socket, uint64_t deadline)
{
	struct pollfd poll = {.fd = socket, .events = POLLIN};
	struct raw_timespec none = {0, 0};
	long ret = raw_call(SYS_ppoll, &poll, 1, &none, NULL, 0);

	if (ret > 0)
		return 0;
	return ret < 0 && ret != -EINTR ? (int)ret : socket_wait_until(socket, POLLIN, deadline);
}

void wire_close(int fd)
{
	if (fd >= 0)
		raw_close(fd);
}

socklen_t wire_socket_name(struct sockaddr_un *address)
{
	size_t size;

	if (address->sun_path[0] != '@')
		return sizeof(*address);
	size = strnlen(address->sun_path, sizeof(address->sun_path));
	address->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size);
}

int wire_connect(const char *path, uint64_t deadline)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t size = strlen(path);
	socklen_t length;
	long fd, ret;

	if (!size || size >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, size);
	length = wire_socket_name(&address);
	fd = raw_call(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return (int)fd;
	for (;;) {
		uint64_t retry;

		ret = raw_call(SYS_connect, (int)fd, &address, (long)length);
		if (!ret)
			return (int)fd;
		if (ret != -EAGAIN && ret != -EINTR)
			break;
		retry = clock_monotonic_ns() + CONNECT_RETRY_NS;
		if (retry > deadline) {
			ret = -ETIMEDOUT;
			break;
		}
		socket_wait_until(-1, 0, retry);
	}
	raw_close((int)fd);
	return (int)ret;
}

int wire_send(int socket, const void *message, size_t size, const int *fds, size_t nr_fds,
		uint64_t deadline)
{
	DESCRIPTORS_CONTROL(WIRE_FDS_MAX) control = {.bytes = {0}};
	struct iovec iov = {.iov_len = size};
	struct msghdr header = {.msg_iov = &iov, .msg_iovlen = 1};

	if (nr_fds > WIRE_FDS_MAX)
		return -EINVAL;
	/* struct iovec has no const; sendmsg() only reads. */
	memcpy(&iov.iov_base, &message, sizeof(message));
	descriptors_attach(&header, control.bytes, fds, nr_fds);
	before_send();
	for (;;) {
		long ret = raw_call(SYS_sendmsg, socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (ret >= 0)
			return (size_t)ret == size ? 0 : -EPROTO;
		if (ret == -EINTR)
			continue;
		if (ret != -EAGAIN || !deadline)
			return (int)ret;
		ret = socket_wait_until(socket, POLLOUT, deadline);
		if (ret)
			return (int)ret;
	}
}

ssize_t wire_receive(int socket, void *message, size_t capacity, int *fds, size_t *nr_fds,
		uint64_t deadline)
{
	DESCRIPTORS_CONTROL(WIRE_FDS_MAX) control;
	struct iovec iov = {.iov_base = message, .iov_len = capacity};
	struct msghdr header = {.msg_iov = &iov, .msg_iovlen = 1};
	size_t space = nr_fds ? *nr_fds : 0;
	size_t got = 0;
	long ret;

	for (;;) {
		header.msg_control = control.bytes;
		header.msg_controllen = sizeof(control.bytes);
		header.msg_flags = 0;
		ret = raw_call(SYS_recvmsg, socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		if (ret >= 0)
			break;
		if (ret == -EINTR)
			continue;
		if (ret != -EAGAIN || !deadline)
			return ret;
		ret = socket_wait_until(socket, POLLIN, deadline);
		if (ret)
			return ret;
	}
	after_receive();
	if (!descriptors_take(&header, fds, space, &got) ||
			(header.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) {
		while (got)
			raw_close(fds[--got]);
		if (nr_fds)
			*nr_fds = 0;
		return -EPROTO;
	}
	if (nr_fds)
		*nr_fds = got;
	return ret;
}
