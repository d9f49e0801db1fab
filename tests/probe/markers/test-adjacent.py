#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Markers, starts of functions and instructions so close together that their jumps would need the same bytes: each probe
is set, in any order, and records correct values.

usage: test-adjacent.py [TEST...]
"""
import functools
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../.."))
import checks

SIDE = os.environ["SIDE"]
LONG = os.environ.get("SIDE_TEST_LONG") == "1"
TIMEOUT = 120
run = functools.partial(checks.run, timeout=TIMEOUT)
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
os.environ["LC_ALL"] = "C"
os.environ.pop("LD_PRELOAD", None)

# Between two markers: instructions of one to four bytes without an effect.
BETWEEN = ["", "", "", "nop\\n", "xchg %ax,%ax\\n", "movl %ebx,%ebx\\n", "mov %rbx,%rbx\\n", "lea 0(%rbx),%rbx\\n", "nopl (%rax)\\n"]
MARKER = ('990: nop\\n.pushsection .note.stapsdt,\\"\\",\\"note\\"\\n.balign 4\\n.4byte 992f-991f,994f-993f,3\\n991: .asciz \\"stapsdt\\"\\n992: .balign 4\\n'
          '993: .8byte 990b,_.stapsdt.base,0\\n.asciz \\"adj\\"\\n.asciz \\"{name}\\"\\n.asciz \\"{arguments}\\"\\n994: .balign 4\\n.popsection\\n')
BASE = ('.pushsection .stapsdt.base,\\"aG\\",\\"progbits\\",.stapsdt.base,comdat\\n.weak _.stapsdt.base\\n.hidden _.stapsdt.base\\n_.stapsdt.base: .space 1\\n'
        '.size _.stapsdt.base,1\\n.popsection\\n')
PROGRAM = """#include <stdio.h>
void marked(long value);
__asm__(".text\\n{base}.globl marked\\n.type marked,@function\\n.p2align 4\\nmarked:\\n.cfi_startproc\\n{body}ret\\n.cfi_endproc\\n.size marked,.-marked\\n");
int main(int argc, char **argv)
{{
    char line[16];
    if (argc == 1)
        for (long i = 0; i < 5; i++)
            marked(100 + i);
    while (argc > 1 && fgets(line, sizeof(line), stdin)) {{
        for (long i = 0; i < 10; i++)
            marked(100 + i);
        puts("done");
        fflush(stdout);
    }}
    return 0;
}}
"""


def generate(rng, count):
    """The source of a program, and the values of each marker in the call with that value."""
    body, output = [], {}
    for i in range(count):
        name, number = f"m{i}", rng.randrange(1, 1 << 30)
        body.append(MARKER.format(name=name, arguments=f"-8@%rdi 4@${number}"))
        body.append(rng.choice(BETWEEN))
        output[name] = number
    return PROGRAM.format(base=BASE, body="".join(body)), output


class Adjacent(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="side-adjacent-")
        self.addCleanup(shutil.rmtree, self.folder, True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def build(self, seed, count):
        rng = random.Random(seed)
        source, output = generate(rng, count)
        with open(self.path("program.c"), "w", encoding="utf-8") as file:
            file.write(source)
        run(COMPILERS[seed % len(COMPILERS)], "-w", rng.choice(["-O0", "-O2"]), *rng.choice([["-pie", "-fPIE"], ["-no-pie", "-fno-pie"]]),
            self.path("program.c"), "-o", self.path("program"))
        return rng, output

    def events(self, trace):
        found = []
        for line in run(SIDE, "view", "--flat", self.path(trace)).stdout.splitlines():
            event = re.search(r" (\w+):([\w*]+): {(.*) ?}$", line)
            found.append((event[2], dict(re.findall(r"(\w+) = ([^,}]*?)(?:,| ?$| })", event[3].strip()))))
        return found

    def test_all(self):
        for seed in range(100 if LONG else 8):
            with self.subTest(seed=seed):
                rng, output = self.build(seed, 2 + seed % 7)
                names = sorted(output)
                rng.shuffle(names)
                shutil.rmtree(self.path("t"), True)
                done = run(SIDE, "trace", "-o", self.path("t"), "-c", self.path("program"), "--function", "marked",
                           *[word for name in names for word in ("--sdt", "adj:" + name)])
                self.assertNotIn("not set", done.stderr)
                events = self.events("t")
                # These two have the same address, and no order.
                for i in range(0, len(events) - 1, len(output) + 1):
                    events[i:i + 2] = sorted(events[i:i + 2], key=lambda event: event[0] != "marked")
                wanted = [(name, 100 + i) for i in range(5) for name in ["marked", *sorted(output)]]
                self.assertEqual([name for name, _ in events], [name for name, _ in wanted])
                for (name, fields), (_, value) in zip(events, wanted):
                    if name != "marked":
                        self.assertEqual((fields["arg1"], fields["arg2"]), (str(value), str(output[name])), name)

    def test_glob(self):
        for seed in range(3):
            _, output = self.build(seed, 5)
            shutil.rmtree(self.path("t"), True)
            done = run(SIDE, "trace", "-o", self.path("t"), "-c", self.path("program"), "--sdt", "adj:*")
            self.assertNotIn("not set", done.stderr)
            self.assertEqual([fields["arg2"] for _, fields in self.events("t")], [str(output[name]) for name in sorted(output)] * 5)
            shutil.rmtree(self.path("t"))
            run(SIDE, "trace", "-o", self.path("t"), "-c", self.path("program"), "--sdt", "adj:m[13]")
            self.assertEqual([fields["arg2"] for _, fields in self.events("t")], [str(output[name]) for name in ("m1", "m3")] * 5)

    def start(self, process, trace, *probes):
        tracer = subprocess.Popen([SIDE, "trace", "-o", self.path(trace), "-p", str(process.pid), *probes], stderr=subprocess.PIPE, text=True)
        for _ in range(len(probes) // 2):
            line = output = ""
            while " is set in process" not in line:
                line = tracer.stderr.readline()
                output += line
                self.assertTrue(line, output)
            self.assertIn("1 of 1", line)
        return tracer

    @staticmethod
    def finish(tracer):
        tracer.send_signal(signal.SIGINT)
        tracer.communicate(timeout=TIMEOUT)

    def test_one_after_the_other(self):
        """Probes are set and removed while the program runs, each in its own session: probes that are set see every call."""
        for seed in range(6 if LONG else 2):
            rng, output = self.build(seed + 50, 4)
            names, there, hits = sorted(output), {}, {}
            with subprocess.Popen([self.path("program"), "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
                for _ in range(7):
                    name = rng.choice(names)
                    if name in there:
                        self.finish(there.pop(name))
                        self.assertEqual(len(self.events(name)), hits.pop(name), name)
                        shutil.rmtree(self.path(name))
                    else:
                        there[name] = self.start(process, name, "--sdt", "adj:" + name)
                        hits[name] = 0
                    process.stdin.write("\n")
                    process.stdin.flush()
                    self.assertEqual(process.stdout.readline(), "done\n")
                    for running in there:
                        hits[running] += 10
                for name, tracer in there.items():
                    self.finish(tracer)
                    self.assertEqual(len(self.events(name)), hits[name], name)
                    shutil.rmtree(self.path(name))
                process.communicate("\n", timeout=TIMEOUT)
                self.assertEqual(process.returncode, 0)

    def test_calls_go_on(self):
        """The start of a function becomes a breakpoint during a call, and its return is seen."""
        _, output = self.build(3, 4)
        with subprocess.Popen([self.path("program"), "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            first = self.start(process, "first", "--function", "marked", "--exit")
            process.stdin.write("\n")
            process.stdin.flush()
            self.assertEqual(process.stdout.readline(), "done\n")
            second = self.start(process, "second", "--sdt", "adj:m0", "--sdt", "adj:m1")
            process.stdin.write("\n")
            process.stdin.flush()
            self.assertEqual(process.stdout.readline(), "done\n")
            self.finish(second)
            self.finish(first)
            process.communicate("", timeout=TIMEOUT)
        self.assertEqual([name for name, _ in self.events("first")], ["marked", "marked_return"] * 20)
        self.assertEqual([name for name, _ in self.events("second")], ["m0", "m1"] * 10)
        self.assertEqual(process.returncode, 0)
        self.assertEqual(len(output), 4)


if __name__ == "__main__":
    unittest.main(verbosity=2)
