/* SPDX-License-Identifier: MIT */
/* Telling recorders that there are new events (protocol/kernel-notice.h): where nobody listens, some refused calls, once for each batch. */
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/inside/clock.h"
#include "base/environment/environment.h"
#include "tracers/user-events/user-events.h"
#include "protocol/kernel-notice.h"

#define TIMEOUT_FACTOR_MAX 3600

/* Only who may see the events anyway can make us wait. */
static bool is_trusted(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) &&
			(!peer.uid || peer.uid == geteuid());
}

/* As the agent's, on machines that are slow or busy. */
static int64_t notice_timeout_ms(void)
{
	const char *text = environment_get("SIDE_TIMEOUT_FACTOR");
	long factor;

	/* The name in earlier releases: the next release does not read it. */
	if (!text)
		text = environment_get("SIDE_PATIENCE");
	factor = text ? strtol(text, NULL, 10) : 1;

	return KERNEL_NOTICE_TIMEOUT_MS *
			(factor < 1 ? 1
							: factor > TIMEOUT_FACTOR_MAX
							? TIMEOUT_FACTOR_MAX
							: factor);
}

void notice_send(void)
{
	int64_t until = (int64_t)clock_monotonic_ms() + notice_timeout_ms(), left;
	int fds[KERNEL_NOTICE_MAX], saved_errno = errno, i;
	struct sockaddr_un address;

	for (i = 0; i < KERNEL_NOTICE_MAX; i++) {
		socklen_t size = kernel_notice_address(&address, i);

		fds[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (fds[i] >= 0 &&
				(connect(fds[i], (struct sockaddr *)&address, size) ||
						!is_trusted(fds[i]))) {
			(void)close(fds[i]);
			fds[i] = -1;
		}
	}
	/* All of them look at the same time. */
	for (i = 0; i < KERNEL_NOTICE_MAX; i++) {
		struct pollfd end = {.fd = fds[i], .events = POLLIN};

		left = until - (int64_t)clock_monotonic_ms();
		if (fds[i] < 0)
			continue;
		if (left > 0)
			(void)poll(&end, 1, (int)left);
		(void)close(fds[i]);
	}
	errno = saved_errno;
}
