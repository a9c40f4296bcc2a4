/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* The dragoman command: finds the sub-command in a table and runs it. To add a sub-command, add its
 * function to tools.h, its row here, its file to Makefile.inc, and its page
 * docs/man/dragoman-NAME.1.in. */
#include "config.h"
#include "base/file/map_file.h"
#include "base/option/opt.h"
#include "tools/tools.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

struct command {
    const char *name;
    const char *summary;
    int (*run)(int argc, char **argv);
    const char *group; /* the heading of the group that begins with this command; NULL: none begins
                        */
    const char *example; /* the example of that group */
};

static const struct command commands[] = {
    {"translate", "translate an argument, or lines from stdin to stdout", dg_cmd_translate,
     "Translate", "dragoman translate --to en \"Où est la gare ?\""},
    {"file", "translate a document and keep its form: srt, html, po, xliff, ...", dg_cmd_file, NULL,
     NULL},
    {"chat", "translate with a server, line by line, as you type", dg_cmd_chat, NULL, NULL},
    {"detect", "say which language each line is in", dg_cmd_detect, NULL, NULL},
    {"generate", "have a language model continue a text", dg_cmd_generate, NULL, NULL},
    {"answer", "find answers to questions in texts", dg_cmd_answer, NULL, NULL},
    {"classify", "say which label each line has", dg_cmd_classify, NULL, NULL},
    {"embed", "print a vector for each line", dg_cmd_embed, NULL, NULL},
    {"fill", "say which words could stand in masked places", dg_cmd_fill, NULL, NULL},
    {"tag", "say which entities each line names, and where", dg_cmd_tag, NULL, NULL},

    {"get", "fetch a model and install it", dg_cmd_get, "Models", "dragoman get de-en"},
    {"models", "list what is installed, or what is available", dg_cmd_models, NULL, NULL},
    {"remove", "remove an installed model", dg_cmd_remove, NULL, NULL},
    {"import", "turn a model of another program into a model directory", dg_cmd_import, NULL, NULL},
    {"inspect", "show what a model directory holds", dg_cmd_inspect, NULL, NULL},
    {"quantize", "store a model in a smaller type, and say what that costs", dg_cmd_quantize, NULL,
     NULL},
    {"shortlist", "let a model compute fewer output words, by what translates what",
     dg_cmd_shortlist, NULL, NULL},
    {"trim", "make a model smaller by removing words that nobody uses", dg_cmd_trim, NULL, NULL},
    {"manifest", "write the hashes of a model's files", dg_cmd_manifest, NULL, NULL},
    {"sign", "sign a model, or make a key pair", dg_cmd_sign, NULL, NULL},
    {"verify", "check a model against its manifest and signature", dg_cmd_verify, NULL, NULL},

    {"keys", "add, list, revoke and rotate the API keys of a server", dg_cmd_keys,
     "Serve (the server itself is dragomand)", "dragoman keys add website"},

    {"train", "train a model on sentence pairs", dg_cmd_train, "Train",
     "dragoman train --out my-model --time 2h pairs.tsv"},
    {"train-vocab", "make a SentencePiece vocabulary from text", dg_cmd_train_vocab, NULL, NULL},
    {"distill", "write a model's translations as pairs to train a smaller one", dg_cmd_distill,
     NULL, NULL},
    {"align", "find which words of sentence pairs translate each other", dg_cmd_align, NULL, NULL},
    {"langid-train", "train a model for language identification", dg_cmd_langid_train, NULL, NULL},
    {"segment", "split text into sentences", dg_cmd_segment, NULL, NULL},
    {"tokenize", "turn text, line by line, into a model's pieces or ids", dg_cmd_tokenize, NULL,
     NULL},
    {"detokenize", "turn pieces or ids, one sequence a line, into text", dg_cmd_detokenize, NULL,
     NULL},

    {"eval", "compute BLEU and chrF of translations against references", dg_cmd_eval, "Measure",
     "dragoman eval translated.en reference.en"},
    {"score", "say how likely a model finds given translations", dg_cmd_score, NULL, NULL},
    {"quality", "say how good translations are, by a quality estimator", dg_cmd_quality, NULL,
     NULL},
    {"bench", "measure how fast a model decodes", dg_cmd_bench, NULL, NULL},
};

enum { N_COMMANDS = sizeof commands / sizeof *commands };

static void print_help(FILE *out)
{
    fprintf(out, "Usage: dragoman COMMAND [OPTION...] [ARGUMENT...]\n");
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (commands[i].group)
            fprintf(out, "\n%s:    %s\n", commands[i].group, commands[i].example);
        fprintf(out, "  %-12s %s\n", commands[i].name, commands[i].summary);
    }
    fprintf(out, "\n'dragoman help COMMAND' lists a command's options; 'dragoman --version' prints "
                 "the version.\n");
}

static const struct command *find(const char *name)
{
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (strcmp(name, commands[i].name) == 0)
            return &commands[i];
    return NULL;
}

static int refuse(const char *name)
{
    const char *names[N_COMMANDS];
    for (size_t i = 0; i < N_COMMANDS; i++)
        names[i] = commands[i].name;
    const char *near = dg_opt_nearest_word(names, N_COMMANDS, dg_span_cstr(name));
    fprintf(stderr, "dragoman: there is no command '%s'; %s%s%s'dragoman --help' lists them\n",
            name, near ? "did you mean '" : "", near ? near : "", near ? "'? " : "");
    return 2;
}

/* dragoman help [COMMAND] */
static int help(int argc, char **argv)
{
    static char flag[] = "--help";
    const struct command *command = argc > 0 ? find(argv[0]) : NULL;
    char *args[] = {argv[0], flag, NULL};
    if (argc == 0)
        print_help(stdout);
    return argc == 0 ? 0 : command ? command->run(2, args) : refuse(argv[0]);
}

int main(int argc, char **argv)
{
    dg_map_file_guard(DG_MAP_FILE_ENDS);
    signal(SIGPIPE, SIG_DFL); /* a filter ends without a message when its reader has gone */
    if (argc < 2) {
        print_help(stderr);
        return 2;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0)
        return help(argc - 2, argv + 2);
    if (strcmp(argv[1], "--version") == 0) {
        printf("dragoman %s\n", PACKAGE_VERSION);
        return 0;
    }
    const struct command *command = find(argv[1]);
    return command ? command->run(argc - 1, argv + 1) : refuse(argv[1]);
}
