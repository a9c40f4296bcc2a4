/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Continuous decoding: slots, each with one sentence's search, over one worker's network state.
 *
 * A step gathers one row per live hypothesis of every slot (slots take turns when there are many),
 * runs the network once, and gives each search its rows. Hypothesis i of a search is lane i of the
 * network's slot. A beam is reordered by naming parents, so nothing is copied. The order of slots
 * and rows does not matter, because no row's arithmetic depends on another row. */
#include "decode/decoder.h"
#include "base/memory/bounds.h"
#include "base/memory/mem.h"
#include "decode/attention_anchor.h"
#include "decode/shortlist.h"

#include <string.h>

enum {
    /* beyond 8 rows, the time of a step grows in proportion to its rows, so that more rows gain
     * little */
    STEP_ROWS = 32,
    PROMPT_TOKENS = 256, /* prompt tokens that one step reads besides its rows, which bounds how
                            long the next token waits */
    /* a sentence that has shown nothing after this many steps loses its precedence */
    FIRST_STEPS = 24,
    /* a client that has had this many more rows than another client waits for that client */
    LEAD_ROWS = 16,
    /* the same before the first token of an urgent sentence, which takes about 26 rows with a beam
     * of 4 */
    FIRST_LEAD_ROWS = 48,
    /* a step is filled up to this many rows all the same, because they hardly make it longer */
    FEW_ROWS = 8,
    /* a client begins no more sentences while it is this many rows and source tokens ahead of
     * another client */
    LEAD_WORK = 64,
};

/* Which sentences go first in a step; see gather. */
enum turn { FIRST_WORD, LATER, N_TURNS };

/* A client. Its work is counted from the level that the others had when it came. A client without
 * sentences under way is remembered while others have some, if there is room, so that a client that
 * was ahead is still ahead when it comes again. */
struct account {
    uint64_t client, n_rows_done;
    uint64_t work_done; /* source tokens, and rows as `charge` counts them */
    size_t n_sentences;
    size_t n_rows, n_positions; /* numbers that are reserved */
    uint64_t lead;              /* in this step, the rows that it has had more than another */
};

struct slot {
    bool is_used;
    uint16_t generation; /* tells handles of former sentences apart */
    struct dg_search *search;
    struct dg_decode_job job;
    struct dg_search_opts opts; /* the job's options, completed by what the model requires */
    int32_t *words;             /* owned; the forced prefix and then the shortlist of `opts` */
    struct dg_search_move moves[DG_BEAM_MAX];
    int n_rows;
    size_t position; /* position of its rows in the network: `lead` comes first, then the target */
    size_t n_told;   /* tokens that were passed to on_tokens */
    uint64_t n_turn; /* the last step in which its rows were computed */
    size_t width;    /* rows reserved */
    size_t n_reserved; /* cached positions */
    struct account *account;
    bool is_listed;     /* its words are part of the union of shortlists */
    bool is_reading;    /* a language model still reads the prompt, before any row */
    uint64_t n_arrival; /* number that shows the order of arrival */
    bool has_ties;      /* some constraints name their source tokens */
    bool is_stopped;    /* cancelled from inside a callback */
    float *alignment;   /* owned; [cap, width, n_src] or NULL */
};

struct dg_decoder {
    struct dg_analyser *analyser; /* not NULL: it does all the work, and of the members below
                                 only the limits are used */
    const struct dg_net *net;
    const struct dg_blueprint *bp;
    struct dg_net_state *state;
    struct dg_search_scratch *scratch;
    struct dg_decoder_limits limits;
    struct slot *slots;              /* [limits.sentences] */
    struct account *accounts;        /* [limits.sentences] */
    struct dg_net_row *rows;         /* [limits.rows] */
    struct dg_sampling_parts *parts; /* [limits.rows] */
    struct dg_shortlist shortlist;
    float *row; /* owned; [V] the logits of one sentence, taken from the columns of the union */
    size_t capacity; /* cached positions that are free when nothing is under way */
    size_t n_sentences;
    size_t n_reserved;    /* rows that the sentences under way may need */
    uint64_t n_turns;     /* steps so far */
    uint64_t n_arrivals;  /* sentences so far */
    size_t next[N_TURNS]; /* for each kind, the slot whose turn it is */
    bool is_stepping;
    bool is_union; /* the last step's logits have the columns of the shortlists' union */
};

/* ---- Life ------------------------------------------------------------------------------------ */

static size_t step_rows(const struct dg_decoder_limits *limits)
{
    return limits->step_rows ? limits->step_rows : STEP_ROWS;
}

static struct dg_net_limits net_limits(const struct dg_net *net,
                                       const struct dg_decoder_limits *limits)
{
    /* room for more than step_rows, because the rows of a sentence are not divided */
    size_t step_most = step_rows(limits) + 2 * DG_BEAM_MAX;
    return (struct dg_net_limits){
        .slots = limits->sentences,
        .lanes = limits->rows < DG_BEAM_MAX ? limits->rows : DG_BEAM_MAX,
        .rows = limits->rows < step_most ? limits->rows : step_most,
        .source_len = limits->source_max,
        .target_len = limits->target_max,
        .kv_tokens = limits->kv_tokens,
        .kv = limits->kv,
        .shortlist = dg_shortlist_columns(limits->lex, dg_net_blueprint(net)),
    };
}

