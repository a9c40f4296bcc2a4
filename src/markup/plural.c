/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */

/* Evaluates the expression while parsing it, by precedence climbing; operators bind as in C. Both
 * sides of && || ?: are evaluated, because nothing has side effects. */
#include "markup/plural.h"

#include <ctype.h>
#include <string.h>

enum {
    DEPTH_MAX = 32,
    PROBES = 200,
    EXPRESSION_MAX = 300 /* the longest in use, for Arabic, has 110 */
};

struct reading {
    const char *at, *end;
    unsigned long n;
    int depth;
    bool is_bad;
};

static void skip_blanks(struct reading *reading)
{
    while (reading->at < reading->end && isspace((unsigned char)*reading->at))
        reading->at++;
}

static bool take(struct reading *reading, const char *word)
{
    size_t len = strlen(word);
    skip_blanks(reading);
    if ((size_t)(reading->end - reading->at) < len || memcmp(reading->at, word, len) != 0)
        return false;
    reading->at += len;
    return true;
}

static unsigned long choose(struct reading *reading);

static unsigned long operand(struct reading *reading)
{
    unsigned long value = 0;
    if (++reading->depth > DEPTH_MAX) {
        reading->is_bad = true;
    } else if (take(reading, "!")) {
        value = !operand(reading);
    } else if (take(reading, "(")) {
        value = choose(reading);
        reading->is_bad |= !take(reading, ")");
    } else if (take(reading, "n")) {
        value = reading->n;
    } else if (reading->at < reading->end && isdigit((unsigned char)*reading->at)) {
        while (reading->at < reading->end && isdigit((unsigned char)*reading->at) &&
               value < 1000000)
            value = value * 10 + (unsigned long)(*reading->at++ - '0');
    } else {
        reading->is_bad = true;
    }
    reading->depth--;
    return value;
}

/* Longer ones first where one begins another. */
static const struct {
    const char *word;
    int level; /* a higher level binds more tightly */
} operators[] = {{"||", 1}, {"&&", 2}, {"==", 3}, {"!=", 3}, {"<=", 4}, {">=", 4}, {"<", 4},
                 {">", 4},  {"+", 5},  {"-", 5},  {"*", 6},  {"/", 6},  {"%", 6}};

static unsigned long apply(struct reading *reading, size_t which, unsigned long a, unsigned long b)
{
    switch (which) {
    case 0:
        return a || b;
    case 1:
        return a && b;
    case 2:
        return a == b;
    case 3:
        return a != b;
    case 4:
        return a <= b;
    case 5:
        return a >= b;
    case 6:
        return a < b;
    case 7:
        return a > b;
    case 8:
        return a + b;
    case 9:
        return a - b;
    case 10:
        return a * b;
    default:
        break;
    }
    reading->is_bad |= b == 0;
    return b == 0 ? 0 : which == 11 ? a / b : a % b;
}

static unsigned long binary(struct reading *reading, int level)
{
    unsigned long value = operand(reading);
    for (;;) {
        size_t which = 0, n = sizeof operators / sizeof *operators;
        const char *before = reading->at;
        while (which < n && !take(reading, operators[which].word))
            which++;
        if (which == n || operators[which].level < level || reading->is_bad) {
            reading->at = before;
            return value;
        }
        unsigned long right = binary(reading, operators[which].level + 1);
        value = apply(reading, which, value, right);
    }
}

static unsigned long choose(struct reading *reading)
{
    if (++reading->depth > DEPTH_MAX) {
        reading->is_bad = true;
        return 0;
    }
    unsigned long value = binary(reading, 1);
    if (!reading->is_bad && take(reading, "?")) {
        unsigned long yes = choose(reading);
        reading->is_bad |= !take(reading, ":");
        unsigned long no = reading->is_bad ? 0 : choose(reading);
        value = value ? yes : no;
    }
    reading->depth--;
    return value;
}

static bool evaluate(const struct dg_plural *plural, unsigned long n, unsigned long *form)
{
    struct reading reading = {.at = plural->expression.ptr,
                              .end = plural->expression.ptr + plural->expression.len,
                              .n = n};
    *form = choose(&reading);
    skip_blanks(&reading);
    return !reading.is_bad && reading.at == reading.end && *form < (unsigned long)plural->n_forms;
}

