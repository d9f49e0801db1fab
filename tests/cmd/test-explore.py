#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`side explore` on a terminal of tmux: its numbers are those of `side report --json`, and it restores the terminal."""
import atexit
import shlex
import shutil
from collections import Counter

import call_trace
from harness import *

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../analysis"))
from lock_trace import write_deadlock

COUNTED = sys.argv.pop(1)
EXPLORED = sys.argv.pop(1)
UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
READY = "qQuit"
# On a busy machine, a recorder may answer a program late.
os.environ["SIDE_TIMEOUT_FACTOR"] = "30"


class Terminal:
    """A terminal in which a command runs; what the command printed and its exit status follow on the screen."""

    def __init__(self, *command, width=120, height=30, variables="LC_ALL=C.UTF-8"):
        self.directory = tempfile.TemporaryDirectory()
        self.temporary = os.path.join(self.directory.name, "temporary")
        os.mkdir(self.temporary)
        self.socket = os.path.join(self.directory.name, "tmux")
        text = " ".join(shlex.quote(word) for word in command)
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", str(height),
                  f"stty -g; TMPDIR={self.temporary} {variables} {text}; echo status=$?; stty -g; exec cat")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if error[0]:
            print(self.text())
        self.tmux("kill-server")
        self.directory.cleanup()

    def tmux(self, *args):
        return run_tmux(self.socket, *args)

    def text(self):
        return self.tmux("capture-pane", "-p")

    def lines(self):
        return self.text().splitlines()

    def wait(self, pattern):
        """The screen, once it contains the pattern."""
        text = ""

        def matches():
            nonlocal text
            text = self.text()
            return re.search(pattern, text)
        try:
            wait_until(matches, f"the screen has {pattern!r}", timeout=20)
        except AssertionError:
            raise AssertionError(f"the screen has no {pattern!r}:\n{text}") from None
        return text

    def send(self, *keys):
        self.tmux("send-keys", *keys)

    def type(self, text):
        self.tmux("send-keys", "-l", text)

    def rows(self, pattern, wanted, key):
        """The rows between the titles and the keys, once key() has the wanted value for each: a screen may be half drawn."""
        rows = []

        def are_wanted():
            nonlocal rows
            rows = [line for line in self.lines()[2:-1] if line.strip()]
            return [key(row) for row in rows] == wanted
        self.wait(pattern)
        try:
            wait_until(are_wanted, f"the rows of {pattern!r}", timeout=20)
        except AssertionError:
            equal([key(row) for row in rows], wanted, pattern)
        return rows

    def end(self, status=0):
        """The restored screen, with the terminal's settings before and after."""
        text = self.wait(rf"status={status}\n(.+)\n")
        settings = [line for line in text.splitlines() if re.fullmatch(r"[0-9a-f]+(:[0-9a-f]+)+", line.strip())]
        equal(len(settings), 2, text)
        equal(settings[0], settings[1], "settings of the terminal")
        equal(os.listdir(self.temporary), [], "left in $TMPDIR")
        return text


def run_tmux(socket, *args):
    # Without a locale of UTF-8, tmux replaces characters.
    return subprocess.run(["tmux", "-u", "-S", socket, *args], env=environment(LC_ALL="C.UTF-8"), check=True,
                          stdout=subprocess.PIPE, timeout=60).stdout.decode()


def traced(*options, name="trace"):
    directory = tempfile.TemporaryDirectory()
    atexit.register(directory.cleanup)
    path = os.path.join(directory.name, name)
    result = side("trace", "--context", "vtid", *options, "-o", path, COUNTED)
    equal(result.status, 7, result.err)
    return path


TRACE = traced("--function", "counted_*", "--exit", name="a\x1b[31mtrace")


def report(*args):
    result = side("report", "--json", *args)
    equal(result.status, 0, result.err)
    return json_lines(result.out)


def of_type(lines, kind):
    return [line for line in lines if line["type"] == kind]


def duration(text):
    number, unit = text.split()
    return float(number) * UNITS[unit]


def near(text, ns, what):
    true(abs(duration(text) - ns) <= max(ns / 1000, 0.5), f"{what}: {text} is not {ns} ns")


