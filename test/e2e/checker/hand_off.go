package checker

import (
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// handedOff compares what the annotations of a pod say to the program of its node with the devices of one container. The
// hand-off downward-api is compared where the record is.
func (s Settings) handedOff(p *corev1.Pod, w Request, visible []string, here []*Device) error {
	list := func(key, prefix string) error {
		var want []string
		for _, name := range visible {
			want = append(want, prefix+name)
		}
		slices.Sort(want)
		got := strings.Split(p.Annotations[key], ",")
		slices.Sort(got)
		if !slices.Equal(got, want) {
			return fmt.Errorf("%s is %q, expected %v", key, p.Annotations[key], want)
		}
		return nil
	}
	switch how := s.HandOffs[p.Spec.NodeName]; how {
	case "nvidia-cdi":
		return list("nvidia.cdi.k8s.io/container."+w.Container, "nvidia.com/gpu=")
	case "kai-fractioning":
		if err := list("nvidia.com/container."+w.Container+".gpus.devices", ""); err != nil {
			return err
		}
		least := int64(math.MaxInt64)
		for _, dev := range here {
			least = min(least, w.of(dev, s).MemMiB)
		}
		for _, key := range []string{"request", "limit"} {
			key = "nvidia.com/container." + w.Container + ".gpu-memory." + key
			q, err := resource.ParseQuantity(p.Annotations[key])
			if err != nil || q.Value() != least<<20 {
				return fmt.Errorf("%s is %q, expected %d MiB", key, p.Annotations[key], least)
			}
		}
		return nil
	default:
		return fmt.Errorf("the checker knows no hand-off %q", how)
	}
}

// forOthers is true for annotations by which programs that are not fgpu's choose GPUs.
func forOthers(key string) bool {
	return strings.HasPrefix(key, "nvidia.cdi.k8s.io/") || strings.HasPrefix(key, "nvidia.com/container.")
}

// strayKeys returns an annotation by which a program of a node would give a container GPUs that are not its own.
func (s Settings) strayKeys(p *corev1.Pod, d Demand) error {
	for key, value := range p.Annotations {
		mine := slices.ContainsFunc(d.Requests, func(w Request) bool {
			return strings.Contains(key, "container."+w.Container)
		}) && s.HandOffs[p.Spec.NodeName] != ""
		if forOthers(key) && value != "" && !mine {
			return fmt.Errorf("%s is %q, and no container has GPUs by it", key, value)
		}
	}
	return nil
}
