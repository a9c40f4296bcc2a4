/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragoman chat: a prompt in the terminal. A line goes to a running daemon, and its translation
 * appears while it is generated. Lines that begin with "/" are commands. Ctrl-C ends the running
 * translation, Ctrl-D ends the chat. */
#include "base/json/json.h"
#include "base/json/json_out.h"
#include "base/option/opt.h"
#include "clients/c/dragoman.h"
#include "tools/command.h"
#include "tools/server_options.h"
#include "tools/tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum { TAG_MAX = 64, KEY_MAX = 512, OPTIONS_MAX = 4096, ALTERNATIVES_MAX = 15 };

struct options {
    int help;
    struct server_flags remote;
    int64_t alternatives;
};

static const struct dg_opt_row rows[] = {
    DG_OPT_HELP(struct options, help),
    {DG_OPT_INT_IN(struct options, alternatives, 0, ALTERNATIVES_MAX), "alternatives",
     .letter = 'a', .def = "0", .help = "other wordings shown below each translation"},
    SERVER_FLAGS(struct options, remote, "http://127.0.0.1:8090", 't'),
};

static const struct dg_opt_table table = {
    .program = "dragoman chat",
    .summary = "Translates with a running server, line by line, while it is translated.",
    DG_OPT_ROWS(rows, struct options),
};

struct chat {
    uv_loop_t loop;
    uv_signal_t interrupt;
    struct dragoman *server;
    struct dragoman_request *request; /* the request under way */
    char source[TAG_MAX], target[TAG_MAX];
    int alternatives;
    bool is_person; /* a person types, so a prompt is shown */
    bool has_failed;
};

/* ---- One translation ------------------------------------------------------------------------- */

static void print_alternatives(struct dg_span json)
{
    const struct dg_json_limits limits = {
        .max_bytes = json.len + 1, .max_depth = 16, .max_values = 1 << 20};
    struct dg_error error = DG_ERROR_NONE;
    struct dg_json *answer;
    struct dg_span text;
    if (dg_json_parse(json, &limits, &error, &answer) != DG_OK)
        return;
    const struct dg_json *list =
        dg_json_get(dg_json_at(dg_json_get(answer, "translations"), 0), "alternatives");
    for (size_t i = 0; i < dg_json_len(list); i++)
        if (dg_json_string(dg_json_at(list, i), DG_SPAN("alternatives"), &error, &text) == DG_OK)
            printf("   %zu. %.*s\n", i + 1, DG_SPAN_FMT(text));
    dg_json_free(answer);
}

static void on_translation(void *user, const struct dragoman_event *event)
{
    struct chat *chat = user;
    switch (event->kind) {
    case DRAGOMAN_TOKEN:
        fwrite(event->text, 1, event->len, stdout);
        fflush(stdout);
        break;
    case DRAGOMAN_DONE:
        putchar('\n');
        print_alternatives(dg_span_make(event->json, event->json_len));
        chat->request = NULL;
        break;
    case DRAGOMAN_FAILED:
        fflush(stdout);
        fprintf(stderr, "dragoman chat: %s\n", event->message);
        chat->has_failed = true;
        chat->request = NULL;
        break;
    default:
        break;
    }
}

/* Handles Ctrl-C. When no translation is running it ends the chat, as people expect of a prompt. */
static void on_interrupt(uv_signal_t *signal, int number)
{
    struct chat *chat = signal->data;
    if (!chat->request)
        return;
    dragoman_cancel(chat->request);
    chat->request = NULL;
    puts(" (cancelled)");
}

static enum dg_err build_options(const struct chat *chat, struct dg_buf *json)
{
    struct dg_json_out out;
    dg_json_out_init(&out, json);
    dg_json_out_open(&out, '{');
    if (*chat->source)
        dg_json_out_put_cstr(&out, "source", chat->source);
    dg_json_out_put_cstr(&out, "target", chat->target);
    if (chat->alternatives)
        dg_json_out_put_int(&out, "alternatives", chat->alternatives);
    dg_json_out_close(&out, '}');
    enum dg_err err = dg_json_out_end(&out);
    return err ? err : dg_buf_append_byte(json, '\0');
}

/* Runs the loop until the request is over. */
static void wait_for_answer(struct chat *chat)
{
    uv_signal_start(&chat->interrupt, on_interrupt, SIGINT);
    while (chat->request)
        uv_run(&chat->loop, UV_RUN_ONCE);
    uv_signal_stop(&chat->interrupt);
}

static enum dg_err translate(struct chat *chat, struct dg_span line)
{
    struct dg_buf options;
    dg_buf_init(&options, OPTIONS_MAX);
    enum dg_err err = build_options(chat, &options);
    if (!err) {
        chat->request = dragoman_translate_n(chat->server, line.ptr, line.len, options.ptr,
                                             on_translation, chat);
        if (!chat->request)
            fprintf(stderr, "dragoman chat: the line is not valid UTF-8\n");
        wait_for_answer(chat);
    }
    dg_buf_deinit(&options);
    return err;
}

/* ---- Commands of the prompt ------------------------------------------------------------------ */

