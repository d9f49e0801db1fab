#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`side flame`: the tree of call paths as text and JSON, of a trace, a command and a process, and the comparison of two traces."""
import call_trace
import profiles
from call_trace import enter, leave, query
from harness import *

PROGRAM = sys.argv.pop(1)
work = tempfile.TemporaryDirectory()


def write(name, *packets, **more):
    return call_trace.write(os.path.join(work.name, name), *packets, **more)


# main calls price twice and serve once; serve calls price.
CALLS = [(1000, enter("main", 1)), (1100, enter("price", 2)), (1200, leave("price", 2, 100)), (1300, enter("serve", 3)),
         (1400, enter("price", 4)), (1700, leave("price", 4, 300)), (1800, leave("serve", 3, 500)), (1900, enter("price", 5)),
         (2100, leave("price", 5, 200)), (3000, leave("main", 1, 2000))]
CALLS_TRACE = write("calls", CALLS)


def flame(*args, status=0, err=""):
    result = side("flame", *args)
    equal(result.status, status, result.err)
    if err is not None:
        equal(result.err, err)
    return result.out


def read_paths(text):
    """{path: object} of the JSON, and the summary."""
    result, path = {}, []
    summary, *lines = json_lines(text)
    equal(summary["type"], "flame")
    for line in lines:
        equal(line["type"], "path")
        path = path[:line["depth"]] + [line["function"]]
        true(tuple(path) not in result, path)
        result[tuple(path)] = line
    return result, summary


def paths(*args, **more):
    return read_paths(flame("--json", *args, **more))


def test_json():
    found, summary = paths(CALLS_TRACE)
    equal({path: (line["total"], line["self"], line["count"]) for path, line in found.items()}, {
        ("main",): (2000, 1200, 1), ("main", "serve"): (500, 200, 1), ("main", "serve", "price"): (300, 300, 1),
        ("main", "price"): (300, 300, 2)})
    equal((summary["weight"], summary["unit"], summary["total"], summary["lost"], summary["count"]), ("time", "nanoseconds", 2000, 0, 5))


def test_text():
    equal(flame(CALLS_TRACE).splitlines(), [
        "   TOTAL   SHARE      SELF  COUNT  FUNCTION",
        "2.000 us  100.0%  1.200 us      1  main",
        "  500 ns   25.0%    200 ns      1    serve",
        "  300 ns   15.0%    300 ns      1      price",
        "  300 ns   15.0%    300 ns      2    price"])
    equal(flame(CALLS_TRACE, "--rows", "2").splitlines()[1:], [
        "2.000 us  100.0%  1.200 us      1  main",
        "  500 ns   25.0%    200 ns      1    serve",
        "… and 2 smaller"])


def test_rows_are_the_largest_and_whole_paths():
    events, now = [], 100
    for number in range(300):
        events += [(now, enter(f"f{number % 50}", 2 * number + 1)), (now + 1, enter("g", 2 * number + 2)),
                   (now + 2 + number % 50, leave("g", 2 * number + 2, 1 + number % 50)), (now + 60, leave(f"f{number % 50}", 2 * number + 1, 60))]
        now += 100
    trace = write("many", events)
    for rows in (1, 7, 49, 50, 51, 60, 99, 100, 101):
        lines = flame(trace, "--rows", str(rows)).splitlines()[1:]
        more = int(re.fullmatch("… and ([0-9]+) smaller", lines.pop())[1]) if lines[-1].startswith("…") else 0
        equal((len(lines), len(lines) + more), (min(rows, 100), 100))
        # Each row of `g` follows the row of its caller.
        names = [re.search("( *)([fg][0-9]*)$", line)[2] for line in lines]
        true(all(before.startswith("f") for before, name in zip(names, names[1:]) if name == "g") and names[0] != "g", names)


def test_formats_are_those_of_export():
    for name in ("folded", "speedscope"):
        equal(flame(CALLS_TRACE, "--format", name), side("export", CALLS_TRACE, "--format", name).out)
    equal(profiles.folded(flame(CALLS_TRACE, "--format", "folded", "--weight", "count")),
          {("main",): 1, ("main", "serve"): 1, ("main", "serve", "price"): 1, ("main", "price"): 2})


