/* SPDX-License-Identifier: MIT */
/*
 * Descriptors from clients: which are closed and which passed on, who owns them after each call
 * that fails, and the memory. The test includes handover.c, and plays the threads.
 */
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <linux/close_range.h>

#include "../called.h"
#include "../resources.h"
#include "base/descriptors.h"
#include "sessions/rendezvous.h"
#include "recorder/core/peer.h"
#include "recorder/core/thread.h"
#include "programs/sided/sided.h"

static bool has_no_memory, has_table;
static int thread_error, defer_error, socket_error;
static struct deferred *deferred_last;
static unsigned int nr_interrupts;

static int played_range(unsigned int first, unsigned int last, unsigned int flags)
{
	if (flags) {
		assert_true(flags == CLOSE_RANGE_UNSHARE && first == ~0u && last == ~0u);
		called("unshare ");
		return has_table ? 0 : -1;
	}
	called("range(%u,%d) ", first, (int)last);
	return 0;
}

static int played_wait(sem_t *semaphore)
{
	if (nr_interrupts) {
		nr_interrupts--;
		errno = EINTR;
		return -1;
	}
	called("wait ");
	assert_int_equal(sem_trywait(semaphore), 0);
	return 0;
}

static unsigned int nr_messages_interrupted; /* as many of the next calls end with EINTR first */

static bool message_is_interrupted(void)
{
	errno = EINTR;
	return nr_messages_interrupted && nr_messages_interrupted--;
}

static ssize_t played_send(int socket, const struct msghdr *header, int flags)
{
	assert_int_equal(flags, MSG_NOSIGNAL);
	return message_is_interrupted() ? -1 : sendmsg(socket, header, flags);
}

static ssize_t played_receive(int socket, struct msghdr *header, int flags)
{
	ssize_t size = recvmsg(socket, header, flags);

	/* The next call sends the message. */
	if (size > 0)
		nr_messages_interrupted = 2;
	return size;
}

static int played_post(sem_t *semaphore)
{
	called("post ");
	return sem_post(semaphore);
}

static int played_thread(void **user, size_t size)
{
	assert_int_equal(size, 256 << 10);
	called("thread ");
	/* The thread has done this when the other one waits for it. */
	if (!thread_error)
		assert_int_equal(sem_post((sem_t *)user), 0);
	return thread_error;
}

static int played_defer(struct deferred *deferred)
{
	deferred_last = deferred;
	return defer_error;
}

static void played_close(const char *name, int fd, bool refuses)
{
	called("%s(%d) ", name, refuses);
	close(fd);
}

static int played_pair(int type, int pair[2])
{
	assert_int_equal(type, SOCK_SEQPACKET | SOCK_CLOEXEC);
	errno = socket_error;
	return socket_error ? -1 : socketpair(AF_UNIX, type, 0, pair);
}

#define calloc(count, size) (has_no_memory ? NULL : calloc(count, size))
#define peer_close(fd, refuses) played_close("peer_close", fd, refuses)
#define peer_close_listener(fd, refuses) played_close("close_listener", fd, refuses)
#define recvmsg(socket, header, flags) played_receive(socket, header, flags)
#define sendmsg(socket, header, flags) played_send(socket, header, flags)
#define sem_post(semaphore) played_post(semaphore)
#define sem_wait(semaphore) played_wait(semaphore)
#define socketpair(domain, type, protocol, pair) \
	((domain) == AF_UNIX && !(protocol) ? played_pair(type, pair) : (abort(), -1))
#define syscall(number, first, last, flags)                                             \
	((number) == SYS_close_range ? played_range((unsigned int)(first), last, flags) \
				     : (abort(), -1))
#define thread_defer(deferred) played_defer(deferred)
#define thread_start(thread, size, run, user)                                               \
	(!(thread) && (run) == handover_run ? played_thread((void *)&(user)->has_two, size) \
					    : (abort(), -1))
#undef atomic_load_explicit
#undef atomic_store_explicit
#define atomic_load_explicit(from, order) ((order) == memory_order_acquire ? *(from) : (abort(), 0))
#define atomic_store_explicit(to, value, order) \
	((order) == memory_order_release ? (called("done "), *(to) = (value)) : (abort(), 0))
#include "base/descriptors.c"
#include "programs/sided/handover.c"
#undef calloc
#undef peer_close
#undef peer_close_listener
#undef recvmsg
#undef sendmsg
#undef sem_post
#undef sem_wait
#undef socketpair
#undef syscall
#undef thread_defer
#undef thread_start

static struct daemon daemon_of_test;

