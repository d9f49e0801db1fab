#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The command line: verbs, options, their errors, help, JSON, colours."""
import glob
import shutil
import signal

from harness import *

VERBS = ["record", "attach", "detach", "recover", "adopt", "list", "view", "expand", "report", "leaks", "locks", "calls", "slow", "flame", "diff", "explore", "export", "send", "receive",
         "create", "set-session", "start", "stop",
         "destroy", "status", "enable-event", "disable-event", "enable-channel", "disable-channel", "add-context",
         "track", "untrack", "snapshot", "rotate", "run", "clear", "statedump", "regenerate", "save", "load", "top", "daemon", "doctor", "complete", "probe", "trace", "kernel", "system",
         "version", "help"]
ESCAPE = "\033["


def refused(*args, printing=(), status=2):
    """A wrong command line: nothing on stdout, one message, the same as JSON."""
    result = side(*args)
    equal(result.status, status, f"status of {args}")
    equal(result.out, "", f"stdout of {args}")
    start = result.err.rindex("side: ", 0, (result.err.rfind("\nhint: ") + 1) or len(result.err))
    lines = [line for line in result.err[start:].splitlines() if not line.startswith("  ")]
    true(lines[0].startswith("side: "), result.err)
    for part in printing:
        contains("\n".join(lines), part, str(args))
    result = side("--json", *args)
    equal(result.status, status, f"status of {args} with --json")
    equal(result.out, "", f"stdout of {args} with --json")
    errors = json_lines(result.err)
    equal(errors[-1]["type"], "error")
    equal(errors[-1]["status"], status)
    hints = errors[-1]["hint"].split("\n") if "hint" in errors[-1] else []
    equal(errors[-1].get("mend"), errors[-1].get("hint"))
    equal(lines, ["side: " + errors[-1]["message"], *("hint: " + hint for hint in hints)])


def test_unknown_verbs():
    refused("recrod", printing=["unknown verb `recrod`", "did you mean `side record`?"])
    refused("lsit", "x", printing=["did you mean `side list`?"])
    refused("veiw", "x", printing=["did you mean `side view`?"])
    refused("rec", printing=["did you mean `side record`?"])
    refused("zzzzzzzz", printing=["unknown verb `zzzzzzzz`", "side --help"])
    refused("x" * 1000, printing=["unknown verb `xxx"])
    # Control characters are shown escaped, not sent.
    contains(side("a\033[31mb").err, "`a\\x1b[31mb`")
    refused("export", "x", "--format", "cvs", printing=["does not accept `cvs`: use perfetto, ", " or svg\nhint: did you mean `csv`?"])
    refused("list", "-w", "zzzzzz", "--", "true", printing=["does not accept `zzzzzz`: use libc or pthread"])


def test_habits_of_other_tools():
    refused("script", printing=["unknown verb `script`", "side view DIR"])
    refused("stat", "ls", printing=["unknown verb `stat`", "side report DIR"])
    refused("record", "-p", "1", printing=["no option `-p`", "side attach -p PID"])
    refused("record", "--pid=1", printing=["no option `--pid`", "side attach -p PID"])
    refused("record", "-a", printing=["no option `-a`", "side create"])
    refused("report", "-i", "x", printing=["no option `-i`", "side report DIR"])
    refused("view", "--begin", "0", "x", printing=["no option `--begin`", "--from"])
    # A letter may follow others, too; without a verb there are no letters.
    refused("view", "-qi", "x", printing=["no option `-i`", "side view DIR"])
    refused("-p", "1", printing=["unknown option `-p`", "side --help"])


def test_no_verb():
    result = side()
    equal(result.status, 2)
    equal(result.out, "")
    contains(result.err, "Usage")
    refused("-q", printing=["missing verb"])


