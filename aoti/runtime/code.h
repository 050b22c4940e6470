/// A program's compiled code: a shared library that comes as bytes.
#pragma once

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/named_data_map.h>

#include <memory>

#include "executorch_backends/common/payload/sections.h"

namespace executorch_backends::aoti {

/// Loaded code. Handles that ask for equal bytes while others have them share one: it has no state
/// of its own, each container does.
class Code {
 public:
  /// The code that the program's named data hold. It is written to a private file that is gone
  /// when this returns. Logs and returns an error when the data lack it, when its size or SHA-256
  /// is another than the payload says, or when the linker refuses it.
  static executorch::runtime::Error load(const executorch::runtime::NamedDataMap* programs_data,
                                         const payload::NamedData& wanted,
                                         std::shared_ptr<const Code>* out);
  ~Code();
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;

  /// The address of a symbol, or null.
  void* find(const char* symbol) const;

 private:
  explicit Code(void* library) : library_(library) {}
  void* library_;
};

}  // namespace executorch_backends::aoti
