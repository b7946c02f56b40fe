"""What is wrong in a policy, with its place in the document, so that whoever read the file can name its line."""

from __future__ import annotations

from nodeworthy.errors import Permanent

Place = tuple[str | int, ...]


class PolicyError(Permanent):
    """A policy that cannot be used. `place` is the path of keys and indexes to what is wrong."""

    def __init__(self, sentence: str, place: Place = ()) -> None:
        super().__init__(sentence)
        self.place = place

    def __reduce__(self) -> tuple[type[PolicyError], tuple[str, Place]]:
        return type(self), (self.sentence, self.place)
