"""A Debian in a folder, to install things in: what `apt-get install` and a container's RUN need, and no more.

Only root can make one. The packages come from where this machine's apt takes them.
"""
import os
import shutil
import subprocess
import tempfile


def release():
    with open("/etc/os-release", encoding="utf-8") as file:
        return dict(line.rstrip().split("=", 1) for line in file if "=" in line)["VERSION_CODENAME"]


def must(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command} ends with {done.returncode}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


class Root:
    # Nothing is to start, and nobody is there to answer.
    ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1",
                   "LC_ALL": "C.UTF-8", "HOME": "/root"}

    def __init__(self, suite=None, *flags, like=None):
        """`like`: a Root, of which this is a copy."""
        self.path = tempfile.mkdtemp(prefix="weir-root-")
        os.chmod(self.path, 0o755)  # a container's root can be read by its user
        if like:
            must("cp", "-a", "--reflink=auto", f"{like.path}/.", self.path)
        else:
            must("mmdebstrap", "--quiet", "--variant=minbase", *flags, suite or release(), self.path)

    def close(self):
        shutil.rmtree(self.path, ignore_errors=True)

    def of(self, path):
        return self.path + path

    def run(self, *command, env=None):
        return must("chroot", self.path, *command, env={**self.ENVIRONMENT, **(env or {})})

    def files(self):
        """Everything but what apt and dpkg keep about themselves."""
        own = ("/var/lib/apt", "/var/lib/dpkg", "/var/cache", "/var/log", "/tmp", "/proc", "/sys", "/dev",
               "/etc/ld.so.cache", "/var/lib/systemd")
        found = set()
        for folder, names, leaves in os.walk(self.path):
            inside = folder[len(self.path):]
            if inside.startswith(own):
                names.clear()
                continue
            found.update(f"{inside}/{name}" for name in leaves + names)
        return {path for path in found if not path.startswith(own)}
