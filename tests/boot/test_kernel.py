# SPDX-License-Identifier: MIT
"""
The first process of a machine: an emulated one, whose kernel SIDE_KERNEL names, with nothing in it but what is
traced, who adopts it, and a shell. It is traced from its first constructor on, before /proc, /sys or /dev are
there; `side adopt` makes traces of it while it runs, then a daemon goes on with it.
"""
import os
import platform
import re
import shutil
import stat
import subprocess
import tarfile

import harness
from harness import PROGRAM, SANITIZED, SIDE, SIDED, Case

KERNEL = os.environ.get("SIDE_KERNEL", "")
QEMU = shutil.which("qemu-system-x86_64")
BUSYBOX = shutil.which("busybox")
LIBRARIES = "/lib/x86_64-linux-gnu"
# The machine is switched off as soon as it is done; this is for one that hangs.
PATIENCE = 200

CONFIG = """\
place /run/side/boot
session early
	output /out/daemon
	channel main
		buffer-size 128K
		context vpid
		event boot:first,boot:tick
"""

# What pid 1 runs between its events.
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
# Whatever happens: what there is comes out, and the machine is switched off.
DONE = """\
cd /out
for port in /dev/vport*; do tar c . >$port; done
"""


class Archive:
    """An initial file system, in the form that the kernel unpacks (cpio, newc)."""

    def __init__(self, path):
        self.file = open(path, "wb")
        self.number = 0
        self.directories = set()

    def add(self, name, mode, content=b"", device=(0, 0)):
        name = name.strip("/")
        if "/" in name:
            self.directory(os.path.dirname(name))
        self.number += 1
        encoded = name.encode() + b"\0"
        fields = [self.number, mode, 0, 0, 1, 0, len(content), 0, 0, *device, len(encoded), 0]
        self.file.write(b"070701" + b"".join(b"%08X" % field for field in fields))
        self.file.write(encoded)
        self.file.write(b"\0" * (-(110 + len(encoded)) % 4))
        self.file.write(content + b"\0" * (-len(content) % 4))

    def directory(self, name):
        name = name.strip("/")
        if name in self.directories or not name:
            return
        self.directories.add(name)
        self.add(name, stat.S_IFDIR | 0o755)

    def text(self, name, text):
        self.add(name, stat.S_IFREG | 0o755, text.encode())

    def program(self, path, name):
        """A program with the libraries that it needs; those of the build stand where an installation has them."""
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

    def close(self):
        self.add("TRAILER!!!", 0)
        self.file.close()


def why_not():
    if not KERNEL:
        return "SIDE_KERNEL names no kernel"
    if not os.access(KERNEL, os.R_OK):
        return f"{KERNEL} cannot be read"
    if not QEMU or not BUSYBOX:
        return "qemu-system-x86_64 or busybox is missing"
    if platform.machine() != "x86_64" or SANITIZED or not SIDED:
        return "only for x86-64, without sanitizers, with the daemon"
    return None


class Kernel(Case):
    def setUp(self):
        super().setUp()
        missing = why_not()
        if missing:
            self.skipTest(missing)

    def make_archive(self, path, config, **scripts):
        archive = Archive(path)
        # What the kernel gives its first process as input and output.
        archive.add("dev/console", stat.S_IFCHR | 0o600, device=(5, 1))
        archive.program(PROGRAM, "init")
        for program in (SIDE, os.path.join(os.path.dirname(SIDE), "side-more"), SIDED):
            archive.program(program, f"bin/{os.path.basename(program)}")
        archive.library(os.path.join(os.environ["SIDE_LIB_DIR"], "libside-agent.so"))
        archive.program(BUSYBOX, "bin/busybox")
        for name in ("sh", "mount", "mkdir", "grep", "sleep", "tar", "cat", "ls", "ps", "umount"):
            archive.add(f"bin/{name}", stat.S_IFLNK | 0o777, b"busybox")
        for name in ("proc", "sys", "tmp", "out"):
            archive.directory(name)
        archive.text("etc/side/boot.conf", config)
        for name, text in scripts.items():
            archive.text(name, text)
        archive.close()

    def boot(self, words, config=CONFIG, **scripts):
        """Runs the machine; what it has in /out is below self.out then."""
        initial, result, console = self.file("initial"), self.file("result"), self.file("console")
        self.make_archive(initial, config, **scripts)
        line = ["console=ttyS0", "reboot=t", "panic=-1", "quiet", "loglevel=4", "tsc=reliable", "no_timer_check"]
        # The kernel would measure its clock against one that a busy machine emulates badly.
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            speed = re.search(r"^cpu MHz\s*:\s*(\d+)", file.read(), re.M)
        if speed and int(speed.group(1)) > 100:
            line.append(f"tsc_early_khz={int(speed.group(1)) * 1000}")
        # Words that the kernel does not know are those of the first process; with "=" in them they are its
        # environment, with "." they are nobody's. (Behind "--" would also be what QEMU says of its devices.)
        line += ["SIDE_BOOT=1", "PATH=/bin", *words]
        command = [QEMU, "-M", "microvm,acpi=off,x-option-roms=off", "-accel", "tcg,thread=multi", "-cpu", "max",
                   "-smp", "2", "-m", "512M", "-nodefaults", "-no-user-config", "-display", "none",
                   "-no-reboot", "-kernel", KERNEL, "-initrd", initial, "-append", " ".join(line),
                   "-chardev", f"file,id=con,path={console}", "-serial", "chardev:con",
                   "-device", "virtio-serial-device", "-chardev", f"file,id=out,path={result}",
                   "-device", "virtserialport,chardev=out,name=out"]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=PATIENCE, check=False)
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
        # By the daemon: what came afterwards, and nothing twice.
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
