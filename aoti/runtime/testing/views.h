/// Views of a program's buffer as outputs.
#pragma once

#include <cstdint>
#include <vector>

namespace executorch_backends::aoti::testing {

struct View {
  const char* script;
  std::vector<int32_t> sizes;
  std::vector<float> expected;  // from the input 1, 2, 3, 4, 5, 6
};

// Elements of the buffer: 2 · (1, 2, 3, 4, 5, 6, 1, …).
inline const View kViews[] = {
    {"output buffer 2,3 3,1 0", {2, 3}, {2, 4, 6, 8, 10, 12}},
    {"output buffer 3,2 1,3 0", {3, 2}, {2, 8, 4, 10, 6, 12}},  // transposed
    {"output buffer 2,2 3,1 1", {2, 2}, {4, 6, 10, 12}},        // a slice, with an offset
    {"output buffer 2,2 4,2 1", {2, 2}, {4, 8, 12, 4}},         // with a step
    {"output buffer 2,3 0,1 0", {2, 3}, {2, 4, 6, 2, 4, 6}},    // expanded
    {"output buffer 2,2 0,0 3", {2, 2}, {8, 8, 8, 8}},          // one element
    {"output buffer - - 0", {}, {2}},                           // 0-d
    {"output buffer - - 4", {}, {10}},                          // 0-d inside
    {"output buffer 0,3 3,1 0", {0, 3}, {}},                    // empty
    {"output buffer 2,0 7,9 0", {2, 0}, {}},                    // empty, of odd strides
    // Channels last.
    {"output buffer 1,2,2,2 8,1,4,2 0", {1, 2, 2, 2}, {2, 6, 10, 2, 4, 8, 12, 4}},
    {"output buffer 1,3 99,1 0", {1, 3}, {2, 4, 6}},  // a stride that nobody takes
    // Windows that overlap.
    {"output buffer 2,2,2 1,1,1 0", {2, 2, 2}, {2, 4, 4, 6, 4, 6, 6, 8}},
};

}  // namespace executorch_backends::aoti::testing
