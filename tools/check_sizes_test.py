#!/usr/bin/env python3
"""What check_sizes.py takes for a function, how long it is, and what the list may say."""
import pathlib
import tempfile
import unittest

import check_sizes

FOUND = [  # (C++, the functions in it and their lines)
    ("void f() {\n}\n", [("f", 2)]),
    ("namespace a::inline v0_1::b {\nnamespace {\nint f() { return 1; }\n}  // namespace\n}\nint g() {\n\n}\n", [("f", 1), ("g", 3)]),
    ("class WEIR_CAPABILITY(\"lock\") A final : public B {\n public:\n  A() : a_{1}, b_(2) {\n  }\n  int a_ = 0;\n private:\n"
     "  bool is() const noexcept { return true; }\n  std::array<int, f(2)> c_{1};\n};\n", [("A", 2), ("is", 1)]),
    ("class [[gnu::visibility(\"hidden\")]] A {\n  ~A() {}\n};\n", [("~A", 1)]),
    ("template <typename T>\n  requires Is<T>\nauto A<T>::f(T t) -> std::optional<int>\n{\n  const auto g = [&](int i) {\n    return i;\n"
     "  };\n}\n", [("f", 8)]),
    ("A::A(B b)\n    : b_(f(C{1})), c_{[](int i) { return i; }},\n      d_(2) {\n}\n", [("A", 4)]),
    ("constexpr auto kRows = std::to_array<Row>({\n  {1, 2},\n});\nstd::function<int(int)> f = [](int i) { return i; };\n", []),
    ("bool operator==(const A&, const A&) { return true; }\nstd::strong_ordering A::operator<=>(const A&) const {\n}\n"
     "operator bool() const {}\nint operator()(int i) {}\n",
     [("operator!", 1), ("operator!", 2), ("operatorbool", 1), ("operator()", 1)]),
    ("// } {\nint f() {  // {\n  return '{' + 1'000 + \"{\"[0] + R\"x({ \" {)x\"[0];\n}\n#define A {\nint g() {}\n", [("f", 3), ("g", 1)]),
    ("enum class A : int {\n  a,\n};\nstruct B {\n  int f(int i = 0, C c = {}) { return i; }\n};\nextern \"C\" {\nvoid g() {}\n}\n",
     [("f", 1), ("g", 1)]),
]


def of_lines(name, lines):
    return f"int {name}() {{\n" + "\n" * (lines - 2) + "}\n"


class Sizes(unittest.TestCase):
    def test_functions(self):
        for text, found in FOUND:
            with self.subTest(text):
                self.assertEqual(list(check_sizes.functions(text)), found)

    def check(self, files, listed):
        """What is said of a program of these files and this list."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in {**files, check_sizes.LIST: listed}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            said = list(check_sizes.check(root))
            check_sizes.shrink(root)
            self.listed = (root / check_sizes.LIST).read_text()
            return said

    def test_the_list(self):
        for files, listed, said, shrunk in (
                ({"src/a/a.cpp": of_lines("f", 60), "src/a/a_test.cpp": of_lines("g", 601)}, "# Too long.\n", [], "# Too long.\n"),
                ({"include/a.hpp": of_lines("f", 61)}, "", ["include/a.hpp f: 61 lines, and 60 are the most: cut it into parts that "
                                                           "have a name"], "\n"),
                ({"src/a.lua": "\n" * 601}, "src/a.lua 600\n", ["src/a.lua: 601 lines, and it had 600: it may only become shorter"],
                 "src/a.lua 600\n"),
                ({"src/a.lua": "\n" * 601}, "src/a.lua 700\n", [], "src/a.lua 601\n"),
                ({"src/a/a.cpp": "x = Algorithm::gcra;  // Algorithm::gcra\n", "src/core/a.hpp": "x = Algorithm::gcra;\n"}, "",
                 ["src/a/a.cpp Algorithm::: 1 times: ask what it can do, of src/core/traits.hpp"], "\n"),
                ({"src/a/a.cpp": "x = Algorithm::gcra;\n"}, "src/a/a.cpp Algorithm:: 2\n", [], "src/a/a.cpp Algorithm:: 1\n"),
                ({"src/a/a.cpp": "\n"}, "src/a/a.cpp Algorithm:: 2\n", [f"{check_sizes.LIST}: src/a/a.cpp Algorithm:: is short enough, "
                                                                     "or gone: take it out (tools/check_sizes.py --shrink)"], "\n"),
                ({"src/a.lua": "\n" * 600}, "src/a.lua 700\n", [f"{check_sizes.LIST}: src/a.lua is short enough, or gone: take it out "
                                                               "(tools/check_sizes.py --shrink)"], "\n")):
            with self.subTest(listed):
                self.assertEqual(self.check(files, listed), said)
                self.assertEqual(self.listed, shrunk)

    def test_the_program_is_measured(self):
        """That it was read: most of its functions are short, and there are thousands."""
        found = [each for path in check_sizes.ROOT.glob("src/**/*.cpp") if not path.stem.endswith("_test")
                 for each in check_sizes.functions(path.read_text())]
        self.assertGreater(len(found), 4000)
        self.assertLess(sum(lines > check_sizes.MOST_OF_A_FUNCTION for _, lines in found), 30)


if __name__ == "__main__":
    unittest.main()
