# SPDX-License-Identifier: MIT
"""The main job on real input: record sqlite3 and an instrumented program, read both back two ways.

usage: demo.py BUILD-DIRECTORY [OUTPUT-DIRECTORY]

The calls that sqlite3 makes are counted independently, by a preloaded counter that knows nothing of
this project, in a run of its own. The same counts must come out of the trace, read by babeltrace2
and by `side view`. Ends with status 1 if a count disagrees.
"""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../tests/wrap"))
from count_calls import read_counts  # pylint: disable=wrong-import-position

build = os.path.abspath(sys.argv[1])
output = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else tempfile.mkdtemp(prefix="side-demo-")
os.makedirs(output, exist_ok=True)
side = os.path.join(build, "programs/side/side")
counter = os.path.join(build, "examples/libcount-calls.so")
every_type = os.path.join(build, "examples/every-type")
colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
failures = 0

SCRIPT = """
CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, value REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
  INSERT INTO t SELECT i, 'row ' || i, i * 0.5 FROM n;
CREATE INDEX t_name ON t(name);
SELECT count(*), sum(value), max(name) FROM t WHERE name LIKE 'row 9%';
UPDATE t SET value = value + 1 WHERE id % 3 = 0;
SELECT count(*) FROM t;
"""


def title(text):
    print(f"\n\033[1m{text}\033[0m" if colour else f"\n{text}")


def show_command(words):
    print("$ " + " ".join(os.path.basename(w) if w.startswith(build) else w for w in words))


def run(words, **options):
    done = subprocess.run(words, text=True, check=False, **options)
    if done.returncode:
        sys.exit(f"demo: {' '.join(words)} ended with status {done.returncode}"
                 + (f":\n{done.stderr}" if done.stderr else ""))
    return done


def record(name, words, **options):
    """Record a command into OUTPUT/NAME; give the trace's directory."""
    trace = os.path.join(output, name)
    shutil.rmtree(trace, ignore_errors=True)
    command = [side, "record", "-o", trace, *words]
    show_command(command)
    sys.stdout.flush()
    run(command, **options)
    return trace


def count_babeltrace(trace):
    counts = collections.Counter()
    event = re.compile(r"^\[[^\]]*\] \([^)]*\) (?:\S+ )?([^\s:]+:[^\s:]+): ")
    with subprocess.Popen(["babeltrace2", trace], stdout=subprocess.PIPE, text=True,
                          errors="replace") as reader:
        for line in reader.stdout:
            found = event.match(line)
            if found:
                counts[found.group(1)] += 1
    return counts


def count_view(trace):
    counts = collections.Counter()
    with subprocess.Popen([side, "view", "--json", trace], stdout=subprocess.PIPE,
                          text=True) as reader:
        for line in reader.stdout:
            item = json.loads(line)
            if item.get("type") == "event":
                counts[item["event"]] += 1
    return counts


def first_lines(words, count):
    show_command(words + ["| head", "-n", str(count)])
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          errors="replace") as reader:
        for _, line in zip(range(count), reader.stdout):
            print("  " + line.rstrip()[:240])
        reader.stdout.close()


def table(rows, heads):
    widths = [max(len(str(r[i])) for r in rows + [heads]) for i in range(len(heads))]
    for row in [heads] + rows:
        print("  " + "  ".join(str(c).ljust(w) if i == 0 else str(c).rjust(w)
                               for i, (c, w) in enumerate(zip(row, widths))))


def compare(name, expected, *others):
    global failures
    rows = []
    for key in sorted(expected, key=lambda k: -expected[k]):
        values = [expected[key]] + [o.get(key, 0) for o in others]
        agree = len(set(values)) == 1
        failures += not agree
        rows.append([key] + values + ["agree" if agree else "DIFFER"])
    table(rows, [name, "counted", "babeltrace2", "side view", ""])


title("A real, unmodified program: sqlite3 on a table of 100,000 rows")
script = os.path.join(output, "script.sql")
with open(script, "w", encoding="utf-8") as out:
    out.write(SCRIPT)
database = os.path.join(output, "demo.db")


def fresh():
    for suffix in ("", "-journal", "-wal"):
        if os.path.exists(database + suffix):
            os.unlink(database + suffix)


fresh()
counts_file = os.path.join(output, "counts")
with open(script, encoding="utf-8") as source:
    run(["sqlite3", database], stdin=source, stdout=subprocess.DEVNULL,
        env=dict(os.environ, LD_PRELOAD=counter, COUNT_CALLS_FILE=counts_file))
counted = {("pthread:" if k.startswith(("pthread", "sem_")) else "libc:") + k: v
           for k, v in read_counts(counts_file).items()}
fresh()
with open(script, encoding="utf-8") as source:
    # It makes a million calls in a moment: on a busy machine it waits for the recorder instead of losing some.
    trace = record("sqlite3", ["--mode", "block", "--block-timeout", "1min", "-w", "libc", "-w", "pthread", "--", "sqlite3", database], stdin=source)
first_lines([side, "view", trace], 8)
first_lines(["babeltrace2", trace], 4)
print("\nCalls counted by a preloaded counter in a run of its own, and events in the trace:")
compare("call", counted, count_babeltrace(trace), count_view(trace))

title("An instrumented program: every SIDE type")
ROUNDS = 1000
trace = record("every-type", ["--", every_type, str(ROUNDS)], stdout=subprocess.DEVNULL)
first_lines([side, "view", trace], 10)
first_lines(["babeltrace2", trace], 10)
names = ["scalars", "wide", "text", "order", "parcel", "queue", "dynamic", "log"]
print(f"\nThe program fires each event once a round, {ROUNDS} rounds:")
compare("event", {f"shop:{n}": ROUNDS for n in names}, count_babeltrace(trace), count_view(trace))

print(f"\nThe traces stay in {output}: side view DIRECTORY, babeltrace2 DIRECTORY")
if failures:
    sys.exit(f"demo: {failures} counts disagree")
