// The shape of an image that a layer gives or takes: each example has [channels, height, width] values,
// channel by channel, row by row.  Used by layers, and by Network to tell a layer what the one below gives.
#ifndef PS_MODEL_IMAGE_SHAPE_H_
#define PS_MODEL_IMAGE_SHAPE_H_

#include <cstdint>
#include <string>

#include "base/error.h"

namespace ps {

struct ImageShape {
  int64_t channels = 0, height = 0, width = 0;

  int64_t plane() const { return height * width; }
  int64_t size() const { return channels * plane(); }
  bool operator==(const ImageShape&) const = default;
};

// "3x224x224"
inline std::string to_string(const ImageShape& image) {
  return cat(image.channels, "x", image.height, "x", image.width);
}

}  // namespace ps

#endif  // PS_MODEL_IMAGE_SHAPE_H_
