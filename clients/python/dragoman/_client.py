# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""The client, based on http.client: each Dragoman has one connection, opened when it is needed."""
from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import time
import uuid
from typing import Any, BinaryIO, Callable, Dict, Iterator, List, Optional, Sequence, Tuple, Union
from urllib.parse import unquote, urlsplit

from . import _errors
from ._errors import DragomanError
from ._types import Answer, DocumentFile, Event

Texts = Union[str, Sequence[str]]
File = Union[str, "os.PathLike[str]", bytes, BinaryIO]  # a path, the bytes of a file, or an open file
Body = Union[Dict[str, Any], Tuple[bytes, str], None]  # JSON, or bytes and their type
RETRY_SECONDS_MAX = 30


class Dragoman:
    """A server. The constructor sends nothing; only the calls do. Several threads must not use one
    object at once: make one for each thread."""

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
        """Yields the events token, sentence and finally done, as they arrive. Leaving the loop ends
        the request.

        If a stream breaks off, the client resumes it at whichever server answers then. For a single
        plain text it asks for the rest: the text after the last complete sentence, with the words
        that have arrived of the next one as its prefix. It asks for any other stream again with the
        id of the last event that arrived (last_event_id)."""
        is_plain = isinstance(text, str) and options.get("format", "text") == "text"
        progress = _Progress(text, options) if is_plain else _Seen(text, options)
        failures = 0
        while True:
            before = progress.shown
            try:
                for event in self._stream(progress.rest(), progress.options()):
                    adjusted = progress.take(event)
                    if adjusted:
                        yield adjusted
                return
            except DragomanError as error:
                failures = 0 if progress.shown != before else failures + 1
                has_begun = progress.shown or error.status == 200
                if error.code not in _GOES_ON or not has_begun or failures > self.retries:
                    raise
                if failures:
                    time.sleep(min(failures / 2, RETRY_SECONDS_MAX))

    def _stream(self, text: Texts, options: Dict[str, Any]) -> Iterator[Event]:
        response = self._request("POST", "/v1/translate", {"text": text, **options, "stream": True})
        done = False
        try:
            for kind, event_id, data in _server_sent_events(response):
                if kind == "error":
                    raise _errors.from_object(data.get("error", data), request_id=data.get("request_id"),
                                              status=response.status)
                done = done or kind == "done"
                yield {**data, "type": kind, "event_id": event_id}
            if not done:
                raise DragomanError("unreachable", "The server closed the stream before its end.", status=response.status)
        except (OSError, http.client.HTTPException) as failure:
            raise _unreachable(failure, response.status) from failure
        finally:
            if not response.isclosed():
                self.close()  # or the unread part would be taken for the next answer

    def detect(self, text: Texts) -> List[Dict[str, Any]]:
        """Detects the language of each text."""
        return list(self._json("POST", "/v1/detect", {"text": text})["detections"])

    def score(self, text: Texts, translation: Texts, **options: Any) -> List[Dict[str, Any]]:
        """Asks how probable the model finds each text's translation."""
        return list(self._json("POST", "/v1/score", {"text": text, "translation": translation, **options})["scores"])

    def languages(self) -> List[Dict[str, Any]]:
        return list(self._json("GET", "/v1/languages")["languages"])

    def models(self) -> List[Dict[str, Any]]:
        return list(self._json("GET", "/v1/models")["models"])

    # ---- Documents -------------------------------------------------------------------------------------------

    def translate_document(self, file: File, *, name: str = "", on_progress: Optional[Callable[[Dict[str, Any]], Any]] = None,
                           **options: Any) -> DocumentFile:
        """Translates a file and waits for the result. The extension of its name says what kind of
        file it is; if `file` is a path, the name may be left out. The options are those of POST
        /v1/documents. on_progress is called with the document's state ("progress", "seconds_left",
        ...) from time to time; if it raises an exception, the translation is cancelled."""
        state = self.add_document(file, name=name, **options)
        try:
            pause = 0.1
            while state["state"] in ("waiting", "running"):
                if on_progress:
                    on_progress(state)
                time.sleep(pause)
                pause = min(1.5 * pause, 2)
                state = self.document(state["id"])
            if state["state"] != "done":
                raise DragomanError(state["state"], state.get("error") or f"The document is {state['state']}.")
            if on_progress:
                on_progress(state)
            return self.document_result(state["id"])
        finally:
            with contextlib.suppress(DragomanError):  # an earlier error matters more than this one
                self.remove_document(state["id"])

    def add_document(self, file: File, *, name: str = "", **options: Any) -> Dict[str, Any]:
        """Uploads a file, to be translated when the server has time for it; returns the document's
        state."""
        if isinstance(file, (str, os.PathLike)):
            name = name or os.path.basename(file)
            with open(file, "rb") as opened:
                content = opened.read()
        else:
            content = file if isinstance(file, bytes) else file.read()
            name = name or os.path.basename(str(getattr(file, "name", "")))
        return self._json("POST", "/v1/documents", _form({**options, "filename": name}, content))

    def documents(self) -> List[Dict[str, Any]]:
        return list(self._json("GET", "/v1/documents")["documents"])

    def document(self, id: str) -> Dict[str, Any]:
        """The document's state: how far its translation has come."""
        return self._json("GET", f"/v1/documents/{id}")

    def document_result(self, id: str) -> DocumentFile:
        response = self._request("GET", f"/v1/documents/{id}/result")
        try:
            return DocumentFile(_file_name(response.headers), response.read())
        except (OSError, http.client.HTTPException) as failure:
            self.close()
            raise _unreachable(failure) from failure

    def remove_document(self, id: str) -> None:
        """Removes the document from the server; if it is being translated, the translation is
        cancelled."""
        self._request("DELETE", f"/v1/documents/{id}").read()

    # ---- Internals -------------------------------------------------------------------------------------------

    def _json(self, method: str, path: str, body: Body = None) -> Dict[str, Any]:
        response = self._request(method, path, body)
        try:
            return dict(json.loads(response.read()))
        except (OSError, http.client.HTTPException) as failure:
            self.close()
            raise _unreachable(failure) from failure
        except ValueError as failure:
            raise DragomanError("unreachable", f"What answers at {self.url} is not dragomand: {failure}.") from failure

    def _request(self, method: str, path: str, body: Body = None) -> http.client.HTTPResponse:
        """Returns a successful answer whose body has not been read yet."""
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

    def _send(self, method: str, path: str, body: Body) -> http.client.HTTPResponse:
        """The server may have closed a kept connection in the meantime: then a new one is tried,
        once."""
        headers = {"Accept": "application/json, text/event-stream"}
        data = None
        if isinstance(body, tuple):
            data, headers["Content-Type"] = body
        elif body is not None:
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