static enum dg_err check_limits(const struct dg_decoder_limits *limits, struct dg_error *error)
{
    if (limits->sentences == 0 || limits->sentences > UINT16_MAX || limits->rows == 0 ||
        limits->source_max == 0 || limits->target_max == 0 || limits->target_max > DG_TARGET_MAX ||
        limits->batch_tokens < limits->source_max)
        return dg_error_set(
            error, DG_ERR_RANGE,
            "decoder limits: %zu sentences, %zu rows, sources of %zu, targets of %zu, "
            "batches of %zu tokens; expected 1 to 65535 sentences, 1 or more of all, "
            "targets of at most %d and batches of at least one source",
            limits->sentences, limits->rows, limits->source_max, limits->target_max,
            limits->batch_tokens, DG_TARGET_MAX);
    return DG_OK;
}

enum dg_err dg_decoder_new(struct dg_decoder **decoder, const struct dg_net *net,
                           const struct dg_decoder_limits *limits, struct dg_error *error)
{
    enum dg_err err = check_limits(limits, error);
    if (err)
        return err;
    struct dg_decoder *made = dg_try_calloc(1, sizeof *made);
    if (!made)
        return dg_error_set(error, DG_ERR_NOMEM, "no memory for a decoder");
    made->net = net;
    made->bp = dg_net_blueprint(net);
    made->limits = *limits;
    if (dg_blueprint_is_reader(made->bp)) {
        err = dg_analyser_new(&made->analyser, net, limits, error);
        goto out;
    }
    made->limits.step_rows = step_rows(limits);
    made->limits.step_prompt = limits->step_prompt ? limits->step_prompt : PROMPT_TOKENS;
    struct dg_net_limits wanted = net_limits(net, limits);
    const struct dg_stack *stack = &made->bp->decoder;
    if (!limits->alignment_layer && !limits->alignment_head) {
        made->limits.alignment_layer = made->bp->alignment_layer;
        made->limits.alignment_head = made->bp->alignment_head;
    }
    if (limits->alignment_layer > stack->n_layers || limits->alignment_head > stack->H)
        err = dg_error_set(
            error, DG_ERR_RANGE,
            "alignment by layer %zu, head %zu was asked for; the decoder has %zu layers of "
            "%zu heads",
            limits->alignment_layer, limits->alignment_head, stack->n_layers, stack->H);
    if (!err)
        err = dg_net_state_new(&made->state, net, &wanted, error);
    if (err)
        goto out;
    made->capacity = dg_net_room(made->state);
    made->scratch = dg_search_scratch_new(dg_net_kernels(net), made->bp->decoder.V);
    made->slots = dg_try_calloc(limits->sentences, sizeof *made->slots);
    made->accounts = dg_try_calloc(limits->sentences, sizeof *made->accounts);
    made->rows = dg_try_calloc(limits->rows, sizeof *made->rows);
    made->parts = dg_try_calloc(limits->rows, sizeof *made->parts);
    made->row = dg_try_calloc(made->bp->decoder.V, sizeof *made->row);
    bool is_whole = made->scratch && made->parts && made->slots && made->accounts && made->rows &&
                    made->row &&
                    dg_shortlist_init(&made->shortlist, limits->lex, made->bp) == DG_OK;
    for (size_t i = 0; is_whole && i < limits->sentences; i++)
        is_whole = (made->slots[i].search = dg_search_new()) != NULL;
    if (!is_whole)
        err = dg_error_set(error, DG_ERR_NOMEM, "no memory for a decoder of %zu sentences",
                           limits->sentences);
out:
    if (err) {
        dg_decoder_free(made);
        return err;
    }
    *decoder = made;
    return DG_OK;
}

/* Frees a slot and all that it holds. */
static void release(struct dg_decoder *decoder, struct slot *slot)
{
    dg_net_close(decoder->state, (size_t)(slot - decoder->slots));
    if (slot->is_listed)
        dg_shortlist_leave(&decoder->shortlist, slot->opts.shortlist, slot->opts.n_shortlist);
    slot->is_listed = false;
    dg_free(slot->words);
    dg_free(slot->alignment);
    slot->words = NULL;
    slot->alignment = NULL;
    slot->is_used = false;
    slot->generation++;
    decoder->n_reserved -= slot->width;
    slot->account->n_sentences--;
    slot->account->n_rows -= slot->width;
    slot->account->n_positions -= slot->n_reserved;
    if (--decoder->n_sentences == 0)
        memset(decoder->accounts, 0, decoder->limits.sentences * sizeof *decoder->accounts);
}

void dg_decoder_free(struct dg_decoder *decoder)
{
    if (!decoder)
        return;
    dg_analyser_free(decoder->analyser);
    for (size_t i = 0; decoder->slots && i < decoder->limits.sentences; i++) {
        if (decoder->slots[i].is_used)
            release(decoder, &decoder->slots[i]);
        dg_search_free(decoder->slots[i].search);
    }
    dg_free(decoder->slots);
    dg_free(decoder->accounts);
    dg_free(decoder->rows);
    dg_free(decoder->parts);
    dg_free(decoder->row);
    dg_shortlist_deinit(&decoder->shortlist);
    dg_search_scratch_free(decoder->scratch);
    dg_net_state_free(decoder->state);
    dg_free(decoder);
}

void dg_decoder_lend(struct dg_decoder *decoder, struct dg_helpers *helpers)
{
    if (decoder->analyser)
        dg_analyser_lend(decoder->analyser, helpers);
    else
        dg_net_state_lend(decoder->state, helpers);
}

