// SPDX-License-Identifier: ISC
// Copyright (c) 2026 The dragoman authors

// The words of the page, in each of its languages. To add a language, add an object here and an
// option in index.html. The caller's value replaces {name}; a number and its noun, in the singular
// or the plural, replace {number|one|many}.

const WORDS = {
    en: {
        skip: "Skip to the text", page_language: "Language of this page", key: "Key", languages: "Languages",
        from: "From", to: "To", swap: "Swap languages", source_title: "Text", target_title: "Translation",
        placeholder: "Type or paste here; the translation comes as you write.", clear: "Clear",
        file: "Translate a file…", shade: "Show confidence", copy: "Copy", share: "Link", copied: "Copied.",
        linked: "The link is copied. The text is in the part behind #, which browsers do not send.",
        detail: "This sentence", close: "Close", alternatives: "Other ways to say it",
        no_alternatives: "No other wording came close.", attention: "Which words of the text each word comes from", layer: "Layer",
        head: "Head", last_layer: "last", all_heads: "mean of all", sureness: "The model is {percent} % sure of these words.",
        files: "Files", cancel: "Cancel", download: "Download", file_too_large: "This server takes files of up to {size}.",
        history: "Earlier translations (kept in this browser only)", forget: "Forget all", forget_one: "Forget this one",
        footer: "Translated by this server alone. Your text is sent to no other service.", key_title: "Access key",
        key_text: "Some servers translate only for people who have a key. Whoever runs this server can give you one. This tab forgets it when you close it.", save: "Save",
        auto: "Detect", detected: "{name} (detected)", counts: "{characters|character|characters}",
        took: "Translated in {ms} ms", lost: "The connection was lost; trying again…",
        counts_of: "{characters} of {most|character|characters}", sentences: "{sentences|sentence|sentences}",
        too_long: "The text is {over|character|characters} too long for this server. Shorten it, and it is translated.",
        too_large: "The text is too large to be translated as you write. Shorten it, or translate it in parts.",
        turned: "The text is in {name} already, so it is translated to {target}.",
        not_read: "The text is in {name}, which this server cannot translate. It is shown as it is.",
        not_here: "The link asks for a language that this server does not have: {names}.",
        not_installed: "This server does not translate into {name} yet.", get: "Not installed: dragoman get {pair}",
        not_here_yet: "Not installed", good_gist: "The model is good enough to get the gist of a text: check what matters.",
        good_everyday: "The model is good for everyday sentences.", good_most: "The model is good for most texts.",
        not_copied: "The browser did not let the page copy. Select the text and copy it yourself.",
        file_binary: "This is not a text file.", file_encoding: "The text of this file is not in UTF-8. Save it as UTF-8 and try again.",
        key_wanted: "This server wants an access key before it translates.", key_wrong: "The server does not know this key, or it may not do this.",
        manner: "How it is said", glossary: "Glossary", no_glossary: "None", formality: "Formality", default: "As it comes",
        prefer_formal: "Formal", prefer_informal: "Informal", exactly: "Exactly, as a table",
        links: "The thicker a line, the more the word on the left comes from the one on the right.",
        about_sentence: "Opens other ways to say it.", end: "end",
        undo: "Undo", api: "The API of this server", sure: "{percent} % sure",
        bars: "The bar below a word shows how sure the model is of it. Choose a word to see how else the sentence can go on from there.",
        legend: "How sure the model is of a shaded word:", under: "under {percent} %",
        no_doubts: "No word is shaded: the model is at least {percent} % sure of each.",
        listen: "Listen", code: "Code", code_title: "The same from a program", code_way: "For", from_word: "Change it from a word on",
        no_models: "This server has no model yet.", flagged: "Underlined with dots: the model did not end this sentence by itself.",
    },
    fr: {
        skip: "Aller au texte", page_language: "Langue de cette page", key: "Clé", languages: "Langues",
        from: "De", to: "Vers", swap: "Échanger les langues", source_title: "Texte", target_title: "Traduction",
        placeholder: "Écrivez ou collez ici ; la traduction vient à mesure.", clear: "Effacer",
        file: "Traduire un fichier…", shade: "Montrer la confiance", copy: "Copier", share: "Lien", copied: "Copié.",
        linked: "Le lien est copié. Le texte suit le #, que les navigateurs n’envoient pas.",
        detail: "Cette phrase", close: "Fermer", alternatives: "Autres façons de le dire",
        no_alternatives: "Aucune autre formulation n’était proche.", attention: "De quels mots du texte vient chaque mot", layer: "Couche",
        head: "Tête", last_layer: "dernière", all_heads: "moyenne de toutes", sureness: "Le modèle est sûr de ces mots à {percent} %.",
        files: "Fichiers", cancel: "Annuler", download: "Télécharger", file_too_large: "Ce serveur prend des fichiers jusqu’à {size}.",
        history: "Traductions précédentes (gardées dans ce navigateur seulement)", forget: "Tout oublier", forget_one: "Oublier celle-ci",
        footer: "Traduit par ce serveur seul. Votre texte n’est envoyé à aucun autre service.", key_title: "Clé d’accès",
        key_text: "Certains serveurs ne traduisent que pour qui a une clé. La personne qui gère ce serveur peut vous en donner une. Cet onglet l’oublie à sa fermeture.", save: "Enregistrer",
        auto: "Détecter", detected: "{name} (détecté)", counts: "{characters|caractère|caractères}",
        took: "Traduit en {ms} ms", lost: "La connexion est perdue ; nouvel essai…",
        counts_of: "{characters} sur {most|caractère|caractères}", sentences: "{sentences|phrase|phrases}",
        too_long: "Le texte a {over|caractère|caractères} de trop pour ce serveur. Raccourcissez-le, et il sera traduit.",
        too_large: "Le texte est trop grand pour être traduit à mesure. Raccourcissez-le, ou traduisez-le par parties.",
        turned: "Le texte est déjà en {name} ; il est donc traduit vers : {target}.",
        not_read: "Langue du texte : {name}. Ce serveur ne sait pas la traduire ; le texte est montré tel quel.",
        not_here: "Le lien demande une langue que ce serveur n’a pas : {names}.",
        not_installed: "Ce serveur ne traduit pas encore vers cette langue : {name}.", get: "Pas installé : dragoman get {pair}",
        not_here_yet: "Pas installé", good_gist: "Le modèle donne l’essentiel d’un texte : vérifiez ce qui importe.",
        good_everyday: "Le modèle convient aux phrases de tous les jours.", good_most: "Le modèle convient à la plupart des textes.",
        not_copied: "Le navigateur n’a pas laissé la page copier. Sélectionnez le texte et copiez-le vous-même.",
        file_binary: "Ce n’est pas un fichier de texte.", file_encoding: "Le texte de ce fichier n’est pas en UTF-8. Enregistrez-le en UTF-8 et réessayez.",
        key_wanted: "Ce serveur demande une clé d’accès avant de traduire.", key_wrong: "Le serveur ne connaît pas cette clé, ou elle n’y suffit pas.",
        manner: "Façon de le dire", glossary: "Glossaire", no_glossary: "Aucun", formality: "Registre", default: "Comme cela vient",
        prefer_formal: "Soutenu", prefer_informal: "Familier", exactly: "Exactement, en tableau",
        links: "Plus un trait est épais, plus le mot de gauche vient de celui de droite.",
        about_sentence: "Ouvre d’autres façons de le dire.", end: "fin",
        undo: "Rétablir", api: "L’API de ce serveur", sure: "sûr à {percent} %",
        bars: "La barre sous un mot montre à quel point le modèle en est sûr. Choisissez un mot pour voir comment la phrase peut continuer autrement à partir de là.",
        legend: "À quel point le modèle est sûr d’un mot coloré :", under: "moins de {percent} %",
        no_doubts: "Aucun mot n’est coloré : le modèle est sûr de chacun à {percent} % au moins.",
        listen: "Écouter", code: "Code", code_title: "La même chose par programme", code_way: "Pour", from_word: "Changer à partir d’un mot",
        no_models: "Ce serveur n’a pas encore de modèle.", flagged: "Souligné de points : le modèle n’a pas fini cette phrase de lui-même.",
    },
    ko: {
        skip: "본문으로 가기", page_language: "이 페이지의 언어", key: "키", languages: "언어",
        from: "원문 언어", to: "번역 언어", swap: "언어 바꾸기", source_title: "원문", target_title: "번역",
        placeholder: "여기에 쓰거나 붙여 넣으세요. 쓰는 동안 번역됩니다.", clear: "지우기",
        file: "파일 번역…", shade: "확신도 보기", copy: "복사", share: "링크", copied: "복사했습니다.",
        linked: "링크를 복사했습니다. 글은 # 뒤에 있고, 브라우저는 그 부분을 보내지 않습니다.",
        detail: "이 문장", close: "닫기", alternatives: "다른 표현",
        no_alternatives: "비슷한 다른 표현이 없습니다.", attention: "각 단어가 원문의 어느 단어에서 왔는지", layer: "층",
        head: "헤드", last_layer: "마지막", all_heads: "전체 평균", sureness: "모델은 이 단어들을 {percent} % 확신합니다.",
        files: "파일", cancel: "취소", download: "내려받기", file_too_large: "이 서버는 {size}까지의 파일을 받습니다.",
        history: "지난 번역 (이 브라우저에만 저장됨)", forget: "모두 지우기", forget_one: "이 항목 지우기",
        footer: "이 서버에서만 번역합니다. 쓰신 글은 다른 서비스로 보내지 않습니다.", key_title: "접속 키",
        key_text: "키가 있는 사람에게만 번역하는 서버가 있습니다. 키는 이 서버의 관리자가 줄 수 있습니다. 탭을 닫으면 키도 지워집니다.", save: "저장",
        auto: "언어 감지", detected: "{name} (감지됨)", counts: "{characters}자",
        took: "{ms} ms에 번역함", lost: "연결이 끊어졌습니다. 다시 시도합니다…",
        counts_of: "{characters} / {most}자", sentences: "{sentences}문장",
        too_long: "이 서버에는 글이 {over}자 더 깁니다. 줄이면 번역됩니다.",
        too_large: "쓰는 동안 번역하기에는 글이 너무 큽니다. 줄이거나 나누어 번역하세요.",
        turned: "글이 이미 {name}이므로 {target}(으)로 번역합니다.",
        not_read: "글의 언어는 {name}입니다. 이 서버가 번역할 수 없어 그대로 보여 드립니다.",
        not_here: "링크가 이 서버에 없는 언어를 요구합니다: {names}.",
        not_installed: "이 서버는 아직 {name}(으)로 번역하지 못합니다.", get: "설치되지 않음: dragoman get {pair}",
        not_here_yet: "설치되지 않음", good_gist: "이 모델은 글의 대강을 아는 데 알맞습니다. 중요한 내용은 확인하세요.",
        good_everyday: "이 모델은 일상적인 문장에 알맞습니다.", good_most: "이 모델은 대부분의 글에 알맞습니다.",
        not_copied: "브라우저가 복사를 허락하지 않았습니다. 글을 선택해 직접 복사하세요.",
        file_binary: "텍스트 파일이 아닙니다.", file_encoding: "이 파일은 UTF-8이 아닙니다. UTF-8로 저장한 뒤 다시 해 보세요.",
        key_wanted: "이 서버는 번역하기 전에 접속 키를 요구합니다.", key_wrong: "서버가 이 키를 모르거나, 이 키로는 할 수 없습니다.",
        manner: "말투와 용어", glossary: "용어집", no_glossary: "없음", formality: "말투", default: "기본",
        prefer_formal: "격식체", prefer_informal: "비격식체", exactly: "표로 정확히 보기",
        links: "선이 굵을수록 왼쪽 단어가 오른쪽 단어에서 온 것입니다.",
        about_sentence: "다른 표현을 엽니다.", end: "끝",
        undo: "되돌리기", api: "이 서버의 API", sure: "확신도 {percent} %",
        bars: "단어 아래의 막대는 모델이 그 단어를 얼마나 확신하는지 보여 줍니다. 단어를 고르면 그 단어부터 달리 이어지는 표현을 볼 수 있습니다.",
        legend: "색칠된 단어에 대한 모델의 확신도:", under: "{percent} % 미만",
        no_doubts: "색칠된 단어가 없습니다. 모델은 모든 단어를 {percent} % 이상 확신합니다.",
        listen: "듣기", code: "코드", code_title: "프로그램에서 똑같이 하기", code_way: "프로그램", from_word: "어느 단어부터 바꾸기",
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
    #table;

    /** `table`: words in several languages, like WORDS above. */
    constructor(table = WORDS) {
        this.#table = table;
        const wanted = [remembered(), ...navigator.languages.map(tag => tag.slice(0, 2))];
        this.language = wanted.find(tag => tag in table) ?? "en";
    }

    has(name) {
        return name in this.#table[this.language];
    }

    say(name, values = {}) {
        const numbers = new Intl.NumberFormat(this.language);
        const form = value => new Intl.PluralRules(this.language).select(value) === "one";
        return this.#table[this.language][name].replace(/\{(\w+)(?:\|(.+?)\|(.+?))?\}/g, (_, key, one, many) => {
            const value = values[key];
            if (typeof value !== "number") return value;
            const number = numbers.format(value);
            return one ? `${number} ${form(value) ? one : many}` : number;
        });
    }

    /** A number of bytes, rounded down to whole units, as the page's language writes it. */
    size(bytes) {
        const [unit, name] = bytes < 1 << 20 ? [1 << 10, "Ki"] : [1 << 20, "Mi"];
        const number = new Intl.NumberFormat(this.language).format(Math.floor(bytes / unit));
        return `${number} ${name}${this.language === "fr" ? "o" : "B"}`;
    }

    /** The name of a language, in the page's language. */
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
            // without storage the choice is not remembered
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
