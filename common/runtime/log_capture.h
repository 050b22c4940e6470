/// Collects what ExecuTorch and its delegates log as errors on this thread.
#pragma once

#include <string>

namespace executorch_backends::runtime {

/// While one is alive, errors that this thread logs are added to its text instead of being
/// printed, and its notes of other levels are dropped; other threads' go where they went
/// before. They may be nested: the innermost one collects.
class LogCapture {
 public:
  LogCapture();
  ~LogCapture();
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  /// The messages so far, one a line, without a final newline.
  const std::string& text() const { return text_; }
  void add(const char* message, size_t length);

 private:
  LogCapture* outer_;
  std::string text_;
};

}  // namespace executorch_backends::runtime
