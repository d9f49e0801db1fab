# SPDX-License-Identifier: MIT
"""The commands: side events, info, break, print, delete, trace."""
import re

import gdb

from side_gdb import condition, trace
from side_gdb.breakpoints import Call, EventBreakpoint
from side_gdb.memory import Memory, Rubbish
from side_gdb.registry import events
from side_gdb.text import name_text, say, show
from side_gdb.types import Describer
from side_gdb.values import Decoder


class Side(gdb.Command):
    """Events of programs with libside: their list, their types, stops at them, their arguments.

    An event is given as PROVIDER:EVENT, as EVENT, or as a pattern with * and ?; TAB completes its name.
    To be listed it must be registered: in a program that was just started that is so when its constructors
    have run ('start').  'side break' waits for it.  A core dump has the same events."""

    def __init__(self):
        super().__init__("side", gdb.COMMAND_DATA, prefix=True)


class Command(gdb.Command):
    """One of the commands: whatever goes wrong is one line."""

    def __init__(self):
        super().__init__("side " + type(self).__name__.lower(), gdb.COMMAND_DATA)

    def invoke(self, argument, _from_tty):
        self.dont_repeat()
        try:
            self.run(argument.strip())
        except (Rubbish, condition.Wrong) as error:
            raise gdb.GdbError(f"side: {error}") from None
        except gdb.error as error:
            raise gdb.GdbError("side: " + str(error).split("\n", maxsplit=1)[0]) from None

    def complete(self, text, word):
        """What may stand for WORD, the end of TEXT; nothing, and no message, where there is no program."""
        # gdb first asks, without a word, at which characters words end. It has an answer of its own.
        if word is None:
            return []
        try:
            last = text.split()[-1] if text and not text[-1].isspace() else ""
            found = sorted(name for name in set(self.words(text[:len(text) - len(last)].split())) if name.startswith(last))
        except (Rubbish, condition.Wrong, gdb.GdbError, gdb.error):
            return []
        # gdb ends words at more characters than spaces.
        return [name[len(last) - len(word):] for name in found] if last.endswith(word) else []

    def words(self, _before):
        """What may come next."""
        return []


def event_names():
    found, _ = events(Memory(), "*")
    return [name for event in found for name in (event.name, event.name.partition(":")[2])]


def chosen(memory, pattern):
    found, wrong = events(memory, pattern)
    if not found:
        raise Rubbish(f"no event {pattern} is registered now" +
                      (f" ({len(wrong)} cannot be read)" if wrong else "\nhint: `side events` lists them"))
    return found


class Events(Command):
    """side events [PATTERN]: the events that are registered now, and who listens."""

    def run(self, argument):
        memory = Memory()
        found, wrong = events(memory, argument or "*")
        if argument and not found and not wrong:
            chosen(memory, argument)
        for event in found:
            try:
                who = event.enabled(memory)
            except Rubbish as error:
                who = f"<{error}>"
            say(f"{name_text(event.name)} ({event.level}), enabled: {who}")
        for line in wrong:
            say(f"side: cannot be read: {line}")
        say(f"{len(found)} event{'s' * (len(found) != 1)}")

    def words(self, before):
        return [] if before else event_names()


class Info(Command):
    """side info EVENT: the fields of an event and their types; EVENT may be a pattern."""

    def words(self, before):
        return [] if before else event_names()

    def run(self, argument):
        if not argument:
            raise Rubbish("which event?  'side info EVENT'")
        memory = Memory()
        for event in chosen(memory, argument):
            say(f"{name_text(event.name)} ({event.level}{', variadic' if event.variadic else ''})")
            for line in Describer(memory).lines(event.fields, 1):
                say(line)


class Break(Command):
    """side break EVENT [if CONDITION]: stop at calls of an event, or of all that fit a pattern.

    The condition is over fields by their names: count > 2 && first.name == "tea" && colors[0] != 3.
    It knows members (a.b), elements (a[1]), numbers, strings, comparisons, + - % & | ^, &&, || and !.
    A condition that has no value at some call stops there and says why.

    In such a stop 'side print' shows the arguments, and 'up' goes to where the event is emitted.
    The breakpoint is one of gdb's own: 'disable', 'ignore', 'commands' and 'delete' work
    with its number; 'side delete' takes the debugger's bit away from the event, too.
    It stays for the next 'run', and stops at events of libraries that are loaded later."""

    def words(self, before):
        if not before:
            return event_names()
        if len(before) == 1:
            return ["if"]
        memory = Memory()
        decoder = Decoder(memory)
        return [decoder.field_name(address) for event in chosen(memory, before[0]) for address in event.fields]

    def run(self, argument):
        found = re.fullmatch(r"(\S+)(?:\s+if\b\s*(.+))?", argument, re.S)
        if not found:
            raise Rubbish("'side break EVENT [if CONDITION]'")
        made = EventBreakpoint(found[1], found[2])
        if made.states:
            say(f"Breakpoint {made.number} stops at {name_text(made.names)}" + (f" if {found[2]}" if found[2] else ""))
            return
        near = made.suggestion()
        say(f"No event {name_text(found[1])} is registered yet: breakpoint {made.number} waits for it")
        if near:
            say(f"hint: did you mean `side break {name_text(near)}`?")


class Print(Command):
    """side print [FIELD...]: the arguments of the event that the program stands at.

    Fields of the variadic part have a + before them.  Another thread is chosen by 'thread N'."""

    def words(self, _before):
        found, more = Call().fields()
        return [*found, *more]

    def run(self, argument):
        call = Call()
        found, more = call.fields()
        wanted = argument.split()
        for name in wanted:
            if name not in found and name not in more:
                raise Rubbish(f"{call.event().name} has no field {name}")
        if not wanted:
            where = call.where()
            say(name_text(call.event().name) + (f", called from {where}" if where else ""))
        for fields, mark in ((found, ""), (more, "+ ")):
            for name, value in fields.items():
                if not wanted or name in wanted:
                    say(f"  {mark}{name_text(name)} = {show(value)}")


class Delete(Command):
    """side delete [NUMBER...]: the breakpoints of `side break`, all or these; the events' bits go, too."""

    def run(self, argument):
        there = {str(one.number): one for one in EventBreakpoint.every}
        for number in argument.split():
            if number not in there:
                raise Rubbish(f"breakpoint {number} is not one of 'side break'")
        for number in argument.split() or list(there):
            there[number].delete()

    def words(self, _before):
        return [str(one.number) for one in EventBreakpoint.every]


class Trace(Command):
    """side trace [COUNT|all] [OPTION...]: what the rings of a program that is being recorded hold, or held.

    Of a program that runs, or of the core dump of one that died: the last 20 events, the last COUNT, or all.
    The options are those of `side view`, as -e PATTERN or --filter EXPRESSION.  The command `side` must be in PATH."""

    def words(self, before):
        return ["all"] if not before else []

    def run(self, argument):
        for line in trace.held(argument):
            say(line)


for command in (Side, Events, Info, Break, Print, Delete, Trace):
    command()
