"""Clocks of a whole program that step, by tests/faults/clock_shim.cpp: CLOCK_SHIM names it."""
import mmap
import os
import struct

SHIM = os.environ.get("CLOCK_SHIM", "")


class Clocks:
    """Those of a program that is started with `environment`: steps are seen at once. One of each name in a folder: a file that
    is made again is cut to nothing first, under a program that reads it."""

    def __init__(self, folder, name):
        path = folder.file(name, bytes(16))
        with open(path, "r+b") as file:
            self.offsets = mmap.mmap(file.fileno(), 16)
        self.environment = {"LD_PRELOAD": SHIM, "CLOCK_SHIM_FILE": path}
        self.wall = self.monotonic = 0.0

    def step(self, wall=0.0, monotonic=0.0):
        """By that number of seconds."""
        self.wall += wall
        self.monotonic += monotonic
        self.offsets[:] = struct.pack("=qq", round(self.wall * 1e9), round(self.monotonic * 1e9))
