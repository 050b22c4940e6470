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

using Properties = std::map<std::string, std::string>;

struct ov_core {
  std::map<std::string, Properties> properties;  // by device
};

struct ov_model {
  std::string ir;
  const char* weights = nullptr;
  size_t weights_size = 0;
};

struct ov_compiled_model {
  const char* content = nullptr;  // read again by every run, as OpenVINO from 2026.4 on does
  std::string copy;               // what older versions keep
  size_t size = 0;
  char kind = 's';
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
  ov_tensor input;
  ov_tensor outputs[3];
  bool output_set[3] = {};
};

struct ov_output_const_port {
  char kind = 's';
  bool input = true;
};

namespace {

std::string failing;
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

std::vector<ov_dimension_t> dims_of(char kind) {
  if (kind == 'z' || kind == 'i') return {};
  if (kind == 'd') return {{1, 4}, {3, 3}};
  return {{2, 2}, {3, 3}};
}

size_t outputs_of(char kind) { return kind == 'c' ? 3 : 1; }

bool is_kind(char kind) { return kind != '\0' && std::strchr("sdpczi", kind) != nullptr; }

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

}  // namespace

#define FAIL_IF_ASKED() \
  if (fails(__func__)) return ov_status_e::GENERAL_ERROR

extern "C" {

#define EXPORT __attribute__((visibility("default")))

EXPORT void fake_openvino_fail(const char* function) {
  failing = function != nullptr ? function : "";
}
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
  if (size < 2 || !is_kind(content[0])) {
    last_error = "this is no model";
    return ov_status_e::GENERAL_ERROR;
  }
  auto model = std::make_unique<ov_compiled_model>();
  model->content = content;
  if (!is_new()) model->copy.assign(content, size);
  model->size = size;
  model->kind = content[0];
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
  if (size < 2 || !is_kind(text[0])) {
    last_error = "this is no IR";
    return ov_status_e::GENERAL_ERROR;
  }
  auto model = std::make_unique<ov_model>();
  model->ir.assign(text, size);
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

EXPORT ov_status_e ov_compiled_model_inputs_size(const ov_compiled_model_t*, size_t* out) {
  FAIL_IF_ASKED();
  *out = 1;
  return ov_status_e::OK;
}
EXPORT ov_status_e ov_compiled_model_outputs_size(const ov_compiled_model_t* model, size_t* out) {
  FAIL_IF_ASKED();
  *out = outputs_of(model->kind);
  return ov_status_e::OK;
}
EXPORT ov_status_e ov_compiled_model_input_by_index(const ov_compiled_model_t* model, const size_t,
                                                    ov_output_const_port_t** out) {
  FAIL_IF_ASKED();
  give(new ov_output_const_port{model->kind, true}, out);
  return ov_status_e::OK;
}
EXPORT ov_status_e ov_compiled_model_output_by_index(const ov_compiled_model_t* model, const size_t,
                                                     ov_output_const_port_t** out) {
  FAIL_IF_ASKED();
  give(new ov_output_const_port{model->kind, false}, out);
  return ov_status_e::OK;
}
EXPORT void ov_output_const_port_free(ov_output_const_port_t* port) { take(port); }
EXPORT ov_status_e ov_port_get_element_type(const ov_output_const_port_t* port,
                                            ov_element_type_e* out) {
  FAIL_IF_ASKED();
  *out = port->kind == 'i' ? I64 : F32;
  return ov_status_e::OK;
}
EXPORT ov_status_e ov_port_get_partial_shape(const ov_output_const_port_t* port,
                                             ov_partial_shape_t* out) {
  FAIL_IF_ASKED();
  const auto dims = dims_of(port->kind);
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
  *out = count(tensor->shape) * (tensor->type == I64 ? 8 : 4);
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
                                                              const size_t,
                                                              const ov_tensor_t* tensor) {
  FAIL_IF_ASKED();
  request->input = *tensor;
  ++bindings;
  return ov_status_e::OK;
}
EXPORT ov_status_e ov_infer_request_set_output_tensor_by_index(ov_infer_request_t* request,
                                                               const size_t index,
                                                               const ov_tensor_t* tensor) {
  FAIL_IF_ASKED();
  // What is passed through has one tensor, which is the input's too.
  const bool passed = request->model->kind == 'p' || (request->model->kind == 'c' && index == 1);
  (passed ? request->input : request->outputs[index]) = *tensor;
  request->output_set[index] = true;
  ++bindings;
  return ov_status_e::OK;
}
EXPORT ov_status_e ov_infer_request_get_output_tensor_by_index(const ov_infer_request_t* request,
                                                               const size_t index,
                                                               ov_tensor_t** out) {
  FAIL_IF_ASKED();
  const bool passed = request->model->kind == 'p' || (request->model->kind == 'c' && index == 1);
  const ov_tensor& tensor = passed ? request->input : request->outputs[index];
  give(new ov_tensor(tensor), out);
  if (!tensor.own.empty()) (*out)->data = const_cast<char*>(tensor.own.data());
  return ov_status_e::OK;
}
EXPORT ov_status_e ov_infer_request_infer(ov_infer_request_t* request) {
  FAIL_IF_ASKED();
  const ov_compiled_model& model = *request->model;
  if (model.kind == 'p') return ov_status_e::OK;
  const size_t elements = count(request->input.shape);
  const char added = model.bytes()[model.size - 1];
  for (size_t index = 0; index < outputs_of(model.kind); ++index) {
    if (model.kind == 'c' && index == 1) continue;
    ov_tensor& output = request->outputs[index];
    if (model.kind == 'd' || !request->output_set[index]) {
      output = ov_tensor();
      output.type = request->input.type;
      output.shape = request->input.shape;
      output.own.resize(elements * 8 + 1);
      output.data = output.own.data();
    }
    for (size_t i = 0; i < elements; ++i) {
      if (model.kind == 'i') {
        static_cast<int64_t*>(output.data)[i] =
            2 * static_cast<int64_t*>(request->input.data)[i] + added;
      } else {
        static_cast<float*>(output.data)[i] =
            2 * static_cast<float*>(request->input.data)[i] + static_cast<float>(added);
      }
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
