#include <algorithm>

#include "base/error.h"
#include "config/spec.h"
#include "data/format.h"
#include "data/records.h"

namespace ps {

extern const FormatEntry kRecords, kMultislot, kCriteo, kPaddleSparseBinary, kPaddleSparseFloat, kLibsvm, kVw,
    kFastText, kText, kCsv, kTsv, kJsonl;

std::span<const FormatEntry* const> format_catalog() {
  static constexpr const FormatEntry* kAll[] = {
      &kRecords,           &kJsonl,  &kFastText, &kMultislot, &kCriteo, &kPaddleSparseBinary,
      &kPaddleSparseFloat, &kLibsvm, &kVw,       &kText,      &kCsv,    &kTsv};
  return kAll;
}

std::vector<std::string> format_names() {
  std::vector<std::string> names = {"auto"};
  for (const FormatEntry* format : format_catalog()) names.emplace_back(format->name);
  return names;
}

const FormatEntry& find_format(const std::string& name) {
  for (const FormatEntry* format : format_catalog()) {
    if (format->name == name) return *format;
  }
  std::vector<std::string> names = format_names();
  fail(Code::kUsage, "unknown format ", quote(name), did_you_mean(name, names), "; expected one of ",
       join(names, ", "));
}

void check_label_sets(const DataOptions& data, const FormatEntry& format) {
  if (!data.multi_label || format.label_sets) return;
  std::vector<std::string> names;
  for (const FormatEntry* other : format_catalog()) {
    if (other->label_sets) names.emplace_back(other->name);
  }
  fail(Code::kUsage, "data.multi_label: format ", quote(format.name),
       " has one label an example; several have ", join(names, ", "));
}

static constexpr size_t kEnoughText = size_t{1} << 16;  // a longer first line is recognised by its beginning

std::string_view first_line(std::string_view head) {
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  while (!head.empty()) {
    std::string_view line = head.substr(0, head.find('\n'));
    head.remove_prefix(std::min(head.size(), line.size() + 1));
    if (line.ends_with('\r')) line.remove_suffix(1);
    size_t text = line.find_first_not_of(" \t");
    if (text != std::string_view::npos && line[text] != '#') return line;
  }
  return {};
}

static bool records_header_is_whole(std::string_view head) {
  if (head.size() < kRecordsHeaderBytes) return false;
  try {
    return head.size() >= kRecordsHeaderBytes + decode_records_head(head).size;
  } catch (const Error&) {
    return true;  // reading the schema reports the error
  }
}

// A header of records is needed as a whole, because it has the schema.  Text is needed up to the end of its
// first line that is neither blank nor a comment.
bool head_is_enough(std::string_view head) {
  if (is_records(head)) return records_header_is_whole(head);
  if (head.size() >= kEnoughText) return true;
  size_t end = head.rfind('\n');
  return end != std::string_view::npos && !first_line(head.substr(0, end + 1)).empty();
}

// Records are binary, and have no lines by which to tell them.  Several other formats may accept a line:
// the first one in the order of the catalogue is taken.
const FormatEntry& recognize_format(const DataOptions& data, std::string_view head, std::string_view file) {
  if (is_records(head)) return kRecords;
  std::string_view line = first_line(head);
  for (const FormatEntry* format : format_catalog()) {
    if (data.multi_label && !format->label_sets) continue;
    if (format->recognize(line, data)) return *format;
  }
  std::vector<std::string> names = format_names();
  fail(Code::kData, file, ": cannot tell the format from line ", quote(line), "; name it, one of ",
       join(std::span(names).subspan(1), ", "));
}

const AnySpec& no_own_keys() {
  struct Nothing {};
  static const ObjectSpec<Nothing> spec;
  return spec;
}

}  // namespace ps
