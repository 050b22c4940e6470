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
using payload::Section;

constexpr uint32_t kIoVersion = 1;
constexpr uint32_t kSymbolicInteger = 255;
constexpr uint32_t kMaxRank = 16;
constexpr uint32_t kMaxValues = 1 << 16;

/// Reads little-endian numbers from a section, never past its end.
class Reader {
 public:
  explicit Reader(const Section& section) : data_(section.data), left_(section.size) {}

  template <typename Number>
  bool read(Number* out) {
    if (left_ < sizeof(Number)) return false;
    std::memcpy(out, data_, sizeof(Number));
    data_ += sizeof(Number);
    left_ -= sizeof(Number);
    return true;
  }
  size_t left() const { return left_; }

 private:
  const uint8_t* data_;
  size_t left_;
};

/// The value of `key` in lines of `key=value`, or an empty text.
std::string value_of(const Section& section, std::string_view key) {
  std::string_view text(reinterpret_cast<const char*>(section.data), section.size);
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() == text.size() ? line.size() : line.size() + 1);
    if (line.size() > key.size() && line.substr(0, key.size()) == key && line[key.size()] == '=') {
      return std::string(line.substr(key.size() + 1));
    }
  }
  return "";
}

constexpr uint32_t kCodeVersion = 1;
constexpr uint32_t kMaxCodeRanges = 1 << 16;

/// Checks what of the blob is not weights: the section `code` lists it and has its SHA-256.
Error check_code(const Section& code, const Section& blob) {
  Reader reader(code);
  uint32_t version = 0, count = 0;
  ETB_REQUIRE(reader.read(&version) && reader.read(&count), InvalidProgram,
              "OpenVINO: the payload's code table has %zu bytes; 8 are the least", code.size);
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
                "before ends at %llu, and the blob has %zu bytes",
                i, static_cast<unsigned long long>(size), static_cast<unsigned long long>(offset),
                static_cast<unsigned long long>(end), blob.size);
    hash.update(blob.data + offset, static_cast<size_t>(size));
    end = next;
  }
  payload::Digest recorded{};
  ETB_REQUIRE(reader.left() == recorded.size(), InvalidProgram,
              "OpenVINO: the payload's code table has %zu bytes after its ranges, and a checksum "
              "has %zu",
              reader.left(), recorded.size());
  for (auto& byte : recorded) (void)reader.read(&byte);
  const payload::Digest computed = hash.finish();
  ETB_REQUIRE(computed == recorded, InvalidProgram,
              "OpenVINO: the payload is damaged: the blob's code has SHA-256 %02x%02x%02x%02x…, "
              "and %02x%02x%02x%02x… was recorded",
              computed[0], computed[1], computed[2], computed[3], recorded[0], recorded[1],
              recorded[2], recorded[3]);
  return Error::Ok;
}

/// From 2026.4 on a blob begins with this magic, a u32, a u64 size, and that many bytes of text,
/// `meta=1.0;ov=2026.4.1;isa=Intel AVX2 support`. Fills version and isa, and none otherwise.
void read_requirements(Payload* out) {
  constexpr std::string_view kMagic = "RR_UPCVO";
  constexpr size_t kText = kMagic.size() + sizeof(uint32_t) + sizeof(uint64_t);
  const std::string_view blob(static_cast<const char*>(out->blob), out->blob_size);
  if (blob.size() < kText || blob.substr(0, kMagic.size()) != kMagic) return;
  uint64_t size = 0;
  std::memcpy(&size, blob.data() + kText - sizeof(size), sizeof(size));
  std::string_view text = blob.substr(kText, static_cast<size_t>(size));
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(';'));
    text.remove_prefix(part.size() == text.size() ? part.size() : part.size() + 1);
    if (part.substr(0, 3) == "ov=") out->version = std::string(part.substr(3));
    if (part.substr(0, 4) == "isa=") out->isa = std::string(part.substr(4));
  }
}

