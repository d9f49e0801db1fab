/* SPDX-License-Identifier: MIT */
/*
 * The interface of `side doctor`. Each check examines one property of this machine and user and
 * fills in a finding. Checks read all files below a root, so that they also work for the file
 * system of another machine.
 */
#ifndef PROGRAMS_SIDE_DOCTOR_DOCTOR_H
#define PROGRAMS_SIDE_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum doctor_state {
	DOCTOR_OK,
	DOCTOR_NOTE,    /* optional for most users */
	DOCTOR_MISSING, /* sessions or recordings fail, or work badly */
	DOCTOR_SKIPPED, /* cannot be checked in another root */
};

struct doctor {
	const char *root;      /* "" for this machine */
	bool is_other_machine; /* another machine: only files can be checked */
	uid_t uid;
};

struct doctor_finding {
	enum doctor_state state;
	char found[512]; /* a part of a sentence: "scope 1: only children" */
	char hint[512];  /* a command or an instruction; empty: none */
};

struct doctor_check {
	const char *name;
	const char *purpose; /* the feature that needs it: "sessions of all programs" */
	void (*check)(const struct doctor *doctor, struct doctor_finding *finding);
};

/* Each array ends with an entry whose name is NULL. */
extern const struct doctor_check doctor_session_checks[]; /* session.c */
extern const struct doctor_check doctor_library_checks[]; /* library.c */
extern const struct doctor_check doctor_boot_checks[];    /* boot.c */
extern const struct doctor_check doctor_system_checks[];  /* system.c */
extern const struct doctor_check doctor_kernel_checks[];  /* kernel.c */

/* ---- functions for checks: doctor.c ---- */

void doctor_found(struct doctor_finding *finding, enum doctor_state state, const char *format, ...)
		__attribute__((format(printf, 3, 4)));
void doctor_set_hint(struct doctor_finding *finding, const char *format, ...)
		__attribute__((format(printf, 2, 3)));

/* Writes a path below the root. Returns `space`. */
#define DOCTOR_PATH_MAX 4096
const char *doctor_path(const struct doctor *doctor, const char *path, char space[DOCTOR_PATH_MAX]);
/* Reads the first line of a file. False if there is none. */
bool doctor_line(const struct doctor *doctor, const char *path, char *line, size_t space);
/* Reads a number from a file. False if there is none. */
bool doctor_number(const struct doctor *doctor, const char *path, int64_t *ret_number);
/*
 * Reads the number, in base `base`, after `name` in a file of lines "Name: number". False if there
 * is none.
 */
bool doctor_member(const struct doctor *doctor, const char *path, const char *name, int base,
		uint64_t *ret_number);

#endif /* PROGRAMS_SIDE_DOCTOR_DOCTOR_H */
