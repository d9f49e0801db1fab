#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs the libFuzzer programs of a build, each on its corpus (corpus/NAME.tar.xz beside this file).

usage: run.py BUILD [--seconds N] [--keep] [--seed DIRECTORY] [NAME...]

Without --seconds (N for each program) only the inputs of the corpora are run, so that earlier
findings are checked again. With --keep the inputs that reached new code are kept: the smallest ones
that reach all of it. --seed gives initial files. NAMEs are parts of names.

A build with coverage of all modules: CC=clang meson setup build-fuzz -Dfuzzers=true
-Db_sanitize=address -Db_lundef=false -Dc_args=-fsanitize=fuzzer-no-link
"""
import argparse
import glob
import io
import os
import subprocess
import sys
import tarfile
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
# For one program; all corpora together must be smaller than 300 KiB.
PACKED_MAX = 48 << 10


def has_fuzzer(path):
    """Whether it is a libFuzzer program: others are tests with their own random input and arguments."""
    with open(path, 'rb') as stream:
        return b'LLVMFuzzerTestOneInput' in stream.read()


def programs(build, names):
    found = {path for pattern in ('*-libfuzzer', 'fuzz-*') for path in glob.glob(os.path.join(build, 'tests/**', pattern), recursive=True)
             if os.path.isfile(path) and os.access(path, os.X_OK) and not path.endswith('.py') and '.p/' not in path and has_fuzzer(path)}
    return [path for path in sorted(found) if not names or any(name in os.path.basename(path) for name in names)]


def packed(name):
    return os.path.join(HERE, 'corpus', name + '.tar.xz')


def unpack(name, folder):
    os.makedirs(folder)
    if os.path.exists(packed(name)):
        with tarfile.open(packed(name)) as archive:
            for member in archive:
                with open(os.path.join(folder, os.path.basename(member.name)), 'wb') as stream:
                    stream.write(archive.extractfile(member).read())


def pack(name, folder):
    """Packs the same bytes for the same files; the smallest files first, as many as fit."""
    files = sorted(glob.glob(folder + '/*'), key=lambda path: (os.path.getsize(path), path))
    while files:
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode='w:xz', preset=9) as archive:
            for path in files:
                member = tarfile.TarInfo(os.path.basename(path)[:12])
                member.size = os.path.getsize(path)
                with open(path, 'rb') as stream:
                    archive.addfile(member, stream)
        if len(out.getvalue()) <= PACKED_MAX:
            with open(packed(name), 'wb') as stream:
                stream.write(out.getvalue())
            return
        files = files[:len(files) * 7 // 8]


def fuzz(program, options, work):
    name = os.path.basename(program).replace('-libfuzzer', '')
    corpus = os.path.join(work, name)
    unpack(name, corpus)
    kind = ['-max_total_time=%d' % options.seconds] if options.seconds else ['-runs=0']
    seeds = [options.seed] if options.seed and options.seconds else []
    run = subprocess.run([program, *kind, '-timeout=25', '-rss_limit_mb=3000', '-artifact_prefix=%s/' % os.getcwd(), corpus, *seeds],
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    lines = run.stdout.decode(errors='replace').splitlines()
    print('%s %s: %s' % ('FAIL' if run.returncode else 'ok', name, next((line for line in reversed(lines) if 'cov:' in line), '')), flush=True)
    if run.returncode:
        print('\n'.join(lines[-60:]))
        return False
    if options.keep:
        least = corpus + '.least'
        os.makedirs(least)
        subprocess.run([program, '-merge=1', '-rss_limit_mb=3000', least, corpus], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=True)
        pack(name, least)
    return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('build')
    parser.add_argument('names', nargs='*')
    parser.add_argument('--seconds', type=int, default=0)
    parser.add_argument('--keep', action='store_true')
    parser.add_argument('--seed')
    options = parser.parse_intermixed_args()
    if os.environ.get('SIDE_TEST_LONG') == '1' and not options.seconds:
        options.seconds = 60
    with tempfile.TemporaryDirectory() as work:
        results = [fuzz(program, options, work) for program in programs(options.build, options.names)]
    print('%d of %d programs' % (sum(results), len(results)))
    sys.exit(0 if all(results) else 1)


main()
