/* SPDX-License-Identifier: MIT */
/* Parts of the table of the command line, which are in several files. */
#ifndef PROGRAMS_SIDE_CLI_TABLE_H
#define PROGRAMS_SIDE_CLI_TABLE_H

#include "programs/common/command.h"

/* table-record.c: `record` and `recover`. */
extern const struct option table_record_options[];
extern const char *const table_record_paragraphs[];
extern const struct example table_record_examples[];
extern const struct option table_recover_options[];
extern const char *const table_recover_paragraphs[];
extern const struct example table_recover_examples[];

/* table-attach.c: `attach` and `detach`. */
extern const struct option table_attach_options[];
extern const char *const table_attach_paragraphs[];
extern const struct example table_attach_examples[];
extern const struct option table_detach_options[];
extern const char *const table_detach_paragraphs[];
extern const struct example table_detach_examples[];

/* table-record.c: choices for kernel events, in the order of enum kernel_record_backend. */
extern const char *const table_kernel_backends[];

/* table-answers.c: `calls`, `slow`, `flame` and `diff`. */
extern const struct option table_calls_options[];
extern const char *const table_calls_paragraphs[];
extern const struct example table_calls_examples[];
extern const struct option table_slow_options[];
extern const char *const table_slow_paragraphs[];
extern const struct example table_slow_examples[];
extern const struct option table_flame_options[];
extern const char *const table_flame_paragraphs[];
extern const struct example table_flame_examples[];
extern const struct option table_diff_options[];
extern const char *const table_diff_paragraphs[];
extern const struct example table_diff_examples[];

/* table-answers.c: `explore`. */
extern const struct option table_explore_options[];
extern const char *const table_explore_paragraphs[];
extern const struct example table_explore_examples[];

/* table-kernel.c: `kernel`. */
extern const struct option table_kernel_options[];
extern const char *const table_kernel_paragraphs[];
extern const struct example table_kernel_examples[];
extern const char *const table_system_paragraphs[];
extern const struct example table_system_examples[];

/* table-boot.c: `adopt`. */
extern const struct option table_adopt_options[];
extern const char *const table_adopt_paragraphs[];
extern const struct example table_adopt_examples[];

/* table-send.c: `send` and `receive`. */
extern const struct option table_send_options[];
extern const char *const table_send_paragraphs[];
extern const struct example table_send_examples[];
extern const struct option table_receive_options[];
extern const char *const table_receive_paragraphs[];
extern const struct example table_receive_examples[];

/* table-record.c: topics. */
extern const char *const table_channels_paragraphs[];
extern const struct term table_channels_terms[];
extern const char *const table_filters_paragraphs[];
extern const struct term table_filters_terms[];

/* table-session.c: the verbs that send requests to the daemon. */
extern const struct option table_create_options[];
extern const struct option table_set_session_options[];
extern const struct option table_start_options[];
extern const struct option table_run_options[];
extern const struct option table_destroy_options[];
extern const struct option table_status_options[];
extern const struct option table_enable_event_options[];
extern const struct option table_disable_event_options[];
extern const struct option table_enable_channel_options[];
extern const struct option table_disable_channel_options[];
extern const struct option table_add_context_options[];
extern const struct option table_track_options[];
extern const struct option table_untrack_options[];
extern const struct option table_save_options[];
extern const struct option table_load_options[];
extern const struct option table_daemon_options[];
extern const struct option table_complete_options[];
extern const struct option table_plain_options[];
extern const char *const table_create_paragraphs[];
extern const char *const table_set_session_paragraphs[];
extern const char *const table_start_paragraphs[];
extern const char *const table_run_paragraphs[];
extern const char *const table_stop_paragraphs[];
extern const char *const table_destroy_paragraphs[];
extern const char *const table_status_paragraphs[];
extern const char *const table_enable_event_paragraphs[];
extern const char *const table_disable_event_paragraphs[];
extern const char *const table_enable_channel_paragraphs[];
extern const char *const table_disable_channel_paragraphs[];
extern const char *const table_add_context_paragraphs[];
extern const char *const table_track_paragraphs[];
extern const char *const table_untrack_paragraphs[];
extern const char *const table_snapshot_paragraphs[];
extern const char *const table_rotate_paragraphs[];
extern const char *const table_clear_paragraphs[];
extern const struct example table_clear_examples[];
extern const char *const table_regenerate_paragraphs[];
extern const struct example table_regenerate_examples[];
extern const char *const table_version_paragraphs[];
extern const struct example table_version_examples[];
extern const char *const table_statedump_paragraphs[];
extern const char *const table_save_paragraphs[];
extern const char *const table_load_paragraphs[];
extern const char *const table_daemon_paragraphs[];
extern const char *const table_complete_paragraphs[];
extern const struct example table_create_examples[];
extern const struct example table_set_session_examples[];
extern const struct example table_start_examples[];
extern const struct example table_run_examples[];
extern const struct example table_stop_examples[];
extern const struct example table_destroy_examples[];
extern const struct example table_status_examples[];
extern const struct example table_enable_event_examples[];
extern const struct example table_disable_event_examples[];
extern const struct example table_enable_channel_examples[];
extern const struct example table_disable_channel_examples[];
extern const struct example table_add_context_examples[];
extern const struct example table_track_examples[];
extern const struct example table_untrack_examples[];
extern const struct example table_snapshot_examples[];
extern const struct example table_rotate_examples[];
extern const struct example table_statedump_examples[];
extern const struct example table_save_examples[];
extern const struct example table_load_examples[];
extern const struct example table_daemon_examples[];
extern const struct example table_complete_examples[];

