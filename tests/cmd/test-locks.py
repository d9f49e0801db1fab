#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`side locks` for a command, a running process and a trace. tests/analysis tests the answer itself."""
import glob

from harness import *

SEEDED = os.environ["SEEDED_LOCKS"]


def temporary(work):
    """An environment whose temporary directories can be seen."""
    return environment(TMPDIR=work)


def objects(text, kind):
    return [value for value in map(json.loads, text.splitlines()) if value["type"] == kind]


def answer(*args, work):
    done = side("locks", "--json", *args, env=temporary(work), cwd=work)
    equal(done.status, 0, done.err)
    # The program has the same standard output: its line comes first.
    first, _, others = done.out.partition("\n")
    return [int(word) for word in first.split()], others


def test_command():
    with tempfile.TemporaryDirectory() as work:
        (attempts, contended, at_least, at_most), printed = answer("--", SEEDED, "mutex", work=work)
        (mutex,) = [lock for lock in objects(printed, "lock") if lock["kind"] == "mutex"]
        equal((mutex["attempts"], mutex["contended"]), (attempts, contended))
        true(at_least * 0.999 <= mutex["waited_ns"] <= at_most * 1.001, printed)
        # Whole stacks: the waiting thread's function, and what the main thread does.
        waiter, holder = ([frame.get("function") for frame in mutex["stacks"][0][name]] for name in ("waiter", "holder"))
        equal(waiter[:2], ["mutex_take", "wait_in_rounds"])
        equal(holder[:3], ["mutex_take", "contend", "main"])
        equal(os.listdir(work), [])


def test_exit_status():
    with tempfile.TemporaryDirectory() as work:
        done = side("locks", "sh", "-c", "exit 7", env=temporary(work))
        equal((done.status, done.out), (7, ""), done)
        contains(done.err, "the recording has no operation of locks")
        done = side("locks", "--", os.path.join(work, "missing"), env=temporary(work))
        equal(done.status, 127, done)
        equal(os.listdir(work), [])


def test_kept_trace():
    with tempfile.TemporaryDirectory() as work:
        trace = os.path.join(work, "kept")
        _, printed = answer("-o", trace, "--", SEEDED, "write", work=work)
        # Without the recording, the end is the last event.
        again = side("locks", "--json", trace)
        equal((again.status, again.err), (0, ""))
        equal(objects(again.out, "lock"), objects(printed, "lock"))
        text = side("locks", "--rows", "1", trace)
        equal((text.status, text.err), (0, ""))
        contains(text.out, "LOCK ")
        contains(text.out, "rwlock")
        contains(text.out, "    held by   write_take+0x")
        # Stacks end with main(), or with the function of the thread.
        true("start_thread" not in text.out and "__libc_start" not in text.out, text.out)
        equal(sorted(os.listdir(work)), ["kept"])


