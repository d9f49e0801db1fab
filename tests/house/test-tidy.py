# SPDX-License-Identifier: MIT
"""clang-tidy finds nothing in src and programs (.clang-tidy lists its checks, and why there are no
more).

usage: test-tidy.py SOURCE-DIRECTORY BUILD-DIRECTORY [FILE...]

The static analyzer (clang-analyzer-*) takes 95 % of the time, and most of that in the few functions
with very many paths. So it explores NODES states of a function; with SIDE_TEST_LONG=1 or with FILEs
it explores as many as clang's default, 225000.
"""
import concurrent.futures
import glob
import json
import os
import subprocess
import sys
import tempfile

root, build = (os.path.realpath(path) for path in sys.argv[1:3])
NODES = 30000
extra = []
if len(sys.argv) == 3 and "SIDE_TEST_LONG" not in os.environ:
    for word in ("-analyzer-config", f"max-nodes={NODES}"):
        extra += ["--extra-arg=-Xclang", "--extra-arg=" + word]
wanted = [os.path.realpath(path) for path in sys.argv[3:]]
if not wanted:
    wanted = sorted(glob.glob(os.path.join(root, "src/**/*.c"), recursive=True) + glob.glob(os.path.join(root, "programs/**/*.c"), recursive=True))

with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as database:
    # A file of several libraries is checked once.
    entries = {os.path.realpath(os.path.join(entry["directory"], entry["file"])): entry
               for entry in json.load(database)}


def run_tidy(path):
    # One process a file: clang-tidy 14 reports every va_list as uninitialized from its second file
    # on.
    run = subprocess.run(["clang-tidy", "--quiet", *extra, "-p", directory, path], text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if not run.returncode and not run.stdout.strip():
        return ""
    return run.stdout.strip() or f"{path}: clang-tidy failed\n{run.stderr.strip()}"


missing = [path for path in wanted if path not in entries]
with tempfile.TemporaryDirectory() as directory:
    with open(os.path.join(directory, "compile_commands.json"), "w", encoding="utf-8") as database:
        json.dump([entries[path] for path in wanted if path in entries], database)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        findings = [text for text in pool.map(run_tidy, (p for p in wanted if p in entries)) if text]

print("\n".join(findings + [f"{path}: is in no target" for path in missing]))
print(f"{len(wanted)} files, {len(findings) + len(missing)} with findings")
sys.exit(1 if findings or missing or not wanted else 0)
