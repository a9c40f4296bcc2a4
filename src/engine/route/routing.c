/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Finds a model from what a request says about languages. Candidates are rated by how well their
 * tags fit, target before source; the source is detected among the possible ones; and if no single
 * model translates between the two, two models in a row are tried. Nothing is loaded or kept
 * here. */
#include "engine/route/routing.h"

#include <stdio.h>
#include <string.h>

enum { SOME_WORDS = 20 }; /* bytes of a text that is more than a name or a loanword */

/* The confidence from which a text counts as written in a language that leads nowhere; the
 * confidence below which a text of some words is in none of the languages that lead to the target,
 * whichever it is in; and the share of the best guess's confidence from which the second guess
 * counts as equally good. */
static const float IS_SURE = DG_ENGINE_SURE, IS_NOT = 0.1f, MAY_BE = 0.2f;

/* The languages that a request names; a side that is not named fits everything. */
struct want {
    const struct dg_routing_map *map;
    struct dg_langtag source, target;
    struct dg_span source_text, target_text; /* as the client spelled them */
    bool has_source, has_target;
    enum dg_formality formality;
};

static enum dg_err read_tag(const char *text, const char *side, struct dg_langtag *tag, bool *has,
                            struct dg_error *error)
{
    *has = text && *text;
    if (!*has)
        return DG_OK;
    enum dg_err err = dg_langtag_parse(dg_span_cstr(text), tag, error);
    return err ? dg_error_wrap(error, err, "%s", side) : DG_OK;
}

/* ---- Languages of a model -------------------------------------------------------------------- */

/* Returns true for a pair. The same language on both sides is not a pair if the model has other
 * languages, but Chinese in two scripts is one. */
static bool is_pair(const struct dg_langs *langs, size_t s, size_t t)
{
    return !dg_langs_are_many(langs) ||
           strcmp(langs->sources[s].tag.text, langs->targets[t].tag.text) != 0;
}

/* Returns the index of the wanted target; n_targets: there is none. */
static size_t target_of(const struct want *want, const struct dg_langs *langs)
{
    return want->has_target
               ? dg_langs_find(langs->targets, langs->n_targets, &want->target, want->target_text)
               : langs->usual_target;
}

static bool leads_to_target(const struct want *want, const struct dg_served_model *model)
{
    return target_of(want, model->langs) < model->langs->n_targets;
}

/* Returns the index of the wanted source for target `t`, or of the first that makes a pair if any
 * source is accepted; n_sources: there is none. */
static size_t source_of(const struct want *want, const struct dg_langs *langs, size_t t)
{
    size_t s = 0;
    if (want->has_source) {
        s = dg_langs_find(langs->sources, langs->n_sources, &want->source, want->source_text);
        return s < langs->n_sources && is_pair(langs, s, t) ? s : langs->n_sources;
    }
    while (s < langs->n_sources && !is_pair(langs, s, t))
        s++;
    return s;
}

/* ---- One hop --------------------------------------------------------------------------------- */

struct choice {
    struct dg_served_model *model;
    size_t source, target;
};

/* Narrows `picked` [*n] to those whose language on one side is the best match of `wanted`. */
static void narrow(const struct dg_langtag *wanted, bool by_target, struct choice *picked,
                   size_t *n)
{
    struct dg_langtag offered[DG_SCHED_MODELS_MAX];
    size_t best = 0, kept = 0;
    for (size_t i = 0; i < *n; i++)
        offered[i] = by_target ? picked[i].model->langs->targets[picked[i].target].tag
                               : picked[i].model->langs->sources[picked[i].source].tag;
    if (dg_langtag_match(wanted, offered, *n, &best) == DG_LANGTAG_NONE)
        return;
    for (size_t i = 0; i < *n; i++)
        if (strcmp(offered[i].text, offered[best].text) == 0)
            picked[kept++] = picked[i];
    *n = kept;
}

/* Returns the word of the formality; NULL: the default is requested, or the model has no such word
 * for the language. */
static const struct dg_manner *manner_of(const struct dg_lang *target, enum dg_formality formality)
{
    const bool is_informal =
        formality == DG_FORMALITY_INFORMAL || formality == DG_FORMALITY_PREFER_INFORMAL;
    const struct dg_manner *manner = is_informal ? &target->informal : &target->formal;
    return formality != DG_FORMALITY_DEFAULT && manner->id >= 0 ? manner : NULL;
}

