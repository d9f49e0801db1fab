/* SPDX-License-Identifier: MIT */
/*
 * programs/side: the command line.
 *
 * table.c says once which verbs, options and topics exist. Everything that shows or reads them
 * works from it: parse.c (argv into values), help.c (--help), manual.c (man pages), markdown.c (reference)
 * and complete.c (completions for bash and zsh), the last three in a program that runs at build time (generate.c).
 * What a verb does is in the file with its name: record.c, list.c, view.c.
 */
#ifndef PROGRAMS_COMMON_COMMAND_H
#define PROGRAMS_COMMON_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "analysis/report-options.h"
#include "analysis/view-time.h"
#include "base/text-list.h"
#include "export/export-options.h"

/* What the program returns, unless `record` returns what its command returned. */
enum command_status {
	COMMAND_DONE = 0,
	COMMAND_FAILED = 1,
	COMMAND_USAGE = 2,
	COMMAND_NOT_PERMITTED = 3,
	COMMAND_LOST = 4,
	COMMAND_PENDING = 5,
	/* Of `record` and `list -- COMMAND`, as shells and env(1) have them. */
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
	VERB_TOP,
	VERB_DAEMON,
	VERB_DOCTOR,
	VERB_COMPLETE,
	VERB_PROBE,
	VERB_TRACE,
	VERB_KERNEL,
	VERB_SEND,
	VERB_RECEIVE,
	VERB_VERSION,
	VERB_HELP
};

/* How the value of an option is read, and the C type that it is stored as. */
enum option_kind {
	OPTION_FLAG,   /* no argument; bool */
	OPTION_TEXT,   /* const char * */
	OPTION_LIST,   /* may be given several times; struct text_list */
	OPTION_SIZE,   /* bytes, with K, M, G; uint64_t */
	OPTION_NUMBER, /* uint64_t */
	OPTION_TIME,   /* seconds, or with a unit; uint64_t, nanoseconds */
	OPTION_CHOICE, /* one of the words in choices; int, the index */
};

/* The value of an OPTION_NUMBER whose optional argument was left out. */
#define OPTION_BARE UINT64_MAX

/* What a shell offers to complete an option's argument or an operand. */
enum completion {
	COMPLETE_NONE,
	COMPLETE_FILE,
	COMPLETE_DIRECTORY,
	COMPLETE_COMMAND,
	COMPLETE_COMMAND_OR_FILE,
	COMPLETE_EVENT,
	COMPLETE_CHOICE,
	COMPLETE_CONTEXT, /* names with commas between them */
	COMPLETE_VERB,
	/* Of what runs: asked of the daemon. */
	COMPLETE_SESSION,
	COMPLETE_CHANNEL,
	COMPLETE_PROCESS,
	COMPLETE_PROCESS_ID,
};

struct option {
	char letter; /* 0: long form only */
	const char *name;
	/* Earlier forms: accepted until the release after 0.1, and in no help text or completion. 0, NULL: none. */
	char former_letter;
	const char *former_name;
	const char *argument; /* what it is called in help; NULL for a flag */
	bool optional;        /* the argument may be left out, and follows `=` only … */
	bool digits_follow;   /* … or is the next word, if that is a number */
	bool two;     /* two arguments, the second one always a word of its own; OPTION_LIST */
	bool ordered; /* `offset` is that of a struct option_uses: the order counts */
	bool units; /* OPTION_TIME: a number alone is refused, by which other tracers mean microseconds here */
	enum option_kind kind;
	enum completion completion;
	size_t offset;              /* of the value in the struct of the verb */
	const char *const *choices; /* COMPLETE_CHOICE: words, ends with NULL */
	const char *standard; /* what holds when the option is not given; NULL: nothing to say */
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
	bool command_follows; /* the first operand ends the options, the rest is a command's own */
	unsigned int min_operands;
	unsigned int max_operands; /* 0: any number */
	const char *missing;       /* sentence when there are fewer than min_operands */
	const char *summary;       /* one line, for lists of verbs */
	const char *const *paragraphs;
	const struct option *options; /* ends with name NULL */
	const struct example *examples;
	const char *const *see_also; /* names of other verbs, sorted */
};

