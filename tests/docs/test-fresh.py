# SPDX-License-Identifier: MIT
"""
Run the commands of README.md, and of the tutorials, in fresh systems: Debian 12 and 13, made by debootstrap, as root and as a user with
sudo. Compare what they print with the page; times, pids, addresses and sizes may differ. Only with SIDE_TEST_LONG=1, as root.

A block runs if its comment (test-examples.py) begins with `run` or `file`, or names this test: `by docs-fresh`. A second comment,
`<!-- fresh: WORDS -->`, has more, separated by commas:

  way NAME    one of several: `packages` or `source`
  stage NAME  runs after the other blocks, with what the shell function of that name prepares (STAGES)
  interrupt   the last command goes on until Ctrl-C
  file NAME   the block is a file of that name
  not here: REASON

usage: test-fresh.py SOURCE DIRECTORY [SUITE ACCOUNT [PAGE...]]     (DIRECTORY keeps the systems, and packages of Debian, for the next run)

The first failure of a page does not stop the next blocks and pages. Each page needs README.md, which installs side; sessions.md needs c.md.

With SIDE_TEST_CCACHE=DIRECTORY the systems share a cache of compiled files there, for a quick run while you change a page.
"""
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
# Each way to install is used with each release, and with each account.
RUNS = {("bookworm", "root"): "packages", ("bookworm", "user"): "source", ("trixie", "root"): "source", ("trixie", "user"): "packages"}
# In this order, each in a directory below the home directory; `side` has the sources.
PAGES = {"README.md": "side", "docs/tutorial/quick-start.md": "side", "docs/tutorial/c.md": "kitchen", "docs/tutorial/cpp-cmake.md": "bakery",
         "docs/tutorial/without-sources.md": "side", "docs/tutorial/sessions.md": "kitchen"}
# Prepared by root, in the directory of the page.
STAGES = {
    "postgresql": """
apt-get -q install -y --no-install-recommends postgresql >/dev/null
pg_ctlcluster $(pg_lsclusters -h | cut -d' ' -f1,2) start
su postgres -c 'psql -qc "create table t (n int)"'
mkfifo /tmp/sql && chmod 666 /tmp/sql
su postgres -c 'psql -q </tmp/sql >/tmp/sql.out 2>&1' &
exec 7>/tmp/sql
echo 'select pg_backend_pid();' >&7
until grep -q '^ *[0-9]' /tmp/sql.out; do sleep 0.1; done
grep '^ *[0-9]' /tmp/sql.out | tr -d ' ' | head -n 1 >/tmp/20114
(sleep 3; echo 'insert into t values (42);' >&7) &
""",
    "redis": """
RUNLEVEL=1 apt-get -q install -y --no-install-recommends redis-server redis-tools >/dev/null
redis-server --daemonize yes --save '' >/dev/null
(while sleep 0.2; do redis-cli set a b; redis-cli get a; done) >/dev/null &
""",
    "kitchen": """
gcc -g -O1 SOURCE/tests/probe/resolve/kitchen.c -o kitchen && chown --reference=. kitchen
""",
    "makefile": """
printf 'test:\\n\\t@echo tested\\n' >Makefile
""",
    "talker": """
mkfifo /tmp/talk
chroot --userspec=$(stat -c %u:%g .) / "$PWD/talker" 1 wait </tmp/talk >/tmp/talker.out 2>&1 &
echo $! >/tmp/4711
exec 8>/tmp/talk
until grep -q ready /tmp/talker.out; do sleep 0.1; done
""",
}
# stage: the process id in the page; the file /tmp/NUMBER has the real one.
PIDS = {"postgresql": "20114", "talker": "4711"}
# The compilers that users call are the cache's.
USE_CCACHE = """
apt-get -q install -y --no-install-recommends ccache >/dev/null
for name in cc gcc c++ g++; do ln -s /usr/bin/ccache /usr/local/bin/$name; done
printf 'cache_dir = /var/cache/ccache\\nhash_dir = false\\nsloppiness = locale\\numask = 000\\n' >/etc/ccache.conf
"""


