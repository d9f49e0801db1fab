/* SPDX-License-Identifier: MIT */
/*
 * Connections with replaced calls and a simulated clock: each wait, each error, and bytes that are
 * sent and received in pieces.
 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "../check.h"
#include "../noted.h"
#include "relay/resolver.h"
#include "relay/send.h"
#include "relay/sink.h"

/* ---- the calls: what each returns, in order ---- */

struct outcome {
	int64_t result; /* negative: the call fails with that error */
	int code; /* errno if it succeeds, the error of a socket, or the events of a descriptor */
	int of_stop; /* the events of the stop descriptor */
};

static struct outcome outcomes[128];
static unsigned int nr_outcomes, at_outcome;
static int64_t played_ms, poll_takes;

static void expect(int64_t result, int code)
{
	CHECK(nr_outcomes < sizeof(outcomes) / sizeof(*outcomes));
	outcomes[nr_outcomes++] = (struct outcome){result, code, 0};
}

static int64_t next_outcome(void)
{
	const struct outcome *outcome = &outcomes[at_outcome];

	CHECK(at_outcome < nr_outcomes);
	at_outcome++;
	errno = outcome->result < 0 ? (int)-outcome->result : outcome->code;
	return outcome->result < 0 ? -1 : outcome->result;
}

static bool all_are_used(void)
{
	bool all = at_outcome == nr_outcomes;

	nr_outcomes = at_outcome = 0;
	return all;
}

static int played_clock(clockid_t clock, struct timespec *now)
{
	CHECK(clock == CLOCK_MONOTONIC);
	now->tv_sec = played_ms / 1000;
	now->tv_nsec = played_ms % 1000 * 1000000 + 999999;
	return 0;
}

/* Without a result in the list, nothing happens until the timeout. */
static int played_poll(struct pollfd *polls, nfds_t count, int timeout)
{
	CHECK(count == 2 && polls[1].events == POLLIN);
	note("poll %d %s %d %d;", polls[0].fd, polls[0].events == POLLIN ? "in" : "out",
			polls[1].fd, timeout);
	played_ms += poll_takes;
	if (at_outcome == nr_outcomes) {
		errno = EBADF; /* left by another call */
		return 0;
	}
	polls[0].revents = (short)outcomes[at_outcome].code;
	polls[1].revents = (short)outcomes[at_outcome].of_stop;
	return (int)next_outcome();
}

static int played_socket(int family, int type, int protocol)
{
	CHECK(type == (SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK));
	note("socket %d %d;", family, protocol);
	return (int)next_outcome();
}

static int played_connect(int fd, const struct sockaddr *address, socklen_t size)
{
	note("connect %d %d %u;", fd, address->sa_family, size);
	return (int)next_outcome();
}

static int played_getsockopt(int fd, int level, int name, int *value, socklen_t *size)
{
	CHECK(level == SOL_SOCKET && name == SO_ERROR && *size == sizeof(int));
	*value = outcomes[at_outcome].code;
	note("error of %d;", fd);
	return (int)next_outcome();
}

static int played_setsockopt(int fd, int level, int name, const int *value, socklen_t size)
{
	CHECK(size == sizeof(int));
	note("set %d %d.%d=%d;", fd, level, name, *value);
	return 0;
}

static int played_close(int fd)
{
	note("close %d;", fd);
	return 0;
}

static ssize_t played_send(int fd, const void *bytes, size_t size, int flags)
{
	CHECK(flags == MSG_NOSIGNAL);
	note("send %d %c %zu;", fd, *(const char *)bytes, size);
	return (ssize_t)next_outcome();
}

static ssize_t played_write(int fd, const void *bytes, size_t size)
{
	note("write %d %c %zu;", fd, *(const char *)bytes, size);
	return (ssize_t)next_outcome();
}

static ssize_t played_recv(int fd, void *bytes, size_t size, int flags)
{
	ssize_t got;

	CHECK(flags == MSG_DONTWAIT);
	note("recv %d %zu;", fd, size);
	got = (ssize_t)next_outcome();
	if (got > 0)
		memset(bytes, 'a' + (int)at_outcome, (size_t)got);
	return got;
}

static struct resolver_answer found;

static void played_search(const char *host, const char *port, struct resolver_answer *answer)
{
	note("search %s %s;", host, port);
	*answer = found;
}

static int played_ask(int socket, uint64_t number, const char *host, const char *port)
{
	note("ask %d %u %s %s;", socket, (unsigned int)number, host, port);
	return (int)next_outcome() ? -errno : 0;
}

