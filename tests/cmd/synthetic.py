# SPDX-License-Identifier: MIT
"""A generated trace: two processes of several threads on two CPUs, in CTF 1.8.

Written byte by byte from the format's description, not by side's writer. A seed determines its
content, so that two runs have the same trace.
"""
import os
import random
import struct
import uuid

CLOCK_START = 1_700_000_000  # seconds
EVENTS = ["db:begin", "db:end", "fn:enter", "fn:leave", "app:value", "app:tick"]

METADATA = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := u8;
typealias integer { size = 16; align = 8; signed = false; } := u16;
typealias integer { size = 32; align = 8; signed = false; } := u32;
typealias integer { size = 32; align = 8; signed = true; } := s32;
typealias integer { size = 64; align = 8; signed = false; } := u64;
typealias integer { size = 64; align = 8; signed = true; } := s64;
typealias floating_point { exp_dig = 11; mant_dig = 53; align = 8; } := f64;
trace {
	major = 1; minor = 8; uuid = "%(uuid)s"; byte_order = le;
	packet.header := struct { u32 magic; u8 uuid[16]; u32 stream_id; };
};
env { hostname = "%(host)s"; domain = "ust"; tracer_name = "other"; };
clock { name = "k"; freq = 1000000000; offset_s = %(start)d; offset = 0; absolute = true; };
typealias integer { size = 64; align = 8; signed = false; map = clock.k.value; } := time;
stream {
	id = 0;
	packet.context := struct { time timestamp_begin; time timestamp_end; u64 content_size;
		u64 packet_size; u64 events_discarded; u32 cpu_id; };
	event.header := struct { u16 id; time timestamp; };
	event.context := struct { s32 _vpid; s32 _vtid; string _procname; u64 _ip; };
};
event { name = "db:begin"; id = 0; stream_id = 0; fields := struct { u32 _id; string _query; }; };
event { name = "db:end"; id = 1; stream_id = 0; fields := struct { u32 _id; s32 _rows; }; };
event { name = "fn:enter"; id = 2; stream_id = 0; fields := struct { u8 _depth; }; };
event { name = "fn:leave"; id = 3; stream_id = 0; fields := struct { u8 _depth; }; };
event { name = "app:value"; id = 4; stream_id = 0; loglevel = 4; fields := struct {
	s64 _number; f64 _real; enum : u8 { idle = 0, busy = 1 ... 3 } _state;
	struct { u64 _a; string _b; } _inner; u8 __list_length; u16 _list[__list_length]; }; };
event { name = "app:tick"; id = 5; stream_id = 0; fields := struct { }; };
"""


class Process:
    def __init__(self, pid, name, threads):
        self.pid, self.name, self.threads = pid, name, threads
        self.depth = {thread: 0 for thread in threads}
        self.open = []


def write_trace(path, host, processes, seed, count=6000, packet=200):
    """Writes one trace with two streams; returns its losses, by stream."""
    chance = random.Random(seed)
    identity = uuid.UUID(int=chance.getrandbits(128), version=4)
    os.makedirs(path)
    with open(os.path.join(path, "metadata"), "w", encoding="utf-8") as file:
        file.write(METADATA % {"uuid": identity, "host": host, "start": CLOCK_START})
    streams = [[], []]
    now = chance.randrange(1000)
    request = 0
    for _ in range(count):
        now += chance.choice([1, 7, 120, 3500, 40_000, 2_000_000])
        process = chance.choice(processes)
        thread = chance.choice(process.threads)
        cpu = chance.randrange(2)
        kind = chance.choices(range(6), [20, 18, 20, 20, 15, 7])[0]
        body = b""
        if kind == 0:
            request += 1
            body = struct.pack("<I", request) + chance.choice([b"select", b"insert, \"x\"", b"delete"]) + b"\0"
            process.open.append(request)
        elif kind == 1:
            # Some ends have no begin, some begins no end.
            number = process.open.pop(chance.randrange(len(process.open))) \
                if process.open and chance.random() < 0.95 else 4_000_000_000
            body = struct.pack("<Ii", number, chance.randrange(-5, 1000))
        elif kind == 2:
            process.depth[thread] += 1
            body = struct.pack("<B", process.depth[thread] % 256)
        elif kind == 3:
            body = struct.pack("<B", process.depth[thread] % 256)
            process.depth[thread] = max(0, process.depth[thread] - 1)
        elif kind == 4:
            number = chance.choice([chance.randrange(-100, 100), chance.randrange(2**40), -2**63, 2**63 - 1])
            values = [chance.randrange(65536) for _ in range(chance.randrange(4))]
            body = struct.pack("<qdB", number, chance.choice([0.5, 1.0, 1e6, chance.random() * 9]),
                               chance.randrange(6))
            body += struct.pack("<Q", chance.randrange(2**64)) + "grün,\n\"q\"".encode() + b"\0"
            body += struct.pack("<B", len(values)) + struct.pack(f"<{len(values)}H", *values)
        context = struct.pack("<ii", process.pid, thread) + process.name.encode() + b"\0"
        context += struct.pack("<Q", chance.choice([0x401000, 0x401230, 0x7f0000001000 + process.pid]))
        streams[cpu].append((now, struct.pack("<HQ", kind, now) + context + body))
    lost = []
    for cpu, records in enumerate(streams):
        discarded = 0
        with open(os.path.join(path, f"stream_{cpu}"), "wb") as file:
            for start in range(0, len(records), packet):
                part = records[start:start + packet]
                if start and chance.random() < 0.3:
                    discarded += chance.randrange(1, 50)
                payload = b"".join(record for _, record in part)
                size = (24 + 44 + len(payload)) * 8
                file.write(struct.pack("<I", 0xc1fc1fc1) + identity.bytes + struct.pack("<I", 0))
                file.write(struct.pack("<QQQQQI", part[0][0], part[-1][0], size, size, discarded, cpu))
                file.write(payload)
        lost.append(discarded)
    return lost


def make(path):
    """Makes the usual trace, which both tests use."""
    first = [Process(100, "server", [100, 101, 102]), Process(200, "client", [200])]
    second = [Process(100, "server", [100, 103])]  # Another host has the same numbers.
    return (write_trace(os.path.join(path, "one"), "alpha", first, 1),
            write_trace(os.path.join(path, "two"), "beta", second, 2))
