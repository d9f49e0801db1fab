/* SPDX-License-Identifier: MIT */
/*
 * Sessions and their state files, state/NAME.json:
 *
 *     {"definition":{...}, "started":true, "active":true, "generation":7, "output":"...",
 *      "state-directory":"..."}
 *
 * A file is written under another name and renamed, so it always contains a complete state. It is
 * written before programs are notified of a change: if the daemon is killed before the write, no
 * program knows of the change.
 */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "sided.h"

#include "sessions/text.h"
#include "protocol/boot.h"
#include "protocol/runtime.h"
#include "protocol/protocol.h"

#define STATE_MAX (DEFINITION_TEXT_MAX + 65536)
#define SYSTEM_OUTPUT "/var/lib/side"

struct session_entry *session_find(struct daemon *daemon, const char *name)
{
	struct session_entry *entry = daemon->sessions;

	while (entry && strcmp(entry->definition->name, name) != 0)
		entry = entry->next;
	return entry;
}

static void entry_destroy(struct daemon *daemon, struct sided_object *object)
{
	struct session_entry *entry = container_of(object, struct session_entry, object);

	(void)daemon;
	definition_free(entry->definition);
	free(entry->output);
	free(entry->state_dir);
	free(entry->push.bytes);
	free(entry->error);
	free(entry);
}

/*
 * Members of the group do not see sessions of other users in their lists, so the message names the
 * owner.
 */
static int fail_name_in_use(
		const struct daemon *daemon, const struct session_entry *entry, struct error *error)
{
	const char *name = entry->definition->name;
	char hint[DEFINITION_NAME_MAX + 64];

	if (!session_is_of_member(daemon, entry))
		return error_set_kind(error, ERROR_BUSY, -EEXIST,
				"choose another name, or run `side destroy`",
				"there is a session %s already", name);
	snprintf(hint, sizeof(hint), "`side destroy %s` as root or as that user", name);
	return error_set_kind(error, ERROR_BUSY, -EEXIST, hint,
			"there is a session %s already: it belongs to user %u", name,
			(unsigned int)entry->uid);
}

int session_add(struct daemon *daemon, struct definition *definition,
		struct session_entry **ret_entry, struct error *error)
{
	struct session_entry *entry, **end;
	char path[WIRE_SESSION_PATH_MAX + 1];

	entry = session_find(daemon, definition->name);
	if (entry)
		return fail_name_in_use(daemon, entry, error);
	if (daemon->nr_sessions >= LIMIT_SESSIONS)
		return error_set_kind(error, ERROR_BUSY, -EBUSY,
				"remove sessions with `side destroy`",
				"cannot create a session: the limit of %d sessions is reached",
				LIMIT_SESSIONS);
	if (!runtime_path(daemon, path, sizeof(path), WIRE_RUNTIME_SESSIONS "/%s.sock",
			    definition->name))
		return error_set_kind(error, ERROR_USAGE, -ENAMETOOLONG, "choose a shorter name",
				"the name %s is too long for the path of a socket in %s",
				definition->name, daemon->runtime);
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return error_set_no_memory(error);
	object_init(&entry->object, entry_destroy);
	entry->definition = definition;
	entry->uid = daemon->uid;
	entry->gid = getegid();
	for (end = &daemon->sessions; *end;)
		end = &(*end)->next;
	*end = entry;
	daemon->nr_sessions++;
	*ret_entry = entry;
	return 0;
}

bool session_socket(const struct daemon *daemon, const struct session_entry *entry, char *path,
		size_t capacity)
{
	int size;

	if (!entry->boot)
		return runtime_path(daemon, path, capacity, WIRE_RUNTIME_SESSIONS "/%s.sock",
				entry->definition->name);
	size = snprintf(path, capacity, "%s/" BOOT_SOCKET, entry->state_dir);
	return size > 0 && (size_t)size < capacity;
}

