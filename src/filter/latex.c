/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* LaTeX as authors write it: paragraphs, titles, captions, items, cells and footnotes are blocks.
 *
 *     See \textbf{Figure}~\ref{f} for $x^2$.\footnote{A note.}
 *         ^tags           ^point      ^frozen ^point, with a nested block in it
 *
 * TeX can define anything; nothing is expanded here. A command that is not in the table is a point
 * with the arguments that follow it, so the text of an unknown command is left alone. Environments
 * of mathematics and of code are copied, and so is the preamble except for the title. */
#include "base/memory/chars.h"
#include "base/memory/grow.h"
#include "base/memory/mem.h"
#include "base/memory/utf8.h"
#include "filter/filter_int.h"

#include <stdlib.h>
#include <string.h>

enum {
    DEPTH_MAX = 1024,
    ARGUMENT_MAX = 2000, /* the most bytes of an argument that is skipped; a longer one is taken for
                            text */
    OPTION_MAX = 500,
    NOTE_MAX = 4096,  /* the most bytes of a note that is a text of its own */
    VISIBLE_MAX = 48, /* the most bytes of a formula that the model sees */
};

enum what {
    POINT,  /* neither the command nor its arguments are text */
    TAGS,   /* its argument is text in the sentence */
    TITLE,  /* its argument is a text of its own, and so is its option */
    NOTE,   /* its argument is a text of its own that belongs to a place in the sentence */
    BORDER, /* it divides texts; its arguments are not text */
    SIGN,   /* it stands for characters that a reader sees */
};

/* Sorted by their bytes. */
static const struct command {
    const char *name;
    enum what what;
    int n_skipped;    /* arguments before the text */
    const char *sign; /* SIGN: the characters that it stands for. The table also has those that we
                         only write. */
} commands[] = {
    {"\n", SIGN, 0, " "},
    {" ", SIGN, 0, " "},
    {"#", SIGN, 0, "#"},
    {"$", SIGN, 0, "$"},
    {"%", SIGN, 0, "%"},
    {"&", SIGN, 0, "&"},
    {"-", SIGN, 0, ""},
    {"/", SIGN, 0, ""},
    {"AA", SIGN, 0, "\xC3\x85"},
    {"AE", SIGN, 0, "\xC3\x86"},
    {"LaTeX", SIGN, 0, NULL},
    {"O", SIGN, 0, "\xC3\x98"},
    {"OE", SIGN, 0, "\xC5\x92"},
    {"TeX", SIGN, 0, NULL},
    {"_", SIGN, 0, "_"},
    {"aa", SIGN, 0, "\xC3\xA5"},
    {"ae", SIGN, 0, "\xC3\xA6"},
    {"caption", TITLE, 0, NULL},
    {"chapter", TITLE, 0, NULL},
    {"date", BORDER, 0, NULL},
    {"dots", SIGN, 0, "\xE2\x80\xA6"},
    {"emph", TAGS, 0, NULL},
    {"enquote", TAGS, 0, NULL},
    {"footnote", NOTE, 0, NULL},
    {"footnotetext", NOTE, 0, NULL},
    {"framesubtitle", TITLE, 0, NULL},
    {"frametitle", TITLE, 0, NULL},
    {"href", TAGS, 1, NULL},
    {"hspace", POINT, 0, NULL},
    {"item", BORDER, 0, NULL}, /* its option is text */
    {"l", SIGN, 0, "\xC5\x82"},
    {"ldots", SIGN, 0, "\xE2\x80\xA6"},
    {"marginpar", NOTE, 0, NULL},
    {"mbox", TAGS, 0, NULL},
    {"multicolumn", TITLE, 2, NULL},
    {"newline", BORDER, 0, NULL},
    {"newpage", BORDER, 0, NULL},
    {"noindent", BORDER, 0, NULL},
    {"o", SIGN, 0, "\xC3\xB8"},
    {"oe", SIGN, 0, "\xC5\x93"},
    {"par", BORDER, 0, NULL},
    {"paragraph", TITLE, 0, NULL},
    {"part", TITLE, 0, NULL},
    {"section", TITLE, 0, NULL},
    {"ss", SIGN, 0, "\xC3\x9F"},
    {"subparagraph", TITLE, 0, NULL},
    {"subsection", TITLE, 0, NULL},
    {"subsubsection", TITLE, 0, NULL},
    {"subtitle", TITLE, 0, NULL},
    {"text", TAGS, 0, NULL},
    {"textbf", TAGS, 0, NULL},
    {"textcolor", TAGS, 1, NULL},
    {"textit", TAGS, 0, NULL},
    {"textmd", TAGS, 0, NULL},
    {"textnormal", TAGS, 0, NULL},
    {"textrm", TAGS, 0, NULL},
    {"textsc", TAGS, 0, NULL},
    {"textsf", TAGS, 0, NULL},
    {"textsl", TAGS, 0, NULL},
    {"textsuperscript", TAGS, 0, NULL},
    {"textup", TAGS, 0, NULL},
    {"thanks", NOTE, 0, NULL},
    {"title", TITLE, 0, NULL},
    {"underline", TAGS, 0, NULL},
    {"vspace", BORDER, 0, NULL},
    {"{", SIGN, 0, "{"},
    {"}", SIGN, 0, "}"},
};

