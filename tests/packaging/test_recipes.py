#!/usr/bin/python3
"""The recipes for vcpkg and Conan, run as those tools run them, with stand-ins for the tools' own functions.

What they name has to be here: files, options, libraries, the version. CMake configures the library from the sources
and with the options that they hand it.
"""
import importlib.util
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import types
import unittest

sys.dont_write_bytecode = True  # beside the recipe
SOURCE = pathlib.Path(__file__).resolve().parents[2]
CMAKE = (SOURCE / "CMakeLists.txt").read_text()
VERSION = re.search(r"^project\(weir VERSION ([0-9.]+)", CMAKE, re.M).group(1)
OPTIONS = set(re.findall(r"^option\((WEIR_\w+)", CMAKE, re.M))
FEATURES = ("redis", "limits")
LIBRARIES = {"weir": ["weir/limiter.hpp"], "weir_redis": ["weir/redis.hpp"], "weir_limits": ["weir/limits.hpp"]}

# vcpkg's functions, as far as the port calls them: each says what it was called with.
VCPKG = """cmake_minimum_required(VERSION 3.25)
function(vcpkg_check_features)
  cmake_parse_arguments(arg "" "OUT_FEATURE_OPTIONS" "FEATURES" ${ARGN})
  set(options "")
  while(arg_FEATURES)
    list(POP_FRONT arg_FEATURES feature option)
    if(feature IN_LIST FEATURES)
      list(APPEND options -D${option}=ON)
    else()
      list(APPEND options -D${option}=OFF)
    endif()
  endwhile()
  set(${arg_OUT_FEATURE_OPTIONS} ${options} PARENT_SCOPE)
endfunction()
foreach(each IN ITEMS vcpkg_cmake_configure vcpkg_cmake_install vcpkg_cmake_config_fixup vcpkg_fixup_pkgconfig
                      vcpkg_install_copyright)
  cmake_language(EVAL CODE "function(${each})\nmessage(NOTICE \\"${each} \\${ARGN}\\")\nendfunction()")
endforeach()
"""


def run(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{command} ends with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


class Configured(unittest.TestCase):
    def setUp(self):
        self.work = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.work)

    def configure(self, source, options, features):
        """CMake takes all of the options, and would install the libraries of the features and no other."""
        for option in options:
            if (name := option.split("=")[0].removeprefix("-D")).startswith("WEIR_"):
                self.assertIn(name, OPTIONS)
        build = self.work / "-".join(["build", *features])
        said = run("cmake", "-G", "Ninja", "-S", source, "-B", build, *options)
        self.assertNotIn("Manually-specified variables were not used", said)
        made = set(re.findall(r"/lib(weir\w*)\.(?:a|so)\"", (build / "cmake_install.cmake").read_text()))
        self.assertEqual(made, {"weir", *(f"weir_{feature}" for feature in features)})


class Vcpkg(Configured):
    PORT = SOURCE / "packaging/vcpkg"

    def test_the_manifest_has_our_version_and_our_features(self):
        manifest = json.loads((self.PORT / "vcpkg.json").read_text())
        self.assertEqual((manifest["name"], manifest["version"]), ("weir", VERSION))
        self.assertEqual(set(manifest["features"]), set(FEATURES))
        self.assertEqual(manifest["license"], "Apache-2.0")
        self.assertIn("Apache License", (SOURCE / "LICENSE").read_text())

    def test_the_port_builds_each_feature(self):
        for features in ((), ("redis",), ("limits",), FEATURES):
            with self.subTest(features):
                stubs = self.work / "stubs.cmake"
                stubs.write_text(f"{VCPKG}\nset(FEATURES {' '.join(features)})\n"
                                 f"set(CURRENT_PACKAGES_DIR {self.work}/packages)\n"
                                 f"include({self.PORT}/portfile.cmake)\n")
                calls = dict(line.split(" ", 1) if " " in line else (line, "")
                             for line in run("cmake", "-P", stubs).splitlines())
                words = calls["vcpkg_cmake_configure"].split(";")
                self.assertEqual((words[0], pathlib.Path(words[1]), words[2]), ("SOURCE_PATH", SOURCE, "OPTIONS"))
                self.configure(SOURCE, words[3:], features)
                self.assertTrue(pathlib.Path(calls["vcpkg_install_copyright"].split(";")[1]).is_file())
                self.assertEqual(calls["vcpkg_cmake_config_fixup"], "CONFIG_PATH;lib/cmake/weir")
                self.assertIn("vcpkg_cmake_install", calls)


