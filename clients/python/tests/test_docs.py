"""README.md, docs/clients.md and docs/testing.md: each snippet runs, in its language where that is there.

A block after `<!-- file: NAME -->` is a file, which ends as its language's do. A line of another language's client is not
run; what it sends is, by the words in `<!-- sends: ... -->`, which have to be in it."""

import concurrent.futures
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]
sys.path[:0] = [str(REPOSITORY / "tests/end_to_end"), str(REPOSITORY / "tests/clients")]
import pypi
from server import WEIR, Folder, Server, environment, run

try:
    import typescript
except ImportError:  # of another branch
    typescript = None

GO = REPOSITORY / "clients/go"
PAGES = [REPOSITORY / "README.md", REPOSITORY / "docs/clients.md", REPOSITORY / "docs/testing.md"]
BLOCK = re.compile(r"(?:<!-- (file|sends): (.*?) -->\n)?^```(\w+)\n(.*?)^```$", re.M | re.S)
# Blocks may await at the top.
PYTHON = (
    "import ast, asyncio, inspect, sys\ncode = compile(sys.stdin.read(), 'snippet', 'exec', ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)\n"
    "result = eval(code, {'__name__': 'snippet'})\nif inspect.iscoroutine(result): asyncio.run(result)"
)
MAIN = """package main

import (
	"context"
	"fmt"
	"time"

	weir "example.com/weir/go"
)

var _ = fmt.Sprint
var _ = time.Second

func snippet%d(ctx context.Context) error {
%s
	return nil
}
"""


def blocks(*languages):
    """(page, kind, name, language, text) of each block in these."""
    return [(page, *match.groups()) for page in PAGES for match in BLOCK.finditer(page.read_text()) if match[3] in languages]


class Snippets(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(Folder())
        limits = next(text for _, kind, name, _, text in blocks("yaml") if (kind, name) == ("file", "limits"))
        cls.weir = cls.enterClassContext(Server("--limits", cls.folder.file("limits.yaml", limits), "--allow-refunds"))
        cls.path = f"{HERE.parent / 'src'}:{pypi.installed(HERE / 'requirements_adapters.txt', 'python_adapters')}"

    def ran(self, *command, cwd=None, text="", **env):
        done = subprocess.run(
            list(map(str, command)),
            cwd=cwd or self.folder.path,
            input=text,
            capture_output=True,
            text=True,
            timeout=120,
            env=environment(WEIR_URL=f"weir://127.0.0.1:{self.weir.port}", WEIR_PROGRAM=os.path.abspath(WEIR), **env),
        )
        return done.returncode, done.stdout + done.stderr

    def test_python(self):
        found = [each for each in blocks("python") if each[1] != "file"]
        self.assertGreaterEqual(len(found), 9)

        def one(block):
            return self.ran(sys.executable, "-c", PYTHON, text=block[4], PYTHONPATH=self.path)

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for block, (code, said) in zip(found, pool.map(one, found)):
                self.assertEqual((code, "does not answer" in said), (0, False), f"{block[4]}{said}")

    @unittest.skipUnless(typescript and typescript.npm.available(), "no node, or clients/typescript is not there")
    def test_javascript(self):
        folder = typescript.built()
        for number, (_, kind, name, _, text) in enumerate(blocks("js")):
            file = folder / (f"docs-{name}.mjs" if kind == "file" else f"docs-{number}.mjs")
            closing = "\nawait client.close();\n" if kind != "file" and "const client" in text else ""
            file.write_text(text + closing)
            code, said = self.ran("node", *(["--test"] if kind == "file" else []), file, cwd=folder)
            self.assertEqual((code, "does not answer" in said), (0, False), f"{text}{said}")

    @unittest.skipUnless(shutil.which("go") and GO.exists(), "no go, or clients/go is not there")
    def test_go(self):
        folder = pathlib.Path(self.enterContext(Folder()).path)
        (folder / "go.mod").write_text(
            f"module docs\n\ngo 1.21\n\nrequire example.com/weir/go v0.0.0\n\nreplace example.com/weir/go => {GO}\n"
        )
        snippets = [text for _, kind, _, _, text in blocks("go") if kind != "file"]
        (folder / "cmd").mkdir()
        for number, text in enumerate(snippets):
            unused = "\t_ = decision\n" if re.search(r"^decision, err", text, re.M) else ""
            (folder / f"cmd/snippet{number}.go").write_text(MAIN % (number, text + unused))
        calls = "".join(
            f"\tif err := snippet{number}(context.Background()); err != nil {{\n\t\tpanic(err)\n\t}}\n"
            for number in range(len(snippets))
        )
        (folder / "cmd/main.go").write_text(f'package main\n\nimport "context"\n\nfunc main() {{\n{calls}}}\n')
        (folder / "shop").mkdir()
        for _, kind, name, _, text in blocks("go"):
            if kind == "file":
                (folder / "shop" / f"{name}.go").write_text(text)
        self.assertGreaterEqual(len(snippets), 3)
        for command in (("go", "run", "./cmd"), ("go", "test", "./shop")):
            code, said = self.ran(
                *command,
                cwd=folder,
                GOFLAGS="-mod=mod",
                GOCACHE=os.environ.get("GOCACHE", os.path.join(self.folder.path, "go")),
            )
            self.assertEqual(code, 0, said)

    def test_what_other_languages_send_is_answered(self):
        found = [each for each in blocks("java", "csharp", "ruby", "php")]
        self.assertEqual(len(found), 4)
        with self.weir.client() as client:
            for _, kind, words, language, text in found:
                self.assertEqual(kind, "sends", text)
                for word in shlex.split(words):
                    self.assertRegex(text, f"[\"']{re.escape(word)}[\"']", language)
                self.assertEqual(len(client.ask(*shlex.split(words))), 6)

    def test_the_limits_file_is_clean(self):
        code, said = self.ran(WEIR, "lint", "limits.yaml")
        self.assertIn(": clean: ", said)
        self.assertEqual(code, 0)


if __name__ == "__main__":
    run()
