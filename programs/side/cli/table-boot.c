/* SPDX-License-Identifier: MIT */
/* The part of the table for `adopt`; table.c has the rules for texts. */
#include "table.h"

#include "protocol/boot.h"

/* A table: laid out by hand. */
/* clang-format off */

/* In the order of enum session_format. */
static const char *const format_choices[] = { "ctf1", "ctf2", NULL };

const struct option table_adopt_options[] = {
	{
		.letter = 'o',
		.name = "output",
		.argument = "DIR",
		.kind = OPTION_TEXT,
		.completion = COMPLETE_DIRECTORY,
		.offset = offsetof(struct adopt_options, output),
		.standard = "the directory of the earlier traces, otherwise that of the configuration, otherwise side-DATE-TIME in the current directory",
		.sentence = "Write the traces to DIR; if there are several sessions, each to a directory below it.",
	},
	{
		.name = "follow",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct adopt_options, follow),
		.sentence = "Continue until all programs have ended, or until SIGINT; programs that start meanwhile are included.",
	},
	{
		.name = "boot",
		.argument = "FILE",
		.kind = OPTION_TEXT,
		.completion = COMPLETE_FILE,
		.offset = offsetof(struct adopt_options, boot),
		.standard = "the one that the first program left in DIR, otherwise SIDE_BOOT, otherwise " BOOT_FILE,
		.sentence = "The configuration with which the programs were started.",
	},
	{
		.name = "check",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct adopt_options, check),
		.sentence = "Only read the configuration, and report its errors.",
	},
	{
		.name = "format",
		.argument = "FORMAT",
		.kind = OPTION_CHOICE,
		.completion = COMPLETE_CHOICE,
		.offset = offsetof(struct adopt_options, format),
		.choices = format_choices,
		.standard = "ctf1",
		.sentence = "Write CTF 1.8 (ctf1) or CTF 2 (ctf2).",
	},
	{
		.name = "compress",
		.argument = "LEVEL",
		.optional = true,
		.kind = OPTION_NUMBER,
		.offset = offsetof(struct adopt_options, compress),
		.sentence = "Compress the traces with zstd, at LEVEL 1 to 19 (default 3).",
	},
	{
		.name = "force",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct adopt_options, force),
		.sentence = "Write to DIR even if it is not empty. Existing files are not removed or changed.",
	},
	{ .name = NULL },
};

const char *const table_adopt_paragraphs[] = {
	"Writes traces of programs that record without a daemon, by a static configuration: of the first process of a machine or container, and of all that inherit SIDE_BOOT from it. docs/how-to/early-boot.md describes the configuration.",
	"The content of the rings is moved to the traces; the programs continue to record. "
	"When no program is left, the state directory is removed. "
	"If it is adopted again, new events go to new traces in the same output directory. "
	"Each record is in exactly one of them.",
	"PID names a process whose rings are in no state directory: it started before the directory could be written, or something is mounted over it. "
	"The rings are found in its memory, which requires root. "
	"If a state directory is named, such processes of its sessions are adopted as well, if that is permitted.",
	"`sided --boot FILE` adopts the same programs, and they continue in sessions of the daemon.",
	NULL,
};

const struct example table_adopt_examples[] = {
	{ "side adopt /run/side/boot -o /var/log/boot-trace",
		"Write what was recorded since the machine started." },
	{ "side adopt --follow -o trace",
		"Continue until the programs have ended." },
	{ "side adopt 1 -o trace",
		"Write what the first process recorded, which started before there was a state directory." },
	{ "side adopt --boot /etc/side/boot.conf --check",
		"Check a configuration." },
	{ .command = NULL },
};
