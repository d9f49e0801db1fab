#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The same events compiled for many machines, in many forms of files: readside's output must equal
what the program on this machine prints about itself, with the byte order and the pointers of the
other machine. The output must also be sufficient to build the same descriptions again.
"""
import copy
import struct

from harness import *

TYPES = os.path.join(HERE, "types.c")
PROGRAM = os.environ["TYPES"]
REBUILD = os.environ["REBUILD"]

# For clang: compiled without a C library. The linker of LLVM supports some of them.
CLANG = {"x86_64": "x86_64", "i386": "i386", "aarch64": "aarch64", "aarch64_be": None, "arm": "arm",
         "armeb": None, "powerpc64": "powerpc64", "powerpc64le": "powerpc64le", "powerpc": "powerpc", "mips": "mips",
         "mipsel": "mipsel", "riscv64": "riscv64", "riscv32": "riscv32", "m68k": None, "s390x": None}


def in_process():
    run = subprocess.run([PROGRAM], stdout=subprocess.PIPE, check=True)
    return {f'{value["provider"]}:{value["event"]}': value
            for value in map(json.loads, run.stdout.decode().splitlines())}


def layout(file):
    """Returns the pointer size and byte order ("le", "be") of an ELF file, from its header."""
    with open(path(file), "rb") as stream:
        head = stream.read(8)
        if head == b"!<arch>\n":
            stream.seek(8)
            while True:
                header = stream.read(60)
                if not header.startswith(b"/ ") and not header.startswith(b"// "):
                    break
                size = int(header[48:58])
                stream.seek(size + size % 2, 1)
            head = stream.read(8)
    equal(head[:4], b"\x7fELF")
    return {1: 4, 2: 8}[head[4]], {1: "le", 2: "be"}[head[5]]


def elsewhere(value, pointer_size, byte_order, name=""):
    """Returns a description of this machine as it is on another one. Names of fields state what is fixed."""
    if isinstance(value, list):
        return [elsewhere(item, pointer_size, byte_order, name) for item in value]
    if not isinstance(value, dict):
        return value
    name = value.get("name", name)
    result = {key: elsewhere(item, pointer_size, byte_order, name) for key, item in value.items()}
    if "byte_order" in result and not name.endswith(("_le", "_be")):
        result["byte_order"] = byte_order
    if result.get("type") in ("pointer", "gather_pointer"):
        result["size"] = pointer_size
    for key in ("value_encoding", "key_encoding", "label_encoding"):
        if key in result:
            result[key] = result[key][:-2] + byte_order
    return result


def without_headers(file):
    """Returns a copy of a linked file without section headers; None for others."""
    with open(path(file), "rb") as stream:
        image = bytearray(stream.read())
    if image[:4] != b"\x7fELF":
        return None
    order = {1: "<", 2: ">"}[image[5]]
    if struct.unpack_from(order + "H", image, 16)[0] == 1:
        return None
    if image[4] == 2:
        struct.pack_into(order + "Q", image, 40, 0)
        struct.pack_into(order + "HHH", image, 58, 0, 0, 0)
    else:
        struct.pack_into(order + "I", image, 32, 0)
        struct.pack_into(order + "HHH", image, 46, 0, 0, 0)
    with open(path(file + ".headless"), "wb") as stream:
        stream.write(image)
    return file + ".headless"


def compare(file, may_miss=(), thorough=LONG):
    wanted = elsewhere(copy.deepcopy(in_process()), *layout(file))
    got = descriptions(file)
    for name in may_miss:
        if name not in got:
            wanted.pop(name, None)
    if "types:quad" not in wanted:
        got.pop("types:quad", None)  # supported by this compiler, but not by the one that made the program
    equal(sorted(got), sorted(wanted), file)
    for name in wanted:
        equal(got[name], wanted[name], f"{file} {name}")
    headless = None if file.endswith(".headless") else without_headers(file)
    if headless:
        compare(headless, may_miss, thorough)
    if not thorough:
        return
    # The same in the other formats, without findings.
    listed = json.loads(readside(file).out)
    true(set(wanted) <= {f'{event["provider"]}:{event["event"]}' for event in listed}, file)
    for form in ("text", "s-expr"):
        equal(readside("-f", form, file).out.count("compounds"), 1, form)
    equal(readside("--check", "--strict", file).out, f"{len(listed)} events, 0 errors, 0 warnings\n")


def test_host():
    """Objects, programs and libraries of two compilers and three linkers, with and without symbols."""
    for compiler in ("gcc", "clang", "clang-14"):
        if tool(compiler, "--version"):
            continue
        missing = ("types:quad",) if compiler != "gcc" else ()
        for number, model in enumerate(("-fno-pie", "-fPIE", "-fPIC", "-fPIC -g -ffunction-sections -fdata-sections")):
            object = f"{compiler}-{number}.o"
            needed(compiler, "-O1", "-I" + INCLUDE, *model.split(), "-c", TYPES, "-o", object)
            compare(object, missing, True)
            needed("ar", "cr", object + ".a", object)
            compare(object + ".a", missing)
        for linker in ("bfd", "gold", "lld"):
            if not shutil.which("ld." + linker):
                print(f"not linked by {linker}, which is not here")
                continue
            link(compiler, linker, missing)


def link(compiler, linker, missing):
    common = [compiler, "-fuse-ld=" + linker, "-nostdlib", "-Wl,--unresolved-symbols=ignore-all"]
    pack = {"lld": "-Wl,--pack-dyn-relocs=relr", "bfd": "-Wl,-z,pack-relative-relocs", "gold": "-Wl,-O1"}[linker]
    for number, (flags, model) in enumerate([("-no-pie", 0), ("-pie", 1), ("-shared", 2), ("-pie -Wl,--gc-sections -Wl,-e,main", 3),
                                             (f"-pie {pack}", 1), (f"-shared {pack}", 2),
                                             ("-pie -Wl,--emit-relocs", 1), ("-shared -Wl,-Bsymbolic", 2)]):
        file = f"{compiler}-{linker}-{number}"
        needed(*common, *flags.split(), f"{compiler}-{model}.o", "-o", file)
        compare(file, missing)
        for strip in ("--strip-all", "--strip-debug"):
            needed("strip", strip, file, "-o", file + strip)
            compare(file + strip, missing)


def test_32_bits():
    if tool("gcc", "-m32", "-I" + INCLUDE, "-fPIC", "-c", TYPES, "-o", "m32.o"):
        print("not compiled for 32 bits: there is no library")
        return
    compare("m32.o", ("types:wide",))
    for linker in ("bfd", "gold", "lld"):
        if shutil.which("ld." + linker):
            file = "m32-" + linker
            needed("gcc", "-m32", "-nostdlib", "-shared", "-fuse-ld=" + linker, "-Wl,--unresolved-symbols=ignore-all",
                   "m32.o", "-o", file)
            compare(file, ("types:wide",))
            needed("strip", file)
            compare(file, ("types:wide",))


def test_machines():
    """Compiled by clang only, linked by lld if it supports the machine."""
    compiler = next((name for name in ("clang", "clang-14") if not tool(name, "--version")), None)
    if not compiler:
        print("not compiled for other machines: there is no clang")
        return
    seen = set()
    for machine, linker in CLANG.items():
        object = f"machine-{machine}.o"
        found_text = tool(compiler, f"--target={machine}-linux-gnu", "-ffreestanding", "-isystem", stub_headers(),
                    "-I" + INCLUDE, "-fPIC", "-c", TYPES, "-o", object)
        if found_text:
            print(f"not compiled for {machine}: {found_text.splitlines()[-1]}")
            continue
        compare(object, ("types:quad", "types:wide"), True)
        seen.add(layout(object))
        if not linker or not shutil.which("ld.lld"):
            continue
        for number, flags in enumerate((["-shared"], ["-pie"], ["--pack-dyn-relocs=relr", "-shared"],
                                        ["--apply-dynamic-relocs", "-shared"], ["--gc-sections", "-shared"])):
            file = f"machine-{machine}-{number}"
            needed("ld.lld", *flags, "--unresolved-symbols=ignore-all", object, "-o", file)
            compare(file, ("types:quad", "types:wide"))
    equal(seen, {(4, "le"), (4, "be"), (8, "le"), (8, "be")}, "all layouts")


def test_cross_compilers():
    """The same with gcc and its linkers, if they are installed."""
    for machine in ("aarch64", "s390x", "powerpc64"):
        prefix = machine + "-linux-gnu-"
        object = f"cross-{machine}.o"
        found_text = tool(prefix + "gcc", "-O1", "-I" + INCLUDE, "-fPIC", "-c", TYPES, "-o", object)
        if found_text:
            print(f"not compiled by gcc for {machine}: {found_text.splitlines()[0]}")
            continue
        compare(object, ("types:quad",), True)
        for flags in ("-shared", "-pie", "-no-pie", "-shared -Wl,-z,norelro"):
            file = "cross-" + machine + flags.replace(" ", "")
            needed(prefix + "gcc", "-nostdlib", *flags.split(), "-Wl,--unresolved-symbols=ignore-all", object, "-o", file)
            compare(file, ("types:quad",))
            needed(prefix + "strip", file)
            compare(file, ("types:quad",))


def test_round_trip():
    """Description, readside --json, builder: the same description."""
    events = descriptions(PROGRAM)
    equal(events, in_process())
    lines = "".join(json.dumps(event) + "\n" for event in events.values())
    run = subprocess.run([REBUILD], input=lines.encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    equal((run.returncode, run.stderr), (0, b""))
    rebuilt = [json.loads(line) for line in run.stdout.decode().splitlines()]
    equal(len(rebuilt), len(events))
    for event in rebuilt:
        equal(event, events[f'{event["provider"]}:{event["event"]}'], event["event"])


def test_diff_of_machines():
    """Byte order, size of pointers and addresses are no difference to readers: narrower pointers are."""
    needed("gcc", "-I" + INCLUDE, "-c", TYPES, "-o", "one.o")
    # Another compiler may have made the program.
    run = readside("--diff", "-e", "!types:quad", "one.o", PROGRAM)
    contains(run.out, "compatible: ")
    contains(run.out, " 0 changed compatibly, 0 changed incompatibly, 0 added, 0 removed\n")


run_tests(globals())
