package checker

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Whole is the compute of one GPU in milli.
const Whole = 1000

// Size is what a named size (annotation fgpu.io/size, limit fgpu.io/size.NAME) stands for; zero means not given.
type Size struct{ Milli, MemMiB, Count int64 }

// Settings is the vocabulary of the cluster under test: which resource names mean what.
type Settings struct {
	Compute        map[corev1.ResourceName]int64 // name -> units of one whole GPU
	Memory         []corev1.ResourceName         // counted in MiB
	Count          []corev1.ResourceName         // how many devices
	Plugin         []corev1.ResourceName         // whole GPUs, or units, that a device plugin hands out
	Sold           map[corev1.ResourceName]int64 // of these: units of one whole GPU
	Sizes          map[string]Size
	SizesOf        map[string]map[string]Size   // by namespace: what a size is there instead
	Spans          map[corev1.ResourceName]bool // above one GPU: whole ones and the rest of one more
	MaxSharers     int64                        // of a device that does not publish its own number of slots
	ReserveMiB     int64                        // taken off the memory of every device
	MemoryOnlyFree bool                         // a pod that asks for memory alone takes no compute
	QoS            string                       // of pods that say nothing; empty: fixed-share
	NothingLent    bool                         // no container may use more compute than it is charged
	HandOffs       map[string]string            // by node: who reads the decision there; none: downward-api
	KAI            bool                         // the annotations of Run:ai and KAI-Scheduler mean something
}

// Default is the vocabulary of manifests/dedicated/fgpu.yaml.
func Default() Settings {
	return Settings{
		Compute:    map[corev1.ResourceName]int64{"fgpu.io/gpu-milli": 1000, "nvidia.com/vgpu": 1000, "cnvrg.io/metagpu": 100},
		Memory:     []corev1.ResourceName{"fgpu.io/gpu-memory-mib"},
		Count:      []corev1.ResourceName{"fgpu.io/gpu-count"},
		Spans:      map[corev1.ResourceName]bool{"cnvrg.io/metagpu": true},
		Plugin:     []corev1.ResourceName{"nvidia.com/gpu", "nvidia.com/gpu.shared"},
		MaxSharers: 16,
	}
}

// Charge is what is taken of one device.
type Charge struct {
	Milli, MemMiB, Slots int64
	Alone                bool
}

// Request is what one container wants of each of Count distinct devices. A container that wants two and a half has two,
// one behind the other, and all of their devices are distinct.
type Request struct {
	Container string
	Init      bool
	Position  int // in its list
	Count     int64
	milli     int64 // -1: the share that the memory is of the device
	memMiB    int64 // -1: the share that the milli are of the device
	alone     bool
	profile   string // MIG instances of this profile
	even      bool   // at least the even part of the compute
	kai       bool   // amounts as KAI-Scheduler counts them; -1 as above
}

// On is the charge of this request on a device with memMiB of memory (design.md section 5, table).
func (w Request) On(memMiB int64, s Settings) Charge {
	if w.kai {
		return w.onByKAI(memMiB, s)
	}
	c := Charge{Milli: w.milli, MemMiB: w.memMiB, Slots: 1, Alone: w.alone}
	switch {
	case w.alone:
		c.Milli, c.MemMiB = Whole, memMiB
	case w.memMiB < 0:
		c.MemMiB = memMiB * w.milli / Whole
	case w.milli < 0 && s.MemoryOnlyFree:
		c.Milli = 0
	case w.milli < 0:
		c.Milli = Whole
		if memMiB > 0 {
			c.Milli = max(1, Whole*w.memMiB/memMiB)
		}
	}
	return c
}

// of is the charge on a device that may be a MIG instance, which nobody has a part of.
func (w Request) of(dev *Device, s Settings) Charge {
	if dev.Profile != "" {
		return Charge{dev.Milli, dev.MemMiB, 1, true}
	}
	c := w.On(dev.MemMiB, s)
	if dev.Slice {
		c.Milli, c.MemMiB = Whole, max(c.MemMiB, dev.MemMiB)
	} else if w.even && dev.SlotsCap > 0 {
		c.Milli = max(c.Milli, Whole/dev.SlotsCap)
	}
	return c
}

