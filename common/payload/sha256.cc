#include "executorch_backends/common/payload/sha256.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace executorch_backends::payload {
namespace {

constexpr size_t kBlock = 64;

// FIPS 180-4, 4.2.2: the fraction of the cube roots of the first 64 primes.
alignas(16) constexpr uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// FIPS 180-4, 5.3.3.
constexpr std::array<uint32_t, 8> kInitial = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                              0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

uint32_t rotate(uint32_t x, int n) { return x >> n | x << (32 - n); }

uint32_t load_big_endian(const uint8_t* p) {
  return uint32_t{p[0]} << 24 | uint32_t{p[1]} << 16 | uint32_t{p[2]} << 8 | uint32_t{p[3]};
}

#if defined(__x86_64__)
__attribute__((target("sha,sse4.1"))) void compress_sha_ni(uint32_t* state, const uint8_t* blocks,
                                                           size_t count) {
  const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  const auto* round = reinterpret_cast<const __m128i*>(kRound);

  // The instructions want the words as (a, b, e, f) and (c, d, g, h).
  __m128i dcba = _mm_loadu_si128(reinterpret_cast<const __m128i*>(state));
  __m128i hgfe = _mm_loadu_si128(reinterpret_cast<const __m128i*>(state + 4));
  __m128i cdab = _mm_shuffle_epi32(dcba, 0xB1);
  __m128i efgh = _mm_shuffle_epi32(hgfe, 0x1B);
  __m128i abef = _mm_alignr_epi8(cdab, efgh, 8);
  __m128i cdgh = _mm_blend_epi16(efgh, cdab, 0xF0);

  for (; count != 0; --count, blocks += kBlock) {
    const __m128i abef_before = abef;
    const __m128i cdgh_before = cdgh;
    __m128i w[4];  // the last 16 words of the message schedule
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      if (i < 4) {
        w[i] = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(blocks) + i),
                                big_endian);
      } else {
        const __m128i one_back = w[(i + 3) % 4];
        __m128i next = _mm_sha256msg1_epu32(w[i % 4], w[(i + 1) % 4]);
        next = _mm_add_epi32(next, _mm_alignr_epi8(one_back, w[(i + 2) % 4], 4));
        w[i % 4] = _mm_sha256msg2_epu32(next, one_back);
      }
      const __m128i sum = _mm_add_epi32(w[i % 4], _mm_load_si128(round + i));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0E));
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }

  const __m128i feba = _mm_shuffle_epi32(abef, 0x1B);
  const __m128i dchg = _mm_shuffle_epi32(cdgh, 0xB1);
  dcba = _mm_blend_epi16(feba, dchg, 0xF0);
  hgfe = _mm_alignr_epi8(dchg, feba, 8);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state), dcba);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state + 4), hgfe);
}

bool has_sha_ni() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return false;
  const bool has_shuffles = (c & bit_SSSE3) != 0 && (c & bit_SSE4_1) != 0;
  return has_shuffles && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA) != 0;
}
#endif

CompressBlocks fastest() {
  static const CompressBlocks accelerated = compress_accelerated();
  return accelerated != nullptr ? accelerated : &compress_portable;
}

}  // namespace

std::string hexadecimal(const Digest& digest, size_t bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < bytes; ++i) {
    text += kDigits[digest[i] >> 4];
    text += kDigits[digest[i] & 15];
  }
  return text;
}

void compress_portable(uint32_t* state, const uint8_t* blocks, size_t count) {
  for (; count != 0; --count, blocks += kBlock) {
    uint32_t w[64];
    for (size_t t = 0; t < 16; ++t) w[t] = load_big_endian(blocks + 4 * t);
    for (size_t t = 16; t < 64; ++t) {
      const uint32_t s0 = rotate(w[t - 15], 7) ^ rotate(w[t - 15], 18) ^ w[t - 15] >> 3;
      const uint32_t s1 = rotate(w[t - 2], 17) ^ rotate(w[t - 2], 19) ^ w[t - 2] >> 10;
      w[t] = w[t - 16] + s0 + w[t - 7] + s1;
    }
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (size_t t = 0; t < 64; ++t) {
      const uint32_t s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
      const uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kRound[t] + w[t];
      const uint32_t s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
      const uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
      h = g, g = f, f = e, e = d + t1;
      d = c, c = b, b = a, a = t1 + t2;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
    state[4] += e, state[5] += f, state[6] += g, state[7] += h;
  }
}

CompressBlocks compress_accelerated() {
#if defined(__x86_64__)
  if (has_sha_ni()) return &compress_sha_ni;
#endif
  return nullptr;
}

Sha256::Sha256() : Sha256(fastest()) {}

Sha256::Sha256(CompressBlocks compress) : compress_(compress), state_(kInitial) {}

void Sha256::update(const void* data, size_t size) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  const size_t left_over = total_ % kBlock;
  total_ += size;
  if (left_over != 0) {
    const size_t taken = std::min(size, kBlock - left_over);
    if (taken != 0) std::memcpy(pending_.data() + left_over, bytes, taken);
    if (left_over + taken < kBlock) return;
    compress_(state_.data(), pending_.data(), 1);
    bytes += taken;
    size -= taken;
  }
  const size_t blocks = size / kBlock;
  if (blocks != 0) compress_(state_.data(), bytes, blocks);
  const size_t rest = size % kBlock;
  if (rest != 0) std::memcpy(pending_.data(), bytes + blocks * kBlock, rest);
}

Digest Sha256::finish() {
  // A one bit, zeros, and the message's length in bits fill the last block.
  const uint64_t bits = total_ * 8;
  const size_t used = total_ % kBlock;
  uint8_t tail[2 * kBlock] = {0x80};
  const size_t zeros_end = (used < kBlock - 8 ? kBlock : 2 * kBlock) - used - 8;
  for (size_t i = 0; i < 8; ++i) tail[zeros_end + i] = static_cast<uint8_t>(bits >> (56 - 8 * i));
  update(tail, zeros_end + 8);

  Digest digest;
  for (size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
  }
  return digest;
}

Digest sha256(const void* data, size_t size) {
  Sha256 hash;
  hash.update(data, size);
  return hash.finish();
}

}  // namespace executorch_backends::payload
