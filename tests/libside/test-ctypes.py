# SPDX-License-Identifier: MIT
"""An instrumented library and a tracer in Python, which is not linked with libside."""
import ctypes
import sys
import threading

plugin = ctypes.CDLL(sys.argv[1])
tracer = ctypes.CDLL(sys.argv[2])
assert plugin.plugin_enabled() == 1
plugin.plugin_emit()
assert tracer.tracer_calls() == 1
threads = [threading.Thread(target=plugin.plugin_emit) for _ in range(100)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert tracer.tracer_calls() == 101