enum dg_err dg_decoder_size(const struct dg_net *net, const struct dg_decoder_limits *limits,
                            size_t *bytes, struct dg_error *error)
{
    enum dg_err err = check_limits(limits, error);
    if (err)
        return err;
    if (dg_blueprint_is_reader(dg_net_blueprint(net)))
        return dg_analyser_size(net, limits, bytes, error);
    struct dg_net_limits wanted = net_limits(net, limits);
    size_t state_bytes;
    err = dg_net_state_size(net, &wanted, &state_bytes, error);
    if (err)
        return err;
    /* Paths of tokens: at most two live generations, and the kept answers of every row. */
    size_t per_row = 3 * limits->target_max * (2 * sizeof(int32_t) + sizeof(int16_t));
    *bytes =
        state_bytes +
        limits->rows * (per_row + sizeof(struct dg_net_row) + sizeof(struct dg_sampling_parts)) +
        limits->sentences * (sizeof(struct slot) + sizeof(struct account)) +
        12 * dg_net_blueprint(net)->decoder.V +
        dg_shortlist_bytes(limits->lex, dg_net_blueprint(net));
    return DG_OK;
}

/* ---- Adding sentences ------------------------------------------------------------------------ */

static size_t target_cap(const struct dg_decoder *decoder, const struct dg_decode_job *job)
{
    size_t cap = (size_t)dg_search_opts_cap(job->opts, job->n_src), n_lead = job->opts->n_lead;
    size_t most = decoder->limits.target_max > n_lead ? decoder->limits.target_max - n_lead : 0;
    cap = cap < most ? cap : most;
    if (!dg_blueprint_family(decoder->bp)->has_prompt)
        return cap;
    /* the last token of the prompt gives the first token of the answer */
    size_t left = decoder->bp->lm.context + 1 - job->n_src;
    return cap < left ? cap : left;
}

/* Returns the positions that the network needs for a target of `cap` tokens: at least one, plus
 * those of `lead`. */
static size_t n_positions(const struct dg_decode_job *job, size_t cap)
{
    return (cap ? cap : 1) + job->opts->n_lead;
}

enum dg_err dg_decoder_check(const struct dg_decoder *decoder, const struct dg_decode_job *job,
                             struct dg_error *error)
{
    if (decoder->analyser)
        return dg_analyser_check(decoder->analyser, job, error);
    if (job->n_src == 0 || job->n_src > decoder->limits.source_max)
        return dg_error_set(error, DG_ERR_RANGE, "the source has %zu tokens, expected 1 to %zu",
                            job->n_src, decoder->limits.source_max);
    for (size_t i = 0; i < job->n_src; i++)
        if (job->src[i] < 0 || (size_t)job->src[i] >= decoder->bp->encoder.V)
            return dg_error_set(error, DG_ERR_RANGE, "source id %zu is %ld, expected 0 to %zu", i,
                                (long)job->src[i], decoder->bp->encoder.V - 1);
    if ((size_t)dg_search_width(job->opts) > decoder->limits.rows)
        return dg_error_set(error, DG_ERR_LIMIT,
                            "%d hypotheses were asked for, expected at most %zu",
                            dg_search_width(job->opts), decoder->limits.rows);
    enum dg_err err = dg_search_opts_check(job->opts, decoder->bp->decoder.V, error);
    if (err)
        return err;
    if (job->opts->n_lead >= decoder->limits.target_max)
        return dg_error_set(error, DG_ERR_RANGE,
                            "the target is to begin with %zu given tokens, expected fewer than the "
                            "longest target, %zu",
                            job->opts->n_lead, decoder->limits.target_max);
    if (dg_blueprint_family(decoder->bp)->has_prompt) {
        if (job->opts->n_lead > 0)
            return dg_error_set(error, DG_ERR_UNSUPPORTED,
                                "a language model has no start token, so its answer cannot begin "
                                "with given tokens");
        if (job->opts->want_alignment || job->opts->coverage_penalty > 0 ||
            dg_attention_anchor_any(job->opts))
            return dg_error_set(error, DG_ERR_UNSUPPORTED,
                                "a language model has no attention over a source, so it has no "
                                "alignment, coverage penalty or bound phrases");
        if (job->n_src > decoder->bp->lm.context)
            return dg_error_set(error, DG_ERR_RANGE,
                                "the prompt has %zu tokens, expected at most %zu", job->n_src,
                                decoder->bp->lm.context);
    }
    size_t cap = target_cap(decoder, job);
    size_t need = dg_net_need(decoder->state, job->n_src, (size_t)dg_search_width(job->opts),
                              n_positions(job, cap));
    if (need > decoder->capacity)
        return dg_error_set(
            error, DG_ERR_LIMIT,
            "a source of %zu tokens with %d hypotheses of up to %zu needs %zu cached "
            "positions, there are %zu; ask for a smaller beam or a shorter target",
            job->n_src, dg_search_width(job->opts), cap, need, decoder->capacity);
    return DG_OK;
}

static size_t n_needed(const struct dg_decoder *decoder, const struct dg_decode_job *job)
{
    return dg_net_need(decoder->state, job->n_src, (size_t)dg_search_width(job->opts),
                       n_positions(job, target_cap(decoder, job)));
}

size_t dg_decoder_cache_bytes(const struct dg_decoder *decoder, const struct dg_decode_job *job)
{
    return decoder->analyser ? 0 : n_needed(decoder, job) * dg_net_position_bytes(decoder->state);
}

