#!/usr/bin/python3
"""Fails when docs/algorithm.md and the statements say otherwise, or when a canary has lost what it changes.

    tests/prove/check_pages.py           checks
    tests/prove/check_pages.py --write   writes the list of docs/algorithm.md

Proves nothing, and needs no Z3: it reads the statements as text.
"""
import ast
import pathlib
import re
import sys
import textwrap

import canaries

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PAGE = ROOT / "docs/algorithm.md"
LIST = re.compile(r"(?<=\n)- `\w+\.\w+`: .*?(?=\n## )", re.DOTALL)  # the only list of that form, until the next heading
LEAST_CANARIES = 30


def statements():
    """(name, sentence) of each, from the decorators."""
    for unit in re.findall(r"^import (\w+)", (HERE / "statements.py").read_text(), re.MULTILINE):
        for node in ast.walk(ast.parse((HERE / f"{unit}.py").read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "statement":
                yield tuple(ast.literal_eval(argument) for argument in node.args[:2])


def list_of(known):
    lines = []
    for name, sentence in known:
        lines += textwrap.wrap(f"- `{name}`: {sentence}", 115, subsequent_indent="  ", break_long_words=False,
                               break_on_hyphens=False)
    return "\n".join(lines) + "\n"


def problems(known):
    names = [name for name, _ in known]
    yield from (f"statement {name} is there twice" for name in set(names) if names.count(name) > 1)
    refused = {name for canary in canaries.CANARIES.values() for name in canary.refused_by}
    yield from (f"statement {name} has no canary in tests/prove/canaries.py" for name in names if name not in refused)
    yield from (f"a canary names {name}, which is not a statement" for name in sorted(refused - set(names)))
    if len(canaries.CANARIES) < LEAST_CANARIES:
        yield f"there are {len(canaries.CANARIES)} canaries; at least {LEAST_CANARIES} are wanted"
    for name, canary in canaries.CANARIES.items():
        if (ROOT / canary.file).read_text().count(canary.search) != 1:
            yield f"canary {name}: {canary.file} has to have this once: {canary.search}"


def main():
    known = list(statements())
    page = PAGE.read_text()
    new = list_of(known)
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(LIST.sub(lambda _: new, page))
        return 0
    found = list(problems(known))
    if LIST.findall(page) != [new]:
        found.append("docs/algorithm.md, 'What is proved', differs from the statements: "
                     "run tests/prove/check_pages.py --write")
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


sys.exit(main())
