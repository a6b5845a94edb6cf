"""Packages of npm that tests need: installed once on this machine, exactly as a lock file says, and copied into the build
folder."""
import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile

import kept

FILES = ("package.json", "package-lock.json", ".npmrc")


def available():
    return bool(shutil.which("node") and shutil.which("npm"))


def install(source, folder, dev):
    for each in FILES:
        shutil.copy(os.path.join(source, each), folder)
    # No package of these needs its install script.
    done = subprocess.run(["npm", "ci", *([] if dev else ["--omit=dev"]), "--no-audit", "--no-fund", "--ignore-scripts"],
                          cwd=folder, capture_output=True, timeout=180)
    if done.returncode != 0:
        raise AssertionError(f"npm ci: {done.stderr.decode()}")


def installed(source, name, programs=(), dev=False):
    """The folder `name` with node_modules for the lock file of the folder `source`, those for its development too if `dev`;
    `programs` are copied from there, because a program finds the packages beside itself. Two tests that want the same
    folder wait for each other."""
    folder = os.path.join(os.environ.get("WEIR_BUILD") or os.path.join(tempfile.gettempdir(), "weir-npm"), name)
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    with open(folder + ".lock", "w") as alone:
        fcntl.flock(alone, fcntl.LOCK_EX)
        with open(os.path.join(source, "package-lock.json"), "rb") as lock:
            wanted = hashlib.sha256(lock.read()).hexdigest()
        stamp = os.path.join(folder, "installed")
        if not os.path.exists(stamp) or open(stamp).read() != wanted:
            kept.folder_of(name, wanted, folder, lambda new: install(source, new, dev))
            with open(stamp, "w") as out:
                out.write(wanted)
        for each in programs:
            shutil.copy(os.path.join(source, each), folder)
    return folder
