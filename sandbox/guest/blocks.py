"""Content blocks of a tool's answer, and values that carry those beside them."""

import base64
import json

from _guest.show import media


class Block(dict):
    """One content block of an answer."""

    @property
    def data(self) -> bytes:
        """The bytes of an image, a sound, or a resource."""
        held = self.get("resource") if self.get("type") == "resource" else self
        return base64.b64decode(held.get("data") or held.get("blob") or "")

    def __repr__(self):
        return media(self) or super().__repr__()


class Answer:
    """A value with the content blocks that came beside it, as ``value.content``."""

    content = ()

    def __repr__(self):
        # Its texts are mostly the value again, in other words.
        others = [block for block in self.content if block.get("type") != "text"]
        return repr(self.plain(self)) + (f" with content {others}" if others else "")


class AnswerDict(Answer, dict):
    """A dict with content beside it."""

    plain = dict


class AnswerList(Answer, list):
    """A list with content beside it."""

    plain = list


class AnswerText(Answer, str):
    """A text with content beside it."""

    plain = str


class AnswerInt(Answer, int):
    """An integer with content beside it."""

    plain = int


class AnswerFloat(Answer, float):
    """A number with content beside it."""

    plain = float


class AnswerBool(Answer, int):
    """True or False with content beside it: Python allows no other bool than these two."""

    plain = bool


KINDS = {kind.plain: kind for kind in (AnswerDict, AnswerList, AnswerText, AnswerInt, AnswerFloat, AnswerBool)}
for kind in (Block, *KINDS.values()):
    kind.__module__ = "mcp"


def carry(value, whole, content):
    """Return the value of structured content with the blocks that say something else."""
    beside = [Block(block) for block in apart(content, whole, value)]
    if not beside or value is None:
        return beside or value
    if isinstance(value, Block):
        return [value, *beside]
    made = KINDS[type(value)](value)
    made.content = beside
    return made


def apart(content, whole, value):
    """Yield the blocks that are not text of the structured content: a list may be one text for each item."""
    said = isinstance(value, str) and value == words(content)
    known = [value, whole]
    if isinstance(whole, dict):
        known += [part for part in whole.values() if isinstance(part, str)]
    items = iter(value if isinstance(value, list) else ())
    item = next(items, None)
    for block in content:
        text = block.get("text") if block.get("type") == "text" else None
        if not isinstance(text, str):
            yield block
        elif not said and not same(text, known):
            if item is None or not same(text, [item]):
                yield block
                continue
            item = next(items, None)


def same(text, values):
    """Tell whether a text is one of the values, as it is or as JSON."""
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        read = text
    try:
        return text in values or read in values or text.strip() in ("", *map(str, filter(is_word, values)))
    except RecursionError:
        return False


def is_word(value):
    """Tell whether a value is True, False or None, which are not written as in JSON by all servers."""
    return value is None or isinstance(value, bool)


def revive(value):
    """Return JSON data with blocks for the images and sounds in it, so that they are such wherever they are."""
    whole = [value]
    left = [whole]
    while left:
        box = left.pop()
        for key, part in box.items() if isinstance(box, dict) else enumerate(box):
            if type(part) is dict:
                if media(part):
                    box[key] = Block(part)
                else:
                    left.append(part)
            elif type(part) is list:
                left.append(part)
    return whole[0]


def words(content):
    """Return the text of content blocks."""
    return "\n".join(block.get("text") or "" for block in content if block.get("type") == "text")
