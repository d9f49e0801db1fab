/* SPDX-License-Identifier: MIT */
/*
 * Program files that cannot be recorded: each is reported once in a recording.
 *
 * A message of the shim or of the agent names the file. Only a hash of it is kept, so two files can
 * count as one: with 512 files, in one of 10^14 recordings.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/inside/hash.h"
#include "protocol/protocol.h"
#include "recorder/core/instance.h"
#include "recorder/core/report.h"
#include "recorder/core/session.h"
#include "recorder/session-state.h"
#include "recorder/unrecorded-files.h"

const char *unrecorded_files_reason(uint32_t reason)
{
	switch (reason) {
	case WIRE_UNRECORDED_WORD_SIZE:
		return "it is a 32-bit program, and the installed agent is a 64-bit library";
	case WIRE_UNRECORDED_C_LIBRARY:
		return "its C library is not the GNU C library, which the agent needs";
	case WIRE_UNRECORDED_LIBSIDE:
		return "the libside.so.0 that it loads (see its RUNPATH and LD_LIBRARY_PATH) is not the one that the agent is part of";
	case WIRE_UNRECORDED_STATIC:
		return "it is linked statically with libside and the C library, so it cannot load the agent\nlink it without -static";
	case WIRE_UNRECORDED_STARTS_STATIC: return session_static_reason;
	case WIRE_UNRECORDED_STARTS_RIGHTS: return session_rights_reason;
	case WIRE_UNRECORDED_STARTS_X32:
		return "is an x32 program, and the installed agent is a 64-bit library";
	case WIRE_UNRECORDED_STARTS_PROCESSOR:
		return "is for another processor than the installed agent";
	default: return NULL;
	}
}

const char *unrecorded_process_reason(uint32_t reason)
{
	switch (reason) {
	case WIRE_UNRECORDED_MEMORY:
		return "its limit of address space (ulimit -v) leaves no space for the buffers\nraise the limit, or make the buffers smaller with `--buffer-size`";
	case WIRE_UNRECORDED_FILES:
		return "its limit of open files (ulimit -n) leaves no descriptor for the buffers\nraise the limit";
	case WIRE_UNRECORDED_LOADER:
		return "its loader could not load the agent, and has printed the reason";
	case WIRE_UNRECORDED_ERROR:
		return "a system call that receives or maps its buffers failed\n`SIDE_DEBUG=1` in its environment prints the error";
	default: return "the agent cannot work in it";
	}
}

bool unrecorded_files_is_started(uint32_t reason)
{
	return reason >= WIRE_UNRECORDED_STARTS_STATIC &&
			reason <= WIRE_UNRECORDED_STARTS_PROCESSOR;
}

bool unrecorded_files_note(struct session_unrecorded_files *files, uid_t uid, const char *file)
{
	const uint64_t hash = hash_fnv1a_64_text(
			hash_fnv1a_64(HASH_FNV1A_64_BEGIN, &uid, sizeof(uid)), file);
	const size_t nr = files->nr < UNRECORDED_FILES_MAX ? files->nr : UNRECORDED_FILES_MAX;

	for (size_t i = 0; i < nr; i++)
		if (files->hashes[i] == hash)
			return false;
	files->hashes[files->nr++ % UNRECORDED_FILES_MAX] = hash;
	return true;
}

static bool unrecorded_files_is_recorded(const struct session *session, const char *file)
{
	for (const struct instance *instance = session->instances.list; instance;
			instance = instance->next)
		if (!strcmp(instance->exe, file))
			return true;
	return false;
}

void unrecorded_files_report_command(struct session *session)
{
	char path[PATH_MAX], file[PATH_MAX];

	if (!session->command.never_meets || session_program(session->command.name, path) < 0 ||
			!realpath(path, file) || unrecorded_files_is_recorded(session, file) ||
			!unrecorded_files_note(&session->unrecorded_files, getuid(), file))
		return;
	report(session, true, "not recorded: %s", session->command.never_meets);
}