/* Something that has a section of its own in side(1) and in `side help TOPIC`. */
struct topic {
	const char *name;
	const char *summary;
	const char *const *paragraphs;
	const struct term {
		const char *word;
		const char *sentence;
	} * terms; /* ends with word NULL; NULL: there are none, or they are those of contexts.c */
};

/* What was given for options whose order has a meaning, in that order. */
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

/* Options that every verb has. */
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

/* `--global`, and whose hits count: programs/side/probe/global.c. */
struct global_arguments {
	bool never; /* `--no-uprobe`: not even of one process, where only a breakpoint could be */
	bool on;
	bool forced;    /* watch returns even in files that handle exceptions */
	const char *by; /* NULL: the first way that works */
	struct text_list uids, cgroups, comms;
};

struct record_options {
	struct option_uses channels; /* all that belongs to a channel: channels.c */
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
	const char *to; /* also send it there */
	uint64_t spool;
	uint64_t timeout;          /* of sending; 0: not given */
	struct option_uses kernel; /* --kernel, --kernel-filter: programs/side/record/kernel.c */
	bool kernel_all;
	uint64_t kernel_buffer;
	int kernel_backend; /* enum kernel_record_way */
	/* Of `trace`. */
	struct option_uses probes;
	struct text_list contexts;
	const char *command, *filter;
	struct global_arguments global;
	uint64_t pid; /* a program that runs, or, with `--global`, whose hits count; 0: not given */
	uint64_t duration;
	uint64_t buffer_size; /* 0: not given */
	bool in_sandbox;
	const char *exe;
};

