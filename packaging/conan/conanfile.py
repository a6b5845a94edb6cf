"""A recipe for Conan 2, of the sources that it lies in: docs/packaging.md."""
import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load


class Weir(ConanFile):
    name = "weir"
    description = "Rate limiting and throttling on GCRA"
    license = "Apache-2.0"
    topics = ("rate-limiting", "throttling", "gcra")
    package_type = "library"
    settings = "os", "compiler", "build_type", "arch"
    options = {"shared": [True, False], "fPIC": [True, False], "redis": [True, False], "limits": [True, False]}
    default_options = {"shared": False, "fPIC": True, "redis": False, "limits": False}
    implements = ["auto_shared_fpic"]

    def _sources(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        text = load(self, os.path.join(self._sources(), "CMakeLists.txt"))
        self.version = re.search(r"project\(weir VERSION ([0-9.]+)", text).group(1)

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/*"):
            copy(self, pattern, self._sources(), self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        self.requires("tl-expected/[>=1.0]", transitive_headers=True)
        if self.options.redis:
            self.requires("boost/[>=1.74]", transitive_headers=True)  # weir/asio.hpp
            self.requires("openssl/[>=3 <4]")
        if self.options.limits:
            self.requires("libyaml/[>=0.2]")

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        for part in ("SERVER", "TESTS", "BENCH"):
            toolchain.cache_variables[f"WEIR_BUILD_{part}"] = False
        toolchain.cache_variables["WEIR_BUILD_REDIS"] = bool(self.options.redis)
        toolchain.cache_variables["WEIR_BUILD_LIMITS"] = bool(self.options.limits)
        toolchain.cache_variables["WEIR_INSTALL"] = True
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "weir")
        self._component("weir", "weir", ["tl-expected::tl-expected"])
        self.cpp_info.components["weir"].system_libs = ["pthread"]
        if self.options.redis:
            self._component("redis", "weir_redis", ["weir", "boost::headers", "openssl::openssl"])
        if self.options.limits:
            self._component("limits", "weir_limits", ["weir", "libyaml::libyaml"])

    def _component(self, name, library, requires):
        component = self.cpp_info.components[name]
        component.libs = [library]
        component.requires = requires
        component.set_property("cmake_target_name", f"weir::{name}")
        component.set_property("pkg_config_name", library.replace("_", "-"))
