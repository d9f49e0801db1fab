# SPDX-License-Identifier: MIT
"""Attaching to real programs and detaching from them repeatedly, while they work: their clients check
each answer, and after each round the program has the same threads and descriptors as before.
"""
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import unittest
import urllib.request

from test_attach import TIMEOUT, PLAIN, Case, Program
from waiting import wait_until

ROUNDS = 1000 if os.environ.get("SIDE_TEST_LONG") else 5


def need(name):
    found = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
    if not found:
        raise unittest.SkipTest(f"{name} is not installed")
    return found


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def wait_for_port(port):
    def connect():
        with contextlib.suppress(ConnectionRefusedError):
            return socket.create_connection(("127.0.0.1", port), 5)
        return None

    return wait_until(connect, "it listens", TIMEOUT)


class Load(threading.Thread):
    """Sends requests without a pause until it is stopped; a wrong or missing answer ends it."""

    def __init__(self, ask):
        super().__init__(daemon=True)
        self.ask, self.asked, self.failure, self.over = ask, 0, None, threading.Event()
        self.start()

    def run(self):
        try:
            while not self.over.is_set():
                self.ask(self.asked)
                self.asked += 1
        except Exception as failure:
            self.failure = failure

    def stop(self):
        self.over.set()
        self.join(TIMEOUT)


class Redis:
    """The protocol of redis, as far as SET and GET need it."""

    def __init__(self, port):
        self.socket = wait_for_port(port)
        self.answers = self.socket.makefile("rb")

    def __call__(self, number):
        key, value = f"key:{number % 512}".encode(), f"value {number} ".encode() * (number % 40 + 1)
        for words in ((b"SET", key, value), (b"GET", key)):
            self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
        assert self.answers.readline() == b"+OK\r\n"
        assert self.answers.readline() == b"$%d\r\n" % len(value)
        assert self.answers.read(len(value) + 2) == value + b"\r\n"


