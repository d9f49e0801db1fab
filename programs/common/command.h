/* SPDX-License-Identifier: MIT */
/*
 * The command line of programs/side.
 *
 * table.c defines all verbs, options and topics once. Its readers are parse.c (argv into values),
 * help.c (--help), manual.c (man pages), markdown.c (reference) and complete.c (completions for
 * bash and zsh). The last three run at build time, in generate.c. A verb is implemented in the file
 * with its name: record.c, list.c, view.c.
 */
#ifndef PROGRAMS_COMMON_COMMAND_H
#define PROGRAMS_COMMON_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "analysis/diff-options.h"
#include "analysis/flame-options.h"
#include "analysis/leaks-options.h"
#include "analysis/locks-options.h"
#include "analysis/report-options.h"
#include "analysis/view-time.h"
#include "base/error.h"
#include "base/text-list.h"
#include "export/export-options.h"

/* The exit status of the program. `record` returns the exit status of its command instead. */
enum command_status {
	COMMAND_DONE = 0,
	COMMAND_FAILED = 1,
	COMMAND_USAGE = 2,
	COMMAND_NOT_PERMITTED = 3,
	COMMAND_LOST = 4,
	COMMAND_PENDING = 5,
	COMMAND_WORSE = 6, /* `diff --fail-above` */
	/* Of `record` and `list -- COMMAND`, with the values of shells and env(1). */
	COMMAND_NOT_EXECUTABLE = 126,
	COMMAND_NOT_FOUND = 127,
	COMMAND_SIGNAL = 128, /* + number of the signal */
};

enum verb_id {
	VERB_RECORD,
	VERB_ATTACH,
	VERB_DETACH,
	VERB_RECOVER,
	VERB_ADOPT,
	VERB_LIST,
	VERB_VIEW,
	VERB_EXPAND,
	VERB_REPORT,
	VERB_LEAKS,
	VERB_LOCKS,
	VERB_CALLS,
	VERB_SLOW,
	VERB_FLAME,
	VERB_DIFF,
	VERB_EXPLORE,
	VERB_EXPORT,
	VERB_CREATE,
	VERB_SET_SESSION,
	VERB_START,
	VERB_STOP,
	VERB_DESTROY,
	VERB_STATUS,
	VERB_ENABLE_EVENT,
	VERB_DISABLE_EVENT,
	VERB_ENABLE_CHANNEL,
	VERB_DISABLE_CHANNEL,
	VERB_ADD_CONTEXT,
	VERB_TRACK,
	VERB_UNTRACK,
	VERB_SNAPSHOT,
	VERB_ROTATE,
	VERB_CLEAR,
	VERB_STATEDUMP,
	VERB_REGENERATE,
	VERB_SAVE,
	VERB_LOAD,
	VERB_RUN,
	VERB_TOP,
	VERB_DAEMON,
	VERB_DOCTOR,
	VERB_COMPLETE,
	VERB_PROBE,
	VERB_TRACE,
	VERB_KERNEL,
	VERB_SYSTEM,
	VERB_SEND,
	VERB_RECEIVE,
	VERB_VERSION,
	VERB_HELP
};

/* How the value of an option is parsed, and the C type in which it is stored. */
enum option_kind {
	OPTION_FLAG,   /* no argument; bool */
	OPTION_TEXT,   /* const char * */
	OPTION_LIST,   /* may be repeated; struct text_list */
	OPTION_SIZE,   /* bytes, with K, M, G; uint64_t */
	OPTION_NUMBER, /* uint64_t */
	OPTION_TIME,   /* seconds, or a number with a unit; uint64_t, nanoseconds */
	OPTION_CHOICE, /* one of `choices`; int, the index */
};

/* The value of an OPTION_NUMBER whose optional argument is missing. */
#define OPTION_BARE UINT64_MAX

/* What a shell completes for an argument of an option or for an operand. */
enum completion {
	COMPLETE_NONE,
	COMPLETE_FILE,
	COMPLETE_DIRECTORY,
	COMPLETE_COMMAND,
	COMPLETE_COMMAND_OR_FILE,
	COMPLETE_EVENT,
	COMPLETE_CHOICE,
	COMPLETE_CONTEXT, /* names, separated by commas */
	COMPLETE_VERB,
	/* Names of running objects; the shell asks the daemon for them. */
	COMPLETE_SESSION,
	COMPLETE_CHANNEL,
	COMPLETE_PROCESS,
	COMPLETE_PROCESS_ID,
};

