# SPDX-License-Identifier: MIT
"""Add up the results of several `meson test` runs and end with the line "N passed, N failed".

usage: count.py FAILED-BUILDS TESTLOG.json...

A build that failed counts as one failed test, so that it can never look like success.
"""
import json
import sys

passed, failed, skipped = 0, int(sys.argv[1]), 0
for name in sys.argv[2:]:
    with open(name, encoding="utf-8") as log:
        for line in log:
            result = json.loads(line)["result"]
            if result in ("OK", "EXPECTEDFAIL"):
                passed += 1
            elif result == "SKIP":
                skipped += 1
            else:
                failed += 1
if not passed:
    failed = max(failed, 1)
print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
sys.exit(1 if failed else 0)
