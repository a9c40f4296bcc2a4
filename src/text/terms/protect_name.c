/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Addresses, handles, tags and file names. An address ends at white space, at <>"` and at what is
 * not part of it in running text: closing punctuation, an unmatched bracket, and Han, kana or
 * Hangul that touches it ("https://a.org입니다"). */
#include "text/terms/protect_int.h"

#include "base/memory/utf8.h"

#include <string.h>

#include <unicode/uchar.h>
#include <unicode/uscript.h>

enum { SCHEME_MAX = 16, EXTENSION_MAX = 8 };

/* ---- Characters ------------------------------------------------------------------------------ */

static bool is_dense(uint32_t cp)
{
    return u_hasBinaryProperty((UChar32)cp, UCHAR_IDEOGRAPHIC) || (cp >= 0x3040 && cp <= 0x30FF) ||
           (cp >= 0xAC00 && cp <= 0xD7AF) || (cp >= 0x1100 && cp <= 0x11FF);
}

/* The length of a letter, mark or digit outside ASCII at `at`, or 0. Dense scripts count only where
 * the byte before belongs to an address ('/', '=', '-', '_', '.', '%', '#') or to such a letter. */
static size_t wide_letter(struct dg_span text, size_t at, bool *after_dense)
{
    uint32_t cp;
    size_t len = dg_utf8_decode(text, at, &cp);
    if (len == 0 || !(u_isalnum((UChar32)cp) || u_charType((UChar32)cp) == U_NON_SPACING_MARK))
        return 0;
    if (!is_dense(cp))
        return len;
    if (at == 0 || (!*after_dense && !memchr("/=-_.%#", text.ptr[at - 1], 7)))
        return 0;
    *after_dense = true;
    return len;
}

static bool is_closing(char c)
{
    return c != '\0' && strchr(".,;:!?'\"*_~", c);
}

/* ---- URLs ------------------------------------------------------------------------------------ */

/* The end of an address that starts before `at`. */
static size_t url_end(struct dg_span text, size_t at)
{
    size_t start = at;
    int round = 0, square = 0;
    bool after_dense = false;
    while (at < text.len) {
        char c = text.ptr[at];
        if ((unsigned char)c >= 0x80) {
            size_t len = wide_letter(text, at, &after_dense);
            if (len == 0)
                break;
            at += len;
            continue;
        }
        after_dense = false;
        if ((unsigned char)c <= ' ' || c == 0x7F || strchr("<>\"`{}|\\^", c))
            break;
        round += c == '(' ? 1 : c == ')' ? -1 : 0;
        square += c == '[' ? 1 : c == ']' ? -1 : 0;
        if (round < 0 || square < 0)
            break;
        at++;
    }
    while (at > start && (is_closing(text.ptr[at - 1]) || (text.ptr[at - 1] == '(' && round > 0)))
        at--;
    return at;
}

static bool starts_word(struct dg_span text, size_t at, const char *word)
{
    size_t len = strlen(word);
    if (at + len > text.len)
        return false;
    for (size_t i = 0; i < len; i++)
        if ((text.ptr[at + i] | (dg_chars_is_letter(text.ptr[at + i]) ? 0x20 : 0)) != word[i])
            return false;
    return true;
}

/* The position after "scheme://", "mailto:" and the like; 0 when there is no scheme. */
static size_t scheme_end(struct dg_span text, size_t at)
{
    static const char *const plain[] = {"mailto:", "tel:", "magnet:?", "doi:10."};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (starts_word(text, at, plain[i]))
            return at + strlen(plain[i]);
    if (!dg_chars_is_letter(dg_protect_byte(text, at)))
        return 0;
    for (size_t i = at + 1; i < text.len && i - at <= SCHEME_MAX; i++) {
        char c = text.ptr[i];
        if (c == ':')
            return dg_protect_byte(text, i + 1) == '/' && dg_protect_byte(text, i + 2) == '/'
                       ? i + 3
                       : 0;
        if (!dg_protect_is_alnum(c) && c != '+' && c != '-' && c != '.')
            return 0;
    }
    return 0;
}

size_t dg_protect_match_url(struct dg_span text, size_t at)
{
    size_t rest = scheme_end(text, at);
    if (!rest && starts_word(text, at, "www.") &&
        dg_protect_is_alnum(dg_protect_byte(text, at + 4)))
        rest = at + 4;
    if (!rest)
        return 0;
    size_t end = url_end(text, rest);
    return end > rest ? end : 0;
}

/* ---- Tokens: e-mail, bare addresses, file names ---------------------------------------------- */

static bool is_token_char(char c)
{
    return dg_protect_is_alnum(c) || (c != '\0' && strchr("_-./\\~+@:%", c));
}

