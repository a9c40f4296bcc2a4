# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""The client over http.client: one connection per thread of use, opened when it is needed."""
from __future__ import annotations

import http.client
import json
import time
from typing import Any, Dict, Iterator, List, Optional, Sequence, Union
from urllib.parse import urlsplit

from . import _errors
from ._errors import DragomanError
from ._types import Answer, Event

Texts = Union[str, Sequence[str]]
RETRY_SECONDS_MAX = 30


class Dragoman:
    """A server. Nothing is sent before the first call. Not for use by several threads at once: make one for each."""

    def __init__(self, url: str, *, key: str = "", timeout: float = 60, retries: int = 2):
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"read {url!r}, expected an address like http://127.0.0.1:8090")
        self.url = url.rstrip("/")
        self.key = key
        self.timeout = timeout
        self.retries = retries
        self._prefix = parts.path.rstrip("/")
        self._connection: Optional[http.client.HTTPConnection] = None
        self._parts = parts

    def __enter__(self) -> "Dragoman":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection; the next call opens another."""
        if self._connection:
            self._connection.close()
            self._connection = None

    # ---- Calls -----------------------------------------------------------------------------------------------

    def translate(self, text: Texts, **options: Any) -> Answer:
        """Translates one text or several; the options are those of POST /v1/translate."""
        return Answer.read(self._json("POST", "/v1/translate", {"text": text, **options}))

    def stream(self, text: Texts, **options: Any) -> Iterator[Event]:
        """The events token, sentence and at last done, as they come. Leaving the loop ends the request."""
        response = self._request("POST", "/v1/translate", {"text": text, **options, "stream": True})
        done = False
        try:
            for kind, data in _server_sent_events(response):
                if kind == "error":
                    raise _errors.from_object(data.get("error", data), request_id=data.get("request_id"))
                done = done or kind == "done"
                yield {**data, "type": kind}
            if not done:
                raise DragomanError("unreachable", "The server closed the stream before its end.")
        except (OSError, http.client.HTTPException) as failure:
            raise _unreachable(failure) from failure
        finally:
            if not response.isclosed():
                self.close()  # what is left of it would be read as the next answer

    def detect(self, text: Texts) -> List[Dict[str, Any]]:
        """The language of each text."""
        return list(self._json("POST", "/v1/detect", {"text": text})["detections"])

    def score(self, text: Texts, translation: Texts, **options: Any) -> List[Dict[str, Any]]:
        """How likely the model finds each translation of its text."""
        return list(self._json("POST", "/v1/score", {"text": text, "translation": translation, **options})["scores"])

    def languages(self) -> List[Dict[str, Any]]:
        return list(self._json("GET", "/v1/languages")["languages"])

    def models(self) -> List[Dict[str, Any]]:
        return list(self._json("GET", "/v1/models")["models"])

    # ---- Below -----------------------------------------------------------------------------------------------

    def _json(self, method: str, path: str, body: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
        response = self._request(method, path, body)
        try:
            return dict(json.loads(response.read()))
        except (OSError, http.client.HTTPException) as failure:
            self.close()
            raise _unreachable(failure) from failure
        except ValueError as failure:
            raise DragomanError("unreachable", f"What answers at {self.url} is not dragomand: {failure}.") from failure

    def _request(self, method: str, path: str, body: Optional[Dict[str, Any]] = None) -> http.client.HTTPResponse:
        """An answer that is a success, not yet read."""
        for attempt in range(self.retries + 1):
            response = self._send(method, path, body)
            if 200 <= response.status < 300:
                return response
            try:
                error = _errors.from_answer(response.status, response.headers, response.read())
            except (OSError, http.client.HTTPException) as failure:
                self.close()
                raise _unreachable(failure) from failure
            seconds = error.retry_after if error.retry_after is not None else 1.0
            if response.status not in (429, 503) or attempt == self.retries or seconds > RETRY_SECONDS_MAX:
                raise error
            time.sleep(seconds)
        raise AssertionError("unreachable")

    def _send(self, method: str, path: str, body: Optional[Dict[str, Any]]) -> http.client.HTTPResponse:
        """A kept connection may have been closed by the server meanwhile: then a new one is tried, once."""
        headers = {"Accept": "application/json, text/event-stream"}
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        while True:
            was_kept = self._connection is not None
            connection = self._connection or self._connect()
            try:
                connection.request(method, self._prefix + path, body=data, headers=headers)
                return connection.getresponse()
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError) as failure:
                self.close()
                if not was_kept:
                    raise _unreachable(failure) from failure
            except (OSError, http.client.HTTPException) as failure:
                self.close()
                raise _unreachable(failure) from failure

    def _connect(self) -> http.client.HTTPConnection:
        kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(self._parts.hostname or "", self._parts.port, timeout=self.timeout)
        return self._connection


def _unreachable(failure: Exception) -> DragomanError:
    return DragomanError("unreachable", f"The server could not be reached: {failure or type(failure).__name__}.")


def _server_sent_events(response: http.client.HTTPResponse) -> Iterator[Any]:
    """(type, data) of each event; the data are JSON."""
    kind, data = "message", ""
    for line in response:
        text = line.decode().rstrip("\r\n")
        if not text:
            if data:
                yield kind, json.loads(data)
            kind, data = "message", ""
        elif text.startswith("event:"):
            kind = text[6:].strip()
        elif text.startswith("data:"):
            data += text[5:].removeprefix(" ")
