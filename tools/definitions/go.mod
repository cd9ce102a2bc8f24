// Modules that are not built: the definitions of kinds in them are installed in the cluster of the tests.
module lanemesh/tools/definitions

go 1.25.0

require (
	github.com/cert-manager/cert-manager v1.21.2
	github.com/prometheus-operator/prometheus-operator v0.85.0
)
