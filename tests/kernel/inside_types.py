# SPDX-License-Identifier: MIT
"""In the machine: fires the events of a script while ftrace listens to all of them, and prints the raw
content of its buffers in base64, with the descriptions of the events in tracefs.

usage: inside_types.py FIRE SCRIPT
"""
import base64
import subprocess
import sys

import ftrace


def main():
    ftrace.buffer_size(16384)
    with subprocess.Popen(sys.argv[1:3], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as fire:
        if fire.stdout.readline() != b"registered\n":
            sys.exit("the firing program does not register")
        ftrace.enable(True)
        fire.stdin.write(b"x")
        fire.stdin.close()
        if fire.wait():
            sys.exit(f"the firing program ended with {fire.returncode}")
    for name, text in ftrace.formats():
        print("format", name, base64.b64encode(text.encode()).decode())
    for page in ftrace.raw_pages():
        print("page", base64.b64encode(page).decode())
    print("end")


main()
