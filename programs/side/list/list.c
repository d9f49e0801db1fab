/* SPDX-License-Identifier: MIT */
/* The verb `list`: finds the events of files, processes, commands and sessions, and prints them. */
#include "programs/common/ask.h"
#include "programs/common/command.h"
#include "elf/image.h"
#include "elf/libraries.h"
#include "elf/objects.h"
#include "programs/side/processes/descriptions.h"
#include "programs/side/cli/path-search.h"
#include "programs/side/processes/process.h"
#include "programs/side/processes/running.h"
#include "programs/common/message.h"
#include "programs/side/session/trace-of-session.h"
#include "programs/side/session/status.h"
#include "programs/side/processes/unmatched.h"

#include "base/nearest/nearest.h"
#include "recorder/core/session.h"
#include "abi/visit.h"
#include "protocol/runtime.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* One run of the verb. */
struct list {
	struct listing listing;
	const struct list_options *options;
	struct library_search *search;
	struct file_identity {
		dev_t device;
		ino_t inode;
	} * visited;
	size_t nr_visited;
	/*
	 * Libraries that the listed file needs, directly or indirectly, by the requested name, in
	 * the order in which the linker loads them: breadth first, each name once. The path is NULL
	 * if the library was not found.
	 */
	struct needed {
		char *name;
		char *path;
	} * needed;
	size_t nr_needed;
	size_t nr_not_scanned;
};

static int list_print_broken(const char *path, const struct error *error)
{
	return message_error(COMMAND_FAILED,
			error->code == -ENOEXEC
					? "to list what it runs, write `side list -- COMMAND`"
					: NULL,
			"cannot list the events of %s: %s", path, error->text);
}

static int list_print_listing_error(const char *path, int error)
{
	return message_error(COMMAND_FAILED, NULL, "cannot list the events of %s: %s", path,
			error == -E2BIG ? "there are too many, or too many that are not readable"
					: strerror(-error));
}

/* True at the first visit of a file, under any of its names. */
static bool list_visit_first(struct list *list, int fd)
{
	struct file_identity *visited;
	struct stat status;

	if (fstat(fd, &status))
		return true;
	for (size_t i = 0; i < list->nr_visited; i++) {
		if (list->visited[i].device == status.st_dev &&
				list->visited[i].inode == status.st_ino)
			return false;
	}
	visited = reallocarray(list->visited, list->nr_visited + 1, sizeof(*visited));
	if (!visited)
		return true;
	list->visited = visited;
	visited[list->nr_visited++] = (struct file_identity){status.st_dev, status.st_ino};
	return true;
}

static bool list_is_needed(const struct list *list, const char *name)
{
	for (size_t i = 0; i < list->nr_needed; i++) {
		if (!strcmp(list->needed[i].name, name))
			return true;
	}
	return false;
}

/* Records the libraries that a file needs, which are listed after it. */
static int list_add_needed(struct list *list, struct image *image, const char *path)
{
	const char *name;

	errno = 0;
	for (size_t i = 0; image_dynamic_text(image, DT_NEEDED, i, &name); i++, errno = 0) {
		struct needed *needed;

		if (!list->options->libraries) {
			list->nr_not_scanned++;
			continue;
		}
		if (list_is_needed(list, name))
			continue;
		needed = reallocarray(list->needed, list->nr_needed + 1, sizeof(*needed));
		if (!needed)
			return -ENOMEM;
		list->needed = needed;
		needed += list->nr_needed;
		needed->name = strdup(name);
		if (!needed->name)
			return -ENOMEM;
		if (!list->search)
			list->search = library_search_open();
		needed->path = list->search ? library_find(list->search, image, path, name) : NULL;
		list->nr_needed++;
		if (!list->search || library_search_error(list->search))
			return list->search ? library_search_error(list->search) : -ENOMEM;
		if (!needed->path)
			message_note("the library %s, which %s needs, was not found", name, path);
	}
	/* libelf reports a failed allocation or read in the same way as the end of the list. */
	return errno == ENOMEM || errno == EIO ? -errno : 0;
}