def columns(row):
    """The fields of a row of the functions or of the call tree: "41.67 ms" is one."""
    return re.findall(r"[\d.,]+ (?:ns|us|ms|s)\b|[^\s]+", row)


def last(row):
    return columns(row)[-1]


def time_of_day(row):
    return row[:18]


def test_summary():
    overview = of_type(report(TRACE), "overview")[0]
    with Terminal(SIDE, "explore", TRACE) as terminal:
        text = terminal.wait(READY)
        contains(text, "a\\x1b[31mtrace", "a name with an escape sequence")
        contains(text, f"Events     {overview['events']:,}")
        contains(text, f"Lost       {overview['lost']}")
        contains(text, overview["begin_time"])
        terminal.send("q")
        terminal.end()


def test_functions_are_those_of_the_report():
    functions = {line["function"]: line for line in of_type(report("--calls", TRACE), "function")}
    with Terminal(SIDE, "explore", TRACE) as terminal:
        terminal.wait(READY)
        terminal.send("F3")
        order = sorted(functions, key=lambda name: -functions[name]["self_ns"])
        for row in map(columns, terminal.rows("Functions by SELF", order, last)):
            line = functions[row[-1]]
            near(row[0], line["self_ns"], "self")
            near(row[1], line["total_ns"], "total")
            equal(row[2], f"{line['calls']:,}", "calls")
            near(row[5], line["max_ns"], "max")
        terminal.send(">", ">")
        terminal.rows("Functions by CALLS", sorted(functions, key=lambda name: (-functions[name]["calls"], name)), last)
        terminal.send("q")
        terminal.end()


def test_call_tree():
    branches = of_type(report("--tree", TRACE), "branch")
    with Terminal(SIDE, "explore", TRACE) as terminal:
        terminal.wait(READY)
        terminal.send("t")
        roots = [line["function"] for line in branches if not line["depth"]]
        terminal.rows("Call tree  1/1\n", roots, last)
        terminal.send("+")
        rows = terminal.rows(f"Call tree  1/{len(branches)}", [line["function"] for line in branches], last)
        for row, line in zip(rows, branches, strict=True):
            fields = columns(row)
            near(fields[0], line["total_ns"], "total")
            equal(fields[2], f"{line['calls']:,}", row)
            equal(row.index(line["function"]), 36 + 2 * line["depth"], row)
        terminal.send("Left")
        terminal.rows("Call tree  1/1\n", roots, last)
        terminal.send("Enter", "Down")
        terminal.wait(f"Call tree  2/{len(branches)}")
        terminal.send("Left")
        terminal.wait(f"Call tree  1/{len(branches)}")
        terminal.send("-")
        terminal.wait("Call tree  1/1\n")
        terminal.send("q")
        terminal.end()


def test_events_by_number():
    events = json_lines(side("view", "--json", TRACE).out)
    times = [line["time"][11:29] for line in events if line["type"] == "event"]
    with Terminal(SIDE, "explore", TRACE, variables="LC_ALL=C.UTF-8 TZ=UTC") as terminal:
        terminal.wait(READY)
        terminal.send("e")
        terminal.rows(r"Events  1/", times[:27], time_of_day)
        terminal.send("End")
        terminal.rows(rf"Events  {len(times)}/{len(times)}", times[-27:], time_of_day)
        terminal.send("PageUp", "PageUp")
        terminal.rows(rf"Events  {len(times) - 52}/", times[-53:-26], time_of_day)
        terminal.send("Home")
        terminal.wait("Events  1/")
        # The first event of this function, and the next one.
        numbers = [number + 1 for number, line in enumerate(events) if "counted_doze" in json.dumps(line)]
        terminal.send("/")
        terminal.type("COUNTED_DOZE")
        terminal.send("Enter")
        terminal.wait(f"Events  {numbers[0]}/")
        terminal.send("n")
        terminal.wait(f"Events  {numbers[1]}/")
        terminal.send("Enter")
        contains(terminal.wait("The whole row").replace("\n", ""), "call = ", "all fields of the wrapped row")
        # A row that is wrapped scrolls as well; its last line remains.
        terminal.tmux("resize-window", "-x", "50", "-y", "10")
        terminal.wait("The whole row *\n.*\n.*\n.*\n")
        terminal.send(*["Down"] * 20)
        terminal.wait(r"The whole row *\n[^\n]* }\n")
        terminal.tmux("resize-window", "-x", "120", "-y", "30")
        terminal.send("x", "/")
        terminal.type("no such text")
        terminal.send("Enter")
        terminal.wait("No row contains `no such text`")
        terminal.send("q")
        terminal.end()


