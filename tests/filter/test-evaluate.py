#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Every operator on scalars of every type and location, compared with an evaluation in Python: values
are bytes here, expressions are trees here, and only their text is passed to the tested program.

usage: test-evaluate.py EVALUATE
"""
import os
import random
import re
import struct
import subprocess
import sys
from fractions import Fraction

LONG = os.environ.get('SIDE_TEST_LONG') == '1'
LEAST, MOST = -2**63, 2**64 - 1  # computed integers

# ---- values: None, int, float, bytes (UTF-8 text) ----


def truth(value):
    if value is None or isinstance(value, bytes):
        return None
    return value != 0


def as_int(flag):
    return None if flag is None else int(flag)


def is_64(value):
    return isinstance(value, int) and LEAST <= value <= MOST


def fit_64(value):
    return value if LEAST <= value <= MOST else None


def fit_128(value):
    return value if -2**127 <= value < 2**128 else None


def to_float(value):
    if isinstance(value, float):
        return value
    return float(value) if is_64(value) else None


def divide(a, b):
    if not b:
        return None
    if isinstance(a, float):
        try:
            return a / b
        except OverflowError:
            return float('inf') * (1 if (a > 0) == (b > 0) else -1)
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def remainder(a, b):
    if not b:
        return None
    return abs(a) % abs(b) * (-1 if a < 0 else 1)


def left(a, b):
    if b < 0:
        return None
    if not a:
        return 0
    return None if b > 63 or abs(a) << b >= 2**64 else fit_64(a << b)


class Glob(bytes):
    """The text between the quotes, with wildcards."""


def glob_matches(glob, text):
    regex = ''
    for part in re.findall(rb'\\.|[^\\]', bytes(glob), re.S):
        if part == b'*':
            regex += '.*'
        elif part == b'?':
            regex += '.'
        else:
            regex += None or re.escape(part[-1:].decode('latin-1'))
    # Both as characters, including those of the UTF-8 in the glob.
    regex = regex.encode('latin-1').decode('utf-8', 'surrogatepass')
    return re.fullmatch(regex, text.decode('utf-8', 'surrogatepass'), re.S) is not None


def calculate(op, a, b):
    if op in ('&&', '||'):
        a, b, decides = truth(a), truth(b), op == '||'
        if a is decides or b is decides:
            return int(decides)
        return None if a is None or b is None else int(not decides)
    if a is None or b is None:
        return None
    if op in ('==', '!=', '<', '<=', '>', '>='):
        if isinstance(a, bytes) != isinstance(b, bytes):
            return None
        for glob, text in ((a, b), (b, a)):
            if isinstance(glob, Glob):
                return int(glob_matches(glob, text) == (op == '=='))
        return int({'==': a == b, '!=': a != b, '<': a < b, '<=': a <= b, '>': a > b, '>=': a >= b}[op])
    if isinstance(a, bytes) or isinstance(b, bytes):
        return None
    if op in ('&', '|', '^', '<<', '>>', '%'):
        if isinstance(a, float) or isinstance(b, float):
            return None
        if op in '&|^':
            return fit_128({'&': a & b, '|': a | b, '^': a ^ b}[op])
        if not is_64(b):
            return None
        if op == '>>':
            return None if b < 0 else a >> min(b, 200)
        if not is_64(a):
            return None
        return left(a, b) if op == '<<' else remainder(a, b)
    if isinstance(a, float) or isinstance(b, float):
        a, b = to_float(a), to_float(b)
        if a is None or b is None:
            return None
        return {'+': lambda: a + b, '-': lambda: a - b, '*': lambda: a * b, '/': lambda: divide(a, b)}[op]()
    if not is_64(a) or not is_64(b):
        return None
    value = {'+': a + b, '-': a - b, '*': a * b, '/': divide(a, b)}[op]
    return None if value is None else fit_64(value)


def apply(op, a):
    if op == '!':
        return as_int(None if truth(a) is None else not truth(a))
    if a is None or isinstance(a, bytes):
        return None
    if op == '~':
        return fit_128(~a) if isinstance(a, int) else None
    if isinstance(a, float):
        return -a if op == '-' else a
    return fit_64(-a) if op == '-' and is_64(a) else fit_64(a) if op == '+' else None


# ---- expressions ----

LEVELS = [['||'], ['&&'], ['|'], ['^'], ['&'], ['==', '!='], ['<', '<=', '>', '>='], ['<<', '>>'], ['+', '-'],
          ['*', '/', '%']]
LEVEL = {op: level for level, ops in enumerate(LEVELS) for op in ops}
UNARY = 10
COMPARES = LEVELS[5] + LEVELS[6]


class ParseError(Exception):
    """Constants without a value are refused when the text is parsed."""


class Node:
    def __init__(self, op, sides, text=None, value=None, constant=False):
        self.op, self.sides, self.own_text, self.own_value, self.constant = op, sides, text, value, constant
        if sides:
            self.constant = all(side.constant for side in sides)
        if op in ('&&', '||') and any(side.decides(op) for side in sides):
            self.constant = True  # whatever the other operand is

    def decides(self, op):
        try:
            return self.constant and truth(self.value()) is (op == '||')
        except ParseError:
            return False

    def level(self):
        if not self.sides:
            return UNARY + 1
        return UNARY if len(self.sides) == 1 else LEVEL[self.op]

    def is_truth(self):
        return self.op in ('!', '&&', '||', 'has', 'bool') or (len(self.sides) == 2 and self.op in COMPARES)

    def value(self):
        if not self.sides:
            return self.own_value
        values = [side.value() for side in self.sides]
        value = apply(self.op, values[0]) if len(values) == 1 else calculate(self.op, *values)
        if self.constant and (value is None or (isinstance(value, int) and not is_64(value))):
            raise ParseError
        return value

    def text(self, rng):
        """Returns the text with as few parentheses as C needs, and those that the language requires."""
        if not self.sides:
            return self.own_text
        if len(self.sides) == 1:
            side = self.sides[0]
            inner = side.text(rng)
            space = ' ' if self.op == inner[:1] else ''
            return self.op + (inner + '' if side.level() >= UNARY and not space else '(' + inner + ')')
        texts = []
        for index, side in enumerate(self.sides):
            text, level = side.text(rng), self.level()
            needs = side.level() < level or (index == 1 and side.level() == level)
            if len(side.sides) == 2 and side.op in COMPARES and level >= 2:
                needs = True
            if len(side.sides) == 1 and side.op == '!' and level >= 2 and index == 0:
                needs = True
            if needs or rng.random() < 0.1:
                text = '(' + text + ')'
            texts.append(text)
        space = rng.choice(['', ' ', ' '])
        if texts[1][0] in '+-!~&|<>=' or self.op in '<>&|':
            space = ' '
        return texts[0] + space + self.op + space + texts[1]


def quote(text, glob=False):
    out = b''
    for byte in text:
        char = bytes([byte])
        if char in b'"' or (char == b'\\' and not glob):
            out += b'\\' + char
        elif char in b'*?' and not glob:
            out += b'\\' + char
        elif byte < 0x20 or byte == 0x7f:
            out += b'\\x%02x' % byte
        else:
            out += char
    return '"' + out.decode('utf-8', 'surrogateescape') + '"'


def number(value):
    if isinstance(value, float):
        text = repr(value)
        return Node('number', [], text, value, True)
    return Node('number', [], str(value), value, True)


def constant(value):
    """A negative number is an operation on a positive one."""
    if isinstance(value, bytes):
        return Node('text', [], quote(value, isinstance(value, Glob)), value, True)
    if value < 0:
        return Node('-', [number(-value)])
    return number(value)


# ---- fields ----


def binary128(bits):
    sign, exponent, mantissa = bits >> 127, bits >> 112 & 0x7fff, bits & (2**112 - 1)
    if exponent == 0x7fff:
        value = float('nan') if mantissa else float('inf')
    else:
        if exponent:
            number_ = Fraction(mantissa + 2**112) * Fraction(2)**(exponent - 16383 - 112)
        else:
            number_ = Fraction(mantissa) * Fraction(2)**(-16382 - 112)
        try:
            value = float(number_)
        except OverflowError:
            value = float('inf')
    return -value if sign else value


class Field:
    def __init__(self, name, where, kind, size, bits, shift, signed, order, raw):
        self.name, self.where, self.kind, self.size = name, where, kind, size
        self.bits, self.shift, self.signed, self.order, self.raw = bits, shift, signed, order, raw

    def spec(self):
        return 'field %s %s %s %u %u %u %u %u %s' % (self.name, self.where, self.kind, self.size, self.bits,
                                                     self.shift, self.signed, self.order, self.raw.hex())

    def value(self):
        order = 'big' if self.order else 'little'
        bits = int.from_bytes(self.raw, order)
        if self.kind in ('int', 'bool'):
            length = self.bits or 8 * self.size
            bits = bits >> self.shift & (2**length - 1)
            if self.kind == 'bool':
                return int(bits != 0)
            return bits - 2**length if self.signed and bits >> (length - 1) else bits
        if self.kind == 'byte':
            return self.raw[0]
        if self.kind == 'float':
            if self.size == 16:
                return binary128(bits)
            code = {2: 'e', 4: 'f', 8: 'd'}[self.size]
            return struct.unpack(('>' if self.order else '<') + code, self.raw)[0]
        text = self.raw[:-self.size]
        if self.size == 1:
            return text
        codec = 'utf-%d-%s' % (8 * self.size, 'be' if self.order else 'le')
        return text.decode(codec, 'surrogatepass').encode('utf-8', 'surrogatepass')

    def node(self):
        return Node('bool' if self.kind == 'bool' and False else 'field', [], self.name, self.value())


def interesting_int(rng, bits, signed):
    edge = rng.choice([0, 1, 2, 5, 7, 2**(bits - 1) - 1, 2**(bits - 1), 2**bits - 1, 2**bits - 2,
                       rng.getrandbits(bits), rng.getrandbits(max(1, bits // 2))])
    return edge & (2**bits - 1)


TEXTS = ['', 'a', 'abc', 'redis-server', 'GET /index.html', 'a*b', 'a?b', 'back\\slash', '\u20ac 5', 'caf\u00e9',
         '\U0001f4e6x', 'aaa', 'aab', 'quo"te']


def random_field(rng, name, where=None, kind=None):
    where = where or rng.choice(['arg', 'arg', 'gather', 'pointer', 'dynamic', 'variadic'])
    kind = kind or rng.choice(['int', 'int', 'int', 'bool', 'byte', 'float', 'text'])
    order, size, bits, shift, signed = rng.randrange(2), 1, 0, 0, 0
    if kind == 'int':
        size, signed = rng.choice([1, 2, 4, 8, 16]), rng.randrange(2)
        if size < 16 and rng.random() < 0.3:
            bits = rng.randrange(1, 8 * size + 1)
            if where in ('gather', 'pointer'):
                shift = rng.randrange(8 * size - bits + 1)
        raw = interesting_int(rng, 8 * size, signed).to_bytes(size, 'big' if order else 'little')
    elif kind == 'bool':
        size = rng.choice([1, 1, 2, 4, 8])
        raw = rng.choice([0, 1, 2, 2**(8 * size) - 1, 2**(8 * size - 1)]).to_bytes(size, 'big' if order else 'little')
    elif kind == 'byte':
        raw = bytes([rng.randrange(256)])
    elif kind == 'float':
        size = rng.choice([2, 4, 8, 16])
        number_ = rng.choice([0.0, -0.0, 1.0, 5.0, -2.5, 0.1, 65504.0, float('inf'), float('nan'), 6e-8,
                              rng.uniform(-100, 100), float(rng.randrange(-9, 9))])
        endian = '>' if order else '<'
        if size == 16 or rng.random() < 0.2:
            raw = rng.getrandbits(8 * size).to_bytes(size, 'little')
            if size == 16:  # near 1, most of them
                exponent = rng.choice([0, 1, 16383, 16384, 16383 + 63, 16383 + 1023, 16383 + 1024, 16383 - 1022,
                                       16383 - 1074, 16383 - 1075, 16383 - 1076, 0x7fff])
                mantissa = rng.choice([0, 1, 2**59, 2**59 + 1, 3 * 2**59, 2**60 - 1, 2**112 - 1, rng.getrandbits(112)])
                bits128 = rng.randrange(2) << 127 | exponent << 112 | mantissa
                raw = bits128.to_bytes(16, 'big' if order else 'little')
        else:
            raw = struct.pack(endian + {2: 'e', 4: 'f', 8: 'd'}[size], number_)
    else:
        size = rng.choice([1, 1, 2, 4])
        text = rng.choice(TEXTS)
        codec = 'utf-8' if size == 1 else 'utf-%d-%s' % (8 * size, 'be' if order else 'le')
        raw = text.encode(codec) + bytes(size)
    if kind == 'byte':
        order = 0
    return Field(name, where, kind, size, bits, shift, signed, order, raw)


# ---- the tested program ----


class Session:
    def __init__(self):
        self.lines, self.expected, self.event = [], [], []

    def fields(self, fields):
        self.event = [field.spec() for field in fields]
        self.lines += ['clear'] + self.event

    def expression(self, node, rng):
        text = node.text(rng)
        try:
            value = node.value()
            matches = truth(value) is True
            if node.is_truth() and not node.constant:
                value = int(matches)
            expected = (matches, value)
        except ParseError:
            expected = None
        self.lines.append('expr ' + text)
        self.expected.append((text, expected, self.event))

    def run(self, program):
        data = '\n'.join(self.lines) + '\n'
        done = subprocess.run([program], input=data.encode('utf-8', 'surrogateescape'), stdout=subprocess.PIPE,
                              check=False)
        if done.returncode:
            sys.exit('evaluate ended with %d' % done.returncode)
        answers = iter(done.stdout.decode('utf-8', 'replace').splitlines())
        failures = 0
        counts = {'value': 0, 'never': 0, 'parse': 0}
        for text, expected, fields in self.expected:
            answer = next(answers, 'nothing')
            bound = None if answer.startswith('parse') else next(answers, 'nothing')
            counts[answer.split()[0]] = counts.get(answer.split()[0], 0) + 1
            if not agrees(answer, expected) or (bound and not agrees(bound, expected)):
                failures += 1
                if failures <= 10:
                    print('%s\n  expected %r\n  linked   %s\n  bound    %s\n  fields   %s' % (
                        text, expected, answer, bound,
                        ' | '.join(field for field in fields if re.search(r'\b%s\b' % field.split()[1], text))))
        if next(answers, None) is not None:
            sys.exit('more answers than expressions')
        return failures, counts


def read_value(words):
    if words[0] == 'int':
        return int(words[1])
    if words[0] == 'wide':
        value = int(words[2], 16) << 64 | int(words[3], 16)
        return value - 2**128 if words[1] == '0' and value >> 127 else value
    if words[0] == 'double':
        return struct.unpack('<d', int(words[1], 16).to_bytes(8, 'little'))[0]
    return words[0]


def agrees(answer, expected):
    words = answer.split()
    if words[0] == 'parse':
        return expected is None
    if expected is None:
        return False
    matches, value = expected
    if words[0] == 'never':
        return not matches and (value is None or value == 0)
    if words[0] != 'value' or int(words[1]) != int(matches):
        return False
    got = read_value(words[2:])
    if value is None:
        return got == 'none'
    if isinstance(value, bytes):
        return got == 'text'
    if type(got) is not type(value):
        return False
    if isinstance(value, float) and value != value:
        return got != got
    return got == value


# ---- the expressions ----

BINARY = [op for ops in LEVELS for op in ops]


def systematic(session, rng):
    """Each type at each location with each operator, compared with constants at the limits of the type."""
    kinds = [('int', size, bits, signed) for size in (1, 2, 4, 8, 16) for signed in (0, 1) for bits in (0, 5)
             if size < 16 or not bits]
    kinds += [('bool', size, 0, 0) for size in (1, 2, 4, 8)] + [('byte', 1, 0, 0)]
    kinds += [('float', size, 0, 1) for size in (2, 4, 8, 16)] + [('text', size, 0, 0) for size in (1, 2, 4)]
    for where in ('arg', 'gather', 'pointer', 'dynamic', 'variadic'):
        for kind, size, bits, signed in kinds:
            for order in (0, 1) if LONG else (rng.randrange(2),):
                while True:
                    field = random_field(rng, 'f', where, kind)
                    if field.size == size:
                        break
                field.bits, field.signed, field.order = bits, signed, order
                if kind == 'byte':
                    field.order = 0
                elif kind == 'text':
                    text = rng.choice(TEXTS)
                    codec = 'utf-8' if size == 1 else 'utf-%d-%s' % (8 * size, 'be' if order else 'le')
                    field.raw = text.encode(codec) + bytes(size)
                field.shift = 2 if bits and where in ('gather', 'pointer') else 0
                session.fields([field])
                width = bits or 8 * size
                value = field.value()
                edges = [0, 1, -1, 5, 2**(width - 1), 2**(width - 1) - 1, -2**(width - 1), 2**width, 1.5]
                edges += [value] if isinstance(value, int) else []
                edges = [edge for edge in edges if isinstance(edge, float) or is_64(edge)]
                if kind == 'text':
                    edges = [value, value + b'x', value[:-1], b'', Glob(b'*'), Glob(b'a*'), Glob(b'*?b*'), Glob(b'?')]
                for op in BINARY:
                    for edge in edges:
                        if kind == 'text' and (op not in COMPARES or (isinstance(edge, Glob) and op not in LEVELS[5])):
                            continue
                        sides = [field.node(), constant(edge)]
                        session.expression(Node(op, sides), rng)
                        if rng.random() < 0.3:
                            session.expression(Node(op, sides[::-1]), rng)
                        if rng.random() < 0.2 and op in COMPARES:
                            session.expression(Node('!', [Node(op, sides)]), rng)
                for op in '!~-+':
                    if kind != 'text':
                        session.expression(Node(op, [field.node()]), rng)
                session.expression(Node('has', [], 'has(f)', 1), rng)
                session.expression(field.node(), rng)
                length = len(value) if kind == 'text' else None
                session.expression(Node('>=', [Node('len', [], 'len(f)', length), constant(1)]), rng)
                if kind == 'int' and isinstance(value, int):
                    for mask in (1, 5, 2**width - 1, 2**width + 3):
                        if is_64(mask):
                            masked = Node('&', [field.node(), constant(mask)])
                            session.expression(masked, rng)
                            session.expression(Node('==', [masked, constant(fit_64(value & mask) or 0)]), rng)


def random_tree(rng, fields, depth):
    if depth == 0 or rng.random() < 0.15:
        choice = rng.random()
        if choice < 0.65:
            return rng.choice([field for field in fields if field.kind != 'text']).node()
        if choice < 0.7:
            return Node('bool', [], *rng.choice([('true', 1), ('false', 0)]), True)
        return number(rng.choice([0, 1, 2, 3, 7, 255, 65536, 2**32, 2**63, 2**64 - 1, 1.5, 0.25, 1e300]))
    choice = rng.random()
    if choice < 0.15:
        return Node(rng.choice('!!~-+'), [random_tree(rng, fields, depth - 1)])
    if choice < 0.25:
        text = rng.choice([field for field in fields if field.kind == 'text'])
        other = rng.choice(fields)
        literal = rng.choice([text.value(), rng.choice(TEXTS).encode(), Glob(b'*a*'), Glob(b'?*'), Glob(b'*\\**')])
        sides = [text.node(), rng.choice([constant(literal), other.node()])]
        if rng.random() < 0.3:
            sides.reverse()
        ops = LEVELS[5] if any(isinstance(side.own_value, Glob) for side in sides) else COMPARES
        return Node(rng.choice(ops), sides)
    op = rng.choice(BINARY + COMPARES + ['&&', '||'] * 3)
    return Node(op, [random_tree(rng, fields, depth - 1), random_tree(rng, fields, depth - 1)])


def trees(session, rng, rounds):
    for _ in range(rounds):
        fields = [random_field(rng, 'f%d' % i) for i in range(10)]
        fields += [random_field(rng, 't%d' % i, None, 'text') for i in range(2)]
        fields += [random_field(rng, 'n%d' % i, 'arg', 'int') for i in range(3)]
        session.fields(fields)
        for _ in range(40):
            session.expression(random_tree(rng, fields, rng.randrange(1, 6)), rng)


def main():
    seed = int(os.environ.get('SIDE_TEST_SEED', '1'))
    failures = 0
    for round_ in range(30 if LONG else 1):
        rng = random.Random(seed + round_)
        session = Session()
        systematic(session, rng)
        trees(session, rng, 400 if LONG else 60)
        wrong, counts = session.run(sys.argv[1])
        failures += wrong
        print('seed %d: %d expressions, %d wrong, %s' % (seed + round_, len(session.expected), wrong, counts))
        # If most expressions were refused, the test would check nothing.
        if counts['value'] < len(session.expected) // 2:
            sys.exit('too few expressions had a value')
    sys.exit(failures != 0)


main()
