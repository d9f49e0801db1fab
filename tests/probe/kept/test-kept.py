#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs with data among the code, or with code that differs from the file: constants between functions, text
relocations, sleds of XRay, static keys, and copies. Each program prints the same with and without probes, and all
hits are counted.

usage: test-kept.py [TEST...]
"""
import functools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../.."))
import checks

SIDE = os.environ["SIDE"]
LONG = os.environ.get("SIDE_TEST_LONG") == "1"
TIMEOUT = 120
run = functools.partial(checks.run, timeout=TIMEOUT)
HERE = os.path.dirname(os.path.abspath(__file__))
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
os.environ["LC_ALL"] = "C"
os.environ.pop("LD_PRELOAD", None)


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="side-kept-")
        self.addCleanup(shutil.rmtree, self.folder, True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def compile(self, compiler, source, *flags, name="program"):
        """Compiles a text, or a file beside this one."""
        path = os.path.join(HERE, source)
        if "\n" in source:
            path = self.path(name + ".c")
            with open(path, "w", encoding="utf-8") as file:
                file.write(source)
        program = self.path(name)
        run(compiler, "-w", *flags, path, "-o", program)
        return program

    def trace(self, program, *probes, status=0, words=()):
        """The output of the program, the messages of side, and the number of hits by function."""
        trace = self.path("trace")
        shutil.rmtree(trace, True)
        done = run(SIDE, "trace", "-o", trace, "-c", program, *probes, status=status)
        hits = {}
        if not status and os.path.exists(trace):
            for line in run(SIDE, "view", "--flat", trace).stdout.splitlines():
                name = re.search(r'function = "([^"]*)"', line) or re.search(r"probe:(\w+)", line)
                if name:
                    hits[name[1]] = hits.get(name[1], 0) + 1
        return done.stdout, done.stderr, hits

    def sites(self, program, glob="*"):
        found = run(SIDE, "probe", "list", "--json", program, glob).stdout
        return {site["function"]: site for site in map(json.loads, found.splitlines())}


# ---- constants ----

FILLS = {"cc": ["0xcccccccccccccccc"], "90": ["0x9090909090909090"], "long": ["0x00841f0f2e66cccc", "0x9066000000000000"],
         "mixed": ["0xcc90cc90cc90cc90"]}


def spinner(name):
    """A function that takes no jump: a jump leads to its third byte."""
    return (f".globl {name}\n.type {name},@function\n.p2align 4\n{name}:\n.cfi_startproc\nxor %eax,%eax\n1: inc %eax\ncmp %edi,%eax\njl 1b\nret\n"
            f".cfi_endproc\n.size {name},.-{name}\n")


def leaf(name):
    """A function of fewer than five bytes."""
    return f".globl {name}\n.type {name},@function\n.p2align 4\n{name}:\n.cfi_startproc\nmov %edi,%eax\nret\n.cfi_endproc\n.size {name},.-{name}\n"


def getter(name, body):
    return f".globl {name}\n.type {name},@function\n{name}:\n.cfi_startproc\n{body}\nret\n.cfi_endproc\n.size {name},.-{name}\n"


def accesses(fixed):
    """Code that accesses the third word of a constant `data_N`."""
    found = {
        "load": "mov data_{n}+16(%rip),%rax",
        "all": "mov data_{n}(%rip),%rax\nxor data_{n}+8(%rip),%rax\nadd data_{n}+16(%rip),%rax",
        "lea": "lea data_{n}(%rip),%rax\nmov 16(%rax),%rax",
        "biased": "lea data_{n}+8(%rip),%rax\nmov 8(%rax),%rax",
        "vector": "movups data_{n}(%rip),%xmm0\nmovq %xmm0,%rax\nxor data_{n}+16(%rip),%rax",
        "pointer": "mov pointer_{n}(%rip),%rax\nmov 16(%rax),%rax",
        "object": "mov anchor@GOTPCREL(%rip),%rax\nadd distance_{n}(%rip),%rax\nmov 16(%rax),%rax",
    }
    if fixed:
        found["absolute"] = "mov data_{n}+16,%rax"
        found["indexed"] = "mov $2,%ecx\nmov data_{n}(,%rcx,8),%rax"
        found["immediate"] = "mov $data_{n},%eax\nmov 16(%rax),%rax"
    return found


def constants(rng, fixed, count):
    """Functions with constants between them that equal padding."""
    text, calls, names = [], [], []
    methods = accesses(fixed)
    for n in range(count):
        method = rng.choice(sorted(methods))
        words = rng.choice(sorted(FILLS))
        make = rng.choice([spinner, leaf])
        name = f"probed_{n}"
        values = [FILLS[words][i % len(FILLS[words])] for i in range(3)]
        typed = method == "object" or rng.random() < 0.3
        text.append(make(name))
        if rng.random() < 0.3:
            text.append(".p2align 3, 0xcc\n")
        label = f"data_{n}"
        text.append((f".type {label},@object\n.size {label},24\n" if typed else "") + f"{label}: .quad {', '.join(values)}\n")
        text.append(getter(f"get_{n}", methods[method].format(n=n)))
        if method == "pointer":
            text.append(f".data\n.p2align 3\npointer_{n}: .quad {label}\n.text\n")
        if method == "object":
            text.append(f".data\n.p2align 3\ndistance_{n}: .quad {label}-anchor\n.text\n")
        names.append(name)
        calls.append(f'printf("%d %lx\\n", probed_{n}(4), get_{n}());')
    declarations = "".join(f"int probed_{n}(int x); unsigned long get_{n}(void);\n" for n in range(count))
    body = "".join(text).replace("\n", "\\n")
    anchor = ".globl anchor\\n.type anchor,@function\\nanchor: ret\\n.size anchor,.-anchor\\n"
    return (f"#include <stdio.h>\n{declarations}__asm__(\".text\\n{anchor}{body}\");\nint main(void)\n{{\nfor (int i = 0; i < 3; i++) {{\n"
            + "\n".join(calls) + "\n}\nreturn 0;\n}\n"), names


class Constants(Folder):
    def test_layouts(self):
        """Constants between functions are unchanged, and each call is seen."""
        for seed in range(200 if LONG else 12):
            rng = random.Random(seed)
            compiler = COMPILERS[seed % len(COMPILERS)]
            fixed = seed % 3 == 2
            source, names = constants(rng, fixed, 12)
            with self.subTest(seed=seed, compiler=compiler, fixed=fixed):
                program = self.compile(compiler, source, "-O1", *(["-no-pie", "-fno-pie"] if fixed else ["-pie", "-fPIE"]))
                plain = run(program).stdout
                if seed % 2:
                    run("strip", "--keep-symbol=anchor", "-K", "main", "-w", "-K", "probed_*",
                        *(["-K", "data_*"] if "distance_" in source else []), program)
                out, err, hits = self.trace(program, "--function", "probed_*")
                self.assertEqual(out, plain, err)
                self.assertEqual({name: hits.get(name) for name in names}, {name: 3 for name in names}, err)

    def test_springboards_remain(self):
        """Padding that compilers insert between functions is still used for springboards."""
        source = ("#include <stdio.h>\nint probed_0(int x), probed_1(int x);\n__asm__(\"" +
                  (spinner("probed_0") + ".p2align 4,0xcc\n.skip 16,0xcc\n" + leaf("probed_1") + ".p2align 4,0xcc\n.skip 16, 0xcc\n").replace("\n", "\\n")
                  + "\");\nint main(void)\n{\nprintf(\"%d\\n\", probed_0(3) + probed_1(4));\nreturn 0;\n}\n")
        program = self.compile(COMPILERS[0], source, "-O1")
        found = self.sites(program, "probed_*")
        self.assertEqual([found[name]["method"] for name in ("probed_0", "probed_1")], ["short", "padding"])
        self.assertEqual(self.trace(program, "--function", "probed_*")[2], {"probed_0": 1, "probed_1": 1})

    def test_inside(self):
        """A constant within a function, after its jump: bytes that an instruction reads are not displaced."""
        source = """#include <stdio.h>
