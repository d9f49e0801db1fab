# SPDX-License-Identifier: MIT
"""Sending to a real relay daemon: what it stores, what a viewer sees meanwhile, and what happens when it ends."""
import glob
import pty
import random
import re
import time

from sending import *

if not shutil.which("lttng-relayd") or not shutil.which("babeltrace2"):
    print("there is no lttng-relayd or no babeltrace2 here")
    sys.exit(77)


class Relay:
    """A daemon with its own ports and directories."""

    def __init__(self):
        self.output = tempfile.mkdtemp(dir=WORK)
        self.control, self.data, self.live = ports(3)
        self.url = f"net://127.0.0.1:{self.control}:{self.data}/try"
        self.start()

    def start(self):
        home = tempfile.mkdtemp(dir=WORK)
        environment = dict(ENVIRONMENT, HOME=home, LTTNG_HOME=home, LTTNG_RUNDIR=home)
        address = "tcp://127.0.0.1:"
        self.process = start("lttng-relayd", "-C", f"{address}{self.control}", "-D", f"{address}{self.data}",
                             "-L", f"{address}{self.live}", "-o", self.output, env=environment,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for port in (self.control, self.data, self.live):
            wait_until(lambda port=port: not connect_fails(port), "the relay daemon")

    def kill(self):
        self.process.kill()
        self.process.wait()


def connect_fails(port):
    try:
        socket.create_connection(("127.0.0.1", port)).close()
        return False
    except OSError:
        return True


def babeltrace(*args, **more):
    return subprocess.run(["babeltrace2", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                          timeout=WAIT, **more)


def events(folder, *args):
    """Returns lines of the reader, in an order that does not depend on equal times."""
    done = babeltrace(*args, folder)
    if done.returncode:
        raise AssertionError(done.stderr.decode()[:2000])
    return sorted(line.split(b") ", 1)[1] if b"(+" in line else line for line in done.stdout.splitlines())


def numbers(folder):
    """Returns the sequence numbers of the packets of each stream, in whatever directories its parts are."""
    found = {}
    for path, stream in streams(folder).items():
        found.setdefault((os.path.basename(os.path.dirname(path)), os.path.basename(path)), []).extend(
            number for number, _, _ in stream)
    return found


def begun(folder):
    """Whether each stream has a packet, and its metadata exists."""
    found = streams(folder)
    return found and all(found.values()) and all(
        os.path.getsize(os.path.join(folder, trace, "metadata")) for trace in traces(folder))


class Stored(unittest.TestCase):
    def setUp(self):
        self.relay = Relay()

    def tearDown(self):
        self.relay.kill()

    def test_finished(self):
        """The stored trace equals the local one, event by event, including the times."""
        trace = record(os.path.join(WORK, "finished"), 2000)
        side("send", trace, self.relay.url)
        stored = babeltrace(self.relay.output).stdout.splitlines()
        local = babeltrace(trace).stdout.splitlines()
        self.assertEqual(len(local), 6000)
        self.assertEqual(sorted(stored), sorted(local))

    def test_compressed(self):
        trace = record(os.path.join(WORK, "zst"), 500, "--compress")
        side("send", trace, self.relay.url)
        self.assertEqual(len(events(self.relay.output)), 1500)

    def test_running(self):
        """The parameters of the clock may become more precise at the end, which a relay daemon cannot
        be told: ticks are equal.
        """
        trace = os.path.join(WORK, "running")
        side("record", "-o", trace, "--per-thread", "--to", self.relay.url, "--", "sh", "-c", f"{TALKER} 1000; {TALKER} 10")
        cycles = ("--clock-cycles", "--no-delta")
        self.assertEqual(events(self.relay.output, *cycles), events(trace, *cycles))
        self.assertEqual(len(events(trace)), 3030)
        for (name, stream), found in numbers(self.relay.output).items():
            self.assertEqual(found, list(range(len(found))), f"{name}/{stream}")

    def test_ctf2(self):
        refused = side("record", "--format", "ctf2", "--to", self.relay.url, "--", "true", check=False)
        self.assertEqual(refused.returncode, 2)
        trace = record(os.path.join(WORK, "two"), 10, "--format", "ctf2")
        refused = side("send", trace, self.relay.url, check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn(b"CTF 1.8", refused.stderr)

    def restarted(self, disturb):
        trace = os.path.join(WORK, self.id())
        program = start(SIDE, "record", "-o", trace, "--to", self.relay.url, "--", TALKER, "100", "lines",
                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.assertEqual(program.stdout.readline(), b"ready\n")
        for turn in range(6):
            program.stdin.write(b"500\n")
            program.stdin.flush()
            self.assertEqual(program.stdout.readline(), b"said\n")
            disturb(turn)
        finish(program)
        return trace

    def check_parts(self, trace):
        """All packets are there, and none is twice in one connection's trace."""
        for path, stream in streams(self.relay.output).items():
            found = [number for number, _, _ in stream]
            self.assertEqual(len(found), len(set(found)), path)
        # Each connection's trace alone: babeltrace2 takes them together for one trace, and the
        # parameters of the clock may have become more precise between them, so that the same packet
        # has two times.
        found = set()
        for connection in glob.glob(os.path.join(self.relay.output, "*/*")):
            found |= set(events(connection, "--clock-cycles", "--no-delta"))
        self.assertEqual(found, set(events(trace, "--clock-cycles", "--no-delta")))
        # Together they are separate traces, each with its UUID in metadata and packets.
        together = babeltrace(self.relay.output)
        self.assertEqual((together.returncode, b"discarded" in together.stderr), (0, False), together.stderr)
        known = []
        for folder in traces(self.relay.output):
            with open(os.path.join(self.relay.output, folder, "metadata"), "rb") as file:
                fired = bytes.fromhex(file.read().split(b'uuid = "')[1][:36].decode().replace("-", ""))
            own = {data[4:20] for stream in streams(os.path.join(self.relay.output, folder)).values() for _, _, data in stream}
            self.assertLessEqual(own, {fired}, folder)
            known.append(fired)
        self.assertEqual(len(set(known)), len(known), known)

    def test_restart(self):
        """The daemon is killed and started again in the middle."""
        def disturb(turn):
            if turn == 1:
                wait_until(lambda: begun(self.relay.output), "the first packets")
                self.relay.kill()
            if turn == 3:
                self.relay.start()
        self.check_parts(self.restarted(disturb))

    def test_cuts(self):
        """A proxy cuts both connections at random bytes."""
        chance = random.Random(9)
        left = [chance.randrange(500, 60000) for _ in range(6)]
        proxies = [Proxy(port, lambda: left.pop() if left else None) for port in
                   (self.relay.control, self.relay.data)]
        trace = record(os.path.join(WORK, "cut"), 4000)
        side("send", trace, f"net://127.0.0.1:{proxies[0].port}:{proxies[1].port}/cut")
        local, stored = numbers(trace), numbers(self.relay.output)
        for stream, wanted in local.items():
            self.assertEqual(sorted(set(stored[stream])), wanted, stream)
        for proxy in proxies:
            proxy.close()


class Viewer:
    """babeltrace2 on a terminal, because it buffers lines on a pipe."""

    def __init__(self, relay):
        self.url = f"net://127.0.0.1:{relay.live}/host/{socket.gethostname()}/try"
        self.join()

    def join(self):
        master, slave = pty.openpty()
        self.err = tempfile.TemporaryFile(dir=WORK)
        self.text = b""
        self.process = start("babeltrace2", "--input-format=lttng-live", self.url, stdout=slave, stderr=self.err,
                             env=dict(ENVIRONMENT, BABELTRACE_TERM_COLOR="never"))
        os.close(slave)
        threading.Thread(target=self.read, args=(master,), daemon=True).start()

    def read(self, master):
        try:
            while True:
                self.text += os.read(master, 65536)
        except OSError:
            os.close(master)

    def numbers(self, event):
        """Returns the numbers of the events with this name."""
        if self.process.poll() is not None:
            self.err.seek(0)
            raise AssertionError(self.err.read().decode())
        return [int(number) for number in re.findall(event + rb":.*number = (\d+)", self.text)]

    def end(self):
        self.process.terminate()
        self.process.wait()
        self.err.close()


class Live(unittest.TestCase):
    def setUp(self):
        self.relay = Relay()
        self.inlet, self.outlet = (os.path.join(WORK, self.id() + name) for name in (".in", ".out"))
        for path in (self.inlet, self.outlet):
            os.mkfifo(path)
        self.shell = start(SIDE, "record", "-o", os.path.join(WORK, self.id()), "--to", self.relay.url, "--", "sh",
                           stdin=subprocess.PIPE)
        self.run_there(f"{TALKER} 0 lines <{self.inlet} >{self.outlet} &")
        self.into = open(self.inlet, "wb", buffering=0)
        self.back = open(self.outlet, "rb")
        self.assertEqual(self.back.readline(), b"ready\n")
        self.pid = self.talker()
        self.fired = 0

    def run_there(self, line):
        self.shell.stdin.write(line.encode() + b"\n")
        self.shell.stdin.flush()

    def talker(self):
        """Returns the process that has our FIFO open."""
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink(f"/proc/{pid}/fd/0") == self.inlet:
                    return int(pid)
            except OSError:
                pass
        raise AssertionError("there is no talker")

    def fire(self, count):
        self.into.write(b"%d\n" % count)
        self.assertEqual(self.back.readline(), b"said\n")
        self.fired += count

    def first_line(self, viewer):
        """The viewer shows events after it has joined, and nothing reports when that is."""
        self.fire(1)
        end = time.monotonic() + 5
        while time.monotonic() < end and not viewer.numbers(b"talker:line"):
            time.sleep(0.05)
        return viewer.numbers(b"talker:line")

    def test_while_it_runs(self):
        """On one CPU and on another one, which is a stream that the viewer does not know; and in another process."""
        viewer = Viewer(self.relay)
        wait_until(lambda: self.first_line(viewer), "the first event")
        for cpu in sorted(os.sched_getaffinity(0))[:2]:
            os.sched_setaffinity(self.pid, {cpu})
            before = self.fired
            self.fire(7)
            wait_until(lambda: viewer.numbers(b"talker:line")[-7:] == list(range(before, self.fired)), f"the events of {cpu}")
        self.run_there(f"{TALKER} 50")
        wait_until(lambda: sorted(viewer.numbers(b"talker:said")) == sorted(list(range(50)) * 3), "the other process")
        self.fire(1)
        wait_until(lambda: viewer.numbers(b"talker:line")[-1] == self.fired - 1, "the first process again")
        self.assertIsNone(self.shell.poll())
        self.into.close()
        self.back.close()
        self.shell.stdin.close()
        self.shell.stdin = None
        finish(self.shell)
        viewer.end()
        self.assertEqual(len(events(self.relay.output)), self.fired + 150)

    def tearDown(self):
        self.relay.kill()


main()