struct option {
	char letter; /* 0: long form only */
	const char *name;
	/*
	 * Former forms: accepted until the release after 0.1, without help and completion. 0, NULL:
	 * none.
	 */
	char former_letter;
	const char *former_name;
	const char *argument; /* its name in help; NULL for a flag */
	bool optional;        /* the argument is optional, and only follows `=` … */
	bool digits_follow;   /* … or is the next argument, if that is a number */
	bool two;     /* two arguments, the second always an argument of argv; OPTION_LIST */
	bool ordered; /* `offset` is that of a struct option_uses: the order matters */
	/*
	 * OPTION_TIME: a unit is required, because a plain number means microseconds in other
	 * tracers.
	 */
	bool units;
	enum option_kind kind;
	enum completion completion;
	size_t offset;              /* of the value in the options of the verb */
	const char *const *choices; /* COMPLETE_CHOICE: ends with NULL */
	const char *standard;       /* the default, in help; NULL: not in help */
	const char *sentence;
};

struct example {
	const char *command;
	const char *sentence;
};

/* Groups of verbs in the overview, in its order. */
enum verb_group { VERBS_FIRST, VERBS_RECORD, VERBS_READ, VERBS_SESSIONS, VERBS_SYSTEM };

struct verb {
	enum verb_group group;
	enum verb_id id;
	const char *name;
	const char *operands; /* in the synopsis */
	enum completion operand_completion;
	/* The first operand ends the options; the remaining arguments are those of a command. */
	bool command_follows;
	unsigned int min_operands;
	unsigned int max_operands; /* 0: any number */
	const char *missing;       /* error message for fewer than min_operands */
	const char *summary;       /* one line, for lists of verbs */
	const char *const *paragraphs;
	const struct option *options; /* ends with name NULL */
	const struct example *examples;
	const char *const *see_also; /* names of other verbs, sorted */
};

/* A text with its own section in side(1) and in `side help TOPIC`. */
struct topic {
	const char *name;
	const char *summary;
	const char *const *paragraphs;
	const struct term {
		const char *word;
		const char *sentence;
	} * terms; /* ends with word NULL; NULL: none, or the terms of contexts.c */
};

/* The values of options whose order matters, in the order of the command line. */
struct option_use {
	const struct option *option;
	const char *text; /* NULL: a flag, or no argument */
	union {
		uint64_t number; /* OPTION_SIZE, OPTION_NUMBER, OPTION_TIME */
		int choice;
	};
};

struct option_uses {
	struct option_use *items;
	size_t count;
};

