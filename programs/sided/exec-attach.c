/* SPDX-License-Identifier: MIT */
/*
 * Attach on exec: keeps the list of the files whose programs get the agent when they start, for the
 * helper process (sessions/exec-watch.h), and the results for status.
 *
 * A file is in the list while an active session of root has a probe for it. A change of a session is
 * complete only when the helper watches the files: operation_begin() waits for that.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "protocol/runtime.h"
#include "sessions/exec-watch.h"
#include "sided.h"

#define EXEC_SEND_AGAIN_MS 100
/* The helper's start can take as long on a busy machine. */
#define EXEC_READY_MS 4000

/* A file, and what has happened to its programs since it is in the list. */
struct exec_file {
	char *path;
	bool is_used;      /* while the list is made */
	bool is_watched;   /* it exists, and the helper watches it */
	char state[256];   /* why its programs cannot be attached to, or "" */
	char failure[768]; /* of the last program, or "" */
	uint64_t nr_attached, nr_joined, nr_failed;
	uint64_t nr_restarts; /* of the helper: the programs that it was attaching to are not known */
};

struct exec_attach {
	char reason[512]; /* why the daemon cannot attach on exec, or "" */
	bool is_after;    /* it attaches after exec: first calls can be missed */
	char less[512];   /* why it does so */
	struct sided_watch watch;
	struct timer again, late;
	struct exec_file files[EXEC_WATCH_FILES_MAX];
	size_t nr_files;
	bool is_full;         /* a file is not in the list: too many files */
	bool was_sent;        /* the helper has a list, perhaps an empty one */
	bool is_running;      /* the helper has started */
	uint64_t sent, ready; /* serials of lists */
};

/* ---- the list ---- */

static struct exec_file *exec_attach_find(struct exec_attach *attach, const char *path)
{
	for (size_t i = 0; i < attach->nr_files; i++)
		if (!strcmp(attach->files[i].path, path))
			return &attach->files[i];
	return NULL;
}

static bool exec_attach_covers(const struct daemon *daemon, const struct session_entry *entry)
{
	return session_is_present(entry) && entry->active && !session_is_of_member(daemon, entry);
}

/* Returns true if the file is new in the list. */
static bool exec_attach_add(struct exec_attach *attach, const char *path)
{
	struct exec_file *file = exec_attach_find(attach, path);
	char *copy;

	if (file) {
		file->is_used = true;
		return false;
	}
	copy = attach->nr_files < EXEC_WATCH_FILES_MAX ? strdup(path) : NULL;
	if (!copy) {
		attach->is_full = true;
		return false;
	}
	attach->files[attach->nr_files++] = (struct exec_file){.path = copy, .is_used = true};
	return true;
}

/* Returns true if the list has changed. */
static bool exec_attach_make_list(struct daemon *daemon, struct exec_attach *attach)
{
	bool changed = false;
	size_t nr = 0;

	attach->is_full = false;
	for (size_t i = 0; i < attach->nr_files; i++)
		attach->files[i].is_used = false;
	for (struct session_entry *entry = daemon->sessions; entry; entry = entry->next)
		for (size_t i = 0; exec_attach_covers(daemon, entry) &&
				i < entry->definition->nr_probes;
				i++)
			if (entry->definition->probes[i].target.exe)
				changed |= exec_attach_add(
						attach, entry->definition->probes[i].target.exe);
	for (size_t i = 0; i < attach->nr_files; i++) {
		if (attach->files[i].is_used) {
			attach->files[nr++] = attach->files[i];
			continue;
		}
		free(attach->files[i].path);
		changed = true;
	}
	attach->nr_files = nr;
	return changed;
}

static void exec_attach_send_again(struct daemon *daemon, struct timer *timer);

