/* SPDX-License-Identifier: MIT */
/*
 * Probes in the session process. The definition names the tables, the daemon has stored them in
 * files (tables.c), and programs get each as a sealed memfd. A probe whose table does not exist is
 * not set, and its state reports this.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io.h"
#include "recorder/core/live.h"
#include "recorder/core/probes.h"
#include "sessions/definition-probe.h"
#include "sessions/definition-probe-json.h"
#include "sided.h"

#define SEALS (F_SEAL_SEAL | F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK)

/* The probes of one definition. `list` contains those with a table. */
struct probe_set {
	struct definition *definition;
	struct session_table *list;
	size_t nr;
};

struct probes {
	char *tables;
	struct probe_set now, next;
};

static void set_free(struct probe_set *set)
{
	size_t i;

	for (i = 0; i < set->nr; i++)
		close(set->list[i].fd);
	free(set->list);
	definition_free(set->definition);
	*set = (struct probe_set){.list = NULL};
}

/* ---- tables ---- */

struct table_file {
	char path[512];
	int fd;
};

static void *session_probes_open_table(void *user)
{
	struct table_file *file = user;

	file->fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	return NULL;
}

/*
 * Only the daemon and the session process write there, and a table file is complete or does not
 * exist.
 */
static int session_probes_read_table(const char *directory, uint32_t number)
{
	struct table_file opened = {.fd = -1};
	struct stat status;
	int file, table = -1;

	snprintf(opened.path, sizeof(opened.path), "%s/%u", directory, number);
	session_probes_open_table(&opened);
	/* In a session of a member of the group, only root may enter the daemon's directory. */
	if (opened.fd < 0 && errno == EACCES)
		isolate_as_root(session_probes_open_table, &opened);
	file = opened.fd;
	if (file < 0)
		return -1;
	if (!fstat(file, &status) && S_ISREG(status.st_mode) &&
			status.st_size <= DEFINITION_PROBE_TABLE_MAX)
		table = memfd_create("side-probes", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (table >= 0 &&
			(io_copy(file, table, (uint64_t)status.st_size) ||
					fcntl(table, F_ADD_SEALS, SEALS))) {
		close(table);
		table = -1;
	}
	close(file);
	return table;
}

/* A table that is loaded already is reused. */
static int get_table(const struct probes *probes, uint32_t number)
{
	size_t i;

	for (i = 0; i < probes->now.nr; i++)
		if (probes->now.list[i].number == number)
			return fcntl(probes->now.list[i].fd, F_DUPFD_CLOEXEC, 0);
	return session_probes_read_table(probes->tables, number);
}

/* ---- definitions ---- */

static int set_make(const struct probes *probes, const struct definition *definition,
		struct probe_set *set, struct error *error)
{
	size_t i;
	int ret;

	*set = (struct probe_set){.list = NULL};
	ret = definition_copy(definition, &set->definition, error);
	if (ret || !set->definition)
		return ret;
	definition = set->definition;
	set->list = calloc(definition->nr_probes + 1, sizeof(*set->list));
	if (!set->list) {
		set_free(set);
		return error_set_no_memory(error);
	}
	for (i = 0; i < definition->nr_probes; i++) {
		const struct definition_probe *probe = &definition->probes[i];
		int table = probe->table ? get_table(probes, probe->table) : -1;

		if (table >= 0)
			set->list[set->nr++] = (struct session_table){.number = probe->table,
					.fd = table,
					.target = probe->target};
	}
	return 0;
}

int probes_open(const char *tables, const struct definition *definition, struct probes **ret_probes,
		struct error *error)
{
	struct probes *probes = calloc(1, sizeof(*probes));
	int ret;

	*ret_probes = probes;
	if (probes)
		probes->tables = strdup(tables);
	if (!probes || !probes->tables)
		return error_set_no_memory(error);
	ret = set_make(probes, definition, &probes->now, error);
	return ret;
}

void probes_close(struct probes *probes)
{
	if (!probes)
		return;
	set_free(&probes->now);
	set_free(&probes->next);
	free(probes->tables);
	free(probes);
}

const struct session_table *probes_list(const struct probes *probes, size_t *ret_nr)
{
	*ret_nr = probes->now.nr;
	return probes->now.list;
}

int probes_prepare(struct probes *probes, struct session *session,
		const struct definition *definition, struct error *error)
{
	int ret;

	set_free(&probes->next);
	ret = set_make(probes, definition, &probes->next, error);
	return ret ? ret : session_set_probes(session, probes->next.list, probes->next.nr, error);
}

void probes_settle(struct probes *probes, bool changed)
{
	if (changed) {
		struct probe_set former = probes->now;

		probes->now = probes->next;
		probes->next = former;
	}
	set_free(&probes->next);
}

/* ---- status ---- */

bool probes_any(const struct probes *probes)
{
	return probes->now.definition && probes->now.definition->nr_probes;
}

bool probes_may_name(const struct probes *probes, const char *path)
{
	const struct definition *definition = probes ? probes->now.definition : NULL;

	for (size_t i = 0; definition && i < definition->nr_probes; i++) {
		const struct definition_probe *probe = &definition->probes[i];

		if (path ? definition_probe_may_name(probe, path) : probe->library != NULL)
			return true;
	}
	return false;
}

/* Methods of probes that are set, in the order of enum wire_probe_state. */
static const char *const method_names[WIRE_NR_PROBE_STATES] = {
		[WIRE_PROBE_JUMP] = "jump",
		[WIRE_PROBE_PADDING] = "padding",
		[WIRE_PROBE_SHORT] = "short",
		[WIRE_PROBE_PUNNED] = "punned",
		[WIRE_PROBE_BREAKPOINT] = "breakpoint",
		[WIRE_PROBE_UPROBE] = "uprobe",
};

static bool session_probes_put_locations(
		struct json_object *program, const struct session_probe_answer *answer)
{
	struct json_object *methods = json_object_new_object();
	bool fits = methods;
	uint64_t set = 0;
	size_t i;

	for (i = WIRE_PROBE_JUMP; i < WIRE_NR_PROBE_STATES && fits; i++) {
		if (!method_names[i])
			continue;
		set += answer->states[i];
		if (answer->states[i])
			fits = json_put_number(methods, method_names[i], answer->states[i]);
	}
	return json_put(program, "methods", methods) && fits &&
			json_put_number(program, "locations", answer->locations) &&
			/* The former name, until the next release. */
			json_put_number(program, "places", answer->locations) &&
			json_put_number(program, "set", set) &&
			json_put_number(program, "absent", answer->states[WIRE_PROBE_ABSENT]) &&
			json_put_number(program, "resting", answer->states[WIRE_PROBE_RESTS]) &&
			json_put_number(program, "refused", answer->states[WIRE_PROBE_REFUSED]);
}

/* Takes ownership of the element. */
static bool session_probes_append_item(
		struct json_object *list, struct json_object *element, bool whole)
{
	if (whole && list && !json_object_array_add(list, element))
		return true;
	json_object_put(element);
	return false;
}

static bool put_refusals(struct json_object *program, const struct session_probe_answer *answer)
{
	struct json_object *list = json_object_new_array();
	bool fits = list;
	uint32_t i;

	for (i = 0; i < answer->nr_refusals && fits; i++) {
		const struct session_probe_refusal *refusal = &answer->refusals[i];
		struct json_object *object = json_object_new_object();

		fits = session_probes_append_item(list, object,
				json_put_number(object, "first", refusal->first) &&
						json_put_number(object, "count", refusal->count) &&
						json_put_text(object, "why",
								wire_probe_error_text(
										refusal->error)));
	}
	return json_put(program, "refusals", list) && fits;
}

static bool put_counts(struct json_object *program, const struct session_probe_answer *answer)
{
	return json_put_number(program, "cut", answer->cut) &&
			json_put_number(program, "lost", answer->lost) &&
			json_put_number(program, "unseen", answer->unseen) &&
			json_put_number(program, "abandoned", answer->abandoned) &&
			json_put_number(program, "traps", answer->traps) &&
			json_put_number(program, "code-bytes", answer->code_bytes);
}

static bool put_program(struct json_object *list, const struct session_probe_answer *answer)
{
	struct json_object *program = json_object_new_object();

	return session_probes_append_item(list, program,
			json_put_number(program, "pid", (uint64_t)answer->pid) &&
					json_put_text(program, "name", answer->procname) &&
					json_put_flag(program, "answered", answer->answered) &&
					(!answer->error ||
							json_put_text(program, "why",
									wire_probe_error_text(
											answer->error))) &&
					session_probes_put_locations(program, answer) &&
					put_counts(program, answer) &&
					put_refusals(program, answer));
}

/* The reports of programs that the session has now. */
struct probe_answers {
	struct session_probe_answer *answers;
	size_t nr;
	bool active;
};

static const char *session_probes_state(const struct probe_set *set,
		const struct definition_probe *probe, const struct probe_answers *probe_answers)
{
	bool has_table = false;
	size_t i;

	for (i = 0; i < set->nr; i++)
		has_table |= set->list[i].number == probe->table;
	if (!has_table)
		return probe->target.exe && !probe->table ? "pending" : "no table";
	if (probe->is_unloaded && !definition_probe_is_loaded(set->definition, probe, NULL))
		return "pending";
	if (!probe_answers->active)
		return "stopped";
	for (i = 0; i < probe_answers->nr; i++)
		if (probe_answers->answers[i].number == probe->table &&
				probe_answers->answers[i].answered &&
				!probe_answers->answers[i].error)
			return "set";
	return "waiting";
}

static bool session_probes_add(struct json_object *list, const struct probe_set *set,
		const struct definition_probe *probe, const struct probe_answers *probe_answers)
{
	struct json_object *object = definition_probe_json(probe);
	struct json_object *programs = json_object_new_array();
	bool fits = object && programs;
	size_t i;

	for (i = 0; i < probe_answers->nr && fits; i++)
		if (probe->table && probe_answers->answers[i].number == probe->table &&
				!probe_answers->answers[i].ended)
			fits = put_program(programs, &probe_answers->answers[i]);
	fits = json_put_text(object, "state", session_probes_state(set, probe, probe_answers)) &&
			fits;
	fits = json_put(object, "programs", programs) && fits;
	return session_probes_append_item(list, object, fits);
}

struct json_object *probes_json(
		const struct probes *probes, struct session *session, uint32_t number)
{
	const struct definition *definition = probes->now.definition;
	struct json_object *list = json_object_new_array();
	struct probe_answers probe_answers = {.active = session_is_active(session)};
	bool fits = list;
	size_t i;

	if (session_probe_answers(session, &probe_answers.answers, &probe_answers.nr)) {
		json_object_put(list);
		return NULL;
	}
	for (i = 0; definition && i < definition->nr_probes && fits; i++)
		if (!number || definition->probes[i].table == number)
			fits = session_probes_add(
					list, &probes->now, &definition->probes[i], &probe_answers);
	session_probe_answers_free(probe_answers.answers, probe_answers.nr);
	if (fits)
		return list;
	json_object_put(list);
	return NULL;
}
