# SPDX-License-Identifier: MIT
"""
The Debian packages in fresh systems: Debian 12 and 13, made by debootstrap. Built twice with equal results, accepted by lintian,
installed, used as the README says, and purged without a remainder. Only with SIDE_TEST_LONG=1, as root.

usage: test-roots.py SOURCE-DIRECTORY DIRECTORY [Bookworm|Trixie]     (DIRECTORY keeps the root directories for the next run)

With SIDE_TEST_CCACHE=DIRECTORY the first of the two builds uses a cache of compiled files there, for a quick run.
"""
import glob
import hashlib
import os
import shutil
import subprocess
import sys
import unittest

PROGRAM = """
#include <side/trace.h>
side_static_event(ev_tick, "clockwork", "tick", SIDE_LOGLEVEL_INFO, side_field_list(side_field_u64("count")));
int main(void)
{
	side_event(ev_tick, side_arg_list(side_arg_u64(12)));
	return 0;
}
"""
# Directories of other packages, and of the package manager itself.
NOT_OURS = ("./var/lib/dpkg", "./var/cache", "./var/log", "./var/lib/apt", "./etc/ld.so.cache", "./proc", "./dev", "./tmp", "./run", "./sys",
            "./side", "./etc/group-", "./etc/gshadow-", "./root", "./srv")
CACHE = os.environ.get("SIDE_TEST_CCACHE")
# meson uses ccache if it is installed.
USE_CCACHE = """
apt-get -q install -y --no-install-recommends ccache
printf 'cache_dir = /var/cache/ccache\nhash_dir = false\nsloppiness = locale\numask = 000\n' >/etc/ccache.conf
mkdir -p /var/cache/ccache
"""


class Root:
    """A system below a directory of this one."""

    def __init__(self, suite, directory, source):
        self.path = os.path.join(os.path.abspath(directory), suite)
        if not os.path.exists(os.path.join(self.path, "usr/bin/lintian")):
            shutil.rmtree(self.path, ignore_errors=True)
            subprocess.run(["debootstrap", "--variant=minbase", suite, self.path], check=True, stdout=subprocess.DEVNULL)
            self.run("apt-get -q install -y --no-install-recommends git lintian gcc libc6-dev pkg-config")
        tree = os.path.join(self.path, "side")
        shutil.rmtree(tree, ignore_errors=True)
        os.mkdir(tree)
        packed = subprocess.run(["git", "-C", source, "archive", "HEAD"], capture_output=True, check=True).stdout
        subprocess.run(["tar", "-x", "-C", tree], input=packed, check=True)
        self.run("cd /side && packaging/install-packages deb")
        if CACHE:
            os.makedirs(CACHE, exist_ok=True)
            self.run(USE_CCACHE)

    def run(self, command, cached=False):
        """Runs a shell command in the system; returns its output."""
        inside = f'mount -t proc proc "{self.path}/proc" && mount --rbind /dev "{self.path}/dev" && exec chroot "{self.path}" sh -ec "$1"'
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8", "HOME": "/root"}
        if CACHE and cached:
            inside = f'mount --bind "{os.path.abspath(CACHE)}" "{self.path}/var/cache/ccache" && {inside}'
        else:
            environment["CCACHE_DISABLE"] = "1"
        done = subprocess.run(["unshare", "-m", "sh", "-c", inside, "sh", command], capture_output=True, text=True, check=False, env=environment)
        if done.returncode:
            raise AssertionError(f"{command}: status {done.returncode}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
        return done.stdout

    def files(self):
        skipped = " ".join(f"-path {path} -prune -o" for path in NOT_OURS)
        return set(self.run(f"cd / && find . {skipped} -print").splitlines())


class Packages(unittest.TestCase):
    suite = None

    @classmethod
    def setUpClass(cls):
        if cls.suite is None:
            raise unittest.SkipTest("base of the tests for each release")
        cls.root = Root(cls.suite, DIRECTORY, SOURCE)
        cls.root.run("rm -rf /srv/first /srv/second; cd /side && packaging/build-deb /srv/first", cached=True)

    def test_1_reproducible(self):
        self.root.run("cd /side && packaging/build-deb /srv/second")
        sums = []
        for name in ("first", "second"):
            packages = sorted(glob.glob(os.path.join(self.root.path, "srv", name, "*.deb")))
            self.assertGreaterEqual(len(packages), 5)
            hashes = {}
            for package in packages:
                with open(package, "rb") as content:
                    hashes[os.path.basename(package)] = hashlib.sha256(content.read()).hexdigest()
            sums.append(hashes)
        self.assertEqual(*sums)

    def test_2_lintian(self):
        self.root.run("lintian --allow-root --fail-on error,warning /srv/first/*.changes")

    def test_3_use_and_purge(self):
        install = "cd /srv/first && apt-get -q install -y --no-install-recommends $(ls ./*.deb | grep -v dbgsym)"
        purge = "apt-get -q purge -y side libside0 libside-dev side-gdb side-doc"
        # Their dependencies stay installed, so that the difference is what they leave themselves.
        self.root.run(install + " && " + purge)
        before, groups = self.root.files(), self.root.run("cat /etc/group")
        self.assertNotIn("tracing", groups)
        self.root.run(install)
        self.assertIn("\ntracing:", self.root.run("cat /etc/group"))
        with open(os.path.join(self.root.path, "srv", "tick.c"), "w", encoding="utf-8") as out:
            out.write(PROGRAM)
        self.root.run("cd /srv && gcc tick.c $(pkg-config --cflags --libs libside) -o tick && rm -rf ticks calls")
        self.root.run("cd /srv && side record -o ticks ./tick && side record -w libc -o calls -- ls /")
        self.assertIn("clockwork:tick: { count = 12 }", self.root.run("side view /srv/ticks"))
        self.assertIn("libc:malloc", self.root.run("side view /srv/calls"))
        self.root.run("cd /srv && gcc tick.c $(pkg-config --cflags libside) -l:libside.a -o static && rm -rf static-ticks && side record -o static-ticks ./static")
        self.assertIn("clockwork:tick: { count = 12 }", self.root.run("side view /srv/static-ticks"))
        self.assertNotIn("libside.so", self.root.run("ldd /srv/static"))
        for line in self.root.run("side doctor --json libside agent pkgconfig programs").splitlines():
            self.assertIn('"state":"ok"', line)
        self.assertIn("clockwork", self.root.run("readside /srv/tick"))
        # A daemon outside this system has another root directory.
        self.assertEqual(self.root.run("for i in $(pgrep -x sided); do if [ /proc/$i/root -ef / ]; then echo $i; fi; done"), "")
        self.root.run(purge)
        self.assertEqual(self.root.files(), before)
        self.assertEqual(self.root.run("cat /etc/group"), groups)


class Bookworm(Packages):
    suite = "bookworm"


class Trixie(Packages):
    suite = "trixie"


if __name__ == "__main__":
    if not os.environ.get("SIDE_TEST_LONG") or os.getuid() or not shutil.which("debootstrap"):
        print("needs SIDE_TEST_LONG=1, root and debootstrap")
        sys.exit(77)
    SOURCE, DIRECTORY = sys.argv[1:3]
    del sys.argv[1:3]
    unittest.main(verbosity=2)
