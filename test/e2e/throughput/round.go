package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fgpu.io/fgpu/test/e2e/harness"
)

// A sample is one round of one mode. CPU time is per pod, and far less than wall time at the mercy of what else the machine does.
// All but the nodes is measured from the time on at which a tenth of the pods were bound.
type sample struct {
	Load        float64 `json:"load"` // average of a minute at the start of the round
	PodsPerS    float64 `json:"podsPerSecond"`
	SchedulerMs float64 `json:"schedulerCpuMs"`
	ExtenderMs  float64 `json:"extenderCpuMs"`
	APIMs       float64 `json:"apiServerCpuMs"`
	Nodes       float64 `json:"nodesOpened"`      // by the first packedPods
	UnplannedS  float64 `json:"unplannedSeconds"` // -unplanned: mean wait of those pods, all of the round counted
	Planned     planned `json:"planned"`
}

// packedPods are those whose nodes are counted.
const packedPods = 250

type bench struct {
	plane   *harness.ControlPlane
	own     *tree
	serial  int
	profile string // folder, or none
	// One of so many pods is such that it is never planned ahead; 0: none.
	unplanned int
}

func loadAverage() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	load, _ := strconv.ParseFloat(strings.Fields(string(text))[0], 64)
	return load
}

// cpuMs is the CPU time that a process has used so far; 0: there is no such process.
func cpuMs(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) * 10 // a hundred ticks a second, on every Linux that Go runs on
}

// An extender that runs, or none.
type extender struct {
	url   string
	pid   int
	ready func() error
	stop  func()
	fgpu  *harness.Fgpu // nil: another one
}

// startExtender does not wait until it is ready: fgpu holds off for some seconds, in which the pods can be made.
func (b *bench) startExtender(ctx context.Context, m mode) (extender, error) {
	var p *harness.Process
	var e extender
	switch m.extender {
	case "nothing":
		var err error
		if p, e.url, err = b.nothing(); err != nil {
			return extender{}, err
		}
	case "minimal":
		var err error
		if p, e.url, err = b.minimal(ctx); err != nil {
			return extender{}, err
		}
	case "fgpu":
		kubeconfig, err := b.plane.Kubeconfig(ctx, "fgpu-system", "fgpu")
		if err != nil {
			return extender{}, err
		}
		config, err := b.fgpuConfig(m)
		if err != nil {
			return extender{}, err
		}
		f, err := b.plane.NewFgpu(b.treeOf(m).binary, "fgpu-"+b.treeOf(m).name, config, kubeconfig)
		if err != nil {
			return extender{}, err
		}
		p, e.url, e.fgpu = f.Process, f.VerbsURL, f
	default:
		return extender{url: "http://127.0.0.1:1", ready: func() error { return nil }, stop: func() {}}, nil
	}
	if err := p.Launch(); err != nil {
		return extender{}, err
	}
	e.pid = p.Pid()
	e.ready = func() error { return p.AwaitReady(ctx) }
	e.stop = func() { _ = p.Stop() }
	return e, nil
}

// lead gives the Lease of kube-scheduler to nobody, or to this program for an hour.
func (b *bench) lead(ctx context.Context, hold bool) error {
	leases := b.plane.Client.CoordinationV1().Leases("fgpu-system")
	if err := leases.Delete(ctx, "fgpu-scheduler", metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if !hold {
		return nil
	}
	holder, seconds, now := "bench", int32(3600), metav1.NowMicro()
	_, err := leases.Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "fgpu-scheduler"}, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: &holder, LeaseDurationSeconds: &seconds, AcquireTime: &now, RenewTime: &now}}, metav1.CreateOptions{})
	return err
}

