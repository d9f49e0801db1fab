# SPDX-License-Identifier: MIT
"""Each rule of the house refuses an example that breaks it, and accepts the same file without the error."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import checks

HERE = os.path.dirname(os.path.abspath(__file__))
LICENCE = "/* SPDX-License-Identifier: MIT */\n"


def run(script, files, folders=()):
    """Returns the exit status and the output of a check of a tree that has these files."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(LICENCE + text)
        done = subprocess.run([sys.executable, os.path.join(HERE, script), root, *folders], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr


def refused(script, wrong, right, message, folders=()):
    status, output = run(script, wrong, folders)
    checks.contains(output, message)
    checks.true(status != 0, f"{script} accepts {wrong}")
    status, output = run(script, right, folders)
    checks.true(message not in output, output)
    return status


def test_retired_words_in_comments():
    status = refused("test-code-words.py", {"src/ring/a.c": "/* Whoever waits takes the lock. */\n"},
                     {"src/ring/a.c": "/* A thread that waits takes the lock. */\n"}, 'src/ring/a.c:2: comment: "Whoever": write the actor')
    checks.equal(status, 0)
    # A phrase that continues in the next line.
    refused("test-code-words.py", {"src/ring/a.c": "/*\n * The value is\n * told to the caller.\n */\n"},
            {"src/ring/a.c": "/*\n * The value is\n * given to the caller.\n */\n"}, "prints, reports, notifies")


def test_retired_words_in_names():
    status = refused("test-code-words.py", {"src/ring/a.c": "static int ring_told;\n"}, {"src/ring/a.c": "static int ring_reported;\n"},
                     'src/ring/a.c:2: ring_told: for "told" write printed, reported')
    checks.equal(status, 0)
    refused("test-code-words.py", {"programs/sided/doors.c": ""}, {"programs/sided/rendezvous.c": ""}, 'for "doors" write rendezvous')
    # Neither a string nor a name that only contains the letters.
    checks.equal(run("test-code-words.py", {"src/ring/a.c": 'const char *ring_padding = "told";\n'})[0], 0)


def test_retired_words_of_no_file():
    checks.true(run("test-code-words.py", {"docs/a.md": ""})[0] != 0, "a tree without code is accepted")
    checks.true(run("test-code-words.py", {"src/ring/a.c": ""}, ["src/rnig"])[0] != 0, "a folder that does not exist is accepted")


def test_upward_use_of_a_module():
    refused("test-tree.py", {"src/ring/a.c": '#include "recorder/run.h"\n'}, {"src/ring/a.c": '#include "base/inside/hash.h"\n'},
            "src/ring/a.c: uses recorder/run.h, but ring may use only")
    # A folder of a module, and a folder of a program.
    refused("test-tree.py", {"src/recorder/core/a.c": '#include "recorder/recovery/adopt.h"\n'},
            {"src/recorder/core/a.c": '#include "ring/ring.h"\n'}, "recorder/core may use only")
    refused("test-tree.py", {"programs/side/cli/a.c": '#include "programs/side/record/keeper.h"\n'},
            {"programs/side/record/a.c": '#include "programs/side/cli/parse.h"\n'}, "programs/side/cli may use only")


def test_cycle_of_files():
    guards = {name: f"#ifndef {name}\n#define {name}\n%s#endif\n" for name in ("A", "B")}
    refused("test-tree.py", {"src/ring/a.h": guards["A"] % '#include "b.h"\n', "src/ring/b.h": guards["B"] % '#include "ring/a.h"\n'},
            {"src/ring/a.h": guards["A"] % '#include "b.h"\n', "src/ring/b.h": guards["B"] % ""}, "includes itself: ring/a.h -> ring/b.h -> ring/a.h")


def test_circle_of_parts():
    refused("test-circles.py", {"src/ring/a.c": '#include "ring/b.h"\n', "src/ring/a.h": "", "src/ring/b.c": '#include "ring/a.h"\n', "src/ring/b.h": ""},
            {"src/ring/a.c": '#include "ring/b.h"\n', "src/ring/a.h": "", "src/ring/b.c": "", "src/ring/b.h": ""}, "2 parts use each other")


def test_second_type_of_errors():
    code = "struct ring_error {\n\tint code; /* negative errno */\n\tchar text[256];\n};\n"
    position = "struct ring_error {\n\tunsigned int column; /* no code */\n\tchar text[256];\n};\n"
    refused("test-tree.py", {"src/ring/a.h": code}, {"src/ring/a.h": position},
            "src/ring/a.h: struct ring_error is a second type of errors: use struct error of base/error.h")
    refused("test-tree.py", {"programs/sided/a.c": code.replace("ring_error", "ring_failure").replace("char text[256]", "const char *message")},
            {"src/base/error.h": code.replace("ring_error", "error")}, "programs/sided/a.c: struct ring_failure is a second type")


def test_split_sentence():
    refused("test-words.py", {"src/ring/a.c": 'const char *ring_text = "the ring is "\n\t"full";\n'},
            {"src/ring/a.c": 'const char *ring_text = "the ring is full";\n'}, 'src/ring/a.c:2: a sentence is split: "...the ring is "')


def test_shared_name_of_functions():
    refused("test-identifiers.py", {"src/ring/a.c": "static int put(void)\n{\n\treturn 0;\n}\n", "src/ctf/b.c": "static int put(void)\n{\n\treturn 1;\n}\n"},
            {"src/ring/a.c": "static int ring_put(void)\n{\n\treturn 0;\n}\n"}, "put(): src/ctf/b.c, src/ring/a.c")


def test_name_of_an_output_parameter():
    code = "bool ring_take(struct ring *ring, size_t *%s)\n{\n\t*%s = ring->nr;\n\treturn true;\n}\n"
    status = refused("test-outputs.py", {"src/ring/a.c": code % ("size", "size")}, {"src/ring/a.c": code % ("ret_size", "ret_size")},
                     "src/ring/a.c: ring_take(size) is an output")
    checks.equal(status, 0)


def test_comment_that_names_no_file():
    status = refused("test-comment-files.py", {"src/ring/a.c": "/* The rings are in b.c. */\n"},
                     {"src/ring/a.c": "/* The rings are in b.c. */\n", "src/ring/b.c": ""}, "src/ring/a.c:2: there is no b.c")
    checks.equal(status, 0)
    # Headers of the system, wildcards and strings are not names of files of the tree.
    checks.equal(run("test-comment-files.py", {"src/ring/a.c": '/* <linux/x.h>, form-*.c */ const char *ring_text = "c.c";\n'})[0], 0)


def test_comment_that_names_no_parameter():
    code = "int ring_size(int fd, int *ret_size);\n"
    status = refused("test-comment-parameters.py", {"src/ring/a.h": "/* Returns 0; *size is the size. */\n" + code},
                     {"src/ring/a.h": "/* Returns 0; *ret_size is the size. */\n" + code}, "src/ring/a.h:2: the parameter `size` is called ret_size")
    checks.equal(status, 0)
    refused("test-comment-parameters.py", {"src/ring/a.h": "/* `file`: a descriptor. */\n" + code},
            {"src/ring/a.h": "/* `fd`: a descriptor. */\n" + code}, "src/ring/a.h:2: there is no parameter `file`")
    # The comment of another function, and the guard of a header.
    refused("test-comment-parameters.py", {"src/ring/a.h": code + "/* `*size` is the size. */\n" + code},
            {"src/ring/a.h": "/* `*size` is the size. */\nint size(void);\n/* Opens it. */\n" + code}, "src/ring/a.h:3: the parameter `size`")
    guard = "#ifndef SIDE_A_H\n#define SIDE_A_H\n#endif /* %s */\n"
    refused("test-comment-parameters.py", {"src/ring/a.h": guard % "SIDE_B_H"}, {"src/ring/a.h": guard % "SIDE_A_H"}, "the guard is SIDE_A_H, not SIDE_B_H")


checks.run_tests(globals())
