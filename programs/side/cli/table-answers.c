/* SPDX-License-Identifier: MIT */
/* The part of the table for verbs that answer a question; table.c has the rules for texts. */
#include "programs/common/command.h"
#include "table.h"

/* A table: laid out by hand. */
/* clang-format off */

#define ANSWER_LARGE_RINGS "32M, but at most 128M for all rings of a process"
#define ANSWER_LEAKS_RINGS "1M, and with `-p` 32M; at most 32M and 128M for all rings of a process"
#define ANSWER_FLAME_RINGS "32M, but 1M for the bytes of a command; at most 128M for all rings of a process"

/* Options of all of these verbs: what is recorded. `of` begins with a struct answer_options. */
#define ANSWER_OPTIONS(of, size)                                                                     \
	{                                                                                        \
		.letter = 'p',                                                                   \
		.name = "pid",                                                                   \
		.argument = "PID",                                                               \
		.kind = OPTION_NUMBER,                                                           \
		.completion = COMPLETE_PROCESS_ID,                                               \
		.offset = offsetof(struct of, run.pid),                                          \
		.sentence = "Record this running process, until Ctrl-C or until the program ends.", \
	},                                                                                       \
	{                                                                                        \
		.name = "duration",                                                              \
		.argument = "TIME",                                                              \
		.kind = OPTION_TIME,                                                             \
		.offset = offsetof(struct of, run.duration),                                     \
		.standard = "until Ctrl-C, or the end of the program",                           \
		.sentence = "With `-p`: record for TIME: seconds, or a number with ms, s or min.", \
	},                                                                                       \
	{                                                                                        \
		.letter = 'o',                                                                   \
		.name = "output",                                                                \
		.argument = "DIR",                                                               \
		.kind = OPTION_TEXT,                                                             \
		.completion = COMPLETE_DIRECTORY,                                                \
		.offset = offsetof(struct of, run.output),                                       \
		.standard = "a temporary directory, which is removed",                           \
		.sentence = "Keep the recording in DIR.",                                        \
	},                                                                                       \
	{                                                                                        \
		.name = "buffer-size",                                                           \
		.argument = "SIZE",                                                              \
		.kind = OPTION_SIZE,                                                             \
		.offset = offsetof(struct of, run.buffer_size),                                  \
		.standard = size,                                                                \
		.sentence = "Give each CPU of each process a ring of SIZE bytes, rounded to a power of two.", \
	}

#define ANSWER_ROWS_OPTION(of)                                                                   \
	{                                                                                        \
		.name = "rows",                                                                  \
		.argument = "COUNT",                                                             \
		.kind = OPTION_NUMBER,                                                           \
		.offset = offsetof(struct of, rows),                                             \
		.standard = "all",                                                               \
		.sentence = "Show at most COUNT functions.",                                     \
	}

#define ANSWER_OPERANDS \
	"COMMAND runs until it ends, with its own standard input, output and error. " \
	"The table follows on standard output. " \
	"DIR is a trace that `-o` has kept. " \
	"SESSION is a session, whose trace is read if no program has this name. " \
	"Options of side come before COMMAND."

/* leaks */

const struct option command_leaks_options[] = {
	ANSWER_OPTIONS(leaks_arguments, ANSWER_LEAKS_RINGS),
	{
		.name = "older",
		.argument = "TIME",
		.kind = OPTION_TIME,
		.offset = offsetof(struct leaks_arguments, answer.older_ns),
		.sentence = "List only blocks that are at least this old when the recording of their process ends: seconds, or a number with ms, s or min.",
	},
	{
		.name = "rows",
		.argument = "COUNT",
		.kind = OPTION_NUMBER,
		.offset = offsetof(struct leaks_arguments, answer.rows),
		.standard = "20; with `--json` all",
		.sentence = "List at most COUNT stacks.",
	},
	{
		.name = "frames",
		.argument = "COUNT",
		.kind = OPTION_NUMBER,
		.offset = offsetof(struct leaks_arguments, answer.frames),
		.standard = "8; with `--json` all",
		.sentence = "Print at most COUNT functions of each stack, the innermost ones.",
	},
	{
		.name = "mmap",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct leaks_arguments, answer.mmap),
		.sentence = "Also list mappings that the program made with `mmap` and `mremap`. Each part that remains of a partly unmapped mapping is a block. Not with `-p`.",
	},
	{
		.name = "debuginfod",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct leaks_arguments, answer.debuginfod),
		.sentence = "Get missing debug information from the servers in DEBUGINFOD_URLS.",
	},
	{ .name = NULL },
};

