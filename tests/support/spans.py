# SPDX-License-Identifier: ISC
# Copyright (c) 2026 The dragoman authors
"""French strings as programs and people write them, with spans in them that must survive
translation: `strings(n)` yields (text, spans in order), always the same thousand."""
import random

KINDS = {
    "url": ["https://example.org/chat?q=maison&l=fr", "http://a.example/b#c", "www.exemple.fr/aide",
            "https://fr.wikipedia.org/wiki/Chat_(animal)", "https://example.net/2024/03/15/le-titre/"],
    "email": ["moi@example.org", "jean.dupont@exemple.fr", "aide+fr@example.com"],
    "braces": ["{{nom}}", "{0}", "{1}", "${total}", "{{ user.name }}", "%{count}"],
    "printf": ["%s", "%1$s", "%2$d", "%(nom)s", "%@"],
    "variable": ["$Name", "$HOME", "%PATH%", "$user_id"],
    "tag": ['<x id="7"></x>', '<x id="1"/>', "<0/>", '<ph name="A"/>'],
    "shortcode": [":smile:", ":+1:", ":chat_noir:"],
    "mention": ["@marie", "@jean@social.example", "@aide_fr"],
    "hashtag": ["#chat", "#Paris2024", "#été"],
    "emoji": ["\U0001F600", "\U0001F468\u200d\U0001F469\u200d\U0001F467", "\u2764\ufe0f"],
    "file": ["notes.txt", "src/main.c", "/etc/hosts", "rapport-final.pdf"],
    "number": ["3,14 m", "10 Ko", "25 km/h", "192.168.0.1", "2024-03-15", "v1.2.3"],
}

ONE = [
    "Visitez {} pour en savoir plus.", "Cliquez sur {} pour continuer.", "Le fichier {} est perdu.",
    "Ouvrez {} dans votre maison.", "J'ai vu {} hier soir.", "Merci pour {} et à demain.",
    "Je ne comprends pas {} du tout.", "Avez-vous lu {} ce matin ?", "Écrivez à {} si vous avez une question.",
    "Tu peux trouver {} sur la table.", "Nous avons besoin de {} pour travailler.",
    "Il a envoyé {} à son père.", "Elle cherche {} depuis ce matin.", "Le prix de {} est trop élevé.",
    "Je pense que {} est une bonne idée.", "Pourquoi est-ce que {} ne marche pas ?",
    "Donnez-moi {} avant de partir.", "Est-ce que {} est encore ici ?", "Avec {} tout est plus facile.",
    "La réponse de {} est arrivée hier.",
]
TWO = [
    "Envoyez {} à {} avant demain.", "Le fichier {} est dans {} depuis hier.",
    "Bonjour {}, vous avez {} nouveaux messages.", "Remplacez {} par {} et recommencez.",
    "Entre {} et {} il y a une différence.", "Si {} ne marche pas, essayez {} à la place.",
    "{} a écrit à {} hier soir.", "Je préfère {} mais mon frère préfère {} depuis longtemps.",
    "Lisez {} puis {} avant de répondre.", "Copiez {} vers {} ce soir.",
]
THREE = [
    "Copiez {} de {} vers {} ce soir.", "{} a donné {} à {} hier soir.",
    "Si {} est là, ouvrez {} avec {} et attendez.",
]


def strings(n, seed=11):
    rng = random.Random(seed)
    kinds = list(KINDS)
    for i in range(n):
        frame = rng.choice(ONE if i % 20 < 12 else TWO if i % 20 < 18 else THREE)
        spans = []
        for _ in range(frame.count("{}")):
            span = rng.choice(KINDS[kinds[(i + len(spans)) % len(kinds)] if not spans else rng.choice(kinds)])
            while span in spans:
                span = rng.choice(KINDS[rng.choice(kinds)])
            spans.append(span)
        parts = frame.split("{}")
        text = "".join(p + s for p, s in zip(parts, spans + [""]))
        yield text, spans


def count(text, span, spans):
    """How often `span` occurs in `text`, without the places where it is a part of a longer one of
    `spans`."""
    n = text.count(span)
    return n - sum(text.count(other) * other.count(span) for other in spans if other != span and span in other)


def judge(text, spans, answer):
    """(whether all occur exactly once, in order, and none was moved to the end)"""
    once = all(count(answer, s, spans) == 1 for s in spans)
    places = [answer.find(s) for s in spans]
    order = once and places == sorted(places)
    swept = False
    for s in spans:
        behind = text[text.find(s) + len(s):]
        left = answer[answer.find(s) + len(s):]
        if len([w for w in behind.split() if any(c.isalpha() for c in w)]) >= 2 and not any(c.isalpha() for c in left):
            swept = True
    return once, order, not swept
