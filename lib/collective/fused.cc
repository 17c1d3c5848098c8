#include "collective/fused.h"

#include <algorithm>

namespace ps {

namespace {

// Returns the number of arrays at the front that form one all-reduce; it is at least one.
size_t num_fused(std::span<const size_t> bytes) {
  // A larger array than kFusedBytes stops the loop at once, and forms an all-reduce of its own.
  size_t sum = 0, count = 0;
  for (; count < bytes.size() && bytes[count] <= kFusedBytes - sum; ++count) sum += bytes[count];
  return std::max<size_t>(count, 1);
}

// Copies the arrays one behind the other, all-reduces the copy, and copies the sums back.
template <class T>
void reduce_together(Communicator& communicator, std::span<const Elements> arrays) {
  std::vector<T> all;
  for (const Elements& array : arrays) {
    const T* values = reinterpret_cast<const T*>(array.bytes().data());
    all.insert(all.end(), values, values + array.count());
  }
  communicator.all_reduce(all);
  const T* sums = all.data();
  for (const Elements& array : arrays) {
    std::copy_n(sums, array.count(), reinterpret_cast<T*>(array.bytes().data()));
    sums += array.count();
  }
}

void reduce_together(Communicator& communicator, std::span<const Elements> arrays) {
  switch (arrays[0].type()) {
    case ElementType::kF32:
      return reduce_together<float>(communicator, arrays);
    case ElementType::kF64:
      return reduce_together<double>(communicator, arrays);
    case ElementType::kI64:
      return reduce_together<int64_t>(communicator, arrays);
  }
}

}  // namespace

std::vector<size_t> fused_groups(std::span<const size_t> bytes) {
  std::vector<size_t> groups;
  for (; !bytes.empty(); bytes = bytes.subspan(groups.back())) groups.push_back(num_fused(bytes));
  return groups;
}

// Neighbours of one type are grouped by themselves.
std::vector<size_t> fused_groups(std::span<const Elements> arrays) {
  std::vector<size_t> groups, bytes;
  for (size_t i = 0; i < arrays.size(); ++i) {
    bytes.push_back(arrays[i].size_bytes());
    if (i + 1 < arrays.size() && arrays[i + 1].type() == arrays[i].type()) continue;
    const std::vector<size_t> of_type = fused_groups(bytes);
    groups.insert(groups.end(), of_type.begin(), of_type.end());
    bytes.clear();
  }
  return groups;
}

void all_reduce_fused(Communicator& communicator, std::span<const Elements> arrays) {
  for (const size_t count : fused_groups(arrays)) {
    if (count == 1) {
      communicator.all_reduce(arrays[0]);
    } else {
      reduce_together(communicator, arrays.first(count));
    }
    arrays = arrays.subspan(count);
  }
}

}  // namespace ps
