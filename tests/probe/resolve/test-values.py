#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Variables in all locations that compilers choose: a probe at a location records the value that gdb prints there, and
refuses what gdb cannot print either (except values that gdb finds out from callers, which a probe cannot).

gcc and clang, with and without optimization, DWARF 4 and 5, and each way to put debug information into files.
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
STRING, BYTES, STRUCT = 6, 7, 9

# At a line: expressions. None: only gdb's value is known.
LINES = {
    "split": ["both", "sum", "both.left", "both.right", "sum.left", "sum.right", "turn"],
    "loop": ["sum.left", "sum.right", "i", "turn"],
    "derived": ["n", "m", "doubled", "less", "inverse", "flipped", "masked", "moved", "product", "even"],
    "constant": ["n", "answer", "pi", "half", "word", "word[1]", "pair", "pair.left", "pair.right", "mood"],
    "pointed": ["by", "*thing", "thing->left", "thing->right", "(*thing).right", "thing[0].left"],
    "spent": ["n", "word"],
    "fields": ["*p", "flat", "p->a", "p->b", "p->c", "p->d", "p->e", "flat.a", "flat.b", "flat.c", "flat.d", "flat.e", "mood", "*moods",
               "moods[1]"],
    "arrays": ["table[1][2]", "**table", "p->q[2].r", "p->q[1].text", "p->next->next->q[0].r", "words[1]", "words[1][2]", "***far",
               "*words", "letters", "local[1]", "local[3]", "text", "text[2]", "&local", "&p->q[2].r", "p->q", "*p"],
    "reals": ["f", "d", "mixed.weight", "mixed.count", "four.x", "four.y", "four.w", "mixed", "four", "either",
              "either.number", "sum"],
    "stacked": ["whole", "whole.q[1]", "a", "f", "seventh", "whole.q[1].r", "whole.q[2].text", "ninth"],
    "globals": ["n", "values_global", "values_static[3]", "values_deep", "*values_deep.next", "values_real", "values_deep.q[1].text", "values_deep.next->q[2].r",
                "values_names[1]", "values_grid[1][2]", "**values_grid", "values_grid[0]", "values_grid",
                "values_sink", "values_static"],
}
# At a function's first instruction, with the arguments of callers.
ENTRIES = {
    "split": {"both.left": 1000, "both.right": -1, "turn": 2},
    "derived": {"n": -5, "m": 0x12345678},
    "spent": {"n": 31, "word": "gone", "word[1]": ord("o")},
    "fields": {"p->a": 17, "p->b": 300, "p->c": -20, "p->d": 0x1aaaabbbb, "p->e": 1, "flat.a": 17, "flat.b": 300, "flat.c": -20,
               "flat.d": 0x1aaaabbbb, "flat.e": 1, "mood": -3, "moods[1]": -3, "*moods": -2},
    "arrays": {"table[1][0]": 4, "p->q[2].r": 3, "words[0]": "alpha", "***far": 99, "letters": "letters"},
    "reals": {"f": 1.5, "d": -0.25, "mixed.weight": 9.75, "mixed.count": 6, "four.x": 1, "four.y": 2, "four.z": 3, "four.w": 4,
              "either.number": 7},
    "stacked": {"a": 1, "f": 6, "seventh": 7, "whole.q[1].r": 2, "whole.q[2].text": "three", "ninth": -9},
    "globals": {"n": 2, "values_global": 1234, "values_static[2]": 7, "values_names[0]": "zero"},
}


def built(compiler, *options, source="values.c", name="values"):
    path = f"{FOLDER}/{name}-{compiler}-{''.join(options).replace('/', '').replace('-', '').replace('=', '')}"
    if not os.path.exists(path):
        program = {"gcc": "g++", "clang": "clang++"}[compiler] if source.endswith("cpp") else compiler
        subprocess.run([program, "-w", "-g", *options, f"{SOURCES}/{source}", "-o", path], check=True, cwd=FOLDER)
    return path


