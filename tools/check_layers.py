#!/usr/bin/env python3
"""Fails when a file includes what its folder may not know, or when two files or two folders know each other in a ring.

    tools/check_layers.py           checks
    tools/check_layers.py --table   prints the table of CONTRIBUTING.md

The rule is in layers.py. It is design, not taste: a newcomer who reads src/core must not need src/server. Public
headers (include/weir) name nothing in src/. Neither the rule nor CMake's lines say more than what is used: an arrow
that no file needs any more is an invitation.
"""
import pathlib
import re
import sys

import layers

ROOT = pathlib.Path(__file__).resolve().parent.parent


def allowed_words(room):
    return ", ".join(sorted(room.may)) or "only the standard library"


def check_includes(files):
    """Each include is one that the room of its file may have."""
    for file in files:
        room = layers.ROOMS.get(file.room, layers.PUBLIC)
        known = tuple(sorted({prefix for name in room.outside for prefix in layers.LIBRARIES[name].headers}
                             | (layers.OF_TESTS | set(layers.LIBRARIES["POSIX"].headers) if file.test else set())))
        for include in file.includes:
            where = f"{include.file}:{include.line}: includes {include.name}: "
            to = layers.room_of(include.target) if include.target else ""
            if include.system and not include.target:
                if ("/" in include.name or include.name.endswith(".h")) and not include.name.startswith(known or "\0"):
                    yield where + f"{room.name} may take from outside only {', '.join(sorted(room.outside)) or 'std'}"
            elif not include.target:
                yield where + "no such file"
            elif include.name in layers.FACADES and not file.test and room is not layers.PUBLIC \
                    and file.room.split()[0] != "library":
                yield where + "only src/library may know it"
            elif to in (file.room, layers.PUBLIC.name) or to in room.may or include.name in room.may:
                pass
            elif not (file.test and include.name.startswith("core/") and include.name.endswith("_test.hpp")):
                yield where + f"{room.name} may include {allowed_words(room)}"


def check_rings(files):
    """No file reaches itself by its includes, and no folder."""
    by_file = {file.path: {include.target for include in file.includes if include.target} for file in files}
    if found := layers.ring(by_file):
        yield "a ring of files: " + " -> ".join(found)
    by_folder = {}
    for path, targets in by_file.items():
        folder = str(pathlib.PurePath(path).parent)
        by_folder.setdefault(folder, set()).update({str(pathlib.PurePath(each).parent) for each in targets} - {folder})
    if found := layers.ring(by_folder):
        yield "a ring of folders: " + " -> ".join(found)


def used_outside(files):
    """{room: the libraries outside that its sources include}"""
    used = {}
    for file in files:
        for include in file.includes:
            for name, library in layers.LIBRARIES.items():
                if include.system and not file.test and include.name.startswith(library.headers):
                    used.setdefault(file.room, set()).add(name)
    return used


def check_used(files):
    """What a room may include is what some file of it includes."""
    edges, outside = layers.edges(files), used_outside(files)
    for room in [layers.PUBLIC, *layers.ROOMS.values()]:
        included = {include.name for (by, _), includes in edges.items() if by == room.name for include in includes}
        for to in sorted(room.may):
            if not (to in included if to.endswith(".hpp") else (room.name, to) in edges):
                yield f"tools/layers.py: {room.name} may include {to}, and no file of it does"
        for name in sorted(room.outside - outside.get(room.name, set())):
            yield f"tools/layers.py: {room.name} may take {name} from outside, and no file of it does"


