# SPDX-License-Identifier: MIT
"""Runs the commands of docs/how-to/early-boot.md with its configuration, and compares the output with the page."""
import os
import re
import shutil
import subprocess
import sys

import harness
from harness import PROGRAM, SIDE, Case

GUIDE = os.environ["BOOT_GUIDE"]


class Guide(Case):
    def setUp(self):
        super().setUp()
        with open(GUIDE, encoding="utf-8") as file:
            self.text = file.read()
        os.mkdir(self.file("bin"))
        os.symlink(SIDE, self.file("bin/side"))
        shutil.copy(PROGRAM, self.file("program"))

    def run_line(self, line):
        env = harness.environment(PATH=self.file("bin") + ":" + os.environ["PATH"],
                                  SIDE_RUNTIME=self.runtime)
        return subprocess.run(["sh", "-c", line], cwd=self.dir, env=env, capture_output=True,
                              stdin=subprocess.DEVNULL, text=True, timeout=harness.TIMEOUT,
                              check=False)

    def test_commands(self):
        lines = re.findall(r"^    \$ (.*)$", self.text, re.M)
        self.assertGreater(len(lines), 4)
        for line in lines:
            # The program of the guide fires events here.
            reported = self.run_line(line + " fire=5" if line.endswith("./program") else line)
            if "doctor" in line:
                self.assertIn(reported.returncode, (0, 1), reported.stderr)
                self.assertIn("boot", reported.stdout)
            else:
                self.assertEqual(reported.returncode, 0, line + "\n" + reported.stderr)
            if "-o trace" in line and "--follow" not in line:
                counted = self.sequences(self.file("trace"))
                self.assertEqual(list(counted.values()), [list(range(5))])
                # Starts the program for the next command, which ends with the last program.
                self.run_line(f"SIDE_BOOT={self.config} ./program fire=5")

    def test_configuration(self):
        example = re.search(r"^```\n(.*?)^```$", self.text, re.M | re.S).group(1)
        self.configure(example.replace("/run/side/boot", "{place}"))
        self.side("adopt", "--boot", self.config, "--check")
        self.assertEqual(self.stderr, "")

    def test_keywords(self):
        """Each keyword of the table is a known one, and none is missing."""
        words = re.findall(r"^\| `([a-z-]+) ", self.text, re.M)
        with open(self.config, "w", encoding="utf-8") as config:
            config.write("nonsense x\n")
        self.side("adopt", "--boot", self.config, "--check", status=2)
        known = re.search(r"known keywords: (.*)$", self.stderr, re.M).group(1)
        self.assertEqual(sorted(words), sorted(re.split(r", | and ", known)))


if __name__ == "__main__":
    sys.argv[1:] = ["Guide"]
    harness.main("__main__")
