/* SPDX-License-Identifier: MIT */
/* The verb `probe` in the table; its rules for texts stand in table.c. */
#include "table.h"

/* A table: laid out by hand. */
/* clang-format off */

const struct option table_probe_options[] = {
	{
		.name = "sdt",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct probe_options, sdt),
		.sentence = "List markers (SDT, USDT) alone, with their semaphores and who listens; without FILE or PID those of all "
				"programs and libraries that run.",
	},
	{ .name = NULL },
};

const struct option table_trace_options[] = {
	{
		.letter = 'c',
		.name = "command",
		.argument = "COMMAND",
		.kind = OPTION_TEXT,
		.completion = COMPLETE_COMMAND,
		.offset = offsetof(struct record_options, command),
		.sentence = "The program and its arguments, as one text; words with blanks in them stand between quotes.",
	},
	{
		.letter = 'o',
		.name = "output",
		.argument = "DIR",
		.kind = OPTION_TEXT,
		.completion = COMPLETE_DIRECTORY,
		.offset = offsetof(struct record_options, output),
		.standard = "side-DATE-TIME in the current directory",
		.sentence = "Write the trace to DIR.",
	},
	TABLE_PROBE_OPTIONS(record_options),
	TABLE_PRINT_OPTION(record_options, "on standard error; with `-p` on standard output."),
	{
		.name = "filter",
		.argument = "EXPRESSION",
		.kind = OPTION_TEXT,
		.offset = offsetof(struct record_options, filter),
		.sentence = "Record an event only when EXPRESSION is true of it, as in `n > 4096`, or "
				"`duration > 1000000` for calls that took more than a millisecond. Events that lack what it "
				"names are not recorded. See `side help filters`.",
	},
	TABLE_GLOBAL_OPTIONS(record_options),
	{
		.name = "exe",
		.argument = "FILE",
		.kind = OPTION_TEXT,
		.completion = COMPLETE_FILE,
		.offset = offsetof(struct record_options, exe),
		.standard = "the program of COMMAND",
		.sentence = "With `--global`: the program (or library) in which the locations are. Without `-c`, recording goes on until Ctrl-C, or for `--duration`. "
				"/proc/PID/exe and /proc/PID/root/PATH name files of another mount namespace (a container).",
	},
	{
		.letter = 'p',
		.name = "pid",
		.argument = "PID",
		.kind = OPTION_NUMBER,
		.completion = COMPLETE_PROCESS_ID,
		.offset = offsetof(struct record_options, pid),
		.sentence = "The program that is meant runs already: the recorder comes into it, as by `side attach`, and stays "
				"until Ctrl-C, or until the program ends. With `--global`: count the hits of this process alone; "
				"without `--exe` its program and libraries are probed.",
	},
	{
		.name = "buffer-size",
		.argument = "SIZE",
		.kind = OPTION_SIZE,
		.offset = offsetof(struct record_options, buffer_size),
		.standard = "4M, but at most 64M for all rings of a process",
		.sentence = "Give each CPU of each process a ring of SIZE bytes, rounded to a power of two: "
				"larger ones lose less where hits come faster than they can be written.",
	},
	{
		.name = "duration",
		.argument = "TIME",
		.kind = OPTION_TIME,
		.offset = offsetof(struct record_options, duration),
		.standard = "until Ctrl-C, or the end of the program",
		.sentence = "With `-p`, or `--global` without `-c`: record for TIME: seconds, or a number with ms, s or min behind it.",
	},
	{
		.name = "wait",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct record_options, wait_all),
		.sentence = "With `-c`: when COMMAND has ended, record until all processes that it left behind have ended.",
	},
	{
		.name = "in-sandbox",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct record_options, in_sandbox),
		.sentence = "With `-p`: as of `side attach`.",
	},
	{
		.name = "context",
		.argument = "NAME,...",
		.kind = OPTION_LIST,
		.completion = COMPLETE_CONTEXT,
		.offset = offsetof(struct record_options, contexts),
		.sentence = "Record these with each probe: regs, reg:NAME, TYPE:NAME:ADDR, backtrace, and what any event may have "
				"(`side help contexts`).",
	},
	{
		.name = "force",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct record_options, force),
		.sentence = "Write into DIR even if it is not empty. With `--global` and `--exit`, also watch returns of a file that handles exceptions. An exception "
				"that leaves such a function ends the program.",
	},
	{ .name = NULL },
};

