/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Language models of three shapes (tests/data/lm) compared with the logits of an independent
 * implementation (tests/golden/lm.py), with every table of kernels. Results depend neither on other
 * rows nor on how a text is divided. */
#include "net_golden.h"

enum { N_MODELS = 3, LEN_MAX = 64 };

static struct golden golden = {
    .kind = "lm", .names = {"gpt2", "llama", "scaled"}, .n = N_MODELS, .n_items = 9};

static struct dg_net_state *make_state(const struct dg_net *net, size_t encode_tokens)
{
    struct dg_net_state *state;
    const struct dg_net_limits limits = {.slots = 3,
                                         .lanes = 2,
                                         .rows = LEN_MAX,
                                         .source_len = LEN_MAX,
                                         .target_len = LEN_MAX,
                                         .encode_tokens = encode_tokens};
    ck_assert_int_eq(dg_net_state_new(&state, net, &limits, NULL), DG_OK);
    dg_net_poison(state);
    return state;
}

/* Reads `ids`, the first `n_prompt` as a prompt and the others in one step or one by one; logits of
 * all positions from n_prompt - 1 on go to `out`. */
static void go_on(struct dg_net_state *state, size_t slot, const int32_t *ids, size_t n,
                  size_t n_prompt, bool at_once, float *out)
{
    const size_t V = dg_net_blueprint(dg_net_state_net(state))->decoder.V,
                 n_rows = n - n_prompt + 1;
    struct dg_net_row rows[LEN_MAX];
    for (size_t i = 0; i < n_rows; i++)
        rows[i] = (struct dg_net_row){.slot = (uint32_t)slot,
                                      .position = (uint32_t)i,
                                      .token = i ? ids[n_prompt - 1 + i] : DG_ID_NONE,
                                      .want_logits = true};
    for (size_t i = 0; i < n_rows; i += at_once ? n_rows : 1) {
        const struct dg_net_step step = {.rows = rows + i, .n_rows = at_once ? n_rows : 1};
        ck_assert_int_eq(dg_net_step(state, &step), DG_OK);
        for (size_t k = 0; k < step.n_rows; k++)
            memcpy(out + (i + k) * V, dg_net_logits(state, k), V * sizeof *out);
    }
}

static void read_prompt(struct dg_net_state *state, size_t slot, const int32_t *ids, size_t n,
                        size_t n_prompt)
{
    ck_assert_int_eq(dg_net_open(state, slot, n_prompt, 1, n - n_prompt + 1), DG_OK);
    ck_assert_int_eq(dg_net_encode(state, &(struct dg_net_source){slot, ids}, 1), DG_OK);
    ck_assert_ptr_null(dg_net_encoded(state, 0));
}

/* ---- Golden values --------------------------------------------------------------------------- */

/* The golden rows are those of the last positions. */
static float worst_of(const struct dg_json *item, const float *logits, size_t n_rows, size_t V)
{
    const struct dg_json *rows = dg_json_get(item, "logits");
    const size_t n = dg_json_len(rows) < n_rows ? dg_json_len(rows) : n_rows;
    float worst = 0.0f;
    ck_assert(n > 0);
    for (size_t i = 1; i <= n; i++) {
        worst = golden_worse(worst, golden_row(dg_json_at(rows, dg_json_len(rows) - i),
                                               logits + (n_rows - i) * V, 7));
    }
    return worst;
}

static float check_item(const struct dg_json *item, const struct dg_kernels *kernels)
{
    int32_t ids[LEN_MAX];
    const size_t n = golden_ids(item, ids, LEN_MAX);
    struct dg_net *net = golden_make(&golden, golden_model_of(&golden, item), kernels, DG_NET_F32);
    const size_t V = dg_net_blueprint(net)->decoder.V;
    float *logits = malloc(n * V * sizeof *logits), worst = 0.0f;
    for (size_t n_prompt = 1; n_prompt <= n; n_prompt += n > 1 ? n - 1 : 1) {
        struct dg_net_state *state = make_state(net, 0);
        read_prompt(state, 0, ids, n, n_prompt);
        go_on(state, 0, ids, n, n_prompt, false, logits);
        worst = golden_worse(worst, worst_of(item, logits, n - n_prompt + 1, V));
        dg_net_state_free(state);
    }
    free(logits);
    dg_net_free(net);
    return worst;
}

START_TEST(agrees_with_an_independent_implementation)
{
    golden_check(&golden, "logits", check_item);
}
END_TEST

/* ---- Bits ------------------------------------------------------------------------------------ */

