/* SPDX-License-Identifier: MIT */
#ifndef PROGRAMS_SIDE_ATTACH_EXEC_WATCH_H
#define PROGRAMS_SIDE_ATTACH_EXEC_WATCH_H

/*
 * The process that the daemon starts as EXEC_WATCH_NAME, with a method (sessions/exec-watch.h).
 * Returns its exit status.
 */
int exec_watch_run(const char *method);

#endif /* PROGRAMS_SIDE_ATTACH_EXEC_WATCH_H */
