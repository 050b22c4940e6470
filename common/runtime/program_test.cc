#include "executorch_backends/common/runtime/program.h"

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/platform/log.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace et = executorch::runtime;
using Bytes = std::vector<char>;

constexpr char kPortable[] = "common/runtime/testdata/portable.pte";
constexpr char kNoElements[] = "common/runtime/testdata/no_elements.pte";
constexpr char kDelegated[] = "common/runtime/testdata/delegated.pte";
constexpr int32_t kFloat = 6;
constexpr int32_t kLong = 4;

/// Copies its input to its output, keeps its payload, and fails on demand.
class TestBackend final : public et::BackendInterface {
 public:
  bool is_available() const override { return true; }

  et::Result<et::DelegateHandle*> init(et::BackendInitContext& context,
                                       et::FreeableBuffer* processed,
                                       et::ArrayRef<et::CompileSpec>) const override {
    auto mode = context.get_runtime_spec<const char*>("mode");
    auto count = context.get_runtime_spec<int>("count");
    auto flag = context.get_runtime_spec<bool>("flag");
    options() = (mode.ok() ? std::string(*mode) : "-") + "," +
                (count.ok() ? std::to_string(*count) : "-") + "," +
                (flag.ok() ? (*flag ? "true" : "false") : "-");
    if (mode.ok() && std::string(*mode) == "refuse") {
      ET_LOG(Error, "device 'TPU' is not there");
      ET_LOG(Error, "devices: CPU");
      return et::Error::DelegateInvalidHandle;
    }
    ++alive();
    return processed;
  }

  et::Error execute(et::BackendExecutionContext&, et::DelegateHandle* handle,
                    et::Span<et::EValue*> arguments) const override {
    auto* processed = static_cast<et::FreeableBuffer*>(handle);
    const std::string payload(static_cast<const char*>(processed->data()), processed->size());
    if (payload != "a payload that must stay readable") {
      ET_LOG(Error, "the payload reads '%s'", payload.c_str());
      return et::Error::DelegateInvalidCompatibility;
    }
    const auto& in = arguments[0]->toTensor();
    auto out = arguments[1]->toTensor();
    if (in.const_data_ptr<float>()[0] < 0) {
      ET_LOG(Error, "the first element is negative");
      return et::Error::InvalidState;
    }
    std::copy_n(in.const_data_ptr<float>(), in.numel(), out.mutable_data_ptr<float>());
    return et::Error::Ok;
  }

  void destroy(et::DelegateHandle*) const override { --alive(); }

  /// What this thread's last init saw.
  static std::string& options() {
    thread_local std::string text;
    return text;
  }
  static std::atomic<int>& alive() {
    static std::atomic<int> count{0};
    return count;
  }
};

TestBackend backend;
const et::Error registered = et::register_backend({"TestBackend", &backend});

Bytes read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

std::string write(const std::string& name, const Bytes& bytes) {
  const std::string path = testing::TempDir() + name;
  std::ofstream(path, std::ios::binary).write(bytes.data(), bytes.size());
  return path;
}

struct Free {
  void operator()(executorch_backends_program* program) const {
    executorch_backends_program_free(program);
  }
};
using Program = std::unique_ptr<executorch_backends_program, Free>;

Program load(const char* path, int32_t mode = EXECUTORCH_BACKENDS_MMAP) {
  executorch_backends_program* program = nullptr;
  const int32_t code = executorch_backends_program_load(path, nullptr, 0, nullptr, mode, &program);
  EXPECT_EQ(code == 0, program != nullptr);
  return Program(program);
}

Program load(const Bytes& bytes) {
  executorch_backends_program* program = nullptr;
  executorch_backends_program_load(nullptr, bytes.data(), bytes.size(), nullptr,
                                   EXECUTORCH_BACKENDS_BUFFER, &program);
  return Program(program);
}

std::string last_error() { return executorch_backends_last_error(); }

void expect_error(const std::string& text) {
  EXPECT_NE(last_error().find(text), std::string::npos) << last_error();
}

