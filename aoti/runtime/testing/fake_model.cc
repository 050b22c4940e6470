#include "executorch_backends/aoti/runtime/testing/fake_model.h"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "executorch_backends/aoti/shims/shims.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

using executorch_backends::aoti::testing::FakeStream;
using executorch_backends::aoti::testing::kFakeContainersVariable;
using executorch_backends::aoti::testing::kFakeScriptBytes;

namespace {

__attribute__((used)) char script_bytes[kFakeScriptBytes] = "the script of a fake model";

constexpr int32_t kByte = 0, kLong = 4, kFloat = 6, kCpu = 0;
constexpr int64_t kMostElements = 1 << 20;

/// This thread's last failure. Not thread_local: leak sanitizers do not survive libraries that have
/// such memory and are unloaded.
std::string& last_error() {
  static std::mutex mutex;
  static std::map<std::thread::id, std::string> errors;
  std::lock_guard<std::mutex> lock(mutex);
  return errors[std::this_thread::get_id()];
}

struct DeleteTensor {
  void operator()(AtenTensorHandle tensor) const { aoti_torch_delete_tensor_object(tensor); }
};
using Owned = std::unique_ptr<AtenTensorOpaque, DeleteTensor>;

void check(AOTITorchError error) {
  if (error != AOTI_TORCH_SUCCESS) throw std::runtime_error("API call failed at fake_model.cc");
}

Owned share(AtenTensorHandle tensor) {
  AtenTensorHandle shared = nullptr;
  check(aoti_torch_new_tensor_handle(tensor, &shared));
  return Owned(shared);
}

Owned empty(int32_t dtype, const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t d = sizes.size(); d-- > 1;) strides[d - 1] = strides[d] * sizes[d];
  AtenTensorHandle made = nullptr;
  check(aoti_torch_empty_strided(static_cast<int64_t>(sizes.size()), sizes.data(), strides.data(),
                                 dtype, kCpu, 0, &made));
  return Owned(made);
}

template <typename Element>
Element* data(const Owned& tensor) {
  void* found = nullptr;
  check(aoti_torch_get_data_ptr(tensor.get(), &found));
  return static_cast<Element*>(found);
}

int64_t first_size(const Owned& tensor) {
  int64_t rank = 0, *sizes = nullptr;
  check(aoti_torch_get_dim(tensor.get(), &rank));
  check(aoti_torch_get_sizes(tensor.get(), &sizes));
  if (rank == 0) throw std::runtime_error("input 0 has no size");
  return sizes[0];
}

/// Whose turn may come later.
struct Work {
  Owned from;  // null where there is no f32 input
  Owned to;
  float added = 0;

  static void run(void* self) {
    const Work& work = *static_cast<const Work*>(self);
    int64_t count = 0, available = 0;
    check(aoti_torch_get_numel(work.to.get(), &count));
    if (work.from != nullptr) check(aoti_torch_get_numel(work.from.get(), &available));
    auto* to = data<float>(work.to);
    const auto* from = work.from != nullptr ? data<float>(work.from) : nullptr;
    for (int64_t i = 0; i < count; ++i) {
      const float x = available != 0 ? from[i % available] : static_cast<float>(i);
      to[i] = 2 * x + work.added;
    }
  }
  static void release(void* self) { delete static_cast<Work*>(self); }
};

struct Output {
  std::string kind;
  size_t input = 0;
  std::vector<std::string> sizes, strides;
  int64_t offset = 0;
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text == "-" ? "" : text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

struct Script {
  size_t inputs = 0;
  std::vector<size_t> constants;
  std::vector<bool> folded;
  std::vector<Output> outputs;
  std::string fails, failure, ignored, thrown;
  bool synchronises = false;
  bool throws = false;
  bool needs_constants = false;

  static Script read() {
    Script script;
    // Not what the compiler has seen: the bytes are changed in the file.
    const volatile char* bytes = script_bytes;
    std::string text;
    while (text.size() < kFakeScriptBytes && bytes[text.size()] != '\0') {
      text += bytes[text.size()];
    }
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string word;
      words >> word;
      const auto rest = [&words] {
        std::string left;
        std::getline(words >> std::ws, left);
        return left;
      };
      if (word == "inputs") words >> script.inputs;
      if (word == "constants" || word == "folded") {
        for (size_t bytes_of_one; words >> bytes_of_one;) {
          script.constants.push_back(bytes_of_one);
          script.folded.push_back(word == "folded");
        }
      }
      if (word == "output") script.outputs.push_back(output(&words));
      if (word == "fail") {
        words >> script.fails;
        script.failure = rest();
      }
      if (word == "ignore") script.ignored = rest();
      if (word == "throw") {
        script.throws = true;
        script.thrown = rest();
      }
      if (word == "sync") script.synchronises = true;
      if (word == "needs") script.needs_constants = true;
    }
    return script;
  }

 private:
  static Output output(std::istringstream* words) {
    Output out;
    std::string sizes, strides;
    *words >> out.kind;
    if (out.kind == "input") *words >> out.input;
    *words >> sizes >> strides >> out.offset;
    out.sizes = split(sizes);
    out.strides = split(strides);
    return out;
  }
};

