#include "net/buffer_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

namespace ps::buffer_pool_test {
namespace {

TEST(BufferPool, EveryBufferBeginsAtACacheLineAndHasItsSize) {
  BufferPool pool;
  for (size_t size : {1u, 63u, 256u, 257u, 320u, 321u, 4095u, 4097u, 1000000u}) {
    Buffer buffer = pool.take(size);
    EXPECT_EQ(buffer.size(), size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % Buffer::kAlignment, 0u);
    std::memset(buffer.data(), 1, size);
  }
}

TEST(BufferPool, AtMostAFifthIsWasted) {
  for (size_t size = 257; size < 100000; size += 97) {
    BufferPool pool;
    Buffer buffer = pool.take(size);
    ASSERT_GE(pool.bytes_in_use(), size);
    ASSERT_LE(static_cast<double>(pool.bytes_in_use()), 1.26 * static_cast<double>(size)) << size;
  }
}

TEST(BufferPool, WhatComesBackIsUsedAgain) {
  BufferPool pool;
  Buffer first = pool.take(1000);
  const char* place = first.data();
  first = Buffer();
  EXPECT_EQ(pool.bytes_in_use(), 0u);
  EXPECT_EQ(pool.bytes_kept(), 1024u);
  EXPECT_EQ(pool.take(900).data(), place);
}

TEST(BufferPool, TheBudgetRefusesAndTellsWhenThereIsRoom) {
  int told = 0;
  BufferPool pool(4096, [&told] { ++told; });
  std::optional<Buffer> first = pool.try_take(2048), second = pool.try_take(2048);
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(pool.try_take(1));
  EXPECT_EQ(told, 0);
  first.reset();
  EXPECT_EQ(told, 1);
  second.reset();
  EXPECT_EQ(told, 1) << "nobody was refused since";
  EXPECT_FALSE(pool.fits(4097));
  EXPECT_TRUE(pool.fits(4096));
}

TEST(BufferPool, UsedAndKeptTogetherStayUnderTheBudget) {
  BufferPool pool(8192);
  { Buffer small = pool.take(4096); }
  EXPECT_EQ(pool.bytes_kept(), 4096u);
  std::optional<Buffer> large = pool.try_take(8192);
  ASSERT_TRUE(large);
  EXPECT_EQ(pool.bytes_kept(), 0u);
}

TEST(BufferPool, AnswersAreCountedButNotRefused) {
  BufferPool pool(1024);
  Buffer large = pool.take(100000);
  EXPECT_GE(pool.bytes_in_use(), 100000u);
  EXPECT_FALSE(pool.try_take(1));
}

TEST(BufferPool, ABufferMayOutliveItsPoolAndEndOnAnotherThread) {
  std::vector<Buffer> buffers;
  {
    BufferPool pool(1 << 20, [] { FAIL() << "the pool has gone"; });
    for (int i = 0; i < 100; ++i) buffers.push_back(pool.take(1000));
    while (pool.try_take(100000)) buffers.push_back(pool.take(100000));
  }
  std::thread([&buffers] { buffers.clear(); }).join();
}

TEST(BufferPool, ManyThreadsGiveBackAtOnce) {
  std::atomic<int> told{0};
  BufferPool pool(1 << 20, [&told] { ++told; });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&pool] {
      for (int i = 0; i < 2000; ++i) std::optional<Buffer> buffer = pool.try_take(200000);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pool.bytes_in_use(), 0u);
}

TEST(BufferPool, WhatIsAdoptedIsCountedThereAndMakesRoomHere) {
  bool room = false;
  BufferPool from(10000, [&room] { room = true; }), to;
  std::optional<Buffer> buffer = from.try_take(8192);
  EXPECT_FALSE(from.try_take(8192));
  buffer->data()[8191] = 'x';
  to.adopt(*buffer);
  EXPECT_TRUE(room);
  EXPECT_EQ(from.bytes_in_use(), 0u);
  EXPECT_EQ(to.bytes_in_use(), 8192u);
  EXPECT_EQ(buffer->data()[8191], 'x') << "it is the same memory";
  to.adopt(*buffer);
  EXPECT_EQ(to.bytes_in_use(), 8192u) << "its own already";
  buffer.reset();
  EXPECT_EQ(to.bytes_kept(), 8192u);
}

TEST(BufferPool, UnusedBuffersGoBackForThoseThatAreAdopted) {
  BufferPool from, to;
  {
    Buffer first = from.take(8192);
    to.adopt(first);
  }
  EXPECT_EQ(to.bytes_kept(), 8192u);
  Buffer second = from.take(8192);
  to.adopt(second);
  EXPECT_EQ(to.bytes_kept(), 0u);
  EXPECT_EQ(from.bytes_kept(), 8192u);
}

}  // namespace
}  // namespace ps::buffer_pool_test
