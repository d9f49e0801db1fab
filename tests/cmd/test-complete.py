#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Completions: bash loads them and offers existing names; zsh (if it is installed) parses them."""
import pathlib
import shutil
import time

from fake_daemon import FakeDaemon
from harness import *

BASH = os.environ["BASH_COMPLETION"]
ZSH = os.environ["ZSH_COMPLETION"]


def complete(line, cwd=None, **variables):
    """Returns what bash would offer after that line."""
    script = r'''
source "$1"
COMP_LINE=$2
COMP_POINT=${#2}
compopt() { :; }
_side
((${#COMPREPLY[@]})) && printf '%s\n' "${COMPREPLY[@]}"
exit 0
'''
    env = environment(PATH=os.path.dirname(os.path.abspath(SIDE)) + ":" + os.environ["PATH"], **variables)
    run = subprocess.run(["bash", "--norc", "--noprofile", "-u", "-c", script, "bash", BASH, line],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd, env=env)
    equal(run.stderr, "", line)
    equal(run.returncode, 0, line)
    return sorted(set(run.stdout.split()))


def test_completions_are_generated():
    """The files of the build equal the output of the generator. This test also makes the generator part of what these tests execute."""
    for shell, path in (("bash", BASH), ("zsh", ZSH)):
        equal(generated(shell), pathlib.Path(path).read_text(), shell)


def test_bash_loads_it():
    run = subprocess.run(["bash", "--norc", "-c", 'source "$1" && complete -p side', "bash", BASH],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    equal((run.returncode, run.stderr), (0, ""))
    contains(run.stdout, "-F _side side")


def test_verbs():
    equal(complete("side "), sorted(line["name"] for line in json_lines(side("help", "--json").out)))
    equal(complete("side reco"), ["record", "recover"])
    equal(complete("side -q v"), ["version", "view"])
    equal(complete("side --color never l"), ["leaks", "list", "load", "locks"])
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
    # bash cuts words at colons, and repeats the part before the last one.
    contains(complete("side record --context vpid,perf:thread:cpu-cy"), "cpu-cycles")
    # An argument that may be left out does not consume the command.
    contains(complete("side record --per-thread bas"), "bash")


def test_files_and_commands():
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(folder + "/trace")
        open(folder + "/text", "w").close()
        equal(complete("side view t", cwd=folder), ["trace"])
        equal(complete("side record -o t", cwd=folder), ["trace"])
        equal(complete("side record --output=t", cwd=folder), ["trace"])
        contains(complete("side list t", cwd=folder), "text")
        # After the command, words belong to the command.
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
    # bash itself cuts at the colon, and repeats the part before it.
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
        # Not a third one. There may be directories with this prefix.
        true("db:open" not in complete(f"side report {trace} --pair x:y z:z d"), "a third argument of --pair")


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


def fake_sessions(folder):
    fake = FakeDaemon(os.path.join(folder, "runtime"))
    fake.answers["list"] = {"ok": True, "sessions": [{"name": "night"}, {"name": "noon"}]}
    fake.answers["status"] = lambda request: {"ok": True, "sessions": [
        {"name": request["session"], "definition": {"channels": [
            {"channel": "fast"}, {"channel": "of-" + request["session"]}]}}]}
    with open(fake.directory + "/current", "w", encoding="utf-8") as file:
        file.write("noon\n")
    return fake


SESSIONS = [
    ("side start ", ["night", "noon"]),
    ("side stop ni", ["night"]),
    ("side status --session ", ["night", "noon"]),
    ("side enable-event -s noo", ["noon"]),
    ("side enable-event -c ", ["fast", "of-noon"]),
    ("side enable-event -s night --channel o", ["of-night"]),
    ("side disable-channel f", ["fast"]),
]


def test_bash_sessions():
    with tempfile.TemporaryDirectory() as folder:
        fake = fake_sessions(folder)
        for line, wanted in SESSIONS:
            equal(complete(line, cwd=folder, SIDE_RUNTIME=fake.directory), wanted, line)
        equal(complete("side start --session=n", cwd=folder, SIDE_RUNTIME=fake.directory), ["night", "noon"])
        contains(complete("side list n", cwd=folder, SIDE_RUNTIME=fake.directory), "night")
        fake.close()
        equal(complete("side start ", cwd=folder, SIDE_RUNTIME=fake.directory), [])


class Zsh:
    """An interactive zsh on a terminal, in which each match that is offered is written to a file."""

    INIT = r"""
fpath=($SIDE_COMPLETIONS $fpath)
autoload -Uz compinit
compinit -u -D
compadd() {
	local -a hits
	if (( ! ${@[(I)-[OAD]]} )); then
		builtin compadd -O hits "$@"
		print -rl -- $hits >>$SIDE_HITS
	fi
	builtin compadd "$@"
}
side-complete() {
	zle complete-word
	print >$SIDE_DONE
}
zle -C complete-word complete-word _main_complete
zle -N side-complete
bindkey '^I' side-complete
bindkey '^U' kill-whole-line
print >$SIDE_DONE
"""

    def __init__(self, folder, **variables):
        self.hits, self.done = folder + "/hits", folder + "/done"
        os.mkdir(folder + "/functions")
        shutil.copy(ZSH, folder + "/functions/_side")
        with open(folder + "/init", "w", encoding="utf-8") as file:
            file.write(self.INIT)
        env = environment(PATH=os.path.dirname(os.path.abspath(SIDE)) + ":" + os.environ["PATH"],
                          SIDE_COMPLETIONS=folder + "/functions", SIDE_HITS=self.hits, SIDE_DONE=self.done,
                          **variables)
        self.pid, self.terminal = pty.fork()
        if not self.pid:
            os.chdir(folder)
            os.execvpe("zsh", ["zsh", "-f", "-i"], env)
        os.write(self.terminal, b"source ./init\n")
        self.wait()

    def wait(self):
        end = time.monotonic() + 60
        while not os.path.exists(self.done):
            true(time.monotonic() < end, "zsh does not answer")
            if select.select([self.terminal], [], [], 0.05)[0]:
                os.read(self.terminal, 65536)
        os.unlink(self.done)

    def complete(self, line):
        if os.path.exists(self.hits):
            os.unlink(self.hits)
        os.write(self.terminal, b"\x15" + line.encode() + b"\t")
        self.wait()
        if not os.path.exists(self.hits):
            return []
        with open(self.hits, encoding="utf-8") as file:
            return sorted(set(file.read().split()))

    def close(self):
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


def test_zsh_offers():
    if not shutil.which("zsh"):
        print("zsh is not installed: nothing was completed")
        return
    with tempfile.TemporaryDirectory() as folder:
        fake = fake_sessions(folder)
        zsh = Zsh(folder, SIDE_RUNTIME=fake.directory)
        verbs = zsh.complete("side ")
        for verb in json_lines(side("help", "--json").out):
            contains(verbs, verb["name"])
        for line, wanted in SESSIONS:
            equal(zsh.complete(line), wanted, line)
        contains(zsh.complete("side enable-channel x --mo"), "--mode")
        equal(zsh.complete("side enable-channel x --mode "), ["block", "discard", "overwrite"])
        contains(zsh.complete("side record --buff"), "--buffer-size")
        contains(zsh.complete("side add-context vti"), "vtid")
        zsh.close()
        fake.close()


run_tests(globals())
