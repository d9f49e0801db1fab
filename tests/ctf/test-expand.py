# SPDX-License-Identifier: MIT
"""`side expand`: its output for compressed traces, complete and damaged.

test-expand.py SIDE SAMPLE CHANNELS
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from checks import expect, expect_equal, finish, run

os.environ["TZ"] = "UTC"
os.environ["LC_ALL"] = "C.UTF-8"

side, sample, channels = map(os.path.realpath, sys.argv[1:4])
work = tempfile.TemporaryDirectory()
os.chdir(work.name)


def contents(directory):
    found = {}
    for path, _, names in os.walk(directory):
        for name in names:
            with open(os.path.join(path, name), "rb") as file:
                found[os.path.relpath(os.path.join(path, name), directory)] = file.read()
    return found


def without_uuid(data):
    """Two traces differ in the UUID of each packet only."""
    out, at = bytearray(data), 0
    while at < len(out):
        out[at + 4:at + 20] = bytes(16)
        at += int.from_bytes(out[at + 56:at + 64], sys.byteorder) // 8
    return bytes(out)


def test_whole():
    """The expanded trace equals, byte by byte, the uncompressed one and the output of zstd(1)."""
    os.mkdir("many")
    run(channels, "many/plain", "1", "0")
    run(channels, "many/one", "1", "19")
    run(channels, "many/two", "2", "1")
    done = run(side, "expand", "many", "-o", "expanded", status=None)
    expect_equal((done.returncode, done.stdout), (0, ""), "status")
    expect("expanded" in done.stderr, f"said: {done.stderr}")
    before, after = contents("many"), contents("expanded")
    expect_equal(set(after), {name.removesuffix(".zst") for name in before}, "files")
    expect_equal(after["plain/threads_17"], before["plain/threads_17"], "plain files")
    expect_equal(after["two/metadata"], before["two/metadata"], "metadata")
    streams = [name for name in before if name.endswith(".zst")]
    expect_equal(len(streams), 8, "compressed files")
    for name in streams:
        plain = name.removesuffix(".zst")
        other = os.path.join("plain", os.path.basename(plain))
        expect_equal(without_uuid(after[plain]), without_uuid(before[other]), plain)
        if shutil.which("zstd"):
            expect_equal(after[plain], subprocess.run(["zstd", "-dc", os.path.join("many", name)], check=True,
                                                      capture_output=True).stdout, "zstd(1): " + plain)
    expect_equal(run(sample, "read-contexts", "expanded/one").stdout, run(sample, "read-contexts", "expanded/plain").stdout, "read")
    # The view of the compressed trace is the same.
    expect_equal(run(side, "view", "many/two").stdout, run(side, "view", "expanded/two").stdout, "view of one and the other")
    if shutil.which("babeltrace2"):
        expect_equal(len(run("babeltrace2", "expanded/one").stdout.splitlines()), 10, "babeltrace2")


def test_names():
    run(sample, "write-zstd", "trace")
    done = run(side, "expand", "trace/", status=None)
    expect_equal((done.returncode, sorted(os.listdir("trace-expanded"))), (0, ["metadata", "ring_3"]), "beside")
    done = run(side, "expand", "trace", status=None)
    expect_equal(done.returncode, 1, "not over another one")
    expect("trace-expanded" in done.stderr and len(os.listdir("trace-expanded")) == 2, f"what is there stays: {done.stderr}")
    expect_equal(run(side, "expand", ".", status=None).returncode, 2, "no name")
    done = run(side, "expand", "nowhere", status=None)
    expect_equal((done.returncode, "nowhere" in done.stderr), (1, True), "no directory")
    done = run(side, "expand", "--json", "trace", "-o", "third", status=None)
    report = json.loads(done.stdout)
    expect_equal(tuple(report[key] for key in ("type", "output", "expanded", "copied", "damaged")), ("expanded", "third", 1, 1, 0), "JSON")
    done = run(side, "expand", "third", "-o", "fourth", status=None)
    expect("copy" in done.stderr, f"nothing to do: {done.stderr}")


def test_damage():
    with open("trace/ring_3.zst", "rb") as file:
        data = file.read()
    for what, damaged, sentence in (("cut", data[:-7], "cut off"), ("flipped", data[:-1] + bytes([data[-1] ^ 1]), "left out"),
                                    ("no frame", data + b"nonsense", "not expanded")):
        with open("trace/ring_3.zst", "wb") as file:
            file.write(damaged)
        done = run(side, "expand", "trace", "-o", "out " + what, status=None)
        expect_equal(done.returncode, 1, "status of " + what)
        expect(sentence in done.stderr and "ring_3.zst" in done.stderr, f"sentence about {what}: {done.stderr}")
        size = os.path.getsize("out " + what + "/ring_3")
        expect(size >= 84, f"what there is of {what}: {size} bytes")
        done = run(side, "expand", "--json", "trace", "-o", "json " + what, status=None)
        expect_equal(json.loads(done.stdout)["damaged"], 1, "JSON of " + what)
    with open("trace/ring_3.zst", "wb") as file:
        file.write(data[:-7])
    run(side, "view", "--repair", "trace", status=None)
    expect_equal(run(side, "expand", "trace", "-o", "repaired", status=None).returncode, 0, "after repair")


for name, test in list(globals().items()):
    if name.startswith("test_"):
        test()
os.chdir("/")
finish()
