# SPDX-License-Identifier: MIT
"""
What a process says until it ends, of which lines have been read before.

Not Popen.communicate(): with a time limit it reads the descriptor itself, and what had been read ahead of the last line is lost.
"""
import threading


def last_words(process, pipe, patience):
    """The rest of @pipe, and the status; a process that does not end within @patience seconds is killed."""
    limit = threading.Timer(patience, process.kill)
    limit.start()
    try:
        return pipe.read(), process.wait()
    finally:
        limit.cancel()
