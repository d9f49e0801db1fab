# SPDX-License-Identifier: MIT
"""What a call costs whose event the kernel gets (user_events), compared with one that is recorded in
the process; a function that the kernel watches (uprobes), compared with one with a probe in the
process; a system call that is recorded, for one recording and in a session:

    SIDE_KERNEL=bzImage bench/kernel.py BUILD [CALLS]

All in the same run, row after row, several times; the medians count. The left column is this
machine (root, in its own mount namespace), where few kernels have user_events; the right one is an
emulated machine with a kernel that has them, whose times mean nothing. So the numbers are ratios:
the unit is the cheapest system call (getppid) there. Rows that cannot be measured are listed below,
with the reason. A row whose listener did not get each call (recorded, overwritten, or counted as
lost) has no number. --here: only this machine; --emulated: only that one. --rounds N: instead of 3.
--only TEXT: rows whose name has it.
"""
import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "../tests/kernel"))
import ftrace
import machine

EVENT, CALL, FUNCTION, CALLS = range(4)  # of the output of bench-kernel
PROBE = ("--function", "bench_probed", "--arg", "u32:number:%edi")
TEXT = ("--arg", "string:text:%rsi")  # Memory that may be unmapped, which requires a system call in the process.
SYSCALL = "syscalls:sys_enter_getppid"
TRACE = "/tmp/bench-kernel.trace"
# Programs wait for a recorder before they continue with a new event of the kernel: as long as an
# emulated machine needs.
TIMEOUT_FACTOR = "600"


class Missing(Exception):
    """The row cannot be measured here."""


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it says nothing"


def heard_by(summaries):
    """Returns the number of calls in the lines of JSON at the end of a recording. The other summary
    does not include events of the kernel.
    """
    found = 0
    for line in summaries.splitlines():
        if not line.startswith("{"):
            continue
        summary = json.loads(line)
        found += sum(summary.get(name, 0) for name in ("recorded", "overwritten", "lost"))
        if summary["type"] == "kernel_summary":
            found += summary["events"]
    return found


def heard_by_ftrace():
    """Returns the number of calls in its buffers, overwritten there, or lost for lack of space."""
    text = "".join(ftrace.read(f"per_cpu/cpu{cpu}/stats") for cpu in range(os.cpu_count()))
    return sum(int(line.split()[-1]) for line in text.splitlines() if line.startswith(("entries:", "overrun:", "dropped events:")))


class Bench:
    def __init__(self, build, calls):
        self.program, self.side = os.path.join(build, "bench/bench-kernel"), os.path.join(build, "programs/side/side")
        self.calls = calls
        self.user_events = dict(SIDE_LIB_DIR=os.path.join(build, "src/tracers/user-events"), SIDE_USER_EVENTS="all")
        self.recorder = dict(SIDE_LIB_DIR=os.path.join(build, "src/tracers/agent"))

    def run(self, which, before=(), listen=False, shell=False, **environment):
        """Returns the nanoseconds of an event's call, of getppid, or of the function, and those of getppid."""
        words = [*before, f"{self.program} {self.calls}"] if shell else [*before, self.program, str(self.calls)]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=dict(os.environ, **environment)) as process:
            if process.stdout.readline() != "ready\n":
                raise Missing(last_line(process.communicate()[1]))
            if listen:
                ftrace.enable(True)
            out, errors = process.communicate("x")
            heard = heard_by(errors)
            if listen:
                ftrace.enable(False)
                heard = heard_by_ftrace()
                ftrace.clear()
        numbers = [float(word) for word in out.split()]
        # A listener that gets no call would have the best result.
        if (before or listen) and heard < numbers[CALLS]:
            raise Missing(f"only {heard:,} of {numbers[CALLS]:,.0f} calls were heard")
        return numbers[which], numbers[CALL]

    # ---- an event ----

    def need_user_events(self):
        if not os.path.exists(ftrace.path("user_events_data")):
            raise Missing("the kernel has no user_events (CONFIG_USER_EVENTS)")

    def without_listener(self):
        return self.run(EVENT)

    def registered(self):
        self.need_user_events()
        return self.run(EVENT, **self.user_events)

    def ftrace_plain(self):
        self.need_user_events()
        return self.run(EVENT, listen=True, **self.user_events)

    def ftrace_header(self):
        self.need_user_events()
        return self.run(EVENT, listen=True, SIDE_USER_EVENTS_ENCODING="eventheader", **self.user_events)

    def perf_plain(self):
        self.need_user_events()
        return self.run(EVENT, (self.side, "record", "--json", "-e", "no:thing", "-k", "user_events:bench_*", "--kernel-way", "perf",
                                "--kernel-buffer", "16M", "-o", TRACE, "--force", "--", "env", f"SIDE_TIMEOUT_FACTOR={TIMEOUT_FACTOR}",
                                *(f"{name}={value}" for name, value in self.user_events.items())), **self.recorder)

    def recorded(self):
        return self.run(EVENT, (self.side, "record", "--json", "--mode=overwrite", "--force", "-o", TRACE, "--"), **self.recorder)

    # ---- a function ----

    def function(self):
        return self.run(FUNCTION)

    def traced(self, *words):
        return self.run(FUNCTION, (self.side, "--json", "trace", "--force", "-o", TRACE, *words, "-c"), shell=True, **self.recorder)

    def watched(self, *way):
        return self.traced(*way, *PROBE)

    def watched_text(self, *way):
        return self.traced(*way, *PROBE, *TEXT)

    # ---- a system call, recorded as an event of the kernel, compared with one that is not recorded
    # ----

    def recorded_call(self):
        plain = self.run(CALL)[0]
        return self.run(CALL, (self.side, "record", "--json", "-k", SYSCALL, "--kernel-buffer", "16M", "--force", "-o", TRACE, "--"),
                        **self.recorder)[0], plain

    def session_call(self):
        """The time of the calling thread; the time of side-kernel, on another processor, is not included."""
        with tempfile.TemporaryDirectory(prefix="side-bench-") as directory:
            environment = dict(os.environ, SIDE_RUNTIME=os.path.join(directory, "run"), HOME=directory, **self.recorder)

            def side(*words):
                done = subprocess.run([self.side, *words], capture_output=True, text=True, check=False, env=environment)
                if done.returncode:
                    raise Missing(last_line(done.stderr))
                return done.stdout + done.stderr
            plain = self.run(CALL)[0]
            try:
                side("create", "bench", "-o", os.path.join(directory, "trace"))
                side("enable-channel", "ring", "--mode", "overwrite")
                side("enable-event", "-k", SYSCALL, "--kernel-buffer", "16M")
                side("start")
                each = self.run(CALL)[0]
                if heard_by(side("destroy", "bench", "--json")) < self.calls:
                    raise Missing("the session has not heard the calls")
                return each, plain
            finally:
                subprocess.run([self.side, "destroy", "-a"], capture_output=True, check=False, env=environment)
                with open(os.path.join(directory, "run/sided.pid"), encoding="ascii") as file:
                    os.kill(int(file.read()), signal.SIGTERM)

    def rows(self):
        return [("an event without a listener", self.without_listener),
                ("... given to the kernel, without a listener", self.registered),
                ("... into ftrace, plain fields", self.ftrace_plain),
                ("... into ftrace, EventHeader", self.ftrace_header),
                ("... into perf's buffers, by side record -k", self.perf_plain),
                ("... recorded in the process (side record)", self.recorded),
                ("a function without a probe", self.function),
                ("... probe in the process, a register", self.watched),
                ("... probe in the process, and a text", self.watched_text),
                *((f"... uprobe, {text}, {what}", lambda way=way, row=row: row("--global", "--by", way))
                  for way, text in (("uprobe_multi", "uprobe_multi (BPF)"), ("perf_event", "perf_event (BPF)"), ("tracefs", "tracefs"))
                  for what, row in (("a register", self.watched), ("and a text", self.watched_text))),
                ("a system call, by side record -k", self.recorded_call),
                ("... in a session (side-kernel)", self.session_call)]


