/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROTOCOL_KERNEL_NOTICE_H
#define SIDE_PROTOCOL_KERNEL_NOTICE_H

/*
 * Notifies recorders of the kernel's events of user_events that a program has just registered,
 * because tracefs sends no notification.
 *
 * Each recorder that waits for user_events listens at an abstract Unix socket, whose name is this
 * one with a number behind it. A program connects to all of them and waits until the recorder
 * closes the connection: by then the recorder has enabled the events that it records. Names of
 * other network namespaces are not visible; therefore recorders also poll tracefs.
 */
#define KERNEL_NOTICE_NAME "side-user-events-"
#define KERNEL_NOTICE_MAX 4
/* Longest time that a program waits for a recorder, which may be hostile. */
#define KERNEL_NOTICE_TIMEOUT_MS 100

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Fill in the address. Returns its length. */
static inline socklen_t kernel_notice_address(struct sockaddr_un *ret_address, int number)
{
	memset(ret_address, 0, sizeof(*ret_address));
	ret_address->sun_family = AF_UNIX;
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			(size_t)snprintf(ret_address->sun_path + 1,
					sizeof(ret_address->sun_path) - 1, KERNEL_NOTICE_NAME "%d",
					number));
}

#endif
