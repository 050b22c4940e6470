#include "executorch_backends/aoti/runtime/constants.h"

#include <cstdint>
#include <cstring>
#include <utility>

#include "executorch_backends/aoti/runtime/tensors.h"
#include "executorch_backends/common/runtime/error.h"

namespace executorch_backends::aoti {
namespace {

using executorch::runtime::Error;
using executorch::runtime::FreeableBuffer;

// Of each constant in AOTInductor's own copies.
constexpr size_t kAlignment = 64;

bool is_aligned(const std::byte* data) {
  return reinterpret_cast<uintptr_t>(data) % kAlignment == 0;
}

}  // namespace

Error Constants::make(std::unique_ptr<Container> probe, FreeableBuffer&& weights,
                      std::shared_ptr<const Constants>* out) {
  ETB_TRY(probe->set_constants(weights.data(), weights.size()));
  std::vector<Constant> copies;
  ETB_TRY(probe->constants(&copies));
  auto constants = std::make_shared<Constants>();
  std::vector<std::byte*> places;
  ETB_TRY(constants->place(copies, std::move(weights), &places));
  for (size_t i = 0; i < copies.size(); ++i) {
    Constant constant{std::move(copies[i].name), copies[i].bytes, nullptr};
    Returned copied;
    ETB_TRY(describe(i, copies[i].tensor, &copied));
    ETB_TRY(borrow(places[i], constant.bytes, copied.layout, copied.type, &constant.tensor));
    constants->all_.push_back(std::move(constant));
  }
  *out = std::move(constants);
  return Error::Ok;
}

Error Constants::place(const std::vector<Constant>& copies, FreeableBuffer&& weights,
                       std::vector<std::byte*>* places) {
  // Tensors over what is only read are made as over anything else.
  auto* data = static_cast<std::byte*>(const_cast<void*>(weights.data()));
  bool aligned = true;
  size_t size = 0;
  std::vector<size_t> offsets;
  for (const Constant& each : copies) {
    places->push_back(data);
    aligned = aligned && (each.bytes == 0 || is_aligned(data));
    data += each.bytes;
    offsets.push_back(size);
    // That the sum of their bytes is the number of the weights has been checked.
    size += (each.bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  if (aligned) {
    weights_.emplace(std::move(weights));
    return Error::Ok;
  }
  copy_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, size)));
  ETB_REQUIRE(copy_ != nullptr, MemoryAllocationFailed,
              "AOTI: %zu bytes of constants cannot be allocated", size);
  for (size_t i = 0; i < copies.size(); ++i) {
    std::byte* to = copy_.get() + offsets[i];
    if (copies[i].bytes != 0) std::memcpy(to, (*places)[i], copies[i].bytes);
    (*places)[i] = to;
  }
  weights.Free();
  return Error::Ok;
}

}  // namespace executorch_backends::aoti
