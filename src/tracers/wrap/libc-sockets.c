/* SPDX-License-Identifier: MIT */
/*
 * Emits calls for sockets and pipes, and calls that wait for descriptors, as events of the provider
 * "libc". Sizes are recorded, addresses and contents are not.
 */
#include "tracers/wrap/wrap.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#define SOCKET_FUNCTION(type, kind, function, params, names, fields, args)                        \
	WRAP_FUNCTION("libc", type, kind, function, params, names, result < 0, WRAP_LIST(fields), \
			WRAP_LIST(args))

SOCKET_FUNCTION(int, s32, socket, (int domain, int type, int protocol), (domain, type, protocol),
		WRAP_LIST(side_field_s32("domain"), side_field_s32("type"),
				side_field_s32("protocol")),
		WRAP_LIST(side_arg_s32(domain), side_arg_s32(type), side_arg_s32(protocol)))
SOCKET_FUNCTION(int, s32, listen, (int fd, int backlog), (fd, backlog),
		WRAP_LIST(side_field_s32("fd"), side_field_s32("backlog")),
		WRAP_LIST(side_arg_s32(fd), side_arg_s32(backlog)))
SOCKET_FUNCTION(int, s32, shutdown, (int fd, int how), (fd, how),
		WRAP_LIST(side_field_s32("fd"), side_field_s32("how")),
		WRAP_LIST(side_arg_s32(fd), side_arg_s32(how)))

#define ADDRESS_FUNCTION(function)                                                     \
	SOCKET_FUNCTION(int, s32, function,                                            \
			(int fd, const struct sockaddr *address, socklen_t length),    \
			(fd, address, length),                                         \
			WRAP_LIST(side_field_s32("fd"), side_field_pointer("address"), \
					side_field_u32("length")),                     \
			WRAP_LIST(side_arg_s32(fd), side_arg_pointer(address),         \
					side_arg_u32(length)))

ADDRESS_FUNCTION(bind)
ADDRESS_FUNCTION(connect)

SOCKET_FUNCTION(int, s32, accept, (int fd, struct sockaddr *address, socklen_t *length),
		(fd, address, length),
		WRAP_LIST(side_field_s32("fd"), side_field_pointer("address")),
		WRAP_LIST(side_arg_s32(fd), side_arg_pointer(address)))
SOCKET_FUNCTION(int, s32, accept4, (int fd, struct sockaddr *address, socklen_t *length, int flags),
		(fd, address, length, flags),
		WRAP_LIST(side_field_s32("fd"), side_field_pointer("address"),
				side_field_s32("flags")),
		WRAP_LIST(side_arg_s32(fd), side_arg_pointer(address), side_arg_s32(flags)))

#define TRANSFER_FIELDS                                                           \
	side_field_s32("fd"), side_field_pointer("buf"), side_field_u64("count"), \
			side_field_s32("flags")
#define TRANSFER_ARGS \
	side_arg_s32(fd), side_arg_pointer(buf), side_arg_u64(count), side_arg_s32(flags)

SOCKET_FUNCTION(ssize_t, s64, send, (int fd, const void *buf, size_t count, int flags),
		(fd, buf, count, flags), WRAP_LIST(TRANSFER_FIELDS), WRAP_LIST(TRANSFER_ARGS))
SOCKET_FUNCTION(ssize_t, s64, recv, (int fd, void *buf, size_t count, int flags),
		(fd, buf, count, flags), WRAP_LIST(TRANSFER_FIELDS), WRAP_LIST(TRANSFER_ARGS))
SOCKET_FUNCTION(ssize_t, s64, sendto,
		(int fd, const void *buf, size_t count, int flags, const struct sockaddr *address,
				socklen_t length),
		(fd, buf, count, flags, address, length), WRAP_LIST(TRANSFER_FIELDS),
		WRAP_LIST(TRANSFER_ARGS))
SOCKET_FUNCTION(ssize_t, s64, recvfrom,
		(int fd, void *buf, size_t count, int flags, struct sockaddr *address,
				socklen_t *length),
		(fd, buf, count, flags, address, length), WRAP_LIST(TRANSFER_FIELDS),
		WRAP_LIST(TRANSFER_ARGS))
