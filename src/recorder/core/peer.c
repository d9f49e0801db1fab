/* SPDX-License-Identifier: MIT */
/*
 * Untrusted peers: receive from them, close their connections, and identify their processes.
 *
 * Before Linux 6.16 the kernel cannot refuse descriptors. There, a message is first peeked
 * (MSG_PEEK) without space for descriptors. The kernel drops its copies of the descriptors and sets
 * MSG_CTRUNC; nothing is closed, because the message in the queue still has the descriptors.
 *
 * A thread with its own descriptor table closes a connection with such a message, by exiting. An
 * exiting thread does not wait for a lingering socket. If a file system blocks the exit, the loop
 * continues. The loop does not wait until that thread has its table either: this may take long on a
 * busy machine (thread_defer()).
 */
#include "recorder/core/peer.h"

#include "recorder/core/thread.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/close_range.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif
#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

#define CLOSER_STACK (64u << 10)
#define STATUS_SIZE 4096

/* ---- descriptors ---- */

bool peer_refuse_fds(int socket)
{
	const int no = 0;

	return !setsockopt(socket, SOL_SOCKET, SO_PASSRIGHTS, &no, sizeof(no));
}

bool peer_refuses_fds(int socket)
{
	int passes = 1;
	socklen_t size = sizeof(passes);

	return !getsockopt(socket, SOL_SOCKET, SO_PASSRIGHTS, &passes, &size) && !passes;
}

static ssize_t peer_message(int socket, void *message, size_t capacity, int flags, int *ret_flags)
{
	struct iovec part = {.iov_base = message, .iov_len = capacity};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
	ssize_t size;

	do
		size = recvmsg(socket, &header, MSG_DONTWAIT | flags);
	while (size < 0 && errno == EINTR);
	*ret_flags = header.msg_flags;
	return size < 0 ? -errno : size;
}

ssize_t peer_receive(int socket, void *message, size_t capacity, bool refuses_fds)
{
	int flags = 0, unused;
	ssize_t size = peer_message(socket, message, capacity, refuses_fds ? 0 : MSG_PEEK, &flags);

	if (size < 0)
		return size;
	if (flags & (MSG_TRUNC | MSG_CTRUNC))
		return -EPROTO;
	if (!refuses_fds)
		(void)peer_message(socket, NULL, 0, 0, &unused);
	return size;
}

/* ---- closing ---- */

/*
 * Distinguishes the end of the connection (true) from an empty message (false). With SO_PASSCRED a
 * message of any size has control data, which does not fit and sets MSG_CTRUNC.
 */
static bool is_at_end(int socket)
{
	int yes = 1, no = 0, flags = MSG_CTRUNC;

	if (setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)) ||
			peer_message(socket, NULL, 0, MSG_PEEK, &flags) < 0)
		return false;
	return !setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &no, sizeof(no)) &&
			!(flags & MSG_CTRUNC);
}

/*
 * Empties the queue of a connection that has been shut down. Returns false if one of the messages
 * has descriptors.
 */
static bool peer_drain(int socket)
{
	for (;;) {
		int flags = 0;
		ssize_t size = peer_message(socket, NULL, 0, MSG_PEEK, &flags);

		if (size < 0 || flags & MSG_CTRUNC)
			return false;
		if (!(flags & MSG_TRUNC) && is_at_end(socket))
			return true;
		if (peer_message(socket, NULL, 0, 0, &flags) < 0)
			return false;
	}
}

/*
 * A socket for a closer. It is freed after its own call of close_due(), even if an earlier call has
 * closed the socket.
 */
struct closing {
	struct deferred deferred;
	struct closing *next;
	int socket;
};

/*
 * A closer: a thread with a copy of the descriptor table. The thread of thread_defer() closes the
 * sockets in the table of the process, where they are not the last ones. Then the closer exits. One
 * closer handles all sockets that are due, so peers that cause many closes do not cause as many
 * threads.
 */
struct closer {
	struct deferred deferred;
	int first_unneeded;
	bool owns_table;
	sem_t copied, closed;
};

/*
 * A lock-free stack. Only the thread of thread_defer() removes elements, and it removes all of them
 * at once.
 */
static _Atomic(struct closing *) closings_due;
static atomic_bool closings_forgotten_by_children; /* pthread_atfork() was called */

/*
 * Forget the sockets that are due: they belong to the parent. In a forked child, other descriptors
 * can have their numbers.
 */
static void closings_forget(void)
{
	/* Relaxed: the child has one thread. */
	atomic_store_explicit(&closings_due, NULL, memory_order_relaxed);
}

static void *closer_run(void *user)
{
	struct closer *closer = user;

	/*
	 * The kernel closes the table when the thread exits, after the point from which it does not
	 * linger.
	 */
	closer->owns_table =
			!syscall(SYS_close_range, closer->first_unneeded, ~0u, CLOSE_RANGE_UNSHARE);
	sem_post(&closer->copied);
	/*
	 * Wait: if this thread exited first, the close in the other table would be the last one,
	 * which may block.
	 */
	while (sem_wait(&closer->closed) && errno == EINTR)
		;
	thread_free_later(&closer->deferred);
	return NULL;
}

