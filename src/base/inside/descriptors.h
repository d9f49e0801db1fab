/* SPDX-License-Identifier: MIT */
/*
 * Descriptors as ancillary data of a message (SCM_RIGHTS): written into a header before sendmsg(),
 * taken out of it after recvmsg().
 *
 * For code that calls the kernel itself; programs use base/descriptors.h.
 */
#ifndef SIDE_BASE_INSIDE_DESCRIPTORS_H
#define SIDE_BASE_INSIDE_DESCRIPTORS_H

#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "base/inside/raw.h"

/* The type of a buffer for so many descriptors, aligned as the kernel expects it. */
#define DESCRIPTORS_CONTROL(count)                             \
	union {                                                \
		char bytes[CMSG_SPACE((count) * sizeof(int))]; \
		struct cmsghdr align;                          \
	}

/*
 * Attach descriptors to a message; nr may be 0. The control buffer has space for them and is
 * zeroed.
 */
static inline void descriptors_attach(
		struct msghdr *header, void *control, const int *fds, size_t nr)
{
	struct cmsghdr *attached;

	if (!nr)
		return;
	header->msg_control = control;
	header->msg_controllen = CMSG_SPACE(nr * sizeof(int));
	attached = CMSG_FIRSTHDR(header);
	attached->cmsg_level = SOL_SOCKET;
	attached->cmsg_type = SCM_RIGHTS;
	attached->cmsg_len = CMSG_LEN(nr * sizeof(int));
	memcpy(CMSG_DATA(attached), fds, nr * sizeof(int));
}

/*
 * Take the descriptors out of a received message. The sender is not trusted: what does not fit is
 * closed, and the result is then false. Messages whose flags have MSG_CTRUNC have lost descriptors
 * before, in the kernel.
 */
static inline bool descriptors_take(
		struct msghdr *header, int *ret_fds, size_t capacity, size_t *ret_nr)
{
	struct cmsghdr *attached;
	bool fits = true;

	*ret_nr = 0;
	for (attached = CMSG_FIRSTHDR(header); attached; attached = CMSG_NXTHDR(header, attached)) {
		size_t nr, i;

		if (attached->cmsg_level != SOL_SOCKET || attached->cmsg_type != SCM_RIGHTS)
			continue;
		nr = (attached->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (i = 0; i < nr; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(attached) + i * sizeof(int), sizeof(int));
			if (*ret_nr < capacity) {
				ret_fds[(*ret_nr)++] = fd;
			} else {
				(void)raw_close(fd);
				fits = false;
			}
		}
	}
	return fits;
}

#endif /* SIDE_BASE_INSIDE_DESCRIPTORS_H */
