// SPDX-License-Identifier: ISC
// Copyright (c) 2026 The dragoman authors

// Pairs of languages that this server lacks and that `dragoman get` fetches, directly or by way of English.
// pairs.js is made of data/catalogue/catalogue.json when the program is built.

import { PAIRS } from "./pairs.js";

const pairs = new Set(PAIRS.split(" "));

/** All languages that something can be translated into. */
export const GETTABLE = [...new Set([...pairs].map(pair => pair.match(/^\w+(?:-[A-Z]\w+)?-(.+)$/)[1]))].sort();

/** What `dragoman get` is to be given: "de-en"; null where it has nothing of that kind. */
export function pairToGet(source, target) {
    const isThere = source !== target && (pairs.has(`${source}-${target}`)
        || (pairs.has(`${source}-en`) && pairs.has(`en-${target}`)));
    return isThere ? `${source}-${target}` : null;
}
