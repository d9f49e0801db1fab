#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Output on a terminal: long output through a pager, and a line of progress for long work."""
import fcntl
import shutil
import struct
import termios

from harness import *

TALKER = os.environ["TALKER"]
work = tempfile.TemporaryDirectory()
TRACE = os.path.join(work.name, "trace")
EVENTS = 400


class Terminal:
    """A command with its own terminal for the chosen streams, as its controlling terminal."""

    def __init__(self, *words, streams=(0, 1, 2), rows=24, **env):
        self.pid, self.master = pty.fork()
        if not self.pid:
            null = os.open("/dev/null", os.O_RDWR)
            for stream in {0, 1, 2} - set(streams):
                os.dup2(null, stream)
            os.execve(words[0], list(words), environment(**env))
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 80, 0, 0))
        self.seen = b""

    def read_until(self, *parts, seconds=60):
        end = time.monotonic() + seconds
        while not all(part.encode() in self.seen for part in parts):
            assert time.monotonic() < end, f"never came: {parts}, but {self.seen[-2000:]!r}"
            if not self.more():
                break
        return self.seen.decode("utf-8", "replace")

    def more(self):
        if not select.select([self.master], [], [], 1)[0]:
            return True
        try:
            got = os.read(self.master, 65536)
        except OSError:
            return False
        self.seen += got
        return bool(got)

    def type(self, text):
        os.write(self.master, text.encode())

    def end(self, seconds=60):
        """Reads everything until the end; returns the exit status, 128 + N for a signal."""
        end = time.monotonic() + seconds
        while self.more():
            assert time.monotonic() < end, f"it does not end: {self.seen[-2000:]!r}"
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.master)
        return status if status >= 0 else 128 - status, self.seen.decode("utf-8", "replace")


