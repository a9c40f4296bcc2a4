/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* dragoman bench: measures how fast a model decodes. Every combination of --batch and --beam is one
 * case and gives one line of key=value pairs. --limits measures in the same run what the machine
 * allows, and prints what share of it each case reached. --compare compares each case with the same
 * case of an earlier run.
 *
 * A case decodes `batch` random sources at once to a forced length, repeatedly for a given time;
 * its figures are medians. With several threads each thread runs the same case on a state of its
 * own, like the daemon's workers. With --split other threads help one thread, like the daemon's
 * helpers. */
#include "base/file/text_in.h"
#include "base/memory/clock.h"
#include "base/memory/error.h"
#include "base/memory/mem.h"
#include "base/memory/rng.h"
#include "base/option/opt.h"
#include "base/thread/cpu.h"
#include "base/thread/helpers.h"
#include "decode/decoder.h"
#include "model/lexicon.h"
#include "model/model_dir.h"
#include "network/net_random.h"
#include "tensor/forward/limits.h"
#include "tools/tools.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { RUNS_MAX = 64, BATCH_MAX = DG_DECODER_ADD_MAX, RESULTS_MAX = 1024, SPLIT_MAX = 64 };

struct bench {
    int help;
    const char *model, *random, *compare;
    int type, kv_type;
    struct dg_opt_list batch, beam;
    int64_t threads, split, source_len, target_len, seed, time_ms, step_rows;
    bool limits, shortlist, pin;
};

static const struct dg_opt_row rows[] = {
    DG_OPT_HELP(struct bench, help),
    {DG_OPT_PATH(struct bench, model), "model", .letter = 'm',
     .help = "measure this model directory"},
    {DG_OPT_STRING(struct bench, random), "random", .unit = "SHAPE",
     .help = "measure random weights: base (the paper's), student or tiny, student-ssru, "
             "gpt2-small, bert-base"},
    {DG_OPT_ENUM(struct bench, type), "type", .words = dg_net_type_words, .def = "auto",
     .help = "type that products are computed in"},
    {DG_OPT_ENUM(struct bench, kv_type), "kv-type", .words = dg_net_kv_words, .def = "auto",
     .help = "how the keys and values that attention reads are stored"},
    {DG_OPT_STRINGS(struct bench, batch), "batch", .def = "1,8,32", .unit = "N,N,...",
     .help = "sentences at once"},
    {DG_OPT_STRINGS(struct bench, beam), "beam", .def = "1,4", .unit = "N,N,...",
     .help = "beam widths"},
    {DG_OPT_INT_IN(struct bench, threads, 1, 256), "threads", .letter = 't', .def = "1",
     .help = "independent workers"},
    {DG_OPT_INT_IN(struct bench, split, 1, SPLIT_MAX), "split", .def = "1",
     .help = "threads that share each product of one worker"},
    {DG_OPT_BOOL(struct bench, pin), "pin", .def = "no",
     .help = "each of them stays on a core of its own"},
    {DG_OPT_INT_IN(struct bench, source_len, 1, 1024), "source-len", .def = "25",
     .help = "tokens of a source"},
    {DG_OPT_INT_IN(struct bench, target_len, 1, 1024), "target-len", .def = "25",
     .help = "tokens of a target, forced"},
    {DG_OPT_BOOL(struct bench, shortlist), "shortlist", .def = "no",
     .help = "only the output words that the model's lex.bin lists for a source"},
    {DG_OPT_INT_IN(struct bench, step_rows, 0, 65536), "step-rows", .def = "0",
     .help = "rows of one step at most, as the server limits them (32); 0: all at once"},
    {DG_OPT_INT_IN(struct bench, seed, 0, INT64_MAX), "seed", .def = "1",
     .help = "seed of the random weights and sources"},
    {DG_OPT_DURATION_IN(struct bench, time_ms, 1, 600000), "time", .def = "2s",
     .help = "how long a case is repeated"},
    {DG_OPT_BOOL(struct bench, limits), "limits", .def = "no",
     .help = "measure what this machine's arithmetic and memory allow one thread, and each case's "
             "share of it"},
    {DG_OPT_PATH(struct bench, compare), "compare", .unit = "FILE",
     .help = "the output of an earlier run: print each figure's ratio to it"},
};