/* Finds the model and the pair that fit best, where the target counts before the source. Of several
 * equally good models, takes the first that can set the formality, otherwise the first that was
 * loaded. */
static bool find_direct(const struct want *want, struct dg_routing *routing)
{
    struct choice picked[DG_SCHED_MODELS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < want->map->n_models; i++) {
        struct dg_served_model *model = want->map->models[i];
        size_t target = target_of(want, model->langs);
        size_t source = target < model->langs->n_targets ? source_of(want, model->langs, target)
                                                         : model->langs->n_sources;
        if (source < model->langs->n_sources)
            picked[n++] = (struct choice){model, source, target};
    }
    if (n > 1 && want->has_target)
        narrow(&want->target, true, picked, &n);
    if (n > 1 && want->has_source)
        narrow(&want->source, false, picked, &n);
    if (n == 0)
        return false;
    size_t at = 0;
    while (at < n &&
           !manner_of(&picked[at].model->langs->targets[picked[at].target], want->formality))
        at++;
    const struct choice *choice = &picked[at < n ? at : 0];
    routing->hops[0] = choice->model;
    routing->pairs[0] = dg_langs_pair(choice->model->langs, choice->source, choice->target);
    routing->n_hops = 1;
    return true;
}

/* ---- Two hops -------------------------------------------------------------------------------- */

/* Two models in a row, and the languages they are used for. */
struct relay {
    struct dg_served_model *first, *last;
    size_t source, out, in, target;
};

static bool is_same(const struct dg_langtag *a, const struct dg_langtag *b)
{
    return strcmp(a->language, b->language) == 0;
}

/* Rates how well the target of the first hop and the source of the second match, preferring
 * English; 0: not at all. A routing never returns to the language that it started from. */
static unsigned rate_between(const struct relay *relay, size_t out, size_t in)
{
    const struct dg_langtag *said = &relay->first->langs->targets[out].tag,
                            *read = &relay->last->langs->sources[in].tag;
    enum dg_langtag_fit fit = *said->text ? dg_langtag_compare(said, read) : DG_LANGTAG_NONE;
    if (fit == DG_LANGTAG_NONE || is_same(&relay->first->langs->sources[relay->source].tag, said) ||
        is_same(read, &relay->last->langs->targets[relay->target].tag))
        return 0;
    return (unsigned)fit << 4 | (strcmp(read->language, "en") == 0 ? 2 : 1);
}

/* Chooses the language between the source and the target of two hops; returns how well it fits, 0:
 * not at all. */
static unsigned rate(struct relay *relay)
{
    const struct dg_langs *first = relay->first->langs, *last = relay->last->langs;
    const struct dg_langtag *source = &first->sources[relay->source].tag,
                            *target = &last->targets[relay->target].tag;
    unsigned best = 0;
    if (!*source->text || !*target->text || is_same(source, target))
        return 0;
    for (size_t out = 0; out < first->n_targets; out++)
        for (size_t in = 0; in < last->n_sources; in++) {
            unsigned rating = rate_between(relay, out, in);
            if (rating <= best)
                continue;
            best = rating;
            relay->out = out;
            relay->in = in;
        }
    return best;
}

static unsigned fit(bool has, const struct dg_langtag *want, const struct dg_langtag *offered)
{
    return (unsigned)(has ? dg_langtag_compare(want, offered) : DG_LANGTAG_SAME);
}

/* Rates how well two models in a row can do what is wanted; 0: not at all. The target counts before
 * the source, and the source before the language between. */
static unsigned rate_models(const struct want *want, struct relay *relay)
{
    const struct dg_langs *first = relay->first->langs, *last = relay->last->langs;
    unsigned best = 0;
    relay->target = target_of(want, last);
    if (relay->target == last->n_targets)
        return 0;
    struct relay tried = *relay;
    size_t from = 0, to = first->n_sources;
    if (want->has_source) {
        from = dg_langs_find(first->sources, first->n_sources, &want->source, want->source_text);
        to = from < first->n_sources ? from + 1 : from;
    }
    for (tried.source = from; tried.source < to && best == 0; tried.source++) {
        best = rate(&tried);
        *relay = tried;
    }
    if (best)
        best |= fit(want->has_target, &want->target, &last->targets[relay->target].tag) << 12 |
                fit(want->has_source, &want->source, &first->sources[relay->source].tag) << 8;
    return best;
}

