/* SPDX-License-Identifier: MIT */
/*
 * Doors: sockets of ours in what programs see that do not see our directory (sessions/rendezvous.h). Whoever attaches makes one
 * and gives it to us; from then on it is as good as agents.sock. One serves all programs that see the same, those that they fork, too.
 *
 * It lasts as long as some program is known that came through it, and a moment longer: one that is forked comes a moment after
 * its parent has ended. For the next daemon it stands in state/.door-NUMBER (no session has a name that begins so):
 *
 *	{"path":"/run/side-door-Xb3k2Q/agents", "pid":8123, "started":812345}
 *
 * with one of its programs, by whose root directory the place is found again. Its directory stays when we end, however that is, and
 * programs look there for who comes next.
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
#define NEW_MS 60000   /* until its first program comes */
#define UNUSED_MS 1000 /* after its last one */

struct door {
	struct object object;
	struct watch watch;
	struct door *next;
	unsigned int number;
	char path[DOOR_PATH_SIZE]; /* as the programs see the path */
	struct door_view view;
	struct acceptor *
			acceptor; /* of a socket that another process has made; NULL: it is ours alone */
	int place;                /* its directory, or -1 */
	pid_t pid;                /* one of its programs, now or lately */
	uint64_t started;
	uid_t uid; /* the user who handed in the socket */
	unsigned int nr_programs, nr_connections;
	bool was_used;   /* by a program */
	bool is_foreign; /* its socket was handed in */
	struct timer unused;
};

/* One that could not be opened again when we began. */
struct closed_door {
	struct closed_door *next;
	pid_t pid;
	uint64_t started;
	int error;
	char path[DOOR_PATH_SIZE];
};

/* ---- its file ---- */

static bool sided_rendezvous_get_file_path(
		const struct daemon *daemon, const struct door *door, char *path, size_t room)
{
	return runtime_path(daemon, path, room, WIRE_RUNTIME_STATE "/" PREFIX "%u", door->number);
}

/* Nothing depends on it but a restart, so nothing is said when it cannot be written. */
static void sided_rendezvous_save(const struct daemon *daemon, const struct door *door)
{
	struct json_object *facts = json_object_new_object();
	char path[256], temporary[264];
	struct control_text text = {.made = NULL};
	bool is_printed = false;

	if (sided_rendezvous_get_file_path(daemon, door, path, sizeof(path)) &&
			json_put_text(facts, "path", door->path) &&
			json_put_number(facts, "pid", (uint64_t)door->pid) &&
			json_put_number(facts, "started", door->started) &&
			json_put_number(facts, "uid", door->uid))
		is_printed = !control_text_print(facts, 0, &text);
	if (is_printed) {
		snprintf(temporary, sizeof(temporary), "%s.new", path);
		if (state_write(temporary, text.text, text.size) || rename(temporary, path))
			unlink(temporary);
	}
	control_text_free(&text);
	json_object_put(facts);
}

/* ---- life ---- */

static void door_destroy(struct daemon *daemon, struct object *object)
{
	(void)daemon;
	free(container_of(object, struct door, object));
}

static void close_door(struct daemon *daemon, struct door *door)
{
	struct door **at = &daemon->doors;

	if (door->object.is_closed)
		return;
	while (*at != door)
		at = &(*at)->next;
	*at = door->next;
	shares_give_back(&daemon->door_shares, door->uid, 1);
	loop_cancel(daemon, &door->unused);
	if (door->acceptor) {
		(void)loop_release(daemon, &door->watch);
		acceptor_stop(door->acceptor);
		door->acceptor = NULL;
	} else {
		peer_close_listener(loop_release(daemon, &door->watch), false);
	}
	if (door->place >= 0)
		close(door->place);
	object_close(daemon, &door->object);
}