static enum dg_err check(const void *values, const char *name, struct dg_error *error)
{
    const struct bench *flags = values;
    (void)name;
    if ((*flags->model != 0) + (*flags->random != 0) != 1 && !flags->limits)
        return dg_error_set(error, DG_ERR_USAGE,
                            "expected --model DIR or --random SHAPE (or --limits alone)");
    if (flags->split > 1 && flags->threads > 1)
        return dg_error_set(error, DG_ERR_USAGE,
                            "--split divides the work of one thread: leave --threads at 1");
    if (flags->split > 1 && flags->pin)
        return dg_error_set(error, DG_ERR_USAGE,
                            "--pin would put the threads of --split on one core: give one of them");
    if (flags->shortlist && !*flags->model)
        return dg_error_set(error, DG_ERR_USAGE,
                            "--shortlist needs a model that has one: give --model DIR");
    return DG_OK;
}

static const struct dg_opt_table table = {
    .program = "dragoman bench",
    .summary = "Measures how fast a model decodes; one line of key=value pairs a case.",
    DG_OPT_ROWS(rows, struct bench),
    .check = check,
};

/* ---- One case -------------------------------------------------------------------------------- */

struct bench_case {
    const struct bench *flags;
    const struct dg_net *net;
    const struct dg_lexicon *lex; /* NULL: the whole vocabulary */
    size_t batch;
    int beam;
};

struct run {
    double seconds; /* encoding and all steps */
    /* the same in processor time of this thread, which other programs do not change */
    double cpu_seconds;
    double first_seconds; /* until the first token was reported */
    double step_seconds;  /* the mean over the decoding steps */
};

struct runner {
    pthread_t thread;
    unsigned index;
    const struct bench_case *what;
    uint64_t seed;
    struct run runs[RUNS_MAX];
    size_t n_runs;
    double slot_bytes; /* the caches of one sentence */
    enum dg_err err;
    struct dg_error error;
};

struct watch {
    struct dg_clock clock;
    uint64_t first_ns;
    size_t n_done;
};

static void on_tokens(void *ctx, size_t at, const int32_t *ids, const float *logprobs, size_t n)
{
    struct watch *watch = ctx;
    (void)at, (void)ids, (void)logprobs, (void)n;
    if (watch->first_ns == 0)
        watch->first_ns = dg_clock_now(&watch->clock);
}

static void on_search_done(void *ctx, const struct dg_search *search)
{
    (void)search;
    ((struct watch *)ctx)->n_done++;
}

static void on_read(void *ctx, enum dg_err err)
{
    (void)err;
    on_tokens(ctx, 0, NULL, NULL, 0);
    ((struct watch *)ctx)->n_done++;
}

static const struct dg_decode_events events = {on_tokens, on_search_done, on_read};

/* True for a network that generates nothing; its figures count the tokens of the sources. */
static bool is_reader(const struct dg_net *net)
{
    return dg_blueprint_is_reader(dg_net_blueprint(net));
}