static void state_path(const struct daemon *daemon, const struct session_entry *entry, char *path,
		size_t capacity)
{
	runtime_path(daemon, path, capacity, WIRE_RUNTIME_STATE "/%s.json",
			entry->definition->name);
}

static void sided_session_state_dir_link(const struct daemon *daemon,
		const struct session_entry *entry, char *path, size_t capacity)
{
	runtime_path(daemon, path, capacity, WIRE_RUNTIME_STATE_DIRS "/%s",
			entry->definition->name);
}

static void entry_close(struct daemon *daemon, struct session_entry *entry)
{
	worker_close(daemon, entry);
	object_close(daemon, &entry->object);
}

/*
 * Removes PARENT/NAME, and PARENT, which was created for it. Directories that are not empty remain.
 */
static void sided_session_remove_state_dir(const struct session_entry *entry)
{
	char parent[512];
	char *slash;

	if (!entry->state_dir)
		return;
	rmdir(entry->state_dir);
	snprintf(parent, sizeof(parent), "%s", entry->state_dir);
	slash = strrchr(parent, '/');
	if (!slash)
		return;
	*slash = 0;
	rmdir(parent);
}

void session_remove(struct daemon *daemon, struct session_entry *entry)
{
	struct session_entry **at = &daemon->sessions;
	char path[256];

	while (*at != entry)
		at = &(*at)->next;
	*at = entry->next;
	daemon->nr_sessions--;
	operations_refuse(daemon, entry);
	state_path(daemon, entry, path, sizeof(path));
	unlink(path);
	sided_session_state_dir_link(daemon, entry, path, sizeof(path));
	unlink(path);
	runtime_path(daemon, path, sizeof(path), WIRE_RUNTIME_SESSIONS "/%s.sock",
			entry->definition->name);
	unlink(path);
	runtime_path(daemon, path, sizeof(path), WIRE_RUNTIME_STATE "/%s.lock",
			entry->definition->name);
	unlink(path);
	tables_remove(daemon, entry);
	sided_session_remove_state_dir(entry);
	boot_end(entry);
	entry_close(daemon, entry);
	wanted_publish(daemon);
}

const char *session_state_word(const struct session_entry *entry)
{
	if (entry->state != SESSION_LIVE)
		return "defined";
	if (!worker_is_ready(entry))
		return entry->error ? "failed" : "restarting";
	return entry->active ? "active" : "stopped";
}

/* ---- output and state directory ---- */

static int fail_directory(struct error *error, int code, const char *path)
{
	return error_set_kind(error,
			code == -EACCES || code == -EPERM || code == -EROFS ? ERROR_PERMISSION
									    : ERROR_FAILED,
			code, "name another one with --output", "cannot make the directory %s: %s",
			path, strerror(-code));
}

/* Creates the directory with all its parents. */
static int sided_session_make_path(const char *path, struct error *error)
{
	char part[4096];
	char *slash = part;

	if (snprintf(part, sizeof(part), "%s", path) >= (int)sizeof(part))
		return fail_directory(error, -ENAMETOOLONG, path);
	while (slash) {
		slash = strchr(slash + 1, '/');
		if (slash)
			*slash = 0;
		if (mkdir(part, 0700) && errno != EEXIST)
			return fail_directory(error, -errno, part);
		if (slash)
			*slash = '/';
	}
	return 0;
}

static int base_directory(struct daemon *daemon, char *path, size_t capacity, struct error *error)
{
	const struct passwd *user;
	const char *home = getenv("HOME");

	if (daemon->output || daemon->system) {
		snprintf(path, capacity, "%s", daemon->output ? daemon->output : SYSTEM_OUTPUT);
		return 0;
	}
	if (!home || *home != '/') {
		user = getpwuid(daemon->uid);
		home = user ? user->pw_dir : NULL;
	}
	if (!home || *home != '/')
		return error_set_kind(error, ERROR_FAILED, -ENOENT, "name one with --output",
				"cannot write traces: there is no home directory");
	snprintf(path, capacity, "%s/side-traces", home);
	return 0;
}

