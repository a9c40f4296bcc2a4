/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* A batch consists of waiting texts in order of arrival, as many as the encoder takes at once. They
 * are encoded together; then the head computes each result: for several texts together if all want
 * labels of whole texts, else text by text. A step does part of a batch, at least some rows of an
 * encoder stage or a few rows of a head; for a small network it does all of it. Texts of the batch
 * may be cancelled meanwhile; their rows remain in it. */
#include "decode/analyser.h"
#include "base/memory/mem.h"
#include "decode/decoder.h"

#include <math.h>
#include <string.h>

enum { HEAD_ROWS = 64, HEAD_ROWS_MIN = 4 }; /* places that go through a head together */

/* Work of one step: 20 to 35 ms of one core (docs/speed-log.md, "reading in turns"). */
static const uint64_t STEP_WORK = 1 << 30;

struct text {
    bool is_used;
    uint16_t generation; /* tells handles of former texts apart */
    uint64_t number;     /* number in the order of arrival */
    struct dg_decode_job job;
};

struct dg_analyser {
    const struct dg_net *net;
    const struct dg_blueprint *bp;
    struct dg_net_state *state;
    size_t source_max, batch_tokens, n_slots;
    struct text *texts; /* [n_slots] */
    size_t n_texts, capacity;
    uint64_t n_come;
    uint64_t step_work;
    /* Under way. */
    size_t batch[DG_DECODER_ADD_MAX]; /* [n_batch] slots */
    uint16_t generations[DG_DECODER_ADD_MAX];
    size_t n_batch; /* 0: nothing is under way */
    bool is_encoded;
    size_t n_said;   /* texts of the batch that have their results */
    size_t n_places; /* positions of the next text that have their results */
};

size_t dg_analysis_size(const struct dg_blueprint *bp, const struct dg_analysis *read, size_t n_src)
{
    const bool is_whole = !dg_blueprint_family(bp)->has_head || bp->enc.head == DG_HEAD_POOLED;
    switch (read->kind) {
    case DG_ANALYSIS_LABELS:
        return is_whole ? bp->decoder.V : n_src * bp->decoder.V;
    case DG_ANALYSIS_WORDS:
        return read->n_at * read->n_best;
    case DG_ANALYSIS_STATE:
        break;
    }
    return bp->D;
}

/* ---- Life ------------------------------------------------------------------------------------ */

static struct dg_net_limits net_limits(const struct dg_net *net,
                                       const struct dg_decoder_limits *limits)
{
    /* no state is kept between tokens */
    const bool is_enc = dg_blueprint_family(dg_net_blueprint(net))->has_head;
    return (struct dg_net_limits){.slots = limits->sentences,
                                  .lanes = 1,
                                  .rows = HEAD_ROWS,
                                  .source_len = limits->source_max,
                                  .target_len = 1,
                                  .kv_tokens = is_enc ? 0 : limits->kv_tokens};
}

enum dg_err dg_analyser_new(struct dg_analyser **out, const struct dg_net *net,
                            const struct dg_decoder_limits *limits, struct dg_error *error)
{
    const struct dg_net_limits wanted = net_limits(net, limits);
    struct dg_analyser *analyser = dg_try_calloc(1, sizeof *analyser);
    if (!analyser)
        return dg_error_set(error, DG_ERR_NOMEM, "no memory for an analyser");
    analyser->net = net;
    analyser->bp = dg_net_blueprint(net);
    analyser->source_max = limits->source_max;
    analyser->batch_tokens = limits->batch_tokens;
    analyser->n_slots = limits->sentences;
    analyser->step_work = limits->step_work ? limits->step_work : STEP_WORK;
    enum dg_err err = dg_net_state_new(&analyser->state, net, &wanted, error);
    if (!err && !(analyser->texts = dg_try_calloc(analyser->n_slots, sizeof *analyser->texts)))
        err = dg_error_set(error, DG_ERR_NOMEM, "no memory for an analyser of %zu texts",
                           analyser->n_slots);
    if (err) {
        dg_analyser_free(analyser);
        return err;
    }
    analyser->capacity = dg_net_room(analyser->state);
    *out = analyser;
    return DG_OK;
}

