# SPDX-License-Identifier: MIT
"""Answers about real programs equal those of valgrind, heaptrack, bpftrace and perf, which run the same programs here.

usage: test-answers-real.py SIDE EXCEPTIONS SHARES

A comparison with a tool that is not installed, or cannot run here, is skipped and named. With SIDE_TEST_LONG=1 every
function of the library is compared, and more programs run.
"""
import collections
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from checks import Skipped, equal, run, skip, true
import checks
from leaks import Answer
from waiting import wait_until

side, exceptions, shares = (os.path.abspath(a) for a in sys.argv[1:4])
del sys.argv[1:4]
LONG = os.environ.get("SIDE_TEST_LONG") == "1"
TIMEOUT_S = 110
OTHER_USER = 65534  # without rights; it has a name on each system, which initdb needs
FREED_AT_END = 50  # by the destructor of a library of the program `exceptions`
LIBC = "/lib/x86_64-linux-gnu/libc.so.6"
SQL = """
create table t(a integer primary key, b text);
with recursive n(i) as (select 1 union all select i+1 from n where i<300) insert into t select i, hex(i*7919) from n;
create index tb on t(b);
select sum(a), sum(length(b)) from t where b like '3%';
"""
work = tempfile.TemporaryDirectory(prefix="side-real-")
os.environ["TMPDIR"] = work.name
os.environ.pop("LD_PRELOAD", None)


def need(name):
    return shutil.which(name) or skip(f"{name} is not installed")


def path_of(name):
    return os.path.join(work.name, name)


def read(name):
    with open(path_of(name), encoding="utf-8", errors="replace") as file:
        return file.read()


def execute(*words, status=0, **options):
    return run(*words, status=status, timeout=TIMEOUT_S, **options)


def programs():
    """Programs that start no other process, and their standard input."""
    found = {"exceptions": ([exceptions], "")}
    if shutil.which("sqlite3"):
        found["sqlite3"] = ([shutil.which("sqlite3"), ":memory:"], SQL)
    if shutil.which("git"):
        execute("git", "init", "-q", path_of("repository"))
        found["git"] = ([shutil.which("git"), "-C", path_of("repository"), "status", "--short"], "")
    if shutil.which("bash"):
        found["bash"] = ([shutil.which("bash"), "-c", "a=(); for ((i = 0; i < 200; i++)); do a+=(word$i); done; echo ${#a[@]}"], "")
    if LONG:
        found["python3"] = (["/usr/bin/python3", "-S", "-c", "print(sum(len(repr([i])) for i in range(1000)))"], "")
    return found


def leaks_of(words, text):
    """Reads the answer from a file, because the program writes to standard output as well."""
    shutil.rmtree(path_of("trace"), True)
    alone = execute(*words, input=text).stdout
    done = execute(side, "leaks", "-o", path_of("trace"), "--", *words, input=text)
    true(done.stdout.startswith(alone), f"{words[0]}: its output is changed: {done.stdout[:300]}")
    return Answer(execute(side, "leaks", "--json", path_of("trace")))


def valgrind_of(words, text):
    execute("valgrind", "--run-libc-freeres=no", "--run-cxx-freeres=no", f"--log-file={path_of('valgrind')}", *words, input=text)
    return valgrind_numbers("valgrind")


def valgrind_numbers(name):
    """Blocks and bytes in use at the end, allocations and frees."""
    log = read(name).replace(",", "")
    use = re.search(r"in use at exit: (\d+) bytes in (\d+) blocks", log)
    usage = re.search(r"total heap usage: (\d+) allocs (\d+) frees", log)
    true(use and usage, f"valgrind: {log[-500:]}")
    return int(use[2]), int(use[1]), int(usage[1]), int(usage[2])


def test_leaks_as_valgrind():
    need("valgrind")
    for name, (words, text) in programs().items():
        answer, (blocks, size, allocations, frees) = leaks_of(words, text), valgrind_of(words, text)
        process, summary = answer.processes[0], answer.summary
        print(f"  {name}: {blocks} blocks, {size} bytes, {allocations} allocations; side: {process['blocks']}, {process['bytes']}, "
              f"{process['allocations']}")
        equal((process["blocks"], process["allocations"] - summary["frees"]), (blocks, allocations - frees), name)
        # Both tools set LD_PRELOAD and variables of their own, which bash and git copy.
        true(abs(process["allocations"] - allocations) <= (8 if name == "bash" else 0), f"{name}: allocations")
        true(abs(process["bytes"] - size) <= (1024 if name in ("bash", "git") else 0), f"{name}: {process['bytes']} bytes, valgrind {size}")
        true(summary["exact"], f"{name}: {summary}")
        equal((summary["double_frees"], summary["unknown_frees"]), (0, 0), f"{name}: nothing is blamed falsely")


