# SPDX-License-Identifier: MIT
"""A hostile second user: each attack runs at the same time as programs of a victim, whose events must
be complete and whose start must not be late.
"""
import contextlib
import json
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

import speaker
import world
from world import (AGENTS, CONTROL, DESCRIPTIONS, LONG, SESSION, SESSION_SOCKET, VICTIM, Attack, Case, Victim, attacker, member,
                   second_member)

# Connections of the command line that each user can have in addition to others: half of all,
# divided by 16 (sided.h).
FLOOR_OF_CLIENTS = 8


class Attacked(Case):
    def attack(self, name, *arguments, user=attacker):
        """A victim that starts before the attack, one that starts during it, and the content of both traces."""
        with self.measured():
            running = self.start_victim(4000).await_main()
            one = Attack(name, *arguments, user=user)
            self.addCleanup(one.kill)
            one.expect("ready")
            self.run_victim()
            self.run_victim()
            running.finish()
            report = one.finish()
        print(f"{self.id()}: {report}")
        self.assert_victims_complete()


class Connections(Attacked):
    def test_a_session_has_connections_for_each_user(self):
        self.attack("all_connections", SESSION_SOCKET)

    def test_the_daemon_has_connections_for_each_user(self):
        self.attack("silent", AGENTS)

    def test_a_session_closes_silent_connections(self):
        self.attack("silent", SESSION_SOCKET)

    def test_acknowledgements_that_are_not_read(self):
        self.attack("acknowledgements", SESSION_SOCKET)

    def test_answers_that_are_not_read(self):
        self.attack("flood", CONTROL, user=member)

    def flood_by_many(self):
        """Five members open all connections that they can have. Each connection waits for an answer."""
        attacks = [Attack("flood", CONTROL, user=user) for user in world.crowd]
        for one in attacks:
            self.addCleanup(one.kill)
        for one in attacks:
            one.expect("ready")
        return attacks

    def test_the_control_socket_has_connections_for_each_user(self):
        """Root has connections left, and so has a member that connects later."""
        with self.measured():
            running = self.start_victim(4000).await_main()
            attacks = self.flood_by_many()
            for _ in range(20):
                answer = world.call_as(second_member, lambda: json.dumps(speaker.ask(CONTROL, {"verb": "ping"}, timeout=world.TIMEOUT)))
                self.assertTrue(json.loads(answer)["ok"], answer)
                self.ask("status")
            self.run_victim()
            running.finish()
            for one in attacks:
                print(one.finish())
        self.assert_victims_complete()

    def test_a_request_that_is_not_read_yet_keeps_its_connection(self):
        """The daemon has not yet read root's requests when members connect, who have taken all other connections."""
        attacks = self.flood_by_many()
        for _ in range(5):
            world.stop_process(self.daemon.pid)
            try:
                waiting = self.connect_for_pings(6)
                # In the meantime the attackers connect repeatedly.
                time.sleep(0.1)
            finally:
                os.kill(self.daemon.pid, signal.SIGCONT)
            self.assert_pings_answered(waiting)
            for one in waiting:
                one.close()
        for one in attacks:
            one.finish()
        self.assert_daemon_is_whole()

    def connect_for_pings(self, count):
        """Connects as root, and sends a request on each connection."""
        connections = []
        for _ in range(count):
            connections.append(speaker.connect(CONTROL, world.TIMEOUT))
            self.addCleanup(connections[-1].close)
            connections[-1].send(json.dumps({"version": 1, "verb": "ping"}).encode())
        return connections

    def assert_pings_answered(self, connections):
        for one in connections:
            answer = one.recv(1 << 17)
            self.assertTrue(json.loads(answer)["ok"], answer)

    def test_closed_connections_that_are_not_read_yet_do_not_count(self):
        """Root closes all its connections and opens new ones. The daemon accepts the new ones first."""
        attacks = self.flood_by_many()
        closed = self.connect_for_pings(FLOOR_OF_CLIENTS)
        self.assert_pings_answered(closed)
        world.stop_process(self.daemon.pid)
        try:
            opened = self.connect_for_pings(FLOOR_OF_CLIENTS)
            for one in closed:
                one.close()
        finally:
            os.kill(self.daemon.pid, signal.SIGCONT)
        self.assert_pings_answered(opened)
        for one in attacks:
            one.finish()
        self.assert_daemon_is_whole()


