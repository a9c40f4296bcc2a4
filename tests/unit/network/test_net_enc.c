/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Encoder-only networks of fifteen kinds (tests/data/enc) against an independent implementation
 * that pads and masks (tests/golden/enc.py), with every table of kernels. Neither other sentences
 * nor the number of rounds change a bit. */
#include "net_golden.h"
#include "model/config_enc.h"

enum { N_MODELS = 15, LEN_MAX = 48, STATE_STEP = 5 };

static struct golden golden = {
    .kind = "enc",
    .names = {"bert-words", "bert-pair", "bert-spans", "roberta-words", "roberta-topics",
              "distilbert-tags", "distilbert-mood", "distilbert", "roberta-tags", "roberta-spans",
              "xlmr-words", "camembert-tags", "electra-mood", "electra-words", "electra-replaced"},
    .n = N_MODELS,
    .n_items = 4 * N_MODELS};

static struct dg_net_state *make_state(const struct dg_net *net, size_t encode_tokens)
{
    struct dg_net_state *state;
    const struct dg_net_limits limits = {.slots = 3,
                                         .lanes = 1,
                                         .rows = LEN_MAX,
                                         .source_len = LEN_MAX,
                                         .target_len = 1,
                                         .encode_tokens = encode_tokens};
    ck_assert_int_eq(dg_net_state_new(&state, net, &limits, NULL), DG_OK);
    dg_net_poison(state);
    return state;
}

static bool has_head(const struct dg_net *net)
{
    return dg_net_blueprint(net)->enc.head != DG_HEAD_NONE;
}

/* All results of sentence `source` in an encoding: states and outputs of all its tokens. */
static void take_all(struct dg_net_state *state, size_t source, size_t n, float *states,
                     float *outputs)
{
    const struct dg_blueprint *bp = dg_net_blueprint(dg_net_state_net(state));
    const float *encoded = dg_net_encoded(state, source);
    struct dg_net_place places[LEN_MAX];
    ck_assert_ptr_nonnull(encoded);
    memcpy(states, encoded, n * bp->D * sizeof *states);
    for (size_t i = 0; i < n; i++)
        places[i] = (struct dg_net_place){(uint32_t)source, (uint32_t)i};
    ck_assert_int_eq(dg_net_head(state, places, n),
                     has_head(dg_net_state_net(state)) ? DG_OK : DG_ERR_INVALID);
    for (size_t i = 0; i < n && has_head(dg_net_state_net(state)); i++)
        memcpy(outputs + i * bp->decoder.V, dg_net_logits(state, i),
               bp->decoder.V * sizeof *outputs);
}

static void run_alone(const struct dg_net *net, const int32_t *ids, size_t n, size_t second,
                      float *states, float *outputs)
{
    struct dg_net_state *state = make_state(net, 0);
    ck_assert_int_eq(dg_net_open(state, 1, n, 1, 1), DG_OK);
    ck_assert_int_eq(dg_net_encode(state, &(struct dg_net_source){1, ids, second}, 1), DG_OK);
    take_all(state, 0, n, states, outputs);
    dg_net_state_free(state);
}

/* ---- Golden values --------------------------------------------------------------------------- */

/* `rows` are the golden ones from row `first` on, every step-th number. */
static float worst_of(const struct dg_json *rows, const float *got, size_t first, size_t width,
                      size_t step)
{
    float worst = 0.0f;
    for (size_t i = 0; i < dg_json_len(rows); i++) {
        worst =
            golden_worse(worst, golden_row(dg_json_at(rows, i), got + (first + i) * width, step));
    }
    return worst;
}

static float check_item(const struct dg_json *item, const struct dg_kernels *kernels)
{
    int32_t ids[LEN_MAX];
    int64_t second;
    ck_assert_int_eq(dg_json_get_int(item, "second", DG_JSON_REQUIRED, 0, LEN_MAX, NULL, &second),
                     DG_OK);
    const size_t n = golden_ids(item, ids, LEN_MAX);
    struct dg_net *net = golden_make(&golden, golden_model_of(&golden, item), kernels, DG_NET_F32);
    const struct dg_blueprint *bp = dg_net_blueprint(net);
    const struct dg_json *states_of = dg_json_get(item, "states"),
                         *outputs_of = dg_json_get(item, "outputs");
    float *states = calloc(n * bp->D, sizeof *states),
          *outputs = calloc(n * bp->decoder.V, sizeof *outputs);
    run_alone(net, ids, n, (size_t)second, states, outputs);
    ck_assert_uint_gt(dg_json_len(states_of), 0);
    ck_assert_int_eq(outputs_of != NULL, has_head(net));
    const float of_states =
        worst_of(states_of, states, n - dg_json_len(states_of), bp->D, STATE_STEP);
    const float of_outputs =
        worst_of(outputs_of, outputs, 0, bp->decoder.V, bp->decoder.V > 8 ? 7 : 1);
    free(states);
    free(outputs);
    dg_net_free(net);
    return golden_worse(of_states, of_outputs);
}

