#include "executorch_backends/openvino/runtime/payload.h"

#include <cstring>
#include <string_view>
#include <utility>

#include "executorch_backends/common/checked/checked.h"
#include "executorch_backends/common/payload/envelope.h"
#include "executorch_backends/common/payload/sha256.h"
#include "executorch_backends/common/runtime/error.h"
#include "executorch_backends/openvino/runtime/element_type.h"

namespace executorch_backends::openvino {
namespace {

using executorch::runtime::Error;
using payload::Reader;
using payload::Section;
using payload::value_of;

constexpr uint32_t kBlobVersion = 1;
constexpr uint32_t kCodeVersion = 1;
constexpr uint32_t kMaxCodeRanges = 1 << 16;

unsigned long long number(uint64_t value) { return value; }

/// From 2026.4 on a blob begins with this magic, a u32, a u64 size, and that many bytes of text,
/// `meta=1.0;ov=2026.4.1;isa=Intel AVX2 support`. Fills version and isa, and none otherwise.
void read_requirements(std::string_view blob, std::string* version, std::string* isa) {
  constexpr std::string_view kMagic = "RR_UPCVO";
  constexpr size_t kText = kMagic.size() + sizeof(uint32_t) + sizeof(uint64_t);
  if (blob.size() < kText || blob.substr(0, kMagic.size()) != kMagic) return;
  uint64_t size = 0;
  std::memcpy(&size, blob.data() + kText - sizeof(size), sizeof(size));
  std::string_view text = blob.substr(kText, static_cast<size_t>(size));
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(';'));
    text.remove_prefix(part.size() == text.size() ? part.size() : part.size() + 1);
    if (part.substr(0, 3) == "ov=") *version = std::string(part.substr(3));
    if (part.substr(0, 4) == "isa=") *isa = std::string(part.substr(4));
  }
}

/// The value as OpenVINO sees it; `index` counts over inputs and outputs.
Error describe(const payload::Value& value, size_t index, std::vector<ValueSpec>* out) {
  ValueSpec spec;
  spec.type = element_type_of(value.type);
  ETB_REQUIRE(spec.type != DYNAMIC, InvalidProgram,
              "OpenVINO: value %zu of the payload's io table has ExecuTorch's dtype %d, which "
              "OpenVINO has not",
              index, static_cast<int>(value.type));
  spec.dims = value.dims;
  spec.same_as_input = value.same_as_input;
  spec.same_as_output = value.same_as_output;
  out->push_back(std::move(spec));
  return Error::Ok;
}

Error read_io(const Section& section, Payload* out) {
  payload::IoTable table;
  std::string reason;
  ETB_REQUIRE(payload::IoTable::parse(section, &table, &reason), InvalidProgram, "OpenVINO: %s",
              reason.c_str());
  for (const payload::Value& value : table.inputs) {
    ETB_TRY(describe(value, out->inputs.size(), &out->inputs));
  }
  for (const payload::Value& value : table.outputs) {
    ETB_TRY(describe(value, out->inputs.size() + out->outputs.size(), &out->outputs));
  }
  return Error::Ok;
}

Error read_weights(const Section& section, Payload* out) {
  std::string reason;
  ETB_REQUIRE(payload::NamedData::parse(section, &out->weights.emplace(), &reason), InvalidProgram,
              "OpenVINO: %s", reason.c_str());
  return Error::Ok;
}

Error read_blob(const Section& section, const payload::Envelope& envelope, const Section& target,
                Payload* out) {
  Reader reader(section);
  uint32_t version = 0, reserved = 0;
  Payload::Blob blob;
  ETB_REQUIRE(reader.read(&version) && reader.read(&reserved) && reader.read(&blob.offset) &&
                  reader.read(&blob.size) && reader.left() == 0,
              InvalidProgram,
              "OpenVINO: the payload's section 'blob' has %zu bytes, and 24 are needed",
              section.size);
  ETB_REQUIRE(version == kBlobVersion, InvalidProgram,
              "OpenVINO: the payload's section 'blob' has version %u, and this delegate reads %u; "
              "lower again, or update executorch_backends",
              version, kBlobVersion);
  const uint64_t whole = out->weights ? out->weights->size : 0;
  uint64_t end = 0;
  ETB_REQUIRE(blob.size != 0 && !checked::add(blob.offset, blob.size, &end) && end <= whole,
              InvalidProgram,
              "OpenVINO: the payload's blob is %llu bytes at %llu of the weights, which have %llu",
              number(blob.size), number(blob.offset), number(whole));
  Section code;
  ETB_REQUIRE(envelope.find("code", &code), InvalidProgram,
              "OpenVINO: the payload has a section 'blob' and none called 'code', which protects "
              "it");
  blob.code = {code.data, code.size};
  blob.device = value_of(target, "blob_device");
  blob.isa = value_of(target, "isa");
  out->blob = std::move(blob);
  return Error::Ok;
}

}  // namespace

