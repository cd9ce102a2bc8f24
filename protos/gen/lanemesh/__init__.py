"""The contract, generated from protos/lanemesh."""
