/// Compiled models: imported or compiled, and shared by handles that ask for equal ones.
#pragma once

#include <executorch/runtime/core/error.h>

#include <memory>
#include <string>

#include "executorch_backends/openvino/runtime/options.h"
#include "executorch_backends/openvino/runtime/ov_objects.h"
#include "executorch_backends/openvino/runtime/payload.h"
#include "executorch_backends/openvino/runtime/weights.h"

namespace executorch_backends::openvino {

/// A compiled model, with all that must live as long as it does.
class Compiled {
 public:
  /// The payload's blob where it runs, else its IR, as `options.compile` says. `weights` are null
  /// where the payload has none. A model that is alive and equal is returned instead: same
  /// device, properties and IR or code (by SHA-256), and the same weights in memory.
  ///
  /// Memory is kept as long as OpenVINO reads it: by models made from IR on every version, by
  /// imported blobs from 2026.4 on.
  static executorch::runtime::Error make(std::shared_ptr<const OpenvinoApi> api,
                                         const Options& options, const Payload& payload,
                                         std::shared_ptr<const Weights> weights,
                                         std::shared_ptr<const Compiled>* out);

  const std::shared_ptr<const OpenvinoApi>& api() const { return api_; }
  const ov_compiled_model_t* get() const { return model_.get(); }
  const std::string& device() const { return device_; }
  bool reads_weights() const { return weights_ != nullptr; }

 private:
  enum class From { kBlob, kIr };

  Compiled(std::shared_ptr<const OpenvinoApi> api, std::string device)
      : api_(std::move(api)), device_(std::move(device)), model_(api_) {}

  executorch::runtime::Error create(From from, const Options& options, const Payload& payload,
                                    const std::shared_ptr<const Weights>& weights,
                                    std::string* problem);
  bool import(const Payload::Blob& blob, Bytes weights, std::string* problem);
  bool compile(Bytes ir, Bytes weights, const Properties& properties, std::string* problem);

  std::shared_ptr<const OpenvinoApi> api_;
  std::string device_;
  // Destroyed from the last to the first: the model before the core, and both before the bytes.
  std::shared_ptr<const Weights> weights_;
  std::shared_ptr<const OwnedCore> core_;
  OwnedCompiledModel model_;
};

}  // namespace executorch_backends::openvino
