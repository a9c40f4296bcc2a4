# SPDX-License-Identifier: ISC
"""Office documents for tests, made with zipfile alone: small, but with what real ones have. What comes out of them."""
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
    """What an archive says of its members, but for their sizes."""
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


def texts(part):
    """The text of each paragraph of a part, without the marks in it."""
    root = xml.etree.ElementTree.fromstring(part)
    return ["".join(text.text or "" for text in paragraph.iter() if text.tag.endswith("}t"))
            for paragraph in root.iter() if paragraph.tag.endswith("}p")]


def tags(part, name):
    return re.findall(rb"<%s[ />][^>]*>?" % name.encode(), part)


def plain(html):
    return re.sub("<[^>]*>", "", html)
