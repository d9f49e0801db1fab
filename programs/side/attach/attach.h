/* SPDX-License-Identifier: MIT */
/* State of one `attach` or `detach`, private to attach*.c. */
#ifndef PROGRAMS_SIDE_ATTACH_ATTACH_H
#define PROGRAMS_SIDE_ATTACH_ATTACH_H

#include "programs/side/record/printing.h"

#include "sessions/rendezvous.h"
#include "attach/inject.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct attach_options;
struct attach_recording;
struct parsed;
struct session;

/*
 * The directory of a socket that the program can reach: in its root directory, or none and an
 * abstract socket in its network namespace.
 */
struct attach_dir {
	int parent, own;    /* descriptors of the parent directory and of our directory, or -1 */
	char directory[64]; /* its name in the parent */
	char ours[RENDEZVOUS_PATH_SIZE],
			theirs[RENDEZVOUS_PATH_SIZE]; /* paths of the socket; "@..." is abstract */
	int network; /* without a directory: the program's network namespace, or -1 */
};

#define ATTACH_WRAPPERS 2 /* that exist: libc, pthread */

struct attached {
	const struct parsed *parsed;
	const struct attach_options *options;
	pid_t pid;
	char name[64];
	char *agent, *libside;
	/* The wrapper libraries of a recording, which the program loads with the agent. */
	struct inject_library wrappers[ATTACH_WRAPPERS];
	char *wrapper_paths[ATTACH_WRAPPERS], *wrapper_after;
	size_t nr_wrappers;
	struct attach_dir dir;                    /* for a recording, or for a rendezvous socket */
	struct session *session;                  /* NULL: the daemon records */
	const struct attach_recording *recording; /* of another verb, or NULL */
	struct printing printing;
	const char *output; /* the directory of the trace; with --print a temporary one */
	struct inject_report report;
	int signals, program; /* a signalfd and a pidfd */
	int ready;            /* another process waits here for the begin of the recording; or 0 */
	pid_t kernel;         /* side-uprobes of this recording, or 0 */
	/* Attaching is only a step of another verb, so success without a change is not printed. */
	bool incidental;
};

/* Functions that return int return an exit status. They have printed the error then. */

/* attach.c. Runs one turn of the recording, if there is one. Waits at most timeout_ms. */
int attach_turn(struct attached *attached, int timeout_ms);
/*
 * Calls a function in the program while the recording goes on. The report contains the result and
 * the error.
 */
int attach_request(
		struct attached *attached, const char *what, const char *path, bool only_if_loaded);
int attach_print_failure(const struct attached *attached);
int attach_print_result_error(const struct attached *attached, const char *what);
void attach_print_done(const struct attached *attached, const char *type, const char *sentence);

/*
 * attach-directory.c. Makes a directory, or an abstract name, that begins with `prefix`. `lasting`:
 * it will be kept for a long time. attach_dir_remove() removes it.
 */
int attach_dir_find(struct attached *attached, const char *prefix, bool lasting);
void attach_dir_remove(struct attached *attached);
/* Closes the descriptors: the socket has another owner now. */
void attach_dir_forget(struct attached *attached);
/*
 * Reports that the program can reach no socket of ours: its network namespace differs, and we may
 * not enter it.
 */
int attach_dir_unreachable(const struct attached *attached);
/* The program's effective user. The owner of its files in /proc may be root instead. */
uint64_t attach_user_of(pid_t pid);

/*
 * kernel.c. Starts side-uprobes for the sites that need uprobes; returns when they are set.
 * attach_kernel_end() ends it.
 */
#ifdef SIDE_HAS_PROBES
int attach_kernel_start(struct attached *attached);
void attach_kernel_end(struct attached *attached);
#else
static inline int attach_kernel_start(__attribute__((unused)) struct attached *attached)
{
	return 0;
}

static inline void attach_kernel_end(__attribute__((unused)) struct attached *attached) {}
#endif

/* attach-daemon.c */
int attach_give_to_daemon(struct attached *attached);

#endif /* PROGRAMS_SIDE_ATTACH_ATTACH_H */
