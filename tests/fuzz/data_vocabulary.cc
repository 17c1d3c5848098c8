// The file of a vocabulary.  Every word that is read has an id, or is among the others.
#include "base/error.h"
#include "data/vocabulary.h"
#include "fuzz/memory_path.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static ps::MemoryPath file;
  file.fill(data, size);
  try {
    const ps::Vocabulary words = ps::Vocabulary::load(file.path(), 8);
    for (int64_t id = 1; id < words.size(); ++id) {
      PS_CHECK(words.id(words.word(static_cast<uint32_t>(id)).word) < words.size());
    }
  } catch (const ps::Error& error) {
    PS_CHECK(error.code() != ps::Code::kInternal);
  }
  return 0;
}