static const int32_t text[] = {9, 33, 71, 5, 110, 110, 3, 250, 18, 64, 2, 40, 77, 200, 31, 6, 90};
enum { N_TEXT = sizeof text / sizeof *text };

static void each_net(void (*check)(const struct dg_net *net))
{
    golden_start(&golden);
    for (size_t i = 0; i < N_MODELS; i++)
        for (int type = DG_NET_F32; type <= DG_NET_I8; type++) {
            struct dg_net *net = golden_make(&golden, i, NULL, (enum dg_net_type)type);
            check(net);
            dg_net_free(net);
        }
    golden_stop(&golden);
}

static float *run_alone(const struct dg_net *net, size_t n_prompt, size_t encode_tokens,
                        bool at_once)
{
    const size_t V = dg_net_blueprint(net)->decoder.V;
    float *out = calloc(N_TEXT * V, sizeof *out);
    struct dg_net_state *state = make_state(net, encode_tokens);
    read_prompt(state, 1, text, N_TEXT, n_prompt);
    go_on(state, 1, text, N_TEXT, n_prompt, at_once, out + (n_prompt - 1) * V);
    dg_net_state_free(state);
    return out;
}

/* The copy for another memory node gives the same bits, and needs nothing of the original. */
START_TEST(a_copy_stands_on_its_own)
{
    char machine[DG_TMPDIR_CAP];
    two_nodes_make(machine);
    golden_start(&golden);
    golden.nodes = dg_nodes_new(machine, 2);
    for (size_t i = 0; i < N_MODELS && golden.nodes; i++) {
        struct dg_net *net = golden_make(&golden, i, NULL, DG_NET_I8);
        float *expected = run_alone(net, 4, 0, false),
              *got = run_alone(two_nodes_spoil(net), 4, 0, false);
        ck_assert_mem_eq(got, expected, N_TEXT * dg_net_blueprint(net)->decoder.V * sizeof *got);
        free(expected);
        free(got);
        dg_net_free(net);
    }
    dg_nodes_free(golden.nodes);
    golden.nodes = NULL;
    golden_stop(&golden);
    dg_tmpdir_remove(machine);
}
END_TEST

/* Returns the largest difference between two sets of n logits, as a share of the largest logit. */
static float difference(const float *a, const float *b, size_t n)
{
    float worst = 0.0f, most = 0.0f;
    for (size_t i = 0; i < n; i++) {
        worst = golden_worse(worst, fabsf(a[i] - b[i]));
        most = fmaxf(most, fabsf(b[i]));
    }
    return worst / most;
}

/* A prompt's attention sums in another order than a step's. */
static void check_divisions(const struct dg_net *net)
{
    const size_t V = dg_net_blueprint(net)->decoder.V;
    float *stepped = run_alone(net, 1, 0, false);
    for (size_t n_prompt = 1; n_prompt <= N_TEXT; n_prompt += 4) {
        const size_t first = (n_prompt - 1) * V, n = N_TEXT * V - first;
        float *expected = run_alone(net, n_prompt, 0, false);
        ck_assert_float_lt(difference(expected + first, stepped + first, n),
                           dg_net_type(net) == DG_PACKED_F32 ? 1e-5f : 2e-2f);
        for (size_t tokens = 1; tokens <= 16; tokens += 5) {
            float *got = run_alone(net, n_prompt, tokens, tokens > 5);
            ck_assert_mem_eq(got + first, expected + first, n * sizeof *got);
            free(got);
        }
        free(expected);
    }
    free(stepped);
}

START_TEST(a_prompt_gives_the_same_bits_however_it_is_divided_and_nearly_those_of_steps)
{
    each_net(check_divisions);
}
END_TEST

/* Three slots with different prompts, prefilled together and stepped together, one of them on two
 * lanes that change places. */
