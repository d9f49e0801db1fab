# SPDX-License-Identifier: MIT
"""`side recover` of the memory of a machine whose kernel has panicked, in the forms that QEMU writes."""
import json
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile

import machine

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from waiting import wait_until

SIDE = os.environ["SIDE"]
FORMS = ("elf", "kdump-zlib")


class Monitor:
    """QEMU's monitor (QMP)."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile("r")
        self.file.readline()
        self.ask("qmp_capabilities")

    def ask(self, verb, **arguments):
        self.socket.sendall(json.dumps({"execute": verb, "arguments": arguments}).encode())
        while True:
            answer = json.loads(self.file.readline())
            if "return" in answer or "error" in answer:
                assert "return" in answer, answer
                return

    def close(self):
        self.file.close()
        self.socket.close()


def rearrange(path):
    """Writes the blocks of a flattened dump to their places, as `makedumpfile -R` does; later forms of QEMU need not."""
    with open(path, "rb") as flat:
        if not flat.read(4096).startswith(b"makedumpfile"):
            return
        with open(path + ".new", "wb") as file:
            while True:
                offset, size = struct.unpack(">qq", flat.read(16))
                if offset < 0:
                    break
                file.seek(offset)
                file.write(flat.read(size))
    os.rename(path + ".new", path)


def sequences(directory):
    """The numbers of the events of each process, by name of the trace."""
    import bt2

    found = {}
    for name in sorted(os.listdir(directory)):
        numbers = []
        for message in bt2.TraceCollectionMessageIterator(os.path.join(directory, name)):
            assert not isinstance(message, bt2._DiscardedEventsMessageConst), name
            if isinstance(message, bt2._EventMessageConst) and message.event.name == "sided:tick":
                numbers.append(int(message.event.payload_field["sequence"]))
        found[name] = sorted(numbers)
    return found


def check(directory, expected):
    found = sequences(directory)
    assert len(found) == 2, found.keys()
    session, flight = sorted(found.values(), key=lambda numbers: numbers[-1])
    # The session has read event 0.
    assert session == list(range(1, expected["session"] + 1)), session
    assert flight == list(range(flight[0], expected["flight"])), (flight[0], flight[-1], len(flight))
    assert 0 < flight[0] and len(flight) > 2000, flight[0]


def panic(directory):
    """Runs the machine until it panics, and dumps its memory. Returns what the programs have fired."""
    names = ("SIDE", "SIDED", "SIDED_PROGRAM", "SIDE_LIB_DIR", "LD_LIBRARY_PATH")
    command = machine.prepare(directory, [sys.executable, "-B", os.path.join(HERE, "inside_crash.py")],
                              [(name, os.environ[name]) for name in names if name in os.environ], panics=True)
    monitor_path, console = os.path.join(directory, "qmp"), os.path.join(directory, "console")
    qemu = subprocess.Popen([*command, "-qmp", f"unix:{monitor_path},server=on,wait=off"], stdin=subprocess.DEVNULL)

    def panicked():
        assert qemu.poll() is None, machine.read(console)
        return os.path.exists(console) and "Kernel panic" in machine.read(console)

    try:
        wait_until(panicked, "the panic", 200)
        monitor = Monitor(monitor_path)
        for form in FORMS:
            monitor.ask("dump-guest-memory", paging=False, protocol=f"file:{directory}/{form}", format=form)
        monitor.close()
    except BaseException:
        print(machine.read(console), machine.read(os.path.join(directory, "out")))
        raise
    finally:
        qemu.kill()
        qemu.wait()
    return json.loads(re.search(r"^\{.*\}", machine.read(os.path.join(directory, "out")), re.M).group())


def main():
    reason = machine.why_not()
    if reason:
        print(f"skipped: {reason}")
        return 77
    with tempfile.TemporaryDirectory(prefix="side-crash-") as directory:
        expected = panic(directory)
        for form in FORMS:
            dump, output = os.path.join(directory, form), os.path.join(directory, form + "-out")
            rearrange(dump)
            run = subprocess.run([SIDE, "recover", dump, "-o", output], capture_output=True, text=True, check=False)
            assert run.returncode == 0, run.stderr
            check(output, expected)
    return 0


if __name__ == "__main__":
    sys.exit(main())
