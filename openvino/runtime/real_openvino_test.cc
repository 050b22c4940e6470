// The delegate on the real OpenVINO, which compiles a small model here: no Python, no .pte.
#include <openvino/c/openvino.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>

#include "executorch_backends/openvino/runtime/openvino_api.h"
#include "executorch_backends/openvino/runtime/testing/delegate_fixture.h"
#include "executorch_backends/openvino/runtime/testing/payload_builder.h"

namespace executorch_backends::openvino::testing {
namespace {

using et::Error;
using executorch::aten::ScalarType;

/// An IR: y = x where `multiply` is false, else y = x * x; and z = x, twice, if `also_x`.
/// `sizes` as IR spells them, `1..4,3`.
std::string model(const std::string& type, const std::string& sizes, bool multiply,
                  bool also_x = false) {
  std::string dims;
  for (size_t at = 0; at < sizes.size();) {
    const size_t end = std::min(sizes.find(',', at), sizes.size());
    const std::string size = sizes.substr(at, end - at);
    dims += "<dim>" + (size.find("..") == std::string::npos ? size : "-1") + "</dim>";
    at = end + 1;
  }
  // FP32, BF16, I64, BOOL: what ports call f32, bf16, i64, boolean.
  std::string precision = type == "boolean"
                              ? "bool"
                              : (type[0] == 'f' ? "fp" : "") + type.substr(type[0] == 'f' ? 1 : 0);
  std::transform(precision.begin(), precision.end(), precision.begin(), ::toupper);
  const auto port = [&](int id) {
    return "<port id=\"" + std::to_string(id) + "\" precision=\"" + precision + "\">" + dims +
           "</port>";
  };
  std::string text = "<?xml version=\"1.0\"?><net name=\"m\" version=\"11\"><layers>";
  text += "<layer id=\"0\" name=\"x\" type=\"Parameter\" version=\"opset1\"><data element_type=\"" +
          type + "\" shape=\"" + sizes + "\"/><output>" + port(0) + "</output></layer>";
  if (multiply) {
    text +=
        "<layer id=\"1\" name=\"m\" type=\"Multiply\" version=\"opset1\"><data "
        "auto_broadcast=\"numpy\"/><input>" +
        port(0) + port(1) + "</input><output>" + port(2) + "</output></layer>";
  }
  text += "<layer id=\"2\" name=\"y\" type=\"Result\" version=\"opset1\"><input>" + port(0) +
          "</input></layer>";
  if (also_x) {
    for (const char* id : {"3", "4"}) {
      text += std::string("<layer id=\"") + id + "\" name=\"z" + id +
              "\" type=\"Result\" version=\"opset1\"><input>" + port(0) + "</input></layer>";
    }
  }
  text += "</layers><edges>";
  if (also_x) {
    text +=
        "<edge from-layer=\"0\" from-port=\"0\" to-layer=\"3\" to-port=\"0\"/>"
        "<edge from-layer=\"0\" from-port=\"0\" to-layer=\"4\" to-port=\"0\"/>";
  }
  text += multiply ? "<edge from-layer=\"0\" from-port=\"0\" to-layer=\"1\" to-port=\"0\"/>"
                     "<edge from-layer=\"0\" from-port=\"0\" to-layer=\"1\" to-port=\"1\"/>"
                     "<edge from-layer=\"1\" from-port=\"2\" to-layer=\"2\" to-port=\"0\"/>"
                   : "<edge from-layer=\"0\" from-port=\"0\" to-layer=\"2\" to-port=\"0\"/>";
  return text + "</edges></net>";
}

/// An IR: x + y, of the shapes [1..4, 2] each, whose rows have to agree.
std::string sum() {
  const auto port = [](int id) {
    return "<port id=\"" + std::to_string(id) +
           "\" precision=\"FP32\"><dim>-1</dim><dim>2</dim></port>";
  };
  std::string text = "<?xml version=\"1.0\"?><net name=\"m\" version=\"11\"><layers>";
  for (const std::string id : {"0", "1"}) {
    text += "<layer id=\"" + id + "\" name=\"x" + id +
            "\" type=\"Parameter\" version=\"opset1\"><data element_type=\"f32\" "
            "shape=\"1..4,2\"/><output>" +
            port(0) + "</output></layer>";
  }
  return text +
         "<layer id=\"2\" name=\"a\" type=\"Add\" version=\"opset1\"><data "
         "auto_broadcast=\"numpy\"/><input>" +
         port(0) + port(1) + "</input><output>" + port(2) +
         "</output></layer><layer id=\"3\" name=\"y\" type=\"Result\" version=\"opset1\"><input>" +
         port(0) +
         "</input></layer></layers><edges>"
         "<edge from-layer=\"0\" from-port=\"0\" to-layer=\"2\" to-port=\"0\"/>"
         "<edge from-layer=\"1\" from-port=\"0\" to-layer=\"2\" to-port=\"1\"/>"
         "<edge from-layer=\"2\" from-port=\"2\" to-layer=\"3\" to-port=\"0\"/></edges></net>";
}

template <typename Function>
Function symbol(const OpenvinoApi& api, const char* name) {
  auto function = reinterpret_cast<Function>(api.library->find(name));
  EXPECT_NE(function, nullptr) << name;
  return function;
}

/// A model as OpenVINO's compiled blob.
std::string compile(const std::string& ir) {
  std::string reason;
  auto api = load_openvino("", &reason);
  EXPECT_NE(api, nullptr) << reason;
  ov_core_t* core = nullptr;
  ov_model_t* read = nullptr;
  ov_compiled_model_t* compiled = nullptr;
  EXPECT_EQ(api->ov_core_create(&core), ov_status_e::OK);
  EXPECT_EQ(api->ov_core_set_property(core, "CPU", "INFERENCE_PRECISION_HINT", "f32"),
            ov_status_e::OK);
  EXPECT_EQ(symbol<decltype(&ov_core_read_model_from_memory_buffer)>(
                *api, "ov_core_read_model_from_memory_buffer")(core, ir.data(), ir.size(), nullptr,
                                                               &read),
            ov_status_e::OK)
      << api->last_error() << ir;
  EXPECT_EQ(symbol<decltype(&ov_core_compile_model)>(*api, "ov_core_compile_model")(
                core, read, "CPU", 0, &compiled),
            ov_status_e::OK)
      << api->last_error();
  const std::string path = ::testing::TempDir() + "/model.blob";
  EXPECT_EQ(symbol<decltype(&ov_compiled_model_export_model)>(
                *api, "ov_compiled_model_export_model")(compiled, path.c_str()),
            ov_status_e::OK)
      << api->last_error();
  api->ov_compiled_model_free(compiled);
  symbol<decltype(&ov_model_free)>(*api, "ov_model_free")(read);
  api->ov_core_free(core);
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

const std::string& blob() {
  static const std::string bytes = compile(model("f32", "2,3", /*multiply=*/true));
  return bytes;
}

Recipe recipe(const std::string& version) {
  const IoValue matrix{6, {{2, 2}, {3, 3}}};
  return {model("f32", "2,3", /*multiply=*/true),
          blob(),
          {0, blob().size()},
          target_section(version),
          {matrix},
          {matrix}};
}
Built envelope(const std::string& version) { return recipe(version).build(); }

std::string loaded() {
  std::string reason;
  return load_openvino("", &reason)->version.text;
}

class RealOpenvino : public DelegateTest {
 protected:
  void expect_runs(TestProgram* counted, std::vector<et::BackendOption> options = {}) {
    expect_runs(init(counted, std::move(options)));
  }
  void expect_runs(const Handle& handle) {
    ASSERT_NE(handle, nullptr) << log();
    OwnedTensor<float> in(ScalarType::Float, {2, 3}, {1, 2, 3, 4, 5, 6});
    OwnedTensor<float> out(ScalarType::Float, {2, 3});
    for (int call = 0; call < 3; ++call) {
      ASSERT_EQ(execute(handle, {in.value(), out.value()}), Error::Ok) << log();
      EXPECT_EQ(out.data(), (std::vector<float>{1, 4, 9, 16, 25, 36}));
    }
  }
};

TEST_F(RealOpenvino, AnEnvelopeAndABareBlobRun) {
  ASSERT_GT(blob().size(), 100u);
  TestProgram with_envelope(envelope(loaded()));
  expect_runs(&with_envelope);
  TestProgram bare(blob());
  expect_runs(&bare);
}

TEST_F(RealOpenvino, TheSameModelTwiceAndInAnyOrder) {
  TestProgram a(envelope(loaded())), b(envelope(loaded()));
  auto first = init(&a);
  auto second = init(&b);
  ASSERT_NE(first, nullptr) << log();
  ASSERT_NE(second, nullptr) << log();
  first.reset();
  OwnedTensor<float> in(ScalarType::Float, {2, 3}, {1, 2, 3, 4, 5, 6});
  OwnedTensor<float> out(ScalarType::Float, {2, 3});
  ASSERT_EQ(execute(second, {in.value(), out.value()}), Error::Ok) << log();
  EXPECT_EQ(out.data(), (std::vector<float>{1, 4, 9, 16, 25, 36}));
}

TEST_F(RealOpenvino, FourThreadsOnOneHandleAndOnFour) {
  for (const char* compile : {"never", "always"}) {
    const Built built = envelope(loaded());
    CountedData data(built.data);
    for (const size_t count : {1, 4}) {
      std::vector<Handle> handles;
      for (size_t i = 0; i < count; ++i) {
        et::FreeableBuffer payload(built.payload.data(), built.payload.size(), nullptr);
        handles.push_back(init(&payload, &data, {option("compile", compile)}));
        ASSERT_NE(handles.back(), nullptr) << log();
      }
      EXPECT_EQ(wrong_calls(handles, [](float in, float out) { return out == in * in; }), 0);
    }
  }
}

TEST_F(RealOpenvino, ATruncatedBareBlobIsRefusedInOpenvinosWords) {
  for (const size_t size : {size_t{1}, size_t{16}, blob().size() / 2}) {
    TestProgram counted(blob().substr(0, size));
    EXPECT_EQ(init(&counted), nullptr) << size;
    EXPECT_NE(log().find("cannot import"), std::string::npos) << log();
    EXPECT_NE(log().find(std::to_string(size) + " bytes"), std::string::npos) << log();
  }
  TestProgram good(blob());
  expect_runs(&good);
}

TEST_F(RealOpenvino, AnotherVersionIsCompiledFromIrOrRefusedByBothNames) {
  TestProgram counted(envelope("2026.4.9"));
  expect_runs(&counted);
  EXPECT_NE(notes().find("2026.4.9"), std::string::npos) << notes();
  TestProgram other(envelope("2026.4.9"));
  EXPECT_EQ(init(&other, {option("compile", "never")}), nullptr);
  EXPECT_NE(log().find("2026.4.9"), std::string::npos) << log();
  EXPECT_NE(log().find(loaded()), std::string::npos) << log();
}

TEST_F(RealOpenvino, ADeviceThatIsNotThereIsNamed) {
  for (const char* compile : {"auto", "always"}) {
    TestProgram counted(envelope(loaded()));
    EXPECT_EQ(init(&counted, {option("device", "TPU"), option("compile", compile)}), nullptr);
    EXPECT_NE(log().find("'TPU'"), std::string::npos) << log();
    EXPECT_NE(log().find("the devices are CPU"), std::string::npos) << log();
  }
}

TEST_F(RealOpenvino, DevicesThatStandForOthersCompileTheIr) {
  for (const char* device : {"AUTO", "AUTO:CPU", "AUTO:NPU,CPU", "HETERO:CPU"}) {
    SCOPED_TRACE(device);
    TestProgram counted(envelope(loaded()));
    expect_runs(&counted, {option("device", device)});
  }
}

/// Runs `ir` on one tensor of these sizes; what comes out is expected to equal `expected`.
template <typename Element>
void expect_result(DelegateDriver* driver, const std::string& ir, ScalarType type,
                   std::vector<int32_t> sizes, std::vector<Element> data,
                   const std::vector<Element>& expected, std::vector<int32_t> output_bound = {}) {
  TestProgram counted(compile(ir));
  auto handle = driver->init(&counted);
  ASSERT_NE(handle, nullptr) << driver->log();
  const bool dynamic = !output_bound.empty();
  OwnedTensor<Element> in(type, sizes, data);
  OwnedTensor<Element> out(type, dynamic ? output_bound : sizes, {}, {},
                           dynamic ? executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND
                                   : executorch::aten::TensorShapeDynamism::STATIC);
  for (int call = 0; call < 3; ++call) {
    std::fill(out.data().begin(), out.data().end(), Element{});
    ASSERT_EQ(driver->execute(handle, {in.value(), out.value()}), Error::Ok) << driver->log();
    const auto got = out.tensor().sizes();
    EXPECT_EQ(std::vector<int32_t>(got.begin(), got.end()), sizes);
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(out.data()[i], expected[i]) << i;
  }
}

TEST_F(RealOpenvino, Scalars) {
  expect_result<float>(this, model("f32", "", true), ScalarType::Float, {}, {3}, {9});
  expect_result<float>(this, model("f32", "", false), ScalarType::Float, {}, {3}, {3});
  expect_result<int64_t>(this, model("i64", "", false), ScalarType::Long, {}, {-5}, {-5});
}

TEST_F(RealOpenvino, TensorsWithoutElements) {
  expect_result<float>(this, model("f32", "0,4", true), ScalarType::Float, {0, 4}, {}, {});
  expect_result<float>(this, model("f32", "0,4", false), ScalarType::Float, {0, 4}, {}, {});
}

TEST_F(RealOpenvino, APassedThroughInputArrives) {
  expect_result<float>(this, model("f32", "2,2", false), ScalarType::Float, {2, 2}, {1, 2, 3, 4},
                       {1, 2, 3, 4});
}

TEST_F(RealOpenvino, APassedThroughInputBesideOtherOutputs) {
  TestProgram counted(compile(model("f32", "2,2", /*multiply=*/true, /*also_x=*/true)));
  auto handle = init(&counted);
  ASSERT_NE(handle, nullptr) << log();
  OwnedTensor<float> in(ScalarType::Float, {2, 2});
  OwnedTensor<float> square(ScalarType::Float, {2, 2}), x(ScalarType::Float, {2, 2}),
      again(ScalarType::Float, {2, 2});
  for (int call = 0; call < 4; ++call) {
    in.data() = {1, 2, 3, static_cast<float>(call)};
    for (auto* out : {&square, &x, &again}) std::fill(out->data().begin(), out->data().end(), -7);
    ASSERT_EQ(execute(handle, {in.value(), square.value(), x.value(), again.value()}), Error::Ok)
        << log();
    EXPECT_EQ(square.data(), (std::vector<float>{1, 4, 9, static_cast<float>(call * call)}));
    EXPECT_EQ(x.data(), in.data());
    EXPECT_EQ(again.data(), in.data());
  }
}

TEST_F(RealOpenvino, DynamicShapesFollowTheInput) {
  for (const bool multiply : {true, false}) {
    for (const int32_t rows : {1, 3, 4}) {
      const auto count = static_cast<size_t>(rows) * 2;
      expect_result<float>(this, model("f32", "1..4,2", multiply), ScalarType::Float, {rows, 2},
                           std::vector<float>(count, 3),
                           std::vector<float>(count, multiply ? 9.0f : 3.0f), {4, 2});
    }
  }
}

// OpenVINO's CPU device takes the sizes of a failed run for those of later ones.
TEST_F(RealOpenvino, ARunOnSizesThatDoNotFitEachOtherIsFollowedByGoodOnes) {
  const std::string bytes = compile(sum());
  const IoValue rows{6, {{1, 4}, {2, 2}}};
  const Recipe ours{sum(),        bytes, {0, bytes.size()}, target_section(loaded()),
                    {rows, rows}, {rows}};
  for (const char* compile_option : {"never", "always"}) {
    TestProgram program(ours.build()), stock(bytes);
    for (TestProgram* each : {&program, &stock}) {
      if (each == &stock && compile_option == std::string("always")) continue;  // it has no IR
      auto handle = init(each, {option("compile", compile_option)});
      ASSERT_NE(handle, nullptr) << log();
      const auto run = [&](int32_t x_rows, int32_t y_rows) {
        OwnedTensor<float> x(ScalarType::Float, {x_rows, 2}, std::vector<float>(x_rows * 2, 1));
        OwnedTensor<float> y(ScalarType::Float, {y_rows, 2}, std::vector<float>(y_rows * 2, 2));
        OwnedTensor<float> out(ScalarType::Float, {4, 2}, {}, {},
                               executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND);
        const Error error = execute(handle, {x.value(), y.value(), out.value()});
        if (error == Error::Ok) {
          EXPECT_EQ(out.tensor().size(0), x_rows);
          for (int i = 0; i < x_rows * 2; ++i) EXPECT_EQ(out.data()[static_cast<size_t>(i)], 3.0f);
        }
        return error;
      };
      ASSERT_EQ(run(3, 3), Error::Ok) << log();
      EXPECT_EQ(run(2, 3), Error::Internal);
      for (const int32_t count : {3, 2, 4}) EXPECT_EQ(run(count, count), Error::Ok) << log();
    }
  }
}

TEST_F(RealOpenvino, ADynamicInputOutsideItsBoundsIsRefused) {
  TestProgram counted(compile(model("f32", "1..4,2", true)));
  auto handle = init(&counted);
  ASSERT_NE(handle, nullptr) << log();
  OwnedTensor<float> in(ScalarType::Float, {5, 2});
  OwnedTensor<float> out(ScalarType::Float, {5, 2});
  EXPECT_EQ(execute(handle, {in.value(), out.value()}), Error::InvalidArgument);
  EXPECT_NE(log().find("[5, 2], and the model takes [1..4, 2]"), std::string::npos) << log();
}

// The bits of every element type arrive as they are.
TEST_F(RealOpenvino, EveryElementType) {
  const auto passes = [&](auto element, const char* name, ScalarType type) {
    using Element = decltype(element);
    const std::vector<Element> data = {Element{0}, element, Element{1}};
    SCOPED_TRACE(name);
    expect_result<Element>(this, model(name, "3", false), type, {3}, data, data);
  };
  passes(1.5f, "f32", ScalarType::Float);
  passes(1.5, "f64", ScalarType::Double);
  passes(uint16_t{0x3e00}, "f16", ScalarType::Half);
  passes(uint16_t{0x3fc0}, "bf16", ScalarType::BFloat16);
  passes(int8_t{-128}, "i8", ScalarType::Char);
  passes(uint8_t{255}, "u8", ScalarType::Byte);
  passes(int16_t{-32768}, "i16", ScalarType::Short);
  passes(std::numeric_limits<int32_t>::min(), "i32", ScalarType::Int);
  passes(int64_t{std::numeric_limits<int32_t>::min()}, "i64", ScalarType::Long);
  passes(uint16_t{65535}, "u16", ScalarType::UInt16);
  passes(uint32_t{2147483647}, "u32", ScalarType::UInt32);
  passes(uint64_t{2147483647}, "u64", ScalarType::UInt64);
  passes(uint8_t{1}, "boolean", ScalarType::Bool);
}

}  // namespace
}  // namespace executorch_backends::openvino::testing
