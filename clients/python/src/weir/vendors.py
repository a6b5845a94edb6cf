"""What the answer of a vendor's API says of its limits, and told(), which charges it. The table of vendors is
clients/cases/vendors.json; a test looks that this one says the same."""

from __future__ import annotations

import datetime
import email.utils
import json
import math
import re
import time
from collections.abc import Awaitable, Iterable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple, cast, overload

from weir import aio
from weir.client import Client
from weir.decision import Charged
from weir.errors import Refused
from weir.words import NO_ATTRIBUTES, Rules, Value


class Limit(NamedTuple):
    limit: str
    remaining: str = ""  # the header
    used: str = ""  # or that of used/limit
    reset: tuple[str, ...] = ()  # the first that is there
    window: bool = False  # nothing passes until its reset; else a bucket, which is full then
    resource: str = ""  # the header that names another limit than the usual
    usual: str = ""


class Message(NamedTuple):
    statuses: tuple[int, ...]
    header: str
    text: str
    pause_ms: int


REFUSALS = (403, 429, 503)
PAUSES = (
    ("retry-after-ms", "ms"),  # OpenAI, Azure OpenAI
    ("x-ms-retry-after-ms", "ms"),  # Azure Cosmos DB
    ("retry-after", "s"),  # HTTP (RFC 9110)
)
LIMITS = (
    Limit(
        "requests", remaining="x-ratelimit-remaining-requests", reset=("x-ratelimit-reset-requests",)
    ),  # OpenAI, Azure OpenAI, Groq
    Limit(
        "tokens", remaining="x-ratelimit-remaining-tokens", reset=("x-ratelimit-reset-tokens",)
    ),  # OpenAI, Azure OpenAI, Groq
    Limit(
        "tokens", remaining="x-ratelimit-remaining-project-tokens", reset=("x-ratelimit-reset-project-tokens",)
    ),  # OpenAI: the project's own
    Limit(
        "requests", remaining="anthropic-ratelimit-requests-remaining", reset=("anthropic-ratelimit-requests-reset",)
    ),  # Anthropic
    Limit(
        "tokens", remaining="anthropic-ratelimit-tokens-remaining", reset=("anthropic-ratelimit-tokens-reset",)
    ),  # Anthropic: whichever of the two below is nearer
    Limit(
        "input_tokens",
        remaining="anthropic-ratelimit-input-tokens-remaining",
        reset=("anthropic-ratelimit-input-tokens-reset",),
    ),  # Anthropic
    Limit(
        "output_tokens",
        remaining="anthropic-ratelimit-output-tokens-remaining",
        reset=("anthropic-ratelimit-output-tokens-reset",),
    ),  # Anthropic
    Limit("requests", remaining="x-ratelimit-remaining-req-minute"),  # Mistral
    Limit("tokens", remaining="x-ratelimit-remaining-tokens-minute"),  # Mistral
    Limit(
        "requests",
        remaining="x-ratelimit-remaining",
        reset=("x-ratelimit-reset-after", "x-ratelimit-reset"),
        window=True,
        resource="x-ratelimit-resource",
        usual="core",
    ),  # GitHub, Reddit, Discord, Atlassian and many more
    Limit("requests", remaining="x-rate-limit-remaining", reset=("x-rate-limit-reset",), window=True),  # X, Okta
    Limit("requests", remaining="x-ratelimit-requests-remaining", reset=("x-ratelimit-requests-reset",), window=True),  # Linear
    Limit(
        "points", remaining="x-ratelimit-complexity-remaining", reset=("x-ratelimit-complexity-reset",), window=True
    ),  # Linear
    Limit("requests", remaining="x-hubspot-ratelimit-remaining"),  # HubSpot
    Limit(
        "requests", remaining="ratelimit-remaining", reset=("ratelimit-reset",), window=True
    ),  # GitLab, Zendesk, drafts of RateLimit up to 6
    Limit("requests", used="x-shopify-shop-api-call-limit"),  # Shopify, by REST: 32/40 is used
)
FIELDS = ("ratelimit",)
BODIES = (
    ("points", ("extensions", "cost", "throttleStatus", "currentlyAvailable")),  # Shopify, by GraphQL
)
MESSAGES = (
    Message((403, 429), "x-github-request-id", "secondary rate limit", 60000),  # GitHub: a secondary limit without Retry-After
)
MOST_PAUSE_MS = 86400000

_REQUESTS: Mapping[str, str | None] = {"requests": None}
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_USED = re.compile(r"([0-9]+)/([0-9]+)")
_SPAN = re.compile("".join(rf"(?:([0-9]+(?:\.[0-9]+)?){unit})?" for unit in ("d", "h", "m", "s", "ms")))
_SPAN_UNITS = (Fraction(86400), Fraction(3600), Fraction(60), Fraction(1), Fraction(1, 1000))
_ISO = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d)(?::(\d\d)(\.\d+)?)?(Z|[+-]\d\d:\d\d)", re.ASCII)
_DATE = re.compile(
    r"[A-Z][a-z]+, \d\d[ -][A-Z][a-z]+[ -]\d+ [\d:]{8} GMT|[A-Z][a-z]+ [A-Z][a-z]+ [ \d]\d [\d:]{8} \d{4}", re.ASCII
)
_MEMBER = re.compile(r'[ \t]*(?:"([^"]*)"|([A-Za-z*][^,;" \t]*))((?:[ \t]*;[ \t]*[a-z]+=[^,;]*)*)[ \t]*(?:,|$)')
_WORD = re.compile(r"([a-z]+)=([^,; \t]*)")


