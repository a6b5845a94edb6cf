"""Calls of language models that stream, by examples/limits/language_models.yaml, from as many processes as you like; needs
asyncio_fleet.py beside it, weir-client and httpx.

A call takes the most that it may cost, and settles what it did cost when the stream has told it. Batch leaves room to
those who sit and wait. While weir is away no call is made: the caller gets weir.Unavailable.
"""
import json

import httpx

from asyncio_fleet import Pacer


class OverBudget(Exception):
    """Of the tenant, until OverBudget(seconds) have passed."""


class Models(Pacer):
    max_wait = 20.0

    def denied(self, limit, seconds):
        if limit == "budget":
            raise OverBudget(seconds)


async def stream(models, client, tenant, model, prompt, most=1000, batch=False):
    """The pieces of the answer as they come. `client` is an httpx.AsyncClient of an API like OpenAI's; `most`: tokens of the
    answer. A stream that breaks, or whose reader goes away, costs what it might have."""
    estimate = len(prompt) // 3 + most
    question = {"costs": {"tokens": estimate, "budget": estimate, "requests": 1}, "class_": "batch" if batch else "interactive"}
    asked = {"model": model, "messages": [{"role": "user", "content": prompt}], "max_tokens": most, "stream": True,
             "stream_options": {"include_usage": True}}
    while True:
        turn, used = await models.moment(tenant=tenant, model=model, **question), estimate
        try:
            async with client.stream("POST", "/v1/chat/completions", json=asked) as answer:
                if answer.status_code != 200:
                    used = 0
                if answer.status_code == 429:
                    await models.pause(int(answer.headers.get("Retry-After", 1)), "requests", tenant=tenant, model=model)
                    continue
                answer.raise_for_status()
                async for line in answer.aiter_lines():
                    if line.startswith("data: {"):
                        told = json.loads(line[6:])
                        if told.get("usage"):
                            used = told["usage"]["total_tokens"]
                        for choice in told["choices"]:
                            yield choice["delta"].get("content") or ""
            return
        except httpx.ConnectError:
            used = 0
            raise
        finally:
            await models.settle(turn, used)
