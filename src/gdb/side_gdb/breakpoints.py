# SPDX-License-Identifier: MIT
"""Stops at events: the debugger's bit in the enabled word, a breakpoint where libside then comes by.

Breakpoints outlive the process. Events that do not exist yet, of a library or of the next run, get their bit when they are
registered, where another breakpoint stops for an instant; if that has missed some, at the program's next stop.
"""
import contextlib
import difflib

import gdb

from side_gdb import condition
from side_gdb.memory import Memory, Rubbish
from side_gdb.registry import Event, changes, events as registered, fits
from side_gdb.text import name_text, say
from side_gdb.values import Decoder

HOOK = "side_ptrace_hook"
REGISTER = "side_events_register"
# gdb's own place for a function is behind what it thinks is the begin: never more of these, which change no argument.
PROLOGUE = 16


def symbol(name):
    try:
        return int(gdb.parse_and_eval(f"(unsigned long) &{name}"))
    except gdb.error:
        raise gdb.GdbError(f"side: there is no {name} here: libside is not loaded") from None


def arguments(memory, function, count):
    """The first arguments of a function, at its begin."""
    frame = gdb.newest_frame()
    architecture = frame.architecture().name()
    if architecture == "i386:x86-64":
        names = ("rdi", "rsi", "rdx", "rcx")
    elif architecture.startswith("aarch64"):
        names = ("x0", "x1", "x2", "x3")
    elif architecture == "i386":
        # Behind "push %ebp" as well.
        begun = gdb.selected_inferior().read_memory(function, max(0, min(frame.pc() - function, PROLOGUE)))
        stack = int(frame.read_register("esp")) + (8 if b"\x55" in bytes(begun) else 4)
        return [memory.pointer(stack + 4 * i) for i in range(count)]
    else:
        raise gdb.GdbError(f"side: where calls have their arguments on {architecture} is not known")
    mask = (1 << 8 * memory.word) - 1
    return [int(frame.read_register(name)) & mask for name in names[:count]]


class Call:
    """The call of an event that the program stands in."""

    def __init__(self):
        self.memory = Memory()
        try:
            hook = symbol(HOOK)
            if not hook <= gdb.newest_frame().pc() < hook + PROLOGUE:
                raise gdb.GdbError("side: the program is not stopped at an event: 'side break EVENT', then 'continue'")
        except gdb.error as error:
            reason = str(error).split("\n", maxsplit=1)[0]
            raise gdb.GdbError(f"side: the program is not stopped at an event: {reason}") from None
        self.state, self.vector, self.variadic, self.caller = arguments(self.memory, hook, 4)

    def where(self):
        """The function that emits the event, beyond those that are made for each place; "": not known."""
        frame = gdb.newest_frame()
        while frame and frame.pc() != self.caller:
            frame = frame.older()
        while frame and (frame.name() or "").startswith(("side_emit_", "void libside::emit<", "libside::emit<", "side_sdt__")):
            frame = frame.older()
        address = frame.pc() if frame else self.caller
        found = gdb.execute(f"info symbol {address}", to_string=True).split(" in section")[0].strip()
        return "" if found.startswith("No ") else found

    def event(self):
        return Event(self.memory, self.memory.pointer(self.state + 8 + 2 * self.memory.word))

    def fields(self):
        """The fields with their values, and those of the variadic part."""
        decoder, event = Decoder(self.memory), self.event()
        found = decoder.fields(event.fields, decoder.vector(self.vector), decoder.argument)
        more = decoder.dynamic_struct(self.variadic) if event.variadic and self.variadic else {}
        return found, more


def need_rest():
    """Nothing in the program runs meanwhile."""
    inferior = gdb.selected_inferior()
    if not inferior.pid or any(not thread.is_stopped() for thread in inferior.threads()):
        raise gdb.GdbError("side: the program must be alive, with all its threads stopped")


