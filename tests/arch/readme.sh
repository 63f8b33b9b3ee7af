#!/bin/sh
# README's table of layers is what the program supports.
top=${srcdir:-$(dirname "$0")/../..}
exec sh "$top/build-aux/readme_layers" --check "${BPG_PROGRAM:-./bpgraph}"
