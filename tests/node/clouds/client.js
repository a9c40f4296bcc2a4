// SPDX-License-Identifier: ISC
// The libraries of OpenAI, Ollama, Google and Azure, against the address given; what they made of the answers goes to standard
// output as JSON.
import azureClient, { isUnexpected } from "@azure-rest/ai-translation-text";
import OpenAI from "openai";
import { Ollama } from "ollama";

const address = process.argv[2];
process.env.GOOGLE_CLOUD_TRANSLATE_ENDPOINT = `${address}/language/translate/v2`;
const { v2 } = await import("@google-cloud/translate");

const TEXT = "Le chat dort.";
const found = {};

const openai = new OpenAI({ baseURL: `${address}/v1`, apiKey: "none", maxRetries: 0 });
const messages = [{ role: "system", content: "You are a helpful assistant that translates French to English." },
                  { role: "user", content: TEXT }];
found.openaiModels = [];
for await (const model of openai.models.list())
    found.openaiModels.push(model.id);
found.openaiModel = (await openai.models.retrieve("fr-en")).object;
found.openai = (await openai.chat.completions.create({ model: "any", messages })).choices[0].message.content;
found.openaiStream = "";
const stream = await openai.chat.completions.create({ model: "any", messages, stream: true, stream_options: { include_usage: true } });
for await (const chunk of stream) {
    found.openaiStream += chunk.choices[0]?.delta?.content ?? "";
    found.openaiUsage = chunk.usage?.total_tokens ?? 0;
}
try {
    await openai.chat.completions.create({ model: "any", messages: [{ role: "user", content: "What is the capital of France?" }] });
} catch (error) {
    found.openaiRefused = { status: error.status, message: error.message };
}

const ollama = new Ollama({ host: address });
found.ollamaModels = (await ollama.list()).models.map((model) => model.name);
found.ollama = (await ollama.chat({ model: "fr-en", messages })).message.content;
found.ollamaStream = "";
for await (const part of await ollama.generate({ model: "fr-en", prompt: TEXT, stream: true }))
    found.ollamaStream += part.response;
try {
    await ollama.generate({ model: "any", prompt: TEXT });
} catch (error) {
    found.ollamaRefused = error.message;
}

const google = new v2.Translate({ key: "none" });
found.google = (await google.translate(TEXT, { from: "fr", to: "en", format: "text" }))[0];
found.googleMany = (await google.translate([TEXT, "Bonjour."], "en"))[0];
found.googleDetect = (await google.detect(TEXT))[0].language;
found.googleDetectMany = (await google.detect([TEXT, "The dog eats its food in the garden."]))[0].map((one) => one.language);
found.googleLanguages = (await google.getLanguages())[0];
found.googleLanguagesInFrench = (await google.getLanguages("fr"))[0];

const azure = azureClient(address, { key: "none", region: "westeurope" }, { allowInsecureConnection: true });
const body = [{ text: TEXT }];
const queryParameters = { to: "en,fr", from: "fr", includeAlignment: true, includeSentenceLength: true };
const translated = await azure.path("/translate").post({ body, queryParameters });
found.azure = isUnexpected(translated) ? translated.body.error : translated.body[0].translations;
found.azureDetect = (await azure.path("/detect").post({ body })).body[0].language;
found.azureSentences = (await azure.path("/breaksentence").post({ body })).body[0].sentLen;
found.azureLanguages = Object.keys((await azure.path("/languages").get()).body.translation);
const refused = await azure.path("/translate").post({ body, queryParameters: { to: "xx" } });
found.azureRefused = isUnexpected(refused) ? refused.body.error.code : 0;

console.log(JSON.stringify(found));
