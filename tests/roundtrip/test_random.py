# SPDX-License-Identifier: MIT
"""Random events and values through plan and trace, decoded by Babeltrace, value by value.

    test_random.py [first seed [count]]
"""
import sys

import generate
import run

EVENTS = 150  # in a trace
FIRINGS = 4


def one(seed):
    generator = generate.Generator(seed)
    script = run.Script()
    for index in range(EVENTS):
        event = generator.event(index)
        script.add(event, *[generator.firing(index, event) for _ in range(FIRINGS)])
    return run.fire_here(script, "seed %d" % seed)


def main():
    first = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    count = int(sys.argv[2]) if len(sys.argv) > 2 else (300 if run.LONG else 6)
    wrong = sum(one(seed) for seed in range(first, first + count))
    sys.exit(wrong != 0)


main()
