/* SPDX-License-Identifier: MIT */
/*
 * Resolves the probes of a session when a program executes a file for which they have no table: the
 * file did not exist when the user requested them, was changed since, or has another path (a hard
 * link).
 *
 * Only side-more can read debug information. The daemon starts it for the user of the probe, with
 * that user's rights, and delays the program until it has ended. It resolves the specs, and replaces
 * the pending probes by an ordinary request. A failure is remembered until the file or the session
 * changes: otherwise each start of the program would repeat it.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sessions/client.h"
#include "sessions/definition-probe.h"
#include "sessions/file-identity.h"
#include "sided.h"

struct resolution {
	struct sided_object object;
	struct resolution *next;
	struct sided_watch watch; /* the pidfd of side-more; fd -1: it has ended and failed */
	struct timer timer;
	int output;                  /* memfd with the messages of side-more; -1: none */
	struct session_entry *entry; /* a reference */
	char *exe;
	uint64_t generation;           /* of the session at the start */
	char file[FILE_IDENTITY_SIZE]; /* the executed file, or the library; "": not known */
	/* Of a library, whose path is `exe`; 0: of a file that was executed. */
	pid_t pid;                 /* that loads it */
	uint64_t serial;           /* of the report */
	uint64_t probes;           /* those that were looked for */
	uint64_t ended_ns;         /* when side-more has ended */
	char why[ERROR_TEXT_SIZE]; /* "": it has not failed */
};

static void pending_destroy(struct daemon *daemon, struct sided_object *object)
{
	struct resolution *resolution = container_of(object, struct resolution, object);

	ref_set(daemon, resolution->entry, NULL);
	free(resolution->exe);
	free(resolution);
}

static void pending_remove(struct daemon *daemon, struct resolution *resolution)
{
	struct resolution **at = &daemon->resolutions;

	while (*at != resolution)
		at = &(*at)->next;
	*at = resolution->next;
	daemon->nr_resolutions -= !resolution->pid;
	daemon->nr_loaded -= resolution->pid != 0;
	loop_cancel(daemon, &resolution->timer);
	if (resolution->watch.fd >= 0) {
		syscall(SYS_pidfd_send_signal, resolution->watch.fd, SIGKILL, NULL, 0);
		loop_unwatch(daemon, &resolution->watch);
	}
	if (resolution->output >= 0)
		close(resolution->output);
	object_close(daemon, &resolution->object);
}

void pending_close(struct daemon *daemon)
{
	while (daemon->resolutions)
		pending_remove(daemon, daemon->resolutions);
}

/* ---- the probes ---- */

/*
 * Returns a probe of the session that needs a table for this file, or NULL. Root can have probes in
 * the session of a member of the group: then returns one of the member, whose specs root must not
 * resolve.
 */
static const struct definition_probe *pending_find(
		const struct session_entry *entry, const char *exe, const char *file)
{
	const struct definition_probe *found = NULL;

	for (size_t i = 0; !entry->object.is_closed && i < entry->definition->nr_probes; i++) {
		const struct definition_probe *probe = &entry->definition->probes[i];

		if ((!found || probe->target.of_user) &&
				definition_probe_is_missing(entry->definition, i, exe, file))
			found = probe;
	}
	return found;
}

static struct resolution *pending_find_resolution(
		const struct daemon *daemon, const struct session_entry *entry, const char *exe)
{
	struct resolution *resolution = daemon->resolutions;

	while (resolution &&
			(resolution->entry != entry || resolution->pid ||
					strcmp(resolution->exe, exe) != 0))
		resolution = resolution->next;
	return resolution;
}

static bool pending_is_same_inode(const struct statx *one, const struct statx *other)
{
	return one->stx_dev_major == other->stx_dev_major &&
			one->stx_dev_minor == other->stx_dev_minor &&
			one->stx_ino == other->stx_ino;
}

/*
 * Programs report their path themselves, so the daemon compares it with the link in /proc. The link
 * is a path below the program's root directory. Follows no other link: the file can be on a file
 * system of another user, which need not answer.
 */
static bool pending_executes(const struct sided_program *program, char ret_file[FILE_IDENTITY_SIZE])
{
	char link[64], path[PATH_MAX];
	struct statx own, root;
	ssize_t size;

	snprintf(link, sizeof(link), "/proc/%d/root", (int)program->pid);
	if (statx(AT_FDCWD, "/", AT_STATX_DONT_SYNC, STATX_INO, &own) ||
			statx(AT_FDCWD, link, AT_STATX_DONT_SYNC, STATX_INO, &root) ||
			!pending_is_same_inode(&own, &root))
		return false;
	snprintf(link, sizeof(link), "/proc/%d/exe", (int)program->pid);
	size = readlink(link, path, sizeof(path) - 1);
	path[size > 0 ? size : 0] = '\0';
	return !strcmp(path, program->exe) && file_identity_of_process(program->pid, ret_file);
}

