/// Changes of payloads that any backend reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "executorch_backends/common/runtime/fuzz/random.h"

namespace executorch_backends::fuzz {

/// A number in the middle of bytes; 0, and no change, where it would reach beyond them.
template <typename Number>
Number number_at(const std::string& bytes, size_t at) {
  Number number = 0;
  if (at + sizeof(number) <= bytes.size()) std::memcpy(&number, bytes.data() + at, sizeof(number));
  return number;
}

template <typename Number>
void put(std::string* bytes, size_t at, Number number) {
  if (at + sizeof(number) <= bytes->size()) std::memcpy(&(*bytes)[at], &number, sizeof(number));
}

/// Adds to a u32.
inline void change_count(std::string* bytes, size_t at, int by) {
  put(bytes, at, number_at<uint32_t>(*bytes, at) + static_cast<uint32_t>(by));
}

/// Damages bytes as a file's may be: flips, other numbers, cuts, and pieces of `other`.
void change_bytes(std::string* bytes, const std::string& other, Random* random);

/// Changes a field of the envelope itself.
void change_table(std::string* payload, Random* random);
/// Makes the checksums of whatever an envelope's header and table say.
void checksum(std::string* payload);

/// Changes a table of inputs and outputs, which often stays one.
void change_io(std::string* io, Random* random);

}  // namespace executorch_backends::fuzz
