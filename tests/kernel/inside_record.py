# SPDX-License-Identifier: MIT
"""In the machine: `side record --kernel` and independent readers of the same events: ftrace's own
buffers, decoded by eventheader.py and plain.py, perf script, and the events that the program fired.
Babeltrace 2 reads the trace.

usage: inside_record.py [CASE...]   with KERNEL_PROGRAM, ROUNDTRIP_FIRE, SIDE, RECORD_SCRIPTS in the
environment
"""
import collections
import ctypes
import fcntl
import glob
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
import unittest

import bt2

import eventheader
import ftrace
import plain
from inside_events import Case, Running, stop_process, wait_until

SIDE, FIRE = os.environ["SIDE"], os.environ["ROUNDTRIP_FIRE"]
# For the recorder; programs find libside-kernel.so by the environment of the test.
OURS = dict(os.environ, SIDE_LIB_DIR=os.environ["RECORD_LIB_DIR"])
TRACE = "/tmp/record"
Event = collections.namedtuple("Event", "name time cpu context special fields")


def members(field):
    return [(name, field[name]) for name in field] if field is not None else []


def read_trace():
    """Returns all events by time, and the number of those that the trace reports as discarded."""
    events, discarded = [], 0
    for message in bt2.TraceCollectionMessageIterator(TRACE):
        if isinstance(message, bt2._DiscardedEventsMessageConst):
            discarded += message.count or 0
        if not isinstance(message, bt2._EventMessageConst):
            continue
        event = message.event
        packet = event.packet.context_field
        events.append(Event(event.name, message.default_clock_snapshot.ns_from_origin,
                            int(packet["cpu_id"]) if packet is not None and "cpu_id" in packet else None,
                            dict(members(event.common_context_field)), members(event.specific_context_field),
                            members(event.payload_field)))
    return events, discarded


def of_kernel(events):
    return [event for event in events if event.name != "side:lost" and "comm" in event.context]


class Recording:
    """`side record --kernel` of a command that waits: all events in between are recorded."""

    def __init__(self, *options, command=("cat",), way="perf", **more):
        shutil.rmtree(TRACE, ignore_errors=True)
        ready = "/tmp/record.ready"
        if os.path.exists(ready):
            os.remove(ready)
        self.process = subprocess.Popen(
            [SIDE, "record", "--json", "--kernel-all", "--kernel-way", way, "-o", TRACE, *options, "--", "sh", "-c",
             f"touch {ready}; exec \"$@\"", "sh", *command], stdin=subprocess.PIPE, stderr=subprocess.PIPE,
            stdout=subprocess.PIPE, env=OURS, **more)
        wait_until(lambda: os.path.exists(ready) or self.process.poll() is not None, "the recording")

    def end(self):
        _, errors = self.process.communicate(timeout=200)
        self.errors = errors.decode()
        lines = [json.loads(line) for line in self.errors.splitlines() if line.startswith("{")]
        self.summary = next(line for line in lines if line["type"] == "kernel_summary")
        return self


# ---- values in a common form ----

def bits_of(word, value):
    return struct.unpack("<I", struct.pack("<f", value))[0] if word == "f32" else \
        struct.unpack("<Q", struct.pack("<d", value))[0]


def text_of(units, size):
    if 0 in units:
        units = units[:units.index(0)]
    if size == 1:
        return bytes(units).decode("utf-8", "replace")
    if size == 4:
        return "".join(chr(unit) if unit < 0x110000 else "\ufffd" for unit in units)
    return b"".join(unit.to_bytes(2, "little") for unit in units).decode("utf-16-le", "surrogatepass")


def visible(fields):
    """Returns the fields without lengths and tags, which only serve the next field."""
    names = [name for name, _ in fields]
    return [(name, value) for i, (name, value) in enumerate(fields)
            if not (i + 1 < len(names) and name in (names[i + 1] + "_length", names[i + 1] + "_tag"))]


