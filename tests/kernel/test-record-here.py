# SPDX-License-Identifier: MIT
"""`side record --kernel` on this machine's own kernel, if that is permitted: in its own mount
namespace, so that tracefs is mounted there only.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import time

SIDE = os.environ["SIDE"]
CALLS = 500
# Apart from the clock's own inaccuracy: the parameters of the clock are measured, on a machine that
# may be busy.
TOLERANCE_NS = 2_000_000


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def check(way, directory):
    trace = os.path.join(directory, way)
    begin = time.time_ns()
    done = subprocess.run([SIDE, "record", "--kernel-way", way, "-k", "syscalls:sys_enter_sched_get_priority_max", "-o", trace, "--", sys.executable,
                           "-c", f"import os\nfor _ in range({CALLS}): os.sched_get_priority_max(0)"], capture_output=True, text=True, check=False)
    end = time.time_ns()
    if "cannot record kernel events" in done.stderr:
        print(f"{way}: not permitted: {done.stderr.strip()}")
        return False
    assert done.returncode == 0, done.stderr
    events = [message for message in bt2.TraceCollectionMessageIterator(trace)
              if isinstance(message, bt2._EventMessageConst) and message.event.name == "syscalls:sys_enter_sched_get_priority_max"]
    assert len(events) == CALLS, f"{way}: {len(events)} events: {done.stderr}"
    times = [message.default_clock_snapshot.ns_from_origin for message in events]
    assert begin - TOLERANCE_NS < times[0] and times[-1] < end + TOLERANCE_NS, (way, begin, times[0], times[-1], end)
    assert all(message.event.common_context_field["comm"] for message in events) or way == "tracefs"
    print(f"{way}: {CALLS} events, {times[0] - begin} ns after the begin, {end - times[-1]} ns before the end")
    return True


def main():
    if os.environ.get("RECORD_INSIDE"):
        if not os.path.isdir("/sys/kernel/tracing/events"):
            subprocess.run(["mount", "-t", "tracefs", "none", "/sys/kernel/tracing"], capture_output=True, check=False)
        if not os.path.isdir("/sys/kernel/tracing/events/syscalls"):
            skip("there is no tracefs with system calls here")
        with tempfile.TemporaryDirectory(prefix="side-record-") as directory:
            if not any([check(way, directory) for way in ("perf", "tracefs")]):
                skip("neither way is permitted here")
        return 0
    if os.geteuid() or not shutil.which("unshare"):
        skip("not root, or no unshare")
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        skip("no mount name spaces")
    return subprocess.run(["unshare", "-m", sys.executable, "-B", __file__], check=False,
                          env=dict(os.environ, RECORD_INSIDE="1")).returncode


if __name__ == "__main__":
    try:
        import bt2
    except ImportError:
        skip("python3-bt2 is not installed")
    sys.exit(main())
