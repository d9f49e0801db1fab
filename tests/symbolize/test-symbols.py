#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Addresses in recordings become functions, files and lines, equal to those of nm and addr2line."""
import collections
import csv
import functools
import glob
import io
import shutil
import struct

from harness import *
from agent_thread import await_agent_thread

for tool in ("nm", "addr2line", "objcopy", "strip", "readelf"):
    if not shutil.which(tool):
        print(f"{tool} is missing (package binutils)")
        sys.exit(77)

work = tempfile.TemporaryDirectory()
ENV = environment(SIDE_RUNTIME=work.name + "/runtime", SIDE_CONTROL=None, SIDE_AGENT_SOCKET=None, SIDE_DEBUG_PATH=None,
                  DEBUGINFOD_URLS=None, LANG="C.UTF-8")


def path(*names):
    return os.path.join(work.name, *names)


def copy(name, source):
    """Copies a program or library of this test, which the test may change."""
    folder = path(name)
    os.makedirs(folder, exist_ok=True)
    return shutil.copy(os.environ[source], folder)


def record(name, *arguments, options=("--symbols", "--context", "ip")):
    done = side("record", "-q", *options, "-o", path(name), *arguments, env=ENV)
    equal(done.status, 0, done)
    return path(name)


def view(trace, *options, env=None):
    done = side("view", "--json", "-q", *options, trace, env=env or ENV)
    equal(done.status, 0, done)
    return [line for line in map(json.loads, done.out.splitlines()) if line["type"] == "event"]


@functools.lru_cache(None)
def functions(module):
    """Returns name -> address."""
    return {name: int(address, 16) for address, kind, name in
            (line.split(maxsplit=2) for line in output("nm", "-C", "--defined-only", module).splitlines())
            if kind in "tTwW"}


def check_symbol(symbol, module, debug=None, call=1):
    """Compares with nm and addr2line on the file that has the debug information."""
    debug = debug or module
    equal(symbol["module"], os.path.realpath(module), symbol)
    begin = functions(debug)[symbol["function"]]
    equal(symbol["offset"] - begin, symbol["function_offset"], symbol)
    place = output("addr2line", "-e", debug, hex(symbol["offset"] - call)).split(" ")[0].strip()
    file, line = place.rsplit(":", 1)
    equal((os.path.realpath(symbol["file"]), symbol["line"]), (os.path.realpath(file), int(line)), symbol)


def ip(event):
    return event["stream_context"]["ip"]


def of(events, name):
    found = [event for event in events if event["event"] == name]
    true(found, f"no {name}")
    return found


def check_program(program, events):
    here = of(events, "symbols:here")
    equal(sorted(event["fields"]["number"] for event in here), [10, 11, 20, 21, 30, 31])
    for event in here:
        check_symbol(ip(event)["symbol"], program)
        place = event["fields"]["place"]["symbol"]
        check_symbol(place, program, call=0)
        equal((place["function"], place["function_offset"]),
              ("other_known_function" if event["fields"]["number"] % 10 else "known_function", 0))
        true(isinstance(event["fields"]["plain"], int), "a pointer like others is a number")


def test_executables():
    """A position-independent executable, and one that is not."""
    for source in ("PROGRAM", "PROGRAM_FIXED"):
        program = copy("executables", source)
        kind = output("readelf", "-h", program)
        contains(kind, "DYN (" if source == "PROGRAM" else "EXEC (")
        check_program(program, view(record(source, program), "--symbols"))


def test_maps_do_without_records():
    program = copy("maps", "PROGRAM")
    events = view(record("maps-trace", program, options=("--context", "ip")), "--symbols")
    true(not [event for event in events if event["event"].startswith("side:")], "they were not requested")
    check_program(program, events)


def test_libraries():
    """Libraries one after the other, perhaps at the same address: each address belongs to the library
    that was loaded at its time.
    """
    program = copy("libraries", "PROGRAM")
    plain, cxx = copy("libraries", "LIBRARY"), copy("libraries", "LIBRARY_CXX")
    events = view(record("libraries-trace", program, plain, cxx, plain), "--symbols")
    here = of(events, "library:here")
    equal([event["fields"]["number"] for event in here], [1, 2, 1, 2])
    for event in here:
        check_symbol(ip(event)["symbol"], plain)
    names = [ip(event)["symbol"]["function"] for event in of(events, "cxx:here")]
    for event in of(events, "cxx:here"):
        check_symbol(ip(event)["symbol"], cxx)
    for name, kind in zip(names, ("int", "long")):
        contains(name, f"known::holder<{kind}>")


def test_order_of_records():
    program, plain = copy("order", "PROGRAM"), copy("order", "LIBRARY")
    events = view(record("order-trace", program, plain))
    parent = events[0]["vpid"]
    names = [event["event"] for event in events if event["vpid"] == parent]
    child = [event["event"] for event in events if event["vpid"] != parent]
    for process in (names, child):
        equal(process[0], "side:statedump_begin")
        end = process.index("side:statedump_end")
        equal(set(process[1:end]), {"side:library_load"})
        true(process[end + 1] in ("symbols:here", "side:library_load"), process)
    loads = [event for event in events if event["vpid"] == parent and event["event"] == "side:library_load"]
    (late,) = [event for event in loads if event["fields"]["path"] == plain]
    true(events.index(late) < events.index(of(events, "library:here")[0]), "before its first event")
    unloads = [event for event in events if event["event"] == "side:library_unload" and event["fields"]["path"] == plain]
    equal([event["fields"]["base"] for event in unloads if event["vpid"] == parent][:1], [late["fields"]["base"]])
    (own,) = [event for event in loads if event["fields"]["path"] == program]
    wanted = re.search(r"Build ID: ([0-9a-f]+)", output("readelf", "-n", plain)).group(1)
    equal(bytes(late["fields"]["build_id"]).hex(), wanted)
    equal((own["fields"]["debug_link"], own["fields"]["base"] % 4096), ("", 0))


