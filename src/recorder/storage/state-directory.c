/* SPDX-License-Identifier: MIT */
/*
 * The directory of a session that several recorders serve, one after the other: locks it, and saves
 * the data that they share.
 *
 * The lock is on the directory itself, because its content changes. The conversion of the clock is
 * valid until the machine reboots; all recorders of a session use that of the first, so that their
 * traces agree.
 */
#include "recorder/storage/state-directory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "ctf/ctf.h"
#include "recorder/core/report.h"
#include "recorder/session-state.h"
#include "recorder/core/session.h"
#include "recorder/core/totals.h"
#include "recorder/storage/chunk-names.h"
#include "ring/ring.h"

#include "recorder/core/facts.h"
#include "protocol/boot.h"

#define SESSION_FILE "session"
#define FIRST_LINE "side-place 1"
#define LIMIT_SESSION_FILE (1u << 16)
/* Time for an earlier recorder to exit, after it was asked to. */
#define LOCK_TRIES 200
#define LOCK_PAUSE_NS 10000000

struct state_directory {
	char *path;
	uid_t owner; /* of the directory and of its content */
	bool adopted;
	char boot[40]; /* boot of the saved clock */
	/* Saved by the earlier recorder: */
	char *output;
	uint64_t generation;
	bool has_chunk;
	unsigned int first_chunk; /* the last chunk that existed before the session */
};

/* The content of SESSION_FILE. */
struct saved {
	char *output;
	char boot[40];
	enum ring_clock clock_kind;
	struct ctf_clock clock;
	uint64_t generation;
	unsigned int first_chunk;
	bool has_clock;
};

/* ---- the boot ---- */

void state_directory_boot(char boot[40])
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, boot, 39);

	if (fd >= 0)
		close(fd);
	boot[got > 0 ? got : 0] = 0;
	boot[strcspn(boot, " \n")] = 0;
}

/* ---- the file ---- */

static bool state_directory_parse_line(void *user, const char *word, char *value)
{
	struct saved *saved = user;

	if (!strcmp(word, "clock") && !saved->has_clock) {
		saved->has_clock = facts_take_clock(value, &saved->clock_kind, &saved->clock);
		return saved->has_clock;
	}
	if (!strcmp(word, "boot"))
		return sscanf(value, "%39s", saved->boot) == 1;
	if (!strcmp(word, "generation"))
		return sscanf(value, "%" SCNu64, &saved->generation) == 1;
	if (!strcmp(word, "chunks"))
		return sscanf(value, "%u", &saved->first_chunk) == 1;
	if (strcmp(word, "output") != 0 || saved->output || !facts_unescape(value))
		return false;
	saved->output = strdup(value);
	return saved->output;
}

/* True if the saved conversion can be one of the same clock. */
static bool is_likely(const struct session *session, const struct saved *saved)
{
	uint64_t one = session->clock.first.frequency, other = saved->clock.frequency;
	uint64_t apart = one > other ? one - other : other - one;

	return saved->clock_kind == session->clock.kind && apart <= one / 100;
}

static bool read_saved(struct session *session, struct saved *saved)
{
	char *text = NULL;
	size_t size;
	bool good;
	int ret = facts_read_file(
			session->buffers.fd, SESSION_FILE, LIMIT_SESSION_FILE, &text, &size);

	if (ret == -ENOENT)
		return false;
	session->state_dir->adopted = true;
	session->clock.is_inherited = true;
	good = !ret && facts_parse(text, size, FIRST_LINE, state_directory_parse_line, saved) &&
			saved->has_clock && saved->output && *saved->output == '/';
	free(text);
	if (!good)
		report(session, true,
				"%s/" SESSION_FILE
				" is damaged: output and clock are those of a new session",
				session->state_dir->path);
	return good;
}

static void take_saved(struct session *session)
{
	struct state_directory *state_dir = session->state_dir;
	struct saved saved = {0};

	if (read_saved(session, &saved)) {
		state_dir->generation = saved.generation;
		state_dir->first_chunk = saved.first_chunk;
		state_dir->has_chunk = true;
		state_dir->output = saved.output;
		saved.output = NULL;
		if (*state_dir->boot && !strcmp(state_dir->boot, saved.boot) &&
				is_likely(session, &saved))
			session->clock.first = saved.clock;
	}
	free(saved.output);
}

struct state_directory_state {
	const struct session *session;
	uint64_t generation;
};

static void state_directory_write(FILE *file, const void *user)
{
	const struct state_directory_state *state = user;
	const struct session *session = state->session;
	char *output = realpath(session->output.path, NULL);

	facts_put_line(file, "boot", *session->state_dir->boot ? session->state_dir->boot : "-");
	facts_put_clock(file, session->clock.kind, &session->clock.first);
	facts_put_line(file, "output", output ? output : session->output.path);
	fprintf(file, "generation %" PRIu64 "\n", state->generation);
	fprintf(file, "chunks %u\n", session->state_dir->first_chunk);
	free(output);
}

