#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Stands in for git, curl and unzip, and is called by their names, where 70_documents.py tries a
page's downloads.

    git clone URL [FOLDER]      a folder with a small model of the same format as that at the address
    curl -O URL                 a zip file with one
    unzip FILE [NAME] -d FOLDER a real zip file, unpacked

It fails for an address that is not listed here: a page that names a new address needs a sample
for it."""
import gzip
import os
import sys
import zipfile

SAMPLES = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "data", "import")
CLONES = {"https://huggingface.co/Helsinki-NLP/opus-mt-fr-en": ("legacy", ""),
          "https://github.com/mozilla/firefox-translations-models": ("bin-bergamot", "models/base-memory/fren")}
ZIPS = {"https://object.pouta.csc.fi/OPUS-MT-models/fr-en/opus-2020-02-26.zip": "stored"}


def git(clone, url, folder=None):
    sample, below = CLONES[url]
    assert clone == "clone"
    out = os.path.join(folder or url.rpartition("/")[2], below)
    os.makedirs(out)
    for name in os.listdir(os.path.join(SAMPLES, sample)):
        with open(os.path.join(SAMPLES, sample, name), "rb") as file:
            data = file.read()
        if below:  # where git-lfs stores them compressed
            name, data = name + ".gz", gzip.compress(data)
        with open(os.path.join(out, name), "wb") as file:
            file.write(data)


def curl(option, url):
    assert option == "-O"
    sample = os.path.join(SAMPLES, ZIPS[url])
    with zipfile.ZipFile(url.rpartition("/")[2], "w") as package:
        for name in os.listdir(sample):
            package.write(os.path.join(sample, name), name)


def unzip(path, *arguments):
    *names, option, folder = arguments
    assert option == "-d"
    with zipfile.ZipFile(path) as package:
        package.extractall(folder, names or None)


if __name__ == "__main__":
    {"git": git, "curl": curl, "unzip": unzip}[os.path.basename(sys.argv[0])](*sys.argv[1:])
