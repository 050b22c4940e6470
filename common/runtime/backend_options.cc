#include "executorch_backends/common/runtime/backend_options.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "executorch_backends/common/checked/checked.h"
#include "executorch_backends/common/runtime/error.h"

namespace executorch_backends::runtime {

using executorch::runtime::BackendOption;
using executorch::runtime::Error;

Error BackendOptionStore::add(const executorch_backends_option& option) {
  if (option.backend_id == nullptr || option.key == nullptr || option.value == nullptr) {
    ETB_FAIL(InvalidArgument, "an option needs a backend, a key and a value");
  }
  BackendOption stored;
  if (std::strlen(option.key) >= sizeof(stored.key)) {
    ETB_FAIL(InvalidArgument, "option '%s' has %zu bytes in its name; %zu are the most", option.key,
             std::strlen(option.key), sizeof(stored.key) - 1);
  }
  std::strcpy(stored.key, option.key);
  const std::string value = option.value;
  char* end = nullptr;
  errno = 0;
  const long number = std::strtol(option.value, &end, 10);
  int narrow = 0;
  if (value == "true" || value == "false") {
    stored.value = value == "true";
  } else if (!value.empty() && *end == '\0' && errno == 0 && !checked::narrow(number, &narrow)) {
    stored.value = narrow;
  } else {
    std::array<char, executorch::runtime::kMaxOptionValueLength> text{};
    if (value.size() >= text.size()) {
      ETB_FAIL(InvalidArgument, "option '%s' has %zu bytes; %zu are the most", option.key,
               value.size(), text.size() - 1);
    }
    std::copy(value.begin(), value.end(), text.begin());
    stored.value = text;
  }
  options_[option.backend_id].push_back(stored);
  return Error::Ok;
}

Error BackendOptionStore::fill(executorch::runtime::LoadBackendOptionsMap* map) {
  for (auto& [backend_id, options] : options_) {
    const Error error =
        map->set_options(backend_id.c_str(),
                         executorch::runtime::Span<BackendOption>(options.data(), options.size()));
    if (error != Error::Ok) {
      log_error(__FILE__, __LINE__, __func__,
                "backend '" + backend_id + "': no room for its options");
      return error;
    }
  }
  return Error::Ok;
}

}  // namespace executorch_backends::runtime
