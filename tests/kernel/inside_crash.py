# SPDX-License-Identifier: MIT
"""Inside the machine: programs fire under a session and under a flight recorder, then the kernel
panics. Prints what the rings contained, as JSON.
"""
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "../sided"))
sys.path.insert(0, os.path.join(HERE, ".."))
from waiting import stop_process, wait_until

SIDE, SIDED, PROGRAM = os.environ["SIDE"], os.environ["SIDED"], os.environ["SIDED_PROGRAM"]
RUNTIME = "/run/side-crash"
FIRED = 1500
FLIGHT = 20000


def side(*words):
    subprocess.run([SIDE, *words], check=True, stdout=subprocess.DEVNULL)


class Program:
    def __init__(self, *before):
        self.process = subprocess.Popen([*before, PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.expect("ready")

    def expect(self, word):
        line = self.process.stdout.readline()
        assert line.startswith(word), line

    def fire(self, count):
        self.process.stdin.write(f"fire {count}\n")
        self.process.stdin.flush()
        self.expect("fired")


def begin_session():
    """A program under a session whose process is stopped: the events stay in the rings."""
    from harness import Control

    subprocess.Popen([SIDED, "--foreground", "--runtime", RUNTIME, "--output", "/run/traces"])
    control = os.path.join(RUNTIME, "control.sock")
    wait_until(lambda: os.path.exists(control), "the daemon")
    side("create", "s", "-o", "/run/session")
    side("enable-channel", "c", "--buffer-size", "64K")
    side("enable-event", "--channel", "c", "sided:tick")
    side("start")
    program = Program()
    program.fire(1)

    def status():
        return Control(control).ask("status", "s")["sessions"][0]

    wait_until(lambda: status()["recorded"] == 1, "the first event")
    stop_process(status()["recorder"])
    program.fire(FIRED)
    return program


def main():
    os.environ["SIDE_RUNTIME"] = RUNTIME
    program = begin_session()
    flight = Program(SIDE, "record", "-q", "--mode", "overwrite", "--buffer-size", "64K", "-o", "/run/flight", "-e", "sided:tick", "--")
    flight.fire(FLIGHT)
    # A program that has ended is not in the dump.
    ended = Program(SIDE, "record", "-q", "--mode", "overwrite", "-o", "/run/ended", "--")
    ended.fire(10)
    ended.process.stdin.close()
    ended.process.wait()
    print(json.dumps({"session": FIRED, "flight": FLIGHT}), flush=True)
    with open("/run/panic", "w", encoding="ascii"):
        pass
    while program and flight:
        time.sleep(1)


if __name__ == "__main__":
    main()
