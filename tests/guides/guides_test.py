#!/usr/bin/env python3
"""Tests that tools/guides finds differences and that --update keeps the marks of authors. Usage: guides_test.py BUILD"""
import contextlib
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import guides  # noqa: E402

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()


@contextlib.contextmanager
def text_of(content, name="text.md"):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / name
        path.write_text(content)
        yield guides.Text(path, BUILD).process()


class Compare(unittest.TestCase):
    def test_any_lines_and_any_characters(self):
        matches = guides.output_matches
        self.assertTrue(matches(["a", "…", "d"], ["a", "b", "c", "d"], True))
        self.assertTrue(matches(["a", "…", "d"], ["a", "d"], True))
        self.assertTrue(matches(["…"], [], True))
        self.assertTrue(matches(["x … z"], ["x y z"], True))
        self.assertFalse(matches(["a", "…", "d"], ["a", "b"], True))
        self.assertFalse(matches(["a"], ["a", "b"], True))
        self.assertFalse(matches(["x … z"], ["x y"], True))
        self.assertFalse(matches(["…", "a", "…", "b"], ["b", "a"], True))

    def test_any_lines_do_not_hide_an_exit_code(self):
        self.assertFalse(guides.output_matches(["…"], ["a", "[exit code 1]"], True))
        self.assertFalse(guides.output_matches(["…", "[exit code 1]"], ["a"], True))
        self.assertTrue(guides.output_matches(["…", "[exit code 1]"], ["a", "[exit code 1]"], True))
        self.assertEqual(guides.updated(["…"], ["a", "[exit code 1]"]), ["…", "[exit code 1]"])

    def test_wall_times_are_not_compared(self):
        self.assertTrue(guides.line_matches("wall time 0.1 s, 3 packets", "wall time 12.5 s, 3 packets", True))
        self.assertFalse(guides.line_matches("wall time 0.1 s, 3 packets", "wall time 0.1 s, 4 packets", True))

    def test_another_library_has_other_numbers(self):
        shown, printed = "time 1.5 ms, digest 0123456789abcdef0123456789abcdef", "time 2.25 ms, digest ffffffffffffffff0123456789abcdef"
        self.assertFalse(guides.line_matches(shown, printed, True))
        self.assertTrue(guides.line_matches(shown, printed, False))
        self.assertFalse(guides.line_matches(shown, printed + " more", False))


class Update(unittest.TestCase):
    def test_marks_stay(self):
        printed = ["first 2", "x", "middle 2", "y", "z", "last 2"]
        self.assertEqual(guides.updated(["first 1", "…", "middle 1", "…", "last 1"], printed),
                         ["first 2", "…", "middle 2", "…", "last 2"])
        self.assertEqual(guides.updated(["…", "last 1"], printed), ["…", "last 2"])
        self.assertEqual(guides.updated(["first 1", "…"], printed), ["first 2", "…"])
        self.assertEqual(guides.updated(["first …", "…"], printed), ["first …", "…"])
        self.assertEqual(guides.updated(["old"], printed), printed)
        self.assertEqual(guides.updated(["long …"], ["another line"]), ["anoth…"])

    def test_an_updated_output_fits(self):
        for expected in (["a", "…", "q", "…"], ["…"], ["…", "k", "l"], [], ["a", "b", "c", "d", "e", "f", "g"]):
            for printed in ([], ["a"], ["k", "l"], ["a", "b", "q", "r", "s"]):
                self.assertTrue(guides.output_matches(guides.updated(expected, printed), printed, True), (expected, printed))


class Texts(unittest.TestCase):
    def test_a_right_text(self):
        with text_of("```text a.txt\nhello\n```\n\n```console\n$ cat a.txt\nhello\n$ cat \\\n    none\ncat: none: …\n[exit code 1]\n```\n") as text:
            self.assertEqual(text.problems, [])
            self.assertEqual(text.result, text.lines)

    def test_a_wrong_output(self):
        with text_of("```console\n$ echo 1\n2\n```\n") as text:
            self.assertEqual(len(text.problems), 1)
            self.assertEqual(text.result, ["```console", "$ echo 1", "1", "```", ""])

    def test_a_wrong_exit_code(self):
        with text_of("```console\n$ false\n```\n") as text:
            self.assertEqual(text.result, ["```console", "$ false", "[exit code 1]", "```", ""])

    def test_a_table_that_is_not_generated(self):
        with text_of("<!-- generated: exit codes -->\n| old |\n<!-- end -->\n") as text:
            self.assertEqual(len(text.problems), 1)
            self.assertIn("| `71` |", "\n".join(text.result))

    def test_options_and_verbs_that_do_not_exist(self):
        with text_of("Use `verbatim run --none` or `verbatim nothing`, not `verbatim run --seeds 1..2` or `verbatim lab run`.\n") as text:
            self.assertEqual(len(text.problems), 2, text.problems)

    def test_commands_that_no_test_would_see(self):
        with text_of("```\n$ verbatim run x\n```\n") as text:
            self.assertEqual(len(text.problems), 1)


class Project(unittest.TestCase):
    def test_readme_is_short(self):
        self.assertLessEqual(len((guides.ROOT / "README.md").read_bytes()), 8000)

    def test_every_command_that_is_not_run_is_in_the_list(self):
        lists = []
        for file in guides.default_files():
            text = guides.Text(file, BUILD)
            text.not_run = guides.shell_commands(text.lines)
            lists.append(text)
        self.assertEqual(guides.compare_not_run(lists, False), [])

    def test_every_guide_is_in_the_index_and_in_readme(self):
        index = (guides.ROOT / "tools/guide/README.md").read_text()
        readme = (guides.ROOT / "README.md").read_text()
        for guide in (guides.ROOT / "tools/guide").glob("*.md"):
            if guide.name != "README.md":
                self.assertIn(f"({guide.name})", index)
                self.assertIn(f"(tools/guide/{guide.name})", readme)


if __name__ == "__main__":
    unittest.main()