START_TEST(agrees_with_an_independent_implementation)
{
    golden_check(&golden, "states and outputs", check_item);
}
END_TEST

/* ---- Bits ------------------------------------------------------------------------------------ */

static const int32_t text[] = {2,  9,  33, 71, 5,  110, 110, 3, 125,
                               18, 64, 2,  40, 77, 100, 31,  6, 90};
enum { N_TEXT = sizeof text / sizeof *text };

/* The same text, encoded among others, in one round or in several. */
static void check_company(const struct dg_net *net, size_t encode_tokens)
{
    const struct dg_blueprint *bp = dg_net_blueprint(net);
    const size_t n_states = N_TEXT * bp->D, n_outputs = N_TEXT * bp->decoder.V;
    float *alone[2] = {calloc(n_states, sizeof(float)), calloc(n_outputs, sizeof(float))};
    float *among[2] = {calloc(n_states, sizeof(float)), calloc(n_outputs, sizeof(float))};
    run_alone(net, text, N_TEXT, 8, alone[0], alone[1]);
    struct dg_net_state *state = make_state(net, encode_tokens);
    for (size_t again = 0; again < 2; again++) {
        ck_assert_int_eq(dg_net_open(state, 0, 11, 1, 1), DG_OK);
        ck_assert_int_eq(dg_net_open(state, 1, N_TEXT, 1, 1), DG_OK);
        ck_assert_int_eq(dg_net_open(state, 2, 1, 1, 1), DG_OK);
        const struct dg_net_source sources[] = {{2, text + 3, 0}, {1, text, 8}, {0, text + 4, 2}};
        ck_assert_int_eq(dg_net_encode(state, sources, 3), DG_OK);
        take_all(state, 1, N_TEXT, among[0], among[1]);
        ck_assert_mem_eq(alone[0], among[0], n_states * sizeof(float));
        ck_assert_mem_eq(alone[1], among[1], n_outputs * sizeof(float));
        for (size_t i = 0; i < 3; i++)
            dg_net_close(state, i);
        ck_assert_uint_eq(dg_net_room(state), dg_net_state_limits(state)->kv_tokens);
    }
    dg_net_state_free(state);
    for (size_t i = 0; i < 2; i++) {
        free(alone[i]);
        free(among[i]);
    }
}

START_TEST(company_changes_no_bit)
{
    golden_start(&golden);
    for (size_t i = 0; i < N_MODELS; i++)
        for (int type = DG_NET_F32; type <= DG_NET_I8; type++) {
            struct dg_net *net = golden_make(&golden, i, NULL, (enum dg_net_type)type);
            check_company(net, 0);
            check_company(net, 64);
            dg_net_free(net);
        }
    golden_stop(&golden);
}
END_TEST

/* The copy for another memory node gives the same bits, and needs nothing of the original. */
START_TEST(a_copy_stands_on_its_own)
{
    char machine[DG_TMPDIR_CAP];
    two_nodes_make(machine);
    golden_start(&golden);
    golden.nodes = dg_nodes_new(machine, 2);
    for (size_t i = 0; i < N_MODELS && golden.nodes; i++) {
        struct dg_net *net = golden_make(&golden, i, NULL, DG_NET_I8);
        const struct dg_blueprint *bp = dg_net_blueprint(net);
        const size_t n_states = N_TEXT * bp->D, n_outputs = N_TEXT * bp->decoder.V;
        float *all = calloc(2 * (n_states + n_outputs), sizeof *all),
              *copied = all + n_states + n_outputs;
        run_alone(net, text, N_TEXT, 8, all, all + n_states);
        run_alone(two_nodes_spoil(net), text, N_TEXT, 8, copied, copied + n_states);
        ck_assert_mem_eq(all, copied, (n_states + n_outputs) * sizeof *all);
        free(all);
        dg_net_free(net);
    }
    dg_nodes_free(golden.nodes);
    golden.nodes = NULL;
    golden_stop(&golden);
    dg_tmpdir_remove(machine);
}
END_TEST

