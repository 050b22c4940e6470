// Time of a call: a loop over OpenVINO's C API, bound once, against ExecuTorch's Method through
// the delegate that is given, in interleaved rounds of one process.
//
//   call_overhead DELEGATE.so LIBOPENVINO_C.so PROGRAM.pte BLOB
//
// Prints {"raw_us": median, "delegate_us": median, "rounds": n}. The loop computes in float32, as
// the program's module does.
#include <dlfcn.h>
#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/runtime/platform/runtime.h>
#include <openvino/c/openvino.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <string>

#include "executorch_backends/tests/bench/loaded_method.h"

namespace executorch_backends::bench {
namespace {

constexpr int kRounds = 40;
constexpr double kRoundSeconds = 0.05;

std::vector<char> read(const char* path) {
  std::ifstream file(path, std::ios::binary);
  require(file.good(), path);
  return std::vector<char>(std::istreambuf_iterator<char>(file), {});
}

double now_us() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// The blob's model in an infer request whose tensors stay bound.
class RawModel {
 public:
  RawModel(const char* library, const std::vector<char>& blob) : blob_(blob) {
    library_ = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    require(library_ != nullptr, "loading OpenVINO");
    call<decltype(&ov_core_create)>("ov_core_create", &core_);
    call<decltype(&ov_core_set_property)>("ov_core_set_property", core_, "CPU",
                                          "INFERENCE_PRECISION_HINT", "f32");
    call<decltype(&ov_core_import_model)>("ov_core_import_model", core_, blob_.data(), blob_.size(),
                                          "CPU", &compiled_);
    call<decltype(&ov_compiled_model_create_infer_request)>(
        "ov_compiled_model_create_infer_request", compiled_, &request_);
    ov_tensor_t* input = nullptr;
    call<decltype(&ov_infer_request_get_input_tensor_by_index)>(
        "ov_infer_request_get_input_tensor_by_index", request_, size_t{0}, &input);
    // The same values as the delegate gets: what memory happens to hold may be slow to compute.
    size_t count = 0;
    void* data = nullptr;
    call<decltype(&ov_tensor_get_size)>("ov_tensor_get_size", input, &count);
    call<decltype(&ov_tensor_data)>("ov_tensor_data", input, &data);
    std::fill_n(static_cast<float*>(data), count, 1.0f);
    infer_ = find<decltype(&ov_infer_request_infer)>("ov_infer_request_infer");
  }
  void execute() { require(infer_(request_) == ov_status_e::OK, "a run of the loop"); }

 private:
  template <typename Function>
  Function find(const char* name) {
    auto function = reinterpret_cast<Function>(dlsym(library_, name));
    require(function != nullptr, name);
    return function;
  }
  template <typename Function, typename... Arguments>
  void call(const char* name, Arguments... arguments) {
    require(find<Function>(name)(arguments...) == ov_status_e::OK, name);
  }

  const std::vector<char>& blob_;
  void* library_ = nullptr;
  ov_core_t* core_ = nullptr;
  ov_compiled_model_t* compiled_ = nullptr;
  ov_infer_request_t* request_ = nullptr;
  decltype(&ov_infer_request_infer) infer_ = nullptr;
};

/// Median time of a call over the rounds, in microseconds.
double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

template <typename Model>
double round_us(Model* model, int calls) {
  const double start = now_us();
  for (int i = 0; i < calls; ++i) model->execute();
  return (now_us() - start) / calls;
}

int main(char** arguments) {
  et::runtime_init();
  require(dlopen(arguments[1], RTLD_NOW | RTLD_GLOBAL) != nullptr, arguments[1]);
  const std::vector<char> program = read(arguments[3]);
  const std::vector<char> blob = read(arguments[4]);
  // In memory that stays: stock's delegate frees what it can while OpenVINO still reads it.
  LoadedMethod delegate(
      std::make_unique<executorch::extension::BufferDataLoader>(program.data(), program.size()));
  RawModel raw(arguments[2], blob);
  const double once = std::max(round_us(&raw, 200), 1.0);
  const int calls = std::max(20, static_cast<int>(kRoundSeconds * 1e6 / once));
  round_us(&delegate, calls);
  std::vector<double> raw_us, delegate_us;
  for (int round = 0; round < kRounds; ++round) {
    raw_us.push_back(round_us(&raw, calls));
    delegate_us.push_back(round_us(&delegate, calls));
  }
  std::printf("{\"raw_us\": %.3f, \"delegate_us\": %.3f, \"rounds\": %d}\n", median(raw_us),
              median(delegate_us), kRounds);
  return 0;
}

}  // namespace
}  // namespace executorch_backends::bench

int main(int count, char** arguments) {
  executorch_backends::bench::require(count == 5, "4 arguments");
  return executorch_backends::bench::main(arguments);
}
