/* SPDX-License-Identifier: MIT */
/* The part of the table for `probe`; table.c has the rules for texts. */
#include "table.h"

/* A table: laid out by hand. */
/* clang-format off */

const struct option table_probe_options[] = {
	{
		.name = "sdt",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct probe_options, sdt),
		.sentence = "List only markers (SDT, USDT), with their semaphores and listeners; without FILE or PID, those of all running programs and libraries.",
	},
	{
		.name = "debuginfod",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct probe_options, debuginfod),
		.sentence = "Get missing debug files from the servers in DEBUGINFOD_URLS, for names of functions in stripped files.",
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
		.sentence = "COMMAND and its arguments as one text, instead of operands. Quote arguments that contain spaces.",
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
		.letter = 'f',
		.name = "filter",
		.argument = "EXPRESSION",
		.kind = OPTION_TEXT,
		.offset = offsetof(struct record_options, filter),
		.sentence = "Record an event only if EXPRESSION is true, such as `n > 4096`, or `duration > 1000000` for calls longer than a millisecond. Events without a field that it names are not recorded. See `side help filters`.",
	},
	TABLE_GLOBAL_OPTIONS(record_options),
	{
		.name = "exe",
		.argument = "FILE",
		.kind = OPTION_TEXT,
		.completion = COMPLETE_FILE,
		.offset = offsetof(struct record_options, exe),
		.standard = "the program of COMMAND",
		.sentence = "With `--global`: the program or library to probe. Without `-c`, recording continues until Ctrl-C, or for `--duration`. /proc/PID/exe and /proc/PID/root/PATH name files of another mount namespace (a container).",
	},
	{
		.letter = 'p',
		.name = "pid",
		.argument = "PID",
		.kind = OPTION_NUMBER,
		.completion = COMPLETE_PROCESS_ID,
		.offset = offsetof(struct record_options, pid),
		.sentence = "Trace this running process: the agent is loaded into it, as by `side attach`, until Ctrl-C or until the program ends. With `--global`: record hits of this process only; without `--exe`, its program and libraries are probed.",
	},
	{
		.name = "buffer-size",
		.argument = "SIZE",
		.kind = OPTION_SIZE,
		.offset = offsetof(struct record_options, buffer_size),
		.standard = "4M, but at most 64M for all rings of a process",
		.sentence = "Give each CPU of each process a ring of SIZE bytes, rounded to a power of two. Larger rings lose less if hits come faster than they can be written.",
	},
	{
		.name = "duration",
		.argument = "TIME",
		.kind = OPTION_TIME,
		.offset = offsetof(struct record_options, duration),
		.standard = "until Ctrl-C, or the end of the program",
		.sentence = "With `-p`, or `--global` without `-c`: record for TIME: seconds, or a number with ms, s or min.",
	},
	{
		.name = "wait",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct record_options, wait_all),
		.sentence = "With `-c`: after COMMAND has ended, record until all processes that it left behind have ended.",
	},
	{
		.name = "in-sandbox",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct record_options, in_sandbox),
		.sentence = "With `-p`: as for `side attach`.",
	},
	{
		.name = "pending",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct record_options, pending),
		.sentence = "Accept a LIBRARY in `LIBRARY:NAME` of which no file is found: its probes are set when the program loads it.",
	},
	{
		.name = "follow-exec",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct record_options, follow_exec),
		.sentence = "Also probe the programs that COMMAND or the process of `-p` and its children execute, if a probe names their file or a library that they load.",
	},
	{
		.name = "context",
		.argument = "NAME,...",
		.kind = OPTION_LIST,
		.completion = COMPLETE_CONTEXT,
		.offset = offsetof(struct record_options, contexts),
		.sentence = "Record these values with each probe: regs, reg:NAME, TYPE:NAME:ADDR, backtrace, and the contexts of all events (`side help contexts`).",
	},
	{
		.name = "symbols",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct record_options, symbols),
		.sentence = "Record where the executable and its libraries are loaded, in the channel `libraries`. `side view --symbols` and the verbs that answer questions then name functions of libraries that the program loads later.",
	},
	{
		.name = "force",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct record_options, force),
		.sentence = "Write to DIR even if it is not empty. If DIR is new or empty, allow unsafe exits, like `--allow-unsafe-exit`.",
	},
	{
		.name = "allow-unsafe-exit",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct record_options, allow_unsafe_exit),
		.sentence = "With `--global` and `--exit`: also watch returns of a file that handles exceptions. An exception that leaves such a function ends the program.",
	},
	{
		.name = "debuginfod",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct record_options, debuginfod),
		.sentence = "Get missing debug files of the probed program and libraries from the servers in DEBUGINFOD_URLS, for names of functions and variables.",
	},
	{ .name = NULL },
};

