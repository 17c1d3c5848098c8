// Learns which words are labels in fastText's lines.  Used if a job leaves them to the data.
#ifndef PS_DATA_FASTTEXT_CLASSES_H_
#define PS_DATA_FASTTEXT_CLASSES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "data/options.h"
#include "data/source.h"

namespace ps {

// Returns the distinct labels of the first `most_lines` lines in the order of their bytes; none if all are
// numbers.  Throws kUsage if there are more than 100,000, and the errors of reading, except for data that are
// cut short.
std::vector<std::string> learn_fasttext_classes(const DataOptions& options,
                                                const std::vector<std::string>& paths,
                                                const SourceContext& context, int64_t most_lines);

}  // namespace ps

#endif  // PS_DATA_FASTTEXT_CLASSES_H_
