// SplitDevice: several devices as one.  The hash of a key chooses the device, so a row is on one device, which
// makes all its steps.  Results are those of one device.  Used by open_row_device.
#ifndef PS_DEVICE_SPLIT_DEVICE_H_
#define PS_DEVICE_SPLIT_DEVICE_H_

#include <memory>
#include <vector>

#include "device/row_device.h"

namespace ps {

// A capacity in rows or bytes is that of all devices together; each has an equal part of it.  The devices work
// one after the other.  One owner thread.
class SplitDevice final : public RowDevice {
 public:
  // There must be at least one device.
  explicit SplitDevice(std::vector<std::unique_ptr<RowDevice>> devices);

  // Returns as many bytes as can be divided equally.
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
