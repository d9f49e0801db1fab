#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The command line of `side view`: selection, count, colours, JSON, errors."""
import contextlib
import glob
import shutil
import signal
import time

import synthetic
from harness import *

TALKER = os.environ["TALKER"]
work = tempfile.TemporaryDirectory()
TRACE = os.path.join(work.name, "trace")
recorded = side("record", "-q", "-o", TRACE, TALKER, "50")
assert recorded.status == 0, recorded


def shown(*args):
    result = side("view", "--json", "-q", *args, TRACE)
    equal((result.status, result.err), (0, ""), str(args))
    return [line["event"] for line in json_lines(result.out) if line["type"] == "event"]


def test_selection():
    equal(shown(), ["talker:said"] * 50 + ["talker:ends"])
    equal(shown("-e", "talker:ends"), ["talker:ends"])
    equal(shown("-e", "talker", "-e", "!*:said"), ["talker:ends"])
    equal(shown("-e", "*@WARNING"), ["talker:ends"])
    equal(shown("-e", "*@=INFO"), ["talker:said"] * 50)
    equal(shown("-e", "absent"), [])


def test_help_names_both_formats():
    text = " ".join(side("view", "--help").out.split())
    contains(text, "CTF 1.8 or CTF 2")


def test_count():
    equal(shown("-n", "3"), ["talker:said"] * 3)
    equal(shown("-n3", "-e", "*:ends"), ["talker:ends"])
    equal(len(shown("--count=1000")), 51)


def test_where():
    equal(shown("--filter", "number >= 48"), ["talker:said"] * 2)
    equal(shown("--filter", "!has(number) || number < 2"), ["talker:said"] * 2 + ["talker:ends"])
    equal(shown("--filter", 'text == "a text*" && number % 10 == 3'), ["talker:said"] * 5)
    equal(shown("--filter", "number > 5", "-n", "1", "-e", "talker:said"), ["talker:said"])
    equal(shown("--filter", "nothing_is_called_so == 1"), [])
    text = side("view", TRACE, "--filter", "number == 7")
    equal((text.status, text.err, text.out.count("number = 7"), text.out.count("\n")), (0, "", 1, 1))
    wrong = side("view", TRACE, "--filter", "number > ")
    equal((wrong.status, wrong.out), (2, ""))
    message, expression, mark = wrong.err.splitlines()[:3]
    contains(message, "`--filter`")
    equal(expression.strip(), "number >")
    true(mark.strip() == "^" and mark.index("^") >= expression.index(">"), wrong.err)


def test_no_match():
    for args, part in ((["-e", "talker:sad"], "matched `-e talker:sad`: the trace has "),
                       (["-e", "talker:sad"], "did you mean `-e talker:said`?"),
                       (["-e", "absent"], "matched `-e absent`: no colon, so it names a provider: "),
                       (["-e", "said"], "did you mean `-e talker:said`?"),
                       (["-e", "talker:said@ERR"], "no event of that name has that log level"),
                       (["-e", "nobody,talkr:*"], "matched `-e nobody -e 'talkr:*'`"),
                       (["--filter", "nubmer > 5"], "no event has `nubmer`: there is number, text\nhint: did you mean `number`?\n"),
                       (["--filter", "$ctx.vtid == 1"], "no event has `$ctx.vtid`: there is number, text\nhint: record with `--context vtid`\n"),
                       (["--filter", "$ctx.vpdi == 1"], "no event has `$ctx.vpdi`: there is number, text\nhint: did you mean `$ctx.vpid`?\n"),
                       (["--filter", "number > 5000"], "matched `--filter number > 5000`"),
                       (["-e", "talker:said", "--where", "number > 5000"], "`--filter number > 5000` and `-e`"),
                       (["-e", "talker:said", "--to", "1"], "`-e talker:said` selects happened")):
        for more in ([], ["--follow"]):
            result = side("view", TRACE, *args, *more)
            lines = [line for line in result.err.splitlines() if not line.startswith("hint: ")]
            equal((result.status, result.out, len(lines)), (0, "", 1), str(args))
            true("did you mean" not in lines[0], lines[0])
            contains(result.err, part)
            result = side("view", "--json", TRACE, *args, *more)
            equal((result.status, [line["type"] for line in json_lines(result.err)]), (0, ["note"]))
            equal(side("view", "-q", TRACE, *args, *more).err, "")
    # No event was selected, so none is missing.
    equal(side("view", TRACE, "--to", "1").err, "")


