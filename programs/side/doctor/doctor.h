/* SPDX-License-Identifier: MIT */
/*
 * The parts of `side doctor`: each check looks at one thing of this machine and user and fills in what
 * it found. All files are read below a root, so that another machine's can be looked at, too.
 */
#ifndef PROGRAMS_SIDE_DOCTOR_DOCTOR_H
#define PROGRAMS_SIDE_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum doctor_state {
	DOCTOR_OK,
	DOCTOR_NOTE,    /* not everybody wants it */
	DOCTOR_MISSING, /* sessions or recordings do not work, or badly */
	DOCTOR_SKIPPED, /* cannot be seen in another root */
};

struct doctor {
	const char *root; /* "" for this machine */
	bool other;       /* another machine's: nothing but files can be looked at */
	uid_t uid;
};

struct doctor_finding {
	enum doctor_state state;
	char found[512]; /* half a sentence: "scope 1: only children" */
	char hint[512];  /* a command, or what to do; empty: nothing */
};

struct doctor_check {
	const char *name;
	const char *purpose; /* what it is for: "sessions of all programs" */
	void (*check)(const struct doctor *doctor, struct doctor_finding *finding);
};

/* Each array ends with an entry whose name is NULL. */
extern const struct doctor_check doctor_session_checks[]; /* session.c */
extern const struct doctor_check doctor_library_checks[]; /* library.c */
extern const struct doctor_check doctor_boot_checks[];    /* boot.c */
extern const struct doctor_check doctor_system_checks[];  /* system.c */
extern const struct doctor_check doctor_kernel_checks[];  /* kernel.c */

/* ---- for checks: doctor.c ---- */

void doctor_found(struct doctor_finding *finding, enum doctor_state state, const char *format, ...)
		__attribute__((format(printf, 3, 4)));
void doctor_set_hint(struct doctor_finding *finding, const char *format, ...)
		__attribute__((format(printf, 2, 3)));

/* A path below the root. Returns @room. */
#define DOCTOR_PATH_MAX 4096
const char *doctor_path(const struct doctor *doctor, const char *path, char space[DOCTOR_PATH_MAX]);
/* The first line of a file, or false. */
bool doctor_line(const struct doctor *doctor, const char *path, char *line, size_t space);
/* A number in a file, or false. */
bool doctor_number(const struct doctor *doctor, const char *path, int64_t *number);
/* The number in base `base` behind `name` in a file of lines "Name: number". */
bool doctor_member(const struct doctor *doctor, const char *path, const char *name, int base,
		uint64_t *number);

#endif /* PROGRAMS_SIDE_DOCTOR_DOCTOR_H */