class Identity(Attacked):
    def attack_numbers(self, path, how):
        one = Attack("pids", path, how)
        self.addCleanup(one.kill)
        numbers = [int(word) for word in one.expect("ready")]
        with self.measured():
            world.next_pid(numbers[0])
            running = self.start_victim(6000)
            self.assertIn(running.pid, numbers, "the victim has a number that the attacker has used")
            running.await_main()
            time.sleep(0.3)
            one.send_word("now")
            one.expect("sent")
            running.finish()
            one.finish()
        self.assert_victims_complete()

    def test_a_number_is_used_again_at_a_session(self):
        self.attack_numbers(SESSION_SOCKET, "direct")

    def test_a_number_is_used_again_at_the_daemon(self):
        self.attack_numbers(AGENTS, SESSION_SOCKET)


class Doorbells(Attacked):
    def test_a_doorbell_that_claims_an_awake_recorder(self):
        self.attack("doorbell", SESSION_SOCKET, "quiet")

    def test_a_doorbell_that_rings_all_the_time(self):
        self.attack("doorbell", SESSION_SOCKET, "ring")

    def test_a_doorbell_full_of_garbage(self):
        self.attack("doorbell", SESSION_SOCKET, "garbage")


class Blocking(Attacked):
    def test_descriptors_whose_close_blocks_at_the_daemon(self):
        self.attack("linger", AGENTS)

    def test_descriptors_whose_close_blocks_at_a_session(self):
        self.attack("linger", SESSION_SOCKET)

    def test_descriptors_whose_close_blocks_at_the_control_socket(self):
        self.attack("linger", CONTROL, user=member)

    def test_a_rendezvous_socket_that_blocks(self):
        self.attack("blocking_rendezvous", CONTROL, user=member)


class OlderBlocking(Blocking):
    older_kernel = True


class OlderIdentity(Identity):
    older_kernel = True


@unittest.skipUnless(shutil.which("strace"), "there is no strace")
class Recorders(Attacked):
    """The daemon ends a recorder whose process id belongs to another process by then. strace delays
    each signal of the daemon by two seconds.
    """
    before_daemon = ("strace", "-D", "-o", "/tmp/signals", "-e", "trace=kill,pidfd_send_signal", "-e",
                     "inject=kill,pidfd_send_signal:delay_enter=2000000")

    def recorder(self, session):
        return self.ask("status", session)["sessions"][0]["recorder"]

    def test_a_number_is_used_again_while_the_daemon_ends_a_recorder(self):
        self.side("create", "second")
        self.side("enable-event", "-s", "second", "none:*")
        self.side("start", "-s", "second")
        first, recorder = self.recorder("second"), self.recorder(SESSION)
        # While the daemon ends the first one, the other one exits: the daemon reaps both, and then
        # verifies that the other one has exited.
        os.kill(first, signal.SIGKILL)
        world.wait_until(lambda: self.state_of(first) in ("Z", ""), "the end of the first recorder", world.TIMEOUT)
        os.kill(recorder, signal.SIGKILL)
        world.wait_until(lambda: not self.state_of(recorder), "the daemon has reaped the recorder", world.TIMEOUT)
        world.next_pid(recorder)
        # Without a question to the daemon, which waits and then starts recorders.
        one = Victim(2000, 4, stays=True)
        self.addCleanup(one.kill)
        self.assertEqual(one.pid, recorder)
        world.wait_until(lambda: self.signals().count(" = ") > 1, "the daemon's signals", world.TIMEOUT)
        # It runs. Its first events may be missing: there is no recorder for two seconds.
        one.finish()
        self.assert_daemon_is_whole()

    @staticmethod
    def state_of(pid):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0]
        return ""

    @staticmethod
    def signals():
        with open("/tmp/signals", encoding="utf-8") as file:
            return file.read()


