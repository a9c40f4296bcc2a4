/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Reads gettext's PO files: each msgid is copied to its msgstr and is translated there.
 *
 *     #: main.c:12                          #: main.c:12
 *     #, c-format                           #, fuzzy, c-format
 *     msgid "%d file was\n"                 msgid "%d file was\n"
 *     "found."                              "found."
 *     msgstr ""                             msgstr ""
 *                                           "%d file was\n"
 *                                           "found."
 *
 * This takes two steps, as in XLIFF: the file is rewritten, then the new msgstr are read as text.
 * The mark of an accelerator, as in "&File" or "_File", is a point, so that it goes before a
 * letter. All other bytes stay: comments, contexts, obsolete entries, existing translations. A
 * plural gets all forms that Plural-Forms requires: the form for 1 from the singular, the others
 * from the plural text. The header gets the language and, if the file is a template, the plural
 * rule and the character set. */
#include "base/memory/chars.h"
#include "markup/doc_int.h"
#include "markup/plural.h"
#include "markup/po_check.h"

#include <stdio.h>
#include <string.h>

enum { STRS_MAX = 32, RULE_MAX = 2000 };

/* A keyword with its strings: "msgid "..."\n"..."\n". */
struct field {
    size_t at, end; /* from the keyword to after its last line end; end 0: there is none */
    size_t strings; /* where the first quotation mark is */
};

struct entry {
    size_t at;    /* where the first keyword's line begins */
    size_t flags; /* where the line "#, ..." begins; SIZE_MAX: none */
    size_t marks; /* where such a line belongs */
    struct field context, id, plural;
    struct field str[STRS_MAX];
    unsigned n_str;
};

struct reader {
    struct dg_doc *doc;
    const struct dg_doc_opts *opts;
    struct dg_span text;
    size_t done; /* bytes of the original that the filled text has already */
    struct dg_plural plural;
    bool has_plural, has_header;
    int one;            /* the index of the form for the number 1 */
    bool is_one_alone;  /* no other number has that form */
    struct dg_buf rule; /* holds the text that `plural` borrows from */
    /* Called for each entry; NULL: entries get translations. */
    void (*on_entry)(struct reader *reader, const struct entry *entry);
    struct dg_buf *is_new; /* while a translation is checked: 1 or 0 for each entry */
    size_t n_entries, n_bad;
    struct dg_buf id; /* the content of a field */
};

/* ---- Strings --------------------------------------------------------------------------------- */

static size_t line_end(struct dg_span text, size_t at)
{
    const char *newline = at < text.len ? memchr(text.ptr + at, '\n', text.len - at) : NULL;
    return newline ? (size_t)(newline - text.ptr) + 1 : text.len;
}

static size_t skip_blanks(struct dg_span text, size_t at)
{
    while (at < text.len && (text.ptr[at] == ' ' || text.ptr[at] == '\t'))
        at++;
    return at;
}

/* The position after the closing quote of the string at `at`; 0 when it is not closed in its
 * line. */
static size_t string_end(struct dg_span text, size_t at)
{
    for (size_t i = at + 1; i < text.len && text.ptr[i] != '\n'; i++) {
        if (text.ptr[i] == '"')
            return i + 1;
        if (text.ptr[i] == '\\')
            i++;
    }
    return 0;
}

/* Reads strings from `at` on, and nothing else, up to the end of the line at `end`. */
static bool are_strings(struct dg_span text, size_t at, size_t end)
{
    for (;;) {
        size_t behind = text.ptr[at] == '"' ? string_end(text, at) : 0;
        if (behind == 0)
            return false;
        at = skip_blanks(text, behind);
        at += at + 1 < end && text.ptr[at] == '\r' && text.ptr[at + 1] == '\n';
        if (at >= end || text.ptr[at] == '\n' || (text.ptr[at] == '\r' && at + 1 == end))
            return true;
    }
}

/* The contents of a field's strings, joined, with escapes unchanged. */
static void read_content(struct reader *reader, const struct field *field, struct dg_buf *out)
{
    dg_buf_clear(out);
    for (size_t at = field->strings; at < field->end && !dg_doc_is_over(reader->doc); at++) {
        size_t end = reader->text.ptr[at] == '"' ? string_end(reader->text, at) : 0;
        if (end == 0)
            continue;
        reader->doc->err = dg_buf_append_span(out, dg_span_sub(reader->text, at + 1, end - at - 2));
        at = end - 1;
    }
}

