# SPDX-License-Identifier: MIT
"""`side leaks --mmap` counts the mappings that remain after the calls that strace prints.

usage: test-leaks-mmap.py SIDE PROGRAM
"""
import os
import re
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from checks import expect, expect_equal, finish
from leaks import Answer, run

side, program = (os.path.abspath(a) for a in sys.argv[1:3])
work = tempfile.TemporaryDirectory(prefix="side-leaks-mmap-")
os.environ["TMPDIR"] = work.name
PAGE = 4096


def pages(begin, length):
    """The numbers of the pages of a range."""
    return range(begin // PAGE, (begin + length + PAGE - 1) // PAGE)


def remaining(lines):
    """Parts and bytes of the mappings that remain after the system calls between the two marks, page by page."""
    owner, calls, inside = {}, 0, False
    for line in lines:
        inside = "nonexistent/begin" in line or (inside and "nonexistent/end" not in line)
        call = re.search(r"(mmap|munmap|mremap)\((.*)\) += (\S+)", line)
        if not inside or not call or call[3] == "-1":
            continue
        calls += 1
        args, result = call[2].split(", "), int(call[3], 0)
        number = lambda at: int(args[at], 0)
        if call[1] != "mmap":
            for page in pages(number(0), number(1)):
                owner.pop(page, None)
        if call[1] != "munmap":
            for page in pages(result, number(2 if call[1] == "mremap" else 1)):
                owner[page] = calls
    parts = sum(owner.get(page - 1) != mapping for page, mapping in owner.items())
    return parts, len(owner) * PAGE


def test_as_strace():
    """Parts and bytes are those of the system calls; without the option, mappings do not count."""
    if not shutil.which("strace"):
        print("no strace")
        return
    log = os.path.join(work.name, "log")
    expect_equal(run("strace", "-o", log, "-e", "trace=mmap,munmap,mremap,access", program, "maps").returncode, 7, "strace")
    with open(log) as file:
        wanted = remaining(file)
    expect(wanted[0] > 10, f"{wanted}")
    trace = os.path.join(work.name, "trace")
    answer = Answer(run(side, "leaks", "--json", "--mmap", "-o", trace, "--", program, "maps"))
    expect_equal((answer.of("maps"), answer.summary["mappings"]), (wanted, wanted[0]), answer.stderr)
    expect_equal((answer.status, answer.summary["exact"], answer.summary["failed"]), (7, True, 1), f"{answer.summary}")
    process = answer.processes[0]
    expect_equal((process["blocks"], process["bytes"]), (answer.summary["blocks"], answer.summary["bytes"]), "the process")
    plain = Answer(run(side, "leaks", "--json", trace))
    expect_equal((plain.of("maps"), plain.summary["mappings"]), ((0, 0), 0), "without --mmap")


def test_refused():
    """With -p, and for a recording without such events, the reason is printed."""
    done = run(side, "leaks", "--mmap", "-p", "1")
    expect(done.returncode == 2 and "`--mmap` and `-p` exclude each other" in done.stderr, f"-p: {done}")
    trace = os.path.join(work.name, "blocks")
    run(side, "leaks", "-o", trace, "--", program, "pool")
    summary = Answer(run(side, "leaks", "--json", "--mmap", trace)).summary
    expect_equal((summary["incomplete"], summary["exact"]), (["the recording has no events of mmap()"], False), "no mmap")


for test in (test_as_strace, test_refused):
    test()
finish()
