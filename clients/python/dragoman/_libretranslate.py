# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""For programs written for libretranslatepy: the same class and methods, implemented with
dragoman's own API."""
from __future__ import annotations

from typing import Any, Dict, List

from ._client import Dragoman


class LibreTranslateAPI:
    """A program only has to change its import and the address."""

    def __init__(self, url: str = "http://127.0.0.1:8090/", api_key: str = ""):
        self.url = url
        self.api_key = api_key or ""

    def _server(self, timeout: float) -> Dragoman:
        return Dragoman(self.url, key=self.api_key, timeout=timeout)

    def translate(self, q: str, source: str = "en", target: str = "es", timeout: float = 60) -> str:
        options = {} if source == "auto" else {"source": source}
        with self._server(timeout) as server:
            return server.translate(q, target=target, **options).text

    def detect(self, q: str, timeout: float = 60) -> List[Dict[str, Any]]:
        with self._server(timeout) as server:
            found = server.detect(q)[0]["candidates"]
        return [{"language": each["language"], "confidence": round(each["confidence"] * 100)} for each in found]

    def languages(self, timeout: float = 60) -> List[Dict[str, Any]]:
        with self._server(timeout) as server:
            return [{"code": each["code"], "name": each["name"], "targets": each["targets"]}
                    for each in server.languages()]
