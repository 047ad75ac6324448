package node

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"fgpu.io/fgpu/test/e2e/harness"
)

// patience bounds a failing test; no test passes or fails by how fast a passing one is.
const patience = 90 * time.Second

const assignmentKey = "fgpu.io/assignment"

// sight is what `box look` prints (box/main.go).
type sight struct {
	Visible, Nodes []string
	Allowed        []int
	Cuda           []string
	Mps            bool
	Preload        string
}

// scene is one test with a namespace of its own.
type scene struct {
	*testing.T
	ctx       context.Context
	namespace string
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{T: t, ctx: context.Background(), namespace: strings.ToLower(strings.TrimPrefix(t.Name(), "Test"))}
	s.namespace = s.namespace[:min(len(s.namespace), 50)]
	_, err := plane.Client.CoreV1().Namespaces().Create(s.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}, metav1.CreateOptions{})
	s.must(err)
	start := time.Now()
	t.Cleanup(func() {
		s.clear()
		say("%s: %.1f s", t.Name(), time.Since(start).Seconds())
	})
	return s
}

func (s *scene) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// until waits for a condition; `what` is told last why it is not there yet.
func (s *scene) until(what string, condition func() (bool, string)) {
	s.Helper()
	deadline, last := time.Now().Add(patience), ""
	for time.Now().Before(deadline) {
		var there bool
		if there, last = condition(); there {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.Fatalf("%s: not within %v; last: %s\nend of fgpu-node's log:\n%s", what, patience, last, harness.Tail(theNode.path("fgpu-node.log"), 10))
}

// ---- pods ----

// box is a container that says what it sees and stays.
func box(name, image string, limits ...string) corev1.Container {
	return corev1.Container{Name: name, Image: image, ImagePullPolicy: corev1.PullNever,
		Resources: corev1.ResourceRequirements{Limits: harness.Quantities(limits...)}}
}

func podOf(name string, containers ...corev1.Container) *corev1.Pod {
	// With 0 the object would be gone before the container.
	second := int64(1)
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}},
		Spec: corev1.PodSpec{SchedulerName: "fgpu-scheduler", TerminationGracePeriodSeconds: &second, Containers: containers}}
}

// onNode is a pod that no scheduler sees.
func onNode(p *corev1.Pod) *corev1.Pod {
	p.Spec.NodeName = harness.RealNode
	return p
}

func (s *scene) create(p *corev1.Pod) *corev1.Pod {
	s.Helper()
	made, err := plane.Client.CoreV1().Pods(s.namespace).Create(s.ctx, p, metav1.CreateOptions{})
	s.must(err)
	return made
}

func (s *scene) get(name string) *corev1.Pod {
	s.Helper()
	p, err := plane.Client.CoreV1().Pods(s.namespace).Get(s.ctx, name, metav1.GetOptions{})
	s.must(err)
	return p
}

// unscheduled is a pod with one container "main" that waits for somebody to bind it.
func unscheduled(name string) *corev1.Pod {
	p := podOf(name, box("main", cudaImage))
	p.Spec.SchedulerName = "the-test"
	return p
}

// bindAs binds a pod with a record of that share of a GPU, as another fgpu with the same key would.
func (s *scene) bindAs(p *corev1.Pod, gpu int, milli int64) {
	s.Helper()
	record, err := plane.SignedRecord(string(p.UID), harness.RealNode, "of-another-replica",
		harness.RecordDevice{UUID: gpus[gpu], Index: int64(gpu), Milli: milli, MemMiB: gpuMemMiB * milli / 1000})
	s.must(err)
	s.bindWith(p, record)
}

func (s *scene) bindWith(p *corev1.Pod, record string) {
	s.Helper()
	s.must(plane.Client.CoreV1().Pods(s.namespace).Bind(s.ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name, UID: p.UID, Annotations: map[string]string{assignmentKey: record}},
		Target:     corev1.ObjectReference{Kind: "Node", Name: harness.RealNode}}, metav1.CreateOptions{}))
}

// recordOf is the record of a pod that fgpu has bound and that sees its GPU.
func (s *scene) recordOf(name string, limits ...string) string {
	s.Helper()
	p := s.create(podOf(name, box("main", cudaImage, limits...)))
	s.alone(p, "main", s.gpuOf(p))
	return s.get(name).Annotations[assignmentKey]
}

func replaceOnce(s *scene, text, from, to string) string {
	s.Helper()
	if n := strings.Count(text, from); n != 1 {
		s.Fatalf("%q stands %d times in %s", from, n, text)
	}
	return strings.Replace(text, from, to, 1)
}

// remove deletes a pod and waits until kubelet has ended it.
func (s *scene) remove(name string) {
	s.Helper()
	s.must(plane.Client.CoreV1().Pods(s.namespace).Delete(s.ctx, name, metav1.DeleteOptions{}))
	s.ended(name)
}

func (s *scene) ended(name string) {
	s.Helper()
	s.until("the end of pod "+name, func() (bool, string) {
		p, err := plane.Client.CoreV1().Pods(s.namespace).Get(s.ctx, name, metav1.GetOptions{})
		return err != nil, fmt.Sprint(p.Status.Phase)
	})
}