unsigned long inner(void);
__asm__(".text\\n.globl inner\\n.type inner,@function\\n.p2align 4\\ninner:\\n.cfi_startproc\\njmp 1f\\nvalue: .byte 0x90,0x90,0x90,0xcc,0x90,0x66,0x90,0x90\\n"
        "1: mov value(%rip),%rax\\nret\\n.cfi_endproc\\n.size inner,.-inner\\n");
int main(void)
{
    printf("%lx %lx\\n", inner(), inner());
    return 0;
}
"""
        for compiler in COMPILERS:
            program = self.compile(compiler, source, "-O1")
            out, err, hits = self.trace(program, "--function", "inner")
            self.assertEqual(out, run(program).stdout, err)
            self.assertEqual(hits, {"inner": 2})


# ---- relocations in code ----

class Relocations(Folder):
    BODIES = {"first": "movabs $value,%rax\\nmov (%rax),%rax\\nret",
              "second": "xor %eax,%eax\\nmovabs $value,%rcx\\nadd (%rcx),%rax\\nret",
              "third": "push %rbx\\npop %rbx\\nmovabs $value,%rax\\nmov (%rax),%rax\\nret",
              "behind": "nop\\nxor %eax,%eax\\nnopl (%rax)\\nmovabs $value,%rcx\\nadd (%rcx),%rax\\nret",
              "none": "xor %eax,%eax\\nadd $0x1234,%rax\\nret"}

    def source(self):
        text = "".join(f".globl {name}\\n.type {name},@function\\n.p2align 4\\n{name}:\\n.cfi_startproc\\n{body}\\n.cfi_endproc\\n.size {name},.-{name}\\n"
                       for name, body in ((f"get_{name}", body) for name, body in self.BODIES.items()))
        return ("#include <stdio.h>\n" + "".join(f"long get_{name}(void);\n" for name in self.BODIES) +
                f'__asm__(".text\\n{text}.data\\n.globl value\\nvalue: .quad 0x1234\\n.text\\n");\nint main(void)\n{{\nfor (int i = 0; i < 3; i++)\n'
                'printf("%lx\\n", ' + " + ".join(f"get_{name}()" for name in self.BODIES) + ');\nreturn 0;\n}\n')

    def test_relocations(self):
        for compiler in COMPILERS:
            for packed in ([], ["-Wl,-z,pack-relative-relocs"]):
                with self.subTest(compiler=compiler, packed=packed):
                    program = self.compile(compiler, self.source(), "-O1", "-pie", "-fPIE", "-Wl,-z,notext", *packed)
                    plain = run(program).stdout
                    self.assertEqual(plain, "5b04\n" * 3)
                    found = self.sites(program, "get_*")
                    self.assertIn("text relocation", found["get_first"].pop("reason"))
                    self.assertEqual(found["get_first"]["method"], "none")
                    # Its relocated bytes follow the jump.
                    self.assertEqual(found["get_behind"]["method"], "jump")
                    done = run(SIDE, "trace", "-o", self.path("no"), "-c", program, "--function", "get_first", status=1)
                    self.assertIn("text relocation", done.stderr)
                    self.assertEqual(done.stdout, "")
                    out, err, hits = self.trace(program, "--function", "get_*")
                    self.assertEqual(out, plain, err)
                    self.assertIn("get_first", err)
                    self.assertEqual(hits, {f"get_{name}": 3 for name in self.BODIES if name != "first"}, err)

    @unittest.skipIf(os.geteuid(), "global probes are root's")
    def test_global(self):
        """The kernel executes the instruction of the file."""
        program = self.compile(COMPILERS[0], self.source(), "-O1", "-pie", "-fPIE", "-Wl,-z,notext")
        plain = run(program).stdout
        done = run(SIDE, "trace", "--global", "-o", self.path("global"), "-c", program, "--function", "get_first", status=1)
        self.assertIn("text relocation", done.stderr)
        self.assertEqual(done.stdout, "")
        done = run(SIDE, "trace", "--global", "-o", self.path("all"), "-c", program, "--function", "get_*", status=None)
        if "cannot" in done.stderr and not done.stdout:
            self.skipTest(done.stderr)
        self.assertEqual(done.stdout, plain, done.stderr)

    def test_linker_leftovers(self):
        """Relocations that only the linker uses (--emit-relocs) change nothing in the process."""
        program = self.compile(COMPILERS[0], self.source().replace("movabs $value,%rax", "lea value(%rip),%rax").replace(
            "movabs $value,%rcx", "lea value(%rip),%rcx"), "-O1", "-pie", "-fPIE", "-Wl,--emit-relocs")
        self.assertEqual({site["method"] for site in self.sites(program, "get_*").values()}, {"jump"})


# ---- code that the program changes itself ----

class Sleds(Folder):
    def test_xray(self):
        if not shutil.which("clang"):
            self.skipTest("there is no clang")
        for flags in (["-pie", "-fPIE"], ["-no-pie", "-fno-pie"]):
            for level in ("-O0", "-O2"):
                with self.subTest(flags=flags, level=level):
                    try:
                        program = self.compile("clang", "xray.c", level, *flags, "-pthread", "-fxray-instrument", "-fxray-instruction-threshold=1")
                    except AssertionError as error:
                        self.skipTest(f"this clang cannot link XRay: {str(error)[-200:]}")
                    plain = run(program).stdout
                    for probes in (["--function", "xray_small", "--function", "xray_loop"],
                                   ["--function", "xray_small", "--function", "xray_loop", "--function", "xray_busy", "--exit"]):
                        out, err, hits = self.trace(program, *probes)
                        self.assertEqual(out, plain, err)
                        self.assertEqual((hits.get("xray_small"), hits.get("xray_loop")), (100, 100), err)
                    out, err, hits = self.trace(program, "--function", "*")
                    self.assertEqual(out, plain, err)

    def test_keys(self):
        """Static keys: in sections by name, by address or distance, and without a name."""
        for number, (form, section, flags) in enumerate(
                [(1, "__jump_table", ["-pie", "-fPIE"]), (1, "__jump_table", ["-no-pie", "-fno-pie"]), (2, "__jump_table", ["-pie", "-fPIE"]),
                 (2, "my_static_keys", ["-no-pie", "-fno-pie"])]):
            for level in ("-O1", "-O2"):
                compiler = COMPILERS[number % len(COMPILERS)]
                with self.subTest(form=form, section=section, flags=flags, level=level):
                    program = self.compile(compiler, "keys.c", level, *flags, f"-DFORM={form}", f'-DSECTION="{section}"', "-DCOUNT=3")
                    plain = run(program).stdout
                    found = self.sites(program, "key_*")
                    # Some compilers emit another instruction first.
                    if found["key_first"]["bytes"].startswith("0f1f440000"):
                        self.assertEqual(found["key_first"]["method"], "none")
                        self.assertIn("static key", found["key_first"]["reason"])
                    out, err, hits = self.trace(program, "--function", "*")
                    self.assertEqual(out, plain, err)
                    self.assertEqual((hits.get("key_second"), hits.get("key_loop")), (70, 70), err)

    def test_keys_without_a_name(self):
        for flags in (["-pie", "-fPIE"], ["-no-pie", "-fno-pie"]):
            program = self.compile(COMPILERS[0], "keys.c", "-O2", *flags, "-DFORM=1", '-DSECTION="mine"', "-DCOUNT=3")
            plain = run(program).stdout
            out, err, hits = self.trace(program, "--function", "key_second", "--function", "key_loop")
            self.assertEqual(out, plain, err)
            self.assertEqual((hits.get("key_second"), hits.get("key_loop")), (70, 70), err)

    def test_writable_code(self):
        """A program that has made its code writable writes to it after probes were set and removed while it ran."""
        program = self.compile(COMPILERS[0], "keys.c", "-O2", "-DFORM=1", "-DCOUNT=3")
        plain = run(program).stdout
        with subprocess.Popen([program, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            self.assertEqual(process.stdout.readline(), "ready\n")
            run(SIDE, "trace", "-o", self.path("attached"), "-p", str(process.pid), "--duration", "0.2", "--function", "key_second", "--function",
                "key_loop")
            out, _ = process.communicate("\n", timeout=TIMEOUT)
        self.assertEqual((out, process.returncode), (plain, 0))


# ---- code that the program copies ----

BLOB = """#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
extern const char v8_Test_embedded_blob_code_[];
extern const unsigned int v8_Test_embedded_blob_code_size_;
int outside(int x);
__asm__(".text\\n.p2align 6\\nv8_Test_embedded_blob_code_:\\n"
        ".type Builtins_One,@function\\nBuiltins_One: lea 1(%rdi),%rax\\nimul $3,%rax,%rax\\nret\\n.size Builtins_One,.-Builtins_One\\n.p2align 5,0xcc\\n"
        ".type Builtins_Two,@function\\nBuiltins_Two: lea 2(%rdi),%rax\\njmp Builtins_One\\n.size Builtins_Two,.-Builtins_Two\\n.p2align 5,0xcc\\nover:\\n"
        ".globl outside\\n.type outside,@function\\noutside: lea 5(%rdi),%rax\\nimul $2,%rax,%rax\\nret\\n.size outside,.-outside\\n"
        ".section .rodata\\n.p2align 2\\nv8_Test_embedded_blob_code_size_: .long over - v8_Test_embedded_blob_code_\\n.text\\n");
