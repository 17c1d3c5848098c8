// The slots of multislot text, inferred from its first lines.  Used if a job leaves them to the data.
#ifndef PS_DATA_INFER_SLOTS_H_
#define PS_DATA_INFER_SLOTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "data/options.h"

namespace ps {

// The slots slot1, slot2, … and label, in the order of a line.
struct InferredSlots {
  std::vector<SlotOptions> slots;
  std::string label_slot;
};

// Returns true if every whole line of `head` consists of counts that are followed by as many numbers, with as
// many slots as the first line, at least two.
bool looks_like_multislot(std::string_view head);

// Infers the slots.  A slot is dense if one of its values is no id: 0.5, -1.  The label is the last slot if it
// has one value in each line, else the first.  But if only the first has no other values than 0 and 1, it is
// that one.  Throws kData, naming `file`, if the lines are not multislot, if no slot can be the label, or if a
// dense slot has several lengths.
InferredSlots infer_slots(std::string_view head, std::string_view file);

}  // namespace ps

#endif  // PS_DATA_INFER_SLOTS_H_
