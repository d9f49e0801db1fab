# SPDX-License-Identifier: MIT
"""Rights of a member of the group `tracing` with the system's daemon, and attempts to exceed them (docs/explanation/security.md)."""
import contextlib
import errno
import json
import os
import platform
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

import world
from world import BASE, CONTROL, SESSION, Case, Victim, attacker, member, second_member

import speaker

MINE = "mine"
VERBS = ("start", "stop", "destroy", "statedump", "rotate", "clear", "snapshot", "status", "list", "save", "top", "enable-event",
         "disable-event", "enable-channel", "disable-channel", "add-context", "track", "untrack", "enable-probe", "disable-probe")


class Sink(threading.Thread):
    """Accepts connections and keeps all bytes."""

    def __init__(self):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.data = b""
        self.start()

    def run(self):
        while True:
            try:
                one, _ = self.listener.accept()
            except OSError:
                return
            with one:
                one.settimeout(5)
                try:
                    while part := one.recv(65536):
                        self.data += part
                except OSError:
                    pass


class Members(Case):
    def as_member(self, *arguments, user=member, fails=False, **changes):
        result = self.side_as(user, *arguments, **changes)
        self.assertEqual(bool(result.returncode), fails, f"side {' '.join(arguments)}: {result.stdout}{result.stderr}")
        return result.stderr if fails else result.stdout

    def run_own(self, count, user=member):
        """Runs a program of the member."""
        one = Victim(count, 4, user=user).finish()
        self.victims.append(one)
        return one

    def begin(self, name=MINE, user=member, *options):
        """A session of a member that records; returns its directory."""
        self.as_member("create", name, *options, user=user)
        self.as_member("enable-event", "-s", name, "app:*", user=user)
        self.as_member("start", "-s", name, user=user)
        return self.ask("status", name)["sessions"][0]["output"]

    def ask_as(self, user, request):
        """Returns the answer to a request of this user, made by a process of this user."""
        def ask():
            try:
                answer = speaker.ask(CONTROL, request)
            except OSError as error:
                return type(error).__name__
            return f"{answer['ok']} {answer.get('kind')} {answer.get('error')} {json.dumps(answer)}"
        return world.call_as(user, ask)

    def open_as(self, user, path):
        """Returns None, or the reason why this user cannot open a file or a directory."""
        def try_open():
            try:
                os.close(os.open(path, os.O_RDONLY))
            except OSError as error:
                return errno.errorcode[error.errno]
            return ""
        return world.call_as(user, try_open) or None

    def everything_below(self, directory):
        yield directory
        for path, directories, files in os.walk(directory):
            for name in directories + files:
                yield os.path.join(path, name)

    # ---- what members can do ----

    def test_members_read_their_own_traces(self):
        output = self.begin()
        one = self.run_own(500)
        self.as_member("stop", "-s", MINE)
        for path in self.everything_below(output):
            status = os.lstat(path)
            self.assertEqual((status.st_uid, status.st_gid), (member.uid, member.uid), path)
            self.assertFalse(status.st_mode & 0o077, f"{path} has mode {stat.S_IMODE(status.st_mode):o}")
        seen = self.as_member("view", output)
        self.assertEqual(seen.count("app:tick"), one.count)
        self.assertEqual(self.sequences(output)[one.pid], list(range(one.count)))
        self.as_member("destroy", MINE)
        self.assertEqual(self.as_member("view", output).count("app:tick"), one.count)

    def test_members_rotate_and_take_snapshots(self):
        output = self.begin()
        self.run_own(200)
        self.as_member("rotate", "-s", MINE)
        self.run_own(200)
        self.as_member("stop", "-s", MINE)
        self.as_member("destroy", MINE)
        self.assertEqual(sum(len(numbers) for numbers in self.sequences(output).values()), 400)

    def test_a_session_of_a_member_survives_the_daemon(self):
        output = self.begin()
        one = Victim(3000, 4, user=member).await_main()
        self.addCleanup(one.kill)
        time.sleep(0.2)
        self.daemon.kill()
        self.daemon.wait()
        self.start_daemon()
        one.finish()
        self.as_member("stop", "-s", MINE)
        self.assertEqual(self.sequences(output)[one.pid], list(range(one.count)))
        self.as_member("destroy", MINE)
        for path in self.everything_below(output):
            self.assertEqual(os.lstat(path).st_uid, member.uid, path)

    def test_members_send_their_own_traces(self):
        sink = Sink()
        self.begin(MINE, member, "--to", f"tcp://127.0.0.1:{sink.port}", "--send-timeout", "1s")
        self.run_own(500)
        self.as_member("stop", "-s", MINE)
        world.wait_until(lambda: b"of the victim" in sink.data, "events at the receiver", world.TIMEOUT)
        sink.listener.close()

    def test_members_name_a_new_directory(self):
        output = self.begin(MINE, member, "-o", f"{BASE}/named")
        self.assertEqual(output, f"{BASE}/named")
        self.assertEqual(os.stat(output).st_uid, member.uid)

    def probe(self, pid, fails=False):
        return self.as_member("enable-event", "-s", MINE, "pause", "-u", "--function", "libc:usleep", "--pid", str(pid), fails=fails)

    def test_members_probe_their_own_programs(self):
        """And not those of other users. The session reads the table of probes from a directory that
        only root may enter.
        """
        if platform.machine() != "x86_64" or world.SANITIZED:
            self.skipTest("there are no probes for such programs")
        output = self.begin()
        own = Victim(10000, 4, stays=True, user=member).await_main()
        self.addCleanup(own.kill)
        other = self.start_victim(10000, 4, stays=True).await_main()
        self.probe(own.pid)
        self.probe(other.pid, fails=True)
        own.finish()
        other.finish()
        self.as_member("stop", "-s", MINE)
        hits = self.as_member("view", output, "-e", "probe:pause")
        self.assertIn(f":{own.pid} ", hits)
        self.assertNotIn(f":{other.pid} ", hits)

    def test_members_probe_files_that_do_not_exist_yet(self):
        """The daemon resolves the probe with the rights of the member, and only for the member's programs."""
        if platform.machine() != "x86_64" or world.SANITIZED:
            self.skipTest("there are no probes for such programs")
        output = self.begin()
        later, libside = "/tmp/later-victim", os.path.join(world.environment()["SIDE_LIB_DIR"], "../../libside")
        self.addCleanup(lambda: os.path.exists(later) and os.unlink(later))
        self.as_member("enable-event", "begin", "-s", MINE, "--exe", later, "--function", "main")
        shutil.copy(world.VICTIM, later)
        os.chmod(later, 0o755)
        for user in (world.victim, member):
            subprocess.run([later, "10", "4"], env=world.environment(LD_LIBRARY_PATH=libside), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           timeout=world.TIMEOUT, check=True, **user.options())
            (probe,) = self.ask("status", MINE)["sessions"][0]["probes"]
            self.assertEqual((probe["state"], probe["uid"]), ("set" if user is member else "pending", member.uid), probe)
        self.as_member("stop", "-s", MINE)
        self.assertEqual(self.as_member("view", output, "-e", "probe:begin").count("probe:begin"), 1)

    def test_members_probe_no_program_with_capabilities(self):
        """A process with ambient capabilities is dumpable, and the kernel lets its own user not trace it."""
        if platform.machine() != "x86_64" or world.SANITIZED:
            self.skipTest("there are no probes for such programs")
        output = self.begin()
        own = Victim(10000, 4, stays=True, user=member).await_main()
        strong = Victim(10000, 4, stays=True, user=world.ROOT_USER, before=[
            "setpriv", f"--reuid={member.uid}", f"--regid={member.uid}", "--clear-groups", "--inh-caps=+net_raw",
            "--ambient-caps=+net_raw"]).await_main()
        for one in (own, strong):
            self.addCleanup(one.kill)
        # Of each process of the file.
        self.as_member("enable-event", "-s", MINE, "pause", "-u", "--function", "libc:usleep", "--exe", world.VICTIM)
        own.finish()
        strong.finish()
        self.as_member("stop", "-s", MINE)
        hits = self.as_member("view", output, "-e", "probe:pause")
        self.assertIn(f":{own.pid} ", hits)
        self.assertNotIn(f":{strong.pid} ", hits)

    # ---- what they cannot do ----

    def test_members_record_their_own_programs_only(self):
        """Not even by the session's socket; nor do commands of a member wait for programs of other
        users, or name them.
        """
        output = self.begin()
        other = self.start_victim(4000, stays=True).await_main()
        as_root = Victim(200, 4, user=world.ROOT_USER).finish()
        own = self.run_own(300)
        world.stop_process(other.pid)
        begin = time.monotonic()
        answer = self.ask_as(member, {"verb": "enable-event", "session": MINE, "event": ["more:*"], "timeout": 20000000000})
        self.assertLess(time.monotonic() - begin, 10)
        self.assertIn('"pending": []', answer)
        os.kill(other.pid, signal.SIGCONT)
        self.assertTrue(self.open_instance(world.victim, MINE).startswith("refused"))
        self.assertEqual(self.open_instance(member, MINE), "accepted")
        answer = self.ask_as(member, {"verb": "list"})
        listed = {one["uid"] for one in json.loads(answer[answer.index("{"):])["processes"]}
        self.assertLessEqual(listed, {member.uid})
        self.as_member("stop", "-s", MINE)
        found = self.sequences(output)
        self.assertEqual(found.get(own.pid), list(range(300)))
        self.assertNotIn(other.pid, found)
        self.assertNotIn(as_root.pid, found)
        other.finish()

    def open_instance(self, user, session):
        """Returns the answer of a session to a program of this user that sends HELLO to its socket."""
        def introduce():
            try:
                speaker.Instance(f"{world.RUNTIME}/sessions/{session}.sock", 77).close()
            except (OSError, ValueError, struct.error) as error:
                return f"refused: {error}"
            return "accepted"
        return world.call_as(user, introduce)

    def test_members_have_no_part_in_sessions_of_others(self):
        self.begin("second", second_member)
        for name in (SESSION, "second"):
            before = self.ask("save", name)["definitions"]
            for verb in VERBS:
                text = self.ask_as(member, {"verb": verb, "session": name})
                self.assertTrue(text.startswith("False permission"), f"{verb} {name}: {text}")
            text = self.ask_as(member, {"verb": "load", "definition": before[0], "force": True})
            self.assertTrue(text.startswith("False"), text)
            self.assertEqual(self.ask("save", name)["definitions"], before)
            self.assertEqual(self.ask("status", name)["sessions"][0]["state"], "active")
        self.begin()
        for verb in ("list", "status", "save"):
            text = self.ask_as(member, {"verb": verb})
            self.assertTrue(text.startswith("True"), text)
            answer = json.loads(text[text.index("{"):])
            names = [one["name"] for one in answer.get("sessions", []) + answer.get("definitions", [])]
            self.assertEqual(names, [MINE], verb)

    def test_members_cannot_read_traces_of_others(self):
        output = self.ask("status", SESSION)["sessions"][0]["output"]
        second = self.begin("second", second_member)
        self.run_victim(200)
        self.side("stop", "-s", SESSION)
        for user in (member, attacker, world.victim):
            self.assertEqual(self.open_as(user, BASE), "EACCES", "the directory of all traces can be listed")
            for directory in (output, second):
                for path in self.everything_below(directory):
                    self.assertEqual(self.open_as(user, path), "EACCES", path)
            for path in self.everything_below("/dev/shm"):
                if path != "/dev/shm":
                    self.assertEqual(self.open_as(user, path), "EACCES", path)
            self.assertEqual(self.open_as(user, f"{world.RUNTIME}/state"), "EACCES")

    def test_members_cannot_record_to_directories_that_exist(self):
        """`-o BASE/ --to tcp://…` would send recordings of other users, `-o` of another session would mix with it."""
        sink = Sink()
        self.run_victim(300)
        self.side("rotate", "-s", SESSION)
        root = self.ask("status", SESSION)["sessions"][0]["output"]
        os.mkdir(f"{BASE}/empty", 0o700)
        before = self.content(BASE)
        for path in (f"{BASE}/", BASE, f"{BASE}//", f"{BASE}/.", f"{BASE}/..", f"{BASE}/../side", f"{BASE}/../../../tmp/x",
                     f"{BASE}/.hidden", f"{BASE}/a/b", root, f"{root}/below", f"{BASE}/empty", "/tmp/elsewhere",
                     "/etc/cron.d/side", f"/tmp/{member.name}/own"):
            for how in ("create", "load"):
                request = {"verb": how, "session": MINE}
                to = {"to": f"tcp://127.0.0.1:{sink.port}"}
                request.update({"output": path, **to} if how == "create" else
                               {"definition": {**self.ask("save", SESSION)["definitions"][0], "name": MINE, "output": path, **to}})
                text = self.ask_as(member, request)
                if text.startswith("True"):
                    # A new directory by its name; an existing one is detected when it is made.
                    text = self.ask_as(member, {"verb": "start", "session": MINE})
                    self.ask("destroy", MINE)
                self.assertTrue(text.startswith("False"), f"{path}: {text}")
        self.assertEqual(self.content(BASE), before)
        self.assertFalse(os.path.exists("/tmp/elsewhere"))
        self.assertNotIn(b"of the victim", sink.data)
        sink.listener.close()

    def content(self, directory):
        return sorted(path for path in self.everything_below(directory))

    def test_members_cannot_have_the_daemon_write_elsewhere(self):
        """Links in a member's own traces lead nowhere that this member could not write."""
        os.mkdir("/tmp/of-root", 0o755)
        output = self.begin()
        recorder = self.ask("status", MINE)["sessions"][0]["recorder"]
        own = Victim(3000, 4, user=member).await_main()
        self.addCleanup(own.kill)
        time.sleep(0.3)
        names = [name for name in os.listdir(output) if os.path.isdir(f"{output}/{name}")]
        script = "; ".join([f"cd {output}", "umask 0", *(f"mv {name} {name}.aside && ln -s /tmp/of-root {name}" for name in names),
                            "for n in 1 2 3 4; do ln -s /tmp/of-root chunk-$n; ln -s /tmp/of-root hostile-program-$n; done"])
        self.run_as(member, ["sh", "-c", script])
        # It does not matter whether these succeed: the member has damaged its own traces.
        for verb in ("rotate", "stop", "start", "rotate", "stop"):
            self.ask_as(member, {"verb": verb, "session": MINE, "timeout": 2000000000})
        own.finish()
        self.ask_as(member, {"verb": "destroy", "session": MINE})
        self.assertEqual(os.listdir("/tmp/of-root"), [])
        os.rmdir("/tmp/of-root")
        self.assertTrue(recorder)
        self.assert_daemon_is_whole()
        # The session of root continues.
        self.run_victim(100)
        self.assert_victims_complete()

    def check_powers(self, path):
        with open(path, encoding="utf-8") as file:
            status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
        self.assertEqual(status["Uid"].split()[3], str(member.uid), f"accesses to files of {status['Name']} are the member's")
        self.assertEqual(status["Gid"].split()[3], str(member.uid))
        self.assertEqual(status["Groups"].split(), [])
        # chown, dac_override, dac_read_search, fowner, setgid, setuid, sys_admin, sys_resource, mknod
        for capability in (0, 1, 2, 3, 6, 7, 21, 24, 27):
            self.assertFalse(int(status["CapEff"], 16) >> capability & 1, f"capability {capability} of {status['Name']}")
            self.assertFalse(int(status["CapPrm"], 16) >> capability & 1, f"capability {capability} of {status['Name']}")

    def test_processes_of_a_member_have_no_power_over_files(self):
        self.begin(MINE, member, "--to", "tcp://127.0.0.1:1", "--send-timeout", "1s")
        session = self.ask("status", MINE)["sessions"][0]
        for pid in (session["recorder"], session["sending"]["pid"]):
            # Each thread has permissions of its own.
            for task in os.listdir(f"/proc/{pid}/task"):
                self.check_powers(f"/proc/{pid}/task/{task}/status")
            self.assertEqual(self.run_as(member, ["kill", "-0", str(pid)]).returncode == 0, pid != session["recorder"])

    def test_threads_of_a_recorder_have_no_power_over_files(self):
        """The thread that closes descriptors has no power over files either. The first descriptor starts it, after all other threads."""
        self.stop_daemon()
        # Otherwise the kernel refuses descriptors.
        self.older_kernel = True
        self.start_daemon()
        self.begin()
        recorder = self.ask("status", MINE)["sessions"][0]["recorder"]

        def send():
            with speaker.connect(f"{world.RUNTIME}/sessions/{MINE}.sock") as one, open("/dev/null", "rb") as file:
                speaker.send_with(one, b"x", file.fileno())
                # The connection ends, or is reset because the descriptor was not read.
                with contextlib.suppress(ConnectionResetError):
                    return str(len(one.recv(1)))
            return "0"
        self.assertEqual(world.call_as(member, send), "0")

        def names():
            found = []
            for task in os.listdir(f"/proc/{recorder}/task"):
                with contextlib.suppress(OSError), open(f"/proc/{recorder}/task/{task}/comm", encoding="utf-8") as file:
                    found.append(file.read().strip())
            return found
        # The thread that closes the descriptor exits.
        world.wait_until(lambda: sorted(names()) == ["side-deferred", "sided-session", "sided-session"], "the threads of the recorder", world.TIMEOUT)
        for task in os.listdir(f"/proc/{recorder}/task"):
            self.check_powers(f"/proc/{recorder}/task/{task}/status")

    def test_members_do_not_write_files_by_sending(self):
        text = self.as_member("create", MINE, "--to", f"/tmp/{member.name}/stream")
        self.as_member("enable-event", "-s", MINE, "app:*")
        self.side_as(member, "start", "-s", MINE)
        self.run_own(50)
        self.side_as(member, "stop", "-s", MINE)
        self.assertFalse(os.path.exists(f"/tmp/{member.name}/stream"), text)

    def test_sessions_are_left_for_root_and_other_members(self):
        made = 0
        while self.ask_as(member, {"verb": "create", "session": f"n{made}"}).startswith("True"):
            made += 1
            self.assertLess(made, 100)
        self.assertEqual(made, 64)
        self.assertTrue(self.ask_as(second_member, {"verb": "create", "session": "theirs"}).startswith("True"))
        self.side("create", "roots")

    def test_members_name_the_runtime_directory(self):
        """The member cannot write there, so the current session is in a file of the member."""
        for runtime in (world.RUNTIME, world.RUNTIME + "/"):
            named = {"SIDE_RUNTIME": runtime, "XDG_RUNTIME_DIR": f"/tmp/{member.name}"}
            self.as_member("create", MINE, **named)
            self.assertEqual(self.as_member("status", **named), self.as_member("status", MINE, **named))
            self.as_member("set-session", MINE, **named)
            self.as_member("destroy", **named)
            self.assertNotIn(MINE, self.as_member("status", **named))

    def test_sessions_that_cannot_become_current(self):
        """The session exists, so the command succeeds; only the commands that follow must name it."""
        nowhere = {"SIDE_RUNTIME": world.RUNTIME, "XDG_RUNTIME_DIR": "/proc"}
        result = self.side_as(member, "create", MINE, **nowhere)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"\nhint: `-s {MINE}` selects it\n", result.stderr)
        self.as_member("set-session", MINE, fails=True, **nowhere)
        self.as_member("enable-event", "-s", MINE, "app:*", **nowhere)
        self.as_member("destroy", MINE, **nowhere)

    def test_names_that_a_member_has_taken(self):
        """The message tells root which user has taken a name, and how to get it."""
        self.as_member("create", "early")
        result = self.side_as(world.ROOT_USER, "create", "early")
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"it belongs to user {member.uid}", result.stderr)
        self.assertIn("`side destroy early`", result.stderr)
        # The same at the start of a daemon that adopts sessions of early boot.
        with open("/run/boot.conf", "w", encoding="utf-8") as file:
            file.write("state-directory /run/boot\nsession early\nevent app:*\n")
        self.daemon.terminate()
        self.daemon.wait(world.TIMEOUT)
        self.start_daemon("--boot", "/run/boot.conf")
        self.assertIn(f"user {member.uid} has created a session of this name; `side destroy early`", self.log_text())
        os.remove("/run/boot.conf")

    def test_directories_that_a_member_has_taken(self):
        """The daemon does not start in a directory of another user, and names that user."""
        taken = f"/tmp/{member.name}/side"
        self.run_as(member, ["mkdir", taken])
        self.addCleanup(os.rmdir, taken)
        result = subprocess.run([world.SIDED, "--system", "--foreground", "--runtime", taken], env=world.environment(),
                                capture_output=True, text=True, timeout=world.TIMEOUT, check=False)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(f"it belongs to user {member.uid}", result.stderr)
        self.assertIn(f"`rm -r {taken}`", result.stderr)
        os.chown(taken, 0, 0)
        os.chmod(taken, 0o777)
        result = subprocess.run([world.SIDED, "--system", "--foreground", "--runtime", taken], env=world.environment(),
                                capture_output=True, text=True, timeout=world.TIMEOUT, check=False)
        self.assertIn(f"`chmod go-w {taken}`", result.stderr)

    def test_other_users_have_no_part(self):
        for user in (attacker, world.victim):
            for verb in (*VERBS, "ping", "create"):
                text = self.ask_as(user, {"verb": verb, "session": SESSION})
                self.assertEqual(text, "PermissionError", f"{verb} of user {user.name}")

    def run_as(self, user, command):
        return subprocess.run(command, env=world.environment(), capture_output=True, text=True, check=False, **user.options())


if __name__ == "__main__":
    world.enter()
    unittest.main(argv=[sys.argv[0]] + sys.argv[1:], verbosity=2)
