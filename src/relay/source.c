/* SPDX-License-Identifier: MIT */
/* Opens sources of bytes: TCP connections, files, serial lines and standard input. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "relay/send.h"
#include "relay/sink.h"

static int relay_source_set_error(struct error *error, int code, const char *url)
{
	if (code == -EINVAL)
		return error_set_kind(error, ERROR_USAGE, code, NULL,
				"cannot read %.300s: this speed is not possible on a serial line",
				url);
	return error_set(error, code, NULL, "cannot read %.300s: %s", url, strerror(-code));
}

static int relay_open_source(
		const struct url *url, const char *text, int stop_fd, struct error *error)
{
	const struct timeout timeout = {.stop_fd = stop_fd};
	int fd;

	switch (url->kind) {
	case URL_RELAY:
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"`%.300s` is a relay daemon, from which viewers read: write tcp://HOST:PORT, a path, or `-`",
				text);
	case URL_TCP: return line_connect(url->host, url->port, &timeout, error);
	case URL_STANDARD: fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3); break;
	default: fd = open(url->path, O_RDONLY | O_CLOEXEC | O_NOCTTY); break;
	}
	return fd < 0 ? relay_source_set_error(error, -errno, text) : fd;
}

int send_source(const char *text, uint32_t speed, int stop_fd, bool *ret_answers,
		struct error *error)
{
	struct url url;
	int ret = url_parse(text, &url, error), fd;

	if (ret)
		return ret;
	*ret_answers = url.kind == URL_TCP;
	fd = relay_open_source(&url, text, stop_fd, error);
	if (fd < 0)
		return fd;
	ret = line_raw(fd, speed);
	if (ret) {
		close(fd);
		return relay_source_set_error(error, ret, text);
	}
	return fd;
}
