/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The dragoman command: finds the sub-command in a table and runs it. To add one: its function in
 * tools.h, its row here, its file in Makefile.inc, its section in docs/man/dragoman.1. */
#include "config.h"
#include "tools/tools.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

struct command {
    const char *name;
    const char *summary;
    int (*run)(int argc, char **argv);
};

static const struct command commands[] = {
    {"align", "find which words of sentence pairs translate each other", dg_cmd_align},
    {"answer", "find answers to questions in texts", dg_cmd_answer},
    {"bench", "measure how fast a model decodes", dg_cmd_bench},
    {"chat", "translate with a daemon, line by line, as one types", dg_cmd_chat},
    {"classify", "say which label each line has", dg_cmd_classify},
    {"detect", "say which language each line is in", dg_cmd_detect},
    {"detokenize", "turn pieces or ids, one sequence a line, into text", dg_cmd_detokenize},
    {"distill", "a model's translations as pairs for a smaller one", dg_cmd_distill},
    {"embed", "a vector for each line", dg_cmd_embed},
    {"eval", "BLEU and chrF of translations against references", dg_cmd_eval},
    {"file", "translate a document and keep its form: srt, html, po, xliff, ...", dg_cmd_file},
    {"fill", "which words could stand in masked places", dg_cmd_fill},
    {"generate", "have a language model go on with a text", dg_cmd_generate},
    {"import", "turn a model of another program into a model directory", dg_cmd_import},
    {"inspect", "what a model directory holds", dg_cmd_inspect},
    {"keys", "add, list, revoke and rotate the API keys of a server", dg_cmd_keys},
    {"langid-train", "make a model of language identification", dg_cmd_langid_train},
    {"manifest", "write the hashes of a model's files", dg_cmd_manifest},
    {"quantize", "store a model in a smaller type, and say what that costs", dg_cmd_quantize},
    {"quality", "how good translations are, by a quality estimator", dg_cmd_quality},
    {"score", "how likely the model finds given translations", dg_cmd_score},
    {"segment", "split text into sentences", dg_cmd_segment},
    {"shortlist", "let a model compute fewer words, by what translates what", dg_cmd_shortlist},
    {"sign", "sign a model, or make a key pair", dg_cmd_sign},
    {"tag", "which entities each line names, and where", dg_cmd_tag},
    {"tokenize", "turn text, line by line, into a model's pieces or ids", dg_cmd_tokenize},
    {"train", "make a model of sentence pairs", dg_cmd_train},
    {"train-vocab", "make a SentencePiece vocabulary of text", dg_cmd_train_vocab},
    {"translate", "translate lines from stdin to stdout", dg_cmd_translate},
    {"trim", "make a model smaller by the words that nobody uses", dg_cmd_trim},
    {"verify", "check a model against its manifest and signature", dg_cmd_verify},
};

enum { N_COMMANDS = sizeof commands / sizeof *commands };

static void print_help(FILE *out)
{
    fprintf(out, "Usage: dragoman COMMAND [OPTION...] [ARGUMENT...]\n\nCommands:\n");
    for (size_t i = 0; i < N_COMMANDS; i++)
        fprintf(out, "  %-12s %s\n", commands[i].name, commands[i].summary);
    fprintf(out, "\n'dragoman COMMAND --help' lists a command's options; 'dragoman --version' says the "
                 "version.\n");
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_DFL); /* a filter ends quietly when its reader does */
    if (argc < 2) {
        print_help(stderr);
        return 2;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("dragoman %s\n", PACKAGE_VERSION);
        return 0;
    }
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    fprintf(stderr, "dragoman: there is no command '%s'; 'dragoman --help' lists them\n", argv[1]);
    return 2;
}
