// SPDX-License-Identifier: ISC
// Copyright (c) 2026 The dragoman authors

// The server counts bytes of UTF-8, JavaScript counts UTF-16 units: this maps the first to the second.

/** The index in `text` of each byte offset; the one past the end too. */
export function indexOfBytes(text) {
    const index = new Uint32Array(text.length * 3 + 1);
    let byte = 0;
    for (let i = 0; i < text.length; ) {
        const code = text.codePointAt(i);
        const units = code > 0xffff ? 2 : 1;
        const bytes = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
        index.fill(i, byte, byte + bytes);
        byte += bytes;
        i += units;
    }
    index[byte] = text.length;
    return index.subarray(0, byte + 1);
}

/** The part of `text` that the range of bytes {start, length} stands for, as indices. */
export function rangeOf(index, { start, length }) {
    const last = index.length - 1;
    return [index[Math.min(start, last)], index[Math.min(start + length, last)]];
}
