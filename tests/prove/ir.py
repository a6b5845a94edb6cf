"""From the compiler's IR to exact integers: what a function of the shipped source computes, for all inputs at once.

A value of N bits is an integer from 0 to 2^N - 1, a division has a side condition, and paths that meet are chosen
between by their conditions. The source is compiled with clang's checks of overflow, so each operation that could wrap
has a place in the source, and becomes an obligation: that it does not. Once all obligations of a function are proved
every other statement may take its operations as exact.

Not for: loops, floating point, memory that somebody else knows. What is not understood ends the program.
"""
import dataclasses
import itertools
import re

import z3


FRESH = itertools.count(1)  # one for all machines: two that named alike would define one number twice


class Unsupported(Exception):
    """The IR has something that this translation does not know."""


@dataclasses.dataclass(frozen=True)
class Num:
    """An integer and its bounds, as far as they are seen without a proof."""
    e: object
    lo: int
    hi: int
    zeros: int = 0  # how many of its last bits are 0, as far as a shift said so


def const(value):
    return Num(z3.IntVal(value), value, value)


def is_const(num):
    return num.lo == num.hi


@dataclasses.dataclass(frozen=True)
class Ptr:
    object: object
    offset: int


@dataclasses.dataclass(frozen=True)
class Obligation:
    path: object
    goal: object
    where: str


def both(a, b):
    if z3.is_true(a):
        return b
    if z3.is_true(b):
        return a
    if z3.is_false(a) or z3.is_false(b):
        return z3.BoolVal(False)
    return z3.And(a, b)


def any_of(conditions):
    conditions = [c for c in conditions if not z3.is_false(c)]
    if any(z3.is_true(c) for c in conditions):
        return z3.BoolVal(True)
    return conditions[0] if len(conditions) == 1 else z3.Or(conditions)


def opposite(a):
    return z3.simplify(z3.Not(a)) if z3.is_true(a) or z3.is_false(a) else z3.Not(a)


def pick(condition, a, b):
    """a where the condition holds, else b."""
    if a is b or z3.is_true(condition):
        return a
    if z3.is_false(condition):
        return b
    if isinstance(a, Num):
        if a.e.eq(b.e):
            return a
        return Num(z3.If(condition, a.e, b.e), min(a.lo, b.lo), max(a.hi, b.hi))
    if isinstance(a, tuple):
        return tuple(pick(condition, x, y) for x, y in zip(a, b))
    if isinstance(a, Ptr):
        if a == b:
            return a
        raise Unsupported("a pointer that depends on a value")
    return z3.simplify(z3.If(condition, a, b)) if z3.is_true(a) or z3.is_false(a) or z3.is_true(b) or z3.is_false(b) \
        else z3.If(condition, a, b)


class Module:
    """A file of IR: its functions, and which line of the source each check is about."""

    def __init__(self, text):
        self.functions = {}
        self.places = {}
        self.types = {}
        self._parse(text)

    def _parse(self, text):
        files = {}
        function = None
        for line in text.splitlines():
            if line.startswith("%") and " = type " in line:
                name, body = line.split(" = type ", 1)
                self.types[name] = body
            elif found := re.match(r'(@[\w.]+) = .* c"(.*)\\00"', line):
                files[found[1]] = found[2]
            elif line.startswith("define "):
                function = Function(line)
                self.functions[function.name] = function
            elif line.startswith("}"):
                function = None
            elif function is not None and line.strip():
                function.add(line)
        for name, file, at, column in re.findall(
                r"^(@[\w.]+) = .*?\{ ptr (@[\w.]+), i32 (\d+), i32 (\d+) \}", text, re.MULTILINE):
            self.places[name] = (files.get(file, file), int(at), int(column))


