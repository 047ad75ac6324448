// Package checker judges a cluster from outside: given nothing but Node and Pod objects as the API server
// holds them, it says whether any GPU is promised to more than it has.
//
// It shares no code with fgpu and does not ask fgpu anything. Demand is computed from pod specs, devices
// from what nodes publish; the assignment annotation is believed only in so far as it says *which* devices a
// pod got, and every number in it is compared with the spec.
package checker

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// AssignmentKey is the annotation that fgpu writes together with the Binding.
const AssignmentKey = "fgpu.io/assignment"

// InventoryKey is the annotation by which a node publishes its GPUs.
const InventoryKey = "fgpu.io/gpus"

// Device is one GPU with what the pods on it take.
type Device struct {
	UUID     string
	Index    int64
	MemMiB   int64 // 0: the node does not say
	SlotsCap int64
	Profile  string // of a MIG instance; its GPU is cut and has nothing of its own
	Cut      bool
	Milli    int64 // of a MIG instance
	Slice    bool  // a virtual GPU of a fixed profile, which nobody has a part of
	Part     int64 // milli of a GPU of which only this part is here; 0: all of it
	Caps     int64 // percentages handed out to containers that run together, added up
	Used     Charge
	Pods     []string // namespace/name of those that hold a part
}

// Report is the outcome of Check.
type Report struct {
	Violations []string
	Nodes      map[string][]*Device
	// Unassigned are live bound pods that use GPUs and whose devices nobody recorded.
	Unassigned []string

	settings Settings
	plugin   map[string][2]int64            // capacity and use of plugin GPUs, or their replicas
	oneEach  map[string]bool                // nodes whose plugin gives a container one replica
	mig      map[string]map[string][2]int64 // node, profile: the same for instances of a plugin
}

type assignedContainer struct {
	Name    string `json:"name"`
	Init    bool   `json:"init"`
	Devices []struct {
		UUID   string `json:"uuid"`
		Index  int64  `json:"index"`
		Milli  int64  `json:"milli"`
		MemMiB int64  `json:"memMib"`
	} `json:"devices"`
}

type assignment struct {
	V          int                 `json:"v"`
	ID         string              `json:"id"`
	QoS        string              `json:"qos"`
	Containers []assignedContainer `json:"containers"`
}

