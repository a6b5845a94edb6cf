#!/usr/bin/env python3
"""Fails when a function of the program is longer than a screen, or a file too long to be held in mind; or when a file
asks which algorithm a limit has.

    tools/check_sizes.py            checks
    tools/check_sizes.py --shrink   also takes out of the list what is short enough now, and writes lower numbers there

A function of C++ has at most 60 lines, and a file of src/ and include/ 600; tests are not measured. Outside src/core and
the scripts' table nobody names an algorithm: core says what each can do, and what counts like another one is then
added in one place. What was longer when the rule came, or names how many, stands in large.txt with its number. It may
not grow, nothing new comes in, and one that has become short enough has to leave: the list only shrinks.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST_OF_A_FUNCTION = 60
MOST_OF_A_FILE = 600
LIST = "tools/large.txt"
NAMED = "Algorithm::"
NAMES_ALGORITHMS = ("src/core/", "src/redis/script.cpp", "include/")  # with the headers' defaults
KINDS = {".cpp", ".hpp", ".lua", ".js", ".html", ".css"}
# A comment, a raw text, a text, a letter; not the ' of 1'000.
APART = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])\'(?:\\.|[^\'\\\n])+\'', re.S)
SCOPE = re.compile(r"(?:inline\s+)?(?:namespace|class|struct|union|enum|extern)\b")
NAME = re.compile(r"(operator\s*(?:\(\)|[^\s\w(]+)|operator [\w:]+|~?\w+)\s*\(")


def without_words(text):
    """The same lines, without what comments and texts say."""
    text = APART.sub(lambda match: "\n" * match[0].count("\n") or " ", text)
    return re.sub(r"^[ \t]*#(?:.*\\\n)*.*$", lambda match: "\n" * match[0].count("\n"), text, flags=re.M)


def without(pattern, head):
    """What is inside of brackets is taken out, the innermost first."""
    while (short := re.sub(pattern, " ", head)) != head:
        head = short
    return head


def name_of(head):
    """Of the function that a brace after these words begins; None: it begins another thing, "": a scope."""
    head = without(r"\{[^{}]*\}", head).strip()
    said = re.sub(r"\boperator\s*[<>=!]+", "operator!", re.sub(r"\[\[.*?\]\]", " ", head).replace("->", "  "))
    said = re.sub(r"\b(?:alignas|WEIR_\w+)\([^()]*\)", " ", without(r"<[^<>;]*>", said))
    said = re.sub(r"^\s*template\b", "", said).strip()
    if SCOPE.match(said) and "(" not in said:
        return ""
    if said.count("(") != said.count(")") or "(" not in said or "=" in said.partition("(")[0]:
        return None
    members = re.search(r"\)\s*(?:noexcept\s*)?:(?!:)", said)
    if members and re.search(r"\w\s*$", said):
        return None
    return NAME.search(said)[1].replace(" ", "")


def functions(text):
    """(name, lines) of each function that is defined in a file of C++."""
    text = without_words(text)
    at = begin = 0
    while match := re.compile(r"[{};]|\b(?:public|private|protected)\s*:(?!:)").search(text, at):
        head, at = text[begin:match.start()], match.end()
        name = name_of(head) if match[0] == "{" else ""
        if name != "":
            at = end_of(text, match.start())
        if name is None:
            continue  # the words before the brace go on after it
        if name:
            yield name, text.count("\n", begin + len(head) - len(head.lstrip()), at) + 1
        begin = at


def end_of(text, at):
    """After the brace that ends the one at this place."""
    depth = 0
    for match in re.compile(r"[{}]").finditer(text, at):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return match.end()
    return len(text)


def measured(root):
    """The lines of each file and function that is too long, by its name."""
    found = {}
    for path in sorted([*root.glob("src/**/*"), *root.glob("include/**/*")]):
        if path.suffix not in KINDS or "_test" in path.stem:
            continue
        name, text = str(path.relative_to(root)), path.read_text()
        if (lines := text.count("\n")) > MOST_OF_A_FILE:
            found[name] = lines
        if path.suffix in {".cpp", ".hpp"}:
            if not name.startswith(NAMES_ALGORITHMS) and (times := without_words(text).count(NAMED)):
                found[f"{name} {NAMED}"] = times
            for function, lines in functions(text):
                if lines > MOST_OF_A_FUNCTION:
                    key = f"{name} {function}"
                    found[key] = max(lines, found.get(key, 0))
    return found


def listed(root):
    rows = [line.rsplit(" ", 1) for line in (root / LIST).read_text().splitlines() if line and not line.startswith("#")]
    return {name: int(lines) for name, lines in rows}


def check(root):
    found, known = measured(root), listed(root)
    for name, lines in found.items():
        most = MOST_OF_A_FUNCTION if " " in name else MOST_OF_A_FILE
        if name.endswith(NAMED):
            if lines > known.get(name, 0):
                yield f"{name}: {lines} times: ask what it can do, of src/core/traits.hpp"
        elif name not in known:
            yield f"{name}: {lines} lines, and {most} are the most: cut it into parts that have a name"
        elif lines > known[name]:
            yield f"{name}: {lines} lines, and it had {known[name]}: it may only become shorter"
    for name in known:
        if name not in found:
            yield f"{LIST}: {name} is short enough, or gone: take it out (tools/check_sizes.py --shrink)"


def shrink(root):
    found = measured(root)
    comments = [line for line in (root / LIST).read_text().splitlines() if line.startswith("#")]
    rows = [f"{name} {min(lines, found[name])}" for name, lines in listed(root).items() if name in found]
    (root / LIST).write_text("\n".join([*comments, *sorted(rows)]) + "\n")


def main() -> int:
    if sys.argv[1:] == ["--shrink"]:
        shrink(ROOT)
    wrong = list(check(ROOT))
    for each in wrong:
        print(each)
    print(f"sizes: {len(listed(ROOT))} are listed as too long, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