bool ValueSpec::dynamic() const {
  for (const Bounds& bounds : dims) {
    if (bounds.min != bounds.max) return true;
  }
  return false;
}

Error check_code(const Payload::Blob& blob, Bytes weights) {
  Reader reader(blob.code.data, blob.code.size);
  uint32_t version = 0, count = 0;
  ETB_REQUIRE(reader.read(&version) && reader.read(&count), InvalidProgram,
              "OpenVINO: the payload's code table has %zu bytes; 8 are the least", blob.code.size);
  ETB_REQUIRE(version == kCodeVersion, InvalidProgram,
              "OpenVINO: the payload's code table has version %u, and this delegate reads %u; "
              "lower again, or update executorch_backends",
              version, kCodeVersion);
  ETB_REQUIRE(count <= kMaxCodeRanges, InvalidProgram,
              "OpenVINO: the payload's code table has %u ranges; %u are the most", count,
              kMaxCodeRanges);
  payload::Sha256 hash;
  uint64_t end = 0;
  for (uint32_t i = 0; i < count; ++i) {
    uint64_t offset = 0, size = 0, next = 0;
    ETB_REQUIRE(reader.read(&offset) && reader.read(&size), InvalidProgram,
                "OpenVINO: the payload's code table ends inside range %u of %u", i, count);
    ETB_REQUIRE(offset >= end && !checked::add(offset, size, &next) && next <= blob.size,
                InvalidProgram,
                "OpenVINO: range %u of the payload's code table is %llu bytes at %llu; the one "
                "before ends at %llu, and the blob has %llu bytes",
                i, number(size), number(offset), number(end), number(blob.size));
    hash.update(weights.data + blob.offset + offset, static_cast<size_t>(size));
    end = next;
  }
  payload::Digest recorded{};
  ETB_REQUIRE(reader.left() == recorded.size(), InvalidProgram,
              "OpenVINO: the payload's code table has %zu bytes after its ranges, and a checksum "
              "has %zu",
              reader.left(), recorded.size());
  (void)reader.read(&recorded);
  const payload::Digest computed = hash.finish();
  ETB_REQUIRE(computed == recorded, InvalidProgram,
              "OpenVINO: the payload is damaged: the blob's code has SHA-256 %s…, and %s… was "
              "recorded",
              payload::hexadecimal(computed, 4).c_str(), payload::hexadecimal(recorded, 4).c_str());
  return Error::Ok;
}

Error parse_payload(const void* data, size_t size, Payload* out) {
  ETB_REQUIRE(data != nullptr && size != 0, InvalidProgram, "OpenVINO: the payload is empty");
  if (!payload::Envelope::has_magic(data, size)) {
    out->blob.emplace();
    out->blob->size = size;
    read_requirements({static_cast<const char*>(data), size}, &out->version, &out->blob->isa);
    return Error::Ok;
  }
  payload::Envelope envelope;
  std::string reason;
  ETB_REQUIRE(payload::Envelope::parse(data, size, payload::Verify::kAlways, &envelope, &reason),
              InvalidProgram, "OpenVINO: the payload is damaged: %s", reason.c_str());
  out->has_envelope = true;
  Section target, io, ir, weights, blob;
  ETB_REQUIRE(envelope.find("target", &target) && envelope.find("io", &io), InvalidProgram,
              "OpenVINO: the payload lacks its section 'target' or 'io'");
  const std::string backend = value_of(target, "backend");
  ETB_REQUIRE(backend == "openvino", InvalidProgram,
              "OpenVINO: the payload was made for the backend '%s', and this is 'openvino'",
              backend.c_str());
  out->version = value_of(target, "openvino");
  out->device = value_of(target, "device");
  ETB_TRY(read_io(io, out));
  ETB_REQUIRE(envelope.find("ir", &ir) && ir.size != 0, InvalidProgram,
              "OpenVINO: the payload lacks its section 'ir'; a newer executorch_backends may read "
              "it");
  out->ir = {ir.data, ir.size};
  if (envelope.find("weights", &weights)) ETB_TRY(read_weights(weights, out));
  if (envelope.find("blob", &blob)) ETB_TRY(read_blob(blob, envelope, target, out));
  return Error::Ok;
}

}  // namespace executorch_backends::openvino