def test_searches():
    """A search of many directories reports the results; one of a few prints nothing."""
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(TRACE, os.path.join(folder, "link"))  # Links are not followed.
        subprocess.run(["cp", "-r", TRACE, os.path.join(folder, "trace")], check=True)
        equal(side("view", folder).err, "")
        for i in range(1000):
            os.mkdir(os.path.join(folder, str(i)))
        count = sum(1 for _ in os.walk(folder))
        traces = sum("metadata" in files for _, _, files in os.walk(folder))
        message = f"side: searched {count} directories of {folder}: found {traces} trace{'s' * (traces != 1)}\n"
        result = side("view", folder)
        equal((result.status, result.err), (0, message))
        equal(result.out, side("view", TRACE).out)
        equal(side("view", "-q", folder).err, "")


def test_contexts_that_are_not_recorded():
    """The hint makes a trace that the filter matches; tags of optional contexts are not fields."""
    trace = os.path.join(work.name, "without-contexts")
    record = ("record", "-q", "--channel", "c", "-e", "talker:*")
    equal(side(*record, "-o", trace, "--context", "procname,$app.talker:name", "--", TALKER, "1").status, 0)
    result = side("view", trace, "--filter", "$ctx.vtid > 0")
    true("_tag" not in result.err, result.err)
    hint = re.search("^hint: record with `(.*)`$", result.err, re.MULTILINE)[1].split()
    equal(side(*record, "-o", trace, "--force", *hint, "--", TALKER, "1").status, 0)
    result = side("view", trace, "--filter", "$ctx.vtid > 0")
    true(result.status == 0 and result.out and not result.err, result.err)


def times(*args):
    return [line["ns"] for line in json_lines(side("view", "--json", *args, TRACE).out)]


def seconds(ns):
    return f"{ns // 10**9}.{ns % 10**9:09}"


