#include "executorch_backends/openvino/runtime/cores.h"

#include <map>
#include <mutex>

#include "executorch_backends/common/runtime/error.h"

namespace executorch_backends::openvino {
namespace {

/// Splits `AUTO:GPU,-NPU,CPU` into what stands before the colon and the names after it.
void split(const std::string& device, std::string* kind, std::vector<std::string>* names) {
  const size_t colon = device.find(':');
  *kind = device.substr(0, colon);
  if (colon == std::string::npos) return;
  for (size_t at = colon + 1; at <= device.size();) {
    const size_t comma = std::min(device.find(',', at), device.size());
    names->push_back(device.substr(at, comma - at));
    at = comma + 1;
  }
}

bool stands_for_others(const std::string& kind) {
  return kind == "AUTO" || kind == "MULTI" || kind == "HETERO" || kind == "BATCH";
}

/// "GPU" where there is "GPU.0" or the other way round. `-NPU` excludes a device, which need not
/// be there, and `CPU(4)` is one with a number of requests.
bool is_there(const std::string& name, const std::vector<std::string>& devices) {
  if (name.rfind('-', 0) == 0) return true;
  const std::string device = name.substr(0, name.find('('));
  for (const std::string& available : devices) {
    if (device == available || device.rfind(available + ".", 0) == 0 ||
        available.rfind(device + ".", 0) == 0) {
      return true;
    }
  }
  return false;
}

std::shared_ptr<OwnedCore> make_core(const std::shared_ptr<const OpenvinoApi>& api,
                                     const std::string& device, const Properties& properties,
                                     std::string* error) {
  auto core = std::make_shared<OwnedCore>(api);
  if (api->ov_core_create(core->out()) != ov_status_e::OK || core->get() == nullptr) {
    *error = api->last_error();
    return nullptr;
  }
  // A CPU with bf16 instructions would otherwise compute float32 models in bfloat16: a blob does
  // not keep the precision that it was compiled with. Fails where OpenVINO has no CPU plugin,
  // which then needs no precision either.
  if (api->ov_core_set_property(core->get(), "CPU", "INFERENCE_PRECISION_HINT", "f32") !=
      ov_status_e::OK) {
    ETB_NOTE("OpenVINO has no CPU device here: %s", api->last_error().c_str());
  }
  for (const auto& [key, value] : properties) {
    if (api->ov_core_set_property(core->get(), device.c_str(), key.c_str(), value.c_str()) !=
        ov_status_e::OK) {
      *error = "device '" + device + "' refuses " + key + "=" + value + ": " + api->last_error();
      return nullptr;
    }
  }
  return core;
}

}  // namespace

std::shared_ptr<const OwnedCore> core_with(const std::shared_ptr<const OpenvinoApi>& api,
                                           const std::string& device, const Properties& properties,
                                           std::string* error) {
  struct State {
    std::mutex mutex;
    std::shared_ptr<OwnedCore> plain;
    std::map<std::string, std::weak_ptr<OwnedCore>> others;
  };
  // Never destroyed: a core that is freed while the process ends finds its plugins unloaded.
  static State* const state = new State;
  std::lock_guard<std::mutex> lock(state->mutex);
  if (properties.empty()) {
    if (state->plain == nullptr) state->plain = make_core(api, device, {}, error);
    return state->plain;
  }
  std::string name = device;
  for (const auto& [key, value] : properties) name += '\n' + key + '=' + value;
  std::weak_ptr<OwnedCore>& known = state->others[name];
  std::shared_ptr<OwnedCore> core = known.lock();
  if (core == nullptr) known = core = make_core(api, device, properties, error);
  return core;
}

std::vector<std::string> devices_of(const OpenvinoApi& api, const ov_core_t* core) {
  ov_available_devices_t devices{};
  if (api.ov_core_get_available_devices(core, &devices) != ov_status_e::OK) return {};
  std::vector<std::string> names(devices.devices, devices.devices + devices.size);
  api.ov_available_devices_free(&devices);
  return names;
}

std::vector<std::string> missing_devices(const std::string& device,
                                         const std::vector<std::string>& devices) {
  std::string kind;
  std::vector<std::string> names, missing;
  split(device, &kind, &names);
  if (!stands_for_others(kind)) names = {device};
  for (const std::string& name : names) {
    if (!is_there(name, devices)) missing.push_back(name);
  }
  return missing;
}

std::string with_devices_that_are_there(const std::string& device,
                                        const std::vector<std::string>& devices) {
  std::string kind, left;
  std::vector<std::string> names;
  split(device, &kind, &names);
  if (kind != "AUTO") return "";
  bool chooses = false;
  for (const std::string& name : names) {
    if (!is_there(name, devices)) continue;
    left += (left.empty() ? "" : ",") + name;
    chooses = chooses || name.rfind('-', 0) != 0;
  }
  const std::string narrowed = kind + ":" + left;
  return chooses && narrowed != device ? narrowed : "";
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

}  // namespace executorch_backends::openvino
