"""From the hidden states of a batch to one vector for each text."""

import math
from collections.abc import Sequence

import numpy as np

from cortex.embedding.records import Floats, Pooling

TINY = 1e-12


def pool(states: Floats, lengths: Sequence[int], pooling: Pooling) -> Floats:
    """One vector a text from (texts, tokens, width) states, of which `lengths` are not padding."""
    if pooling == "cls":
        return np.ascontiguousarray(states[:, 0])
    pooled = np.empty((len(lengths), states.shape[2]), np.float32)
    for place, length in enumerate(lengths):
        own = states[place, :length]
        if pooling == "mean":
            np.add.reduce(own, axis=0, out=pooled[place])
            pooled[place] /= length
        elif pooling == "max":
            np.maximum.reduce(own, axis=0, out=pooled[place])
        else:
            pooled[place] = own[-1]
    return pooled


def rows(vectors: Sequence[Floats]) -> Floats:
    """The vectors as one array, a row each; no copy of a single one."""
    return vectors[0][None] if len(vectors) == 1 else np.stack(vectors)


def shape(vectors: Floats, dimensions: int | None, *, normalize: bool) -> Floats:
    """The first `dimensions` of each vector, then at unit length if `normalize`."""
    cut = vectors if dimensions is None else np.ascontiguousarray(vectors[:, :dimensions])
    if not normalize:
        return cut
    # Row by row, so that a vector is the same to the last bit whatever its company.
    lengths = [max(math.sqrt(row.dot(row)), TINY) for row in cut]
    return cut / np.array(lengths, np.float32)[:, None]


def similarities(vectors: Floats) -> list[float]:
    """Cosine of the first vector with each of the others; all are of unit length."""
    return [float(value) for value in vectors[1:] @ vectors[0]]
