/// A method of a .pte, loaded without anything between it and ExecuTorch's Method.
#pragma once

#include <executorch/runtime/backend/backend_options_map.h>
#include <executorch/runtime/executor/memory_manager.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

namespace executorch_backends::bench {

namespace et = executorch::runtime;

/// Ends the benchmark, which has nothing to fall back to.
inline void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "benchmark: %s failed\n", what);
  std::exit(1);
}

class LoadedMethod {
 public:
  /// Loads `forward`, whose inputs are float32, and fills them with ones.
  explicit LoadedMethod(std::unique_ptr<et::DataLoader> loader,
                        const et::LoadBackendOptionsMap* options = nullptr)
      : loader_(std::move(loader)) {
    auto program = et::Program::load(loader_.get());
    require(program.ok(), "loading the program");
    program_ = std::make_unique<et::Program>(std::move(program.get()));
    auto meta = program_->method_meta("forward");
    require(meta.ok(), "reading the method's metadata");
    for (size_t i = 0; i < meta->num_memory_planned_buffers(); ++i) {
      buffers_.emplace_back(static_cast<size_t>(*meta->memory_planned_buffer_size(i)));
      spans_.emplace_back(buffers_.back().data(), buffers_.back().size());
    }
    planned_ = std::make_unique<et::HierarchicalAllocator>(
        et::Span<et::Span<uint8_t>>(spans_.data(), spans_.size()));
    manager_ = std::make_unique<et::MemoryManager>(&method_allocator_, planned_.get());
    auto method = program_->load_method("forward", manager_.get(), nullptr, nullptr, options);
    require(method.ok(), "loading the method");
    method_ = std::make_unique<et::Method>(std::move(method.get()));
    for (size_t i = 0; i < meta->num_inputs(); ++i) {
      auto info = meta->input_tensor_meta(i);
      require(info.ok(), "reading an input's metadata");
      std::vector<executorch::aten::SizesType> sizes(info->sizes().begin(), info->sizes().end());
      std::vector<float> ones(info->nbytes() / sizeof(float), 1.0f);
      executorch::aten::TensorImpl tensor(info->scalar_type(), static_cast<ssize_t>(sizes.size()),
                                          sizes.data(), ones.data());
      // Inputs are planned: the method keeps a copy.
      require(method_->set_input(et::EValue(executorch::aten::Tensor(&tensor)), i) == et::Error::Ok,
              "setting an input");
    }
  }

  void execute() { require(method_->execute() == et::Error::Ok, "a run"); }
  const et::EValue& output() const { return method_->get_output(0); }

 private:
  std::vector<uint8_t> method_pool_ = std::vector<uint8_t>(1 << 20);
  et::MemoryAllocator method_allocator_{static_cast<uint32_t>(method_pool_.size()),
                                        method_pool_.data()};
  std::unique_ptr<et::DataLoader> loader_;
  std::unique_ptr<et::Program> program_;
  std::vector<std::vector<uint8_t>> buffers_;
  std::vector<et::Span<uint8_t>> spans_;
  std::unique_ptr<et::HierarchicalAllocator> planned_;
  std::unique_ptr<et::MemoryManager> manager_;
  std::unique_ptr<et::Method> method_;
};

}  // namespace executorch_backends::bench
