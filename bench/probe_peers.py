# SPDX-License-Identifier: MIT
"""Other tracers of the function that bench/probe-recorded.py probes: the kernel's uprobes, uftrace and
gdb's fast tracepoints. Each returns the nanoseconds of a call that its program has printed, or
raises Missing with the reason.
"""
import contextlib
import ctypes
import os
import re
import shutil
import subprocess
import tempfile

TRACING, GROUP = '/sys/kernel/tracing', 'side_bench'
CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 0x4000, 1 << 18
libc = ctypes.CDLL(None, use_errno=True)


class Missing(Exception):
    pass


def number(text):
    """Returns the number in the program's line among the output of others."""
    for line in text.splitlines():
        with contextlib.suppress(ValueError):
            return float(line)
    raise Missing('the program has printed no result: ' + text[-200:].strip())


def address_of(program, name):
    symbols = subprocess.check_output(['nm', program], text=True).split('\n')
    return next(int(line.split()[0], 16) for line in symbols if line.endswith(f' {name}'))


def offset_of(program, name):
    """Returns the offset of a function or a variable in the file, as the kernel needs it."""
    address = address_of(program, name)
    for line in subprocess.check_output(['readelf', '-lW', program], text=True).split('\n'):
        words = line.split()
        if words[:1] == ['LOAD']:
            offset, start, size = int(words[1], 16), int(words[2], 16), int(words[4], 16)
            if start <= address < start + size:
                return address - start + offset
    raise Missing(f'{name} is in no segment')


def see_tracefs():
    """Mounts tracefs in a mount namespace of its own, if it is not mounted."""
    if os.path.exists(TRACING + '/uprobe_events'):
        return
    if libc.unshare(CLONE_NEWNS) or libc.mount(b'none', b'/', None, MS_REC | MS_PRIVATE, None) or \
            libc.mount(b'none', TRACING.encode(), b'tracefs', 0, None):
        raise Missing('tracefs cannot be mounted: ' + os.strerror(ctypes.get_errno()))
    if not os.path.exists(TRACING + '/uprobe_events'):
        raise Missing('this kernel has no uprobe events')


def write(name, text):
    """Appends to the file, which may have entries of other programs. (A file object of Python would
    seek to its end, which this file does not support.)
    """
    file = os.open(f'{TRACING}/{name}', os.O_WRONLY | os.O_APPEND)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)


def uprobe(command, function, returns=False, arguments=''):
    """Uses a copy of the program, because uprobes apply to a file in all processes."""
    with tempfile.TemporaryDirectory() as place:
        try:
            see_tracefs()
            program = shutil.copy(command[0], place)
            where = f'{program}:{offset_of(program, function):#x}'
            names = ['entry', 'exit'] if returns else ['entry']
            write('uprobe_events', f'p:{GROUP}/entry {where} {arguments}\n')
            try:
                if returns:
                    write('uprobe_events', f'r:{GROUP}/exit {where}\n')
                write(f'events/{GROUP}/enable', '1')
                return number(subprocess.check_output([program, *command[1:]], text=True))
            finally:
                with contextlib.suppress(OSError):
                    write(f'events/{GROUP}/enable', '0')
                for name in names:
                    with contextlib.suppress(OSError):
                        write('uprobe_events', f'-:{GROUP}/{name}\n')
        except OSError as error:
            raise Missing(f'uprobes cannot be set: {error.strerror}') from error


def uftrace(command, function):
    """Its entry and exit are one event."""
    if not shutil.which('uftrace'):
        raise Missing('uftrace is not installed')
    with tempfile.TemporaryDirectory() as place:
        done = subprocess.run(['uftrace', 'record', '--no-libcall', '-P', function, '-d', place + '/data', *command],
                              capture_output=True, text=True, timeout=120)
        seen = subprocess.run(['uftrace', 'report', '-d', place + '/data'], capture_output=True, text=True, timeout=300)
    if function not in seen.stdout:
        raise Missing('uftrace has not seen it: ' + (done.stderr + seen.stderr)[-200:].strip())
    return number(done.stdout)


def gdb(command, function):
    """A jump to code that the in-process agent of gdbserver generates."""
    server = shutil.which('gdbserver')
    agent = server and os.path.join(os.path.dirname(os.path.dirname(server)), 'lib', 'libinproctrace.so')
    if not server or not shutil.which('gdb'):
        raise Missing('gdb or gdbserver is not installed')
    if not os.path.exists(agent):
        raise Missing('this gdbserver comes without its in-process agent')
    with subprocess.Popen([server, '--once', '--wrapper', 'env', f'LD_PRELOAD={agent}', '--', 'localhost:0', *command],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr:
            if line.startswith('Listening on port '):
                break
        # The collected data is read while the program still runs.
        words = ['set pagination off', 'set confirm off', f'target remote localhost:{line.split()[-1]}', 'break main', 'continue',
                 'set circular-trace-buffer on', f'ftrace *{function}', 'break exit', 'tstart', 'continue', 'tstatus', 'tstop', 'continue']
        try:
            done = subprocess.run(['gdb', '-q', '-nx', '-batch', *[part for word in words for part in ('-ex', word)], command[0]],
                                  capture_output=True, text=True, timeout=120)
            printed, _ = process.communicate(timeout=20)
        except subprocess.TimeoutExpired as error:
            raise Missing('gdb has not come to an end') from error
        finally:
            process.kill()
    collected = re.search(r'Collected (\d+) trace frames', done.stdout)
    if not collected or not int(collected[1]):
        raise Missing('gdb has collected nothing: ' + (done.stderr or done.stdout).strip().splitlines()[-1])
    return number(printed)
