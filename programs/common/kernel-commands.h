/* SPDX-License-Identifier: MIT */
/*
 * The protocol between `side` and side-kernel, the program that records kernel events in the
 * sessions of a daemon.
 */
#ifndef PROGRAMS_COMMON_KERNEL_COMMANDS_H
#define PROGRAMS_COMMON_KERNEL_COMMANDS_H

/*
 * The socket and the lock are in the directory of the daemon's socket. A client sends one line, a
 * command. The answer is one line, a JSON object:
 *
 *	refresh		the rules of the sessions may have changed; answered when they are in
 *			effect; `look` is the former name, which clients send until the next release
 *	drain		answered when all events until now are in the rings
 *	knows PATTERN	{"known":true}: the kernel has such an event, or may get one
 *	status		"method", "why" (not the other one), "events" known, "on", "recorded",
 *			"lost"
 *
 * `refresh` and `drain` have the same answer as `status`.
 */
#define KERNEL_SESSION_SOCKET "kernel.sock"
#define KERNEL_SESSION_LOCK "kernel.lock"
#define KERNEL_SESSION_REFRESH "refresh"
#define KERNEL_SESSION_FORMER_REFRESH "look"
#define KERNEL_SESSION_DRAIN "drain"
#define KERNEL_SESSION_KNOWS "knows"
#define KERNEL_SESSION_STATUS "status"

#endif /* PROGRAMS_COMMON_KERNEL_COMMANDS_H */