void dg_analyser_free(struct dg_analyser *analyser)
{
    if (!analyser)
        return;
    dg_net_state_free(analyser->state);
    dg_free(analyser->texts);
    dg_free(analyser);
}

void dg_analyser_lend(struct dg_analyser *analyser, struct dg_helpers *helpers)
{
    dg_net_state_lend(analyser->state, helpers);
}

enum dg_err dg_analyser_size(const struct dg_net *net, const struct dg_decoder_limits *limits,
                             size_t *bytes, struct dg_error *error)
{
    const struct dg_net_limits wanted = net_limits(net, limits);
    size_t state_bytes;
    enum dg_err err = dg_net_state_size(net, &wanted, &state_bytes, error);
    if (!err)
        *bytes = state_bytes + sizeof(struct dg_analyser) + limits->sentences * sizeof(struct text);
    return err;
}

/* ---- Coming and going ------------------------------------------------------------------------ */

static size_t need(const struct dg_analyser *analyser, const struct dg_decode_job *job)
{
    return dg_net_need(analyser->state, job->n_src, 1, 1);
}

/* Checks that the network has the head that the job needs. */
static enum dg_err check_kind(const struct dg_blueprint *bp, const struct dg_analysis *read,
                              struct dg_error *error)
{
    const bool is_enc = dg_blueprint_family(bp)->has_head;
    const enum dg_head head = is_enc ? bp->enc.head : DG_HEAD_POOLED;
    const bool fits = read->kind == DG_ANALYSIS_WORDS ? head == DG_HEAD_WORDS
                      : read->kind == DG_ANALYSIS_STATE
                          ? is_enc
                          : head != DG_HEAD_WORDS && head != DG_HEAD_NONE;
    return fits ? DG_OK
                : dg_error_set(error, DG_ERR_UNSUPPORTED,
                               "the model has no head for what is asked of it");
}

enum dg_err dg_analyser_check(const struct dg_analyser *analyser, const struct dg_decode_job *job,
                              struct dg_error *error)
{
    if (job->n_src == 0 || job->n_src > analyser->source_max)
        return dg_error_set(error, DG_ERR_RANGE, "the text has %zu tokens, expected 1 to %zu",
                            job->n_src, analyser->source_max);
    for (size_t i = 0; i < job->n_src; i++)
        if (job->src[i] < 0 || (size_t)job->src[i] >= analyser->bp->encoder.V)
            return dg_error_set(error, DG_ERR_RANGE, "id %zu is %ld, expected 0 to %zu", i,
                                (long)job->src[i], analyser->bp->encoder.V - 1);
    if (need(analyser, job) > analyser->capacity)
        return dg_error_set(error, DG_ERR_LIMIT,
                            "a text of %zu tokens does not fit into %zu cached positions",
                            job->n_src, analyser->capacity);
    if (!job->read)
        return DG_OK; /* this was checked beforehand */
    for (size_t i = 0; i < job->read->n_at; i++)
        if (job->read->at[i] >= job->n_src)
            return dg_error_set(error, DG_ERR_RANGE, "place %zu is %u, expected less than %zu", i,
                                (unsigned)job->read->at[i], job->n_src);
    if (job->read->n_best > DG_ANALYSIS_BEST_MAX)
        return dg_error_set(error, DG_ERR_RANGE,
                            "%zu words for a masked place, expected at most %d", job->read->n_best,
                            DG_ANALYSIS_BEST_MAX);
    return check_kind(analyser->bp, job->read, error);
}

size_t dg_analyser_n_fitting(const struct dg_analyser *analyser, const struct dg_decode_job *jobs,
                             size_t n)
{
    const size_t n_slots = analyser->n_slots - analyser->n_texts;
    size_t n_tokens = analyser->batch_tokens, room = dg_net_room(analyser->state), fitting = 0;
    for (; fitting < n && fitting < n_slots; fitting++) {
        const size_t wanted = need(analyser, &jobs[fitting]);
        if (jobs[fitting].n_src > n_tokens || wanted > room)
            break;
        n_tokens -= jobs[fitting].n_src;
        room -= wanted;
    }
    return fitting;
}

