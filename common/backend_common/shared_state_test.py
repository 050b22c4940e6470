"""Methods over one module's buffers see what the others wrote; others keep theirs apart."""

import copy

import pytest
import torch

from backend_common import Method, load, lower


class Cache(torch.nn.Module):
    def __init__(self, start):
        super().__init__()
        self.register_buffer("rows", torch.full((4, 3), float(start)))


class Put(torch.nn.Module):
    def __init__(self, cache):
        super().__init__()
        self.cache = cache

    def forward(self, x):
        self.cache.rows.copy_(torch.cat([self.cache.rows[1:], x]))
        return self.cache.rows * 1


class Get(torch.nn.Module):
    """Reads, and has the buffer under another name."""

    def __init__(self, cache):
        super().__init__()
        self.memory = cache

    def forward(self, x):
        return self.memory.rows.sum(0) + x


X = torch.tensor([[1.0, 2.0, 3.0]])
CALLS = ("put", "get", "put", "put", "get")


def check(put, get):
    """The calls in their order equal eager's, and a second load starts afresh."""
    methods = {"put": Method(put, (X,)), "get": Method(get, (X,))}
    start = {key: value.clone() for key, value in put.state_dict().items()}
    start_get = {key: value.clone() for key, value in get.state_dict().items()}
    program = lower(methods, backend="portable").buffer
    for _ in range(2):
        put.load_state_dict(start)
        get.load_state_dict(start_get)
        loaded = load(program)
        for index, name in enumerate(CALLS):
            expected = methods[name].module(X * index)
            (actual,) = loaded.method(name)(X * index)
            torch.testing.assert_close(actual, expected)


def test_one_cache_is_shared():
    cache = Cache(2)
    check(Put(cache).eval(), Get(cache).eval())


def test_two_writers_share():
    cache = Cache(1)
    check(Put(cache).eval(), Put(cache).eval())


def test_caches_of_equal_names_stay_apart():
    check(Put(Cache(1)).eval(), Put(Cache(5)).eval())


class Both(torch.nn.Module):
    def __init__(self, shared, own):
        super().__init__()
        self.shared, self.cache = Put(shared), Put(own)

    def forward(self, x):
        return self.shared(x) + self.cache(x)


def test_a_shared_one_beside_one_of_each():
    shared = Cache(1)
    check(Both(shared, Cache(2)).eval(), Both(shared, Cache(3)).eval())


@pytest.mark.parametrize("name", ["forward", "train", "to", "half", "buffers_of_methods"])
def test_a_method_of_any_name_has_a_buffer_of_its_own_beside_a_shared_one(name):
    cache, other = Cache(1), Put(Cache(3)).eval()
    methods = {"put": Put(cache).eval(), "get": Get(cache).eval(), name: other}
    start = copy.deepcopy(methods)
    lowered = lower(
        {method: Method(module, (X,)) for method, module in start.items()}, backend="portable"
    )
    program = load(lowered.buffer)
    for method in ("put", name, "get", name, "put", "get"):
        (actual,) = program.method(method)(X)
        torch.testing.assert_close(actual, methods[method](X))


class WithAConstant(Get):
    """Has another buffer, which nothing writes, under the name that the shared one has in Put."""

    def __init__(self, cache):
        super().__init__(cache)
        self.cache = Cache(7)

    def forward(self, x):
        return super().forward(x) * self.cache.rows


def test_a_buffer_under_the_name_of_a_shared_one_keeps_its_value():
    cache = Cache(2)
    check(Put(cache).eval(), WithAConstant(cache).eval())
