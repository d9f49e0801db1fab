#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Programs of the distribution behave the same with a probe on each of their functions, entry and exit: a job of each
runs plain and under `side trace`, with the same output and status; and its calls are in the trace.

SIDE_TEST_LONG=1: more programs, among them compilers and programs that generate code, and the functions of all their
libraries.
"""
import atexit
import os
import re
import shlex
import shutil
import subprocess
import tempfile

from harness import *

FOLDER = tempfile.mkdtemp()
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
# Unless the file is a script that calls another one.
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
ENV = environment(LC_ALL="C", TZ="UTC", HOME=FOLDER, GIT_CONFIG_NOSYSTEM="1", GIT_PAGER="cat", PERL_HASH_SEED="0", PYTHONHASHSEED="0")
TIMEOUT = 1200 if LONG else 180
LOST = re.compile(r"side: [0-9,]+ events were lost")

SQL = """
create table t(a, b);
with recursive n(i) as (select 1 union all select i+1 from n where i<500) insert into t select i, hex(i*7919) from n;
create index tb on t(b);
select count(*), sum(length(b)) from t; select * from t order by b limit 5; pragma integrity_check; select nothing from t;
"""
PYTHON = """
import collections, hashlib, json, re, sys, zlib
d = {str(i): [i, i * 1.5, None] for i in range(60)}
s = json.dumps(d)
print(json.loads(s) == d, hashlib.sha256(s.encode()).hexdigest(), zlib.crc32(s.encode()), len(re.findall("[0-9]+", s)))
def deep(n):
    return deep(n - 1) + 1 if n else 0
try:
    deep(100000)
except RecursionError as error:
    print(error)
