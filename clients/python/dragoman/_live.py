# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""Many translations on one WebSocket (GET /v1/stream), for asyncio, over the package websockets.

    async with Live("http://127.0.0.1:8090") as live:
        strand = await live.translate("Bonjour", target="en")
        async for event in strand:                      # ends behind done
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


class Strand:
    """One translation. Iterating gives its events; the iteration ends behind done or cancelled, and raises on error."""

    def __init__(self, live: "Live", name: str):
        self._live = live
        self._events: "asyncio.Queue[Any]" = asyncio.Queue()
        self.id = name

    async def update(self, text: str) -> None:
        """The same options, a new text."""
        await self._live._send({"type": "update", "id": self.id, "text": text})

    async def cancel(self) -> None:
        await self._live._send({"type": "cancel", "id": self.id})

    async def text(self) -> str:
        """Waits for the end; the whole translation."""
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
    """The connection; use it as `async with`. When it is lost, every open strand raises "unreachable"."""

    def __init__(self, url: str, *, key: str = ""):
        parts = urlsplit(url.rstrip("/"))
        self._url = urlunsplit((parts.scheme.replace("http", "ws"), parts.netloc, parts.path + "/v1/stream", "", ""))
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        # Those that somebody still holds: a connection that stays for days does not keep all that ran on it.
        self._strands: "weakref.WeakValueDictionary[str, Strand]" = weakref.WeakValueDictionary()
        self._last = 0
        self._socket: Any = None
        self._reader: Optional["asyncio.Task[None]"] = None

    async def __aenter__(self) -> "Live":
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
        self._reader = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._socket.close()
        if self._reader:
            await self._reader

    async def translate(self, text: str, **options: Any) -> Strand:
        """Begins a translation; the options are those of POST /v1/translate."""
        self._last += 1
        strand = Strand(self, str(self._last))
        self._strands[strand.id] = strand
        await self._send({**options, "type": "translate", "id": strand.id, "text": text})
        return strand

    async def _send(self, message: Event) -> None:
        try:
            await self._socket.send(json.dumps(message))
        except Exception as failure:  # which class depends on the version of websockets
            raise DragomanError("unreachable", f"The connection was lost: {failure}.") from failure

    async def _read(self) -> None:
        lost = DragomanError("unreachable", "The connection was lost.")
        try:
            async for data in self._socket:
                message = json.loads(data)
                strand = self._strands.get(message.get("id"))
                if strand:
                    strand._events.put_nowait(_errors.from_object(message) if message["type"] == "error" else message)
        except Exception as failure:  # which class depends on the version of websockets
            lost = DragomanError("unreachable", f"The connection was lost: {failure}.")
        for strand in list(self._strands.values()):
            strand._events.put_nowait(lost)