func (s *scene) clear() {
	pods, err := plane.Client.CoreV1().Pods(s.namespace).List(s.ctx, metav1.ListOptions{})
	if err != nil {
		s.Error(err)
		return
	}
	for _, p := range pods.Items {
		if err := plane.Client.CoreV1().Pods(s.namespace).Delete(s.ctx, p.Name, metav1.DeleteOptions{}); err != nil {
			s.Error(err)
		}
	}
	for _, p := range pods.Items {
		s.ended(p.Name)
	}
}

// ---- what is seen ----

// log of the first instance of a container, as containerd writes it, or "".
func logOf(p *corev1.Pod, container string) string {
	text, err := os.ReadFile(theNode.path("pods", p.Namespace+"_"+p.Name+"_"+string(p.UID), container, "0.log"))
	if err != nil {
		return ""
	}
	return string(text)
}

// sees waits for what a container says that it sees.
func (s *scene) sees(p *corev1.Pod, container string) sight {
	s.Helper()
	var seen sight
	s.until("container "+p.Name+"/"+container, func() (bool, string) {
		text := logOf(p, container)
		_, line, found := strings.Cut(text, " F ") // TIME stdout F TEXT
		if found && strings.HasSuffix(line, "\n") {
			s.must(json.Unmarshal([]byte(line), &seen))
			return true, ""
		}
		return false, fmt.Sprintf("log %q; events: %s", text, strings.Join(s.told(p.UID), "\n"))
	})
	return seen
}

// told are the messages of the Events of a pod.
func (s *scene) told(uid types.UID) []string {
	list, err := plane.Client.CoreV1().Events(s.namespace).List(s.ctx, metav1.ListOptions{FieldSelector: "involvedObject.uid=" + string(uid)})
	if err != nil {
		return []string{err.Error()}
	}
	var messages []string
	for _, e := range list.Items {
		messages = append(messages, e.Reason+": "+e.Message)
	}
	return messages
}

// refused waits until an Event of the pod says why it does not run, and demands that no container of it ever did.
func (s *scene) refused(p *corev1.Pod, says ...string) {
	s.Helper()
	s.until("the refusal of pod "+p.Name, func() (bool, string) {
		all := s.told(p.UID)
		for _, message := range all {
			if strings.HasPrefix(message, "Failed: ") && containsAll(message, says) {
				return true, ""
			}
		}
		return false, strings.Join(all, "\n")
	})
	for _, c := range p.Spec.Containers {
		if text := logOf(p, c.Name); text != "" {
			s.Errorf("container %s of pod %s ran: %s", c.Name, p.Name, text)
		}
	}
}

func containsAll(text string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}

func equal[T any](s *scene, what string, got, want T) {
	s.Helper()
	if g, w := fmt.Sprintf("%q", fmt.Sprint(got)), fmt.Sprintf("%q", fmt.Sprint(want)); g != w {
		s.Errorf("%s: %s, expected %s", what, g, w)
	}
}

// alone demands that a container sees this GPU and no other.
func (s *scene) alone(p *corev1.Pod, container string, gpu int) {
	s.Helper()
	seen := s.sees(p, container)
	equal(s, container+": files", seen.Nodes, []string{fmt.Sprintf("/dev/nvidia%d", gpu)})
	equal(s, container+": GPUs that its cgroup allows", seen.Allowed, []int{gpu})
	equal(s, container+": NVIDIA_VISIBLE_DEVICES", seen.Visible, []string{"void"})
}

// nothing demands that a container sees no GPU.
func (s *scene) nothing(p *corev1.Pod, container string) {
	s.Helper()
	seen := s.sees(p, container)
	equal(s, container+": files", seen.Nodes, []string{})
	equal(s, container+": GPUs that its cgroup allows", seen.Allowed, []int{})
	equal(s, container+": NVIDIA_VISIBLE_DEVICES", seen.Visible, []string{"void"})
}

// gpuOf is the GPU that fgpu has decided on, read from the record.
func (s *scene) gpuOf(p *corev1.Pod) int {
	s.Helper()
	gpu := -1
	s.until("the record of pod "+p.Name, func() (bool, string) {
		record := s.get(p.Name).Annotations[assignmentKey]
		for i, uuid := range gpus {
			if strings.Contains(record, uuid) {
				gpu = i
			}
		}
		return gpu >= 0, record + strings.Join(s.told(p.UID), "\n")
	})
	return gpu
}

// gpuOfContainer is the same for one container of a pod that has its record.
func (s *scene) gpuOfContainer(p *corev1.Pod, container string) int {
	s.Helper()
	var record struct {
		Containers []struct {
			Name    string
			Devices []struct{ UUID string }
		}
	}
	s.must(json.Unmarshal([]byte(s.get(p.Name).Annotations[assignmentKey]), &record))
	for _, c := range record.Containers {
		if c.Name == container && len(c.Devices) == 1 {
			return slices.Index(gpus, c.Devices[0].UUID)
		}
	}
	s.Fatalf("the record of pod %s gives %s no single GPU: %+v", p.Name, container, record)
	return -1
}
