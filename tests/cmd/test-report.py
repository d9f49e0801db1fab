#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`side report`: each number compared with one that is computed here from the output of Babeltrace."""
import functools
import math
import struct
from collections import Counter, defaultdict

from fake_daemon import FakeDaemon
from harness import *
import synthetic

TALKER = os.environ["TALKER"]
work = tempfile.TemporaryDirectory()
TRACE = os.path.join(work.name, "synthetic")
LOST = synthetic.make(TRACE)


class Event:
    def __init__(self, message):
        event = message.event
        self.ns = message.default_clock_snapshot.ns_from_origin
        self.name = event.name
        self.fields = {str(k): v for k, v in event.payload_field.items()}
        context = event.common_context_field or {}
        self.pid, self.tid = int(context["vpid"]), int(context["vtid"])
        self.procname, self.ip = str(context["procname"]), int(context["ip"])
        self.host = str(event.stream.trace.environment["hostname"])
        self.cpu = int(event.packet.context_field["cpu_id"])
        self.process = (self.host, self.pid)


def read(path):
    import bt2
    events, lost = [], Counter()
    for message in bt2.TraceCollectionMessageIterator(path):
        if type(message) is bt2._EventMessageConst:
            events.append(Event(message))
        elif type(message) is bt2._DiscardedEventsMessageConst:
            lost[str(message.stream.trace.environment["hostname"])] += message.count
    return events, lost


try:
    EVENTS, DISCARDED = read(TRACE)
except ImportError as error:
    print(f"SKIPPED: no numbers to compare with: {error} (Debian: python3-bt2)")
    sys.exit(77)


def report(*args, trace=TRACE, status=0):
    result = side("report", "--json", trace, *args)
    equal((result.status, result.err), (status, ""), str(args))
    lines = defaultdict(list)
    for line in json_lines(result.out):
        lines[line["type"]].append(line)
    return lines


def report_of(folder, *args):
    """The report of another trace."""
    result = side("report", "--json", folder, *args)
    equal(result.status, 0, result.err)
    lines = defaultdict(list)
    for line in json_lines(result.out):
        lines[line["type"]].append(line)
    return lines


def near(got, wanted, what, relative=1e-12):
    true(math.isclose(got, wanted, rel_tol=relative, abs_tol=1e-9), f"{what}: got {got}, wanted {wanted}")


def buckets_of(values):
    """As documented: below 0, 0, 1, [2, 4), [4, 8), …"""
    count = Counter()
    for value in values:
        if value < 0:
            count[(None, 0)] += 1
        elif int(value) == 0:
            count[(0, 1)] += 1
        else:
            bits = int(value).bit_length()
            count[(1 << (bits - 1), 1 << bits) if bits <= 64 else (1 << 64, None)] += 1
    return count


def equal_buckets(line, values, what):
    got = {(bucket.get("begin"), bucket.get("end")): bucket["count"] for bucket in line["buckets"]}
    equal(got, dict(buckets_of(values)), what)


