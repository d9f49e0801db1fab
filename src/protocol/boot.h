/* SPDX-License-Identifier: MIT */
#ifndef SIDE_PROTOCOL_BOOT_H
#define SIDE_PROTOCOL_BOOT_H

/*
 * The file that says what is recorded before there is a daemon: the static configuration of early boot
 * (docs/how-to/early-boot.md). Lines of a word and its value; the words are the command line's options.
 * A line that begins with "#" is a remark.
 *
 *	place DIR			where the rings are; first of all, once
 *	session NAME			what follows belongs to it
 *	output DIR			of a session: where its traces go when it is adopted
 *	memory-limit SIZE		of a session, from then on
 *	channel NAME			what follows belongs to it; without one it is "ring"
 *	mode discard|overwrite|block
 *	buffer-size SIZE
 *	per-thread MAX
 *	block-timeout TIME
 *	context NAME,...		of the channel, or, behind an event, of that rule
 *	event PATTERN,...		begins a rule of the channel
 *	exclude PATTERN,...		but not these
 *	filter EXPRESSION		of the rule
 *
 * Both sides read it: the agent, in a program whose malloc() may be what is traced, and whoever adopts
 * the rings. So nothing here allocates: texts stay where they are in the file's bytes, which are changed,
 * and lists go into memory of the caller. Filters are not looked into: that is another room's affair.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BOOT_ENV "SIDE_BOOT" /* a path, or "1" for the path below; "" and "0": nothing */
#define BOOT_FILE "/etc/side/boot.conf"
#define BOOT_SIZE_MAX 65536u /* bytes of the file */
#define BOOT_SESSIONS_MAX 8
#define BOOT_STATE_DIR_MAX 4096
#define BOOT_SOCKET_MAX 105         /* bytes of PLACE/SESSION/socket */
#define BOOT_RING_SIZE (256u << 10) /* when nothing is said: there is little memory yet */
#define BOOT_RING_SIZE_MIN (64u << 10)

/* In PLACE/SESSION, beside the folders of processes. */
#define BOOT_SOCKET "socket" /* of the recorder, while there is one */
/* Rings that are in no place have this name in /proc/PID/maps. */
#define BOOT_MEMORY "side-boot"
#define BOOT_OVER "over" /* the session was destroyed: nobody begins any more */

enum boot_mode { BOOT_DISCARD, BOOT_OVERWRITE, BOOT_BLOCK };

/* Strings in a row, each with its NUL. */
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
	uint32_t block_timeout_us; /* 0: the standard */
	struct boot_strings contexts;
	struct boot_rule *rules, **rules_end;
	uint32_t nr_rules;
};

struct boot_session {
	struct boot_session *next;
	const char *name;
	const char *output; /* NULL: not said */
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
	char text[320];    /* a sentence part: what is wrong */
	char hint[160];
};

/* Bytes of memory that boot_parse() needs for a file of so many bytes. */
size_t boot_buffer_size(size_t size);

/*
 * Read a file's bytes (`text` has `size` of them and one more behind, which becomes 0). `space` has
 * boot_buffer_size() bytes and the alignment of a pointer. Everything points into both. 0, or -EINVAL with
 * *error filled in.
 */
int boot_parse(char *text, size_t size, void *space, struct boot_config **config,
		struct boot_error *error);

/* "FILE:LINE: what is wrong; mend" in one line. */
void boot_error_text(char *buffer, size_t size, const char *file, const struct boot_error *error);

/* The file that the value of BOOT_ENV names, or NULL: there is none. */
const char *boot_file(const char *value);

/* "PLACE/SESSION" and, with a name, "/NAME" behind it. False: it does not fit. */
bool boot_path(char *path, size_t space, const char *state_dir, const char *session,
		const char *name);

#endif
