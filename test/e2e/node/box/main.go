// box is all that the images of these tests contain. It says what a container sees of GPUs.
//
//	box pause    waits for SIGTERM; the process of a pod's sandbox
//	box look     prints one line of JSON, a Sight, then waits for SIGTERM
//	box glance   prints it and ends, as an init container does
//	box nothing  ends at once: does this machine run containers at all?
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

const (
	variable    = "NVIDIA_VISIBLE_DEVICES"
	nvidiaMajor = 195
	minors      = 4 // more than the node has GPUs
)

// Sight is what a container sees. The tests read it, in package node, from the container's log.
type Sight struct {
	// Visible are the values of all occurrences of the variable, in order.
	Visible []string
	// Nodes are the files in /dev that belong to NVIDIA.
	Nodes []string
	// Allowed are the GPUs, by their minor number, that the device rules of the container's cgroup let it open: also those
	// of which it has no file, because a container may make one.
	Allowed []int
	// Cuda are the variables that CUDA, MPS and HAMi-core read, with their values, in order of their names.
	Cuda []string
	// Mps: somebody answers where CUDA looks for the daemon of MPS.
	Mps bool
	// Preload is what every program of the container is to load first.
	Preload string
}

func see() (Sight, error) {
	s := Sight{Visible: []string{}, Nodes: []string{}, Allowed: []int{}, Cuda: []string{}}
	for _, kv := range os.Environ() {
		if name, value, _ := strings.Cut(kv, "="); name == variable {
			s.Visible = append(s.Visible, value)
		} else if strings.HasPrefix(name, "CUDA_") || strings.HasPrefix(name, "GPU_") {
			s.Cuda = append(s.Cuda, kv)
		}
	}
	slices.Sort(s.Cuda)
	if c, err := net.Dial("unix", "/tmp/nvidia-mps/control"); err == nil {
		s.Mps = true
		c.Close()
	}
	if text, err := os.ReadFile("/etc/ld.so.preload"); err == nil {
		s.Preload = string(text)
	}
	nodes, err := filepath.Glob("/dev/nvidia*")
	if err != nil {
		return s, err
	}
	s.Nodes = append(s.Nodes, nodes...)
	for minor := range minors {
		allowed, err := mayOpen(minor)
		if err != nil {
			return s, fmt.Errorf("GPU %d: %w", minor, err)
		}
		if allowed {
			s.Allowed = append(s.Allowed, minor)
		}
	}
	return s, nil
}

// mayOpen makes a file of its own for the GPU. No driver is behind it: what the cgroup allows is ENXIO, what it does not is EPERM.
func mayOpen(minor int) (bool, error) {
	path := fmt.Sprintf("/gpu-%d", minor)
	defer os.Remove(path)
	if err := syscall.Mknod(path, syscall.S_IFCHR|0o600, nvidiaMajor<<8|minor); err != nil {
		return false, fmt.Errorf("mknod: %w", err)
	}
	fd, err := syscall.Open(path, syscall.O_RDWR, 0)
	switch {
	case err == nil:
		return true, syscall.Close(fd)
	case errors.Is(err, syscall.ENXIO), errors.Is(err, syscall.ENODEV):
		return true, nil
	case err == syscall.EPERM:
		return false, nil
	}
	return false, fmt.Errorf("open: %w", err)
}

func main() {
	what := ""
	if len(os.Args) > 1 {
		what = os.Args[1]
	}
	if what == "nothing" {
		return
	}
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGTERM, syscall.SIGINT)
	if what != "pause" {
		sight, err := see()
		if err == nil {
			err = json.NewEncoder(os.Stdout).Encode(sight)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "box:", err)
			os.Exit(1)
		}
	}
	if what != "glance" {
		<-ends
	}
}
