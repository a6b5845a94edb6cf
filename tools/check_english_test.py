#!/usr/bin/python3
"""check_english.py finds what it has to find, and nothing in sentences that are right."""
import sys

from check_english import found

CASES = [  # (text, the phrases found in it)
    ("// The lock stands behind the table.", ["behind"]),
    ("// A comment in\n// front of a function.", ["in // front"]),
    ("# He waits for ever,\n# whoever asks.", ["He", "whoever", "for ever"]),
    ("say \"'x' is not known here\"", ["not known here"]),
    ("This page is for who has a script.", ["for who"]),
    ("for who in clients: print(who)", []),
    ("There is no limit, and there is none of them. x is None", []),
    ("A name is no number, and these are none.", ["is no", "are none"]),
    ("The debt goes on draining.", ["goes on draining"]),
    ("The others, the theory, this: history has behind_names only.", []),
]


def main():
    wrong = 0
    for text, expected in CASES:
        seen = sorted(words for _, _, words, _ in found(text, {}))
        if seen != sorted(expected):
            wrong += 1
            print(f"{text!r}: found {seen} and not {sorted(expected)}")
    allowed = {"A clock that is behind": False}
    if list(found("  A clock that is behind\n", allowed)) or not allowed["A clock that is behind"]:
        wrong += 1
        print("an allowed line is not allowed")
    print(f"{len(CASES) + 1} cases, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
