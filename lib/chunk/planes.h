// Byte planes: the first bytes of all numbers, then all second bytes, and so on.  The exponents of floats,
// which are alike, then lie beside each other and compress; interleaved with mantissas they do not.
#ifndef PS_CHUNK_PLANES_H_
#define PS_CHUNK_PLANES_H_

#include <string_view>

namespace ps {

// out [bytes.size()] <- the planes of numbers of `width` bytes: 1, 2, 4 or 8, of which bytes.size() is a
// multiple.
void split_planes(std::string_view bytes, int width, char* out);

// The inverse of split_planes.
void join_planes(std::string_view planes, int width, char* out);

}  // namespace ps

#endif  // PS_CHUNK_PLANES_H_
