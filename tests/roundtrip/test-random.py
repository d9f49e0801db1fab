# SPDX-License-Identifier: MIT
"""Random events and values through plan and trace, decoded by Babeltrace, compared value by value.

    test-random.py here|record [first seed [count]]

`here`: plan and trace writer in one process; `record`: through side record.
"""
import sys

import generate
import run

EVENTS = 120  # number of events in a trace
FIRINGS = 4


def one(seed, way):
    generator = generate.Generator(seed)
    script = run.Script()
    for index in range(EVENTS):
        event = generator.event(index)
        script.add(event, *[generator.firing(index, event) for _ in range(FIRINGS)])
    return way(script, "seed %d" % seed)


def main():
    way, count = {"here": (run.fire_here, 300 if run.LONG else 4),
                  "record": (run.record, 60 if run.LONG else 2)}[sys.argv[1]]
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    count = int(sys.argv[3]) if len(sys.argv) > 3 else count
    sys.exit(sum(one(seed, way) for seed in range(first, first + count)) != 0)


main()
