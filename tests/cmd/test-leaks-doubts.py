# SPDX-License-Identifier: MIT
"""`side leaks` reports what its recording lacks, and reports no block wrongly because of it.

usage: test-leaks-doubts.py SIDE PROGRAM
"""
import json
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from checks import expect, expect_equal, finish
from leaks import Answer, find_library, run

side, program = (os.path.abspath(a) for a in sys.argv[1:3])
work = tempfile.TemporaryDirectory(prefix="side-leaks-doubts-")
os.environ["TMPDIR"] = work.name


def record(name, mode, *options):
    """The directory of a recording of the wrappers."""
    trace = os.path.join(work.name, name)
    done = run(side, "record", "-q", "-w", "libc", *options, "-o", trace, "--", program, mode)
    expect_equal(done.returncode, 7, f"{name}: {done.stderr}")
    return trace


def doubts(trace):
    """The sentences of the JSON, which are those of the text, and whether the answer is exact."""
    summary = Answer(run(side, "leaks", "--json", trace)).summary
    lines = run(side, "leaks", trace).stdout.splitlines()
    expect_equal([line for line in lines if line.startswith("Incomplete: ")],
                 [f"Incomplete: {sentence}." for sentence in summary["incomplete"]], trace)
    return summary["incomplete"], summary["exact"]


def test_complete():
    """A trace of all events is exact, also if the program frees nothing."""
    expect_equal(doubts(record("complete", "pool")), ([], True), "complete")


def test_overwritten():
    """A recording that overwrites older events is not exact."""
    wanted = ["the recording used `--mode overwrite`, which overwrites older events"]
    for form in ("ctf1", "ctf2"):
        trace = record("overwritten-" + form, "threads", "--mode", "overwrite", "--buffer-size", "64K", "--format", form)
        expect_equal(doubts(trace), (wanted, False), form)


def test_selected():
    """A recording without frees, or with a filter, is not exact."""
    sentences, exact = doubts(record("selected", "layers", "-e", "libc:malloc"))
    expect_equal((sentences[0], exact), ("the recording has no events of free()", False), "no frees")
    sentences, exact = doubts(record("filtered", "layers", "-e", "libc:*", "--filter", "ptr > 0 || size > 1010"))
    expect_equal((sentences[0], exact), ("the recording used `--filter`, which leaves out events", False), "a filter")


def test_other_operators():
    """Operators of jemalloc are recorded if the program imports them; otherwise the answer is not exact."""
    library = find_library("libjemalloc.so.2")
    if not library:
        print("no libjemalloc.so.2")
        return
    answer = Answer(run(side, "leaks", "--json", "--", program, "mixed", env=dict(os.environ, LD_PRELOAD=library)))
    expect_equal((answer.status, answer.double_frees), (7, []), answer.stderr)
    expect_equal((answer.summary["double_frees"], answer.summary["unknown_frees"], answer.summary["exact"]), (0, 0, True),
                 f"{answer.summary}")
    expect(answer.summary["allocations"] >= 200, f"{answer.summary}")
    answer = Answer(run(side, "leaks", "--json", "--", program, "mixed-directly", env=dict(os.environ, LD_PRELOAD=library)))
    expect_equal((answer.status, answer.double_frees), (7, []), answer.stderr)
    expect_equal((answer.summary["double_frees"], answer.summary["exact"]), (0, False), f"{answer.summary}")
    expect(answer.summary["unknown_frees"] >= 100, f"{answer.summary}")
    expect_equal(answer.summary["incomplete"],
                 ["libjemalloc.so.2 has C++ operators of its own, whose blocks are not in the recording"], "jemalloc")


def peak_kib(*words):
    """The largest resident set of a command, whose output is not kept."""
    with open(os.devnull, "w") as nothing:
        pid = os.posix_spawn(words[0], words, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, nothing.fileno(), 1)])
    _, status, usage = os.wait4(pid, 0)
    expect_equal(status, 0, f"{words}")
    return usage.ru_maxrss


def test_json_memory():
    """JSON of many stacks, some 50 MiB, needs no more memory than text, because side writes it in parts."""
    trace = record("stacks", "stacks", "--context", "backtrace", "--mode", "block")
    text, lines = peak_kib(side, "leaks", trace), peak_kib(side, "leaks", "--json", trace)
    expect(lines < text + (16 << 10), f"{lines} KiB, as text {text} KiB")


VERBS = {"leaks": "call of the allocator", "locks": "operation of locks", "slow": "call of a function", "calls": "call of a function"}


def nothing(verb, *words):
    """The object that reports an empty recording, and the note of the text."""
    done, text = run(side, verb, "--json", *words), run(side, verb, *words)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    expect_equal([(line["schema"], line["type"], line["verb"]) for line in lines], [(1, "nothing", verb)], f"{verb}: {done}")
    expect(f"side: {lines[0]['reason']}\n" in text.stderr, f"{verb}: {text}")
    expect_equal(text.stdout, "".join(line + "\n" for line in done.stdout.splitlines() if not line.startswith("{")), f"{verb}: text")
    return lines[0].get("reason"), lines[0].get("hint")


def build(name, *compiler):
    """A program that side cannot record, or None."""
    source, program_path = os.path.join(work.name, name + ".c"), os.path.join(work.name, name)
    with open(source, "w") as file:
        file.write("#include <stdlib.h>\n\nint main(void)\n{\n\treturn malloc(10) == NULL;\n}\n")
    if shutil.which(compiler[0]) and run(*compiler, "-o", program_path, source).returncode == 0:
        return program_path
    print(f"no {name} programs")
    return None


def test_nothing():
    """A recording without events of the verb has one form in all verbs; the answer for a trace has a hint how to record."""
    trace = os.path.join(work.name, "other")
    done = run(side, "record", "-q", "-w", "libc", "-e", "libc:fopen", "-e", "libc:write", "-o", trace, "--", "cat", "/etc/hostname")
    expect_equal(done.returncode, 0, done.stderr)
    for verb, what in VERBS.items():
        expect_equal(nothing(verb, trace), (f"the recording has no {what}", f"record with `side {verb} -o DIR COMMAND`"), verb)
    for name, compiler in (("static", ("gcc", "-static")), ("musl", ("musl-gcc",))):
        bare = build(name, *compiler)
        for verb in ("leaks", "locks") if bare else ():
            expect_equal(nothing(verb, "--", bare), (f"the recording has no {VERBS[verb]}", None), f"{verb} of a {name} program")


for test in (test_complete, test_overwritten, test_selected, test_other_operators, test_json_memory, test_nothing):
    test()
finish()
