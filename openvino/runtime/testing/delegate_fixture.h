/// Drives the registered delegate as ExecuTorch does: init, execute, destroy.
#pragma once

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/platform/runtime.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "executorch_backends/common/runtime/log_capture.h"

namespace executorch_backends::openvino::testing {

namespace et = executorch::runtime;

/// A payload in memory of its own, which counts how often it was freed and is overwritten then.
class CountedBlob {
 public:
  explicit CountedBlob(std::string bytes)
      : bytes_(std::make_unique<std::string>(std::move(bytes))),
        buffer_(bytes_->data(), bytes_->size(), &CountedBlob::free, this) {}
  CountedBlob(const CountedBlob&) = delete;
  CountedBlob& operator=(const CountedBlob&) = delete;

  et::FreeableBuffer* buffer() { return &buffer_; }
  int freed() const { return freed_; }

 private:
  static void free(void* context, void*, size_t) {
    auto* self = static_cast<CountedBlob*>(context);
    ++self->freed_;
    self->bytes_.reset();  // a later read is a use after free, which ASan reports
  }
  int freed_ = 0;
  std::unique_ptr<std::string> bytes_;
  et::FreeableBuffer buffer_;
};

/// A tensor that owns its data and metadata.
template <typename Element>
class OwnedTensor {
 public:
  OwnedTensor(executorch::aten::ScalarType type, std::vector<int32_t> sizes,
              std::vector<Element> data = {}, std::vector<uint8_t> order = {},
              executorch::aten::TensorShapeDynamism dynamism =
                  executorch::aten::TensorShapeDynamism::STATIC)
      : sizes_(std::move(sizes)), order_(std::move(order)), data_(std::move(data)) {
    size_t count = 1;
    for (const int32_t size : sizes_) count *= static_cast<size_t>(size);
    data_.resize(count);
    for (size_t d = order_.size(); d < sizes_.size(); ++d) {
      order_.push_back(static_cast<uint8_t>(d));
    }
    strides_.resize(sizes_.size());
    int32_t stride = 1;
    for (size_t place = order_.size(); place-- > 0;) {
      strides_[order_[place]] = stride;
      stride *= sizes_[order_[place]];
    }
    impl_ = std::make_unique<executorch::aten::TensorImpl>(
        type, static_cast<ssize_t>(sizes_.size()), sizes_.data(), data_.data(), order_.data(),
        strides_.data(), dynamism);
    value_ = et::EValue(executorch::aten::Tensor(impl_.get()));
  }
  et::EValue* value() { return &value_; }
  std::vector<Element>& data() { return data_; }
  executorch::aten::Tensor tensor() { return executorch::aten::Tensor(impl_.get()); }

 private:
  std::vector<int32_t> sizes_;
  std::vector<uint8_t> order_;
  std::vector<int32_t> strides_;
  std::vector<Element> data_;
  std::unique_ptr<executorch::aten::TensorImpl> impl_;
  et::EValue value_;
};

/// Calls the delegate that is registered, and keeps what it logs.
class DelegateDriver {
 public:
  DelegateDriver() {
    et::runtime_init();
    delegate_ = et::get_backend_class("OpenvinoBackend");
  }

  struct Destroy {
    et::BackendInterface* delegate;
    void operator()(et::DelegateHandle* handle) const { delegate->destroy(handle); }
  };
  using Handle = std::unique_ptr<et::DelegateHandle, Destroy>;

  /// A handle, or null with the error in `error()` and its texts in `log()`.
  Handle init(CountedBlob* blob, std::vector<et::BackendOption> options = {},
              const std::string& device = "CPU") {
    runtime::LogCapture capture;
    std::string device_bytes = device;
    et::CompileSpec spec{"device", {device_bytes.data(), device_bytes.size()}};
    et::BackendInitContext context(nullptr, nullptr, "forward", nullptr,
                                   {options.data(), options.size()});
    auto handle = delegate_->init(context, blob->buffer(), {&spec, 1});
    log_ = capture.text();
    error_ = handle.ok() ? et::Error::Ok : handle.error();
    return Handle(handle.ok() ? *handle : nullptr, Destroy{delegate_});
  }

  et::Error execute(const Handle& handle, std::vector<et::EValue*> values) {
    runtime::LogCapture capture;
    et::BackendExecutionContext context;
    const et::Error error =
        delegate_->execute(context, handle.get(), {values.data(), values.size()});
    log_ = capture.text();
    return error;
  }

  static et::BackendOption option(const char* key, const std::string& text) {
    et::BackendOption option;
    std::strcpy(option.key, key);
    std::array<char, et::kMaxOptionValueLength> value{};
    text.copy(value.data(), value.size() - 1);
    option.value = value;
    return option;
  }

  et::Error error() const { return error_; }
  const std::string& log() const { return log_; }

  et::BackendInterface* delegate() const { return delegate_; }

 private:
  et::BackendInterface* delegate_ = nullptr;
  et::Error error_ = et::Error::Ok;
  std::string log_;
};

class DelegateTest : public ::testing::Test, public DelegateDriver {
 protected:
  void SetUp() override { ASSERT_NE(delegate(), nullptr); }
};

}  // namespace executorch_backends::openvino::testing