const char *const table_trace_paragraphs[] = {
	"Starts a program with probes and records until it ends. "
	"The probes are set before the program's first instruction. "
	"No daemon is needed, and the program need not be instrumented. "
	"Each probe is an event probe:NAME; for `libc:malloc`, NAME is malloc. "
	"`--exit`, `--arg` and `--ret` belong to the location before them, or to all locations if they come first.",
	"Options of side can be before or after COMMAND. "
	"If an argument of COMMAND begins with `-`, put `--` before COMMAND, or give all of it as `-c 'COMMAND ARGUMENT...'`.",
	"If COMMAND begins with a program that starts another one, side traces the other one. "
	"It knows env, nice, nohup, stdbuf, setsid, timeout, time, taskset, chrt, ionice, numactl, setarch, unshare and strace, with their options, also nested. side refuses sudo, `env -i` and others that keep the agent from the program, before anything starts. "
	"`--global` needs no agent in the program.",
	"If COMMAND is a script, the locations are in its interpreter, such as /usr/bin/dash; a note names it. "
	"They are not in the programs that the script starts.",
	"With `-p` the program is already running. "
	"It is not stopped, and its code is restored when the recording ends. "
	"Its child processes are recorded as well, each in a trace of its own. "
	"`side attach --help` lists the refusals.",
	"If a location could only have a breakpoint, the kernel watches it (uprobes of that process), if that is permitted. "
	"This costs a third of a breakpoint. "
	"`-v` prints how many locations the kernel watches, and why it does not watch others. "
	"Their records are in the trace of `side-uprobes`, with pid, tid and comm of the hit. "
	"`--no-uprobe` sets breakpoints instead.",
	"The exit status is that of the started program.",
	NULL,
};

const struct example table_trace_examples[] = {
	{ "side trace -o trace ./server --function handle_request",
		"Record the calls of a function." },
	{ "side trace -o trace -c './server --once' --function handle_request --exit",
		"Record how long calls take." },
	{ "side trace -p 4711 -o trace --duration 10s --function handle_request --exit",
		"Record the calls of ten seconds in a running program." },
	{ "side trace --global --exe /usr/bin/git --function cmd_main --arg 'string:word:*(%rsi+8)' -o gits",
		"As root, record each git of all users, until Ctrl-C." },
	{ "side trace --wait -c 'env LANG=C nice ./server --daemon' --function handle_request",
		"Trace a server that goes into the background." },
	{ "side trace -c 'ls -l' --function libc:malloc --arg 'u64:size:%rdi'",
		"Record an argument of a function without debug information." },
	{ .command = NULL },
};

const char *const table_probes_paragraphs[] = {
	"A probe records when a program reaches a location in its code. "
	"`side enable-event NAME --pid PID` sets one in a running process, `side trace -c COMMAND` in a program that it starts. "
	"Its event is `probe:NAME`, unless NAME has a provider. "
	"LOCATION is one of:",
	NULL,
};

const struct term table_probes_terms[] = {
	{ "handle_request",
		"A function of the program, or of the only library that has it. "
		"A glob selects all matching functions of the program." },
	{ "libc:malloc",
		"A function of a library; the beginning of the library's name is enough. "
		"The library may be loaded later: the probe is set before its constructors run." },
	{ "/usr/lib/app/plugin.so:init",
		"A function of a file that is loaded now or later." },
	{ "'libc:$imports'",
		"The functions of a library that the program's executable imports." },
	{ "plt:open",
		"Calls of `open` by the program, at its PLT entry; the same as `open@plt`. `libfoo:plt:open` is an entry of a library. "
		"There is no `--exit`." },
	{ "net::Server::read(int)",
		"A name as in C++ or Rust, with or without parameters." },
	{ "handle_request+0x1c",
		"An instruction in a function. Numbers are octal (034), decimal or hexadecimal (0x1c)." },
	{ "0x401136",
		"An address in the process, otherwise in the file. `libfoo:0x1136` is an address in the file libfoo." },
	{ "server.c:120",
		"A line of a source file, if there is debug information." },
	{ "--arg request->path",
		"A variable by its name, followed by members, `*` or `[2]`. "
		"If it is a `char *`, the text is recorded." },
	{ "--arg 'string(m->data, m->size)'",
		"A value whose length only the program knows: text; `bytes(p, n)`, shown in base 16; `*p@n`, an array. "
		"Without a length, `string(p)` ends at the NUL. "
		"A length is a number or a variable." },
	{ "--arg 'path=request->path'",
		"NAME=VALUE sets the name of the field." },
	{ "--arg s32:n:%edi",
		"TYPE:NAME:ADDR, without debug information. "
		"A register alone is the value itself (for string and bytes: its address). "
		"Everything else is an address in memory: "
		"`%rdi+0x10`, `*(%rdi+8)+4`, a symbol, a number; `*` reads a pointer. "
		"Types: u8 to u64, s8 to s64, x8 to x64 (shown in base 16), char, short, int, long, uint, ulong, bool, float, double, pointer, string, bytes[N]." },
	{ "--ret return->path",
		"A value of the function's result, which is called `return`, recorded with NAME_return; or TYPE:NAME:ADDR, such as `s32:n:%eax`." },
	{ "--context regs",
		"All general registers at the probe; `reg:NAME` is one of them, `backtrace` the call stack. "
		"`exit:regs`, `exit:backtrace` and so on are those at the return, recorded with NAME_return." },
	{ NULL, NULL },
};