// startScheduler runs a fresh one, which knows the cluster and may not lead yet.
func (b *bench) startScheduler(ctx context.Context, m mode, verbsURL string) (*harness.Scheduler, error) {
	config, err := b.schedulerConfig(ctx, m, verbsURL)
	if err != nil {
		return nil, err
	}
	if err := b.lead(ctx, true); err != nil {
		return nil, err
	}
	flags := b.plane.SchedulerFlags
	defer func() { b.plane.SchedulerFlags = flags }()
	b.plane.SchedulerFlags = slices.Concat(flags, m.flags)
	s, err := b.plane.StartScheduler(ctx, fmt.Sprintf("round-%d", b.serial), config)
	if err != nil {
		return nil, err
	}
	return s, s.AwaitSynced(ctx)
}

// round creates the pods and then lets a fresh kube-scheduler bind them. It has seen them come one by one, so its queue is in
// the order of their creation, as where pods come while it runs; of a list it takes them in no order.
func (b *bench) round(ctx context.Context, m mode, pods int) (sample, error) {
	var none sample
	result := sample{Load: loadAverage()}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	e, err := b.startExtender(ctx, m)
	if err != nil {
		return none, err
	}
	defer e.stop()
	s, err := b.startScheduler(ctx, m, e.url)
	if err != nil {
		return none, err
	}
	if err := b.createPods(ctx, pods, m.annotation); err != nil {
		return none, err
	}
	if err := e.ready(); err != nil {
		return none, err
	}
	if m.nominated {
		if _, err := b.nominate(ctx, b.plane.Client, "bench", pods); err != nil {
			return none, err
		}
	}
	if err := b.lead(ctx, false); err != nil {
		return none, err
	}
	start := time.Now()
	var profiled <-chan error
	pids := [3]int{s.Pid(), e.pid, b.plane.API.Pid()}
	var cpu [2][3]float64
	first := pods / 10
	bound, err := b.boundPods(ctx, pods, func(n int) {
		if n == 1 {
			profiled = b.profileOf(ctx, m, s)
		}
		if n == first+1 || n == pods {
			for i, pid := range pids {
				cpu[n/pods][i] = cpuMs(pid)
			}
		}
	})
	if profiled != nil {
		if profileErr := <-profiled; err == nil {
			err = profileErr
		}
	}
	if err == nil {
		result.Planned, err = plannedBy(ctx, e.fgpu)
	}
	if err == nil && s.Restarts.Load() > 0 {
		err = errors.New("kube-scheduler ended in the round, as it does when it cannot renew its Lease")
	}
	if err == nil {
		err = s.Stop()
	}
	if err != nil {
		return none, fmt.Errorf("%w (log: %s)", err, s.LogFile)
	}
	if err := b.deletePods(ctx, pods); err != nil {
		return none, err
	}
	n := float64(pods - 1 - first)
	result.SchedulerMs, result.ExtenderMs, result.APIMs = (cpu[1][0]-cpu[0][0])/n, (cpu[1][1]-cpu[0][1])/n, (cpu[1][2]-cpu[0][2])/n
	result.PodsPerS = n / bound[pods-1].at.Sub(bound[first].at).Seconds()
	result.Nodes = float64(opened(bound, packedPods))
	result.UnplannedS = unplannedS(bound, start, b.unplanned)
	return result, nil
}

// profileOf takes ten seconds of the CPU profiles of kube-scheduler and of the API server, if that is wanted; the channel says when they are there.
func (b *bench) profileOf(ctx context.Context, m mode, s *harness.Scheduler) <-chan error {
	done := make(chan error, 1)
	if b.profile == "" {
		close(done)
		return done
	}
	const seconds = 10
	take := [...]struct {
		name string
		of   func() ([]byte, error)
	}{
		{"", func() ([]byte, error) { return s.Profile(ctx, seconds) }},
		{"-api", func() ([]byte, error) { return b.plane.ProfileAPI(ctx, seconds) }},
	}
	go func() {
		done <- each(len(take), func(i int) error {
			text, err := take[i].of()
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(b.profile, m.key+"-"+strconv.Itoa(b.serial)+take[i].name+".pprof"), text, 0o644)
		})
	}()
	return done
}
