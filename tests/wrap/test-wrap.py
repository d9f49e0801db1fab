# SPDX-License-Identifier: MIT
"""Wrapped calls become events with the right values, and programs behave as without wrappers.

usage: test-wrap.py SIDE CALLS THREADS COUNTER LIBRARY...
"""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

from count_calls import read_counts

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from checks import expect, finish

side, calls, threads, counter = (os.path.abspath(a) for a in sys.argv[1:5])
libraries = sys.argv[5:]  # the wrappers, and the libraries of the recorder
work = tempfile.TemporaryDirectory(prefix="side-wrap-")
counted_names = None


def record(name, wrappers, command, **options):
    """Runs COMMAND recorded; returns the completed process and the list of (event, pid, fields)."""
    trace = os.path.join(work.name, name)
    words = [side, "record", "-q", "-o", trace]
    for wrapper in wrappers:
        words += ["-w", wrapper]
    done = subprocess.run(words + ["--"] + command, capture_output=True, check=False, timeout=120, **options)
    events, losses = [], []
    view = subprocess.run([side, "view", "--json", trace], capture_output=True, text=True, check=False,
                          timeout=120)
    expect(view.returncode == 0, f"side view {name}: {view.returncode} {view.stderr[:300]}")
    for line in view.stdout.splitlines():
        item = json.loads(line)
        if item["type"] == "event":
            item["provider"], item["event"] = item["event"].split(":", 1)
            events.append(item)
        else:
            losses.append(item)
    expect(not losses, f"{name}: {losses[:3]}")
    return done, events


def number(value):
    """Pointers may be written as numbers or as text in base 16."""
    return int(value, 0) if isinstance(value, str) and value[:2] in ("0x", "0X") else value


def matches(event, want):
    if event["event"] != want["e"]:
        return False
    return all(number(event["fields"].get(key)) == value for key, value in want.items() if key != "e")


def test_values():
    """Each call of wrap-calls is an event with its arguments, in the order of the calls."""
    for mode, wrappers in (("m", ["libc"]), ("f", ["libc"]), ("l", ["pthread"]), ("d", ["libc"]), ("w", ["pthread"]),
                           ("mfldw", ["libc", "pthread"])):
        calls_file = os.path.join(work.name, "printed-" + mode)
        with open(calls_file, "wb") as out:
            fd = out.fileno()
            done, events = record("calls-" + mode, wrappers, ["/bin/sh", "-c", 'exec "$0" "$1" "$2" 3>"$3"',
                                  calls, mode, work.name, calls_file])
            del fd
        expect(done.returncode == 0, f"calls {mode}: status {done.returncode}: {done.stderr[:300]}")
        events = [e for e in events if e["provider"] in ("libc", "pthread")]
        position = 0
        with open(calls_file, encoding="utf-8") as lines:
            wants = [json.loads(line) for line in lines]
        expect(len(wants) > 10, f"calls {mode} wrote only {len(wants)} lines")
        for want in wants:
            found = next((i for i in range(position, len(events)) if matches(events[i], want)), None)
            if found is None:
                close = [e["fields"] for e in events if e["event"] == want["e"]][:5]
                expect(False, f"calls {mode}: no event {want} after position {position}; there are {close}")
            else:
                position = found + 1
        for event in events:
            expect(number(event["fields"]["caller"]) != 0, f"{event['event']} has no caller")


def test_signals():
    """Every write of a handler that interrupts malloc is recorded, and every malloc and free."""
    calls_file = os.path.join(work.name, "printed-signals")
    done, events = record("signals", ["libc"], ["/bin/sh", "-c", 'exec "$0" s / 3>"$1"', calls, calls_file])
    expect(done.returncode == 0, f"calls s: status {done.returncode}: {done.stderr[:300]}")
    with open(calls_file, encoding="utf-8") as lines:
        want = json.loads(lines.read())
    writes = sum(e["event"] == "write" and e["fields"]["fd"] == want["null_fd"] for e in events)
    expect(writes == want["handled"], f"{want['handled']} handlers wrote, {writes} events")