const char *const command_leaks_paragraphs[] = {
	"Records the calls of the allocator and lists the blocks of memory that are alive at the end, by the stack that allocated them. "
	"It also lists blocks that were freed twice.",
	"With COMMAND, the answer comes after its end. "
	"A command waits while its ring is full, so that no event is lost. "
	"If the recorder dies, the command waits for one second at most. "
	"With `-p`, only blocks that were allocated during the recording count. "
	"With DIR, the answer comes from a trace that `-o` has kept. "
	"Other recordings of `side record -w libc` also serve; without `--context backtrace`, their stacks have one function.",
	"A block is alive if nothing has freed it; that the program still has a pointer to it makes no difference. "
	"GROWTH shows when these blocks were allocated, in eighths of the recording: a cache fills at the beginning, a leak grows to the end.",
	"The allocator is the one that the program calls: that of the C library, or of another library, such as jemalloc. "
	"C++ operators that such an allocator defines are not recorded with `-p`, nor in libraries that are loaded later. "
	"With `-p`, blocks of `posix_memalign` are not visible either; its calls are counted. "
	"If events were lost, the answer is approximate, and a line reports that.",
	"The exit status is that of COMMAND, and 0 for a trace.",
	NULL,
};

const struct example command_leaks_examples[] = {
	{ "side leaks ./server --once",
		"List what a program did not free." },
	{ "side leaks -p 4711 --duration 60s --older 30s",
		"List blocks that a running program has kept for 30 seconds." },
	{ "side leaks -o heap ./server --once",
		"Keep the recording." },
	{ "side leaks heap --frames 20 --rows 5",
		"Answer from the recording again." },
	{ "side leaks --json heap | jq 'select(.type == \"leak\").bytes'",
		"Print the leaked bytes of each stack." },
	{ .command = NULL },
};

/* locks */

const struct option command_locks_options[] = {
	ANSWER_OPTIONS(locks_arguments, ANSWER_LARGE_RINGS),
	{
		.name = "rows",
		.argument = "COUNT",
		.kind = OPTION_NUMBER,
		.offset = offsetof(struct locks_arguments, answer.rows),
		.standard = "10; with `--json` all",
		.sentence = "List at most COUNT locks in each table, and their stacks.",
	},
	{
		.name = "debuginfod",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct locks_arguments, answer.debuginfod),
		.sentence = "Get missing debug information from the servers in DEBUGINFOD_URLS.",
	},
	{ .name = NULL },
};

const char *const command_locks_paragraphs[] = {
	"Records the calls of the thread library and lists mutexes, read-write locks, spin locks, condition variables, semaphores and barriers, by the time that threads waited for them. "
	"It prints deadlocks first: which thread waits for which lock, and where the lock was taken.",
	"An attempt is contended if another thread of the process held the lock at some time between the call and its return. "
	"WAITED and the WAIT columns are the time of contended attempts; HOLD is the time from taking to releasing. "
	"Below the table, the stacks of waiting threads are beside the stacks that held the lock when the wait began.",
	"A condition, semaphore or barrier has no holder. "
	"The second table lists the time that threads waited for them, which is normal for a thread without work.",
	"With COMMAND, the answer comes after its end; if it hangs, press Ctrl-C. "
	"With `-p`, locks that are held already when the recording begins have no known holder. "
	"With DIR, the answer comes from a trace that `-o` or `side record -w pthread --context vtid,backtrace` wrote.",
	"Locks that several processes share are followed in each process alone. "
	"A wait of a millisecond or more without a known holder counts as waiting time, but not as contended. "
	"Durations during which events were lost do not count, and no deadlock is concluded from them.",
	"The exit status is that of COMMAND, and 0 for a trace.",
	NULL,
};

