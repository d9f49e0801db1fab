/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROTOCOL_RUNTIME_H
#define SIDE_PROTOCOL_RUNTIME_H

/*
 * The runtime directory, where a user's daemon, its sessions and the programs find each other.
 *
 * Both sides use it, so it allocates nothing and does not change errno. It reads the environment,
 * so the agent calls it early and keeps the result.
 */

#include <stdbool.h>
#include <stddef.h>

#define WIRE_RUNTIME_ENV "SIDE_RUNTIME"
#define WIRE_RUNTIME_SYSTEM "/run/side"
#define WIRE_RUNTIME_GROUP "tracing" /* its members may control the system's daemon */
#define WIRE_SESSION_NAME_MAX 64

/* Names below it. A session's socket is sessions/NAME.sock, its saved definition
   state/NAME.json. */
#define WIRE_RUNTIME_CONTROL "control.sock"
#define WIRE_RUNTIME_AGENTS "agents.sock"
#define WIRE_RUNTIME_PID "sided.pid"
/* A symbolic link whose text differs after each change of a session and in each daemon. Missing:
   the state is not known. */
#define WIRE_RUNTIME_SERIAL "serial"
/*
 * The programs for whose files sessions have probes. The preloaded library of `side system on` reads
 * it (tracers/preload/system.c). Lines "SCOPE:FILE": SCOPE is a user id, or empty for all users; FILE
 * is the path of an executable, or "*" for all. Missing: there are none.
 */
#define WIRE_RUNTIME_WANTED "wanted"
#define WIRE_RUNTIME_WANTED_MAX 16384 /* bytes of it; for more, the only line is ":*" */
#define WIRE_RUNTIME_SESSIONS "sessions"
#define WIRE_RUNTIME_STATE "state"
#define WIRE_RUNTIME_STATE_DIRS "places"

/*
 * The path of this user's directory, or of the system's. If $SIDE_RUNTIME is set, it is the only
 * directory: there is no system's one (-ENOENT). 0, -ENAMETOOLONG, or -EINVAL for a relative
 * $SIDE_RUNTIME. Programs with AT_SECURE ignore their environment. Does not check whether the
 * directory exists.
 */
int wire_runtime_directory(char *path, size_t capacity, bool system);

/* The path of this user's own directory, ignoring $SIDE_RUNTIME. 0 or -ENAMETOOLONG. */
int wire_runtime_own(char *path, size_t capacity);

/* The path of a file in wire_runtime_directory(), which must fit the name of a socket. */
int wire_runtime_path(char *path, size_t capacity, bool system, const char *file);

/*
 * Check that it is a directory (no symbolic link) of this user or root, which no other user may
 * write. 0, -ENOENT, -ENOTDIR, -EPERM (of another user, or writable), or another errno of the
 * kernel.
 */
int wire_runtime_check(const char *directory);

/* True for 1 to 64 bytes of [A-Za-z0-9_.-], not beginning with '.' or '-'. */
bool wire_session_name_valid(const char *name);

#endif
