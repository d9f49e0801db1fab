/* SPDX-License-Identifier: MIT */
/*
 * The list of programs for whose files sessions have probes (protocol/runtime.h). The library that
 * `side system on` preloads into each program reads it, and loads the agent into these programs only.
 *
 * A rename replaces the file, so programs read a complete one. Programs may read an older one than
 * their daemon has; the answer to a change comes after the new one. If it cannot be written, the old
 * one is removed: programs do not join then, and the log has the reason.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "protocol/runtime.h"
#include "sided.h"

static const char wanted_all[] = ":*\n";

static void wanted_write_line(FILE *out, uid_t scope, const char *file)
{
	if (scope != SCOPE_ALL)
		fprintf(out, "%u", (unsigned int)scope);
	/* A line cannot contain such a path. */
	fprintf(out, ":%s\n", strchr(file, '\n') ? "*" : file);
}

static void wanted_write_session(
		FILE *out, const struct daemon *daemon, const struct session_entry *entry)
{
	const char *before = "";

	for (size_t i = 0; i < entry->definition->nr_probes; i++) {
		const struct table_target *target = &entry->definition->probes[i].target;
		const char *file = target->exe ? target->exe : "*";

		/* A process that is probed by its number runs already. */
		if (target->pid || !strcmp(file, before))
			continue;
		wanted_write_line(out, session_scope(daemon, entry), file);
		before = file;
	}
}

/* Returns the text of the list, or NULL if out of memory; the caller frees it. */
static char *wanted_make_text(const struct daemon *daemon)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (const struct session_entry *entry = daemon->sessions; entry; entry = entry->next)
		wanted_write_session(out, daemon, entry);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	if (size <= WIRE_RUNTIME_WANTED_MAX)
		return text;
	free(text);
	return strdup(wanted_all);
}

/* Returns 0 or a negative errno. */
static int wanted_write(const char *path, const char *temporary, const char *text)
{
	int fd, ret;

	unlink(temporary);
	fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return -errno;
	ret = io_write_all(fd, text, strlen(text));
	/* The umask may have removed the permissions of other users. */
	if (!ret && fchmod(fd, 0644))
		ret = -errno;
	close(fd);
	if (!ret && rename(temporary, path))
		ret = -errno;
	if (ret)
		unlink(temporary);
	return ret;
}

void wanted_publish(struct daemon *daemon)
{
	char path[256], temporary[256], *text = wanted_make_text(daemon);
	int ret = text ? 0 : -ENOMEM;

	if (text && daemon->wanted && !strcmp(text, daemon->wanted)) {
		free(text);
		return;
	}
	if (!runtime_path(daemon, path, sizeof(path), WIRE_RUNTIME_WANTED) ||
			!runtime_path(daemon, temporary, sizeof(temporary),
					WIRE_RUNTIME_WANTED ".new")) {
		free(text);
		return;
	}
	if (text && *text)
		ret = wanted_write(path, temporary, text);
	if (ret || !*text)
		unlink(path);
	if (ret) {
		log_about(daemon, daemon->uid,
				"programs of `side system on` do not join: cannot write %s: %s",
				path, strerror(-ret));
		free(text);
		text = NULL;
	}
	free(daemon->wanted);
	daemon->wanted = text;
}

void wanted_close(struct daemon *daemon)
{
	char path[256];

	/* Without the lock, the directory belongs to another daemon. */
	if (daemon->lock_fd >= 0 && runtime_path(daemon, path, sizeof(path), WIRE_RUNTIME_WANTED))
		unlink(path);
	free(daemon->wanted);
	daemon->wanted = NULL;
}
