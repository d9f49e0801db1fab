#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`side export` to tables, JSON lines and CTF: other readers find the same content in the output.

The expected content is the output of `side view --json` (which tests/ctf and tests/roundtrip
compare with Babeltrace), and of Babeltrace itself for CTF.
"""
import csv
import filecmp
import io
import shutil
import stat

from harness import *
import synthetic

SAMPLE, CHANNELS = os.environ["CTF_SAMPLE"], os.environ["CTF_CHANNELS"]
CTF2_READER = os.environ["CTF2_READER"]
BABELTRACE = shutil.which("babeltrace2")
work = tempfile.TemporaryDirectory()


def path(*names):
    return os.path.join(work.name, *names)


def output_in_utc(*command):
    return output(*command, env=environment(TZ="UTC"))


# Every SIDE type; channels with contexts of all kinds; a foreign trace with losses.
output_in_utc(SAMPLE, "write", path("sample"))
output_in_utc(CHANNELS, path("channels"), "1", "0")
output_in_utc(CHANNELS, path("packed"), "2", "3")
synthetic.make(path("synthetic"))
TRACES = ["sample", "channels", "packed", "synthetic"]


def viewed(trace, *args):
    result = side("view", "--json", "-q", *args, trace if os.path.isabs(trace) else path(trace))
    equal((result.status, result.err), (0, ""), trace)
    return result.out


def events(trace, *args):
    return [line for line in json_lines(viewed(trace, *args)) if line["type"] == "event"]


def export(trace, to, *args, status=0, err=""):
    result = side("export", path(trace), "--to", to, *args, text=False)
    equal((result.status, result.err.decode()), (status, err), f"{trace} {to} {args}")
    return result.out


# ---- JSON lines ----

def test_jsonl():
    for trace in TRACES:
        equal(export(trace, "jsonl", "-q").decode(), viewed(trace), trace)
    out = path("lines.jsonl")
    equal(export("synthetic", "jsonl", "-q", "-o", out, "-e", "db", "--filter", "id > 100"), b"")
    with open(out, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    wanted = [line for line in json_lines(viewed("synthetic"))
              if line["type"] != "event" or line["event"].startswith("db:") and line["fields"]["id"] > 100]
    equal(lines, wanted)
    true(len(lines) > 1000, len(lines))
    equal(os.listdir(work.name).count("lines.jsonl.partial"), 0)


# ---- tables ----

# The names of pointers in "sample", also in dynamic values, and the context `ip`.
ADDRESSES = {"ip", "p", "x"}


def table(data):
    """Reads RFC 4180: each line ends with CR LF; there is a title line; all lines have the same number of cells."""
    text = data.decode("utf-8")
    true(text.endswith("\r\n"), text[-20:])
    equal(text.replace("\r\n", "").count("\r"), 0)
    rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    equal({len(row) for row in rows}, {len(rows[0])})
    return [dict(zip(rows[0], row)) for row in rows[1:]]


def test_csv_of_all_events():
    addresses = set()
    for trace in TRACES:
        wanted = events(trace)
        rows = table(export(trace, "csv", "-q"))
        equal(len(rows), len(wanted), trace)
        for row, event in zip(rows, wanted):
            equal((int(row["ns"]), row["time"], row["event"]), (event["ns"], event["time"], event["event"]))
            equal(row["cpu"], str(event.get("cpu", "")))
            equal(row["loglevel"], str(event.get("loglevel", event.get("loglevel_value", ""))))
            context = {**event.get("stream_context", {}), **event.get("context", {})}
            got = json.loads(row["context"]) if row["context"] else {}
            equal(got, as_exported(context, got, addresses), row["event"])
            fields = dict(event["fields"])
            if "variadic" in event:
                fields["(variadic)"] = event["variadic"]
            got = json.loads(row["fields"])
            equal(got, as_exported(fields, got, addresses), row["event"])
            if trace == "synthetic":
                equal((row["hostname"], row["procname"], int(row["vpid"]), int(row["vtid"])),
                      (event["hostname"], context["procname"], context["vpid"], context["vtid"]))
    equal(addresses, ADDRESSES)


def field_text(text):
    """Control characters are escaped; these texts have no others that a cell would change."""
    return "".join(c if c in "\n\t" or c.isprintable() else "\\x%02x" % ord(c) for c in text)


def fields_of_row(name, value, cells, row):
    """Computes the cells of a field from its JSON; the titles show the shape of a structure."""
    if isinstance(value, dict) and set(value) == {"labels", "value"} and name + ".label" in row:
        cells[name + ".label"] = field_text("|".join(value["labels"]))
        value = value["value"]
    if isinstance(value, dict) and name not in row:
        for member, inner in value.items():
            fields_of_row(f"{name}.{member}", inner, cells, row)
    elif value is None:
        cells[name] = ""
    elif isinstance(value, bool):
        cells[name] = "true" if value else "false"
    elif isinstance(value, (dict, list)):
        cells[name] = value
    else:
        cells[name] = field_text(value) if isinstance(value, str) else json.dumps(value)


def equal_rows(trace, folder, addresses):
    by_event = {}
    for event in events(trace):
        by_event.setdefault(event["event"], []).append(event)
    files = {}
    for file in os.listdir(folder):  # Events with other contexts in another channel have a separate file.
        files.setdefault(re.sub(r"(-\d+)?\.csv$", "", file), []).append(file)
    equal(len(files), len(by_event), folder)
    for name, wanted in by_event.items():
        rows = []
        for file in files["".join(c if c.isascii() and (c.isalnum() or c in ":._+-") else "_" for c in name)]:
            with open(os.path.join(folder, file), "rb") as opened:
                rows += table(opened.read())
        rows.sort(key=lambda row: int(row["ns"]))
        equal(len(rows), len(wanted), name)
        for row, event in zip(rows, wanted):
            equal(int(row.pop("ns")), event["ns"])
            for column in ("time", "hostname", "procname", "vpid", "vtid", "cpu"):
                row.pop(column)
            cells = {}
            for scope in ("stream_context", "context"):
                for member, value in event.get(scope, {}).items():
                    fields_of_row("ctx." + member, value, cells, row)
            for member, value in event["fields"].items():
                fields_of_row(member, value, cells, row)
            if "variadic" in event:
                cells["(variadic)"] = event["variadic"]
            equal(sorted(row), sorted(cells), name)
            for column, cell in cells.items():
                got = row[column]
                if isinstance(cell, (dict, list)) or "dynamic" in name:  # JSON, also for a text.
                    got = json.loads(got)
                    cell = as_exported(None if cell == "" else cell, got, addresses)
                    if isinstance(cell, str) and not isinstance(got, str):
                        got = json.dumps(got)
                elif got.startswith("0x") and cell.isdecimal():
                    cell = hex(int(cell))
                    addresses.add(re.sub(r".*\.", "", column))
                equal(got, cell, f"{name} {column}")


def test_csv_of_each_event():
    addresses = set()
    for trace in TRACES:
        folder = path("tables-" + trace) + "/"
        equal(export(trace, "csv", "-q", "-o", folder), b"")
        equal_rows(trace, folder, addresses)
        # Nothing is overwritten.
        again = side("export", path(trace), "-q", "--to", "csv", "-o", folder)
        equal((again.status, again.out), (1, ""))
        contains(again.err, "File exists")
    equal(addresses, ADDRESSES)


# Clears a screen, sets a title (ESC and C1), moves back, changes the direction of text, ends a line,
# a lone byte of C1.
HOSTILE = "\x1b[2J\x1b]0;x\x07\x9b31m\r\b\x7f\u202e\u2067\u200f\u061c\u2028\udc9b"
# Directions and ends of lines that a terminal or a viewer obeys.
FORMATS = "\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
FORMULAS = ["=1+cmd|' /C calc'!A0", "+A1", "-2+A1", "@SUM(A1)", "=", "-"]
NUMBERS = ["-5", "+1.5e-3", "-", "12", "a=b", ""]


def write_hostile(folder):
    """Texts that a terminal or a spreadsheet would execute, in all names and values that a traced program chooses."""
    quoted = HOSTILE.encode("utf-8", "surrogateescape")
    quoted = b"".join(b"\\x%02x" % byte for byte in quoted)
    os.makedirs(folder)
    with open(os.path.join(folder, "metadata"), "wb") as file:
        file.write(b"""/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := u8;
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u8 stream_id; }; };
env { hostname = "@h%(x)s"; procname = "p%(x)s"; vpid = 7; };
clock { name = "k"; freq = 1000000000; };
stream { id = 0; event.header := struct { u8 id;
	integer { size = 64; align = 8; signed = false; map = clock.k.value; } timestamp; }; };
