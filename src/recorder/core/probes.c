/* SPDX-License-Identifier: MIT */
/*
 * Stores the session's probe tables, selects the programs that get them, and stores what programs
 * report about them. Main thread only. The recorder passes a table on as a descriptor; only the
 * program reads it.
 *
 * A probe can read all memory of its process. So no user may probe a process that the kernel would
 * not let this user trace: neither with a session of the user's own, nor with one of root's that
 * has probes for this user.
 *
 * A process is selected by its id and start time, so that a later process with the same id is not
 * selected. A forked child is in the family of its parent, because its memory contains the probes.
 * Programs report their executable file themselves: a program that reports a wrong one affects
 * probes only in itself.
 */
#include "recorder/core/probes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "protocol/protocol.h"
#include "recorder/core/access.h"
#include "recorder/core/instance.h"
#include "recorder/core/report.h"
#include "recorder/core/session.h"
#include "recorder/session-state.h"

/* ---- the session's tables ---- */

static void session_tables_free(struct session_tables *tables)
{
	size_t i;

	for (i = 0; i < tables->nr; i++) {
		if (tables->list[i].fd >= 0)
			close(tables->list[i].fd);
		if (tables->list[i].others >= 0)
			close(tables->list[i].others);
		free(tables->list[i].target.exe);
	}
	free(tables->list);
	*tables = (struct session_tables){.list = NULL};
}

static int record_probes_copy_table(
		int table, int *ret_taken, uint64_t *ret_size, struct error *error)
{
	struct stat status;

	*ret_taken = fcntl(table, F_DUPFD_CLOEXEC, 0);
	if (*ret_taken < 0)
		return error_set_kind(error, ERROR_FAILED, -errno, NULL,
				"cannot use a probe table: %s", strerror(errno));
	if (fstat(*ret_taken, &status))
		return error_set_kind(error, ERROR_FAILED, -errno, NULL,
				"cannot read a probe table: %s", strerror(errno));
	if (status.st_size <= 0)
		return error_set_kind(
				error, ERROR_USAGE, -EINVAL, NULL, "the probe table is empty");
	*ret_size = (uint64_t)status.st_size;
	return 0;
}

static int session_tables_append(struct session_tables *tables,
		const struct session_table *requested, struct error *error)
{
	struct session_table *table = &tables->list[tables->nr];
	int ret;

	if (!requested->number || (requested->target.pid && requested->target.exe))
		return error_set_kind(error, ERROR_USAGE, -EINVAL, NULL,
				"a probe has no number, or names both a process and a file");
	*table = *requested;
	table->fd = table->others = -1;
	table->target.exe = requested->target.exe ? strdup(requested->target.exe) : NULL;
	if (!requested->target.of_user) {
		table->target.of_user = geteuid() != 0;
		table->target.access = (struct access){.uid = geteuid(),
				.has_gid = true,
				.gid = getegid(),
				.capabilities = access_own_capabilities()};
	}
	tables->nr++;
	ret = record_probes_copy_table(requested->fd, &table->fd, &table->size, error);
	if (!ret && requested->has_others)
		ret = record_probes_copy_table(
				requested->others, &table->others, &table->size_of_others, error);
	if (ret)
		return ret;
	return requested->target.exe && !table->target.exe ? error_set_no_memory(error) : 0;
}

static int session_tables_take(struct session_tables *ret_tables,
		const struct session_table *requested, size_t nr, struct error *error)
{
	size_t i;
	int ret = 0;

	*ret_tables = (struct session_tables){.set = true};
	if (nr > SESSION_PROBES_MAX)
		return error_set_kind(error, ERROR_USAGE, -E2BIG, NULL,
				"there are more than %d tables of probes", SESSION_PROBES_MAX);
	ret_tables->list = calloc(nr + 1, sizeof(*ret_tables->list));
	if (!ret_tables->list)
		return error_set_no_memory(error);
	for (i = 0; i < nr && !ret; i++)
		ret = session_tables_append(ret_tables, &requested[i], error);
	if (ret)
		session_tables_free(ret_tables);
	return ret;
}

int probes_take(struct session *session, const struct session_options *options, struct error *error)
{
	return session_tables_take(&session->tables, options->probes, options->nr_probes, error);
}

int probes_add(struct session *session, const struct session_table *tables, size_t nr,
		struct error *error)
{
	struct session_tables *used = &session->tables;
	struct session_table *list;
	int ret = 0;

