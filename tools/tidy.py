#!/usr/bin/python3
"""tools/tidy.py TREE shallow|deep FOLDER...: clang-tidy of these folders of src, as the tree compiles them.

As many folders as there are processors to share them are read at once: a header, and what each check looks for in it,
would else be looked at by every folder that includes it, which is three quarters of the work.
"""
import collections
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
# To the analyzer a unity file is headers, of which it follows no path unless it is told to.
HEADERS = "-analyzer-opt-analyze-headers"
ANALYZER = {"shallow": (HEADERS, "-analyzer-config", "mode=shallow", "-analyzer-config", "max-nodes=4000"),
            "deep": (HEADERS, "-analyzer-config", "max-nodes=20000")}
KEPT = ("-D", "-I", "-std", "-W")  # of a compiler's words


Unit = collections.namedtuple("Unit", "size path flags")


def units_of(tree, folders):
    """The unity files of the folders: how much they include, and how they are compiled."""
    units = []
    for each in json.loads((tree / "compile_commands.json").read_text()):
        path = pathlib.Path(each["file"])
        if path.name.startswith("unity_") and any(path.is_relative_to(tree / "src" / folder) for folder in folders):
            units.append(Unit(size_of(path), path, [word for word in shlex.split(each["command"]) if word.startswith(KEPT)]))
    return units


def size_of(unit):
    """What a unity file includes, in bytes."""
    return sum(os.path.getsize(ROOT / line.split('"')[1]) for line in unit.read_text().splitlines() if line.startswith("#include"))


def shared(units, parts):
    """The files in parts of about one size, at most this number."""
    lists = [[] for _ in range(min(parts, len(units)))]
    for unit in sorted(units, reverse=True):
        min(lists, key=lambda each: sum(one.size for one in each)).append(unit)
    return lists


def look(tree, number, units, depth):
    """What clang-tidy says of these, and whether it is content."""
    one = tree / f"tidy_{number}.cpp"
    # In this order no name of one folder hides what a later one means; in another some do.
    one.write_text("".join(f'#include "{each}"\n' for each in sorted(each.path for each in units)))
    flags = dict.fromkeys(flag for each in units for flag in each.flags)
    done = subprocess.run(["clang-tidy-19", "--quiet", f"--config-file={ROOT}/.clang-tidy",
                           *(f"--extra-arg={each}" for word in ANALYZER[depth] for each in ("-Xclang", word)), one, "--", *flags],
                          capture_output=True, text=True, check=False)
    return done.stdout + done.stderr, done.returncode == 0


def main():
    tree, depth, folders = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3:]
    units = units_of(tree, folders)
    parts = shared(units, os.cpu_count() or 1)
    with concurrent.futures.ThreadPoolExecutor(len(parts) or 1) as pool:
        looks = list(pool.map(lambda part: look(tree, *part, depth), enumerate(parts)))
    print("\n".join(text for text, _ in looks))
    return 0 if units and all(content for _, content in looks) else 1


if __name__ == "__main__":
    sys.exit(main())
