/* SPDX-License-Identifier: MIT */
/* Sends and receives messages of the helper process that attaches on exec. */
#include "sessions/exec-watch.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

int exec_watch_send(int fd, const char *const *texts)
{
	char message[EXEC_WATCH_SIZE];
	size_t size = 0, length;

	for (; *texts; texts++) {
		length = strlen(*texts) + 1;
		if (length > sizeof(message) - size)
			return -EMSGSIZE;
		memcpy(message + size, *texts, length);
		size += length;
	}
	while (send(fd, message, size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

int exec_watch_receive(
		int fd, char buffer[EXEC_WATCH_SIZE], const char *ret_texts[EXEC_WATCH_FIELDS])
{
	size_t at = 0;
	ssize_t size;
	int nr = 0;

	do
		size = recv(fd, buffer, EXEC_WATCH_SIZE, MSG_DONTWAIT | MSG_TRUNC);
	while (size < 0 && errno == EINTR);
	if (size < 0)
		return -errno;
	if (size > EXEC_WATCH_SIZE || (size && buffer[size - 1]))
		return -EBADMSG;
	for (int i = 0; i < EXEC_WATCH_FIELDS; i++)
		ret_texts[i] = "";
	while (at < (size_t)size && nr < EXEC_WATCH_FIELDS) {
		ret_texts[nr++] = buffer + at;
		at += strlen(buffer + at) + 1;
	}
	return nr;
}
