# SPDX-License-Identifier: MIT
"""Fire events, read what was recorded, compare value by value."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

import decode
import model

LONG = bool(os.environ.get("SIDE_TEST_LONG"))


class Script:
    """Events and firings, with what a reader must find."""

    def __init__(self):
        self.events = []
        self.firings = []
        self.expected = []

    def add(self, event, *firings):
        """firings: (firing, memory)"""
        index = len(self.events)
        self.events.append(event)
        for firing, memory in firings:
            self.firings.append(dict(firing, event=index))
            self.expected.append((event["provider"] + ":" + event["event"],
                                  model.expected_event(event, firing, memory)))

    def save(self, path):
        with open(path, "w") as out:
            json.dump(dict(events=self.events, fire=self.firings), out)


def compare(script, found, what):
    """Print up to ten differences. Returns their number."""
    wrong = 0
    if len(found) != len(script.expected):
        print("%s: %d events instead of %d" % (what, len(found), len(script.expected)))
        wrong += 1
    for i, (want, got) in enumerate(zip(script.expected, found)):
        if want[0] != got[0]:
            sentence = "%s instead of %s" % (got[0], want[0])
        else:
            sentence = decode.difference(want[1], got[1])
        if sentence:
            wrong += 1
            if wrong <= 10:
                print("%s, event %d, %s%s" % (what, i, want[0], sentence))
            if wrong == 1 and os.environ.get("ROUNDTRIP_KEEP"):
                firing = script.firings[i]
                print(json.dumps(script.events[firing["event"]]))
                print(json.dumps(firing))
    return wrong


def fire_here(script, what):
    """Recorded by the firing program itself: plan and trace writer, no ring."""
    directory = tempfile.mkdtemp(prefix="side-roundtrip-")
    try:
        path = os.path.join(directory, "script.json")
        trace = os.path.join(directory, "trace")
        script.save(path)
        status = subprocess.run([os.environ["ROUNDTRIP_FIRE"], path, trace], timeout=600)
        if status.returncode:
            print("%s: the firing program ended with %d" % (what, status.returncode))
            return 1
        return compare(script, list(decode.events(trace)), what)
    finally:
        if not os.environ.get("ROUNDTRIP_KEEP"):
            shutil.rmtree(directory, ignore_errors=True)
        else:
            print(directory, file=sys.stderr)
