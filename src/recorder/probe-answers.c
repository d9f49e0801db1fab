/* SPDX-License-Identifier: MIT */
/* Returns what all programs have reported about their probe tables (core/probes.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/core/instance.h"
#include "recorder/core/probes.h"
#include "recorder/run-turn.h"
#include "recorder/session-state.h"

/* Turns to handle reports that were sent before the call. */
#define LAST_TURNS 64

static bool copy_answer(struct session_probe_answer *ret_answer, const struct instance *instance,
		const struct installed_table *installed)
{
	size_t size = installed->answer.nr_refusals * sizeof(*ret_answer->refusals);

	*ret_answer = installed->answer;
	ret_answer->pid = instance->peer;
	ret_answer->ended = instance->state != INSTANCE_LIVE;
	ret_answer->procname = strdup(instance->procname);
	ret_answer->refusals = malloc(size + 1);
	if (ret_answer->refusals && size)
		memcpy(ret_answer->refusals, installed->answer.refusals, size);
	return ret_answer->procname && ret_answer->refusals;
}

/* Handles messages that programs sent before this call and that are still in sockets. */
static void hear_all(struct session *session)
{
	int turns = 0;

	while (session->service && turns++ < LAST_TURNS && run_turn(session, 0) > 0)
		;
}

int session_probe_answers(
		struct session *session, struct session_probe_answer **ret_answers, size_t *ret_nr)
{
	const struct instance *instance;
	size_t capacity = 0, i;

	*ret_nr = 0;
	hear_all(session);
	for (instance = session->instances.list; instance; instance = instance->next)
		capacity += instance->nr_installed;
	*ret_answers = calloc(capacity + 1, sizeof(**ret_answers));
	if (!*ret_answers)
		return -ENOMEM;
	for (instance = session->instances.list; instance; instance = instance->next) {
		for (i = 0; i < instance->nr_installed; i++) {
			if (copy_answer(&(*ret_answers)[(*ret_nr)++], instance,
					    &instance->installed[i]))
				continue;
			session_probe_answers_free(*ret_answers, *ret_nr);
			return -ENOMEM;
		}
	}
	return 0;
}

void session_probe_answers_free(struct session_probe_answer *answers, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		free(answers[i].procname);
		free(answers[i].refusals);
	}
	free(answers);
}
