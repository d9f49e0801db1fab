#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Compares `side probe list` with objdump and nm: which functions exist, where instructions start, and which method is chosen."""
import functools
import lzma
import re
import shutil

from harness import *

SITES = os.environ["SITES"]
PROGRAM = os.environ["CHANGED"]
LIBC = os.environ["LIBC"]
run = functools.partial(run, timeout=120)

# Of each function of sites.S: method, displaced bytes, inner boundaries, a word of the reason.
WANTED = {
    "site_jump": ("jump", 11, [4], None),
    "site_one": ("jump", 5, [], None),
    "site_marked": ("jump", 5, [], None),
    "site_call": ("jump", 9, [4], None),
    "site_padding": ("padding", 3, [2], "shorter than five bytes"),
    "site_short": ("short", 2, [], "jumps into"),
    "site_punned": ("punned", 1, [], "jumps into"),
    "site_breakpoint": ("breakpoint", 1, [], "jumps into"),
    "site_table": ("short", 2, [], "jumps into"),
    "site_system_call": ("none", 0, [], "system call"),
    "site_restarted": ("none", 0, [], "kernel restarts"),
    "site_late_system_call": ("short", 2, [], "system call"),
}


def sites(*args, status=0):
    result = side("probe", "list", "--json", *args)
    equal(result.status, status, f"{args}: {result.err}")
    return json_lines(result.out)


def symbols(path):
    found = {}
    for line in run("nm", path).stdout.splitlines():
        arguments = line.split()
        if len(arguments) == 3 and arguments[1] in "tTwWiI":
            found[arguments[2]] = int(arguments[0], 16)
    return found


def test_methods():
    found = {site["function"]: site for site in sites(SITES, "site_*")}
    addresses = symbols(SITES)
    for name, (method, displaced, boundaries, reason) in WANTED.items():
        site = found[name]
        # If uprobes are permitted, the kernel watches locations that otherwise need a breakpoint.
        if method == "breakpoint" and site["method"] == "uprobe":
            method = "uprobe"
        equal((site["method"], site["displaced"], site["boundaries"]), (method, displaced, boundaries), name)
        equal(site["address"], addresses[name] + (4 if name == "site_marked" else 0), name)
        equal("reason" in site, method != "jump", name)
        if reason:
            contains(site["reason"], reason, name)
    equal(sorted(found), sorted(list(WANTED) + ["site_changed"]))
    # Two bytes reach it, and no thread ever executes the bytes there.
    for name in ("site_short", "site_table", "site_late_system_call"):
        away = found[name]["springboard"] - (found[name]["address"] + 2)
        true(-128 <= away <= 127, f"{name}: {away}")
        with open(SITES, "rb") as file:
            file.seek(found[name]["offset"] + found[name]["springboard"] - found[name]["address"])
            equal(file.read(5), b"\xcc" * 5, name)
    springboards = [found[name]["springboard"] for name in ("site_short", "site_table", "site_late_system_call")]
    springboards.sort()
    true(all(b - a >= 5 for a, b in zip(springboards, springboards[1:])), f"pads do not overlap: {springboards}")


def test_aliases():
    site, = sites(SITES, "site_alias")
    equal(site["function"], "site_alias")
    equal(sorted(site["names"]), ["site_alias", "site_one"])
    equal(len(sites(SITES, "site_o*")), 1)


def test_text():
    result = side("probe", "list", SITES, "site_[jp]*")
    equal(result.status, 0)
    lines = result.out.splitlines()
    equal(lines[0].split(), ["METHOD", "ADDRESS", "BYTES", "FUNCTION"])
    equal([line.split()[0] + " " + line.split()[3] for line in lines[1:]],
          ["jump site_jump", "padding site_padding", "punned site_punned"])
    contains(result.err, "3 functions: 1 jump, 1 padding, 0 short, 1 punned, 0 breakpoint, 0 none")


def instructions(path):
    """Address: length of each instruction, as objdump reads it."""
    found = {}
    for line in run("objdump", "-d", "-w", "--no-show-raw-insn", path).stdout.splitlines():
        match = re.match(r"\s+([0-9a-f]+):\t", line)
        if match:
            found[int(match.group(1), 16)] = line
    return found


