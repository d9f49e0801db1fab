# SPDX-License-Identifier: MIT
"""Each line of docs/explanation/security.md names tests that exist.

usage: test-security.py SOURCE-DIRECTORY BUILD-DIRECTORY
"""
import json
import os
import re
import sys

source, build = sys.argv[1:3]
failures = []


def tests_of_meson():
    """Returns the output of `meson test --list`, which meson writes when it configures."""
    with open(os.path.join(build, "meson-info/intro-tests.json"), encoding="utf-8") as file:
        return {test["name"] for test in json.load(file)}


def methods():
    """Returns the names of the tests within the programs of tests/hostile."""
    found = set()
    directory = os.path.join(source, "tests/hostile")
    for name in os.listdir(directory):
        if name.startswith("test-") and name.endswith(".py"):
            with open(os.path.join(directory, name), encoding="utf-8") as file:
                found |= set(re.findall(r"^    def (test_\w+)\(", file.read(), re.M))
    return found


def rows(page):
    """Returns the cells of each row of the tables whose last column is named `test`."""
    inside = False
    for number, line in enumerate(page.split("\n"), 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            inside = False
        elif cells[-1] == "test":
            inside = True
        elif inside and not set(cells[-1]) <= set("- "):
            yield number, cells


with open(os.path.join(source, "docs/explanation/security.md"), encoding="utf-8") as file:
    lines = list(rows(file.read()))
known, known_methods = tests_of_meson(), methods()
for number, cells in lines:
    programs = re.findall(r"`([\w-]+)`", cells[-1])
    if not programs:
        failures.append(f"line {number} names no test: {cells[0]}")
    failures += [f"line {number}: there is no test {name}" for name in programs if name not in known]
    failures += [f"line {number}: there is no {name} in tests/hostile" for name in re.findall(r"\btest_\w+", cells[-1])
                 if name not in known_methods]
if len(lines) < 30:
    failures.append(f"only {len(lines)} lines were found")
print("\n".join(failures) or f"{len(lines)} lines, each with tests that exist")
sys.exit(1 if failures else 0)
