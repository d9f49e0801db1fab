# SPDX-License-Identifier: MIT
"""Traces of other producers: metadata in the style of LTTng (user space and kernel), packetised
metadata, both byte orders, bit-packed fields, and random types. babeltrace2 and side's reader must
find the same.

test-foreign.py SAMPLE VIEWER BABELTRACE_DUMP
"""
import os
import random
import re
import shutil
import struct
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from checks import expect, expect_equal, finish, output

os.environ["TZ"] = "UTC"

sample, viewer, dump = sys.argv[1:4]
LONG = os.environ.get("SIDE_TEST_LONG") == "1"
UUID = bytes(range(1, 17))
UUID_TEXT = "01020304-0506-0708-090a-0b0c0d0e0f10"


class Bits:
    """Writes bits in the order of CTF: from the lowest up (little endian) or from the highest down."""

    def __init__(self, big):
        self.big = big
        self.bits = []

    def align(self, align):
        while len(self.bits) % align:
            self.bits.append(0)

    def integer(self, value, size, align=1):
        self.align(align)
        value &= (1 << size) - 1
        order = range(size - 1, -1, -1) if self.big else range(size)
        self.bits += [value >> i & 1 for i in order]

    def bytes(self, data):
        self.align(8)
        for byte in data:
            self.integer(byte, 8)

    def get(self):
        self.align(8)
        out = bytearray()
        for i in range(0, len(self.bits), 8):
            chunk = self.bits[i:i + 8]
            if not self.big:
                chunk = chunk[::-1]
            out.append(int("".join(map(str, chunk)), 2))
        return bytes(out)


def same_events(ours, theirs):
    """Babeltrace rounds the offset and the value of the clock separately, in double precision: it may
    differ by some nanoseconds.
    """
    if len(ours) != len(theirs):
        return False
    for left, right in zip(ours, theirs):
        left, right = left.split(" ", 2), right.split(" ", 2)
        if left[0] != right[0] or left[2] != right[2] or abs(int(left[1]) - int(right[1])) > 2:
            return False
    return True


