# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""Fills the slots of the frames. A Draw is one sentence: a slot that is asked for twice gives the
same text both times, and slots that speak of the same thing (a number in words and in figures, a
subject and its verb) agree."""
import datetime
import re

import numerals as n_
import tables as t_

_VOWEL = re.compile(r"[aeiouyhâàéèêëîïôûœAEIOUHÂÀÉÈÊËÎÏÔÛŒ]")
_NO_ELISION = re.compile(r"(huit|onz|haut|héros|haricot|hibou|Hongrie|Hambourg|Hugo|Hans|Hiroshi|Haddad|Henry|"
                         r"Yam|Youssef|Yasmine|"
                         r"Yuki|Yaoundé|Yilmaz|oui\b|hongrois|hindi|Hanoï)")


def elides(word):
    return bool(_VOWEL.match(word)) and not _NO_ELISION.match(word)


def of(word):
    """The word with "de" or "d'" before it."""
    return ("d'" if elides(word) else "de ") + word


def _er(stem):
    return [stem + end for end in ("e", "es", "e", "ons", "ez", "ent")]


# The six forms in French; the English base form and third person.
VERBS = {
    "have": ("ai as a avons avez ont".split(), "have", "has"),
    "live": (_er("habit"), "live", "lives"),
    "work": (_er("travaill"), "work", "works"),
    "come": ("viens viens vient venons venez viennent".split(), "come", "comes"),
    "go": ("vais vas va allons allez vont".split(), "go", "goes"),
    "speak": (_er("parl"), "speak", "speaks"),
    "learn": ("apprends apprends apprend apprenons apprenez apprennent".split(), "learn", "learns"),
    "understand": ("comprends comprends comprend comprenons comprenez comprennent".split(),
                   "understand", "understands"),
    "leave": ("pars pars part partons partez partent".split(), "leave", "leaves"),
    "arrive": (_er("arriv"), "arrive", "arrives"),
    "start": ("commence commences commence commençons commencez commencent".split(), "start",
              "starts"),
    "finish": ("finis finis finit finissons finissez finissent".split(), "finish", "finishes"),
    "eat lunch": (_er("déjeun"), "have lunch", "has lunch"),
    "want": ("veux veux veut voulons voulez veulent".split(), "want", "wants"),
    "earn": (_er("gagn"), "earn", "earns"),
    "weigh": ("pèse pèses pèse pesons pesez pèsent".split(), "weigh", "weighs"),
    "wear": (_er("port"), "wear", "wears"),
    "prefer": ("préfère préfères préfère préférons préférez préfèrent".split(), "prefer",
               "prefers"),
    "love": (_er("ador"), "love", "loves"),
    "get up": ([p + v for p,
                v in zip(("me ", "te ", "se ", "nous ", "vous ", "se "),
                         "lève lèves lève levons levez lèvent".split())],
               "get up", "gets up"),
    "go to bed": ([p + v for p,
                   v in zip(("me ", "te ", "se ", "nous ", "vous ", "se "), _er("couch"))],
                  "go to bed", "goes to bed"),
}
_BE = "suis es est sommes êtes sont".split()
_HAVE = VERBS["have"][0]
_BE_FUTURE = "aurai auras aura aurons aurez auront".split()
# The English past tense; the French past participle, which takes avoir.
PAST = {"bought": "acheté", "saw": "vu", "sold": "vendu", "lost": "perdu", "found": "trouvé",
        "received": "reçu",
        "ordered": "commandé", "counted": "compté", "paid": "payé", "spent": "dépensé"}
# French, English, person, gender ("" for "I", "you" and "we": it is drawn), plural.
_PRONOUNS = [("je", "I", 0, "", False), ("tu", "you", 1, "", False), ("il", "he", 2, "m", False),
             ("elle", "she", 2, "f", False),
             ("nous", "we", 3, "", True), ("vous", "you", 4, "", True),
             ("ils", "they", 5, "m", True), ("elles", "they", 5, "f", True)]
_KNOWN = [("mon frère", "my brother", 2, "m", False), ("ma sœur", "my sister", 2, "f", False),
          ("mes parents", "my parents", 5, "m", True), ("mon père", "my father", 2, "m", False),
          ("ma mère", "my mother", 2, "f", False),
          ("mon ami", "my friend", 2, "m", False), ("ma voisine", "my neighbor", 2, "f", False),
          ("notre professeur", "our teacher", 2, "m", False),
          ("mes amis", "my friends", 5, "m", True),
          ("sa femme", "his wife", 2, "f", False), ("son mari", "her husband", 2, "m", False),
          ("nos voisins", "our neighbors", 5, "m", True),
          ("leur fille", "their daughter", 2, "f", False)]
_THEIR_EN = {"I": "my", "you": "your", "he": "his", "she": "her", "we": "our", "they": "their"}


def agree(masculine, feminine, gender, plural):
    word = feminine if gender == "f" else masculine
    return word + "s" if plural and not word.endswith(("s", "x")) else word


# Sign, French, English, what precedes the figures in English. A currency is drawn as often as it is
# listed here.
_CURRENCIES = (("€", "euros", "euros", "€"),) * 6 + (("$", "dollars", "dollars", "$"),) * 3 + \
    (("£", "livres", "pounds", "£"), ("CHF", "francs", "francs", "CHF "))


class Draw:
    """slot(name) gives the text for the slot {name}: (French, English)."""

    def __init__(self, random):
        self.r = random
        self.known = {}  # texts by slot
        self.drawn = {}  # things that several slots speak of

    def slot(self, name):
        if name not in self.known:
            function, mark, argument = name.partition(" ")
            self.known[name] = getattr(self, "of_" + function)(*([argument] if mark else []))
        return self.known[name]

    def once(self, name, make):
        if name not in self.drawn:
            self.drawn[name] = make()
        return self.drawn[name]

    def pick(self, name, values):
        return self.once("picked " + name, lambda: self.r.choice(values))

    # ---- Numbers ----

    def any_number(self):
        """A number; lengths are of similar frequency, and round numbers are frequent."""
        r = self.r
        digits = r.choices((1, 2, 3, 4, 5, 6, 7), (4, 26, 30, 20, 10, 9, 1))[0]
        if digits == 7:
            return n_.TOP
        number = r.randrange(10 ** (digits - 1) if digits > 1 else 0, 10 ** digits)
        if digits > 3 and r.random() < 0.5:
            number -= number % 10 ** r.randrange(2, digits)
        elif digits == 3 and r.random() < 0.2:
            number -= number % r.choice((10, 100))
        return self.doubled(number) if r.random() < 0.2 else number

    def doubled(self, number):
        """The number with a digit repeated two or three times in a row, where models miscount."""
        digits = list(str(number))
        if len(digits) > 2:
            at = self.r.randrange(len(digits) - 1)
            for i in range(at + 1, min(at + self.r.choice((2, 2, 3)), len(digits))):
                digits[i] = digits[at]
        return int("".join(digits))

    def number(self):
        return self.once("n", self.any_number)

    def of_number(self):
        n = self.number()
        return n_.french(n), n_.english(n)

    def of_figures(self):
        n = self.number()
        return n_.french_figures(n), n_.english_figures(n)

    def of_next(self):
        n = self.number() + 1
        if n > n_.TOP:
            return "un million un", "one million and one"
        return n_.french(n), n_.english(n)

    def several(self):
        """A count of things: mostly small, at least two."""
        r = self.r
        return r.choice((r.randrange(2, 11), r.randrange(2, 11), r.randrange(2, 21),
                         r.randrange(2, 31),
                         r.choice((r.randrange(30, 100), 21, 31, 41, 51, 61, 71, 80, 81, 91, 100))))

    def of_small(self):
        n = self.once("small", lambda: self.r.randrange(2, 31))
        return n_.french(n), n_.english(n)

    def of_digit(self):
        n = self.once("digit", lambda: self.r.randrange(2, 10))
        return n_.french(n), n_.english(n)

    def of_run(self):
        first = self.r.choice((1, 1, self.r.randrange(1, 95)))
        run = range(first, first + self.r.randrange(3, 6))
        return ", ".join(map(n_.french, run)), ", ".join(map(n_.english, run))

    def of_crowd(self):
        """From some hundreds to a million, in words or figures, for use before a plural noun."""
        r = self.r
        n = self.once("crowd",
                      lambda: r.choice((r.randrange(2, 10) * 100, r.randrange(101, 1000),
                                        r.randrange(2, 100) * 1000,
                                                 r.randrange(10, 10000) * 100,
                                        r.randrange(1001, 100000))))
        n = min(n, 999900)
        return self.once("crowd said",
                         lambda: (n_.french_figures(n), n_.english_figures(n)) if n % 100
                         or r.random() < 0.5 else
                         (n_.french(n), n_.english(n)))

    def counted(self, kind, n=None):
        many = self.several() if n is None else n
        noun = self.pick(kind, t_.GOODS if kind == "goods" else t_.BEINGS)
        words = self.r.random() < (0.85 if many < 21 else 0.6)
        french = n_.french(many, noun[2] == "f") if words else n_.french_figures(many)
        english = n_.english(many) if words else n_.english_figures(many)
        return f"{french} {noun[1]}", f"{english} {noun[4]}"

    def of_goods(self):
        return self.counted("goods")

    def of_beings(self):
        return self.counted("beings")

    def of_two(self):
        return self.counted("goods", self.r.randrange(2, 7))

    def of_one(self):
        noun = self.pick("one", t_.GOODS + t_.BEINGS)
        return ("une " if noun[2] == "f" else "un ") + noun[0], \
            ("an " if noun[3][0] in "aeiou" else "a ") + noun[3]

    def of_plural(self):
        noun = self.pick("plural", t_.GOODS)
        return noun[1], noun[4]

    def of_ofplural(self):
        noun = self.pick("plural", t_.GOODS + t_.BEINGS)
        return of(noun[1]), noun[4]

    def of_place(self):
        place = self.pick("place", t_.PLACES)
        return place[0], place[1]

    def ordinal_number(self):
        r = self.r
        return self.once("ordinal",
                         lambda: r.choice((r.randrange(1, 11), r.randrange(1, 31),
                                           r.randrange(1, 101), r.choice((100, 1000, 500)))))

    def of_ordinal(self, gender):
        n = self.ordinal_number()
        return n_.french_ordinal(n, gender == "f"), n_.english_ordinal(n)

    def of_few(self, gender):
        """first to tenth, in words"""
        n = self.once("few", lambda: self.r.randrange(1, 11))
        return n_.french_ordinal(n, gender == "f"), n_.english_ordinal(n)

    def of_rank(self, gender):
        n = self.ordinal_number()
        return n_.french_ordinal_figures(n, gender == "f"), n_.english_ordinal_figures(n)

    def of_century(self):
        n = self.once("century", lambda: self.r.randrange(5, 22))
        return n_.roman(n) + "e", n_.english_ordinal_figures(n)

    def of_king(self):
        french, english = self.pick("king",
                                    [("Louis", "Louis"), ("Henri", "Henry"), ("Charles", "Charles"),
                                     ("Philippe", "Philip"),
                                             ("Édouard", "Edward"), ("Guillaume", "William"),
                                     ("Frédéric", "Frederick")])
        number = n_.roman(self.once("king's", lambda: self.r.randrange(2, 17)))
        return f"{french} {number}", f"{english} {number}"

    def of_ofking(self):
        french, english = self.slot("king")
        return of(french), english

    def decimal(self):
        """The part before the decimal point, and the digits after it."""
        def draw():
            r = self.r
            digits = str(r.randrange(1, 10 ** r.choice((1, 1, 2, 3))))
            return r.randrange(0, r.choice((2, 10, 100))), digits.zfill(r.choice((1, 1, 1, 2)))
        return self.once("decimal", draw)

    def of_decimal(self):
        whole, digits = self.decimal()
        return f"{whole},{digits}", f"{whole}.{digits}"

    def of_point(self):
        whole, digits = self.decimal()
        return n_.french_decimal(whole, digits), n_.english_decimal(whole, digits)

    def of_percent(self):
        r = self.r
        n = r.randrange(1, 101)
        tenth = r.randrange(1, 10)
        return r.choice(((f"{n} %", f"{n}%"), (f"{n},{tenth} %", f"{n}.{tenth}%"),
                         (f"{n_.french(n)} pour cent", f"{n_.english(n)} percent")))

    def of_grade(self):
        n, half = self.r.randrange(4, 20), self.r.random() < 0.4
        return f"{n},5 sur 20" if half else f"{n} sur 20", f"{n}.5 out of 20" if half else f"{n} out of 20"

    def of_sum(self):
        """A correct calculation, in words."""
        r = self.r
        sign = r.randrange(4)
        a, b = r.randrange(1, 100), r.randrange(1, 100)
        if sign == 0:
            result, french, english = a + b, "plus", "plus"
        elif sign == 1:
            a, b = max(a, b), min(a, b)
            result, french, english = a - b, "moins", "minus"
        else:
            a, b = r.randrange(2, 13), r.randrange(2, 13)
            result, french, english = a * b, "fois", "times"
            if sign == 3:
                a, result, french, english = result, a, "divisé par", "divided by"
        says = self.pick("equals",
                         [("font", "is"), ("égale", "equals"), ("font", "equals"), ("égale", "is")])
        if sign == 3:
            says = ("égale", "equals")
        return f"{n_.french(a)} {french} {n_.french(b)} {says[0]} {n_.french(result)}", \
               f"{n_.english(a)} {english} {n_.english(b)} {says[1]} {n_.english(result)}"

    def of_term(self):
        """A calculation without its result: seven times eight."""
        r = self.r
        a, b = r.randrange(2, 21), r.randrange(2, 21)
        french, english = r.choice((("plus", "plus"), ("moins", "minus"), ("fois", "times")))
        if english == "minus":
            a, b = max(a, b), min(a, b)
        return f"{n_.french(a)} {french} {n_.french(b)}", f"{n_.english(a)} {english} {n_.english(b)}"

    def of_share(self):
        r = self.r
        return r.choice((("la moitié", "half"), ("un tiers", "a third"),
                         ("deux tiers", "two thirds"), ("un quart", "a quarter"),
                         ("trois quarts", "three quarters"), ("un cinquième", "a fifth"),
                         ("deux cinquièmes", "two fifths"),
                         ("trois cinquièmes", "three fifths"), ("un sixième", "a sixth"),
                         ("un huitième", "an eighth"),
                         ("trois huitièmes", "three eighths"), ("un dixième", "a tenth"),
                         ("neuf dixièmes", "nine tenths"),
                         ("un centième", "a hundredth"), ("un millième", "a thousandth")))

    def of_parts(self):
        """A part of a known whole; French says "les trois quarts"."""
        return self.r.choice((("la moitié", "half"), ("un tiers", "a third"),
                              ("les deux tiers", "two thirds"), ("un quart", "a quarter"),
                              ("les trois quarts", "three quarters"), ("un cinquième", "a fifth"),
                              ("un dixième", "a tenth"),
                              ("les trois cinquièmes", "three fifths"),
                              ("les quatre cinquièmes", "four fifths")))

    def of_times(self):
        n = self.r.choice((1, 2, 2, 3, 3, 4, 5, 6, 10, 20, 100))
        return self._often(n)

    def _often(self, n):
        english = "a hundred" if n == 100 else n_.english(n)
        return f"{n_.french(n, True)} fois", {1: "once", 2: "twice"}.get(n, f"{english} times")

    def of_about(self):
        n = self.r.choice((("une dizaine", "about ten"), ("une douzaine", "a dozen"),
                           ("une quinzaine", "about fifteen"),
                           ("une vingtaine", "about twenty"), ("une trentaine", "about thirty"),
                           ("une quarantaine", "about forty"),
                           ("une cinquantaine", "about fifty"), ("une soixantaine", "about sixty"),
                           ("une centaine", "about a hundred"),
                           ("un millier", "about a thousand")))
        return n

    def of_heaps(self):
        return self.r.choice((("des dizaines", "dozens"), ("des centaines", "hundreds"),
                              ("des milliers", "thousands"),
                              ("des millions", "millions")))

    # ---- Time ----

    def hour(self):
        return self.once("hour",
                         lambda: self.r.choice((self.r.randrange(24), self.r.randrange(6, 13),
                                                self.r.randrange(12, 24))))

    def of_time(self):
        """half past three"""
        r = self.r
        hour = self.hour()
        minute = self.once("minute",
                           lambda: r.choice((0, 0, 15, 30, 45, r.randrange(1, 12) * 5,
                                             r.randrange(1, 60))))
        after = 0 if minute <= 30 else 1

        def name_fr(value):
            if value % 12 == 0:
                return "midi" if value % 24 else "minuit"
            return n_.french(value % 12, True) + (" heures" if value % 12 > 1 else " heure")

        def name_en(value, alone):
            value %= 24
            if alone and value in (0, 12):
                return "noon" if value else "midnight"
            return n_.english((value - 1) % 12 + 1)

        french, english = name_fr(hour + after), name_en(hour + after, minute == 0)
        if minute == 0:
            if hour in (0, 12):
                return french, english
            part = self.pick("part", (None, None, 0, 1))
            if part is None:
                return french, english + " o'clock"
            if hour < 12:
                return f"{french} du matin", f"{english} in the morning"
            if hour < 18:
                return f"{french} de l'après-midi", f"{english} in the afternoon"
            return f"{french} du soir", f"{english} " + ("in the evening" if hour < 21 else "at night")
        noon_fr = (hour + after) % 12 == 0
        if minute == 30:
            return f"{french} et demi" + ("" if noon_fr else "e"), f"half past {english}"
        if minute == 15:
            return f"{french} et quart", f"a quarter past {english}"
        if minute == 45:
            return f"{french} moins le quart", f"a quarter to {english}"
        if minute < 30:
            unit = "" if minute % 5 == 0 else " minutes" if minute > 1 else " minute"
            return f"{french} {n_.french(minute, True)}", f"{n_.english(minute)}{unit} past {english}"
        left = 60 - minute
        if left % 5:
            return f"{name_fr(hour)} {n_.french(minute, True)}", \
                f"{name_en(hour, False)} {n_.english(minute)}"
        return f"{french} moins {n_.french(left)}", f"{n_.english(left)} to {english}"

    def of_clock(self):
        """15 h 30, 3:30 p.m."""
        r = self.r
        hour = self.hour()
        minute = r.choice((0, 0, 15, 30, 45, r.randrange(1, 12) * 5, r.randrange(1, 60)))
        mark = self.pick("h", (" h ", " h ", "h"))
        half = "a.m." if hour < 12 else "p.m."
        twelve = (hour - 1) % 12 + 1
        if minute == 0:
            return f"{hour}{mark.rstrip()}", f"{twelve} {half}"
        return f"{hour}{mark}{minute:02}", f"{twelve}:{minute:02} {half}"

    def of_until(self):
        """a time in words or in figures"""
        return self.slot(self.pick("until", ("time", "clock", "clock")))

    def of_minutes(self):
        n = self.once("minutes",
                      lambda: self.r.choice((2, 3, 5, 5, 10, 10, 15, 20, 25, 30, 40, 45, 50)))
        words = self.r.random() < 0.7
        return f"{n_.french(n) if words else n} minutes", f"{n_.english(n) if words else n} minutes"

    def of_span(self):
        return self.slot(self.pick("span", ("short", "long")))

    def _lasts(self, fixed, units):
        """One of the fixed spans, or a number of units (French, English, feminine, upper limit)."""
        r = self.r
        if r.random() < 0.3:
            return r.choice(fixed)
        french, english, feminine, top = r.choice(units)
        n = r.choice((r.randrange(2, 11), r.randrange(2, top)))
        if french in ("heures", "ans") and n < 10 and r.random() < 0.15:
            return f"{n_.french(n)} {french} et demi{'e' if feminine else ''}", f"{n_.english(n)} and a half {english}"
        words = r.random() < 0.65
        return f"{n_.french(n, feminine) if words else n} {french}", f"{n_.english(n) if words else n} {english}"

    def of_short(self):
        return self._lasts((("une heure", "an hour"), ("une heure", "an hour"),
                            ("une demi-heure", "half an hour"),
                            ("un quart d'heure", "a quarter of an hour"),
                            ("trois quarts d'heure", "three quarters of an hour"),
                            ("une heure et demie", "an hour and a half"),
                            ("une minute", "a minute"), ("quelques minutes", "a few minutes"),
                            ("quelques heures", "a few hours")),
                           (("secondes", "seconds", True, 60), ("minutes", "minutes", True, 60),
                            ("heures", "hours", True, 25)))

    def of_long(self):
        return self._lasts((("un an et demi", "a year and a half"), ("un mois", "a month"),
                            ("une semaine", "a week"), ("un an", "a year"),
                            ("quinze jours", "two weeks"), ("quelques jours", "a few days"),
                            ("plusieurs mois", "several months"),
                            ("plusieurs années", "several years"), ("six mois", "six months")),
                           (("jours", "days", False, 31), ("semaines", "weeks", True, 13),
                            ("mois", "months", False, 19),
                            ("ans", "years", False, 60)))

    def of_days(self):
        n = self.r.randrange(2, 15)
        return f"{n_.french(n)} jours", f"{n_.english(n)} days"

    def of_dose(self):
        n = self.r.randrange(1, 7)
        return self._often(n)

    def of_years(self):
        n = self.r.choice((self.r.randrange(2, 11), self.r.randrange(2, 50)))
        words = self.r.random() < 0.65
        return f"{n_.french(n) if words else n} ans", f"{n_.english(n) if words else n} years"

    def day_of_year(self):
        """A date between 1900 and 2035."""
        return self.once("date",
                         lambda: datetime.date(1900, 1, 1) + datetime.timedelta(self.r.randrange(
            *((0, 49600) if self.r.random() < 0.4 else (40000, 49600)))))

    def _day_fr(self, day):
        return "1er" if day == 1 else str(day)

    def _is_british(self):
        return self.once("british", lambda: self.r.random() < 0.25)

    def of_date(self):
        date = self.day_of_year()
        french, english = t_.MONTHS[date.month - 1]
        return f"{self._day_fr(date.day)} {french} {date.year}", \
            f"{date.day} {english} {date.year}" if self._is_british() else f"{english} {date.day}, {date.year}"

    def of_daymonth(self):
        date = self.day_of_year()
        french, english = t_.MONTHS[date.month - 1]
        return f"{self._day_fr(date.day)} {french}", f"{date.day} {english}" if self._is_british() else f"{english} {date.day}"

    def of_saiddate(self):
        """the third of March"""
        date = self.day_of_year()
        french, english = t_.MONTHS[date.month - 1]
        day = "premier" if date.day == 1 else n_.french(date.day)
        return f"{day} {french}", f"{english} {n_.english_ordinal(date.day)}"

    def of_weekdate(self):
        date = self.day_of_year()
        french, english = t_.DAYS[date.weekday()]
        day = self.slot("daymonth")
        return f"{french} {day[0]}", f"{english}{'' if self._is_british() else ','} {day[1]}"

    def of_weekdateyear(self):
        date = self.day_of_year()
        french, english = t_.DAYS[date.weekday()]
        day = self.slot("date")
        return f"{french} {day[0]}", f"{english}{'' if self._is_british() else ','} {day[1]}"

    def of_slashes(self):
        date = self.day_of_year()
        return f"{date.day:02}/{date.month:02}/{date.year}", f"{date.month:02}/{date.day:02}/{date.year}"

    def of_year(self):
        n = str(self.once("year",
                          lambda: self.r.choice((self.r.randrange(1900, 2036),
                                                 self.r.randrange(1980, 2036),
                                                 self.doubled(self.r.randrange(1900, 2000)),
                                                 self.r.randrange(1100, 1900)))))
        return n, n

    def of_saidyear(self):
        n = self.once("year",
                      lambda: self.r.choice((self.r.randrange(1900, 2036),
                                             self.r.randrange(1500, 1900))))
        return n_.french(n), n_.english_year(n)

    def of_decade(self):
        return self.r.choice((("soixante", "sixties"), ("soixante-dix", "seventies"),
                              ("quatre-vingt", "eighties"),
                              ("quatre-vingt-dix", "nineties"), ("vingt", "twenties"),
                              ("trente", "thirties"), ("quarante", "forties"),
                              ("cinquante", "fifties"),
                              *((f"{n}0", f"{n}0s") for n in range(185, 203))))

    def of_month(self):
        return self.pick("month", t_.MONTHS)

    def of_ofmonth(self):
        french, english = self.slot("month")
        return of(french), english

    def of_day(self):
        return self.pick("day", t_.DAYS)

    def of_otherday(self):
        day = self.slot("day")
        return self.pick("other day", [other for other in t_.DAYS if other != day])

    def of_daytime(self):
        return self.pick("daytime",
                         (("matin", "morning"), ("après-midi", "afternoon"), ("soir", "evening")))

    def of_season(self):
        return self.r.choice((("au printemps", "in spring"), ("en été", "in summer"),
                              ("en automne", "in the fall"),
                              ("en hiver", "in winter")))

    # ---- Who ----

    def who(self):
        r = self.r

        def draw():
            kind = r.random()
            if kind < 0.6:
                french, english, person, gender, plural = r.choice(_PRONOUNS)
                plural = plural if french != "vous" else r.random() < 0.3
                return french, english, person, gender or r.choice("mf"), plural
            if kind < 0.8:
                return r.choice(_KNOWN)
            is_man = r.random() < 0.5
            name = r.choice(t_.MEN if is_man else t_.WOMEN)
            return name, name, 2, "m" if is_man else "f", False
        return self.once("who", draw)

    def conjugated(self, forms):
        french, _, person = self.who()[:3]
        verb = forms[person]
        return "j'" + verb if french == "je" and elides(verb) else f"{french} {verb}"

    def of_verb(self, name):
        """{verb live}: I live, she lives"""
        forms, base, third = VERBS[name]
        person = self.who()[2]
        return self.conjugated(forms), f"{self.who()[1]} {third if person == 2 else base}"

    def of_not(self, name):
        """{not speak}: I don't speak"""
        forms, base, _ = VERBS[name]
        french, english, person = self.who()[:3]
        verb = forms[person]
        return f"{french} {'n' + chr(39) if elides(verb) else 'ne '}{verb} pas", f"{english} {'doesn' if person == 2 else 'don'}'t {base}"

    def be_en(self):
        _, english, person, _, plural = self.who()
        long = {0: "am", 2: "is"}.get(person, "are")
        is_pronoun = english in _THEIR_EN
        if is_pronoun and self.once("short", lambda: self.r.random() < 0.6):
            return english + {"am": "'m", "is": "'s", "are": "'re"}[long]
        return f"{english} {long}"

    def of_be(self):
        return self.conjugated(_BE), self.be_en()

    def of_past(self, english):
        return self.conjugated(_HAVE) + " " + PAST[english], f"{self.who()[1]} {english}"

    def of_born(self):
        _, english, person, gender, plural = self.who()
        return self.conjugated(_BE) + " " + agree("né", "née", gender, plural), \
            f"{english} {'was' if person in (0, 2) else 'were'} born"

    def of_turn(self):
        """I'll turn"""
        english = self.who()[1]
        return self.conjugated(_BE_FUTURE), f"{english}'ll turn" if english in _THEIR_EN else f"{english} will turn"

    def of_age(self):
        n = self.once("age",
                      lambda: self.r.choice((self.r.randrange(2, 20), self.r.randrange(18, 60),
                                             self.r.randrange(2, 100))))
        words = self.once("age in words", lambda: self.r.random() < 0.6)
        return f"{n_.french(n) if words else n} ans", n_.english(n) if words else str(n)

    def of_grown(self):
        n = self.once("grown",
                      lambda: self.r.choice((self.r.randrange(18, 60), self.r.randrange(18, 91), 20,
                                             30, 40, 50)))
        words = self.r.random() < 0.6
        return f"{n_.french(n) if words else n} ans", n_.english(n) if words else str(n)

    def of_tender(self):
        """a child's age, in English as an adjective"""
        n = self.r.randrange(2, 13)
        words = self.r.random() < 0.6
        kind = self.r.choice((("ans", "year"), ("ans", "year"), ("mois", "month"),
                              ("semaines", "week")))
        article = "an" if n in (8, 11) else "a"
        return f"{n_.french(n) if words else n} {kind[0]}", f"{article} {n_.english(n) if words else n}-{kind[1]}-old"

    def of_kin(self):
        """my son"""
        noun, gender, english = self.pick("kin", t_.KIN)
        owner, owner_en = self.pick("owner",
                                    (("m", "my"), ("m", "my"), ("t", "your"), ("s", "his"),
                                     ("s", "her")))
        french = owner + ("on" if gender == "m" or elides(noun) else "a")
        return f"{french} {noun}", f"{owner_en} {english}"

    def of_kinhe(self):
        self.slot("kin")
        return ("il", "he") if self.drawn["picked kin"][1] == "m" else ("elle", "she")

    def of_yourkin(self):
        noun, gender, english = self.pick("kin", t_.KIN)
        french = "votre"
        if self.pick("familiar", (True, False)):
            french = "ton" if gender == "m" or elides(noun) else "ta"
        return f"{french} {noun}", f"your {english}"

    def of_mykin(self):
        noun, gender, english = self.pick("kin", t_.KIN)
        return f"{'mon' if gender == 'm' or elides(noun) else 'ma'} {noun}", f"my {english}"

    # ---- Names ----

    def first(self):
        def draw():
            is_man = self.r.random() < 0.5
            return self.r.choice(t_.MEN if is_man else t_.WOMEN), "m" if is_man else "f"
        return self.once("first", draw)

    def of_first(self):
        return (self.first()[0],) * 2

    def of_full(self):
        return (f"{self.first()[0]} {self.pick('surname', t_.SURNAMES)}",) * 2

    def of_surname(self):
        return (self.pick("surname", t_.SURNAMES),) * 2

    def of_man(self):
        return (self.pick("man", t_.MEN),) * 2

    def of_woman(self):
        return (self.pick("woman", t_.WOMEN),) * 2

    def of_titled(self):
        """Mr. Martin"""
        french, english = self.pick("title",
                                    (("M.", "Mr."), ("M.", "Mr."), ("Mme", "Mrs."), ("Mme", "Ms.")))
        name = self.pick("surname", t_.SURNAMES)
        return f"{french} {name}", f"{english} {name}"

    def of_mark(self, mark):
        """The ending that French adds for a woman with a title."""
        self.slot("titled")
        return "" if self.drawn["picked title"][0] == "M." else mark, ""

    def of_sir(self):
        """Mr. Martin, when he is addressed"""
        french, english = self.slot("titled")
        return french.replace("M. ", "monsieur ").replace("Mme ", "madame "), english

    def of_introduced(self):
        """my name is Paul"""
        french, english = self.r.choice((("je m'appelle", "my name is"),
                                         ("tu t'appelles", "your name is"),
                                         ("il s'appelle", "his name is"),
                                         ("elle s'appelle", "her name is"),
                                         ("vous vous appelez", "your name is")))
        is_man = english == "his name is" or english != "her name is" and self.r.random() < 0.5
        name = self.r.choice(t_.MEN if is_man else t_.WOMEN)
        if self.r.random() < 0.3:
            name += " " + self.r.choice(t_.SURNAMES)
        return f"{french} {name}", f"{english} {name}"

    def of_kinname(self):
        """A name for {kin}."""
        if "picked kin" not in self.drawn:
            self.slot("kin")
        return (self.pick("kin's name", t_.MEN if self.drawn["picked kin"][1] == "m" else t_.WOMEN),
                ) * 2

    def of_job(self):
        masculine, feminine, english = self.pick("job", t_.JOBS)
        _, _, _, gender, plural = self.who()
        he, _, she = english.partition("/")
        english = she if she and gender == "f" else he
        if plural:
            english = re.sub(r"^an? ", "", english)
            english = {"salesman": "salesmen", "saleswoman": "saleswomen", "waitress": "waitresses",
                       "actress": "actresses",
                       "secretary": "secretaries"}.get(english, english + "s")
        return agree(masculine, feminine, gender, plural), english

    def of_hisjob(self):
        """the job of {kin}"""
        self.slot("kin")
        masculine, feminine, english = self.pick("job", t_.JOBS)
        he, _, she = english.partition("/")
        is_woman = self.drawn["picked kin"][1] == "f"
        return feminine if is_woman else masculine, she if she and is_woman else he

    # ---- The world ----

    def country(self):
        return self.pick("country", t_.COUNTRIES)

    def of_country(self):
        french, kind, english = self.country()[:3]
        return {"f": "la ", "v": "l'", "m": "le ", "p": "les "}.get(kind, "") + french, english

    def of_incountry(self):
        french, kind, english = self.country()[:3]
        return {"m": "au ", "p": "aux ", "c": "à ", "h": "en "}.get(kind, "en ") + french, english

    def of_fromcountry(self):
        french, kind, english = self.country()[:3]
        return {"f": "de ", "m": "du ", "p": "des ", "c": "de "}.get(kind, "d'") + french, english

    def of_ofcountry(self):
        french, kind, english = self.country()[:3]
        before = {"f": "de la ", "v": "de l'", "m": "du ", "p": "des ", "c": "de "}
        return before.get(kind, "d'") + french, english

    def of_barecountry(self):
        french, _, english = self.country()[:3]
        return french, re.sub("^the ", "", english)

    def of_capital(self):
        return self.country()[6:8]

    def of_national(self, form="who"):
        """the adjective, in agreement with the subject or with `form`: m, f, mp, fp"""
        _, _, _, masculine, feminine, english, _, _ = self.country()
        gender, plural = self.who()[3:] if form == "who" else (form[0], form.endswith("p"))
        return agree(masculine, feminine, gender, plural), english

    def of_kinnational(self):
        self.slot("kin")
        _, _, _, masculine, feminine, english, _, _ = self.country()
        return agree(masculine, feminine, self.drawn["picked kin"][1], False), english

    def of_othernational(self, form):
        country = self.country()
        other = self.pick("other country", [c for c in t_.COUNTRIES if c is not country])
        return agree(other[3], other[4], form[0], form.endswith("p")), other[5]

    def of_city(self):
        return self.pick("city", t_.CITIES)

    def of_ofcity(self):
        french, english = self.slot("city")
        return of(french), english

    def of_othercity(self):
        city = self.slot("city")
        return self.pick("other city", [other for other in t_.CITIES if other != city])

    def of_ofothercity(self):
        french, english = self.slot("othercity")
        return of(french), english

    def of_language(self):
        return self.pick("language", t_.LANGUAGES)

    def of_oflanguage(self):
        french, english = self.slot("language")
        return of(french), english

    def of_fromlanguage(self):
        french, english = self.slot("language")
        return ("de l'" if elides(french) else "du ") + french, english

    def of_otherlanguage(self):
        language = self.slot("language")
        return self.pick("other language", [other for other in t_.LANGUAGES if other != language])

    def of_thelanguage(self):
        french, english = self.slot("language")
        return ("l'" if elides(french) else "le ") + french, english

    def of_theotherlanguage(self):
        french, english = self.slot("otherlanguage")
        return ("l'" if elides(french) else "le ") + french, english

    # ---- Colours ----

    def of_colour(self, form):
        masculine, feminine, masculines, feminines, english = self.pick("colour", t_.COLOURS)
        return {"m": masculine, "f": feminine, "mp": masculines, "fp": feminines}[form], english

    def of_thecolour(self):
        masculine, _, _, _, english = self.pick("colour", t_.COLOURS)
        return ("l'" if elides(masculine) else "le ") + masculine, english

    def thing(self):
        return self.pick("coloured", t_.COLOURED)

    def of_coloured(self):
        """a blue dress"""
        thing = self.thing()
        colour = self.slot("colour " + thing[2])
        english = ("an " if colour[1][0] in "aeiou" else "a ") + f"{colour[1]} {thing[3]}"
        return f"{'une' if thing[2] == 'f' else 'un'} {thing[0]} {colour[0]}", english

    def of_colouredones(self):
        thing = self.thing()
        colour = self.slot(f"colour {thing[2]}p")
        return f"{thing[1]} {colour[0]}", f"{colour[1]} {thing[4]}"

    def of_thisthing(self):
        thing = self.thing()
        return ("cette" if thing[2] == "f" else "cet" if elides(thing[0])
                else "ce") + " " + thing[0], "this " + thing[3]

    def of_mything(self):
        thing = self.thing()
        return ("ma" if thing[2] == "f" and not elides(thing[0])
                else "mon") + " " + thing[0], "my " + thing[3]

    def of_mythings(self):
        return "mes " + self.thing()[1], "my " + self.thing()[4]

    def of_thingname(self):
        return self.thing()[0], self.thing()[3]

    def of_thething(self):
        thing = self.thing()
        return ("l'" if elides(thing[0]) else "la " if thing[2] == "f"
                else "le ") + thing[0], "the " + thing[3]

    def of_itscolour(self):
        return self.slot("colour " + self.thing()[2])

    def of_theircolour(self):
        return self.slot(f"colour {self.thing()[2]}p")

    # ---- Money and measures ----

    def priced(self):
        return self.pick("priced", t_.PRICED)

    def of_priced(self):
        return self.priced()[0], "this " + self.priced()[3]

    def of_price(self):
        """Roughly what {priced} costs."""
        r = self.r
        about = int(self.priced()[4])
        euros = max(2, int(about * r.uniform(0.4, 2.5)))
        if euros > 100:
            euros -= euros % 10 ** (len(str(euros)) - r.choice((1, 2)))
        cents = r.choice((0, 0, 50, 99, 90, 95, 20, r.randrange(1, 100))) if euros < 100 else 0
        return self._money(euros, cents)

    def _money(self, euros, cents):
        r = self.r
        said = r.random()
        sign, french, english, before = self.pick("currency", _CURRENCIES)
        if said < 0.35:
            fraction = f" {n_.french(cents)}" if cents else ""
            return f"{n_.french(euros, french == 'livres')} {french}{fraction}", \
                f"{n_.english(euros)} {english}" + (f" {n_.english(cents)}" if cents else "")
        part_fr, part_en = (f",{cents:02}", f".{cents:02}") if cents else ("", "")
        if said < 0.65:
            return f"{n_.french_figures(euros)}{part_fr} {sign}", f"{before}{n_.english_figures(euros)}{part_en}"
        return f"{n_.french_figures(euros)}{part_fr} {french}", f"{n_.english_figures(euros)}{part_en} {english}"

    def of_sumofmoney(self):
        r = self.r
        return self._money(r.choice((r.randrange(2, 20), r.randrange(2, 100),
                                     r.randrange(1, 100) * 10, r.randrange(1, 100) * 1000)), 0)

    def of_littlemoney(self):
        r = self.r
        return self._money(r.randrange(2, 60), r.choice((0, 50, 20, 90, r.randrange(5, 100))))

    def of_wage(self):
        return self._money(self.r.randrange(12, 60) * 100, 0)

    def of_rent(self):
        return self._money(self.r.randrange(30, 180) * 10, 0)

    def of_cents(self):
        n = self.r.choice((5, 10, 20, 50, self.r.randrange(2, 100)))
        return f"{n_.french(n)} centimes", f"{n_.english(n)} cents"

    def _measured(self, n, french, english):
        if self.r.random() < 0.5:
            return f"{n_.french(n)} {french}", f"{n_.english(n)} {english}"
        return f"{n_.french_figures(n)} {french}", f"{n_.english_figures(n)} {english}"

    def of_distance(self):
        r = self.r
        kind = r.randrange(5)
        if kind == 0:
            n = r.choice((r.randrange(2, 100), r.randrange(2, 1000)))
            return f"{n} km", f"{n} km"
        if kind == 1:
            n, tenth = r.randrange(1, 60), r.randrange(1, 10)
            return f"{n},{tenth} km", f"{n}.{tenth} km"
        if kind == 2:
            return self._measured(r.randrange(2, 20) * r.choice((10, 50)), "mètres", "meters")
        if kind == 3:
            return self._measured(r.randrange(2, 60), "miles", "miles")
        return self._measured(r.choice((r.randrange(2, 20), r.randrange(2, 100) * 5)), "kilomètres",
                              "kilometers")

    def of_height(self):
        r = self.r
        cm = r.randrange(150, 205)
        metres, rest = divmod(cm, 100)
        many = metres > 1
        french, english = ("deux mètres", "two meters") if many else ("un mètre", "one meter")
        if rest:
            french, english = f"{french} {n_.french(rest)}", f"{english} {n_.english(rest)}"
        return r.choice(((f"{metres},{rest:02} m", f"{metres}.{rest:02} m"),
                         (f"{cm} cm", f"{cm} cm"), (french, english)))

    def of_length(self):
        r = self.r
        n = r.choice((r.randrange(2, 13), r.randrange(2, 100)))
        if r.random() < 0.3:
            return f"{n} cm", f"{n} cm"
        return self._measured(n,
                              *r.choice((("mètres", "meters"), ("centimètres", "centimeters"),
                                         ("millimètres", "millimeters"))))

    def of_metres(self):
        return self._measured(self.r.choice((self.r.randrange(2, 11), self.r.randrange(2, 80))),
                              "mètres", "meters")

    def of_weight(self):
        r = self.r
        kind = r.randrange(4)
        if kind == 0:
            n = r.randrange(2, 130)
            return f"{n} kg", f"{n} kg"
        if kind == 1:
            n, tenth = r.randrange(1, 90), r.randrange(1, 10)
            return f"{n},{tenth} kg", f"{n}.{tenth} kg"
        return self._measured(r.choice((r.randrange(2, 20), r.randrange(2, 120))),
                              *r.choice((("kilos", "kilos"), ("kilogrammes", "kilograms"))))

    def of_area(self):
        n = self.r.choice((self.r.randrange(15, 200), self.r.randrange(2, 60) * 10))
        return self.r.choice(((f"{n} m²", f"{n} m²"), (f"{n} mètres carrés", f"{n} square meters"),
                              (f"{n_.french(n)} mètres carrés", f"{n_.english(n)} square meters")))

    def of_degrees(self):
        r = self.r
        n = r.randrange(-20, 42)
        if r.random() < 0.45 or abs(n) < 2:
            return f"{n} °C", f"{n}°C"
        below = ("moins ", "minus ") if n < 0 else ("", "")
        return f"{below[0]}{n_.french(abs(n))} degrés", f"{below[1]}{n_.english(abs(n))} degrees"

    def of_fever(self):
        n, tenth = self.r.randrange(37, 41), self.r.randrange(1, 10)
        return f"{n},{tenth} °C", f"{n}.{tenth}°C"

    def of_speed(self):
        n = self.r.randrange(2, 33) * 10
        return self.r.choice(((f"{n} km/h", f"{n} km/h"),
                              (f"{n} kilomètres à l'heure", f"{n} kilometers an hour"),
                              (f"{n_.french(n)} kilomètres à l'heure",
                               f"{n_.english(n)} kilometers an hour")))

    def of_amount(self):
        """200 g of flour"""
        r = self.r
        french, english = self.pick("stuff",
                                    (("farine", "flour"), ("sucre", "sugar"), ("beurre", "butter"),
                                     ("riz", "rice"),
                                              ("chocolat", "chocolate"),
                                     ("pommes de terre", "potatoes"), ("tomates", "tomatoes"),
                                              ("cerises", "cherries"), ("fromage", "cheese"),
                                     ("viande", "meat"), ("oignons", "onions"),
                                              ("fraises", "strawberries"),
                                     ("champignons", "mushrooms"),
                                     ("haricots verts", "green beans")))
        n = r.randrange(1, 20) * 50
        kilos = r.randrange(2, 11)
        return r.choice(((f"{n} g {of(french)}", f"{n} g of {english}"),
                         (f"{n} grammes {of(french)}", f"{n} grams of {english}"),
                         (f"{n_.french(kilos)} kilos {of(french)}",
                          f"{n_.english(kilos)} kilos of {english}"),
                         (f"un kilo {of(french)}", f"a kilo of {english}"),
                         (f"{kilos} kg {of(french)}", f"{kilos} kg of {english}"),
                         (f"une livre {of(french)}", f"a pound of {english}"),
                         (f"un demi-kilo {of(french)}", f"half a kilo of {english}")))

    def of_drink(self):
        r = self.r
        french, english = self.pick("drink",
                                    (("lait", "milk"), ("eau", "water"), ("vin", "wine"),
                                     ("jus d'orange", "orange juice"),
                                              ("huile d'olive", "olive oil"), ("bière", "beer"),
                                     ("crème", "cream"), ("soupe", "soup"),
                                              ("thé", "tea"), ("limonade", "lemonade")))
        n = r.randrange(2, 12)
        ml = r.randrange(1, 20) * 25
        return r.choice(((f"un litre {of(french)}", f"a liter of {english}"),
                         (f"{n_.french(n)} litres {of(french)}",
                          f"{n_.english(n)} liters of {english}"),
                         (f"{n} litres {of(french)}", f"{n} liters of {english}"),
                         (f"{ml} ml {of(french)}", f"{ml} ml of {english}"),
                         (f"un demi-litre {of(french)}", f"half a liter of {english}"),
                         (f"un verre {of(french)}", f"a glass of {english}"),
                         (f"{n_.french(n)} verres {of(french)}",
                          f"{n_.english(n)} glasses of {english}"),
                         (f"{n_.french(n)} bouteilles {of(french)}",
                          f"{n_.english(n)} bottles of {english}")))

    def of_spoon(self):
        french, english = self.r.choice((("sucre", "sugar"), ("farine", "flour"), ("miel", "honey"),
                                         ("huile", "oil"), ("vinaigre", "vinegar"),
                                         ("sel", "salt"), ("cacao", "cocoa"),
                                         ("moutarde", "mustard")))
        n = self.r.randrange(1, 6)
        size = self.r.choice((("à soupe", "tablespoon"), ("à café", "teaspoon")))
        return f"{n_.french(n, True)} cuillère{'s' if n > 1 else ''} {size[0]} {of(french)}", \
            f"{n_.english(n)} {size[1]}{'s' if n > 1 else ''} of {english}"

    # ---- What is copied ----

    def odd(self, known):
        r = self.r
        if r.random() < 0.4:
            return r.choice(known).replace("-", " ")
        name = r.choice(t_.ODD_ONSETS)
        for i in range(r.randrange(1, 4)):
            name += (r.choice(t_.ODD_MIDDLES) if i else "") + r.choice(t_.ODD_VOWELS)
        return name + r.choice(t_.ODD_MIDDLES + ["", ""])

    def of_odd(self):
        return (self.odd(t_.ODD_NAMES),) * 2

    def of_oddplace(self):
        return (self.odd(t_.ODD_PLACES),) * 2

    def of_oddword(self):
        return (self.r.choice(t_.ODD_WORDS),) * 2

    def of_emoji(self):
        return (self.r.choice(t_.EMOJI) * self.r.choice((1, 1, 1, 2, 3)),) * 2

    # ---- Numbers that are names ----

    def of_phone(self):
        r = self.r
        pairs = " ".join(f"{r.randrange(100):02}" for _ in range(4))
        return (r.choice((f"0{r.randrange(1, 8)} {pairs}", f"+33 {r.randrange(1, 8)} {pairs}",
                          f"{r.randrange(200, 990)}-555-{r.randrange(100, 200):04}",
                          f"0{r.randrange(20, 99)}-{r.randrange(1000, 99999)}",
                          f"+32 2 {r.randrange(100, 999)} {pairs[:5]}")),) * 2

    def of_code(self):
        return (str(self.once("code",
                              lambda: self.r.choice((self.r.randrange(1, 60),
                                                     self.r.randrange(100, 999),
                                                     self.r.randrange(1, 400))))),) * 2

    def of_pin(self):
        return (f"{self.r.randrange(10000):04}",) * 2

    def of_address(self):
        r = self.r
        street = r.choice(("rue de la Paix", "rue Victor-Hugo", "avenue des Tilleuls",
                           "boulevard Voltaire", "rue du Moulin", "place de la Gare",
                           "rue des Lilas", "avenue Jean-Jaurès", "rue de l'Église",
                           "chemin des Vignes", "quai de la Loire", "rue Pasteur"))
        n = r.randrange(1, 200)
        return f"{n}, {street}", f"{n} {street}"

    def of_mail(self):
        r = self.r
        plain = str.maketrans("éèêëïîôçüÉ'", "eeeeiiocuE_")
        name = f"{self.first()[0]}.{self.pick('surname', t_.SURNAMES)}".lower().translate(plain)
        return (f"{name}{r.choice(('', r.randrange(1, 99)))}@{r.choice(('example.com', 'example.org', 'example.net'))}",) * 2
