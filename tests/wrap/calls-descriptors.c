/* SPDX-License-Identifier: MIT */
/*
 * Calls the wrapped functions of files and sockets that calls.c does not call, each with arguments
 * that differ.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>

#include "calls.h"

static char buffer[64] = "0123456789";

static void vectors(int fd)
{
	struct iovec iov[3] = {{buffer, 3}, {buffer + 3, 2}, {buffer + 5, 1}};

	CHECK(lseek64(fd, 0, SEEK_END) == 0);
	expect("{\"e\": \"lseek64\", \"fd\": %d, \"offset\": 0, \"whence\": %d, \"result\": 0, \"error\": 0}",
			fd, SEEK_END);
	CHECK(pwritev(fd, iov, 2, 9) == 5);
	expect("{\"e\": \"pwritev\", \"fd\": %d, \"iov\": %" PRIu64
	       ", \"iovcnt\": 2, \"offset\": 9, \"result\": 5, \"error\": 0}",
			fd, P(iov));
	CHECK(pwritev64(fd, iov, 3, 14) == 6);
	expect("{\"e\": \"pwritev64\", \"fd\": %d, \"iov\": %" PRIu64
	       ", \"iovcnt\": 3, \"offset\": 14, \"result\": 6, \"error\": 0}",
			fd, P(iov));
	CHECK(preadv(fd, iov, 2, 10) == 5);
	expect("{\"e\": \"preadv\", \"fd\": %d, \"iov\": %" PRIu64
	       ", \"iovcnt\": 2, \"offset\": 10, \"result\": 5, \"error\": 0}",
			fd, P(iov));
	CHECK(preadv64(fd, iov, 3, 18) == 2);
	expect("{\"e\": \"preadv64\", \"fd\": %d, \"iov\": %" PRIu64
	       ", \"iovcnt\": 3, \"offset\": 18, \"result\": 2, \"error\": 0}",
			fd, P(iov));
	CHECK(readv(fd, iov, 1) == 3);
	expect("{\"e\": \"readv\", \"fd\": %d, \"iov\": %" PRIu64
	       ", \"iovcnt\": 1, \"result\": 3, \"error\": 0}",
			fd, P(iov));
	CHECK(pwrite64(fd, buffer, 4, 30) == 4);
	expect("{\"e\": \"pwrite64\", \"fd\": %d, \"buf\": %" PRIu64
	       ", \"count\": 4, \"offset\": 30, \"result\": 4, \"error\": 0}",
			fd, P(buffer));
	CHECK(pread64(fd, buffer, 7, 31) == 3);
	expect("{\"e\": \"pread64\", \"fd\": %d, \"buf\": %" PRIu64
	       ", \"count\": 7, \"offset\": 31, \"result\": 3, \"error\": 0}",
			fd, P(buffer));
	CHECK(readv(-5, iov, 3) == -1 && errno == EBADF);
	expect("{\"e\": \"readv\", \"fd\": -5, \"iovcnt\": 3, \"result\": -1, \"error\": %d}",
			EBADF);
}

static void paths(const char *directory)
{
	char path[512], other[512];
	int folder = open(directory, O_RDONLY | O_DIRECTORY), fd, copy;
	FILE *stream;
	void *map;

	CHECK(folder >= 0);
	fd = openat(folder, "one", O_CREAT | O_RDWR, 0604);
	CHECK(fd >= 0);
	expect("{\"e\": \"openat\", \"dirfd\": %d, \"path\": \"one\", \"flags\": %d, \"mode\": %d, \"result\": %d, \"error\": 0}",
			folder, O_CREAT | O_RDWR, 0604, fd);
	vectors(fd);
	CHECK(fdatasync(fd) == 0);
	expect("{\"e\": \"fdatasync\", \"fd\": %d, \"result\": 0, \"error\": 0}", fd);
	CHECK(ftruncate64(fd, 4711) == 0);
	expect("{\"e\": \"ftruncate64\", \"fd\": %d, \"length\": 4711, \"result\": 0, \"error\": 0}",
			fd);
	map = mmap64(NULL, 4097, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(map != MAP_FAILED && munmap(map, 4097) == 0);
	expect("{\"e\": \"mmap64\", \"address\": 0, \"length\": 4097, \"protection\": %d, \"flags\": %d, \"fd\": %d, \"offset\": 0, "
	       "\"result\": %" PRIu64 ", \"error\": 0}",
			PROT_READ, MAP_PRIVATE, fd, P(map));
	copy = dup(fd);
	CHECK(copy >= 0);
	expect("{\"e\": \"dup\", \"fd\": %d, \"result\": %d, \"error\": 0}", fd, copy);
	CHECK(dup2(fd, copy) == copy);
	expect("{\"e\": \"dup2\", \"fd\": %d, \"fd2\": %d, \"result\": %d, \"error\": 0}", fd, copy,
			copy);
	CHECK(dup3(fd, copy, O_CLOEXEC) == copy);
	expect("{\"e\": \"dup3\", \"fd\": %d, \"fd2\": %d, \"flags\": %d, \"result\": %d, \"error\": 0}",
			fd, copy, O_CLOEXEC, copy);
	CHECK(dup3(fd, fd, 0) == -1 && errno == EINVAL);
	expect("{\"e\": \"dup3\", \"fd\": %d, \"fd2\": %d, \"flags\": 0, \"result\": -1, \"error\": %d}",
			fd, fd, EINVAL);
	stream = fdopen(copy, "r+");
	CHECK(stream);
	expect("{\"e\": \"fdopen\", \"fd\": %d, \"mode\": \"r+\", \"result\": %" PRIu64
	       ", \"error\": 0}",
			copy, P(stream));
	CHECK(fwrite(buffer, 3, 2, stream) == 2);
	expect("{\"e\": \"fwrite\", \"buf\": %" PRIu64
	       ", \"size\": 3, \"count\": 2, \"stream\": %" PRIu64 ", \"result\": 2, \"error\": 0}",
			P(buffer), P(stream));
	CHECK(fflush(stream) == 0);
	expect("{\"e\": \"fflush\", \"stream\": %" PRIu64 ", \"result\": 0, \"error\": 0}",
			P(stream));
	CHECK(fclose(stream) == 0 && close(fd) == 0);
	fd = openat64(folder, "one", O_WRONLY);
	CHECK(fd >= 0);
	expect("{\"e\": \"openat64\", \"dirfd\": %d, \"path\": \"one\", \"flags\": %d, \"mode\": 0, \"result\": %d, \"error\": 0}",
			folder, O_WRONLY, fd);
	close(fd);
	snprintf(path, sizeof(path), "%s/two", directory);
	snprintf(other, sizeof(other), "%s/three", directory);
	fd = creat(path, 0611);
	CHECK(fd >= 0 && close(fd) == 0);
	expect("{\"e\": \"creat\", \"path\": \"%s\", \"mode\": %d, \"result\": %d, \"error\": 0}",
			path, 0611, fd);
	fd = open64(path, O_WRONLY | O_APPEND);
	CHECK(fd >= 0 && close(fd) == 0);
	expect("{\"e\": \"open64\", \"path\": \"%s\", \"flags\": %d, \"mode\": 0, \"result\": %d, \"error\": 0}",
			path, O_WRONLY | O_APPEND, fd);
	CHECK(rename(path, other) == 0);
	expect("{\"e\": \"rename\", \"from\": \"%s\", \"to\": \"%s\", \"result\": 0, \"error\": 0}",
			path, other);
	CHECK(unlink(other) == 0 && unlinkat(folder, "one", 0) == 0);
	expect("{\"e\": \"unlinkat\", \"dirfd\": %d, \"path\": \"one\", \"flags\": 0, \"result\": 0, \"error\": 0}",
			folder);
	CHECK(mkdir(path, 0710) == 0);
	expect("{\"e\": \"mkdir\", \"path\": \"%s\", \"mode\": %d, \"result\": 0, \"error\": 0}",
			path, 0710);
	CHECK(chdir(path) == 0);
	expect("{\"e\": \"chdir\", \"path\": \"%s\", \"result\": 0, \"error\": 0}", path);
	CHECK(fchdir(folder) == 0 && rmdir(path) == 0);
	expect("{\"e\": \"rmdir\", \"path\": \"%s\", \"result\": 0, \"error\": 0}", path);
	CHECK(rmdir(path) == -1 && errno == ENOENT);
	expect("{\"e\": \"rmdir\", \"path\": \"%s\", \"result\": -1, \"error\": %d}", path, ENOENT);
	close(folder);
}

static void transfers(int from, int to)
{
	struct iovec iov = {buffer, 5};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};

	CHECK(sendto(from, buffer, 6, MSG_NOSIGNAL, NULL, 0) == 6);
	expect("{\"e\": \"sendto\", \"fd\": %d, \"buf\": %" PRIu64
	       ", \"count\": 6, \"flags\": %d, \"result\": 6, \"error\": 0}",
			from, P(buffer), MSG_NOSIGNAL);
	CHECK(recvfrom(to, buffer + 8, 2, MSG_PEEK, NULL, NULL) == 2);
	expect("{\"e\": \"recvfrom\", \"fd\": %d, \"buf\": %" PRIu64
	       ", \"count\": 2, \"flags\": %d, \"result\": 2, \"error\": 0}",
			to, P(buffer + 8), MSG_PEEK);
	CHECK(sendmsg(from, &message, MSG_DONTWAIT) == 5);
	expect("{\"e\": \"sendmsg\", \"fd\": %d, \"message\": %" PRIu64
	       ", \"flags\": %d, \"result\": 5, \"error\": 0}",
			from, P(&message), MSG_DONTWAIT);
	CHECK(recvmsg(to, &message, MSG_WAITALL) == 5);
	expect("{\"e\": \"recvmsg\", \"fd\": %d, \"message\": %" PRIu64
	       ", \"flags\": %d, \"result\": 5, \"error\": 0}",
			to, P(&message), MSG_WAITALL);
	CHECK(shutdown(from, SHUT_WR) == 0);
	expect("{\"e\": \"shutdown\", \"fd\": %d, \"how\": %d, \"result\": 0, \"error\": 0}", from,
			SHUT_WR);
}

static int accepted(int fd, const struct sockaddr_un *address, socklen_t length, int flags)
{
	int client = socket(AF_UNIX, SOCK_STREAM, 0), server;
	struct sockaddr_un peer;
	socklen_t size = sizeof(peer);

	CHECK(client >= 0 && connect(client, (const struct sockaddr *)address, length) == 0);
	expect("{\"e\": \"connect\", \"fd\": %d, \"address\": %" PRIu64
	       ", \"length\": %u, \"result\": 0, \"error\": 0}",
			client, P(address), (unsigned int)length);
	if (flags) {
		server = accept4(fd, (struct sockaddr *)&peer, &size, flags);
		expect("{\"e\": \"accept4\", \"fd\": %d, \"address\": %" PRIu64
		       ", \"flags\": %d, \"result\": %d, \"error\": 0}",
				fd, P(&peer), flags, server);
	} else {
		server = accept(fd, (struct sockaddr *)&peer, &size);
		expect("{\"e\": \"accept\", \"fd\": %d, \"address\": %" PRIu64
		       ", \"result\": %d, \"error\": 0}",
				fd, P(&peer), server);
	}
	CHECK(server >= 0);
	transfers(client, server);
	close(client);
	return server;
}

static void sockets(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	socklen_t length;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CHECK(fd >= 0);
	expect("{\"e\": \"socket\", \"domain\": %d, \"type\": %d, \"protocol\": 0, \"result\": %d, \"error\": 0}",
			AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, fd);
	/* An abstract name: it begins with 0 and ends with the length. */
	snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "side-calls-%d",
			(int)getpid());
	length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			strlen(address.sun_path + 1));
	CHECK(bind(fd, (struct sockaddr *)&address, length) == 0);
	expect("{\"e\": \"bind\", \"fd\": %d, \"address\": %" PRIu64
	       ", \"length\": %u, \"result\": 0, \"error\": 0}",
			fd, P(&address), (unsigned int)length);
	CHECK(listen(fd, 3) == 0);
	expect("{\"e\": \"listen\", \"fd\": %d, \"backlog\": 3, \"result\": 0, \"error\": 0}", fd);
	close(accepted(fd, &address, length, 0));
	close(accepted(fd, &address, length, SOCK_CLOEXEC));
	close(fd);
}