def test_times():
    all_times = times()
    first, last = all_times[0], all_times[-1]

    equal(times("--from", seconds(all_times[10])), all_times[10:])
    equal(times("--to", seconds(all_times[10])), all_times[:11])
    equal(times("--from", seconds(all_times[10]), "--to", seconds(all_times[20])), all_times[10:21])
    equal(times("--from=+" + seconds(all_times[30] - first)), all_times[30:])
    equal(times("--to=+0"), all_times[:1])
    equal(times("--from", seconds(last + 1)), [])
    clock = [line.split("]")[0][1:] for line in side("view", TRACE).out.splitlines()]
    equal(times("--from", clock[5], "--to", clock[6]), all_times[5:7], "as the text has it")
    utc = [line["time"] for line in json_lines(side("view", "--json", TRACE).out)]
    equal(times("--from", utc[40]), all_times[40:], "as the JSON has it")
    local = time.strftime("%Y-%m-%d ", time.localtime(first // 10**9)) + clock[5]
    equal(times("--from", local), all_times[5:])
    for wrong in ("x", "25:00", "12:60", "2026-13-01", "2026-01-01T", "1.", "+", "-", "-1x", "5parsecs", "12:00:00.", "1e3",
                  "99999999999999999999", "2026-01-01T12:00ZZ"):
        result = side("view", "--from=" + wrong, TRACE)
        equal((result.status, result.out), (2, ""), wrong)
        contains(result.err, "is not a time")


def test_relative_times():
    """From the begin and the end of the trace, with units, and in nanoseconds."""
    all_times = times()
    first, last = all_times[0], all_times[-1]

    for option in (["--last", f"{last - all_times[20]}ns"], ["--from", f"-{last - all_times[20]}ns"], ["--from=-" + seconds(last - all_times[20])]):
        equal(times(*option), all_times[20:], str(option))
    equal(times("--last", "1h"), all_times)
    equal(times("--last", "0s"), [ns for ns in all_times if ns == last])
    equal(times("--to", f"-{last - all_times[20]}ns"), all_times[:21])
    equal(times("--from", f"+{all_times[30] - first}ns"), all_times[30:])
    equal(times("--from", f"{all_times[30] - first}ns"), all_times[30:])
    equal(times("--from", str(all_times[7]), "--to", f"{all_times[9]}ns"), all_times[7:10])
    for wrong, message in ((["--last", "x"], "is not a duration"), (["--last", "-5s"], "is not a duration"), (["--last", ""], "is empty"),
                        (["--last", "5s", "--from", "+1"], "`--last` and `--from` contradict each other"),
                        (["--last", "5s", "--to", "+1"], "`--last` and `--to` contradict each other")):
        result = side("view", TRACE, *wrong)
        equal((result.status, result.out), (2, ""), str(wrong))
        contains(result.err, message)


def test_times_of_babeltrace():
    """A recorded trace's clock has the processor's frequency; every reader must find the same nanoseconds."""
    if not shutil.which("babeltrace2"):
        return
    done = subprocess.run(["babeltrace2", "--clock-seconds", TRACE], capture_output=True, text=True, check=True)
    wanted = [int(seconds) * 10**9 + int(rest) for seconds, rest in
              re.findall(r"^\[(\d+)\.(\d{9})\]", done.stdout, re.M)]
    equal(times(), wanted)
    rows = side("export", TRACE, "--to", "csv", "-q").out.splitlines()[1:]
    equal([int(row.split(",")[0]) for row in rows], wanted)


def test_times_of_packets():
    """A part of a trace of many packets has the same events and losses as the whole trace for that time."""
    apart = tempfile.TemporaryDirectory()
    many = apart.name
    synthetic.make(many)
    whole = json_lines(side("view", "--json", many).out)
    all_times = [line["ns"] for line in whole]
    true(any(line["type"] != "event" for line in whole), "nothing was lost")
    count = len(all_times)
    for first, last in ((count // 3, count // 3), (count // 2, count // 2 + 700)):
        for args, chosen in ((["--from", first], lambda ns: ns >= all_times[first]),
                             (["--to", last], lambda ns: ns <= all_times[last]),
                             (["--from", first, "--to", last], lambda ns: all_times[first] <= ns <= all_times[last])):
            args = [seconds(all_times[a]) if isinstance(a, int) else a for a in args]
            part = json_lines(side("view", "--json", many, *args).out)
            equal(part, [line for line in whole if chosen(line["ns"])], str(args))
    # Damage is reported when it is read, and not if its packet has another time.
    broken = os.path.join(many, "one", "stream_0")
    with open(broken, "r+b") as file:
        file.seek(24 + 44)
        file.write(b"\xff\xff")
    result = side("view", "--json", many)
    equal(result.status, 1)
    middle = all_times[count // 2]
    result = side("view", "--json", many, "--from", seconds(middle))
    equal((result.status, "damaged" in result.err), (0, False))
    equal(json_lines(result.out), [line for line in whole if line["ns"] >= middle])


def test_contexts():
    out = os.path.join(work.name, "contexts")
    equal(side("record", "-q", "-o", out, "--context", "vpid,vtid,procname", TALKER, "2").status, 0)
    for line in side("view", out).out.splitlines():
        true(re.search(r": \{ vpid = (\d+), vtid = \1, procname = \"[^\"]+\" \}, \{ ", line), line)
    name = os.path.basename(TALKER)[:15]
    for line in json_lines(side("view", "--json", out).out):
        context = line["stream_context"]
        equal((context["vpid"], context["procname"]), (line["vpid"], name))
    equal(len(side("view", out, "--filter", f'$ctx.procname == "{name}" && $ctx.vpid > 0').out.splitlines()), 3)
    equal(side("view", out, "--filter", '$ctx.procname == "nobody"').out, "")


def test_compressed():
    out = os.path.join(work.name, "compressed")
    equal(side("record", "-q", "-o", out, "--compress", TALKER, "5000").status, 0)
    names = [name for _, _, names in os.walk(out) for name in names]
    true(any(name.endswith(".zst") for name in names), names)
    whole = side("view", out)
    equal((whole.status, whole.err, len(whole.out.splitlines())), (0, "", 5001))
    (ring,) = [os.path.join(path, name) for path, _, names in os.walk(out) for name in names
               if name.endswith(".zst") and os.path.getsize(os.path.join(path, name)) > 1000]
    os.truncate(ring, os.path.getsize(ring) - 10)
    cut = side("view", out)
    equal(cut.status, 1)
    contains(cut.err, ring)
    true(whole.out.startswith(cut.out), "what is whole is shown")


def test_threads():
    long = os.path.join(work.name, "threads")
    equal(side("record", "-q", "-o", long, TALKER, "30000").status, 0)
    one = side("view", "--threads=1", long)
    equal((one.status, len(one.out.splitlines())), (0, 30001))
    for count in ("2", "5"):
        equal(side("view", "--threads", count, long).out == one.out, True)
        equal(side("view", "--threads", count, "-n", "100", long).out.splitlines(), one.out.splitlines()[:100])


def test_follow():
    """Events that are recorded meanwhile, by processes that start and exit, are all there; then it ends."""
    out = os.path.join(work.name, "followed")
    recorder = subprocess.Popen(
        [SIDE, "record", "-q", "-o", out, "sh", "-c", f"{TALKER} 100; read x; {TALKER} 200; read x; {TALKER} 300"],
        stdin=subprocess.PIPE, env=environment())
    wait_until(lambda: os.path.isdir(out), "the directory of the trace")
    follower = subprocess.Popen([SIDE, "view", "--follow", "--json", out], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env=environment())
    lines = []

    def read_until_end():
        while True:
            line = follower.stdout.readline()
            true(line, "the follower has ended early")
            lines.append(json.loads(line))
            if lines[-1]["event"] == "talker:ends":
                return

    read_until_end()
    equal(len(lines), 101)
    recorder.stdin.write(b"\n")
    recorder.stdin.flush()
    read_until_end()
    equal(len(lines), 302)
    recorder.stdin.write(b"\n")
    recorder.stdin.flush()
    read_until_end()
    recorder.stdin.close()
    equal(follower.stdout.read(), b"")
    equal((follower.wait(60), follower.stderr.read()), (0, b""))
    equal(recorder.wait(60), 0)
    equal([line["event"] for line in lines], ["talker:said"] * 100 + ["talker:ends"] + ["talker:said"] * 200
          + ["talker:ends"] + ["talker:said"] * 300 + ["talker:ends"])
    equal(len({line["vpid"] for line in lines}), 3)
    follower.stdout.close()
    follower.stderr.close()


def test_follow_chunks():
    """Also of a chunk that is still being written; when it is finished and gets its name, no event comes twice."""
    out = os.path.join(work.name, "chunks")
    recorder = subprocess.Popen(
        [SIDE, "record", "-q", "--rotate-size", "64K", "-o", out, "sh", "-c",
         f"for i in 1 2 3; do {TALKER} 3000; read x; done"],
        stdin=subprocess.PIPE, env=environment())
    wait_until(lambda: os.path.isdir(out), "the directory of the trace")
    follower = subprocess.Popen([SIDE, "view", "--follow", "--json", out], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env=environment())
    names = []
    for i in range(3):
        for _ in range(3001):
            line = follower.stdout.readline()
            true(line, "the follower has ended early")
            names.append(json.loads(line)["event"])
        true(glob.glob(out + "/.chunk-*"), "the last chunk is not finished")
        recorder.stdin.write(b"\n")
        recorder.stdin.flush()
    recorder.stdin.close()
    equal((follower.stdout.read(), follower.wait(60), follower.stderr.read()), (b"", 0, b""))
    equal(recorder.wait(60), 0)
    equal(names, (["talker:said"] * 3000 + ["talker:ends"]) * 3)
    true(len(os.listdir(out)) > 2, os.listdir(out))
    equal(len(side("view", out).out.splitlines()), 3 * 3001)
    follower.stdout.close()
    follower.stderr.close()


def test_follow_is_interrupted():
    out = os.path.join(work.name, "interrupted")
    recorder = subprocess.Popen([SIDE, "record", "-q", "-o", out, "sh", "-c", f"{TALKER} 10; read x"],
                                stdin=subprocess.PIPE, env=environment())
    wait_until(lambda: os.path.isdir(out), "the directory of the trace")
    follower = subprocess.Popen([SIDE, "view", "-f", out], stdout=subprocess.PIPE, env=environment())
    for _ in range(11):
        contains(follower.stdout.readline(), b"talker:")
    follower.send_signal(signal.SIGINT)
    equal((follower.stdout.read(), follower.wait(60)), (b"", 0))
    follower.stdout.close()
    equal(len(side("view", "-f", "-n", "3", out).out.splitlines()), 3, "enough")
    recorder.communicate(b"\n", timeout=60)
    equal(recorder.returncode, 0)
    equal(len(side("view", "--follow", out).out.splitlines()), 11, "no recorder runs any more")


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


def test_misspelled_paths():
    """Only directories with a trace are suggested, at any depth at which side itself writes them."""
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(folder + "/trafe")
        os.mkdir(folder + "/deep")
        shutil.copytree(TRACE, folder + "/trace")
        shutil.copytree(TRACE, folder + "/deep/archive-1")
        for verb in ("view", "report", "export", "send"):
            for word, prefix, right in (("trase", "", "trace"), ("./trase", "./", "trace"), (folder + "/deap", folder + "/", "deep"),
                                        ("trase/", "", "trace"), ("./trase//", "./", "trace")):
                more = {"export": ("--to", "csv", "-o", folder + "/out"), "send": (folder + "/sent",)}.get(verb, ())
                result = side(verb, word, *more, cwd=folder)
                equal((result.status, result.out, result.err), (1, "", f"side: cannot {verb} {word.rstrip('/')}: No such file or directory\n"
                                                                f"hint: did you mean `{prefix}{right}`?\n"))
        equal(side("view", folder + "/deep", "-q").out, side("view", TRACE, "-q").out)
        equal("hint" in side("view", "nothing-like-it", cwd=folder).err, False)


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
    def failed(path, status=1, printing=""):
        result = side("view", path)
        equal((result.status, result.out), (status, ""), path)
        true(result.err.startswith("side: cannot "), result.err)
        contains(result.err, printing)
        result = side("view", "--json", path)
        equal((result.status, result.out), (status, ""), path)
        equal(json_lines(result.err)[-1]["type"], "error")

    failed(os.path.join(work.name, "nowhere"), printing="No such file")
    failed("/etc/passwd", printing="not a directory")
    empty = os.path.join(work.name, "empty")
    os.mkdir(empty)
    result = side("view", empty)
    equal((result.status, result.out), (1, ""), result.err)
    true(result.err.startswith("side: "), result.err)
    if os.geteuid():
        os.chmod(empty, 0)
        failed(empty, status=3, printing="permission")


def damaged(name, cut):
    """Makes a copy of the trace whose last packet has lost so many bytes, and returns the damaged file."""
    copy = os.path.join(work.name, name)
    shutil.copytree(TRACE, copy)
    (inside,) = os.listdir(copy)
    rings = [os.path.join(copy, inside, ring) for ring in os.listdir(os.path.join(copy, inside))
             if ring.startswith("ring_")]
    ring = max(rings, key=os.path.getsize)
    os.truncate(ring, os.path.getsize(ring) - cut)
    return copy, ring


def test_damage_is_reported():
    copy, ring = damaged("damaged", 20)
    result = side("view", "--json", copy)
    equal(result.status, 1)
    json_lines(result.out)
    (message,) = json_lines(result.err)
    equal((message["type"], message["status"]), ("error", 1))
    contains(message["message"], ring)
    contains(message["hint"], "--repair")
    result = side("view", copy)
    equal(result.status, 1)
    equal([line.startswith(start) for line, start in zip(result.err.splitlines(), ("side: " + ring, "hint: "), strict=True)], [True, True], result.err)
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


def test_repair_without_traces():
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
    """All existing data is shown, the remainder is repaired."""
    out = os.path.join(work.name, "killed")
    recorder = subprocess.Popen([SIDE, "record", "-q", "-o", out, TALKER, "100000000"], env=environment())
    try:
        wait_until(lambda: size_of(out) >= 2_000_000, "2 MB are recorded", 20)
        refused = side("view", "--repair", "-n1", out)
        equal((refused.status, len(refused.out.splitlines())), (1, 1), refused.err)
        contains(refused.err, ": it is being recorded\nhint: try again when the recording has ended\n")
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
    size = 0
    for where, _, names in os.walk(path):
        for name in names:
            # Rewritten metadata may get its name at that moment.
            with contextlib.suppress(FileNotFoundError):
                size += os.path.getsize(os.path.join(where, name))
    return size


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
        reports_full_disk(*options, long)


def reports_full_disk(*args):
    with open("/dev/full", "w") as full:
        run = subprocess.run([SIDE, "view", *args], stdout=full, stderr=subprocess.PIPE, text=True)
    equal(run.returncode, 1)
    contains(run.stderr, "cannot write the events: No space left on device")
    equal(run.stderr.count("\n"), 1)


def test_full_disk():
    reports_full_disk(TRACE)
    reports_full_disk("--json", TRACE)
    reports_full_disk("-n1", TRACE)


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