static void list_free_needed(struct list *list)
{
	for (size_t i = 0; i < list->nr_needed; i++) {
		free(list->needed[i].name);
		free(list->needed[i].path);
	}
	free(list->needed);
	list->needed = NULL;
	list->nr_needed = 0;
}

static void list_note_without_sections(const char *path)
{
	char hint[PATH_MAX + 64];

	snprintf(hint, sizeof(hint),
			"`side list -- %.4095s` starts it and lists the events that it registers",
			path);
	message_note_hint(hint, "found no events in %s: it has no section headers", path);
}

static int list_read_image(
		struct list *list, const char *path, struct image *image, bool is_library)
{
	const struct listing_memory memory = {
			.memory = {.read = image_read,
					.priv = image,
					.byte_order = image_byte_order(image)},
			.pointer_size = image_pointer_size(image),
	};
	size_t count, nr_found;
	int error = 0;

	image_tables(image, &count);
	image_found(image, &nr_found);
	if (!count && !nr_found && !is_library && !image_has_sections(image))
		list_note_without_sections(path);
	if (count || nr_found) {
		error = listing_source(&list->listing, path);
		if (!error)
			error = listing_add_tables(&list->listing, image, &memory, 0);
	}
	if (!error)
		error = list_add_needed(list, image, path);
	return error ? list_print_listing_error(path, error) : COMMAND_DONE;
}

/* State of objects_read() for one file, which may be an archive with several members. */
struct file_walk {
	struct list *list;
	const char *path;
	bool is_library;
	int status;
};

/*
 * Returns "lib.a(member.o)", the notation of ld(1), or `path` if there is no member. The caller
 * frees it. NULL: out of memory.
 */
static char *list_member_path(const char *path, const char *member)
{
	char *text = NULL;

	if (!member)
		return strdup(path);
	return asprintf(&text, "%s(%s)", path, member) < 0 ? NULL : text;
}

static int list_walk_image(void *opaque, struct image *image, const char *member)
{
	struct file_walk *walk = opaque;
	char *path = list_member_path(walk->path, member);
	int status = path ? list_read_image(walk->list, path, image, walk->is_library)
			  : list_print_listing_error(walk->path, -ENOMEM);

	free(path);
	walk->status = status > walk->status ? status : walk->status;
	return 0;
}

static int list_walk_broken(void *opaque, const struct error *error, const char *member)
{
	struct file_walk *walk = opaque;
	char *path = list_member_path(walk->path, member);

	walk->status = list_print_broken(path ? path : walk->path, error);
	free(path);
	return 0;
}

static int list_read_file(struct list *list, const char *path, bool is_library)
{
	struct file_walk walk = {.list = list, .path = path, .is_library = is_library};
	const struct objects_ops ops = {list_walk_image, list_walk_broken, &walk};
	struct stat file;
	int fd;

	/* Without O_NONBLOCK, opening a FIFO waits for a writer. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return message_error(errno == EACCES ? COMMAND_NOT_PERMITTED : COMMAND_FAILED,
				errno == EACCES ? "permission to read the file is needed" : NULL,
				"cannot list the events of %s: %s", path, strerror(errno));
	if (!fstat(fd, &file) && !S_ISREG(file.st_mode)) {
		walk.status = message_error(COMMAND_FAILED, NULL,
				"cannot list the events of %s: it is %s", path,
				S_ISDIR(file.st_mode) ? "a directory" : "not a file");
	} else if (list_visit_first(list, fd)) {
		objects_read(fd, path, &ops);
	}
	close(fd);
	return walk.status;
}

static int list_file_and_libraries(struct list *list, const char *path)
{
	int worst = list_read_file(list, path, false);

	/* list_read_file() adds more during the loop. */
	for (size_t i = 0; i < list->nr_needed; i++) {
		if (list->needed[i].path) {
			int status = list_read_file(list, list->needed[i].path, true);

			worst = status > worst ? status : worst;
		}
	}
	list_free_needed(list);
	return worst;
}