static void write_date(char *text, size_t size)
{
	time_t now = time(NULL);
	struct tm local;

	localtime_r(&now, &local);
	strftime(text, size, "-%Y%m%d-%H%M%S", &local);
}

void session_dated_name(struct daemon *daemon, char name[SESSION_DATED_NAME_SIZE])
{
	char date[32];

	write_date(date, sizeof(date));
	snprintf(name, SESSION_DATED_NAME_SIZE, "side%s", date);
	for (unsigned int i = 2; session_find(daemon, name); i++)
		snprintf(name, SESSION_DATED_NAME_SIZE, "side%s-%u", date, i);
}

/*
 * True if the session's name contains a date: then its directory has the same name without another
 * date.
 */
static bool is_dated(const char *name)
{
	unsigned int day, second;
	int end = 0;

	return sscanf(name, "side-%8u-%6u%n", &day, &second, &end) == 2 &&
			end == (int)strlen("side-YYYYMMDD-HHMMSS") &&
			(!name[end] || name[end] == '-');
}

/*
 * Creates a new directory. That of a member of the group belongs to this user from the beginning.
 * It is directly below the daemon's own directory, where only root can create links. So the
 * session, which writes with this user's permissions, can write there, and the user can read it.
 */
static int make_new(const struct session_entry *entry, bool of_member, const char *path)
{
	int ret;

	if (mkdir(path, 0700))
		return -errno;
	if (!of_member || !lchown(path, entry->uid, entry->gid))
		return 0;
	ret = -errno;
	rmdir(path);
	return ret;
}

/* Lets members of the group enter the directory to reach their traces, but not list it. */
static int make_searchable(const char *path, struct error *error)
{
	struct stat status;

	if (stat(path, &status) ||
			(!(status.st_mode & S_IXOTH) &&
					chmod(path, (status.st_mode & 07777) | S_IXGRP | S_IXOTH)))
		return fail_directory(error, -errno, path);
	return 0;
}

static int make_base(struct daemon *daemon, bool of_member, char *base, size_t capacity,
		struct error *error)
{
	int ret = base_directory(daemon, base, capacity, error);

	if (!ret)
		ret = sided_session_make_path(base, error);
	return ret || !of_member ? ret : make_searchable(base, error);
}

/*
 * Takes the directory that the user names. A member of the group names a new one: check_output() in
 * verbs.c.
 */
static int take_named(struct daemon *daemon, struct session_entry *entry, bool of_member,
		struct error *error)
{
	const char *path = entry->definition->output;
	char base[1024];
	int ret = of_member ? make_base(daemon, true, base, sizeof(base), error) : 0;

	if (ret)
		return ret;
	entry->output = strdup(path);
	if (!entry->output)
		return error_set_no_memory(error);
	if (of_member)
		ret = make_new(entry, true, path);
	if (!ret)
		return 0;
	free(entry->output);
	entry->output = NULL;
	return fail_directory(error, ret, path);
}

static int sided_session_choose_output(
		struct daemon *daemon, struct session_entry *entry, struct error *error)
{
	bool of_member = session_is_of_member(daemon, entry);
	char base[1024], path[1200], date[32] = "", first[DEFINITION_NAME_MAX + sizeof(date) + 1];
	const char *name = entry->definition->name;
	int ret, i;

	if (entry->definition->output)
		return take_named(daemon, entry, of_member, error);
	ret = make_base(daemon, of_member, base, sizeof(base), error);
	if (ret)
		return ret;
	if (!is_dated(name))
		write_date(date, sizeof(date));
	snprintf(first, sizeof(first), "%s%s", name, date);
	for (i = 0; i < 1000; i++) {
		snprintf(path, sizeof(path), i ? "%s/%s-%d" : "%s/%s", base, first, i + 1);
		ret = make_new(entry, of_member, path);
		if (!ret) {
			entry->output = strdup(path);
			if (entry->output)
				return 0;
			rmdir(path);
			return error_set_no_memory(error);
		}
		if (ret != -EEXIST)
			break;
	}
	return fail_directory(error, ret, path);
}

