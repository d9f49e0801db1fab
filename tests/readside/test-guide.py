#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs the commands of docs/how-to/descriptions.md, and compares their output with the page.  usage:
test-guide.py PAGE
"""
from harness import *

PAGE = os.path.abspath(sys.argv.pop(1))
sys.path.insert(0, os.path.join(HERE, "../cmd"))
import guide

SERVER = """#include <side/trace.h>
static side_define_enum(status, side_enum_mapping_list(side_enum_mapping_value("ok", 0), side_enum_mapping_value("failed", {failed})));
side_static_event(request, "server", "request", SIDE_LOGLEVEL_INFO, side_field_list(side_field_string("path"),
    side_field_{size}("size"), side_field_enum("status", &status, side_elem(side_type_u8())){more}));
int main(void) {{ return 0; }}
"""
WRONG = """#define SIDE_STATIC_CHECK_DISABLE
#include <side/trace.h>
static side_define_enum(state, side_enum_mapping_list(side_enum_mapping_value("new", 1), side_enum_mapping_value("old", 256)));
side_static_event(reply, "server", "reply", SIDE_LOGLEVEL_INFO, side_field_list(side_field_u32("code"), side_field_u16("code"),
    side_field_enum("state", &state, side_elem(side_type_u8()))));
"""
ORDER = """#define SIDE_STATIC_CHECK_DISABLE
#include <side/trace.h>
side_static_event(order, "shop", "order", SIDE_LOGLEVEL_INFO,
    side_field_list(side_field_u64("number"), side_field_string("customer")));
void buy(int number);
void buy(int number)
{
    if (number > 0) {
        side_event(order, side_arg_list(side_arg_u64((uint64_t) number), side_arg_u32(12)));
    }
}
"""


def build(name, text, *flags):
    source = name.split(".")[0].removeprefix("lib") + ".c"
    with open(path(source), "w") as stream:
        stream.write(text)
    needed("gcc", "-I" + INCLUDE, source, "-o", name, *flags)


def test_page():
    link = ("-nostdlib", "-Wl,--unresolved-symbols=ignore-all")
    build("server", SERVER.format(failed=1, size="u32", more=""), *link)
    build("server-new", SERVER.format(failed=2, size="u64", more=', side_field_string("peer")'), *link)
    build("wrong.o", WRONG, "-c")
    build("liborder.so", ORDER, "-g", "-O2", "-shared", "-fPIC")
    with open(PAGE) as stream:
        commands = guide.commands(stream.read())
    true(len(commands) >= 6, "the page has commands")
    env = dict(os.environ, PATH=os.path.dirname(READSIDE) + ":" + os.environ["PATH"])
    for command, wanted in commands:
        guide.run_command(command, wanted, work.name, env)
        true(True, command)


run_tests(globals())
