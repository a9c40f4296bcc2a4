// A program that calls the server with the types that openapi-typescript makes of docs/api/openapi.yaml. It is only type-checked.
import type { components, paths } from "./api";

type Schemas = components["schemas"];
type Body<Path extends keyof paths> =
    paths[Path] extends { post: { requestBody: { content: { "application/json": infer B } } } } ? B : never;
type Answer<Path extends keyof paths> =
    paths[Path] extends { post: { responses: { 200: { content: { "application/json": infer A } } } } } ? A : never;
/** What a request with `stream` gets: events, and else an object. */
type Said<Path extends keyof paths, B> = B extends { stream: true } ? ReadableStream<Uint8Array> : Answer<Path>;

async function post<Path extends keyof paths, B extends Body<Path>>(path: Path, body: B): Promise<Said<Path, B>> {
    const answer = await fetch(`http://127.0.0.1:8080${path}`, { method: "POST", body: JSON.stringify(body) });
    if (!answer.ok) {
        const { error }: Schemas["Error"] = await answer.json();
        if (error.code === "model_unavailable" || error.code === "worker_stalled")
            throw new Error(`${error.message}; try again in ${error.retry_after ?? 1} s`);
        if (error.code === "no_such_glossary" || error.code === "glossaries_not_allowed")
            throw new Error(`${error.field ?? "glossary"}: ${error.message}`);
        throw new Error(error.message);
    }
    const streams = (body as { stream?: boolean }).stream;
    return (streams ? answer.body : await answer.json()) as Said<Path, B>;
}

export async function main(): Promise<string[]> {
    // Members that have a default may be left out.
    const { translations } = await post("/v1/translate", { text: ["Bonjour", "Merci"], source: "fr", target: "en" });
    const texts: string[] = translations.map(one => one.text);
    const events = await post("/v1/translate", { text: "Bonjour", target: "en", stream: true as const });
    const reader: ReadableStreamDefaultReader<Uint8Array> = events.getReader();
    await reader.cancel();
    const { detections } = await post("/v1/detect", { text: "Bonjour", languages: ["fr", "en"] });
    const language: string | null | undefined = detections[0]?.language;
    const { text } = await post("/v1/generate", { prompt: "Once" });
    // @ts-expect-error: there is no such code
    const code: Schemas["Error"]["error"]["code"] = "no_such_code";
    // @ts-expect-error: a translation needs a text
    await post("/v1/translate", { target: "en" });
    return [...texts, language ?? "", text, code];
}