static void take(const struct relay *relay, struct dg_routing *routing)
{
    routing->hops[0] = relay->first;
    routing->hops[1] = relay->last;
    routing->pairs[0] = dg_langs_pair(relay->first->langs, relay->source, relay->out);
    routing->pairs[1] = dg_langs_pair(relay->last->langs, relay->in, relay->target);
    routing->n_hops = 2;
}

/* Finds the best routing through a third language; of several equally good routings, that of the
 * models loaded first. False: there is none. */
static bool find_pivot(const struct want *want, struct dg_routing *routing)
{
    unsigned best = 0;
    for (size_t i = 0; want->has_target && i < want->map->n_models; i++) {
        if (!leads_to_target(want, want->map->models[i]))
            continue;
        for (size_t j = 0; j < want->map->n_models; j++) {
            struct relay relay = {.first = want->map->models[j], .last = want->map->models[i]};
            unsigned rating = rate_models(want, &relay);
            if (rating <= best)
                continue;
            best = rating;
            take(&relay, routing);
        }
    }
    return best > 0;
}

/* ---- Reach ----------------------------------------------------------------------------------- */

/* The sources of a model that can be translated to the target. */
struct reach {
    bool direct; /* all sources: the model itself translates to the target */
    bool pivot;  /* all sources except `only`: another model goes on to the target */
    /* the only language between the two models; NULL: there are several */
    const struct dg_langtag *only;
};

/* Returns a language between `model` and `last`, other than `but`; NULL: there is none. */
static const struct dg_langtag *between(const struct want *want,
                                        const struct dg_served_model *model,
                                        const struct dg_served_model *last,
                                        const struct dg_langtag *but)
{
    const struct dg_langtag *target = &last->langs->targets[target_of(want, last->langs)].tag;
    for (size_t out = 0; out < model->langs->n_targets; out++) {
        const struct dg_langtag *said = &model->langs->targets[out].tag;
        if (!*said->text || is_same(said, target) || (but && is_same(said, but)))
            continue;
        for (size_t in = 0; in < last->langs->n_sources; in++)
            if (is_same(said, &last->langs->sources[in].tag))
                return said;
    }
    return NULL;
}

static struct reach reach_of(const struct want *want, const struct dg_served_model *model)
{
    struct reach reach = {.direct = leads_to_target(want, model)};
    for (size_t i = 0; !reach.direct && want->has_target && i < want->map->n_models; i++) {
        const struct dg_served_model *last = want->map->models[i];
        const struct dg_langtag *one =
            leads_to_target(want, last) ? between(want, model, last, NULL) : NULL;
        if (!one)
            continue;
        bool is_only = !between(want, model, last, one) &&
                       (!reach.pivot || (reach.only && is_same(reach.only, one)));
        reach.only = is_only ? one : NULL;
        reach.pivot = true;
    }
    return reach;
}

/* Returns true when a model's source can become the target, in one hop or two; `reach` is the
 * model's. */
static bool reaches(const struct want *want, const struct dg_served_model *model,
                    const struct reach *reach, size_t source)
{
    const struct dg_langtag *tag = &model->langs->sources[source].tag;
    if (reach->direct)
        return is_pair(model->langs, source, target_of(want, model->langs));
    return reach->pivot && *tag->text && !(reach->only && is_same(reach->only, tag)) &&
           !is_same(tag, &want->target);
}

/* ---- Detection ------------------------------------------------------------------------------- */

/* Returns true when more than one language can be translated to the target. If no language can be
 * detected, only those of direct models count. */
static bool is_ambiguous(const struct want *want)
{
    const struct dg_langtag *first = NULL;
    for (size_t i = 0; i < want->map->n_models; i++) {
        const struct dg_served_model *model = want->map->models[i];
        struct reach reach = {.direct = leads_to_target(want, model)};
        if (!reach.direct && want->map->langid)
            reach = reach_of(want, model);
        for (size_t s = 0; (reach.direct || reach.pivot) && s < model->langs->n_sources; s++) {
            if (!reaches(want, model, &reach, s))
                continue;
            if (first && !is_same(first, &model->langs->sources[s].tag))
                return true;
            first = &model->langs->sources[s].tag;
        }
    }
    return false;
}

