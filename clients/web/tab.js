// SPDX-License-Identifier: ISC
// Copyright (c) 2026 The dragoman authors

// What a tab keeps when it is reloaded, what a link to a text contains, and how to copy to the
// clipboard.

const DRAFT_PLACE = "dragoman.draft";

/** Keeps {source, target, text} until the tab is closed. */
export function keepDraft(draft) {
    try {
        sessionStorage.setItem(DRAFT_PLACE, JSON.stringify(draft));
    } catch {
        // storage is off or full: after a reload nothing is restored
    }
}

/** What was kept; null if nothing was. */
export function keptDraft() {
    try {
        return JSON.parse(sessionStorage.getItem(DRAFT_PLACE));
    } catch {
        return null;
    }
}

/**
 * A link to this text. The text is in the part after the #, which browsers do not send to the
 * server.
 */
export function linkTo({ source, target, text }) {
    const link = new URL(document.baseURI);
    link.hash = new URLSearchParams({ from: source, to: target, text });
    return link.href;
}

/**
 * What the address asks for; null if nothing. This works once, because it is removed from the
 * address.
 */
export function takeLink() {
    const asked = new URLSearchParams(location.hash.slice(1));
    if (!asked.has("text") && !asked.has("from") && !asked.has("to")) return null;
    history.replaceState(null, "", location.pathname + location.search);
    return { source: asked.get("from"), target: asked.get("to"), text: asked.get("text") ?? "" };
}

/**
 * navigator.clipboard exists only on HTTPS pages and on localhost; elsewhere the old copy command
 * is used.
 */
export async function copyText(text) {
    if (navigator.clipboard) {
        try {
            await navigator.clipboard.writeText(text);
            return true;
        } catch {
            // not allowed: the old command may be
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
