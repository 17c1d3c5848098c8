#include "data/line_parser.h"

#include <cstring>

#include "base/error.h"
#include "base/text.h"

namespace ps {

void check_labels_from(const LabelCheck& check, const Batch& batch, bool sets, int64_t example) {
  const size_t first = static_cast<size_t>(example);
  for (size_t b = first; b < batch.labels.size(); ++b) check(batch.labels[b]);
  if (!sets) return;
  const SlotData& slot = batch.slots.back();
  for (size_t k = slot.offsets[first]; k < slot.keys.size(); ++k) check(static_cast<float>(slot.keys[k]));
}

void LineParser::parse_with(LineScratch*, const char* p, const char* end, Batch& batch) const {
  parse_line(p, end, batch);
}

// Appends the example of a line if it is of the part and is sampled; a line with an error becomes a bad
// line.  Examples are appended first and dropped afterwards, because part and sampling depend on what the
// line holds.  `size` is the number of examples to go back to.
void LineParser::parse_or_reject(LineScratch* scratch, const char* p, const char* end, const Block& block,
                                 uint64_t line, bool checks, Parsed& out) const {
  int64_t size = out.batch.size();
  try {
    parse_with(scratch, p, end, out.batch);
    if (out.batch.size() == size) return;
    if (part_.by_column() && !keeps_last(out.batch)) return out.batch.truncate(schema_, size);
    if (checks) check_labels_from(label_check_, out.batch, sets_, size);
    if (negatives_.on() && !negatives_.keeps_last({p, static_cast<size_t>(end - p)}, line, out.batch))
      out.batch.truncate(schema_, size);
  } catch (const Error& error) {
    if (error.code() != Code::kData) throw;
    out.batch.truncate(schema_, size);
    out.bad.push_back({size, cat(*block.file, ":", line, ": ", error.message())});
  }
}

bool LineParser::keeps_last(const Batch& batch) const {
  return part_.keeps_by_slot(schema_, part_slot_, batch, batch.labels.size() - 1);
}

// Nearly all blocks have only good labels, so labels are checked for the block as a whole first.  Only when
// that fails, the block is parsed again, and the labels are checked line by line.
void LineParser::parse(const Block& block, Parsed& out) const {
  parse_lines(block, /*checks=*/false, out);
  if (label_check_ && !labels_fit(out.batch)) parse_lines(block, /*checks=*/true, out);
}

bool LineParser::labels_fit(const Batch& batch) const {
  try {
    check_labels_from(label_check_, batch, sets_, 0);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// `line` is the number of the line at p, and `end` its end without \r.  Each line ends in \n, which the
// splitter appends to a last line without one, so that memchr always finds it.  The loop stops behind the
// first bad line beyond max_bad_lines_, where the run ends.
void LineParser::parse_lines(const Block& block, bool checks, Parsed& out) const {
  out.batch.clear(schema_);
  out.bad.clear();
  const std::unique_ptr<LineScratch> scratch = make_scratch();
  std::string_view text = block.text();
  const char *p = text.data(), *stop = p + text.size();
  for (uint64_t line = block.position; p < stop && out.bad.size() <= max_bad_lines_; ++line) {
    const char* newline = static_cast<const char*>(std::memchr(p, '\n', static_cast<size_t>(stop - p)));
    const char* end = newline > p && newline[-1] == '\r' ? newline - 1 : newline;
    const bool kept = end > p && part_.keeps_line({p, static_cast<size_t>(end - p)});
    if (kept) parse_or_reject(scratch.get(), p, end, block, line, checks, out);
    p = newline + 1;
  }
  if (negatives_.on()) NegativeFilter::end(out.batch);
}

}  // namespace ps
