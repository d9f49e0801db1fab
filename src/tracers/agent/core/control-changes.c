/* SPDX-License-Identifier: MIT */
/*
 * Detect, without a request to the daemon, that no session has changed since the last exchange with
 * it.
 *
 * The daemon publishes the serial of its last change as a symbolic link in its directory. An event
 * can check the directory and read the link in any context: this takes no descriptor, no memory and
 * no answer. A later daemon publishes another text. A daemon that cannot publish removes the link.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "tracers/agent/core/control-changes.h"
#include "protocol/protocol.h"
#include "tracers/agent/core/control-state.h"
#include "tracers/agent/core/rendezvous.h"
#include "base/inside/hash.h"
#include "base/inside/raw.h"
#include "protocol/runtime.h"

#define CHANGES_UNKNOWN 0
#define CHANGES_TEXT_MAX 64

static struct {
	uint64_t asked; /* published before the exchange that is under way; with the turn */
	/* the same of the last exchange whose sessions are joined, or CHANGES_UNKNOWN */
	uint64_t applied;
} changes;

/* The texts differ because two daemons never publish the same one. */
static uint64_t changes_mix(uint64_t hash, const char *bytes, size_t size)
{
	/* 0x100 is no byte: it marks the end of each text. */
	return hash_fnv1a_64_step(hash_fnv1a_64(hash, bytes, size), 0x100);
}

static bool changes_is_missing(const char *path)
{
	struct statx status;

	return raw_call(SYS_statx, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &status) ==
			-ENOENT;
}

/*
 * Read the text that the daemon of this socket publishes. Returns its size: 0 if there is no
 * daemon, a negative errno if this is unknown. A directory that another user owns or can change
 * counts as one without a daemon: no exchange connects to a socket there, so the event does not
 * wait for one.
 */
static long changes_read(const char *socket, char text[CHANGES_TEXT_MAX])
{
	char path[CONTROL_PATH_SIZE + sizeof(WIRE_RUNTIME_SERIAL)];
	const char *end = strrchr(socket, '/');
	long size = control_check_path(socket);

	if (size == -EPERM || size == -ENOTDIR)
		return 0;
	if (!end)
		return -EINVAL;
	memcpy(path, socket, (size_t)(end + 1 - socket));
	memcpy(path + (end + 1 - socket), WIRE_RUNTIME_SERIAL, sizeof(WIRE_RUNTIME_SERIAL));
	size = raw_call(SYS_readlinkat, AT_FDCWD, path, text, CHANGES_TEXT_MAX);
	if (size == -ENOENT && changes_is_missing(socket))
		return 0;
	return size == CHANGES_TEXT_MAX ? -ENAMETOOLONG : size;
}

/* Hash what all daemons publish that an exchange would try. */
static uint64_t changes_published(void)
{
	uint64_t hash = HASH_FNV1A_64_BEGIN;
	bool any = false;
	uint32_t i;

	/* A rendezvous socket has no such link beside it. */
	if (agent_rendezvous())
		return CHANGES_UNKNOWN;
	for (i = 0; i < control.nr_daemons; i++) {
		char text[CHANGES_TEXT_MAX];
		long size = changes_read(control.daemons[i], text);

		if (size < 0)
			return CHANGES_UNKNOWN;
		any |= size > 0;
		hash = changes_mix(hash, text, (size_t)size);
	}
	return any ? hash : CHANGES_UNKNOWN;
}

void control_changes_asked(void)
{
	changes.asked = changes_published();
}

/*
 * Relaxed, here and below: an event that still finds the value of before asks once more than it had
 * to.
 */
void control_changes_applied(bool all)
{
	__atomic_store_n(&changes.applied, all ? changes.asked : CHANGES_UNKNOWN, __ATOMIC_RELAXED);
}

enum control_changes control_changes(void)
{
	uint64_t applied = __atomic_load_n(&changes.applied, __ATOMIC_RELAXED);

	if (applied == CHANGES_UNKNOWN)
		return CONTROL_CHANGES_UNKNOWN;
	return applied == changes_published() ? CONTROL_UNCHANGED : CONTROL_CHANGED;
}
