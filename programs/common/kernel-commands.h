/* SPDX-License-Identifier: MIT */
/* The protocol between `side` and side-kernel, the program that records the kernel's events in the sessions of a daemon. */
#ifndef PROGRAMS_COMMON_KERNEL_COMMANDS_H
#define PROGRAMS_COMMON_KERNEL_COMMANDS_H

/*
 * The socket and the lock are in the directory of the daemon's socket. A connection takes one line, a command. The answer is one line,
 * a JSON object:
 *
 *	look            the rules of the sessions may have changed; answered when the new rules are in effect
 *	drain           answered when all events until now are in the rings
 *	knows PATTERN   {"known":true}: the kernel has such an event, or may get one
 *	status          "way", "why" (not the other one), "events" known, "on", "said", "lost"
 *
 * The first two have the same answer as the last one.
 */
#define KERNEL_SESSION_SOCKET "kernel.sock"
#define KERNEL_SESSION_LOCK "kernel.lock"
#define KERNEL_SESSION_REFRESH "look"
#define KERNEL_SESSION_DRAIN "drain"
#define KERNEL_SESSION_KNOWS "knows"
#define KERNEL_SESSION_STATUS "status"

#endif /* PROGRAMS_COMMON_KERNEL_COMMANDS_H */