size_t dg_protect_token_end(struct dg_span text, size_t at)
{
    while (at < text.len) {
        if (is_token_char(text.ptr[at])) {
            at++;
            continue;
        }
        uint32_t cp;
        size_t len = (unsigned char)text.ptr[at] >= 0x80 ? dg_utf8_decode(text, at, &cp) : 0;
        if (len == 0 || !u_isalnum((UChar32)cp) || is_dense(cp))
            break;
        at += len;
    }
    return at;
}

static bool in_list(const char *const *list, size_t n, const char *word, size_t len)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(list[i]) == len && starts_word(dg_span_make(word, len), 0, list[i]))
            return true;
    return false;
}

/* True for the ends of domain names that people write without a scheme. */
static bool is_top_domain(const char *word, size_t len)
{
    static const char *const known[] = {
        "com", "org", "net",   "edu",    "gov",  "int",    "info", "biz",  "dev",  "app",  "io",
        "ai",  "me",  "tv",    "eu",     "de",   "fr",     "uk",   "es",   "it",   "pt",   "br",
        "ru",  "ua",  "pl",    "nl",     "be",   "ch",     "at",   "se",   "dk",   "fi",   "cz",
        "jp",  "cn",  "kr",    "tw",     "hk",   "in",     "au",   "ca",   "us",   "mx",   "ar",
        "cl",  "tr",  "gr",    "hu",     "ro",   "ie",     "nz",   "za",   "il",   "ir",   "vn",
        "th",  "id",  "cloud", "online", "site", "social", "wiki", "blog", "shop", "tech", "xyz",
    };
    return in_list(known, sizeof known / sizeof *known, word, len);
}

static bool is_extension(const char *word, size_t len)
{
    static const char *const known[] = {
        "txt",  "md",      "rst",    "tex",     "pdf",  "doc",  "docx",   "odt",  "rtf",   "xls",
        "xlsx", "ods",     "csv",    "tsv",     "ppt",  "pptx", "odp",    "html", "htm",   "xhtml",
        "css",  "js",      "ts",     "jsx",     "tsx",  "json", "xml",    "yml",  "yaml",  "toml",
        "ini",  "conf",    "cfg",    "log",     "c",    "h",    "cc",     "cpp",  "cxx",   "hpp",
        "py",   "rb",      "pl",     "php",     "java", "kt",   "go",     "rs",   "swift", "sh",
        "bash", "zsh",     "bat",    "ps1",     "sql",  "db",   "sqlite", "png",  "jpg",   "jpeg",
        "gif",  "svg",     "webp",   "bmp",     "ico",  "tiff", "mp3",    "mp4",  "wav",   "ogg",
        "flac", "avi",     "mkv",    "mov",     "webm", "zip",  "tar",    "gz",   "bz2",   "xz",
        "zst",  "rar",     "deb",    "rpm",     "iso",  "exe",  "dll",    "so",   "o",     "a",
        "apk",  "jar",     "po",     "pot",     "mo",   "srt",  "vtt",    "bin",  "dat",   "bak",
        "tmp",  "service", "socket", "desktop", "lock", "key",  "pem",    "crt",  "npz",   "spm",
        "in",   "am",      "ac",
    };
    return in_list(known, sizeof known / sizeof *known, word, len);
}

/* A run of labels divided by dots: its end, the start of the last label, and the number of dots. */
struct domain {
    size_t end, last;
    unsigned n_dots;
};

static struct domain read_domain(struct dg_span text, size_t at, size_t end)
{
    struct domain domain = {.end = at, .last = at};
    for (size_t i = at; i < end; i++) {
        char c = text.ptr[i];
        bool label =
            dg_protect_is_alnum(c) || (c == '-' && i > domain.last) || (unsigned char)c >= 0x80;
        if (label) {
            domain.end = i + 1;
        } else if (c == '.' && i > domain.last && i + 1 < end &&
                   (dg_protect_is_alnum(text.ptr[i + 1]) ||
                    (unsigned char)text.ptr[i + 1] >= 0x80)) {
            domain.last = i + 1;
            domain.n_dots++;
        } else {
            break;
        }
    }
    return domain;
}

static bool all_letters(struct dg_span text, size_t at, size_t end)
{
    for (size_t i = at; i < end; i++)
        if (!dg_chars_is_letter(text.ptr[i]))
            return false;
    return end > at;
}

