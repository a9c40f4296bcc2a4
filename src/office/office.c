/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* An archive, and for each of its members whether it is a part with text. In Office Open XML the
 * part [Content_Types].xml says what each part is, whatever its name; in OpenDocument the names do.
 * Parts are read once for their text and once more when they are written: what was learnt about
 * their runs is not kept in between. */
#define _GNU_SOURCE 1 /* memmem */
#include "office/office.h"
#include "archive/zip_in.h"
#include "archive/zip_out.h"
#include "base/memory/chars.h"
#include "base/memory/mem.h"
#include "markup/markup.h"
#include "office/part.h"
#include "office/sheets.h"
#include "text/language/langtag.h"

#include <stdio.h>
#include <string.h>

enum { TYPES_MAX = 4 << 20, NAME_MAX_BYTES = 1024 };

enum role {
    COPIED,   /* the member is not read */
    TEXT,     /* has paragraphs */
    LANGUAGE, /* states the language, but has no text */
    STRINGS,  /* has the texts of a workbook's cells */
    SHEET,    /* contains the texts of its cells itself if no part contains them for all */
    TABLE,    /* names columns, which texts of cells must match */
    WORKBOOK, /* names the sheets */
    LAYOUT,   /* the layout of slides; the contents of its placeholders are not shown */
    N_ROLES
};

struct dg_office {
    struct dg_zip zip;
    unsigned char *roles;     /* owned; [n_members] enum role */
    struct dg_buf names;      /* of tables' columns, one per line */
    bool is_book;             /* EPUB */
    struct dg_sheets *sheets; /* owned; NULL: it is not a workbook */
    struct dg_map kept;       /* these lines: their keys are in `names` */
};

