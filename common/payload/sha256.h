#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace executorch_backends::payload {

/// The 32 bytes of a SHA-256 (FIPS 180-4), in the order in which they are printed.
using Digest = std::array<uint8_t, 32>;

/// Its first `bytes` bytes as text, `0a1b`; for messages and names.
std::string hexadecimal(const Digest& digest, size_t bytes = std::tuple_size<Digest>::value);

/// Mixes `count` blocks of 64 bytes into the eight words of `state`.
using CompressBlocks = void (*)(uint32_t* state, const uint8_t* blocks, size_t count);

/// Portable C++: about 0.3 GB/s.
void compress_portable(uint32_t* state, const uint8_t* blocks, size_t count);

/// The x86 SHA instructions, about 1.2 GB/s; null where the processor lacks them.
CompressBlocks compress_accelerated();

/// SHA-256 of bytes that arrive in pieces.
class Sha256 {
 public:
  /// Uses the fastest implementation that the processor has.
  Sha256();

  /// Uses the given implementation: how the tests compare them.
  explicit Sha256(CompressBlocks compress);

  /// Appends `size` bytes; `data` may be null when `size` is 0.
  void update(const void* data, size_t size);

  /// The digest of everything appended. The object is spent afterwards.
  Digest finish();

 private:
  CompressBlocks compress_;
  std::array<uint32_t, 8> state_;
  std::array<uint8_t, 64> pending_{};  // what update() left over: less than one block
  uint64_t total_ = 0;                 // bytes appended
};

/// SHA-256 of `size` bytes; `data` may be null when `size` is 0.
Digest sha256(const void* data, size_t size);

}  // namespace executorch_backends::payload
