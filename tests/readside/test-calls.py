#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""readside --check of calls in code: programs with wrong calls, compiled by each compiler at each
level without the static checker, and correct programs, for which no message may be printed, however
their arguments are computed.
"""
import re

from harness import *

# The code of clang 19 at -O0 for a structure on the stack, or for a call of several arguments, is
# too complex for `readside --check`: the call counts as one that cannot be checked.
FINDS_MEMBERS = bool(shutil.which("clang")) and "version 14." in subprocess.run(["clang", "--version"], capture_output=True, text=True,
                                                                                check=False).stdout
COMPILERS = [c for c in ("gcc", "clang", "g++", "clang++") if shutil.which(c)]
LEVELS = ["-O0", "-O2"] + (["-Os", "-O3"] if LONG else [])

WRONG = r"""
#define SIDE_STATIC_CHECK_DISABLE
#include <side/trace.h>
#include <string.h>
#define EVENT(id, ...) side_static_event(id, "p", #id, SIDE_LOGLEVEL_INFO, side_field_list(__VA_ARGS__))
static side_define_struct(place, side_field_list(side_field_s32("row"), side_field_s32("column")));
EVENT(right, side_field_u32("a"), side_field_string("b"), side_field_u64("c"));
EVENT(type, side_field_u32("a"), side_field_u32("b"));
EVENT(number, side_field_u32("a"), side_field_string("b"));
EVENT(deep, side_field_struct("where", place));
EVENT(kind, side_field_u32("a"));
side_static_event_variadic(more, "p", "more", SIDE_LOGLEVEL_INFO, side_field_list(side_field_u32("a")));
/* Elsewhere: in one function both might be a binding, of which only one call is made. */
__attribute__((noinline)) void as_it_is(void);
__attribute__((noinline)) void as_it_is(void)
{
	{ side_event_variadic(more, side_arg_list(side_arg_u32(1)), side_arg_list()); }
}
int main(int argc, char **argv)
{
	if (argc > 4)
		as_it_is();
	{ side_event(more, side_arg_list(side_arg_u32((uint32_t) argc))); } /* line of more */
	{ side_event_variadic(kind, side_arg_list(side_arg_u32((uint32_t) argc)), side_arg_list()); } /* line of kind */
	if (argc > 3)
		{ side_event(right, side_arg_list(side_arg_u32((uint32_t) argc), side_arg_string(argv[0]), side_arg_u64(7))); }
	{ side_event(type, side_arg_list(side_arg_u32((uint32_t) argc), side_arg_string(argv[0]))); } /* line of type */
	for (int i = 0; i < argc; i++)
		{ side_event(number, side_arg_list(side_arg_u32((uint32_t) strlen(argv[i])))); } /* line of number */
	side_arg_define_struct(at, side_arg_list(side_arg_s32(argc), side_arg_u8(2)));
	side_event(deep, side_arg_list(side_arg_struct(at)));
	return 0;
}
"""
SAID = {"type": ("b", "expected U32, found STRING_UTF8"),
        "number": ("", "expected 2 arguments, as many as the event has fields, found 1"),
        "deep": ("where.column", "expected S32, found U8"),
        "kind": ("", "expected side_event(), as the event is not variadic"),
        "more": ("", "expected side_event_variadic(), as the event is variadic")}

# Correct, and not all of it can be verified: no message may be printed.
RIGHT = r"""
#define SIDE_STATIC_CHECK_DISABLE
#include <side/trace.h>
#include <string.h>
side_static_event(one, "p", "one", SIDE_LOGLEVEL_INFO, side_field_list(side_field_u32("a"), side_field_string("b")));
side_static_event(two, "p", "two", SIDE_LOGLEVEL_INFO, side_field_list(side_field_string("a"), side_field_u32("b"),
	side_field_u64("c")));
