/* SPDX-License-Identifier: MIT */
/*
 * Adopts sessions of a static configuration (protocol/boot.h), in which programs recorded before
 * the daemon started. Each becomes a session of the daemon, in the state directory that the
 * programs use. Its process adopts the content as it would adopt that of another recorder.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sessions/boot.h"
#include "sided.h"

/* True if the session was destroyed since the system started. */
static bool sided_boot_is_destroyed(const char *state_dir)
{
	char path[BOOT_STATE_DIR_MAX + 16];

	snprintf(path, sizeof(path), "%s/" BOOT_OVER, state_dir);
	return !access(path, F_OK);
}

void boot_end(const struct session_entry *entry)
{
	char path[BOOT_STATE_DIR_MAX + 16];
	int fd;

	if (!entry->boot || !entry->state_dir || (mkdir(entry->state_dir, 0700) && errno != EEXIST))
		return;
	snprintf(path, sizeof(path), "%s/" BOOT_OVER, entry->state_dir);
	fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		log_message("programs that start from now on record in %s again: cannot make %s: %s",
				entry->state_dir, path, strerror(errno));
	else
		close(fd);
}

/* Creates the state directory with its parents, which every user can list. */
static int sided_boot_make_state_dir(const struct boot_config *config, const char *state_dir)
{
	char part[BOOT_STATE_DIR_MAX];
	char *slash = part;

	snprintf(part, sizeof(part), "%s", config->state_dir);
	while (slash) {
		slash = strchr(slash + 1, '/');
		if (slash)
			*slash = 0;
		if (!mkdir(part, 0755)) {
			/* The umask must apply only to private files. */
			if (chmod(part, 0755))
				return -errno;
		} else if (errno != EEXIST) {
			return -errno;
		}
		if (slash)
			*slash = '/';
	}
	return mkdir(state_dir, 0700) && errno != EEXIST ? -errno : 0;
}

static int sided_boot_add_session(struct daemon *daemon, const struct boot_source *source,
		const struct boot_session *boot, const char *state_dir, struct error *error)
{
	struct definition *definition = NULL;
	struct session_entry *entry = NULL;
	int ret = sided_boot_make_state_dir(source->config, state_dir);

	if (ret)
		return error_set_kind(error, ERROR_FAILED, ret, NULL,
				"cannot create the state directory %s: %s", state_dir,
				strerror(-ret));
	ret = definition_of_boot(source, boot, &definition, error);
	if (!ret)
		ret = session_add(daemon, definition, &entry, error);
	if (ret || !entry) {
		definition_free(definition);
		return ret;
	}
	entry->boot = true;
	entry->state_dir = strdup(state_dir);
	ret = entry->state_dir ? session_settle(daemon, entry, error) : error_set_no_memory(error);
	if (ret) {
		/*
		 * Do not end the session for its programs: the next daemon may have a directory for
		 * its traces.
		 */
		entry->boot = false;
		free(entry->state_dir);
		entry->state_dir = NULL;
		session_remove(daemon, entry);
		return ret;
	}
	entry->state = SESSION_LIVE;
	entry->active = true;
	session_save(daemon, entry);
	worker_start(daemon, entry);
	return 0;
}

static void sided_boot_adopt_session(struct daemon *daemon, const struct boot_source *source,
		const struct boot_session *boot)
{
	struct session_entry *entry = session_find(daemon, boot->name);
	struct error error;
	char state_dir[BOOT_STATE_DIR_MAX];

	if (!boot_path(state_dir, sizeof(state_dir), source->config->state_dir, boot->name, NULL))
		return;
	if (entry && !entry->boot)
		log_message("the session %s of %s is not adopted: user %u has created a session of this name; `side destroy %s` removes it, and the next start of the daemon adopts this one",
				boot->name, source->path, (unsigned int)entry->uid, boot->name);
	if (entry)
		return;
	if (sided_boot_is_destroyed(state_dir)) {
		log_message("the session %s of %s was destroyed: it starts again when %s/" BOOT_OVER
			    " is removed",
				boot->name, source->path, state_dir);
		return;
	}
	if (sided_boot_add_session(daemon, source, boot, state_dir, &error))
		log_message("the session %s of %s cannot be adopted: %s%s%s", boot->name,
				source->path, error.text, *error.hint ? "; " : "", error.hint);
}

void boot_adopt(struct daemon *daemon, const char *requested)
{
	const char *file = requested ? requested : boot_file(getenv(BOOT_ENV));
	const struct boot_session *session;
	struct boot_source source;
	struct error error;

	/* Use the system's own configuration, if there is one. */
	if (!file && daemon->system && !access(BOOT_FILE, F_OK))
		file = BOOT_FILE;
	if (!file)
		return;
	if (boot_source_read(file, &source, &error))
		log_message("%s%s%s", error.text, *error.hint ? "; " : "", error.hint);
	else
		for (session = source.config->sessions; session; session = session->next)
			sided_boot_adopt_session(daemon, &source, session);
	boot_source_free(&source);
}