def test_classes_and_threads():
    counts = {"event": Counter(), "by": Counter()}
    for line in of_type(report("--by", "thread", TRACE), "count"):
        for key, counter in counts.items():
            counter[line[key]] += line["count"]
    with Terminal(SIDE, "explore", TRACE) as terminal:
        terminal.wait(READY)
        for key, name, counter in (("c", "Event classes", counts["event"]), ("h", "Threads", counts["by"])):
            terminal.send(key)
            wanted = [(f"{count:,}", text) for text, count in counter.most_common()]
            terminal.rows(rf"{name}  1/", wanted, lambda row: (row.split()[0], row.split(None, 3)[-1]))
        terminal.send("q")
        terminal.end()


def test_filter():
    expression = 'function == "counted_doze"'
    overview = of_type(report("--filter", expression, TRACE), "overview")[0]
    with Terminal(SIDE, "explore", TRACE) as terminal:
        terminal.wait(READY)
        terminal.send("e", "\\")
        terminal.type(expression)
        terminal.send("Enter")
        terminal.wait(f"Events  1/{overview['events']}  filter: {re.escape(expression)}")
        terminal.send("\\")
        terminal.type("function ==")
        terminal.send("Enter")
        contains(terminal.wait(r"filter: .*[^_]$|filter.*\n"), expression, "an invalid filter changes nothing")
        terminal.send("\\", "Enter")
        terminal.wait(r"Events  1/\d+ *\n")
        terminal.send("q")
        terminal.end()


def kept(verb, *command):
    """A trace that the verb has recorded."""
    directory = tempfile.TemporaryDirectory()
    atexit.register(directory.cleanup)
    path = os.path.join(directory.name, "trace")
    result = side(verb, "-o", path, "--", *command)
    true(os.path.exists(path), result)
    return path


def answer(verb, *args):
    result = side(verb, "--json", *args)
    equal((result.status, result.err), (0, ""))
    return json_lines(result.out)


def stack_rows(lines):
    """The rows of the view, from the call paths of `side flame --json`."""
    path, rows = [], []
    for line in of_type(lines, "path"):
        path = path[:line["depth"]] + [line["function"]]
        if line["self"]:
            rows.append((line["self"], path[:-4:-1]))
    return sorted(rows, reverse=True)


def stack_of(row):
    """The number of events and the innermost functions of a row; nothing for the summary."""
    match = re.match(r" *([\d,]+) +[\d.]+% (.*)", row)
    return (int(match[1].replace(",", "")), match[2].split(" < ")[:3]) if match else None


def leak_of(row):
    """The bytes and blocks of a row; nothing for the summary."""
    return re.findall(r"^ *([\d,]+) +[\d.]+% +([\d,]+) ", row)