/* ---- Refusals -------------------------------------------------------------------------------- */

START_TEST(refuses_steps_and_places_that_are_not_there)
{
    golden_start(&golden);
    struct dg_net *net = golden_make(&golden, 0, NULL, DG_NET_F32);
    struct dg_net_state *state = make_state(net, 0);
    const struct dg_net_row row = {.token = DG_ID_NONE, .want_logits = true};
    ck_assert_int_eq(dg_net_head(state, &(struct dg_net_place){0, 0}, 1), DG_ERR_RANGE);
    ck_assert_int_eq(dg_net_open(state, 0, 3, 1, 1), DG_OK);
    ck_assert_int_eq(dg_net_encode(state, &(struct dg_net_source){0, text, 0}, 1), DG_OK);
    ck_assert_int_eq(dg_net_step(state, &(struct dg_net_step){.rows = &row, .n_rows = 1}),
                     DG_ERR_INVALID);
    ck_assert_int_eq(dg_net_head(state, &(struct dg_net_place){0, 3}, 1), DG_ERR_RANGE);
    ck_assert_int_eq(dg_net_head(state, &(struct dg_net_place){1, 0}, 1), DG_ERR_RANGE);
    ck_assert_int_eq(dg_net_head(state, &(struct dg_net_place){0, 2}, 1), DG_OK);
    ck_assert_ptr_nonnull(dg_net_logits(state, 0));
    ck_assert_ptr_null(dg_net_logits(state, 1));
    dg_net_state_free(state);
    dg_net_free(net);
    golden_stop(&golden);
}
END_TEST

/* ---- Configurations -------------------------------------------------------------------------- */

START_TEST(a_printed_configuration_reads_the_same)
{
    golden_start(&golden);
    for (size_t i = 0; i < N_MODELS; i++) {
        const struct dg_blueprint *bp = dg_model_blueprint(golden.models[i]);
        golden_prints_as_it_reads(bp);
        ck_assert_uint_eq(bp->source_len_max, 48);
        const bool is_roberta =
            /* other words alone */
            strncmp(golden.names[i], "roberta", 7) == 0 || i == 10 || i == 11;
        ck_assert_uint_eq(bp->position_offset, is_roberta ? 2 : 0);
        ck_assert_uint_eq(bp->enc.separators, is_roberta ? 2 : 1);
    }
    ck_assert_int_eq(dg_model_blueprint(golden.models[1])->activation, DG_ACT_GELU_TANH);
    ck_assert_int_eq(dg_model_blueprint(golden.models[4])->enc.rule, DG_LABELS_EACH);
    ck_assert_int_eq(dg_model_blueprint(golden.models[6])->enc.pooler, DG_POOLER_RELU);
    ck_assert_int_eq(dg_model_blueprint(golden.models[12])->enc.pooler, DG_POOLER_GELU);
    ck_assert_int_eq(dg_model_blueprint(golden.models[14])->enc.head, DG_HEAD_REPLACED);
    ck_assert_int_eq(dg_model_blueprint(golden.models[14])->enc.head_activation, DG_ACT_GELU_TANH);
    golden_stop(&golden);
}
END_TEST

#define SIZES                                                                                      \
    "\"hidden_size\":16,\"num_hidden_layers\":1,\"num_attention_heads\":2,\"intermediate_size\":"  \
    "8,\"vocab_size\":9,"

