// Flips every bit of a file and cuts it to every length, in place, since writing a new file for each would
// wait for the disk.  If PS_TRY_EVERY is set, it tries one bit and one length in so many: a number prime to
// 8, so that all bits of a byte get their turn.
#ifndef PS_TESTS_SUPPORT_DAMAGE_H_
#define PS_TESTS_SUPPORT_DAMAGE_H_

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/file.h"
#include "support/environment.h"

namespace ps {

inline void overwrite(const std::string& path, uint64_t offset, std::string_view bytes) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(offset));
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// Calls check(what) with each bit of the file changed, which then is whole again.
template <class Check>
void with_each_bit_flipped(const std::string& path, Check&& check) {
  const std::string whole = read_file(path);
  for (size_t bit = 0; bit < whole.size() * 8; bit += static_cast<size_t>(try_every())) {
    overwrite(path, bit / 8, std::string(1, static_cast<char>(whole[bit / 8] ^ 1 << bit % 8)));
    check("bit " + std::to_string(bit) + " of " + path);
    overwrite(path, bit / 8, whole.substr(bit / 8, 1));
  }
}

// Calls check(what) with the file cut to each shorter length, which then is whole again.
template <class Check>
void with_each_cut(const std::string& path, Check&& check) {
  const std::string whole = read_file(path);
  for (size_t gone = 1; gone <= whole.size(); gone += static_cast<size_t>(try_every())) {
    const size_t size = whole.size() - gone;
    std::filesystem::resize_file(path, size);
    check(path + " cut to " + std::to_string(size));
  }
  overwrite(path, 0, whole);
}

}  // namespace ps

#endif  // PS_TESTS_SUPPORT_DAMAGE_H_
