#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The command line of `side view`: selection, count, colours, JSON, mistakes."""
import shutil
import signal

from harness import *

TALKER = os.environ["TALKER"]
work = tempfile.TemporaryDirectory()
TRACE = os.path.join(work.name, "trace")
recorded = side("record", "-q", "-o", TRACE, TALKER, "50")
assert recorded.status == 0, recorded


def shown(*args):
    result = side("view", "--json", *args, TRACE)
    equal((result.status, result.err), (0, ""), str(args))
    return [line["event"] for line in json_lines(result.out) if line["type"] == "event"]


def test_selection():
    equal(shown(), ["talker:said"] * 50 + ["talker:ends"])
    equal(shown("-e", "talker:ends"), ["talker:ends"])
    equal(shown("-e", "talker", "-e", "!*:said"), ["talker:ends"])
    equal(shown("-e", "*@WARNING"), ["talker:ends"])
    equal(shown("-e", "*@=INFO"), ["talker:said"] * 50)
    equal(shown("-e", "nobody"), [])


def test_count():
    equal(shown("-n", "3"), ["talker:said"] * 3)
    equal(shown("-n3", "-e", "*:ends"), ["talker:ends"])
    equal(len(shown("--count=1000")), 51)


def test_text():
    result = side("view", TRACE)
    equal((result.status, result.err), (0, ""))
    lines = result.out.splitlines()
    equal(len(lines), 51)
    contains(lines[7], "talker:said")
    contains(lines[7], "number = 7")
    contains(lines[7], '"a text that is neither short nor very long"')
    (inside,) = os.listdir(TRACE)
    equal(side("view", os.path.join(TRACE, inside)).out, result.out, "one trace of several")


def test_json():
    events = json_lines(side("view", "--json", TRACE).out)
    equal([event["fields"]["number"] for event in events[:50]], list(range(50)))
    times = [event["ns"] for event in events]
    equal(times, sorted(times))
    equal({event["procname"] for event in events}, {os.path.basename(TALKER)})


def test_colors():
    plain = side("view", TRACE).out
    equal("\033" in plain, False)
    colored = side("view", "--color=always", TRACE).out
    equal(re.sub("\033\\[[0-9;]*m", "", colored), plain)
    true(colored != plain, "no colours")
    equal("\033" in side_on_terminal("view", TRACE).out, True)
    equal("\033" in side_on_terminal("view", TRACE, env=environment(NO_COLOR="1")).out, False)
    equal("\033" in side("view", "--json", "--color=always", TRACE).out, False)


def test_mistakes():
    def failed(path, status=1, says=""):
        result = side("view", path)
        equal((result.status, result.out), (status, ""), path)
        true(result.err.startswith("side: cannot "), result.err)
        contains(result.err, says)
        result = side("view", "--json", path)
        equal((result.status, result.out), (status, ""), path)
        equal(json_lines(result.err)[-1]["type"], "error")

    failed(os.path.join(work.name, "nowhere"), says="No such file")
    failed("/etc/passwd", says="not a directory")
    empty = os.path.join(work.name, "empty")
    os.mkdir(empty)
    result = side("view", empty)
    equal((result.status, result.out), (1, ""), result.err)
    true(result.err.startswith("side: "), result.err)
    if os.geteuid():
        os.chmod(empty, 0)
        failed(empty, status=3, says="permission")


def test_damage_is_said():
    damaged = os.path.join(work.name, "damaged")
    shutil.copytree(TRACE, damaged)
    (inside,) = os.listdir(damaged)
    (ring,) = [name for name in os.listdir(os.path.join(damaged, inside)) if name.startswith("ring_")]
    path = os.path.join(damaged, inside, ring)
    os.truncate(path, os.path.getsize(path) - 20)
    result = side("view", "--json", damaged)
    equal(result.status, 1)
    json_lines(result.out)
    true(json_lines(result.err), "nothing was said")


def test_reader_that_leaves():
    read_end, write_end = os.pipe()
    os.close(read_end)
    run = subprocess.run([SIDE, "view", TRACE], stdout=write_end, stderr=subprocess.PIPE, text=True)
    os.close(write_end)
    equal((run.returncode, run.stderr), (-signal.SIGPIPE, ""))


run_tests(globals())
