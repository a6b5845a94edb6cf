"""The commands that start weir's image, as the clients tell them where the program does not run and as the pages have
them: with the image's entrypoint each starts a server that answers, and the three clients say the same one."""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "end_to_end"))

from ports import free_port  # noqa: E402
from server import PATIENCE, ROOT, WEIR, Client, Folder, environment, run  # noqa: E402

SOURCE = pathlib.Path(ROOT)
CLIENTS = ("clients/python/src/weir/local.py", "clients/typescript/src/program.ts", "clients/go/local.go")
PAGES = ("docs/testing.md", "docs/packaging.md", "packaging/Containerfile")
TOLD = re.compile(r"(?:docker|podman) (run [^`\"'\n]*?)(?=[`\"'\n])")
WITH_A_VALUE = ("-p", "-e", "-v", "--entrypoint")


def of_the_image(word):
    """ENTRYPOINT or CMD."""
    lines = re.findall(rf'^{word} \[(.*)\]$', (SOURCE / "packaging/Containerfile").read_text(), re.M)
    return [each.strip('"') for each in lines[-1].split(", ")]


def commands(file):
    text = (SOURCE / file).read_text().replace("\\\n", " ")
    return [shlex.split(found) for found in TOLD.findall(re.sub(r"^#", "", text, flags=re.M))]


def started(words):
    """(the program's words, its environment) of `run OPTIONS weir WORDS`, as an engine would start it."""
    entrypoint, env, rest = of_the_image("ENTRYPOINT"), {}, words[1:]
    while rest[0].startswith("-"):
        option = rest.pop(0)
        value = rest.pop(0) if option in WITH_A_VALUE else ""
        if option == "-e":
            env.update([value.split("=", 1)])
        if option == "--entrypoint":
            entrypoint = [value]
    assert rest[0] == "weir", words
    return [*entrypoint, *(rest[1:] or of_the_image("CMD"))], env


class Image(unittest.TestCase):
    def answers(self, words):
        (program, *flags), env = started(words)
        self.assertEqual(program, "weir")
        with Folder() as folder:
            port = free_port()
            flags = [each.replace("0.0.0.0:6390", f"127.0.0.1:{port}").replace("/var/lib/weir", folder.path) for each in flags]
            with subprocess.Popen([WEIR, *flags], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                                  env=environment(**env)) as process:
                try:
                    self.assertNotEqual(process.stdout.readline(), "", f"weir {shlex.join(flags)} does not start")
                    with Client(port) as client:
                        password = env.get("WEIR_PASSWORD")
                        if password:
                            client.ask("AUTH", password)
                        self.assertEqual(client.ask("WEIR.THROTTLE", "k", "1/h")[0], 0)
                finally:
                    process.kill()

    def test_what_the_clients_say(self):
        said = {shlex.join(words) for file in CLIENTS for words in commands(file)}
        self.assertEqual([len(commands(file)) for file in CLIENTS], [1, 1, 1])
        self.assertEqual(len(said), 1, said)
        self.answers(shlex.split(said.pop()))

    def test_what_the_pages_say(self):
        for file in PAGES:
            self.assertTrue(commands(file), file)
            for words in commands(file):
                with self.subTest(file=file, words=words):
                    self.answers(words)


if __name__ == "__main__":
    run()
