#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Which files readside reads, its output formats, and very large and unusual files."""
import re

from harness import *


def event(name, fields=""):
    return f'side_static_event({name}, "p{name[0]}", "{name}", SIDE_LOGLEVEL_INFO, side_field_list({fields}));'


def object_file(name, *events):
    if not os.path.exists(path(name)):
        source = path(os.path.basename(name) + ".c")
        with open(source, "w") as stream:
            stream.write("\n".join(["#include <side/trace.h>", *events]) + "\n")
        os.makedirs(os.path.dirname(path(name)), exist_ok=True)
        needed("gcc", "-I" + INCLUDE, "-fPIC", "-c", source, "-o", name)
    return name


def names(*args, status=0):
    return [line["event"] for line in json_lines(readside("--json", *args, status=status).out)]


def tree():
    object_file("tree/a.o", event("a"))
    object_file("tree/deep/b.o", event("b"))
    object_file("tree/deep/deeper/c.o", event("c"))
    object_file("tree/.hidden.o", event("h"))
    if not os.path.exists(path("tree/link.o")):
        with open(path("tree/note.txt"), "w") as stream:
            stream.write("no ELF file\n")
        os.symlink("../outside.o", path("tree/link.o"))
        os.symlink(".", path("tree/loop"))
        object_file("outside.o", event("o"))
    return "tree"


def test_folders():
    equal(names(tree()), ["pa:a"])
    equal(names("-a", tree()), ["ph:h", "pa:a"])
    equal(names("-r", tree()), ["pa:a", "pb:b", "pc:c"])
    equal(names("-r", "--max-depth=1", tree()), ["pa:a", "pb:b"])
    equal(names("-l", tree()), ["pa:a", "po:o"])
    equal(names("-l", "-r", tree()), ["pa:a", "pb:b", "pc:c", "po:o"])
    equal(names("-r", "-m", "[bc].o", tree()), ["pb:b", "pc:c"])
    equal(names("-r", "-i", "deeper", tree()), ["pa:a", "pb:b"])
    # Options apply to the arguments after them; a file may be named again after another option.
    equal(names(tree(), "-r", tree()), ["pa:a", "pa:a", "pb:b", "pc:c"])
    equal(names("-r", "-p", "p[ac]", tree()), ["pa:a", "pc:c"])
    equal(names("-r", "-e", "!pa", tree()), ["pb:b", "pc:c"])
    equal(names("-r", "-p", "p[ac]", "-e", "*:c", tree()), ["pc:c"])
    contains(readside("-v", tree()).err, "skipped tree/note.txt: it is not an ELF file")


def test_forms():
    """As documented in the reference of the formats."""
    name = object_file("form.o", 'side_static_event(clock, "clock", "tick", SIDE_LOGLEVEL_INFO, side_field_list('
                       'side_field_u64("count"), side_field_s8("drift", side_attr_list(side_attr("std.integer.base",'
                       'side_attr_u8(16))))));')
    equal(json.loads(readside(name).out), [{
        "file": "form.o", "version": 0, "state-version": 0, "provider": "clock", "event": "tick", "loglevel": "INFO",
        "attributes": {}, "fields": {
            "count": {"type": "U64", "attributes": {}, "integer-size": 8, "len-bits": 0, "signed": False,
                      "byte-order": "little"},
            "drift": {"type": "S8", "attributes": {"std.integer.base": 16}, "integer-size": 1, "len-bits": 0,
                      "signed": True, "byte-order": "little"}}}])
    equal(readside("--format=text", name).out, """form.o:
events:
  version: 0
  state-version: 0
  provider: clock
  name: tick
  loglevel: INFO
  attributes: None
  fields:
   count:
    type: U64
    attributes: None
    integer-size: 8
    len-bits: 0
    signed: false
    byte-order: little
   drift:
    type: S8
    attributes:
     std.integer.base: 16
    integer-size: 1
    len-bits: 0
    signed: true
    byte-order: little

""")
    text = readside("-f", "s-expr", name).out
    equal(re.sub(r"\s+", " ", text), """form.o: (vector (event (version 0) (state-version 0) (provider "clock") """
          """(name "tick") (loglevel 'INFO) (attributes '()) (fields (list (field (name "count") (type (U64 """
          """(attributes '()) (integer-size 8) (len-bits 0) (signed #f) (byte-order 'little)))) (field (name "drift") """
          """(type (S8 (attributes (list ("std.integer.base" 16))) (integer-size 1) (len-bits 0) (signed #t) """
          """(byte-order 'little)))))))) """)
    equal(readside("--list-formats").out, "json\ntext\ns-expr\n")
    # Files without events print nothing, and JSON is JSON.
    equal(readside("-f", "text", "/bin/true").out, "")
    equal(json.loads(readside("/bin/true").out), [])
    equal(len(json.loads(readside(name, "/bin/true", "-r", tree()).out)), 4)


