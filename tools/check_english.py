#!/usr/bin/python3
"""Finds words and phrases in this repository that a native technical writer would not let pass.

Without arguments it reads every file of text, with arguments only those whose names begin with one of them. Whole
lines are read, and in code the words of each name: a function's name is prose too. A phrase is found across the end
of a line. In comments and pages it also finds the names of files and headings that are not there, and lines that
end far too early because a longer one was wrapped and those after it were not.

A line in which such a word is right is in ALLOWED, word for word; one that no file has any more has to leave the
list.
"""
import functools
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
// text. fmt's formatters are there when <fmt/format.h> (or core.h) is included before this header. Pure
http) command=(python3 bench/http_speed.py) ;;  # http.py would be Python's own http for the others
constexpr std::string_view kKnown = "YymdeBbhjHIMSfpAazZ";
The house: `high` may know `low` and libfmt, `talk` of the same folder as `low` may know low/door.hpp alone.
""".strip("\n").splitlines()

# What may lie between two words of a phrase: spaces, and the end of a comment's or a string's line.
GAP = r'(?:[ \t]|"?[ \t]*\n[ \t]*(?://+|#|\*|--|")?[ \t]*)+'


@functools.cache
def pattern(words):
    return re.compile(rf"(?<![\w-])(?:{words.replace('_', GAP)})(?![\w-])", re.IGNORECASE | re.MULTILINE)


def files(beginnings):
    for path in sorted(SOURCE.rglob("*")):
        name = str(path.relative_to(SOURCE))
        if APART & set(path.relative_to(SOURCE).parts) or name.startswith(SKIPPED) or not path.is_file():
            continue
        if path.suffix in KINDS and (not beginnings or name.startswith(tuple(beginnings))):
            yield name, path.read_text(encoding="utf-8", errors="replace")


@functools.cache
def wrong_in_name(name):
    """(what is wrong, what to write) in a name of several words: most_keys, kMostKeys."""
    words = " ".join(re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name))
    return [] if " " not in words else [(match[0], better) for words_of_rule, better in RULES if (match := pattern(words_of_rule).search(words))]


def found_in_text(text):
    for words, better in RULES:
        for match in pattern(words).finditer(text):
            yield text.count("\n", 0, match.start()), re.sub(r"\s+", " ", match[0]), f"write {better}"


def found_in_names(text):
    for number, line in enumerate(text.splitlines()):
        for name in re.findall(r"\b[A-Za-z_]\w+", line):
            for words, better in wrong_in_name(name):
                yield number, f"{words} in {name}", f"write {better}"


def prose(name, text):
    """(line number, margin, words) of each line of a comment or a page; no margin: it is not a line of its own."""
    kind = pathlib.Path(name).suffix
    mark = {".cpp": r"//+", ".hpp": r"//+", ".c": r"//+", ".h": r"//+", ".mjs": r"//+", ".lua": r"--"}.get(kind, "#")
    apart = False  # in a page's code, or in a text that """ encloses
    explains = False  # that text is a docstring
    for number, line in enumerate(text.splitlines()):
        if kind == ".md":
            apart ^= line.lstrip().startswith("```")
            if not apart:
                line_of_its_own = not line.startswith(("#", "|", "<!--", "    "))
                yield number, len(re.match(r"\s*(?:[-*]|\d+\.)? *", line)[0]) if line_of_its_own else None, line.strip()
        elif match := re.match(rf"(\s*(?:{mark}) )(.*)", line):
            yield number, match[1], match[2]
        elif mark == "#" and (apart or '"""' in line):
            explains = explains if apart else line.lstrip().startswith('"""')
            apart ^= line.count('"""') % 2 == 1
            yield number, re.match(r"\s*", line)[0] if explains else None, line.strip().replace('"""', "")
        elif match := re.search(rf"(?<=\s)(?:{mark}) (.*)", line):
            yield number, None, match[1]


LONGEST = 130  # of a comment's line
FILE = re.compile(r"(?<![\w./*<{$@-])(?:\.{1,2}/)*((?:[\w.-]+/)*(?!x_)[\w-]{2,}(?:\.\w+)?\.(?:cpp|hpp|h|py|md|lua|mjs)(?![\w*(=/-])"
                  r"|(?:src|tests|tools|bench|examples|docs|include|packaging|fuzz)/[\w./-]*\w)")
HEADING = re.compile(rf'(docs/[\w-]+\.md)((?:,{GAP}(?:and )?"[^"]{{1,80}}")+)')


@functools.cache
def tree():
    """Every name by which a file or a folder can be called: its path, and the ends of it."""
    paths = (path.relative_to(SOURCE).parts for path in SOURCE.rglob("*") if not APART & set(path.relative_to(SOURCE).parts))
    return {"/".join(parts[at:]) for parts in paths for at in range(len(parts))}


@functools.cache
def headings(page):
    path = SOURCE / page
    return re.findall(r"^#+ (.*)$", path.read_text(), re.M) if path.is_file() else []