def compare(what, files):
    """Runs both readers on one directory, and returns the lines of side's."""
    with tempfile.TemporaryDirectory() as work:
        for name, data in files.items():
            path = os.path.join(work, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as out:
                out.write(data if isinstance(data, bytes) else data.encode())
        keep = os.environ.get("CTF_KEEP")
        if keep:
            shutil.rmtree(keep, ignore_errors=True)
            shutil.copytree(work, keep)
        theirs = output("/usr/bin/python3", dump, work).splitlines()
        ours = output(sample, "read", work).splitlines()
        events = [line for line in ours if not line.startswith("discarded")]
        if not same_events(events, [line for line in theirs if not line.startswith("discarded")]):
            expect(False, "%s: the readers differ" % what)
            for left, right in zip(theirs + [""] * 9, ours + [""] * 9):
                if left != right:
                    print("  babeltrace2 %s\n  ours        %s" % (left[:2000], right[:2000]))
                    break
        lost = [sorted(line for line in lines if line.startswith("discarded")) for lines in (ours, theirs)]
        expect_equal(lost[1], lost[0], what + ": lost events")
        return ours, output(viewer, work).splitlines()


# ---- LTTng's user-space tracer ----

def ust_metadata(order):
    return """/* CTF 1.8 */

typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 16; align = 8; signed = false; } := uint16_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
typealias integer { size = 64; align = 8; signed = false; } := unsigned long;
typealias integer { size = 5; align = 1; signed = false; } := uint5_t;
typealias integer { size = 27; align = 1; signed = false; } := uint27_t;

trace {
	major = 1;
	minor = 8;
	uuid = "%s";
	byte_order = %s;
	packet.header := struct {
		uint32_t magic;
		uint8_t  uuid[16];
		uint32_t stream_id;
		uint64_t stream_instance_id;
	};
};

env {
	hostname = "box";
	domain = "ust";
	tracer_name = "lttng-ust";
	tracer_major = 2;
	tracer_buffering_scheme = "uid";
};

clock {
	name = "monotonic";
	uuid = "e0c3b1f2-1111-2222-3333-444455556666";
	description = "Monotonic Clock";
	freq = 1000000000; /* Frequency, in Hz */
	/* clock value offset from Epoch is: offset * (1/freq) */
	offset = 1603113254443283327;
};

typealias integer {
	size = 27; align = 1; signed = false;
	map = clock.monotonic.value;
} := uint27_clock_monotonic_t;

typealias integer {
	size = 64; align = 8; signed = false;
	map = clock.monotonic.value;
} := uint64_clock_monotonic_t;

struct packet_context {
	uint64_clock_monotonic_t timestamp_begin;
	uint64_clock_monotonic_t timestamp_end;
	uint64_t content_size;
	uint64_t packet_size;
	uint64_t packet_seq_num;
	unsigned long events_discarded;
	uint32_t cpu_id;
};

struct event_header_compact {
	enum : uint5_t { compact = 0 ... 30, extended = 31 } id;
	variant <id> {
		struct {
			uint27_clock_monotonic_t timestamp;
		} compact;
		struct {
			uint32_t id;
			uint64_clock_monotonic_t timestamp;
		} extended;
	} v;
} align(8);

stream {
	id = 0;
	event.header := struct event_header_compact;
	packet.context := struct packet_context;
	event.context := struct {
		integer { size = 32; align = 8; signed = 1; encoding = none; base = 10; } _vpid;
		integer { size = 8; align = 8; signed = 1; encoding = UTF8; base = 10; } _procname[17];
	};
};

event {
	name = "demo:hello";
	id = 0;
	stream_id = 0;
	loglevel = 13;
	model.emf.uri = "http://example.org/?q=hello&x=\\"1\\"";
	fields := struct {
		integer { size = 32; align = 8; signed = 1; encoding = none; base = 10; } _intfield;
		integer { size = 32; align = 8; signed = 0; encoding = none; base = 16; } _hex;
		integer { size = 8; align = 8; signed = 1; encoding = UTF8; base = 10; } _arrfield[5];
		integer { size = 16; align = 8; signed = 0; encoding = none; base = 10; } __seq_length;
		integer { size = 16; align = 8; signed = 0; encoding = none; base = 10; } _seq[ __seq_length ];
		string _str;
		floating_point { exp_dig = 8; mant_dig = 24; byte_order = %s; align = 8; } _f;
		enum : integer { size = 8; align = 8; signed = 0; encoding = none; base = 10; }
			{ "zero" = { 0 }, "many" = 1 ... 200, AUTO } _e;
	};
};

event { name = "demo:far"; id = 31; stream_id = 0; fields := struct { }; };

callsite { name = "demo:hello"; func = "main"; file = "x.c"; line = 12; };
"""


def ust_trace(big):
    fmt = ">" if big else "<"
    order = "be" if big else "le"
    text = (ust_metadata(order) % (UUID_TEXT, order, "native")).replace("{ 0 }", "0")

    def hello(bits, time, number):
        bits.align(8)
        bits.integer(0, 5)
        bits.integer(time, 27)
        context(bits)
        bits.bytes(struct.pack(fmt + "iI", number, 0xbeef) + b"ab\0cd" + struct.pack(fmt + "HHH", 2, 7, 8) +
                   "t\u00e9xt\0".encode() + struct.pack(fmt + "fB", 0.5, 201))

    def context(bits):
        bits.bytes(struct.pack(fmt + "i", 77) + b"proc\0" + b"x" * 12)

    packets = b""
    begin = 5 << 27
    for sequence in range(2):
        bits = Bits(big)
        hello(bits, begin + 10, -5)
        hello(bits, begin + (1 << 27) - 3, 6)
        hello(bits, begin + (1 << 27) + 9, 7)  # The counter of 27 bits wraps.
        bits.align(8)
        bits.integer(31, 5)
        bits.align(8)
        bits.bytes(struct.pack(fmt + "IQ", 31, begin + (9 << 27) + 4))
        context(bits)
        body = bits.get()
        content = (84 + len(body)) * 8
        padding = 4096 - 84 - len(body)
        packets += struct.pack(fmt + "I16sIQ", 0xc1fc1fc1, UUID, 0, 0)
        packets += struct.pack(fmt + "6QI", begin, begin + (10 << 27), content, 4096 * 8, sequence, 3 * sequence, 2)
        packets += body + b"\xaa" * padding
        begin += 20 << 27
    return text, packets


def packetised(text, big):
    out = b""
    data = text.replace("/* CTF 1.8 */", "").encode()
    for start in range(0, len(data), 1000):
        part = data[start:start + 1000]
        content = 37 + len(part)
        size = (content + 63) // 64 * 64
        out += struct.pack((">" if big else "<") + "I16sIIIBBBBB", 0x75d11d57, UUID, 0, content * 8, size * 8,
                           0, 0, 0, 1, 8)
        out += part + b"\0" * (size - content)
    return out


def test_ust():
    for big in (False, True):
        text, packets = ust_trace(big)
        ours, view = compare("ust, big endian %s" % big, {"metadata": text, "channel_0": packets})
        expect_equal(len(ours), 9, "events")
        expect_equal(ours.count("discarded 3"), 1, "discarded")
        again, _ = compare("packetised", {"metadata": packetised(text, big), "channel_0": packets})
        expect_equal(again, ours, "plain and packetised")
        wanted = ("box cpu2 demo:hello: { vpid = 77, procname = \"proc\" }, { intfield = -5, hex = 0xbeef, "
                  "arrfield = \"ab\", _seq_length = 2, seq = [ 7, 8 ], str = \"t\u00e9xt\", f = 0.5, "
                  "e = \"AUTO\" (201) }")
        expect_equal(view[0].split(") ", 1)[1], wanted, "view")
        expect(any(re.match(r"\[.*\] \*\*\* 3 events lost since .* in channel_0 of box \*\*\*$", line) for line in view), f"lost: {view}")


# ---- LTTng's kernel tracer ----

KERNEL = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 16; align = 16; signed = false; } := uint16_t;
typealias integer { size = 32; align = 32; signed = false; } := uint32_t;
typealias integer { size = 64; align = 64; signed = false; } := uint64_t;
typealias enum : uint16_t { compact = 0 ... 65534, extended = 65535 } := header_tag;
trace {
	major = 1; minor = 8; uuid = "%s"; byte_order = %s;
	packet.header := struct { uint32_t magic; uint8_t uuid[16]; uint32_t stream_id; };
};
env { hostname = "box"; domain = "kernel"; sysname = "Linux"; kernel_release = "6.1"; big = 0xffffffffffffffff; };
clock { name = "monotonic"; freq = 2999999999; offset_s = 1600000000; offset = 77; };
typealias integer { size = 32; align = 32; signed = false; map = clock.monotonic.value; } := t32;
typealias integer { size = 64; align = 64; signed = false; map = clock.monotonic.value; } := t64;
struct event_header_large {
	header_tag id;
	variant <id> {
		struct { t32 timestamp; } compact;
		struct { uint32_t id; t64 timestamp; } extended;
	} v;
} align(16);
stream {
	id = 0;
	event.header := struct event_header_large;
	packet.context := struct {
		t64 timestamp_begin; t64 timestamp_end; uint64_t content_size; uint64_t packet_size;
		uint64_t packet_seq_num; uint32_t events_discarded; uint32_t cpu_id;
	};
};
event {
	name = "sched_switch"; id = 5; stream_id = 0;
	fields := struct {
		integer { size = 8; align = 8; signed = 1; encoding = UTF8; base = 10; } _prev_comm[16];
		integer { size = 32; align = 32; signed = 1; encoding = none; base = 10; } _prev_tid;
		enum : integer { size = 64; align = 64; signed = 1; encoding = none; base = 10; }
			{ "TASK_RUNNING" = ( 0 ), "TASK_DEAD" = 64, "neg" = -5 ... -1 } _state;
		enum : uint8_t { none = 0, v4 = 4, v6 = 6 } _network_header_type;
		variant <_network_header_type> {
			struct { } none;
			struct { integer { size = 4; align = 4; } version; integer { size = 4; align = 4; } ihl;
				integer { size = 16; align = 16; byte_order = be; base = 16; } csum; } v4;
			struct { uint16_t plen; } v6;
		} _header;
		uint8_t _cmsg_len;
		struct { uint16_t a; uint8_t b; } _list[_cmsg_len];
	};
};
"""


def test_kernel():
    for big in (False, True):
        fmt = ">" if big else "<"
        text = KERNEL.replace("( 0 )", "0") % (UUID_TEXT, "be" if big else "le")
        bits = Bits(big)
        bits.bytes(struct.pack(fmt + "I16sI", 0xc1fc1fc1, UUID, 0))
        bits.bytes(struct.pack(fmt + "5QII", 1 << 40, (1 << 40) + (1 << 34), 0, 0, 0, 0, 1))
        for index, kind in enumerate((4, 6, 0, 4)):
            bits.align(16)
            if index == 2:
                bits.integer(65535, 16, 16)
                bits.align(64)  # The structure has the alignment of its most strictly aligned member.
                bits.integer(5, 32, 32)
                bits.integer((1 << 40) + (3 << 32) + index, 64, 64)
            else:
                bits.integer(5, 16, 16)
                bits.integer(index + 1, 32, 32)
            bits.align(64)
            bits.bytes(b"comm%d\0" % index + b"y" * 10)
            bits.integer(-index, 32, 32)
            bits.integer(-3 if index else 64, 64, 64)
            bits.integer(kind, 8, 8)
            if kind == 4:
                bits.align(16)
                bits.integer(index, 4, 4)
                bits.integer(15, 4, 4)
                bits.align(16)
                bits.bytes(struct.pack(">H", 0x1234))
            elif kind == 6:
                bits.integer(99, 16, 16)
            bits.integer(index % 3, 8, 8)
            bits.align(16)
            for item in range(index % 3):
                bits.integer(item + 300, 16, 16)
                bits.integer(item, 8, 8)
        size = len(bits.get()) * 8
        data = bytearray(bits.get())
        data[24 + 16:24 + 32] = struct.pack(fmt + "QQ", size, size)
        compare("kernel, big endian %s" % big, {"metadata": text, "channel0_0": bytes(data)})


# ---- random types ----

class Random:
    def __init__(self, seed, big):
        self.random = random.Random(seed)
        self.big = big
        self.names = 0

    def name(self):
        self.names += 1
        return "_f%d" % self.names

    def integer(self, minimum=1):
        size = self.random.choice([1, 3, 5, 7, 8, 9, 13, 16, 24, 31, 32, 33, 47, 63, 64])
        size = max(size, minimum)
        align = self.random.choice([1, 1, 2, 4, 8, 16, 32, 64])
        return size, align, self.random.random() < 0.5

    @staticmethod
    def integer_text(size, align, signed, base=10):
        return "integer { size = %d; align = %d; signed = %s; base = %d; }" % (
            size, align, "true" if signed else "false", base)

    def field(self, depth, bits):
        """Returns the lines of a field, and puts its value into bits; bits is None for options that
        are not selected.
        """
        kind = self.random.choice(["integer"] * 4 + ["float", "string", "enum", "array", "sequence"] +
                                  (["struct", "variant", "structarray"] if depth < 3 else []))
        name = self.name()
        return getattr(self, "make_" + kind)(name, depth, bits)

    def put(self, bits, size, align, value=None):
        if bits is not None:
            bits.integer(self.random.getrandbits(64) if value is None else value, size, align)

    def make_integer(self, name, depth, bits):
        size, align, signed = self.integer()
        self.put(bits, size, align)
        return ["%s %s;" % (self.integer_text(size, align, signed, self.random.choice([2, 8, 10, 16])), name)]

    def make_float(self, name, depth, bits):
        double = self.random.random() < 0.5
        align = self.random.choice([8, 32, 64])
        if bits is not None:
            value = self.random.uniform(-1e6, 1e6)
            data = struct.pack(">d" if double else ">f", value)
            bits.integer(int.from_bytes(data, "big"), len(data) * 8, align)
        return ["floating_point { exp_dig = %d; mant_dig = %d; align = %d; } %s;" % (
            11 if double else 8, 53 if double else 24, align, name)]

    def make_string(self, name, depth, bits):
        if bits is not None:
            bits.bytes("".join(self.random.choice("ab\u00e9 \"\\") for _ in range(self.random.randrange(9))).encode()
                       + b"\0")
        return ["string %s;" % name]

    def make_enum(self, name, depth, bits):
        size, align, signed = self.integer(3)
        low, high = (-(1 << (size - 1)), (1 << (size - 1)) - 1) if signed else (0, (1 << size) - 1)
        labels = []
        for index in range(self.random.randrange(1, 6)):
            begin = self.random.randint(low, high)
            labels.append('"l %d" = %d ... %d' % (index, begin, self.random.randint(begin, high)))
        self.put(bits, size, align)
        return ["enum : %s { %s } %s;" % (self.integer_text(size, align, signed), ", ".join(labels), name)]

    def make_array(self, name, depth, bits):
        size, align, signed = self.integer()
        first, second = self.random.randrange(4), self.random.randrange(1, 3)
        if bits is not None:
            bits.align(align)
        for _ in range(first * second):
            self.put(bits, size, align)
        return ["%s %s[%d][%d];" % (self.integer_text(size, align, signed), name, first, second)]

    def make_sequence(self, name, depth, bits):
        size, align, signed = self.integer()
        length = self.random.randrange(6)
        self.put(bits, 11, 1, length)
        if bits is not None:
            bits.align(align)
        for _ in range(length):
            self.put(bits, size, align)
        return ["integer { size = 11; align = 1; signed = false; } %s_n;" % name,
                "%s %s[%s_n];" % (self.integer_text(size, align, signed), name, name)]

    def members(self, depth, bits):
        """Returns the lines of a structure; its values follow later, because its alignment must be known first."""
        lines = []
        for _ in range(self.random.randrange(1, 5)):
            lines += self.field(depth + 1, None)
        return lines, alignment(lines)

    def fill(self, made, depth, bits):
        lines, align = made
        if bits is None:
            return
        values = random.Random(self.random.getrandbits(32))
        bits.align(align)
        parse_and_fill(lines, bits, values)

    def make_struct(self, name, depth, bits):
        made = self.members(depth, bits)
        self.fill(made, depth, bits)
        return ["struct {"] + made[0] + ["} %s;" % name]

    def make_structarray(self, name, depth, bits):
        made = self.members(depth, bits)
        count = self.random.randrange(4)
        if bits is not None:
            bits.align(made[1])
        for _ in range(count):
            self.fill(made, depth, bits)
        return ["struct {"] + made[0] + ["} %s[%d];" % (name, count)]

    def make_variant(self, name, depth, bits):
        options = []
        for index in range(3):
            options.append(self.members(depth, bits))
        chosen = self.random.randrange(3)
        self.put(bits, 8, 8, {0: self.random.randrange(0, 10), 1: 10, 2: self.random.randrange(11, 256)}[chosen])
        self.fill(options[chosen], depth, bits)
        lines = ["enum : integer { size = 8; align = 8; signed = false; } { a = 0 ... 9, b = 10, c = 11 ... 255 } "
                 "%s_tag;" % name, "variant <%s_tag> {" % name]
        for label, made in zip("abc", options):
            lines += ["struct {"] + made[0] + ["} %s;" % label]
        return lines + ["} %s;" % name]


def alignment(lines):
    """The alignment of a structure: the greatest of its members; members inside a variant do not count."""
    align, depth, skip = 1, 0, None
    for line in lines:
        if line.startswith("variant") and skip is None:
            skip = depth
        depth += line.endswith("{") - line.startswith("}")
        if skip is None:
            align = max([align] + [int(match) for match in re.findall(r"align = (\d+)", line)] +
                        [8] * line.startswith("string"))
        elif depth == skip:
            skip = None
    return align


def parse_and_fill(lines, bits, values):
    """Puts random values for the member lines of a structure (as made above)."""
    index, known = 0, {}

    def block(start):
        depth = 0
        for at in range(start, len(lines)):
            depth += lines[at].endswith("{") - lines[at].startswith("}")
            if depth == 0:
                return at
        raise ValueError

    while index < len(lines):
        line = lines[index]
        if line.startswith(("struct {", "variant")):
            end = block(index)
            inner = lines[index + 1:end]
            if line.startswith("variant"):
                tag = known[re.search(r"<(\w+)>", line).group(1)]
                label = "a" if tag < 10 else "b" if tag == 10 else "c"
                at = 0
                while True:
                    stop = at + 1
                    depth = 1
                    while depth:
                        depth += inner[stop].endswith("{") - inner[stop].startswith("}")
                        stop += 1
                    if inner[stop - 1] == "} %s;" % label:
                        bits.align(alignment(inner[at + 1:stop - 1]))
                        parse_and_fill(inner[at + 1:stop - 1], bits, values)
                        break
                    at = stop
            else:
                count = re.search(r"\[(\d+)\];$", lines[end])
                bits.align(alignment(inner))
                for _ in range(int(count.group(1)) if count else 1):
                    bits.align(alignment(inner))
                    parse_and_fill(inner, bits, values)
            index = end + 1
            continue
        name = re.search(r"(\w+)((\[\w+\])*);$", line)
        dimensions = re.findall(r"\[(\w+)\]", name.group(2))
        total = 1
        for dimension in dimensions:
            total *= known[dimension] if dimension in known else int(dimension)
        align = re.search(r"align = (\d+)", line)
        if line.startswith("string"):
            bits.bytes(values.choice([b"\0", b"ab\0", "\u00e9\0".encode()]))
        elif line.startswith("floating_point"):
            double = "exp_dig = 11" in line
            data = struct.pack(">d" if double else ">f", values.uniform(-10, 10))
            bits.integer(int.from_bytes(data, "big"), len(data) * 8, int(align.group(1)))
        else:
            size = int(re.search(r"size = (\d+)", line).group(1))
            bits.align(int(align.group(1)))
            for _ in range(total):
                value = values.getrandbits(64)
                if name.group(1).endswith("_n"):
                    value = values.randrange(5)
                if name.group(1).endswith("_tag"):
                    value = values.randrange(256)
                known[name.group(1)] = value
                bits.integer(value, size, int(align.group(1)))
        index += 1


def test_random(seed):
    big = seed % 2 == 1
    maker = Random(seed, big)
    lines, bodies = [], []
    fmt = ">" if big else "<"
    bits = Bits(big)
    bits.bytes(struct.pack(fmt + "IQQ", 0xc1fc1fc1, 0, 0))
    events = []
    for event in range(12):
        made = maker.members(0, None)
        bits.align(8)
        bits.integer(event, 8)
        maker.fill(made, 0, bits)
        events.append("event { id = %d; name = \"e%d\"; fields := struct {\n%s\n}; };\n" % (
            event, event, "\n".join(made[0])))
    content = len(bits.bits)
    data = bytearray(bits.get())
    data[4:20] = struct.pack(fmt + "QQ", content, len(data) * 8)
    text = """/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = %s;
	packet.header := struct { integer { size = 32; align = 8; } magic; }; };
