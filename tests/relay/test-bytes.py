# SPDX-License-Identifier: MIT
"""Traces as a stream of bytes: every transport, running recordings, damage with exact accounting."""
import pty
import random
import re
import resource
import socket
import time

from sending import *


class Ways(unittest.TestCase):
    """The received trace equals the recorded one, byte by byte."""

    @classmethod
    def setUpClass(cls):
        cls.trace = record(os.path.join(WORK, "trace"), 3000)

    def test_file_and_compressed(self):
        packed = record(os.path.join(WORK, "packed"), 3000, "--compress")
        for trace, name in ((self.trace, "plain"), (packed, "zst")):
            file, out = (os.path.join(WORK, f"{name}.{end}") for end in ("bytes", "out"))
            side("send", trace, file)
            got = receive(file, out)
            self.assertEqual((got["lost_frames"], got["lost_events"], got["garbage"]), (0, 0, 0))
            self.assertEqual(got["events"], 9000)
            if name == "plain":
                same(trace, out)
        expanded = os.path.join(WORK, "expanded")
        side("expand", packed, "-o", expanded)
        same_streams(expanded, os.path.join(WORK, "zst.out"))

    def test_ctf2(self):
        trace = record(os.path.join(WORK, "ctf2"), 1000, "--format", "ctf2")
        file, out = os.path.join(WORK, "ctf2.bytes"), os.path.join(WORK, "ctf2.out")
        side("send", trace, file)
        self.assertEqual(receive(file, out)["events"], 3000)
        same(trace, out)

    def test_pipe(self):
        out = os.path.join(WORK, "pipe.out")
        receiver = start(SIDE, "receive", "-", "-o", out, stdin=subprocess.PIPE)
        sender = start(SIDE, "send", self.trace, "-", stdout=receiver.stdin)
        receiver.stdin.close()
        receiver.stdin = None
        finish(sender)
        finish(receiver)
        same(self.trace, out)

    def test_fifo(self):
        """The sender waits for a reader."""
        fifo, out = os.path.join(WORK, "fifo"), os.path.join(WORK, "fifo.out")
        os.mkfifo(fifo)
        sender = start(SIDE, "send", self.trace, fifo)
        receiver = start(SIDE, "receive", fifo, "-o", out)
        finish(sender)
        finish(receiver)
        same(self.trace, out)

    def test_terminals(self):
        """A pair of terminals, which change bytes unless they are in raw mode."""
        if not shutil.which("socat"):
            self.skipTest("there is no socat")
        ends = [os.path.join(WORK, f"tty{i}") for i in (0, 1)]
        line = start("socat", f"pty,echo=0,link={ends[0]}", f"pty,link={ends[1]}")
        wait_until(lambda: all(os.path.exists(end) for end in ends), "the terminals")
        out = os.path.join(WORK, "tty.out")
        receiver = start(SIDE, "receive", ends[1], "-o", out, "--speed", "115200")
        # Bytes that arrive before the receiver has set its end to raw mode would be changed.
        def is_raw():
            import termios
            fd = os.open(ends[1], os.O_RDWR | os.O_NOCTTY)
            raw = not termios.tcgetattr(fd)[3] & termios.ICANON
            os.close(fd)
            return raw
        wait_until(is_raw, "the raw terminal")
        sender = start(SIDE, "send", self.trace, ends[0], "--speed", "115200")
        finish(sender)
        finish(receiver)
        same(self.trace, out)
        line.terminate()
        finish(line, None)

    def test_speed(self):
        master, slave = pty.openpty()
        wrong = side("send", self.trace, os.ttyname(slave), "--speed", "12345", check=False)
        self.assertEqual(wrong.returncode, 1)
        self.assertIn(b"speed", wrong.stderr)
        os.close(master)
        os.close(slave)

    def test_usage(self):
        for args in (("send", self.trace, "ftp://x"), ("send", self.trace, "net://"),
                     ("send", self.trace, "net://h:99999"), ("send", self.trace, "tcp://h"),
                     ("send", self.trace, "net://h/a b"), ("receive",), ("receive", "net://h"),
                     ("receive", "x", "--keep"), ("receive", "--listen", "nothing")):
            self.assertEqual(side(*args, check=False, cwd=WORK).returncode, 2, args)
        empty = os.path.join(WORK, "empty")
        os.mkdir(empty)
        self.assertEqual(side("send", empty, os.path.join(WORK, "x"), check=False).returncode, 1)
        self.assertEqual(side("send", os.path.join(WORK, "gone"), "x", check=False, cwd=WORK).returncode, 1)

    def test_hosts(self):
        """A host without a scheme is not a file, wherever a URL is accepted; if a file of that name
        exists, it is a file.
        """
        folder = os.path.join(WORK, "hosts")
        os.mkdir(folder)
        names = ["localhost", "localhost:4000", "127.0.0.1", "127.0.0.1:4000", "collector:4000", "[::1]:4000", "::1",
                 socket.gethostname(), socket.gethostname() + ":9", "LOCALHOST", "collector:5342/session"]
        for name in names:
            for args in (("send", self.trace, name), ("record", "--to", name, "--", "true"), ("receive", name),
                         ("create", "s", "--to", name, "--no-daemon")):
                done = side(*args, check=False, cwd=folder)
                self.assertEqual(done.returncode, 2, (args, done.stderr))
                self.assertIn(b"is a host without a scheme\nhint: `tcp://", done.stderr)
            # Both suggestions are URLs, but no receiver listens there.
            for suggested in re.findall(rb"`((?:tcp|net)://[^`]*)`", done.stderr):
                url = suggested.decode().replace("PORT", "9").replace("collector", "127.0.0.1").replace(socket.gethostname(), "127.0.0.1")
                self.assertEqual(side("send", self.trace, url, "--timeout", "1ms", check=False, cwd=folder).returncode, 1, url)
            self.assertEqual(os.listdir(folder), [])
        for name, wanted in (("127.0.0.1:4000", "tcp://127.0.0.1:4000"), ("::1", "tcp://[::1]:PORT"), ("[::1]:4000", "tcp://[::1]:4000")):
            self.assertIn(f"hint: `{wanted}` is for".encode(), side("send", self.trace, name, check=False, cwd=folder).stderr)
        for name in ("./localhost", "plain", "plain.bytes", "a:b", os.path.join(folder, "localhost:1")):
            message = side("send", self.trace, name, cwd=folder).stderr.decode()
            self.assertIn(f"to the file {name}", message)
            self.assertEqual(side("receive", name, "-o", name + ".out", cwd=folder).returncode, 0)
        # Now a file of that name exists.
        self.assertIn(b"to the file localhost", side("send", self.trace, "localhost", cwd=folder).stderr)

    def test_other_files(self):
        """A file that has no frames: this is reported, and nothing is written."""
        file = os.path.join(WORK, "noise")
        with open(file, "wb") as stream:
            stream.write(random.Random(1).randbytes(100000))
        done = side("receive", file, "-o", os.path.join(WORK, "noise.out"), check=False)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(os.listdir(os.path.join(WORK, "noise.out")), [])


