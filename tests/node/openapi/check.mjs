// node check.mjs OPENAPI.YAML SPEC.JSON: reads both as people's tools do, type-checks client.ts with types made of the first, and
// prints {"problems":[...],"spec":...,"types":...}.
import { writeFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import SwaggerParser from "@apidevtools/swagger-parser";
import { createConfig, lint } from "@redocly/openapi-core";
import openapiTS, { astToString } from "openapi-typescript";
import ts from "typescript";

const [description, spec] = process.argv.slice(2);
const config = await createConfig({ extends: ["recommended"] });
const problems = (await lint({ ref: description, config })).map(one =>
    `${one.severity} ${one.ruleId}: ${one.message} ${one.location[0]?.pointer ?? ""}`);

async function valid(file) {
    try {
        const api = await SwaggerParser.validate(file);
        return api.openapi ?? api.swagger;
    } catch (error) {
        problems.push(`${file}: ${error.message}`);
        return null;
    }
}

const found = { openapi: await valid(description), spec: await valid(spec) };
await writeFile("api.d.ts", astToString(await openapiTS(pathToFileURL(description))));
const program = ts.createProgram(["client.ts"], { strict: true, noEmit: true, target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler, lib: ["lib.es2022.d.ts", "lib.dom.d.ts"], types: [] });
for (const one of ts.getPreEmitDiagnostics(program)) {
    const at = one.file ? one.file.getLineAndCharacterOfPosition(one.start).line + 1 : 0;
    problems.push(`${one.file?.fileName}:${at}: ${ts.flattenDiagnosticMessageText(one.messageText, " ")}`);
}
console.log(JSON.stringify({ problems, ...found }));
