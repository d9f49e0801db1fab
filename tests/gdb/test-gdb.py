# SPDX-License-Identifier: MIT
"""The commands of gdb, in batch mode: their output for programs with known values, line by line.

usage: test-gdb.py Types | Stops | Later | Core | Trace | Guide
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.environ["GDB_SCRIPT"]
EVERY = os.environ["GDB_EVERY_TYPE"]
TIMEOUT = 240


def gdb(arguments, commands, below=(), **variables):
    """Returns the output of each command, as lists of lines without the empty ones; with a command before gdb."""
    words = [*below, "gdb", "-nx", "-q", "-batch"]
    for command in ["set pagination off", "set confirm off", "set debuginfod enabled off"] + commands:
        words += ["-ex", command, "-ex", "echo \\n@@\\n"]
    # No colours, no variables of the user's environment, and Python leaves no files in the source
    # directory.
    environment = dict(os.environ, LC_ALL="C.UTF-8", PYTHONDONTWRITEBYTECODE="1", **variables)
    done = subprocess.run(words + arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          stdin=subprocess.DEVNULL, env=environment, timeout=TIMEOUT, check=False)
    parts = done.stdout.split("\n@@\n")[3:]
    return [[line for line in part.split("\n") if line] for part in parts[:len(commands)]]


def works():
    """Whether a gdb with Python is installed that may run programs."""
    if not shutil.which("gdb"):
        return "there is no gdb"
    if gdb([], ["python print(6 * 7)"])[0] != ["42"]:
        return "gdb has no Python"
    printed = gdb(["--args", EVERY, "1"], ["break main", "run", "info registers pc"])[-1]
    return None if printed and "0x" in printed[0] else "gdb may not run programs here"


class Case(unittest.TestCase):
    maxDiff = None

    def run_gdb(self, arguments, commands, **more):
        return gdb(arguments, ["source " + SCRIPT] + commands, **more)[1:]

    def every(self, commands, rounds="4"):
        return self.run_gdb(["--args", EVERY, rounds], ["break main", "run"] + commands)[2:]


class Types(Case):
    def test_all(self):
        """The values of each call, as in the program's source."""
        commands = ["break main", "run", "side break t:*"] + ["continue", "side print"] * 24
        printed = self.run_gdb([os.environ["GDB_TYPES"]], commands)[4::2]
        lines = [re.sub(r", called from .*", "", line) for part in printed for line in part
                 if not line.startswith(("side: the program is not stopped at", "The program"))]
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "types.txt"),
                  encoding="utf-8") as expected:
            self.assertEqual(lines, expected.read().splitlines())


