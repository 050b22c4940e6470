#include "executorch_backends/aoti/runtime/graph_replay.h"

#include <algorithm>
#include <exception>
#include <string>

#include "executorch_backends/common/runtime/error.h"
#include "executorch_backends/common/runtime/log_capture.h"

namespace executorch_backends::aoti {

using executorch::runtime::Error;

void GraphReplay::forget() {
  for (Entry& entry : entries_) {
    entry.graph.reset();
    entry.outcome.reset();
  }
}

GraphReplay::Entry& GraphReplay::entry_of(const Signature& signature) {
  const auto known = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return entry.signature == signature; });
  if (known != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, known);
  } else {
    entries_.emplace_front();
    entries_.front().signature = signature;
    if (entries_.size() > kMostSignatures) entries_.pop_back();
  }
  return entries_.front();
}

bool GraphReplay::capture(const Body& body, Entry* entry) {
  // No run fails of it, so that what goes wrong here is no error.
  std::string reason;
  {
    runtime::LogCapture log;
    if (stream_->begin_capture() == Error::Ok) {
      capturing_ = true;
      bool recorded = false;
      try {
        recorded = body(&entry->outcome) == Error::Ok;
        if (recorded && entry->outcome->random) {
          recorded = false;
          reason = "this one draws random numbers";
        }
        recorded = recorded && stream_->end_capture(&entry->graph) == Error::Ok;
      } catch (const std::exception& exception) {
        recorded = false;
        reason = exception.what();
      } catch (...) {
        recorded = false;
        reason = "an exception of an unknown type";
      }
      capturing_ = false;
      if (recorded) return true;
      stream_->abandon_capture();
    }
    reason += log.text();
  }
  ETB_NOTE("AOTI: runs of these sizes cannot be recorded: %s", reason.c_str());
  return false;
}

Error GraphReplay::run(const Signature& signature, const Body& body,
                       std::shared_ptr<const Outcome>* out) {
  if (!allowed_) return body(out);
  Entry& entry = entry_of(signature);
  if (!entry.refused && (entry.graph != nullptr || entry.runs >= kWarmUps)) {
    if ((entry.graph != nullptr || capture(body, &entry)) && entry.graph->launch() == Error::Ok) {
      *out = entry.outcome;
      return Error::Ok;
    }
    entry.refused = true;
    entry.graph.reset();
    entry.outcome.reset();
  }
  ETB_TRY(body(out));
  ++entry.runs;
  if ((*out)->random) entry.refused = true;  // a graph would draw the same numbers again
  return Error::Ok;
}

}  // namespace executorch_backends::aoti
