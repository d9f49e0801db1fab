# SPDX-License-Identifier: MIT
"""
What a call costs whose event the kernel gets (user_events), beside one that `side record` gets, and what a function costs that the
kernel watches (global probes), beside one with a probe in the process:

    SIDE_KERNEL=bzImage bench/kernel.py BUILD [CALLS]

In an emulated machine, whose times mean nothing: so all figures are ratios, in units of the cheapest system
call there (getppid). On a machine whose own kernel has user_events, run it as root with --here; with --here --probes only the rows of probes
are measured, which most kernels can do.
"""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "../tests/kernel"))
import ftrace
import machine


def run(program, calls, environment, listen, before=(), probed=False):
    words = [*before, f"{program} {calls}"] if probed else [*before, program, str(calls)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.DEVNULL, env=dict(os.environ, **environment)) as process:
        if process.stdout.readline() != "ready\n":
            sys.exit("the program does not start")
        if listen:
            ftrace.enable(True)
        out, _ = process.communicate("x")
        if listen:
            ftrace.enable(False)
            ftrace.clear()
    event, call, function = (float(word) for word in out.split())
    return (function if probed else event) / call


PROBE = ("--function", "bench_probed", "--arg", "u32:number:%edi", "--arg", "string:text:%rsi")


def inside_probes(program, side, calls):
    """Rows of a function with a number and a text; global probes need root."""
    trace = (side, "-q", "trace", "--force", "-o", "/tmp/bench-kernel.trace")
    rows = [("a function without a probe", None), ("probe in the process (side trace)", ())]
    rows += [(f"global probe, {way}", ("--global", "--by", way)) for way in ("uprobe_multi", "perf_event", "tracefs")]
    for name, words in rows:
        before = ("sh", "-c") if words is None else (*trace, *words, *PROBE, "-c")
        ratio = run(program, calls, {}, False, before, True)
        print(f"{name:36} {ratio:8.3f}", flush=True)


def inside(build, calls):
    program, side = os.path.join(build, "bench/bench-kernel"), os.path.join(build, "src/cmd/side/side")
    library = dict(SIDE_LIB_DIR=os.path.join(build, "src/kernel"))
    rows = [("nobody listens, nothing registered", {}, False, ()),
            ("registered, nobody listens", dict(library, SIDE_USER_EVENTS="all"), False, ()),
            ("ftrace, plain fields", dict(library, SIDE_USER_EVENTS="all"), True, ()),
            ("ftrace, EventHeader", dict(library, SIDE_USER_EVENTS="all", SIDE_USER_EVENTS_ENCODING="eventheader"), True,
             ()),
            ("side record, in the process", {}, False,
             (side, "record", "-q", "--mode=overwrite", "-o", "/tmp/bench-kernel.trace", "--"))]
    if "--probes" not in sys.argv:
        for name, environment, listen, before in rows:
            ratio = run(program, calls, environment, listen, before)
            print(f"{name:36} {ratio:8.3f}", flush=True)
    inside_probes(program, side, calls)


def main(arguments):
    here = "--here" in arguments
    arguments = [argument for argument in arguments if argument not in ("--here", "--probes")]
    build, calls = os.path.abspath(arguments[0]), int(arguments[1]) if len(arguments) > 1 else 20000
    if here:
        inside(build, calls)
        return 0
    reason = machine.why_not()
    if reason:
        sys.exit(f"bench/kernel.py: {reason}")
    print("a call, in units of getppid (emulated machine)")
    status, output = machine.run([sys.executable, "-B", os.path.realpath(__file__), "--here", build, str(calls)])
    print(output, end="")
    return 1 if status is None else status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
