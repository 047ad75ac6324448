// Package harness runs a real control plane (etcd, kube-apiserver, kube-scheduler) and fgpu as ordinary
// processes on the loopback interface and gives tests a grip on them: start, stop, kill, restart, one
// identity per role, and a recorder of everything the API server says about pods.
//
// Every process is ended by its own recorded id; if the test process dies, the kernel ends them.
package harness

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process is a program that can be started again after it ended. Its output is appended to one file.
type Process struct {
	Name    string
	Path    string
	Args    []string
	LogFile string
	// Host is a host name that it sees in place of the machine's; "" for none. As in a pod: a UTS namespace of its own.
	Host string
	// Ready says whether the program serves yet; nil error means ready.
	Ready func(context.Context) error

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{} // closed when cmd has ended
	err    error         // how it ended
}

// Start runs the program and returns when it is ready.
func (p *Process) Start(ctx context.Context) error {
	if err := p.launch(); err != nil {
		return err
	}
	return p.AwaitReady(ctx)
}

// command is the program itself, by exec where it has a host name of its own.
func (p *Process) command() *exec.Cmd {
	if p.Host == "" {
		return exec.Command(p.Path, p.Args...)
	}
	args := []string{"--uts", "sh", "-c", `hostname "$0" && exec "$@"`, p.Host, p.Path}
	if os.Geteuid() != 0 {
		args = append([]string{"--user", "--map-root-user"}, args...)
	}
	return exec.Command("unshare", append(args, p.Args...)...)
}

func (p *Process) launch() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		select {
		case <-p.exited:
		default:
			return fmt.Errorf("%s runs already (process %d)", p.Name, p.cmd.Process.Pid)
		}
	}
	log, err := os.OpenFile(p.LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := p.command()
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = filepath.Dir(p.LogFile)
	// No proxy: everything is on the loopback.
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); !strings.HasSuffix(strings.ToLower(name), "_proxy") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	exited := make(chan struct{})
	p.cmd, p.exited = cmd, exited
	go func() {
		err := cmd.Wait()
		p.mu.Lock()
		if p.cmd == cmd {
			p.err = err
		}
		p.mu.Unlock()
		close(exited)
	}()
	return nil
}

// Launch starts the program without waiting for it to be ready.
func (p *Process) Launch() error { return p.launch() }

// AwaitReady waits until the program serves. It fails at once when the program ends.
func (p *Process) AwaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	var last error
	for {
		if p.Ready == nil {
			return nil
		}
		attempt, done := context.WithTimeout(ctx, 2*time.Second)
		last = p.Ready(attempt)
		done()
		if last == nil {
			return nil
		}
		select {
		case <-p.Exited():
			return fmt.Errorf("%s ended (%v) before it was ready; end of %s:\n%s", p.Name, p.Err(), p.LogFile, Tail(p.LogFile, 20))
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w; end of %s:\n%s", p.Name, last, p.LogFile, Tail(p.LogFile, 20))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Exited is closed when the present run of the program has ended.
func (p *Process) Exited() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.exited == nil {
		c := make(chan struct{})
		close(c)
		return c
	}
	return p.exited
}

// Err says how the last run ended.
func (p *Process) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Running is true while the program runs.
func (p *Process) Running() bool {
	select {
	case <-p.Exited():
		return false
	default:
		return true
	}
}

// Pid of the present run.
func (p *Process) Pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return 0
	}
	return p.cmd.Process.Pid
}

func (p *Process) signal(s syscall.Signal) {
	p.mu.Lock()
	cmd := p.cmd
	p.mu.Unlock()
	if cmd != nil && p.Running() {
		_ = cmd.Process.Signal(s) // it may have ended since
	}
}

// Stop asks the program to end (SIGTERM) and waits. One that does not obey is killed, which is an error.
func (p *Process) Stop() error {
	p.signal(syscall.SIGTERM)
	select {
	case <-p.Exited():
		return nil
	case <-time.After(30 * time.Second):
		p.Kill()
		return fmt.Errorf("%s ignored SIGTERM for 30 s", p.Name)
	}
}

// Kill ends the program as kill -9 does and waits until it is gone.
func (p *Process) Kill() {
	p.signal(syscall.SIGKILL)
	<-p.Exited()
}

// ExitCode of the last run; -1 when it runs or was ended by a signal.
func (p *Process) ExitCode() int {
	var e *exec.ExitError
	switch err := p.Err(); {
	case p.Running():
		return -1
	case err == nil:
		return 0
	case errors.As(err, &e):
		return e.ExitCode()
	}
	return -1
}

// Tail returns the last lines of a file.
func Tail(file string, lines int) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// FreePort reserves nothing: it names a loopback port that was free a moment ago. Ports have to be known
// before their servers start because configurations name them and restarts keep them.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// loopbackClient trusts any certificate: it speaks to servers this package started on 127.0.0.1.
var loopbackClient = &http.Client{Transport: &http.Transport{
	Proxy:           nil,
	TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
}}

// Get reads a document from a server on the loopback. A status other than 200 is an error with the body.
func Get(ctx context.Context, url, token string) ([]byte, error) {
	return get(ctx, loopbackClient, url, token)
}

func get(ctx context.Context, client *http.Client, url, token string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s: %s", url, resp.Status, body)
	}
	return body, nil
}
