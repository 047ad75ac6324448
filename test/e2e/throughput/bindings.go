package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"

	"fgpu.io/fgpu/test/e2e/harness"
)

// A form is a way to send Bindings to the API server. Each differs from another in one thing, so that this thing has a price.
type form struct {
	name     string
	against  string // the form whose difference to this one is the price
	http2    bool
	protobuf bool
	query    string
	record   bool // with the record, as fgpu writes it
	handOff  bool // with the other annotations that fgpu writes
	version  bool // with the pod's resourceVersion as a precondition; the uid is one in every form
	watches  int  // of all pods in JSON, as fgpu's
	fresh    int  // of so many Bindings, each is sent over a new connection; 0: 16 are kept
}

var forms = []form{
	{name: "as kube-scheduler: protobuf, HTTP/2", http2: true, protobuf: true},
	{name: "JSON, HTTP/2", against: "as kube-scheduler: protobuf, HTTP/2", http2: true},
	{name: "protobuf", against: "JSON", protobuf: true},
	{name: "JSON", against: "JSON, HTTP/2"},
	{name: "no field validation", against: "JSON", query: "?fieldValidation=Ignore"},
	{name: "a timeout", against: "JSON", query: "?timeout=4s"},
	{name: "the pod's version", against: "JSON", version: true},
	{name: "the record", against: "JSON", record: true},
	{name: "the record and three keys for the hand-off", against: "the record", record: true, handOff: true},
	{name: "every 16th over a new connection", against: "JSON", fresh: 16},
	{name: "a watch", against: "JSON", watches: 1},
	{name: "a second watch", against: "a watch", watches: 2},
	{name: "all annotations, the version, two watches", against: "JSON", record: true, handOff: true, version: true, watches: 2},
}

// binder sends Bindings of one form.
type binder struct {
	b       *bench
	form    form
	client  *http.Client
	encoder *protobuf.Serializer
}

func (b *bench) binderOf(f form) (*binder, error) {
	pem, err := os.ReadFile(b.plane.Config.CAFile)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s: no certificate", b.plane.Config.CAFile)
	}
	t := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: f.http2, MaxIdleConnsPerHost: 64, DisableCompression: true}
	if !f.http2 {
		t.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	}
	return &binder{b, f, &http.Client{Transport: t}, protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)}, nil
}

func (x *binder) do(ctx context.Context, method, path, contentType string, body []byte, alone bool) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, x.b.plane.URL+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+x.b.plane.Config.BearerToken)
	req.Header.Set("User-Agent", "bench")
	req.Header.Set("Accept", "application/json")
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	if !alone {
		return x.client.Do(req)
	}
	t, ok := x.client.Transport.(*http.Transport)
	if !ok {
		return nil, fmt.Errorf("a %T opens no connections", x.client.Transport)
	}
	req.Close = true
	once := t.Clone()
	once.TLSNextProto = t.TLSNextProto
	defer once.CloseIdleConnections()
	return (&http.Client{Transport: once}).Do(req)
}

// warm opens the connections beforehand.
func (x *binder) warm(ctx context.Context) error {
	return each(64, func(int) error {
		r, err := x.do(ctx, http.MethodGet, "/version", "", nil, false)
		if err != nil {
			return err
		}
		defer r.Body.Close()
		_, err = io.Copy(io.Discard, r.Body)
		return err
	})
}

// annotations are what fgpu writes for half a GPU.
func (x *binder) annotations(p *corev1.Pod, node string) (map[string]string, error) {
	uuid := "GPU-4a1c7a5e-8f0e-4a39-9f5b-6a1d2c3b4e5f"
	record, err := x.b.plane.SignedRecord(string(p.UID), node, "0f3c9a7e5b1d2c4f",
		harness.RecordDevice{UUID: uuid, Index: 3, Milli: 500, MemMiB: 40960})
	out := map[string]string{"fgpu.io/assignment": record}
	if x.form.handOff {
		out["fgpu.io/visible-devices.c0"] = uuid
		out["fgpu.io/mps-active-thread-percentage.c0"] = "50"
		out["fgpu.io/mps-pinned-device-mem-limit.c0"] = "0=40960M"
	}
	return out, err
}

func (x *binder) bind(ctx context.Context, i int, p *corev1.Pod) error {
	node := gpuNode(i / 16).Name
	binding := &corev1.Binding{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Binding"},
		ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace, UID: p.UID},
		Target:     corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: node}}
	if x.form.version {
		binding.ResourceVersion = p.ResourceVersion
	}
	var err error
	if x.form.record {
		if binding.Annotations, err = x.annotations(p, node); err != nil {
			return err
		}
	}
	contentType, body := "application/json", []byte(nil)
	if x.form.protobuf {
		var out bytes.Buffer
		contentType = "application/vnd.kubernetes.protobuf"
		err = x.encoder.Encode(binding, &out)
		body = out.Bytes()
	} else {
		body, err = json.Marshal(binding)
	}
	if err != nil {
		return err
	}
	r, err := x.do(ctx, http.MethodPost, "/api/v1/namespaces/"+p.Namespace+"/pods/"+p.Name+"/binding"+x.form.query, contentType, body,
		x.form.fresh > 0 && i%x.form.fresh == 0)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err == nil && r.StatusCode != http.StatusCreated {
		err = fmt.Errorf("%s: %s: %s", p.Name, r.Status, text)
	}
	return err
}

