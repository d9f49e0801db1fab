# SPDX-License-Identifier: MIT
"""Conditions over the fields of an event: `count > 2 && first.name == "tea"`.

Read as an expression of Python, of which only what stands here is understood: nothing is called.
"""
import ast
import operator
import re

from side_gdb.text import Shown

OPERATORS = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Add: operator.add, ast.Sub: operator.sub,
    ast.Mod: operator.mod, ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
    ast.Not: operator.not_, ast.USub: operator.neg, ast.Invert: operator.invert,
}


class Wrong(Exception):
    """A condition that cannot be read, or does not fit the event."""


def parse(text):
    """Strings stay as they are; outside of them C's words are Python's."""
    words = re.split(r'("(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\')', text)
    for index in range(0, len(words), 2):
        for c, python in ((r"&&", " and "), (r"\|\|", " or "), (r"!(?!=)", " not "),
                          (r"\btrue\b", "True"), (r"\bfalse\b", "False"), (r"\bnull\b", "None")):
            words[index] = re.sub(c, python, words[index])
    try:
        tree = ast.parse("".join(words).strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Wrong(f"the condition {text!r} cannot be read") from None
    for node in ast.walk(tree):
        if not isinstance(node, (ast.BoolOp, ast.boolop, ast.Compare, ast.BinOp, ast.UnaryOp, ast.Name, ast.Load,
                                 ast.Constant, ast.Attribute, ast.Subscript) + tuple(OPERATORS)):
            raise Wrong(f"the condition {text!r} has {type(node).__name__.lower()}, which is not understood")
    return tree


def names(tree):
    """The fields that a condition begins with."""
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def plain(value):
    return value.value if isinstance(value, Shown) else value


def evaluate(node, fields):
    """The value of an expression; Wrong if it has none."""
    try:
        return plain(evaluated(node, fields))
    except (TypeError, ValueError, ArithmeticError):
        raise Wrong("values cannot be compared or computed that way") from None
    except (KeyError, IndexError) as error:
        raise Wrong(f"there is no {error.args[0]!r} in it") from None


def evaluated(node, fields):
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return fields[node.id]
    if isinstance(node, ast.Attribute):
        return evaluate(node.value, fields)[node.attr]
    if isinstance(node, ast.Subscript):
        return evaluate(node.value, fields)[evaluate(node.slice, fields)]
    if isinstance(node, ast.BoolOp):
        test = all if isinstance(node.op, ast.And) else any
        return test(evaluate(value, fields) for value in node.values)
    if isinstance(node, ast.UnaryOp):
        return OPERATORS[type(node.op)](evaluate(node.operand, fields))
    if isinstance(node, ast.BinOp):
        return OPERATORS[type(node.op)](evaluate(node.left, fields), evaluate(node.right, fields))
    return compared(node, fields)


def compared(node, fields):
    left = evaluate(node.left, fields)
    for comparison, right in zip(node.ops, node.comparators):
        right = evaluate(right, fields)
        if not OPERATORS[type(comparison)](left, right):
            return False
        left = right
    return True
