#include "executorch_backends/openvino/runtime/model.h"

#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "executorch_backends/common/checked/checked.h"
#include "executorch_backends/common/layout/layout.h"
#include "executorch_backends/common/runtime/error.h"
#include "executorch_backends/common/runtime/tensors.h"
#include "executorch_backends/openvino/runtime/element_type.h"
#include "executorch_backends/openvino/runtime/profiling.h"
#include "executorch_backends/openvino/runtime/tensors.h"

namespace executorch_backends::openvino {
namespace {

using executorch::aten::Tensor;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::EventTracer;
using executorch::runtime::Span;
using payload::text_of;
using runtime::fits;
using runtime::has_memory;
using runtime::text_of;

// OpenVINO refuses a null address, which an empty tensor may have.
char empty_storage;

/// Adds to what the compiled model says of a value what the program promises.
Error narrow(const ValueSpec& declared, const char* kind, size_t index, ValueSpec* port) {
  ETB_REQUIRE(declared.type == port->type && declared.dims.size() == port->dims.size(),
              InvalidProgram,
              "OpenVINO: the payload declares %s %zu as %s of rank %zu, and the compiled model has "
              "%s of rank %zu",
              kind, index, name_of(declared.type), declared.dims.size(), name_of(port->type),
              port->dims.size());
  // The tighter of the two: a bound of the program, or what OpenVINO inferred.
  for (size_t d = 0; d < port->dims.size(); ++d) {
    ValueSpec::Bounds& bounds = port->dims[d];
    const ValueSpec::Bounds compiled = bounds;
    const ValueSpec::Bounds& promised = declared.dims[d];
    bounds.min = std::max(bounds.min, promised.min);
    if (promised.max != -1) {
      bounds.max = bounds.max == -1 ? promised.max : std::min(bounds.max, promised.max);
    }
    ETB_REQUIRE(bounds.max == -1 || bounds.min <= bounds.max, InvalidProgram,
                "OpenVINO: the payload declares dimension %zu of %s %zu as %s, and the compiled "
                "model has %s",
                d, kind, index, text_of({promised}).c_str(), text_of({compiled}).c_str());
  }
  port->same_as_input = declared.same_as_input;
  port->same_as_output = declared.same_as_output;
  return Error::Ok;
}

Error make_request(const Compiled& compiled, OwnedInferRequest* out) {
  ETB_REQUIRE(compiled.api()->ov_compiled_model_create_infer_request(compiled.get(), out->out()) ==
                  ov_status_e::OK,
              Internal, "OpenVINO: cannot create an infer request on %s: %s",
              compiled.device().c_str(), compiled.api()->last_error().c_str());
  return Error::Ok;
}

}  // namespace

Model::Model(std::shared_ptr<const Compiled> compiled, std::shared_ptr<const WeightsLease> lease,
             bool profile)
    : api_(compiled->api()),
      lease_(std::move(lease)),
      profile_(profile),
      compiled_(std::move(compiled)),
      request_(api_) {}

Error Model::create(std::shared_ptr<const Compiled> compiled,
                    std::shared_ptr<const WeightsLease> lease, const Payload& payload, bool profile,
                    std::unique_ptr<Model>* out) {
  std::unique_ptr<Model> model(new Model(std::move(compiled), std::move(lease), profile));
  ETB_TRY(model->describe_ports(payload));
  ETB_TRY(make_request(*model->compiled_, &model->request_));
  *out = std::move(model);
  return Error::Ok;
}

Error Model::recover() {
  std::shared_ptr<const Compiled> fresh;
  ETB_TRY(compiled_->remake(&fresh));
  OwnedInferRequest request(api_);
  ETB_TRY(make_request(*fresh, &request));
  request_ = std::move(request);  // the old one goes before its model
  compiled_ = std::move(fresh);
  for (Slot& slot : inputs_) slot.bound = false;
  for (Slot& slot : outputs_) {
    slot.bound = false;
    slot.kept = Kept::kByOpenvino;
  }
  learned_ = false;
  spoilt_ = false;
  return Error::Ok;
}

Error Model::describe_port(bool input, size_t index, ValueSpec* out) {
  OwnedPort port(api_);
  const auto get =
      input ? api_->ov_compiled_model_input_by_index : api_->ov_compiled_model_output_by_index;
  OwnedPartialShape shape(api_);
  ETB_REQUIRE(get(compiled_->get(), index, port.out()) == ov_status_e::OK &&
                  api_->ov_port_get_element_type(port.get(), &out->type) == ov_status_e::OK &&
                  api_->ov_port_get_partial_shape(port.get(), shape.out()) == ov_status_e::OK,
              Internal, "OpenVINO: cannot describe %s %zu: %s", input ? "input" : "output", index,
              api_->last_error().c_str());
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
  for (const bool input : {true, false}) {
    std::vector<Slot>& slots = input ? inputs_ : outputs_;
    const std::vector<ValueSpec>& declared = input ? payload.inputs : payload.outputs;
    const char* kind = input ? "input" : "output";
    const auto size =
        input ? api_->ov_compiled_model_inputs_size : api_->ov_compiled_model_outputs_size;
    size_t ports = 0;
    ETB_REQUIRE(size(compiled_->get(), &ports) == ov_status_e::OK, Internal,
                "OpenVINO: cannot count the model's %ss: %s", kind, api_->last_error().c_str());
    ETB_REQUIRE(!payload.has_envelope || declared.size() == ports, InvalidProgram,
                "OpenVINO: the payload declares %zu %ss, and the compiled model has %zu",
                declared.size(), kind, ports);
    slots.resize(ports);
    for (size_t i = 0; i < ports; ++i) {
      ETB_TRY(describe_port(input, i, &slots[i].spec));
      if (payload.has_envelope) ETB_TRY(narrow(declared[i], kind, i, &slots[i].spec));
    }
  }
  return Error::Ok;
}

Error Model::bind(bool input, size_t index, Slot* slot, void* data) {
  slot->bound = false;
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
              text_of(slot->sizes.data(), slot->sizes.size()).c_str(), api_->last_error().c_str());
  const auto set = input ? api_->ov_infer_request_set_input_tensor_by_index
                         : api_->ov_infer_request_set_output_tensor_by_index;
  ETB_REQUIRE(set(request_.get(), index, tensor.get()) == ov_status_e::OK, Internal,
              "OpenVINO: cannot bind %s %zu, %s %s: %s", input ? "input" : "output", index,
              name_of(slot->spec.type), text_of(slot->sizes.data(), slot->sizes.size()).c_str(),
              api_->last_error().c_str());
  slot->storage = data;
  slot->bound = true;
  return Error::Ok;
}

