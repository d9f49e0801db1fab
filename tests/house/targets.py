# SPDX-License-Identifier: MIT
"""Print the ninja targets that the tests of one suite need, so that `./check` builds no others.

usage: targets.py BUILD SUITE
"""
import json
import os
import subprocess
import sys


def introspect(build, what):
    """The tests or the targets of a build directory, from meson."""
    done = subprocess.run(["meson", "introspect", "--" + what, build], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def main(build, suite):
    tests = [test for test in introspect(build, "tests") if suite in [name.split(":")[-1] for name in test["suite"]]]
    needed = {target for test in tests for target in test["depends"]}
    files = [name for target in introspect(build, "targets") if target["id"] in needed for name in target["filename"]]
    print("\n".join(sorted(os.path.relpath(name, build) for name in files)))
    return 0 if tests else 1


if __name__ == "__main__":
    sys.exit(main(*(sys.argv[1:])))