const struct example command_locks_examples[] = {
	{ "side locks ./server --once",
		"Find the locks that a program waits for." },
	{ "side locks -p 4711 --duration 10s",
		"Watch a running program for ten seconds." },
	{ "side locks -o locks ./server --once",
		"Keep the recording." },
	{ "side locks --rows 3 locks",
		"Answer from the recording again, with three locks in each table." },
	{ "side locks --json locks | jq 'select(.type == \"deadlock\")'",
		"Print deadlocks for a program." },
	{ .command = NULL },
};

/* calls */

const struct option table_calls_options[] = {
	{
		.name = "library",
		.argument = "LIBRARY",
		.kind = OPTION_LIST,
		.offset = offsetof(struct function_arguments, names),
		.standard = "all libraries",
		.sentence = "Count calls of this library: its name, the beginning of its name, or a glob, such as `libc` or `libssl`. Can be given several times.",
	},
	{
		.name = "all",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct function_arguments, all),
		.sentence = "Count calls of all functions of the libraries. The default is the functions that the executable imports.",
	},
	ANSWER_ROWS_OPTION(function_arguments),
	ANSWER_OPTIONS(function_arguments, ANSWER_LARGE_RINGS),
	{ .name = NULL },
};

const char *const table_calls_paragraphs[] = {
	"Counts the calls of library functions, and measures them: `strace -c` for libraries. "
	"The functions are those that the executable imports, so no option is needed. "
	"A call of such a function by another function counts as well.",
	ANSWER_OPERANDS,
	"TOTAL contains nested calls of other functions, and of recursive calls only the outermost one. "
	"ERRORS counts calls of functions of the C library that returned an error: -1, NULL or the number of an error. "
	"`-`: side does not know how the function reports errors, or its return is not visible. "
	"The times contain the cost of measuring the nested calls.",
	"Libraries that COMMAND loads at run time, such as plugins, are not measured; with `-p` those that are loaded already are. "
	"If events were lost, a note reports it.",
	"The exit status is that of COMMAND, and 0 for a trace.",
	NULL,
};

const struct example table_calls_examples[] = {
	{ "side calls ls -l",
		"Count the library calls of a command." },
	{ "side calls --library libz --all ./server --once",
		"Count all calls of one library, also those of other libraries." },
	{ "side calls -p 4711 --library libc --duration 10s",
		"Count what a running program calls in ten seconds." },
	{ "side calls -o calls ./server --once",
		"Keep the recording." },
	{ "side calls calls --rows 10",
		"Show the ten functions with the most time of a recording." },
	{ "side calls --json calls | jq -r 'select(.errors > 0) | .function'",
		"Print the functions that failed." },
	{ .command = NULL },
};

/* slow */

const struct option table_slow_options[] = {
	{
		.name = "function",
		.argument = "LOCATION",
		.kind = OPTION_LIST,
		.offset = offsetof(struct function_arguments, names),
		.standard = "all functions of the program",
		.sentence = "Measure these functions, such as `handle_request`, `'net_*'` or `'libsqlite3:*'`. Can be given several times; see `side help probes`.",
	},
	{
		.name = "off-cpu",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct function_arguments, off_cpu),
		.sentence = "Also measure for which share of its time a function did not run on a processor, because it waited or other threads ran. This adds a system call to each entry and return.",
	},
	ANSWER_ROWS_OPTION(function_arguments),
	ANSWER_OPTIONS(function_arguments, ANSWER_LARGE_RINGS),
	{ .name = NULL },
};

