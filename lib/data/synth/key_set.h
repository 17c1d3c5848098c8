// The ids of one row, to keep them distinct; emptied in constant time.  Scratch of one thread.
#ifndef PS_DATA_SYNTH_KEY_SET_H_
#define PS_DATA_SYNTH_KEY_SET_H_

#include <bit>
#include <cstdint>
#include <vector>

#include "data/batch.h"

namespace ps {

// Open addressing; a place is taken when its round is the current one.
class KeySet {
 public:
  // Empties the set and makes room for `capacity` keys.
  void reset(size_t capacity) {
    size_t places = std::bit_ceil(2 * capacity + 2);
    if (places > places_.size()) {
      places_.assign(places, {});
      round_ = 0;
    }
    if (++round_ == 0) {
      places_.assign(places_.size(), {});
      round_ = 1;
    }
    mask_ = places - 1;
  }

  // False when the key was there.
  bool insert(Key key) {
    for (size_t i = (key * 0x9e3779b97f4a7c15ULL) >> 32 & mask_;; i = (i + 1) & mask_) {
      if (places_[i].round != round_) return places_[i] = {key, round_}, true;
      if (places_[i].key == key) return false;
    }
  }

 private:
  struct Place {
    Key key = 0;
    uint32_t round = 0;
  };
  std::vector<Place> places_;
  size_t mask_ = 0;
  uint32_t round_ = 0;
};

}  // namespace ps

#endif  // PS_DATA_SYNTH_KEY_SET_H_