def test_s_expressions():
    """For every type: brackets and quotes are closed."""
    needed("gcc", "-I" + INCLUDE, "-c", os.path.join(HERE, "types.c"), "-o", "types.o")
    text = readside("-f", "s-expr", "types.o").out.split(":", 1)[1]
    tokens = re.findall(r'"(?:\\.|[^"\\])*"|[()]|[^\s()"]+|"', text)
    depth = 0
    for token in tokens:
        true(token != '"', "a quote is open")
        depth += {"(": 1, ")": -1}.get(token, 0)
        true(depth >= 0, "too many brackets")
    equal(depth, 0)
    equal(tokens.count("event"), 9)


def test_output():
    readside("-o", "out.json", "-j", tree(), "-o", "out.text", "-f", "text", tree())
    with open(path("out.json")) as stream:
        equal([line["event"] for line in json_lines(stream.read())], ["pa:a"])
    with open(path("out.text")) as stream:
        contains(stream.read(), "provider: pa")
    contains(readside("-o", "no/such/folder", tree(), status=2).err, "cannot write no/such/folder")


def test_elsewhere():
    """Files whose events are in another file: this is reported, and is not a success."""
    object_file("here.o", event("e"))
    needed("gcc", "-shared", "-nostdlib", "-g", "-fPIC", "-I" + INCLUDE, "here.o.c", "-o", "here.so")
    needed("objcopy", "--only-keep-debug", "here.so", "here.debug")
    needed("gcc", "-flto", "-fno-fat-lto-objects", "-I" + INCLUDE, "-c", "here.o.c", "-o", "later.o")
    needed("gcc", "-flto", "-ffat-lto-objects", "-I" + INCLUDE, "-c", "here.o.c", "-o", "fat.o")
    needed("ar", "rc", "later.a", "later.o", "here.o")
    with open(path("none.c"), "w") as stream:
        stream.write("int none(int x);\nint none(int x) { return x + 1; }\n")
    needed("gcc", "-flto", "-ffat-lto-objects", "-c", "none.c", "-o", "none.o")
    needed("ar", "rc", "fat.a", "fat.o", "none.o")
    files = {"here.debug": "debug information", "later.o": "-flto", "later.a": "later.a(later.o): it contains code"}
    if shutil.which("clang"):
        needed("clang", "-flto", "-I" + INCLUDE, "-c", "here.o.c", "-o", "bitcode.o")
        files["bitcode.o"] = "-flto"
    for name, found_text in files.items():
        contains(readside("--check", name, status=2).err, found_text, name)
        contains(readside(name, status=1).err, found_text, name)
    equal(names("later.a", status=1), ["pe:e"])
    # Code in both forms that has no events has none elsewhere.
    equal(readside("--check", "none.o").out, "0 events, 0 errors, 0 warnings\n")
    for name in ("here.so", "fat.o", "fat.a"):
        equal(readside("--check", name).out, "1 event, 0 errors, 0 warnings\n", name)
    # In a folder they are skipped, like all files without events.
    contains(readside("-v", "--check", "-m", "later.o", ".").err, "skipped ./later.o: it contains code")


def test_libraries():
    needed("gcc", "-shared", "-I" + INCLUDE, "-fPIC", "-xc", "a.o.c", "-o", "libneeded.so", "-nostdlib") \
        if tree() else None
    with open(path("user.c"), "w") as stream:
        stream.write("int main(void) { return 0; }\n")
    needed("gcc", "user.c", "-o", "user", "-Wl,--no-as-needed", "./libneeded.so", "-Wl,--unresolved-symbols=ignore-all")
    equal(names("user"), [])
    equal([name for name in names("-d", "user") if not name.startswith("side:")], ["pa:a"])


def test_mistakes():
    for args, found_text in (((), "missing operand: a file to read"), (("-f", "xml", "x"), "unknown format `xml`"),
                       (("--max-depth=-1", "x"), "is not a depth"), (("--nothing",), "nothing"), (("-e", "[", "x"), "pattern")):
        contains(readside(*args, status=2).err, found_text)
    contains(readside(status=2).err, "readside: missing operand: a file to read\nhint: name a file, as in `readside ./program`\n")
    contains(readside("nothing-there", status=1).err, "cannot read nothing-there: No such file")
    contains(readside("/dev/null", status=1).err, "it is not a file")
    contains(readside("--help").out, "Usage: readside")
    true(readside("--version").out.startswith("readside "), "version")
    # All options of the help are in the manual page and in both completions.
    options = set(re.findall(r"--[a-z][a-z-]+", readside("--help").out))
    for page in os.environ["PAGES"].split(":"):
        with open(page) as stream:
            text = stream.read().replace("\\-", "-")
        for option in options:
            contains(text, option, page)


def test_largest():
    """The largest files of this machine, most of which have no events."""
    files = []
    for folder in ("/usr/bin", "/usr/lib"):
        for where, _, inside in os.walk(folder):
            files += [os.path.join(where, name) for name in inside]
    def size(name):
        return os.lstat(name).st_size if os.path.isfile(name) and not os.path.islink(name) else 0
    read = 0
    for name in sorted(files, key=size, reverse=True):
        with open(name, "rb") as stream:
            if stream.read(4) not in (b"\x7fELF", b"!<ar"):
                continue
        run = readside("--check", name, status=None)
        true(run.returncode in (0, 1), f"{name}: {run.returncode} {run.err}")
        read += 1
        if read == (200 if LONG else 20):
            break
    print(f"{read} files read")


run_tests(globals())