static void ready_descriptors(void)
{
	const struct timespec none = {0, 0};
	struct timeval at_once = {0, 0};
	struct epoll_event event = {.events = EPOLLOUT};
	struct pollfd wait = {.events = POLLOUT};
	sigset_t mask;
	fd_set set;
	int fds[2], fd;

	sigemptyset(&mask);
	CHECK(pipe2(fds, O_NONBLOCK) == 0);
	expect("{\"e\": \"pipe2\", \"read_fd\": %d, \"write_fd\": %d, \"flags\": %d, \"result\": 0, \"error\": 0}",
			fds[0], fds[1], O_NONBLOCK);
	wait.fd = fds[1];
	CHECK(ppoll(&wait, 1, &none, &mask) == 1);
	expect("{\"e\": \"ppoll\", \"fds\": %" PRIu64
	       ", \"count\": 1, \"result\": 1, \"error\": 0}",
			P(&wait));
	FD_ZERO(&set);
	FD_SET(fds[1], &set);
	CHECK(select(fds[1] + 1, NULL, &set, NULL, &at_once) == 1);
	expect("{\"e\": \"select\", \"count\": %d, \"result\": 1, \"error\": 0}", fds[1] + 1);
	fd = epoll_create1(0);
	CHECK(fd >= 0 && epoll_ctl(fd, EPOLL_CTL_ADD, fds[1], &event) == 0);
	expect("{\"e\": \"epoll_ctl\", \"fd\": %d, \"operation\": %d, \"target\": %d, \"result\": 0, \"error\": 0}",
			fd, EPOLL_CTL_ADD, fds[1]);
	CHECK(epoll_wait(fd, &event, 1, 7) == 1);
	expect("{\"e\": \"epoll_wait\", \"fd\": %d, \"events\": %" PRIu64
	       ", \"count\": 1, \"timeout\": 7, \"result\": 1, \"error\": 0}",
			fd, P(&event));
	CHECK(epoll_pwait(fd, &event, 1, 9, &mask) == 1);
	expect("{\"e\": \"epoll_pwait\", \"fd\": %d, \"events\": %" PRIu64
	       ", \"count\": 1, \"timeout\": 9, \"result\": 1, \"error\": 0}",
			fd, P(&event));
	close(fd);
	close(fds[0]);
	close(fds[1]);
	/* The descriptors of a pipe that could not be made are not reported. */
	CHECK(pipe2(fds, -1) == -1 && errno == EINVAL);
	expect("{\"e\": \"pipe2\", \"read_fd\": -1, \"write_fd\": -1, \"flags\": -1, \"result\": -1, \"error\": %d}",
			EINVAL);
}

void descriptors(const char *directory)
{
	paths(directory);
	sockets();
	ready_descriptors();
}
