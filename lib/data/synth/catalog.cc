#include "base/error.h"
#include "data/synth/generator.h"

namespace ps {

extern const GeneratorEntry kSparseBinaryGenerator;
extern const GeneratorEntry kSparseFloatGenerator;
extern const GeneratorEntry kCtrGenerator;
extern const GeneratorEntry kCriteoGenerator;
extern const GeneratorEntry kLanguageGenerator;
extern const GeneratorEntry kDenseGenerator;

std::span<const GeneratorEntry* const> generator_catalog() {
  static constexpr const GeneratorEntry* kEntries[] = {
      &kSparseBinaryGenerator, &kSparseFloatGenerator, &kCtrGenerator,
      &kCriteoGenerator,       &kLanguageGenerator,    &kDenseGenerator,
  };
  return kEntries;
}

const GeneratorEntry& find_generator(std::string_view name) {
  std::vector<std::string> names;
  for (const GeneratorEntry* entry : generator_catalog()) {
    if (entry->name == name) return *entry;
    names.emplace_back(entry->name);
  }
  fail(Code::kUsage, "unknown kind ", quote(name), did_you_mean(name, names), "; expected one of ",
       join(names, ", "));
}

}  // namespace ps
