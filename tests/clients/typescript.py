"""The client for Node, built once in the build folder: with its development packages, from clients/typescript."""
import fcntl
import hashlib
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "end_to_end"))

import npm  # noqa: E402

ROOT = HERE.parents[1]
SOURCE = ROOT / "clients/typescript"


def sources():
    """What is built and tested, as (path in the package, file)."""
    files = [each for each in SOURCE.rglob("*") if each.is_file()]
    kept = [(str(each.relative_to(SOURCE)), each) for each in files]
    return [(name, each) for name, each in sorted(kept) if not name.startswith(("node_modules/", "dist/"))] + [
        ("LICENSE", ROOT / "LICENSE")]


def built():
    """The folder of the package. Two tests that want it wait for each other."""
    folder = pathlib.Path(npm.installed(SOURCE, "client_typescript", dev=True))
    with open(f"{folder}.lock", "w") as alone:
        fcntl.flock(alone, fcntl.LOCK_EX)
        found = sources()
        wanted = hashlib.sha256(repr([(name, each.read_bytes()) for name, each in found]).encode()).hexdigest()
        stamp = folder / "built"
        if not stamp.exists() or stamp.read_text() != wanted:
            for name in ("src", "test"):
                shutil.rmtree(folder / name, ignore_errors=True)
            for name, each in found:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(each, folder / name)
            done = subprocess.run(["node", "build.mjs"], cwd=folder, capture_output=True, text=True, timeout=200)
            if done.returncode != 0:
                raise AssertionError(f"build.mjs: {done.stdout}{done.stderr}")
            stamp.write_text(wanted)
    return folder


def installed_into(folder):
    """@weir/client, as npm would lay it down."""
    place = pathlib.Path(folder, "node_modules/@weir/client")
    package = built()
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(package / "dist", place / "dist", ignore=lambda _, names: [each for each in names if each.startswith("readme-")])
    shutil.copy(package / "package.json", place)
