#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Manual pages describe all exported symbols, public macros and environment variables.

usage: test-names.py SOURCE-DIRECTORY LIBRARY-DIRECTORY
"""
import re
import shutil
import subprocess

from pages import *

failures = []

# Variables whose name is neither a literal nor a macro: the texts of the file that contain it.
INDIRECT = {
    ("src/analysis/report-text.c", "names[i]"): r"\bnames\[\] = \{([^}]*)\}",
    ("src/protocol/runtime.c", "name"): r"\bruntime_variable\(([^()*]*)\)",
}


def compare(what, wanted, documented):
    for name in sorted(wanted - documented):
        failures.append(f"{what} {name} is in no manual page")
    if len(wanted) < 10:
        failures.append(f"only {len(wanted)} of {what} found: the search is wrong")
    print(f"{what}: {len(wanted)}, {len(wanted & documented)} of them documented")


def sources():
    for top in ("src", "programs"):
        for directory, _, names in os.walk(os.path.join(ROOT, top)):
            for name in names:
                if name.endswith((".c", ".h", ".cc")):
                    path = os.path.join(directory, name)
                    yield os.path.relpath(path, ROOT), text_of(path)


def variables():
    """Returns the arguments of getenv() and similar functions, and the names for which the environment
    is searched, anywhere in src/ and programs/.
    """
    code = dict(sources())
    macros = {}
    for text in code.values():
        macros.update(re.findall(r'^#\s*define\s+(\w+)\s+"([^"]+)"', text, re.M))
    found = set()

    def take(path, argument):
        argument = argument.strip()
        if argument.startswith('"'):
            found.add(argument.strip('"'))
        elif argument in macros:
            found.add(macros[argument])
        elif (path, argument) in INDIRECT:
            for several in re.findall(INDIRECT[path, argument], code[path]):
                for one in several.split(","):
                    take(path, one)
        else:
            failures.append(f"{path} reads a variable that this test cannot see: getenv({argument})")

    for path, text in code.items():
        if path.startswith("src/base/environment/"):
            continue
        for argument in re.findall(r"\b(?:(?:secure_)?getenv|environment_(?:get|is_on))\(([^()]*)\)", text):
            # Comments name the functions without arguments.
            if argument:
                take(path, argument)
    return found


def test_symbols(documented):
    script = text_of(os.path.join(ROOT, "src", "libside", "libside.map"))
    script = re.sub(r"/\*.*?\*/", "", script, flags=re.S).split("local:")[0]
    exported = set(re.findall(r"\b(side_\w+);", script))
    compare("exported symbols", exported, documented)
    library = os.path.join(os.path.abspath(sys.argv[2]), "libside.so.0")
    shown = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True)
    compare("symbols of the library", {l.split()[-1].split("@")[0] for l in shown.stdout.splitlines()
                                       if " side_" in l}, documented)
    lines = text_of(os.path.join(ROOT, "tests", "headers", "names.txt")).split("\n")
    macros = {line.strip() for line in lines if line.strip() and not line.startswith("#")}
    compare("public macros", macros, documented)
    header = text_of(os.path.join(ROOT, "include", "side", "context.h"))
    functions = exported | set(re.findall(r"static inline void (\w+)\(", header))
    compare("functions", functions, documented)
    for name in sorted(documented - functions - macros):
        failures.append(f"{name} has a manual page but is not there")


def test_variables():
    page = text_of(os.path.join(DIRECTORY, "side-environment.7"))
    documented = set()
    for line in re.findall(r"^\.It Ev (.*)$", page, re.M):
        documented |= set(line.replace(",", " ").split())
    wanted = variables()
    compare("environment variables", wanted, documented)
    for name in sorted(documented - wanted):
        failures.append(f"side-environment(7) has {name}, which no code reads")


def test_constants():
    """Each constant that the pages name is in a public header, or is a macro of the C library."""
    known = {"NULL"}
    for directory, _, names in os.walk(os.path.join(ROOT, "include")):
        for name in names:
            known |= set(re.findall(r"\w+", text_of(os.path.join(directory, name))))
    for path in PAGES:
        for line in re.findall(r"\bDv (.*)$", text_of(path), re.M):
            for name in re.findall(r"\bSIDE_\w+", line):
                if name not in known:
                    failures.append(f"{os.path.basename(path)} has the constant {name}, which no header has")


def test_lint():
    if not shutil.which("mandoc"):
        print("mandoc is not installed")
        return
    for path in PAGES:
        run = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", path], capture_output=True, text=True, check=False)
        if run.returncode or run.stdout or run.stderr:
            failures.append(run.stdout + run.stderr)


def test_sections():
    for path in PAGES:
        text = text_of(path)
        wanted = ["NAME", "DESCRIPTION", "SEE ALSO"]
        if path.endswith(".3"):
            wanted += ["SYNOPSIS", "THREADS AND SIGNALS", "EXAMPLES"]
        for section in wanted:
            if f"\n.Sh {section}\n" not in text:
                failures.append(f"{os.path.basename(path)} has no section {section}")


def test_references(pages):
    """The targets of SEE ALSO and of references in the text exist: pages of this directory, of
    commands, of the system.
    """
    ours = {name + "(3)" for path in pages for name in names_of(path)} | {"side(7)", "side-environment(7)"}
    for path in PAGES:
        for name, section in re.findall(r"^\.(?:Xr|Pq Xr) ([\w-]+) (\d)", text_of(path), re.M):
            if name.startswith("side") and section in "37" and f"{name}({section})" not in ours:
                failures.append(f"{os.path.basename(path)} refers to {name}({section}), which is not there")


library_pages = [path for path in PAGES if path.endswith(".3")]
all_names = [name for path in library_pages for name in names_of(path)]
for twice in sorted({name for name in all_names if all_names.count(name) > 1}):
    failures.append(f"{twice} has two pages")
test_symbols(set(all_names))
test_variables()
test_constants()
test_lint()
test_sections()
test_references(library_pages)
print("\n".join(failures))
print(f"{len(PAGES)} pages, {len(all_names)} names, {len(failures)} complaints")
sys.exit(1 if failures or len(PAGES) < 20 else 0)