static bool is_empty(const struct reader *reader, const struct field *field)
{
    for (size_t at = field->strings; at < field->end; at++)
        if (reader->text.ptr[at] == '"') {
            if (at + 1 >= field->end || reader->text.ptr[at + 1] != '"')
                return false;
            at++;
        }
    return true;
}

static const char *eol_of(const struct reader *reader, const struct field *field)
{
    return field->end >= 2 && reader->text.ptr[field->end - 1] == '\n' &&
                   reader->text.ptr[field->end - 2] == '\r'
               ? "\r\n"
               : "\n";
}

static size_t decode(struct dg_span text, size_t at, size_t end, char out[4], size_t *n)
{
    static const char letters[] = "abfnrtv\\\"'?", means[] = "\a\b\f\n\r\t\v\\\"'?";
    char c = at + 1 < end ? text.ptr[at + 1] : '\0';
    const char *letter = c ? strchr(letters, c) : NULL;
    size_t taken = 2;
    *n = 0;
    if (letter) {
        out[0] = means[letter - letters];
        *n = 1;
        /* The end of a line, where one string ends and the next one begins. */
        size_t i = at + 2;
        if (c == 'n' && i < end && text.ptr[i] == '"') {
            i++;
            i += i < end && text.ptr[i] == '\r';
            i += i < end && text.ptr[i] == '\n';
            taken = i < end && text.ptr[i] == '"' ? i + 1 - at : taken;
        }
        return taken;
    }
    while (taken < 4 && at + taken < end &&
           strchr("0123456789abcdefABCDEF", text.ptr[at + taken]) && text.ptr[at + taken])
        taken++;
    return at + taken <= end ? taken : 0; /* a byte written as a number stands for one character */
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

/* Whether text[at], '&' or '_', marks the letter after it as the key of a menu's entry. */
static bool is_accelerator(struct dg_span text, size_t at)
{
    const char mark = text.ptr[at], next = at + 1 < text.len ? text.ptr[at + 1] : ' ',
               before = at > 0 ? text.ptr[at - 1] : ' ';
    size_t word = at, end = at + 1;
    if (!dg_chars_is_letter(next) || before == mark || (is_upper(before) && is_upper(next)))
        return false; /* not in "AT&T" or "R&D" */
    while (word > 0 && dg_chars_is_letter(text.ptr[word - 1]))
        word--;
    while (end < text.len && dg_chars_is_letter(text.ptr[end]))
        end++;
    if (mark == '&')
        return end >= text.len || text.ptr[end] != ';'; /* not in "&amp;" */
    /* in "_File" and "E_xit", but not in "file_name" */
    return at - word <= 2 &&
           (word == 0 || text.ptr[word - 1] == ' ' || text.ptr[word - 1] == '(') &&
           (end >= text.len || strchr(" .:!?)", text.ptr[end]) != NULL);
}

/* The one accelerator of a text; SIZE_MAX when there is none, or more than one mark. */
static size_t accelerator_of(struct dg_span text)
{
    enum { LABEL_MAX = 80 }; /* bytes; a longer text is not a label */
    size_t found = SIZE_MAX, n = 0;
    for (size_t i = 0; i < text.len && text.len <= LABEL_MAX; i++) {
        if (text.ptr[i] != '&' && text.ptr[i] != '_')
            continue;
        n++;
        found = is_accelerator(text, i) ? i : found;
    }
    return n == 1 ? found : SIZE_MAX;
}

static void read_text(struct dg_doc *doc, size_t at, size_t len)
{
    const size_t mark = accelerator_of(dg_span_sub(doc->original, at, len));
    if (mark == SIZE_MAX) {
        dg_doc_add_escaped(doc, at, len, decode);
        return;
    }
    dg_doc_add_escaped(doc, at, mark, decode);
    dg_doc_add(doc, DG_DOC_POINT, at + mark, 1, dg_span_sub(doc->original, 0, 0));
    dg_doc_add_escaped(doc, at + mark + 1, len - mark - 1, decode);
}

enum dg_err dg_doc_escape_po(struct dg_span text, struct dg_buf *out)
{
    static const char letters[] = "\n\r\t\"\\", names[] = "nrt\"\\";
    enum dg_err err = DG_OK;
    for (size_t i = 0; i < text.len && !err; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        const char *letter = c ? strchr(letters, c) : NULL;
        if (letter)
            err = dg_buf_printf(out, "\\%c", names[letter - letters]);
        else if (c < 0x20)
            err = dg_buf_printf(out, "\\%03o", c);
        else
            err = dg_buf_append(out, text.ptr + i, 1);
    }
    return err;
}

/* ---- Filling --------------------------------------------------------------------------------- */

static void copy_to(struct reader *reader, size_t at)
{
    if (at > reader->done)
        dg_doc_fill(reader->doc, dg_span_sub(reader->text, reader->done, at - reader->done));
    reader->done = at;
}

/* Appends "keyword "..."", broken after each line end if the text has one before its own end, as
 * gettext writes it. */
static void fill_field(struct reader *reader, const char *keyword, const char *eol,
                       struct dg_span content)
{
    struct dg_doc *doc = reader->doc;
    bool is_broken = false;
    for (size_t i = 0; i + 2 < content.len && !is_broken; i++) {
        is_broken = content.ptr[i] == '\\' && content.ptr[i + 1] == 'n';
        i += content.ptr[i] == '\\';
    }
    dg_doc_fill(doc, dg_span_cstr(keyword));
    dg_doc_fill(doc, DG_SPAN(" \""));
    if (is_broken) {
        dg_doc_fill(doc, DG_SPAN("\""));
        dg_doc_fill(doc, dg_span_cstr(eol));
        dg_doc_fill(doc, DG_SPAN("\""));
    }
    size_t at = doc->filled.len, from = 0;
    for (size_t i = 0; i + 1 < content.len; i++) {
        bool is_newline = content.ptr[i] == '\\' && content.ptr[i + 1] == 'n';
        i += content.ptr[i] == '\\';
        if (!is_newline || !is_broken || i + 1 >= content.len)
            continue;
        dg_doc_fill(doc, dg_span_sub(content, from, i + 1 - from));
        dg_doc_fill(doc, DG_SPAN("\""));
        dg_doc_fill(doc, dg_span_cstr(eol));
        dg_doc_fill(doc, DG_SPAN("\""));
        from = i + 1;
    }
    dg_doc_fill(doc, dg_span_sub(content, from, content.len - from));
    dg_doc_add_place(doc, at, doc->filled.len - at);
    dg_doc_fill(doc, DG_SPAN("\""));
    dg_doc_fill(doc, dg_span_cstr(eol));
}

static bool says_fuzzy(struct dg_span line)
{
    for (size_t i = 0; i + 5 <= line.len; i++)
        if (memcmp(line.ptr + i, "fuzzy", 5) == 0)
            return true;
    return false;
}

static void fill_mark(struct reader *reader, const struct entry *entry, const char *eol)
{
    if (reader->opts->unmarked)
        return;
    if (entry->flags != SIZE_MAX) {
        size_t end = line_end(reader->text, entry->flags);
        if (says_fuzzy(dg_span_sub(reader->text, entry->flags, end - entry->flags)))
            return;
        copy_to(reader, entry->flags + 2);
        dg_doc_fill(reader->doc, DG_SPAN(" fuzzy,"));
    } else {
        copy_to(reader, entry->marks);
        dg_doc_fill(reader->doc, DG_SPAN("#, fuzzy"));
        dg_doc_fill(reader->doc, dg_span_cstr(eol));
    }
}

/* Counts the characters of a text that may begin a placeholder; forms with the same count may
 * replace each other. */
static size_t count_placeholders(struct dg_span text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++)
        n += text.ptr[i] == '%' || text.ptr[i] == '{';
    return n;
}