const char *const table_trace_paragraphs[] = {
	"Starts a program with probes in place, before its first instruction of its own, and records until it has ended. No daemon "
	"is needed, and the program needs not to be instrumented. Each probe is an event probe:NAME, where NAME is made of what "
	"was said: of `libc:malloc` it is malloc. `--exit`, `--arg` and `--ret` belong to the place before them, or to all if they "
	"stand before the first one.",
	"If COMMAND begins with a program that starts another one, side traces the other one. It knows env, nice, nohup, stdbuf, setsid, timeout, time, "
	"taskset, chrt, ionice, numactl, setarch, unshare and strace, with their options, also nested. side "
	"refuses sudo, `env -i` and others that keep the recorder from the program before anything starts. `--global` needs no recorder in the program.",
	"Of a script the places are those of the program that runs it, such as /usr/bin/dash; a note says which. They are not in what "
	"the script starts.",
	"With `-p` the program runs already, whoever has started it: nobody else is disturbed, no daemon is needed, and it has its "
	"own bytes again when the recording ends. What it forks meanwhile is recorded, too, each process in a trace of its own. "
	"`side attach --help` says where that is refused.",
	"Places that could have a breakpoint only are watched by the kernel where it may be asked (uprobes, of that process alone), "
	"which costs a third; `-v` says how many, and why not the others. Their records are in the trace of `side-uprobes`, with pid, tid "
	"and comm of the hit. `--no-uprobe` sets breakpoints.",
	"The exit status is that of the program that was started.",
	NULL,
};

const struct example table_trace_examples[] = {
	{ "side trace -o trace -c './server --once' --function handle_request --exit", "See how long calls take." },
	{ "side trace -p 4711 -o trace --duration 10s --function handle_request --exit", "See the calls of ten seconds in a program that runs." },
	{ "side trace --global --exe /usr/bin/git --function cmd_main --arg 'string:word:*(%rsi+8)' -o gits", "See, as root, each git that anybody runs, until Ctrl-C." },
	{ "side trace --wait -c 'env LANG=C nice ./server --daemon' --function handle_request", "Trace a server that goes into the background." },
	{ "side trace -c 'ls -l' --function libc:malloc --arg 'u64:size:%rdi'", "Record an argument of a function without debug information." },
	{ .command = NULL },
};

const char *const table_probes_paragraphs[] = {
	"A probe is a place in a program that nobody instrumented. `side enable-event NAME --pid PID` puts it into a process that "
	"runs, `side trace -c COMMAND` into one that it starts; it is an event as any other, with the name `probe:NAME` unless "
	"NAME has a provider. What PLACE may be:",
	NULL,
};

const struct term table_probes_terms[] = {
	{ "handle_request", "A function of the program, or of the one library that has it; globs mean all that match in the program." },
	{ "libc:malloc", "A function of a library, of which the begin of its name is enough." },
	{ "net::Server::read(int)", "As C++ and Rust call it, with or without parameters." },
	{ "handle_request+0x1c", "An instruction in it. Numbers are octal (034), decimal or hexadecimal (0x1c)." },
	{ "0x401136", "An address: as the process has it, else as the file has it. `libfoo:0x1136` is one of the file libfoo." },
	{ "server.c:120", "A line of a source file, where there is debug information." },
	{ "--arg request->path", "A variable by its name, and the way from it: members, `*`, `[2]`. Text to which a `char *` points is "
			"recorded as text." },
	{ "--arg 'string(m->data, m->size)'", "What a length belongs to that only the program knows: text, `bytes(p, n)` as numbers in base 16, `*p@n` as an "
			"array. Without the length `string(p)` ends with the NUL. A length is a number or a variable." },
	{ "--arg 'path=request->path'", "NAME=VALUE chooses what the field is called, whatever VALUE is." },
	{ "--arg s32:n:%edi", "TYPE:NAME:ADDR without debug information. A register alone is the value itself (but of string and bytes, "
			"its address); all else is where in memory it stands: `%rdi+0x10`, `*(%rdi+8)+4`, a symbol, a number. "
			"`*` reads the pointer there. Types: u8 to u64, s8 to s64, x8 to x64 (shown in base 16), char, short, int, long, "
			"uint, ulong, bool, float, double, pointer, string, bytes[N]." },
	{ "--ret return->path", "A value of what the function returns, which is called `return`, recorded with NAME_return; also as "
			"TYPE:NAME:ADDR, as in `s32:n:%eax`." },
	{ "--context regs", "All general registers at the probe; `reg:NAME` one of them, `backtrace` the calls that led there. "
			"`exit:regs`, `exit:backtrace` and so on are of the return, and recorded with NAME_return." },
	{ NULL, NULL },
};

