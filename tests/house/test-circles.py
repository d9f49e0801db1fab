# SPDX-License-Identifier: MIT
"""Parts of src and programs use each other in no circle, except those in KEPT, a list that may only shrink.

usage: test-circles.py SOURCE-DIRECTORY
"""
import os
import sys

import circles

# {why the parts use each other: their names below a folder}
KEPT = {}


def main(root):
    graph = circles.uses(root)
    found = circles.circles(graph)
    kept = [sorted(f"{folder}/{name}" for name in names) for folder, lists in KEPT.items() for names in lists]
    bad = [members for members in found if members not in kept]
    for members in bad:
        print(f"{len(members)} parts use each other:")
        for part in members:
            for used in sorted(set(graph[part]) & set(members)):
                print(f"  {graph[part][used]}")
    gone = [members for members in kept if members not in found]
    for members in gone:
        print(f"KEPT has a circle that does not exist (any more): {' '.join(members)}")
    idle = [header for header in circles.COMPOSED
            if circles.circles(circles.uses(root, [other for other in circles.COMPOSED if other != header])) == found]
    for header in idle:
        print(f"COMPOSED has a header that hides no circle: {header}")
    print(f"{len(graph)} parts, {len(found)} circles")
    return 1 if bad or gone or idle or not graph else 0


sys.exit(main(os.path.abspath(sys.argv[1])))
