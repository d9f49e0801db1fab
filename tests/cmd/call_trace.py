# SPDX-License-Identifier: MIT
"""Traces of calls in CTF 1.8, written byte by byte from the format's description, not by side's writer."""
import os
import struct

METADATA = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := u8;
typealias integer { size = 32; align = 8; signed = false; } := u32;
typealias integer { size = 64; align = 8; signed = false; } := u64;
typealias integer { size = 32; align = 8; signed = true; } := s32;
typealias integer { size = 64; align = 8; signed = true; } := s64;
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u32 magic; }; };
env { tracer_name = "side"; procname = "server"; vpid = 5; };
clock { name = "k"; freq = 1000000000; };
typealias integer { size = 64; align = 8; signed = false; map = clock.k.value; } := t;
stream { packet.context := struct { t timestamp_begin; t timestamp_end; u64 content_size; u64 packet_size; u64 events_discarded; };
	event.header := struct { u8 id; t timestamp; };%s };
event { name = "probe:fib"; id = 0; fields := struct { u64 _call; s32 _n; string _s; }; };
event { name = "probe:fib_return"; id = 1; fields := struct { u64 _call; u64 _duration; s64 _return_value; u32 _errno; }; };
event { name = "probe:all"; id = 2; fields := struct { string _function; u64 _address; u64 _call; }; };
event { name = "probe:all_return"; id = 3; fields := struct { string _function; u64 _address; u64 _call; u64 _duration; s64 _return_value; }; };
event { name = "db:query"; id = 4; fields := struct { u32 _id; }; };
event { name = "probe:cook"; id = 6; fields := struct { s32 _pid; s32 _tid; string _comm; u64 _call; u32 _guests; }; };
event { name = "probe:cook_return"; id = 7; fields := struct { s32 _pid; s32 _tid; string _comm; u64 _call; u64 _duration; s64 _return_value; }; };
event { name = "sched:sched_switch"; id = 200; fields := struct { s32 _prev_pid; s32 _next_pid; }; };
event { name = "pbx:ring"; id = 5; fields := struct { u64 _call; }; };
"""
CONTEXT = " event.context := struct { s32 _vtid; u64 _ip; };"
CPU_CONTEXT = " event.context := struct { s32 _vtid; u64 _perf_thread_task_clock; };"
OTHER = 1 << 48  # the calls of another thread


def fib(call, n, text=""):
    return 0, struct.pack("<Qi", call, n) + text.encode() + b"\0"


def fib_return(call, duration, value, errno=0):
    return 1, struct.pack("<QQqI", call, duration, value, errno)


def enter(function, call):
    return 2, function.encode() + b"\0" + struct.pack("<QQ", 0x1000, call)


def leave(function, call, duration, value=0):
    return 3, function.encode() + b"\0" + struct.pack("<QQQq", 0x1000, call, duration, value)


def query(number):
    return 4, struct.pack("<I", number)


def switch(previous, following):
    return 200, struct.pack("<ii", previous, following)


def ring(call):
    return 5, struct.pack("<Q", call)


def write(folder, *packets, threads=False, context=CONTEXT):
    """
    Packets are lists of (time, event), after a loss or not. With threads: (time, vtid, event), or (time, vtid, number, event) with the other
    value of the context.
    """
    os.mkdir(folder)
    with open(os.path.join(folder, "metadata"), "w", encoding="ascii") as file:
        file.write(METADATA % (context if threads else ""))
    with open(os.path.join(folder, "ring_0"), "wb") as file:
        begin = lost = 0
        for packet in packets:
            if isinstance(packet, int):
                lost += packet
                continue
            data = b"".join(struct.pack("<BQ", number, time) + (struct.pack("<iQ", thread[0], thread[1] if len(thread) > 1 else 0x40) if thread else b"") + fields
                            for time, *thread, (number, fields) in packet)
            size = (4 + 40 + len(data)) * 8
            file.write(struct.pack("<IQQQQQ", 0xc1fc1fc1, begin, packet[-1][0], size, size, lost) + data)
            begin = packet[-1][0]
    return folder
