/// What the payloads of several backends have in common inside their sections.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "executorch_backends/common/payload/envelope.h"
#include "executorch_backends/common/payload/sha256.h"

namespace executorch_backends::payload {

/// Reads little-endian numbers from bytes, never past their end.
class Reader {
 public:
  explicit Reader(const Section& section) : Reader(section.data, section.size) {}
  Reader(const uint8_t* data, size_t size) : data_(data), left_(size) {}

  /// False, and nothing is read, where fewer bytes are left than the number has.
  template <typename Number>
  [[nodiscard]] bool read(Number* out) {
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

/// The value of `key` in lines of `key=value`, as the section `target` has them, or an empty text.
std::string value_of(const Section& section, std::string_view key);

/// A section that stands for bytes in ExecuTorch's named data:
///
///   u32 version 1, u32 0, u64 size, SHA-256, and the rest is the key
struct NamedData {
  std::string key;
  uint64_t size = 0;
  Digest digest{};

  /// False, with one line in `*error`, for a section that is none; then `*out` is left alone.
  [[nodiscard]] static bool parse(const Section& section, NamedData* out, std::string* error);
};

}  // namespace executorch_backends::payload
