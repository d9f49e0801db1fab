#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Probes preserve the whole processor state of a thread, wherever they are: test-state.py [SEED]

The test generates functions of random instructions. Some start and end with the alignment check or the direction flag
set. They change the direction flag, the arithmetic flags, the alignment check, the stack pointer (also to unaligned
addresses), x87 and SSE control words and registers, and the red zone. A program calls each of them with random
registers and prints all registers and memory after the call. With probes on random instructions it must print the
same, and each probe must have as many hits as the function has calls. SIDE_TEST_LONG=1: a hundred times as many.
"""
import os
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../cmd"))
from harness import LONG, SIDE, environment

FUNCTIONS, CALLS, ROUNDS = 40, 3, 6
PROGRAMS = 60 if LONG else 1
REGISTERS = "rax rbx rcx rdx rbp r8 r9 r10 r11 r12 r13 r14 r15".split()
SHORT = dict(rax="eax", rbx="ebx", rcx="ecx", rdx="edx", rbp="ebp", **{f"r{i}": f"r{i}d" for i in range(8, 16)})

DRIVER = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct state {
	unsigned long r[16]; /* rsi, rdi: the middle of `memory`; rsp is kept */
	unsigned long flags, unused;
	unsigned char fx[512];
	unsigned char memory[512];
} __attribute__((aligned(64)));
void call_with(struct state *state, void (*function)(void));
extern void (*const functions[])(void);
extern const unsigned short *const offsets[];
static unsigned long seed;
static unsigned long draw(void)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return seed * 0x2545f4914f6cdd1dUL;
}
static void fill(struct state *state)
{
	unsigned int control = 0x1f80 | (draw() & 3) << 13, x87 = 0x37f | (draw() & 3) << 10 | (draw() & 1) << 8;
	for (int i = 0; i < 16; i++)
		state->r[i] = draw();
	state->flags = 0x202 | (draw() & 0x8d5);
	for (unsigned i = 0; i < sizeof(state->memory); i++)
		state->memory[i] = draw();
	memset(state->fx, 0, sizeof(state->fx));
	memcpy(state->fx, &x87, 2);
	memcpy(state->fx + 24, &control, 4);
	for (int i = 160; i < 416; i++)
		state->fx[i] = draw();
}
static void print(const char *name, const void *bytes, int size)
{
	printf("%s ", name);
	for (int i = 0; i < size; i++)
		printf("%02x", ((const unsigned char *)bytes)[i]);
	printf("\n");
}
int main(int argc, char **argv)
{
	static struct state state;
	if (argc == 1) {
		for (int i = 0; functions[i]; i++) {
			printf("%d", i);
			for (const unsigned short *each = offsets[i]; *each != 0xffff; each++)
				printf(" %d", *each);
			printf("\n");
		}
		return 0;
	}
	for (int i = 0; functions[i]; i++) {
		for (int j = 0; j < CALLS; j++) {
			seed = 1 + i * 1000003UL + j * 7919UL;
			draw(); draw(); draw();
			fill(&state);
			/* It begins with the alignment check set, with the direction flag set. */
			state.flags |= (offsets[i][-1] & 1 ? 0x40000 : 0) | (offsets[i][-1] & 2 ? 0x400 : 0);
			call_with(&state, functions[i]);
			printf("%d.%d\n", i, j);
			print("registers", state.r, sizeof(state.r));
			print("flags", &state.flags, 8);
			/* Not where the last x87 instruction was: that is another address in a copy. */
			memset(state.fx + 6, 0, 18);
			print("vectors", state.fx, 416);
			print("memory", state.memory, sizeof(state.memory));
		}
	}
	return 0;
}
__asm__(".text\n.p2align 4\n.globl call_with\n.type call_with,@function\ncall_with:\n"
" push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n push %rdi\n push %rsi\n sub $8,%rsp\n"
" fxrstor 144(%rdi)\n"
" mov 0(%rdi),%rax\n mov 8(%rdi),%rbx\n mov 16(%rdi),%rcx\n mov 24(%rdi),%rdx\n mov 48(%rdi),%rbp\n"
" mov 64(%rdi),%r8\n mov 72(%rdi),%r9\n mov 80(%rdi),%r10\n mov 88(%rdi),%r11\n mov 96(%rdi),%r12\n mov 104(%rdi),%r13\n"
" mov 112(%rdi),%r14\n mov 120(%rdi),%r15\n"
" push 128(%rdi)\n lea 784(%rdi),%rsi\n lea 912(%rdi),%rdi\n popf\n"
" call *8(%rsp)\n"
" pushf\n push %rdi\n mov 32(%rsp),%rdi\n mov %rax,0(%rdi)\n mov %rbx,8(%rdi)\n mov %rcx,16(%rdi)\n mov %rdx,24(%rdi)\n"
" mov %rbp,48(%rdi)\n mov %r8,64(%rdi)\n mov %r9,72(%rdi)\n mov %r10,80(%rdi)\n mov %r11,88(%rdi)\n mov %r12,96(%rdi)\n"
" mov %r13,104(%rdi)\n mov %r14,112(%rdi)\n mov %r15,120(%rdi)\n"
" mov 8(%rsp),%rax\n mov %rax,128(%rdi)\n sub %rdi,%rsi\n mov %rsi,32(%rdi)\n pop %rsi\n sub %rdi,%rsi\n mov %rsi,40(%rdi)\n"
" pushq $2\n popf\n fxsave 144(%rdi)\n fninit\n pushq $0x1f80\n ldmxcsr (%rsp)\n"
" add $32,%rsp\n pop %rdi\n pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n ret\n.size call_with,.-call_with\n"
".text\n.type helper,@function\nhelper:\n lea 1(%rax,%r8),%rax\n nop\n nop\n ret\n.size helper,.-helper\n"
".data\n.p2align 4\nvalues: .quad 0x3ff199999999999a, 0x400921fb54442d18, 0x123456789abcdef, -5\n");
"""