static const struct {
    const char *ending, *type;
} kinds[] = {
    {"docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
    {"docm", "application/vnd.ms-word.document.macroEnabled.12"},
    {"dotx", "application/vnd.openxmlformats-officedocument.wordprocessingml.template"},
    {"pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
    {"pptm", "application/vnd.ms-powerpoint.presentation.macroEnabled.12"},
    {"ppsx", "application/vnd.openxmlformats-officedocument.presentationml.slideshow"},
    {"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
    {"xlsm", "application/vnd.ms-excel.sheet.macroEnabled.12"},
    {"epub", "application/epub+zip"},
    {"odt", "application/vnd.oasis.opendocument.text"},
    {"ott", "application/vnd.oasis.opendocument.text-template"},
    {"odp", "application/vnd.oasis.opendocument.presentation"},
    {"ods", "application/vnd.oasis.opendocument.spreadsheet"},
};

static const char *type_of(struct dg_span name)
{
    size_t dot = name.len;
    while (dot > 0 && name.ptr[dot - 1] != '.')
        dot--;
    const struct dg_span ending = dg_span_sub(name, dot, name.len);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (dg_markup_is(DG_MARKUP_HTML, ending, dg_span_cstr(kinds[i].ending)))
            return kinds[i].type;
    return NULL;
}

bool dg_office_is_named(struct dg_span name)
{
    return type_of(name) != NULL;
}

const char *dg_office_type(struct dg_span name)
{
    const char *type = type_of(name);
    return type ? type : "application/octet-stream";
}

/* The compound file of Office before 2007, and of encrypted documents today. */
static const struct dg_span compound_file = {"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", 8};

bool dg_office_is(struct dg_span bytes)
{
    return dg_zip_is((const uint8_t *)bytes.ptr, bytes.len) || dg_span_starts(bytes, compound_file);
}

/* ---- What the parts are ---------------------------------------------------------------------- */

/* The last words of the types of parts that have text, and of those that state a language. */
static const struct {
    const char *ending;
    enum role role;
} part_types[] = {
    {".document.main+xml", TEXT},
    {".template.main+xml", TEXT},
    {".document.macroEnabled.main+xml", TEXT},
    {".header+xml", TEXT},
    {".footer+xml", TEXT},
    {".footnotes+xml", TEXT},
    {".endnotes+xml", TEXT},
    {".comments+xml", TEXT},
    {".chart+xml", TEXT},
    {".diagramData+xml", TEXT},
    {".diagramDrawing+xml", TEXT},
    {".slide+xml", TEXT},
    {"spreadsheetml.sheet.main+xml", WORKBOOK},
    {".slideLayout+xml", LAYOUT},
    {".slideMaster+xml", LAYOUT},
    {".drawing+xml", TEXT},
    {".chartshapes+xml", TEXT},
    {".sharedStrings+xml", STRINGS},
    {".worksheet+xml", SHEET},
    {".table+xml", TABLE},
    {".notesSlide+xml", TEXT},
    {".core-properties+xml", TEXT},
    {".styles+xml", LANGUAGE},
    {".settings+xml", LANGUAGE},
};

static enum role role_of(struct dg_span type)
{
    for (size_t i = 0; i < sizeof part_types / sizeof *part_types; i++)
        if (dg_span_ends(type, dg_span_cstr(part_types[i].ending)))
            return part_types[i].role;
    return COPIED;
}

/* <Override PartName="/word/document.xml" ContentType="..."/> */
static void note_type(struct dg_office *office, struct dg_span tag, size_t n[N_ROLES])
{
    struct dg_span part, type;
    char name[NAME_MAX_BYTES];
    if (!dg_markup_attribute(tag, "PartName", &part) ||
        !dg_markup_attribute(tag, "ContentType", &type) || part.len < 2 || part.ptr[0] != '/' ||
        part.len > sizeof name)
        return;
    memcpy(name, part.ptr + 1, part.len - 1);
    name[part.len - 1] = '\0';
    const struct dg_zip_member *member = dg_zip_find(&office->zip, name);
    if (!member)
        return;
    office->roles[member - office->zip.members] = (unsigned char)role_of(type);
    n[role_of(type)]++;
}

static enum dg_err refuse_kind(const struct dg_office *office, struct dg_error *error)
{
    return dg_error_set(error, DG_ERR_UNSUPPORTED,
                        "%s: an archive, but not a document of a known kind", office->zip.name);
}

static enum dg_err read_types(struct dg_office *office, const struct dg_zip_member *member,
                              struct dg_error *error)
{
    struct dg_zip_data data;
    struct dg_markup_token token;
    size_t n[N_ROLES] = {0};
    enum dg_err err = dg_zip_data(&office->zip, member, TYPES_MAX, &data, error);
    if (err)
        return err;
    struct dg_markup markup = {.text = dg_span_make((const char *)data.bytes, data.len),
                               .kind = DG_MARKUP_XML};
    while (dg_markup_next(&markup, &token))
        if ((token.type == DG_MARKUP_START || token.type == DG_MARKUP_EMPTY) &&
            dg_span_ends(token.name, DG_SPAN("Override")))
            note_type(office, dg_span_sub(markup.text, token.at, token.len), n);
    dg_zip_data_free(&data);
    for (size_t i = 0; i < office->zip.n_members; i++)
        if (office->roles[i] == STRINGS || office->roles[i] == SHEET)
            office->roles[i] = office->roles[i] == STRINGS || n[STRINGS] == 0 ? TEXT : SHEET;
    return n[TEXT] + n[STRINGS] + n[SHEET]
               ? DG_OK
               : dg_error_set(error, DG_ERR_UNSUPPORTED,
                              "%s: none of its parts is the text of a document of a known kind",
                              office->zip.name);
}

/* Refuses a document with a part in which a tag says that text is encrypted. */
static enum dg_err check_tags(const struct dg_office *office, const char *name,
                              bool (*says)(const struct dg_office *office, struct dg_span part,
                                           const struct dg_markup_token *token),
                              struct dg_error *error)
{
    const struct dg_zip_member *member = dg_zip_find(&office->zip, name);
    struct dg_zip_data data;
    struct dg_markup_token token;
    bool is_encrypted = false;
    enum dg_err err = member ? dg_zip_data(&office->zip, member, TYPES_MAX, &data, error) : DG_OK;
    if (!member || err)
        return err;
    struct dg_markup markup = {.text = dg_span_make((const char *)data.bytes, data.len),
                               .kind = DG_MARKUP_XML};
    while (!is_encrypted && dg_markup_next(&markup, &token))
        is_encrypted = says(office, markup.text, &token);
    dg_zip_data_free(&data);
    return is_encrypted ? dg_error_set(error, DG_ERR_UNSUPPORTED, "%s: the document is encrypted",
                                       office->zip.name)
                        : DG_OK;
}

/* Reads META-INF/manifest.xml, a document's list of its parts. */
static bool is_of_encrypted(const struct dg_office *office, struct dg_span part,
                            const struct dg_markup_token *token)
{
    (void)office;
    (void)part;
    return dg_span_ends(token->name, DG_SPAN("encryption-data"));
}

static void find_parts_of_opendocument(struct dg_office *office, bool is_workbook)
{
    for (size_t i = 0; i < office->zip.n_members; i++) {
        const struct dg_span name = dg_span_cstr(office->zip.members[i].name);
        if (dg_span_eq(name, DG_SPAN("content.xml")) || dg_span_eq(name, DG_SPAN("styles.xml")) ||
            dg_span_eq(name, DG_SPAN("meta.xml")) || dg_span_ends(name, DG_SPAN("/content.xml")))
            office->roles[i] = TEXT;
        if (is_workbook && dg_span_eq(name, DG_SPAN("content.xml")))
            office->roles[i] = WORKBOOK;
    }
}

static void find_parts_of_book(struct dg_office *office)
{
    static const char *const endings[] = {".xhtml", ".html", ".htm", ".opf", ".ncx"};
    office->is_book = true;
    for (size_t i = 0; i < office->zip.n_members; i++)
        for (size_t k = 0; k < sizeof endings / sizeof *endings; k++)
            if (dg_span_ends(dg_span_cstr(office->zip.members[i].name), dg_span_cstr(endings[k])))
                office->roles[i] = TEXT;
}

/* Reads META-INF/encryption.xml of a book, which may have encrypted fonts, but not pages. */
static bool names_a_page(const struct dg_office *office, struct dg_span part,
                         const struct dg_markup_token *token)
{
    char name[NAME_MAX_BYTES];
    struct dg_span uri;
    if (!dg_span_ends(token->name, DG_SPAN("CipherReference")) ||
        !dg_markup_attribute(dg_span_sub(part, token->at, token->len), "URI", &uri) ||
        uri.len >= sizeof name)
        return false;
    snprintf(name, sizeof name, "%.*s", DG_SPAN_FMT(uri));
    const struct dg_zip_member *page = dg_zip_find(&office->zip, name);
    return page && office->roles[page - office->zip.members] == TEXT;
}

/* For OpenDocument and EPUB: a member states the kind, and the names of the parts show what they
 * are. */
static enum dg_err read_mimetype(struct dg_office *office, const struct dg_zip_member *member,
                                 struct dg_error *error)
{
    struct dg_zip_data data;
    enum dg_err err = dg_zip_data(&office->zip, member, NAME_MAX_BYTES, &data, error);
    if (err)
        return err;
    const struct dg_span type = dg_span_make((const char *)data.bytes, data.len);
    const bool is_book = dg_span_starts(type, DG_SPAN("application/epub+zip"));
    const bool is_open = dg_span_starts(type, DG_SPAN("application/vnd.oasis.opendocument."));
    const bool is_workbook = dg_span_ends(type, DG_SPAN(".spreadsheet"));
    dg_zip_data_free(&data);
    if (is_book) {
        find_parts_of_book(office);
        return check_tags(office, "META-INF/encryption.xml", names_a_page, error);
    }
    if (!is_open)
        return refuse_kind(office, error);
    find_parts_of_opendocument(office, is_workbook);
    return check_tags(office, "META-INF/manifest.xml", is_of_encrypted, error);
}

static enum dg_err read_kind(struct dg_office *office, struct dg_error *error)
{
    const struct dg_zip_member *types = dg_zip_find(&office->zip, "[Content_Types].xml");
    const struct dg_zip_member *mimetype = dg_zip_find(&office->zip, "mimetype");
    return types      ? read_types(office, types, error)
           : mimetype ? read_mimetype(office, mimetype, error)
                      : refuse_kind(office, error);
}

static enum dg_err check_sizes(const struct dg_office *office, size_t parts_max,
                               struct dg_error *error)
{
    size_t total = 0;
    for (size_t i = 0; i < office->zip.n_members; i++) {
        const struct dg_zip_member *member = &office->zip.members[i];
        if (office->roles[i] == COPIED || office->roles[i] == SHEET)
            continue;
        if (member->len > parts_max - total)
            return dg_error_set(error, DG_ERR_LIMIT,
                                "%s: the parts with text, up to %s, have more than %zu bytes",
                                office->zip.name, member->name, parts_max);
        total += member->len;
    }
    return DG_OK;
}

static bool has_text(unsigned char role)
{
    return role == TEXT || role == LAYOUT || role == WORKBOOK;
}

static enum dg_err open_part(const struct dg_office *office, size_t i,
                             const struct dg_office_opts *opts, struct dg_zip_data *data,
                             struct dg_office_part **part, struct dg_error *error)
{
    const struct dg_zip_member *member = &office->zip.members[i];
    struct dg_office_opts own = *opts;
    enum dg_err err = dg_zip_data(&office->zip, member, DG_OFFICE_PARTS_MAX, data, error);
    if (err)
        return err;
    own.has_text = has_text(office->roles[i]) || office->roles[i] == TABLE;
    own.is_layout = office->roles[i] == LAYOUT;
    own.is_html = office->is_book;
    own.is_table = office->roles[i] == TABLE;
    own.sheets = office->roles[i] == WORKBOOK ? office->sheets : NULL;
    own.kept = office->kept.len ? &office->kept : NULL;
    err = dg_office_part_new(dg_span_make((const char *)data->bytes, data->len), &own, member->name,
                             part, error);
    if (err)
        dg_zip_data_free(data);
    return err;
}

/* The lines of `names` without their tags. */
static enum dg_err keep_names(struct dg_office *office)
{
    const struct dg_span begin = DG_SPAN("<p>"), end = DG_SPAN("</p>\n"),
                         names = dg_buf_span(&office->names);
    enum dg_err err = DG_OK;
    for (size_t at = 0; at < names.len && !err;) {
        const char *line_end = memchr(names.ptr + at, '\n', names.len - at);
        const size_t next = line_end ? (size_t)(line_end - names.ptr) + 1 : names.len;
        if (next - at >= begin.len + end.len)
            err =
                dg_map_put(&office->kept,
                           dg_span_sub(names, at + begin.len, next - at - begin.len - end.len), 1);
        at = next;
    }
    return err;
}

/* ---- Sheets ---------------------------------------------------------------------------------- */

static struct dg_span sheet_name_of(const struct dg_markup *markup,
                                    const struct dg_markup_token *token, bool is_open)
{
    struct dg_span name = {NULL, 0};
    if ((token->type == DG_MARKUP_START || token->type == DG_MARKUP_EMPTY) &&
        (dg_span_eq(token->name, is_open ? DG_SPAN("table:table") : DG_SPAN("sheet")) ||
         (!is_open && dg_span_ends(token->name, DG_SPAN(":sheet")))))
        (void)!dg_markup_attribute(dg_span_sub(markup->text, token->at, token->len),
                                   is_open ? "table:name" : "name", &name);
    return name;
}

static enum dg_err note_sheets(struct dg_office *office, struct dg_span part, bool is_open)
{
    struct dg_markup markup = {.text = part, .kind = DG_MARKUP_XML};
    struct dg_markup_token token;
    enum dg_err err = DG_OK;
    while (!err && dg_markup_next(&markup, &token)) {
        const struct dg_span name = sheet_name_of(&markup, &token, is_open);
        if (name.len)
            err = dg_sheets_add(office->sheets, name);
    }
    return err;
}

/* Whether a part may refer to sheets. The titles of parts in the properties do not: programs
 * rewrite them. */
static bool may_refer(const struct dg_office *office, size_t i)
{
    static const char *const endings[] = {".xml", ".rels", ".vml"};
    const struct dg_span name = dg_span_cstr(office->zip.members[i].name);
    if (dg_span_eq(name, DG_SPAN("docProps/app.xml")) ||
        dg_span_ends(name, DG_SPAN("haredStrings.xml")))
        return false;
    for (size_t k = 0; k < sizeof endings / sizeof *endings; k++)
        if (dg_span_ends(name, dg_span_cstr(endings[k])))
            return true;
    return false;
}

/* Looks into one part for references, and checks whether a sheet whose cells have their texts
 * elsewhere has text of its own. */
static enum dg_err look_into(struct dg_office *office, size_t i, bool is_open, bool names_only,
                             size_t *left, struct dg_error *error)
{
    const struct dg_zip_member *member = &office->zip.members[i];
    struct dg_zip_data data;
    enum dg_err err = dg_zip_data(&office->zip, member, *left, &data, error);
    if (err) { /* too large, or damaged: what it refers to is not known */
        dg_sheets_keep(office->sheets);
        return err == DG_ERR_NOMEM ? err : DG_OK;
    }
    const struct dg_span part = dg_span_make((const char *)data.bytes, data.len);
    *left -= data.len;
    if (names_only)
        err = note_sheets(office, part, is_open);
    else
        dg_sheets_look(office->sheets, part);
    if (!names_only && office->roles[i] == SHEET &&
        (dg_chars_holds(part, "headerFooter") || dg_chars_holds(part, "\"inlineStr\"")))
        office->roles[i] = TEXT;
    dg_zip_data_free(&data);
    return err;
}

/* Finds out which names of sheets may change. `parts_max` also limits how much is searched. */
static enum dg_err read_sheets(struct dg_office *office, size_t parts_max, struct dg_error *error)
{
    const bool is_open = dg_zip_find(&office->zip, "[Content_Types].xml") == NULL;
    size_t n_workbooks = 0, left = parts_max;
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < office->zip.n_members; i++)
        n_workbooks += office->roles[i] == WORKBOOK;
    if (n_workbooks == 0)
        return DG_OK;
    if (!(office->sheets = dg_try_malloc(sizeof *office->sheets)))
        return DG_ERR_NOMEM;
    dg_sheets_init(office->sheets, is_open ? '.' : '!');
    for (size_t i = 0; i < office->zip.n_members && !err; i++) {
        const struct dg_span name = dg_span_cstr(office->zip.members[i].name);
        size_t all = parts_max;
        if (office->roles[i] == WORKBOOK)
            err = look_into(office, i, is_open, true, &all, error);
        if (dg_span_ends(name, DG_SPAN("vbaProject.bin")) ||
            dg_span_starts(name, DG_SPAN("Basic/")))
            dg_sheets_keep(office->sheets);
    }
    for (size_t i = 0; i < office->zip.n_members && !err; i++)
        if (may_refer(office, i))
            err = look_into(office, i, is_open, false, &left, error);
    return err;
}

static enum dg_err read_tables(struct dg_office *office, struct dg_error *error)
{
    const struct dg_office_opts opts = {.language = NULL};
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < office->zip.n_members && !err; i++) {
        struct dg_office_part *part;
        struct dg_zip_data data;
        if (office->roles[i] != TABLE)
            continue;
        err = open_part(office, i, &opts, &data, &part, error);
        if (err)
            break;
        err = dg_office_part_text(part, &office->names);
        dg_office_part_free(part);
        dg_zip_data_free(&data);
        office->roles[i] = COPIED;
    }
    return err ? err : keep_names(office);
}

enum dg_err dg_office_new(struct dg_span bytes, const char *name, size_t parts_max,
                          struct dg_office **out, struct dg_error *error)
{
    if (dg_span_starts(bytes, compound_file))
        return dg_error_set(error, DG_ERR_UNSUPPORTED,
                            "%s: the document is encrypted, or in the form of programs before "
                            "2007; save it without a password, as .docx or the like",
                            name);
    struct dg_office *office = dg_try_calloc(1, sizeof *office);
    if (!office)
        return DG_ERR_NOMEM;
    dg_buf_init(&office->names, TYPES_MAX);
    dg_map_init(&office->kept, TYPES_MAX);
    enum dg_err err =
        dg_zip_parse(&office->zip, (const uint8_t *)bytes.ptr, bytes.len, name, error);
    if (!err && !(office->roles = dg_try_calloc(office->zip.n_members + 1, 1)))
        err = DG_ERR_NOMEM;
    if (!err)
        err = read_kind(office, error);
    if (!err)
        err = read_sheets(office, parts_max, error);
    if (!err)
        err = check_sizes(office, parts_max, error);
    if (!err)
        err = read_tables(office, error);
    if (err)
        dg_office_free(office);
    else
        *out = office;
    return err;
}

void dg_office_free(struct dg_office *office)
{
    if (!office)
        return;
    dg_zip_close(&office->zip);
    dg_free(office->roles);
    dg_map_deinit(&office->kept);
    dg_buf_deinit(&office->names);
    if (office->sheets)
        dg_sheets_deinit(office->sheets);
    dg_free(office->sheets);
    dg_free(office);
}

/* ---- Text ------------------------------------------------------------------------------------ */

/* Parts in the order of the archive, in which they are written, too. */
struct reading {
    const struct dg_office *office;
    struct dg_buf *html;
};

static enum dg_err read_member(void *ctx, const struct dg_zip_member *member, struct dg_span *bytes,
                               bool *is_new, struct dg_error *error)
{
    const struct reading *reading = ctx;
    const struct dg_office_opts opts = {.language = NULL};
    const size_t i = (size_t)(member - reading->office->zip.members);
    struct dg_office_part *part;
    struct dg_zip_data data;
    (void)bytes;
    *is_new = false;
    if (!has_text(reading->office->roles[i]))
        return DG_OK;
    enum dg_err err = open_part(reading->office, i, &opts, &data, &part, error);
    if (err)
        return err;
    err = dg_office_part_text(part, reading->html);
    dg_office_part_free(part);
    dg_zip_data_free(&data);
    return err;
}

static enum dg_err write_nothing(void *ctx, struct dg_span bytes, struct dg_error *error)
{
    (void)ctx;
    (void)bytes;
    (void)error;
    return DG_OK;
}

enum dg_err dg_office_text(const struct dg_office *office, struct dg_buf *html,
                           struct dg_error *error)
{
    struct reading reading = {.office = office, .html = html};
    const struct dg_zip_out out = {.replace = read_member, .write = write_nothing, .ctx = &reading};
    return dg_zip_out_copy(&office->zip, &out, error);
}

/* ---- Writing --------------------------------------------------------------------------------- */

struct writing {
    const struct dg_office *office;
    struct dg_office_opts opts;
    struct dg_span source, target; /* what is left of the source and the translation */
    struct dg_buf bytes;           /* the bytes of the part that is written */
    enum dg_err (*write)(void *ctx, struct dg_span bytes, struct dg_error *error);
    void *ctx;
};

static enum dg_err write_member(void *ctx, const struct dg_zip_member *member,
                                struct dg_span *bytes, bool *is_new, struct dg_error *error)
{
    struct writing *w = ctx;
    const size_t i = (size_t)(member - w->office->zip.members);
    struct dg_office_part *part;
    struct dg_zip_data data;
    if (w->office->roles[i] == COPIED || w->office->roles[i] == SHEET)
        return DG_OK;
    enum dg_err err = open_part(w->office, i, &w->opts, &data, &part, error);
    if (err)
        return err;
    dg_buf_deinit(&w->bytes);
    dg_buf_init(&w->bytes, INT32_MAX);
    err = dg_office_part_write(part, &w->source, &w->target, &w->bytes, error);
    *bytes = dg_buf_span(&w->bytes);
    *is_new = !dg_span_eq(*bytes, dg_span_make((const char *)data.bytes, data.len));
    dg_office_part_free(part);
    dg_zip_data_free(&data);
    return err;
}

static enum dg_err write_bytes(void *ctx, struct dg_span bytes, struct dg_error *error)
{
    const struct writing *w = ctx;
    return w->write(w->ctx, bytes, error);
}

/* Writes a tag such as "de-DE", because office programs expect a region. */
static void describe(struct dg_span language, char text[DG_LANGTAG_TEXT],
                     struct dg_office_opts *opts)
{
    static const char *const right_to_left[] = {"Arab", "Hebr", "Thaa", "Syrc",
                                                "Nkoo", "Adlm", "Rohg", NULL};
    static const char *const east_asian[] = {"Hans", "Hant", "Hani", "Jpan", "Kore", NULL};
    struct dg_langtag tag;
    if (language.len == 0 || dg_langtag_parse(language, &tag, NULL))
        return;
    const char *region = *tag.region ? tag.region : tag.likely_region;
    snprintf(text, DG_LANGTAG_TEXT, "%s%s%s", tag.language, *region ? "-" : "", region);
    opts->language = text;
    for (size_t i = 0; right_to_left[i]; i++)
        opts->is_right_to_left |= strcmp(tag.likely_script, right_to_left[i]) == 0;
    for (size_t i = 0; east_asian[i]; i++)
        opts->is_east_asian |= strcmp(tag.likely_script, east_asian[i]) == 0;
}

enum dg_err dg_office_write(const struct dg_office *office, struct dg_span source,
                            struct dg_span target, struct dg_span language,
                            enum dg_err (*write)(void *ctx, struct dg_span bytes,
                                                 struct dg_error *error),
                            void *ctx, struct dg_error *error)
{
    char text[DG_LANGTAG_TEXT] = "";
    struct writing w = {
        .office = office, .source = source, .target = target, .write = write, .ctx = ctx};
    const struct dg_zip_out out = {.replace = write_member, .write = write_bytes, .ctx = &w};
    if (dg_span_eq(source, target))
        return write(ctx, dg_span_make((const char *)office->zip.file.bytes, office->zip.file.len),
                     error);
    describe(language, text, &w.opts);
    dg_buf_init(&w.bytes, INT32_MAX);
    enum dg_err err = dg_zip_out_copy(&office->zip, &out, error);
    dg_buf_deinit(&w.bytes);
    return err;
}
