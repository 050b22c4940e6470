"""The backend that delegates nothing: every operator runs on ExecuTorch's portable kernels."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from backend_common.diagnostics import Diagnostics
from backend_common.options import check_options


class PortableBackend:
    name = "portable"
    backend_id = ""

    def parse_options(self, options: Mapping[str, object]) -> Mapping[str, object]:
        return check_options(self.name, options, accepted={})

    def partitioners(
        self,
        options: Mapping[str, object],
        *,
        keep: frozenset[str],
        method: str,
        diagnostics: Diagnostics,
    ) -> list[Any]:
        return []

    def edge_compile_config(self, options: Mapping[str, object]) -> Any | None:
        return None

    def passes(self, options: Mapping[str, object]) -> Sequence[Any]:
        return ()

    def try_delegates(
        self,
        options: Mapping[str, object],
        programs: Mapping[str, Any],
        example_inputs: Mapping[str, Any],
    ) -> None:
        pass  # There are none.

    def delegate_libraries(self) -> Sequence[Path]:
        return ()


BACKEND = PortableBackend()
