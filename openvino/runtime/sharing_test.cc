// Weights that are read once, and models that are made once; threads.
#include <atomic>
#include <deque>
#include <thread>

#include "executorch_backends/openvino/runtime/testing/fake_fixture.h"
#include "executorch_backends/openvino/runtime/testing/mapped_file.h"

namespace executorch_backends::openvino::testing {
namespace {

/// A program's named data in a file, each request a mapping of its own.
class MappedData final : public et::NamedDataMap {
 public:
  MappedData(const MappedFile* file, size_t size) : file_(file), size_(size) {}
  et::Result<et::FreeableBuffer> get_data(std::string_view) const override {
    return file_->map(0, size_);
  }
  et::Result<const et::TensorLayout> get_tensor_layout(std::string_view) const override {
    return et::Error::NotImplemented;
  }
  et::Error load_data_into(std::string_view, void*, size_t) const override {
    return et::Error::NotImplemented;
  }
  et::Result<uint32_t> get_num_keys() const override { return 1u; }
  et::Result<const char*> get_key(uint32_t) const override { return kWeightsKey; }

 private:
  const MappedFile* file_;
  size_t size_;
};

/// The static model behind a megabyte of other weights.
Recipe large() {
  Recipe model = recipe();
  model.weights = std::string(1 << 20, 'w') + kStatic;
  model.blob = {1 << 20, kStatic.size()};
  return model;
}

et::FreeableBuffer borrow(const std::string& payload) {
  return {payload.data(), payload.size(), nullptr};
}

int made() { return imports() + compilations(); }

// Old versions copy a blob, and nothing of it stays that could be compared.
const std::vector<std::string> kSharedWays =
    kIsNew ? std::vector<std::string>{"never", "always"} : std::vector<std::string>{"always"};

// A failed run spoils a dynamic model, and runs of a shared one would have to take turns.
TEST_F(FakeOpenvino, DynamicModelsAreEachHandlesOwn) {
  const Built built = program("d\x01", {6, {{1, 4}, {3, 3}}});
  for (const std::string& way : kSharedWays) {
    CountedData data(built.data);
    et::FreeableBuffer a = borrow(built.payload), b = borrow(built.payload);
    const int before = made();
    auto first = init(&a, &data, {option("compile", way)});
    auto second = init(&b, &data, {option("compile", way)});
    EXPECT_EQ(made(), before + 2);
    EXPECT_EQ(data.reads(), 1);
    Floats in(ScalarType::Float, {2, 3}, std::vector<float>(6, 1.0f));
    Floats out(ScalarType::Float, {4, 3}, {}, {}, TensorShapeDynamism::DYNAMIC_BOUND);
    fail_in("ov_infer_request_infer");
    EXPECT_EQ(execute(first, {in.value(), out.value()}), Error::Internal);
    fail_in(nullptr);
    ASSERT_EQ(execute(second, {in.value(), out.value()}), Error::Ok) << log();
    EXPECT_EQ(made(), before + 2);
    ASSERT_EQ(execute(first, {in.value(), out.value()}), Error::Ok) << log();
    EXPECT_EQ(made(), before + 3);
    EXPECT_EQ(out.data()[5], 3.0f);
    EXPECT_EQ(data.freed(), 0);
    first.reset(), second.reset();
    EXPECT_EQ(data.freed(), 1);
  }
}

TEST_F(FakeOpenvino, DynamicBlobsOfStockAreEachHandlesOwn) {
  const std::string bytes = "d" + std::string(1 << 20, 'w') + "\x05";
  const MappedFile file("dynamic", bytes);
  const int before = made();
  et::FreeableBuffer a = file.map(0, bytes.size()), b = file.map(0, bytes.size());
  const auto first = init(&a, nullptr, {}), second = init(&b, nullptr, {});
  ASSERT_TRUE(first != nullptr && second != nullptr) << log();
  EXPECT_EQ(made(), before + 2);
}

TEST_F(FakeOpenvino, HandlesOfOneProgramReadItsWeightsOnce) {
  for (const std::string& way : kSharedWays) {
    SCOPED_TRACE(way);
    const Built built = program();
    CountedData data(built.data);
    et::FreeableBuffer a = borrow(built.payload), b = borrow(built.payload);
    const int before = made();
    auto first = init(&a, &data, {option("compile", way)});
    auto second = init(&b, &data, {option("compile", way)});
    expect_runs(first);
    expect_runs(second);
    EXPECT_EQ(data.reads(), 1);
    EXPECT_EQ(made(), before + 1);
    first.reset();
    EXPECT_EQ(data.freed(), 0);
    expect_runs(second);
    second.reset();
    EXPECT_EQ(data.freed(), 1);
    et::FreeableBuffer c = borrow(built.payload);
    expect_runs(init(&c, &data, {option("compile", way)}));
    EXPECT_EQ(data.reads(), 2);
  }
}

TEST_F(FakeOpenvino, ModelsThatDifferShareTheirWeightsOnly) {
  Recipe other = recipe();
  other.ir = "p\x05";
  other.blob = {0, 0};
  const Built a = recipe().build(), b = other.build();
  CountedData data(a.data);
  et::FreeableBuffer first_payload = borrow(a.payload), second_payload = borrow(b.payload);
  const int before = made();
  auto first = init(&first_payload, &data, {option("compile", "always")});
  auto second = init(&second_payload, &data, {});
  ASSERT_NE(second, nullptr) << log();
  expect_runs(first);
  EXPECT_EQ(data.reads(), 1);
  EXPECT_EQ(made(), before + 2);
}

TEST_F(FakeOpenvino, DevicesAndPropertiesTellModelsApart) {
  const Built built = program();
  CountedData data(built.data);
  const int before = made();
  std::vector<Handle> handles;
  const std::vector<std::vector<et::BackendOption>> asked = {
      {}, {option("device", "GPU")}, {value_option("threads", 2)}, {value_option("threads", 3)}};
  for (int round = 0; round < 2; ++round) {
    for (std::vector<et::BackendOption> options : asked) {
      options.push_back(option("compile", options.empty() ? kSharedWays[0] : "always"));
      et::FreeableBuffer payload = borrow(built.payload);
      handles.push_back(init(&payload, &data, options));
      expect_runs(handles.back());
    }
  }
  EXPECT_EQ(made(), before + 4);
}

// By its key, the second would get the first's weights.
TEST_F(FakeOpenvino, ADamagedProgramIsNotAnothersWeights) {
  Recipe model = recipe();
  model.blob = {0, 0};
  Built damaged = model.build();
  damaged.data[kWeightsKey] = "s\x07";
  TestProgram bad(damaged), good(model.build());
  auto first = init(&bad);
  ASSERT_NE(first, nullptr) << log();
  expect_runs(&good);
  auto in = matrix();
  auto out = empty_matrix();
  ASSERT_EQ(execute(first, {in.value(), out.value()}), Error::Ok);
  EXPECT_EQ(out.data()[0], 9.0f);
}

TEST_F(FakeOpenvino, ProgramsOfOneFileShareAModelInAnyOrderOfDestruction) {
  const Built built = large().build();
  const std::string& weights = built.data.at(kWeightsKey);
  const MappedFile file("shared", weights), copy("copy", weights);
  for (const std::string& way : kSharedWays) {
    for (const bool first_goes : {true, false}) {
      const int before = made();
      std::deque<MappedData> programs;
      const auto load = [&](const MappedFile& mapped) {
        const MappedData& data = programs.emplace_back(&mapped, weights.size());
        et::FreeableBuffer payload = borrow(built.payload);
        return init(&payload, &data, {option("compile", way)});
      };
      auto first = load(file), second = load(file);
      EXPECT_EQ(made(), before + 1);
      expect_runs(load(copy));
      EXPECT_EQ(made(), before + 2);
      (first_goes ? first : second).reset();
      expect_runs(first_goes ? second : first);
    }
  }
}

TEST_F(FakeOpenvino, BareBlobsOfOneFileShareAModel) {
  const std::string bytes = "s" + std::string(1 << 20, 'w') + "\x05";
  const MappedFile file("bare", bytes);
  const int before = made();
  const auto load = [&] {
    et::FreeableBuffer payload = file.map(0, bytes.size());
    return init(&payload, nullptr, {});
  };
  auto first = load(), second = load();
  EXPECT_EQ(made(), before + (kIsNew ? 1 : 2));
  first.reset();
  expect_runs(second);
}

TEST_F(FakeOpenvino, WhatIsGivenBackIsReadAgain) {
  const Built built = large().build();
  const std::string& weights = built.data.at(kWeightsKey);
  const MappedFile file("given_back", weights);
  MappedData data(&file, weights.size());
  et::FreeableBuffer payload = borrow(built.payload);
  expect_runs(init(&payload, &data, {value_option("give_back", true)}));
  EXPECT_EQ(notes(), "");
  TestProgram copied(program());
  expect_runs(&copied, {value_option("give_back", true)});
  EXPECT_NE(notes().find("the weights stay in memory"), std::string::npos) << notes();
}

TEST_F(FakeOpenvino, ModelsAreIndependentInEveryOrderOfDestruction) {
  TestProgram a(program()), b(program("s\x07"));
  auto first = init(&a);
  auto second = init(&b);
  auto in = matrix();
  auto out = empty_matrix();
  first.reset();
  ASSERT_EQ(execute(second, {in.value(), out.value()}), Error::Ok) << log();
  EXPECT_EQ(out.data()[0], 9.0f);
}

TEST_F(FakeOpenvino, ThreadsMayLoadAtOnce) {
  const Built built = program();
  CountedData data(built.data);
  const int before = made();
  std::vector<Handle> handles(4);
  std::vector<std::thread> threads;
  for (Handle& handle : handles) {
    threads.emplace_back([&] {
      DelegateDriver driver;
      et::FreeableBuffer payload = borrow(built.payload);
      handle = driver.init(&payload, &data, {option("compile", "always")});
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Handle& handle : handles) expect_runs(handle);
  EXPECT_EQ(made(), before + 1);
  EXPECT_EQ(data.reads(), 1);
}

TEST_F(FakeOpenvino, FourThreadsOnOneHandleAndOnFour) {
  const Built built = program();
  CountedData data(built.data);
  for (const size_t count : {1, 4}) {
    std::vector<Handle> handles;
    for (size_t i = 0; i < count; ++i) {
      et::FreeableBuffer payload = borrow(built.payload);
      handles.push_back(init(&payload, &data, {}));
      ASSERT_NE(handles.back(), nullptr) << log();
    }
    EXPECT_EQ(wrong_calls(handles, [](float in, float out) { return out == 2 * in + 5; }), 0);
  }
}

}  // namespace
}  // namespace executorch_backends::openvino::testing
