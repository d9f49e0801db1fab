# SPDX-License-Identifier: MIT
"""The file libside.so.0: exported names, dependencies, thread-local storage."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from checks import expect, finish, output

LIBRARY = sys.argv[1]
HEADERS = sys.argv[2]

# Section 9.2 of the ABI: 22 functions and an object; then the extensions, with the object of
# side/debugger.h.
FUNCTIONS = '''
side_init side_exit side_call side_call_variadic side_statedump_call side_statedump_call_variadic
side_ptrace_hook side_events_register side_events_unregister side_tracer_request_key
side_tracer_callback_register side_tracer_callback_unregister
side_tracer_callback_variadic_register side_tracer_callback_variadic_unregister
side_tracer_event_notification_register side_tracer_event_notification_unregister
side_tracer_statedump_request side_tracer_statedump_request_cancel
side_statedump_request_notification_register side_statedump_request_notification_unregister
side_statedump_poll_pending_requests side_statedump_run_pending_requests
'''.split()
OBJECTS = {'side_empty_callback': 24, 'side_registry_0': 32}


# Returns the functions that the project's public headers declare.
def extensions():
    names = []
    for header in ['tracer-extensions.h', 'context.h', 'builder.h', 'kernel.h']:
        with open(os.path.join(HEADERS, 'side', header), encoding='utf-8') as file:
            code = re.sub(r'/\*.*?\*/', '', file.read(), flags=re.S)
        names += re.findall(r'\b(side_\w+)\((?!\*)[^;{]*\)(?:[^;{()]|\([^)]*\))*;', code)
    return names


EXTENSIONS = extensions()


symbols = {}
for line in output('readelf', '--dyn-syms', '-W', LIBRARY).splitlines():
    parts = line.split()
    if len(parts) >= 8 and parts[4] in ('GLOBAL', 'WEAK') and parts[6] != 'UND':
        symbols[parts[7]] = (parts[3], int(parts[2], 0))
expect(len(FUNCTIONS) == 22, 'the list of this test is not that of the ABI')
expect(set(symbols) == set(FUNCTIONS) | set(EXTENSIONS) | set(OBJECTS),
      f'exported: {sorted(set(symbols) ^ (set(FUNCTIONS) | set(EXTENSIONS) | set(OBJECTS)))} differ')
for name, size in OBJECTS.items():
    expect(symbols.get(name) == ('OBJECT', size), f'{name} is {symbols.get(name)}')
for name in FUNCTIONS + EXTENSIONS:
    expect(symbols.get(name, (None,))[0] == 'FUNC', f'{name} is {symbols.get(name)}')
expect(not [name for name in symbols if '@' in name], 'symbols have versions')

dynamic = output('readelf', '-dW', LIBRARY)
needed = re.findall(r'\(NEEDED\).*\[(.*)\]', dynamic)
# The loader is a part of it: it has __tls_get_addr().
expect(set(needed) <= {'libc.so.6', 'ld-linux-x86-64.so.2'},
      f'needs {needed}, not just the C library')
expect(re.findall(r'\(SONAME\).*\[(.*)\]', dynamic) == ['libside.so.0'], 'wrong soname')
expect('NODELETE' in dynamic, 'can be unloaded, with its fork handlers')
expect('STATIC_TLS' not in dynamic, 'needs static TLS space')
expect('TPOFF' not in output('readelf', '-rW', LIBRARY), 'has initial-exec thread-local accesses')

segments = output('readelf', '-lW', LIBRARY)
tls = re.search(r'^ +TLS +\S+ +\S+ +\S+ +\S+ +(0x[0-9a-f]+)', segments, re.M)
expect(tls and int(tls.group(1), 0) <= 8, 'has more thread-local data than a pointer')

code = output('objdump', '-d', '--no-show-raw-insn', LIBRARY)
expect(re.search(r'(call|jmp) .*<side_ptrace_hook(@plt)?>', code), 'no code calls side_ptrace_hook')

finish()
