#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A probe on every function of a program and of its libraries, set and removed at random while it works; each workload
verifies its results: test-programs.py PROGRAM

SIDE_TEST_LONG=1 runs it for minutes, SEED selects another sequence.
"""
import filecmp
import hashlib
import shutil
import signal
import socket
import sys
import tempfile
import time

from everything import *

SQL = """
drop table if exists t;
create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i+1 from n where i<4000) insert into t select i, hex(i*7919), i/3.0 from n;
create index tb on t(b);
select count(*), sum(a), sum(length(b)), round(sum(c),3) from t;
select a,b from t where b like '3%' order by b limit 5;
select group_concat(x) from (select b x from t where a%400=0);
select count(*) from t x join t y on x.a=y.a+1 where x.b>y.b;
update t set b=b||'x' where a%3=0; delete from t where a%7=0; vacuum;
select count(*), sum(length(b)) from t;
pragma integrity_check;
"""
PYTHON_MODULES = "test_json test_list test_dict test_generators test_exceptions test_threading test_threading_local test_struct"


def need(name):
    path = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
    if not path:
        raise Skip(f"{name} is not installed")
    return path


def free_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


def listens(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def until_end(work):
    """Repeats the workload at least once, and for the duration of the test."""
    end = time.monotonic() + SECONDS
    while True:
        work()
        if time.monotonic() > end:
            return


def stop(process, number):
    process.send_signal(number)
    status = process.wait(60)
    assert status == 0, f"the program ended with {status}"


def sqlite(location, report):
    program = need("sqlite3")
    wanted = run([program, ":memory:"], input=SQL).stdout
    assert wanted.count("\n") > 8 and wanted.endswith("ok\n"), wanted
    with subprocess.Popen([program, ":memory:"], env=environment(program, report, "storm"), stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True, cwd=location) as process:
        wait_until(lambda: is_ready(report), "the probes are there", process=process)

        def work():
            process.stdin.write(SQL)
            process.stdin.flush()
            got = "".join(process.stdout.readline() for _ in range(wanted.count("\n")))
            assert got == wanted, f"sqlite3 says\n{got}instead of\n{wanted}"

        until_end(work)
        process.stdin.close()
        assert process.wait(60) == 0


def redis_load(process, port, client):
    def ask(*arguments):
        return run([client, "-p", str(port)] + [str(word) for word in arguments]).stdout.strip()

    done = run([shutil.which("redis-benchmark"), "-p", str(port), "-c", "10", "-n", "1000", "-P", "4", "-q",
                "-t", "set,get,incr,lpush,rpop,sadd,hset,zadd,lrange_100,mset"])
    assert done.returncode == 0, done.stdout
    assert ask("eval", "local s=0 for i=1,20000 do s=s+i end return s", 0) == "200010000"
    assert ask("set", "key", "value" * 100) == "OK" and ask("get", "key") == "value" * 100
    ask("del", "numbers")
    ask("rpush", "numbers", *range(100, 0, -1))
    assert ask("sort", "numbers").split() == [str(number) for number in range(1, 101)]
    # A separate process, which has the probes.
    saved = ask("lastsave")
    if "started" in ask("bgsave"):
        wait_until(lambda: "rdb_bgsave_in_progress:0" in ask("info", "persistence"), f"what was last saved at {saved} is saved", process=process)
        assert "rdb_last_bgsave_status:ok" in ask("info", "persistence")


def redis(location, report):
    program, client, _ = need("redis-server"), need("redis-cli"), need("redis-benchmark")
    port = free_port()
    with open(f"{location}/log", "w+", encoding="utf-8") as log, subprocess.Popen(
            [program, "--port", str(port), "--bind", "127.0.0.1", "--dir", location, "--save", ""],
            env=environment(program, report, "storm"), stdout=log, stderr=log) as process:
        try:
            wait_until(lambda: is_ready(report) and listens(port), "redis-server listens", process=process)
            until_end(lambda: redis_load(process, port, client))
            stop(process, signal.SIGTERM)
        except BaseException:
            process.kill()
            log.seek(0)
            print(f"redis-server ended with {process.wait()} and says\n{log.read()[-8000:]}")
            raise


def nginx(location, report):
    program, load = need("nginx"), need("wrk")
    port = free_port()
    with open(f"{location}/page.txt", "w", encoding="ascii") as file:
        file.write("".join(f"{number} {number * number}\n" for number in range(3000)))
    with open(f"{location}/nginx.conf", "w", encoding="ascii") as file:
        paths = "".join(f"{name}_temp_path {location}/{name}; " for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        file.write(f"daemon off; pid {location}/pid; error_log {location}/error.log; worker_processes 2;\n"
                   f"master_process {'on' if LONG else 'off'}; user root;\n"
                   f"events {{ worker_connections 64; }}\nhttp {{ access_log {location}/log; {paths} gzip on; gzip_types text/plain;\n"
                   f"server {{ listen 127.0.0.1:{port}; root {location}; }} }}\n")
    page = f"http://127.0.0.1:{port}/page.txt"

    def work():
        done = run([load, "-t1", "-c10", "-d1", page])
        assert done.returncode == 0 and "Non-2xx" not in done.stdout and "Socket errors" not in done.stdout, done.stdout
        for plain in ([], ["--compressed"]):
            run(["curl", "-s", "-o", f"{location}/got"] + plain + [page])
            assert filecmp.cmp(f"{location}/got", f"{location}/page.txt", shallow=False), "another page than was asked for"

    need("curl")
    with subprocess.Popen([program, "-p", location, "-c", f"{location}/nginx.conf"], env=environment(program, report, "storm"),
                          stderr=subprocess.DEVNULL) as process:
        wait_until(lambda: is_ready(report) and listens(port), "nginx listens", process=process)
        until_end(work)
        stop(process, signal.SIGQUIT)


def python(location, report):
    program = need("python3")
    program = run([program, "-c", "import sys; print(sys.executable)"]).stdout.strip()
    if run([program, "-c", "import test.test_json"]).returncode:
        raise Skip("python3 has no test modules here")
    modules = PYTHON_MODULES if LONG else "test_json test_list test_generators"
    script = ("import os, sys, time, unittest\n"
              "while open(sys.argv[1], 'rb').read(8) == bytes(8): time.sleep(0.02)\n"
              "end = time.monotonic() + float(sys.argv[2])\n"
              "while True:\n"
              "    suite = unittest.defaultTestLoader.loadTestsFromNames('test.' + name for name in sys.argv[3:])\n"
              "    result = unittest.TextTestRunner(verbosity=0).run(suite)\n"
              "    print('failed:', *sorted(str(one[0]) for one in result.failures + result.errors))\n"
              "    if time.monotonic() > end: break\n")
    command = [program, "-c", script, report]
    with open(f"{location}/none", "wb") as file:
        file.write(b"ready now")
    # A failure without probes is no failure of probes.
    plain = run([program, "-c", script, f"{location}/none", "0"] + modules.split(), cwd=location)
    done = run(command + [str(SECONDS)] + modules.split(), cwd=location, env=environment(program, report, "storm"))
    assert done.returncode == 0, f"python3 ended with {done.returncode}:\n{done.stdout[-3000:]}"
    wanted = [line for line in plain.stdout.splitlines() if line.startswith("failed:")]
    got = [line for line in done.stdout.splitlines() if line.startswith("failed:")]
    assert got and set(got) == set(wanted), f"{got} instead of {wanted}:\n{done.stdout[-3000:]}"


def openssl(location, report):
    program = need("openssl")
    data = b"".join(hashlib.sha256(bytes([number & 255, number >> 8])).digest() for number in range(20000))
    with open(f"{location}/data", "wb") as file:
        file.write(data)
    env = environment(program, report, "once")
    for name in ("md5", "sha1", "sha256", "sha512", "blake2b512"):
        done = run([program, "dgst", f"-{name}", f"{location}/data"], env=env)
        assert done.stdout.split()[-1] == hashlib.new(name if name != "blake2b512" else "blake2b", data).hexdigest(), done.stdout
    for options in (["-e", "-in", f"{location}/data", "-out", f"{location}/secret"],
                    ["-d", "-in", f"{location}/secret", "-out", f"{location}/again"]):
        done = run([program, "enc", "-aes-256-ctr", "-pbkdf2", "-pass", "pass:word"] + options, env=env)
        assert done.returncode == 0, done.stdout
    assert filecmp.cmp(f"{location}/data", f"{location}/again", shallow=False), "deciphered to something else"
    assert all(location[4] != 255 for location in Report(report).places), "not all functions were probed"
    seconds = max(1, SECONDS // 20)
    while True:
        done = run([program, "speed", "-seconds", str(seconds), "-bytes", "4096", "sha256", "aes-128-cbc", "rsa2048", "ecdsap256"],
                   env=environment(program, report, "storm"))
        assert done.returncode == 0 and "nistp256" in done.stdout, done.stdout
        # On a busy machine the program may exit before all its functions are known.
        if is_stormy(Report(report)) or seconds >= 16:
            return
        seconds *= 2


def main():
    name = sys.argv[1]
    with tempfile.TemporaryDirectory() as location:
        report = f"{location}/report"
        try:
            {"sqlite": sqlite, "redis": redis, "nginx": nginx, "python": python, "openssl": openssl}[name](location, report)
        except Skip as reason:
            print(f"{reason}: nothing can be tested")
            sys.exit(77)
        check_storm(report)


main()
