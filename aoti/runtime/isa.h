/// Whether this processor runs what a program was compiled for.
#pragma once

#include <executorch/runtime/core/error.h>

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace executorch_backends::aoti {

/// The processor's instruction sets as Linux names them: `avx2`, `fma`, ...
const std::set<std::string>& processor_flags();

/// Those that code compiled for `isa` needs and `flags` lack: `avx2` is x86-64-v3, `avx512` is
/// x86-64-v4, and `native:avx2,fma` says them itself. None for an isa that is not known.
std::optional<std::vector<std::string>> lacking(std::string_view isa,
                                                const std::set<std::string>& flags);

/// Logs and returns an error where the processor lacks any.
executorch::runtime::Error check_isa(const std::string& isa, const std::set<std::string>& flags);

}  // namespace executorch_backends::aoti
