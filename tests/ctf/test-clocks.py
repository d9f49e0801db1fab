# SPDX-License-Identifier: MIT
"""Times equal those of babeltrace2, to the nanosecond: random clocks (frequencies from 1 Hz to 2^63,
offsets in seconds of both signs, offsets in cycles of more than a second), random values.

test-clocks.py SIDE
"""
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

side = sys.argv[1]
LONG = os.environ.get("SIDE_TEST_LONG") == "1"
METADATA = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := u8;
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u8 stream_id; }; };
clock { name = "k"; freq = %d; offset_s = %d; offset = %d; };
typealias integer { size = 64; align = 8; signed = false; map = clock.k.value; } := time;
stream { id = 0; packet.context := struct { time timestamp_begin; }; event.header := struct { time timestamp; }; };
event { name = "e"; id = 0; stream_id = 0; fields := struct { u8 _n; }; };
"""


def bits(chance, most):
    return chance.randrange(1, 2**chance.randrange(1, most + 1))


def random_clock(chance):
    frequency = chance.choice([10**9, 1, 3, 1000, 10**6, 2**32, 2_893_205_000, 10**9 - 1, 10**9 + 1,
                               chance.randrange(1, 10**10), chance.randrange(10**9, 4 * 10**9), bits(chance, 62)])
    seconds = chance.choice([0, 1_700_000_000 + chance.randrange(10**8), -chance.randrange(10**9),
                             chance.randrange(-9 * 10**9, 9 * 10**9)])
    cycles = chance.choice([0, chance.randrange(frequency), bits(chance, 62)])
    return frequency, seconds, cycles


def babeltrace_ns(path):
    """Returns the times up to the first one that babeltrace2 cannot express."""
    done = subprocess.run(["babeltrace2", "--clock-seconds", path], capture_output=True, text=True)
    times = []
    for line in done.stdout.splitlines():
        text = line.split("]")[0][1:]
        seconds, rest = text.lstrip("-").split(".")
        ns = int(seconds) * 10**9 + int(rest)
        times.append(-ns if text.startswith("-") else ns)
    return times


def side_ns(path):
    done = subprocess.run([side, "view", "--json", path], capture_output=True, text=True)
    if done.returncode or done.stderr:
        sys.exit("side view gave %d: %s" % (done.returncode, done.stderr))
    return [json.loads(line)["ns"] for line in done.stdout.splitlines()]


def compare(number, clock, values):
    with tempfile.TemporaryDirectory() as path:
        with open(os.path.join(path, "metadata"), "w", encoding="ascii") as file:
            file.write(METADATA % clock)
        with open(os.path.join(path, "stream"), "wb") as file:
            # babeltrace2 2.1.1 aborts on a packet without the time of its begin.
            file.write(b"\0" + struct.pack("<Q", values[0]) + b"".join(struct.pack("<QB", value, 0) for value in values))
        wanted, got = babeltrace_ns(path), side_ns(path)
    if len(got) != len(values):
        sys.exit("clock %d %r: %d of %d events" % (number, clock, len(got), len(values)))
    for value, theirs, ours in zip(values, wanted, got):
        if theirs != ours:
            sys.exit("clock %d %r: the value %d is %d with babeltrace2, %d with side" % (
                number, clock, value, theirs, ours))
    if got != sorted(got):
        sys.exit("clock %d %r: times go back" % (number, clock))
    return len(wanted)


compared = 0
for number in range(1500 if LONG else 100):
    chance = random.Random(number)
    clock = random_clock(chance)
    # Only as many bits as give a time that fits.
    most = max(1, min(64, 33 + clock[0].bit_length()))
    compared += compare(number, clock, sorted(bits(chance, most) - 1 for _ in range(100)))
if compared < 5000:
    sys.exit("babeltrace2 read only %d events" % compared)
print(compared, "times are equal")