const char *const table_slow_paragraphs[] = {
	"Measures the functions of a program and lists them by the time that they spent in their own code. "
	"The program needs symbols, but no changes and no restart.",
	ANSWER_OPERANDS,
	"SELF is the time without the called functions that are measured as well. "
	"TOTAL contains them; of recursive calls it contains only the outermost one. "
	"P50, P99 and MAX are durations of single calls. "
	"OFF-CPU is `-` without `--off-cpu`.",
	"The cost of measuring a call is part of the time of its caller. "
	"If small functions are called very often, name the interesting ones with `--function`.",
	"If events were lost, a note reports it. "
	"The exit status is that of COMMAND, and 0 for a trace.",
	NULL,
};

const struct example table_slow_examples[] = {
	{ "side slow ./server --once",
		"Find the slow functions of a program." },
	{ "side slow --off-cpu --function 'handle_*' -p 4711 --duration 10s",
		"Find out whether functions of a running program compute or wait." },
	{ "side slow --function 'libsqlite3:*' --rows 20 sqlite3 my.db .schema",
		"Measure a library." },
	{ "side slow -o trace ./server --once",
		"Keep the recording." },
	{ "side slow --json trace | jq -r 'select(.p99_ns > 1000000) | .function'",
		"Print functions whose slowest hundredth takes more than a millisecond." },
	{ .command = NULL },
};

/* flame */

const char *const command_flame_formats[] = { "text", "folded", "speedscope", "pprof", "svg", NULL };

const struct option table_flame_options[] = {
	{
		.name = "weight",
		.argument = "WEIGHT",
		.kind = OPTION_CHOICE,
		.completion = COMPLETE_CHOICE,
		.offset = offsetof(struct flame_arguments, answer.weight),
		.choices = command_flame_weights,
		.standard = "auto: time if there are calls, otherwise count",
		.sentence = "Weigh call paths by time (of calls), count, bytes (allocated), wait (for locks), on-cpu or off-cpu. count is of events or calls; on-cpu and off-cpu are parts of the time of calls.",
	},
	{
		.letter = 'b',
		.name = "by",
		.argument = "WHAT",
		.kind = OPTION_CHOICE,
		.completion = COMPLETE_CHOICE,
		.offset = offsetof(struct flame_arguments, answer.by),
		.choices = command_flame_groups,
		.standard = "nothing: equal call paths are one",
		.sentence = "Keep each process or thread apart.",
	},
	{
		.name = "function",
		.argument = "LOCATION",
		.kind = OPTION_LIST,
		.offset = offsetof(struct flame_arguments, names),
		.standard = "all functions of the program",
		.sentence = "For time, on-cpu and off-cpu: record these functions, such as `handle_request`, `'net_*'` or `'libsqlite3:*'`. Can be given several times; see `side help probes`.",
	},
	{
		.letter = 'e',
		.name = "event",
		.argument = "PATTERN",
		.kind = OPTION_LIST,
		.completion = COMPLETE_EVENT,
		.offset = offsetof(struct flame_arguments, answer.patterns),
		.standard = "all events",
		.sentence = "Use only the events of the trace that match PATTERN. Can be given several times; see `side help patterns`.",
	},
	{
		.name = "base",
		.argument = "DIR",
		.kind = OPTION_TEXT,
		.completion = COMPLETE_DIRECTORY,
		.offset = offsetof(struct flame_arguments, base),
		.sentence = "Compare with the trace in DIR: show the weights of both, and the difference.",
	},
	{
		.name = "format",
		.argument = "FORMAT",
		.kind = OPTION_CHOICE,
		.completion = COMPLETE_CHOICE,
		.offset = offsetof(struct flame_arguments, format),
		.choices = command_flame_formats,
		.standard = "text",
		.sentence = "Print a table (text), or what `side export` writes: folded, speedscope, pprof, svg (a picture).",
	},
	{
		.name = "rows",
		.argument = "COUNT",
		.kind = OPTION_NUMBER,
		.offset = offsetof(struct flame_arguments, rows),
		.standard = "40; with `--json` all",
		.sentence = "Show the COUNT call paths with the largest weights.",
	},
	{
		.name = "debuginfod",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct flame_arguments, answer.debuginfod),
		.sentence = "Get missing debug information from the servers in DEBUGINFOD_URLS.",
	},
	ANSWER_OPTIONS(flame_arguments, ANSWER_FLAME_RINGS),
	{ .name = NULL },
};