def test_stacks_and_leaks():
    if "SEEDED_LEAKS" not in os.environ:
        skip("no program with leaks is built")
    trace = kept("leaks", os.environ["SEEDED_LEAKS"], "layers")
    leaks = of_type(answer("leaks", trace), "leak")
    with Terminal(SIDE, "explore", trace, width=200, height=20) as terminal:
        terminal.wait(READY)
        terminal.send("F9")
        wanted = [[]] + [[(f"{leak['bytes']:,}", f"{leak['blocks']:,}")] for leak in leaks]
        terminal.rows(f"Leaks  1/{len(wanted)}", wanted, leak_of)
        # The whole stack of one row.
        seeded = next(number for number, leak in enumerate(leaks) if leak["blocks"] == 30)
        terminal.send(*["Down"] * (seeded + 1), "Enter")
        text = terminal.wait("(?s)The whole row.*_start")
        positions = [text.index(frame["function"] + "+") for frame in leaks[seeded]["stack"]]
        equal(positions, sorted(positions), text)
        # The terminal is so wide that no line is wrapped.
        terminal.tmux("resize-window", "-x", "400", "-y", "10")
        terminal.wait("any other key returns")
        terminal.send(*["Down"] * 3)
        terminal.wait("The whole row *\n +layer3")
        # Scrolling stops at the last line.
        terminal.send(*["NPage"] * 9)
        terminal.wait("The whole row *\n +_start")
        terminal.send("PPage", "Up", "k")
        terminal.wait("The whole row *\n +layer")
        terminal.tmux("resize-window", "-x", "200", "-y", "20")
        terminal.send("x", "b")
        lines = answer("flame", "--weight", "count", trace)
        terminal.rows("Stacks  1/", [None] + stack_rows(lines), stack_of)
        contains(terminal.text(), f"{lines[0]['count']:,} events by stack; {lines[0]['stackless']} without a stack")
        terminal.send("\\")
        terminal.type("size == 1005")
        terminal.send("Enter")
        selected = of_type(report("--filter", "size == 1005", trace), "overview")[0]["events"]
        true(selected, "the filter selects events")
        rows = terminal.rows(r"Stacks  1/2  filter: size == 1005", [None, (selected, ["layer5(unsigned long)", "layer4(unsigned long)", "layer3(unsigned long)"])],
                             stack_of)
        contains(rows[0], f"{selected} event by stack")
        # Blocks are followed through all events.
        terminal.send("m")
        terminal.rows(rf"Leaks  \d/{len(wanted)} *\n", wanted, leak_of)
        terminal.send("q")
        terminal.wait("status=0")


def test_locks():
    if "SEEDED_LOCKS" not in os.environ:
        skip("no program with locks is built")
    trace = kept("locks", os.environ["SEEDED_LOCKS"], "mutex")
    lines = answer("locks", trace)
    locks = of_type(lines, "lock")
    with Terminal(SIDE, "explore", trace, width=160) as terminal:
        terminal.wait(READY)
        terminal.send("F11")
        # The screen can be read while it is drawn.
        text = terminal.wait("(?s)Locks  1/.*" + "".join(f"(?=.*{lock.get('name', 'threads joined')})" for lock in locks))
        contains(text, f"{lines[0]['events']:,} events of {lines[0]['threads']} threads")
        for lock in locks:
            row = next(row for row in text.splitlines() if lock.get("name", "threads joined") in row)
            fields = columns(row)
            near(fields[0].rstrip("+"), lock["waited_ns"], "waited")
            equal((fields[1], fields[2]), (f"{lock['attempts']:,}", f"{lock['contended']:,}"), row)
        terminal.send("/")
        terminal.type("seeded_mutex")
        terminal.send("Enter", "Enter")
        text = terminal.wait("(?s)The whole row.*waits at.*held by")
        for frame in locks[0]["stacks"][0]["waiter"][:2]:
            contains(text, frame["function"])
        terminal.send("x", "q")
        terminal.end()


def test_deadlock():
    with tempfile.TemporaryDirectory() as work:
        trace = write_deadlock(os.path.join(work, "trace"))
        with Terminal(SIDE, "explore", trace) as terminal:
            terminal.wait(READY)
            terminal.send("l")
            terminal.wait("DEADLOCK of 2 threads of program:7")
            terminal.send("/")
            terminal.type("deadlock")
            terminal.send("Enter", "Enter")
            text = terminal.wait("(?s)The whole row.*waits for.*waits for")
            contains(text, "thread 1 waits for mutex 0x2000")
            contains(text, "thread 2 waits for mutex 0x1000")
            terminal.send("x", "End")
            waiting = of_type(answer("locks", trace), "waiting")
            text = terminal.wait(r"Locks  (\d+)/\1\b")
            for line in waiting:
                contains(text, f"WAITING thread {line['thread']} in {line['call']} for 0x{line['address']:x} ")
            terminal.send("Enter")
            contains(terminal.wait("The whole row"), "waits at  0x401000")
            terminal.send("x", "q")
            terminal.end()


