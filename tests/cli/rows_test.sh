#!/bin/bash
# A library includes only the libraries that it says it uses (share/cmake/Rows.cmake), all of lower rows; a folder of a
# library likewise; no header includes itself by way of others; and third parties stay at home.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"

# check_rows TREE: prints every include that breaks a rule; status 1 if there is one.
check_rows() {
  local tree=$1
  (cd "$tree" && awk '
    # Where each third party may be included.
    BEGIN {
      home["Eigen"] = "gpu math model"
      home["boost/context"] = "base"
      home["sanitizer"] = "base gpu"
      home["cub"] = home["cuda"] = "gpu"
      home["boost/program_options"] = "cli"
      home["boost"] = home["openssl"] = "net"
      home["mpi.h"] = "bench collective"
      home["nlohmann"] = "config"
      home["zstd.h"] = "base data chunk"
      home["zlib.h"] = "base data checkpoint"
      home["xxhash.h"] = "base"
      home["absl"] = home["gloo"] = home["libcuckoo"] = home["rocksdb"] = home["tsl"] = "bench"
      split("arpa linux netinet sys", folders)
      for (i in folders) system_folder[folders[i]] = 1
    }
    function report(what) {
      print FILENAME ":" FNR ": " what
      broken = 1
    }
    function check_home(party, header) {
      if (index(" " home[party] " ", " " library " ") == 0) {
        report("<" header "> in lib/" library ", but its home is " home[party])
      }
    }
    FILENAME ~ /Rows.cmake$/ {
      if ($0 !~ /^ps_(library|folder)\(/) next
      split($0, word, /[( )]+/)
      subject = word[2]
      known[subject] = 1
      if (word[3] == "ROW") row[subject] = word[4]
      for (i = 3; i in word && word[i] != "PARTIES"; ++i) if (listed) uses[subject, word[i]] = 1; else listed = word[i] == "USES"
      listed = 0
      next
    }
    FNR == 1 {
      split(FILENAME, path, "/")
      library = path[2]
      folder = library "/" path[3]
      if (!(library in row)) report("lib/" library " has no row")
    }
    /^[ \t]*#[ \t]*include[ \t]*"/ {
      split($0, quoted, "\"")
      split(quoted[2], path, "/")
      other = path[1]
      other_folder = other "/" path[2]
      if (!(other in row)) {
        report("\"" quoted[2] "\" is in no library")
      } else if (other != library) {
        if (row[other] + 0 >= row[library] + 0) {
          report("lib/" library " (row " row[library] ") includes lib/" other " (row " row[other] ")")
        } else if (!((library, other) in uses)) {
          report("lib/" library " includes lib/" other ", which it does not say it uses")
        }
      } else if (folder in known && folder != other_folder && !((folder, other_folder) in uses)) {
        report("lib/" folder " includes lib/" other_folder ", which it does not say it uses")
      }
    }
    /^[ \t]*#[ \t]*include[ \t]*</ {
      split($0, angle, /[<>]/)
      header = angle[2]
      parts = split(header, path, "/")
      party = path[1] "/" path[2]
      sub(/[.]hp*$/, "", party)
      if (party in home) check_home(party, header)
      else if (path[1] in home) check_home(path[1], header)
      else if (parts > 1 && !(path[1] in system_folder)) report("<" header "> has no home")
    }
    END { exit broken }
  ' share/cmake/Rows.cmake $(find lib -name "*.h" -o -name "*.cc" -o -name "*.cu"))
}

# check_circles TREE: prints the headers whose files, header and source together, are in a circle of includes; status 1
# if there is one.
check_circles() {
  (cd "$1/lib" && grep -rE '^[ 	]*#[ 	]*include[ 	]*"' --include='*.h' --include='*.cc' --include='*.cu' . |
    sed -E 's#^\./([^:]*)\.(h|cc|cu):[^"]*"([^"]*)\.h".*#\1.h \3.h#' | awk '$1 != $2' | tsort 2>&1 >/dev/null) |
    sed -n 's|^tsort: \(.*[.]h\)$|lib/\1: is in a circle of includes|p' | (! grep .)
}

# A planted violation must be found, or the check is worth nothing.
plant() {
  local file=$1 line=$2 check=${3:-check_rows} named=${4:-$1}
  rm -rf "$scratch/tree"
  mkdir -p "$scratch/tree/share"
  cp -r "$PS_SOURCE/lib" "$scratch/tree/lib"
  cp -r "$PS_SOURCE/share/cmake" "$scratch/tree/share/cmake"
  echo "$line" >>"$scratch/tree/$file"
  if "$check" "$scratch/tree" >"$scratch/planted"; then fail "'$line' in $file was not found"; fi
  expect_text "$scratch/planted" "$named:"
}

check_rows "$PS_SOURCE" || fail "the includes above break the rows"
check_circles "$PS_SOURCE" || fail "the files above include each other"
plant lib/model/layer_node.h '#include "model/graph.h"' check_circles
plant lib/ps/wire/push_codecs.h '#include "ps/wire/gather.h"' check_circles
plant lib/data/options.cc '#include "data/format.h"' check_circles lib/data/format.h
plant lib/base/error.h '#include "config/json.h"'
plant lib/config/json.h '#include "cli/flags.h"'
plant lib/optim/optimizer.h '#include "data/batch.h"'
plant lib/chunk/format.h '#include "base/error.h"
#include "data/batch.h"'
plant lib/codec/row_codec.h '#include "checkpoint/manifest.h"'
plant lib/ps/wire/hello.h '#include "ps/server/shard.h"'
plant lib/ps/client/remote_store.h '#include "ps/server/shard.h"'
plant lib/base/text.h '#include "elsewhere/text.h"'
plant lib/data/batch.h '#include <nlohmann/json.hpp>'
plant lib/base/file.cc '#include <Eigen/Core>'
plant lib/config/spec.cc '#include <boost/program_options.hpp>'
plant lib/cli/flags.cc '#include <boost/asio.hpp>'
plant lib/table/sparse_table.cc '#include <boost/context/fiber.hpp>'
plant lib/config/spec.cc '#include <zstd.h>'
plant lib/table/sparse_table.cc '#include <absl/container/flat_hash_map.h>'
plant lib/job/serve.cc '#include <openssl/ssl.h>'
plant lib/base/file.cc '#include <fmt/format.h>'
echo "all includes of $(find "$PS_SOURCE/lib" -name '*.h' -o -name '*.cc' | wc -l) files keep the rows"
