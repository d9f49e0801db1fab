# SPDX-License-Identifier: MIT
"""Which tests enter which function: clang's coverage, one test after the other.

    entered.py BUILD OUTPUT [TEST...]

BUILD is a build directory of its own, made by
    CC=clang CXX=clang++ meson setup -Dc_args='-fprofile-instr-generate -fcoverage-mapping' \\
        -Dc_link_args=-fprofile-instr-generate -Db_lundef=false BUILD
A killed program writes no counters, so a test that only kills programs enters more functions than this measures.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

PROFDATA = shutil.which("llvm-profdata") or shutil.which("llvm-profdata-14") or "llvm-profdata"


def list_tests(build):
    described = json.loads(subprocess.run(["meson", "introspect", "--tests", build], check=True, capture_output=True,
                                          text=True).stdout)
    return [test["name"] for test in described]


def entered_functions(profiles):
    """`file.c:name` of file-local functions, `name` of others."""
    files = [str(path) for path in profiles.rglob("*.profraw") if path.stat().st_size]
    if not files:
        return set()
    listing = profiles / "files"
    listing.write_text("\n".join(files))
    merged = profiles / "merged.profdata"
    subprocess.run([PROFDATA, "merge", "--failure-mode=all", "-f", listing, "-o", merged], check=True, stderr=subprocess.DEVNULL)
    shown = subprocess.run([PROFDATA, "show", "--all-functions", "--counts", merged], check=True, capture_output=True,
                           text=True).stdout
    found = set()
    for part in re.finditer(r"^  (\S+):\n    Hash: .*\n    Counters: \d+\n    Function count: (\d+)\n(?:    Block counts: \[(.*)\]\n)?",
                            shown, re.MULTILINE):
        counts = [int(part[2])] + [int(count) for count in (part[3] or "").replace(",", " ").split()]
        if any(counts):
            found.add(part[1])
    return found


def measure(build, test):
    with tempfile.TemporaryDirectory() as directory:
        profiles = pathlib.Path(directory)
        profiles.chmod(0o1777)
        environment = dict(os.environ, LLVM_PROFILE_FILE=f"{profiles}/%m.profraw")
        begin = time.monotonic()
        done = subprocess.run(["meson", "test", "-C", build, "--no-rebuild", test], env=environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        seconds = time.monotonic() - begin
        return {"seconds": round(seconds, 1), "passed": done.returncode == 0, "functions": sorted(entered_functions(profiles))}


def main():
    build, output, *tests = sys.argv[1:]
    output = pathlib.Path(output)
    known = json.loads(output.read_text()) if output.exists() else {}
    for test in tests or list_tests(build):
        if test in known and not tests:
            continue
        known[test] = measure(build, test)
        output.write_text(json.dumps(known))
        print(f"{test}: {len(known[test]['functions'])} functions, {known[test]['seconds']} s", flush=True)


if __name__ == "__main__":
    main()
