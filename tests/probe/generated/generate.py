# SPDX-License-Identifier: MIT
"""Random programs in C and C++ for test-generated.py: functions of many forms that call each other, the same for the same number.

Compiled with -finstrument-functions and -DCOUNTED, a program counts the entries and returns of its functions (counts.c). All
names of functions begin with `gen_`.
"""
import random

FUNCTIONS = 14
CALLS_MAX = 60  # of the generated functions by one of them, so that traces stay small

HEAD = r"""
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#define FN __attribute__((noinline))
// Neither compiler merges or removes calls of a function with it, and it has no bytes.
#define KEEP __asm__ volatile("" ::: "memory")
typedef uint64_t u64;
#ifdef __cplusplus
#define FROM_ASSEMBLY extern "C"
#else
#define FROM_ASSEMBLY extern
#endif
#ifdef COUNTED
FROM_ASSEMBLY void count_call(void *function);
#define CALLED(function) count_call((void *)(function))
#else
#define CALLED(function) ((void)0)
#endif
"""
CPLUSPLUS_HEAD = r"""
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>
"""
# Functions of few bytes: the instructions, and what the function returns for x (None: it returns nothing).
SMALL = {
    1: ("ret", None),
    2: ("rep ret", None),
    3: ("xor %eax, %eax\n\tret", "0"),
    4: ("lea (%rdi,%rdi), %eax\n\tret", "(uint32_t)(x + x)"),
    5: ("lea 1(%rdi), %rax\n\tret", "x + 1"),
    6: ("mov $77, %eax\n\tret", "77"),
    7: ("mov %rdi, %rax\n\tnot %rax\n\tret", "~x"),
    8: ("mov $-5, %rax\n\tret", "-5"),
    9: ("push %rdi\n\t.cfi_adjust_cfa_offset 8\n\tpop %rax\n\t.cfi_adjust_cfa_offset -8\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\tnop\n\tret", "x"),
}


