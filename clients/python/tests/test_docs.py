"""The pages of the clients: each snippet runs, in its language where that is there. pages.py says by what comments."""

import concurrent.futures
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]
sys.path[:0] = [str(REPOSITORY / "tests/end_to_end"), str(REPOSITORY / "tests/clients")]
import pypi
from pages import blocks, files, python_files
from server import WEIR, Folder, Server, environment, run

try:
    import typescript
except ImportError:  # of another branch
    typescript = None

GO = REPOSITORY / "clients/go"
# Blocks may await at the top.
PYTHON = (
    "import ast, asyncio, inspect, sys\ncode = compile(sys.stdin.read(), 'snippet', 'exec', ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)\n"
    "result = eval(code, {'__name__': 'snippet'})\nif inspect.iscoroutine(result): asyncio.run(result)"
)
GO_IMPORTS = {
    "errors": "errors",
    "fmt": "fmt",
    "grpc": "google.golang.org/grpc",
    "http": "net/http",
    "httptest": "net/http/httptest",
    "strings": "strings",
    "time": "time",
    "weirgrpc": "example.com/weir/go/weirgrpc",
    "weirhttp": "example.com/weir/go/weirhttp",
}
MAIN = """package main

import (
	"context"
%s
	weir "example.com/weir/go"
)

func snippet%d(ctx context.Context) error {
%s
	return nil
}
"""


EXAMPLE = """
import flask
import weir_flask_login

app = flask.Flask("shop")

@app.post("/login")
def login():
    return ("welcome", 200) if weir_flask_login.guess("ann", lambda: flask.request.data == b"right") else ("wrong", 401)

def test_the_example_of_a_limits_file(weir_server):
    weir_server.limits("login.yaml")
    client = app.test_client()
    statuses = [client.post("/login", data=each).status_code for each in ["right"] * 6 + ["guess"] * 6 + ["right"]]
    assert statuses == [200] * 6 + [401] * 5 + [429] * 2
    weir_server.advance(899)
    assert client.post("/login", data="right").headers["Retry-After"] == "1"
    weir_server.advance(1)
    assert client.post("/login", data="right").status_code == 200
"""


