# SPDX-License-Identifier: MIT
"""Probes in programs of other users, as an administrator meets them: which changes of themselves they
made before, which ones they make afterwards, and why they are refused. None of them knows of
tracing.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

import bt2

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from waiting import stop_process, wait_until
from test_attach import TIMEOUT, SIDE, Case, Program
from test_real import free_port, need, wait_for_port

SERVICE = os.environ["ATTACH_SERVICE"]
NOBODY = 65534
ANSWER = sum(3 * number + 1 for number in range(5))
WORK = list(range(5))


def process_of(folder):
    """The directory of a trace is called NAME-PID-NUMBER, perhaps with a suffix."""
    return int(re.match(r"[a-z-]+-([0-9]+)-", os.path.basename(folder))[1])


def namespaces(*options):
    """Returns a command that starts a program in such namespaces, if that is permitted here."""
    words = ["unshare", *options]
    if not shutil.which("unshare") or subprocess.run([*words, "true"], capture_output=True, check=False).returncode:
        raise unittest.SkipTest("there are no such namespaces here")
    return words


class Users(Case):
    def setUp(self):
        super().setUp()
        if os.geteuid():
            self.skipTest("only root probes programs of others")
        os.chmod(self.runtime, 0o755)

    def service(self, *commands, before=(), program=SERVICE):
        started = self.start(program=program, before=before)
        for command in commands:
            started.ask(command, "done")
        if before:  # may have forked
            with open(f"/proc/{started.pid}/task/{started.pid}/children", encoding="ascii") as children:
                started.pid = int((children.read().split() or [started.pid])[0])
        return started

    def numbers(self, trace):
        """Returns the recorded arguments of service_work(), by the process id in the trace's name."""
        found = {}
        for folder, _, files in os.walk(trace):
            if "metadata" not in files:
                continue
            for one in bt2.TraceCollectionMessageIterator(folder):
                if isinstance(one, bt2._EventMessageConst) and one.event.name == "probe:service_work":
                    found.setdefault(process_of(folder), []).append(
                        int(one.event.payload_field["n"]))
        return found

    def begin(self, pid, *words):
        output = self.output()
        tracing = subprocess.Popen([SIDE, "trace", "-p", str(pid), "--function", "service_work", "--arg", "u64:n:%rdi",
                                    "-o", output, *words], stderr=subprocess.PIPE, text=True,
                                   env={**os.environ, "SIDE_RUNTIME": self.runtime})
        self.addCleanup(self.end, tracing)
        tracing.output, tracing.report = output, ""
        while "is set in process" not in tracing.report:
            line = tracing.stderr.readline()
            self.assertTrue(line, tracing.report)
            tracing.report += line
        return tracing

    def over(self, tracing):
        tracing.send_signal(signal.SIGINT)
        _, errors = tracing.communicate(timeout=TIMEOUT)
        self.assertEqual(tracing.returncode, 0, errors)
        return self.numbers(tracing.output)

    def traced(self, service, *words, number=None):
        """The service is recorded, is unchanged afterwards, and runs on."""
        signals = self.signals(service.pid)
        tracing = self.begin(service.pid, *words)
        self.assertEqual(service.ask("work 5", "worked")[1], str(ANSWER))
        self.assertEqual(self.over(tracing), {number or service.pid: list(range(5))})
        self.assertEqual(self.signals(service.pid), signals)
        self.assertEqual(service.ask("work 5", "worked")[1], str(ANSWER))

    def refused(self, sentence, service, *words, status=1):
        done = self.side("trace", "-p", str(service.pid), "--function", "service_work", "-o", self.output(), *words,
                         status=status)
        self.assertIn(sentence, done.stderr)
        self.assertEqual(service.ask("work 5", "worked")[1], str(ANSWER))