def test_counts(name, wrappers, command, stdin=None):
    """The number of events of each call equals the count of an independent counter in another run."""
    counts = os.path.join(work.name, f"counts-{name}")
    plain = subprocess.run(command, input=stdin, capture_output=True, check=False, timeout=60,
                           env=dict(os.environ, LD_PRELOAD=counter, COUNT_CALLS_FILE=counts))
    done, events = record(name, wrappers, command, input=stdin)
    expect(done.returncode == plain.returncode, f"{name}: status {done.returncode}, without {plain.returncode}")
    expect(done.stdout == plain.stdout, f"{name}: other output when recorded")
    expect(done.stderr == plain.stderr, f"{name}: other errors when recorded: {done.stderr[:300]}")
    counted = {k: v for k, v in read_counts(counts).items()
               if ("pthread" if k.startswith(("pthread", "sem_")) else "libc") in wrappers}
    seen = collections.Counter(e["event"] for e in events)
    expect(sum(counted.values()) > 0, f"{name}: nothing counted")
    for call, count in counted.items():
        expect(seen[call] == count, f"{name}: {call} counted {count} times, {seen[call]} events")
    # The recorder makes such calls, too: none of them counts as the program's.
    for call in ("malloc", "calloc", "realloc", "free", "mmap", "mmap64", "munmap", "open", "open64", "close",
                 "pthread_mutex_lock", "pthread_mutex_unlock", "pthread_create"):
        expect(call in counted or not seen[call], f"{name}: {call} never counted, {seen[call]} events")


def test_no_tail_calls():
    """The wrappers recognise a tracer's calls by their return address: no function of a tracer may end
    with a jump to a wrapped one.
    """
    wrapped = set()
    for wrapper in libraries:
        if "libside-wrap-" in wrapper:
            names = subprocess.run(["nm", "-D", "--defined-only", wrapper], capture_output=True, text=True, check=True)
            wrapped |= {line.split()[2].split("@")[0] for line in names.stdout.splitlines() if line.split()[1] in "TW"}
    expect({"free", "malloc", "pthread_mutex_unlock", "mmap64"} <= wrapped, f"wrapped functions: {sorted(wrapped)}")
    for library in libraries:
        if "libside-wrap-" in library:
            continue
        code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", library], capture_output=True, text=True, check=True)
        function, seen = "", 0
        for line in code.stdout.splitlines():
            found = re.match(r"[0-9a-f]+ <(.*)>:$", line)
            if found:
                function, seen = found[1], seen + 1
            target = re.search(r"\bjmp\s.*<(\w+)(?:@plt|@GLIBC[\w.]*)>$", line)
            if target and target[1] in wrapped and not function.endswith(("@plt", ".plt", ".plt.sec", ".plt.got")):
                expect(False, f"{os.path.basename(library)}: {function} jumps to {target[1]}")
        expect(seen > 10, f"{library}: {seen} functions")


test_values()
test_signals()
test_no_tail_calls()
test_counts("sqlite3", ["libc", "pthread"], ["sqlite3", ":memory:"],
            b"CREATE TABLE t(a); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<2000) "
            b"INSERT INTO t SELECT i FROM n; SELECT sum(a) FROM t;")
test_counts("ls", ["libc"], ["ls", "-l", "/usr/bin"])
test_counts("sort", ["libc"], ["sort", "-r", "/etc/passwd"])
done, events = record("threads", ["libc", "pthread"], [threads])
plain = subprocess.run([threads], capture_output=True, check=True)
expect(done.returncode == 0 and done.stdout == plain.stdout, "threads: other result when recorded")
locks = collections.Counter(e["event"] for e in events)
expect(locks["pthread_mutex_lock"] >= 8004, f"threads: {locks['pthread_mutex_lock']} locks")
expect(locks["pthread_mutex_lock"] == locks["pthread_mutex_lock_req"], "threads: requests without locks")
expect(locks["pthread_create"] == 4 and locks["pthread_join"] == 4, f"threads: {locks}")
finish()
