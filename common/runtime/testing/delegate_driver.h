/// Drives a registered delegate as ExecuTorch does: init, execute, destroy.
#pragma once

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/named_data_map.h>
#include <executorch/runtime/platform/runtime.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "executorch_backends/common/payload/testing/payload_builder.h"
#include "executorch_backends/common/runtime/log_capture.h"

namespace executorch_backends::testing {

namespace et = executorch::runtime;

/// Named data that come as copies, as from a file; counts how often they were read and freed.
class CountedData final : public et::NamedDataMap {
 public:
  explicit CountedData(std::map<std::string, std::string> data) : data_(std::move(data)) {}

  et::Result<et::FreeableBuffer> get_data(std::string_view key) const override {
    const auto found = data_.find(std::string(key));
    if (found == data_.end()) return et::Error::NotFound;
    ++reads_;
    auto* copy = new Copy{found->second, &freed_};  // freed with the buffer
    return et::FreeableBuffer(copy->bytes.data(), copy->bytes.size(), &CountedData::free, copy);
  }
  et::Result<const et::TensorLayout> get_tensor_layout(std::string_view) const override {
    return et::Error::NotImplemented;
  }
  et::Error load_data_into(std::string_view, void*, size_t) const override {
    return et::Error::NotImplemented;
  }
  et::Result<uint32_t> get_num_keys() const override { return static_cast<uint32_t>(data_.size()); }
  et::Result<const char*> get_key(uint32_t) const override { return et::Error::NotImplemented; }

  int reads() const { return reads_; }
  int freed() const { return freed_; }

 private:
  struct Copy {
    std::string bytes;
    std::atomic<int>* freed;
  };
  static void free(void* context, void*, size_t) {
    std::unique_ptr<Copy> copy(static_cast<Copy*>(context));
    ++*copy->freed;
  }
  std::map<std::string, std::string> data_;
  mutable std::atomic<int> reads_{0};
  mutable std::atomic<int> freed_{0};
};

/// A payload in memory of its own, which counts how often it was freed, with its named data.
class TestProgram {
 public:
  explicit TestProgram(Built built)
      : data_(std::move(built.data)),
        bytes_(std::make_unique<std::string>(std::move(built.payload))),
        buffer_(bytes_->data(), bytes_->size(), &TestProgram::free, this) {}
  /// A payload without named data, such as a bare blob.
  explicit TestProgram(std::string payload) : TestProgram(Built{std::move(payload), {}}) {}
  TestProgram(const TestProgram&) = delete;
  TestProgram& operator=(const TestProgram&) = delete;

  et::FreeableBuffer* buffer() { return &buffer_; }
  int freed() const { return freed_; }
  const CountedData& data() const { return data_; }

 private:
  static void free(void* context, void*, size_t) {
    auto* self = static_cast<TestProgram*>(context);
    ++self->freed_;
    self->bytes_.reset();  // a later read is a use after free, which ASan reports
  }
  CountedData data_;
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

/// Calls the delegate that is registered for a backend as ExecuTorch does, and keeps what it logs.
class DelegateDriver {
 public:
  explicit DelegateDriver(const char* backend) {
    et::runtime_init();
    delegate_ = et::get_backend_class(backend);
  }

  struct Destroy {
    et::BackendInterface* delegate;
    void operator()(et::DelegateHandle* handle) const { delegate->destroy(handle); }
  };
  using Handle = std::unique_ptr<et::DelegateHandle, Destroy>;

  /// A handle, or null with the error in `error()` and its texts in `log()`.
  Handle init(et::FreeableBuffer* payload, const et::NamedDataMap* data,
              std::vector<et::BackendOption> options,
              std::vector<std::pair<std::string, std::string>> compile_specs = {}) {
    runtime::LogCapture capture;
    std::vector<et::CompileSpec> specs;
    for (auto& [key, value] : compile_specs) {
      specs.push_back({key.c_str(), {value.data(), value.size()}});
    }
    et::BackendInitContext context(nullptr, nullptr, "forward", data,
                                   {options.data(), options.size()});
    auto handle = delegate_->init(context, payload, {specs.data(), specs.size()});
    log_ = capture.text();
    notes_ = capture.notes();
    error_ = handle.ok() ? et::Error::Ok : handle.error();
    return Handle(handle.ok() ? *handle : nullptr, Destroy{delegate_});
  }

  et::Error execute(const Handle& handle, std::vector<et::EValue*> values,
                    et::EventTracer* tracer = nullptr) {
    runtime::LogCapture capture;
    et::BackendExecutionContext context(tracer);
    const et::Error error =
        delegate_->execute(context, handle.get(), {values.data(), values.size()});
    log_ = capture.text();
    return error;
  }

  /// Calls of 4 threads, 10,000 each, that fail or whose result `is_right(in, out)` denies; thread
  /// t has handle t, modulo their number. Of a model f32 [2, 3] to f32 [2, 3].
  template <typename Check>
  int wrong_calls(const std::vector<Handle>& handles, Check is_right) {
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (size_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        OwnedTensor<float> in(executorch::aten::ScalarType::Float, {2, 3});
        OwnedTensor<float> out(executorch::aten::ScalarType::Float, {2, 3});
        et::BackendExecutionContext context;
        for (int call = 0; call < 10000; ++call) {
          std::fill(in.data().begin(), in.data().end(), static_cast<float>(t + call % 7));
          std::vector<et::EValue*> values = {in.value(), out.value()};
          const et::Error error = delegate()->execute(context, handles[t % handles.size()].get(),
                                                      {values.data(), values.size()});
          if (error != et::Error::Ok || !is_right(in.data()[5], out.data()[5])) ++wrong;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return wrong;
  }

  static et::BackendOption option(const char* key, const std::string& text) {
    et::BackendOption option;
    std::strcpy(option.key, key);
    std::array<char, et::kMaxOptionValueLength> value{};
    text.copy(value.data(), value.size() - 1);
    option.value = value;
    return option;
  }

  template <typename Value>
  static et::BackendOption value_option(const char* key, Value value) {
    et::BackendOption option;
    std::strcpy(option.key, key);
    option.value = value;
    return option;
  }

  et::Error error() const { return error_; }
  const std::string& log() const { return log_; }
  const std::string& notes() const { return notes_; }

  et::BackendInterface* delegate() const { return delegate_; }

 private:
  et::BackendInterface* delegate_ = nullptr;
  et::Error error_ = et::Error::Ok;
  std::string log_;
  std::string notes_;
};

}  // namespace executorch_backends::testing