/* The directory is known by its descriptor; its name stands in the path. */
static void remove_directory(const struct door *door)
{
	char path[DOOR_PATH_SIZE];
	const char *name;
	int parent;

	snprintf(path, sizeof(path), "%.*s", (int)(strrchr(door->path, '/') - door->path),
			door->path);
	name = strrchr(path, '/') + 1;
	unlinkat(door->place, DOOR_SOCKET, 0);
	parent = openat(door->place, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (parent < 0)
		return;
	unlinkat(parent, name, AT_REMOVEDIR);
	close(parent);
}

static void remove_door(struct daemon *daemon, struct door *door)
{
	char path[256];

	if (door->place >= 0)
		remove_directory(door);
	if (sided_rendezvous_get_file_path(daemon, door, path, sizeof(path)))
		unlink(path);
	close_door(daemon, door);
}

static void is_unused(struct daemon *daemon, struct timer *timer)
{
	struct door *door = container_of(timer, struct door, unused);

	if (!door->nr_programs && !door->nr_connections)
		remove_door(daemon, door);
}

/* It is removed unless a program comes in time. */
static void await_use(struct daemon *daemon, struct door *door)
{
	if (!door->object.is_closed && !door->nr_programs && !door->nr_connections)
		loop_timer(daemon, &door->unused, door->was_used ? UNUSED_MS : NEW_MS, is_unused);
}

static unsigned int free_number(const struct daemon *daemon)
{
	const struct door *door;
	unsigned int number = 1;

	for (door = daemon->doors; door; door = door->next)
		if (door->number >= number)
			number = door->number + 1;
	return number;
}

/* Takes the descriptors; in any case. */
static int sided_rendezvous_add(struct daemon *daemon, const struct door *facts, int fd)
{
	struct door *door = NULL;
	int ret = shares_left(&daemon->door_shares, facts->uid) ? 0 : -ENOSPC;

	if (!ret) {
		door = malloc(sizeof(*door));
		ret = door ? 0 : -ENOMEM;
	}
	if (!ret && door) {
		*door = *facts;
		object_init(&door->object, door_destroy);
		door->watch.owner = door->unused.owner = &door->object;
		if (door->is_foreign)
			ret = acceptor_start(fd, &door->acceptor);
		if (!ret)
			ret = loop_watch(daemon, &door->watch,
					door->acceptor ? acceptor_fd(door->acceptor) : fd, EPOLLIN,
					agents_ready);
	}
	if (ret) {
		if (door && door->acceptor)
			acceptor_stop(door->acceptor);
		else
			peer_close_listener(fd, false);
		if (door)
			object_close(daemon, &door->object);
		if (facts->place >= 0)
			close(facts->place);
		return ret;
	}
	if (!door->number)
		door->number = free_number(daemon);
	door->next = daemon->doors;
	daemon->doors = door;
	shares_charge(&daemon->door_shares, door->uid, 1);
	await_use(daemon, door);
	sided_rendezvous_save(daemon, door);
	return 0;
}

void doors_close(struct daemon *daemon)
{
	struct closed_door *closed;

	while ((closed = daemon->closed_doors)) {
		daemon->closed_doors = closed->next;
		free(closed);
	}
	while (daemon->doors)
		close_door(daemon, daemon->doors);
	shares_free(&daemon->door_shares);
}

int doors_open(struct daemon *daemon)
{
	shares_init(&daemon->door_shares, LIMIT_DOORS, LIMIT_DOOR_FLOORS, 0);
	return shares_keep(&daemon->door_shares, daemon->uid) ? 0 : -ENOMEM;
}

/* ---- programs ---- */

struct door *door_of(const struct daemon *daemon, const struct watch *watch)
{
	struct door *door = daemon->doors;

	while (door && &door->watch != watch)
		door = door->next;
	return door;
}

/* One of those that came through it, or NULL. */
static const struct program *any_program(const struct daemon *daemon, const struct door *door)
{
	const struct program *program;
	size_t i;

	for (i = 0; i < PROGRAM_BUCKETS; i++)
		for (program = daemon->programs[i]; program; program = program->next)
			if (program->door == door && program->pid)
				return program;
	return NULL;
}

static void be_found_by(struct daemon *daemon, struct door *door, const struct program *program)
{
	uint64_t started = program ? session_process_start(program->pid) : 0;

	if (!started)
		return;
	door->pid = program->pid;
	door->started = started;
	sided_rendezvous_save(daemon, door);
}

void door_left(struct daemon *daemon, struct program *program)
{
	struct door *door = program->door;

	if (!door)
		return;
	door->nr_programs--;
	ref_set(daemon, program->door, NULL);
	if (door->nr_programs && door->pid == program->pid)
		be_found_by(daemon, door, any_program(daemon, door));
	await_use(daemon, door);
}

void door_entered(struct daemon *daemon, struct program *program, struct door *door)
{
	if (program->door == door)
		return;
	door_left(daemon, program);
	if (!door || door->object.is_closed)
		return;
	ref_set(daemon, program->door, door);
	door->was_used = true;
	loop_cancel(daemon, &door->unused);
	if (!door->nr_programs++ && door->pid != program->pid)
		be_found_by(daemon, door, program);
}

void door_connected(struct daemon *daemon, struct agent *agent, struct door *door)
{
	if (!door)
		return;
	ref_set(daemon, agent->door, door);
	door->nr_connections++;
	loop_cancel(daemon, &door->unused);
}

void door_disconnected(struct daemon *daemon, struct agent *agent)
{
	struct door *door = agent->door;

	if (!door)
		return;
	door->nr_connections--;
	ref_set(daemon, agent->door, NULL);
	await_use(daemon, door);
}

int door_accept(const struct door *door, const struct watch *watch)
{
	return door && door->acceptor
			? acceptor_take(door->acceptor)
			: accept4(watch->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

void doors_listen(struct daemon *daemon, bool listen)
{
	struct door *door;

	for (door = daemon->doors; door; door = door->next)
		loop_change(daemon, &door->watch, listen ? EPOLLIN : 0);
}

/* ---- a new one ---- */

const char *door_for(const struct daemon *daemon, pid_t pid)
{
	const struct door *door;
	struct door_view view;

	if (door_look(pid, &view))
		return "";
	for (door = daemon->doors; door; door = door->next)
		if (!memcmp(&door->view, &view, sizeof(view)))
			return door->path;
	return "";
}

/* After /proc was read: if the process has exited, another process can have its id, and another root directory. */
static int check_same(const struct door *door)
{
	return door->started && session_process_start(door->pid) == door->started ? 0 : -ESRCH;
}

/* Where programs with this root directory see it; for @NAME nowhere. */
static int sided_rendezvous_resolve_path(struct door *door)
{
	int root;

	door->place = -1;
	if (*door->path == '@')
		return 0;
	root = door_open_root(door->pid);
	if (root < 0)
		return root;
	door->place = door_open_place(root, door->path);
	close(root);
	return door->place < 0 ? door->place : 0;
}

int door_add(struct daemon *daemon, uid_t uid, pid_t pid, uint64_t started, const char *path,
		int fd)
{
	struct door door = {.uid = uid,
			.pid = pid,
			.place = -1,
			.is_foreign = true,
			.started = started};
	int ret = door_look(pid, &door.view);

	if (!ret && (strlen(path) >= sizeof(door.path) || !door_is_listener(fd)))
		ret = -EINVAL;
	if (!ret) {
		strcpy(door.path, path);
		ret = sided_rendezvous_resolve_path(&door);
	}
	if (!ret)
		ret = check_same(&door);
	if (!ret)
		return sided_rendezvous_add(daemon, &door, fd);
	if (door.place >= 0)
		close(door.place);
	handover_close(fd);
	return ret;
}

/* ---- after a restart ---- */

static int sided_rendezvous_parse_facts(
		struct json_object *facts, struct door *door, struct control_error *error)
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
		ret = json_number(facts, "started", INT64_MAX, &door->started, error);
	/* Files of older releases have no `uid`. */
	if (!ret)
		ret = json_number(facts, "uid", UINT32_MAX, &uid, error);
	if (ret)
		return ret;
	if (!path || !pid || !door->started || strlen(path) >= sizeof(door->path))
		return control_fail(error, CONTROL_FAILED, -EINVAL, NULL,
				"its path or its process is missing");
	strcpy(door->path, path);
	door->pid = (pid_t)pid;
	door->uid = (uid_t)uid;
	return 0;
}

/* Programs that came through it wait there. */
static int open_again(struct daemon *daemon, struct door *door)
{
	int ret, fd;

	ret = check_same(door);
	if (ret)
		return ret;
	ret = door_look(door->pid, &door->view);
	if (!ret)
		ret = sided_rendezvous_resolve_path(door);
	if (!ret)
		ret = check_same(door);
	if (!ret) {
		fd = door->place < 0 ? door_listen_nowhere(door->pid, door->path)
				     : door_listen_in(door->place);
		if (fd >= 0)
			return sided_rendezvous_add(daemon, door, fd);
		ret = fd;
	}
	if (door->place >= 0)
		close(door->place);
	return ret;
}

/* Who came through it does not find us any more. What is said of it is for who looks. */
static void keep_closed(struct daemon *daemon, const struct door *facts, int error)
{
	struct closed_door *closed = malloc(sizeof(*closed));

	say_about(daemon, LINES_OTHERS,
			"programs that see what process %d sees cannot come back: %s: %s",
			facts->pid, facts->path, strerror(-error));
	if (!closed)
		return;
	*closed = (struct closed_door){.next = daemon->closed_doors,
			.pid = facts->pid,
			.started = facts->started,
			.error = -error};
	strcpy(closed->path, facts->path);
	daemon->closed_doors = closed;
}

/* NULL: out of memory. */
struct json_object *doors_closed_json(struct daemon *daemon)
{
	struct json_object *list = json_object_new_array();
	const struct closed_door *closed;

	for (closed = daemon->closed_doors; list && closed; closed = closed->next) {
		struct json_object *object;

		if (program_is_reached(daemon, closed->pid) ||
				session_process_start(closed->pid) != closed->started)
			continue;
		object = json_object_new_object();
		if (json_put_number(object, "pid", (uint64_t)closed->pid) &&
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
	struct control_error error = {.kind = CONTROL_DONE};
	struct json_object *json = state_read(path, FILE_MAX, &error);
	struct door door = {.number = number, .place = -1};
	int ret = json ? sided_rendezvous_parse_facts(json, &door, &error) : -EINVAL;

	json_object_put(json);
	if (ret) {
		say_about(daemon, LINES_OTHERS, "the rendezvous socket in %s is removed: %s", path,
				error.text);
		unlink(path);
		return;
	}
	ret = open_again(daemon, &door);
	if (ret)
		unlink(path);
	if (ret && ret != -ESRCH)
		keep_closed(daemon, &door, ret);
}

void doors_restore(struct daemon *daemon)
{
	state_each(daemon, PREFIX, sided_rendezvous_restore);
}
