package checker

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// kaiStep is the precision in which KAI-Scheduler sees the memory of a GPU, in MiB.
const kaiStep = 100

// onByKAI is the charge of a request in KAI-Scheduler's annotations: a fraction of the memory that it sees, or an amount
// that is so many hundredths of it.
func (w Request) onByKAI(memMiB int64, s Settings) Charge {
	seen := memMiB / kaiStep * kaiStep
	c := Charge{Milli: w.milli, MemMiB: w.memMiB, Slots: 1}
	if w.memMiB < 0 {
		c.MemMiB = seen * w.milli / Whole
	} else {
		for c.Milli = 10; c.Milli < Whole && c.Milli*seen < w.memMiB*Whole; {
			c.Milli += 10
		}
	}
	if s.MemoryOnlyFree && c.MemMiB > 0 {
		c.Milli = 0
	}
	return c
}

// askedByKAI reads the request and the container that it is for; nil for a pod that does not speak this vocabulary.
func askedByKAI(p *corev1.Pod) (*Request, string, error) {
	fraction, byFraction := p.Annotations["gpu-fraction"]
	memory, byMemory := p.Annotations["gpu-memory"]
	devices, counted := p.Annotations["gpu-fraction-num-devices"]
	if !byFraction && !byMemory && !counted {
		return nil, "", nil
	}
	if byFraction == byMemory {
		return nil, "", fmt.Errorf("gpu-fraction, gpu-memory and gpu-fraction-num-devices do not fit together")
	}
	w := &Request{Count: 1, milli: -1, memMiB: -1, kai: true}
	var err error
	if byFraction {
		whole, decimals, point := strings.Cut(fraction, ".")
		decimals = strings.TrimRight(decimals, "0")
		if !point || strings.Trim(whole, "0") != "" || decimals == "" || len(decimals) > 3 {
			return nil, "", fmt.Errorf("gpu-fraction: %q", fraction)
		}
		milli, err := strconv.ParseUint((decimals + "00")[:3], 10, 16)
		if err != nil {
			return nil, "", fmt.Errorf("gpu-fraction: %q", fraction)
		}
		w.milli = int64(milli)
	} else if w.memMiB, err = positive(memory, 1<<24); err != nil {
		return nil, "", fmt.Errorf("gpu-memory: %w", err)
	}
	if counted {
		if w.Count, err = positive(devices, 64); err != nil {
			return nil, "", fmt.Errorf("gpu-fraction-num-devices: %w", err)
		}
	}
	for name := range p.Annotations {
		switch name {
		case "fgpu.io/gpu-fraction", "fgpu.io/gpu-memory", "fgpu.io/gpu-count", "fgpu.io/size", "fgpu.io/mig-profile",
			"fgpu.io/container":
			return nil, "", fmt.Errorf("%s beside gpu-fraction or gpu-memory", name)
		}
	}
	target, err := kaiContainer(p)
	return w, target, err
}

func positive(text string, most uint64) (int64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n == 0 || n > most {
		return 0, fmt.Errorf("%q", text)
	}
	return int64(n), nil
}

func kaiContainer(p *corev1.Pod) (string, error) {
	name, ok := p.Annotations["gpu-fraction-container-name"]
	if !ok {
		return p.Spec.Containers[0].Name, nil
	}
	for _, c := range append(append([]corev1.Container{}, p.Spec.Containers...), p.Spec.InitContainers...) {
		if c.Name == name {
			return name, nil
		}
	}
	return "", fmt.Errorf("gpu-fraction-container-name: no container %q", name)
}
