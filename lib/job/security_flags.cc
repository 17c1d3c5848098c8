#include "job/security_flags.h"

namespace ps {

SecurityOptions security_options(const Flags& flags) {
  return {.token_file = flags.text("token-file").value_or(""),
          .tls = {.certificate = flags.text("tls-cert").value_or(""),
                  .key = flags.text("tls-key").value_or(""),
                  .authority = flags.text("tls-ca").value_or("")},
          .insecure = flags.on("insecure")};
}

}  // namespace ps
