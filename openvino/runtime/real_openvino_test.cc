// The delegate on the real OpenVINO, which compiles a small model here: no Python, no .pte.
#include <openvino/c/openvino.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "executorch_backends/openvino/runtime/openvino_api.h"
#include "executorch_backends/openvino/runtime/testing/delegate_fixture.h"
#include "executorch_backends/openvino/runtime/testing/payload_builder.h"

namespace executorch_backends::openvino::testing {
namespace {

using executorch::aten::ScalarType;
using et::Error;

// y = x * w, f32 [2, 3] each; w lies in the weights.
constexpr char kModel[] = R"(<?xml version="1.0"?>
<net name="scale" version="11"><layers>
<layer id="0" name="x" type="Parameter" version="opset1"><data element_type="f32" shape="2,3"/>
<output><port id="0" precision="FP32"><dim>2</dim><dim>3</dim></port></output></layer>
<layer id="1" name="w" type="Const" version="opset1">
<data element_type="f32" offset="0" shape="2,3" size="24"/>
<output><port id="0" precision="FP32"><dim>2</dim><dim>3</dim></port></output></layer>
<layer id="2" name="m" type="Multiply" version="opset1"><data auto_broadcast="numpy"/>
<input><port id="0"><dim>2</dim><dim>3</dim></port><port id="1"><dim>2</dim><dim>3</dim></port></input>
<output><port id="2" precision="FP32"><dim>2</dim><dim>3</dim></port></output></layer>
<layer id="3" name="y" type="Result" version="opset1">
<input><port id="0"><dim>2</dim><dim>3</dim></port></input></layer>
</layers><edges>
<edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>
<edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>
<edge from-layer="2" from-port="2" to-layer="3" to-port="0"/>
</edges></net>)";

template <typename Function>
Function symbol(const OpenvinoApi& api, const char* name) {
  auto function = reinterpret_cast<Function>(api.library->find(name));
  EXPECT_NE(function, nullptr) << name;
  return function;
}

/// The model above as OpenVINO's compiled blob, made once.
const std::string& blob() {
  static const std::string bytes = [] {
    std::string reason;
    auto api = load_openvino("", &reason);
    EXPECT_NE(api, nullptr) << reason;
    ov_core_t* core = nullptr;
    ov_model_t* model = nullptr;
    ov_compiled_model_t* compiled = nullptr;
    ov_tensor_t* weights = nullptr;
    float values[6] = {1, 2, 3, 4, 5, 6};
    int64_t dims[] = {24};
    EXPECT_EQ(api->ov_core_create(&core), ov_status_e::OK);
    EXPECT_EQ(api->ov_tensor_create_from_host_ptr(U8, ov_shape_t{1, dims}, values, &weights),
              ov_status_e::OK);
    EXPECT_EQ(symbol<decltype(&ov_core_read_model_from_memory_buffer)>(
                  *api, "ov_core_read_model_from_memory_buffer")(core, kModel, sizeof(kModel) - 1,
                                                                 weights, &model),
              ov_status_e::OK)
        << api->last_error();
    EXPECT_EQ(symbol<decltype(&ov_core_compile_model)>(*api, "ov_core_compile_model")(
                  core, model, "CPU", 0, &compiled),
              ov_status_e::OK)
        << api->last_error();
    const std::string path = ::testing::TempDir() + "/scale.blob";
    EXPECT_EQ(symbol<decltype(&ov_compiled_model_export_model)>(
                  *api, "ov_compiled_model_export_model")(compiled, path.c_str()),
              ov_status_e::OK)
        << api->last_error();
    api->ov_compiled_model_free(compiled);
    symbol<decltype(&ov_model_free)>(*api, "ov_model_free")(model);
    api->ov_tensor_free(weights);
    api->ov_core_free(core);
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }();
  return bytes;
}

std::string envelope(const std::string& version) {
  const IoValue matrix{6, {{2, 2}, {3, 3}}};
  return build_envelope({{"target", target_section(version)},
                         {"io", io_section({matrix}, {matrix})},
                         {"blob", blob()}});
}

std::string loaded() {
  std::string reason;
  return load_openvino("", &reason)->version.text;
}

class RealOpenvino : public DelegateTest {
 protected:
  void expect_runs(CountedBlob* counted) {
    auto handle = init(counted);
    ASSERT_NE(handle, nullptr) << log();
    OwnedTensor<float> in(ScalarType::Float, {2, 3}, {1, 1, 1, 2, 2, 2});
    OwnedTensor<float> out(ScalarType::Float, {2, 3});
    for (int call = 0; call < 3; ++call) {
      ASSERT_EQ(execute(handle, {in.value(), out.value()}), Error::Ok) << log();
      EXPECT_EQ(out.data(), (std::vector<float>{1, 2, 3, 8, 10, 12}));
    }
  }
};

TEST_F(RealOpenvino, AnEnvelopeAndABareBlobRun) {
  ASSERT_GT(blob().size(), 100u);
  CountedBlob with_envelope(envelope(loaded()));
  expect_runs(&with_envelope);
  CountedBlob bare(blob());
  expect_runs(&bare);
}

TEST_F(RealOpenvino, TheSameModelTwiceAndInAnyOrder) {
  CountedBlob a(envelope(loaded())), b(envelope(loaded()));
  auto first = init(&a);
  auto second = init(&b);
  ASSERT_NE(first, nullptr) << log();
  ASSERT_NE(second, nullptr) << log();
  first.reset();
  OwnedTensor<float> in(ScalarType::Float, {2, 3}, {1, 1, 1, 1, 1, 1});
  OwnedTensor<float> out(ScalarType::Float, {2, 3});
  ASSERT_EQ(execute(second, {in.value(), out.value()}), Error::Ok) << log();
  EXPECT_EQ(out.data(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST_F(RealOpenvino, ATruncatedBareBlobIsRefusedInOpenvinosWords) {
  for (const size_t size : {size_t{1}, size_t{16}, blob().size() / 2}) {
    CountedBlob counted(blob().substr(0, size));
    EXPECT_EQ(init(&counted), nullptr) << size;
    EXPECT_NE(log().find("cannot import"), std::string::npos) << log();
    EXPECT_NE(log().find(std::to_string(size) + " bytes"), std::string::npos) << log();
  }
  CountedBlob good(blob());
  expect_runs(&good);
}

TEST_F(RealOpenvino, AnotherVersionIsRefusedByBothNames) {
  CountedBlob counted(envelope("2026.3.9"));
  EXPECT_EQ(init(&counted), nullptr);
  EXPECT_NE(log().find("2026.3.9"), std::string::npos) << log();
  EXPECT_NE(log().find(loaded()), std::string::npos) << log();
}

TEST_F(RealOpenvino, ADeviceThatIsNotThereIsNamed) {
  CountedBlob counted(envelope(loaded()));
  EXPECT_EQ(init(&counted, {option("device", "TPU")}), nullptr);
  EXPECT_NE(log().find("'TPU'"), std::string::npos) << log();
  EXPECT_NE(log().find("devices here: CPU"), std::string::npos) << log();
}

}  // namespace
}  // namespace executorch_backends::openvino::testing
