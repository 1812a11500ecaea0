"""The man pages and the shell completion against the installed programs."""
import re
import subprocess
import unittest

from harness import CUBIND, CUBINCTL, PREFIX, needs


def commands():
    return re.findall(r"^  ([a-z]+) ", subprocess.run([CUBINCTL, "--help"], capture_output=True, text=True).stdout, re.M)


def options(*command):
    text = subprocess.run([*command, "--help"], capture_output=True, text=True).stdout
    return set(re.findall(r"^  (?:-\w,)?(--[a-z-]+) ", text, re.M))


def page(name):
    return (PREFIX / f"share/man/man{name[-1]}" / name).read_text().replace("\\-", "-")


def completed(*words):
    """What bash would offer after these words."""
    script = f"""
source "{PREFIX}/share/bash-completion/completions/cubinctl"
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _cubinctl; printf '%s\\n' "${{COMPREPLY[@]}}" """
    done = subprocess.run(["bash", "-c", script, "bash", str(CUBINCTL), *words], capture_output=True, text=True)
    return set(done.stdout.split())


class ManPages(unittest.TestCase):
    def test_every_command_has_an_entry_and_every_entry_a_command(self):
        text = page("cubinctl.1")
        described = set(re.findall(r"^\.TP\n\.BI? ([a-z]+)", text, re.M))
        self.assertEqual(described, set(commands()))

    def test_every_option_that_a_page_names_exists(self):
        known = set().union(*(options(CUBINCTL, command) for command in commands()), {"--help"})
        self.assertEqual(set(re.findall(r"--[a-z-]+", page("cubinctl.1"))) - known, set())
        self.assertEqual(set(re.findall(r"--[a-z-]+", page("cubind.8"))) - options(CUBIND), set())

    @needs("man", "--version")
    def test_they_are_formatted_without_a_complaint(self):
        for name in ("cubinctl.1", "cubind.8"):
            path = PREFIX / f"share/man/man{name[-1]}" / name
            done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", path], capture_output=True,
                                  text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""), name)


class Completion(unittest.TestCase):
    def test_commands_and_their_options_are_offered(self):
        self.assertLessEqual(set(commands()), completed(""))
        self.assertEqual(completed("pre"), {"prewarm"})
        for command in commands():
            self.assertEqual(completed(command, "--"), options(CUBINCTL, command), command)
        self.assertEqual(completed("prewarm", "--from"), {"--from-trace"})
        self.assertEqual(completed("prewarm", "mod"), set())  # bash offers files


if __name__ == "__main__":
    unittest.main()