static void release(struct dg_analyser *analyser, struct text *text)
{
    dg_net_close(analyser->state, (size_t)(text - analyser->texts));
    text->is_used = false;
    text->generation++;
    analyser->n_texts--;
}

/* Gives `job` a free slot. */
static enum dg_err occupy(struct dg_analyser *analyser, const struct dg_decode_job *job,
                          size_t *slot)
{
    size_t s = 0;
    while (s < analyser->n_slots && analyser->texts[s].is_used)
        s++;
    const enum dg_err err = dg_net_open(analyser->state, s, job->n_src, 1, 1);
    if (err)
        return err;
    struct text *text = &analyser->texts[s];
    text->is_used = true;
    text->job = *job;
    text->number = analyser->n_come++;
    analyser->n_texts++;
    *slot = s;
    return DG_OK;
}

enum dg_err dg_analyser_add(struct dg_analyser *analyser, const struct dg_decode_job *jobs,
                            size_t n, uint32_t *handles, struct dg_error *error)
{
    size_t taken[DG_DECODER_ADD_MAX], n_taken = 0;
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < n && !err; i++)
        err = jobs[i].read
                  ? dg_analyser_check(analyser, &jobs[i], error)
                  : dg_error_set(error, DG_ERR_INVALID, "the model reads texts and generates none");
    if (err)
        return err;
    if (n > DG_DECODER_ADD_MAX || dg_analyser_n_fitting(analyser, jobs, n) < n)
        return dg_error_set(error, DG_ERR_BUSY, "no room for %zu more texts beside %zu", n,
                            analyser->n_texts);
    for (; n_taken < n && !err; n_taken += !err) {
        err = occupy(analyser, &jobs[n_taken], &taken[n_taken]);
        if (!err && handles)
            handles[n_taken] = (uint32_t)analyser->texts[taken[n_taken]].generation << 16 |
                               (uint32_t)taken[n_taken];
    }
    while (err && n_taken > 0)
        release(analyser, &analyser->texts[taken[--n_taken]]);
    return err ? dg_error_set(error, err, "%zu texts could not be started: %s", n,
                              dg_err_sentence(err))
               : DG_OK;
}

bool dg_analyser_cancel(struct dg_analyser *analyser, uint32_t handle)
{
    const size_t s = handle & 0xFFFF;
    if (s >= analyser->n_slots || !analyser->texts[s].is_used ||
        analyser->texts[s].generation != handle >> 16)
        return false;
    const struct dg_decode_job job = analyser->texts[s].job;
    release(analyser, &analyser->texts[s]);
    job.events->on_read(job.ctx, DG_ERR_CANCELLED);
    return true;
}

size_t dg_analyser_n_texts(const struct dg_analyser *analyser)
{
    return analyser->n_texts;
}

/* ---- A step ---------------------------------------------------------------------------------- */

/* Returns the oldest text that is not in the batch yet; n_slots: there is none. */
static size_t next_text(const struct dg_analyser *analyser, uint64_t from)
{
    size_t best = analyser->n_slots;
    for (size_t s = 0; s < analyser->n_slots; s++)
        if (analyser->texts[s].is_used && analyser->texts[s].number >= from &&
            (best == analyser->n_slots || analyser->texts[s].number < analyser->texts[best].number))
            best = s;
    return best;
}

static void gather(struct dg_analyser *analyser)
{
    size_t left = dg_net_state_limits(analyser->state)->encode_tokens;
    uint64_t from = 0;
    analyser->n_batch = 0;
    while (analyser->n_batch < DG_DECODER_ADD_MAX) {
        const size_t s = next_text(analyser, from);
        if (s == analyser->n_slots || analyser->texts[s].job.n_src > left)
            return;
        left -= analyser->texts[s].job.n_src;
        from = analyser->texts[s].number + 1;
        analyser->generations[analyser->n_batch] = analyser->texts[s].generation;
        analyser->batch[analyser->n_batch++] = s;
    }
}

/* Returns the job of the batch's text `i`; NULL when it was cancelled. */
static const struct dg_decode_job *job_of(const struct dg_analyser *analyser, size_t i)
{
    const struct text *text = &analyser->texts[analyser->batch[i]];
    return text->is_used && text->generation == analyser->generations[i] ? &text->job : NULL;
}