event { name = "=e%(x)s"; id = 0; stream_id = 0;
	fields := struct { string _text; enum : u8 { "+l%(x)s" = 0 } _state; string _other[2]; }; };
""" % {b"x": quoted})
    texts = [HOSTILE, *FORMULAS, *NUMBERS, "two\nlines\tand a \"tab\""]
    with open(os.path.join(folder, "stream\x1b[2J"), "wb") as file:
        file.write(b"\0")
        for text in texts:
            text = text.encode("utf-8", "surrogateescape") + b"\0"
            file.write(b"\0" + bytes(8) + text + b"\0" + 2 * text)
    return texts


def is_harmless(data):
    """Whether there is no control character except for usual ones: C0, DEL, C1, formats."""
    text = data.decode("utf-8")
    found = sorted({hex(ord(c)) for c in text
                    if c not in "\n\r\t" and (ord(c) < 0x20 or 0x7f <= ord(c) < 0xa0 or c in FORMATS)})
    equal(found, [], text[:2000])
    return text


def test_hostile_texts():
    texts = write_hostile(path("hostile"))
    for args in (["view"], ["view", "--json"], ["report"], ["report", "--json"], ["report", "--by", "text"],
                 ["report", "--by", "state", "--histogram", "state"], ["export", "--to", "jsonl"],
                 ["export", "--to", "chrome", "-o", "-"], ["export", "--to", "csv"], ["view", "-e", "nothing"],
                 ["view", "--filter", "text == \"a\""]):
        result = side(*args, path("hostile"), text=False)
        equal(result.status, 0, f"{args} {result.err}")
        is_harmless(result.out)
        is_harmless(result.err)
    is_harmless(export("hostile", "csv", "-q", "-o", path("hostile-tables/")))
    (file,) = os.listdir(path("hostile-tables"))
    with open(path("hostile-tables", file), "rb") as opened:
        rows = table(opened.read())
    cells = [row["text"] for row in rows]
    equal(cells[0], "\\x1b[2J\\x1b]0;x\\x07\\xc2\\x9b31m\\r\\x08\\x7f"
          "\\xe2\\x80\\xae\\xe2\\x81\\xa7\\xe2\\x80\\x8f\\xd8\\x9c\\xe2\\x80\\xa8\\xc2\\x9b")
    equal(cells[1:], [text if text in NUMBERS or text[0] not in "=+-@" else "'" + text for text in texts[1:]])
    true(all(row["state.label"].startswith("'+l\\x1b[2J") for row in rows), rows[0])
    true(all(row["hostname"].startswith("'@h\\x1b[2J") for row in rows), rows[0])
    # JSON has the same values as before: only their form differs.
    got = [json.loads(line)["fields"]["text"] for line in export("hostile", "jsonl", "-q").splitlines()]
    equal(got[0], HOSTILE.replace("\udc9b", "\x9b"))
    equal(got[1:], texts[1:])
    with open(path("hostile", "stream\x1b[2J"), "ab") as opened:
        opened.write(b"\0")
    for args in (["view"], ["report"], ["export", "--to", "csv"]):
        result = side(*args, path("hostile"), text=False)
        equal(result.status, 1, f"{args} {result.err}")
        is_harmless(result.err)


def test_csv_reports_losses():
    result = side("export", path("channels"), "--to", "csv", "-o", path("channels.csv"))
    equal((result.status, result.out), (0, ""))
    contains(result.err, "lost while recording")


# ---- CTF ----

def one_trace(folder):
    (name,) = os.listdir(folder)
    return os.path.join(folder, name)


def babeltrace(trace):
    return output_in_utc(BABELTRACE, "--clock-gmt", "--clock-date", "--names=payload,context,header", "--no-delta", trace) \
        if BABELTRACE else None


def same_metadata_but_identity(one, other):
    def lines(trace):
        with open(os.path.join(trace, "metadata"), encoding="utf-8") as file:
            return [line for line in file if "uuid" not in line]
    return lines(one) == lines(other)


def test_ctf1():
    for trace in ("sample", "channels"):
        out = path("ctf1-" + trace)
        equal(export(trace, "ctf1", "-o", out), b"")
        copy = one_trace(out)
        equal(viewed(out), viewed(trace), trace)
        if BABELTRACE:
            equal(babeltrace(copy), babeltrace(path(trace)), trace)


def plain(field):
    """Converts a field of bt2 without bt2, which cannot print enumerations without a label."""
    if hasattr(field, "items"):
        return {str(name): plain(inner) for name, inner in field.items()}
    if isinstance(field, (int, float, str)) or not hasattr(field, "__iter__"):
        return float(field) if "Real" in type(field).__name__ else int(field) if hasattr(field, "__int__") else str(field)
    return str(field) if "String" in type(field).__name__ else [plain(inner) for inner in field]


def test_ctf1_of_a_foreign_trace():
    out = path("ctf1-synthetic")
    equal(export("synthetic", "ctf1", "-o", out), b"")
    equal(sorted(os.listdir(out)), ["one", "two"])
    if not BABELTRACE:
        return
    import bt2
    for name in ("one", "two"):
        def read(folder):
            found, lost = [], 0
            for message in bt2.TraceCollectionMessageIterator(os.path.join(folder, name)):
                if type(message) is bt2._EventMessageConst:
                    event = message.event
                    found.append((message.default_clock_snapshot.ns_from_origin, event.name,
                                  plain(event.common_context_field), plain(event.payload_field)))
                elif type(message) is bt2._DiscardedEventsMessageConst:
                    lost += message.count
            return found, lost
        (got, lost), (wanted, missing) = read(out), read(path("synthetic"))
        equal(lost, missing, name)
        equal(len(got), len(wanted), name)
        for one, other in zip(got, wanted):
            equal(one, other, name)


def test_ctf2():
    for trace in ("sample", "channels"):
        out = path("ctf2-" + trace)
        equal(export(trace, "ctf2", "-o", out), b"")
        copy = one_trace(out)
        equal(viewed(out), viewed(trace), trace)
        with open(os.path.join(copy, "metadata"), "rb") as file:
            equal(file.read(1), b"\x1e")
        contexts = ["--contexts"] if trace == "channels" else []
        read = output_in_utc(sys.executable, CTF2_READER, copy, *contexts).splitlines()
        ours = output_in_utc(SAMPLE, "read-contexts" if contexts else "read", copy).splitlines()
        equal(read, ours, trace)
        equal(len(read), len([e for e in json_lines(viewed(trace)) if e["type"] in ("event", "lost")]))


def test_ctf2_and_back():
    """CTF 2 (compressed) to CTF 1.8, which needs names for what CTF 2 defines by position and range."""
    out = path("back-channels")
    equal(export("packed", "ctf1", "-o", out), b"")
    equal(viewed(out), viewed("packed"))
    if BABELTRACE:
        equal(babeltrace(one_trace(out)), babeltrace(path("channels")))
    output_in_utc(SAMPLE, "write2", path("sample2"))
    out = path("back-sample")
    equal(export("sample2", "ctf1", "-o", out), b"")
    equal(viewed(out), viewed("sample"))
    if BABELTRACE:
        def lines(trace):  # Bits and booleans are integers in one, enumerations in the other.
            return [line.split(":")[:3] for line in babeltrace(trace).splitlines()]
        equal(lines(one_trace(out)), lines(path("sample")))


def test_ctf_of_some_events():
    """Left-out records must not change the time of later ones."""
    for to in ("ctf1", "ctf2"):
        out = path("some-" + to)
        export("synthetic", to, "-o", out, "-e", "fn:*", "--filter", "depth < 3 || $ctx.vpid == 200")
        wanted = [e for e in events("synthetic", "-e", "fn:*")
                  if e["fields"]["depth"] < 3 or e["stream_context"]["vpid"] == 200]
        got = events(out)
        equal([(e["ns"], e["event"], e["fields"], e["stream_context"], e["cpu"]) for e in got],
              [(e["ns"], e["event"], e["fields"], e["stream_context"], e["cpu"]) for e in wanted])
        true(100 < len(wanted) < len(events("synthetic")) / 2, len(wanted))


def test_ctf_copies_the_readable_part():
    """A damaged trace is copied as far as it can be read, and the damage is reported."""
    shutil.copytree(path("synthetic"), path("torn"))
    stream = path("torn", "one", "stream_1")
    os.truncate(stream, os.path.getsize(stream) - 30)
    result = side("export", path("torn"), "--to", "ctf1", "-o", path("torn-ctf1"))
    equal((result.status, result.out), (1, ""))
    contains(result.err, "stream_1")
    before = side("view", "--json", "-q", path("torn"))
    equal(len(events(path("torn-ctf1"))), before.out.count('"type":"event"'))


def test_ctf_refuses_unsupported_types():
    shutil.copytree(path("synthetic"), path("aligned"))
    metadata = path("aligned", "one", "metadata")
    with open(metadata, encoding="utf-8") as file:
        text = file.read()
    with open(metadata, "w", encoding="utf-8") as file:
        file.write(text.replace("u8 _depth;", "integer { size = 32; align = 32; signed = false; } _depth;"))
    result = side("export", path("aligned"), "--to", "ctf1", "-o", path("aligned-ctf1"))
    equal((result.status, result.out), (1, ""))
    contains(result.err, "fn:enter")
    contains(result.err, "aligned to more than a byte")
    contains(result.err, "leave it out")


# ---- the command line ----

def test_files():
    out = path("out.csv")
    export("sample", "csv", "-o", out)
    size = os.path.getsize(out)
    export("sample", "csv", "-o", out)  # An existing file is replaced as a whole.
    equal(os.path.getsize(out), size)
    equal([name for name in os.listdir(work.name) if name.endswith(".partial")], [])
    fifo = path("fifo")
    os.mkfifo(fifo)
    with subprocess.Popen([SIDE, "export", path("sample"), "--to", "csv", "-o", fifo]) as writer:
        with open(fifo, "rb") as file:
            data = file.read()
        equal(writer.wait(), 0)
    with open(out, "rb") as file:
        equal(data, file.read())
    true(stat.S_ISFIFO(os.stat(fifo).st_mode), "the pipe was replaced")
    equal(export("sample", "csv", "-o", "-"), data)


def test_a_failure_leaves_no_file():
    for to in ("perfetto", "chrome", "csv", "jsonl"):
        with open("/dev/full", "w") as full:
            done = subprocess.run([SIDE, "export", path("synthetic"), "--to", to], stdout=full,
                                  stderr=subprocess.PIPE, text=True)
        equal(done.returncode, 1, to)
        contains(done.stderr, "No space left", to)
        missing = side("export", path("sample"), "--to", to, "-o", path("nowhere", "x"))
        equal((missing.status, missing.out), (1, ""))
        contains(missing.err, "No such file")
    equal(os.path.exists(path("nowhere")), False)


def test_mistakes():
    def refused(*args, printing, status=2):
        result = side("export", *args)
        equal((result.status, result.out), (status, ""), str(args))
        contains(result.err, printing)

    trace = path("sample")
    refused(printing="missing operand: a trace to export")
    refused(trace, "--to", "pdf", printing="perfetto, chrome, csv, jsonl, ctf1, ctf2, folded, speedscope, pprof or svg")
    refused(trace, "--to", "csv", "--pair", "a", "b", printing="no")
    refused(trace, "--to", "ctf1", printing="add `-o DIR`")
    refused(trace, "--to", "ctf2", "-o", path("sample"), printing="name a directory that does not exist yet", status=1)
    refused(trace, "--key", "x", printing="without `--pair`")
    refused(trace, "--filter", "x >", "-o", path("x"), printing="`--filter`")
    refused("/nowhere", "-o", path("x"), printing="No such file", status=1)
    terminal = side_on_terminal("export", trace)
    equal((terminal.status, terminal.out), (2, ""))
    equal(os.path.exists(path("x")), False)


run_tests(globals())
