# SPDX-License-Identifier: MIT
"""The number of threads does not change the output: test-view-threads.py SAMPLE VIEWER

A trace with every type, copied so that there are many streams at the same times; and one that is
long enough for many batches. With any number of threads, the output equals that of one thread.
"""
import os
import shutil
import subprocess
import sys
import tempfile

sample, viewer = sys.argv[1:3]


def shown(*args):
    run = subprocess.run([viewer, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return run.returncode, run.stdout, run.stderr


def same(trace, least, *args):
    one = shown("-t", "1", *args, trace)
    assert one[0] == 0 and one[1].count(b"\n") >= least, one
    for threads in ("2", "5"):
        got = shown("-t", threads, *args, trace)
        assert got == one, f"{threads} threads, {args}: {len(got[1])} bytes, not {len(one[1])}"


with tempfile.TemporaryDirectory() as work:
    traces = os.path.join(work, "traces")
    first = os.path.join(work, "first")
    subprocess.run([sample, "write", first], check=True)
    one = shown("-t", "1", first)[1].count(b"\n")
    assert one > 10
    for i in range(12):
        shutil.copytree(first, os.path.join(traces, f"trace-{i:02}"))
    for options in ([], ["-j"], ["-c", "-a"], ["-j", "-a"]):
        same(traces, 12 * one, *options)
    same(traces, 7, "-n", "7")

    # Copies of the packets make a stream long; their times go backwards, which the output with any
    # number of threads must show in the same way.
    streams = [name for name in os.listdir(first) if name not in ("metadata", "side_session")]
    for i in range(3):
        for name in streams:
            path = os.path.join(traces, f"trace-{i:02}", name)
            with open(path, "rb") as file:
                once = file.read()
            with open(path, "ab") as file:
                file.write(once * 30)
    same(traces, 12 * one)
    same(traces, 12 * one, "-j")

    # One packet is damaged: the message appears at its position.
    with open(os.path.join(traces, "trace-01", streams[0]), "r+b") as file:
        file.seek(os.path.getsize(os.path.join(first, streams[0])) * 20 + 90)
        file.write(b"\xff" * 16)
    results = {shown("-j", "-t", threads, traces) for threads in ("1", "2", "5")}
    assert len(results) == 1, "damage"
    (status, out, err), = results
    assert status == 1 and b'"type":"damage"' in out and b"is damaged" in err, err
