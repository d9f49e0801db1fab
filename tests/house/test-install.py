# SPDX-License-Identifier: MIT
"""`meson install` into a prefix gives a project that works there, and that other projects can build
with.

usage: test-install.py BUILD-DIRECTORY EXAMPLE-SOURCE

Checks the commands, the paths by which the libraries find each other, pkg-config, the CMake
package, and that headers compile alone from the installed directory.
"""
import glob
import json
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from checks import output

build, example = (os.path.abspath(a) for a in sys.argv[1:3])
work = tempfile.TemporaryDirectory(prefix="side-install-")
root = os.path.join(work.name, "root")


output("meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", root)
options = json.loads(output("meson", "introspect", build, "--buildoptions"))
values = {o["name"]: o["value"] for o in options}
prefix = root + values["prefix"]
libdir = os.path.join(prefix, values["libdir"])

for name in ("libside.so.0", "libside.so", "libside.a", "libside-agent.so", "libside-kernel.so", "libside-console-tracer.so.0",
             "libside-wrap-libc.so", "libside-wrap-pthread.so", "pkgconfig/libside.pc",
             "pkgconfig/libside-console-tracer.pc",
             os.path.join(prefix, "lib/cmake/libside/libsideConfig.cmake")):
    if not os.path.exists(os.path.join(libdir, name)):
        sys.exit(f"{name} is not installed in {libdir}")

for name in ("side.1", "side-record.1", "side-list.1", "side-view.1"):
    if not glob.glob(os.path.join(prefix, values["mandir"], "man1", name + "*")):
        sys.exit(f"the manual page {name} is not installed")

# Each name that a page of the library describes leads to that page.
pages = glob.glob(os.path.join(os.path.dirname(__file__), "..", "..", "docs", "man", "*.3"))
names = 0
for page in pages:
    with open(page, encoding="utf-8") as text:
        section = text.read().split(".Sh NAME\n")[1].split("\n.Sh ")[0]
    for name in re.findall(r"^\.Nm (\S+)", section, re.M):
        names += 1
        leads_to = os.path.basename(os.path.realpath(os.path.join(prefix, values["mandir"], "man3", name + ".3")))
        if leads_to != os.path.basename(page) or not os.path.exists(os.path.join(prefix, values["mandir"], "man3", leads_to)):
            sys.exit(f"the manual page {name}.3 leads to {leads_to}, not to {os.path.basename(page)}")
if len(pages) < 20 or names < 500:
    sys.exit(f"{len(pages)} pages with {names} names found: the search is wrong")
if not os.path.exists(os.path.join(prefix, values["mandir"], "man7", "side-environment.7")):
    sys.exit("the manual page side-environment.7 is not installed")

if not os.access(os.path.join(prefix, values["libexecdir"], "side", "side-more"), os.X_OK):
    sys.exit("side-more is not installed")

# gdb searches the library's own name, below its auto-load directory.
scripts = os.path.join(prefix, values["datadir"], "gdb/auto-load") + os.path.join(values["prefix"], values["libdir"])
for name in ("libside.so.0-gdb.py", "side_gdb/commands.py"):
    if not os.path.exists(os.path.join(scripts, name)):
        sys.exit(f"{name} is not installed in {scripts}")

# pkg-config
environment = dict(os.environ, PKG_CONFIG_SYSROOT_DIR=root,
                   PKG_CONFIG_PATH=os.path.join(libdir, "pkgconfig"))
flags = output("pkg-config", "--cflags", "--libs", "libside", env=environment).split()
program = os.path.join(work.name, "with-pkg-config")
output("gcc", "-Wall", "-Wextra", "-Werror", "-o", program, example, *flags, "-Wl,-rpath," + libdir)
flags = output("pkg-config", "--cflags", "--libs", "libside-console-tracer", env=environment).split()
printing = os.path.join(work.name, "with-console")
output("gcc", "-o", printing, example, *flags, "-Wl,-rpath," + libdir)
shown = output(printing, "1")
if "provider: shop, event: order" not in shown:
    sys.exit(f"the console tracer printed no order:\n{shown[:2000]}")

flags = output("pkg-config", "--static", "--cflags", "--libs", "libside", env=environment).split()
static = os.path.join(work.name, "static")
output("gcc", "-static", "-o", static, example, *flags)
output(static, "1")

# CMake
project = os.path.join(work.name, "cmake")
os.mkdir(project)
with open(os.path.join(project, "CMakeLists.txt"), "w", encoding="utf-8") as out:
    out.write(f"""cmake_minimum_required(VERSION 3.20)
project(user C)
find_package(libside 0.1 REQUIRED)
add_executable(user {example})
target_link_libraries(user side::side)
add_executable(static-user {example})
target_link_libraries(static-user side::static)
""")
output("cmake", "-G", "Ninja", "-S", project, "-B", project + "/build", f"-DCMAKE_PREFIX_PATH={prefix}")
output("cmake", "--build", project + "/build")

# Returns the events of the installed program, from its file.
listed = json.loads(output(os.path.join(prefix, "bin", "readside"), "-e", "shop:order", program))
if [event["event"] for event in listed] != ["order"]:
    sys.exit(f"readside lists {listed} for {program}")

# The command, from the installed directory, on both programs.
side = os.path.join(prefix, "bin", "side")
version = output(side, "--version")
if not any(part[0].isdigit() for part in version.split()):
    sys.exit(f"side --version says {version!r}")
for name, command in (("a", program), ("b", os.path.join(project, "build", "user")), ("c", os.path.join(project, "build", "static-user"))):
    trace = os.path.join(work.name, "trace-" + name)
    output(side, "record", "-o", trace, "--", command, "5")
    events = [json.loads(line) for line in output(side, "view", "--json", trace).splitlines()]
    orders = sum(e.get("event") == "shop:order" for e in events)
    if orders != 5:
        sys.exit(f"{orders} orders recorded by {command}, 5 expected")
trace = os.path.join(work.name, "trace-ls")
output(side, "record", "-w", "libc", "-o", trace, "--", "ls", "/")
if "libc:malloc" not in output(side, "view", trace):
    sys.exit("no malloc in the recording of ls")

# The installed files are removed again, and nothing else is left.
output("ninja", "-C", build, "uninstall")
left = [os.path.join(where, name) for where, folders, files in os.walk(root) for name in files + folders if not os.path.isdir(os.path.join(where, name))]
if left:
    sys.exit(f"ninja uninstall leaves {len(left)} files, among them {left[:5]}")
