/* SPDX-License-Identifier: MIT */
/*
 * Opens the kernel's reports of executed files, with a kernel that this file plays: it answers, or
 * reports other processes without end and does not answer.
 *
 * It includes exec-events.c.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include "../check.h"

static int nr_reports;   /* of other processes */
static int answer_after; /* so many reports; -1: never */

static int played_poll(struct pollfd *watched, nfds_t nr, int timeout_ms)
{
	CHECK(nr == 1 && timeout_ms >= 0 && timeout_ms <= 100);
	watched->revents = POLLIN;
	return 1;
}

static ssize_t played_receive(int fd, void *message, size_t size, int flags, struct sockaddr *from,
		socklen_t *length);

#define poll played_poll
#define recvfrom(fd, message, size, flags, from, length) \
	played_receive(fd, message, size, flags, from, length)
#define socket(family, type, protocol) ((void)(family), (void)(type), (void)(protocol), 100)
#define setsockopt(fd, level, name, value, size) ((void)(fd), (void)(value), (void)(size), 0)
#define bind(fd, address, size) ((void)(fd), (void)(address), (void)(size), 0)
#define send(fd, message, size, flags) ((void)(fd), (void)(message), (ssize_t)(size))
#define close(fd) ((void)(fd))
#include "sessions/exec-events.c"

static ssize_t played_receive(int fd, void *message, size_t size, int flags, struct sockaddr *from,
		socklen_t *length)
{
	const struct cn_msg connector = {.id = {.idx = CN_IDX_PROC, .val = CN_VAL_PROC}};
	struct exec_events_message report = {.header = {.nlmsg_type = NLMSG_DONE}};
	struct proc_event event = {.what = PROC_EVENT_FORK};

	(void)fd;
	(void)flags;
	(void)length;
	CHECK(size == sizeof(report));
	*(struct sockaddr_nl *)(void *)from = (struct sockaddr_nl){.nl_family = AF_NETLINK};
	if (nr_reports++ == answer_after)
		event.what = PROC_EVENT_NONE;
	memcpy(report.connector, &connector, sizeof(connector));
	memcpy(report.event, &event, sizeof(event));
	memcpy(message, &report, sizeof(report));
	return sizeof(report);
}

int main(void)
{
	answer_after = 5;
	CHECK(exec_events_open() == 100);
	CHECK(nr_reports == 6);
	/* Reports of other processes do not extend the wait. */
	answer_after = -1;
	CHECK(exec_events_open() == -ETIMEDOUT);
	return 0;
}
