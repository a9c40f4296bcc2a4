# SPDX-License-Identifier: ISC
"""docs/api/openapi.yaml and the daemon agree: its paths exist, its options are known with the
ranges that it states, and answers have no member that it does not name."""
import json
import os
import re

from harness import MODELS_DIR, SOURCES, IntegrationTest, main, openapi

MODELS = f"--models-dir={MODELS_DIR}"


class Document(IntegrationTest):
    def setUp(self):
        super().setUp()
        with open(os.path.join(SOURCES, "docs", "api", "openapi.yaml"), encoding="utf-8") as file:
            self.text = file.read()
        schema = re.search(r"    TranslateRequest:\n(.*?)\n    Translation:", self.text, re.S).group(1)
        self.options = dict(re.findall(r"^        (\w+): \{(.*)\}$", schema, re.M))
        self.assertGreater(len(self.options), 20)

    def ask(self, server, body):
        status, _, answer = server.request("POST", "/v1/translate", body=json.dumps(body))
        return status, json.loads(answer)

    def test_answers_are_compared_with_it(self):
        """What server.request does with every answer."""
        if not openapi.description():
            self.skipTest("needs python3-yaml")

        def complaint(status, body, path="/healthz", kind="application/json"):
            return openapi.complaint("GET", path, status, kind, json.dumps(body).encode())

        error = {"error": {"code": "timeout", "message": "x"}, "request_id": "1"}
        for good in ((200, {"status": "ok"}), (400, error), (503, error), (200, {"status": 5}, "/no/such/path"),
                     (200, {"glossaries": []}, "/v1/glossaries?a=b")):
            self.assertIsNone(complaint(*good), good)
        for wrong, words in (((200, {"status": 5}), "status: 5 is not of type string"), ((200, {}), "lacks 'status'"),
                             ((200, {"status": "ok", "more": 1}), "'more' is not described"), ((200, []), "is not of type object"),
                             ((503, {"error": "x"}), "lacks 'request_id'"), ((200, "x", "/healthz", "text/plain"), "text/plain"),
                             ((400, {**error, "error": {"code": "zz", "message": "x"}}), "is none of")):
            self.assertIn(words, complaint(*wrong) or "nothing", wrong)
        with self.assertRaises(AssertionError):
            openapi.check_keywords({"type": "object", "properties": {"a": {"type": "string", "minLenght": 1}}})

    def test_tools_can_read_it(self):
        """What linters and client generators stumble over."""
        try:
            import yaml  # pylint: disable=import-outside-toplevel
        except ImportError:
            self.skipTest("needs python3-yaml")
        document, ids = yaml.safe_load(self.text), []

        def look(node, place):
            if isinstance(node, list):
                for i, item in enumerate(node):
                    look(item, f"{place}/{i}")
            if not isinstance(node, dict):
                return
            for name, value in node.items():
                self.assertIsInstance(name, str, place)
                self.assertNotIn(" ", name, place)  # a comma in a sentence without quotes
                self.assertIsNotNone(value, f"{place}/{name}")
                look(value, f"{place}/{name}")
            if "nullable" in node and place.rpartition("/")[2] != "properties":
                self.assertIn("type", node, place)
            self.assertFalse("default" in node and "type" in node, f"{place}: generated clients ask for what has a default")
            if "$ref" in node:
                found = document
                for part in node["$ref"].split("/")[1:]:
                    found = found[part]

        look(document, "")
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                ids.append(operation["operationId"])
                codes = operation["responses"]
                self.assertTrue(any(code.startswith("2") or code == "default" for code in codes), (path, method))
                self.assertTrue(any(code.startswith("4") for code in codes), (path, method))
        self.assertEqual(len(set(ids)), len(ids))

    def test_paths_exist(self):
        server = self.start()
        paths = re.findall(r"^  (/\S+):\n    (\w+):", self.text, re.M)
        self.assertGreater(len(paths), 5)
        for path, method in paths:
            status, headers, _ = server.request("OPTIONS", path)
            self.assertEqual(status, 204, path)
            self.assertIn(method.upper(), headers["Allow"])

    def test_options_and_their_ranges(self):
        server = self.start(MODELS)
        for name, schema in self.options.items():
            status, answer = self.ask(server, {"text": "a", "target": "en", name: {}})
            self.assertEqual((status, answer["error"].get("field")), (400, name), answer)
            for bound, beyond in (("maximum", 1), ("minimum", -1)):
                value = re.search(rf"{bound}: ([\d.]+)", schema)
                if value:
                    whole = "integer" in schema
                    number = (int if whole else float)(value.group(1)) + beyond
                    status, answer = self.ask(server, {"text": "a", "target": "en", name: number})
                    self.assertEqual((status, answer["error"].get("field")), (400, name), answer)
                    self.assertEqual(answer["error"]["code"], "out_of_range")

    def test_answers_hold_nothing_else(self):
        server = self.start(MODELS)
        _, answer = self.ask(server, {"text": "Le chat dort.", "target": "en", "alternatives": 1, "scores": True,
                                      "tokens": True, "alignment": True})

        def names(value):
            if isinstance(value, dict):
                yield from value
                value = list(value.values())
            if isinstance(value, list):
                for item in value:
                    yield from names(item)

        for path in ("/v1/models", "/v1/languages"):
            answer[path] = json.loads(server.request("GET", path)[2])
        documented = set(re.findall(r"(\w+): ", self.text)) | set(re.findall(r"^\s+(\w+):$", self.text, re.M))
        self.assertEqual({name for name in names(answer) if not name.startswith("/")} - documented, set())


if __name__ == "__main__":
    main()
