#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The counts of probes equal those of the kernel: a program runs with a probe on every function, then again with uprobes
on some of the functions that were hit, on a private copy of its file: test-counts.py sqlite|python|redis

SIDE_TEST_LONG=1 does it twenty times, each time with other functions; each function costs the kernel 50 ms at the
end.
"""
import shutil
import socket
import sys
import tempfile

from everything import *

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
from tracefs import TRACEFS as TRACING, see_tracefs

GROUP = f"side_{os.getpid()}"
FUNCTIONS = 60 if LONG else 30
RUNS = 20 if LONG else 1
REQUESTS = 500
SQL = """
create table t(a integer primary key, b text);
with recursive n(i) as (select 1 union all select i+1 from n where i<300) insert into t select i, hex(i*7919) from n;
create index tb on t(b);
select sum(a), sum(length(b)) from t where b like '3%';
select count(*) from t x join t y on x.a=y.a+1 where x.b>y.b;
"""
SCRIPT = "for i in range(1000): text = repr([i])\nprint(text)"


def write(path, text):
    # Definitions of other tools are kept. (Python's append mode seeks to the end of the file, which has none.)
    fd = os.open(f"{TRACING}/{path}", os.O_WRONLY | os.O_APPEND)
    try:
        for line in text.splitlines(True):
            os.write(fd, line.encode())
    finally:
        os.close(fd)


def need(name):
    path = shutil.which(name)
    if not path:
        raise Skip(f"{name} is not installed")
    return os.path.realpath(path)


class Sqlite:
    """The library of SQLite."""
    name = "sqlite3"
    is_laid_out = False

    def __init__(self, place):
        program, self.place = need("sqlite3"), place
        library = [word for word in run(["ldd", program]).stdout.split() if "/libsqlite3" in word]
        if not library:
            raise Skip("sqlite3 has no library of its own")
        shutil.copy(program, f"{place}/sqlite3")
        self.file = shutil.copy(library[0], f"{place}/libsqlite3.so.0")

    def execute(self, env):
        done = run([f"{self.place}/sqlite3", ":memory:"], input=SQL, env=dict(env, LD_LIBRARY_PATH=self.place))
        assert done.returncode == 0, done.stdout
        return done.stdout

    def is_exact(self, _):
        return True


class Python:
    """The interpreter, which has fixed addresses. How often it compares objects depends on their addresses, so the
    kernel counts in a run that has side's probes, too: on all functions except those that it watches, where side
    refuses them.
    """
    name = "python"
    is_laid_out = True

    def __init__(self, place):
        self.file = shutil.copy(os.path.realpath("/usr/bin/python3") if os.path.exists("/usr/bin/python3") else need("python3"),
                                f"{place}/python")
        if run([self.file, "-S", "-c", SCRIPT]).stdout != "[999]\n":
            raise Skip("a copy of python3 does not find its modules")

    def execute(self, env):
        done = run([self.file, "-S", "-B", "-c", SCRIPT], env=dict(env, PYTHONHASHSEED="0"))
        assert done.returncode == 0, done.stdout
        return done.stdout

    def is_exact(self, _):
        return True


class Redis:
    """The work of a server for each of its requests, without periodic work."""
    name = "redis-server"
    is_laid_out = False

    def __init__(self, place):
        self.client, self.benchmark, self.place = need("redis-cli"), shutil.which("redis-benchmark"), place
        self.file = shutil.copy(need("redis-server"), f"{place}/redis-server")

    def execute(self, env):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        # The process has the name of its file.
        with subprocess.Popen([self.file, "--port", port, "--bind", "127.0.0.1", "--dir", self.place, "--save", ""], env=env,
                              stdout=subprocess.DEVNULL) as process:
            wait_until(lambda: run([self.client, "-p", port, "ping"]).stdout == "PONG\n", "redis-server answers", process=process)
            done = run([self.benchmark, "-p", port, "-c", "1", "-P", "1", "-n", str(REQUESTS), "-t", "set", "-q"])
            assert done.returncode == 0, done.stdout
            answer = run([self.client, "-p", port, "get", "key:__rand_int__"]).stdout
            run([self.client, "-p", port, "shutdown", "nosave"])
            assert process.wait(60) == 0
        return answer

    def is_exact(self, count):
        return count % REQUESTS == 0


def settings(place, load):
    return environment(f"{place}/{load.name}", f"{place}/report", "once", SIDE_EVERYTHING_ENTRIES="1")


def ours(place, load):
    """For each function of the file that was hit: offset in the file, count, method."""
    output = load.execute(settings(place, load))
    report = Report(f"{place}/report")
    assert not report.head["lost"] and not report.head["refused"], str(report)
    module = report.modules.index(load.file if load.file in report.modules else "/proc/self/exe")
    return output, {each[0]: (each[1], each[4]) for each in report.places if each[3] == module and each[1]}


def choose(hit, library, turn):
    """Chooses functions with a method other than a plain jump first, then some of all: others each time."""
    with open(library, "rb") as file:
        code = file.read()
    # Kernels set no uprobe on instructions with such prefixes, and report no error.
    hit = [(offset, *result) for offset, result in sorted(hit.items()) if code[offset] not in b"\xf0\x26\x2e\x36\x3e"]
    rare = [each for each in hit if each[2] != 1][:FUNCTIONS // 3]
    remainder = [each for each in hit if each[2] == 1]
    wanted = FUNCTIONS - len(rare)
    step = max(1, len(remainder) // wanted)
    return rare + remainder[turn % step::step][:wanted]


def profile(library):
    with open(f"{TRACING}/uprobe_profile", encoding="ascii") as file:
        lines = [line.split() for line in file]
    return {int(line[1][1:], 16): int(line[2]) for line in lines if line[0] == library}


def kernels(place, load, chosen):
    """The same with uprobes: a dictionary of hits by offset in the file."""
    library = load.file
    write("uprobe_events", "".join(f"p:{GROUP}/f{offset:x} {library}:{offset:#x}\n" for offset, _, _ in chosen))
    try:
        write(f"events/{GROUP}/enable", "1")
        env = settings(place, load)
        if not load.is_laid_out:
            # Programs that read their environment must find it unchanged: this variable is unset as soon as it was read.
            del env["SIDE_EVERYTHING"]
        output = load.execute(env)
        seen = profile(library)
        # The file is read page by page: if other tools remove definitions meanwhile, the next page may skip some of ours.
        for _ in range(20):
            if all(offset in seen for offset, _, _ in chosen):
                break
            seen.update(profile(library))
    finally:
        write(f"events/{GROUP}/enable", "0")
        write("uprobe_events", "".join(f"-:{GROUP}/f{offset:x}\n" for offset, _, _ in chosen))
    return output, seen


def compare(place, load, turn):
    """Compares one run of each."""
    output, hit = ours(place, load)
    again, same = ours(place, load)
    # Functions that are called at random times are not compared.
    exact = {offset: result for offset, result in hit.items() if same.get(offset) == result and load.is_exact(result[0])}
    assert load.name == "redis-server" or len(exact) * 20 > len(hit) * 19, "it is not the same twice"
    chosen = choose(exact, load.file, turn)
    kernel_output, seen = kernels(place, load, chosen)
    assert output == again == kernel_output, f"{output}\n{again}\n{kernel_output}"
    wrong = [each for each in chosen if seen.get(each[0]) != each[1]]
    if wrong:
        # A function may seldom be called at random times: then both counts may differ.
        more = [ours(place, load)[1] for _ in range(3)]
        # Or the kernel saw an unusual run: the lookups of python3 in its type cache depend on addresses.
        _, once_more = kernels(place, load, wrong)
        random = [each for each in wrong if any(other.get(each[0], (0,))[0] != each[1] for other in more)
                  or once_more.get(each[0]) != seen.get(each[0])]
        assert len(random) * 10 <= len(chosen), "too many functions are called at random times"
        chosen = [each for each in chosen if each not in random]
        wrong = [each for each in wrong if each not in random]
    assert not wrong, "\n".join(f"{offset:#x}: {count} hits, the kernel saw {seen.get(offset)}" for offset, count, _ in wrong)
    print(f"{len(chosen)} of {len(hit)} functions that were hit: {sum(each[1] for each in chosen)} hits, as the kernel says",
          flush=True)
    return len(chosen), sum(each[1] for each in chosen)


def main():
    loads = {"sqlite": Sqlite, "python": Python, "redis": Redis}
    with tempfile.TemporaryDirectory() as place:
        try:
            if not see_tracefs():
                raise Skip(f"{TRACING} cannot be written")
            load = loads[sys.argv[1]](place)
        except Skip as reason:
            print(f"{reason}: nothing can be tested")
            sys.exit(77)
        sums = [compare(place, load, turn) for turn in range(RUNS)]
    print(f"{len(sums)} runs: {sum(each[0] for each in sums)} counts, {sum(each[1] for each in sums)} hits")


main()
