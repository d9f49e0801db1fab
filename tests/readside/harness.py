# SPDX-License-Identifier: MIT
"""Functions that the tests of readside share: running it, compilers for many machines, comparisons."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))

from checks import contains, equal, run_tests, true

READSIDE = os.environ["READSIDE"]
INCLUDE = os.environ["INCLUDE"]
HERE = os.path.dirname(os.path.abspath(__file__))
LONG = os.environ.get("SIDE_TEST_LONG") == "1"

work = tempfile.TemporaryDirectory()


def path(name):
    return os.path.join(work.name, name)


def readside(*args, status=0, stdin=subprocess.DEVNULL, timeout=120):
    run = subprocess.run([READSIDE, *args], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         timeout=timeout, cwd=work.name)
    run.out = run.stdout.decode("utf-8", "surrogateescape")
    run.err = run.stderr.decode("utf-8", "surrogateescape")
    if status is not None:
        equal(run.returncode, status, f"{args}: {run.out}{run.err}")
    return run


def json_lines(text):
    values = [json.loads(line) for line in text.splitlines()]
    for value in values:
        equal(value["schema"], 1)
    return values


def descriptions(*args):
    """Returns the --json descriptions of the events of files, by name; each name once."""
    values = json_lines(readside("--json", *args).out)
    result = {value["event"]: value["description"] for value in values}
    equal(len(result), len(values), "each event once")
    return result


def tool(*command):
    """Runs a compiler or another tool; returns the error, or None."""
    try:
        run = subprocess.run(command, cwd=work.name, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except FileNotFoundError:
        return f"{command[0]} is not here"
    return run.stdout if run.returncode else None


def needed(*command):
    found_text = tool(*command)
    if found_text is not None:
        raise AssertionError(f"{command}: {found_text}")


def stub_headers():
    """Headers of an empty C library, for clang, which generates code for machines whose library is not installed."""
    folder = path("stub")
    if not os.path.isdir(folder):
        os.mkdir(folder)
        texts = {"stdio.h": "", "math.h": "", "inttypes.h": "#include <stdint.h>\n",
                 "stdlib.h": "#define __HAVE_FLOAT16 0\n#define __HAVE_FLOAT32 1\n#define __HAVE_FLOAT64 1\n"
                             "#define __HAVE_FLOAT128 0\ntypedef float _Float32;\ntypedef double _Float64;\n"}
        for name, text in texts.items():
            with open(os.path.join(folder, name), "w") as header:
                header.write("#pragma once\n" + text)
    return folder