static bool is_whole(const struct dg_analyser *analyser, const struct dg_analysis *read)
{
    return read->kind == DG_ANALYSIS_LABELS && (!dg_blueprint_family(analyser->bp)->has_head ||
                                                analyser->bp->enc.head == DG_HEAD_POOLED);
}

/* Writes row `row` of the last product as labels. */
static void take_labels(struct dg_analyser *analyser, const struct dg_analysis *read, size_t row,
                        float *values)
{
    const size_t n = analyser->bp->decoder.V;
    memcpy(values, dg_net_logits(analyser->state, row), n * sizeof *values);
    if (read->probabilities)
        dg_net_kernels(analyser->net)->softmax(values, n);
}

/* The same, as words. */
static void take_words(struct dg_analyser *analyser, const struct dg_analysis *read, size_t row,
                       size_t place)
{
    struct dg_top top[DG_ANALYSIS_BEST_MAX];
    size_t n = 0;
    const float sum = dg_net_kernels(analyser->net)
                          ->log_sum_exp_top(dg_net_logits(analyser->state, row),
                                            analyser->bp->decoder.V, read->n_best, top, &n);
    for (size_t k = 0; k < read->n_best; k++) {
        read->ids[place * read->n_best + k] = k < n ? (int32_t)top[k].index : DG_ID_NONE;
        read->values[place * read->n_best + k] = isnan(sum) ? sum
                                                 : k < n    ? expf(top[k].value - sum)
                                                            : 0.0f;
    }
}

/* Computes labels of whole texts, for all texts that want them. */
static enum dg_err read_wholes(struct dg_analyser *analyser)
{
    const bool is_enc = dg_blueprint_family(analyser->bp)->has_head;
    enum dg_err err = DG_OK;
    for (size_t first = 0, next; first < analyser->n_batch && !err; first = next) {
        struct dg_net_place places[HEAD_ROWS];
        struct dg_net_row rows[HEAD_ROWS];
        size_t of[HEAD_ROWS], n = 0;
        for (next = first; next < analyser->n_batch && n < HEAD_ROWS; next++) {
            const struct dg_decode_job *job = job_of(analyser, next);
            if (!job || !is_whole(analyser, job->read))
                continue;
            places[n] = (struct dg_net_place){(uint32_t)next, 0};
            rows[n] = (struct dg_net_row){
                .slot = (uint32_t)analyser->batch[next], .token = DG_ID_NONE, .want_logits = true};
            of[n++] = next;
        }
        if (n)
            err = is_enc ? dg_net_head(analyser->state, places, n)
                         : dg_net_step(analyser->state,
                                       &(struct dg_net_step){.rows = rows, .n_rows = n});
        for (size_t i = 0; i < n && !err; i++)
            take_labels(analyser, job_of(analyser, of[i])->read, i,
                        job_of(analyser, of[i])->read->values);
    }
    return err;
}

static void read_state(const struct dg_analyser *analyser, size_t i)
{
    const struct dg_decode_job *job = job_of(analyser, i);
    const size_t D = analyser->bp->D, n = job->read->first ? 1 : job->n_src;
    const float *states = dg_net_encoded(analyser->state, i);
    for (size_t d = 0; d < D; d++) {
        double sum = 0;
        for (size_t t = 0; t < n; t++)
            sum += (double)states[t * D + d];
        job->read->values[d] = (float)(sum / (double)n);
    }
}

/* Returns how many rows may go through the head within `work`. */
static size_t rows_within(const struct dg_analyser *analyser, uint64_t work)
{
    const uint64_t of_each =
        (uint64_t)analyser->bp->D * (analyser->bp->D + analyser->bp->decoder.V);
    const uint64_t n = work / of_each;
    return n < HEAD_ROWS_MIN ? HEAD_ROWS_MIN : n > HEAD_ROWS ? HEAD_ROWS : (size_t)n;
}

/* Computes the next positions of one text: words at the requested positions, or labels at every
 * position. Sets *done when no position is left. */