def test_unknown_options():
    refused("record", "--ouptut", "x", "true", printing=["`--ouptut`", "did you mean `--output`?"])
    refused("list", "--libary", "x", printing=["did you mean `--libraries`?"])
    refused("view", "--cuont=3", "x", printing=["did you mean `--count`?"])
    refused("record", "-Z", "true", printing=["`-Z`"])
    refused("list", "-qZ", "x", printing=["`-Z`"])
    refused("--verison", printing=["did you mean `--version`?"])
    refused("--nothing-like-it", printing=["unknown option `--nothing-like-it`"])
    # An option of another verb is not valid for this one.
    refused("list", "--strict", "x", printing=["no option `--strict`"])
    refused("--strict", printing=["unknown option `--strict`"])


def test_abbreviations_are_refused():
    refused("record", "--out", "x", "true", printing=["`--out`", "did you mean `--output`?"])
    refused("--ver", printing=["unknown option `--ver`"])
    refused("list", "--lib", "x")


def test_arguments_of_options():
    refused("record", "--output", printing=["`--output` needs an argument: DIR"])
    refused("record", "-o", printing=["`--output` needs an argument: DIR"])
    # An option is not an argument of the previous one, unless that is documented.
    refused("record", "--output", "--strict", "true", printing=["`--output` needs the argument DIR, but an option follows: `--strict`"])
    refused("record", "-o", "--filter=x", "true", printing=["`--output` needs the argument DIR, but an option follows: `--filter=x`"])
    refused("trace", "-c", "true", "--function", "main", "--ret", "--function", "exit",
            printing=["`--ret` needs the argument EXPRESSION, but an option follows: `--function`"])
    refused("report", "x", "--pair", "a", "--by", "cpu", printing=["`--pair` needs the argument BEGIN END, but an option follows: `--by`"])
    refused("record", "-o", "", "true", printing=["is empty"])
    refused("record", "--strict=yes", "true", printing=["has no argument"])
    refused("record", "--buffer-size", "12x", "true", printing=["12x", "is not a size"])
    refused("record", "--buffer-size", "", "true", printing=["empty"])
    refused("record", "--buffer-size", "-1", "true", printing=["is not a size"])
    refused("record", "--buffer-size", "0", "true", printing=["is not a size"])
    refused("record", "--buffer-size=99999999999999999999", "true", printing=["too large"])
    refused("record", "--memory-limit=99999999999T", "true", printing=["too large"])
    refused("view", "-n", "many", "x", printing=["many", "is not a number"])
    refused("view", "-n", "3x", "x", printing=["is not a number"])
    refused("--color=purple", printing=["purple", "auto, always or never"])
    refused("list", "--color", "on", "x", printing=["auto, always or never"])
    refused("record", "-w", "libm", "true", printing=["libm", "libc or pthread"])


def test_operands():
    refused("record", printing=["missing command to record", "side record"])
    refused("record", "--", printing=["missing command to record"])
    refused("list", "--", printing=["missing operand: a program, file, process or session to list"])
    refused("view", printing=["missing operand: a trace to show"])
    refused("view", "a", "b", printing=["does not accept `b`"])
    refused("help", "record", "x", printing=["does not accept `x`"])
    refused("list-sessions", printing=["`side list`"])
    refused("probe", "lst", "app", printing=["did you mean `side probe list`?"])
    refused("trace", "99999999", "--function", "f", printing=["there is no program `99999999`", "`side trace -p 99999999`"])
    refused("trace", "ls", "-c", "ls", "--function", "f", printing=["two commands", "`ls`"])
    refused("trace", "ls", "-j", "--function", "f", printing=["no option `-j`", "put `--` before a command"])
    refused("trace", "ls", printing=["missing probe location", "`--function NAME`"])
    refused("kernel", "stats", printing=["did you mean `side kernel status`?"])
    refused("system", "stats", printing=["did you mean `side system status`?"])
    refused("system", printing=["missing operand: on, off or status"])
    refused("regenerate", "statdump", printing=["did you mean `side regenerate statedump`?"])
    refused("enable-channel", "-u", "c", "--subbuf-size", "1M", printing=["`--buffer-size SIZE`"])
    refused("enable-channel", "-u", "c", "--overwrite", printing=["`--mode overwrite`"])
    refused("create", "--snapshot", printing=["`side enable-channel CHANNEL --mode overwrite`"])
    refused("help", "recrod", printing=["did you mean `side help record`?"])
    refused("help", "pattern", printing=["did you mean `side help patterns`?"])


