/* SPDX-License-Identifier: MIT */
/*
 * Accepts connections on a listening socket that another process created.
 *
 * That process can clear O_NONBLOCK at any time, so accept() can block. A thread therefore calls
 * accept(), and passes the descriptors to the loop through a pipe. The semaphore `free_slots`
 * limits their number in the pipe. The loop ends the thread by shutting down the socket: this wakes
 * accept(), and no process can undo it. The loop does not wait for the end of the thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "recorder/core/peer.h"
#include "recorder/core/thread.h"
#include "sided.h"

#define STACK_SIZE (64u << 10)
#define PAUSE_US 100000 /* pause if no descriptor is free */

struct acceptor {
	struct deferred deferred;
	int listener;
	int pipe[2];
	sem_t free_slots;
	atomic_bool is_over;
	atomic_int users; /* the loop and the thread; the last one to leave frees the acceptor */
};

/* ---- the thread of thread_defer() ---- */

static void acceptor_end(struct deferred *deferred)
{
	struct acceptor *acceptor = (struct acceptor *)(void *)deferred;
	int fd;

	while (read(acceptor->pipe[0], &fd, sizeof(fd)) == (ssize_t)sizeof(fd))
		peer_close(fd, false);
	close(acceptor->pipe[0]);
	close(acceptor->pipe[1]);
	peer_close_listener(acceptor->listener, false);
	sem_destroy(&acceptor->free_slots);
	thread_free_later(deferred);
}

static void acceptor_put(struct acceptor *acceptor)
{
	/*
	 * Acquire and release: everything that the loop and the thread did with the acceptor comes
	 * before its end. Pairs with the other user's access in acceptor_put().
	 */
	if (atomic_fetch_sub_explicit(&acceptor->users, 1, memory_order_acq_rel) != 1)
		return;
	acceptor->deferred.run = acceptor_end;
	/*
	 * If there is no thread for deferred work, the descriptors stay open, as in peer_close().
	 */
	(void)thread_defer(&acceptor->deferred);
}

/* ---- the thread ---- */

/* Returns a descriptor, or -1 with errno. */
static int sided_acceptor_accept(struct acceptor *acceptor)
{
	struct pollfd poll_one = {.fd = acceptor->listener, .events = POLLIN};

	(void)poll(&poll_one, 1, -1);
	return accept4(acceptor->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

/*
 * Returns false if the socket cannot have further connections. The process that shares the socket
 * can also shut it down.
 */
static bool can_go_on(int error)
{
	switch (error) {
	case EAGAIN:
	case EINTR:
	case ECONNABORTED: return true;
	case EMFILE:
	case ENFILE:
	case ENOBUFS:
	case ENOMEM: usleep(PAUSE_US); return true;
	default: return false;
	}
}

static void accept_all(struct acceptor *acceptor)
{
	for (;;) {
		int fd = -1;

		while (sem_wait(&acceptor->free_slots) && errno == EINTR)
			;
		/*
		 * Relaxed, also in acceptor_stop(): the shutdown and the semaphore order what
		 * follows.
		 */
		while (fd < 0 && !atomic_load_explicit(&acceptor->is_over, memory_order_relaxed)) {
			fd = sided_acceptor_accept(acceptor);
			if (fd < 0 && !can_go_on(errno))
				return;
		}
		if (fd < 0)
			return;
		/* The pipe has space for it. */
		if (write(acceptor->pipe[1], &fd, sizeof(fd)) != (ssize_t)sizeof(fd))
			peer_close(fd, false);
	}
}

static void *acceptor_run(void *user)
{
	(void)prctl(PR_SET_NAME, "sided-accept");
	accept_all(user);
	acceptor_put(user);
	return NULL;
}

/* ---- the loop ---- */

int acceptor_start(int listener, struct acceptor **ret_acceptor)
{
	struct acceptor *acceptor = calloc(1, sizeof(*acceptor));
	int ret = acceptor ? 0 : -ENOMEM;

	if (!ret && pipe2(acceptor->pipe, O_CLOEXEC | O_NONBLOCK))
		ret = -errno;
	if (ret) {
		free(acceptor);
		return ret;
	}
	acceptor->listener = listener;
	/* Relaxed: the other user does not exist yet. */
	atomic_init(&acceptor->users, 2);
	ret = sem_init(&acceptor->free_slots, 0, ACCEPTS_AT_ONCE)
			? -errno
			: thread_start(NULL, STACK_SIZE, acceptor_run, acceptor);
	if (!ret) {
		*ret_acceptor = acceptor;
		return 0;
	}
	close(acceptor->pipe[0]);
	close(acceptor->pipe[1]);
	free(acceptor);
	return ret;
}

int acceptor_fd(const struct acceptor *acceptor)
{
	return acceptor->pipe[0];
}

int acceptor_take(struct acceptor *acceptor)
{
	int fd;

	if (read(acceptor->pipe[0], &fd, sizeof(fd)) != (ssize_t)sizeof(fd)) {
		errno = EAGAIN;
		return -1;
	}
	sem_post(&acceptor->free_slots);
	return fd;
}

void acceptor_stop(struct acceptor *acceptor)
{
	atomic_store_explicit(&acceptor->is_over, true, memory_order_relaxed);
	shutdown(acceptor->listener, SHUT_RDWR);
	sem_post(&acceptor->free_slots);
	acceptor_put(acceptor);
}