/* ---- a command ---- */

/* The collected descriptions belong to the session, which must outlive the listing. */
static int list_collect_session(struct list *list, struct session *session, const char *command)
{
	size_t count = session_nr_events(session, 0);
	int error = listing_source(&list->listing, command);

	for (size_t i = 0; i < count && !error; i++)
		error = listing_add(&list->listing, session_event(session, 0, i), NULL,
				LISTING_UNKNOWN, NULL);
	return error ? list_print_listing_error(command, error) : COMMAND_DONE;
}

static int list_command(struct list *list, char **command, struct session **ret_session)
{
	const struct session_options options = {
			.mode = SESSION_LIST,
			.wrappers = list->options->wrappers.items,
			.nr_wrappers = list->options->wrappers.count,
	};
	struct error error;
	const struct session_summary *summary;
	int status = COMMAND_DONE, collected;

	if (session_create(&options, ret_session, &error) ||
			session_spawn(*ret_session, command, &error) ||
			session_run(*ret_session, &error))
		return message_error(command_session_status(error.kind), NULL, "%s", error.text);
	summary = session_summary(*ret_session);
	for (size_t i = 0; i < summary->nr_messages; i++) {
		if (summary->messages[i].is_error)
			status = message_error(COMMAND_FAILED, summary->messages[i].hint, "%s",
					summary->messages[i].text);
		else
			message_note_hint(
					summary->messages[i].hint, "%s", summary->messages[i].text);
	}
	if (!summary->nr_processes)
		return message_error(COMMAND_FAILED,
				"give its file to list the events in it, as in `side list ./FILE`",
				"cannot list the events of %s: it does not load preloaded libraries (it is linked statically, or gains privileges when it starts)",
				command[0]);
	/* The events registered before the signal are listed nevertheless. */
	if (WIFSIGNALED(summary->status))
		status = message_error(COMMAND_FAILED, NULL,
				"%s was killed by signal %d (%s) before its main function",
				command[0], WTERMSIG(summary->status),
				strsignal(WTERMSIG(summary->status)));
	collected = list_collect_session(list, *ret_session, command[0]);
	return status ? status : collected;
}

/* ---- the verb ---- */

static bool list_is_number(const char *text)
{
	return *text && strspn(text, "0123456789") == strlen(text);
}

static int list_process(struct list *list, const char *text)
{
	unsigned long pid;

	errno = 0;
	pid = strtoul(text, NULL, 10);
	if (errno || pid > INT_MAX || !pid)
		return message_error(COMMAND_FAILED, "`ps -e` lists those that are running",
				"cannot list the events of process %s: there is no such process",
				text);
	return process_list(&list->listing, (pid_t)pid, false);
}

/*
 * Prints a note about programs without a recorder, such as those that started before the daemon:
 * nothing can record them yet.
 */
static void list_print_unreached(const pid_t *pids, size_t count)
{
	char name[RUNNING_NAME_MAX], hint[64];
	size_t unreached = 0;
	pid_t first = 0;

	for (size_t i = 0; i < count; i++) {
		if (running_has_recorder(pids[i]))
			continue;
		first = unreached++ ? first : pids[i];
	}
	if (!unreached)
		return;
	running_name(first, name);
	if (unreached == 1) {
		snprintf(hint, sizeof(hint), "`side attach -p %d` adds it", (int)first);
		message_note_hint(hint, "%s (process %d) has no agent", name, (int)first);
	} else {
		message_note_hint("`side attach -p PID` adds it",
				"%s (process %d) and %zu more have no agent", name, (int)first,
				unreached - 1);
	}
}

