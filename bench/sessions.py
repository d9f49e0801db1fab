# SPDX-License-Identifier: MIT
"""What sessions across processes cost, ours and LTTng-UST's, in one run, as a table with ratios.

usage: sessions.py BUILD-DIRECTORY [ROUNDS [PROCESSES...]]

For each number of processes (default: 1 50 500) that run the instrumented program, under each tracer's
own daemon and with one session started:

  latency    of `enable-event` and `disable-event`, from the start of the command to its end: afterwards
             every process has switched over. Rounds are interleaved; medians.
  command    the same command where no process is reached: what of the latency is the command's own
  memory     private memory (Private_Dirty) of a process, and its threads beside its own. LTTng's library
             starts its threads with the program, daemon or not, so there is nothing to subtract

Goals: half of LTTng's latency and of its memory.
"""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

build = os.path.abspath(sys.argv[1])
rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 10
counts = [int(word) for word in sys.argv[3:]] or [1, 50, 500]
side = os.path.join(build, "src/cmd/side/side")
work = tempfile.mkdtemp(prefix="side-bench-")


class Tracer:
    """A daemon, a session that is started, and programs that say u32 a hundred times a second."""

    def run(self, *words):
        done = subprocess.run([self.command, *words], env=self.env, capture_output=True, text=True,
                              check=False)
        if done.returncode:
            sys.exit(f"{self.command} {' '.join(words)} failed:\n{done.stdout}{done.stderr}")

    def timed(self, *words):
        begin = time.perf_counter()
        self.run(*words)
        return (time.perf_counter() - begin) * 1e3

    def start_programs(self, count):
        programs = [subprocess.Popen([self.program, "idle"], env=self.env, stdout=subprocess.PIPE)
                    for _ in range(count)]
        for program in programs:
            program.stdout.readline()
        return programs


class Side(Tracer):
    command = side
    program = os.path.join(build, "bench/record-side")

    def __init__(self):
        self.env = dict(os.environ, SIDE_RUNTIME=os.path.join(work, "run"),
                        SIDE_LIB_DIR=os.path.join(build, "src/agent"))
        os.mkdir(self.env["SIDE_RUNTIME"], 0o700)
        self.daemon = subprocess.Popen([os.path.join(build, "src/cmd/sided/sided"), "--foreground"],
                                       env=self.env)
        while not os.path.exists(os.path.join(self.env["SIDE_RUNTIME"], "control.sock")):
            time.sleep(0.01)
        self.run("create", "bench", "-o", os.path.join(work, "side"))
        self.run("enable-event", "bench:kib,bench:u32")
        self.run("start")

    def enable(self):
        return self.timed("enable-event", "bench:u32")

    def disable(self):
        return self.timed("disable-event", "bench:u32")

    def end(self):
        self.run("destroy", "bench")
        self.daemon.terminate()
        self.daemon.wait()


class Lttng(Tracer):
    command = "lttng"
    program = os.path.join(build, "bench/record-lttng")

    def __init__(self):
        home = os.path.join(work, "home")
        os.mkdir(home)
        self.env = dict(os.environ, LTTNG_HOME=home, LTTNG_UST_REGISTER_TIMEOUT="3000")
        self.daemon = subprocess.Popen(["lttng-sessiond", "--no-kernel"], env=self.env,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while subprocess.run(["lttng", "--no-sessiond", "list"], env=self.env, capture_output=True,
                             check=False).returncode:
            time.sleep(0.1)
        self.run("create", "bench", "--output=" + os.path.join(work, "lttng"))
        self.run("enable-channel", "-u", "ring")
        self.run("enable-event", "-u", "-c", "ring", "bench:kib")
        self.run("enable-event", "-u", "-c", "ring", "bench:u32")
        self.run("start")

    def enable(self):
        return self.timed("enable-event", "-u", "-c", "ring", "bench:u32")

    def disable(self):
        return self.timed("disable-event", "-u", "-c", "ring", "bench:u32")

    def end(self):
        self.run("destroy", "bench")
        self.daemon.terminate()
        self.daemon.wait()


def footprint(programs):
    """Private memory in KiB and threads of one, on average."""
    memory = threads = 0
    for program in programs:
        with open(f"/proc/{program.pid}/smaps_rollup", encoding="ascii") as file:
            memory += sum(int(line.split()[1]) for line in file if line.startswith("Private_Dirty"))
        threads += len(os.listdir(f"/proc/{program.pid}/task"))
    return memory / len(programs), threads / len(programs)


def stop(programs):
    for program in programs:
        program.kill()
    for program in programs:
        program.communicate()


def measure(tracer, count):
    programs = tracer.start_programs(count)
    time.sleep(1)
    memory, threads = footprint(programs)
    return programs, (memory, threads - 1)


def main():
    tracers = {"side": Side(), "lttng": Lttng()}
    print(f"{'processes':>9}  {'':12}{'side':>10}{'LTTng':>10}{'ratio':>8}")
    for count in [0, *counts]:
        times = {(name, what): [] for name in tracers for what in ("enable", "disable")}
        programs, costs = {}, {}
        for name, tracer in tracers.items():
            programs[name], costs[name] = measure(tracer, count) if count else ([], [0, 0])
        for _ in range(rounds):
            for name, tracer in tracers.items():
                times[name, "disable"].append(tracer.disable())
                times[name, "enable"].append(tracer.enable())
        rows = [(f"{what}-event ms", *(statistics.median(times[name, what]) for name in tracers))
                for what in ("enable", "disable")]
        if count:
            rows += [("memory KiB", *(costs[name][0] for name in tracers)),
                     ("threads", *(costs[name][1] for name in tracers))]
        for what, ours, theirs in rows:
            ratio = f"{ours / theirs:8.2f}" if theirs else ""
            print(f"{count:9}  {what:18}{ours:10.1f}{theirs:10.1f}{ratio}")
        for name in tracers:
            stop(programs[name])
    for tracer in tracers.values():
        tracer.end()


try:
    main()
finally:
    shutil.rmtree(work, ignore_errors=True)
