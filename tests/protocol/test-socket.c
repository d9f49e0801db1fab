/* SPDX-License-Identifier: MIT */
/*
 * Connections: descriptors are passed, deadlines hold, and nothing leaks when the peer misbehaves.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "protocol/protocol.h"

static unsigned int open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static void pair(int sockets[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
}

static void descriptors_travel(void **state)
{
	int sockets[2], pipes[2], fds[WIRE_FDS_MAX];
	size_t nr_fds = WIRE_FDS_MAX;
	unsigned int before = open_fds();
	char byte = 0;

	(void)state;
	pair(sockets);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(wire_send(sockets[0], "hi", 2, pipes, 2, wire_deadline(1000)), 0);
	assert_int_equal(wire_receive(sockets[1], (char[8]){0}, 8, fds, &nr_fds,
					 wire_deadline(1000)),
			2);
	assert_int_equal(nr_fds, 2);
	assert_true(fcntl(fds[0], F_GETFD) & FD_CLOEXEC);
	assert_int_equal(write(fds[1], "x", 1), 1);
	assert_int_equal(read(pipes[0], &byte, 1), 1);
	assert_int_equal(byte, 'x');
	wire_close(fds[0]);
	wire_close(fds[1]);

	/* More than requested: refused, and no descriptor stays open. */
	nr_fds = 1;
	assert_int_equal(wire_send(sockets[0], "hi", 2, pipes, 2, wire_deadline(1000)), 0);
	assert_int_equal(wire_receive(sockets[1], (char[8]){0}, 8, fds, &nr_fds,
					 wire_deadline(1000)),
			-EPROTO);
	nr_fds = 0;
	assert_int_equal(wire_send(sockets[0], "hi", 2, pipes, 2, wire_deadline(1000)), 0);
	assert_int_equal(wire_receive(sockets[1], (char[8]){0}, 8, NULL, NULL, wire_deadline(1000)),
			-EPROTO);

	/* A truncated message. */
	assert_int_equal(wire_send(sockets[0], "0123456789", 10, NULL, 0, 0), 0);
	assert_int_equal(wire_receive(sockets[1], (char[8]){0}, 8, NULL, NULL, 0), -EPROTO);
	close(pipes[0]);
	close(pipes[1]);
	close(sockets[0]);
	assert_int_equal(wire_receive(sockets[1], (char[8]){0}, 8, NULL, NULL, 0), 0);
	assert_int_equal(wire_send(sockets[1], "x", 1, NULL, 0, 0), -EPIPE);
	close(sockets[1]);
	assert_int_equal(open_fds(), before);
}

static void deadlines_hold(void **state)
{
	int sockets[2];
	uint64_t begin = wire_deadline(0);
	static char big[WIRE_MESSAGE_MAX];
	int ret = 0;
	int i;

	(void)state;
	pair(sockets);
	assert_int_equal(wire_receive(sockets[1], (char[8]){0}, 8, NULL, NULL, 0), -EAGAIN);
	assert_int_equal(wire_receive(sockets[1], (char[8]){0}, 8, NULL, NULL, wire_deadline(50)),
			-ETIMEDOUT);
	for (i = 0; i < 1000 && !ret; i++)
		ret = wire_send(sockets[0], big, sizeof(big), NULL, 0, wire_deadline(50));
	assert_int_equal(ret, -ETIMEDOUT);
	assert_true(wire_deadline(0) - begin >= 100000000u);
	assert_true(wire_deadline(0) - begin < 5000000000u);
	close(sockets[0]);
	close(sockets[1]);
}

static void connecting(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char dir[] = "/tmp/side-test-XXXXXX";
	char too_long[200];
	int connected[64];
	int listener;
	int nr = 0;
	unsigned int before = open_fds();

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/s", dir);
	assert_int_equal(wire_connect(address.sun_path, wire_deadline(1000)), -ENOENT);
	memset(too_long, 'x', sizeof(too_long) - 1);
	too_long[sizeof(too_long) - 1] = 0;
	assert_int_equal(wire_connect(too_long, wire_deadline(1000)), -ENAMETOOLONG);
	assert_int_equal(wire_connect("", wire_deadline(1000)), -ENAMETOOLONG);

	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(wire_connect(address.sun_path, wire_deadline(1000)), -ECONNREFUSED);

	/* A listener that never accepts: the queue fills, then connecting ends at its deadline. */
	assert_int_equal(listen(listener, 1), 0);
	while (nr < 64) {
		connected[nr] = wire_connect(address.sun_path, wire_deadline(100));
		if (connected[nr] < 0)
			break;
		nr++;
	}
	assert_true(nr >= 1 && nr < 64);
	assert_int_equal(connected[nr], -ETIMEDOUT);
	while (nr--)
		wire_close(connected[nr]);
	close(listener);
	unlink(address.sun_path);
	rmdir(dir);
	assert_int_equal(open_fds(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(descriptors_travel),
			cmocka_unit_test(deadlines_hold),
			cmocka_unit_test(connecting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
