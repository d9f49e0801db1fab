#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The doctor's checks of the installation, in prefixes that the test makes: a library that the loader
or pkg-config does not find, another one that comes before it, and parts of different releases. The
test follows each hint, and then the check succeeds.

usage: test-doctor-library.py BUILD-DIRECTORY
"""
import shutil

from harness import *

BUILD = os.path.abspath(sys.argv.pop(1))
work = tempfile.TemporaryDirectory()
PROGRAM = "#include <stdio.h>\nint main(void) { puts(\"ready\"); fflush(stdout); return getchar(); }\n"


def install(name):
    """Makes a prefix with the files that the checks read, in the layout of `meson install`."""
    prefix = os.path.join(work.name, name)
    for file, folder in (("programs/side/side", "bin"), ("programs/side/side-more", "libexec/side"), ("src/libside/libside.so.0", "lib"),
                         ("src/tracers/agent/libside-agent.so", "lib")):
        os.makedirs(os.path.join(prefix, folder), exist_ok=True)
        shutil.copy(os.path.join(BUILD, file), os.path.join(prefix, folder))
    os.symlink("libside.so.0", prefix + "/lib/libside.so")
    os.mkdir(prefix + "/lib/pkgconfig")
    with open(prefix + "/lib/pkgconfig/libside.pc", "w", encoding="utf-8") as out:
        out.write(f"Name: libside\nDescription: of {name}\nVersion: 0\nLibs: -L{prefix}/lib -lside\n")
    return prefix


def clean(**changes):
    names = ("LD_LIBRARY_PATH", "PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR", "SIDE_LIB_DIR")
    return environment(**{name: None for name in names} | {"SIDE_RUNTIME": work.name + "/runtime"} | changes)


def check(prefix, name, state, env=None):
    run = subprocess.run([prefix + "/bin/side", "doctor", "--json", name], env=env or clean(), capture_output=True, text=True, timeout=60,
                         check=False)
    line, = json_lines(run.stdout)
    equal((line["state"], run.returncode), (state, int(state == "missing")), str(line))
    equal("hint" in line, state in ("note", "missing"), str(line))
    return line


def follow(prefix, name, hint):
    """Returns the check after the command of the hint has run in a shell."""
    run = subprocess.run(["sh", "-ec", f"{hint}\nexec {prefix}/bin/side doctor --json {name}"], env=clean(), capture_output=True, text=True,
                         timeout=60, check=False)
    line, = json_lines(run.stdout)
    equal(line["state"], "ok", str(line))


def change_version(path):
    """Makes another release of the library: its note has another text of the same size."""
    with open(path, "rb") as file:
        bytes_ = file.read()
    note = b"SIDE\0\0\0\0"
    at = bytes_.index(note) + len(note)
    version = bytes_[at:bytes_.index(b"\0", at)]
    with open(path, "wb") as file:
        file.write(bytes_[:at] + b"9" * len(version) + bytes_[at + len(version):])
    return "9" * len(version), version.decode()


def test_loader():
    one, two = install("one"), install("two")
    line = check(one, "libside", "missing")
    contains(line["found"], f"the loader does not find {one}/lib/libside.so.0")
    equal(line["hint"], f"echo {one}/lib | sudo tee /etc/ld.so.conf.d/side.conf && sudo ldconfig")
    # In a directory that the loader searches, as that of another installation, or of an older one.
    line = check(one, "libside", "note", clean(LD_LIBRARY_PATH=two + "/lib"))
    contains(line["found"], f"programs load {two}/lib/libside.so.0")
    contains(line["found"], f"instead of {one}/lib/libside.so.0")
    follow(one, "libside", f"LD_LIBRARY_PATH={two}/lib\n" + line["hint"])
    other, own = change_version(two + "/lib/libside.so.0")
    line = check(one, "libside", "missing", clean(LD_LIBRARY_PATH=two + "/lib"))
    contains(line["found"], f"programs load {two}/lib/libside.so.0 ({other}) instead of {one}/lib/libside.so.0 ({own})")
    check(one, "libside", "ok", clean(LD_LIBRARY_PATH=one + "/lib"))
    # A file that is not a library, and a library that was removed.
    with open(two + "/lib/libside.so.0", "w", encoding="utf-8") as file:
        file.write("text")
    line = check(one, "libside", "missing", clean(LD_LIBRARY_PATH=f"{two}/lib:{one}/lib"))
    contains(line["hint"], "ld.so.conf.d")
    os.remove(one + "/lib/libside.so.0")
    contains(check(one, "libside", "missing")["found"], "is not installed beside `side`")


def test_agent():
    prefix = install("agents")
    check(prefix, "agent", "ok")
    other, own = change_version(prefix + "/lib/libside-agent.so")
    line = check(prefix, "agent", "missing")
    contains(line["found"], f"{prefix}/lib/libside-agent.so has another version ({other}) than `side` ({own})")
    equal(line["hint"], "sudo ninja -C build install")
    shutil.copy(BUILD + "/src/tracers/agent/libside-agent.so", prefix + "/lib")
    change_version(prefix + "/lib/libside.so.0")
    contains(check(prefix, "agent", "missing")["found"], "/lib/libside.so.0 has another version")
    os.remove(prefix + "/lib/libside-agent.so")
    contains(check(prefix, "agent", "missing")["found"], "libside-agent.so is not installed")


def test_pkgconfig():
    if not shutil.which("pkg-config"):
        return
    prefix, other = install("first"), install("second")
    line = check(prefix, "pkgconfig", "missing", clean(PKG_CONFIG_LIBDIR=work.name))
    contains(line["found"], f"pkg-config does not find {prefix}/lib/pkgconfig/libside.pc")
    follow(prefix, "pkgconfig", line["hint"])
    line = check(prefix, "pkgconfig", "note", clean(PKG_CONFIG_PATH=other + "/lib/pkgconfig"))
    contains(line["found"], f"pkg-config finds {other}/lib/pkgconfig/libside.pc instead of {prefix}/lib/pkgconfig/libside.pc")
    follow(prefix, "pkgconfig", line["hint"])
    line = check(prefix, "pkgconfig", "note", clean(PATH=work.name))
    equal((line["found"], line["hint"]), ("pkg-config is not installed", "sudo apt install pkg-config"))
    os.remove(prefix + "/lib/pkgconfig/libside.pc")
    os.rmdir(prefix + "/lib/pkgconfig")
    equal(check(prefix, "pkgconfig", "note")["hint"], "sudo apt install libside-dev")


def test_programs():
    prefix, other = install("of-side"), install("of-program")
    version = change_version(other + "/lib/libside.so.0")[0]
    source, program = work.name + "/program.c", work.name + "/odd program"
    with open(source, "w", encoding="utf-8") as out:
        out.write(PROGRAM)
    subprocess.run(["gcc", source, "-o", program, f"-L{other}/lib", "-Wl,--no-as-needed", "-lside", f"-Wl,--enable-new-dtags,-rpath,{other}/lib"],
                   check=True)
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=clean()) as running:
        equal(running.stdout.readline(), "ready\n")
        run = subprocess.run([prefix + "/bin/side", "doctor", "--json", "programs"], env=clean(), capture_output=True, text=True, timeout=60,
                             check=False)
        line, = json_lines(run.stdout)
        # Other tests may run programs, too; at most three are named.
        true(line["state"] in ("missing", "note"), str(line))
        if f"process {running.pid}" in line["found"]:
            contains(line["found"], f"odd program (process {running.pid}) uses {other}/lib/libside.so.0"[:60])
            contains(line["found"], version)
        contains(line["hint"], f"LD_LIBRARY_PATH={prefix}/lib ")
        # An upgrade replaces the file; the program still uses the old one.
        os.remove(other + "/lib/libside.so.0")
        shutil.copy(BUILD + "/src/libside/libside.so.0", other + "/lib")
        run = subprocess.run([prefix + "/bin/side", "doctor", "--json", "programs"], env=clean(), capture_output=True, text=True, timeout=60,
                             check=False)
        line, = json_lines(run.stdout)
        true(line["state"] in ("missing", "note"), str(line))
        if f"process {running.pid}" in line["found"]:
            contains(line["found"], "libside.so.0 (deleted)")
        running.communicate("\n")


def test_build_directory_and_other_roots():
    for name in ("libside", "agent", "pkgconfig", "programs"):
        line, = json_lines(side("doctor", "--json", name).out)
        equal((line["state"], line["found"]), ("skipped", "`side` runs from its build directory"))
        line, = json_lines(side("doctor", "--json", name, "--root", work.name).out)
        equal((line["state"], line["found"]), ("skipped", "cannot be checked in the files of another machine"))


run_tests(globals())
