#include "executorch_backends/aoti/runtime/code.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "executorch_backends/common/payload/sha256.h"
#include "executorch_backends/common/runtime/error.h"
#include "executorch_backends/common/runtime/named_data.h"
#include "executorch_backends/common/runtime/shared_values.h"

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
  ETB_TRY(file.write(payload::hexadecimal(wanted.digest, 8) + ".so", bytes.data(), bytes.size()));
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

Error Code::load(const NamedDataMap* programs_data, const payload::NamedData& wanted,
                 std::shared_ptr<const Code>* out) {
  std::optional<FreeableBuffer> bytes;
  ETB_TRY(runtime::read_named_data("AOTI", programs_data, wanted, "code", &bytes));
  const payload::Digest digest = payload::sha256(bytes->data(), bytes->size());
  ETB_REQUIRE(digest == wanted.digest, InvalidProgram,
              "AOTI: the program is damaged: its code '%s' has SHA-256 %s…, and %s… was recorded",
              wanted.key.c_str(), payload::hexadecimal(digest, 4).c_str(),
              payload::hexadecimal(wanted.digest, 4).c_str());
  using Loaded = runtime::SharedValues<payload::Digest, const Code>;
  static auto* const loaded = new Loaded;
  const auto open = [&](std::shared_ptr<const Code>* code) {
    void* library = nullptr;
    ETB_TRY(open_library(*bytes, wanted, &library));
    code->reset(new Code(library));
    return Error::Ok;
  };
  return loaded->get(digest, open, out);
}

Code::~Code() { dlclose(library_); }

void* Code::find(const char* symbol) const { return dlsym(library_, symbol); }

}  // namespace executorch_backends::aoti