def frames(path):
    """Starts of functions in the unwind data."""
    found, signal = set(), set()
    for line in run("objdump", "--dwarf=frames", path).stdout.splitlines():
        arguments = line.split()
        if len(arguments) > 3 and arguments[3] == "CIE":
            kind = arguments[0]
        elif line.startswith("  Augmentation:") and "S" in arguments[1]:
            signal.add(kind)
        elif len(arguments) > 5 and arguments[3] == "FDE" and arguments[4][4:] not in signal:
            found.add(int(arguments[5][3:].split(".")[0], 16))
    return found


def plt(path):
    ranges = []
    for name, size, address in re.findall(r"^\s*\d+ (\S+)\s+([0-9a-f]+)\s+([0-9a-f]+)", run("objdump", "-h", path).stdout, re.M):
        if name.startswith(".plt"):
            ranges.append(range(int(address, 16), int(address, 16) + int(size, 16)))
    return ranges


def compare_with_objdump(path):
    found = sites(path)
    begins = instructions(path)
    left_out = plt(path)
    wanted = {a for a in frames(path) if not any(a in part for part in left_out)}
    by_address = {site[key]: site for site in found for key in ("address", "chooser") if key in site}
    missing = [hex(a) for a in sorted(wanted) if a not in by_address and a + 4 not in by_address]
    equal(missing, [], f"functions of {path}")
    wrong = []
    for site in found:
        locations = [site["address"] + at for at in site["boundaries"]]
        if site["method"] in ("jump", "short", "punned", "uprobe", "breakpoint"):
            locations.append(site["address"] + site["displaced"])
        wrong += [(site["function"], hex(a)) for a in [site["address"]] + locations if a not in begins]
    # After the last instruction, no instruction starts.
    equal([w for w in wrong if int(w[1], 16) <= max(begins)], [], f"boundaries of {path}")
    return found


