/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_MAPPINGS_H
#define SIDE_TRACERS_AGENT_CORE_MAPPINGS_H

/*
 * Where the executable and its libraries are mapped, now and since the last check; changes become
 * events (library-events.h).
 *
 * Hold libside's event lock, or be the only thread of a forked child, except in
 * agent_bases_start(). Nothing here asks the loader.
 */

struct base_library;

/* Calls `each` for every library that is mapped now. 0 or -ENOMEM. */
int base_each(void (*each)(void *user, const struct base_library *library), void *user);

/* In the constructor, before agent_prepare(): register the events. */
void agent_bases_start(void);
/* Emit an event for each library that was mapped or unmapped since the last call. */
void agent_bases_changed(void);
/* Emit events for all libraries to the sessions that have no such records yet. */
void agent_bases_dump(void);
/* In a forked child: emit them to all sessions. */
void agent_bases_forked(void);

#endif
