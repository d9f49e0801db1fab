#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Values of C++ and Rust, selected by the names in their sources: strings and arrays with a length, smart pointers, all
types of numbers, thread-local variables. The values that babeltrace2 reads equal those of the source.
"""
import atexit
import os
import shutil
import subprocess
import tempfile

import bt2

from harness import *

SOURCES, SHOW = os.environ["SOURCES"], os.environ["SHOW"]
FOLDER = tempfile.mkdtemp()
atexit.register(shutil.rmtree, FOLDER)
ENV = environment(SIDE_RUNTIME=FOLDER + "/run", LANG="C.UTF-8", SIDE_TIMEOUT_FACTOR="30")

CPP = {
    "texts": {"text": "standard", "view": "viewed", "copy": "a value that is so long that it is on the heap", "letters": "abc",
              "text.size()": 8, "view.size()": 6, "bytes(view)": [ord(c) for c in "viewed"], "view.data()": None,
              "bytes(text, 3)": [0x73, 0x74, 0x61]},
    "counted": {"string(m->data, m->length)": "counted", "string(from, 3)": "oun", "string(from, few)": "oun",
                "*m->data@4": "coun", "bytes(m->digest)": [0xde, 0xad, 0, 0xef], "bytes(from, few)": [0x6f, 0x75, 0x6e],
                "other=m->length": 7, "m->digest": "\udcde\udcad"},
    "several": {"numbers": [10, -20, 30], "reals": [1.5, -2.5], "fixed": [7, 8, 65535], "array": [4, -3, 2, 1],
                "numbers[1]": -20, "reals[1]": -2.5, "numbers.size()": 3, "names[1]": "second", "names.size()": 2,
                "table": [1, 2, -3, 4], "table[1]": [-3, 4], "array[1]": -3, "*numbers.data()@2": [10, -20]},
    "pointed": {"own->id": 7, "own->name": "seven", "own->child->name": "a child whose name is too long to be in it",
                "shared->id": 8, "(*shared).name": "eight", "some": [5], "none": [], "*some": 5,
                "some.has_value()": 1, "none.has_value()": 0, "count": -12, "length.value": 2.5, "own": None},
    "numbers": {"c": 5, "b.a": 5, "b.b": -3, "b.c": 1, "b.d": 0x123456789a, "e.real": 1.25, "t": 1, "letter": ord("q"),
                "f": 3.25, "wide": 1.125, "reference": 77, "same.a": 5, "same.d": 0x123456789a, "behind": -1e300, "last": 0.5,
                "library_own": [1, 2, 3], "library_name": "thread", "errno": 0},
}
RUST = {
    "texts": {"text": "borrowed", "owned": "owned", "bytes": "bytes!", "list": "abc", "text.len()": 8,
              "bytes(list)": [0x61, 0x62, 0x63]},
    "several": {"numbers": [5, -6, 7], "reals": [1.5, 2.5], "reals[1]": 2.5, "(*shared).x": 6, "shared.name": "shared"},
    "Point::far": {"self.x": 6, "by": 3, "self.name": "shared"},
}


def plain(value):
    if isinstance(value, bt2._VariantFieldConst):
        return plain(value.selected_option)
    # Values behind a pointer: an array with its length, or an unreadable value.
    if isinstance(value, bt2._StructureFieldConst):
        return plain(value["elements"]) if len(value) else None
    if isinstance(value, bt2._ArrayFieldConst):
        return [plain(each) for each in value]
    if isinstance(value, bt2._RealFieldConst):
        return float(value)
    if isinstance(value, bt2._StringFieldConst):
        return str(value)
    return int(value)


def events(trace):
    """[(name, {field: value})]; labels as `FIELD:`."""
    found = []
    for message in bt2.TraceCollectionMessageIterator(trace):
        if type(message) is not bt2._EventMessageConst:
            continue
        fields = {}
        for name, value in message.event.payload_field.items():
            if name.startswith("_") and name.endswith(("_length", "_tag")):
                continue
            if isinstance(value, bt2._VariantFieldConst):
                value = value.selected_option
            fields[name] = plain(value)
            if isinstance(value, (bt2._UnsignedEnumerationFieldConst, bt2._SignedEnumerationFieldConst)):
                fields[name + ":"] = "".join(value.labels)
        found.append((message.event.name, fields))
    return found


def traced(name, *arguments):
    trace = f"{FOLDER}/{name}-{len(os.listdir(FOLDER))}"
    done = side("trace", "-o", trace, *arguments, env=ENV)
    equal((arguments, done.status), (arguments, 0), done.err)
    return events(trace)


def built(compiler, option):
    library, path = f"{FOLDER}/liblibrary-{compiler}.so", f"{FOLDER}/cpp-{compiler}{option}"
    if not os.path.exists(library):
        subprocess.run([compiler, "-g", "-O1", "-fPIC", "-shared", f"{SOURCES}/library-thread.cpp", "-o", library], check=True)
    # For clang, types of the library are in its own debug information, and not in each unit.
    whole = ["-fstandalone-debug"] if compiler == "clang++" else []
    subprocess.run([compiler, "-w", "-std=c++20", "-g", option, *whole, f"{SOURCES}/library.cpp", library, "-o", path], check=True)
    return path


def ask(path, functions, prefix=""):
    """Requests all values of all functions, each of which is hit once."""
    arguments = []
    for function, values in functions.items():
        arguments += ["--function", prefix + function]
        for output in values:
            arguments += ["--arg", output]
    found = traced(os.path.basename(path), "-c", path, *arguments)
    equal(len(found), len(functions), found)
    for (name, fields), (function, values) in zip(found, functions.items()):
        equal([path, name, len(fields) - sum(1 for f in fields if f.endswith(":"))], [path, name, len(values)], fields)
        got = [value for field, value in fields.items() if not field.endswith(":")]
        for output, value, wanted in zip(values, got, values.values()):
            if wanted is None:
                true(value > 4096, f"{path} {function} {output}: {value}")
            elif isinstance(wanted, str) and "\udcde" in wanted:
                true(len(value) > 0, output)
            else:
                equal((path, function, output, value), (path, function, output, wanted))
    return found


def kept(path, functions, prefix=""):
    """Without the few values that an optimizing compiler has not kept."""
    found = {}
    for function, values in functions.items():
        done = subprocess.run([SHOW, path, "function", prefix + function, "each", *values], capture_output=True, text=True, check=True)
        output = [line for line in done.stdout.splitlines() if line.startswith(("field ", "error "))]
        equal((function, len(output)), (function, len(values)), done.stdout)
        found[function] = {key: values[key] for key, line in zip(values, output) if "has optimized" not in line}
        true(len(found[function]) * 2 >= len(values), f"{path} {function}: {output}")
    return found


COMPILERS = [c for c in ("g++", "clang++") if shutil.which(c)]


def test_cpp():
    for compiler in COMPILERS:
        for option in ("-O0", "-O2"):
            path = built(compiler, option)
            found = ask(path, CPP if option == "-O0" else kept(path, CPP))
            labels = next(fields for _, fields in found if "c:" in fields)
            equal(labels["c:"], "green")


def test_variables_of_threads():
    for compiler in COMPILERS:
        path = built(compiler, "-O1")
        ((_, fields),) = traced("library", "-c", path, "--function", f"liblibrary-{compiler}.so:library_inner", "--arg",
                                "library_of_library", "--arg", "hidden", "--arg", "s32:said:library_of_library", "--arg", "n")
        equal(fields, {"library_of_library": 103, "hidden": 4, "said": 103, "n": 3})


def test_errno_of_a_return():
    ((_, entry), (_, back)) = traced("errno", "-c", built("g++", "-O1"), "--function", "failing", "--arg", "errno", "--arg",
                                     "library_own[1]", "--ret", "errno", "--ret", "why=errno")
    equal((entry["errno"], entry["library_own_1"]), (0, 2))
    equal((back["return_value"], back["errno"], back["why"]), (-1, 20, 20))


def test_invalid_requests():
    path = built("g++", "-O0")
    for function, output, arguments in (
            ("counted", "bytes(from)", "the number of bytes that the pointer leads to is unknown"), ("counted", "string(from", "a parenthesis is missing"),
            ("counted", "string(from, )", "a name is missing"), ("counted", "*from@m", "the length is not an integer"),
            ("counted", "string(few)", "a number is not the address of a text"), ("counted", "m->lenght", "did you mean `length`?"),
            ("counted", "m->data()", "the result of `data()` is not known"), ("several", "names", "not a number"),
            ("several", "numbers.sise()", "`size()`"), ("pointed", "own->nmae", "did you mean `name`?"),
            ("pointed", "own->name.foo()", "a probe does not call functions")):
        done = side("trace", "-o", FOLDER + "/none", "-c", path, "--function", function, "--arg", output, env=ENV)
        equal((output, done.status), (output, 1), done.out)
        contains(done.err, arguments)


def test_rust():
    if not shutil.which("rustc"):
        skip("rustc is not installed")
    for level in ("0", "2"):
        path = f"{FOLDER}/rust-{level}"
        subprocess.run(["rustc", "-g", "-C", f"opt-level={level}", f"{SOURCES}/library.rs", "-o", path], check=True, cwd=FOLDER)
        ask(path, RUST if level == "0" else kept(path, RUST, "library::"), "library::")
        found = [fields for _, fields in traced("ways", "-c", path, "--function", "library::ways", "--arg", "shape", "--arg",
                                                "shape.Rect.width", "--arg", "shape.Circle.0", "--arg", "count")]
        equal([fields["shape:"] for fields in found], ["Rect", "Circle", "Empty"])
        equal((found[0]["shape_Rect_width"], found[1]["shape_Circle_0"]), (3, 1.5))
        equal([fields["count"] for fields in found], [-12] * 3)


run_tests(globals())
