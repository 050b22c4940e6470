/// A program's constants: one set for all of its containers, where they are if that is possible.
#pragma once

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/freeable_buffer.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

#include "executorch_backends/aoti/runtime/container.h"

namespace executorch_backends::aoti {

/// Constants in this process's memory, which their containers read and never write.
class Constants {
 public:
  /// `weights` are all constants, one after the other, as the code of `probe` reads them.
  /// AOTInductor says of what shape they are only once it has copied them: `probe` is a container
  /// that is used up by this. They stay where they are when each is aligned as AOTInductor's own
  /// copies are, and are copied once otherwise.
  static executorch::runtime::Error make(std::unique_ptr<Container> probe,
                                         executorch::runtime::FreeableBuffer&& weights,
                                         std::shared_ptr<const Constants>* out);

  const std::vector<Constant>& all() const { return all_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };

  executorch::runtime::Error place(const std::vector<Constant>& copies,
                                   executorch::runtime::FreeableBuffer&& weights,
                                   std::vector<std::byte*>* places);

  // The tensors go before what they are made of.
  std::optional<executorch::runtime::FreeableBuffer> weights_;
  std::unique_ptr<std::byte, Free> copy_;
  std::vector<Constant> all_;
};

}  // namespace executorch_backends::aoti
