#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""
The verbs and options of `side` and `readside` in the examples of the pages exist.

usage: test-guide.py SOURCE SIDE READSIDE
"""
import os
import re
import subprocess
import sys

source, side, readside = sys.argv[1:4]
sys.path.insert(0, os.path.join(source, 'docs/site'))
sys.path.insert(0, os.path.join(source, 'tests'))
import make_site
from checks import expect, finish

pages = [path for path in make_site.repository_pages(source) if path.startswith('docs/')]

helps = {}


def help_of(*command):
    if command not in helps:
        run = subprocess.run([*command, '--help'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60,
                             check=False)
        helps[command] = run.stdout if run.returncode == 0 else None
    return helps[command]


checked = 0
for name in pages:
    with open(os.path.join(source, name)) as stream:
        for line in stream.read().replace('\\\n', ' ').splitlines():
            match = re.match(r'    (?:\$ |# )?(?:sudo |SIDE_\w+=\S+ )*(side|readside) (.*)', line)
            if not match:
                continue
            words = re.split(r' -- |[|;#&>]| {3}', match.group(2))[0]
            # A quoted text is not an option.
            words = re.sub(r"'[^']*'|\"[^\"]*\"", 'x', words).split()
            if match.group(1) == 'side':
                if not words or not re.fullmatch(r'[a-z-]+', words[0]):
                    continue
                verb = [side, words[0]]
                # `side probe list`: a verb of a verb.
                if words[0] == 'probe' and len(words) > 1 and re.fullmatch(r'[a-z]+', words[1]):
                    verb.append(words[1])
            else:
                verb = [readside]
            help_text = help_of(*verb)
            if help_text is None and len(verb) == 3:
                help_text = help_of(*verb[:2])
            expect(help_text is not None, '%s: there is no `%s`' % (name, ' '.join(words[:2])))
            for option in re.findall(r'(?<!\S)--([a-z][a-z-]*)', ' '.join(words)):
                checked += 1
                expect(help_text is None or re.search(r'--%s\b' % option, help_text), '%s: `%s` has no --%s' % (
                    name, ' '.join(verb[1:]) or 'readside', option))
expect(checked > 50, 'only %d options were found' % checked)
finish('%d pages, %d options checked' % (len(pages), checked))
