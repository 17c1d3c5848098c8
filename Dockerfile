# The image that share/launch/kubernetes.yaml runs: the Debian package of pskit, and what it depends on.
#
#   docker build -t pskit .
#   docker run --rm -v "$PWD:/data" pskit ps-train --recipe logistic --data train.csv
#
# A server listens on 127.0.0.1 unless it is given --host 0.0.0.0, which needs a token: ps-security(7).  Files in a folder that
# is mounted get the owner that --user of docker run names, else root.
FROM debian:12 AS build
WORKDIR /src
COPY examples/setup.sh examples/setup.sh
RUN examples/setup.sh && apt-get install -y --no-install-recommends dpkg-dev file
COPY . .
RUN cmake --preset release && cmake --build --preset release
RUN cpack --config build/release/CPackConfig.cmake -B /package

FROM debian:12-slim
COPY --from=build /package/*.deb /package/
RUN apt-get update && apt-get install -y --no-install-recommends /package/*.deb && rm -rf /var/lib/apt/lists/*
WORKDIR /data
CMD ["ps-train", "--help"]