def test_boundaries():
    found = compare_with_objdump(LIBC)
    true(len(found) > 3000, f"{len(found)} functions of {LIBC}")
    jumps = sum(site["method"] not in ("uprobe", "breakpoint", "none") for site in found)
    true(jumps >= 0.99 * len(found), f"{jumps} of {len(found)}")
    with open(LIBC, "rb") as file:
        for site in found[::7]:
            file.seek(site["offset"])
            equal(file.read(len(site["bytes"]) // 2).hex(), site["bytes"], site["function"])


def test_names():
    exported = {}
    for line in run("nm", "-D", "--defined-only", LIBC).stdout.splitlines():
        arguments = line.split()
        if len(arguments) == 3 and arguments[1] in "TWi":
            exported[arguments[2].split("@")[0]] = int(arguments[0], 16)
    known = {}
    for site in sites(LIBC):
        for name in site["names"]:
            known.setdefault(name.split("@")[0], set()).update((site["address"], site.get("chooser", site["address"])))
    missing = [name for name, address in exported.items() if address not in known.get(name, ())
               and address + 4 not in known.get(name, ())]
    equal(missing, [])


def test_stripped():
    """A file without symbols, and without section headers."""
    with tempfile.TemporaryDirectory() as folder:
        stripped = folder + "/stripped"
        run("strip", "-o", stripped, PROGRAM)
        whole = {site["address"]: site["method"] for site in sites(PROGRAM)}
        left = {site["address"]: site["method"] for site in sites(stripped)}
        true(len(left) > 10, f"{len(left)} functions")
        equal({a: m for a, m in left.items() if whole.get(a) != m}, {})
        shutil.copy(stripped, folder + "/bare")
        with open(folder + "/bare", "r+b") as file:
            file.seek(40)
            file.write(bytes(8))
            file.seek(58)
            file.write(bytes(6))
        bare = {site["address"]: site["method"] for site in sites(folder + "/bare")}
        true(set(left) <= set(bare), "the unwinder's data is found without section headers")


def test_debugdata():
    """The symbols that some distributions leave, compressed, in stripped files."""
    with tempfile.TemporaryDirectory() as folder:
        mini = folder + "/mini"
        run("strip", "-o", folder + "/stripped", PROGRAM)
        run("objcopy", "-S", "--keep-symbol=site_breakpoint", "--keep-symbol=site_short", PROGRAM, mini)
        with open(mini, "rb") as plain, open(mini + ".xz", "wb") as packed:
            packed.write(lzma.compress(plain.read()))
        run("objcopy", "--add-section", ".gnu_debugdata=" + mini + ".xz", folder + "/stripped", folder + "/packed")
        equal([site["function"] for site in sites(folder + "/packed", "site_*")], ["site_short", "site_breakpoint"])


def test_process():
    process = subprocess.Popen([PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        equal(process.stdout.readline(), "10\n")
        found = {site["function"]: site for site in sites(str(process.pid), os.path.basename(PROGRAM) + ":site_*")}
        with open(f"/proc/{process.pid}/maps", encoding="utf-8") as maps:
            base = min(int(line.split("-")[0], 16) for line in maps if line.rstrip().endswith(os.path.basename(PROGRAM)))
        addresses = symbols(PROGRAM)
        with open(f"/proc/{process.pid}/mem", "rb") as memory:
            for name, site in found.items():
                equal(site["runtime"] - site["address"], base, name)
                equal(site["address"], addresses[name] + (4 if name == "site_marked" else 0), name)
                memory.seek(site["runtime"])
                equal(memory.read(len(site["bytes"]) // 2).hex() == site["bytes"], name != "site_changed", name)
        equal(found["site_changed"]["method"], "none")
        contains(found["site_changed"]["reason"], "another tool has changed it")
        equal(found["site_jump"]["method"], "jump")
        result = side("probe", "list", str(process.pid), "libc.so*:malloc")
        contains(result.out, "libc.so.6:malloc")
        equal(len(result.out.splitlines()), 2)
    finally:
        process.stdin.close()
        process.wait(timeout=60)
    result = side("probe", "list", str(process.pid))
    equal(result.status, 1)
    contains(result.err, f"cannot inspect process {process.pid}: no such process")


def test_errors():
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/text", "w", encoding="utf-8") as file:
            file.write("text\n" * 100)
        os.mkfifo(folder + "/pipe")
        for path, reports in ((folder + "/text", "is not an ELF file"), (folder + "/nothing", "No such file"),
                           (folder, "is not a program or library"), (folder + "/pipe", "is not a program or library")):
            result = side("probe", "list", path)
            equal((result.status, result.out), (1, ""), path)
            contains(result.err, reports)
        with open(SITES, "rb") as file:
            data = bytearray(file.read())
        for at, value, reports in ((18, 183, "another processor"), (16, 1, "neither an executable"),
                                (56, 255, "program headers")):
            changed = bytearray(data)
            changed[at] = value
            if at == 56:
                changed[57] = 255
            with open(folder + "/damaged", "wb") as file:
                file.write(changed)
            result = side("probe", "list", folder + "/damaged")
            equal(result.status, 1)
            contains(result.err, reports)
    result = side("probe", "list", SITES, "nothing_like_it")
    equal((result.status, result.out), (1, ""))
    contains(result.err, "no function that matches `nothing_like_it`\nhint: `side probe list` without a GLOB")
    result = side("probe", "list", SITES, "site_jmp")
    equal((result.status, result.out), (1, ""))
    contains(result.err, "no function that matches `site_jmp`\nhint: did you mean `site_jump`?")
    result = side("probe", "list", str(os.getpid()), "libc.so.6:mallocc")
    contains(result.err, "\nhint: did you mean `libc.so.6:malloc`?")
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/bare.s", "w", encoding="utf-8") as file:
            file.write(".globl _start\n_start: mov $60, %eax\n xor %edi, %edi\n syscall\n")
        subprocess.run(["gcc", "-nostdlib", "-static", "-s", "-o", folder + "/bare", folder + "/bare.s"], check=True)
        for arguments in (("probe", "list", folder + "/bare"),
                      ("trace", "--global", "-o", folder + "/out", "-c", folder + "/bare", "--function", "*")):
            result = side(*arguments)
            equal((result.status, result.out), (1, ""))
            contains(result.err, "has neither symbols nor .eh_frame, so none of its functions is known")
            contains(result.err, "--probe 0xADDR")
        result = side("trace", "-o", folder + "/out", "-c", folder + "/bare", "--function", "*")
        equal(result.status, 1)
        contains(result.err, "is statically linked")
    for word, hint in (("lits", "did you mean `side probe list`?"), ("zzzzz", "side probe list FILE|PID")):
        result = side("probe", word, SITES)
        equal(result.status, 2)
        contains(result.err, hint)


def named(path):
    """The addresses of the functions called main."""
    return [int(site["address"], 0) if isinstance(site["address"], str) else site["address"]
            for site in sites(path) if site.get("function") == "main"]


def test_main_of_stripped_programs():
    """The start code tells where main() is, in all forms of executables; nm knows it before strip does its work."""
    forms = [["gcc"], ["gcc", "-no-pie"], ["gcc", "-static"], ["gcc", "-static-pie"], ["gcc", "-fcf-protection=none", "-O0"],
             ["clang"], ["clang", "-no-pie"], ["musl-gcc"], ["musl-gcc", "-static"]]
    forms = [form for form in forms if shutil.which(form[0])]
    true(len(forms) >= 6, "a compiler")
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/program.c", "w", encoding="utf-8") as file:
            file.write("int puts(const char *);\nint main(void) { return puts(\"text\") < 0; }\n")
        for form in forms:
            path = folder + "/program"
            subprocess.run([*form, folder + "/program.c", "-o", path], check=True)
            wanted = symbols(path)["main"]
            run("strip", path)
            equal(named(path), [wanted], form)
        # Without unwind data, the end of main() is not known.
        subprocess.run(["gcc", "-s", "-fno-asynchronous-unwind-tables", folder + "/program.c", "-o", folder + "/program"], check=True)
        equal(named(folder + "/program"), [], "no unwind data")
        # A library, and a program whose start code is its own, have none.
        subprocess.run(["gcc", "-shared", "-s", folder + "/program.c", "-Dmain=other", "-o", folder + "/library.so"], check=True)
        equal(named(folder + "/library.so"), [], "a library")
        with open(folder + "/own.s", "w", encoding="utf-8") as file:
            file.write(".globl _start\n.type inner, @function\n_start: lea inner(%rip), %rdi\n call inner\n mov $60, %eax\n syscall\ninner:\n .cfi_startproc\n ret\n .cfi_endproc\n")
        subprocess.run(["gcc", "-nostdlib", "-static", "-o", folder + "/own", folder + "/own.s"], check=True)
        equal(named(folder + "/own"), [], "start code of the program's own")


def test_long_start_code():
    """The start code is read up to its limit of 32 instructions."""
    with tempfile.TemporaryDirectory() as folder:
        for count, wanted in ((30, 1), (31, 0)):
            with open(folder + "/start.s", "w", encoding="utf-8") as file:
                file.write(".globl _start\n.type _start, @function\n_start:\n" + " nop\n" * count
                           + " lea inner(%rip), %rdi\n call inner\n hlt\ninner:\n .cfi_startproc\n ret\n .cfi_endproc\n")
            subprocess.run(["gcc", "-nostdlib", "-static", "-o", folder + "/start", folder + "/start.s"], check=True)
            run("strip", "-N", "inner", folder + "/start")
            equal(len(named(folder + "/start")), wanted, count)


def test_main_of_real_programs():
    """Debian's programs have no symbols."""
    if os.environ.get("SANITIZED", "none") != "none":
        return  # they cannot load a sanitized agent
    with tempfile.TemporaryDirectory() as folder:
        for number, command in enumerate((["/bin/ls", "-d", "/"], ["/bin/cat", "/dev/null"], ["/usr/bin/sort", "/dev/null"], ["/bin/sed", "p", "/dev/null"])):
            result = side("trace", "-o", f"{folder}/{number}", "--function", "main", "--exit", "--", *command)
            equal(result.status, 0, f"{command}: {result.err}")
            contains(result.err, "recorded 2 events", command)


run_tests(globals())
