/* SPDX-License-Identifier: MIT */
/* Finds the functions of the preloaded agent that side-uprobes and side-kernel call. */
#include "replay.h"

#include <dlfcn.h>
#include <string.h>

#define AGENT "libside-agent.so"

static void *agent_find_symbol(const char *name)
{
	void *agent = dlopen(AGENT, RTLD_LAZY | RTLD_NOLOAD);
	void *symbol = agent ? dlsym(agent, name) : NULL;

	if (agent)
		(void)dlclose(agent);
	return symbol;
}

agent_replay_fn *agent_find_replay(void)
{
	void *symbol = agent_find_symbol("side_agent_replay");
	agent_replay_fn *replay;

	memcpy(&replay, &symbol, sizeof(symbol));
	return replay;
}

agent_lost_fn *agent_find_lost(void)
{
	void *symbol = agent_find_symbol("side_agent_lost");
	agent_lost_fn *lost;

	memcpy(&lost, &symbol, sizeof(symbol));
	return lost;
}

void agent_notify_changes(void (*notify)(bool after))
{
	void *symbol = agent_find_symbol("side_agent_on_change");
	void (*ask)(void (*notify)(bool after));

	memcpy(&ask, &symbol, sizeof(symbol));
	if (ask)
		ask(notify);
}
