module fgpu.io/fgpu/test/nri

go 1.26.0