def test_comparison():
    slower = [(time + (500 if time > 1500 else 0), (number, fields)) for time, (number, fields) in CALLS]
    slower[5] = slower[5][0], leave("price", 4, 800)
    slower[6] = slower[6][0], leave("serve", 3, 1000)
    slower[7], slower[8] = (2400, enter("new", 5)), (2600, leave("new", 5, 200))
    slower[9] = 3500, leave("main", 1, 2500)
    after = write("after", slower)
    found, summary = paths(after, "--base", CALLS_TRACE)
    equal({path: (line["total"], line["base_total"], line["self"], line["base_self"]) for path, line in found.items()}, {
        ("main",): (2500, 2000, 1200, 1200), ("main", "serve"): (1000, 500, 200, 200), ("main", "serve", "price"): (800, 300, 800, 300),
        ("main", "price"): (100, 300, 100, 300), ("main", "new"): (200, 0, 200, 0)})
    equal((summary["total"], summary["base_total"], summary["base"]), (2500, 2000, CALLS_TRACE))
    equal(flame(after, "--base", CALLS_TRACE).splitlines()[:3], [
        "   TOTAL      BASE   CHANGE      SELF  FUNCTION",
        "2.500 us  2.000 us  +500 ns  1.200 us  main",
        "1.000 us    500 ns  +500 ns    200 ns    serve"])


def test_losses():
    trace = write("lost", CALLS[:3], 4, CALLS[3:])
    contains(side("flame", trace).err, "events were lost while recording: 4; weights are too small")
    equal(paths(trace, err=None)[1]["lost"], 4)


def test_mistakes():
    plain = write("plain", [(100, query(1))])
    for args, status, text in (
            (("--weight", "bytes", plain), 1, "there are no calls of an allocator"),
            (("--base", CALLS_TRACE, plain), 1, "no event has a stack"),
            (("--json", "--format", "folded", CALLS_TRACE), 2, "exclude each other"),
            (("--base", CALLS_TRACE, "--format", "folded", CALLS_TRACE), 2, "`--base` has no effect"),
            (("-o", "picture.svg", PROGRAM), 2, "use `--format svg > FILE`"),
            (("--weight", "count", PROGRAM), 2, "`--weight count` needs a trace"),
            (("--base", os.path.join(work.name, "none"), CALLS_TRACE), 1, "none")):
        result = side("flame", *args)
        equal((result.status, result.out), (status, ""), args)
        contains(result.err, text)


def of_main(found):
    return {path[path.index("main"):]: line for path, line in found.items() if "main" in path}


def test_commands():
    found, _ = paths("--weight", "bytes", PROGRAM)
    equal({path: (line["total"], line["count"]) for path, line in of_main(found).items()}, {
        ("main",): (5000 + 60 * 100, 1), ("main", "flame_inner"): (2000, 20), ("main", "flame_outer"): (4000, 0),
        ("main", "flame_outer", "flame_inner"): (4000, 40)})
    found, summary = paths("--function", "flame_*", "--function", "main", PROGRAM)
    equal({path: line["count"] for path, line in found.items()}, {
        ("main",): 1, ("main", "flame_outer"): 20, ("main", "flame_outer", "flame_inner"): 40, ("main", "flame_inner"): 20})
    equal(summary["weight"], "time")
    result = side("flame", "--weight", "wait", PROGRAM)
    equal((result.status, result.out), (0, ""), result.err)
    contains(result.err, "the recording has no event with a weight")
    equal(side("flame", "--weight", "bytes", "sh", "-c", "exit 7").status, 7)


def of_process(program, text, *args):
    """The paths of the process, recorded until the text is in the trace."""
    trace = os.path.join(work.name, f"process-{text}")
    with subprocess.Popen([SIDE, "flame", "--json", "-o", trace, "-p", str(program.pid), *args], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as flame_verb:
        contains(flame_verb.stderr.readline(), "until Ctrl-C")
        wait_until(lambda: text in side("view", "--json", trace).out, f"the trace has {text}", process=flame_verb)
        flame_verb.send_signal(signal.SIGINT)
        out, _ = flame_verb.communicate(timeout=60)
    return read_paths(out)[0]


def test_a_process():
    with subprocess.Popen([PROGRAM, "run"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        equal(program.stdout.readline(), b"ready\n")
        calls = of_process(program, "return_value", "--function", "flame_*")
        allocations = of_process(program, "malloc_return", "--weight", "bytes")
        equal(program.poll(), None, "the program continues")
        program.stdin.close()
        equal(program.wait(timeout=60), 0)
    # Each flame_outer() calls flame_inner() twice. Calls at the begin and the end of the recording may lack a part.
    inner = calls[("flame_outer", "flame_inner")]["count"]
    true(inner and abs(inner - 2 * calls[("flame_outer",)]["count"]) <= 2, calls)
    # The compiler may have copied flame_run() into main().
    found = [line for path, line in allocations.items() if path[-2:] == ("flame_outer", "flame_inner")]
    true(found and all(line["total"] == 100 * line["count"] > 0 for line in found), allocations)


run_tests(globals())