class Snippets(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(Folder())
        cls.servers = {
            name: cls.enterClassContext(Server("--limits", cls.folder.file(f"{name}.yaml", text), "--allow-refunds"))
            for name, text in files("yaml")
        }
        cls.path = f"{HERE.parent / 'src'}:{pypi.installed(HERE / 'requirements_adapters.txt', 'python_adapters')}"

    @classmethod
    def url(cls, block):
        return f"weir://127.0.0.1:{cls.servers[block.beside].port}"

    def ran(self, *command, cwd=None, text="", **env):
        done = subprocess.run(
            list(map(str, command)),
            cwd=cwd or self.folder.path,
            input=text,
            capture_output=True,
            text=True,
            timeout=120,
            env=environment(WEIR_PROGRAM=os.path.abspath(WEIR), **env),
        )
        return done.returncode, done.stdout + done.stderr

    def test_python(self):
        found = [each for each in blocks("python") if not each.file]
        self.assertGreaterEqual(len(found), 9)

        def one(block):
            return self.ran(sys.executable, "-c", PYTHON, text=block.whole, PYTHONPATH=self.path, WEIR_URL=self.url(block))

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for block, (code, said) in zip(found, pool.map(one, found)):
                self.assertEqual((code, "does not answer" in said), (0, False), f"{block.whole}{said}")

    def test_python_files(self):
        folder = self.enterContext(Folder())
        python_files(folder)
        for each in ("weir_flask_login.py", "login.yaml"):
            shutil.copy(REPOSITORY / "examples/web" / each, folder.path)
        folder.file("test_example.py", EXAMPLE)
        pytest = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "weir.pytest_plugin")
        code, said = self.ran(*pytest, cwd=folder.path, PYTHONPATH=self.path)
        self.assertEqual((code, "4 passed" in said), (0, True), said)

    @unittest.skipUnless(typescript and typescript.npm.available(), "no node, or clients/typescript is not there")
    def test_javascript(self):
        folder = typescript.built()
        place = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="docs-", dir=folder)))
        shutil.copy(REPOSITORY / "tests/clients/answered.mjs", place / "answered.js")
        for name, text in files("js"):
            (place / f"{name}.js").write_text(text)
        runs = [(name, "--test", f"{name}.js", {}) for name, _ in files("js") if name.endswith(".test")]
        for number, block in enumerate(each for each in blocks("js", "ts") if not each.file):
            end = "\nawait client.close();\n" if "const client" in block.text else ""
            ask = "import { answered } from './answered.js';\n" if "answered(" in block.whole else ""
            (place / f"{number}.{block.language}").write_text(ask + block.whole + end)
            if block.language == "ts":
                decorators = '--tsconfig-raw={"compilerOptions":{"experimentalDecorators":true}}'
                done = self.ran(folder / "node_modules/.bin/esbuild", f"{number}.ts", "--format=esm", decorators, cwd=place)
                self.assertEqual(done[0], 0, done[1])
                (place / f"{number}.js").write_text(done[1])
            runs.append((block.whole, "--unhandled-rejections=strict", f"{number}.js", {"WEIR_URL": self.url(block)}))
        self.assertGreaterEqual(len(runs), 9)
        for what, *words, env in runs:
            code, said = self.ran("node", *words, cwd=place, **env)
            self.assertEqual((code, "does not answer" in said), (0, False), f"{what}{said}")

    @unittest.skipUnless(shutil.which("go") and GO.exists(), "no go, or clients/go is not there")
    def test_go(self):
        folder = pathlib.Path(self.enterContext(Folder()).path)
        grpc = (GO / "weirgrpc/go.mod").read_text()
        required = "\n".join(re.findall(r"^require \(.*?^\)$", grpc, re.M | re.S))
        replaced = f"replace example.com/weir/go => {GO}\nreplace example.com/weir/go/weirgrpc => {GO}/weirgrpc\n"
        required = f"require example.com/weir/go/weirgrpc v0.1.0\n{required}"
        (folder / "go.mod").write_text(f"module docs\n\ngo 1.21\n\n{required}\n{replaced}")
        shutil.copy(GO / "weirgrpc/go.sum", folder)
        # The others are run by clients/go/swaptest.
        snippets = [each for each in blocks("go") if not each.file and not each.text.startswith("package ")]
        (folder / "cmd").mkdir()
        calls = ""
        for number, block in enumerate(snippets):
            unused = "\t_ = decision\n" if re.search(r"^decision, err", block.text, re.M) else ""
            code = re.sub("//.*", "", block.whole)
            imports = "".join(f'\t"{path}"\n' for name, path in GO_IMPORTS.items() if re.search(rf"\b{name}\.", code))
            (folder / f"cmd/snippet{number}.go").write_text(MAIN % (imports, number, block.whole + unused))
            calls += f'\tos.Setenv("WEIR_URL", "{self.url(block)}")\n'
            calls += f"\tif err := snippet{number}(context.Background()); err != nil {{\n\t\tpanic(err)\n\t}}\n"
        main = f'package main\n\nimport (\n\t"context"\n\t"os"\n)\n\nfunc main() {{\n{calls}}}\n'
        (folder / "cmd/main.go").write_text(main)
        (folder / "shop").mkdir()
        for name, text in files("go"):
            (folder / "shop" / f"{name}.go").write_text(text)
        self.assertGreaterEqual(len(snippets), 3)
        for command in (("go", "run", "./cmd"), ("go", "vet", "./shop"), ("go", "test", "-vet=off", "-count=1", "./shop")):
            code, said = self.ran(
                *command,
                cwd=folder,
                GOTOOLCHAIN="local",
                GOFLAGS="-mod=mod",
                CGO_ENABLED="0",
                GOCACHE=os.environ.get("GOCACHE", os.path.join(self.folder.path, "go")),
            )
            self.assertEqual(code, 0, said)

    def test_what_other_languages_send_is_answered(self):
        found = [each for each in blocks("java", "csharp", "ruby", "php")]
        self.assertEqual(len(found), 4)
        with self.servers["limits"].client() as client:
            for block in found:
                words = block.said["sends"]
                for word in shlex.split(words):
                    self.assertRegex(block.text, f"[\"']{re.escape(word)}[\"']", block.language)
                self.assertEqual(len(client.ask(*shlex.split(words))), 6)

    def test_the_limits_files_are_right(self):
        for name, _ in files("yaml"):
            code, said = self.ran(WEIR, "lint", f"{name}.yaml")
            self.assertEqual(code, 0, said)


if __name__ == "__main__":
    run()
