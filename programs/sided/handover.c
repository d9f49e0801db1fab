/* SPDX-License-Identifier: MIT */
/*
 * Receives descriptors from clients: probe tables (sealed memfds) and rendezvous sockets.
 *
 * A client can send other descriptors, and closing these can block: the last close of a lingering
 * socket, or any close of a FUSE file. The loop therefore leaves messages with descriptors in the
 * queue. A thread with its own descriptor table receives the message, and passes probe tables and
 * rendezvous sockets to the loop through a socket pair. A thread that is blocked in close() counts
 * towards LIMIT_HANDOVERS_OF_USER of its user. The thread of thread_defer() starts these threads,
 * so the loop does not wait until a thread has its table.
 */
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/close_range.h>

#include "base/descriptors.h"
#include "sessions/rendezvous.h"
#include "recorder/core/peer.h"
#include "recorder/core/thread.h"
#include "sided.h"

#define STACK_SIZE (256u << 10)
#define LIMIT_HANDOVERS_OF_USER 8

struct handover {
	struct deferred deferred;
	struct handover *next;
	uid_t uid;
	int client, result; /* duplicates of the descriptors; valid in both tables */
	bool owns_table;
	sem_t has_two, is_released;
	atomic_bool is_done; /* the thread no longer uses this structure */
	char text[FRAME_MAX];
};

/*
 * True if closing the descriptor never blocks. For a listening socket, this does not hold for
 * connections in its queue.
 */
static bool handover_close_is_nonblocking(int fd)
{
	return fcntl(fd, F_GET_SEALS) >= 0 || rendezvous_is_listener(fd);
}

void handover_close(int fd)
{
	if (fd < 0)
		return;
	if (rendezvous_is_listener(fd))
		peer_close_listener(fd, false);
	else
		close(fd);
}

/* ---- the thread ---- */

static void keep_two(int one, int other)
{
	int first = one < other ? one : other, second = one < other ? other : one;

	if (first)
		(void)syscall(SYS_close_range, 0, first - 1, 0);
	if (second > first + 1)
		(void)syscall(SYS_close_range, first + 1, second - 1, 0);
	(void)syscall(SYS_close_range, second + 1, ~0u, 0);
}