class Memory(Attacked):
    def test_a_program_that_arrives_twice(self):
        self.attack("twice", AGENTS)

    def test_a_rendezvous_socket_that_is_removed(self):
        self.attack("removed_rendezvous", CONTROL, user=member)


class Shares(Attacked):
    def test_many_idle_programs(self):
        self.attack("many", SESSION_SOCKET, 150)

    def test_programs_that_start_and_exit(self):
        self.attack("start_and_exit", VICTIM)


    def test_rendezvous_sockets_of_one_user(self):
        """One member hands in as many sockets as it can. Root and another member can still hand in one."""
        with self.measured():
            one = Attack("rendezvous_sockets", CONTROL, 1100, user=member)
            self.addCleanup(one.kill)
            self.assertGreater(int(one.expect("ready")[0]), 100)
            self.run_victim(200)
            for user in (world.ROOT_USER, second_member):
                answer = world.call_as(user, hand_in_one)
                self.assertTrue(json.loads(answer)["ok"], answer)
            one.finish()
        self.assert_victims_complete()


def hand_in_one():
    name = f"@hostile-one-{os.getpid()}"
    with speaker.new_socket() as listener:
        listener.bind("\0" + name[1:])
        listener.listen(1)
        return json.dumps(speaker.ask(CONTROL, {"verb": "door", "pid": os.getpid(), "path": name}, listener.fileno()))


class ManyPrograms(Attacked):
    """The daemon can have 250 programs only."""
    before_daemon = ("prlimit", "--nofile=1000:1000")

    def test_programs_of_one_user(self):
        self.attack("arrivals", AGENTS, 300)


class Descriptions(Attacked):
    def test_programs_that_describe_as_much_as_they_can(self):
        if world.SANITIZED and not LONG:
            self.skipTest("300 MiB of descriptions take minutes with a sanitizer")
        self.attack("describe", DESCRIPTIONS, 5)


class Commands(Case):
    """Programs that receive each change and never answer."""

    def test_commands_wait_once(self):
        attacks = [Attack("never_done", AGENTS) for _ in range(3)]
        for one in attacks:
            self.addCleanup(one.kill)
            one.expect("ready")
        # The first command waits for its whole timeout, and names them.
        self.assertEqual(len(self.ask("statedump", SESSION)["pending"]), 3)
        begin = time.monotonic()
        for number in range(4):
            answer = self.ask("enable-event", SESSION, event=[f"other:{number}"])
            self.assertEqual(len(answer["pending"]), 3)
        # Four times the timeout of a command are 20 s.
        self.assertLess(time.monotonic() - begin, 10)
        # A program that answers is awaited as before.
        self.run_victim(200)
        for one in attacks:
            one.finish()
        self.assert_victims_complete()


