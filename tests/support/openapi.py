# SPDX-License-Identifier: ISC
"""Compares answers with docs/api/openapi.yaml.

    complaint = openapi.complaint("GET", "/v1/models", 200, "application/json", body)
    if complaint: ...                                "/v1/models 200: models/0: lacks 'name'"

An answer must be JSON where the description says so, with the members that it names, of the
types that it states, and no others; in a stream of events this is checked for the data of done
and error. A status that an operation does not list must come with an Error. Routes that are not
described are not looked at. The keywords of schemas are those that the description uses; any
other keyword is a mistake in the description, or in this file. It needs python3-yaml; without it
there are no complaints.
"""
import functools
import json
import os
import re

try:
    import yaml
except ImportError:
    yaml = None

SOURCES = os.path.abspath(os.environ.get("srcdir", os.path.join(os.path.dirname(__file__), "..", "..")))
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float)}
SAYS_NOTHING = {"description", "example", "default"}
KEYWORDS = SAYS_NOTHING | {"$ref", "allOf", "oneOf", "type", "nullable", "enum", "properties", "required",
                           "additionalProperties", "items", "minItems", "maxItems", "minimum", "maximum", "minLength",
                           "maxLength", "pattern"}


class Mismatch(Exception):
    """A difference between an answer and the description, and its place in the answer."""


@functools.lru_cache(None)
def description():
    if not yaml:
        return None
    with open(os.path.join(SOURCES, "docs", "api", "openapi.yaml"), encoding="utf-8") as file:
        return yaml.load(file, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def resolve(node):
    while "$ref" in node:
        found = description()
        for part in node["$ref"].split("/")[1:]:
            found = found[part]
        node = found
    return node


def check_keywords(schema):
    """Checks that every schema below this one has only keywords that are understood here."""
    unknown = set(schema) - KEYWORDS
    if unknown:
        raise AssertionError(f"openapi.yaml: {sorted(unknown)} in a schema: tests/support/openapi.py does not know that")
    if not set(schema.get("type", "object").split()) <= set(TYPES):
        raise AssertionError(f"openapi.yaml: the type {schema['type']}")
    more = schema.get("additionalProperties")
    for below in (*schema.get("properties", {}).values(), *schema.get("allOf", ()), *schema.get("oneOf", ()),
                  *([schema["items"]] if "items" in schema else ()), *([more] if isinstance(more, dict) else ())):
        check_keywords(below)


def names_of(schema):
    """The members that an object may have; None when it may have any."""
    schema = resolve(schema)
    if schema.get("additionalProperties"):
        return None
    names = set(schema["properties"]) if "properties" in schema else None
    for part in schema.get("allOf", ()):
        more = names_of(part)
        names = (names or set()) | more if more is not None else names
    return names


def check_object(value, schema, place, names):
    for name in schema.get("required", ()):
        if name not in value:
            raise Mismatch(f"{place}: lacks '{name}'")
    known, more = schema.get("properties", {}), schema.get("additionalProperties")
    for name, member in value.items():
        if name in known:
            check(member, known[name], f"{place}/{name}")
        elif isinstance(more, dict):
            check(member, more, f"{place}/{name}")
        elif names is not None and name not in names:
            raise Mismatch(f"{place}: '{name}' is not described")


def check_type(value, schema, place):
    wanted = schema.get("type")
    is_number = wanted in ("integer", "number")
    if wanted and (not isinstance(value, TYPES[wanted]) or (is_number and isinstance(value, bool))):
        raise Mismatch(f"{place}: {json.dumps(value)[:100]} is not of type {wanted}")
    if "enum" in schema and value not in schema["enum"]:
        raise Mismatch(f"{place}: {json.dumps(value)[:100]} is none of {schema['enum']}")


def check_size(value, schema, place):
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if not schema.get("minimum", value) <= value <= schema.get("maximum", value):
            raise Mismatch(f"{place}: {value} is not from {schema.get('minimum')} to {schema.get('maximum')}")
    for kind, least, most in ((list, "minItems", "maxItems"), (str, "minLength", "maxLength")):
        if isinstance(value, kind) and not schema.get(least, 0) <= len(value) <= schema.get(most, len(value)):
            raise Mismatch(f"{place}: its length is {len(value)}")
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        raise Mismatch(f"{place}: '{value[:100]}' does not match {schema['pattern']}")


def fits(value, schema, place):
    try:
        check(value, schema, place)
        return True
    except Mismatch:
        return False


def check(value, schema, place, names=None):
    """`names`: the members that the schema has, together with the other schemas in its allOf."""
    schema = resolve(schema)
    if value is None and (schema.get("nullable") or not set(schema) - SAYS_NOTHING):
        return
    names = names_of(schema) if names is None else names
    for part in schema.get("allOf", ()):
        check(value, part, place, names)
    if "oneOf" in schema and sum(fits(value, one, place) for one in schema["oneOf"]) != 1:
        raise Mismatch(f"{place}: {json.dumps(value)[:100]} does not fit exactly one of the schemas")
    check_type(value, schema, place)
    check_size(value, schema, place)
    if isinstance(value, list) and "items" in schema:
        for i, item in enumerate(value):
            check(item, schema["items"], f"{place}/{i}")
    if isinstance(value, dict):
        check_object(value, schema, place, names)


@functools.lru_cache(None)
def operations():
    """(pattern of the path, {method: operation}), paths without parameters first."""
    found = []
    for path, methods in sorted(description()["paths"].items(), key=lambda one: ("{" in one[0], one[0])):
        pattern = "".join("[^/]+" if part.startswith("{") else re.escape(part) for part in re.split(r"(\{\w+\})", path))
        found.append((re.compile(pattern), methods))
    for schema in description()["components"]["schemas"].values():
        check_keywords(schema)
    return found


def find_operation(method, path):
    for pattern, methods in operations():
        if pattern.fullmatch(path):
            return methods.get(method.lower())
    return None


def check_body(content, kind, body):
    kind = kind.partition(";")[0].strip()
    if kind not in content:
        raise Mismatch(f": {kind or 'no type'} is not described, only {sorted(content)}")
    schema = content[kind].get("schema", {})
    check_keywords(schema)
    if kind == "application/json":
        check(json.loads(body), schema, "")
    elif kind == "text/event-stream" and "application/json" in content:
        check_events(body.decode(), content["application/json"]["schema"])


def check_events(stream, answer):
    """The event done must have what the answer would be without a stream; error must have an Error."""
    for event in stream.split("\n\n")[:-1]:
        fields = dict(line.split(": ", 1) for line in event.split("\n") if not line.startswith(":"))
        if fields.get("event") == "done":
            check(json.loads(fields["data"]), answer, "/done")
        elif fields.get("event") == "error":
            check(json.loads(fields["data"]), {"$ref": "#/components/schemas/Error"}, "/error")


def complaint(method, target, status, kind, body):
    """What is wrong with an answer; None when nothing is."""
    operation = find_operation(method, target.partition("?")[0]) if description() else None
    if not operation:
        return None
    responses, error = operation["responses"], description()["components"]["responses"]["Error"]
    response = resolve(responses.get(str(status)) or responses.get("default") or error)
    try:
        if "content" in response:
            check_body(response["content"], kind, body)
        elif body:
            raise Mismatch(": a body is not described")
    except (Mismatch, ValueError) as problem:
        return f"docs/api/openapi.yaml: {method} {target.partition('?')[0]} {status}{problem}"
    return None
