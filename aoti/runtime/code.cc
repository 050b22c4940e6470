#include "executorch_backends/aoti/runtime/code.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "executorch_backends/common/runtime/error.h"

namespace executorch_backends::aoti {
namespace {

using executorch::runtime::Error;
using executorch::runtime::FreeableBuffer;
using executorch::runtime::NamedDataMap;

// A program's calls of aoti_torch_* are for our shims also where libtorch, which has them too, is
// in the global scope.
#ifdef ETB_WITHOUT_DEEPBIND  // sanitizers refuse it
constexpr int kScope = RTLD_NOW | RTLD_LOCAL;
#else
constexpr int kScope = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
#endif

std::string hexadecimal(const payload::Digest& digest, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i) text += runtime::format("%02x", digest[i]);
  return text;
}

/// A file that only this process's user can reach, under a path that no other one has or had: the
/// linker takes a known name for a library that it has loaded. Gone with this object.
class PrivateFile {
 public:
  PrivateFile() = default;
  ~PrivateFile() {
    if (!path_.empty()) unlink(path_.c_str());
    if (!folder_.empty()) rmdir(folder_.c_str());
  }
  PrivateFile(const PrivateFile&) = delete;
  PrivateFile& operator=(const PrivateFile&) = delete;

  Error write(const std::string& name, const void* data, size_t size) {
    const char* temporary = std::getenv("TMPDIR");
    std::string folder = temporary != nullptr && *temporary != '\0' ? temporary : "/tmp";
    folder += "/executorch_backends_XXXXXX";
    ETB_REQUIRE(mkdtemp(folder.data()) != nullptr, AccessFailed,
                "AOTI: cannot make the folder %s for the program's code: %s; TMPDIR names another "
                "place",
                folder.c_str(), std::strerror(errno));
    folder_ = folder;
    const std::string path = folder_ + "/" + name;
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR);
    if (file >= 0) path_ = path;
    const auto* left = static_cast<const char*>(data);
    int problem = file < 0 ? errno : 0;
    while (problem == 0 && size != 0) {
      const ssize_t written = ::write(file, left, size);
      if (written > 0) {
        left += written;
        size -= static_cast<size_t>(written);
      } else if (errno != EINTR) {
        problem = written == 0 ? ENOSPC : errno;
      }
    }
    if (file >= 0 && close(file) != 0 && problem == 0) problem = errno;
    ETB_REQUIRE(problem == 0, AccessFailed,
                "AOTI: cannot write the program's code to %s: %s; TMPDIR names another place",
                path.c_str(), std::strerror(problem));
    return Error::Ok;
  }
  const std::string& path() const { return path_; }

 private:
  std::string folder_;
  std::string path_;
};

Error open_library(const FreeableBuffer& bytes, const payload::NamedData& wanted, void** out) {
  PrivateFile file;
  ETB_TRY(file.write(hexadecimal(wanted.digest, 8) + ".so", bytes.data(), bytes.size()));
  *out = dlopen(file.path().c_str(), kScope);
  if (*out != nullptr) return Error::Ok;
  const char* reason = dlerror();
  ETB_FAIL(DelegateInvalidCompatibility,
           "AOTI: the linker refuses the program's code '%s': %s. It needs the shim library, which "
           "is loaded before the delegate, and a folder that programs may run from, which TMPDIR "
           "can name",
           wanted.key.c_str(), reason != nullptr ? reason : "no reason is given");
}

}  // namespace

Error read_named_data(const NamedDataMap* programs_data, const payload::NamedData& wanted,
                      const char* what, std::optional<FreeableBuffer>* out) {
  ETB_REQUIRE(programs_data != nullptr, InvalidProgram,
              "AOTI: the payload's %s is the program's named data '%s', and this program has no "
              "named data",
              what, wanted.key.c_str());
  auto data = programs_data->get_data(wanted.key);
  ETB_REQUIRE(data.ok(), InvalidProgram,
              "AOTI: the program's named data lack the payload's %s '%s' (error 0x%x)", what,
              wanted.key.c_str(), static_cast<unsigned>(data.error()));
  ETB_REQUIRE(data->size() == wanted.size, InvalidProgram,
              "AOTI: the program's named data '%s' have %zu bytes, and the payload's %s has %llu",
              wanted.key.c_str(), data->size(), what, static_cast<unsigned long long>(wanted.size));
  out->emplace(std::move(data.get()));
  return Error::Ok;
}

Error Code::load(const NamedDataMap* programs_data, const payload::NamedData& wanted,
                 std::shared_ptr<const Code>* out) {
  std::optional<FreeableBuffer> bytes;
  ETB_TRY(read_named_data(programs_data, wanted, "code", &bytes));
  const payload::Digest digest = payload::sha256(bytes->data(), bytes->size());
  ETB_REQUIRE(digest == wanted.digest, InvalidProgram,
              "AOTI: the program is damaged: its code '%s' has SHA-256 %s…, and %s… was recorded",
              wanted.key.c_str(), hexadecimal(digest, 4).c_str(),
              hexadecimal(wanted.digest, 4).c_str());
  struct State {
    std::mutex mutex;
    std::map<payload::Digest, std::weak_ptr<const Code>> loaded;
  };
  static State* const state = new State;  // reachable for ever: handles may outlive statics
  std::lock_guard<std::mutex> lock(state->mutex);
  for (auto code = state->loaded.begin(); code != state->loaded.end();) {
    code = code->second.expired() ? state->loaded.erase(code) : std::next(code);
  }
  auto& known = state->loaded[digest];
  if (auto code = known.lock()) {
    *out = std::move(code);
    return Error::Ok;
  }
  void* library = nullptr;
  ETB_TRY(open_library(*bytes, wanted, &library));
  std::shared_ptr<const Code> code(new Code(library));
  known = code;
  *out = std::move(code);
  return Error::Ok;
}

Code::~Code() { dlclose(library_); }

void* Code::find(const char* symbol) const { return dlsym(library_, symbol); }

}  // namespace executorch_backends::aoti
