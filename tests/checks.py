# SPDX-License-Identifier: MIT
"""Checks that print the compared values, commands that print why they failed, and functions that end a test program."""
import os
import subprocess
import sys
import traceback

checks = failures = 0


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


def expect(value, what):
    """Prints a failure and continues, for programs whose later checks do not depend on the earlier ones. finish() ends them."""
    global checks, failures
    checks += 1
    if not value:
        failures += 1
        print("FAILED:", what, flush=True)


def difference(got, wanted):
    """Returns both values as text. Of long ones, such as whole traces, only the part that differs."""
    got, wanted = repr(got), repr(wanted)
    begin = 0
    if max(len(got), len(wanted)) > 1000:
        begin = max(len(os.path.commonprefix([got, wanted])) - 80, 0)
    return f"got {got[begin:begin + 1000]}, wanted {wanted[begin:begin + 1000]}"


def expect_equal(got, wanted, what):
    same = got == wanted
    expect(same, what if same else f"{what}: {difference(got, wanted)}")


def finish(summary="", skipped=False):
    """Ends a program that uses expect(). If nothing failed and it could not run here, the exit status is 77."""
    if summary:
        print(summary)
    print(f"{checks} checks, {failures} failures")
    sys.exit(1 if failures or not (checks or skipped) else 77 if skipped else 0)


def run(*command, status=0, **options):
    """Runs a command and returns the completed process. Another exit status is a failure, unless `status` is None."""
    done = subprocess.run(command, **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "check": False, **options})
    if status is not None and done.returncode != status:
        raise AssertionError(f"{' '.join(map(str, command))}: status {done.returncode}, not {status}\n{done.stdout}{done.stderr}")
    return done


def output(*command, **options):
    """Runs a command like run() and returns what it printed."""
    return run(*command, **options).stdout


class Skipped(Exception):
    """A test that cannot run here."""


def skip(reason):
    raise Skipped(reason)


def run_tests(namespace):
    """Runs all functions called test_…. If one fails, the program fails; if one is skipped, the exit status is 77."""
    global failures
    skipped = 0
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
    finish(skipped=bool(skipped))