def test_only_when_named():
    program = copy("named", "PROGRAM")
    for rule, wanted in (("*", False), ("*:*", False), ("side", True), ("side:library_load", True)):
        name = "named-" + re.sub(r"\W", "_", rule)
        events = view(record(name, program, options=("-e", rule, "-e", "symbols:here")))
        found = {event["event"] for event in events}
        equal("side:library_load" in found, wanted, f"{rule}: {found}")


def strip(library, folder, link=True):
    debug = os.path.join(folder, os.path.basename(library) + ".debug")
    os.makedirs(folder, exist_ok=True)
    output("objcopy", "--only-keep-debug", library, debug)
    output("strip", "-g", "-x", library)
    output("strip", library)
    if link:
        output("objcopy", "--add-gnu-debuglink=" + debug, library)
    return debug


def check_stripped(trace, library, debug, env=None):
    for event in of(view(trace, "--symbols", env=env), "library:here"):
        check_symbol(ip(event)["symbol"], library, debug)


def test_debug_files():
    """Beside the library, in .debug, by link and by build id in a folder of the user."""
    program = copy("debug", "PROGRAM")
    for name, folder in (("beside", "."), ("below", ".debug")):
        library = copy(name, "LIBRARY")
        debug = strip(library, os.path.join(os.path.dirname(library), folder))
        check_stripped(record(name + "-trace", program, library), library, debug)
    library = copy("by-id", "LIBRARY")
    debug = strip(library, path("elsewhere"), link=False)
    trace = record("by-id-trace", program, library)
    event = of(view(trace, "--symbols"), "library:here")[0]
    true("file" not in ip(event)["symbol"] and ip(event)["symbol"].get("function") != "inner_function", event)
    digits = re.search(r"Build ID: ([0-9a-f]+)", output("readelf", "-n", library)).group(1)
    os.makedirs(path("store", ".build-id", digits[:2]))
    os.symlink(debug, path("store", ".build-id", digits[:2], digits[2:] + ".debug"))
    check_stripped(trace, library, debug, env={**ENV, "SIDE_DEBUG_PATH": "/nowhere:" + path("store")})
    # Then the library itself is not needed.
    os.rename(library, library + ".away")
    env = {**ENV, "SIDE_DEBUG_PATH": path("store")}
    symbol = ip(of(view(trace, "--symbols", env=env), "library:here")[0])["symbol"]
    equal(symbol["offset"] - functions(debug)[symbol["function"]], symbol["function_offset"], symbol)


def test_replaced():
    program, library = copy("replaced", "PROGRAM"), copy("replaced", "LIBRARY")
    trace = record("replaced-trace", program, library)
    os.remove(library)
    shutil.copy(os.environ["LIBRARY_CXX"], library)
    done = side("view", "--json", "--symbols", trace, env=ENV)
    equal(done.status, 0, done)
    equal(done.err.count("replaced after the recording"), 1, done.err)
    contains(done.err, library)
    for line in map(json.loads, done.out.splitlines()):
        if line.get("event") == "library:here":
            equal(sorted(ip(line)["symbol"]), ["module", "offset"])


def test_text_and_report():
    program = copy("text", "PROGRAM")
    trace = record("text-trace", program)
    line = next(text for text in side("view", "-q", "--symbols", trace, env=ENV).out.splitlines() if "symbols:here" in text)
    true(re.search(r"place = known_function\+0x0 \(.*program\.c:[0-9]+\)", line), line)
    true(re.search(r"plain = 0x[0-9a-f]+ ", line), line)
    plain = side("view", "-q", trace, env=ENV).out
    true("program.c" not in plain and "known_function" not in plain, plain)
    done = side("report", "-q", "--json", "--callers", "100", trace, env=ENV)
    callers = [line for line in map(json.loads, done.out.splitlines()) if line["type"] == "caller"]
    here = [caller for caller in callers if caller.get("module") == program]
    equal(sum(caller["count"] for caller in here), 6)
    for caller in here:
        check_symbol(caller, program)
        contains(side("report", "-q", "--callers", "100", trace, env=ENV).out, f"{caller['file']}:{caller['line']} ")


def test_threads_report_the_same():
    program = copy("threads", "PROGRAM")
    trace = record("threads-trace", program)
    outputs = {side("view", "-q", "--symbols", "--threads", count, trace, env=ENV).out for count in "124"}
    equal(len(outputs), 1)


