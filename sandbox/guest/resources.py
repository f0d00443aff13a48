"""The resources of servers: what they list, and what is read of them."""

from collections.abc import Mapping

from _guest.errors import ArgumentError, ServerError


class Resources(dict):
    """What a server lists: ``r["resources"]``, which ``r`` iterates as well, and ``r["resourceTemplates"]``."""

    def __getitem__(self, key):
        if isinstance(key, (int, slice)):
            return super().__getitem__("resources")[key]
        return super().__getitem__(key)

    def __iter__(self):
        return iter(super().__getitem__("resources"))

    def __len__(self):
        return len(super().__getitem__("resources"))

    def __bool__(self):
        return bool(super().__getitem__("resources") or super().__getitem__("resourceTemplates"))


class Blob(bytes):
    """The bytes of a resource, with its ``uri`` and ``mimeType``; ``display`` shows one that is an image."""

    uri = mimeType = ""

    def _repr_png_(self):
        return bytes(self) if self.mimeType == "image/png" else None

    def _repr_jpeg_(self):
        return bytes(self) if self.mimeType in ("image/jpeg", "image/jpg") else None

    def _repr_svg_(self):
        return self.decode() if self.mimeType == "image/svg+xml" else None

    def __repr__(self):
        return f"<resource {self.mimeType or 'of no type'}, {len(self)} bytes>"

    __str__ = __repr__


class Text(str):
    """The text of a resource, with its ``uri`` and ``mimeType``."""

    uri = mimeType = ""


Resources.__module__ = Blob.__module__ = Text.__module__ = "mcp.runtime"


def uri_of(uri):
    """Return the URI of what may be a link to a resource."""
    if isinstance(uri, Mapping):
        uri = uri.get("uri")
    if not isinstance(uri, str):
        try:
            uri = str(uri.uri)
        except AttributeError:
            raise ArgumentError(f"the URI of a resource must be text, not {type(uri).__name__}") from None
    return str.__str__(uri)


def content(result):
    """Return what a resource has: a text, or bytes; a list if it has not exactly one of them."""
    parts = [part_of(part) for part in result.get("contents") or []]
    return parts[0] if len(parts) == 1 else parts


def part_of(part):
    """Return one of a resource's parts."""
    if isinstance(part.get("blob"), str):
        import base64

        try:
            value = Blob(base64.b64decode(part["blob"]))
        except ValueError as error:
            raise ServerError(f"the data of resource {part.get('uri')} is not base64: {error}") from None
    else:
        value = Text(part.get("text") or "")
    value.uri, value.mimeType = part.get("uri") or "", part.get("mimeType") or ""
    return value
