#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs every command of docs/how-to/symbols.md in order, and compares the output with the page.

usage: test-guide-symbols.py GUIDE
"""
page = __import__("sys").argv.pop(1)

import shutil

from guide import commands, run_command
from harness import *


def test_commands():
    with open(page, encoding="utf-8") as file:
        found = commands(file.read())
    true(len(found) > 5, f"{len(found)} commands in {page}")
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(folder + "/bin")
        os.symlink(os.path.abspath(SIDE), folder + "/bin/side")
        shutil.copy(os.environ["PROGRAM"], folder + "/program")
        shutil.copy(os.environ["LIBRARY"], folder + "/plugin.so")
        env = environment(SIDE_RUNTIME=folder + "/runtime", SIDE_CONTROL=None, SIDE_AGENT_SOCKET=None, LANG="C.UTF-8",
                          SIDE_DEBUG_PATH=None, DEBUGINFOD_URLS=None,
                          PATH=folder + "/bin" + os.pathsep + os.environ["PATH"])
        for command, wanted in found:
            run_command(command, wanted, folder, env)
            true(True, command)


run_tests(globals())
