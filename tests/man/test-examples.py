#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Examples of the manual pages compile in C and C++, programs among them run, and synopses are
correct.

usage: test-examples.py SOURCE-DIRECTORY LIBRARY-DIRECTORY CONSOLE-TRACER

Programs run twice: alone, and with a tracer that enables every event and prints it. A synopsis is
correct if the compiler accepts its prototypes after the headers that it names.
"""
import shutil
import subprocess
import tempfile

from pages import *

LIBRARY = os.path.abspath(sys.argv[2])
TRACER = os.path.abspath(sys.argv[3])
# What the tracer must have printed for the examples of a page: the values in their source.
SEEN = {
    "side_event.3": ["count: { value: 12 }, unit: { value: minute }", "count: { value: 1 }, unit: { value: hour }",
                     "hour: { value: 7 }", "who:: { value:: cuckoo }"],
    "side_define_struct.3": ["x: { value: 3 }, y: { value: -4 }", "[ { value: 10 }, { value: 20 } ]",
                             "A17", "{ value: 5 }", "[ { value: 300 }, { value: 499 } ]"],
    "side_field_gather_struct.3": ["id: { value: 7 }", "/index"],
    "side_builder_create.3": ["{ key: unit, value: bytes } ], value: 512 }", "{ value: 2 }, labels: [ optimized ]"],
}
LANGUAGES = {"c": ("gcc", "-std=gnu17"), "cpp": ("g++", "-std=gnu++17")}
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-O1", "-I", os.path.join(ROOT, "include")]
failures = []
shown = {}  # output of the tracer by page and language
counts = {"compiled": 0, "run": 0, "traced": 0, "prototypes": 0}


def run(words, what, **options):
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120, **options)
    if done.returncode:
        failures.append(f"{what}: status {done.returncode}\n{done.stdout}{done.stderr}"[:3000])
        return None
    return done.stdout


def compile_example(folder, page, number, text, language):
    compiler, standard = LANGUAGES[language]
    what = f"{page}, example {number}, {language}"
    source = os.path.join(folder, f"{page}-{number}.{language}")
    program = source + ".out"
    with open(source, "w", encoding="utf-8") as out:
        out.write(text)
    whole = "main(" in text
    end = ["-o", program, "-L", LIBRARY, "-lside", "-Wl,-rpath," + LIBRARY] if whole else ["-c", "-o", program]
    if run([compiler, standard, *WARNINGS, source, *end], what) is None:
        return
    counts["compiled"] += 1
    if whole:
        # No tracer listens: neither a daemon of this machine nor a recording around the tests.
        quiet = {k: v for k, v in os.environ.items() if not k.startswith("SIDE_") and k != "LD_PRELOAD"}
        quiet["SIDE_CONTROL"] = "off"
        counts["run"] += run([program], what + ", when run", env=quiet, cwd=folder) is not None
        quiet["LD_PRELOAD"] = TRACER
        printed = run([program], what + ", when traced", env=quiet, cwd=folder)
        if printed is None:
            return
        counts["traced"] += "event: " in printed
        shown[page, language] = shown.get((page, language), "") + printed.replace('"', "")


def check_synopsis(folder, path):
    headers, found = prototypes(path)
    source = os.path.join(folder, "synopsis.c")
    with open(source, "w", encoding="utf-8") as out:
        out.write("".join(f"#include <{h}>\n" for h in headers) + "\n".join(found) + "\n")
    counts["prototypes"] += len(found)
    run(["gcc", "-std=gnu17", "-Wall", "-Werror", "-I", os.path.join(ROOT, "include"), "-fsyntax-only", source],
        os.path.basename(path) + ", synopsis")


with tempfile.TemporaryDirectory(prefix="side-man-") as work:
    for example in examples():
        for tongue, (tool, _) in LANGUAGES.items():
            if shutil.which(tool):
                compile_example(work, *example, tongue)
    for (titled, tongue), text_shown in shown.items():
        for value in SEEN.get(titled, []):
            if value not in text_shown:
                failures.append(f"{titled}, {tongue}: the tracer printed no {value!r}\n{text_shown}")
    for page_path in PAGES:
        if page_path.endswith(".3"):
            check_synopsis(work, page_path)
print("\n".join(failures))
print(", ".join(f"{n} {what}" for what, n in counts.items()) + f", {len(failures)} complaints")
sys.exit(1 if failures or min(counts.values()) < 20 else 0)