/* Environments that are copied with everything in them. */
static const char *const copied[] = {
    "equation",     "align",   "alignat",     "flalign",   "gather",      "multline",
    "eqnarray",     "math",    "displaymath", "verbatim",  "Verbatim",    "lstlisting",
    "minted",       "comment", "tikzpicture", "pspicture", "algorithmic", "thebibliography",
    "filecontents", "picture", "alltt",       "BVerbatim", "code",        NULL};

/* Environments whose argument is a title. */
static const char *const titled[] = {"frame", "block", "alertblock", "exampleblock", NULL};

/* What ends a formula. */
enum mark { DOLLAR, DOLLARS, BRACKET, PARENTHESIS, MARKS };

struct group {
    size_t block; /* the number of the block in which it began */
    bool is_title;
};

struct reader {
    struct dg_filter *filter;
    struct dg_blocks *blocks;
    struct dg_span text; /* the bytes up to the end of reading */
    size_t at;
    bool in_block;
    size_t block;       /* the number of the current block, or of the last one */
    size_t begin, last; /* the bytes of the block so far */
    struct group groups[DEPTH_MAX];
    size_t depth;
    struct dg_span *notes; /* owned; [n_notes] the arguments of the notes in the block */
    size_t n_notes, notes_cap;
    bool in_note, is_nested; /* a note is being read; its block is kept */
    struct {
        size_t from, to;
    } unmarked[MARKS]; /* where find_mark found no such mark */
    struct dg_error *error;
    enum dg_err err;
};

