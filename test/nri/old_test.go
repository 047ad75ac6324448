//go:build nri_state_change

// Before 0.12 events that need no answer come as StateChange.
package nri

import (
	"context"

	"github.com/containerd/nri/pkg/api"
)

func (r *runtime) startContainer(pod *api.PodSandbox, c *api.Container) error {
	return r.nri.StartContainer(context.Background(), &api.StateChangeEvent{Pod: pod, Container: c})
}

func (r *runtime) removeSandbox(pod *api.PodSandbox) error {
	return r.nri.RemovePodSandbox(context.Background(), &api.StateChangeEvent{Pod: pod})
}

func (r *runtime) removeContainer(pod *api.PodSandbox, c *api.Container) error {
	return r.nri.RemoveContainer(context.Background(), &api.StateChangeEvent{Pod: pod, Container: c})
}