static int played_take(int socket, uint64_t number, struct resolver_answer *answer)
{
	note("take %d %u;", socket, (unsigned int)number);
	*answer = found;
	return (int)next_outcome() ? -errno : 0;
}

static int played_isatty(int fd)
{
	return fd == 8;
}

static struct termios set;

static int played_tcgetattr(int fd, struct termios *settings)
{
	CHECK(fd == 8);
	memset(settings, 0, sizeof(*settings));
	settings->c_cc[VMIN] = settings->c_cc[VTIME] = 77;
	return (int)next_outcome();
}

static int played_tcsetattr(int fd, int when, const struct termios *settings)
{
	CHECK(fd == 8 && when == TCSANOW);
	set = *settings;
	return (int)next_outcome();
}

/* The file includes no header that is not included above. */
#define clock_gettime(clock, now) played_clock(clock, now)
#define poll(polls, count, timeout) played_poll(polls, count, timeout)
#define socket(family, type, protocol) played_socket(family, type, protocol)
#define connect(fd, address, size) played_connect(fd, address, size)
#define getsockopt(fd, level, name, value, size) played_getsockopt(fd, level, name, value, size)
#define setsockopt(fd, level, name, value, size) played_setsockopt(fd, level, name, value, size)
#define close(fd) played_close(fd)
#define send(fd, bytes, size, flags) played_send(fd, bytes, size, flags)
#define write(fd, bytes, size) played_write(fd, bytes, size)
#define recv(fd, bytes, size, flags) played_recv(fd, bytes, size, flags)
#define resolver_search(host, port, answer) played_search(host, port, answer)
#define resolver_ask(socket, number, host, port) played_ask(socket, number, host, port)
#define resolver_take(socket, number, answer) played_take(socket, number, answer)
#define isatty(fd) played_isatty(fd)
#define tcgetattr(fd, settings) played_tcgetattr(fd, settings)
#define tcsetattr(fd, when, settings) played_tcsetattr(fd, when, settings)
#include "relay/line.c" /* NOLINT(bugprone-suspicious-include): replaces the calls in it */

static int tick_result;
static char tick_user;

static int tick(void *user)
{
	CHECK(user == &tick_user);
	note("tick;");
	return tick_result;
}

static const struct timeout plain = {.stop_fd = 9};

static void test_clock(void)
{
	played_ms = 7123;
	CHECK(clock_monotonic_ms() == 7123);
	played_ms = 0;
	CHECK(clock_monotonic_ms() == 0);
	played_ms = 5999;
	CHECK(clock_monotonic_ms() == 5999);
}

static void test_waits(void)
{
	bool stopped = false;
	struct timeout timeout = {
			.stop_fd = 9, .stopped = &stopped, .tick = tick, .user = &tick_user};

	/* No deadline, and deadlines in the past, now and later. */
	played_ms = 5000;
	tick_result = -EDOM;
	CHECK(await(3, POLLIN, -1, &timeout) == -EDOM && has_noted("poll 3 in 9 200;tick;"));
	CHECK(await(3, POLLIN, 0, &timeout) == -ETIMEDOUT && has_noted(""));
	CHECK(await(3, POLLIN, 5000, &timeout) == -ETIMEDOUT && has_noted(""));
	CHECK(await(3, POLLOUT, 5001, &timeout) == -EDOM && has_noted("poll 3 out 9 1;tick;"));
	CHECK(await(3, POLLOUT, 5199, &timeout) == -EDOM && has_noted("poll 3 out 9 199;tick;"));
	CHECK(await(3, POLLOUT, 5201, &timeout) == -EDOM && has_noted("poll 3 out 9 200;tick;"));
	tick_result = 0;
	poll_takes = 150;
	CHECK(await(3, POLLIN, 5350, &timeout) == -ETIMEDOUT && played_ms == 5450);
	CHECK(has_noted("poll 3 in 9 200;tick;poll 3 in 9 200;tick;poll 3 in 9 50;tick;"));
	CHECK(await(3, POLLIN, 5600, &plain) == -ETIMEDOUT && has_noted("poll 3 in 9 150;"));
	/*
	 * A wait ends by an error other than EINTR, by the line's descriptor, and by the stop
	 * descriptor. The stop flag precedes both.
	 */
	expect(-EINTR, 0);
	outcomes[0].code = 0;
	expect(1, POLLHUP);
	CHECK(!await(3, POLLIN, -1, &timeout) && all_are_used());
	CHECK(has_noted("poll 3 in 9 200;tick;poll 3 in 9 200;"));
	expect(-ENOMEM, 0);
	CHECK(await(3, POLLIN, -1, &timeout) == -ENOMEM && all_are_used());
	expect(1, 0);
	outcomes[0].of_stop = POLLIN;
	CHECK(await(3, POLLIN, -1, &timeout) == -ECANCELED && all_are_used());
	expect(2, POLLIN);
	outcomes[0].of_stop = POLLIN;
	CHECK(!await(3, POLLIN, -1, &timeout) && all_are_used());
	stopped = true;
	expect(1, POLLIN);
	CHECK(await(3, POLLIN, -1, &timeout) == -ECANCELED && all_are_used());
	CHECK(has_noted("poll 3 in 9 200;poll 3 in 9 200;poll 3 in 9 200;poll 3 in 9 200;"));
}

