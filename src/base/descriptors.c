/* SPDX-License-Identifier: MIT */
/* Messages of Unix sockets that carry descriptors (SCM_RIGHTS), sent and received by programs. */
#include "base/descriptors.h"

#include <errno.h>
#include <sys/uio.h>

ssize_t descriptors_send(
		int socket, const void *bytes, size_t size, const int *fds, size_t nr, int flags)
{
	DESCRIPTORS_CONTROL(DESCRIPTORS_AT_ONCE) control = {.bytes = {0}};
	struct iovec part = {.iov_len = size};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
	ssize_t sent;

	if (nr > DESCRIPTORS_AT_ONCE)
		return -E2BIG;
	/* struct iovec has no const; sendmsg() only reads. */
	memcpy(&part.iov_base, &bytes, sizeof(bytes));
	descriptors_attach(&header, control.bytes, fds, nr);
	do
		sent = sendmsg(socket, &header, flags | MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : sent;
}

ssize_t descriptors_receive(int socket, void *ret_bytes, size_t capacity, int flags,
		struct descriptors_received *ret_received)
{
	DESCRIPTORS_CONTROL(DESCRIPTORS_AT_ONCE) control;
	struct iovec part = {.iov_base = ret_bytes, .iov_len = capacity};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
	ssize_t size;

	ret_received->nr = 0;
	ret_received->flags = 0;
	do {
		header.msg_control = control.bytes;
		header.msg_controllen = sizeof(control.bytes);
		size = recvmsg(socket, &header, flags | MSG_CMSG_CLOEXEC);
	} while (size < 0 && errno == EINTR);
	if (size < 0)
		return -errno;
	ret_received->flags = header.msg_flags;
	/*
	 * All fit, because the control buffer has space for no more: the kernel then closes the
	 * others and sets MSG_CTRUNC.
	 */
	(void)descriptors_take(&header, ret_received->fds, DESCRIPTORS_AT_ONCE, &ret_received->nr);
	return size;
}

void descriptors_close(struct descriptors_received *received)
{
	while (received->nr)
		close(received->fds[--received->nr]);
}
