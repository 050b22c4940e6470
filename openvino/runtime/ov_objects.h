/// Owners of OpenVINO's C objects.
#pragma once

#include <memory>
#include <utility>

#include "executorch_backends/openvino/runtime/openvino_api.h"

namespace executorch_backends::openvino {

/// Owns one object, and the library that frees it.
template <typename Object, auto Free>
class Owned {
 public:
  Owned() = default;
  explicit Owned(std::shared_ptr<const OpenvinoApi> api) : api_(std::move(api)) {}
  ~Owned() { reset(); }
  Owned(Owned&& other) noexcept
      : api_(std::move(other.api_)), object_(std::exchange(other.object_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    if (this != &other) {
      reset();
      api_ = std::move(other.api_);
      object_ = std::exchange(other.object_, nullptr);
    }
    return *this;
  }

  Object* get() const { return object_; }

  /// For a function that returns the object through a pointer; frees what was held.
  Object** out() {
    reset();
    return &object_;
  }

 private:
  void reset() {
    if (object_ != nullptr) ((*api_).*Free)(object_);
    object_ = nullptr;
  }

  std::shared_ptr<const OpenvinoApi> api_;
  Object* object_ = nullptr;
};

using OwnedCore = Owned<ov_core_t, &OpenvinoApi::ov_core_free>;
using OwnedModel = Owned<ov_model_t, &OpenvinoApi::ov_model_free>;
using OwnedCompiledModel = Owned<ov_compiled_model_t, &OpenvinoApi::ov_compiled_model_free>;
using OwnedInferRequest = Owned<ov_infer_request_t, &OpenvinoApi::ov_infer_request_free>;
using OwnedTensor = Owned<ov_tensor_t, &OpenvinoApi::ov_tensor_free>;
using OwnedPort = Owned<ov_output_const_port_t, &OpenvinoApi::ov_output_const_port_free>;

/// A shape or partial shape, which OpenVINO fills in place.
template <typename Shape, auto Free>
class OwnedValue {
 public:
  explicit OwnedValue(std::shared_ptr<const OpenvinoApi> api) : api_(std::move(api)) {}
  ~OwnedValue() { ((*api_).*Free)(&value_); }
  OwnedValue(const OwnedValue&) = delete;
  OwnedValue& operator=(const OwnedValue&) = delete;
  Shape* out() { return &value_; }
  const Shape& get() const { return value_; }

 private:
  std::shared_ptr<const OpenvinoApi> api_;
  Shape value_{};
};

using OwnedProfile =
    OwnedValue<ov_profiling_info_list_t, &OpenvinoApi::ov_profiling_info_list_free>;
using OwnedShape = OwnedValue<ov_shape_t, &OpenvinoApi::ov_shape_free>;
using OwnedPartialShape = OwnedValue<ov_partial_shape_t, &OpenvinoApi::ov_partial_shape_free>;

}  // namespace executorch_backends::openvino
