# SPDX-License-Identifier: MIT
"""Public headers as pages of the reference: each comment with the declarations and macros that it describes, in Markdown."""
import os
import re

# In the order in which a programmer meets them. The other headers are details of these.
HEADERS = ['trace.h', 'api.h', 'builder.h', 'context.h', 'kernel.h', 'sdt.h', 'tracer-extensions.h', 'debugger.h', 'abi/event-description.h',
           'abi/type-description.h', 'abi/type-argument.h', 'abi/type-value.h', 'abi/attribute.h', 'abi/visitor.h']
NAME = re.compile(r'((?<![\w`.$/-])(?:struct |enum |union )?_?(?:side|SIDE)_\w+\*?(?:\([^()]*\))?)')


def prose(comment):
    """The text of a comment as Markdown; lines that begin with a tab are code."""
    lines = [re.sub(r'^ \* ?', '', line) for line in re.sub(r'^/\*+ ?|\s*\*+/$', '', comment, flags=re.S).split('\n')]
    result, code = [], False
    for line in lines:
        indented = line.startswith('\t') or (code and not line.strip())
        if indented != code:
            result.append('```c' if indented else '```')
            if not indented:
                result.append('')
        code = indented
        if indented:
            result.append(line[1:])
        else:
            # Every second piece is a name.
            result.append(''.join('`%s`' % piece if number % 2 else re.sub(r'([\\*\[\]<>|$`])', r'\\\1', piece)
                                  for number, piece in enumerate(NAME.split(line))))
    if code:
        result.append('```')
    return re.sub(r'\n+```$', '\n```', '\n'.join(result).strip('\n'), flags=re.M)


def public(name):
    return re.match(r'side_[a-z]|SIDE_[A-Z]', name) is not None


class Part:
    """A comment, and what is declared below it."""

    def __init__(self, comment):
        self.comment, self.code, self.alone = comment, [], True


def logical_lines(text):
    """Lines of the file; a comment, a directive with its continuations, or a declaration is one line."""
    position = 0
    while position < len(text):
        comment = re.compile(r'/\*.*?\*/', re.S).match(text, position)
        if comment:
            end = comment.end()
        else:
            directive = re.compile(r'#(?:[^\n\\]|\\.|\\\n)*').match(text, position)
            end = directive.end() if directive else end_of_declaration(text, position)
        yield text[position:end]
        position = end
        if text[position:position + 1] == '\n':
            position += 1


def end_of_declaration(text, position):
    if text[position] == '\n':
        return position
    if text.startswith(('extern "C" {', '}'), position):
        return text.index('\n', position)
    depth = 0
    for at in range(position, len(text)):
        depth += (text[at] in '({') - (text[at] in ')}')
        if depth == 0 and (text[at] == ';' or text[at] == '}' and text[at + 1:at + 2] == '\n'):
            # A comment behind it belongs to it.
            behind = re.compile(r'[ \t]*/\*[^\n]*\*/(?=\n)').match(text, at + 1)
            return behind.end() if behind else at + 1
    return len(text)


def declaration(line):
    """What a reader of the reference sees of a line: a macro without its expansion, a function without its body; '' of other lines."""
    macro = re.match(r'#\s*define\s+(\w+)(\([^)]*\))?(.*)', line, re.S)
    if macro:
        name, parameters, body = macro.groups()
        if not public(name) or (name.startswith('SIDE_') and (parameters is not None or not re.match(r' \(?(1 <<|0x|\d)', body))):
            return ''
        if parameters is None:
            return '#define %s%s' % (name, body)
        return re.sub(r'\b_(?=[a-z])', '', name + re.sub(r'\s+', ' ', parameters))
    if line.startswith('#') or line.startswith(('extern "C"', '}')):
        return ''
    inline = re.match(r'static inline (?:__attribute__\(\(.*?\)\) ?)?(.*?\))\s*\{', line, re.S)
    if inline:
        line = inline.group(1) + ';'
    if '(' in line and not line.startswith(('typedef', 'struct', 'enum', 'union')):
        name = re.search(r'(\w+)\s*\(', line).group(1)
        if not name.startswith('side_'):
            return ''
        return re.sub(r'^extern ', '', line)
    return line if re.search(r'\bside_', line) else ''


def parts(text):
    current, blank = Part(None), True
    for line in logical_lines(text):
        if line.startswith('/*'):
            yield current
            current = Part(line)
        elif not line.strip():
            if current.code and current.code[-1]:
                current.code.append('')
            blank = True
            continue
        else:
            shown = declaration(line)
            if shown:
                current.code.append(shown)
            # A comment directly above code that is not shown describes that.
            current.alone &= blank
        blank = False
    yield current


def page(include, name):
    """(title, Markdown) of one header."""
    with open(os.path.join(include, 'side', name), encoding='utf-8') as file:
        text = file.read()
    text = re.sub(r'^/\* SPDX.*?\*/\n', '', text)
    result = ['# side/%s' % name, '', '```c', '#include <side/%s>' % name, '```', '']
    for part in parts(text):
        code = '\n'.join(part.code).strip('\n')
        if part.comment is None and not code:
            continue
        title = re.fullmatch(r'/\* -+ (.*?) -+ \*/', part.comment or '', re.S)
        if title:
            result += ['## ' + title.group(1)[0].upper() + title.group(1)[1:], '']
        elif part.comment and (code or part.alone):
            result += [re.sub(r'^SIDE: (.)', lambda found: found.group(1).upper(), prose(part.comment)), '']
        if code:
            result += ['```c', code, '```', '']
    return 'side/' + name, '\n'.join(result)
