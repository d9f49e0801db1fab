# SPDX-License-Identifier: MIT
"""Stops at events: the debugger's bit in the enabled word, a breakpoint where libside then comes by."""
import contextlib

import gdb

from side_gdb import condition
from side_gdb.memory import Memory, Rubbish
from side_gdb.registry import Event, events as registered
from side_gdb.text import name_text, say
from side_gdb.values import Decoder

HOOK = "side_ptrace_hook"


def symbol(name):
    try:
        return int(gdb.parse_and_eval(f"(unsigned long) &{name}"))
    except gdb.error:
        raise gdb.GdbError(f"side: there is no {name} here: libside is not loaded") from None


def arguments(memory):
    """The four arguments of the hook, at its first instruction."""
    frame = gdb.newest_frame()
    architecture = frame.architecture().name()
    if architecture == "i386:x86-64":
        names = ("rdi", "rsi", "rdx", "rcx")
    elif architecture.startswith("aarch64"):
        names = ("x0", "x1", "x2", "x3")
    elif architecture == "i386":
        stack = int(frame.read_register("esp")) + 4
        return [memory.pointer(stack + 4 * i) for i in range(4)]
    else:
        raise gdb.GdbError(f"side: where calls have their arguments on {architecture} is not known")
    mask = (1 << 8 * memory.word) - 1
    return [int(frame.read_register(name)) & mask for name in names]


class Call:
    """The call of an event that the program stands in."""

    def __init__(self):
        self.memory = Memory()
        try:
            if gdb.newest_frame().pc() != symbol(HOOK):
                raise gdb.GdbError("side: the program does not stand at an event: 'side break EVENT', then 'continue'")
        except gdb.error as error:
            reason = str(error).split("\n", maxsplit=1)[0]
            raise gdb.GdbError(f"side: the program does not stand at an event: {reason}") from None
        self.state, self.vector, self.variadic, self.caller = arguments(self.memory)

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


def set_bit(state, on):
    """Nothing in the program runs meanwhile.  The byte of the shared tracers is all that is written."""
    memory, inferior = Memory(), gdb.selected_inferior()
    if not inferior.pid or any(not thread.is_stopped() for thread in inferior.threads()):
        raise gdb.GdbError("side: the program must live and all its threads stand still for that")
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


class EventBreakpoint(gdb.Breakpoint):
    """A breakpoint of gdb's that stops for some events only; in the program it was set in, and what that forks."""

    every = []

    def __init__(self, events, text):
        # Before the base class: gdb may ask stop() from the moment that the breakpoint is there.
        self.states = {event.state for event in events}
        self.names = ", ".join(event.name for event in events)
        self.text = text
        self.test = condition.parse(text) if text else None
        self.refuse_unknown(events)
        self.inferior = gdb.selected_inferior().num
        for state in self.states:
            set_bit(state, True)
        # A number: gdb looks for names again in each program that begins, also where they are not yet.
        super().__init__(f"*{symbol(HOOK):#x}")
        EventBreakpoint.every.append(self)

    def refuse_unknown(self, events):
        if not self.test:
            return
        decoder = Decoder(Memory())
        for event in events:
            known = {decoder.field_name(address) for address in event.fields}
            unknown = sorted(condition.names(self.test) - known)
            if unknown and not event.variadic:
                raise condition.Wrong(f"{event.name} has no field {unknown[0]}; it has {', '.join(sorted(known))}")

    def stop(self):
        try:
            call = Call()
            if call.state not in self.states:
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
        states, self.states = self.states - others, set()
        with contextlib.suppress(Rubbish, gdb.GdbError, gdb.error), selected(self.inferior):
            # A fork may have gone on as another program.
            there = {event.state for event in registered(Memory(), "*")[0]}
            for state in states & there:
                set_bit(state, False)


def deleted(breakpoint_):
    if isinstance(breakpoint_, EventBreakpoint):
        breakpoint_.forget()


def exited(event):
    """What a next run registers stands elsewhere; what a process has forked goes on without it."""
    others = [one.num for one in gdb.inferiors()
              if one.pid and one.num != event.inferior.num and one.progspace.filename == event.inferior.progspace.filename]
    for one in list(EventBreakpoint.every):
        if one.inferior == event.inferior.num and others:
            one.inferior = others[0]
        elif one.inferior == event.inferior.num:
            one.states = set()
            one.delete()


def stopped(event):
    """Which event it is: the frame that gdb shows is libside's."""
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
