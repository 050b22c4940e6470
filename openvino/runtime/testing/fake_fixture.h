/// The delegate on the fake OpenVINO, whose version FAKE_OPENVINO_VERSION says; the BUILD file
/// runs each test for two: one that copies blobs, and one that reads them in place.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "executorch_backends/openvino/runtime/testing/delegate_fixture.h"
#include "executorch_backends/openvino/runtime/testing/fake_openvino.h"
#include "executorch_backends/openvino/runtime/testing/payload_builder.h"

namespace executorch_backends::openvino::testing {

using et::Error;
using executorch::aten::ScalarType;
using executorch::aten::TensorShapeDynamism;
using Floats = OwnedTensor<float>;

inline const std::string kVersion = std::getenv("FAKE_OPENVINO_VERSION");
inline const bool kIsNew = kVersion >= "2026.4";

inline const IoValue kMatrix{6, {{2, 2}, {3, 3}}};

// The static model doubles and adds 5; see fake_openvino.h for the others.
inline const std::string kStatic = "s\x05";
inline const std::vector<float> kExpected = {7, 9, 11, 13, 15, 17};

/// A program with a blob and with an IR that are the same model.
inline Recipe recipe(const std::string& model = kStatic, IoValue value = kMatrix,
                     const std::string& version = kVersion) {
  return {model, model, {0, model.size()}, target_section(version), {value}, {value}};
}
inline Built program(const std::string& model = kStatic, IoValue value = kMatrix,
                     const std::string& version = kVersion) {
  return recipe(model, std::move(value), version).build();
}

inline Floats matrix() { return Floats(ScalarType::Float, {2, 3}, {1, 2, 3, 4, 5, 6}); }
inline Floats empty_matrix() { return Floats(ScalarType::Float, {2, 3}); }

/// The fake's control functions, from the library that the delegate has loaded.
template <typename Function>
Function control(const char* name) {
  static void* const library = dlopen(std::getenv("OPENVINO_LIB_PATH"), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  return reinterpret_cast<Function>(dlsym(library, name));
}
inline void fail_in(const char* function) {
  control<decltype(&fake_openvino_fail)>("fake_openvino_fail")(function);
}
inline int live_objects() {
  return control<decltype(&fake_openvino_live_objects)>("fake_openvino_live_objects")();
}
inline int bindings() {
  return control<decltype(&fake_openvino_bindings)>("fake_openvino_bindings")();
}
inline int imports() {
  return control<decltype(&fake_openvino_imports)>("fake_openvino_imports")();
}
inline int compilations() {
  return control<decltype(&fake_openvino_compilations)>("fake_openvino_compilations")();
}
inline std::string property(const char* name) {
  return control<decltype(&fake_openvino_property)>("fake_openvino_property")(name);
}

class FakeOpenvino : public DelegateTest {
 protected:
  void TearDown() override {
    fail_in(nullptr);
    // The core, which lives as long as the process, is all that may be left.
    EXPECT_LE(live_objects(), 1);
  }
  void expect_log(const std::vector<std::string>& parts) {
    for (const std::string& part : parts) {
      EXPECT_NE(log().find(part), std::string::npos) << "'" << part << "' is not in: " << log();
    }
  }
  void expect_refused(Built built, const std::vector<std::string>& parts) {
    TestProgram refused(std::move(built));
    EXPECT_EQ(init(&refused), nullptr);
    expect_log(parts);
  }
  /// That the handle doubles a matrix and adds 5.
  void expect_runs(const Handle& handle) {
    ASSERT_NE(handle, nullptr) << log() << notes();
    auto in = matrix();
    auto out = empty_matrix();
    for (int call = 0; call < 3; ++call) {
      std::fill(out.data().begin(), out.data().end(), -1.0f);
      ASSERT_EQ(execute(handle, {in.value(), out.value()}), Error::Ok) << log();
      EXPECT_EQ(out.data(), kExpected);
    }
  }
  void expect_runs(TestProgram* runs, std::vector<et::BackendOption> options = {}) {
    expect_runs(init(runs, std::move(options)));
  }
};

}  // namespace executorch_backends::openvino::testing
