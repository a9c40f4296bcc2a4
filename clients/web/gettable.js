// SPDX-License-Identifier: ISC
// Copyright (c) 2026 The dragoman authors

// Pairs of languages that `dragoman get` can fetch for a server that lacks them, directly or by way
// of English. The build generates pairs.js from data/catalogue/catalogue.json.

import { PAIRS } from "./pairs.js";

const pairs = new Set(PAIRS.split(" "));

/** All languages into which some pair translates. */
export const GETTABLE = [...new Set([...pairs].map(pair => pair.match(/^\w+(?:-[A-Z]\w+)?-(.+)$/)[1]))].sort();

/**
 * The argument for `dragoman get`, such as "de-en"; null if it has no model for these languages.
 */
export function pairToGet(source, target) {
    const isThere = source !== target && (pairs.has(`${source}-${target}`)
        || (pairs.has(`${source}-en`) && pairs.has(`en-${target}`)));
    return isThere ? `${source}-${target}` : null;
}