static void fill_plural(struct reader *reader, const struct entry *entry)
{
    int n_forms = reader->has_plural ? reader->plural.n_forms : 2,
        first = reader->has_plural ? reader->one : 0;
    const char *eol = eol_of(reader, &entry->str[0]);
    struct dg_buf one;
    bool is_untouched = true;
    for (unsigned i = 0; i < entry->n_str; i++)
        is_untouched = is_untouched && is_empty(reader, &entry->str[i]);
    if (!is_untouched && !reader->opts->retranslate)
        return;
    fill_mark(reader, entry, eol);
    dg_buf_init(&one, 1 << 20);
    read_content(reader, &entry->id, &one);
    read_content(reader, &entry->plural, &reader->id);
    bool is_alike =
        count_placeholders(dg_buf_span(&one)) == count_placeholders(dg_buf_span(&reader->id));
    bool says_one = n_forms > 1 && (is_alike || !reader->has_plural || reader->is_one_alone);
    copy_to(reader, entry->str[0].at);
    for (int form = 0; form < n_forms; form++) {
        char keyword[32];
        snprintf(keyword, sizeof keyword, "msgstr[%d]", form);
        fill_field(reader, keyword, eol,
                   dg_buf_span(says_one && form == first ? &one : &reader->id));
    }
    reader->done = entry->str[entry->n_str - 1].end;
    dg_buf_deinit(&one);
}

