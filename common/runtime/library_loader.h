/// Shared libraries that are found at run time.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace executorch_backends::runtime {

/// A loaded shared library, its symbols local to whoever asks this object for them.
class Library {
 public:
  /// Loads the first of `candidates` that can be loaded: paths, or names that the dynamic
  /// linker looks up. Null, with every candidate's reason in `*error`, when none can; a later
  /// call tries again, since a library may be installed, or a path set, in between.
  static std::unique_ptr<Library> open(const std::vector<std::string>& candidates,
                                       std::string* error);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  /// The address of a symbol, or null.
  void* find(const char* symbol) const;

  /// The candidate that was loaded.
  const std::string& path() const { return path_; }

 private:
  Library(void* handle, std::string path);
  void* handle_;
  std::string path_;
};

}  // namespace executorch_backends::runtime