class Running(unittest.TestCase):
    """Sending during the recording."""

    def test_record_to(self):
        """With a directory of its own, which is removed when everything has arrived; the status is the command's."""
        file, out = os.path.join(WORK, "to.bytes"), os.path.join(WORK, "to.out")
        side("record", "--to", file, "--", TALKER, "500")
        self.assertEqual(receive(file, out)["events"], 1500)
        self.assertEqual([name for name in os.listdir(WORK) if name.startswith("side-spool")], [])
        done = side("record", "--to", file, "--", "sh", "-c", f"{TALKER} 10; exit 7", check=False)
        self.assertEqual(done.returncode, 7)
        self.assertEqual(side("record", "--to", "-", "--", "true", check=False).returncode, 2)
        self.assertEqual(side("record", "--spool", "1M", "--", "true", check=False).returncode, 2)

    def test_give_up(self):
        """No receiver: a message, a status, and the trace is kept."""
        port, = ports(1)
        done = side("record", "--to", f"tcp://127.0.0.1:{port}", "--timeout", "100ms", "--", TALKER, "10", check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        kept = done.stderr.decode().split("the recorded data is in ")[1].split("\n")[0]
        self.assertEqual(len(traces(kept)), 1)
        shutil.rmtree(kept)

    def test_grows(self):
        """The receiver gets events while the program runs; new processes follow."""
        port, = ports(1)
        trace, out = os.path.join(WORK, "grows"), os.path.join(WORK, "grows.out")
        receiver = start(SIDE, "receive", "--json", "--listen", f"127.0.0.1:{port}", "-o", out)
        program = start(SIDE, "record", "-o", trace, "--to", f"tcp://127.0.0.1:{port}", "--", "sh", "-c",
                        f"{TALKER} 10; {TALKER} 100 lines", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.assertEqual(program.stdout.readline(), b"ready\n")
        for turn in range(1, 4):
            program.stdin.write(b"200\n")
            program.stdin.flush()
            self.assertEqual(program.stdout.readline(), b"said\n")
            wait_until(lambda: side("view", out, "-e", "talker:line", check=False).stdout.count(b"\n") >= 200 * turn
                  if os.path.isdir(out) else False, "the events that arrived")
        finish(program)
        got = result(finish(receiver)[1], "received")
        self.assertEqual((got["events"], got["lost_events"], got["unended"]), (3 * 110 + 600, 0, 0))
        same(trace, out)

    def test_follows_a_recorder(self):
        """`side send` of a trace that another process records."""
        trace, file = os.path.join(WORK, "other"), os.path.join(WORK, "other.bytes")
        recorder = start(SIDE, "record", "-o", trace, "--", TALKER, "100", "lines", stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE)
        self.assertEqual(recorder.stdout.readline(), b"ready\n")
        sender = start(SIDE, "send", trace, file)
        wait_until(lambda: os.path.exists(file), "the first bytes")
        recorder.stdin.write(b"50\n")
        recorder.stdin.close()
        recorder.stdin = None
        finish(recorder)
        finish(sender)
        receive(file, os.path.join(WORK, "other.out"))
        same(trace, os.path.join(WORK, "other.out"))

    def test_cuts(self):
        """A proxy cuts the connection at random bytes: everything arrives, exactly once."""
        port, = ports(1)
        trace, out = record(os.path.join(WORK, "cuts"), 30000), os.path.join(WORK, "cuts.out")
        receiver = start(SIDE, "receive", "--json", "--listen", f"127.0.0.1:{port}", "-o", out)
        chance = random.Random(4)
        left = [chance.randrange(1, 400000) for _ in range(8)]
        proxy = Proxy(port, lambda: left.pop() if left else None)
        wait_until(lambda: not connect_fails(port), "the receiver")
        sent = side("send", "--json", trace, f"tcp://127.0.0.1:{proxy.port}")
        got = result(finish(receiver)[1], "received")
        self.assertEqual((got["lost_events"], got["lost_packets"]), (0, 0))
        self.assertGreater(result(sent.stderr.decode(), "sent")["connections"], 1)
        same(trace, out)
        proxy.close()

    def test_receiver_is_away(self):
        """A spool that is too small: the oldest packets are dropped, counted, and reported in the trace."""
        port, = ports(1)
        out = os.path.join(WORK, "away.out")
        program = start(SIDE, "record", "--json", "--to", f"tcp://127.0.0.1:{port}", "--spool", "100K", "--buffer-size",
                        "16M", "--", TALKER, "0", "lines", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.assertEqual(program.stdout.readline(), b"ready\n")
        for _ in range(40):
            program.stdin.write(b"1000\n")
            program.stdin.flush()
            self.assertEqual(program.stdout.readline(), b"said\n")
            time.sleep(0.02)
        dropped_line = program.stderr.readline()
        while b"dropping the oldest packets" not in dropped_line:
            self.assertTrue(dropped_line)
            dropped_line = program.stderr.readline()
        receiver = start(SIDE, "receive", "--json", "--listen", f"127.0.0.1:{port}", "-o", out)
        program.stdin.close()
        program.stdin = None
        sent = result(finish(program)[1], "sent")
        got = result(finish(receiver, 4)[1], "received")
        self.assertGreater(sent["dropped_events"], 0)
        self.assertEqual(got["dropped_events"], sent["dropped_events"])
        self.assertEqual(got["events"] + got["dropped_events"], 40000)
        self.assertEqual(got["lost_events"], 0)
        counted = sum(max(packet[1] for packet in stream) for stream in streams(out).values())
        self.assertEqual(counted, sent["dropped_events"])

    def test_spool_of_delivered(self):
        """Delivered data is removed from the disk, and the recorder is not affected."""
        trace, file = os.path.join(WORK, "spooled"), os.path.join(WORK, "spooled.bytes")
        side("record", "-o", trace, "--to", file, "--spool", "64K", "--buffer-size", "16M", "--", TALKER, "20000")
        got = receive(file, os.path.join(WORK, "spooled.out"))
        self.assertEqual((got["events"], got["lost_events"], got["dropped_events"]), (60000, 0, 0))
        left = sum(os.stat(os.path.join(top, name)).st_blocks * 512 for top, _, names in os.walk(trace)
                   for name in names)
        self.assertLess(left, 600000)


def connect_fails(port):
    """Whether no process listens there; a successful connection is closed again."""
    try:
        socket.create_connection(("127.0.0.1", port)).close()
        return False
    except OSError:
        return True


class Damage(unittest.TestCase):
    """Received packets and reported losses add up to what was sent, in frames and events."""

    @classmethod
    def setUpClass(cls):
        trace = record(os.path.join(WORK, "whole"), 20000)
        file = os.path.join(WORK, "whole.bytes")
        side("send", trace, file)
        with open(file, "rb") as stream:
            cls.data = stream.read()
        cls.frames = frames(cls.data)
        cls.events = 60000
        cls.packets = sum(packet_of(data)["offset"] == 0 for kind, data in cls.frames if kind == PACKET)
        cls.serial = 0

    def check(self, data, ended=True):
        type(self).serial += 1
        file, out = (os.path.join(WORK, f"damage{self.serial}.{end}") for end in ("bytes", "out"))
        with open(file, "wb") as stream:
            stream.write(data)
        got = receive(file, out, None)
        if ended:
            self.assertEqual(got["frames"] + got["lost_frames"], len(self.frames))
            self.assertEqual(got["events"] + got["lost_events"], self.events)
            self.assertEqual(got["packets"] + got["lost_packets"], self.packets)
            # The traces report the same numbers.
            counted = sum(stream[-1][1] for stream in streams(out).values())
            self.assertEqual(counted, got["lost_events"] - got["unplaced_events"])
            if not got["incomplete"]:
                seen = side("view", "--json", out, check=False)
                self.assertEqual(sum(b'"type":"event"' in line for line in seen.stdout.splitlines()), got["events"])
        os.unlink(file)
        shutil.rmtree(out, True)
        return got

    def flipped(self, chance, frame):
        data = bytearray(frame)
        for _ in range(chance.randrange(1, 9)):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        return bytes(data)

    def damaged(self, chance, share, last=True):
        """Returns frames, some of which are changed, truncated, missing, doubled, or preceded by
        noise. The last END stays.
        """
        out = []
        for index, (_, frame) in enumerate(self.frames):
            if chance.random() > share or (last and index == len(self.frames) - 1):
                out.append(frame)
                continue
            kind = chance.randrange(6)
            if kind == 0:
                out.append(self.flipped(chance, frame))
            elif kind == 1:
                out.append(frame[:chance.randrange(len(frame))])
            elif kind == 2:
                out.append(frame[chance.randrange(1, len(frame)):])
            elif kind == 3:
                out.append(frame + frame)
            elif kind == 4:
                out.append(chance.randbytes(chance.randrange(2000)) + MAGIC + frame)
        return b"".join(out)

    def test_nothing(self):
        got = self.check(self.data)
        self.assertEqual((got["lost_frames"], got["garbage"], got["repeated_frames"]), (0, 0, 0))

    def test_each_frame_missing(self):
        step = max(1, len(self.frames) // 12)
        for missing in range(0, len(self.frames) - 1, step):
            got = self.check(b"".join(data for i, (_, data) in enumerate(self.frames) if i != missing))
            self.assertEqual(got["lost_frames"], 1, missing)

    def test_everything_twice(self):
        got = self.check(b"".join(data + data for _, data in self.frames))
        self.assertEqual((got["repeated_frames"], got["lost_frames"]), (len(self.frames), 0))
        got = self.check(self.data + self.data)
        self.assertEqual((got["repeated_frames"], got["lost_frames"]), (len(self.frames), 0))

    def test_late(self):
        """A late receiver gets the number of packets that were sent before."""
        chance = random.Random(7)
        for _ in range(8):
            at = chance.randrange(len(self.data) - 1000)
            got = self.check(self.data[at:])
            self.assertGreater(got["lost_frames"], 0)

    def test_random(self):
        for seed in range(int(os.environ.get("SEND_SEEDS", "12"))):
            with self.subTest(seed=seed):
                chance = random.Random(seed)
                self.check(self.damaged(chance, chance.choice((0.02, 0.1, 0.5))))

    def test_end_missing(self):
        """A stream that ends in the middle: nothing is invented, and the end is reported."""
        chance = random.Random(5)
        for _ in range(8):
            got = self.check(self.data[:chance.randrange(1000, len(self.data) - 400)], False)
            self.assertLessEqual(got["events"], self.events)
            self.assertEqual(got["unended"], 1)

    def test_several_senders(self):
        """Two sessions in one file."""
        trace = record(os.path.join(WORK, "second"), 100)
        file = os.path.join(WORK, "second.bytes")
        with open(file, "wb") as stream:
            stream.write(self.data)
        side("send", trace, file)
        got = receive(file, os.path.join(WORK, "second.out"))
        self.assertEqual((got["sessions"], got["events"], got["lost_events"]), (2, self.events + 300, 0))


def babeltrace(*folders):
    """Returns the events and messages of the reader that other projects use."""
    done = subprocess.run(["babeltrace2", *folders], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    assert not done.returncode, done.stderr.decode()
    return done.stdout.count(b"\n"), done.stderr.decode()


def uuids(folder):
    """Returns the UUID in each metadata file, and those in the packets beside it."""
    found = {}
    for trace in traces(folder):
        with open(os.path.join(folder, trace, "metadata"), encoding="utf-8") as file:
            text = file.read()
        if 'uuid = "' in text:
            message = bytes.fromhex(text.split('uuid = "')[1][:36].replace("-", ""))
        else:
            message = bytes(map(int, text.split('"uuid":[')[1].split("]")[0].split(",")))
        own = {data[4:20] for stream in streams(os.path.join(folder, trace)).values() for _, _, data in stream}
        assert own <= {message}, (trace, message.hex(), own)
        found[trace] = message
    return found


class Again(unittest.TestCase):
    """Several receivers of one trace."""

    def receivers(self, output_of, form):
        """A recording of two programs that three receivers get, one after the other; returns the messages of each."""
        port, = ports(1)
        name = f"again-{form}-{output_of(1) == output_of(2)}"
        trace = os.path.join(WORK, name)
        options = ("--format", "ctf2") if form == "ctf2" else ()
        program = start(SIDE, "record", "-o", trace, *options, "--to", f"tcp://127.0.0.1:{port}", "--", "sh", "-c",
                        f"{TALKER} 50; {TALKER} 100 lines", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.assertEqual(program.stdout.readline(), b"ready\n")
        got = []
        for turn in range(1, 4):
            program.stdin.write(b"300\n")
            program.stdin.flush()
            self.assertEqual(program.stdout.readline(), b"said\n")
            out = os.path.join(WORK, name + output_of(turn))
            receiver = start(SIDE, "receive", "--json", "--listen", f"127.0.0.1:{port}", "-o", out, "--force")
            if turn == 3:
                finish(program)
            else:
                wait_until(lambda: os.path.isdir(out) and side("view", out, "-e", "talker:line", check=False)
                      .stdout.count(b"\n") >= (300 * turn if output_of(1) == output_of(2) else 300), "the events that arrived")
                receiver.terminate()
            got.append(result(finish(receiver, None)[1], "received"))
        return trace, sorted({os.path.join(WORK, name + output_of(turn)) for turn in (1, 2, 3)}), got

    def check(self, output_of, form="ctf1"):
        trace, outputs, got = self.receivers(output_of, form)
        whole = 3 * 150 + 900
        self.assertEqual(sum(each["events"] for each in got), whole, got)
        for each in got:
            self.assertEqual((each["lost_events"], each["lost_packets"], each["dropped_events"]), (0, 0, 0))
        self.assertEqual(got[2]["earlier_events"], got[0]["events"] + got[1]["events"])
        known = [uuid for output in outputs for uuid in uuids(output).values()]
        self.assertEqual(len(set(known)), len(known), known)
        seen = sum(side("view", output).stdout.count(b"\n") for output in outputs)
        self.assertEqual(seen, whole)
        if form == "ctf1":
            self.assertEqual(babeltrace(trace), (whole, ""))
            self.assertEqual(babeltrace(*outputs), (whole, ""))

    def test_same_output(self):
        self.check(lambda turn: ".out")

    def test_same_output_ctf2(self):
        self.check(lambda turn: ".out", "ctf2")

    def test_other_output(self):
        """Readers merge traces of one UUID, in whatever directories they are."""
        self.check(lambda turn: f".out{turn}")

    def test_sent_twice(self):
        """Two copies in one output are two traces."""
        for form, options in (("ctf1", ()), ("ctf2", ("--format", "ctf2"))):
            trace = record(os.path.join(WORK, f"twice-{form}"), 200, *options)
            out = os.path.join(WORK, f"twice-{form}.out")
            for turn in (1, 2):
                file = os.path.join(WORK, f"twice-{form}.bytes{turn}")
                side("send", trace, file)
                side("receive", file, "-o", out, "--force")
            known = uuids(out)
            self.assertEqual((len(known), len(set(known.values()))), (2, 2))
            self.assertEqual(side("view", out).stdout.count(b"\n"), 2 * 600)
            if form == "ctf1":
                self.assertEqual(babeltrace(out), (2 * 600, ""))

    def test_late_on_a_line(self):
        """Two receivers on one line, where nothing is acknowledged: each has a correct trace, and both
        traces together are correct.
        """
        trace = record(os.path.join(WORK, "line"), 20000)
        file = os.path.join(WORK, "line.bytes")
        side("send", trace, file)
        with open(file, "rb") as stream:
            data = stream.read()
        cut = len(data) // 2
        outputs, got = [], []
        for name, part in (("first", data[:cut]), ("second", data[cut:])):
            with open(f"{file}.{name}", "wb") as stream:
                stream.write(part)
            outputs.append(os.path.join(WORK, f"line.{name}"))
            got.append(receive(f"{file}.{name}", outputs[-1], None))
        known = [uuid for output in outputs for uuid in uuids(output).values()]
        self.assertEqual(len(set(known)), 2)
        events, complaints = babeltrace(*outputs)
        self.assertEqual(events, got[0]["events"] + got[1]["events"])
        for number in re.findall(r"discarded (\d+) events", complaints):
            self.assertLessEqual(int(number), 60000)


class Hostile(unittest.TestCase):
    """A peer cannot keep a receiver busy, which still receives from a real sender."""

    @classmethod
    def setUpClass(cls):
        cls.trace = record(os.path.join(WORK, "hostile"), 100)

    def receiver(self, name, **more):
        self.port, = ports(1)
        self.out = os.path.join(WORK, name)
        receiver = start(SIDE, "receive", "--listen", f"127.0.0.1:{self.port}", "-o", self.out, stderr=subprocess.PIPE, **more)
        self.assertIn(b"listening", receiver.stderr.readline())
        return receiver

    def connect(self, source="127.0.0.1"):
        client = socket.create_connection(("127.0.0.1", self.port), timeout=60, source_address=(source, 0))
        self.addCleanup(client.close)
        return client

    def send(self, receiver):
        side("send", self.trace, f"tcp://127.0.0.1:{self.port}")
        receiver.communicate(timeout=120)
        self.assertEqual(receiver.returncode, 0)
        same(self.trace, self.out)

    def sleeps(self, receiver):
        """Returns how often the process has waited."""
        return int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)$", read_status(receiver.pid), re.M).group(1))

    def test_no_descriptors(self):
        """Connections that cannot be accepted stay in the queue: the receiver pauses, it does not spin."""
        receiver = self.receiver("few", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (10, 10)))
        clients = [self.connect() for _ in range(14)]
        wait_until(lambda: len(os.listdir(f"/proc/{receiver.pid}/fd")) == 10, "all descriptors in use")
        before = self.sleeps(receiver)
        # A process that spins never waits.
        wait_until(lambda: self.sleeps(receiver) >= before + 5, "pauses")
        for client in clients:
            client.close()
        self.send(receiver)

    def test_silent(self):
        """A connection that delivers no session is closed; one that does is kept, however long it is silent."""
        receiver = self.receiver("silent")
        silent, garbage = self.connect(), self.connect()
        garbage.sendall(b"GET / HTTP/1.0\r\n\r\n")
        self.assertEqual((silent.recv(1), garbage.recv(1)), (b"", b""))
        self.send(receiver)

    def test_many_of_one_peer(self):
        receiver = self.receiver("many")
        clients = [self.connect() for _ in range(40)]
        other = self.connect("127.0.0.2")

        def is_open(client):
            client.setblocking(False)
            try:
                return client.recv(1) != b""
            except BlockingIOError:
                return True

        wait_until(lambda: sum(not is_open(client) for client in clients) >= 8, "connections that are refused")
        # All others are refused for their silence only, which takes longer.
        self.assertTrue(is_open(other))
        for client in clients:
            client.close()
        other.close()
        self.send(receiver)

    def test_isolated(self):
        """The receiver parses without running programs, opening connections, or writing outside the output."""
        if os.environ["SEND_SECCOMP"] != "true":
            self.skipTest("built without libseccomp")
        receiver = self.receiver("isolated")
        wait_until(lambda: "Seccomp:\t2" in read_status(receiver.pid), "the filter of system calls")
        self.assertIn("NoNewPrivs:\t1", read_status(receiver.pid))
        self.send(receiver)


class Ends(unittest.TestCase):
    """One signal ends the commands that otherwise wait: complete packets are delivered, and the
    summary has the remainder.
    """

    @classmethod
    def setUpClass(cls):
        cls.trace = record(os.path.join(WORK, "trace"), 40000)

    def ended(self, sender, number, wanted):
        """The process gets only this one signal."""
        sender.send_signal(number)
        _, err = finish(sender, wanted)
        return err

    def remains(self, sender, number, target):
        err = self.ended(sender, number, 1)
        self.assertRegex(err, r"not everything was delivered: [\d.,]+ \S+ remain, and the recorded data is in " + re.escape(self.trace))
        self.assertIn(f"`side send {self.trace} {target}` sends it again", err)

    def test_no_receiver(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            target = f"tcp://127.0.0.1:{ports(1)[0]}"
            sender = start(SIDE, "send", self.trace, target)
            self.assertIn(b"side tries again", sender.stderr.readline())
            self.remains(sender, number, target)

    def test_a_receiver_that_takes_nothing(self):
        listener = socket.create_server(("127.0.0.1", 0))
        target = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sender = start(SIDE, "send", self.trace, target)
        connection, _ = listener.accept()
        connection.recv(100)
        self.remains(sender, signal.SIGTERM, target)
        connection.close()
        listener.close()

    def test_pipes(self):
        """Without a reader, and with one that reads nothing."""
        fifo = os.path.join(WORK, "ends.fifo")
        os.mkfifo(fifo)
        sender = start(SIDE, "send", self.trace, fifo)
        self.assertIn(b"no process reads from it", sender.stderr.readline())
        self.remains(sender, signal.SIGINT, fifo)
        sender = start(SIDE, "send", self.trace, "-", stdout=subprocess.PIPE)
        # Its first byte: the sender runs, and the pipe does not take all.
        os.read(sender.stdout.fileno(), 1)
        sender.send_signal(signal.SIGTERM)
        self.assertEqual(sender.wait(WAIT), 1)
        self.assertIn(b"not everything was delivered", sender.stderr.read())

    def test_running_recording(self):
        """All existing packets are delivered, and these are all."""
        trace, out = os.path.join(WORK, "live"), os.path.join(WORK, "live.out")
        recorder = start(SIDE, "record", "-o", trace, "--", "sh", "-c", f"{TALKER} 1000; echo ready; exec sleep 1000", stdout=subprocess.PIPE)
        self.assertEqual(recorder.stdout.readline(), b"ready\n")
        # The recorder has fetched everything: a sender delivers what is in files.
        wait_until(lambda: side("view", trace, check=False).stdout.count(b"talker:said") == 3000, "all events in files")
        port, = ports(1)
        receiver = start(SIDE, "receive", "--json", "--keep", "--listen", f"127.0.0.1:{port}", "-o", out)
        sender = start(SIDE, "send", "--json", trace, f"tcp://127.0.0.1:{port}")
        wait_until(lambda: any(os.path.getsize(os.path.join(top, name)) for top, _, names in os.walk(out) for name in names
                          if name.startswith("ring")) if os.path.isdir(out) else False, "packets")
        sent = result(self.ended(sender, signal.SIGTERM, 0), "sent")
        self.assertEqual((sent["pending"], sent["events"]), (0, 3000))
        got = result(self.ended(receiver, signal.SIGTERM, 0), "received")
        self.assertEqual(got["events"], 3000)
        # A view that follows shows all existing events.
        viewer = start(SIDE, "view", "--follow", trace, stdout=subprocess.PIPE)
        message = 0
        while message < 3000:
            message += viewer.stdout.readline().count(b"talker:said")
        viewer.send_signal(signal.SIGINT)
        self.assertEqual(viewer.stdout.read().count(b"talker:said"), 0)
        self.assertEqual(viewer.wait(WAIT), 0)
        recorder.send_signal(signal.SIGTERM)
        recorder.communicate(timeout=WAIT)
        self.assertEqual(side("view", trace).stdout.count(b"talker:said"), 3000)


def read_status(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
        return file.read()


main()
