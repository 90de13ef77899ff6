#!/bin/sh
# Makes the modules of this folder anew; see ORIGIN.md for the versions. The tests
# need none of these programs.
set -eu
cd "$(dirname "$0")"
link=$(rustc --print sysroot)/lib/rustlib/x86_64-unknown-linux-gnu/bin/rust-lld
llc-14 -O2 -mattr=+simd128 -filetype=obj src/llvm.ll -o llvm.o
"$link" -flavor wasm --no-entry --export=_start --strip-all -z stack-size=4096 llvm.o -o llvm.wasm
rm llvm.o
RUSTC_BOOTSTRAP=1 rustc --target wasm32-unknown-unknown -O -C panic=abort -C "linker=$link" -C linker-flavor=wasm-ld \
	-C link-arg=-zstack-size=4096 -C strip=symbols src/rust.rs -o rust.wasm
chmod 644 llvm.wasm rust.wasm
