# SPDX-License-Identifier: ISC
# Tiers: gcc
"""Markup survives, as Chromium sees it: fragments, and damaged copies of them, have after the
translation the same elements with the same attributes and the same comments, and the parts that
are not to be translated are the same. 20_markup.py makes them."""
import importlib.util
import json
import os
import random
import sys

from harness import SOURCES, IntegrationTest, main

sys.path.append(os.path.join(SOURCES, "tests", "support"))
import browser  # noqa: E402

SPEC = importlib.util.spec_from_file_location("markup", os.path.join(os.path.dirname(os.path.abspath(__file__)), "20_markup.py"))
markup = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(markup)

BATCH = 100
LOOK = """
    function look(html) {
        const template = document.createElement('template'), counts = {}, kept = [];
        const count = (key) => { counts[key] = (counts[key] || 0) + 1; };
        function walk(node) {
            for (const child of node.childNodes) {
                if (child.nodeType === Node.COMMENT_NODE)
                    count('!' + child.data);
                if (child.nodeType !== Node.ELEMENT_NODE)
                    continue;
                count(child.tagName + ' ' + [...child.attributes].map((one) => one.name + '=' + one.value).sort().join('|'));
                if (child.getAttribute('translate') === 'no' || child.classList.contains('notranslate') ||
                    ['CODE', 'SCRIPT', 'STYLE'].includes(child.tagName))
                    kept.push(child.outerHTML);
                walk(child);
            }
        }
        template.innerHTML = html;
        walk(template.content);
        return JSON.stringify([Object.entries(counts).sort(), kept.sort()]);
    }
    return arguments[0].filter(([before, after]) => look(before) !== look(after));
"""


class MarkupInChromium(IntegrationTest):
    def check(self, make, seed):
        rng = random.Random(seed)
        texts = [make(rng) for _ in range(500)]
        server = self.start(markup.MODELS, "--log-level=notice")
        with browser.Browser() as page:
            page.open("about:blank")
            for at in range(0, len(texts), BATCH):
                body = {"text": texts[at:at + BATCH], "source": "fr", "target": "en", "format": "html", "beam": 1}
                status, _, answer = server.request("POST", "/v1/translate", body=json.dumps(body).encode())
                self.assertEqual(status, 200, answer)
                said = [one["text"] for one in json.loads(answer)["translations"]]
                self.assertEqual(page.run(LOOK, [list(pair) for pair in zip(body["text"], said)]), [])

    def test_fragments(self):
        if not browser.is_installed():
            self.skipTest("needs chromium and chromedriver")
        self.check(markup.fragment, 13)

    def test_damaged_fragments(self):
        if not browser.is_installed():
            self.skipTest("needs chromium and chromedriver")
        self.check(lambda rng: markup.damage(rng, markup.fragment(rng)), 14)


if __name__ == "__main__":
    main()
