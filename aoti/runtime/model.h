/// A delegate handle: a program's container, and the call's tensors on their way in and out.
#pragma once

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/span.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "executorch_backends/aoti/runtime/container.h"
#include "executorch_backends/aoti/runtime/devices/device.h"
#include "executorch_backends/aoti/runtime/payload.h"
#include "executorch_backends/aoti/runtime/random_state.h"
#include "executorch_backends/aoti/runtime/tensors.h"

namespace executorch_backends::aoti {

/// `execute` may be called from several threads; calls take turns.
class Model {
 public:
  static executorch::runtime::Error create(Device* device, std::unique_ptr<Container> container,
                                           Payload payload, RandomState random,
                                           std::unique_ptr<Model>* out);

  /// Runs on `values`: the inputs, then the outputs, which are resized and filled.
  executorch::runtime::Error execute(
      executorch::runtime::Span<executorch::runtime::EValue*> values);

 private:
  using Values = executorch::runtime::Span<executorch::runtime::EValue*>;

  /// An input, and where it lies in the layout that the program was compiled for, if the caller's
  /// is another.
  struct Input {
    payload::Value spec;
    std::vector<std::byte> relaid;
    int64_t integer = 0;  // of an int
  };

  Model(Device* device, std::unique_ptr<Container> container, Payload payload, RandomState random);
  executorch::runtime::Error take_input(size_t index, const executorch::runtime::EValue& value);
  executorch::runtime::Error run();
  executorch::runtime::Error deliver(size_t index, Values values);

  Device* device_;
  std::unique_ptr<Container> container_;
  std::unique_ptr<Stream> stream_;
  std::vector<Input> inputs_;
  std::vector<payload::Value> outputs_;
  RandomState random_;
  std::vector<OwnedTensor> arguments_;
  std::vector<OwnedTensor> results_;
  std::mutex mutex_;
};

}  // namespace executorch_backends::aoti
