#include "executorch_backends/aoti/runtime/options.h"

#include <charconv>
#include <string>
#include <system_error>

#include "executorch_backends/common/runtime/delegate.h"
#include "executorch_backends/common/runtime/error.h"

namespace executorch_backends::aoti {
namespace {

using executorch::runtime::BackendOption;
using executorch::runtime::Error;
using executorch::runtime::Span;

Error read_seed(const std::string& value, uint64_t* out) {
  const char* end = value.data() + value.size();
  const auto [stop, problem] = std::from_chars(value.data(), end, *out);
  ETB_REQUIRE(problem == std::errc() && stop == end, InvalidArgument,
              "AOTI's option 'seed' is '%s'; it can be a number from 0 to 18446744073709551615",
              value.c_str());
  return Error::Ok;
}

Error read_bool(const std::string& key, const std::string& value, bool* out) {
  ETB_REQUIRE(value == "true" || value == "false", InvalidArgument,
              "AOTI's option '%s' is '%s'; it can be true or false", key.c_str(), value.c_str());
  *out = value == "true";
  return Error::Ok;
}

}  // namespace

Error read_options(Span<const BackendOption> runtime_options, bool records, Options* out) {
  for (const BackendOption& option : runtime_options) {
    const std::string key = option.key, value = runtime::text_of(option);
    if (key == "seed") {
      ETB_TRY(read_seed(value, &out->seed));
    } else if (key == "graphs" && records) {
      ETB_TRY(read_bool(key, value, &out->graphs));
    } else {
      ETB_FAIL(InvalidArgument,
               "AOTI has no runtime option '%s' on this device; its options are %s", key.c_str(),
               records ? "graphs, seed" : "seed");
    }
  }
  return Error::Ok;
}

}  // namespace executorch_backends::aoti
