// Runs a harness without libFuzzer, over the files and folders given: each file as it is and, when it is
// small, every beginning of it and every byte of it changed.  Fails when there was nothing to run.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr size_t kSmall = 400;  // bytes; the runs grow with the square

void run(const std::string& bytes) {
  // A copy of exactly this size, so that a read past its end is seen by the sanitizers.
  std::vector<uint8_t> copy(bytes.size());
  if (!bytes.empty()) std::memcpy(copy.data(), bytes.data(), bytes.size());
  LLVMFuzzerTestOneInput(copy.data(), copy.size());
}

size_t run_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  run(bytes);
  if (bytes.size() > kSmall) return 1;
  for (size_t i = 0; i < bytes.size(); ++i) {
    run(bytes.substr(0, i));
    for (int flip : {0x01, 0x80, 0xff}) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      run(damaged);
    }
  }
  return 1 + 4 * bytes.size();
}

size_t run_path(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) return run_file(path);
  size_t runs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path)) runs += run_path(entry.path());
  return runs;
}

}  // namespace

int main(int argc, char** argv) {
  size_t runs = 0;
  for (int i = 1; i < argc; ++i) runs += run_path(argv[i]);
  std::printf("%zu runs\n", runs);
  return runs > 0 ? 0 : 1;
}
