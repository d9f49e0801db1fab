/* SPDX-License-Identifier: MIT */
#ifndef SIDE_SESSIONS_BOOT_H
#define SIDE_SESSIONS_BOOT_H

/*
 * Reads the static configuration of early boot (protocol/boot.h), and converts each of its sessions
 * to a definition. For the daemon and the command line, which adopt recordings made by it.
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
 * Reads and checks a file, including its filters. Returns 0, or a negative errno with *error filled
 * in: file, line, reason, hint. Call boot_source_free() in any case.
 */
int boot_source_read(const char *path, struct boot_source *ret_source, struct error *error);
void boot_source_free(struct boot_source *source);

/*
 * Makes the definition of a session in the configuration, with an output only if the configuration
 * names one.
 */
int definition_of_boot(const struct boot_source *source, const struct boot_session *session,
		struct definition **ret_definition, struct error *error);

#endif
