// SPDX-License-Identifier: ISC
// Copyright (c) 2026 The dragoman authors

// Reads a translation aloud, only with voices on the reader's own machine: other voices would send
// the text to another server.

/** A voice for the language `code`; undefined if this machine has none. */
function voiceFor(code) {
    return globalThis.speechSynthesis?.getVoices().find(voice => voice.localService && voice.lang.slice(0, 2) === code.slice(0, 2));
}

export class Speech {
    #button;

    /** `ask()` returns what to read: {text, language}. */
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

    /** Shows the button only if there is a voice for the language. */
    offer(language) {
        this.#button.hidden = !voiceFor(language);
    }
}
