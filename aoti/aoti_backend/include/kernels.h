// What every program's kernels include; precompiled.
#include <torch/csrc/inductor/cpp_prefix.h>

#include "convert_to_int8.h"
#include "failed_check.h"
