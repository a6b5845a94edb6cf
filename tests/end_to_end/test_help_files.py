"""What the program writes of its table of options: manual pages, and what bash, fish and zsh complete."""
import os
import pty
import re
import select
import subprocess
import time
import unittest

from server import PATIENCE, WEIR, Folder, environment, run, weir

COMMANDS = ["serve", "local", "ratelimit", "check", "ctl", "replay", "suggest", "formats", "lint", "test", "explain", "diff", "audit", "store-check", "completion"]
BASH = r"""
source "$1"
COMP_WORDS=("${@:2}"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
compopt() { echo "compopt $*"; }
_weir; printf '%s\n' "${COMPREPLY[@]}"
"""


def long_options(command):
    _, out, _ = weir(command, "--help")
    return re.findall(r"(?:^  |,)(--[a-z-]+)", out, re.M)


def shell(*command, stdin=None):
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, input=stdin, env=environment())
    return done.returncode, done.stdout, done.stderr


class Manual(unittest.TestCase):
    def page(self, *words):
        code, out, err = weir("manual", *words, "--date", "2026-01-02")
        self.assertEqual((code, err), (0, ""))
        return out

    def test_every_page_is_without_a_fault(self):
        for command in [[], *([each] for each in COMMANDS)]:
            code, out, err = shell("mandoc", "-T", "lint", "-W", "warning", stdin=self.page(*command))
            self.assertEqual((code, out, err), (0, "", ""), command)

    def test_names_every_option_that_help_names(self):
        for command in COMMANDS:
            _, text, _ = shell("mandoc", "-T", "ascii", stdin=self.page(command))
            text = re.sub(r".\x08", "", text)  # bold and underlined, as a teletype wrote them
            options = long_options(command)
            self.assertIn("--help", options)
            for option in options:
                self.assertIn(option, text, command)

    def test_says_defaults_and_the_environment_but_nothing_of_this_machine(self):
        page = self.page("serve")
        self.assertIn("Default: \\fB64MiB\\fR.", page)
        self.assertIn("Environment: \\fBWEIR_PASSWORD\\fR.", page)
        threads = page[page.index("\\-\\-threads"):].split(".TP")[0]
        self.assertNotIn("Default:", threads)

    def test_never_says_a_secret_of_its_builder(self):
        _, out, _ = weir("manual", "serve", env={"WEIR_PASSWORD": "s3cret", "WEIR_STORE": "redis://:s3cret@h"})
        self.assertNotIn("s3cret", out)

    def test_lists_every_command_that_help_lists(self):
        _, out, _ = weir("--help")
        listed = re.findall(r"^  ([a-z-]+) ", out[out.index("Subcommands:"):], re.M)
        self.assertEqual(listed, COMMANDS)
        for command in COMMANDS:
            self.assertIn(".BR weir\\-" + command.replace("-", "\\-") + " (1)", self.page())

    def test_of_no_such_command(self):
        self.assertEqual(weir("manual", "fly"), (2, "", "weir: manual: unknown command 'fly'\n"))


class Completion(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        for name in ("bash", "fish", "zsh"):
            code, out, _ = weir("completion", name)
            assert code == 0
            cls.folder.file("_weir" if name == "zsh" else name, out)

    @classmethod
    def tearDownClass(cls):
        cls.folder.__exit__()

    def of(self, name):
        return os.path.join(self.folder.path, name)

    def bash(self, *words):
        code, out, err = shell("bash", "-c", BASH, "bash", self.of("bash"), *words)
        self.assertEqual((code, err), (0, ""))
        return out.split()

    def fish(self, line):
        code, out, err = shell("fish", "--no-config", "-c", f"source {self.of('fish')}; complete -C '{line}'")
        self.assertEqual((code, err), (0, ""))
        return [each.split("\t")[0] for each in out.splitlines()]

    def test_bash_completes_commands_options_and_their_values(self):
        self.assertEqual(self.bash("weir", "re"), ["replay"])
        self.assertEqual(self.bash("weir", ""), [*COMMANDS, "--help", "--version"])
        for command in COMMANDS:
            self.assertEqual(set(self.bash("weir", command, "--")), set(long_options(command)))
        self.assertEqual(self.bash("weir", "serve", "--when-full", ""), ["deny", "allow"])
        self.assertEqual(self.bash("weir", "serve", "--when-full", "=", "a"), ["allow"])
        self.assertEqual(self.bash("weir", "completion", "z"), ["zsh"])
        for command in ("replay", "suggest", "formats"):
            self.assertEqual(self.bash("weir", command, "--format", "ha"), ["haproxy"])
        self.assertEqual(self.bash("weir", "serve", "--memory", ""), [])
        self.assertEqual(self.bash("weir", "serve", "--config", self.of("ba")),
                         ["compopt", "-o", "filenames", self.of("bash")])
        self.assertEqual(self.bash("weir", "replay", self.of("ba")), ["compopt", "-o", "filenames", self.of("bash")])

    def test_fish_completes_commands_options_and_their_values(self):
        self.assertEqual(self.fish("weir re"), ["replay"])
        for command in COMMANDS:
            self.assertEqual(set(self.fish(f"weir {command} --")), set(long_options(command)))
        self.assertEqual(sorted(self.fish("weir serve --when-full ")), ["allow", "deny"])
        self.assertEqual(self.fish("weir completion z"), ["zsh"])
        self.assertEqual(self.fish("weir replay --format ha"), ["haproxy"])
        self.assertEqual(self.fish("weir serve --memory "), [])
        self.assertIn(self.of("bash"), self.fish(f"weir replay {self.of('ba')}"))

    def test_zsh_completes_commands_options_and_their_values(self):
        for typed, shown in (("weir repl", "weir replay "), ("weir serve --when-full al", "--when-full allow "),
                             ("weir serve --no-rem", "--no-remember-denials "), ("weir completion z", "completion zsh "),
                             ("weir replay --format hap", "--format haproxy "),
                             (f"weir replay {self.of('ba')}", self.of("bash") + " ")):
            self.assertIn(shown, self.zsh(typed, shown))

    def zsh(self, typed, awaited):
        """What an interactive zsh shows when `typed` is followed by the tabulator."""
        child, terminal = pty.fork()
        if child == 0:
            os.execvpe("zsh", ["zsh", "-f", "-i"], dict(environment(), TERM="dumb", COLUMNS="300", PS1="", HOME=self.folder.path))
        try:
            os.write(terminal, (f"unsetopt zle_bracketed_paste; PS1=; fpath=({self.folder.path} $fpath); "
                                "autoload -U compinit; compinit -u -D; echo rea''dy\n").encode())
            self.shown(terminal, "ready")
            os.write(terminal, typed.encode() + b"\t")
            return self.shown(terminal, awaited)
        finally:
            os.close(terminal)
            os.waitpid(child, 0)

    def shown(self, terminal, awaited):
        text, end = "", time.monotonic() + PATIENCE
        while awaited not in text and time.monotonic() < end:
            if select.select([terminal], [], [], 0.1)[0]:
                text += os.read(terminal, 4096).decode(errors="replace").replace("\r", "")
        return text

    def test_of_no_such_shell(self):
        self.assertEqual(weir("completion", "tcsh"),
                         (2, "", "weir: shell: tcsh not in {bash,fish,zsh} (see weir completion --help)\n"))


if __name__ == "__main__":
    run()