def simple(value, element=False):
    """@element: of an array; there, a value with a length or a tag is in a structure together with it."""
    if isinstance(value, (bt2._BoolFieldConst, bt2._IntegerFieldConst)):
        return int(value)
    if isinstance(value, bt2._RealFieldConst):
        return float(value)
    if isinstance(value, bt2._StringFieldConst):
        return str(value)
    if isinstance(value, bt2._StructureFieldConst):
        if element and list(value) in (["tag", "value"], ["length", "elements"]):
            return simple(value[list(value)[1]])
        return ("struct", [simple(part) for _, part in visible(members(value))])
    if isinstance(value, bt2._ArrayFieldConst):
        return [simple(part, True) for part in value]
    if isinstance(value, bt2._VariantFieldConst):
        inner = value.selected_option
        return None if isinstance(inner, bt2._StructureFieldConst) and not len(inner) else ("some", simple(inner))
    raise AssertionError(type(value))


def differs(value, want, path=""):
    """Returns None, or the position at which a value of the trace differs from that of the independent decoder."""
    if isinstance(value, tuple) and value[0] == "struct" and isinstance(want, tuple) and want[0] == "struct":
        if len(value[1]) != len(want[1]):
            return f"{path}: {len(value[1])} members instead of {len(want[1])}"
        for part, (name, expected) in zip(value[1], want[1]):
            problem = differs(part, expected, f"{path}/{name.decode('utf-8', 'replace')}")
            if problem:
                return problem
        return None
    if isinstance(value, tuple) and value[0] == "some":
        return differs(value[1], want, path + "?")
    if isinstance(value, tuple) and value[0] == "struct" and len(value[1]) == 1:
        return differs(value[1][0], want, path)  # an element with its length
    if isinstance(want, tuple) and want[0] in ("f32", "f64"):
        if value != value:
            return None if want[1] & (0x7f800000 if want[0] == "f32" else 0x7ff << 52) else path
        found = {bits_of(want[0], value), bits_of("f64", value)}
        wide = want[1] if want[0] == "f64" else bits_of("f64", struct.unpack("<f", struct.pack("<I", want[1]))[0])
        return None if wide in found or want[1] in found else f"{path}: {value} instead of {want}"
    if isinstance(want, tuple) and want[0] == "text":
        want = text_of(list(want[2]), want[1])
        same = value == want or "\ufffd" in want or any(0xd800 <= ord(c) < 0xe000 for c in want) or \
            value.encode("utf-8", "replace") == want.encode("utf-8", "replace")
        return None if same else f"{path}: {value!r} instead of {want!r}"
    if isinstance(want, bytes):
        if isinstance(value, str):
            want = want.split(b"\0")[0].decode("utf-8", "replace")
            return None if value == want or "\ufffd" in want else f"{path}: {value!r} instead of {want!r}"
        return None if value == list(want) else f"{path}: {value} instead of {want}"
    if isinstance(value, list) and isinstance(want, list):
        if len(value) != len(want):
            return f"{path}: {len(value)} elements instead of {len(want)}"
        return next((problem for i, parts in enumerate(zip(value, want)) if (problem := differs(*parts, f"{path}/{i}"))), None)
    if isinstance(value, list) and isinstance(want, int):  # bytes without a description as a number
        value = int.from_bytes(bytes(value), "little")
    if isinstance(value, int) and isinstance(want, int):
        return None if (value - want) % (1 << 64) == 0 or value & 0xffffffff == want & 0xffffffff and want < 1 << 32 \
            and value < 1 << 32 else f"{path}: {value} instead of {want}"
    return None if value == want or (want == [] and value is None) else f"{path}: {value!r} instead of {want!r}"


def raw_128(value, size):
    """Returns two halves, or bytes, as bytes with the most significant first."""
    if isinstance(value, tuple) and value[0] == "struct":
        if len(value[1]) == 1:
            return bytes(value[1][0])[::-1]
        low, high = (part % (1 << 64) for part in value[1])
        return (high << 64 | low).to_bytes(16, "big")
    return bytes(value)[::-1] if isinstance(value, list) and len(value) == size else value


def plain_differs(event, fields, payload):
    want = plain.decode(fields, payload)
    found = visible(event.fields)
    if len(found) != len(want):
        return f"{len(found)} fields instead of {len(want)}"
    for (_, value), (name, expected) in zip(found, want):
        value = simple(value)
        if isinstance(expected, bytes) and len(expected) == 16 and not isinstance(value, str):
            value, expected = raw_128(value, 16), expected
            problem = None if value == expected else f"{name}: {value!r} instead of {expected!r}"
        elif isinstance(expected, list) and expected and isinstance(expected[0], bytes):
            value = [raw_128(part, 16) for part in value]
            problem = None if value == expected else f"{name}: {value!r} instead of {expected!r}"
        else:
            problem = differs(value, expected, name)
        if problem:
            return problem
    return None