/* False: the thread could not be started, or has no table of its own. */
static bool closer_start(struct closer *closer)
{
	if (thread_start(NULL, CLOSER_STACK, closer_run, closer)) {
		thread_free_later(&closer->deferred);
		return false;
	}
	while (sem_wait(&closer->copied) && errno == EINTR)
		;
	if (closer->owns_table)
		return true;
	sem_post(&closer->closed);
	return false;
}

static struct closer *closer_make(const struct closing *due)
{
	struct closer *closer = malloc(sizeof(*closer));

	if (!closer)
		return NULL;
	*closer = (struct closer){.first_unneeded = 0};
	for (; due; due = due->next)
		if (due->socket >= closer->first_unneeded)
			closer->first_unneeded = due->socket + 1;
	(void)sem_init(&closer->copied, 0, 0);
	(void)sem_init(&closer->closed, 0, 0);
	return closer;
}

/*
 * If there is no closer, the sockets stay open: a lost descriptor does less harm than a thread that
 * waits.
 */
static void close_all(const struct closing *due)
{
	struct closer *closer = closer_make(due);

	if (!closer || !closer_start(closer))
		return;
	for (; due; due = due->next)
		close(due->socket);
	sem_post(&closer->closed);
}

/* Runs in the thread of thread_defer(). */
static void close_due(struct deferred *deferred)
{
	/* Acquire: pairs with the release in close_beside(). */
	const struct closing *due =
			atomic_exchange_explicit(&closings_due, NULL, memory_order_acquire);

	if (due)
		close_all(due);
	thread_free_later(deferred);
}

static void close_beside(int socket)
{
	struct closing *closing = malloc(sizeof(*closing));

	if (!closing)
		return;
	/*
	 * Relaxed: the thread that gets here first is the one that calls fork(). If an allocation
	 * fails, a later call retries.
	 */
	if (!atomic_exchange_explicit(
			    &closings_forgotten_by_children, true, memory_order_relaxed) &&
			pthread_atfork(NULL, NULL, closings_forget))
		atomic_store_explicit(&closings_forgotten_by_children, false, memory_order_relaxed);
	*closing = (struct closing){.deferred = {.run = close_due}, .socket = socket};
	/*
	 * Release: pairs with the acquire in close_due(). A failed exchange reads the pointer only.
	 */
	closing->next = atomic_load_explicit(&closings_due, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&closings_due, &closing->next, closing,
			memory_order_release, memory_order_relaxed))
		;
	/* If this fails, a later call closes this socket. */
	(void)thread_defer(&closing->deferred);
}

void peer_close(int socket, bool refuses_fds)
{
	if (socket < 0)
		return;
	if (refuses_fds) {
		close(socket);
		return;
	}
	/* From here on the peer cannot add to the queue. Only sockets have a queue. */
	if (shutdown(socket, SHUT_RDWR) && errno == ENOTSOCK) {
		close(socket);
		return;
	}
	if (peer_drain(socket))
		close(socket);
	else
		close_beside(socket);
}

void peer_close_listener(int socket, bool refuses_fds)
{
	if (socket < 0)
		return;
	if (refuses_fds)
		close(socket);
	else
		close_beside(socket);
}

/* ---- the process ---- */

bool peer_has_exited(int pidfd)
{
	struct pollfd process = {.fd = pidfd, .events = POLLIN};

	/* A failed poll() proves nothing; the session watches the descriptor. */
	return poll(&process, 1, 0) > 0;
}

/*
 * True if one of the user ids of the process is `uid`. Reads /proc, for kernels before Linux 6.5.
 */
static bool is_process_of(pid_t pid, uid_t uid)
{
	char path[64], text[STATUS_SIZE];
	unsigned int real, effective, saved;
	const char *line;
	size_t size;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	size = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[size] = 0;
	line = strstr(text, "\nUid:");
	if (!line || sscanf(line, "\nUid: %u %u %u", &real, &effective, &saved) != 3)
		return false;
	return real == uid || effective == uid || saved == uid;
}

/*
 * Opens the process by its id, which another process can have by now. The user id reveals a process
 * of another user; a process of the same user gains nothing by the confusion. A process of root may
 * have changed its user meanwhile, and no other user has connections as root.
 */
static int open_by_number(const struct ucred *cred)
{
	int fd = cred->pid > 0 ? (int)syscall(SYS_pidfd_open, cred->pid, 0) : -1;
	int ret = cred->pid > 0 ? -errno : -ESRCH;

	if (fd < 0)
		return ret == -EINVAL ? -ESRCH : ret;
	if (!cred->uid || is_process_of(cred->pid, cred->uid))
		return fd;
	close(fd);
	return -ESRCH;
}

int peer_open_process(int socket, const struct ucred *cred)
{
	socklen_t size = sizeof(int);
	int fd = -1;

	if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &fd, &size)) {
		int error = errno;

		fd = error == ENOPROTOOPT ? open_by_number(cred) : -error;
		/* The kernel's answer for a process that has been reaped. */
		if (fd == -EINVAL)
			fd = -ESRCH;
	}
	if (fd < 0 || !peer_has_exited(fd))
		return fd;
	close(fd);
	return -ESRCH;
}