/// A contiguous tensor that can be passed as an input.
struct Tensor {
  std::vector<int32_t> sizes;
  std::vector<float> values;
  std::vector<uint8_t> dim_order;

  executorch_backends_value value() {
    dim_order.resize(sizes.size());
    for (size_t d = 0; d < sizes.size(); ++d) dim_order[d] = static_cast<uint8_t>(d);
    executorch_backends_value result{};
    result.kind = EXECUTORCH_BACKENDS_TENSOR;
    result.dtype = kFloat;
    result.rank = static_cast<int32_t>(sizes.size());
    result.sizes = sizes.data();
    result.dim_order = dim_order.data();
    result.data = values.data();
    result.bytes = values.size() * sizeof(float);
    return result;
  }
};

struct Outputs {
  std::vector<std::vector<float>> values;
  std::vector<std::vector<int32_t>> sizes;

  static void* allocate(void* context, size_t index, const executorch_backends_value* value) {
    auto* self = static_cast<Outputs*>(context);
    self->values[index].resize(value->bytes / sizeof(float));
    self->sizes[index].assign(value->sizes, value->sizes + value->rank);
    return self->values[index].data();
  }
};

int32_t run(const Program& program, const char* method, std::vector<Tensor> inputs,
            size_t output_count, Outputs* outputs) {
  std::vector<executorch_backends_value> values;
  for (Tensor& input : inputs) values.push_back(input.value());
  std::vector<executorch_backends_value> results(output_count);
  outputs->values.assign(output_count, {});
  outputs->sizes.assign(output_count, {});
  return executorch_backends_method_execute(program.get(), method, values.data(), values.size(),
                                            results.data(), results.size(), Outputs::allocate,
                                            outputs);
}

const Tensor kTwoRows{{2, 2}, {1, 2, 3, 4}, {}};
const Tensor kThreeRows{{3, 2}, {1, 2, 3, 4, 5, 6}, {}};

void expect_sums(const Program& program) {
  Outputs outputs;
  ASSERT_EQ(run(program, "forward", {kTwoRows, kTwoRows}, 2, &outputs), 0) << last_error();
  EXPECT_EQ(outputs.values[0], (std::vector<float>{2, 4, 6, 8}));
  EXPECT_EQ(outputs.values[1], (std::vector<float>{1, 4, 9, 16}));
}

class EveryMode : public testing::TestWithParam<int32_t> {};
INSTANTIATE_TEST_SUITE_P(, EveryMode, testing::Range(0, 6));

TEST_P(EveryMode, RunsAProgramFromAFile) {
  const Program program = load(kPortable, GetParam());
  ASSERT_NE(program, nullptr) << last_error();
  expect_sums(program);
  expect_sums(program);
}

TEST_P(EveryMode, ConstantsMayHaveNoElements) {
  const Program program = load(kNoElements, GetParam());
  ASSERT_NE(program, nullptr) << last_error();
  Outputs outputs;
  ASSERT_EQ(run(program, "forward", {{{2}, {1, 2}, {}}}, 2, &outputs), 0) << last_error();
  EXPECT_EQ(outputs.values[0], (std::vector<float>{2, 4}));
  EXPECT_EQ(outputs.sizes[1], (std::vector<int32_t>{0, 2}));
}

TEST_P(EveryMode, ADelegateCanReadItsPayloadWhenItRuns) {
  const Program program = load(kDelegated, GetParam());
  ASSERT_NE(program, nullptr) << last_error();
  Outputs outputs;
  ASSERT_EQ(run(program, "forward", {kThreeRows}, 1, &outputs), 0) << last_error();
  EXPECT_EQ(outputs.values[0], kThreeRows.values);
}

std::string etdump(const Program& program) {
  const void* data = nullptr;
  size_t size = 0;
  EXPECT_EQ(executorch_backends_program_etdump(program.get(), &data, &size), 0) << last_error();
  return std::string(static_cast<const char*>(data), size);
}

