# SPDX-License-Identifier: MIT
"""The first process of a machine: an emulated one, whose kernel SIDE_KERNEL names. It has only the
traced program, the adopting command, and a shell. The program is traced from its first constructor
on, before /proc, /sys or /dev exist; `side adopt` makes traces of it while it runs, then a daemon
continues.
"""
import os
import re
import stat
import subprocess
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../kernel"))
import harness
import machine
from harness import PROGRAM, SANITIZED, SIDE, SIDED, Case

LIBRARIES = "/lib/x86_64-linux-gnu"
# The machine is switched off as soon as it is done; this timeout is for one that hangs.
TIMEOUT = 200

CONFIG = """\
state-directory /run/side/boot
session early
	output /out/daemon
	channel main
		buffer-size 128K
		context vpid
		event boot:first,boot:tick
"""

# The commands that pid 1 runs between its events.
ADOPT = """\
set -e
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
mkdir -p /tmp /out
side adopt -o /out/adopted --json 2>/out/one.json
"""
ADOPT_AGAIN = """\
set -e
side adopt -o /out/adopted --force --json 2>/out/two.json
sided --system
until side status early | grep -q "init .* 1  sync"; do sleep 0.05; done
"""
END = """\
set -e
side destroy early 2>/out/three.txt
"""
# In any case: the results are stored, and the machine is switched off.
DONE = """\
cd /out
for port in /dev/vport*; do tar c . >$port; done
"""


class Archive(machine.Archive):
    def program(self, path, name):
        """Adds a program with the libraries that it needs; those of the build are put where an
        installation has them.
        """
        with open(path, "rb") as file:
            self.add(name, stat.S_IFREG | 0o755, file.read())
        listed = subprocess.run(["ldd", path], capture_output=True, text=True, check=False).stdout
        for library in re.findall(r"(?:=> |^\s+)(/\S+)", listed, re.M):
            self.library(library)

    def library(self, path):
        system = path.startswith(("/lib", "/usr/lib"))
        name = (path if system else f"{LIBRARIES}/{os.path.basename(path)}").strip("/")
        if name in self.directories:
            return
        self.directories.add(name)
        with open(path, "rb") as file:
            self.add(name, stat.S_IFREG | 0o755, file.read())


def why_not():
    if SANITIZED or not SIDED:
        return "only without sanitizers, with the daemon"
    return machine.why_not()


class Kernel(Case):
    def setUp(self):
        super().setUp()
        missing = why_not()
        if missing:
            self.skipTest(missing)

    def make_archive(self, path, config, **scripts):
        archive = Archive(path)
        # The kernel opens it as input and output of its first process.
        archive.add("dev/console", stat.S_IFCHR | 0o600, device=(5, 1))
        archive.program(PROGRAM, "init")
        for program in (SIDE, os.path.join(os.path.dirname(SIDE), "side-more"), SIDED):
            archive.program(program, f"bin/{os.path.basename(program)}")
        archive.library(os.path.join(os.environ["SIDE_LIB_DIR"], "libside-agent.so"))
        archive.program(machine.BUSYBOX, "bin/busybox")
        for name in ("sh", "mount", "mkdir", "grep", "sleep", "tar", "cat", "ls", "ps", "umount"):
            archive.add(f"bin/{name}", stat.S_IFLNK | 0o777, b"busybox")
        for name in ("proc", "sys", "tmp", "out"):
            archive.directory(name)
        archive.text("etc/side/boot.conf", config)
        for name, text in scripts.items():
            archive.text(name, text)
        archive.close()

    def boot(self, words, config=CONFIG, **scripts):
        """Runs the machine; the files of /out are below self.out afterwards."""
        initial, result, console = self.file("initial"), self.file("result"), self.file("console")
        self.make_archive(initial, config, **scripts)
        # Unknown parameters of the kernel become arguments of the first process; those with "="
        # become its environment, those with "." are ignored. (After "--", QEMU would add parameters
        # for its devices.)
        line = [*machine.kernel_words(), "SIDE_BOOT=1", "PATH=/bin", *words]
        command = machine.qemu_command(initial, console, line, dict(out=result))
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=TIMEOUT, check=False)
        except subprocess.TimeoutExpired:
            self.fail("the machine does not end: " + self.read(console))
        self.console = self.read(console)
        self.assertEqual(done.returncode, 0, done.stderr + self.console)
        os.mkdir(self.out)
        try:
            with tarfile.open(result) as archive:
                archive.extractall(self.out)
        except tarfile.TarError as error:
            self.fail(f"nothing came out ({error}): {self.console}")

    @staticmethod
    def read(path):
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def out_file(self, name):
        return self.read(os.path.join(self.out, name))

    def test_first_process(self):
        self.boot(["fire:100", "fork:10", "run:/one", "fire:50", "run:/two", "fire:25", "fork:7", "run:/three",
                   "run:/done", "off"],
                  one=ADOPT, two=ADOPT_AGAIN, three=END, done=DONE)
        self.assertIn('"running":true', self.out_file("one.json"), self.console)
        # By `side adopt`, twice.
        path = os.path.join(self.out, "adopted")
        events = self.events(path)
        self.assertEqual(events[0], (1, "boot:first", {"pid": 1, "text": "constructor"}, {"vpid": 1}))
        counted = self.sequences(path)
        self.assertEqual(counted.pop(1), list(range(150)))
        self.assertEqual(list(counted.values()), [list(range(10))])
        # By the daemon: the later events, and none twice.
        path = os.path.join(self.out, "daemon")
        counted = self.sequences(path)
        self.assertEqual(counted.pop(1), list(range(150, 175)))
        self.assertEqual(list(counted.values()), [list(range(7))])
        self.assertNotIn("boot:first", [event[1] for event in self.events(path)])


if __name__ == "__main__":
    reason = why_not()
    if reason:
        print(f"skipped: {reason}")
        raise SystemExit(harness.SKIPPED)
    harness.main("__main__")