def test_mouse():
    def press(button, row):
        """The bytes of a terminal, such as xterm, for a press in the third column of a line, and for the release."""
        codes = (button, 3) if button == 0 else (button,)
        terminal.tmux("send-keys", "-H", *(byte for code in codes for byte in (
            "1b", "5b", "4d", *(f"{32 + value:02x}" for value in (code, 3, row + 1)))))
    with Terminal(SIDE, "explore", TRACE) as terminal:
        terminal.wait(READY)
        terminal.send("e")
        terminal.wait("Events  1/")
        press(0, 6)
        terminal.wait("Events  5/")
        press(65, 10)
        terminal.wait("Events  8/")
        press(64, 10)
        terminal.wait("Events  5/")
        # The titles and the keys are no rows.
        press(0, 1)
        press(0, 29)
        press(64, 10)
        terminal.wait("Events  2/")
        press(0, 3)
        terminal.wait("The whole row")
        terminal.send("x", "F4")
        terminal.wait("Call tree  1/1\n")
        press(0, 2)
        terminal.wait(r"Call tree  1/[2-9]")
        # Below the last row.
        press(0, 25)
        press(0, 3)
        terminal.wait("Call tree  2/")
        terminal.send("q")
        terminal.end()


def test_hostile_names():
    names = {"\x1b[2J\x1b[31mred": "\\x1b[2J\\x1b[31mred", "two\nlines\ttab": "two\\x0alines\\x09tab",
             "wide 漢字": "wide 漢字", "back\x08space\x7f": "back\\x08space\\x7f", "left\u202eright": "left\\xe2\\x80\\xaeright"}
    values = dict(zip(names, ("\\x1b[2J\\x1b[31mred", "two\\nlines\\ttab", "wide 漢字", "back\\x08space\\x7f", "left\\xe2\\x80\\xaeright"), strict=True))
    calls = []
    for number, name in enumerate(names):
        calls += [(1000 + 100 * number, call_trace.enter(name, number + 1)), (1050 + 100 * number, call_trace.leave(name, number + 1, 50))]
    with tempfile.TemporaryDirectory() as work:
        trace = call_trace.write(os.path.join(work, "trace"), calls)
        with Terminal(SIDE, "explore", trace) as terminal:
            terminal.wait(READY)
            for key, view in (("f", "Functions"), ("t", "Call tree"), ("e", "Events"), ("b", "Stacks")):
                terminal.send(key)
                text = terminal.wait(rf"{view}[^\n]*  1/(.*\n)+.*right(.*\n)+.*{READY}")
                # Values of events are escaped as in `side view`.
                for name, shown in names.items():
                    contains(text, values[name] if key == "e" else shown, view)
                equal(len(text.splitlines()), 30, "the screen is whole")
            terminal.send("/")
            terminal.type("two")
            terminal.send("Enter", "Enter")
            contains(terminal.wait("The whole row"), "two\\x0alines\\x09tab")
            terminal.send("x", "q")
            terminal.end()


def test_long_input():
    with Terminal(SIDE, "explore", TRACE, width=1200) as terminal:
        terminal.wait(READY)
        terminal.send("e", "/")
        terminal.type("x" * 1100)
        terminal.wait(r"Search: x{1023}_")
        terminal.send("BSpace")
        terminal.wait(r"Search: x{1022}_")
        terminal.send("Escape", "q")
        terminal.end()


def test_nothing_to_show():
    # Event classes without events.
    empty = traced("--function", "counted_round")
    for directory, _, names in os.walk(empty):
        for name in set(names) - {"metadata"}:
            os.remove(os.path.join(directory, name))
    with Terminal(SIDE, "explore", empty) as terminal:
        contains(terminal.wait(READY), "Events     0")
        for key, sentence in (("f", "No calls were recorded"), ("t", "No calls were recorded"), ("e", "The trace has no events"),
                              ("c", "The trace has no events"), ("h", "The trace has no events"), ("b", "No event has a stack"),
                              ("m", "No allocations were recorded"), ("l", "No operations of locks were recorded")):
            terminal.send(key, "Enter", "Down", "+", ">", "n")
            terminal.wait(sentence)
        terminal.send("q")
        terminal.end()
    with Terminal(SIDE, "explore", TRACE, "--filter", "cpu == 12345") as terminal:
        terminal.wait(READY)
        terminal.send("e")
        terminal.wait("No event matches the filter")
        terminal.send("q")
        terminal.end()


