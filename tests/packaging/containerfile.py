"""Runs a Containerfile's stage in a folder that holds a Debian: as much of the format as ours uses, and an error for
the rest. So it is tested without a registry of images."""
import json
import os
import re
import shutil


class Stage:
    def __init__(self, base, name):
        self.base, self.name = base, name
        self.steps = []  # (instruction, text)

    def last(self, instruction):
        """The text of the last such instruction, read as JSON where it is."""
        texts = [text for each, text in self.steps if each == instruction]
        if not texts:
            return None
        return json.loads(texts[-1]) if texts[-1].startswith("[") else texts[-1]

    def healthcheck(self):
        return json.loads(self.last("HEALTHCHECK").split(" CMD ", 1)[1])

    def build(self, root, source_of):
        """`source_of(stage or None)`: the folder that COPY takes from."""
        folder = "/"
        for instruction, text in self.steps:
            if instruction == "WORKDIR":
                folder = text
                os.makedirs(root.of(folder), exist_ok=True)
            elif instruction == "COPY":
                stage = re.match(r"--from=(\w+) ", text)
                origin, target = text.split()[-2:]
                copy(os.path.join(source_of(stage and stage[1]), origin.lstrip("/")),
                     root.of(os.path.join(folder, target)))
            elif instruction == "RUN":
                root.run("/bin/sh", "-c", f"cd {folder} && {text}")
            elif instruction not in ("USER", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD"):
                raise AssertionError(f"{instruction}: not one that the tests know")


def not_sources(folder, names):
    """What of a folder of weir is not for a copy of it: what was built, not the script of that name."""
    apart = {"build", ".git", "node_modules", "__pycache__"}
    return {name for name in apart.intersection(names) if name != "build" or os.path.isdir(os.path.join(folder, name))}


def copy(origin, target):
    if os.path.isdir(origin):
        shutil.copytree(origin, target, ignore=not_sources, symlinks=True, dirs_exist_ok=True)
    else:
        shutil.copy(origin, target)


def stages(path):
    with open(path, encoding="utf-8") as file:
        lines = [line for line in file.read().replace("\\\n", " ").splitlines() if line and not line.startswith("#")]
    found = []
    for line in lines:
        instruction, text = line.split(None, 1)
        if instruction == "FROM":
            words = text.split()
            found.append(Stage(words[0], words[2] if len(words) == 3 else None))
        else:
            found[-1].steps.append((instruction, re.sub(r"\s+", " ", text)))
    return found