# Errors after which a stream that has begun may be resumed, because the request was not at fault.
_GOES_ON = ("unreachable", "draining", "cancelled", "overloaded", "unavailable", "worker_stalled")


class _Progress:
    """How far the translation of a text has come: all that was shown, and where its complete
    sentences end."""

    def __init__(self, text: str, options: Dict[str, Any]):
        self._text = text.encode()
        self._options = options
        self._done = 0  # bytes of the text whose sentences are complete
        self._from = 0  # byte where the text of the current request begins
        self._open = ""  # what was shown after the complete sentences
        self._expected = ""  # what was shown before and will arrive once more
        self._by_words = True
        self.shown = ""

    def rest(self) -> str:
        self._from = self._done
        self._expected = self._open
        return self._text[self._done:].decode()

    def options(self) -> Dict[str, Any]:
        """The first request has the caller's own prefix. The last word that was shown may be cut
        off in the middle, and a model rarely continues such a fragment. So the prefix ends before
        that word, and the server produces it again; only if it then produces a different word is
        the shown one forced, too."""
        own = self._options.get("prefix", "")
        prefix = self._open.lstrip()
        if self._by_words:
            prefix = prefix.rpartition(" ")[0]
        if self._done == 0 and own.startswith(prefix):
            return self._options
        options = {name: value for name, value in self._options.items() if name != "prefix"}
        return {**options, "prefix": prefix} if prefix else options

    def take(self, event: Event) -> Optional[Event]:
        """The event as an uninterrupted stream would have it; None if it brings nothing new."""
        event = {name: value for name, value in event.items() if name != "event_id"}
        kind = event["type"]
        if kind == "token":
            return self._take_token(event)
        if kind == "sentence" and "start" in event:
            self._done = self._from + event["start"] + event["length"]
            self._open = ""
            self._by_words = True
            return {**event, "start": self._from + event["start"]}
        if kind == "done" and self._from:
            first, *more = event["translations"]
            return {**event, "translations": [{**first, "text": self.shown}, *more]}
        return event

    def _take_token(self, event: Event) -> Optional[Event]:
        text = event["text"]
        again = min(len(text), len(self._expected))
        if text[:again] != self._expected[:again]:
            code = "unreachable" if self._by_words else "broken"
            self._by_words = False
            raise DragomanError(code, "The stream broke off, and what another server says does not go on with it.")
        self._expected = self._expected[again:]
        self._open += text[again:]
        self.shown += text[again:]
        return {**event, "text": text[again:]} if again < len(text) else None


def _form(fields: Dict[str, Any], content: bytes) -> Tuple[bytes, str]:
    """A form that holds a file, and its content type. Values that are not strings are written as
    JSON."""
    border = uuid.uuid4().hex
    parts = []
    for name, value in fields.items():
        if value is not None:
            text = value if isinstance(value, str) else json.dumps(value)
            parts.append(f'--{border}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n'.encode())
    parts.append(f'--{border}\r\nContent-Disposition: form-data; name="file"; filename="file"\r\n\r\n'.encode())
    return b"".join([*parts, content, f"\r\n--{border}--\r\n".encode()]), f"multipart/form-data; boundary={border}"


def _file_name(headers: http.client.HTTPMessage) -> str:
    """The name of an attachment. Its form with a charset goes before the plain one, which get_filename prefers."""
    encoded = re.search(r"filename\*=UTF-8''([^;\s]*)", headers.get("Content-Disposition", ""), re.IGNORECASE)
    return unquote(encoded[1]) if encoded else headers.get_filename() or ""


class _Seen:
    """The id of the last event that arrived of a stream: the server knows which events follow it.
    The interface is that of _Progress."""

    def __init__(self, text: Texts, options: Dict[str, Any]):
        self._text = text
        self._options = options
        self.shown = ""

    def rest(self) -> Texts:
        return self._text

    def options(self) -> Dict[str, Any]:
        return {**self._options, "last_event_id": self.shown} if self.shown else self._options

    def take(self, event: Event) -> Event:
        self.shown = event.pop("event_id") or self.shown
        return event


def _unreachable(failure: Exception, status: int = 0) -> DragomanError:
    return DragomanError("unreachable", f"The server could not be reached: {failure or type(failure).__name__}.", status=status)


def _server_sent_events(response: http.client.HTTPResponse) -> Iterator[Any]:
    """(type, id, data) of each event; the data are JSON."""
    kind, name, data = "message", "", ""
    for line in response:
        text = line.decode().rstrip("\r\n")
        if not text:
            if data:
                yield kind, name, json.loads(data)
            kind, data = "message", ""
        elif text.startswith("event:"):
            kind = text[6:].strip()
        elif text.startswith("id:"):
            name = text[3:].strip()
        elif text.startswith("data:"):
            data += text[5:].removeprefix(" ")
