#!/usr/bin/python3
"""Finds words and phrases in this repository that a native technical writer would not let pass.

Without arguments it reads every file of text that git knows of; with arguments only those that begin with one of
them. Whole lines are read, names in code included: a variable's name is prose too. A phrase is found across the
end of a line. A line in which such a word is right is in ALLOWED, word for word; one that no file has any more
has to leave the list.
"""
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[1]
KINDS = {".cpp", ".hpp", ".c", ".h", ".py", ".md", ".txt", ".cmake", ".in", ".lua", ".html", ".mjs", ".json", ".yaml", ""}
# Not prose of ours: the licence, recorded input, what other programs wrote.
SKIPPED = ("LICENSE", "fuzz/corpus/", "tests/golden/", "examples/replay/access.log", "tests/clients/node/package",
           "tools/check_english.py")

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
    listed = subprocess.run(["git", "-C", SOURCE, "ls-files", "-co", "--exclude-standard"], capture_output=True,
                            text=True, check=True).stdout.split("\n")
    for name in sorted(set(listed)):
        path = SOURCE / name
        if not name or name.startswith(SKIPPED) or not path.is_file():
            continue
        if path.suffix in KINDS and (not beginnings or name.startswith(tuple(beginnings))):
            yield name, path.read_text(encoding="utf-8", errors="replace")


def main():
    rules = [(pattern(words), better) for words, better in RULES]
    allowed = {line: False for line in ALLOWED}
    wrong = 0
    for name, text in files(sys.argv[1:]):
        lines = text.splitlines()
        for rule, better in rules:
            for match in rule.finditer(text):
                number = text.count("\n", 0, match.start())
                line = lines[number].strip()
                if line in allowed:
                    allowed[line] = True
                    continue
                wrong += 1
                found = re.sub(r"\s+", " ", match[0])
                print(f"{name}:{number + 1}: '{found}': write {better}\n    {line}")
    unused = [line for line, used in allowed.items() if not used and not sys.argv[1:]]
    for line in unused:
        print(f"tools/check_english.py: no file has this line any more:\n    {line}")
    print(f"{wrong} to mend, {len(allowed)} lines allowed")
    return 1 if wrong or unused else 0


if __name__ == "__main__":
    sys.exit(main())
