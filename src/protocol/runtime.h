/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROTOCOL_RUNTIME_H
#define SIDE_PROTOCOL_RUNTIME_H

/*
 * The runtime directory: where a user's daemon, its sessions and the programs find each other. Used
 * by both sides, so it allocates nothing and leaves errno alone, but it reads the environment: the
 * program's side asks early and keeps the answer.
 */

#include <stdbool.h>
#include <stddef.h>

#define WIRE_RUNTIME_ENV "SIDE_RUNTIME"
#define WIRE_RUNTIME_SYSTEM "/run/side"
#define WIRE_RUNTIME_GROUP "tracing" /* who may control the system's daemon */
#define WIRE_SESSION_NAME_MAX 64

/* Below it. A session's socket is sessions/NAME.sock, its saved definition state/NAME.json. */
#define WIRE_RUNTIME_CONTROL "control.sock"
#define WIRE_RUNTIME_AGENTS "agents.sock"
#define WIRE_RUNTIME_PID "sided.pid"
/* A symbolic link whose text is another one after each change of a session and in each daemon. Missing: not known. */
#define WIRE_RUNTIME_SERIAL "serial"
#define WIRE_RUNTIME_SESSIONS "sessions"
#define WIRE_RUNTIME_STATE "state"
#define WIRE_RUNTIME_STATE_DIRS "places"

/*
 * The path of this user's directory, or of the system's. $SIDE_RUNTIME names the only one there is: with
 * it there is no system's (-ENOENT). 0, -ENAMETOOLONG, or -EINVAL for a relative $SIDE_RUNTIME.
 * Programs with AT_SECURE do not listen to their environment. Says nothing on whether it exists.
 */
int wire_runtime_directory(char *path, size_t capacity, bool system);

/* The path of this user's own directory, whatever $SIDE_RUNTIME names. 0 or -ENAMETOOLONG. */
int wire_runtime_own(char *path, size_t capacity);

/* wire_runtime_directory() and a file's name in it, as far as it fits the name of a socket. */
int wire_runtime_path(char *path, size_t capacity, bool system, const char *file);

/*
 * Is it a directory (no symbolic link) of this user or root, that no other may write? 0, or -ENOENT,
 * -ENOTDIR, -EPERM (another's, or writable), or what the kernel says.
 */
int wire_runtime_check(const char *directory);

/* 1 to 64 bytes of [A-Za-z0-9_.-], not beginning with '.' or '-'. */
bool wire_session_name_valid(const char *name);

#endif
