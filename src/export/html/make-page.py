#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes html-page.c: the page around the data of a trace, as bytes for the compiler.

usage: make-page.py PAGE.HTML PAGE.CSS PAGE.JS D3.JS OUTPUT.C

D3.JS is "-" if d3 is not installed: then the page is empty. The policy of the page permits these
two scripts and this style by their hashes, and nothing else.
"""
import base64
import hashlib
import sys

D3_LICENSE = """Copyright 2010-2020 Mike Bostock
All rights reserved.

Redistribution and use in source and binary forms, with or without modification,
are permitted provided that the following conditions are met:

* Redistributions of source code must retain the above copyright notice, this
  list of conditions and the following disclaimer.

* Redistributions in binary form must reproduce the above copyright notice,
  this list of conditions and the following disclaimer in the documentation
  and/or other materials provided with the distribution.

* Neither the name of the author nor the names of contributors may be used to
  endorse or promote products derived from this software without specific prior
  written permission.

THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS "AS IS" AND
ANY EXPRESS OR IMPLIED WARRANTIES, INCLUDING, BUT NOT LIMITED TO, THE IMPLIED
WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE ARE
DISCLAIMED. IN NO EVENT SHALL THE COPYRIGHT OWNER OR CONTRIBUTORS BE LIABLE FOR
ANY DIRECT, INDIRECT, INCIDENTAL, SPECIAL, EXEMPLARY, OR CONSEQUENTIAL DAMAGES
(INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR SERVICES;
LOSS OF USE, DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER CAUSED AND ON
ANY THEORY OF LIABILITY, WHETHER IN CONTRACT, STRICT LIABILITY, OR TORT
(INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE USE OF THIS
SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.
"""


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def source_hash(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def element(name, text):
    if "</" + name in text.lower() or "<!--" in text:
        sys.exit(f"make-page.py: a text for <{name}> would end the element")
    return f"<{name}>{text}</{name}>"


def make_parts(page, style, script, d3):
    """Returns the parts of the page before, between and after both blocks of data."""
    policy = (f"default-src 'none'; script-src {source_hash(d3)} {source_hash(script)}; style-src {source_hash(style)}; "
              "base-uri 'none'; form-action 'none'")
    for name, text in (("policy", policy), ("style", element("style", style)), ("license", D3_LICENSE),
                       ("d3", element("script", d3)), ("script", element("script", script))):
        if page.count("{{" + name + "}}") != 1:
            sys.exit(f"make-page.py: the page needs {{{{{name}}}}} once")
        page = page.replace("{{" + name + "}}", text)
    head, rest = page.split("{{report-data}}")
    middle, tail = rest.split("{{chart-data}}")
    return head, middle, tail


def write_array(file, name, text):
    data = text.encode()
    file.write(f"const unsigned char {name}[] = {{\n")
    for at in range(0, len(data), 32):
        file.write(",".join(map(str, data[at:at + 32])) + ",\n")
    # An array of C has at least one member.
    file.write(f"0}};\nconst size_t {name}_size = {len(data)};\n")


def main():
    page, style, script, d3, output = sys.argv[1:6]
    parts = ("", "", "") if d3 == "-" else make_parts(read(page), read(style), read(script), read(d3))
    with open(output, "w", encoding="utf-8") as file:
        file.write('/* SPDX-License-Identifier: MIT AND BSD-3-Clause */\n/* The page; make-page.py wrote this file. */\n')
        file.write('#include "export/html/html-page.h"\n\n')
        for name, text in zip(("head", "middle", "tail"), parts):
            write_array(file, "html_page_" + name, text)


main()
