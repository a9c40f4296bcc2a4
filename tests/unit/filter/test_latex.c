/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "filtered.h"

static void check(const char *tex, const char *text)
{
    check_text("a.tex", dg_span_cstr(tex), "", text);
}

static void check_put(const char *tex, const char *translation, const char *expected)
{
    check_written("a.tex", dg_span_cstr(tex), "", translation, "fr", dg_span_cstr(expected));
}

START_TEST(paragraphs_titles_and_items_are_texts)
{
    check("\\documentclass{article}\n\\usepackage{x}\n\\title{My Title}\n\\author{Me}\n"
          "\\begin{document}\n\\maketitle\nOne\nline.\n\n% note\nTwo.\n"
          "\\section*{Head}\\label{a}\n\\subsection[Short]{Long head}\n"
          "\\begin{itemize}[x]\n  \\item First\n  \\item[Key] Second\n\\end{itemize}\n"
          "\\begin{table}[h]\\begin{tabular}{|l|r|}\nName & 12 \\\\ \\hline\nCat & Dog\\\\[2pt]\n"
          "\\end{tabular}\\caption{Cats}\\end{table}\n\\end{document}\nNo text.\n",
          "<p>My Title</p>\n<p>One line.</p>\n<p>Two. </p>\n<p>Head</p>\n<p>Long head</p>\n"
          "<p>First </p>\n<p>Key</p>\n<p>Second </p>\n<p>Name </p>\n<p>Cat </p>\n<p>Dog</p>\n"
          "<p>Cats</p>\n");
}
END_TEST

START_TEST(commands_are_marks)
{
    check("See \\textbf{Figure}~\\ref{f} for $x^2$ and \\cite[p.~3]{k}.",
          "<p>See <b id=0>Figure</b id=1>\xC2\xA0<img id=2> for "
          "<code id=3 translate=no>x^2</code> and <img id=4>.</p>\n");
    check_put("See \\textbf{Figure}~\\ref{f} for $x^2$.",
              "<p>Pour <code id=3 translate=no>x^2</code>, voir la <b id=0>figure</b id=1>"
              "\xC2\xA0<img id=2>.</p>\n",
              "Pour $x^2$, voir la \\textbf{figure}~\\ref{f}.");
    check("A {\\bfseries bold} and {\\it very \\emph{good}} word{}.",
          "<p>A <b id=0>bold</b id=1> and <b id=2>very <b id=3>good</b id=4></b id=5> "
          "word<img id=6>.</p>\n");
    check("Use \\verb|a_b| in \\LaTeX{} now, \\href{http://a.org}{here}.",
          "<p>Use <code id=0 translate=no>a_b</code> in <code id=1 translate=no>LaTeX</code> now, "
          "<b id=2>here</b id=3>.</p>\n");
    check("Text % a comment\n  goes on.", "<p>Text <img id=0>goes on.</p>\n");
}
END_TEST

START_TEST(mathematics_and_code_stay)
{
    check("Let\n\\[ a = b \\]\nbe.\n\\begin{align*}\nx &= y\\\\\n\\end{align*}\n"
          "\\begin{verbatim}\nint x; % {\n\\end{verbatim}\n$$ x $$ End \\(y\\) it.",
          "<p>Let </p>\n<p>be. </p>\n<p>End <code id=0 translate=no>y</code> it.</p>\n");
    check("It costs \\$5 \\& 3\\,\\% -- ``so''---well\\dots",
          "<p>It costs $5 &amp; 3<img id=0>% \xE2\x80\x93 \xE2\x80\x9Cso\xE2\x80\x9D\xE2\x80\x94"
          "well\xE2\x80\xA6</p>\n");
    check_put("It is.",
              "<p>C'est \xE2\x80\x9C"
              "5\xC2\xA0% & #1_a\xE2\x80\x9D \\ {x} ~^</p>\n",
              "C'est ``5~\\% \\& \\#1\\_a'' \\textbackslash{} \\{x\\} \\textasciitilde{}"
              "\\textasciicircum{}");
    check("Caf\\'e, na\\\"{\\i}ve, \\c{c}a, gar\\c con, Stra\\ss e \\OE uvre \\~n.",
          "<p>Caf\xC3\xA9, na\xC3\xAFve, \xC3\xA7"
          "a, gar\xC3\xA7on, Stra\xC3\x9F"
          "e \xC5\x92uvre "
          "\xC3\xB1.</p>\n");
}
END_TEST

