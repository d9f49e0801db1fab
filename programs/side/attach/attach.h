/* SPDX-License-Identifier: MIT */
/* Private to attach*.c: a program that is being attached to. */
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

/* Where a program finds a socket of ours: in its root directory, or in its network namespace. */
struct attach_dir {
	int parent, own;    /* where the directory is that we have made, and itself, or -1 */
	char directory[64]; /* its name there */
	char ours[RENDEZVOUS_PATH_SIZE],
			theirs[RENDEZVOUS_PATH_SIZE]; /* path of the socket; @...: it is in no directory */
	int network; /* where there is no directory: the program's network namespace, or -1 */
};

struct attached {
	const struct parsed *parsed;
	const struct attach_options *options;
	pid_t pid;
	char name[64];
	char *agent, *libside;
	struct attach_dir dir;                    /* for a recording, or a door of the daemon's */
	struct session *session;                  /* NULL: of the daemon */
	const struct attach_recording *recording; /* of another verb, or NULL */
	struct printing printing;
	const char *output; /* what was asked for, or is printed from */
	struct inject_report report;
	int signals, program; /* descriptors */
	pid_t kernel;         /* side-uprobes, of this recording */
	bool incidental;      /* somebody wants something else, and only needs it to be there */
};

/* All that return int return an exit status; what went wrong has been said. */

/* attach.c. One turn of the recording, if there is one; after at most so long. */
int attach_turn(struct attached *attached, int timeout_ms);
/* Have it do something, while the recording goes on. What went wrong is in the report. */
int attach_request(
		struct attached *attached, const char *what, const char *path, bool only_if_there);
int attach_print_failure(const struct attached *attached);
int attach_why_not(const struct attached *attached, const char *what);
void attach_print_done(const struct attached *attached, const char *type, const char *sentence);

/* attach-directory.c. In a directory whose name begins so, or with a name that does; one that lasts. */
int attach_dir_find(struct attached *attached, const char *prefix, bool lasting);
void attach_dir_remove(struct attached *attached);
/* It is somebody else's now. */
void attach_dir_forget(struct attached *attached);
/* Its network is another one, and we may not go there. */
int attach_dir_unreachable(const struct attached *attached);
/* Who the program is in effect, also where its files in /proc are root's. */
uint64_t attach_user_of(pid_t pid);

/* kernel.c. The places that the kernel watches are so from now on; until then. */
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