class Real(Case):
    def resources_of(self, pid):
        """Returns threads and descriptors, without those that exist for one answer only, and the
        signals that are handled or ignored.
        """
        files = []
        for fd in os.listdir(f"/proc/{pid}/fd"):
            try:
                files.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
            except FileNotFoundError:
                continue
        lasting = sorted(file for file in files if not file.startswith("socket:") and not file.endswith("/page"))
        return len(os.listdir(f"/proc/{pid}/task")), lasting, self.signals(pid)

    def rounds(self, pid, ask=None):
        """The first round leaves the libraries; after it, nothing may change. In each round the program works."""
        load = Load(ask) if ask else None

        def resources():
            """A server opens files on its own (redis: its /proc/PID/stat), and closes them again."""
            found = self.resources_of(pid)
            return None if f"/proc/{pid}/stat" in found[1] else found

        def await_answer(asked):
            def answers():
                self.assertIsNone(load.failure)
                return load.asked != asked

            wait_until(answers, "it answers", TIMEOUT)

        if load:
            await_answer(0)
        before, signals = None, self.resources_of(pid)[-1]
        for nr in range(ROUNDS + 1):
            asked = load.asked if load else 0
            done = self.side("attach", "-p", str(pid), "--symbols", "-o", self.output(), "--duration", "20ms")
            self.assertIn("recorded", done.stderr)
            if load:
                await_answer(asked)
            shutil.rmtree(f"{self.dir}/out-{self.outputs}")
            now = wait_until(resources, f"/proc/{pid}/stat is closed", TIMEOUT)
            before = before or now
            self.assertEqual(now, before, f"round {nr}")
            self.assertEqual(now[-1], signals, f"round {nr}")
        if load:
            load.stop()
            self.assertIsNone(load.failure)
            self.assertGreater(load.asked, ROUNDS)

    def run_server(self, *words, **options):
        server = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.dir, **options)

        def end():
            server.terminate()
            server.wait(TIMEOUT)

        self.addCleanup(end)
        return server

    def test_redis(self):
        port = free_port()
        server = self.run_server(need("redis-server"), "--port", str(port), "--bind", "127.0.0.1", "--save", "",
                                 "--io-threads", "2")
        self.rounds(server.pid, Redis(port))
        self.assertIsNone(server.poll())

    def test_nginx(self):
        port = free_port()
        pages = self.file("pages")
        os.mkdir(pages, 0o755)
        content = b"".join(b"%d\n" % i for i in range(5000))
        with open(self.file("pages/page"), "wb") as page:
            page.write(content)
        with open(self.file("nginx.conf"), "w", encoding="utf-8") as config:
            config.write(f"""daemon off; worker_processes 2; pid {self.dir}/pid; error_log {self.dir}/errors;
                events {{ }}
                http {{ access_log off; client_body_temp_path {self.dir}/body; proxy_temp_path {self.dir}/proxy;
                        fastcgi_temp_path {self.dir}/fastcgi; uwsgi_temp_path {self.dir}/uwsgi;
                        scgi_temp_path {self.dir}/scgi;
                        server {{ listen 127.0.0.1:{port}; root {pages}; }} }}\n""")
        server = self.run_server(need("nginx"), "-p", self.dir, "-c", self.file("nginx.conf"))
        wait_for_port(port).close()

        def both_workers():
            with open(f"/proc/{server.pid}/task/{server.pid}/children", encoding="ascii") as children:
                found = [int(pid) for pid in children.read().split()]
            return found if len(found) >= 2 else None

        # It listens before it creates them.
        workers = wait_until(both_workers, "both workers run", TIMEOUT)

        def ask(_):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/page", timeout=TIMEOUT) as answer:
                assert answer.read() == content

        for worker in workers:
            self.rounds(worker, ask)
        self.assertIsNone(server.poll())

    def converse(self, program, source):
        """Starts a program that works until its input ends, and prints the numbers of right and wrong results."""
        talker = Program([program, *source])
        self.addCleanup(talker.kill)
        talker.expect("ready")
        self.rounds(talker.pid)
        talker.process.send_signal(signal.SIGINT)
        _, right, wrong = talker.expect("rounds")
        self.assertGreater(int(right), 0)
        self.assertEqual(int(wrong), 0)

    def test_python(self):
        self.converse(sys.executable, ["-c", """
import hashlib, json, signal, sys, threading
over = threading.Event()
signal.signal(signal.SIGINT, lambda *_: over.set())
counts = [0, 0]
def work():
    while not over.is_set():
        data = {str(i): [i] * (i % 7) for i in range(200)}
        text = json.dumps(data)
        good = json.loads(text) == data and hashlib.sha256(text.encode()).hexdigest() == digest
        counts[0 if good else 1] += 1
digest = hashlib.sha256(json.dumps({str(i): [i] * (i % 7) for i in range(200)}).encode()).hexdigest()
threads = [threading.Thread(target=work) for _ in range(2)]
for one in threads: one.start()
print('ready', flush=True)
work()
for one in threads: one.join()
print('rounds', *counts, flush=True)
"""])

    def test_node(self):
        self.converse(need("node"), ["-e", """
const crypto = require('crypto');
const data = [...Array(200).keys()].map((i) => ({ i, list: Array(i % 7).fill(i) }));
const digest = crypto.createHash('sha256').update(JSON.stringify(data)).digest('hex');
let right = 0, wrong = 0;
function round() {
  const text = JSON.stringify(JSON.parse(JSON.stringify(data)));
  crypto.createHash('sha256').update(text).digest('hex') === digest ? right++ : wrong++;
}
const timer = setInterval(() => { for (let i = 0; i < 20; i++) round(); }, 1);
process.on('SIGINT', () => { clearInterval(timer); console.log('rounds', right, wrong); process.exit(0); });
console.log('ready');
"""])

    def test_malloc(self):
        """Threads that allocate all the time and check that no other thread has the same memory."""
        program = self.start("busy", program=PLAIN)
        self.rounds(program.pid)
        self.assertEqual(program.ask("status", "came-back")[1:], ["0", "wrong", "0"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