bool Model::Slot::holds(const Tensor& tensor) const {
  return bound && data == tensor.const_data_ptr() &&
         sizes.size() == static_cast<size_t>(tensor.dim()) &&
         std::equal(sizes.begin(), sizes.end(), tensor.sizes().begin()) &&
         element_type_of(tensor.scalar_type()) == spec.type && in_default_order(tensor) != strided;
}

void Model::Slot::take(const Tensor& tensor) {
  bound = false;  // also if what is still to be checked refuses the tensor
  sizes.assign(tensor.sizes().begin(), tensor.sizes().end());
  data = tensor.const_data_ptr();
  strided = !in_default_order(tensor);
  if (strided) staging.resize(tensor.nbytes());
}

Error Model::bind_integer(size_t index, int64_t integer) {
  Slot& slot = inputs_[index];
  ETB_REQUIRE(slot.spec.type == I64 && slot.spec.dims.size() <= 1, InvalidArgument,
              "OpenVINO: input %zu is an int, and the model takes %s of rank %zu", index,
              name_of(slot.spec.type), slot.spec.dims.size());
  ETB_TRY(check_range(index, &integer, 1));
  slot.integer = integer;
  if (slot.bound && slot.data == &slot.integer) return Error::Ok;
  slot.sizes.assign(slot.spec.dims.size(), 1);
  slot.data = &slot.integer;
  slot.strided = false;
  return bind(true, index, &slot, &slot.integer);
}

Error Model::check_range(size_t index, const int64_t* numbers, size_t count) const {
  const size_t beyond = first_beyond_int32(numbers, count);
  ETB_REQUIRE(beyond == count, InvalidArgument,
              "OpenVINO: input %zu holds %lld (element %zu), and OpenVINO computes int64 in 32 "
              "bits; keep such numbers out of the delegated part",
              index, static_cast<long long>(numbers[beyond]), beyond);
  return Error::Ok;
}