static void fill_singular(struct reader *reader, const struct entry *entry)
{
    const struct field *str = &entry->str[0];
    const char *eol = eol_of(reader, str);
    if (!is_empty(reader, str) && !reader->opts->retranslate)
        return;
    fill_mark(reader, entry, eol);
    read_content(reader, &entry->id, &reader->id);
    copy_to(reader, str->at);
    fill_field(reader, "msgstr", eol, dg_buf_span(&reader->id));
    reader->done = str->end;
}

/* ---- The header ------------------------------------------------------------------------------ */

/* The value of "Name: value\n" in a header's content, unchanged; empty when there is none. */
static struct dg_span header_value(struct dg_span content, const char *name)
{
    size_t len = strlen(name);
    for (size_t at = 0; at + len < content.len; at++) {
        bool is_start =
            at == 0 || (at >= 2 && content.ptr[at - 1] == 'n' && content.ptr[at - 2] == '\\');
        if (!is_start || memcmp(content.ptr + at, name, len) != 0 || content.ptr[at + len] != ':')
            continue;
        size_t from = at + len + 1, end = from;
        while (from < content.len && content.ptr[from] == ' ')
            from++;
        for (end = from; end < content.len && content.ptr[end] != '\\'; end++)
            ;
        return dg_span_sub(content, from, end - from);
    }
    return (struct dg_span){NULL, 0};
}

/* "pt-BR" as gettext writes it: "pt_BR". */
static void language_name(struct dg_span tag, char name[32])
{
    size_t n = 0;
    for (; n < tag.len && n < 31; n++)
        name[n] = (char)(tag.ptr[n] == '-' ? '_' : tag.ptr[n]);
    name[n] = '\0';
}

/* Gives the header's string that begins with `name` another value. */
static void set_value(struct reader *reader, const struct field *str, const char *name,
                      const char *value)
{
    for (size_t at = str->strings; at < str->end; at++) {
        size_t end = reader->text.ptr[at] == '"' ? string_end(reader->text, at) : 0;
        if (end == 0)
            continue;
        struct dg_span inner = dg_span_sub(reader->text, at + 1, end - at - 2);
        if (dg_span_starts(inner, dg_span_cstr(name)) && inner.len > strlen(name) &&
            inner.ptr[strlen(name)] == ':') {
            size_t stop = at + 1;
            while (stop + 1 < end && reader->text.ptr[stop] != '\\')
                stop++;
            copy_to(reader, at + 1 + strlen(name) + 1);
            dg_doc_fill(reader->doc, DG_SPAN(" "));
            dg_doc_fill(reader->doc, dg_span_cstr(value));
            reader->done = stop;
            return;
        }
        at = end - 1;
    }
}

static void take_plural(struct reader *reader, struct dg_span rule)
{
    dg_buf_clear(&reader->rule);
    reader->has_plural = false;
    if (rule.len > RULE_MAX)
        return;
    reader->doc->err = dg_buf_append_span(&reader->rule, rule);
    reader->has_plural =
        !reader->doc->err && dg_plural_parse(dg_buf_span(&reader->rule), &reader->plural);
    reader->one = reader->has_plural ? dg_plural_form(&reader->plural, 1) : 0;
    reader->is_one_alone =
        reader->has_plural && dg_plural_is_one_alone(&reader->plural, reader->one);
}

