# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""Many translations on one WebSocket (GET /v1/stream), for asyncio, by means of the package
websockets. If the connection is lost, the client reconnects, and each unfinished translation
resumes after the last event that arrived for it.

    async with Live("http://127.0.0.1:8090") as live:
        strand = await live.translate("Bonjour", target="en")
        async for event in strand:                      # ends after done
            ...
        await strand.update("Bonjour. Où est la gare ?")   # sentences that did not change are kept
        async for event in strand:
            ...
"""
from __future__ import annotations

import asyncio
import json
import weakref
from typing import Any, AsyncIterator, Optional
from urllib.parse import urlsplit, urlunsplit

from . import _errors
from ._errors import DragomanError
from ._types import Event

RECONNECT_SECONDS = (0, 0.25, 0.5, 1)


class Strand:
    """One translation. Iterating yields its events; the iteration ends after done or cancelled, and
    raises the exception of an error."""

    def __init__(self, live: "Live", name: str, text: str, options: Event):
        self._live = live
        self._events: "asyncio.Queue[Any]" = asyncio.Queue()
        self._text = text
        self._options = options
        self._seen = ""  # id of the last event that arrived for this text
        self._is_over = False
        self._is_known = False  # to the server at the other end of the connection
        self._is_begun = False  # the server has accepted the present text
        self._goes_on = False  # the next "accepted" is for resuming it, not for a new start
        self.id = name

    async def update(self, text: str) -> None:
        """Translates a new text with the same options."""
        self._text = text
        self._seen = ""
        self._is_over = self._is_begun = False
        await self._live._send(self, {"type": "update", "id": self.id, "text": text} if self._is_known else self._opening())

    async def cancel(self) -> None:
        await self._live._send(self, {"type": "cancel", "id": self.id})

    def _opening(self) -> Event:
        self._is_known = True
        self._goes_on = self._is_begun
        more = {"last_event_id": self._seen} if self._seen else {}
        return {**self._options, **more, "type": "translate", "id": self.id, "text": self._text}

    def _take(self, message: Event) -> None:
        """Takes a message from the server. An "accepted" after a reconnection is not passed on."""
        kind = message["type"]
        if kind == "accepted" and self._goes_on:
            self._goes_on = False
            return
        self._is_begun = self._is_begun or kind == "accepted"
        self._seen = "" if kind == "accepted" else message.pop("event_id", self._seen)
        self._is_over = kind in ("done", "cancelled", "error")
        self._events.put_nowait(_errors.from_object(message) if kind == "error" else message)

    async def text(self) -> str:
        """Waits for the end and returns the whole translation."""
        async for event in self:
            if event["type"] == "done":
                return str(event["text"])
        raise DragomanError("cancelled", "The translation was cancelled.")

    async def __aiter__(self) -> AsyncIterator[Event]:
        while True:
            event = await self._events.get()
            if isinstance(event, DragomanError):
                raise event
            yield event
            if event["type"] in ("done", "cancelled"):
                return


class Live:
    """The connection; use it with `async with`. If it is lost and the client cannot reconnect,
    every open strand raises "unreachable"."""

    def __init__(self, url: str, *, key: str = ""):
        parts = urlsplit(url.rstrip("/"))
        self._url = urlunsplit((parts.scheme.replace("http", "ws"), parts.netloc, parts.path + "/v1/stream", "", ""))
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        # Only the strands that somebody still holds: a connection that stays open for days must not
        # keep every strand that ever ran on it.
        self._strands: "weakref.WeakValueDictionary[str, Strand]" = weakref.WeakValueDictionary()
        self._last = 0
        self._socket: Any = None
        self._reader: Optional["asyncio.Task[None]"] = None
        self._is_closed = False

    async def __aenter__(self) -> "Live":
        await self._connect()
        self._reader = asyncio.create_task(self._read())
        return self

    async def _connect(self) -> None:
        try:
            import websockets
        except ImportError:
            raise DragomanError("missing_package", "Live needs the package websockets.") from None
        major = int(websockets.__version__.partition(".")[0])
        headers = {"additional_headers" if major >= 14 else "extra_headers": self._headers}
        try:
            self._socket = await websockets.connect(self._url, subprotocols=["dragoman.v1"], max_size=None, **headers)
        except (OSError, websockets.WebSocketException) as failure:
            raise DragomanError("unreachable", f"The server could not be reached: {failure}.") from failure

    async def __aexit__(self, *_: object) -> None:
        self._is_closed = True
        await self._socket.close()
        if self._reader:
            await self._reader

    async def translate(self, text: str, **options: Any) -> Strand:
        """Begins a translation; the options are those of POST /v1/translate."""
        self._last += 1
        strand = Strand(self, str(self._last), text, options)
        self._strands[strand.id] = strand
        await self._send(strand, strand._opening())
        return strand

    async def _send(self, strand: Strand, message: Event) -> None:
        """If the connection has just been lost, the message is dropped: reconnecting sends the
        strand again."""
        try:
            await self._socket.send(json.dumps(message))
        except Exception as failure:  # which class depends on the version of websockets
            if not self._reader or self._reader.done():
                raise DragomanError("unreachable", f"The connection was lost: {failure}.") from failure
            if message["type"] == "cancel":
                strand._take({"type": "cancelled", "id": strand.id})

    async def _read(self) -> None:
        lost = DragomanError("unreachable", "The connection was lost.")
        while not self._is_closed:
            try:
                async for data in self._socket:
                    message = json.loads(data)
                    strand = self._strands.get(message.get("id"))
                    if strand and message.get("code") == "stream_changed":  # start again, as after an update
                        strand._seen = ""
                        strand._is_begun = False
                        await self._send(strand, strand._opening())
                    elif strand:
                        strand._take(message)
            except Exception as failure:  # which class depends on the version of websockets
                lost = DragomanError("unreachable", f"The connection was lost: {failure}.")
            if self._is_closed or not await self._reconnect():
                break
        for strand in list(self._strands.values()):
            strand._events.put_nowait(lost)

    async def _reconnect(self) -> bool:
        for seconds in RECONNECT_SECONDS:
            try:
                await asyncio.sleep(seconds)
                await self._connect()
                for strand in list(self._strands.values()):
                    strand._is_known = False
                    if not strand._is_over:
                        await self._socket.send(json.dumps(strand._opening()))
                return True
            except Exception:  # it was lost again, or no server answers yet
                continue
        return False
