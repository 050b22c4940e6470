/// Compiled models: imported or compiled, and shared by handles that ask for equal ones.
#pragma once

#include <executorch/runtime/core/error.h>

#include <memory>
#include <string>
#include <utility>

#include "executorch_backends/openvino/runtime/options.h"
#include "executorch_backends/openvino/runtime/ov_objects.h"
#include "executorch_backends/openvino/runtime/payload.h"
#include "executorch_backends/openvino/runtime/weights.h"

namespace executorch_backends::openvino {

/// A compiled model, with all that must live as long as it does.
class Compiled {
 public:
  /// The payload's blob where it runs, else its IR, as `options.compile` says. `weights` are null
  /// where the payload has none. A model that is alive and equal is returned instead, unless it is
  /// dynamic: same device, properties and IR or code (by SHA-256), and the same weights in memory.
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

  /// Whether the sizes of an input may change from run to run. A run that fails, for instance on
  /// sizes that do not fit each other, spoils such a model: OpenVINO's CPU device takes the sizes
  /// of that run for those of later ones. So that no handle spoils another's, each has its own.
  bool dynamic() const { return dynamic_; }

  /// A dynamic model once more, from what this one was made of: imported again, or compiled again.
  /// An error for a blob that OpenVINO has copied, whose bytes are gone.
  executorch::runtime::Error remake(std::shared_ptr<const Compiled>* out) const;

  bool reads_weights() const { return weights_ != nullptr; }

 private:
  enum class From { kBlob, kIr };

  /// What it takes, beside the weights, to make a dynamic model once more.
  struct Recipe {
    From from;
    Options options;
    Payload payload;  // its views that are needed are of `ir`
    std::string ir;   // empty for a blob
  };

  void keep_recipe(From from, const Options& options, const Payload& payload);
  bool takes_many_sizes() const;

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
  bool dynamic_ = false;
  std::shared_ptr<const Recipe> recipe_;
};

}  // namespace executorch_backends::openvino
