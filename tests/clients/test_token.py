"""A token of `weir ctl token` is all that its holder needs: without a name, redis-cli, HTTP, weir check, top and ctl and the
three clients take it, and who did it is the user whose token it is."""
import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest
import urllib.request

import typescript
from server import PATIENCE, ROOT, WEIR, Folder, Server, environment, run, weir

PYTHON = """
import weir
with weir.connect(on_error="raise", timeout=20) as client:
    print(client.check("python", "5/h").remaining)
"""
JAVASCRIPT = """
import { connect } from '@weir/client';
const client = connect(undefined, { onError: 'throw', timeoutMs: 20_000 });
console.log((await client.check('javascript', '5/h')).remaining);
await client.close();
"""
GO = """package main

import (
	"context"
	"fmt"
	"time"

	weir "example.com/weir/go"
)

func main() {
	client, err := weir.Connect(context.Background(), "", weir.WithOnError(weir.Fail), weir.WithTimeout(20*time.Second))
	if err != nil {
		panic(err)
	}
	defer client.Close()
	decision, err := client.Check(context.Background(), weir.Question{Key: "go", Rule: "5/h"})
	fmt.Println(decision.Remaining, err)
}
"""
LIMITS = "version: 1\nlimits: { user: { by: [user], rate: 5/h } }\n"


class Token(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        code, made, errors = weir("ctl", "token")
        assert code == 0, errors
        cls.token, line = made.splitlines()
        cls.folder = cls.enterClassContext(Folder())
        users = cls.folder.file("users.yaml", f"users:\n  shop: {{ role: operate, {line} }}\n")
        os.chmod(users, 0o600)
        cls.server = cls.enterClassContext(Server("--users", users, "--http", "127.0.0.1:0", "--limits",
                                                  cls.folder.file("limits.yaml", LIMITS)))

    def ran(self, *command, cwd=None, **env):
        """What it prints with the token as its password."""
        env = environment(**{"WEIR_PASSWORD": self.token, "WEIR_PROGRAM": os.path.abspath(WEIR), **env})
        done = subprocess.run(list(map(str, command)), cwd=cwd or self.folder.path, env=env, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=200)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def ran_by_url(self, *command, **options):
        url = f"weir://127.0.0.1:{self.server.port}"
        said = self.ran(*command, WEIR_URL=url, **options)
        held = url.replace("//", f"//:{self.token}@")  # the URL's own password, which stands before WEIR_PASSWORD
        again = self.ran(*command, WEIR_URL=held, WEIR_PASSWORD="no", **options)
        return said, again

    def test_redis_cli(self):
        for words, env in (((), {"REDISCLI_AUTH": self.token}), (("--user", "default", "--pass", self.token), {}),
                           (("--user", "shop", "--pass", self.token), {}), (("--user", "anything", "--pass", self.token), {})):
            with self.subTest(words=words):
                said = self.ran("redis-cli", "--no-auth-warning", "-p", self.server.port, *words, "DBSIZE", **env)
                self.assertTrue(said.strip().isdigit(), said)

    def test_http(self):
        for name, word in (("Bearer", self.token), ("Basic", base64.b64encode(f"default:{self.token}".encode()).decode())):
            asked = urllib.request.Request(f"http://127.0.0.1:{self.server.ports[1]}/v1/check", headers={
                "Content-Type": "application/json", "Authorization": f"{name} {word}"},
                data=json.dumps({"key": name, "limit": "5/h"}).encode())
            with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
                self.assertEqual(json.load(answer)["remaining"], 4)

    def test_the_program(self):
        """Each by the environment, and by the URL where it takes one."""
        self.assertIn("4 of 5 left", self.ran(WEIR, "check", "a", "--limit", "5/h", "--port", self.server.port))
        self.assertEqual(weir("check", "a", "--limit", "5/h", "--port", self.server.port)[0], 2)  # without it
        url = f"weir://:{self.token}@127.0.0.1:{self.server.port}"
        self.ran(WEIR, "ctl", "ban", "user", "user=eve", "--for", "15m", "--reason", "scraping", "--port", self.server.port)
        for where, env in ((("--port", self.server.port), {}), (("--url", url), {"WEIR_PASSWORD": ""})):
            with self.subTest(where=where[0]):
                self.assertIsInstance(json.loads(self.ran(WEIR, "top", "--json", *where, **env)), (dict, list))
                self.assertIn("shop", self.ran(WEIR, "ctl", "overrides", *where, **env))

    def test_python(self):
        self.assertEqual(self.ran_by_url(sys.executable, "-c", PYTHON, PYTHONPATH=f"{ROOT}/clients/python/src"), ("4\n", "3\n"))

    @unittest.skipUnless(typescript.npm.available(), "no node")
    def test_typescript(self):
        folder = pathlib.Path(self.folder.path)
        typescript.installed_into(folder)
        self.folder.file("package.json", '{ "name": "shop", "private": true }')
        self.folder.file("main.mjs", JAVASCRIPT)
        self.assertEqual(self.ran_by_url("node", "main.mjs"), ("4\n", "3\n"))

    @unittest.skipUnless(shutil.which("go"), "no go")
    def test_go(self):
        folder = pathlib.Path(self.enterContext(Folder()).path)
        (folder / "go.mod").write_text("module shop\n\ngo 1.21\n\nrequire example.com/weir/go v0.0.0\n\n"
                                       f"replace example.com/weir/go => {ROOT}/clients/go\n")
        (folder / "main.go").write_text(GO)
        env = {"GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod -buildvcs=false", "CGO_ENABLED": "0",
               "GOCACHE": os.environ.get("GOCACHE") or os.path.join(os.environ.get("WEIR_BUILD") or folder, "go-cache")}
        self.ran("go", "build", "-o", "program", cwd=folder, **env)
        self.assertEqual(self.ran_by_url(folder / "program"), ("4 <nil>\n", "3 <nil>\n"))


if __name__ == "__main__":
    run()