const char *const table_global_paragraphs[] = {
	"With `--global` the kernel watches the places (uprobes), by their file: every process that maps it is meant, whoever has "
	"started it, also static programs and those with more rights than their caller, those that run and those that will, and what they fork. "
	"The programs are not changed, know nothing of it and need nothing of ours; a hit costs some hundred nanoseconds, which is a hundred times as much "
	"as a probe in one program. It needs root, or CAP_BPF and CAP_PERFMON, or write access to tracefs and CAP_PERFMON.",
	"Each event has the fields pid, tid and comm (the name of the thread), then those of the probe. NAME_lost says how many hits found no "
	"room. A function of a library is watched in all programs that use the library. Whose hits count, `--pid`, `--uid`, `--cgroup` and "
	"`--comm` say: of each kind that is given, one must fit.",
	"The ways, in the order in which they are tried:",
	NULL,
};

const struct term table_global_terms[] = {
	{ "uprobe_multi", "BPF programs, with one link for all places of a file (Linux 6.6)." },
	{ "perf_event", "BPF programs, with an event for each place." },
	{ "tracefs", "Definitions in tracefs, of values that its grammar can say; hits come through perf's buffers. `--uid` asks /proc then, "
			"which does not know processes that have ended: their hits count as lost." },
	{ NULL, NULL },
};

const char *const table_probe_paragraphs[] = {
	"Lists the functions of a program or library that nobody instrumented, and says for each how a probe can be put at its "
	"begin. FILE is read and not run. PID is the number of a running process: the functions of all files that it has mapped "
	"are listed, with their addresses there; its memory is only read, and where it is not what its file says, that "
	"is said. GLOB selects functions by name, by any of their names; LIBRARY:GLOB only those of some files.",
	"METHOD is jump (five bytes are replaced by a jump), padding (the same, partly behind the end of a short function), short "
	"(two bytes are replaced by a jump to one nearby), punned (a jump, of which a part is what stands there), uprobe "
	"(in one process that runs or is started the kernel watches it, if whoever lists it may ask for that; with `--exe` it is a breakpoint), breakpoint "
	"(much slower), or none. What is no jump has its reason. \"returns not seen: REASON\" (JSON: no_exit): `--exit` records the entry only. BYTES is how many bytes of instructions are executed "
	"elsewhere.",
	"A process that had probes and has none any more keeps their code for the next ones, at most 64 MiB: how much that is, with the "
	"agent's own data and the pages of code that differ from their files, is said at the end (JSON: probe_kept), and "
	"if it keeps handlers of SIGTRAP and SIGILL (signals), or jumps in padding (pads), because one of its threads may still be on its "
	"way to them.",
	"Markers (SDT, USDT) that the file was built with follow, as PROVIDER:NAME with their operands; GLOB selects them by that "
	"whole name. With `--sdt` they come alone: SEMAPHORE is the address of the marker's counter of listeners, and LISTENERS, of a "
	"process, what it counts. `-`: there is none.",
	"Functions are found in symbol tables, also the small one that some distributions leave in stripped files, and "
	"in the data with which exceptions find their way, which nearly all files have. A function without a name is shown by its address.",
	NULL,
};

const struct example table_probe_examples[] = {
	{ "side probe list ./server 'handle_*'", "See which functions of a program can be probed." },
	{ "side probe list 4711 'libc.so*:malloc'", "Look at one function of a running process." },
	{ "side probe list --sdt 4711 'libc:memory_*'", "See which markers a running process has, and whether somebody listens." },
	{ "side probe list --sdt", "See the markers of all that runs." },
	{ "side probe list --json ./server | jq -r 'select(.reason) | [.function, .method, .reason] | @tsv'",
		"Say why some functions take no jump." },
	{ .command = NULL },
};

/* clang-format on */