// objection says why the device is no answer to this request, however free it is.
func (w Request) objection(dev *Device) string {
	switch {
	case dev.Cut:
		return "cut into MIG instances"
	case dev.Part > 0 && w.alone:
		return "a part of a GPU for a pod that wants whole ones"
	case dev.Profile == "" && w.profile != "":
		return "no MIG instance"
	case dev.Profile != "" && w.profile == "" && (w.alone || w.kai || w.milli >= 0):
		return "a MIG instance for a pod that wants compute of a GPU"
	case dev.Profile != "" && w.profile != "" && w.profile != dev.Profile:
		return "a MIG instance of another profile"
	case dev.Profile != "" && w.memMiB > dev.MemMiB:
		return "a MIG instance that is too small"
	}
	return ""
}

// migProfile is the profile of nvidia.com/mig-1g.10gb.me: 1g.10gb+me.
func migProfile(name corev1.ResourceName) (string, bool) {
	text, ok := strings.CutPrefix(string(name), "nvidia.com/mig-")
	return strings.Replace(text, "gb.", "gb+", 1), ok
}

// ByProfile is true for a pod that asks for MIG instances as resources.
func (d Demand) ByProfile() bool {
	return len(d.Requests) > 0 && d.Requests[0].profile != "" && !d.annotated
}

// profiles are the instances that kubelet holds for the pod: the peak over its phases.
func (d Demand) profiles() map[string]int64 {
	most := map[string]int64{}
	for _, running := range d.Phases {
		now := map[string]int64{}
		for _, w := range running {
			now[d.Requests[w].profile] += d.Requests[w].Count
		}
		for profile, n := range now {
			most[profile] = max(most[profile], n)
		}
	}
	return most
}

// Demand is everything a pod asks of GPUs.
type Demand struct {
	Requests []Request
	// Phases are sets of indexes into Requests: the containers that run at the same time.
	Phases [][]int
	Plugin int64 // whole GPUs of a device plugin, or its replicas, peak over the phases
	most   int64 // of these, in one container

	annotated bool
	qos       string
}

const (
	fixedShare = "fixed-share"
	equalShare = "equal-share"
)

// decide fixes the quality of service: the pod wins over its node. Who came past fgpu was told nothing by the node.
func (d *Demand) decide(s Settings, placed bool) {
	if d.qos == "" && placed {
		d.qos = s.QoS
	}
	if d.qos == "" {
		d.qos = fixedShare
	}
	for i := range d.Requests {
		d.Requests[i].even = d.qos == equalShare
	}
}

// Empty is true for a pod that asks for no GPU.
func (d Demand) Empty() bool { return len(d.Requests) == 0 && d.Plugin == 0 }

