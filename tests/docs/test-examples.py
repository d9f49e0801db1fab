#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Every block of code of README.md and of the pages in docs/ (KINDS) is an example that a test runs.
A comment before the block, which readers of the page do not see, states which test runs it, and how:

  <!-- example: run -->          its commands are run in one shell, in a folder of the page, with the programs beside
                                 this file. The lines below a command after `$` are its output, `...` matches anything,
                                 as in tests/cmd/guide.py
  <!-- example: file NAME -->    is a whole program, written there and compiled
  <!-- example: by TEST... -->   is run, or printed, by other tests; a name may be the beginning of several
  <!-- example: not run: REASON -->

Behind `run`, with commas: `numbers vary` (and units), `any order` (of lines), `output varies`,
`status N` (of the last command), `server stays` (`./server` runs until the block ends, and failed
commands are repeated until they succeed), `needs TOOL...`. 4711 is a process of `talker`. Pages whose
commands another test runs one by one are in PAGES.

A PAGE is README or a path below docs/ without `.md` (how-to/attach); its name alone (attach)
selects each page of that name.

usage: test-examples.py SOURCE BUILD [PAGE...]   (environment: SIDE, LIBSIDE)
"""
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SOURCE, BUILD = (os.path.abspath(path) for path in sys.argv[1:3])
sys.path.append(os.path.join(SOURCE, "tests/cmd"))
import guide

HERE = os.path.dirname(os.path.abspath(__file__))
TIMEOUT = 120
KINDS = ("tutorial", "how-to", "reference", "explanation", "evidence")
PROMPT = r"\$ "
# page: (test, begin of the blocks that it runs)
PAGES = {
    "how-to/attach": [("attach-guide", PROMPT)],
    "how-to/descriptions": [("readside-guide", PROMPT)],
    "how-to/early-boot": [("boot-guide", PROMPT + "|# From the first process on")],
    "reference/filters": [("filter-guide", "```filter")],
    "how-to/gdb": [("gdb-guide", "```gdb")],
    "how-to/global-probes": [("probe-global", PROMPT)],
    "reference/misuse": [("validate-guide", "```c|side: event order|two fields of|side: wrong (call|description)")],
    "how-to/network": [("send-guide", PROMPT)],
    "reference/probes": [("probe-guide", PROMPT)],
    "how-to/reports": [("cmd-guide", PROMPT)],
    "how-to/rotation": [("session-guide", "side record")],
    "how-to/sessions": [("cmd-guide-sessions", PROMPT)],
    "how-to/symbols": [("symbols-guide", PROMPT)],
}
failures, skipped = [], []
counts = {"run": 0, "by": 0, "not": 0}


def blocks(text):
    """Returns (number of the line, mark, info of the fence or None, lines) of each block of code, by
    the rules of Markdown.
    """
    lines = text.splitlines() + [""]
    mark, i, previous = "", 0, ""
    while i < len(lines):
        line = lines[i]
        begin = i
        comment = re.fullmatch(r"<!-- example: (.*) -->", line)
        if comment:
            mark, line = comment.group(1), ""
        elif line.startswith("```"):
            while not lines[i + 1].startswith("```"):
                i += 1
            yield begin + 1, mark, line[3:], lines[begin + 1:i + 1]
            mark, i = "", i + 1
        elif line.startswith("    ") and not previous.strip():
            end = i
            while i < len(lines) and (lines[i].startswith("    ") or not lines[i].strip()):
                if lines[i].strip():
                    end = i
                i += 1
            yield begin + 1, mark, None, [each[4:] for each in lines[begin:end + 1]]
            mark, line, i = "", "", end
        elif line and not line.startswith("<!--"):
            if mark:
                failures.append(f"`{mark}` has no block below it")
            mark = ""
        previous = line
        i += 1


def all_tests():
    """Returns the names in quotes after `test(`, also of tests that this build does not have; and the names of
    the build's tests, many of which are composed in a loop.
    """
    names = set()
    with open(BUILD + "/meson-info/intro-tests.json", encoding="utf-8") as file:
        composed = {test["name"] for test in json.load(file)}
    for path in glob.glob(SOURCE + "/tests/**/meson.build", recursive=True):
        with open(path, encoding="utf-8") as file:
            names.update(re.findall(r"\btest\('([\w-]+)'(?!\s*\+)", file.read()))
    return names, composed


NAMES, COMPOSED = all_tests()


def is_test(name):
    """Whether a test has this name, or it is the prefix of several tests: docs-fresh means
    docs-fresh-bookworm-root and others.
    """
    return name in NAMES or any(test == name or test.startswith(name + "-") for test in COMPOSED)


class Folder:
    """The folder in which the blocks of a page run, one after the other."""

    def __init__(self, shared, name):
        self.path = os.path.join(shared, name)
        os.mkdir(self.path)
        for program in glob.glob(shared + "/programs/*"):
            shutil.copy(program, self.path)
        os.mkdir(self.path + "/runtime")
        self.env = {key: value for key, value in os.environ.items() if not key.startswith("SIDE_") and key != "LD_PRELOAD"}
        self.env.update(PATH=shared + "/bin" + os.pathsep + os.environ["PATH"], PKG_CONFIG_PATH=shared, LANG="C.UTF-8",
                        SIDE_RUNTIME=self.path + "/runtime")
        self.env.pop("LC_ALL", None)
        self.talker = None

    def file(self, name):
        return os.path.join(self.path, name)

    def pid(self):
        """The process of a program that runs on, for commands that need one."""
        if not self.talker:
            self.talker = subprocess.Popen([self.file("talker"), "1", "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                           env=self.env)
            self.talker.stdout.readline()
        return str(self.talker.pid)

    def end(self):
        if self.talker:
            self.talker.communicate(timeout=TIMEOUT)
        # A daemon that a block has started, and that no later one has stopped.
        if os.path.exists(self.file("runtime/control.sock")):
            subprocess.run(["side", "daemon", "--stop"], env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           timeout=TIMEOUT, check=False)

    def run(self, commands, stays):
        """Returns [(status, output)] of the commands, or of those up to one that failed."""
        if stays:
            open(self.file("stay"), "w").close()
            if os.path.exists(self.file("up")):
                os.remove(self.file("up"))  # Of the server of another block.
        lines = []
        if stays:
            lines = ["try() { for i in {1..200}; do eval \"$1\" && return; sleep 0.2; done; return 1; }"]
        for number, command in enumerate(commands):
            with open(self.file(f".command.{number}"), "w", encoding="utf-8") as file:
                file.write(command)
            # A command in the background is not started again.
            how = "eval" if command.split("#")[0].rstrip().endswith("&") or not stays else "try"
            lines += [f"(exit ${{status:-0}}); {how} \"$(cat .command.{number})\" > .output.{number} 2>&1",
                      f"status=$?; echo $status > .status.{number}"]
            if stays and how == "eval":
                lines.append("for i in {1..1200}; do [ -e up ] && break; sleep 0.05; done")
        lines += ["rm -f stay", "wait"]
        shell = subprocess.Popen(["bash", "-c", "\n".join(lines)], cwd=self.path, env=self.env, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, start_new_session=True)
        try:
            shell.wait(timeout=TIMEOUT)
        finally:
            try:
                os.killpg(shell.pid, signal.SIGKILL)  # Ends the processes of the block: there are none if it succeeded.
            except ProcessLookupError:
                pass
            shell.wait()
        results = []
        for number in range(len(commands)):
            with open(self.file(f".status.{number}")) as status, open(self.file(f".output.{number}"), errors="replace") as out:
                results.append((int(status.read()), out.read()))
        return results


def plain(text):
    """Returns the text without parts that depend on the machine and the time."""
    text = re.sub(r"\bcpu\d+", "cpuN", re.sub(r"0x[0-9a-f]+", "0xN", text))
    text = re.sub(r"\b(?<!0)\d+(?:[,.:]\d+)*", "N", text)
    text = re.sub(r"N (?:B|KiB|MiB|GiB)\b", "N B", text)
    return re.sub(r" +", " ", re.sub(r"N (?:ns|us|ms|s)\b", "N s", text)).strip()


def commands_of(lines):
    """Returns [(command, lines below it)]; without prompts all lines are commands."""
    if not lines[0].startswith("$ "):
        text = "\n".join(lines).replace("\\\n", " ")
        return [(line, []) for line in text.split("\n") if line.strip() and not line.startswith("#")]
    return guide.commands("\n".join("    " + line for line in lines if line.strip()))


def run_block(where, words, lines, folder):
    found = commands_of(lines)
    needed = [tool for word in words if word.startswith("needs ") for tool in word.split()[1:]]
    missing = [tool for tool in needed if not shutil.which(tool)]
    if missing or "x86-64" in words and os.uname().machine != "x86_64":
        skipped.append(f"{where}: needs {' '.join(missing) or 'x86-64'}")
        return
    commands = [command.replace("4711", folder.pid()) if "4711" in command else command for command, _ in found]
    wanted_status = next((int(word.split()[1]) for word in words if word.startswith("status ")), 0)
    results = folder.run(commands, "server stays" in words)
    for number, ((command, wanted), (status, output)) in enumerate(zip(found, results)):
        last = number == len(found) - 1
        asked = not last and "$?" in found[number + 1][0]
        if status == 3:
            skipped.append(f"{where}: `{command}` is not permitted here")
            return
        if status != (wanted_status if last else 0) and not asked:
            failures.append(f"{where}: `{command}` ends with {status} and says\n{output[-1000:]}")
            return
        if "output varies" in words or not wanted:
            continue
        output = output.replace(folder.path + "/", "/usr/local/bin/")
        printed = [line.rstrip() for line in output.splitlines() if line.strip()]
        if "numbers vary" in words:
            printed, wanted = [plain(line) for line in printed], [plain(line) for line in wanted]
        if "any order" in words:
            printed, wanted = sorted(printed), sorted(wanted)
        if not guide.matches(printed, [line.rstrip() for line in wanted]):
            failures.append(f"{where}: `{command}` prints\n" + "\n".join(printed) + "\nnot\n" + "\n".join(wanted))


def compile_file(where, name, lines, folder):
    with open(folder.file(name), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    for compiler, options in (("gcc", ["-x", "c"]), ("g++", ["-x", "c++"])):
        done = subprocess.run([compiler, *options, "-Wall", "-Werror", "-I", SOURCE + "/include", "-fsyntax-only", name],
                              cwd=folder.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT,
                              check=False)
        if done.returncode:
            failures.append(f"{where}: {compiler} says\n{done.stdout}")


def do_block(page, line, mark, info, lines, folder):
    where = f"{page}, line {line}"
    kind, _, rest = mark.partition(" ")
    words = [word.strip() for word in mark.split(",")]
    head = ("```" + info + "\n" if info else "") + lines[0]
    if words[0] == "run":
        counts["run"] += 1
        run_block(where, words, lines, folder())
    elif kind == "file":
        counts["run"] += 1
        compile_file(where, rest, lines, folder())
    elif kind == "by":
        counts["by"] += 1
        failures.extend(f"{where}: there is no test {name}" for name in rest.replace(",", " ").split() if not is_test(name))
    elif mark.startswith("not run: ") and len(mark) > 20:
        counts["not"] += 1
    elif mark:
        failures.append(f"{where}: what is meant by `{mark}`?")
    elif any(re.match(begin, head) for _, begin in PAGES.get(page, ())):
        counts["by"] += 1
    else:
        failures.append(f"{where}: no test runs this, and nothing says why:\n" + "\n".join(lines))


def prepare(shared):
    """Returns the programs of the pages, and `side`, by their names."""
    os.mkdir(shared + "/bin")
    os.mkdir(shared + "/programs")
    os.symlink(os.environ["SIDE"], shared + "/bin/side")
    library = os.path.dirname(os.environ["LIBSIDE"])
    with open(shared + "/libside.pc", "w", encoding="utf-8") as file:
        file.write(f"Name: libside\nDescription: of the build\nVersion: 0\nCflags: -I{SOURCE}/include\n"
                   f"Libs: -L{library} -Wl,-rpath,{library} -lside\n")
    for name, folder in (("server", HERE), ("talker", HERE), ("till", HERE), ("every-type", SOURCE + "/examples")):
        subprocess.run(["gcc", "-I", SOURCE + "/include", f"{folder}/{name}.c", "-o", f"{shared}/programs/{name}", "-L", library,
                        "-Wl,-rpath," + library, "-lside"], check=True, timeout=TIMEOUT)
    subprocess.run(["gcc", "-g", "-O1", "-pthread", f"{HERE}/canteen.c", "-o", shared + "/programs/canteen"], check=True, timeout=TIMEOUT)
    shutil.copy(HERE + "/server.c", shared + "/programs")
    os.symlink("server", shared + "/programs/program")
    with open(shared + "/programs/Makefile", "w", encoding="utf-8") as file:
        file.write("test:\n\t@echo tested\n")
    with open(shared + "/programs/script.sql", "w", encoding="utf-8") as file:
        file.write("create table t(a);\ninsert into t values (1), (2);\nselect sum(a) from t;\n")


def pages():
    """Returns the pages, each as PAGE names it."""
    paths = sum((glob.glob(f"{SOURCE}/docs/{kind}/*.md") for kind in ("", *KINDS)), [])
    return ["README"] + sorted({os.path.relpath(path, SOURCE + "/docs")[:-3] for path in paths} - {"README"})


def main():
    only = sys.argv[3:]
    for page, tests in PAGES.items():
        failures.extend(f"{page}: {name}, which should run it, is not a test" for name, _ in tests if not is_test(name))
    with tempfile.TemporaryDirectory(prefix="side-examples-") as shared:
        prepare(shared)
        for page in pages():
            if only and page not in only and os.path.basename(page) not in only:
                continue
            with open(os.path.join(SOURCE, page if page == "README" else "docs/" + page) + ".md", encoding="utf-8") as file:
                text = file.read()
            folders, before, start = [], dict(counts), time.monotonic()

            def folder(page=page, folders=folders):
                if not folders:
                    folders.append(Folder(shared, page.replace("/", "-")))
                return folders[0]

            try:
                for line, mark, info, lines in blocks(text):
                    do_block(page, line, mark, info, lines, folder)
            finally:
                for each in folders:
                    each.end()
            print("%-26s %3d run here, %3d by other tests, %3d not run, %.1f s" % (
                page, *(counts[kind] - before[kind] for kind in counts), time.monotonic() - start))
    print("%d run here, %d by other tests, %d not run" % tuple(counts.values()))
    for each in skipped:
        print("skipped:", each)
    for failure in failures:
        print("FAIL", failure)
    sys.exit(1 if failures or not counts["by"] else 0)


main()
