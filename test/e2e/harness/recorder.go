package harness

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"fgpu.io/fgpu/test/e2e/checker"
)

// Recorder watches the pods of one namespace and judges every single state the API server went through, not
// only the last one.
type Recorder struct {
	cp        *ControlPlane
	namespace string
	nodes     []*corev1.Node
	settings  checker.Settings
	cancel    context.CancelFunc
	done      chan struct{}

	mu         sync.Mutex
	changed    chan struct{} // closed and replaced at every event
	pods       map[types.UID]*corev1.Pod
	bound      int // pods seen bound, ever
	relists    int
	violations []string
	bypassing  map[string]bool // pods that the test itself binds without an assignment, or edits
	doubled    map[string]bool // nodes whose GPUs the test itself gives twice
}

// Record starts watching. `nodes` are all the nodes there are.
func (cp *ControlPlane) Record(namespace string, nodes []*corev1.Node, s checker.Settings) *Recorder {
	ctx, cancel := context.WithCancel(context.Background())
	r := &Recorder{cp: cp, namespace: namespace, nodes: nodes, settings: s, cancel: cancel, done: make(chan struct{}),
		changed: make(chan struct{}), pods: map[types.UID]*corev1.Pod{}, bypassing: map[string]bool{}, doubled: map[string]bool{}}
	go r.run(ctx)
	return r
}

// Stop ends the watch.
func (r *Recorder) Stop() {
	r.cancel()
	<-r.done
}

// Bypass announces a pod that the test binds behind fgpu's back, or whose record it edits.
func (r *Recorder) Bypass(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bypassing[name] = true
}

// DoubleBook announces that the test gives GPUs of this node twice: from now on what they hold is not judged.
func (r *Recorder) DoubleBook(node string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.doubled[node] = true
}

// SetNodes tells the recorder of nodes that changed.
func (r *Recorder) SetNodes(nodes []*corev1.Node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nodes = nodes
}

func (r *Recorder) run(ctx context.Context) {
	defer close(r.done)
	for ctx.Err() == nil {
		r.follow(ctx)
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond): // the API server is away: part of what is tested
		}
	}
}

// follow lists once and watches from there until the watch ends.
func (r *Recorder) follow(ctx context.Context) {
	list, err := r.cp.Client.CoreV1().Pods(r.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	r.replace(list.Items)
	w, err := r.cp.Client.CoreV1().Pods(r.namespace).Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		return
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		pod, ok := event.Object.(*corev1.Pod)
		if !ok {
			return
		}
		r.mu.Lock()
		if event.Type == watch.Deleted {
			delete(r.pods, pod.UID)
		} else {
			r.observe(pod)
		}
		r.announce()
		r.mu.Unlock()
	}
}

func (r *Recorder) replace(items []corev1.Pod) {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := map[types.UID]bool{}
	for i := range items {
		seen[items[i].UID] = true
	}
	for uid := range r.pods {
		if !seen[uid] {
			delete(r.pods, uid)
		}
	}
	for i := range items {
		r.observe(&items[i])
	}
	r.relists++
	r.announce()
}

func (r *Recorder) announce() {
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *Recorder) violate(format string, args ...any) {
	r.violations = append(r.violations, fmt.Sprintf(format, args...))
}

// observe takes in one state of one pod. Locked.
func (r *Recorder) observe(pod *corev1.Pod) {
	before := r.pods[pod.UID]
	r.pods[pod.UID] = pod
	if pod.Spec.NodeName == "" {
		return
	}
	record, has := pod.Annotations[checker.AssignmentKey]
	if before == nil || before.Spec.NodeName == "" {
		r.bound++
		if d, err := checker.DemandOf(pod, r.settings); err == nil && len(d.Requests) > 0 && !has && !r.bypassing[pod.Name] {
			r.violate("pod %s: the first event with a node carries no %s", pod.Name, checker.AssignmentKey)
		}
	} else if old := before.Annotations[checker.AssignmentKey]; old != record && !r.bypassing[pod.Name] {
		r.violate("pod %s: assignment changed after binding, from %q to %q", pod.Name, old, record)
	}
	if r.doubled[pod.Spec.NodeName] {
		return
	}
	// Only this pod's node can have changed.
	var here []*corev1.Pod
	for _, p := range r.pods {
		if p.Spec.NodeName == pod.Spec.NodeName {
			here = append(here, p)
		}
	}
	var node []*corev1.Node
	for _, n := range r.nodes {
		if n.Name == pod.Spec.NodeName {
			node = append(node, n)
		}
	}
	report := checker.Check(node, here, r.settings)
	for _, v := range report.Violations {
		r.violate("at resourceVersion %s: %s", pod.ResourceVersion, v)
	}
}

// Violations found so far.
func (r *Recorder) Violations() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.violations...)
}

// Bound counts pods seen bound since the start.
func (r *Recorder) Bound() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bound
}

// Relists counts how often the watch had to begin anew.
func (r *Recorder) Relists() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.relists
}

// Changed is closed at the next event.
func (r *Recorder) Changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// Pod returns the latest state of a pod, nil when there is none of this name.
func (r *Recorder) Pod(name string) *corev1.Pod {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.pods {
		if p.Name == name {
			return p
		}
	}
	return nil
}