/* ---- side-more ---- */

/* A user keeps the group that permits the connection to the daemon. */
static bool pending_become(const struct daemon *daemon, const struct access *access)
{
	gid_t group = daemon->group;

	return access->has_gid && !setgroups(group != (gid_t)-1, &group) &&
			!setresgid(access->gid, access->gid, access->gid) &&
			!setresuid(access->uid, access->uid, access->uid);
}

void sided_execute_more(char **args)
{
	static const char *const paths[] = {
			"side-more", "../side/side-more", SIDE_LIBEXEC "/side-more"};
	char own[PATH_MAX], path[PATH_MAX + 128];
	ssize_t size = readlink("/proc/self/exe", own, sizeof(own) - 1);

	own[size > 0 ? size : 0] = '\0';
	if (strrchr(own, '/'))
		strrchr(own, '/')[1] = '\0';
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		snprintf(path, sizeof(path), "%s%s", *paths[i] == '/' ? "" : own, paths[i]);
		execv(path, args);
	}
}

__attribute__((noreturn)) static void pending_execute(const struct daemon *daemon,
		const struct resolution *resolution, const struct definition_probe *probe)
{
	char pid[16];
	char *args[] = {(char[]){CONTROL_SET_PENDING}, (char[]){"enable-event"}, (char[]){"-s"},
			resolution->entry->definition->name, (char[]){"--exe"}, resolution->exe,
			(char[]){"--pid"}, pid, (char[]){"*"},
			daemon->system ? (char[]){"--system"} : NULL, NULL};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	(void)snprintf(pid, sizeof(pid), "%d", (int)resolution->pid);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
			dup2(resolution->output, STDERR_FILENO) < 0 ||
			(probe->target.of_user && daemon->system &&
					!pending_become(daemon, &probe->target.access)))
		_exit(EXIT_FAILURE);
	sided_execute_more(args);
	dprintf(STDERR_FILENO, "cannot execute side-more: %s", strerror(errno));
	_exit(EXIT_FAILURE);
}

/*
 * Reads the first message of side-more, as one line without the name of the program. For a library,
 * there is none if it has no probes.
 */
static void pending_read_output(struct resolution *resolution)
{
	static const char prefix[] = "side: ";
	char text[ERROR_TEXT_SIZE];
	const char *begin = text;
	ssize_t size = pread(resolution->output, text, sizeof(text) - 1, 0);

	text[size > 0 ? size : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (!strncmp(begin, prefix, sizeof(prefix) - 1))
		begin += sizeof(prefix) - 1;
	snprintf(resolution->why, sizeof(resolution->why), "%s",
			*begin || resolution->pid ? begin
						  : "the process that reads the file has ended");
}

static void pending_load_ended(struct daemon *daemon, struct resolution *resolution)
{
	pending_read_output(resolution);
	close(resolution->output);
	resolution->output = -1;
	resolution->ended_ns = loop_now();
	worker_continue_load(daemon, resolution->entry, resolution->serial);
}

static void pending_ended(struct daemon *daemon, struct sided_watch *watch, uint32_t events)
{
	struct resolution *resolution = container_of(watch, struct resolution, watch);
	struct session_entry *entry = resolution->entry;

	(void)events;
	loop_cancel(daemon, &resolution->timer);
	loop_unwatch(daemon, &resolution->watch);
	if (resolution->pid) {
		pending_load_ended(daemon, resolution);
		return;
	}
	/* After a change, another process tries again: the rest can be probes of another user. */
	if (entry->generation != resolution->generation ||
			!pending_find(entry, resolution->exe, resolution->file)) {
		pending_remove(daemon, resolution);
	} else {
		pending_read_output(resolution);
		close(resolution->output);
		resolution->output = -1;
		log_about(daemon, entry->uid, "cannot set the probes of %s in session %s: %s",
				resolution->exe, entry->definition->name, resolution->why);
	}
	agents_continue(daemon);
}

static void pending_late(struct daemon *daemon, struct timer *timer)
{
	struct resolution *resolution = container_of(timer, struct resolution, timer);

	(void)daemon;
	/* Its pidfd reports the end. */
	syscall(SYS_pidfd_send_signal, resolution->watch.fd, SIGKILL, NULL, 0);
}

static int pending_spawn(struct daemon *daemon, struct resolution *resolution,
		const struct definition_probe *probe)
{
	pid_t parent = getpid(), child;
	int process;

	resolution->output = memfd_create("side-messages", MFD_CLOEXEC);
	if (resolution->output < 0)
		return -errno;
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(EXIT_FAILURE);
		pending_execute(daemon, resolution, probe);
	}
	if (child < 0)
		return -errno;
	/* Nothing has reaped it yet, so the process id is still its own. */
	process = (int)syscall(SYS_pidfd_open, child, 0);
	if (process >= 0 &&
			!loop_watch(daemon, &resolution->watch, process, EPOLLIN, pending_ended)) {
		loop_timer(daemon, &resolution->timer, LIMIT_RESOLVE_MS, pending_late);
		return 0;
	}
	kill(child, SIGKILL);
	if (process >= 0)
		close(process);
	return -EMFILE;
}