	if (nr > SESSION_PROBES_MAX - used->nr)
		return error_set_kind(error, ERROR_FAILED, -E2BIG, NULL,
				"there are more than %d tables of probes", SESSION_PROBES_MAX);
	list = realloc(used->list, (used->nr + nr + 1) * sizeof(*list));
	if (!list)
		return error_set_no_memory(error);
	used->list = list;
	for (size_t i = 0; i < nr && !ret; i++)
		ret = session_tables_append(used, &tables[i], error);
	return ret;
}

int session_set_probes(struct session *session, const struct session_table *tables, size_t nr,
		struct error *error)
{
	struct session_tables next;
	int ret;

	error_clear(error);
	ret = session_tables_take(&next, tables, nr, error);
	if (ret)
		return ret;
	session_tables_free(&session->next_tables);
	session->next_tables = next;
	return 0;
}

void probes_change(struct session *session, bool holds)
{
	if (!session->next_tables.set)
		return;
	if (holds) {
		struct session_tables former = session->tables;

		session->tables = session->next_tables;
		session->next_tables = former;
	}
	session_tables_free(&session->next_tables);
}

void probes_free(struct session *session)
{
	session_tables_free(&session->tables);
	session_tables_free(&session->next_tables);
}

/* ---- selection ---- */

/*
 * Returns the start time of the instance's process. Returns 0 if the process has exited, or on an
 * error, which it reports.
 */
static uint64_t record_probes_process_start_time(
		struct session *session, const struct instance *instance)
{
	uint64_t ticks = session_process_start(instance->peer);

	if (!ticks && errno != ENOENT && errno != ESRCH)
		report_instance(session, instance, true,
				"cannot read the start time of process %d, so it gets no probes: %s",
				(int)instance->peer, strerror(errno));
	return ticks;
}

void probes_inherit(
		struct session *session, struct instance *instance, const struct instance *parent)
{
	size_t i;

	if (!parent)
		return;
	if (parent->family) {
		instance->family = parent->family;
		instance->family_started = parent->family_started;
		return;
	}
	for (i = 0; i < session->tables.nr && !instance->family; i++)
		if (session->tables.list[i].target.pid == (uint32_t)parent->peer)
			instance->family = (uint32_t)parent->peer;
	if (instance->family)
		instance->family_started = record_probes_process_start_time(session, parent);
}

/* As above, but reads the start time only once. */
static uint64_t started(struct session *session, struct instance *instance)
{
	if (!instance->started)
		instance->started = record_probes_process_start_time(session, instance);
	return instance->started;
}

/*
 * Checks the user at the connection, and what the kernel would let this user do with the process
 * now. If the process has exited meanwhile, the answer may be about another one with its id, so the
 * result is false.
 */
static bool is_users(const struct instance *instance, const struct access *access)
{
	return instance->uid == access->uid && access_is_allowed(access, instance->peer) &&
			!instance_has_exited(instance);
}

static bool record_probes_table_is_relevant(struct session *session, struct instance *instance,
		const struct session_table *table)
{
	const struct table_target *target = &table->target;

	if (target->of_user && !is_users(instance, &target->access))
		return false;
	if (target->exe)
		return instance->exe && !strcmp(instance->exe, target->exe);
	if (!target->pid)
		return true;
	if (target->pid == (uint32_t)instance->peer)
		return target->started == started(session, instance);
	return target->pid == instance->family && target->started == instance->family_started;
}

bool probes_has_exe(const struct session *session, const struct instance *instance)
{
	size_t i;

	for (i = 0; i < session->tables.nr; i++)
		if (session->tables.list[i].target.exe &&
				!strcmp(session->tables.list[i].target.exe, instance->exe))
			return true;
	return false;
}

/* ---- installed tables ---- */

static struct installed_table *record_probes_find_installed(
		struct instance *instance, uint64_t number)
{
	size_t i;

	for (i = 0; i < instance->nr_installed; i++)
		if (instance->installed[i].answer.number == number)
			return &instance->installed[i];
	return NULL;
}

void probes_forget(struct instance *instance)
{
	size_t i;

	for (i = 0; i < instance->nr_installed; i++)
		free(instance->installed[i].answer.refusals);
	free(instance->installed);
	instance->installed = NULL;
	instance->nr_installed = 0;
}

/* Replaces the list of installed tables. Answers about tables that stay are kept. */
static bool record_probes_set_installed(
		struct instance *instance, struct session_table *const *tables, size_t nr)
{
	struct installed_table *installed = calloc(nr + 1, sizeof(*installed));
	size_t i;

