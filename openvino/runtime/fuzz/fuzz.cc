// Fuzzes the OpenVINO delegate: see README.md.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "executorch_backends/common/runtime/fuzz/random.h"
#include "executorch_backends/openvino/runtime/fuzz/case.h"
#include "executorch_backends/openvino/runtime/fuzz/mutation.h"
#include "executorch_backends/openvino/runtime/fuzz/trial.h"

namespace executorch_backends::openvino::fuzz {
namespace {

constexpr uint64_t kMostRealTrials = 2000;  // that reach a real OpenVINO
constexpr int kMostFailures = 20;
constexpr unsigned kMostSeconds = 60;  // of one case

struct Arguments {
  uint64_t count = 10000;
  uint64_t seed = 1;
  uint64_t first = 0;  // number of the first case
  bool real = false;
  std::string openvino;  // the fake's version; that of the corpus where it is empty
  std::string corpus = "openvino/runtime/fuzz/corpus";
  std::string save;  // a folder for cases that fail
};

bool read_number(const char* text, uint64_t* out) {
  char* end = nullptr;
  *out = std::strtoull(text, &end, 10);
  return end != text && *end == '\0';
}

bool read_arguments(int argc, char** argv, Arguments* out) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const size_t equals = std::min(argument.find('='), argument.size());
    const std::string name = argument.substr(0, equals);
    const std::string value = argument.substr(std::min(equals + 1, argument.size()));
    bool good = true;
    if (name == "--real") {
      out->real = true;
    } else if (name == "--count") {
      good = read_number(value.c_str(), &out->count);
    } else if (name == "--seed") {
      good = read_number(value.c_str(), &out->seed);
    } else if (name == "--first") {
      good = read_number(value.c_str(), &out->first);
    } else if (name == "--openvino") {
      out->openvino = value;
    } else if (name == "--corpus") {
      out->corpus = value;
    } else if (name == "--save") {
      out->save = value;
    } else {
      good = false;
    }
    if (!good) {
      std::fprintf(stderr,
                   "'%s'? Usage: fuzz [--count=N] [--seed=N] [--first=N] [--real] "
                   "[--openvino=VERSION] [--corpus=FOLDER] [--save=FOLDER]\n",
                   argv[i]);
      return false;
    }
  }
  return true;
}

struct Counts {
  uint64_t mutated, validated, reached, loaded, executed, calls, calls_done, bare;
};

/// What a child tells its parent, also when it dies.
struct Progress {
  uint64_t next;  // the number of the case that it is at
  bool at_seeds, finished;
  int failures;
  Counts counts[2];  // by depth
};