// watch reads the events of all pods after a version and throws them away, until ctx ends.
func (x *binder) watch(ctx context.Context, version string) error {
	r, err := x.do(ctx, http.MethodGet, "/api/v1/pods?watch=true&allowWatchBookmarks=true&resourceVersion="+version+
		"&fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed", "", nil, true)
	if err != nil {
		return err
	}
	go func() {
		defer r.Body.Close()
		_, _ = io.Copy(io.Discard, r.Body)
	}()
	return nil
}

// cpuUs is the CPU time that a process has used so far, by the clock of its threads: cpuMs counts in steps of 10 ms.
func cpuUs(pid int) (float64, error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return 0, err
		}
		ns, err := strconv.ParseFloat(strings.Fields(string(text))[0], 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
		sum += ns / 1000
	}
	return sum, nil
}

// price binds the pods in this form and returns what one of them costs the API server, in us of CPU.
func (b *bench) price(ctx context.Context, f form, pods []corev1.Pod, version string) (float64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	x, err := b.binderOf(f)
	if err != nil {
		return 0, err
	}
	defer x.client.CloseIdleConnections()
	for range f.watches {
		if err := x.watch(ctx, version); err != nil {
			return 0, err
		}
	}
	if err := x.warm(ctx); err != nil {
		return 0, err
	}
	time.Sleep(100 * time.Millisecond) // what that leaves behind
	before, err := cpuUs(b.plane.API.Pid())
	if err != nil {
		return 0, err
	}
	if err := each(len(pods), func(i int) error { return x.bind(ctx, i, &pods[i]) }); err != nil {
		return 0, err
	}
	time.Sleep(50 * time.Millisecond) // until the watches were told
	after, err := cpuUs(b.plane.API.Pid())
	return (after - before) / float64(len(pods)), err
}

// bindingsRound makes pods for all forms and prices one form after another.
func (b *bench) bindingsRound(ctx context.Context, round, pods int) ([]float64, error) {
	n := pods * len(forms)
	if err := b.createPods(ctx, n, false); err != nil {
		return nil, err
	}
	list, err := b.plane.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(forms))
	for k := range forms {
		i := inTurn(k, round, len(forms))
		if out[i], err = b.price(ctx, forms[i], list.Items[k*pods:(k+1)*pods], list.ResourceVersion); err != nil {
			return nil, fmt.Errorf("%s: %w", forms[i].name, err)
		}
	}
	return out, b.deletePods(ctx, n)
}

// bindings prints what a Binding costs the API server in each form. Nobody else watches the pods, and no scheduler runs.
func (b *bench) bindings(ctx context.Context, pods, rounds int, lock string) error {
	prices := make([][]float64, len(forms)) // of each form, round by round
	var loads []float64
	for r := range rounds {
		if err := locked(lock, func() error {
			loads = append(loads, loadAverage())
			us, err := b.bindingsRound(ctx, r, pods)
			for i := range us {
				prices[i] = append(prices[i], us[i])
			}
			return err
		}); err != nil {
			return err
		}
	}
	s := spreadOf(loads)
	fmt.Printf("%d Bindings of each form in each of %d rounds; load %.1f to %.1f\n\n%s", pods, rounds, s.least, s.most, priceTable(prices))
	return nil
}

// priceTable has a row for each form. The middle of the differences of each round leaves out the rounds in which memory was collected; the mean has them.
func priceTable(prices [][]float64) string {
	var t strings.Builder
	t.WriteString("| a Binding | CPU us of the API server: median (least to most) | mean | more than | median of the differences |\n|---|---|---|---|---|\n")
	for i, f := range forms {
		sum := 0.0
		for _, us := range prices[i] {
			sum += us
		}
		fmt.Fprintf(&t, "| %s | %s | %.0f | %s |", f.name, spreadOf(prices[i]).text("%.0f"), sum/float64(len(prices[i])), f.against)
		if k := slices.IndexFunc(forms, func(o form) bool { return o.name == f.against }); k >= 0 {
			more := slices.Clone(prices[i])
			for r := range more {
				more[r] -= prices[k][r]
			}
			fmt.Fprintf(&t, " %.0f |\n", spreadOf(more).median)
		} else {
			t.WriteString(" |\n")
		}
	}
	return t.String()
}
