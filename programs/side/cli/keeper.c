/* SPDX-License-Identifier: MIT */
/*
 * The helper process that renames or removes an output. It waits for one byte; the end of file
 * instead means that the output is incomplete.
 */
#include "keeper.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int keeper_rename(const char *partial, const char *path)
{
	return path && rename(partial, path) ? errno : 0;
}

/*
 * Ignores the signals of the terminal: they end the command, and the helper
 * process ends after it.
 */
__attribute__((noreturn)) static void keeper_work(int socket, const char *partial, const char *path)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	char byte;
	int code = 0;
	ssize_t size;

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		signal(signals[i], SIG_IGN);
	/*
	 * Close all other descriptors: a pipe of the command must end when the command ends, and so
	 * must its socket.
	 */
	dup2(socket, STDIN_FILENO);
	close_range(STDOUT_FILENO, ~0u, 0);
	do
		size = read(STDIN_FILENO, &byte, 1);
	while (size < 0 && errno == EINTR);
	if (size == 1)
		code = keeper_rename(partial, path);
	if (size != 1 || code)
		(void)remove(partial);
	(void)!write(STDIN_FILENO, &code, sizeof(code));
	_exit(0);
}

int keeper_start(struct keeper *keeper, const char *partial, const char *path)
{
	int sockets[2];

	*keeper = (struct keeper){.socket = -1};
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
		return -errno;
	keeper->pid = fork();
	if (!keeper->pid)
		keeper_work(sockets[1], partial, path);
	close(sockets[1]);
	if (keeper->pid < 0) {
		int code = errno;

		close(sockets[0]);
		return -code;
	}
	keeper->socket = sockets[0];
	return 0;
}

int keeper_end(struct keeper *keeper, bool is_whole)
{
	int code = 0;

	if (keeper->socket < 0)
		return 0;
	if (is_whole &&
			(send(keeper->socket, "", 1, MSG_NOSIGNAL) != 1 ||
					recv(keeper->socket, &code, sizeof(code), MSG_WAITALL) !=
							(ssize_t)sizeof(code)))
		code = EIO;
	close(keeper->socket);
	keeper->socket = -1;
	while (waitpid(keeper->pid, NULL, 0) < 0 && errno == EINTR)
		;
	return -code;
}
