# SPDX-License-Identifier: MIT
"""The table of limits agrees with the code, the tests and the documentation, and is complete.

usage: test-limits-table.py SOURCE-DIRECTORY BUILD-DIRECTORY
"""
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import table as limits

ROOT, BUILD = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
TABLE = limits.Table(ROOT)
BOUNDS = limits.bounds(ROOT)


def defines(text, method):
    """Whether the test file defines a function of that name. A call is not enough."""
    return re.search(rf"^(?:\s*def |(?:static )?(?:inline )?\w[\w \*]*?\b){re.escape(method)}\(", text, re.M) is not None


class LimitsTable(unittest.TestCase):
    maxDiff = None

    def test_rows_are_whole(self):
        for row in TABLE.limits:
            with self.subTest(limit=row.get("name")):
                self.assertEqual(set(row) - limits.KEYS, set())
                self.assertIn(row["area"], TABLE.areas)
                self.assertTrue(row["what"] and row["beyond"] and row["file"])
                self.assertIsInstance(row["value"], int)
                self.assertTrue(bool(row.get("tests")) != bool(row.get("untested")), "tests, or the reason why there is none")
        keys = TABLE.keys()
        self.assertEqual(len(keys), len(set(keys)))

    def test_values_are_those_of_the_code(self):
        wanted = {}
        for file, name in TABLE.keys():
            wanted.setdefault(file, []).append(name)
        values = limits.read_values(ROOT, BUILD, wanted)
        wrong = [f"{row['file']}: {row['name']} is {values.get((row['file'], row['name']))}, in the table {row['value']}"
                 for row in TABLE.limits if values.get((row["file"], row["name"])) != row["value"]]
        self.assertEqual(wrong, [], "change tests/limits/limits.json, the tests of the limit and docs/reference/figures.md "
                         "(tests/limits/table.py . BUILD page)")

    def test_every_bound_of_the_code_is_in_the_table(self):
        known = set(TABLE.keys())
        excepted = {(file, name) for files in TABLE.exceptions.values() for file, names in files.items() for name in names}
        found = {(file, name) for file, names in BOUNDS.items() for name in names}
        self.assertEqual(sorted(found - known - excepted), [], "bounds that are neither in the table nor excepted")
        self.assertEqual(sorted((known | excepted) - found), [], "rows without a constant in the code")
        self.assertEqual(sorted(known & excepted), [])

    def test_tests_exist(self):
        missing = []
        for row in TABLE.limits:
            for test in row.get("tests", []):
                path, _, method = test.partition(": ")
                file = ROOT / path
                if not file.is_file() or not defines(file.read_text(), method):
                    missing.append(f"{row['name']}: {test}")
        self.assertEqual(missing, [])

    def test_page_is_that_of_the_table(self):
        self.assertEqual((ROOT / "docs/reference/figures.md").read_text(), limits.page(TABLE),
                         "write it with tests/limits/table.py . BUILD page")

    def test_a_changed_constant_is_found(self):
        """The values of constants of each form: plain, computed, in a header, inside a condition, an enumerator."""
        wanted = {"src/protocol/protocol.h": ["WIRE_CHANNELS_MAX", "WIRE_EVENTS_BYTES_MAX"], "src/recorder/recovery/core-dump.c": ["LIMIT_RECORDS"],
                  "src/tracers/agent/context/context.h": ["CONTEXT_PAGE_MAX"], "src/libside/context.c": ["NAMES_MAX"]}
        values = limits.read_values(ROOT, BUILD, wanted)
        self.assertEqual(values["src/protocol/protocol.h", "WIRE_CHANNELS_MAX"], 32)
        self.assertEqual(values["src/protocol/protocol.h", "WIRE_EVENTS_BYTES_MAX"], 65496)
        self.assertEqual(values["src/recorder/recovery/core-dump.c", "LIMIT_RECORDS"], 64)
        self.assertEqual(values["src/libside/context.c", "NAMES_MAX"], 73)
        self.assertIn(values["src/tracers/agent/context/context.h", "CONTEXT_PAGE_MAX"], (4096, 65536))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