def test_overview():
    lines = report()
    (overview,) = lines["overview"]
    first, last = EVENTS[0].ns, EVENTS[-1].ns
    equal(overview["events"], len(EVENTS))
    equal((overview["begin_ns"], overview["end_ns"], overview["duration_ns"]), (first, last, last - first))
    near(overview["rate"], len(EVENTS) * 1e9 / (last - first), "rate")
    equal(overview["processes"], len({event.process for event in EVENTS}))
    equal((overview["traces"], overview["damaged"], overview["untimed"]), (2, False, 0))
    equal(overview["lost"], sum(DISCARDED.values()))
    equal(sum(DISCARDED.values()), sum(map(sum, LOST)), "what was put in")
    true(overview["lost"] > 0, "nothing was lost")
    timeline = overview["timeline"]
    bins = Counter((event.ns - timeline["begin_ns"]) // timeline["width_ns"] for event in EVENTS)
    equal(timeline["counts"], [bins[i] for i in range(max(bins) + 1)])
    true(32 < len(timeline["counts"]) <= 64, timeline)


def test_processes_and_counts():
    lines = report()
    got = {(line["hostname"], line["vpid"]): (line["procname"], line["events"]) for line in lines["process"]}
    wanted = Counter(event.process for event in EVENTS)
    names = {event.process: event.procname for event in EVENTS}
    equal(got, {process: (names[process], count) for process, count in wanted.items()})
    # Here losses are those of a whole trace: the packets do not name the process.
    equal({line["event"]: line["count"] for line in lines["count"]},
          dict(Counter(event.name for event in EVENTS)))
    counts = [line["count"] for line in lines["count"]]
    equal(counts, sorted(counts, reverse=True))
    span = EVENTS[-1].ns - EVENTS[0].ns
    for line in lines["count"]:
        times = [event.ns for event in EVENTS if event.name == line["event"]]
        equal((line["begin_ns"], line["end_ns"]), (times[0], times[-1]), line["event"])
        near(line["rate"], len(times) * 1e9 / span, line["event"])
    equal(len(report("-n", "2")["count"]), 2)


HOSTS = defaultdict(set)
for one in EVENTS:
    HOSTS[(one.procname, one.pid)].add(one.host)


def called(event):
    """Two hosts have a process with the same name and number."""
    hosts = HOSTS[(event.procname, event.pid)]
    return f"{event.procname}:{event.pid}" + (f" on {event.host}" if len(hosts) > 1 else "")


def test_groups():
    def groups(by, key):
        got = Counter()
        for line in report("--by", by)["count"]:
            got[(line["event"], line["by"])] += line["count"]
        equal(got, Counter((event.name, key(event)) for event in EVENTS), by)

    groups("event", lambda e: e.name)
    groups("cpu", lambda e: e.cpu)
    groups("process", called)
    groups("thread", lambda e: f"{called(e)} thread {e.tid}")
    groups("$ctx.procname", lambda e: e.procname)
    groups("$ctx.vtid % 3", lambda e: e.tid % 3)
    states = {0: "idle", 1: "busy", 2: "busy", 3: "busy"}
    groups("state", lambda e: None if e.name != "app:value"
           else states.get(int(e.fields["state"]), int(e.fields["state"])))
    groups("query", lambda e: str(e.fields["query"]) if e.name == "db:begin" else None)


def test_selection():
    wanted = [event for event in EVENTS if event.name.startswith("db:")]
    equal(report("-e", "db")["overview"][0]["events"], len(wanted))
    wanted = [event for event in EVENTS if event.name == "db:end" and int(event.fields["rows"]) > 500]
    equal(report("--filter", "rows > 500")["overview"][0]["events"], len(wanted))
    wanted = [event for event in EVENTS if event.pid == 200 or event.name == "app:tick"]
    equal(report("--filter", "$ctx.vpid == 200")["overview"][0]["events"],
          len([event for event in EVENTS if event.pid == 200]))
    nothing = report("-q", "--filter", "rows > 100000")
    equal((nothing["overview"][0]["events"], "rate" in nothing["overview"][0], nothing["count"]), (0, False, []))


def test_times():
    def seconds(ns):
        return f"{ns // 10**9}.{ns % 10**9:09}"

    first, last = EVENTS[len(EVENTS) // 3].ns, EVENTS[len(EVENTS) // 2].ns
    since = first - EVENTS[0].ns
    for args, begin, end in ((["--from", seconds(first)], first, math.inf), (["--to", seconds(last)], 0, last),
                             (["--from=+" + seconds(since), "--to", seconds(last)], first, last)):
        lines = report(*args)
        wanted = [event for event in EVENTS if begin <= event.ns <= end]
        overview = lines["overview"][0]
        equal((overview["events"], overview["begin_ns"], overview["end_ns"]), (len(wanted), wanted[0].ns, wanted[-1].ns), str(args))
        equal({line["event"]: line["count"] for line in lines["count"]}, dict(Counter(event.name for event in wanted)))
        (slow,) = report("--pair", "fn:enter", "fn:leave", "--slowest", "1", "--around", "1000", *args)["slow"]
        true(all(begin <= event["ns"] <= end for event in slow["around"]), str(args))
    wrong = side("report", TRACE, "--to", "25:00")
    equal((wrong.status, wrong.out), (2, ""))
    contains(wrong.err, "` is not a time")
    contains(side("report", TRACE, "-e", "db:begin", "--to", "1").err, "at that time")


def test_histograms():
    def histogram(expression, values, **more):
        (line,) = report("--histogram", expression)["histogram"]
        equal((line["value"], line["count"]), (expression, len(values)))
        equal((line["min"], line["max"]), (min(values), max(values)), expression)
        near(line["mean"], math.fsum(values) / len(values), expression, **more)
        equal_buckets(line, values, expression)

    histogram("rows", [int(e.fields["rows"]) for e in EVENTS if e.name == "db:end"])
    numbers = [int(e.fields["number"]) for e in EVENTS if e.name == "app:value"]
    histogram("number", numbers, relative=1e-9)
    histogram("inner.a", [int(e.fields["inner"]["a"]) for e in EVENTS if e.name == "app:value"], relative=1e-9)
    histogram("real", [float(e.fields["real"]) for e in EVENTS if e.name == "app:value"], relative=1e-9)
    histogram("id & 15", [int(e.fields["id"]) & 15 for e in EVENTS if e.name.startswith("db:")])
    histogram("len(list)", [len(e.fields["list"]) for e in EVENTS if e.name == "app:value"])
    lines = report("--histogram", "rows", "--histogram", "depth", "--by", "cpu")["histogram"]
    got = {(line["value"], line["by"]): line["count"] for line in lines}
    equal(got, dict(Counter((value, e.cpu) for e in EVENTS for value in ("rows", "depth") if value in e.fields)))


def pairs(begin, end, key, process=lambda e: e.process):
    """As documented: an end closes the latest open begin of its key."""
    durations, unfinished, unbegun = [], 0, 0
    stacks = defaultdict(list)
    for number, event in enumerate(EVENTS):
        stack = stacks[(process(event), key(event))] if event.name in (begin, end) else None
        if event.name == end:
            if stack:
                start = stack.pop()
                durations.append((event.ns - EVENTS[start].ns, start, number))
            else:
                unbegun += 1
        if event.name == begin:
            stack.append(number)
    unfinished = sum(map(len, stacks.values()))
    return durations, unfinished, unbegun


def equal_durations(line, values, what):
    values = sorted(values)
    equal((line["count"], line["min_ns"], line["max_ns"]), (len(values), values[0], values[-1]), what)
    near(line["mean_ns"], sum(values) / len(values), what)
    for name, part in (("p50_ns", 0.5), ("p90_ns", 0.9), ("p99_ns", 0.99), ("p99_9_ns", 0.999)):
        exact = values[max(0, math.ceil(round(len(values) * part, 9)) - 1)]
        true(abs(line[name] - exact) <= exact / 512 + (exact >= 512), f"{what} {name}: {line[name]}, exactly {exact}")
    equal_buckets(line, values, what)


def test_pairs():
    def compare(begin, end, args, key, **more):
        lines = report("--pair", begin, end, *args)
        durations, unfinished, unbegun = pairs(begin, end, key, **more)
        true(len(durations) > 100, f"{len(durations)} pairs of {begin}")
        equal_durations(lines["durations"][0], [d for d, _, _ in durations], f"{begin} {args}")
        (pair,) = lines["pair"]
        equal((pair["begin"], pair["end"], pair["unfinished"], pair["not_begun"], pair["without_key"]),
              (begin, end, unfinished, unbegun, 0), str(args))

    compare("fn:enter", "fn:leave", [], lambda e: e.tid)
    compare("db:begin", "db:end", ["--key", "id"], lambda e: int(e.fields["id"]))
    compare("db:begin", "db:end", ["--key", "id", "--across"], lambda e: int(e.fields["id"]), process=lambda e: 0)
    compare("db:begin", "db:end", ["--key", "$ctx.procname"], lambda e: e.procname)
    compare("db:begin", "db:end", ["--key", "$ctx.procname", "--across"], lambda e: e.procname, process=lambda e: 0)
    compare("app:tick", "app:tick", ["--key", "1"], lambda e: 1)


def test_several_pairs_by_group():
    lines = report("--pair", "fn:enter", "fn:leave", "--pair", "app:tick", "app:tick", "--by", "process")
    wanted = defaultdict(list)
    for begin, end in (("fn:enter", "fn:leave"), ("app:tick", "app:tick")):
        for duration, start, _ in pairs(begin, end, lambda e: e.tid)[0]:
            wanted[(begin, called(EVENTS[start]))].append(duration)
    got = {(line["begin"], line["by"]): line for line in lines["durations"]}
    equal(sorted(got), sorted(wanted))
    equal(len(lines["durations"]), len(wanted))
    for key, line in got.items():
        equal_durations(line, wanted[key], str(key))


def test_pairs_as_text():
    """Each rule reports whether the trace has a pair of it, in any order of the rules."""
    some, none, others = ("fn:enter", "fn:leave"), ("app:tick", "no:such"), ("db:begin", "db:end")
    for rules, missing in (((some, others), 0), ((others, some), 0), ((some, none), 1), ((none, some), 1), ((none, none), 2)):
        text = side("report", TRACE, *[word for rule in rules for word in ("--pair", *rule)]).out
        equal(text.count(": no pair\n"), missing, f"{rules}: {text}")
        if missing:
            contains(text, "app:tick → no:such: no pair\n")


def test_pairs_of_top():
    """`side top` on the whole trace: the number of pairs, and the longest duration."""
    runtime = os.path.join(work.name, "top")
    fake = FakeDaemon(runtime)
    session = {"name": "now", "state": "active", "output": TRACE, "recorded": 0, "bytes": 0, "lost": 0, "processes": []}
    # Events before the first interval do not count.
    answers = [{"ok": True, "time": step, "sessions": [{**session, "output": TRACE if step > 1 else ""}]} for step in (1, 2, 3)]
    fake.answers["top"], fake.subscription = answers[0], answers[1:]
    for begin, end, args, key in (("fn:enter", "fn:leave", [], lambda e: e.tid),
                                  ("db:begin", "db:end", ["--key", "id"], lambda e: int(e.fields["id"])),
                                  ("app:tick", "app:tick", ["--key", "1"], lambda e: 1)):
        durations = [duration for duration, _, _ in pairs(begin, end, key)[0]]
        result = side("top", "now", "--json", "-n", "2", "--pair", begin, end, *args, env=environment(SIDE_RUNTIME=runtime))
        lines = [line for line in json_lines(result.out) if line["type"] == "durations"]
        equal(sum(line["count"] for line in lines), len(durations), f"{begin}: {result}")
        equal(max(line.get("max", 0) for line in lines), max(durations), begin)
    fake.close()


def test_slowest():
    durations = pairs("fn:enter", "fn:leave", lambda e: e.tid)[0]
    durations.sort(key=lambda d: (-d[0], d[2]))
    lines = report("--pair", "fn:enter", "fn:leave", "--slowest", "20", "--around", "3")["slow"]
    equal([(line["rank"], line["duration_ns"]) for line in lines],
          [(i + 1, duration) for i, (duration, _, _) in enumerate(durations[:20])])
    threads = defaultdict(list)
    for number, event in enumerate(EVENTS):
        threads[(event.process, event.tid)].append(number)
    for line, (duration, start, stop) in zip(lines, durations):
        begin, end = EVENTS[start], EVENTS[stop]
        equal((line["begin_ns"], line["end_ns"], line["vpid"], line["thread"], line["cpu"], line["hostname"]),
              (begin.ns, end.ns, begin.pid, begin.tid, begin.cpu, begin.host))
        thread = threads[(begin.process, begin.tid)]
        first, last = thread.index(start), thread.index(stop)
        places = sorted({i for at in (first, last) for i in range(max(0, at - 3), min(len(thread), at + 4))})
        equal([(event["ns"], event["event"], event.get("mark")) for event in line["around"]],
              [(EVENTS[thread[i]].ns, EVENTS[thread[i]].name,
                "begin" if i == first else "end" if i == last else None) for i in places])
        equal([event["offset_ns"] for event in line["around"]],
              [EVENTS[thread[i]].ns - begin.ns for i in places])
        marked = next(event for event in line["around"] if event.get("mark") == "begin")
        equal(marked["fields"], {"depth": int(begin.fields["depth"])})
        equal(marked["stream_context"]["vtid"], begin.tid)
    equal(len(report("--pair", "fn:enter", "fn:leave", "--slowest", "9999")["slow"]), len(durations))


def test_callers():
    lines = report("--callers", "100")["caller"]
    got = {(line["hostname"], line["vpid"], line["address"]): line["count"] for line in lines}
    equal(got, dict(Counter((e.host, e.pid, e.ip) for e in EVENTS)))
    counts = [line["count"] for line in lines]
    equal(counts, sorted(counts, reverse=True))
    equal(len(report("--callers", "2")["caller"]), 2)


def test_losses():
    lines = report("--losses")["lost"]
    got = Counter()
    for line in lines:
        got[line["hostname"]] += line["count"]
        true(line["ring"].startswith("stream_"), line)
    equal(got, DISCARDED)
    equal(sorted(line["count"] for line in lines), sorted(n for trace in LOST for n in trace if n))


def test_recorded():
    """A real recording that lost events, and the program's own numbers."""
    if os.environ.get("SANITIZED", "none") != "none":
        print("programs are not recorded with a sanitizer's runtime")
        return
    trace = os.path.join(work.name, "talker")
    equal(side("record", "-q", "--buffer-size", "64K", "-o", trace, TALKER, "300000").status, 0)
    events = [line for line in json_lines(side("view", "--json", "-q", trace).out)]
    shown = Counter(line["event"] for line in events if line["type"] == "event")
    lines = report("--losses", "--counts", trace=trace)
    equal({line["event"]: line["count"] for line in lines["count"]}, dict(shown))
    lost = Counter()
    for line in events:
        if line["type"] == "lost":
            lost[(line["ring"], line["event"], line["reason"])] += line["count"]
    equal({(line["ring"], line["event"], line["reason"]): line["count"] for line in lines["lost"]}, dict(lost))
    equal(lines["overview"][0]["lost"], sum(lost.values()))
    equal(shown["talker:said"] + sum(lost.values()) + shown["talker:ends"], 300001, "recorded + lost = said")
    (process,) = lines["process"]
    equal((process["events"], process["lost"]), (sum(shown.values()), sum(lost.values())))


def test_full_disk():
    """The size of the unwritten data is known; it does not count as events."""
    if os.environ.get("SANITIZED", "none") != "none":
        print("programs are not recorded with a sanitizer's runtime")
        return
    disk = os.path.join(work.name, "disk")
    os.mkdir(disk)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "none", disk], stderr=subprocess.DEVNULL,
                      check=False).returncode:
        print("mounting needs root")
        return
    try:
        trace = os.path.join(disk, "talker")
        result = side("record", "--json", "-o", trace, TALKER, "300000")
        losses_there = [loss for line in json_lines(result.err) for loss in line.get("losses", ())]
        size = sum(line["count"] for line in losses_there if line["in_bytes"])
        count = sum(line["count"] for line in losses_there if not line["in_bytes"])
        true(size > 0, str(losses_there))
        shown = [line for line in json_lines(side("view", "--json", "-q", trace).out) if line["type"] == "lost"]
        equal(sum(line["count"] for line in shown if line.get("in_bytes")), size)
        equal(sum(line["count"] for line in shown if not line.get("in_bytes")), count)
        lines = report("--losses", trace=trace)
        equal((lines["overview"][0]["lost"], lines["overview"][0]["lost_bytes"]), (count, size))
        equal(sum(line["count"] for line in lines["lost"] if line.get("in_bytes")), size)
        contains(side("report", trace).out, " of events that could not be written")
        view = side("view", trace)
        contains(view.out, "iB of events lost in ring_")
        contains(view.out, ": bytes not written: No space left on device")
        equal(f"{count:,} event" in view.err, count > 0, view.err)
    finally:
        subprocess.run(["umount", "-l", disk], check=False)


