# SPDX-License-Identifier: MIT
"""Checks that print the compared values, and a function that runs all tests of a file."""
import sys
import traceback

checks = 0


def equal(got, wanted, what=""):
    global checks
    checks += 1
    if got != wanted:
        raise AssertionError(f"{what}: got {got!r}, wanted {wanted!r}")


def true(value, what):
    global checks
    checks += 1
    if not value:
        raise AssertionError(what)


def contains(text, part, what=""):
    true(part in text, f"{what}: {part!r} is not in {text!r}")


class Skipped(Exception):
    """A test that cannot run here."""


def skip(reason):
    raise Skipped(reason)


def run_tests(namespace):
    """Runs all functions called test_…. If one fails, the program fails; if one is skipped, the exit status is 77."""
    failures = skipped = 0
    names = [name for name in namespace if name.startswith("test_")]
    only = sys.argv[1:]
    for name in names:
        if only and name not in only:
            continue
        try:
            namespace[name]()
            print(f"ok {name}")
        except Skipped as reason:
            skipped += 1
            print(f"skipped {name}: {reason}")
        except Exception:
            failures += 1
            print(f"FAILED {name}")
            traceback.print_exc(file=sys.stdout)
    print(f"{checks} checks, {failures} failures")
    sys.exit(1 if failures or not (checks or skipped) else 77 if skipped else 0)
