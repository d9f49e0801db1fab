/* SPDX-License-Identifier: MIT */
/*
 * Find the program to trace in a command of programs that start another one.
 *
 * side skips the options of these programs as their manuals describe them. It refuses options that
 * would keep the recorder from the program, or that leave open which program is started, before
 * anything runs.
 */
#include "trace-starter.h"

#include "programs/common/command.h"
#include "programs/common/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STARTERS_MAX 32 /* nested */

struct starter {
	const char *name;
	const char *takes;      /* short options with an argument */
	const char *long_takes; /* long options, with blanks between and around them */
	const char *stops; /* short options that are refused: they start no program, or the … */
	const char *long_stops; /* … recorder cannot enter it */
	unsigned int operands;  /* before the program */
	bool has_variables;     /* NAME=VALUE before the program */
	bool has_machine;       /* the name of an architecture may be first */
	bool has_numbers;       /* -5 is an option */
	bool changes_user;      /* starts the program with other rights and another environment */
	bool translates;        /* executes a translation of the program */
};

/* A table: laid out by hand. */
/* clang-format off */
static const struct starter starters[] = {
	{ .name = "env", .takes = "uC", .long_takes = " unset chdir ", .stops = "iS", .long_stops = " ignore-environment split-string ",
			.has_variables = true },
	{ .name = "nice", .takes = "n", .long_takes = " adjustment ", .has_numbers = true },
	{ .name = "nohup" },
	{ .name = "stdbuf", .takes = "ioe", .long_takes = " input output error " },
	{ .name = "setsid" },
	{ .name = "timeout", .takes = "ks", .long_takes = " kill-after signal ", .operands = 1 },
	{ .name = "time", .takes = "fo", .long_takes = " format output " },
	{ .name = "taskset", .stops = "p", .long_stops = " pid ", .operands = 1 },
	{ .name = "chrt", .takes = "TPD", .long_takes = " sched-runtime sched-period sched-deadline ", .stops = "pm",
			.long_stops = " pid max ", .operands = 1 },
	{ .name = "ionice", .takes = "cn", .long_takes = " class classdata ", .stops = "pPu", .long_stops = " pid pgid uid " },
	{ .name = "numactl", .takes = "iwmpPNC", .long_takes = " interleave weighted-interleave membind preferred preferred-many cpunodebind physcpubind " },
	{ .name = "setarch", .has_machine = true },
	{ .name = "linux64" }, { .name = "linux32" }, { .name = "x86_64" }, { .name = "i386" },
	{ .name = "unshare", .takes = "wl", .long_takes = " wd propagation setgroups map-user map-group map-users map-groups monotonic boottime load-interp ", .stops = "RSG", .long_stops = " root setuid setgid " },
	{ .name = "strace", .takes = "aebEIoOPsSUX", .long_takes = " trace trace-fds signal status detach-on inject fault kvm raw read write quiet silent silence abbrev verbose columns output string-limit trace-path env interruptible const-print-style summary-columns summary-sort-by summary-syscall-overhead stack-trace-frame-limit ",
			.stops = "pu", .long_stops = " attach user " },
	{ .name = "sudo", .takes = "ugCDhprtTUR", .long_takes = " user group close-from chdir host prompt role type command-timeout other-user chroot ", .has_variables = true, .changes_user = true },
	{ .name = "doas", .takes = "uC", .changes_user = true },
	{ .name = "pkexec", .long_takes = " user ", .changes_user = true },
	{ .name = "su", .changes_user = true },
	{ .name = "runuser", .changes_user = true },
	{ .name = "valgrind", .translates = true },
};
/* clang-format on */

/*
 * A name without a directory, or in a system directory. Elsewhere it may be any program of that
 * name.
 */
static const struct starter *starter_of(const char *word)
{
	static const char *const directories[] = {"/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/"};
	const char *slash = strrchr(word, '/'), *name = slash ? slash + 1 : word;
	bool is_known = !slash;

	for (size_t i = 0; i < sizeof(directories) / sizeof(*directories) && !is_known; i++)
		is_known = strlen(directories[i]) == (size_t)(name - word) &&
				!strncmp(word, directories[i], (size_t)(name - word));
	for (size_t i = 0; i < sizeof(starters) / sizeof(*starters) && is_known; i++)
		if (!strcmp(starters[i].name, name))
			return &starters[i];
	return NULL;
}