/* Sets the fields of the first header; gettext ignores others. They are set in the order in which
 * msginit writes them (Language, Content-Type, Plural-Forms); in another order, only the later ones
 * are set. */
static void take_header(struct reader *reader, const struct entry *entry)
{
    const struct field *str = &entry->str[0];
    char name[32];
    reader->has_header = true;
    read_content(reader, str, &reader->id);
    struct dg_span content = dg_buf_span(&reader->id);
    struct dg_span type = header_value(content, "Content-Type"),
                   rule = header_value(content, "Plural-Forms");
    struct dg_span language = header_value(content, "Language");
    bool is_template = dg_chars_holds(type, "charset=CHARSET");
    if (type.len && !is_template && !dg_chars_holds(type, "UTF-8") &&
        !dg_chars_holds(type, "utf-8") && !dg_chars_holds(type, "ASCII") &&
        !dg_chars_holds(type, "UTF8")) {
        dg_doc_refuse(reader->doc, DG_ERR_UNSUPPORTED, str->at,
                      "the file's charset is not UTF-8; msgconv -t UTF-8 makes it so");
        return;
    }
    struct dg_span wanted = reader->opts->target;
    const char *usual = wanted.len ? dg_plural_of(wanted) : NULL;
    take_plural(reader, rule);
    bool sets_rule = !reader->has_plural && rule.len && usual;
    if (sets_rule)
        take_plural(reader, dg_span_cstr(usual));
    language_name(wanted, name);
    bool sets_language =
        wanted.len && !dg_span_eq(language, dg_span_cstr(name)) &&
        !(language.len > wanted.len && dg_span_starts(language, dg_span_cstr(name)));
    const char *names[] = {"Language", "Content-Type", "Plural-Forms"};
    const char *values[] = {sets_language ? name : NULL,
                            is_template ? "text/plain; charset=UTF-8" : NULL,
                            sets_rule ? usual : NULL};
    /* in the order of the file */
    for (size_t at = str->strings; at < str->end && !dg_doc_is_over(reader->doc);) {
        size_t end = line_end(reader->text, at);
        size_t quote = skip_blanks(reader->text, at);
        for (size_t i = 0; i < 3 && quote < end; i++) {
            size_t len = strlen(names[i]);
            struct dg_span line = dg_span_sub(reader->text, quote, end - quote);
            if (values[i] && line.len > len + 2 && line.ptr[0] == '"' && line.ptr[len + 1] == ':' &&
                memcmp(line.ptr + 1, names[i], len) == 0) {
                const struct field one = {.strings = quote, .end = end};
                set_value(reader, &one, names[i], values[i]);
            }
        }
        at = end;
    }
}

/* ---- Entries --------------------------------------------------------------------------------- */

static void finish_entry(struct reader *reader, const struct entry *entry)
{
    if (entry->id.end == 0 || entry->n_str == 0)
        return;
    if (reader->on_entry) {
        reader->on_entry(reader, entry);
        return;
    }
    if (is_empty(reader, &entry->id)) {
        if (entry->context.end == 0 && !reader->has_header)
            take_header(reader, entry);
    } else if (entry->plural.end) {
        fill_plural(reader, entry);
    } else {
        fill_singular(reader, entry);
    }
}

static void clear_entry(struct entry *entry)
{
    *entry = (struct entry){.at = SIZE_MAX, .flags = SIZE_MAX, .marks = SIZE_MAX};
}

/* The field that the keyword at `at` begins; *quote is where its string is. NULL: there is no
 * keyword. */
static struct field *field_of(struct reader *reader, struct entry *entry, size_t at, size_t end,
                              size_t *quote)
{
    struct dg_span line = dg_span_sub(reader->text, at, end - at);
    size_t len = 0;
    struct field *field = NULL;
    if (dg_span_starts(line, DG_SPAN("msgctxt"))) {
        len = 7;
        field = &entry->context;
    } else if (dg_span_starts(line, DG_SPAN("msgid_plural"))) {
        len = 12;
        field = &entry->plural;
    } else if (dg_span_starts(line, DG_SPAN("msgid"))) {
        len = 5;
        field = &entry->id;
    } else if (dg_span_starts(line, DG_SPAN("msgstr"))) {
        len = 6;
        if (line.len > 6 && line.ptr[6] == '[') {
            const char *close = memchr(line.ptr, ']', line.len);
            len = close ? (size_t)(close - line.ptr) + 1 : line.len;
        }
        if (entry->n_str == STRS_MAX)
            return NULL;
        field = &entry->str[entry->n_str];
    }
    *quote = skip_blanks(reader->text, at + len);
    return field && *quote < end && reader->text.ptr[*quote] == '"' ? field : NULL;
}

