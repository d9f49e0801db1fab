#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""
The site of the documentation: stages the pages of the repository, makes those of the reference, and runs Sphinx.

A page belongs to the directory of its kind (KINDS), so a new page needs no entry anywhere. Pages of a directory are sorted by their
titles; a first line `<!-- order: N -->` puts a page before those without one.

usage: make_site.py SOURCE GENERATE VERSION WORK      (GENERATE: the program side-generate; the site is WORK/html)
"""
import glob
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import header_pages

# directory or page below docs/: (title in the navigation, sentence of the index)
KINDS = {
    'tutorial': ('Tutorials', 'Learn by doing, in order, from an empty directory to a result.'),
    'how-to': ('How-to guides', 'One task a page.'),
    'reference': ('Reference', 'Each verb, option, field, limit and declaration.'),
    'explanation': ('Explanation', 'How side works, and why.'),
    'adr': ('Decisions', 'One decision about the design a page: its context and its consequences.'),
    'spec': ('Specification', 'The interface between programs and tracers, and all formats.'),
    'evidence': ('Evidence', 'The test and the result of each promise.'),
}
# Pages that stand alone, and those of the project, in the repository's root.
ALONE = ['troubleshooting', 'glossary']
PROJECT = ['ARCHITECTURE', 'CONTRIBUTING', 'SECURITY', 'CHANGELOG']
# Manual pages that are written by hand, in the order of the navigation.
MANUALS = ['docs/man/*.7', 'programs/*/*.1', 'programs/*/*.8', 'docs/man/*.3']
LINK = re.compile(r'\]\(([^)\s#]*)(#[^)\s]*)?\)')
# Files that pages link to, shown as pages of their own.
LANGUAGES = {'.c': 'c', '.h': 'c', '.cpp': 'cpp', '.py': 'python', '.rs': 'rust', '.sh': 'sh'}


def lines_of(text):
    """(line, whether it is in a block of code)."""
    inside = False
    for line in text.splitlines():
        fence = line.startswith('```')
        yield line, inside or fence or line.startswith('    ')
        inside ^= fence


def title_of(text):
    """The first heading of a page."""
    for line, code in lines_of(text):
        if not code and line.startswith('# '):
            return line[2:].strip()
    raise ValueError('a page has no title')


def order_of(text):
    order = re.match(r'<!-- order: (\d+) -->', text)
    return (int(order.group(1)) if order else sys.maxsize, title_of(text).replace('`', '').lower())


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def repository_pages(source):
    """{path in the repository: path in the site} of all pages."""
    pages = {'docs/README.md': 'index.md'}
    for kind in KINDS:
        folder = os.path.join(source, 'docs', kind)
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
            if name.endswith('.md'):
                pages['docs/%s/%s' % (kind, name)] = '%s/%s' % (kind, 'index.md' if name == 'README.md' else name)
    for name in ALONE:
        if os.path.exists('%s/docs/%s.md' % (source, name)):
            pages['docs/%s.md' % name] = name + '.md'
    for name in PROJECT:
        pages[name + '.md'] = 'project/%s.md' % name.lower()
    return pages


class Site:
    def __init__(self, source, generate, version, work):
        self.source, self.generate, self.version, self.work = source, generate, version, work
        self.staged = os.path.join(work, 'source')
        self.pages = repository_pages(source)
        self.shown = {}  # files of the repository that pages link to
        self.index = {}  # directory of the site: [(order, page without .md, title)]

    def write(self, path, text):
        """One page of the site."""
        whole = os.path.join(self.staged, path)
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        with open(whole, 'w', encoding='utf-8') as file:
            file.write(text)
        folder, name = os.path.split(path[:-3])
        if name != 'index':
            self.index.setdefault(folder, []).append((order_of(text), name, re.sub(r'[`\\\\]', '', title_of(text))))

    def link(self, page, path):
        """Where a link of a page of the repository leads to in the site; a file that is no page becomes one."""
        target = os.path.normpath(os.path.join(os.path.dirname(page), path))
        whole = os.path.join(self.source, target)
        if target in self.pages:
            place = self.pages[target]
        elif os.path.isdir(whole) and target.startswith('docs/') and target[5:] in KINDS:
            place = target[5:] + '/index.md'
        elif target == 'README.md':
            place = 'index.md'
        elif target.endswith(('.svg', '.png')):
            place = target
            os.makedirs(os.path.dirname(os.path.join(self.staged, place)), exist_ok=True)
            shutil.copy(whole, os.path.join(self.staged, place))
        elif os.path.isfile(whole):
            # In a table of contents, Sphinx would remove ".md" from the end of a document name as the suffix of its file.
            place = self.shown.setdefault(target, 'files/%s.md' % target.removesuffix('.md').replace('/', '-'))
        else:
            raise FileNotFoundError('%s links to %s, which is not a file' % (page, path))
        return os.path.relpath(place, os.path.dirname(self.pages[page]) or '.')

    def stage(self, page):
        text = read(os.path.join(self.source, page))
        order = re.match(r'<!-- order: \d+ -->\n', text)
        lines = []
        for line, code in lines_of(text):
            if code:
                lines.append(re.sub('^```(filter|gdb)$', '```text', line))  # Languages without a highlighter.
            elif not re.fullmatch(r'<!-- .* -->', line):
                lines.append(LINK.sub(lambda found: found.group(0) if ':' in found.group(1) or not found.group(1) else '](%s%s)' % (
                    self.link(page, found.group(1)), found.group(2) or ''), line))
        self.write(self.pages[page], (order.group(0) if order else '') + '\n'.join(lines) + '\n')

    def generated(self, name):
        path = os.path.join(self.work, 'generated')
        subprocess.run([self.generate, name, path], check=True)
        return read(path)

    def reference(self):
        """The commands out of the option table, the headers out of their comments."""
        for number, name in enumerate(self.generated('reference').split()):
            self.write('reference/commands/%s.md' % name, '<!-- order: %d -->\n%s' % (number, self.generated('reference/' + name)))
        for number, name in enumerate(header_pages.HEADERS):
            _, text = header_pages.page(os.path.join(self.source, 'include'), name)
            self.write('reference/headers/%s.md' % name.replace('/', '-')[:-2], '<!-- order: %d -->\n%s' % (number, text))
        self.write_index('reference/commands', 'Commands', 'Each verb and each topic of `side help`. Made from the option table of `side`.')
        self.write_index('reference/headers', 'Headers', 'The declarations and macros of libside, with the comments of the headers.')

    def manuals(self):
        """The manual pages. Those of verbs are not among them: they have pages of their own, from the option table."""
        paths = [path for pattern in MANUALS for path in sorted(glob.glob(os.path.join(self.source, pattern)))]
        known = {}  # name(section) as it is in a reference: page of the site
        texts = {}
        for path in paths:
            name = '%s(%s)' % tuple(os.path.basename(path).rsplit('.', 1))
            structured = '.Dd' in read(path)
            form = ['-T', 'markdown'] if structured else ['-T', 'utf8']
            done = subprocess.run(['mandoc', *form, '-O', 'width=76', path], stdout=subprocess.PIPE, text=True, check=True)
            text = re.sub(r'.\x08', '', done.stdout)  # Bold and underlined characters are written twice.
            if structured:
                # The first line and the last one are header and footer.
                text = re.sub(r'\A[^\n]*\n|\n[^\n]*\n*\Z', '', text)
                text = re.sub(r'^(#+) (.)(.*)$', lambda found: '#%s %s%s' % (found[1], found[2], found[3].lower() if found[1] == '#' else found[3]),
                              text, flags=re.M)
                # What is named in the section NAME is found there.
                for other in re.findall(r'\*\*([^*\n]+)\*\*', text.split('## ')[1]):
                    known.setdefault('%s(%s)' % (other.replace('\\', ''), name[-2]), name)
            else:
                text = '```text\n%s\n```\n' % text.strip('\n')
            known[name], texts[name] = name, text

        def reference(found):
            name = found[1].replace('\\', '')
            verb = re.fullmatch(r'side(?:-([a-z-]+))?\(1\)', name)
            if verb:
                return '[%s](../commands/%s.md)' % (found[1], verb[1] or 'side')
            return '[%s](%s.md)' % (found[1], page_of(known[name])) if name in known else found[0]

        def page_of(name):
            return re.sub(r'[()]', '', name.replace('(', '-'))

        for number, (name, text) in enumerate(texts.items()):
            text = re.sub(r'(?<![\w\\*`])((?:\w|\\_|-)+\([1378]\))(?!\*)', reference, text)
            self.write('reference/manual/%s.md' % page_of(name), '<!-- order: %d -->\n# %s\n\n%s\n' % (number, name.replace('_', '\\_'), text))
        self.write_index('reference/manual', 'Manual pages', 'The manual pages of the library and of the programs beside `side`.')

    def names_of(self, folder):
        return [(name, title) for _, name, title in sorted(self.index.get(folder, ()))]

    def toctree(self, entries, options):
        return '```{toctree}\n%s\n\n%s\n```\n' % ('\n'.join(options), '\n'.join(entries))

    def write_index(self, folder, title, sentence, below=()):
        names = [name for name, _ in self.names_of(folder)]
        self.write(folder + '/index.md', '# %s\n\n%s\n\n%s' % (title, sentence, self.toctree([*below, *names], [':maxdepth: 1'])))

    def indexes(self):
        for kind, (title, sentence) in KINDS.items():
            path = os.path.join(self.staged, kind, 'index.md')
            if os.path.exists(path):  # It has one of its own, which may list the pages, too.
                names = [name for name, _ in self.names_of(kind)]
                listed = all('](%s.md)' % name in read(path) for name in names)
                with open(path, 'a', encoding='utf-8') as file:
                    file.write('\n' + self.toctree(names, [':hidden:'] if listed else [':maxdepth: 1']))
            elif self.names_of(kind):
                self.write_index(kind, title, sentence, ['commands/index', 'headers/index', 'manual/index'] if kind == 'reference' else ())
        with open(os.path.join(self.staged, 'index.md'), 'a', encoding='utf-8') as file:
            learn = [kind + '/index' for kind in ('tutorial', 'how-to', 'reference', 'explanation') if self.names_of(kind)]
            more = [kind + '/index' for kind in ('spec', 'adr', 'evidence') if self.names_of(kind)]
            alone = [name for name in ALONE if name + '.md' in self.pages.values()]
            project = ['project/%s' % name.lower() for name in PROJECT]
            file.write('\n' + self.toctree(learn + alone, [':hidden:', ':caption: Use side']))
            file.write('\n' + self.toctree(more, [':hidden:', ':caption: Build on side']))
            file.write('\n' + self.toctree(project + (['files/index'] if self.shown else []), [':hidden:', ':caption: Project']))

    def files(self):
        for target, place in sorted(self.shown.items()):
            text = read(os.path.join(self.source, target))
            language = LANGUAGES.get(os.path.splitext(target)[1], 'none')
            self.write(place, '# `%s`\n\n````%s\n%s\n````\n' % (target, language, text.rstrip('\n')))
        if self.shown:
            self.write_index('files', 'Files', 'Files of the source tree that pages refer to.')

    def complete_assets(self):
        """Debian's furo expects a web server with files of other packages, and a bundler: the site must do without both."""
        static = os.path.join(self.work, 'html/_static')
        style = os.path.join(static, 'styles/furo.css')
        text = re.sub(r'@import url\((/javascript/[^)]*)\);', lambda found: read('/usr/share' + found[1]), read(style))
        with open(style, 'w', encoding='utf-8') as file:
            file.write(text)
        script = os.path.join(static, 'scripts/furo.js')
        text = read(script)
        missing = re.match(r'import (?:\* as )?Gumshoe from "\./([\w-]+\.js)";\n', text)
        if missing:
            with open(script, 'w', encoding='utf-8') as file:
                file.write(read(os.path.join(os.path.dirname(script), missing.group(1))) + text[missing.end():])
            # Debian 13 loads it as a module, which browsers refuse in pages that are files.
            for page in glob.glob(os.path.join(self.work, 'html/**/*.html'), recursive=True):
                text = read(page)
                plain = text.replace('<script type="module" src=', '<script src=')
                if plain != text:
                    with open(page, 'w', encoding='utf-8') as file:
                        file.write(plain)

    def make(self):
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(self.staged)
        for page in self.pages:
            self.stage(page)
        self.reference()
        self.manuals()
        self.files()
        self.indexes()
        environment = dict(os.environ, SIDE_DOCS_VERSION=self.version, PYTHONDONTWRITEBYTECODE='1')
        done = subprocess.run([sys.executable, '-m', 'sphinx', '-q', '-b', 'html', '-c', os.path.dirname(os.path.abspath(__file__)), '-d',
                               os.path.join(self.work, 'doctrees'), self.staged, os.path.join(self.work, 'html')],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, check=False)
        sys.stdout.write(done.stdout)
        if done.returncode == 0:
            self.complete_assets()
        return done.returncode


if __name__ == '__main__':
    sys.exit(Site(os.path.abspath(sys.argv[1]), *sys.argv[2:4], os.path.abspath(sys.argv[4])).make())