@functools.lru_cache(None)
def symbols_of(module):
    """Returns (begin, size, name) of its functions, as nm reads them; and the segments, as readelf does."""
    found = []
    notes = subprocess.run(["readelf", "-n", module], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                           check=False).stdout
    build_id = re.search(r"Build ID: ([0-9a-f]{2})([0-9a-f]+)", notes)
    debug = "/usr/lib/debug/.build-id/{}/{}.debug".format(*build_id.groups()) if build_id else module
    for option, path in (([], module), (["-D"], module), ([], debug)):
        done = subprocess.run(["nm", "-S", "--defined-only", *option, path], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, check=False)
        for line in done.stdout.splitlines():
            parts = line.split()
            if len(parts) == 4 and parts[2] in "tTwWiu":
                found.append((int(parts[0], 16), int(parts[1], 16), parts[3].split("@")[0]))
    done = subprocess.run(["readelf", "-lW", module], stdout=subprocess.PIPE, text=True, check=True)
    segments = [line.split() for line in done.stdout.splitlines() if line.split()[:1] == ["LOAD"]]
    return found, [(int(s[1], 16), int(s[2], 16), int(s[4], 16)) for s in segments]


def test_callers_have_names():
    """Addresses of an exited program: module and offset by the recorded mappings, functions by symbols."""
    if os.environ.get("SANITIZED", "none") != "none":
        return
    trace = os.path.join(work.name, "callers")
    equal(side("record", "-q", "-w", "libc", "-o", trace, sys.executable, "-c", "open('/etc/passwd').read()").status, 0)
    (inside,) = os.listdir(trace)
    with open(os.path.join(trace, inside, ".maps"), encoding="utf-8") as file:
        maps = [line.split(maxsplit=5) for line in file]
    named = 0
    lines = report("--callers", "1000", trace=trace)["caller"]
    for line in lines:
        call = line["address"] - 1
        where = None
        for addresses, _, offset, _, _, module in maps:
            begin, end = (int(number, 16) for number in addresses.split("-"))
            if begin <= call < end:
                where = (module.strip(), call - begin + int(offset, 16))
        equal(line.get("module"), where and where[0], line)
        if not where:
            continue
        symbols, segments = symbols_of(where[0])
        (place,) = [where[1] - offset + address for offset, address, size in segments
                    if offset <= where[1] < offset + size]
        equal(line["offset"], place + 1, line)
        names = {name: begin for begin, size, name in symbols if begin <= place < begin + size}
        equal("function" in line, bool(names), line)
        if names:
            true(line["function"] in names, f"{line}: {names}")
            equal(line["function_offset"], place + 1 - names[line["function"]])
            named += 1
    true(named > 5 and len(lines) > named / 2, f"{named} of {len(lines)} have names")
    shown = side("report", "-q", trace, "--callers", "1000").out
    for line in lines:
        contains(shown, f"0x{line['address']:x}\n")
        if "function" in line:
            contains(shown, f"{line['function']}+0x{line['function_offset']:x} ({line['module']})")