int main(void)
{
    char *to = mmap((char *)0x200000000000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    memcpy(to, v8_Test_embedded_blob_code_, v8_Test_embedded_blob_code_size_);
    mprotect(to, 4096, PROT_READ | PROT_EXEC);
    printf("%d %d %d\\n", ((int (*)(int))to)(4), ((int (*)(int))(to + 32))(5), outside(6));
    return 0;
}
"""

# Copied by the compiler's own loads.
INLINED = """#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
__attribute__((noinline, noclone)) int copied(int x)
{
    volatile int y = x;
    for (int i = 0; i < 3; i++)
        y += x;
    return y + 2;
}
int main(void)
{
    char *to = mmap((char *)0x200000000000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(to, (char *)copied, 64);
    mprotect(to, 4096, PROT_READ | PROT_EXEC);
    printf("%d %d\\n", copied(10), ((int (*)(int))to)(10));
    return 0;
}
"""


class Copies(Folder):
    def test_embedded(self):
        for flags in (["-pie", "-fPIE"], ["-no-pie", "-fno-pie"]):
            program = self.compile(COMPILERS[0], BLOB, "-O1", *flags)
            plain = run(program).stdout
            done = run(SIDE, "trace", "-o", self.path("no"), "-c", program, "--function", "Builtins_*", status=1)
            self.assertIn("V8 copies", done.stderr)
            self.assertEqual(done.stdout, "")
            out, err, hits = self.trace(program, "--function", "*")
            self.assertEqual(out, plain, err)
            self.assertEqual(hits.get("outside"), 1)

    def test_read(self):
        """The program's own loads read the function."""
        for compiler in COMPILERS:
            for flags in (["-pie", "-fPIE"], ["-no-pie", "-fno-pie"]):
                program = self.compile(compiler, INLINED, "-O2", *flags)
                plain = run(program).stdout
                out, err, hits = self.trace(program, "--function", "*")
                self.assertEqual(out, plain, err)

    NAMES = ["copied_loop", "copied_small", "copied_large", "copied_spin", "copied_nop"]

    def programs(self):
        pie, fixed = ["-pie", "-fPIE"], ["-no-pie", "-fno-pie"]
        # Without optimization, clang emits constants elsewhere.
        builds = [("gcc", pie, "-O0"), ("gcc", fixed, "-O1"), ("clang", pie, "-O1"), ("gcc", fixed, "-O0"), ("gcc", pie, "-O1"),
                  ("clang", fixed, "-O1")]
        for compiler, flags, level in builds if LONG else builds[:3]:
            if compiler not in COMPILERS:
                continue
            program = self.compile(compiler, "copies.c", level, *flags, "-pthread")
            self.assertEqual(run(program).stdout, "right\n")
            yield program

    def boundaries(self, program):
        """An instruction inside each function: probes there are breakpoints, or jumps of other methods."""
        text, found = run("objdump", "-d", "--no-show-raw-insn", program).stdout, []
        for name in self.NAMES:
            code = text.split(f"<{name}>:\n")[1].split("\n\n")[0].splitlines()
            start = int(code[0].split(":")[0], 16)
            code = code[:next(i for i, line in enumerate(code) if re.search(r"\tret", line)) + 1]
            found += [f"{name}+{int(line.split(':')[0], 16) - start:#x}" for line in code[1:4]]
        return found

    def test_copied(self):
        """A copy contains the jumps and breakpoints of probes, and behaves like the original; only originals have hits."""
        for program in self.programs():
            words = [word for name in self.NAMES for word in ("--function", name)]
            for probes in (words, words + ["--exit"], [word for location in self.boundaries(program) for word in ("--probe", location)]):
                out, err, hits = self.trace(program, *probes)
                self.assertEqual(out, "right\n", err)
                if probes == words:
                    self.assertEqual(hits, {name: 4 * 299 for name in self.NAMES})

    def test_called_when_probes_are_gone(self):
        """Copies of probed code that are executed after the tracer has left."""
        for program in self.programs():
            for probes in ([word for name in self.NAMES for word in ("--function", name)],
                           [word for location in self.boundaries(program)[1::3] for word in ("--probe", location)]):
                shutil.rmtree(self.path("trace"), True)
                with subprocess.Popen([program, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
                    def proceed(word):
                        process.stdin.write("\n")
                        process.stdin.flush()
                        self.assertEqual(process.stdout.readline(), word)
                    self.assertEqual(process.stdout.readline(), "started\n")
                    with subprocess.Popen([SIDE, "trace", "-o", self.path("trace"), "-p", str(process.pid), "--no-uprobe", *probes],
                                          stderr=subprocess.PIPE, text=True) as tracer:
                        for _ in range(len(probes) // 2):
                            output = line = tracer.stderr.readline()
                            while line and " is set in process" not in line:
                                line = tracer.stderr.readline()
                                output += line
                            self.assertIn("1 of 1", output)
                        proceed("copied\n")
                        tracer.send_signal(signal.SIGINT)
                        tracer.communicate(timeout=TIMEOUT)
                    proceed("called\n")
                    out, _ = process.communicate("\n", timeout=TIMEOUT)
                    self.assertEqual((out, process.returncode), ("right\n", 0))

    def test_faults_of_the_program(self):
        """A jump to an invalid address, and a trap, behave as without probes."""
        source = """#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>
__attribute__((noinline, noclone)) int probed(int x) { __asm__ volatile(""); return x * 5 + 1; }
static volatile sig_atomic_t seen[65];
static void handle(int number, siginfo_t *info, void *context)
{
    ucontext_t *user = context;
    seen[number] += (unsigned long)info->si_addr == 0x123456000 || number == SIGTRAP;
    if (number == SIGSEGV) {
        user->uc_mcontext.gregs[REG_RIP] = *(unsigned long *)user->uc_mcontext.gregs[REG_RSP];
        user->uc_mcontext.gregs[REG_RSP] += 8;
    }
}
int main(void)
{
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
    void (*volatile nothing)(void) = (void (*)(void))0x123456000;
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGTRAP, &action, NULL);
    for (int i = 0; i < 5; i++) {
        nothing();
        __asm__ volatile("int3");
        probed(i);
    }
    printf("%d %d\\n", seen[SIGSEGV], seen[SIGTRAP]);
    return 0;
}
"""
        program = self.compile(COMPILERS[0], source.replace("#include", "#define _GNU_SOURCE\n#include", 1), "-O1")
        self.assertEqual(run(program).stdout, "5 5\n")
        out, err, hits = self.trace(program, "--function", "probed")
        self.assertEqual(out, "5 5\n", err)
        self.assertEqual(hits.get("probed"), 5)

    @unittest.skipUnless(shutil.which("node"), "there is no node")
    def test_node(self):
        """Refused with that reason; skipped if other functions are selected as well."""
        node = os.path.realpath(shutil.which("node"))
        if "embedded_blob_code_size_" not in run("nm", node, status=None).stdout:
            self.skipTest("this node has no symbols")
        script = self.path("script.js")
        with open(script, "w", encoding="utf-8") as file:
            file.write('let m = new Map(); for (let i = 0; i < 1e5; i++) m.set("k" + i, i); console.log(m.size)')
        done = run(SIDE, "trace", "-o", self.path("no"), "-c", f"{node} {script}", "--function", "Builtins_*", status=1)
        self.assertIn("V8 copies", done.stderr)
        done = run(SIDE, "trace", "-o", self.path("some"), "-c", f"{node} {script}", "--function", "uv_*", "--function", "Builtins_*", status=None)
        self.assertIn(done.stdout, ("100000\n", ""), done.stderr)


# ---- names and files ----

MOVED = """#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <fcntl.h>
#include <unistd.h>
__attribute__((noinline, noclone)) long leaf(long x)
{
    __asm__ volatile("nop;nop;nop;nop;nop");
    return x + 1;
}
static void move(void)
{
    FILE *f = fopen("/proc/self/maps", "r");
    unsigned long low = 0, high = 0, a, b;
    char line[512], p[8];
    while (fgets(line, sizeof(line), f)) {
        sscanf(line, "%lx-%lx %7s", &a, &b, p);
        if (p[2] == 'x' && a <= (unsigned long)leaf && b > (unsigned long)leaf)
            low = a, high = b;
    }
    fclose(f);
    char *copy = mmap(NULL, high - low, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(copy, (void *)low, high - low);
    mprotect(copy, high - low, PROT_READ | PROT_EXEC);
    mremap(copy, high - low, high - low, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)low);
}
int main(int argc, char **argv, char **environment)
{
    long sum = 0;
    if (argc > 1 && !strcmp(argv[1], "memory")) {
        int to = memfd_create("program", 0), from = open("/proc/self/exe", O_RDONLY);
        while (sendfile(to, from, NULL, 1 << 20) > 0)
            ;
        argv[1] = "wait";
        fexecve(to, argv, environment);
    }
    if (argc > 1 && !strcmp(argv[1], "move"))
        move();
    if (argc > 2 || !strcmp(argv[argc - 1], "wait") || !strcmp(argv[argc - 1], "move")) {
        puts("ready");
        fflush(stdout);
        getchar();
    }
    for (int i = 0; i < 200; i++)
        sum += leaf(i);
    printf("%ld\\n", sum);
    fflush(stdout);
    if (argc > 1)
        getchar();
    return 0;
}
"""


class Files(Folder):
    def attach(self, program, word, *probes):
        """Sets probes in a waiting program; then the program continues, and exits after they are removed."""
        trace = self.path("trace")
        shutil.rmtree(trace, True)
        with subprocess.Popen([program, word], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            self.assertEqual(process.stdout.readline(), "ready\n")
            with subprocess.Popen([SIDE, "trace", "-o", trace, "-p", str(process.pid), *probes], stderr=subprocess.PIPE, text=True) as tracer:
                output = line = tracer.stderr.readline()
                while line and " is set in process" not in line:
                    line = tracer.stderr.readline()
                    output += line
                self.assertIn("1 of 1", output)
                listed = run(SIDE, "probe", "list", str(process.pid), "leaf").stdout
                process.stdin.write("\n")
                process.stdin.flush()
                self.assertEqual(process.stdout.readline(), "20100\n")
                tracer.send_signal(signal.SIGINT)
                tracer.communicate(timeout=TIMEOUT)
            process.communicate("\n", timeout=TIMEOUT)
            self.assertEqual(process.returncode, 0)
        return listed, len(re.findall(r"probe:\S+: ", run(SIDE, "view", "--flat", trace).stdout))

    def test_moved(self):
        """Programs whose code is on other pages, or whose file is in memory."""
        for flags in (["-pie", "-fPIE"], ["-no-pie", "-fno-pie"]):
            program = self.compile(COMPILERS[-1], MOVED, "-O1", *flags)
            for word in ("wait", "move", "memory"):
                with self.subTest(flags=flags, word=word):
                    listed, hits = self.attach(program, word, "--function", "leaf", "--arg", "u64:x:%rdi")
                    self.assertIn("leaf", listed)
                    self.assertEqual(hits, 200)

    def test_no_names(self):
        """A file that names no function: addresses that are reachable from its entry are probed, others are refused."""
        for flags in (["-pie", "-fPIE"], ["-no-pie", "-fno-pie"]):
            for compiler in COMPILERS:
                with self.subTest(flags=flags, compiler=compiler):
                    named = self.compile(compiler, MOVED, "-O1", *flags)
                    address = int(next(line.split()[0] for line in run("nm", named).stdout.splitlines() if line.endswith(" leaf")), 16)
                    program = self.path("nameless")
                    run("objcopy", "-S", "-R", ".eh_frame", "-R", ".eh_frame_hdr", named, program)
                    done = run(SIDE, "trace", "-o", self.path("no"), "-c", program, "--function", "leaf", status=1)
                    self.assertIn("neither symbols nor .eh_frame", done.stderr)
                    self.assertIn("--probe 0xADDR", done.stderr)
                    out, err, hits = self.trace(program, "--probe", hex(address))
                    self.assertEqual((out, sum(hits.values())), ("20100\n", 200), err)
                    done = run(SIDE, "trace", "-o", self.path("no"), "-c", program, "--probe", hex(address + 0x100000), status=1)
                    self.assertIn("side finds no path from its entry to", done.stderr)

    def test_corrections(self):
        """A marker whose provider contains colons is found, and no name is suggested as its own correction."""
        note = ('.text\\n990: nop\\n.pushsection .note.stapsdt,\\"\\",\\"note\\"\\n.balign 4\\n.4byte 992f-991f,994f-993f,3\\n991: .asciz \\"stapsdt\\"\\n'
                '992: .balign 4\\n993: .8byte 990b,0,0\\n.asciz \\"my::app\\"\\n.asciz \\"one[1]\\"\\n.asciz \\"\\"\\n994: .balign 4\\n.popsection\\n')
        program = self.compile(COMPILERS[0], f'int main(void)\n{{\n__asm__ volatile("{note}");\nreturn 0;\n}}\n', "-O1")
        done = run(SIDE, "trace", "-o", self.path("trace"), "-c", program, "--sdt", "my::app:one[1]", status=None)
        self.assertNotIn("did you mean `my::app:one[1]`", done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 event", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
