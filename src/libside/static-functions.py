# SPDX-License-Identifier: MIT
"""List the names that libside.so.0 exports, as lines EACH(name).

usage: static-functions.py MAP OUTPUT
"""
import re
import sys

with open(sys.argv[1], encoding="utf-8") as text:
    names = re.findall(r"^\t(side_\w+);", text.read(), re.M)
with open(sys.argv[2], "w", encoding="utf-8") as out:
    out.writelines(f"EACH({name})\n" for name in names)
