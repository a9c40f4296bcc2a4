// SPDX-License-Identifier: ISC
// Copyright (c) 2026 The dragoman authors

// Reads a translation aloud, by a voice that lives in the reader's own machine: others would send the text away.

/** A voice for the language `code`; undefined: there is none here. */
function voiceFor(code) {
    return globalThis.speechSynthesis?.getVoices().find(voice => voice.localService && voice.lang.slice(0, 2) === code.slice(0, 2));
}

export class Speech {
    #button;

    /** `ask()`: {text, language} to read. */
    constructor(button, ask) {
        this.#button = button;
        globalThis.speechSynthesis?.addEventListener?.("voiceschanged", () => this.offer(ask().language));
        button.addEventListener("click", () => {
            const { text, language } = ask();
            const said = new SpeechSynthesisUtterance(text);
            said.voice = voiceFor(language);
            said.lang = language;
            const isSpeaking = speechSynthesis.speaking;
            speechSynthesis.cancel();
            if (!isSpeaking) speechSynthesis.speak(said);
        });
    }

    /** The button is there where a voice is. */
    offer(language) {
        this.#button.hidden = !voiceFor(language);
    }
}
