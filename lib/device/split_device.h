// SplitDevice: several devices as one.  Each has the rows whose keys its number owns by hash, so a row is on one device, which
// makes all its steps: results are those of one device.  Used by open_row_device.
#ifndef PS_DEVICE_SPLIT_DEVICE_H_
#define PS_DEVICE_SPLIT_DEVICE_H_

#include <memory>
#include <vector>

#include "device/row_device.h"

namespace ps {

// A capacity in rows or bytes is of all devices together, which have equal parts of it.  They work one after the other.
class SplitDevice final : public RowDevice {
 public:
  // At least one.
  explicit SplitDevice(std::vector<std::unique_ptr<RowDevice>> devices);

  // As much as can be divided equally.
  uint64_t free_bytes() const override;
  uint64_t bytes_for(const CachedRowsOptions& options) const override;
  uint64_t rows_for(uint64_t bytes, const CachedRowsOptions& options) const override;
  std::unique_ptr<CachedRows> make_rows(const CachedRowsOptions& options) override;

 private:
  CachedRowsOptions part_of(const CachedRowsOptions& options) const;

  const std::vector<std::unique_ptr<RowDevice>> devices_;
};

}  // namespace ps

#endif  // PS_DEVICE_SPLIT_DEVICE_H_
