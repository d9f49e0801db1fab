#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The JSON form of descriptions: it is valid JSON, has the form of docs/spec/description-json.md, and
is exact for an event with known content.

usage: test-json.py DESCRIBE
"""
import json
import subprocess
import sys

ORDER = ('le', 'be')
INTEGER = {'size': int, 'len_bits': int, 'signed': bool, 'byte_order': ORDER}
BOOL = {'size': int, 'len_bits': int, 'byte_order': ORDER}
FLOAT = {'size': int, 'byte_order': ORDER}
STRING = {'unit_size': int, 'byte_order': ORDER}
ACCESS = {'offset': int, 'access_mode': ('direct', 'pointer')}
BITS = dict(ACCESS, offset_bits=int)


def check_members(thing, members, more=()):
    for name, kind in members.items():
        if isinstance(kind, tuple):
            assert thing[name] in kind, (name, thing)
        elif callable(kind) and not isinstance(kind, type):
            kind(thing[name])
        else:
            assert type(thing[name]) is kind, (name, thing)
    unknown = set(thing) - set(members) - set(more)
    assert not unknown, (unknown, thing)


def check_list(check):
    def check_each(things):
        assert type(things) is list
        for thing in things:
            check(thing)
    return check_each


def check_attribute(attr):
    value, kind = attr['value'], attr['type']
    if kind == 'null':
        assert value is None
    elif kind == 'bool':
        assert type(value) is bool
    elif kind in ('u128', 's128'):
        bits = int(value)
        assert str(bits) == value
        low = -1 << 127 if kind == 's128' else 0
        assert low <= bits < low + (1 << 128)
    elif kind.startswith('float_binary'):
        assert type(value) is str
        float(value)
        size = int(kind[len('float_binary'):]) // 4
        assert len(attr['bits']) == 2 + size and int(attr['bits'], 16) >= 0
    elif kind == 'string':
        assert type(value) is str
    else:
        width = int(kind[1:])
        low = -1 << (width - 1) if kind[0] == 's' else 0
        assert type(value) is int and low <= value < low + (1 << width), attr
    check_members(attr, {'key': str, 'type': str}, ('value', 'bits', 'key_encoding', 'value_encoding'))
    for name in 'key_encoding', 'value_encoding':
        assert attr.get(name) in (None, 'utf16le', 'utf16be', 'utf32le', 'utf32be')


def check_field(field):
    check_members(field, {'name': str, 'type': check_type})


def check_option(option):
    check_members(option, {'begin': int, 'end': int, 'type': check_type})


def check_mapping(mapping):
    check_members(mapping, {'begin': int, 'end': int, 'label': str}, ('label_encoding',))


def check_type(thing):
    members = TYPES.get(thing['type'])
    assert members is not None, thing
    check_members(thing, dict(members, type=str, attributes=check_list(check_attribute)))


FIELDS = {'fields': check_list(check_field)}
ENUM = {'mappings': check_list(check_mapping), 'element': check_type}
ARRAY = {'length': int, 'element': check_type}
VLA = {'length': check_type, 'element': check_type}
TYPES = {
    'null': {}, 'byte': {}, 'dynamic': {}, 'bool': BOOL, 'pointer': INTEGER,
    'struct': FIELDS, 'array': ARRAY, 'vla': VLA, 'vla_visitor': VLA,
    'optional': {'element': check_type},
    'variant': {'selector': check_type, 'options': check_list(check_option)},
    'enum': ENUM, 'enum_bitmap': ENUM, 'gather_enum': ENUM,
    'gather_bool': dict(BITS, **BOOL), 'gather_integer': dict(BITS, **INTEGER),
    'gather_pointer': dict(BITS, **INTEGER), 'gather_byte': ACCESS,
    'gather_float': dict(ACCESS, **FLOAT), 'gather_string': dict(ACCESS, **STRING),
    'gather_struct': dict(ACCESS, size=int, **FIELDS), 'gather_array': dict(ACCESS, **ARRAY),
    'gather_vla': dict(ACCESS, **VLA),
}
TYPES.update({f'{sign}{bits}': INTEGER for sign in 'us' for bits in (8, 16, 32, 64, 128)})
TYPES.update({f'float_binary{bits}': FLOAT for bits in (16, 32, 64, 128)})
TYPES.update({f'string_utf{bits}': STRING for bits in (8, 16, 32)})

LEVELS = ('EMERG', 'ALERT', 'CRIT', 'ERR', 'WARNING', 'NOTICE', 'INFO', 'DEBUG')


def check_event(event):
    check_members(event, {
        'schema': (1,), 'provider': str, 'event': str, 'loglevel': LEVELS, 'variadic': bool,
        'flags': int, 'type_labels': (51,), 'attribute_types': (17,),
        'attributes': check_list(check_attribute), 'fields': check_list(check_field)})
    assert event['variadic'] == bool(event['flags'] & 1)


def integer(name, size, signed=False, order='le', attributes=()):
    return {'type': name, 'size': size, 'len_bits': 0, 'signed': signed, 'byte_order': order,
            'attributes': list(attributes)}


def gathered(offset, size, offset_bits=0, len_bits=0):
    return {'type': 'gather_integer', 'offset': offset, 'access_mode': 'direct',
            'offset_bits': offset_bits, 'size': size, 'len_bits': len_bits, 'signed': False,
            'byte_order': 'le', 'attributes': []}


def known():
    pos = {'type': 'struct', 'attributes': [], 'fields': [
        {'name': 'row', 'type': integer('s32', 4, True)},
        {'name': 'col', 'type': integer('s32', 4, True, 'be')}]}
    types = {
        'count': integer('u64', 8, attributes=[
            {'key': 'k', 'type': 'u128', 'value': '18446744073709551617'}]),
        'ok': {'type': 'bool', 'size': 1, 'len_bits': 0, 'byte_order': 'le', 'attributes': []},
        'raw': {'type': 'byte', 'attributes': []},
        'at': integer('pointer', 8),
        'ratio': {'type': 'float_binary64', 'size': 8, 'byte_order': 'le', 'attributes': [
            {'key': 'k', 'type': 'float_binary64', 'value': '0.10000000000000001',
             'bits': '0x3fb999999999999a'}]},
        'wide': {'type': 'string_utf16', 'unit_size': 2, 'byte_order': 'be', 'attributes': [
            {'key': 'k', 'type': 'string', 'value': '\u20ac', 'value_encoding': 'utf16le'}]},
        'pos': pos,
        'path': {'type': 'vla', 'length': integer('u16', 2), 'attributes': [], 'element': {
            'type': 'array', 'length': 3, 'element': pos, 'attributes': []}},
        'note': {'type': 'optional', 'attributes': [], 'element': {
            'type': 'string_utf8', 'unit_size': 1, 'byte_order': 'le', 'attributes': []}},
        'piece': {'type': 'variant', 'selector': integer('s8', 1, True), 'attributes': [], 'options': [
            {'begin': -1, 'end': -1, 'type': {'type': 'null', 'attributes': []}},
            {'begin': 0, 'end': 6, 'type': integer('u8', 1)}]},
        'color': {'type': 'enum', 'element': integer('u8', 1), 'attributes': [], 'mappings': [
            {'begin': -1, 'end': -1, 'label': 'minus "one"'}, {'begin': 0, 'end': 9, 'label': 'low'}]},
        'set': {'type': 'enum_bitmap', 'element': integer('u32', 4), 'attributes': [], 'mappings': [
            {'begin': 1, 'end': 2**64 - 1, 'label': 'rest'}]},
        'packet': {'type': 'gather_struct', 'offset': 8, 'access_mode': 'pointer', 'size': 32,
                   'attributes': [], 'fields': [
                       {'name': 'bits', 'type': gathered(2, 4, 3, 7)},
                       {'name': 'words', 'type': {
                           'type': 'gather_vla', 'offset': 24, 'access_mode': 'pointer',
                           'length': gathered(16, 1), 'element': gathered(0, 4),
                           'attributes': []}}]},
        'any': {'type': 'dynamic', 'attributes': []},
    }
    return {
        'schema': 1, 'provider': 'known', 'event': 'types', 'loglevel': 'NOTICE', 'variadic': True,
        'flags': 1, 'type_labels': 51, 'attribute_types': 17,
        'attributes': [
            {'key': 'bad', 'type': 'string', 'value': '\xff\xe9\xed\xa0\x80\n"\\'},
            {'key': 'min', 'type': 's64', 'value': -2**63},
            {'key': 'yes', 'type': 'bool', 'value': True}],
        'fields': [{'name': name, 'type': kind} for name, kind in types.items()]}


TEXT = ('count: u64, ok: bool, raw: byte, at: pointer, ratio: f64, wide: string16be, '
        'pos: struct { row: s32, col: s32be }, path: struct { row: s32, col: s32be }[3][], '
        'note: string?, piece: variant (s8) { -1: null, 0..6: u8 }, '
        'color: enum u8 { minus "one" = -1, low = 0..9 }, '
        'set: bitmap u32 { rest = 1..18446744073709551615 }, '
        'packet: struct { bits: u32:7, words: u32[] }, any: dynamic, ...')


def main():
    output = subprocess.run([sys.argv[1]], stdout=subprocess.PIPE, check=True).stdout
    # Strictly UTF-8, whatever bytes the names have.
    lines = output.decode('utf-8').split('\n')
    assert lines.pop() == ''
    # Bytes that are not text are escaped, real characters are not.
    assert '\\u00ff\u00e9\\u00ed\\u00a0\\u0080\\u000a' in lines[0]
    event = json.loads(lines[0])
    check_event(event)
    assert event == known(), json.dumps(event, indent=1)
    assert lines[1] == TEXT, lines[1]
    assert len(lines) > 400
    for line in lines[2:]:
        check_event(json.loads(line))


main()
