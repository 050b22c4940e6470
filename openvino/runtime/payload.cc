#include "executorch_backends/openvino/runtime/payload.h"

#include <array>
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

constexpr uint32_t kIoVersion = 2;
constexpr uint32_t kWeightsVersion = 1;
constexpr uint32_t kBlobVersion = 1;
constexpr uint32_t kCodeVersion = 1;
constexpr uint32_t kSymbolicInteger = 255;
constexpr uint32_t kMaxRank = 16;
constexpr uint32_t kMaxValues = 1 << 16;
constexpr uint32_t kMaxCodeRanges = 1 << 16;

enum Flag : uint32_t { kDynamic = 1, kSameAsInput = 2, kSameAsOutput = 4 };

unsigned long long number(uint64_t value) { return value; }

/// Reads little-endian numbers from a section, never past its end.
class Reader {
 public:
  explicit Reader(const Section& section) : Reader(Bytes{section.data, section.size}) {}
  explicit Reader(Bytes bytes) : data_(bytes.data), left_(bytes.size) {}

  template <typename Number>
  bool read(Number* out) {
    if (left_ < sizeof(Number)) return false;
    std::memcpy(out, data_, sizeof(Number));
    data_ += sizeof(Number);
    left_ -= sizeof(Number);
    return true;
  }
  size_t left() const { return left_; }
  std::string rest() const { return std::string(reinterpret_cast<const char*>(data_), left_); }

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

/// What the flags of output `index` say; `source` is the other value.
Error read_source(uint32_t flags, uint32_t source, const Payload& payload, size_t index,
                  ValueSpec* out) {
  constexpr uint32_t kBoth = kSameAsInput | kSameAsOutput;
  ETB_REQUIRE((flags & ~(kDynamic | kBoth)) == 0, InvalidProgram,
              "OpenVINO: output %zu of the payload's io table has flags %#x, and this delegate "
              "knows 0x7; lower again, or update executorch_backends",
              index, flags);
  if ((flags & kBoth) == 0) {
    ETB_REQUIRE(source == 0, InvalidProgram,
                "OpenVINO: output %zu of the payload's io table is computed, and names value %u "
                "as its source",
                index, source);
    return Error::Ok;
  }
  const bool input = (flags & kSameAsInput) != 0;
  const std::vector<ValueSpec>& others = input ? payload.inputs : payload.outputs;
  const char* kind = input ? "input" : "output";
  ETB_REQUIRE((flags & kBoth) != kBoth && source < others.size(), InvalidProgram,
              "OpenVINO: output %zu of the payload's io table is said to be %s %u, with flags "
              "%#x; there are %zu to choose from",
              index, kind, source, flags, others.size());
  const ValueSpec& other = others[source];
  ETB_REQUIRE(
      !other.symbolic_integer && other.type == out->type && other.dims.size() == out->dims.size(),
      InvalidProgram,
      "OpenVINO: output %zu of the payload's io table, %s of rank %zu, is said to be %s "
      "%u, %s of rank %zu",
      index, name_of(out->type), out->dims.size(), kind, source,
      other.symbolic_integer ? "an int" : name_of(other.type), other.dims.size());
  (input ? out->same_as_input : out->same_as_output) = source;
  return Error::Ok;
}

/// Whether `order` holds each of 0 to rank - 1 once.
bool is_permutation(const std::array<uint32_t, kMaxRank>& order, uint32_t rank) {
  uint32_t seen = 0;
  for (uint32_t d = 0; d < rank; ++d) {
    if (order[d] >= rank) return false;
    seen |= uint32_t{1} << order[d];
  }
  return seen == (uint32_t{1} << rank) - 1;
}

/// Value `index`, counted over inputs and outputs.
Error read_value(Reader* reader, size_t index, bool input, Payload* payload) {
  ValueSpec value;
  ValueSpec* out = &value;
  uint32_t dtype = 0, rank = 0, flags = 0, source = 0;
  ETB_REQUIRE(
      reader->read(&dtype) && reader->read(&rank) && reader->read(&flags) && reader->read(&source),
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
  std::array<uint32_t, kMaxRank> order{};  // as it was at export: tensors say their own
  for (uint32_t d = 0; d < rank; ++d) {
    ETB_REQUIRE(reader->read(&order[d]), InvalidProgram,
                "OpenVINO: the payload's io table ends inside value %zu", index);
  }
  ETB_REQUIRE(is_permutation(order, rank), InvalidProgram,
              "OpenVINO: the dim order of value %zu of the payload's io table is no order of its "
              "%u dimensions",
              index, rank);
  if (input) {
    ETB_REQUIRE((flags & ~kDynamic) == 0 && source == 0, InvalidProgram,
                "OpenVINO: input %zu of the payload's io table has flags %#x and source %u, which "
                "only an output has",
                index, flags, source);
    payload->inputs.push_back(std::move(value));
    return Error::Ok;
  }
  ETB_TRY(read_source(flags, source, *payload, payload->outputs.size(), out));
  payload->outputs.push_back(std::move(value));
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
    ETB_TRY(read_value(&reader, i, i < inputs, out));
  }
  ETB_REQUIRE(reader.left() == 0, InvalidProgram,
              "OpenVINO: the payload's io table goes on for %zu bytes after its last value",
              reader.left());
  return Error::Ok;
}

Error read_weights(const Section& section, Payload* out) {
  Reader reader(section);
  uint32_t version = 0, reserved = 0;
  Payload::Weights weights;
  payload::Digest digest{};  // for a full check
  ETB_REQUIRE(reader.read(&version) && reader.read(&reserved) && reader.read(&weights.size) &&
                  reader.read(&digest),
              InvalidProgram,
              "OpenVINO: the payload's section 'weights' has %zu bytes; 48 are the least",
              section.size);
  ETB_REQUIRE(version == kWeightsVersion, InvalidProgram,
              "OpenVINO: the payload's section 'weights' has version %u, and this delegate reads "
              "%u; lower again, or update executorch_backends",
              version, kWeightsVersion);
  weights.key = reader.rest();
  ETB_REQUIRE(!weights.key.empty() && weights.key.find('\0') == std::string::npos, InvalidProgram,
              "OpenVINO: the payload's section 'weights' has %zu bytes of key, which is not a text",
              weights.key.size());
  out->weights = std::move(weights);
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
  Reader reader(blob.code);
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
              "OpenVINO: the payload is damaged: the blob's code has SHA-256 %02x%02x%02x%02x…, "
              "and %02x%02x%02x%02x… was recorded",
              computed[0], computed[1], computed[2], computed[3], recorded[0], recorded[1],
              recorded[2], recorded[3]);
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
