#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`--sdt PROVIDER:MARKER --arg 'string(arg1)'`: values at each location of a marker, whatever its registers, compared with
what the program prints and with what gdb reads; and the text of a query of PostgreSQL.
"""
import atexit
import shutil

from harness import *

for tool in ("gcc", "gdb"):
    if not shutil.which(tool):
        skip(f"{tool} is missing")
FOLDER = tempfile.mkdtemp()
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
ENV = environment(SIDE_RUNTIME=FOLDER + "/run", LANG="C.UTF-8", SIDE_TIMEOUT_FACTOR="30", SIDE_CONTROL=None)
PROGRAM = FOLDER + "/operands"
output("gcc", "-O1", "-w", os.environ["SOURCES"] + "/operands.c", "-o", PROGRAM)
WANTED = [line.rsplit(" ", 1) for line in output(PROGRAM).splitlines()]
TEXTS = [None if text == "(unreadable)" else text for text, _ in WANTED]
NUMBERS = [int(number) for _, number in WANTED]


def traced(*arguments, program=PROGRAM, marker="shop:sold"):
    """Returns the fields of each event."""
    trace = tempfile.mkdtemp(dir=FOLDER) + "/trace"
    done = side("trace", "-q", "-o", trace, "--sdt", marker, *arguments, "-c", program, env=ENV)
    equal(done.status, 0, done)
    shown = side("view", "--json", "-q", trace, env=ENV)
    equal(shown.status, 0, shown)
    return [line["fields"] for line in json_lines(shown.out) if line["type"] == "event"]


def test_all_operands():
    """Without `--arg` all operands are recorded, as before."""
    events = traced()
    equal([set(event) - {"function", "address"} for event in events], [{"arg1", "arg2", "arg3"}] * 5)
    equal([event["arg2"] for event in events], NUMBERS)
    equal([event["arg3"] for event in events], [2, 9, 4, 5, 0])


def test_selected():
    events = traced("--arg", "arg2")
    equal([set(event) - {"function", "address"} for event in events], [{"arg2"}] * 5)
    equal([event["arg2"] for event in events], NUMBERS)
    events = traced("--arg", "string(arg1)", "--arg", "n=arg2")
    equal([(event["arg1"], event["n"]) for event in events], list(zip(TEXTS, NUMBERS)))
    # With a length: a number, and another operand.
    cut = traced("--arg", "text = string( arg1, 3 )", "--arg", "rest=string(arg1, arg3)")
    equal([event["text"] for event in cut], [text and text[:3] for text in TEXTS])
    equal([event["rest"] for event in cut][:4], [text[:length] for text, length in zip(TEXTS, (2, 9, 4, 5))])
    raw = traced("--arg", "bytes(arg1, 2)")
    equal([bytes(event["arg1"]).decode() if isinstance(event["arg1"], list) else event["arg1"] for event in raw[:1]],
          [TEXTS[0][:2]] if isinstance(raw[0]["arg1"], list) else [raw[0]["arg1"]])


def test_filters():
    events = traced("--arg", "string(arg1)", "--arg", "arg2", "--filter", "arg2 < 0")
    equal([event["arg1"] for event in events], [text for text, number in zip(TEXTS, NUMBERS) if number < 0])
    events = traced("--arg", "string(arg1)", "--filter", 'arg1 == "in memory"')
    equal([event["arg1"] for event in events], ["in memory"])


def test_gdb():
    """gdb reads the same operands where they are in registers and on the stack. It knows no type of the variables."""
    commands = ["set debuginfod enabled off", "break -probe-stap shop:sold", "run"]
    for _ in range(3):
        commands += ["print (char *) $_probe_arg0", "print (int) $_probe_arg1", "continue"]
    result = output("gdb", "-q", "-nx", "-batch", *(word for command in commands for word in ("-ex", command)), PROGRAM)
    found = re.findall(r'^\$\d+ = (?:0x[0-9a-f]+ (?:<[^>]*> )?"(.*)"|(-?\d+))$', result, re.MULTILINE)
    events = traced("--arg", "string(arg1)", "--arg", "arg2")
    equal([(text, int(number)) for (text, _), (_, number) in zip(found[::2], found[1::2])],
          [(event["arg1"], event["arg2"]) for event in events[:3]])


def test_list():
    """The types of the operands, from the sizes in the notes."""
    done = side("probe", "list", "--json", "--sdt", PROGRAM, env=ENV)
    equal([marker["types"] for marker in json_lines(done.out)],
          [["u64", "s32", "u64"]] * 3 + [["u64", "s32", "u32"], ["u64"]])
    contains(side("probe", "list", "--sdt", PROGRAM, env=ENV).out, "  (arg1 u64, arg2 s32, arg3 u32)")


def test_errors():
    for argument, message in (("arg4", "the marker has no `arg4`: it has 3 operands"), ("string(arg9)", "the marker has no `arg9`"),
                              ("bytes(arg1)", "the number of bytes is missing in `bytes(arg1)`"),
                              ("string(arg1, 0)", "the length is not a number"), ("string(arg1", "a parenthesis is missing"),
                              ("arg1.x", "there is text after the operand"), ("string(arg1, x)", "there is no operand"),
                              ("strng(arg1)", "operands have no such form in `strng(arg1)`\nhint: write argN, `string(argN)`"),
                              ("text=byts(arg1, 4)", "operands have no such form in `text=byts(arg1, 4)`"),
                              ("x=" + "string(arg1)" + " " * 3 + ")" * 200, "there is text after the operand")):
        done = side("trace", "-o", FOLDER + "/never", "--sdt", "shop:sold", "--arg", argument, "-c", PROGRAM, env=ENV)
        equal(done.status, 1, done)
        contains(done.err, message)


def test_length():
    """A value of 255 characters is one in operands, a longer one is not."""
    events = traced("--arg", "n" * 250 + "=arg2")
    equal([next(value for name, value in event.items() if name.startswith("nnn")) for event in events], NUMBERS)
    done = side("trace", "-o", FOLDER + "/never", "--sdt", "shop:sold", "--arg", "n" * 251 + "=arg2", "-c", PROGRAM, env=ENV)
    equal(done.status, 1, done)
    contains(done.err, "there is no debug information for operands")


def test_postgresql():
    """The text of each query, although the program has no debug information."""
    found = [path for path in ("/usr/lib/postgresql/15/bin/postgres", "/usr/lib/postgresql/17/bin/postgres") if os.path.exists(path)]
    if not found or "query__start" not in run("readelf", "-n", found[0], status=None).stdout:
        print("PostgreSQL is missing: not tested")
        return
    postgres, data = found[0], FOLDER + "/data"
    os.mkdir(data)
    os.chmod(FOLDER, 0o711)
    user = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}
    if user:
        shutil.chown(data, "postgres", "postgres")
    output(os.path.dirname(postgres) + "/initdb", "-D", data, "-A", "trust", "--no-sync", **user, cwd="/")
    done = side("probe", "list", "--sdt", postgres, "postgresql:query__start", env=ENV)
    contains(done.out, "(arg1 u64)")
    # A single-user server reads queries from its input, and drops no privileges.
    trace = data + "/trace"
    env = dict(ENV, SIDE_RUNTIME=data + "/run")
    done = side("trace", "-q", "-o", trace, "--sdt", "postgresql:query__start", "--arg", "query=string(arg1)", "--", postgres, "--single",
                "-D", data, "postgres", env=env, stdin=open_queries(), **user, cwd="/")
    equal(done.status, 0, done)
    shown = side("view", "--json", "-q", trace, env=ENV)
    queries = [line["fields"]["query"] for line in json_lines(shown.out) if line["type"] == "event"]
    equal([query.strip() for query in queries], QUERIES)


QUERIES = ["select 1 + 41 as answer", "create table shelf (name text)", "insert into shelf values ('first')", "select count(*) from shelf"]


def open_queries():
    file = tempfile.TemporaryFile()
    file.write("\n".join(QUERIES).encode() + b"\n")
    file.seek(0)
    return file


run_tests(globals())
