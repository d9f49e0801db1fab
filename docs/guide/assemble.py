#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""
The pages of this folder as one, with a table of contents: Markdown, and HTML out of that.

usage: assemble.py FOLDER OUTPUT.md [OUTPUT.html CONVERTER...]
"""
import os
import re
import subprocess
import sys

# In the order in which they are read; what is not here comes behind.
ORDER = ['quick-start', 'channels', 'rotation', 'filters', 'contexts', 'sessions', 'reach', 'attach', 'early-boot', 'network',
         'reports', 'symbols', 'probes', 'probes-proof', 'global-probes', 'markers', 'kernel', 'gdb', 'kernel-proof', 'descriptions',
         'misuse', 'limits']
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


def pages(folder):
    names = [name[:-3] for name in sorted(os.listdir(folder)) if name.endswith('.md')]
    for name in sorted(names, key=lambda n: (ORDER.index(n) if n in ORDER else len(ORDER), n)):
        with open(os.path.join(folder, name + '.md')) as stream:
            yield name, stream.read()


def assemble(folder):
    """The whole text, and the anchors that it has."""
    all_pages = list(pages(folder))
    titles = {name: text.splitlines()[0].lstrip('# ') for name, text in all_pages}
    anchors, contents, body = {}, [], []

    def link(match):
        path, section = match.group(1), match.group(2) or ''
        page = os.path.basename(path)[:-3] if path.endswith('.md') and '/' not in path else None
        if page in titles:
            return '](%s)' % (section or '#' + anchor(titles[page]))
        if path and '://' not in path:
            return '](%s%s)' % (os.path.normpath(os.path.join('docs/guide', path)), section)
        return match.group(0)

    for _, text in all_pages:
        for line, code in lines_of(text):
            heading = None if code else re.match(r'(#+) (.*)', line)
            if heading:
                depth, title = len(heading.group(1)), heading.group(2).replace('`', '')
                name = anchor(title)
                # The second title of a name gets a number, as readers count them.
                number = anchors.setdefault(name, 0)
                anchors[name] += 1
                if depth <= 2:
                    contents.append('%s- [%s](#%s)' % ('  ' * (depth - 1), title, name + ('-%d' % number if number else '')))
                line = '#' + line
            body.append(line if code else LINK.sub(link, line))
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