const char *const table_flame_paragraphs[] = {
	"Shows how a program came to use its time, its memory or its locks: each function below the one that called it. "
	"TOTAL is the weight of a call path with the functions that it called, SELF the weight without them, SHARE its part of all. "
	"COUNT is the number of calls or events of the path itself.",
	ANSWER_OPERANDS,
	"A command or a process is recorded as the weight needs: all of its functions, the calls of its allocator (bytes), or its locks (wait). "
	"For `--weight count`, give a trace. "
	"Paths come from the calls of a call trace, otherwise from the stack of each event. "
	"The path `(others)` has the weight without a known path.",
	"The cost of measuring a call is part of the time of its caller. "
	"If events were lost, a note reports it. "
	"The exit status is that of COMMAND, and 0 for a trace.",
	NULL,
};

const struct example table_flame_examples[] = {
	{ "side flame ./server --once",
		"Show where a program spends its time, by call path." },
	{ "side flame --weight bytes ./server --once",
		"Show which call paths allocate memory." },
	{ "side flame --weight wait -p 4711 --duration 10s",
		"Show where a running program waits for locks." },
	{ "side flame -o after ./server --once",
		"Keep the recording." },
	{ "side flame after --base before",
		"Compare the call paths of two recordings." },
	{ "side flame after --format svg > after.svg",
		"Draw a picture." },
	{ .command = NULL },
};

/* diff */

const struct option table_diff_options[] = {
	{
		.letter = 'e',
		.name = "event",
		.argument = "PATTERN",
		.kind = OPTION_LIST,
		.completion = COMPLETE_EVENT,
		.offset = offsetof(struct diff_arguments, answer.patterns),
		.standard = "all events",
		.sentence = "Compare the events that match PATTERN. Can be given several times; see `side help patterns`.",
	},
	{
		.name = "pair",
		.argument = "BEGIN END",
		.two = true,
		.kind = OPTION_LIST,
		.completion = COMPLETE_EVENT,
		.offset = offsetof(struct diff_arguments, answer.pairs),
		.sentence = "Also compare the time from each event that matches the pattern BEGIN to the next matching END. Can be given several times.",
	},
	{
		.name = "key",
		.argument = "EXPRESSION",
		.kind = OPTION_TEXT,
		.offset = offsetof(struct diff_arguments, answer.key),
		.standard = "the thread if it was recorded (context vtid), otherwise the process",
		.sentence = "With `--pair`: events belong together if EXPRESSION has the same value in both, in one process.",
	},
	{
		.name = "rate",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct diff_arguments, answer.rate),
		.sentence = "Compare counts and bytes per second, for recordings of different lengths.",
	},
	{
		.name = "above",
		.argument = "PERCENT",
		.kind = OPTION_TEXT,
		.offset = offsetof(struct diff_arguments, above),
		.standard = "5%",
		.sentence = "Ignore changes of less than PERCENT.",
	},
	{
		.name = "least",
		.argument = "COUNT",
		.kind = OPTION_NUMBER,
		.offset = offsetof(struct diff_arguments, answer.least),
		.standard = "20",
		.sentence = "Compare only what happened at least COUNT times: durations in both traces, counts and bytes in one of them.",
	},
	{
		.name = "fail-above",
		.argument = "PERCENT",
		.kind = OPTION_TEXT,
		.offset = offsetof(struct diff_arguments, fail_above),
		.sentence = "Exit with the status 6 if something became slower, more frequent or larger by more than PERCENT.",
	},
	{
		.name = "rows",
		.argument = "COUNT",
		.kind = OPTION_NUMBER,
		.offset = offsetof(struct diff_arguments, rows),
		.standard = "all",
		.sentence = "Show at most COUNT changes.",
	},
	{
		.name = "debuginfod",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct diff_arguments, answer.debuginfod),
		.sentence = "Get missing debug information from the servers in DEBUGINFOD_URLS.",
	},
	{ .name = NULL },
};

