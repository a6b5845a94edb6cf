"""clients/go: each of its modules is vetted and tested, with the program. WEIR_LONG=1 looks for races too, and staticcheck
is run where there is one. Skipped without Go 1.21."""
import os
import re
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PUBLISHED = ("clients/go", "clients/go/weirgrpc")
MODULES = (*PUBLISHED, "clients/go/swaptest")
SKIPPED = 77
RACE = ["-race"] if os.environ.get("WEIR_LONG") == "1" and shutil.which("cc") else []


def version():
    """Of the Go that runs without a download; none where there is no such."""
    go = shutil.which("go")
    if not go:
        return None
    told = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True, env={**os.environ, "GOTOOLCHAIN": "local"})
    found = re.match(r"go(\d+)\.(\d+)", told.stdout)
    return (int(found[1]), int(found[2])) if found else None


def environment():
    env = {**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly -buildvcs=false", "WEIR_PYTHON": sys.executable}
    for name in ("WEIR_URL", "WEIR_LOCAL", "WEIR_PASSWORD"):
        env.pop(name, None)
    env["WEIR_PROGRAM"] = os.environ.get("WEIR_PROGRAM", os.path.join(ROOT, "build/dev/src/cli/weir"))
    build = os.environ.get("WEIR_BUILD", os.path.join(ROOT, "build/dev"))
    env.setdefault("GOCACHE", os.path.join(build, "go-cache"))
    env.setdefault("CGO_ENABLED", "1" if RACE else "0")  # as in each test that builds Go, so that all take the same packages
    return env


def run(module, *command):
    began = time.monotonic()
    done = subprocess.run(command, cwd=os.path.join(ROOT, module), env=environment(), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    print(f"{module}: {' '.join(command)}: {time.monotonic() - began:.1f} s", done.stdout.strip(), sep="\n", flush=True)
    return done.returncode == 0


def main():
    found = version()
    if found is None or found < (1, 21):
        print("skipped: " + ("there is no go" if found is None else "go is older than 1.21"))
        return SKIPPED
    if not os.path.isdir(os.path.join(ROOT, "clients/cases")):
        print("clients/cases is missing, which the tests of clients/go need")
        return 1
    for module in PUBLISHED:
        with open(os.path.join(ROOT, "LICENSE")) as ours, open(os.path.join(ROOT, module, "LICENSE")) as its:
            if ours.read() != its.read():
                print(f"{module}/LICENSE, which the module takes along, is another than LICENSE")
                return 1
    good = True
    for module in MODULES:
        good &= run(module, "go", "vet", "./...")
        good &= run(module, "go", "test", "-vet=off", "-count=1", *RACE, "./...")
        if shutil.which("staticcheck"):
            good &= run(module, "staticcheck", "./...")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