def raw_records():
    """Returns the content of ftrace's buffers: (tracepoint, fields of its format, payload)."""
    formats = {}
    for name in ftrace.events():
        number, fields = ftrace.parse_format(ftrace.read("events", name, "format"))
        formats[number] = (os.path.basename(name), fields)
    return [(*formats[number], payload) for page in ftrace.raw_pages() for number, _, payload in ftrace.records(page)]


def fire(script, encoding):
    """Fires the events of a script, and returns those that side recorded and those that ftrace has."""
    environment = dict(os.environ, SIDE_USER_EVENTS="all", SIDE_USER_EVENTS_ENCODING=encoding, FIRE_WAIT="1")
    ftrace.buffer_size(16384)
    with subprocess.Popen([FIRE, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as program:
        assert program.stdout.readline() == b"registered\n"
        recording = Recording("-k", "user_events", "-k", "user_events_multi", "--kernel-buffer", "8M")
        ftrace.enable(True)
        program.stdin.write(b"x")
        program.stdin.close()
        assert program.wait() == 0
    raw = raw_records()
    ftrace.enable(False)
    recording.end()
    return recording, raw


class Values(Case):
    def compare(self, script, encoding):
        recording, raw = fire(script, encoding)
        events, discarded = read_trace()
        events = [event for event in of_kernel(events)]
        self.assertEqual((discarded, recording.summary["lost"]), (0, 0))
        self.assertEqual(len(events), len(raw))
        wrong, plain_ones, headers = [], 0, 0
        for event, (name, fields, payload) in zip(events, raw):
            if fields and fields[0][1] == "eventheader_flags":
                provider, _, problem, want, _ = eventheader.decode(name, payload)
                headers += 1
                if event.name != f"{provider}:{problem.decode('utf-8', 'replace')}":
                    wrong.append(f"{event.name} instead of {provider}:{problem}")
                    continue
                difference = differs(("struct", [simple(value) for _, value in visible(event.fields)]), ("struct", want))
            else:
                plain_ones += 1
                if event.name.split(":")[1] != name:
                    wrong.append(f"{event.name} instead of {name}")
                    continue
                difference = plain_differs(event, fields, payload)
            if difference:
                wrong.append(f"{event.name}: {difference}")
        print(f"{encoding}: {len(raw)} records, {plain_ones} with plain fields, {headers} with a header, "
              f"{len(wrong)} wrong, {recording.summary['undecoded']} not decoded", flush=True)
        self.assertEqual(wrong[:20], [])
        self.assertEqual(recording.summary["undecoded"], 0)
        return plain_ones, headers

    def test_native(self):
        plain_ones, _ = self.compare(os.environ["RECORD_SCRIPTS"] + "/cases.json", "auto")
        self.assertGreater(plain_ones, 100)

    def test_eventheader(self):
        _, headers = self.compare(os.environ["RECORD_SCRIPTS"] + "/cases.json", "eventheader")
        self.assertGreater(headers, 300)

    def test_random(self):
        self.compare(os.environ["RECORD_SCRIPTS"] + "/random.json", "auto")


def header_record(order):
    """Returns a record written by hand, with numbers of all sizes in this byte order ("<" or ">")."""
    def pack(form, *values):
        return struct.pack(order + form, *values)

    def name(text, encoding, form):
        return text.encode() + b"\0" + bytes([encoding | 0x80, form])
    fields = [
        (name("half", 3, 1), pack("H", 0x1234)), (name("word", 4, 2), pack("i", -70000)),
        (name("long", 5, 3), pack("Q", 0x1122334455667788)), (name("f", 4, 8), pack("f", 1.5)), (name("d", 5, 8), pack("d", -2.25)),
        (name("text16", 8, 11), pack("4H", 0x61, 0xd83d, 0xde00, 0)), (name("text32", 12, 11), pack("HI", 1, 0xe9)),
        (name("list", 4 | 0x40, 1), pack("HII", 2, 7, 0x01020304)), (name("some", 13, 2), pack("Hh", 2, -42)),
        (name("none", 13, 2), pack("H", 0)), (b"three\0" + bytes([3 | 0x20 | 0x80, 1]) + pack("H", 3), pack("3H", 1, 2, 3)),
        # These have one byte order on all machines.
        (name("port", 3, 16), b"\x1f\x90"), (name("address", 4, 17), bytes([127, 0, 0, 1])), (name("raw", 4, 9), b"\1\2\3\4"),
        (name("uuid", 6, 15), bytes(range(16))),
    ]
    metadata = b"abroad\0" + b"".join(meta for meta, _ in fields)
    head = pack("BBHHBB", 5 | (2 if order == "<" else 0), 3, 0x0102, 0x0304, 1, 5)
    return head + pack("HH", len(metadata), 1) + metadata + b"".join(value for _, value in fields)


def register(data, description, word):
    """Registers an event without libside. Returns the index to be written."""
    text = ctypes.create_string_buffer(description)
    request = bytearray(struct.pack("=IBBHQQI", 28, 63, 8, 0, ctypes.addressof(word), ctypes.addressof(text), 0))
    fcntl.ioctl(data, 0xc0082a00, request)
    return bytes(request[24:28])


def unregister(data, word):
    """Closing the file would leave the word to the kernel for the lifetime of this process."""
    fcntl.ioctl(data, 0x40082a02, struct.pack("=IBBHQ", 16, 63, 0, 0, ctypes.addressof(word)))


class Foreign(Case):
    def test_byte_order(self):
        """Numbers in the other byte order have the same values."""
        with open(ftrace.path("user_events_data"), "wb", buffering=0) as data:
            word = ctypes.c_uint64(0)
            index = register(data, b"Abroad_L5K1 u8 eventheader_flags; u8 version; u16 id; u16 tag; u8 opcode; u8 level", word)
            recording = Recording("-k", "user_events:Abroad_L5K1")
            self.assertTrue(word.value)
            for order in "<", ">", "<", ">":
                data.write(index + header_record(order))
            recording.end()
            unregister(data, word)
        found = of_kernel(read_trace()[0])
        self.assertEqual(recording.summary["undecoded"], 0)
        self.assertEqual([event.name for event in found], ["Abroad:abroad"] * 4)
        values = [[(name, simple(value)) for name, value in visible(event.fields)] for event in found]
        for more in values[1:]:
            self.assertEqual(more, values[0])
        fields = dict(values[1])
        self.assertEqual((fields["half"], fields["word"], fields["long"], fields["f"], fields["d"], fields["text16"], fields["list"],
                          fields["some"], fields["none"], fields["port"]),
                         (0x1234, -70000, 0x1122334455667788, 1.5, -2.25, "a\U0001f600", [7, 0x01020304], ("some", -42), None, 8080))
        numbers = [[int(event.context.get(name, dict(event.special).get(name))) for name in ("event_id", "event_tag")] for event in found]
        self.assertEqual(numbers, [[0x0102, 0x0304]] * 4)
        for order, want in zip("<>", values):
            decoded = eventheader.decode("Abroad_L5K1", header_record(order))[3]
            self.assertIsNone(differs(("struct", [value for _, value in want]), ("struct", decoded)))


def ticks(events):
    return [{name: simple(value) for name, value in event.fields} for event in events if event.name == "user_events:kern_tick"]


class Recorded(Case):
    def fire(self, count, *options, way="perf", between=None):
        program = Running("wait", f"fire:{count}")
        recording = Recording("-k", "user_events:kern_tick", *options, way=way)
        if between:
            between(recording)
        program.end()
        return recording.end(), program.process.pid

    def check_ticks(self, pid, numbers):
        events, discarded = read_trace()
        self.assertEqual(discarded, 0)
        self.assertEqual([(t["number"], t["small"], t["text"]) for t in ticks(events)],
                         [(i, i % 100 - 50, str(i)) for i in numbers])
        for event in of_kernel(events):
            self.assertEqual((event.context["pid"], event.context["tid"], event.cpu), (pid, pid, 0))
            self.assertEqual(event.context["comm"], "kernel-program")

    def test_perf_way(self):
        recording, pid = self.fire(200)
        self.assertIn("perf buffers", recording.summary["method"])
        self.assertEqual((recording.summary["events"], recording.summary["lost"]), (200, 0), recording.errors)
        self.check_ticks(pid, range(200))

    def test_ctf2(self):
        recording, _ = self.fire(200, "--format", "ctf2")
        self.assertEqual(recording.summary["events"], 200)
        done = subprocess.run([SIDE, "view", "--json", TRACE], capture_output=True, text=True, check=True)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([line["fields"]["number"] for line in lines], list(range(200)))

    def test_tracefs_way(self):
        seen = []

        def count_calls(_):
            seen.extend(glob.glob(ftrace.path("instances", "side-*")))
        recording, pid = self.fire(200, way="tracefs", between=count_calls)
        self.assertEqual(len(seen), 1)
        self.assertIn("tracefs instance", recording.summary["method"])
        self.assertEqual(glob.glob(ftrace.path("instances", "side-*")), [])
        self.check_ticks(pid, range(200))

    def test_filter(self):
        self.fire(300, "--kernel-filter", "number > 250 && small != 3")
        self.check_ticks(self.last_pid(), [i for i in range(251, 300) if i % 100 - 50 != 3])

    def last_pid(self):
        return of_kernel(read_trace()[0])[0].context["pid"]

    def test_filter_refused(self):
        program = Running("wait")
        shutil.rmtree(TRACE, ignore_errors=True)
        done = subprocess.run([SIDE, "record", "-k", "user_events:kern_tick", "--kernel-filter", "nonsense > 3", "-o", TRACE,
                               "true"], capture_output=True, text=True, check=False, env=OURS)
        self.assertEqual(done.returncode, 2)
        self.assertIn("refuses the filter `nonsense > 3` for user_events:kern_tick", done.stderr)
        program.end()

    def test_losses_of_a_recorder_that_sleeps(self):
        for way in "perf", "tracefs":
            program = Running("wait", "fire:5000", "wait")
            recording = Recording("-k", "user_events:kern_tick", "--kernel-buffer", "16K", way=way)
            stop_process(recording.process.pid)
            program.go()
            program.wait()
            recording.process.send_signal(signal.SIGCONT)
            program.end()
            summary = recording.end().summary
            self.assertGreater(summary["lost"], 0, way)
            self.assertEqual(summary["events"] + summary["lost"], 5000, way)
            events, discarded = read_trace()
            self.assertEqual(discarded, summary["lost"], way)
            self.assertEqual([t["number"] for t in ticks(events)], list(range(summary["events"])))
            lost = [event for event in events if event.name == "side:lost"]
            self.assertEqual(sum(simple(dict(event.fields)["count"]) for event in lost), summary["lost"])
            self.assertEqual({simple(dict(event.fields)["event"]) for event in lost}, {"user_events:kern_tick"})

    def test_registered_later(self):
        """The recorder gets all calls from the first one on: the program notifies it."""
        for way in "perf", "tracefs":
            recording = Recording("-k", "user_events:kern_tick", way=way)
            done = subprocess.run([os.environ["KERNEL_PROGRAM"], "fire:20"], env=dict(os.environ, SIDE_USER_EVENTS="kern", SIDE_TIMEOUT_FACTOR="600"), check=True)
            self.assertEqual(done.returncode, 0)
            recording.end()
            self.assertEqual(recording.summary["late"], 0)
            numbers = [int(dict(event.fields)["number"]) for event in of_kernel(read_trace()[0])]
            self.assertEqual(numbers, list(range(20)), way)

    def test_registered_by_others(self):
        """The event of a program that does not notify is detected a little later, and the summary
        reports that events may be missing.
        """
        recording = Recording("-k", "user_events:silent")
        with open(ftrace.path("user_events_data"), "wb", buffering=0) as data:
            word = ctypes.c_uint64(0)
            index = register(data, b"silent u32 number", word)
            wait_until(lambda: word.value, "the recorder sees it")
            # The kernel sets the word for the first CPU's buffer. Nothing shows when the recorder
            # has enabled those of all CPUs.
            time.sleep(1)
            data.write(index + struct.pack("=I", 7))
            unregister(data, word)
        recording.end()
        self.assertEqual([int(dict(event.fields)["number"]) for event in of_kernel(read_trace()[0])], [7])
        self.assertEqual(recording.summary["late"], 1)

    def test_same_clock(self):
        """The same call, recorded in the program and by the kernel: adjacent on one clock."""
        keeper = Running("wait", "wait")
        shutil.rmtree(TRACE, ignore_errors=True)
        subprocess.run([SIDE, "record", "-e", "kern:tick", "-k", "user_events:kern_tick", "-o", TRACE, "--",
                        "env", "SIDE_USER_EVENTS=kern", "SIDE_LIB_DIR=" + os.environ["SIDE_LIB_DIR"],
                        os.environ["KERNEL_PROGRAM"], "fire:500"], env=OURS, check=True)
        keeper.end()
        events, _ = read_trace()
        kernel = [event.time for event in events if event.name == "user_events:kern_tick"]
        own = [event.time for event in events if event.name == "kern:tick"]
        self.assertEqual((len(kernel), len(own)), (500, 500))
        order = "".join("k" if event.name.startswith("user") else "o" for event in events if "tick" in event.name)
        self.assertIn(order, ("ko" * 500, "ok" * 500))


class Kernel(Case):
    """The kernel's own events."""

    @unittest.skipUnless(shutil.which("perf"), "perf is not installed (Debian's linux-perf)")
    def test_syscalls_equal_those_of_perf(self):
        code = "import os; [os.lseek(0, 4096 * i - 70000, 0) if i > 20 else os.getpriority(i % 3, 0) for i in range(40)]"
        data = "/tmp/record.perf"
        with open("/tmp/record.file", "w", encoding="ascii") as file:
            file.write("x")
        shutil.rmtree(TRACE, ignore_errors=True)
        with open("/tmp/record.file", "rb") as file:
            subprocess.run([SIDE, "record", "-k", "syscalls:sys_enter_lseek", "-k", "syscalls:sys_exit_getpriority", "-k",
                            "sched:sched_process_*", "-o", TRACE, "--", "perf", "record", "-q", "-o", data, "-e",
                            "syscalls:sys_enter_lseek,syscalls:sys_exit_getpriority", "--", sys.executable, "-c", code],
                           stdin=file, check=True, env=OURS)
        text = subprocess.run(["perf", "script", "-i", data, "-F", "comm,pid,tid,cpu,event,trace"], capture_output=True,
                              text=True, check=True).stdout
        want = []
        for line in text.splitlines():
            found = re.match(r"\s*(.*?)\s+(\d+)/(\d+)\s+\[(\d+)\]\s+(\S+): +(.*)", line)
            numbers = [int(n, 16) for n in re.findall(r"0x([0-9a-f]+)", found.group(6))]
            want.append((found.group(1), int(found.group(3)), int(found.group(4)), found.group(5), numbers))
        pid = want[0][1]
        events = [event for event in of_kernel(read_trace()[0]) if event.context["tid"] == pid]
        found = [(str(event.context["comm"]), int(event.context["tid"]), event.cpu, event.name,
                  [simple(value) % (1 << 64) for name, value in event.fields if name != "__syscall_nr"])
                 for event in events if event.name.startswith("syscalls:")]
        self.assertEqual(len(want), len(found))
        for one, other in zip(found, want):
            self.assertEqual(one, other)
        self.assertGreater(len(found), 40)
        execs = [simple(dict(event.fields)["filename"]) for event in events if event.name == "sched:sched_process_exec"]
        self.assertEqual(execs[-1], sys.executable)

    def test_only_the_command(self):
        with subprocess.Popen(["sh", "-c", "while :; do /bin/true; done"]) as other:
            shutil.rmtree(TRACE, ignore_errors=True)
            for way in "perf", "tracefs":
                shutil.rmtree(TRACE, ignore_errors=True)
                subprocess.run([SIDE, "record", "--kernel-way", way, "-k", "sched:sched_process_exec", "-o", TRACE, "--", "sh",
                                "-c", "/bin/echo a; /bin/ls / | /bin/cat"], check=True, stdout=subprocess.DEVNULL, env=OURS)
                names = [os.path.basename(simple(dict(event.fields)["filename"])) for event in of_kernel(read_trace()[0])]
                self.assertEqual(sorted(names), ["cat", "echo", "ls", "sh"], way)
            other.kill()

    def test_alone(self):
        shutil.rmtree(TRACE, ignore_errors=True)
        with subprocess.Popen([SIDE, "record", "-k", "sched_process_exit", "-o", TRACE], stderr=subprocess.PIPE,
                              text=True, env=OURS) as recorder:
            while "Ctrl-C" not in recorder.stderr.readline():
                self.assertIsNone(recorder.poll())
            ended = subprocess.Popen(["true"])
            ended.wait()
            recorder.send_signal(signal.SIGINT)
            recorder.stderr.read()
            self.assertEqual(recorder.wait(), 0)
        self.assertIn(ended.pid, [event.context["tid"] for event in of_kernel(read_trace()[0])])

    def test_switches(self):
        """On each CPU, the thread that is switched out is the one that was switched in before."""
        Recording("-k", "sched:sched_switch", command=("sh", "-c", "for i in 1 2 3 4 5 6 7 8; do /bin/true; done")).end()
        events, discarded = read_trace()
        self.assertEqual(discarded, 0)
        last = {}
        for event in of_kernel(events):
            fields = {name: simple(value) for name, value in event.fields}
            if event.cpu in last:
                self.assertEqual(fields["prev_pid"], last[event.cpu])
            self.assertEqual(event.context["tid"], fields["prev_pid"])
            self.assertEqual(event.context["comm"], fields["prev_comm"])
            last[event.cpu] = fields["next_pid"]
        self.assertGreater(len(events), 16)


class Without(Case):
    def test_killed(self):
        os.mkdir(ftrace.path("instances", "side-other"))
        self.addCleanup(os.rmdir, ftrace.path("instances", "side-other"))
        first = Recording("-k", "sched:sched_switch", way="tracefs")
        os.mkdir(ftrace.path("instances", f"side-{os.getpid()}-1"))  # of a process that had the same id as this one
        first.process.kill()
        first.process.communicate()
        left = glob.glob(ftrace.path("instances", "side-*"))
        self.assertEqual(len(left), 3)
        Recording("-k", "sched:sched_switch", way="tracefs").end()
        self.assertEqual([os.path.basename(path) for path in glob.glob(ftrace.path("instances", "side-*"))], ["side-other"])

    def record(self, *options, **more):
        shutil.rmtree(TRACE, ignore_errors=True)
        return subprocess.run([SIDE, "record", "-e", "kern:tick", "-k", "sched:*", *options, "-o", TRACE, "--",
                               os.environ["KERNEL_PROGRAM"], "fire:5"], capture_output=True, text=True, check=False, env=OURS, **more)

    def check_without(self, done, why, status):
        """The program's events are recorded, and the status reports that the kernel's are missing."""
        problem = [line for line in done.stderr.splitlines() if "cannot record kernel events" in line]
        self.assertEqual(len(problem), 1, done.stderr)
        self.assertIn(why, done.stderr)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(len([event for event in read_trace()[0] if event.name == "kern:tick"]), 5)

    def test_no_tracefs(self):
        subprocess.run(["umount", ftrace.TRACEFS], check=True)
        try:
            self.check_without(self.record(), "tracefs is not mounted", 1)
            self.assertEqual(self.record("--strict").returncode, 4)
            done = subprocess.run([SIDE, "record", "-k", "sched", "-o", "/tmp/alone"], capture_output=True, text=True,
                                  check=False, env=OURS)
            self.assertEqual(done.returncode, 1)
            self.assertFalse(os.path.exists("/tmp/alone"))
        finally:
            subprocess.run(["mount", "-t", "tracefs", "none", ftrace.TRACEFS], check=True)

    def test_no_permission(self):
        os.makedirs("/tmp/user", exist_ok=True)
        os.chown("/tmp/user", 12345, 12345)
        global TRACE
        before, TRACE = TRACE, "/tmp/user/trace"
        try:
            self.check_without(self.record(user=12345, group=12345, extra_groups=[]), "no permission to read kernel events", 3)
        finally:
            TRACE = before

    def test_no_such_event(self):
        done = self.record("-k", "sched:*", "-k", "nothing:here")
        self.assertEqual(done.returncode, 0)
        done = subprocess.run([SIDE, "record", "-k", "sched:swich", "-o", TRACE + "-x", "true"], capture_output=True, text=True,
                              check=False, env=OURS)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no kernel trace event matches sched:swich", done.stderr)
        self.assertFalse(os.path.exists(TRACE + "-x"))


if __name__ == "__main__":
    if not os.path.exists(ftrace.path("user_events_data")):
        print("skipped: the kernel has no user_events")
        sys.exit(77)
    unittest.main(verbosity=2)