class Fuzzer {
 public:
  Fuzzer(Arguments arguments, std::vector<Case> corpus)
      : arguments_(std::move(arguments)), corpus_(std::move(corpus)) {
    progress_ = static_cast<Progress*>(
        mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    *progress_ = Progress{};
    progress_->next = arguments_.first;
    progress_->at_seeds = true;
  }
  Fuzzer(const Fuzzer&) = delete;
  Fuzzer& operator=(const Fuzzer&) = delete;
  ~Fuzzer() { munmap(progress_, sizeof(Progress)); }

  /// Each child goes on after the case at which the one before has died. False on any failure.
  bool run() {
    const auto start = std::chrono::steady_clock::now();
    while (!progress_->finished && progress_->failures < kMostFailures) {
      std::fflush(nullptr);
      const pid_t child = fork();
      if (child == 0) {
        work();
        std::exit(0);  // where a leak sanitizer looks
      }
      int status = 0;
      if (child < 0 || waitpid(child, &status, 0) != child) {
        std::perror("fuzz");
        return false;
      }
      if (status != 0) report_death(status);
    }
    print_counts(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    return progress_->finished && progress_->failures == 0;
  }

 private:
  Case made(uint64_t index, Random* random, Depth* depth) const {
    *depth = index % 2 == 0 ? Depth::kBytes : Depth::kFields;
    return mutated(random->pick(corpus_), corpus_, *depth, random);
  }

  void work() {
    Trial trial({!arguments_.real, true});
    if (progress_->at_seeds) try_seeds(&trial);
    progress_->at_seeds = false;
    const uint64_t end = arguments_.first + arguments_.count;
    while (progress_->next < end && progress_->failures < kMostFailures) {
      const uint64_t index = progress_->next;
      Random random(arguments_.seed, index);
      Depth depth;
      const Case changed = made(index, &random, &depth);
      Counts& counts = progress_->counts[static_cast<int>(depth)];
      if (arguments_.real && is_bare(changed)) {
        ++counts.bare;  // OpenVINO takes damaged ones, and says so nowhere
      } else if (!arguments_.real || reached() < kMostRealTrials) {
        ++counts.mutated;
        alarm(kMostSeconds);
        count(trial.run(changed, &random), changed, std::to_string(index), &counts);
        alarm(0);
      }
      ++progress_->next;
    }
    progress_->finished = true;
  }

  /// The corpus as it is: what is no regression has to run.
  void try_seeds(Trial* trial) {
    for (const Case& seed : corpus_) {
      if (arguments_.real && is_bare(seed)) continue;
      if (seed.is_regression()) {
        Random random(arguments_.seed, 0);
        for (int i = 0; i < 20; ++i) check(trial->run(seed, &random), seed, seed.name);
        continue;
      }
      Random random(1, 0);
      Trial plain({!arguments_.real, false});
      Outcome outcome = plain.run(seed, &random);
      if (outcome.executed == 0 && outcome.failure.empty()) {
        outcome.failure = "does not run: " + outcome.log;
      }
      check(outcome, seed, seed.name);
    }
  }

  static bool is_bare(const Case& tried) {
    return tried.payload.compare(0, 4, testing::build_envelope({}), 0, 4) != 0;
  }

  uint64_t reached() const { return progress_->counts[0].reached + progress_->counts[1].reached; }

  void count(const Outcome& outcome, const Case& tried, const std::string& name, Counts* counts) {
    counts->validated += outcome.validated;
    counts->reached += outcome.reached;
    counts->loaded += outcome.loaded;
    counts->executed += outcome.executed != 0;
    counts->calls += static_cast<uint64_t>(outcome.calls);
    counts->calls_done += static_cast<uint64_t>(outcome.executed);
    check(outcome, tried, name);
  }

  void check(const Outcome& outcome, const Case& tried, const std::string& name) {
    if (!outcome.failure.empty()) report(tried, name, outcome.failure);
  }

  void report(const Case& tried, const std::string& name, const std::string& failure) {
    ++progress_->failures;
    std::string saved;
    if (!arguments_.save.empty()) {
      saved =
          arguments_.save + "/regression_" + std::to_string(arguments_.seed) + "_" + name + ".case";
      if (!save_case(tried, saved)) saved += ", which cannot be written";
    }
    std::fprintf(stderr, "FAILED: case %s of seed %llu (%s): %s\n", name.c_str(),
                 static_cast<unsigned long long>(arguments_.seed), tried.name.c_str(),
                 failure.c_str());
    if (!saved.empty()) std::fprintf(stderr, "  in %s\n", saved.c_str());
  }

  void report_death(int status) {
    const std::string how = WIFSIGNALED(status)
                                ? std::string(strsignal(WTERMSIG(status)))
                                : "exit code " + std::to_string(WEXITSTATUS(status));
    if (progress_->finished || progress_->at_seeds) {
      ++progress_->failures;
      std::fprintf(stderr, "FAILED: %s %s\n", how.c_str(),
                   progress_->finished ? "at the end: a leak?" : "in the corpus");
      progress_->finished = true;
      return;
    }
    Random random(arguments_.seed, progress_->next);
    Depth depth;
    const Case changed = made(progress_->next, &random, &depth);
    report(changed, std::to_string(progress_->next), how);
    ++progress_->next;
  }

  void print_counts(double seconds) const {
    constexpr const char* kDepths[] = {"bytes", "fields"};
    std::printf("%-8s %9s %9s %9s %9s %9s %9s %9s\n", "changed", "mutated", "validated", "OpenVINO",
                "loaded", "executed", "calls", "done");
    for (int depth : {0, 1}) {
      const Counts& c = progress_->counts[depth];
      std::printf("%-8s", kDepths[depth]);
      for (const uint64_t number :
           {c.mutated, c.validated, c.reached, c.loaded, c.executed, c.calls, c.calls_done}) {
        std::printf(" %9llu", static_cast<unsigned long long>(number));
      }
      if (c.bare != 0) {
        std::printf("  and %llu bare blobs left out", static_cast<unsigned long long>(c.bare));
      }
      std::printf("\n");
    }
    std::printf("%d failures in %.1f s\n", progress_->failures, seconds);
  }

  Arguments arguments_;
  std::vector<Case> corpus_;
  Progress* progress_;
};

/// The version of the fake is the one that made the corpus, or the one that is asked for.
bool prepare(const Arguments& arguments, std::vector<Case>* corpus) {
  const char* library = std::getenv(arguments.real ? "REAL_OPENVINO" : "FAKE_OPENVINO");
  if (library == nullptr) {
    std::fprintf(stderr, "%s_OPENVINO is not set; run it with bazel\n",
                 arguments.real ? "REAL" : "FAKE");
    return false;
  }
  setenv("OPENVINO_LIB_PATH", library, 1);
  *corpus = load_cases(arguments.corpus);
  if (corpus->empty()) {
    std::fprintf(stderr, "no cases in %s\n", arguments.corpus.c_str());
    return false;
  }
  if (!arguments.openvino.empty()) {
    for (Case& each : *corpus) set_version(&each, arguments.openvino);
  }
  for (const Case& each : *corpus) {
    Sections sections = sections_of(each.like);
    const std::string* target = find(&sections, "target");
    const size_t at = target != nullptr ? target->find("openvino=") : std::string::npos;
    if (at == std::string::npos) continue;
    setenv("FAKE_OPENVINO_VERSION", target->substr(at + 9, target->find('\n', at) - at - 9).c_str(),
           1);
    return true;
  }
  std::fprintf(stderr, "no case says which OpenVINO has made it\n");
  return false;
}

}  // namespace
}  // namespace executorch_backends::openvino::fuzz

int main(int argc, char** argv) {
  using namespace executorch_backends::openvino::fuzz;
  Arguments arguments;
  std::vector<Case> corpus;
  if (!read_arguments(argc, argv, &arguments) || !prepare(arguments, &corpus)) return 2;
  return Fuzzer(arguments, std::move(corpus)).run() ? 0 : 1;
}
