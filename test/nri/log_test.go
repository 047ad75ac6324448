package nri

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/containerd/nri/pkg/adaptation"
	"github.com/containerd/nri/pkg/log"
)

// quiet keeps what NRI says for when a test fails.
type quiet struct {
	lock sync.Mutex
	said []string
}

func (q *quiet) say(format string, args ...any) {
	q.lock.Lock()
	defer q.lock.Unlock()
	q.said = append(q.said, fmt.Sprintf(format, args...))
}

func (q *quiet) Debugf(_ context.Context, format string, args ...any) {}
func (q *quiet) Infof(_ context.Context, format string, args ...any)  { q.say(format, args...) }
func (q *quiet) Warnf(_ context.Context, format string, args ...any)  { q.say(format, args...) }
func (q *quiet) Errorf(_ context.Context, format string, args ...any) { q.say(format, args...) }

func TestMain(m *testing.M) {
	q := &quiet{}
	log.Set(q)
	adaptation.SetPluginRegistrationTimeout(patience)
	adaptation.SetPluginRequestTimeout(patience)
	code := m.Run()
	if code != 0 {
		fmt.Println("what NRI said:")
		for _, line := range q.said {
			fmt.Println("   ", line)
		}
	}
	os.Exit(code)
}