/* Whether a keyword at the line's start begins another entry. */
static bool begins_entry(const struct reader *reader, const struct entry *entry, size_t at)
{
    struct dg_span line = dg_span_sub(reader->text, at, reader->text.len - at);
    bool is_context = dg_span_starts(line, DG_SPAN("msgctxt"));
    bool is_id =
        dg_span_starts(line, DG_SPAN("msgid")) && !dg_span_starts(line, DG_SPAN("msgid_plural"));
    return (is_context && (entry->context.end || entry->id.end)) || (is_id && entry->id.end);
}

static void take_keyword(struct reader *reader, struct entry *entry, size_t at, size_t end,
                         struct field **last)
{
    size_t quote;
    if (begins_entry(reader, entry, at)) {
        finish_entry(reader, entry);
        clear_entry(entry);
    }
    struct field *field = field_of(reader, entry, at, end, &quote);
    if (!field || !are_strings(reader->text, quote, end)) {
        dg_doc_refuse(reader->doc, DG_ERR_INVALID, at,
                      "PO: expected a keyword with a string in quotes, or a comment");
        return;
    }
    *field = (struct field){.at = at, .end = end, .strings = quote};
    entry->n_str += field == &entry->str[entry->n_str];
    entry->at = entry->at == SIZE_MAX ? at : entry->at;
    entry->marks = entry->marks == SIZE_MAX ? at : entry->marks;
    *last = field;
}

static void fill_all(struct reader *reader)
{
    struct dg_span text = reader->text;
    struct entry entry;
    struct field *last = NULL;
    clear_entry(&entry);
    for (size_t at = dg_span_starts(text, DG_SPAN("\xEF\xBB\xBF")) ? 3 : 0, end;
         at < text.len && !dg_doc_is_over(reader->doc); at = end) {
        end = line_end(text, at);
        size_t first = skip_blanks(text, at);
        char c = first < end ? text.ptr[first] : '\n';
        bool is_comment = c == '#', is_blank = c == '\n' || c == '\r';
        if ((is_comment || is_blank) && entry.n_str) {
            finish_entry(reader, &entry);
            clear_entry(&entry);
        }
        if (is_comment && first + 1 < end && text.ptr[first + 1] == ',')
            entry.flags = entry.flags == SIZE_MAX ? first : entry.flags;
        if (is_comment && first + 1 < end && text.ptr[first + 1] == '|')
            entry.marks = entry.marks == SIZE_MAX ? at : entry.marks;
        if (is_comment || is_blank) {
            last = NULL;
        } else if (c == '"' && last && are_strings(text, first, end)) {
            last->end = end;
        } else if (c == 'm') {
            take_keyword(reader, &entry, first, end, &last);
        } else if (!dg_span_starts(dg_span_sub(text, first, end - first), DG_SPAN("domain"))) {
            dg_doc_refuse(reader->doc, DG_ERR_INVALID, at,
                          "PO: expected a keyword with a string in quotes, or a comment");
        }
    }
    if (!reader->doc->err)
        finish_entry(reader, &entry);
    copy_to(reader, text.len);
}

void dg_doc_read_po(struct dg_doc *doc, const struct dg_doc_opts *opts)
{
    struct reader reader = {.doc = doc, .opts = opts, .text = doc->original};
    dg_buf_init(&reader.rule, RULE_MAX);
    dg_buf_init(&reader.id, 1 << 20);
    fill_all(&reader);
    dg_buf_deinit(&reader.rule);
    dg_buf_deinit(&reader.id);
    if (doc->err)
        return;
    doc->original = dg_buf_span(&doc->filled);
    dg_doc_read_places(doc, read_text);
}

/* ---- Directives ------------------------------------------------------------------------------ */

enum { DIRECTIVES_MAX = 32 };