def test_text():
    result = side("report", TRACE)
    equal((result.status, result.err), (0, ""))
    lines = result.out.splitlines()
    contains(lines[0], f"{len(EVENTS):,} events of 3 processes")
    contains(result.out, "lost       " + f"{sum(DISCARDED.values()):,}")
    header = next(i for i, line in enumerate(lines) if line.startswith("EVENT "))
    width = lines[header].index("COUNT") + len("COUNT")
    for line in lines[header + 1:]:
        true(line[width - 1].isdigit() and line[width] == " ", f"{line!r} is not aligned")
    true(all(line == line.rstrip() for line in lines), "blanks at the end of a line")
    colored = side("report", "--color=always", TRACE).out
    equal(re.sub("\033\\[[0-9;]*m", "", colored), result.out)
    true(colored != result.out, "no colours")
    plain = side("report", TRACE, env=environment(LANG="C", LC_ALL=None, LC_CTYPE=None)).out
    blocks = side("report", TRACE, env=environment(LANG="C.UTF-8", LC_ALL=None, LC_CTYPE=None)).out
    true(plain.isascii() and not blocks.isascii(), "the line of events over time")


def test_histogram_of_values_outside_of_buckets():
    """Infinite values and NaN are in no bucket and no sum; numbers from 2^64 on have a separate row."""
    values = [1.5, 1e21, -1e300, math.inf, -math.inf, math.nan, 0.25, 2.0**64, 2.0**63, 1.8e308, -math.inf, math.nan]
    folder = os.path.join(work.name, "reals")
    os.mkdir(folder)
    with open(os.path.join(folder, "metadata"), "w", encoding="ascii") as file:
        file.write("""/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { integer { size = 8; } stream_id; }; };
stream { id = 0; event.header := struct { integer { size = 8; } id; }; };
event { name = "e"; id = 0; stream_id = 0; fields := struct { floating_point { exp_dig = 11; mant_dig = 53; align = 8; } r;
	integer { size = 8; } which; }; };
""")
    with open(os.path.join(folder, "stream"), "wb") as file:
        file.write(b"\0" + b"".join(struct.pack("<BdB", 0, value, value != value) for value in values))
    finite = [value for value in values if math.isfinite(value)]
    result = side("report", "--json", folder, "--histogram", "r")
    (line,) = [line for line in json_lines(result.out) if line["type"] == "histogram"]
    equal((line["count"], line["infinite"], line["nan"]), (len(finite), 4, 2))
    equal((line["min"], line["max"]), (min(finite), max(finite)))
    equal([(b.get("begin"), b.get("end"), b["count"]) for b in line["buckets"]],
          [(None, 0, 1), (0, 1, 1), (1, 2, 1), (2**63, 2**64, 1), (2**64, None, 2)])
    text = side("report", folder, "--histogram", "r").out
    bars = re.findall(r"^(\S.*?) +(\d+) \|(@*) *\|$", text, re.M)
    equal(bars[0][:2], ("(..., 0)", "1"))
    equal(bars[-2][:2], ("[8E, 16E)", "1"))
    equal(bars[-1][:2], ("[16E, ...)", "2"))
    contains(text, "not counted: 4 infinite values\nnot counted: 2 NaN values\n")
    result = side("report", "--json", folder, "--histogram", "r", "--filter", "which == 1")
    (line,) = [line for line in json_lines(result.out) if line["type"] == "histogram"]
    equal((line["count"], line["nan"], line["buckets"], "min" in line), (0, 2, [], False))
    contains(side("report", folder, "--histogram", "r", "--filter", "which == 1").out, "r: count 0\nnot counted: 2 NaN")


