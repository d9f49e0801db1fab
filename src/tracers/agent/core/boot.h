/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_BOOT_H
#define SIDE_TRACERS_AGENT_CORE_BOOT_H

/*
 * Sessions of the static configuration that SIDE_BOOT names, which may have no recorder yet.
 *
 * agent_boot_read() is called in the constructor, before other threads exist. The other functions
 * are called with libside's event lock, or by the only thread of a forked child.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct agent_session;
struct boot_config;
struct boot_session;

/*
 * Read the configuration of all later calls. It is never freed. NULL: it cannot be read or parsed.
 */
const struct boot_config *agent_boot_read(const char *path);
/* As agent_hello(), with the session's recorder, or without one. */
int agent_boot_hello(struct agent_session *session, uint64_t parent_token, int *ring_fds);
/*
 * 0: the descriptions are where a later recorder finds them. -EAGAIN: a recorder exists, and must
 * be sent them.
 */
int agent_boot_describe(struct agent_session *session, const void *stream, size_t size);
/* Does this error mean that no recorder exists any more? */
bool agent_boot_has_gone(int error);
/* The socket of the session's recorder. False: it does not fit. */
bool agent_boot_path(const struct boot_session *session, char *path, size_t capacity);

#endif