@overload
def told(
    client: Client,
    response: Any,
    key: Rules | None = None,
    rule: str | None = None,
    /,
    *,
    limits: Mapping[str, str | None] = _REQUESTS,
    body: str | bytes | None = None,
    attributes: Mapping[str, Value] = NO_ATTRIBUTES,
    **more: Value,
) -> list[Charged]: ...


@overload
def told(
    client: aio.Client,
    response: Any,
    key: Rules | None = None,
    rule: str | None = None,
    /,
    *,
    limits: Mapping[str, str | None] = _REQUESTS,
    body: str | bytes | None = None,
    attributes: Mapping[str, Value] = NO_ATTRIBUTES,
    **more: Value,
) -> Awaitable[list[Charged]]: ...


def told(
    client: Client | aio.Client,
    response: Any,
    key: Rules | None = None,
    rule: str | None = None,
    /,
    *,
    limits: Mapping[str, str | None] = _REQUESTS,
    body: str | bytes | None = None,
    attributes: Mapping[str, Value] = NO_ATTRIBUTES,
    **more: Value,
) -> list[Charged] | Awaitable[list[Charged]]:
    """Charges what a vendor's answer says: what remains there, and how long to stay away. `response` has `headers` and a
    `status_code` or `status`, as those of requests, httpx and aiohttp; a `body` is looked at for what is said there alone,
    by Shopify's GraphQL and GitHub's secondary limits. The rest is what the call was asked by. `limits` says which of the
    vendor's limits are taken over, and what each is here: one of the keys, a limit of the limits file, or None, the
    question as it is. Awaited with a client of weir.aio."""
    status = int(getattr(response, "status_code", 0) or getattr(response, "status", 0))
    text = body.decode(errors="replace") if isinstance(body, bytes) else body or ""
    said = heard(status, response.headers.items(), text, time.time())
    asks: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    for name, ours in limits.items():
        subject: tuple[Any, ...] = (key, rule)
        words: dict[str, Any] = {"attributes": {**attributes, **more} or attributes}
        if ours is not None and isinstance(key, Mapping):
            if ours not in key:
                raise ValueError(f"limits: {ours!r} is not one of the keys, {', '.join(map(repr, key))}")
            subject = (ours, key[ours])
        elif ours is not None and key is None:
            words["limit"] = ours
        elif ours not in (None, key):
            raise ValueError(f"limits: {ours!r} is not the key, {key!r}")
        asks += ((subject, {**words, **outside}) for outside in _outside(said, name))
    if isinstance(client, aio.Client):
        return _awaited(client, asks)
    return [_charged(client, *each) for each in asks]


def _charged(client: Client, subject: tuple[Any, ...], words: dict[str, Any]) -> Charged:
    try:
        return client.charge(*subject, **words)
    except Refused as refused:
        return client.charge(*subject, **_without_a_pause(refused, words))


async def _awaited(client: aio.Client, asks: list[tuple[tuple[Any, ...], dict[str, Any]]]) -> list[Charged]:
    found: list[Charged] = []
    for subject, words in asks:
        try:
            found.append(await client.charge(*subject, **words))
        except Refused as refused:
            found.append(await client.charge(*subject, **_without_a_pause(refused, words)))
    return found


def _without_a_pause(refused: Refused, words: dict[str, Any]) -> dict[str, Any]:
    """Nothing remains of a window, which cannot be paused."""
    if words.pop("pause", None) is None or "cannot be paused" not in str(refused):
        raise refused
    return {**words, "remaining": 0}


class Said(NamedTuple):
    """What was said of one of the vendor's limits, or of all ("")."""

    limit: str
    remaining: int | None
    pause_ms: int


def _outside(said: Iterable[Said], name: str) -> list[dict[str, Any]]:
    mine = [each for each in said if each.limit in ("", name)]
    found: list[dict[str, Any]] = [{"remaining": each.remaining} for each in mine if each.remaining is not None]
    pause = max((each.pause_ms for each in mine), default=0)
    return [*found, {"pause": pause / 1000}] if pause else found


