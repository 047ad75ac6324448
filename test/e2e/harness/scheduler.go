package harness

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Scheduler is a kube-scheduler that is started again when it ends by itself, as kubelet would.
type Scheduler struct {
	*Process
	port     int
	stopping atomic.Bool
	Restarts atomic.Int32
	done     chan struct{}
}

// StartScheduler runs kube-scheduler with a configuration file, if there is one; `name` tells its files apart.
func (cp *ControlPlane) StartScheduler(ctx context.Context, name, config string) (*Scheduler, error) {
	return cp.StartSchedulerOn(ctx, "", name, config)
}

// StartSchedulerOn is the same on a host of that name (Process.Host), with further flags.
func (cp *ControlPlane) StartSchedulerOn(ctx context.Context, host, name, config string, flags ...string) (*Scheduler, error) {
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	s := &Scheduler{port: port, done: make(chan struct{})}
	s.Process = &Process{
		Name: "kube-scheduler", Path: cp.SchedulerPath, Host: host,
		LogFile: filepath.Join(cp.Dir, name+".kube-scheduler.log"),
		Args: append([]string{"--bind-address", "127.0.0.1", "--secure-port", strconv.Itoa(port),
			"--cert-dir", filepath.Join(cp.Dir, "certs"),
			"--authorization-always-allow-paths", "/healthz,/readyz,/livez,/metrics", "--v", "2",
			// Patient: on machines where etcd may take seconds it must not lose its Lease by itself.
			"--leader-elect-lease-duration=15s", "--leader-elect-renew-deadline=10s", "--leader-elect-retry-period=2s"},
			cp.SchedulerFlags...),
		// 1.30 has no /readyz.
		Ready: func(ctx context.Context) error {
			_, err := Get(ctx, loopback("https", port)+"/healthz", "")
			return err
		},
	}
	if config != "" {
		s.Args = append(s.Args, "--config", config)
	}
	s.Args = append(s.Args, flags...)
	if err := s.Process.Start(ctx); err != nil {
		return nil, err
	}
	go s.watchOver()
	return s, nil
}

func (s *Scheduler) watchOver() {
	defer close(s.done)
	for {
		<-s.Exited()
		if s.stopping.Load() {
			return
		}
		s.Restarts.Add(1)
		if s.launch() != nil {
			return
		}
	}
}

// KillForGood ends it as kill -9 does; nobody starts it again but Again.
func (s *Scheduler) KillForGood() {
	s.stopping.Store(true)
	s.Process.Kill()
	<-s.done
}

// Again starts it after Stop or KillForGood, without waiting.
func (s *Scheduler) Again() error {
	s.stopping.Store(false)
	s.done = make(chan struct{})
	if err := s.launch(); err != nil {
		return err
	}
	go s.watchOver()
	return nil
}

// AwaitSynced waits until its informers have delivered what there is, which it waits for before it tries to lead.
func (s *Scheduler) AwaitSynced(ctx context.Context) error {
	for {
		_, err := Get(ctx, loopback("https", s.port)+"/readyz", "")
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("kube-scheduler's informers: %w", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Stop ends it for good.
func (s *Scheduler) Stop() error {
	s.stopping.Store(true)
	err := s.Process.Stop()
	<-s.done
	return err
}

// Attempts counts scheduling attempts by result ("scheduled", "unschedulable", "error").
func (s *Scheduler) Attempts(ctx context.Context) (map[string]int, error) {
	body, err := Get(ctx, loopback("https", s.port)+"/metrics", "")
	if err != nil {
		return nil, err
	}
	counts := map[string]int{}
	lines := bufio.NewScanner(bytes.NewReader(body))
	for lines.Scan() {
		rest, ok := strings.CutPrefix(lines.Text(), "scheduler_schedule_attempts_total{")
		if !ok {
			continue
		}
		_, result, _ := strings.Cut(rest, `result="`)
		result, _, _ = strings.Cut(result, `"`)
		value, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", lines.Text(), err)
		}
		counts[result] += int(value)
	}
	return counts, lines.Err()
}

// Profile is its CPU profile over some seconds. SchedulerFlags must allow /debug/pprof/*.
func (s *Scheduler) Profile(ctx context.Context, seconds int) ([]byte, error) {
	return Get(ctx, fmt.Sprintf("%s/debug/pprof/profile?seconds=%d", loopback("https", s.port), seconds), "")
}
