# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""Numbers in words and figures, French and English.

French follows the classical rule, not that of 1990: hyphens only below a hundred and not around
"et" (vingt et un, cent vingt-trois, deux mille quatre cents). "cent" and "quatre-vingt" take
their s at the end of a number or before "million", and lose it before another number (such as
"mille"). English has "and" after the hundreds."""

TOP = 1000000

_SMALL_FR = ("zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept dix-huit "
             "dix-neuf").split()
_TENS_FR = {20: "vingt", 30: "trente", 40: "quarante", 50: "cinquante", 60: "soixante"}
_SMALL_EN = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
             "eighteen nineteen").split()
_TENS_EN = "zero ten twenty thirty forty fifty sixty seventy eighty ninety".split()
_IRREGULAR_EN = {"one": "first", "two": "second", "three": "third", "five": "fifth",
                 "eight": "eighth", "nine": "ninth",
                 "twelve": "twelfth"}


def _below_hundred_fr(n, ends):
    if n < 20:
        return _SMALL_FR[n]
    if n >= 80:
        return "quatre-vingt" + ("-" + _below_hundred_fr(n - 80, ends) if n > 80 else "s" if ends
                                 else "")
    tens = 60 if n >= 60 else n // 10 * 10
    unit = n - tens
    if unit == 0:
        return _TENS_FR[tens]
    return _TENS_FR[tens] + (" et " if unit in (1, 11) else "-") + _below_hundred_fr(unit, ends)


def _below_thousand_fr(n, ends):
    hundreds, rest = divmod(n, 100)
    words = []
    if hundreds:
        many = hundreds > 1
        words += [_SMALL_FR[hundreds]] if many else []
        words.append("cents" if many and rest == 0 and ends else "cent")
    if rest or not hundreds:
        words.append(_below_hundred_fr(rest, ends))
    return " ".join(words)


def french(n, feminine=False):
    """The number in words; feminine: as before a noun such as "page" (vingt et une)."""
    if n == TOP:
        return "un million"
    thousands, rest = divmod(n, 1000)
    words = []
    if thousands:
        words += ([_below_thousand_fr(thousands, False)] if thousands > 1 else []) + ["mille"]
    if rest or not thousands:
        words.append(_below_thousand_fr(rest, True))
    text = " ".join(words)
    return text + "e" if feminine and (text == "un" or text.endswith((" un", "-un"))) else text


def _below_thousand_en(n):
    hundreds, rest = divmod(n, 100)
    words = [_SMALL_EN[hundreds], "hundred"] if hundreds else []
    if hundreds and rest:
        words.append("and")
    if rest or not hundreds:
        words.append(_SMALL_EN[rest] if rest < 20
                     else _TENS_EN[rest // 10] + ("-" + _SMALL_EN[rest % 10] if rest % 10 else ""))
    return " ".join(words)


def english(n):
    if n == TOP:
        return "one million"
    thousands, rest = divmod(n, 1000)
    words = [_below_thousand_en(thousands), "thousand"] if thousands else []
    if thousands and 0 < rest < 100:
        words.append("and")
    if rest or not thousands:
        words.append(_below_thousand_en(rest))
    return " ".join(words)


def french_ordinal(n, feminine=False):
    if n == 1:
        return "première" if feminine else "premier"
    text = french(n) if n < TOP else "million"
    if text.endswith("quatre-vingts") or text.endswith("cents"):
        text = text[:-1]
    if text.endswith("cinq"):
        return text + "uième"
    if text.endswith("neuf"):
        return text[:-1] + "vième"
    return (text[:-1] if text.endswith("e") else text) + "ième"


def english_ordinal(n):
    head, mark, last = english(n).rpartition("-")
    if not mark:
        head, mark, last = english(n).rpartition(" ")
    if last in _IRREGULAR_EN:
        last = _IRREGULAR_EN[last]
    else:
        last = last[:-1] + "ieth" if last.endswith("y") else last + "th"
    return head + mark + last


def french_ordinal_figures(n, feminine=False):
    return f"{n}" + (("re" if feminine else "er") if n == 1 else "e")


def english_ordinal_figures(n):
    return f"{n}" + ("th" if n % 100 in (11, 12, 13)
                     else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th"))


def french_figures(n):
    return f"{n:,}".replace(",", " ")


def english_figures(n):
    return f"{n:,}"


def french_decimal(whole, digits):
    """The whole and the digits after the comma in words: trois virgule zéro cinq."""
    zeros = len(digits) - len(digits.lstrip("0"))
    behind = ["zéro"] * zeros + ([french(int(digits))] if int(digits) else [])
    return " ".join([french(whole), "virgule"] + behind)


def english_decimal(whole, digits):
    return " ".join([english(whole), "point"] + [_SMALL_EN[int(digit)] for digit in digits])


_ROMAN = ((10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"))


def roman(n):
    """The number of a century in Roman numerals."""
    text = ""
    for value, letters in _ROMAN:
        text += letters * (n // value)
        n %= value
    return text


def english_year(year):
    """A year from 1100 on, as people say it: nineteen eighty-four, two thousand and five, twenty
    twenty-three."""
    century, rest = divmod(year, 100)
    if 2000 <= year < 2010:
        return english(year)
    if rest == 0:
        return english(century) + " hundred"
    return english(century) + (" oh " if rest < 10 else " ") + english(rest)
