#!/usr/bin/env python3
"""Runs the commands that README.md, the guides and the labs' texts show, and compares what they print; tools/guides calls it.

A text file has these marks, which tools/guide/README.md describes for authors:
  ```console       commands ("$ command", continued after a backslash) and their output, standard output and error together
  ```json a.json   (any language, then a file name) a file that the commands after it find in their folder
  ```sh            commands that a test cannot run; not_run.txt lists all of them
  <!-- generated: NAME --> ... <!-- end -->   the output of `verbatim guide-block NAME`; in roff `.\\" generated: NAME`, `.\\" end`
In an expected output a line "…" stands for any lines, and "…" within a line for any characters. A command that does not end with 0
has a last line "[exit code N]".
"""
import argparse
import concurrent.futures
import difflib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOT_RUN = ROOT / "tests/guides/not_run.txt"
FENCE = re.compile(r"^```(\w*) ?(.*)$")
GENERATED = (re.compile(r"^<!-- generated: (.+) -->$"), re.compile(r"^\.\\\" generated: (.+)$"))
END = ("<!-- end -->", '.\\" end')
ANY = "…"


def default_files():
    return ([ROOT / "README.md", ROOT / "tools/verbatim.1", ROOT / "scenarios/labs/README.md"] + sorted(ROOT.glob("tools/guide/*.md"))
            + sorted(ROOT.glob("scenarios/labs/*/README.md")))


# --- output that depends on the run or the machine ---

def has_table_library():
    """Whether digests can be compared: they cover system calls, which depend on the version of the C library."""
    wanted = json.loads((ROOT / "tests/golden/table.json").read_text())["c_library"]
    return os.confstr("CS_GNU_LIBC_VERSION").split()[-1] == wanted


def normalised(line, exact):
    line = re.sub(r"\b(wall time|in|elapsed) [0-9.]+ (ms|s)\b(?= of wall time|,|$)", r"\1 T", line) if "wall" in line else line
    if not exact:
        line = re.sub(r"[0-9a-f]{16,}|[0-9]+(\.[0-9]+)?", "#", line)
    return line


# --- comparing ---

def line_matches(expected, actual, exact):
    if ANY not in expected:
        return normalised(expected, exact) == normalised(actual, exact)
    parts = [re.escape(normalised(part, exact)) for part in expected.split(ANY)]
    return re.fullmatch(".*".join(parts), normalised(actual, exact)) is not None


def without_code(lines):
    """Splits lines into those before "[exit code N]" and a list with that line, which is empty without an exit code."""
    return (lines[:-1], lines[-1:]) if lines and lines[-1].startswith("[exit code ") else (lines, [])


def output_matches(expected, actual, exact):
    """Whether the lines match; "…" does not match the exit code."""
    expected, expected_code = without_code(expected)
    actual, code = without_code(actual)
    if code != expected_code:
        return False
    reached = {0}  # i: the first i actual lines fit the expected ones so far
    for line in expected:
        if line.strip() == ANY:
            reached = set(range(min(reached, default=len(actual) + 1), len(actual) + 1))
        else:
            reached = {i + 1 for i in reached if i < len(actual) and line_matches(line, actual[i], exact)}
        if not reached:
            return False
    return len(actual) in reached


def likeness(part, lines):
    return sum(difflib.SequenceMatcher(None, a, b).ratio() for a, b in zip(part, lines)) / max(1, len(part))


def updated_line(old, new):
    """The old line if it matches the new one, else the new line, cut to the old length if the old one ends with "…"."""
    if line_matches(old, new, True):
        return old
    return new[:len(old) - 1] + ANY if old.endswith(ANY) and len(new) >= len(old) else new


def updated(expected, actual):
    """The actual lines with the "…" lines of the expected ones; between two of these, the most similar actual lines."""
    expected = without_code(expected)[0]
    actual, code = without_code(actual)
    return updated_lines(expected, actual) + code


