# SPDX-License-Identifier: MIT
"""Random C++ programs for test-exceptions.py: call graphs with tail calls, exceptions, longjmp(), ends of threads and coroutines.

A file has several programs, each a graph of functions that call functions before them. It prints how often each function was called
and has returned, and a sum over all values and the order of destructors. Half of the calls name their callee; the other half choose it by a number
that the file is started with. So one file has another set of call graphs for each number.
"""
import random

FUNCTIONS = 12
RUNS = 5


class Program:
    def __init__(self, number, chance):
        self.number, self.chance = number, chance
        self.functions = []
        self.sites = 0
        # Functions that longjmp() may leave: without destructors and handlers.
        self.plain = []

    def name(self, index):
        return f"f_{self.number}_{index}"

    def index(self, index):
        return self.number * FUNCTIONS + index

    def a_callee(self, among=None):
        """A function, or an expression that chooses one of those at run time."""
        if self.chance.random() < 0.5:
            return self.name(self.chance.choice(among if among is not None else range(len(self.functions))))
        self.sites += 1
        table, size = ("plain", len(self.plain)) if among is not None else ("all", len(self.functions))
        return f"{table}_{self.number}[chosen({self.number * 64 + self.sites}, {size})]"

    def tables(self):
        """The tables of functions that can be chosen; in a program each function chooses among earlier ones."""
        return "".join(f"extern functions {name}_{self.number};\n" for name in ("all", "plain"))

    def filled_tables(self):
        def names(which):
            return ", ".join(self.name(i) for i in which)
        return (f"functions all_{self.number} = {{{names(self.functions)}}};\n"
                f"functions plain_{self.number} = {{{names(self.plain)}}};\n")

    def condition(self):
        modulus = self.chance.randint(2, 7)
        return f"x % {modulus} == {self.chance.randrange(modulus)}"

    def argument(self):
        return f"x * {self.chance.randrange(3, 99, 2)} + {self.chance.randrange(100)}"

    # ---- forms of functions: the lines between the braces ----

    def throws(self, which):
        what = self.chance.choice(("oops{x}", "std::runtime_error(text_of(x % 40))", "std::logic_error(\"logic\")", "x"))
        what = "oops{x + 1}" if what == "x" else what
        return [f"BEGIN({which}, x);", f"if ({self.condition()})", f"\tthrow {what};", f"END({which}, x + 1);"]

    def tail(self, which):
        return [f"BEGIN_TAIL({which}, x);", f"return {self.a_callee()}({self.argument()});"]

    def tails(self, which):
        return [f"BEGIN_TAIL({which}, x);", f"if ({self.condition()})", f"\treturn {self.a_callee()}({self.argument()});",
                f"return {self.a_callee()}({self.argument()});"]

    def tail_by_pointer(self, which):
        table = ", ".join(self.a_callee() for _ in range(3))
        return [f"BEGIN_TAIL({which}, x);", f"static uint64_t (*const volatile table[])(uint64_t) = {{{table}}};",
                f"return table[x % 3]({self.argument()});"]

    def tail_virtual(self, which):
        return [f"BEGIN_TAIL({which}, x);", f"return objects_{self.number}[x % 2]->act({self.argument()});"]

    def tail_std_function(self, which):
        return [f"BEGIN({which}, x);", f"static std::function<uint64_t(uint64_t)> call = {self.a_callee()};",
                f"x += CALL(call({self.argument()}));", f"END({which}, x);"]

    def calls(self, which):
        return [f"BEGIN({which}, x);", *(f"x += CALL({self.a_callee()}({self.argument()}));" for _ in range(self.chance.randint(1, 3))),
                f"END({which}, x);"]

    def cleans_up(self, which):
        return [f"BEGIN({which}, x);", f"cleanup one = {{x}};", f"x += CALL({self.a_callee()}({self.argument()}));",
                "{", "\tcleanup two = {x};", f"\tx ^= CALL({self.a_callee()}({self.argument()}));", "}", f"END({which}, x);"]

    def catches(self, which):
        handler = self.chance.choice(("", "", "throw;", "throw oops{x + 2};", "throw std::out_of_range(\"range\");"))
        lines = [f"BEGIN({which}, x);", "try {", f"\tx += CALL({self.a_callee()}({self.argument()}));", "} catch (oops &o) {", "\tx += o.code;"]
        if handler:
            lines += [f"\tif ({self.condition()})", f"\t\t{handler}"]
        lines += ["}"]
        if self.chance.random() < 0.7:
            lines[-1] = "} catch (std::exception &e) {"
            lines += ["\tx += length_of(e);", f"\tx += CALL({self.quiet()}(x));", "}"]
        return lines + [f"END({which}, x);"]

    def catches_all(self, which):
        return [f"BEGIN({which}, x);", "std::exception_ptr kept;", "try {", "\tswallow here;", f"\tx += CALL({self.a_callee()}({self.argument()}));",
                "} catch (...) {", "\tkept = std::current_exception();", "}", f"if (kept && {self.condition()})",
                "\tstd::rethrow_exception(kept);", f"END({which}, x);"]

    def no_throw(self, which):
        return [f"BEGIN({which}, x);", "x += [&]() noexcept -> uint64_t {", "\tswallow here;", "\ttry {", f"\t\treturn CALL({self.a_callee()}({self.argument()}));",
                "\t} catch (oops &o) {", "\t\treturn o.code;", "\t} catch (...) {", "\t\treturn 3;", "\t}", "}();", f"END({which}, x);"]

    def jumps(self, which):
        return [f"BEGIN({which}, x);", f"if (target && {self.condition()})", "\tlongjmp(*target, 1);", f"END({which}, x);"]

    def jumps_through(self, which):
        return [f"BEGIN({which}, x);", f"x += CALL({self.a_callee(self.plain)}({self.argument()}));", f"END({which}, x);"]

    def tail_of_plain(self, which):
        return [f"BEGIN_TAIL({which}, x);", f"return {self.a_callee(self.plain)}({self.argument()});"]

    def lands(self, which):
        return [f"BEGIN({which}, x);", "jmp_buf here;", "volatile uint64_t result = x;", "jmp_buf *const before = target;", "target = &here;",
                "if (!setjmp(here))", f"\tresult = result + CALL({self.a_callee(self.plain)}({self.argument()}));", "else", "\tresult = result + 5;",
                "target = before;", f"END({which}, result);"]

    def thread(self, which):
        return [f"BEGIN({which}, x);", f"x += in_thread({self.a_callee()}, {self.argument()});", f"END({which}, x);"]

    def cancelled(self, which):
        lines = [f"BEGIN({which}, x);", "cleanup one = {x};", "#ifndef NO_FORCED_UNWIND", "if (first_thread != pthread_self() && !swallowing) {"]
        if self.chance.random() < 0.5:
            lines += ["\tpthread_cancel(pthread_self());", "\tpthread_testcancel();"]
        else:
            lines += ["\tpthread_exit(NULL);"]
        return lines + ["}", "#endif", f"END({which}, x);"]

    def coroutine(self, which):
        return [f"BEGIN({which}, x);", "#ifdef COROUTINES", f"generator made = made_{which}(x);", "cleanup one = {x};",
                "struct ends {", "\tgenerator &made;", "\t~ends() { made.handle.destroy(); }", "} ends = {made};",
                "FRESH();", "while (made.next())", "\tx += made.handle.promise().value;",
                "#endif", f"END({which}, x);"]

    def quiet(self):
        """A function that only returns."""
        return self.name(0)

    def add(self):
        index = len(self.functions)
        which = self.index(index)
        if index == 0:
            body = [f"BEGIN({which}, x);", f"END({which}, x * 3);"]
            self.plain.append(index)
        else:
            kind = self.chance.choice((
                self.throws, self.throws, self.tail, self.tail, self.tails, self.tail_by_pointer, self.tail_virtual, self.tail_std_function,
                self.calls, self.calls, self.cleans_up, self.cleans_up, self.catches, self.catches, self.catches_all, self.no_throw,
                self.jumps, self.jumps_through, self.tail_of_plain, self.lands, self.thread, self.cancelled, self.coroutine))
            if index == 1:
                kind = self.throws
            if kind == self.tail_virtual and index < 4:
                kind = self.tail
            body = kind(which)
            if kind in (self.jumps, self.jumps_through, self.tail_of_plain, self.lands):
                self.plain.append(index)
        text = ""
        if any("made_" in line for line in body):
            # A coroutine catches all exceptions, also the end of a thread, and no C++ program may swallow that.
            text += "\n".join(("#ifdef COROUTINES", f"static NI generator made_{which}(uint64_t x)", "{",
                               "\tfor (uint64_t i = 0; i < x % 4; i++) {", "\t\tuint64_t value;", "", "\t\t{", "\t\t\tswallow here;", "",
                               f"\t\t\tvalue = {self.quiet_or_any()}(x + i);", "\t\t}", "\t\tco_yield value;", "\t}", "}", "#endif", ""))
        text += f'extern "C" NI uint64_t {self.name(index)}(uint64_t x)\n{{\n'
        text += "\n".join(line if line.startswith("#") else "\t" + line for line in body) + "\n}\n"
        self.functions.append(index)
        if index == 2:
            text += "".join(f"struct object_{self.number}_{i} : object {{\n\tuint64_t act(uint64_t x) override {{ return {self.name(i)}(x); }}\n}};\n"
                            for i in (1, 2))
            text += f"static object *const volatile objects_{self.number}[] = {{new object_{self.number}_1, new object_{self.number}_2}};\n"
        return text

    def quiet_or_any(self):
        return self.a_callee() if self.chance.random() < 0.5 else self.quiet()

    def text(self):
        lines = [self.tables()] + [self.add() for _ in range(FUNCTIONS)] + [self.filled_tables()]
        functions = ", ".join(self.name(i) for i in range(FUNCTIONS))
        lines.append(f"""static void program_{self.number}()
{{
	static uint64_t (*const table[])(uint64_t) = {{{functions}}};

	for (uint64_t i = 0; i < {RUNS * FUNCTIONS}; i++) {{
		try {{
			first = last = 0;
			target = NULL;
			swallowing = 0;
			sum = sum * 31 + table[i % {FUNCTIONS}](i);
		}} catch (oops &o) {{
			sum = sum * 7 + o.code;
		}} catch (std::exception &e) {{
			sum = sum * 5 + length_of(e);
		}}
	}}
}}
""")
        return "\n".join(lines)


def generate(seed, programs):
    chance = random.Random(seed)
    text = '#include "runtime.h"\n\nstatic pthread_t first_thread;\n\n'
    text += "\n".join(Program(number, chance).text() for number in range(programs))
    calls = "\n".join(f"\tprogram_{number}();" for number in range(programs))
    # At the end of every second one, an exception reaches noexcept.
    end = "\tunexpected(1);\n" if seed % 2 else ""
    return text + f"""
extern "C" NI void unexpected(uint64_t x) noexcept
{{
	if (x)
		throw oops{{x}};
}}

int main(int argc, char **argv)
{{
	graphs = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	first_thread = pthread_self();
	prepare_unwinder();
	std::set_terminate([] {{ puts("terminated"); fflush(stdout); _Exit(9); }});
{calls}
	report();
{end}	return 0;
}}
"""


if __name__ == "__main__":
    import sys
    print(generate(int(sys.argv[1]), int(sys.argv[2])), end="")
