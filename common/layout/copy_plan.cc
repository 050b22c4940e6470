#include "executorch_backends/common/layout/copy_plan.h"

#include <algorithm>
#include <cstring>

#include "executorch_backends/common/checked/checked.h"

namespace executorch_backends::layout {
namespace {

using Loop = CopyPlan::Loop;

bool fail(std::string* error, const std::string& text) {
  *error = "copy: " + text;
  return false;
}

bool check_equal(const Layout& dst, const Layout& src, std::string* error) {
  if (dst.rank != src.rank) {
    return fail(error, "the destination has rank " + std::to_string(dst.rank) +
                           "; the source has rank " + std::to_string(src.rank));
  }
  if (dst.rank > kMaxRank) {
    return fail(error, "rank " + std::to_string(dst.rank) + "; at most " +
                           std::to_string(kMaxRank) + " is supported");
  }
  for (size_t d = 0; d < dst.rank; ++d) {
    if (dst.sizes[d] != src.sizes[d]) {
      return fail(error, "dimension " + std::to_string(d) + " of the destination has size " +
                             std::to_string(dst.sizes[d]) + "; the source's has " +
                             std::to_string(src.sizes[d]));
    }
  }
  if (dst.item_size != src.item_size) {
    return fail(error, "the destination's elements have " + std::to_string(dst.item_size) +
                           " bytes; the source's have " + std::to_string(src.item_size));
  }
  if (dst.item_size == 0) return fail(error, "elements have 0 bytes; expected 1 or more");
  return true;
}

// The loops of the copy, one for each dimension of more than one element, outermost first.
bool make_loops(const Layout& dst, const Layout& src, CopyPlan* plan) {
  for (size_t d = 0; d < dst.rank; ++d) {
    if (dst.sizes[d] == 1) continue;
    Loop& loop = plan->loops[plan->loop_count++];
    loop.count = dst.sizes[d];
    if (checked::mul(dst.strides[d], dst.item_size, &loop.dst_step) ||
        checked::mul(src.strides[d], src.item_size, &loop.src_step)) {
      return false;
    }
  }
  // The destination does not overlap itself, so that no two steps are equal there.
  std::sort(plan->loops.begin(), plan->loops.begin() + static_cast<ptrdiff_t>(plan->loop_count),
            [](const Loop& a, const Loop& b) { return a.dst_step > b.dst_step; });
  return true;
}

bool continues(size_t outer_step, size_t inner_step, size_t inner_count) {
  size_t inner_extent = 0;
  return !checked::mul(inner_step, inner_count, &inner_extent) && outer_step == inner_extent;
}

// Makes one loop of two where a step of the outer is all of the inner, in both tensors, and the
// run of an innermost loop whose elements are consecutive. False on overflow.
bool coalesce(CopyPlan* plan) {
  size_t kept = 0;
  for (size_t i = 0; i < plan->loop_count; ++i) {
    const Loop inner = plan->loops[i];
    if (kept != 0) {
      Loop& outer = plan->loops[kept - 1];
      if (continues(outer.dst_step, inner.dst_step, inner.count) &&
          continues(outer.src_step, inner.src_step, inner.count)) {
        if (checked::mul(outer.count, inner.count, &outer.count)) return false;
        outer.dst_step = inner.dst_step;
        outer.src_step = inner.src_step;
        continue;
      }
    }
    plan->loops[kept++] = inner;
  }
  plan->loop_count = kept;
  plan->run_bytes = plan->item_size;
  if (kept != 0) {
    const Loop innermost = plan->loops[kept - 1];
    if (innermost.dst_step == plan->item_size && innermost.src_step == plan->item_size) {
      if (checked::mul(innermost.count, plan->item_size, &plan->run_bytes)) return false;
      plan->loops[--plan->loop_count] = Loop{};
    }
  }
  return true;
}

CopyPlan::Kind kind_of(const CopyPlan& plan) {
  if (plan.loop_count == 0) return CopyPlan::Kind::kBytes;
  const Loop& loop = plan.loops[0];
  return plan.loop_count == 1 && loop.dst_step >= plan.run_bytes && loop.src_step >= plan.run_bytes
             ? CopyPlan::Kind::kPitched
             : CopyPlan::Kind::kGather;
}

// Runs of a size that the compiler knows become one load and one store.
template <size_t kRunBytes>
void copy_runs(const Loop& loop, char* dst, const char* src) {
  for (size_t i = 0; i < loop.count; ++i) {
    std::memcpy(dst + i * loop.dst_step, src + i * loop.src_step, kRunBytes);
  }
}

void copy_innermost(const Loop& loop, size_t run_bytes, char* dst, const char* src) {
  switch (run_bytes) {
    case 1:
      return copy_runs<1>(loop, dst, src);
    case 2:
      return copy_runs<2>(loop, dst, src);
    case 4:
      return copy_runs<4>(loop, dst, src);
    case 8:
      return copy_runs<8>(loop, dst, src);
    case 16:
      return copy_runs<16>(loop, dst, src);
    default:
      for (size_t i = 0; i < loop.count; ++i) {
        std::memcpy(dst + i * loop.dst_step, src + i * loop.src_step, run_bytes);
      }
  }
}

// The two innermost loops. Where the inner one takes wide steps through the source, as from
// channels-last to channels-first, it fetches a cache line for each element, and has lost it again
// when the outer loop comes to the neighbour. There a few steps of the outer loop are taken at
// once, which makes it several times as fast.
void copy_two_innermost(const Loop& outer, const Loop& inner, size_t run_bytes, char* dst,
                        const char* src) {
  constexpr size_t kLine = 64;        // bytes
  constexpr size_t kLinesKept = 256;  // half of a small first-level cache
  constexpr size_t kTile = 8;         // more of them compete for the same cache lines when written
  const bool loses_lines = outer.src_step != 0 && outer.src_step < kLine &&
                           inner.src_step > outer.src_step && inner.count > kLinesKept;
  if (!loses_lines) {
    for (size_t i = 0; i < outer.count; ++i) {
      copy_innermost(inner, run_bytes, dst + i * outer.dst_step, src + i * outer.src_step);
    }
    return;
  }
  for (size_t i = 0; i < outer.count; i += kTile) {
    const Loop tile = {std::min(kTile, outer.count - i), outer.dst_step, outer.src_step};
    for (size_t j = 0; j < inner.count; ++j) {
      copy_innermost(tile, run_bytes, dst + i * outer.dst_step + j * inner.dst_step,
                     src + i * outer.src_step + j * inner.src_step);
    }
  }
}

void copy_loops(const CopyPlan& plan, size_t depth, char* dst, const char* src) {
  if (plan.loop_count == 0) {
    std::memcpy(dst, src, plan.run_bytes);
    return;
  }
  const Loop& loop = plan.loops[depth];
  if (depth + 1 == plan.loop_count) return copy_innermost(loop, plan.run_bytes, dst, src);
  if (depth + 2 == plan.loop_count) {
    return copy_two_innermost(loop, plan.loops[depth + 1], plan.run_bytes, dst, src);
  }
  for (size_t i = 0; i < loop.count; ++i) {
    copy_loops(plan, depth + 1, dst + i * loop.dst_step, src + i * loop.src_step);
  }
}

bool copies_onto_itself(const CopyPlan& plan, const char* dst, const char* src) {
  if (dst != src) return false;
  for (size_t i = 0; i < plan.loop_count; ++i) {
    if (plan.loops[i].dst_step != plan.loops[i].src_step) return false;
  }
  return true;
}

}  // namespace

bool plan_copy(const Layout& dst, const Layout& src, CopyPlan* plan, std::string* error) {
  if (!check_equal(dst, src, error)) return false;
  CopyPlan made;
  made.item_size = dst.item_size;
  if (!span_bytes(dst, &made.dst_span)) {
    return fail(error, "the destination's span overflows: " + to_string(dst));
  }
  if (!span_bytes(src, &made.src_span)) {
    return fail(error, "the source's span overflows: " + to_string(src));
  }
  if (made.dst_span != 0) {
    if (overlaps_itself(dst)) {
      return fail(error, "elements of the destination lie at the same place: " + to_string(dst));
    }
    if (checked::mul(dst.offset, dst.item_size, &made.dst_offset) ||
        checked::mul(src.offset, src.item_size, &made.src_offset) || !make_loops(dst, src, &made) ||
        !coalesce(&made)) {
      return fail(error, "the layouts overflow: " + to_string(dst) + "; " + to_string(src));
    }
    made.kind = kind_of(made);
  }
  *plan = made;
  return true;
}

bool execute(const CopyPlan& plan, void* dst, size_t dst_bytes, const void* src, size_t src_bytes,
             std::string* error) {
  if (plan.dst_span > dst_bytes) {
    return fail(error, "the destination spans " + std::to_string(plan.dst_span) +
                           " bytes; its storage has " + std::to_string(dst_bytes));
  }
  if (plan.src_span > src_bytes) {
    return fail(error, "the source spans " + std::to_string(plan.src_span) +
                           " bytes; its storage has " + std::to_string(src_bytes));
  }
  if (plan.run_bytes == 0) return true;

  char* to = static_cast<char*>(dst) + plan.dst_offset;
  const char* from = static_cast<const char*>(src) + plan.src_offset;
  if (copies_onto_itself(plan, to, from)) return true;
  const auto to_start = reinterpret_cast<uintptr_t>(to);
  const auto from_start = reinterpret_cast<uintptr_t>(from);
  const size_t to_bytes = plan.dst_span - plan.dst_offset;
  const size_t from_bytes = plan.src_span - plan.src_offset;
  if (to_start < from_start ? from_start - to_start < to_bytes
                            : to_start - from_start < from_bytes) {
    return fail(error, "the destination's " + std::to_string(to_bytes) +
                           " bytes and the source's " + std::to_string(from_bytes) +
                           " share memory");
  }
  copy_loops(plan, 0, to, from);
  return true;
}

}  // namespace executorch_backends::layout
