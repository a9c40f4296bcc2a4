// SPDX-License-Identifier: ISC
// Asks everything that DeepL's library for Node asks of a server, and prints what it understood as JSON.
//     node client.js URL
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import * as deepl from 'deepl-node';

const client = new deepl.DeepLClient('any:fx', { serverUrl: process.argv[2], maxRetries: 1, minTimeout: 20000 });
const error = async (call) => {
    try {
        await call();
        return null;
    } catch (thrown) {
        return { name: thrown.constructor.name, message: thrown.message };
    }
};

const text = 'Le chat dort.';
const found = {};
found.one = await client.translateText(text, null, 'en-US');
found.many = await client.translateText([text, 'Bonjour.'], 'fr', 'en-GB', { modelType: 'latency_optimized' });
found.html = await client.translateText('<p>Le <b>chien</b> mange.</p>', 'fr', 'en-US', { tagHandling: 'html' });
found.xml = await client.translateText('Le <x id="7"></x> chat dort.', 'fr', 'en-US', {
    tagHandling: 'xml', ignoreTags: ['x'], splitSentences: 'nonewlines', preserveFormatting: true,
});
found.sources = await client.getSourceLanguages();
found.targets = await client.getTargetLanguages();
found.usage = (await client.getUsage()).character;
found.formality = await error(() => client.translateText(text, 'fr', 'en-US', { formality: 'more' }));
found.language = await error(() => client.translateText(text, null, 'ja'));
const folder = mkdtempSync(join(tmpdir(), 'deepl-'));
const letter = join(folder, 'letter.txt'), translated = join(folder, 'translated.txt');
writeFileSync(letter, `${text}\n`);
const handle = await client.uploadDocument(letter, 'fr', 'en-US');
for (found.status = await client.getDocumentStatus(handle); !found.status.done(); found.status = await client.getDocumentStatus(handle))
    await new Promise((resolve) => setTimeout(resolve, 100));
await client.downloadDocument(handle, translated);
found.document = readFileSync(translated, 'utf-8');
rmSync(folder, { recursive: true });
found.pairs = await client.getGlossaryLanguagePairs();
const glossary = await client.createGlossary('pets', 'fr', 'en', new deepl.GlossaryEntries({ entries: { chat: 'hound', noir: 'dark' } }));
found.glossary = { name: glossary.name, ready: glossary.ready, count: glossary.entryCount, source: glossary.sourceLang,
    made: glossary.creationTime instanceof Date && !Number.isNaN(glossary.creationTime.getTime()) };
found.term = (await client.translateText(text, 'fr', 'en-US', { glossary })).text;
found.entries = (await client.getGlossaryEntries(glossary)).entries();
found.listed = (await client.listGlossaries()).map((one) => one.glossaryId).includes(glossary.glossaryId);
found.again = (await client.getGlossary(glossary.glossaryId)).name;
found.refused = await error(() => client.createGlossary('', 'fr', 'en', new deepl.GlossaryEntries({ entries: { a: 'b' } })));
await client.deleteGlossary(glossary);
found.deleted = await error(() => client.getGlossary(glossary.glossaryId));
found.batch = (await client.translateText(['12345', text, '\u{1f600}'], null, 'en-US')).map((one) => one.detectedSourceLang);

// Glossaries of version 3.
const entries = (of) => new deepl.GlossaryEntries({ entries: of });
const dictionary = (of) => ({ sourceLangCode: 'fr', targetLangCode: 'en', entries: entries(of) });
const plain = (one) => ({ name: one.name, dictionaries: one.dictionaries, made: one.creationTime.getTime() > 0 });
const odd = { Apple: 'Apfel', 'A%=&': 'B&=%', '\u0394\u3041': '\u6df1', '\u{1faa8}': '\u{1fab5}' };
const many = await client.createMultilingualGlossary('several', [dictionary(odd)]);
const stored = async () => (await client.getMultilingualGlossaryDictionaryEntries(many, 'fr', 'en')).entries.entries();
found.v3 = { made: plain(many), odd: JSON.stringify(await stored()) === JSON.stringify(odd) };
found.v3.same = plain(await client.getMultilingualGlossary(many.glossaryId));
found.v3.listed = (await client.listMultilingualGlossaries()).some((one) => one.glossaryId === many.glossaryId);
found.v3.updated = plain(await client.updateMultilingualGlossaryDictionary(many, dictionary({ Apple: 'Pomme', chat: 'hound' })));
found.v3.csv = plain(await client.updateMultilingualGlossaryDictionaryWithCsv(many, 'fr', 'en', '"a, b",c\nchat,lion'));
found.v3.after = await stored();
found.v3.renamed = (await client.updateMultilingualGlossaryName(many, 'other')).name;
found.v3.replaced = await client.replaceMultilingualGlossaryDictionary(many, dictionary({ chat: 'hound' }));
found.v3.term = (await client.translateText(text, 'fr', 'en-GB', { glossary: many.glossaryId })).text;
found.v3.replacedByCsv = await client.replaceMultilingualGlossaryDictionaryWithCsv(many, 'fr', 'en', 'a,b\nc,d');
await client.deleteMultilingualGlossaryDictionary(many, 'fr', 'en');
found.v3.dropped = plain(await client.getMultilingualGlossary(many.glossaryId));
found.v3.none = await error(() => client.getMultilingualGlossaryDictionaryEntries(many, 'fr', 'en'));
found.v3.unfit = await error(() => client.translateText(text, 'fr', 'en-GB', { glossary: many.glossaryId }));
await client.deleteMultilingualGlossary(many);
found.v3.deleted = await error(() => client.getMultilingualGlossary(many.glossaryId));
found.v3.fromCsv = plain(await client.createMultilingualGlossaryWithCsv('table', 'fr', 'en', 'a,b\nc,d'));
found.v3.empty = plain(await client.createMultilingualGlossary('empty', []));
const large = Object.fromEntries(Array.from({ length: 10000 }, (_, i) => [`Source-${i}`, `Target-${i}`]));
const big = await client.createMultilingualGlossary('large', [dictionary(large)]);
found.v3.large = [big.dictionaries[0].entryCount,
    JSON.stringify((await client.getMultilingualGlossaryDictionaryEntries(big, 'fr', 'en')).entries) === JSON.stringify(entries(large))];
found.v3.unknown = await error(() => client.createMultilingualGlossary('x', [{ ...dictionary({ a: 'b' }), targetLangCode: 'xx' }]));
found.v3.noEntries = await error(() => client.createMultilingualGlossary('x', [dictionary({})]));
found.lacking = await Promise.all([() => client.rephraseText('Hello'), () => client.getAllStyleRules(),
    () => client.listTranslationMemories()].map(async (call) => (await error(call)).name));
found.gone = await error(() => client.getDocumentStatus(handle));
console.log(JSON.stringify(found));
