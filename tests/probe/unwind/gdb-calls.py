# SPDX-License-Identifier: MIT
# Runs inside gdb: at each stop in a function, the frames, each as module+offset. FUNCTION is the location of the stop.
import os

import gdb


def modules():
    """[(start, end, file, address of its start)]"""
    found, begins = [], {}
    with open(f'/proc/{gdb.selected_inferior().pid}/maps') as maps:
        for line in maps:
            arguments = line.split()
            if len(arguments) < 6 or not arguments[5].startswith('/'):
                continue
            start, end = (int(part, 16) for part in arguments[0].split('-'))
            begins.setdefault(arguments[5], start)
            found.append((start, end, arguments[5]))
    return [(start, end, os.path.basename(path), begins[path]) for start, end, path in found]


def frames():
    frame, mapped = gdb.newest_frame(), modules()
    while frame:
        pc = frame.pc()
        location = [f'{path}+{pc - begin:#x}' for start, end, path, begin in mapped if start <= pc < end]
        # Without frames that exist only in debug information: inlined functions, and those that have ended in a jump.
        if frame.type() in (gdb.NORMAL_FRAME, gdb.SIGTRAMP_FRAME):
            yield location[0] if location else hex(pc)
        frame = frame.older()


gdb.execute('set pagination off')
gdb.execute('set confirm off')
gdb.execute('set debuginfod enabled off')
gdb.execute('set breakpoint pending on')
gdb.execute('set backtrace past-main on')
gdb.execute('set backtrace past-entry on')
gdb.execute('handle SIGUSR1 SIGILL nostop noprint pass')
gdb.execute('break ' + os.environ['FUNCTION'])
gdb.execute('run')
while gdb.selected_inferior().pid:
    print('CALLS ' + ' '.join(frames()), flush=True)
    gdb.execute('continue')
