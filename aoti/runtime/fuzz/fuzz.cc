// Fuzzes the AOTI delegate: see README.md.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "executorch_backends/aoti/runtime/fuzz/programs.h"
#include "executorch_backends/aoti/runtime/fuzz/trial.h"

namespace executorch_backends::aoti::fuzz {
namespace {

constexpr int kMostFailures = 20;
constexpr unsigned kMostSeconds = 60;  // of one case
// Code stays mapped where a thread has used it, so that a process does not run for ever.
constexpr uint64_t kCasesOfAProcess = 5000;

struct Arguments {
  uint64_t count = 10000;
  uint64_t seed = 1;
  uint64_t first = 0;  // number of the first case
};

bool read_arguments(int argc, char** argv, Arguments* out) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const size_t equals = std::min(argument.find('='), argument.size());
    const std::string name = argument.substr(0, equals);
    const char* value = argv[i] + std::min(equals + 1, argument.size());
    uint64_t* number = name == "--count"   ? &out->count
                       : name == "--seed"  ? &out->seed
                       : name == "--first" ? &out->first
                                           : nullptr;
    char* end = nullptr;
    if (number != nullptr) *number = std::strtoull(value, &end, 10);
    if (number == nullptr || end == value || *end != '\0') {
      std::fprintf(stderr, "'%s'? Usage: fuzz [--count=N] [--seed=N] [--first=N]\n", argv[i]);
      return false;
    }
  }
  return true;
}

struct Counts {
  uint64_t mutated, validated, loaded, executed, calls, calls_done, compared;
};

/// What a child tells its parent, also when it dies.
struct Progress {
  uint64_t next;  // the number of the case that it is at
  bool finished;
  int failures;
  Counts counts[2];  // by depth
};

class Fuzzer {
 public:
  explicit Fuzzer(const Arguments& arguments) : arguments_(arguments), seeds_(seeds()) {
    progress_ = static_cast<Progress*>(
        mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    *progress_ = Progress{};
    progress_->next = arguments_.first;
  }
  Fuzzer(const Fuzzer&) = delete;
  Fuzzer& operator=(const Fuzzer&) = delete;
  ~Fuzzer() { munmap(progress_, sizeof(Progress)); }

  /// Each child goes on after the case at which the one before has died. False on any failure.
  bool run() {
    const auto start = std::chrono::steady_clock::now();
    if (const int status = in_child([this] { try_seeds(); }); status != 0) {
      report(0, "the programs as they are: " + ending(status));
    }
    if (progress_->failures != 0) return false;
    while (!progress_->finished && progress_->failures < kMostFailures) {
      const int status = in_child([this] { work(); });
      if (status == 0) continue;
      report(progress_->next, ending(status));
      ++progress_->next;
    }
    print_counts(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    return progress_->finished && progress_->failures == 0;
  }

 private:
  static std::string ending(int status) {
    return WIFSIGNALED(status) ? std::string(strsignal(WTERMSIG(status)))
                               : "exit code " + std::to_string(WEXITSTATUS(status));
  }

  template <typename Body>
  int in_child(Body&& body) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      body();
      std::exit(0);  // where a leak sanitizer looks
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) {
      std::perror("fuzz");
      std::exit(2);
    }
    return status;
  }

  /// The programs as they are have to run, and to be right, on both devices.
  void try_seeds() {
    for (size_t i = 0; i < seeds_.size(); ++i) {
      for (const bool on_test_device : {false, true}) {
        Random random(arguments_.seed, i);
        Case seed = made_for(seeds_[i], on_test_device, intact);
        Outcome outcome = aoti::fuzz::run(seed, on_test_device, false, &random);
        if (outcome.executed != outcome.calls || outcome.calls == 0) {
          outcome.failure = "does not run: " + outcome.log;
        }
        if (!outcome.failure.empty()) report(i, "a program as it is: " + outcome.failure);
      }
    }
  }

  template <typename Make>
  static Case made_for(Recipe recipe, bool on_test_device, Make&& make) {
    if (on_test_device) recipe.target = "backend=aoti\ndevice=test\nisa=test\nshims=1\n";
    return make(recipe);
  }

  void work() {
    const uint64_t end = arguments_.first + arguments_.count;
    const uint64_t last = std::min(end, progress_->next + kCasesOfAProcess);
    while (progress_->next < last && progress_->failures < kMostFailures) {
      const uint64_t index = progress_->next;
      Random random(arguments_.seed, index);
      const Depth depth = index % 2 == 0 ? Depth::kBytes : Depth::kFields;
      const bool on_test_device = random.one_in(2);
      const Case tried = made_for(random.pick(seeds_), on_test_device, [&](const Recipe& recipe) {
        return mutated(recipe, seeds_, depth, &random);
      });
      alarm(kMostSeconds);
      const Outcome outcome = aoti::fuzz::run(tried, on_test_device, true, &random);
      alarm(0);
      Counts& counts = progress_->counts[static_cast<int>(depth)];
      ++counts.mutated;
      counts.validated += outcome.validated;
      counts.loaded += outcome.loaded;
      counts.executed += outcome.executed != 0;
      counts.calls += static_cast<uint64_t>(outcome.calls);
      counts.calls_done += static_cast<uint64_t>(outcome.executed);
      counts.compared += static_cast<uint64_t>(outcome.compared);
      if (!outcome.failure.empty()) report(index, outcome.failure);
      ++progress_->next;
    }
    progress_->finished = progress_->next >= end;
  }

  void report(uint64_t index, const std::string& failure) {
    ++progress_->failures;
    std::fprintf(stderr, "FAILED: case %llu of seed %llu: %s\n",
                 static_cast<unsigned long long>(index),
                 static_cast<unsigned long long>(arguments_.seed), failure.c_str());
  }

  void print_counts(double seconds) const {
    constexpr const char* kDepths[] = {"bytes", "fields"};
    std::printf("%-8s %9s %9s %9s %9s %9s %9s %9s\n", "changed", "mutated", "validated", "loaded",
                "executed", "calls", "done", "compared");
    for (int depth : {0, 1}) {
      const Counts& c = progress_->counts[depth];
      std::printf("%-8s", kDepths[depth]);
      for (const uint64_t number :
           {c.mutated, c.validated, c.loaded, c.executed, c.calls, c.calls_done, c.compared}) {
        std::printf(" %9llu", static_cast<unsigned long long>(number));
      }
      std::printf("\n");
    }
    std::printf("%d failures in %.1f s\n", progress_->failures, seconds);
  }

  Arguments arguments_;
  std::vector<Recipe> seeds_;
  Progress* progress_;
};

}  // namespace
}  // namespace executorch_backends::aoti::fuzz

int main(int argc, char** argv) {
  using namespace executorch_backends::aoti::fuzz;
  Arguments arguments;
  if (!read_arguments(argc, argv, &arguments)) return 2;
  if (std::getenv("FAKE_MODEL") == nullptr) {
    std::fprintf(stderr, "FAKE_MODEL is not set; run it with bazel\n");
    return 2;
  }
  return Fuzzer(arguments).run() ? 0 : 1;
}
