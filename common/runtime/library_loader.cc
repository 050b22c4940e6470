#include "executorch_backends/common/runtime/library_loader.h"

#include <dlfcn.h>

#include <utility>

namespace executorch_backends::runtime {

std::unique_ptr<Library> Library::open(const std::vector<std::string>& candidates,
                                       std::string* error) {
  std::string reasons;
  for (const std::string& candidate : candidates) {
    if (void* handle = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      return std::unique_ptr<Library>(new Library(handle, candidate));
    }
    const char* reason = dlerror();
    reasons += (reasons.empty() ? "" : "; ") + std::string(reason != nullptr ? reason : "unknown");
  }
  *error = reasons.empty() ? "there is no candidate" : reasons;
  return nullptr;
}

Library::Library(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}

Library::~Library() { dlclose(handle_); }

void* Library::find(const char* symbol) const { return dlsym(handle_, symbol); }

}  // namespace executorch_backends::runtime