/* ---- programs ---- */

/* Makes space for another one. Returns false if all of them run. `pid`: as in struct resolution. */
static bool pending_make_space(struct daemon *daemon, pid_t pid)
{
	struct resolution *resolution, *ended = NULL;

	if (pid ? daemon->nr_loaded < LIMIT_LOADED : daemon->nr_resolutions < LIMIT_RESOLUTIONS)
		return true;
	for (resolution = daemon->resolutions; resolution; resolution = resolution->next)
		if (resolution->watch.fd < 0 && !resolution->pid == !pid)
			ended = resolution;
	if (ended)
		pending_remove(daemon, ended);
	return ended;
}

/* Returns NULL if there is no space, or if out of memory. `pid`: as in struct resolution. */
static struct resolution *pending_add(struct daemon *daemon, struct session_entry *entry,
		const char *exe, const char *file, pid_t pid)
{
	struct resolution *resolution = NULL;

	if (pending_make_space(daemon, pid))
		resolution = calloc(1, sizeof(*resolution));
	if (!resolution)
		return NULL;
	object_init(&resolution->object, pending_destroy);
	resolution->watch = (struct sided_watch){.fd = -1, .owner = &resolution->object};
	resolution->timer.owner = &resolution->object;
	resolution->output = -1;
	resolution->exe = strdup(exe);
	snprintf(resolution->file, sizeof(resolution->file), "%s", file);
	resolution->generation = entry->generation;
	resolution->pid = pid;
	ref_set(daemon, resolution->entry, entry);
	resolution->next = daemon->resolutions;
	daemon->resolutions = resolution;
	daemon->nr_resolutions += !pid;
	daemon->nr_loaded += pid != 0;
	if (resolution->exe)
		return resolution;
	pending_remove(daemon, resolution);
	return NULL;
}

/* Returns true if side-more runs. Otherwise removes the resolution; it may be NULL. */
static bool pending_run(struct daemon *daemon, struct resolution *resolution,
		const struct definition_probe *probe)
{
	int ret = resolution ? pending_spawn(daemon, resolution, probe) : -ENOMEM;

	if (!resolution || !ret)
		return !ret;
	log_about(daemon, resolution->entry->uid, "cannot set the probes of %s in session %s: %s",
			resolution->exe, resolution->entry->definition->name, strerror(-ret));
	pending_remove(daemon, resolution);
	return false;
}

/* Returns true if the program must wait for the probes of this session. */
static bool pending_begin_session(struct daemon *daemon, struct session_entry *entry,
		const struct sided_program *program, const char *file)
{
	const struct definition_probe *probe;
	struct resolution *resolution;

	if (!session_is_present(entry) || !entry->active ||
			!is_in_scope(session_scope(daemon, entry), program->uid))
		return false;
	probe = pending_find(entry, program->exe, file);
	if (!probe)
		return false;
	resolution = pending_find_resolution(daemon, entry, program->exe);
	if (resolution && resolution->watch.fd >= 0)
		return true;
	if (resolution && resolution->generation == entry->generation &&
			!strcmp(resolution->file, file))
		return false;
	if (resolution)
		pending_remove(daemon, resolution);
	resolution = pending_add(daemon, entry, program->exe, file, 0);
	return pending_run(daemon, resolution, probe);
}

/* Most sessions have no such probe: then the process is not inspected. */
static bool pending_has_files(const struct daemon *daemon)
{
	const struct session_entry *entry;

	for (entry = daemon->sessions; entry; entry = entry->next)
		for (size_t i = 0; i < entry->definition->nr_probes; i++)
			if (entry->definition->probes[i].target.exe)
				return true;
	return false;
}

bool pending_begin(struct daemon *daemon, const struct sided_program *program)
{
	char file[FILE_IDENTITY_SIZE];
	bool waits = false;

	if (!program->exe || !pending_has_files(daemon) || !pending_executes(program, file))
		return false;
	for (struct session_entry *entry = daemon->sessions; entry; entry = entry->next)
		waits |= pending_begin_session(daemon, entry, program, file);
	return waits;
}

