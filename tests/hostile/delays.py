# SPDX-License-Identifier: MIT
"""How long threads waited for a processor, in nanoseconds.

The limits of one second and of 100 ms apply to the daemon and the recorder, at any load of the
machine. The kernel counts how long a thread could run and had no processor (`run_delay` of
/proc/PID/schedstat). A thread that sleeps, or waits for another process, is blocked: the kernel
counts none of that time there, so it remains in what is measured.
"""


def of_thread(path="thread-self"):
    with open(f"/proc/{path}/schedstat", encoding="utf-8") as file:
        return int(file.read().split()[1])


def of_main_threads(pids):
    """Of the main threads of these processes: the loops of the daemon and of the recorder."""
    return sum(of_thread(pid) for pid in pids)
