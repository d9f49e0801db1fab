/* SPDX-License-Identifier: MIT */
/*
 * Checks that the loader and pkg-config find this installation's libside, and that all its parts
 * have one version.
 *
 * The check lets the loader itself search: it starts a program with the library in LD_PRELOAD, in
 * the mode in which the loader only prints what it would load.
 */
#include "doctor.h"

#include "programs/side/processes/running.h"

#include "elf/image.h"
#include "elf/libraries.h"
#include "recorder/core/session.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIBRARY_NAME "libside.so.0"
#define LIBRARY_NOTE_VERSION 2 /* src/base/environment/version.c */
#define LIBRARY_SHOWN 3        /* programs that are named in the result */

extern char **environ;

struct doctor_library {
	char path[PATH_MAX]; /* resolved; "": not found */
	char version[32];    /* "": the file contains none */
};

/* ---- files ---- */

static bool library_find_version(Elf_Data *notes, char version[32])
{
	size_t at = 0, next, name, text;
	GElf_Nhdr note;

	for (; (next = gelf_getnote(notes, at, &note, &name, &text)); at = next) {
		const char *bytes = notes->d_buf;

		if (note.n_type != LIBRARY_NOTE_VERSION || note.n_namesz != sizeof("SIDE") ||
				memcmp(bytes + name, "SIDE", sizeof("SIDE")) != 0 ||
				!note.n_descsz || note.n_descsz > 32 ||
				bytes[text + note.n_descsz - 1])
			continue;
		memcpy(version, bytes + text, note.n_descsz);
		return true;
	}
	return false;
}

static void library_read_version(struct doctor_library *library)
{
	int fd = open(library->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	Elf *elf = NULL;
	size_t count = 0;
	GElf_Phdr segment;
	bool found = false;

	*library->version = '\0';
	if (fd >= 0 && elf_version(EV_CURRENT) != EV_NONE)
		elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (elf && elf_getphdrnum(elf, &count))
		count = 0;
	for (size_t i = 0; i < count && !found; i++) {
		Elf_Data *notes = NULL;

		if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_NOTE)
			notes = elf_getdata_rawchunk(elf, (int64_t)segment.p_offset,
					segment.p_filesz, ELF_T_NHDR);
		found = notes && library_find_version(notes, library->version);
	}
	if (elf)
		elf_end(elf);
	if (fd >= 0)
		close(fd);
}

static bool library_open(struct doctor_library *ret_library, const char *path)
{
	char *real = path && *path ? realpath(path, NULL) : NULL;

	*ret_library = (struct doctor_library){.path = ""};
	if (real) {
		(void)snprintf(ret_library->path, sizeof(ret_library->path), "%s", real);
		library_read_version(ret_library);
	}
	free(real);
	return *ret_library->path != '\0';
}