side_static_event_variadic(more, "p", "more", SIDE_LOGLEVEL_INFO, side_field_list(side_field_u32("a")));
static const struct { struct side_event_state *state; uint32_t nr; enum side_type_label labels[3]; } known[] = {
	{ &side_event_state__one.parent, 2, { SIDE_TYPE_U32, SIDE_TYPE_STRING_UTF8 } },
	{ &side_event_state__two.parent, 3, { SIDE_TYPE_STRING_UTF8, SIDE_TYPE_U32, SIDE_TYPE_U64 } },
};
int which, number;
void *kept;
/* A binding: arguments of a type that is known when it runs. */
__attribute__((noinline)) void fill(struct side_arg *args, int event);
__attribute__((noinline)) void fill(struct side_arg *args, int event)
{
	for (uint32_t i = 0; i < known[event].nr; i++)
		args[i].type.v = (uint16_t) known[event].labels[i];
}
void in_a_loop(int event);
void in_a_loop(int event)
{
	struct side_arg args[3];
	struct side_arg_vec vec = { SIDE_PTR_INIT(args), 0 };
	memset(args, 0, sizeof(args));
	for (uint32_t i = 0; i < known[event].nr; i++) {
		args[i].type.v = (uint16_t) known[event].labels[i];
		vec.len++;
	}
	side_call(known[event].state, &vec);
}
void by_pointer(int event);
void by_pointer(int event)
{
	struct side_arg args[2];
	struct side_arg_vec vec = { SIDE_PTR_INIT(args), 2 };
	memset(args, 0, sizeof(args));
	for (struct side_arg *arg = args; arg < args + known[event].nr && arg < args + 2; arg++)
		arg->type.v = (uint16_t) known[0].labels[arg - args];
	side_call(&side_event_state__one.parent, &vec);
}
void by_another(void);
void by_another(void)
{
	struct side_arg args[2];
	struct side_arg_vec vec = { SIDE_PTR_INIT(args), 2 };
	memset(args, 0, sizeof(args));
	fill(args, 0);
	side_call(&side_event_state__one.parent, &vec);
}
void kept_elsewhere(void);
void kept_elsewhere(void)
{
	struct side_arg args[2];
	struct side_arg_vec vec = { SIDE_PTR_INIT(args), 2 };
	memset(args, 0, sizeof(args));
	kept = args;
	fill((struct side_arg *) kept, which);
	args[0].type.v = SIDE_TYPE_U32;
	((struct side_arg *) kept)[1].type.v = SIDE_TYPE_STRING_UTF8;
	side_call(&side_event_state__one.parent, &vec);
}
/* The event and its arguments are chosen together. */
void chosen(int event, const char *text);
void chosen(int event, const char *text)
{
	struct side_arg args[3];
	struct side_arg_vec vec = { SIDE_PTR_INIT(args), 2 };
	const struct side_event_state *state = &side_event_state__one.parent;
	memset(args, 0, sizeof(args));
	args[0].type.v = SIDE_TYPE_U32;
	args[1].type.v = SIDE_TYPE_STRING_UTF8;
	if (event) {
		args[0].type.v = SIDE_TYPE_STRING_UTF8;
		args[1].type.v = SIDE_TYPE_U32;
		args[2].type.v = SIDE_TYPE_U64;
		vec.len = 3;
		state = &side_event_state__two.parent;
	}
	side_call(state, &vec);
	switch (number) {
	case 1: args[0].type.v = SIDE_TYPE_U8; break;
	case 2: args[0].type.v = SIDE_TYPE_U16; break;
	case 3: args[0].type.v = SIDE_TYPE_U64; break;
	case 4: args[0].type.v = SIDE_TYPE_S8; break;
	case 5: args[0].type.v = SIDE_TYPE_S16; break;
	case 6: args[0].type.v = SIDE_TYPE_S32; break;
	default: side_event(one, side_arg_list(side_arg_u32((uint32_t) event), side_arg_string(text))); return;
	}
	which = args[0].type.v;
}
/* Which call it is depends on the event. */
#define BINDING(name) \
static void name(const struct side_event_state *state, const struct side_arg_vec *vec, const struct side_arg_dynamic_struct *var) \
{ \
	if (var) \
		side_call_variadic(state, vec, var); \
	else \
		side_call(state, vec); \
}
__attribute__((noinline)) BINDING(binding)
inline __attribute__((always_inline)) BINDING(inlined_binding)
void bound(void);
void bound(void)
{
	struct side_arg args[1] = { { { SIDE_TYPE_U32 }, 0, {} } }, others[2] = { args[0], { { SIDE_TYPE_STRING_UTF8 }, 0, {} } };
	struct side_arg_vec vec = { SIDE_PTR_INIT(args), 1 }, other = { SIDE_PTR_INIT(others), 2 };
	struct side_arg_dynamic_struct var = { .len = 0 };
	binding(&side_event_state__one.parent, &other, NULL);
	binding(&side_event_state__more.parent, &vec, &var);
	inlined_binding(&side_event_state__one.parent, &other, NULL);
	inlined_binding(&side_event_state__more.parent, &vec, &var);
}
/* A function of its own for both events. */
__attribute__((noinline)) static void emit(const struct side_event_state *state, const struct side_arg *first, uint32_t nr)
{
	struct side_arg_vec vec = { SIDE_PTR_INIT(first), nr };
	side_call(state, &vec);
}
int main(int argc, char **argv)
{
	struct side_arg args[] = { { { SIDE_TYPE_U32 }, 0, {} }, { { SIDE_TYPE_STRING_UTF8 }, 0, {} } };
	struct side_arg more[] = { { { SIDE_TYPE_STRING_UTF8 }, 0, {} }, { { SIDE_TYPE_U32 }, 0, {} }, { { SIDE_TYPE_U64 }, 0, {} } };
	emit(&side_event_state__one.parent, args, 2);
	emit(&side_event_state__two.parent, more, 3);
	in_a_loop(argc > 1);
	by_pointer(argc > 1);
	by_another();
	kept_elsewhere();
	chosen(argc > 2, argv[0]);
	bound();
	return 0;
}
"""

STUB = "void side_call(void); void side_call(void) {} void side_call_variadic(void); void side_call_variadic(void) {}\n" + \
       "struct { void *at[8]; } side_empty_callback;\n" + \
       "void side_statedump_call(void); void side_statedump_call(void) {}\n" + \
       "void *side_events_register(void); void *side_events_register(void) { return 0; }\n" + \
       "void side_events_unregister(void); void side_events_unregister(void) {}\n"


def write(name, text):
    with open(path(name), "w") as stream:
        stream.write(text)


def compiled(compiler, name, *flags):
    language = "c++" if compiler.endswith("++") else "c"
    needed(compiler, "-w", "-g", "-fpermissive" if compiler == "g++" else "-g", *flags, "-I" + INCLUDE, "-x", language, name,
           "-x", "none", "libstub.so", "-o", "program")


def counted(run):
    return [int(n) for n in re.search(r"of (\d+) calls? of events, (\d+) match(?:es)?, (\d+) do(?:es)? not, (\d+) cannot", run.err).groups()]


def test_wrong():
    write("stub.c", STUB)
    needed("gcc", "-shared", "-fPIC", "stub.c", "-o", "libstub.so")
    write("wrong.c", WRONG)
    lines = {m.group(1): n for n, line in enumerate(WRONG.split("\n"), 1) if (m := re.search(r"/\* line of (\w+)", line))}
    for compiler in COMPILERS:
        more = [("-O1",), ("-Og",), ("-O2", "-no-pie"), ("-O2", "-fPIC", "-shared"), ("-O2", "-fcf-protection")]
        for flags in [(level,) for level in LEVELS] + (more if LONG or compiler == "gcc" else []):
            compiled(compiler, "wrong.c", *flags)
            run = readside("--check", "--verbose", "--json", "program", status=1)
            found = {}
            for value in json_lines(run.out)[:-1]:
                event = value["event"].split(":")[1]
                found.setdefault(event, value)
                field, text = SAID.get(event, (None, "?"))
                equal(value["field"], field, f"{compiler} {flags}: {value}")
                contains(value["text"], text)
                if event in lines:
                    contains(value["text"], f"wrong.c:{lines[event]})", f"{compiler} {flags}")
            true({"type", "number", "kind", "more"} <= set(found), f"{compiler} {flags} says {sorted(found)}")
            true("deep" in found or compiler != "clang" or not FINDS_MEMBERS, f"{compiler} {flags}: what is inside a structure")
            seen, fit, wrong, unknown = counted(run)
            equal(wrong, len(found))
            true(fit >= 1 or compiler == "clang" and not FINDS_MEMBERS, f"{compiler} {flags}: {run.err}")
            equal(seen, fit + wrong + unknown)
            equal(seen, 7, f"{compiler} {flags}: {run.err}")


def test_stripped():
    write("stub.c", STUB)
    needed("gcc", "-shared", "-fPIC", "stub.c", "-o", "libstub.so")
    write("wrong.c", WRONG)
    compiled("gcc", "wrong.c", "-O2", "-s")
    contains(readside("--check", "program", status=1).out, "does not match: expected U32, found STRING_UTF8")


def test_right():
    write("stub.c", STUB)
    needed("gcc", "-shared", "-fPIC", "stub.c", "-o", "libstub.so")
    write("right.c", RIGHT)
    for compiler in COMPILERS:
        if compiler.endswith("++"):
            continue
        for level in LEVELS:
            compiled(compiler, "right.c", level)
            run = readside("--check", "--verbose", "program")
            contains(run.out, "3 events, 0 errors", f"{compiler} {level}")
            true(counted(run)[0] >= 6, f"{compiler} {level}: {run.err}")


def test_uses():
    """All types and forms of the headers' own tests, which are correct."""
    headers = os.path.join(HERE, "..", "headers")
    write("stub.c", STUB)
    for compiler in COMPILERS:
        kind = "cpp" if compiler.endswith("++") else "c"
        for level in LEVELS if LONG else ["-O2"]:
            error = tool(compiler, "-w", "-g", level, "-I" + INCLUDE, "-I" + headers,
                         os.path.join(headers, "test-uses-unchecked." + kind), "-o", "uses")
            if error:
                print(f"not {compiler} {level}: {error}")
                continue
            run = readside("--check", "--verbose", "uses")
            true("does not match" not in run.out, f"{compiler} {level}: {run.out}")
            true(True, f"{compiler} {level}: {run.err}")


if os.uname().machine != "x86_64":
    sys.exit(77)
run_tests(globals())