static void receive_and_pass(struct handover *handover)
{
	const struct linger none = {.l_onoff = 0};
	struct descriptors_received received;
	int wanted = -1;
	ssize_t size = descriptors_receive(handover->client, handover->text, sizeof(handover->text),
			MSG_DONTWAIT, &received);
	size_t i;

	for (i = 0; i < received.nr; i++)
		if (handover_close_is_nonblocking(received.fds[i]))
			wanted = received.fds[i];
	/*
	 * Do not pass on a message that is too long, and ignore an error of the socket pair:
	 * without a message, the loop closes the connection.
	 */
	if (size > 0 && !(received.flags & MSG_TRUNC))
		(void)descriptors_send(handover->result, handover->text, (size_t)size, &wanted,
				wanted >= 0, 0);
	close(handover->result);
	for (i = 0; i < received.nr; i++)
		(void)setsockopt(received.fds[i], SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	descriptors_close(&received);
	close(handover->client);
}

static void *handover_run(void *user)
{
	struct handover *handover = user;

	handover->owns_table = !syscall(SYS_close_range, ~0u, ~0u, CLOSE_RANGE_UNSHARE);
	/*
	 * Close all other descriptors before the thread of thread_defer() continues. That thread
	 * closes sockets that can block (close_due() of peer.c). No copy here is then the last one,
	 * so another user's descriptor cannot block this thread.
	 */
	if (handover->owns_table)
		keep_two(handover->client, handover->result);
	sem_post(&handover->has_two);
	/*
	 * Wait until the other table has no duplicate. Otherwise the last close of the client's
	 * socket could happen there.
	 */
	while (sem_wait(&handover->is_released) && errno == EINTR)
		;
	if (handover->owns_table)
		receive_and_pass(handover);
	/* Release: pairs with the acquire in free_done(). */
	atomic_store_explicit(&handover->is_done, true, memory_order_release);
	return NULL;
}

/* ---- the thread of thread_defer() ---- */

/*
 * Closes both descriptors. Uses peer_close(): the loop may have closed the client meanwhile, so the
 * queue may contain any message.
 */
static void close_both(const struct handover *handover)
{
	close(handover->result);
	peer_close(handover->client, false);
}

static void handover_start(struct deferred *deferred)
{
	struct handover *handover = (struct handover *)(void *)deferred;

	if (thread_start(NULL, STACK_SIZE, handover_run, handover)) {
		close_both(handover);
		/* Release: what this thread did. Pairs with the acquire in free_done(). */
		atomic_store_explicit(&handover->is_done, true, memory_order_release);
		return;
	}
	while (sem_wait(&handover->has_two) && errno == EINTR)
		;
	if (handover->owns_table) {
		close(handover->result);
		close(handover->client);
	} else {
		close_both(handover);
	}
	sem_post(&handover->is_released);
}

/* ---- the loop ---- */

static void handover_free(struct handover *handover)
{
	sem_destroy(&handover->has_two);
	sem_destroy(&handover->is_released);
	free(handover);
}

static unsigned int free_done(struct daemon *daemon, uid_t uid)
{
	struct handover **at = &daemon->handovers;
	unsigned int nr = 0;

	while (*at) {
		struct handover *handover = *at;

		/*
		 * Acquire: what the threads did with it. Pairs with the releases in handover_run()
		 * and handover_start().
		 */
		if (!atomic_load_explicit(&handover->is_done, memory_order_acquire)) {
			nr += handover->uid == uid;
			at = &handover->next;
			continue;
		}
		*at = handover->next;
		handover_free(handover);
	}
	return nr;
}

/*
 * Structures that threads still use when the daemon ends: such a thread may be closing a socket,
 * which can block.
 */
static struct handover *volatile handovers_unfinished;

void handovers_close(struct daemon *daemon)
{
	(void)free_done(daemon, 0);
	handovers_unfinished = daemon->handovers;
	daemon->handovers = NULL;
}

bool handover_is_due(int client)
{
	struct msghdr header = {.msg_iov = NULL};

	return recvmsg(client, &header, MSG_DONTWAIT | MSG_PEEK) >= 0 &&
			header.msg_flags & MSG_CTRUNC;
}

/* Opens the descriptors of the handover; `*ret_end` is the other end of `result`. */
static int handover_open(struct handover *handover, int client, int *ret_end)
{
	int pair[2], ret;

	/*
	 * Duplicate the client's descriptor: the loop may close it, and reuse its number, before
	 * the thread has its table.
	 */
	handover->client = fcntl(client, F_DUPFD_CLOEXEC, 0);
	if (handover->client < 0)
		return -errno;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		ret = -errno;
		/* The loop still has the client open, so this is not the last close. */
		close(handover->client);
		return ret;
	}
	handover->result = pair[1];
	*ret_end = pair[0];
	return 0;
}

int handover_begin(struct daemon *daemon, int client, uid_t uid)
{
	struct handover *handover;
	int ret, end = -1;

	if (free_done(daemon, uid) >= LIMIT_HANDOVERS_OF_USER)
		return -EBUSY;
	handover = calloc(1, sizeof(*handover));
	if (!handover)
		return -ENOMEM;
	handover->deferred.run = handover_start;
	handover->uid = uid;
	(void)sem_init(&handover->has_two, 0, 0);
	(void)sem_init(&handover->is_released, 0, 0);
	ret = handover_open(handover, client, &end);
	if (!ret)
		ret = thread_defer(&handover->deferred);
	if (ret) {
		if (end >= 0) {
			close(end);
			close(handover->result);
			close(handover->client);
		}
		handover_free(handover);
		return ret;
	}
	handover->next = daemon->handovers;
	daemon->handovers = handover;
	return end;
}
