// Sleef's entry points, which Inductor's vectorised kernels call, over glibc's vector library.
//
// glibc's functions are within 4 ulp and right for NaN, infinities and denormal numbers; what it
// lacks is computed element by element. The file is compiled once for each width: with AVX2 it
// defines the functions of 8 floats and 4 doubles, with AVX-512 those of 16 and 8.

#include <immintrin.h>
#include <sleef.h>

#include <cstddef>

namespace {

#ifdef __AVX512F__
using Floats = __m512;
using Doubles = __m512d;
#else
using Floats = __m256;
using Doubles = __m256d;
#endif

template <class Element, class Vector, class Function, class... Vectors>
Vector each(Function function, Vector first, Vectors... others) {
  Vector result = first;
  for (size_t i = 0; i < sizeof(Vector) / sizeof(Element); ++i) {
    reinterpret_cast<Element*>(&result)[i] =
        function(reinterpret_cast<const Element*>(&first)[i],
                 reinterpret_cast<const Element*>(&others)[i]...);
  }
  return result;
}

}  // namespace

extern "C" {

#ifdef __AVX512F__
#define FLOATS(name) _ZGVeN16##name##f
#define DOUBLES(name) _ZGVeN8##name
#define SLEEF_FLOATS(name, ulp) Sleef_##name##f16##ulp
#define SLEEF_DOUBLES(name, ulp) Sleef_##name##d8##ulp
#else
#define FLOATS(name) _ZGVdN8##name##f
#define DOUBLES(name) _ZGVdN4##name
#define SLEEF_FLOATS(name, ulp) Sleef_##name##f8##ulp
#define SLEEF_DOUBLES(name, ulp) Sleef_##name##d4##ulp
#endif

#define VECTOR_1(name, ulp)                                                \
  Floats FLOATS(v_##name)(Floats);                                         \
  Doubles DOUBLES(v_##name)(Doubles);                                      \
  Floats SLEEF_FLOATS(name, ulp)(Floats x) { return FLOATS(v_##name)(x); } \
  Doubles SLEEF_DOUBLES(name, ulp)(Doubles x) { return DOUBLES(v_##name)(x); }

#define VECTOR_2(name, ulp)                                                              \
  Floats FLOATS(vv_##name)(Floats, Floats);                                              \
  Doubles DOUBLES(vv_##name)(Doubles, Doubles);                                          \
  Floats SLEEF_FLOATS(name, ulp)(Floats x, Floats y) { return FLOATS(vv_##name)(x, y); } \
  Doubles SLEEF_DOUBLES(name, ulp)(Doubles x, Doubles y) { return DOUBLES(vv_##name)(x, y); }

// Builtins: the standard library's inline functions would be weak symbols, and of two that were
// compiled for different instruction sets the linker keeps any.
#define ELEMENTS_1(name, ulp)                                              \
  Floats SLEEF_FLOATS(name, ulp)(Floats x) {                               \
    return each<float>([](float a) { return __builtin_##name##f(a); }, x); \
  }                                                                        \
  Doubles SLEEF_DOUBLES(name, ulp)(Doubles x) {                            \
    return each<double>([](double a) { return __builtin_##name(a); }, x);  \
  }

#define ELEMENTS_2(name, ulp)                                                             \
  Floats SLEEF_FLOATS(name, ulp)(Floats x, Floats y) {                                    \
    return each<float>([](float a, float b) { return __builtin_##name##f(a, b); }, x, y); \
  }                                                                                       \
  Doubles SLEEF_DOUBLES(name, ulp)(Doubles x, Doubles y) {                                \
    return each<double>([](double a, double b) { return __builtin_##name(a, b); }, x, y); \
  }

VECTOR_1(acos, _u10)
VECTOR_1(acosh, _u10)
VECTOR_1(asin, _u10)
VECTOR_1(asinh, _u10)
VECTOR_1(atan, _u10)
VECTOR_1(atanh, _u10)
VECTOR_1(cos, _u10)
VECTOR_1(cosh, _u10)
VECTOR_1(erf, _u10)
VECTOR_1(erfc, _u15)
VECTOR_1(exp, _u10)
VECTOR_1(exp2, _u10)
VECTOR_1(expm1, _u10)
VECTOR_1(log, _u10)
VECTOR_1(log10, _u10)
VECTOR_1(log1p, _u10)
VECTOR_1(log2, _u10)
VECTOR_1(sin, _u10)
VECTOR_1(sinh, _u10)
VECTOR_1(tan, _u10)
VECTOR_1(tanh, _u10)
VECTOR_2(atan2, _u10)
VECTOR_2(hypot, _u05)
VECTOR_2(pow, _u10)
ELEMENTS_1(lgamma, _u10)
ELEMENTS_2(copysign, )
ELEMENTS_2(fmod, )
ELEMENTS_2(nextafter, )

// Inductor's less precise choices, as far as it makes any.
Floats SLEEF_FLOATS(cos, _u35)(Floats x) { return FLOATS(v_cos)(x); }
Floats SLEEF_FLOATS(sin, _u35)(Floats x) { return FLOATS(v_sin)(x); }

#ifdef __AVX512F__
Sleef___m512_2 Sleef_sincosf16_u10(Floats x) { return {FLOATS(v_sin)(x), FLOATS(v_cos)(x)}; }
Sleef___m512d_2 Sleef_sincosd8_u10(Doubles x) { return {DOUBLES(v_sin)(x), DOUBLES(v_cos)(x)}; }
#else
Sleef___m256_2 Sleef_sincosf8_u10(Floats x) { return {FLOATS(v_sin)(x), FLOATS(v_cos)(x)}; }
Sleef___m256d_2 Sleef_sincosd4_u10(Doubles x) { return {DOUBLES(v_sin)(x), DOUBLES(v_cos)(x)}; }
#endif

}  // extern "C"
