import torch

from qualcomm_backend.passes.fold_constants import FoldConstants
from qualcomm_backend.passes.harness import check


def test_a_mask_is_a_constant():
    function = lambda x: x + torch.ones(4, 4).tril().sub(1)
    found = check(FoldConstants, function, torch.rand(4, 4))
    assert found.operators == ["aten.add.Tensor"]
    assert len(found.program.constants) == 1


def test_a_constant_stands_before_inputs_and_behind_weights():
    function = lambda m, x, y: x * m.w + torch.arange(4) - y
    found = check(FoldConstants, function, torch.rand(4), torch.rand(4), w=torch.rand(4))
    names = [node.name for node in found.program.graph.find_nodes(op="placeholder")]
    assert names == ["b_w", "folded_arange", "inputs_0", "inputs_1"]


def test_what_is_returned_or_random_or_empty_stays():
    function = lambda x: (x + 1, torch.arange(3), x + torch.rand(3), x * torch.zeros(3))
    _, program = check_graph(function)
    kinds = {node.target for node in program.graph.nodes}
    assert torch.ops.aten.arange.default in kinds
    assert torch.ops.aten.rand.default in kinds


def check_graph(function):
    from qualcomm_backend.passes import run_pass
    from qualcomm_backend.passes.harness import program_of

    module, program = program_of(function, torch.rand(3))
    return module, run_pass("FoldConstants", program)[0]


def test_large_tensors_of_one_number_stay():
    found = check(FoldConstants, lambda x: x + torch.full((100,), 2.0), torch.rand(100))
    assert not found.count


def test_weights_are_not_multiplied_ahead():
    assert not check(
        FoldConstants, lambda m, x: x * (m.w + 1), torch.rand(3), w=torch.rand(3)
    ).count


def test_a_view_does_not_take_its_base_along():
    found = check(FoldConstants, lambda x: x + torch.arange(1000)[:3], torch.rand(3))
    (held,) = found.program.constants.values()
    assert held.untyped_storage().nbytes() == 24


def test_what_cannot_be_computed_stays_and_says_so():
    from qualcomm_backend.passes import run_pass
    from qualcomm_backend.passes.harness import program_of

    function = lambda x: x + torch.full((2,), 4) // torch.full((2,), 0)
    _, program = program_of(function, torch.arange(2))
    rows = []
    rewritten, _ = run_pass("FoldConstants", program, rows.append)
    assert "floor_divide" in {node.name for node in rewritten.graph.nodes}
    assert "when computed" in rows[0].reason
