# SPDX-License-Identifier: MIT
"""A small emulated machine with a kernel of its own, which SIDE_KERNEL names, for tests of features
that this machine's kernel lacks.

    SIDE_KERNEL=bzImage tests/kernel/machine.py [--timeout S] -- COMMAND [ARGUMENT...]

runs a command in it as root, in the same folder and with this machine's files; changes of files
stay in the machine's memory. It prints the command's output and exits with its status. The kernel
needs the options that docs/how-to/kernel.md lists; QEMU needs neither KVM nor rights.
"""
import os
import platform
import re
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile

KERNEL = os.environ.get("SIDE_KERNEL", "")
QEMU = shutil.which("qemu-system-x86_64")
BUSYBOX = shutil.which("busybox")

# The first process: mounts this machine's files under a layer in memory, then runs the command. It
# runs twice, because it must switch to the new root first.
INIT = """\
#!/side/busybox sh
b=/side/busybox
if [ -e /first ]; then
	$b mkdir -p /lower /over /new
	$b mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,ro,cache=loose root /lower
	$b mount -t tmpfs over /over
	$b mkdir /over/upper /over/work
	$b mount -t overlay -o lowerdir=/lower,upperdir=/over/upper,workdir=/over/work over /new
	$b mkdir -p /new/side
	$b mount -t tmpfs side /new/side
	$b cp /side/* /new/side/
	exec $b switch_root /new /side/init
fi
for where in proc:/proc sysfs:/sys devtmpfs:/dev tmpfs:/dev/shm tmpfs:/run tracefs:/sys/kernel/tracing; do
	$b mkdir -p ${where#*:} 2>/dev/null
	$b mount -t ${where%%:*} none ${where#*:}
done
$b ln -s /proc/self/fd /dev/fd
for port in /sys/class/virtio-ports/*; do
	case $($b cat $port/name) in
	out) out=/dev/${port##*/} ;;
	status) status=/dev/${port##*/} ;;
	esac
done
if [ -e /side/panics ]; then
	# The kernel panics when its first process ends.
	$b sh /side/command </dev/null >$out 2>&1 &
	until [ -e /run/panic ]; do $b sleep 0.1; done
	exit 0
fi
$b sh /side/command </dev/null 2>&1 | $b cat >$out
$b cat /run/status >$status
$b sync
$b reboot -f
$b sleep 10
"""


class Archive:
    """An initial file system, in the format that the kernel unpacks (cpio, newc)."""

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

    def copy(self, path, name):
        with open(path, "rb") as file:
            self.add(name, stat.S_IFREG | 0o755, file.read())

    def close(self):
        self.add("TRAILER!!!", 0)
        self.file.close()


def why_not():
    """Returns why no machine can run, or None."""
    if not KERNEL:
        return "SIDE_KERNEL names no kernel"
    if not os.access(KERNEL, os.R_OK):
        return f"{KERNEL} cannot be read"
    if not QEMU or not BUSYBOX:
        return "qemu-system-x86_64 or busybox is missing"
    if platform.machine() != "x86_64":
        return "only for x86-64"
    return None


def kernel_words():
    """Returns the parameters that the kernel always needs."""
    words = ["console=ttyS0", "reboot=t", "panic=-1", "quiet", "loglevel=4", "tsc=reliable", "no_timer_check"]
    # The kernel would compare its clock with one that a busy machine emulates badly.
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        speed = re.search(r"^cpu MHz\s*:\s*(\d+)", file.read(), re.M)
    if speed and int(speed.group(1)) > 100:
        words.append(f"tsc_early_khz={int(speed.group(1)) * 1000}")
    return words


def qemu_command(initial, console, words, ports, memory="512M"):
    """@ports: the name of each port, and the file that gets its output."""
    command = [QEMU, "-M", "microvm,acpi=off,x-option-roms=off", "-accel", "tcg,thread=multi", "-cpu", "max",
               "-smp", "2", "-m", memory, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
               "-kernel", KERNEL, "-initrd", initial, "-append", " ".join(words),
               "-chardev", f"file,id=con,path={console}", "-serial", "chardev:con",
               "-device", "virtio-serial-device"]
    for name, path in ports.items():
        command += ["-chardev", f"file,id={name},path={path}", "-device", f"virtserialport,chardev={name},name={name}"]
    return command


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def prepare(directory, command, variables=(), panics=False):
    """Returns the command of a machine whose files are in this directory. With `panics`, the machine
    does not end: its kernel panics when the command creates /run/panic.
    """
    initial, console, out, status = (os.path.join(directory, name)
                                     for name in ("initial", "console", "out", "status"))
    archive = Archive(initial)
    archive.add("dev/console", stat.S_IFCHR | 0o600, device=(5, 1))
    archive.add("first", stat.S_IFREG | 0o644)
    archive.copy(BUSYBOX, "side/busybox")
    archive.text("side/init", INIT)
    archive.text("init", INIT)
    if panics:
        archive.add("side/panics", stat.S_IFREG | 0o644)
    words = " ".join(shlex.quote(word) for word in command)
    exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables)
    archive.text("side/command", f"export PATH={shlex.quote(os.environ['PATH'])}\n{exports}"
                 f"cd {shlex.quote(os.getcwd())}\n{words}\necho $? >/run/status\n")
    archive.close()
    parameters = kernel_words() + ["rdinit=/init"] + (["panic=0"] if panics else [])
    machine = qemu_command(initial, console, parameters, {"out": out, "status": status},
                           "256M" if panics else "512M")
    return machine + ["-fsdev", "local,id=root,path=/,security_model=none,readonly=on,multidevs=remap",
                      "-device", "virtio-9p-device,fsdev=root,mount_tag=root"]


def run(command, variables=(), patience=200):
    """Runs a command in the machine. Returns its status, or None if the machine failed, and its output."""
    with tempfile.TemporaryDirectory(prefix="side-machine-") as directory:
        machine = prepare(directory, command, variables)
        console, out, status = (os.path.join(directory, name) for name in ("console", "out", "status"))
        try:
            done = subprocess.run(machine, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=patience, check=False)
        except subprocess.TimeoutExpired:
            return None, read(out) + read(console) + "\nthe machine does not end"
        said = read(status).strip() if os.path.exists(status) else ""
        if done.returncode or not said.isdigit():
            return None, (read(out) if os.path.exists(out) else "") + done.stderr + read(console)
        return int(said), read(out)


def main(arguments):
    patience = 200
    if arguments[:1] == ["--timeout"] and len(arguments) > 1:
        patience, arguments = int(arguments[1]), arguments[2:]
    if arguments[:1] == ["--"]:
        arguments = arguments[1:]
    reason = why_not() if arguments else "no command is given"
    if reason:
        print(f"machine: {reason}", file=sys.stderr)
        return 125
    status, output = run(arguments, patience=patience)
    sys.stdout.write(output)
    return 125 if status is None else status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
