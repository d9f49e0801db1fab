/* SPDX-License-Identifier: MIT */
#ifndef SIDE_TRACERS_AGENT_CORE_WRAPPERS_H
#define SIDE_TRACERS_AGENT_CORE_WRAPPERS_H

/*
 * Wrapper libraries (tracers/wrap/) in a program that was started without them.
 *
 * Callers: attach.c and control-daemon.c, with the turn, without libside's event lock, and where the
 * loader may be called.
 */

/*
 * Makes the program call the wrappers for the session with this path. `text`: "NAME HANDLE PATH",
 * with the handle of dlopen() in base 16. Returns 0, also if the library was preloaded; -ENOENT
 * without such a session; -EINVAL for another text.
 */
int agent_wrappers_add(const char *text);
/*
 * After sessions have ended: makes the program call the real functions again if no session wants
 * the wrappers. Otherwise redirects the imports that were bound meanwhile.
 */
void agent_wrappers_update(void);
/*
 * After an exchange with the daemon: loads the wrappers whose events the rules of its sessions name,
 * and does the same. Programs that the agent was preloaded into arrive here before main().
 */
void agent_wrappers_follow(void);

#endif
