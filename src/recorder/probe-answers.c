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

static bool copy_answer(struct session_probe_answer *answer, const struct instance *instance,
		const struct installed_table *installed)
{
	size_t size = installed->answer.nr_refusals * sizeof(*answer->refusals);

	*answer = installed->answer;
	answer->pid = instance->peer;
	answer->ended = instance->state != INSTANCE_LIVE;
	answer->procname = strdup(instance->procname);
	answer->refusals = malloc(size + 1);
	if (answer->refusals && size)
		memcpy(answer->refusals, installed->answer.refusals, size);
	return answer->procname && answer->refusals;
}

/* Handles messages that programs sent before this call and that are still in sockets. */
static void hear_all(struct session *session)
{
	int turns = 0;

	while (session->service && turns++ < LAST_TURNS && run_turn(session, 0) > 0)
		;
}

int session_probe_answers(
		struct session *session, struct session_probe_answer **answers, size_t *nr)
{
	const struct instance *instance;
	size_t capacity = 0, i;

	*nr = 0;
	hear_all(session);
	for (instance = session->instances.list; instance; instance = instance->next)
		capacity += instance->nr_installed;
	*answers = calloc(capacity + 1, sizeof(**answers));
	if (!*answers)
		return -ENOMEM;
	for (instance = session->instances.list; instance; instance = instance->next) {
		for (i = 0; i < instance->nr_installed; i++) {
			if (copy_answer(&(*answers)[(*nr)++], instance, &instance->installed[i]))
				continue;
			session_probe_answers_free(*answers, *nr);
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