/* Returns the fewest rows that a client with sentences under way has had. */
static uint64_t fewest_rows_done(const struct dg_decoder *decoder)
{
    uint64_t fewest = UINT64_MAX;
    for (size_t i = 0; i < decoder->limits.sentences; i++)
        if (decoder->accounts[i].n_sentences > 0 && decoder->accounts[i].n_rows_done < fewest)
            fewest = decoder->accounts[i].n_rows_done;
    return fewest == UINT64_MAX ? 0 : fewest;
}

/* Returns the least work that was done for a client with sentences under way; 0 when there is
 * none. */
static uint64_t least_work_done(const struct dg_decoder *decoder)
{
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < decoder->limits.sentences; i++)
        if (decoder->accounts[i].n_sentences > 0 && decoder->accounts[i].work_done < least)
            least = decoder->accounts[i].work_done;
    return least == UINT64_MAX ? 0 : least;
}

/* Returns true for the account of `client`. An account that is not in use is zeroed. */
static bool is_of(const struct account *account, uint64_t client)
{
    return account->client == client && (account->n_sentences > 0 || account->work_done > 0);
}

/* Returns a client's account as it is when another sentence of the client begins; the account may
 * have been forgotten. */
static struct account account_now(const struct dg_decoder *decoder, uint64_t client)
{
    struct account now = {.client = client};
    for (size_t i = 0; i < decoder->limits.sentences; i++)
        if (is_of(&decoder->accounts[i], client))
            now = decoder->accounts[i];
    if (now.n_sentences == 0) {
        now.n_rows_done = dg_most(now.n_rows_done, fewest_rows_done(decoder));
        now.work_done = dg_most(now.work_done, least_work_done(decoder));
    }
    return now;
}

/* Returns what the client of jobs[n] has under way, including its jobs before that one. */
static struct account account_with(const struct dg_decoder *decoder,
                                   const struct dg_decode_job *jobs, size_t n)
{
    struct account sum = account_now(decoder, jobs[n].client);
    for (size_t i = 0; i < n; i++)
        if (jobs[i].client == sum.client) {
            sum.work_done += jobs[i].n_src;
            sum.n_sentences++;
            sum.n_rows += (size_t)dg_search_width(jobs[i].opts);
            sum.n_positions += n_needed(decoder, &jobs[i]);
        }
    return sum;
}

/* Returns whether more work was done for the client of jobs[n] than for another client that has
 * sentences under way, or a job before that one. */
static bool has_lead(const struct dg_decoder *decoder, const struct dg_decode_job *jobs, size_t n,
                     const struct account *own)
{
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < decoder->limits.sentences; i++) {
        const struct account *other = &decoder->accounts[i];
        if (other->n_sentences > 0 && other->client != own->client && other->work_done < least)
            least = other->work_done;
    }
    for (size_t i = 0; i < n; i++)
        if (jobs[i].client != own->client && least > least_work_done(decoder))
            least = least_work_done(decoder); /* where newcomers begin */
    return least != UINT64_MAX && own->work_done >= least + LEAD_WORK;
}

static bool is_too_much(size_t n, size_t all)
{
    return n > all - all / 4;
}

/* Keeps out sentences of a client that has had more than others whose sentences are under way, and
 * sentences that would leave others less than a quarter of the room, unless they are the first of
 * their client. */
bool dg_decoder_keeps_out(const struct dg_decoder *decoder, const struct dg_decode_job *jobs,
                          size_t n)
{
    if (decoder->analyser)
        return false;
    const struct account own = account_with(decoder, jobs, n);
    if (own.client == 0)
        return false;
    return has_lead(decoder, jobs, n, &own) ||
           (own.n_sentences > 0 &&
            (is_too_much(own.n_sentences + 1, decoder->limits.sentences) ||
             is_too_much(own.n_rows + (size_t)dg_search_width(jobs[n].opts),
                         decoder->limits.rows) ||
             is_too_much(own.n_positions + n_needed(decoder, &jobs[n]), decoder->capacity)));
}

size_t dg_decoder_n_fitting(const struct dg_decoder *decoder, const struct dg_decode_job *jobs,
                            size_t n)
{
    if (decoder->analyser)
        return dg_analyser_n_fitting(decoder->analyser, jobs, n);
    size_t n_slots = decoder->limits.sentences - decoder->n_sentences;
    size_t n_rows = decoder->limits.rows - decoder->n_reserved;
    size_t n_tokens = decoder->limits.batch_tokens;
    size_t room = dg_net_room(decoder->state);
    size_t fitting = 0;
    for (; fitting < n && fitting < n_slots; fitting++) {
        const struct dg_decode_job *job = &jobs[fitting];
        size_t width = (size_t)dg_search_width(job->opts), need = n_needed(decoder, job);
        if (width > n_rows || job->n_src > n_tokens || need > room ||
            dg_decoder_keeps_out(decoder, jobs, fitting))
            break;
        n_rows -= width;
        n_tokens -= job->n_src;
        room -= need;
    }
    return fitting;
}

/* Adds an id to an ascending list that has room for it. */
static size_t insert_id(int32_t *ids, size_t n, int32_t id)
{
    size_t at = n;
    while (at > 0 && ids[at - 1] >= id)
        at--;
    if (at < n && ids[at] == id)
        return n;
    memmove(ids + at + 1, ids + at, (n - at) * sizeof *ids);
    ids[at] = id;
    return n + 1;
}

