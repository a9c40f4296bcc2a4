# SPDX-License-Identifier: ISC
"""Small PDF files for tests: lines of text at their places, one font."""


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
    out, places = b"%PDF-1.4\n", []
    for i, content in enumerate(objects):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (i + 1, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return out + (b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<</Size %d/Root 1 0 R%s>>\nstartxref\n%d\n%%%%EOF\n" %
                  (len(objects) + 1, table, len(objects) + 1, more, len(out)))


ENCRYPTED = (b"/ID[<00112233445566778899aabbccddeeff><00112233445566778899aabbccddeeff>]"
             b"/Encrypt<</Filter/Standard/V 1/R 2/P -4/O<" + b"41" * 32 + b">/U<" + b"42" * 32 + b">>>")