static bool library_is_same(const struct doctor_library *one, const struct doctor_library *other)
{
	struct stat first, second;

	return !stat(one->path, &first) && !stat(other->path, &second) &&
			first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

static const char *library_version(const struct doctor_library *library)
{
	return *library->version ? library->version : "unknown version";
}

/* Finds the file beside `side`, which recordings use. */
static bool library_find_own(struct doctor_library *ret_library, const char *name)
{
	char *path = session_library(name);
	bool found = library_open(ret_library, path);

	free(path);
	return found;
}

static int library_directory(const struct doctor_library *library)
{
	return (int)(strrchr(library->path, '/') - library->path);
}

static bool library_is_built(const struct doctor_library *library)
{
	static const char end[] = "/src/libside/" LIBRARY_NAME;
	size_t size = strlen(library->path);

	return size >= sizeof(end) - 1 && !strcmp(library->path + size - (sizeof(end) - 1), end);
}

/* True if the check is impossible; the finding then contains the reason. */
static bool library_skip(const struct doctor *doctor, struct doctor_finding *finding,
		struct doctor_library *ret_own)
{
	if (doctor->is_other_machine) {
		doctor_found(finding, DOCTOR_SKIPPED,
				"cannot be checked in the files of another machine");
	} else if (!library_find_own(ret_own, LIBRARY_NAME)) {
		doctor_found(finding, DOCTOR_MISSING,
				LIBRARY_NAME " is not installed beside `side`");
		doctor_set_hint(finding,
				"sudo apt install --reinstall libside0 (or sudo ninja -C build install)");
	} else if (library_is_built(ret_own)) {
		doctor_found(finding, DOCTOR_SKIPPED, "`side` runs from its build directory");
	} else {
		return false;
	}
	return true;
}

/* ---- other programs ---- */

/* Runs a command and reads its output, up to `size`. False if it does not start, or fails. */
static bool library_run(char *const argv[], char *const environment[], char *text, size_t size)
{
	posix_spawn_file_actions_t actions;
	int ends[2], status = 0;
	size_t used = 0;
	ssize_t part;
	pid_t pid;
	int ret;

	*text = '\0';
	if (pipe2(ends, O_CLOEXEC))
		return false;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	ret = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environment);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	while (!ret && used + 1 < size && (part = read(ends[0], text + used, size - 1 - used)) > 0)
		used += (size_t)part;
	text[used] = '\0';
	close(ends[0]);
	while (!ret && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return !ret && WIFEXITED(status) && !WEXITSTATUS(status);
}

static bool library_is_variable(const char *entry, const char *name)
{
	size_t length = strlen(name);

	return !strncmp(entry, name, length) && entry[length] == '=';
}

/* Finds the library as the loader does, with or without LD_LIBRARY_PATH. */
static bool library_find_loaded(struct doctor_library *ret_library, bool with_path)
{
	static char list[] = "LD_TRACE_LOADED_OBJECTS=1", preload[] = "LD_PRELOAD=" LIBRARY_NAME,
		    program[] = "/bin/true";
	char *const argv[] = {program, NULL};
	char text[8192], *arrow, **environment;
	size_t count = 0, used = 0;

	*ret_library = (struct doctor_library){.path = ""};
	while (environ[count])
		count++;
	environment = calloc(count + 3, sizeof(*environment));
	if (!environment)
		return false;
	for (size_t i = 0; i < count; i++)
		if (!library_is_variable(environ[i], "LD_PRELOAD") &&
				(with_path || !library_is_variable(environ[i], "LD_LIBRARY_PATH")))
			environment[used++] = environ[i];
	environment[used++] = list;
	environment[used] = preload;
	(void)library_run(argv, environment, text, sizeof(text));
	free(environment);
	arrow = strstr(text, LIBRARY_NAME " => ");
	if (!arrow)
		return false;
	arrow += strlen(LIBRARY_NAME " => ");
	arrow[strcspn(arrow, " \n")] = '\0';
	return *arrow == '/' && library_open(ret_library, arrow);
}

/* True if ldconfig reads the directory of the library. */
static bool library_is_configured(const struct doctor_library *own)
{
	const char *variable = getenv("LD_LIBRARY_PATH");
	char *kept = variable ? strdup(variable) : NULL;
	int fd = open(own->path, O_RDONLY | O_CLOEXEC);
	struct library_search *search;
	struct doctor_library found = {.path = ""};
	struct error error;
	struct image *image = NULL;
	char *path = NULL;

	/* Search without the directories of the variable, then restore it for the other checks. */
	(void)unsetenv("LD_LIBRARY_PATH");
	search = library_search_open();
	if (kept)
		(void)setenv("LD_LIBRARY_PATH", kept, 1);
	free(kept);
	if (fd >= 0 && search && !image_open(fd, false, &image, &error)) {
		path = library_find(search, image, own->path, LIBRARY_NAME);
		(void)library_open(&found, path);
		image_close(image);
	}
	free(path);
	if (search)
		library_search_close(search);
	if (fd >= 0)
		close(fd);
	return *found.path && library_is_same(&found, own);
}

/* ---- the checks ---- */

static void doctor_check_libside(const struct doctor *doctor, struct doctor_finding *finding)
{
	struct doctor_library own, loaded;
	const char *path = getenv("LD_LIBRARY_PATH");
	int directory;

	if (library_skip(doctor, finding, &own))
		return;
	directory = library_directory(&own);
	if (!library_find_loaded(&loaded, true)) {
		doctor_found(finding, DOCTOR_MISSING, "the loader does not find %.300s", own.path);
		/* A damaged file in one of these directories hides all others. */
		if (path && *path && library_find_loaded(&loaded, false))
			doctor_set_hint(finding, "unset LD_LIBRARY_PATH");
		else if (library_is_configured(&own))
			doctor_set_hint(finding, "sudo ldconfig");
		else
			doctor_set_hint(finding,
					"echo %.*s | sudo tee /etc/ld.so.conf.d/side.conf && sudo ldconfig",
					directory, own.path);
		return;
	}
	if (library_is_same(&loaded, &own)) {
		doctor_found(finding, DOCTOR_OK, "%.300s, %s", own.path, library_version(&own));
		return;
	}
	doctor_found(finding, strcmp(loaded.version, own.version) ? DOCTOR_MISSING : DOCTOR_NOTE,
			"programs load %.180s (%s) instead of %.180s (%s)", loaded.path,
			library_version(&loaded), own.path, library_version(&own));
	if (path && *path && library_find_loaded(&loaded, false) && library_is_same(&loaded, &own))
		doctor_set_hint(finding, "unset LD_LIBRARY_PATH");
	else
		doctor_set_hint(finding, "export LD_LIBRARY_PATH=%.*s%s", directory, own.path,
				path && *path ? ":$LD_LIBRARY_PATH" : "");
}

static void library_reinstall(struct doctor_finding *finding, const struct doctor_library *library)
{
	if (!strncmp(library->path, "/usr/lib/", 9))
		doctor_set_hint(finding, "sudo apt install --reinstall side libside0");
	else
		doctor_set_hint(finding, "sudo ninja -C build install");
}

/* `side`, libside.so.0 and the agent must be from one release. */
static void doctor_check_agent(const struct doctor *doctor, struct doctor_finding *finding)
{
	struct doctor_library libside, agent;

	if (library_skip(doctor, finding, &libside))
		return;
	if (!library_find_own(&agent, "libside-agent.so")) {
		doctor_found(finding, DOCTOR_MISSING,
				"libside-agent.so is not installed beside `side`");
		library_reinstall(finding, &libside);
		return;
	}
	for (const struct doctor_library *each = &agent; each;
			each = each == &agent ? &libside : NULL) {
		if (!strcmp(each->version, SIDE_VERSION))
			continue;
		doctor_found(finding, DOCTOR_MISSING,
				"%.300s has another version (%s) than `side` (%s)", each->path,
				library_version(each), SIDE_VERSION);
		library_reinstall(finding, each);
		return;
	}
	doctor_found(finding, DOCTOR_OK, "%.300s, %s", agent.path, agent.version);
}

static void doctor_check_pkgconfig(const struct doctor *doctor, struct doctor_finding *finding)
{
	static char program[] = "pkg-config", variable[] = "--variable=pcfiledir",
		    name[] = "libside", version[] = "--version";
	char *const where[] = {program, variable, name, NULL},
		    *const exists[] = {program, version, NULL};
	struct doctor_library own, found = {.path = ""};
	char text[PATH_MAX], file[PATH_MAX];
	int directory;

	if (library_skip(doctor, finding, &own))
		return;
	directory = library_directory(&own);
	if (snprintf(file, sizeof(file), "%.*s/pkgconfig", directory, own.path) >=
					(int)sizeof(file) ||
			access(file, R_OK)) {
		doctor_found(finding, DOCTOR_NOTE, "libside.pc is not installed in %.300s", file);
		doctor_set_hint(finding, "sudo apt install libside-dev");
		return;
	}
	if (!library_run(exists, environ, text, sizeof(text))) {
		doctor_found(finding, DOCTOR_NOTE, "pkg-config is not installed");
		doctor_set_hint(finding, "sudo apt install pkg-config");
		return;
	}
	if (library_run(where, environ, text, sizeof(text))) {
		text[strcspn(text, "\n")] = '\0';
		(void)snprintf(found.path, sizeof(found.path), "%s", text);
	}
	snprintf(own.path, sizeof(own.path), "%s", file);
	if (*found.path && library_is_same(&found, &own)) {
		doctor_found(finding, DOCTOR_OK, "%.300s/libside.pc", own.path);
		return;
	}
	if (*found.path)
		doctor_found(finding, DOCTOR_NOTE,
				"pkg-config finds %.180s/libside.pc instead of %.180s/libside.pc",
				found.path, own.path);
	else
		doctor_found(finding, DOCTOR_MISSING, "pkg-config does not find %.300s/libside.pc",
				own.path);
	doctor_set_hint(finding, "export PKG_CONFIG_PATH=%.300s", own.path);
}

/* The kernel marks files that were replaced or removed after the program started. */
static bool library_is_deleted(const char *path)
{
	static const char deleted[] = " (deleted)";
	size_t size = strlen(path);

	return size >= sizeof(deleted) && !strcmp(path + size - (sizeof(deleted) - 1), deleted);
}

/* Finds the libside of a running program. The version of a deleted file is unknown. */
static bool library_find_used(pid_t pid, struct doctor_library *ret_library)
{
	char path[PATH_MAX];

	if (!running_library(pid, path))
		return false;
	if (library_open(ret_library, path))
		return true;
	if (!library_is_deleted(path))
		return false;
	(void)snprintf(ret_library->path, sizeof(ret_library->path), "%s", path);
	return true;
}

/*
 * Finds running programs with another libside: their RUNPATH or environment selects it, or it was
 * replaced.
 */
static void doctor_check_programs(const struct doctor *doctor, struct doctor_finding *finding)
{
	struct doctor_library own, used;
	char name[RUNNING_NAME_MAX], text[400] = "", exe[PATH_MAX] = "";
	size_t count = 0, different = 0, length = 0;
	pid_t *pids = NULL;
	bool older = false;

	if (library_skip(doctor, finding, &own) || running_find(&pids, &count))
		return;
	for (size_t i = 0; i < count; i++) {
		if (!library_find_used(pids[i], &used) || library_is_same(&used, &own))
			continue;
		older |= !library_is_deleted(used.path) && strcmp(used.version, own.version) != 0;
		if (different++ >= LIBRARY_SHOWN)
			continue;
		length += (size_t)snprintf(text + length, sizeof(text) - length,
				"%s%.15s (process %d) uses %.90s (%s)", length ? ", " : "",
				running_name(pids[i], name), (int)pids[i], used.path,
				library_version(&used));
		if (length >= sizeof(text))
			length = sizeof(text) - 1;
		if (different == 1)
			running_program(pids[i], exe);
	}
	free(pids);
	if (!different) {
		doctor_found(finding, DOCTOR_OK,
				"%zu running program%s with libside use%s this one", count,
				count == 1 ? "" : "s", count == 1 ? "s" : "");
		return;
	}
	doctor_found(finding, older ? DOCTOR_MISSING : DOCTOR_NOTE, "%s%s", text,
			different > LIBRARY_SHOWN ? ", ..." : "");
	doctor_set_hint(finding, "LD_LIBRARY_PATH=%.*s %.200s", library_directory(&own), own.path,
			*exe ? exe : "PROGRAM");
}

const struct doctor_check doctor_library_checks[] = {
		{"libside", "programs that are linked with libside", doctor_check_libside},
		{"agent", "recording: `side`, libside and the agent are of one release",
				doctor_check_agent},
		{"pkgconfig", "building programs that use libside", doctor_check_pkgconfig},
		{"programs", "running programs whose libside works with this agent",
				doctor_check_programs},
		{.name = NULL},
};