class Function:
    def __init__(self, line):
        found = re.match(r'define .*?@([\w.$]+|"[^"]+")\((.*)\)[^()]*\{$', line)
        self.name = found[1]
        self.parameters = re.findall(r"(%[-\w.$]+)(?:,|$)", re.sub(r"\([^()]*\)", "", found[2]))
        self.blocks = {}
        self.entry = self.at = None

    def add(self, line):
        if found := re.match(r"([-\w.$]+):", line):
            self.at = "%" + found[1]
            self.entry = self.entry or self.at
            self.blocks[self.at] = []
        elif line.startswith("    i") or line.strip() == "]":  # cases of a switch
            self.blocks[self.at][-1] += " " + line.strip()
        else:
            self.blocks[self.at].append(re.sub(r"(, ![\w.]+ ![\w.]+)+$", "", line.strip()))

    def handler(self, block):
        """The check that a block reports to, if it does nothing else."""
        for line in self.blocks[block]:
            if found := re.search(r"@__ubsan_handle_\w+\(ptr \w+ (@[\w.]+)", line):
                return found[1]
        return None


def successors(line):
    return re.findall(r"label (%[-\w.$]+)", line) if line.startswith(("br ", "switch ")) else []


SIZE = {"ptr": 64}


def bits_of(kind):
    if kind in SIZE:
        return SIZE[kind]
    if found := re.fullmatch(r"i(\d+)", kind):
        return int(found[1])
    raise Unsupported(f"the type {kind}")


class Machine:
    """What all runs of a proof share: quotients that were named, and the conditions that define them."""

    def __init__(self, module, wanted_wraps=()):
        self.module = module
        self.wanted_wraps = wanted_wraps  # places, as (file, line), where a wrap is meant
        self.definitions = []
        self.quotients = {}

    def name(self, what):
        return z3.Int(f"{what}{next(FRESH)}")

    def divide(self, x, y):
        key = (x.e.get_id(), y.e.get_id())
        if key not in self.quotients:
            q, r = self.name("quotient"), self.name("rest")
            # Such a pair is there for every x and every y above 0, so nothing is said of where this is not executed.
            self.definitions.append(z3.Implies(y.e > 0, z3.And(
                x.e == q * y.e + r, r >= 0, r < y.e, z3.Implies(x.e >= 0, z3.And(q >= 0, q <= x.e)))))
            self.quotients[key] = (Num(q, 0, x.hi), Num(r, 0, min(x.hi, max(y.hi - 1, 0))), x, y)
        return self.quotients[key][:2]

    def run(self, name, arguments, memory=None, path=None):
        """Gives (what it returns, the memory after it, its obligations)."""
        return Run(self, self.module.functions[name]).go(arguments, dict(memory or {}), path)


