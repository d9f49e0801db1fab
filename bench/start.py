# SPDX-License-Identifier: MIT
"""What the start of a program with libside costs without a daemon, and with one.

usage: start.py BUILD-DIRECTORY

System calls are counted by strace and do not depend on the machine's load. Goal: at most two more
than with SIDE_CONTROL=off, if there is no daemon.
"""
import collections
import os
import re
import subprocess
import sys
import tempfile
import time

build = os.path.abspath(sys.argv[1])
program = os.path.join(build, "bench/bench-start")
sided = os.path.join(build, "programs/sided/sided")


def calls(env, user=None):
    """Returns the system calls of one start, by name."""
    with tempfile.NamedTemporaryFile("r") as log:
        os.chmod(log.name, 0o666)
        subprocess.run(["strace", "-f", "-o", log.name, program], env=env, user=user, check=False)
        return collections.Counter(re.findall(r"^\d+ +(\w+)\(", log.read(), re.M))


def seconds(env, times=50):
    begin = time.perf_counter()
    for _ in range(times):
        subprocess.run([program], env=env, check=False)
    return (time.perf_counter() - begin) / times


def main():
    plain = {k: v for k, v in os.environ.items()
             if not k.startswith("SIDE_") and k not in ("XDG_RUNTIME_DIR", "LD_PRELOAD")}
    off = {**plain, "SIDE_CONTROL": "off"}
    with tempfile.TemporaryDirectory() as empty:
        ways = {"no daemon": plain,
                "no daemon, XDG_RUNTIME_DIR set": {**plain, "XDG_RUNTIME_DIR": empty},
                "no daemon, SIDE_RUNTIME set": {**plain, "SIDE_RUNTIME": empty}}
        print("system calls more than with SIDE_CONTROL=off (goal: 2 at most)")
        os.chmod(empty, 0o755)
        for user, words in ((None, ""), (65534, ", a user")) if not os.geteuid() else ((None, ""),):
            base = calls(off, user)
            for name, env in ways.items():
                more = calls(env, user) - base
                print(f"  {name + words:40} {sum(more.values())}  {' '.join(sorted(more))}")
        if os.path.exists(sided):
            with_daemon(plain, empty, calls(off))
    print(f"start and end of a program: {seconds(off) * 1e3:.2f} ms off, "
          f"{seconds(plain) * 1e3:.2f} ms without a daemon")


def with_daemon(plain, directory, base):
    runtime = os.path.join(directory, "runtime")
    os.mkdir(runtime, 0o700)
    env = {**plain, "SIDE_RUNTIME": runtime, "SIDE_LIB_DIR": os.path.join(build, "src/tracers/agent")}
    daemon = subprocess.Popen([sided, "--foreground"], env=env, stderr=subprocess.DEVNULL)
    try:
        while not os.path.exists(os.path.join(runtime, "agents.sock")):
            if daemon.poll() is not None:
                print("  (sided does not start)")
                return
            time.sleep(0.01)
        more = calls(env) - base
        print(f"  {'a daemon without sessions':40} {sum(more.values())}")
        print(f"start and end of a program: {seconds(env) * 1e3:.2f} ms with a daemon without sessions")
    finally:
        daemon.terminate()
        daemon.wait()


main()