Error Model::bind_input(size_t index, const EValue& value) {
  Slot& slot = inputs_[index];
  if (value.isInt()) return bind_integer(index, value.toInt());
  ETB_REQUIRE(value.isTensor(), InvalidArgument,
              "OpenVINO: input %zu is neither a tensor nor an int", index);
  const Tensor& tensor = value.toTensor();
  const bool held = slot.holds(tensor);
  if (!held) {
    ETB_REQUIRE(element_type_of(tensor.scalar_type()) == slot.spec.type, InvalidArgument,
                "OpenVINO: input %zu has dtype %s, and the model takes %s", index,
                executorch::runtime::toString(tensor.scalar_type()), name_of(slot.spec.type));
    ETB_REQUIRE(fits(tensor, slot.spec.dims), InvalidArgument,
                "OpenVINO: input %zu has shape %s, and the model takes %s", index,
                text_of(tensor).c_str(), text_of(slot.spec.dims).c_str());
    ETB_REQUIRE(has_memory(tensor), InvalidArgument, "OpenVINO: input %zu has no memory", index);
    slot.take(tensor);
  }
  if (slot.spec.type == I64) {
    ETB_TRY(
        check_range(index, tensor.const_data_ptr<int64_t>(), static_cast<size_t>(tensor.numel())));
  }
  if (slot.strided) ETB_TRY(pack(tensor, slot.staging.data(), slot.staging.size()));
  if (held) return Error::Ok;
  return bind(true, index, &slot,
              slot.strided ? static_cast<void*>(slot.staging.data()) : tensor.mutable_data_ptr());
}

Error Model::bind_output(size_t index, const EValue& value) {
  Slot& slot = outputs_[index];
  ETB_REQUIRE(value.isTensor(), InvalidArgument, "OpenVINO: output %zu is not a tensor", index);
  const Tensor& tensor = value.toTensor();
  if (slot.holds(tensor)) return Error::Ok;
  slot.bound = false;
  ETB_REQUIRE(element_type_of(tensor.scalar_type()) == slot.spec.type, InvalidArgument,
              "OpenVINO: output %zu has dtype %s, and the model gives %s", index,
              executorch::runtime::toString(tensor.scalar_type()), name_of(slot.spec.type));
  ETB_REQUIRE(static_cast<size_t>(tensor.dim()) == slot.spec.dims.size(), InvalidArgument,
              "OpenVINO: output %zu has rank %zd, and the model gives %zu", index, tensor.dim(),
              slot.spec.dims.size());
  // Copied, or of a shape that the run says.
  if (!slot.spec.computed() || slot.spec.dynamic()) return Error::Ok;
  ETB_REQUIRE(fits(tensor, slot.spec.dims), InvalidArgument,
              "OpenVINO: output %zu has shape %s, and the model gives %s", index,
              text_of(tensor).c_str(), text_of(slot.spec.dims).c_str());
  ETB_REQUIRE(has_memory(tensor), InvalidArgument, "OpenVINO: output %zu has no memory", index);
  if (slot.kept != Kept::kByProgram || tensor.numel() == 0) return Error::Ok;
  slot.take(tensor);
  return bind(false, index, &slot,
              slot.strided ? static_cast<void*>(slot.staging.data()) : tensor.mutable_data_ptr());
}

Error Model::collect_output(size_t index, const EValue& value) {
  Slot& slot = outputs_[index];
  if (!slot.bound) return fetch_output(index, value);
  if (!slot.strided) return Error::Ok;
  return unpack(slot.staging.data(), slot.staging.size(), value.toTensor());
}

Error Model::learn_where_outputs_are() {
  learned_ = true;
  std::vector<const void*> taken;
  for (const Slot& slot : inputs_) taken.push_back(slot.storage);
  for (size_t i = 0; i < outputs_.size(); ++i) {
    OwnedTensor tensor(api_);
    void* data = nullptr;
    if (!outputs_[i].spec.computed() || outputs_[i].spec.dynamic()) continue;
    if (api_->ov_infer_request_get_output_tensor_by_index(request_.get(), i, tensor.out()) !=
            ov_status_e::OK ||
        api_->ov_tensor_data(tensor.get(), &data) != ov_status_e::OK) {
      learned_ = false;
      ETB_FAIL(Internal, "OpenVINO: cannot read output %zu: %s", i, api_->last_error().c_str());
    }
    const bool shared = std::find(taken.begin(), taken.end(), data) != taken.end();
    outputs_[i].kept = shared ? Kept::kByOpenvino : Kept::kByProgram;
    taken.push_back(data);
  }
  return Error::Ok;
}