static enum dg_err read_places(struct dg_analyser *analyser, size_t i, uint64_t *work, bool *done)
{
    const struct dg_decode_job *job = job_of(analyser, i);
    const struct dg_analysis *read = job->read;
    const bool is_words = read->kind == DG_ANALYSIS_WORDS;
    const size_t V = analyser->bp->decoder.V, first = analyser->n_places,
                 most = rows_within(analyser, *work);
    const size_t n_left = (is_words ? read->n_at : job->n_src) - first,
                 n = n_left < most ? n_left : most;
    const uint64_t used = (uint64_t)n * analyser->bp->D * (analyser->bp->D + V);
    struct dg_net_place places[HEAD_ROWS];
    for (size_t k = 0; k < n; k++)
        places[k] = (struct dg_net_place){(uint32_t)i,
                                          is_words ? read->at[first + k] : (uint32_t)(first + k)};
    const enum dg_err err = n ? dg_net_head(analyser->state, places, n) : DG_OK;
    for (size_t k = 0; k < n && !err; k++)
        if (is_words)
            take_words(analyser, read, k, first + k);
        else
            take_labels(analyser, read, k, read->values + (first + k) * V);
    *work -= used < *work ? used : *work;
    *done = n == n_left;
    analyser->n_places = *done ? 0 : first + n;
    return err;
}

/* Takes the next batch and begins to encode it. A recurrent network is small and reads at once. */
static enum dg_err begin_batch(struct dg_analyser *analyser)
{
    struct dg_net_source sources[DG_DECODER_ADD_MAX];
    gather(analyser);
    for (size_t i = 0; i < analyser->n_batch; i++)
        sources[i] = (struct dg_net_source){analyser->batch[i], job_of(analyser, i)->src,
                                            job_of(analyser, i)->read->second};
    analyser->n_said = analyser->n_places = 0;
    analyser->is_encoded = !dg_blueprint_family(analyser->bp)->has_head;
    return analyser->n_batch == 0 ? DG_OK
           : analyser->is_encoded
               ? dg_net_encode(analyser->state, sources, analyser->n_batch)
               : dg_net_encode_begin(analyser->state, sources, analyser->n_batch);
}

/* Continues the batch within the step's work; *done when all of it is read. */
static enum dg_err read_on(struct dg_analyser *analyser, bool *done)
{
    uint64_t work = analyser->step_work;
    enum dg_err err = DG_OK;
    if (!analyser->is_encoded)
        analyser->is_encoded = dg_net_encode_more(analyser->state, &work);
    while (analyser->is_encoded && analyser->n_said < analyser->n_batch && work > 0 && !err) {
        const struct dg_decode_job *job = job_of(analyser, analyser->n_said);
        bool is_said = true;
        if (job && job->read->kind == DG_ANALYSIS_STATE)
            read_state(analyser, analyser->n_said);
        else if (job && !is_whole(analyser, job->read))
            err = read_places(analyser, analyser->n_said, &work, &is_said);
        if (!job || is_said)
            /* so that nothing remains of a text that was cancelled half-way */
            analyser->n_places = 0;
        analyser->n_said += is_said;
    }
    *done = analyser->is_encoded && analyser->n_said == analyser->n_batch;
    return *done && !err ? read_wholes(analyser) : err;
}

static bool is_deserted(const struct dg_analyser *analyser)
{
    size_t i = 0;
    while (i < analyser->n_batch && !job_of(analyser, i))
        i++;
    return i == analyser->n_batch;
}

size_t dg_analyser_step(struct dg_analyser *analyser)
{
    bool is_done = false;
    if (is_deserted(analyser))
        analyser->n_batch = 0;
    enum dg_err err = analyser->n_batch ? DG_OK : begin_batch(analyser);
    const size_t n = analyser->n_batch;
    if (n == 0)
        return 0;
    if (!err)
        err = read_on(analyser, &is_done);
    if (!err && !is_done)
        return n;
    for (size_t i = 0; i < n; i++) {
        const struct dg_decode_job *job = job_of(analyser, i);
        if (!job)
            continue; /* cancelled, perhaps from inside a callback */
        const struct dg_decode_job copy = *job;
        release(analyser, &analyser->texts[analyser->batch[i]]);
        copy.events->on_read(copy.ctx, err);
    }
    analyser->n_batch = 0;
    return n;
}
