# SPDX-License-Identifier: MIT
"""A hostile second user: each attack runs beside programs of a victim, whose events must be complete and whose start must not be late."""
import os
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

import world
from world import AGENTS, CONTROL, SESSION_SOCKET, VICTIM, Attack, Case, attacker, member


def awaits(what):
    """An attack that still succeeds; the line goes with the defence."""
    return unittest.skip(f"not defended yet: {what}")


class Attacked(Case):
    def attack(self, name, *arguments, user=attacker):
        """A victim that starts before the attack, one that starts beside it, and what both have in their traces."""
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
    @awaits("shares of connections")
    def test_a_session_has_connections_for_each_user(self):
        self.attack("all_connections", SESSION_SOCKET)

    def test_the_daemon_has_connections_for_each_user(self):
        self.attack("silent", AGENTS)

    def test_a_session_closes_silent_connections(self):
        self.attack("silent", SESSION_SOCKET)

    @awaits("waits bounded by user")
    def test_acknowledgements_that_are_not_read(self):
        self.attack("acknowledgements", SESSION_SOCKET)

    def test_answers_that_are_not_read(self):
        self.attack("flood", CONTROL, user=member)


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
            one.tell("now")
            one.expect("sent")
            running.finish()
            one.finish()
        self.assert_victims_complete()

    @awaits("identity by pidfd")
    def test_a_number_is_used_again_at_a_session(self):
        self.attack_numbers(SESSION_SOCKET, "direct")

    @awaits("identity by pidfd")
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
    @awaits("unsolicited descriptors")
    def test_descriptors_whose_close_blocks_at_the_daemon(self):
        self.attack("linger", AGENTS)

    @awaits("unsolicited descriptors")
    def test_descriptors_whose_close_blocks_at_a_session(self):
        self.attack("linger", SESSION_SOCKET)

    @awaits("unsolicited descriptors")
    def test_descriptors_whose_close_blocks_at_the_control_socket(self):
        self.attack("linger", CONTROL, user=member)

    @awaits("accept() that blocks")
    def test_a_rendezvous_socket_that_blocks(self):
        self.attack("blocking_rendezvous", CONTROL, user=member)


class Memory(Attacked):
    @awaits("ownership of connections")
    def test_a_program_that_arrives_twice(self):
        self.attack("twice", AGENTS)

    @awaits("ownership of connections")
    def test_a_rendezvous_socket_that_is_removed(self):
        self.attack("removed_rendezvous", CONTROL, user=member)


class Shares(Attacked):
    def test_many_idle_programs(self):
        self.attack("many", SESSION_SOCKET, 150)

    def test_programs_that_start_and_exit(self):
        self.attack("start_and_exit", VICTIM)


if __name__ == "__main__":
    world.enter()
    unittest.main(argv=[sys.argv[0]] + sys.argv[1:], verbosity=2)
