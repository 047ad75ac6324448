// Handshakes sends bursts of binds to an extender as kube-scheduler does, and says how long they took and what the handshakes
// cost both sides. test/bench/handshakes.py starts what it needs; the pods are those of bench_api.
//
// The transport is that of pkg/scheduler/extender.go (makeTransport), made by the same calls of client-go: two idle connections
// are kept, and no session is ever resumed, because the configuration of TLS has no ClientSessionCache.
package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

type options struct {
	url, ca, cert, key, bursts, profile string
	pid, rounds, first, nodes           int
	tls12                               bool
}

// result is of all bursts of one size.
type result struct {
	Binds        int     `json:"binds"`
	P50ms        float64 `json:"p50_ms"`
	P99ms        float64 `json:"p99_ms"`
	WorstMS      float64 `json:"worst_ms"`
	Connections  int64   `json:"connections"` // opened, for the binds of all bursts
	ClientCPUms  float64 `json:"client_cpu_ms"`
	ServerCPUms  float64 `json:"server_cpu_ms"`
	HelloRetries int64   `json:"hello_retries"`
	Resumed      int64   `json:"resumed"`
	Unanswered   int64   `json:"unanswered"` // handshake and head took longer than 5 s, so fgpu closed the connection; or all of it 10 s
	Version      string  `json:"version"`
	Group        string  `json:"group"`
}

func fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "handshakes: "+format+"\n", args...)
	os.Exit(1)
}

func transport(o options) http.RoundTripper {
	c := rest.Config{TLSClientConfig: rest.TLSClientConfig{CAFile: o.ca, CertFile: o.cert, KeyFile: o.key}}
	config, err := rest.TLSConfigFor(&c)
	if err != nil {
		fail("%v", err)
	}
	if config == nil {
		return utilnet.SetTransportDefaults(&http.Transport{})
	}
	if o.tls12 {
		config.MaxVersion = tls.VersionTLS12
	}
	return utilnet.SetTransportDefaults(&http.Transport{TLSClientConfig: config})
}

func ownCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		fail("%v", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// cpuOf reads the nanoseconds that the threads of a process have run.
func cpuOf(pid int) time.Duration {
	var sum time.Duration
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			fail("%v", err)
		}
		ns, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
		if err != nil {
			fail("%s: %v", file, err)
		}
		sum += time.Duration(ns)
	}
	return sum
}

type caller struct {
	client http.Client
	o      options
	r      result
	lock   sync.Mutex
	opened atomic.Int64
}

func (c *caller) note(state tls.ConnectionState) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.r.Version, c.r.Group = tls.VersionName(state.Version), state.CurveID.String()
	if state.HelloRetryRequest {
		c.r.HelloRetries++
	}
	if state.DidResume {
		c.r.Resumed++
	}
}

func (c *caller) bind(pod int) time.Duration {
	body, _ := json.Marshal(map[string]string{"PodName": fmt.Sprintf("waiting-%06d", pod), "PodNamespace": "bench",
		"PodUID": fmt.Sprintf("77777777-0000-4000-8000-%012d", pod), "Node": fmt.Sprintf("gpu-node-%05d", pod%c.o.nodes)})
	ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{
		ConnectDone: func(string, string, error) { c.opened.Add(1) },
		TLSHandshakeDone: func(state tls.ConnectionState, err error) {
			if err == nil {
				c.note(state)
			}
		}})
	begun := time.Now()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.o.url+"/v1/bind", bytes.NewReader(body))
	if err != nil {
		fail("%v", err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.client.Do(req)
	if late, ok := err.(net.Error); errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || ok && late.Timeout() {
		c.lock.Lock()
		defer c.lock.Unlock()
		c.r.Unanswered++
		return time.Since(begun)
	}
	if err != nil {
		fail("%v", err)
	}
	defer resp.Body.Close()
	reply, err := io.ReadAll(resp.Body)
	took := time.Since(begun)
	if err != nil || resp.StatusCode != http.StatusOK || string(reply) != `{"Error":""}` {
		fail("bind: %s %s %v", resp.Status, reply, err)
	}
	return took
}

// burst sends n binds at once.
func (c *caller) burst(first, n int) []time.Duration {
	took := make([]time.Duration, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { took[i] = c.bind(first + i) })
	}
	all.Wait()
	return took
}

func (c *caller) bursts(first, n int) result {
	var took []time.Duration
	c.r = result{Binds: n}
	c.opened.Store(0)
	for round := range c.o.rounds {
		client, server := ownCPU(), cpuOf(c.o.pid)
		took = append(took, c.burst(first+round*n, n)...)
		time.Sleep(50 * time.Millisecond) // connections that are too many are closed; watch events of the binds are read
		c.r.ClientCPUms += float64((ownCPU() - client).Microseconds()) / 1000
		c.r.ServerCPUms += float64((cpuOf(c.o.pid) - server).Microseconds()) / 1000
	}
	slices.Sort(took)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	c.r.P50ms, c.r.P99ms, c.r.WorstMS = ms(took[len(took)/2]), ms(took[len(took)*99/100]), ms(took[len(took)-1])
	c.r.Connections = c.opened.Load()
	return c.r
}

func main() {
	var o options
	flag.StringVar(&o.url, "url", "", "of fgpu's verbs, without /v1")
	flag.StringVar(&o.ca, "ca", "", "file of the CA of its certificate; empty for plain HTTP")
	flag.StringVar(&o.cert, "cert", "", "file of the client certificate")
	flag.StringVar(&o.key, "key", "", "file of its key")
	flag.StringVar(&o.bursts, "bursts", "1,16,100,400", "how many binds at once")
	flag.StringVar(&o.profile, "profile", "", "write a CPU profile of this side here")
	flag.IntVar(&o.pid, "pid", 0, "of fgpu, for its CPU time")
	flag.IntVar(&o.rounds, "rounds", 10, "bursts of each size")
	flag.IntVar(&o.first, "first", 0, "first waiting pod to bind")
	flag.IntVar(&o.nodes, "nodes", 1000, "nodes there are")
	flag.BoolVar(&o.tls12, "tls12", false, "at most TLS 1.2")
	flag.Parse()
	c := caller{client: http.Client{Transport: transport(o), Timeout: 10 * time.Second}, o: o}
	if o.profile != "" {
		f, err := os.Create(o.profile)
		if err != nil {
			fail("%v", err)
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			fail("%v", err)
		}
		defer pprof.StopCPUProfile()
	}
	c.burst(o.first, 2) // the two connections that are kept
	next := o.first + 2
	out := json.NewEncoder(os.Stdout)
	for _, text := range strings.Split(o.bursts, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			fail("-bursts: %q is no number of binds", text)
		}
		if err := out.Encode(c.bursts(next, n)); err != nil {
			fail("%v", err)
		}
		next += o.rounds * n
	}
}