// DemandOf reads the demand from the spec and the annotations of a pod. An error means that the request is
// contradictory or absurd and that nobody may bind the pod.
func DemandOf(p *corev1.Pod, s Settings) (Demand, error) {
	var d Demand
	asked, err := askedByAnnotations(p, s)
	if err != nil {
		return d, err
	}
	target := ""
	if asked != nil {
		if target, err = annotatedContainer(p); err != nil {
			return d, err
		}
	}
	if s.KAI {
		byKAI, container, err := askedByKAI(p)
		if err != nil {
			return d, err
		}
		if byKAI != nil {
			asked, target = byKAI, container
		}
	}
	d.annotated = asked != nil
	d.qos = p.Annotations["fgpu.io/qos"]
	if d.qos != "" && !slices.Contains([]string{fixedShare, "best-effort", equalShare}, d.qos) {
		return d, fmt.Errorf("fgpu.io/qos: %q", d.qos)
	}

	var plugin []int64 // per init container and then per app container, as the phases need them
	var sidecar []bool
	index := map[int][]int{} // running number of a container -> requests
	all := 0
	add := func(c corev1.Container, init bool, position int) error {
		ws, n, err := containerRequest(c, p.Namespace, s)
		if err != nil {
			return fmt.Errorf("container %s: %w", c.Name, err)
		}
		if asked != nil && asked.kai && (len(ws) > 0 || n > 0) {
			return fmt.Errorf("container %s: resources beside gpu-fraction or gpu-memory", c.Name)
		}
		if asked != nil && c.Name == target {
			if len(ws) > 0 || n > 0 {
				return fmt.Errorf("container %s: asked for by resources and by annotations", c.Name)
			}
			ws = []*Request{asked}
		}
		for _, w := range ws {
			w.Container, w.Init, w.Position = c.Name, init, position
			index[all] = append(index[all], len(d.Requests))
			d.Requests = append(d.Requests, *w)
		}
		plugin = append(plugin, n)
		d.most = max(d.most, n)
		sidecar = append(sidecar, init && c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways)
		all++
		return nil
	}
	for i, c := range p.Spec.InitContainers {
		if err := add(c, true, i); err != nil {
			return d, err
		}
	}
	for i, c := range p.Spec.Containers {
		if err := add(c, false, i); err != nil {
			return d, err
		}
	}

	// An ordinary init container runs with the sidecars started before it; at the end everything that is
	// not an ordinary init container runs together.
	inits := len(p.Spec.InitContainers)
	for phase := 0; phase <= inits; phase++ {
		if phase < inits && sidecar[phase] {
			continue
		}
		var running []int
		for k := 0; k < all; k++ {
			switch {
			case phase < inits && (k == phase || (k < phase && sidecar[k])):
				running = append(running, k)
			case phase == inits && (k >= inits || sidecar[k]):
				running = append(running, k)
			}
		}
		var requests []int
		gpus := int64(0)
		for _, k := range running {
			gpus += plugin[k]
			requests = append(requests, index[k]...)
		}
		d.Plugin = max(d.Plugin, gpus)
		if len(requests) > 0 {
			d.Phases = append(d.Phases, requests)
		}
	}
	if d.Plugin > 0 && len(d.Requests) > 0 {
		return d, fmt.Errorf("whole GPUs of a plugin beside shares")
	}
	return d, nil
}

// given is a set of numbers as the pod states them; -1 is "not stated".
type given struct{ milli, mem, count int64 }

// request turns stated numbers into a request by the table of design.md section 5.
func (g given) request() (*Request, error) {
	w := &Request{Count: 1, milli: g.milli, memMiB: g.mem}
	if g.count >= 0 {
		w.Count = g.count
		if g.count == 0 {
			return nil, fmt.Errorf("zero devices")
		}
	}
	switch {
	case g.milli == 0 || g.mem == 0:
		return nil, fmt.Errorf("zero share")
	case g.milli < 0 && g.mem < 0:
		w.alone = true // a count alone: whole devices
	case g.milli > Whole:
		if g.milli%Whole != 0 || g.count >= 0 || g.mem >= 0 {
			return nil, fmt.Errorf("%d milli fit no device", g.milli)
		}
		w.Count, w.alone = g.milli/Whole, true
	case g.milli == Whole && g.mem < 0:
		w.alone = true
	}
	return w, nil
}

func containerRequest(c corev1.Container, namespace string, s Settings) (ws []*Request, plugin int64, err error) {
	g, any, spans := given{-1, -1, -1}, false, false
	read := func(name corev1.ResourceName, into *int64, numerator, denominator int64) error {
		q, ok := c.Resources.Limits[name]
		if !ok {
			if q, ok = c.Resources.Requests[name]; !ok {
				return nil
			}
		}
		v, exact := q.AsInt64()
		switch {
		case !exact || v < 0:
			return fmt.Errorf("%s: %s is no whole number of units", name, q.String())
		case v == 0:
			return nil // a managed name with quantity 0 asks for nothing
		case *into >= 0:
			return fmt.Errorf("%s: asked for twice", name)
		case v > 1<<31 || v*numerator%denominator != 0:
			return fmt.Errorf("%s: %d units", name, v)
		}
		*into, any = v*numerator/denominator, true
		return nil
	}
	for name, units := range s.Compute {
		if err := read(name, &g.milli, Whole, units); err != nil {
			return nil, 0, err
		}
		_, asks := c.Resources.Limits[name]
		spans = spans || (asks && s.Spans[name])
	}
	for _, name := range s.Memory {
		if err := read(name, &g.mem, 1, 1); err != nil {
			return nil, 0, err
		}
	}
	for _, name := range s.Count {
		if err := read(name, &g.count, 1, 1); err != nil {
			return nil, 0, err
		}
	}
	for _, name := range s.Plugin {
		if q, ok := c.Resources.Limits[name]; ok {
			plugin += q.Value()
		}
	}
	for name, q := range c.Resources.Limits {
		if profile, ok := migProfile(name); ok && q.Value() > 0 {
			if any || ws != nil {
				return nil, 0, fmt.Errorf("%s: beside something else", name)
			}
			ws = []*Request{{Count: q.Value(), milli: -1, memMiB: -1, alone: true, profile: profile}}
		}
	}
	for name, q := range c.Resources.Limits {
		size, ok := strings.CutPrefix(string(name), "fgpu.io/size.")
		if !ok || q.IsZero() {
			continue
		}
		if any || ws != nil || q.Value() != 1 {
			return nil, 0, fmt.Errorf("%s: %s of it, or beside something else", name, q.String())
		}
		if g, any = s.size(size, namespace); !any {
			return nil, 0, fmt.Errorf("%s: no such size", name)
		}
	}
	if !any {
		return ws, plugin, nil
	}
	if spans && g.milli > Whole && g.milli%Whole != 0 && g.mem < 0 && g.count < 0 {
		return []*Request{{Count: g.milli / Whole, alone: true, milli: Whole, memMiB: -1},
			{Count: 1, milli: g.milli % Whole, memMiB: -1}}, plugin, nil
	}
	w, err := g.request()
	return []*Request{w}, plugin, err
}