struct directive {
    size_t at, len;
    /* a directive of C without a number: its position says which argument it takes */
    bool is_plain;
};

static char byte_at(struct dg_span text, size_t at)
{
    return at < text.len ? text.ptr[at] : '\0';
}

/* The directive at `at`; length 0: there is none. */
static struct directive directive_at(struct dg_span text, size_t at)
{
    struct directive none = {at, 0, false}, found = {at, 0, false};
    size_t i = at + 1;
    if (text.ptr[at] == '{') {
        while (dg_chars_is_letter(byte_at(text, i)) || dg_chars_is_digit(byte_at(text, i)) ||
               byte_at(text, i) == '_' || byte_at(text, i) == '.')
            i++;
        found.len = i + 1 - at;
        return byte_at(text, i) == '}' ? found : none;
    }
    found.is_plain = true;
    if (byte_at(text, i) == '(') {
        found.is_plain = false;
        while (i < text.len && text.ptr[i] != ')' && text.ptr[i] != '"')
            i++;
        if (byte_at(text, i) != ')')
            return none;
        i++;
    }
    size_t digits = i;
    while (dg_chars_is_digit(byte_at(text, i)))
        i++;
    if (i > digits && byte_at(text, i) == '$') {
        found.is_plain = false;
        i++;
    } else {
        i = digits;
    }
    while (byte_at(text, i) && strchr("-+#0'*.123456789", byte_at(text, i)))
        i++;
    while (byte_at(text, i) && strchr("hlqLjzt", byte_at(text, i)))
        i++;
    found.len = i + 1 - at;
    return byte_at(text, i) && strchr("diouxXeEfFgGaAcsp@", text.ptr[i]) ? found : none;
}

static size_t list_directives(struct dg_span text, const struct field *field,
                              struct directive list[DIRECTIVES_MAX])
{
    size_t n = 0;
    for (size_t at = field->strings; at < field->end && n < DIRECTIVES_MAX;) {
        const char c = text.ptr[at];
        if (c == '%' && byte_at(text, at + 1) == '%') {
            at += 2;
            continue;
        }
        const struct directive found = c == '%' || c == '{'
                                           ? directive_at(dg_span_sub(text, 0, field->end), at)
                                           : (struct directive){at, 0, false};
        if (found.len)
            list[n++] = found;
        at += found.len ? found.len : 1;
    }
    return n;
}

static bool is_same(struct dg_span text, const struct directive *a, const struct directive *b)
{
    return dg_span_eq(dg_span_sub(text, a->at, a->len), dg_span_sub(text, b->at, b->len));
}

/* Whether a directive with a number, "%2$d", takes the `k`-th argument (from 0) of an original
 * without numbers: "%d". */
static bool is_numbered(struct dg_span text, const struct directive *own, size_t k,
                        const struct directive *said)
{
    size_t number = 0, at = said->at + 1;
    while (at < said->at + 4 && dg_chars_is_digit(byte_at(text, at)))
        number = number * 10 + (size_t)(text.ptr[at++] - '0');
    const size_t len = said->at + said->len - at;
    return own->is_plain && number == k + 1 && byte_at(text, at) == '$' && len == own->len &&
           dg_span_eq(dg_span_sub(text, own->at + 1, own->len - 1),
                      dg_span_sub(text, at + 1, len - 1));
}

/* Matches the directives of a translation with those of its original: from[i] is the original's
 * place of the i-th. False when they are not the same ones. */
static bool match(struct dg_span text, const struct directive *own, const struct directive *said,
                  size_t n, size_t from[DIRECTIVES_MAX])
{
    bool used[DIRECTIVES_MAX] = {false};
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (k < n && (used[k] || !(is_same(text, &own[k], &said[i]) ||
                                      is_numbered(text, &own[k], k, &said[i]))))
            k++;
        if (k == n)
            return false;
        used[k] = true;
        from[i] = k;
    }
    return true;
}

struct verdict {
    bool is_good, is_moved;
    size_t n, from[DIRECTIVES_MAX];
    struct directive said[DIRECTIVES_MAX];
};

