#!/usr/bin/python3
"""Asks two builds of weir the same random questions, and compares what they answer byte for byte.

    tests/beside/beside.py OLD NEW [--pipelines 20000] [--seed N] [--kinds plain,limits,...]

OLD and NEW are programs. The exit code is 0 when nothing differs; else 1, and each difference is printed with the shortest
questions found that still show it, and with both answers. What does not happen again is told as chance and not counted:
whether a lease is taken is, for one, a matter of who answers first. A world, a few flags and a limits file, is left at its first
difference. So where CHANGELOG.md names a change, --but-for lets go of it, and what else differs is found:

    --but-for '^(denied:|weir_denied).*'
"""
import argparse
import collections
import copy
import json
import os
import random
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import files  # noqa: E402
from pair import Folder, NoWorld, OldEnded, Pair  # noqa: E402
from questions import Asking, Vocabulary  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
PIPELINES_A_WORLD = 60


class Run:
    def __init__(self, options, folder):
        self.old, self.new, self.options = options.old, options.new, options
        self.folder = folder
        self.library = options.clock or self._compile(folder)
        self.counts, self.ended, self.by_chance = collections.Counter(), 0, 0
        known = [re.findall(r"--[\w-]+", subprocess.run([program, "serve", "--help"], capture_output=True, text=True).stdout)
                 for program in (self.old, self.new)]
        self.known = set(known[0]) & set(known[1])

    @staticmethod
    def _compile(folder):
        library = folder.file("still_clock.so")
        subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-O1", "-shared", "-fPIC", "-o", library,
                        os.path.join(HERE, "still_clock.cpp"), "-pthread"], check=True)
        return library

    def pair(self, world):
        return Pair(self.old, self.new, self.library, world)

    # ---- making

    def make(self, kind, chance):
        """A world and its cases, each a list of steps."""
        world = {"kind": kind, "flags": [], "files": {}}
        vocabulary = Vocabulary()
        if kind in ("limits", "store", "snapshot", "auth") and chance.random() < (1 if kind == "limits" else 0.6):
            world["files"] = self.limits_in_use(chance, kind == "store")
            vocabulary = Vocabulary(world["files"]["limits.yaml"])
        if kind == "auth":
            world["password"] = "s3cret"
            if chance.random() < 0.6:
                world["tls"] = files.certificate(self.folder)
        if kind == "store":
            world["store"] = chance.choice(["", "", "?prefix=x:", "?prefix="])
            world["flags"] += chance.choice([[], ["--no-remember-denials"], ["--merge"], ["--lease", "3"]])
            world["faulty"] = chance.random() < 0.5
            world["flags"] += chance.choice([[], ["--on-store-error", "allow"], ["--on-store-error", "deny"], ["--local-share", "50%"]])
        if kind == "snapshot":
            world["snapshot"] = True
        world["flags"] += chance.choice([[], [], ["--max-wait", "24h"], ["--headers", chance.choice(
            ["draft-06", "x-ratelimit", "x-ratelimit-epoch", "off"])], ["--max-waiters", "1"],
            ["--reservation-memory", "1MiB"], ["--log-level", "debug"]])
        if any(flag.startswith("--") and flag not in self.known for flag in world["flags"]):
            world["flags"] = []
        asking = Asking(chance, vocabulary, kind == "store")
        if kind == "tools":
            return world, [[files.tool(chance)] for _ in range(PIPELINES_A_WORLD)]
        cases = [asking.case(number, world.get("password")) for number in range(PIPELINES_A_WORLD)]
        for case in cases:
            self._vary(kind, world, case, chance, asking)
        cases.append([{"do": "counts"}] + ([{"do": "keys"}] if kind == "store" else []) + [{"do": "stop"}])
        return world, cases

    def _vary(self, kind, world, case, chance, asking):
        if kind == "snapshot" and chance.random() < 0.1:
            case.append({"do": "swap", "ns": chance.choice([0, 0, 10**9, 3600 * 10**9])})
        if kind == "limits" and chance.random() < 0.05:
            case.append({"do": "reload", "text": files.limits(chance)})
        if kind != "store":
            return
        if chance.random() < 0.15:
            case.append(asking.awaiting())
        if world["faulty"] and chance.random() < 0.15:
            kind = chance.choice(["hold", "cut", "kill", "break"])
            fault = {"do": "fault", "kind": kind}
            if kind == "break":
                fault |= {"way": chance.choice(["up", "down"]), "after": chance.choice([1, 5, 30, 200])}
            case[:] = [fault] + [step for step in case if kind == "hold" or step["do"] != "jump"] + [{"do": "fault", "kind": "heal"}]
        if chance.random() < 0.3:
            case.append({"do": "keys"})
        if chance.random() < 0.05:
            case.append({"do": "fault", "kind": "foreign", "key": chance.choice(["weir:a", "x:a", "a"]), "value": chance.choice(["x", "1", ""])})

    def limits_in_use(self, chance, store):
        """A limits file that the old program takes."""
        for _ in range(40):
            found = files.files_of(files.limits(chance))
            folder = Folder()
            for name, text in found.items():
                folder.file(name, text.encode("latin-1"))
            done = subprocess.run([self.old, "lint", "limits.yaml", "--now", "2026-11-21T12:00:00Z"] + (["--store"] if store else []),
                                  cwd=folder.path, capture_output=True)
            folder.__exit__()
            if done.returncode == 0:
                return found
        return {"limits.yaml": "version: 1\nlimits:\n  user: { by: [user], rate: 1/h burst 5 }\n"}

    # ---- asking

    def first_difference(self, world, steps, pair=None):
        """(number of the step, old's answer, new's), or None."""
        if pair is None:
            with self.pair(world) as pair:
                return self.first_difference(world, steps, pair)
        for number, step in enumerate(steps):
            old, new = pair.ask(step)
            if self.but_for(old) != self.but_for(new):
                return number, old, new
        return None

    def but_for(self, answer):
        return re.sub(self.options.but_for, b"", answer, flags=re.M) if self.options.but_for else answer

    def world(self, kind, number):
        """How many cases differed (0 or 1): the rest of a world is not asked after a difference."""
        chance = random.Random(f"{self.options.seed} {kind} {number}")
        world, cases = self.make(kind, chance)
        try:
            pair = self.pair(world)
        except NoWorld as error:
            if len(error.refused) == 2:  # a file that only a server with a store refuses
                return 0
            print(f"\nDIFFERENT: --seed {self.options.seed} --kinds {kind} --world {number}: {error}\nworld: {world}", flush=True)
            return 1
        with pair:
            for at, case in enumerate(cases):
                self.counts[kind] += 1
                try:
                    found = self.first_difference(world, case, pair)
                except OldEnded as end:
                    print(f"OLD ENDED: --seed {self.options.seed} --kinds {kind} --world {number}, case {at}: {end}", flush=True)
                    self.ended += 1
                    return 0
                except Exception:
                    print(f"--seed {self.options.seed} --kinds {kind} --world {number}, case {at}: {json.dumps(case)}", flush=True)
                    raise
                if found is None:
                    continue
                print(f"\nDIFFERENT: --seed {self.options.seed} --kinds {kind} --world {number}, case {at}", flush=True)
                again = self.tell(world, cases[:at + 1], found)
                self.by_chance += not again
                return int(again)
        return 0

    # ---- shrinking

    def tell(self, world, cases, found):
        """Prints a difference, as short as it gets. False: it was chance."""
        number, old, new = found
        before, last = [step for case in cases[:-1] for step in case], cases[-1][:number + 1]
        deadline = time.monotonic() + self.options.patience
        steps, alone = last, self.first_difference(world, last)
        for _ in range(2):  # in a new world, with all that was asked before it
            if alone is None:
                steps = before + last
                alone = self.first_difference(world, steps)
        again = alone is not None
        if again:
            steps, (number, old, new) = self.shrink(world, steps, alone, deadline)
        else:
            print("by chance: it does not happen again in a new world")
            steps = last
        print("world:", json.dumps({key: value for key, value in world.items() if key != "files"}))
        for name, text in world["files"].items():
            if name == "limits.yaml" or name in world["files"]["limits.yaml"]:
                print(f"--- {name}\n{text}---")
        for step in steps:
            text = json.dumps(step)
            print("step:", text if len(text) < 1500 else text[:1500] + "...")
        old, new = self.but_for(old), self.but_for(new)
        for name, answer in (("old", old), ("new", new)):
            print(f"{name}: {self._shown(answer, old, new)}")
        sys.stdout.flush()
        return again

    @staticmethod
    def _shown(answer, old, new):
        """Of what is long, where they differ first."""
        same = len(os.path.commonprefix([old, new]))
        return answer if len(answer) < 400 else b"..." + answer[max(0, same - 150):same + 150] + b"..."

    def shrink(self, world, steps, found, deadline):
        """The shortest steps that still differ, as far as time allows."""
        def differs(candidate):
            if time.monotonic() > deadline:
                return None
            try:
                return self.first_difference(world, candidate)
            except (AssertionError, KeyError, OSError, NoWorld, OldEnded):
                return None
        steps, found = self._fewer(steps, found, differs)
        for at, field in [(at, field) for at in range(len(steps)) for field in ("parts", "cuts", "args") if field in steps[at]]:
            steps, found = self._with_fewer(steps, found, (at, field), differs)
        for at, number in [(at, number) for at in range(len(steps)) for number in range(len(steps[at].get("parts", ())))]:
            if "words" in steps[at]["parts"][number]:
                steps, found = self._with_fewer(steps, found, (at, "parts", number, "words"), differs)
        return steps, found

    def _with_fewer(self, steps, found, path, differs):
        """The list at that path made shorter."""
        def with_items(items):
            changed = copy.deepcopy(steps)
            place = changed
            for each in path[:-1]:
                place = place[each]
            place[path[-1]] = items
            return changed
        items = steps
        for each in path:
            items = items[each]
        items, found = self._fewer(items, found, lambda items: differs(with_items(items)), keeps_last=path[-1] == "words")
        return with_items(items), found

    @staticmethod
    def _fewer(items, found, differs, keeps_last=True):
        """Leaves out halves, then quarters, and so on, while what is left still differs."""
        size = max(1, len(items) // 2)
        while size:
            at = 0
            while at < len(items):
                fewer = items[:at] + items[at + size:]
                again = differs(fewer) if fewer or not keeps_last else None
                if again:
                    items, found = fewer, again
                else:
                    at += size
            size //= 2
        return items, found


KINDS = {"plain": 20, "limits": 35, "auth": 10, "snapshot": 10, "store": 15, "tools": 10}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--pipelines", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--world", type=int, help="this one alone, as a difference names it")
    parser.add_argument("--patience", type=float, default=60, help="seconds to shrink a difference for")
    parser.add_argument("--most", type=int, default=5, help="differences after which it ends")
    parser.add_argument("--but-for", type=str.encode, metavar="REGEX", help="what of an answer may differ, as CHANGELOG.md names it")
    parser.add_argument("--clock", help="still_clock.cpp, built; else it is compiled")
    options = parser.parse_args()
    options.old, options.new = map(os.path.abspath, (options.old, options.new))
    kinds = options.kinds.split(",")
    print(f"--seed {options.seed}", flush=True)
    started, differences, number = time.monotonic(), 0, 0
    with Folder() as folder:
        run = Run(options, folder)
        order = random.Random(options.seed)
        while sum(run.counts.values()) < options.pipelines and differences < options.most:
            kind = order.choices(kinds, [KINDS[kind] for kind in kinds])[0]
            if options.world is not None:
                differences += sum(run.world(kind, options.world) for kind in kinds)
                break
            differences += run.world(kind, number)
            number += 1
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(run.counts.items()))
    beside_them = f", {run.by_chance} by chance" if run.by_chance else ""
    beside_them += f"; the old program ended in {run.ended}" if run.ended else ""
    print(f"{sum(run.counts.values())} pipelines ({told}) in {time.monotonic() - started:.0f} s: {differences} differences{beside_them}")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