#define TUNED "set 0 6.1=1;set 0 6.18=30000;set 0 1.9=1;set 0 6.4=10;set 0 6.5=10;"

static void test_connections(void)
{
	struct resolver_address address = {.family = AF_INET, .protocol = 6, .size = 16};

	address.address.ss_family = AF_INET;
	poll_takes = 200;
	/* Connected at once, with descriptor 0. */
	expect(0, 0);
	expect(0, 0);
	CHECK(connect_one(&address, &plain) == 0 && all_are_used());
	CHECK(has_noted("socket 2 6;connect 0 2 16;" TUNED));
	expect(-EMFILE, 0);
	CHECK(connect_one(&address, &plain) == -EMFILE && all_are_used());
	CHECK(has_noted("socket 2 6;"));
	expect(7, 0);
	expect(-ENETUNREACH, 0);
	CHECK(connect_one(&address, &plain) == -ENETUNREACH && all_are_used());
	CHECK(has_noted("socket 2 6;connect 7 2 16;close 7;"));
	/* After a while: established, refused, unknown, and never. */
	expect(0, 0);
	expect(-EINPROGRESS, 0);
	expect(1, POLLOUT);
	expect(0, 0);
	CHECK(connect_one(&address, &plain) == 0 && all_are_used());
	CHECK(has_noted("socket 2 6;connect 0 2 16;poll 0 out 9 200;error of 0;" TUNED));
	expect(7, 0);
	expect(-EINPROGRESS, 0);
	expect(1, POLLOUT);
	expect(0, ECONNREFUSED);
	CHECK(connect_one(&address, &plain) == -ECONNREFUSED && all_are_used());
	CHECK(has_noted("socket 2 6;connect 7 2 16;poll 7 out 9 200;error of 7;close 7;"));
	expect(7, 0);
	expect(-EINPROGRESS, 0);
	expect(1, POLLOUT);
	expect(-ENOBUFS, 0);
	CHECK(connect_one(&address, &plain) == -ENOBUFS && all_are_used());
	CHECK(has_noted("socket 2 6;connect 7 2 16;poll 7 out 9 200;error of 7;close 7;"));
	expect(7, 0);
	expect(-EINPROGRESS, 0);
	played_ms = 1000;
	CHECK(connect_one(&address, &plain) == -ETIMEDOUT && all_are_used());
	CHECK(played_ms == 11000 && !strncmp(log_text, "socket 2 6;connect 7 2 16;poll", 30));
	CHECK(strstr(log_text, "poll 7 out 9 200;close 7;"));
	*log_text = '\0';
}

static void test_hosts(void)
{
	struct timeout timeout = {.stop_fd = 9};
	struct resolver_answer answer;
	int resolver = -1;

	found = (struct resolver_answer){.count = 3};
	CHECK(!find_host("h", "p", &timeout, &answer) && answer.count == 3);
	timeout.resolver = &resolver;
	answer.count = 0;
	CHECK(!find_host("h", "p", &timeout, &answer) && answer.count == 3);
	CHECK(has_noted("search h p;search h p;"));
	/* The helper process answers an earlier question first. */
	resolver = 0;
	expect(0, 0);
	expect(1, POLLIN);
	expect(-EAGAIN, 0);
	expect(1, POLLIN);
	expect(0, 0);
	CHECK(!find_host("h", "p", &timeout, &answer) && all_are_used());
	CHECK(has_noted("ask 0 1 h p;poll 0 in 9 200;take 0 1;poll 0 in 9 200;take 0 1;"));
	expect(-EPIPE, 0);
	CHECK(find_host("h", "p", &timeout, &answer) == -EPIPE && all_are_used());
	expect(0, 0);
	expect(-ENOMEM, 0);
	CHECK(find_host("h", "p", &timeout, &answer) == -ENOMEM && all_are_used());
	expect(0, 0);
	expect(1, POLLIN);
	expect(-EPROTO, 0);
	CHECK(find_host("h", "p", &timeout, &answer) == -EPROTO && all_are_used());
	CHECK(has_noted("ask 0 2 h p;ask 0 3 h p;poll 0 in 9 200;ask 0 4 h p;poll 0 in 9 200;take 0 4;"));
	expect(0, 0);
	played_ms = 2000;
	poll_takes = 200;
	CHECK(find_host("h", "p", &timeout, &answer) == -ETIMEDOUT && all_are_used());
	CHECK(played_ms == 62000);
	*log_text = '\0';
}

