/* SPDX-License-Identifier: MIT */
#ifndef SIDE_SESSIONS_BOOT_H
#define SIDE_SESSIONS_BOOT_H

/*
 * The static configuration of early boot (protocol/boot.h) for those who adopt what was recorded by it: the file in
 * memory, and each of its sessions as a definition. A sub-header of the room, for the daemon and the command line.
 */

#include "sessions/definition.h"
#include "protocol/boot.h"

struct boot_source {
	char *path;
	char *text;
	void *buffer;
	struct boot_config *config;
};

/*
 * Read and check a file, its filters, too. 0 or a negative errno with *error filled in: file, line, reason, mend.
 * boot_source_free() in any case.
 */
int boot_source_read(const char *path, struct boot_source *source, struct control_error *error);
void boot_source_free(struct boot_source *source);

/* The session that the configuration says, with an output only if it names one. */
int definition_of_boot(const struct boot_source *source, const struct boot_session *session,
		struct definition **definition, struct control_error *error);

#endif