static char byte_at(const struct reader *reader, size_t at)
{
    return at < reader->text.len ? reader->text.ptr[at] : '\0';
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

static void read_notes(struct reader *reader, bool is_nested);
static void read_stretch(struct reader *reader, size_t at, size_t end);

static void begin_block(struct reader *reader, size_t at)
{
    if (reader->in_block)
        return;
    dg_block_begin(reader->blocks);
    reader->in_block = true;
    reader->block++;
    reader->begin = reader->last = at;
}

static void end_block(struct reader *reader)
{
    if (!reader->in_block)
        return;
    reader->in_block = false;
    const bool is_kept =
        dg_block_end(reader->blocks, reader->begin, reader->last - reader->begin, 0);
    if (is_kept && reader->is_nested)
        reader->blocks->items[reader->blocks->n - 1].is_nested = true;
    read_notes(reader, is_kept);
}

static void say(struct reader *reader, size_t at, size_t end, struct dg_span text)
{
    begin_block(reader, at);
    dg_block_say(reader->blocks, text);
    reader->last = end;
    reader->at = end;
}

static void point(struct reader *reader, size_t end)
{
    begin_block(reader, reader->at);
    dg_block_point(reader->blocks, reader->at, end - reader->at);
    reader->last = reader->at = end;
}

static void frozen(struct reader *reader, size_t end, struct dg_span visible)
{
    begin_block(reader, reader->at);
    if (visible.len > VISIBLE_MAX || memchr(visible.ptr, '\n', visible.len))
        dg_block_point(reader->blocks, reader->at, end - reader->at);
    else
        dg_block_frozen(reader->blocks, reader->at, end - reader->at, visible);
    reader->last = reader->at = end;
}

static void border(struct reader *reader, size_t end)
{
    end_block(reader);
    reader->at = end;
}

/* ---- Arguments ------------------------------------------------------------------------------- */

/* The position after the bracket that closes the one at `at`, at most `max` bytes further and
 * in the same paragraph; 0 when there is none. */
static size_t group_end(const struct reader *reader, size_t at, size_t max)
{
    const char open = byte_at(reader, at), close = open == '{' ? '}' : ']';
    size_t depth = 0;
    const size_t stop = reader->text.len - at > max ? at + max : reader->text.len;
    for (size_t i = at; i < stop; i++) {
        const char c = reader->text.ptr[i];
        if (c == '\\')
            i++;
        else if (c == '\n' && byte_at(reader, i + 1) == '\n')
            return 0;
        else if (c == '{' || (c == open && depth == 0))
            depth++;
        else if (c == close && depth == 1)
            return i + 1;
        else if (c == '}' && depth > 0)
            depth--;
    }
    return 0;
}

/* The position after the options and arguments at `at`, of which at most `n` are arguments. */
static size_t skip_arguments(const struct reader *reader, size_t at, int n)
{
    for (;;) {
        const char c = byte_at(reader, at);
        const size_t end = c == '['              ? group_end(reader, at, OPTION_MAX)
                           : c == '{' && n-- > 0 ? group_end(reader, at, ARGUMENT_MAX)
                                                 : 0;
        if (end == 0)
            return at;
        at = end;
    }
}

static size_t skip_blanks(const struct reader *reader, size_t at)
{
    while (byte_at(reader, at) == ' ' || byte_at(reader, at) == '\t')
        at++;
    return at;
}

/* ---- Groups ---------------------------------------------------------------------------------- */

static void push(struct reader *reader, bool is_title)
{
    if (reader->depth == DEPTH_MAX) {
        reader->err = dg_error_set(reader->error, DG_ERR_LIMIT, "line %zu: nested deeper than %d",
                                   dg_filter_line(reader->filter, reader->at), (int)DEPTH_MAX);
        return;
    }
    reader->groups[reader->depth++] = (struct group){.block = reader->block, .is_title = is_title};
}

/* Bytes from `at` to `end` begin a group of text. */
static void open_group(struct reader *reader, size_t end)
{
    begin_block(reader, reader->at);
    dg_block_open(reader->blocks, reader->at, end - reader->at);
    push(reader, false);
    reader->last = reader->at = end;
}

static void close_group(struct reader *reader)
{
    const size_t end = reader->at + 1;
    if (reader->depth == 0) {
        border(reader, end);
        return;
    }
    const struct group group = reader->groups[--reader->depth];
    if (group.is_title) {
        border(reader, end);
    } else if (reader->in_block && group.block == reader->block) {
        dg_block_close(reader->blocks, reader->at, 1);
        reader->last = reader->at = end;
    } else if (reader->in_block) {
        point(reader, end);
    } else {
        reader->at = end;
    }
}

/* "{\bfseries text}": the declarations belong to the brace. */
static void take_brace(struct reader *reader)
{
    size_t end = reader->at + 1;
    while (byte_at(reader, end) == '\\' && dg_chars_is_letter(byte_at(reader, end + 1))) {
        size_t behind = end + 1;
        while (dg_chars_is_letter(byte_at(reader, behind)))
            behind++;
        if (!dg_chars_is_space(byte_at(reader, behind)))
            break;
        end = skip_blanks(reader, behind);
    }
    if (byte_at(reader, end) == '}')
        point(reader, end + 1);
    else
        open_group(reader, end);
}

/* ---- Mathematics and code -------------------------------------------------------------------- */

static const char *const marks[MARKS] = {"$", "$$", "\\]", "\\)"};

/* The position after the mark that ends the formula at `at`, in the same paragraph; 0 when there is
 * none. A mark that was missing once is not searched for again, so the time stays linear. */
static size_t find_mark(struct reader *reader, size_t at, enum mark mark)
{
    const size_t len = strlen(marks[mark]);
    size_t i = at;
    if (at >= reader->unmarked[mark].from && at < reader->unmarked[mark].to)
        return 0;
    for (; i + len <= reader->text.len; i++) {
        if (memcmp(reader->text.ptr + i, marks[mark], len) == 0)
            return i + len;
        if (reader->text.ptr[i] == '\\')
            i++;
        else if (reader->text.ptr[i] == '\n' && byte_at(reader, i + 1) == '\n')
            break;
    }
    reader->unmarked[mark].from = at;
    reader->unmarked[mark].to = i;
    return 0;
}

static void take_dollar(struct reader *reader)
{
    const bool is_display = byte_at(reader, reader->at + 1) == '$';
    const size_t from = reader->at + 1 + is_display;
    const size_t end = find_mark(reader, from, is_display ? DOLLARS : DOLLAR);
    if (end == 0)
        border(reader, from);
    else if (is_display)
        border(reader, end);
    else
        frozen(reader, end, dg_span_sub(reader->text, from, end - 1 - from));
}

/* ---- Environments ---------------------------------------------------------------------------- */

static bool is_one_of(struct dg_span name, const char *const *names)
{
    if (name.len && name.ptr[name.len - 1] == '*')
        name.len--;
    return dg_chars_is_one_of(name, names);
}

/* The position after the \end of an environment; the end of the text when there is none. */
static size_t environment_end(const struct reader *reader, size_t at, struct dg_span name)
{
    for (; at < reader->text.len; at++) {
        const char *slash = memchr(reader->text.ptr + at, '\\', reader->text.len - at);
        if (!slash)
            break;
        at = (size_t)(slash - reader->text.ptr);
        struct dg_span rest = dg_span_sub(reader->text, at, reader->text.len);
        if (!dg_span_starts(rest, DG_SPAN("\\end{")))
            continue;
        rest = dg_span_sub(rest, 5, rest.len);
        if (dg_span_starts(rest, name) && rest.len > name.len && rest.ptr[name.len] == '}')
            return at + 5 + name.len + 1;
    }
    return reader->text.len;
}

static void begin_title(struct reader *reader, size_t at)
{
    border(reader, at + 1);
    push(reader, true);
}

static void take_environment(struct reader *reader, size_t at, bool is_begin)
{
    const size_t close = byte_at(reader, at) == '{' ? group_end(reader, at, OPTION_MAX) : 0;
    if (close == 0) {
        border(reader, at);
        return;
    }
    const struct dg_span name = dg_span_sub(reader->text, at + 1, close - at - 2);
    if (is_begin && is_one_of(name, copied)) {
        border(reader, environment_end(reader, close, name));
        return;
    }
    const bool is_titled = is_begin && is_one_of(name, titled);
    const size_t end = is_begin ? skip_arguments(reader, close, is_titled ? 0 : 9) : close;
    if (is_titled && byte_at(reader, end) == '{')
        begin_title(reader, end);
    else
        border(reader, end);
}

/* ---- Commands -------------------------------------------------------------------------------- */

static int compare(const void *key, const void *element)
{
    const struct dg_span *name = key;
    const struct command *command = element;
    const size_t len = strlen(command->name);
    const int order = memcmp(name->ptr, command->name, name->len < len ? name->len : len);
    return order ? order : name->len < len ? -1 : name->len > len;
}

/* Accents: "\'e", "\"{o}", "\c c". */
static const struct {
    char accent;
    const char *bare, *composed; /* two strings letter by letter, each letter in two bytes */
} accents[] = {
    {'\'', "aeiouyAEIOUYcnszCNSZ", "áéíóúýÁÉÍÓÚÝćńśźĆŃŚŹ"},
    {'`', "aeiouAEIOU", "àèìòùÀÈÌÒÙ"},
    {'^', "aeiouAEIOU", "âêîôûÂÊÎÔÛ"},
    {'"', "aeiouyAEIOU", "äëïöüÿÄËÏÖÜ"},
    {'~', "anoANO", "ãñõÃÑÕ"},
    {'c', "cCsS", "çÇşŞ"},
    {'v', "cszrenCSZREN", "čšžřěňČŠŽŘĚŇ"},
};

/* Whether the backslash begins an accent; *end is after the accent. */
static bool accent_at(const struct reader *reader, size_t at, size_t *end, struct dg_span *sign)
{
    const char accent = byte_at(reader, at + 1);
    size_t letter = at + 2;
    if (dg_chars_is_letter(accent))
        letter = skip_blanks(reader, letter);
    const bool has_space = letter > at + 2, has_brace = byte_at(reader, letter) == '{';
    letter += has_brace;
    if (dg_chars_is_letter(accent) && !has_space && !has_brace)
        return false;
    const size_t has_dotless =
        byte_at(reader, letter) == '\\' && byte_at(reader, letter + 1) == 'i';
    letter += has_dotless;
    if (has_brace && byte_at(reader, letter + 1) != '}')
        return false;
    if (has_dotless && !has_brace)
        return false;
    for (size_t i = 0; i < sizeof accents / sizeof *accents; i++) {
        const char c = byte_at(reader, letter);
        const char *found = accents[i].accent == accent && c ? strchr(accents[i].bare, c) : NULL;
        if (!found)
            continue;
        *sign = dg_span_make(accents[i].composed + 2 * (found - accents[i].bare), 2);
        *end = letter + 1 + has_brace;
        return true;
    }
    return false;
}

static void add_note(struct reader *reader, size_t at, size_t end)
{
    if (DG_GROW(reader->notes, reader->n_notes, reader->notes_cap, 8)) {
        reader->err = DG_ERR_NOMEM;
        return;
    }
    reader->notes[reader->n_notes++] = dg_span_sub(reader->text, at, end - at);
}

/* A long note, or a note within a note, is text where it stands. */
static void take_note(struct reader *reader, size_t behind)
{
    const size_t from = skip_arguments(reader, behind, 0);
    const size_t end = byte_at(reader, from) == '{' ? group_end(reader, from, NOTE_MAX) : 0;
    if (end == 0) {
        point(reader, behind);
        return;
    }
    if (!reader->in_note)
        add_note(reader, from + 1, end - 1);
    point(reader, end);
}

/* "\verb|x|" */
static void take_verb(struct reader *reader, size_t behind)
{
    const size_t from = behind + (byte_at(reader, behind) == '*');
    const char delimiter = byte_at(reader, from);
    const char *close =
        delimiter && delimiter != '\n'
            ? memchr(reader->text.ptr + from + 1, delimiter,
                     reader->text.len - from - 1 < OPTION_MAX ? reader->text.len - from - 1
                                                              : OPTION_MAX)
            : NULL;
    if (!close)
        point(reader, behind);
    else
        frozen(reader, (size_t)(close - reader->text.ptr) + 1,
               dg_span_make(reader->text.ptr + from + 1,
                            (size_t)(close - reader->text.ptr) - from - 1));
}

static void take_title(struct reader *reader, const struct command *command, size_t behind)
{
    size_t at = behind + (byte_at(reader, behind) == '*');
    if (byte_at(reader, at) == '[') /* the short form is kept, because it goes into headers */
        at = skip_arguments(reader, at, 0);
    for (int i = 0; i < command->n_skipped; i++)
        at = skip_arguments(reader, at, 1);
    if (byte_at(reader, at) == '{')
        begin_title(reader, at);
    else
        border(reader, at);
}

static void take_border(struct reader *reader, struct dg_span name, size_t behind)
{
    const size_t option = skip_blanks(reader, behind);
    if (dg_span_eq(name, DG_SPAN("item")) && byte_at(reader, option) == '[') {
        const size_t end = group_end(reader, option, OPTION_MAX);
        border(reader, option + 1);
        if (end)
            read_stretch(reader, option + 1, end - 1); /* the label */
        reader->at = end ? end : option + 1;
        return;
    }
    border(reader, skip_arguments(reader, behind, 9));
}

static void take_command(struct reader *reader)
{
    const size_t at = reader->at;
    size_t end = at + 1;
    struct dg_span sign;
    if (accent_at(reader, at, &end, &sign)) {
        say(reader, at, end, sign);
        return;
    }
    while (dg_chars_is_letter(byte_at(reader, end)))
        end++;
    const bool is_word = end > at + 1;
    end += !is_word && end < reader->text.len;
    const struct dg_span name = dg_span_sub(reader->text, at + 1, end - at - 1);
    const struct command *command =
        name.len ? bsearch(&name, commands, sizeof commands / sizeof *commands, sizeof *commands,
                           compare)
                 : NULL;
    if (dg_span_eq(name, DG_SPAN("begin")) || dg_span_eq(name, DG_SPAN("end"))) {
        take_environment(reader, end, name.len == 5);
    } else if (dg_span_eq(name, DG_SPAN("verb")) || dg_span_eq(name, DG_SPAN("lstinline"))) {
        take_verb(reader, end);
    } else if (dg_span_eq(name, DG_SPAN("["))) {
        const size_t close = find_mark(reader, end, BRACKET);
        border(reader, close ? close : end);
    } else if (dg_span_eq(name, DG_SPAN("("))) {
        const size_t close = find_mark(reader, end, PARENTHESIS);
        if (close)
            frozen(reader, close, dg_span_sub(reader->text, end, close - 2 - end));
        else
            border(reader, end);
    } else if (dg_span_eq(name, DG_SPAN("\\"))) {
        end += byte_at(reader, end) == '*';
        border(reader, skip_arguments(reader, end, 0));
    } else if (command && command->what == TAGS) {
        const size_t from = skip_arguments(reader, end, command->n_skipped);
        if (byte_at(reader, from) == '{')
            open_group(reader, from + 1);
        else
            point(reader, end);
    } else if (command && command->what == TITLE) {
        take_title(reader, command, end);
    } else if (command && command->what == NOTE) {
        take_note(reader, end);
    } else if (command && command->what == BORDER) {
        take_border(reader, name, end);
    } else if (command && command->what == SIGN) {
        const size_t blank = is_word ? skip_blanks(reader, end) : end;
        const bool has_braces =
            is_word && byte_at(reader, end) == '{' && byte_at(reader, end + 1) == '}';
        end = has_braces ? end + 2 : blank;
        if (command->sign)
            say(reader, at, end, dg_span_cstr(command->sign));
        else
            frozen(reader, end, name);
    } else {
        end = skip_arguments(reader, end + (byte_at(reader, end) == '*'), 9);
        if (is_word && dg_chars_is_letter(byte_at(reader, end - 1)))
            end = skip_blanks(reader, end); /* the command consumes the space after it */
        if (reader->in_block)
            point(reader, end);
        else
            border(reader, end);
    }
}

/* ---- Text ------------------------------------------------------------------------------------ */

static void take_space(struct reader *reader)
{
    size_t n_lines = 0, end = reader->at;
    for (; end < reader->text.len && dg_chars_is_space(reader->text.ptr[end]); end++)
        n_lines += reader->text.ptr[end] == '\n';
    if (n_lines > 1)
        end_block(reader);
    else if (reader->in_block)
        /* part of the block only if more text follows */
        dg_block_say(reader->blocks, DG_SPAN(" "));
    reader->at = end;
}

/* Skips to the end of the line, and the blanks at the beginning of the next. */
static void take_comment(struct reader *reader)
{
    const char *newline =
        memchr(reader->text.ptr + reader->at, '\n', reader->text.len - reader->at);
    const size_t end =
        newline ? skip_blanks(reader, (size_t)(newline - reader->text.ptr) + 1) : reader->text.len;
    if (reader->in_block)
        point(reader, end);
    else
        reader->at = end;
    if (byte_at(reader, end) == '\n' || byte_at(reader, end) == '\r')
        end_block(reader);
}

/* Reads a character that is written with several others. */
static bool take_ligature(struct reader *reader)
{
    static const struct {
        const char *written, *means;
    } rows[] = {
        {"---", "\xE2\x80\x94"}, {"--", "\xE2\x80\x93"}, {"``", "\xE2\x80\x9C"},
        {"''", "\xE2\x80\x9D"},  {"`", "\xE2\x80\x98"},  {"~", "\xC2\xA0"},
    };
    const struct dg_span rest = dg_span_sub(reader->text, reader->at, reader->text.len);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!dg_span_starts(rest, dg_span_cstr(rows[i].written)))
            continue;
        say(reader, reader->at, reader->at + strlen(rows[i].written), dg_span_cstr(rows[i].means));
        return true;
    }
    return false;
}

