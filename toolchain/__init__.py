"""How the toolchain is brought and driven: the environment, the engine, and the commands behind `make`."""