static void check_company(const struct dg_net *net)
{
    const size_t V = dg_net_blueprint(net)->decoder.V;
    float *expected = run_alone(net, 6, 0, false);
    struct dg_net_state *state = make_state(net, 0);
    ck_assert_int_eq(dg_net_open(state, 0, 11, 1, 8), DG_OK);
    ck_assert_int_eq(dg_net_open(state, 1, 6, 2, N_TEXT), DG_OK);
    ck_assert_int_eq(dg_net_open(state, 2, 1, 1, 8), DG_OK);
    const struct dg_net_source sources[] = {{2, text + 3}, {1, text}, {0, text + 4}};
    ck_assert_int_eq(dg_net_encode(state, sources, 3), DG_OK);
    for (uint32_t t = 0; t + 6 <= N_TEXT; t++) {
        /* the text's lane; in the previous step it was the other one */
        const uint32_t good = !(t & 1);
        const struct dg_net_row rows[] = {
            {.slot = 1,
             .lane = good,
             .parent = !good,
             .position = t,
             .token = t ? text[5 + t] : DG_ID_NONE,
             .want_logits = true},
            {.slot = 1,
             .lane = !good,
             .parent = !good,
             .position = t,
             .token = t ? 1 : DG_ID_NONE,
             .want_logits = true},
            {.slot = 0, .position = t % 8, .token = t % 8 ? 44 : DG_ID_NONE, .want_logits = true},
            {.slot = 2, .position = t % 8, .token = t % 8 ? 7 : DG_ID_NONE, .want_logits = false},
        };
        ck_assert_int_eq(dg_net_step(state, &(struct dg_net_step){.rows = rows, .n_rows = 4}),
                         DG_OK);
        ck_assert_mem_eq(dg_net_logits(state, 0), expected + (5 + t) * V, V * sizeof *expected);
        ck_assert_ptr_null(dg_net_logits(state, 3));
    }
    for (size_t i = 0; i < 3; i++)
        dg_net_close(state, i);
    ck_assert_uint_eq(dg_net_room(state), dg_net_state_limits(state)->kv_tokens);
    dg_net_state_free(state);
    free(expected);
}

START_TEST(company_changes_no_bit)
{
    each_net(check_company);
}
END_TEST

/* ---- Prompts that begin alike ---------------------------------------------------------------- */

enum { LONGEST = 20, N_STEPS = 3, POOL = 3 * (LONGEST + N_STEPS) };

/* A prompt that shares a beginning of some length with earlier ones; the first two are the same. */
static size_t make_prompt(int number, uint32_t *random, int32_t *ids)
{
    *random = *random * 1664525 + 1013904223;
    const size_t n = number < 2 ? LONGEST : 1 + (*random >> 24) % LONGEST;
    const size_t same = number < 2 ? LONGEST : (*random >> 16 & 3) * 7;
    for (size_t i = 0; i < n; i++)
        ids[i] = i < same ? text[i % N_TEXT] : (int32_t)((*random >> 8) + 31 * i) % 250;
    return n;
}

static void steps(struct dg_net_state *state, size_t slot, float *out)
{
    const size_t V = dg_net_blueprint(dg_net_state_net(state))->decoder.V;
    for (uint32_t t = 0; t < N_STEPS; t++) {
        const struct dg_net_row row = {.slot = (uint32_t)slot,
                                       .position = t,
                                       .token = t ? 7 : DG_ID_NONE,
                                       .want_logits = true};
        ck_assert_int_eq(dg_net_step(state, &(struct dg_net_step){.rows = &row, .n_rows = 1}),
                         DG_OK);
        memcpy(out + t * V, dg_net_logits(state, 0), V * sizeof *out);
    }
}

/* Reads a prompt a few tokens at a time; returns how many of them were computed. */
static size_t read_in_parts(struct dg_net_state *state, size_t slot, const int32_t *ids, size_t n,
                            size_t most)
{
    const struct dg_net_source source = {.slot = slot, .ids = ids};
    size_t computed = 0;
    ck_assert_int_eq(dg_net_open(state, slot, n, 1, N_STEPS), DG_OK);
    ck_assert_int_eq(dg_net_begin(state, &source), DG_OK);
    while (!dg_net_is_encoded(state, slot)) {
        const size_t part = dg_net_prefill(state, &source, 1, most);
        ck_assert_uint_le(part, most);
        computed += part;
        dg_net_poison(state);
    }
    return computed;
}

/* Slots come and go in a pool that is full when three are at their longest, so that cached
 * beginnings must be dropped. */
