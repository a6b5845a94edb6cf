#!/usr/bin/env python3
"""Posts weir's events to a webhook of Slack's form, one message a line:

    weir serve --events /var/log/weir/events.jsonl ...
    tail -n 0 -F /var/log/weir/events.jsonl | SLACK_URL=https://hooks.slack.com/services/... python3 slack.py

What cannot be posted is said on standard error and not tried again. Only events named in EVENTS are posted
(banned,ban_ended,store_failed,store_back,file_refused,override,dropped): denied and near may be many.
"""
import json
import os
import sys
import urllib.request

WANTED = os.environ.get("EVENTS", "banned,ban_ended,store_failed,store_back,file_refused,override,dropped").split(",")


def message_of(event):
    """One line for people. What is of a client's making is escaped as Slack asks, so that it mentions nobody."""
    text = f"weir on {event['server']}: {event['event'].replace('_', ' ')}"
    for name in ("limit", "key", "window", "count", "until", "reason"):
        if name in event:
            text += f", {name} {event[name]}"
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def main():
    for line in sys.stdin:
        try:
            event = json.loads(line)
            if event["event"] not in WANTED:
                continue
            body = json.dumps({"text": message_of(event)}).encode()
            urllib.request.urlopen(urllib.request.Request(os.environ["SLACK_URL"], body,
                                                          {"Content-Type": "application/json"}), timeout=10).close()
        except (ValueError, KeyError, OSError) as error:
            # The URL is a secret: it is not shown.
            print(f"slack.py: {type(error).__name__}: {getattr(error, 'reason', error)}", file=sys.stderr)


if __name__ == "__main__":
    main()