class Writer:
    def __init__(self, draw, number):
        self.draw, self.number, self.lines, self.sites = draw, number, [], 0
        self.begins = self.draw.random() < .3
        self.begins_down = self.draw.random() < .3
        self.down, self.aligned, self.check, self.red, self.labels = 0, True, self.begins, False, 0

    def put(self, *lines, probed=True):
        """Emits instructions. Each of them may have a probe, unless a jump skips it: then its hits are not the calls of the function."""
        for line in lines:
            if probed:
                self.lines.append(f".Li{self.number}_{self.sites}:")
                self.sites += 1
            self.lines.append(" " + line)

    def move(self, line, by):
        """Moves the stack pointer, described by the unwind data."""
        self.put(line)
        self.lines.append(f" .cfi_adjust_cfa_offset {by}")

    def register(self):
        return self.draw.choice(REGISTERS)

    def arithmetic(self):
        one, other = self.register(), self.register()
        number = self.draw.choice([1, 3, 100, 0x12345])
        self.put(self.draw.choice([
            f"add %{one},%{other}", f"adc %{one},%{other}", f"sbb %{one},%{other}", f"inc %{one}", f"dec %{SHORT[one]}",
            f"add ${number},%{one}", f"imul ${number},%{one},%{other}", f"rol $3,%{one}", f"shl $1,%{one}", f"neg %{one}",
            f"xchg %{one},%{other}", f"mov %{SHORT[one]},%{SHORT[other]}", f"cmp %{one},%{other}", f"setc %{self.draw.choice(['al', 'bl', 'cl', 'dl'])}",
            f"cmovo %{one},%{other}", f"lea 7(%{one},%{other},4),%{one}", "stc", "clc", "cmc", "sahf", "lahf", "cltq", "nop", "bswap %eax",
            f"movabs $0x1122334455667788,%{one}", f"mov values(%rip),%{one}", f"adc values+8(%rip),%{one}", "bt $1,%ecx",
            f"rcl $1,%{one}"]))

    def strings(self):
        """String instructions by the direction flag, in the middle of memory: a few bytes, then both registers are restored."""
        if self.check:
            self.put("lodsb", "stosb")
            return
        self.put(f"mov ${self.draw.randrange(1, 9)},%ecx", self.draw.choice(["rep movsb", "rep stosb", "rep movsb"]))
        self.put(self.draw.choice(["movsb", "stosb", "lodsb", "cmpsb", "scasb", "movsw" if not self.check else "movsb"]))

    def direction(self):
        self.put(self.draw.choice(["std", "std", "cld"]))

    def alignment(self):
        """Sets or clears the flag through the stack, which is aligned then."""
        if not self.aligned or self.red:
            return
        self.check = not self.check
        self.move("pushf", 8)
        self.put("orl $0x40000,(%rsp)" if self.check else "andl $~0x40000,(%rsp)")
        self.move("popf", -8)

    def stack(self):
        if self.red:
            return
        kind = self.draw.randrange(4)
        if kind == 0 and self.down < 400 and not self.check:
            by = self.draw.choice([1, 2, 3, 8, 13, 16, 40, 64])
            # The flags of the difference depend on an address, which differs between runs.
            self.move(f"lea -{by}(%rsp),%rsp" if self.draw.random() < .5 else f"sub ${by},%rsp", by)
            self.put("test %ecx,%edx")
            self.down += by
        elif kind == 1 and self.down and not self.check:
            self.move(f"lea {self.down}(%rsp),%rsp", -self.down)
            self.down = 0
        elif kind == 2:
            one, other = self.register(), self.register()
            self.move(f"push %{one}", 8)
            self.move(f"pop %{other}", -8)
        elif self.down >= 8:
            self.put(f"mov %{self.register()},(%rsp)" if self.down % 8 == 0 or not self.check else "nop")
        self.aligned = self.down % 8 == 0

    def red_zone(self):
        if self.check and not self.aligned:
            return
        at = self.draw.choice([8, 16, 64, 120, 128])
        one, other = self.register(), self.register()
        self.put(f"mov %{one},-{at}(%rsp)")
        self.red = True
        for _ in range(self.draw.randrange(3)):
            self.draw.choice([self.arithmetic, self.direction, self.vectors])()
        self.put(f"mov -{at}(%rsp),%{other}")
        self.red = False

    def vectors(self):
        one, other = self.draw.randrange(16), self.draw.randrange(16)
        self.put(self.draw.choice([
            f"addsd %xmm{one},%xmm{other}", f"paddq %xmm{one},%xmm{other}", f"pxor %xmm{one},%xmm{other}", f"movaps %xmm{one},%xmm{other}",
            f"cvtsi2sd %{self.register()},%xmm{one}", f"movq %xmm{one},%{self.register()}", f"divsd %xmm{one},%xmm{other}",
            f"movsd values(%rip),%xmm{one}", f"cvtsd2si %xmm{one},%eax"]))

    def x87(self):
        self.put(*self.draw.choice([
            ["fldpi", "fsqrt", "fstp %st(0)"], ["fldl values(%rip)", "fld1", "fdivp", "frndint", "fstp %st(0)"],
            ["fnclex"], ["fld1", "fchs", "ffree %st(0)", "fincstp"], ["fstcw values+16(%rip)", "fldcw values+16(%rip)"]]))

    def jump(self):
        """Short forward jumps, whose targets leave little space for a probe's jump."""
        label = f".Lj{self.number}_{self.labels}"
        self.labels += 1
        self.put(self.draw.choice(["jc", "jo", "js", "jz", "jmp", "jp", "jrcxz"]) + " " + label)
        if self.draw.random() < .7:
            self.put("nop" if self.draw.random() < .5 else "xchg %al,%ah", probed=False)
        self.lines.append(label + ":")

    def call(self):
        if self.red or (self.check and not self.aligned):
            return
        self.put("call helper")

    def function(self):
        name = f"state_{self.number}"
        kinds = [self.arithmetic] * 6 + [self.strings] * 3 + [self.direction] * 2 + [self.alignment, self.stack, self.stack, self.red_zone,
                                                                            self.vectors, self.x87, self.jump, self.jump, self.call]
        for _ in range(self.draw.randrange(4, 30)):
            self.draw.choice(kinds)()
        self.put("std" if self.draw.random() < .3 else "cld")
        if self.down:
            self.move(f"lea {self.down}(%rsp),%rsp", -self.down)
            self.down, self.aligned = 0, True
        if self.check and self.draw.random() < .5:
            self.alignment()
        self.put("ret")
        offsets = "".join(f" .short .Li{self.number}_{i}-{name}\n" for i in range(self.sites))
        return (f".text\n.p2align {self.draw.choice([0, 4, 4])}\n.type {name},@function\n{name}:\n.cfi_startproc\n" + "\n".join(self.lines)
                + f"\n.cfi_endproc\n.size {name},.-{name}\n.section .rodata\n.p2align 1\n .short {self.begins + 2 * self.begins_down}\n.Lo{self.number}:\n{offsets} .short 0xffff\n")


