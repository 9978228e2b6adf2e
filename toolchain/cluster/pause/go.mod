module quorate.io/toolchain/cluster/pause

go 1.26
