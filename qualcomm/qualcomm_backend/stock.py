"""What is taken from ExecuTorch's own Qualcomm backend, and under which conditions.

Taken: the builders that describe an operator to QNN, the bindings to QNN, the schema of the
compile spec, the rules of the quantizer. None of its passes runs, nor its partitioner, nor its
`qnn_preprocess`, which copies every name of torch over its own (`range` becomes `torch.range`).
"""

import atexit
import ctypes
import functools
import logging
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from executorch.backends.qualcomm.builders import node_visitor_manager
from executorch.backends.qualcomm.python import PyQnnManagerAdaptor as adaptor  # noqa: N813
from executorch.backends.qualcomm.serialization import qc_schema as schema
from executorch.backends.qualcomm.serialization.qc_schema_serialize import option_to_flatbuffer
from executorch.backends.qualcomm.utils import constants, qnn_sdk_setup
from executorch.exir.backend.compile_spec_schema import CompileSpec

from qualcomm_backend import sdk

# Notes that builders and the layout leave on nodes.
AXIS_ORDER = constants.QCOM_AXIS_ORDER
INSERTED_PERMUTE = constants.QCOM_INSERTED_PERMUTE


_C_LIBRARY = ctypes.CDLL(None)


class QnnError(Exception):
    """QNN cannot take or compile something; the text is all that is known of it."""


@functools.cache
def compile_spec(soc: str, *, floats: bool) -> CompileSpec:
    precision = schema.QnnExecuTorchHtpPrecision
    options = schema.QnnExecuTorchOptions(
        schema._soc_info_table[schema.QcomChipset[soc]],
        schema.QnnExecuTorchBackendOptions(
            schema.QnnExecuTorchBackendType.kHtpBackend,
            schema.QnnExecuTorchHtpBackendOptions(
                precision=precision.kHtpFp16 if floats else precision.kHtpQuantized,
                performance_mode=schema.QnnExecuTorchHtpPerformanceMode.kHtpBurst,
            ),
        ),
        log_level=schema.QnnExecuTorchLogLevel.kLogLevelError,
    )
    return CompileSpec(constants.QCOM_QNN_COMPILE_SPEC, option_to_flatbuffer(options))


@contextmanager
def quiet(said: list[str]) -> Iterator[None]:
    """What native code prints goes to `said`; QNN's compiler speaks at length, on both streams."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    with tempfile.TemporaryFile() as file:
        kept = [os.dup(descriptor) for descriptor in (1, 2)]
        _C_LIBRARY.fflush(None)
        for descriptor in (1, 2):
            os.dup2(file.fileno(), descriptor)
        try:
            yield
        finally:
            _C_LIBRARY.fflush(None)
            for descriptor, copy in zip((1, 2), kept, strict=True):
                os.dup2(copy, descriptor)
                os.close(copy)
            file.seek(0)
            said += file.read().decode(errors="replace").splitlines()


@functools.cache
def manager(options: bytes) -> Any:
    """QNN's backend and device for a compile spec; one for the process. QnnError, SdkError."""
    sdk.load()
    said: list[str] = []
    with quiet(said):
        made = adaptor.QnnManager(options)
        error = made.InitBackend()
    if error.value:
        raise QnnError(f"QNN creates no backend and device: {_errors(said) or error}")
    atexit.register(_destroy, made)
    return made


def _destroy(made: Any) -> None:
    with quiet([]):
        made.Destroy()


@contextmanager
def context(options: bytes, graphs: Sequence[str]) -> Iterator[Any]:
    """The manager with an empty context for graphs of these names, which ends with the block.

    QnnError, with QNN's own words, for what its bindings raise inside.
    """
    made = manager(options)
    said: list[str] = []
    try:
        with quiet(said):
            made.InitContext(list(graphs))
            try:
                yield made
            finally:
                made.DestroyContext()
    except QnnError as error:
        raise QnnError("; ".join(filter(None, (str(error), _errors(said))))) from error
    except (RuntimeError, ValueError, TypeError) as error:
        raise QnnError(_errors(said) or f"{type(error).__name__}: {error}") from error


def _errors(said: Sequence[str]) -> str:
    """What QNN says of an error, without its marks."""
    lines = [line.partition("]: ")[2] for line in said if line.startswith("[ERROR]")]
    return "; ".join(dict.fromkeys(lines))[:300]


@contextmanager
def undisturbed() -> Iterator[None]:
    """ExecuTorch's code looks for no SDK of its own, which it would download; and what it sets
    for torch, as a cure of some processors, ends with the block."""
    ready, mkldnn = qnn_sdk_setup._sdk_ready, torch.backends.mkldnn.enabled
    level = logging.root.manager.disable
    qnn_sdk_setup._sdk_ready = True
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(level)
        qnn_sdk_setup._sdk_ready = ready
        torch.backends.mkldnn.enabled = mkldnn


def builders(part: Any) -> dict[str, Any]:
    """Builders by operator, `aten.relu.default`, for the nodes of a part."""
    return dict(node_visitor_manager.get_node_visitors(part))
