# SPDX-License-Identifier: MIT
"""The context `backtrace` of calls of libc equals what libgcc's unwinder finds in the program itself.

usage: test-stacks.py SIDE PROGRAM LIBRARY
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from checks import expect, finish

side, program, library = (os.path.abspath(a) for a in sys.argv[1:4])
work = tempfile.TemporaryDirectory(prefix="side-stacks-")
CASES = ["constructor", "main", "deep", "deeper", "callback", "handler", "alternate", "thread", "coroutine", "generated",
         "broken", "misleading", "pointer", "library", "again", "child", "sandbox"]


def record(name, *options):
    """Records the program; returns the trace and, for each case, the block and the callers."""
    trace, printed = os.path.join(work.name, name), os.path.join(work.name, name + ".printed")
    done = subprocess.run([side, "record", "-q", "-w", "libc", *options, "-o", trace, "--", "/bin/sh", "-c",
                           'exec "$0" "$1" 3>"$2"', program, library, printed], capture_output=True, text=True,
                          check=False, timeout=60)
    expect(done.returncode == 0, f"{name}: status {done.returncode}: {done.stderr[:500]}")
    with open(printed, encoding="utf-8") as lines:
        cases = {line.split()[0]: line.split()[1:] for line in lines}
    expect(list(cases) == CASES, f"{name}: cases {list(cases)}")
    return trace, cases


def backtrace(event):
    """It is a context of the channel or of the event."""
    return (event.get("stream_context") or event["context"])["backtrace"]


def viewed(trace):
    """The calls of malloc(77): block, caller and backtrace, as `side view` prints them."""
    view = subprocess.run([side, "view", "--json", trace], capture_output=True, text=True, check=True, timeout=60)
    for line in view.stdout.splitlines():
        item = json.loads(line)
        expect(item["type"] == "event", f"not an event: {line[:300]}")
        if item["event"] == "libc:malloc" and item["fields"]["size"] == 77:
            yield item["fields"]["result"], item["fields"]["caller"], backtrace(item)


def by_babeltrace(trace):
    """The same from an independent reader."""
    text = subprocess.run(["babeltrace2", trace], capture_output=True, text=True, check=True, timeout=60).stdout
    for line in text.splitlines():
        found = re.search(r"libc:malloc: .* backtrace = \[ (.*?) \].* size = 77, result = (\w+), caller = (\w+)", line)
        if found:
            calls = [int(address, 16) for address in re.findall(r"= (0x\w+)", found[1])]
            yield int(found[2], 16), int(found[3], 16), calls


def number(value):
    return int(value, 0) if isinstance(value, str) else value


def compare(name, trace, cases, depth):
    calls = [(number(block), number(caller), [number(frame) for frame in frames])
             for block, caller, frames in viewed(trace)]
    expect(len(calls) == len(CASES), f"{name}: {len(calls)} calls")
    for case, (block, *right) in cases.items():
        # A block may be used again after a fork.
        found = [frames for other, caller, frames in calls if other == int(block, 16) and frames[0] == caller]
        expect(found, f"{name}: {case}: no call returned {block}, or its backtrace does not begin with its caller")
        if right == ["-"]:
            continue
        right = [int(frame, 16) for frame in right][:depth - 1]
        expect(any(frames[1:] == right for frames in found),
               f"{name}: {case}: {[[hex(f) for f in frames] for frames in found]} instead of {[hex(f) for f in right]}")
    if shutil.which("babeltrace2"):
        expect(sorted(by_babeltrace(trace)) == sorted(calls), f"{name}: babeltrace2 reads other backtraces")
    return {case: next(frames for other, _, frames in calls if other == int(block, 16)) for case, (block, *_) in cases.items()}


def test_channel():
    trace, cases = record("channel", "--context", "vtid,backtrace,procname")
    frames = compare("channel", trace, cases, 32)
    expect(len(frames["deep"]) == 32, f"{len(frames['deep'])} frames of deep calls")
    # Generated code that keeps frame pointers leads on to main(); other code ends the backtrace.
    expect(frames["generated"][2] != frames["broken"][-1] and len(frames["generated"]) > len(frames["broken"]) == 2,
           f"{frames['generated']} {frames['broken']}")
    for case in ("misleading", "pointer"):
        expect(len(frames[case]) == 2, f"{case}: {frames[case]} has a frame that is none")
    expect(frames["generated"][-3:] == frames["main"][-3:], f"{frames['generated']} does not end as {frames['main']}")


def test_depths():
    trace, cases = record("most", "--context", "backtrace:128")
    frames = compare("most", trace, cases, 128)
    expect(len(frames["deep"]) > 60 and len(frames["deeper"]) == 128, "not all frames of deep calls")
    trace, cases = record("least", "--context", "backtrace:1")
    compare("least", trace, cases, 1)


def test_one_event():
    trace, cases = record("event", "-e", "libc:malloc", "--event-context", "backtrace:9,vtid")
    compare("event", trace, cases, 9)


def test_filter():
    """With a filter, the filter's frames are the tracer's, too."""
    trace, cases = record("filter", "-e", "libc:malloc", "--filter", "size == 77", "--context", "backtrace")
    compare("filter", trace, cases, 32)


def test_unmapped():
    """The event of munmap() comes before the call, which kills the process here."""
    trace, _ = record("unmapped", "-e", "libc:munmap", "-e", "libc:malloc")
    view = subprocess.run([side, "view", "--json", trace], capture_output=True, text=True, check=True, timeout=60)
    found = [event for event in map(json.loads, view.stdout.splitlines())
             if event.get("event") == "libc:munmap" and event["fields"]["length"] == 1234567]
    expect(len(found) == 1 and "result" not in found[0]["fields"], f"{found}")


def test_filter_refused():
    """A filter names the context."""
    done = subprocess.run([side, "record", "-q", "-w", "libc", "--filter", "$ctx.backtrace == 1", "-o",
                           os.path.join(work.name, "refused"), "--", "true"], capture_output=True, text=True, check=False,
                          timeout=60)
    expect(done.returncode != 0 and "filter, column 6: a filter cannot compare the context backtrace" in done.stderr,
           f"{done.returncode} {done.stderr}")


def test_application():
    """With a context of the application, records are written by another function."""
    trace, cases = record("application", "--context", "app:no:such,backtrace:20")
    compare("application", trace, cases, 20)


def test_threads_library():
    """Calls of pthread have backtraces, too: the first address is the caller."""
    trace = os.path.join(work.name, "pthread")
    with open(os.devnull, "wb") as null:
        done = subprocess.run([side, "record", "-q", "-w", "pthread", "--context", "backtrace", "-o", trace, "--", "/bin/sh",
                               "-c", 'exec "$0" 3>/dev/null', program], stdout=null, stderr=subprocess.PIPE, check=False,
                              timeout=60)
    expect(done.returncode == 0, f"pthread: {done.returncode} {done.stderr}")
    view = subprocess.run([side, "view", "--json", trace], capture_output=True, text=True, check=True, timeout=60)
    events = [json.loads(line) for line in view.stdout.splitlines()]
    events = [event for event in events if event.get("event", "").startswith("pthread:")]
    expect(any(event["event"] == "pthread:pthread_create" for event in events), f"{len(events)} events")
    for event in events:
        frames = backtrace(event)
        expect(len(frames) > 1 and number(frames[0]) == number(event["fields"]["caller"]), f"{event}")


for test in (test_channel, test_depths, test_one_event, test_filter, test_unmapped, test_filter_refused, test_application, test_threads_library):
    test()
finish()
