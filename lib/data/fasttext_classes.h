// Learns which words are labels in fastText's lines.  Used where a job leaves something to the data.
#ifndef PS_DATA_FASTTEXT_CLASSES_H_
#define PS_DATA_FASTTEXT_CLASSES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "data/options.h"
#include "data/source.h"

namespace ps {

// Returns the different labels of the first `most_lines` lines in the order of their bytes; none when all are numbers.
// Throws kUsage when there are more than 100,000, and what reading throws but for data that are cut short.
std::vector<std::string> learn_fasttext_classes(const DataOptions& options,
                                                const std::vector<std::string>& paths,
                                                const SourceContext& context, int64_t most_lines);

}  // namespace ps

#endif  // PS_DATA_FASTTEXT_CLASSES_H_