static bool is_refused(int code, const char *text)
{
	struct error error = {.text = ""};
	int ret = line_connect("h", "p", &plain, &error);

	return ret == code && !strcmp(error.text, text) && all_are_used();
}

static void test_addresses(void)
{
	struct timeout timeout = {.stop_fd = 9};
	struct error error = {.text = ""};
	int resolver = 4;

	found = (struct resolver_answer){.count = 0};
	CHECK(is_refused(-EHOSTUNREACH, "cannot reach h, port p: No route to host"));
	found.error = EAI_NONAME;
	CHECK(is_refused(-EHOSTUNREACH, "cannot reach h: Name or service not known"));
	found = (struct resolver_answer){.count = 3,
			.addresses = {{.family = AF_INET6, .protocol = 11, .size = 28},
					{.family = AF_INET, .protocol = 12, .size = 16},
					{.family = AF_INET, .protocol = 13, .size = 17}}};
	*log_text = '\0';
	/* The error of the last one. */
	expect(-EAFNOSUPPORT, 0);
	expect(5, 0);
	expect(-ENETUNREACH, 0);
	expect(6, 0);
	expect(-ETIMEDOUT, 0);
	CHECK(is_refused(-ETIMEDOUT, "cannot reach h, port p: it does not answer"));
	CHECK(has_noted("search h p;socket 10 11;socket 2 12;connect 5 0 16;close 5;socket 2 13;connect 6 0 17;close 6;"));
	/* No further address is tried after a connection or after a stop. */
	expect(-EAFNOSUPPORT, 0);
	expect(0, 0);
	expect(0, 0);
	CHECK(line_connect("h", "p", &plain, &error) == 0 && !*error.text && all_are_used());
	expect(5, 0);
	expect(-ECANCELED, 0);
	CHECK(is_refused(-ECANCELED, "cannot reach h, port p: Operation canceled"));
	/* The name was not found: the helper process has exited, or the wait was stopped. */
	timeout.resolver = &resolver;
	expect(-EPIPE, 0);
	CHECK(line_connect("h", "p", &timeout, &error) == -EHOSTUNREACH && all_are_used());
	CHECK(!strcmp(error.text, "cannot reach h: the last reader has closed it"));
	expect(-ECANCELED, 0);
	CHECK(line_connect("h", "p", &timeout, &error) == -ECANCELED && all_are_used());
	*log_text = '\0';
}

