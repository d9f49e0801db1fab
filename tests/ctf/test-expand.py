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
from checks import run

os.environ["TZ"] = "UTC"
os.environ["LC_ALL"] = "C.UTF-8"

side, sample, channels = map(os.path.realpath, sys.argv[1:4])
failures = 0
work = tempfile.TemporaryDirectory()
os.chdir(work.name)


def check(what, wanted, got):
    global failures
    if wanted != got:
        failures += 1
        print("%s\n  wanted %s\n  got    %s" % (what, str(wanted)[:1000], str(got)[:1000]))


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
    check("status", (0, ""), (done.returncode, done.stdout))
    check("said", True, "expanded" in done.stderr)
    before, after = contents("many"), contents("expanded")
    check("files", {name.removesuffix(".zst") for name in before}, set(after))
    check("plain files", before["plain/threads_17"], after["plain/threads_17"])
    check("metadata", before["two/metadata"], after["two/metadata"])
    streams = [name for name in before if name.endswith(".zst")]
    check("compressed files", 8, len(streams))
    for name in streams:
        plain = name.removesuffix(".zst")
        other = os.path.join("plain", os.path.basename(plain))
        check(plain, without_uuid(before[other]), without_uuid(after[plain]))
        if shutil.which("zstd"):
            check("zstd(1): " + plain, subprocess.run(["zstd", "-dc", os.path.join("many", name)], check=True,
                                                      capture_output=True).stdout, after[plain])
    check("read", run(sample, "read-contexts", "expanded/plain").stdout,
          run(sample, "read-contexts", "expanded/one").stdout)
    # The view of the compressed trace is the same.
    check("view of one and the other", run(side, "view", "expanded/two").stdout, run(side, "view", "many/two").stdout)
    if shutil.which("babeltrace2"):
        check("babeltrace2", 10, len(run("babeltrace2", "expanded/one").stdout.splitlines()))


def test_names():
    run(sample, "write-zstd", "trace")
    done = run(side, "expand", "trace/", status=None)
    check("beside", (0, ["metadata", "ring_3"]), (done.returncode, sorted(os.listdir("trace-expanded"))))
    done = run(side, "expand", "trace", status=None)
    check("not over another one", 1, done.returncode)
    check("what is there stays", True, "trace-expanded" in done.stderr and len(os.listdir("trace-expanded")) == 2)
    check("no name", 2, run(side, "expand", ".", status=None).returncode)
    done = run(side, "expand", "nowhere", status=None)
    check("no directory", (1, True), (done.returncode, "nowhere" in done.stderr))
    done = run(side, "expand", "--json", "trace", "-o", "third", status=None)
    report = json.loads(done.stdout)
    check("JSON", ("expanded", "third", 1, 1, 0),
          tuple(report[key] for key in ("type", "output", "expanded", "copied", "damaged")))
    check("nothing to do", True, "copy" in run(side, "expand", "third", "-o", "fourth", status=None).stderr)


def test_damage():
    with open("trace/ring_3.zst", "rb") as file:
        data = file.read()
    for what, damaged, sentence in (("cut", data[:-7], "cut off"), ("flipped", data[:-1] + bytes([data[-1] ^ 1]), "left out"),
                                    ("no frame", data + b"nonsense", "not expanded")):
        with open("trace/ring_3.zst", "wb") as file:
            file.write(damaged)
        done = run(side, "expand", "trace", "-o", "out " + what, status=None)
        check("status of " + what, 1, done.returncode)
        check("sentence about " + what, True, sentence in done.stderr and "ring_3.zst" in done.stderr)
        check("what there is of " + what, True, os.path.getsize("out " + what + "/ring_3") >= 84)
        done = run(side, "expand", "--json", "trace", "-o", "json " + what, status=None)
        check("JSON of " + what, 1, json.loads(done.stdout)["damaged"])
    with open("trace/ring_3.zst", "wb") as file:
        file.write(data[:-7])
    run(side, "view", "--repair", "trace", status=None)
    check("after repair", 0, run(side, "expand", "trace", "-o", "mended", status=None).returncode)


for name, test in list(globals().items()):
    if name.startswith("test_"):
        test()
os.chdir("/")
sys.exit(1 if failures else 0)
