/* SPDX-License-Identifier: MIT */
/*
 * Checks the permissions of the recorder's libraries. A program of root may change to another user,
 * who must be able to read them.
 */
#include "private-directory.h"

#include "programs/common/message.h"

#include "recorder/core/session.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct private_paths {
	char folders[4 * PATH_MAX]; /* quoted for a shell, each after a blank */
	char first[PATH_MAX];
};

static void private_add(struct private_paths *paths, const char *folder)
{
	size_t used = strlen(paths->folders);
	char quoted[PATH_MAX + 64];

	if (!*paths->first)
		snprintf(paths->first, sizeof(paths->first), "%s", folder);
	format_quoted(folder, quoted, sizeof(quoted));
	if (used + strlen(quoted) + 2 <= sizeof(paths->folders))
		snprintf(paths->folders + used, sizeof(paths->folders) - used, " %s", quoted);
}

/*
 * Finds directories of the path that other users cannot search, or the library
 * that they cannot read.
 */
static void private_find(struct private_paths *paths, char *library)
{
	struct stat status;

	for (char *slash = strchr(library + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (!stat(library, &status) && !(status.st_mode & S_IXOTH))
			private_add(paths, library);
		*slash = '/';
	}
	if (!*paths->first && !stat(library, &status) && !(status.st_mode & S_IROTH))
		private_add(paths, library);
}

/*
 * True if the argument contains the name of such a program, alone or in a shell command, with or
 * without a directory.
 */
static bool private_names_changer(const char *arg)
{
	/* Programs that keep LD_PRELOAD; sudo, doas and pkexec remove it. */
	static const char *const changers[] = {"su", "runuser", "setpriv", "setuidgid",
			"s6-setuidgid", "chpst", "gosu", "su-exec", "capsh", "start-stop-daemon"};
	static const char separators[] = " \t\n/;|&()'\"`";

	while (*(arg += strspn(arg, separators))) {
		size_t size = strcspn(arg, separators);

		for (size_t i = 0; i < sizeof(changers) / sizeof(*changers); i++)
			if (strlen(changers[i]) == size && !strncmp(changers[i], arg, size))
				return true;
		arg += size;
	}
	return false;
}

static bool private_changes_user(char *const *args)
{
	for (; args && *args; args++)
		if (private_names_changer(*args))
			return true;
	return false;
}

void record_note_private(char *const *command)
{
	struct private_paths paths = {.first = ""};
	char *library = geteuid() ? NULL : session_library("libside-agent.so");
	char shown[PATH_MAX];

	if (!library)
		return;
	private_find(&paths, library);
	if (*paths.first)
		/* Any program of root can change its user, but most do not. */
		(private_changes_user(command) ? message_note : message_detail)(
				"programs that change to another user are not recorded, and their loader prints \"cannot be preloaded\": other users cannot read %s; `chmod %s%s` permits it",
				format_printable(paths.first, shown, sizeof(shown)),
				strcmp(paths.first, library) != 0 ? "o+x" : "o+r", paths.folders);
	free(library);
}