/* Lists the languages that a text may be in: those that can be translated to the target, and the
 * target itself, so that a text that needs no translation is not taken for another language. False:
 * not all of them can be detected. */
static bool list_candidates(const struct want *want, struct dg_langid_set *set)
{
    bool are_known = true;
    dg_langid_set_clear(set);
    if (want->has_target)
        are_known = dg_langid_set_add(want->map->langid, set, want->target.text);
    for (size_t i = 0; i < want->map->n_models; i++) {
        const struct dg_served_model *model = want->map->models[i];
        struct reach reach = reach_of(want, model);
        for (size_t s = 0; (reach.direct || reach.pivot) && s < model->langs->n_sources; s++)
            if (reaches(want, model, &reach, s))
                are_known &=
                    dg_langid_set_add(want->map->langid, set, model->langs->sources[s].tag.text);
    }
    return are_known;
}

static bool is_target(const struct want *want, const char *tag)
{
    return want->has_target && strcmp(tag, want->target.language) == 0;
}

/* Chooses between the two most probable candidates. Since a translation is wanted, a text that may
 * equally be in a language that leads to the target is not taken for the target language. NULL:
 * neither. */
static const struct dg_langid_guess *choose(const struct want *want,
                                            const struct dg_langid_guess *guesses, size_t n)
{
    if (n == 2 && is_target(want, guesses[0].tag) &&
        guesses[1].confidence > MAY_BE * guesses[0].confidence)
        return &guesses[1];
    return n ? &guesses[0] : NULL;
}

/* Returns a candidate that can stand for the language `tag`, which is not a candidate itself: the
 * two are standards of one language (ISO 639-3: hbs, msa). NULL: there is none. */
static const char *kin_of(const struct want *want, const struct dg_langid_set *set, const char *tag)
{
    static const char *const families[][3] = {{"bs", "hr", "sr"}, {"id", "ms", "ms"}};
    for (size_t i = 0; i < 6; i++)
        for (size_t k = 0; strcmp(families[i / 3][i % 3], tag) == 0 && k < 3; k++)
            if (dg_langid_set_has(want->map->langid, set, families[i / 3][k]))
                return families[i / 3][k];
    return NULL;
}

/* Guesses the language of a text: at most two `guesses` among the candidates, and the `other`
 * language that it may be in; and how many bytes of plain text were looked at. */
static enum dg_err look(const struct want *want, struct dg_span text, enum dg_doc_format format,
                        const struct dg_langid_set *set, struct dg_langid_guess guesses[2],
                        struct dg_langid_guess *other, size_t *n, size_t *len)
{
    struct dg_buf plain;
    dg_buf_init(&plain, DG_DOC_SAMPLE);
    enum dg_err err = dg_doc_sample(text, format, &plain);
    *other = (struct dg_langid_guess){.tag = NULL};
    *n = err ? 0
             : dg_langid_detect_among(want->map->langid, dg_buf_span(&plain), set, guesses, 2,
                                      other);
    *len = plain.len;
    dg_buf_deinit(&plain);
    return err;
}

/* Sets the source to the language that the text is written in, among those that can be translated
 * to the target; or finds that there is nothing to translate. */
static enum dg_err detect(struct want *want, struct dg_span text, enum dg_doc_format format,
                          struct dg_error *error, struct dg_routing *routing)
{
    struct dg_langid_set set;
    struct dg_langid_guess guesses[2], other;
    size_t n, len;
    const bool all_known = list_candidates(want, &set),
               is_unknown = !all_known && !is_ambiguous(want);
    if (look(want, text, format, &set, guesses, &other, &n, &len))
        return dg_error_set(error, DG_ERR_NOMEM, "no memory to detect a language");
    const struct dg_langid_guess *guess = choose(want, guesses, n);
    const char *kin = NULL;
    const bool is_none = len >= SOME_WORDS && n > 0 && guesses[0].confidence < IS_NOT;
    if (all_known && other.tag && (other.confidence >= IS_SURE || is_none)) {
        guess = &other;
        kin = kin_of(want, &set, other.tag);
        routing->is_foreign = !kin;
    }
    if (is_unknown && (guess ? guess->confidence < IS_SURE : other.tag != NULL))
        return DG_OK; /* the only language that leads to the target, if it cannot be detected */
    routing->is_copy = !guess;
    if (!guess)
        return DG_OK;
    routing->detected = guess->tag;
    routing->confidence = guess->confidence;
    return read_tag(kin ? kin : guess->tag, "the detected language", &want->source,
                    &want->has_source, error);
}

