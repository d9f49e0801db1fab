/* SPDX-License-Identifier: MIT */
/*
 * Probe tables: which there are, whom they are given to, and what programs say of them. All of it is the
 * main thread's. A table is a descriptor here and nothing more: nobody but the program reads it.
 *
 * A probe reads whatever memory its process has, so nobody gets one into a process that is not his: neither
 * by a session of his own, nor by one of root's in which he may have probes.
 *
 * A process is meant by its number and begin, so that nobody who gets the number later is; a child by
 * fork is of its parent's family, because it has the probes in its memory. Programs say themselves what
 * file they run: one that lies gets, or misses, probes in itself.
 */
#include "recorder/core/probes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "protocol/protocol.h"
#include "recorder/core/access.h"
#include "recorder/core/instance.h"
#include "recorder/core/probe-tables.h"
#include "recorder/core/report.h"
#include "recorder/core/session.h"
#include "recorder/session-state.h"

/* ---- those that there are ---- */

static void session_tables_free(struct session_tables *tables)
{
	size_t i;

	for (i = 0; i < tables->nr; i++) {
		if (tables->list[i].fd >= 0)
			close(tables->list[i].fd);
		if (tables->list[i].others >= 0)
			close(tables->list[i].others);
		free(tables->list[i].exe);
	}
	free(tables->list);
	*tables = (struct session_tables){.list = NULL};
}

static int record_probes_copy_table(
		int table, int *taken, uint64_t *size, struct session_error *error)
{
	struct stat status;

	*taken = fcntl(table, F_DUPFD_CLOEXEC, 0);
	if (*taken < 0)
		return session_fail(error, SESSION_ERROR_FAILED, errno,
				"a probe table cannot be taken: %s", strerror(errno));
	if (fstat(*taken, &status))
		return session_fail(error, SESSION_ERROR_FAILED, errno,
				"a probe table cannot be read: %s", strerror(errno));
	if (status.st_size <= 0)
		return session_fail(error, SESSION_ERROR_USAGE, EINVAL, "the probe table is empty");
	*size = (uint64_t)status.st_size;
	return 0;
}

static int session_tables_append(struct session_tables *tables, const struct session_probe *probe,
		struct session_error *error)
{
	struct session_table *table = &tables->list[tables->nr];
	int ret;

	if (!probe->number || (probe->pid && probe->exe))
		return session_fail(error, SESSION_ERROR_USAGE, EINVAL,
				"a probe has no number, or is for a process and a file");
	*table = (struct session_table){
			.number = probe->number,
			.fd = -1,
			.others = -1,
			.pid = probe->pid,
			.started = probe->started,
			.of_user = probe->of_user || geteuid() != 0,
			.access = probe->of_user
					? (struct access){.uid = probe->uid,
							  .has_gid = probe->has_gid,
							  .gid = probe->gid}
					: (struct access){.uid = geteuid(),
							  .has_gid = true,
							  .gid = getegid(),
							  .capabilities = access_own_capabilities()},
	};
	table->exe = probe->exe ? strdup(probe->exe) : NULL;
	tables->nr++;
	ret = record_probes_copy_table(probe->table, &table->fd, &table->size, error);
	if (!ret && probe->has_others)
		ret = record_probes_copy_table(
				probe->others, &table->others, &table->size_of_others, error);
	if (ret)
		return ret;
	return probe->exe && !table->exe
			? session_fail(error, SESSION_ERROR_FAILED, ENOMEM, "out of memory")
			: 0;
}

static int session_tables_take(struct session_tables *tables, const struct session_probe *probes,
		size_t nr, struct session_error *error)
{
	size_t i;
	int ret = 0;

	*tables = (struct session_tables){.set = true};
	if (nr > SESSION_PROBES_MAX)
		return session_fail(error, SESSION_ERROR_USAGE, E2BIG,
				"there are more than %d tables of probes", SESSION_PROBES_MAX);
	tables->list = calloc(nr + 1, sizeof(*tables->list));
	if (!tables->list)
		return session_fail(error, SESSION_ERROR_FAILED, ENOMEM, "out of memory");
	for (i = 0; i < nr && !ret; i++)
		ret = session_tables_append(tables, &probes[i], error);
	if (ret)
		session_tables_free(tables);
	return ret;
}