START_TEST(notes_are_texts_in_their_places)
{
    static const char tex[] = "The cat\\footnote{A \\emph{small} one.} sleeps\\footnote{So.}.\n\n"
                              "\\footnote{Alone.}\n";
    static const char text[] = "<p>The cat<img id=0> sleeps<img id=1>.</p>\n"
                               "<p>A <b id=0>small</b id=1> one.</p>\n<p>So.</p>\n"
                               "<p>Alone.</p>\n";
    check(tex, text);
    check_put(tex,
              "<p>Il dort<img id=1>, le chat<img id=0>.</p>\n"
              "<p>Un <b id=0>petit</b id=1>.</p>\n<p>So.</p>\n<p>Seule.</p>\n",
              "Il dort\\footnote{So.}, le chat\\footnote{Un \\emph{petit}.}.\n\n"
              "\\footnote{Seule.}\n");
    check_put(tex,
              "<p>The cat<img id=0> sleeps<img id=1>.</p>\n"
              "<p>A <b id=0>small</b id=1> one.</p>\n<p>Oui.</p>\n<p>Seule.</p>\n",
              "The cat\\footnote{A \\emph{small} one.} sleeps\\footnote{Oui.}.\n\n"
              "\\footnote{Seule.}\n");
}
END_TEST

START_TEST(a_mark_that_nothing_closes_is_only_that)
{
    check("It\\footnote{A $x$ here.} costs $ 5.\n\nAnd $y$ too, \\[ so.",
          "<p>It<img id=0> costs </p>\n<p>A <code id=0 translate=no>x</code> here.</p>\n"
          "<p>And <code id=0 translate=no>y</code> too, </p>\n<p>so.</p>\n");
}
END_TEST

START_TEST(groups_may_cross_paragraphs)
{
    check_put("{\\small One two.\n\nThree four.} Five",
              "<p><b id=0>Un deux.</p>\n<p>Trois.<img id=0> Cinq</p>\n",
              "{\\small Un deux.\n\nTrois.} Cinq");
    check("a } b $ c \\begin{ d \\textbf e \\", "<p>a </p>\n<p>b </p>\n<p>c </p>\n"
                                                "<p><b id=0> d <img id=1> e <img id=2></p>\n");
}
END_TEST

START_TEST(errors_are_said)
{
    struct dg_buf deep;
    dg_buf_init(&deep, FILTERED_MAX);
    for (size_t i = 0; i < 2000; i++)
        ck_assert_int_eq(dg_buf_append_cstr(&deep, "{\n"), DG_OK);
    check_refusal("a.tex", dg_buf_span(&deep), "", DG_ERR_LIMIT, "line 1025: nested deeper");
    dg_buf_deinit(&deep);
    check_misfit("a.tex", DG_SPAN("A \\textbf{b} c."), "<p>A b c.</p>\n");
    check_misfit("a.tex", DG_SPAN("A \\textbf{b} c."), "<p>A <b id=0>b<b id=0> c.</p>\n");
    check_misfit("a.tex", DG_SPAN("A \\textbf{b} c."), "<p>A <i>b</i> c.</p>\n");
    check("", "");
}
END_TEST

DG_UNIT(paragraphs_titles_and_items_are_texts, commands_are_marks, mathematics_and_code_stay,
        notes_are_texts_in_their_places, a_mark_that_nothing_closes_is_only_that,
        groups_may_cross_paragraphs, errors_are_said)