def build(draw, directory):
    text = "".join(Writer(draw, i).function() for i in range(FUNCTIONS))
    text += ".section .data.rel.ro,\"aw\"\n.p2align 3\n.globl functions, offsets\nfunctions:\n"
    text += "".join(f" .quad state_{i}\n" for i in range(FUNCTIONS)) + " .quad 0\noffsets:\n"
    text += "".join(f" .quad .Lo{i}\n" for i in range(FUNCTIONS)) + ".text\n"
    with open(f"{directory}/program.c", "w", encoding="ascii") as file:
        file.write(DRIVER + "__asm__(" + "\n".join('"' + line.replace("\\", "\\\\").replace('"', '\\"') + '\\n"' for line in text.split("\n"))
                   + ");\n")
    subprocess.run(["gcc", "-w", "-O1", f"-DCALLS={CALLS}", "-o", f"{directory}/program", f"{directory}/program.c"], check=True)


def run(*command, cwd):
    done = subprocess.run(command, cwd=cwd, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def counts(directory):
    """The numbers of events of starts or instructions, and of returns."""
    status, out, err = run(SIDE, "view", "--flat", "--color=never", "trace", cwd=directory)
    assert not status, err
    names = re.findall(r"^\[[^\]]*\] .*? \S*:(\S+): ", out, re.M)
    returns = sum(name.endswith("_return") for name in names)
    return len(names) - returns, returns


def probe(directory, plain, options, expected, what):
    subprocess.run(["rm", "-rf", f"{directory}/trace"], check=True)
    status, out, err = run(SIDE, "-q", "trace", "-o", "trace", *options, "-c", "./program run", cwd=directory)
    assert status == 0, f"{what}: {options}: status {status}: {err}"
    if out != plain:
        wrong = [(a, b) for a, b in zip(plain.split("\n"), out.split("\n")) if a != b]
        raise AssertionError(f"{what}: {options}: {wrong[:3]}")
    seen, returns = counts(directory)
    assert seen == expected, f"{what}: {options}: {seen} events instead of {expected}"
    # Functions that store below their return address have no returns.
    assert returns > expected / 4 if "--exit" in options else not returns, f"{what}: {returns} returns of {expected}"


def one(seed):
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as directory:
        build(draw, directory)
        _, listed, _ = run("./program", cwd=directory)
        sites = {int(line.split()[0]): [int(each) for each in line.split()[1:]] for line in listed.splitlines()}
        status, plain, err = run("./program", "run", cwd=directory)
        assert not status and plain.count("memory") == FUNCTIONS * CALLS, f"seed {seed}: without probes: {status} {err}"
        if os.environ.get("SIDE_TEST_KEEP"):
            subprocess.run(["cp", "-r", directory, os.environ["SIDE_TEST_KEEP"]], check=True)
        for turn in range(ROUNDS):
            chosen = [(number, draw.choice(locations)) for number, locations in sites.items()]
            options = [word for number, location in chosen for word in ("--probe", f"state_{number}+{location:#x}" if location else f"state_{number}")]
            if turn % 3 == 2:
                # With breakpoints, as in functions without space for a jump.
                options = [word for i, word in enumerate(options) if i < FUNCTIONS] + ["--no-uprobe"]
            probe(directory, plain, options, options.count("--probe") * CALLS, f"seed {seed}, probes inside")
        everything = ["--function", "state_*"]
        probe(directory, plain, everything, FUNCTIONS * CALLS, f"seed {seed}, at the begin")
        probe(directory, plain, everything + ["--exit"], FUNCTIONS * CALLS, f"seed {seed}, begin and end")
    print(f"seed {seed}: {sum(map(len, sites.values()))} instructions, {ROUNDS * FUNCTIONS} of them with a probe: the same as without probes")


def main():
    first = int(sys.argv[1]) if len(sys.argv) > 1 else 18
    for seed in range(first, first + PROGRAMS):
        one(seed)


main()
