#include "executorch_backends/openvino/runtime/model.h"

#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <executorch/runtime/platform/log.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "executorch_backends/common/checked/checked.h"
#include "executorch_backends/common/layout/copy_plan.h"
#include "executorch_backends/common/layout/layout.h"
#include "executorch_backends/common/runtime/error.h"
#include "executorch_backends/openvino/runtime/element_type.h"

namespace executorch_backends::openvino {
namespace {

using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::FreeableBuffer;
using executorch::runtime::Span;

// OpenVINO refuses a null address, which an empty tensor may have.
char empty_storage;

std::string text_of(const int32_t* sizes, size_t rank) {
  std::string text = "[";
  for (size_t d = 0; d < rank; ++d) text += (d != 0 ? ", " : "") + std::to_string(sizes[d]);
  return text + "]";
}

std::string text_of(const std::vector<ValueSpec::Bounds>& dims) {
  std::string text = "[";
  for (size_t d = 0; d < dims.size(); ++d) {
    text += (d != 0 ? ", " : "") + std::to_string(dims[d].min);
    if (dims[d].max != dims[d].min) {
      text += ".." + (dims[d].max == -1 ? std::string("any") : std::to_string(dims[d].max));
    }
  }
  return text + "]";
}

bool fits(const Tensor& tensor, const std::vector<ValueSpec::Bounds>& dims) {
  if (static_cast<size_t>(tensor.dim()) != dims.size()) return false;
  for (size_t d = 0; d < dims.size(); ++d) {
    const int64_t size = tensor.sizes()[d];
    if (size < dims[d].min || (dims[d].max != -1 && size > dims[d].max)) return false;
  }
  return true;
}

bool in_default_order(const Tensor& tensor) {
  const auto order = tensor.dim_order();
  for (size_t d = 0; d < order.size(); ++d) {
    if (order[d] != d) return false;
  }
  return true;
}

/// Copies between a tensor in its own dim order and the same tensor in the default one.
Error reorder(const Tensor& tensor, void* packed, size_t packed_bytes, bool into_tensor) {
  const size_t rank = static_cast<size_t>(tensor.dim());
  layout::Layout own, plain;
  std::string reason = "its sizes or strides are out of range";
  const size_t item = executorch::runtime::elementSize(tensor.scalar_type());
  bool planned = layout::make_layout(tensor.sizes().data(), tensor.strides().data(), rank, 0, item,
                                     &own);
  plain = own;
  planned = planned && layout::strides_from_dim_order(rank, own.sizes, layout::kDefaultDimOrder,
                                                      &plain.strides);
  layout::CopyPlan plan;
  planned = planned && layout::plan_copy(into_tensor ? own : plain, into_tensor ? plain : own,
                                         &plan, &reason);
  void* storage = tensor.mutable_data_ptr();
  planned = planned && (into_tensor ? layout::execute(plan, storage, tensor.nbytes(), packed,
                                                      packed_bytes, &reason)
                                    : layout::execute(plan, packed, packed_bytes, storage,
                                                      tensor.nbytes(), &reason));
  ETB_REQUIRE(planned, InvalidArgument, "OpenVINO: cannot change the dim order of a tensor: %s",
              reason.c_str());
  return Error::Ok;
}

std::string devices_of(const OpenvinoApi& api, const ov_core_t* core) {
  ov_available_devices_t devices{};
  if (api.ov_core_get_available_devices(core, &devices) != ov_status_e::OK) return "unknown";
  std::string text;
  for (size_t i = 0; i < devices.size; ++i) {
    text += (i != 0 ? ", " : "") + std::string(devices.devices[i]);
  }
  api.ov_available_devices_free(&devices);
  return text.empty() ? "none" : text;
}

}  // namespace

std::shared_ptr<OwnedCore> shared_core(const std::shared_ptr<const OpenvinoApi>& api,
                                       std::string* error) {
  struct State {
    std::mutex mutex;
    std::shared_ptr<OwnedCore> core;
  };
  // Never destroyed: a core that is freed while the process ends finds its plugins unloaded.
  static State* const state = new State;
  std::lock_guard<std::mutex> lock(state->mutex);
  if (state->core == nullptr) {
    auto core = std::make_shared<OwnedCore>(api);
    if (api->ov_core_create(core->out()) != ov_status_e::OK || core->get() == nullptr) {
      *error = api->last_error();
      return nullptr;
    }
    // A CPU with bf16 instructions would otherwise compute float32 models in bfloat16: a blob
    // does not keep the precision that it was compiled with, and the C API's import takes no
    // properties. Fails where OpenVINO has no CPU plugin, which then needs no precision either.
    if (api->ov_core_set_property(core->get(), "CPU", "INFERENCE_PRECISION_HINT", "f32") !=
        ov_status_e::OK) {
      ET_LOG(Info, "OpenVINO has no CPU device here: %s", api->last_error());
    }
    state->core = std::move(core);
  }
  return state->core;
}

Model::Model(std::shared_ptr<const OpenvinoApi> api)
    : api_(std::move(api)), compiled_(api_), request_(api_) {}

Error Model::create(std::shared_ptr<const OpenvinoApi> api, const std::string& device,
                    FreeableBuffer* blob, std::unique_ptr<Model>* out) {
  Payload payload;
  ETB_TRY(parse_payload(blob->data(), blob->size(), &payload));
  std::unique_ptr<Model> model(new Model(std::move(api)));
  const std::string chosen =
      !device.empty() ? device : (!payload.device.empty() ? payload.device : "CPU");
  ETB_TRY(model->import(payload, chosen));
  ETB_TRY(model->describe_ports(payload));
  ETB_REQUIRE(model->api_->ov_compiled_model_create_infer_request(
                  model->compiled_.get(), model->request_.out()) == ov_status_e::OK,
              Internal, "OpenVINO: cannot create an infer request on %s: %s", chosen.c_str(),
              model->api_->last_error());
  if (model->api_->version.binds_blobs()) {
    model->blob_.emplace(std::move(*blob));
  } else {
    blob->Free();
  }
  *out = std::move(model);
  return Error::Ok;
}

Error Model::import(const Payload& payload, const std::string& device) {
  const Version& runtime = api_->version;
  if (payload.has_envelope) {
    const Version made_by = Version::parse(payload.version);
    ETB_REQUIRE(made_by.text == runtime.text ||
                    (!made_by.binds_blobs() && !runtime.binds_blobs() && made_by.year != 0),
                DelegateInvalidCompatibility,
                "OpenVINO: the program was compiled by OpenVINO %s for %s (%s); this runtime is %s. "
                "From 2026.4 on a compiled model runs on the version that made it: install that "
                "one, or lower again",
                payload.version.c_str(), payload.device.c_str(), payload.isa.c_str(),
                runtime.text.c_str());
  }
  std::string reason;
  core_ = shared_core(api_, &reason);
  ETB_REQUIRE(core_ != nullptr, Internal, "OpenVINO %s: cannot create a core: %s",
              runtime.text.c_str(), reason.c_str());
  const ov_status_e status =
      api_->ov_core_import_model(core_->get(), static_cast<const char*>(payload.blob),
                                 payload.blob_size, device.c_str(), compiled_.out());
  if (status != ov_status_e::OK || compiled_.get() == nullptr) {
    const std::string why = api_->last_error();
    ETB_FAIL(InvalidProgram,
             "OpenVINO %s: cannot import the compiled model (%zu bytes, made by OpenVINO %s for %s) "
             "on device '%s' (status %d); devices here: %s. %s",
             runtime.text.c_str(), payload.blob_size,
             payload.has_envelope ? payload.version.c_str() : "of an unknown version",
             payload.has_envelope ? payload.device.c_str() : "an unknown device", device.c_str(),
             static_cast<int>(status), devices_of(*api_, core_->get()).c_str(), why.c_str());
  }
  return Error::Ok;
}

Error Model::describe_port(bool input, size_t index, ValueSpec* out) {
  OwnedPort port(api_);
  const auto get = input ? api_->ov_compiled_model_input_by_index
                         : api_->ov_compiled_model_output_by_index;
  OwnedPartialShape shape(api_);
  ETB_REQUIRE(get(compiled_.get(), index, port.out()) == ov_status_e::OK &&
                  api_->ov_port_get_element_type(port.get(), &out->type) == ov_status_e::OK &&
                  api_->ov_port_get_partial_shape(port.get(), shape.out()) == ov_status_e::OK,
              Internal, "OpenVINO: cannot describe %s %zu: %s", input ? "input" : "output", index,
              api_->last_error());
  const ov_rank_t& rank = shape.get().rank;
  ETB_REQUIRE(rank.min == rank.max && rank.min >= 0, NotSupported,
              "OpenVINO: %s %zu has a rank between %lld and %lld; a program needs one rank",
              input ? "input" : "output", index, static_cast<long long>(rank.min),
              static_cast<long long>(rank.max));
  for (int64_t d = 0; d < rank.min; ++d) {
    out->dims.push_back({shape.get().dims[d].min, shape.get().dims[d].max});
  }
  return Error::Ok;
}

Error Model::describe_ports(const Payload& payload) {
  size_t counts[2] = {0, 0};
  ETB_REQUIRE(
      api_->ov_compiled_model_inputs_size(compiled_.get(), &counts[0]) == ov_status_e::OK &&
          api_->ov_compiled_model_outputs_size(compiled_.get(), &counts[1]) == ov_status_e::OK,
      Internal, "OpenVINO: cannot count the model's inputs and outputs: %s", api_->last_error());
  for (const bool input : {true, false}) {
    std::vector<Slot>& slots = input ? inputs_ : outputs_;
    const std::vector<ValueSpec>& declared = input ? payload.inputs : payload.outputs;
    const char* kind = input ? "input" : "output";
    const size_t count = counts[input ? 0 : 1];
    ETB_REQUIRE(!payload.has_envelope || declared.size() == count, InvalidProgram,
                "OpenVINO: the payload declares %zu %ss, and the compiled model has %zu",
                declared.size(), kind, count);
    slots.resize(count);
    for (size_t i = 0; i < count; ++i) {
      ValueSpec port;
      ETB_TRY(describe_port(input, i, &port));
      if (payload.has_envelope) {
        ETB_REQUIRE(declared[i].type == port.type && declared[i].dims.size() == port.dims.size(),
                    InvalidProgram,
                    "OpenVINO: the payload declares %s %zu as %s of rank %zu, and the compiled "
                    "model has %s of rank %zu",
                    kind, i, name_of(declared[i].type), declared[i].dims.size(),
                    name_of(port.type), port.dims.size());
        // The tighter of the two: a bound of the program, or what OpenVINO inferred.
        for (size_t d = 0; d < port.dims.size(); ++d) {
          ValueSpec::Bounds& bounds = port.dims[d];
          const ValueSpec::Bounds& promised = declared[i].dims[d];
          bounds.min = std::max(bounds.min, promised.min);
          if (promised.max != -1) {
            bounds.max = bounds.max == -1 ? promised.max : std::min(bounds.max, promised.max);
          }
        }
        port.symbolic_integer = declared[i].symbolic_integer;
      }
      slots[i].spec = std::move(port);
    }
  }
  return Error::Ok;
}

Error Model::bind(bool input, size_t index, Slot* slot, void* data) {
  std::array<int64_t, layout::kMaxRank> dims{};
  ETB_REQUIRE(slot->sizes.size() <= dims.size(), NotSupported,
              "OpenVINO: rank %zu; %zu is the most", slot->sizes.size(), dims.size());
  std::copy(slot->sizes.begin(), slot->sizes.end(), dims.begin());
  // Not ov_shape_create: it refuses rank 0.
  ov_shape_t shape{static_cast<int64_t>(slot->sizes.size()),
                   slot->sizes.empty() ? nullptr : dims.data()};
  OwnedTensor tensor(api_);
  ETB_REQUIRE(api_->ov_tensor_create_from_host_ptr(slot->spec.type, shape,
                                                   data != nullptr ? data : &empty_storage,
                                                   tensor.out()) == ov_status_e::OK,
              Internal, "OpenVINO: cannot wrap %s %zu, %s %s: %s", input ? "input" : "output",
              index, name_of(slot->spec.type),
              text_of(slot->sizes.data(), slot->sizes.size()).c_str(), api_->last_error());
  const auto set = input ? api_->ov_infer_request_set_input_tensor_by_index
                         : api_->ov_infer_request_set_output_tensor_by_index;
  ETB_REQUIRE(set(request_.get(), index, tensor.get()) == ov_status_e::OK, Internal,
              "OpenVINO: cannot bind %s %zu, %s %s: %s", input ? "input" : "output", index,
              name_of(slot->spec.type), text_of(slot->sizes.data(), slot->sizes.size()).c_str(),
              api_->last_error());
  slot->bound = true;
  return Error::Ok;
}

Error Model::bind_input(size_t index, EValue* value) {
  Slot& slot = inputs_[index];
  if (value->isInt()) {
    ETB_REQUIRE(slot.spec.type == I64 && slot.spec.dims.size() <= 1, InvalidArgument,
                "OpenVINO: input %zu is an int, and the model takes %s of rank %zu", index,
                name_of(slot.spec.type), slot.spec.dims.size());
    // The integer lives in the EValue, whose address may change: bound anew in each call.
    slot.sizes.assign(slot.spec.dims.size(), 1);
    return bind(true, index, &slot, &value->payload.copyable_union.as_int);
  }
  ETB_REQUIRE(value->isTensor(), InvalidArgument,
              "OpenVINO: input %zu is neither a tensor nor an int", index);
  const Tensor& tensor = value->toTensor();
  const size_t rank = static_cast<size_t>(tensor.dim());
  if (slot.bound && slot.data == tensor.const_data_ptr() && slot.sizes.size() == rank &&
      std::equal(slot.sizes.begin(), slot.sizes.end(), tensor.sizes().begin()) &&
      element_type_of(tensor.scalar_type()) == slot.spec.type &&
      in_default_order(tensor) != slot.strided) {
    if (!slot.strided) return Error::Ok;
    return reorder(tensor, slot.staging.data(), slot.staging.size(), /*into_tensor=*/false);
  }
  slot.bound = false;
  ETB_REQUIRE(element_type_of(tensor.scalar_type()) == slot.spec.type, InvalidArgument,
              "OpenVINO: input %zu has dtype %s, and the model takes %s", index,
              executorch::runtime::toString(tensor.scalar_type()), name_of(slot.spec.type));
  ETB_REQUIRE(fits(tensor, slot.spec.dims), InvalidArgument,
              "OpenVINO: input %zu has shape %s, and the model takes %s", index,
              text_of(tensor.sizes().data(), rank).c_str(), text_of(slot.spec.dims).c_str());
  slot.sizes.assign(tensor.sizes().begin(), tensor.sizes().end());
  slot.data = tensor.const_data_ptr();
  slot.strided = !in_default_order(tensor);
  void* storage = tensor.mutable_data_ptr();
  if (slot.strided) {
    slot.staging.resize(tensor.nbytes());
    ETB_TRY(reorder(tensor, slot.staging.data(), slot.staging.size(), /*into_tensor=*/false));
    storage = slot.staging.data();
  }
  return bind(true, index, &slot, storage);
}

Error Model::bind_output(size_t index, EValue* value) {
  Slot& slot = outputs_[index];
  ETB_REQUIRE(value->isTensor(), InvalidArgument, "OpenVINO: output %zu is not a tensor", index);
  const Tensor& tensor = value->toTensor();
  const size_t rank = static_cast<size_t>(tensor.dim());
  if (slot.settled && slot.data == tensor.const_data_ptr() && slot.sizes.size() == rank &&
      std::equal(slot.sizes.begin(), slot.sizes.end(), tensor.sizes().begin()) &&
      element_type_of(tensor.scalar_type()) == slot.spec.type) {
    return Error::Ok;
  }
  slot.settled = false;
  ETB_REQUIRE(element_type_of(tensor.scalar_type()) == slot.spec.type, InvalidArgument,
              "OpenVINO: output %zu has dtype %s, and the model gives %s", index,
              executorch::runtime::toString(tensor.scalar_type()), name_of(slot.spec.type));
  ETB_REQUIRE(rank == slot.spec.dims.size(), InvalidArgument,
              "OpenVINO: output %zu has rank %zu, and the model gives %zu", index, rank,
              slot.spec.dims.size());
  // OpenVINO fills the program's memory when it knows the shape before it runs.
  slot.fetched = slot.spec.dynamic() || !in_default_order(tensor) || tensor.numel() == 0;
  if (slot.fetched) return Error::Ok;
  ETB_REQUIRE(fits(tensor, slot.spec.dims), InvalidArgument,
              "OpenVINO: output %zu has shape %s, and the model gives %s", index,
              text_of(tensor.sizes().data(), rank).c_str(), text_of(slot.spec.dims).c_str());
  slot.sizes.assign(tensor.sizes().begin(), tensor.sizes().end());
  slot.data = tensor.const_data_ptr();
  return bind(false, index, &slot, tensor.mutable_data_ptr());
}

Error Model::settle_output(size_t index, EValue* value) {
  Slot& slot = outputs_[index];
  if (slot.settled) return Error::Ok;
  if (!slot.fetched) {
    // A parameter that is a result too, and whatever else OpenVINO keeps where it wants: it
    // ignores the tensor that was set.
    OwnedTensor tensor(api_);
    void* data = nullptr;
    ETB_REQUIRE(api_->ov_infer_request_get_output_tensor_by_index(
                    request_.get(), index, tensor.out()) == ov_status_e::OK &&
                    api_->ov_tensor_data(tensor.get(), &data) == ov_status_e::OK,
                Internal, "OpenVINO: cannot read output %zu: %s", index, api_->last_error());
    slot.fetched = data != value->toTensor().const_data_ptr();
  }
  if (slot.fetched) return fetch_output(index, value);
  slot.settled = true;
  return Error::Ok;
}

Error Model::fetch_output(size_t index, EValue* value) {
  const Slot& slot = outputs_[index];
  OwnedTensor result(api_);
  OwnedShape shape(api_);
  ETB_REQUIRE(api_->ov_infer_request_get_output_tensor_by_index(request_.get(), index,
                                                                result.out()) == ov_status_e::OK &&
                  api_->ov_tensor_get_shape(result.get(), shape.out()) == ov_status_e::OK,
              Internal, "OpenVINO: cannot read output %zu: %s", index, api_->last_error());
  const Tensor& tensor = value->toTensor();
  std::array<executorch::aten::SizesType, layout::kMaxRank> sizes{};
  const size_t rank = static_cast<size_t>(shape.get().rank);
  ETB_REQUIRE(rank == slot.spec.dims.size() && rank <= sizes.size(), InvalidProgram,
              "OpenVINO: output %zu came with rank %zu, and %zu was promised", index, rank,
              slot.spec.dims.size());
  for (size_t d = 0; d < rank; ++d) {
    ETB_REQUIRE(!checked::narrow(shape.get().dims[d], &sizes[d]), InvalidProgram,
                "OpenVINO: output %zu came with size %lld in dimension %zu", index,
                static_cast<long long>(shape.get().dims[d]), d);
  }
  ETB_REQUIRE(executorch::runtime::resize_tensor(tensor, {sizes.data(), rank}) == Error::Ok,
              InvalidProgram, "OpenVINO: output %zu came with shape %s, which does not fit the "
              "program's %s", index, text_of(sizes.data(), rank).c_str(),
              text_of(tensor.sizes().data(), static_cast<size_t>(tensor.dim())).c_str());
  if (tensor.numel() == 0) return Error::Ok;
  void* data = nullptr;
  size_t bytes = 0;
  ETB_REQUIRE(api_->ov_tensor_data(result.get(), &data) == ov_status_e::OK && data != nullptr &&
                  api_->ov_tensor_get_byte_size(result.get(), &bytes) == ov_status_e::OK,
              Internal, "OpenVINO: cannot read output %zu: %s", index, api_->last_error());
  ETB_REQUIRE(bytes == tensor.nbytes(), InvalidProgram,
              "OpenVINO: output %zu came with %zu bytes, and the program's tensor has %zu", index,
              bytes, tensor.nbytes());
  if (!in_default_order(tensor)) return reorder(tensor, data, bytes, /*into_tensor=*/true);
  if (data != tensor.mutable_data_ptr()) std::memcpy(tensor.mutable_data_ptr(), data, bytes);
  return Error::Ok;
}

Error Model::execute(Span<EValue*> values) {
  std::lock_guard<std::mutex> lock(mutex_);
  ETB_REQUIRE(values.size() == inputs_.size() + outputs_.size(), InvalidArgument,
              "OpenVINO: got %zu values, and the model has %zu inputs and %zu outputs",
              values.size(), inputs_.size(), outputs_.size());
  for (size_t i = 0; i < inputs_.size(); ++i) ETB_TRY(bind_input(i, values[i]));
  EValue* const* results = values.data() + inputs_.size();
  for (size_t i = 0; i < outputs_.size(); ++i) ETB_TRY(bind_output(i, results[i]));
  ETB_REQUIRE(api_->ov_infer_request_infer(request_.get()) == ov_status_e::OK, Internal,
              "OpenVINO %s: the run failed: %s", api_->version.text.c_str(), api_->last_error());
  for (size_t i = 0; i < outputs_.size(); ++i) ETB_TRY(settle_output(i, results[i]));
  return Error::Ok;
}

}  // namespace executorch_backends::openvino
