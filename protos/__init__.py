"""Wire definitions of `securecollarag.v1` and the code generated from them (`make protos`)."""