clock { name = "c"; freq = 1000; };
stream {
	packet.context := struct { integer { size = 64; align = 8; } content_size;
		integer { size = 64; align = 8; } packet_size; };
	event.header := struct { integer { size = 8; align = 8; } id; };
};
%s""" % ("be" if big else "le", "".join(events))
    compare("random types, seed %d" % seed, {"metadata": text, "stream": bytes(data)})


# ---- order ----

def test_order():
    """Several traces and streams below one directory: one sequence by time, whatever their clocks are."""
    files = {}
    wanted = []
    generator = random.Random(5)
    for trace in range(3):
        frequency = [1000000000, 2500000000, 12345678][trace]
        text = """/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { integer { size = 32; } magic; }; };
env { procname = "p%d"; vpid = %d; };
clock { name = "c"; freq = %d; offset_s = 100; offset = %d; absolute = true; };
typealias integer { size = 64; align = 8; signed = false; map = clock.c.value; } := t;
stream { packet.context := struct { t timestamp_begin; t timestamp_end; };
	event.header := struct { t timestamp; }; };
event { name = "e"; fields := struct { integer { size = 32; align = 8; signed = false; } _n; }; };
""" % (trace, trace, frequency, trace * 1000)
        files["deep/t%d/metadata" % trace] = text
        for stream in range(2):
            data, tick = b"", 0
            for number in range(50):
                tick += generator.randrange(frequency // 10)
                data += struct.pack("<QI", tick, trace * 1000 + stream * 100 + number)
                # As babeltrace2 converts them: offset and value separately, in double precision.
                ns = int(1e9 * (trace * 1000) / frequency) + int(1e9 * tick / frequency)
                wanted.append((100 * 10**9 + ns, trace * 1000 + stream * 100 + number))
            files["deep/t%d/s%d" % (trace, stream)] = struct.pack("<IQQ", 0xc1fc1fc1, 0, tick) + data
    files["metadata_not_here"] = "x"
    with tempfile.TemporaryDirectory() as work:
        for name, data in files.items():
            path = os.path.join(work, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as out:
                out.write(data if isinstance(data, bytes) else data.encode())
        got = []
        for line in output(sample, "read", work).splitlines():
            match = re.match(r'e (\d+) \{"n": (\d+)\}', line)
            if not match:
                sys.exit("unexpected " + line)
            got.append((int(match.group(1)), int(match.group(2))))
        expect_equal(got, sorted(wanted), "order of 300 events")


test_ust()
test_kernel()
test_order()
for seed in range(400 if LONG else 24):
    test_random(seed)
finish()