// size is what a named size stands for in a namespace.
func (s Settings) size(name, namespace string) (given, bool) {
	size, known := s.SizesOf[namespace][name]
	if !known {
		size, known = s.Sizes[name]
	}
	stated := func(v int64) int64 {
		if v == 0 {
			return -1
		}
		return v
	}
	return given{stated(size.Milli), stated(size.MemMiB), stated(size.Count)}, known
}

func askedByAnnotations(p *corev1.Pod, s Settings) (*Request, error) {
	g, any := given{-1, -1, -1}, false
	if text, ok := p.Annotations["fgpu.io/gpu-fraction"]; ok {
		r, good := new(big.Rat).SetString(text)
		if !good || r.Sign() <= 0 {
			return nil, fmt.Errorf("fgpu.io/gpu-fraction: %q", text)
		}
		if r.Mul(r, big.NewRat(Whole, 1)); !r.IsInt() || !r.Num().IsInt64() {
			return nil, fmt.Errorf("fgpu.io/gpu-fraction: %q is finer than a milli", text)
		}
		g.milli, any = r.Num().Int64(), true
	}
	if text, ok := p.Annotations["fgpu.io/gpu-memory"]; ok {
		q, err := resource.ParseQuantity(text)
		if err != nil || q.Sign() <= 0 {
			return nil, fmt.Errorf("fgpu.io/gpu-memory: %q", text)
		}
		g.mem, any = (q.Value()+(1<<20)-1)>>20, true
	}
	if text, ok := p.Annotations["fgpu.io/gpu-count"]; ok {
		q, err := resource.ParseQuantity(text)
		v, exact := q.AsInt64()
		if err != nil || !exact || v <= 0 {
			return nil, fmt.Errorf("fgpu.io/gpu-count: %q", text)
		}
		g.count, any = v, true
	}
	if name, ok := p.Annotations["fgpu.io/size"]; ok {
		size, known := s.size(name, p.Namespace)
		if !known || any {
			return nil, fmt.Errorf("fgpu.io/size: %q", name)
		}
		g, any = size, true
	}
	if profile, ok := p.Annotations["fgpu.io/mig-profile"]; ok {
		if g.milli >= 0 || g.count == 0 {
			return nil, fmt.Errorf("fgpu.io/mig-profile: %q beside something else", profile)
		}
		return &Request{Count: max(1, g.count), milli: -1, memMiB: g.mem, alone: true, profile: profile}, nil
	}
	if !any {
		return nil, nil
	}
	return g.request()
}

func annotatedContainer(p *corev1.Pod) (string, error) {
	name, ok := p.Annotations["fgpu.io/container"]
	if !ok {
		return p.Spec.Containers[0].Name, nil
	}
	for _, c := range p.Spec.Containers {
		if c.Name == name {
			return name, nil
		}
	}
	return "", fmt.Errorf("fgpu.io/container: no app container %q", strings.TrimSpace(name))
}
