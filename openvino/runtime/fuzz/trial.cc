#include "executorch_backends/openvino/runtime/fuzz/trial.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <utility>

#include "executorch_backends/common/runtime/log_capture.h"
#include "executorch_backends/openvino/runtime/fuzz/calls.h"
#include "executorch_backends/openvino/runtime/testing/fake_openvino.h"

namespace executorch_backends::openvino::fuzz {
namespace {

namespace et = executorch::runtime;

using testing::DelegateDriver;
using testing::TestProgram;

/// The fake's control functions, from the library that the delegate loads.
template <typename Function>
Function control(const char* name) {
  static void* const library = dlopen(std::getenv("OPENVINO_LIB_PATH"), RTLD_NOW | RTLD_LOCAL);
  void* function = library != nullptr ? dlsym(library, name) : nullptr;
  if (function == nullptr) {
    std::fprintf(stderr, "%s: %s\n", name, dlerror());
    std::exit(2);
  }
  return reinterpret_cast<Function>(function);
}

int live_objects() {
  return control<decltype(&fake_openvino_live_objects)>("fake_openvino_live_objects")();
}

bool has(const std::string& text, const char* part) { return text.find(part) != text.npos; }

/// What `guarded` says of exceptions, and what an error that nobody explained says.
std::string wrong_with(et::Error error, const std::string& log) {
  if (has(log, "an exception") || has(log, "out of memory")) return "an exception: " + log;
  return error != et::Error::Ok && log.empty() ? "an error without a text" : "";
}

bool was_given_to_openvino(const std::string& log) {
  return has(log, "cannot compile the program") || has(log, "cannot import the compiled") ||
         has(log, "there is no device") || has(log, "payload declares");
}

testing::Built built(const Case& tried) {
  testing::Built program{tried.payload, {}};
  if (!tried.key.empty()) program.data[tried.key] = tried.data;
  return program;
}

std::vector<et::BackendOption> options(Random* random) {
  std::vector<et::BackendOption> all;
  static const char* const kCompile[] = {"auto", "always", "never", "sometimes"};
  if (random->one_in(3)) {
    all.push_back(DelegateDriver::option("compile", random->pick(kCompile)));
  }
  if (random->one_in(16)) all.push_back(DelegateDriver::option("device", "AUTO:GPU,CPU"));
  if (random->one_in(16)) all.push_back(DelegateDriver::value_option("profile", true));
  if (random->one_in(16)) all.push_back(DelegateDriver::value_option("give_back", true));
  if (random->one_in(16)) {
    all.push_back(DelegateDriver::value_option("threads", static_cast<int>(random->below(3))));
  }
  return all;
}

/// The bytes that the fake's results may start from: the last of weights, IR or blob.
std::set<uint8_t> bases_of(const Case& tried, const Payload& payload) {
  std::set<uint8_t> bases;
  if (payload.ir.size != 0) bases.insert(payload.ir.data[payload.ir.size - 1]);
  if (!tried.data.empty()) bases.insert(static_cast<uint8_t>(tried.data.back()));
  if (payload.blob && payload.blob->size != 0) {
    const std::string& store = payload.has_envelope ? tried.data : tried.payload;
    const uint64_t last = payload.blob->offset + payload.blob->size - 1;
    if (last < store.size()) bases.insert(static_cast<uint8_t>(store[last]));
  }
  return bases;
}

/// Whether each computed output is one that the fake gives for these inputs: all bytes are a base
/// plus their sum, or it is an input.
bool right(Call* call, const Payload& payload, const std::set<uint8_t>& bases) {
  const std::vector<std::string> bytes = call->bytes();
  for (size_t i = call->inputs(); i < bytes.size(); ++i) {
    const std::string& output = bytes[i];
    if (output.empty() || !payload.outputs[i - call->inputs()].computed()) continue;
    const auto base = static_cast<uint8_t>(static_cast<uint8_t>(output[0]) - call->sum());
    const bool computed =
        bases.count(base) != 0 && output.find_first_not_of(output[0]) == output.npos;
    bool passed = false;
    for (size_t input = 0; input < call->inputs(); ++input) {
      // In any dim order.
      passed = passed || std::is_permutation(output.begin(), output.end(), bytes[input].begin(),
                                             bytes[input].end());
    }
    if (!computed && !passed) return false;
  }
  return true;
}

/// Of a model that is not one of the fake's own kinds, which compute something else.
bool is_ir(const Payload& payload) { return payload.ir.size != 0 && payload.ir.data[0] == '<'; }

}  // namespace

Trial::Trial(Setting setting) : setting_(setting) {}

void Trial::call(const DelegateDriver::Handle& handle, const Case& tried, const Payload& declared,
                 Random* random, Outcome* outcome) {
  const std::set<uint8_t> bases = bases_of(tried, declared);
  std::unique_ptr<Call> call;
  const int calls = setting_.vary ? 1 + static_cast<int>(random->below(4)) : 10;
  for (int i = 0; i < calls && outcome->failure.empty(); ++i) {
    // The same tensors again, or others, which may be at addresses of those freed before.
    if (call == nullptr || random->one_in(2)) {
      call.reset();
      call = std::make_unique<Call>(declared.inputs, declared.outputs, random);
    }
    const bool refusable = setting_.vary && random->one_in(3) && call->spoil(random);
    ++outcome->calls;
    const et::Error error = driver_.execute(handle, call->values());
    if (error == et::Error::Ok) ++outcome->executed;
    if (error != et::Error::Ok) outcome->log = driver_.log();
    outcome->failure = wrong_with(error, driver_.log());
    if (!outcome->failure.empty()) break;
    if (refusable && error == et::Error::Ok && declared.has_envelope) {
      outcome->failure = "a call that has to be refused was not";
    } else if (!call->aliased() && !call->inputs_are_unchanged()) {
      outcome->failure = "an input was written";
    } else if (error == et::Error::Ok && setting_.fake && is_ir(declared) && !call->aliased() &&
               !right(call.get(), declared, bases)) {
      outcome->failure = "a wrong result";
    }
    if (call->aliased() || (refusable && !call->mend(random))) call.reset();
  }
}

bool Trial::read(const Case& tried, Payload* like, Payload* declared, Outcome* outcome) const {
  runtime::LogCapture silent;
  if (parse_payload(tried.like.data(), tried.like.size(), like) != et::Error::Ok) {
    outcome->failure = "the seed's own payload is refused: " + silent.text();
    return false;
  }
  outcome->validated =
      parse_payload(tried.payload.data(), tried.payload.size(), declared) == et::Error::Ok;
  // The case's inputs and outputs where they can be read, else those that its seed has.
  if (declared->inputs.empty() && declared->outputs.empty()) {
    declared->inputs = like->inputs;
    declared->outputs = like->outputs;
  }
  if (setting_.fake) {
    const std::string ir(reinterpret_cast<const char*>(like->ir.data), like->ir.size);
    control<decltype(&fake_openvino_describe)>("fake_openvino_describe")(ir.c_str());
  }
  return true;
}

Outcome Trial::run(const Case& tried, Random* random) {
  Outcome outcome;
  Payload like, declared;
  if (!read(tried, &like, &declared, &outcome)) return outcome;
  TestProgram program(built(tried));
  // A program that is there at the same time and differs in its weights alone: nothing of the one
  // may serve the other.
  Case twin = tried;
  if (!twin.data.empty()) twin.data.back() ^= 1;
  TestProgram twin_program(built(twin));
  std::vector<et::BackendOption> told;
  std::vector<std::pair<std::string, std::string>> specs;
  if (setting_.vary) {
    told = options(random);
    if (random->one_in(8)) specs = {{"device", "CPU"}, {"nan", "fast"}};
    if (random->one_in(60)) specs.emplace_back("unknown", std::string(3, '\0'));
  }
  {
    DelegateDriver::Handle twin_handle;
    if (setting_.fake && setting_.vary && random->one_in(4)) {
      twin_handle = driver_.init(twin_program.buffer(), &twin_program.data(), told, specs);
    }
    const auto handle = driver_.init(program.buffer(), &program.data(), told, specs);
    outcome.log = driver_.log();
    outcome.loaded = handle != nullptr;
    outcome.reached = outcome.loaded || was_given_to_openvino(outcome.log);
    outcome.failure = wrong_with(driver_.error(), outcome.log);
    if (outcome.loaded && !outcome.validated) outcome.failure = "a refused payload was loaded";
    if (outcome.loaded && outcome.failure.empty()) call(handle, tried, declared, random, &outcome);
    if (twin_handle != nullptr && outcome.failure.empty()) {
      call(twin_handle, twin, declared, random, &outcome);
    }
  }
  // Their handles are gone: nothing of the programs is held, nor any object but the core.
  for (const TestProgram* gone : {&program, &twin_program}) {
    if (gone->data().reads() != gone->data().freed()) outcome.failure = "named data were kept";
  }
  if (setting_.fake && live_objects() > 1) outcome.failure = "objects of OpenVINO were kept";
  return outcome;
}

}  // namespace executorch_backends::openvino::fuzz
