# SPDX-License-Identifier: ISC
"""Small PDF files for tests: lines of text at given places, in one font."""

import zlib


def archive(objects, more=b""):
    """A file of these objects; the first is the catalogue. `more` goes into the trailer."""
    out, places = b"%PDF-1.4\n", []
    for i, content in enumerate(objects):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (i + 1, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return out + (b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<</Size %d/Root 1 0 R%s>>\nstartxref\n%d\n%%%%EOF\n" %
                  (len(objects) + 1, table, len(objects) + 1, more, len(out)))


def pdf(pages, more=b""):
    """`pages`: lists of (x, y, size, text); y is from the bottom of 842 points. `more` goes into the trailer."""
    objects = [b"<</Type/Catalog/Pages 2 0 R>>", None,
               b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"]
    kids = []
    for lines in pages:
        content = b""
        for x, y, size, text in lines:
            shown = text.encode("cp1252").replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")
            content += b"BT /F %g Tf %g %g Td (%s) Tj ET\n" % (size, x, y, shown)
        objects.append(b"<</Length %d>>stream\n%s\nendstream" % (len(content), content))
        objects.append(b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents %d 0 R/Resources<</Font<</F 3 0 R>>>>>>" %
                       len(objects))
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<</Type/Pages/Count %d/Kids[%s]>>" % (len(kids), b" ".join(kids))
    return archive(objects, more)


ENCRYPTED = (b"/ID[<00112233445566778899aabbccddeeff><00112233445566778899aabbccddeeff>]"
             b"/Encrypt<</Filter/Standard/V 1/R 2/P -4/O<" + b"41" * 32 + b">/U<" + b"42" * 32 + b">>>")


def bombs():
    """Small files that would keep a careless reader busy for ever: name, bytes, and the expected
    message."""
    stream = lambda data, more=b"": b"<</Length %d%s>>stream\n%s\nendstream" % (len(data), more, data)
    catalogue, page = b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]%s>>"
    tree = lambda count, *kids: b"<</Type/Pages/Count %d/Kids[%s]>>" % (count, b" ".join(b"%d 0 R" % kid for kid in kids))
    squeezed = zlib.compress(b" " * (4 << 20), 9)
    form = b"/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 5 0 R>>>>"
    return (("pages", archive([catalogue, tree(2147483647, 3), page % b""]), "cannot be read"),
            ("a tree of pages in itself", archive([catalogue, tree(10 ** 9, 2, 2)]), "cannot be read"),
            ("a tree that doubles", archive([catalogue, *(tree(10 ** 9, i + 3, i + 3) for i in range(40)), page % b""]), "cannot be read"),
            ("depth", archive([catalogue, tree(1, 4), stream(b"[" * 1000000), page % b"/Contents 3 0 R"]), "scanned|cannot be read"),
            ("a form in itself", archive([catalogue, tree(1, 4), stream(b"/X Do"), page % b"/Contents 3 0 R/Resources<</XObject<</X 5 0 R>>>>",
                                          stream(b"/X Do /X Do", form)]), "scanned|cannot be read"),
            ("inflation", archive([catalogue, tree(1, 4), stream(squeezed, b"/Filter/FlateDecode"), page % b"/Contents 3 0 R"]), "scanned"))
