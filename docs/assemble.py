#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""
The pages of this directory as one, with a table of contents: Markdown, and HTML out of that.

A page is found by its directory (KINDS), so that a new page needs no entry anywhere. The pages of a directory are sorted by their titles.

usage: assemble.py FOLDER OUTPUT.md [OUTPUT.html CONVERTER...]
"""
import os
import re
import subprocess
import sys

# The kinds of pages, in the order in which they are read: directories, and pages beside them.
KINDS = ['tutorial', 'how-to', 'reference', 'explanation', 'troubleshooting.md', 'glossary.md', 'evidence']
LINK = re.compile(r'\]\(([^)\s#]*)(#[^)\s]*)?\)')


def anchor(title):
    """As readers of Markdown make it of a title."""
    return re.sub(r'[^\w\- ]', '', title.lower()).replace(' ', '-')


def lines_of(text):
    """(line, whether it is in a block of code)."""
    inside = False
    for line in text.splitlines():
        fence = line.startswith('```')
        yield line, inside or fence or line.startswith('    ')
        inside ^= fence


def title_of(text):
    """The first heading of a page."""
    return re.search(r'^# (.*)$', text, re.M).group(1).replace('`', '')


def pages(folder):
    """(path below the folder, text) of each page, in the order of KINDS."""
    for kind in KINDS:
        paths = [kind] if kind.endswith('.md') else [os.path.join(kind, name) for name in sorted(os.listdir(os.path.join(folder, kind)))
                                                     if name.endswith('.md')]
        found = []
        for path in paths:
            if os.path.exists(os.path.join(folder, path)):
                with open(os.path.join(folder, path), encoding='utf-8') as stream:
                    text = stream.read()
                found.append((title_of(text).lower(), path, text))
        # `<!-- order: N -->` puts a page before those without it.
        found.sort(key=lambda page: (int((re.match(r'<!-- order: (\d+)', page[2]) or [0, sys.maxsize])[1]), page))
        for _, path, text in found:
            yield path, text


def assemble(folder):
    """The whole text, and the anchors that it has."""
    all_pages = list(pages(folder))
    counts, contents, body, names = {}, [], [], {}

    def unique(title):
        """The name of a heading: the second heading of a title gets a number, as readers of Markdown count them."""
        name = anchor(title)
        number = counts.setdefault(name, 0)
        counts[name] += 1
        return name + ('-%d' % number if number else '')

    for path, text in all_pages:
        within = {}
        for line, code in lines_of(text):
            heading = None if code else re.match(r'(#+) (.*)', line)
            if heading:
                depth, title = len(heading.group(1)), heading.group(2).replace('`', '')
                name = unique(title)
                within.setdefault('#' + anchor(title), '#' + name)
                within.setdefault('', '#' + name)
                if depth <= 2:
                    contents.append('%s- [%s](#%s)' % ('  ' * (depth - 1), title, name))
        names[path] = within

    for path, text in all_pages:
        def link(match, path=path):
            target, section = match.group(1), match.group(2) or ''
            if '://' in target:
                return match.group(0)
            page = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
            if page in names:
                return '](%s)' % names[page].get(section, section)
            return '](%s%s)' % (os.path.normpath(os.path.join('docs', page)), section)

        for line, code in lines_of(text):
            if not code:
                line = LINK.sub(link, '#' + line if re.match('#+ ', line) else line)
            body.append(line)
        body.append('')
    return '# The guide of side\n\n%s\n\n%s' % ('\n'.join(contents), '\n'.join(body))


def as_html(markdown, converter):
    html = subprocess.run(converter, input=markdown, stdout=subprocess.PIPE, text=True, check=True).stdout
    # Some converters make no anchors.
    counts = {}

    def name(match):
        title = anchor(re.sub(r'<[^>]*>', '', match.group(3)).replace('&amp;', '&').replace('&lt;', '<').replace('&gt;', '>')
                       .replace('&quot;', '"'))
        number = counts.setdefault(title, 0)
        counts[title] += 1
        return '<%s id="%s">%s</%s>' % (match.group(1), title + ('-%d' % number if number else ''), match.group(3), match.group(1))
    html = re.sub(r'<(h[2-6])( id="[^"]*")?>(.*?)</h[2-6]>', name, html, flags=re.S)
    return ('<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>The guide of side</title>\n<style>body '
            '{ max-width: 60em; margin: auto; padding: 1em; font-family: sans-serif } pre { background: #f4f4f4; padding: 0.5em; '
            'overflow: auto } td, th { padding: 0.2em 0.6em; text-align: left; vertical-align: top }</style></head>\n<body>\n'
            '%s</body>\n</html>\n' % html)


def main(folder, output, html=None, *converter):
    markdown = assemble(folder)
    with open(output, 'w') as stream:
        stream.write(markdown)
    if html:
        with open(html, 'w') as stream:
            stream.write(as_html(markdown, list(converter)))


if __name__ == '__main__':
    main(*sys.argv[1:])
