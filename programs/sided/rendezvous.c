/* SPDX-License-Identifier: MIT */
/*
 * Rendezvous sockets of the daemon, in directories and networks of programs that do not see the
 * daemon's directory (sessions/rendezvous.h). `side attach` creates one and sends it to the daemon,
 * which uses it like agents.sock. One socket serves all programs with the same view, including
 * children that they fork.
 *
 * It exists while a program that connected through it runs, and for a short time after that,
 * because a forked child can connect after its parent has exited. For the next daemon it is saved
 * in the state file `.door-NUMBER` (the name of a session never begins with a dot):
 *
 *     {"path":"/run/side-door-Xb3k2Q/agents", "pid":8123, "started":812345}
 *
 * The next daemon finds its directory through the root directory of this process, one of its
 * programs. The directory remains when the daemon exits or is killed, and programs look for the
 * next daemon there.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sessions/rendezvous.h"
#include "sessions/text.h"
#include "recorder/core/peer.h"
#include "recorder/core/session.h"
#include "sided.h"
#include "protocol/runtime.h"

#define PREFIX ".door-"
#define FILE_MAX 4096
#define NEW_MS 60000   /* timeout of its first program */
#define UNUSED_MS 1000 /* time to live after its last program */

struct rendezvous {
	struct sided_object object;
	struct sided_watch watch;
	struct rendezvous *next;
	unsigned int number;
	char path[RENDEZVOUS_PATH_SIZE]; /* as the programs see the path */
	struct rendezvous_view view;
	/* for a socket that another process has created; NULL: only the daemon has the socket */
	struct acceptor *acceptor;
	int dir;   /* its directory, or -1 */
	pid_t pid; /* one of its programs, possibly an earlier one */
	uint64_t started;
	uid_t uid; /* user who sent the socket */
	unsigned int nr_programs, nr_connections;
	bool was_used;   /* a program has connected */
	bool is_foreign; /* another process created the socket */
	struct timer unused;
};

/* A saved socket that could not be reopened. */
struct closed_rendezvous {
	struct closed_rendezvous *next;
	pid_t pid;
	uint64_t started;
	int error;
	char path[RENDEZVOUS_PATH_SIZE];
};

/* ---- state file ---- */

static bool sided_rendezvous_get_file_path(const struct daemon *daemon,
		const struct rendezvous *rendezvous, char *path, size_t capacity)
{
	return runtime_path(daemon, path, capacity, WIRE_RUNTIME_STATE "/" PREFIX "%u",
			rendezvous->number);
}

/* Only a restart needs the file, so errors are not reported. */
static void sided_rendezvous_save(const struct daemon *daemon, const struct rendezvous *rendezvous)
{
	struct json_object *facts = json_object_new_object();
	char path[256], temporary[264];
	struct control_text text = {.made = NULL};
	bool is_printed = false;

	if (sided_rendezvous_get_file_path(daemon, rendezvous, path, sizeof(path)) &&
			json_put_text(facts, "path", rendezvous->path) &&
			json_put_number(facts, "pid", (uint64_t)rendezvous->pid) &&
			json_put_number(facts, "started", rendezvous->started) &&
			json_put_number(facts, "uid", rendezvous->uid))
		is_printed = !control_text_print(facts, 0, &text);
	if (is_printed) {
		snprintf(temporary, sizeof(temporary), "%s.new", path);
		if (state_write(temporary, text.text, text.size) || rename(temporary, path))
			unlink(temporary);
	}
	control_text_free(&text);
	json_object_put(facts);
}

/* ---- create and remove ---- */

static void sided_rendezvous_destroy(struct daemon *daemon, struct sided_object *object)
{
	(void)daemon;
	free(container_of(object, struct rendezvous, object));
}

