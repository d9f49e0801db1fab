/* SPDX-License-Identifier: MIT */
/*
 * Finds libside-agent.so and the wrapper libraries: in SIDE_LIB_DIR (directories separated by ":")
 * if it is set, else relative to the running executable: in the library directories of its prefix,
 * or in the build tree.
 *
 * LD_PRELOAD names them through a directory (src/tracers/preload/layout.py) that each loader
 * resolves differently. So only a loader that can load a library finds it, and any other one finds
 * a shim that reports why the program is not recorded.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "recorder/core/libraries.h"
#include "recorder/core/report.h"
#include "recorder/core/session.h"
#include "recorder/session-state.h"

#if defined(__x86_64__)
#define MULTIARCH "x86_64-linux-gnu"
#elif defined(__i386__)
#define MULTIARCH "i386-linux-gnu"
#elif defined(__aarch64__)
#define MULTIARCH "aarch64-linux-gnu"
#else
#define MULTIARCH "."
#endif

/* Relative to the directory of the executable. */
static const char *const install_paths[] = {"../lib", ("../lib/" MULTIARCH), "../lib64",
		/* for a program in libexec */
		"../../lib", ("../../lib/" MULTIARCH), "../../lib64"};
static const char *const build_paths[] = {"../../src/tracers/agent", "../../src/tracers/wrap",
		"../../src/libside", "../../../src/tracers/agent", "../../../src/tracers/wrap",
		"../../../src/libside"};

/*
 * Returns the absolute path of `name` in `directory`, or NULL; the caller frees it. Changes errno
 * only if a file may exist but cannot be read.
 */
static char *traced_library_find_in_directory(const char *directory, size_t size, const char *name)
{
	char path[PATH_MAX], *found = NULL;
	int before = errno;

	if (!size ||
			snprintf(path, sizeof(path), "%.*s/%s", (int)size, directory, name) >=
					(int)sizeof(path))
		return NULL;
	if (!access(path, R_OK))
		found = realpath(path, NULL);
	if (!found && (errno == ENOENT || errno == ENOTDIR))
		errno = before;
	return found;
}

static char *traced_library_find_in_list(const char *list, const char *name)
{
	while (*list) {
		size_t size = strcspn(list, ":");
		char *found = traced_library_find_in_directory(list, size, name);

		if (found)
			return found;
		list += size + (list[size] == ':');
	}
	return NULL;
}

static char *traced_library_find_beside(const char *const *directories, size_t nr, const char *name)
{
	char executable[PATH_MAX], directory[PATH_MAX + 64];
	ssize_t size = readlink("/proc/self/exe", executable, sizeof(executable) - 1);
	char *slash, *found = NULL;
	size_t i;

	if (size <= 0)
		return NULL;
	executable[size] = 0;
	slash = strrchr(executable, '/');
	if (!slash)
		return NULL;
	*slash = 0;
	for (i = 0; i < nr && !found; i++) {
		int length = snprintf(
				directory, sizeof(directory), "%s/%s", executable, directories[i]);

		found = traced_library_find_in_directory(directory, (size_t)length, name);
	}
	return found;
}

/*
 * Returns the path of a library; the caller frees it. If it returns NULL, errno is 0 if no such
 * file exists, otherwise the reason.
 */
static char *traced_library_find(const char *name)
{
	const char *list = getenv("SIDE_LIB_DIR");
	char *found;

	errno = 0;
	if (list && *list)
		return traced_library_find_in_list(list, name);
	found = traced_library_find_beside(
			build_paths, sizeof(build_paths) / sizeof(build_paths[0]), name);
	if (!found)
		found = traced_library_find_beside(install_paths,
				sizeof(install_paths) / sizeof(install_paths[0]), name);
	return found;
}

char *session_library(const char *name)
{
	return traced_library_find(name);
}

static bool is_wrapper_name(const char *name)
{
	return *name && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == strlen(name) &&
			strlen(name) < 64;
}

/* `reason` is the errno of traced_library_find(). */
static int fail_missing(struct error *error, int reason, const char *wrapper, const char *file)
{
	const char *list = getenv("SIDE_LIB_DIR");

	if (reason)
		return error_set_kind(error, ERROR_FAILED, -reason, NULL, "cannot read %s: %s",
				file, strerror(reason));
	if (list && *list)
		return error_set(error, -ENOENT, "correct SIDE_LIB_DIR, or `unset SIDE_LIB_DIR`",
				"%s is not in %s, which SIDE_LIB_DIR names", file, list);
	if (wrapper)
		return error_set_kind(error, ERROR_USAGE, -ENOENT, NULL,
				"there is no wrapper \"%s\": %s is not installed beside this program (known ones are libc and pthread)",
				wrapper, file);
	return error_set(error, -ENOENT, "reinstall it, or name its directory in SIDE_LIB_DIR",
			"%s is not installed beside this program", file);
}

static bool is_in_list(const char *list, const char *path)
{
	size_t length = strlen(path);

	while (*list) {
		size_t size = strcspn(list, ": ");

		if (size == length && !memcmp(list, path, length))
			return true;
		list += size + (list[size] != 0);
	}
	return false;
}