static int exec_attach_send_list(struct daemon *daemon, const struct exec_attach *attach)
{
	char serial[24], path[128];
	int fd = attach->watch.fd, ret;

	if (!runtime_path(daemon, path, sizeof(path), WIRE_RUNTIME_AGENTS))
		return -ENAMETOOLONG;
	snprintf(serial, sizeof(serial), "%llu", (unsigned long long)attach->sent);
	ret = exec_watch_send(fd, (const char *const[]){"begin", serial, path, NULL});
	for (size_t i = 0; !ret && i < attach->nr_files; i++)
		ret = exec_watch_send(
				fd, (const char *const[]){"file", attach->files[i].path, NULL});
	return ret ? ret : exec_watch_send(fd, (const char *const[]){"end", serial, NULL});
}

static void exec_attach_send(struct daemon *daemon)
{
	struct exec_attach *attach = daemon->exec_attach;

	attach->was_sent = true;
	/* An incomplete list is followed by a complete one. */
	if (exec_attach_send_list(daemon, attach))
		loop_timer(daemon, &attach->again, EXEC_SEND_AGAIN_MS, exec_attach_send_again);
}

static void exec_attach_send_again(struct daemon *daemon, struct timer *timer)
{
	(void)timer;
	exec_attach_send(daemon);
}

/* Operations must not wait for a helper that does not answer. */
static void exec_attach_be_late(struct daemon *daemon, struct timer *timer)
{
	(void)timer;
	operations_exec_ready(daemon, daemon->exec_attach->sent);
}

bool exec_attach_update(struct daemon *daemon)
{
	struct exec_attach *attach = daemon->exec_attach;

	if (!attach || attach->watch.fd < 0)
		return false;
	if (exec_attach_make_list(daemon, attach)) {
		attach->sent = daemon->serial;
		exec_attach_send(daemon);
		loop_timer(daemon, &attach->late, EXEC_READY_MS, exec_attach_be_late);
	}
	return attach->ready < attach->sent && attach->late.base.is_set;
}

/* ---- the helper's messages ---- */

static void exec_attach_take_ready(struct daemon *daemon, const char *text)
{
	struct exec_attach *attach = daemon->exec_attach;

	attach->ready = strtoull(text, NULL, 10);
	if (attach->ready != attach->sent)
		return;
	loop_cancel(daemon, &attach->late);
	operations_exec_ready(daemon, attach->sent);
}

static void exec_attach_take_results(struct daemon *daemon, struct exec_file *file,
		const char *numbers, const char *reason)
{
	unsigned int attached, joined, failed;

	if (sscanf(numbers, "%u %u %u", &attached, &joined, &failed) != 3)
		return;
	file->nr_attached += attached;
	file->nr_joined += joined;
	file->nr_failed += failed;
	if (!failed)
		return;
	if (strcmp(file->failure, reason) != 0)
		log_about(daemon, daemon->uid, "not attached: %s: %s", file->path, reason);
	snprintf(file->failure, sizeof(file->failure), "%s", reason);
}

static void exec_attach_take_hello(struct daemon *daemon)
{
	struct exec_attach *attach = daemon->exec_attach;

	for (size_t i = 0; attach->is_running && i < attach->nr_files; i++)
		attach->files[i].nr_restarts++;
	attach->is_running = true;
	/* A new helper has no list. */
	exec_attach_send(daemon);
}

static void exec_attach_take(struct daemon *daemon, const char *texts[EXEC_WATCH_FIELDS])
{
	struct exec_attach *attach = daemon->exec_attach;
	struct exec_file *file = exec_attach_find(attach, texts[1]);

	if (!strcmp(texts[0], "hello")) {
		exec_attach_take_hello(daemon);
	} else if (!strcmp(texts[0], "ready")) {
		exec_attach_take_ready(daemon, texts[1]);
	} else if (file && !strcmp(texts[0], "state")) {
		snprintf(file->state, sizeof(file->state), "%s", texts[2]);
		file->is_watched = !strcmp(texts[3], "1");
	} else if (file && !strcmp(texts[0], "results")) {
		exec_attach_take_results(daemon, file, texts[2], texts[3]);
	}
}