// Terminal is true for a pod that has ended and therefore holds nothing.
func Terminal(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// Check folds all pods into the devices of their nodes and lists everything that must not be.
func Check(nodes []*corev1.Node, pods []*corev1.Pod, s Settings) *Report {
	r := &Report{Nodes: map[string][]*Device{}, settings: s, plugin: map[string][2]int64{}, oneEach: map[string]bool{},
		mig: map[string]map[string][2]int64{}}
	for _, n := range nodes {
		devices, err := devicesOf(n, s)
		if err == nil {
			devices, err = sliced(n, devices)
		}
		if err != nil {
			r.violate("node %s: %v", n.Name, err)
		}
		r.Nodes[n.Name] = devices
		total := int64(0)
		for _, name := range s.Plugin {
			q := n.Status.Allocatable[name]
			total += q.Value()
		}
		r.plugin[n.Name] = [2]int64{total, 0}
		r.oneEach[n.Name] = n.Labels["nvidia.com/gpu.sharing-strategy"] == "mps"
		r.mig[n.Name] = map[string][2]int64{}
		for name, q := range n.Status.Allocatable {
			if profile, ok := migProfile(name); ok && q.Value() > 0 {
				r.mig[n.Name][profile] = [2]int64{q.Value(), 0}
			}
		}
	}
	sorted := slices.Clone(pods)
	sort.Slice(sorted, func(i, j int) bool { return id(sorted[i]) < id(sorted[j]) })
	for _, p := range sorted {
		if p.Spec.NodeName != "" && !Terminal(p) {
			r.fold(p)
		}
	}
	r.compare()
	return r
}

func id(p *corev1.Pod) string { return p.Namespace + "/" + p.Name }

func (r *Report) violate(format string, args ...any) {
	r.Violations = append(r.Violations, fmt.Sprintf(format, args...))
}

// devicesOf lists the GPUs of a node: its annotation, else the configured compute resources, else the whole GPUs
// of a plugin.
func devicesOf(n *corev1.Node, s Settings) ([]*Device, error) {
	if text, ok := n.Annotations[InventoryKey]; ok {
		var doc struct {
			GPUs []struct {
				UUID   string `json:"uuid"`
				Index  int64  `json:"index"`
				MemMiB int64  `json:"memMib"`
				Slots  int64  `json:"slots"`
				MIG    *[]struct {
					UUID    string `json:"uuid"`
					Profile string `json:"profile"`
					Start   int64  `json:"start"`
					MemMiB  int64  `json:"memMib"`
				} `json:"mig"`
			} `json:"gpus"`
		}
		if err := json.Unmarshal([]byte(text), &doc); err != nil {
			return nil, fmt.Errorf("annotation %s: %w", InventoryKey, err)
		}
		var devices []*Device
		for _, g := range doc.GPUs {
			d := &Device{UUID: g.UUID, Index: g.Index, MemMiB: max(0, g.MemMiB-s.ReserveMiB), SlotsCap: s.MaxSharers}
			if g.Slots > 0 {
				d.SlotsCap = g.Slots
			}
			if g.MIG != nil {
				d.Cut, d.MemMiB, d.SlotsCap = true, 0, 0
				for _, in := range *g.MIG {
					slices := int64(in.Profile[0] - '0')
					devices = append(devices, &Device{UUID: in.UUID, Index: 1024 + 8*g.Index + in.Start, MemMiB: in.MemMiB,
						SlotsCap: 1, Profile: in.Profile, Milli: Whole * slices / 7})
				}
			}
			devices = append(devices, d)
		}
		return devices, nil
	}
	if n.Labels["nvidia.com/mig.strategy"] == "single" {
		return nil, nil // what the plugin calls GPUs are instances, counted by it
	}
	for _, names := range []map[corev1.ResourceName]int64{s.Compute, s.Sold} {
		for name, units := range names {
			if q, ok := n.Status.Allocatable[name]; ok && q.Value() > 0 {
				return inUnits(q.Value(), units, s), nil
			}
		}
	}
	var devices []*Device
	if gpus, err := strconv.Atoi(n.Labels["nvidia.com/gpu.count"]); err == nil {
		memory, _ := strconv.ParseInt(n.Labels["nvidia.com/gpu.memory"], 10, 64)
		for i := range gpus {
			devices = append(devices, &Device{Index: int64(i), MemMiB: max(0, memory-s.ReserveMiB), SlotsCap: s.MaxSharers})
		}
		return devices, nil
	}
	if !explained(n) {
		return nil, nil // the plugin's number may count tenths of GPUs
	}
	for _, name := range s.Plugin {
		q := n.Status.Allocatable[name]
		for i := int64(0); i < q.Value(); i++ {
			devices = append(devices, &Device{Index: int64(len(devices)), SlotsCap: s.MaxSharers})
		}
	}
	return devices, nil
}

// inUnits are the GPUs behind so many units, and the part of one more that is left.
func inUnits(n, units int64, s Settings) (devices []*Device) {
	for i := range n / units {
		devices = append(devices, &Device{Index: i, SlotsCap: s.MaxSharers})
	}
	if rest := n % units * Whole / units; rest > 0 {
		devices = append(devices, &Device{Index: n / units, SlotsCap: s.MaxSharers, Part: rest})
	}
	return devices
}

// explained tells whether somebody has said what one of a plugin's GPUs in allocatable is.
func explained(n *corev1.Node) bool {
	for _, key := range []string{"vgpu.type", "virtual.gpu.type"} {
		if _, ok := n.Labels[key]; ok {
			return true
		}
	}
	return n.Labels["fgpu.io/allocatable"] == "whole-gpus"
}

// fold charges one live bound pod.
func (r *Report) fold(p *corev1.Pod) {
	d, err := DemandOf(p, r.settings)
	if err != nil {
		r.violate("pod %s on %s: bound although its request is refused: %v", id(p), p.Spec.NodeName, err)
		return
	}
	if d.Empty() {
		return
	}
	devices, known := r.Nodes[p.Spec.NodeName]
	if !known {
		r.violate("pod %s: bound to %s, which does not exist", id(p), p.Spec.NodeName)
		return
	}
	if d.Plugin > 0 {
		if r.oneEach[p.Spec.NodeName] && d.most > 1 {
			r.violate("pod %s on %s: a container has %d replicas of MPS, which hands out one", id(p), p.Spec.NodeName, d.most)
		}
		use := r.plugin[p.Spec.NodeName]
		use[1] += d.Plugin
		r.plugin[p.Spec.NodeName] = use
		return
	}
	if offered := r.mig[p.Spec.NodeName]; len(offered) > 0 && d.ByProfile() {
		for profile, n := range d.profiles() {
			offered[profile] = [2]int64{offered[profile][0], offered[profile][1] + n}
		}
		return
	}
	text, ok := p.Annotations[AssignmentKey]
	d.decide(r.settings, ok)
	if !ok {
		// Nobody knows its devices: it may be using all of them.
		r.Unassigned = append(r.Unassigned, id(p))
		for _, dev := range devices {
			total := Charge{}
			for _, running := range d.Phases {
				total = peak(total, sum(d, running, dev, r.settings))
			}
			dev.hold(p, total)
		}
		return
	}
	got, err := r.assigned(p, d, text, devices)
	if err != nil {
		r.violate("pod %s on %s: %v", id(p), p.Spec.NodeName, err)
		return
	}
	for _, dev := range devices {
		total := Charge{}
		for _, running := range d.Phases {
			var here []int
			for _, w := range running {
				if slices.Contains(got[w], dev) {
					here = append(here, w)
				}
			}
			total = peak(total, sum(d, here, dev, r.settings))
		}
		if total.Slots > 0 {
			dev.hold(p, total)
		}
	}
}

func sum(d Demand, running []int, dev *Device, s Settings) (c Charge) {
	for _, w := range running {
		one := d.Requests[w].of(dev, s)
		c.Milli += one.Milli
		c.MemMiB += one.MemMiB
		c.Slots += one.Slots
		c.Alone = c.Alone || one.Alone
	}
	return c
}

func peak(a, b Charge) Charge {
	return Charge{max(a.Milli, b.Milli), max(a.MemMiB, b.MemMiB), max(a.Slots, b.Slots), a.Alone || b.Alone}
}

func (dev *Device) hold(p *corev1.Pod, c Charge) {
	dev.Used.Milli += c.Milli
	dev.Used.MemMiB += c.MemMiB
	dev.Used.Slots += c.Slots
	dev.Pods = append(dev.Pods, id(p))
	dev.Used.Alone = dev.Used.Alone || c.Alone
}

// assigned resolves the record of a pod to devices, per request, and compares every statement in it.
func (r *Report) assigned(p *corev1.Pod, d Demand, text string, devices []*Device) ([][]*Device, error) {
	var a assignment
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return nil, fmt.Errorf("unreadable assignment: %w", err)
	}
	if a.V != 1 || a.ID == "" {
		return nil, fmt.Errorf("assignment has v %d and id %q", a.V, a.ID)
	}
	if said := cmp.Or(a.QoS, fixedShare); said != d.qos {
		return nil, fmt.Errorf("the assignment says %s, the pod is to have %s", said, d.qos)
	}
	containers := 0
	for i := range d.Requests {
		if i == 0 || !d.goesOn(i) {
			containers++
		}
	}
	if len(a.Containers) != containers {
		return nil, fmt.Errorf("assignment names %d containers, %d use GPUs", len(a.Containers), containers)
	}
	if err := r.settings.strayKeys(p, d); err != nil {
		return nil, err
	}
	got := make([][]*Device, len(d.Requests))
	var visible []string
	var here []*Device
	least := int64(Whole)
	for i, w := range d.Requests {
		k := slices.IndexFunc(a.Containers, func(c assignedContainer) bool {
			return c.Name == w.Container && c.Init == w.Init
		})
		if k < 0 {
			return nil, fmt.Errorf("container %s is missing in the assignment", w.Container)
		}
		first, last := !d.goesOn(i), i+1 == len(d.Requests) || !d.goesOn(i+1)
		if first {
			visible, here, least = nil, nil, Whole
		}
		for _, ad := range a.Containers[k].Devices {
			if !(first && last) && w.alone != (ad.Milli >= Whole) {
				continue // of the other request of this container
			}
			j := slices.IndexFunc(devices, func(dev *Device) bool { return dev.UUID == ad.UUID && dev.Index == ad.Index })
			if j < 0 {
				return nil, fmt.Errorf("container %s: device %q index %d is not on the node", w.Container, ad.UUID, ad.Index)
			}
			dev := devices[j]
			if slices.Contains(got[i], dev) || (!first && slices.Contains(got[i-1], dev)) {
				return nil, fmt.Errorf("container %s: device %s twice", w.Container, dev.name())
			}
			if why := w.objection(dev); why != "" {
				return nil, fmt.Errorf("container %s: device %s: %s", w.Container, dev.name(), why)
			}
			want := w.of(dev, r.settings)
			if ad.Milli != want.Milli || (dev.MemMiB > 0 && ad.MemMiB != want.MemMiB) {
				return nil, fmt.Errorf("container %s: recorded %d milli and %d MiB, the spec says %d and %d",
					w.Container, ad.Milli, ad.MemMiB, want.Milli, want.MemMiB)
			}
			got[i] = append(got[i], dev)
			visible = append(visible, dev.name())
			here = append(here, dev)
			if dev.Profile == "" && !dev.Slice && ad.Milli > 0 {
				least = min(least, ad.Milli)
			}
		}
		if int64(len(got[i])) != w.Count {
			return nil, fmt.Errorf("container %s has %d devices, asked for %d", w.Container, len(got[i]), w.Count)
		}
		if !last {
			continue
		}
		if r.settings.HandOffs[p.Spec.NodeName] != "" {
			if err := r.settings.handedOff(p, w, visible, here); err != nil {
				return nil, err
			}
			continue
		}
		kind := "c"
		if w.Init {
			kind = "i"
		}
		key := fmt.Sprintf("fgpu.io/visible-devices.%s%d", kind, w.Position)
		shown := strings.Split(p.Annotations[key], ",")
		slices.Sort(shown)
		slices.Sort(visible)
		if !slices.Equal(shown, visible) {
			return nil, fmt.Errorf("%s is %q, the assignment says %q", key, p.Annotations[key], strings.Join(visible, ","))
		}
		cap := int64(100)
		if d.qos == fixedShare || r.settings.NothingLent {
			cap = max(1, least/10)
		}
		key = fmt.Sprintf("fgpu.io/mps-active-thread-percentage.%s%d", kind, w.Position)
		if got := p.Annotations[key]; got != strconv.FormatInt(cap, 10) {
			return nil, fmt.Errorf("%s is %q, expected %d", key, got, cap)
		}
		for _, dev := range here {
			if !w.Init {
				dev.Caps += cap
			}
		}
	}
	return got, nil
}

