"""Contract by products of matrices, without a permutation that is not needed."""

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import torch

from qualcomm_backend.passes.form import Forms, Leave, WriteWithOthers

aten = torch.ops.aten


class ContractByProducts(WriteWithOthers):
    """
    Given:  y = aten.einsum("ij,jk->ik", [x, z])
    Result: y = aten.mm(x, z)

    Two operands at a time, from the left: dimensions of both that stay are a batch, those of
    both that go are summed over in the product. What torch writes has a dimension of size 1 for
    each that an operand lacks, and permutes both.
    """

    forms: ClassVar[Forms] = {
        aten.einsum.default: lambda equation, operands, path=None: _einsum(equation, operands)
    }


def _einsum(equation: str, operands: Sequence[torch.Tensor]) -> torch.Tensor:
    terms, result = _parse(equation)
    if any(len(set(term)) < len(term) for term in terms):
        raise Leave(f"a dimension is there twice in {equation}")
    if any(len(term) != x.dim() for term, x in zip(terms, operands, strict=True)):
        raise Leave(f"{equation} does not name all dimensions")
    term, x = terms[0], operands[0]
    x = _summed(x, term, needed := set(result).union(*terms[1:]))
    term = _kept(term, needed)
    for index in range(1, len(terms)):
        needed = set(result).union(*terms[index + 1 :])
        right = terms[index]
        y = _summed(operands[index], right, needed | set(term))
        term, x = _product(term, x, _kept(right, needed | set(term)), y, needed)
    return _permuted(x, term, result)


def _parse(equation: str) -> tuple[list[str], str]:
    """The operands' dimensions and the result's, one letter each."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    if "." in equation:
        raise Leave(f"dimensions without a name in {equation}")
    if not arrow:
        letters = left.replace(",", "")
        right = "".join(sorted(each for each in set(letters) if letters.count(each) == 1))
    return left.split(","), right


def _kept(term: str, needed: set[str]) -> str:
    return "".join(each for each in term if each in needed)


def _summed(x: torch.Tensor, term: str, needed: set[str]) -> torch.Tensor:
    """Over what nothing else has."""
    gone = [dim for dim, each in enumerate(term) if each not in needed]
    return torch.sum(x, gone, dtype=x.dtype) if gone else x


def _permuted(x: torch.Tensor, term: str, wanted: str) -> torch.Tensor:
    if term == wanted:
        return x
    return x.permute([term.index(each) for each in wanted])


def _product(
    left: str, x: torch.Tensor, right: str, y: torch.Tensor, needed: set[str]
) -> tuple[str, torch.Tensor]:
    """The product of two over what both have and nothing else needs, and its dimensions."""
    batch = [each for each in left if each in right and each in needed]
    inner = [each for each in left if each in right and each not in needed]
    rows = [each for each in left if each not in right]
    columns = [each for each in right if each not in left]
    sizes = _sizes(left, x, right, y)
    term = "".join(batch + rows + columns)
    x = _permuted(x, left, "".join(batch + rows + inner))
    if not inner:
        # An outer product: nothing is added up.
        y = _permuted(y, right, "".join(batch + columns))
        shape = [*x.shape, *[1] * len(columns)]
        other = [*y.shape[: len(batch)], *[1] * len(rows), *y.shape[len(batch) :]]
        return term, x.reshape(shape) * y.reshape(other)
    y = _permuted(y, right, "".join(batch + inner + columns))

    def count(letters: Sequence[str]) -> int:
        return math.prod(sizes[each] for each in letters)

    x = _broadcast(x, [sizes[each] for each in batch + rows + inner])
    y = _broadcast(y, [sizes[each] for each in batch + inner + columns])
    if batch:
        product = torch.bmm(
            _shaped(x, [count(batch), count(rows), count(inner)]),
            _shaped(y, [count(batch), count(inner), count(columns)]),
        )
    else:
        product = torch.mm(
            _shaped(x, [count(rows), count(inner)]), _shaped(y, [count(inner), count(columns)])
        )
    return term, _shaped(product, [sizes[each] for each in batch + rows + columns])


def _sizes(left: str, x: torch.Tensor, right: str, y: torch.Tensor) -> dict[str, int]:
    """A dimension of size 1 is as large as another of its name."""
    sizes: dict[str, int] = {}
    for term, tensor in ((left, x), (right, y)):
        for each, size in zip(term, tensor.shape, strict=True):
            sizes[each] = max(size, sizes.get(each, 1)) if size else 0
    return sizes


def _shaped(x: torch.Tensor, shape: list[int]) -> torch.Tensor:
    return x if list(x.shape) == shape else x.reshape(shape)


def _broadcast(x: torch.Tensor, shape: Any) -> torch.Tensor:
    return x if list(x.shape) == shape else x.expand(shape)