def test_sizes():
    with Terminal(SIDE, "explore", TRACE, width=80, height=24) as terminal:
        terminal.wait("Functions")
        terminal.send("e")
        terminal.wait("Events  1/")
        terminal.tmux("resize-window", "-x", "100", "-y", "40")
        wait_until(lambda: len(terminal.lines()[2:-1]) == 37 and terminal.lines()[38].strip(), "more rows")
        terminal.tmux("resize-window", "-x", "39", "-y", "40")
        terminal.wait("too small")
        terminal.tmux("resize-window", "-x", "40", "-y", "10")
        terminal.wait("Events  1/")
        terminal.send("?")
        terminal.wait("Any key returns")
        terminal.tmux("resize-window", "-x", "120", "-y", "40")
        terminal.send("x")
        terminal.wait(f"Events  1/.*(.*\n)+.*{READY}")
        terminal.send("q")
        # tmux does not wrap the lines of the restored screen again, so the settings are not readable.
        terminal.wait("status=0")


def test_refused_terminals():
    for terminal, variables, reason in ((Terminal(SIDE, "explore", TRACE, width=39), "", "39x30"),
                                        (Terminal(SIDE, "explore", TRACE, variables="TERM=dumb"), "", "`dumb`"),
                                        (Terminal(SIDE, "explore", TRACE, variables="TERM=no-such"), "", "`no-such`")):
        with terminal:
            contains(terminal.wait(r"status=1\n").replace("\n", ""), reason, variables)
            contains(terminal.text().replace("\n", ""), "side report", "the hint")
    result = side("explore", TRACE)
    equal(result.status, 1, result.err)
    contains(result.err, "must be a terminal")
    contains(result.err, "side report")


def test_signals_restore_the_terminal():
    with Terminal(SIDE, "explore", TRACE) as terminal:
        terminal.wait(READY)
        terminal.send("C-c")
        terminal.end()


