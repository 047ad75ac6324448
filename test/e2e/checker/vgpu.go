package checker

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

var profileName = regexp.MustCompile(`^[a-z0-9_.]+-([1-9][0-9]*)[qbac]-([1-9][0-9]*)gb$`)

// sliced makes the devices of a node virtual GPUs of the profile that its label names. A label that is no such
// profile leaves none, because nobody knows what they have.
func sliced(n *corev1.Node, devices []*Device) ([]*Device, error) {
	label, ok := n.Labels["vgpu.type"]
	other, also := n.Labels["virtual.gpu.type"]
	switch {
	case !ok && !also:
		return devices, nil
	case ok && also && label != other:
		return nil, nil
	case !ok:
		label = other
	}
	m := profileName.FindStringSubmatch(strings.ToLower(label))
	if m == nil || m[1] != m[2] {
		return nil, nil
	}
	gb, err := strconv.ParseInt(m[1], 10, 32)
	if err != nil {
		return nil, fmt.Errorf("label %q: %w", label, err)
	}
	for _, d := range devices {
		if d.MemMiB == 0 || d.MemMiB > gb*1024 {
			d.MemMiB = gb * 1024
		}
		d.Slice, d.SlotsCap = true, 1
	}
	return devices, nil
}
