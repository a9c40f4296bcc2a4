/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* translate URL TARGET TEXT: prints the translation as it arrives. Ctrl-C also cancels it on the
 * server. */
#include "dragoman.h"

#include <stdio.h>
#include <stdlib.h>

static int exit_code = 1;

static void on_event(void *user, const struct dragoman_event *event)
{
    (void)user;
    switch (event->kind) {
    case DRAGOMAN_TOKEN:
        fwrite(event->text, 1, event->len, stdout);
        fflush(stdout);
        break;
    case DRAGOMAN_DONE:
        putchar('\n');
        exit_code = 0;
        break;
    case DRAGOMAN_FAILED:
        fprintf(stderr, "%s: %s\n", event->code, event->message);
        break;
    default:
        break;
    }
}

int main(int argc, char **argv)
{
    char options[128];
    const char *error;
    if (argc != 4) {
        fprintf(stderr, "usage: translate URL TARGET TEXT\n");
        return 2;
    }
    snprintf(options, sizeof options, "{\"target\":\"%.20s\"}", argv[2]);
    struct dragoman *server =
        dragoman_open(uv_default_loop(), argv[1], getenv("DRAGOMAN_KEY"), &error);
    if (!server) {
        fprintf(stderr, "%s: %s\n", argv[1], error);
        return 2;
    }
    if (!dragoman_translate(server, argv[3], options, on_event, NULL))
        fprintf(stderr, "the text is no UTF-8, or there is no memory\n");
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    dragoman_close(server);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    return exit_code;
}
