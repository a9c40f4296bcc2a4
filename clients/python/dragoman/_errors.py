# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""Why a call failed: an error from the server, or a failure to reach it."""
from __future__ import annotations

import json
from typing import Any, Mapping, Optional


class DragomanError(Exception):
    """`code` is "unreachable" or one of the server's stable codes; str() gives a sentence for
    people to read."""

    def __init__(self, code: str, message: str, *, status: int = 0, field: Optional[str] = None,
                 limit: Optional[int] = None, request_id: Optional[str] = None, retry_after: Optional[float] = None):
        super().__init__(message)
        self.code = code
        self.status = status  # the HTTP status; 0: there was no answer
        self.field = field
        self.limit = limit
        self.request_id = request_id
        self.retry_after = retry_after  # seconds


def from_object(error: Mapping[str, Any], **more: Any) -> DragomanError:
    """The exception for the error object of an answer, an event or a message."""
    return DragomanError(str(error.get("code", "error")), str(error.get("message", "The request failed.")),
                         field=error.get("field"), limit=error.get("limit"), **more)


def from_answer(status: int, headers: Mapping[str, str], body: bytes) -> DragomanError:
    """The exception for an HTTP answer that is not a success."""
    after = headers.get("Retry-After") or ""
    more: dict[str, Any] = {"status": status, "retry_after": float(after) if after.isdigit() else None}
    try:
        answer = json.loads(body)
        return from_object(answer["error"], request_id=answer.get("request_id"), **more)
    except (ValueError, KeyError, TypeError, AttributeError):
        return DragomanError("http_error", f"The server answered with status {status}.", **more)