Error read_value(Reader* reader, size_t index, ValueSpec* out) {
  uint32_t dtype = 0, rank = 0, flags = 0, reserved = 0;
  ETB_REQUIRE(reader->read(&dtype) && reader->read(&rank) && reader->read(&flags) &&
                  reader->read(&reserved),
              InvalidProgram, "OpenVINO: the payload's io table ends inside value %zu", index);
  ETB_REQUIRE(rank <= kMaxRank, InvalidProgram,
              "OpenVINO: value %zu of the payload's io table has rank %u; %u is the most", index,
              rank, kMaxRank);
  if (dtype == kSymbolicInteger) {
    out->type = I64;
    out->symbolic_integer = true;
  } else {
    ETB_REQUIRE(dtype < static_cast<uint32_t>(executorch::aten::ScalarType::NumOptions),
                InvalidProgram,
                "OpenVINO: value %zu of the payload's io table has dtype %u, "
                "which is none of ExecuTorch's %d",
                index, dtype, static_cast<int>(executorch::aten::ScalarType::NumOptions));
    out->type = element_type_of(static_cast<executorch::aten::ScalarType>(dtype));
    ETB_REQUIRE(out->type != DYNAMIC, InvalidProgram,
                "OpenVINO: value %zu of the payload's io table has ExecuTorch's dtype %u, which "
                "OpenVINO has not",
                index, dtype);
  }
  for (uint32_t d = 0; d < rank; ++d) {
    ValueSpec::Bounds bounds;
    ETB_REQUIRE(reader->read(&bounds.min) && reader->read(&bounds.max), InvalidProgram,
                "OpenVINO: the payload's io table ends inside value %zu", index);
    ETB_REQUIRE(bounds.min >= 0 && (bounds.max == -1 || bounds.max >= bounds.min), InvalidProgram,
                "OpenVINO: value %zu of the payload's io table has bounds %lld to %lld in "
                "dimension %u",
                index, static_cast<long long>(bounds.min), static_cast<long long>(bounds.max), d);
    out->dims.push_back(bounds);
  }
  return Error::Ok;
}

Error read_io(const Section& section, Payload* out) {
  Reader reader(section);
  uint32_t version = 0, inputs = 0, outputs = 0;
  ETB_REQUIRE(reader.read(&version) && reader.read(&inputs) && reader.read(&outputs),
              InvalidProgram, "OpenVINO: the payload's io table has %zu bytes; 12 are the least",
              section.size);
  ETB_REQUIRE(version == kIoVersion, InvalidProgram,
              "OpenVINO: the payload's io table has version %u, and this delegate reads %u; lower "
              "again, or update executorch_backends",
              version, kIoVersion);
  ETB_REQUIRE(inputs <= kMaxValues && outputs <= kMaxValues, InvalidProgram,
              "OpenVINO: the payload's io table has %u inputs and %u outputs; %u are the most",
              inputs, outputs, kMaxValues);
  for (size_t i = 0; i < size_t{inputs} + outputs; ++i) {
    ValueSpec value;
    ETB_TRY(read_value(&reader, i, &value));
    (i < inputs ? out->inputs : out->outputs).push_back(std::move(value));
  }
  ETB_REQUIRE(reader.left() == 0, InvalidProgram,
              "OpenVINO: the payload's io table goes on for %zu bytes after its last value",
              reader.left());
  return Error::Ok;
}

}  // namespace

bool ValueSpec::dynamic() const {
  for (const Bounds& bounds : dims) {
    if (bounds.min != bounds.max) return true;
  }
  return false;
}

Error parse_payload(const void* data, size_t size, Payload* out) {
  ETB_REQUIRE(data != nullptr && size != 0, InvalidProgram, "OpenVINO: the payload is empty");
  if (!payload::Envelope::has_magic(data, size)) {
    out->blob = data;
    out->blob_size = size;
    read_requirements(out);
    return Error::Ok;
  }
  payload::Envelope envelope;
  std::string reason;
  ETB_REQUIRE(payload::Envelope::parse(data, size, payload::Verify::kAlways, &envelope, &reason),
              InvalidProgram, "OpenVINO: the payload is damaged: %s", reason.c_str());
  Section target, io, blob;
  ETB_REQUIRE(envelope.find("target", &target) && envelope.find("io", &io), InvalidProgram,
              "OpenVINO: the payload lacks its section 'target' or 'io'");
  ETB_REQUIRE(
      envelope.find("blob", &blob), InvalidProgram,
      "OpenVINO: the payload has no section 'blob'; a newer executorch_backends may read it");
  const std::string backend = value_of(target, "backend");
  ETB_REQUIRE(backend == "openvino", InvalidProgram,
              "OpenVINO: the payload was made for the backend '%s', and this is 'openvino'",
              backend.c_str());
  out->has_envelope = true;
  out->version = value_of(target, "openvino");
  out->device = value_of(target, "device");
  out->isa = value_of(target, "isa");
  // Weights are hashed only by a full check, as `pte run` makes; the code is in any case.
  Section code;
  if (blob.weights) {
    ETB_REQUIRE(envelope.find("code", &code), InvalidProgram,
                "OpenVINO: the payload's blob holds weights, and its section 'code' is not there");
    ETB_TRY(check_code(code, blob));
  }
  out->blob = blob.data;
  out->blob_size = blob.size;
  return read_io(io, out);
}

}  // namespace executorch_backends::openvino
