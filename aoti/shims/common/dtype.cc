#include "executorch_backends/aoti/shims/common/dtype.h"

namespace executorch_backends::aoti {

const char* name_of(DType dtype) {
  switch (dtype) {
    case DType::Byte:
      return "uint8";
    case DType::Char:
      return "int8";
    case DType::Short:
      return "int16";
    case DType::Int:
      return "int32";
    case DType::Long:
      return "int64";
    case DType::UInt16:
      return "uint16";
    case DType::UInt32:
      return "uint32";
    case DType::UInt64:
      return "uint64";
    case DType::Half:
      return "float16";
    case DType::Float:
      return "float32";
    case DType::Double:
      return "float64";
    case DType::BFloat16:
      return "bfloat16";
    case DType::ComplexHalf:
      return "complex32";
    case DType::ComplexFloat:
      return "complex64";
    case DType::ComplexDouble:
      return "complex128";
    case DType::Bool:
      return "bool";
    default:
      return c10::toString(dtype);
  }
}

size_t item_size(DType dtype) {
  switch (dtype) {
    case DType::Byte:
    case DType::Char:
    case DType::Bool:
    case DType::Float8_e5m2:
    case DType::Float8_e4m3fn:
    case DType::Float8_e5m2fnuz:
    case DType::Float8_e4m3fnuz:
    case DType::Float8_e8m0fnu:
      return 1;
    case DType::Short:
    case DType::UInt16:
    case DType::Half:
    case DType::BFloat16:
      return 2;
    case DType::Int:
    case DType::UInt32:
    case DType::Float:
    case DType::ComplexHalf:
      return 4;
    case DType::Long:
    case DType::UInt64:
    case DType::Double:
    case DType::ComplexFloat:
      return 8;
    case DType::ComplexDouble:
      return 16;
    default:
      fail("no tensor can hold dtype ", name_of(dtype));
  }
}

DType dtype_from(int32_t number) {
  require(number >= 0 && number < static_cast<int32_t>(DType::Undefined), "dtype ", number,
          " is not one of the ", static_cast<int32_t>(DType::Undefined), " there are");
  return static_cast<DType>(number);
}

}  // namespace executorch_backends::aoti
