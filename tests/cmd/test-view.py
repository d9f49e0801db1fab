#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The command line of `side view`: selection, count, colours, JSON, mistakes."""
import shutil
import signal
import time

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


def damaged(name, cut):
    """A copy of the trace whose last packet has lost so many bytes, and the damaged file."""
    copy = os.path.join(work.name, name)
    shutil.copytree(TRACE, copy)
    (inside,) = os.listdir(copy)
    rings = [os.path.join(copy, inside, ring) for ring in os.listdir(os.path.join(copy, inside))
             if ring.startswith("ring_")]
    ring = max(rings, key=os.path.getsize)
    os.truncate(ring, os.path.getsize(ring) - cut)
    return copy, ring


def test_damage_is_said():
    copy, ring = damaged("damaged", 20)
    result = side("view", "--json", copy)
    equal(result.status, 1)
    json_lines(result.out)
    (said,) = json_lines(result.err)
    equal((said["type"], said["status"]), ("error", 1))
    contains(said["message"], ring)
    contains(said["mend"], "--repair")
    result = side("view", copy)
    equal(result.status, 1)
    true(result.err.startswith("side: " + ring) and result.err.count("\n") == 1, result.err)
    contains(result.err, "--repair")


def test_repair():
    copy, ring = damaged("torn", 1)
    before = side("view", copy)
    equal((before.status, len(before.out.splitlines())), (1, 50), before.err)
    result = side("view", "--repair", copy)
    equal((result.status, result.out), (0, before.out), result.err)
    contains(result.err, "1 file was shortened")
    equal(repr(side("view", copy)), repr(type(before)(0, before.out, "")))
    result = side("view", "--repair", "--json", copy)
    equal((result.status, result.err), (0, ""), "nothing is left to mend")


def test_repair_of_nothing():
    size = [os.path.getsize(os.path.join(path, name)) for path, _, names in os.walk(TRACE) for name in names]
    result = side("view", "--repair", TRACE)
    equal((result.status, result.err, len(result.out.splitlines())), (0, "", 51))
    equal(size, [os.path.getsize(os.path.join(path, name)) for path, _, names in os.walk(TRACE) for name in names])
    copy, ring = damaged("foreign", 1)
    metadata = os.path.join(os.path.dirname(ring), "metadata")
    with open(metadata) as file:
        text = file.read()
    with open(metadata, "w") as file:
        file.write(text.replace('tracer_name = "side"', 'tracer_name = "other"'))
    result = side("view", "--repair", copy)
    equal(result.status, 1)
    contains(result.err, "not recorded by side")
    equal(len(result.out.splitlines()), 50)


def test_recorder_is_killed():
    """Whatever is there is shown, the rest is mended."""
    out = os.path.join(work.name, "killed")
    recorder = subprocess.Popen([SIDE, "record", "-q", "-o", out, TALKER, "100000000"], env=environment())
    try:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and size_of(out) < 2_000_000:
            time.sleep(0.01)
        true(size_of(out) >= 2_000_000, "nothing was recorded")
        refused = side("view", "--repair", "-n1", out)
        equal((refused.status, len(refused.out.splitlines())), (1, 1), refused.err)
        contains(refused.err, "being recorded")
    finally:
        recorder.kill()
        recorder.wait()
        for name in os.listdir(out):
            try:
                os.kill(int(name.split("-")[-2]), signal.SIGKILL)
            except ProcessLookupError:
                pass
    first = side("view", "--json", out)
    true(first.status in (0, 1), first.err)
    result = side("view", "--json", "--repair", out)
    equal(result.status, 0, result.err)
    events = [line for line in json_lines(result.out) if line["type"] == "event"]
    equal(len(events), sum('"type":"event"' in line for line in first.out.splitlines()))
    true(len(events) > 10_000, len(events))


def size_of(path):
    return sum(os.path.getsize(os.path.join(where, name)) for where, _, names in os.walk(path) for name in names)


def test_reader_that_leaves():
    read_end, write_end = os.pipe()
    os.close(read_end)
    run = subprocess.run([SIDE, "view", TRACE], stdout=write_end, stderr=subprocess.PIPE, text=True)
    equal((run.returncode, run.stderr), (-signal.SIGPIPE, ""))
    run = subprocess.run([SIDE, "view", TRACE], stdout=write_end, stderr=subprocess.PIPE, text=True,
                         restore_signals=False)  # Python ignores this signal.
    os.close(write_end)
    equal((run.returncode, run.stderr), (128 + signal.SIGPIPE, ""))


def test_reader_that_leaves_later():
    long = os.path.join(work.name, "long")
    equal(side("record", "-q", "-o", long, TALKER, "20000").status, 0)
    for ignored in (False, True):
        run = subprocess.Popen([SIDE, "view", long], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               restore_signals=not ignored)
        contains(run.stdout.readline(), b"number = 0")
        run.stdout.close()
        equal(run.stderr.read(), b"")
        run.stderr.close()
        equal(run.wait(), 128 + signal.SIGPIPE if ignored else -signal.SIGPIPE)
    equal(len(side("view", long).out.splitlines()), 20001)
    for options in ([], ["--json"]):
        says_disk_is_full(*options, long)


def says_disk_is_full(*args):
    with open("/dev/full", "w") as full:
        run = subprocess.run([SIDE, "view", *args], stdout=full, stderr=subprocess.PIPE, text=True)
    equal(run.returncode, 1)
    contains(run.stderr, "cannot write the events: No space left on device")
    equal(run.stderr.count("\n"), 1)


def test_full_disk():
    says_disk_is_full(TRACE)
    says_disk_is_full("--json", TRACE)
    says_disk_is_full("-n1", TRACE)


def test_few_descriptors():
    many = os.path.join(work.name, "many")
    (inside,) = os.listdir(TRACE)
    for number in range(100):
        shutil.copytree(os.path.join(TRACE, inside), os.path.join(many, f"{inside}-{number}"))
    run = subprocess.run(["prlimit", "--nofile=16", SIDE, "view", many], capture_output=True, text=True)
    equal((run.returncode, run.stderr), (0, ""))
    lines = run.stdout.splitlines()
    equal(len(lines), 5100)
    equal([sum(f"number = {number}," in line for line in lines[number * 100:number * 100 + 100])
           for number in range(50)], [100] * 50)


run_tests(globals())
