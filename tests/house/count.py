# SPDX-License-Identifier: MIT
"""Add up the results of several `meson test` runs and end with the line "N passed, N failed".

usage: count.py FAILED-BUILDS TESTLOG.json...

A build that failed counts as one failed test, so that it can never look like success. A test that failed and then passed when it was
repeated alone (flaky.json beside the log, see repeat.py) is listed with its log and counts as passed, unless more than MOST_FLAKY tests
are flaky: then each of them counts as failed.
"""
import json
import os
import sys

MOST_FLAKY = 3


def flaky_beside(log):
    """The tests of one run that passed when they were repeated: name -> log of the failure."""
    try:
        with open(os.path.join(os.path.dirname(log), "flaky.json"), encoding="utf-8") as listed:
            return {test["name"]: test["log"] for test in json.load(listed)}
    except FileNotFoundError:
        return {}


def main(failed, logs):
    passed, skipped, flaky = 0, 0, []
    for log in logs:
        repeated = flaky_beside(log)
        with open(log, encoding="utf-8") as lines:
            for line in lines:
                test = json.loads(line)
                name = test["name"].split(" / ")[-1]
                if test["result"] in ("OK", "EXPECTEDFAIL"):
                    passed += 1
                elif test["result"] == "SKIP":
                    skipped += 1
                elif name in repeated:
                    flaky.append((name, repeated[name]))
                else:
                    failed += 1
    for name, log in flaky:
        print(f"flaky: {name} failed, and passed when it was repeated alone; log of the failure: {log}")
    if len(flaky) > MOST_FLAKY:
        print(f"{len(flaky)} tests are flaky, {MOST_FLAKY} at most may be: each counts as failed")
        failed += len(flaky)
    else:
        passed += len(flaky)
    if not passed:
        failed = max(failed, 1)
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
