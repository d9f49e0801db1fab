/* SPDX-License-Identifier: MIT */
/*
 * Reads and writes nonblocking descriptors. Each wait ends when stop_fd is readable, and calls the
 * tick function now and then (struct timeout).
 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "relay/resolver.h"
#include "relay/sink.h"

#define TICK_MS 200
#define CONNECT_MS 10000
#define RESOLVE_MS 60000
/* A pipe that is writable takes at least so many bytes without blocking. */
#define SHARED_PIECE 4096
/* A peer that acknowledges nothing for so long is considered dead. */
#define DEAD_PEER_MS 30000

const char *line_error(int code)
{
	switch (code) {
	case -ECONNRESET: return "the connection was closed";
	case -EPIPE: return "the last reader has closed it";
	case -ETIMEDOUT: return "it does not answer";
	case -ENXIO: return "no process reads from it";
	case -EPROTO: return "the peer speaks another protocol";
	}
	return strerror(-code);
}

/* 0: ready; -ECANCELED, -ETIMEDOUT, or the result of the tick function. */
static int await(int fd, short events, int64_t deadline, const struct timeout *timeout)
{
	for (;;) {
		struct pollfd polls[2] = {{.fd = fd, .events = events},
				{.fd = timeout->stop_fd, .events = POLLIN}};
		int64_t left = deadline < 0 ? TICK_MS : deadline - (int64_t)clock_monotonic_ms();
		int ret, nr;

		if (deadline >= 0 && left <= 0)
			return -ETIMEDOUT;
		nr = poll(polls, 2, left < TICK_MS ? (int)left : TICK_MS);
		if (nr < 0 && errno != EINTR)
			return -errno;
		if (timeout->stopped && *timeout->stopped)
			return -ECANCELED;
		if (polls[0].revents)
			return 0;
		if (polls[1].revents)
			return -ECANCELED;
		ret = timeout->tick ? timeout->tick(timeout->user) : 0;
		if (ret)
			return ret;
	}
}

static void tune(int fd)
{
	const int yes = 1, dead = DEAD_PEER_MS, idle = 10;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &dead, sizeof(dead));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof(yes));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &idle, sizeof(idle));
}

static int connect_one(const struct resolver_address *address, const struct timeout *timeout)
{
	int fd = socket(address->family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			address->protocol);
	int ret = fd < 0 ? -errno : 0, code = 0;
	socklen_t size = sizeof(code);

	if (ret)
		return ret;
	if (connect(fd, (const struct sockaddr *)&address->address, address->size)) {
		ret = errno == EINPROGRESS
				? await(fd, POLLOUT, (int64_t)clock_monotonic_ms() + CONNECT_MS,
						  timeout)
				: -errno;
		if (!ret && getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size))
			ret = -errno;
		if (!ret)
			ret = -code;
	}
	if (ret) {
		close(fd);
		return ret;
	}
	tune(fd);
	return fd;
}

static int find_host(const char *host, const char *port, const struct timeout *timeout,
		struct resolver_answer *answer)
{
	static uint64_t number;
	int64_t deadline = (int64_t)clock_monotonic_ms() + RESOLVE_MS;
	int ret, socket = timeout->resolver ? *timeout->resolver : -1;

	if (socket < 0) {
		resolver_search(host, port, answer);
		return 0;
	}
	ret = resolver_ask(socket, ++number, host, port);
	while (!ret) {
		ret = await(socket, POLLIN, deadline, timeout);
		if (ret)
			break;
		ret = resolver_take(socket, number, answer);
		if (ret != -EAGAIN)
			break;
		ret = 0;
	}
	return ret;
}

int line_connect(const char *host, const char *port, const struct timeout *timeout,
		struct error *error)
{
	struct resolver_answer answer;
	int ret = find_host(host, port, timeout, &answer), fd = -EHOSTUNREACH;

	if (ret || answer.error)
		return error_set(error, ret == -ECANCELED ? ret : -EHOSTUNREACH, NULL,
				"cannot reach %s: %s", host,
				ret ? line_error(ret) : gai_strerror(answer.error));
	for (unsigned int i = 0; i < answer.count && fd < 0 && fd != -ECANCELED; i++)
		fd = connect_one(&answer.addresses[i], timeout);
	if (fd < 0)
		error_set(error, fd, NULL, "cannot reach %s, port %s: %s", host, port,
				line_error(fd));
	return fd;
}

int line_write(int fd, const void *bytes, size_t size, bool shared, const struct timeout *timeout)
{
	const char *at = bytes;

	while (size) {
		size_t piece = shared && size > SHARED_PIECE ? SHARED_PIECE : size;
		ssize_t done;
		int ret;

		if (shared) {
			ret = await(fd, POLLOUT, -1, timeout);
			if (ret)
				return ret;
		}
		done = send(fd, at, piece, MSG_NOSIGNAL);
		if (done < 0 && errno == ENOTSOCK)
			done = write(fd, at, piece);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0 && errno == EAGAIN) {
			ret = await(fd, POLLOUT, -1, timeout);
			if (ret)
				return ret;
			continue;
		}
		if (done < 0)
			return -errno;
		at += done;
		size -= (size_t)done;
	}
	return timeout->stopped && *timeout->stopped ? -ECANCELED : 0;
}

int line_read(int fd, void *bytes, size_t size, int timeout_ms, const struct timeout *timeout)
{
	int64_t deadline = timeout_ms < 0 ? -1 : (int64_t)clock_monotonic_ms() + timeout_ms;
	char *at = bytes;

	while (size) {
		ssize_t got = recv(fd, at, size, MSG_DONTWAIT);
		int ret;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN) {
			ret = await(fd, POLLIN, deadline, timeout);
			if (ret)
				return ret;
			continue;
		}
		if (got <= 0)
			return got < 0 ? -errno : -ECONNRESET;
		at += got;
		size -= (size_t)got;
	}
	return 0;
}

/* ---- serial lines ---- */

static const struct {
	uint32_t speed;
	speed_t code;
} speeds[] = {
		{1200, B1200},
		{2400, B2400},
		{4800, B4800},
		{9600, B9600},
		{19200, B19200},
		{38400, B38400},
		{57600, B57600},
		{115200, B115200},
		{230400, B230400},
		{460800, B460800},
		{500000, B500000},
		{576000, B576000},
		{921600, B921600},
		{1000000, B1000000},
		{1152000, B1152000},
		{1500000, B1500000},
		{2000000, B2000000},
		{2500000, B2500000},
		{3000000, B3000000},
		{3500000, B3500000},
		{4000000, B4000000},
};

int line_raw(int fd, uint32_t speed)
{
	struct termios settings;

	if (!isatty(fd))
		return 0;
	if (tcgetattr(fd, &settings))
		return -errno;
	cfmakeraw(&settings);
	settings.c_cflag |= CLOCAL | CREAD;
	settings.c_cc[VMIN] = 1;
	settings.c_cc[VTIME] = 0;
	for (size_t i = 0; speed; i++) {
		if (i == sizeof(speeds) / sizeof(*speeds))
			return -EINVAL;
		if (speeds[i].speed != speed)
			continue;
		cfsetspeed(&settings, speeds[i].code);
		break;
	}
	return tcsetattr(fd, TCSANOW, &settings) ? -errno : 0;
}
