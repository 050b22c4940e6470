/// Element types of ExecuTorch and of OpenVINO.
#pragma once

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <openvino/c/ov_common.h>

#include <cstddef>

namespace executorch_backends::openvino {

/// The OpenVINO type that holds the same bits, or DYNAMIC when there is none.
inline ov_element_type_e element_type_of(executorch::aten::ScalarType type) {
  using executorch::aten::ScalarType;
  switch (type) {
    case ScalarType::Bool:
      return BOOLEAN;
    case ScalarType::Byte:
      return U8;
    case ScalarType::Char:
      return I8;
    case ScalarType::Short:
      return I16;
    case ScalarType::Int:
      return I32;
    case ScalarType::Long:
      return I64;
    case ScalarType::UInt16:
      return U16;
    case ScalarType::UInt32:
      return U32;
    case ScalarType::UInt64:
      return U64;
    case ScalarType::Half:
      return F16;
    case ScalarType::BFloat16:
      return BF16;
    case ScalarType::Float:
      return F32;
    case ScalarType::Double:
      return F64;
    default:
      return DYNAMIC;
  }
}

/// `f32`, as OpenVINO spells it; for messages.
inline const char* name_of(ov_element_type_e type) {
  switch (type) {
    case BOOLEAN:
      return "boolean";
    case U8:
      return "u8";
    case I8:
      return "i8";
    case I16:
      return "i16";
    case I32:
      return "i32";
    case I64:
      return "i64";
    case U16:
      return "u16";
    case U32:
      return "u32";
    case U64:
      return "u64";
    case F16:
      return "f16";
    case BF16:
      return "bf16";
    case F32:
      return "f32";
    case F64:
      return "f64";
    default:
      return "another type";
  }
}

}  // namespace executorch_backends::openvino