static size_t n_constraint_ids(const struct dg_search_opts *opts)
{
    size_t n = 0;
    for (size_t i = 0; i < opts->n_constraints; i++)
        for (size_t f = 0; f < opts->constraints[i].n_forms; f++)
            n += opts->constraints[i].forms[f].n_ids;
    return n;
}

/* Adds to the options what the model requires (a first token that names the language) and its
 * shortlist; adds to a shortlist the words that must be possible: the end token, the forced words
 * and those of constraints. */
static enum dg_err complete_opts(struct dg_decoder *decoder, struct slot *slot)
{
    struct dg_search_opts *opts = &slot->opts;
    *opts = *slot->job.opts;
    size_t n_forced = decoder->bp->forced_bos_id != DG_ID_NONE && opts->n_lead == 0 ? 1 : 0;
    if (n_forced && opts->n_prefix && opts->prefix[0] == decoder->bp->forced_bos_id)
        n_forced = 0;
    size_t n_prefix = opts->n_prefix + n_forced;
    size_t n_listed = opts->n_shortlist
                          ? opts->n_shortlist
                          : dg_shortlist_bound(&decoder->shortlist, slot->job.src, slot->job.n_src);
    size_t n_most = n_prefix + n_listed + 1 + n_prefix + n_constraint_ids(opts);
    if (n_forced == 0 && n_listed == 0)
        return DG_OK;
    slot->words = dg_try_calloc(n_most, sizeof *slot->words);
    if (!slot->words)
        return DG_ERR_NOMEM;
    int32_t *prefix = slot->words, *shortlist = slot->words + n_prefix;
    if (n_forced)
        prefix[0] = decoder->bp->forced_bos_id;
    if (opts->n_prefix)
        memcpy(prefix + n_forced, opts->prefix, opts->n_prefix * sizeof *prefix);
    opts->prefix = prefix;
    opts->n_prefix = n_prefix;
    if (n_listed == 0)
        return DG_OK;
    size_t n = opts->n_shortlist;
    if (n)
        memcpy(shortlist, opts->shortlist, n * sizeof *shortlist);
    else
        n = dg_shortlist_words(&decoder->shortlist, slot->job.src, slot->job.n_src, shortlist);
    n = insert_id(shortlist, n, decoder->bp->eos_id);
    for (size_t i = 0; i < n_prefix; i++)
        n = insert_id(shortlist, n, prefix[i]);
    for (size_t i = 0; i < opts->n_constraints; i++)
        for (size_t f = 0; f < opts->constraints[i].n_forms; f++)
            for (size_t k = 0; k < opts->constraints[i].forms[f].n_ids; k++)
                n = insert_id(shortlist, n, opts->constraints[i].forms[f].ids[k]);
    opts->shortlist = shortlist;
    opts->n_shortlist = n;
    dg_shortlist_join(&decoder->shortlist, shortlist, n);
    slot->is_listed = true;
    return DG_OK;
}

/* Begins with one row at position 0 that reads the start token. */
static void begin(const struct dg_decoder *decoder, struct slot *slot)
{
    slot->position = 0;
    slot->n_rows = 1;
    slot->moves[0] = (struct dg_search_move){0, dg_net_start_token(decoder->net)};
}

/* Returns a client's account. There is one for each slot, so never too few. For a new client, the
 * account of a client for whom least was done is forgotten. */
static struct account *account_of(struct dg_decoder *decoder, uint64_t client)
{
    struct account *account = NULL;
    for (size_t i = 0; i < decoder->limits.sentences; i++) {
        struct account *one = &decoder->accounts[i];
        if (is_of(one, client)) {
            account = one;
            break;
        }
        if (one->n_sentences == 0 && (!account || one->work_done < account->work_done))
            account = one;
    }
    if (account->n_sentences == 0)
        *account = account_now(decoder, client);
    return account;
}

/* Gives `job` the free slot; on failure the slot is free again. */
static enum dg_err occupy(struct dg_decoder *decoder, struct slot *slot,
                          const struct dg_decode_job *job)
{
    const struct dg_blueprint *bp = decoder->bp;
    size_t cap = target_cap(decoder, job), width = (size_t)dg_search_width(job->opts);
    enum dg_err err = dg_net_open(decoder->state, (size_t)(slot - decoder->slots), job->n_src,
                                  width, n_positions(job, cap));
    if (err)
        return err;
    slot->is_used = true;
    slot->is_stopped = false;
    slot->job = *job;
    slot->n_told = 0;
    slot->n_turn = 0;
    slot->n_arrival = ++decoder->n_arrivals;
    slot->is_reading = dg_blueprint_family(bp)->has_prompt;
    slot->width = width;
    slot->has_ties = dg_attention_anchor_any(job->opts);
    slot->n_reserved = n_needed(decoder, job);
    slot->account = account_of(decoder, job->client);
    slot->account->n_sentences++;
    slot->account->n_rows += width;
    slot->account->n_positions += slot->n_reserved;
    slot->account->work_done += job->n_src;
    decoder->n_sentences++;
    decoder->n_reserved += width;
    err = complete_opts(decoder, slot);
    if (err)
        goto out;
    struct dg_search_words words = {bp->decoder.V, bp->eos_id, bp->unk_id, bp->suppress,
                                    bp->n_suppress};
    struct dg_columns columns = {NULL, bp->decoder.V};
    if (slot->opts.n_shortlist)
        columns = (struct dg_columns){slot->opts.shortlist, slot->opts.n_shortlist};
    err = dg_search_start(slot->search, &slot->opts, &words, columns, job->src, job->n_src, cap);
    if (!err && slot->opts.want_alignment) {
        size_t n;
        if (!dg_mul(cap ? cap : 1, width, &n) || !dg_mul(n, job->n_src, &n) ||
            !dg_mul(n, sizeof(float), &n) || !(slot->alignment = dg_try_malloc(n)))
            err = DG_ERR_NOMEM;
    }
out:
    if (err)
        release(decoder, slot);
    else
        begin(decoder, slot);
    return err;
}

