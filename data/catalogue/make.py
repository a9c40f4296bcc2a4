#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Writes the catalogue of models that `dragoman get` can fetch, from lists that their publishers make.

    make.py FIREFOX-CURRENT FIREFOX ARGOS-INDEX DATE >catalogue.json

FIREFOX-CURRENT   what Firefox downloads: the records of its collection of models, one object a model
FIREFOX           the models of the repository firefox-translations-models, with the scores published there
ARGOS-INDEX       the index of Argos Translate's packages
DATE              of the first list, as 2025-10-17

docs/models.md describes the format; src/fetch/catalogue.c reads it.
"""
import json
import sys

FIREFOX_LIST = ("https://firefox.settings.services.mozilla.com/v1/buckets/main/collections/translations-models-v2/"
                "records")
ARGOS_CODES = {"pb": "pt-BR", "zt": "zh-Hant"}


def firefox(data):
    for model in data["models"]:
        files = [{key: file[key] for key in ("name", "size", "sha256", "raw_size", "raw_sha256")} |
                 {"place": file["location"]} for file in model["files"]]
        yield {key: model[key] for key in ("source", "target")} | {"from": "firefox"} | {
            key: model[key] for key in ("kind", "version", "changed", "filter") if key in model} | {"files": files}


def archive(data):
    for model in data["models"]:
        files = [{"name": file["name"].removesuffix(".gz"), "place": f"{model['folder']}/{file['name']}",
                  "size": file["size"], "sha256": file["sha256"]} for file in model["files"]]
        yield {"source": model["source"], "target": model["target"], "from": "firefox-archive", "kind": model["kind"],
               "version": model["version"] or "", "bleu": model["flores_bleu"],
               "comet": model["flores_comet"], "files": files}


def argos(data):
    for package in data:
        link = next(link for link in package["links"] if link.startswith("https://argos-net.com/v1/"))
        place = link.removeprefix("https://argos-net.com/v1/")
        yield {"source": ARGOS_CODES.get(package["from_code"], package["from_code"]),
               "target": ARGOS_CODES.get(package["to_code"], package["to_code"]), "from": "argos", "kind": "argos",
               "version": package["package_version"], "files": [{"name": place, "place": place}]}


def main(current, old, index, date):
    lists = [json.load(open(path, encoding="utf-8")) for path in (current, old, index)]
    sources = [
        {"name": "firefox", "base": lists[0]["attachments"], "list": FIREFOX_LIST,
         "licence": "not stated for these weights; the project's older models are under MPL-2.0",
         "scores_by": "Mozilla, on FLORES"},
        {"name": "firefox-archive", "licence": lists[1]["licence"], "scores_by": "Mozilla, on FLORES",
         "base": f"https://media.githubusercontent.com/media/{lists[1]['from'].removeprefix('github.com/')}/"
                 f"{lists[1]['commit']}/"},
        {"name": "argos", "base": "https://argos-net.com/v1/", "licence": "CC0 or MIT, as each package says"},
    ]
    models = [*firefox(lists[0]), *archive(lists[1]), *argos(lists[2])]
    models.sort(key=lambda m: (m["source"], m["target"]))
    line = lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    print('{"format":1,"date":' + line(date) + ',"sources":[')
    print(",\n".join(map(line, sources)))
    print('],"models":[')
    print(",\n".join(map(line, models)))
    print("]}")


if __name__ == "__main__":
    main(*sys.argv[1:])