static void check_sharing(const struct dg_net *net)
{
    const size_t V = dg_net_blueprint(net)->decoder.V;
    const struct dg_net_limits limits = {.slots = 3,
                                         .lanes = 1,
                                         .rows = 4,
                                         .source_len = LONGEST,
                                         .target_len = N_STEPS,
                                         .kv_tokens = POOL,
                                         .encode_tokens = 5};
    float *expected = calloc(N_STEPS * V, sizeof *expected),
          *got = calloc(N_STEPS * V, sizeof *got);
    struct dg_net_state *state, *plain;
    size_t n_all = 0, n_computed = 0;
    uint32_t random = 1;
    ck_assert_int_eq(dg_net_state_new(&state, net, &limits, NULL), DG_OK);
    ck_assert_int_eq(dg_net_state_new(&plain, net, &limits, NULL), DG_OK);
    for (int round = 0; round < dg_unit_rounds(300); round++) {
        const size_t slot = (size_t)round % 3;
        int32_t ids[LONGEST];
        const size_t n = make_prompt(round, &random, ids);
        dg_net_close(state, slot);
        dg_net_poison(state);
        n_computed += read_in_parts(state, slot, ids, n, 1 + (random >> 20) % 9);
        n_all += n - 1;
        steps(state, slot, got);
        ck_assert_int_eq(dg_net_open(plain, 0, n, 1, N_STEPS), DG_OK);
        ck_assert_int_eq(dg_net_encode(plain, &(struct dg_net_source){.ids = ids}, 1), DG_OK);
        steps(plain, 0, expected);
        dg_net_close(plain, 0);
        ck_assert_mem_eq(got, expected, N_STEPS * V * sizeof *got);
    }
    ck_assert_uint_lt(n_computed, n_all); /* or nothing was shared */
    for (size_t i = 0; i < 3; i++)
        dg_net_close(state, i);
    ck_assert_uint_eq(dg_net_room(state), POOL);
    for (size_t i = 0; i < 3; i++) /* and the whole pool can be reserved again */
        ck_assert_int_eq(dg_net_open(state, i, LONGEST, 1, N_STEPS), DG_OK);
    dg_net_state_free(state);
    dg_net_state_free(plain);
    free(expected);
    free(got);
}

START_TEST(what_prompts_have_in_common_is_computed_once_and_changes_no_bit)
{
    each_net(check_sharing);
}
END_TEST

static void check_template(const struct dg_net *net)
{
    struct dg_net_state *state = make_state(net, 0);
    int32_t ids[N_TEXT];
    memcpy(ids, text, sizeof text);
    ck_assert_uint_eq(read_in_parts(state, 0, ids, N_TEXT, 100), N_TEXT - 1);
    ids[12] = 1;
    /* the beginning is cached */
    ck_assert_uint_eq(read_in_parts(state, 1, ids, N_TEXT, 100), N_TEXT - 1 - 12);
    ids[12] = 2;
    ck_assert_uint_eq(read_in_parts(state, 2, ids, N_TEXT, 100), N_TEXT - 1 - 12);
    for (size_t i = 0; i < 3; i++)
        dg_net_close(state, i);
    ck_assert_uint_eq(read_in_parts(state, 0, ids, N_TEXT, 100), 0); /* this one, too */
    ids[12] = 3;
    ck_assert_uint_eq(read_in_parts(state, 1, ids, N_TEXT, 100), N_TEXT - 1 - 12);
    dg_net_state_free(state);
}

START_TEST(a_beginning_that_comes_again_stays)
{
    each_net(check_template);
}
END_TEST

/* ---- Refusals -------------------------------------------------------------------------------- */

START_TEST(refuses_what_goes_beyond_the_context_or_asks_for_attention)
{
    golden_start(&golden);
    struct dg_net *net = golden_make(&golden, 0, NULL, DG_NET_F32);
    struct dg_net_state *state = make_state(net, 0);
    ck_assert_uint_eq(dg_net_blueprint(net)->lm.context, 64);
    ck_assert_int_eq(dg_net_open(state, 0, 40, 1, 26), DG_ERR_RANGE);
    ck_assert_int_eq(dg_net_open(state, 0, 40, 1, 25), DG_OK);
    struct dg_net_row row = {.token = DG_ID_NONE, .want_logits = true};
    ck_assert_int_eq(dg_net_step(state, &(struct dg_net_step){.rows = &row, .n_rows = 1}),
                     DG_ERR_INVALID);
    int32_t ids[40] = {1, 2, 3};
    ck_assert_int_eq(dg_net_encode(state, &(struct dg_net_source){0, ids}, 1), DG_OK);
    ck_assert_int_eq(
        dg_net_step(state, &(struct dg_net_step){.rows = &row, .n_rows = 1, .attention = true}),
        DG_ERR_UNSUPPORTED);
    ck_assert_int_eq(dg_net_step(state, &(struct dg_net_step){.rows = &row, .n_rows = 1}), DG_OK);
    row.position = 1; /* only position 0 reads the prompt */
    ck_assert_int_eq(dg_net_step(state, &(struct dg_net_step){.rows = &row, .n_rows = 1}),
                     DG_ERR_INVALID);
    dg_net_state_free(state);
    dg_net_free(net);
    golden_stop(&golden);
}
END_TEST