def inside(build, calls, rounds, only):
    """Prints a line of JSON for each row: name, units, nanoseconds, or the reason."""
    bench = Bench(build, calls)
    rows = [(name, row) for name, row in bench.rows() if only in name]
    found = {name: [] for name, _ in rows}
    reasons = {}
    for _ in range(rounds):
        for name, row in rows:
            if name in reasons:
                continue
            try:
                each, unit = row()
                found[name].append((each / unit, each))
            except Missing as reason:
                reasons[name] = str(reason)
    for name, numbers in found.items():
        units = statistics.median(figure[0] for figure in numbers) if numbers else None
        nanoseconds = statistics.median(figure[1] for figure in numbers) if numbers else None
        print(json.dumps([name, units, nanoseconds, reasons.get(name)]), flush=True)


def parse(output):
    return {row[0]: row[1:] for row in (json.loads(line) for line in output.splitlines() if line.startswith("["))}


def here(words):
    if os.geteuid() or not shutil.which("unshare"):
        return {}, "this machine: not root, or no unshare"
    script = "[ -d /sys/kernel/tracing/events ] || mount -t tracefs none /sys/kernel/tracing; exec \"$@\""
    done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", *words], capture_output=True, text=True, check=False)
    return parse(done.stdout), None if done.stdout else f"this machine: {last_line(done.stderr)}"


def emulated(words):
    reason = machine.why_not()
    if reason:
        return {}, f"emulated machine: {reason}"
    status, output = machine.run(words, patience=900)
    return parse(output), None if parse(output) else f"emulated machine: {status}: {last_line(output)}"


def show(left, right):
    print(f"{'':44} {'this machine':>24} {'emulated':>12}")
    print(f"{'':44} {'getppids':>14} {'ns':>9} {'getppids':>12}")
    reasons = {}
    for name in left or right:
        one, other = left.get(name, [None] * 3), right.get(name, [None] * 3)
        cells = [f"{value:.{digits}f}" if value is not None else "-" for value, digits in ((one[0], 3), (one[1], 1), (other[0], 3))]
        print(f"{name:44} {cells[0]:>14} {cells[1]:>9} {cells[2]:>12}")
        for where, row in (("here", one), ("emulated", other)):
            if row[2]:
                reasons.setdefault((where, row[2]), []).append(name)
    if right:
        print("- emulated: by QEMU, without KVM; only numbers of one column can be compared, and only roughly")
    for (where, reason), names in reasons.items():
        print(f"- {where}: {', '.join(name.removeprefix('... ') for name in names)}: {reason}")


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=os.path.abspath)
    parser.add_argument("calls", nargs="?", type=int, default=20000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="")
    for name in "here", "emulated", "inside":
        parser.add_argument("--" + name, action="store_true")
    options = parser.parse_args(arguments)
    if options.inside:
        inside(options.build, options.calls, options.rounds, options.only)
        return 0
    words = [sys.executable, "-B", os.path.realpath(__file__), "--inside", options.build, str(options.calls), "--rounds",
             str(options.rounds), "--only", options.only]
    left, reason = ({}, None) if options.emulated else here(words)
    right, other = ({}, None) if options.here else emulated(words)
    show(left, right)
    for text in (reason, other):
        if text:
            print(f"- {text}")
    return 0 if left or right else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