def test_patterns_are_checked_first():
    for verb, operand in (("record", "true"), ("list", "/bin/true"), ("view", "/")):
        refused(verb, "-e", "a:[b", operand, printing=["a:[b", "side help patterns"])
        refused(verb, "-e", "a:b@NOISE", operand, printing=["a:b@NOISE"])


def test_json_of_the_command_is_passed_on():
    result = side("record", "--bogus", "echo", "--json")
    equal(result.status, 2)
    true(result.err.startswith("side: "), result.err)
    result = side("recrod", "--", "--json")
    true(result.err.startswith("side: "), result.err)


def test_version():
    for args in (["--version"], ["-V"], ["record", "--version"], ["-qV"], ["view", "-V"]):
        result = side(*args)
        equal(result.status, 0, str(args))
        true(re.fullmatch(r"side \d+\.\d+\.\d+\n", result.out), result.out)
        equal(result.err, "")
    plain = side("--version").out.split()[1]
    result = side("--version", "--json")
    (version,) = json_lines(result.out)
    equal((version["type"], version["version"]), ("version", plain))


def described():
    result = side("help", "--json")
    equal(result.status, 0)
    verbs = {verb["name"]: verb for verb in json_lines(result.out)}
    equal(sorted(verbs), sorted(VERBS))
    return verbs


def test_help_covers_each_option():
    overview = side("--help")
    equal(overview.status, 0)
    equal(overview.err, "")
    for name, verb in described().items():
        contains(overview.out, name)
        contains(overview.out, verb["summary"])
        forms = [side(name, "--help"), side(name, "-h"), side("help", name), side("--help", name)]
        for result in forms:
            equal(result.status, 0)
            equal(result.err, "")
            equal(result.out, forms[0].out)
        text = forms[0].out
        true(max(len(line) for line in text.splitlines()) <= 100, f"wide lines in {name}")
        words = " ".join(text.split())
        contains(text, "Examples")
        true(verb["examples"], f"no example for {name}")
        for example in verb["examples"]:
            contains(text, example["command"])
        for option in verb["options"]:
            contains(words, " ".join(option["help"].split()), name)
            shown = option["name"]
            if "letter" in option:
                shown = option["letter"] + ", " + shown
            contains(text, "  " + shown, name)
        (alone,) = json_lines(side(name, "--help", "--json").out)
        equal(alone, verb)


def test_help_of_topics():
    overview = side("help").out
    topics = overview.split("Topics\n")[1].split("\n\n")[0]
    names = [line.split()[0] for line in topics.splitlines()]
    true(len(names) >= 4, overview)
    for name in names:
        result = side("help", name)
        equal(result.status, 0)
        true(len(result.out.splitlines()) > 5, result.out)
        equal(result.err, "")


def test_examples_are_command_lines():
    """Each example is valid: with --help at the front nothing is done, but all is parsed."""
    import shlex
    for verb in described().values():
        for example in verb["examples"]:
            first = True
            for part in re.split(r"\|(?!\|)|&&", re.sub(r"\| .*", "", example["command"])):
                words = shlex.split(part)
                true(words[0] == "side" or not first, example["command"])
                first = False
                if words[0] != "side" or words[1] == "help":
                    continue
                result = side("--help", *words[1:])
                equal(result.status, 0, f"{part}: {result.err}")


SOURCES = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../..")
# Placeholders for values in a suggestion.
VALUES = {"PID": "1", "N": "1", "TIME": "1s", "SIZE": "1M", "BAUD": "9600", "FORMAT": "csv", "URL": "tcp://there:1", "PORT": "1",
          "VERB": "view", "KEY": "tid", "CHOICE": "x"}


