# SPDX-License-Identifier: MIT
"""The structures and unions that a header defines: their members by name, nested ones with their path."""
import re


def without_comments(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return re.sub(r"^\s*#.*$", "", text, flags=re.M)


def body_at(text, begin):
    """Returns the text between the brace at begin and the matching one, and the position of that one."""
    depth = 0
    for at in range(begin, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if not depth:
            return text[begin + 1:at], at
    raise ValueError("a brace has no partner")


def members(body, prefix=""):
    """Returns (path, declaration) of each named member; padding and marks without storage have no name."""
    found = []
    at = 0
    while at < len(body):
        end = body.find(";", at)
        brace = body.find("{", at)
        if end < 0:
            break
        if 0 <= brace < end:
            inner, close = body_at(body, brace)
            end = body.find(";", close)
            name = body[close + 1:end].replace("SIDE_PACKED", "").strip()
            found.append((prefix + name, body[at:brace].strip()))
            found += members(inner, prefix + name + ".")
        else:
            declaration = " ".join(body[at:end].split())
            named = re.match(r"(.*[\s)*])(\w+)(?:\[[^\]]*\])?$", declaration)
            if named and not declaration.startswith(("side_padding", "SIDE_")):
                found.append((prefix + named.group(2), named.group(1).strip()))
        at = end + 1
    return found


def structures(text):
    """Returns {"struct side_arg": [(path, declaration), ...], ...} of one header."""
    text = without_comments(text)
    found = {}
    for match in re.finditer(r"^(struct|union) (\w+) \{", text, re.M):
        body, _ = body_at(text, match.end() - 1)
        found[f"{match.group(1)} {match.group(2)}"] = members(body)
    return found


def enumerations(text):
    """Returns {"enum side_error": ["SIDE_ERROR_OK", ...], ...}; those without a name are under "enum"."""
    text = without_comments(text)
    found = {}
    for match in re.finditer(r"^enum(?: (\w+))? \{", text, re.M):
        body, _ = body_at(text, match.end() - 1)
        names = re.findall(r"^\s*(\w+)\s*(?:=[^,]*)?(?:,|$)", body, re.M)
        found.setdefault(f"enum {match.group(1) or ''}".strip(), []).extend(dict.fromkeys(names))
    return found