/*
 * True if the loader of this process finds the files of this directory through the path with $LIB.
 */
static bool loader_finds(const char *top)
{
	char path[PATH_MAX];
	void *library;

	if (snprintf(path, sizeof(path), "%s/$LIB/side-preload/libside-preload-empty.so", top) >=
			(int)sizeof(path))
		return false;
	library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	(void)dlerror();
	if (library)
		(void)dlclose(library);
	return library != NULL;
}

/*
 * Takes ownership of `path`. Returns a path by which each loader finds its own library, or `path`
 * itself if there is no such directory layout. The caller frees the result.
 */
static char *path_for_loaders(char *path, const char *file)
{
	char *top = traced_library_find("side-preload"), *of_loaders = NULL;
	const char *end = top ? strrchr(top, '/') : NULL;
	char *beside = end ? traced_library_find_in_directory(top, (size_t)(end - top), file)
			   : NULL;

	if (beside && !strcmp(beside, path) && loader_finds(top) &&
			asprintf(&of_loaders, "%s/$LIB/%s", top, file) < 0)
		of_loaders = NULL;
	free(top);
	free(beside);
	if (!of_loaders)
		return path;
	free(path);
	return of_loaders;
}

/* Appends a library, unless the user's value of LD_PRELOAD already contains it. */
static int add_preload(char **preload, const char *existing, const char *wrapper, const char *file,
		struct error *error)
{
	char *path = traced_library_find(file);
	char *joined;
	int size;

	if (!path)
		return fail_missing(error, errno, wrapper, file);
	path = path_for_loaders(path, file);
	if (strpbrk(path, ": \t\n")) {
		error_set(error, -EINVAL, "install side in a directory without blanks and colons",
				"the path %s has a blank or a colon in it, which LD_PRELOAD cannot carry",
				path);
		free(path);
		return -EINVAL;
	}
	/* Inside another recording, LD_PRELOAD already contains it. */
	if (is_in_list(existing, path) || is_in_list(*preload, path)) {
		free(path);
		return 0;
	}
	size = asprintf(&joined, "%s%s%s", *preload, **preload ? ":" : "", path);
	free(path);
	if (size < 0)
		return error_set_no_memory(error);
	free(*preload);
	*preload = joined;
	return 0;
}

/* Adds the shim, which reports if the agent is not loaded. */
static int add_check(char **preload, const char *existing, struct error *error)
{
	char *top = traced_library_find("side-preload"), *path = NULL, *joined = NULL;
	int ret = 0;

	if (top && strstr(*preload, "/$LIB/") &&
			asprintf(&path, "%s/$LIB/side-preload/libside-preload-64.so", top) < 0)
		path = NULL;
	if (path && !is_in_list(existing, path)) {
		if (asprintf(&joined, "%s:%s", *preload, path) < 0) {
			ret = error_set_no_memory(error);
		} else {
			free(*preload);
			*preload = joined;
		}
	}
	free(top);
	free(path);
	return ret;
}

/*
 * Appends the user's LD_PRELOAD last: a wrapper then sees the calls first and passes them to a
 * preloaded allocator.
 */
static int add_existing(char **preload, const char *existing, struct error *error)
{
	char *joined;

	if (!*existing)
		return 0;
	if (asprintf(&joined, "%s%s%s", *preload, **preload ? ":" : "", existing) < 0)
		return error_set_no_memory(error);
	free(*preload);
	*preload = joined;
	return 0;
}

/* Builds the value of LD_PRELOAD: the agent, the wrappers, the user's libraries. */
static int libraries_make_preload(
		const char *const *wrappers, size_t nr, char **ret_preload, struct error *error)
{
	const char *existing = getenv("LD_PRELOAD");
	char file[96];
	int ret;

	existing = existing ? existing : "";
	*ret_preload = strdup("");
	if (!*ret_preload)
		return error_set_no_memory(error);
	ret = add_preload(ret_preload, existing, NULL, "libside-agent.so", error);
	for (size_t i = 0; i < nr && !ret; i++) {
		if (!is_wrapper_name(wrappers[i]))
			return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
					"\"%s\" is not the name of a wrapper (known ones are libc and pthread)",
					wrappers[i]);
		snprintf(file, sizeof(file), "libside-wrap-%s.so", wrappers[i]);
		ret = add_preload(ret_preload, existing, wrappers[i], file, error);
	}
	if (!ret)
		ret = add_check(ret_preload, existing, error);
	return ret ? ret : add_existing(ret_preload, existing, error);
}

int libraries_find(
		struct session *session, const struct session_options *options, struct error *error)
{
	return libraries_make_preload(
			options->wrappers, options->nr_wrappers, &session->spawn.preload, error);
}

int libraries_preload(
		const char *const *wrappers, size_t nr, char **ret_preload, struct error *error)
{
	char *preload;
	int ret = libraries_make_preload(wrappers, nr, &preload, error);

	if (ret)
		free(preload);
	else
		*ret_preload = preload;
	return ret;
}
