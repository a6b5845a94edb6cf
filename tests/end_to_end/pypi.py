"""Python packages that Debian does not have: installed once on this machine, exactly as a requirements file says, and copied
into the build folder."""
import fcntl
import hashlib
import os
import pathlib
import subprocess
import tempfile

import kept


def install(lock, folder):
    done = subprocess.run(["/usr/bin/python3", "-m", "pip", "install", "--quiet", "--require-hashes", "--no-deps",
                           "--only-binary", ":all:", "--target", folder, "-r", lock], capture_output=True, timeout=200)
    if done.returncode != 0:
        raise AssertionError(f"pip install: {done.stderr.decode()}")


def installed(lock, name):
    """The folder `name` with what the file `lock` lists. Two tests that want the same folder wait for each other."""
    parent = pathlib.Path(os.environ.get("WEIR_BUILD") or os.path.join(tempfile.gettempdir(), "weir-pypi"))
    parent.mkdir(parents=True, exist_ok=True)
    folder = parent / name
    with open(parent / f"{name}.lock", "w") as alone:
        fcntl.flock(alone, fcntl.LOCK_EX)
        wanted = hashlib.sha256(pathlib.Path(lock).read_bytes()).hexdigest()
        stamp = folder / "installed"
        if not stamp.exists() or stamp.read_text() != wanted:
            kept.folder_of(name, wanted, folder, lambda new: install(lock, new))
            stamp.write_text(wanted)
    return folder