Error Model::fetch_output(size_t index, const EValue& value) {
  const Slot& slot = outputs_[index];
  OwnedTensor result(api_);
  OwnedShape shape(api_);
  // ov_tensor_get_shape fails for rank 0, whose shape is known.
  ETB_REQUIRE(api_->ov_infer_request_get_output_tensor_by_index(request_.get(), index,
                                                                result.out()) == ov_status_e::OK &&
                  (slot.spec.dims.empty() ||
                   api_->ov_tensor_get_shape(result.get(), shape.out()) == ov_status_e::OK),
              Internal, "OpenVINO: cannot read output %zu: %s", index, api_->last_error().c_str());
  const Tensor& tensor = value.toTensor();
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
              InvalidProgram,
              "OpenVINO: output %zu came with shape %s, which does not fit the "
              "program's %s",
              index, text_of(sizes.data(), rank).c_str(), text_of(tensor).c_str());
  if (tensor.numel() == 0) return Error::Ok;
  ETB_REQUIRE(has_memory(tensor), InvalidArgument, "OpenVINO: output %zu has no memory", index);
  void* data = nullptr;
  size_t bytes = 0;
  ETB_REQUIRE(api_->ov_tensor_data(result.get(), &data) == ov_status_e::OK && data != nullptr &&
                  api_->ov_tensor_get_byte_size(result.get(), &bytes) == ov_status_e::OK,
              Internal, "OpenVINO: cannot read output %zu: %s", index, api_->last_error().c_str());
  ETB_REQUIRE(bytes == tensor.nbytes(), InvalidProgram,
              "OpenVINO: output %zu came with %zu bytes, and the program's tensor has %zu", index,
              bytes, tensor.nbytes());
  if (!in_default_order(tensor)) return unpack(data, bytes, tensor);
  std::memcpy(tensor.mutable_data_ptr(), data, bytes);
  return Error::Ok;
}

Error Model::copy_output(size_t index, Span<EValue*> values) {
  const ValueSpec& spec = outputs_[index].spec;
  const size_t source =
      spec.same_as_input ? *spec.same_as_input : inputs_.size() + *spec.same_as_output;
  ETB_REQUIRE(values[source]->isTensor(), InvalidArgument,
              "OpenVINO: output %zu is to equal a value that is not a tensor", index);
  const Tensor& from = values[source]->toTensor();
  const Tensor& to = values[inputs_.size() + index]->toTensor();
  ETB_REQUIRE(executorch::runtime::resize_tensor(to, from.sizes()) == Error::Ok, InvalidProgram,
              "OpenVINO: output %zu came with shape %s, which does not fit the program's %s", index,
              text_of(from).c_str(), text_of(to).c_str());
  return assign(to, from);
}

Error Model::run(EventTracer* tracer) {
  CallProfile profile(tracer);
  const bool good = api_->ov_infer_request_infer(request_.get()) == ov_status_e::OK;
  spoilt_ = !good && compiled_->dynamic();
  ETB_REQUIRE(good, Internal, "OpenVINO %s: the run failed: %s", api_->version.text.c_str(),
              api_->last_error().c_str());
  return profile.finish(api_, profile_ ? request_.get() : nullptr);
}

Error Model::execute(Span<EValue*> values, EventTracer* tracer) {
  std::lock_guard<std::mutex> lock(mutex_);
  ETB_REQUIRE(values.size() == inputs_.size() + outputs_.size(), InvalidArgument,
              "OpenVINO: got %zu values, and the model has %zu inputs and %zu outputs",
              values.size(), inputs_.size(), outputs_.size());
  for (size_t i = 0; i < values.size(); ++i) {
    ETB_REQUIRE(values[i] != nullptr, InvalidArgument, "OpenVINO: value %zu of the call is null",
                i);
  }
  if (spoilt_) ETB_TRY(recover());
  for (size_t i = 0; i < inputs_.size(); ++i) ETB_TRY(bind_input(i, *values[i]));
  for (size_t i = 0; i < outputs_.size(); ++i) ETB_TRY(bind_output(i, *values[inputs_.size() + i]));
  ETB_TRY(run(tracer));
  if (!learned_) ETB_TRY(learn_where_outputs_are());
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const EValue& result = *values[inputs_.size() + i];
    ETB_TRY(outputs_[i].spec.computed() ? collect_output(i, result) : copy_output(i, values));
  }
  return Error::Ok;
}

}  // namespace executorch_backends::openvino