class Stops(Case):
    def test_bits(self):
        printed = self.every(["side break log", "side break order", "side events order", "side delete 2",
                           "side events log", "delete 3", "side events *:*"])
        self.assertEqual(printed[2], ["shop:order (info), enabled: debugger", "1 event"])
        self.assertEqual(printed[4], ["shop:log (warning), enabled: nobody", "1 event"])
        self.assertNotIn("debugger", "\n".join(printed[6]))

    def test_shared(self):
        """Two breakpoints at one event: the enabled bit stays with the other one."""
        printed = self.every(["side break order", "side break order", "side delete 2", "side events order",
                           "continue", "side print color", "side delete", "side events order"])
        self.assertEqual(printed[3], ["shop:order (info), enabled: debugger", "1 event"])
        self.assertEqual(printed[5], ["  color = [ 10, 20, 30 ]"])
        self.assertEqual(printed[7], ["shop:order (info), enabled: nobody", "1 event"])

    def test_conditions(self):
        """Each condition stops in the first round in which it holds, or never."""
        for text, number in (("items[1].count == 2", 2), ("state > 2", 3), ('note == "ring twice"', 1),
                             ("!(items[1].count < 3) && color[0] == 10", 3), ("flags & 4", None),
                             ("payment == 1999 || state == 9", 0)):
            with self.subTest(text):
                printed = self.every([f"side break order if {text}", "continue", "side print items"])
                self.assertEqual(printed[2][0].endswith(f"count = {number} }} ]") if number is not None
                                 else "is not stopped" in printed[2][0], True, printed)

    def test_wrong_commands(self):
        """A wrong command is answered by one line."""
        printed = self.every(["side info nothing", "side break order if nope == 1", "side break order if f(1)",
                           "side break order if (", "side print", "side delete 7", "side info"])
        self.assertEqual(printed, [
            ["side: no event nothing is registered now", "hint: `side events` lists them"],
            ["side: shop:order has no field nope: it has color, first, flags, items, note, payment, state"],
            ["side: the condition 'f(1)' has call, which is not understood"],
            ["side: the condition '(' cannot be read"],
            ["side: the program is not stopped at an event: 'side break EVENT', then 'continue'"],
            ["side: breakpoint 7 is not one of 'side break'"],
            ["side: which event?  'side info EVENT'"]])

    def test_no_value(self):
        printed = self.every(["side break order if color[9] == 1", "continue"])
        self.assertIn("side: the condition of breakpoint 2 has no value: there is no", "\n".join(printed[1]))

    def test_completion(self):
        printed = self.every(["complete side break shop:o", "complete side info te", "complete side break order ",
                           "complete side break order if fi", "side break order", "complete side delete ", "continue",
                           "complete side print c", "complete side trace "])
        self.assertEqual(printed[0], ["side break shop:order"])
        self.assertEqual(printed[1], ["side info text"])
        self.assertEqual(printed[2], ["side break order if"])
        self.assertEqual(printed[3], ["side break order if first"])
        self.assertEqual(printed[5], ["side delete 2"])
        self.assertRegex("\n".join(printed[6]), "(?m)^Event shop:order, called from fire_order")
        self.assertEqual(printed[7:], [["side print color"], ["side trace all"]])
        # Without a program there is nothing to complete, and no message.
        self.assertEqual(self.run_gdb([], ["complete side break o"]), [[]])

    def test_help(self):
        printed = self.run_gdb([], ["help side", "help side break"])
        self.assertEqual({line.split()[1] for line in printed[0] if line.startswith("side ")},
                         {"break", "delete", "events", "info", "print", "trace"})
        self.assertTrue(printed[1][0].startswith("side break EVENT [if CONDITION]: "), printed[1])

    def test_fork(self):
        """A forked child stops, too; when one of the processes exits, the breakpoint stays."""
        for follow in ("set detach-on-fork off", "set follow-fork-mode child"):
            printed = self.run_gdb([os.environ["GDB_FORKS"]],
                                [follow, "set schedule-multiple on", "break main", "run", "side break tick", "continue",
                                 "side print", "inferior 1",
                                 # Both may have reached the event before gdb stopped one of them
                                 # for the other.
                                 "side print", "continue", "side print", "inferior 2", "continue", "side print"])[4:]
            # The line before it: an exited process is selected, without values to print.
            values = [line for part in printed for line in part if line.startswith("  who = ")]
            self.assertIn("  who = \"child\"", values, (follow, printed))
            if "detach" in follow:
                self.assertIn("  who = \"parent\"", values, (follow, printed))
            self.assertNotIn("Error", str(printed), follow)

    def test_before_start(self):
        printed = self.run_gdb([EVERY], ["side events"])
        self.assertEqual(len(printed[0]), 1)
        self.assertTrue(printed[0][0].startswith("side: "), printed)

    @unittest.skipUnless(os.uname().machine == "x86_64", "registers of x86-64")
    def test_rubbish(self):
        """Unmapped memory, or memory with other content, is reported, and nothing breaks."""
        printed = self.every(["side break order", "continue", "set $rsi = 16", "side print",
                           "set {short}((char *) &side_registry_0 + 4) = 3", "side events", "side print"])
        self.assertEqual(printed[3][-1], "side: no memory can be read at 0x10")
        self.assertEqual(printed[5], ["side: side_registry_0 says that words have 3 bytes"])
        self.assertEqual(printed[6], ["side: side_registry_0 says that words have 3 bytes"])

    @unittest.skipUnless(os.uname().machine == "x86_64", "registers of x86-64")
    def test_rubbish_argument(self):
        """One invalid argument does not hide the others."""
        printed = self.every(["side break text", "continue", "set {short}(*(long *) $rsi + 64) = 99",
                           "set {long}(*(long *) $rsi + 4) = 32", "side print"])
        self.assertEqual(printed[4][1:], ["  utf8 = <no memory can be read at 0x20>",
                                       "  utf16 = <the argument is unknown type 99, the description has string16>",
                                       '  utf32 = "\U0001f4e6"'])

    def test_leaves(self):
        """When gdb ends, it clears its enabled bits; the program runs on."""
        with subprocess.Popen([EVERY, "4000000000"], stdout=subprocess.DEVNULL) as program:
            try:
                attach = ["-p", str(program.pid)]
                # Until its constructors have run.
                for _ in range(50):
                    printed = self.run_gdb(attach, ["side break wide", "side events wide"])
                    if "no event" not in printed[0][0] and "no libside" not in printed[0][0]:
                        break
                if not printed[1] or "No such" in printed[1][0]:
                    self.skipTest("gdb may not attach here")
                self.assertEqual(printed[1], ["shop:wide (debug), enabled: debugger", "1 event"])
                self.assertIsNone(program.poll())
                printed = self.run_gdb(attach, ["side events wide"])
                self.assertEqual(printed[0], ["shop:wide (debug), enabled: nobody", "1 event"])
            finally:
                program.kill()