// goesOn is true for the second request of a container.
func (d Demand) goesOn(i int) bool {
	return i > 0 && d.Requests[i].Init == d.Requests[i-1].Init && d.Requests[i].Position == d.Requests[i-1].Position
}

// name is what NVIDIA_VISIBLE_DEVICES would call the device.
func (dev *Device) name() string {
	if dev.UUID != "" {
		return dev.UUID
	}
	return strconv.FormatInt(dev.Index, 10)
}

// capacity is the compute of the device in milli.
func (dev *Device) capacity() int64 {
	if dev.Part > 0 {
		return dev.Part
	}
	return Whole
}

// compare lists every device and node that is promised to more than it has.
func (r *Report) compare() {
	names := make([]string, 0, len(r.Nodes))
	for name := range r.Nodes {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		shared := false
		for _, dev := range r.Nodes[name] {
			u := dev.Used
			shared = shared || len(dev.Pods) > 0
			if u.Milli > dev.capacity() {
				r.violate("node %s device %s: %d milli of %d promised to %v", name, dev.name(), u.Milli, dev.capacity(), dev.Pods)
			}
			if dev.MemMiB > 0 && u.MemMiB > dev.MemMiB {
				r.violate("node %s device %s: %d MiB of %d promised to %v", name, dev.name(), u.MemMiB, dev.MemMiB, dev.Pods)
			}
			if u.Slots > dev.SlotsCap {
				r.violate("node %s device %s: %d sharers of %d: %v", name, dev.name(), u.Slots, dev.SlotsCap, dev.Pods)
			}
			if r.settings.NothingLent && dev.Caps > 100 {
				r.violate("node %s device %s: percentages add up to %d: %v", name, dev.name(), dev.Caps, dev.Pods)
			}
			if u.Alone && len(dev.Pods) > 1 {
				r.violate("node %s device %s: held alone by one of %v", name, dev.name(), dev.Pods)
			}
		}
		for profile, use := range r.mig[name] {
			if use[1] > use[0] {
				r.violate("node %s: %d instances %s of a plugin promised, it has %d", name, use[1], profile, use[0])
			}
		}
		p := r.plugin[name]
		if p[1] > p[0] {
			r.violate("node %s: %d whole GPUs of a plugin promised, it has %d", name, p[1], p[0])
		}
		if p[1] > 0 && shared {
			r.violate("node %s: shares and whole GPUs of a plugin side by side", name)
		}
	}
}

// Fits says whether some node could take this pod in addition, looking at GPUs alone. It answers for pods
// with one container that uses GPUs, which makes the search a count.
func (r *Report) Fits(p *corev1.Pod) (bool, error) {
	d, err := DemandOf(p, r.settings)
	if err != nil || len(d.Requests) != 1 || d.Plugin > 0 {
		return false, fmt.Errorf("pod %s: not one plain request (%v)", id(p), err)
	}
	w := d.Requests[0]
	for name, devices := range r.Nodes {
		if r.plugin[name][1] > 0 {
			continue
		}
		room := int64(0)
		for _, dev := range devices {
			c := w.of(dev, r.settings)
			if w.objection(dev) != "" || dev.Used.Alone || (c.Alone && len(dev.Pods) > 0) || (w.memMiB > 0 && dev.MemMiB == 0) {
				continue
			}
			if dev.Used.Milli+c.Milli <= dev.capacity() && (dev.MemMiB == 0 || dev.Used.MemMiB+c.MemMiB <= dev.MemMiB) &&
				dev.Used.Slots+c.Slots <= dev.SlotsCap {
				room++
			}
		}
		if room >= w.Count {
			return true, nil
		}
	}
	return false, nil
}