/* Whether the long option is in the list. getopt accepts abbreviations, too. */
static bool starter_lists(const char *list, const char *option, size_t size)
{
	for (const char *at = list; at && size && (at = strchr(at, ' ')) && at[1]; at++)
		if (!strncmp(at + 1, option, size))
			return true;
	return false;
}

static int starter_refuse(const struct starter *starter, const char *word, const char *hint)
{
	return message_error(COMMAND_USAGE, hint,
			"cannot trace through `%.32s %.64s`: it starts no program, or one that cannot load the agent",
			starter->name, word);
}

/* `letter`: of the short option, or the first letter of the long option's name. */
static int starter_refuse_option(const struct starter *starter, const char *word, char letter)
{
	bool is_env = !strcmp(starter->name, "env");

	if (is_env && letter != 'S' && letter != 's')
		return message_error(COMMAND_USAGE,
				"write it before side: `env -i side trace -c COMMAND`",
				"cannot trace through `env %.64s`: it removes LD_PRELOAD, which loads the agent",
				word);
	return starter_refuse(starter, word,
			is_env ? "write the arguments of `-S` without `-S`"
			       : "name the program alone in `-c`, or a running process by `-p PID`");
}

/* The command must not change variables that load the recorder. */
static bool starter_is_ours(const char *name)
{
	return !strncmp(name, "LD_PRELOAD", 10) || !strncmp(name, "SIDE_AGENT", 10);
}

static int starter_refuse_variable(const struct starter *starter, const char *word)
{
	return message_error(COMMAND_USAGE, "leave the variable out, or set it before `side`",
			"cannot trace through `%.32s`: it changes `%.*s`, which loads the agent",
			starter->name, (int)strcspn(word, "="), word);
}

/* The state of the walk through the arguments. */
struct command_walk {
	char *const *args;
	size_t at, count;
	bool global;
	const char *directory; /* in which to find the program; NULL: the current one */
	const char *path;      /* PATH; NULL: the current one */
};

/*
 * An option that takes an argument: its letter, or the first `size` bytes of its long name, which
 * may be abbreviated.
 */
struct starter_option {
	char letter;
	const char *name;
	size_t size;
};

static bool starter_is_option(const struct starter_option *option, char letter, const char *name)
{
	return option->name ? !strncmp(name, option->name, option->size) : option->letter == letter;
}

static int starter_note(struct command_walk *walk, const struct starter *starter,
		const struct starter_option *option, const char *value)
{
	bool is_env = !strcmp(starter->name, "env"), is_strace = !strcmp(starter->name, "strace");
	bool removes = is_env && starter_is_option(option, 'u', "unset");
	bool sets = is_strace && starter_is_option(option, 'E', "env");

	if (value && !walk->global && (removes || sets) && starter_is_ours(value))
		return starter_refuse_variable(starter, value);
	if (is_env && starter_is_option(option, 'C', "chdir"))
		walk->directory = value;
	if (!strcmp(starter->name, "unshare") && starter_is_option(option, 'w', "wd"))
		walk->directory = value;
	return COMMAND_DONE;
}

static int starter_long(struct command_walk *walk, const struct starter *starter)
{
	const char *word = walk->args[walk->at++], *name = word + 2;
	size_t size = strcspn(name, "=");
	const char *value = name[size] ? name + size + 1 : NULL;
	const struct starter_option option = {.name = name, .size = size};

	if (!walk->global && starter_lists(starter->long_stops, name, size))
		return starter_refuse_option(starter, word, *name);
	if (!starter_lists(starter->long_takes, name, size))
		return COMMAND_DONE;
	if (!value && walk->at < walk->count)
		value = walk->args[walk->at++];
	return starter_note(walk, starter, &option, value);
}

static int starter_short(struct command_walk *walk, const struct starter *starter)
{
	const char *word = walk->args[walk->at++];

	if (starter->has_numbers && strspn(word + 1, "+-0123456789") == strlen(word + 1))
		return COMMAND_DONE;
	for (const char *letter = word + 1; *letter; letter++) {
		const char *value = letter[1] ? letter + 1 : NULL;
		const struct starter_option option = {.letter = *letter};

		if (!walk->global && starter->stops && strchr(starter->stops, *letter))
			return starter_refuse_option(starter, word, *letter);
		if (!starter->takes || !strchr(starter->takes, *letter))
			continue;
		if (!value && walk->at < walk->count)
			value = walk->args[walk->at++];
		return starter_note(walk, starter, &option, value);
	}
	return COMMAND_DONE;
}

