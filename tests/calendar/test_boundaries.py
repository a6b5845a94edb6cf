#!/usr/bin/env python3
"""Where windows of the calendar begin and end, compared with Python's zoneinfo, which reads the same database by
itself: some zones in a few years; with WEIR_LONG all zones from 1970 to 2037.

test_boundaries.py, with WEIR_BOUNDARIES in the environment: what tests/calendar/boundaries.cpp is built as.
"""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest
import zoneinfo

from places import DAY, HOUR, Place, day_of

SOME = """UTC Europe/Berlin Europe/London America/New_York America/St_Johns America/Sao_Paulo America/Asuncion
America/Havana Europe/Dublin Asia/Kolkata Asia/Kathmandu Asia/Tehran Asia/Beirut Asia/Amman Africa/Cairo Africa/Casablanca
Australia/Lord_Howe Australia/Adelaide Pacific/Apia Pacific/Chatham Pacific/Kiritimati Antarctica/Troll
Asia/Pyongyang Africa/Monrovia America/Caracas""".split()


def runs(begins, first, last):
    """As boundaries.cpp prints them."""
    low, high = day_of(first) * DAY, day_of(last + 1) * DAY
    inside = [(begin, end - begin) for begin, end in zip(begins, begins[1:]) if low <= begin < high]
    lengths = []
    for _, length in inside:
        if lengths and lengths[-1][0] == length:
            lengths[-1][1] += 1
        else:
            lengths.append([length, 1])
    return " ".join([str(inside[0][0]), *(f"{length}x{count}" for length, count in lengths)])


def told(questions, first, last, folder=""):
    done = subprocess.run([os.environ["WEIR_BOUNDARIES"], str(first), str(last)], text=True, capture_output=True, check=True,
                          input="".join(f"{unit} {zone}\n" for unit, zone in questions), env={**os.environ, "TZDIR": folder})
    return done.stdout.splitlines()


class Boundaries(unittest.TestCase):
    def compare(self, zones, units, first, last, folder=""):
        questions = [(unit, zone) for zone in zones for unit in units]
        for (unit, zone), seen in zip(questions, told(questions, first, last, folder), strict=True):
            with self.subTest(zone=zone, unit=unit):
                self.assertEqual(seen, runs(Place(zone, first, last).begins(unit), first, last))

    def test_of_some_zones(self):
        self.compare(SOME, ("hour", "day", "week", "month", "year"), 2010, 2012)
        self.compare(SOME, ("day", "month"), 2026, 2027)
        self.compare(SOME[:12], ("hour", "day", "month"), 1971, 1973)
        self.compare(SOME, ("hour", "day", "year"), 2037, 2040)    # files list the shifts until 2037, then a rule
        self.compare(SOME, ("day",), 2198, 2200)

    @unittest.skipUnless(shutil.which("zic") and os.path.exists("/usr/share/zoneinfo/tzdata.zi"), "needs zic and tzdata.zi")
    def test_of_files_in_each_form(self):
        """The rule instead of a list, the list of version 1 beside it, and neither more nor less of either."""
        for form in ("slim", "fat"):
            with self.subTest(form), tempfile.TemporaryDirectory() as folder:
                subprocess.run(["zic", "-b", form, "-d", folder, "/usr/share/zoneinfo/tzdata.zi"], check=True)
                self.compare(SOME, ("hour", "day"), 2011, 2011, folder)
                self.compare(SOME, ("hour", "day"), 2026, 2026, folder)

    def test_of_files_of_version_1(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "Europe/Berlin")
            path.parent.mkdir()
            whole = pathlib.Path("/usr/share/zoneinfo/Europe/Berlin").read_bytes()
            size = whole.index(b"TZif", 4)
            if size < 500:
                self.skipTest("the system's files have no list of version 1")
            path.write_bytes(whole[:4] + b"\0" + whole[5:size])
            self.compare(["Europe/Berlin"], ("hour", "day"), 2011, 2011, folder)

    @unittest.skipUnless("WEIR_LONG" in os.environ, "takes minutes: WEIR_LONG=1")
    def test_of_all_zones(self):
        # The library leaves out the one of machines whose zone was never set.
        zones = sorted(zone for zone in zoneinfo.available_timezones() if zone not in ("Factory", "localtime"))
        self.assertGreater(len(zones), 400)
        for zone in zones:
            self.compare([zone], ("hour", "day", "week", "month", "year"), 1970, 2037)

    def test_days_of_23_and_25_hours_are_among_them(self):
        seen = told([("day", "Europe/Berlin"), ("day", "Australia/Lord_Howe"), ("day", "Pacific/Apia")], 2011, 2011)
        for zone, lengths in zip(seen, ((23, 24, 25), (23.5, 24, 24.5), (23, 24, 25))):
            self.assertEqual({int(run.split("x")[0]) / HOUR for run in zone.split()[1:]}, set(lengths))

    def test_a_month_of_30_days_is_found(self):
        first, last = 2026, 2027
        begins = [day_of(first) * DAY + number * 30 * DAY for number in range(-2, 30)]
        self.assertNotEqual(told([("month", "UTC")], first, last)[0], runs(begins, first, last))


if __name__ == "__main__":
    unittest.main()