START_TEST(says_what_a_configuration_lacks)
{
    golden_refuses("{\"model_type\":\"bert\",\"hidden_size\":16}", "num_hidden_layers");
    golden_refuses("{\"model_type\":\"bert\"," SIZES "\"max_position_embeddings\":1}",
                   "longest source is 1");
    golden_refuses("{\"model_type\":\"roberta\"," SIZES "\"max_position_embeddings\":2}",
                   "position");
    golden_refuses("{\"model_type\":\"bert\"," SIZES
                   "\"max_position_embeddings\":8,\"hidden_act\":\"mish\"}",
                   "hidden_act");
    golden_refuses("{\"model_type\":\"bert\"," SIZES
                   "\"max_position_embeddings\":8,\"architectures\":[\"BertForMultipleChoice\"]}",
                   "BertForMultipleChoice");
    golden_refuses("{\"model_type\":\"bert\"," SIZES
                   "\"max_position_embeddings\":8,\"is_decoder\":true}",
                   "is_decoder");
    golden_refuses("{\"model_type\":\"bert\"," SIZES "\"max_position_embeddings\":8,"
                   "\"position_embedding_type\":\"relative_key\"}",
                   "position_embedding_type");
    golden_refuses("{\"model_type\":\"bert\"," SIZES
                   "\"max_position_embeddings\":8,\"num_labels\":0,"
                   "\"architectures\":[\"BertForTokenClassification\"]}",
                   "number of labels is 0");
    golden_refuses("{\"model_type\":\"electra\"," SIZES
                   "\"max_position_embeddings\":8,\"embedding_size\":8}",
                   "'embedding_size' is 8, expected 16");
    golden_refuses("{\"model_type\":\"electra\"," SIZES "\"max_position_embeddings\":8}",
                   "'embedding_size' is 128");
    golden_refuses(
        "{\"model_type\":\"dragoman\",\"family\":\"encoder\",\"d_model\":16,\"encoder_layers\":1,"
        "\"encoder_attention_heads\":3,\"encoder_ffn_dim\":4,\"vocab_size\":9,\"outputs\":5,"
        "\"head\":\"spans\","
        "\"n_positions\":4}",
        "number of labels is 5");
}
END_TEST

/* ---- Import ---------------------------------------------------------------------------------- */

static void check_labels(const char *config, enum dg_err expected, size_t n, const char *last)
{
    struct dg_labels labels;
    struct dg_error error = DG_ERROR_NONE;
    dg_labels_init(&labels);
    ck_assert_int_eq(dg_config_enc_labels(&labels, dg_span_cstr(config), &error), expected);
    if (!expected) {
        ck_assert_uint_eq(labels.n, n);
        ck_assert(dg_span_eq(labels.list[n - 1], dg_span_cstr(last)));
    } else {
        ck_assert_msg(strstr(error.text, last), "%s", error.text);
    }
    dg_labels_close(&labels);
}

START_TEST(labels_come_from_the_configuration)
{
    check_labels("{\"id2label\":{\"1\":\"bad\",\"0\":\"good\"}}", DG_OK, 2, "bad");
    check_labels("{}", DG_OK, 2, "LABEL_1");
    check_labels("{\"num_labels\":5}", DG_OK, 5, "LABEL_4");
    check_labels("{\"id2label\":{\"0\":\"a\",\"2\":\"b\"}}", DG_ERR_NOT_FOUND, 0, "id2label");
    check_labels("{\"id2label\":{\"0\":\"a\",\"1\":\"a\"}}", DG_ERR_EXISTS, 0, "label 1");
    check_labels("{\"id2label\":{\"0\":\"a\\nb\"}}", DG_ERR_INVALID, 0, "label 0");
    check_labels("{\"num_labels\":100000}", DG_ERR_LIMIT, 0, "label 1000");
}
END_TEST

START_TEST(every_tensor_that_does_not_fit_is_named)
{
    static const char config[] =
        "{\"model_type\":\"bert\",\"hidden_size\":16,\"num_hidden_layers\":3,"
        "\"num_attention_heads\":4,\"intermediate_size\":32,\"vocab_size\":139,"
        "\"max_position_embeddings\":49,\"architectures\":[\"BertForTokenClassification\"]}";
    static const char *const said[] = {
        "model.encoder.embed_positions.weight is [48, 16], expected [49, 16]",
        "model.encoder.layers.0.fc1.weight is [24, 16], expected [32, 16]",
        "missing model.encoder.layers.2.self_attn.q_proj.weight"};
    golden_names_what_does_not_fit(&golden, "bert-words", config, said, sizeof said / sizeof *said);
}
END_TEST

DG_UNIT(agrees_with_an_independent_implementation, a_copy_stands_on_its_own, company_changes_no_bit,
        refuses_steps_and_places_that_are_not_there, a_printed_configuration_reads_the_same,
        says_what_a_configuration_lacks, labels_come_from_the_configuration,
        every_tensor_that_does_not_fit_is_named)
