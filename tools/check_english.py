#!/usr/bin/python3
"""Finds words and phrases in this repository that a native technical writer would not let pass.

Without arguments it reads every file of text, with arguments only those whose names begin with one of them. Whole lines are read, names in code included: a variable's name is prose too. A phrase is found across the
end of a line. A line in which such a word is right is in ALLOWED, word for word; one that no file has any more
has to leave the list.
"""
import pathlib
import re
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[1]
APART = {".git", "build", "node_modules", "__pycache__"}
KINDS = {".cpp", ".hpp", ".c", ".h", ".py", ".md", ".txt", ".cmake", ".in", ".lua", ".html", ".mjs", ".json", ".yaml", ""}
# Not prose of ours: the licence, recorded input, what other programs wrote.
SKIPPED = ("LICENSE", "fuzz/corpus/", "tests/golden/", "examples/replay/access.log", "tests/clients/node/package", "tests/end_to_end/web/package",
           "tools/check_english")

# (what is found, _ for what lies between two words; what to write)
RULES = [
    (r"behind", "'after' for order, 'below' or 'inside' for place"),
    (r"in_front", "'before'"),
    (r"he|him|his|himself", "'they', 'them', 'their', or the noun again"),
    (r"whoever|whosoever|(?:but|so)_who|for_who(?!,|_in\b)", "'anyone that', or name the subject"),
    (r"(?:(?<=[.,;:|] )|(?<=# )|(?<=// ))who_(?:has|is|wants|uses|waits|builds|runs|moves|resets|closes)(?=[^?]*$)",
     "name the subject: 'a client that has'"),
    (r"by_turns", "'alternately'"),
    (r"anew", "'again', or 'new'"),
    (r"for_ever", "'forever', or say how long"),
    (r"to_be_had|not_to_be_had", "'available'"),
    (r"otherwise_than", "'differently from', or 'other than'"),
    (r"not_known_here", "'unknown X'"),
    (r"so_(?:much|many)", "say how much: 'that amount', 'as many as that'"),
    (r"(?<!there )(?<!Here )(?:is|are)_(?-i:no|none)(?!_(?:longer|more|of))", "'is not a'"),
    (r"pitfalls?", "a sentence that says what went wrong; the list is not in this repository"),
    (r"goes?_on_\w+ing", "'continues to', 'still'"),
]
ALLOWED = """
""".strip("\n").splitlines()

# What may lie between two words of a phrase: spaces, and the end of a comment's or a string's line.
GAP = r'(?:[ \t]|"?[ \t]*\n[ \t]*(?://+|#|\*|--|")?[ \t]*)+'


def pattern(words):
    return re.compile(rf"(?<![\w-])(?:{words.replace('_', GAP)})(?![\w-])", re.IGNORECASE | re.MULTILINE)


def files(beginnings):
    for path in sorted(SOURCE.rglob("*")):
        name = str(path.relative_to(SOURCE))
        if APART & set(path.relative_to(SOURCE).parts) or name.startswith(SKIPPED) or not path.is_file():
            continue
        if path.suffix in KINDS and (not beginnings or name.startswith(tuple(beginnings))):
            yield name, path.read_text(encoding="utf-8", errors="replace")


def found(text, allowed):
    """(line number, line, what was found, what to write) of everything that is wrong; marks the allowed lines."""
    lines = text.splitlines()
    for words, better in RULES:
        for match in pattern(words).finditer(text):
            number = text.count("\n", 0, match.start())
            line = lines[number].strip()
            if line in allowed:
                allowed[line] = True
            else:
                yield number + 1, line, re.sub(r"\s+", " ", match[0]), better


def main():
    allowed = dict.fromkeys(ALLOWED, False)
    wrong = 0
    for name, text in files(sys.argv[1:]):
        for number, line, words, better in found(text, allowed):
            wrong += 1
            print(f"{name}:{number}: '{words}': write {better}\n    {line}")
    unused = [line for line, used in allowed.items() if not used and not sys.argv[1:]]
    for line in unused:
        print(f"tools/check_english.py: no file has this line any more:\n    {line}")
    print(f"{wrong} wrong, {len(allowed)} lines allowed")
    return 1 if wrong or unused else 0


if __name__ == "__main__":
    sys.exit(main())