TEST_P(EveryMode, ARecordedProgramGivesWhatHappenedSinceTheLastTime) {
  const Program program = load(kDelegated, GetParam() | EXECUTORCH_BACKENDS_RECORD);
  ASSERT_NE(program, nullptr) << last_error();
  EXPECT_EQ(etdump(program), "");
  for (int times : {1, 2}) {
    Outputs outputs;
    for (int i = 0; i < times; ++i) {
      ASSERT_EQ(run(program, "forward", {kThreeRows}, 1, &outputs), 0) << last_error();
    }
    const std::string dump = etdump(program);
    EXPECT_EQ(dump.substr(4 + 4, 4), "ED00");  // after the size and the root
    EXPECT_NE(dump.find("DELEGATE_CALL"), std::string::npos);
    EXPECT_EQ(etdump(program), "");
  }
}

TEST(Program, OneThatIsNotRecordedSaysSo) {
  const Program program = load(kPortable);
  const void* data = nullptr;
  size_t size = 0;
  EXPECT_NE(executorch_backends_program_etdump(program.get(), &data, &size), 0);
  expect_error("was not loaded to be recorded");
}

TEST_P(EveryMode, AMissingFileIsAnErrorThatNamesIt) {
  EXPECT_EQ(load("nowhere/missing.pte", GetParam()), nullptr);
  expect_error("nowhere/missing.pte");
  expect_error("AccessFailed");
}

TEST_P(EveryMode, AnEmptyFileIsAnError) {
  EXPECT_EQ(load(write("empty.pte", {}).c_str(), GetParam()), nullptr);
  expect_error("empty.pte");
}

TEST_P(EveryMode, AFileThatEndsEarlyIsAnErrorWhereverItEnds) {
  for (const char* whole : {kPortable, kDelegated}) {
    const Bytes bytes = read(whole);
    for (size_t size = 0; size < bytes.size(); size += 97) {
      const std::string path = write("short.pte", Bytes(bytes.begin(), bytes.begin() + size));
      const Program program = load(path.c_str(), GetParam());
      if (program == nullptr) {
        EXPECT_NE(last_error(), "") << size;
        continue;
      }
      // Only what the tables do not cover may be missing at load; then a run must say so.
      Outputs outputs;
      const size_t count = whole == kPortable ? 2 : 1;
      const std::vector<Tensor> inputs(count, kThreeRows);
      EXPECT_NE(run(program, "forward", inputs, count, &outputs), 0) << whole << " " << size;
      EXPECT_NE(last_error(), "") << size;
    }
  }
}

TEST(Program, RunsFromBytesThatTheCallerFreesAtOnce) {
  auto bytes = std::make_unique<Bytes>(read(kDelegated));
  const Program program = load(*bytes);
  std::fill(bytes->begin(), bytes->end(), '\xff');
  bytes.reset();
  Outputs outputs;
  ASSERT_EQ(run(program, "forward", {kThreeRows}, 1, &outputs), 0) << last_error();
  EXPECT_EQ(outputs.values[0], kThreeRows.values);
}

TEST(Program, DamagedBytesAreAnErrorOrRun) {
  const Bytes whole = read(kPortable);
  size_t refused = 0;
  for (size_t at = 0; at < whole.size(); ++at) {
    Bytes bytes = whole;
    bytes[at] = static_cast<char>(~bytes[at]);
    if (load(bytes) == nullptr) {
      ++refused;
      EXPECT_NE(last_error(), "") << at;
    }
  }
  // ExecuTorch verifies tables and offsets; a name or a number inside them may change.
  EXPECT_GT(refused, whole.size() / 20);
  EXPECT_NE(load(whole), nullptr);
}

TEST(Program, ListsItsMethodsSorted) {
  const Program program = load(kPortable);
  ASSERT_EQ(executorch_backends_program_method_count(program.get()), 2u);
  EXPECT_STREQ(executorch_backends_program_method_name(program.get(), 0), "count");
  EXPECT_STREQ(executorch_backends_program_method_name(program.get(), 1), "forward");
  EXPECT_EQ(executorch_backends_program_method_name(program.get(), 2), nullptr);
}