def load_examples():
    """Returns the reader of pages of test-examples.py, which is a program and not a module."""
    with open(os.path.join(HERE, "test-examples.py"), encoding="utf-8") as text:
        code = text.read().rsplit("\nmain()\n", 1)[0]
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("examples", None))
    module.__file__ = os.path.join(HERE, "test-examples.py")
    argv, sys.argv = sys.argv, [sys.argv[0], SOURCE]
    exec(compile(code, module.__file__, "exec"), module.__dict__)  # pylint: disable=exec-used
    sys.argv = argv
    return module


class Fresh:
    """A system that is removed after the run: a layer over the one that debootstrap has made."""

    def __init__(self, suite, account):
        self.account = account
        base = os.path.join(DIRECTORY, suite + ".base")
        if not os.path.exists(base):
            new = base + ".new"
            shutil.rmtree(new, ignore_errors=True)
            subprocess.run(["debootstrap", "--variant=minbase", "--include=sudo,git,ca-certificates", suite, new], check=True,
                           stdout=subprocess.DEVNULL)
            os.rename(new, base)
        self.home = "/root" if account == "root" else "/home/user"
        self.top = os.path.join(DIRECTORY, f"{suite}.{account}")
        subprocess.run(["rm", "-rf", self.top], check=True)
        for name in ("upper", "work", "root"):
            os.makedirs(os.path.join(self.top, name))
        archives = os.path.join(DIRECTORY, suite + ".archives")
        os.makedirs(archives, exist_ok=True)
        root = os.path.join(self.top, "root")
        cache = os.environ.get("SIDE_TEST_CCACHE", "")
        if cache:
            os.makedirs(cache, exist_ok=True)
            os.chmod(cache, 0o777)
            cache = f"mkdir -p {root}/var/cache/ccache; mount --bind {os.path.abspath(cache)} {root}/var/cache/ccache"
        # A pid namespace, so that no process outlives the run.
        begin = f"""
mount --make-rprivate /
mount -t overlay overlay -o lowerdir={base},upperdir={self.top}/upper,workdir={self.top}/work {root}
mount -t proc proc {root}/proc; mount --rbind /sys {root}/sys; mount --rbind /dev {root}/dev; mount -t tmpfs tmpfs {root}/dev/shm
mount --bind {archives} {root}/var/cache/apt/archives
{cache}
mkdir -p {root}/.old; cd {root}; pivot_root . .old; umount -l /.old; cd /
echo inside; exec bash
"""
        environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/root", "TERM": "dumb"}
        self.shell = subprocess.Popen(["unshare", "-m", "-p", "-f", "--kill-child", "bash", "-ec", begin], env=environment, text=True,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        # Until then, its root directory is that of this system.
        for line in self.shell.stdout:
            if line == "inside\n":
                break
        else:
            raise AssertionError("the system did not begin")
        self.as_root("""export DEBIAN_FRONTEND=noninteractive
echo 'Binary::apt::APT::Keep-Downloaded-Packages "true";' >/etc/apt/apt.conf.d/keep
echo 'APT::Sandbox::User "root";' >>/etc/apt/apt.conf.d/keep
# Like a user who answers yes.
echo 'APT::Get::Assume-Yes "true";' >>/etc/apt/apt.conf.d/keep
echo "127.0.0.1 localhost $(hostname)" >/etc/hosts
useradd -m -s /bin/bash user && echo 'user ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/user
apt-get -q update >/dev/null""")
        if cache:
            self.as_root(USE_CCACHE)
        packed = subprocess.run(["git", "-C", SOURCE, "archive", "HEAD"], capture_output=True, check=True).stdout
        target = self.file(self.home + "/side", mode=None)
        os.mkdir(target)
        subprocess.run(["tar", "-x", "-C", target], input=packed, check=True)
        if account != "root":
            self.as_root("chown -R user: /home/user/side")

    def file(self, path, mode="r"):
        """Opens a file of the system by its path there; without a mode, returns its path here."""
        here = f"/proc/{self.child()}/root{path}"
        return here if mode is None else open(here, mode, encoding="utf-8", errors="replace")

    def child(self):
        """Returns the process id of the shell in the namespace, as this system numbers it."""
        with open(f"/proc/{self.shell.pid}/task/{self.shell.pid}/children", encoding="ascii") as children:
            return children.read().split()[0]

    def as_root(self, text, timeout=1800):
        """Runs the text in the shell of the system; returns the status and the output."""
        with self.file("/tmp/.text", "w") as out:
            out.write(text)
        print("eval \"$(cat /tmp/.text)\" >/tmp/.out 2>&1 </dev/null; echo done:$?", file=self.shell.stdin, flush=True)
        limit = threading.Timer(timeout, self.shell.kill)
        limit.start()
        try:
            line = next((line for line in self.shell.stdout if line.startswith("done:")), None)
        finally:
            limit.cancel()
        if line is None:
            raise AssertionError("the system has ended in " + text)
        with self.file("/tmp/.out") as printed:
            shown = printed.read()
        return int(line[5:]), shown

    def command(self, command, folder, interrupt=False, lines=0):
        """Runs a command of a page as the account, in a directory below its home directory."""
        with self.file("/tmp/.command", "w") as out:
            out.write(command)
        self.as_root("chmod 644 /tmp/.command; rm -f /tmp/.printed")
        start = f'cd "$HOME/{folder}" && eval "$(cat /tmp/.command)"'
        if self.account == "root":
            start = f"HOME=/root bash -c '{start}'"
        else:
            start = f"su - user -c '{start}'"
        if not interrupt:
            return self.as_root(start)
        # Jobs ignore Ctrl-C unless the shell has job control. The last line of the page is printed after it.
        status, shown = self.as_root(f"""set -m; {start} >/tmp/.printed 2>&1 & job=$!
for i in $(seq 300); do sleep 0.1; [ $(wc -l </tmp/.printed) -ge {lines} ] && break; done
sleep 1; kill -INT $(pidof side) || true
(sleep 60; kill -TERM $(pidof side)) >/dev/null 2>&1 & ending=$!
wait $job; status=$?; kill $ending; set +m; cat /tmp/.printed; (exit $status)""")
        return status, shown

    def end(self):
        self.shell.stdin.close()
        self.shell.kill()
        self.shell.wait()
        self.shell.stdout.close()
        subprocess.run(["rm", "-rf", self.top], check=True)


def chosen(examples, text, way):
    """Returns (line, words, info, lines) of the blocks to run, those with a stage last."""
    fresh = {}
    for number, line in enumerate(text.splitlines(), 1):
        found = re.fullmatch(r"<!-- fresh: (.*) -->", line)
        if found:
            fresh[number] = [word.strip() for word in found.group(1).split(",")]
    first, last = [], []
    for line, mark, info, lines in examples.blocks(text):
        # The comments are above the block, with at most one empty line in between.
        more = next((words for number, words in fresh.items() if 0 < line - number <= 3), [])
        kind = mark.split(",")[0].split(" ")
        ways = [word[4:] for word in more if word.startswith("way ")]
        if not (kind[0] in ("run", "file") or kind[0] == "by" and "docs-fresh" in kind) or ways and way not in ways:
            continue
        if any(word.startswith("not here: ") for word in more):
            continue
        (last if any(word.startswith("stage ") for word in more) else first).append((line, mark, more, lines))
    return first + last


class Pages(unittest.TestCase):
    suite = account = None

    def setUp(self):
        if self.suite is None:
            self.skipTest("base of the tests for each release")
        self.examples = load_examples()
        self.system = Fresh(self.suite, self.account)
        self.addCleanup(self.system.end)

    def compare(self, where, mark, command, wanted, printed):
        plain = self.examples.plain
        # The paths of installed programs are replaced by those of the page.
        printed = re.sub(re.escape(self.system.home) + r"/\w+/", "/usr/local/bin/", printed)
        shown = [plain(line) for line in printed.splitlines() if line.strip()]
        wanted = [plain(line) for line in wanted if line.strip()]
        if "any order" in mark:
            shown, wanted = sorted(shown), sorted(wanted)
        if wanted and "output varies" not in mark and not self.examples.guide.matches(shown, wanted):
            self.fail(f"{where}: `{command}` prints\n" + "\n".join(shown) + "\nnot\n" + "\n".join(wanted))

    def prepare(self, stage, folder):
        """Runs the stage; returns {process id in the page: real process id}."""
        home = self.system.home
        status, printed = self.system.as_root(f"cd {home}/{folder}\n" + STAGES[stage].replace("SOURCE", home + "/side"))
        self.assertEqual(status, 0, printed)
        if stage not in PIDS:
            return {}
        with self.system.file("/tmp/" + PIDS[stage]) as number:
            return {PIDS[stage]: number.read().strip()}

    def run_block(self, where, mark, more, lines, folder):
        numbers = {}
        for word in more:
            if word.startswith("stage "):
                numbers.update(self.prepare(word[6:], folder))
        found = self.examples.commands_of(lines)
        status = 0
        for number, (command, wanted) in enumerate(found):
            command = command.split("  # ")[0]
            for old, new in numbers.items():
                command = command.replace(old, new)
            last = number == len(found) - 1
            # Printed before Ctrl-C.
            before = next((i for i, line in enumerate(wanted) if line.startswith("side: recorded")), len(wanted))
            started = time.monotonic()
            status, printed = self.system.command(f"(exit {status})\n{command}", folder, "interrupt" in more and last, max(1, before))
            print(f"{where}: {command} ({time.monotonic() - started:.0f} s)", flush=True)
            if last or "$?" not in found[number + 1][0]:
                self.assertEqual(status, 0, f"{where}: `{command}` prints\n{printed[-3000:]}")
            self.compare(where, mark, command, wanted, printed)

    def write_file(self, name, lines, folder):
        path = f"{self.system.home}/{folder}/{name}"
        with self.system.file(path, "w") as out:
            out.write("\n".join(lines) + "\n")
        self.system.as_root(f"chown --reference={self.system.home} {path}")

    def test_pages(self):
        for page, folder in PAGES.items():
            with open(os.path.join(SOURCE, page), encoding="utf-8") as text:
                blocks = chosen(self.examples, text.read(), RUNS[self.suite, self.account])
            self.assertTrue(blocks)
            self.system.as_root(f"cd {self.system.home} && mkdir -p {folder} && chown --reference=. {folder}")
            for line, mark, more, lines in blocks:
                where = f"{self.suite} {self.account}: {page}, line {line}"
                name = next((words[5:] for words in [mark.split(",")[0], *more] if words.startswith("file ")), None)
                with self.subTest(block=where):
                    if name:
                        self.write_file(name, lines, folder)
                    else:
                        self.run_block(where, mark, more, lines, folder)


def load_tests(loader, _tests, _pattern):
    suite = unittest.TestSuite()
    for release, account in RUNS:
        if ONLY and (release, account) != ONLY:
            continue
        name = f"{release}_{account}"
        suite.addTests(loader.loadTestsFromTestCase(type(name, (Pages,), {"suite": release, "account": account})))
    return suite


if __name__ == "__main__":
    if not os.environ.get("SIDE_TEST_LONG") or os.getuid() or not shutil.which("debootstrap"):
        print("needs SIDE_TEST_LONG=1, root and debootstrap")
        sys.exit(77)
    SOURCE, DIRECTORY = (os.path.abspath(path) for path in sys.argv[1:3])
    ONLY = tuple(sys.argv[3:5])
    PAGES = {page: PAGES[page] for page in sys.argv[5:]} or PAGES
    del sys.argv[1:]
    unittest.main(verbosity=2)