class Kills(Case):
    """Killed daemons and recorders lose nothing: unrecorded events are counted."""

    def finish_victims(self):
        output = self.ask("status", SESSION)["sessions"][0]["output"]
        for one in self.victims:
            one.finish()
        self.side("stop", "-s", SESSION)
        return output

    def kill_daemon(self, chance):
        self.daemon.kill()
        self.daemon.wait()
        time.sleep(chance.uniform(0, 0.1))
        self.start_daemon()
        time.sleep(chance.uniform(0.01, 0.3))

    def kill_recorder(self, chance):
        pid = self.ask("status", SESSION)["sessions"][0]["recorder"]
        if pid:
            os.kill(pid, signal.SIGKILL)
        time.sleep(chance.uniform(0.01, 0.3))

    def kill_again_and_again(self, kill):
        """Programs that run all the time are complete. Those that start in the meantime are recorded
        completely or not at all.
        """
        chance = random.Random(os.environ.get("SIDE_SEED", "1"))
        running = [self.start_victim(6000, 2).await_main() for _ in range(4)]
        for _ in range(200 if LONG else 8):
            kill(chance)
            if LONG and all(one.process.stdout in select.select([one.process.stdout], [], [], 0)[0] for one in running):
                running = [self.start_victim(6000, 2).await_main() for _ in range(4)]
        self.assert_sequences(self.sequences(self.finish_victims()))

    def test_daemons_are_killed(self):
        self.kill_again_and_again(self.kill_daemon)

    def test_recorders_are_killed(self):
        self.kill_again_and_again(self.kill_recorder)

    def test_programs_are_killed(self):
        """The victim is killed while the attacker attaches to its own programs and kills them, too."""
        chance = random.Random(os.environ.get("SIDE_SEED", "1"))
        with self.measured():
            running = self.start_victim(6000, 2).await_main()
            for _ in range(200 if LONG else 6):
                other = Victim(60000, 1, user=attacker).await_main()
                command = subprocess.Popen(
                    [world.SIDE, "attach", "-p", str(other.pid), "-o", "/tmp/hostile-attacker/attached", "--force", "-q"],
                    env=world.environment(SIDE_RUNTIME="/tmp/hostile-attacker/none"), stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **attacker.options())
                time.sleep(chance.uniform(0, 0.1))
                other.kill()
                _, errors = command.communicate(timeout=world.TIMEOUT)
                self.assertGreaterEqual(command.returncode, 0, errors)
            running.finish()
        self.assert_victims_complete()


class Together(Attacked):
    """All attacks at once: half an hour in the long form."""

    ATTACKS = (("all_connections", SESSION_SOCKET), ("silent", AGENTS), ("silent", SESSION_SOCKET), ("acknowledgements", SESSION_SOCKET),
               ("doorbell", SESSION_SOCKET, "garbage"), ("linger", AGENTS), ("linger", SESSION_SOCKET), ("twice", AGENTS),
               ("many", SESSION_SOCKET, 40), ("never_done", AGENTS), ("start_and_exit", VICTIM), ("describe", DESCRIPTIONS, 2))
    BY_MEMBERS = (("flood", CONTROL), ("linger", CONTROL))
    # Another member, because the first one has used up its connections.
    BY_SECOND_MEMBER = (("blocking_rendezvous", CONTROL), ("removed_rendezvous", CONTROL))

    def test_all_attacks(self):
        with self.measured():
            end = time.monotonic() + (int(os.environ.get("HOSTILE_SECONDS", "1800")) if LONG else 5)
            by_user = (attacker, self.ATTACKS), (member, self.BY_MEMBERS), (second_member, self.BY_SECOND_MEMBER)
            attacks = [Attack(*words, user=user) for user, all_words in by_user for words in all_words
                       if LONG or not world.SANITIZED or words[0] != "describe"]
            for one in attacks:
                self.addCleanup(one.kill)
            while time.monotonic() < end:
                self.run_victim()
                if LONG:
                    self.check_chunk()
            for one in attacks:
                print(one.name, one.finish())
        self.assert_victims_complete()

    def check_chunk(self):
        """Checks the recorded events, and removes them: those of half an hour would fill the memory."""
        output = self.ask("status", SESSION)["sessions"][0]["output"]
        chunk = os.path.join(output, self.ask("rotate", SESSION)["path"])
        self.assert_sequences(self.sequences_apart(chunk))
        self.assert_starts_are_not_late([(one.delay, one.wall) for one in self.victims])
        self.starts += [(one.delay, one.wall) for one in self.victims]
        self.victims.clear()
        shutil.rmtree(chunk)


if __name__ == "__main__":
    world.enter()
    unittest.main(argv=[sys.argv[0]] + sys.argv[1:], verbosity=2)
