/* SPDX-License-Identifier: ISC
 * Copyright (c) 2026 The dragoman authors */
#include "filtered.h"

#define ANDROID_HEAD                                                                               \
    "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"                                                 \
    "<resources xmlns:xliff=\"urn:oasis:names:tc:xliff:document:1.2\">\n"

START_TEST(texts_of_android)
{
    static const char file[] = ANDROID_HEAD
        "    <!-- a note -->\n    <string name=\"app\" translatable=\"false\">My App</string>\n"
        "    <string name=\"hi\">It\\'s <b>%1$s</b> &amp; <xliff:g id=\"n\" "
        "example=\"5\">%2$d</xliff:g>\n        \\u00e9</string>\n"
        "    <string name=\"q\">\"Don't  stop\"</string>\n"
        "    <string name=\"c\"><![CDATA[<a href=\"x\">Read</a> me]]></string>\n"
        "    <string name=\"r\">@string/other</string>\n"
        "    <string name=\"l\">One\\nTwo<br/>three</string>\n"
        "    <string-array name=\"days\"><item>Monday</item><item>Tuesday</item></string-array>\n"
        "    <string-array name=\"x\" translatable=\"false\"><item>Zzz</item></string-array>\n"
        "    <color name=\"red\">#ff0000</color>\n"
        "    <style name=\"s\"><item name=\"a\">bold</item></style>\n</resources>\n";
    check_text(
        "strings.xml", dg_span_cstr(file), "",
        "<p>It's <b id=0>%1$s</b id=1> &amp; <code id=2 translate=no>%2$d</code> \xC3\xA9</p>\n"
        "<p>Don't  stop</p>\n<p><b id=0>Read</b id=1> me</p>\n<p>One<img id=0>Two<img "
        "id=1>three</p>\n<p>Monday</p>\n<p>Tuesday</p>\n");
    check_written(
        "strings.xml", dg_span_cstr(file), "",
        "<p><b id=0>%1$s</b id=1> l'a <code id=2 translate=no>%2$d</code> &lt; @</p>\n"
        "<p>N'arr\xC3\xAAte \"pas\"</p>\n<p>Lis <b id=0>moi</b id=1></p>\n<p>?Un<img id=0>deux<img "
        "id=1>trois</p>\n<p>Lundi</p>\n<p>Tuesday</p>\n",
        "fr",
        DG_SPAN(
            ANDROID_HEAD
            "    <!-- a note -->\n    <string name=\"app\" translatable=\"false\">My App</string>\n"
            "    <string name=\"hi\"><b>%1$s</b> l\\'a <xliff:g id=\"n\" "
            "example=\"5\">%2$d</xliff:g> &lt; @</string>\n"
            "    <string name=\"q\">\"N'arr\xC3\xAAte \\\"pas\\\"\"</string>\n"
            "    <string name=\"c\"><![CDATA[Lis <a href=\"x\">moi</a>]]></string>\n"
            "    <string name=\"r\">@string/other</string>\n"
            "    <string name=\"l\">\\?Un\\ndeux<br/>trois</string>\n"
            "    <string-array "
            "name=\"days\"><item>Lundi</item><item>Tuesday</item></string-array>\n"
            "    <string-array name=\"x\" translatable=\"false\"><item>Zzz</item></string-array>\n"
            "    <color name=\"red\">#ff0000</color>\n"
            "    <style name=\"s\"><item name=\"a\">bold</item></style>\n</resources>\n"));
}
END_TEST

START_TEST(backslashes_at_the_ends_of_texts_of_android)
{
    check_written(
        "strings.xml",
        DG_SPAN(ANDROID_HEAD "<string name=\"a\">\"Your path C:\\\\\"</string>\n"
                             "<string name=\"b\">Your path C:\\</string>\n"
                             "<string name=\"c\">Your path:\\ </string>\n"
                             "<string name=\"d\">\"Your path\\\"</string>\n</resources>\n"),
        "", "<p>Chemin  C:\\</p>\n<p>Chemin C:\\</p>\n<p>Chemin :</p>\n<p>\"Chemin\"</p>\n", "fr",
        DG_SPAN(ANDROID_HEAD "<string name=\"a\">\"Chemin  C:\\\\\"</string>\n"
                             "<string name=\"b\">Chemin C:\\\\</string>\n"
                             "<string name=\"c\">Chemin :</string>\n"
                             "<string name=\"d\">\\\"Chemin\\\"</string>\n</resources>\n"));
}
END_TEST

