#include "executorch_backends/openvino/runtime/testing/fake_openvino.h"

#include <openvino/c/openvino.h>

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "executorch_backends/openvino/runtime/testing/fake_ir.h"

using Properties = std::map<std::string, std::string>;

struct ov_core {
  std::map<std::string, Properties> properties;  // by device
};

struct ov_model {
  std::string ir;
  FakeModel ports;
  const char* weights = nullptr;
  size_t weights_size = 0;
};

struct ov_compiled_model {
  const char* content = nullptr;  // read again by every run, as OpenVINO from 2026.4 on does
  std::string copy;               // what older versions keep
  size_t size = 0;
  char kind = 's';  // '<' of an IR in XML, and of the blobs that it describes
  FakeModel ports;
  Properties properties;

  const char* bytes() const { return copy.empty() ? content : copy.data(); }
};

struct ov_tensor {
  ov_element_type_e type = F32;
  std::vector<int64_t> shape;
  void* data = nullptr;
  std::vector<char> own;
};

struct ov_infer_request {
  const ov_compiled_model* model = nullptr;
  std::vector<ov_tensor> tensors;
  std::vector<bool> output_set;  // by tensor
};

struct ov_output_const_port {
  FakePort port;
};

namespace {

std::string failing;
std::string described;
std::mutex last_model_mutex;
Properties last_model;
std::atomic<int> live{0};
std::atomic<int> imports{0};
std::atomic<int> compilations{0};
std::atomic<int> bindings{0};
std::string last_error = "nothing failed";

bool fails(const char* function) {
  if (failing != function) return false;
  last_error = std::string("the fake fails in ") + function;
  return true;
}

template <typename Object>
void give(Object* object, Object** out) {
  *out = object;
  ++live;
}

template <typename Object>
void take(Object* object) {
  if (object == nullptr) return;
  delete object;
  --live;
}

std::string version() {
  const char* text = std::getenv("FAKE_OPENVINO_VERSION");
  return std::string(text != nullptr ? text : "2026.4.1") + "-1-fake";
}

bool is_new() { return version() >= "2026.4"; }

constexpr size_t kMostBytes = 1 << 20;  // of a tensor of our own: an IR may ask for any number

FakeModel ports_of(char kind) {
  std::vector<ov_dimension_t> dims = {{2, 2}, {3, 3}};
  if (kind == 'z' || kind == 'i') dims.clear();
  if (kind == 'd') dims[0] = {1, 4};
  const auto port = [&](size_t tensor) { return FakePort{kind == 'i' ? I64 : F32, dims, tensor}; };
  if (kind == 'p') return {{port(0)}, {port(0)}, 1};
  if (kind == 'c') return {{port(0)}, {port(1), port(0), port(2)}, 3};
  return {{port(0)}, {port(1)}, 2};
}

bool is_kind(char kind) { return kind != '\0' && std::strchr("sdpczi", kind) != nullptr; }

/// What a text says, of one of our kinds or an IR.
bool read_model(const std::string& text, char* kind, FakeModel* ports) {
  *kind = text.size() < 2 ? '\0' : text[0];
  if (*kind == '<') return read_fake_ir(text, ports);
  *ports = ports_of(*kind);
  return is_kind(*kind);
}

/// Fails for the first device of `AUTO:GPU,NPU` that is not there.
bool is_device(const std::string& device) {
  const size_t colon = device.find(':');
  std::string names = colon == std::string::npos ? device : device.substr(colon + 1);
  if (device == "AUTO") return true;
  names += ',';
  for (size_t at = 0; at < names.size(); at = names.find(',', at) + 1) {
    const std::string name = names.substr(at, names.find(',', at) - at);
    if (name[0] == '-' || name == "CPU" || name == "GPU" || name == "GPU.0") continue;
    last_error = "no device called " + name;
    return false;
  }
  return true;
}

void remember(const ov_compiled_model& model) {
  std::lock_guard<std::mutex> lock(last_model_mutex);
  last_model = model.properties;
}

size_t count(const std::vector<int64_t>& shape) {
  size_t elements = 1;
  for (const int64_t size : shape) elements *= static_cast<size_t>(size);
  return elements;
}

/// Bytes of a tensor, or more than kMostBytes.
size_t bytes_of(ov_element_type_e type, const std::vector<int64_t>& shape) {
  size_t bytes = fake_item_size(type);
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  for (const int64_t size : shape) {
    if (static_cast<uint64_t>(size) > kMostBytes) return kMostBytes + 1;
    bytes *= static_cast<size_t>(size);
    if (bytes > kMostBytes) return kMostBytes + 1;
  }
  return bytes;
}

/// The shape of a result: what the model says, else that of an input of its rank, else as many as
/// the first input has elements.
std::vector<int64_t> shape_of(const FakePort& port, const std::vector<ov_tensor>& tensors,
                              const FakeModel& ports) {
  std::vector<int64_t> shape;
  for (size_t d = 0; d < port.dims.size(); ++d) {
    int64_t size = port.dims[d].min;
    if (size != port.dims[d].max) {
      size = ports.inputs.empty() ? 1 : static_cast<int64_t>(count(tensors[0].shape));
      for (const FakePort& input : ports.inputs) {
        const std::vector<int64_t>& other = tensors[input.tensor].shape;
        if (other.size() == port.dims.size()) size = other[d];
      }
    }
    shape.push_back(size);
  }
  return shape;
}

/// A tensor of the request's own. False where the model asks for more than we give.
bool allocate(const FakePort& port, const std::vector<int64_t>& shape, ov_tensor* out) {
  const size_t bytes = bytes_of(port.type, shape);
  if (fake_item_size(port.type) == 0 || bytes > kMostBytes) {
    last_error = "the fake has no such tensor";
    return false;
  }
  *out = ov_tensor();
  out->type = port.type;
  out->shape = shape;
  out->own.resize(bytes + 1);
  out->data = out->own.data();
  return true;
}

/// Every byte of the result is the last of the model plus all of the inputs.
char sum_of(const ov_infer_request& request) {
  const ov_compiled_model& model = *request.model;
  auto sum = static_cast<unsigned char>(model.bytes()[model.size - 1]);
  for (const FakePort& port : model.ports.inputs) {
    const ov_tensor& input = request.tensors[port.tensor];
    const auto* bytes = static_cast<const unsigned char*>(input.data);
    const size_t size = bytes == nullptr ? 0 : count(input.shape) * fake_item_size(input.type);
    for (size_t i = 0; i < size; ++i) sum = static_cast<unsigned char>(sum + bytes[i]);
  }
  return static_cast<char>(sum);
}

/// The input times two, plus the last byte of the model.
void compute(const ov_infer_request& request, ov_tensor* output) {
  const ov_compiled_model& model = *request.model;
  const ov_tensor& input = request.tensors[0];
  const char added = model.bytes()[model.size - 1];
  const size_t elements = count(input.shape);
  for (size_t i = 0; i < elements; ++i) {
    if (model.kind == 'i') {
      static_cast<int64_t*>(output->data)[i] = 2 * static_cast<int64_t*>(input.data)[i] + added;
    } else {
      static_cast<float*>(output->data)[i] =
          2 * static_cast<float*>(input.data)[i] + static_cast<float>(added);
    }
  }
}

ov_status_e set_tensor(const FakePort* port, ov_infer_request_t* request,
                       const ov_tensor_t* tensor) {
  if (!port->allows(tensor->type, tensor->shape)) {
    last_error = "the tensor's type or shape is not the port's";
    return ov_status_e::PARAMETER_MISMATCH;
  }
  request->tensors[port->tensor] = *tensor;
  ++bindings;
  return ov_status_e::OK;
}

/// The port of this number, or null.
const FakePort* port_at(const std::vector<FakePort>& ports, size_t index) {
  if (index < ports.size()) return &ports[index];
  last_error = "no port of this number";
  return nullptr;
}

}  // namespace

