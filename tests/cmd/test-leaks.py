# SPDX-License-Identifier: MIT
"""`side leaks` finds the blocks that seeded programs leave, as many as valgrind finds.

usage: test-leaks.py SIDE PROGRAM valgrind|verb
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from checks import expect, expect_equal, finish
from leaks import Answer, find_library, run
from waiting import wait_until

side, program = (os.path.abspath(a) for a in sys.argv[1:3])
work = tempfile.TemporaryDirectory(prefix="side-leaks-")
os.environ["TMPDIR"] = work.name


def leaks(mode, *options):
    return Answer(run(side, "leaks", "--json", *options, "--", program, mode))


def valgrind(mode):
    """The blocks and bytes in use at the exit of the first process, and its numbers of allocations and frees."""
    done = run("valgrind", "--run-libc-freeres=no", "--run-cxx-freeres=no", "--log-file=" + work.name + "/valgrind-%p", program, mode)
    first = min((name for name in os.listdir(work.name) if name.startswith("valgrind-")),
                key=lambda name: int(name.split("-")[1]))
    with open(os.path.join(work.name, first)) as file:
        text = file.read().replace(",", "")
    for name in os.listdir(work.name):
        if name.startswith("valgrind-"):
            os.unlink(os.path.join(work.name, name))
    use = re.search(r"in use at exit: (\d+) bytes in (\d+) blocks", text)
    usage = re.search(r"total heap usage: (\d+) allocs (\d+) frees (\d+) bytes", text)
    expect(use and usage, f"valgrind {mode}: {done} {text[-500:]}")
    return tuple(map(int, (use[2], use[1], usage[1], usage[2], usage[3])))


def figures(answer):
    summary = answer.summary
    if not answer.processes:
        return (0, 0, 0, 0, 0)
    process = answer.processes[0]
    return (process["blocks"], process["bytes"], process["allocations"], summary["frees"], process["allocated_bytes"])


def test_as_valgrind():
    """The same figures as valgrind."""
    for mode in ("layers", "realloc", "pool", "threads", "objects", "texts", "aligned"):
        wanted, answer = valgrind(mode), leaks(mode)
        got = figures(answer)
        if mode == "threads":  # side's libraries enlarge the thread-local storage of each thread
            got, wanted = (got[0], *got[2:4]), (wanted[0], *wanted[2:4])
        expect_equal(got, wanted, mode)
        expect_equal(answer.status, 7, f"{mode}: {answer.stderr}")
        expect(answer.summary["exact"], f"{mode}: {answer.summary}")
        expect_equal((answer.summary["double_frees"], answer.summary["unknown_frees"]), (0, 0), mode)


def test_stacks():
    """Every seeded leak has its stack, and nothing else of the program is blamed."""
    answer = leaks("layers")
    found = [leak for leak in answer.leaks if "layers" in answer.functions(leak)]
    expect_equal([answer.functions(leak)[:7] for leak in found],
                 [["layer5", "layer4", "layer3", "layer2", "layer1", "layers", "main"]], "layers")
    expect_equal((found[0]["blocks"], found[0]["bytes"]), (30, sum(range(1000, 1030))), "layers")
    expect_equal(found[0]["allocations"], 60, "layers")
    expect_equal(sum(found[0]["growth"]), found[0]["bytes"], "growth")
    answer = leaks("realloc")
    expect_equal(answer.of("resizes"), (2, 50077), "realloc")
    answer = leaks("pool")
    expect_equal(answer.of("pool_get"), (10, 40960), "pool")
    answer = leaks("threads")
    expect_equal(answer.of("work")[0], 40, "threads")
    answer = leaks("objects")
    expect_equal(answer.of("make")[0], 2, "objects")
    expect_equal(answer.of("objects"), (3, answer.of("make")[1] + 40), "objects")
    answer = leaks("texts")
    expect_equal(answer.of("texts"), (4, 13 + 5 + len("1 and 2") + 1 + 120), "texts")


def test_no_debug_information():
    """Calls on different lines of one function are different stacks, also if the lines are not known."""
    bare = os.path.join(work.name, "bare")
    subprocess.run(["strip", "--strip-debug", "-o", bare, program], check=True)
    wanted, answer = leaks("realloc"), Answer(run(side, "leaks", "--json", "--", bare, "realloc"))
    expect(not any("line" in frame for leak in answer.leaks for frame in leak["stack"] if frame.get("module") == bare), "lines")
    for function in ("resizes", "main"):
        expect_equal(sum(function in answer.functions(leak) for leak in answer.leaks),
                     sum(function in wanted.functions(leak) for leak in wanted.leaks), f"stacks of {function}")


def test_processes():
    """A child's blocks are its own; those that it inherits count once. An exec ends the blocks of a program."""
    answer = leaks("fork")
    expect_equal(answer.of("forks"), (2, 155), "fork")
    child = [process for process in answer.processes if "forked_from" in process]
    expect_equal([(c["blocks"], c["bytes"], c["unknown_frees"]) for c in child], [(1, 55, 1)], "child")
    expect_equal(child[0]["forked_from"], answer.processes[0]["vpid"], "the parent")
    expect_equal((answer.summary["unknown_frees"], answer.summary["double_frees"]), (0, 0), "fork")
    answer = leaks("exec")
    expect_equal(answer.of("executes"), (0, 0), "exec")
    expect_equal(answer.of("layers")[0], 30, "exec")
    expect(answer.summary["bytes_replaced"] >= 12345, f"exec: {answer.summary}")
    answer = Answer(run(side, "leaks", "--json", "--", "sh", "-c", f"exec {program} layers"))
    expect_equal(answer.of("layers")[0], 30, "exec of another program")
    expect_equal({process["procname"] for process in answer.processes}, {os.path.basename(program)}, "its name")


