#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Completions: bash loads them and offers what is there; zsh (where it is installed) parses them."""
import shutil

from harness import *

BASH = os.environ["BASH_COMPLETION"]
ZSH = os.environ["ZSH_COMPLETION"]


def complete(line, cwd=None):
    """What bash would offer behind that line."""
    script = r'''
source "$1"
COMP_LINE=$2
COMP_POINT=${#2}
compopt() { :; }
_side
((${#COMPREPLY[@]})) && printf '%s\n' "${COMPREPLY[@]}"
exit 0
'''
    env = environment(PATH=os.path.dirname(os.path.abspath(SIDE)) + ":" + os.environ["PATH"])
    run = subprocess.run(["bash", "--norc", "--noprofile", "-u", "-c", script, "bash", BASH, line],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd, env=env)
    equal(run.stderr, "", line)
    equal(run.returncode, 0, line)
    return sorted(set(run.stdout.split()))


def test_bash_loads_it():
    run = subprocess.run(["bash", "--norc", "-c", 'source "$1" && complete -p side', "bash", BASH],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    equal((run.returncode, run.stderr), (0, ""))
    contains(run.stdout, "-F _side side")


def test_verbs():
    equal(complete("side "), sorted(line["name"] for line in json_lines(side("help", "--json").out)))
    equal(complete("side rec"), ["record", "recover"])
    equal(complete("side -q v"), ["view"])
    equal(complete("side --color never l"), ["list", "load"])
    contains(complete("side help "), "patterns")
    contains(complete("side help "), "view")


def test_options():
    verbs = {verb["name"]: verb for verb in json_lines(side("help", "--json").out)}
    for name, verb in verbs.items():
        offered = complete(f"side {name} -")
        wanted = []
        for option in verb["options"]:
            takes = "argument" in option and "optional" not in option
            wanted.append(option["name"] + ("=" if takes else ""))
            if "letter" in option:
                wanted.append(option["letter"])
        equal(offered, sorted(wanted), name)
    equal(complete("side record --buffer-"), ["--buffer-size="])
    equal(complete("side --ver"), ["--verbose", "--version"])


def test_choices():
    for line in ("side --color=", "side --color ", "side record --color=", "side list x --color "):
        equal(complete(line), ["always", "auto", "never"], line)
    equal(complete("side record --color=al"), ["always"])
    for line in ("side record -w ", "side record --wrap=", "side record -e x --wrap "):
        equal(complete(line), ["libc", "pthread"], line)


def test_contexts():
    for line in ("side record --context ", "side record --event-context=", "side record --context vtid,"):
        offered = complete(line)
        prefix = "vtid," if line.endswith(",") else ""
        for name in ("vpid", "procname", "cpu_id"):
            contains(offered, prefix + name, line)
    equal(complete("side record --context proc"), ["procname"])
    # bash cuts words at colons, and repeats what stands before the last one.
    contains(complete("side record --context vpid,perf:thread:cpu-cy"), "cpu-cycles")
    # An argument that may be left out does not swallow the command.
    contains(complete("side record --per-thread bas"), "bash")


def test_files_and_commands():
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(folder + "/trace")
        open(folder + "/text", "w").close()
        equal(complete("side view t", cwd=folder), ["trace"])
        equal(complete("side record -o t", cwd=folder), ["trace"])
        equal(complete("side record --output=t", cwd=folder), ["trace"])
        contains(complete("side list t", cwd=folder), "text")
        # Behind the command, words are the command's.
        equal(complete("side record -q -o x cat t", cwd=folder), ["text", "trace"])
        equal(complete("side record -- cat t", cwd=folder), ["text", "trace"])
        equal(complete("side record cat --color=", cwd=folder), [])
    contains(complete("side record bas"), "bash")
    contains(complete("side record -q -e x -- bas"), "bash")


def test_events():
    subject = os.environ.get("SUBJECT")
    if not subject:
        return
    folder, name = os.path.split(subject)
    # bash itself cuts at the colon, and repeats what stands before it.
    equal(complete(f"side list ./{name} -e subject:fi", cwd=folder), ["first"])
    contains(complete(f"side list {name} -e ", cwd=folder), "subject:first")
    with tempfile.TemporaryDirectory() as trace:
        os.mkdir(trace + "/p-1-0")
        with open(trace + "/p-1-0/metadata", "w") as metadata:
            metadata.write('/* CTF 1.8 */\nevent {\n\tname = "db:open";\n\tid = 0;\n};\n')
        equal(complete(f"side view {trace} -e d"), ["db:open"])
        # Both arguments of --pair.
        for line in ("--pair d", "--pair x:y d", "--pair=x:y d"):
            equal(complete(f"side report {trace} {line}"), ["db:open"], line)
        equal(complete(f"side report {trace} --pair x:y z:z d"), [])


def test_zsh():
    with open(ZSH) as file:
        text = file.read()
    true(text.startswith("#compdef side\n"), text[:40])
    for verb in json_lines(side("help", "--json").out):
        contains(text, verb["name"])
        for option in verb["options"]:
            if verb["name"] != "help":
                contains(text, option["name"])
    if not shutil.which("zsh"):
        print("zsh is not installed: the file was not loaded")
        return
    run = subprocess.run(["zsh", "-n", ZSH], stderr=subprocess.PIPE, text=True)
    equal((run.returncode, run.stderr), (0, ""))


run_tests(globals())
