# SPDX-License-Identifier: MIT
"""Installs packages of npm for tests into the build directory: once, and without running their scripts."""
import os
import shutil
import subprocess


def install(folder, wanted, *packages):
    """Installs packages ("name@1.2.3") into a directory, unless it has the file `wanted` of one of them.

    Returns the path of this file, and None or the reason why it is missing.
    """
    path = os.path.join(folder, "node_modules", *wanted.split("/"))
    for program in ("node", "npm"):
        if not shutil.which(program):
            return path, f"{program} is not installed (Debian: apt install nodejs npm)"
    if os.path.exists(path):
        return path, None
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "package.json"), "w", encoding="ascii") as file:
        file.write("{}\n")
    try:
        output = subprocess.run(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-save", *packages], cwd=folder,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=100, text=True,
                                check=False).stdout
    except subprocess.TimeoutExpired:
        output = "npm took more than 100 s"
    return path, None if os.path.exists(path) else f"cannot fetch {', '.join(packages)} with npm: " + " ".join(output.split())[-300:]