def script(name, text):
    path = os.path.join(work.name, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n" + text)
    os.chmod(path, 0o755)
    return path


def setup():
    made = side("record", "-o", TRACE, TALKER, str(EVENTS))
    equal(made.status, 0, made.err)


setup()
# Prints a mark, and passes all input on.
MARK = script("mark", "echo PAGER; cat\n")


def test_pager_is_used():
    plain = side("view", TRACE).out
    for verb in (["view", TRACE], ["report", TRACE], ["list", TALKER], ["help", "times"], ["help", "view"], ["view", "--help"], ["--help"]):
        status, text = Terminal(SIDE, "--color=never", *verb, SIDE_PAGER=MARK).end()
        equal(status, 0, str(verb))
        true(text.startswith("PAGER\r\n"), f"{verb}: {text[:200]!r}")
    status, text = Terminal(SIDE, "--color=never", "view", TRACE, SIDE_PAGER=MARK).end()
    equal(text.replace("\r\n", "\n"), "PAGER\n" + plain, "the pager has the same bytes")
    # The first of the variables decides, and a shell runs it.
    equal(Terminal(SIDE, "help", "times", SIDE_PAGER=f"{MARK} | tr a-z A-Z", PAGER="false").end()[1].count("PAGER"), 1)
    true(Terminal(SIDE, "help", "times", SIDE_PAGER=None, PAGER=MARK).end()[1].startswith("PAGER"), "PAGER")
    contains(Terminal(SIDE, "help", "times", SIDE_PAGER=script("less", 'echo "LESS=$LESS"; cat\n')).end()[1], "LESS=FRX")
    contains(Terminal(SIDE, "help", "times", SIDE_PAGER=script("less", 'echo "LESS=$LESS"; cat\n'), LESS="-i").end()[1], "LESS=-i")


def test_pager_is_not_used():
    for more, env in ((["--no-pager"], {}), ([], {"TERM": "dumb"}), ([], {"TERM": None})):
        status, text = Terminal(SIDE, "view", TRACE, *more, SIDE_PAGER=MARK, **env).end()
        equal((status, "PAGER" in text, text.count("talker:said")), (0, False, EVENTS), f"{more} {env}")
    for command in ("", "cat"):
        equal(Terminal(SIDE, "view", TRACE, SIDE_PAGER=command, PAGER=MARK).end()[1].count("PAGER"), 0)
    # Without a terminal for the output, and for other verbs.
    out = os.path.join(work.name, "out")
    equal(os.waitstatus_to_exitcode(os.system(f"SIDE_PAGER={MARK} '{SIDE}' view '{TRACE}' > '{out}'")), 0)
    with open(out, encoding="utf-8") as file:
        true("PAGER" not in file.read(), "a file has no pager")
    equal(Terminal(SIDE, "view", TRACE, streams=(0, 2), SIDE_PAGER=MARK).end()[1].count("PAGER"), 0)
    equal(Terminal(SIDE, "version", SIDE_PAGER=MARK).end()[1].count("PAGER"), 0)
    # A pager that does not exist: the output is printed nevertheless.
    status, text = Terminal(SIDE, "view", TRACE, SIDE_PAGER="no-such-pager").end()
    equal((status, text.count("talker:said")), (0, EVENTS))
    contains(text, "cannot run the pager `no-such-pager`")


def test_status_with_a_pager():
    """The status is that of side; leaving the pager early is not a failure."""
    quits = script("quits", "head -n 1 >/dev/null; echo LEFT\n")
    for _ in range(10):
        status, text = Terminal(SIDE, "view", TRACE, SIDE_PAGER=quits).end()
        equal((status, "LEFT" in text, "Broken pipe" in text), (0, True, False))
    status, text = Terminal(SIDE, "view", work.name + "/nothing", SIDE_PAGER=MARK).end()
    equal(status, 1)
    contains(text, "cannot view")
    equal(Terminal(SIDE, "view", TRACE, SIDE_PAGER=script("fails", "cat >/dev/null; exit 3\n")).end()[0], 0)
    status, text = Terminal(SIDE, "view", TRACE, SIDE_PAGER="true; no-such-pager").end()
    equal(status, 1)
    contains(text, "cannot run the pager", "`--no-pager` prints without it")


def test_signals_with_a_pager():
    """Ctrl-C ends the printing command, not the pager; SIGTERM to side reaches it."""
    # strace delays side after its first fork, which starts the pager: the user presses the key before side continues.
    early = ["strace", "-D", "-f", "-qq", "-o", "/dev/null", "-e", "trace=clone", "-e", "inject=clone:delay_exit=300000:when=1"]
    early[0] = shutil.which("strace") or ""
    for send, before in (("key", []), ("signal", []), ("key", early), ("signal", early)):
        if before and not before[0]:
            skip("no strace: the early key and signal are not tried")
        # No process reads the pipe, so side waits for space in it.
        pager = script("stops", "trap '' INT; echo READY; while [ ! -e " + work.name + "/go ]; do sleep 0.05; done; cat >/dev/null; echo DONE\n")
        big = os.path.join(work.name, "big")
        if not os.path.exists(big):
            equal(side("record", "-o", big, TALKER, "20000").status, 0)
        terminal = Terminal(*before, SIDE, "view", big, SIDE_PAGER=pager)
        terminal.read_until("READY")
        if send == "key":
            terminal.type("\x03")
        else:
            os.kill(terminal.pid, signal.SIGTERM)
        with open(work.name + "/go", "w", encoding="utf-8"):
            pass
        status, text = terminal.end()
        os.unlink(work.name + "/go")
        equal(status, 130 if send == "key" else 143, send)
        contains(text, "DONE")


def test_less():
    if not shutil.which("less"):
        skip("no less")
    status, text = Terminal(SIDE, "view", TRACE, "-n", "2", SIDE_PAGER=None, PAGER=None).end()
    equal((status, text.count("talker:said")), (0, 2), "less ends by itself if all fits")
    terminal = Terminal(SIDE, "view", TRACE, SIDE_PAGER=None, PAGER=None)
    terminal.read_until("talker:said", ":")
    terminal.type("q")
    status, text = terminal.end()
    equal(status, 0)
    true(0 < text.count("talker:said") < EVENTS, "one screen")
    # With the colours of a terminal.
    contains(Terminal(SIDE, "view", TRACE, "-n", "2", SIDE_PAGER=None, PAGER=None).end()[1], "\033[")


LINE = re.compile(r"\rside: (?:record|export|recover): [^\r]*\033\[K\r")


def recording(command, *more, streams=(0, 1, 2), **env):
    return Terminal(SIDE, "record", *more, "-o", tempfile.mkdtemp(dir=work.name), *command, streams=streams, **env)


def is_removed(text):
    """The last line of progress is removed before anything else is printed."""
    last = list(LINE.finditer(text))[-1]
    true(text[last.end():].startswith("\r\033[K"), repr(text[last.start():]))


def test_progress_of_a_recording():
    """After one second, on standard error, and removed at the end."""
    go = os.path.join(work.name, "go")
    for more in ([], ["-v"]):
        terminal = recording(["sh", "-c", f"while [ ! -e {go} ]; do sleep 0.05; done"], *more)
        terminal.read_until("side: record: ", " lost\033[K")
        with open(go, "w", encoding="utf-8"):
            pass
        status, text = terminal.end()
        os.unlink(go)
        equal(status, 0, text)
        is_removed(text)


def test_no_progress():
    """No progress if it was not requested, without a terminal, for short work, and while a program
    draws on the terminal.
    """
    late = ["sleep", "1.5"]
    for command, more, env, streams in (
            (late, ["-q"], {}, (0, 1, 2)), (late, ["--no-progress"], {}, (0, 1, 2)), (late, ["--json"], {}, (0, 1, 2)),
            (late, [], {"TERM": "dumb"}, (0, 1, 2)), (late, [], {}, (0, 1)), (["true"], [], {}, (0, 1, 2)),
            (["sh", "-c", "stty -icanon -echo; sleep 1.5"], [], {}, (0, 1, 2))):
        status, text = recording(command, *more, streams=streams, **env).end()
        equal((status, LINE.findall(text)), (0, []), f"{command} {more} {env} {streams}: {text!r}")


def test_progress_of_an_export():
    """Its output is read late, so that it works longer than a second on every machine."""
    big = os.path.join(work.name, "long")
    equal(side("record", "-o", big, TALKER, "60000").status, 0)
    for form in ("csv", "jsonl"):
        fifo = os.path.join(work.name, "fifo-" + form)
        os.mkfifo(fifo)
        terminal = Terminal("/bin/sh", "-c", f"exec '{SIDE}' export --format {form} '{big}' > '{fifo}'")
        with open(fifo, "rb") as reader:
            got = len(reader.read(1))
            time.sleep(1.3)
            got += len(reader.read())
        status, text = terminal.end()
        equal(status, 0, text)
        true(LINE.findall(text), f"{form}: {text!r}")
        is_removed(text)
        equal(got, len(side("export", "--format", form, big, text=False).out))


def test_names_in_progress():
    """A search includes directories of other users. Control characters in their names are made visible, and do not reach the terminal."""
    with tempfile.TemporaryDirectory() as top:
        for number in range(150):
            os.mkdir(os.path.join(top, f"\033]0;title\007\r{number}"))
        _, text = Terminal(SIDE, "view", top, LD_PRELOAD=os.environ["LATER"]).end()
    contains(text, "searched 64 directories, now ")
    contains(text, "\\x1b]0;title\\x07\\x0d")
    true("\033]" not in text and "\007" not in text, repr(text))


run_tests(globals())