static void make_pair(int pair[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
}

static int new_table(void)
{
	int fd = memfd_create("table", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	return fd;
}

static int new_listener(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	/* The kernel chooses an abstract name. */
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(sa_family_t)), 0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

static void send_message(int fd, const char *text, size_t size, const int *fds, size_t nr)
{
	struct iovec part = {.iov_base = (char *)(uintptr_t)text, .iov_len = size};
	DESCRIPTORS_CONTROL(DESCRIPTORS_AT_ONCE) control = {.bytes = {0}};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
	struct cmsghdr *attached;

	if (nr) {
		header.msg_control = control.bytes;
		header.msg_controllen = CMSG_SPACE(nr * sizeof(int));
		attached = CMSG_FIRSTHDR(&header);
		attached->cmsg_level = SOL_SOCKET;
		attached->cmsg_type = SCM_RIGHTS;
		attached->cmsg_len = CMSG_LEN(nr * sizeof(int));
		memcpy(CMSG_DATA(attached), fds, nr * sizeof(int));
	}
	assert_int_equal(sendmsg(fd, &header, MSG_NOSIGNAL), size);
}

/* Returns the size; *ret_fd is the descriptor of the message, or -1. */
static ssize_t receive_message(int fd, char text[64], int *ret_fd)
{
	struct iovec part = {.iov_base = text, .iov_len = 63};
	DESCRIPTORS_CONTROL(DESCRIPTORS_AT_ONCE) control = {.bytes = {0}};
	struct msghdr header = {.msg_iov = &part,
			.msg_iovlen = 1,
			.msg_control = control.bytes,
			.msg_controllen = sizeof(control.bytes)};
	ssize_t size = recvmsg(fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *attached = size > 0 ? CMSG_FIRSTHDR(&header) : NULL;

	*ret_fd = -1;
	text[size > 0 ? size : 0] = 0;
	if (attached) {
		assert_int_equal(attached->cmsg_len, CMSG_LEN(sizeof(int)));
		memcpy(ret_fd, CMSG_DATA(attached), sizeof(int));
	}
	return size;
}

static void test_keep(void **state)
{
	(void)state;
	keep_two(5, 9);
	assert_called("range(0,4) range(6,8) range(10,-1) ");
	keep_two(9, 5);
	assert_called("range(0,4) range(6,8) range(10,-1) ");
	keep_two(0, 1);
	assert_called("range(2,-1) ");
	keep_two(2, 0);
	assert_called("range(1,1) range(3,-1) ");
	keep_two(1, 2);
	assert_called("range(0,0) range(3,-1) ");
}

static void test_close(void **state)
{
	struct resources before = resources_now();
	int pair[2];

	(void)state;
	make_pair(pair);
	handover_close(-1);
	assert_called("");
	handover_close(pair[0]);
	handover_close(pair[1]);
	assert_called("");
	handover_close(new_table());
	assert_called("");
	handover_close(new_listener());
	assert_called("close_listener(0) ");
	assert_int_equal(resources_now().descriptors, before.descriptors);
}

/* ---- The thread ---- */

/* The message is in the queue of `client[0]`; the result is sent to `result[0]`. */
static void run_thread(int client[2], int result[2], bool owns)
{
	struct handover *handover = calloc(1, sizeof(*handover));

	assert_non_null(handover);
	has_table = owns;
	handover->client = client[0];
	handover->result = result[1];
	assert_int_equal(sem_init(&handover->has_two, 0, 0), 0);
	assert_int_equal(sem_init(&handover->is_released, 0, 1), 0);
	nr_interrupts = 2;
	assert_null(handover_run(handover));
	assert_int_equal(nr_interrupts, 0);
	assert_true(handover->is_done);
	assert_int_equal(handover->owns_table, owns);
	if (!owns) {
		close(client[0]);
		close(result[1]);
	}
	handover_free(handover);
}

static void test_thread(void **state)
{
	const struct linger lingers = {.l_onoff = 1, .l_linger = 5};
	struct resources before = resources_now();
	static char large[FRAME_MAX + 1];
	char text[64], expected[100];

	(void)state;
	for (int i = 0; i < 9; i++) {
		int client[2], result[2], fds[3], other[2], fd;
		struct linger found = {.l_onoff = 1};
		socklen_t size = sizeof(found);
		ssize_t received;

		make_pair(client);
		make_pair(result);
		make_pair(other);
		fds[0] = other[0];
		fds[1] = i == 1 ? new_listener() : new_table();
		fds[2] = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
		assert_int_equal(setsockopt(other[0], SOL_SOCKET, SO_LINGER, &lingers,
						 sizeof(lingers)),
				0);
		if (i < 2 || i == 6)
			send_message(client[1], "hello", 5, fds, 3);
		else if (i == 2)
			send_message(client[1], "plain", 5, NULL, 0);
		else if (i == 3)
			send_message(client[1], "x", 1, fds, 1);
		else if (i == 4)
			send_message(client[1], large, sizeof(large), fds, 3);
		else if (i == 7)
			send_message(client[1], "second", 6, fds + 1, 1);
		close(fds[1]);
		close(fds[2]);
		if (i == 5)
			close(client[1]);
		(void)snprintf(expected, sizeof(expected),
				"unshare range(0,%d) range(%d,%d) range(%d,-1) post wait done ",
				client[0] - 1, client[0] + 1, result[1] - 1, result[1] + 1);
		if (result[1] == client[0] + 1)
			(void)snprintf(expected, sizeof(expected),
					"unshare range(0,%d) range(%d,-1) post wait done ",
					client[0] - 1, result[1] + 1);
		run_thread(client, result, i != 6);
		assert_called(i == 6 ? "unshare post wait done " : expected);
		received = receive_message(result[0], text, &fd);
		assert_int_equal(received, i < 3 ? 5 : i == 3 ? 1 : i == 7 ? 6 : 0);
		assert_string_equal(text,
				i < 2                    ? "hello"
						: i == 2 ? "plain"
						: i == 3 ? "x"
						: i == 7 ? "second"
							 : "");
		/* Only the wanted descriptor. */
		assert_int_equal(fd >= 0, i < 2 || i == 7);
		if (fd >= 0) {
			assert_int_equal(rendezvous_is_listener(fd), i == 1);
			assert_int_equal(fcntl(fd, F_GET_SEALS) >= 0, i != 1);
			close(fd);
		}
		/* No close of another descriptor is pending. */
		assert_int_equal(getsockopt(other[0], SOL_SOCKET, SO_LINGER, &found, &size), 0);
		assert_int_equal(found.l_onoff, i == 2 || i >= 5);
		close(other[0]);
		close(other[1]);
		if (i != 5)
			close(client[1]);
		close(result[0]);
		assert_int_equal(resources_now().descriptors, before.descriptors);
	}
}

/* ---- The thread of thread_defer() ---- */

static void test_start(void **state)
{
	struct resources before = resources_now();

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct handover handover = {.owns_table = i == 2};
		int client[2], result[2], value = -1;

		make_pair(client);
		make_pair(result);
		handover.client = client[0];
		handover.result = result[1];
		assert_int_equal(sem_init(&handover.has_two, 0, 0), 0);
		assert_int_equal(sem_init(&handover.is_released, 0, 0), 0);
		thread_error = i ? 0 : -EAGAIN;
		nr_interrupts = i;
		handover_start(&handover.deferred);
		assert_int_equal(nr_interrupts, 0);
		assert_called(i == 0                     ? "thread peer_close(0) done "
						: i == 1 ? "thread wait peer_close(0) post "
							 : "thread wait post ");
		assert_int_equal(handover.is_done, !i);
		assert_int_equal(sem_getvalue(&handover.is_released, &value), 0);
		assert_int_equal(value, i != 0);
		close(client[1]);
		close(result[0]);
		assert_int_equal(resources_now().descriptors, before.descriptors);
	}
	thread_error = 0;
}

/* ---- The loop ---- */

static struct handover *new_handover(uid_t uid, bool is_done)
{
	struct handover *handover = calloc(1, sizeof(*handover));

	assert_non_null(handover);
	handover->uid = uid;
	handover->is_done = is_done;
	handover->next = daemon_of_test.handovers;
	daemon_of_test.handovers = handover;
	return handover;
}

static void test_done(void **state)
{
	struct handover *left[3];

	(void)state;
	new_handover(5, true);
	left[0] = new_handover(5, false);
	new_handover(5, true);
	left[1] = new_handover(6, false);
	left[2] = new_handover(5, false);
	new_handover(6, true);
	assert_int_equal(free_done(&daemon_of_test, 5), 2);
	assert_ptr_equal(daemon_of_test.handovers, left[2]);
	assert_ptr_equal(left[2]->next, left[1]);
	assert_ptr_equal(left[1]->next, left[0]);
	assert_null(left[0]->next);
	assert_int_equal(free_done(&daemon_of_test, 6), 1);
	assert_int_equal(free_done(&daemon_of_test, 0), 0);
	left[1]->is_done = true;
	handovers_close(&daemon_of_test);
	assert_null(daemon_of_test.handovers);
	assert_ptr_equal(handovers_unfinished, left[2]);
	assert_ptr_equal(left[2]->next, left[0]);
	free(left[2]);
	free(left[0]);
	handovers_unfinished = NULL;
}

static void test_due(void **state)
{
	char text[64];
	int pair[2], fd;

	(void)state;
	make_pair(pair);
	assert_false(handover_is_due(pair[0]));
	send_message(pair[1], "a", 1, NULL, 0);
	assert_false(handover_is_due(pair[0]));
	send_message(pair[1], "bc", 2, (int[]){STDERR_FILENO}, 1);
	assert_false(handover_is_due(pair[0]));
	assert_int_equal(receive_message(pair[0], text, &fd), 1);
	assert_true(handover_is_due(pair[0]));
	assert_true(handover_is_due(pair[0]));
	assert_int_equal(receive_message(pair[0], text, &fd), 2);
	assert_true(fd >= 0);
	close(fd);
	close(pair[1]);
	assert_false(handover_is_due(pair[0]));
	close(pair[0]);
	assert_false(handover_is_due(pair[0]));
}

static void test_begin(void **state)
{
	struct resources before = resources_now();
	size_t memory = resources_memory();
	struct handover *others[LIMIT_HANDOVERS_OF_USER], *begun;
	int pair[2], end;

	(void)state;
	make_pair(pair);
	has_no_memory = true;
	assert_int_equal(handover_begin(&daemon_of_test, pair[0], 5), -ENOMEM);
	has_no_memory = false;
	assert_int_equal(handover_begin(&daemon_of_test, -1, 5), -EBADF);
	socket_error = ENFILE;
	assert_int_equal(handover_begin(&daemon_of_test, pair[0], 5), -ENFILE);
	socket_error = 0;
	defer_error = -EAGAIN;
	assert_int_equal(handover_begin(&daemon_of_test, pair[0], 5), -EAGAIN);
	defer_error = 0;
	assert_null(daemon_of_test.handovers);
	assert_int_equal(resources_now().descriptors, before.descriptors + 2);
	assert_int_equal(resources_memory(), memory);
	for (int i = 0; i < LIMIT_HANDOVERS_OF_USER; i++) {
		if (i)
			others[i] = new_handover(5, false);
		else
			others[i] = new_handover(6, false);
	}
	end = handover_begin(&daemon_of_test, pair[0], 5);
	assert_true(end >= 0);
	begun = daemon_of_test.handovers;
	assert_ptr_equal(begun->next, others[LIMIT_HANDOVERS_OF_USER - 1]);
	assert_ptr_equal(deferred_last, &begun->deferred);
	assert_ptr_equal(begun->deferred.run, handover_start);
	assert_true(begun->uid == 5 && !begun->is_done && !begun->owns_table);
	assert_true(sem_trywait(&begun->has_two) && sem_trywait(&begun->is_released));
	assert_true(begun->client != pair[0] && begun->client > STDERR_FILENO);
	assert_int_equal(fcntl(begun->client, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fcntl(begun->result, F_GETFD), FD_CLOEXEC);
	/* Both are connected with the other ends. */
	assert_int_equal(send(begun->result, "r", 1, MSG_DONTWAIT), 1);
	assert_int_equal(recv(end, &(char){0}, 1, MSG_DONTWAIT), 1);
	assert_int_equal(send(pair[1], "c", 1, MSG_DONTWAIT), 1);
	assert_int_equal(recv(begun->client, &(char){0}, 1, MSG_DONTWAIT), 1);
	assert_int_equal(handover_begin(&daemon_of_test, pair[0], 5), -EBUSY);
	/* The threads are done. */
	others[1]->is_done = begun->is_done = true;
	close(begun->client);
	close(begun->result);
	assert_int_equal(free_done(&daemon_of_test, 5), LIMIT_HANDOVERS_OF_USER - 2);
	for (int i = 0; i < LIMIT_HANDOVERS_OF_USER; i++)
		if (i != 1)
			others[i]->is_done = true;
	handovers_close(&daemon_of_test);
	assert_null(handovers_unfinished);
	close(end);
	close(pair[0]);
	close(pair[1]);
	assert_int_equal(resources_now().descriptors, before.descriptors);
	assert_int_equal(resources_memory(), memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_keep),
			cmocka_unit_test(test_close),
			cmocka_unit_test(test_thread),
			cmocka_unit_test(test_start),
			cmocka_unit_test(test_done),
			cmocka_unit_test(test_due),
			cmocka_unit_test(test_begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