static void print_pairs(struct dg_span json)
{
    const struct dg_json_limits limits = {
        .max_bytes = json.len + 1, .max_depth = 16, .max_values = 1 << 20};
    struct dg_error error = DG_ERROR_NONE;
    struct dg_json *answer;
    struct dg_span code, target;
    if (dg_json_parse(json, &limits, &error, &answer) != DG_OK)
        return;
    const struct dg_json *list = dg_json_get(answer, "languages");
    for (size_t i = 0; i < dg_json_len(list); i++) {
        const struct dg_json *targets = dg_json_get(dg_json_at(list, i), "targets");
        if (dg_json_get_string(dg_json_at(list, i), "code", DG_JSON_REQUIRED, &error, &code) !=
            DG_OK)
            continue;
        printf("%.*s:", DG_SPAN_FMT(code));
        for (size_t k = 0; k < dg_json_len(targets); k++)
            if (dg_json_string(dg_json_at(targets, k), DG_SPAN("targets"), &error, &target) ==
                DG_OK)
                printf(" %.*s", DG_SPAN_FMT(target));
        putchar('\n');
    }
    dg_json_free(answer);
}

static void on_languages(void *user, const struct dragoman_event *event)
{
    struct chat *chat = user;
    if (event->kind == DRAGOMAN_DONE)
        print_pairs(dg_span_make(event->json, event->json_len));
    else if (event->kind == DRAGOMAN_FAILED)
        fprintf(stderr, "dragoman chat: %s\n", event->message);
    chat->request = NULL;
}

static void print_help(void)
{
    puts("/to TAG            translate into this language\n/from TAG          from this one; /from "
         "alone lets the server detect it\n/swap              swap both languages\n/alternatives N "
         "   show N other wordings\n/languages         what the server can translate\n/quit        "
         "      end (Ctrl-D too); Ctrl-C ends a translation under way\n// at the start of a line "
         "is one slash of text");
}

static void swap(struct chat *chat)
{
    char kept[TAG_MAX];
    if (!*chat->source) {
        puts("say first what language the text is in: /from TAG");
        return;
    }
    memcpy(kept, chat->source, sizeof kept);
    memcpy(chat->source, chat->target, sizeof kept);
    memcpy(chat->target, kept, sizeof kept);
}

/* Runs a command; false when it ends the chat. */
static bool obey(struct chat *chat, char *line)
{
    char *rest = line;
    const char *word = strsep(&rest, " ");
    const char *value = rest ? rest + strspn(rest, " ") : "";
    if (strcmp(word, "quit") == 0)
        return false;
    if (strcmp(word, "to") == 0 && *value)
        snprintf(chat->target, sizeof chat->target, "%s", value);
    else if (strcmp(word, "from") == 0)
        snprintf(chat->source, sizeof chat->source, "%s", strcmp(value, "auto") ? value : "");
    else if (strcmp(word, "swap") == 0)
        swap(chat);
    else if (strcmp(word, "alternatives") == 0 && strlen(value) < 3 &&
             strspn(value, "0123456789") == strlen(value))
        chat->alternatives = (int)strtol(value, NULL, 10) < ALTERNATIVES_MAX
                                 ? (int)strtol(value, NULL, 10)
                                 : ALTERNATIVES_MAX;
    else if (strcmp(word, "languages") == 0) {
        chat->request = dragoman_ask(chat->server, "/v1/languages", NULL, on_languages, chat);
        wait_for_answer(chat);
    } else
        print_help();
    return true;
}

/* ---- The chat -------------------------------------------------------------------------------- */

static enum dg_err talk(struct chat *chat)
{
    char *line = NULL;
    size_t cap = 0;
    ssize_t len;
    enum dg_err err = DG_OK;
    for (bool goes_on = true; goes_on && !err;) {
        if (chat->is_person) {
            printf("%s → %s> ", *chat->source ? chat->source : "auto", chat->target);
            fflush(stdout);
        }
        len = getline(&line, &cap, stdin);
        if (len < 0)
            break;
        while (len > 0 && (line[len - 1] == '\n' || line[len - 1] == '\r'))
            line[--len] = '\0';
        if (line[0] == '/' && line[1] != '/')
            goes_on = obey(chat, line + 1);
        else if (len > 0)
            err = translate(chat,
                            dg_span_make(line + (line[0] == '/'), (size_t)len - (line[0] == '/')));
    }
    if (chat->is_person)
        putchar('\n');
    free(line);
    return err;
}

static enum dg_err run_chat(const struct dg_opt_set *set, struct dg_error *error)
{
    const struct options *opt = dg_opt_values(set);
    struct chat chat = {.alternatives = (int)opt->alternatives,
                        .is_person = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)};
    char key[KEY_MAX];
    const char *reason;
    if (!*opt->remote.target)
        return dg_error_set(error, DG_ERR_USAGE,
                            "expected --to TAG, the language to translate into");
    snprintf(chat.source, sizeof chat.source, "%s", opt->remote.source);
    snprintf(chat.target, sizeof chat.target, "%s", opt->remote.target);
    enum dg_err err = server_key(&opt->remote, key, sizeof key, error);
    if (err)
        return err;
    if (uv_loop_init(&chat.loop) < 0)
        return DG_ERR_NOMEM;
    uv_signal_init(&chat.loop, &chat.interrupt);
    chat.interrupt.data = &chat;
    chat.server = dragoman_open(&chat.loop, opt->remote.server, *key ? key : NULL, &reason);
    if (!chat.server)
        err = dg_error_set(error, DG_ERR_USAGE, "--server %s: %s", opt->remote.server, reason);
    else
        err = talk(&chat);
    dragoman_close(chat.server);
    uv_close((uv_handle_t *)&chat.interrupt, NULL);
    uv_run(&chat.loop, UV_RUN_DEFAULT);
    uv_loop_close(&chat.loop);
    if (!err && chat.has_failed && !chat.is_person)
        err = dg_error_set(error, DG_ERR_IO, "not every line could be translated");
    return err;
}

int dg_cmd_chat(int argc, char **argv)
{
    return dg_command(&table, argc, argv, run_chat);
}