const char *const table_diff_paragraphs[] = {
	"Compares the trace AFTER with the trace BEFORE and lists the changes, the largest effect first. "
	"Each is a directory, or the name of a session. "
	"MEASURE is time (of a call, without called functions), pair (`--pair`), calls (of a function), events (their number) or bytes (that a call path allocated).",
	"Durations are compared by their medians and their 90th percentiles. "
	"A change counts only if the variation within both traces does not explain it, with a confidence of 99.99%. "
	"Changes of less than 20 ns are ignored. "
	"So a function that only calls a slower one is not listed.",
	"Counts and bytes are compared only if no events were lost. "
	"A change of a count that chance can explain (3.9 standard deviations) is ignored. "
	"Two runs on a machine with different loads differ everywhere: compare runs under equal conditions.",
	"The exit status is 0, also with changes, unless `--fail-above` is given. "
	"New events and functions are listed, and are no reason to fail.",
	NULL,
};

const struct example table_diff_examples[] = {
	{ "side slow -o before ./server --once",
		"Record the program before a change; afterwards, record it as `after`." },
	{ "side diff before after",
		"List the changes." },
	{ "side diff before after --fail-above 10%",
		"Fail a test if something became more than 10% worse." },
	{ "side diff before after --pair 'db:query_begin' 'db:query_end' --key id",
		"Compare the durations of queries." },
	{ "side diff --json before after | jq -r 'select(.verdict == \"worse\") | .name'",
		"Print the names of all measures that became worse." },
	{ .command = NULL },
};

/* explore */

const struct option table_explore_options[] = {
	{
		.name = "filter",
		.argument = "EXPRESSION",
		.kind = OPTION_TEXT,
		.offset = offsetof(struct explore_arguments, filter),
		.sentence = "Show only events for which EXPRESSION is true, as in `side report --filter`; the key \\ changes it.",
	},
	{
		.name = "function",
		.argument = "LOCATION",
		.kind = OPTION_LIST,
		.offset = offsetof(struct explore_arguments, names),
		.standard = "all functions of the program",
		.sentence = "With `-p`: record calls of these functions. Can be given several times; see `side help probes`.",
	},
	ANSWER_OPTIONS(explore_arguments, ANSWER_LARGE_RINGS),
	{ .name = NULL },
};

const char *const table_explore_paragraphs[] = {
	"Shows a trace on the whole terminal: summary, functions with their times, call tree, events, event classes, threads, stacks, leaks and locks. "
	"The numbers are those of `side report`, `side flame`, `side leaks` and `side locks`.",
	"F2 to F9, F11 or a letter selects a view, and arrow keys move. "
	"Enter expands a branch or shows a whole row, / searches, and q quits. "
	"The key ? lists all keys.",
	"With `-p`, side records the calls of functions of a running program and reads them again each second; p pauses. "
	"If reading a trace takes long, side reads it less often. "
	"The views of leaks and locks begin recordings of their own when you first select them, as `side leaks -p` and `side locks -p` do. "
	"All recordings end when you quit. "
	"They are removed, but `-o` keeps the one of the functions.",
	"The terminal needs at least 40x10 characters. "
	"There are no colours if NO_COLOR is set.",
	NULL,
};

const struct example table_explore_examples[] = {
	{ "side explore trace",
		"Look at a trace." },
	{ "side explore trace --filter 'vtid == 4711'",
		"Look at the events of one thread." },
	{ "side explore -p 4711",
		"Look at the functions of a running program." },
	{ "side explore -p 4711 --function 'handle_*' -o trace",
		"Record some functions only, and keep the recording." },
	{ .command = NULL },
};

/* clang-format on */