class Properties(dict):
    """What a recipe says of a component, as Conan's cpp_info takes it."""
    def __init__(self):
        super().__init__()
        self.components = {}

    def set_property(self, name, value):
        self[name] = value


class Components(dict):
    def __missing__(self, name):
        self[name] = Properties()
        return self[name]


def conan_tools():
    """Conan's modules, as far as the recipe imports them."""
    def copy(_, pattern, src, dst):
        found = [path for path in pathlib.Path(src).glob(pattern)]
        if not found:
            raise AssertionError(f"{pattern} is not in {src}")
        for path in found:
            to = pathlib.Path(dst) / path.relative_to(src)
            if path.is_dir():
                shutil.copytree(path, to, dirs_exist_ok=True)
            else:
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, to)

    class Toolchain:
        def __init__(self, recipe):
            self.cache_variables = recipe.variables = {}

        def generate(self):
            pass

    class Deps(Toolchain):
        def __init__(self, _):
            pass

    modules = {"conan": {"ConanFile": object}, "conan.tools": {},
               "conan.tools.cmake": {"CMake": None, "CMakeDeps": Deps, "CMakeToolchain": Toolchain, "cmake_layout": None},
               "conan.tools.files": {"copy": copy, "load": lambda _, path: pathlib.Path(path).read_text()}}
    for name, members in modules.items():
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(members)


class Conan(Configured):
    def recipe(self, features):
        conan_tools()
        spec = importlib.util.spec_from_file_location("conanfile", SOURCE / "packaging/conan/conanfile.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        recipe = module.Weir()
        recipe.recipe_folder = str(SOURCE / "packaging/conan")
        recipe.export_sources_folder = str(self.work / "exported")
        chosen = {**recipe.default_options, **dict.fromkeys(features, True)}
        self.assertEqual(set(chosen), set(recipe.options))
        recipe.options = types.SimpleNamespace(**chosen)
        recipe.required = []
        recipe.requires = lambda what, **_: recipe.required.append(what.split("/")[0])
        recipe.cpp_info = Properties()
        recipe.cpp_info.components = Components()
        return recipe

    def test_it_has_our_version(self):
        recipe = self.recipe(())
        recipe.set_version()
        self.assertEqual((recipe.name, recipe.version, recipe.license), ("weir", VERSION, "Apache-2.0"))

    def test_what_it_exports_builds_each_feature(self):
        for features in ((), ("redis",), ("limits",), FEATURES):
            with self.subTest(features):
                recipe = self.recipe(features)
                recipe.export_sources()
                recipe.generate()
                options = [f"-D{name}={'ON' if value else 'OFF'}" for name, value in recipe.variables.items()]
                self.configure(recipe.export_sources_folder, options, features)

    def test_it_names_our_libraries_and_what_they_need(self):
        recipe = self.recipe(FEATURES)
        recipe.requirements()
        recipe.package_info()
        needed = set()
        for name, component in recipe.cpp_info.components.items():
            self.assertEqual(component["cmake_target_name"], f"weir::{name}")
            self.assertTrue((SOURCE / "cmake" / f"{component['pkg_config_name']}.pc.in").is_file())
            for library in component.libs:
                for header in LIBRARIES[library]:
                    self.assertTrue((SOURCE / "include" / header).is_file())
            for each in component.requires:
                if "::" in each:
                    needed.add(each.split("::")[0])
                else:
                    self.assertIn(each, recipe.cpp_info.components)
        self.assertEqual(needed, set(recipe.required))


if __name__ == "__main__":
    unittest.main()
