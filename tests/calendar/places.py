"""Windows of the calendar by Python's zoneinfo, which reads the system's time zones by itself: for tests, slowly."""
import datetime
import zoneinfo

UTC = datetime.timezone.utc
HOUR = 3600
DAY = 24 * HOUR


def day_of(year, month=1, day=1):
    return datetime.date(year, month, day).toordinal() - datetime.date(1970, 1, 1).toordinal()


def date_of(day):
    return datetime.date.fromordinal(day + datetime.date(1970, 1, 1).toordinal())


class Place:
    """A zone by zoneinfo, in seconds since 1970."""

    def __init__(self, name, first, last):
        self.zone = zoneinfo.ZoneInfo(name)
        self.first, self.last = first, last

    def east(self, at):
        return int(datetime.datetime.fromtimestamp(at, UTC).astimezone(self.zone).utcoffset().total_seconds())

    def shifts(self, begin, end):
        """When the clocks shift, found by halves between samples of six hours."""
        found = []
        step = 6 * HOUR
        before = self.east(begin)
        for at in range(begin + step, end + step, step):
            now = self.east(at)
            if now != before:
                low, high = at - step, at
                while high - low > 1:
                    middle = (low + high) // 2
                    low, high = (middle, high) if self.east(middle) == before else (low, middle)
                found.append(high)
            before = now
        return found

    def begin_of(self, day):
        """The first second at which the clocks show that date or one after it."""
        midnight = datetime.datetime.combine(date_of(day), datetime.time(), self.zone)   # fold=0: the earlier one
        at = int(midnight.timestamp())
        if self.east(at) + at == day * DAY:
            return at
        low, high = at - 30 * HOUR, at + 30 * HOUR       # it does not exist: the dates only grow around it
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if (middle + self.east(middle)) // DAY >= day else (middle, high)
        return high

    def first_dates(self, unit):
        years = range(self.first - 1, self.last + 3)
        if unit == "year":
            return [day_of(year) for year in years]
        if unit == "month":
            return [day_of(year, month) for year in years for month in range(1, 13)]
        dates = range(day_of(self.first - 1), day_of(self.last + 2))
        return [each for each in dates if unit == "day" or date_of(each).weekday() == 0]

    def begins(self, unit):
        """When windows begin, in order, from before the first year until after the last."""
        if unit != "hour":
            found = []
            for day in self.first_dates(unit):
                at = self.begin_of(day)
                if found and found[-1] == at:
                    continue         # a date that never was
                found.append(at)
            return found
        begin, end = day_of(self.first) * DAY - 2 * DAY, day_of(self.last + 1) * DAY + 2 * DAY
        shifts = self.shifts(begin, end)
        found = []
        for low, high in zip([begin, *shifts], [*shifts, end]):
            east = self.east(low)
            found.append(low)
            found += range((low + east) // HOUR * HOUR + HOUR - east, high, HOUR)
        return found