SOCKET_FUNCTION(ssize_t, s64, sendmsg, (int fd, const struct msghdr *message, int flags),
		(fd, message, flags),
		WRAP_LIST(side_field_s32("fd"), side_field_pointer("message"),
				side_field_s32("flags")),
		WRAP_LIST(side_arg_s32(fd), side_arg_pointer(message), side_arg_s32(flags)))
SOCKET_FUNCTION(ssize_t, s64, recvmsg, (int fd, struct msghdr *message, int flags),
		(fd, message, flags),
		WRAP_LIST(side_field_s32("fd"), side_field_pointer("message"),
				side_field_s32("flags")),
		WRAP_LIST(side_arg_s32(fd), side_arg_pointer(message), side_arg_s32(flags)))

#define PIPE_ENDS side_arg_s32(result < 0 ? -1 : fds[0]), side_arg_s32(result < 0 ? -1 : fds[1])

SOCKET_FUNCTION(int, s32, pipe, (int fds[2]), (fds),
		WRAP_LIST(side_field_s32("read_fd"), side_field_s32("write_fd")),
		WRAP_LIST(PIPE_ENDS))
SOCKET_FUNCTION(int, s32, pipe2, (int fds[2], int flags), (fds, flags),
		WRAP_LIST(side_field_s32("read_fd"), side_field_s32("write_fd"),
				side_field_s32("flags")),
		WRAP_LIST(PIPE_ENDS, side_arg_s32(flags)))
SOCKET_FUNCTION(int, s32, socketpair, (int domain, int type, int protocol, int fds[2]),
		(domain, type, protocol, fds),
		WRAP_LIST(side_field_s32("domain"), side_field_s32("type"),
				side_field_s32("protocol"), side_field_s32("fd0"),
				side_field_s32("fd1")),
		WRAP_LIST(side_arg_s32(domain), side_arg_s32(type), side_arg_s32(protocol),
				PIPE_ENDS))

SOCKET_FUNCTION(int, s32, poll, (struct pollfd * fds, nfds_t count, int timeout),
		(fds, count, timeout),
		WRAP_LIST(side_field_pointer("fds"), side_field_u64("count"),
				side_field_s32("timeout")),
		WRAP_LIST(side_arg_pointer(fds), side_arg_u64(count), side_arg_s32(timeout)))
SOCKET_FUNCTION(int, s32, ppoll,
		(struct pollfd * fds, nfds_t count, const struct timespec *timeout,
				const sigset_t *mask),
		(fds, count, timeout, mask),
		WRAP_LIST(side_field_pointer("fds"), side_field_u64("count")),
		WRAP_LIST(side_arg_pointer(fds), side_arg_u64(count)))
SOCKET_FUNCTION(int, s32, select,
		(int count, fd_set *in, fd_set *out, fd_set *except, struct timeval *timeout),
		(count, in, out, except, timeout), WRAP_LIST(side_field_s32("count")),
		WRAP_LIST(side_arg_s32(count)))
SOCKET_FUNCTION(int, s32, epoll_wait, (int fd, struct epoll_event *events, int count, int timeout),
		(fd, events, count, timeout),
		WRAP_LIST(side_field_s32("fd"), side_field_pointer("events"),
				side_field_s32("count"), side_field_s32("timeout")),
		WRAP_LIST(side_arg_s32(fd), side_arg_pointer(events), side_arg_s32(count),
				side_arg_s32(timeout)))
SOCKET_FUNCTION(int, s32, epoll_pwait,
		(int fd, struct epoll_event *events, int count, int timeout, const sigset_t *mask),
		(fd, events, count, timeout, mask),
		WRAP_LIST(side_field_s32("fd"), side_field_pointer("events"),
				side_field_s32("count"), side_field_s32("timeout")),
		WRAP_LIST(side_arg_s32(fd), side_arg_pointer(events), side_arg_s32(count),
				side_arg_s32(timeout)))
SOCKET_FUNCTION(int, s32, epoll_ctl, (int fd, int operation, int target, struct epoll_event *event),
		(fd, operation, target, event),
		WRAP_LIST(side_field_s32("fd"), side_field_s32("operation"),
				side_field_s32("target")),
		WRAP_LIST(side_arg_s32(fd), side_arg_s32(operation), side_arg_s32(target)))
