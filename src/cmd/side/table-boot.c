/* SPDX-License-Identifier: MIT */
/* The verb `adopt` in the table; its rules for texts stand in table.c. */
#include "table.h"

#include "wire/boot.h"

/* A table: laid out by hand. */
/* clang-format off */

/* In the order of enum session_format. */
static const char *const format_words[] = { "ctf1", "ctf2", NULL };

const struct option table_adopt_options[] = {
	{
		.letter = 'o',
		.name = "output",
		.argument = "DIR",
		.kind = OPTION_TEXT,
		.completion = COMPLETE_DIRECTORY,
		.offset = offsetof(struct adopt_options, output),
		.standard = "where the session went before, else what the configuration says, else side-DATE-TIME in the "
				"current directory",
		.sentence = "Write the traces to DIR; of several sessions, each to a directory below it.",
	},
	{
		.name = "follow",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct adopt_options, follow),
		.sentence = "Go on until all programs have ended, or until SIGINT; programs that start meanwhile belong to it.",
	},
	{
		.name = "boot",
		.argument = "FILE",
		.kind = OPTION_TEXT,
		.completion = COMPLETE_FILE,
		.offset = offsetof(struct adopt_options, boot),
		.standard = "what the first program has left in PLACE, else SIDE_BOOT, else " BOOT_FILE,
		.sentence = "The configuration that the programs were started with.",
	},
	{
		.name = "check",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct adopt_options, check),
		.sentence = "Only read the configuration, and say what is wrong with it.",
	},
	{
		.name = "format",
		.argument = "FORMAT",
		.kind = OPTION_CHOICE,
		.completion = COMPLETE_CHOICE,
		.offset = offsetof(struct adopt_options, format),
		.choices = format_words,
		.standard = "ctf1",
		.sentence = "Describe the traces in CTF 1.8 (ctf1) or CTF 2 (ctf2).",
	},
	{
		.name = "compress",
		.argument = "LEVEL",
		.optional = true,
		.kind = OPTION_NUMBER,
		.offset = offsetof(struct adopt_options, compress),
		.sentence = "Compress the traces with zstd, at LEVEL 1 to 19 (3 if it is left out).",
	},
	{
		.name = "force",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct adopt_options, force),
		.sentence = "Write into DIR even if it is not empty. Nothing that is there is removed or changed.",
	},
	{ .name = NULL },
};

const char *const table_adopt_paragraphs[] = {
	"Makes traces of what programs record without a daemon, by a static configuration: of the first process of a "
	"machine or container, and of all that inherit SIDE_BOOT from it. docs/guide/early-boot.md says what stands in "
	"the configuration.",
	"What is in the rings comes into the traces and leaves the rings; the programs notice nothing and record on. "
	"When no program is left, the place is removed. Adopted again, what is new comes into traces of its own in the "
	"same directory. No record is in two of them, or in none.",
	"PID is for a process whose rings are in no place: it began before the place could be written, or something is "
	"mounted over it. They are found in its memory, which takes root. Where PLACE is named, such processes of its "
	"sessions are adopted, too, if one may look at them.",
	"`sided --boot FILE` adopts the same programs, and they go on in sessions of the daemon.",
	NULL,
};

const struct example table_adopt_examples[] = {
	{ "side adopt /run/side/boot -o /var/log/boot-trace", "Make a trace of what was recorded since the machine started." },
	{ "side adopt --follow -o trace", "Go on until the programs have ended." },
	{ "side adopt 1 -o trace", "Make a trace of the first process, which began before there was a place." },
	{ "side adopt --boot /etc/side/boot.conf --check", "Look whether the configuration is right." },
	{ .command = NULL },
};
