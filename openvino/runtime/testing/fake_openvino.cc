#include "executorch_backends/openvino/runtime/testing/fake_openvino.h"

#include <openvino/c/openvino.h>

#include <atomic>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

struct ov_core {};

struct ov_compiled_model {
  const char* content = nullptr;  // read again by every run, as OpenVINO from 2026.4 on does
  std::string copy;               // what older versions keep
  size_t size = 0;
  char kind = 's';

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
  ov_tensor output;
  bool output_set = false;
};

struct ov_output_const_port {
  char kind = 's';
  bool input = true;
};

namespace {

std::string failing;
std::map<std::string, int> properties;
std::atomic<int> live{0};
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
EXPORT int fake_openvino_properties_set(const char* name) { return properties[name]; }

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
EXPORT ov_status_e ov_core_set_property(const ov_core_t*, const char*, ...) {
  FAIL_IF_ASKED();
  ++properties["INFERENCE_PRECISION_HINT"];
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

EXPORT ov_status_e ov_core_import_model(const ov_core_t*, const char* content, const size_t size,
                                        const char* device, ov_compiled_model_t** out) {
  FAIL_IF_ASKED();
  if (std::strcmp(device, "CPU") != 0) {
    last_error = std::string("no device called ") + device;
    return ov_status_e::NOT_FOUND;
  }
  if (size < 2 || std::strchr("sdpzi", content[0]) == nullptr) {
    last_error = "this is no model";
    return ov_status_e::GENERAL_ERROR;
  }
  auto model = std::make_unique<ov_compiled_model>();
  model->content = content;
  if (!is_new()) model->copy.assign(content, size);
  model->size = size;
  model->kind = content[0];
  give(model.release(), out);
  return ov_status_e::OK;
}
EXPORT void ov_compiled_model_free(ov_compiled_model_t* model) { take(model); }

EXPORT ov_status_e ov_compiled_model_inputs_size(const ov_compiled_model_t*, size_t* out) {
  FAIL_IF_ASKED();
  *out = 1;
  return ov_status_e::OK;
}
EXPORT ov_status_e ov_compiled_model_outputs_size(const ov_compiled_model_t*, size_t* out) {
  FAIL_IF_ASKED();
  *out = 1;
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
                                                               const size_t,
                                                               const ov_tensor_t* tensor) {
  FAIL_IF_ASKED();
  // What is passed through has one tensor, which is the input's too.
  (request->model->kind == 'p' ? request->input : request->output) = *tensor;
  request->output_set = true;
  ++bindings;
  return ov_status_e::OK;
}
EXPORT ov_status_e ov_infer_request_get_output_tensor_by_index(const ov_infer_request_t* request,
                                                               const size_t, ov_tensor_t** out) {
  FAIL_IF_ASKED();
  give(new ov_tensor(request->model->kind == 'p' ? request->input : request->output), out);
  if ((*out)->own.size() != 0) (*out)->data = const_cast<char*>(request->output.own.data());
  return ov_status_e::OK;
}
EXPORT ov_status_e ov_infer_request_infer(ov_infer_request_t* request) {
  FAIL_IF_ASKED();
  const ov_compiled_model& model = *request->model;
  if (model.kind == 'p') return ov_status_e::OK;
  const size_t elements = count(request->input.shape);
  if (model.kind == 'd' || !request->output_set) {
    ov_tensor result;
    result.type = request->input.type;
    result.shape = request->input.shape;
    result.own.resize(elements * 8 + 1);
    request->output = result;
    request->output.data = request->output.own.data();
  }
  const char added = model.bytes()[model.size - 1];
  for (size_t i = 0; i < elements; ++i) {
    if (model.kind == 'i') {
      static_cast<int64_t*>(request->output.data)[i] =
          2 * static_cast<int64_t*>(request->input.data)[i] + added;
    } else {
      static_cast<float*>(request->output.data)[i] =
          2 * static_cast<float*>(request->input.data)[i] + static_cast<float>(added);
    }
  }
  return ov_status_e::OK;
}

}  // extern "C"
