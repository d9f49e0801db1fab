# SPDX-License-Identifier: MIT
"""Finds the tests that enter each function, with the coverage of clang and separate counters for each test.

    entered.py BUILD OUTPUT [TEST...]

Writes OUTPUT (JSON) and a profile of all tests, BUILD/coverage/all.profdata, which coverage.py reads. With TEST..., only these tests are
measured, and the earlier measurements of the others are kept.

BUILD is a build directory of its own, made by
    CC=clang CXX=clang++ meson setup -Dc_link_args=-fprofile-instr-generate -Dcpp_link_args=-fprofile-instr-generate -Db_lundef=false \\
        -Dc_args='-fprofile-instr-generate -fcoverage-mapping -mllvm -runtime-counter-relocation' BUILD
With the last option of c_args, counters are in a mapped file, so a program that is killed or calls _exit() is measured too.
"""
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

PROFDATA = shutil.which("llvm-profdata") or shutil.which("llvm-profdata-14") or "llvm-profdata"


def list_tests(build):
    """Returns the name, the command and the environment of each test."""
    described = json.loads(subprocess.run(["meson", "introspect", "--tests", build], check=True, capture_output=True,
                                          text=True).stdout)
    return [{"name": test["name"], "command": test["cmd"], "environment": test["env"]} for test in described]


def directory_name(test):
    return hashlib.sha256(test.encode()).hexdigest()[:16]


def name_of(tests, command, environment):
    """Returns the test that has this command. Several tests may differ in their environment only: then
    the one that matches best.
    """
    def fit(test):
        return sum(1 if environment.get(name) == value else -1 for name, value in test["environment"].items())

    return max((test for test in tests if test["command"] == command), key=fit)["name"]


def entered_functions(profiles):
    """`file.c:name` of file-local functions, `name` of others."""
    merged = profiles / "merged.profdata"
    if not merge([str(path) for path in profiles.rglob("*.profraw") if path.stat().st_size], merged):
        return set()
    shown = subprocess.run([PROFDATA, "show", "--all-functions", "--counts", merged], check=True, capture_output=True,
                           text=True).stdout
    found = set()
    for part in re.finditer(r"^  (\S+):\n    Hash: .*\n    Counters: \d+\n    Function count: (\d+)\n(?:    Block counts: \[(.*)\]\n)?",
                            shown, re.MULTILINE):
        counts = [int(part[2])] + [int(count) for count in (part[3] or "").replace(",", " ").split()]
        if any(counts):
            found.add(part[1])
    return found


def merge(files, output):
    """Merges readable profiles: a killed program leaves a truncated one. Returns whether there is a result."""
    listing = output.with_suffix(".list")
    listing.write_text("\n".join(files))
    if files:
        subprocess.run([PROFDATA, "merge", "--failure-mode=all", "-f", listing, "-o", output], check=False, stderr=subprocess.DEVNULL)
    return output.exists()


def counter_files(build):
    """Returns the file names of counters, for LLVM_PROFILE_FILE: mapped (%c) if the build supports it,
    one for each binary (%m).
    """
    options = json.loads(subprocess.run(["meson", "introspect", "--buildoptions", build], check=True, capture_output=True,
                                        text=True).stdout)
    flags = next(option["value"] for option in options if option["name"] == "c_args")
    return ("%c" if "-runtime-counter-relocation" in flags else "") + "%m.profraw"


def wrap(directory, command, files="%m.profraw"):
    """Runs one test with its own directory of counters, which is empty at first."""
    tests = json.loads(pathlib.Path(directory, "tests.json").read_text())
    profiles = pathlib.Path(directory, directory_name(name_of(tests, command, os.environ)))
    shutil.rmtree(profiles, ignore_errors=True)
    profiles.mkdir(mode=0o777)
    profiles.chmod(0o1777)
    begin = time.monotonic()
    status = subprocess.run(command, env=dict(os.environ, LLVM_PROFILE_FILE=f"{profiles}/{files}"), check=False).returncode
    seconds = round(time.monotonic() - begin, 1)
    measured = {"seconds": seconds, "passed": status == 0, "functions": sorted(entered_functions(profiles))}
    (profiles / "measured.json").write_text(json.dumps(measured))
    for path in profiles.rglob("*.profraw"):
        path.unlink()
    return status if status >= 0 else 128 - status


def measure(build, tests):
    """Runs tests with `meson test`, which calls this program for each. Returns the measurements by the
    name of the test.
    """
    directory = pathlib.Path(build, "coverage").absolute()
    if not tests:
        shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(exist_ok=True)
    directory.chmod(0o755)
    known = list_tests(build)
    (directory / "tests.json").write_text(json.dumps(known))
    wrapper = f"{sys.executable} {pathlib.Path(__file__).resolve()} --wrap {directory} {counter_files(build)}"
    subprocess.run(["meson", "test", "-C", build, "--no-rebuild", "-t", "3", "--wrapper", wrapper, *tests], check=False)
    measured = {test["name"]: directory / directory_name(test["name"]) for test in known}
    found = {name: json.loads((path / "measured.json").read_text()) for name, path in sorted(measured.items())
             if (path / "measured.json").exists()}
    (directory / "all.profdata").unlink(missing_ok=True)
    merge([str(path / "merged.profdata") for path in measured.values() if (path / "merged.profdata").exists()], directory / "all.profdata")
    return found, sorted(set(tests or measured) - set(found))


def main():
    if sys.argv[1:2] == ["--wrap"]:
        return wrap(sys.argv[2], sys.argv[4:], sys.argv[3])
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    build, output, *tests = sys.argv[1:]
    if not shutil.which(PROFDATA):
        sys.exit("entered.py: llvm-profdata is missing: packaging/install-packages coverage")
    measured, missing = measure(build, tests)
    functions = set().union(*(one["functions"] for one in measured.values()))
    failed = sorted(name for name, one in measured.items() if not one["passed"])
    print(f"{len(measured)} tests, {len(functions)} functions")
    for names, what in ((failed, "failed"), (missing, "were not measured")):
        if names:
            print(f"{len(names)} tests {what}: {' '.join(names)}")
    if not functions:
        sys.exit("entered.py: no test has counters: is BUILD made with the options above?")
    pathlib.Path(output).write_text(json.dumps(measured))
    return 0


if __name__ == "__main__":
    sys.exit(main())
