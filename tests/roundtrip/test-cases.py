# SPDX-License-Identifier: MIT
"""Every type with extreme values: `test-cases.py here` (plan and trace writer in one process) or
`test-cases.py record` (side record, agent, ring, consumer)."""
import sys

import cases
import run


def main():
    script = cases.script()
    way = run.record if sys.argv[1] == "record" else run.fire_here
    sys.exit(way(script, "cases") != 0)


main()
