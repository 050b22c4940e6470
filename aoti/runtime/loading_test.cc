// Payloads: damaged ones, those that disagree with their code or data or with this machine, and
// where the code is kept while it is loaded.
#include <cstring>

#include "executorch_backends/aoti/runtime/testing/fake_fixture.h"

namespace executorch_backends::aoti::testing {
namespace {

Built with_section(const std::string& name, const std::string& bytes) {
  auto sections = Recipe{}.sections();
  for (auto& section : sections) {
    if (section.first == name) section.second = bytes;
  }
  return Recipe{}.built(sections);
}

TEST_F(FakeModels, EveryTruncationAndFlippedByteIsAnErrorAndNotMore) {
  const Built good = Recipe{}.build();
  for (size_t size = 0; size < good.payload.size(); ++size) {
    TestProgram loaded(Built{good.payload.substr(0, size), good.data});
    EXPECT_EQ(load(&loaded), nullptr) << size;
    EXPECT_FALSE(log().empty()) << size;
  }
  for (size_t at = 0; at < good.payload.size(); ++at) {
    Built bad = good;
    bad.payload[at] = static_cast<char>(bad.payload[at] ^ 0x20);
    TestProgram loaded(bad);
    EXPECT_EQ(load(&loaded), nullptr) << at;
    EXPECT_FALSE(log().empty()) << at;
  }
  TestProgram loaded(good);
  EXPECT_NE(load(&loaded), nullptr) << log();
}

TEST_F(FakeModels, BytesOfAnotherBackendAreNone) {
  expect_refused({"aoti_cpu_so_blob\nkey", {}}, {"not ours", "lower again"});
  TestProgram empty(std::string{});
  EXPECT_EQ(load(&empty), nullptr);
  expect_log({"the payload is empty"});
}

TEST_F(FakeModels, ATargetIsThisDelegateDeviceAndMachine) {
  const auto refused = [&](const std::string& from, const std::string& to,
                           const std::vector<std::string>& parts) {
    Recipe recipe;
    recipe.target.replace(recipe.target.find(from), from.size(), to);
    expect_refused(recipe.build(), parts);
  };
  refused("backend=aoti", "backend=openvino", {"'openvino'", "'aoti'"});
  refused("device=cpu", "device=cuda", {"device 'cuda'", "'cpu'"});
  refused("shims=1", "shims=2", {"version '2'", "this is 1", "lower again"});
  refused("isa=avx2", "isa=native:avx2,avx99", {"'native:avx2,avx99'", "it lacks avx99"});
  refused("isa=avx2", "isa=neon", {"'neon'", "knows avx2, avx512 and native"});
}

TEST_F(FakeModels, SectionsThatAreMissingOrDamagedAreNamed) {
  for (const size_t missing : {0, 1, 2}) {
    auto sections = Recipe{}.sections();
    sections.erase(sections.begin() + static_cast<ptrdiff_t>(missing));
    expect_refused(Recipe{}.built(sections), {"lacks its section 'target', 'io' or 'code'"});
  }
  auto sections = Recipe{}.sections();
  sections.pop_back();
  expect_refused(Recipe{}.built(sections), {"reads 4 bytes of constants", "weights have 0"});
  const std::string code = named_data_section(fake_model(kPlain), kCodeKey);
  expect_refused(with_section("code", code.substr(0, 47)), {"'code' has 47 bytes", "48"});
  expect_refused(with_section("code", code.substr(0, 48)), {"0 bytes of key"});
  std::string version = code;
  version[0] = 7;
  expect_refused(with_section("code", version), {"version 7", "reads 1", "lower again"});
  expect_refused(with_section("io", "12345"), {"io table has 5 bytes"});
}

TEST_F(FakeModels, TablesThatDisagreeWithTheCodeAreRefused) {
  expect_refused(with_section("io", io_section({kMatrix, kMatrix}, {kMatrix})),
                 {"2 inputs and 1 outputs", "has 1 and 1"});
  expect_refused(with_section("io", io_section({kMatrix}, {})), {"1 inputs and 0 outputs"});
}

TEST_F(FakeModels, CodeIsTheOneThatThePayloadNames) {
  Built damaged = Recipe{}.build();
  std::string& code = damaged.data[kCodeKey];
  code[code.size() / 2] = static_cast<char>(code[code.size() / 2] ^ 1);
  expect_refused(damaged, {"its code 'code' has SHA-256", "was recorded"});
  Built longer = Recipe{}.build();
  longer.data[kCodeKey] += "x";
  expect_refused(longer, {"'code' have", "the payload's code have"});
  Built lacking = Recipe{}.build();
  lacking.data.erase(kCodeKey);
  expect_refused(lacking, {"lack the payload's code 'code'"});
  TestProgram none(Recipe{}.build());
  EXPECT_EQ(init(none.buffer(), nullptr, {}), nullptr);
  expect_log({"'code'", "no named data"});
}

TEST_F(FakeModels, WeightsAreTheOnesThatTheCodeReads) {
  Built lacking = Recipe{}.build();
  lacking.data.erase(kWeightsKey);
  expect_refused(lacking, {"lack the payload's weights 'weights'"});
  Built longer = Recipe{}.build();
  longer.data[kWeightsKey] += "x";
  expect_refused(longer, {"'weights' have 5", "weights have 4 bytes"});
  Recipe more;
  more.weights += "more";
  expect_refused(more.build(), {"reads 4 bytes of constants", "weights have 8"});
  Recipe folded;  // is computed, and no weights
  folded.script = "inputs 1\nfolded 64\nconstants 1 3\noutput buffer 2,3 3,1 0\n";
  expect_runs(load(folded));
}

TEST_F(FakeModels, CodeThatIsNoProgramIsRefused) {
  const auto with_code = [](const std::string& code) {
    Built built = with_section("code", named_data_section(code, kCodeKey));
    built.data[kCodeKey] = code;
    return built;
  };
  expect_refused(with_code("#!/bin/sh\n"), {"the linker refuses", "'code'", "TMPDIR"});
  expect_refused(with_code(""), {"the linker refuses"});
  // A library, and no program.
  expect_refused(with_code(file_of("ANOTHER_LIBRARY")),
                 {"lacks AOTInductorModelContainerCreateWithDevice", "lower again"});
}

TEST_F(FakeModels, TheCodesFileIsGoneWhenItIsLoaded) {
  const auto handle = load(Recipe{});
  EXPECT_EQ(files_left(), 0);
  expect_runs(handle);
  const std::string folder = std::getenv("TMPDIR");
  setenv("TMPDIR", "/nowhere/at/all", 1);
  Recipe other;
  other.script += "\n";
  expect_refused(other.build(), {"/nowhere/at/all", "TMPDIR names another place"});
  setenv("TMPDIR", folder.c_str(), 1);
}

TEST_F(FakeModels, ProgramsOfEveryAgeRunTheirOwnCode) {
  // Each is loaded under a path that others have had, if paths were used twice.
  std::vector<std::pair<Handle, float>> handles;
  for (int i = 0; i < 20; ++i) {
    Recipe recipe;
    recipe.weights[0] = static_cast<char>(i / 2);
    recipe.script += "ignore\n" + std::string(static_cast<size_t>(i / 2), ' ');
    handles.emplace_back(load(recipe), static_cast<float>(i / 2));
    if (i % 3 == 0) handles.erase(handles.begin());
  }
  Floats in(ScalarType::Float, {2, 3}, kGiven), out(ScalarType::Float, {2, 3});
  for (const auto& [handle, added] : handles) {
    ASSERT_EQ(execute(handle, {in.value(), out.value()}), Error::Ok) << log();
    EXPECT_EQ(out.data()[5], 12 + added);
  }
}

TEST_F(FakeModels, OutputsThatAreOtherValuesAreRefused) {
  IoValue input = kMatrix;
  input.flags = kSameAsInput;
  expect_refused(with_section("io", io_section({kMatrix}, {input})),
                 {"output 0 is another value", "lower again"});
}

TEST_F(FakeModels, ARefusedProgramLeavesNothing) {
  Recipe recipe;
  recipe.outputs.push_back(kMatrix);
  TestProgram refused(recipe.build());
  EXPECT_EQ(load(&refused), nullptr);
  EXPECT_EQ(containers(), 0);
  EXPECT_EQ(refused.data().freed(), refused.data().reads());
}

}  // namespace
}  // namespace executorch_backends::aoti::testing
