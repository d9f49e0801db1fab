/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROTOCOL_BOOT_H
#define SIDE_PROTOCOL_BOOT_H

/*
 * Reads the file that defines what is recorded before there is a daemon: the static configuration
 * of early boot (docs/how-to/early-boot.md).
 *
 * Each line is a keyword and its value; the keywords are the command line's options. A line that
 * begins with "#" is a comment.
 *
 *   place DIR          the directory with the rings; the first line, once
 *   session NAME       the following lines belong to it
 *   output DIR         of a session: the directory of its traces after its adoption
 *   memory-limit SIZE  of a session, after its adoption
 *   channel NAME       the following lines belong to it; the default is "ring"
 *   mode discard|overwrite|block
 *   buffer-size SIZE
 *   per-thread MAX
 *   block-timeout TIME
 *   context NAME,...   of the channel, or, after an event, of that rule
 *   event PATTERN,...  begins a rule of the channel
 *   exclude PATTERN,...  excludes events from the rule
 *   filter EXPRESSION  of the rule
 *
 * Both sides read it: the agent, in a program whose malloc() may be traced, and the recorder that
 * adopts the rings. So nothing here allocates: strings stay in the file's bytes, which are
 * modified, and lists go into memory of the caller. Filters are not parsed here, because this
 * module must not use the module filter.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BOOT_ENV "SIDE_BOOT" /* a path, or "1" for BOOT_FILE; "" and "0": no file */
#define BOOT_FILE "/etc/side/boot.conf"
#define BOOT_SIZE_MAX 65536u /* bytes of the file */
#define BOOT_SESSIONS_MAX 8
#define BOOT_STATE_DIR_MAX 4096
#define BOOT_SOCKET_MAX 105 /* bytes of DIR/SESSION/socket */
/* the default is small, because early in the boot there is little memory */
#define BOOT_RING_SIZE (256u << 10)
#define BOOT_RING_SIZE_MIN (64u << 10)

/* Names in DIR/SESSION, beside the folders of processes. */
#define BOOT_SOCKET "socket" /* of the recorder, while it runs */
/* Rings that are in no directory have this name in /proc/PID/maps. */
#define BOOT_MEMORY "side-boot"
#define BOOT_OVER "over" /* exists once the session is destroyed: no program joins it any more */

enum boot_mode { BOOT_DISCARD, BOOT_OVERWRITE, BOOT_BLOCK };

/* Consecutive strings, each with its NUL. */
struct boot_strings {
	const char *texts;
	size_t size;
	uint32_t nr;
};

struct boot_rule {
	struct boot_rule *next;
	struct boot_strings patterns;
	struct boot_strings contexts;
	const char *filter; /* NULL: none */
	unsigned int line, filter_line;
};

struct boot_channel {
	struct boot_channel *next;
	const char *name;
	enum boot_mode mode;
	uint64_t ring_size;        /* a power of two */
	uint32_t threads_max;      /* 0: a ring for each CPU */
	uint32_t block_timeout_us; /* 0: the default */
	struct boot_strings contexts;
	struct boot_rule *rules, **rules_end;
	uint32_t nr_rules;
};

struct boot_session {
	struct boot_session *next;
	const char *name;
	const char *output; /* NULL: not configured */
	uint64_t memory_limit;
	struct boot_channel *channels, **channels_end;
	uint32_t nr_channels;
};

struct boot_config {
	const char *state_dir; /* an absolute path */
	struct boot_session *sessions, **sessions_end;
	uint32_t nr_sessions;
};

struct boot_error {
	unsigned int line; /* from 1; 0: the whole file */
	char text[320];    /* the problem, without a subject */
	char hint[160];
};

/* Size of the buffer that boot_parse() needs for a file of `size` bytes. */
size_t boot_buffer_size(size_t size);

/*
 * Parse a file's bytes (`text` has `size` of them and one more behind, which becomes 0). `space`
 * has boot_buffer_size() bytes and the alignment of a pointer. *ret_config points into both. 0, or
 * -EINVAL with *error filled in.
 */
int boot_parse(char *text, size_t size, void *space, struct boot_config **ret_config,
		struct boot_error *error);

/* Format "FILE:LINE: problem; hint" in one line. */
void boot_error_text(char *buffer, size_t size, const char *file, const struct boot_error *error);

/* The file that the value of BOOT_ENV names, or NULL: none. */
const char *boot_file(const char *value);

/* Format "DIR/SESSION" and, with a name, "/NAME" behind it. False: it does not fit. */
bool boot_path(char *path, size_t space, const char *state_dir, const char *session,
		const char *name);

#endif
