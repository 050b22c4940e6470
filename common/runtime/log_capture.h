/// Collects what ExecuTorch and its delegates log on this thread.
#pragma once

#include <string>

namespace executorch_backends::runtime {

/// While one is alive, errors that this thread logs are added to its text instead of being
/// printed, and what it logs at other levels to its notes; other threads' go where they went
/// before. They may be nested: the innermost one collects.
class LogCapture {
 public:
  LogCapture();
  ~LogCapture();
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  /// The errors so far, one a line, without a final newline.
  const std::string& text() const { return text_; }
  /// The notes so far, likewise.
  const std::string& notes() const { return notes_; }
  void add(bool is_error, const char* message, size_t length);

 private:
  LogCapture* outer_;
  std::string text_;
  std::string notes_;
};

}  // namespace executorch_backends::runtime