/*
 * Lists all programs that use libside. A program that exits meanwhile is no failure, and an
 * unreadable one does not end the list.
 */
static int list_read_process(struct list *list)
{
	size_t count = 0;
	pid_t *pids;
	int worst = COMMAND_DONE, found = running_find(&pids, &count);

	if (found)
		worst = message_search_error(found);
	if (!worst && !count)
		message_note("no running program that you may inspect uses libside");
	for (size_t i = 0; i < count; i++) {
		int status;

		list->listing.pid = pids[i];
		status = process_list(&list->listing, pids[i], true);
		worst = status > worst ? status : worst;
	}
	list->listing.pid = 0;
	list_print_unreached(pids, count);
	free(pids);
	return worst;
}

/*
 * Prints the session of that name, or all sessions. *ret_known is false if the daemon does not run
 * or has no such session.
 */
static int list_sessions(const struct parsed *parsed, const char *name, bool *ret_known)
{
	bool color = !parsed->common.json && output_has_color(stdout, parsed->common.color);
	struct json_object *request, *answer = NULL;
	struct error error = {.kind = ERROR_NONE};
	char kept[512], shown[1024];
	struct ask ask;
	int status = COMMAND_DONE;

	*ret_known = !name;
	if (ask_connect_silently(&ask, parsed->options.list.system, &error)) {
		if (name)
			return COMMAND_DONE;
		/* A daemon that runs but cannot be reached may have sessions. */
		if (error.kind != ERROR_NOT_FOUND)
			return message_library_error(&error);
		if (ask_kept_sessions(parsed->options.list.system, kept, sizeof(kept)))
			message_note_hint("`side daemon` starts it",
					"no daemon runs; its sessions are saved (%s), and continue when it starts",
					format_printable(kept, shown, sizeof(shown)));
		else
			message_note_hint("`side create` starts one",
					"there are no sessions: no daemon runs");
		return COMMAND_DONE;
	}
	request = name ? control_request("status", name) : NULL;
	if (request)
		*ret_known = !control_call(ask.client, request, ASK_TIMEOUT_MS, &answer, &error);
	json_object_put(request);
	json_object_put(answer);
	if (*ret_known)
		status = status_show(&ask, name, parsed->common.json, color);
	ask_close(&ask);
	return status;
}

static bool list_is_file(const char *path)
{
	struct stat status;

	return strchr(path, '/') || !stat(path, &status);
}

static void list_offer_files(struct nearest *nearest)
{
	DIR *directory = opendir(".");
	const struct dirent *entry;

	while (directory && (entry = readdir(directory)))
		nearest_offer(nearest, entry->d_name);
	if (directory)
		closedir(directory);
}

static int list_print_unknown(const struct parsed *parsed, const char *operand)
{
	char suggestion[NEAREST_TEXT_SIZE];
	struct nearest nearest;

	nearest_begin(&nearest, operand);
	list_offer_files(&nearest);
	session_offer_names(&nearest, parsed->options.list.system);
	return message_error(COMMAND_NOT_FOUND,
			nearest_text(&nearest, "", suggestion, sizeof(suggestion))
					? suggestion
					: "`side list -u` lists the events of running programs",
			"cannot list %.256s: there is no file, session or command of that name",
			operand);
}

static int list_operands(
		struct list *list, const struct parsed *parsed, struct session **ret_session)
{
	int worst = COMMAND_DONE;