/* Processor time of this thread; with helpers, of all threads of the process. */
static double cpu_now(const struct bench *flags)
{
    struct timespec t;
    clock_gettime(flags->split > 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static enum dg_err run_once(struct runner *runner, struct dg_decoder *decoder,
                            struct dg_decode_job *jobs, struct run *run)
{
    struct watch watch = {.clock = DG_CLOCK_REAL};
    for (size_t i = 0; i < runner->what->batch; i++)
        jobs[i].ctx = &watch;
    const double cpu_began = cpu_now(runner->what->flags);
    uint64_t began = dg_clock_now(&watch.clock);
    enum dg_err err = dg_decoder_add(decoder, jobs, runner->what->batch, NULL, &runner->error);
    uint64_t encoded = dg_clock_now(&watch.clock);
    size_t n_steps = 0;
    while (!err && dg_decoder_step(decoder) > 0)
        n_steps++;
    uint64_t ended = dg_clock_now(&watch.clock);
    double ns = (double)DG_CLOCK_S;
    *run = (struct run){(double)(ended - began) / ns, cpu_now(runner->what->flags) - cpu_began,
                        (double)(watch.first_ns - began) / ns,
                        (double)(ended - encoded) / ns / (double)(n_steps ? n_steps : 1)};
    return err;
}

/* Makes random sources; the ids differ, so that caches do not make a case look faster than it
 * is. */
static void fill_sources(const struct runner *runner, int32_t *ids, size_t n_ids)
{
    struct dg_rng rng;
    size_t V = dg_net_blueprint(runner->what->net)->encoder.V;
    dg_rng_init(&rng, runner->seed, 0);
    for (size_t i = 0; i < n_ids; i++)
        ids[i] = (int32_t)(dg_rng_uniform(&rng) * (double)V);
}

/* The threads that help the measuring thread. */
struct helpers {
    struct dg_helpers helpers;
    atomic_uint_fast64_t is_over;
    pthread_t threads[SPLIT_MAX];
    size_t n;
};

static void *help(void *arg)
{
    struct helpers *helpers = arg;
    while (!atomic_load(&helpers->is_over))
        dg_helpers_help(&helpers->helpers, &helpers->is_over, 0);
    return NULL;
}

static enum dg_err start_helpers(struct helpers *helpers, size_t n)
{
    dg_helpers_init(&helpers->helpers, n);
    atomic_init(&helpers->is_over, 0);
    for (; helpers->n < n; helpers->n++) {
        const enum dg_err err =
            dg_err_from_errno(pthread_create(&helpers->threads[helpers->n], NULL, help, helpers));
        if (err)
            return err;
    }
    return DG_OK;
}

static void stop_helpers(struct helpers *helpers)
{
    if (helpers->n > 0)
        atomic_store(&helpers->is_over, 1);
    while (helpers->n > 0)
        pthread_join(helpers->threads[--helpers->n], NULL);
}

static enum dg_err measure(struct runner *runner)
{
    const struct bench_case *what = runner->what;
    const struct bench *flags = what->flags;
    size_t S = (size_t)flags->source_len, T = (size_t)flags->target_len;
    struct dg_search_opts opts = DG_SEARCH_OPTS_DEFAULT;
    opts.beam = what->beam;
    opts.max_ratio = 0;
    opts.loop_guard = false;
    opts.max_len = opts.min_len = (int)T;
    struct dg_decoder_limits limits = {.sentences = what->batch,
                                       .lex = what->lex,
                                       .kv = (enum dg_net_kv)flags->kv_type,
                                       .rows = what->batch * (size_t)what->beam,
                                       .source_max = S,
                                       .target_max = T,
                                       .batch_tokens = what->batch * S,
                                       .step_rows = flags->step_rows
                                                        ? (size_t)flags->step_rows
                                                        : what->batch * (size_t)what->beam};
    struct dg_decoder *decoder = NULL;
    struct dg_decode_job jobs[BATCH_MAX];
    const bool is_enc = dg_blueprint_family(dg_net_blueprint(what->net))->has_head;
    /* all rows write to the same place, which nobody reads */
    struct dg_analysis read = {.kind = is_enc ? DG_ANALYSIS_STATE : DG_ANALYSIS_LABELS};
    int32_t *ids = dg_try_calloc(what->batch * S, sizeof *ids);
    read.values =
        dg_try_calloc(dg_analysis_size(dg_net_blueprint(what->net), &read, S), sizeof *read.values);
    enum dg_err err = ids && read.values
                          ? dg_decoder_new(&decoder, what->net, &limits, &runner->error)
                          : DG_ERR_NOMEM;
    struct helpers helpers = {.n = 0};
    if (!err && flags->split > 1) {
        err = start_helpers(&helpers, (size_t)flags->split - 1);
        dg_decoder_lend(decoder, &helpers.helpers);
    }
    if (!err) {
        fill_sources(runner, ids, what->batch * S);
        for (size_t i = 0; i < what->batch; i++)
            jobs[i] = (struct dg_decode_job){
                ids + i * S, S, &opts, &events, NULL, false, is_reader(what->net) ? &read : NULL};
        runner->slot_bytes = (double)dg_decoder_cache_bytes(decoder, jobs);
        /* a run to warm up, which is not counted */
        err = run_once(runner, decoder, jobs, &runner->runs[0]);
    }
    double spent = 0;
    while (!err && runner->n_runs < RUNS_MAX &&
           (runner->n_runs < 3 || spent < (double)flags->time_ms / 1000)) {
        err = run_once(runner, decoder, jobs, &runner->runs[runner->n_runs]);
        spent += runner->runs[runner->n_runs++].seconds;
    }
    stop_helpers(&helpers);
    dg_decoder_free(decoder);
    dg_free(read.values);
    dg_free(ids);
    return err;
}

static void *run_thread(void *arg)
{
    struct runner *runner = arg;
    if (runner->what->flags->pin)
        (void)dg_cpu_pin(runner->index); /* allowed, which was checked at the start */
    runner->err = measure(runner);
    return NULL;
}

/* ---- Figures --------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The median of one field of the runs. */
static double median(const struct runner *runner, size_t offset)
{
    double values[RUNS_MAX];
    for (size_t i = 0; i < runner->n_runs; i++)
        memcpy(&values[i], (const char *)&runner->runs[i] + offset, sizeof values[i]);
    qsort(values, runner->n_runs, sizeof *values, compare);
    return values[runner->n_runs / 2];
}

/* Peak resident memory of this process in MiB, as the kernel counts it; 0 where the kernel does not
 * tell. */
static double peak_mib(void)
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[256];
    long kib = 0;
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "VmHWM: %ld kB", &kib) == 1)
            break;
    if (file)
        fclose(file);
    return (double)kib / 1024;
}