/// AOTInductorConstantMapEntry.
struct ConstantEntry {
  const char* name;
  AtenTensorHandle tensor;
};

class Container {
 public:
  Container() : script_(Script::read()) {
    if (const char* address = std::getenv(kFakeContainersVariable)) {
      alive_ = reinterpret_cast<std::atomic<int>*>(std::strtoull(address, nullptr, 10));
    }
    fail_in("create");
    if (alive_ != nullptr) ++*alive_;
    counted_ = true;
  }
  ~Container() {
    if (alive_ != nullptr && counted_) --*alive_;
  }

  const Script& script() const { return script_; }
  void fail_in(const char* call) const {
    if (script_.fails == call) throw std::runtime_error(script_.failure);
  }

  /// Copies them.
  void set_constants(const uint8_t* bytes) {
    fail_in("constants");
    for (size_t i = 0; i < script_.constants.size(); ++i) {
      if (script_.folded[i]) continue;
      const size_t size = script_.constants[i];
      Owned constant = empty(kByte, {static_cast<int64_t>(size)});
      if (size != 0) std::memcpy(data<uint8_t>(constant), bytes, size);
      bytes += size;
      constants_[name_of(i)] = constant.get();
      copies_.push_back(std::move(constant));
    }
  }
  const std::vector<ConstantEntry>& constants() {
    entries_.clear();
    for (size_t i = 0; i < script_.constants.size(); ++i) {
      const auto found = constants_.find(name_of(i));
      if (found != constants_.end()) entries_.push_back({found->first.c_str(), found->second});
    }
    return entries_;
  }
  /// Uses those of the caller.
  void share_constants(const ConstantEntry* entries, size_t count) {
    fail_in("share");
    constants_.clear();
    for (size_t i = 0; i < count; ++i) constants_[entries[i].name] = entries[i].tensor;
    for (size_t i = 0; i < script_.constants.size(); ++i) {
      if (!script_.folded[i] && constants_.count(name_of(i)) == 0) {
        throw std::runtime_error("a constant is missing");
      }
    }
  }
  const char* name_of(size_t index) {
    names_.resize(script_.constants.size());
    names_.at(index) = "constant_" + std::to_string(index);
    return names_[index].c_str();
  }

  void run(AtenTensorHandle* raw_inputs, AtenTensorHandle* raw_outputs, FakeStream* stream) {
    fail_in("early");
    if (script_.needs_constants && constants_.empty()) throw std::runtime_error("no constants");
    std::vector<Owned> inputs;
    for (size_t i = 0; i < script_.inputs; ++i) {
      inputs.emplace_back(raw_inputs[i]);
      raw_inputs[i] = nullptr;
    }
    ++calls_;
    Owned buffer;
    for (size_t i = 0; i < script_.outputs.size(); ++i) {
      if (i != 0 && script_.outputs[i].kind == "again") {
        raw_outputs[i] = raw_outputs[i - 1];
        continue;
      }
      raw_outputs[i] = output(script_.outputs[i], inputs, &buffer, stream).release();
    }
    if (script_.synchronises && stream != nullptr && !stream->synchronise(stream->self)) {
      throw std::runtime_error("the stream cannot wait");
    }
    if (!script_.ignored.empty()) executorch_backends_aoti_set_error(script_.ignored.c_str());
    fail_in("run");  // with outputs that are there
  }

 private:
  Owned output(const Output& out, const std::vector<Owned>& inputs, Owned* buffer,
               FakeStream* stream) {
    if (out.kind == "none") return nullptr;
    if (out.kind == "size") return number(first_size(inputs.at(0)));
    if (out.kind == "calls") return number(calls_);
    if (out.kind == "late" && calls_ <= 2) return number(0);
    if (out.kind == "random" || out.kind == "late") {
      const uint64_t state = executorch_backends_aoti_random_state();
      executorch_backends_aoti_seed(state + 1);
      return number(static_cast<int64_t>(state & INT64_MAX));
    }
    const std::vector<int64_t> sizes = numbers(out.sizes, inputs);
    const std::vector<int64_t> strides = numbers(out.strides, inputs);
    if (sizes.size() != strides.size()) throw std::runtime_error("as many sizes as strides");
    if (out.kind == "buffer") *buffer = computed(sizes, strides, out.offset, inputs, stream);
    const Owned& base = out.kind == "input" ? inputs.at(out.input) : *buffer;
    AtenTensorHandle view = nullptr;
    check(aoti_torch__reinterpret_tensor(base.get(), static_cast<int64_t>(sizes.size()),
                                         sizes.data(), strides.data(), out.offset, &view));
    return Owned(view);
  }

  static std::vector<int64_t> numbers(const std::vector<std::string>& words,
                                      const std::vector<Owned>& inputs) {
    std::vector<int64_t> all;
    for (const std::string& word : words) {
      all.push_back(word == "s" ? first_size(inputs.at(0)) : std::stoll(word));
    }
    return all;
  }

  static Owned number(int64_t value) {
    Owned made = empty(kLong, {});
    *data<int64_t>(made) = value;
    return made;
  }

