/* SPDX-License-Identifier: MIT */
/*
 * The thread that accepts connections of a shared socket: which errors end it, how many connections
 * are queued, and which thread closes what. The test includes acceptor.c, and plays its calls in
 * one thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../called.h"
#include "../resources.h"
#include "programs/sided/sided.h"
#include "recorder/core/peer.h"
#include "recorder/core/thread.h"

static const char *failing; /* the call that fails, or NULL */
static const int *
		script; /* of accept4(): 1: a connection, 2: the last one before the end, else an errno */
static struct acceptor *current;
static void *(*thread_run)(void *);
static void *thread_user;
static struct deferred *deferred_last;
static unsigned int nr_interrupts;

static bool fails(const char *name)
{
	if (!failing || strcmp(failing, name) != 0)
		return false;
	failing = NULL;
	errno = EMFILE;
	return true;
}

static void *played_calloc(size_t count, size_t size)
{
	return fails("calloc") ? NULL : calloc(count, size);
}

static int played_pipe2(int ends[2], int flags)
{
	assert_int_equal(flags, O_CLOEXEC | O_NONBLOCK);
	return fails("pipe2") ? -1 : pipe2(ends, flags);
}

static int played_sem_init(sem_t *semaphore, int shared, unsigned int value)
{
	assert_true(!shared && value == 32);
	return fails("sem_init") ? -1 : sem_init(semaphore, shared, value);
}

static int played_sem_wait(sem_t *semaphore)
{
	if (nr_interrupts) {
		nr_interrupts--;
		errno = EINTR;
		return -1;
	}
	called("wait\n");
	assert_int_equal(sem_trywait(semaphore), 0);
	return 0;
}

static int played_thread(
		const pthread_t *thread, size_t stack_size, void *(*run)(void *), void *user)
{
	assert_true(!thread && stack_size == 65536);
	if (fails("thread"))
		return -EAGAIN;
	thread_run = run;
	thread_user = user;
	return 0;
}

static int played_poll(struct pollfd *one, nfds_t nr, int timeout)
{
	assert_true(nr == 1 && timeout == -1 && one->events == POLLIN && one->fd >= 0);
	called("poll\n");
	return 1;
}

static void set_over(void);

static int played_accept(int flags)
{
	int next = *script++;

	assert_int_equal(flags, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (next == 2 || next == -EAGAIN)
		set_over();
	if (next == 1 || next == 2)
		return fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	errno = next < 0 ? -next : next;
	return -1;
}

static ssize_t played_write(int fd, const void *bytes, size_t size)
{
	assert_int_equal(size, sizeof(int));
	return fails("write") ? -1 : write(fd, bytes, size);
}

static void played_close(const char *what, int fd, bool refuses_fds)
{
	assert_false(refuses_fds);
	called("%s\n", what);
	assert_int_equal(close(fd), 0);
}

static int played_defer(struct deferred *deferred)
{
	called("defer\n");
	deferred_last = deferred;
	return 0;
}

#define calloc(count, size) played_calloc(count, size)
#define pipe2(ends, flags) played_pipe2(ends, flags)
#define sem_init(semaphore, shared, value) played_sem_init(semaphore, shared, value)
#define sem_wait(semaphore) played_sem_wait(semaphore)
#define sem_destroy(semaphore) (called("destroy\n"), sem_destroy(semaphore))
#define thread_start(thread, stack_size, run, user) played_thread(thread, stack_size, run, user)
#define thread_defer(deferred) played_defer(deferred)
#define thread_free_later(deferred) (called("free\n"), free(deferred))
#define poll(one, nr, timeout) played_poll(one, nr, timeout)
#define accept4(fd, address, size, flags) played_accept(flags)
#define usleep(us) called("sleep(%u)\n", (unsigned int)(us))
#define write(fd, bytes, size) played_write(fd, bytes, size)
#define peer_close(fd, refuses_fds) played_close("close", fd, refuses_fds)
#define peer_close_listener(fd, refuses_fds) played_close("close_listener", fd, refuses_fds)
#define shutdown(fd, how) (called("shutdown(%d)\n", (how) == SHUT_RDWR))
#define prctl(option, name) called("name(%s)\n", (option) == PR_SET_NAME ? (name) : "?")
#include "programs/sided/acceptor.c"
#undef calloc
#undef write

static void set_over(void)
{
	atomic_store(&current->is_over, true);
}

static unsigned int before;

static void start(void)
{
	before = resources_descriptors();
	assert_int_equal(acceptor_start(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3), &current), 0);
	assert_ptr_equal(thread_user, current);
	assert_int_equal(fcntl(acceptor_fd(current), F_GETFD), FD_CLOEXEC);
	assert_int_equal(acceptor_take(current), -1);
	assert_int_equal(errno, EAGAIN);
}