static struct slot *free_slot(struct dg_decoder *decoder)
{
    for (size_t i = 0; i < decoder->limits.sentences; i++)
        if (!decoder->slots[i].is_used)
            return &decoder->slots[i];
    return NULL;
}

enum dg_err dg_decoder_add(struct dg_decoder *decoder, const struct dg_decode_job *jobs, size_t n,
                           uint32_t *handles, struct dg_error *error)
{
    struct dg_net_source sources[DG_DECODER_ADD_MAX];
    enum dg_err err = DG_OK;
    if (decoder->analyser)
        return dg_analyser_add(decoder->analyser, jobs, n, handles, error);
    for (size_t i = 0; i < n; i++)
        if ((err = dg_decoder_check(decoder, &jobs[i], error)))
            return err;
    if (n > DG_DECODER_ADD_MAX || dg_decoder_n_fitting(decoder, jobs, n) < n)
        return dg_error_set(error, DG_ERR_BUSY, "no room for %zu more sentences beside %zu", n,
                            decoder->n_sentences);
    size_t n_taken = 0;
    for (; n_taken < n; n_taken++) {
        struct slot *slot = free_slot(decoder);
        err = occupy(decoder, slot, &jobs[n_taken]);
        if (err)
            break;
        sources[n_taken] =
            (struct dg_net_source){(size_t)(slot - decoder->slots), jobs[n_taken].src, 0};
        if (handles)
            handles[n_taken] = (uint32_t)slot->generation << 16 | (uint32_t)sources[n_taken].slot;
    }
    /* its prompt is read during the steps */
    const bool reads = dg_blueprint_family(decoder->bp)->has_prompt;
    for (size_t i = 0; reads && i < n && !err; i++)
        err = dg_net_begin(decoder->state, &sources[i]);
    if (!err && n && !reads)
        err = dg_net_encode(decoder->state, sources, n);
    if (err) {
        while (n_taken > 0)
            release(decoder, &decoder->slots[sources[--n_taken].slot]);
        return dg_error_set(error, err, "%zu sentences could not be started: %s", n,
                            dg_err_sentence(err));
    }
    return DG_OK;
}

/* ---- Steps ----------------------------------------------------------------------------------- */

static bool needs_attention(const struct slot *slot)
{
    return slot->alignment || slot->opts.coverage_penalty > 0 || slot->has_ties;
}

/* Returns FIRST_WORD for an urgent sentence that has shown nothing yet. */
static enum turn turn_of(const struct slot *slot)
{
    return slot->job.is_urgent && slot->n_told == 0 && slot->position < FIRST_STEPS ? FIRST_WORD
                                                                                    : LATER;
}

static void list_slot(struct dg_decoder *decoder, struct dg_net_step *step, size_t s)
{
    struct slot *slot = &decoder->slots[s];
    for (int i = 0; i < slot->n_rows; i++)
        decoder->rows[step->n_rows++] = (struct dg_net_row){
            .slot = (uint32_t)s,
            .lane = (uint32_t)i,
            .parent = (uint32_t)slot->moves[i].from,
            .position = (uint32_t)slot->position,
            .token = slot->moves[i].token,
            .want_logits = slot->position >= slot->opts.n_lead,
        };
    step->attention = step->attention || needs_attention(slot);
    step->shortlist = step->shortlist && slot->is_listed;
    slot->n_turn = decoder->n_turns;
    slot->account->n_rows_done += (uint64_t)slot->n_rows;
}

/* Returns true when the sentence has to wait because its client is too far ahead of another. */
static bool is_ahead(const struct slot *slot)
{
    return slot->account->lead >= (turn_of(slot) == FIRST_WORD ? FIRST_LEAD_ROWS : LEAD_ROWS);
}

static bool can_step(const struct slot *slot)
{
    return slot->is_used && !slot->is_reading && dg_search_state(slot->search) == DG_SEARCH_RUNNING;
}

/* Lists sentences of one kind in turn, up to `n_max` rows, either of clients that are ahead or of
 * the other clients; of the others at least one sentence if there is one. */
static void list_rows(struct dg_decoder *decoder, struct dg_net_step *step, enum turn turn,
                      bool are_ahead, size_t n_max)
{
    size_t n = decoder->limits.sentences, first = decoder->next[turn];
    bool is_any = are_ahead;
    for (size_t i = 0; i < n; i++) {
        size_t s = (first + i) % n;
        struct slot *slot = &decoder->slots[s];
        if (!can_step(slot) || slot->n_turn == decoder->n_turns || turn_of(slot) != turn ||
            is_ahead(slot) != are_ahead)
            continue;
        decoder->next[turn] = s;
        if (is_any && step->n_rows + (size_t)slot->n_rows > n_max)
            return;
        list_slot(decoder, step, s);
        is_any = true;
        decoder->next[turn] = (s + 1) % n;
    }
}

