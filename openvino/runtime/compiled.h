/// Compiled models: imported or compiled, and shared by handles that ask for equal ones.
#pragma once

#include <executorch/runtime/core/error.h>

#include <atomic>
#include <memory>
#include <mutex>
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

  /// A run of a model with dynamic inputs failed, for instance on sizes that do not fit each
  /// other. OpenVINO's CPU device then takes the sizes of that run for those of later ones, so
  /// that the model is of no more use, to no handle.
  void spoil() const { spoilt_ = true; }
  bool spoilt() const { return spoilt_; }

  /// The model compiled anew, or another handle's that has been. An error for a bare blob.
  executorch::runtime::Error remake(std::shared_ptr<const Compiled>* out) const;

  /// Held over a run of a model with dynamic inputs, so that no other one follows a failed run
  /// before the model is spoilt.
  std::mutex& runs() const { return runs_; }

  bool reads_weights() const { return weights_ != nullptr; }

 private:
  enum class From { kBlob, kIr };

  /// What it takes to compile a model once more.
  struct Recipe {
    Options options;
    Payload payload;
    std::string ir;  // the payload's, which is freed after loading
    std::shared_ptr<const Weights> weights;
  };

  void keep_recipe(const Options& options, const Payload& payload,
                   std::shared_ptr<const Weights> weights);

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
  std::unique_ptr<const Recipe> recipe_;  // of a model from IR with dynamic inputs
  mutable std::atomic<bool> spoilt_{false};
  mutable std::mutex runs_;
};

}  // namespace executorch_backends::openvino