def shown(path, kind, output, expressions):
    """For each of them the field, or the reason why there is none."""
    done = subprocess.run([SHOW, path, kind, output, "each", *expressions], capture_output=True, text=True, timeout=120)
    equal(done.stderr, "")
    found, address, within = [], 0, []
    for line in done.stdout.splitlines():
        word, remainder = line.split(" ", 1)
        if word == "probe":
            address = int(remainder.split()[1], 16)
        elif word == "error":
            found.append(remainder)
        elif word == "field":
            name, kind, size, limit, *ops = remainder.split(" ")
            if name not in ("function", "address") or int(kind) == STRUCT:
                field = [name, int(kind), int(size), int(limit), [[int(n) for n in op.split(":")] for op in ops], []]
                # The members of a structure follow it; `size` is their number.
                while within and not within[-1][1]:
                    within.pop()
                (within[-1][0] if within else found).append(field)
                for level in within:
                    level[1] -= 1
                if field[1] == STRUCT:
                    within.append([field[5], field[2]])
        elif word == "event":
            within = []
    equal((path, output, len(found)), (path, output, len(expressions)))
    return address, dict(zip(expressions, found))


def gdb(binary, jobs):
    env = dict(os.environ, JOB=json.dumps({"binary": binary, "jobs": jobs}))
    done = subprocess.run(["gdb", "-batch", "-nx", "-x", SOURCES + "/evaluate.py"], env=env, capture_output=True, text=True,
                          timeout=120)
    found = [json.loads(line[7:]) for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    equal(len(found), len(jobs), done.stdout[-300:] + done.stderr[-500:])
    return found


def lines(source):
    with open(f"{SOURCES}/{source}", encoding="utf-8") as file:
        return {m[1]: n for n, m in ((n, re.search(r"PLACE (\w+)", line)) for n, line in enumerate(file, 1)) if m}


def plain(value):
    """Without the type."""
    if not isinstance(value, dict):
        return value
    ((kind, inner),) = value.items()
    return {name: plain(one) for name, one in inner.items()} if kind == "members" else inner


def compare_lines(path, source, wanted, truth):
    """Returns how many of the values exist, and how many of these are whole structures. `truth`: gdb's values of the first file."""
    numbers, jobs, fields = lines(source), [], []
    for location, expressions in wanted.items():
        address, found = shown(path, "probe", f"{source}:{numbers[location]}", expressions)
        if not address:
            continue
        jobs.append({"address": address, "fields": [[e, *f[1:]] for e, f in found.items() if isinstance(f, list)],
                     "expressions": expressions})
        fields.append((location, found))
    # The lines are in the order in which the program reaches them.
    there = whole = 0
    for (location, found), result in zip(fields, gdb(path, jobs)):
        for expression, field in found.items():
            where, output = (path, location, expression), plain(result["gdb"][expression])
            truth.setdefault((location, expression), output)
            if isinstance(field, list):
                # gdb 16 reads a structure as a whole, and prints no member of one that is kept in part (clang 19).
                value, true_value = plain(result["values"][expression]), truth[location, expression] if output == "none" else output
                if output == "none" and isinstance(true_value, dict):
                    true_value = {name: one for name, one in true_value.items() if name in value}
                equal((where, value), (where, true_value))
                there += 1
                whole += isinstance(output, dict)
            elif output != "none":
                holds("at the entry of the function" in field or "text in registers" in field, f"{where}: {field}; gdb has {output}")
    return there, whole


def holds(condition, what="a condition"):
    true(condition, what)


def compare_entries(path, wanted):
    jobs = []
    for function, values in wanted.items():
        address, found = shown(path, "function", function, list(values))
        for expression, field in found.items():
            holds(isinstance(field, list), f"{path} {function} {expression}: {field}")
        jobs.append({"address": address, "fields": [[e, *f[1:]] for e, f in found.items()]})
    for result, (function, values) in zip(gdb(path, jobs), wanted.items()):
        equal((path, function, result["values"]), (path, function, values))


def test_lines():
    total = sum(len(v) for v in LINES.values())
    for compiler in COMPILERS:
        truth = {}
        for options, least in ((("-gdwarf-5", "-O0"), total - 15), (("-gdwarf-4", "-O2"), total / 2),
                               (("-gdwarf-5", "-O2"), total / 2), (("-gdwarf-5", "-O3", "-flto"), total / 2)):
            # gdb prints 0 if clang's linker leaves only a part of a variable.
            lost = ("globals",) if compiler == "clang" and "-flto" in options else ()
            wanted = {location: output for location, output in LINES.items() if location not in lost}
            there, whole = compare_lines(built(compiler, *options), "values.c", wanted, truth)
            print(f"# {compiler} {' '.join(options)}: {there} of {total}, {whole} of them structures")
            holds(whole >= 6, "of too few structures it is known where they are")
            holds(there > least, "of too few of them it is known where they are")


def test_entries():
    for compiler in COMPILERS:
        for options in (("-gdwarf-4", "-O0"), ("-gdwarf-5", "-O2")):
            compare_entries(built(compiler, *options), ENTRIES)


def test_cpp():
    entry = {"what": "bread", "rest": 40, "now": 7, "this->name": "corner", "name": "corner", "number": 5, "house_of": 12,
             "address.street": "Main Street, which is longer than what fits inside", "own": 7, "*counter": 4, "counted": 4,
             "shop::opened": 9, "opened": 9, "shop::store::stores": 4, "paid": "two coins", "&opened": None, "hidden": 3}
    entry["address.house"] = entry.pop("house_of")
    for compiler in COMPILERS:
        for options in (("-gdwarf-4", "-O0"), ("-gdwarf-5", "-O2")):
            path = built(compiler, *options, source="values.cpp", name="cpp")
            address, found = shown(path, "function", "shop::store::sell", list(entry))
            for expression, field in found.items():
                holds(isinstance(field, list), f"{path} {expression}: {field}")
            (result,) = gdb(path, [{"address": address, "fields": [[e, *f[1:]] for e, f in found.items()]}])
            holds(result["values"].pop("&opened") > 4096)
            equal((path, result["values"]), (path, {k: v for k, v in entry.items() if v is not None}))
            address, found = shown(path, "probe", f"values.cpp:{lines('values.cpp')['part']}", ["large"])
            (result,) = gdb(path, [{"address": address, "fields": [[e, *f[1:]] for e, f in found.items()]}])
            equal(result["values"], {"large": 7000})
            # An object with its base classes.
            address, found = shown(path, "function", "shop::store::sell", ["*this", "address"])
            (result,) = gdb(path, [{"address": address, "fields": [[e, *f[1:]] for e, f in found.items()]}])
            whole = {name: plain(value) for name, value in result["values"].items()}
            holds(whole["*this"].pop("counter") > 4096 and whole["*this"].pop("counted") > 4096)
            equal(whole["*this"], {"number": 5, "name": "corner", "own": 7, "address": whole["address"]})
            equal(whole["address"], {"street": entry["address.street"], "house": 12})
            number = lines("values.cpp")["sell"]
            address, found = shown(path, "probe", f"values.cpp:{number}", ["text", "name", "more", "rest"])
            if "-O0" in options:
                (result,) = gdb(path, [{"address": address, "fields": [[e, *f[1:]] for e, f in found.items()]}])
                equal(result["values"], {"text": "bread!", "name": "corner", "more": 1, "rest": 40})


def test_names_as_people_write_them():
    """Spaces, const before or after, omitted arguments, the end of a name, a whole template, a lambda."""
    methods = {"shop::weigh": 1, "weigh": 1, "weigh(const char *, const std::vector<std::string> &)": 1,
            "shop::weigh(char const*, std::vector<std::string> const&)": 1, "shop::weigh(const char*)": 0, "store::sell": 1,
            "shop::store::sell(const std::string &, long &, std::string, shop::state)": 1, "shop::doubled": 2, "doubled<int>": 1,
            "doubled<double>(double)": 1, "main::*operator()*": 1}
    for compiler in COMPILERS:
        path = built(compiler, "-gdwarf-5", "-O1", source="values.cpp", name="cpp")
        for output, count in methods.items():
            done = subprocess.run([SHOW, path, "function", output], capture_output=True, text=True, timeout=60)
            if compiler == "clang" and "main::" in output:
                output, count = "main::*", 1
                done = subprocess.run([SHOW, path, "function", output], capture_output=True, text=True, timeout=60)
            found = [line for line in done.stdout.splitlines() if line.startswith("probe ")]
            equal((path, output, len(found)), (path, output, count), done.stdout)
        # Functions in namespaces and in functions have variables, too.
        for function, expression in (("shop::weigh", "what"), ("main::*operator()*", "given")):
            _, found = shown(path, "function", function, [expression])
            holds(isinstance(found[expression], list), f"{path} {function}: {found}")


def test_other_units():
    """A structure whose members, and a variable, are in another file only."""
    with open(f"{FOLDER}/knows.c", "w", encoding="utf-8") as file:
        file.write("struct box { int a; const char *label; }; struct box kept = {8, \"label\"}; int far_away = 17;\n"
                   "struct box *get(void) { return &kept; }\n")
    with open(f"{FOLDER}/asks.c", "w", encoding="utf-8") as file:
        file.write("struct box; struct box *get(void); volatile int n;\n"
                   "__attribute__((noinline)) int ask(struct box *p) { n++; return p != 0; }\n"
                   "int main(void) { return !ask(get()); }\n")
    for compiler in COMPILERS:
        path = f"{FOLDER}/units-{compiler}"
        subprocess.run([compiler, "-w", "-g", "-O1", "asks.c", "knows.c", "-o", path], check=True, cwd=FOLDER)
        address, found = shown(path, "function", "ask", ["p->a", "p->label", "far_away", "kept.a"])
        (result,) = gdb(path, [{"address": address, "fields": [[e, *f[1:]] for e, f in found.items()]}])
        equal(result["values"], {"p->a": 8, "p->label": "label", "far_away": 17, "kept.a": 8})


# ---- locations of debug information ----


def all_shown(path):
    numbers = lines("values.c")
    return ([shown(path, "function", function, list(values)) for function, values in ENTRIES.items()],
            [shown(path, "probe", f"values.c:{numbers[location]}", expressions) for location, expressions in LINES.items()])


def same(path, plain_path):
    for left, right in zip(all_shown(path), all_shown(plain_path)):
        for (_, found), (_, wanted) in zip(left, right):
            equal((path, found), (path, wanted))


def test_split():
    for compiler in COMPILERS:
        for version in ("-gdwarf-4", "-gdwarf-5"):
            path = built(compiler, version, "-O2", "-gsplit-dwarf")
            holds(any(name.endswith(".dwo") for name in os.listdir(FOLDER)))
            same(path, built(compiler, version, "-O2"))
            for name in os.listdir(FOLDER):
                if name.endswith(".dwo"):
                    os.unlink(f"{FOLDER}/{name}")
            _, found = shown(path, "function", "split", ["turn"])
            holds(".dwo, which does not exist" in found["turn"], found)
            os.unlink(path)


def test_other_sections():
    for compiler in COMPILERS:
        wanted = built(compiler, "-gdwarf-5", "-O2")
        same(built(compiler, "-gdwarf-5", "-O2", "-gz"), wanted)
        same(built(compiler, "-gdwarf-5", "-O2", "-fdebug-types-section"), wanted)
        if compiler == "clang":
            path = built(compiler, "-gdwarf-5", "-O2", "-gpubnames")
            holds(".debug_names" in subprocess.run(["readelf", "-SW", path], capture_output=True, text=True).stdout)
            same(path, wanted)


def test_beside():
    for compiler in COMPILERS:
        wanted = built(compiler, "-gdwarf-5", "-O2")
        path, beside = f"{FOLDER}/beside", f"{FOLDER}/beside.debug"
        subprocess.run(["objcopy", "--only-keep-debug", wanted, beside], check=True)
        subprocess.run(["objcopy", "--strip-all", f"--add-gnu-debuglink={beside}", wanted, path], check=True)
        address = all_shown(wanted)[0][0][0]
        equal(shown(path, "function", hex(address), ["both.left"])[1]["both.left"],
              shown(wanted, "function", hex(address), ["both.left"])[1]["both.left"])


def test_common_part():
    """The common parts of several files are in another file (.gnu_debugaltlink)."""
    if not shutil.which("dwz"):
        skip("dwz is not installed")
    for compiler in COMPILERS:
        wanted = built(compiler, "-gdwarf-4", "-O2")
        first, second, common = f"{FOLDER}/first", f"{FOLDER}/second", f"{FOLDER}/common"
        shutil.copy(wanted, first)
        shutil.copy(built(compiler, "-gdwarf-4", "-O0"), second)
        subprocess.run(["dwz", "-m", common, first, second], check=True)
        holds(".gnu_debugaltlink" in subprocess.run(["readelf", "-SW", first], capture_output=True, text=True).stdout)
        same(first, wanted)
        same(second, built(compiler, "-gdwarf-4", "-O0"))


run_tests(globals())
