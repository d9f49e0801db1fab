#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Man pages: mandoc reports nothing, and each option is documented."""
import pathlib
import shutil

from harness import *

PAGES = {os.path.basename(path)[:-2]: path for path in os.environ["PAGES"].split(os.pathsep)}


def test_pages_are_there():
    verbs = [line["name"] for line in json_lines(side("help", "--json").out)]
    equal(sorted(PAGES), sorted(["side"] + ["side-" + name for name in verbs if name != "help"]))


def test_pages_are_generated():
    """The files of the build equal the output of the generator. This test also makes the generator part of what these tests execute."""
    for page, path in PAGES.items():
        equal(generated(page), pathlib.Path(path).read_text(), page)


def test_generator():
    """The program of the build reports a wrong call and a file that it cannot write."""
    generate = os.environ["GENERATE"]
    usage = "usage: side-generate bash|zsh|PAGE|reference|reference/PAGE FILE\n"
    for arguments, status, wanted in (([], 2, usage), (["bash"], 2, usage), (["bash", "/dev/null", "x"], 2, usage),
                                      (["bash", "/nowhere/file"], 1, "/nowhere/file: No such file or directory\n"), (["bash", "/dev/null"], 0, "")):
        done = subprocess.run([generate, *arguments], capture_output=True, text=True)
        equal((done.returncode, done.stdout, done.stderr), (status, "", wanted), str(arguments))


def test_lint():
    if not shutil.which("mandoc"):
        print("mandoc is not installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        # In one directory, so that references between them are found.
        for path in PAGES.values():
            shutil.copy(path, folder)
        for page in PAGES:
            run = subprocess.run(["mandoc", "-T", "lint", page + ".1"], cwd=folder, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            equal(run.stdout, "", page)
            equal(run.returncode, 0, page)


def rendered(page):
    # The page is so wide that no line ends at a hyphen of a word.
    run = subprocess.run(["mandoc", "-T", "utf8", "-O", "width=1000", PAGES[page]],
                         stdout=subprocess.PIPE, check=True)
    # Bold and underlined text is overstruck.
    return re.sub(".\b", "", run.stdout.decode())


def test_options_stand_in_the_pages():
    if not shutil.which("mandoc"):
        return
    verbs = {verb["name"]: verb for verb in json_lines(side("help", "--json").out)}
    for name, verb in verbs.items():
        if name == "help":
            continue
        text = rendered("side-" + name)
        # mandoc also breaks lines at the hyphen of a word.
        words = " ".join(text.split()).replace("- ", "-")
        for option in verb["options"]:
            form = option["name"]
            if "optional" in option:
                form += "[=" + option["argument"] + "]"
            elif "argument" in option:
                form += " " + option["argument"]
            if "letter" in option:
                letter = option["letter"] + (" " + option["argument"] if "argument" in option else "")
                form = letter + ", " + form
            contains(text, form, name)
            contains(words, " ".join(option["help"].replace("`", "").split()).replace("- ", "-"), name)
        for example in verb["examples"]:
            contains(text, example["command"], name)
    overview = rendered("side")
    for name in verbs:
        contains(overview, name)
    for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "ENVIRONMENT", "EXIT STATUS", "EXAMPLES",
                    "SEE ALSO", "Patterns", "JSON"):
        contains(overview, section)


run_tests(globals())