/* ---- Copies ---------------------------------------------------------------------------------- */

/* Finds the routing that would serve a text in any language; false: nothing leads to the target. */
static bool find_usual(const struct want *want, struct dg_routing *routing)
{
    struct want any = *want;
    any.has_source = false;
    return find_direct(&any, routing) || find_pivot(&any, routing);
}

/* Returns true when the text is in the target language already, according to the request or as far
 * as that can be detected; scripts and regions cannot. */
static bool is_said_already(const struct want *want, const struct dg_routing *routing)
{
    if (!want->has_source || !want->has_target)
        return false;
    return routing->detected ? is_same(&want->source, &want->target)
                             : dg_langtag_compare(&want->target, &want->source) > DG_LANGTAG_SCRIPT;
}

/* Makes the routing for a text that is returned unchanged, because it is in the target language,
 * has no letters, or is in a language that leads nowhere. False: that would not be an answer. */
static bool find_copy(const struct want *want, struct dg_routing *routing)
{
    const struct dg_routing_map *map = want->map;
    const bool is_said = is_said_already(want, routing), leads = find_usual(want, routing);
    if (map->n_models == 0 || !(is_said || (leads && (routing->is_copy || routing->is_foreign))))
        return false;
    if (!leads) {
        routing->hops[0] = map->models[0];
        routing->pairs[0] = dg_langs_pair(map->models[0]->langs, 0, 0);
        routing->n_hops = 1;
    }
    routing->is_copy = true;
    routing->target =
        want->has_target ? want->target : routing->pairs[routing->n_hops - 1].target->tag;
    if (want->has_source)
        routing->source = want->source;
    routing->is_foreign &= !is_same(&routing->source, &routing->target);
    return true;
}

/* ---- A way ----------------------------------------------------------------------------------- */

static enum dg_err refuse(const struct want *want, struct dg_error *error)
{
    for (size_t i = 0; !want->has_target && i < want->map->n_models; i++) {
        const struct dg_served_model *model = want->map->models[i];
        if (model->langs->usual_target == model->langs->n_targets)
            return dg_error_set(
                error, DG_ERR_INVALID,
                "model %s translates to %zu languages (%s, %s, ...); name the target language",
                model->name, model->langs->n_targets, model->langs->targets[0].code,
                model->langs->targets[1].code);
    }
    if (want->has_source && want->has_target)
        return dg_error_set(error, DG_ERR_NOT_FOUND,
                            "no model translates from %s to %s; not installed: dragoman get %s-%s",
                            want->source.text, want->target.text, want->source.text,
                            want->target.text);
    return dg_error_set(error, DG_ERR_NOT_FOUND, "no model translates from %s to %s",
                        want->has_source ? want->source.text : "any language",
                        want->has_target ? want->target.text : "any language");
}

/* Reads what the request states about languages. */
static enum dg_err read_want(struct want *want, const struct dg_engine_request *request,
                             struct dg_error *error)
{
    const char *source =
        request->source && strcmp(request->source, "auto") == 0 ? NULL : request->source;
    want->formality = request->formality;
    want->source_text = dg_span_cstr(source ? source : "");
    want->target_text = dg_span_cstr(request->target ? request->target : "");
    enum dg_err err = read_tag(source, "source", &want->source, &want->has_source, error);
    return err ? err : read_tag(request->target, "target", &want->target, &want->has_target, error);
}

/* Returns whether the source language must be detected: if the request says so or names only a
 * target, and always if there are several source languages. A request that names a model and no
 * languages means the model's own languages. */
static bool wants_detection(const struct want *want, const struct dg_engine_request *request)
{
    const bool has_text = request->text.len + request->whole.len > 0;
    const bool is_asked = request->source && strcmp(request->source, "auto") == 0;
    return !want->has_source && ((want->map->langid && has_text &&
                                  (is_asked || (want->has_target && !request->model))) ||
                                 is_ambiguous(want));
}

