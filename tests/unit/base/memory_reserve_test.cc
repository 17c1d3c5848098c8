#include "base/memory_reserve.h"

#include <gtest/gtest.h>

#include <new>

namespace ps::memory_reserve_test {
namespace {

TEST(MemoryReserve, TheHandlerRetriesOnceAndThenThrows) {
  {
    MemoryReserve reserve;
    const std::new_handler handler = std::get_new_handler();
    ASSERT_NE(handler, nullptr);
    EXPECT_NO_THROW(handler());
    EXPECT_THROW(handler(), std::bad_alloc);
    EXPECT_THROW(handler(), std::bad_alloc);
  }
  EXPECT_EQ(std::get_new_handler(), nullptr);
  MemoryReserve again;
  EXPECT_NO_THROW(std::get_new_handler()());
}

}  // namespace
}  // namespace ps::memory_reserve_test
