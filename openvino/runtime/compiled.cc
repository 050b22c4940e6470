#include "executorch_backends/openvino/runtime/compiled.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <array>
#include <utility>

#include "executorch_backends/common/payload/sha256.h"
#include "executorch_backends/common/runtime/error.h"
#include "executorch_backends/common/runtime/shared_values.h"
#include "executorch_backends/openvino/runtime/cores.h"

namespace executorch_backends::openvino {
namespace {

using executorch::runtime::Error;

constexpr size_t kMaxProperties = 5;

std::string digest_of(Bytes bytes) {
  const payload::Digest digest = payload::sha256(bytes.data, bytes.size);
  return std::string(digest.begin(), digest.end());
}

/// Why the payload's blob is not for this runtime and device; empty when it can be tried.
std::string mismatch(const Payload& payload, const std::string& device, const Version& runtime) {
  if (!payload.blob) return "the program was lowered without a compiled model";
  const Payload::Blob& blob = *payload.blob;
  const Version made_by = Version::parse(payload.version);
  // A bare blob from before 2026.4 does not say who made it; OpenVINO decides.
  const bool unknown = payload.version.empty() && !payload.has_envelope;
  if (!unknown && made_by.text != runtime.text &&
      (made_by.year == 0 || made_by.binds_blobs() || runtime.binds_blobs())) {
    return runtime::format(
        "the program was compiled by OpenVINO %s for %s (%s); this runtime is %s. From 2026.4 on "
        "a compiled model runs on the version that made it",
        payload.version.c_str(), blob.device.c_str(), blob.isa.c_str(), runtime.text.c_str());
  }
  if (payload.has_envelope && blob.device != device) {
    return runtime::format("the program was compiled for %s, and the device is %s",
                           blob.device.c_str(), device.c_str());
  }
  return "";
}

using Models = runtime::SharedValues<std::string, const Compiled>;

Models& models() {
  static auto* const instance = new Models;
  return *instance;
}

// Compiling leaves megabytes of freed memory with the allocator, which keeps them.
void give_scraps_back() {
#ifdef __GLIBC__
  (void)malloc_trim(0);
#endif
}

}  // namespace

Error Compiled::make(std::shared_ptr<const OpenvinoApi> api, const Options& options,
                     const Payload& payload, std::shared_ptr<const Weights> weights,
                     std::shared_ptr<const Compiled>* out) {
  const std::string device = !options.device.empty()   ? options.device
                             : !payload.device.empty() ? payload.device
                                                       : "CPU";
  const bool has_ir = payload.ir.size != 0;
  const std::string version = api->version.text;
  std::string problem;
  const auto make_from = [&](From from) -> Error {
    bool is_new = false;
    const auto create = [&](std::shared_ptr<const Compiled>* made) {
      std::shared_ptr<Compiled> model(new Compiled(api, device));
      ETB_TRY(model->create(from, options, payload, weights, &problem));
      model->keep_recipe(from, options, payload);
      is_new = true;
      *made = std::move(model);
      return Error::Ok;
    };
    // Equal memory is only equal as long as the one who has it is alive.
    if (from == From::kBlob && !api->version.binds_blobs()) return create(out);
    std::string name = device;
    for (const auto& [key, value] : options.properties(from == From::kBlob)) {
      name += '\n' + key + '=' + value;
    }
    name += from == From::kIr
                ? "\nir " + digest_of(payload.ir)
                : "\nblob " + std::to_string(payload.blob->offset) + "+" +
                      std::to_string(payload.blob->size) + " " + digest_of(payload.blob->code);
    if (weights != nullptr) name += '\n' + weights->origin().text();
    ETB_TRY(models().get(name, create, out));
    return is_new || !(*out)->dynamic() ? Error::Ok : create(out);
  };

  ETB_REQUIRE(has_ir || options.compile != Options::Compile::kAlways, InvalidArgument,
              "OpenVINO: the option 'compile' is always, and a program of stock ExecuTorch has no "
              "IR to compile; lower it with executorch_backends");
  if (options.compile != Options::Compile::kAlways) {
    Error error = Error::DelegateInvalidCompatibility;
    problem = mismatch(payload, device, api->version);
    if (problem.empty()) {
      if (payload.has_envelope) ETB_TRY(check_code(*payload.blob, weights->bytes()));
      error = make_from(From::kBlob);
      if (error == Error::Ok) return Error::Ok;
    }
    if (options.compile == Options::Compile::kNever || !has_ir) {
      runtime::log_error(
          __FILE__, __LINE__, __func__,
          "OpenVINO " + version + ": " + problem +
              (has_ir ? ". The program also carries its IR: load with compile=\"auto\", or "
                        "lower again"
                      : ". Install that version, or lower again for this one"));
      return error;
    }
    if (payload.blob) {
      ETB_NOTE("OpenVINO %s: compiling the program's IR: %s", version.c_str(), problem.c_str());
    }
  }
  const Error error = make_from(From::kIr);
  if (error != Error::Ok) {
    runtime::log_error(__FILE__, __LINE__, __func__, "OpenVINO " + version + ": " + problem);
  }
  return error;
}

void Compiled::keep_recipe(From from, const Options& options, const Payload& payload) {
  // What OpenVINO has copied is not kept for the sake of a failure.
  if (!dynamic_ || (from == From::kBlob && !api_->version.binds_blobs())) return;
  auto recipe = std::make_shared<Recipe>(Recipe{from, options, payload, ""});
  recipe->payload.ir = {};
  if (from == From::kBlob) {
    recipe->payload.blob->code = {};
  } else {
    recipe->payload.blob.reset();
    recipe->ir.assign(reinterpret_cast<const char*>(payload.ir.data), payload.ir.size);
    recipe->payload.ir = {reinterpret_cast<const uint8_t*>(recipe->ir.data()), recipe->ir.size()};
  }
  recipe_ = std::move(recipe);
}

Error Compiled::remake(std::shared_ptr<const Compiled>* out) const {
  ETB_REQUIRE(recipe_ != nullptr, InvalidState,
              "OpenVINO %s: a run has failed, on sizes that the model does not take or otherwise, "
              "and what the model was imported from is not in memory: load it again",
              api_->version.text.c_str());
  std::shared_ptr<Compiled> model(new Compiled(api_, device_));
  std::string problem;
  const Error error =
      model->create(recipe_->from, recipe_->options, recipe_->payload, weights_, &problem);
  if (error != Error::Ok) {
    runtime::log_error(__FILE__, __LINE__, __func__,
                       "OpenVINO " + api_->version.text + ": after a failed run: " + problem);
    return error;
  }
  model->recipe_ = recipe_;
  *out = std::move(model);
  return Error::Ok;
}

bool Compiled::takes_many_sizes() const {
  size_t inputs = 0;
  // Where OpenVINO does not say, a handle that asks will report it.
  if (api_->ov_compiled_model_inputs_size(model_.get(), &inputs) != ov_status_e::OK) return true;
  for (size_t i = 0; i < inputs; ++i) {
    OwnedPort port(api_);
    OwnedPartialShape shape(api_);
    if (api_->ov_compiled_model_input_by_index(model_.get(), i, port.out()) != ov_status_e::OK ||
        api_->ov_port_get_partial_shape(port.get(), shape.out()) != ov_status_e::OK) {
      return true;
    }
    const ov_rank_t& rank = shape.get().rank;
    if (rank.min != rank.max) return true;
    for (int64_t d = 0; d < rank.min; ++d) {
      if (shape.get().dims[d].min != shape.get().dims[d].max) return true;
    }
  }
  return false;
}

Error Compiled::create(From from, const Options& options, const Payload& payload,
                       const std::shared_ptr<const Weights>& weights, std::string* problem) {
  const Properties properties = options.properties(from == From::kBlob);
  core_ = core_with(api_, device_, from == From::kBlob ? properties : Properties{}, problem);
  if (core_ == nullptr) {
    *problem = "cannot create a core: " + *problem;
    return Error::Internal;
  }
  const Bytes bytes = weights != nullptr ? weights->bytes() : Bytes{};
  const bool done = from == From::kBlob ? import(*payload.blob, bytes, problem)
                                        : compile(payload.ir, bytes, properties, problem);
  if (done) {
    if (from == From::kIr || api_->version.binds_blobs()) weights_ = weights;
    dynamic_ = takes_many_sizes();
    if (from == From::kIr) give_scraps_back();
    return Error::Ok;
  }
  const std::string why = *problem;
  const std::vector<std::string> devices = devices_of(*api_, core_->get());
  const std::vector<std::string> missing = missing_devices(device_, devices);
  if (!devices.empty() && !missing.empty()) {
    const std::string narrowed = with_devices_that_are_there(device_, devices);
    if (from == From::kIr && !narrowed.empty()) {
      ETB_NOTE("OpenVINO %s: no %s here; '%s' becomes '%s'", api_->version.text.c_str(),
               joined(missing).c_str(), device_.c_str(), narrowed.c_str());
      device_ = narrowed;
      return create(from, options, payload, weights, problem);
    }
    const std::string names = joined(missing);
    *problem = runtime::format(
        "there is no device '%s' here%s; the devices are %s. Choose one with the option 'device', "
        "or lower again for one",
        names.c_str(), names == device_ ? "" : (", which '" + device_ + "' asks for").c_str(),
        joined(devices).c_str());
    return Error::InvalidArgument;
  }
  if (from == From::kIr) {
    *problem = "cannot compile the program's model for device '" + device_ + "': " + why;
  } else {
    *problem = runtime::format(
        "cannot import the compiled model (%llu bytes, made by OpenVINO %s for %s) on device "
        "'%s'; if it is whole, lower it again for this machine: %s",
        static_cast<unsigned long long>(payload.blob->size),
        payload.version.empty() ? "2026.3 or older, or damaged" : payload.version.c_str(),
        payload.blob->device.empty() ? "an unnamed device" : payload.blob->device.c_str(),
        device_.c_str(), why.c_str());
  }
  return Error::InvalidProgram;
}

bool Compiled::import(const Payload::Blob& blob, Bytes weights, std::string* problem) {
  const ov_status_e status = api_->ov_core_import_model(
      core_->get(), reinterpret_cast<const char*>(weights.data) + blob.offset,
      static_cast<size_t>(blob.size), device_.c_str(), model_.out());
  if (status == ov_status_e::OK && model_.get() != nullptr) return true;
  *problem = api_->last_error();
  return false;
}

bool Compiled::compile(Bytes ir, Bytes weights, const Properties& properties,
                       std::string* problem) {
  OwnedTensor constants(api_);
  OwnedModel model(api_);
  int64_t size = static_cast<int64_t>(weights.size);
  // OpenVINO takes constants as a tensor, which it does not write.
  if ((weights.size != 0 &&
       api_->ov_tensor_create_from_host_ptr(U8, {1, &size}, const_cast<uint8_t*>(weights.data),
                                            constants.out()) != ov_status_e::OK) ||
      api_->ov_core_read_model_from_memory_buffer(
          core_->get(), reinterpret_cast<const char*>(ir.data), ir.size, constants.get(),
          model.out()) != ov_status_e::OK) {
    *problem = api_->last_error();
    return false;
  }
  // A C function of a variable number of arguments, which counts those that it is told of.
  std::array<std::pair<const char*, const char*>, kMaxProperties> p{};
  for (size_t i = 0; i < properties.size(); ++i) {
    p[i] = {properties[i].first.c_str(), properties[i].second.c_str()};
  }
  const ov_status_e status = api_->ov_core_compile_model(
      core_->get(), model.get(), device_.c_str(), 2 * properties.size(), model_.out(), p[0].first,
      p[0].second, p[1].first, p[1].second, p[2].first, p[2].second, p[3].first, p[3].second,
      p[4].first, p[4].second);
  if (status == ov_status_e::OK && model_.get() != nullptr) return true;
  *problem = api_->last_error();
  return false;
}

}  // namespace executorch_backends::openvino