int state_directory_save(struct session *session, uint64_t generation)
{
	const struct state_directory_state state = {session, generation};

	if (!session->state_dir)
		return 0;
	/*
	 * Chunks that exist now do not belong to the session, also if the number of its first chunk
	 * is unknown.
	 */
	if (!session->state_dir->has_chunk)
		session->state_dir->first_chunk = chunk_last_number(session->output.path);
	session->state_dir->has_chunk = true;
	return facts_write_file(session->buffers.fd, SESSION_FILE, FIRST_LINE,
			state_directory_write, &state);
}

/* ---- the directory ---- */

static int state_directory_fail(struct error *error, int code, const char *path, const char *why)
{
	return error_set_kind(error, report_error_kind(code), -code, NULL,
			"cannot store a session in %s: %s", path, why);
}

static int state_directory_check(int fd, const char *path, uid_t owner, struct error *error)
{
	struct stat status;

	if (fstat(fd, &status))
		return state_directory_fail(error, errno, path, strerror(errno));
	if (status.st_uid != owner) {
		state_directory_fail(error, EPERM, path, "it belongs to another user");
		error_set_hint(error, "choose another directory");
		return -EPERM;
	}
	if (status.st_mode & (S_IWGRP | S_IWOTH)) {
		state_directory_fail(error, EPERM, path, "other users may write there");
		error_set_hint(error, "`chmod go-w %.200s`", path);
		return -EPERM;
	}
	return 0;
}

static int lock_directory(int fd, const char *path, struct error *error)
{
	const struct timespec pause = {0, LOCK_PAUSE_NS};
	int try;

	for (try = 0; flock(fd, LOCK_EX | LOCK_NB); try++) {
		if (errno != EWOULDBLOCK)
			return state_directory_fail(error, errno, path, strerror(errno));
		if (try == LOCK_TRIES) {
			state_directory_fail(error, EBUSY, path, "another recorder uses it");
			error_set_hint(error, "end that recorder first");
			return -EBUSY;
		}
		nanosleep(&pause, NULL);
	}
	return 0;
}

static int state_directory_open(
		struct session *session, const char *path, uid_t owner, struct error *error)
{
	int ret;

	if (mkdir(path, 0700) && errno != EEXIST)
		return state_directory_fail(error, errno, path, strerror(errno));
	session->buffers.fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (session->buffers.fd < 0)
		return state_directory_fail(error, errno, path,
				errno == ENOTDIR || errno == ELOOP
						? "it is not a directory, or a link to one"
						: strerror(errno));
	ret = state_directory_check(session->buffers.fd, path, owner, error);
	if (!ret)
		ret = lock_directory(session->buffers.fd, path, error);
	if (ret)
		return ret;
	session->buffers.path = realpath(path, NULL);
	session->state_dir->path = session->buffers.path ? strdup(session->buffers.path) : NULL;
	return session->state_dir->path ? 0 : error_set_no_memory(error);
}

/* ---- open and close ---- */

int state_directory_open_session(
		struct session *session, const char *path, uid_t owner, struct error *error)
{
	int ret;

	session->state_dir = calloc(1, sizeof(*session->state_dir));
	if (!session->state_dir)
		return error_set_no_memory(error);
	session->state_dir->owner = owner;
	state_directory_boot(session->state_dir->boot);
	ret = state_directory_open(session, path, owner, error);
	if (ret)
		return ret;
	take_saved(session);
	return 0;
}

bool state_directory_is_adopted(const struct session *session)
{
	return session->state_dir && session->state_dir->adopted;
}

uid_t state_directory_owner(const struct session *session)
{
	return session->state_dir ? session->state_dir->owner : geteuid();
}

const char *state_directory_output(const struct session *session)
{
	return session->state_dir ? session->state_dir->output : NULL;
}

uint64_t state_directory_generation(const struct session *session)
{
	return session->state_dir ? session->state_dir->generation : 0;
}

unsigned int state_directory_first_chunk(const struct session *session)
{
	return session->state_dir->first_chunk;
}

void state_directory_remove(struct session *session)
{
	if (!session->state_dir || session->buffers.fd < 0)
		return;
	unlinkat(session->buffers.fd, SESSION_FILE, 0);
	unlinkat(session->buffers.fd, TOTALS_FILE, 0);
	/* Created by earlier versions, which had one doorbell for all programs. */
	unlinkat(session->buffers.fd, "doorbell", 0);
	/* Folders that remain are not empty, which was reported; rmdir() then fails. */
	rmdir(session->state_dir->path);
}

void state_directory_close(struct session *session)
{
	if (!session->state_dir)
		return;
	free(session->state_dir->path);
	free(session->state_dir->output);
	free(session->state_dir);
	session->state_dir = NULL;
}
