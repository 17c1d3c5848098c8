// The types of devices that a job names, and the devices for rows that they stand for.  Used by whoever opens one.
#ifndef PS_DEVICE_DEVICE_TYPE_H_
#define PS_DEVICE_DEVICE_TYPE_H_

#include <memory>
#include <optional>
#include <string_view>

#include "device/row_device.h"

namespace ps {

// Returns N of cuda:N, and nullopt for other types.
std::optional<int> cuda_number(std::string_view type);

// Throws kUsage "device.type: …" unless the type is cpu, or emulated, emulated:N or cuda:N, or several of the
// latter three with commas between.
void check_device_type(std::string_view type);

// Opens a device of such a type; several are opened as one, and share the rows.  Throws kUsage if one does not exist.
std::unique_ptr<RowDevice> open_row_device(std::string_view type);

}  // namespace ps

#endif  // PS_DEVICE_DEVICE_TYPE_H_