static void sided_rendezvous_close_rendezvous(struct daemon *daemon, struct rendezvous *rendezvous)
{
	struct rendezvous **at = &daemon->rendezvous_list;

	if (rendezvous->object.is_closed)
		return;
	while (*at != rendezvous)
		at = &(*at)->next;
	*at = rendezvous->next;
	shares_give_back(&daemon->rendezvous_shares, rendezvous->uid, 1);
	loop_cancel(daemon, &rendezvous->unused);
	if (rendezvous->acceptor) {
		(void)loop_release(daemon, &rendezvous->watch);
		acceptor_stop(rendezvous->acceptor);
		rendezvous->acceptor = NULL;
	} else {
		peer_close_listener(loop_release(daemon, &rendezvous->watch), false);
	}
	if (rendezvous->dir >= 0)
		close(rendezvous->dir);
	object_close(daemon, &rendezvous->object);
}

/* Removes the directory, which is open as a descriptor; its name is in the path. */
static void remove_directory(const struct rendezvous *rendezvous)
{
	char path[RENDEZVOUS_PATH_SIZE];
	const char *name;
	int parent;

	snprintf(path, sizeof(path), "%.*s",
			(int)(strrchr(rendezvous->path, '/') - rendezvous->path), rendezvous->path);
	name = strrchr(path, '/') + 1;
	unlinkat(rendezvous->dir, RENDEZVOUS_SOCKET, 0);
	parent = openat(rendezvous->dir, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (parent < 0)
		return;
	unlinkat(parent, name, AT_REMOVEDIR);
	close(parent);
}

static void sided_rendezvous_remove_rendezvous(struct daemon *daemon, struct rendezvous *rendezvous)
{
	char path[256];

	if (rendezvous->dir >= 0)
		remove_directory(rendezvous);
	if (sided_rendezvous_get_file_path(daemon, rendezvous, path, sizeof(path)))
		unlink(path);
	sided_rendezvous_close_rendezvous(daemon, rendezvous);
}

static void is_unused(struct daemon *daemon, struct timer *timer)
{
	struct rendezvous *rendezvous = container_of(timer, struct rendezvous, unused);

	if (!rendezvous->nr_programs && !rendezvous->nr_connections)
		sided_rendezvous_remove_rendezvous(daemon, rendezvous);
}

/* Removes the socket later, unless a program connects in time. */
static void await_use(struct daemon *daemon, struct rendezvous *rendezvous)
{
	if (!rendezvous->object.is_closed && !rendezvous->nr_programs &&
			!rendezvous->nr_connections)
		loop_timer(daemon, &rendezvous->unused, rendezvous->was_used ? UNUSED_MS : NEW_MS,
				is_unused);
}

static unsigned int free_number(const struct daemon *daemon)
{
	const struct rendezvous *rendezvous;
	unsigned int number = 1;

	for (rendezvous = daemon->rendezvous_list; rendezvous; rendezvous = rendezvous->next)
		if (rendezvous->number >= number)
			number = rendezvous->number + 1;
	return number;
}

/* Takes ownership of the descriptors in any case. */
static int sided_rendezvous_add(struct daemon *daemon, const struct rendezvous *facts, int fd)
{
	struct rendezvous *rendezvous = NULL;
	int ret = shares_left(&daemon->rendezvous_shares, facts->uid) ? 0 : -ENOSPC;

	if (!ret) {
		rendezvous = malloc(sizeof(*rendezvous));
		ret = rendezvous ? 0 : -ENOMEM;
	}
	if (!ret && rendezvous) {
		*rendezvous = *facts;
		object_init(&rendezvous->object, sided_rendezvous_destroy);
		rendezvous->watch.owner = rendezvous->unused.owner = &rendezvous->object;
		if (rendezvous->is_foreign)
			ret = acceptor_start(fd, &rendezvous->acceptor);
		if (!ret)
			ret = loop_watch(daemon, &rendezvous->watch,
					rendezvous->acceptor ? acceptor_fd(rendezvous->acceptor)
							     : fd,
					EPOLLIN, agents_ready);
	}
	if (ret) {
		if (rendezvous && rendezvous->acceptor)
			acceptor_stop(rendezvous->acceptor);
		else
			peer_close_listener(fd, false);
		if (rendezvous)
			object_close(daemon, &rendezvous->object);
		if (facts->dir >= 0)
			close(facts->dir);
		return ret;
	}
	if (!rendezvous->number)
		rendezvous->number = free_number(daemon);
	rendezvous->next = daemon->rendezvous_list;
	daemon->rendezvous_list = rendezvous;
	shares_charge(&daemon->rendezvous_shares, rendezvous->uid, 1);
	await_use(daemon, rendezvous);
	sided_rendezvous_save(daemon, rendezvous);
	return 0;
}

void rendezvous_close_all(struct daemon *daemon)
{
	struct closed_rendezvous *closed;

	while ((closed = daemon->closed_list)) {
		daemon->closed_list = closed->next;
		free(closed);
	}
	while (daemon->rendezvous_list)
		sided_rendezvous_close_rendezvous(daemon, daemon->rendezvous_list);
	shares_free(&daemon->rendezvous_shares);
}

int rendezvous_open_all(struct daemon *daemon)
{
	shares_init(&daemon->rendezvous_shares, LIMIT_RENDEZVOUS, LIMIT_RENDEZVOUS_FLOORS, 0);
	return shares_keep(&daemon->rendezvous_shares, daemon->uid) ? 0 : -ENOMEM;
}

/* ---- programs ---- */

struct rendezvous *rendezvous_of_watch(const struct daemon *daemon, const struct sided_watch *watch)
{
	struct rendezvous *rendezvous = daemon->rendezvous_list;

	while (rendezvous && &rendezvous->watch != watch)
		rendezvous = rendezvous->next;
	return rendezvous;
}

/* Returns a program that connected through it, or NULL. */
static const struct sided_program *any_program(
		const struct daemon *daemon, const struct rendezvous *rendezvous)
{
	const struct sided_program *program;
	size_t i;

	for (i = 0; i < PROGRAM_BUCKETS; i++)
		for (program = daemon->programs[i]; program; program = program->next)
			if (program->rendezvous == rendezvous && program->pid)
				return program;
	return NULL;
}

static void be_found_by(struct daemon *daemon, struct rendezvous *rendezvous,
		const struct sided_program *program)
{
	uint64_t started = program ? session_process_start(program->pid) : 0;

	if (!started)
		return;
	rendezvous->pid = program->pid;
	rendezvous->started = started;
	sided_rendezvous_save(daemon, rendezvous);
}

void rendezvous_left(struct daemon *daemon, struct sided_program *program)
{
	struct rendezvous *rendezvous = program->rendezvous;

	if (!rendezvous)
		return;
	rendezvous->nr_programs--;
	ref_set(daemon, program->rendezvous, NULL);
	if (rendezvous->nr_programs && rendezvous->pid == program->pid)
		be_found_by(daemon, rendezvous, any_program(daemon, rendezvous));
	await_use(daemon, rendezvous);
}

void rendezvous_entered(
		struct daemon *daemon, struct sided_program *program, struct rendezvous *rendezvous)
{
	if (program->rendezvous == rendezvous)
		return;
	rendezvous_left(daemon, program);
	if (!rendezvous || rendezvous->object.is_closed)
		return;
	ref_set(daemon, program->rendezvous, rendezvous);
	rendezvous->was_used = true;
	loop_cancel(daemon, &rendezvous->unused);
	if (!rendezvous->nr_programs++ && rendezvous->pid != program->pid)
		be_found_by(daemon, rendezvous, program);
}

void rendezvous_connected(
		struct daemon *daemon, struct sided_agent *agent, struct rendezvous *rendezvous)
{
	if (!rendezvous)
		return;
	ref_set(daemon, agent->rendezvous, rendezvous);
	rendezvous->nr_connections++;
	loop_cancel(daemon, &rendezvous->unused);
}

void rendezvous_disconnected(struct daemon *daemon, struct sided_agent *agent)
{
	struct rendezvous *rendezvous = agent->rendezvous;

	if (!rendezvous)
		return;
	rendezvous->nr_connections--;
	ref_set(daemon, agent->rendezvous, NULL);
	await_use(daemon, rendezvous);
}

int rendezvous_accept(const struct rendezvous *rendezvous, const struct sided_watch *watch)
{
	return rendezvous && rendezvous->acceptor
			? acceptor_take(rendezvous->acceptor)
			: accept4(watch->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

void rendezvous_listen_all(struct daemon *daemon, bool listen)
{
	struct rendezvous *rendezvous;

	for (rendezvous = daemon->rendezvous_list; rendezvous; rendezvous = rendezvous->next)
		loop_change(daemon, &rendezvous->watch, listen ? EPOLLIN : 0);
}

/* ---- new sockets ---- */

const char *rendezvous_of_process(const struct daemon *daemon, pid_t pid)
{
	const struct rendezvous *rendezvous;
	struct rendezvous_view view;

	if (rendezvous_inspect(pid, &view))
		return "";
	for (rendezvous = daemon->rendezvous_list; rendezvous; rendezvous = rendezvous->next)
		if (!memcmp(&rendezvous->view, &view, sizeof(view)))
			return rendezvous->path;
	return "";
}

/*
 * Call after reading /proc: if the process has exited, another process can have its id, and another
 * root directory.
 */
static int check_same(const struct rendezvous *rendezvous)
{
	return rendezvous->started && session_process_start(rendezvous->pid) == rendezvous->started
			? 0
			: -ESRCH;
}

/* Opens the directory as seen from this root directory; @NAME has none. */
static int sided_rendezvous_resolve_path(struct rendezvous *rendezvous)
{
	int root;

	rendezvous->dir = -1;
	if (*rendezvous->path == '@')
		return 0;
	root = rendezvous_open_root(rendezvous->pid);
	if (root < 0)
		return root;
	rendezvous->dir = rendezvous_open_dir(root, rendezvous->path);
	close(root);
	return rendezvous->dir < 0 ? rendezvous->dir : 0;
}

int rendezvous_add(struct daemon *daemon, uid_t uid, pid_t pid, uint64_t started, const char *path,
		int fd)
{
	struct rendezvous rendezvous = {
			.uid = uid, .pid = pid, .dir = -1, .is_foreign = true, .started = started};
	int ret = rendezvous_inspect(pid, &rendezvous.view);

	if (!ret && (strlen(path) >= sizeof(rendezvous.path) || !rendezvous_is_listener(fd)))
		ret = -EINVAL;
	if (!ret) {
		strcpy(rendezvous.path, path);
		ret = sided_rendezvous_resolve_path(&rendezvous);
	}
	if (!ret)
		ret = check_same(&rendezvous);
	if (!ret)
		return sided_rendezvous_add(daemon, &rendezvous, fd);
	if (rendezvous.dir >= 0)
		close(rendezvous.dir);
	handover_close(fd);
	return ret;
}

/* ---- after a restart ---- */

static int sided_rendezvous_parse_facts(
		struct json_object *facts, struct rendezvous *rendezvous, struct error *error)
{
	static const char *const members[] = {"path", "pid", "started", "uid", NULL};
	const char *path = NULL;
	uint64_t pid = 0, uid = 0;
	int ret = json_only(facts, members, "the file of a rendezvous socket", error);

	if (!ret)
		ret = json_text(facts, "path", &path, error);
	if (!ret)
		ret = json_number(facts, "pid", INT32_MAX, &pid, error);
	if (!ret)
		ret = json_number(facts, "started", INT64_MAX, &rendezvous->started, error);
	/* Files of older releases have no `uid`. */
	if (!ret)
		ret = json_number(facts, "uid", UINT32_MAX, &uid, error);
	if (ret)
		return ret;
	if (!path || !pid || !rendezvous->started || strlen(path) >= sizeof(rendezvous->path))
		return error_set_kind(error, ERROR_FAILED, -EINVAL, NULL,
				"its path or its process is missing");
	strcpy(rendezvous->path, path);
	rendezvous->pid = (pid_t)pid;
	rendezvous->uid = (uid_t)uid;
	return 0;
}

/* Reopens the socket, for which the programs that used it wait. */
static int open_again(struct daemon *daemon, struct rendezvous *rendezvous)
{
	int ret, fd;

	ret = check_same(rendezvous);
	if (ret)
		return ret;
	ret = rendezvous_inspect(rendezvous->pid, &rendezvous->view);
	if (!ret)
		ret = sided_rendezvous_resolve_path(rendezvous);
	if (!ret)
		ret = check_same(rendezvous);
	if (!ret) {
		fd = rendezvous->dir < 0
				? rendezvous_listen_abstract(rendezvous->pid, rendezvous->path)
				: rendezvous_listen_in(rendezvous->dir);
		if (fd >= 0)
			return sided_rendezvous_add(daemon, rendezvous, fd);
		ret = fd;
	}
	if (rendezvous->dir >= 0)
		close(rendezvous->dir);
	return ret;
}

/*
 * Stores a socket that cannot be reopened: its programs cannot find the daemon any more. Status
 * reports it.
 */
static void keep_closed(struct daemon *daemon, const struct rendezvous *facts, int error)
{
	struct closed_rendezvous *closed = malloc(sizeof(*closed));

	log_about(daemon, LINES_OTHERS,
			"programs in the mount namespace of process %d cannot reconnect: %s: %s",
			facts->pid, facts->path, strerror(-error));
	if (!closed)
		return;
	*closed = (struct closed_rendezvous){.next = daemon->closed_list,
			.pid = facts->pid,
			.started = facts->started,
			.error = -error};
	strcpy(closed->path, facts->path);
	daemon->closed_list = closed;
}

/* Returns NULL if out of memory. */
struct json_object *rendezvous_closed_json(struct daemon *daemon)
{
	struct json_object *list = json_object_new_array();
	const struct closed_rendezvous *closed;

	for (closed = daemon->closed_list; list && closed; closed = closed->next) {
		struct json_object *object;

		if (program_is_reachable(daemon, closed->pid) ||
				session_process_start(closed->pid) != closed->started)
			continue;
		object = json_object_new_object();
		if (json_put_number(object, "pid", (uint64_t)closed->pid) &&
				json_put_text(object, "path", closed->path) &&
				json_put_text(object, "door", closed->path) &&
				json_put_text(object, "why", strerror(closed->error)) &&
				!json_object_array_add(list, object))
			continue;
		json_object_put(object);
		json_object_put(list);
		return NULL;
	}
	return list;
}

static void sided_rendezvous_restore(struct daemon *daemon, uint32_t number, const char *path)
{
	struct error error = {.kind = ERROR_NONE};
	struct json_object *json = state_read(path, FILE_MAX, &error);
	struct rendezvous rendezvous = {.number = number, .dir = -1};
	int ret = json ? sided_rendezvous_parse_facts(json, &rendezvous, &error) : -EINVAL;

	json_object_put(json);
	if (ret) {
		log_about(daemon, LINES_OTHERS, "the rendezvous socket in %s is removed: %s", path,
				error.text);
		unlink(path);
		return;
	}
	ret = open_again(daemon, &rendezvous);
	if (ret)
		unlink(path);
	if (ret && ret != -ESRCH)
		keep_closed(daemon, &rendezvous, ret);
}

void rendezvous_restore_all(struct daemon *daemon)
{
	state_each(daemon, PREFIX, sided_rendezvous_restore);
}