/* Chooses a directory in memory, because it must outlive the daemon. */
static int sided_session_choose_state_dir(
		struct daemon *daemon, struct session_entry *entry, struct error *error)
{
	static const char *const bases[] = {"/dev/shm", "/tmp"};
	char path[128], whole[256], link[256];
	size_t i;

	for (i = 0; i < sizeof(bases) / sizeof(*bases); i++) {
		snprintf(path, sizeof(path), "%s/side-%u-XXXXXX", bases[i], daemon->uid);
		if (mkdtemp(path))
			break;
	}
	if (i == sizeof(bases) / sizeof(*bases))
		return fail_directory(error, -errno, path);
	snprintf(whole, sizeof(whole), "%s/%s", path, entry->definition->name);
	entry->state_dir = strdup(whole);
	if (!entry->state_dir) {
		rmdir(path);
		return error_set_no_memory(error);
	}
	sided_session_state_dir_link(daemon, entry, link, sizeof(link));
	unlink(link);
	if (symlink(whole, link))
		log_about(daemon, entry->uid, "cannot make the link %s: %s", link, strerror(errno));
	return 0;
}

int session_settle(struct daemon *daemon, struct session_entry *entry, struct error *error)
{
	int ret = 0;

	if (!entry->output)
		ret = sided_session_choose_output(daemon, entry, error);
	if (!ret && !entry->state_dir)
		ret = sided_session_choose_state_dir(daemon, entry, error);
	return ret;
}

struct json_object *session_opening(struct daemon *daemon, struct session_entry *entry)
{
	struct json_object *request = json_object_new_object();
	char socket[WIRE_SESSION_PATH_MAX + 1], lock[256], tables[256];

	session_socket(daemon, entry, socket, sizeof(socket));
	tables_path(daemon, entry, tables, sizeof(tables));
	runtime_path(daemon, lock, sizeof(lock), WIRE_RUNTIME_STATE "/%s.lock",
			entry->definition->name);
	if (json_put_text(request, "verb", "open") &&
			json_put(request, "definition", definition_json(entry->definition)) &&
			json_put_text(request, "socket", socket) &&
			json_put_text(request, "lock", lock) &&
			json_put_text(request, "tables", tables) &&
			json_put_text(request, "output", entry->output) &&
			json_put_text(request, "state-directory", entry->state_dir) &&
			json_put_flag(request, "again", entry->state == SESSION_LIVE) &&
			json_put_flag(request, "active", entry->active) &&
			json_put_flag(request, "boot", entry->boot) &&
			(!session_is_of_member(daemon, entry) ||
					(json_put_number(request, "uid", entry->uid) &&
							json_put_number(request, "gid",
									entry->gid))) &&
			json_put_flag(request, "any-user", daemon->any_user) &&
			json_put_flag(request, "no-files", daemon->system) &&
			json_put_number(request, "generation", entry->generation + 1))
		return request;
	json_object_put(request);
	return NULL;
}

/* ---- state files ---- */

static struct json_object *state_json(const struct session_entry *entry)
{
	struct json_object *state = json_object_new_object();

	if (json_put(state, "definition", definition_json(entry->definition)) &&
			json_put_flag(state, "started", entry->state == SESSION_LIVE) &&
			json_put_flag(state, "active", entry->active) &&
			json_put_number(state, "generation", entry->generation) &&
			json_put_number(state, "uid", entry->uid) &&
			json_put_number(state, "gid", entry->gid) &&
			(!entry->boot || json_put_flag(state, "boot", true)) &&
			(!entry->output || json_put_text(state, "output", entry->output)) &&
			(!entry->state_dir ||
					json_put_text(state, "state-directory", entry->state_dir)))
		return state;
	json_object_put(state);
	return NULL;
}

int state_write(const char *path, const char *text, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600), ret;

	if (fd < 0)
		return -errno;
	ret = io_write_all(fd, text, size);
	if (close(fd) && !ret)
		ret = -errno;
	return ret;
}

