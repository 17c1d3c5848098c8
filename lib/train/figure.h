// Figures of a test by name: "cost", or the value of an evaluator; and if more of them is better.  Used to stop early,
// and to tell how important slots are.
#ifndef PS_TRAIN_FIGURE_H_
#define PS_TRAIN_FIGURE_H_

#include <optional>
#include <string>
#include <string_view>

#include "config/fwd.h"

namespace ps {

// Throws kUsage "SOURCE: 'x' tells no better from worse…" for other figures; `source` is the key or flag that names it.
bool larger_is_better(const std::string& figure, std::string_view source);

// The figure in TestResult::json(): nullopt when it is undefined.  Throws kUsage "SOURCE: …" when it is not there.
std::optional<double> figure_of(const Json& tested, const std::string& figure, std::string_view source);

}  // namespace ps

#endif  // PS_TRAIN_FIGURE_H_
