#include "chunk/planes.h"

#include <gtest/gtest.h>

#include <string>

namespace ps::planes_test {
namespace {

TEST(Planes, BytesOfEqualPlaceComeTogether) {
  std::string out(8, '\0');
  split_planes("aAbBcCdD", 2, out.data());
  EXPECT_EQ(out, "abcdABCD");
  split_planes("a123b456", 4, out.data());
  EXPECT_EQ(out, "ab142536");
}

TEST(Planes, JoiningUndoesSplittingForEveryWidthAndSize) {
  for (int width : {1, 2, 4, 8}) {
    for (size_t count : {0, 1, 3, 1023, 1024, 1025, 5000}) {
      std::string bytes(count * static_cast<size_t>(width), '\0');
      for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 2654435761u >> 13);
      std::string planes(bytes.size(), '\0'), again(bytes.size(), '\0');
      split_planes(bytes, width, planes.data());
      join_planes(planes, width, again.data());
      EXPECT_EQ(again, bytes) << "width " << width << ", " << count << " numbers";
    }
  }
}

}  // namespace
}  // namespace ps::planes_test
