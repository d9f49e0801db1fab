#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The tree of calls of a program that waits in one of them, while it is recorded, and after it was killed."""
import platform

from harness import *

if platform.machine() != "x86_64":
    print("SKIPPED: probes exist on x86-64 only")
    sys.exit(77)
work = tempfile.TemporaryDirectory()


def shape(line):
    """The part after the column of the process, without durations."""
    return re.sub(r"/\* [\d.]+ [num]?s \*/", "/* TIME */", line.split(" | ", 1)[1])


ENTERED = ["outer(n = 7) {", "  leaf(n = 7) = 8; /* TIME */", "  leaf(n = 8) = 9; /* TIME */", "  hold(n = 17) {"]


def test_program_is_killed_in_a_call():
    out = os.path.join(work.name, "trace")
    probes = [word for name in ("outer", "leaf", "hold") for word in ("--function", name, "--args", "--exit")]
    recorder = subprocess.Popen([SIDE, "trace", "-q", "-o", out, "-c", os.environ["CALLS"], *probes], stdin=subprocess.PIPE,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment())
    wait_until(lambda: os.path.isdir(out), "the directory of the trace")
    follower = subprocess.Popen([SIDE, "view", "--follow", out], stdout=subprocess.PIPE, env=environment(), text=True)
    # The entry is printed although the call has not returned.
    lines = [follower.stdout.readline() for _ in ENTERED]
    # Entries and returns of one call can come with different polls; then they are two lines.
    while lines[-1] and "hold(" not in lines[-1]:
        lines.append(follower.stdout.readline())
    equal(shape(lines[-1].rstrip("\n")), ENTERED[-1])
    program = int(re.search(r"calls:(\d+)", lines[0])[1])
    os.kill(program, signal.SIGKILL)
    rest = follower.stdout.read().splitlines()
    equal((follower.wait(60), [shape(line) for line in rest]), (0, ["  } /* hold, no return */", "} /* outer, no return */"]))
    recorder.communicate(timeout=60)
    follower.stdout.close()
    result = side("view", out)
    equal((result.status, [shape(line) for line in result.out.splitlines()]),
          (0, [*ENTERED, "  } /* hold, no return */", "} /* outer, no return */"]))
    exported = side("export", out, "--format", "chrome")
    events = [event for event in json.loads(exported.out)["traceEvents"] if event["ph"] in "BE"]
    equal([(event["ph"], event["name"], event.get("args", {}).get("note")) for event in events], [
        ("B", "outer", None), ("B", "leaf", None), ("E", "leaf", None), ("B", "leaf", None), ("E", "leaf", None), ("B", "hold", None),
        ("E", "hold", "no return"), ("E", "outer", "no return")])


run_tests(globals())
