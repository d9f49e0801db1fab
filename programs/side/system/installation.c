/* SPDX-License-Identifier: MIT */
/* Finds the library for all programs, and checks that it can be trusted. */
#include "installation.h"

#include "loaders.h"
#include "preload-file.h"

#include "recorder/core/session.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void installation_free(struct installation *installation)
{
	free(installation->directory);
	free(installation->line);
	*installation = (struct installation){.line = NULL};
}

/* Takes ownership of the directory. */
static int installation_set(
		struct installation *ret_installation, char *directory, struct error *error)
{
	*ret_installation = (struct installation){.directory = directory};
	if (directory &&
			asprintf(&ret_installation->line, "%s%s", directory, PRELOAD_FILE_BELOW) >=
					0)
		return 0;
	free(directory);
	*ret_installation = (struct installation){.line = NULL};
	return error_set_no_memory(error);
}

int installation_find(struct installation *ret_installation, struct error *error)
{
	char *directory = session_library("side-preload");
	const char *end = directory ? strrchr(directory, '/') : NULL;

	*ret_installation = (struct installation){.line = NULL};
	if (!end || strcmp(end, PRELOAD_FILE_DIRECTORY) != 0) {
		free(directory);
		return error_set(error, -ENOENT, "reinstall side",
				"the directory side-preload is not installed beside this program");
	}
	if (strpbrk(directory, " \t\n:#$")) {
		int ret = error_set(error, -EINVAL, "install side in a directory with a plain name",
				"the loader cannot read the path %s in " PRELOAD_FILE, directory);

		free(directory);
		return ret;
	}
	return installation_set(ret_installation, directory, error);
}

int installation_of_line(const char *line, size_t size, struct installation *ret_installation,
		struct error *error)
{
	const size_t end = strlen(PRELOAD_FILE_BELOW);

	return installation_set(ret_installation, strndup(line, size - end), error);
}

/* ---- trust ---- */

static int installation_check_owner(const char *path, struct error *error)
{
	struct stat status;

	if (lstat(path, &status))
		return error_set_system(error, errno, "cannot check %s", path);
	if (status.st_uid)
		return error_set_kind(error, ERROR_PERMISSION, -EPERM,
				"install side as root, for instance in /usr",
				"user %u owns %s, and could change each program of this machine",
				(unsigned int)status.st_uid, path);
	if (!S_ISLNK(status.st_mode) && (status.st_mode & (S_IWGRP | S_IWOTH)))
		return error_set_kind(error, ERROR_PERMISSION, -EPERM,
				"install side in a directory that only root can write",
				"other users can write to %s, and could change each program of this machine",
				path);
	return 0;
}

static bool installation_has(const char *directory, const char *name)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/%s", directory, name) < (int)sizeof(path) &&
			!access(path, F_OK);
}

static int installation_check_directory(const char *directory, struct error *error)
{
	if (installation_has(directory, "build.ninja"))
		return error_set_kind(error, ERROR_FAILED, -EPERM, "`sudo ninja -C build install`",
				"side runs from the build tree %s, which can change at any time",
				directory);
	return installation_check_owner(*directory ? directory : "/", error);
}

/* Checks a file, and each directory above it. The path has no symbolic links. */
static int installation_check_path(const char *path, struct error *error)
{
	int ret = installation_check_owner(path, error);
	char *at = strdup(path), *slash;

	if (!at)
		return error_set_no_memory(error);
	while (!ret && (slash = strrchr(at, '/'))) {
		*slash = '\0';
		ret = installation_check_directory(at, error);
	}
	free(at);
	return ret;
}

/* Checks what a path leads to, and the name itself. */
static int installation_check_file(
		const char *directory, const char *name, bool is_optional, struct error *error)
{
	char path[PATH_MAX], *real;
	int ret;

	if (snprintf(path, sizeof(path), "%s/%s", directory, name) >= (int)sizeof(path))
		return error_set_system(error, ENAMETOOLONG, "cannot use %s", directory);
	if (is_optional && access(path, F_OK) && errno == ENOENT)
		return 0;
	real = realpath(path, NULL);
	if (!real)
		return error_set_system(error, errno, "cannot use %s", path);
	ret = installation_check_path(real, error);
	/* It may be a symbolic link. */
	if (!ret)
		ret = installation_check_owner(path, error);
	free(real);
	return ret;
}

int installation_check_trust(const struct installation *installation, struct error *error)
{
	/*
	 * Relative to side-preload/: the library, through the directory of each loader, and what it
	 * loads.
	 */
	static const struct {
		const char *name;
		bool is_optional;
	} files[] = {{".", false}, {"libside-system.so", false}, {"libside-system-32.so", true},
			{"lib", true}, {"lib/x86_64-linux-gnu", true}, {"lib64", true},
			{"lib32", true}, {"lib/i386-linux-gnu", true}, {"lib32/side-preload", true},
			{"lib/i386-linux-gnu/side-preload", true},
			{"lib32/side-preload/libside-system.so", true},
			{"lib/i386-linux-gnu/side-preload/libside-system.so", true},
			{"../libside-agent.so", false}};
	char *libside = session_library("libside.so.0");
	int ret = 0;

	for (size_t i = 0; i < sizeof(files) / sizeof(*files) && !ret; i++)
		ret = installation_check_file(installation->directory, files[i].name,
				files[i].is_optional, error);
	if (!ret && !libside)
		ret = error_set(error, -ENOENT, "reinstall it",
				"libside.so.0 is not installed beside this program");
	if (!ret)
		ret = installation_check_path(libside, error);
	free(libside);
	return ret;
}

int installation_check_loads(const struct installation *installation, struct error *error)
{
	struct loaders loaders;
	char path[PATH_MAX];
	int ret;

	if (snprintf(path, sizeof(path), "%s/libside-system.so", installation->directory) >=
			(int)sizeof(path))
		return error_set_system(
				error, ENAMETOOLONG, "cannot use %s", installation->directory);
	if (access(path, R_OK))
		return error_set_system(error, errno, "cannot read %s", path);
	ret = loaders_find(&loaders, error);
	if (ret)
		return ret;
	ret = loaders_check(&loaders, installation->directory, installation->line, error);
	loaders_free(&loaders);
	return ret;
}