enum color_mode { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

/* Options of all verbs. */
struct common_options {
	int color; /* enum color_mode */
	bool json;
	bool quiet;
	bool verbose;
	bool no_pager;
	bool no_progress;
	bool help;
	bool version;
};

/* `--global`, and the processes whose hits count: programs/side/probe/global.c. */
struct global_arguments {
	/*
	 * `--no-uprobe`: no uprobe, not even for one process where the alternative is a
	 * breakpoint.
	 */
	bool never;
	bool on;
	bool forced;    /* probe returns even in files that handle exceptions */
	const char *by; /* NULL: the first backend that works */
	struct text_list uids, cgroups, comms;
};

struct record_options {
	struct option_uses channels; /* all options of channels: channels.c */
	const char *output;
	bool print;
	struct text_list wrappers;
	uint64_t memory_limit;
	uint64_t compress; /* 0: not given */
	const char *buffers;
	uint64_t rotate_size, rotate_every; /* 0: not given */
	uint64_t keep_size, keep_age, keep_count;
	struct text_list snapshot_on;
	uint64_t snapshot_max;
	bool rotate;
	int format; /* enum session_format */
	bool huge_pages;
	bool prefault;
	bool symbols;
	bool strict;
	bool validate;
	bool force;
	bool allow_unsafe_exit;
	bool wait_all;
	const char *to; /* also send the trace to this receiver */
	uint64_t spool;
	uint64_t timeout;          /* for sending; 0: not given */
	struct option_uses kernel; /* --kernel, --kernel-filter: programs/side/record/kernel.c */
	bool kernel_all;
	uint64_t kernel_buffer;
	int kernel_backend; /* enum kernel_record_backend */
	/* For `trace` only. */
	struct option_uses probes;
	struct text_list contexts;
	const char *command, *filter;
	struct global_arguments global;
	/* The running program, or, with `--global`, the process whose hits count; 0: not given. */
	uint64_t pid;
	uint64_t duration;
	uint64_t buffer_size; /* 0: not given */
	bool in_sandbox;
	bool pending;
	bool follow_exec;
	const char *exe;
	bool debuginfod;
};

/* Options of `attach` and `detach`. */
struct attach_options {
	uint64_t pid;
	struct option_uses channels; /* as in struct record_options */
	struct text_list wrappers;
	const char *output;
	bool print;
	const char *session;
	uint64_t memory_limit;
	uint64_t duration; /* 0: not given */
	int format;
	bool symbols;
	bool force;
	bool daemon;
	bool system;
	bool follow_exec; /* record programs that the program executes; for `trace -p` */
	bool in_sandbox;
};

struct recover_options {
	const char *output;
	uint64_t compress;
	int format;
	bool force;
};

struct adopt_options {
	const char *output;
	const char *boot;
	uint64_t compress;
	int format;
	bool follow;
	bool check;
	bool force;
};

struct list_options {
	struct text_list patterns;
	struct text_list wrappers;
	struct text_list pids;
	bool libraries;
	bool names;
	bool userspace;
	bool kernel;
	bool system;
};

/*
 * Options of all verbs that send requests to the daemon (table-session.c). Each verb has some of
 * them.
 */
struct control_options {
	struct option_uses asked; /* members of the request that need no conversion */
	const char *session;
	struct text_list exclude;
	struct text_list contexts;
	struct text_list wrappers; /* for `run` only */
	const char *loglevel;
	const char *loglevel_only;
	const char *file;
	/* In order, because an option applies to the probe spec before it: spec-options.c. */
	struct option_uses probes;
	uint64_t pid; /* of the probed program; 0: not given */
	const char *exe;
	bool pending;
	bool debuginfod;
	struct global_arguments global;
	bool kernel;  /* kernel events: kernel-session.c */
	bool syscall; /* kernel events of system calls, by the names of the calls */
	uint64_t kernel_buffer;
	int kernel_backend; /* enum kernel_record_backend */
	bool all;
	bool userspace;
	bool stop; /* for `daemon` only */
	bool no_daemon;
	bool system;
};

struct top_options {
	const char *session;
	struct text_list patterns;
	struct text_list pairs; /* begin, end, begin, end, … */
	const char *key;
	uint64_t interval;
	uint64_t count;
	uint64_t callers; /* 0: none; OPTION_BARE: no number */
	bool debuginfod;
	bool no_daemon;
	bool system;
};

struct doctor_options {
	const char *root;
};

struct probe_options {
	bool sdt;
	bool debuginfod;
};

struct expand_options {
	const char *output;
};

struct view_arguments {
	struct text_list patterns;
	const char *filter;
	struct time_range times;
	uint64_t count;
	uint64_t threads;
	bool follow;
	bool flat;
	bool attributes;
	bool symbols;
	bool debuginfod;
	bool repair;
};

struct send_arguments {
	const char *session;
	uint64_t spool;
	uint64_t timeout; /* 0: not given */
	uint64_t speed;
};

struct receive_arguments {
	const char *output;
	const char *listen;
	uint64_t speed;
	bool keep;
	bool force;
};

/* What a verb that answers a question records: programs/side/answers/run.h. */
struct answer_options {
	uint64_t pid;         /* 0: not given */
	uint64_t duration;    /* 0: not given */
	uint64_t buffer_size; /* 0: not given */
	const char *output;
};

struct leaks_arguments {
	struct answer_options run;
	struct leaks_options answer;
};

struct locks_arguments {
	struct answer_options run;
	struct locks_options answer;
};

/* Options of `calls` and `slow`. */
struct function_arguments {
	struct answer_options run;
	struct text_list names; /* libraries of `calls`, functions of `slow` */
	uint64_t rows;          /* 0: all */
	bool all;
	bool off_cpu;
};

struct flame_arguments {
	struct answer_options run;
	struct flame_options answer;
	struct text_list names; /* functions */
	const char *base;       /* a trace to compare with, or NULL */
	int format;             /* in the order of command_flame_formats */
	uint64_t rows;          /* 0: not given */
};

struct diff_arguments {
	struct diff_options answer; /* without `above` */
	const char *above;          /* percentages; NULL: not given */
	const char *fail_above;
	uint64_t rows; /* 0: not given */
};

struct explore_arguments {
	struct answer_options run;
	struct text_list names; /* functions */
	const char *filter;
};

union verb_options {
	struct record_options record;
	struct attach_options attach;
	struct recover_options recover;
	struct adopt_options adopt;
	struct list_options list;
	struct view_arguments view;
	struct expand_options expand;
	struct probe_options probe;
	struct report_options report;
	struct leaks_arguments leaks;
	struct locks_arguments locks;
	struct function_arguments functions;
	struct flame_arguments flame;
	struct diff_arguments diff;
	struct explore_arguments explore;
	struct export_options export;
	struct control_options control;
	struct top_options top;
	struct doctor_options doctor;
	struct send_arguments send;
	struct receive_arguments receive;
};

/* table-answers.c: the verbs that answer a question. */
extern const struct option command_leaks_options[];
extern const char *const command_leaks_paragraphs[];
extern const struct example command_leaks_examples[];
extern const struct option command_locks_options[];
extern const char *const command_locks_paragraphs[];
extern const struct example command_locks_examples[];

/* table-analysis.c: the verbs that convert a trace to something else. */
extern const struct option command_report_options[], command_export_options[];
extern const char *const command_report_paragraphs[], *const command_export_paragraphs[];
extern const struct example command_report_examples[], command_export_examples[];
/* In the order of enum export_format; ends with NULL. */
extern const char *const command_export_formats[];
/* In the order of enum flame_weight and of enum flame_by; each ends with NULL. */
extern const char *const command_flame_weights[], *const command_flame_groups[];
/* table-answers.c: in the order of enum flame_answer_format. */
extern const char *const command_flame_formats[];

/* table.c. Each array ends with an entry whose name is NULL. */
extern const struct verb command_verbs[];
extern const struct option command_common_options[];
extern const struct topic command_topics[];
extern const char *const command_introduction[];
extern const struct example command_examples[];
extern const char command_summary[];

const struct verb *command_find_verb(const char *name);
const struct topic *command_find_topic(const char *name);

struct parsed {
	const struct verb *verb; /* NULL: the command line has none */
	struct common_options common;
	union verb_options options;
	char **operands; /* points into argv, ends with NULL */
	int operand_count;
	bool dashes;     /* "--" precedes the operands */
	bool for_answer; /* runs for another verb: hints name options of that verb */
	bool no_threads; /* that verb does not use the threads of events */
	char **args;     /* the command line in its original order, for side-more; NULL: not kept */
	struct text_list kept; /* allocated texts that options refer to; parsed_free() frees them */
};

/* An error in a command line. */
struct parse_error {
	char message[512];
	char hint[1024]; /* may be empty */
	const struct verb *verb;
};

/* Returns 0, or -EINVAL with *error filled in. Call parsed_free() in both cases. Reorders argv. */
int parse_command_line(int argc, char **argv, struct parsed *parsed, struct parse_error *error);
void parsed_free(struct parsed *parsed);

/*
 * Reports an argument that the verb does not know, with the nearest of `args`, which ends with
 * NULL. Returns an exit status.
 */
int command_unknown_word(const struct verb *verb, const char *word, const char *const *args,
		const char *hint);

/* habits.c */

/*
 * A hint for a word of another tool: the name that this tool uses. NULL: unknown. Options have
 * their dashes; verb is NULL for verbs.
 */
const char *habits_hint(const struct verb *verb, const char *word);

/* help.c */
void help_print_overview(FILE *out, bool color);
void help_print_verb(FILE *out, const struct verb *verb, bool color);
void help_print_topic(FILE *out, const struct topic *topic, bool color);
void help_print_json(FILE *out, const struct verb *verb);

/* manual.c, markdown.c, complete.c: used at build time only. */
int manual_print(FILE *out, const char *page);
int markdown_print(FILE *out, const char *page);
/* Prints the names of the pages that markdown_print() knows, one on each line. */
void markdown_print_names(FILE *out);
void complete_print_bash(FILE *out);
void complete_print_zsh(FILE *out);

/*
 * select.c: parses the patterns of `-e`, for pattern_set_wants(). The caller frees them. Returns 0
 * or an exit status.
 */
struct pattern;
int command_select(const struct text_list *args, struct pattern **ret_patterns);

/* record.c: the exit status for an error of the session library. */
enum command_status command_session_status(enum error_kind kind);
struct session;
struct session_summary;
struct session_options;
/*
 * Makes one recording of the operands, as `side record` does. `after` receives the session when its
 * program has ended.
 */
typedef int command_after_fn(void *user, struct session *session);
int command_record(const struct parsed *parsed, const struct session_options *options,
		command_after_fn *after, void *user);
int command_session_error(const struct error *error);
/*
 * Shows the progress line of a recording: a function for session_on_progress() with the command line
 * as its user pointer.
 */
void command_progress(void *parsed, uint64_t bytes, size_t processes, uint64_t lost);
/* Prints the messages of a session, and its summary as text or JSON, with the name of the verb. */
void command_session_messages(const struct session_summary *summary);
/* Prints the messages of a running session (recorder/core/live.h) since the last call. */
void command_live_messages(struct session *session);
void command_session_summary(
		const struct session_summary *summary, const struct parsed *parsed, int status);

struct session_channel;
struct session_loads;
struct session_table;

/* A recording of a running program for another verb. */
struct attach_recording {
	const struct session_channel *channels;
	size_t nr_channels;
	const struct session_table *probes;
	size_t nr_probes;
	const int *kernel; /* tables of the sites that need uprobes: programs/side/probe/kernel.h */
	size_t nr_kernel;
	/*
	 * Called when the program has reported the state of its probes. An exit status other than 0
	 * ends the recording.
	 */
	int (*check)(void *user, struct session *session);
	/* Called when the recording has ended; NULL: not needed. */
	void (*finish)(void *user, struct session *session);
	void *user;
	const struct session_loads *loads; /* or NULL */
};

/* attach.c: records like `side attach`. Ignores the channels of `options`. */
int command_attach_recording(const struct parsed *parsed, const struct attach_options *options,
		const struct attach_recording *recording);
/*
 * attach.c: connects the program to the daemon, unless it is connected already. Returns 0 or an
 * exit status, after a message.
 */
int command_attach_daemon(const struct parsed *parsed, int pid);

/*
 * channels.c: converts options in their order to the channels of a session. Returns 0 or an exit
 * status.
 */
struct channel_list;
struct session_channel;
int command_channels(const struct option_uses *uses, bool symbols, struct channel_list **ret_list);
/* Adds a channel for the events of --symbols, once, after command_channels() without them. */
void channel_list_add_symbols(struct channel_list *list);
const struct session_channel *channel_list_items(
		const struct channel_list *list, size_t *ret_count);
void channel_list_free(struct channel_list *list);
/* The zstd level for the value of --compress, or -1 and *ret_status. */
int command_compression(uint64_t value, int *ret_status);

/* contexts.c: the terms of the topic "contexts". */
const struct term *command_context_terms(void);

/*
 * Called for each session that `load` has loaded, with its definition. Returns 0 or an exit status,
 * after a message.
 */
struct ask;
struct json_object;
typedef int load_probes(const struct parsed *parsed, struct ask *ask, const char *session,
		struct json_object *definition);

/* The verbs. Each returns an exit status. */
int cmd_record(const struct parsed *parsed);
int cmd_attach(const struct parsed *parsed);
int cmd_detach(const struct parsed *parsed);
int cmd_recover(const struct parsed *parsed);
int cmd_adopt(const struct parsed *parsed);
int cmd_run(const struct parsed *parsed);
int cmd_system(const struct parsed *parsed);
int cmd_list(const struct parsed *parsed);
int cmd_view(const struct parsed *parsed);
int cmd_expand(const struct parsed *parsed);
int cmd_probe(const struct parsed *parsed);
int cmd_kernel(const struct parsed *parsed);
/* programs/side/list/kernel-names.c */
int command_list_kernel(const struct parsed *parsed);
int cmd_probe_enable(const struct parsed *parsed);
int cmd_probe_context(const struct parsed *parsed);
int cmd_probe_disable(const struct parsed *parsed);
/*
 * programs/side/probe/enable-again.c: resolves the probes of a loaded session again, and enables
 * those that it finds.
 */
load_probes probe_load;
/* The same for the pending probes of a file, when it is executed (CONTROL_SET_PENDING). */
int cmd_probe_set_pending(const struct parsed *parsed);
int cmd_trace(const struct parsed *parsed);
int cmd_report(const struct parsed *parsed);
int cmd_leaks(const struct parsed *parsed);
int cmd_locks(const struct parsed *parsed);
int cmd_calls(const struct parsed *parsed);
int cmd_slow(const struct parsed *parsed);
int cmd_flame(const struct parsed *parsed);
int cmd_diff(const struct parsed *parsed);
int cmd_explore(const struct parsed *parsed);
int cmd_export(const struct parsed *parsed);
int cmd_session(const struct parsed *parsed);
int cmd_regenerate(const struct parsed *parsed);
int cmd_status(const struct parsed *parsed);
int cmd_save(const struct parsed *parsed);
int cmd_load(const struct parsed *parsed, load_probes *probes);
int cmd_top(const struct parsed *parsed);
int cmd_daemon(const struct parsed *parsed);
int cmd_doctor(const struct parsed *parsed);
int cmd_complete(const struct parsed *parsed);
int cmd_send(const struct parsed *parsed);
int cmd_receive(const struct parsed *parsed);
int cmd_help(const struct parsed *parsed);

#endif /* PROGRAMS_COMMON_COMMAND_H */
