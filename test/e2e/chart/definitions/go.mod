// Modules of which the tests take the definitions of custom resources, as files: nothing imports them.
module fgpu.io/fgpu/test/e2e/chart/definitions

go 1.26.0

require (
	github.com/cert-manager/cert-manager v1.21.2
	github.com/prometheus-operator/prometheus-operator v0.85.0
)
