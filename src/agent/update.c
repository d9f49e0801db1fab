/* SPDX-License-Identifier: MIT */
/* Sessions that come, change and go while the program runs. */
#include <errno.h>

#include "agent/agent.h"

int agent_prepare(void)
{
	return 0;
}

int agent_sessions_update(
		const struct agent_wanted *wanted, uint32_t nr, bool may_wait, uint64_t *grace)
{
	(void)wanted;
	(void)may_wait;
	*grace = 0;
	return nr ? -ENOSYS : 0;
}