static void step(struct reader *reader)
{
    size_t end = reader->at + 1;
    switch (reader->text.ptr[reader->at]) {
    case '\\':
        take_command(reader);
        return;
    case '{':
        take_brace(reader);
        return;
    case '}':
        close_group(reader);
        return;
    case '$':
        take_dollar(reader);
        return;
    case '&':
        border(reader, end);
        return;
    case '%':
        take_comment(reader);
        return;
    case ' ':
    case '\t':
    case '\r':
    case '\n':
        take_space(reader);
        return;
    default:
        break;
    }
    if (take_ligature(reader))
        return;
    while (end < reader->text.len &&
           (!strchr("\\{}$&% \t\r\n-`'~", reader->text.ptr[end]) || reader->text.ptr[end] == '\0'))
        end++;
    say(reader, reader->at, end, dg_span_sub(reader->text, reader->at, end - reader->at));
}

/* Reads the text between `at` and `end` as texts of their own. */
static void read_stretch(struct reader *reader, size_t at, size_t end)
{
    const size_t whole = reader->text.len;
    reader->text.len = end;
    reader->at = at;
    while (reader->at < end && !reader->err && !reader->blocks->err)
        step(reader);
    end_block(reader);
    reader->text.len = whole;
    reader->at = end;
}

static void read_notes(struct reader *reader, bool is_nested)
{
    const size_t at = reader->at, depth = reader->depth;
    if (reader->in_note || reader->n_notes == 0)
        return;
    reader->in_note = true;
    reader->is_nested = is_nested;
    for (size_t i = 0; i < reader->n_notes; i++) {
        const size_t from = (size_t)(reader->notes[i].ptr - reader->text.ptr);
        read_stretch(reader, from, from + reader->notes[i].len);
        reader->depth = depth;
    }
    reader->in_note = reader->is_nested = false;
    reader->n_notes = 0;
    reader->at = at;
}