/* `attach` and `detach`. */
struct attach_options {
	uint64_t pid;
	struct option_uses channels; /* as in struct record_options */
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

/* Of all verbs that ask the daemon (table-session.c); each has a part of them. */
struct control_options {
	struct option_uses asked; /* what goes into the request as it is */
	const char *session;
	struct text_list exclude;
	struct text_list contexts;
	const char *loglevel;
	const char *loglevel_only;
	const char *file;
	struct option_uses
			probes; /* in order, which decides the spec of an option: spec-options.c */
	uint64_t pid;           /* of the program that is probed; 0: not given */
	const char *exe;
	struct global_arguments global;
	bool kernel;  /* events of the kernel: kernel-session.c */
	bool syscall; /* those of system calls, by the names of these */
	uint64_t kernel_buffer;
	int kernel_backend; /* enum kernel_record_way */
	bool all;
	bool userspace;
	bool stop; /* of `daemon` */
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
	bool no_daemon;
	bool system;
};

struct doctor_options {
	const char *root;
};

struct probe_options {
	bool sdt;
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
	struct export_options export;
	struct control_options control;
	struct top_options top;
	struct doctor_options doctor;
	struct send_arguments send;
	struct receive_arguments receive;
};

/* table-analysis.c: the verbs that make something else of a trace. */
extern const struct option command_report_options[], command_export_options[];
extern const char *const command_report_paragraphs[], *const command_export_paragraphs[];
extern const struct example command_report_examples[], command_export_examples[];
/* In the order of enum export_format; ends with NULL. */
extern const char *const command_export_formats[];

/* table.c. Each array ends with an entry whose name is NULL. */
extern const struct verb command_verbs[];
extern const struct option command_common_options[];
extern const struct topic command_topics[];
extern const char *const command_introduction[];
extern const struct example command_examples[];
extern const char command_summary[];

const struct verb *command_find_verb(const char *name);
const struct topic *command_find_topic(const char *name);

/* parse.c */
struct parsed {
	const struct verb *verb; /* NULL: none was given */
	struct common_options common;
	union verb_options options;
	char **operands; /* inside argv, ends with NULL */
	int operand_count;
	bool dashes; /* a "--" stood before the operands */
	char **args; /* the command line as it was, for side-more; NULL: not kept */
	struct text_list
			kept; /* texts that were made of arguments: each is freed with the others */
};

/* What is wrong with a command line, for a person. */
struct parse_error {
	char message[512];
	char hint[1024]; /* what to do about it; may be empty */
	const struct verb *verb;
};

/* 0, or -EINVAL with *error filled in. parsed_free() in both cases. Reorders argv. */
int parse_command_line(int argc, char **argv, struct parsed *parsed, struct parse_error *error);
void parsed_free(struct parsed *parsed);

/* A word that the verb does not know, among those that it does (NULL ends them): an exit status. */
int command_unknown_word(const struct verb *verb, const char *word, const char *const *args,
		const char *hint);

/* habits.c */

/* What a word of another tool is called here, or NULL; options with their dashes, verb NULL for verbs. */
const char *habits_hint(const struct verb *verb, const char *word);

/* help.c */
void help_print_overview(FILE *out, bool color);
void help_print_verb(FILE *out, const struct verb *verb, bool color);
void help_print_topic(FILE *out, const struct topic *topic, bool color);
void help_print_json(FILE *out, const struct verb *verb);

/* manual.c, markdown.c, complete.c: used at build time only. */
int manual_print(FILE *out, const char *page);
int markdown_print(FILE *out, const char *page);
/* The pages that markdown_print() knows, one a line. */
void markdown_print_names(FILE *out);
void complete_print_bash(FILE *out);
void complete_print_zsh(FILE *out);

/* select.c: the patterns of `-e`, for pattern_set_wants(); free() them. 0 or an exit status. */
struct pattern;
int command_select(const struct text_list *args, struct pattern **patterns);

/* record.c: the exit status for what a session says went wrong (enum session_error_kind). */
int command_session_status(int kind);
struct session;
struct session_error;
struct session_summary;
struct session_options;
/* One recording of the operands, as `side record` makes it; `after` sees the session when its program has ended. */
typedef int command_after_fn(void *user, struct session *session);
int command_record(const struct parsed *parsed, const struct session_options *options,
		command_after_fn *after, void *user);
int command_session_error(const struct session_error *error);
/* For session_on_progress(), with the command line: the line of a recording. */
void command_progress(void *parsed, uint64_t bytes, size_t processes, uint64_t lost);
/* Messages, and the summary in the form that is wanted; `verb` in JSON. */
void command_session_messages(const struct session_summary *summary);
/* Those of a session that goes on (recorder/core/live.h), since the last time. */
void command_live_messages(struct session *session);
void command_session_summary(
		const struct session_summary *summary, const struct parsed *parsed, int status);

struct session_channel;
struct session_probe;

/* What another verb records of a program that runs. */
struct attach_recording {
	const struct session_channel *channel;
	const struct session_probe *probes;
	size_t nr_probes;
	const int *kernel; /* tables of places that the kernel watches: programs/side/probe/kernel.h */
	size_t nr_kernel;
	/* When the program has said what became of them. An exit status but 0 ends the recording. */
	int (*check)(void *user, struct session *session);
	void *user;
};

/* attach.c: as `side attach` does; of `options` channels mean nothing. */
int command_attach_recording(const struct parsed *parsed, const struct attach_options *options,
		const struct attach_recording *recording);
/* attach.c: the program belongs to the daemon, now or already. 0 or an exit status: said. */
int command_attach_daemon(const struct parsed *parsed, int pid);

/* channels.c: from options in their order to the channels of a session. 0 or an exit status. */
struct channel_list;
struct session_channel;
int command_channels(const struct option_uses *uses, bool symbols, struct channel_list **list);
const struct session_channel *channel_list_items(const struct channel_list *list, size_t *count);
void channel_list_free(struct channel_list *list);
/* Level for zstd from the value of --compress, or -1 and *status. */
int command_compression(uint64_t value, int *status);

/* contexts.c: the terms of the topic "contexts". */
const struct term *command_context_terms(void);

/* Called for each session that `load` has loaded, with its definition. 0 or an exit status: said. */
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
/* programs/side/probe/enable-again.c: what of the session's probes can be resolved again is there again. */
load_probes probe_load;
int cmd_trace(const struct parsed *parsed);
int cmd_report(const struct parsed *parsed);
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
