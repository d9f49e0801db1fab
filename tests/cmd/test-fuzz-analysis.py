#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Makes the traces that fuzz-analysis changes: all types of SIDE, channels with contexts, CTF 2, calls, allocations and locks."""
import os
import random
import struct
import subprocess
import sys
import tempfile

import call_trace
import synthetic

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "analysis"))
import lock_trace

SAMPLE, CHANNELS = os.environ["CTF_SAMPLE"], os.environ["CTF_CHANNELS"]
ALLOCATIONS = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := u8;
typealias integer { size = 32; align = 8; signed = false; } := u32;
typealias integer { size = 64; align = 8; signed = false; base = 16; } := x64;
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u32 magic; }; };
env { tracer_name = "side"; procname = "program"; vpid = 7; };
clock { name = "k"; freq = 1000000000; };
typealias integer { size = 64; align = 8; signed = false; map = clock.k.value; } := t;
stream { packet.context := struct { t timestamp_begin; t timestamp_end; x64 content_size; x64 packet_size; x64 events_discarded; };
	event.header := struct { u8 id; t timestamp; };
	event.context := struct { u32 _vtid; u32 __backtrace_length; x64 _backtrace[__backtrace_length]; }; };
event { name = "libc:malloc"; id = 0; fields := struct { x64 _size; x64 _result; }; };
event { name = "libc:free"; id = 1; fields := struct { x64 _ptr; }; };
event { name = "libc:realloc"; id = 2; fields := struct { x64 _ptr; x64 _size; x64 _result; }; };
"""


def write_calls(path):
    """Calls of two threads with processor times; some have no return."""
    chance, packet, now, opened = random.Random(1), [], 1000, {100: [], 101: []}
    for call in range(1, 1500):
        now += chance.randrange(1, 500)
        thread = chance.choice((100, 101))
        if opened[thread] and chance.random() < 0.5:
            number, begin = opened[thread].pop(chance.choice((-1, -1, -1, 0)))
            packet.append((now, thread, now, call_trace.leave(f"f{number % 7}", number, now - begin, chance.choice((0, -1, 2**63 - 1)))))
        else:
            number = call + (thread - 100) * call_trace.OTHER
            opened[thread].append((number, now))
            packet.append((now, thread, now, call_trace.enter(f"f{number % 7}", number)))
    call_trace.write(path, packet[:500], 3, packet[500:], threads=True, context=call_trace.CPU_CONTEXT)


def write_allocations(path):
    chance, records, blocks = random.Random(2), [], []
    for now in range(1000, 3000):
        stack = [0x400000 + 16 * chance.randrange(8) for _ in range(chance.randrange(1, 6))]
        record = struct.pack("<II", chance.choice((7, 8)), len(stack)) + struct.pack(f"<{len(stack)}Q", *stack)
        kind = chance.choice((0, 0, 1, 2))
        block = blocks.pop(chance.randrange(len(blocks))) if kind and blocks else 0
        result = 0x10000 + 64 * chance.randrange(1000)
        fields = {0: (chance.randrange(5000), result), 1: (block,), 2: (block, chance.randrange(5000), result)}[kind]
        if kind != 1:
            blocks.append(result)
        records.append(struct.pack("<BQ", kind, now) + record + struct.pack(f"<{len(fields)}Q", *fields))
    os.mkdir(path)
    with open(os.path.join(path, "metadata"), "w", encoding="ascii") as file:
        file.write(ALLOCATIONS)
    with open(os.path.join(path, "ring_0"), "wb") as file:
        data = b"".join(records)
        size = (4 + 40 + len(data)) * 8
        file.write(struct.pack("<IQQQQQ", 0xc1fc1fc1, 1000, 3000, size, size, 0) + data)


with tempfile.TemporaryDirectory() as folder:
    traces = [os.path.join(folder, name) for name in ("sample", "sample2", "channels", "channels2", "foreign", "calls", "allocations", "locks")]
    for command in ([SAMPLE, "write", traces[0]], [SAMPLE, "write2", traces[1]],
                    [CHANNELS, traces[2], "1", "0"], [CHANNELS, traces[3], "2", "3"]):
        subprocess.run(command, check=True)
    synthetic.write_trace(traces[4], "host", [synthetic.Process(1, "one", [1, 2])], 7, count=300)
    write_calls(traces[5])
    write_allocations(traces[6])
    lock_trace.write_anything(traces[7], 3, count=1500)
    sys.exit(subprocess.run([sys.argv[1], *traces], check=False).returncode)