def literals(text):
    """Returns the string literals of a C source, adjacent ones joined; a macro between them becomes a name."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    one = r'"(?:[^"\\\n]|\\.)*"'
    for found in re.finditer(one + r"(?:\s*(?:PRI\w+|[A-Z][A-Z_]{3,})?\s*" + one + r")*", text):
        yield "".join(part[1:-1].replace('\\"', '"') for part in re.findall(one, found[0]))


def suggestions():
    """Returns (source, command line) of each `side ...` in messages, help, guides and README."""
    for path in sorted(glob.glob("src/**/*.[ch]", root_dir=SOURCES, recursive=True) + glob.glob("programs/**/*.[ch]", root_dir=SOURCES, recursive=True)):
        with open(os.path.join(SOURCES, path), encoding="utf-8") as file:
            for literal in literals(file.read()):
                for found in re.findall(r"`(side [^`]*)`", literal):
                    yield path, found
    pages = [os.path.join(SOURCES, name + ".md") for name in ("README", "ARCHITECTURE", "CONTRIBUTING", "SECURITY")]
    for kind in ("", "tutorial", "how-to", "reference", "explanation", "evidence", "adr", "spec"):
        folder = os.path.join(SOURCES, "docs", kind)
        pages += [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".md")]
    for page in pages:
        with open(page, encoding="utf-8") as file:
            text = re.sub(r"```.*?```", "", file.read(), flags=re.S)
        for found in re.findall(r"`(side [^`]*)`", text):
            yield os.path.relpath(page, SOURCES), found


def meant(part):
    """Returns the arguments of a suggestion, with values; None: only a verb, or not a command."""
    import shlex
    part = re.sub(r"%[-.0-9]*(?:l*[a-z])?", "1", part)
    part = re.sub(r"\[[^]]*\]|\.\.\.|…|\\n", " ", part.replace("\\|", "|"))
    try:
        words = shlex.split(part)
    except ValueError:
        return None
    return [VALUES.get(word, word.split("|")[0]) for word in words[1:]]


def test_suggestions_are_command_lines():
    """side accepts each command line in messages, help and documents, and each option that they name exists."""
    verbs, tried = described(), set()
    for where, text in suggestions():
        for part in re.split(r"\|(?!\|)| \| |&&|;|>", text):
            part = part.strip()
            # If the verb itself is a placeholder, there is nothing to check.
            words = meant(part) if re.match("side [^-%]", part) else None
            if not words or tuple(words) in tried or words[0] in ("help", "--help") or not words[0].islower():
                continue
            if where.startswith("docs") and words[0] in ("events", "info", "break", "print", "delete"):  # gdb's
                continue
            tried.add(tuple(words))
            verb = verbs.get(words[0])
            true(verb, f"{where}: `{text}`: there is no verb {words[0]}")
            result = side("--help", *words)
            # An option may be named without its value, as in "`side record -o` makes one".
            true(not result.status or (words[-1].startswith("-") and "needs an argument: " in result.err), f"{where}: `{text}`: {result.err}")
    true(len(tried) > 120, f"only {len(tried)} suggestions were found")
    options = {option["name"].lstrip("-") for verb in verbs.values() for option in verb["options"]}
    options |= {"help", "json", "quiet", "verbose", "color", "version"}
    for top, _, names in os.walk(os.path.join(SOURCES, "programs/side")):
        for name in sorted(names):
            if name.endswith(".c"):
                with open(os.path.join(top, name), encoding="utf-8") as file:
                    for literal in literals(file.read()):
                        for option in re.findall(r"`--([a-z][a-z-]*)", literal):
                            true(option in options, f"{name}: `--{option}` is no option of any verb")


def test_options_and_their_forms():
    """The forms of an argument, bundles, and options after operands, tested with --help."""
    for args in (["view", "-n3", "x"], ["view", "-n", "3", "x"], ["view", "--count=3", "x"],
                 ["view", "--count", "3", "x"], ["view", "x", "-n", "3"], ["view", "-qvn3", "x"],
                 ["-q", "view", "x"], ["--color", "never", "view", "x"], ["list", "x", "--json"],
                 ["record", "--buffer-size", "1M", "-o", "d", "true", "--nonsense"],
                 ["create", "--to", "tcp://there:1", "--spool=1G", "--send-timeout", "5s", "x"],
                 ["create", "x", "--to=/dev/ttyS1", "--speed", "9600"],
                 ["record", "--memory-limit=512KiB", "--", "true"],
                 ["record", "--buffer-size=64k", "true"], ["list", "--", "true", "--nonsense"]):
        result = side("--help", *args)
        equal(result.status, 0, f"{args}: {result.err}")


def test_colors():
    cases = [
        # arguments, environment, on a terminal, whether there are colours
        ([], {}, True, True),
        ([], {}, False, False),
        ([], {"NO_COLOR": "1"}, True, False),
        ([], {"NO_COLOR": ""}, True, True),
        ([], {"TERM": "dumb"}, True, False),
        (["--color=always"], {}, False, True),
        (["--color=always"], {"NO_COLOR": "1"}, True, True),
        (["--color=always"], {"TERM": "dumb"}, False, True),
        (["--color=never"], {}, True, False),
        (["--color=auto"], {}, True, True),
        (["--color", "auto"], {"NO_COLOR": "1"}, True, False),
        (["--color=never", "--color=always"], {}, False, True),
        (["--json"], {}, True, False),
        (["--json", "--color=always"], {}, False, False),
    ]
    for args, variables, terminal, colored in cases:
        env = environment(**variables)
        run = side_on_terminal if terminal else side
        result = run("--help", *args, env=env)
        equal(result.status, 0)
        equal(ESCAPE in result.out, colored, f"help {args} {variables} {terminal}")
    # The colours of errors depend on standard error, not on standard output.
    equal(ESCAPE in side_on_terminal("recrod", which="stderr").out, True)
    equal(ESCAPE in side_on_terminal("recrod", which="stderr", env=environment(NO_COLOR="1")).out,
          False)
    equal(ESCAPE in side("recrod").err, False)
    equal(ESCAPE in side("recrod", "--color=always").err, False, "the verb was wrong before")
    equal(ESCAPE in side("--color=always", "recrod").err, True)


def test_standard_output_that_fails():
    with open("/dev/full", "w") as full:
        run = subprocess.run([SIDE, "--help"], stdout=full, stderr=subprocess.PIPE, text=True)
        equal(run.returncode, 1)
        contains(run.stderr, "No space left")
    read_end, write_end = os.pipe()
    os.close(read_end)
    run = subprocess.run([SIDE, "--help"], stdout=write_end, stderr=subprocess.PIPE, text=True)
    os.close(write_end)
    # Like every filter: ended by the signal, without a message.
    equal((run.returncode, run.stderr), (-signal.SIGPIPE, ""))


def libraries(program):
    run = subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True)
    return {line.split("[")[1].split("]")[0].split(".so")[0] for line in run.stdout.splitlines() if "(NEEDED)" in line}


def test_side_links_little():
    """Code that would slow down short commands is in side-more."""
    heavy = {"libdw", "libelf", "libzstd", "libstdc++"}
    equal(libraries(SIDE) & heavy, set())
    true(libraries(os.path.join(os.path.dirname(SIDE), "side-more")) >= {"libdw", "libelf", "libzstd"}, "side-more")


def test_side_finds_its_other_programs():
    """In its own directory and in libexec, with the arguments in order; a missing one is reported."""
    words = ["view", "/nowhere", "--json"]
    wanted = side(*words)
    equal(wanted.status, 1)
    more = os.path.join(os.path.dirname(SIDE), "side-more")
    for place in ("bin", "libexec/side", None):
        with tempfile.TemporaryDirectory() as directory:
            os.makedirs(directory + "/bin")
            copy = shutil.copy(SIDE, directory + "/bin/side")
            if place:
                os.makedirs(os.path.join(directory, place), exist_ok=True)
                os.symlink(more, os.path.join(directory, place, "side-more"))
            run = subprocess.run([copy, *words], capture_output=True, text=True, env=environment(), timeout=60)
            equal(run.returncode, 1)
            if place:
                equal(run.stderr, wanted.err)
            else:
                contains(run.stderr, "side-more, cannot be run: No such file or directory")


run_tests(globals())
