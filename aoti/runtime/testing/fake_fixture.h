/// The delegate on fake models: see fake_model.h.
#pragma once

#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "executorch_backends/aoti/runtime/testing/fake_model.h"
#include "executorch_backends/common/payload/testing/payload_builder.h"
#include "executorch_backends/common/runtime/testing/delegate_driver.h"

namespace executorch_backends::aoti::testing {

namespace et = executorch::runtime;

using et::Error;
using executorch::aten::ScalarType;
using executorch::aten::TensorShapeDynamism;
using executorch_backends::testing::append;
using executorch_backends::testing::build_envelope;
using executorch_backends::testing::Built;
using executorch_backends::testing::DelegateDriver;
using executorch_backends::testing::io_section;
using executorch_backends::testing::IoValue;
using executorch_backends::testing::kSameAsInput;
using executorch_backends::testing::named_data_section;
using executorch_backends::testing::NamedSection;
using executorch_backends::testing::OwnedTensor;
using executorch_backends::testing::TestProgram;
using Floats = OwnedTensor<float>;
using Longs = OwnedTensor<int64_t>;

// What the library has where its script belongs.
constexpr char kFakeScriptMark[] = "the script of a fake model";

constexpr char kCodeKey[] = "code";
constexpr char kWeightsKey[] = "weights";

inline std::string file_of(const char* variable) {
  std::ifstream file(std::getenv(variable), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The library of a program that does what `script` says.
inline std::string fake_model(const std::string& script) {
  static const std::string library = file_of("FAKE_MODEL");
  const size_t place = library.find(kFakeScriptMark);
  EXPECT_NE(place, library.npos);
  EXPECT_EQ(library.find(kFakeScriptMark, place + 1), library.npos);
  EXPECT_LT(script.size(), kFakeScriptBytes);
  std::string changed = library;
  changed.replace(place, sizeof(kFakeScriptMark) - 1, sizeof(kFakeScriptMark) - 1, '\0');
  return changed.replace(place, script.size(), script);
}

inline IoValue matrix_of(int64_t rows, int64_t columns) {
  return {6, {{rows, rows}, {columns, columns}}};
}
inline const IoValue kMatrix = matrix_of(2, 3);
inline const IoValue kInteger{255, {}};

/// Doubles a [2, 3] and adds 5.
constexpr char kPlain[] = "inputs 1\nconstants 4\noutput buffer 2,3 3,1 0\n";
inline const std::string kWeights("\005abc", 4);
inline const std::vector<float> kGiven = {1, 2, 3, 4, 5, 6};
inline const std::vector<float> kExpected = {7, 9, 11, 13, 15, 17};

/// What a test changes of an intact program.
struct Recipe {
  std::string script = kPlain;
  std::vector<IoValue> inputs = {kMatrix};
  std::vector<IoValue> outputs = {kMatrix};
  std::string weights = kWeights;  // none where it is empty
  std::string target = "backend=aoti\ndevice=cpu\nisa=avx2\nshims=1\ntorch=2.13.0\n";

  std::vector<NamedSection> sections() const {
    std::vector<NamedSection> all = {{"target", target},
                                     {"io", io_section(inputs, outputs)},
                                     {"code", named_data_section(fake_model(script), kCodeKey)}};
    if (!weights.empty()) all.emplace_back("weights", named_data_section(weights, kWeightsKey));
    return all;
  }
  Built build() const { return built(sections()); }
  /// With other sections, and the same data.
  Built built(const std::vector<NamedSection>& all) const {
    return {build_envelope(all), {{kCodeKey, fake_model(script)}, {kWeightsKey, weights}}};
  }
};

/// A program without weights.
inline Recipe program(std::string script, std::vector<IoValue> inputs,
                      std::vector<IoValue> outputs) {
  return {std::move(script), std::move(inputs), std::move(outputs), ""};
}

class FakeModels : public ::testing::Test, public DelegateDriver {
 protected:
  explicit FakeModels(const char* backend = "AotiCpuBackend") : DelegateDriver(backend) {}
  void SetUp() override {
    ASSERT_NE(delegate(), nullptr);
    setenv(kFakeContainersVariable,
           std::to_string(reinterpret_cast<uintptr_t>(&containers_)).c_str(), 1);
    folder_ = ::testing::TempDir() + "/" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    mkdir(folder_.c_str(), S_IRWXU);
    setenv("TMPDIR", folder_.c_str(), 1);
  }
  void TearDown() override {
    EXPECT_EQ(containers(), 0);
    EXPECT_EQ(files_left(), 0);
  }

  Handle load(TestProgram* loaded, std::vector<et::BackendOption> options = {}) {
    return init(loaded->buffer(), &loaded->data(), std::move(options));
  }
  /// Programs are kept for as long as the test: handles may read them.
  Handle load(const Recipe& recipe, std::vector<et::BackendOption> options = {}) {
    loaded_.push_back(std::make_unique<TestProgram>(recipe.build()));
    return load(loaded_.back().get(), std::move(options));
  }
  int containers() const { return containers_; }
  /// In the folder where code is written.
  int files_left() const {
    int count = 0;
    if (DIR* directory = opendir(folder_.c_str())) {
      while (const dirent* entry = readdir(directory)) count += entry->d_name[0] != '.';
      closedir(directory);
    }
    return count;
  }

  void expect_log(const std::vector<std::string>& parts) {
    for (const std::string& part : parts) {
      EXPECT_NE(log().find(part), std::string::npos) << "'" << part << "' is not in: " << log();
    }
  }
  void expect_refused(Built built, const std::vector<std::string>& parts) {
    TestProgram refused(std::move(built));
    EXPECT_EQ(load(&refused), nullptr);
    expect_log(parts);
  }
  void expect_run_fails(const Handle& handle, std::vector<et::EValue*> values,
                        const std::vector<std::string>& parts) {
    ASSERT_NE(handle, nullptr) << log();
    EXPECT_NE(execute(handle, std::move(values)), Error::Ok);
    expect_log(parts);
  }
  /// That the handle doubles a matrix and adds 5.
  void expect_runs(const Handle& handle) {
    ASSERT_NE(handle, nullptr) << log();
    Floats in(ScalarType::Float, {2, 3}, kGiven), out(ScalarType::Float, {2, 3});
    for (int call = 0; call < 3; ++call) {
      std::fill(out.data().begin(), out.data().end(), -1.0f);
      ASSERT_EQ(execute(handle, {in.value(), out.value()}), Error::Ok) << log();
      EXPECT_EQ(out.data(), kExpected);
    }
  }

 private:
  std::atomic<int> containers_{0};
  std::string folder_;
  std::vector<std::unique_ptr<TestProgram>> loaded_;
};

}  // namespace executorch_backends::aoti::testing