TEST(Program, DescribesAMethodWithoutInitialisingIt) {
  const int before = TestBackend::alive();
  const Program program = load(kDelegated);
  size_t inputs = 0, outputs = 0, backends = 0;
  ASSERT_EQ(
      executorch_backends_method_counts(program.get(), "forward", &inputs, &outputs, &backends), 0);
  EXPECT_EQ(inputs, 1u);
  EXPECT_EQ(outputs, 1u);
  ASSERT_EQ(backends, 1u);
  const char* name = nullptr;
  ASSERT_EQ(executorch_backends_method_backend(program.get(), "forward", 0, &name), 0);
  EXPECT_STREQ(name, "TestBackend");
  executorch_backends_value value{};
  ASSERT_EQ(executorch_backends_method_input(program.get(), "forward", 0, &value), 0);
  EXPECT_EQ(value.kind, EXECUTORCH_BACKENDS_TENSOR);
  EXPECT_EQ(value.dtype, kFloat);
  ASSERT_EQ(value.rank, 2);
  EXPECT_EQ(value.sizes[0], 3);
  EXPECT_EQ(value.dim_order[1], 1);
  EXPECT_EQ(value.bytes, 24u);
  EXPECT_NE(executorch_backends_method_input(program.get(), "forward", 1, &value), 0);
  EXPECT_NE(executorch_backends_method_output(program.get(), "forward", 1, &value), 0);
  EXPECT_EQ(TestBackend::alive(), before);
}

TEST(Program, AnUnknownMethodIsAnErrorThatListsTheMethods) {
  const Program program = load(kPortable);
  EXPECT_NE(executorch_backends_method_load(program.get(), "decode"), 0);
  expect_error("has no method 'decode'; it has: count, forward");
}

TEST(Program, OutputsTakeTheSizesOfThisCall) {
  const Program program = load(kPortable);
  Outputs outputs;
  for (const Tensor& rows : {kThreeRows, kTwoRows, kThreeRows}) {
    ASSERT_EQ(run(program, "forward", {rows, rows}, 2, &outputs), 0) << last_error();
    EXPECT_EQ(outputs.sizes[0], rows.sizes);
  }
}

