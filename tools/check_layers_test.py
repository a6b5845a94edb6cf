#!/usr/bin/env python3
"""Breaks a small house in every way that check_layers.py knows, and expects it to say so.

The house: `high` may know `low` and libfmt, `talk` of the same folder as `low` may know low/door.hpp alone.
"""
import pathlib
import sys
import tempfile

import check_layers
import layers
from layers import Room

layers.ROOMS = {room.name: room for room in [
    Room("low", "", files={"number", "door"}), Room("low talk", "", {"low/door.hpp"}),
    Room("high", "", {"low"}, {"fmt"})]}
layers.PUBLIC = Room("include/weir", "")
WHOLE = {
    "include/weir/a.hpp": "#include <vector>\n",
    "src/low/number.hpp": '#include "weir/a.hpp"\n', "src/low/number.cpp": '#include "low/number.hpp"\n',
    "src/low/door.hpp": "", "src/low/chat.cpp": '#include "low/door.hpp"\n',
    "src/high/x.hpp": "", "src/high/x.cpp": '#include "high/x.hpp"\n#include "low/number.hpp"\n#include <fmt/core.h>\n',
    "src/high/x_test.cpp": '#include <gtest/gtest.h>\n#include "high/x.hpp"\n',
    "src/low/CMakeLists.txt": "weir_folder(low\n  SOURCES number.cpp)\nweir_folder(low_talk SOURCES chat.cpp)  # its talk\n",
    "src/high/CMakeLists.txt": "weir_folder(high SOURCES x.cpp\n  TESTS x_test.cpp LINK weir_low fmt::fmt)\n",
}
CASES = [  # (what is broken, the files that differ, the one thing that must be said; None: nothing)
    ("nothing", {}, None),
    ("an arrow upwards", {"src/low/number.cpp": '#include "high/x.hpp"\n'},
     "src/low/number.cpp:1: includes high/x.hpp: low may include only the standard library"),
    ("a public header that names src", {"include/weir/a.hpp": '#include "low/door.hpp"\n'},
     "include/weir/a.hpp:1: includes low/door.hpp: include/weir may include only the standard library"),
    ("more of a room than one header", {"src/low/chat.cpp": '#include "low/door.hpp"\n#include "low/number.hpp"\n'},
     "src/low/chat.cpp:2: includes low/number.hpp: low talk may include low/door.hpp"),
    ("a library that is not allowed", {"src/low/door.hpp": "#include <fmt/core.h>\n"},
     "src/low/door.hpp:1: includes fmt/core.h: low may take from outside only std"),
    ("a test's library outside of a test", {"src/low/door.hpp": "#include <gtest/gtest.h>\n"},
     "src/low/door.hpp:1: includes gtest/gtest.h: low may take from outside only std"),
    ("a facade from below", {"include/weir/limiter.hpp": "", "src/low/door.hpp": '#include "weir/limiter.hpp"\n'},
     "src/low/door.hpp:1: includes weir/limiter.hpp: only src/library may know it"),
    ("a file that is not there", {"src/low/door.hpp": '#include "low/window.hpp"\n'},
     "src/low/door.hpp:1: includes low/window.hpp: no such file"),
    ("a ring of files", {"src/high/x.hpp": '#include "high/y.hpp"\n', "src/high/y.hpp": '#include "high/x.hpp"\n'},
     "a ring of files: src/high/x.hpp -> src/high/y.hpp -> src/high/x.hpp"),
    ("a file that includes itself", {"src/high/x.hpp": '#include "high/x.hpp"\n'},
     "a ring of files: src/high/x.hpp -> src/high/x.hpp"),
    ("a ring of folders without one of files", {"src/low/chat.cpp": '#include "low/door.hpp"\n#include "high/x.hpp"\n'},
     "a ring of folders: src/high -> src/low -> src/high"),
    ("an arrow that nobody needs", {"src/high/x.cpp": "#include <fmt/core.h>\n"},
     "tools/layers.py: high may include low, and no file of it does"),
    ("an arrow that only a test needs",
     {"src/high/x.cpp": "#include <fmt/core.h>\n", "src/high/x_test.cpp": '#include "low/door.hpp"\n'},
     "tools/layers.py: high may include low, and no file of it does"),
    ("a header that nobody needs", {"src/low/chat.cpp": ""},
     "tools/layers.py: low talk may include low/door.hpp, and no file of it does"),
    ("a library that nobody needs", {"src/high/x.cpp": '#include "low/number.hpp"\n'},
     "tools/layers.py: high may take fmt from outside, and no file of it does"),
    ("CMake links a room too few", {"src/high/CMakeLists.txt": "weir_folder(high SOURCES x.cpp LINK fmt::fmt)\n"},
     "src/high/CMakeLists.txt: high includes low and does not link it"),
    ("CMake links a library too few", {"src/high/CMakeLists.txt": "weir_folder(high SOURCES x.cpp LINK weir_low)\n"},
     "src/high/CMakeLists.txt: high includes fmt and does not link fmt::fmt"),
    ("CMake links a room too many",
     {"src/low/CMakeLists.txt": "weir_folder(low SOURCES number.cpp)\nweir_folder(low_talk SOURCES chat.cpp LINK weir_low)\n"},
     "src/low/CMakeLists.txt: low talk links low and includes nothing of it"),
    ("CMake links a library too many",
     {"src/low/CMakeLists.txt": "weir_folder(low SOURCES number.cpp LINK ZLIB::ZLIB)\nweir_folder(low_talk SOURCES chat.cpp)\n"},
     "src/low/CMakeLists.txt: low links ZLIB::ZLIB and includes nothing of it"),
    ("a header with a source needs a link", {"src/low/door.cpp": '#include "low/door.hpp"\n'},
     "src/low/CMakeLists.txt: low talk includes low and does not link it"),
    ("a source in the wrong target",
     {"src/low/CMakeLists.txt": "weir_folder(low SOURCES number.cpp chat.cpp)\nweir_folder(low_talk SOURCES chat.cpp)\n"},
     "src/low/CMakeLists.txt: chat.cpp does not belong to low"),
    ("a room that is not built", {"src/low/CMakeLists.txt": "weir_folder(low SOURCES number.cpp)\n"},
     "tools/layers.py: no CMakeLists.txt builds low talk"),
    ("a target that is not a room",
     {"src/new/CMakeLists.txt": "weir_folder(new SOURCES y.cpp)\n"},
     "src/new/CMakeLists.txt: weir_new is not a room of tools/layers.py"),
    ("another table", {"CONTRIBUTING.md": "| folder | what it is | may include |\n|---|---|---|\n"},
     "CONTRIBUTING.md: its table of folders is not the one that tools/check_layers.py --table prints"),
]


def main():
    wrong = 0
    for name, changed, expected in CASES:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for path, text in {"CONTRIBUTING.md": check_layers.table(), **WHOLE, **changed}.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
            said = check_layers.check(root)[1]
        if (expected is None and said) or (expected is not None and expected not in said):
            wrong += 1
            print(f"{name}: expected {expected}, said {said}")
    print(f"{len(CASES)} houses, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