def heard(status: int, headers: Iterable[tuple[str, str]], body: str, now: float) -> list[Said]:
    """What an answer says that came `now`, in seconds since 1970, by our clock."""
    told: dict[str, str] = {}
    for name, value in headers:
        told[name.lower()] = f"{told[name.lower()]}, {value}" if name.lower() in told else value
    theirs = _date(told.get("date", ""))
    moment = Fraction(now) if theirs is None else theirs  # theirs, so that no clock has to be right
    pause = _pause_of_all(told, moment) if status in REFUSALS else 0
    refused = status in REFUSALS and not pause
    found: dict[str, Said] = {}

    def hear(limit: str, remaining: int | None, reset: str, window: bool) -> None:
        used_up = remaining == 0 and (refused or (window and not pause))
        until = _until(reset, moment) if used_up or (remaining is None and refused and status == 429) else 0
        if remaining is not None or until:
            found[limit] = _stricter(found.get(limit), Said(limit, remaining, until))

    for row in LIMITS:
        resource = told.get(row.resource, "")
        reset = next((told[each] for each in row.reset if each in told), "")
        hear(resource if resource not in ("", row.usual) else row.limit, _left(row, told), reset, row.window)
    for name in FIELDS:
        for limit, remaining, reset in _members(told.get(name, "")):
            hear(limit, remaining, reset, True)
    for limit, path in BODIES:
        hear(limit, _number_at(body, path), "", False)
    if refused and not any(each.pause_ms for each in found.values()):
        pause = _pause_of_message(status, told, body)
    return [*found.values(), *([Said("", None, pause)] if pause else ())]


def _stricter(one: Said | None, other: Said) -> Said:
    if one is None:
        return other
    both = [each for each in (one.remaining, other.remaining) if each is not None]
    return Said(one.limit, min(both, default=None), max(one.pause_ms, other.pause_ms))


def _pause_of_all(told: Mapping[str, str], now: Fraction) -> int:
    for header, unit in PAUSES:
        text = told.get(header, "")
        if unit == "ms":
            if _NUMBER.fullmatch(text):
                return _rounded(Fraction(text) / 1000)
        elif _until(text, now):
            return _until(text, now)
    return 0


def _pause_of_message(status: int, told: Mapping[str, str], body: str) -> int:
    """Of a refusal which says in its body alone why."""
    its = (each for each in MESSAGES if status in each.statuses and each.header in told and each.text in body.lower())
    return next((each.pause_ms for each in its), 0)


def _left(row: Limit, told: Mapping[str, str]) -> int | None:
    if row.used:
        said = _USED.fullmatch(told.get(row.used, ""))
        return max(0, int(said[2]) - int(said[1])) if said else None
    return _units(told.get(row.remaining, ""))


def _units(text: str) -> int | None:
    return int(Fraction(text)) if _NUMBER.fullmatch(text) and Fraction(text) < 2**63 else None


def _number_at(body: str, path: Iterable[str]) -> int | None:
    try:
        found: Any = json.loads(body)
    except (ValueError, RecursionError):
        return None
    for name in path:
        if not isinstance(found, dict):
            return None
        found = cast("dict[str, Any]", found).get(name)
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not abs(found) < 2**53:
        return None
    return max(0, math.floor(found))


def _members(text: str) -> list[tuple[str, int | None, str]]:
    """Of a RateLimit field; of one alone the limit is the requests. As the drafts up to 7 have it the field is one list of
    words."""
    if "remaining=" in text:
        words = dict(_WORD.findall(text))
        return [("requests", _units(words["remaining"]), words.get("reset", ""))]
    found: list[tuple[str, int | None, str]] = []
    while text:
        member = _MEMBER.match(text)
        if not member:
            return []
        words = dict(_WORD.findall(member[3]))
        found.append((member[1] or member[2] or "", _units(words.get("r", "")), words.get("t", "")))
        text = text[member.end() :]
    return [("requests", *found[0][1:])] if len(found) == 1 else found


def _until(text: str, now: Fraction) -> int:
    """How many milliseconds a time of any form lasts: seconds, an epoch in seconds or milliseconds (told by their size: no
    vendor says 30 years), 6m0s, ISO 8601 or a date of HTTP. 0 where there is not one."""
    if _NUMBER.fullmatch(text):
        digits = len(text.partition(".")[0].lstrip("0"))
        number = Fraction(text) / (1000 if digits > 11 else 1)
        return _rounded(number - now if digits > 9 else number)
    span = _SPAN.fullmatch(text) if text else None
    if span:
        return _rounded(sum((Fraction(n) * unit for n, unit in zip(span.groups(), _SPAN_UNITS) if n), Fraction(0)))
    at = _iso(text)
    at = _date(text) if at is None else at
    return 0 if at is None else _rounded(at - now)


def _rounded(seconds: Fraction) -> int:
    return min(max(0, math.ceil(seconds * 1000)), MOST_PAUSE_MS)


def _iso(text: str) -> Fraction | None:
    said = _ISO.fullmatch(text)
    try:
        return (
            Fraction(_seconds(f"{said[1]}:{said[2] or '00'}{said[4].replace('Z', '+00:00')}")) + Fraction(said[3] or 0)
            if said
            else None
        )
    except ValueError:
        return None


def _seconds(text: str) -> int:
    return int(datetime.datetime.fromisoformat(text).timestamp())


def _date(text: str) -> Fraction | None:
    try:
        found = email.utils.parsedate_to_datetime(text) if _DATE.fullmatch(text) else None
    except (TypeError, ValueError):
        return None
    return None if found is None else Fraction(int(found.replace(tzinfo=datetime.timezone.utc).timestamp()))
