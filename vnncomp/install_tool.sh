#!/bin/bash
# install_tool.sh v1: packages and the build, in this clone. Once; needs the network, and root or sudo.
[[ ${1-} == v1 ]] || { echo "usage: install_tool.sh v1" >&2; exit 2; }
exec "$(dirname "$0")/../quickstart"
