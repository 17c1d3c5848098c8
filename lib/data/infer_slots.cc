#include "data/infer_slots.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/text.h"

namespace ps {

namespace {

constexpr size_t kMostSlots = 10000;

// The values of one slot in all lines seen so far.
struct SlotValues {
  bool dense = false;  // a value was no id
  bool binary = true;  // all values were 0, 1 or -1
  bool single = true;  // one value in each line
  bool one_length = true;
  uint64_t length = 0;  // length in the first line
};

// Iterates over the words of a line.  One owner thread.
class Words {
 public:
  explicit Words(std::string_view line) : rest_(line) { skip_blanks(); }

  bool end() const { return rest_.empty(); }
  std::string_view next() {
    const size_t size = std::min(rest_.find_first_of(" \t"), rest_.size());
    const std::string_view word = rest_.substr(0, size);
    rest_.remove_prefix(size);
    skip_blanks();
    return word;
  }

 private:
  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t"), rest_.size())); }

  std::string_view rest_;
};

// Adds a value to what is known of its slot.  Returns false if it is no number.
bool add_value(std::string_view word, SlotValues& slot) {
  if (!parse_uint(word)) {
    if (!parse_double(word)) return false;
    slot.dense = true;
  }
  slot.binary = slot.binary && (word == "0" || word == "1" || word == "-1");
  return true;
}

// Adds the next slot of a line.  Returns false if there are fewer values than its count says, or if they are no
// numbers.
bool add_slot(Words& words, bool first_line, SlotValues& slot) {
  const std::optional<uint64_t> count = parse_uint(words.next());
  if (!count) return false;
  if (first_line) slot.length = *count;
  slot.single = slot.single && *count == 1;
  slot.one_length = slot.one_length && *count == slot.length;
  for (uint64_t i = 0; i < *count; ++i) {
    if (words.end() || !add_value(words.next(), slot)) return false;
  }
  return true;
}

// Adds a line.  The first one decides how many slots there are.  Returns false if a line has another number
// of them, or does not consist of counts and as many values behind each.
bool add_line(std::string_view line, std::vector<SlotValues>& slots) {
  const bool first = slots.empty();
  Words words(line);
  size_t s = 0;
  for (; !words.end(); ++s) {
    if (s == slots.size() && (!first || s == kMostSlots)) return false;
    if (s == slots.size()) slots.emplace_back();
    if (!add_slot(words, first, slots[s])) return false;
  }
  return s == slots.size();
}

// Returns the slots; none if some line is not multislot.
std::vector<SlotValues> find_slots(std::string_view head) {
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  std::vector<SlotValues> slots;
  while (!head.empty()) {
    const size_t size = head.find('\n');
    std::string_view line = head.substr(0, size);
    const bool cut = size == std::string_view::npos;
    if (cut && !slots.empty()) break;  // only the beginning of this line is in the head
    head.remove_prefix(cut ? head.size() : size + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty() && !add_line(line, slots)) return {};
  }
  return slots.size() < 2 ? std::vector<SlotValues>{} : slots;
}

size_t find_label(const std::vector<SlotValues>& slots, std::string_view file) {
  const SlotValues &first = slots.front(), &last = slots.back();
  if (last.single && (last.binary || !(first.single && first.binary))) return slots.size() - 1;
  if (first.single) return 0;
  fail(Code::kData, file,
       ": neither the first nor the last slot has one value in each line, as labels have: ",
       "name the slots in data.slots, and the label in data.label_slot");
}

}  // namespace

bool looks_like_multislot(std::string_view head) {
  return !find_slots(head).empty();
}

InferredSlots infer_slots(std::string_view head, std::string_view file) {
  const std::vector<SlotValues> found = find_slots(head);
  if (found.empty()) {
    fail(Code::kData, file,
         ": the first lines are not counts with so many values after each, as multislot has: ",
         "name the format in data.format");
  }
  const size_t label = find_label(found, file);
  InferredSlots out;
  out.label_slot = "label";
  for (size_t i = 0; i < found.size(); ++i) {
    SlotOptions slot;
    // Slots are numbered from 1 without the label, so a slot before it is one higher than its index.
    slot.name = i == label ? out.label_slot : cat("slot", i + (i < label));
    if (i != label && found[i].dense) {
      if (!found[i].one_length)
        fail(Code::kData, file, ": slot ", i + 1,
             " has fractions, and not the same number of values in each line");
      slot.type = "dense";
      slot.dim = static_cast<int64_t>(found[i].length);
    }
    out.slots.push_back(std::move(slot));
  }
  return out;
}

}  // namespace ps