START_TEST(plurals_get_the_categories_of_the_target)
{
    static const char file[] =
        ANDROID_HEAD "  <plurals name=\"n\">\n    <item quantity=\"one\">%d file</item>\n"
                     "    <item quantity=\"other\">%d files</item>\n  </plurals>\n</resources>\n";
    check_text("a.xml", dg_span_cstr(file), "", "<p>%d file</p>\n<p>%d files</p>\n");
    check_written(
        "a.xml", dg_span_cstr(file), "", "<p>%d plik</p>\n<p>%d plik\xC3\xB3w</p>\n", "pl",
        DG_SPAN(ANDROID_HEAD "  <plurals name=\"n\">\n    <item quantity=\"one\">%d plik</item>\n"
                             "    <item quantity=\"few\">%d plik\xC3\xB3w</item>\n"
                             "    <item quantity=\"many\">%d plik\xC3\xB3w</item>\n"
                             "    <item quantity=\"other\">%d plik\xC3\xB3w</item>\n"
                             "  </plurals>\n</resources>\n"));
    check_written("a.xml", dg_span_cstr(file), "", "<p>%d Datei</p>\n<p>%d Dateien</p>\n", "de",
                  DG_SPAN(ANDROID_HEAD
                          "  <plurals name=\"n\">\n    <item quantity=\"one\">%d Datei</item>\n"
                          "    <item quantity=\"other\">%d Dateien</item>\n"
                          "  </plurals>\n</resources>\n"));
    static const char dict[] =
        "<plist version=\"1.0\"><dict><key>files</key><dict>\n"
        "<key>NSStringLocalizedFormatKey</key><string>%#@n@</string>\n<key>n</key><dict>\n"
        "<key>NSStringFormatSpecTypeKey</key><string>NSStringPluralRuleType</string>\n"
        "<key>one</key>\n<string>%d file</string>\n\t<key>other</key>\n\t<string>%d "
        "files</string>\n"
        "</dict></dict></dict></plist>\n";
    check_text("a.stringsdict", dg_span_cstr(dict), "", "<p>%d file</p>\n<p>%d files</p>\n");
    check_text(
        "a.stringsdict",
        DG_SPAN("<plist><dict><key>NSStringLocalizedFormatKey</key><string>%#@n@ in "
                "%#@m@</string></dict></plist>"),
        "",
        "<p><code id=0 translate=no>%#@n@</code> in <code id=1 translate=no>%#@m@</code></p>\n");
    check_written(
        "a.stringsdict", dg_span_cstr(dict), "", "<p>%d soubor</p>\n<p>%d soubor\xC5\xAF</p>\n",
        "cs",
        DG_SPAN(
            "<plist version=\"1.0\"><dict><key>files</key><dict>\n"
            "<key>NSStringLocalizedFormatKey</key><string>%#@n@</string>\n<key>n</key><dict>\n"
            "<key>NSStringFormatSpecTypeKey</key><string>NSStringPluralRuleType</string>\n"
            "<key>one</key>\n<string>%d soubor</string>\n\t<key>few</key>\n\t<string>%d "
            "soubor\xC5\xAF</string>\n\t<key>other</key>\n\t<string>%d soubor\xC5\xAF</string>\n"
            "</dict></dict></dict></plist>\n"));
}
END_TEST

START_TEST(texts_of_dotnet)
{
    static const char file[] =
        "<?xml version=\"1.0\"?>\r\n<root>\r\n  <resheader "
        "name=\"version\"><value>2.0</value></resheader>\r\n"
        "  <data name=\"Hi\" xml:space=\"preserve\">\r\n    <value>Hello &lt;{0}&gt;</value>\r\n"
        "    <comment>a note</comment>\r\n  </data>\r\n"
        "  <data name=\"b.Size\" type=\"System.Drawing.Size\"><value>one, two</value></data>\r\n"
        "  <data name=\"&gt;&gt;b.Name\" "
        "xml:space=\"preserve\"><value>button</value></data>\r\n</root>";
    check_text("a.resx", dg_span_cstr(file), "", "<p>Hello &lt;{0}&gt;</p>\n");
    check_written("a.resx", dg_span_cstr(file), "", "<p>Bonjour {0} &amp; moi</p>\n", "fr",
                  DG_SPAN("<?xml version=\"1.0\"?>\r\n<root>\r\n  <resheader "
                          "name=\"version\"><value>2.0</value></resheader>\r\n"
                          "  <data name=\"Hi\" xml:space=\"preserve\">\r\n    <value>Bonjour {0} "
                          "&amp; moi</value>\r\n"
                          "    <comment>a note</comment>\r\n  </data>\r\n"
                          "  <data name=\"b.Size\" type=\"System.Drawing.Size\"><value>one, "
                          "two</value></data>\r\n"
                          "  <data name=\"&gt;&gt;b.Name\" "
                          "xml:space=\"preserve\"><value>button</value></data>\r\n</root>"));
}
END_TEST

START_TEST(files_that_are_broken_are_refused_with_their_line)
{
    static const struct {
        const char *name, *text, *words;
    } cases[] = {
        {"a.xml", "<resources>\n<string name=\"a\">b", "line 2: this element is not closed"},
        {"a.xml", "<resources>\n<string name=\"a\">b<string>c</string></string>",
         "line 2: an element stands in another"},
        {"a.xml", "<resources>\n\n<string name=\"a\">b</i></string>",
         "line 3: a closing tag that nothing opened"},
        {"a.xml", "<resources><string name=\"a\">b<i></string>", "line 1: an element in this text"},
        {"a.resx", "<x/>", "line 1: resx: the file has no element <root>"},
        {"a.stringsdict", "<x/>", "line 1: stringsdict: the file has no element <plist>"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_refusal(cases[i].name, dg_span_cstr(cases[i].text), "", DG_ERR_INVALID,
                      cases[i].words);

    ck_assert(dg_filter_takes(DG_SPAN("a.xml"), DG_SPAN("<!-- x --><resources>")));
    ck_assert(!dg_filter_takes(DG_SPAN("a.xml"), DG_SPAN("<html>")));
    ck_assert(!dg_filter_is_named(DG_SPAN("a.xml")));
}
END_TEST

DG_UNIT(texts_of_android, backslashes_at_the_ends_of_texts_of_android,
        plurals_get_the_categories_of_the_target, texts_of_dotnet,
        files_that_are_broken_are_refused_with_their_line)
