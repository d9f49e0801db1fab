/* SPDX-License-Identifier: MIT */
/* Reports the programs of `side run` that cannot be recorded. */
#ifndef PROGRAMS_SIDE_RECORD_RUN_REPORTS_H
#define PROGRAMS_SIDE_RECORD_RUN_REPORTS_H

#define RUN_REPORTS_PATH_SIZE 108 /* of a socket's name, with the NUL */

/*
 * Starts a process that prints these reports until this process ends, also after an exec(). It is
 * not a child of this process, and no signal of the terminal reaches it. Writes the path of its socket
 * to `ret_socket`. `command` has been reported already; NULL: none. Returns 0 or a negative errno.
 */
int run_reports_start(const char *command, char ret_socket[RUN_REPORTS_PATH_SIZE]);

#endif /* PROGRAMS_SIDE_RECORD_RUN_REPORTS_H */
