"""Where ExecuTorch itself is wrong: its portable kernels differ from eager, and no program of
ours can be right that is left to them. A backend that computes it is right all the same.

(operator, pattern of the sample's label, dtypes or "" for all, reason)
"""

import fnmatch

FAULTS: tuple[tuple[str, str, str, str], ...] = (
    ("layer_norm", "*", "float64", "its kernel computes float64 in float32"),
    ("instance_norm*", "*", "float64", "its kernel computes float64 in float32"),
    ("grid_sample *", "*", "bfloat16", "its kernel computes places in bfloat16"),
    ("interpolate bilinear*", "*", "float64", "its kernel computes places in float32"),
    ("interpolate *linear*", "edges*", "", "torch writes it as a + (b - a) w, NaN of infinities"),
    ("interpolate antialias", "*, dynamic*", "", "its kernel leaves its result's size as it is"),
    ("*max_pool*", "edges*", "", "its kernel drops NaN"),
    (
        "*_mean",
        "edges",
        "",
        "eager's running mean is NaN after an infinity, and here it is infinite",
    ),
    ("threshold", "edges", "int64 int32", "torch decomposes it by way of floating point"),
    (
        "*",
        "scalar*",
        "",
        "a number beside a tensor without dimensions becomes an int64 or float32 tensor",
    ),
)


# They are written with views, or with other operators, and whether those are channels last is not
# said by their operands.
FREE_ORDER = frozenset(
    {
        *("channel_shuffle", "chunk", "copysign", "glu", "narrow", "roll", "slice", "split"),
        "unsqueeze",
        # Their meta kernels promise the default order where an operand is broadcast.
        *("div floor", "div floor number", "floor_divide", "floor_divide number"),
    }
)

# Eager multiplies 16-bit floats in 16 bits, in an order that depends on where they lie.
ROUNDED_AT_EACH_STEP = frozenset({"prod"})


def fault_of(operator: str, label: str, dtype: str) -> str | None:
    for name, pattern, dtypes, reason in FAULTS:
        alike = fnmatch.fnmatchcase(operator, name) and fnmatch.fnmatchcase(label, pattern)
        if alike and (not dtypes or dtype in dtypes.split()):
            return reason
    return None
