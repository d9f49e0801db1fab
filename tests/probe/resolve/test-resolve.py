#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A spec of a location leads to that location: compared with nm, readelf and gdb, for programs of gcc and clang, with
and without debug information, stripped, position-independent and not.
"""
import atexit
import json
import os
import re
import shutil
import subprocess
import tempfile

from harness import *

SHOW, SOURCES = os.environ["SHOW"], os.environ["SOURCES"]
FOLDER = tempfile.mkdtemp()
atexit.register(shutil.rmtree, FOLDER)
COMPILERS = [c for c in ("gcc", "clang") if shutil.which(c)]
MODES = {"o0": ["-g", "-O0"], "o2": ["-g", "-O2"], "fixed": ["-g", "-O2", "-no-pie", "-fno-pie"], "plain": ["-O2"]}


def holds(condition, what="a condition"):
    true(condition, what)


def compiled(source, compiler, mode):
    path = f"{FOLDER}/{source.replace('.', '-')}-{compiler}-{mode}"
    if not os.path.exists(path):
        program = {"gcc": "g++", "clang": "clang++"}[compiler] if source.endswith("cpp") else compiler
        subprocess.run([program, "-w", *MODES[mode], f"{SOURCES}/{source}", "-o", path], check=True)
    return path


def each(source, *modes):
    for compiler in COMPILERS:
        for mode in modes or MODES:
            yield compiled(source, compiler, mode)


class Shown:
    def __init__(self, *args):
        done = subprocess.run([SHOW, *map(str, args)], capture_output=True, text=True, timeout=120)
        equal(done.stderr, "")
        self.events, self.probes, self.fields, self.refused, self.error, self.told = [], [], [], [], "", ""
        for line in done.stdout.splitlines():
            word, remainder = line.split(" ", 1)
            if word == "event":
                self.events.append(remainder)
            elif word == "probe":
                found = re.match(r"(\S+) (0x\S+) method (\d+) flags (\d+) semaphore (0x\S+) exit (\d) (.*)", remainder)
                self.probes.append({"module": found[1], "address": int(found[2], 16), "flags": int(found[4]),
                                    "semaphore": int(found[5], 16), "exit": found[6] == "1", "function": found[7]})
            elif word == "field":
                name, kind, size, limit, *ops = remainder.split(" ")
                self.fields.append([name, int(kind), int(size), int(limit), [[int(n) for n in op.split(":")] for op in ops]])
            elif word == "told":
                self.told = remainder
            elif word == "refused":
                self.refused.append(remainder)
            else:
                self.error = remainder
        equal(done.returncode, 1 if self.error else 0)

    @property
    def address(self):
        equal((self.error, len(self.probes)), ("", 1))
        return self.probes[0]["address"]


def symbols(path, *options):
    done = subprocess.run(["nm", *options, path], capture_output=True, text=True, check=True)
    found = {}
    for line in done.stdout.splitlines():
        match = re.match(r"([0-9a-f]+) [tTwWiBV] (.*)", line)
        if match:
            found.setdefault(re.sub("@.*", "", match[2]), []).append(int(match[1], 16))
    return found


def gdb(binary, jobs):
    env = dict(os.environ, JOB=json.dumps({"binary": binary, "jobs": jobs}))
    done = subprocess.run(["gdb", "-batch", "-nx", "-x", SOURCES + "/evaluate.py"], env=env, capture_output=True, text=True,
                          timeout=120)
    found = [json.loads(line[7:]) for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    equal(len(found), len(jobs), done.stderr[-500:])
    return found


def test_names_are_where_nm_has_them():
    for path in each("target.c"):
        names = symbols(path)
        wanted = [n for n in names if n.startswith("target_") and n not in ("target_mark", "target_counter")]
        holds(len(wanted) >= 5)
        for name in wanted:
            equal(Shown(path, "function", name).address, names[name][0], path + " " + name)
        found = Shown(path, "function", "target_*")
        equal(sorted(p["address"] for p in found.probes), sorted(names[n][0] for n in wanted))
        equal(found.fields[0][0], "function")


def test_offsets_and_numbers():
    path = compiled("target.c", "gcc", "o0")
    main = symbols(path)["main"][0]
    # push %rbp; mov %rsp,%rbp
    for output in ("main+1", "main+0x1", "main+01", str(main + 1), hex(main + 1), "0" + oct(main + 1)[2:]):
        equal(Shown(path, "probe", output).address, main + 1, output)
    holds("one begins at" in Shown(path, "probe", "main+2").error)
    holds("`9` is not an offset" not in Shown(path, "probe", "main+9").error)
    holds("is not an offset" in Shown(path, "probe", "main+09").error)
    holds("has only" in Shown(path, "probe", "main+0x10000").error)


def test_cpp_names():
    for path in each("target.cpp", "o0", "plain"):
        names = symbols(path, "-C")
        for output, name in [("net::server::read(int)", "net::server::read(int)"),
                           ("net::server::read(char const*) const", "net::server::read(char const*) const"),
                           ("net::server::take", "net::server::take(net::address const&)"),
                           ("net::server::operator==", "net::server::operator==(net::server const&) const"),
                           ("net::server::twice<int>", "int net::server::twice<int>(int)"),
                           ("_ZN3net6server4readEi", "net::server::read(int)")]:
            found = Shown(path, "function", output)
            # A compiler may have made a copy of it, and only the copy exists.
            copies = [n for n in names if n.startswith(name)]
            equal((output, found.address), (output, names[copies[0]][0]))
            equal(found.probes[0]["function"], copies[0])
        both = Shown(path, "function", "net::server::read")
        equal(sorted(p["address"] for p in both.probes),
              sorted(a for n, a in ((n, names[n][0]) for n in names if n.startswith("net::server::read("))))
        # clang 19 makes copies of a function for constant arguments.
        equal(len(Shown(path, "function", "net::server::re*").probes), len([n for n in names if n.startswith("net::server::re")]))


def test_cpp_values():
    for path in each("target.cpp", "o0", "o2"):
        found = Shown(path, "function", "net::server::take", "from.port", "from.host", "this->limit")
        equal(found.error, "")
        (result,) = gdb(path, [{"address": found.address, "fields": found.fields}])
        equal(result["values"], {"from_port": 8080, "from_host": "localhost", "this_limit": 1}, path)


def test_lines_are_where_gdb_has_them():
    with open(SOURCES + "/target.c", encoding="utf-8") as file:
        lines = file.read().split("\n")
    number = 1 + next(i for i, line in enumerate(lines) if "line of the sum" in line)
    for path in each("target.c", "o0", "o2", "fixed"):
        output = subprocess.run(["gdb", "-batch", "-nx", "-ex", f"info line target.c:{number}", path], capture_output=True,
                              text=True, check=True).stdout
        wanted = int(re.search(r"(?:starts at address|is at address) (0x[0-9a-f]+)", output)[1], 16)
        equal(Shown(path, "probe", f"target.c:{number}").address, wanted, path)
    path = compiled("target.c", "gcc", "o0")
    found = Shown(path, "probe", "target.c:" + str(number), "sum", "item->number", "text")
    (result,) = gdb(path, [{"address": found.address, "fields": found.fields, "expressions": ["sum", "item->number"]}])
    equal((result["values"]["sum"], result["values"]["item_number"]), (result["gdb"]["sum"], result["gdb"]["item->number"]))
    equal(result["values"], {"sum": 15, "item_number": -10, "text": "hello"})
    holds("did you mean `target.c:" in Shown(path, "probe", "target.c:1").error)
    holds("no debug information" in Shown(compiled("target.c", "gcc", "plain"), "probe", f"target.c:{number}").error)


ARGUMENTS = [
    ("target_scalars", ["small", "middle", "number", "large", "flag", "color"],
     {"small": -5, "middle": 60000, "number": 0, "large": 1 << 40, "flag": 0, "color": 7}),
    ("target_floats", ["narrow", "between", "wide"], {"narrow": 1.5, "between": 2, "wide": 0.25}),
    ("target_item", ["item->number", "item->name", "item->text", "item->next->text", "item->next->name", "item->low",
                     "item->high", "item->half", "item->weight", "(*item).next.number", "item[0].number", "text",
                     "target_counter", "*text"],
     {"item_number": -10, "item_name": "first", "item_text": "one", "item_next_text": "two", "item_next_name": "second",
      "item_low": 5, "item_high": 17, "item_half": 0x55667788, "item_weight": 2.5, "item_next_number": 20,
      "item_0_number": -10, "text": "hello", "target_counter": 4711, "text_2": ord("h")}),
    ("target_pair", ["pair.first", "pair.second", "last"], {"pair_first": 0, "pair_second": 3, "last": 9}),
    ("target_many", ["a", "f", "g", "h"], {"a": 1, "f": 6, "g": 7, "h": 8}),
]


def optimized_out(path, function):
    """The arguments that have no location in the debug information, as gdb reads it."""
    done = subprocess.run(["gdb", "-batch", "-nx", "-ex", "info scope " + function, path], capture_output=True, text=True, check=True,
                          timeout=120)
    return set(re.findall(r"Symbol (\w+) is optimized out", done.stdout))


def test_arguments_are_what_the_caller_has_passed():
    for path in each("target.c", "o0", "o2", "fixed"):
        jobs, wanted = [], []
        for function, arguments, values in ARGUMENTS:
            found = Shown(path, "function", function, *arguments)
            # clang 19 keeps no argument of a function that returns its result in memory, not even in debug information.
            if "has optimized" in found.error and set(arguments) <= optimized_out(path, function):
                continue
            equal((path, found.error), (path, ""))
            jobs.append({"address": found.address, "fields": found.fields})
            wanted.append((function, values))
        holds(len(wanted) >= len(ARGUMENTS) - 1)
        for result, (function, values) in zip(gdb(path, jobs), wanted):
            equal((path, function, result["values"]), (path, function, values))


def test_typed_values():
    path = compiled("target.c", "gcc", "plain")
    found = Shown(path, "function", "target_item", "s32:n:(%rdi)", "string:inline:%rdi+4", "string:text:*(%rdi+24)",
                  "s32:next:*(%rdi+0x20)", "string:second:*(*(%rdi+040)+0x18)", "pointer:self:%rdi", "u64:c:target_counter",
                  "bytes[4]:raw:%rdi", "f64:w:%rdi+56")
    equal(found.error, "")
    (result,) = gdb(path, [{"address": found.address, "fields": found.fields}])
    values = result["values"]
    self = values.pop("self")
    holds(self > 4096)
    equal(values, {"n": -10, "inline": "first", "text": "one", "next": 20, "second": "two", "c": 4711, "raw": "f6ffffff",
                   "w": 2.5})
    # Types as programs spell them are equal.
    for one, other in [("s32", "int32_t"), ("u64", "uint64"), ("u8", "uint8_t"), ("s16", "int16"), ("u64", "size_t")]:
        equal(Shown(path, "function", "target_item", f"{one}:n:%rdi+4").fields,
              Shown(path, "function", "target_item", f"{other}:n:%rdi+4").fields)
    path = shutil.copy(path, os.path.dirname(path) + "/targetc")
    equal(Shown(path, "function", "target_item", "u64:c:targetc:target_counter").fields,
          Shown(path, "function", "target_item", "u64:c:target_counter").fields)
    for output, why in [("s32:n:%rzz", "no such register"), ("s33:n:%rdi", "there is no type `s33`; types are u8"),
                      ("s32:n:%rdi+", "no number at the end of"), ("s32::%rdi", "has no valid name for a field"),
                      ("s32:n:%rdi+08", "octal"), ("s32:n:0x99999999999999999", "fits 64 bits"), ("s32:n:", "in the ADDR"),
                      ("u64:n:libc:environ", "symbols of its own file only"), ("u64:n:targetc:target_nothing", "no symbol `target_nothing`"), ("s32:n:*(%rdi", "parenthesis"), ("s32:n:nothing_there", "no symbol")]:
        holds(why in Shown(path, "function", "target_item", output).error, output)


def test_markers():
    for compiler in COMPILERS:
        for mode in ("o0", "o2", "fixed", "plain"):
            path = compiled("markers.c", compiler, mode)
            notes = subprocess.run(["readelf", "-nW", path], capture_output=True, text=True, check=True).stdout
            wanted = re.findall(r"Name: (\w+)\s+Location: (0x[0-9a-f]+), Base: \S+ Semaphore: (0x[0-9a-f]+)", notes)
            for name in ("first", "second"):
                found = Shown(path, "sdt", "marks:" + name)
                equal(sorted((p["address"], p["semaphore"]) for p in found.probes),
                      sorted((int(a, 16), int(s, 16)) for n, a, s in wanted if n == name), path)
                equal(found.events, ["marks:" + name])
            found = Shown(path, "sdt", "marks:second")
            first = Shown(path, "sdt", "marks:first")
            arguments = [f for f in first.fields if f[0].startswith("arg")]
            results = gdb(path, [{"address": first.probes[0]["address"], "fields": arguments},
                                 {"address": found.address, "fields": found.fields}])
            equal([r["values"] for r in results],
                  [{"arg1": -1, "arg2": 200, "arg3": -5 & (1 << 64) - 1}, {"arg1": -400, "arg2": -200, "arg3": -77}], path)


def test_stripped():
    path = compiled("target.c", "gcc", "plain")
    address = symbols(path)["target_item"][0]
    stripped = FOLDER + "/stripped"
    subprocess.run(["strip", "-o", stripped, path], check=True)
    holds("has no function `target_item`" in Shown(stripped, "function", "target_item").error)
    found = Shown(stripped, "function", hex(address), "exit", "string:text:%rsi")
    equal((found.address, found.probes[0]["exit"]), (address, True))
    holds(len(Shown(stripped, "function", "*").probes) >= 8)
    inside = Shown(stripped, "function", hex(address + 1))
    holds("start of a function" in inside.error)


def test_mistakes_have_suggestions():
    path = compiled("target.c", "gcc", "o0")
    for args, why in [(["function", "target_itm"], "did you mean `target_item`?"),
                       (["function", "target_item", "itm->number"], "did you mean `item`?"),
                       (["function", "target_item", "item->nmber"], "did you mean `number`?"),
                       (["function", "target_item", "text.number"], "no member"),
                       (["function", "nothing_*"], "matches"),
                       (["sdt", "marks:first"], "no marker"),
                       (["function", "libnone:foo"], "has not loaded"),
                       (["function", "target_item", "s32:n"], ""),
                       (["probe", ""], "is not a location"), (["probe", "0x12z"], "is not an address"), (["sdt", "x"], "PROVIDER:NAME")]:
        found = Shown(path, *args)
        holds(found.error and why in found.error, f"{args}: {found.error}")
    holds("no debug information" in Shown(compiled("target.c", "gcc", "plain"), "function", "target_item", "item").error)


def test_processes():
    path = FOLDER + "/running"
    shutil.copy(compiled("target.c", "gcc", "o2"), path)
    process = subprocess.Popen([path, "1", "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        equal(process.stdout.readline(), "ready\n")
        names = symbols(path)
        equal(Shown(process.pid, "function", "target_item").address, names["target_item"][0])
        with open(f"/proc/{process.pid}/maps", encoding="utf-8") as maps:
            lines = maps.read().splitlines()
        base = int(next(line for line in lines if line.endswith(path)).split("-")[0], 16)
        equal(Shown(process.pid, "function", hex(base + names["target_item"][0])).address, names["target_item"][0])
        libc = next(line.split()[-1] for line in lines if "libc.so" in line)
        found = Shown(process.pid, "function", "libc:malloc", "exit", "u64:size:%rdi")
        equal((found.address, found.probes[0]["module"]), (symbols(libc, "-D")["malloc"][0], "libc.so.6"))
        equal(found.events, ["probe:malloc", "probe:malloc_return"])
        equal(Shown(process.pid, "function", "malloc").address, found.address)
        chosen = Shown(process.pid, "function", "strlen")
        holds("which it has selected" in chosen.told and chosen.address != symbols(libc, "-D").get("strlen", [0])[0], chosen.told)
        # Of two versions of a name, programs that are linked today get the selected one.
        equal(len(Shown(process.pid, "function", "libc:realpath").probes), 1)
        os.unlink(path)
        equal(Shown(process.pid, "function", "target_item", "text").address, names["target_item"][0])
    finally:
        process.stdin.close()
        process.wait(timeout=60)
    holds("there is no process" in Shown(process.pid, "function", "main").error)


VERSIONED = '''
#define VERSION(name, text) __asm__(".symver " #name ", " text)
VERSION(first_old, "first@TEA_1");
VERSION(first_new, "first@@TEA_2");
VERSION(second_old, "second@TEA_1");
VERSION(second_new, "second@@TEA_2");
int first_old(int a) { return a + 1; }
int first_new(int a) { return a + 2; }
int second_new(int a) { return a + 3; }
extern int second_old(int) __attribute__((alias("second_new")));
'''


def test_versions():
    """NAME@VERSION, in a library with debug symbols, whose names have versions, and in a stripped one, where only .gnu.version has them."""
    for name, text in (("versioned.c", VERSIONED), ("versioned.map", "TEA_1 { global: first; second; local: *; };\n"
                        "TEA_2 { global: first; second; } TEA_1;\n")):
        with open(FOLDER + "/" + name, "w", encoding="utf-8") as file:
            file.write(text)
    whole, bare = FOLDER + "/libversioned.so", FOLDER + "/libbare.so"
    subprocess.run(["gcc", "-O1", "-fno-toplevel-reorder", "-shared", "-fPIC", FOLDER + "/versioned.c", "-o", whole,
                    "-Wl,--version-script=" + FOLDER + "/versioned.map"], check=True)
    subprocess.run(["strip", whole, "-o", bare], check=True)
    listed = [line.split() for line in subprocess.run(["nm", "-D", "--defined-only", bare], capture_output=True, text=True,
                                                     check=True).stdout.splitlines()]
    addresses = {line[2]: int(line[0], 16) for line in listed if line[1] == "T"}
    equal(sorted(addresses), ["first@@TEA_2", "first@TEA_1", "second@@TEA_2", "second@TEA_1"])
    for path in (whole, bare):
        for output, name in (("first", "first@@TEA_2"), ("first@TEA_2", "first@@TEA_2"), ("first@@TEA_2", "first@@TEA_2"),
                           ("first@TEA_1", "first@TEA_1"), ("second@TEA_1", "second@TEA_1"), ("second@TEA_2", "second@@TEA_2")):
            found = Shown(path, "function", output)
            equal((path, output, found.error, found.address), (path, output, "", addresses[name]))
        for output in ("first@TEA_3", "first@@TEA_1", "first@", "irst@TEA_2", "first@TEA"):
            holds(Shown(path, "function", output).error)


run_tests(globals())
