#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""After probes on each function of a redis-server and of libc were removed, it answers as before. Its code equals its
files again, except for springboards in the padding between functions. It handles and ignores the same signals as
before. It has no more threads and files than another one without probes that answered the same requests, and no more
memory, except what the agent reports, and one percent.
"""
import atexit
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

from harness import *

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../.."))
from waiting import wait_until

FOLDER = tempfile.mkdtemp()
ENV = environment(SIDE_RUNTIME=FOLDER + "/run", LANG="C.UTF-8", SIDE_TIMEOUT_FACTOR="30")
ROUNDS = 20 if os.environ.get("SIDE_TEST_LONG") == "1" else 2
KEPT_MAX = 64 << 10  # KiB
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)


def good(*arguments):
    done = side(*arguments, env=ENV)
    equal((arguments, done.status), (arguments, 0), done.err)
    return done


class Server:
    """A redis-server, and what /proc shows of it."""

    def __init__(self, name):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = str(free.getsockname()[1])
        folder = f"{FOLDER}/{name}"
        os.mkdir(folder)
        self.process = subprocess.Popen(["redis-server", "--port", self.port, "--bind", "127.0.0.1", "--dir", folder, "--save", "",
                                         "--hz", "100"], stdout=subprocess.DEVNULL,
                                        # Freed memory returns to the system at once, without a cache of each thread whose size differs in
                                        # each run; and another thread makes no further heap.
                                        env=os.environ | {"MALLOC_CONF": "narenas:1,dirty_decay_ms:0,muzzy_decay_ms:0,tcache:false"})
        self.pid = str(self.process.pid)
        atexit.register(self.process.kill)
        wait_until(lambda: self.ask("ping") == "PONG", f"{name} answers")

    def ask(self, *arguments):
        done = subprocess.run(["redis-cli", "-p", self.port, *arguments], capture_output=True, text=True, check=False, timeout=60)
        return done.stdout.strip()

    def load(self):
        subprocess.run(["redis-benchmark", "-p", self.port, "-c", "5", "-n", "2000", "-q", "-t", "set,get,lpush,sadd,zadd"],
                       stdout=subprocess.DEVNULL, check=True, timeout=300)
        equal(self.ask("eval", "local s=0 for i=1,2000 do s=s+i end return s", "0"), "2001000")

    def read(self, path):
        with open(f"/proc/{self.pid}/{path}", encoding="utf-8") as file:
            return file.read()

    def code_is_that_of_files(self):
        """Compares all executable mappings of files; returns the number of bytes."""
        compared = 0
        with open(f"/proc/{self.pid}/mem", "rb", buffering=0) as memory:
            for line in self.read("maps").splitlines():
                found = re.match(r"([0-9a-f]+)-([0-9a-f]+) r-xp ([0-9a-f]+) \S+ [1-9]\d* +(/.*\S)$", line)
                if not found:
                    assert " rwx" not in line, line
                    continue
                start, end, offset = (int(word, 16) for word in found.groups()[:3])
                with open(found[4], "rb") as file:
                    file.seek(offset)
                    wanted = file.read(end - start)
                memory.seek(start)
                got = memory.read(end - start)
                wrong = [at for at in range(len(wanted)) if got[at] != wanted[at]] if got[:len(wanted)] != wanted else []
                assert not wrong, f"{found[4]} is changed at {offset + wrong[0]:#x} and {len(wrong) - 1} other places"
                compared += len(wanted)
        return compared

    def threads(self):
        """Without the threads of jemalloc, which makes one for every few arenas in use."""
        names = []
        for task in os.listdir(f"/proc/{self.pid}/task"):
            try:
                names.append(self.read(f"task/{task}/comm").strip())
            except (FileNotFoundError, ProcessLookupError):
                continue
        return sorted(name for name in names if name != "jemalloc_bg_thd")

    def files(self):
        links = []
        for fd in os.listdir(f"/proc/{self.pid}/fd"):
            try:
                links.append(os.readlink(f"/proc/{self.pid}/fd/{fd}"))
            except FileNotFoundError:
                continue
        return sorted(re.sub(r"\[\d+\]|\d+$", "", link).replace("probed", "plain") for link in links)

    def signals(self):
        """The handled and the ignored signals."""
        return re.findall(r"^(Sig(?:Cgt|Ign)):\s*(\S+)", self.read("status"), re.M)

    def memory(self):
        """KiB of resident memory, and the anonymous part of them."""
        statistics = dict(re.findall(r"^(\w+):\s+(\d+) kB", self.read("smaps_rollup"), re.M))
        return int(statistics["Rss"]), int(statistics["Anonymous"])

    def kept(self):
        """KiB that the agent keeps, as it reports."""
        last = json.loads(good("probe", "list", "--json", self.pid, "libc.so*:malloc").out.splitlines()[-1])
        equal((last["type"], last["signals"], last["springboards"]), ("probe_kept", False, 0))
        return last["bytes"] // 1024


def main():
    if not all(shutil.which(name) for name in ("redis-server", "redis-cli", "redis-benchmark")):
        print("redis is not installed: nothing can be tested")
        sys.exit(77)
    atexit.register(end_daemon, ENV)
    plain, probed = Server("plain"), Server("probed")
    signals = probed.signals()
    for number in range(ROUNDS):
        good("create", "s", "-o", f"{FOLDER}/trace{number}")
        for name, where in (("own", "redis-*:*"), ("libc", "libc.so*:*")):
            done = side("enable-event", name, "-u", "-s", "s", "--pid", probed.pid, "--function", where, env=ENV)
            if "ptrace" in done.err or "not permitted" in done.err:
                print(f"{done.err.strip()}: nothing can be tested")
                sys.exit(77)
            equal(done.status, 0, done.err)
        good("start", "s")
        plain.load()
        probed.load()
        good("stop", "s")
        good("destroy", "s")
        good("detach", "-p", probed.pid)
        compared = probed.code_is_that_of_files()
        wait_until(lambda: probed.threads() == plain.threads(), f"{probed.threads()} instead of {plain.threads()}")
        wait_until(lambda: probed.files() == plain.files(), f"{probed.files()} instead of {plain.files()}")
        equal(probed.signals(), signals)
        equal(probed.ask("get", "key:__rand_int__"), plain.ask("get", "key:__rand_int__"))
        # All additional memory is what the agent reports, except for one percent.
        kept = probed.kept()
        allowed = plain.memory()[0] // 100
        wait_until(lambda: abs(probed.memory()[1] - plain.memory()[1] - kept) <= allowed,
                   f"of {probed.memory()} KiB with, {plain.memory()} without, {kept} are accounted for")
        assert 0 < kept < KEPT_MAX, kept
    print(f"{compared} bytes of code are those of their files; {len(plain.threads())} threads and {len(plain.files())} files in both; "
          f"KiB in memory, and of no file: {probed.memory()} with, {plain.memory()} without, {kept} kept for the next probes")
    for server in (plain, probed):
        server.process.terminate()
        equal(server.process.wait(60), 0)


main()
