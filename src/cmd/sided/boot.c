/* SPDX-License-Identifier: MIT */
/*
 * Sessions of a static configuration (protocol/boot.h), in which programs record since before we were there. Each
 * becomes one of ours, in the place that the programs have made or will make, and its process adopts what is
 * there, as it would adopt what another recorder has left.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sessions/boot.h"
#include "sided.h"

/* Was it destroyed, since the machine has started? */
static bool sided_boot_is_destroyed(const char *place)
{
	char path[BOOT_PLACE_MAX + 16];

	snprintf(path, sizeof(path), "%s/" BOOT_OVER, place);
	return !access(path, F_OK);
}

void boot_end(const struct session_entry *entry)
{
	char path[BOOT_PLACE_MAX + 16];
	int fd;

	if (!entry->boot || !entry->place || (mkdir(entry->place, 0700) && errno != EEXIST))
		return;
	snprintf(path, sizeof(path), "%s/" BOOT_OVER, entry->place);
	fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		say("programs that start from now on record in %s again: cannot make %s: %s",
				entry->place, path, strerror(errno));
	else
		close(fd);
}

/* Everybody may look into what leads to it. */
static int sided_boot_make_state_dir(const struct boot_config *config, const char *place)
{
	char part[BOOT_PLACE_MAX];
	char *slash = part;

	snprintf(part, sizeof(part), "%s", config->place);
	while (slash) {
		slash = strchr(slash + 1, '/');
		if (slash)
			*slash = 0;
		if (!mkdir(part, 0755)) {
			/* The umask is for what is ours alone. */
			if (chmod(part, 0755))
				return -errno;
		} else if (errno != EEXIST) {
			return -errno;
		}
		if (slash)
			*slash = '/';
	}
	return mkdir(place, 0700) && errno != EEXIST ? -errno : 0;
}

static int sided_boot_add_session(struct daemon *daemon, const struct boot_source *source,
		const struct boot_session *boot, const char *place, struct control_error *error)
{
	struct definition *definition = NULL;
	struct session_entry *entry = NULL;
	int ret = sided_boot_make_state_dir(source->config, place);

	if (ret)
		return control_fail(error, CONTROL_FAILED, ret, NULL,
				"cannot create the state directory %s: %s", place, strerror(-ret));
	ret = definition_of_boot(source, boot, &definition, error);
	if (!ret)
		ret = session_add(daemon, definition, &entry, error);
	if (ret || !entry) {
		definition_free(definition);
		return ret;
	}
	entry->boot = true;
	entry->place = strdup(place);
	ret = entry->place ? session_settle(daemon, entry, error) : control_no_memory(error);
	if (ret) {
		/* It is not over: the next one may have a directory for the traces. */
		entry->boot = false;
		free(entry->place);
		entry->place = NULL;
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
	struct control_error error;
	char place[BOOT_PLACE_MAX];

	if (!boot_path(place, sizeof(place), source->config->place, boot->name, NULL))
		return;
	if (entry && !entry->boot)
		say("the session %s of %s is not adopted: user %u has created a session of this name; `side destroy %s` removes it, and the next start of the daemon adopts this one",
				boot->name, source->path, (unsigned int)entry->uid, boot->name);
	if (entry)
		return;
	if (sided_boot_is_destroyed(place)) {
		say("the session %s of %s was destroyed: it begins anew when %s/" BOOT_OVER
		    " is removed",
				boot->name, source->path, place);
		return;
	}
	if (sided_boot_add_session(daemon, source, boot, place, &error))
		say("the session %s of %s cannot be adopted: %s%s%s", boot->name, source->path,
				error.text, *error.mend ? "; " : "", error.mend);
}

void boot_adopt(struct daemon *daemon, const char *given)
{
	const char *file = given ? given : boot_file(getenv(BOOT_ENV));
	const struct boot_session *session;
	struct boot_source source;
	struct control_error error;

	/* The system's own, if there is one. */
	if (!file && daemon->system && !access(BOOT_FILE, F_OK))
		file = BOOT_FILE;
	if (!file)
		return;
	if (boot_source_read(file, &source, &error))
		say("%s%s%s", error.text, *error.mend ? "; " : "", error.mend);
	else
		for (session = source.config->sessions; session; session = session->next)
			sided_boot_adopt_session(daemon, &source, session);
	boot_source_free(&source);
}