	if (!installed)
		return false;
	for (i = 0; i < nr; i++) {
		struct installed_table *former =
				record_probes_find_installed(instance, tables[i]->number);

		if (former) {
			installed[i] = *former;
			former->answer.refusals = NULL;
		}
		installed[i].answer.number = tables[i]->number;
		if (instance->takes_probes)
			continue;
		installed[i].answer.answered = true;
		installed[i].answer.error = EOPNOTSUPP;
	}
	probes_forget(instance);
	instance->installed = installed;
	instance->nr_installed = nr;
	return true;
}

int probes_choose(struct session *session, struct instance *instance,
		struct session_table **ret_tables)
{
	size_t nr = 0, i;

	for (i = 0; i < session->tables.nr; i++)
		if (record_probes_table_is_relevant(session, instance, &session->tables.list[i]))
			ret_tables[nr++] = &session->tables.list[i];
	if (!record_probes_set_installed(instance, ret_tables, nr))
		return -ENOMEM;
	return instance->takes_probes ? (int)nr : 0;
}

bool probes_select(struct session *session, struct instance *instance)
{
	for (size_t i = 0; i < session->tables.nr; i++)
		if (record_probes_table_is_relevant(session, instance, &session->tables.list[i]))
			return true;
	return false;
}

/* A forked child does not use a table that it gets when it joins, and has not reported it. */
static bool record_probes_is_in_use(struct instance *instance, const struct session_table *table)
{
	const struct installed_table *installed =
			record_probes_find_installed(instance, table->number);

	return installed && (installed->answer.answered || !instance->is_forked);
}

bool probes_are_new(struct session *session, struct instance *instance)
{
	for (size_t i = 0; i < session->tables.nr; i++)
		if (!record_probes_is_in_use(instance, &session->tables.list[i]) &&
				record_probes_table_is_relevant(
						session, instance, &session->tables.list[i]))
			return true;
	return false;
}

/* ---- reports of programs ---- */

static void begin_answer(struct installed_table *installed, const struct wire_probed *probed)
{
	struct session_probe_answer *answer = &installed->answer;

	*answer = (struct session_probe_answer){
			.number = answer->number,
			.answered = answer->answered,
			.was_set = answer->was_set,
			.error = probed->error,
			.locations = probed->nr_probes,
			.cut = probed->cut,
			.lost = probed->lost,
			.unseen = probed->unseen,
			.abandoned = probed->abandoned,
			.traps = probed->traps,
			.code_bytes = probed->code_bytes,
			.refusals = answer->refusals,
	};
	installed->sequence = 0;
	installed->next = 0;
}

/* Stores a refusal. Refusals beyond the capacity are only counted. */
static void record_probes_add_refusal(
		struct session_probe_answer *answer, const struct wire_probe_run *run)
{
	if (!answer->refusals)
		answer->refusals = calloc(SESSION_PROBE_REFUSALS, sizeof(*answer->refusals));
	if (!answer->refusals || answer->nr_refusals == SESSION_PROBE_REFUSALS)
		return;
	answer->refusals[answer->nr_refusals++] = (struct session_probe_refusal){
			.first = run->first, .count = run->count, .error = run->error};
}

static bool record_probes_is_set(uint32_t state)
{
	return (state >= WIRE_PROBE_JUMP && state <= WIRE_PROBE_BREAKPOINT) ||
			state == WIRE_PROBE_UPROBE;
}

/* The decoder has checked that the runs of a message are consecutive and within the table. */
int probes_hear(struct instance *instance, const struct wire_probed *probed)
{
	struct installed_table *installed = record_probes_find_installed(instance, probed->table);
	uint32_t i;

	/* The session has removed this table meanwhile. */
	if (!installed)
		return 0;
	if (!probed->sequence)
		begin_answer(installed, probed);
	if (probed->sequence != installed->sequence ||
			probed->nr_probes != installed->answer.locations)
		return -EPROTO;
	installed->sequence++;
	for (i = 0; i < probed->nr_runs; i++) {
		struct wire_probe_run run = wire_probed_at(probed, i);

		if (run.first != installed->next)
			return -EPROTO;
		installed->next = run.first + run.count;
		installed->answer.states[run.state] += run.count;
		installed->answer.was_set |= record_probes_is_set(run.state);
		if (run.state == WIRE_PROBE_REFUSED)
			record_probes_add_refusal(&installed->answer, &run);
	}
	if (probed->last && installed->next != installed->answer.locations)
		return -EPROTO;
	installed->answer.answered |= probed->last;
	return 0;
}
