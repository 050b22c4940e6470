#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "executorch_backends/aoti/shims/common/random.h"
#include "executorch_backends/aoti/shims/shims.h"

namespace {

using Sizes = std::vector<int64_t>;

const int32_t kFloat = aoti_torch_dtype_float32();

/// A handle that is freed.
class Handle {
 public:
  Handle() = default;
  explicit Handle(AtenTensorHandle handle) : handle_(handle) {}
  Handle(const Handle&) = delete;
  Handle(Handle&& other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
  ~Handle() { aoti_torch_delete_tensor_object(handle_); }
  AtenTensorHandle get() const { return handle_; }
  AtenTensorHandle* out() { return &handle_; }

 private:
  AtenTensorHandle handle_ = nullptr;
};

Handle borrow(std::vector<float>& data, const Sizes& sizes, const Sizes& strides,
              int64_t offset = 0) {
  Handle result;
  executorch_backends_aoti_borrow(data.data(), data.size() * sizeof(float),
                                  static_cast<int64_t>(sizes.size()), sizes.data(), strides.data(),
                                  offset, kFloat, result.out());
  return result;
}

Handle empty(const Sizes& sizes, const Sizes& strides, int32_t dtype = kFloat) {
  Handle result;
  aoti_torch_empty_strided(static_cast<int64_t>(sizes.size()), sizes.data(), strides.data(), dtype,
                           aoti_torch_device_type_cpu(), 0, result.out());
  return result;
}

Sizes strides_of(const Handle& handle) {
  int64_t rank = 0;
  int64_t* strides = nullptr;
  EXPECT_EQ(aoti_torch_get_dim(handle.get(), &rank), AOTI_TORCH_SUCCESS);
  EXPECT_EQ(aoti_torch_get_strides(handle.get(), &strides), AOTI_TORCH_SUCCESS);
  return Sizes(strides, strides + rank);
}

float* data_of(const Handle& handle) {
  void* data = nullptr;
  EXPECT_EQ(aoti_torch_get_data_ptr(handle.get(), &data), AOTI_TORCH_SUCCESS);
  return static_cast<float*>(data);
}

class Calls : public testing::Test {
 protected:
  void SetUp() override { executorch_backends_aoti_clear_error(); }
  static std::string error() { return executorch_backends_aoti_last_error(); }
};

TEST_F(Calls, BorrowsMemoryWithoutACopy) {
  std::vector<float> data(6);
  const Handle t = borrow(data, {2, 2}, {3, 1}, 1);
  EXPECT_EQ(data_of(t), data.data() + 1);
  int64_t bytes = 0;
  EXPECT_EQ(aoti_torch_get_storage_size(t.get(), &bytes), AOTI_TORCH_SUCCESS);
  EXPECT_EQ(bytes, 24);
  EXPECT_EQ(error(), "");
}

TEST_F(Calls, RefusesALayoutBeyondTheStorage) {
  std::vector<float> data(5);
  const Handle t = borrow(data, {2, 2}, {3, 1}, 1);
  EXPECT_EQ(t.get(), nullptr);
  EXPECT_NE(error().find("reaches 24 bytes, the storage has 20"), std::string::npos) << error();
}

TEST_F(Calls, RefusesNumbersThatOverflow) {
  std::vector<float> data(5);
  const int64_t huge = std::numeric_limits<int64_t>::max();
  for (const auto& [sizes, strides] :
       std::vector<std::pair<Sizes, Sizes>>{{{huge, 2}, {2, 1}},
                                            {{2, 2}, {huge, huge}},
                                            {{-1}, {1}},
                                            {{2}, {-1}},
                                            {Sizes(17, 1), Sizes(17, 1)}}) {
    executorch_backends_aoti_clear_error();
    EXPECT_EQ(borrow(data, sizes, strides).get(), nullptr);
    EXPECT_NE(error(), "");
    executorch_backends_aoti_clear_error();
    EXPECT_EQ(empty(sizes, strides).get(), nullptr);
    EXPECT_NE(error(), "");
  }
}

TEST_F(Calls, TheFirstErrorStaysUntilItIsCleared) {
  int64_t number = 0;
  EXPECT_EQ(aoti_torch_get_dim(nullptr, &number), AOTI_TORCH_FAILURE);
  const std::string first = error();
  EXPECT_EQ(first, "aoti_torch_get_dim: a tensor handle is null");
  aoti_torch_check(false, "f", "file.py", 7, "u0 == 3");
  executorch_backends_aoti_set_error("later");
  EXPECT_EQ(error(), first);
  executorch_backends_aoti_clear_error();
  aoti_torch_check(true, "f", "file.py", 7, "u0 == 3");
  EXPECT_EQ(error(), "");
  aoti_torch_check(false, "f", "file.py", 7, "u0 == 3");
  EXPECT_EQ(error(), "aoti_torch_check: u0 == 3 (f, file.py:7)");
}

TEST_F(Calls, AnErrorIsItsThreadsOwn) {
  std::thread([] { executorch_backends_aoti_set_error("theirs"); }).join();
  EXPECT_EQ(error(), "");
}

TEST_F(Calls, AnUndefinedTensorIsRefusedAndCanBeAssigned) {
  Handle t;
  ASSERT_EQ(aoti_torch_new_uninitialized_tensor(t.out()), AOTI_TORCH_SUCCESS);
  bool defined = true;
  EXPECT_EQ(aoti_torch_is_defined(t.get(), &defined), AOTI_TORCH_SUCCESS);
  EXPECT_FALSE(defined);
  void* data = nullptr;
  EXPECT_EQ(aoti_torch_get_data_ptr(t.get(), &data), AOTI_TORCH_FAILURE);
  const Handle source = empty({2}, {1});
  EXPECT_EQ(aoti_torch_assign_tensors(source.get(), t.get()), AOTI_TORCH_SUCCESS);
  EXPECT_EQ(data_of(t), data_of(source));
}

TEST_F(Calls, AReinterpretedTensorCountsItsOffsetFromTheView) {
  std::vector<float> data{0, 1, 2, 3, 4, 5};
  const Handle t = borrow(data, {5}, {1}, 1);
  Handle view;
  const int64_t size = 2, stride = 2;
  ASSERT_EQ(aoti_torch__reinterpret_tensor(t.get(), 1, &size, &stride, 1, view.out()),
            AOTI_TORCH_SUCCESS);
  EXPECT_EQ(data_of(view)[0], 2);
  EXPECT_EQ(data_of(view)[2], 4);
  Handle outside;
  EXPECT_EQ(aoti_torch__reinterpret_tensor(t.get(), 1, &size, &stride, 3, outside.out()),
            AOTI_TORCH_FAILURE);
}

TEST_F(Calls, AViewKeepsItsStorageAlive) {
  Handle view;
  {
    const Handle t = empty({4}, {1});
    data_of(t)[3] = 5;
    const int64_t size = 1, stride = 1;
    ASSERT_EQ(aoti_torch__reinterpret_tensor(t.get(), 1, &size, &stride, 3, view.out()),
              AOTI_TORCH_SUCCESS);
  }
  EXPECT_EQ(*data_of(view), 5);
}

TEST_F(Calls, AllocatesFromAPoolInItsOwnDtype) {
  const Handle pool = empty({64}, {1}, aoti_torch_dtype_uint8());
  Handle t, misaligned, outside;
  const int64_t size = 4, stride = 1;
  ASSERT_EQ(aoti_torch__alloc_from_pool(pool.get(), 48, kFloat, 1, &size, &stride, t.out()),
            AOTI_TORCH_SUCCESS);
  EXPECT_EQ(reinterpret_cast<char*>(data_of(t)), reinterpret_cast<char*>(data_of(pool)) + 48);
  EXPECT_EQ(
      aoti_torch__alloc_from_pool(pool.get(), 46, kFloat, 1, &size, &stride, misaligned.out()),
      AOTI_TORCH_FAILURE);
  EXPECT_EQ(aoti_torch__alloc_from_pool(pool.get(), 52, kFloat, 1, &size, &stride, outside.out()),
            AOTI_TORCH_FAILURE);
}

TEST_F(Calls, ACloneIsDense) {
  std::vector<float> data{0, 1, 2, 3, 4, 5};
  const Handle columns = borrow(data, {2, 2}, {3, 2});
  Handle clone;
  ASSERT_EQ(aoti_torch_clone(columns.get(), clone.out()), AOTI_TORCH_SUCCESS);
  EXPECT_EQ(strides_of(clone), (Sizes{2, 1}));
  EXPECT_EQ(std::vector<float>(data_of(clone), data_of(clone) + 4),
            (std::vector<float>{0, 2, 3, 5}));
  const Handle transposed = borrow(data, {3, 2}, {1, 3});
  Handle kept;
  ASSERT_EQ(aoti_torch_clone(transposed.get(), kept.out()), AOTI_TORCH_SUCCESS);
  EXPECT_EQ(strides_of(kept), (Sizes{1, 3}));
}

TEST_F(Calls, ACloneOfNothingIsANullHandle) {
  auto* handle = reinterpret_cast<AtenTensorHandle>(8);
  EXPECT_EQ(aoti_torch_clone(nullptr, &handle), AOTI_TORCH_FAILURE);
  EXPECT_EQ(handle, nullptr);
}

TEST_F(Calls, ACopyConvertsAndBroadcasts) {
  std::vector<float> data{-1.5f, 2.5f};
  const Handle source = borrow(data, {2}, {1});
  const Handle target = empty({3, 2}, {2, 1}, aoti_torch_dtype_int64());
  ASSERT_EQ(aoti_torch_copy_(target.get(), source.get(), 0), AOTI_TORCH_SUCCESS) << error();
  const auto* values = reinterpret_cast<int64_t*>(data_of(target));
  EXPECT_EQ(std::vector<int64_t>(values, values + 6), (std::vector<int64_t>{-1, 2, -1, 2, -1, 2}));
  const Handle other = empty({3}, {1});
  EXPECT_EQ(aoti_torch_copy_(other.get(), source.get(), 0), AOTI_TORCH_FAILURE);
  EXPECT_EQ(error(), "aoti_torch_copy_: sizes [2] do not expand to [3]");
}

TEST_F(Calls, AnItemIsOfItsDtype) {
  Handle t;
  ASSERT_EQ(aoti_torch_scalar_to_tensor_int64(int64_t{1} << 40, t.out()), AOTI_TORCH_SUCCESS);
  int64_t value = 0;
  EXPECT_EQ(aoti_torch_item_int64(t.get(), &value), AOTI_TORCH_SUCCESS);
  EXPECT_EQ(value, int64_t{1} << 40);
  float wrong = 0;
  EXPECT_EQ(aoti_torch_item_float32(t.get(), &wrong), AOTI_TORCH_FAILURE);
  EXPECT_EQ(error(), "aoti_torch_item_float32: dtype is int64, asked for is float32");
}

TEST_F(Calls, FindsANaN) {
  std::vector<float> data{0, 1, std::nanf(""), 3};
  EXPECT_EQ(aoti_torch_check_inf_and_nan("x", borrow(data, {2}, {1}).get()), AOTI_TORCH_SUCCESS);
  EXPECT_EQ(aoti_torch_check_inf_and_nan("x", borrow(data, {4}, {1}).get()), AOTI_TORCH_FAILURE);
  EXPECT_EQ(error(), "aoti_torch_check_inf_and_nan: x has an infinity or a NaN");
}

TEST_F(Calls, RefusesAnotherDevice) {
  Handle t;
  EXPECT_EQ(aoti_torch_empty_strided(0, nullptr, nullptr, kFloat, aoti_torch_device_type_cuda(), 0,
                                     t.out()),
            AOTI_TORCH_FAILURE);
  EXPECT_EQ(error(), "aoti_torch_empty_strided: device type is 1, this library's is 0");
}

TEST_F(Calls, TheRandomStateIsAThreadsOwn) {
  executorch_backends_aoti_seed(7);
  EXPECT_EQ(executorch_backends_aoti_random_state(), 7u);
  std::thread([] { executorch_backends_aoti_seed(8); }).join();
  EXPECT_EQ(executorch_backends_aoti_random_state(), 7u);
}

TEST(RandomState, CarriesOnAfterWhatWasTaken) {
  executorch_backends_aoti_seed(7);
  const executorch_backends::aoti::RandomStream whole = executorch_backends::aoti::take_random(5);
  const uint64_t after = executorch_backends_aoti_random_state();
  executorch_backends_aoti_seed(7);
  executorch_backends::aoti::take_random(2);
  const executorch_backends::aoti::RandomStream rest = executorch_backends::aoti::take_random(3);
  EXPECT_EQ(executorch_backends_aoti_random_state(), after);
  for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(rest(i), whole(i + 2));
  EXPECT_NE(whole(0), whole(1));
}

TEST_F(Calls, RefusesMissingMemory) {
  const int64_t size = 4, stride = 1, none = 0;
  Handle t;
  EXPECT_EQ(executorch_backends_aoti_borrow(nullptr, 64, 1, &size, &stride, 0, kFloat, t.out()),
            AOTI_TORCH_FAILURE);
  EXPECT_EQ(error(), "executorch_backends_aoti_borrow: sizes [4], but no memory");
  EXPECT_EQ(aoti_torch_create_tensor_from_blob(nullptr, 1, &size, &stride, 0, kFloat,
                                               aoti_torch_device_type_cpu(), 0, t.out()),
            AOTI_TORCH_FAILURE);
  EXPECT_EQ(aoti_torch_empty_strided(1, nullptr, &stride, kFloat, aoti_torch_device_type_cpu(), 0,
                                     t.out()),
            AOTI_TORCH_FAILURE);
  EXPECT_EQ(executorch_backends_aoti_borrow(nullptr, 0, 1, &none, &stride, 0, kFloat, t.out()),
            AOTI_TORCH_SUCCESS);
}

}  // namespace
