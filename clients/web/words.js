// SPDX-License-Identifier: ISC
// Copyright (c) 2026 The dragoman authors

// What the page says, in each language that it speaks. A new language: a column here, an option in
// index.html. {name} is replaced by what the caller gives.

const WORDS = {
    en: {
        skip: "Skip to the text", page_language: "Language of this page", key: "Key", languages: "Languages",
        from: "From", to: "To", swap: "Swap languages", source_title: "Text", target_title: "Translation",
        placeholder: "Type or paste here; the translation comes as you write.", clear: "Clear",
        file: "Translate a file…", shade: "Show confidence", copy: "Copy", share: "Link", copied: "Copied.",
        linked: "The link is copied. The text is in the part behind #, which browsers do not send.",
        detail: "This sentence", close: "Close", alternatives: "Other ways to say it",
        no_alternatives: "No other wording came close.", attention: "What each word looked at", layer: "Layer",
        head: "Head", last_layer: "last", all_heads: "mean of all", sureness: "On average the model gave its words {percent} %.",
        files: "Files", cancel: "Cancel", download: "Download", file_too_large: "Files of up to {mib} MiB can be translated here.",
        history: "Earlier translations (kept in this browser only)", forget: "Forget all", forget_one: "Forget this one",
        footer: "Served by this machine. What you write goes nowhere else.", key_title: "Key of this server",
        key_text: "Only servers that ask for one need it. It stays in this tab.", save: "Save",
        auto: "Detect", detected: "Detect ({name})", counts: "{characters} characters, {sentences} sentences",
        took: "{tokens} tokens in {ms} ms", lost: "The connection was lost; trying again…",
        no_models: "This server has no model yet.", flagged: "Underlined with dots: the model did not end this sentence by itself.",
    },
    fr: {
        skip: "Aller au texte", page_language: "Langue de cette page", key: "Clé", languages: "Langues",
        from: "De", to: "Vers", swap: "Échanger les langues", source_title: "Texte", target_title: "Traduction",
        placeholder: "Écrivez ou collez ici ; la traduction vient à mesure.", clear: "Effacer",
        file: "Traduire un fichier…", shade: "Montrer la confiance", copy: "Copier", share: "Lien", copied: "Copié.",
        linked: "Le lien est copié. Le texte suit le #, que les navigateurs n’envoient pas.",
        detail: "Cette phrase", close: "Fermer", alternatives: "Autres façons de le dire",
        no_alternatives: "Aucune autre formulation n’était proche.", attention: "Ce que chaque mot a regardé", layer: "Couche",
        head: "Tête", last_layer: "dernière", all_heads: "moyenne de toutes", sureness: "En moyenne, le modèle donnait {percent} % à ses mots.",
        files: "Fichiers", cancel: "Annuler", download: "Télécharger", file_too_large: "Les fichiers jusqu’à {mib} Mio peuvent être traduits ici.",
        history: "Traductions précédentes (gardées dans ce navigateur seulement)", forget: "Tout oublier", forget_one: "Oublier celle-ci",
        footer: "Servi par cette machine. Ce que vous écrivez ne va nulle part ailleurs.", key_title: "Clé de ce serveur",
        key_text: "Seuls les serveurs qui en demandent une en ont besoin. Elle reste dans cet onglet.", save: "Enregistrer",
        auto: "Détecter", detected: "Détecter ({name})", counts: "{characters} caractères, {sentences} phrases",
        took: "{tokens} jetons en {ms} ms", lost: "La connexion est perdue ; nouvel essai…",
        no_models: "Ce serveur n’a pas encore de modèle.", flagged: "Souligné de points : le modèle n’a pas fini cette phrase de lui-même.",
    },
    ko: {
        skip: "본문으로 가기", page_language: "이 페이지의 언어", key: "키", languages: "언어",
        from: "원문 언어", to: "번역 언어", swap: "언어 바꾸기", source_title: "원문", target_title: "번역",
        placeholder: "여기에 쓰거나 붙여 넣으세요. 쓰는 동안 번역됩니다.", clear: "지우기",
        file: "파일 번역…", shade: "확신도 보기", copy: "복사", share: "링크", copied: "복사했습니다.",
        linked: "링크를 복사했습니다. 글은 # 뒤에 있고, 브라우저는 그 부분을 보내지 않습니다.",
        detail: "이 문장", close: "닫기", alternatives: "다른 표현",
        no_alternatives: "비슷한 다른 표현이 없습니다.", attention: "각 단어가 바라본 곳", layer: "층",
        head: "헤드", last_layer: "마지막", all_heads: "전체 평균", sureness: "모델은 단어마다 평균 {percent} %를 주었습니다.",
        files: "파일", cancel: "취소", download: "내려받기", file_too_large: "{mib} MiB까지의 파일을 번역할 수 있습니다.",
        history: "지난 번역 (이 브라우저에만 저장됨)", forget: "모두 지우기", forget_one: "이 항목 지우기",
        footer: "이 컴퓨터가 제공합니다. 쓰신 글은 다른 곳으로 가지 않습니다.", key_title: "이 서버의 키",
        key_text: "키를 요구하는 서버에만 필요합니다. 이 탭에만 남습니다.", save: "저장",
        auto: "언어 감지", detected: "감지됨 ({name})", counts: "{characters}자, {sentences}문장",
        took: "토큰 {tokens}개, {ms} ms", lost: "연결이 끊어졌습니다. 다시 시도합니다…",
        no_models: "이 서버에는 아직 모델이 없습니다.", flagged: "점선 밑줄: 모델이 이 문장을 스스로 끝내지 못했습니다.",
    },
};
const PLACE = "dragoman.language";

function remembered() {
    try {
        return localStorage.getItem(PLACE);
    } catch {
        return null;
    }
}

export class Words {
    constructor() {
        const wanted = [remembered(), ...navigator.languages.map(tag => tag.slice(0, 2))];
        this.language = wanted.find(tag => tag in WORDS) ?? "en";
    }

    say(name, values = {}) {
        return WORDS[this.language][name].replace(/\{(\w+)\}/g, (_, key) => values[key]);
    }

    /** The name of a language, in the page's. */
    nameOf(tag, fallback = tag) {
        try {
            const name = new Intl.DisplayNames(this.language, { type: "language" }).of(tag);
            return name === tag ? fallback : name;
        } catch {
            return fallback;
        }
    }

    choose(language) {
        this.language = language;
        try {
            localStorage.setItem(PLACE, language);
        } catch {
            // not remembered
        }
        this.apply();
    }

    /** Puts the words into the page. */
    apply() {
        document.documentElement.lang = this.language;
        for (const element of document.querySelectorAll("[data-word]")) element.textContent = this.say(element.dataset.word);
        for (const element of document.querySelectorAll("[data-label]")) element.setAttribute("aria-label", this.say(element.dataset.label));
        for (const element of document.querySelectorAll("[data-placeholder]")) element.placeholder = this.say(element.dataset.placeholder);
    }
}