def test_double_free():
    """libc ends the program; the answer has the three stacks, and the status is that of the program."""
    answer = leaks("twice")
    expect_equal(answer.status, 128 + signal.SIGABRT, answer.stderr)
    expect_equal(answer.summary["double_frees"], 1, "twice")
    for free in answer.double_frees:
        expect_equal(answer.functions(free)[:3], ["drop", "twice", "main"], "freed again")
        expect_equal(answer.functions(free, "freed_by")[:3], ["drop", "twice", "main"], "freed before")
        expect_equal(answer.functions(free, "allocated_by")[:2], ["twice", "main"], "allocated")
    done = run(side, "leaks", "--", program, "twice")
    expect("1 free of a block that was already freed" in done.stdout and "freed before by  drop(void*) (" in done.stdout, done.stdout)


def test_text():
    """The text has the same figures; the recording is kept if requested, and can be asked again."""
    trace = os.path.join(work.name, "kept")
    done = run(side, "leaks", "-o", trace, "--", program, "layers")
    expect_equal(done.returncode, 7, done.stderr)
    summary = Answer(run(side, "leaks", "--json", trace)).summary
    first = done.stdout.splitlines()[0]
    expect(first.startswith(f"{summary['blocks']} blocks (") and " in 1 process; peak " in first, first)
    lines = [line.split() for line in done.stdout.splitlines()]
    layers = next((line for line in lines if "layer5(unsigned" in line), None)
    expect(layers and layers[3] == "30", f"{layers} {done.stdout}")
    again = run(side, "leaks", trace)
    expect_equal((again.returncode, again.stdout), (0, done.stdout), again.stderr)
    again = run(side, "leaks", "-o", trace, "--", program, "nothing")
    expect((again.returncode, again.stdout) == (1, "") and f"{trace}: it is not empty" in again.stderr, f"a second recording: {again}")
    few = run(side, "leaks", "--frames", "2", trace).stdout
    expect("… and 5 more frames" in few and "layer4" in few and "layer3" not in few, few)
    few = run(side, "leaks", "--rows", "1", "--", program, "objects").stdout
    expect("… and 3 more stacks with 3 blocks (" in few, few)
    old = Answer(run(side, "leaks", "--json", "--older", "1h", trace))
    expect_equal((old.summary["blocks"], old.leaks, old.summary["blocks_alive"]), (0, [], summary["blocks"]), "older")
    left = [name for name in os.listdir(work.name) if name.startswith("side-answer")]
    expect_equal(left, [], "temporary directories")