/*
 * Writes the state file without fsync(), because each request that changes a session waits for it.
 * After a kill of the daemon, the file has the complete old or new content, because the kernel has
 * both. It need not survive a crash of the machine: the rings do not, and the directory is usually
 * in memory (/run).
 */
void session_save(struct daemon *daemon, struct session_entry *entry)
{
	struct json_object *state = state_json(entry);
	char path[256], temporary[264];
	struct control_text text = {.made = NULL};
	int ret = -ENOMEM;

	state_path(daemon, entry, path, sizeof(path));
	snprintf(temporary, sizeof(temporary), "%s.new", path);
	if (state)
		ret = control_text_print(state, JSON_C_TO_STRING_PRETTY, &text);
	if (!ret)
		ret = state_write(temporary, text.text, text.size);
	if (!ret && rename(temporary, path))
		ret = -errno;
	if (ret)
		log_about(daemon, entry->uid,
				"the session %s would be lost at a restart: cannot write %s: %s",
				entry->definition->name, path, strerror(-ret));
	control_text_free(&text);
	json_object_put(state);
	wanted_publish(daemon);
}

struct json_object *state_read(const char *path, size_t max, struct error *error)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct json_object *state = NULL;
	struct stat status;
	char *text;
	ssize_t size;

	if (fd < 0 || fstat(fd, &status) || !S_ISREG(status.st_mode) ||
			(status.st_uid != geteuid() && status.st_uid != 0) ||
			(size_t)status.st_size > max) {
		error_set_kind(error, ERROR_FAILED, -EINVAL, NULL,
				"it cannot be opened, is not a file of side, or is too large");
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	text = malloc((size_t)status.st_size + 1);
	size = text ? io_read(fd, text, (size_t)status.st_size) : -ENOMEM;
	if (size >= 0)
		state = json_read(text, (size_t)size, error);
	else
		error_set_kind(error, ERROR_FAILED, -EIO, NULL, "it cannot be read");
	free(text);
	close(fd);
	return state;
}

static int take_path(
		struct json_object *state, const char *name, char **ret_path, struct error *error)
{
	const char *text = NULL;
	int ret = json_text(state, name, &text, error);

	if (ret || !text)
		return ret;
	if (*text != '/')
		return error_set_kind(error, ERROR_FAILED, -EINVAL, NULL,
				"\"%s\" is not an absolute path", name);
	*ret_path = strdup(text);
	return *ret_path ? 0 : error_set_no_memory(error);
}

static int restore_entry(
		struct session_entry *entry, struct json_object *state, struct error *error)
{
	uint64_t uid = entry->uid, gid = entry->gid;
	bool started = false;
	int ret = json_flag(state, "started", &started, error);

	if (!ret)
		ret = json_number(state, "uid", UINT32_MAX, &uid, error);
	if (!ret)
		ret = json_number(state, "gid", UINT32_MAX, &gid, error);
	entry->uid = (uid_t)uid;
	entry->gid = (gid_t)gid;

	if (!ret)
		ret = json_flag(state, "active", &entry->active, error);
	if (!ret)
		ret = json_flag(state, "boot", &entry->boot, error);
	if (!ret)
		ret = json_number(state, "generation", INT64_MAX, &entry->generation, error);
	if (!ret)
		ret = take_path(state, "output", &entry->output, error);
	if (!ret)
		ret = take_path(state, "state-directory", &entry->state_dir, error);
	/* A daemon of an earlier release has written "place". */
	if (!ret && !entry->state_dir)
		ret = take_path(state, "place", &entry->state_dir, error);
	if (!ret && started && (!entry->output || !entry->state_dir))
		ret = error_set_kind(error, ERROR_FAILED, -EINVAL, NULL,
				"a started session has no output or state directory");
	entry->state = started ? SESSION_LIVE : SESSION_DEFINED;
	return ret;
}

