/// AOTInductor's C interface to a compiled program, as far as the delegate needs it.
#pragma once

#include <executorch/runtime/core/error.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "executorch_backends/aoti/runtime/code.h"
#include "executorch_backends/aoti/shims/shims.h"

namespace executorch_backends::aoti {

struct DeleteTensor {
  void operator()(AtenTensorHandle tensor) const { aoti_torch_delete_tensor_object(tensor); }
};
/// A tensor of the shim library.
using OwnedTensor = std::unique_ptr<AtenTensorOpaque, DeleteTensor>;

/// A constant of a program, by AOTInductor's name of it.
struct Constant {
  std::string name;
  size_t bytes = 0;
  OwnedTensor tensor;
};

class Constants;

/// One instance of a program: its constants, and whatever it keeps between runs. Deleted with the
/// object, before its code and the constants that it shares. To be used by one thread at a time.
class Container {
 public:
  /// `device` as AOTInductor names it.
  static executorch::runtime::Error create(std::shared_ptr<const Code> code, const char* device,
                                           std::unique_ptr<Container>* out);
  ~Container();
  Container(const Container&) = delete;
  Container& operator=(const Container&) = delete;

  size_t inputs() const { return inputs_; }
  size_t outputs() const { return outputs_; }

  /// Copies the constants out of these bytes, whose number has to be what the code says. They may
  /// be none, of constants without elements.
  executorch::runtime::Error set_constants(const void* bytes, size_t size);
  /// Those that were set, in the order of their bytes.
  executorch::runtime::Error constants(std::vector<Constant>* out) const;
  /// Uses constants where they are, and keeps them as long as itself.
  executorch::runtime::Error share_constants(std::shared_ptr<const Constants> constants);

  /// Runs on `inputs`, which are used up, and fills `outputs`, which are as many as the program
  /// has. Also what the program itself has overlooked is an error.
  executorch::runtime::Error run(std::vector<OwnedTensor>* inputs,
                                 std::vector<OwnedTensor>* outputs, void* stream);

 private:
  using Handle = void*;
  /// AOTInductorConstantMapEntry.
  struct ConstantEntry {
    const char* name;
    AtenTensorHandle tensor;
  };
  struct Api {
    int32_t (*create)(Handle*, size_t, const char*, const char*);
    int32_t (*destroy)(Handle);
    int32_t (*inputs)(Handle, size_t*);
    int32_t (*outputs)(Handle, size_t*);
    int32_t (*constants)(Handle, size_t*);
    int32_t (*constant_is_folded)(Handle, size_t, bool*);
    int32_t (*constant_bytes)(Handle, size_t, size_t*);
    int32_t (*constant_name)(Handle, size_t, const char**);
    int32_t (*set_constants)(Handle, const uint8_t*);
    int32_t (*constants_set)(Handle, const ConstantEntry**, size_t*, bool);
    int32_t (*share_constants)(Handle, const ConstantEntry*, size_t, bool, bool);
    int32_t (*run)(Handle, AtenTensorHandle*, size_t, AtenTensorHandle*, size_t, void*, void*);
    int32_t (*last_error)(const char**);
  };

  explicit Container(std::shared_ptr<const Code> code);
  executorch::runtime::Error find_api();
  /// Of the constants that come from weights, without their tensors.
  executorch::runtime::Error list_constants(std::vector<Constant>* out) const;
  /// What the shims and the program say of a failure.
  std::string reason() const;

  std::shared_ptr<const Code> code_;
  std::shared_ptr<const Constants> constants_;
  Api api_{};
  Handle handle_ = nullptr;
  size_t inputs_ = 0;
  size_t outputs_ = 0;
  std::vector<AtenTensorHandle> raw_inputs_;
  std::vector<AtenTensorHandle> raw_outputs_;
};

}  // namespace executorch_backends::aoti
