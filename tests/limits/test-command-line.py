# SPDX-License-Identifier: MIT
"""Limits of the command line: the last permitted value passes the check, and the next one is refused with its own message.

usage: test-command-line.py SIDE
"""
import os
import subprocess
import sys
import tempfile
import unittest

SIDE = os.path.abspath(sys.argv[1])
NO_COMMAND = "side: cannot run /nowhere/command: there is no such file"
NO_TRACE = "side: cannot report /nowhere: No such file or directory"
NO_PROGRAM = "side: there is no program `/nowhere/command`"


class CommandLine(unittest.TestCase):
    maxDiff = None

    def first_line(self, *words):
        with tempfile.TemporaryDirectory() as directory:
            done = subprocess.run([SIDE, *words], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, cwd=directory,
                                  env={**os.environ, "SIDE_RUNTIME": os.path.join(directory, "none"), "SIDE_PAGER": "", "NO_COLOR": "1"})
        self.assertEqual(done.stdout, "")
        self.assertNotEqual(done.returncode, 0, done.stderr)
        lines = done.stderr.split("\n")
        return lines[0], next((line for line in lines if line.startswith("hint: ")), None)

    def limit(self, command, last, following, passes, refusal, hint=None):
        """`last`: the arguments with the last permitted value. `passes`: the error that follows if the value is accepted."""
        self.assertEqual(self.first_line(*command, *last)[0], passes)
        self.assertEqual(self.first_line(*command, *following), (refusal, hint))

    def record(self, last, following, refusal, hint=None):
        for words in (last, following):
            words.append("/nowhere/command")
        self.limit(["record", "-o", "out"], last, following, NO_COMMAND, refusal, hint)

    def test_pairs(self):
        words = [word for i in range(64) for word in ("--pair", f"a{i}", f"b{i}")]
        self.limit(["report", "/nowhere"], words, [*words, "--pair", "a", "b"], NO_TRACE,
                   "side: `--pair` is given more than 64 times", "hint: run `side report` several times")

    def test_histograms(self):
        words = [word for i in range(64) for word in ("--histogram", f"f{i}")]
        self.limit(["report", "/nowhere"], words, [*words, "--histogram", "f"], NO_TRACE,
                   "side: `--histogram` is given more than 64 times", "hint: run `side report` several times")

    def test_slowest(self):
        self.limit(["report", "/nowhere", "--pair", "a", "b", "--slowest"], ["10000"], ["10001"], NO_TRACE,
                   "side: `--slowest` can be 10000 at most")

    def test_around(self):
        self.limit(["report", "/nowhere", "--pair", "a", "b", "--slowest", "5", "--around"], ["10000"], ["10001"], NO_TRACE,
                   "side: `--around` can be 10000 at most")

    def test_threads(self):
        self.record(["--memory-limit=1T", "--buffer-size=64K", "--per-thread=4096"], ["--memory-limit=1T", "--buffer-size=64K", "--per-thread=4097"],
                    "side: `--per-thread=4097`: the number of threads is between 1 and 4096")
        self.record(["--per-thread=1"], ["--per-thread=0"], "side: `--per-thread=0`: the number of threads is between 1 and 4096")

    def test_block_timeout(self):
        begin = ["--mode", "block", "--block-timeout"]
        self.record([*begin, "1h"], [*begin, "3600000001us"],
                    "side: `--block-timeout 3600000001us` is not between 1us and 60min")
        self.record([*begin, "1us"], [*begin, "999ns"], "side: `--block-timeout 999ns` is not between 1us and 60min")

    def test_compress(self):
        self.record(["--compress=19"], ["--compress=20"], "side: cannot compress at level 20: levels are 1 to 19")
        self.record(["--compress=1"], ["--compress=0"], "side: `--compress=0` is too small: leave the option out, or write 1 or more")

    def test_rotation(self):
        self.record(["--rotate-every=1s"], ["--rotate-every=999999999ns"], "side: a chunk cannot be shorter than a second (--rotate-every)")
        self.record(["--rotate-size=65536"], ["--rotate-size=65535"], "side: a chunk of 65535 bytes (--rotate-size) is less than 64 KiB")

    def test_buffer_size(self):
        self.record(["--buffer-size=65536"], ["--buffer-size=65535"],
                    "side: a ring of 65535 bytes (--buffer-size) is not between 64 KiB and 4 GiB")

    def test_channel_name(self):
        self.record(["--channel=" + "c" * 32], ["--channel=" + "c" * 33],
                    f"side: \"{'c' * 33}\" is not a valid name of a channel: a name has at most 32 letters, digits, \"_\" and \"-\"")

    def test_pattern(self):
        self.record(["-e", "p" * 511], ["-e", "p" * 512], f"side: pattern \"{'p' * 200}\", column 512: more than 511 bytes",
                    "hint: `side help patterns` explains them")

    def test_locations(self):
        words = [word for i in range(64) for word in ("--function", f"f{i}")]
        self.limit(["trace", "-c", "/nowhere/command"], words, [*words, "--function", "f"], NO_PROGRAM,
                   "side: more than 64 locations are given")

    def test_location(self):
        self.limit(["trace", SIDE, "--probe"], ["0" * 4096], ["0" * 4097], self.first_line("trace", SIDE, "--probe", "0" * 4096)[0],
                   "side: the specification of the location is too long")
        self.assertNotIn("too long", self.first_line("trace", SIDE, "--probe", "0" * 4096)[0])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
