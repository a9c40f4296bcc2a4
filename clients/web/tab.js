// SPDX-License-Identifier: ISC
// Copyright (c) 2026 The dragoman authors

// What a tab keeps over a reload, what a link to a text holds, and the way to the clipboard.

const DRAFT_PLACE = "dragoman.draft";

/** Keeps {source, target, text} until the tab is closed. */
export function keepDraft(draft) {
    try {
        sessionStorage.setItem(DRAFT_PLACE, JSON.stringify(draft));
    } catch {
        // storage is off or full: a reload begins anew
    }
}

/** What was kept; null: nothing. */
export function keptDraft() {
    try {
        return JSON.parse(sessionStorage.getItem(DRAFT_PLACE));
    } catch {
        return null;
    }
}

/** The text is behind the #, which browsers do not send. */
export function linkTo({ source, target, text }) {
    const link = new URL(document.baseURI);
    link.hash = new URLSearchParams({ from: source, to: target, text });
    return link.href;
}

/** What the address asks for, once: it is taken out of the address. null: nothing. */
export function takeLink() {
    const asked = new URLSearchParams(location.hash.slice(1));
    if (!asked.has("text") && !asked.has("from") && !asked.has("to")) return null;
    history.replaceState(null, "", location.pathname + location.search);
    return { source: asked.get("from"), target: asked.get("to"), text: asked.get("text") ?? "" };
}

/** navigator.clipboard is there on HTTPS and this machine only; elsewhere the old command serves. */
export async function copyText(text) {
    if (navigator.clipboard) {
        try {
            await navigator.clipboard.writeText(text);
            return true;
        } catch {
            // not allowed: the old way may be
        }
    }
    const place = document.createElement("textarea");
    const focused = document.activeElement;
    place.value = text;
    place.className = "hidden";
    document.body.append(place);
    place.select();
    const isCopied = document.execCommand("copy");
    place.remove();
    focused?.focus({ preventScroll: true });
    return isCopied;
}