static void test_written(void)
{
	char bytes[5000];
	bool stopped = true;
	struct timeout timeout = {.stop_fd = 9, .stopped = &stopped};

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)('a' + i % 26);
	poll_takes = 0;
	/* A socket: in pieces, after a signal, and when there is space again. */
	expect(2, 0);
	expect(-EINTR, 0);
	expect(0, ENOTSOCK);
	expect(0, EAGAIN);
	expect(-EAGAIN, 0);
	expect(1, POLLOUT);
	expect(3, EINTR);
	CHECK(!line_write(3, bytes, 5, false, &plain) && all_are_used());
	CHECK(has_noted("send 3 a 5;send 3 c 3;send 3 c 3;send 3 c 3;send 3 c 3;poll 3 out 9 200;send 3 c 3;"));
	/* A file, and errors of both. */
	expect(-ENOTSOCK, 0);
	expect(2, 0);
	expect(-ENOTSOCK, 0);
	expect(-EIO, 0);
	CHECK(line_write(3, bytes, 5, false, &plain) == -EIO && all_are_used());
	CHECK(has_noted("send 3 a 5;write 3 a 5;send 3 c 3;write 3 c 3;"));
	expect(-EPIPE, 0);
	CHECK(line_write(3, bytes, 5, false, &plain) == -EPIPE && all_are_used());
	expect(-EAGAIN, 0);
	expect(-ENOMEM, 0);
	CHECK(line_write(3, bytes, 5, false, &plain) == -ENOMEM && all_are_used());
	/* A shared connection: in pieces of a page, each after a wait. */
	*log_text = '\0';
	expect(1, POLLOUT);
	expect(4096, 0);
	expect(1, POLLOUT);
	expect(1, 0);
	CHECK(!line_write(3, bytes, 4097, true, &plain) && all_are_used());
	CHECK(has_noted("poll 3 out 9 200;send 3 a 4096;poll 3 out 9 200;send 3 o 1;"));
	expect(1, POLLOUT);
	expect(4096, 0);
	CHECK(!line_write(3, bytes, 4096, true, &plain) && all_are_used());
	expect(-ENOMEM, 0);
	CHECK(line_write(3, bytes, 5, true, &plain) == -ENOMEM && all_are_used());
	CHECK(has_noted("poll 3 out 9 200;send 3 a 4096;poll 3 out 9 200;"));
	expect(4097, 0);
	CHECK(!line_write(3, bytes, 4097, false, &plain) && has_noted("send 3 a 4097;"));
	CHECK(all_are_used());
	/* Stopped when all was written. */
	expect(5, 0);
	CHECK(line_write(3, bytes, 5, false, &timeout) == -ECANCELED && all_are_used());
	stopped = false;
	expect(5, 0);
	CHECK(!line_write(3, bytes, 5, false, &timeout) && all_are_used());
	*log_text = '\0';
}

static void test_read(void)
{
	char bytes[8] = "";

	played_ms = 3000;
	poll_takes = 100;
	expect(2, EINTR);
	expect(-EINTR, 0);
	expect(-EAGAIN, 0);
	expect(1, POLLIN);
	expect(3, EAGAIN);
	CHECK(!line_read(3, bytes, 5, 150, &plain) && all_are_used());
	CHECK(has_noted("recv 3 5;recv 3 3;recv 3 3;poll 3 in 9 150;recv 3 3;"));
	CHECK(!strcmp(bytes, "bbfff"));
	/* The timeout counts from the call. */
	expect(-EAGAIN, 0);
	expect(1, POLLIN);
	expect(-EAGAIN, 0);
	expect(1, POLLIN);
	expect(-EAGAIN, 0);
	CHECK(line_read(3, bytes, 5, 150, &plain) == -ETIMEDOUT && all_are_used());
	CHECK(has_noted("recv 3 5;poll 3 in 9 150;recv 3 5;poll 3 in 9 50;recv 3 5;"));
	expect(-EAGAIN, 0);
	CHECK(line_read(3, bytes, 5, 0, &plain) == -ETIMEDOUT && all_are_used());
	CHECK(has_noted("recv 3 5;"));
	expect(-EAGAIN, 0);
	expect(-ENOMEM, 0);
	CHECK(line_read(3, bytes, 5, -1, &plain) == -ENOMEM && all_are_used());
	CHECK(has_noted("recv 3 5;poll 3 in 9 200;"));
	/* The end, and an error. */
	expect(0, EINTR);
	CHECK(line_read(3, bytes, 5, 150, &plain) == -ECONNRESET && all_are_used());
	expect(0, EAGAIN);
	CHECK(line_read(3, bytes, 5, 150, &plain) == -ECONNRESET && all_are_used());
	expect(-EIO, 0);
	CHECK(line_read(3, bytes, 5, 150, &plain) == -EIO && all_are_used());
	*log_text = '\0';
}

static void test_terminals(void)
{
	CHECK(!line_raw(7, 1200));
	expect(-EIO, 0);
	CHECK(line_raw(8, 1200) == -EIO && all_are_used());
	expect(0, 0);
	expect(-EPERM, 0);
	CHECK(line_raw(8, 4800) == -EPERM && all_are_used());
	expect(0, 0);
	expect(0, 0);
	CHECK(!line_raw(8, 9600) && all_are_used());
	CHECK(cfgetospeed(&set) == B9600 && set.c_cc[VMIN] == 1 && set.c_cc[VTIME] == 0);
	CHECK((set.c_cflag & (CLOCAL | CREAD)) == (CLOCAL | CREAD));
	expect(0, 0);
	CHECK(line_raw(8, 9601) == -EINVAL && all_are_used());
}

int main(void)
{
	test_clock();
	test_waits();
	test_connections();
	test_hosts();
	test_addresses();
	test_written();
	test_read();
	test_terminals();
	return 0;
}
