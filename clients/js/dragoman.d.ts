// SPDX-License-Identifier: ISC
// Copyright (c) 2026 The dragoman authors

/** Options of a translation; docs/api/openapi.yaml explains each. */
export interface TranslateOptions {
    target?: string;
    source?: string;
    model?: string;
    beam?: number;
    alternatives?: number;
    length_penalty?: number;
    sample?: boolean;
    temperature?: number;
    top_k?: number;
    top_p?: number;
    seed?: number;
    max_length?: number;
    format?: string;
    lines?: "sentences" | "whole" | "join";
    priority?: "interactive" | "normal" | "bulk";
    cache?: boolean;
    timeout_ms?: number;
    scores?: boolean;
    tokens?: boolean;
    alignment?: boolean;
    [option: string]: unknown;
}

export interface Abortable {
    signal?: AbortSignal;
}

/** Offsets are bytes of the UTF-8 source. */
export interface Sentence {
    start: number;
    length: number;
    text?: string;
    finish?: string;
    logprob?: number;
    score?: number;
    tokens?: { id: number; logprob?: number; text?: string }[];
    alignment?: [number, number][];
}

export interface Translation {
    text: string;
    source: string | null;
    finish: string;
    alternatives?: string[];
    sentences?: Sentence[];
    [member: string]: unknown;
}

export interface Answer {
    translations: Translation[];
    model: string;
    usage: { characters: number; sentences: number; input_tokens: number; output_tokens: number };
    timing: { queue_ms: number; first_token_ms: number; total_ms: number };
}

export type StreamEvent =
    | { type: "token"; index: number; text: string }
    | ({ type: "sentence"; index: number } & Sentence)
    | ({ type: "done" } & Answer);

export type LiveEvent =
    | { type: "accepted" | "cancelled"; id: string }
    | { type: "token"; id: string; text: string }
    | ({ type: "sentence"; id: string } & Sentence)
    | ({ type: "done"; id: string } & Translation & Omit<Answer, "translations">)
    | { type: "error"; error: DragomanError };

export class DragomanError extends Error {
    code: string;
    status: number;
    field: string | null;
    limit: number | null;
    requestId: string | null;
    retryAfter: number | null;
}

export interface Strand {
    readonly id: string;
    readonly text: string;
    update(text: string): void;
    cancel(): void;
}

export class Live {
    onstate: (state: "open" | "lost" | "closed") => void;
    translate(text: string, options: TranslateOptions, onEvent: (event: LiveEvent, strand: Strand) => void): Strand;
    close(): void;
}

/** How far the translation of a document has come. */
export interface DocumentState {
    id: string;
    name: string;
    state: "waiting" | "running" | "done" | "cancelled" | "failed";
    source: string | null;
    target: string | null;
    paragraphs: number;
    done: number;
    failed: number;
    progress: number;
    seconds_left: number | null;
    error?: string;
    [member: string]: unknown;
}

/** Fields of POST /v1/documents other than the file. */
export interface DocumentOptions extends TranslateOptions {
    name?: string;
    columns?: string;
    output_format?: "docx" | "odt" | "html" | "txt";
}

export class Dragoman {
    constructor(
        url: string | URL,
        options?: { key?: string; retries?: number; fetch?: typeof fetch; WebSocket?: typeof WebSocket },
    );
    translate(text: string | string[], options?: TranslateOptions & Abortable): Promise<Answer>;
    stream(text: string | string[], options?: TranslateOptions & Abortable): AsyncGenerator<StreamEvent>;
    live(): Live;
    detect(text: string | string[], options?: Abortable): Promise<{
        detections: { language: string | null; confidence: number; candidates: { language: string; confidence: number }[] }[];
    }>;
    score(text: string | string[], translation: string | string[], options?: Record<string, unknown> & Abortable): Promise<unknown>;
    languages(options?: Abortable): Promise<{ code: string; name: string; targets: string[] }[]>;
    about(options?: Abortable): Promise<{ languages: { code: string; name: string; targets: string[] }[]; formality: string[]; limits: { characters?: number; body_bytes: number } }>;
    glossaries(options?: Abortable): Promise<{ id: string; name: string; source: string; target: string; count: number; shared: boolean; own: boolean }[]>;
    limits(options?: Abortable): Promise<{ characters?: number; body_bytes: number }>;
    translateDocument(
        file: Blob,
        options?: DocumentOptions & Abortable & { onprogress?: (state: DocumentState) => void },
    ): Promise<{ name: string; blob: Blob }>;
    addDocument(file: Blob, options?: DocumentOptions & Abortable): Promise<DocumentState>;
    documents(options?: Abortable): Promise<DocumentState[]>;
    document(id: string, options?: Abortable): Promise<DocumentState>;
    documentResult(id: string, options?: Abortable): Promise<{ name: string; blob: Blob }>;
    removeDocument(id: string, options?: Abortable): Promise<void>;
    models(options?: Abortable): Promise<{ name: string; source: string; target: string; [member: string]: unknown }[]>;
}
