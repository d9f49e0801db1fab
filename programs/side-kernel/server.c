/* SPDX-License-Identifier: MIT */
/*
 * Serves requests on a socket in the daemon's directory: a client sends one line and gets one line
 * of JSON.
 *
 * Only the process that holds the lock beside the socket serves it. The kernel releases the lock
 * when its process ends, so a socket that a killed process has left can be replaced.
 */
#include "kernel.h"

#include "programs/common/kernel-commands.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define WORD_MAX 1024
#define ANSWER_MAX 2048

struct server {
	struct server_calls calls;
	struct sockaddr_un address;
	int lock, fd;
};

static int side_kernel_server_acquire_lock(const char *state_dir)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char path[300];
	int fd;

	if (snprintf(path, sizeof(path), "%s/" KERNEL_SESSION_LOCK, state_dir) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	if (!fcntl(fd, F_SETLK, &lock))
		return fd;
	close(fd);
	return -EBUSY;
}

/*
 * The group of the daemon may connect, as to the daemon itself: the permissions of the directory
 * decide.
 */
static int side_kernel_server_listen(struct server *server, const char *state_dir)
{
	mode_t mask;
	int ret = 0;

	if (snprintf(server->address.sun_path, sizeof(server->address.sun_path),
			    "%s/" KERNEL_SESSION_SOCKET,
			    state_dir) >= (int)sizeof(server->address.sun_path))
		return -ENAMETOOLONG;
	server->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (server->fd < 0)
		return -errno;
	(void)unlink(server->address.sun_path);
	mask = umask(0117);
	if (bind(server->fd, (struct sockaddr *)&server->address, sizeof(server->address)) ||
			listen(server->fd, 16))
		ret = -errno;
	(void)umask(mask);
	return ret;
}

int server_open(const char *state_dir, const struct server_calls *calls, struct server **ret_server)
{
	struct server *server = calloc(1, sizeof(*server));
	int ret;

	*ret_server = server;
	if (!server)
		return -ENOMEM;
	server->calls = *calls;
	server->address.sun_family = AF_UNIX;
	server->fd = -1;
	server->lock = side_kernel_server_acquire_lock(state_dir);
	ret = server->lock < 0 ? server->lock : side_kernel_server_listen(server, state_dir);
	return ret;
}

int server_fd(const struct server *server)
{
	return server->fd;
}

static void side_kernel_server_reply(struct server *server, char *word, char *text, size_t size)
{
	const struct server_calls *calls = &server->calls;
	char *pattern = strchr(word, ' ');
	int used;

	if (pattern)
		*pattern++ = '\0';
	if (!strcmp(word, KERNEL_SESSION_REFRESH) || !strcmp(word, KERNEL_SESSION_FORMER_REFRESH))
		calls->poll(calls->user);
	else if (!strcmp(word, KERNEL_SESSION_DRAIN))
		calls->drain(calls->user);
	else if (!strcmp(word, KERNEL_SESSION_KNOWS) && pattern) {
		(void)snprintf(text, size, "{\"known\":%s}\n",
				calls->knows(calls->user, pattern) ? "true" : "false");
		return;
	}
	used = snprintf(text, size, "{");
	calls->describe(calls->user, text + used, size - (size_t)used - 3);
	(void)stpcpy(text + strlen(text), "}\n");
}

static void side_kernel_server_serve(struct server *server, int fd)
{
	const struct timeval timeout = {.tv_sec = 1};
	char word[WORD_MAX], text[ANSWER_MAX];
	size_t size = 0;
	ssize_t got;

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	while (size < sizeof(word) - 1 &&
			(got = recv(fd, word + size, sizeof(word) - 1 - size, 0)) > 0) {
		size += (size_t)got;
		word[size] = '\0';
		if (!strchr(word, '\n'))
			continue;
		*strchr(word, '\n') = '\0';
		side_kernel_server_reply(server, word, text, sizeof(text));
		(void)!send(fd, text, strlen(text), MSG_NOSIGNAL);
		return;
	}
}

void server_turn(struct server *server)
{
	int fd;

	while ((fd = accept4(server->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		side_kernel_server_serve(server, fd);
		close(fd);
	}
}

void server_close(struct server *server)
{
	if (!server)
		return;
	if (server->fd >= 0) {
		(void)unlink(server->address.sun_path);
		close(server->fd);
	}
	/* Released last: the next side-kernel then finds no socket of this one. */
	if (server->lock >= 0)
		close(server->lock);
	free(server);
}