/* ---- Cases as figures ------------------------------------------------------------------------ */

/* The names of a case's figures, and their places in the struct; the lines of an earlier run are
 * read with the same list. */
#define FIGURES(X)                                                                                 \
    X(tokens_per_second, 1)                                                                        \
    X(tokens_per_cpu_second, 1)                                                                    \
    X(first_token_ms, 3)                                                                           \
    X(step_ms, 3)

struct figures {
#define FIELD(name, digits) double name;
    FIGURES(FIELD)
#undef FIELD
};

static struct figures figures_of(const struct bench_case *what, const struct runner *runners)
{
    const struct bench *flags = what->flags;
    const size_t n_threads = (size_t)flags->threads;
    const double tokens =
        (double)(what->batch *
                 (size_t)(is_reader(what->net) ? flags->source_len : flags->target_len));
    struct figures all = {0};
    for (size_t i = 0; i < n_threads; i++) {
        all.tokens_per_second += tokens / median(&runners[i], offsetof(struct run, seconds));
        all.tokens_per_cpu_second +=
            tokens / median(&runners[i], offsetof(struct run, cpu_seconds)) / (double)n_threads;
        all.first_token_ms +=
            1000 * median(&runners[i], offsetof(struct run, first_seconds)) / (double)n_threads;
        all.step_ms +=
            1000 * median(&runners[i], offsetof(struct run, step_seconds)) / (double)n_threads;
    }
    return all;
}

/* Prints the keys by which a case is recognised as the same in two runs. */
static void print_key(char *key, size_t cap, const struct bench_case *what)
{
    const struct bench *flags = what->flags;
    char split[32] = "", kv[32] = "";
    if (flags->split > 1)
        snprintf(split, sizeof split, " split=%lld", (long long)flags->split);
    if (flags->kv_type)
        snprintf(kv, sizeof kv, " kv=%s", dg_net_kv_words[flags->kv_type]);
    snprintf(
        key, cap,
        "model=%s%s type=%s%s kernels=%s threads=%lld%s batch=%zu beam=%d source=%lld target=%lld",
        *flags->random ? flags->random : flags->model, flags->shortlist ? " shortlist=yes" : "",
        dg_net_type_words[flags->type], kv, dg_net_kernels(what->net)->name,
        (long long)flags->threads, split, what->batch, what->beam, (long long)flags->source_len,
        (long long)flags->target_len);
}

static void print_case(const struct bench_case *what, const struct runner *runners,
                       const struct figures *figures)
{
    char key[1024];
    print_key(key, sizeof key, what);
    printf("case=decode %s", key);
#define PRINT(name, digits) printf(" " #name "=%." #digits "f", figures->name);
    FIGURES(PRINT)
#undef PRINT
    printf(" runs=%zu peak_mib=%.1f slot_kib=%.1f\n", runners[0].n_runs, peak_mib(),
           runners[0].slot_bytes / 1024);
    fflush(stdout);
}