/* Defines the order in which prompts are read: urgent ones first, then by arrival. */
static bool reads_before(const struct slot *a, const struct slot *b)
{
    return a->job.is_urgent != b->job.is_urgent ? a->job.is_urgent : a->n_arrival < b->n_arrival;
}

/* Reads some more tokens of the prompts. A long prompt takes several steps, in which the other
 * sentences advance too. Returns the number of tokens read. */
static size_t read_prompts(struct dg_decoder *decoder)
{
    struct dg_net_source sources[DG_DECODER_ADD_MAX];
    size_t n = 0;
    for (size_t s = 0; s < decoder->limits.sentences && n < DG_DECODER_ADD_MAX; s++) {
        const struct slot *slot = &decoder->slots[s];
        if (!slot->is_used || !slot->is_reading)
            continue;
        size_t at = n++;
        for (; at > 0 && reads_before(slot, &decoder->slots[sources[at - 1].slot]); at--)
            sources[at] = sources[at - 1];
        sources[at] = (struct dg_net_source){.slot = s, .ids = slot->job.src};
    }
    const size_t n_tokens =
        n ? dg_net_prefill(decoder->state, sources, n, decoder->limits.step_prompt) : 0;
    for (size_t i = 0; i < n; i++)
        decoder->slots[sources[i].slot].is_reading =
            !dg_net_is_encoded(decoder->state, sources[i].slot);
    return n_tokens;
}

/* Compares the clients that have rows for this step. */
static void find_leads(struct dg_decoder *decoder)
{
    uint64_t fewest = UINT64_MAX;
    for (size_t s = 0; s < decoder->limits.sentences; s++) {
        const struct slot *slot = &decoder->slots[s];
        if (can_step(slot) && slot->account->n_rows_done < fewest)
            fewest = slot->account->n_rows_done;
    }
    for (size_t i = 0; i < decoder->limits.sentences; i++) {
        struct account *account = &decoder->accounts[i];
        account->lead = account->n_sentences > 0 && account->n_rows_done > fewest
                            ? account->n_rows_done - fewest
                            : 0;
    }
}

/* Counts the rows of a step as work of their clients. A small step takes as long as one of
 * FEW_ROWS; rows that only fill it up are not counted. */
static void charge(struct dg_decoder *decoder, const struct dg_net_step *step)
{
    const size_t each = step->n_rows && step->n_rows < FEW_ROWS ? FEW_ROWS / step->n_rows : 1;
    for (size_t row = 0; row < step->n_rows; row++)
        decoder->slots[decoder->rows[row].slot].account->work_done += each;
}

/* Chooses the sentences of this step. With more than `step_rows` rows each row would cost hardly
 * less, but every new sentence would wait longer; so beyond that number, sentences take turns.
 * First, urgent sentences that have shown nothing get three quarters of the rows; the others get at
 * least a quarter. A client that is ahead of another gets only rows that make a small step hardly
 * longer. `step->shortlist` is set when every chosen sentence has a shortlist. */
static void gather(struct dg_decoder *decoder, struct dg_net_step *step)
{
    size_t most = decoder->limits.step_rows;
    decoder->n_turns++;
    step->shortlist = true;
    find_leads(decoder);
    list_rows(decoder, step, FIRST_WORD, false, most - most / 4);
    list_rows(decoder, step, LATER, false, most);
    if (step->n_rows < most)
        list_rows(decoder, step, FIRST_WORD, false, most);
    charge(decoder, step);
    if (step->n_rows < FEW_ROWS) {
        list_rows(decoder, step, FIRST_WORD, true, FEW_ROWS);
        list_rows(decoder, step, LATER, true, FEW_ROWS);
    }
}

/* Reduces a row of logits to the columns of the sentence's own shortlist. The row holds either the
 * whole vocabulary (its ids ascend, so this works in place) or the union of all lists. */
static void keep_columns(struct dg_decoder *decoder, float *logits,
                         const struct dg_search_opts *opts)
{
    if (!decoder->is_union) {
        for (size_t c = 0; c < opts->n_shortlist; c++)
            logits[c] = logits[opts->shortlist[c]];
        return;
    }
    for (size_t c = 0; c < opts->n_shortlist; c++)
        decoder->row[c] = logits[decoder->shortlist.column_of[opts->shortlist[c]]];
    memcpy(logits, decoder->row, opts->n_shortlist * sizeof *logits);
}

/* Reports the tokens that have become final since the last report. */
static void tell_tokens(struct slot *slot)
{
    const int32_t *ids;
    const float *logprobs;
    size_t n = dg_search_shown(slot->search, &ids, &logprobs);
    size_t at = slot->n_told;
    slot->n_told = n;
    if (n > at && slot->job.events->on_tokens)
        slot->job.events->on_tokens(slot->job.ctx, at, ids + at, logprobs + at, n - at);
}

static void finish(struct dg_decoder *decoder, struct slot *slot)
{
    tell_tokens(slot);
    slot->job.events->on_done(slot->job.ctx, slot->search);
    release(decoder, slot);
}

/* Passes the rows beginning at `row` to one sentence's search. While `lead` is not read yet, the
 * sentence's only row reads its next token instead. */