/* Both users release the acceptor; the thread for deferred work closes everything. */
static void stop(const char *expected)
{
	*calls = '\0';
	deferred_last = NULL;
	acceptor_stop(current);
	assert_called("shutdown(1)\n");
	assert_null(deferred_last);
	script = (const int[]){EINVAL};
	(void)thread_run(thread_user);
	assert_non_null(deferred_last);
	*calls = '\0';
	deferred_last->run(deferred_last);
	assert_called(expected);
	assert_int_equal(resources_descriptors(), before);
}

static void test_start(void **unused)
{
	static const char *const calls_of_all[] = {"calloc", "pipe2", "sem_init", "thread"};
	static const int errors[] = {-ENOMEM, -EMFILE, -EMFILE, -EAGAIN};
	struct acceptor *acceptor = NULL;

	(void)unused;
	before = resources_descriptors();
	for (size_t i = 0; i < 4; i++) {
		failing = calls_of_all[i];
		assert_int_equal(acceptor_start(5, &acceptor), errors[i]);
		assert_null(acceptor);
		assert_int_equal(resources_descriptors(), before);
	}
	assert_called("");
	start();
	stop("close_listener\ndestroy\nfree\n");
}

static void test_accepts(void **unused)
{
	int value, fd;

	(void)unused;
	start();
	/* Two connections, then the end; a signal interrupts the wait for a free slot. */
	nr_interrupts = 2;
	script = (const int[]){1, EAGAIN, EINTR, ECONNABORTED, 1, EBADF};
	(void)accept_all(current);
	assert_called("wait\npoll\nwait\npoll\npoll\npoll\npoll\nwait\npoll\n");
	assert_int_equal(sem_getvalue(&current->free_slots, &value), 0);
	assert_int_equal(value, 29);
	fd = acceptor_take(current);
	assert_true(fd > 2);
	close(fd);
	assert_int_equal(sem_getvalue(&current->free_slots, &value), 0);
	assert_int_equal(value, 30);
	/* A queued connection is closed at the end. */
	stop("close\nclose_listener\ndestroy\nfree\n");
}

/* Without a free descriptor, the thread pauses. */
static void test_errors(void **unused)
{
	static const int going_on[] = {EAGAIN, EINTR, ECONNABORTED},
			 pausing[] = {EMFILE, ENFILE, ENOBUFS, ENOMEM},
			 ending[] = {EINVAL, EBADF, ENOTSOCK, EPERM, 0};

	(void)unused;
	for (size_t i = 0; i < 3; i++)
		assert_true(can_go_on(going_on[i]));
	assert_called("");
	for (size_t i = 0; i < 4; i++) {
		assert_true(can_go_on(pausing[i]));
		assert_called("sleep(100000)\n");
	}
	for (size_t i = 0; i < 5; i++)
		assert_false(can_go_on(ending[i]));
	assert_called("");
}

static void test_over(void **unused)
{
	(void)unused;
	/* A connection that arrives at the end is still passed on. */
	start();
	script = (const int[]){2};
	accept_all(current);
	assert_called("wait\npoll\nwait\n");
	stop("close\nclose_listener\ndestroy\nfree\n");
	/* The end during a wait. */
	start();
	script = (const int[]){-EAGAIN};
	accept_all(current);
	assert_called("wait\npoll\n");
	stop("close_listener\ndestroy\nfree\n");
	/* A connection that cannot be passed on is closed. */
	start();
	failing = "write";
	script = (const int[]){2};
	accept_all(current);
	assert_called("wait\npoll\nclose\nwait\n");
	/* The name of the thread. */
	*calls = '\0';
	script = (const int[]){EINVAL};
	atomic_store(&current->is_over, false);
	(void)thread_run(thread_user);
	assert_called("name(sided-accept)\nwait\npoll\n");
	acceptor_stop(current);
	assert_called("shutdown(1)\ndefer\n");
	deferred_last->run(deferred_last);
	assert_called("close_listener\ndestroy\nfree\n");
	assert_int_equal(resources_descriptors(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_start),
			cmocka_unit_test(test_accepts),
			cmocka_unit_test(test_errors),
			cmocka_unit_test(test_over),
	};

	alarm(50);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
