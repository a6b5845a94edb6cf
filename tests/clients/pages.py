"""The code of the clients' pages: blocks, with what the comments before each say is done with it.

`file: NAME` is a file, which ends as its language's do; a NAME of tests (`test_x`, `x.test`, `x_test`) is run by
pytest, node or go, with the other files beside it. `with: NAME` runs a snippet beside the limits file NAME, `limits`
unless it says so. `test: CODE` comes before it and `then: CODE` after it, in JavaScript with answered.mjs. A line of
another language's client is not run; what it sends is, by the words of `sends: ...`, which have to be in it.
"""
import pathlib
import re

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PAGES = [REPOSITORY / name for name in ("README.md", "docs/clients.md", "docs/testing.md", "docs/web.md",
                                        "clients/python/README.md", "clients/go/README.md")]
COMMENT = r"<!-- (file|with|test|then|sends): ((?:(?!-->).)*?) -->\n"
BLOCK = re.compile(rf"((?:{COMMENT})*)^```(\w+)\n(.*?)^```$", re.M | re.S)


class Block:
    """`said`: what its comments say, by their words."""

    def __init__(self, match):
        self.said = dict(re.findall(COMMENT, match[1], re.S))
        self.language, self.text = match[4], match[5]
        self.file, self.beside = self.said.get("file"), self.said.get("with", "limits")
        self.whole = "\n".join((self.said.get("test", ""), self.text, self.said.get("then", "")))


def blocks(*languages):
    found = [Block(match) for page in PAGES for match in BLOCK.finditer(page.read_text())]
    return [each for each in found if each.language in languages]


def files(*languages):
    """(name, text) of each file in these languages."""
    return [(each.file, each.text) for each in blocks(*languages) if each.file]


def python_files(folder):
    """Writes those of Python there. FastAPI's log-in has the same test as Flask's, with its own client."""
    for name, text in files("python"):
        folder.file(f"{name}.py", text)
    test = dict(files("python"))["test_login"].replace("login import", "login_fastapi import")
    test = "from fastapi.testclient import TestClient\n" + test.replace("app.test_client()", "TestClient(app)")
    folder.file("test_fastapi.py", test)