def set_bit(state, on):
    """The byte of the shared tracers is all that is written."""
    memory, inferior = Memory(), gdb.selected_inferior()
    address = state + 8 + (memory.word - 1 if memory.order == "little" else 0)
    byte = memory.read(address, 1)[0]
    try:
        inferior.write_memory(address, bytes([byte | 0x40 if on else byte & ~0x40]))
    except gdb.error as error:
        raise gdb.GdbError(f"side: events of a core dump cannot be changed ({error})") from None


@contextlib.contextmanager
def selected(number):
    """An inferior, for a while; gdb reads and writes the memory of the one that is selected."""
    before = gdb.selected_thread()
    threads = [thread for one in gdb.inferiors() if one.num == number for thread in one.threads()]
    if threads and gdb.selected_inferior().num != number:
        threads[0].switch()
    try:
        yield
    finally:
        if before and before.is_valid():
            before.switch()


class Quietly:
    """Makes a breakpoint without what gdb says of it, which is about libside's own functions."""

    def __init__(self, make):
        self.make, self.error = make, None
        Quietly.wanted = self
        gdb.execute("python import sys; sys.modules['side_gdb.breakpoints'].Quietly.wanted.perform()", to_string=True)
        if self.error:
            raise self.error

    def perform(self):
        try:
            self.make()
        except Exception as error:  # pylint: disable=broad-except
            self.error = error


class Registrations(gdb.Breakpoint):
    """Where events come: those that a breakpoint waits for get their bit before anybody can call them."""

    one = None

    @classmethod
    def watch(cls, wanted):
        """Only as long as somebody waits."""
        if cls.one and cls.one.is_valid():
            cls.one.enabled = wanted
        elif wanted:
            Quietly(cls.begin)

    @classmethod
    def begin(cls):
        cls.one = cls(REGISTER, internal=True, qualified=True)

    def stop(self):
        with contextlib.suppress(Rubbish, gdb.GdbError, gdb.error):
            memory = Memory()
            array, count = arguments(memory, symbol(REGISTER), 2)
            # The other half of the register means nothing.
            found, _ = registered(memory, "*", [(array, count & 0xffffffff)])
            for one in EventBreakpoint.every:
                one.take([event for event in found if fits(event, one.pattern)])
        return False