static void advance(struct dg_decoder *decoder, struct slot *slot, size_t row, bool in_parts)
{
    if (slot->position < slot->opts.n_lead) {
        slot->moves[0] = (struct dg_search_move){0, slot->opts.lead[slot->position++]};
        return;
    }
    float *logits[DG_BEAM_MAX];
    const float *attention[DG_BEAM_MAX];
    size_t n_src = slot->job.n_src;
    for (int i = 0; i < slot->n_rows; i++) {
        size_t at = row + (size_t)i;
        logits[i] = dg_net_logits(decoder->state, at);
        attention[i] = needs_attention(slot) ? dg_net_attention(decoder->state, at) : NULL;
        if (slot->opts.n_shortlist && logits[i])
            keep_columns(decoder, logits[i], &slot->opts);
        if (slot->alignment)
            memcpy(slot->alignment +
                       ((slot->position - slot->opts.n_lead) * slot->width + (size_t)i) * n_src,
                   attention[i], n_src * sizeof(float));
    }
    int n = dg_search_advance(slot->search, decoder->scratch, logits,
                              in_parts ? decoder->parts + row : NULL, attention, slot->moves);
    slot->n_rows = n;
    slot->position++;
    if (dg_search_state(slot->search) == DG_SEARCH_RESTART) {
        dg_search_restarted(slot->search);
        begin(decoder, slot);
    }
    tell_tokens(slot);
}

/* Ends sentences whose search is done, or that were cancelled from inside a callback. */
static void sweep(struct dg_decoder *decoder)
{
    for (size_t s = 0; s < decoder->limits.sentences; s++) {
        struct slot *slot = &decoder->slots[s];
        if (slot->is_used && slot->is_stopped)
            dg_search_stop(slot->search, DG_FINISH_CANCELLED);
        if (slot->is_used && dg_search_state(slot->search) == DG_SEARCH_DONE)
            finish(decoder, slot);
    }
}

static bool takes_parts(const struct dg_decoder *decoder, const struct dg_net_step *step)
{
    bool all = step->n_rows >= DG_NET_TAKE_ROWS;
    for (size_t row = 0; row < step->n_rows && all;) {
        const struct slot *slot = &decoder->slots[decoder->rows[row].slot];
        all = dg_search_takes_parts(slot->search);
        row += (size_t)slot->n_rows;
    }
    return all;
}

/* Passes a part of a row's logits from the network to the row's search. */
static void take(void *ctx, size_t row, float *logits, size_t first, size_t n)
{
    struct dg_decoder *decoder = ctx;
    const struct dg_net_row *of = &decoder->rows[row];
    dg_search_take(decoder->slots[of->slot].search, decoder->scratch,
                   decoder->parts + row - of->lane, (int)of->lane, logits, first, n);
}

size_t dg_decoder_step(struct dg_decoder *decoder)
{
    if (decoder->analyser)
        return dg_analyser_step(decoder->analyser);
    decoder->is_stepping = true;
    struct dg_net_step step = {
        .rows = decoder->rows,
        .attention_layer = decoder->limits.alignment_layer ? decoder->limits.alignment_layer - 1
                                                           : decoder->bp->decoder.n_layers - 1,
        .attention_head = (int32_t)decoder->limits.alignment_head - 1,
    };
    const size_t n_prompt =
        dg_blueprint_family(decoder->bp)->has_prompt ? read_prompts(decoder) : 0;
    gather(decoder, &step);
    step.shortlist =
        step.shortlist && step.n_rows && dg_shortlist_ready(&decoder->shortlist, decoder->state);
    decoder->is_union = step.shortlist;
    if (takes_parts(decoder, &step)) {
        step.take = take;
        step.take_ctx = decoder;
    }
    enum dg_err err = step.n_rows ? dg_net_step(decoder->state, &step) : DG_OK;
    for (size_t row = 0; row < step.n_rows;) {
        struct slot *slot = &decoder->slots[decoder->rows[row].slot];
        size_t n_rows = (size_t)slot->n_rows;
        if (err)
            dg_search_stop(slot->search, DG_FINISH_FAILED);
        else
            advance(decoder, slot, row, step.take != NULL);
        row += n_rows;
    }
    sweep(decoder);
    decoder->is_stepping = false;
    return step.n_rows + n_prompt;
}

bool dg_decoder_cancel(struct dg_decoder *decoder, uint32_t handle)
{
    if (decoder->analyser)
        return dg_analyser_cancel(decoder->analyser, handle);
    size_t s = handle & 0xFFFF;
    if (s >= decoder->limits.sentences)
        return false;
    struct slot *slot = &decoder->slots[s];
    if (!slot->is_used || slot->generation != handle >> 16 || slot->is_stopped)
        return false;
    if (decoder->is_stepping) {
        slot->is_stopped = true;
        return true;
    }
    dg_search_stop(slot->search, DG_FINISH_CANCELLED);
    finish(decoder, slot);
    return true;
}

size_t dg_decoder_n_sentences(const struct dg_decoder *decoder)
{
    return decoder->analyser ? dg_analyser_n_texts(decoder->analyser) : decoder->n_sentences;
}

const float *dg_decoder_alignment(const struct dg_decoder *decoder, const struct dg_search *search,
                                  size_t index, size_t t)
{
    for (size_t s = 0; s < decoder->limits.sentences; s++) {
        const struct slot *slot = &decoder->slots[s];
        if (!slot->is_used || slot->search != search || !slot->alignment)
            continue;
        struct dg_answer answer = dg_search_answer(search, index);
        if (t >= answer.n_ids)
            return NULL;
        return slot->alignment + (t * slot->width + (size_t)answer.row_of[t]) * slot->job.n_src;
    }
    return NULL;
}
