#include "strategy/exchange_options.h"

#include "base/text.h"
#include "config/spec.h"

namespace ps {

const ObjectSpec<ExchangeOptions>& ExchangeOptions::spec() {
  static const ObjectSpec<ExchangeOptions> spec = [] {
    ObjectSpec<ExchangeOptions> s;
    s.field(
         "pull_type", &ExchangeOptions::pull_type,
         "how the weights of a batch travel to a trainer: as floats of 32 or 16 bits, or as bytes with one "
         "scale a row; those that are tested, saved and predicted with travel as f32")
        .one_of(row_type_names());
    s.field("push_type", &ExchangeOptions::push_type,
            "how gradients travel to servers; the residual that rounding leaves of a row's gradient is added "
            "to its next one")
        .one_of(row_type_names());
    s.field("residual_memory", &ExchangeOptions::residual_memory,
            "memory of a trainer for residuals of rows, e.g. \"64M\"; beyond it, those of the rows that have "
            "not come for longest are dropped and counted");
    s.check([](const ExchangeOptions& options, std::string_view path) {
      if (parse_bytes(options.residual_memory)) return;
      fail(Code::kUsage, json_path(path, "residual_memory"), ": ", quote(options.residual_memory),
           " is not a number of bytes; try \"64M\"");
    });
    return s;
  }();
  return spec;
}

RowTypes ExchangeOptions::row_types() const {
  return {.pull = find_row_type(pull_type).value(),
          .push = find_row_type(push_type).value(),
          .error_bytes = parse_bytes(residual_memory).value()};
}

}  // namespace ps
