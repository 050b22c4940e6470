/// The delegate, for whatever device: a library registers one for its own.
#pragma once

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/error.h>

#include "executorch_backends/aoti/runtime/devices/device.h"

namespace executorch_backends::aoti {

class Delegate final : public executorch::runtime::BackendInterface {
 public:
  /// `device` outlives the delegate.
  explicit Delegate(Device* device) : device_(device) {}

  bool is_available() const override { return true; }
  executorch::runtime::Result<executorch::runtime::DelegateHandle*> init(
      executorch::runtime::BackendInitContext& context,
      executorch::runtime::FreeableBuffer* processed,
      executorch::runtime::ArrayRef<executorch::runtime::CompileSpec> compile_specs) const override;
  executorch::runtime::Error execute(
      executorch::runtime::BackendExecutionContext& context,
      executorch::runtime::DelegateHandle* handle,
      executorch::runtime::Span<executorch::runtime::EValue*> values) const override;
  void destroy(executorch::runtime::DelegateHandle* handle) const override;

 private:
  Device* device_;
};

}  // namespace executorch_backends::aoti