bool dg_plural_parse(struct dg_span rule, struct dg_plural *plural)
{
    struct reading reading = {.at = rule.ptr, .end = rule.ptr + rule.len};
    if (rule.len == 0 || !take(&reading, "nplurals") || !take(&reading, "="))
        return false;
    skip_blanks(&reading);
    int n = 0;
    while (reading.at < reading.end && isdigit((unsigned char)*reading.at) && n < 100)
        n = n * 10 + *reading.at++ - '0';
    if (n < 1 || n > DG_PLURALS_MAX || !take(&reading, ";") || !take(&reading, "plural") ||
        !take(&reading, "="))
        return false;
    if (reading.end - reading.at > EXPRESSION_MAX)
        return false;
    const char *end = memchr(reading.at, ';', (size_t)(reading.end - reading.at));
    *plural = (struct dg_plural){
        .n_forms = n,
        .expression = dg_span_make(reading.at, (size_t)((end ? end : reading.end) - reading.at))};
    for (unsigned long i = 0, form; i < PROBES; i++)
        if (!evaluate(plural, i, &form))
            return false;
    return true;
}

int dg_plural_form(const struct dg_plural *plural, unsigned long n)
{
    unsigned long form = 0;
    return evaluate(plural, n, &form) ? (int)form : 0;
}

bool dg_plural_is_one_alone(const struct dg_plural *plural, int form)
{
    if (dg_plural_form(plural, 1) != form)
        return false;
    for (unsigned long i = 0; i < PROBES; i++)
        if (i != 1 && dg_plural_form(plural, i) == form)
            return false;
    return true;
}

/* Reads " pl " out of "pl-PL"; false when it is not a language. */
static bool language_word(struct dg_span language, char word[8])
{
    size_t n = 0;
    while (n < language.len && isalpha((unsigned char)language.ptr[n]) && n < 4)
        n++;
    if (n < 2 || n > 3)
        return false;
    word[0] = ' ';
    for (size_t i = 0; i < n; i++)
        word[i + 1] = (char)tolower((unsigned char)language.ptr[i]);
    word[n + 1] = ' ';
    word[n + 2] = '\0';
    return true;
}

const char *dg_plural_of(struct dg_span language)
{
    static const char
        one[] = "nplurals=1; plural=0;",
        not_one[] = "nplurals=2; plural=(n != 1);", above_one[] = "nplurals=2; plural=(n > 1);",
        slavic[] =
            "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || "
            "n%100>=20) ? 1 : 2);";
    static const struct {
        const char *languages, *rule;
    } rows[] = {
        {" ja ko zh vi th id ms lo km my ", one},
        {" en de nl sv da no nb nn fi et es it pt el hu bg he eu ca gl ur hi bn ta te ml mr sq ka "
         "az af sw eo is ",
         not_one},
        {" fr tr oc br fa ", above_one},
        {" ru uk be sr hr bs ", slavic},
        {" cs sk ", "nplurals=3; plural=(n==1) ? 0 : (n>=2 && n<=4) ? 1 : 2;"},
        {" pl ",
         "nplurals=3; plural=(n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2);"},
        {" lt ", "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && (n%100<10 || "
                 "n%100>=20) ? 1 : 2);"},
        {" lv ", "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n != 0 ? 1 : 2);"},
        {" ro ", "nplurals=3; plural=(n==1 ? 0 : (n==0 || (n%100 > 0 && n%100 < 20)) ? 1 : 2);"},
        {" sl ",
         "nplurals=4; plural=(n%100==1 ? 0 : n%100==2 ? 1 : n%100==3 || n%100==4 ? 2 : 3);"},
        {" ga ", "nplurals=5; plural=n==1 ? 0 : n==2 ? 1 : n<7 ? 2 : n<11 ? 3 : 4;"},
        {" ar ", "nplurals=6; plural=n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : "
                 "n%100>=11 ? 4 : 5;"},
    };
    char word[8];
    if (!language_word(language, word))
        return NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strstr(rows[i].languages, word))
            return rows[i].rule;
    return NULL;
}

const char *dg_plural_categories(struct dg_span language)
{
    static const struct {
        const char *languages, *categories;
    } rows[] = {
        {" en de nl sv da no nb nn fi et es it pt fr el hu bg eu ca gl ur hi bn ta te ml mr sq ka "
         "az af sw eo is tr fa hy kk ky mk mn ne pa si uz gu kn am zu ",
         "one"},
        {" ru uk be pl ", "one few many"},
        {" cs sk lt ", "one few"},
        {" sr hr bs sh ro mo ", "one few"},
        {" lv ", "zero one"},
        {" he iw ", "one two"},
        {" sl ", "one two few"},
        {" ga ", "one two few many"},
        {" gd ", "one two few"},
        {" mt ", "one few many"},
        {" ar cy ", "zero one two few many"},
    };
    char word[8];
    for (size_t i = 0; language_word(language, word) && i < sizeof rows / sizeof *rows; i++)
        if (strstr(rows[i].languages, word))
            return rows[i].categories;
    return "";
}

bool dg_plural_has(const char *list, const char *category)
{
    const char *found = strstr(list, category);
    return found != NULL && (found == list || found[-1] == ' ');
}