class Services(Users):
    def test_rights_given_up(self):
        self.traced(self.service(f"user {NOBODY}"))

    def test_not_dumpable(self):
        """Its files in /proc belong to root."""
        service = self.service(f"user {NOBODY}", "secret")
        self.assertEqual(os.stat(f"/proc/{service.pid}/mem").st_uid, 0)
        self.traced(service)

    def test_no_descriptors(self):
        self.traced(self.service(f"user {NOBODY}", "close"))
        self.traced(self.service(f"user {NOBODY}", "files 20", "locked"))

    def test_too_few_descriptors(self):
        service = self.service("files 3")
        self.refused("8 more for a moment\nhint: `prlimit --pid %d --nofile=8:" % service.pid, service)
        subprocess.run(["prlimit", "--pid", str(service.pid), "--nofile=8:"], check=True)
        self.traced(service)

    def test_sandbox(self):
        service = self.service(f"user {NOBODY}", "filter")
        self.refused("when it loads a library\nhint: if you know that the filter allows that: `--in-sandbox`\n", service)
        self.traced(service, "--in-sandbox")

    def test_vfork(self):
        """The thread that waits for its child cannot be borrowed; it can when it runs again."""
        service = self.start(program=SERVICE)
        service.process.stdin.write("vfork\n")
        service.process.stdin.flush()
        tracing = self.begin(service.pid)
        service.expect("done")
        self.assertEqual(service.ask("work 5", "worked")[1], str(ANSWER))
        self.assertEqual(self.over(tracing), {service.pid: list(range(5))})

    def test_children(self):
        """A worker that is forked during the recording, and then gives up its rights."""
        service = self.service()
        tracing = self.begin(service.pid)
        child = int(service.ask("fork 5", "forked")[1])
        worker = int(service.ask("spawn", "spawned")[1])
        time.sleep(0.2)
        numbers = self.over(tracing)
        self.assertEqual(numbers.pop(child), list(range(5)))
        self.assertEqual(set(numbers.pop(worker)), {7})
        self.assertEqual(numbers, {})

    def test_stopped_ended_and_traced(self):
        service = self.service()
        stop_process(service.pid)
        done = self.side("trace", "-p", str(service.pid), "--function", "service_work", status=1)
        stopped = f"({os.path.basename(SERVICE)[:15]}): it is stopped\nhint: continue it first: `kill -CONT {service.pid}`\n"
        self.assertEqual(done.stderr, f"side: cannot attach to {service.pid} {stopped}")
        self.assertEqual(self.side("detach", "-p", str(service.pid), status=1).stderr, f"side: cannot detach from {service.pid} {stopped}")
        os.kill(service.pid, signal.SIGCONT)
        if shutil.which("strace"):
            tracer = subprocess.Popen(["strace", "-qq", "-p", str(service.pid), "-o", self.file("strace")])
            wait_until(lambda: self.has_tracer(service.pid, tracer.pid), "the tracer", TIMEOUT)
            self.refused(f"{tracer.pid} (strace) is tracing it, and a program can have only one tracer\nhint: end that tracer first, or detach it\n", service, status=3)
            tracer.terminate()
            tracer.wait()
        self.traced(service)
        service.kill()
        done = self.side("trace", "-p", str(service.pid), "--function", "service_work", status=1)
        self.assertIn(f"there is no process {service.pid}", done.stderr)

    @unittest.skipUnless("ATTACH_32" in os.environ, "programs with 32 bits cannot be built here")
    def test_another_processor(self):
        program = self.start("calm", program=os.environ["ATTACH_32"])
        done = self.side("trace", "-p", str(program.pid), "--function", "main", status=1)
        self.assertIn("is a program for another processor (32 bits)", done.stderr)
        # The kernel does not set the probe either, so no hint suggests that.
        for words, why in ((("-c", os.environ["ATTACH_32"]), "has another word size (32 or 64 bits) than the installed agent"),
                           (("--global", "--exe", os.environ["ATTACH_32"]), "is for another processor: only x86-64 can be probed")):
            done = self.side("trace", *words, "--function", "main", status=1)
            self.assertTrue(done.stderr.endswith(why + "\n"), done.stderr)

    @staticmethod
    def has_tracer(pid, tracer):
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            return f"TracerPid:\t{tracer}\n" in status.read()

    def test_usage(self):
        self.assertIn("cannot use `-p` with COMMAND: `-p` traces a running program, and COMMAND starts one\nhint: leave one of them out\n",
                      self.side("trace", "-p", "1", "-c", "true", "--function", "f", status=2).stderr)
        self.assertIn("cannot use `--duration` with a command",
                      self.side("trace", "-c", "true", "--duration", "1s", "--function", "f", status=2).stderr)


PIVOT = """import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
os.chdir(sys.argv[1])
PIVOT_ROOT, DETACH = 155, 2
if libc.syscall(PIVOT_ROOT, b".", b".") or libc.umount2(b".", DETACH):
    sys.exit(os.strerror(ctypes.get_errno()))
os.chdir("/")
os.execv("/service", ["/service"])
"""