static int starter_options(struct command_walk *walk, const struct starter *starter)
{
	int status = COMMAND_DONE;

	while (!status && walk->at < walk->count && *walk->args[walk->at] == '-') {
		const char *word = walk->args[walk->at];

		if (!strcmp(word, "--")) {
			walk->at++;
			break;
		}
		if (!strcmp(word, "-")) /* `env -` is `env -i` */
			status = walk->global ? (int)!++walk->at
					      : starter_refuse_option(starter, word, 'i');
		else
			status = word[1] == '-' ? starter_long(walk, starter)
						: starter_short(walk, starter);
	}
	return status;
}

static int starter_operands(struct command_walk *walk, const struct starter *starter)
{
	while (starter->has_variables && walk->at < walk->count &&
			strchr(walk->args[walk->at], '=')) {
		const char *word = walk->args[walk->at++];

		if (!walk->global && starter_is_ours(word))
			return starter_refuse_variable(starter, word);
		if (!strncmp(word, "PATH=", 5))
			walk->path = word + 5;
	}
	walk->at += starter->operands;
	return COMMAND_DONE;
}

static bool starter_is_machine(const char *word)
{
	static const char *const machines[] = {
			"x86_64", "linux64", "i386", "i486", "i586", "i686", "linux32", "uname26"};

	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++)
		if (!strcmp(machines[i], word))
			return true;
	return false;
}

/*
 * sudo and similar programs remove LD_PRELOAD, and a recorder of one user does not reach programs
 * of another.
 */
static int starter_refuse_user(const struct starter *starter)
{
	bool is_su = !strcmp(starter->name, "su") || !strcmp(starter->name, "runuser");
	char hint[192];

	snprintf(hint, sizeof(hint),
			"run side as that user: `%s %sside trace -c COMMAND%s`, or let the kernel watch: `--global`",
			starter->name, is_su ? "USER -c \"" : "", is_su ? "\"" : "");
	return message_error(COMMAND_USAGE, hint,
			"cannot trace a program through `%s`: it removes LD_PRELOAD, which loads the agent",
			starter->name);
}

/*
 * Refuse a starter that executes a translation. A probe in the process has no effect there. The
 * kernel's breakpoint would be translated as an instruction of the program, and executing that ends
 * the program.
 */
static int starter_refuse_translator(const struct starter *starter)
{
	return message_error(COMMAND_USAGE,
			"trace the program alone, or record its events: `side record -- valgrind PROGRAM`",
			"cannot trace a program through `%s`: it executes a translation of the program, in which probes have no effect or end the program",
			starter->name);
}

static int starter_skip(struct command_walk *walk, const struct starter *starter)
{
	int status;

	if (starter->translates)
		return starter_refuse_translator(starter);
	if (starter->changes_user && !walk->global)
		return starter_refuse_user(starter);
	walk->at++;
	if (starter->has_machine && walk->at < walk->count &&
			starter_is_machine(walk->args[walk->at]))
		walk->at++;
	status = starter_options(walk, starter);
	return status ? status : starter_operands(walk, starter);
}

/* Search a PATH as execvp() does: an empty element is the current directory. */
static void starter_search(const char *path, const char *name, char program[PATH_MAX])
{
	for (;; path++) {
		size_t size = strcspn(path, ":");

		if ((size_t)snprintf(program, PATH_MAX, "%.*s/%s", size ? (int)size : 1,
				    size ? path : ".", name) < PATH_MAX &&
				!access(program, X_OK))
			return;
		path += size;
		if (!*path)
			break;
	}
	snprintf(program, PATH_MAX, "%s", name);
}

int starter_follow(char *const *args, size_t count, bool global, size_t *ret_at,
		char ret_program[PATH_MAX])
{
	struct command_walk walk = {.args = args, .count = count, .global = global};
	const struct starter *starter;
	size_t at = 0, number = 0;

	while (number++ < STARTERS_MAX && (starter = starter_of(args[at]))) {
		int status = starter_skip(&walk, starter);

		if (status)
			return status;
		/* The starter runs no other program, such as `env` without operands. */
		if (walk.at >= count)
			break;
		at = walk.at;
	}
	*ret_at = at;
	if (at && walk.directory && *args[at] != '/' && strchr(args[at], '/'))
		snprintf(ret_program, PATH_MAX, "%s/%s", walk.directory, args[at]);
	else if (at && walk.path && !strchr(args[at], '/'))
		starter_search(walk.path, args[at], ret_program);
	else
		snprintf(ret_program, PATH_MAX, "%s", args[at]);
	return COMMAND_DONE;
}