def found_in_references(name, text):
    for number, _, words in prose(name, text):
        for file in FILE.findall(words):
            if file not in tree():
                yield number, file, "the name of a file that is there"
    for match in HEADING.finditer(text):
        for title in re.findall(r'"([^"]*)"', re.sub(GAP, " ", match[2])):
            if title not in headings(match[1]):
                yield text.count("\n", 0, match.start()), title, f"a heading of {match[1]}"


def found_in_wrapping(name, text):
    """Lines of which the sentence continues in the next one, although that one's first word has room by far."""
    lines = text.splitlines()
    blocks = []
    for number, margin, words in prose(name, text):
        if margin is None or not words:
            continue
        if not (blocks and blocks[-1][-1][:2] == (number - 1, margin)):
            blocks.append([])
        blocks[-1].append((number, margin, words))
    for block in blocks:
        widest = max(len(lines[number]) for number, *_ in block)
        for (number, _, before), (_, _, after) in zip(block, block[1:]):
            first = re.match(r"\s*(\(?\[[^\]]*\]\(\S+|\S+)", after)
            room = widest - len(lines[number]) - len(first[1])
            table = re.search(r"^ {5}|\S  +\S", before) or re.search(r"^ {5}|\S  +\S", after)
            if room > 20 and not table and re.match(r" *[a-z(]", after) and not re.search(r"[.:;!?{]\S?$| = ", before):
                yield number, before.strip(), "the words of the next line belong here too"
        if not name.endswith(".md"):
            yield from ((number, words.strip()[-30:].strip(), "the end of it belongs into the next line")
                        for number, _, words in block if len(lines[number]) > LONGEST)


def found(name, text, allowed):
    """(line number, line, what was found, what to write) of everything that is wrong; marks the allowed lines."""
    lines = text.splitlines()
    code = pathlib.Path(name).suffix in {".cpp", ".hpp", ".c", ".h", ".py"}
    for number, what, better in [*found_in_text(text), *(found_in_names(text) if code else ()),
                                 *found_in_references(name, text), *found_in_wrapping(name, text)]:
        line = lines[number].strip()
        if line in allowed:
            allowed[line] = True
        else:
            yield number + 1, line, what, better


# A type that two folders have, each in its own namespace, and one word that means two things: a reader who sees it
# does not know which. Types that mean the same in both, and why there are two:
ALIKE = {
    "Arrival": "net and store may not know each other",
    "Attribute": "what users of the library include names nothing in src",
    "Bounds": "what a parser takes, of each parser",
    "Conversation": "net has the interface, each protocol one that implements it",
    "Wide": "128 bits",
}
# Words of docs/vocabulary.md and docs/architecture.md that no type inside another may have either.
OWNED = "Ask|Asked|Asker|Asking|Check|Line|Question|Refusal|Request|Reservation|Told|Words"
TYPE = re.compile(r"^(?:template\s*<[^\n]*>\n)?(?:class|struct|enum(?: class| struct)?|union|using)\s+(?:WEIR_\w+(?:\([^)]*\))?\s+)?"
                  r"(?:\[\[[^\]]*\]\]\s*)?(?:alignas\([^)]*\)\s*)?([A-Z]\w+)\s*(?:final\s*)?(?:\{|:(?!:)|=(?!\s*(?:\w+::)*\1;))", re.M)
INSIDE = re.compile(rf"^[ \t]+(?:class|struct|enum(?: class| struct)?|union)\s+({OWNED})\s*(?:final\s*)?(?:\{{|:(?!:))", re.M)


def found_in_types():
    """(file, line number, type, where else) of each type whose name another folder has given away."""
    places = {}
    for path in sorted([*SOURCE.glob("src/*/*.[ch]pp"), *SOURCE.glob("include/weir/*.hpp")]):
        text, name = path.read_text(), str(path.relative_to(SOURCE))
        if path.stem.endswith("_test"):
            continue
        for match in TYPE.finditer(text):
            places.setdefault(match[1], []).append((name, text.count("\n", 0, match.start()) + 1))
        for match in INSIDE.finditer(text):
            yield name, text.count("\n", 0, match.start(1)) + 1, match[1], "a word of docs/vocabulary.md or docs/architecture.md"
    for type_, found in places.items():
        apart = {str(pathlib.PurePath(name).parent) for name, _ in found}
        if len(apart) > 1 and type_ not in ALIKE and any(name.endswith(".hpp") for name, _ in found):
            yield *found[-1], type_, found[0][0]


def main():
    allowed = dict.fromkeys(ALLOWED, False)
    wrong = 0
    for name, text in files(sys.argv[1:]):
        for number, line, words, better in found(name, text, allowed):
            wrong += 1
            print(f"{name}:{number}: '{words}': {better}\n    {line}")
    for name, number, type_, other in found_in_types() if not sys.argv[1:] else ():
        wrong += 1
        print(f"{name}:{number}: '{type_}': write a name that no other folder has; {other} has it")
    unused = [line for line, used in allowed.items() if not used and not sys.argv[1:]]
    for line in unused:
        print(f"tools/check_english.py: no file has this line any more:\n    {line}")
    print(f"{wrong} wrong, {len(allowed)} lines allowed")
    return 1 if wrong or unused else 0


if __name__ == "__main__":
    sys.exit(main())
