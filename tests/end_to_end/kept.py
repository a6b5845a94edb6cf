"""What tests install for themselves, kept on this machine for the next build folder, as ccache keeps what was compiled.

It lies in weir-tests of the user's caches, and may be removed at any time.
"""
import fcntl
import os
import pathlib
import platform
import shutil
import subprocess
import time

UNUSED_S = 30 * 86400


def caches():
    folder = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "weir-tests"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def folder_of(name, wanted, folder, install):
    """Makes `folder` what `install(folder)` makes of a new one, or a copy of what it made before for the same `wanted`."""
    once = caches() / f"{name}-{platform.machine()}-{platform.python_version()}-{wanted[:20]}"
    with open(caches() / f"{name}.lock", "w") as alone:
        fcntl.flock(alone, fcntl.LOCK_EX)
        if not once.exists():
            for old in caches().glob(f"{name}-{platform.machine()}-*"):
                if old.stat().st_mtime < time.time() - UNUSED_S:
                    shutil.rmtree(old)
            new = caches() / f"{name}.new"
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir()
            install(new)
            new.rename(once)
        os.utime(once)
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run(["cp", "-a", "--reflink=auto", once, folder], check=True)