int probes_take(struct session *session, const struct session_options *options,
		struct session_error *error)
{
	return session_tables_take(&session->tables, options->probes, options->nr_probes, error);
}

int session_set_probes(struct session *session, const struct session_probe *probes, size_t nr,
		struct session_error *error)
{
	struct session_tables next;
	int ret;

	*error = (struct session_error){.kind = SESSION_ERROR_NONE};
	ret = session_tables_take(&next, probes, nr, error);
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

/* ---- who is meant ---- */

/* When the process of an instance began; 0: it has ended, or a report tells why this is not known. */
static uint64_t record_probes_process_start_time(
		struct session *session, const struct instance *instance)
{
	uint64_t ticks = session_process_start(instance->peer);

	if (!ticks && errno != ENOENT && errno != ESRCH)
		report_instance(session, instance, true,
				"cannot read when process %d began, so it may not take its probes: %s",
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
		if (session->tables.list[i].pid == (uint32_t)parent->peer)
			instance->family = (uint32_t)parent->peer;
	if (instance->family)
		instance->family_started = record_probes_process_start_time(session, parent);
}

/* When its process began is asked of the system once. */
static uint64_t started(struct session *session, struct instance *instance)
{
	if (!instance->started)
		instance->started = record_probes_process_start_time(session, instance);
	return instance->started;
}

/*
 * Checks its user at the connection, and what the kernel lets this user do with it now. If the process has exited, the answer was about
 * another one with its id.
 */
static bool is_users(const struct instance *instance, const struct access *access)
{
	return instance->uid == access->uid && access_is_allowed(access, instance->peer) &&
			!instance_has_exited(instance);
}

static bool record_probes_table_is_relevant(struct session *session, struct instance *instance,
		const struct session_table *table)
{
	if (table->of_user && !is_users(instance, &table->access))
		return false;
	if (table->exe)
		return instance->exe && !strcmp(instance->exe, table->exe);
	if (!table->pid)
		return true;
	if (table->pid == (uint32_t)instance->peer)
		return table->started == started(session, instance);
	return table->pid == instance->family && table->started == instance->family_started;
}

bool probes_has_exe(const struct session *session, const struct instance *instance)
{
	size_t i;

	for (i = 0; i < session->tables.nr; i++)
		if (session->tables.list[i].exe &&
				!strcmp(session->tables.list[i].exe, instance->exe))
			return true;
	return false;
}

/* ---- what they have been given ---- */

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

/* What it said of those that it keeps holds on. */
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

int probes_choose(struct session *session, struct instance *instance, struct session_table **tables)
{
	size_t nr = 0, i;

	for (i = 0; i < session->tables.nr; i++)
		if (record_probes_table_is_relevant(session, instance, &session->tables.list[i]))
			tables[nr++] = &session->tables.list[i];
	if (!record_probes_set_installed(instance, tables, nr))
		return -ENOMEM;
	return instance->takes_probes ? (int)nr : 0;
}

/* ---- what they say ---- */

static void begin_answer(struct installed_table *installed, const struct wire_probed *probed)
{
	struct session_probe_answer *answer = &installed->answer;

	*answer = (struct session_probe_answer){
			.number = answer->number,
			.answered = answer->answered,
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

/* Those that find no room are counted all the same. */
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

/* The runs of a message lie behind each other and within the table: the decoder has seen to that. */
int probes_hear(struct instance *instance, const struct wire_probed *probed)
{
	struct installed_table *installed = record_probes_find_installed(instance, probed->table);
	uint32_t i;

	/* One that was taken back meanwhile. */
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
		if (run.state == WIRE_PROBE_REFUSED)
			record_probes_add_refusal(&installed->answer, &run);
	}
	if (probed->last && installed->next != installed->answer.locations)
		return -EPROTO;
	installed->answer.answered |= probed->last;
	return 0;
}
