/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_LEASES_H
#define SIDE_TRACERS_AGENT_CORE_LEASES_H

/*
 * Ring memory that recorders have recalled.
 *
 * Caller: the control thread, when it has received nothing for some seconds. It holds no lock, as
 * the function takes libside's event lock and waits for the calls that are under way. It gives up
 * if the lock is taken.
 */

void agent_leases_check(void);

#endif