def updated_lines(expected, actual):
    if not any(line.strip() == ANY for line in expected):
        return [updated_line(old, new) for old, new in zip(expected, actual)] + actual[len(expected):]
    parts, part = [], []
    for line in expected + [None]:
        if line is not None and line.strip() != ANY:
            part.append(line)
            continue
        parts.append(part)
        part = []
    result, at = [], 0
    for number, part in enumerate(parts):
        if number:
            result.append(ANY)
        if not part:
            continue
        last = number == len(parts) - 1
        places = range(at, max(at, len(actual) - len(part)) + 1)
        if number == 0:
            place = 0
        elif last:
            place = max(at, len(actual) - len(part))
        else:
            place = max(places, key=lambda i: (likeness(part, actual[i:i + len(part)]), -i))
        chosen = actual[place:place + len(part)]
        result += [updated_line(old, new) for old, new in zip(part, chosen)]
        at = place + len(chosen)
    return result


# --- running ---

class Runner:
    """Runs the commands of one text in a fresh folder with the layout of the source tree."""

    def __init__(self, build):
        self.build = build
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="guides."))
        for entry in ROOT.iterdir():
            if not entry.name.startswith((".", "build")):
                (self.folder / entry.name).symlink_to(entry)
        (self.folder / "build").symlink_to(build)
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith(("VERBATIM_", "LC_"))}
        self.environment.update(PATH=f"{build}:{os.environ['PATH']}", LC_ALL="C.UTF-8", TERM="dumb", TZ="UTC", CMAKE_COLOR_DIAGNOSTICS="OFF")
        self.environment.pop("COLUMNS", None)

    def run(self, command):
        try:
            done = subprocess.run(["bash", "-c", command], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, text=True,
                                  errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
            code, text = done.returncode, done.stdout
        except subprocess.TimeoutExpired:
            code, text = -1, "no end after 120 s\n"
        lines = [line.rstrip() for line in text.replace(str(self.folder) + "/", "").split("\n")]
        while lines and not lines[-1]:
            lines.pop()
        return lines + ([f"[exit code {code}]"] if code else [])

    def write(self, name, lines):
        path = self.folder / name
        if path.is_symlink():
            path.unlink()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n")

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


class Text:
    """A text file, whose blocks are compared or updated one by one."""

    def __init__(self, path, build):
        self.path = path
        self.name = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
        self.lines = path.read_text().split("\n")
        self.build = build
        self.problems = []
        self.not_run = []
        self.result = []
        self.runner = None
        self.exact = has_table_library()

    def verbatim(self, *words):
        return subprocess.run([self.build / "verbatim", *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def complain(self, number, text):
        self.problems.append(f"{self.name}:{number + 1}: {text}")

    def process(self):
        at = 0
        try:
            while at < len(self.lines):
                fence = FENCE.match(self.lines[at]) if self.path.suffix == ".md" else None
                generated = next((m for m in (pattern.match(self.lines[at]) for pattern in GENERATED) if m), None)
                if fence:
                    at = self.block(at, fence)
                elif generated:
                    at = self.generated(at, generated[1])
                else:
                    self.check_words(at)
                    self.result.append(self.lines[at])
                    at += 1
        finally:
            if self.runner:
                self.runner.close()
        return self

    def end_of(self, at, ends):
        for end in range(at + 1, len(self.lines)):
            if self.lines[end] in ends:
                return end
        self.complain(at, "this block has no end")
        return len(self.lines) - 1

    def block(self, at, fence):
        end = self.end_of(at, ("```",))
        content = self.lines[at + 1:end]
        language, file = fence[1], fence[2].strip()
        self.runner = self.runner or Runner(self.build)
        if language == "console":
            content = self.console(at + 1, content)
        elif language == "sh" and not file:
            self.not_run += shell_commands(self.lines[at:end + 1])
        elif file:
            self.runner.write(file, content)
        elif any(re.match(r"(\$ |build/verbatim |verbatim |tools/)", line) for line in content) and "labs" not in self.path.parts:
            self.complain(at, "commands stand in ```console, or in ```sh when a test cannot run them")
        self.result += [self.lines[at], *content, self.lines[end]]
        return end + 1

    def console(self, first, content):
        result, at = [], 0
        while at < len(content):
            if not content[at].startswith("$ "):
                self.complain(first + at, "a console block begins with a command")
                return content
            begin = at
            while content[at].endswith("\\") and at + 1 < len(content):
                at += 1
            at += 1
            command = "\n".join([content[begin][2:], *content[begin + 1:at]])
            expected = []
            where = first + begin
            while at < len(content) and not content[at].startswith("$ "):
                expected.append(content[at])
                at += 1
            blank = 0
            while expected and not expected[-1]:
                expected.pop()
                blank += 1
            actual = self.runner.run(command)
            if not output_matches(expected, actual, self.exact):
                difference = difflib.unified_diff(expected, actual, "shown", "printed", lineterm="", n=1)
                self.complain(where, "`" + command + "` prints something else:\n    " + "\n    ".join(difference))
                expected = updated(expected, actual)
            result += content[begin:begin + len(command.split("\n"))] + expected + [""] * blank
        return result

    def generated(self, at, name):
        end = self.end_of(at, END)
        roff = ["--roff"] if self.path.suffix != ".md" else []
        printed = self.verbatim("guide-block", *roff, name)
        lines = printed.stdout.rstrip("\n").split("\n")
        if printed.returncode != 0:
            self.complain(at, printed.stdout.strip())
            lines = self.lines[at + 1:end]
        elif lines != self.lines[at + 1:end]:
            self.complain(at, f"the block \"{name}\" is not what `verbatim guide-block` prints")
        self.result += [self.lines[at], *lines, self.lines[end]]
        return end + 1

    helps = {}

    def check_words(self, at):
        """Commands within a sentence or a table: does each verb exist, and each of its options?"""
        if self.path.suffix != ".md":
            return
        for command in re.findall(r"`(?:build/)?verbatim ([a-z][a-z-]*[^`]*)`", self.lines[at]):
            words = command.split()
            verb = words[:2] if words[0] == "lab" and len(words) > 1 and words[1].isalpha() and words[1].islower() else words[:1]
            key = " ".join(verb)
            if key not in Text.helps:
                Text.helps[key] = self.verbatim(*verb, "--help")
            for option in re.findall(r"(?<!\S)--?[a-z][a-z-]*", command):
                if not re.search(r"(?<![\w-])" + option + r"(?![\w-])", Text.helps[key].stdout):
                    self.complain(at, f"`verbatim {key}` has no option {option}")
            if Text.helps[key].returncode != 0:
                self.complain(at, f"`verbatim {key}`: {Text.helps[key].stdout.strip()}")


def shell_commands(lines):
    """The commands in the ```sh blocks of a text."""
    commands, inside = [], False
    for line in lines:
        if FENCE.match(line):
            inside = not inside and line.strip() == "```sh"
        elif inside and line and not line.startswith("#"):
            commands.append(line)
    return commands


def compare_not_run(texts, update):
    """Compares or updates not_run.txt, the list of commands that no test runs, each with the name of its text."""
    lines = [f"{text.name}: {line}" for text in texts for line in text.not_run]
    shown = NOT_RUN.read_text().split("\n")
    head = [line for line in shown if line.startswith("#")]
    if [line for line in shown if line and not line.startswith("#")] == lines:
        return []
    if update:
        NOT_RUN.write_text("\n".join(head + lines) + "\n")
    return [f"{NOT_RUN.relative_to(ROOT)} is not the list of commands in ```sh blocks"]


def main():
    parser = argparse.ArgumentParser(prog="tools/guides", description="Compares or updates the outputs and tables shown in texts.")
    parser.add_argument("--update", action="store_true", help="rewrite the outputs and generated tables in place")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="build folder")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="texts at a time")
    parser.add_argument("files", nargs="*", type=pathlib.Path, help="texts (default: README.md, verbatim.1, all guides and labs)")
    options = parser.parse_args()
    files = [file.resolve() for file in options.files] or default_files()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        texts = list(pool.map(lambda file: Text(file, options.build.resolve()).process(), files))
    problems = [problem for text in texts for problem in text.problems]
    if not options.files:
        problems += compare_not_run(texts, options.update)
    for problem in problems:
        print(problem)
    changed = 0
    for text in texts:
        if options.update and text.result != text.lines:
            text.path.write_text("\n".join(text.result))
            changed += 1
    print(f"guides: {len(texts)} texts, {len(problems)} differences" + (f", {changed} texts updated" if options.update else ""))
    return 0 if options.update or not problems else 1


if __name__ == "__main__":
    sys.exit(main())