/* The figure `name` of a line of key=value pairs; 0 when there is none. */
static double figure_of(struct dg_span line, const char *name)
{
    char text[1536], *end, *at = text;
    const size_t n = line.len < sizeof text - 1 ? line.len : sizeof text - 1, len = strlen(name);
    memcpy(text, line.ptr, n);
    text[n] = '\0';
    while ((at = strchr(at, ' '))) {
        at++;
        if (strncmp(at, name, len) == 0 && at[len] == '=')
            return strtod(at + len + 1, &end);
    }
    return 0;
}

/* Compares the case's figures with those of the same case in the lines of an earlier run. */
static void compare_case(const struct bench_case *what, const struct figures *figures,
                         struct dg_text_in *former)
{
    char key[1024];
    struct dg_span line;
    print_key(key, sizeof key, what);
    former->at = 0;
    while (dg_text_in_line(former, &line)) {
        static const char kind[] = "case=decode ";
        const size_t n_kind = sizeof kind - 1, n_key = strlen(key);
        if (line.len < n_kind + n_key + 1 || memcmp(line.ptr, kind, n_kind) != 0 ||
            memcmp(line.ptr + n_kind, key, n_key) != 0 || line.ptr[n_kind + n_key] != ' ')
            continue;
        printf("case=ratio %s", key);
#define PRINT(name, digits)                                                                        \
    if (figure_of(line, #name) > 0)                                                                \
        printf(" " #name "=%.3f", figures->name / figure_of(line, #name));
        FIGURES(PRINT)
#undef PRINT
        printf("\n");
        fflush(stdout);
        return;
    }
    printf("case=ratio %s former=none\n", key);
}

/* Runs a case; `done` gets its figures. */
static enum dg_err run_case(const struct bench_case *what, struct figures *done,
                            struct dg_error *error)
{
    size_t n_threads = (size_t)what->flags->threads, n_started = 0;
    struct runner *runners = dg_try_calloc(n_threads, sizeof *runners);
    enum dg_err err = runners ? DG_OK : DG_ERR_NOMEM;
    for (; !err && n_started < n_threads; n_started++) {
        runners[n_started].what = what;
        runners[n_started].index = (unsigned)n_started;
        runners[n_started].seed = (uint64_t)what->flags->seed + n_started;
        err = dg_err_from_errno(
            pthread_create(&runners[n_started].thread, NULL, run_thread, &runners[n_started]));
        if (err)
            break;
    }
    for (size_t i = 0; i < n_started; i++) {
        pthread_join(runners[i].thread, NULL);
        if (!err && runners[i].err) {
            err = runners[i].err;
            dg_error_set(error, err, "%s", dg_error_text(&runners[i].error, err));
        }
    }
    if (!err) {
        *done = figures_of(what, runners);
        print_case(what, runners, done);
    }
    dg_free(runners);
    return err;
}

/* ---- All cases ------------------------------------------------------------------------------- */

struct result {
    struct bench_case what;
    struct figures figures;
};

struct results {
    struct result list[RESULTS_MAX];
    size_t n;
};

/* Multiply-adds of the products for one target token: its share of the source's in the encoder (or
 * of the prompt's), and those of a row of the decoder, which has `beam` rows for it. */
struct work {
    double source, row;
};

/* Returns the multiplications for a token; zeros for recurrent networks, which are not counted
 * here. */
static struct work work_of_token(const struct bench_case *what)
{
    const struct dg_blueprint *bp = dg_net_blueprint(what->net);
    if (dg_blueprint_family(bp)->has_prompt) {
        const double D = (double)bp->D, A = (double)(bp->decoder.H * bp->lm.head),
                     K = (double)(bp->lm.kv_heads * bp->lm.head);
        const double layers =
            (double)bp->decoder.n_layers *
            (D * (2 * A + 2 * K) + (bp->lm.gated ? 3 : 2) * D * (double)bp->decoder.F);
        const double prompt =
            (double)(what->flags->source_len - 1) / (double)what->flags->target_len;
        return (struct work){prompt * layers, layers + D * (double)bp->decoder.V};
    }
    const double D = (double)bp->D, Fe = (double)bp->encoder.F, Fd = (double)bp->decoder.F;
    const double encoder = (double)bp->encoder.n_layers * (4 * D * D + 2 * D * Fe);
    if (dg_blueprint_family(bp)->has_head)
        return (struct work){encoder, 0};
    if (!dg_blueprint_family(bp)->has_cross_heads ||
        (bp->decoder_kind != DG_DECODER_ATTENTION && bp->decoder_kind != DG_DECODER_SSRU))
        return (struct work){0, 0};
    const double source = (double)what->flags->source_len / (double)what->flags->target_len;
    /* D by D matrices of the first sub-layer */
    const double first = bp->decoder_kind == DG_DECODER_SSRU ? 2 : 4;
    const double cross = (double)bp->decoder.n_layers * 2 * D * D;
    const double decoder = (double)bp->decoder.n_layers * ((first + 2) * D * D + 2 * D * Fd);
    return (struct work){source * (encoder + cross), decoder + D * (double)bp->decoder.V};
}

/* Bytes of the outermost cache that a core reaches. The C library may add up the caches of all
 * groups of cores. */
static double last_cache(void)
{
    unsigned long kib = 0;
    long bytes = 0;
    FILE *file = fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "re");
    if (file) {
        if (fscanf(file, "%lu", &kib) != 1)
            kib = 0;
        fclose(file);
    }
#ifdef _SC_LEVEL3_CACHE_SIZE
    bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
    return kib ? 1024.0 * (double)kib : bytes > 0 ? (double)bytes : 16.0 * 1024 * 1024;
}

/* Measures how many bytes per second the machine reads when it reads this many bytes again and
 * again. */
static double bandwidth(const struct dg_limits *limits, double bytes)
{
    if (bytes <= 512.0 * 1024)
        return 1e9 * limits->read_l2_gbs;
    return 1e9 * (bytes <= last_cache() ? limits->read_l3_gbs : limits->read_memory_gbs);
}

/* Prints what share a case reached of the limits of one thread, by its processor time: of the
 * processor's arithmetic, and of the limit that every step must read all weights once. */
static void print_share(const struct result *result, const struct dg_limits *limits)
{
    char key[1024];
    const struct bench_case *what = &result->what;
    const struct work work = work_of_token(what);
    const enum dg_packed_type type = dg_net_type(what->net);
    static const double element_bytes[] = {
        [DG_PACKED_F32] = 4, [DG_PACKED_BF16] = 2, [DG_PACKED_BF16_FAST] = 2, [DG_PACKED_I8] = 1};
    const double words = (double)what->beam * work.row, all = work.source + words;
    if (all <= 0 || what->lex) /* the words that a shortlist spares are not taken into account */
        return;
    const double arithmetic = 0.5e9 * (type == DG_PACKED_I8          ? limits->i8_gops
                                       : type == DG_PACKED_BF16_FAST ? limits->bf16_gflops
                                                                     : limits->f32_gflops);
    const double bytes = work.row * element_bytes[type];
    const double reading = bytes > 0 ? bytes / bandwidth(limits, bytes) / (double)what->batch : 0;
    const double step = words / arithmetic > reading ? words / arithmetic : reading;
    print_key(key, sizeof key, what);
    printf("case=share %s multiply_adds_per_token=%.0f bytes_per_step=%.0f of_arithmetic=%.3f "
           "of_machine=%.3f\n",
           key, all, bytes, all / arithmetic * result->figures.tokens_per_cpu_second,
           (work.source / arithmetic + step) * result->figures.tokens_per_cpu_second);
}

static enum dg_err print_limits(const struct results *results)
{
    struct dg_limits limits;
    enum dg_err err = dg_limits_measure(&limits);
    if (!err)
        printf(
            "case=limits kernels=%s f32_gflops=%.1f bf16_gflops=%.1f i8_gops=%.1f read_l2_gbs=%.1f "
            "read_l3_gbs=%.1f read_memory_gbs=%.1f\n",
            limits.kernels, limits.f32_gflops, limits.bf16_gflops, limits.i8_gops,
            limits.read_l2_gbs, limits.read_l3_gbs, limits.read_memory_gbs);
    for (size_t i = 0; !err && i < results->n; i++)
        print_share(&results->list[i], &limits);
    return err;
}

static enum dg_err make_net(const struct bench *flags, struct dg_net **net, struct dg_error *error)
{
    struct dg_net_opts opts = {.type = (enum dg_net_type)flags->type};
    if (*flags->random) {
        struct dg_blueprint bp;
        enum dg_err err = dg_net_random_shape(&bp, flags->random, error);
        return err ? err : dg_net_random(net, &bp, &opts, (uint64_t)flags->seed, error);
    }
    struct dg_model *model = NULL;
    enum dg_err err = dg_model_open(&model, flags->model, error);
    opts.model = model;
    if (!err)
        err = dg_net_new(net, dg_model_blueprint(model), dg_model_weights(model), &opts, error);
    dg_model_unref(model);
    return err;
}

static enum dg_err open_lex(const struct bench *flags, const struct dg_blueprint *bp,
                            struct dg_lexicon **lex, struct dg_error *error)
{
    enum dg_err err = dg_lexicon_open(lex, flags->model, bp->encoder.V, bp->decoder.V, error);
    if (!err && !*lex)
        err = dg_error_set(error, DG_ERR_NOT_FOUND, "%s has no lex.bin", flags->model);
    return err;
}

static enum dg_err read_number(const char *what, const char *text, long most, long *out,
                               struct dg_error *error)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (*end || value < 1 || value > most)
        return dg_error_set(error, DG_ERR_RANGE, "--%s: read '%s', expected a number from 1 to %ld",
                            what, text, most);
    *out = value;
    return DG_OK;
}

static enum dg_err run_cases(const struct bench *flags, const struct dg_net *net,
                             const struct dg_lexicon *lex, struct results *results,
                             struct dg_error *error)
{
    struct dg_text_in former = {.at = 0};
    if (flags->pin && !dg_cpu_may_pin())
        return dg_error_errno(error, "--pin: the system refuses it");
    enum dg_err err = *flags->compare ? dg_text_in_open(&former, flags->compare, error) : DG_OK;
    if (err)
        return err;
    for (size_t k = 0; !err && k < flags->beam.n; k++)
        for (size_t b = 0; !err && b < flags->batch.n; b++) {
            long batch = 0, beam = 0;
            err = read_number("batch", flags->batch.items[b], BATCH_MAX, &batch, error);
            if (!err)
                err = read_number("beam", flags->beam.items[k], DG_BEAM_MAX, &beam, error);
            const struct bench_case what = {flags, net, lex, (size_t)batch, (int)beam};
            struct figures figures;
            if (!err && results->n == RESULTS_MAX)
                err = dg_error_set(error, DG_ERR_LIMIT, "more than %d cases", (int)RESULTS_MAX);
            if (!err)
                err = run_case(&what, &figures, error);
            if (err)
                break;
            results->list[results->n++] = (struct result){what, figures};
            if (*flags->compare)
                compare_case(&what, &figures, &former);
        }
    if (*flags->compare)
        dg_text_in_close(&former);
    return err;
}

int dg_cmd_bench(int argc, char **argv)
{
    struct dg_opt_set *set = NULL;
    int exit_code = 0;
    if (!dg_opt_command(&table, argc, argv, &set, &exit_code))
        return exit_code;
    const struct bench *flags = dg_opt_values(set);
    struct dg_error error = DG_ERROR_NONE;
    struct dg_net *net = NULL;
    struct dg_lexicon *lex = NULL;
    struct dg_clock clock = DG_CLOCK_REAL;
    static struct results results; /* too large for the stack */
    enum dg_err err = DG_OK;
    results.n = 0;
    if (*flags->model || *flags->random) {
        uint64_t began = dg_clock_now(&clock);
        err = make_net(flags, &net, &error);
        if (!err && flags->shortlist)
            err = open_lex(flags, dg_net_blueprint(net), &lex, &error);
        if (!err)
            printf("case=load model=%s seconds=%.4f weights_mib=%.1f peak_mib=%.1f\n",
                   *flags->random ? flags->random : flags->model,
                   (double)(dg_clock_now(&clock) - began) / (double)DG_CLOCK_S,
                   (double)dg_net_bytes(net) / (1 << 20), peak_mib());
        if (!err)
            err = run_cases(flags, net, lex, &results, &error);
    }
    /* at the end, because the memory that this allocates must not count towards the peak of the
     * cases */
    if (!err && flags->limits)
        err = print_limits(&results);
    if (err)
        fprintf(stderr, "dragoman bench: %s\n", dg_error_text(&error, err));
    dg_net_free(net);
    dg_lexicon_close(lex);
    dg_opt_set_free(set);
    return err ? 1 : 0;
}