/* Finds the routing by languages, among all models of the map. */
static enum dg_err by_languages(const struct dg_routing_map *map,
                                const struct dg_engine_request *request, struct dg_error *error,
                                struct dg_routing *routing)
{
    struct want want = {.map = map};
    enum dg_err err = read_want(&want, request, error);
    const bool detects = !err && wants_detection(&want, request);
    if (detects && !map->langid)
        return dg_error_set(
            error, DG_ERR_UNSUPPORTED,
            "several languages can be translated to %s; name the source language, because %s",
            want.has_target ? want.target.text : "the target", map->langid_error);
    if (detects)
        err = detect(&want, request->whole.len ? request->whole : request->text, request->format,
                     error, routing);
    if (err)
        return err;
    if (!routing->is_copy && !routing->is_foreign &&
        (find_direct(&want, routing) || find_pivot(&want, routing)))
        return DG_OK;
    return find_copy(&want, routing) ? DG_OK : refuse(&want, error);
}

static struct dg_served_model *find_name(const struct dg_routing_map *map, struct dg_span name)
{
    for (size_t i = 0; i < map->n_models; i++)
        if (dg_span_eq(dg_span_cstr(map->models[i]->name), name))
            return map->models[i];
    return NULL;
}

/* Uses one model by its name, with the languages that the request or the detection gives. Languages
 * that the model lacks are refused; a model whose languages are unknown accepts any. */
static enum dg_err by_model(const struct dg_routing_map *map, struct dg_served_model *model,
                            const struct dg_engine_request *request, struct dg_error *error,
                            struct dg_routing *routing)
{
    struct dg_served_model *const alone[] = {model};
    struct dg_routing_map one = *map;
    one.models = alone;
    one.n_models = 1;
    enum dg_err err = by_languages(&one, request, error, routing);
    return err ? dg_error_wrap(error, err, "model %s", model->name) : DG_OK;
}

/* Uses two models in a row by their names. Languages are needed only where there is a choice. */
static enum dg_err by_two(const struct dg_routing_map *map, struct dg_served_model *first,
                          struct dg_served_model *last, const struct dg_engine_request *request,
                          struct dg_error *error, struct dg_routing *routing)
{
    struct want want = {.map = map};
    struct relay relay = {.first = first, .last = last};
    enum dg_err err = read_want(&want, request, error);
    if (err)
        return err;
    if ((want.has_source &&
         dg_langs_find(first->langs->sources, first->langs->n_sources, &want.source,
                       want.source_text) == first->langs->n_sources) ||
        (want.has_target && target_of(&want, last->langs) == last->langs->n_targets))
        return refuse(&want, error);
    if (!want.has_source && first->langs->n_sources > 1)
        return dg_error_set(error, DG_ERR_INVALID,
                            "model %s translates from %zu languages; name the source language",
                            first->name, first->langs->n_sources);
    if (!want.has_target && last->langs->usual_target == last->langs->n_targets)
        return dg_error_set(error, DG_ERR_INVALID,
                            "model %s translates to %zu languages; name the target language",
                            last->name, last->langs->n_targets);
    if (!rate_models(&want, &relay))
        return dg_error_set(
            error, DG_ERR_INVALID,
            "%s translates to %s%s but %s from %s%s: one cannot follow the other", first->name,
            first->langs->targets[0].code, first->langs->n_targets > 1 ? ", ..." : "", last->name,
            last->langs->sources[0].code, last->langs->n_sources > 1 ? ", ..." : "");
    take(&relay, routing);
    return DG_OK;
}

/* Finds a model by its name, "fr-en", or two models in a row, as answers name them:
 * "fr-en+en-de". */
static enum dg_err by_name(const struct dg_routing_map *map,
                           const struct dg_engine_request *request, struct dg_error *error,
                           struct dg_routing *routing)
{
    const char *name = request->model, *plus = strchr(name, '+');
    struct dg_served_model *whole = find_name(map, dg_span_cstr(name)), *first = NULL, *last = NULL;
    if (whole)
        return by_model(map, whole, request, error, routing);
    if (plus) {
        first = find_name(map, dg_span_make(name, (size_t)(plus - name)));
        last = find_name(map, dg_span_cstr(plus + 1));
    }
    if (first && last)
        return by_two(map, first, last, request, error, routing);
    return dg_error_set(error, DG_ERR_NOT_FOUND, "no model is called %s", name);
}

