# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""The classes for the server's answers. `raw` has every member, including those that are not named
here."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional

Event = Dict[str, Any]  # "type" is token, sentence or done; the other members are the server's


@dataclass(frozen=True)
class Translation:
    """The translation of one text."""
    text: str
    source: Optional[str]
    finish: str
    alternatives: List[str] = field(default_factory=list)
    sentences: List[Dict[str, Any]] = field(default_factory=list)
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def read(cls, item: Mapping[str, Any]) -> "Translation":
        return cls(item["text"], item.get("source"), item.get("finish", ""), list(item.get("alternatives", ())),
                   list(item.get("sentences", ())), item)


@dataclass(frozen=True)
class DocumentFile:
    """A translated file, under the name that the server gives it."""
    name: str
    content: bytes = field(repr=False)


@dataclass(frozen=True)
class Answer:
    """The answer of POST /v1/translate; `text` is the translation of the first text."""
    translations: List[Translation]
    model: str
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def text(self) -> str:
        return self.translations[0].text

    @classmethod
    def read(cls, answer: Mapping[str, Any]) -> "Answer":
        return cls([Translation.read(item) for item in answer["translations"]], answer.get("model", ""), answer)
