// Where a program's constants are, how often, and how long.
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "executorch_backends/aoti/runtime/testing/fake_fixture.h"

namespace executorch_backends::aoti::testing {
namespace {

constexpr size_t kAlignment = 64;

/// A program's named data in memory that it knows; weights lie `shift` bytes beside an alignment.
class PlacedData final : public et::NamedDataMap {
 public:
  PlacedData(std::map<std::string, std::string> data, size_t shift)
      : data_(std::move(data)), weights_(data_.at(kWeightsKey).size() + 2 * kAlignment) {
    void* place = weights_.data();
    size_t room = weights_.size();
    std::align(kAlignment, 1, place, room);
    place_ = static_cast<char*>(place) + shift;
    data_.at(kWeightsKey).copy(place_, data_.at(kWeightsKey).size());
  }

  et::Result<et::FreeableBuffer> get_data(std::string_view key) const override {
    const std::string& bytes = data_.at(std::string(key));
    if (key != kWeightsKey) return et::FreeableBuffer(bytes.data(), bytes.size(), nullptr);
    ++reads_;
    return et::FreeableBuffer(
        place_, bytes.size(), [](void* freed, void*, size_t) { ++*static_cast<int*>(freed); },
        &freed_);
  }
  et::Result<const et::TensorLayout> get_tensor_layout(std::string_view) const override {
    return et::Error::NotImplemented;
  }
  et::Error load_data_into(std::string_view, void*, size_t) const override {
    return et::Error::NotImplemented;
  }
  et::Result<uint32_t> get_num_keys() const override { return 2u; }
  et::Result<const char*> get_key(uint32_t) const override { return et::Error::NotImplemented; }

  char* weights() { return place_; }
  int reads() const { return reads_; }
  int freed() const { return freed_; }

 private:
  std::map<std::string, std::string> data_;
  std::vector<char> weights_;
  char* place_;
  mutable int reads_ = 0;
  mutable int freed_ = 0;
};

class ConstantsOfPrograms : public FakeModels {
 protected:
  Handle load_from(const PlacedData& data, const Built& built) {
    et::FreeableBuffer payload(built.payload.data(), built.payload.size(), nullptr);
    return init(&payload, &data, {});
  }
  /// The first byte of the first constant is added to twice the input.
  float added_by(const Handle& handle) {
    Floats in(ScalarType::Float, {2, 3}, kGiven), out(ScalarType::Float, {2, 3});
    EXPECT_EQ(execute(handle, {in.value(), out.value()}), Error::Ok) << log();
    return out.data()[0] - 2;
  }
};

TEST_F(ConstantsOfPrograms, StayWhereTheyAreWhenTheyAreAligned) {
  const Built built = Recipe{}.build();
  PlacedData data(built.data, 0);
  {
    const auto first = load_from(data, built), second = load_from(data, built);
    ASSERT_TRUE(first != nullptr && second != nullptr) << log();
    EXPECT_EQ(containers(), 2);  // the one that was asked for shapes is gone
    EXPECT_EQ(data.reads(), 1);
    EXPECT_EQ(data.freed(), 0);
    EXPECT_EQ(added_by(first), 5);
    data.weights()[0] = 9;  // nobody has a copy
    EXPECT_EQ(added_by(first), 9);
    EXPECT_EQ(added_by(second), 9);
  }
  EXPECT_EQ(data.freed(), 1);
}

TEST_F(ConstantsOfPrograms, AreCopiedOnceForAllHandlesWhenTheyAreNot) {
  const Built built = Recipe{}.build();
  PlacedData data(built.data, 16);
  const auto first = load_from(data, built), second = load_from(data, built);
  ASSERT_TRUE(first != nullptr && second != nullptr) << log();
  EXPECT_EQ(data.reads(), 1);
  EXPECT_EQ(data.freed(), 1);  // inside init
  data.weights()[0] = 9;
  EXPECT_EQ(added_by(first), 5);
  EXPECT_EQ(added_by(second), 5);
}

TEST_F(ConstantsOfPrograms, MayBeSeveralOfAnySize) {
  for (const char* sizes : {"64 128 3", "3 64 1", "0 65", "64 0 0"}) {
    Recipe recipe;
    recipe.script =
        "inputs 1\nfolded 7\nconstants " + std::string(sizes) + "\noutput buffer 2,3 3,1 0\n";
    size_t total = 0;
    std::istringstream words(sizes);
    for (size_t size; words >> size;) total += size;
    recipe.weights = std::string(total, '\5');
    const Built built = recipe.build();
    PlacedData data(built.data, 0);
    expect_runs(load_from(data, built));
    EXPECT_EQ(data.freed(), data.reads()) << sizes;
  }
}

// They are set all the same: code that does not find one stops.
TEST_F(ConstantsOfPrograms, WithoutElementsNeedNoWeights) {
  Recipe recipe;
  recipe.script += "constants 0 0\nneeds constants\n";
  recipe.script.replace(recipe.script.find("constants 4\n"), 12, "");
  recipe.weights = "";
  const auto handle = load(recipe);
  ASSERT_NE(handle, nullptr) << log();
  EXPECT_EQ(added_by(handle), 0);
}

TEST_F(ConstantsOfPrograms, OfProgramsAreNotEachOthers) {
  Recipe other;
  other.weights[0] = 7;
  const Built a = Recipe{}.build(), b = other.build();
  PlacedData data(a.data, 0), more(b.data, 0);
  const auto first = load_from(data, a), second = load_from(more, b);
  ASSERT_TRUE(first != nullptr && second != nullptr) << log();
  EXPECT_EQ(added_by(first), 5);
  EXPECT_EQ(added_by(second), 7);
}

}  // namespace
}  // namespace executorch_backends::aoti::testing