static size_t match_email(struct dg_span text, size_t at, size_t end)
{
    const char *sign = memchr(text.ptr + at, '@', end - at);
    size_t host = sign ? (size_t)(sign - text.ptr) + 1 : 0;
    if (!sign || host == at + 1)
        return 0;
    for (size_t i = at; i + 1 < host; i++)
        if (text.ptr[i] == '/' || text.ptr[i] == '\\' || text.ptr[i] == ':')
            return 0;
    struct domain domain = read_domain(text, host, end);
    if (domain.n_dots == 0 || domain.end - domain.last < 2 ||
        !all_letters(text, domain.last, domain.end))
        return 0;
    return domain.end;
}

/* example.org, example.org/path?x=1. */
static size_t match_bare_url(struct dg_span text, size_t at, size_t end)
{
    struct domain domain = read_domain(text, at, end);
    if (domain.n_dots == 0 || !is_top_domain(text.ptr + domain.last, domain.end - domain.last))
        return 0;
    char next = dg_protect_byte(text, domain.end);
    if (next == '/' || next == ':' || next == '?' || next == '#')
        return url_end(text, domain.end);
    return next == '@' || next == '_' ? 0 : domain.end;
}

/* The token without the punctuation that closes the sentence around it. */
static size_t trim_token(struct dg_span text, size_t at, size_t end)
{
    while (end > at && strchr(".:-+%@~", text.ptr[end - 1]))
        end--;
    return end;
}

static size_t match_file(struct dg_span text, size_t at, size_t end)
{
    size_t slash = 0, dot = 0, n_parts = 0;
    end = trim_token(text, at, end);
    for (size_t i = at; i < end; i++) {
        char c = text.ptr[i];
        if (c == ':' && !(i == at + 1 && dg_protect_byte(text, i + 1) == '\\'))
            return 0;
        if (c == '/' || c == '\\') {
            slash = i + 1;
            dot = 0;
        } else if (c == '.' && i > slash) {
            dot = i + 1;
        }
        n_parts +=
            i > at && (text.ptr[i - 1] == '/' || text.ptr[i - 1] == '\\') && dg_protect_is_alnum(c);
    }
    bool drive = end > at + 3 && text.ptr[at + 1] == ':' && text.ptr[at + 2] == '\\';
    bool rooted = drive || ((text.ptr[at] == '/' ||
                             dg_span_starts(dg_span_sub(text, at, end - at), DG_SPAN("./")) ||
                             dg_span_starts(dg_span_sub(text, at, end - at), DG_SPAN("../")) ||
                             dg_span_starts(dg_span_sub(text, at, end - at), DG_SPAN("~/"))) &&
                            n_parts > 0);
    if (rooted)
        return end;
    bool named =
        dot > at + 1 && end - dot <= EXTENSION_MAX && is_extension(text.ptr + dot, end - dot);
    return named && dot - 1 > slash ? end : 0;
}

size_t dg_protect_match_token(struct dg_span text, size_t at, size_t token_end,
                              enum dg_protect_kind *kind)
{
    size_t end;
    if (token_end - at < 3)
        return 0;
    *kind = DG_PROTECT_EMAIL;
    if ((end = match_email(text, at, token_end)))
        return end;
    *kind = DG_PROTECT_FILE;
    if ((end = match_file(text, at, token_end)))
        return end;
    *kind = DG_PROTECT_URL;
    return match_bare_url(text, at, token_end);
}

/* ---- @name, #tag ----------------------------------------------------------------------------- */

static size_t name_end(struct dg_span text, size_t at)
{
    while (at < text.len) {
        char c = text.ptr[at];
        if (dg_protect_is_alnum(c) || c == '_') {
            at++;
            continue;
        }
        uint32_t cp;
        size_t len = (unsigned char)c >= 0x80 ? dg_utf8_decode(text, at, &cp) : 0;
        if (len == 0 || !(u_isalnum((UChar32)cp) || u_charType((UChar32)cp) == U_NON_SPACING_MARK))
            break;
        at += len;
    }
    return at;
}

size_t dg_protect_match_mention(struct dg_span text, size_t at)
{
    size_t end = name_end(text, at + 1);
    if (end == at + 1)
        return 0;
    while ((dg_protect_byte(text, end) == '-' || dg_protect_byte(text, end) == '.') &&
           dg_protect_is_alnum(dg_protect_byte(text, end + 1)))
        end = name_end(text, end + 1);
    if (dg_protect_byte(text, end) == '@') { /* an account such as @name@host */
        struct domain domain = read_domain(text, end + 1, dg_protect_token_end(text, end + 1));
        if (domain.n_dots > 0)
            return domain.end;
    }
    return end;
}

size_t dg_protect_match_hashtag(struct dg_span text, size_t at)
{
    if (at > 0 && text.ptr[at - 1] == '&')
        return 0; /* a character reference such as &#39; */
    size_t end = name_end(text, at + 1);
    return end > at + 1 ? end : 0;
}
