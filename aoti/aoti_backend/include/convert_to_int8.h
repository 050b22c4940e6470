#pragma once
// float32 to int8 as eager: what is out of range wraps around. torch's vectors saturate there, and
// wrap for uint8 alone, which has the same bits.

#include <ATen/cpu/vec/vec.h>

namespace at::vec {
inline namespace CPU_CAPABILITY {

#if defined(CPU_CAPABILITY_AVX512)
using Bytes = __m512i;
#else
using Bytes = __m256i;
#endif

template <int floats>
struct WrapToInt8 {
  static VectorizedN<int8_t, 1> apply(const VectorizedN<float, floats>& source) {
    const VectorizedN<uint8_t, 1> same = VecConvert<uint8_t, 1, float, floats>::apply(source);
    return VectorizedN<int8_t, 1>(Vectorized<int8_t>(static_cast<Bytes>(same[0])));
  }
};

template <>
struct VecConvert<int8_t, 1, float, 1, void> : WrapToInt8<1> {};
template <>
struct VecConvert<int8_t, 1, float, 2, void> : WrapToInt8<2> {};

}  // namespace CPU_CAPABILITY
}  // namespace at::vec
