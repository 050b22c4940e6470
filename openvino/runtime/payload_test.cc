// Damaged payloads, payloads that disagree with their model or data, and those of other versions.
#include "executorch_backends/openvino/runtime/testing/fake_fixture.h"

namespace executorch_backends::openvino::testing {
namespace {

TEST_F(FakeOpenvino, EveryTruncationAndFlippedByteIsAnErrorAndNotMore) {
  const Built good = program();
  for (size_t size = 0; size < good.payload.size(); ++size) {
    TestProgram loaded(Built{good.payload.substr(0, size), good.data});
    EXPECT_EQ(init(&loaded), nullptr) << size;
    EXPECT_FALSE(log().empty()) << size;
  }
  for (size_t at = 0; at < good.payload.size(); ++at) {
    Built bad = good;
    bad.payload[at] = static_cast<char>(bad.payload[at] ^ 0x20);
    TestProgram loaded(bad);
    EXPECT_EQ(init(&loaded), nullptr) << at;
    EXPECT_FALSE(log().empty()) << at;
  }
  TestProgram loaded(good);
  EXPECT_NE(init(&loaded), nullptr) << log();
}

TEST_F(FakeOpenvino, TablesThatDisagreeWithTheModelAreRefused) {
  const auto with_io = [](const std::string& io) {
    auto sections = recipe().sections();
    sections[1].second = io;
    return recipe().built(sections);
  };
  expect_refused(with_io(io_section({kMatrix, kMatrix}, {kMatrix})), {"2 inputs", "has 1"});
  expect_refused(with_io(io_section({kMatrix}, {})), {"0 outputs", "has 1"});
  expect_refused(program(kStatic, {3, kMatrix.bounds}), {"i32", "f32"});
  expect_refused(program(kStatic, {6, {{2, 2}}}), {"rank 1", "rank 2"});
  expect_refused(program(kStatic, {6, {{2, 2}, {5, 9}}}), {"dimension 1", "[5..9]", "[3]"});
  expect_refused(program(kStatic, {99, kMatrix.bounds}), {"dtype 99"});
  expect_refused(program(kStatic, {6, {{3, 2}, {3, 3}}}), {"bounds 3 to 2"});
  expect_refused(program(kStatic, {6, {{-1, 2}, {3, 3}}}), {"bounds -1 to 2"});
  std::string io = io_section({kMatrix}, {kMatrix});
  for (const size_t cut : {4, 8, 20, 40}) {
    expect_refused(with_io(io.substr(0, io.size() - cut)), {"ends inside value 1"});
  }
  expect_refused(with_io(io + "x"), {"1 bytes after"});
  expect_refused(with_io(""), {"0 bytes"});
  std::string order = io;
  order[order.size() - 4] = 0;  // of 0, 1
  expect_refused(with_io(order), {"dim order of value 1"});
  order[order.size() - 4] = 2;
  expect_refused(with_io(order), {"dim order of value 1"});
  for (const char version : {'\x01', '\x09'}) {
    io[0] = version;
    expect_refused(with_io(io), {"version " + std::to_string(version), "reads 2", "lower again"});
  }
  std::string huge = io_section({kMatrix}, {kMatrix});
  const uint32_t many = 0xffffffff;
  std::memcpy(huge.data() + 4, &many, 4);
  expect_refused(with_io(huge), {"4294967295 inputs"});
}

TEST_F(FakeOpenvino, FlagsThatSayNothingSensibleAreRefused) {
  const auto with_output = [](uint32_t flags, uint32_t source, IoValue value = kMatrix) {
    Recipe changed = recipe();
    changed.outputs[0] = value;
    changed.outputs[0].flags = flags;
    changed.outputs[0].source = source;
    return changed.build();
  };
  expect_refused(with_output(kSameAsInput, 1), {"output 0", "input 1", "1 to choose from"});
  expect_refused(with_output(kSameAsOutput, 0), {"output 0", "0 to choose from"});  // itself
  expect_refused(with_output(kSameAsInput | kSameAsOutput, 0), {"flags 0x6"});
  expect_refused(with_output(8, 0), {"flags 0x8", "0x7"});
  expect_refused(with_output(0, 1), {"names value 1"});
  expect_refused(with_output(kSameAsInput, 0, {3, kMatrix.bounds}), {"Int", "Float"});
  expect_refused(with_output(kSameAsInput, 0, {6, {{2, 2}}}), {"rank 1", "rank 2"});
  Recipe input = recipe();
  input.inputs[0].flags = kSameAsInput;
  expect_refused(input.build(), {"input 0", "flags 0x2"});
}

TEST_F(FakeOpenvino, SectionsThatAreMissingOrNotOursAreNamed) {
  const auto without = [](const std::string& name) {
    auto sections = recipe().sections();
    for (auto section = sections.begin(); section != sections.end(); ++section) {
      if (section->first == name) {
        sections.erase(section);
        break;
      }
    }
    return recipe().built(sections);
  };
  expect_refused(without("target"), {"'target'"});
  expect_refused(without("io"), {"'io'"});
  expect_refused(without("ir"), {"'ir'"});
  expect_refused(without("code"), {"'code'"});
  expect_refused(without("weights"), {"2 bytes at 0 of the weights, which have 0"});
  Recipe other = recipe();
  other.target = "backend=aoti\n";
  expect_refused(other.build(), {"'aoti'", "'openvino'"});
}

TEST_F(FakeOpenvino, WeightsMustBeTheOnesThatThePayloadNames) {
  Built lacking = program();
  lacking.data = {{"another", kStatic}};
  expect_refused(lacking, {"lack the payload's weights 'weights'"});
  Built longer = program();
  longer.data[kWeightsKey] += "x";
  expect_refused(longer, {"'weights' have 3", "weights have 2 bytes"});
  TestProgram none(program());
  EXPECT_EQ(init(none.buffer(), nullptr, {}), nullptr);
  expect_log({"'weights'", "no named data"});

  const auto with_section = [](const std::string& name, const std::string& bytes) {
    auto sections = recipe().sections();
    for (auto& section : sections) {
      if (section.first == name) section.second = bytes;
    }
    return recipe().built(sections);
  };
  std::string weights = weights_section(kStatic, kWeightsKey);
  expect_refused(with_section("weights", weights.substr(0, 47)), {"47 bytes", "48"});
  expect_refused(with_section("weights", weights.substr(0, 48)), {"0 bytes of key"});
  expect_refused(with_section("weights", weights + '\0'), {"8 bytes of key"});
  weights[0] = 7;
  expect_refused(with_section("weights", weights), {"version 7", "reads 1"});
  std::string blob = blob_section(0, 2);
  expect_refused(with_section("blob", blob + "x"), {"25 bytes", "24"});
  expect_refused(with_section("blob", blob.substr(0, 23)), {"23 bytes", "24"});
  expect_refused(with_section("blob", blob_section(1, 2)), {"2 bytes at 1", "have 2"});
  expect_refused(with_section("blob", blob_section(0, 0)), {"0 bytes at 0"});
  expect_refused(with_section("blob", blob_section(~uint64_t{0}, 2)), {"2 bytes at 1844"});
  blob[0] = 7;
  expect_refused(with_section("blob", blob), {"version 7", "reads 1"});
}

TEST_F(FakeOpenvino, TheBlobsCodeIsCheckedBeforeUse) {
  // "s", 8 bytes of weights, 5: the fake reads the first and the last byte.
  const std::string model = std::string("s") + std::string(8, 'w') + "\x05";
  const auto with_code = [&](const std::string& code, const std::string& bytes) {
    auto sections = recipe(model).sections();
    sections.back().second = code;
    Built built = recipe(model).built(sections);
    built.data[kWeightsKey] = bytes;
    return built;
  };
  const std::string code = code_section(model, {{0, 1}, {9, 1}});
  TestProgram good(with_code(code, model));
  expect_runs(&good);
  for (const size_t at : {0, 9}) {
    std::string bad = model;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    expect_refused(with_code(code, bad), {"the blob's code has SHA-256", "was recorded"});
  }
  std::string weights_differ = model;
  weights_differ[4] = 'v';
  TestProgram differs(with_code(code, weights_differ));
  EXPECT_NE(init(&differs), nullptr) << log();  // a full check, as `pte run` makes, sees it

  const auto expect_table_refused = [&](const std::string& table,
                                        const std::vector<std::string>& parts) {
    expect_refused(with_code(table, model), parts);
  };
  expect_table_refused("", {"0 bytes"});
  expect_table_refused(code.substr(0, 20), {"inside range 0 of 2"});
  expect_table_refused(code + "x", {"33 bytes", "32"});
  expect_table_refused(code_section(model, {{0, 11}}), {"11 bytes at 0", "10 bytes"});
  expect_table_refused(code_section(model, {{5, 2}, {4, 2}}), {"range 1", "ends at 7"});
  expect_table_refused(code_section(model, {{~uint64_t{0}, 2}}), {"range 0"});
  std::string version = code;
  version[0] = 7;
  expect_table_refused(version, {"version 7", "reads 1"});
}

}  // namespace
}  // namespace executorch_backends::openvino::testing
