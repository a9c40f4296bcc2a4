// SPDX-License-Identifier: ISC
// Libraries with which programs translate, as they are published, against the address given; what they made of the answers
// goes to standard output as JSON.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { ListLanguagesCommand, TranslateClient, TranslateTextCommand } from "@aws-sdk/client-translate";
import { ChatOpenAI } from "@langchain/openai";
import anylang from "anylang/translators/index.js";
import { generateObject, generateText, jsonSchema, streamText } from "ai";
import libretranslate from "libretranslate";
import { Translate } from "translate";

const address = process.argv[2];
const TEXT = "Le chat dort.";
const system = "You are a translator. Translate from French to English.";
const found = {};

const translate = Translate({ engine: "libre", url: `${address}/translate`, key: "none" });
found.translate = await translate(TEXT, { from: "fr", to: "en" });

found.libretranslate = await libretranslate.translate({ query: TEXT, source: "auto", target: "en", apiurl: address });

const chat = new anylang.ChatGPTLLMTranslator({ apiKey: "none", model: "any", baseUrl: `${address}/v1` });
found.anylang = [await chat.translate(TEXT, "fr", "en"), ...await chat.translateBatch([TEXT, TEXT], "fr", "en")];

const model = createOpenAICompatible({ name: "dragoman", baseURL: `${address}/v1`, supportsStructuredOutputs: true })("fr-en");
found.ai = (await generateText({ model, system, prompt: TEXT })).text;
found.aiStream = "";
for await (const part of streamText({ model, system, prompt: TEXT }).textStream)
    found.aiStream += part;
const schema = jsonSchema({ type: "object", properties: { translation: { type: "string" } }, required: ["translation"], additionalProperties: false });
found.aiObject = (await generateObject({ model, system, prompt: TEXT, schema })).object;

const langchain = new ChatOpenAI({ model: "fr-en", apiKey: "none", configuration: { baseURL: `${address}/v1` }, maxRetries: 0 });
found.langchain = (await langchain.invoke([["system", system], ["human", TEXT]])).content;
found.langchainStream = "";
for await (const chunk of await langchain.stream([["system", system], ["human", TEXT]]))
    found.langchainStream += chunk.content;

const amazon = new TranslateClient({ endpoint: address, region: "eu-west-1", credentials: { accessKeyId: "none", secretAccessKey: "none" } });
const asked = { Text: TEXT, SourceLanguageCode: "auto", TargetLanguageCode: "en" };
const answer = await amazon.send(new TranslateTextCommand(asked));
found.amazon = [answer.TranslatedText, answer.SourceLanguageCode, answer.TargetLanguageCode];
found.amazonLanguages = (await amazon.send(new ListLanguagesCommand({}))).Languages.map((one) => one.LanguageCode);
try {
    await amazon.send(new TranslateTextCommand({ ...asked, TargetLanguageCode: "xx" }));
} catch (error) {
    found.amazonRefused = error.name;
}

console.log(JSON.stringify(found));
