/// Runs whose device work is recorded once and then replayed.
#pragma once

#include <executorch/runtime/core/error.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <vector>

#include "executorch_backends/aoti/runtime/devices/device.h"

namespace executorch_backends::aoti {

/// What recorded work depends on: ranks, sizes, strides and dim orders of a call. Addresses too,
/// where they may change without `forget`.
using Signature = std::vector<int64_t>;

/// What a run leaves behind: where its results are, and whatever must live as long as recorded work
/// may be replayed, which has their addresses.
struct Outcome {
  virtual ~Outcome() = default;
  bool random = false;  // its numbers come from a state that the host holds
};

/// For each signature:
///
///   cold      the work is enqueued as it is; after `kWarmUps` runs that went well
///   captured  the work is enqueued once more, recorded, and launched, in this and later runs
///             until it is forgotten
///   refused   recording or launching has failed, or a run has drawn random numbers, which a graph
///             would draw again: as in cold, for good
///
/// A failure to record never fails a run: the work is enqueued as it is. The least recently used
/// of more than `kMostSignatures` is forgotten.
class GraphReplay {
 public:
  static constexpr int kWarmUps = 2;
  static constexpr size_t kMostSignatures = 8;

  /// Enqueues the work of a run.
  using Body = std::function<executorch::runtime::Error(std::shared_ptr<const Outcome>*)>;

  /// `stream` outlives it. Where it does not capture, or is not to, every run is cold.
  GraphReplay(Stream* stream, bool allowed)
      : stream_(stream), allowed_(allowed && stream->captures()) {}

  /// Enqueues the work of a call, in whatever way. The outcome's results are there when the stream
  /// is done.
  executorch::runtime::Error run(const Signature& signature, const Body& body,
                                 std::shared_ptr<const Outcome>* out);

  /// Whether work is being recorded: then nothing can be waited for.
  bool capturing() const { return capturing_; }

  /// Drops all recorded work, since memory that it has the addresses of is about to go; the next
  /// runs record it anew. The stream is done with it, and nothing is being recorded.
  void forget();

 private:
  struct Entry {
    Signature signature;
    int runs = 0;
    bool refused = false;
    // The graph goes before what it works on.
    std::shared_ptr<const Outcome> outcome;
    std::unique_ptr<Graph> graph;
  };

  Entry& entry_of(const Signature& signature);
  /// Whether `entry` has a graph now, which nothing has launched yet.
  bool capture(const Body& body, Entry* entry);

  Stream* stream_;
  bool allowed_;
  bool capturing_ = false;
  std::list<Entry> entries_;  // the most recently used first
};

}  // namespace executorch_backends::aoti