def targets(root):
    """(file, room, sources, what it links) of each target that CMake builds of a room."""
    for path in sorted(root.glob("src/*/CMakeLists.txt")):
        text = re.sub(r"#.*", "", path.read_text())
        relative = str(path.relative_to(root))
        for name, words in re.findall(r"\bweir_folder\(\s*(\w+)\s+(.*?)\)", text, re.S):
            parts = re.split(r"\b(SOURCES|TESTS|LINK)\b", words)
            part = {key: value.split() for key, value in zip(parts[1::2], parts[2::2])}
            yield relative, name.replace("_", " "), part.get("SOURCES", []) + part.get("TESTS", []), part.get("LINK", [])
        for sources in re.findall(r"add_executable\(weir_program (.*?)\)", text, re.S):
            links = re.findall(r"target_link_libraries\(weir_program \w+ (.*?)\)", text, re.S)
            yield relative, path.parent.name, sources.split(), " ".join(links).split()


def check_cmake(root, files):
    """A target links what its room's files include: the rooms, and the libraries outside."""
    edges, outside = layers.edges(files), used_outside(files)
    sources_of = {layers.room_of(file.path) for file in files if file.path.endswith(".cpp") and not file.test}
    built = {file.path for file in files}
    seen = set()
    for path, name, sources, links in targets(root):
        seen.add(name)
        room = layers.ROOMS.get(name)
        if room is None:
            yield f"{path}: weir_{name.replace(' ', '_')} is not a room of tools/layers.py"
            continue
        for source in sources:
            if "$" not in source and layers.room_of(f"{pathlib.PurePath(path).parent}/{source}") != name:
                yield f"{path}: {source} does not belong to {name}"
        # Of a room of which only single headers may be known, those that have a source have to be linked.
        needs = {to for (by, to), includes in edges.items() if by == name and to in sources_of
                 and (to in room.may or any(f"src/{each.name}".replace(".hpp", ".cpp") in built for each in includes))}
        linked = {link.removeprefix("weir_").replace("_", " ") for link in links if link.startswith("weir_")}
        for to in sorted(needs - linked):
            yield f"{path}: {name} includes {to} and does not link it"
        for to in sorted(linked - needs):
            yield f"{path}: {name} links {to} and includes nothing of it"
        for library, (_, names) in layers.LIBRARIES.items():
            used = library in outside.get(name, set())
            if used and names and not names & set(links):
                yield f"{path}: {name} includes {library} and does not link {' or '.join(sorted(names))}"
            # One target may stand for two libraries.
            by_another = any(other.targets & names for word, other in layers.LIBRARIES.items()
                             if word != library and word in outside.get(name, set()))
            if not used and not by_another and names & set(links):
                yield f"{path}: {name} links {' '.join(sorted(names & set(links)))} and includes nothing of it"
    for name in sorted(layers.ROOMS.keys() - seen):
        yield f"tools/layers.py: no CMakeLists.txt builds {name}"


def table():
    lines = ["| folder | what it is | may include |", "|---|---|---|",
             f"| `{layers.PUBLIC.name}` | {layers.PUBLIC.what} | nothing in `src` |"]
    for room in layers.ROOMS.values():
        order = [name for name in layers.ROOMS if name in room.may] + sorted(n for n in room.may if n.endswith(".hpp"))
        folder, _, part = room.name.partition(" ")
        lines.append(f"| `src/{folder}`{part and ', the ' + part} | {room.what} | "
                     f"{', '.join(f'`{each}`' if each.endswith('.hpp') else each for each in order)} |")
    return "\n".join(lines) + "\n"


def check_table(root):
    if table() not in (root / "CONTRIBUTING.md").read_text():
        yield "CONTRIBUTING.md: its table of folders is not the one that tools/check_layers.py --table prints"


def check(root):
    """The files, and what is wrong with them."""
    files = layers.read(root)
    return files, [*check_includes(files), *check_rings(files), *check_used(files), *check_cmake(root, files),
                   *check_table(root)]


def main() -> int:
    if sys.argv[1:] == ["--table"]:
        print(table(), end="")
        return 0
    files, wrong = check(ROOT)
    for each in wrong:
        print(each)
    print(f"layers: {len(files)} files, {len(wrong)} wrong")
    return 1 if wrong or not files else 0


if __name__ == "__main__":
    sys.exit(main())
