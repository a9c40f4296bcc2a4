# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""The same client for asyncio: each call runs the synchronous one on a thread, with its own
connection."""
from __future__ import annotations

import asyncio
from typing import Any, AsyncIterator, Callable, Dict, List, TypeVar

from ._client import Dragoman, File, Texts
from ._types import Answer, DocumentFile, Event

T = TypeVar("T")


class AsyncDragoman:
    """Like Dragoman, but with coroutines; any number of calls may run at once."""

    def __init__(self, url: str, **options: Any):
        self._make: Callable[[], Dragoman] = lambda: Dragoman(url, **options)
        self._make()  # raises ValueError for a wrong address at once

    async def translate(self, text: Texts, **options: Any) -> Answer:
        return await self._call(lambda server: server.translate(text, **options))

    async def detect(self, text: Texts) -> List[Dict[str, Any]]:
        return await self._call(lambda server: server.detect(text))

    async def score(self, text: Texts, translation: Texts, **options: Any) -> List[Dict[str, Any]]:
        return await self._call(lambda server: server.score(text, translation, **options))

    async def languages(self) -> List[Dict[str, Any]]:
        return await self._call(lambda server: server.languages())

    async def models(self) -> List[Dict[str, Any]]:
        return await self._call(lambda server: server.models())

    async def translate_document(self, file: File, **options: Any) -> DocumentFile:
        """Like Dragoman.translate_document; on_progress is called on a thread."""
        return await self._call(lambda server: server.translate_document(file, **options))

    async def stream(self, text: Texts, **options: Any) -> AsyncIterator[Event]:
        """Yields the events as they arrive. Leaving the loop ends the request."""
        with self._make() as server:
            events = server.stream(text, **options)
            try:
                while (event := await asyncio.to_thread(next, events, None)) is not None:
                    yield event
            finally:
                await asyncio.to_thread(events.close)  # type: ignore[attr-defined]

    async def _call(self, work: Callable[[Dragoman], T]) -> T:
        def run() -> T:
            with self._make() as server:
                return work(server)
        return await asyncio.to_thread(run)