def test_leaks_of_postgres():
    """A backend of PostgreSQL, which wants another user than root. Libraries free hundreds of blocks in their destructors."""
    need("valgrind")
    if not LONG:
        skip("only with SIDE_TEST_LONG=1")
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin")) or skip("postgresql is not installed")
    home = path_of("postgres")
    os.mkdir(home)
    as_user = []
    if not os.geteuid():
        as_user = ["setpriv", f"--reuid={OTHER_USER}", f"--regid={OTHER_USER}", "--clear-groups"]
        os.chmod(work.name, 0o755)
        os.chown(home, OTHER_USER, OTHER_USER)
    options = {"cwd": home, "env": dict(os.environ, TMPDIR=home), "input": "select count(*), max(relname) from pg_class;\n"}
    if execute(*as_user, side, "version", status=None, cwd="/").returncode:
        skip("the other user cannot run side")
    execute(*as_user, f"{found[-1]}/initdb", "-D", f"{home}/data", **options)
    words = [f"{found[-1]}/postgres", "--single", "-D", f"{home}/data", "postgres"]
    execute(*as_user, *words, **options)
    execute(*as_user, side, "leaks", "-o", f"{home}/trace", "--", *words, **options)
    answer = Answer(execute(side, "leaks", "--json", f"{home}/trace"))
    execute(*as_user, "valgrind", "--run-libc-freeres=no", "--run-cxx-freeres=no", f"--log-file={home}/valgrind", *words, **options)
    blocks, _, allocations, frees = valgrind_numbers("postgres/valgrind")
    process, summary = answer.processes[0], answer.summary
    print(f"  postgres: {blocks} blocks, {allocations} allocations; side: {process['blocks']}, {process['allocations']}")
    equal((process["blocks"], process["allocations"], summary["frees"]), (blocks, allocations, frees), "postgres")
    equal((summary["exact"], summary["double_frees"], summary["unknown_frees"]), (True, 0, 0), "postgres")