class Later(Case):
    """Events that do not exist yet: of a program that was not started, of a library that is loaded and
    unloaded, of the next run.
    """

    HOST = ["--args", os.environ["GDB_HOST"], os.environ["GDB_LATE"]]

    @staticmethod
    def values(printed):
        """Returns the names of the events at which it stopped, and their fields."""
        return [line.split(",")[0] if ", called from" in line else line.strip() for part in printed for line in part
                if line.startswith("  ") or ", called from" in line and not line.startswith("Event ")]

    def test_before_they_are_there(self):
        step = ["continue", "side print"]
        printed = self.run_gdb(self.HOST, ["side break late:*", "side break sold if pieces > 1", "run", "side print"] + step * 3 +
                            ["run", "side print"] + step * 3)
        self.assertEqual(printed[:2], [["No event late:* is registered yet: breakpoint 1 waits for it"],
                                    ["No event sold is registered yet: breakpoint 2 waits for it"]])
        once = ["late:tick", "round = 1", "shop:sold", "pieces = 2", 'what = "tea"', "late:tick", "round = 2"]
        self.assertEqual(self.values(printed), once * 2)

    def test_conditions_that_do_not_match(self):
        """A condition names a field that the late event does not have: this is reported when the event
        is registered; others stop.
        """
        printed = self.run_gdb(self.HOST, ["side break *:*[tl][id]* if round == 2", "run", "side print"])
        self.assertEqual(self.values(printed), ["late:tick", "round = 2"])
        self.assertIn("side: breakpoint 1 does not stop at shop:sold: shop:sold has no field round: it has pieces, what",
                      printed[1])

    def test_ended(self):
        """No breakpoint waits any more: the program runs to its end."""
        printed = self.run_gdb(self.HOST, ["side break tick", "side break sold", "run", "side delete", "continue", "side print"])
        self.assertIn("exited normally", printed[4][-1])
        self.assertIn("is not stopped at an event", printed[5][0])

    def test_events_that_are_not_registered(self):
        printed = self.run_gdb(self.HOST, ["set breakpoint pending off", "side break tick", "set breakpoint pending auto",
                                        "break main", "run", "side break solt"])
        self.assertEqual(printed[1], ["side: no event tick is registered now, and 'set breakpoint pending' is off"])
        self.assertEqual(printed[5], ["No event solt is registered yet: breakpoint 2 waits for it", "hint: did you mean `side break sold`?"])

    def test_plus(self):
        """The C++ function that emits, by its own name."""
        printed = self.run_gdb(self.HOST, ["side break sold", "run", "side print", "info breakpoints"])
        self.assertRegex(printed[2][0], "^shop:sold, called from .*shop::Till<unsigned int>::sell")
        self.assertEqual(printed[2][1:], ['  pieces = 1', '  what = "tea"'])

    def test_wrong_commands(self):
        printed = self.run_gdb(self.HOST, ["set breakpoint pending off", "side break nothing", "set breakpoint pending auto",
                                        "break main", "run", "side break solt", "side break late:tick if nope == 1", "continue"])
        self.assertEqual(printed[1], ["side: no event nothing is registered now, and 'set breakpoint pending' is off"])
        self.assertEqual(printed[5], ["No event solt is registered yet: breakpoint 2 waits for it", "hint: did you mean `side break sold`?"])
        self.assertIn("side: breakpoint 3 does not stop at late:tick: late:tick has no field nope: it has round", printed[7])

    def test_without_libside(self):
        printed = self.run_gdb(["--args", shutil.which("true")], ["starti", "side events", "side break any", "continue"])
        self.assertEqual(len(printed[1]), 1)
        self.assertRegex(printed[1][0], "^side: no libside here .*static and stripped")
        self.assertEqual(printed[2], ["No event any is registered yet: breakpoint 1 waits for it"])
        self.assertIn("exited normally", printed[3][-1])

    def test_made_while_it_runs(self):
        """An event that is described at run time."""
        printed = self.run_gdb([os.environ["GDB_BUILDER"]], ["side break compiled if blocks[1] == 128", "run", "side print", "side info jit:*"])
        self.assertEqual(printed[2][1:], ['  name = "main"', '  tier = 2 ("optimized")', "  blocks = [ 64, 128, 32 ]"])
        self.assertEqual(printed[3], ["jit:compiled (info)", "  name: string", "  tier: enum of u8", "  blocks: vla of u32"])


