"""The checker names the first pass that changes something, and only such a pass."""

import re

import pytest
import torch
from backend_common.graph import Pass
from torch import nn
from torch.export import Dim

from qualcomm_backend.autocast import resolve_autocast
from qualcomm_backend.verify import verify_passes

aten = torch.ops.aten


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.a = nn.Linear(4, 4)
        self.register_buffer("n", torch.zeros(4))

    def forward(self, x):
        y = self.a(x) + 1
        self.n.add_(y.sum(0))
        return torch.relu(y) + self.n, y.t()


class Swap(Pass):
    """One operator for another, given the same arguments."""

    def __init__(self, old, new):
        self.old, self.new = old, new

    def match(self, node):
        return True if node.target is self.old else None

    def rewrite(self, node, found):
        node.target = self.new


def inputs(rows=4):
    torch.manual_seed(rows)
    return (torch.randn(rows, 4),)


def export(model=None, functional=True, dynamic=False):
    shapes = ({0: Dim("n", min=2, max=16)},) if dynamic else None
    model = model or Model().eval()
    program = torch.export.export(model, inputs(), dynamic_shapes=shapes)
    return program.run_decompositions({}) if functional else program


NOTHING = ("nothing", lambda program: None)
HARMLESS = ("harmless", Swap(aten.relu.default, aten.relu.default))


def in_place(change):
    """A pass that calls change(node) for each operator."""

    def run(program):
        for node in list(program.graph.nodes):
            if node.op == "call_function":
                change(node)

    return run


def fault_of(*passes, program=None, calls=None, **options):
    result = verify_passes(program or export(), passes, calls or [inputs(), inputs()], **options)
    assert not result and result.fault is not None
    return result.fault, result


@pytest.mark.parametrize("functional", [False, True])
def test_right_passes_leave_no_fault(functional):
    program = export(functional=functional)
    decompose = ("decompose", lambda program: program.run_decompositions({}))
    result = verify_passes(program, [NOTHING, HARMLESS, decompose], [inputs(), inputs()])
    assert result and result.fault is None
    assert result.right == ("nothing", "harmless", "decompose")


def test_the_first_pass_that_changes_numbers_is_named():
    wrong = Swap(aten.relu.default, aten.neg.default)
    worse = Swap(aten.t.default, aten.neg.default)
    program = export()
    fault, result = fault_of(HARMLESS, ("wrong", wrong), ("worse", worse), program=program)
    assert (fault.name, fault.kind, fault.node) == ("wrong", "numbers", "call 0, output")
    assert "values differ" in fault.text and fault.sentence().startswith("wrong   numbers   ")
    assert result.right == ("harmless",)
    assert any(node.target is aten.relu.default for node in result.program.graph.nodes)


def test_neither_the_program_nor_its_state_is_changed():
    program = export()
    before, buffer = str(program), program.state_dict["n"].clone()
    fault_of(("wrong", Swap(aten.relu.default, aten.neg.default)), program=program)
    assert str(program) == before
    assert torch.equal(program.state_dict["n"], buffer)


def test_a_small_error_is_within_a_tolerance_only():
    def nearly(node):
        if node.target is aten.add.Tensor and node.args[1] == 1:
            node.args = (node.args[0], 1.0001)

    fault_of(("nearly", in_place(nearly)))
    assert verify_passes(export(), [("nearly", in_place(nearly))], [inputs()], tolerance=1e-3)


def test_a_buffer_that_is_written_wrongly_is_named():
    def twice(program):
        # The result of the first call is right; what the buffer holds afterwards is not.
        output = program.graph.output_node()
        spec = program.graph_signature.output_specs[0]
        with program.graph.inserting_before(output):
            old = output.args[0][0]
            new = program.graph.call_function(aten.neg.default, (old,))
            new.meta = dict(old.meta)
        output.args = ((new, *output.args[0][1:]),)
        spec.arg.name = new.name

    fault, _ = fault_of(("twice", twice), calls=[inputs()])
    assert (fault.kind, fault.node) == ("numbers", "buffer 'n'")


@pytest.mark.parametrize(
    "note, text",
    [
        (lambda v: v.half(), r"torch.float16 is noted, and it is torch.float32"),
        (lambda v: v[:2], r"shape \[2, 4\] is noted, and it is \[4, 4\]"),
        (lambda v: v.t(), r"strides \[1, 4\] are noted, and they are \[4, 1\]"),
    ],
)
def test_wrong_metadata_is_the_fault_of_the_pass_that_left_it(note, text):
    def spoil(node):
        if node.target is aten.relu.default:
            node.meta["val"] = note(node.meta["val"])

    fault, _ = fault_of(NOTHING, ("spoil", in_place(spoil)), HARMLESS)
    assert (fault.name, fault.kind, fault.node) == ("spoil", "metadata", "relu")
    assert re.search(text, fault.text)
    program = export()
    in_place(spoil)(program)
    assert verify_passes(program, [NOTHING, HARMLESS], [inputs()])  # it was wrong before


def test_a_graph_that_is_not_well_formed_is_a_fault():
    def misplace(node):
        if node.target is aten.relu.default:
            node.append(node.args[0])  # what it reads comes after it

    fault, _ = fault_of(("misplace", in_place(misplace)))
    assert (fault.name, fault.kind) == ("misplace", "graph")


def test_a_pass_that_raises_is_a_fault():
    def fail(program):
        raise RuntimeError("no such pattern\nmore")

    fault, _ = fault_of(NOTHING, ("fail", fail))
    assert (fault.name, fault.kind, fault.text) == ("fail", "error", "no such pattern")


def test_a_program_that_cannot_run_is_a_fault():
    def misuse(node):
        if node.target is aten.relu.default:
            node.target, node.args = aten.mm.default, (node.args[0], node.args[0].args[0], 3, 4)

    fault, _ = fault_of(("misuse", in_place(misuse)))
    assert fault.kind == "error" and fault.name == "misuse"


def test_every_call_counts_whatever_its_size():
    def fix(node):
        if node.target is aten.add.Tensor:  # right for four rows only
            relu = node.args[0]
            with node.graph.inserting_before(node):
                cut = node.graph.call_function(aten.slice.Tensor, (relu, 0, 0, 4))
            cut.meta = dict(relu.meta)
            node.args = (cut, 1)

    class Plain(nn.Module):
        def forward(self, x):
            return torch.relu(x) + 1

    program = export(Plain(), dynamic=True)
    assert verify_passes(program, [("fix", in_place(fix))], [inputs()])
    fault, _ = fault_of(("fix", in_place(fix)), program=program, calls=[inputs(), inputs(6)])
    assert (fault.kind, fault.node) == ("numbers", "call 1, output")


def test_random_numbers_are_the_same_before_and_after():
    class Noisy(nn.Module):
        def forward(self, x):
            return x + torch.rand_like(x)

    assert verify_passes(export(Noisy()), [NOTHING], [inputs(), inputs()])


def test_a_flattened_region_is_found_and_an_exact_one_passes():
    class Half(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(4, 4)

        def forward(self, x):
            with torch.autocast("cpu", torch.bfloat16):
                y = self.a(x)
            return y.float() + 1

    program = torch.export.export(Half().eval(), inputs(), strict=False)
    exact = ("exact", lambda program: resolve_autocast(program)[0])
    flat = ("flat", lambda program: resolve_autocast(program, policy="flatten")[0])
    assert verify_passes(program, [exact], [inputs()])
    fault, _ = fault_of(flat, program=program)
    assert (fault.name, fault.kind) == ("flat", "numbers")