  Owned computed(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides,
                 int64_t offset, const std::vector<Owned>& inputs, FakeStream* stream) const {
    if (offset > kMostElements) throw std::runtime_error("an offset that is too large");
    int64_t elements = offset + 1;
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (sizes[d] > kMostElements || strides[d] > kMostElements) {
        throw std::runtime_error("a view that is too large");
      }
      if (sizes[d] == 0) elements = 0;
      if (elements != 0) elements += (sizes[d] - 1) * strides[d];
    }
    if (elements > kMostElements) throw std::runtime_error("a buffer that is too large");
    auto work = std::make_unique<Work>();
    work->to = empty(kFloat, {elements});
    work->added = added();
    int32_t dtype = 0;
    if (!inputs.empty()) check(aoti_torch_get_dtype(inputs[0].get(), &dtype));
    if (dtype == kFloat) work->from = share(inputs[0].get());
    Owned result = share(work->to.get());
    if (stream == nullptr) {
      Work::run(work.get());
    } else {
      stream->enqueue(stream->self, &Work::run, work.release(), &Work::release);
    }
    return result;
  }

  /// Read from the constants where they are in this run.
  float added() const {
    for (const auto& [name, tensor] : constants_) {
      int64_t count = 0;
      void* bytes = nullptr;
      check(aoti_torch_get_numel(tensor, &count));
      check(aoti_torch_get_data_ptr(tensor, &bytes));
      if (count != 0) return static_cast<float>(*static_cast<const uint8_t*>(bytes));
    }
    return 0;
  }

  Script script_;
  std::atomic<int>* alive_ = nullptr;
  bool counted_ = false;
  std::vector<Owned> copies_;
  std::map<std::string, AtenTensorHandle> constants_;  // by name
  std::vector<std::string> names_;
  std::vector<ConstantEntry> entries_;
  int64_t calls_ = 0;
};

Container* of(void* handle) { return static_cast<Container*>(handle); }

template <typename Body>
int32_t guarded(Body&& body) {
  try {
    last_error().clear();
    body();
    return 0;
  } catch (const std::exception& exception) {
    last_error() = exception.what();
    return 1;
  }
}

}  // namespace

EXPORTED int32_t AOTInductorModelContainerCreateWithDevice(void** out, size_t, const char*,
                                                           const char*) {
  return guarded([&] { *out = new Container; });
}
EXPORTED int32_t AOTInductorModelContainerDelete(void* handle) {
  return guarded([&] {
    const std::unique_ptr<Container> container(of(handle));
    container->fail_in("delete");
  });
}
EXPORTED int32_t AOTInductorModelContainerGetNumInputs(void* handle, size_t* out) {
  *out = of(handle)->script().inputs;
  return 0;
}
EXPORTED int32_t AOTInductorModelContainerGetNumOutputs(void* handle, size_t* out) {
  *out = of(handle)->script().outputs.size();
  return 0;
}
EXPORTED int32_t AOTInductorModelContainerGetNumConstants(void* handle, size_t* out) {
  *out = of(handle)->script().constants.size();
  return 0;
}
EXPORTED int32_t AOTInductorModelContainerGetConstantFromFolded(void* handle, size_t index,
                                                                bool* out) {
  return guarded([&] { *out = of(handle)->script().folded.at(index); });
}
EXPORTED int32_t AOTInductorModelContainerGetConstantDataSize(void* handle, size_t index,
                                                              size_t* out) {
  return guarded([&] { *out = of(handle)->script().constants.at(index); });
}
EXPORTED int32_t AOTInductorModelContainerGetConstantName(void* handle, size_t index,
                                                          const char** out) {
  return guarded([&] { *out = of(handle)->name_of(index); });
}
EXPORTED int32_t AOTInductorModelContainerExtractConstantsMapEntries(void* handle,
                                                                     const ConstantEntry** out,
                                                                     size_t* count, bool) {
  return guarded([&] {
    const std::vector<ConstantEntry>& all = of(handle)->constants();
    *out = all.data();
    *count = all.size();
  });
}
EXPORTED int32_t AOTInductorModelContainerUpdateUserManagedConstantBufferPairs(
    void* handle, const ConstantEntry* entries, size_t count, bool, bool) {
  return guarded([&] { of(handle)->share_constants(entries, count); });
}
EXPORTED int32_t AOTInductorModelUpdateConstantsFromBlob(void* handle, const uint8_t* bytes) {
  return guarded([&] { of(handle)->set_constants(bytes); });
}
EXPORTED int32_t AOTInductorModelContainerRun(void* handle, AtenTensorHandle* inputs, size_t,
                                              AtenTensorHandle* outputs, size_t, void* stream,
                                              void*) {
  const Script& script = of(handle)->script();
  if (script.throws && script.thrown.empty()) throw 7;
  if (script.throws) throw std::runtime_error(script.thrown);
  return guarded([&] { of(handle)->run(inputs, outputs, static_cast<FakeStream*>(stream)); });
}
EXPORTED int32_t AOTInductorGetLastError(const char** out) {
  *out = last_error().c_str();
  return 0;
}
