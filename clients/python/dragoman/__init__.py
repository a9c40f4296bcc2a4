# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""A client of dragomand.

    from dragoman import Dragoman

    server = Dragoman("http://127.0.0.1:8090")
    print(server.translate("Où est la gare ?", target="en").text)
    for event in server.stream("Où est la gare ?", target="en"):
        if event["type"] == "token":
            print(event["text"], end="", flush=True)

AsyncDragoman has the same calls as coroutines. Live, which runs many translations on one WebSocket,
needs the package websockets; everything else needs only the standard library. LibreTranslateAPI
replaces libretranslatepy's class of that name.

The options are the JSON fields of POST /v1/translate. A call that fails raises a DragomanError with
the server's code and message. If the server is busy (429, 503), the client tries again after the
time that it asks for.
"""
from ._async import AsyncDragoman
from ._client import Dragoman
from ._errors import DragomanError
from ._libretranslate import LibreTranslateAPI
from ._live import Live, Strand
from ._types import Answer, DocumentFile, Event, Translation

__all__ = ["Answer", "AsyncDragoman", "DocumentFile", "Dragoman", "DragomanError", "Event", "LibreTranslateAPI", "Live",
           "Strand", "Translation"]
__version__ = "0.1.0"