/* table-watch.c: `top` and `doctor`. */
extern const struct option table_top_options[];
extern const char *const table_top_paragraphs[];
extern const struct example table_top_examples[];
extern const struct option table_doctor_options[];
extern const char *const table_doctor_paragraphs[];
extern const struct example table_doctor_examples[];

/*
 * Options of a probe spec, for `enable-event` and `trace`. `of` is the struct of the verb, with the
 * list `probes`.
 */
#define TABLE_PROBE_OPTIONS(of)                                                                                  \
	{                                                                                                        \
			.name = "probe",                                                                         \
			.argument = "LOCATION",                                                                  \
			.kind = OPTION_TEXT,                                                                     \
			.ordered = true,                                                                         \
			.offset = offsetof(struct of, probes),                                                   \
			.sentence = "Record when the program reaches LOCATION: an address, "                     \
				    "SYMBOL, SYMBOL+OFFSET or FILE:LINE, or LIBRARY:SYMBOL in a "                \
				    "library. See `side help probes`.",                                          \
	},                                                                                                       \
			{                                                                                        \
					.name = "function",                                                      \
					.argument = "LOCATION",                                                  \
					.kind = OPTION_TEXT,                                                     \
					.ordered = true,                                                         \
					.offset = offsetof(struct of, probes),                                   \
					.sentence = "Record calls of the function at LOCATION. A glob selects "  \
						    "all matching functions; `'*'` is the whole program, "       \
						    "`'LIBRARY:*'` a whole library.",                            \
			},                                                                                       \
			{                                                                                        \
					.name = "sdt",                                                           \
					.argument = "PROVIDER:NAME",                                             \
					.kind = OPTION_TEXT,                                                     \
					.ordered = true,                                                         \
					.offset = offsetof(struct of, probes),                                   \
					.sentence = "Record when the program reaches this marker (SDT, USDT), "  \
						    "with its operands. `side probe list` lists markers.",       \
			},                                                                                       \
			{                                                                                        \
					.name = "exit",                                                          \
					.kind = OPTION_FLAG,                                                     \
					.ordered = true,                                                         \
					.offset = offsetof(struct of, probes),                                   \
					.sentence = "With `--function`: also record the return, as an event "    \
						    "NAME_return with duration and return value.",               \
			},                                                                                       \
			{                                                                                        \
					.name = "arg",                                                           \
					.argument = "EXPRESSION",                                                \
					.kind = OPTION_TEXT,                                                     \
					.ordered = true,                                                         \
					.offset = offsetof(struct of, probes),                                   \
					.sentence = "Record a value. With debug information: an argument or "    \
						    "variable by its name, such as `n`, `p->name` or "           \
						    "`list[2].next`; with a length, `string(p, n)`, `bytes(p, "  \
						    "n)` or `*p@n`; NAME=VALUE sets the name of the field. "     \
						    "Without: TYPE:NAME:ADDR, such as `s32:n:%edi`. Can be "     \
						    "given several times.",                                      \
			},                                                                                       \
			{                                                                                        \
					.name = "args",                                                          \
					.kind = OPTION_FLAG,                                                     \
					.ordered = true,                                                         \
					.offset = offsetof(struct of, probes),                                   \
					.sentence = "Record all arguments of the function by name, if there is " \
						    "debug information. The same as `--arg '$params'`; `--arg "  \
						    "'$vars'` records all variables, and `--arg '$backtrace'` "  \
						    "the stack.",                                                \
			},                                                                                       \
	{                                                                                                        \
		.name = "ret", .argument = "EXPRESSION", .kind = OPTION_TEXT, .ordered = true,                   \
		.offset = offsetof(struct of, probes),                                                           \
		.sentence = "With `--function`: record a value of the result with "                              \
			    "NAME_return, such as `return->name` (with debug "                                   \
			    "information) or TYPE:NAME:ADDR. Can be given several "                              \
			    "times.",                                                                            \
	}

