// SPDX-License-Identifier: ISC
// Copyright (c) 2026 The dragoman authors

// The server counts in bytes of UTF-8, JavaScript in UTF-16 units: this maps the former to the
// latter.

/** The index in `text` for each byte offset, including the one just past the end. */
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

/** The range of bytes {start, length} as a pair of indices into `text`: [start, end]. */
export function rangeOf(index, { start, length }) {
    const last = index.length - 1;
    return [index[Math.min(start, last)], index[Math.min(start + length, last)]];
}