def start(work, *args):
    return subprocess.Popen([SIDE, "locks", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=work,
                            env=temporary(work), start_new_session=True)


def interrupt(running):
    """As Ctrl-C does: all processes of the terminal get the signal."""
    os.killpg(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=60)
    return out, err


def test_deadlock():
    """A command that hangs: the answer comes after Ctrl-C."""
    with tempfile.TemporaryDirectory() as work:
        with start(work, "--", SEEDED, "deadlock-2") as running:
            equal(running.stdout.readline(), "deadlock\n")
            out, err = interrupt(running)
            contains(out, "DEADLOCK of 2 threads of ", err)
            cycle = out.split("\nLOCK ")[0]
            equal(cycle.count("    waits at  hold_and_wait+0x"), 2, out)
            equal(cycle.count("    taken at  hold_and_wait+0x"), 2, out)
        equal(os.listdir(work), [])


def hanging(work, scenario):
    """The JSON and the text of a program that hangs until the signal."""
    trace = os.path.join(work, "kept")
    with start(work, "--json", "-o", trace, "--", SEEDED, scenario) as running:
        equal(running.stdout.readline(), "waits\n")
        out, err = interrupt(running)
        true(out, err)
    return out, side("locks", trace).out


def test_owner_that_has_ended():
    """All threads with the function of the owner were joined."""
    for scenario, name, ended in (("left", "seeded_second", True), ("kept", "seeded_mutex", False)):
        with tempfile.TemporaryDirectory() as work:
            out, text = hanging(work, scenario)
            (waiting,) = objects(out, "waiting")
            equal((waiting["call"], waiting["name"], waiting["holder_ended"]), ("pthread_mutex_lock", name, ended), scenario)
            equal([frame["function"] for frame in waiting["holder_stack"]][0], "take_and_leave")
            (lock,) = [lock for lock in objects(out, "lock") if lock["open"]]
            equal((lock["name"], lock["open"], lock["attempts"], lock["contended"]), (name, 1, 2, 1), scenario)
            # The program waits for 50 ms before it prints its line.
            true(lock["open_ns"] >= 50_000_000 and lock["waited_ns"] == lock["open_ns"], lock)
            (stacks,) = lock["stacks"]
            equal(stacks["holder"], waiting["holder_stack"])
            true(re.search(rf"^thread \d+ .*  pthread_mutex_lock  {name}  .*  wait_for_left  thread {waiting['holder']}( |,|$)", text, re.MULTILINE), text)
            equal(", which has ended" in text, ended, text)
            true(re.search(rf"^{name} +mutex +[0-9.]+ .?s\+ +2 +50.0% ", text, re.MULTILINE), text)
            contains(text, "  open       1 wait has not ended; ")


def test_own_lock():
    """A thread that locks its lock a second time, which the trace alone does not prove."""
    with tempfile.TemporaryDirectory() as work:
        trace = os.path.join(work, "kept")
        with start(work, "-o", trace, "--", SEEDED, "lock-twice") as running:
            equal(running.stdout.readline(), "deadlock\n")
            out, err = interrupt(running)
            contains(out, "DEADLOCK of 1 thread of ", err)
            contains(out, "held by itself")
        equal(objects(side("locks", "--json", trace).out, "deadlock"), [])


def test_process():
    with tempfile.TemporaryDirectory() as work:
        with subprocess.Popen([SEEDED, "serve"], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True) as server:
            equal(server.stdout.readline(), "ready\n")
            running = start(work, "--json", "-p", str(server.pid))
            with running:

                def has_recorded():
                    server.stdin.write("round\n")
                    server.stdin.flush()
                    equal(server.stdout.readline().split()[:2], ["25", "5"])
                    return sum(os.path.getsize(name) for name in glob.glob(os.path.join(work, "*/trace/*/ring_*"))) > 8000

                wait_until(has_recorded, "events are recorded", process=running)
                out, err = interrupt(running)
                true(out, err)
            server.stdin.close()
            equal(server.wait(60), 0)
        mutexes = [lock for lock in objects(out, "lock") if lock["kind"] == "mutex"]
        true(mutexes, out)
        # All locks of the program, in its own order; the C library has others.
        true(mutexes[0]["contended"] > 0 and mutexes[0]["hold"]["count"] > 0, out)
        stack = mutexes[0]["stacks"][0]
        names = [frame.get("function") for frame in stack["waiter"]]
        contains(names, "mutex_take")
        contains(names, "start_thread")
        equal(os.listdir(work), [])


def test_refused_process():
    """The message about the begin is not printed before the reason of a refusal."""
    with subprocess.Popen([SEEDED, "serve"], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True) as stopped:
        equal(stopped.stdout.readline(), "ready\n")
        stopped.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, stopped.pid, os.WSTOPPED)
        refusals = [(pid, side("locks", "-p", str(pid))) for pid in (stopped.pid, 2**22 + 1)]
        stopped.kill()
    for pid, done in refusals:
        true(done.status == 1 and "until Ctrl-C" not in done.err and str(pid) in done.err, done)


def test_refusals():
    done = side("locks")
    equal(done.status, 2)
    contains(done.err, "missing operand: a command, ")
    with tempfile.TemporaryDirectory() as work:
        done = side("locks", work)
        equal(done.status, 1, done)
        contains(done.err, f"{work}")


run_tests(globals())
