/* SPDX-License-Identifier: MIT */
/* Receives the kernel's reports of processes that have executed a file. */
#include "sessions/exec-events.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

/* For the answer to the subscription. The kernel gives it at once, or never. */
#define ANSWER_MS 100
#define QUEUE_BYTES (4 * 1024 * 1024) /* of reports: several thousand */

/* A message from or to the kernel. Not all of it is aligned. */
struct exec_events_message {
	struct nlmsghdr header;
	uint8_t connector[sizeof(struct cn_msg)];
	uint8_t event[sizeof(struct proc_event)];
};

static int exec_events_subscribe(int fd)
{
	const uint32_t operation = PROC_CN_MCAST_LISTEN;
	const struct cn_msg connector = {
			.id = {.idx = CN_IDX_PROC, .val = CN_VAL_PROC}, .len = sizeof(operation)};
	struct exec_events_message message = {
			.header = {.nlmsg_len = offsetof(struct exec_events_message, event) +
							sizeof(operation),
					.nlmsg_type = NLMSG_DONE,
					.nlmsg_pid = (uint32_t)getpid()},
	};

	memcpy(message.connector, &connector, sizeof(connector));
	memcpy(message.event, &operation, sizeof(operation));
	return send(fd, &message, message.header.nlmsg_len, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Returns the size of the event, 0 if the message is not for us, or a negative errno. */
static ssize_t exec_events_receive(int fd, struct proc_event *ret_event)
{
	struct exec_events_message message;
	struct cn_msg connector;
	struct sockaddr_nl from = {.nl_family = AF_NETLINK};
	socklen_t length = sizeof(from);
	ssize_t size;

	do
		size = recvfrom(fd, &message, sizeof(message), MSG_DONTWAIT, (void *)&from,
				&length);
	while (size < 0 && errno == EINTR);
	if (size < 0)
		return -errno;
	/* Other processes can send to this socket; only the kernel has the number 0. */
	if (from.nl_pid || size < (ssize_t)offsetof(struct exec_events_message, event))
		return 0;
	memcpy(&connector, message.connector, sizeof(connector));
	if (connector.id.idx != CN_IDX_PROC)
		return 0;
	size -= (ssize_t)offsetof(struct exec_events_message, event);
	memset(ret_event, 0, sizeof(*ret_event));
	memcpy(ret_event, message.event, (size_t)size);
	return size;
}

/*
 * Wait for the kernel's answer: without the namespaces that it requires, there is none. Reports of
 * other processes do not extend the time.
 */
static int exec_events_wait(int fd)
{
	struct pollfd watched = {.fd = fd, .events = POLLIN};
	uint64_t deadline = deadline_after_ms(ANSWER_MS);
	struct proc_event event = {0};

	while (!deadline_is_over(deadline) &&
			poll(&watched, 1, deadline_remaining_ms(deadline)) > 0) {
		ssize_t size = exec_events_receive(fd, &event);

		if (size < 0 && size != -EAGAIN)
			return (int)size;
		/* PROC_EVENT_NONE is the answer, or the one to another process. */
		if (size > 0 && !event.what)
			return -(int)event.event_data.ack.err;
	}
	return -ETIMEDOUT;
}

/* The reports of forks and ends of processes need not be received. */
static int exec_events_filter(int fd)
{
	struct sock_filter code[] = {
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					offsetof(struct exec_events_message, event)),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(PROC_EVENT_EXEC), 0, 1),
			BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
			BPF_STMT(BPF_RET | BPF_K, 0),
	};
	const struct sock_fprog program = {.len = sizeof(code) / sizeof(*code), .filter = code};

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) ? -errno : 0;
}

int exec_events_open(void)
{
	const struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC};
	const int bytes = QUEUE_BYTES;
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_CONNECTOR);
	int ret;

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes));
	ret = bind(fd, (const void *)&address, sizeof(address)) ? -errno : 0;
	if (!ret)
		ret = exec_events_subscribe(fd);
	if (!ret)
		ret = exec_events_wait(fd);
	if (!ret)
		ret = exec_events_filter(fd);
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

pid_t exec_events_next(int fd)
{
	struct proc_event event = {0};
	ssize_t size;

	for (;;) {
		size = exec_events_receive(fd, &event);
		if (size < 0)
			return (pid_t)size;
		if (size && event.what == PROC_EVENT_EXEC && event.event_data.exec.process_tgid > 0)
			return event.event_data.exec.process_tgid;
	}
}