class Run:
    def __init__(self, machine, function):
        self.machine = machine
        self.function = function
        self.values = {}
        self.obligations = []
        self.edges = {}
        self.path = None

    def order(self):
        """Blocks, each after all that lead to it."""
        blocks, seen, done = self.function.blocks, set(), []

        def visit(block, above):
            if block in above:
                raise Unsupported(f"a loop in {self.function.name}")
            if block in seen:
                return
            seen.add(block)
            for target in successors(blocks[block][-1]):
                visit(target, above | {block})
            done.append(block)

        visit(self.function.entry, frozenset())
        return done[::-1]

    def go(self, arguments, memory, path):
        self.values = dict(zip(self.function.parameters, arguments))
        returned, ends = None, []
        memories = {}
        for block in self.order():
            into = [(source, self.edges[edge]) for edge in self.edges if edge[1] == block for source in [edge[0]]
                    if not z3.is_false(self.edges[edge])]
            if block == self.function.entry:
                self.path, self.memory = z3.BoolVal(True) if path is None else path, memory
            else:
                if not into:
                    self.path = z3.BoolVal(False)
                    self.memory = {}
                else:
                    self.path = self.joined(into)
                    self.memory = self.meet([(memories[source], condition) for source, condition in into])
            if not into and block != self.function.entry:
                for target in successors(self.function.blocks[block][-1]):
                    self.edges[(block, target)] = z3.BoolVal(False)
                continue
            self.block = block
            for line in self.function.blocks[block]:
                if line.startswith("ret "):
                    ends.append((self.path, None if line == "ret void" else self.operand(*self.typed(line[4:])[:2]),
                                 self.memory))
                else:
                    self.step(line)
            memories[block] = self.memory
        if len(ends) != 1:
            raise Unsupported(f"{self.function.name} returns from {len(ends)} places")
        return ends[0][1], ends[0][2], self.obligations

    def joined(self, into):
        """Of paths that meet; both sides of one branch are what was there before it."""
        conditions = [condition for _, condition in into]
        if len(conditions) == 2:
            pairs = [self.split.get(condition.get_id()) for condition in conditions]
            if pairs[0] and pairs[1] and pairs[0][0] is pairs[1][0]:
                return pairs[0][1]
        return any_of(conditions)

    split = None

    @staticmethod
    def meet(memories):
        whole = dict(memories[-1][0])
        for memory, condition in memories[-2::-1]:
            for place in list(whole):
                if place not in memory:
                    del whole[place]  # written on one path only, so it is read on that one only
                elif memory[place][0] != whole[place][0]:
                    raise Unsupported("a place of two widths")
                else:
                    whole[place] = (whole[place][0], pick(condition, memory[place][1], whole[place][1]))
        return whole

    # Operands.

    def typed(self, text):
        """The first `type value` of a text: (type, value, the rest)."""
        text = text.strip()
        found = re.match(r"(\{[^}]*\}|\[[^\]]*\]|[\w.%\"]+)\s+(.*)", text)
        kind, rest = found[1], found[2]
        while word := re.match(r"(noundef|nonnull|signext|zeroext|align \d+|immarg|range\([^)]*\)|inreg)\s+(.*)", rest):
            rest = word[2]
        value, _, rest = rest.partition(",")
        return kind, value.strip(), rest.strip()

    def operand(self, kind, text):
        text = text.strip()
        if text.startswith("%"):
            return self.values[text]
        if text in ("true", "false"):
            return z3.BoolVal(text == "true")
        if re.fullmatch(r"-?\d+", text):
            return const(int(text) % 2 ** bits_of(kind))
        if text == "zeroinitializer" and re.fullmatch(r"i\d+", kind):
            return const(0)
        if text in ("poison", "undef") and kind.startswith("{"):
            return tuple(None for _ in kind.split(","))
        if text in ("poison", "undef"):  # any number, if anybody looks at it
            return Num(self.machine.name("any"), 0, 2 ** bits_of(kind) - 1)
        raise Unsupported(f"the operand {kind} {text}")

    def signed(self, x, bits):
        half = 2 ** (bits - 1)
        if x.hi < half:
            return x
        if x.lo >= half:
            return Num(x.e - 2 ** bits, x.lo - 2 ** bits, x.hi - 2 ** bits)
        return Num(z3.If(x.e >= half, x.e - 2 ** bits, x.e), -half, half - 1)

    def unsigned(self, x, bits):
        """What N bits keep of an integer that is off by one turn at most."""
        size = 2 ** bits
        if 0 <= x.lo and x.hi < size:
            return x
        if x.lo >= size:
            return Num(x.e - size, x.lo - size, x.hi - size)
        if x.hi < 0:
            return Num(x.e + size, x.lo + size, x.hi + size)
        if x.lo >= 0:
            return Num(z3.If(x.e >= size, x.e - size, x.e), 0, size - 1)
        if x.hi < size:
            return Num(z3.If(x.e < 0, x.e + size, x.e), 0, size - 1)
        return Num(z3.If(x.e < 0, x.e + size, z3.If(x.e >= size, x.e - size, x.e)), 0, size - 1)

    def oblige(self, goal, where):
        if not z3.is_true(goal):
            self.obligations.append(Obligation(self.path, goal, where))

    def exact(self, operation, x, y):
        if operation == "add":
            return Num(x.e + y.e, x.lo + y.lo, x.hi + y.hi)
        if operation == "sub":
            return Num(x.e - y.e, x.lo - y.hi, x.hi - y.lo)
        ends = [a * b for a in (x.lo, x.hi) for b in (y.lo, y.hi)]
        return Num(x.e * y.e, min(ends), max(ends))

    def within(self, x, bits, is_signed):
        """Whether the number fits: true without a question, where its bounds say so."""
        low, high = (-2 ** (bits - 1), 2 ** (bits - 1) - 1) if is_signed else (0, 2 ** bits - 1)
        parts = ([x.e >= low] if x.lo < low else []) + ([x.e <= high] if x.hi > high else [])
        return z3.And(parts) if len(parts) > 1 else parts[0] if parts else z3.BoolVal(True)

    def clipped(self, x, bits, is_signed):
        low, high = (-2 ** (bits - 1), 2 ** (bits - 1) - 1) if is_signed else (0, 2 ** bits - 1)
        return Num(x.e, max(x.lo, low), min(x.hi, high))

    def arithmetic(self, operation, flags, x, y, bits, name=None):
        """What has a flag must not wrap; where only a `select` looks at it, it may, and is then any number."""
        before = len(self.obligations)
        whole = self.flagged(operation, flags, x, y, bits)
        if len(self.obligations) > before and flags and name and self.is_selected(name):
            fits = self.obligations.pop().goal
            return pick(fits, whole, Num(self.machine.name("any"), 0, 2 ** bits - 1))
        return whole

    def is_selected(self, name):
        uses = [line for block in self.function.blocks.values() for line in block
                if re.search(re.escape(name) + r"(?![\w.])", line) and not line.startswith(name + " =")]
        return bool(uses) and all(" = select " in line for line in uses)

    def flagged(self, operation, flags, x, y, bits):
        if operation != "mul" and is_const(y) and y.lo >= 2 ** (bits - 1) and "nuw" not in flags:  # x + -1
            operation, y = ("sub" if operation == "add" else "add"), const(2 ** bits - y.lo)
        if "nsw" in flags and "nuw" not in flags:
            whole = self.exact(operation, self.signed(x, bits), self.signed(y, bits))
            self.oblige(self.within(whole, bits, True), f"a {operation} that must not wrap")
            return self.unsigned(self.clipped(whole, bits, True), bits)
        whole = self.exact(operation, x, y)
        if "nuw" in flags or operation == "mul":
            self.oblige(self.within(whole, bits, False), f"a {operation} that must not wrap")
            return self.clipped(whole, bits, False)
        return self.unsigned(whole, bits)

    def with_overflow(self, kind, operation, x, y, bits, handler):
        is_signed = kind == "s"
        if is_signed:
            x, y = self.signed(x, bits), self.signed(y, bits)
        whole = self.exact(operation, x, y)
        fits = self.within(whole, bits, is_signed)
        place = self.machine.module.places.get(handler)
        if z3.is_true(fits) or (handler and place[:2] not in self.machine.wanted_wraps):
            self.oblige(fits, self.told(place))
            return self.unsigned(self.clipped(whole, bits, is_signed), bits), z3.BoolVal(False)
        if operation == "mul":
            return self.machine.divide(whole, const(2 ** bits))[1], z3.Not(fits)
        return self.unsigned(whole, bits), z3.Not(fits)

    @staticmethod
    def told(place):
        return "{}:{}:{}".format(*place) if place else "a check"

    # Instructions.

    def step(self, line):
        if found := re.match(r"(%[-\w.$]+) = (.*)", line):
            self.values[found[1]] = self.evaluate(found[2], found[1])
        elif line.startswith("store "):
            kind, value, rest = self.typed(line[6:])
            target = self.operand("ptr", self.typed(rest)[1])
            self.memory = {**self.memory, (target.object, target.offset): (kind, self.operand(kind, value))}
        elif line.startswith("br i1 "):
            condition = self.operand("i1", line[6:].split(",")[0])
            yes, no = successors(line)
            self.branch([(condition, yes), (opposite(condition), no)])
        elif line.startswith("br "):
            self.edges[(self.block, successors(line)[0])] = self.path
        elif line.startswith("switch "):
            self.switch(line)
        elif line.startswith("unreachable"):
            self.oblige(z3.Not(self.path), "what must not be reached")
        elif "call " in line:
            self.call(line)
        else:
            raise Unsupported(line)

    def branch(self, targets):
        if self.split is None:
            self.split = {}
        token = object()
        for condition, target in targets:
            edge = both(self.path, condition)
            if len(targets) == 2 and not z3.is_false(edge):
                self.split[edge.get_id()] = (token, self.path, edge)
            known = self.edges.get((self.block, target))
            self.edges[(self.block, target)] = edge if known is None else any_of([known, edge])

    def switch(self, line):
        kind, value, rest = self.typed(line[7:])
        on = self.operand(kind, value)
        default, others = successors(line)[0], []
        for number, target in re.findall(r"i\d+ (-?\d+), label (%[-\w.$]+)", rest.split("[", 1)[1]):
            others.append((on.e == int(number) % 2 ** bits_of(kind), target))
        none = z3.Not(z3.Or([condition for condition, _ in others])) if others else z3.BoolVal(True)
        self.branch(others + [(none, default)])

    def evaluate(self, text, name):
        operation, _, rest = text.partition(" ")
        if operation in ("tail", "notail", "call"):
            return self.call(text, name)
        if operation in ("add", "sub", "mul"):
            flags = re.match(r"((?:nuw |nsw )*)(.*)", rest)
            kind, x, y = self.typed(flags[2])
            return self.arithmetic(operation, flags[1].split(), self.operand(kind, x), self.operand(kind, y),
                                   bits_of(kind), name)
        if operation in ("udiv", "urem", "sdiv", "srem"):
            return self.division(operation, rest)
        if operation in ("shl", "lshr", "ashr"):
            return self.shift(operation, rest)
        if operation in ("and", "or", "xor"):
            return self.logic(operation, rest)
        if operation == "icmp":
            return self.compare(rest)
        if operation == "select":
            _, condition, rest = self.typed(rest)
            kind, x, rest = self.typed(rest)
            return pick(self.operand("i1", condition), self.operand(kind, x), self.operand(kind, self.typed(rest)[1]))
        if operation in ("zext", "sext", "trunc"):
            return self.convert(operation, rest, name)
        if operation == "freeze":
            return self.operand(*self.typed(rest)[:2])
        if operation == "phi":
            return self.phi(rest)
        if operation == "ptrtoint":  # what a check is told of where it went wrong
            return Num(self.machine.name("any"), 0, 2 ** 64 - 1)
        if operation == "extractvalue":
            _, value, index = self.typed(rest)
            return self.operand("", value)[int(index)]
        if operation == "insertvalue":
            kind, value, rest = self.typed(rest)
            part_kind, part, index = self.typed(rest)
            whole = list(self.operand(kind, value))
            whole[int(index)] = self.operand(part_kind, part)
            return tuple(whole)
        if operation == "alloca":
            return Ptr((self, name), 0)
        if operation == "getelementptr":
            return self.element(rest)
        if operation == "load":
            kind, rest = rest.split(",", 1)
            return self.load(kind.strip(), self.operand("ptr", self.typed(rest)[1]))
        raise Unsupported(text)

    def element(self, rest):
        words = [word.strip() for word in re.sub(r"^(inbounds |nuw |nusw )*", "", rest).split(",")]
        if len(words) != 3:
            raise Unsupported("getelementptr " + rest)
        base = self.operand("ptr", words[1].split()[-1])
        index = self.operand("i64", words[2].split()[-1])
        if not is_const(index):
            raise Unsupported("an address that depends on a value")
        if index.lo == 0:
            return base
        if not re.fullmatch(r"i\d+", words[0]):
            raise Unsupported("getelementptr " + rest)
        offset = index.lo - 2 ** 64 if index.lo >= 2 ** 63 else index.lo
        return Ptr(base.object, base.offset + offset * (bits_of(words[0]) // 8))

    def load(self, kind, source):
        found = self.memory.get((source.object, source.offset))
        if found is None:
            raise Unsupported(f"what lies {source.offset} bytes into {source.object} was never written")
        if found[0] == kind:
            return found[1]
        raise Unsupported(f"a load of {kind} from a store of {found[0]}")

    def division(self, operation, rest):
        kind, x, y = self.typed(rest.removeprefix("exact "))
        bits = bits_of(kind)
        x, y = self.operand(kind, x), self.operand(kind, y)
        if operation[0] == "s":
            x, y = self.signed(x, bits), self.signed(y, bits)
            if x.lo < 0 or y.lo < 0:
                # Towards zero, from the magnitudes.
                magnitude = [Num(z3.If(v.e < 0, -v.e, v.e), 0, max(abs(v.lo), abs(v.hi))) if v.lo < 0 else v
                             for v in (x, y)]
                self.oblige(y.e != 0, "a division by 0")
                q, r = self.machine.divide(*magnitude)
                if operation == "sdiv":
                    turned = z3.Xor(x.e < 0, y.e < 0) if y.lo < 0 else x.e < 0
                    return self.unsigned(Num(z3.If(turned, -q.e, q.e), -q.hi, q.hi), bits)
                return self.unsigned(Num(z3.If(x.e < 0, -r.e, r.e), -r.hi, r.hi), bits)
        if y.lo <= 0:
            self.oblige(y.e != 0, "a division by 0")
        q, r = self.machine.divide(x, y)
        return q if operation.endswith("div") else r

    def shift(self, operation, rest):
        flags = re.match(r"((?:nuw |nsw |exact )*)(.*)", rest)
        kind, x, by = self.typed(flags[2])
        bits, x, by = bits_of(kind), self.operand(kind, x), self.operand(kind, by)
        if not is_const(by):
            if by.hi - by.lo > 16:
                raise Unsupported("a shift by a value")
            shifted = self.shifted(operation, flags[1].split(), x, by.hi, bits)
            for some in range(by.lo, by.hi):
                shifted = pick(by.e == some, self.shifted(operation, flags[1].split(), x, some, bits), shifted)
            return shifted
        return self.shifted(operation, flags[1].split(), x, by.lo, bits)

    def shifted(self, operation, flags, x, by, bits):
        if operation == "shl":
            return dataclasses.replace(self.arithmetic("mul", flags, x, const(2 ** by), bits), zeros=by)
        if operation == "ashr" and x.hi >= 2 ** (bits - 1):
            raise Unsupported("a signed shift")
        return self.machine.divide(x, const(2 ** by))[0] if by else x

    def logic(self, operation, rest):
        kind, x, y = self.typed(rest.removeprefix("disjoint "))
        x, y = self.operand(kind, x), self.operand(kind, y)
        if kind == "i1":
            if operation == "xor":
                return opposite(x) if z3.is_true(y) else z3.Xor(x, y)
            if operation == "and":
                return both(x, y)
            return any_of([x, y]) if not (z3.is_false(x) and z3.is_false(y)) else x
        if operation == "or" and rest.startswith("disjoint "):
            return Num(x.e + y.e, x.lo + y.lo, x.hi + y.hi)
        if operation == "or" and not x.zeros:
            x, y = y, x
        if operation == "or" and x.zeros:  # y has to lie in the bits that are 0 in x
            bit = 2 ** x.zeros
            self.oblige(z3.BoolVal(True) if y.hi < bit else y.e < bit, "bits that must not meet")
            return Num(x.e + y.e, x.lo + y.lo, x.hi + min(y.hi, bit - 1))
        if operation == "and" and is_const(y) and y.lo & (y.lo + 1) == 0:
            return self.machine.divide(x, const(y.lo + 1))[1] if x.hi > y.lo else x
        if operation in ("and", "or") and max(x.hi, y.hi) < 16:  # bit by bit
            whole = const(0)
            joined = z3.And if operation == "and" else z3.Or
            for at in range((min if operation == "and" else max)(x.hi, y.hi).bit_length()):
                one, other = (self.machine.divide(self.machine.divide(v, const(2 ** at))[0], const(2))[1] for v in (x, y))
                bit = z3.If(joined(one.e == 1, other.e == 1), z3.IntVal(2 ** at), z3.IntVal(0))
                whole = Num(whole.e + bit, 0, whole.hi + 2 ** at)
            return whole
        if operation == "xor" and is_const(y) and y.lo == 2 ** bits_of(kind) - 1:
            return Num(y.e - x.e, y.lo - x.hi, y.lo - x.lo)
        raise Unsupported(f"{operation} {rest}")

    def compare(self, rest):
        flags = re.match(r"(?:samesign )?(\w+) (.*)", rest)
        how = flags[1]
        kind, x, y = self.typed(flags[2])
        x, y = self.operand(kind, x), self.operand(kind, y)
        if kind == "i1":
            return z3.Xor(x, y) if how == "ne" else z3.Not(z3.Xor(x, y))
        if kind == "ptr":
            raise Unsupported("a comparison of pointers")
        if how[0] == "s":
            x, y = self.signed(x, bits_of(kind)), self.signed(y, bits_of(kind))
        known = self.known(how if how in ("eq", "ne") else how[1:], x, y)
        if known is not None:
            return z3.BoolVal(known)
        return {"eq": lambda: x.e == y.e, "ne": lambda: x.e != y.e, "lt": lambda: x.e < y.e, "le": lambda: x.e <= y.e,
                "gt": lambda: x.e > y.e, "ge": lambda: x.e >= y.e}[how if how in ("eq", "ne") else how[1:]]()

    @staticmethod
    def known(how, x, y):
        """What the bounds alone say of a comparison."""
        yes, no = {"lt": (x.hi < y.lo, x.lo >= y.hi), "le": (x.hi <= y.lo, x.lo > y.hi),
                   "gt": (x.lo > y.hi, x.hi <= y.lo), "ge": (x.lo >= y.hi, x.hi < y.lo),
                   "eq": (is_const(x) and is_const(y) and x.lo == y.lo, x.hi < y.lo or x.lo > y.hi),
                   "ne": (x.hi < y.lo or x.lo > y.hi, is_const(x) and is_const(y) and x.lo == y.lo)}[how]
        return True if yes else False if no else None

    def convert(self, operation, rest, name):
        found = re.match(r"(?:nneg |nuw |nsw )*(i\d+) (\S+) to (i\d+)", rest)
        x, small, large = self.operand(found[1], found[2]), bits_of(found[1]), bits_of(found[3])
        if operation == "trunc":
            if large == 1:
                return x.e == 1 if x.hi <= 1 else self.machine.divide(x, const(2))[1].e == 1
            if x.hi < 2 ** large:
                return x
            if small == 128:  # of a product; what is cut off has to be 0
                if self.is_selected(name):  # where it fits; else it is any number
                    return pick(x.e < 2 ** large, Num(x.e, x.lo, 2 ** large - 1),
                                Num(self.machine.name("any"), 0, 2 ** large - 1))
                self.oblige(x.e < 2 ** large, "a number of 128 bits that is cut")
                return Num(x.e, x.lo, 2 ** large - 1)
            return self.machine.divide(x, const(2 ** large))[1]
        if small == 1:
            return pick(x, const(1 if operation == "zext" else 2 ** large - 1), const(0))
        return self.unsigned(self.signed(x, small), large) if operation == "sext" else x

    def phi(self, rest):
        kind = rest.split()[0]
        result = None
        for value, source in re.findall(r"\[ (\S+), (%[-\w.$]+) \]", rest):
            edge = self.edges.get((source, self.block), z3.BoolVal(False))
            if z3.is_false(edge):
                continue
            value = self.operand(kind, value)
            result = value if result is None else pick(edge, value, result)
        return result

    # Calls.

    def call(self, text, name=None):
        found = re.search(r'call (?:[\w() ]*?)(void|i\d+|ptr|\{[^}]*\}) (@[\w.$]+|@"[^"]+")\((.*)\)[^()]*$', text)
        if not found:
            raise Unsupported(text)
        target, inside = found[2][1:], found[3]
        if target.startswith("llvm."):
            return self.intrinsic(target, inside, name)
        if target.startswith("__ubsan_handle_"):
            handler = re.search(r"@[\w.]+", inside)[0]
            place = self.machine.module.places[handler]
            if place[:2] not in self.machine.wanted_wraps:
                self.oblige(opposite(self.path), self.told(place))
            return None
        if target in ("abort", "__assert_fail"):
            return self.oblige(opposite(self.path), "what must not be reached")
        if target not in self.machine.module.functions:
            raise Unsupported("a call of " + target)
        value, self.memory, obligations = self.machine.run(target, self.arguments(inside), self.memory, self.path)
        self.obligations += obligations
        return value

    def arguments(self, inside):
        rest, values = re.sub(r"\([^()]*\)", "", inside), []
        while rest:
            parts = re.match(r"(\{[^}]*\}|\S+) ([^,]*?)(%[-\w.$]+|-?\d+|true|false|@[\w.]+)(?:, (.*))?$", rest)
            if not parts:
                raise Unsupported("the arguments " + inside)
            values.append(self.operand(parts[1], parts[3]))
            rest = parts[4]
        return values

    def intrinsic(self, target, inside, name):
        operation = target.split(".")[1]
        if operation in ("lifetime", "assume", "experimental", "dbg"):
            return None
        if operation == "memcpy":
            return self.copy(*self.arguments(inside)[:3])
        if operation == "memset":
            return self.fill(*self.arguments(inside)[:3])
        kind = target.split(".")[-1]
        bits = bits_of(kind)
        values = self.arguments(inside)
        if ".with.overflow." in target:
            return self.with_overflow(operation[0], operation[1:], *values, bits, self.reports_to(name))
        if operation in ("umin", "umax", "smin", "smax"):
            keys = [self.signed(v, bits) for v in values] if operation[0] == "s" else values
            how = "le" if operation.endswith("min") else "ge"
            known = self.known(how, *keys)
            if known is not None:
                return values[0] if known else values[1]
            first = keys[0].e <= keys[1].e if how == "le" else keys[0].e >= keys[1].e
            if operation[0] == "u":
                (a, b), best = keys, min if operation == "umin" else max
                return Num(pick(first, *values).e, best(a.lo, b.lo), best(a.hi, b.hi))
            return pick(first, *values)
        if target.startswith("llvm.usub.sat."):
            x, y = values
            return Num(z3.If(x.e > y.e, x.e - y.e, 0), max(x.lo - y.hi, 0), max(x.hi - y.lo, 0))
        if operation == "abs":
            x = self.signed(values[0], bits)
            return Num(z3.If(x.e < 0, -x.e, x.e), 0, 2 ** (bits - 1))
        raise Unsupported(target)

    def reports_to(self, name):
        """The check that is told when this operation overflows, if that is what the second part is for."""
        for block in self.function.blocks.values():
            for at, line in enumerate(block):
                if re.match(rf"(%[-\w.$]+) = extractvalue .* {re.escape(name)}, 1$", line):
                    flag = line.split(" = ")[0]
                    for later in block[at:]:
                        if later.startswith(f"br i1 {flag},"):
                            return self.function.handler(successors(later)[0])
        return None

    def copy(self, to, source, length):
        memory = dict(self.memory)
        for (obj, offset), kept in self.memory.items():
            if obj == source.object and source.offset <= offset < source.offset + length.lo:
                memory[(to.object, to.offset + offset - source.offset)] = kept
        self.memory = memory

    def fill(self, to, byte, length):
        if byte.hi != 0:
            raise Unsupported("memory that is filled with something else than 0")
        memory = dict(self.memory)
        for offset in range(0, length.lo, 8):
            memory[(to.object, to.offset + offset)] = ("i64", const(0))
        self.memory = memory
