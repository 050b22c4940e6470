// The envelope reader and SHA-256 behind a C ABI, for the Python tests to call through ctypes.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "executorch_backends/common/payload/envelope.h"
#include "executorch_backends/common/payload/sha256.h"

namespace payload = executorch_backends::payload;

extern "C" {

// 1 and one line "name offset size weights" per section in `text`, or 0 and the error.
__attribute__((visibility("default"))) int payload_parse(const void* data, size_t size, int full,
                                                         char* text, size_t capacity) {
  payload::Envelope envelope;
  std::string out;
  const auto verify = full != 0 ? payload::Verify::kFull : payload::Verify::kAlways;
  const bool ok = payload::Envelope::parse(data, size, verify, &envelope, &out);
  for (const payload::Section& section : envelope.sections()) {
    const auto offset = section.data - static_cast<const uint8_t*>(data);
    out += std::string(section.name) + " " + std::to_string(offset) + " " +
           std::to_string(section.size) + " " + (section.weights ? "1" : "0") + "\n";
  }
  const size_t length = std::min(out.size(), capacity - 1);
  std::memcpy(text, out.data(), length);
  text[length] = '\0';
  return ok ? 1 : 0;
}

// Writes 32 bytes. `portable` leaves the processor's SHA instructions alone.
__attribute__((visibility("default"))) void payload_sha256(const void* data, size_t size,
                                                           int portable, uint8_t* digest) {
  payload::Sha256 hash =
      portable != 0 ? payload::Sha256(&payload::compress_portable) : payload::Sha256();
  hash.update(data, size);
  const payload::Digest found = hash.finish();
  std::copy(found.begin(), found.end(), digest);
}

}  // extern "C"