	if (parsed->dashes && !parsed->operand_count)
		return message_error(COMMAND_USAGE, "write `side list -- COMMAND`",
				"missing operand: a program, file, process or session to list");
	if (parsed->dashes)
		return list_command(list, parsed->operands, ret_session);
	if (list->options->userspace)
		worst = list_read_process(list);
	for (size_t i = 0; i < list->options->pids.count; i++) {
		int status = list_process(list, list->options->pids.items[i]);

		worst = status > worst ? status : worst;
	}
	for (int i = 0; i < parsed->operand_count; i++) {
		const char *operand = parsed->operands[i];
		int status;

		if (list_is_number(operand))
			status = list_process(list, operand);
		else if (list_is_file(operand))
			status = list_file_and_libraries(list, operand);
		else if (parsed->operand_count == 1)
			return path_has_program(operand)
					? list_command(list, parsed->operands, ret_session)
					: list_print_unknown(parsed, operand);
		else
			status = message_error(COMMAND_USAGE,
					"write `--` before a command that has arguments",
					"there is no file `%s`", operand);
		if (status > worst)
			worst = status;
	}
	return worst;
}

/*
 * Prints the first pattern that matches no event, the existing events, and the nearest name as a
 * hint.
 */
static void list_print_unmatched(const struct list *list)
{
	const struct listing *listing = &list->listing;
	const char *pattern = list->options->patterns.items[0], *path = listing->sources[0].path;
	const char *slash = strrchr(path, '/');
	char reason[UNMATCHED_TEXT_SIZE], hint[UNMATCHED_TEXT_SIZE], owner[256];

	unmatched_explain(
			&(const struct unmatched){.pattern = pattern,
					.option = "-e ",
					.names = (const char *const *)listing->others,
					.nr_names = listing->nr_others,
					.owner = listing->nr_sources > 1
							? "the list"
							: format_printable(slash ? slash + 1 : path,
									  owner, sizeof(owner)),
					.noun = "event"},
			reason, hint);
	message_note_hint(hint, "no event matched `-e %s`: %s", pattern, reason);
}

static void list_print_nothing(const struct list *list)
{
	if (list->listing.nr_seen && list->options->patterns.count)
		list_print_unmatched(list);
	else if (list->nr_not_scanned)
		message_note_hint("`--libraries` includes the libraries that it needs",
				"the file has no events");
	else
		message_note("found no events");
}

/*
 * Handles a command line without operands, or with the name of a session. *ret_known is true if
 * that was all.
 */
static int list_known(const struct parsed *parsed, bool *ret_known)
{
	const char *operand = parsed->operands[0];
	int status;

	*ret_known = false;
	if (parsed->dashes || parsed->options.list.userspace || parsed->options.list.pids.count ||
			parsed->operand_count > 1)
		return COMMAND_DONE;
	if (operand &&
			(list_is_number(operand) || list_is_file(operand) ||
					!wire_session_name_valid(operand)))
		return COMMAND_DONE;
	status = list_sessions(parsed, operand, ret_known);
	return status || !*ret_known ? status : output_flush(stdout);
}

int cmd_list(const struct parsed *parsed)
{
	const struct list_options *options = &parsed->options.list;
	struct list list = {.options = options};
	struct session *session = NULL;
	struct pattern *patterns;
	bool known;
	enum listing_form form = parsed->common.json ? LISTING_JSON
			: options->names             ? LISTING_NAMES
						     : LISTING_TEXT;
	int status, error;

	if (options->kernel)
		return command_list_kernel(parsed);
	status = list_known(parsed, &known);
	if (!known)
		status = command_select(&options->patterns, &patterns);
	if (known || status)
		return status;
	list.listing.patterns = patterns;
	list.listing.nr_patterns = options->patterns.count;
	status = list_operands(&list, parsed, &session);
	listing_sort(&list.listing);
	error = listing_print(&list.listing, stdout, form,
			!parsed->common.json && output_has_color(stdout, parsed->common.color));
	if (error && !status)
		status = list_print_listing_error("this", error);
	if (!list.listing.nr_events && !status && !list.listing.nr_failures)
		list_print_nothing(&list);
	if (!status && list.listing.nr_failures)
		status = COMMAND_FAILED;
	error = output_flush(stdout);
	listing_free(&list.listing);
	library_search_close(list.search);
	free(list.visited);
	free(patterns);
	session_destroy(session);
	return status ? status : error;
}
