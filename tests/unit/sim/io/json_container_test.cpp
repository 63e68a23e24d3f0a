// SPDX-License-Identifier: Apache-2.0
#include "sim/io/json_container.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

namespace sptc::io {
namespace {

bool memory_is_gone = false;

template <typename T>
struct Memory : std::allocator<T> {
  template <typename Other>
  struct rebind {
    using other = Memory<Other>;
  };
  Memory() = default;
  template <typename Other>
  explicit Memory(const Memory<Other>& /*other*/) {}
  T* allocate(std::size_t count) {
    if (memory_is_gone) {
      throw std::bad_alloc();
    }
    return std::allocator<T>::allocate(count);
  }
};

using Json = nlohmann::basic_json<std::map, std::vector, std::string, bool, std::int64_t,
                                  std::uint64_t, double, Memory>;

class JsonContainer : public testing::Test {
 protected:
  void TearDown() override { memory_is_gone = false; }
};

TEST_F(JsonContainer, FillsANull) {
  Json json;
  as_object(json)["names"];
  as_array(json["names"]).push_back("a");
  EXPECT_EQ(as_object(json).dump(), R"({"names":["a"]})");
  EXPECT_EQ(as_array(json["names"]).dump(), R"(["a"])");
}

// operator[] and push_back() of the null itself end in its destructor, with a null pointer.
TEST_F(JsonContainer, LeavesANullWhereMemoryIsGone) {
  Json json;
  memory_is_gone = true;
  EXPECT_THROW(as_object(json)["name"], std::bad_alloc);
  EXPECT_TRUE(json.is_null());
  EXPECT_THROW(as_array(json).push_back(1), std::bad_alloc);
  EXPECT_TRUE(json.is_null());
}

}  // namespace
}  // namespace sptc::io
