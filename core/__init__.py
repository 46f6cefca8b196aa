"""The shared floor: records, contracts, pipeline, configuration, text, embeddings and wire."""

import os

# gRPC's own log goes to stderr and repeats what the statuses carry; read when grpc is first imported
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
