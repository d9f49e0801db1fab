#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tracer, loaded and unloaded three times, prints exactly the events in between.

usage: test-dlopen.py TRACER PROGRAM
"""
import subprocess
import sys

tracer, program = sys.argv[1:3]
output = subprocess.run([program, tracer], stdout=subprocess.PIPE, check=True, timeout=60).stdout
lines = output.decode().split('\n')
events = [line for line in lines if line.startswith('provider: dl, event: event, ')]
assert events == [f'provider: dl, event: event, fields: {{ round: {{ value: {n} }} }}' for n in range(3)]
# The name appears in three notifications of insertion and three of removal.
assert lines.count('provider: dl, event: event') == 6, lines
