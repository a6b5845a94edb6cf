"""C++ that tests compile beside the library, with what that was built with."""
import os
import re
import subprocess


def built_with(folder):
    """The compiler and the flags of the sanitizers of that build folder."""
    values = dict(re.findall(r"^(CMAKE_CXX_COMPILER|WEIR_SANITIZE):\w+=(.*)$", (folder / "CMakeCache.txt").read_text(), re.M))
    sanitize = values.get("WEIR_SANITIZE")
    return values["CMAKE_CXX_COMPILER"], [f"-fsanitize={sanitize}"] if sanitize else []


def build(compiler, source, compiling, linking, patience):
    """The program, and what the compiler says when there is none. By ccache, which takes what is not linked at once."""
    once, program, made = os.environ.get("CMAKE_CXX_COMPILER_LAUNCHER", "").split(), source.with_suffix(""), source.with_suffix(".o")
    for command in ([*once, compiler, "-std=c++20", *compiling, "-c", source, "-o", made],
                    [compiler, made, *linking, "-pthread", "-o", program]):
        built = subprocess.run(command, capture_output=True, text=True, timeout=patience)
        if built.returncode != 0:
            return program, built.stderr or f"exit code {built.returncode}"
    return program, ""