class Generated:
    """One program; its forms are the methods below that `forms` names."""

    def __init__(self, number, is_cplusplus, compiler):
        self.chance = random.Random(number)
        self.number, self.is_cplusplus, self.compiler = number, is_cplusplus, compiler
        self.cost, self.assembly, self.texts = [], [], []
        # Names of functions whose loops jump to their first instruction: each time counts.
        self.repeated = set()

    def name(self, index=None):
        return f"gen_{self.number}_{len(self.cost) if index is None else index}"

    def own(self, suffix):
        return f"{self.name()}_{suffix}"

    def callee(self):
        """A function before this one that makes few calls, and an expression that calls it."""
        allowed = [i for i, cost in enumerate(self.cost) if cost + self.spent < CALLS_MAX]
        if not allowed:
            return None
        index = self.chance.choice(allowed)
        self.spent += self.cost[index]
        return self.name(index)

    def call(self, argument="x"):
        function = self.callee()
        number = self.chance.randrange(1, 99, 2)
        return f"{function}({argument} * {number} + {self.chance.randrange(100)})" if function else f"({argument} * {number})"

    def plain(self):
        return f"FN u64 {self.name()}(u64 x) {{ KEEP; u64 sum = {self.call()}; return sum + {self.call('sum')}; }}"

    def static(self):
        return f"static {self.plain()}"

    def tail(self):
        return f"FN u64 {self.name()}(u64 x) {{ KEEP; return {self.call()}; }}"

    def tails(self):
        return (f"FN u64 {self.name()}(u64 x) {{ KEEP; if (x % 3 == 1) return {self.call()};"
                f" if (x % 3) return {self.call()}; return x; }}")

    def tail_by_pointer(self):
        names = [self.callee() for _ in range(3)]
        if None in names:
            return self.plain()
        return (f"FN u64 {self.name()}(u64 x) {{ static u64 (*const volatile table[])(u64) = {{{', '.join(names)}}};"
                " KEEP; return table[x % 3](x + 1); }")

    def recursion(self):
        self.spent += 40
        own = self.own("deep")
        return (f"static FN u64 {own}(u64 n) {{ KEEP; u64 sum = n; if (n > 1) sum = {own}(n - 1) + {own}(n - 2); KEEP; return sum; }}\n"
                f"FN u64 {self.name()}(u64 x) {{ return {own}(x % 6); }}")

    def mutual_recursion(self):
        self.spent += 12
        even, odd = self.own("even"), self.own("odd")
        return (f"FN u64 {odd}(u64 n, u64 sum);\n"
                f"FN u64 {even}(u64 n, u64 sum) {{ KEEP; return n ? {odd}(n - 1, sum * 3) : sum; }}\n"
                f"FN u64 {odd}(u64 n, u64 sum) {{ KEEP; return n ? {even}(n - 1, sum + 1) : sum + 7; }}\n"
                f"FN u64 {self.name()}(u64 x) {{ return {even}(x % 10, x); }}")

    def longjmp(self):
        self.spent += 3
        buffer, thrower, middle = self.own("buffer"), self.own("thrower"), self.own("middle")
        return (f"static __thread jmp_buf {buffer};\n"
                f"FN u64 {thrower}(u64 x) {{ KEEP; if (x & 1) longjmp({buffer}, 1); return x; }}\n"
                f"FN u64 {middle}(u64 x) {{ KEEP; u64 y = {thrower}(x); KEEP; return y + 1; }}\n"
                f"FN u64 {self.name()}(u64 x) {{ if (setjmp({buffer})) return 5; return {middle}(x); }}")

    def switch(self):
        cases = " ".join(f"case {i}: {'x += ' + self.call() if i % 4 == 0 else f'x ^= {i * 77}'}; KEEP; break;" for i in range(12))
        return f"FN u64 {self.name()}(u64 x) {{ KEEP; switch (x % 13) {{ {cases} default: x++; }} return x; }}"

    def computed_goto(self):
        return (f"FN u64 {self.name()}(u64 x) {{ static void *const labels[] = {{&&a, &&b, &&c}}; int n = 0; KEEP; goto *labels[x % 3];\n"
                "a: x += 3; b: x *= 5; if (++n < 4) goto *labels[x % 3]; c: return x; }")

    def varargs(self):
        self.spent += 1
        own = self.own("sum")
        return (f"FN u64 {own}(int n, ...) {{ va_list list; va_start(list, n); u64 sum = 0;"
                " for (int i = 0; i < n; i++) sum += i % 2 ? (u64)va_arg(list, double) : va_arg(list, u64);"
                " va_end(list); return sum; }\n"
                f"FN u64 {self.name()}(u64 x) {{ KEEP; return {own}(9, x, 2.5, x + 1, 1e3, x * 2, 7.0, x, 0.0, x) + {self.call()}; }}")

    def structures(self):
        self.spent += 4
        pair, mixed, large, empty = (self.own(name) for name in ("pair", "mixed", "large", "floats"))
        return (f"struct {pair} {{ u64 a, b; }}; struct {mixed} {{ double a; u64 b; }}; struct {large} {{ u64 all[8]; }};"
                f" struct {empty} {{ float a, b, c; }};\n"
                f"FN struct {pair} {pair}_of(u64 x) {{ KEEP; struct {pair} all = {{x, x * 3}}; return all; }}\n"
                f"FN struct {mixed} {mixed}_of(u64 x) {{ KEEP; struct {mixed} all = {{(double)(x % 1000), x}}; return all; }}\n"
                f"FN struct {empty} {empty}_of(u64 x) {{ KEEP; struct {empty} all = {{1, (float)(x % 9), 3}}; return all; }}\n"
                f"FN struct {large} {large}_of(u64 x) {{ KEEP; struct {large} all; for (int i = 0; i < 8; i++) all.all[i] = x + i; return all; }}\n"
                f"FN u64 {self.name()}(u64 x) {{ struct {mixed} m = {mixed}_of(x); struct {empty} e = {empty}_of(x);"
                f" return {pair}_of(x).b + (u64)m.a + m.b + {large}_of(x).all[x % 8] + (u64)(e.a + e.b + e.c); }}")

    def floats(self):
        self.spent += 3
        many, extended, vector = (self.own(name) for name in ("many", "extended", "vector"))
        return (f"FN double {many}(double a, int b, double c, float d, long e, double f, int g, double h, double i, int j, double k, int l, int m, double n)\n"
                "{ KEEP; return a + b * 2 + c * 3 + d * 5 + e * 7 + f * 11 + g * 13 + h * 17 + i * 19 + j * 23 + k * 29 + l * 31 + m * 37 + n * 41; }\n"
                f"FN long double {extended}(long double a, unsigned __int128 b) {{ KEEP; return a * 3 + (u64)(b >> 64) + (u64)b % 7; }}\n"
                f"typedef float {vector}_type __attribute__((vector_size(16)));\n"
                f"FN {vector}_type {vector}({vector}_type a, {vector}_type b) {{ KEEP; return a * b + a; }}\n"
                f"FN u64 {self.name()}(u64 x) {{ int n = x % 100; {vector}_type a = {{1, 2, 3, 4}}, b = {{5, 6, 7, (float)n}}; a = {vector}(a, b);\n"
                f" return (u64){many}(n, 1, 2, 3, 4, 5, 6, n, 8, 9, 10, 11, 12, 13) + (u64){extended}(n, (unsigned __int128)x << 60)"
                " + (u64)(a[0] + a[1] + a[2] + a[3]); }")

    def tiny(self):
        self.spent += 4
        empty, same, one, put = (self.own(name) for name in ("empty", "same", "one", "put"))
        return (f"FN void {empty}(void) {{ KEEP; }}\nFN u64 {same}(u64 x) {{ KEEP; return x; }}\nFN int {one}(void) {{ KEEP; return 1; }}\n"
                f"FN void {put}(u64 *to) {{ KEEP; *to = 3; }}\n"
                f"FN u64 {self.name()}(u64 x) {{ u64 y; {empty}(); {put}(&y); return {same}(x) + {one}() + y; }}")

    def small(self):
        """Functions of 1 to 9 bytes, one directly behind the other."""
        text, calls = "", ""
        sizes = [self.chance.choice(list(SMALL)) for _ in range(self.chance.randint(1, 5))]
        self.spent += len(sizes)
        for order, size in enumerate(sizes):
            name = self.own(f"small{order}_{size}")
            code, value = SMALL[size]
            self.assembly.append((name, code))
            text += f"FROM_ASSEMBLY {'u64' if value else 'void'} {name}(u64 x);\n"
            calls += f" CALLED({name}); {'sum += ' if value else ''}{name}(x);"
        return f"{text}FN u64 {self.name()}(u64 x) {{ u64 sum = 0;{calls} return sum; }}"

    def loop(self):
        """The loop jumps to the first instruction."""
        self.spent += 8
        again, compiled = self.own("again"), self.own("loop")
        self.assembly.append((again, "dec %edi\n\tjg " + again + "\n\tmov %edi, %eax\n\tret"))
        self.repeated |= {again, compiled}
        return (f"FROM_ASSEMBLY u64 {again}(u64 x);\n"
                f"FN u64 {compiled}(u64 n) {{ do KEEP; while (--n); return 7; }}\n"
                f"FN u64 {self.name()}(u64 x) {{ CALLED({again}); return {again}(x % 4) + {compiled}(1 + x % 3); }}")

    def stack(self):
        return (f"FN u64 {self.name()}(u64 x) {{ char *all = (char *)alloca(16 + x % 999); _Alignas(64) char more[64];"
                " memset(all, (int)x, 16 + x % 999); memset(more, 3, 64); KEEP;"
                f" return {self.call('(u64)all[3] + more[x % 64]')}; }}".replace("_Alignas(64)", "__attribute__((aligned(64)))"))

    def large_frame(self):
        return (f"FN u64 {self.name()}(u64 x) {{ volatile char all[9000]; all[x % 9000] = 1; all[8999] = 3; KEEP;"
                f" return all[x % 9000] + {self.call()}; }}")

    def foreign_abi(self):
        self.spent += 1
        own = self.own("ms")
        return (f"__attribute__((ms_abi)) FN u64 {own}(u64 a, u64 b, u64 c, u64 d, u64 e, double f) {{ KEEP; return a - b + c * d + e + (u64)f; }}\n"
                f"FN u64 {self.name()}(u64 x) {{ return {own}(x, 1, 2, x, 5, 6.5) + {self.call()}; }}")

    def callback(self):
        self.spent += 12
        own = self.own("order")
        return (f"static FN int {own}(const void *a, const void *b) {{ KEEP; return *(const int *)a - *(const int *)b; }}\n"
                f"FN u64 {self.name()}(u64 x) {{ int all[] = {{(int)(x % 7), 5, 2, 9, 1, 8}}; qsort(all, 6, sizeof(all[0]), {own});"
                " return (u64)all[2] * 10 + all[3]; }")

    def handler(self):
        self.spent += 2
        own, seen = self.own("handler"), self.own("seen")
        return (f"static volatile sig_atomic_t {seen};\nstatic FN void {own}(int number) {{ {seen} = {seen} + number; }}\n"
                f"FN u64 {self.name()}(u64 x) {{ signal(SIGUSR1, {own}); raise(SIGUSR1); return x + (u64){seen}; }}")

    def threads(self):
        own, inner, callee = self.own("thread"), self.own("inner"), self.call()
        self.spent = self.spent * 2 + 4
        # Exceptions pass functions that end a thread in C++ only.
        end = "" if self.is_cplusplus else f"if (x % 3 == 0) {inner}(x);"
        return (f"FN void {inner}(u64 x) {{ KEEP; if (x) pthread_exit((void *)7); pthread_exit((void *)8); }}\n"
                f"static FN void *{own}(void *data) {{ u64 x = (u64)data; {end} return (void *)({callee}); }}\n"
                f"FN u64 {self.name()}(u64 x) {{ pthread_t both[2]; void *all[2];\n"
                f" for (int i = 0; i < 2; i++) if (pthread_create(&both[i], NULL, {own}, (void *)(x + i))) abort();\n"
                " for (int i = 0; i < 2; i++) pthread_join(both[i], &all[i]);\n"
                " return (u64)all[0] * 3 + (u64)all[1]; }")

    def contexts(self):
        """Functions that run on another stack."""
        self.spent += 2
        own = self.own("other")
        return (f"static __thread ucontext_t {own}_a, {own}_b; static __thread u64 {own}_x;\n"
                f"static FN void {own}(void) {{ {own}_x += {self.call(own + '_x')}; swapcontext(&{own}_b, &{own}_a); {own}_x *= 3; }}\n"
                f"FN u64 {self.name()}(u64 x) {{ char *stack = (char *)malloc(1 << 18); {own}_x = x; getcontext(&{own}_b);\n"
                f" {own}_b.uc_stack.ss_sp = stack; {own}_b.uc_stack.ss_size = 1 << 18; {own}_b.uc_link = &{own}_a;\n"
                f" makecontext(&{own}_b, {own}, 0); swapcontext(&{own}_a, &{own}_b); swapcontext(&{own}_a, &{own}_b); free(stack); return {own}_x; }}")

    def own_return(self):
        """A function that reads its return address and its frame."""
        return (f"FN u64 {self.name()}(u64 x) {{ KEEP; u64 y = {self.call()};"
                " return y + (__builtin_return_address(0) != NULL) + (__builtin_frame_address(0) != NULL); }")

    def at_start_and_end(self):
        start, end, last = self.own("start"), self.own("end"), self.own("last")
        return (f"static u64 {start}_seen;\nstatic FN void {last}(void) {{ KEEP; }}\n"
                f"__attribute__((constructor)) static FN void {start}(void) {{ {start}_seen = 5; atexit({last}); }}\n"
                f"__attribute__((destructor)) static FN void {end}(void) {{ {start}_seen = 6; }}\n"
                f"FN u64 {self.name()}(u64 x) {{ KEEP; return x + {start}_seen; }}")

    def aliases(self):
        self.spent += 2
        own, weak = self.own("real"), self.own("weak")
        language = 'extern "C" ' if self.is_cplusplus else ""
        return (f"{language}FN u64 {own}(u64 x) {{ KEEP; return x + 2; }}\n"
                f"{language}u64 {own}_alias(u64 x) __attribute__((alias(\"{own}\")));\n"
                f"__attribute__((weak)) FN u64 {weak}(u64 x) {{ KEEP; return x + 3; }}\n"
                f"FN u64 {self.name()}(u64 x) {{ return {own}(x) + {own}_alias(x) + {weak}(x); }}")

    def chosen_at_load(self):
        """IFUNC; the function that chooses runs before any code of the program."""
        self.spent += 1
        own = self.own("chosen")
        language = 'extern "C" ' if self.is_cplusplus else ""
        static = "" if self.is_cplusplus else "static "
        return (f"{language}FN u64 {own}_one(u64 x) {{ KEEP; return x + 11; }}\n{language}FN u64 {own}_two(u64 x) {{ KEEP; return x + 22; }}\n"
                f"{language}__attribute__((no_instrument_function, used)) {static}void *{own}_choose(void)"
                f" {{ return (void *){own}_{self.chance.choice(('one', 'two'))}; }}\n"
                f"{language}u64 {own}(u64 x) __attribute__((ifunc(\"{own}_choose\")));\n"
                f"FN u64 {self.name()}(u64 x) {{ return {own}(x) + {self.call()}; }}")

    def cold(self):
        self.spent += 1
        own = self.own("seldom")
        return (f"__attribute__((cold)) FN void {own}(u64 x) {{ KEEP; if (x == 12345) abort(); }}\n"
                f"FN u64 {self.name()}(u64 x) {{ if (__builtin_expect(x % 16 == 0, 0)) {{ {own}(x); x += 99; }} KEEP; return {self.call()}; }}")

    def without_end(self):
        """A function whose last instruction is a call that does not return; others follow it directly."""
        own = self.own("ends")
        return (f"__attribute__((noreturn)) FN void {own}(u64 x) {{ KEEP; if (x) abort(); exit(3); }}\n"
                f"FN u64 {self.name()}(u64 x) {{ KEEP; if (x == 987654321) {own}(x); return x ^ 5; }}")

    def copied(self):
        """Compilers make a copy for the constant."""
        self.spent += 2
        own = self.own("copied")
        return (f"static FN u64 {own}(u64 x, int how, const int *unused) {{ (void)unused; KEEP; for (int i = 0; i < how; i++) x = x * 3 + how; return x; }}\n"
                f"FN u64 {self.name()}(u64 x) {{ int n = 3; return {own}(x, 4, &n) + {own}(x + 1, 4, &n); }}")

    def deep(self):
        own = self.own("down")
        self.spent += CALLS_MAX
        return (f"static FN u64 {own}(u64 n) {{ KEEP; u64 y = n ? {own}(n - 1) : 1; KEEP; return y + n; }}\n"
                f"FN u64 {self.name()}(u64 x) {{ return {own}(300 + x % 8); }}")

    def throws(self):
        self.spent += 3
        thrower, middle, guard = self.own("thrower"), self.own("middle"), self.own("guard")
        what = self.chance.choice(("int(x)", 'std::runtime_error("no")', "std::string(30, 'x')"))
        return (f"FN u64 {thrower}(u64 x) {{ KEEP; if (x % {self.chance.randint(2, 4)} == 0) throw {what}; return x; }}\n"
                f"struct {guard} {{ u64 &sum; FN ~{guard}() {{ KEEP; sum += 3; }} }};\n"
                f"FN u64 {middle}(u64 x) {{ u64 sum = x; {guard} all{{sum}}; sum += {thrower}(x); KEEP; return sum + {thrower}(x + 1); }}\n"
                f"FN u64 {self.name()}(u64 x) {{ try {{ return {middle}(x); }} catch (const std::exception &) {{ return 5; }} catch (...) {{ return 6; }} }}")

    def rethrows(self):
        self.spent += 3
        thrower, middle = self.own("thrower"), self.own("middle")
        return (f"FN u64 {thrower}(u64 x) {{ KEEP; if (x & 1) throw x; return x; }}\n"
                f"FN u64 {middle}(u64 x) {{ try {{ return {thrower}(x); }} catch (u64 y) {{ if (y % 3 == 0) throw; return y; }} }}\n"
                f"FN u64 {self.name()}(u64 x) {{ try {{ return {middle}(x) + 1; }} catch (u64) {{ return {self.call()}; }} }}")

    def virtuals(self):
        self.spent += 4
        own = self.own("base")
        return (f"struct {own} {{ u64 n = 1; virtual FN ~{own}() {{ KEEP; }} virtual FN u64 act(u64 x) {{ KEEP; return x + n; }} }};\n"
                f"struct {own}_other {{ u64 m = 2; virtual FN ~{own}_other() {{ KEEP; }} virtual FN u64 more(u64 x) {{ KEEP; return x * m; }} }};\n"
                f"struct {own}_both : {own}, {own}_other {{ FN {own}_both() {{ KEEP; }} FN ~{own}_both() {{ KEEP; }} FN u64 act(u64 x) override {{ KEEP; return x + 5; }}"
                " FN u64 more(u64 x) override { KEEP; return x * 7 + m; } };\n"
                f"FN u64 {self.name()}(u64 x) {{ {own} *first = x & 1 ? new {own}_both : new {own}; {own}_both both; {own}_other *other = &both;\n"
                " KEEP; u64 sum = first->act(x) + other->more(x); delete first; return sum; }")

    def templates(self):
        self.spent += 3
        own = self.own("twice")
        return (f"template<typename T, int n> FN T {own}(T x) {{ KEEP; return x * n; }}\n"
                f"FN u64 {self.name()}(u64 x) {{ std::function<u64(u64)> call = {own}<u64, 3>; return call(x) + {own}<int, 2>(int(x % 99))"
                f" + u64({own}<double, 5>(double(x % 99))); }}")

    def lambdas(self):
        self.spent += 1
        return (f"FN u64 {self.name()}(u64 x) {{ auto own = [=](u64 y) __attribute__((noinline)) {{ KEEP; return x + y; }};"
                f" return own(3) + {self.call()}; }}")

    def must_tail(self):
        """Clang makes it a tail call without optimization, too."""
        callee = self.callee()
        if not callee or self.compiler != "clang":
            return self.plain()
        return (f"#ifdef COUNTED\n#define MUST\n#else\n#define MUST __attribute__((musttail))\n#endif\n"
                f"FN u64 {self.name()}(u64 x) {{ KEEP; MUST return {callee}(x + 9); }}\n#undef MUST")

    def all_registers(self):
        """A function that leaves most registers as they were."""
        self.spent += 1
        own = self.own("keeps")
        return (f"#if defined(__clang__) && defined(__has_attribute)\n__attribute__((preserve_most))\n#endif\n"
                f"FN void {own}(u64 *x) {{ KEEP; *x += 8; }}\n"
                f"FN u64 {self.name()}(u64 x) {{ u64 a = x * 3, b = x * 5, c = x * 7; {own}(&x); {own}(&x); return a + b * 2 + c * 3 + x; }}")

    def nested(self):
        """GCC calls it through code on the stack."""
        if self.is_cplusplus or self.compiler != "gcc":
            return self.plain()
        self.spent += 6
        own = self.own("nested")
        return (f"static FN int {own}_each(int (*call)(int)) {{ KEEP; return call(1) + call(2); }}\n"
                f"FN u64 {self.name()}(u64 x) {{ int n = x % 50; FN int {own}(int y) {{ KEEP; return y + n; }} return (u64){own}_each({own}); }}")

    FORMS = (plain, static, tail, tails, tail_by_pointer, recursion, mutual_recursion, longjmp, switch, computed_goto, varargs, structures,
             floats, tiny, small, loop, stack, large_frame, foreign_abi, callback, handler, threads, contexts, own_return,
             at_start_and_end, aliases, chosen_at_load, cold, without_end, copied, deep, must_tail, all_registers, nested)
    CPLUSPLUS_FORMS = (throws, rethrows, virtuals, templates, lambdas)

    def source(self):
        """The text of the program."""
        forms = list(self.FORMS) + list(self.CPLUSPLUS_FORMS) * 3 * self.is_cplusplus
        # The first functions cannot call others.
        chosen = [self.chance.choice((Generated.tiny, Generated.small, Generated.structures)) for _ in range(2)]
        chosen += self.chance.sample(forms, FUNCTIONS - 2)
        for form in chosen:
            self.spent = 1
            self.texts.append(form(self))
            self.cost.append(self.spent)
        blocks = "".join(f'__asm__(".text\\n\\t.globl {name}\\n\\t.type {name},@function\\n{name}:\\n\\t.cfi_startproc\\n\\t"\n'
                         + "".join(f'"{line.strip()}\\n\\t"\n' for line in code.splitlines())
                         + f'".cfi_endproc\\n\\t.size {name},.-{name}\\n");\n' for name, code in self.assembly)
        calls = "".join(f"\t\tsum = sum * 31 + {self.name(i)}(x * {i + 3});\n" for i in range(FUNCTIONS))
        return (HEAD + CPLUSPLUS_HEAD * self.is_cplusplus + "\n".join(self.texts) + "\n" + blocks
                + f"int main(void)\n{{\n\tu64 sum = 1;\n\tfor (u64 x = 1; x < 6; x++) {{\n{calls}\t}}\n"
                '\tprintf("%llu\\n", (unsigned long long)sum);\n\treturn (int)(sum % 64);\n}\n')