/* ---- All of it ------------------------------------------------------------------------------- */

/* The position of a word outside comments; SIZE_MAX: there is none. */
static size_t find(struct dg_span text, size_t at, const char *word)
{
    bool in_comment = false;
    for (; at < text.len; at++) {
        const char c = text.ptr[at];
        if (c == '\n')
            in_comment = false;
        else if (c == '%' && (at == 0 || text.ptr[at - 1] != '\\'))
            in_comment = true;
        else if (c == *word && !in_comment &&
                 dg_span_starts(dg_span_sub(text, at, text.len), dg_span_cstr(word)))
            return at;
    }
    return SIZE_MAX;
}

/* In the preamble only titles are text. */
static void read_preamble(struct reader *reader, size_t end)
{
    static const char *const words[] = {"\\title", "\\subtitle", NULL};
    reader->text.len = end;
    for (size_t i = 0; words[i]; i++) {
        const size_t at = find(reader->text, i ? reader->at : 0, words[i]);
        const char next = at == SIZE_MAX ? 'x' : byte_at(reader, at + strlen(words[i]));
        if (next != '{' && next != '[')
            continue;
        reader->at = at;
        do {
            step(reader);
        } while (reader->depth > 0 && reader->at < end && !reader->err && !reader->blocks->err);
        end_block(reader);
        reader->depth = 0;
    }
}

