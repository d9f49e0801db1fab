# SPDX-License-Identifier: MIT
"""Repeat each test that failed in a `meson test` run once, alone, and record which ones pass then.

usage: repeat.py BUILD TIMEOUT-MULTIPLIER

Reads BUILD/meson-logs/testlog.json. Writes BUILD/meson-logs/flaky.json: a list of the tests that passed when repeated, each with the log of
its failure. If more than MOST_REPEATED tests failed, the build is broken, and none is repeated.
"""
import json
import os
import subprocess
import sys

MOST_REPEATED = 12
GOOD = ("OK", "EXPECTEDFAIL", "SKIP")


def results(path):
    """The results in one of meson's logs, one dict a test."""
    with open(path, encoding="utf-8") as log:
        return [json.loads(line) for line in log]


def main(build, multiplier):
    logs = os.path.join(build, "meson-logs")
    failures = [r for r in results(os.path.join(logs, "testlog.json")) if r["result"] not in GOOD]
    flaky = []
    for failure in failures if len(failures) <= MOST_REPEATED else []:
        name = failure["name"].split(" / ")[-1]
        log = os.path.join(logs, f"failed-{name}.txt")
        with open(log, "w", encoding="utf-8") as out:
            out.write(failure.get("stdout", "") + failure.get("stderr", ""))
        print(f"== {name} failed: repeating it alone", file=sys.stderr)
        subprocess.run(["meson", "test", "-C", build, "--no-rebuild", "--logbase", "repeat-" + name, "-t", multiplier, name],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        repeated = results(os.path.join(logs, f"repeat-{name}.json"))
        if repeated and all(r["result"] in GOOD for r in repeated):
            flaky.append({"name": name, "log": log})
    with open(os.path.join(logs, "flaky.json"), "w", encoding="utf-8") as out:
        json.dump(flaky, out)


if __name__ == "__main__":
    main(*sys.argv[1:])
