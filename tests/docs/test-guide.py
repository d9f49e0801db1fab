#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""
The guide as one text: all pages are in it, what the contents lead to is there, and so is what links lead to. And what pages
tell people to type: the verbs and options of `side` and `readside` in them exist.

usage: test-guide.py SOURCE SIDE READSIDE [CONVERTER]
"""
import glob
import os
import re
import subprocess
import sys

source, side, readside = sys.argv[1:4]
sys.path.insert(0, os.path.join(source, 'docs'))
import assemble

folder = os.path.join(source, 'docs')
failures = []


def expect(true, what):
    if not true:
        failures.append(what)


text = assemble.assemble(folder)
anchors, counts = set(), {}
for line, code in assemble.lines_of(text):
    heading = None if code else re.match(r'#+ (.*)', line)
    if heading:
        name = assemble.anchor(heading.group(1).replace('`', ''))
        number = counts.setdefault(name, 0)
        counts[name] += 1
        anchors.add(name + ('-%d' % number if number else ''))
pages = [path for path, _ in assemble.pages(folder)]
kinds = [kind for kind in assemble.KINDS if not kind.endswith('.md')]
there = {kind + '/' + os.path.basename(path) for kind in kinds for path in glob.glob('%s/%s/*.md' % (folder, kind))}
there |= {os.path.basename(path) for path in glob.glob(folder + '/*.md')} - {'README.md'}
expect(set(pages) == there, 'pages that are not in the guide: %s' % sorted(set(pages) ^ there))
for name in pages:
    with open(os.path.join(folder, name)) as stream:
        lines = stream.read().splitlines()
    expect(assemble.anchor(assemble.title_of('\n'.join(lines))) in anchors, '%s is not in the guide' % name)
    expect(lines[-1] in text or assemble.LINK.search(lines[-1]), 'the end of %s is not in the guide' % name)
for line, code in assemble.lines_of(text):
    for path, section in () if code else assemble.LINK.findall(line):
        if not path:
            expect(section[1:] in anchors, 'nothing is called %s' % section)
        elif '://' not in path:
            expect(os.path.exists(os.path.join(source, path)), 'the guide leads to %s, which is not there' % path)

if len(sys.argv) > 4:
    html = assemble.as_html(text, sys.argv[4:])
    ids = set(re.findall(r'<h[2-6] id="([^"]*)"', html))
    for wanted in re.findall(r'href="#([^"]*)"', html):
        expect(wanted in ids, 'the HTML has no %s' % wanted)

# ---- what people type ----

helps = {}


def help_of(*command):
    if command not in helps:
        run = subprocess.run([*command, '--help'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60,
                             check=False)
        helps[command] = run.stdout if run.returncode == 0 else None
    return helps[command]


looked = 0
for name in pages:
    with open(os.path.join(folder, name)) as stream:
        for line in stream.read().replace('\\\n', ' ').splitlines():
            match = re.match(r'    (?:\$ |# )?(?:sudo |SIDE_\w+=\S+ )*(side|readside) (.*)', line)
            if not match:
                continue
            words = re.split(r' -- |[|;#&>]| {3}', match.group(2))[0]
            # What is quoted is not an option.
            words = re.sub(r"'[^']*'|\"[^\"]*\"", 'x', words).split()
            if match.group(1) == 'side':
                if not words or not re.fullmatch(r'[a-z-]+', words[0]):
                    continue
                verb = [side, words[0]]
                # `side probe list`: a verb below a verb.
                if words[0] == 'probe' and len(words) > 1 and re.fullmatch(r'[a-z]+', words[1]):
                    verb.append(words[1])
            else:
                verb = [readside]
            told = help_of(*verb)
            if told is None and len(verb) == 3:
                told = help_of(*verb[:2])
            expect(told is not None, '%s: there is no `%s`' % (name, ' '.join(words[:2])))
            for option in re.findall(r'(?<!\S)--([a-z][a-z-]*)', ' '.join(words)):
                looked += 1
                expect(told is None or re.search(r'--%s\b' % option, told), '%s: `%s` has no --%s' % (
                    name, ' '.join(verb[1:]) or 'readside', option))
expect(looked > 50, 'only %d options were found' % looked)
print('%d pages, %d options looked at' % (len(pages), looked))
for failure in failures:
    print('FAIL', failure)
sys.exit(1 if failures else 0)