raise SystemExit(3)
"""
PERL = r"""
my %h; for my $i (1..1000) { $h{$i % 97} .= chr(65 + $i % 26) }
for (sort keys %h) { $s = ($s * 31 + length $h{$_}) % 65521; $t++ while $h{$_} =~ /[A-M]{2}/g }
print "$s $t\n"; eval { eval { die "inner\n" }; print $@; die "outer\n" }; print $@; exit 4;
"""
SHELL = "i=0; while [ $i -lt 100 ]; do i=$((i+1)); done; echo $i $(echo sub | tr a-z A-Z); cat text | (read a; echo $a); kill -0 $$; exit 8"
NODE = """
let s = 0; for (let i = 0; i < 1e4; i++) s = (s * 31 + i) % 65521;
try { null.x } catch (error) { console.log(error.message) }
console.log(s, require('crypto').createHash('md5').update('x').digest('hex')); process.exit(6);
"""
RUBY = """
h = {}; 500.times { |i| h[i % 97] = (h[i % 97] || '') + i.to_s }; puts h.values.map(&:length).sum
begin; raise 'x'; rescue => e; puts e.message; end; exit 7
"""
CPLUSPLUS = """
#include <map>
#include <string>
int find(std::map<std::string, int> &map) { try { return map.at("x"); } catch (...) { return 1; } }
"""

# Its command, a pattern of its functions, and one function that it calls, if they have names.
JOBS = [
    (["gzip", "-9c", "text"], ["gzip"], None),
    (["xz", "-T2", "-c", "text"], ["xz", "liblzma.so*"], "lzma_code"),
    (["sort", "-n", "--parallel=2", "-S1M", "text"], ["sort"], None),
    (["mawk", "{ s += $1; c[$3]++ } END { print s; for (k in c) n++; print n; exit 5 }", "text"], ["mawk"], None),
    (["sed", "-nE", r"s/^([0-9]+) line (.*)$/\2 \1/p", "text"], ["sed"], None),
    (["sqlite3", ":memory:", SQL], ["sqlite3", "libsqlite3.so*"], "sqlite3_step"),
    (["openssl", "dgst", "-sha3-256", "text"], ["openssl", "libcrypto.so*"], "EVP_DigestUpdate"),
    (["python3", "-I", "-S", "-c", PYTHON], ["python3*"], "PyErr_SetObject"),
    (["perl", "-e", PERL], ["perl"], "Perl_sv_setsv_flags"),
    (["git", "-C", "repository", "log", "-p", "--stat", "--format=%H %s"], ["git"], None),
    (["dash", "-c", SHELL], ["dash"], None),
    (["diff", "text", "repository/file"], ["diff"], None),
]
MORE_JOBS = [
    (["gawk", "{ s += $1; c[length($4)]++ } END { print s; for (k in c) n += c[k]; print n; exit 5 }", "text"], ["gawk"], None),
    (["bash", "-c", SHELL], ["bash"], None),
    (["bzip2", "-c", "text"], ["bzip2"], None),
    (["zstd", "-q", "-T2", "-c", "text"], ["zstd"], None),
    (["tar", "-cf", "-", "--mtime=@0", "--sort=name", "repository/file"], ["tar"], None),
    (["grep", "-cE", "(7+|9.*x{3})", "text"], ["grep"], None),
    (["find", "repository", "-name", "file"], ["find"], None),
    (["git", "-C", "repository", "fsck", "--full"], ["git"], None),
    (["openssl", "enc", "-aes-256-ctr", "-K", "00" * 32, "-iv", "00" * 16, "-in", "text"], ["openssl"], None),
    (["jq", "-n", "[range(200) | {a: ., b: (. * 2 | tostring)}] | map(.a) | add"], ["jq"], None),
    (["bc", "-lq", "sums.bc"], ["bc"], None),
    (["ruby", "-e", RUBY], ["ruby*"], None),
    (["node", "-e", NODE], ["node"], None),
    (["java", "-version"], ["java"], None),
    (["/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus", "-quiet", "-O1", "-o", "-", "map.cpp"], ["cc1plus"], None),
]


def write(name, text):
    with open(f"{FOLDER}/{name}", "w", encoding="utf-8") as file:
        file.write(text)


def make_files():
    write("text", "".join(f"{i * 7919 % 10007} line {i} abc{'x' * (i % 13)}\n" for i in range(1000)))
    write("sums.bc", "scale=60\na=0\nfor(i=1;i<200;i++) a+=1/i^2\na\nquit\n")
    write("map.cpp", CPLUSPLUS)
    os.mkdir(FOLDER + "/repository")
    write("repository/file", "")
    if not shutil.which("git", path=PATH):
        return
    dates = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
             for what, value in (("DATE", "2020-01-01T00:00:00Z"), ("NAME", "somebody"), ("EMAIL", "somebody@example.org"))}
    for arguments in (["init", "-q"], *[step for number in range(3) for step in (number, ["add", "."], ["commit", "-qm", f"{number}"])]):
        if isinstance(arguments, int):
            write("repository/file", "".join(f"{i} {i // (arguments + 2)}\n" for i in range(200)))
        else:
            subprocess.run(["git", "-C", FOLDER + "/repository", *arguments], env=ENV | dates, check=True)


def calls_in(trace):
    done = side("report", "--json", "--calls", trace, timeout=TIMEOUT)
    equal(done.status, 0, done.err)
    return {line["function"]: line["calls"] for line in json_lines(done.out) if line["type"] == "function"}


def compare(command, objects, function):
    program = shutil.which(command[0], path=PATH)
    if not program:
        print(f"{command[0]} is not installed")
        return False
    command = [program, *command[1:]]
    plain = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, env=ENV, cwd=FOLDER, timeout=TIMEOUT, check=False)
    trace = f"{FOLDER}/trace"
    globs = ["*:*"] if LONG else [name + ":*" for name in objects]
    done = side("trace", "-q", "-o", trace, "-c", shlex.join(command), *[word for glob in globs for word in ("--function", glob)],
                "--exit", "--buffer-size", "32M", env=ENV, cwd=FOLDER, text=False, timeout=TIMEOUT)
    errors = done.err.decode("utf-8", "surrogateescape")
    equal((done.status, re.sub("(?m)^(?:side|hint): .*\n", "", errors)), (plain.returncode, plain.stderr.decode("utf-8", "surrogateescape")), program)
    true(done.out == plain.stdout, f"{program} says something else than without probes")
    calls = calls_in(trace)
    true(sum(calls.values()) > 20, f"{program}: {len(calls)} functions were seen")
    # If the machine is too busy for the recorder, some events are lost and reported.
    lost = LOST.search(errors)
    true(lost or not function or calls.get(function), f"{program}: {function} is not among {len(calls)} functions")
    print(f"{program}: the same {len(done.out)} bytes, status {done.status}; {sum(calls.values())} calls of {len(calls)} functions"
          f"{', others lost' if lost else ''}")
    shutil.rmtree(trace)
    return True


make_files()
compared = [compare(*job) for job in JOBS + (MORE_JOBS if LONG else [])]
sys.exit(0 if any(compared) else 77)
