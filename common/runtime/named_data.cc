#include "executorch_backends/common/runtime/named_data.h"

#include <utility>

#include "executorch_backends/common/runtime/error.h"

namespace executorch_backends::runtime {

using executorch::runtime::Error;
using executorch::runtime::FreeableBuffer;
using executorch::runtime::NamedDataMap;

Error read_named_data(const char* backend, const NamedDataMap* programs_data,
                      const payload::NamedData& wanted, const char* what,
                      std::optional<FreeableBuffer>* out) {
  ETB_REQUIRE(programs_data != nullptr, InvalidProgram,
              "%s: the payload keeps its %s in the program's named data '%s', and this program has "
              "no named data",
              backend, what, wanted.key.c_str());
  auto data = programs_data->get_data(wanted.key);
  ETB_REQUIRE(data.ok(), InvalidProgram,
              "%s: the program's named data lack the payload's %s '%s' (error 0x%x)", backend, what,
              wanted.key.c_str(), static_cast<unsigned>(data.error()));
  ETB_REQUIRE(data->size() == wanted.size, InvalidProgram,
              "%s: the payload's %s have %llu bytes, and the program's named data '%s' have %zu",
              backend, what, static_cast<unsigned long long>(wanted.size), wanted.key.c_str(),
              data->size());
  out->emplace(std::move(data.get()));
  return Error::Ok;
}

}  // namespace executorch_backends::runtime
