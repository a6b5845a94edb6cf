"""LiteLLM's proxy under what its models and tenants may use, by examples/limits/language_models.yaml: a call waits for its
turn and takes the most that it may cost, and settles what it did cost; one that fails costs nothing. In its config.yaml

    litellm_settings:
      callbacks: litellm_callback.weir_limits

`pip install weir-client[litellm]`. WEIR_URL says where weir is, WEIR_PASSWORD is its password. While weir is away calls are
made without it; on_error="deny" of connect() would refuse them.
"""
import math

import weir
import weir.aio
from fastapi import HTTPException
from litellm.integrations.custom_logger import CustomLogger

MAX_WAIT = 20.0  # seconds; below the time for which those who call the proxy wait
MOST = 1000  # tokens of an answer, of a call that does not say max_tokens
ID = "weir_reservation"


class Limits(CustomLogger):
    def __init__(self, client=None):
        super().__init__()
        self.weir = client or weir.aio.connect()

    async def async_pre_call_hook(self, user_api_key_dict, cache, data, call_type):
        estimate = len(str(data.get("messages") or data.get("input"))) // 3 + (data.get("max_tokens") or MOST)
        tenant = user_api_key_dict.team_id or user_api_key_dict.user_id or user_api_key_dict.api_key
        try:
            turn = await self.weir.acquire(max_wait=MAX_WAIT, costs={"tokens": estimate, "budget": estimate, "requests": 1},
                                           class_="interactive", attributes={"tenant": tenant, "model": data["model"]})
        except weir.Denied as denied:
            wait = denied.decision.retry_after
            headers = {"Retry-After": str(math.ceil(wait))} if wait else None
            raise HTTPException(429, f"the limit {denied.decision.by!r} has no room", headers) from denied
        except weir.Error as error:  # a wrong password, a limits file without these limits
            raise HTTPException(503, f"weir cannot be asked like this: {error}") from error
        data.setdefault("metadata", {})[ID] = turn.id
        return data

    async def async_log_success_event(self, kwargs, response_obj, start_time, end_time):
        """The answer, of a stream its end, says what it cost."""
        id = (kwargs.get("litellm_params", {}).get("metadata") or {}).get(ID)
        usage = response_obj.get("usage") if response_obj else None
        if id:
            await self.weir.settle(id, usage["total_tokens"] if usage else None)

    async def async_post_call_failure_hook(self, request_data, original_exception, user_api_key_dict, traceback_str=None):
        """No model has answered, whatever was tried."""
        id = (request_data.get("metadata") or {}).get(ID)
        if id and not await self.weir.cancel(id):
            await self.weir.settle(id, 0)


weir_limits = Limits()
