/* SPDX-License-Identifier: MIT */
/*
 * Failing calls: one call of an allocation or system call fails, chosen by its site.
 *
 * A site is a called function and the return addresses of its nearest callers in the modules under
 * test. faults.c is preloaded into a program, or linked into a test, which arms it through
 * faults_control.
 */
#ifndef TESTS_FAULTS_FAULTS_H
#define TESTS_FAULTS_FAULTS_H

#include <stdint.h>

#define FAULTS_SITES 16384
#define FAULTS_DEPTH 8

enum faults_kinds { FAULTS_MEMORY = 1, FAULTS_CALLS = 2 };

/* faults.py knows this layout: the file that FAULTS_CONTROL names. */
struct faults_site {
	uint64_t site; /* 0: a free slot */
	uint64_t times;
	uint64_t callers[FAULTS_DEPTH]; /* relative to their modules */
	char function[32];
};

struct faults_control {
	uint64_t kinds;
	uint64_t depth;    /* callers that make a site; 0: 1 */
	uint64_t children; /* 1: calls of forked children fail as well */
	uint64_t notes;    /* 1: sites are added to the table */
	uint64_t site;     /* calls at this site fail */
	uint64_t skip;     /* but not the first ones, as many as this */
	uint64_t lasts;    /* 1: and all later ones fail as well */
	uint64_t every;    /* each call fails whose number is a multiple of this */
	uint64_t from;     /* this call and all later ones fail */
	uint64_t at_site;  /* calls at `site` so far */
	uint64_t calls;    /* calls of all sites so far */
	uint64_t failed;   /* that failed */
	uint64_t top;      /* address of a frame: its callers make no sites; 0: none */
	uint64_t is_off;   /* 1: neither counted nor failing */
	struct faults_site sites[FAULTS_SITES];
};

extern struct faults_control *faults_control;

#endif