CALLS = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := u8;
typealias integer { size = 32; align = 8; signed = false; } := u32;
typealias integer { size = 64; align = 8; signed = false; } := u64;
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u32 magic; }; };
env { tracer_name = "side"; procname = "server"; vpid = 5; };
clock { name = "k"; freq = 1000000000; };
typealias integer { size = 64; align = 8; signed = false; map = clock.k.value; } := t;
stream { packet.context := struct { t timestamp_begin; t timestamp_end; u64 content_size; u64 packet_size; u64 events_discarded; };
	event.header := struct { u8 id; t timestamp; }; };
event { name = "probe:outer"; id = 0; fields := struct { u64 _call; }; };
event { name = "probe:outer_return"; id = 1; fields := struct { u64 _call; u64 _duration; }; };
event { name = "probe:inner"; id = 2; fields := struct { u64 _call; }; };
event { name = "probe:inner_return"; id = 3; fields := struct { u64 _call; u64 _duration; }; };
"""


def write_calls(folder, packets):
    """Writes packets of (begin, end, discarded, [(time, event, call, duration or None)])."""
    os.mkdir(folder)
    with open(os.path.join(folder, "metadata"), "w", encoding="ascii") as file:
        file.write(CALLS)
    with open(os.path.join(folder, "ring_0"), "wb") as file:
        for begin, end, discarded, events in packets:
            data = b"".join(struct.pack("<BQQ", event, time, call) + (b"" if duration is None else struct.pack("<Q", duration))
                            for time, event, call, duration in events)
            size = (4 + 40 + len(data)) * 8
            file.write(struct.pack("<IQQQQQ", 0xc1fc1fc1, begin, end, size, size, discarded) + data)


def test_calls_across_a_loss():
    """A call without a return has no time; the return may be among lost events."""
    second = 10**9
    other = 1 << 48  # Another thread.
    for lost in (0, 3):
        folder = os.path.join(work.name, f"calls-{lost}")
        write_calls(folder, [
            (0, second, 0, [(10, 0, 100, None), (20, 2, 101, None), (120, 3, 101, 100), (200, 2, 102, None),
                            (300, 2, other + 1, None), (400, 3, other + 1, 100)]),
            (second, 3 * second, lost, [(2 * second, 2, 103, None), (2 * second + 50, 3, 103, 50),
                                        (2 * second + 90, 1, 100, 2 * second + 80),
                                        (2 * second + 100, 2, other + 2, None)]),
            (3 * second, 4 * second, lost, [(3 * second + 10, 3, other + 2, second - 90)]),
        ])
        lines = report_of(folder, "--calls", "--tree", "--pair", "probe:inner", "probe:inner_return", "--pair", "probe:outer", "probe:outer_return")
        functions = {line["function"]: line for line in lines["function"]}
        inner, outer = functions["inner"], functions["outer"]
        timed = [100, 100, 50, second - 90]
        equal((inner["calls"], inner["min_ns"], inner["max_ns"], inner["total_ns"]), (5, 50, max(timed), sum(timed)), lost)
        near(inner["mean_ns"], sum(timed) / len(timed), lost)
        equal((inner.get("unfinished"), inner.get("lost_return"), inner.get("untimed")), (None, 1, None) if lost else (1, None, None))
        equal((outer["calls"], outer["total_ns"]), (1, 2 * second + 80))
        under = [line for line in lines["branch"] if line["function"] == "inner" and line["depth"] == 1]
        equal([line.get("lost_return") for line in under], [1 if lost else None])
        pairs = {line["begin"]: line for line in lines["pair"]}
        # By the threads' numbers in `call`: the return of thread 1 does not end a call of another
        # thread.
        durations = {line["begin"]: line for line in lines["durations"]}
        equal(durations["probe:inner"]["count"], 4)
        equal((pairs["probe:inner"]["without_thread"], pairs["probe:inner"]["unfinished"]), (0, 1))
        equal((pairs["probe:inner"]["across_loss"], pairs["probe:outer"]["across_loss"]), (2, 1) if lost else (0, 0))
        text = side("report", folder, "--calls", "--pair", "probe:inner", "probe:inner_return")
        equal("pairs span lost events" in text.out, bool(lost))
        equal("return may be among the lost events: 1" in text.err, bool(lost))


def test_pairs_without_threads():
    """Without thread ids all threads of a process are one sequence, and the report warns of it."""
    folder = os.path.join(work.name, "threadless")
    import shutil
    shutil.copytree(TRACE, folder)
    for name in ("one", "two"):
        path = os.path.join(folder, name, "metadata")
        with open(path, encoding="ascii") as file:
            text = file.read()
        with open(path, "w", encoding="ascii") as file:
            file.write(text.replace("_vtid", "_xtid"))
    marked = "threads are not known"
    for args, wanted in (((TRACE,), False), ((folder,), True), ((folder, "--key", "depth"), False)):
        text = side("report", *args, "--pair", "fn:enter", "fn:leave")
        equal(marked in text.out, wanted, args)
        (pair,) = [line for line in json_lines(side("report", "--json", *args, "--pair", "fn:enter", "fn:leave").out) if line["type"] == "pair"]
        equal(pair["without_thread"], len([e for e in EVENTS if e.name.startswith("fn:")]) if wanted else 0, args)
        exported = side("export", *args, "--to", "chrome", "-o", "/dev/null", "--pair", "fn:enter", "fn:leave")
        equal((exported.status, marked in exported.err), (0, wanted), args)


def test_text_histogram():
    """As bpftrace draws it: the longest bar has 52 characters."""
    result = side("report", TRACE, "--histogram", "rows", "-e", "db:end")
    rows = [int(e.fields["rows"]) for e in EVENTS if e.name == "db:end"]
    bars = re.findall(r"^(\S.*?) +(\d+) \|(@*) *\|$", result.out, re.M)
    wanted = buckets_of(rows)
    equal([int(count) for _, count, _ in bars], [wanted[key] for key in sorted(wanted, key=lambda k: k[1])])
    equal(bars[0][0], "(..., 0)")
    most = max(wanted.values())
    equal([len(bar) for _, _, bar in bars], [int(count) * 52 // most for _, count, _ in bars])
    contains(result.out, "[512, 1K)")


def test_damage():
    broken = os.path.join(work.name, "broken")
    import shutil
    shutil.copytree(TRACE, broken)
    os.truncate(os.path.join(broken, "one", "stream_0"), 5000)
    result = side("report", "--json", broken)
    equal(result.status, 1)
    equal(json_lines(result.err)[0]["type"], "error")
    true(json_lines(result.out)[0]["damaged"], result.out[:300])
    contains(side("report", broken, "--pair", "fn:enter", "fn:leave", "--slowest", "2", "--around", "1").err, "stream_0")


def test_mistakes():
    def refused(*args, printing, status=2):
        result = side("report", *args)
        equal((result.status, result.out), (status, ""), str(args))
        contains(result.err, printing)
        result = side("--json", "report", *args)
        equal((result.status, result.out), (status, ""), str(args))
        equal(json_lines(result.err)[-1]["type"], "error")

    refused(printing="missing operand: a trace to report on")
    refused("/nowhere", printing="No such file", status=1)
    refused("/etc/passwd", printing="not a directory", status=1)
    refused(TRACE, "--pair", "a", printing="needs an argument: BEGIN END")
    refused(TRACE, "--pair=a", printing="needs an argument: BEGIN END")
    refused(TRACE, "--pair", "a", "b:[c", printing="b:[c")
    refused(TRACE, "--key", "id", printing="without `--pair`")
    refused(TRACE, "--slowest", "3", printing="without `--pair`")
    refused(TRACE, "--pair", "a", "b", "--around", "3", printing="without `--slowest`")
    refused(TRACE, "--pair", "a", "b", "--across", printing="without `--key`")
    refused(TRACE, "--pair", "a", "b", "--slowest", "10001", printing="10000 at most")
    refused(TRACE, "--filter", "rows >", printing="`--filter`")
    refused(TRACE, "--by", "1 +", printing="`--by`")
    refused(TRACE, "--histogram", ")", printing="`--histogram`")
    contains(side("report", TRACE, "--filter", "rows >").err, "\n    rows >\n" if False else "rows >")


def test_notes():
    contains(side("report", TRACE, "--histogram", "nowhere").err, "no event has a value of `nowhere`")
    contains(side("report", TRACE, "--histogram", "query").err, "values of `query` that are not numbers are not counted")
    contains(side("report", TRACE, "--pair", "db:begin", "db:end", "--key", "rows").err, "no value of `--key`")
    equal(side("report", "-q", TRACE, "--histogram", "nowhere").err, "")
    for args, part in ((["-e", "db:begn"], "did you mean `-e db:begin`?"), (["--filter", "rows > 100000"], "matched `--filter"),
                       (["-e", "db", "--filter", "rows > 100000"], "and `-e`")):
        result = side("report", TRACE, *args)
        lines = [line for line in result.err.splitlines() if not line.startswith("hint: ")]
        equal((result.status, len(lines)), (0, 1), result.err)
        true("did you mean" not in lines[0], result.err)
        contains(result.err, part)


def test_misspelled_names():
    """Each hint, used instead of the misspelled name, leaves no note."""
    for args, wrong, note in ((("--by", "rosw"), "rosw", "no event has a value of `--by rosw`: no event has `rosw`: there is "),
                              (("--by", "$ctx.vpdi"), "$ctx.vpdi", "no event has `$ctx.vpdi`"),
                              (("--histogram", "rosw * 2"), "rosw", "no event has a value of `rosw * 2`: no event has `rosw`"),
                              (("--pair", "fn:enter", "fn:leave", "--key", "detph"), "detph", "no event has a value of `--key detph`: no event has `detph`: there is depth, "),
                              (("--pair", "db:begn", "db:end"), "db:begn", "matched db:begn of `--pair`: the trace has 6 event classes: "),
                              (("--pair", "db:begin", "db:edn"), "db:edn", "matched db:edn of `--pair`: the trace has 6 event classes: ")):
        result = side("report", TRACE, *args)
        contains(result.err, note)
        lines = result.err.splitlines()
        equal((result.status, len(lines)), (0, 2), result.err)
        right = re.fullmatch("hint: did you mean `([^`]+)`\\?", lines[1])
        true(right, result.err)
        result = side("report", TRACE, *[word.replace(wrong, right[1]) if wrong in word else word for word in args])
        equal((result.status, "no event" in result.err), (0, False), result.err)
        notes = json_lines(side("--json", "report", TRACE, *args).err)
        equal([(line["type"], line.get("hint")) for line in notes], [("note", lines[1][6:])])
    # Some events have the field: that is no error.
    equal(side("report", TRACE, "--by", "rows").err, "")
    contains(side("report", TRACE, "--by", "$ctx.cgroup_ns").err, "hint: record with `--context cgroup_ns`")


def test_full_output_device():
    with open("/dev/full", "w") as full:
        run = subprocess.run([SIDE, "report", TRACE], stdout=full, stderr=subprocess.PIPE, text=True)
    equal(run.returncode, 1)
    contains(run.stderr, "No space left")


def test_closed_output():
    """Nothing is written into a file that has got the number of the closed stream."""
    for words in (["report", TRACE], ["leaks", "--json", TRACE], ["locks", "--json", TRACE], ["export", TRACE], ["diff", TRACE, TRACE], ["report", "--html", "-", TRACE]):
        done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", SIDE, *words], capture_output=True, text=True, check=False, timeout=60)
        equal((words, done.returncode), (words, 1), done.stderr)
        contains(done.stderr, "Bad file descriptor", words)
    if os.environ.get("SANITIZED", "none") == "none":
        # A program finds the streams as the user left them.
        done = subprocess.run(["sh", "-c", 'exec "$@" <&-', "sh", SIDE, "record", "-q", "-o", work.name + "/closed", "--", "sh", "-c",
                               "test -e /proc/self/fd/0"], capture_output=True, text=True, check=False, timeout=60)
        equal(done.returncode, 1, done.stderr)


run_tests(globals())
