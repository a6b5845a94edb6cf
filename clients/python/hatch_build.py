"""Puts the program into a wheel: WEIR_ARCHIVE names an unpacked weir-linux-ARCHITECTURE.tar.gz, as in

    WEIR_ARCHIVE=build/package/weir-linux-x86_64 python -m build --wheel clients/python
"""
import os
import pathlib

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Program(BuildHookInterface):
    def initialize(self, version, build_data):
        named = os.environ.get("WEIR_ARCHIVE")
        if not named:
            return
        archive = pathlib.Path(named).resolve()
        machine = archive.name.rpartition("-")[2]
        if machine not in ("x86_64", "aarch64"):
            raise ValueError(f"WEIR_ARCHIVE is a folder weir-linux-x86_64 or weir-linux-aarch64, not {archive}")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-manylinux_2_17_{machine}.musllinux_1_1_{machine}"
        for file, name in (("bin/weir", "weir"), ("LICENSES", "LICENSES")):
            build_data["force_include"][str(archive / file)] = f"weir/_program/{name}"
