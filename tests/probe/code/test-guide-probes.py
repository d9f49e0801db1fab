#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs every command of docs/reference/probes.md in order, and compares its output with the page.

usage: test-guide-probes.py GUIDE
"""
page = __import__("sys").argv.pop(1)

import shutil

from guide import commands, run_command
from harness import *


def test_commands():
    with open(page, encoding="utf-8") as file:
        found = commands(file.read())
    true(len(found) >= 5, f"{len(found)} commands in {page}")
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(folder + "/bin")
        os.symlink(os.path.abspath(SIDE), folder + "/bin/side")
        shutil.copy(os.environ["CHANGED"], folder + "/server")
        shutil.copy(os.environ["KITCHEN"], folder + "/kitchen")
        os.mkfifo(folder + "/orders")
        os.mkfifo(folder + "/meals")
        kitchen = subprocess.Popen([folder + "/kitchen"], cwd=folder)
        process = subprocess.Popen([folder + "/server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            equal(process.stdout.readline(), "10\n")
            env = environment(LANG="C.UTF-8", SERVER=str(process.pid), KITCHEN=str(kitchen.pid),
                              SIDE_RUNTIME=folder + "/run", PATH=folder + "/bin" + os.pathsep + os.environ["PATH"])
            for command, wanted in found:
                run_command(command, wanted, folder, env)
                true(True, command)
        finally:
            end_daemon(environment(SIDE_RUNTIME=folder + "/run"))
            kitchen.kill()
            kitchen.wait()
            process.stdin.close()
            process.wait(timeout=60)


run_tests(globals())
