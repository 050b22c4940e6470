#include "executorch_backends/aoti/runtime/devices/cpu.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "executorch_backends/aoti/runtime/isa.h"
#include "executorch_backends/common/checked/checked.h"
#include "executorch_backends/common/runtime/error.h"

namespace executorch_backends::aoti {
namespace {

using executorch::runtime::Error;

constexpr size_t kAlignment = 64;

/// Work is done while it is enqueued.
class CpuStream final : public Stream {
 public:
  void* native() override { return nullptr; }
  Error upload(void* to, const void* from, size_t bytes) override {
    if (bytes != 0) std::memcpy(to, from, bytes);
    return Error::Ok;
  }
  Error download(void* to, const void* from, size_t bytes) override {
    return upload(to, from, bytes);
  }
  Error copy(const layout::CopyPlan& plan, void* to, size_t to_bytes, const void* from,
             size_t from_bytes) override {
    std::string reason;
    ETB_REQUIRE(layout::execute(plan, to, to_bytes, from, from_bytes, &reason), InvalidArgument,
                "AOTI: cannot copy a tensor: %s", reason.c_str());
    return Error::Ok;
  }
  Error synchronise() override { return Error::Ok; }
  bool captures() const override { return false; }
  Error begin_capture() override {
    ETB_FAIL(NotSupported, "AOTI: the device 'cpu' records no graphs");
  }
  Error end_capture(std::unique_ptr<Graph>*) override { return begin_capture(); }
  void abandon_capture() override {}
};

}  // namespace

Error CpuDevice::check_isa(const std::string& isa) const {
  return aoti::check_isa(isa, processor_flags());
}

Error CpuDevice::allocate(size_t bytes, void** out) {
  size_t rounded = 0;
  ETB_REQUIRE(!checked::add(std::max(bytes, size_t{1}), kAlignment - 1, &rounded),
              MemoryAllocationFailed, "AOTI: %zu bytes cannot be allocated", bytes);
  *out = std::aligned_alloc(kAlignment, rounded / kAlignment * kAlignment);
  ETB_REQUIRE(*out != nullptr, MemoryAllocationFailed, "AOTI: %zu bytes cannot be allocated",
              bytes);
  return Error::Ok;
}

void CpuDevice::release(void* memory) { std::free(memory); }

Error CpuDevice::make_stream(std::unique_ptr<Stream>* out) {
  *out = std::make_unique<CpuStream>();
  return Error::Ok;
}

}  // namespace executorch_backends::aoti
