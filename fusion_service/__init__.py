"""Many lanes' findings into one ranked, cited answer: pure functions behind one gRPC service."""
