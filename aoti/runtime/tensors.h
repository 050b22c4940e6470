/// What goes into a run and what comes out of it, checked against what the program declares.
#pragma once

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>

#include <cstddef>
#include <cstdint>

#include "executorch_backends/aoti/runtime/container.h"
#include "executorch_backends/common/layout/layout.h"
#include "executorch_backends/common/payload/io_table.h"

namespace executorch_backends::aoti {

/// A tensor of the caller.
struct Given {
  void* data = nullptr;
  size_t bytes = 0;
  layout::Layout layout;  // as it lies there
  layout::Layout wanted;  // as the program was compiled for
  bool as_wanted = false;
};

/// Checks dtype, rank, bounds and memory of input `index`; its layout may differ from the wanted
/// one. An int is put into `*integer`, and is then a tensor of rank 0.
executorch::runtime::Error check_input(size_t index, const payload::Value& spec,
                                       const executorch::runtime::EValue& value, int64_t* integer,
                                       Given* out);

/// A tensor of a program over borrowed memory.
executorch::runtime::Error borrow(void* data, size_t bytes, const layout::Layout& layout,
                                  executorch::aten::ScalarType type, OwnedTensor* out);

/// What a run returned: any view of any storage.
struct Returned {
  executorch::aten::ScalarType type{};
  std::byte* storage = nullptr;
  size_t storage_bytes = 0;
  layout::Layout layout;
};

executorch::runtime::Error describe(size_t index, const OwnedTensor& tensor, Returned* out);

/// Checks dtype and rank of what came as output `index`, gives the caller's tensor its shape, and
/// says how that tensor lies. An int is to be written to `*integer`.
executorch::runtime::Error shape_output(size_t index, const payload::Value& spec,
                                        const Returned& returned,
                                        const executorch::runtime::EValue& value, int64_t* integer,
                                        Given* out);

}  // namespace executorch_backends::aoti