def test_running():
    """With -p, blocks from before are not blamed, and their frees are no errors."""
    process = subprocess.Popen([program, "run"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    expect_equal(process.stdout.readline(), "ready\n", "run")
    trace = os.path.join(work.name, "running")
    answering = subprocess.Popen([side, "leaks", "--json", "-o", trace, "-p", str(process.pid)], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)

    def is_recording():
        """One more block is in the trace as soon as the probes are set."""
        process.stdin.write("\n")
        process.stdin.flush()
        process.stdout.readline()
        if answering.poll() is not None:
            raise AssertionError(f"-p: {answering.returncode} {answering.communicate()}")
        return "probe:malloc_return" in run(side, "view", "--json", trace).stdout

    wait_until(is_recording, "the recording of a block")
    for _ in range(5):
        process.stdin.write("\n")
        process.stdin.flush()
        expect_equal(process.stdout.readline(), "done\n", "run")
    answering.send_signal(signal.SIGINT)
    output, errors = answering.communicate(timeout=60)
    answer = Answer(answering, output)
    expect_equal(answering.returncode, 0, errors)
    blocks = answer.of("layer5")[0]
    expect(blocks >= 6, f"-p: {answer.leaks}")
    expect_equal(answer.of("runs"), answer.of("layer5"), "blocks from before")
    expect_equal((answer.summary["double_frees"], answer.summary["blocks"]), (0, blocks), f"-p: {answer.summary}")
    events = [json.loads(line) for line in run(side, "view", "--json", trace).stdout.splitlines()]
    kept = {(event["event"], name) for event in events for name in ("backtrace", "caller") if name in event.get("fields", ())}
    expect_equal(kept, {("probe:malloc", "backtrace"), ("probe:free", "caller")}, "stacks of blocks, callers of frees")
    expect(not any("vtid" in json.dumps(event) for event in events if event["event"].startswith("probe:")), "threads are left out")
    process.stdin.close()
    expect_equal(process.wait(timeout=60), 7, "run")


def test_allocators():
    """The probes are at the functions of the allocator that the program calls."""
    library = find_library("libjemalloc.so.2")
    if not library:
        print("no libjemalloc.so.2")
        return
    trace = os.path.join(work.name, "jemalloc")
    environment = dict(os.environ, LD_PRELOAD=library)
    answer = Answer(run(side, "leaks", "--json", "-o", trace, "--", program, "layers", env=environment))
    expect_equal(answer.of("layers"), (30, sum(range(1000, 1030))), f"jemalloc: {answer.stderr}")
    expect(answer.summary["exact"], f"jemalloc: {answer.summary}")


def test_redis():
    """A server with jemalloc under load: the values that it keeps, and no error."""
    if not shutil.which("redis-server"):
        print("no redis-server")
        return
    socket = os.path.join(work.name, "redis")
    server = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--dir", work.name],
                              stdout=subprocess.DEVNULL)
    wait_until(lambda: run("redis-cli", "-s", socket, "ping").stdout == "PONG\n", "redis answers", process=server)
    trace = os.path.join(work.name, "redis-trace")
    answering = subprocess.Popen([side, "leaks", "--json", "-o", trace, "-p", str(server.pid)], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
    wait_until(lambda: run("redis-cli", "-s", socket, "ping") and "probe:calloc" in run(side, "report", trace).stdout
               or "probe:malloc_return" in run(side, "report", trace).stdout, "the recording of an event", process=answering)
    for i in range(20):
        run("redis-cli", "-s", socket, "set", f"key{i}", "a value that is kept " * 4)
    answering.send_signal(signal.SIGINT)
    output, errors = answering.communicate(timeout=60)
    answer = Answer(answering, output)
    server.terminate()
    server.wait(timeout=60)
    expect_equal(answering.returncode, 0, errors)
    expect(answer.summary["exact"] and answer.summary["double_frees"] == 0, f"redis: {answer.summary}")
    expect(answer.of("setGenericCommand")[0] >= 20, f"redis: {[answer.functions(leak) for leak in answer.leaks]}")


def test_errors():
    """Wrong command lines have a reason; an empty recording says so."""
    for words, part in ((["leaks"], "missing operand"), (["leaks", "-p", "1", "ls"], "exclude each other"),
                        (["leaks", "--duration", "1s", "ls"], "no effect without `-p`")):
        done = run(side, *words)
        expect(done.returncode == 2 and part in done.stderr, f"{words}: {done}")
    done = run(side, "leaks", "/nonexistent/program")
    expect(done.returncode == 127 and done.stdout == "", f"no program: {done}")
    empty = os.path.join(work.name, "empty")
    os.mkdir(empty)
    done = run(side, "leaks", empty)
    expect(done.returncode == 1 and done.stderr, f"no trace: {done}")
    answer = leaks("nothing")
    expect_equal((answer.status, answer.of("main")), (7, (0, 0)), "nothing")
    answer = Answer(run(side, "leaks", "--json", "/bin/true"))
    expect_equal((answer.status, answer.leaks), (0, []), "true")
    trace = os.path.join(work.name, "other")
    run(side, "record", "-q", "-w", "libc", "-e", "libc:fopen", "-e", "libc:write", "-o", trace, "--", "cat", "/etc/hostname")
    done = run(side, "leaks", trace)
    expect_equal((done.returncode, done.stdout), (0, ""), f"no allocator: {done}")


def test_full_disk():
    """Bytes that could not be written are no events; the answer is approximate."""
    disk = os.path.join(work.name, "disk")
    os.mkdir(disk)
    if run("mount", "-t", "tmpfs", "-o", "size=128k", "none", disk).returncode:
        print("mounting needs root")
        return
    try:
        trace = os.path.join(disk, "trace")
        run(side, "leaks", "--json", "-o", trace, "--", sys.executable, "-S", "-c", "print(len([bytes(1000) for _ in range(50000)]))")
        overview = json.loads(run(side, "report", "--json", trace).stdout.splitlines()[0])
        expect(overview["lost_bytes"] > 1 << 18, f"the disk is full: {overview}")
        summary = Answer(run(side, "leaks", "--json", trace)).summary
        expect_equal({name: summary[name] for name in ("lost", "lost_packets", "lost_bytes", "exact")},
                     {**{name: overview[name] for name in ("lost", "lost_packets", "lost_bytes")}, "exact": False}, "losses")
        text = run(side, "leaks", trace).stdout
        expect("\nApproximate: some of these blocks may be freed" in text and "iB of events could not be written\n" in text, text)
    finally:
        run("umount", "-l", disk)


if sys.argv[3] == "valgrind":
    if not shutil.which("valgrind"):
        print("skipped: no valgrind")
        sys.exit(77)
    test_as_valgrind()
else:
    for test in (test_stacks, test_no_debug_information, test_processes, test_double_free, test_text, test_running, test_allocators, test_redis, test_errors, test_full_disk):
        test()
finish()
