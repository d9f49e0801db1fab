# SPDX-License-Identifier: MIT
"""Programs with sanitizers of gcc and clang, and with valgrind: recorded, traced and attached to, they
end in the same way as alone, without a report about memory of the recorder. Combinations that
cannot work are refused, and the program runs on.

usage: test-sanitizers.py SIDE
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from checks import expect, finish

SOURCE = """
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) int work(int number)
{
	volatile int copy = number;
	return copy + 1;
}
static void *run(void *unused)
{
	long sum = 0;
	for (int i = 0; i < 10; i++) {
		char *volatile block = malloc(10 + i);
		sum = work(sum);
		free(block);
	}
	return unused ? unused : (void *)sum;
}
int main(int argc, char **argv)
{
	pthread_t threads[2];
	void *result;
	long sum = 0;
	struct pollfd input = {.events = POLLIN};

	(void)argv;
	if (argc > 1) {
		puts("ready");
		fflush(stdout);
		while (!poll(&input, 1, 0))
			usleep(10000);
	}
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, run, NULL);
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], &result);
		sum += (long)result;
	}
	printf("%ld\\n", sum);
	return 0;
}
"""

side = os.path.abspath(sys.argv[1])
work = tempfile.TemporaryDirectory(prefix="side-sanitizers-")
environment = {k: v for k, v in os.environ.items() if not k.endswith("SAN_OPTIONS") and k != "LD_PRELOAD"}
environment["SIDE_RUNTIME"] = os.path.join(work.name, "no-daemon")
tried, runs = [], 0


def path(name):
    return os.path.join(work.name, name)


def build(compiler, kind):
    program = path(f"{compiler}-{kind}")
    made = subprocess.run([compiler, "-g", "-O1", "-fsanitize=" + kind, path("program.c"), "-o", program, "-pthread"],
                          capture_output=True, text=True, check=False, timeout=120)
    # Does the program run here at all, alone?
    alone = None if made.returncode else subprocess.run([program], capture_output=True, text=True, check=False, timeout=120)
    if not alone or alone.returncode or alone.stdout != "20\n":
        print(f"{compiler} -fsanitize={kind} is not tried: {made.stderr[-200:]}{alone and alone.stderr[-200:]}")
        return None
    return program


def events(trace, name):
    shown = subprocess.run([side, "view", "--json", trace], capture_output=True, text=True, check=False, timeout=120)
    return sum(json.loads(line).get("event") == name for line in shown.stdout.splitlines())


def run(name, *words, calls=0, returns=0):
    global runs
    runs += 1
    trace = path(f"trace-{runs}")
    words = [word.replace("TRACE", trace) for word in words]
    done = subprocess.run([side, *words], capture_output=True, text=True, check=False, timeout=120, env=environment)
    if done.returncode or done.stdout != "20\n" or "ERROR" in done.stderr or "WARNING" in done.stderr:
        expect(False, f"{name}: status {done.returncode}, {done.stdout!r}, {done.stderr[:1500]}")
    expect(events(trace, "probe:work") == calls and events(trace, "probe:work_return") == returns, f"{name}: events")


def attach(name, program, refused):
    """It waits, a tracer attaches, it runs on."""
    trace = path("trace-attached")
    shutil.rmtree(trace, ignore_errors=True)
    process = subprocess.Popen([program, "waits"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, env=environment)
    process.stdout.readline()
    for words in (["attach"], ["trace", "--function", "work"]):
        for _ in range(5):
            done = subprocess.run([side, *words, "-o", trace, "--force", "-p", str(process.pid), "--duration", "200ms"],
                                  capture_output=True, text=True, check=False, timeout=120, env=environment)
            # On a busy machine it may not get there within two seconds.
            if "no thread reached a point" not in done.stderr:
                break
        if refused:
            expect(done.returncode and refused in done.stderr, f"{name}, {words}: status {done.returncode}, {done.stderr}")
        else:
            expect(not done.returncode, f"{name}, {words}: status {done.returncode}, {done.stderr}")
    out, err = process.communicate("go\n", timeout=120)
    expect(process.returncode == 0 and out == "20\n" and not err, f"{name}, attached: {process.returncode}, {out!r}, {err[:1500]}")


with open(path("program.c"), "w", encoding="utf-8") as out:
    out.write(SOURCE)
for compiler, kinds in (("gcc", "address leak thread undefined"), ("clang", "address leak thread memory undefined")):
    for kind in kinds.split() if shutil.which(compiler) else ():
        program = build(compiler, kind)
        if not program:
            continue
        tried.append(os.path.basename(program))
        run(f"{program}, record", "record", "-o", "TRACE", "--", program)
        run(f"{program}, record -w", "record", "-w", "libc", "-w", "pthread", "-o", "TRACE", "--", program)
        run(f"{program}, trace", "trace", "-o", "TRACE", "-c", program, "--function", "work", calls=20)
        # clang's runtime for threads makes the function read its return address.
        if program != path("clang-thread"):
            run(f"{program}, trace --exit", "trace", "-o", "TRACE", "-c", program, "--function", "work", "--exit", calls=20, returns=20)
        attach(program, program, "each thread\nhint: start it with `side record` or `side trace -c`\n" if kind == "thread" else None)
if shutil.which("valgrind"):
    plain = path("plain")
    subprocess.run(["gcc", "-g", "-O1", path("program.c"), "-o", plain, "-pthread"], check=True, timeout=120)
    tried.append("valgrind")
    run("valgrind", "record", "-w", "libc", "-w", "pthread", "-o", "TRACE", "--", "valgrind", "-q", "--leak-check=full",
        "--error-exitcode=9", plain)
    # The program is refused before it starts: the kernel's breakpoints would end it, and probes in
    # the process have no effect.
    for words in ([], ["--global"], ["--global", "--exe", plain]):
        for command in (f"valgrind -q {plain}", f"nice valgrind -q {plain}"):
            done = subprocess.run([side, "trace", "-o", path("refused"), "-c", command, "--function", "work", *words], capture_output=True,
                                  text=True, check=False, timeout=120, env=environment)
            expect((done.returncode, done.stdout) == (2, "") and "through `valgrind`" in done.stderr, f"{command}, {words}: {done}")
    process = subprocess.Popen(["valgrind", "-q", plain, "waits"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, env=environment)
    process.stdout.readline()
    for words in (["attach"], ["trace", "--function", "work"], ["trace", "--function", "work", "--global"],
                  ["trace", "--function", "work", "--global", "--exe", plain]):
        done = subprocess.run([side, *words, "-o", path("refused"), "-p", str(process.pid), "--duration", "200ms"], capture_output=True,
                              text=True, check=False, timeout=120, env=environment)
        reason = ("where a breakpoint of the kernel would end it\nhint: trace the program alone" if "--global" in words else
                  "which executes a translation of the program\nhint: start it with `side record`, or without valgrind\n")
        expect(done.returncode and f"it runs under valgrind, {reason}" in done.stderr, f"{words}: {done}")
    out, err = process.communicate("go\n", timeout=120)
    expect((process.returncode, out, err) == (0, "20\n", ""), f"valgrind, refused: {process.returncode}, {out!r}, {err}")
    # A program in a directory called valgrind is not valgrind.
    os.mkdir(path("valgrind"))
    other = shutil.copy(plain, path("valgrind/other"))
    process = subprocess.Popen([other, "waits"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=environment)
    process.stdout.readline()
    for words in (["attach"], ["trace", "--function", "work"], ["trace", "--function", "work", "--global"]):
        done = subprocess.run([side, *words, "-o", path("other-" + words[0] + words[-1].strip("-")), "-p", str(process.pid), "--duration", "200ms"],
                              capture_output=True, text=True, check=False, timeout=120, env=environment)
        expect("under valgrind" not in done.stderr, f"{words}: {done}")
    process.communicate("go\n", timeout=120)
finish(f"{runs} runs: {', '.join(tried)}", skipped=not tried)