class Container(Users):
    def container(self, *options, then="", directories=(), pivot=False):
        """Makes a directory with a program, its libraries, /proc, and these writable directories only."""
        root = self.file("root")
        needed = subprocess.run(["ldd", SERVICE], capture_output=True, text=True, check=True).stdout
        for word in needed.split():
            if word.startswith("/"):
                os.makedirs(root + os.path.dirname(word), exist_ok=True)
                shutil.copy(word, root + word)
        for place in ("/proc", *directories):
            os.makedirs(root + place)
        shutil.copy(SERVICE, root + "/service")
        last = f"{sys.executable} -c '{PIVOT}' {root}" if pivot else f"chroot {root} /service"
        script = f"mount --bind {root} {root} && mount -t proc proc {root}/proc && {then} exec {last}"
        return [*namespaces("-m", "-p", "-f", "--kill-child", *options), "sh", "-c", script]


class Elsewhere(Container):
    """Programs that see other files, users, processes or networks."""

    def test_empty_root(self):
        """There is no common directory, and none of side's files; without /proc there are no probes, but a recorder."""
        os.mkdir(self.file("empty"), 0o755)
        service = self.service(f"root {self.file('empty')}", f"user {NOBODY}")
        self.refused("it has no /proc below its root directory", service)
        self.side("attach", "-p", str(service.pid), "-o", self.output(), "--duration", "100ms")
        self.assertEqual(os.listdir(self.file("empty")), [])

    def test_user_namespace(self):
        """A user namespace in which the user is root."""
        before = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
                  *namespaces("-U", "-r", "--kill-child", "-f")]
        if subprocess.run([*before, "true"], capture_output=True, check=False).returncode:
            self.skipTest("this user may not make a user namespace")
        self.traced(self.service(before=before))

    def test_read_only_container(self):
        read_only = f"mount -o remount,ro,bind {self.file('root')} &&"
        before = self.container("-n", then=read_only)
        started = Program(before)
        self.addCleanup(started.kill)
        if not started.process.stdout.readline():
            self.skipTest("nothing can be mounted here")
        with open(f"/proc/{started.pid}/task/{started.pid}/children", encoding="ascii") as children:
            started.pid = int(children.read().split()[0])
        self.traced(started, number=1)


@unittest.skipUnless("SIDED" in os.environ, "there is no daemon in this build")
class Daemon(Users):
    def setUp(self):
        super().setUp()
        self.sided = subprocess.Popen([os.environ["SIDED"], "--foreground"],
                                      env={**os.environ, "SIDE_RUNTIME": self.runtime})
        self.addCleanup(self.sided.wait)
        self.addCleanup(self.sided.terminate)
        wait_until(lambda: os.path.exists(self.runtime + "/control.sock"), "the daemon", TIMEOUT)
        self.trace = self.file("trace")
        self.side("create", "s", "-o", self.trace)
        self.side("start")

    def enable(self, pid, status=0, words=()):
        return self.side("enable-event", "service_work", "-u", "--pid", str(pid), "--function", "service_work",
                         "--arg", "u64:n:%rdi", "--timeout", "60s", *words, status=status).stderr


