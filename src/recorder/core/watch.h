/* SPDX-License-Identifier: MIT */
#ifndef SIDE_RECORDER_CORE_WATCH_H
#define SIDE_RECORDER_CORE_WATCH_H

/*
 * What epoll returns for a descriptor of the main loop (run.c). The struct of the descriptor's owner contains it.
 *
 * Main thread. No lock.
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