static int sided_session_restore(
		struct daemon *daemon, const char *name, const char *path, struct error *error)
{
	struct json_object *state = state_read(path, STATE_MAX, error), *json;
	struct definition *definition = NULL;
	struct session_entry *entry = NULL;
	int ret = -EINVAL;

	if (!state)
		return ret;
	if (json_object_object_get_ex(state, "definition", &json))
		ret = definition_parse(json, &definition, error);
	else
		error_set_kind(error, ERROR_FAILED, ret, NULL, "it has no definition");
	if (!ret && strcmp(definition->name, name) != 0)
		ret = error_set_kind(error, ERROR_FAILED, -EINVAL, NULL,
				"it belongs to the session %s", definition->name);
	if (!ret)
		ret = definition_check(definition, error);
	if (!ret)
		ret = session_add(daemon, definition, &entry, error);
	if (ret || !entry) {
		definition_free(definition);
	} else {
		ret = restore_entry(entry, state, error);
		/*
		 * Only the daemon forgets the session. Its file remains, so that the user can
		 * repair it.
		 */
		if (ret) {
			struct session_entry **at = &daemon->sessions;

			while (*at != entry)
				at = &(*at)->next;
			*at = entry->next;
			daemon->nr_sessions--;
			entry_close(daemon, entry);
		} else if (entry->state == SESSION_LIVE) {
			worker_start(daemon, entry);
		}
	}
	json_object_put(state);
	return ret;
}

static void restore_file(struct daemon *daemon, const char *file, const void *user)
{
	size_t size = strlen(file);
	struct error error = {.kind = ERROR_FAILED};
	char path[512], name[256];

	(void)user;
	if (size <= 5 || size >= sizeof(name) || strcmp(file + size - 5, ".json") != 0)
		return;
	snprintf(name, sizeof(name), "%.*s", (int)size - 5, file);
	if (!runtime_path(daemon, path, sizeof(path), WIRE_RUNTIME_STATE "/%s", file) ||
			!definition_is_name(name))
		return;
	if (sided_session_restore(daemon, name, path, &error))
		log_message("the session in %s cannot be restored: %s", path, error.text);
}

/* Calls `check` for each state file. */
static void each_file(struct daemon *daemon,
		void (*check)(struct daemon *daemon, const char *file, const void *user),
		const void *user)
{
	char path[512];
	struct dirent *file;
	DIR *directory;

	runtime_path(daemon, path, sizeof(path), WIRE_RUNTIME_STATE);
	directory = opendir(path);
	if (!directory)
		return;
	while ((file = readdir(directory)))
		check(daemon, file->d_name, user);
	closedir(directory);
}

struct numbered {
	const char *prefix;
	state_restore *take;
};

static void take_numbered(struct daemon *daemon, const char *file, const void *user)
{
	const struct numbered *numbered = user;
	size_t length = strlen(numbered->prefix);
	char path[512], *end = NULL;
	unsigned long number = 0;
	const char *text;

	if (strncmp(file, numbered->prefix, length) != 0 ||
			!runtime_path(daemon, path, sizeof(path), WIRE_RUNTIME_STATE "/%s", file))
		return;
	text = file + length;
	if (*text >= '1' && *text <= '9')
		number = strtoul(text, &end, 10);
	if (number && number <= INT32_MAX && !*end)
		numbered->take(daemon, (uint32_t)number, path);
	else
		unlink(path);
}

void state_each(struct daemon *daemon, const char *prefix, state_restore *take)
{
	const struct numbered numbered = {prefix, take};

	each_file(daemon, take_numbered, &numbered);
}

int sessions_restore(struct daemon *daemon)
{
	each_file(daemon, restore_file, NULL);
	wanted_publish(daemon);
	return 0;
}

/* The sessions remain in their files, for the next daemon. */
void sessions_close(struct daemon *daemon)
{
	while (daemon->sessions) {
		struct session_entry *entry = daemon->sessions;

		daemon->sessions = entry->next;
		entry_close(daemon, entry);
	}
	wanted_close(daemon);
}