bool pending_delays(const struct daemon *daemon, const struct sided_program *program)
{
	const struct resolution *resolution = daemon->resolutions;

	/* A probe that has its table by now is not pending, even if side-more still runs. */
	while (resolution && program->exe &&
			(resolution->watch.fd < 0 || resolution->pid ||
					strcmp(resolution->exe, program->exe) != 0 ||
					!pending_find(resolution->entry, program->exe,
							resolution->file)))
		resolution = resolution->next;
	return resolution && program->exe;
}

/* ---- libraries ---- */

/* As pending_find(), for a library. Identifies the probes by a number. */
static const struct definition_probe *pending_find_load(
		const struct session_entry *entry, const char *path, uint64_t *ret_probes)
{
	const struct definition_probe *found = NULL;

	*ret_probes = 0;
	for (size_t i = 0; !entry->object.is_closed && i < entry->definition->nr_probes; i++) {
		const struct definition_probe *probe = &entry->definition->probes[i];

		if (!definition_probe_may_name(probe, path))
			continue;
		/* The number of a table is not used twice. */
		*ret_probes = *ret_probes * 1000003 + probe->table;
		if (!found || probe->target.of_user)
			found = probe;
	}
	return found;
}

/*
 * The file of a library, if the daemon may inspect it. The system's daemon must not wait for the
 * file system of another user.
 */
static void pending_identify(
		const struct daemon *daemon, const char *path, char ret_file[FILE_IDENTITY_SIZE])
{
	*ret_file = '\0';
	if (!daemon->system)
		(void)file_identity_of_path(path, ret_file);
}

/* True if side-more has read the library for these probes before. */
static bool pending_has_read(struct daemon *daemon, const struct session_entry *entry,
		const char *path, const char *file, uint64_t probes)
{
	const uint64_t now = loop_now();

	for (const struct resolution *resolution = daemon->resolutions; resolution;
			resolution = resolution->next) {
		if (!resolution->pid || resolution->watch.fd >= 0 || resolution->entry != entry ||
				resolution->probes != probes ||
				strcmp(resolution->exe, path) != 0 ||
				strcmp(resolution->file, file) != 0)
			continue;
		if (*file || now - resolution->ended_ns < LIMIT_LOADED_MS * UINT64_C(1000000))
			return true;
	}
	return false;
}

/* A later result for the path replaces an earlier one. */
static void pending_forget_load(
		struct daemon *daemon, const struct session_entry *entry, const char *path)
{
	struct resolution *resolution = daemon->resolutions, *next;

	for (; resolution; resolution = next) {
		next = resolution->next;
		if (resolution->pid && resolution->watch.fd < 0 && resolution->entry == entry &&
				!strcmp(resolution->exe, path))
			pending_remove(daemon, resolution);
	}
}

/* Returns true if side-more runs. */
static bool pending_start_load(struct daemon *daemon, struct session_entry *entry, pid_t pid,
		const char *path, uint64_t serial)
{
	const struct definition_probe *probe;
	struct resolution *resolution;
	char file[FILE_IDENTITY_SIZE];
	uint64_t probes;

	probe = pending_find_load(entry, path, &probes);
	if (!probe || pid <= 0)
		return false;
	pending_identify(daemon, path, file);
	if (pending_has_read(daemon, entry, path, file, probes))
		return false;
	pending_forget_load(daemon, entry, path);
	resolution = pending_add(daemon, entry, path, file, pid);
	if (resolution) {
		resolution->serial = serial;
		resolution->probes = probes;
	}
	return pending_run(daemon, resolution, probe);
}

void pending_begin_load(
		struct daemon *daemon, struct session_entry *entry, struct json_object *report)
{
	const char *path = "";
	uint64_t pid = 0, serial = 0;
	struct error error;

	/* The session process reports paths of programs, and has checked that they begin with "/". */
	if (json_number(report, "serial", UINT64_MAX, &serial, &error))
		return;
	if (json_text(report, "loaded", &path, &error) || !path || *path != '/' ||
			json_number(report, "pid", INT32_MAX, &pid, &error) ||
			!pending_start_load(daemon, entry, (pid_t)pid, path, serial))
		worker_continue_load(daemon, entry, serial);
}

/* ---- status ---- */

const char *pending_load_failure(const struct daemon *daemon, const struct session_entry *entry,
		const struct definition_probe *probe)
{
	const struct resolution *resolution = daemon->resolutions;

	while (resolution &&
			(!resolution->pid || resolution->watch.fd >= 0 || !*resolution->why ||
					resolution->entry != entry ||
					!definition_probe_may_name(probe, resolution->exe)))
		resolution = resolution->next;
	return resolution ? resolution->why : NULL;
}

const char *pending_failure(
		const struct daemon *daemon, const struct session_entry *entry, const char *exe)
{
	const struct resolution *resolution = pending_find_resolution(daemon, entry, exe);

	return resolution && resolution->watch.fd < 0 ? resolution->why : NULL;
}