static void judge(const struct reader *reader, const struct field *original,
                  const struct field *str, struct verdict *verdict)
{
    struct directive own[DIRECTIVES_MAX];
    const size_t n = list_directives(reader->text, original, own);
    verdict->n = list_directives(reader->text, str, verdict->said);
    verdict->is_good = n == verdict->n && match(reader->text, own, verdict->said, n, verdict->from);
    verdict->is_moved = false;
    for (size_t i = 0; verdict->is_good && i < n; i++)
        verdict->is_moved |= verdict->said[i].is_plain && verdict->from[i] != i;
}

static void number(struct reader *reader, const struct verdict *verdict)
{
    for (size_t i = 0; i < verdict->n; i++) {
        const struct directive *said = &verdict->said[i];
        char text[32];
        if (!said->is_plain)
            continue;
        snprintf(text, sizeof text, "%%%zu$", verdict->from[i] + 1);
        copy_to(reader, said->at);
        dg_doc_fill(reader->doc, dg_span_cstr(text));
        reader->done = said->at + 1;
    }
}

static bool is_of_c(const struct reader *reader, const struct entry *entry)
{
    static const char *const words[] = {" c-format", " objc-format", " php-format"};
    if (entry->flags == SIZE_MAX)
        return false;
    const size_t end = line_end(reader->text, entry->flags);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (dg_chars_holds(dg_span_sub(reader->text, entry->flags, end - entry->flags), words[i]))
            return true;
    return false;
}

static void note_entry(struct reader *reader, const struct entry *entry)
{
    bool is_new = true;
    for (unsigned i = 0; i < entry->n_str; i++)
        is_new = is_new && is_empty(reader, &entry->str[i]);
    if (!reader->doc->err)
        reader->doc->err =
            dg_buf_append_byte(reader->is_new, is_new || reader->opts->retranslate ? 1 : 0);
}

static void check_entry(struct reader *reader, const struct entry *entry)
{
    const size_t place = reader->n_entries++;
    struct verdict verdict;
    bool is_bad = false, is_moved = false;
    const bool can_move = is_of_c(reader, entry) && entry->plural.end == 0;
    if (place >= reader->is_new->len || !reader->is_new->ptr[place] || is_empty(reader, &entry->id))
        return;
    for (unsigned i = 0; i < entry->n_str; i++) {
        judge(reader, &entry->id, &entry->str[i], &verdict);
        if (!verdict.is_good && entry->plural.end)
            judge(reader, &entry->plural, &entry->str[i], &verdict);
        is_bad |= !verdict.is_good || (verdict.is_moved && !can_move);
        is_moved |= verdict.is_good && verdict.is_moved && can_move;
    }
    reader->n_bad += is_bad;
    if (is_bad)
        fill_mark(reader, entry, eol_of(reader, &entry->str[0]));
    else if (is_moved)
        number(reader, &verdict);
}

static enum dg_err read_for(struct dg_span text, const struct dg_doc_opts *opts,
                            void (*on_entry)(struct reader *reader, const struct entry *entry),
                            struct dg_buf *is_new, struct dg_buf *out, size_t *n_bad,
                            struct dg_error *error)
{
    struct dg_doc doc = {.original = text, .error = error};
    struct reader reader = {
        .doc = &doc, .opts = opts, .text = text, .on_entry = on_entry, .is_new = is_new};
    dg_buf_init(&doc.filled, (size_t)1 << 30);
    dg_buf_init(&reader.rule, RULE_MAX);
    dg_buf_init(&reader.id, 1 << 20);
    fill_all(&reader);
    if (!doc.err && out)
        doc.err = dg_buf_append_span(out, dg_buf_span(&doc.filled));
    *n_bad = reader.n_bad;
    dg_buf_deinit(&doc.filled);
    dg_buf_deinit(&reader.rule);
    dg_buf_deinit(&reader.id);
    return doc.err;
}

enum dg_err dg_po_check(struct dg_span before, struct dg_span after, bool all, struct dg_buf *out,
                        size_t *n_bad, struct dg_error *error)
{
    const struct dg_doc_opts opts = {.retranslate = all};
    struct dg_buf is_new;
    dg_buf_init(&is_new, (size_t)1 << 28);
    enum dg_err err = read_for(before, &opts, note_entry, &is_new, NULL, n_bad, error);
    if (!err)
        err = read_for(after, &opts, check_entry, &is_new, out, n_bad, error);
    dg_buf_deinit(&is_new);
    return err;
}
