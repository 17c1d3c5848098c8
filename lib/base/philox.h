// Random numbers that depend on a key and a counter alone (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011),
// for the processor and for devices.  Used by base/random.h and by kernels.
#ifndef PS_BASE_PHILOX_H_
#define PS_BASE_PHILOX_H_

#include <cstdint>

namespace ps {

struct PhiloxNumbers {
  uint32_t numbers[4];
};

// Four independent uniform numbers for each (key, counter_high, counter_low): Philox 4x32 with 10 rounds.
constexpr PhiloxNumbers philox_numbers(uint64_t key, uint64_t counter_high, uint64_t counter_low) {
  constexpr uint64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  uint32_t c0 = static_cast<uint32_t>(counter_low), c1 = static_cast<uint32_t>(counter_low >> 32);
  uint32_t c2 = static_cast<uint32_t>(counter_high), c3 = static_cast<uint32_t>(counter_high >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = kMultiplier0 * c0, p1 = kMultiplier1 * c2;
    c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<uint32_t>(p1);
    c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<uint32_t>(p0);
    k0 += kWeyl0;
    k1 += kWeyl1;
  }
  return {{c0, c1, c2, c3}};
}

}  // namespace ps

#endif  // PS_BASE_PHILOX_H_
