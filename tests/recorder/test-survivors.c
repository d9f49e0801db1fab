/* SPDX-License-Identifier: MIT */
/*
 * The environment of a process is searched whole: signals, reads of a part, and errors. The file is
 * included, for its static functions.
 */
#include "recorder/survivors.c"

#include "recorder/session-life.h"

#include "../base/played-calls.h"
#include "../check.h"

#define SOCKET "/tmp/socket-of-the-session"
#define ENVIRONMENT "SIDE_TEST_SOCKET=" SOCKET

/* The kernel has the environment that the process began with. */
static void begin_again(char **argv)
{
	static char padding[4096], socket[] = ENVIRONMENT;
	char *const environment[] = {padding, socket, NULL};

	(void)snprintf(padding, sizeof(padding), "PADDING=%0*d", 4000, 0);
	execve("/proc/self/exe", argv, environment);
	abort();
}

int main(int argc, char **argv)
{
	static char buffer[ENVIRONMENT_MAX];
	struct session *session;

	(void)argc;
	if (!getenv("SIDE_TEST_SOCKET"))
		begin_again(argv);
	session = session_allocate();
	CHECK(session);
	snprintf(session->listener.path, sizeof(session->listener.path), SOCKET);
	CHECK(survivor_has_socket(session, getpid(), buffer));
	played_interrupts = 2;
	CHECK(survivor_has_socket(session, getpid(), buffer) && !played_interrupts);
	played_most = 100;
	CHECK(survivor_has_socket(session, getpid(), buffer));
	/* An error in the middle is no end, even if the socket was read before. */
	played_most = 4100;
	played_before = 1;
	played_error = EIO;
	CHECK(!survivor_has_socket(session, getpid(), buffer));
	played_reset();
	snprintf(session->listener.path, sizeof(session->listener.path), SOCKET "-of-another");
	CHECK(!survivor_has_socket(session, getpid(), buffer));
	session->listener.path[0] = '\0';
	session_destroy(session);
	return 0;
}