def test_leaks_as_heaptrack():
    """heaptrack begins later, and ends before the destructors of libraries, so it lacks a few early calls and their frees."""
    need("heaptrack")
    for name, (words, text) in programs().items():
        answer = leaks_of(words, text)
        done = execute("heaptrack", "-o", path_of("heap"), *words, input=text, status=None)
        counted = re.search(r"allocations:\s+(\d+)\s+leaked allocations:\s+(\d+)", done.stdout + done.stderr)
        true(counted, f"{name}: heaptrack: {done.stdout[-500:]}{done.stderr[-500:]}")
        process = answer.processes[0]
        print(f"  {name}: heaptrack {counted[1]} allocations, {counted[2]} leaked; side: {process['allocations']}, "
              f"{process['blocks']}")
        true(abs(process["allocations"] - int(counted[1])) <= 8 + process["allocations"] // 100, f"{name}: allocations")
        leaked = int(counted[2]) - (FREED_AT_END if name == "exceptions" else 0)
        true(abs(process["blocks"] - leaked) <= 8 + process["blocks"] // 100, f"{name}: blocks alive")


def need_bpftrace():
    need("bpftrace")
    if os.geteuid():
        skip("bpftrace wants root")
    done = execute("bpftrace", "-e", "BEGIN { exit(); }", status=None)
    if done.returncode:
        skip(f"bpftrace cannot run here: {done.stderr.strip()[-200:]}")


def test_calls_as_bpftrace():
    """The kernel counts calls of a copy of the library in one run, side in another one."""
    need_bpftrace()
    program = need("sqlite3")
    library = next((word for word in execute("ldd", program).stdout.split() if "/libsqlite3" in word), None)
    if not library:
        skip("sqlite3 has no library of its own")
    copy = shutil.copy(os.path.realpath(library), path_of("libsqlite3.so.0"))
    with open(path_of("sql"), "w", encoding="utf-8") as file:
        file.write(SQL)
    env = dict(os.environ, LD_LIBRARY_PATH=work.name)
    words = [program, "-init", path_of("sql"), ":memory:", ".quit"]
    execute(side, "calls", "--library", "libsqlite3", "-o", path_of("calls"), "--", *words, env=env)
    printed = execute(side, "calls", "--json", path_of("calls")).stdout
    lines = [json.loads(line) for line in printed.splitlines()]
    counts = {line["function"]: line["calls"] for line in lines if line["type"] == "function"}
    true(len(counts) > 10, f"{len(counts)} functions")
    names = sorted(counts, key=lambda name: (-counts[name], name))[:None if LONG else 20]
    script = "".join(f"uprobe:{copy}:{name} {{ @calls[\"{name}\"] = count(); }}\n" for name in names)
    done = execute("bpftrace", "-e", script, "-c", " ".join(words), env=env, status=None)
    kernel = {name: int(count) for name, count in re.findall(r"@calls\[(\w+)\]: (\d+)", done.stdout)}
    print(f"  {len(names)} functions, {sum(kernel.values())} calls")
    equal({name: counts[name] for name in names}, kernel, f"counts: {done.stderr[-300:]}")


def counted_locks(name, output):
    counts = re.findall(rf"@locks\[{name}\]: (\d+)", read(output))
    return int(counts[-1]) if counts else 0


def test_locks_as_bpftrace():
    """The kernel counts calls of pthread_mutex_lock() of xz while side does; the tracer's own threads call it, too."""
    need_bpftrace()
    program = need("xz")
    ready, counted = (shutil.copy(program, path_of(name)) for name in ("xz-ready", "xz-counted"))
    with open(path_of("data"), "wb") as file:
        file.write(os.urandom(4 << 20))
    words = ["-0", "-T2", "--block-size=256KiB", "-k", "-c", path_of("data")]
    script = f"uprobe:{LIBC}:pthread_mutex_lock {{ @locks[comm] = count(); }} interval:s:1 {{ print(@locks); }}"
    with open(path_of("locks-counted"), "w", encoding="utf-8") as file, \
            subprocess.Popen(["bpftrace", "-e", script], stdout=file, stderr=subprocess.DEVNULL) as kernel:
        try:
            wait_until(lambda: not execute(ready, *words, text=False).stderr and counted_locks("xz-ready", "locks-counted"))
            execute(side, "locks", "-o", path_of("locks"), "--", counted, *words, text=False)
        finally:
            kernel.send_signal(signal.SIGINT)
            kernel.wait(TIMEOUT_S)
    kernel_count = counted_locks("xz-counted", "locks-counted")
    lines = [json.loads(line) for line in execute(side, "locks", "--json", path_of("locks")).stdout.splitlines()]
    side_count = sum(line["attempts"] for line in lines if line["type"] == "lock" and line["kind"] == "mutex")
    print(f"  pthread_mutex_lock: kernel {kernel_count}, side {side_count}")
    true(0 <= kernel_count - side_count <= 200, f"kernel {kernel_count}, side {side_count}")


def test_shares_as_perf():
    """The shares of processor time of three functions, by calls that are measured and by samples."""
    need("perf")
    shutil.rmtree(path_of("flame"), True)
    sampled = execute("perf", "record", "-q", "-e", "cpu-clock", "-o", path_of("perf"), shares, status=None)
    if sampled.returncode:
        skip(f"perf cannot sample here: {sampled.stderr.strip()[-200:]}")
    script = execute("perf", "script", "-i", path_of("perf"), "-F", "ip,sym").stdout.split()
    samples = collections.Counter(name for name in script if name.startswith("share_"))
    execute(side, "slow", "--function", "share_*", "-o", path_of("flame"), "--", shares)
    lines = [json.loads(line) for line in execute(side, "slow", "--json", path_of("flame")).stdout.splitlines()]
    selves = {line["function"]: line["self_ns"] for line in lines if line["type"] == "function"}
    print("  samples:", dict(samples), "side:", selves)
    equal(sorted(selves), ["share_large", "share_medium", "share_small"], "functions")
    if sum(samples.values()) < 50:
        skip("perf has too few samples")
    for name in selves:
        by_samples, by_calls = samples[name] / sum(samples.values()), selves[name] / sum(selves.values())
        true(abs(by_samples - by_calls) < 0.15, f"{name}: perf {by_samples:.2f}, side {by_calls:.2f}")
    equal(max(selves, key=selves.get), max(samples, key=samples.get), "the slowest function")


checks.run_tests(globals())