static void exec_attach_ready(struct daemon *daemon, struct sided_watch *watch, uint32_t events)
{
	struct exec_attach *attach = daemon->exec_attach;
	const char *texts[EXEC_WATCH_FIELDS];
	char buffer[EXEC_WATCH_SIZE];
	int nr = 1;

	(void)events;
	for (int i = 0; i < ACCEPTS_AT_ONCE && nr > 0; i++) {
		nr = exec_watch_receive(watch->fd, buffer, texts);
		if (nr > 0)
			exec_attach_take(daemon, texts);
	}
	if (nr > 0 || nr == -EAGAIN)
		return;
	snprintf(attach->reason, sizeof(attach->reason),
			"the helper process has ended; a restart of the daemon starts it");
	log_message("cannot attach on exec: %s", attach->reason);
	loop_cancel(daemon, &attach->again);
	loop_cancel(daemon, &attach->late);
	loop_unwatch(daemon, watch);
	operations_exec_ready(daemon, UINT64_MAX);
}

/* ---- status ---- */

static bool exec_attach_put_file(struct json_object *object, const struct exec_file *file)
{
	return json_put_flag(object, "watched", file->is_watched) &&
			json_put_number(object, "attached", file->nr_attached) &&
			json_put_number(object, "joined", file->nr_joined) &&
			json_put_number(object, "failed", file->nr_failed) &&
			(!file->nr_restarts ||
					json_put_number(object, "restarts", file->nr_restarts)) &&
			(!*file->failure || json_put_text(object, "failure", file->failure));
}

struct json_object *exec_attach_json(
		struct daemon *daemon, const struct session_entry *entry, const char *exe)
{
	struct exec_attach *attach = daemon->exec_attach;
	struct json_object *object = json_object_new_object();
	const struct exec_file *file = attach ? exec_attach_find(attach, exe) : NULL;
	const char *why = attach ? attach->reason : "out of memory";

	if (!*why && session_is_of_member(daemon, entry))
		why = "only sessions of root can do that";
	else if (!*why && file)
		why = file->state;
	else if (!*why && exec_attach_covers(daemon, entry))
		why = "too many files are watched";
	if (json_put_flag(object, "possible", !*why) &&
			(*why || !attach->is_after ||
					(json_put_flag(object, "after", true) &&
							json_put_text(object, "less",
									attach->less))) &&
			(!*why || json_put_text(object, "why", why)) &&
			(!file || exec_attach_put_file(object, file)))
		return object;
	json_object_put(object);
	return NULL;
}

/* ---- start and end ---- */

void exec_attach_open(struct daemon *daemon)
{
	struct exec_attach *attach = calloc(1, sizeof(*attach));
	const char *method;
	int fd;

	daemon->exec_attach = attach;
	if (!attach)
		return;
	attach->watch.fd = -1;
	fd = exec_supervisor_start(&method, attach->reason, sizeof(attach->reason));
	if (fd < 0)
		return;
	attach->is_after = !strcmp(method, EXEC_WATCH_AFTER);
	memcpy(attach->less, attach->reason, sizeof(attach->less));
	*attach->reason = '\0';
	if (loop_watch(daemon, &attach->watch, fd, EPOLLIN, exec_attach_ready)) {
		snprintf(attach->reason, sizeof(attach->reason), "out of memory");
		return;
	}
	/* Sessions that were restored. */
	(void)exec_attach_update(daemon);
}

void exec_attach_close(struct daemon *daemon)
{
	struct exec_attach *attach = daemon->exec_attach;

	if (!attach)
		return;
	loop_cancel(daemon, &attach->again);
	loop_cancel(daemon, &attach->late);
	loop_unwatch(daemon, &attach->watch);
	for (size_t i = 0; i < attach->nr_files; i++)
		free(attach->files[i].path);
	free(attach);
	daemon->exec_attach = NULL;
}
