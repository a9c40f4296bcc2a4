// SPDX-License-Identifier: ISC
// Asks everything that DeepL's library for Node asks of a server, and prints what it understood as JSON.
//     node client.js URL
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import * as deepl from 'deepl-node';

const client = new deepl.Translator('any:fx', { serverUrl: process.argv[2], maxRetries: 1, minTimeout: 20000 });
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
found.gone = await error(() => client.getDocumentStatus(handle));
console.log(JSON.stringify(found));
