/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROTOCOL_KERNEL_NOTICE_H
#define SIDE_PROTOCOL_KERNEL_NOTICE_H

/*
 * How recorders of the kernel's events hear of user_events that a program has just registered: tracefs tells nobody. Each recorder that waits for
 * some listens at an abstract Unix socket, this name with a number behind it. A program connects to all that there are and waits until the other
 * end is closed: by then its events are switched on, if they are wanted. Names of other network name spaces are not seen; recorders look by
 * themselves, too, now and then.
 */
#define KERNEL_NOTICE_NAME "side-user-events-"
#define KERNEL_NOTICE_MAX 4
/* A program waits no longer than that, whoever listens there. */
#define KERNEL_NOTICE_TIMEOUT_MS 100

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

/* The length of the address. */
static inline socklen_t kernel_notice_address(struct sockaddr_un *address, int number)
{
	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			(size_t)snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1,
					KERNEL_NOTICE_NAME "%d", number));
}

#endif
