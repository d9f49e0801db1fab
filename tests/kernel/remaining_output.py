# SPDX-License-Identifier: MIT
"""The output of a process until it exits, after some of its lines were read.

Not Popen.communicate(): with a timeout it reads the descriptor itself, and loses what was buffered
after the last line.
"""
import threading


def remaining_output(process, pipe, timeout):
    """Returns the remaining output of @pipe, and the status; kills a process that does not exit within
    @timeout seconds.
    """
    limit = threading.Timer(timeout, process.kill)
    limit.start()
    try:
        return pipe.read(), process.wait()
    finally:
        limit.cancel()
