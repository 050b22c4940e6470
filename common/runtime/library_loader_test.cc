#include "executorch_backends/common/runtime/library_loader.h"

#include <gtest/gtest.h>

namespace executorch_backends::runtime {
namespace {

TEST(LibraryLoader, TheFirstCandidateThatCanBeLoadedIsTaken) {
  std::string error;
  auto library = Library::open({"/nonexistent/libm.so.6", "libm.so.6"}, &error);
  ASSERT_NE(library, nullptr) << error;
  EXPECT_EQ(library->path(), "libm.so.6");
  EXPECT_NE(library->find("cos"), nullptr);
  EXPECT_EQ(library->find("no_such_symbol"), nullptr);
}

TEST(LibraryLoader, AFailureNamesEveryCandidateAndCanBeRetried) {
  std::string error;
  EXPECT_EQ(Library::open({"/nonexistent/liba.so", "/nonexistent/libb.so"}, &error), nullptr);
  EXPECT_NE(error.find("/nonexistent/liba.so"), std::string::npos) << error;
  EXPECT_NE(error.find("/nonexistent/libb.so"), std::string::npos) << error;
  EXPECT_NE(Library::open({"/nonexistent/liba.so", "libm.so.6"}, &error), nullptr);
}

TEST(LibraryLoader, NoCandidateIsAnError) {
  std::string error;
  EXPECT_EQ(Library::open({}, &error), nullptr);
  EXPECT_FALSE(error.empty());
}

}  // namespace
}  // namespace executorch_backends::runtime
