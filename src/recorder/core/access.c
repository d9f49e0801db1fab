/* SPDX-License-Identifier: MIT */
/*
 * Decides which processes a user may probe: those that the kernel would let this user trace with no
 * capabilities beyond `capabilities` (__ptrace_may_access(), ptrace(2)). The recorder cannot ask
 * the kernel, because it runs as another user or has dropped its rights.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/core/access.h"

#define ACCESS_TEXT 4096

static bool read_proc(pid_t pid, const char *name, char text[ACCESS_TEXT])
{
	char path[64];
	size_t size;
	FILE *file;

	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	else
		snprintf(path, sizeof(path), "/proc/self/%s", name);
	file = fopen(path, "re");
	if (!file)
		return false;
	size = fread(text, 1, ACCESS_TEXT - 1, file);
	fclose(file);
	text[size] = 0;
	return size > 0;
}

/* True if the real, effective and saved id are all this one. */
static bool are_ids(const char *status, const char *name, unsigned int id)
{
	const char *line = strstr(status, name);
	unsigned int real, effective, saved;

	return line && sscanf(line + strlen(name), "%u %u %u", &real, &effective, &saved) == 3 &&
			real == id && effective == id && saved == id;
}

static bool capabilities_of(const char *status, uint64_t *ret_capabilities)
{
	static const char name[] = "\nCapPrm:";
	const char *line = strstr(status, name);
	unsigned long long number;

	if (!line || sscanf(line + strlen(name), "%llx", &number) != 1)
		return false;
	*ret_capabilities = number;
	return true;
}

/*
 * Capabilities in a user namespace that the user owns add no rights: the owner has all of them
 * there.
 */
static bool is_in_our_user_namespace(pid_t pid)
{
	char ours[ACCESS_TEXT], theirs[ACCESS_TEXT];

	return !read_proc(0, "uid_map", ours) || !read_proc(pid, "uid_map", theirs) ||
			!strcmp(ours, theirs);
}

uint64_t access_own_capabilities(void)
{
	char text[ACCESS_TEXT];
	uint64_t capabilities = 0;

	return read_proc(0, "status", text) && capabilities_of(text, &capabilities) ? capabilities
										    : 0;
}

bool access_is_allowed(const struct access *of, pid_t pid)
{
	char text[ACCESS_TEXT], path[32];
	uint64_t capabilities;
	struct stat status;

	/* For a process that is not dumpable, the kernel makes root the owner of /proc/PID. */
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (stat(path, &status) || status.st_uid != of->uid || !read_proc(pid, "status", text) ||
			!capabilities_of(text, &capabilities))
		return false;
	if (!are_ids(text, "\nUid:", of->uid) || (of->has_gid && !are_ids(text, "\nGid:", of->gid)))
		return false;
	return !(capabilities & ~of->capabilities) || !is_in_our_user_namespace(pid);
}