class EventBreakpoint(gdb.Breakpoint):
    """A breakpoint of gdb's that stops for some events only; in the program it was set in, and what that forks."""

    every = []
    seen = {}  # of each process: how often events had come or gone when all were looked at

    def __init__(self, pattern, text):
        # Before the base class: gdb may ask stop() from the moment that the breakpoint is there.
        self.pattern, self.text, self.states = pattern, text, {}
        self.test = condition.parse(text) if text else None
        # gdb 14 and later have an attribute `inferior` of each breakpoint, which nothing may set before the base class.
        self.inferior_number = gdb.selected_inferior().num
        found = self.there()
        for event in found:
            self.refuse_unknown(event)
        if found:
            need_rest()
        elif gdb.parameter("breakpoint pending") is False:
            raise Rubbish(f"no event {pattern} is registered now, and 'set breakpoint pending' is off")
        self.take(found)
        # By name: gdb looks for it again in each program that begins, and in each library that comes.
        Quietly(lambda: gdb.Breakpoint.__init__(self, HOOK, qualified=True))
        EventBreakpoint.every.append(self)
        Registrations.watch(True)

    def there(self):
        """The events that are meant; none in a program that does not run, or has no libside yet."""
        if not gdb.selected_inferior().pid:
            return []
        try:
            return registered(Memory(), self.pattern)[0]
        except gdb.GdbError:
            return []

    def suggestion(self):
        """An event that may have been meant, where none fits."""
        with contextlib.suppress(Rubbish, gdb.GdbError, gdb.error):
            names = [event.name for event in registered(Memory(), "*")[0]]
            names += [name.partition(":")[2] for name in names]
            near = difflib.get_close_matches(self.pattern, names, 1)
            return near[0] if near else None
        return None

    @property
    def names(self):
        return ", ".join(sorted(self.states.values()))

    def take(self, events):
        """Stops at these as well."""
        for event in events:
            try:
                self.refuse_unknown(event)
            except condition.Wrong as error:
                say(f"side: breakpoint {self.number} does not stop at {name_text(event.name)}: {error}")
                continue
            set_bit(event.state, True)
            self.states[event.state] = event.name

    def refuse_unknown(self, event):
        if not self.test or event.variadic:
            return
        decoder = Decoder(Memory())
        known = {decoder.field_name(address) for address in event.fields}
        unknown = sorted(condition.names(self.test) - known)
        if unknown:
            raise condition.Wrong(f"{event.name} has no field {unknown[0]}: it has {', '.join(sorted(known))}")

    def stop(self):
        try:
            call = Call()
            if call.state not in self.states or not fits(call.event(), self.pattern):
                return False
            return not self.test or self.holds(call)
        except (Rubbish, condition.Wrong, gdb.GdbError, gdb.error) as error:
            say(f"side: the condition of breakpoint {self.number} has no value: {error}")
            return True

    def holds(self, call):
        found, more = call.fields()
        return bool(condition.evaluate(self.test, {**more, **found}))

    def forget(self):
        """Bits of events that nobody else stops at go."""
        if self in EventBreakpoint.every:
            EventBreakpoint.every.remove(self)
        others = set().union(*(other.states for other in EventBreakpoint.every))
        states, self.states = set(self.states) - others, {}
        with contextlib.suppress(Rubbish, gdb.GdbError, gdb.error), selected(self.inferior_number):
            # A fork may have gone on as another program.
            there = {event.state for event in registered(Memory(), "*")[0]}
            need_rest()
            for state in states & there:
                set_bit(state, False)


def deleted(breakpoint_):
    if isinstance(breakpoint_, EventBreakpoint):
        breakpoint_.forget()
        Registrations.watch(bool(EventBreakpoint.every))


def exited(event):
    """What a next run registers comes as new; what a process has forked goes on without it."""
    others = [one.num for one in gdb.inferiors()
              if one.pid and one.num != event.inferior.num and one.progspace.filename == event.inferior.progspace.filename]
    EventBreakpoint.seen.pop(event.inferior.num, None)
    for one in EventBreakpoint.every:
        if one.inferior_number == event.inferior.num and others:
            one.inferior_number = others[0]
        elif one.inferior_number == event.inferior.num:
            one.states = {}


def look_again():
    """Events that came unseen: in a library that has registered them in a way of its own."""
    number = gdb.selected_inferior().num
    waiting = [one for one in EventBreakpoint.every if one.inferior_number == number]
    if not waiting:
        return
    memory = Memory()
    count = changes(memory)
    if EventBreakpoint.seen.get(number) == count:
        return
    need_rest()
    for one in waiting:
        one.take([event for event in registered(memory, one.pattern)[0] if event.state not in one.states])
    EventBreakpoint.seen[number] = count


def stopped(event):
    """Which event it is: the frame that gdb shows is libside's."""
    with contextlib.suppress(Rubbish, gdb.GdbError, gdb.error):
        look_again()
    if not isinstance(event, gdb.BreakpointEvent) or not any(isinstance(one, EventBreakpoint) for one in event.breakpoints):
        return
    with contextlib.suppress(Rubbish, gdb.GdbError, gdb.error):
        call = Call()
        where = call.where()
        say(f"Event {name_text(call.event().name)}" + (f", called from {where}" if where else ""))


def leaving(_):
    for one in list(EventBreakpoint.every):
        one.forget()


gdb.events.breakpoint_deleted.connect(deleted)
gdb.events.exited.connect(exited)
gdb.events.stop.connect(stopped)
if hasattr(gdb.events, "gdb_exiting"):
    gdb.events.gdb_exiting.connect(leaving)
