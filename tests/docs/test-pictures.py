#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The pictures of terminal sessions in the documents show the present output of the commands, except
for numbers and units.

usage: test-pictures.py PICTURES WORK-DIRECTORY   (environment: SIDE)
"""
import glob
import html
import os
import re
import subprocess
import sys

pictures, work = (os.path.abspath(path) for path in sys.argv[1:3])
binaries = os.path.join(work, "bin")
os.makedirs(binaries, exist_ok=True)
# A reused build directory may have a link to an earlier path of the program.
if os.path.lexists(os.path.join(binaries, "side")):
    os.unlink(os.path.join(binaries, "side"))
os.symlink(os.environ["SIDE"], os.path.join(binaries, "side"))


def words(path):
    """Returns the text of a picture without the parts that differ between two runs: numbers, their
    units, bars, and line breaks.
    """
    with open(path, encoding="utf-8") as picture:
        text = " ".join(html.unescape(piece) for piece in re.findall(r"<text [^>]*>([^<]*)</text>", picture.read()))
    # While there are spaces: "3 us sqlite" has a unit, in "3ussqlite" it may be a part of another
    # word.
    text = re.sub(r"(\d)\s*(?:[num]?s|[KM]iB|B)\b", r"\1 ", text)
    text = re.sub(r"[\s\u2580-\u259f]", "", text)
    return re.sub(r"\?\.\?+|\d[\d.,:]*", "0", text)


failed = 0
sessions = sorted(glob.glob(os.path.join(pictures, "*.txt")))
for path in sessions:
    made = os.path.join(work, os.path.basename(path)[:-3] + "svg")
    subprocess.run([sys.executable, os.path.join(pictures, "terminal.py"), path, made], check=True,
                   env=dict(os.environ, PATH=binaries + ":" + os.environ["PATH"], TZ="UTC"))
    kept, new = words(path[:-3] + "svg"), words(made)
    if kept != new:
        failed += 1
        at = next((i for i, (a, b) in enumerate(zip(kept, new)) if a != b), min(len(kept), len(new)))
        print(f"{os.path.basename(path)}: the picture has {kept[at:at + 60]!r}, the commands print {new[at:at + 60]!r}")
print(f"{len(sessions)} pictures, {failed} differ")
sys.exit(1 if failed or not sessions else 0)