/* Finds the routing among the models of the map, whether or not the request may use them. */
static enum dg_err find(const struct dg_routing_map *map, const struct dg_engine_request *request,
                        struct dg_error *error, struct dg_routing *routing)
{
    *routing = (struct dg_routing){.n_hops = 0};
    return request->model ? by_name(map, request, error, routing)
                          : by_languages(map, request, error, routing);
}

static bool may_use(const struct dg_engine_request *request, const struct dg_served_model *model)
{
    for (size_t i = 0; i < request->n_only; i++)
        if (strcmp(request->only[i], model->name) == 0)
            return true;
    return false;
}

static enum dg_err find_allowed(const struct dg_routing_map *map,
                                const struct dg_engine_request *request, struct dg_error *error,
                                struct dg_routing *routing)
{
    if (request->n_only == 0)
        return find(map, request, error, routing);
    struct dg_served_model *allowed[DG_SCHED_MODELS_MAX];
    struct dg_routing_map part = *map;
    struct dg_routing other;
    part.models = allowed;
    part.n_models = 0;
    for (size_t i = 0; i < map->n_models; i++)
        if (may_use(request, map->models[i]))
            allowed[part.n_models++] = map->models[i];
    enum dg_err err = find(&part, request, error, routing);
    /* An answer without a translation is right only if no model that the key may not use has one.
     */
    const bool has_none = err == DG_ERR_NOT_FOUND || (!err && routing->is_copy);
    if (has_none && find(map, request, NULL, &other) == DG_OK && (err || !other.is_copy))
        err = dg_error_set(error, DG_ERR_DENIED, "the key may not use %s",
                           request->model ? "this model" : "a model for these languages");
    return err;
}

/* Sets the formality of the last hop, whose target is the language of the answer. */
static enum dg_err say_manner(const struct dg_engine_request *request, struct dg_error *error,
                              struct dg_routing *routing)
{
    if (request->formality == DG_FORMALITY_DEFAULT || routing->is_copy || routing->n_hops == 0)
        return DG_OK;
    const struct dg_served_model *model = routing->hops[routing->n_hops - 1];
    const struct dg_manner *manner =
        manner_of(routing->pairs[routing->n_hops - 1].target, request->formality);
    if (manner)
        dg_pair_say(&routing->pairs[routing->n_hops - 1], manner);
    else if (request->formality == DG_FORMALITY_FORMAL ||
             request->formality == DG_FORMALITY_INFORMAL)
        return dg_error_set(error, DG_ERR_UNSUPPORTED,
                            "model %s does not support formality: it cannot be told to be %s",
                            model->name,
                            request->formality == DG_FORMALITY_FORMAL ? "formal" : "informal");
    return DG_OK;
}

enum dg_err dg_routing_find(const struct dg_routing_map *map,
                            const struct dg_engine_request *request, struct dg_error *error,
                            struct dg_routing *routing)
{
    enum dg_err err = find_allowed(map, request, error, routing);
    return err ? err : say_manner(request, error, routing);
}

void dg_routing_replace(struct dg_routing *routing, size_t hop, struct dg_served_model *model)
{
    const struct dg_lang_pair *pair = &routing->pairs[hop];
    const struct dg_langs *langs = model->langs;
    size_t s = dg_langs_find(langs->sources, langs->n_sources, &pair->source->tag,
                             dg_span_cstr(pair->source->code));
    size_t t = dg_langs_find(langs->targets, langs->n_targets, &pair->target->tag,
                             dg_span_cstr(pair->target->code));
    if (s == langs->n_sources || t == langs->n_targets)
        return;
    const struct dg_lang *target = &langs->targets[t];
    const struct dg_manner *manner = !pair->manner               ? NULL
                                     : pair->manner->is_informal ? &target->informal
                                                                 : &target->formal;
    if (manner && manner->id < 0)
        return;
    routing->hops[hop] = model;
    routing->pairs[hop] = dg_langs_pair(langs, s, t);
    if (manner)
        dg_pair_say(&routing->pairs[hop], manner);
}

void dg_routing_name(const struct dg_routing *routing, char name[DG_ROUTING_NAME])
{
    size_t len = 0;
    for (size_t i = 0; i < routing->n_hops && len < DG_ROUTING_NAME; i++)
        len += (size_t)snprintf(name + len, DG_ROUTING_NAME - len, "%s%s", i ? "+" : "",
                                routing->hops[i]->name);
}