class Core(Case):
    def test_core(self):
        with tempfile.TemporaryDirectory(prefix="side-gdb-") as place:
            core = os.path.join(place, "core")
            asked = ["side events shop:*", "side info *", "side print"]
            live = self.every(["side break log if latency_us == 2", "continue"] + asked +
                              ["generate-core-file " + core, "kill"])[2:5]
            printed = self.run_gdb([EVERY, core], asked + ["side break order"])
        self.assertEqual(printed[:3], live)
        self.assertIn("shop:log (warning), enabled: debugger", printed[0])
        self.assertEqual(printed[2][1:], ['  message = "till is slow"', "  + latency_us = 2", '  + device = "till 3"'])
        self.assertEqual(len(printed[3]), 1)
        self.assertTrue(printed[3][0].startswith("side: "), printed[3])


def timeless(lines):
    """Without times: the speed of the clock is measured more and more precisely."""
    return [re.sub(r"^\[[0-9:.]+\] \(\+[0-9?.]+\) ", "", line) for line in lines]


class Trace(Case):
    """The content of a flight recorder at one instant, compared with what it wrote at the end: the
    program fires no more events.
    """

    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="side-gdb-")
        self.addCleanup(shutil.rmtree, self.place)
        os.symlink(os.environ["SIDE"], os.path.join(self.place, "side"))
        self.out, self.core = os.path.join(self.place, "out"), os.path.join(self.place, "core")
        self.path = self.place + os.pathsep + os.environ["PATH"]

    def test_trace(self):
        record = [os.environ["SIDE"], "record", "--mode", "overwrite", "-o", self.out, "--"]
        asked = ["side trace all", "side trace", "side trace 3", "side trace all -e shop:order -e shop:log"]
        live = self.run_gdb(["--args", EVERY, "5"], ["break main", "run", "break exit", "continue"] + asked +
                            ["generate-core-file " + self.core, "side trace all --nope", "side trace 'x", "continue"],
                            below=record, PATH=self.path)[4:]
        wanted = subprocess.run([os.environ["SIDE"], "view", "--quiet", "--color=never", self.out],
                                stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
        wanted, live = timeless(wanted), [timeless(lines) for lines in live]
        self.assertEqual(len(wanted), 5 * 8)
        self.assertEqual(live[0], wanted)
        self.assertEqual(live[1], ["20 events before these: 'side trace all' shows them"] + wanted[-20:])
        self.assertEqual(live[2][1:], wanted[-3:])
        self.assertEqual(live[3], [line for line in wanted if "shop:order" in line or "shop:log" in line])
        self.assertIn("--nope", live[5][0])
        self.assertEqual(live[6], ["side: ''x' cannot be read: No closing quotation"])
        printed = self.run_gdb([EVERY, self.core], asked, PATH=self.path)
        self.assertEqual([timeless(lines) for lines in printed], live[:4])

    def test_wrong_commands(self):
        printed = self.every(["side trace"])
        self.assertEqual(len(printed[0]), 2, printed)
        self.assertEqual(printed[0][0], "side: the command 'side', which reads the rings, is not in PATH")
        self.assertRegex(printed[0][1], "^hint: `python os.environ")
        printed = self.run_gdb([EVERY], ["side trace"], PATH=self.path)
        self.assertEqual(printed[0], ["side: the program does not run: start it, attach to it, or load its core dump first"])
        printed = self.run_gdb(["--args", EVERY, "5"], ["break main", "run", "side trace"], PATH=self.path)[2:]
        self.assertEqual(len(printed[0]), 1, printed)
        self.assertTrue(printed[0][0].startswith("side: "), printed)


class Guide(Case):
    def test_guide(self):
        """The commands of the page have the printed output; "..." matches anything."""
        with open(os.environ["GDB_GUIDE"], encoding="utf-8") as guide:
            example = re.search(r"^```gdb\n(.*?)^```$", guide.read(), re.M | re.S).group(1)
        parts = re.split(r"^\(gdb\) ", example, flags=re.M)[1:]
        commands = [part.split("\n")[0] for part in parts]
        self.assertGreater(len(commands), 8)
        printed = self.run_gdb(["--args", EVERY, "4"], commands)
        for part, lines in zip(parts, printed):
            # The name of the function depends on what the compiler inlines.
            expected = re.sub("called from .*", "called from ...", part.split("\n", 1)[1].rstrip("\n"))
            pattern = re.escape(expected).replace(r"\.\.\.", ".*")
            self.assertRegex("\n".join(lines), re.compile(f"^{pattern}$", re.S), part)

    def test_found(self):
        """gdb finds the commands by the library's name."""
        with tempfile.TemporaryDirectory(prefix="side-gdb-") as place:
            place = os.path.realpath(place)
            library = os.path.join(place, "libside.so.0")
            shutil.copy(os.environ["GDB_LIBRARY"], library)
            shutil.copy(SCRIPT, place)
            shutil.copytree(os.path.join(os.path.dirname(SCRIPT), "side_gdb"), os.path.join(place, "side_gdb"))
            printed = gdb(["--args", EVERY, "1"], [f"add-auto-load-safe-path {place}",
                                                f"set environment LD_LIBRARY_PATH {place}",
                                                f"set environment LD_PRELOAD {library}",
                                                "set startup-with-shell off", "break main", "run", "side events order"])
        self.assertEqual(printed[-1], ["shop:order (info), enabled: nobody", "1 event"])


if __name__ == "__main__":
    reason = works()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main(verbosity=2)