def test_damage():
    """Damaged maps and files cause missing symbols, and nothing else."""
    program, library = copy("damage", "PROGRAM"), copy("damage", "LIBRARY")
    trace = record("damage-trace", program, library)
    for process in os.listdir(trace):
        with open(os.path.join(trace, process, ".maps"), "w", encoding="utf-8") as maps:
            maps.write("0-ffffffffffffffff r-xp ffffffffffffffff 00:00 1 /dev/zero\nx\n-\n"
                       "ffffffffffffffff-0 r-xp 0 0:0 99999999999999999999 /\n" + "7" * 100000)
    os.truncate(library, os.path.getsize(library) // 2)
    with open(program, "r+b") as file:
        file.seek(64)
        file.write(b"\xff" * 4096)
    done = side("view", "--json", "--symbols", trace, env=ENV)
    equal(done.status, 0, done)
    equal(len([line for line in done.out.splitlines() if '"symbols:here"' in line]), 6)
    equal(side("report", "--callers", "10", trace, env=ENV).status, 0)


def test_sessions():
    """A session with --symbols: the list when a program joins, and when a state dump is requested."""
    program = daemon = None
    try:
        for command in (["create", "s", "--symbols", "-o", path("session")], ["enable-event", "*"], ["start"]):
            done = side(*command, env=ENV)
            equal(done.status, 0, done)
        daemon = json.loads(side("daemon", "--no-daemon", "--json", env=ENV).out)["pid"]
        program = subprocess.Popen([os.environ["DAEMON_PROGRAM"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   bufsize=1, env=ENV)
        equal(program.stdout.readline(), "ready\n")
        for _ in range(2):
            program.stdin.write("fire 1\n")
            program.stdin.flush()
            program.stdout.readline()
            await_agent_thread(program.pid)
            equal(side("statedump", env=ENV).status, 0)
        program.stdin.close()
        equal(program.wait(timeout=60), 0)
        equal(side("destroy", "s", env=ENV).status, 0)
    finally:
        if program:
            program.stdout.close()
        if daemon:
            os.kill(daemon, 15)
    events = view(path("session"))
    lists, inside = [], None
    for event in events:
        libraries = event["fields"].get("name") == "side:libraries"
        if libraries and event["event"] == "side:statedump_begin":
            inside = []
        elif libraries:
            lists.append(inside)
            inside = None
        elif event["event"] == "side:library_load":
            inside.append((event["fields"]["path"], event["fields"]["base"]))
    equal(len(lists), 3, "at the beginning, and twice when it was asked for")
    true(os.path.realpath(os.environ["DAEMON_PROGRAM"]) in dict(lists[0]), lists[0])
    equal([sorted(one) for one in lists], [sorted(lists[0])] * 3)


def test_top():
    """`side top` has the same callers as `side view`, with their counts, also if the program starts later."""
    own = {**ENV, "SIDE_RUNTIME": path("top-runtime")}
    program = daemon = top = text = None
    try:
        for command in (["create", "t", "--symbols", "-o", path("top")], ["enable-event", "*"], ["add-context", "ip"], ["start"]):
            done = side(*command, env=own)
            equal(done.status, 0, done)
        daemon = json.loads(side("daemon", "--no-daemon", "--json", env=own).out)["pid"]
        top = subprocess.Popen([SIDE, "top", "--json", "--callers", "-i", "200ms", "-n", "1000"], stdout=subprocess.PIPE, text=True, env=own)
        text = subprocess.Popen([SIDE, "top", "--callers=3", "-i", "200ms", "-n", "1000"], stdout=subprocess.PIPE, text=True, env=own)
        program = subprocess.Popen([os.environ["DAEMON_PROGRAM"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   bufsize=1, env=own)
        equal(program.stdout.readline(), "ready\n")
        program.stdin.write("fire 1000\n")
        program.stdin.flush()
        program.stdout.readline()
        callers = {}
        while [one["count"] for one in callers.values() if "function" in one].count(1000) < 2:
            line = json.loads(top.stdout.readline())
            if line["type"] == "caller":
                callers[line["address"]] = line
        line = "begin"
        while line and not re.search(r"^ +[0-9,]+ +1,000 side_emit_\S*\+0x\w+ \(\S*program\.c:\d+\)$", line):
            line = text.stdout.readline()
        true(line, "the callers are not in the text")
        top.terminate()
        text.terminate()
        equal((top.wait(timeout=60), text.wait(timeout=60)), (0, 0))
        program.stdin.close()
        equal(program.wait(timeout=60), 0)
        equal(side("destroy", "t", env=own).status, 0)
    finally:
        for process in (program, top, text):
            if process:
                process.stdout.close()
        if daemon:
            os.kill(daemon, 15)
    wanted = collections.Counter(event["stream_context"]["ip"] for event in view(path("top")))
    # The test reads lines until the two callers of the program are complete.
    equal({address: caller["count"] for address, caller in callers.items()}, {address: wanted[address] for address in callers})
    symbols = {ip(event)["value"]: ip(event).get("symbol", {}) for event in view(path("top"), "--symbols")}
    for address, caller in callers.items():
        equal({name: caller.get(name) for name in symbols[address]}, symbols[address])


def probes(name, *options):
    """A recording of the calls of reached(): often() makes three, once() makes one."""
    done = side("trace", "-q", "-o", path(name), "-c", os.environ["REACHED"], "--function", "reached", *options, env=ENV)
    equal(done.status, 0, done)
    return path(name)


def report(trace, *options):
    done = side("report", "--json", *options, trace, env=ENV)
    equal(done.status, 0, done)
    return list(map(json.loads, done.out.splitlines())), done.err


def of_type(lines, name):
    return [line for line in lines if line["type"] == name]


BACKTRACE = ("--context", "backtrace")
CALLER = ("--arg", "x64:caller:%rsp+0")
CALLERS = {"often": 3, "once": 1}


def test_location_of_a_probe_is_exact():
    """An address that is one byte lower is in the function before."""
    program = os.environ["REACHED"]
    trace = probes("exact", "--context", "ip")
    for event in view(trace, "--symbols"):
        check_symbol(ip(event)["symbol"], program, call=0)
        equal((ip(event)["symbol"]["function"], ip(event)["symbol"]["function_offset"]), ("reached", 0))
    lines, notes = report(trace, "--callers")
    (caller,) = of_type(lines, "caller")
    check_symbol(caller, program, call=0)
    equal((caller["function"], caller["count"]), ("reached", 4))
    contains(notes, "locations of probes, not their callers")
    (row,) = of_type(report(trace, "--by", "$ctx.ip")[0], "count")
    check_symbol(row["by_symbol"], program, call=0)


def test_backtraces_and_callers_of_probes():
    program = os.environ["REACHED"]
    trace = probes("callers", *CALLER, *BACKTRACE, "--context", "ip")
    plain = view(trace)
    shown = view(trace, "--symbols")
    equal(len(shown), 4)
    for number, event in zip(plain, shown):
        fields = event["fields"]
        equal([frame["value"] for frame in fields["backtrace"]], number["fields"]["backtrace"])
        equal(fields["caller"], fields["backtrace"][0])
        own = [frame["symbol"] for frame in fields["backtrace"] if frame.get("symbol", {}).get("module") == program]
        for symbol in own:
            if symbol["function"] != "_start":  # It is not compiled here: addr2line has no line.
                check_symbol(symbol, program)
        equal([symbol["function"] for symbol in own[1:]], ["main", "_start"])
    names = [event["fields"]["caller"]["symbol"]["function"] for event in shown]
    equal(names, ["often", "often", "often", "once"])
    text = side("view", "--symbols", "-q", trace, env=ENV).out
    equal(len(re.findall(r"backtrace = \[ (?:often|once)\+0x\w+ \([^)]*reached\.c:\d+\), main\+0x", text)), 4, text)


def test_report_of_callers_of_probes():
    """By the field, and without one by the backtrace; the addresses are those that babeltrace2 prints."""
    program = os.environ["REACHED"]
    for name, options in (("field", CALLER), ("frame", BACKTRACE), ("frame-ip", (*BACKTRACE, "--context", "ip"))):
        trace = probes("report-" + name, *options)
        lines, notes = report(trace, "--callers")
        equal(notes, "")
        callers = of_type(lines, "caller")
        equal({caller["function"]: caller["count"] for caller in callers}, CALLERS)
        for caller in callers:
            check_symbol(caller, program)
        if shutil.which("babeltrace2"):
            texts = output("babeltrace2", trace).upper()
            for caller in callers:
                equal(len(re.findall(rf"0X{caller['address']:X}\b", texts)), caller["count"], texts)
        by = "caller" if name == "field" else "backtrace[0]"
        rows = of_type(report(trace, "--by", by)[0], "count")
        equal({row["by_symbol"]["function"]: row["count"] for row in rows}, CALLERS)
        text = side("report", "-q", "--by", by, trace, env=ENV).out
        for row in rows:
            symbol = row["by_symbol"]
            place = f"{symbol['file']}:{symbol['line']}" if by == "caller" else program
            contains(text, f" {symbol['function']}+0x{symbol['function_offset']:x} ({place})\n")


def test_report_by_stack():
    """The stacks are those that view prints for the context backtrace; without one, --by caller uses its first address."""
    program = os.environ["REACHED"]
    trace = probes("by-stack", *BACKTRACE)
    rows = of_type(report(trace, "--by", "stack")[0], "count")
    # The three calls are on three lines.
    places = collections.Counter()
    for event in view(trace, "--symbols"):
        places[tuple(frame["symbol"].get("line") for frame in event["fields"]["backtrace"])] += 1
    equal(collections.Counter({tuple(frame.get("line") for frame in row["by_stack"]): row["count"] for row in rows}), places)
    for row in rows:
        own = [frame for frame in row["by_stack"] if frame["module"] == program]
        for frame in own[:2]:
            check_symbol(frame, program)
        equal([frame["function"] for frame in own[1:]], ["main", "_start"])
        true(re.fullmatch(r"_start;.*;main;(often|once)", row["by"]), row["by"])
        contains(side("report", "-q", "--by", "stack", trace, env=ENV).out, f" {row['by']}\n")
    rows = of_type(report(trace, "--by", "caller")[0], "count")
    equal({row["by_symbol"]["function"]: row["count"] for row in rows}, CALLERS)
    lines, notes = report(probes("by-nothing"), "--by", "stack")
    equal([row["by"] for row in of_type(lines, "count")], [None])
    contains(notes, "no event has its caller")


def address_text(value):
    """The text of an address in an export, computed from the JSON of `side view --symbols`."""
    if not isinstance(value, dict):
        return value
    symbol = value.get("symbol")
    if not symbol:
        return hex(value["value"])
    text = f"{symbol['function']}+{hex(symbol['function_offset'])}" if "function" in symbol \
        else f"{symbol['module']}+{hex(symbol['offset'])}"
    if "file" in symbol:
        text += f" ({symbol['file']}:{symbol['line']})"
    if "inlined" in symbol:
        text += f" [inlined: {', '.join(one['function'] for one in symbol['inlined'])}]"
    return text


def as_texts(value, convert=address_text, name=""):
    """Converts the addresses in a value. `plain` and `base` are pointers without symbols."""
    if isinstance(value, dict) and "value" in value:
        return convert(value)
    if isinstance(value, dict):
        return {name: as_texts(inner, convert, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [as_texts(inner, convert) for inner in value]
    return hex(value) if name in ("plain", "base") else value


def as_numbers(value):
    return as_texts(value, lambda address: hex(address["value"]))


def exported(trace, form, *options):
    done = side("export", "-q", "--format", form, *options, trace, env=ENV)
    equal((done.status, done.err), (0, ""), done)
    return done.out


def rows_of(text):
    rows = list(csv.reader(io.StringIO(text, newline="")))
    return [dict(zip(rows[0], row)) for row in rows[1:]]


def check_exports(trace, *options):
    """Chrome, CSV in one table, and CSV in a table for each event."""
    convert = as_texts if options else as_numbers
    wanted = [{"context": convert({**event.get("stream_context", {}), **event.get("context", {})}),
               "fields": convert(event["fields"]), "event": event["event"]} for event in view(trace, "--symbols")]
    found = [event["args"] for event in json.loads(exported(trace, "chrome", *options))["traceEvents"] if event["ph"] == "i"]
    equal([({**args.get("stream_context", {}), **args.get("context", {})}, args["fields"]) for args in found],
          [(event["context"], event["fields"]) for event in wanted])
    found = rows_of(exported(trace, "csv", *options))
    equal([(json.loads(row["context"] or "{}"), json.loads(row["fields"])) for row in found],
          [(event["context"], event["fields"]) for event in wanted])
    folder = tempfile.mkdtemp(dir=work.name)
    exported(trace, "csv", *options, "-o", folder)
    for file in os.listdir(folder):
        with open(os.path.join(folder, file), encoding="utf-8", newline="") as opened:
            rows = rows_of(opened.read())
        events = [event for event in wanted if event["event"] == file.removesuffix(".csv")]
        equal(len(rows), len(events), file)
        for row, event in zip(rows, events):
            for name, value in [("ctx." + name, value) for name, value in event["context"].items()] + list(event["fields"].items()):
                if isinstance(value, (str, list)):
                    equal(json.loads(row[name]) if isinstance(value, list) else row[name], value, name)
    return wanted


def texts_of(value):
    if isinstance(value, (dict, list)):
        return {text for inner in (value.values() if isinstance(value, dict) else value) for text in texts_of(inner)}
    return {value} if isinstance(value, str) else set()


def test_exports():
    """The addresses of exports are those of view, as symbols or in hexadecimal."""
    program, cxx = copy("exports", "PROGRAM"), copy("exports", "LIBRARY_CXX")
    traces = (probes("exported-probes", *CALLER, *BACKTRACE, "--context", "ip"), record("exported", program, cxx))
    for trace in traces:
        check_exports(trace)
        texts = set()
        for event in check_exports(trace, "--symbols"):
            texts |= texts_of(event["fields"]) | texts_of(event["context"])
        wanted = ("often+", "once+", "main+", "reached+0x0") if trace == traces[0] else ("known::holder<int>", "known_function+0x0")
        for name in wanted:
            true(any(text.startswith(name) or "known::" in name and name in text for text in texts), f"{name}: {texts}")
        # Perfetto's protocol buffers have the same texts, and no other form of the addresses.
        data = side("export", "-q", "--format", "perfetto", "-o", trace + ".perfetto", "--symbols", trace, env=ENV)
        equal((data.status, data.err), (0, ""), data)
        with open(trace + ".perfetto", "rb") as file:
            data = file.read()
        for text in texts:
            true(text.encode() in data, text)
        equal(exported(trace, "jsonl", "--symbols"), side("view", "--json", "-q", "--symbols", trace, env=ENV).out)
    for options, message in ((("--format", "ctf2", "--symbols", "-o", path("never")), "cannot use `--symbols`"),
                             (("--format", "csv", "--debuginfod"), "`--debuginfod` has no effect without `--symbols`")):
        done = side("export", *options, traces[0], env=ENV)
        equal(done.status, 2, done)
        contains(done.err, message)


def numbers_of(value):
    """All integers in JSON that are as large as addresses of a process."""
    if isinstance(value, (dict, list)):
        return {number for inner in (value.values() if isinstance(value, dict) else value) for number in numbers_of(inner)}
    return {value} if isinstance(value, int) and 2**32 < value < 2**48 else set()


def test_addresses_are_not_decimal():
    """Text and exports print each address as a symbol or in hexadecimal; JSON of programs has numbers."""
    trace = path("decimal")
    done = side("record", "-q", "-w", "libc", "--context", "ip", "--context", "backtrace", "-o", trace, "ls", "/", env=ENV)
    equal(done.status, 0, done)
    addresses = set()
    for event in view(trace):
        for scope in ("stream_context", "context", "fields"):
            addresses |= numbers_of(event.get(scope))
    true(len(addresses) > 50, addresses)
    malloc = ("-e", "libc:malloc")
    pair = ("report", "--pair", "libc:malloc", "libc:free", "--slowest", "5")
    printed = 0
    for command in (("view",), ("view", "--symbols"), ("view", "--filter", "caller != 0"), ("report", "--callers"),
                    *(("report", "--by", by, *malloc) for by in ("caller", "stack", "$ctx.ip", "result")),
                    ("report", "--histogram", "result", *malloc), (*pair, "--around", "2"), (*pair, "--key", "result"),
                    *(("export", "--format", form, *options) for form in ("csv", "chrome", "perfetto")
                      for options in ((), ("--symbols",))),
                    ("export", "--format", "folded"), ("leaks",), ("flame",), ("diff", trace)):
        done = side(*command, trace, text=False, env=ENV)
        equal(done.status, 0, f"{command} {done.err}")
        text = done.out.decode("utf-8", "replace")
        found = {int(digits) for digits in re.findall(r"(?<![0-9a-fA-Fx])[0-9]{10,15}(?![0-9a-fA-F])", text)}
        equal(found & addresses, set(), str(command))
        printed += any(hex(address) in text for address in addresses)
    true(printed > 8, "most of them print addresses")


def test_inlined_functions():
    """The caller of an allocation in an inlined function, in each form of output."""
    source, program = path("copied.c"), path("copied")
    with open(source, "w", encoding="utf-8") as file:
        file.write('''#include <stdlib.h>
#define COPIED static inline __attribute__((always_inline))
COPIED void *inner(size_t size) {
    return malloc(size);
}
COPIED void *middle(size_t size) {
    return inner(2 * size);
}
__attribute__((noinline)) void *outer(size_t size) {
    void *made = middle(size);
    __asm__ volatile("" : : "r"(made) : "memory");
    return made;
}
int main(void) {
    for (int i = 1; i < 4; i++)
        free(outer((size_t)i));
    return 0;
}
''')
    output("cc", "-g", "-O1", "-o", program, source)
    done = side("record", "-q", "-w", "libc", "-e", "libc:malloc", "-o", path("copied-trace"), program, env=ENV)
    equal(done.status, 0, done)
    inlined = [{"function": "inner", "file": source, "line": 7}, {"function": "middle", "file": source, "line": 10}]
    events = view(path("copied-trace"), "--symbols")
    equal(len(events), 3)
    for event in events:
        symbol = event["fields"]["caller"]["symbol"]
        equal((symbol["function"], symbol["file"], symbol["line"], symbol["inlined"]), ("outer", source, 4, inlined))
        frames = output("addr2line", "-i", "-e", program, hex(symbol["offset"] - 1)).splitlines()
        equal([re.sub(r" .*", "", frame) for frame in frames], [f"{source}:{line}" for line in (4, 7, 10)])
    text = side("view", "-q", "--symbols", path("copied-trace"), env=ENV).out
    equal(len(re.findall(rf"caller = outer\+0x[0-9a-f]+ \({source}:4\) \[inlined: inner, middle\] ", text)), 3, text)
    (caller,) = of_type(report(path("copied-trace"), "--callers")[0], "caller")
    equal((caller["function"], caller["line"], caller["inlined"]), ("outer", 4, inlined))
    contains(side("report", "-q", "--callers", "1", path("copied-trace"), env=ENV).out, f" ({program}) [inlined: inner, middle] ".lstrip())
    (row,) = of_type(report(path("copied-trace"), "--by", "caller")[0], "count")
    equal((row["by_symbol"]["function"], row["by_symbol"]["inlined"], row["count"]), ("outer", inlined, 3))
    contains(side("report", "-q", "--by", "caller", path("copied-trace"), env=ENV).out, f" inner ({source}:4) [inlined]\n")
    (row,) = of_type(report(path("copied-trace"), "--by", "stack")[0], "count")
    equal((row["by"], [frame["line"] for frame in row["by_stack"]]), ("outer;middle;inner", [4, 7, 10]))


def generated(how):
    """Returns the events of the generated functions, and the lines in `.maps` that name them."""
    trace = path("generated-" + how)
    done = side("record", "-q", "-w", "libc", "-e", "libc:malloc", "--filter", "size == 4711 || size == 4712", "-o", trace,
                os.environ["GENERATED"], how, env=ENV)
    equal(done.status, 0, done)
    for name in (done.out.strip(), done.out.strip() + ".other"):
        if os.path.lexists(name):
            os.remove(name)
    (maps,) = glob.glob(os.path.join(trace, "*", ".maps"))
    with open(maps, encoding="utf-8") as file:
        lines = [line for line in file.read().splitlines() if " jit " in line]
    events = view(trace, "--symbols")
    equal([event["fields"]["size"] for event in events], [4711, 4712])
    return trace, events, lines


def test_generated_functions():
    """The names in /tmp/perf-PID.map; the last one of an address counts."""
    trace, events, lines = generated("file")
    names = ["first function:*work /src/a.js:12", "second"]
    equal([line.split(" jit ")[1] for line in lines], ["first version", *names])
    begin = int(lines[0].split("-")[0], 16)
    for event, name, start in zip(events, names, (begin, begin + 64)):
        caller = event["fields"]["caller"]
        equal(caller["symbol"], {"module": "[jit]", "offset": caller["value"], "function": name, "function_offset": 21})
        equal(caller["value"], start + 21)
    rows = of_type(report(trace, "--by", "stack")[0], "count")
    equal(sorted(row["by"] for row in rows), sorted(names))
    contains(side("view", "-q", "--symbols", trace, env=ENV).out, "caller = second+0x15 ")


def test_list_of_generated_functions_is_not_trusted():
    """A link, a pipe, a file from before the process, and another user's file are not read."""
    for how in ("link", "pipe", "old", *(["foreign"] if os.getuid() == 0 else [])):
        _, events, lines = generated(how)
        equal(lines, [])
        for event in events:
            true("symbol" not in event["fields"]["caller"], event)


def test_limits_of_generated_functions():
    _, _, lines = generated("large")
    equal(len(lines), 3)
    _, _, lines = generated("too-large")
    equal(lines, [])
    _, _, lines = generated("lengths")
    equal([len(line.split(" jit ")[1]) for line in lines[4:]], [1023 - len("100 1 ") - 1])
    trace, _, lines = generated("many")
    (maps,) = glob.glob(os.path.join(trace, "*", ".maps"))
    size, longest = os.path.getsize(maps), max(len(line) + 1 for line in lines)
    true(3 * 1024 * 1024 - longest < size <= 3 * 1024 * 1024, size)


# node compiles each function at its first call. Otherwise another thread does it, which may be too late for a short program.
NODE_COMPILES = "--always-sparkplug"


def test_generated_functions_of_node():
    node = shutil.which("node")
    if not node:
        skip("node is not installed")
    done = side("record", "-q", "-w", "libc", "-e", "libc:malloc", "-o", path("node-trace"), node, NODE_COMPILES, "--perf-basic-prof", "-e",
                "function add(a, b) { return a + b } let sum = 0; for (let i = 0; i < 1e5; i++) sum = add(sum, i); "
                "console.log(process.pid)", env=ENV)
    equal(done.status, 0, done)
    name = f"/tmp/perf-{done.out.strip()}.map"
    with open(name, encoding="utf-8") as file:
        written = file.read().splitlines()
    os.remove(name)
    lines = []
    for maps in glob.glob(os.path.join(path("node-trace"), "*", ".maps")):
        with open(maps, encoding="utf-8") as file:
            lines += [line.split(" ", 2) for line in file.read().splitlines() if " jit " in line]
    expected = set()
    for begin, size, function in (line.split(" ", 2) for line in written):
        expected.add(f"{int(begin, 16):x}-{int(begin, 16) + int(size, 16):x} {function}")
    equal({f"{area} {function}" for area, _, function in lines}, expected)
    true(any("add" in function for function in expected), "node names its functions")


def dumped(how, folder=None):
    """Returns the trace, the events of the functions in a jitdump file, and the lines in `.maps` that name them."""
    trace, folder = path("dumped-" + how), folder or path("dumps-" + how)
    os.makedirs(folder, exist_ok=True)
    done = subprocess.run([SIDE, "record", "-q", "-w", "libc", "-e", "libc:malloc", "--filter", "size >= 4711 && size <= 4713",
                           "-o", trace, os.environ["DUMPED"], how, folder], env=ENV, cwd=folder, capture_output=True, text=True,
                          check=False, timeout=60)
    equal(done.returncode, 0, done)
    events = view(trace, "--symbols")
    equal([event["fields"]["size"] for event in events], [4711, 4712, 4713])
    return trace, events, generated_lines(trace)


def generated_lines(trace):
    (maps,) = glob.glob(os.path.join(trace, "*", ".maps"))
    with open(maps, encoding="utf-8") as file:
        return [line for line in file.read().splitlines() if re.match(r"\w+-\w+ (jit|line)", line)]


ONE = ("one:first function /src/one.js", "/src/one.js", 11)
TWO = ("two", "/src/two.js", 21)


def check_dumped(callers):
    """The function of each call is the one that was at the address at that time, also after a move."""
    begin = callers[0]["value"] - 21
    equal([caller["value"] for caller in callers], [begin + 21, begin + 21, begin + 128 + 21])
    for caller, (name, file, line) in zip(callers, (ONE, TWO, TWO)):
        equal(caller["symbol"], {"module": "[jit]", "offset": caller["value"], "function": name, "function_offset": 21,
                                 "file": file, "line": line})


def test_functions_of_jitdump():
    """Symbols have names, files and lines of the time of the event; the file is in the program's directory, or in /tmp."""
    for how, folder in (("file", None), ("v8", None), ("short", None), ("hostile", None), ("lengths", None), ("file", "/tmp")):
        trace, events, lines = dumped(how, folder)
        check_dumped([event["fields"]["caller"] for event in events])
        if how == "lengths":
            equal([len(line.split(" ", 2)[2]) for line in lines if "nnn" in line], [899, 900])
        else:
            equal([line.split(" ", 2)[2] for line in lines],
                  [ONE[0], "two", "two", "10 /src/one.js", "11 /src/one.js", *["20 /src/two.js", "21 /src/two.js"] * 2])
        rows = of_type(report(trace, "--by", "stack")[0], "count")
        # A stack of the same addresses has the names of the time at which it was first seen.
        equal(sorted((row["by"], row["count"]) for row in rows), [(ONE[0], 2), ("two", 1)])
        contains(side("view", "-q", "--symbols", trace, env=ENV).out, "caller = two+0x15 (/src/two.js:21) ")
        contains(exported(trace, "csv", "--symbols"), '""caller"":""one:first function /src/one.js+0x15 (/src/one.js:11)""')
        for name in glob.glob("/tmp/jit-*.dump") if folder else []:
            if os.stat(name).st_uid == os.getuid() and os.path.getsize(name) < 2000:
                os.remove(name)
        shutil.rmtree(trace)


def test_largest_jitdump():
    """A file that is too large is not read. The file is sparse after its records."""
    for how, wanted in (("large", 9), ("too-large", 0)):
        _, _, lines = dumped(how)
        equal(len(lines), wanted, how)


def test_mapped_jitdump():
    """The program maps the file, which is in another directory, before it is traced."""
    folder, trace = path("mapped"), path("mapped-trace")
    os.makedirs(folder)
    program = subprocess.Popen([os.environ["DUMPED"], "map", folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               cwd="/", env=ENV)
    equal(program.stdout.readline(), "ready\n")
    tracer = subprocess.Popen([SIDE, "trace", "-o", trace, "-p", str(program.pid), "--function", "dumped_called",
                               "--arg", "x64:caller:%rsp+0"], env=ENV, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    line = tracer.stderr.readline()
    while line and "is set in process" not in line:
        line = tracer.stderr.readline()
    program.stdin.write("\n")
    program.stdin.close()
    equal(program.wait(timeout=60), 0)
    program.stdout.close()
    tracer.communicate(timeout=60)
    equal(tracer.returncode, 0)
    check_dumped([event["fields"]["caller"] for event in view(trace, "--symbols")])


def test_jitdump_is_not_trusted():
    """A link, a pipe, another user's file, a file from before the process, of another machine or clock is not read."""
    for how in ("link", "old", "magic", "clock", *(["foreign"] if os.getuid() == 0 else [])):
        _, events, lines = dumped(how)
        equal(lines, [], how)
        for event in events:
            true("symbol" not in event["fields"]["caller"], event)


def jitdump_records(name):
    with open(name, "rb") as file:
        data = file.read()
    at = 40
    while at + 16 <= len(data):
        kind, size, timestamp = struct.unpack_from("<IIQ", data, at)
        yield kind, timestamp, data[at + 16:at + size]
        at += size


def test_jitdump_of_node():
    """The functions of node's own file, with the same distances in time, and lines of its scripts."""
    node = shutil.which("node")
    if not node:
        skip("node is not installed")
    folder, trace = path("node-dump"), path("node-dump-trace")
    os.makedirs(folder)
    done = subprocess.run([SIDE, "record", "-q", "-w", "libc", "-e", "libc:malloc", "-o", trace, node, NODE_COMPILES, "--perf-prof", "-e",
                           "function add(a, b) { return a + b } let sum = 0; for (let i = 0; i < 1e5; i++) sum = add(sum, i);"],
                          env=ENV, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    equal(done.returncode, 0, done)
    expected, files = {}, set()
    (dump,) = glob.glob(os.path.join(folder, "jit-*.dump"))
    for kind, timestamp, data in jitdump_records(dump):
        if kind == 0:
            begin, size = struct.unpack_from("<QQ", data, 16)
            expected[f"{begin:x}-{begin + size:x}", data[40:data.index(b"\0", 40)].decode()] = timestamp
        elif kind == 2:
            files.add(data[32:data.index(b"\0", 32)])
    lines = [line.split(" ", 2) for line in generated_lines(trace)]
    found = {(area, name): int(kind[4:]) for area, kind, name in lines if kind.startswith("jit@")}
    equal(sorted(found), sorted(expected))
    equal(len({found[one] - expected[one] for one in found}), 1)
    named = {rest.split(" ", 1)[1] for _, kind, rest in lines if kind.startswith("line@")}
    true(named and named <= {file.decode("utf-8", "replace") for file in files}, f"{named} {files}")
    true(any("add" in name for _, name in found), "node names its functions")


def test_hint_for_callers_works():
    """The hint is followed: the second recording has callers."""
    lines, notes = report(probes("nothing"), "--callers")
    equal(of_type(lines, "caller"), [])
    hint = re.search(r"`side trace (--context \w+)`", notes)
    true(hint, notes)
    lines, notes = report(probes("as-hinted", *hint.group(1).split()), "--callers")
    equal({caller["function"]: caller["count"] for caller in of_type(lines, "caller")}, CALLERS)
    equal(notes, "")


def test_number_of_callers():
    """10 without a number, which is the next argument or follows `=`; an argument that is not a number is the trace."""
    trace = probes("number", *BACKTRACE)
    for options, wanted in ((["--callers", trace], 2), (["--callers", "1", trace], 1), (["--callers=1", trace], 1),
                            ([trace, "--callers"], 2), ([trace, "--callers", "-q"], 2)):
        done = side("report", "--json", *options, env=ENV)
        equal((done.status, done.out.count('"type":"caller"')), (0, wanted), done)


run_tests(globals())
