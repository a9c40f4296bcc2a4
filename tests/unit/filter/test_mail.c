/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "filtered.h"

static void check(const char *mail, const char *text)
{
    check_text("a.eml", dg_span_cstr(mail), "", text);
}

static void check_put(const char *mail, const char *translation, const char *expected)
{
    check_written("a.eml", dg_span_cstr(mail), "", translation, "fr", dg_span_cstr(expected));
}

START_TEST(subject_and_text_are_read)
{
    check("From: a@b.org\r\nSubject: =?iso-8859-1?Q?Caf=E9_?= =?utf-8?B?ZmVybcOp?=\r\n today\r\n"
          "\r\nHello.\r\n\r\n> You said\r\n> this.\r\n\r\n-- \r\nAnn\r\n",
          "<p>Caf\xC3\xA9 ferm\xC3\xA9 today</p>\n<p>Hello.</p>\n<p>You said</p>\n<p>this.</p>\n");
    check_put("Subject: Hello\nX-A: b\n\nHello.\n\n> You.\n-- \nAnn\n",
              "<p>Un</p>\n<p>Deux.</p>\n<p>Toi.</p>\n",
              "Subject: Un\nX-A: b\n\nDeux.\n\n> Toi.\n-- \nAnn\n");
    check_put("Subject: Hello\n\nA word.\n", "<p>\xC3\xA9t\xC3\xA9</p>\n<p>A word.</p>\n",
              "Subject: =?UTF-8?B?w6l0w6k=?=\n\nA word.\n");
    check("From someone Mon\nSubject: 12 34\n\n\n", "");
    check("", "");
}
END_TEST

#define LONG                                                                                       \
    "This is a long line of a text that was wrapped by a program\nbefore it was sent, as mails "   \
    "are.\nShort.\n- An item\n> > It was also wrapped, is twice quoted, and goes on in "           \
    "another\n> > "                                                                                \
    "second "                                                                                      \
    "line.\n"

START_TEST(wrapped_paragraphs_are_one_text)
{
    check("\n" LONG,
          "<p>This is a long line of a text that was wrapped by a program before it was "
          "sent, as mails are.</p>\n<p>Short.</p>\n<p>- An item</p>\n"
          "<p>It was also wrapped, is twice quoted, and goes on in another second line.</p>\n");
    check_put(
        "\n" LONG,
        "<p>This is a long line of a text that was wrapped by a program before it was "
        "sent, as mails are.</p>\n<p>Kurz.</p>\n<p>- An item</p>\n"
        "<p>Es war auch umbrochen, zweimal zitiert, und geht weiter in einer anderen "
        "Zeile.</p>\n",
        "\nThis is a long line of a text that was wrapped by a program\nbefore it was sent, as "
        "mails are.\nKurz.\n- An item\n> > Es war auch umbrochen, zweimal zitiert, und geht "
        "weiter in einer\n> > anderen Zeile.\n");
    check("Content-Type: text/plain; format=flowed\n\nOne \ntwo.\nThree.\n",
          "<p>One  two.</p>\n<p>Three.</p>\n");
}
END_TEST

START_TEST(encodings_are_kept)
{
    check_put("Content-Type: text/plain; charset=\"iso-8859-1\"\r\n"
              "Content-Transfer-Encoding: quoted-printable\r\n\r\nCaf=E9 =\r\nferm=E9.\r\n",
              "<p>\xC3\x89t\xC3\xA9 = froid.</p>\n",
              "Content-Type: text/plain; charset=\"iso-8859-1\"\r\n"
              "Content-Transfer-Encoding: quoted-printable\r\n\r\n=C9t=E9 =3D froid.\r\n");
    check_put("Content-Type: text/plain; charset=iso-8859-1\n"
              "Content-Transfer-Encoding: base64\n\nQ2Fm6S4K\n",
              "<p>\xD0\x94\xD0\xB0.</p>\n",
              "Content-Type: text/plain; charset=utf-8\n"
              "Content-Transfer-Encoding: base64\n\n0JTQsC4K\n");
    check_put("Subject: 1\n\nYes, it is.\n", "<p>C'\xC3\xA9tait.</p>\n",
              "Subject: 1\nMIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n"
              "Content-Transfer-Encoding: quoted-printable\n\nC'=C3=A9tait.\n");
    check_put("Content-Type: text/plain\nContent-Transfer-Encoding: 8bit\n\nYes, it is.\n",
              "<p>C'\xC3\xA9tait.</p>\n",
              "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n"
              "C'\xC3\xA9tait.\n");
    check("Content-Type: text/plain; charset=no-such\n\nA \xE9.\n", "");
    check("Content-Type: text/plain; charset=../../x\n\nA \xE9.\n", "");
}
END_TEST

#define MULTIPART                                                                                  \
    "Content-Type: multipart/mixed; x=\"a;boundary=no\"; boundary=\"b 1\"\n\nPreamble.\n--b 1\n"   \
    "Content-Type: multipart/alternative; boundary=c\n\n--c\n\nHello.\n--c\nContent-Type: "        \
    "text/html; charset=utf-8\n\n<html><body><p>Hello, <b>you</b> &amp; me.</p><hr>%s</body>\n"    \
    "--c--\n--b 1\nContent-Type: text/plain\nContent-Disposition: attachment; filename=a.txt\n\n"  \
    "Attached words.\n--b 1\nContent-Type: image/png\n\nWords\n--b 1--\nEpilogue.\n"

START_TEST(parts_are_read_and_attachments_stay)
{
    char mail[1000], said[1000];
    snprintf(mail, sizeof mail, MULTIPART, "Bye.");
    snprintf(said, sizeof said, MULTIPART, "Au revoir &lt;3.");
    check(mail, "<p>Hello.</p>\n<p>Hello, <b id=0>you</b id=1> &amp; me.</p>\n<p>Bye.</p>\n");
    check_put(mail,
              "<p>Hello.</p>\n<p>Hello, <b id=0>you</b id=1> &amp; me.</p>\n"
              "<p>Au revoir &lt;3.</p>\n",
              said);
    check_misfit("a.eml", dg_span_cstr(mail), "<p>Hello.</p>\n");
    check_misfit("a.eml", dg_span_cstr(mail),
                 "<p>Hello.</p>\n<p>Hello you &amp; me.</p>\n<p>Bye.</p>\n");
    check("Content-Type: multipart/mixed; boundary=b\n\n--b\n\nUnclosed.", "<p>Unclosed.</p>\n");
}
END_TEST

START_TEST(what_cannot_be_read_is_said)
{
    struct dg_buf deep;
    dg_buf_init(&deep, FILTERED_MAX);
    for (int i = 0; i < 30; i++)
        ck_assert_int_eq(
            dg_buf_printf(&deep, "Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n", i, i),
            DG_OK);
    check_refusal("a.eml", dg_buf_span(&deep), "", DG_ERR_LIMIT, "deeper than 16");
    check_note("a.eml", DG_SPAN("Content-Type: multipart/signed; boundary=b\n\n--b\n\nHi there.\n"),
               "", "the message is signed: the signature fits the original, not the translation");
    check_note("a.eml", DG_SPAN("Subject: Hello you\nContent-Type: multipart/encrypted; b=c\n\n"),
               "", "the message is encrypted: only its subject can be read");
    dg_buf_deinit(&deep);
}
END_TEST

DG_UNIT(subject_and_text_are_read, wrapped_paragraphs_are_one_text, encodings_are_kept,
        parts_are_read_and_attachments_stay, what_cannot_be_read_is_said)
