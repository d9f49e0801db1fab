#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""
What probes count is what the kernel counts: sqlite3 runs the same script twice, once with a probe on every function, once with uprobes
of the kernel on some of the functions that were hit, on copies of program and library that nobody else runs.

SIDE_TEST_LONG=1 takes more functions; each costs the kernel 50 ms at the end.
"""
import shutil
import sys
import tempfile

from everything import *

TRACING = "/sys/kernel/tracing"
GROUP = f"side_{os.getpid()}"
FUNCTIONS = 300 if LONG else 30
SQL = """
create table t(a integer primary key, b text);
with recursive n(i) as (select 1 union all select i+1 from n where i<300) insert into t select i, hex(i*7919) from n;
create index tb on t(b);
select sum(a), sum(length(b)) from t where b like '3%';
select count(*) from t x join t y on x.a=y.a+1 where x.b>y.b;
"""


def write(path, text):
    # What others have set there stays. (Python's own way to append asks for the end of the file, which has none.)
    fd = os.open(f"{TRACING}/{path}", os.O_WRONLY | os.O_APPEND)
    try:
        for line in text.splitlines(True):
            os.write(fd, line.encode())
    finally:
        os.close(fd)


def place_copies(place):
    program = shutil.which("sqlite3")
    if not program:
        raise Skip("sqlite3 is not installed")
    listed = run(["ldd", program]).stdout.split()
    library = [word for word in listed if "/libsqlite3" in word]
    if not library:
        raise Skip("sqlite3 has no library of its own")
    shutil.copy(program, f"{place}/sqlite3")
    return shutil.copy(library[0], f"{place}/libsqlite3.so.0")


def execute(place, env):
    done = run([f"{place}/sqlite3", ":memory:"], input=SQL, env=dict(env, LD_LIBRARY_PATH=place))
    assert done.returncode == 0, done.stdout
    return done.stdout


def ours(place, library):
    """Of each function of the library that was hit: where in the file, how often, by which method."""
    output = execute(place, environment(f"{place}/sqlite3", f"{place}/report", "once", SIDE_EVERYTHING_ENTRIES="1"))
    report = Report(f"{place}/report")
    assert not report.head["lost"] and not report.head["refused"], str(report)
    module = report.modules.index(library)
    return output, [(each[0], each[1], each[4]) for each in report.places if each[3] == module and each[1]]


def choose(hit, library):
    """Those that are there for another reason than a plain jump first, then some of all."""
    with open(library, "rb") as file:
        code = file.read()
    # Instructions with such prefixes get no uprobe; nobody says so.
    hit = [each for each in hit if code[each[0]] not in b"\xf0\x26\x2e\x36\x3e"]
    rare = [each for each in hit if each[2] != 1][:FUNCTIONS // 3]
    rest = [each for each in hit if each[2] == 1]
    wanted = FUNCTIONS - len(rare)
    return rare + rest[::max(1, len(rest) // wanted)][:wanted]


def kernels(place, library, chosen):
    """The same by uprobes: a dictionary of hits by place in the file."""
    write("uprobe_events", "".join(f"p:{GROUP}/f{offset:x} {library}:{offset:#x}\n" for offset, _, _ in chosen))
    try:
        write(f"events/{GROUP}/enable", "1")
        output = execute(place, dict(os.environ, LD_PRELOAD=LIBRARY))
        with open(f"{TRACING}/uprobe_profile", encoding="ascii") as file:
            lines = [line.split() for line in file]
    finally:
        write(f"events/{GROUP}/enable", "0")
        write("uprobe_events", "".join(f"-:{GROUP}/f{offset:x}\n" for offset, _, _ in chosen))
    return output, {int(line[1][1:], 16): int(line[2]) for line in lines if line[0] == library}


def main():
    with tempfile.TemporaryDirectory() as place:
        try:
            if not os.access(f"{TRACING}/uprobe_events", os.W_OK):
                raise Skip(f"{TRACING} cannot be written")
            library = place_copies(place)
            output, hit = ours(place, library)
            again, same = ours(place, library)
            exact = set(hit) & set(same)
            # Functions that are called at random times are not compared.
            assert len(exact) * 20 > len(hit) * 19, "it is not the same twice"
            chosen = choose(sorted(exact), library)
            kernel_output, seen = kernels(place, library, chosen)
        except Skip as reason:
            print(f"{reason}: nothing can be tested")
            sys.exit(77)
    assert output == again == kernel_output, f"{output}\n{again}\n{kernel_output}"
    wrong = [f"{offset:#x}: {count} hits, the kernel saw {seen.get(offset)}" for offset, count, _ in chosen
             if seen.get(offset) != count]
    assert not wrong, "\n".join(wrong)
    print(f"{len(chosen)} of {len(hit)} functions that were hit: {sum(each[1] for each in chosen)} hits, as the kernel says")


main()
