/* SPDX-License-Identifier: MIT */
/*
 * Notifies recorders of the kernel's events of newly registered events (protocol/kernel-notice.h).
 * Without a recorder, this is a few refused system calls for each batch.
 */
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

/* Wait only for peers that may see the events anyway: root, and the user of this process. */
static bool user_events_notice_is_trusted(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) &&
			(!peer.uid || peer.uid == geteuid());
}

/*
 * Returns the timeout; SIDE_TIMEOUT_FACTOR multiplies it on slow or busy machines, as for the
 * agent.
 */
static int64_t user_events_notice_timeout_ms(void)
{
	const char *text = environment_get("SIDE_TIMEOUT_FACTOR");
	long factor;

	/* The name in earlier releases. It is deprecated: the next release does not read it. */
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
	int64_t until = (int64_t)clock_monotonic_ms() + user_events_notice_timeout_ms(), left;
	int fds[KERNEL_NOTICE_MAX], saved_errno = errno, i;
	struct sockaddr_un address;

	for (i = 0; i < KERNEL_NOTICE_MAX; i++) {
		socklen_t size = kernel_notice_address(&address, i);

		fds[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (fds[i] >= 0 &&
				(connect(fds[i], (struct sockaddr *)&address, size) ||
						!user_events_notice_is_trusted(fds[i]))) {
			(void)close(fds[i]);
			fds[i] = -1;
		}
	}
	/* The recorders scan in parallel, so one deadline covers all of them. */
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