enum dg_err dg_filter_open_latex(struct dg_filter *filter, const struct dg_filter_opts *opts,
                                 struct dg_error *error)
{
    struct reader *reader = dg_try_calloc(1, sizeof *reader);
    (void)opts;
    if (!reader)
        return DG_ERR_NOMEM;
    reader->filter = filter;
    reader->blocks = &filter->blocks;
    reader->text = filter->bytes;
    reader->error = error;
    const size_t begin = find(filter->bytes, 0, "\\begin{document}");
    const size_t end = find(filter->bytes, begin == SIZE_MAX ? 0 : begin, "\\end{document}");
    if (begin != SIZE_MAX)
        read_preamble(reader, begin);
    reader->text = dg_span_sub(filter->bytes, 0, end);
    if (!reader->err && !filter->blocks.err)
        read_stretch(reader, begin == SIZE_MAX ? 0 : begin, reader->text.len);
    const enum dg_err err = reader->err;
    dg_free(reader->notes);
    dg_free(reader);
    return err;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static enum dg_err escape(struct dg_span text, struct dg_buf *out)
{
    static const struct {
        const char *means, *written;
    } rows[] = {
        {"\\", "\\textbackslash{}"},
        {"{", "\\{"},
        {"}", "\\}"},
        {"$", "\\$"},
        {"&", "\\&"},
        {"#", "\\#"},
        {"_", "\\_"},
        {"%", "\\%"},
        {"~", "\\textasciitilde{}"},
        {"^", "\\textasciicircum{}"},
        {"\xC2\xA0", "~"},
        {"\xE2\x80\x94", "---"},
        {"\xE2\x80\x93", "--"},
        {"\xE2\x80\x9C", "``"},
        {"\xE2\x80\x9D", "''"},
        {"\xE2\x80\x98", "`"},
    };
    enum dg_err err = DG_OK;
    size_t from = 0;
    for (size_t at = 0; at < text.len && !err;) {
        const struct dg_span rest = dg_span_sub(text, at, text.len);
        size_t i = 0;
        while (i < sizeof rows / sizeof *rows && !dg_span_starts(rest, dg_span_cstr(rows[i].means)))
            i++;
        if (i == sizeof rows / sizeof *rows) {
            at++;
            continue;
        }
        err = dg_buf_append_span(out, dg_span_sub(text, from, at - from));
        if (!err)
            err = dg_buf_append_cstr(out, rows[i].written);
        from = at += strlen(rows[i].means);
    }
    return err ? err : dg_buf_append_span(out, dg_span_sub(text, from, text.len - from));
}

enum dg_err dg_filter_put_latex(void *ctx, const struct dg_block_source *source,
                                const struct dg_filter_block *block, struct dg_span html,
                                struct dg_buf *out, struct dg_error *error)
{
    (void)ctx;
    while (html.len && dg_chars_is_space(html.ptr[html.len - 1])) /* the file has line ends of its
                                                                     own */
        html.len--;
    return dg_block_render(source, block, html, escape, out, error);
}
