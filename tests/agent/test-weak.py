# SPDX-License-Identifier: MIT
"""Each compiler keeps the comparisons of libside functions with NULL.

A program can load another library named libside.so.0. The agent then compares the address of each function with NULL before it calls
it. A compiler that removes a comparison does not load the address, so the object file has no such relocation.

Takes the source directory from SIDE_SOURCE.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from checks import equal, run_tests, true

ROOT = os.environ["SIDE_SOURCE"]
COMPILERS = [name for name in ("gcc", "clang", "clang-16", "clang-19") if shutil.which(name)]


def functions_of_libside():
    with open(os.path.join(ROOT, "src/tracers/agent/core/libside.h"), encoding="utf-8") as header:
        return set(re.findall(r"^\tone\((\w+)\)", header.read(), re.MULTILINE))


def loaded_addresses(compiler, source, directory):
    """The symbols whose addresses the compiled file loads. Symbols that it only calls do not count."""
    output = os.path.join(directory, "file.o")
    include = [f"-I{os.path.join(ROOT, name)}" for name in ("src", "include")]
    subprocess.run([compiler, "-std=gnu17", "-O2", "-fPIC", "-fvisibility=hidden", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror",
                    "-include", os.path.join(ROOT, "src/tracers/agent/core/libside.h"), *include, "-c", os.path.join(ROOT, source), "-o", output], check=True)
    relocations = subprocess.run(["readelf", "-rW", output], check=True, capture_output=True, text=True).stdout
    return set(re.findall(r"GOT\w* .*? (side_\w+)", relocations))


def test_all_functions_are_compared():
    names = functions_of_libside()
    true(len(names) > 50, f"{len(names)} functions are listed")
    for compiler in COMPILERS:
        with tempfile.TemporaryDirectory() as directory:
            equal(names - loaded_addresses(compiler, "src/tracers/agent/core/unsupported.c", directory), set(), f"{compiler}: functions that are not compared")


def test_start_compares():
    for compiler in COMPILERS:
        with tempfile.TemporaryDirectory() as directory:
            true("side_tracer_bind" in loaded_addresses(compiler, "src/tracers/agent/core/start.c", directory), f"{compiler}: side_tracer_bind is compared")


run_tests(globals())