/* Options for a part of a trace. `of` is the struct of the verb, with the member `times`. */
#define TABLE_TIME_OPTIONS(of, from_sentence, to_sentence)                                                                \
	{                                                                                                                 \
			.name = "from",                                                                                   \
			.argument = "TIME",                                                                               \
			.kind = OPTION_TEXT,                                                                              \
			.offset = offsetof(struct of, times.from),                                                        \
			.standard = "the beginning",                                                                      \
			.sentence = from_sentence,                                                                        \
	},                                                                                                                \
			{                                                                                                 \
					.name = "to",                                                                     \
					.argument = "TIME",                                                               \
					.kind = OPTION_TEXT,                                                              \
					.offset = offsetof(struct of, times.to),                                          \
					.standard = "the end",                                                            \
					.sentence = to_sentence,                                                          \
			},                                                                                                \
	{                                                                                                                 \
		.name = "last", .argument = "TIME", .kind = OPTION_TEXT,                                                  \
		.offset = offsetof(struct of, times.last), .standard = "all",                                             \
		.sentence = "Ignore events earlier than TIME before the last event: `5s` selects the last five seconds.", \
	}

#define TABLE_PRINT_OPTION(of, where)                                                        \
	{                                                                                    \
		.name = "print", .kind = OPTION_FLAG, .offset = offsetof(struct of, print),  \
		.sentence = "Print events while they are recorded, as `side view --follow` " \
			    "does, " where " Without `-o` nothing is kept.",                 \
	}

/* Options of global probes. */
#define TABLE_GLOBAL_OPTIONS(of)                                                                                  \
	{                                                                                                         \
			.name = "global",                                                                         \
			.kind = OPTION_FLAG,                                                                      \
			.offset = offsetof(struct of, global.on),                                                 \
			.sentence = "The kernel watches the locations, in every process that "                    \
				    "maps their file, now and later. Requires privileges; see "                   \
				    "`side help global`.",                                                        \
	},                                                                                                        \
			{                                                                                         \
					.name = "no-uprobe",                                                      \
					.kind = OPTION_FLAG,                                                      \
					.offset = offsetof(struct of, global.never),                              \
					.sentence = "Without `--global`: set breakpoints where the kernel could " \
						    "watch a location of the process at less cost (see `side "    \
						    "trace --help`).",                                            \
			},                                                                                        \
			{                                                                                         \
					.name = "by",                                                             \
					.argument = "METHOD",                                                     \
					.kind = OPTION_TEXT,                                                      \
					.offset = offsetof(struct of, global.by),                                 \
					.standard = "the first of them that works",                               \
					.sentence = "With `--global`: use only uprobe_multi, perf_event or "      \
						    "tracefs.",                                                   \
			},                                                                                        \
			{                                                                                         \
					.name = "uid",                                                            \
					.argument = "USER",                                                       \
					.kind = OPTION_LIST,                                                      \
					.offset = offsetof(struct of, global.uids),                               \
					.sentence = "With `--global`: only in processes of USER, a name or "      \
						    "number. Can be given several times, as can the next two.",   \
			},                                                                                        \
			{                                                                                         \
					.name = "cgroup",                                                         \
					.argument = "PATH",                                                       \
					.kind = OPTION_LIST,                                                      \
					.completion = COMPLETE_DIRECTORY,                                         \
					.offset = offsetof(struct of, global.cgroups),                            \
					.sentence = "With `--global`: only in processes directly in this "        \
						    "control group (version 2), such as "                         \
						    "/sys/fs/cgroup/system.slice/nginx.service.",                 \
			},                                                                                        \
	{                                                                                                         \
		.name = "comm", .argument = "NAME", .kind = OPTION_LIST,                                          \
		.offset = offsetof(struct of, global.comms),                                                      \
		.sentence = "With `--global`: only in threads with this name (its first "                         \
			    "15 bytes).",                                                                         \
	}

/* table-probe.c */
extern const char *const table_global_paragraphs[];
extern const struct term table_global_terms[];
extern const struct option table_trace_options[];
extern const char *const table_trace_paragraphs[];
extern const struct example table_trace_examples[];
extern const char *const table_probes_paragraphs[];
extern const struct term table_probes_terms[];
extern const struct option table_probe_options[];
extern const char *const table_probe_paragraphs[];
extern const struct example table_probe_examples[];

/* For verbs whose operand is a trace: programs/side/session/trace-of-session.h. */
#define COMMAND_SESSION_TRACE                                                      \
	"SESSION instead of DIR is the trace of that session; the default is the " \
	"current session."

#endif /* PROGRAMS_SIDE_CLI_TABLE_H */
