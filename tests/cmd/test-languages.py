#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The examples in other languages describe and emit events that are recorded with the same values."""
import shutil

from harness import *

EXAMPLES = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../examples")
LIBRARIES = os.path.dirname(os.environ["LIBSIDE"])
work = tempfile.TemporaryDirectory()


def recorded(name, *command):
    output = os.path.join(work.name, name)
    result = side("record", "-o", output, "--", *command, env=environment(LD_LIBRARY_PATH=LIBRARIES))
    equal(result.status, 0, result)
    viewed = side("view", "--json", output)
    equal(viewed.status, 0, viewed)
    return [(e["event"], e["fields"]) for e in json_lines(viewed.out) if e["type"] == "event"]


def test_python():
    events = recorded("python", "/usr/bin/python3", os.path.join(EXAMPLES, "events.py"), "3")
    wanted = []
    for i in range(3):
        wanted.append(("shop:order", {"number": i, "article": f"article {i % 3}", "price": i * 0.5, "express": i % 2 == 0}))
        wanted.append(("shop:stock", {"article": f"article {i % 3}", "change": -(i % 3) - 1}))
    equal(events, wanted)


def test_rust():
    if not shutil.which("rustc"):
        print("no rustc: the example in Rust is not compiled")
        return
    program = os.path.join(work.name, "events")
    built = subprocess.run(["rustc", "-D", "warnings", "-O", os.path.join(EXAMPLES, "events.rs"), "-L", LIBRARIES, "-o", program],
                           capture_output=True, text=True)
    equal(built.returncode, 0, built.stderr)
    events = recorded("rust", program, "3")
    equal(events, [("shop:order", {"number": i, "change": -i, "price": i * 0.5, "article": f"article {i % 3}"}) for i in range(3)])


run_tests(globals())
