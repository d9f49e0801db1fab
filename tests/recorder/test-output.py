# SPDX-License-Identifier: MIT
"""Output of recordings: directories that other users cannot read, no links followed, all mappings,
plausible numbers only.
"""
import json
import os
import re
import resource
import stat
import subprocess
import sys

from recording import *

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from waiting import wait_until

SIDE, OUTPUT_PROGRAM = os.environ["SIDE"], os.environ["OUTPUT_PROGRAM"]


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="side-output-")
        self.addCleanup(shutil.rmtree, self.dir, True)
        self.output = self.file("trace")

    def file(self, name):
        return os.path.join(self.dir, name)

    def command(self, *words):
        return [SIDE, "record", "-o", self.output, "--", OUTPUT_PROGRAM, *words]

    def record(self, *words, **options):
        done = subprocess.run(self.command(*words), capture_output=True, text=True, timeout=300, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr

    def traces(self):
        return [os.path.join(self.output, name) for name in os.listdir(self.output)]


class Output(Case):
    def test_directories(self):
        """With any umask."""
        before = os.umask(0)
        try:
            self.record("counters")
            subprocess.run([SIDE, "export", "--to", "ctf1", self.output, "-o", self.file("copy")], check=True, capture_output=True)
        finally:
            os.umask(before)
        found = 0
        for top in (self.output, self.file("copy")):
            for directory, _, _ in os.walk(top):
                self.assertEqual(stat.S_IMODE(os.stat(directory).st_mode), 0o750, directory)
                found += 1
        self.assertGreaterEqual(found, 4)

    def test_links(self):
        """The recorder follows no link that another user puts into the directory of a trace, even where landlock permits the target."""
        process = subprocess.Popen(self.command("wait", PLUGIN), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), "ready\n")
        wait_until(lambda: os.path.isdir(self.output) and self.traces() and os.path.exists(os.path.join(self.traces()[0], ".maps")),
                   "the list of mappings")
        trace, = self.traces()
        victims = []
        for name in (".maps", ".metadata.new"):
            victims.append(os.path.join(trace, ".kept" + name))
            with open(victims[-1], "w", encoding="ascii") as file:
                file.write("precious")
            if os.path.exists(os.path.join(trace, name)):
                os.remove(os.path.join(trace, name))
            os.symlink(".kept" + name, os.path.join(trace, name))
            if not os.geteuid():
                os.lchown(os.path.join(trace, name), 20001, 20001)
        _, messages = process.communicate("go\n", timeout=120)
        self.assertEqual(process.returncode, 0, messages)
        for victim in victims:
            with open(victim, encoding="ascii") as file:
                self.assertEqual(file.read(), "precious", victim)
        self.assertEqual([event[0] for event in read(self.output)[os.path.basename(trace)].events].count("output:event"), 2)

    def test_links_in_a_trace_to_repair(self):
        """`side view --repair` changes files of the trace only: links to a file of another user's choice stay unchanged, with their targets."""
        self.record("counters")
        trace, = self.traces()
        streams = [name for name in os.listdir(trace) if not name.startswith(".") and name != "metadata"]
        for number, name in enumerate(("metadata", streams[0])):
            path, kept = os.path.join(trace, name), os.path.join(trace, f".kept-{number}")
            os.rename(path, kept)
            with open(kept, "rb+") as file:
                file.truncate(os.path.getsize(kept) - 3)
                file.seek(0)
                before = file.read()
            os.symlink(kept, path)
            subprocess.run([SIDE, "view", "--repair", self.output], capture_output=True, text=True, timeout=120, check=False)
            with open(kept, "rb") as file:
                self.assertEqual(file.read(), before, name)
            os.remove(path)
            shutil.copy(kept, path)
            done = subprocess.run([SIDE, "view", "--repair", self.output], capture_output=True, text=True, timeout=120, check=False)
            with open(path, "rb") as file:
                self.assertNotEqual(file.read(), before, f"{name}, which is no link, is repaired: {done.stderr}")

    def test_pipe(self):
        """A reader that expects the list of mappings does not wait for a pipe, either."""
        self.record("counters")
        trace, = self.traces()
        os.remove(os.path.join(trace, ".maps"))
        os.mkfifo(os.path.join(trace, ".maps"))
        done = subprocess.run([SIDE, "report", self.output], capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_mappings(self):
        """Each once, and in linear time: with quadratic time, 8 times as many would take 64 times as
        long, 15 seconds.
        """
        number = 60000
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        self.record("mappings", str(number), PLUGIN)
        spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        trace, = self.traces()
        with open(os.path.join(trace, ".maps"), encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().splitlines()
        self.assertEqual(len(lines), len(set(lines)))
        mapped = [line for line in lines if line.endswith(os.path.basename(OUTPUT_PROGRAM))]
        self.assertGreater(len(mapped), min(number, 4 * 1024 * 1024 // (len(mapped[0]) + 2)) - 100)
        self.assertLessEqual(os.path.getsize(os.path.join(trace, ".maps")), 4 * 1024 * 1024)
        self.assertLess(spent, 60 if SANITIZED else 5, "seconds of computing, which are 0.2")

    def test_counters(self):
        """A program overwrites its counters: totals stay plausible, and the loss is reported."""
        messages = self.record("counters")
        self.assertIn("implausible", messages)
        self.assertLess(max(int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", messages)), 1e9, messages)
        trace, = read(self.output).values()
        self.assertEqual(len(trace.events), 2)
        self.assertEqual({reason for _, _, reason in trace.lost}, {"implausible counter, each counts once"})
        # Of each of three counters of each ring.
        self.assertLessEqual(max(trace.lost.values()), 3)
        done = subprocess.run([SIDE, "report", "--losses", "--format", "json", self.output], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            self.assertIn("implausible", done.stdout)
            json.loads(done.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv, verbosity=2)