#define FAIL_IF_ASKED() \
  if (fails(__func__)) return ov_status_e::GENERAL_ERROR

extern "C" {

#define EXPORT __attribute__((visibility("default")))

EXPORT void fake_openvino_fail(const char* function) {
  failing = function != nullptr ? function : "";
}
EXPORT void fake_openvino_describe(const char* ir) { described = ir != nullptr ? ir : ""; }
EXPORT int fake_openvino_live_objects() { return live; }
EXPORT int fake_openvino_bindings() { return bindings; }
EXPORT int fake_openvino_imports() { return imports; }
EXPORT int fake_openvino_compilations() { return compilations; }
EXPORT const char* fake_openvino_property(const char* name) {
  thread_local std::string text;
  std::lock_guard<std::mutex> lock(last_model_mutex);
  text = last_model[name];
  return text.c_str();
}

EXPORT const char* ov_get_last_err_msg() {
  ++live;
  return strdup(last_error.c_str());
}
EXPORT void ov_free(const char* text) {
  std::free(const_cast<char*>(text));
  --live;
}

EXPORT ov_status_e ov_get_openvino_version(ov_version_t* out) {
  FAIL_IF_ASKED();
  out->buildNumber = strdup(version().c_str());
  out->description = strdup("fake");
  live += 1;
  return ov_status_e::OK;
}
EXPORT void ov_version_free(ov_version_t* version) {
  std::free(const_cast<char*>(version->buildNumber));
  std::free(const_cast<char*>(version->description));
  live -= 1;
}

EXPORT ov_status_e ov_core_create(ov_core_t** out) {
  FAIL_IF_ASKED();
  give(new ov_core, out);
  return ov_status_e::OK;
}
EXPORT void ov_core_free(ov_core_t* core) { take(core); }
EXPORT ov_status_e ov_core_set_property(const ov_core_t* core, const char* device, ...) {
  FAIL_IF_ASKED();
  va_list pair;
  va_start(pair, device);
  const char* key = va_arg(pair, const char*);
  const_cast<ov_core_t*>(core)->properties[device][key] = va_arg(pair, const char*);
  va_end(pair);
  return ov_status_e::OK;
}
EXPORT ov_status_e ov_core_get_available_devices(const ov_core_t*, ov_available_devices_t* out) {
  FAIL_IF_ASKED();
  out->size = 2;
  out->devices = static_cast<char**>(std::malloc(2 * sizeof(char*)));
  out->devices[0] = strdup("CPU");
  out->devices[1] = strdup("GPU.0");
  ++live;
  return ov_status_e::OK;
}
EXPORT void ov_available_devices_free(ov_available_devices_t* devices) {
  for (size_t i = 0; i < devices->size; ++i) std::free(devices->devices[i]);
  std::free(devices->devices);
  --live;
}

EXPORT ov_status_e ov_core_import_model(const ov_core_t* core, const char* content,
                                        const size_t size, const char* device,
                                        ov_compiled_model_t** out) {
  FAIL_IF_ASKED();
  if (std::strcmp(device, "CPU") != 0) {
    last_error = std::string("no device called ") + device;
    return ov_status_e::NOT_FOUND;
  }
  auto model = std::make_unique<ov_compiled_model>();
  constexpr char kMagic[] = "RR_UPCVO";
  const bool real = size > 8 && std::memcmp(content, kMagic, 8) == 0 && !described.empty();
  if (!read_model(real ? described : std::string(content, size), &model->kind, &model->ports)) {
    last_error = "this is no model";
    return ov_status_e::GENERAL_ERROR;
  }
  model->content = content;
  if (!is_new()) model->copy.assign(content, size);
  model->size = size;
  const auto properties = core->properties.find(device);
  if (properties != core->properties.end()) model->properties = properties->second;
  remember(*model);
  ++imports;
  give(model.release(), out);
  return ov_status_e::OK;
}

EXPORT ov_status_e ov_core_read_model_from_memory_buffer(const ov_core_t*, const char* text,
                                                         const size_t size,
                                                         const ov_tensor_t* weights,
                                                         ov_model_t** out) {
  FAIL_IF_ASKED();
  auto model = std::make_unique<ov_model>();
  model->ir.assign(text, size);
  char kind = '\0';
  if (!read_model(model->ir, &kind, &model->ports)) {
    last_error = "this is no IR";
    return ov_status_e::GENERAL_ERROR;
  }
  if (weights != nullptr) {
    model->weights = static_cast<const char*>(weights->data);
    model->weights_size = count(weights->shape);
  }
  give(model.release(), out);
  return ov_status_e::OK;
}
EXPORT void ov_model_free(ov_model_t* model) { take(model); }
EXPORT ov_status_e ov_core_compile_model(const ov_core_t* core, const ov_model_t* model,
                                         const char* device, const size_t property_args_size,
                                         ov_compiled_model_t** out, ...) {
  FAIL_IF_ASKED();
  if (!is_device(device)) return ov_status_e::NOT_FOUND;
  auto compiled = std::make_unique<ov_compiled_model>();
  compiled->kind = model->ir[0];
  compiled->ports = model->ports;
  if (model->weights_size != 0) {  // on every version, OpenVINO reads weights where they are
    compiled->content = model->weights;
    compiled->size = model->weights_size;
  } else {
    compiled->copy = model->ir;
    compiled->size = model->ir.size();
  }
  const auto properties = core->properties.find(device);
  if (properties != core->properties.end()) compiled->properties = properties->second;
  va_list pairs;
  va_start(pairs, out);
  for (size_t i = 0; i < property_args_size; i += 2) {
    const char* key = va_arg(pairs, const char*);
    compiled->properties[key] = va_arg(pairs, const char*);
  }
  va_end(pairs);
  remember(*compiled);
  ++compilations;
  give(compiled.release(), out);
  return ov_status_e::OK;
}
EXPORT void ov_compiled_model_free(ov_compiled_model_t* model) { take(model); }

EXPORT ov_status_e ov_compiled_model_inputs_size(const ov_compiled_model_t* model, size_t* out) {
  FAIL_IF_ASKED();
  *out = model->ports.inputs.size();
  return ov_status_e::OK;
}
EXPORT ov_status_e ov_compiled_model_outputs_size(const ov_compiled_model_t* model, size_t* out) {
  FAIL_IF_ASKED();
  *out = model->ports.outputs.size();
  return ov_status_e::OK;
}
EXPORT ov_status_e ov_compiled_model_input_by_index(const ov_compiled_model_t* model,
                                                    const size_t index,
                                                    ov_output_const_port_t** out) {
  FAIL_IF_ASKED();
  const FakePort* port = port_at(model->ports.inputs, index);
  if (port == nullptr) return ov_status_e::OUT_OF_BOUNDS;
  give(new ov_output_const_port{*port}, out);
  return ov_status_e::OK;
}
EXPORT ov_status_e ov_compiled_model_output_by_index(const ov_compiled_model_t* model,
                                                     const size_t index,
                                                     ov_output_const_port_t** out) {
  FAIL_IF_ASKED();
  const FakePort* port = port_at(model->ports.outputs, index);
  if (port == nullptr) return ov_status_e::OUT_OF_BOUNDS;
  give(new ov_output_const_port{*port}, out);
  return ov_status_e::OK;
}
EXPORT void ov_output_const_port_free(ov_output_const_port_t* port) { take(port); }
EXPORT ov_status_e ov_port_get_element_type(const ov_output_const_port_t* port,
                                            ov_element_type_e* out) {
  FAIL_IF_ASKED();
  *out = port->port.type;
  return ov_status_e::OK;
}
EXPORT ov_status_e ov_port_get_partial_shape(const ov_output_const_port_t* port,
                                             ov_partial_shape_t* out) {
  FAIL_IF_ASKED();
  const auto& dims = port->port.dims;
  const auto rank = static_cast<int64_t>(dims.size());
  out->rank = {rank, rank};
  out->dims = dims.empty() ? nullptr : new ov_dimension_t[dims.size()];
  std::copy(dims.begin(), dims.end(), out->dims);
  if (out->dims != nullptr) ++live;
  return ov_status_e::OK;
}
EXPORT void ov_partial_shape_free(ov_partial_shape_t* shape) {
  if (shape->dims != nullptr) {
    delete[] shape->dims;
    shape->dims = nullptr;
    --live;
  }
}

EXPORT ov_status_e ov_compiled_model_create_infer_request(const ov_compiled_model_t* model,
                                                          ov_infer_request_t** out) {
  FAIL_IF_ASKED();
  auto request = std::make_unique<ov_infer_request>();
  request->model = model;
  request->tensors.resize(model->ports.tensors);
  request->output_set.resize(model->ports.tensors);
  give(request.release(), out);
  return ov_status_e::OK;
}
EXPORT void ov_infer_request_free(ov_infer_request_t* request) { take(request); }

EXPORT ov_status_e ov_tensor_create_from_host_ptr(const ov_element_type_e type,
                                                  const ov_shape_t shape, void* host_ptr,
                                                  ov_tensor_t** out) {
  FAIL_IF_ASKED();
  if (host_ptr == nullptr) {
    last_error = "null host pointer";
    return ov_status_e::INVALID_C_PARAM;
  }
  auto tensor = std::make_unique<ov_tensor>();
  tensor->type = type;
  tensor->shape.assign(shape.dims, shape.dims + shape.rank);
  tensor->data = host_ptr;
  give(tensor.release(), out);
  return ov_status_e::OK;
}
EXPORT void ov_tensor_free(ov_tensor_t* tensor) { take(tensor); }
EXPORT ov_status_e ov_tensor_data(const ov_tensor_t* tensor, void** out) {
  FAIL_IF_ASKED();
  *out = tensor->data;
  return ov_status_e::OK;
}
EXPORT ov_status_e ov_tensor_get_byte_size(const ov_tensor_t* tensor, size_t* out) {
  FAIL_IF_ASKED();
  *out = count(tensor->shape) * fake_item_size(tensor->type);
  return ov_status_e::OK;
}
EXPORT ov_status_e ov_tensor_get_shape(const ov_tensor_t* tensor, ov_shape_t* out) {
  FAIL_IF_ASKED();
  out->rank = static_cast<int64_t>(tensor->shape.size());
  out->dims = tensor->shape.empty() ? nullptr : new int64_t[tensor->shape.size()];
  std::copy(tensor->shape.begin(), tensor->shape.end(), out->dims);
  if (out->dims != nullptr) ++live;
  return ov_status_e::OK;
}
EXPORT ov_status_e ov_shape_free(ov_shape_t* shape) {
  if (shape->dims != nullptr) {
    delete[] shape->dims;
    shape->dims = nullptr;
    --live;
  }
  return ov_status_e::OK;
}

EXPORT ov_status_e ov_infer_request_set_input_tensor_by_index(ov_infer_request_t* request,
                                                              const size_t index,
                                                              const ov_tensor_t* tensor) {
  FAIL_IF_ASKED();
  const FakePort* port = port_at(request->model->ports.inputs, index);
  return port == nullptr ? ov_status_e::OUT_OF_BOUNDS : set_tensor(port, request, tensor);
}
EXPORT ov_status_e ov_infer_request_set_output_tensor_by_index(ov_infer_request_t* request,
                                                               const size_t index,
                                                               const ov_tensor_t* tensor) {
  FAIL_IF_ASKED();
  const FakePort* port = port_at(request->model->ports.outputs, index);
  if (port == nullptr) return ov_status_e::OUT_OF_BOUNDS;
  request->output_set[port->tensor] = true;
  return set_tensor(port, request, tensor);
}
EXPORT ov_status_e ov_infer_request_get_output_tensor_by_index(const ov_infer_request_t* request,
                                                               const size_t index,
                                                               ov_tensor_t** out) {
  FAIL_IF_ASKED();
  const FakePort* port = port_at(request->model->ports.outputs, index);
  if (port == nullptr) return ov_status_e::OUT_OF_BOUNDS;
  const ov_tensor& tensor = request->tensors[port->tensor];
  give(new ov_tensor(tensor), out);
  if (!tensor.own.empty()) (*out)->data = const_cast<char*>(tensor.own.data());
  return ov_status_e::OK;
}
EXPORT ov_status_e ov_infer_request_infer(ov_infer_request_t* request) {
  FAIL_IF_ASKED();
  const ov_compiled_model& model = *request->model;
  const char sum = model.kind == '<' ? sum_of(*request) : '\0';
  for (const FakePort& port : model.ports.outputs) {
    if (model.ports.is_input(port.tensor)) continue;
    ov_tensor& output = request->tensors[port.tensor];
    const std::vector<int64_t> shape = shape_of(port, request->tensors, model.ports);
    const bool set = request->output_set[port.tensor];
    if (set && output.shape != shape) {
      last_error = "the tensor that was set has another shape than the result";
      return ov_status_e::GENERAL_ERROR;
    }
    if (!set && !allocate(port, shape, &output)) return ov_status_e::GENERAL_ERROR;
    if (model.kind != '<') {
      compute(*request, &output);
    } else if (const size_t bytes = bytes_of(output.type, output.shape); bytes != 0) {
      std::memset(output.data, sum, bytes);
    }
  }
  return ov_status_e::OK;
}

EXPORT ov_status_e ov_infer_request_get_profiling_info(const ov_infer_request_t* request,
                                                       ov_profiling_info_list_t* out) {
  FAIL_IF_ASKED();
  const auto& properties = request->model->properties;
  const auto counts = properties.find("PERF_COUNT");
  if (counts == properties.end() || counts->second != "YES") return ov_status_e::OK;
  static const ov_profiling_info_t layers[] = {
      {ov_profiling_info_t::NOT_RUN, 0, 0, "x", "unknown_f32", "Parameter"},
      {ov_profiling_info_t::EXECUTED, 5, 4, "double", "jit_avx2_f32", "Multiply"},
      {ov_profiling_info_t::EXECUTED, 7, 6, "add", "ref_f32", "Add"}};
  out->size = 3;
  out->profiling_infos = new ov_profiling_info_t[3];
  std::copy(std::begin(layers), std::end(layers), out->profiling_infos);
  ++live;
  return ov_status_e::OK;
}
EXPORT void ov_profiling_info_list_free(ov_profiling_info_list_t* list) {
  if (list->profiling_infos == nullptr) return;
  delete[] list->profiling_infos;
  list->profiling_infos = nullptr;
  --live;
}

}  // extern "C"
