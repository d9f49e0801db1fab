/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_WATCH_H
#define SIDE_RECORDER_CORE_WATCH_H

/*
 * The struct to which epoll returns a pointer for each descriptor of the main loop (run.c). The
 * struct that owns the descriptor contains it.
 *
 * Main thread only, so no lock is needed.
 */

enum watch_kind {
	WATCH_LISTENER,
	WATCH_SIGNALS,
	WATCH_COMMAND,
	WATCH_CONNECTION,
	WATCH_PEER,
	WATCH_INSTANCE
};

struct recorder_watch {
	enum watch_kind kind;
	int fd;
};

#endif
