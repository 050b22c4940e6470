#include "executorch_backends/openvino/runtime/openvino_api.h"

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>
#include <vector>

namespace executorch_backends::openvino {
namespace {

/// What the process has loaded. Never destroyed: models may be, after static destructors ran.
struct State {
  std::mutex mutex;
  std::string path;
  std::shared_ptr<const OpenvinoApi> api;
};

State& state() {
  static State* const instance = new State;  // reachable for ever, see State
  return *instance;
}

std::vector<std::string> candidates(const std::string& preferred, const std::string& path) {
  if (!preferred.empty()) return {preferred};  // whoever names one wants no other
  std::vector<std::string> names;
  if (!path.empty()) names.push_back(path);
  const char* environment = std::getenv("OPENVINO_LIB_PATH");
  if (environment != nullptr && *environment != '\0') names.emplace_back(environment);
  // The wheels have no name without a version.
  for (const char* suffix : {"", ".2641", ".2640", ".2631", ".2541", ".2510"}) {
    names.push_back(std::string("libopenvino_c.so") + suffix);
  }
  return names;
}

std::shared_ptr<OpenvinoApi> resolve(std::unique_ptr<runtime::Library> library,
                                     std::string* error) {
  auto api = std::make_shared<OpenvinoApi>();
#define EXECUTORCH_BACKENDS_RESOLVE(name)                                                        \
  api->name = reinterpret_cast<decltype(api->name)>(library->find(#name));                       \
  if (api->name == nullptr) {                                                                    \
    *error = library->path() + " has no function " #name "; OpenVINO 2025.1 or newer is needed"; \
    return nullptr;                                                                              \
  }
  EXECUTORCH_BACKENDS_OPENVINO_FUNCTIONS(EXECUTORCH_BACKENDS_RESOLVE)
#undef EXECUTORCH_BACKENDS_RESOLVE
  ov_version_t version{};
  if (api->ov_get_openvino_version(&version) == ov_status_e::OK) {
    api->version = Version::parse(version.buildNumber != nullptr ? version.buildNumber : "");
    api->ov_version_free(&version);
  }
  if (api->version.year == 0) {
    *error = library->path() + " does not say which version of OpenVINO it is";
    return nullptr;
  }
  api->library = std::move(library);
  return api;
}

}  // namespace

Version Version::parse(const std::string& build_number) {
  Version version;
  if (std::sscanf(build_number.c_str(), "%d.%d", &version.year, &version.minor) != 2) return {};
  version.text = build_number.substr(0, build_number.find('-'));
  return version;
}

std::string OpenvinoApi::last_error() const {
  const char* text = ov_get_last_err_msg();
  if (text == nullptr) return "no reason given";
  std::string copy(text);
  ov_free(text);  // OpenVINO's header does not say so, but each call allocates
  while (!copy.empty() && copy.back() == '\n') copy.pop_back();
  return copy.empty() ? "no reason given" : copy;
}

void set_library_path(const std::string& path) {
  std::lock_guard<std::mutex> lock(state().mutex);
  state().path = path;
}

std::shared_ptr<const OpenvinoApi> load_openvino(const std::string& preferred_path,
                                                 std::string* error) {
  std::lock_guard<std::mutex> lock(state().mutex);
  if (state().api != nullptr) {
    const std::string& loaded = state().api->library->path();
    if (!preferred_path.empty() && preferred_path != loaded) {
      *error =
          "this process has loaded '" + loaded + "', and '" + preferred_path + "' is asked for";
      return nullptr;
    }
    return state().api;
  }
  auto library = runtime::Library::open(candidates(preferred_path, state().path), error);
  if (library == nullptr) {
    *error = "cannot load OpenVINO's C library (" + *error +
             "); install the openvino package, or set OPENVINO_LIB_PATH to libopenvino_c.so";
    return nullptr;
  }
  state().api = resolve(std::move(library), error);
  return state().api;
}

const char* loaded_version() {
  std::lock_guard<std::mutex> lock(state().mutex);
  return state().api != nullptr ? state().api->version.text.c_str() : "";
}

}  // namespace executorch_backends::openvino
