// The slots of multislot text, told from its first lines.  Used where a job leaves them to the data.
#ifndef PS_DATA_INFER_SLOTS_H_
#define PS_DATA_INFER_SLOTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "data/options.h"

namespace ps {

// Slots slot1, slot2, … and label, in the order of a line.
struct InferredSlots {
  std::vector<SlotOptions> slots;
  std::string label_slot;
};

// True if every whole line of `head` consists of counts that are followed by so many numbers, of as many slots as
// in the first line, two at least.
bool looks_like_multislot(std::string_view head);

// A slot is dense if one of its values is no id: 0.5, -1.  The label is the last slot if it has one value in each
// line, else the first; where the values of the first alone are 0 and 1, that one.  Throws kData, naming `file`, when
// the lines are not multislot, when no slot can be the label, or when a dense slot has several lengths.
InferredSlots infer_slots(std::string_view head, std::string_view file);

}  // namespace ps

#endif  // PS_DATA_INFER_SLOTS_H_