/* ---- Configurations -------------------------------------------------------------------------- */

START_TEST(a_printed_configuration_reads_the_same)
{
    golden_start(&golden);
    for (size_t i = 0; i < N_MODELS; i++)
        golden_prints_as_it_reads(dg_model_blueprint(golden.models[i]));
    ck_assert_int_eq(dg_model_blueprint(golden.models[1])->eos_id,
                     dg_model_blueprint(golden.models[1])->bos_id + 1);
    ck_assert_uint_eq(dg_model_blueprint(golden.models[1])->lm.n_stop, 1);
    ck_assert_int_eq(dg_model_blueprint(golden.models[1])->lm.stop[0],
                     dg_model_blueprint(golden.models[1])->bos_id + 2);
    golden_stop(&golden);
}
END_TEST

START_TEST(says_what_a_configuration_lacks)
{
    golden_refuses("{\"model_type\":\"gpt2\",\"n_embd\":16}", "n_layer");
    golden_refuses("{\"model_type\":\"gpt2\",\"n_embd\":16,\"n_layer\":1,\"n_head\":3,\"vocab_"
                   "size\":9,\"n_positions\":8,"
                   "\"eos_token_id\":1}",
                   "n_head");
    golden_refuses("{\"model_type\":\"gpt2\",\"n_embd\":16,\"n_layer\":1,\"n_head\":2,\"vocab_"
                   "size\":9,\"n_positions\":8,"
                   "\"eos_token_id\":1,\"scale_attn_by_inverse_layer_idx\":true}",
                   "scale_attn_by_inverse_layer_idx");
    golden_refuses(
        "{\"model_type\":\"llama\",\"hidden_size\":16,\"num_hidden_layers\":1,\"num_attention_"
        "heads\":4,"
        "\"intermediate_size\":8,\"vocab_size\":9,\"max_position_embeddings\":8,\"eos_token_id\":1,"
        "\"num_key_value_heads\":3}",
        "3 heads of keys and values do not divide the 4");
    golden_refuses(
        "{\"model_type\":\"llama\",\"hidden_size\":16,\"num_hidden_layers\":1,\"num_attention_"
        "heads\":4,"
        "\"intermediate_size\":8,\"vocab_size\":9,\"max_position_embeddings\":8,\"eos_token_id\":1,"
        "\"rope_scaling\":{\"rope_type\":\"yarn\"}}",
        "rope_type");
    golden_refuses("{\"model_type\":\"llama\",\"hidden_size\":12,\"num_hidden_layers\":1,\"num_"
                   "attention_heads\":4,"
                   "\"intermediate_size\":8,\"vocab_size\":9,\"max_position_embeddings\":8}",
                   "eos token id");
    golden_refuses("{\"model_type\":\"llama\",\"hidden_size\":12,\"num_hidden_layers\":1,\"num_"
                   "attention_heads\":4,"
                   "\"intermediate_size\":8,\"vocab_size\":9,\"max_position_embeddings\":8,\"eos_"
                   "token_id\":2}",
                   "even number for rotary");
}
END_TEST

/* ---- Import ---------------------------------------------------------------------------------- */

START_TEST(every_tensor_that_does_not_fit_is_named)
{
    static const char config[] =
        "{\"model_type\":\"gpt2\",\"n_embd\":16,\"n_head\":4,\"n_layer\":3,\"n_positions\":65,"
        "\"vocab_size\":317,\"n_inner\":32,\"eos_token_id\":3}";
    static const char *const said[] = {
        "model.embed_positions.weight is [64, 16], expected [65, 16]",
        "model.layers.0.mlp.up_proj.weight is [64, 16], expected [32, 16]",
        "missing model.layers.2.input_layernorm.weight"};
    golden_names_what_does_not_fit(&golden, "gpt2", config, said, sizeof said / sizeof *said);
}
END_TEST

DG_UNIT_SLOW(agrees_with_an_independent_implementation, a_copy_stands_on_its_own,
             a_prompt_gives_the_same_bits_however_it_is_divided_and_nearly_those_of_steps,
             company_changes_no_bit,
             what_prompts_have_in_common_is_computed_once_and_changes_no_bit,
             a_beginning_that_comes_again_stays,
             refuses_what_goes_beyond_the_context_or_asks_for_attention,
             a_printed_configuration_reads_the_same, says_what_a_configuration_lacks,
             every_tensor_that_does_not_fit_is_named)
