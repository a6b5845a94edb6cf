#!/usr/bin/python3
"""check_english.py finds what it has to find, and nothing in sentences that are right."""
import sys

from check_english import found

CASES = [  # (file, text, what is found in it)
    ("a.cpp", "// The lock stands behind the table.", ["behind"]),
    ("a.cpp", "// A comment in\n// front of a function.", ["in // front"]),
    ("a.py", "# He waits for ever,\n# whoever asks.", ["He", "whoever", "for ever"]),
    ("a.cpp", "say \"'x' is not known here\"", ["not known here"]),
    ("a.md", "This page is for who has a script.", ["for who"]),
    ("a.py", "for who in clients: print(who)", []),
    ("a.md", "There is no limit, and there is none of them. x is None", []),
    ("a.md", "A name is no number, and these are none.", ["is no", "are none"]),
    ("a.md", "The debt goes on draining.", ["goes on draining"]),
    ("a.md", "The others, the theory, this: history.", []),
    # The words of names.
    ("a.cpp", "TEST(Line, is_asked_by_turns) { kNotBehind(a); }", ["by turns in is_asked_by_turns", "Behind in kNotBehind"]),
    ("a.py", "def test_what_is_no_time(self): self.assertIsNone(history)", ["is no in test_what_is_no_time"]),
    ("a.md", "`is_no_time` is what a program of another's says.", []),
    # Files and headings that are named.
    ("a.hpp", "// Not for: rules (core/gcra.hpp, ../src/core/gcra.hpp, gcra.hpp, src/core).", []),
    ("a.hpp", "// Not for: rules (core/nothing.hpp).", ["core/nothing.hpp"]),
    ("a.py", '"""Reads tests/nowhere."""', ["tests/nowhere"]),
    ("a.py", "open('tests/nowhere/file.hpp')", []),
    ("a.hpp", "int a;  // as nothing_at_all.lua says", ["nothing_at_all.lua"]),
    ("a.hpp", "// The proof is there (docs/algorithm.md, \"Why the\n// promise holds\").", []),
    ("a.hpp", "// The proof is there (docs/algorithm.md, \"Waiting\", \"Dreaming\").", ["Dreaming"]),
    # Lines that a reflow broke.
    ("a.hpp", "// An entry whose end is not after now equals no entry, so its slot is\n// free\n//   by definition: expiry needs no timer.",
     ["free"]),
    ("a.py", "# One line of some sixty characters that goes to the margin, and\n# then one\n# that does not.", ["then one"]),
    ("a.py", '"""One line of some sixty characters that goes to the margin, and\nthen one\nthat does not."""', ["then one"]),
    ("a.py", 'LOG = """One line of some sixty characters that goes to the margin\nthen one\nthat does not."""', []),
    ("a.md", "- One line of some sixty characters that goes to the margin, and\n  then one\n  that does not.", ["then one"]),
    ("a.md", "One line of some sixty characters that goes to the margin, and\n- then one\n- that is another", []),
    ("a.hpp", "// One line of some sixty characters that goes to the margin, and\n// it ends.\n// another begins", []),
    ("a.hpp", "//   name      one line of some sixty characters that is of a table\n//   b         c\n//   other     it", []),
    ("a.hpp", "int one_line_of_some_sixty_characters;  // with a comment after it\nint b;  // one\nint c;  // other", []),
    ("a.hpp", "// " + "words " * 22, [("words " * 5).strip()]),
]


def main():
    wrong = 0
    for name, text, expected in CASES:
        seen = sorted(words for _, _, words, _ in found(name, text, {}))
        if seen != sorted(expected):
            wrong += 1
            print(f"{text!r}: found {seen} and not {sorted(expected)}")
    allowed = {"A clock that is behind": False}
    if list(found("a.md", "  A clock that is behind\n", allowed)) or not allowed["A clock that is behind"]:
        wrong += 1
        print("an allowed line is not allowed")
    print(f"{len(CASES) + 1} cases, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
