/* SPDX-License-Identifier: MIT */
/* Finds the Debian package of a file, and from it the package of its debug file. */
#include "debug-package.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEBUG_PACKAGE_LISTS "/var/lib/dpkg/info"
#define DEBUG_PACKAGE_NAME_SIZE 128

/* dpkg has the path as it is in the package: /bin/ls, although /bin is a link to /usr/bin. */
static bool debug_package_is_path(const char *line, const char *path)
{
	if (!strcmp(line, path))
		return true;
	if (!strncmp(path, "/usr/", 5))
		return !strcmp(line, path + 4);
	return !strncmp(line, "/usr/", 5) && !strcmp(line + 4, path);
}

static bool debug_package_lists(const char *name, const char *path)
{
	char file[PATH_MAX], *line = NULL;
	bool found = false;
	size_t size = 0;
	ssize_t length;
	FILE *list;

	snprintf(file, sizeof(file), DEBUG_PACKAGE_LISTS "/%s", name);
	list = fopen(file, "re");
	if (!list)
		return false;
	while (!found && (length = getline(&line, &size, list)) > 0) {
		if (line[length - 1] == '\n')
			line[length - 1] = '\0';
		found = debug_package_is_path(line, path);
	}
	free(line);
	fclose(list);
	return found;
}

/* Writes the name of the package that has installed the file. False: none, or not Debian. */
static bool debug_package_find(const char *path, char package[DEBUG_PACKAGE_NAME_SIZE])
{
	DIR *directory = opendir(DEBUG_PACKAGE_LISTS);
	const struct dirent *entry;
	bool found = false;

	while (directory && !found && (entry = readdir(directory))) {
		const char *end = strrchr(entry->d_name, '.');

		if (!end || strcmp(end, ".list") != 0 || !debug_package_lists(entry->d_name, path))
			continue;
		/* "libc6:amd64.list" is of the package libc6. */
		snprintf(package, DEBUG_PACKAGE_NAME_SIZE, "%.*s",
				(int)strcspn(entry->d_name, ":") < (int)(end - entry->d_name)
						? (int)strcspn(entry->d_name, ":")
						: (int)(end - entry->d_name),
				entry->d_name);
		found = true;
	}
	if (directory)
		closedir(directory);
	return found;
}

/* Debian builds PACKAGE-dbgsym, except for some packages that have a package of their own. */
static const char *debug_package_suffix(const char *package)
{
	static const char *const own[] = {"libc6", "libc6-i386", "python3.11", "python3.13"};

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		if (!strcmp(package, own[i]))
			return "dbg";
	}
	return "dbgsym";
}

static const char *debug_package_server_hint(const struct code_debug_file *debug)
{
	return debug->asked_server
			? "the servers in DEBUGINFOD_URLS have no debug file for it, or DEBUGINFOD_URLS is not set"
			: "or add `--debuginfod`, which gets it from the servers in DEBUGINFOD_URLS";
}

static void debug_package_write_hint(
		const char *path, const struct code_debug_file *debug, char *text, size_t size)
{
	char package[DEBUG_PACKAGE_NAME_SIZE], *whole = realpath(path, NULL);

	if (debug_package_find(path, package) || (whole && debug_package_find(whole, package)))
		snprintf(text, size, "`apt install %s-%s` installs its debug file%s%s; %s", package,
				debug_package_suffix(package), *debug->path ? " " : "", debug->path,
				debug_package_server_hint(debug));
	else if (*debug->path)
		snprintf(text, size, "install the debug file %s; %s", debug->path,
				debug_package_server_hint(debug));
	else
		snprintf(text, size,
				"use a build of it that is not stripped; it has no build id, so its debug file cannot be found");
	free(whole);
}

const char *debug_package_hint(
		const char *path, const struct code_debug_file *debug, char *hint, size_t size)
{
	char text[DEBUG_PACKAGE_HINT_SIZE];
	size_t used = strlen(hint);

	debug_package_write_hint(path, debug, text, sizeof(text));
	snprintf(hint + used, size - used, "%s%s", used ? "\n" : "", text);
	return ": it is stripped, and its debug file is not installed";
}
