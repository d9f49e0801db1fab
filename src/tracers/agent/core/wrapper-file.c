/* SPDX-License-Identifier: MIT */
/*
 * Loads a wrapper library from the directory of the agent.
 *
 * The program may have another root directory since it loaded the agent. So the path of the agent
 * must still lead to the same file.
 *
 * Part of the shared library only, like wrappers.c.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tracers/agent/core/wrapper-file.h"
#include "tracers/agent/core/debug.h"

static struct wrapper_file_agent {
	bool is_begun, is_known;
	char path[PATH_MAX];
	size_t directory_size; /* of `path`, with the slash */
	dev_t device;
	ino_t inode;
} agent_file;

void agent_wrapper_file_begin(void)
{
	struct stat status;
	Dl_info self;

	if (agent_file.is_begun)
		return;
	agent_file.is_begun = true;
	/* A library from memory has no path in a directory that stays. */
	if (!dladdr(&agent_file, &self) || !self.dli_fname || *self.dli_fname != '/' ||
			!strncmp(self.dli_fname, "/proc/", 6) ||
			strlen(self.dli_fname) >= sizeof(agent_file.path) ||
			stat(self.dli_fname, &status))
		return;
	strcpy(agent_file.path, self.dli_fname);
	agent_file.directory_size = (size_t)(strrchr(self.dli_fname, '/') + 1 - self.dli_fname);
	agent_file.device = status.st_dev;
	agent_file.inode = status.st_ino;
	agent_file.is_known = true;
}

static bool wrapper_file_is_same_agent(void)
{
	struct stat status;

	return !stat(agent_file.path, &status) && status.st_dev == agent_file.device &&
			status.st_ino == agent_file.inode;
}

void *agent_wrapper_file_load(const char *name, enum wrapper_state *ret_state)
{
	char path[PATH_MAX + 64];
	void *handle;

	agent_wrapper_file_begin();
	*ret_state = WRAPPER_STATE_NO_FILE;
	if (!agent_file.is_known)
		return NULL;
	*ret_state = WRAPPER_STATE_CHANGED;
	if (!wrapper_file_is_same_agent())
		return NULL;
	(void)snprintf(path, sizeof(path), "%.*slibside-wrap-%s.so", (int)agent_file.directory_size,
			agent_file.path, name);
	*ret_state = WRAPPER_STATE_LOADER;
	/* Never unloaded: threads may be in its functions. */
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!handle)
		agent_debug("cannot load %s: %s", path, dlerror());
	return handle;
}