class Sessions(Daemon):
    def written_and_shared(self, pid):
        """Returns (device, inode) of each shared mapping that the process may write to."""
        with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
            lines = [line.split(None, 5) for line in maps]
        return {(fields[3], fields[4]) for fields in lines if fields[1][1] == "w" and fields[1][3] == "s"}

    def test_rights_given_up(self):
        """Before it is attached, and afterwards."""
        service, late = self.service(f"user {NOBODY}", "secret"), self.service()
        for one in (service, late):
            self.assertIn("1 jump", self.enable(one.pid))
        late.ask(f"user {NOBODY}", "done")
        for one in (service, late):
            one.ask("work 5", "worked")
        # No page of memory is writable for two processes.
        shared = [self.written_and_shared(one.pid) for one in (service, late)]
        self.assertTrue(shared[0] and shared[1])
        self.assertEqual(shared[0] & shared[1], set())
        for one in (service, late):
            self.side("disable-event", "service_work", "-u", "--pid", str(one.pid), "--timeout", "60s")
            one.ask("work 5", "worked")
        self.side("destroy", "--timeout", "60s")
        self.assertEqual(self.numbers(self.trace), {one.pid: list(range(5)) for one in (service, late)})

    def test_recorder_and_daemon_killed(self):
        service = self.service(f"user {NOBODY}")
        self.enable(service.pid)
        service.ask("work 5", "worked")
        self.sided.kill()
        self.sided.wait()
        self.assertIn("its sessions are saved", self.side("list").stderr)
        service.ask("work 5", "worked")
        self.side("daemon")  # starts another daemon
        service.ask("work 5", "worked")
        self.side("destroy", "s", "--timeout", "60s")
        self.side("list")
        self.assertEqual(self.numbers(self.trace), {service.pid: list(range(5)) * 3})
        with open(self.runtime + "/sided.pid", encoding="ascii") as pid:
            os.kill(int(pid.read()), signal.SIGTERM)

    def test_directories_without_access(self):
        """A directory that this user may not enter, and a root directory without /proc."""
        service = self.service(f"user {NOBODY}")
        os.chmod(self.dir, 0o700)
        self.assertIn("1 jump", self.enable(service.pid))
        service.ask("work 5", "worked")
        os.chmod(self.dir, 0o755)
        os.mkdir(self.file("empty"), 0o755)
        bare = self.service(f"root {self.file('empty')}")
        self.assertIn("it has no /proc below its root directory", self.enable(bare.pid, 1))
        self.side("attach", "--daemon", "-p", str(bare.pid), "-s", "s")
        self.assertRegex(self.side("status", "s").stdout, rf"attach-service +{bare.pid} ")
        self.side("destroy", "--timeout", "60s")
        self.assertEqual(self.numbers(self.trace), {service.pid: WORK})

    def test_nginx(self):
        """The master belongs to root, the workers do not, and new ones start when it reloads its configuration."""
        port, nginx = free_port(), need("nginx")
        os.mkdir(self.file("pages"), 0o755)
        with open(self.file("pages/page"), "wb") as page:
            page.write(b"page\n" * 1000)
        with open(self.file("nginx.conf"), "w", encoding="utf-8") as config:
            config.write(f"""user nobody nogroup; daemon off; worker_processes 1; pid {self.dir}/pid; error_log {self.dir}/errors;
                events {{ }}
                http {{ access_log off; client_body_temp_path {self.dir}/body; proxy_temp_path {self.dir}/proxy;
                        fastcgi_temp_path {self.dir}/fastcgi; uwsgi_temp_path {self.dir}/uwsgi;
                        scgi_temp_path {self.dir}/scgi; keepalive_timeout 0;
                        server {{ listen 127.0.0.1:{port}; root {self.dir}/pages; }} }}\n""")
        master = subprocess.Popen([nginx, "-p", self.dir, "-c", self.file("nginx.conf")], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)

        def end():
            master.terminate()
            master.wait(TIMEOUT)
        self.addCleanup(end)
        wait_for_port(port).close()

        def workers():
            with open(f"/proc/{master.pid}/task/{master.pid}/children", encoding="ascii") as children:
                return [int(pid) for pid in children.read().split()]

        def get(count):
            for _ in range(count):
                with wait_for_port(port) as one:
                    one.sendall(b"GET /page HTTP/1.0\r\n\r\n")
                    answer = b""
                    while more := one.recv(65536):
                        answer += more
                    self.assertTrue(answer.endswith(b"page\n" * 1000))
        get(1)
        worker, = workers()
        self.assertEqual(os.stat(f"/proc/{worker}").st_uid, NOBODY)
        where = ("-u", "--function", "ngx_http_process_request", "--timeout", "60s")
        done = self.side("enable-event", "one", "--pid", str(worker), *where)
        if "cannot" in done.stderr:
            self.skipTest("this nginx has no symbols")
        get(3)
        self.side("enable-event", "two", "--pid", str(master.pid), *where)
        master.send_signal(signal.SIGHUP)
        wait_until(lambda: worker not in workers() and len(workers()) == 1, "one new worker", TIMEOUT)
        get(4)
        new, = workers()
        self.side("destroy", "--timeout", "60s")
        found = {}
        for folder, _, files in os.walk(self.trace):
            if "metadata" in files:
                for one in bt2.TraceCollectionMessageIterator(folder):
                    if isinstance(one, bt2._EventMessageConst):
                        key = (process_of(folder), one.event.name)
                        found[key] = found.get(key, 0) + 1
        self.assertEqual(found, {(worker, "probe:one"): 3, (new, "probe:two"): 4})


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[1:])