def test_running_process():
    program = subprocess.Popen([COUNTED, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    program.stdout.readline()
    try:
        with Terminal(SIDE, "explore", "-p", str(program.pid), "--function", "counted_*") as terminal:
            terminal.wait(r"Summary.*\[live\]")
            terminal.send("f")
            terminal.wait("counted_doze")
            terminal.send("e")
            first = int(re.search(r"Events  1/([\d,]+)", terminal.wait(r"Events  1/\d")).group(1).replace(",", ""))
            wait_until(lambda: int(re.search(r"Events  1/([\d,]+)", terminal.text()).group(1).replace(",", "")) > first,
                       "more events")
            terminal.send("p")
            terminal.wait(r"\[paused\]")
            terminal.send("p")
            terminal.wait(r"\[live\]")
            program.stdin.close()
            program.wait()
            terminal.wait(r"\[ended\]")
            terminal.send("q")
            terminal.end()
    finally:
        program.kill()
        program.wait()


class Explored:
    """A program that does on request what the screen shows."""

    def __enter__(self):
        self.process = subprocess.Popen([EXPLORED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = str(self.process.pid)
        equal(self.process.stdout.readline(), "ready\n")
        return self

    def __exit__(self, *error):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def ask(self, request):
        self.process.stdin.write(request + "\n")
        self.process.stdin.flush()
        equal(self.process.stdout.readline(), "done\n")

    def wait_until_recorded(self, terminal, pattern):
        """Calls functions until the screen shows one: its recording has begun."""
        def is_recorded():
            self.ask("probe")
            return re.search(pattern, terminal.text())
        wait_until(is_recorded, f"the screen has {pattern!r}", timeout=60)


def test_answers_of_a_running_process():
    with Explored() as program, Terminal(SIDE, "explore", "-p", program.pid, "--function", "explored_*", width=160) as terminal:
        program.wait_until_recorded(terminal, r"Summary.*\[live\]")
        terminal.send("F9")
        program.wait_until_recorded(terminal, r"(?s)Leaks.*\[live\].*explored_probe")
        # From now on, each call is recorded.
        program.ask("leak")
        terminal.wait(r" 7,777 +[\d.]+% +7 explored_leak")
        program.ask("leak")
        terminal.wait(r" 15,554 +[\d.]+% +14 explored_leak")
        terminal.send("/")
        terminal.type("explored_leak")
        terminal.send("Enter", "Enter")
        terminal.wait(r"(?s)The whole row.*explored_leak.*main")
        terminal.send("x", "F11")
        program.wait_until_recorded(terminal, r"(?s)Locks.*\[live\].*mutex explored_first")
        program.ask("deadlock")
        terminal.wait("DEADLOCK of 2 threads")
        terminal.send("/")
        terminal.type("deadlock")
        terminal.send("Enter", "Enter")
        text = terminal.wait("(?s)The whole row.*waits for.*waits for")
        contains(text, "explored_first")
        contains(text, "explored_second")
        terminal.send("x", "F8")
        terminal.wait(r"(?s)Stacks.*\[live\].*calls of functions by their callers.*explored_leak")
        # A view that was shown before goes on.
        terminal.send("F9", "p")
        terminal.wait(r"Leaks.*\[paused\]")
        program.ask("leak")
        terminal.send("p")
        terminal.wait(r" 23,331 +[\d.]+% +21 explored_leak")
        program.process.stdin.close()
        equal(program.process.wait(), 0)
        for key, view in (("F9", "Leaks"), ("F11", "Locks"), ("F3", "Functions")):
            terminal.send(key)
            terminal.wait(rf"{view}.*\[ended\]")
        terminal.send("q")
        terminal.end()


def test_answer_after_the_end():
    with Explored() as program, tempfile.TemporaryDirectory() as work:
        trace = os.path.join(work, "trace")
        with Terminal(SIDE, "explore", "-p", program.pid, "--function", "explored_*", "-o", trace) as terminal:
            program.wait_until_recorded(terminal, r"Summary.*\[live\]")
            program.process.stdin.close()
            equal(program.process.wait(), 0)
            terminal.wait(r"Summary.*\[ended\]")
            terminal.send("F9")
            terminal.wait(r"(?s)Leaks.*\[ended\].*No allocations were recorded.*cannot start the recording: the recording of the process has ended")
            terminal.send("q")
            terminal.end()
        equal(report(trace)[0]["type"], "overview")
        equal(os.listdir(work), ["trace"])


def test_recording_that_cannot_begin():
    program = subprocess.Popen([COUNTED, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    program.stdout.readline()
    try:
        for args, reason in ((["-p", "999999999"], "999999999"), (["-p", str(program.pid), "--function", "no_such_function"], "no_such_function")):
            with Terminal(SIDE, "explore", *args) as terminal:
                text = terminal.wait(r"status=[1-9]\n").replace("\n", "")
                contains(text, reason, "the reason")
                true("side-answer" not in text, f"a directory that is removed: {text}")
    finally:
        program.kill()
        program.wait()


def test_screen_of_the_documentation():
    with open(os.path.join(os.path.dirname(__file__), "../../docs/how-to/explore.md"), encoding="utf-8") as file:
        shown = [line[4:] for line in re.search(r"     Functions by (?:.*\n)+?    F1Help.*", file.read()).group().splitlines()]
    with Terminal(SIDE, "explore", TRACE, width=120, height=len(shown)) as terminal:
        terminal.wait("F2Summary")
        terminal.send("f")
        terminal.wait("Functions by SELF")
        lines = [line.rstrip() for line in terminal.wait(f"counted_compare(.*\n)+.*{READY}").splitlines()]
        for index in (0, 1, len(shown) - 1):
            equal(lines[index], shown[index], "the page has the screen of this version")
        for one, other in zip(lines[2:-1], shown[2:-1], strict=True):
            equal(len(columns(one)), len(columns(other)), other)
        equal(sorted(columns(line)[-1] for line in lines[2:-1] if line), sorted(columns(line)[-1] for line in shown[2:-1] if line), "functions")
        terminal.send("q")


if not shutil.which("tmux"):
    print("skipped: tmux is not installed")
    sys.exit(77)
run_tests(globals())
