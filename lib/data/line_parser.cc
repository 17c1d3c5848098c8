#include "data/line_parser.h"

#include <cstring>

#include "base/error.h"
#include "base/text.h"

namespace ps {

void LineParser::parse_or_reject(const char* p, const char* end, const Block& block, uint64_t line,
                                 Parsed& out) const {
  int64_t size = out.batch.size();
  try {
    parse_line(p, end, out.batch);
  } catch (const Error& error) {
    if (error.code() != Code::kData) throw;
    out.batch.truncate(schema_, size);
    out.bad.push_back({size, cat(*block.file, ":", line, ": ", error.message())});
  }
}

void LineParser::parse(const Block& block, Parsed& out) const {
  out.batch.clear(schema_);
  out.bad.clear();
  std::string_view text = block.text();
  const char *p = text.data(), *stop = p + text.size();
  for (uint64_t line = block.place; p < stop && out.bad.size() <= max_bad_lines_; ++line) {
    const char* newline = static_cast<const char*>(std::memchr(p, '\n', static_cast<size_t>(stop - p)));
    const char* end = newline > p && newline[-1] == '\r' ? newline - 1 : newline;
    if (end > p) parse_or_reject(p, end, block, line, out);
    p = newline + 1;
  }
}

}  // namespace ps
