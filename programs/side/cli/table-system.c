/* SPDX-License-Identifier: MIT */
/* The part of the table for `system`; table.c has the rules for texts. */
#include "table.h"

/* A table: laid out by hand. */
/* clang-format off */

const char *const table_system_paragraphs[] = {
	"Turns on that every program started from now on can join the sessions of the daemon of the system, whether or not it uses libside. "
	"So `side enable-event --exe FILE` sets its probe in each program that runs FILE, without `side run`. "
	"Programs that run already are not changed.",
	"`on` adds one line to /etc/ld.so.preload: a small library of side, which the loader then adds to each program. "
	"Before that, each loader of the machine starts a program with the library, and side refuses if any of them fails or prints something. "
	"It also refuses a library that users other than root can change. "
	"`off` removes the line. "
	"Both require root.",
	"The library makes one system call, and loads the agent only if a session has a probe for the program's file. "
	"Static programs, programs with musl, 32-bit programs, and programs that gain privileges run as without it.",
	"A program that gcc has built with a shared address sanitizer does not start while it is on, unless ASAN_OPTIONS=verify_asan_link_order=0 is set.",
	"`status` shows the line, whether each loader can load the library, the daemon, and the programs for which sessions have probes. "
	"The exit status is 1 if the library cannot be loaded.",
	NULL,
};

const struct example table_system_examples[] = {
	{ "side system on",
		"As root: from now on, probes of `side enable-event --exe FILE` reach programs however they are started." },
	{ "side system status",
		"Show whether it is on, and which programs get probes." },
	{ "side system off",
		"As root: remove the line again." },
	{ .command = NULL },
};

/* clang-format on */