TEST(Program, StateStaysFromCallToCallAndOutputsAreCopies) {
  const Program program = load(kPortable);
  const Tensor ones{{2}, {1, 1}, {}};
  std::vector<Outputs> outputs(3);
  for (Outputs& output : outputs) ASSERT_EQ(run(program, "count", {ones}, 1, &output), 0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(outputs[i].values[0], std::vector<float>(2, i + 1));
}

TEST(Program, TheSameFileTwiceIsTwoPrograms) {
  Program first = load(kPortable);
  Program second = load(kPortable);
  const Tensor ones{{2}, {1, 1}, {}};
  Outputs outputs;
  ASSERT_EQ(run(first, "count", {ones}, 1, &outputs), 0);
  first.reset();
  ASSERT_EQ(run(second, "count", {ones}, 1, &outputs), 0);
  EXPECT_EQ(outputs.values[0], std::vector<float>(2, 1));
}

TEST(Program, ManyThreadsShareOneProgramAndMakeTheirOwn) {
  const Program shared = load(kPortable);
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 25; ++i) {
        const Program own = load(kDelegated);
        Outputs outputs;
        if (run(own, "forward", {kThreeRows}, 1, &outputs) == 0 &&
            outputs.values[0] == kThreeRows.values &&
            run(shared, "forward", {kTwoRows, kTwoRows}, 2, &outputs) == 0 &&
            outputs.values[1] == std::vector<float>{1, 4, 9, 16}) {
          ++right;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 100);
}

TEST(Program, DelegatesAreDestroyedWithIt) {
  const int before = TestBackend::alive();
  Program program = load(kDelegated);
  ASSERT_EQ(executorch_backends_method_load(program.get(), "forward"), 0) << last_error();
  ASSERT_EQ(executorch_backends_method_load(program.get(), "forward"), 0) << last_error();
  EXPECT_EQ(TestBackend::alive(), before + 1);
  program.reset();
  EXPECT_EQ(TestBackend::alive(), before);
}

// ---- inputs that do not fit: each is refused before anything runs ----

TEST(Inputs, WrongCount) {
  const Program program = load(kPortable);
  Outputs outputs;
  EXPECT_NE(run(program, "forward", {kTwoRows}, 2, &outputs), 0);
  expect_error("takes 2 inputs, and got 1");
  EXPECT_NE(run(program, "forward", {kTwoRows, kTwoRows}, 1, &outputs), 0);
  expect_error("has 2 outputs, and there is room for 1");
  expect_sums(program);
}

struct WrongInput {
  const char* name;
  void (*change)(executorch_backends_value*);
  const char* text;
};

class WrongInputs : public testing::TestWithParam<WrongInput> {};

TEST_P(WrongInputs, AreRefusedByIndexWithBothValues) {
  const Program program = load(kPortable);
  Tensor first = kTwoRows, second = kTwoRows;
  executorch_backends_value inputs[] = {first.value(), second.value()};
  GetParam().change(&inputs[1]);
  executorch_backends_value results[2];
  Outputs outputs;
  outputs.values.resize(2);
  outputs.sizes.resize(2);
  EXPECT_NE(executorch_backends_method_execute(program.get(), "forward", inputs, 2, results, 2,
                                               Outputs::allocate, &outputs),
            0);
  expect_error("input 1");
  expect_error(GetParam().text);
  EXPECT_TRUE(outputs.values[0].empty());
  expect_sums(program);  // the program goes on
}

const int32_t kFive[] = {5, 2};
const int32_t kNegative[] = {-1, 2};
const uint8_t kTransposed[] = {1, 0};
const uint8_t kTwice[] = {0, 0};

INSTANTIATE_TEST_SUITE_P(
    , WrongInputs,
    testing::Values(
        WrongInput{"Kind", [](auto* v) { v->kind = EXECUTORCH_BACKENDS_INT; },
                   "expected a tensor, got an int"},
        WrongInput{"NoKind", [](auto* v) { v->kind = 77; }, "got no kind of value"},
        WrongInput{"Dtype", [](auto* v) { v->dtype = kLong; }, "expected dtype Float, got Long"},
        WrongInput{"NoDtype", [](auto* v) { v->dtype = -3; }, "got -3"},
        WrongInput{"Rank", [](auto* v) { v->rank = 1; }, "expected rank 2"},
        WrongInput{"NegativeRank", [](auto* v) { v->rank = -1; }, "got rank -1"},
        WrongInput{"TooManyRows",
                   [](auto* v) {
                     v->sizes = kFive;
                     v->bytes = 40;
                   },
                   "got [5, 2]"},
        WrongInput{"NegativeRows", [](auto* v) { v->sizes = kNegative; }, "got [-1, 2]"},
        WrongInput{"DimOrder", [](auto* v) { v->dim_order = kTransposed; }, "dim order"},
        WrongInput{"NoDimOrder", [](auto* v) { v->dim_order = kTwice; }, "dim order"},
        WrongInput{"Bytes", [](auto* v) { v->bytes = 15; }, "expected 16 bytes, got 15"},
        WrongInput{"NoData", [](auto* v) { v->data = nullptr; }, "expected 16 bytes, got 0"}),
    [](const auto& test) { return test.param.name; });

TEST(Inputs, ASmallerSizeOfAStaticDimensionIsAnError) {
  const Program program = load(kDelegated);
  Outputs outputs;
  EXPECT_NE(run(program, "forward", {kTwoRows}, 1, &outputs), 0);
  EXPECT_NE(last_error(), "");
  EXPECT_EQ(run(program, "forward", {kThreeRows}, 1, &outputs), 0) << last_error();
}

TEST(Outputs, NoMemoryForOneIsAnError) {
  const Program program = load(kPortable);
  Tensor first = kTwoRows, second = kTwoRows;
  executorch_backends_value inputs[] = {first.value(), second.value()};
  executorch_backends_value results[2];
  const auto refuse = [](void*, size_t, const executorch_backends_value*) -> void* {
    return nullptr;
  };
  EXPECT_NE(executorch_backends_method_execute(program.get(), "forward", inputs, 2, results, 2,
                                               refuse, nullptr),
            0);
  expect_error("output 0: no memory for 16 bytes");
}

// ---- what a delegate says, and what it is told ----

TEST(Delegate, TheTextOfItsErrorsReachesTheCaller) {
  const Program program = load(kDelegated);
  Outputs outputs;
  EXPECT_NE(run(program, "forward", {Tensor{{3, 2}, {-1, 0, 0, 0, 0, 0}, {}}}, 1, &outputs), 0);
  expect_error("the first element is negative");
  expect_error("InvalidState");
  EXPECT_EQ(run(program, "forward", {kThreeRows}, 1, &outputs), 0);
  EXPECT_EQ(last_error(), "");
}

TEST(Delegate, SeesTheOptionsByType) {
  const Program program = load(kDelegated);
  const executorch_backends_option options[] = {{"TestBackend", "mode", "12 monkeys"},
                                                {"TestBackend", "count", "-12"},
                                                {"TestBackend", "flag", "true"}};
  ASSERT_EQ(executorch_backends_program_set_options(program.get(), options, 3), 0);
  ASSERT_EQ(executorch_backends_method_load(program.get(), "forward"), 0) << last_error();
  EXPECT_EQ(TestBackend::options(), "12 monkeys,-12,true");
}

TEST(Delegate, RefusesToLoadWithEveryLineItLogged) {
  const Program program = load(kDelegated);
  const executorch_backends_option option = {"TestBackend", "mode", "refuse"};
  ASSERT_EQ(executorch_backends_program_set_options(program.get(), &option, 1), 0);
  EXPECT_NE(executorch_backends_method_load(program.get(), "forward"), 0);
  expect_error("device 'TPU' is not there\ndevices: CPU");
  expect_error("method 'forward'");
}

TEST(Delegate, AnOptionThatIsTooLongIsAnErrorWithBothLengths) {
  const Program program = load(kDelegated);
  const std::string text(256, 'x');
  const executorch_backends_option value = {"TestBackend", "mode", text.c_str()};
  EXPECT_NE(executorch_backends_program_set_options(program.get(), &value, 1), 0);
  expect_error("256 bytes; 255 are the most");
  const executorch_backends_option key = {"TestBackend", text.c_str(), "1"};
  EXPECT_NE(executorch_backends_program_set_options(program.get(), &key, 1), 0);
  expect_error("63 are the most");
}

TEST(Locking, BeyondTheLimitIsAnErrorWithBothValuesAndIgnoredOnRequest) {
  struct rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_MEMLOCK, &before), 0);
  Bytes bytes = read(kDelegated);
  bytes.resize(1 << 20);  // ExecuTorch does not mind bytes after the end
  const std::string path = write("large.pte", bytes);
  struct rlimit small = before;
  small.rlim_cur = 0;
  ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &small), 0);
  Outputs outputs;
  Program locked = load(path.c_str(), EXECUTORCH_BACKENDS_MMAP_MLOCK);
  const bool refused = locked == nullptr;
  const std::string text = last_error();
  const Program ignored = load(path.c_str(), EXECUTORCH_BACKENDS_MMAP_MLOCK_IGNORE);
  ASSERT_NE(ignored, nullptr) << last_error();
  EXPECT_EQ(run(ignored, "forward", {kThreeRows}, 1, &outputs), 0) << last_error();
  ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &before), 0);
  if (refused) {
    EXPECT_NE(text.find("ulimit -l) is 0 bytes, and the file has 1048576"), std::string::npos)
        << text;
  } else {
    // A process with CAP_IPC_LOCK has no limit.
    EXPECT_EQ(run(locked, "forward", {kThreeRows}, 1, &outputs), 0) << last_error();
  }
}

TEST(Registered, NamesOfKernelsAndBackends) {
  const std::string kernels = executorch_backends_registered_kernels();
  EXPECT_NE(kernels.find("aten::add.out\n"), std::string::npos);
  const std::string backends = executorch_backends_registered_backends();
  EXPECT_NE(backends.find("TestBackend"), std::string::npos);
}

}  // namespace
