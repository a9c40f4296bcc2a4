# SPDX-License-Identifier: ISC
"""Makes office documents for tests, with zipfile alone: small, but with what real ones contain.
Also reads what comes out of them."""
import io
import re
import xml.etree.ElementTree
import zipfile

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
WORD_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml."
HEADER = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\r\n'


def archive(parts, stored=()):
    """An archive of (name, text or bytes), in this order, as office programs make them."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, text in parts:
            info = zipfile.ZipInfo(name, (2024, 5, 17, 10, 20, 30))
            info.compress_type = zipfile.ZIP_STORED if name in stored else zipfile.ZIP_DEFLATED
            made.writestr(info, text)
    return out.getvalue()


def parts(document):
    """The parts of a document by name, in their order."""
    with zipfile.ZipFile(io.BytesIO(document)) as opened:
        assert opened.testzip() is None
        return {info.filename: opened.read(info) for info in opened.infolist()}


def metadata(document):
    """What an archive states about its members, except their sizes."""
    with zipfile.ZipFile(io.BytesIO(document)) as opened:
        return [(info.filename, info.date_time, info.compress_type, info.external_attr) for info in opened.infolist()]


def run(text, properties=""):
    properties = f"<w:rPr>{properties}</w:rPr>" if properties else ""
    return f'<w:r>{properties}<w:t xml:space="preserve">{text}</w:t></w:r>'


DOCUMENT = (
    "<w:p><w:pPr><w:pStyle w:val=\"Title\"/></w:pPr>" + run("Le chat noir") + "</w:p>"
    "<w:p>" + run("Le ") + run("chat noir", "<w:b/>") + run(" dort") +
    '<w:r><w:footnoteReference w:id="2"/></w:r>' + run(" sur la ") +
    '<w:hyperlink r:id="rId9">' + run("table", '<w:rStyle w:val="Link"/>') + "</w:hyperlink>" +
    run(" rouge. Il ne mange pas.") + "</w:p>"
    "<w:p>" + run("Nom :") + "<w:r><w:tab/></w:r>" + run("la gare") + "</w:p>"
    '<w:p><w:ins w:id="7" w:author="A">' + run("Bonjour.") + '</w:ins><w:del w:id="8" w:author="A"><w:r><w:delText>Adieu.'
    "</w:delText></w:r></w:del></w:p>"
    "<w:tbl><w:tr><w:tc><w:p>" + run("La maison") + "</w:p></w:tc><w:tc><w:p>" + run("12,5") + "</w:p></w:tc></w:tr></w:tbl>"
    '<w:p><w:r><w:drawing><wp:inline><wp:docPr id="1" name="Image 1" descr="Un chat &amp; un chien"/><wps:txbx>'
    "<w:txbxContent><w:p>" + run("Où est la gare ?") + "</w:p></w:txbxContent></wps:txbx></wp:inline></w:drawing></w:r></w:p>"
    '<w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText xml:space="preserve"> PAGE </w:instrText></w:r>'
    '<w:r><w:fldChar w:fldCharType="separate"/></w:r>' + run("3") + '<w:r><w:fldChar w:fldCharType="end"/></w:r></w:p>')


def docx(more=""):
    names = f'xmlns:w="{W}" xmlns:r="urn:r" xmlns:wp="urn:wp" xmlns:wps="urn:wps"'
    kinds = {"document": "document.main", "header1": "header", "footer1": "footer", "footnotes": "footnotes",
             "comments": "comments", "styles": "styles"}
    types = "".join(f'<Override PartName="/word/{name}.xml" ContentType="{WORD_TYPE}{kind}+xml"/>'
                    for name, kind in kinds.items())
    core = ('<Override PartName="/docProps/core.xml" ContentType="application/vnd.openxmlformats-package.core-properties+xml"/>')
    return archive([
        ("[Content_Types].xml", f'{HEADER}<Types xmlns="{TYPES}"><Default Extension="png" ContentType="image/png"/>{types}{core}'
                                "</Types>"),
        ("_rels/.rels", HEADER + "<Relationships/>"),
        ("word/document.xml", f"{HEADER}<w:document {names}><w:body>{DOCUMENT}{more}<w:sectPr/></w:body></w:document>"),
        ("word/header1.xml", f"{HEADER}<w:hdr {names}><w:p>{run('Une page')}</w:p></w:hdr>"),
        ("word/footer1.xml", f"{HEADER}<w:ftr {names}><w:p>{run('Au revoir')}</w:p></w:ftr>"),
        ("word/footnotes.xml", f'{HEADER}<w:footnotes {names}><w:footnote w:id="2"><w:p>{run("Une note.")}</w:p></w:footnote>'
                               "</w:footnotes>"),
        ("word/comments.xml", f'{HEADER}<w:comments {names}><w:comment w:id="0"><w:p>{run("Une question.")}</w:p></w:comment>'
                              "</w:comments>"),
        ("word/styles.xml", f'{HEADER}<w:styles {names}><w:docDefaults><w:rPrDefault><w:rPr><w:lang w:val="fr-FR"/></w:rPr>'
                            "</w:rPrDefault></w:docDefaults></w:styles>"),
        ("word/media/image1.png", b"\x89PNG\r\n\x1a\n" + bytes(range(256))),
        ("docProps/core.xml", f'{HEADER}<cp:coreProperties xmlns:cp="urn:cp" xmlns:dc="http://purl.org/dc/elements/1.1/">'
                              "<dc:title>Le chat noir</dc:title><dc:creator>Anne</dc:creator></cp:coreProperties>"),
    ], stored=("word/media/image1.png",))


ODF = "urn:oasis:names:tc:opendocument:xmlns:"
ODT = (
    '<text:h text:outline-level="1">Le chat noir</text:h>'
    '<text:p text:style-name="P1">Le <text:span text:style-name="T1">chat noir</text:span> dort<text:note text:id="ftn1">'
    "<text:note-citation>1</text:note-citation><text:note-body><text:p>Une note.</text:p></text:note-body></text:note> sur la "
    '<text:a xlink:href="urn:x">table</text:a> rouge.<text:s/>Il ne mange pas.</text:p>'
    "<text:p>Nom :<text:tab/>la gare<text:line-break/></text:p>"
    '<text:p><draw:frame><svg:title>Une page</svg:title><draw:image xlink:href="Pictures/1.png"/></draw:frame></text:p>'
    '<table:table><table:table-cell office:value-type="string"><text:p>La maison</text:p></table:table-cell>'
    '<table:table-cell office:value-type="date"><text:p>5 mai</text:p></table:table-cell>'
    '<table:table-cell office:value-type="string" table:formula="of:=A1"><text:p>La maison</text:p></table:table-cell>'
    "</table:table>")


def odf(kind="text"):
    """OpenDocument: a text, or with the same contents a presentation or a spreadsheet."""
    names = " ".join(f'xmlns:{name}="{ODF}{uri}:1.0"' for name, uri in
                     (("office", "office"), ("text", "text"), ("table", "table"), ("draw", "drawing"), ("style", "style"),
                      ("svg", "svg-compatible"), ("fo", "xsl-fo-compatible"))) + ' xmlns:xlink="http://www.w3.org/1999/xlink"'
    return archive([
        ("mimetype", f"application/vnd.oasis.opendocument.{kind}"),
        ("content.xml", f"{HEADER}<office:document-content {names}><office:body><office:{kind}>"
                        '<table:table table:name="La maison"/><table:table table:name="La gare"/>'
                        '<table:table-cell table:formula="of:=[$\'La gare\'.A1]" office:value-type="float"/>'
                        "<text:tracked-changes><text:changed-region><text:deletion><text:p>Adieu.</text:p></text:deletion>"
                        f"</text:changed-region></text:tracked-changes>{ODT}</office:{kind}></office:body></office:document-content>"),
        ("styles.xml", f'{HEADER}<office:document-styles {names}><office:styles><style:default-style style:family="paragraph">'
                       '<style:paragraph-properties style:writing-mode="page"/><style:text-properties fo:language="fr" '
                       'fo:country="FR" style:language-asian="zh" style:country-asian="CN"/></style:default-style></office:styles>'
                       "<office:master-styles><style:footer><text:p>Au revoir</text:p></style:footer></office:master-styles>"
                       "</office:document-styles>"),
        ("meta.xml", f'{HEADER}<office:document-meta {names} xmlns:dc="http://purl.org/dc/elements/1.1/"><office:meta>'
                     "<dc:title>Le chat noir</dc:title></office:meta></office:document-meta>"),
        ("Pictures/1.png", b"\x89PNG\r\n\x1a\n" + bytes(range(256))),
        ("META-INF/manifest.xml", HEADER + '<manifest:manifest xmlns:manifest="urn:m"/>'),
    ], stored=("mimetype", "Pictures/1.png"))


def slide_run(text, properties='lang="fr-FR" dirty="0"'):
    return f"<a:r><a:rPr {properties}/><a:t>{text}</a:t></a:r>"


def pptx():
    names = ('xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
             'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"')
    types = "".join(f'<Override PartName="/ppt/{name}1.xml" ContentType="application/vnd.openxmlformats-officedocument.'
                    f'presentationml.{kind}+xml"/>' for name, kind in
                    (("slides/slide", "slide"), ("notesSlides/notesSlide", "notesSlide"), ("slideMasters/slideMaster", "slideMaster")))
    slide = ('<p:pic><p:nvPicPr><p:cNvPr id="4" name="Image" descr="Une page"/></p:nvPicPr></p:pic><p:txBody>'
             "<a:p><a:pPr lvl=\"1\"/>" + slide_run("Le ") + slide_run("chat noir", 'lang="fr-FR" b="1"') + slide_run(" dort") +
             slide_run(" sur la table rouge.", 'lang="fr-FR" err="1"') + '<a:endParaRPr lang="fr-FR"/></a:p>'
             "<a:p>" + slide_run("La maison") + "<a:br><a:rPr lang=\"fr-FR\"/></a:br>" + slide_run("Où est la gare ?") + "</a:p>"
             '<a:p><a:fld id="{1}" type="slidenum"><a:rPr lang="fr-FR"/><a:t>page 3</a:t></a:fld></a:p></p:txBody>')
    return archive([
        ("[Content_Types].xml", f'{HEADER}<Types xmlns="{TYPES}">{types}</Types>'),
        ("ppt/slides/slide1.xml", f"{HEADER}<p:sld {names}>{slide}</p:sld>"),
        ("ppt/notesSlides/notesSlide1.xml", f"{HEADER}<p:notes {names}><a:p>{slide_run('Une note.')}</a:p></p:notes>"),
        ("ppt/slideMasters/slideMaster1.xml", f"{HEADER}<p:sldMaster {names}><p:sp><p:nvPr><p:ph/></p:nvPr><p:txBody><a:p>"
                                            f"{slide_run('Un titre')}</a:p></p:txBody></p:sp></p:sldMaster>"),
    ])


def xlsx():
    main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    types = "".join(f'<Override PartName="/xl/{name}.xml" ContentType="application/vnd.openxmlformats-officedocument.'
                    f'spreadsheetml.{kind}+xml"/>' for name, kind in
                    (("workbook", "sheet.main"), ("worksheets/sheet1", "worksheet"), ("worksheets/sheet2", "worksheet"),
                     ("sharedStrings", "sharedStrings"),
                     ("tables/table1", "table"), ("comments1", "comments")))
    strings = ("<si><t>La maison</t></si><si><r><t xml:space=\"preserve\">Le </t></r><r><rPr><b/></rPr><t>chat noir</t></r><r><t "
               'xml:space="preserve"> dort.</t></r></si><si><t>Un nom</t></si><si><t>12,5</t></si>'
               '<si><t>La gare</t><rPh sb="0" eb="1"><t>gare</t></rPh><phoneticPr fontId="1"/></si>')
    return archive([
        ("[Content_Types].xml", f'{HEADER}<Types xmlns="{TYPES}">{types}</Types>'),
        ("xl/workbook.xml", f'{HEADER}<workbook {main}><sheets><sheet name="Feuille" sheetId="1"/><sheet name="La maison" '
                            'sheetId="2"/></sheets></workbook>'),
        ("xl/worksheets/sheet1.xml", f'{HEADER}<worksheet {main}><sheetData><row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="str">'
                                     "<f>A1&amp;Feuille!A1</f><v>La maison</v></c></row></sheetData></worksheet>"),
        ("xl/worksheets/sheet2.xml", f'{HEADER}<worksheet {main}><sheetData/><headerFooter><oddHeader>&amp;LLa gare&amp;C&amp;"Arial,Gras"'
                                     '&amp;12Le chat noir&amp;RPage &amp;P</oddHeader><oddFooter>&amp;P / &amp;N</oddFooter></headerFooter>'
                                     "</worksheet>"),
        ("xl/sharedStrings.xml", f'{HEADER}<sst {main} count="5" uniqueCount="5">{strings}</sst>'),
        ("xl/tables/table1.xml", f'{HEADER}<table {main}><tableColumns count="1"><tableColumn id="1" name="Un nom"/></tableColumns>'
                                 "</table>"),
        ("xl/comments1.xml", f"{HEADER}<comments {main}><commentList><comment ref=\"A1\"><text><r><t>Une note.</t></r></text></comment>"
                             "</commentList></comments>"),
    ])


BOOK_PAGE = ('<body><h1>Le chat noir</h1><div class="a">La maison<p>Le <em>chat noir</em> dort<a id="x"/> sur la '
             '<a href="b.xhtml">table</a>&#160;rouge.<br/>Il ne mange pas.</p><img src="a.png" alt="Une page"/></div>'
             "<ul><li>Au revoir<ul><li>Une note.</li></ul></li></ul><pre>Le code</pre><p>12</p></body>")


def epub():
    page = 'xmlns="http://www.w3.org/1999/xhtml"'
    return archive([
        ("mimetype", "application/epub+zip"),
        ("META-INF/container.xml", f"{HEADER}<container><rootfiles/></container>"),
        ("OEBPS/content.opf", f'{HEADER}<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">'
                              "<metadata><dc:title>Le chat noir</dc:title><dc:language>fr</dc:language><dc:creator>Anne</dc:creator>"
                              "</metadata></package>"),
        ("OEBPS/toc.ncx", f'{HEADER}<!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN" "http://www.daisy.org/z3986/2005/ncx-2005-1.dtd">'
                          '<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navLabel><text>La maison</text></navLabel></ncx>'),
        ("OEBPS/a.xhtml", f'{HEADER}<!DOCTYPE html>\n<html {page} xml:lang="fr" lang="fr"><head><title>Une page</title></head>'
                          f"{BOOK_PAGE}</html>"),
        ("OEBPS/a.css", "p { color: red }"),
    ], stored=("mimetype",))


def texts(part):
    """The text of each paragraph of a part, without the marks in it."""
    root = xml.etree.ElementTree.fromstring(part)
    return ["".join(text.text or "" for text in paragraph.iter() if text.tag.endswith("}t"))
            for paragraph in root.iter() if paragraph.tag.endswith("}p")]


def tags(part, name):
    return re.findall(rb"<%s[ />][^>]*>?" % name.encode(), part)


def plain(html):
    return re.sub("<[^>]*>", "", html)
