#pragma once

#include <cstddef>
#include <string>

#include "executorch_backends/common/layout/layout.h"

namespace executorch_backends::layout {

/// How to copy one strided tensor into another of equal sizes, on any device: nested loops that
/// move runs of bytes which are consecutive in both. Dimensions that can be walked as one are one
/// loop. All numbers are bytes, except the loops' counts, and none of the sums over loops
/// overflows.
struct CopyPlan {
  enum class Kind {
    kBytes,    // no loop: one run, as a memcpy does; of 0 bytes when there is no element
    kPitched,  // one loop whose steps are at least a run, as a 2-D memcpy does
    kGather,   // anything else
  };
  struct Loop {
    size_t count = 0;
    size_t dst_step = 0;
    size_t src_step = 0;  // 0 where the source repeats an element
  };

  Kind kind = Kind::kBytes;
  std::array<Loop, kMaxRank> loops{};  // the outermost first: the one with the largest dst_step
  size_t loop_count = 0;
  size_t run_bytes = 0;   // a multiple of item_size, or 0 when there is nothing to copy
  size_t item_size = 1;   // of an element: what the device may use as the unit of its accesses
  size_t dst_offset = 0;  // of the first run from the storage's start
  size_t src_offset = 0;
  size_t dst_span = 0;  // the size that the storage must have at least
  size_t src_span = 0;
};

/// Plans the copy of `src` into `dst`. False, with one line in `*error` that names the two values
/// which disagree, when sizes or item sizes differ, when two elements of `dst` lie at the same
/// place (see overlaps_itself), when a span overflows, or when the item size is 0.
[[nodiscard]] bool plan_copy(const Layout& dst, const Layout& src, CopyPlan* plan,
                             std::string* error);

/// Carries out a plan in this process's memory. `dst` and `src` are the storages' starts, at any
/// alignment. False, with the two values in `*error` and without a byte touched, when a storage is
/// smaller than its span, or when the two spans share memory; except that a tensor copied onto
/// itself, element by element, stays as it is. Either pointer may be null if the plan is empty.
[[nodiscard]] bool execute(const CopyPlan& plan, void* dst, size_t dst_bytes, const void* src,
                           size_t src_bytes, std::string* error);

}  // namespace executorch_backends::layout
