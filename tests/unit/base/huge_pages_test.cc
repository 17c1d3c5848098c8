#include "base/huge_pages.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "base/error.h"

namespace ps::huge_pages_test {
namespace {

TEST(HugeArena, GivesAlignedZerosThatNeverOverlap) {
  HugeArena arena;
  std::map<char*, size_t> pieces;
  for (size_t i = 0; i < 300; ++i) {
    size_t bytes = i * i * 7 % 40000 + 1;
    char* piece = static_cast<char*>(arena.allocate(bytes));
    ASSERT_EQ(reinterpret_cast<uintptr_t>(piece) % HugeArena::kAlignment, 0u);
    for (size_t b = 0; b < bytes; ++b) ASSERT_EQ(piece[b], 0);
    std::memset(piece, 1, bytes);
    pieces[piece] = bytes;
  }
  ASSERT_EQ(pieces.size(), 300u);
  const char* end = nullptr;
  for (const auto& [piece, bytes] : pieces) {
    EXPECT_LE(end, piece);
    end = piece + bytes;
  }
}

TEST(HugeArena, CountsWhatItGaveAndWhatItWasted) {
  HugeArena arena;
  EXPECT_EQ(arena.memory_bytes(), 0u);
  arena.allocate(1);
  EXPECT_EQ(arena.memory_bytes(), HugeArena::kAlignment);
  uint64_t given = HugeArena::kAlignment;
  for (int i = 0; i < 1000; ++i) arena.allocate(16384), given += 16384;
  EXPECT_GE(arena.memory_bytes(), given);
  EXPECT_LT(arena.memory_bytes(), given + given / 8);
}

TEST(HugeArena, PieceLargerThanAnyRegionGetsItsOwn) {
  HugeArena arena;
  size_t bytes = size_t{80} << 20;  // never touched but for its ends
  char* piece = static_cast<char*>(arena.allocate(bytes));
  piece[0] = piece[bytes - 1] = 1;
  EXPECT_NE(arena.allocate(64), piece);
}

TEST(HugeArena, RefusesWhatNoAddressSpaceHolds) {
  HugeArena arena;
  try {
    arena.allocate(size_t{1} << 60);
    FAIL() << "an exabyte";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kExhausted);
  }
  EXPECT_NE(arena.allocate(64), nullptr) << "and goes on";
}

}  // namespace
}  // namespace ps::huge_pages_test
