# SPDX-License-Identifier: MIT
"""Checks whether a compiler makes 32-bit programs. A partial installation compiles an empty file, but lacks headers, libgcc, the C library or C++.

usage: compiler32.py [--c++] COMPILER [OPTION...]     status 0, or 1 and the reason
"""
import os
import subprocess
import sys
import tempfile

# gcc-multilib contains <asm/errno.h> and <asm/types.h>, libc6-dev-i386 contains the C library. The division is a function of libgcc.
C = """#include <errno.h>
#include <linux/seccomp.h>
#include <linux/types.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
long long divide(long long by) { return 1000000000000LL / by; }
int main(int argc, char **argv) { (void)argv; puts(""); return errno + (int)divide(argc); }
"""
# These headers are in g++-multilib.
CXX = C + """#include <new>
#include <string>
std::string text() { return std::string(100, 'x'); }
"""


def reason(compiler, language="c"):
    """Returns the reason why the compiler (a list: the command) makes no 32-bit programs in this
    language ("c" or "c++"), or None.
    """
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "program." + ("c" if language == "c" else "cc"))
        with open(source, "w", encoding="ascii") as file:
            file.write(C if language == "c" else CXX)
        for step, words in (("compile", ["-c", source, "-o", source + ".o"]), ("link", [source + ".o", "-pthread", "-o", source + ".out"])):
            done = subprocess.run([*compiler, "-m32", *words], capture_output=True, text=True, errors="replace", check=False)
            if done.returncode:
                lines = [line for line in done.stderr.splitlines() if "error" in line or "cannot find" in line]
                return f"{' '.join(compiler)} -m32 cannot {step} a program: {(lines or done.stderr.splitlines() or ['no message'])[0]}"
    return None


def main(words):
    language = "c++" if words[:1] == ["--c++"] else "c"
    found = reason(words[1:] if language == "c++" else words, language)
    if found:
        print(found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