const char *const table_global_paragraphs[] = {
	"With `--global` the kernel watches locations by file (uprobes): in every process that maps the file, now and later, including static programs, programs with more rights than their caller, and child processes. "
	"The programs are not changed and need nothing from side. "
	"A hit costs some hundred nanoseconds, a hundred times as much as a probe in one program. "
	"It requires root, or CAP_BPF and CAP_PERFMON, or write access to tracefs and CAP_PERFMON.",
	"Each event has the fields pid, tid and comm (the name of the thread), then those of the probe. "
	"NAME_lost counts hits that did not fit in the buffer. "
	"A function of a library is watched in all programs that use the library. "
	"`--pid`, `--uid`, `--cgroup` and `--comm` select whose hits are recorded: a hit must match one value of each given option.",
	"Methods, in the order in which they are tried:",
	NULL,
};

const struct term table_global_terms[] = {
	{ "uprobe_multi",
		"BPF programs, with one link for all locations of a file (Linux 6.6)." },
	{ "perf_event",
		"BPF programs, with an event for each location." },
	{ "tracefs",
		"Definitions in tracefs, for values that its syntax supports; hits come through perf's buffers. `--uid` then reads /proc, which has no entry for ended processes: their hits count as lost." },
	{ NULL, NULL },
};

const char *const table_probe_paragraphs[] = {
	"Lists the functions of a program or library, and how each can be probed at its beginning. "
	"FILE is read, not run. "
	"PID is a running process: the functions of all its mapped files are listed, with their addresses; its memory is only read, and differences from the files are reported. "
	"GLOB selects functions by any of their names; LIBRARY:GLOB selects those of some files. "
	"plt:GLOB or GLOB@plt selects PLT entries. "
	"A name without wildcards also lists the parts of the function that `--function` leaves out (NAME.cold, NAME.part.0; JSON: part). "
	"With debug information, it also lists the locations where the function is inlined (JSON: probe_inlined).",
	"METHOD is jump (five bytes are replaced by a jump), padding (the same, partly behind the end of a short function), short (two bytes are replaced by a jump to a nearby jump), punned (a jump that reuses some of the original bytes), uprobe (in a single process the kernel watches it, if that is permitted; with `--exe` it is a breakpoint), breakpoint (much slower), or none. "
	"Everything but a jump has a reason. "
	"\"returns not recorded: "
	"REASON\" (JSON: no_exit): "
	"`--exit` records the entry only. "
	"BYTES is the number of bytes of instructions that are executed elsewhere.",
	"A process without probes keeps the code of earlier ones for reuse, at most 64 MiB. "
	"The last lines print its size, with the agent's own data and the changed pages of code (JSON: probe_kept). "
	"They also print whether handlers of SIGTRAP and SIGILL (signals) or jumps in padding (JSON: pads) are kept because a thread may still use them.",
	"Markers (SDT, USDT) of the file follow, as PROVIDER:NAME with their operands; GLOB selects them by that name. "
	"`--sdt` lists only markers: "
	"SEMAPHORE is the address of the counter of listeners, LISTENERS its value in a process. "
	"`-`: none.",
	"Functions come from symbol tables, including the small one that some distributions leave in stripped files, and from unwind data, which nearly all files have. "
	"A function without a name is shown by its address.",
	NULL,
};

const struct example table_probe_examples[] = {
	{ "side probe list ./server 'handle_*'",
		"List functions of a program that can be probed." },
	{ "side probe list 4711 'libc.so*:malloc'",
		"Check one function of a running process." },
	{ "side probe list --sdt 4711 'libc:memory_*'",
		"List markers of a running process, with their listeners." },
	{ "side probe list --sdt",
		"List the markers of all running programs." },
	{ "side probe list --json ./server | jq -r 'select(.reason) | [.function, .method, .reason] | @tsv'",
		"Print why some functions cannot have a jump." },
	{ .command = NULL },
};

/* clang-format on */
