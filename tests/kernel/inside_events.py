# SPDX-License-Identifier: MIT
"""In the machine: events that come and go, conflicting names, listeners of every kind, programs that
fork, load libraries and close descriptors.

usage: inside_events.py [CASE...]   with KERNEL_PROGRAM, KERNEL_PLUGIN, ROUNDTRIP_FIRE, SIDE in the
environment
"""
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

import eventheader
import ftrace
import plain

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from waiting import stop_process, wait_until

PROGRAM, PLUGIN = os.environ["KERNEL_PROGRAM"], os.environ["KERNEL_PLUGIN"]
FIRE = os.environ["ROUNDTRIP_FIRE"]


class Running:
    """A program that waits for the test."""
    all = []

    def __init__(self, *arguments, program=PROGRAM, events="kern", encoding="auto", word="ready", **more):
        environment = dict(os.environ, SIDE_USER_EVENTS=events, SIDE_USER_EVENTS_ENCODING=encoding, FIRE_WAIT="1",
                           SIDE_DEBUG="1")
        self.process = subprocess.Popen([program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=environment, text=True, **more)
        self.all.append(self)
        self.word = word
        self.wait()

    def wait(self):
        line = self.process.stdout.readline().strip()
        if line != self.word:
            raise AssertionError(f"{line!r} instead of {self.word!r}: {self.process.stderr.read()}")

    def go(self):
        self.process.stdin.write("x")
        self.process.stdin.flush()

    @classmethod
    def end_all(cls):
        """Ends the programs of a failed case: their events would disturb every later case."""
        while cls.all:
            process = cls.all.pop().process
            if process.poll() is None:
                process.kill()
                process.wait()
            for file in process.stdin, process.stdout, process.stderr:
                file.close()

    def end(self):
        out, errors = self.process.communicate("x" * 8, timeout=100)
        if self.process.returncode:
            raise AssertionError(f"ended with {self.process.returncode}: {errors}")
        return out + errors


def script(provider, event, fields, values):
    """Returns a script for the firing program: fields are (name, "u32" or "str")."""
    kinds = {"u32": dict(t="int", label=4, size=4, bits=0, signed=0, be=0), "str": dict(t="str", unit=1, be=0)}
    path = f"/tmp/{provider}-{event}-{len(fields)}-{fields[0][0]}.json"
    firings = [dict(event=0, args=[value.to_bytes(4, "little").hex() if isinstance(value, int)
                                   else (value + "\0").encode().hex() for value in row], blocks=[])
               for row in values]
    with open(path, "w", encoding="utf-8") as file:
        json.dump(dict(events=[dict(provider=provider, event=event, loglevel=6, variadic=0,
                                    m=[[name, kinds[kind]] for name, kind in fields])], fire=firings), file)
    return path


def found(most=100000):
    """Returns the content of ftrace's buffers: (name, fields by name), in either encoding."""
    formats = {}
    for name, text in ftrace.formats():
        number, fields = ftrace.parse_format(text)
        formats[number] = (os.path.basename(name), fields)
    out = []
    for page in ftrace.raw_pages(most):
        for number, _, payload in ftrace.records(page):
            name, fields = formats[number]
            if fields and fields[0][1] == "eventheader_flags":
                _, _, name, values, _ = eventheader.decode(name, payload)
                out.append((name.decode(), {key.decode(): value for key, value in values}))
            else:
                out.append((name, dict(plain.decode(fields, payload))))
    return out


def ticks(records):
    return [fields for name, fields in records if name == "kern_tick"]


class Case(unittest.TestCase):
    def setUp(self):
        ftrace.enable(False)
        ftrace.clear()
        self.addCleanup(ftrace.enable, False)
        self.addCleanup(Running.end_all)
        # Events of earlier cases must have been removed first, which a worker of the kernel does.
        wait_until(lambda: "Active: 0" in ftrace.read("user_events_status"), "the kernel forgets events")
        ftrace.write("4096", "buffer_size_kb")
        # One CPU, one buffer: the records are in the order of the calls.
        os.sched_setaffinity(0, {0})


class Listening(Case):
    def test_values(self):
        program = Running("wait", "fire:100")
        ftrace.enable(True)
        program.end()
        records = found()
        self.assertEqual([(t["number"], t["small"], t["text"]) for t in ticks(records)],
                         [(i, i % 100 - 50, b"%d" % i) for i in range(100)])
        self.assertEqual([(f["number"], bytes(f["what"][2])) for name, f in records if name == "said"],
                         [(i, b"%d" % i) for i in range(100)])

    def test_text_for_people(self):
        program = Running("wait", "fire:3")
        ftrace.enable(True, "user_events/kern_tick")
        program.end()
        text = ftrace.read("trace")
        self.assertIn("kern_tick: number=0x2 (2) small=", text)
        self.assertIn("text=2", text)

    def test_filter(self):
        program = Running("wait", "fire:100")
        # (To the kernel, a pattern that begins with a digit has another meaning.)
        with self.assertRaises(OSError):
            ftrace.write("nothing == 1", "events/user_events/kern_tick/filter")
        ftrace.write("number > 50 && small != 45 && text ~ \"*5\"", "events/user_events/kern_tick/filter")
        ftrace.enable(True, "user_events/kern_tick")
        program.end()
        self.assertEqual([t["number"] for t in ticks(found())], [55, 65, 75, 85])

    def test_histogram(self):
        program = Running("wait", "fire:250", "wait")
        ftrace.write("hist:keys=small", "events/user_events/kern_tick/trigger")
        program.go()
        program.wait()
        text = ftrace.read("events/user_events/kern_tick/hist")
        ftrace.write("!hist:keys=small", "events/user_events/kern_tick/trigger")
        program.end()
        self.assertIn("Hits: 250", text)
        self.assertIn("Entries: 100", text)

    def test_instances(self):
        program = Running("wait", "fire:5")
        os.mkdir(ftrace.path("instances", "other"))
        self.addCleanup(os.rmdir, ftrace.path("instances", "other"))
        ftrace.write("1", "instances/other/events/user_events/kern_tick/enable")
        program.end()
        self.assertEqual(len(re.findall("kern_tick: number", ftrace.read("instances/other/trace"))), 5)
        self.assertEqual(ticks(found()), [])
        ftrace.write("0", "instances/other/events/user_events/kern_tick/enable")

    @unittest.skipUnless(shutil.which("perf"), "perf is not installed (Debian's linux-perf)")
    def test_perf(self):
        program = Running("wait", "fire:50", "wait")
        with subprocess.Popen(["perf", "record", "-q", "-a", "-e", "user_events:kern_tick", "-o", "/tmp/perf.data",
                               "--", "sh", "-c", "touch /tmp/perf.ready; cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE) as perf:
            wait_until(lambda: os.path.exists("/tmp/perf.ready") or perf.poll(), "perf")
            self.assertIn("kern_tick # Used by perf", ftrace.read("user_events_status"))
            self.assertIsNone(perf.poll(), "perf has ended")
            program.go()
            program.wait()
            perf.stdin.close()
            perf.wait()
        program.end()
        text = subprocess.run(["perf", "script", "-i", "/tmp/perf.data", "-F", "trace"], capture_output=True, text=True,
                              check=False).stdout
        self.assertEqual([int(n) for n in re.findall(r"text=(\d+)", text)], list(range(50)), text[:1000])

    def test_no_listener(self):
        program = Running("wait", "fire:10", "wait")
        program.go()
        program.wait()
        self.assertEqual(found(), [])
        program.end()


class Programs(Case):
    def test_threads_while_it_flips(self):
        ftrace.write("64", "buffer_size_kb")
        os.sched_setaffinity(0, {0, 1})
        program = Running("threads:4")
        numbers = {}

        def take():
            new = ticks(found(4))
            for t in new:
                self.assertEqual(t["text"], b"%d" % t["number"])
                numbers.setdefault(t["number"] >> 24, []).append(t["number"] & 0xffffff)
            return new
        for _ in range(8):
            ftrace.enable(True)
            wait_until(take, "a record")
            ftrace.enable(False)
        program.end()
        self.assertTrue(numbers)
        for thread in numbers.values():
            self.assertEqual(len(thread), len(set(thread)))

    def test_fork(self):
        program = Running("wait", "fire:2", "fork:3", "fire:2")
        ftrace.enable(True, "user_events/kern_tick")
        program.end()
        self.assertEqual([t["number"] for t in ticks(found())], [0, 1, 2, 3, 4, 2, 3])

    def test_enabled_after_fork(self):
        """The kernel keeps the enabled words of both: an event that is enabled after the fork is
        enabled in the child, and disabled again in both.
        """
        program = Running("split:3", "awake", "fire:2", "wait", "fire:2")
        ftrace.enable(True, "user_events/kern_tick")
        program.go()
        program.wait()
        self.assertEqual([t["number"] for t in ticks(found())], [0, 1, 2, 0, 1])
        ftrace.enable(False, "user_events/kern_tick")
        program.end()
        self.assertEqual(ticks(found()), [])

    def test_library_of_a_child(self):
        """What a child registers and unregisters does not affect its parent."""
        os.environ["PLUGIN"] = PLUGIN
        self.addCleanup(os.environ.pop, "PLUGIN")
        program = Running("load:" + PLUGIN, "split:1", "unload", "load:" + PLUGIN)
        ftrace.enable(True)
        program.end()
        self.assertEqual([f for name, f in found() if name == "kern_plugin"], [dict(value=4711)] * 2)

    def test_library_again_before_its_bit(self):
        """The kernel keeps an unregistered word while its worker has a bit to set there. The library's
        event is registered again even so.
        """
        os.environ["PLUGIN"] = PLUGIN
        self.addCleanup(os.environ.pop, "PLUGIN")
        program = Running("load:" + PLUGIN, "wait", "reload:" + ftrace.path("events/user_events/kern_plugin/enable"))
        program.end()
        self.assertEqual([f for name, f in found() if name == "kern_plugin"], [dict(value=4711)])
        self.assertNotIn("Fault", subprocess.run(["dmesg"], capture_output=True, text=True, check=False).stdout)

    def test_library(self):
        program = Running("load:" + PLUGIN, "wait", "unload", "wait", "load:" + PLUGIN)
        self.assertIn("kern_plugin", ftrace.read("user_events_status"))
        ftrace.enable(True)
        program.go()
        program.wait()
        # The memory is unmapped: the kernel must not write to it.
        ftrace.enable(False)
        ftrace.enable(True)
        program.end()
        self.assertEqual([f for name, f in found() if name == "kern_plugin"], [dict(value=4711)])
        self.assertNotIn("Fault", subprocess.run(["dmesg"], capture_output=True, text=True, check=False).stdout)

    def test_descriptors_closed(self):
        program = Running("wait", "fire:1", "close")
        ftrace.enable(True, "user_events/kern_tick")
        program.end()
        self.assertEqual([t["number"] for t in ticks(found())], [0])

    def test_killed(self):
        program = Running("wait")
        ftrace.enable(True)
        program.process.kill()
        program.process.communicate()
        again = Running("wait", "fire:4")
        again.end()
        self.assertEqual([t["number"] for t in ticks(found())], [0, 1, 2, 3])

    def test_not_asked_for(self):
        program = Running("wait", "fire:3", events="")
        self.assertIn("Active: 0", ftrace.read("user_events_status"))
        fds = os.listdir(f"/proc/{program.process.pid}/fd")
        self.assertEqual(sorted(fds), ["0", "1", "2"])
        with open(f"/proc/{program.process.pid}/maps", encoding="utf-8") as maps:
            self.assertNotIn("libside-kernel", maps.read())
        program.end()

    def test_by_function(self):
        program = Running("start:nonsense[", "start:kern:tick", "start:kern", "wait", "fire:2", events="0",
                          word="start 1")
        program.word = "start 0"
        program.wait()
        program.word = "start 2"
        program.wait()
        program.word = "ready"
        program.wait()
        status = ftrace.read("user_events_status")
        self.assertIn("kern_tick", status)
        self.assertNotIn("kern_L3K1", status)
        ftrace.enable(True)
        program.end()
        self.assertEqual(len(ticks(found())), 2)

    def test_file(self):
        with open("/tmp/events.conf", "w", encoding="utf-8") as file:
            file.write("# all of this program's\nevents kern\nencoding eventheader\n")
        program = Running("wait", "fire:2", events="/tmp/events.conf", encoding="")
        ftrace.enable(True)
        program.end()
        self.assertEqual([f["number"] for name, f in found() if name == "tick"], [0, 1])


class Names(Case):
    def test_two_programs_share(self):
        programs = [Running("wait", "fire:2") for _ in range(2)]
        ftrace.enable(True, "user_events/kern_tick")
        for program in programs:
            program.end()
        self.assertEqual(sorted(t["number"] for t in ticks(found())), [0, 0, 1, 1])

    def test_two_versions(self):
        old = Running(script("app", "start", [("a", "u32")], [[7]]), program=FIRE, events="app", word="registered")
        new = Running(script("app", "start", [("a", "u32"), ("b", "str")], [[8, "x"]]), program=FIRE, events="app",
                      word="registered")
        self.assertTrue(os.path.isdir(ftrace.path("events/user_events/app_start")))
        names = [name for name in ftrace.events() if name.startswith("user_events_multi/app_start.")]
        self.assertEqual(len(names), 1)
        ftrace.enable(True)
        old.end()
        new.end()
        self.assertEqual([fields for _, fields in found()], [dict(a=7), dict(a=8, b=b"x")])

    def test_bytes_that_become_one(self):
        one = dict(provider="a.b", event="c", loglevel=6, variadic=0, m=[["x", dict(t="byte")]])
        two = dict(one, provider="a", event="b-c")
        path = "/tmp/names.json"
        with open(path, "w", encoding="utf-8") as file:
            json.dump(dict(events=[one, two], fire=[dict(event=i, args=["0%d" % i], blocks=[]) for i in (0, 1)]), file)
        program = Running(path, program=FIRE, events="all", word="registered")
        ftrace.enable(True)
        program.end()
        records = found()
        self.assertEqual([fields for _, fields in records], [dict(x=0), dict(x=1)])
        self.assertEqual(records[0][0], "a_b_c")
        self.assertRegex(records[1][0], "^a_b_c_[0-9a-f]{8}$")


def status(**more):
    """Returns the lines of `side kernel status --json`, and its standard error."""
    done = subprocess.run([os.environ["SIDE"], "kernel", "status", "--json"], capture_output=True, text=True,
                          check=False, **more)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


class Status(Case):
    def test_listeners(self):
        program = Running("wait", "fire:7", "wait")
        os.mkdir(ftrace.path("instances", "third"))
        self.addCleanup(os.rmdir, ftrace.path("instances", "third"))
        ftrace.write("1", "instances/third/events/user_events/kern_tick/enable")
        program.go()
        program.wait()
        code, lines, _ = status()
        ftrace.write("0", "instances/third/events/user_events/kern_tick/enable")
        by_name = {line["event"]: line for line in lines}
        self.assertEqual(code, 0)
        self.assertEqual(sorted(by_name), ["kern:said", "kern:tick"])
        tick, text_event = by_name["kern:tick"], by_name["kern:said"]
        self.assertEqual((tick["tracepoint"], tick["state"], tick["pid"], tick["written"], tick["lost"]),
                         ("user_events:kern_tick", "native", program.process.pid, 7, 0))
        self.assertEqual(tick["listeners"], "ftrace instance:third")
        self.assertEqual((text_event["tracepoint"], text_event["state"], text_event["written"], text_event["listeners"]),
                         ("user_events:kern_L3K1", "eventheader", 0, ""))
        program.end()
        code, lines, errors = status()
        self.assertEqual((code, lines), (0, []))
        self.assertIn("no program writes events", errors)

    def test_refusals(self):
        program = Running("wait", encoding="native")
        _, lines, _ = status()
        self.assertEqual({line["event"]: line["state"] for line in lines},
                         {"kern:tick": "native", "kern:said": "refused"})
        self.assertIn("it has values whose type is only known at the call", [line["reason"] for line in lines])
        program.end()

    def test_no_events(self):
        code, lines, errors = status(user=12345, group=12345, extra_groups=[])
        self.assertEqual((code, lines), (3, []))
        self.assertIn("run it as root", errors)
        subprocess.run(["umount", ftrace.TRACEFS], check=True)
        try:
            code, lines, errors = status()
            self.assertEqual((code, lines), (1, []))
            self.assertIn("mount -t tracefs none", errors)
        finally:
            subprocess.run(["mount", "-t", "tracefs", "none", ftrace.TRACEFS], check=True)


class Refused(Case):
    def limit(self, name, value):
        path = "/proc/sys/kernel/" + name
        with open(path, encoding="ascii") as file:
            before = file.read()

        def set_to(text):
            with open(path, "w", encoding="ascii") as file:
                file.write(text)
        self.addCleanup(set_to, before)
        set_to(value)

    def test_no_more_events(self):
        self.limit("user_events_max", "1")
        program = Running("wait", "fire:2")
        ftrace.enable(True)
        program.end()
        self.assertEqual(len({name for name, _ in found()}), 1)

    def test_no_permission(self):
        program = Running("wait", "fire:2", user=12345, group=12345, extra_groups=[])
        self.assertIn("no permission to open user_events_data\nhint: as root: `chgrp GROUP ", program.end())

    def test_no_tracefs(self):
        subprocess.run(["umount", ftrace.TRACEFS], check=True)
        try:
            program = Running("wait", "fire:2")
            self.assertRegex(program.end(), r"the kernel has no user_events_data: it needs .*\nhint: `mount -t tracefs none ")
        finally:
            subprocess.run(["mount", "-t", "tracefs", "none", ftrace.TRACEFS], check=True)

    def test_nonsense(self):
        program = Running("wait", "fire:2", events="a,[")
        self.assertIn("cannot write events to the kernel: pattern", program.end())
        program = Running("wait", "fire:2", events="/nowhere")
        self.assertIn("No such file or directory", program.end())
        program = Running("wait", "fire:2", encoding="morse")
        self.assertIn("expected auto, native or eventheader", program.end())


if __name__ == "__main__":
    if not os.path.exists(ftrace.path("user_events_data")):
        print("skipped: the kernel has no user_events")
        sys.exit(77)
    unittest.main(verbosity=2)
