#include "executorch_backends/aoti/runtime/payload.h"

#include <utility>

#include "executorch_backends/common/payload/envelope.h"
#include "executorch_backends/common/runtime/error.h"

namespace executorch_backends::aoti {

using executorch::runtime::Error;
using payload::Section;

Error parse_payload(const void* data, size_t size, Payload* out) {
  ETB_REQUIRE(data != nullptr && size != 0, InvalidProgram, "AOTI: the payload is empty");
  ETB_REQUIRE(payload::Envelope::has_magic(data, size), InvalidProgram,
              "AOTI: the payload's %zu bytes are not ours: another ExecuTorch backend made them; "
              "lower again with executorch_backends",
              size);
  payload::Envelope envelope;
  std::string reason;
  ETB_REQUIRE(payload::Envelope::parse(data, size, payload::Verify::kAlways, &envelope, &reason),
              InvalidProgram, "AOTI: the payload is damaged: %s", reason.c_str());
  Section target, io, code, weights;
  ETB_REQUIRE(
      envelope.find("target", &target) && envelope.find("io", &io) && envelope.find("code", &code),
      InvalidProgram, "AOTI: the payload lacks its section 'target', 'io' or 'code'");
  const std::string backend = payload::value_of(target, "backend");
  ETB_REQUIRE(backend == "aoti", InvalidProgram,
              "AOTI: the payload was made for the backend '%s', and this is 'aoti'",
              backend.c_str());
  Payload read;
  read.device = payload::value_of(target, "device");
  read.isa = payload::value_of(target, "isa");
  read.shims = payload::value_of(target, "shims");
  payload::IoTable table;
  bool good = payload::IoTable::parse(io, &table, &reason) &&
              payload::NamedData::parse(code, &read.code, &reason);
  if (good && envelope.find("weights", &weights)) {
    good = payload::NamedData::parse(weights, &read.weights.emplace(), &reason);
  }
  ETB_REQUIRE(good, InvalidProgram, "AOTI: %s", reason.c_str());
  for (size_t i = 0; i < table.outputs.size(); ++i) {
    ETB_REQUIRE(table.outputs[i].computed(), InvalidProgram,
                "AOTI: the payload's io table says that output %zu is another value, and compiled "
                "code returns every output; lower again",
                i);
  }
  read.inputs = std::move(table.inputs);
  read.outputs = std::move(table.outputs);
  *out = std::move(read);
  return Error::Ok;
}

}  // namespace executorch_backends::aoti
